//! Tracing: functions that are called with placeholders, and what `jit` tells their arguments apart by.

use std::collections::BTreeMap;
use std::fmt::{Arguments, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};
use svod_dtype::DType;
use svod_ir::graph::{Graph, Place, Shape};
use svod_runtime::PrepareConfig;
use svod_tensor::{
    Draws, ErrorKind, Facts, Found, Gathered, Size, SizeValues, Taken, Tensor, TensorError, Trace, misfit,
    with_constants, with_values,
};

use crate::array::{dtype_of, placed};
use crate::call::is_recorded;
use crate::dtype::AnyDType;
use crate::error::{Class, Result};
use crate::gil::allow;
use crate::graph::PyGraph;
use crate::size::{AnySize, Extents, PySize, shown};
use crate::tensor::{Made, PyTensor};

/// A call of a function by `jit`, with placeholders for its arrays.
#[pyclass(name = "_Trace", module = "svod._svod", frozen)]
pub struct PyTrace(Trace);

#[explained]
#[pymethods]
impl PyTrace {
    /// A trace for a call in which variables have these values, where these facts hold; these tensors from outside are
    /// constants of it.
    #[new]
    #[pyo3(signature = (values, facts=None, constants=Vec::new()))]
    fn new(values: BTreeMap<String, i64>, facts: Option<&PyFacts>, constants: Vec<Py<PyTensor>>) -> PyTrace {
        let facts = facts.map(|facts| facts.0.clone()).unwrap_or_default();
        let constants = constants.iter().map(|tensor| tensor.get().0.clone()).collect();
        PyTrace(Trace::of_function(SizeValues::new(values), facts, constants))
    }

    /// What stands for an array of this shape and type, which errors call so; on the CPU, or on another device.
    #[pyo3(signature = (shape, dtype, name, device=None))]
    fn placeholder(&self, shape: &Bound<'_, PyTuple>, dtype: AnyDType, name: &str, device: Option<&str>) -> Made {
        let shape = self.shape(shape)?;
        let slot = self.0.slots_for(1, name);
        let made = Tensor::placeholder(&placed(device)?, &shape, dtype.0, slot, &self.0)?;
        if device.is_some() {
            self.0.argument_at(made.uop().place());
        }
        Ok(made.into())
    }

    /// What stands for a tensor of this shape, which errors call so.
    fn placeholder_for(&self, tensor: &PyTensor, shape: &Bound<'_, PyTuple>, name: &str) -> Made {
        let shape = self.shape(shape)?;
        let slot = self.0.slots_for(tensor.0.sharding().map_or(1, |of| of.devices().len()), name);
        self.0.argument_at(tensor.0.uop().place());
        Ok(tensor.0.placeholder_for(&shape, slot, &self.0)?.into())
    }

    /// A size as the function has it; one with values of its own is what it is.
    fn size<'py>(&self, size: Bound<'py, PySize>) -> Result<Bound<'py, PyAny>> {
        let AnySize { size: own, values } = size.get().any();
        if values.is_empty() { shown(size.py(), &self.0.facts().apply(&own)) } else { Ok(size.into_any()) }
    }

    /// What the function gives.
    fn run<'py>(&self, function: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        Ok(self.0.run(|| function.call0())?)
    }

    /// The tensors from outside that the function found, of a result that is these tensors: of each the handle, what stands
    /// for it, and whether the result depends on that. Of constants nothing stands for them.
    fn found(&self, outputs: Vec<Py<PyTensor>>) -> Vec<(PyTensor, Option<PyTensor>, bool)> {
        let graph = Graph::new(&outputs.iter().map(|output| output.get().0.uop()).collect::<Vec<_>>());
        let one = |found: Found| {
            let is_read = found.is_read_by(&graph);
            let input = found.is_input.then(|| Tensor::from_uop(found.node).into());
            (PyTensor(found.tensor), input, is_read)
        };
        self.0.found().into_iter().map(one).collect()
    }

    /// Whether a tensor's value depends on what the trace is made with.
    fn has_made(&self, tensor: &PyTensor) -> bool {
        self.0.has_made(&tensor.0)
    }

    /// The tensors from outside that the function has assigned to, and their values.
    fn written(&self) -> Result<Vec<(PyTensor, PyTensor)>> {
        let mut all = Vec::new();
        for Found { tensor, written, .. } in self.0.found() {
            if let Some(value) = written {
                all.push((PyTensor(tensor), Tensor::from_uop(value).detach()?.into()));
            }
        }
        Ok(all)
    }

    /// The tensors from outside whose gradients the function has asked for or gathered: of each what was gathered before, what
    /// is gathered now, and whether that is something else.
    fn gathered(&self) -> Vec<(PyTensor, Option<PyTensor>, Option<PyTensor>, bool)> {
        let found = self.0.found();
        let one = |(at, Gathered { before, now, .. }): (usize, Gathered)| {
            let is_same = match (&before, &now) {
                (Some(before), Some(now)) => before.same(now),
                (before, now) => before.is_none() && now.is_none(),
            };
            (PyTensor(found[at].tensor.clone()), before.map(PyTensor), now.map(PyTensor), !is_same)
        };
        self.0.gathered().into_iter().map(one).collect()
    }

    /// What the function does with the generator of random numbers, and what stands for its state in each draw.
    fn draws(&self) -> (PyDraws, Vec<PyTensor>) {
        let (draws, states) = self.0.draws();
        (PyDraws(draws), states.into_iter().map(|state| Tensor::from_uop(state).into()).collect())
    }

    /// The tensors from outside whose data the function asked for, which an input has not.
    fn looked_at(&self) -> Vec<PyTensor> {
        self.0.looked_at().into_iter().map(PyTensor).collect()
    }

    /// Why the function was last refused the number that a size is.
    fn refused(&self) -> Option<String> {
        self.0.refused()
    }

    /// What the result depends on: what the function took for granted of sizes, and was told; none where it did not ask.
    fn told(&self) -> Option<PyFacts> {
        let told = self.0.told();
        (!told.decisions().is_empty()).then_some(PyFacts(told))
    }
}

