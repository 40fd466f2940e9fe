//! Kernels of another device that are handed over as one.
//!
//! To hand a kernel over takes the host as long as many a kernel runs. Where a plan has several in a row, and the device can
//! remember what it was handed, it does so the second time that they run on the same memory: from then on all of them are
//! one launch there. Outputs may move from run to run, in which case a few places are remembered.

use super::Run;
use crate::error::Result;
use crate::plan::Shared;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use svod_device::{Buffer, DeviceError, Recorded};

/// Sets of memory that are remembered.
const MOST: usize = 8;

/// Kernels of one device, in their order.
pub(super) struct Together {
    pub ops: Vec<usize>,
    known: Mutex<Vec<Seen>>,
}

/// The pointers of all kernels in a run.
struct Seen {
    pointers: Vec<*mut u8>,
    recorded: State,
}

enum State {
    /// They ran once.
    Once,
    /// They are one launch.
    Recorded(Box<dyn Recorded>),
    /// The device does not remember, or not these.
    Never,
}

// SAFETY: the pointers are compared, and nothing else.
unsafe impl Send for Seen {}

impl Together {
    pub fn new(ops: Vec<usize>) -> Together {
        Together { ops, known: Mutex::default() }
    }

    /// Runs the kernels on the memory that the tables of a run name. The values of its variables are those with which this
    /// was made.
    pub fn run(&self, run: &Run, shared: &Shared, buffers: &[Arc<Buffer>]) -> Result<()> {
        let each = || self.ops.iter().try_for_each(|op| run.alone(shared, buffers, *op));
        let pointers =
            || self.ops.iter().filter_map(|op| run.kernels[*op].as_ref()).flat_map(|k| &run.ptrs[k.ptrs.clone()]);
        let mut known = self.known.lock();
        let Some(seen) = known.iter_mut().find(|seen| seen.pointers.iter().eq(pointers())) else {
            if known.len() == MOST {
                known.remove(0);
            }
            known.push(Seen { pointers: pointers().copied().collect(), recorded: State::Once });
            return each();
        };
        if let State::Once = seen.recorded {
            seen.recorded = match self.record(shared, &each) {
                Some(recorded) => State::Recorded(recorded),
                None => State::Never,
            };
        }
        match &seen.recorded {
            // SAFETY: what was recorded are the kernels of `alone`, with the same pointers and values, for which its
            // promises hold in this run as well.
            State::Recorded(recorded) => Ok(unsafe { recorded.run() }?),
            State::Once | State::Never => each(),
        }
    }

    /// What is run, as one; nothing of it is done.
    fn record(&self, shared: &Shared, each: &dyn Fn() -> Result<()>) -> Option<Box<dyn Recorded>> {
        let code = shared.ops[*self.ops.first()?].code()?;
        let name = || code.name().to_owned();
        let failed =
            |message: String| DeviceError::Execute { device: code.device().spec().clone(), name: name(), message };
        let mut runs = || each().map_err(|error| failed(error.to_string()));
        // What fails here fails again, or not, where the kernels run one by one.
        code.device().runtime().ok()?.record(&mut runs).ok()?
    }
}

impl fmt::Debug for Together {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} kernels together", self.ops.len())
    }
}
