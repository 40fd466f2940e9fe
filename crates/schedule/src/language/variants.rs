//! Several schedules for one kernel, by its sizes.

use super::Schedule;
use std::fmt;
use svod_ir::lowered::Guard;

/// Schedules of one kernel: the first whose guard holds is used, else the last. Prints as the last one's steps,
/// or each after a line `when batch <= 4`, and the last after `otherwise`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Variants {
    /// Those with a guard.
    pub guarded: Vec<(Guard, Schedule)>,
    /// The one for all other sizes.
    pub rest: Schedule,
}

impl From<Schedule> for Variants {
    fn from(rest: Schedule) -> Self {
        Variants { guarded: Vec::new(), rest }
    }
}

impl Variants {
    /// Each schedule, and its guard.
    pub fn iter(&self) -> impl Iterator<Item = (Option<&Guard>, &Schedule)> {
        self.guarded.iter().map(|(guard, schedule)| (Some(guard), schedule)).chain([(None, &self.rest)])
    }

    /// The schedule of a variant, by position.
    pub fn get(&self, variant: usize) -> &Schedule {
        self.guarded.get(variant).map_or(&self.rest, |(_, schedule)| schedule)
    }
}

impl fmt::Display for Variants {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (guard, schedule) in &self.guarded {
            write!(f, "when {guard}\n{schedule}")?;
        }
        let otherwise = if self.guarded.is_empty() { "" } else { "otherwise\n" };
        write!(f, "{otherwise}{}", self.rest)
    }
}
