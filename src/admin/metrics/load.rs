//! The current load, and the requests refused because of it.

use prometheus_client::registry::Unit;

use super::page::Page;
use crate::limit;
use crate::store::Numbers;
use crate::tally::Count;

/// The resource that ran out, so that a request is refused: 503.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// Permits to work on a request.
    Permits,
    /// Memory for bodies in transit.
    Bodies,
    /// Memory for answers that are not taken yet.
    Answers,
    /// Turns of a user for long operations.
    Turns,
    /// Time: the server is about to stop.
    Stopping,
}

/// The current load of a server: how much of each resource is in use, and its limit.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Requests being worked on.
    pub permits: (usize, usize),
    /// Bytes of bodies in transit, and of the heads of their requests.
    pub bodies: (usize, usize),
    /// The same for strangers for whom there was no room there.
    pub places: (usize, usize),
    /// Bytes of the heads of requests that wait to begin.
    pub beginning: (usize, usize),
    /// The same of those that wait to make a list.
    pub listing: (usize, usize),
    /// Bytes of answers that are not taken yet.
    pub answers: (usize, usize),
}

/// Refused requests, by the resource that ran out.
#[derive(Debug, Default)]
pub(super) struct Shortages {
    permits: Count,
    bodies: Count,
    answers: Count,
    turns: Count,
    stopping: Count,
}

impl Shortages {
    pub(super) fn note(&self, shortage: Shortage) {
        let count = match shortage {
            Shortage::Permits => &self.permits,
            Shortage::Bodies => &self.bodies,
            Shortage::Answers => &self.answers,
            Shortage::Turns => &self.turns,
            Shortage::Stopping => &self.stopping,
        };
        count.one();
    }

    pub(super) fn show(&self, page: &mut Page<'_>, load: Option<&Load>, store: &Numbers<'_>) {
        let queue = match store {
            Numbers::Sqlite(numbers) => &numbers.counts.refused,
            Numbers::Postgres(numbers) => &numbers.counts.refused,
        };
        page.counters(
            "refused_for_load",
            "Requests, and what is done beside them, that were refused at once, by where there was no room",
            "where",
            [
                ("permits", self.permits.get()),
                ("bodies", self.bodies.get()),
                ("answers", self.answers.get()),
                ("turns", self.turns.get()),
                ("stopping", self.stopping.get()),
                ("database", queue.get()),
            ],
        );
        if let Some(load) = load {
            load.show(page);
        }
    }
}

impl Load {
    fn show(&self, page: &mut Page<'_>) {
        let (permits, most) = self.permits;
        page.gauge(
            "concurrent_requests",
            None,
            "Requests that are worked on: those whose body is there and whose answer is not made yet",
            permits as u64,
        );
        page.gauge(
            "concurrent_requests_limit",
            None,
            "As many may be at once (max_concurrent_requests)",
            most as u64,
        );
        let all = [
            ("bodies", self.bodies),
            ("places", self.places),
            ("beginning", self.beginning),
            ("listing", self.listing),
            ("answers", self.answers),
        ];
        page.gauges(
            "transfer",
            Some(Unit::Bytes),
            "Memory of bodies on their way, of those of strangers that found no room, of requests that wait, and of answers not taken yet",
            "of",
            all.map(|(of, (held, _))| (of, held as u64)),
        );
        page.gauges(
            "transfer_limit",
            Some(Unit::Bytes),
            "As much of each there may be",
            "of",
            all.map(|(of, (_, whole))| (of, whole as u64)),
        );
    }
}

/// Shows what the rate limits have refused, and whether they hold across replicas.
pub(super) fn show_limits(page: &mut Page<'_>, limits: &limit::Counts) {
    page.counters(
        "rate_limited",
        "Requests that were answered 429, by whose limit was reached",
        "by",
        [
            ("api_key", limits.api_keys.get()),
            ("session", limits.sessions.get()),
            ("address", limits.addresses.get()),
            ("wrong_credentials", limits.guesses.get()),
        ],
    );
    page.gauge(
        "redis_configured",
        None,
        "1 where rate limits are meant to hold across replicas, in Redis",
        limits.redis_is_configured().into(),
    );
    page.gauge(
        "rate_limits_shared",
        None,
        "1 while rate limits hold across replicas in Redis, 0 while this replica limits on its own",
        limits.are_shared().into(),
    );
    page.counter(
        "redis_losses",
        "How often Redis stopped answering",
        limits.losses.get(),
    );
}
