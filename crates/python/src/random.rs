//! Random numbers: generators, and what is drawn straight from their bits.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use svod_device::DeviceSpec;
use svod_dtype::DType;
use svod_tensor::{Generator, GeneratorState, Size, Tensor, with_default_device};

use crate::convert::{AnyTensor, integer};
use crate::dtype::AnyDType;
use crate::error::{Class, Result};
use crate::functions::{extents_of, leaf, shaped};
use crate::gil::allow;
use crate::scalar::{Text, flag};
use crate::size::Extents;
use crate::tensor::Made;

/// A source of random numbers: counter-based (Salmon et al. 2011), so that what it gives follows from the seed and how many
/// numbers were drawn before, whatever the threads or devices that compute them.
///
/// Functions that draw take one as `generator`; without, they draw from the one that `svod.manual_seed` starts anew. In a
/// function of `jit` each call draws the numbers that it would draw if it were not traced. Without a seed nobody knows
/// the numbers before.
///
/// >>> import svod
/// >>> g = svod.Generator(7)
/// >>> state = g.get_state()
/// >>> first = svod.rand(3, generator=g).tolist()
/// >>> g.set_state(state)
/// >>> svod.rand(3, generator=g).tolist() == first == svod.rand(3, generator=svod.Generator(7)).tolist()
/// True
///
/// Its `device` is what PyTorch's programs ask for: numbers are the same on all devices, and are drawn where the function
/// that draws them says.
#[pyclass(name = "Generator", module = "svod", frozen)]
pub struct PyGenerator {
    numbers: Generator,
    device: DeviceSpec,
}

#[explained]
#[pymethods]
impl PyGenerator {
    #[new]
    #[pyo3(signature = (seed=None, device=None))]
    fn new(seed: Option<&Bound<'_, PyAny>>, device: Option<Text>) -> Result<Self> {
        // PyTorch's generators take a device first.
        let named = seed.and_then(|seed| seed.extract::<String>().ok()).filter(|_| device.is_none());
        let seed = seed.filter(|_| named.is_none());
        let numbers = match seed {
            Some(seed) => Generator::new(seed_of("Generator", seed)?),
            None => Generator::unseeded(),
        };
        let device = match device.as_deref().or(named.as_deref()) {
            Some(name) => crate::tensor::device(name)?,
            None => crate::tensor::default_device()?,
        };
        Ok(PyGenerator { numbers, device })
    }

    /// The device that it was made for.
    #[getter]
    fn device(&self) -> String {
        self.device.to_string()
    }

    /// Starts the generator anew, and gives it back.
    fn manual_seed<'py>(slf: Bound<'py, Self>, seed: &Bound<'py, PyAny>) -> Result<Bound<'py, Self>> {
        slf.get().numbers.set_state(GeneratorState { key: seed_of("manual_seed", seed)?, offset: 0 });
        Ok(slf)
    }

    /// What its later numbers follow from: the seed and how many numbers were drawn, as 2 numbers of `uint64`.
    fn get_state(&self) -> Made {
        let state = self.numbers.state()?;
        Ok(Tensor::from_slice(&[state.key, state.offset], &[2])?.into())
    }

    /// Goes on from a state of `get_state`, of this generator or another one.
    fn set_state(&self, py: Python<'_>, state: AnyTensor) -> Result<()> {
        let numbers = allow(py, || state.0.cast(DType::U64)?.to_vec::<u64>())?;
        let [key, offset] = numbers[..] else {
            return Err(Class::Argument.raise(format!("set_state: 2 numbers are expected, not {}", numbers.len())));
        };
        self.numbers.set_state(GeneratorState { key, offset });
        Ok(())
    }

    fn __repr__(&self) -> Result<String> {
        let state = self.numbers.state()?;
        Ok(format!("Generator({}) after {} numbers", state.key, state.offset))
    }

    /// A generator of its own in the same state.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<(Bound<'py, PyAny>, (u64, u64, String))> {
        let state = slf.get().numbers.state()?;
        let restore = slf.get_type().getattr(pyo3::intern!(slf.py(), "_restore"))?;
        Ok((restore, (state.key, state.offset, slf.get().device.to_string())))
    }

    /// What was pickled.
    #[staticmethod]
    fn _restore(key: u64, offset: u64, device: &str) -> Result<Self> {
        let numbers = Generator::new(key);
        numbers.set_state(GeneratorState { key, offset });
        Ok(PyGenerator { numbers, device: crate::tensor::device(device)? })
    }
}

