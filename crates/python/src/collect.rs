//! Cycles of Python objects by way of functions that svod holds: what its objects tell the garbage collector.
//!
//! A tensor holds a function of `svod.custom` by its graph, which other tensors may share. The collector has to be told of
//! each reference once, and of none that somebody else holds: an object tells of those functions that it alone
//! keeps alive ([`HeldFunctions`]). Of a function that several of them share none may tell: if the one that does is
//! garbage and another is not, the collector would clear a function that is in use, for the other one has said
//! nothing of it; and if all do, its references are counted more often than there are. A cycle through a function that
//! several live tensors share is therefore not collected, which `svod.custom` says. While a thread is at work in svod, which may share them for a moment, nothing is
//! told; that thread began with the interpreter's lock held ([`crate::fork`]), which the collector holds now.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::{PyTraverseError, PyVisit};
use svod_ir::graph::HeldFunctions;
use svod_runtime::Function;

use crate::fork;
use crate::step::Call;

/// Whether there ever was a function to tell of.
static ANY: AtomicBool = AtomicBool::new(false);

/// Says that there is a function to tell of.
pub fn watch() {
    ANY.store(true, Ordering::Relaxed);
}

/// Tells the collector of the functions that an object alone holds, as `hold` notes them.
pub fn tell(visit: &PyVisit<'_>, hold: impl FnOnce(&mut HeldFunctions)) -> Result<(), PyTraverseError> {
    if !ANY.load(Ordering::Relaxed) || fork::is_busy() {
        return Ok(());
    }
    let mut held = HeldFunctions::default();
    hold(&mut held);
    held.alone()
        .filter_map(|call| call.downcast::<Function>()?.state::<Call>())
        .try_for_each(|call| visit.call(call.function()))
}
