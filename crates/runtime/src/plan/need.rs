//! What levels need beyond a budget, of which ranges change and are asked for their greatest, both in logarithmic time.

use std::ops::Range;
use svod_ir::pass::visit;

/// A tree over levels: each node has the greatest need among its own, and what all of these need more than is said below it.
pub(super) struct Need {
    levels: usize,
    most: Vec<i64>,
    more: Vec<i64>,
}

impl Need {
    pub(super) fn new(needs: impl ExactSizeIterator<Item = i64>) -> Need {
        let levels = needs.len().next_power_of_two();
        let mut most = vec![i64::MIN; 2 * levels];
        needs.enumerate().for_each(|(at, need)| most[levels + at] = need);
        for node in (1..levels).rev() {
            most[node] = most[2 * node].max(most[2 * node + 1]);
        }
        Need { levels, more: vec![0; most.len()], most }
    }

    /// The greatest need of all levels.
    pub(super) fn most(&self) -> i64 {
        self.most[1]
    }

    /// The greatest need in some levels; that of none is less than any.
    pub(super) fn most_in(&self, levels: &Range<usize>) -> i64 {
        self.below(1, 0..self.levels, levels)
    }

    fn below(&self, node: usize, own: Range<usize>, levels: &Range<usize>) -> i64 {
        visit(1);
        if own.end <= levels.start || levels.end <= own.start {
            return i64::MIN;
        }
        if levels.start <= own.start && own.end <= levels.end {
            return self.most[node];
        }
        let middle = own.start.midpoint(own.end);
        let (left, right) =
            (self.below(2 * node, own.start..middle, levels), self.below(2 * node + 1, middle..own.end, levels));
        left.max(right).saturating_add(self.more[node])
    }

    /// Has levels need so much more, or less.
    pub(super) fn add(&mut self, levels: &Range<usize>, bytes: i64) {
        self.add_below(1, 0..self.levels, levels, bytes);
    }

    fn add_below(&mut self, node: usize, own: Range<usize>, levels: &Range<usize>, bytes: i64) {
        visit(1);
        if own.end <= levels.start || levels.end <= own.start {
            return;
        }
        if levels.start <= own.start && own.end <= levels.end {
            self.most[node] = self.most[node].saturating_add(bytes);
            self.more[node] += bytes;
            return;
        }
        let middle = own.start.midpoint(own.end);
        self.add_below(2 * node, own.start..middle, levels, bytes);
        self.add_below(2 * node + 1, middle..own.end, levels, bytes);
        self.most[node] = self.most[2 * node].max(self.most[2 * node + 1]).saturating_add(self.more[node]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_a_list() {
        // A linear congruential generator: the same sequence everywhere.
        let mut state = 7u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % below as u64) as usize
        };
        for levels in [1, 2, 5, 8, 37] {
            let mut list: Vec<i64> = (0..levels).map(|_| next(100) as i64 - 50).collect();
            let mut need = Need::new(list.iter().copied());
            for _ in 0..100 {
                let start = next(levels);
                let range = start..start + next(levels + 1 - start);
                let greatest = list[range.clone()].iter().copied().max();
                assert_eq!(need.most_in(&range).max(i64::MIN / 2), greatest.unwrap_or(i64::MIN / 2));
                assert_eq!(Some(need.most()), list.iter().copied().max());
                let bytes = next(41) as i64 - 20;
                need.add(&range, bytes);
                list[range].iter_mut().for_each(|one| *one += bytes);
            }
        }
    }
}
