//! Which refresh tokens may have been spent by a commit that came late, so that they get their whole grace.
//!
//! A token is spent at a time that is written with it, but PostgreSQL may commit that much later: it answers no commit
//! while its synchronous standby is away, and the callers get a 503. Once the standby is back, the 30 seconds of the grace
//! are over, and a client that tries again would be taken for a thief. So would one whose caller was waiting when the
//! database went down for half a minute.
//!
//! Therefore each process looks every few seconds which transactions are under way ([`Watch`]). The grace lasts longer:
//!
//! 1. Until 30 seconds after the transaction that spent the token was last seen under way, if nobody waited for it any
//!    more by then: nobody was given the new pair.
//! 2. While nothing can be seen, such as when the database is down, and until 30 seconds after that, for tokens that were
//!    spent before. The same holds when the process has just started: it looks before it listens.
//!
//! So a commit that came less than ten seconds late may have been missed: most of its grace is left.

use std::collections::VecDeque;
use std::time::Duration;

use super::grace::GRACE;
use crate::domain::time::Timestamp;

/// How long a caller waits for a commit.
const AWAITED: Duration = Duration::from_secs(5);

/// How often a process looks.
pub const LOOK_EVERY: Duration = Duration::from_millis(2_500);

/// After how long without a look some may have been missed. One that finds the database slow takes up to five seconds.
const INTERRUPTED: Duration = Duration::from_secs(8);

/// How many looks are kept: those of half a minute, and some more.
const KEPT: usize = 16;

/// The id of a transaction, where the store has such ids: PostgreSQL's `xid`.
pub type TransactionId = i64;

/// The transactions that were under way recently, as far as this process has looked. If it never does, as on SQLite, no
/// commit is late.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// When the first look was, of those without an interruption until the last.
    since: Option<Timestamp>,
    /// The last looks: when they were, and what was under way then.
    looks: VecDeque<(Timestamp, Vec<TransactionId>)>,
}

impl Watch {
    /// Adds what is under way `now`.
    pub fn note(&mut self, now: Timestamp, transactions: Vec<TransactionId>) {
        let is_set_back = self.looks.back().is_some_and(|(at, _)| now < *at);
        if is_set_back || self.is_interrupted(now) {
            self.looks.clear();
        }
        if self.looks.is_empty() {
            self.since = Some(now);
        }
        if self.looks.len() == KEPT {
            self.looks.pop_front();
        }
        self.looks.push_back((now, transactions));
    }

    /// Whether the grace lasts `now` of a token that was spent at `spent_at`, by this transaction if that is known.
    pub fn is_in_grace(
        &self,
        spent_at: Timestamp,
        transaction: Option<TransactionId>,
        now: Timestamp,
    ) -> bool {
        let was_missed = || self.since.is_some_and(|since| spent_at < since) && self.is_new(now);
        let was_late = || {
            let mut late = self
                .of_grace(now)
                .filter(|(at, _)| at.since(spent_at) > AWAITED);
            transaction.is_some_and(|id| late.any(|(_, transactions)| transactions.contains(&id)))
        };
        now.since(spent_at) < GRACE || self.is_interrupted(now) || was_missed() || was_late()
    }

    /// Which tokens may not be in their grace any more `now`: those that were spent by the returned time, but by none of
    /// these transactions.
    pub fn out_of_grace(&self, now: Timestamp) -> (Timestamp, Vec<TransactionId>) {
        let by = match self.is_interrupted(now) || self.is_new(now) {
            true => Timestamp::from_millis(i64::MIN),
            false => now.before(GRACE),
        };
        let transactions = self.of_grace(now).flat_map(|(_, ids)| ids).copied();
        (by, transactions.collect())
    }

    fn is_interrupted(&self, now: Timestamp) -> bool {
        let last = self.looks.back();
        last.is_some_and(|(at, _)| now.since(*at) > INTERRUPTED)
    }

