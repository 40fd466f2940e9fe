//! The exception tree, and what of it each failure becomes.
//!
//! Every exception that svod raises is an `svod.Error`, and the built-in that a user would catch.

use std::cell::RefCell;

use pyo3::exceptions::{
    PyException, PyIndexError, PyKeyboardInterrupt, PyMemoryError, PyNotImplementedError, PyOSError, PyOverflowError,
    PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use svod_runtime::{Context, Error as RuntimeError};
use svod_tensor::{ErrorKind, MatrixFailure, TensorError};

use crate::origin;
use crate::step::Exception;

/// The attribute of an exception that says of which kind it is.
const KIND: &str = "kind";

/// The result of what Python calls.
pub type Result<T> = std::result::Result<T, Raised>;

/// An exception on its way to Python, made of any failure.
#[derive(Debug)]
pub struct Raised(PyErr);

/// The leaves of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Any other argument: a `ValueError`.
    Argument,
    /// A number that an element type, or 64 bits, do not hold: an `ArgumentError`, and an `OverflowError`.
    Overflow,
    /// An argument of a Python type that it cannot have: an `ArgumentError`, and a `TypeError`.
    ArgumentType,
    /// Shapes and axes: a `ValueError` as NumPy's, and a `RuntimeError` as PyTorch's.
    Shape,
    /// Element types: a `TypeError`.
    DType,
    /// Indices: an `IndexError`.
    Index,
    /// Devices: a `RuntimeError`.
    Device,
    /// Files that cannot be read: an `OSError`.
    File,
    /// Files whose content is not what it should be: a `ValueError`.
    Format,
    /// Memory: a `MemoryError`.
    OutOfMemory,
    /// What svod does not do: a `NotImplementedError`.
    Unsupported,
    /// Schedules that were given: a `ValueError`.
    Schedule,
    /// Planning and compiling: a `RuntimeError`.
    Compile,
    /// Running: a `RuntimeError`.
    Execution,
    /// Matrices without the factors that are asked for: an `ExecutionError`, and NumPy's `LinAlgError`.
    Matrix,
    /// Reading what a plan's run has not written, or has overwritten: an `ExecutionError`.
    Stale,
    /// What a function may not do while it is traced: a `TypeError`.
    Trace,
}

struct Tree {
    root: Py<PyType>,
    leaves: Vec<(Class, Py<PyType>)>,
}

static TREE: PyOnceLock<Tree> = PyOnceLock::new();

impl Class {
    /// An exception of this class.
    pub fn raise(self, message: impl Into<String>) -> Raised {
        self.raise_of(None, message)
    }

    /// An exception of this class and of a kind that is finer than the class's own.
    pub fn raise_as(self, kind: &'static str, message: impl Into<String>) -> Raised {
        self.raise_of(Some(kind), message)
    }

    fn raise_of(self, kind: Option<&'static str>, message: impl Into<String>) -> Raised {
        let message = message.into();
        Raised(Python::attach(|py| match TREE.get_or_try_init(py, || tree(py)) {
            Ok(tree) => {
                let leaf = tree.leaves.iter().find(|(class, _)| *class == self);
                let class = leaf.map_or(&tree.root, |(_, leaf)| leaf);
                let error = PyErr::from_type(class.bind(py).clone(), message);
                match kind.map_or(Ok(()), |kind| error.value(py).setattr(KIND, kind)) {
                    Ok(()) => noted(py, error),
                    Err(failed) => failed,
                }
            }
            Err(error) => error,
        }))
    }

    /// Whether an exception is of this class.
    pub fn matches(self, error: &PyErr, py: Python<'_>) -> bool {
        let leaf = TREE.get(py).and_then(|tree| tree.leaves.iter().find(|(class, _)| *class == self));
        leaf.is_some_and(|(_, leaf)| error.is_instance(py, leaf.bind(py)))
    }

    /// The class of an exception; none for what svod did not raise.
    pub fn of_exception(error: &PyErr, py: Python<'_>) -> Option<Class> {
        let leaves = &TREE.get(py)?.leaves;
        leaves.iter().find(|(_, leaf)| error.is_instance(py, leaf.bind(py))).map(|(class, _)| *class)
    }

    /// Whether exceptions of the class, met while an argument is converted, are about the argument's type or value, and
    /// not about what failed beneath.
    pub fn is_about_values(self) -> bool {
        match self {
            Class::Argument | Class::ArgumentType | Class::Overflow => true,
            Class::Shape | Class::DType | Class::Index => true,
            Class::Format | Class::Unsupported | Class::Schedule | Class::Trace => true,
            Class::Device | Class::File | Class::OutOfMemory => false,
            Class::Compile | Class::Execution | Class::Stale | Class::Matrix => false,
        }
    }

