//! From a graph to a schedule of its kernels' calls.

use super::cut::cut;
use crate::calls::buffer_rotation::rotate_buffers;
use crate::calls::parameterise::parameterise;
use crate::calls::preschedule::PreSchedule;
use crate::calls::schedule_graph::{ScheduleGraph, ScheduleGraphError};
use crate::fusion::Purpose;
use crate::rangeify::RangeifyError;
use svod_ir::graph::key::GraphKey;
use svod_ir::graph::{Graph, GraphError};
use svod_ir::pass::{Pass, bisect};

/// Why a graph has no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PreScheduleError {
    /// Nothing has to be computed.
    #[error("no kernel found: the graph has nothing to compute")]
    NoKernels,
    /// A part of the graph has no kernel form.
    #[error(transparent)]
    Rangeify(#[from] RangeifyError),
    /// Calls that cannot be ordered.
    #[error(transparent)]
    Order(#[from] ScheduleGraphError),
    /// A graph that cannot be rewritten.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// Cuts a graph into kernels and orders them; its `key` numbers leaves and functions.
///
/// # Errors
/// [`PreScheduleError::NoKernels`] where the roots are memory already, and
/// [`PreScheduleError::Rangeify`] where an operation cannot be compiled.
pub fn create_pre_schedule(graph: &Graph, key: &GraphKey, how: Purpose) -> Result<PreSchedule, PreScheduleError> {
    let schedule = pre_schedule(graph, key, how)?;
    if schedule.invocations.is_empty() { Err(PreScheduleError::NoKernels) } else { Ok(schedule) }
}

/// As [`create_pre_schedule`]; where nothing has to be computed, the schedule has outputs only.
///
/// # Errors
/// [`PreScheduleError::Rangeify`] where an operation cannot be compiled.
pub fn pre_schedule(graph: &Graph, key: &GraphKey, how: Purpose) -> Result<PreSchedule, PreScheduleError> {
    let calls = create_schedule_graph(graph, key, how)?;
    let schedule = Pass::Order.run(&(), || calls.linearize().map(rotate_buffers))?;
    Ok(if how.runs(Pass::Parameterise) { Pass::Parameterise.run_on(schedule, parameterise) } else { schedule })
}

/// Cuts a graph into kernels, as calls that are still to be ordered.
///
/// # Errors
/// [`PreScheduleError::Rangeify`] where an operation cannot be compiled.
pub fn create_schedule_graph(graph: &Graph, key: &GraphKey, how: Purpose) -> Result<ScheduleGraph, PreScheduleError> {
    bisect::begin();
    cut(graph, key, how)
}
