//! How long the quickest took of late: a server may be far away, and its round trips are nobody's fault.

use std::time::Duration;

use tokio::time::Instant;

/// How many times as long as the quickest one may take without having waited for anything else.
const ALLOWED: u32 = 3;

/// No more than this is allowed for: the first in a while may itself be the quickest.
const MOST_ALLOWED: Duration = Duration::from_secs(1);

/// For how long, and then once more, it counts which was the quickest.
const OF_LATE: Duration = Duration::from_secs(10);

/// How long the quickest took of late.
#[derive(Debug, Default)]
pub(super) struct Quickest(Option<Period>);

#[derive(Debug)]
struct Period {
    since: Instant,
    quickest: Duration,
    /// In the period before, if that ended just then.
    before: Option<Duration>,
}

impl Quickest {
    /// How much of the time that one took which has ended at `now` is allowed for. If it `counts`, so does how quick it was.
    pub(super) fn allowed(&mut self, took: Duration, counts: bool, now: Instant) -> Duration {
        let known = self.0.take().filter(|it| now < it.since + 2 * OF_LATE);
        let mut period = match known {
            Some(it) if now < it.since + OF_LATE => it,
            before => Period {
                since: now,
                quickest: Duration::MAX,
                before: before.map(|it| it.quickest),
            },
        };
        if counts {
            period.quickest = period.quickest.min(took);
        }
        let quickest = period.before.unwrap_or(Duration::MAX);
        let quickest = quickest.min(period.quickest);
        self.0 = Some(period);
        quickest.saturating_mul(ALLOWED).min(MOST_ALLOWED)
    }
}
