//! The class `ExecutionPlan`, and what it shows of itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::slice::PySliceIndices;
use pyo3::types::{PyDict, PySlice, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use svod_device::DeviceSpec;
use svod_dtype::DType;
use svod_runtime::{Feed, PlanKernel, Profile, Timing};
use svod_tensor::{Content, KeptInputs, Plan, Tensor, named};

use crate::array::{Held, array_over, bytes_of, dense_for};
use crate::collect;
use crate::convert::{argument, integer};
use crate::dtype::PyDType;
use crate::error::{Class, Result};
use crate::gil::allow;
use crate::scalar::Integer;
use crate::schedule::PySchedule;
use crate::size::shape;
use crate::tensor::PyTensor;

/// A prepared computation, to be run many times; made by `prepare`.
///
/// Inputs, outputs and intermediates are the plan's own memory: `outputs` show the latest run, and whatever was made of
/// them keeps the value that it has seen. A run that fails leaves inputs and variables as they were.
/// Runs of one plan take turns; `instance()` makes another for use at the same time.
///
/// >>> import numpy as np, svod
/// >>> x = svod.Tensor([1.0, 2.0])
/// >>> plan = (x * x).prepare(inputs=[x])
/// >>> plan.execute(np.float32([3.0, 4.0]))
/// >>> plan.outputs[0].tolist()
/// [9.0, 16.0]
#[pyclass(name = "ExecutionPlan", module = "svod", frozen, weakref)]
pub struct PyPlan {
    plan: Arc<Plan>,
    outputs: Vec<Tensor>,
}

impl PyPlan {
    /// The class's object for a plan.
    pub fn new(plan: Plan) -> Result<PyPlan> {
        let outputs = plan.outputs();
        Ok(PyPlan { plan: Arc::new(plan), outputs })
    }
}

/// New content for an input: dense, of some extents.
enum Given<'py> {
    Array(Bound<'py, PyUntypedArray>, DType),
    Tensor(Tensor),
}

impl<'py> Given<'py> {
    /// What is given for `what`, which only errors ask for.
    fn new(what: impl FnOnce() -> String, value: &Bound<'py, PyAny>) -> Result<Self> {
        if let Ok(tensor) = value.cast::<PyTensor>() {
            return Ok(Given::Tensor(tensor.get().0.clone()));
        }
        let (array, dtype) = dense_for(&what(), value)?;
        Ok(Given::Array(array, dtype))
    }

    fn content(&self) -> Content<'_> {
        match self {
            Given::Array(array, dtype) => Content::Bytes(bytes_of(array), *dtype, array.shape()),
            Given::Tensor(tensor) => Content::Tensor(tensor),
        }
    }
}

/// The inputs' new contents; none where none are given.
fn given<'py>(plan: &Plan, arrays: &Bound<'py, PyTuple>) -> Result<Vec<Given<'py>>> {
    let expected = plan.inputs().len();
    if !arrays.is_empty() && arrays.len() != expected {
        let message = format!("execute: the plan has {expected} inputs, but {} arrays were given", arrays.len());
        return Err(Class::Argument.raise(message));
    }
    arrays.iter().enumerate().map(|(i, value)| Given::new(|| format!("execute: input {i}"), &value)).collect()
}

