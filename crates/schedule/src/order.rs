//! The order of a schedule's invocations (Kahn 1962): each after what it reads and after what it was
//! told to follow; among those that are ready, the earliest in the graph first.

use crate::preschedule::PreSchedule;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Invocations that cannot be ordered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// A dependency on something that is not there.
    #[error("invocation {invocation} depends on {dependency}, but there are only {count}")]
    Unknown {
        /// Which one depends.
        invocation: usize,
        /// On what.
        dependency: usize,
        /// How many there are.
        count: usize,
    },
    /// Invocations that wait for one another.
    #[error("a cycle: invocations {0:?} wait for one another")]
    Cycle(Vec<usize>),
}

impl PreSchedule {
    /// Makes invocation `later` run after `earlier`, with no data between them. One that follows
    /// itself follows nothing.
    ///
    /// # Errors
    /// [`OrderError::Unknown`] where there is no such invocation.
    pub fn run_after(&mut self, later: usize, earlier: usize) -> Result<(), OrderError> {
        let count = self.invocations.len();
        for at in [later, earlier] {
            if at >= count {
                return Err(OrderError::Unknown { invocation: later, dependency: at, count });
            }
        }
        if later != earlier {
            self.invocations[later].after.push(earlier);
        }
        Ok(())
    }

    /// Sorts the invocations by dependency.
    ///
    /// # Errors
    /// [`OrderError`] where a dependency is unknown, or where invocations wait for one another; the
    /// schedule is then as it was.
    pub fn sort(&mut self) -> Result<(), OrderError> {
        let order = self.sorted()?;
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, old)| place[*old] = new);
        let mut taken: Vec<Option<_>> = std::mem::take(&mut self.invocations).into_iter().map(Some).collect();
        self.invocations = order.iter().filter_map(|old| taken[*old].take()).collect();
        for invocation in &mut self.invocations {
            for edge in invocation.dependencies.iter_mut().chain(&mut invocation.after) {
                *edge = place[*edge];
            }
        }
        Ok(())
    }

    fn sorted(&self) -> Result<Vec<usize>, OrderError> {
        let count = self.invocations.len();
        let mut followers: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut waits = vec![0usize; count];
        for (i, invocation) in self.invocations.iter().enumerate() {
            for &dependency in invocation.dependencies.iter().chain(&invocation.after) {
                if dependency >= count {
                    return Err(OrderError::Unknown { invocation: i, dependency, count });
                }
                if dependency != i {
                    followers[dependency].push(i);
                    waits[i] += 1;
                }
            }
        }
        let mut ready: BinaryHeap<Reverse<usize>> = (0..count).filter(|i| waits[*i] == 0).map(Reverse).collect();
        let mut order = Vec::with_capacity(count);
        while let Some(Reverse(i)) = ready.pop() {
            order.push(i);
            for &next in &followers[i] {
                waits[next] -= 1;
                if waits[next] == 0 {
                    ready.push(Reverse(next));
                }
            }
        }
        if order.len() < count {
            return Err(OrderError::Cycle((0..count).filter(|i| waits[*i] > 0).collect()));
        }
        Ok(order)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::preschedule::{Item, KernelInvocation, Slot};

    /// Invocations that each write a buffer of their own and read those listed.
    fn schedule(reads: &[&[usize]]) -> PreSchedule {
        let invocation = |(i, reads): (usize, &&[usize])| KernelInvocation {
            item: Item::Kernel(i),
            args: vec![Slot::Buffer(i)],
            dependencies: reads.to_vec(),
            after: Vec::new(),
        };
        let invocations = reads.iter().enumerate().map(invocation).collect();
        PreSchedule { invocations, ..PreSchedule::default() }
    }

    fn kernels(schedule: &PreSchedule) -> Vec<usize> {
        let kernel = |i: &KernelInvocation| match i.item {
            Item::Kernel(k) => k,
            Item::Copy => usize::MAX,
        };
        schedule.invocations.iter().map(kernel).collect()
    }

    #[test]
    fn b3_data_and_ordering_edges_decide_and_ties_go_to_the_earliest() {
        let mut s = schedule(&[&[2], &[], &[], &[0, 1]]);
        s.sort().unwrap();
        assert_eq!(kernels(&s), [1, 2, 0, 3]);
        assert_eq!(s.invocations[3].dependencies, [2, 0]);
        let mut s = schedule(&[&[], &[], &[]]);
        s.run_after(0, 2).unwrap();
        s.run_after(1, 1).unwrap();
        s.sort().unwrap();
        assert_eq!(kernels(&s), [1, 2, 0]);
    }

    #[test]
    fn b3_a_cycle_and_an_unknown_dependency_are_named_and_change_nothing() {
        let mut s = schedule(&[&[], &[0], &[]]);
        s.run_after(0, 1).unwrap();
        assert_eq!(s.sort(), Err(OrderError::Cycle(vec![0, 1])));
        assert_eq!(kernels(&s), [0, 1, 2]);
        assert_eq!(s.run_after(1, 9), Err(OrderError::Unknown { invocation: 1, dependency: 9, count: 3 }));
        assert!(matches!(schedule(&[&[5]]).sort(), Err(OrderError::Unknown { dependency: 5, .. })));
    }
}
