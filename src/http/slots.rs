//! How many requests are worked on at once.
//!
//! A slot is for work: a request has one while its credential is looked up, and one from the moment at which its body is
//! there until its answer is made. It has none while its body is on the way, which takes as long as its client likes;
//! [`received`](super::received) bounds those apart. When all slots are taken, the next request is refused at once: it
//! would only wait, and hold memory while it does. That the server is busy says nothing about anybody's data, so callers
//! learn it whether they are known or not, as they do when a store that does not answer cannot tell whether they are.
//!
//! Nobody has more than [its share](Holder::share), so that requests which wait for one thing, such as a row, never have all.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::rejection::Error;
use crate::domain::holder::Holder;

/// The slots of a server.
pub struct Slots(Arc<Whole>);

struct Whole {
    size: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    /// Of everybody who has any.
    by: HashMap<Holder, usize>,
}

/// A slot that is taken, until it is dropped.
pub struct Slot {
    whole: Arc<Whole>,
    holder: Holder,
}

impl Slots {
    /// So many slots.
    pub fn new(slots: u32) -> Slots {
        Slots(Arc::new(Whole {
            size: slots as usize,
            taken: Mutex::default(),
        }))
    }

    /// A slot for a request of `holder`.
    ///
    /// # Errors
    /// [`Error::Overloaded`] when all are taken, or as many as `holder` may have.
    pub fn take(&self, holder: Holder) -> Result<Slot, Error> {
        let whole = &self.0;
        let mut taken = whole.taken();
        if taken.all == whole.size {
            return Err(Error::Overloaded);
        }
        match taken.by.entry(holder) {
            Entry::Occupied(mut its) if *its.get() < holder.share(whole.size) => {
                *its.get_mut() += 1
            }
            Entry::Occupied(_) => return Err(Error::Overloaded),
            Entry::Vacant(none) => {
                none.insert(1);
            }
        }
        taken.all += 1;
        Ok(Slot {
            whole: Arc::clone(whole),
            holder,
        })
    }
}

impl Whole {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        // Nothing panics while it is locked.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.whole.taken();
        taken.all -= 1;
        if let Entry::Occupied(mut its) = taken.by.entry(self.holder) {
            *its.get_mut() -= 1;
            if *its.get() == 0 {
                its.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const SLOTS: u32 = 8;

    fn team(number: u128) -> Holder {
        Holder::Team(Uuid::from_u128(number))
    }

    /// As many as there are.
    fn all(slots: &Slots, holder: Holder) -> Vec<Slot> {
        std::iter::from_fn(|| slots.take(holder).ok()).collect()
    }

    #[test]
    fn a_team_has_three_quarters_and_strangers_have_one() {
        let slots = Slots::new(SLOTS);
        let mut strangers = all(&slots, Holder::Strangers);
        assert_eq!(strangers.len(), 2);
        let one = all(&slots, team(1));
        assert_eq!(one.len(), 6);
        assert!(all(&slots, team(2)).is_empty());
        drop(one);
        assert_eq!(all(&slots, team(2)).len(), 6);
        strangers.pop();
        assert_eq!(all(&slots, Holder::Strangers).len(), 1);
    }

    #[test]
    fn what_is_dropped_leaves_nothing() {
        let slots = Slots::new(SLOTS);
        drop([all(&slots, team(1)), all(&slots, team(2))]);
        let taken = slots.0.taken();
        assert_eq!((taken.all, taken.by.len()), (0, 0));
    }
}