/// New values of variables, by name.
fn variables(given: Option<&Bound<'_, PyDict>>) -> Result<Vec<(String, i64)>> {
    let one = |(name, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| -> Result<(String, i64)> {
        let name: String = name.extract()?;
        if value.is_instance_of::<PyUntypedArray>() || value.cast::<PyTensor>().is_ok_and(|t| t.get().0.rank() > 0) {
            let message = format!("{name}: inputs are given by position; names are those of variables");
            return Err(Class::ArgumentType.raise(message));
        }
        let value = integer(&format!("variable {name}"), &value)?;
        Ok((name, value))
    };
    given.into_iter().flatten().map(one).collect()
}

/// [`Plan::feeding`] without the interpreter's lock. The contents are those of the inputs from number `first` on.
fn feeding<T: Send>(
    py: Python<'_>,
    plan: &Plan,
    first: usize,
    given: &[Given<'_>],
    variables: &[(String, i64)],
    work: impl FnOnce(&[Feed], &[(&str, i64)]) -> svod_tensor::Result<T> + Send,
) -> Result<T> {
    let contents: Vec<Content> = given.iter().map(Given::content).collect();
    allow(py, || plan.feeding("execute", first, &contents, &named(variables), work))
}

#[explained]
#[pymethods]
impl PyPlan {
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        collect::tell(&visit, |held| {
            if Arc::strong_count(&self.plan) == 1 {
                self.plan.execution().hold_functions(held);
            }
        })
    }

    /// Runs the plan. `arrays` are new contents of all inputs, in order, or none of them, when they
    /// stay as they are; `variables` are new values of symbolic sizes, which later runs keep. Those
    /// of inputs' shapes follow from the arrays.
    #[pyo3(signature = (*arrays, **variables))]
    fn execute(
        &self,
        py: Python<'_>,
        arrays: &Bound<'_, PyTuple>,
        variables: Option<&Bound<'_, PyDict>>,
    ) -> Result<()> {
        let (given, variables) = (given(&self.plan, arrays)?, self::variables(variables)?);
        feeding(py, &self.plan, 0, &given, &variables, |feeds, variables| self.plan.execute_feeds(feeds, variables))
    }

    /// Runs the plan on `arrays` (without any, on its own inputs), and gives the outputs as tensors
    /// of their own, which no later run overwrites. The plan's own inputs, outputs and values of
    /// variables stay, where all of it is kernels of the CPU; another plan runs as by `execute`, and copies.
    ///
    /// >>> import svod
    /// >>> x = svod.empty(2)
    /// >>> plan = (x + 1).prepare(inputs=[x])
    /// >>> (first,) = plan.run(svod.Tensor([1.0, 2.0]))
    /// >>> (second,) = plan.run(svod.Tensor([5.0, 6.0]))
    /// >>> first.tolist(), second.tolist()
    /// ([2.0, 3.0], [6.0, 7.0])
    #[pyo3(signature = (*arrays, **variables))]
    fn run(
        &self,
        py: Python<'_>,
        arrays: &Bound<'_, PyTuple>,
        variables: Option<&Bound<'_, PyDict>>,
    ) -> Result<Vec<PyTensor>> {
        let (given, variables) = (given(&self.plan, arrays)?, self::variables(variables)?);
        let work = |feeds: &[Feed], variables: &[(&str, i64)]| self.plan.call_feeds(feeds, variables);
        Ok(feeding(py, &self.plan, 0, &given, &variables, work)?.into_iter().map(Into::into).collect())
    }

    /// The plan with these tensors as inputs, none where an input is open.
    fn _keep(&self, py: Python<'_>, tensors: Vec<Option<PyRef<'_, PyTensor>>>) -> Result<PyKept> {
        let tensors: Vec<Option<Tensor>> = tensors.into_iter().map(|t| t.map(|t| t.0.clone())).collect();
        let kept = allow(py, || self.plan.keep(&tensors.iter().map(Option::as_ref).collect::<Vec<_>>()))?;
        Ok(PyKept { plan: self.plan.clone(), kept })
    }

    /// As `run` on all inputs, in place: `written` are positions of outputs with the tensors that are to stand for them, whose
    /// memory is written where the plan was prepared for it and nobody else has a hold on it.
    #[pyo3(signature = (arrays, written, **variables))]
    fn _run_writing(
        &self,
        py: Python<'_>,
        arrays: &Bound<'_, PyTuple>,
        written: Vec<(usize, Py<PyTensor>)>,
        variables: Option<&Bound<'_, PyDict>>,
    ) -> Result<Vec<PyTensor>> {
        let (given, variables) = (given(&self.plan, arrays)?, self::variables(variables)?);
        let written: Vec<(usize, &Tensor)> = written.iter().map(|(at, tensor)| (*at, &tensor.get().0)).collect();
        let work = |feeds: &[Feed], variables: &[(&str, i64)]| self.plan.call_feeds_writing(feeds, variables, &written);
        Ok(feeding(py, &self.plan, 0, &given, &variables, work)?.into_iter().map(Into::into).collect())
    }

    /// As `run`.
    #[pyo3(signature = (*arrays, **variables))]
    fn __call__(
        &self,
        py: Python<'_>,
        arrays: &Bound<'_, PyTuple>,
        variables: Option<&Bound<'_, PyDict>>,
    ) -> Result<Vec<PyTensor>> {
        self.run(py, arrays, variables)
    }

    /// What the memory planner did with intermediates: buffers that share memory, and those of them that a
    /// kernel writes over what it reads; bytes saved, bytes before and after; the most that was needed at one
    /// time before, and after, which is the least that any plan needs.
    #[getter]
    fn memory(&self) -> BTreeMap<&'static str, usize> {
        let report = self.plan.execution().memory_report();
        [
            ("buffers_reused", report.buffers),
            ("buffers_in_place", report.in_place),
            ("bytes_saved", report.bytes),
            ("bytes_before", report.before),
            ("bytes_after", report.after),
            ("bytes_peak", report.peak),
            ("bytes_bound", report.bound),
        ]
        .into()
    }

    /// As `execute`, one kernel at a time, and gives the time of each.
    #[pyo3(signature = (*arrays, **variables))]
    fn execute_profiled(
        &self,
        py: Python<'_>,
        arrays: &Bound<'_, PyTuple>,
        variables: Option<&Bound<'_, PyDict>>,
    ) -> Result<PyProfile> {
        let (given, variables) = (given(&self.plan, arrays)?, self::variables(variables)?);
        let work = |feeds: &[Feed], variables: &[(&str, i64)]| self.plan.execute_feeds_profiled(feeds, variables);
        Ok(PyProfile { profile: feeding(py, &self.plan, 0, &given, &variables, work)? })
    }

    /// The variables that runs may give a value, and their present values; none where they have
    /// none yet.
    #[getter]
    fn variables(&self, py: Python<'_>) -> Result<BTreeMap<String, Option<i64>>> {
        let execution = self.plan.execution();
        let mut all: BTreeMap<String, Option<i64>> =
            execution.variables().map(|v| (v.name().to_owned(), None)).collect();
        for bound in allow(py, || execution.values())? {
            all.insert(bound.variable().name().to_owned(), Some(bound.value()));
        }
        Ok(all)
    }

    /// What the plan is and costs at its present sizes, as a table: a line per operation with its number
    /// (as in `print(plan)`, `kernels` and profiles), origin, device, tasks, share of the threads that have work,
    /// registers, work, estimated and measured time (once `execute_profiled` has run) and share of the roofline;
    /// then totals, memory, the critical path (marked with `*`), and what might be fused.
    ///
    /// With the number of an operation, negative from the end, all of it: axes and the loops over them, tasks, reductions, hints,
    /// registers, scratch, buffers with their layouts, and the schedule.
    #[pyo3(signature = (op=None))]
    fn explain<'py>(&self, py: Python<'py>, op: Option<Integer>) -> Result<Bound<'py, PyAny>> {
        let execution = self.plan.execution();
        let count = execution.ops().len();
        let op = op.map(|op| position("op", op.0, count, "plan")).transpose()?;
        let text = allow(py, || {
            let text = match op {
                None => execution.explain().map(Some),
                Some(op) => execution.explain_op(op),
            };
            text.map_err(svod_tensor::TensorError::from)
        });
        let text = text?.unwrap_or_default();
        Ok(py.import("svod.analysis")?.getattr("Explanation")?.call1((text,))?)
    }

    /// As `explain`, as data: dicts, lists, numbers and text, which `json.dumps` takes; see `svod.analysis`.
    fn analysis<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let analysis = allow(py, || self.plan.execution().analysis().map_err(svod_tensor::TensorError::from))?;
        let text = serde_json::to_string(&analysis).map_err(|e| Class::Execution.raise(e.to_string()))?;
        Ok(py.import("json")?.call_method1("loads", (text,))?)
    }

    /// Another instance of the plan: it shares code and constants, and has memory of its own.
    fn instance(&self, py: Python<'_>) -> Result<PyPlan> {
        PyPlan::new(allow(py, || self.plan.instance())?)
    }

    /// The outputs, in the order of the tensors that were prepared. They follow the plan: they show its latest run. What is
    /// made of one, an expression, a copy, an array, keeps the value that it has seen, whatever runs later.
    ///
    /// >>> import svod
    /// >>> x = svod.empty(2)
    /// >>> plan = (x * 2).prepare(inputs=[x])
    /// >>> plan.execute(svod.Tensor([1.0, 2.0]))
    /// >>> first = plan.outputs[0].clone()
    /// >>> plan.execute(svod.Tensor([3.0, 4.0]))
    /// >>> first.tolist(), plan.outputs[0].tolist()
    /// ([2.0, 4.0], [6.0, 8.0])
    #[getter]
    fn outputs(&self) -> Vec<PyTensor> {
        // Handles of their own: what is assigned to one is no longer the plan's.
        self.outputs.iter().map(|t| PyTensor(t.follower())).collect()
    }

    /// The inputs, to be read and written between runs.
    #[getter]
    fn inputs(&self) -> Vec<PyInput> {
        (0..self.plan.inputs().len()).map(|at| PyInput { plan: self.plan.clone(), at }).collect()
    }

    /// The compiled kernels, in the order in which they run.
    #[getter]
    fn kernels(&self) -> Vec<PyKernel> {
        let execution = self.plan.execution();
        let about = |&i: &usize| {
            let buffer = &execution.buffers()[i];
            (buffer.dtype().name().to_owned(), buffer.count())
        };
        let kernels = execution.kernels().into_iter();
        kernels.map(|kernel| PyKernel { buffers: kernel.buffers.iter().map(about).collect(), kernel }).collect()
    }

    /// The device of the first output.
    #[getter]
    fn device(&self) -> String {
        self.plan.execution().device().to_string()
    }

    /// All buffers, as kernels and times name them by position: element type, number of elements at most, and
    /// whose it is, "given", "input", "intermediate" or "output".
    #[getter]
    fn buffers(&self) -> Vec<(String, usize, String)> {
        let execution = self.plan.execution();
        let all = execution.buffers().iter().zip(execution.roles());
        all.map(|(b, role)| (b.dtype().name().to_owned(), b.count(), format!("{role:?}").to_lowercase())).collect()
    }

    /// A copy of a buffer by its position, negative from the end, as the last run left it, flat. Intermediates are there where the plan was prepared
    /// with `planner="disabled"`.
    ///
    /// >>> import svod
    /// >>> x = svod.Tensor([3.0, 2.0])
    /// >>> plan = (x.sort()[0] * 2).prepare(inputs=[x], planner="disabled")
    /// >>> plan.execute()
    /// >>> at = [role for _, _, role in plan.buffers].index("intermediate")
    /// >>> plan.read_buffer(at).tolist()
    /// [2.0, 3.0]
    fn read_buffer<'py>(&self, py: Python<'py>, at: Integer) -> Result<Bound<'py, PyAny>> {
        let execution = self.plan.execution();
        let at = position("buffer", at.0, execution.buffers().len(), "plan")?;
        let copy = allow(py, || execution.read_buffer(at))?;
        let (dtype, count) = (copy.dtype(), copy.count());
        array_over(py, Held::Own(copy), dtype, &[count])
    }

    /// Gives the memory of intermediates back; the next run allocates again. Says how many buffers
    /// were released.
    fn release_intermediates(&self, py: Python<'_>) -> Result<usize> {
        allow(py, || self.plan.execution().release_intermediates())
    }

    /// Gives the memory of intermediates and outputs back.
    fn release_all(&self, py: Python<'_>) -> Result<usize> {
        allow(py, || self.plan.execution().release_all())
    }

    fn __str__(&self) -> String {
        self.plan.execution().to_string()
    }

    fn __repr__(&self) -> String {
        let execution = self.plan.execution();
        let (inputs, outputs) = (self.plan.inputs().len(), self.outputs.len());
        format!("ExecutionPlan({} kernels, {inputs} inputs, {outputs} outputs)", execution.kernels().len())
    }
}

