//! Making instances of a plan.

use super::builder::Role;
use super::output::{Content, PlanOutput, Written};
use super::run::Run;
use super::{ExecutionPlan, Shared};
use crate::error::Result;
use crate::memory::Memory;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use svod_device::{Buffer, Storage, StorageId};
use svod_ir::graph::LeafData;

/// An instance with these buffers, allocated; those that runs may replace only if it is to `own`
/// them from the start.
pub(super) fn plan(
    shared: Arc<Shared>,
    buffers: Vec<Arc<Buffer>>,
    inputs: Vec<Arc<Memory>>,
    mut run: Run,
    own: bool,
) -> Result<ExecutionPlan> {
    // Values that are still to come are asked for at the first run.
    match run.prepare(&shared, &buffers, shared.pool().threads()) {
        Err(crate::Error::Variable(_)) => {}
        done => done?,
    }
    if own {
        run.own(&shared, &buffers)?;
    }
    let content = Content::new(&shared.ops);
    let output = |(i, at): (usize, &usize)| {
        let given = shared.roles[*at] == Role::Given;
        let output = PlanOutput::new(i, buffers[*at].clone(), shared.output_shapes.get(i), given, &content);
        if !shared.vars.is_empty() {
            output.begin(Some(&run.values(&shared).into()));
        }
        Arc::new(output)
    };
    let outputs = shared.outputs.iter().enumerate().map(output).collect();
    // A plan without ops has its results from the start.
    content.set_valid(shared.ops.is_empty());
    let (run, content) = (Mutex::new(run), Written::new(content));
    Ok(ExecutionPlan { shared, outputs, inputs, run, content, profile: Mutex::new(None), buffers })
}

/// Another instance with memory of its own, save what comes from outside.
pub(super) fn another(plan: &ExecutionPlan) -> Result<ExecutionPlan> {
    let run = plan.hold()?;
    let mut storages: FxHashMap<StorageId, Arc<Storage>> = FxHashMap::default();
    let mut own = |buffer: &Arc<Buffer>| -> Result<Arc<Buffer>> {
        let old = buffer.storage();
        let new = storages.entry(old.id()).or_insert_with(|| Storage::new(old.allocator(), old.bytes()));
        Ok(Arc::new(Buffer::over(new.clone(), buffer.offset(), buffer.dtype(), buffer.count())?))
    };
    let inputs: Vec<Arc<Memory>> = plan
        .inputs
        .iter()
        .map(|input| {
            let copy = own(input.buffer())?;
            if input.buffer().is_allocated() {
                copy.copy_from(input.buffer())?;
            }
            Ok(Arc::new(Memory::new(copy, input.class()).with_bindings(&input.bindings())))
        })
        .collect::<Result<_>>()?;
    let given: Vec<StorageId> = plan
        .buffers
        .iter()
        .zip(&plan.shared.roles)
        .filter(|(_, role)| **role == Role::Given)
        .map(|(buffer, _)| buffer.storage_id())
        .collect();
    let given: rustc_hash::FxHashSet<StorageId> = given.into_iter().collect();
    let buffers = plan
        .buffers
        .iter()
        .map(|buffer| match given.contains(&buffer.storage_id()) {
            true => Ok(buffer.clone()),
            false => own(buffer),
        })
        .collect::<Result<Vec<_>>>()?;
    self::plan(plan.shared.clone(), buffers, inputs, run.another(), true)
}
