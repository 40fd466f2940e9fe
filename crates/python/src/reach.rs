//! What functions and objects reach: tensors and other state that a traced function may find outside of its arguments.
//!
//! The walk goes from a function to the cells of its closure, to the globals that its code names, to its defaults; from an
//! object to its attributes; from a class or a module to what code that was reached names of it; from a container to
//! its items. Functions and objects of Python's library, of NumPy and of svod are what they are: only the cells of such
//! functions are looked into, which decorators keep functions in, and the attributes of modules and of a few holders. So are
//! functions of installed packages that do not know svod, but not their objects, which may hold a program's own.
//!
//! What it meets is written down ([`State`]), so that equal texts are equal states but for the tensors, which are
//! given in the order in which they are met. Looking at all of it takes a while: a *guard* notes which objects every
//! container held by identity, and tells in one pass over these that nothing is different.

use std::collections::{HashMap, HashSet};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyBytes, PyCFunction, PyCode, PyDict, PyFrozenSet, PyFunction, PyList, PyModule, PySet, PyString, PyTuple, PyType,
};

use crate::error::Result;
use crate::guard::named;
use crate::state::{State, Tag};
use crate::tensor::PyTensor;

/// Items of a container that are looked at: those of a larger one are not.
const MOST: usize = 1000;

/// Classes of Python's library whose attributes are what users put into them.
const HOLDERS: [&str; 5] = ["SimpleNamespace", "Namespace", "UserDict", "UserList", "ChainMap"];

/// Modules that classes say they are of which a program made: `dataclasses.make_dataclass` and `types.new_class`, and `exec` in a
/// namespace without a name.
const MAKERS: [&str; 2] = ["types", "builtins"];

/// What these functions and objects reach: a text of all but the tensors, these, and a guard. Functions and objects of
/// these libraries are what they are, and so are functions of these packages. What is `written` is left out: pairs of a holder's address and a name, or none
/// of all that it holds.
#[explained]
#[pyfunction]
pub fn _reach<'py>(
    roots: &Bound<'py, PyTuple>,
    libraries: &Bound<'py, PyFrozenSet>,
    packages: &Bound<'py, PyFrozenSet>,
    written: &Bound<'py, PySet>,
) -> Result<(Bound<'py, PyBytes>, Bound<'py, PyList>, Bound<'py, PyTuple>)> {
    let py = roots.py();
    let mut reach = Reach {
        py,
        state: State::default(),
        tensors: Vec::new(),
        positions: HashMap::new(),
        guard: Vec::new(),
        seen: HashSet::new(),
        names: HashSet::new(),
        spaces: Vec::new(),
        work: roots.iter().collect(),
        libraries: libraries.clone(),
        packages: packages.clone(),
        written: written.clone(),
    };
    reach.walk()?;
    Ok((PyBytes::new(py, &reach.state.bytes), PyList::new(py, reach.tensors)?, PyTuple::new(py, reach.guard)?))
}

/// Where among tensors the handle of each of these is; none of one that is not there.
#[explained]
#[pyfunction]
pub fn _positions(some: Vec<Py<PyTensor>>, among: Vec<Py<PyTensor>>) -> Vec<Option<usize>> {
    let places: HashMap<usize, usize> =
        among.iter().enumerate().map(|(at, tensor)| (tensor.get().0.address(), at)).collect();
    some.iter().map(|tensor| places.get(&tensor.get().0.address()).copied()).collect()
}

/// A class, a module or a function with attributes, of which is looked at what code names.
struct Space<'py> {
    holder: Bound<'py, PyAny>,
    /// What is in it.
    names: Bound<'py, PyAny>,
    /// Names that were looked at.
    known: HashSet<String>,
}