/// A plan with some of its inputs given, whose memory each run reads as it is then; made by `ExecutionPlan._keep`.
#[pyclass(name = "_Kept", module = "svod._svod", frozen)]
pub struct PyKept {
    plan: Arc<Plan>,
    kept: KeptInputs,
}

#[explained]
#[pymethods]
impl PyKept {
    /// As `ExecutionPlan.run`, of the other inputs in their order.
    #[pyo3(signature = (*arrays, **variables))]
    fn run(
        &self,
        py: Python<'_>,
        arrays: &Bound<'_, PyTuple>,
        variables: Option<&Bound<'_, PyDict>>,
    ) -> Result<Vec<PyTensor>> {
        let given = arrays.iter().enumerate();
        let given = given.map(|(i, value)| Given::new(|| format!("execute: open input {i}"), &value));
        let (given, variables) = (given.collect::<Result<Vec<_>>>()?, self::variables(variables)?);
        let contents: Vec<Content> = given.iter().map(Given::content).collect();
        let work = |feeds: &[Feed], variables: &[(&str, i64)]| self.plan.call_feeds(feeds, variables);
        let results = allow(py, || self.plan.feeding_beside(&self.kept, &contents, &named(&variables), work))?;
        Ok(results.into_iter().map(Into::into).collect())
    }
}