    /// The class of a sort of errors.
    pub fn of(kind: ErrorKind) -> Class {
        match kind {
            ErrorKind::Shape => Class::Shape,
            ErrorKind::DType => Class::DType,
            ErrorKind::Index => Class::Index,
            ErrorKind::Value => Class::Argument,
            ErrorKind::Device => Class::Device,
            ErrorKind::File => Class::File,
            ErrorKind::Missing => Class::Format,
            ErrorKind::OutOfMemory => Class::OutOfMemory,
            ErrorKind::Unsupported => Class::Unsupported,
            ErrorKind::Schedule => Class::Schedule,
            ErrorKind::Compile => Class::Compile,
            ErrorKind::Trace => Class::Trace,
            ErrorKind::Execution | ErrorKind::Interrupted => Class::Execution,
        }
    }
}

/// The error, which says at its end where the user's program is, if its traceback ends in the package.
fn noted(py: Python<'_>, error: PyErr) -> PyErr {
    let Some(origin) = origin::outside(py) else { return error };
    match error.value(py).call_method1("add_note", (format!("at {origin}"),)) {
        Ok(_) => error,
        Err(failed) => failed,
    }
}

/// Adds the classes to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let tree = TREE.get_or_try_init(py, || tree(py))?;
    module.add("Error", tree.root.bind(py))?;
    for (class, leaf) in &tree.leaves {
        let leaf = leaf.bind(py);
        match class {
            // Public in `svod.linalg`.
            Class::Matrix => module.add("_LinAlgError", leaf)?,
            _ => module.add(leaf.name()?, leaf)?,
        }
    }
    Ok(())
}

/// A class made as the statement `class name(*bases)` makes it; `kind` is that of its instances that have no finer one.
fn class<'py>(
    py: Python<'py>,
    (name, kind): (&str, &str),
    bases: &[&Bound<'py, PyType>],
    doc: &str,
) -> PyResult<Bound<'py, PyType>> {
    let body = PyDict::new(py);
    body.set_item("__module__", "svod")?;
    body.set_item("__doc__", doc)?;
    body.set_item(KIND, kind)?;
    let made = py.get_type::<PyType>().call1((name, PyTuple::new(py, bases)?, body))?;
    Ok(made.cast_into()?)
}

/// What `svod.Error` says of itself.
const ROOT: &str = r#"Base of every exception that svod raises.

`kind` says in a few words, which stay, what went wrong, where one class has several sorts of failures:
"no kernels", "empty schedule", "cycle", "buffer not found", "unsupported argument", "bind without variable",
"unsized scratch", "build", "bind mismatch", "batch mismatch", "unknown shape", "unknown variable",
"unbound variable", "variable out of range", "fixed variable", "input of another size", "nothing pending",
"unknown device", "unknown kernel", "rangeify", "optimize", "render", "compile", "load", "not executed",
"reentrant", "forked", "no driver", "old driver", "unsupported architecture", "trapped"; else it is that of the class, such as "shape", "execute", "out of memory" or
"unsupported".

>>> import svod
>>> try:
...     svod.Variable('n', 1, 8).bind(9)
... except svod.Error as error:
...     error.kind, str(error)
('variable out of range', 'variable n: 9 is outside [1, 8]')
"#;