struct Reach<'py> {
    py: Python<'py>,
    state: State,
    tensors: Vec<Bound<'py, PyAny>>,
    /// Positions of tensors by their handles.
    positions: HashMap<usize, usize>,
    /// Tuples of a list, a dict or a set and its items, or of a namespace or an object, names, and what it has under these.
    guard: Vec<Bound<'py, PyTuple>>,
    /// Objects that were looked at.
    seen: HashSet<usize>,
    /// Names in code that was reached.
    names: HashSet<String>,
    spaces: Vec<Space<'py>>,
    work: Vec<Bound<'py, PyAny>>,
    /// The names of packages whose functions and objects are what they are.
    libraries: Bound<'py, PyFrozenSet>,
    /// Those whose functions are, but not their objects.
    packages: Bound<'py, PyFrozenSet>,
    written: Bound<'py, PySet>,
}

impl<'py> Reach<'py> {
    fn walk(&mut self) -> Result<()> {
        loop {
            while let Some(item) = self.work.pop() {
                self.item(&item)?;
            }
            for at in 0..self.spaces.len() {
                self.space(at)?;
            }
            if self.work.is_empty() {
                return Ok(());
            }
        }
    }

    fn item(&mut self, item: &Bound<'py, PyAny>) -> Result<()> {
        if let Ok(tensor) = item.cast::<PyTensor>() {
            let (next, address) = (self.tensors.len(), tensor.get().0.address());
            let at = *self.positions.entry(address).or_insert(next);
            if at == next {
                self.tensors.push(item.clone());
            }
            self.state.tagged(Tag::Array, at);
            return Ok(());
        }
        if self.state.value(item)? {
            return Ok(());
        }
        if let Ok(dict) = item.cast::<PyDict>() {
            if self.container(item, dict.len()) {
                self.dict(dict)?;
            }
        } else if let Ok(list) = item.cast::<PyList>() {
            if self.container(item, list.len()) {
                self.listed(item, list.iter().collect())?;
            }
        } else if is_deque(item) {
            if self.container(item, item.len()?) {
                self.listed(item, item.try_iter()?.collect::<PyResult<_>>()?)?;
            }
        } else if let Ok(tuple) = item.cast::<PyTuple>() {
            if self.container(item, tuple.len()) {
                self.state.number(tuple.len());
                self.work.extend(tuple.iter());
            }
        } else if item.is_instance_of::<PySet>() || item.is_instance_of::<PyFrozenSet>() {
            if self.container(item, item.len()?) && !self.is_written(item, None)? {
                self.set(item)?;
            }
        } else if self.is_new(item) {
            self.object(item)?;
        }
        Ok(())
    }

    /// The items of a list, in their order.
    fn listed(&mut self, list: &Bound<'py, PyAny>, items: Vec<Bound<'py, PyAny>>) -> Result<()> {
        if !self.is_written(list, None)? {
            self.state.number(items.len());
            self.entry(list, None, items.clone())?;
            self.work.extend(items);
        }
        Ok(())
    }

    /// Writes an object's identity, and says whether it was not met before.
    fn is_new(&mut self, item: &Bound<'py, PyAny>) -> bool {
        self.state.tagged(Tag::Object, item.as_ptr() as usize);
        self.seen.insert(item.as_ptr() as usize)
    }