impl PyTrace {
    fn shape(&self, given: &Bound<'_, PyTuple>) -> Result<Vec<Size>> {
        Ok(Extents::positive(given)?.sizes.iter().map(|size| self.0.facts().apply(size)).collect())
    }
}

/// What a traced function was told of sizes.
#[pyclass(name = "_Facts", module = "svod._svod", frozen)]
pub struct PyFacts(Facts);

#[explained]
#[pymethods]
impl PyFacts {
    /// Whether all of it is so where variables have these values.
    fn hold(&self, values: BTreeMap<String, i64>) -> bool {
        self.0.hold(&SizeValues::new(values))
    }

    /// Whether another trace had no other variables by what it was told.
    fn agree(&self, other: Option<&PyFacts>) -> bool {
        self.0.agree(other.map_or(&Facts::default(), |other| &other.0))
    }

    /// These values of variables, and with them those of the variables that the trace has in their place.
    fn values(&self, values: BTreeMap<String, i64>) -> BTreeMap<String, i64> {
        self.0.values(&SizeValues::new(values)).into_pairs().into_iter().collect()
    }

    fn __repr__(&self) -> String {
        let texts: Vec<String> = self.0.decisions().iter().map(ToString::to_string).collect();
        texts.join(", ")
    }
}

/// The values that variables have in a call with these sizes, and with arrays whose declared shapes these are. Errors
/// name an array that does not fit by its number, as an input.
#[explained]
#[pyfunction]
pub fn _values_of(
    sizes: Vec<Py<PySize>>,
    shapes: Vec<Bound<'_, PyTuple>>,
    arrays: Vec<Bound<'_, PyAny>>,
) -> Result<BTreeMap<String, i64>> {
    let mut values = SizeValues::new(sizes.iter().flat_map(|size| size.get()._values()));
    let mut known: Vec<(Size, i64)> = Vec::new();
    let mut given: Vec<(Vec<Size>, String)> = Vec::new();
    for (at, (shape, array)) in shapes.iter().zip(&arrays).enumerate() {
        let declared = Extents::of(shape)?.sizes;
        let (dtype, extents) = match array.cast::<PyTensor>() {
            Ok(_) if declared.iter().all(|n| n.as_const().is_some()) => continue,
            Ok(tensor) => {
                let tensor = &tensor.get().0;
                match allow(array.py(), || Ok::<_, TensorError>(tensor.extents()))? {
                    // It has no elements yet, nor a size.
                    Err(error) if error.kind() == ErrorKind::Value => continue,
                    extents => (tensor.dtype(), extents?),
                }
            }
            Err(_) => {
                let array = array.cast::<PyUntypedArray>().map_err(PyErr::from)?;
                (dtype_of(array)?, array.shape().to_vec())
            }
        };
        let told = misfit(at, (dtype, &declared), (dtype, &extents));
        let fits = |(n, given): (&Size, &usize)| n.as_usize().is_none_or(|n| n == *given);
        if declared.len() != extents.len() || !declared.iter().zip(&extents).all(fits) {
            return Err(Class::Shape.raise(told));
        }
        known.extend(declared.iter().cloned().zip(extents.into_iter().map(|n| n as i64)));
        given.push((declared, told));
    }
    values.solve(known.iter().map(|(extent, number)| (extent, *number)));
    for (extents, told) in &given {
        if let Err(why) = extents.iter().try_for_each(|extent| values.check(extent)) {
            return Err(Class::Argument.raise_as(svod_runtime::OUT_OF_RANGE, format!("{told}; {why}")));
        }
    }
    Ok(values.into_pairs().into_iter().collect())
}

