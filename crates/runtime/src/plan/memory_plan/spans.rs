//! What is needed when, and which bytes are taken: found without looking at all others.

use std::collections::{BTreeMap, BTreeSet};

/// Spans of levels, of which those that meet another are found in a time that grows with their number:
/// a segment tree (Bentley 1977) gives those that hold a level, an ordered set those that begin after it.
pub(super) struct Spans {
    levels: usize,
    /// By node of the tree, spans that cover all of its levels, and not all of its parent's.
    covering: Vec<Vec<usize>>,
    /// First levels, each with its span.
    begins: BTreeSet<(usize, usize)>,
}

impl Spans {
    /// No spans, of so many levels.
    pub fn new(levels: usize) -> Self {
        Spans { levels, covering: vec![Vec::new(); 2 * levels], begins: BTreeSet::new() }
    }

    /// Adds a span, by a number of its own, inclusive.
    pub fn insert(&mut self, span: usize, first: usize, last: usize) {
        self.begins.insert((first, span));
        let (mut low, mut high) = (first + self.levels, last + 1 + self.levels);
        while low < high {
            if low % 2 == 1 {
                self.covering[low].push(span);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                self.covering[high].push(span);
            }
            (low, high) = (low / 2, high / 2);
        }
    }

    /// The spans that have a level with these in common.
    pub fn meeting(&self, first: usize, last: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut node = first + self.levels;
        while node > 0 {
            found.extend(&self.covering[node]);
            node /= 2;
        }
        found.extend(self.begins.range((first + 1, 0)..(last + 1, 0)).map(|(_, span)| *span));
        found
    }
}

/// Bytes that are taken: disjoint ranges, by where they begin.
#[derive(Default)]
pub(super) struct Taken(BTreeMap<usize, usize>);

impl Taken {
    /// Takes a range, and says whether some of it was taken.
    pub fn take(&mut self, mut start: usize, mut end: usize) -> bool {
        let mut shared = false;
        while let Some((&from, &to)) = self.0.range(..end).next_back().filter(|(_, to)| **to > start) {
            shared = true;
            (start, end) = (start.min(from), end.max(to));
            self.0.remove(&from);
        }
        self.0.insert(start, end);
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c7_spans_that_meet_are_found() {
        for levels in [1, 2, 3, 5, 8, 13] {
            let mut spans = Spans::new(levels);
            let mut known: Vec<(usize, usize)> = Vec::new();
            for first in 0..levels {
                for last in first..levels {
                    let mut met = spans.meeting(first, last);
                    met.sort_unstable();
                    let meets = |i: &usize| known[*i].0 <= last && first <= known[*i].1;
                    assert_eq!(met, (0..known.len()).filter(meets).collect::<Vec<_>>(), "{first}..={last}");
                    spans.insert(known.len(), first, last);
                    known.push((first, last));
                }
            }
        }
    }

    #[test]
    fn c7_taken_bytes_are_known() {
        let mut taken = Taken::default();
        let shared = [(8, 16), (24, 32), (16, 24), (0, 4), (2, 40), (39, 41), (41, 42)];
        let shared = shared.map(|(start, end)| taken.take(start, end));
        assert_eq!(shared, [false, false, false, false, true, true, false]);
    }
}
