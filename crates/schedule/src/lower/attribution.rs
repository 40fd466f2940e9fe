//! Which step of a schedule is the cause of a fault that only its loops show.
//!
//! What can be made of a schedule's loops follows from several steps together: a split, an order, a binding, a place.
//! The one to name is the last without which there would be no fault.

use super::{LowerError, loops};
use crate::language::Schedule;
use svod_ir::kernel::Kernel;

/// The step, by position, that `fault`, which the loops of `schedule` show, is due to; `None` where it names one, and of an empty schedule.
pub(super) fn attribute(kernel: &Kernel, schedule: &Schedule, fault: &LowerError) -> Option<usize> {
    if is_of_a_step(fault) {
        return None;
    }
    let steps = schedule.0.len();
    let without = |step: &usize| {
        let mut rest = schedule.clone();
        rest.0.remove(*step);
        loops(kernel, &rest).map(|_| ())
    };
    let alone = (0..steps).rev().find(|step| without(step).is_ok());
    // Of several faults the first is told.
    let another = |step: &usize| !matches!(without(step), Err(why) if why == *fault || is_of_a_step(&why));
    let alone = alone.or_else(|| (0..steps).rev().find(another));
    let begins = |step: &usize| loops(kernel, &schedule.0[..=*step].to_vec().into()).is_err_and(|why| why == *fault);
    alone.or_else(|| (0..steps).find(begins))
}

fn is_of_a_step(fault: &LowerError) -> bool {
    matches!(fault, LowerError::Schedule(_))
}