    fn object(&mut self, item: &Bound<'py, PyAny>) -> Result<()> {
        let py = self.py;
        if let Ok(function) = item.cast::<PyFunction>() {
            return self.function(function);
        }
        if let Ok(module) = item.cast::<PyModule>() {
            if !self.is_of_library(&module.name()?.into_any())? {
                self.spaces.push(Space {
                    holder: module.dict().into_any(),
                    names: module.dict().into_any(),
                    known: HashSet::new(),
                });
            }
            return Ok(());
        }
        if let Ok(class) = item.cast::<PyType>() {
            return self.class(class);
        }
        if item.is_exact_instance_of::<PyCFunction>() || item.is_exact_instance_of::<PyCode>() {
            return Ok(());
        }
        let class = item.get_type();
        let of_library = self.is_library_class(&class)?;
        // Bound methods, partial functions, what wraps a function, descriptors.
        for name in ["__self__", "__func__", "__wrapped__", "func", "args", "keywords", "fget", "_function"] {
            if of_library && let Some(value) = named(item, &PyString::intern(py, name))? {
                self.work.push(value);
            }
        }
        let is_module = |name: &str| {
            ["svod.nn", "svod.optim", "svod.models", "svod._module"]
                .iter()
                .any(|own| name.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
        };
        let holds = !of_library
            || HOLDERS.contains(&&*class.name()?.to_string_lossy())
            || is_module(&class.getattr(pyo3::intern!(py, "__module__"))?.str()?.to_string_lossy());
        if !holds {
            return Ok(());
        }
        // As the object lies there: what its class does about attributes is not run, and may warn.
        let plain = py.get_type::<PyAny>().getattr(pyo3::intern!(py, "__getattribute__"))?;
        if let Ok(own) = plain.call1((item, pyo3::intern!(py, "__dict__")))
            && let Ok(own) = own.cast_into::<PyDict>()
            && own.len() <= MOST
        {
            self.dict(&own)?;
        }
        for class in class.mro().iter() {
            let class = class.cast_into::<PyType>().map_err(PyErr::from)?;
            self.slots(item, &class)?;
            if self.seen.insert(class.as_ptr() as usize) {
                self.class(&class)?;
            }
        }
        Ok(())
    }

    /// The attributes of an object that a class keeps in slots.
    fn slots(&mut self, item: &Bound<'py, PyAny>, class: &Bound<'py, PyType>) -> Result<()> {
        let py = self.py;
        let Ok(slots) = class.getattr(pyo3::intern!(py, "__dict__"))?.get_item(pyo3::intern!(py, "__slots__")) else {
            return Ok(());
        };
        let names: Vec<Bound<'py, PyAny>> = match slots.cast::<PyString>() {
            Ok(name) => vec![name.clone().into_any()],
            Err(_) => slots.try_iter()?.collect::<PyResult<_>>()?,
        };
        self.named(item, &names)
    }

    fn class(&mut self, class: &Bound<'py, PyType>) -> Result<()> {
        let py = self.py;
        if self.is_library_class(class)? {
            return Ok(());
        }
        let names = class.getattr(pyo3::intern!(py, "__dict__"))?;
        self.spaces.push(Space { holder: class.clone().into_any(), names, known: HashSet::new() });
        Ok(())
    }

    fn function(&mut self, function: &Bound<'py, PyFunction>) -> Result<()> {
        let py = self.py;
        if let Ok(cells) = function.getattr(pyo3::intern!(py, "__closure__"))?.cast_into::<PyTuple>() {
            for cell in cells.iter() {
                self.named(&cell, &[pyo3::intern!(py, "cell_contents").clone().into_any()])?;
            }
        }
        let globals = function.getattr(pyo3::intern!(py, "__globals__"))?;
        // A namespace without a name, as code that is run by `exec` may have, is nobody's library.
        if let Ok(name) = globals.get_item(pyo3::intern!(py, "__name__"))
            && (self.is_of_library(&name)? || is_of(&self.packages, &name)?)
        {
            return Ok(());
        }
        let names = Names::of(&function.getattr(pyo3::intern!(py, "__code__"))?)?;
        for name in &names.all {
            self.names.insert(name.str()?.to_string_lossy().into_owned());
        }
        self.named(&globals, &names.globals)?;
        // Attributes that a program gave it.
        let own = function.getattr(pyo3::intern!(py, "__dict__"))?;
        if own.is_truthy()? {
            self.spaces.push(Space { holder: function.clone().into_any(), names: own, known: HashSet::new() });
        }
        // Most have none, and get none later.
        for name in [pyo3::intern!(py, "__defaults__"), pyo3::intern!(py, "__kwdefaults__")] {
            if !function.getattr(name)?.is_none() {
                self.named(function, &[name.clone().into_any()])?;
            }
        }
        Ok(())
    }

