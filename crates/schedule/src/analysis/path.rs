//! What follows from all items together: order, critical path, lifetimes, memory.

use super::model::{Analysis, BufferInfo, Item};
use super::validate::AnalysisError;

impl Analysis {
    /// Items in an order in which each comes after what it waits for.
    ///
    /// # Errors
    /// An item that waits for one that is not there, or items that wait for one another.
    pub fn order(items: &[Item]) -> Result<Vec<usize>, AnalysisError> {
        let mut followers: Vec<Vec<usize>> = vec![Vec::new(); items.len()];
        let mut waits = vec![0usize; items.len()];
        for (i, item) in items.iter().enumerate() {
            for dependency in item.dependencies() {
                if dependency >= items.len() {
                    return Err(AnalysisError::UnknownItem { item: i, dependency, count: items.len() });
                }
                followers[dependency].push(i);
                waits[i] += 1;
            }
        }
        let mut ready: Vec<usize> = (0..items.len()).rev().filter(|i| waits[*i] == 0).collect();
        let mut order = Vec::with_capacity(items.len());
        while let Some(item) = ready.pop() {
            order.push(item);
            for &next in followers[item].iter().rev() {
                waits[next] -= 1;
                if waits[next] == 0 {
                    ready.push(next);
                }
            }
        }
        match order.len() == items.len() {
            true => Ok(order),
            false => Err(AnalysisError::Cycle((0..items.len()).filter(|i| waits[*i] > 0).collect())),
        }
    }

    /// Items each of which waits for the one before, of which the sum of [`Item::cost`] is the largest,
    /// and that sum. Without items both are empty.
    ///
    /// # Errors
    /// As [`Analysis::order`].
    pub fn longest(items: &[Item]) -> Result<(Vec<usize>, f64), AnalysisError> {
        let mut best: Vec<(f64, Option<usize>)> = vec![(0.0, None); items.len()];
        for i in Analysis::order(items)? {
            let before = items[i].dependencies().max_by(|a, b| best[*a].0.total_cmp(&best[*b].0));
            best[i] = (items[i].cost() + before.map_or(0.0, |b| best[b].0), before);
        }
        let Some(end) = (0..items.len()).max_by(|a, b| best[*a].0.total_cmp(&best[*b].0)) else {
            return Ok((Vec::new(), 0.0));
        };
        let path: Vec<usize> = std::iter::successors(Some(end), |at| best[*at].1).collect();
        Ok((path.into_iter().rev().collect(), best[end].0))
    }

    /// The most bytes of buffers that are alive at one item; bytes that several of them share count once.
    pub fn peak(buffers: &[BufferInfo], items: usize) -> u64 {
        let alive = |at: usize| {
            let living =
                buffers.iter().filter(|b| b.lifetime.is_some_and(|(first, last)| (first..=last).contains(&at)));
            let mut ranges: Vec<(usize, u64, u64)> =
                living.map(|b| (b.alias_group, b.offset, b.offset.saturating_add(b.bytes))).collect();
            ranges.sort_unstable();
            let mut reached = (usize::MAX, 0);
            let mut total = 0u64;
            for (group, start, end) in ranges {
                let from = if reached.0 == group { start.max(reached.1) } else { start };
                total = total.saturating_add(end.saturating_sub(from));
                reached = (group, if reached.0 == group { end.max(reached.1) } else { end });
            }
            total
        };
        (0..items).map(alive).max().unwrap_or(0)
    }
}