/// Whether this thread traces a function or the body of a loop.
#[explained]
#[pyfunction]
pub fn _is_tracing() -> bool {
    Trace::is_active()
}

/// The element types, extents and devices of tensors and arrays, whether gradients by them are recorded, and the present configuration, as text;
/// without the extents of those at the positions `open`.
#[explained]
#[pyfunction]
pub fn _signature(arrays: Vec<Bound<'_, PyAny>>, open: Vec<usize>) -> Result<String> {
    let mut text = String::with_capacity(24 * arrays.len());
    for (at, array) in arrays.iter().enumerate() {
        let open = open.contains(&at);
        match array.cast::<PyTensor>() {
            Ok(tensor) => of_tensor(&mut text, &tensor.get().0, open)?,
            Err(_) => {
                let array = array.cast::<PyUntypedArray>().map_err(PyErr::from)?;
                put(&mut text, format_args!("{}", dtype_of(array)?));
                let extents = if open { &[][..] } else { array.shape() };
                extents.iter().for_each(|n| put(&mut text, format_args!(",{n}")));
                put(&mut text, format_args!("@CPU;"));
            }
        }
    }
    let config = PrepareConfig::current();
    if config != PrepareConfig::default() {
        put(&mut text, format_args!("{config}"));
    }
    Ok(text)
}

fn of_tensor(text: &mut String, tensor: &Tensor, open: bool) -> Result<()> {
    let value = tensor.uop();
    put(text, format_args!("{}", value.dtype()));
    let shape = if open { &[][..] } else { value.shape() };
    for extent in shape {
        match extent.as_const() {
            Some(extent) => put(text, format_args!(",{extent}")),
            None => {
                put(text, format_args!(",{extent}"));
                // A name alone says nothing of the bounds.
                extent.variables().iter().for_each(|v| put(text, format_args!("|{v}:{}:{}", v.min(), v.max())));
            }
        }
    }
    match value.sharding() {
        // The parts follow from the extent.
        Some(sharding) if open && tensor.is_sharded_evenly() => {
            let axis = sharding.split().map_or(0, |split| split.axis);
            put(text, format_args!("@{:?} along axis {axis};", sharding.devices()));
        }
        Some(sharding) => put(text, format_args!("@{sharding};")),
        None => put(text, format_args!("@{};", tensor.device().name())),
    }
    if is_recorded(tensor) {
        put(text, format_args!("recorded;"));
    }
    Ok(())
}

fn put(text: &mut String, what: Arguments) {
    text.write_fmt(what).expect("a String takes any text");
}

/// Makes tensors stand for the values that the plan of a function that assigns to them gave.
#[explained]
#[pyfunction]
pub fn _take_written(tensors: Vec<Py<PyTensor>>, values: Vec<Py<PyTensor>>) -> Result<()> {
    let pairs: Vec<(&Tensor, &Tensor)> = tensors.iter().zip(&values).map(|(a, b)| (&a.get().0, &b.get().0)).collect();
    Ok(Tensor::take_written(&pairs)?)
}

/// Whether each of these tensors stands for the same value, computed or not, as the snapshot in its place.
#[explained]
#[pyfunction]
pub fn _same(some: &Bound<'_, PyList>, others: &Bound<'_, PyList>) -> Result<bool> {
    for (a, b) in some.iter().zip(others.iter()) {
        let a = a.cast::<PyTensor>().map_err(PyErr::from)?.get().0.uop();
        let same = match b.cast::<PyTensor>() {
            Ok(b) => a == b.get().0.uop(),
            Err(_) => a.id() == b.extract::<u64>()?,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(some.len() == others.len())
}

/// What tells these tensors' values from those of another time; none where one is not in memory that stays as it is.
#[explained]
#[pyfunction]
pub fn _constants<'py>(py: Python<'py>, tensors: Vec<Py<PyTensor>>) -> Option<Bound<'py, PyBytes>> {
    let ids: Option<Vec<[u8; 8]>> = tensors.iter().map(|t| t.get().0.constant_id().map(u64::to_ne_bytes)).collect();
    ids.map(|ids| PyBytes::new(py, ids.as_flattened()))
}