    fn is_new(&self, now: Timestamp) -> bool {
        self.since.is_some_and(|since| now.since(since) < GRACE)
    }

    /// The looks since a grace began that ends `now`, and the one before.
    fn of_grace(&self, now: Timestamp) -> impl Iterator<Item = &(Timestamp, Vec<TransactionId>)> {
        let begun = now.before(GRACE);
        let before = self.looks.iter().filter(|(at, _)| *at < begun).count();
        self.looks.iter().skip(before.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    /// A process that has looked every five seconds from `from` until `to`, and has seen transaction 7 from 100 until `last`.
    fn watch(from: i64, last: i64, to: i64) -> Watch {
        let mut watch = Watch::default();
        for seconds in (from..=to).step_by(5) {
            let transactions = match (100..=last).contains(&seconds) {
                true => vec![6, 7],
                false => vec![6],
            };
            watch.note(time(seconds), transactions);
        }
        watch
    }

    fn is_in_grace(watch: &Watch, now: i64) -> bool {
        watch.is_in_grace(time(100), Some(7), time(now))
    }

    #[test]
    fn the_grace_of_a_token_that_was_spent_in_time_is_30_seconds() {
        for last in [0, 100, 105] {
            let watch = watch(20, last, 130);
            assert!(is_in_grace(&watch, 129));
            assert!(!is_in_grace(&watch, 130), "{last}");
            assert_eq!(watch.out_of_grace(time(130)).0, time(100));
        }
    }

    #[test]
    fn a_process_that_never_looks_knows_of_no_late_commit() {
        assert!(!is_in_grace(&Watch::default(), 130));
        let out_of_grace = Watch::default().out_of_grace(time(130));
        assert_eq!(out_of_grace, (time(100), vec![]));
    }

    #[test]
    fn the_grace_lasts_until_30_seconds_after_the_transaction_was_last_seen_under_way() {
        for last in [110, 130, 200] {
            let until_then = watch(20, last, last);
            assert!(is_in_grace(&until_then, last + 1));
            let watch = watch(20, last, last + 35);
            assert!(is_in_grace(&watch, last + 30));
            assert!(watch.out_of_grace(time(last + 30)).1.contains(&7));
            assert!(!is_in_grace(&watch, last + 36), "{last}");
            assert!(!watch.out_of_grace(time(last + 36)).1.contains(&7));
            assert!(!watch.is_in_grace(time(100), Some(5), time(last + 30)));
            assert!(!watch.is_in_grace(time(100), None, time(last + 30)));
        }
    }

    #[test]
    fn the_grace_lasts_while_nothing_can_be_seen_and_for_30_seconds_from_then() {
        let mut watch = watch(20, 100, 100);
        let nothing = Timestamp::from_millis(i64::MIN);
        for now in [130, 500] {
            assert!(is_in_grace(&watch, now), "{now}");
            assert_eq!(watch.out_of_grace(time(now)).0, nothing);
        }
        for now in (500..=530).step_by(5) {
            watch.note(time(now), vec![]);
        }
        assert!(is_in_grace(&watch, 529));
        assert_eq!(watch.out_of_grace(time(529)).0, nothing);
        assert!(!is_in_grace(&watch, 530));
        assert_eq!(watch.out_of_grace(time(530)).0, time(500));
    }

    #[test]
    fn a_process_that_has_just_started_may_have_missed_late_commits_from_before() {
        let watch = watch(120, 0, 150);
        assert!(is_in_grace(&watch, 149));
        assert!(!is_in_grace(&watch, 150));
        assert!(!watch.is_in_grace(time(120), Some(7), time(150)));
    }

    #[test]
    fn a_clock_that_is_set_back_makes_no_grace_longer_than_a_start_does() {
        let mut watch = watch(5000, 0, 5050);
        for now in (130..=160).step_by(5) {
            watch.note(time(now), vec![]);
        }
        assert!(!is_in_grace(&watch, 160));
        assert_eq!(watch.out_of_grace(time(160)).0, time(130));
    }
}
