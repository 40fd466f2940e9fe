//! Bytes of all records of a context together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A part of a total, as long as it lives.
#[derive(Default)]
pub(super) struct Counted {
    bytes: usize,
    total: Arc<AtomicUsize>,
}

impl Counted {
    /// Makes this so many bytes of a total, and gives the total.
    pub(super) fn set(&mut self, bytes: usize, total: &Arc<AtomicUsize>) -> usize {
        *self = Counted { bytes, total: total.clone() };
        total.fetch_add(bytes, Ordering::Relaxed) + bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.total.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Bytes of a list.
pub(super) fn bytes_of<T>(list: &Vec<T>) -> usize {
    list.capacity() * size_of::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_counts_as_long_as_it_lives() {
        let total = Arc::default();
        let (mut one, mut two) = (Counted::default(), Counted::default());
        assert_eq!((one.set(3, &total), two.set(5, &total), one.set(1, &total)), (3, 8, 6));
        drop(two);
        assert_eq!(total.load(Ordering::Relaxed), 1);
        drop(one);
        assert_eq!(total.load(Ordering::Relaxed), 0);
    }
}