/// Inputs with what stands in their place.
fn pairs<'a>(inputs: &'a [Py<PyTensor>], values: &'a [Py<PyTensor>]) -> Vec<(&'a Tensor, &'a Tensor)> {
    inputs.iter().zip(values).map(|(a, b)| (&a.get().0, &b.get().0)).collect()
}

/// What a graph computes with these values in place of its inputs; none where one of them does not fit there.
#[explained]
#[pyfunction]
pub fn _with_constants(
    graph: &PyGraph,
    inputs: Vec<Py<PyTensor>>,
    values: Vec<Py<PyTensor>>,
) -> Result<Option<Vec<PyTensor>>> {
    Ok(with_constants(graph.graph(), &pairs(&inputs, &values))?.map(|roots| roots.into_iter().map(PyTensor).collect()))
}

/// As `_with_constants`, with values that derivatives are taken of.
#[explained]
#[pyfunction]
pub fn _with_values(
    graph: &PyGraph,
    inputs: Vec<Py<PyTensor>>,
    values: Vec<Py<PyTensor>>,
) -> Result<Option<Vec<PyTensor>>> {
    Ok(with_values(graph.graph(), &pairs(&inputs, &values))?.map(|roots| roots.into_iter().map(PyTensor).collect()))
}

/// What a traced function does with the generator of random numbers.
#[pyclass(name = "_Draws", module = "svod._svod", frozen)]
pub struct PyDraws(Draws);

#[explained]
#[pymethods]
impl PyDraws {
    /// Does it, and gives what each draw gets, and what takes it back.
    fn take(&self) -> Result<(Vec<PyTensor>, PyTaken)> {
        let (states, taken) = self.0.take()?;
        Ok((states.into_iter().map(PyTensor).collect(), PyTaken(taken)))
    }

    fn __bool__(&self) -> bool {
        !self.0.is_empty()
    }
}

/// What a call has done with the generators of random numbers.
#[pyclass(name = "_Taken", module = "svod._svod", frozen)]
pub struct PyTaken(Taken);

#[explained]
#[pymethods]
impl PyTaken {
    /// Lets them be as they were before.
    fn undo(&self) {
        self.0.undo();
    }
}

/// Element types, extents and devices of tensors that a trace was made with, and whether they require gradients.
#[pyclass(name = "_Kinds", module = "svod._svod", frozen)]
pub struct PyKinds(Vec<Known>);

/// A kind, and the value that was last found to be of it: tensors stand for the same one in most calls.
struct Known {
    kind: Kind,
    /// The number of its node, which no other node ever has.
    latest: AtomicU64,
}

#[explained]
#[pymethods]
impl PyKinds {
    /// Those of these tensors.
    #[new]
    fn new(tensors: Vec<Py<PyTensor>>) -> PyKinds {
        let known = |tensor: &Py<PyTensor>| Known { kind: kind(&tensor.get().0), latest: AtomicU64::new(0) };
        PyKinds(tensors.iter().map(known).collect())
    }

    /// Whether these tensors are of the same kinds.
    fn fit(&self, tensors: &Bound<'_, PyList>) -> Result<bool> {
        for (known, tensor) in self.0.iter().zip(tensors.iter()) {
            let tensor = &tensor.cast::<PyTensor>().map_err(PyErr::from)?.get().0;
            let value = tensor.uop();
            if known.latest.load(Ordering::Relaxed) == value.id() && known.kind.3 == tensor.requires_grad() {
                continue;
            }
            if known.kind != kind(tensor) {
                return Ok(false);
            }
            // What is on no device goes where the configuration says, which may change.
            if value.place().is_some() {
                known.latest.store(value.id(), Ordering::Relaxed);
            }
        }
        Ok(tensors.len() == self.0.len())
    }
}

type Kind = (DType, Shape, Place, bool);

/// The element type, extents and device of a tensor, of what is on no device, where it will be; and whether it requires a
/// gradient.
fn kind(tensor: &Tensor) -> Kind {
    let value = tensor.uop();
    let place = value.place().cloned().unwrap_or_else(|| Place::One(tensor.device()));
    (value.dtype(), value.shape_arc().clone(), place, tensor.requires_grad())
}
