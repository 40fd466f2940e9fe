//! Where in the user's program operations are called: the innermost line outside of the package, and
//! the `nn.Module` that is running.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use rustc_hash::FxHashMap;
use svod_tensor::{Origin, Tensor};

/// Code objects that are remembered; past that, all are forgotten.
const MAX_CODES: usize = 4096;

/// The most frames that are looked at: what calls svod from deeper inside its own package has no origin.
const MAX_FRAMES: usize = 64;

/// What is known of a code object; holding it keeps its address its own.
struct Code {
    _object: Py<PyAny>,
    /// Its file; none for the package's own.
    file: Option<Arc<str>>,
    /// Of the package's own functions that users call, the name.
    name: Option<Arc<str>>,
    /// Lines by the instruction that is running, as far as asked: CPython finds a line by reading a code
    /// object's table from its start, which would make a long program of straight code quadratic.
    lines: FxHashMap<i32, u32>,
}

static CODES: LazyLock<Mutex<FxHashMap<usize, Code>>> = LazyLock::new(Mutex::default);

thread_local! {
    /// Paths of the modules that are running on this thread, outermost first.
    static MODULES: RefCell<Vec<Arc<str>>> = const { RefCell::new(Vec::new()) };
    /// The line that is traced on this thread by what another compiler has noted, whatever is running.
    static LINE: RefCell<Option<(Arc<str>, u32)>> = const { RefCell::new(None) };
    /// The outermost function of the extension that is running on this thread, by the name that users have for it.
    static CALLED: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// What a function of the extension, or an operator, gives: what it makes is known by its name, unless it is called by
/// another one.
pub fn called<T>(name: &'static str, make: impl FnOnce() -> T) -> T {
    /// Takes the name back, also where `make` panics.
    struct Called(Option<&'static str>);
    impl Drop for Called {
        fn drop(&mut self) {
            CALLED.set(self.0);
        }
    }
    let before = Called(CALLED.get());
    CALLED.set(before.0.or(Some(name)));
    make()
}

/// Says that a module, of this path, is running until the next [`leave_module`].
#[pyfunction(name = "_enter_module")]
pub fn enter_module(path: &str) {
    MODULES.with_borrow_mut(|modules| modules.push(path.into()));
}

/// Ends what the last [`enter_module`] began.
#[pyfunction(name = "_leave_module")]
pub fn leave_module() {
    MODULES.with_borrow_mut(|modules| drop(modules.pop()));
}

/// Says of which line of the user's program operations are until this is called again: of none, of the one that is running.
#[pyfunction(name = "_at_line", signature = (file, line))]
pub fn at_line(file: Option<&str>, line: u32) {
    LINE.set(file.map(|file| (file.into(), line)));
}

/// Notes for the result of an operation which line called it, unless that is known.
pub fn note(tensor: &Tensor) {
    if tensor.wants_origin()
        && let Some((origin, _)) = Python::attach(here)
    {
        tensor.set_origin(&origin);
    }
}

/// The user's line, where it called svod through functions of the package, so that a traceback ends in those.
pub fn outside(py: Python<'_>) -> Option<Origin> {
    here(py).filter(|(_, inside)| *inside > 0).map(|(origin, _)| origin)
}

/// The innermost line outside of the package that is running on this thread, and the number of frames inside.
fn here(py: Python<'_>) -> Option<(Origin, usize)> {
    if let Some((file, line)) = LINE.with_borrow(Clone::clone) {
        let module = MODULES.with_borrow(|modules| modules.last().cloned());
        let called = CALLED.get().map(Arc::from);
        return Some((Origin { file, line, module, called, is_derivative: false }, 0));
    }
    // SAFETY: attached; the frame is borrowed from the running thread, which does not return before
    // this function does, and is null where no Python code runs.
    let mut frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) }?;
    let mut called = None;
    for inside in 0..MAX_FRAMES {
        // SAFETY: the object is a frame; the result is a new reference and never null.
        let code = unsafe { Bound::from_owned_ptr(py, ffi::PyFrame_GetCode(frame.as_ptr().cast()).cast()) };
        match line_of(&frame, &code)? {
            Line::Outside(file, line) => {
                let module = MODULES.with_borrow(|modules| modules.last().cloned());
                let called = called.or_else(|| CALLED.get().map(Arc::from));
                return Some((Origin { file, line, module, called, is_derivative: false }, inside));
            }
            // The outermost one is the one that the user's line calls.
            Line::Inside(name) => called = name.or(called),
        }
        frame = frame.getattr(pyo3::intern!(py, "f_back")).ok().filter(|f| !f.is_none())?;
    }
    None
}

/// Where a frame is.
enum Line {
    /// In the user's program: file and line.
    Outside(Arc<str>, u32),
    /// In the package: the name of the function, if users call it.
    Inside(Option<Arc<str>>),
}

/// Where a frame is; none where that cannot be had.
fn line_of(frame: &Bound<'_, PyAny>, code: &Bound<'_, PyAny>) -> Option<Line> {
    let at: i32 = frame.getattr(pyo3::intern!(frame.py(), "f_lasti")).ok()?.extract().ok()?;
    let key = code.as_ptr() as usize;
    let mut codes = CODES.lock();
    if !codes.contains_key(&key) {
        // Finding the package may run Python code, which may ask for the lock.
        drop(codes);
        let fresh = Code::new(code)?;
        codes = CODES.lock();
        // Dropping a code object runs no Python code.
        if codes.len() >= MAX_CODES {
            codes.clear();
        }
        codes.insert(key, fresh);
    }
    let known = codes.get_mut(&key)?;
    let Some(file) = known.file.clone() else { return Some(Line::Inside(known.name.clone())) };
    let line = *known.lines.entry(at).or_insert_with(|| {
        // SAFETY: the object is a frame; its line is read from tables, without running Python code.
        let line = unsafe { ffi::PyFrame_GetLineNumber(frame.as_ptr().cast()) };
        u32::try_from(line).unwrap_or(0)
    });
    Some(Line::Outside(file, line))
}

impl Code {
    fn new(code: &Bound<'_, PyAny>) -> Option<Code> {
        let file: String = code.getattr(pyo3::intern!(code.py(), "co_filename")).ok()?.extract().ok()?;
        let own = file.starts_with(package(code.py())?);
        let function: String = code.getattr(pyo3::intern!(code.py(), "co_name")).ok()?.extract().ok()?;
        let name = (own && is_public(&file, &function)).then(|| Arc::from(function));
        let file = (!own).then(|| Arc::from(file));
        Some(Code { _object: code.clone().unbind(), file, name, lines: FxHashMap::default() })
    }
}

/// Whether a function of the package is one that users call by its name: what begins with `_`, as files of what several
/// share do, is none, nor is what is made for a call, or a module's `forward`, in which other functions tell more.
fn is_public(file: &str, function: &str) -> bool {
    let base = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let is_inner = function.starts_with(['_', '<']) || ["forward", "call"].contains(&function);
    !is_inner && (!base.starts_with('_') || base == "__init__.py")
}

/// The folder of the package.
fn package(py: Python<'_>) -> Option<&str> {
    static FOLDER: PyOnceLock<String> = PyOnceLock::new();
    let folder = || -> PyResult<String> {
        let file: String = py.import("svod")?.getattr("__file__")?.extract()?;
        Ok(file.trim_end_matches("__init__.py").to_owned())
    };
    FOLDER.get_or_try_init(py, folder).ok().map(String::as_str)
}