    /// What code names of a class or a module, and was not looked at; of a class also the methods that operators call.
    fn space(&mut self, at: usize) -> Result<()> {
        let Space { holder, names, known } = &mut self.spaces[at];
        let (holder, is_class) = (holder.clone(), holder.is_instance_of::<PyType>());
        let mut found = Vec::new();
        for name in names.try_iter()? {
            let name = name?;
            let Ok(text) = name.cast::<PyString>() else { continue };
            let text = text.to_string_lossy();
            let special = text.starts_with("__") && text.ends_with("__");
            let called = special && is_class && names.get_item(&name)?.is_instance_of::<PyFunction>();
            if (called || !special && self.names.contains(&*text)) && known.insert(text.into_owned()) {
                found.push(name);
            }
        }
        self.named(&holder, &found)
    }

    /// What a namespace or an object has under these names.
    fn named(&mut self, holder: &Bound<'py, PyAny>, names: &[Bound<'py, PyAny>]) -> Result<()> {
        let (mut known, mut values) = (Vec::new(), Vec::new());
        for name in names {
            if !self.is_written(holder, Some(name))?
                && let Some(value) = named(holder, name)?
            {
                self.state.name(name)?;
                known.push(name.clone());
                values.push(value);
            }
        }
        if !known.is_empty() {
            self.entry(holder, Some(known), values.clone())?;
            self.work.extend(values);
        }
        Ok(())
    }

    /// The items of a dict, by their names.
    fn dict(&mut self, dict: &Bound<'py, PyDict>) -> Result<()> {
        if !self.written.is_empty() {
            let names: Vec<_> = dict.keys().iter().collect();
            let is_written = |name| self.is_written(dict, Some(name));
            if names.iter().map(is_written).collect::<Result<Vec<_>>>()?.contains(&true) {
                return self.named(dict, &names);
            }
        }
        let mut items = Vec::with_capacity(2 * dict.len());
        self.state.number(dict.len());
        for (name, value) in dict.iter() {
            self.state.name(&name)?;
            self.work.push(value.clone());
            items.extend([name, value]);
        }
        self.entry(dict, None, items)
    }

    /// The items of a set, in whichever order it has them.
    fn set(&mut self, set: &Bound<'py, PyAny>) -> Result<()> {
        let items: Vec<Bound<'py, PyAny>> = set.try_iter()?.collect::<PyResult<_>>()?;
        self.state.number(items.len());
        self.state.set(&items)?;
        self.entry(set, None, items)
    }

    fn entry(
        &mut self,
        holder: &Bound<'py, PyAny>,
        names: Option<Vec<Bound<'py, PyAny>>>,
        values: Vec<Bound<'py, PyAny>>,
    ) -> Result<()> {
        let values = PyTuple::new(self.py, values)?;
        self.guard.push(match names {
            Some(names) => (holder, PyTuple::new(self.py, names)?, values).into_pyobject(self.py)?,
            None => (holder, values).into_pyobject(self.py)?,
        });
        Ok(())
    }

    /// Whether this is left out.
    fn is_written(&self, holder: &Bound<'py, PyAny>, name: Option<&Bound<'py, PyAny>>) -> Result<bool> {
        Ok(!self.written.is_empty() && self.written.contains((holder.as_ptr() as usize, name))?)
    }

    /// Writes a container's type, and says whether its items are looked at: of one that holds itself once.
    fn container(&mut self, item: &Bound<'py, PyAny>, len: usize) -> bool {
        self.state.tagged(Tag::Container, item.get_type_ptr() as usize);
        let looked = len <= MOST && self.seen.insert(item.as_ptr() as usize);
        if !looked {
            self.state.tagged(Tag::Identity, item.as_ptr() as usize);
        }
        looked
    }

    /// Whether a class is of one of the libraries. One that a program made may say so, but is not found there.
    fn is_library_class(&self, class: &Bound<'py, PyType>) -> Result<bool> {
        let py = self.py;
        let module = class.getattr(pyo3::intern!(py, "__module__"))?;
        if !self.is_of_library(&module)? {
            return Ok(false);
        }
        let name = module.str()?.to_string_lossy().into_owned();
        if !MAKERS.contains(&&*name) || !is_of_heap(class) {
            return Ok(true);
        }
        let there = py.import(name.as_str())?.getattr_opt(class.name()?)?;
        Ok(there.is_some_and(|found| found.is(class)))
    }

    /// Whether a module of this name is one of those whose functions and objects are what they are.
    fn is_of_library(&self, module: &Bound<'py, PyAny>) -> Result<bool> {
        Ok(!module.is_instance_of::<PyString>() || is_of(&self.libraries, module)?)
    }
}

