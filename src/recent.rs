//! What was recently used, in bounded memory.
//!
//! There are two generations. What is used moves to the young one, and when that is full, it replaces the old one. So what is
//! in use is the last to be forgotten.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{PoisonError, RwLock};

/// Keys that were recently used, and a value of each.
#[derive(Debug)]
pub(crate) struct Recent<K, V> {
    of_each: usize,
    generations: RwLock<Generations<K, V>>,
}

#[derive(Debug)]
struct Generations<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K: Eq + Hash, V: Copy> Recent<K, V> {
    /// At most so many in each generation.
    pub(crate) fn new(of_each: usize) -> Recent<K, V> {
        let generations = Generations {
            young: HashMap::new(),
            old: HashMap::new(),
        };
        Recent {
            of_each,
            generations: RwLock::new(generations),
        }
    }

    /// The value of this key, if it was noted.
    pub(crate) fn find(&self, key: &K) -> Option<V> {
        // The maps are consistent between any two statements, whatever panicked elsewhere.
        let generations = self.generations.read();
        let generations = generations.unwrap_or_else(PoisonError::into_inner);
        let found = generations.young.get(key);
        found.or_else(|| generations.old.get(key)).copied()
    }

    /// Notes that this key was used. The value of a young one stays as it is.
    pub(crate) fn note(&self, key: K, value: V) {
        let generations = self.generations.read();
        let generations = generations.unwrap_or_else(PoisonError::into_inner);
        if generations.young.contains_key(&key) {
            return;
        }
        drop(generations);
        let generations = self.generations.write();
        let mut generations = generations.unwrap_or_else(PoisonError::into_inner);
        if generations.young.len() >= self.of_each {
            generations.old = std::mem::take(&mut generations.young);
        }
        generations.young.insert(key, value);
    }

    /// Forgets this key.
    pub(crate) fn forget(&self, key: &K) {
        let generations = self.generations.write();
        let mut generations = generations.unwrap_or_else(PoisonError::into_inner);
        generations.young.remove(key);
        generations.old.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_found_until_it_is_forgotten() {
        let recent = Recent::new(10);
        assert_eq!(recent.find(&1), None);
        recent.note(1, 'a');
        assert_eq!(recent.find(&1), Some('a'));
        assert_eq!(recent.find(&2), None);
        recent.forget(&1);
        assert_eq!(recent.find(&1), None);
    }

    #[test]
    fn memory_is_bounded_and_what_is_in_use_is_not_forgotten() {
        let recent = Recent::new(10);
        for number in 1..=40 {
            recent.note(number, 'a');
            if number % 5 == 0 {
                recent.note(0, 'b');
            }
        }
        assert_eq!(recent.find(&0), Some('b'));
        assert_eq!(recent.find(&1), None);
        let generations = recent.generations.read().unwrap();
        assert!(generations.young.len() <= 10 && generations.old.len() <= 10);
    }

    #[test]
    fn many_are_known_at_once() {
        let recent = Recent::new(10);
        (0..10).for_each(|number| recent.note(number, number));
        assert!((0..10).all(|number| recent.find(&number) == Some(number)));
    }
}
