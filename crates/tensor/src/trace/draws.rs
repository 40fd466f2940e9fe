//! Random numbers in a traced function: what the generator gives is an input of the plan for each draw.

use svod_device::DeviceSpec;
use svod_dtype::DType;
use svod_ir::graph::{Place, Sharding, UOp};

use super::{Trace, function};
use crate::error::{Result, TensorError};
use crate::random::{Draws, Generator, State};
use crate::tensor::Tensor;

/// What a trace knows of random numbers.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    /// What the function does with generators.
    steps: Draws,
    /// What stands for a generator's state in each draw.
    states: Vec<UOp>,
    /// Where the first argument is.
    place: Option<Place>,
}

impl Trace {
    /// What stands for a generator's state in a draw of as many elements by the function that this thread traces, on
    /// this device, else where the function's first argument is; none outside of any.
    pub(crate) fn draw(generator: &Generator, count: u64, device: Option<&DeviceSpec>) -> Result<Option<Tensor>> {
        let Some(trace) = function() else { return Ok(None) };
        let place = trace.0.drawn.lock().place.clone();
        let one = |device: &DeviceSpec| {
            Tensor::placeholder(device, &[2], DType::U64, trace.slots_for(1, "the generator"), &trace)
        };
        let state = match (device, place) {
            (Some(device), _) => one(device)?,
            (None, None) => one(&DeviceSpec::CPU)?,
            (None, Some(Place::One(device))) => one(&device.name().parse()?)?,
            (None, Some(Place::Many(of))) => {
                let whole = Sharding::new(of.devices().to_vec(), None)
                    .map_err(|error| TensorError::value("rand", error.to_string()))?;
                let like = Tensor::from_uop(Tensor::literal(&[0; 16], DType::U64, &[2])?.uop().shard(&whole)?);
                like.placeholder_for(&like.shape(), trace.slots_for(of.devices().len(), "the generator"), &trace)?
            }
        };
        let mut drawn = trace.0.drawn.lock();
        drawn.steps.draw(generator, count);
        drawn.states.push(state.uop());
        Ok(Some(state))
    }

    /// Whether this thread traces a function.
    pub(crate) fn is_traced_here() -> bool {
        function().is_some()
    }

    /// Sets a generator's state in the function that this thread traces, if there is one.
    pub(crate) fn set_generator(generator: &Generator, state: State) -> bool {
        function().map(|trace| trace.0.drawn.lock().steps.set(generator, state)).is_some()
    }

    /// What the function does with generators, and what stands for its state in each draw.
    pub fn draws(&self) -> (Draws, Vec<UOp>) {
        let drawn = self.0.drawn.lock();
        (drawn.steps.clone(), drawn.states.clone())
    }

    /// Notes where an argument is.
    pub fn argument_at(&self, place: Option<&Place>) {
        let mut drawn = self.0.drawn.lock();
        drawn.place = drawn.place.take().or_else(|| place.cloned());
    }
}