/// An input of a plan: what its runs see until it is written again.
#[pyclass(name = "PlanInput", module = "svod", frozen)]
pub struct PyInput {
    plan: Arc<Plan>,
    at: usize,
}

#[explained]
#[pymethods]
impl PyInput {
    /// Extents.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyTuple>> {
        shape(py, &self.plan.inputs()[self.at].shape)
    }

    /// Element type.
    #[getter]
    fn dtype(&self) -> PyDType {
        PyDType(self.plan.inputs()[self.at].dtype)
    }

    /// Sets the content, of the input's own shape and type, for later runs.
    fn copy_(&self, value: &Bound<'_, PyAny>) -> Result<()> {
        let given = Given::new(|| format!("input {}", self.at), value)?;
        let content = given.content();
        allow(value.py(), || self.plan.set_input(self.at, content))
    }

    /// A copy of the content; its symbolic extents are as they were given.
    fn numpy<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let (copy, extents) = allow(py, || self.plan.read_input(self.at))?;
        array_over(py, Held::Own(copy), self.plan.inputs()[self.at].dtype, &extents)
    }

    /// Sets a part of the content, by NumPy's rules.
    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<()> {
        let array = self.numpy(key.py())?;
        array.set_item(key, value).map_err(|error| match error.is_instance_of::<PyIndexError>(key.py()) {
            true => Class::Index.raise(format!("input {}: {}", self.at, error.value(key.py()))),
            false => error.into(),
        })?;
        self.copy_(&array)
    }

    fn __repr__(&self, py: Python<'_>) -> Result<String> {
        Ok(format!("PlanInput(shape={}, dtype={})", self.shape(py)?.repr()?, self.dtype().0))
    }
}

