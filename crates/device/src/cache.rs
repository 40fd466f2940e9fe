//! A bounded map whose values are made once.

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

/// A map that forgets its oldest entries beyond a number. A value that several threads ask for at
/// once is made by one of them, and the others wait for it.
pub struct Cache<K, V> {
    most: usize,
    entries: Mutex<Entries<K, V>>,
}

/// `None` while the value is being made; its lock is held meanwhile.
type Slot<V> = Arc<Mutex<Option<V>>>;

struct Entries<K, V> {
    slots: FxHashMap<K, Slot<V>>,
    /// The keys of `slots`, oldest first.
    order: VecDeque<K>,
}

impl<K: Clone + Eq + Hash, V: Clone> Cache<K, V> {
    /// A map of at most `most` entries.
    pub fn new(most: usize) -> Self {
        Cache { most, entries: Mutex::new(Entries { slots: FxHashMap::default(), order: VecDeque::new() }) }
    }

    /// The value of `key`, made by `make` where there is none. A failure leaves no entry's value.
    pub fn get_or_make<E>(&self, key: &K, make: impl FnOnce() -> Result<V, E>) -> Result<V, E> {
        let slot = self.slot(key);
        let mut value = slot.lock();
        if let Some(value) = &*value {
            return Ok(value.clone());
        }
        let made = make()?;
        *value = Some(made.clone());
        Ok(made)
    }

    /// The value of `key`, if it is made.
    pub fn get(&self, key: &K) -> Option<V> {
        let slot = self.entries.lock().slots.get(key)?.clone();
        let value = slot.try_lock()?;
        value.clone()
    }

    /// Whether there is an entry, be its value made or in the making.
    pub fn contains(&self, key: &K) -> bool {
        self.entries.lock().slots.contains_key(key)
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.lock().slots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets everything. Values in use live on.
    pub fn clear(&self) {
        let entries = &mut *self.entries.lock();
        entries.slots.clear();
        entries.order.clear();
    }

    fn slot(&self, key: &K) -> Slot<V> {
        let entries = &mut *self.entries.lock();
        if let Some(slot) = entries.slots.get(key) {
            return slot.clone();
        }
        let slot = Slot::default();
        entries.slots.insert(key.clone(), slot.clone());
        entries.order.push_back(key.clone());
        while entries.slots.len() > self.most {
            let Some(oldest) = entries.order.pop_front() else { break };
            entries.slots.remove(&oldest);
        }
        slot
    }
}

impl<K: Clone + Eq + Hash, V: Clone> fmt::Debug for Cache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of at most {} entries", self.len(), self.most)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn c6_oldest_goes_first_and_failures_are_retried() {
        let cache = Cache::<u32, u32>::new(2);
        for key in 0..3 {
            assert_eq!(cache.get_or_make(&key, || Ok::<_, ()>(key * 10)), Ok(key * 10));
        }
        assert_eq!(cache.len(), 2);
        assert_eq!(cache.get_or_make(&0, || Err(())), Err(()));
        assert_eq!(cache.get_or_make(&0, || Ok::<_, ()>(7)), Ok(7));
        assert_eq!(cache.get_or_make(&2, || Ok::<_, ()>(0)), Ok(20));
        assert_eq!((cache.get(&2), cache.get(&1)), (Some(20), None));
    }

    #[test]
    fn c6_threads_that_ask_at_once_share_one_value() {
        let (cache, made) = (Cache::<u32, usize>::new(4), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| cache.get_or_make(&1, || Ok::<_, ()>(made.fetch_add(1, Ordering::Relaxed))).unwrap());
            }
        });
        assert_eq!(made.into_inner(), 1);
    }
}