fn tree(py: Python<'_>) -> PyResult<Tree> {
    let root = class(py, ("Error", "error"), &[&py.get_type::<PyException>()], ROOT)?;
    let value = py.get_type::<PyValueError>();
    let runtime = py.get_type::<PyRuntimeError>();
    let execution =
        class(py, ("ExecutionError", "execute"), &[&root, &runtime], "A run failed, or its result is read too early.")?;
    let argument = class(py, ("ArgumentError", "argument"), &[&root, &value], "An argument that makes no sense.")?;
    let numpys = py.import("numpy.linalg")?.getattr("LinAlgError")?.cast_into::<PyType>()?;
    let matrix = class(
        py,
        ("LinAlgError", "matrix"),
        &[&execution, &numpys],
        "A matrix has no such factors, or no inverse: an `ExecutionError`, and NumPy's error of this name.",
    )?;
    matrix.setattr("__module__", "svod.linalg")?;
    let stale = "A plan's output is read that no run has written, or whose last run failed.";
    let leaf = |of, name: (&str, &str), base: &Bound<'_, PyType>, doc| -> PyResult<(Class, Py<PyType>)> {
        Ok((of, class(py, name, &[&root, base], doc)?.unbind()))
    };
    let leaves = vec![
        (
            Class::ArgumentType,
            class(
                py,
                ("ArgumentTypeError", "argument type"),
                &[&argument, &py.get_type::<PyTypeError>()],
                "An argument of a wrong type.",
            )?
            .unbind(),
        ),
        (
            Class::Overflow,
            class(
                py,
                ("OverflowError", "overflow"),
                &[&argument, &py.get_type::<PyOverflowError>()],
                "A number that an element type, or 64 bits, do not hold.",
            )?
            .unbind(),
        ),
        (Class::Argument, argument.unbind()),
        (
            Class::Shape,
            class(py, ("ShapeError", "shape"), &[&root, &value, &runtime], "Shapes or axes that do not fit.")?.unbind(),
        ),
        leaf(
            Class::DType,
            ("DTypeError", "dtype"),
            &py.get_type::<PyTypeError>(),
            "An element type that does not fit.",
        )?,
        leaf(
            Class::Index,
            ("IndexError", "index"),
            &py.get_type::<PyIndexError>(),
            "An index outside of its dimension.",
        )?,
        leaf(Class::Device, ("DeviceError", "device"), &runtime, "An unknown device, or one that failed.")?,
        leaf(Class::File, ("FileError", "file"), &py.get_type::<PyOSError>(), "A file that cannot be read.")?,
        leaf(Class::Format, ("FormatError", "format"), &value, "A file whose content is not what its format allows.")?,
        leaf(
            Class::OutOfMemory,
            ("OutOfMemoryError", "out of memory"),
            &py.get_type::<PyMemoryError>(),
            "No memory is left.",
        )?,
        leaf(
            Class::Unsupported,
            ("UnsupportedError", "unsupported"),
            &py.get_type::<PyNotImplementedError>(),
            "Something that svod does not do.",
        )?,
        leaf(
            Class::Schedule,
            ("ScheduleError", "schedule"),
            &value,
            "A schedule with a step that is illegal, and why.",
        )?,
        leaf(
            Class::Compile,
            ("CompileError", "compile"),
            &runtime,
            "A graph cannot be compiled: a bug of svod, unless it says else.",
        )?,
        leaf(
            Class::Trace,
            ("TraceError", "trace"),
            &py.get_type::<PyTypeError>(),
            "A function that is traced, or the body of a loop, looks at data, or writes what is not its own.",
        )?,
        (Class::Matrix, matrix.unbind()),
        (Class::Stale, class(py, ("StaleError", "stale"), &[&execution], stale)?.unbind()),
        (Class::Execution, execution.unbind()),
    ];
    Ok(Tree { root: root.unbind(), leaves })
}

thread_local! {
    /// What a signal handler raised while svod was at work on this thread.
    static INTERRUPTED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Whether a signal handler has raised: svod stops, and [`Raised`] passes the exception on.
pub fn interrupted() -> bool {
    match Python::attach(|py| py.check_signals()) {
        Ok(()) => false,
        Err(error) => {
            INTERRUPTED.set(Some(error));
            true
        }
    }
}

impl From<PyErr> for Raised {
    fn from(error: PyErr) -> Self {
        Raised(error)
    }
}

impl From<Raised> for PyErr {
    fn from(raised: Raised) -> Self {
        raised.0
    }
}

impl From<TensorError> for Raised {
    fn from(error: TensorError) -> Self {
        use svod_device::DeviceError;
        let class = match &error {
            TensorError::Runtime(RuntimeError::Interrupted) => {
                return Raised(INTERRUPTED.take().unwrap_or_else(|| PyKeyboardInterrupt::new_err(())));
            }
            TensorError::Runtime(RuntimeError::Raised { error, .. }) => match error.downcast_ref::<Exception>() {
                Some(exception) => return exception.raised(),
                None if error.is::<MatrixFailure>() => Class::Matrix,
                None => Class::Execution,
            },
            TensorError::Overflow { .. } => Class::Overflow,
            TensorError::Rule { source, .. } => match source.downcast_ref::<Exception>() {
                Some(exception) => return exception.raised(),
                None => Class::Execution,
            },
            TensorError::NotExecuted | TensorError::Unwritten { .. } | TensorError::Runtime(RuntimeError::Stale) => {
                Class::Stale
            }
            TensorError::Device(DeviceError::Safetensors(_)) => Class::Format,
            _ => Class::of(error.kind()),
        };
        let lines = match &error {
            TensorError::Device(of) | TensorError::Runtime(RuntimeError::Device(of)) => Context::global().lines_of(of),
            _ => String::new(),
        };
        class.raise_of(error.kind_text(), format!("{error}{lines}"))
    }
}

impl From<RuntimeError> for Raised {
    fn from(error: RuntimeError) -> Self {
        TensorError::from(error).into()
    }
}