/// A compiled kernel of a plan.
#[pyclass(name = "Kernel", module = "svod", frozen)]
pub struct PyKernel {
    kernel: PlanKernel,
    buffers: Vec<(String, usize)>,
}

#[explained]
#[pymethods]
impl PyKernel {
    /// The name.
    #[getter]
    fn name(&self) -> &str {
        &self.kernel.name
    }

    /// Where it runs.
    #[getter]
    fn device(&self) -> String {
        self.kernel.device.to_string()
    }

    /// The generated source, LLVM IR on the CPU.
    #[getter]
    fn source(&self, py: Python<'_>) -> Result<String> {
        allow(py, || self.kernel.source())
    }

    /// The instructions of PTX, of a kernel on a GPU; none of one on a CPU.
    #[getter]
    fn ptx(&self, py: Python<'_>) -> Result<Option<String>> {
        if !matches!(self.kernel.device, DeviceSpec::Cuda(_)) {
            return Ok(None);
        }
        self.assembly(py)
    }

    /// The machine's instructions; on a GPU those of PTX, of which its driver makes its own.
    #[getter]
    fn assembly(&self, py: Python<'_>) -> Result<Option<String>> {
        allow(py, || self.kernel.assembly())
    }

    /// The linear IR that the source is made of.
    #[getter]
    fn linear(&self, py: Python<'_>) -> Result<Option<String>> {
        allow(py, || self.kernel.linear())
    }

    /// The number of its operation in the plan.
    #[getter]
    fn op(&self) -> usize {
        self.kernel.op
    }

    /// The loops, and what they compute.
    #[getter]
    fn loops(&self) -> String {
        self.kernel.lowered()
    }

    /// How the loops were made: the steps of the schedule. Where there are several, by size, the one for sizes
    /// that no other is for.
    #[getter]
    fn schedule(&self) -> PySchedule {
        self.kernel.code.variants().map(|variants| PySchedule::of(&variants.rest)).unwrap_or_default()
    }

    /// The schedules, each with the condition on the plan's variables under which it is used; a run takes the
    /// first whose condition holds, else the last, which has none. One, where no size is a variable.
    #[getter]
    fn schedules(&self) -> Vec<(Option<String>, PySchedule)> {
        let variants = self.kernel.code.variants().into_iter().flat_map(|variants| variants.iter());
        variants.map(|(guard, schedule)| (guard.map(ToString::to_string), PySchedule::of(schedule))).collect()
    }