/// A seed, as PyTorch reads it: a negative one counts from 2**64.
fn seed_of(op: &str, seed: &Bound<'_, PyAny>) -> Result<u64> {
    seed.extract::<u64>().map_or_else(|_| integer(&format!("{op}: seed"), seed).map(|seed| seed as u64), Ok)
}

/// Random values, drawn on the device that is named, from a generator.
fn drawn(
    device: Option<&str>,
    generator: Option<&Bound<'_, PyGenerator>>,
    draw: impl FnOnce() -> svod_tensor::Result<Tensor>,
) -> svod_tensor::Result<Tensor> {
    let here = || match device {
        Some(name) => with_default_device(name, draw),
        None => draw(),
    };
    match generator {
        Some(generator) => generator.get().numbers.within(here),
        None => here(),
    }
}

/// Floats of a shape, drawn by a distribution.
fn floats(
    shape: &Extents,
    dtype: Option<AnyDType>,
    device: Option<Text>,
    generator: Option<&Bound<'_, PyGenerator>>,
    draw: fn(&[Size], Option<DType>) -> svod_tensor::Result<Tensor>,
) -> Made {
    shape.bind(drawn(device.as_deref(), generator, || draw(&shape.sizes, dtype.map(|d| d.0))))
}

/// The state of the default generator of random numbers, a tensor of 2 numbers, which a program saves to go on from
/// later. In a function of `jit` it is that of each call.
///
/// >>> import svod
/// >>> state = svod.get_rng_state()
/// >>> first = svod.rand(3)
/// >>> svod.set_rng_state(state)
/// >>> (svod.rand(3) == first).all().item()
/// True
#[explained]
#[pyfunction]
pub fn get_rng_state() -> Made {
    Ok(Tensor::generator_state()?.into())
}

/// Has the default generator of random numbers go on from a state that `get_rng_state` gave.
#[explained]
#[pyfunction]
pub fn set_rng_state(py: Python<'_>, state: AnyTensor) -> Result<()> {
    let state = state.0;
    allow(py, || state.set_generator_state())
}

/// Uniformly distributed in [0, 1). The numbers are drawn when this is called: a plan has the same in each run, and so
/// has a function of `jit` in each call, or a loop in each iteration, in which it is called.
#[explained]
#[pyfunction]
#[pyo3(signature = (*shape, dtype=None, device=None, generator=None, size=None, requires_grad=false))]
pub fn rand(
    shape: &Bound<'_, PyTuple>,
    dtype: Option<AnyDType>,
    device: Option<Text>,
    generator: Option<Bound<'_, PyGenerator>>,
    size: Option<Bound<'_, PyAny>>,
    #[pyo3(from_py_with = flag)] requires_grad: bool,
) -> Made {
    let shape = extents_of("rand", shape, None, size)?;
    leaf(floats(&shape, dtype, device, generator.as_ref(), Tensor::rand), requires_grad)
}

/// Normally distributed with mean 0 and deviation 1.
#[explained]
#[pyfunction]
#[pyo3(signature = (*shape, dtype=None, device=None, generator=None, size=None, requires_grad=false))]
pub fn randn(
    shape: &Bound<'_, PyTuple>,
    dtype: Option<AnyDType>,
    device: Option<Text>,
    generator: Option<Bound<'_, PyGenerator>>,
    size: Option<Bound<'_, PyAny>>,
    #[pyo3(from_py_with = flag)] requires_grad: bool,
) -> Made {
    let shape = extents_of("randn", shape, None, size)?;
    leaf(floats(&shape, dtype, device, generator.as_ref(), Tensor::randn), requires_grad)
}

/// Integers uniformly distributed from `low` to before `high`.
#[explained]
#[pyfunction]
#[pyo3(name = "_randint", signature = (low, high, shape, *, dtype=None, device=None, generator=None))]
pub fn randint(
    low: &Bound<'_, PyAny>,
    high: &Bound<'_, PyAny>,
    shape: &Bound<'_, PyAny>,
    dtype: Option<AnyDType>,
    device: Option<Text>,
    generator: Option<Bound<'_, PyGenerator>>,
) -> Made {
    let (low, high) = (integer("randint: low", low)?, integer("randint: high", high)?);
    let shape = shaped("randint", shape)?;
    shape.bind(drawn(device.as_deref(), generator.as_ref(), || {
        Tensor::randint(low, high, &shape.sizes, dtype.map(|d| d.0))
    }))
}

/// Starts the default generator anew, so that what it draws can be repeated. A negative seed counts from 2**64.
#[explained]
#[pyfunction]
pub fn manual_seed(seed: &Bound<'_, PyAny>) -> Result<()> {
    svod_tensor::manual_seed(seed_of("manual_seed", seed)?);
    Ok(())
}
