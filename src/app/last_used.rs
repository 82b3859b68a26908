//! When credentials were last used, to the minute, without slowing requests down.
//!
//! A request only notes the minute here, in memory, and only when the store has an earlier one: a busy
//! key costs one note a minute. The background task hands the notes to the store together. What a crash
//! loses is seconds of a time that nothing depends on.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use crate::domain::Error;
use crate::domain::time::Timestamp;

/// Uses recorded in one change, so that no request waits long behind it.
const STEP: usize = 500;

/// Minutes of use that the store does not have yet, and for some credentials also from where they were used.
#[derive(Debug)]
pub(super) struct LastUsed<Id, From = ()>(Mutex<HashMap<Id, (Timestamp, From)>>);

impl<Id, From> Default for LastUsed<Id, From> {
    fn default() -> Self {
        LastUsed(Mutex::default())
    }
}

impl<Id: Copy + Eq + Hash, From: Copy + PartialEq> LastUsed<Id, From> {
    /// Notes a use at `now` of a credential that the store has as last used at `known`. `from` is called only if the use is
    /// noted.
    pub(super) fn note(
        &self,
        id: Id,
        now: Timestamp,
        known: Option<Timestamp>,
        from: impl FnOnce() -> From,
    ) {
        let minute = now.to_the_minute();
        if known.is_none_or(|known| known < minute) {
            let noted = (minute, from());
            let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let last = uses.entry(id).or_insert(noted);
            if last.0 <= minute {
                *last = noted;
            }
        }
    }

    /// Hands all notes to `record`, at most [`STEP`] at once. Only what it has taken is forgotten: it returns those that it
    /// has not, it may fail, or this future may be dropped.
    pub(super) async fn hand_over(
        &self,
        record: impl AsyncFn(Vec<(Id, Timestamp, From)>) -> Result<Vec<Id>, Error>,
    ) -> Result<(), Error> {
        for uses in self.all().chunks(STEP) {
            let left: HashSet<Id> = record(uses.to_vec()).await?.into_iter().collect();
            let taken = uses.iter().filter(|(id, _, _)| !left.contains(id));
            self.forget(taken);
        }
        Ok(())
    }

    fn all(&self) -> Vec<(Id, Timestamp, From)> {
        let uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let uses = uses.iter();
        uses.map(|(id, (minute, from))| (*id, *minute, *from))
            .collect()
    }

    /// Forgets what the store has by now, but not a later use noted meanwhile.
    fn forget<'a>(&self, recorded: impl IntoIterator<Item = &'a (Id, Timestamp, From)>)
    where
        Id: 'a,
        From: 'a,
    {
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (id, minute, from) in recorded {
            if uses.get(id) == Some(&(*minute, *from)) {
                uses.remove(id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn a_later_minute_of_use_replaces_an_earlier_one_and_is_not_forgotten_with_it() {
        let uses = LastUsed::default();
        for millis in [120_001, 60_000] {
            uses.note("key", at(millis), None, || ());
        }
        assert_eq!(uses.all(), [("key", at(120_000), ())]);
        uses.note("key", at(180_000), None, || ());
        uses.forget(&[("key", at(120_000), ())]);
        assert_eq!(uses.all(), [("key", at(180_000), ())]);
        uses.forget(&[("key", at(180_000), ())]);
        assert_eq!(uses.all(), []);
    }

    #[test]
    fn a_minute_that_the_store_has_is_not_noted() {
        let uses = LastUsed::default();
        uses.note("key", at(119_999), Some(at(60_000)), || ());
        assert_eq!(uses.all(), []);
        uses.note("key", at(120_000), Some(at(60_000)), || ());
        assert_eq!(uses.all(), [("key", at(120_000), ())]);
    }

    #[test]
    fn of_the_places_of_one_minute_the_last_is_noted() {
        let uses = LastUsed::default();
        for from in ["shop", "elsewhere"] {
            uses.note("key", at(60_000), None, || from);
        }
        assert_eq!(uses.all(), [("key", at(60_000), "elsewhere")]);
        // The store has "elsewhere" by now, and meanwhile the key was used from a third place.
        uses.note("key", at(60_001), None, || "office");
        uses.forget(&[("key", at(60_000), "elsewhere")]);
        assert_eq!(uses.all(), [("key", at(60_000), "office")]);
        let known = Some(at(60_000));
        uses.note("key", at(119_999), known, || panic!("it is asked"));
    }

    #[tokio::test]
    async fn what_the_store_cannot_take_now_is_kept() {
        let uses = LastUsed::default();
        uses.note("key", at(60_000), None, || ());
        let refuse = async |_| Err(Error::unavailable("busy"));
        assert!(uses.hand_over(refuse).await.is_err());
        assert_eq!(uses.all(), [("key", at(60_000), ())]);
        assert!(uses.hand_over(async |_| Ok(vec!["key"])).await.is_ok());
        assert_eq!(uses.all(), [("key", at(60_000), ())]);
        assert!(uses.hand_over(async |_| Ok(Vec::new())).await.is_ok());
        assert_eq!(uses.all(), []);
    }

    #[tokio::test]
    async fn the_store_takes_them_in_bounded_steps() {
        let uses = LastUsed::default();
        (0..2 * STEP + 1).for_each(|id| uses.note(id, at(60_000), None, || ()));
        let steps = Mutex::new(Vec::new());
        let record = async |step: Vec<_>| {
            steps.lock().unwrap().push(step.len());
            Ok(Vec::new())
        };
        uses.hand_over(record).await.unwrap();
        assert_eq!(steps.into_inner().unwrap(), [STEP, STEP, 1]);
    }
}