    /// Number of tasks in three dimensions, of each phase; symbolic sizes as text.
    #[getter]
    fn launch_sizes(&self) -> Vec<(String, String, String)> {
        let sizes = |l: &svod_device::LaunchSizes| l.global.each_ref().map(ToString::to_string).into();
        self.kernel.launches().iter().map(sizes).collect()
    }

    /// Element type and number of elements of each argument.
    #[getter]
    fn buffers(&self) -> Vec<(String, usize)> {
        self.buffers.clone()
    }

    /// The lines of the program that it computes: file, line, and the path of the `nn.Module` that
    /// ran there, if one did.
    #[getter]
    fn origins(&self) -> Vec<(String, u32, Option<String>)> {
        let module = |o: &svod_tensor::Origin| o.module.as_deref().map(str::to_owned);
        self.kernel.origins.iter().map(|o| (o.file.to_string(), o.line, module(o))).collect()
    }

    fn __repr__(&self) -> String {
        format!("Kernel({}, {} buffers)", self.kernel.name, self.buffers.len())
    }
}

/// The times of a run.
#[pyclass(name = "Profile", module = "svod", frozen)]
pub struct PyProfile {
    profile: Profile,
}

/// The time of one step of a run.
#[pyclass(name = "Timing", module = "svod", frozen)]
pub struct PyTiming(Timing);

#[explained]
#[pymethods]
impl PyProfile {
    /// Compiled kernels, in the order in which they ran.
    #[getter]
    fn kernels(&self) -> Vec<PyTiming> {
        self.profile.kernels.iter().cloned().map(PyTiming).collect()
    }

    /// Copies, views and custom functions.
    #[getter]
    fn others(&self) -> Vec<PyTiming> {
        self.profile.others.iter().cloned().map(PyTiming).collect()
    }

    /// Seconds of the whole run.
    #[getter]
    fn total(&self) -> f64 {
        self.profile.total.as_secs_f64()
    }

    fn __len__(&self) -> usize {
        self.profile.kernels.len()
    }

    fn __getitem__<'py>(&self, at: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        let kernels = &self.profile.kernels;
        if let Ok(slice) = at.cast::<PySlice>() {
            let PySliceIndices { start, step, slicelength, .. } = slice.indices(kernels.len() as isize)?;
            let each = (0..slicelength as isize).map(|i| PyTiming(kernels[(start + i * step) as usize].clone()));
            return Ok(each.collect::<Vec<_>>().into_bound_py_any(at.py())?);
        }
        let from_start = position("kernel", argument::<Integer>("Profile", "position", at)?.0, kernels.len(), "run")?;
        Ok(PyTiming(kernels[from_start].clone()).into_bound_py_any(at.py())?)
    }

    fn __repr__(&self) -> String {
        let lines: Vec<String> =
            self.profile.kernels.iter().map(|t| format!("{:>10.1} us  {}", us(t), t.name)).collect();
        format!("{}\n{:>10.1} us  in all", lines.join("\n"), self.profile.total.as_secs_f64() * 1e6)
    }
}

#[explained]
#[pymethods]
impl PyTiming {
    /// The number of the operation in the plan.
    #[getter]
    fn op(&self) -> usize {
        self.0.op
    }

    /// The kernel's name, or what it is.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Where it ran.
    #[getter]
    fn device(&self) -> String {
        self.0.device.to_string()
    }

    /// How long it took, in seconds.
    #[getter]
    fn time(&self) -> f64 {
        self.0.time.as_secs_f64()
    }

    /// Its arguments, by position among the plan's buffers.
    #[getter]
    fn buffers(&self) -> Vec<usize> {
        self.0.buffers.clone()
    }

    fn __repr__(&self) -> String {
        format!("Timing({}, {:.1} us)", self.0.name, us(&self.0))
    }
}

/// What an index of so many things stands for, where a negative one counts from the end.
fn position(what: &str, given: i64, count: usize, whole: &str) -> Result<usize> {
    let from_start = if given < 0 { given.saturating_add_unsigned(count as u64) } else { given };
    let found = usize::try_from(from_start).ok().filter(|at| *at < count);
    found.ok_or_else(|| Class::Index.raise(format!("{what} {given} of a {whole} with {count}")))
}

fn us(timing: &Timing) -> f64 {
    timing.time.as_secs_f64() * 1e6
}
