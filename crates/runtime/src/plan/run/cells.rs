//! Memory of an instance that moves from run to run, and where the tables name it.
//!
//! An output moves to fresh memory when somebody else owns what the last run wrote. An input trades its memory with a
//! spare one, into which its next content is copied, so that the earlier one is there again if the run fails. Runs that
//! cannot fail have no spare one (`plan/certain.rs`).

use super::{NONE, Run};
use crate::error::Result;
use crate::plan::builder::Role;
use crate::plan::{PlanOp, Shared};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use svod_device::{Buffer, Storage, StorageId};

/// Bytes up to which the spare memory of an input is kept from run to run.
const KEPT: usize = 1 << 20;

#[derive(Default)]
pub(super) struct Cells {
    /// The storages of outputs.
    outputs: Vec<Cell>,
    /// Those of inputs.
    inputs: Vec<Cell>,
    /// Of each input, the other memory.
    spares: Vec<Option<Buffer>>,
}

/// A storage that moves.
struct Cell {
    storage: Arc<Storage>,
    /// Whether a run may read what was there before it, or leave some of it.
    keep: bool,
    /// Positions of pointers to it, each with its buffer.
    places: Vec<(usize, usize)>,
}

impl Cells {
    pub(super) fn release_spares(&mut self) {
        self.spares.clear();
    }
}

/// The storages that runs write whole before they read any of it.
fn overwritten(shared: &Shared, buffers: &[Arc<Buffer>]) -> FxHashSet<StorageId> {
    let (mut met, mut whole) = (FxHashSet::default(), FxHashSet::default());
    for &at in &shared.order.order {
        let op: &PlanOp = &shared.ops[at];
        // What an op both reads and writes, such as a scatter, it writes first.
        let mut accesses: Vec<(usize, bool)> = op.accesses().collect();
        accesses.sort_by_key(|(_, write)| !write);
        for (buffer, write) in accesses {
            let (buffer, storage) = (&buffers[buffer], buffers[buffer].storage_id());
            if met.insert(storage) && write && !buffer.is_view() {
                whole.insert(storage);
            }
        }
    }
    whole
}

impl Run {
    /// Notes where the tables of pointers, which are there, name memory that moves.
    pub(super) fn lay_out_cells(&mut self, shared: &Shared, buffers: &[Arc<Buffer>]) {
        let overwritten = overwritten(shared, buffers);
        let mut places: FxHashMap<StorageId, Vec<(usize, usize)>> = FxHashMap::default();
        for (op, kernel) in shared.ops.iter().zip(&self.kernels) {
            let (Some(code), Some(kernel)) = (op.code(), kernel) else { continue };
            for (slot, place) in code.spec().globals.iter().zip(kernel.ptrs.clone()) {
                let buffer = op.buffers[*slot];
                places.entry(buffers[buffer].storage_id()).or_default().push((place, buffer));
            }
        }
        let cells = |role: Role| -> Vec<Cell> {
            let mut met = FxHashSet::default();
            let of_role = shared.roles.iter().zip(buffers).filter(|(r, _)| **r == role).map(|(_, buffer)| buffer);
            let cell = |buffer: &Arc<Buffer>| {
                let (storage, id) = (buffer.storage().clone(), buffer.storage_id());
                let (keep, places) = (!overwritten.contains(&id), places.get(&id).cloned().unwrap_or_default());
                met.insert(id).then_some(Cell { storage, keep, places })
            };
            of_role.filter_map(cell).collect()
        };
        (self.cells.outputs, self.cells.inputs) = (cells(Role::Output), cells(Role::Input));
    }

    /// Moves outputs that somebody else has come to own to fresh memory.
    pub(super) fn own_outputs(&mut self, buffers: &[Arc<Buffer>]) -> Result<()> {
        for at in 0..self.cells.outputs.len() {
            let cell = &self.cells.outputs[at];
            if cell.storage.own(cell.keep)? {
                point(&mut self.ptrs, cell, buffers)?;
                self.forget_lanes();
            }
        }
        Ok(())
    }

    /// Copies the next content of an input by `fill`, which is given its memory; that so far becomes the spare one.
    pub(in crate::plan) fn feed(
        &mut self,
        input: usize,
        own: &Buffer,
        buffers: &[Arc<Buffer>],
        fill: impl FnOnce(&Buffer) -> Result<()>,
    ) -> Result<()> {
        let spares = &mut self.cells.spares;
        if spares.len() <= input {
            spares.resize_with(input + 1, || None);
        }
        let spare = match spares[input].take() {
            Some(spare) => spare,
            None => {
                let storage = Storage::new(own.storage().allocator(), own.storage().bytes());
                Buffer::over(storage, own.offset(), own.dtype(), own.count())?
            }
        };
        let spare = spares[input].insert(spare);
        fill(spare)?;
        own.storage().swap(spare.storage())?;
        self.point_input(own, buffers)
    }

    /// Makes the memory of an input the instance's alone, with its content.
    pub(in crate::plan) fn own_input(&mut self, own: &Buffer, buffers: &[Arc<Buffer>]) -> Result<()> {
        match own.storage().own(true)? {
            true => self.point_input(own, buffers),
            false => Ok(()),
        }
    }

    /// Puts the present address of an input into the tables, if they are there.
    pub(in crate::plan) fn point_input(&mut self, own: &Buffer, buffers: &[Arc<Buffer>]) -> Result<()> {
        let id = own.storage_id();
        if let Some(cell) = self.cells.inputs.iter().find(|cell| cell.storage.id() == id && self.ready) {
            point(&mut self.ptrs, cell, buffers)?;
            self.forget_lanes();
        }
        Ok(())
    }

    /// Gives an input the content back that it had before it was fed.
    pub(in crate::plan) fn unfeed(&mut self, input: usize, own: &Buffer) {
        if let Some(spare) = self.cells.spares.get(input).and_then(Option::as_ref)
            && own.storage().swap(spare.storage()).is_ok()
        {
            self.ready = false;
        }
    }

    /// Lets go of spare memory that is large.
    pub(in crate::plan) fn trim_spares(&mut self) {
        self.cells.spares.iter_mut().for_each(|spare| drop(spare.take_if(|spare| spare.bytes() > KEPT)));
    }

    /// Makes lanes copy the pointers anew.
    pub(super) fn forget_lanes(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.0.get_mut().op = NONE);
    }
}

/// Puts the present addresses of a cell into the table.
fn point(ptrs: &mut [*mut u8], cell: &Cell, buffers: &[Arc<Buffer>]) -> Result<()> {
    for (place, buffer) in &cell.places {
        ptrs[*place] = buffers[*buffer].allocate()?.as_ptr();
    }
    Ok(())
}