/// Whether a module of this name is in one of these packages.
fn is_of(packages: &Bound<'_, PyFrozenSet>, module: &Bound<'_, PyAny>) -> Result<bool> {
    let Ok(name) = module.cast::<PyString>() else { return Ok(false) };
    let name = name.to_string_lossy();
    Ok(packages.contains(name.split('.').next().unwrap_or_default())?)
}

/// Whether a class was made while the program runs, by a statement or a call, as those of the interpreter itself were not.
fn is_of_heap(class: &Bound<'_, PyType>) -> bool {
    const HEAP: u64 = 1 << 9;
    class
        .getattr(pyo3::intern!(class.py(), "__flags__"))
        .and_then(|flags| flags.extract::<u64>())
        .is_ok_and(|flags| flags & HEAP != 0)
}

/// Whether this is a `collections.deque`.
fn is_deque(item: &Bound<'_, PyAny>) -> bool {
    static DEQUE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    DEQUE.import(item.py(), "collections", "deque").is_ok_and(|deque| item.get_type().is(deque))
}

/// The names in a function's code, and in the code of functions within it: all, and those of globals.
#[derive(Default)]
struct Names<'py> {
    all: Vec<Bound<'py, PyAny>>,
    globals: Vec<Bound<'py, PyAny>>,
}

impl<'py> Names<'py> {
    fn of(code: &Bound<'py, PyAny>) -> Result<Self> {
        let py = code.py();
        let (mut names, mut work) = (Names::default(), vec![code.clone()]);
        while let Some(code) = work.pop() {
            names.all.extend(code.getattr(pyo3::intern!(py, "co_names"))?.try_iter()?.collect::<PyResult<Vec<_>>>()?);
            names.globals.extend(globals_in(&code)?.try_iter()?.collect::<PyResult<Vec<_>>>()?);
            for constant in code.getattr(pyo3::intern!(py, "co_consts"))?.try_iter()? {
                let constant = constant?;
                if constant.is_exact_instance_of::<PyCode>() {
                    work.push(constant);
                }
            }
        }
        Ok(names)
    }
}

/// The names that code looks up or binds as globals. An attribute of the same name as a global, `optimizer.step` beside a loop over
/// `step`, is none of them.
fn globals_in<'py>(code: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    static KNOWN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static INSTRUCTIONS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = code.py();
    let known = KNOWN.get_or_try_init(py, || {
        Ok::<_, PyErr>(py.import("weakref")?.getattr("WeakKeyDictionary")?.call0()?.unbind())
    })?;
    let known = known.bind(py);
    let names = known.call_method1(pyo3::intern!(py, "get"), (code,))?;
    if !names.is_none() {
        return Ok(names);
    }
    let instructions = INSTRUCTIONS.import(py, "dis", "get_instructions")?.call1((code,))?;
    let names = PySet::empty(py)?;
    for instruction in instructions.try_iter()? {
        let instruction = instruction?;
        let operation = instruction.getattr(pyo3::intern!(py, "opname"))?.extract::<String>()?;
        let name = instruction.getattr(pyo3::intern!(py, "argval"))?;
        if operation.contains("GLOBAL") || operation == "LOAD_NAME" {
            names.add(name)?;
        } else if operation == "IMPORT_NAME" {
            // A module that is imported anew is mostly a global as well.
            names.add(name.extract::<String>()?.split('.').next().unwrap_or_default())?;
        }
    }
    let mut sorted: Vec<String> = names.iter().map(|name| name.extract()).collect::<PyResult<_>>()?;
    sorted.sort_unstable();
    let names = PyTuple::new(py, sorted)?.into_any();
    known.set_item(code, &names)?;
    Ok(names)
}
