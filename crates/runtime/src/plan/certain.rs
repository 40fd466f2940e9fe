//! Runs that cannot fail once they have begun.
//!
//! A run that fails leaves the inputs as they were, and so a new content goes to memory beside the one so far
//! ([`super::run`]): twice the memory, which kernels find in no cache. Where all ops are kernels of the host that take
//! little time, a run has nothing left to fail by once its memory is there: it is not asked to stop. Then a new content
//! is copied over the one so far, and a buffer that nobody writes is shared.

use super::reentry::Holding;
use super::run::Run;
use super::{ExecutionPlan, Feed};
use crate::error::Result;
use smallvec::SmallVec;
use std::sync::Arc;
use svod_device::{Buffer, Storage};

/// How an input gets its next content.
enum Way<'a> {
    /// It keeps the one that it has.
    Keep,
    Copy(&'a [u8]),
    CopyBuffer(&'a Buffer),
    /// It takes the block of this storage, which is written by nobody as long as it is shared.
    Share(Arc<Storage>),
}

impl ExecutionPlan {
    /// [`ExecutionPlan::execute_with`] where inputs are given and the run cannot fail once it has begun; none of other runs.
    pub(super) fn execute_certain(&self, inputs: &[Feed], vars: &[(&str, i64)]) -> Result<Option<()>> {
        if !self.shared.certain || !inputs.iter().any(|feed| !matches!(feed, Feed::Keep)) {
            return Ok(None);
        }
        let seen = |buffer: &Buffer| buffer.storage().allocator().host_visible() && buffer.is_allocated();
        if inputs.iter().any(|feed| matches!(feed, Feed::Buffer(buffer) if !seen(buffer))) {
            return Ok(None);
        }
        let mut run = self.hold()?;
        let bytes = self.check(&run, inputs, vars)?;
        run.save(&self.shared);
        run.set_vars(&self.shared, vars);
        let pool = self.shared.pool();
        let done = match run.prepare(&self.shared, &self.buffers, pool.threads()) {
            Ok(()) if run.is_short() => self.run_certain(&mut run, inputs, &bytes).map(Some),
            other => other.map(|()| None),
        };
        if !matches!(done, Ok(Some(()))) {
            run.restore(&self.shared);
        }
        done
    }

    fn run_certain(&self, run: &mut Holding<'_, Run>, inputs: &[Feed], bytes: &[usize]) -> Result<()> {
        self.write_outputs(run, |run| {
            // All that may fail comes first: memory.
            run.own(&self.shared, &self.buffers)?;
            let mut ways: SmallVec<[Way; 8]> = SmallVec::new();
            for (input, feed) in self.inputs.iter().zip(inputs) {
                let own = input.buffer();
                ways.push(match *feed {
                    Feed::Keep => Way::Keep,
                    Feed::Bytes(bytes) => Way::Copy(bytes),
                    Feed::Buffer(buffer) if is_shareable(buffer, own) => Way::Share(buffer.storage().share()?),
                    Feed::Buffer(buffer) => Way::CopyBuffer(buffer),
                });
            }
            // Once all blocks are shared that are to be: one of them may be that of an input.
            for (input, way) in self.inputs.iter().zip(&ways) {
                if let Way::Copy(_) | Way::CopyBuffer(_) = way {
                    run.own_input(input.buffer(), &self.buffers)?;
                }
            }
            for (i, (way, bytes)) in ways.into_iter().zip(bytes).enumerate() {
                let own = self.inputs[i].buffer();
                let part = || own.view(0, own.dtype(), bytes / own.dtype().bytes());
                match way {
                    Way::Keep => continue,
                    Way::Copy(content) => part()?.copy_in(content)?,
                    Way::CopyBuffer(buffer) => part()?.copy_from(buffer)?,
                    Way::Share(storage) => own.storage().swap(&storage)?,
                }
                run.point_input(own, &self.buffers)?;
                self.inputs[i].bump_version();
                run.note_feed(&self.shared, i);
            }
            run.finish(&self.shared, &self.buffers)
        })
    }
}

/// Whether an input may have the block of a buffer: both are all of it, and no address of somebody else's.
fn is_shareable(buffer: &Buffer, own: &Buffer) -> bool {
    let storage = buffer.storage();
    let same = buffer.device() == own.device() && buffer.bytes() == own.bytes();
    same && !buffer.is_view() && !own.is_view() && !storage.is_borrowed() && !storage.is_read_only()
}
