//! A map that keeps each value only while it is in use elsewhere.
//!
//! Callers that must wait for others of the same kind find them here, and the last to leave has nothing to clean up.

use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use foldhash::HashMap;

/// Values that are dropped once nothing else holds them.
#[derive(Debug)]
pub(crate) struct WeakMap<K, V>(Mutex<HashMap<K, Weak<V>>>);

impl<K, V> Default for WeakMap<K, V> {
    fn default() -> WeakMap<K, V> {
        WeakMap(Mutex::default())
    }
}

impl<K: Eq + Hash, V> WeakMap<K, V> {
    /// Returns the value of that key, made by `new` if there is none.
    pub(crate) fn get(&self, key: K, new: impl FnOnce() -> V) -> Arc<V> {
        // Only `new` can panic while it is locked, and it runs before the map is changed.
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = map.get(&key).and_then(Weak::upgrade) {
            return value;
        }
        let value = Arc::new(new());
        map.retain(|_, value| value.strong_count() > 0);
        map.insert(key, Arc::downgrade(&value));
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_there_as_long_as_somebody_has_it() {
        let map = WeakMap::default();
        let (one, other) = (map.get("a", || 1), map.get("b", || 2));
        assert_eq!(*map.get("a", || 3), 1);
        drop((one, other));
        assert_eq!(*map.get("a", || 3), 3);
        assert_eq!(map.0.lock().unwrap().len(), 1);
    }
}
