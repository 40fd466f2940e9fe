//! What tells an object from others and from what it was before: what `jit` asks at every call of those that it is
//! given, such as a module with all its layers.

use std::collections::HashSet;

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyCFunction, PyComplex, PyDict, PyFloat, PyFrozenSet, PyFunction, PyInt, PyList, PyModule, PySet,
    PyString, PyTuple, PyType,
};

use crate::error::Result;
use crate::tensor::PyTensor;

/// Items of a container that are looked at: those of a larger one are not.
const MOST: usize = 1000;

/// An object's identity, and its attributes, those of objects among them included: bytes that are equal where all of
/// that is. Numbers and text count by value, containers by content, other objects by identity: these are added to
/// `objects`, so that as long as it lives their identities are not used again.
#[pyfunction]
#[pyo3(signature = (value, objects=None))]
pub fn _state<'py>(value: &Bound<'py, PyAny>, objects: Option<&Bound<'py, PyList>>) -> Result<Bound<'py, PyBytes>> {
    let mut state = State { bytes: Vec::with_capacity(512), objects, seen: HashSet::default(), work: Vec::new() };
    state.object(value)?;
    while let Some(item) = state.work.pop() {
        state.item(&item)?;
    }
    Ok(PyBytes::new(value.py(), &state.bytes))
}

/// What comes next, so that bytes of different things are different.
#[derive(Clone, Copy)]
pub enum Tag {
    /// An object by its address.
    Identity,
    /// An object whose attributes follow.
    Object,
    /// A container whose items follow.
    Container,
    /// A number by its type.
    Number,
    /// A text by its type.
    Text,
    /// A tensor or an array.
    Array,
}

struct State<'a, 'py> {
    bytes: Vec<u8>,
    objects: Option<&'a Bound<'py, PyList>>,
    /// Objects whose attributes are in `work`, or were.
    seen: HashSet<usize>,
    work: Vec<Bound<'py, PyAny>>,
}

impl<'py> State<'_, 'py> {
    /// An object by identity, and the names of its attributes, whose values are still to be looked at.
    fn object(&mut self, item: &Bound<'py, PyAny>) -> Result<()> {
        self.tagged(Tag::Object, item.as_ptr() as usize);
        if !self.seen.insert(item.as_ptr() as usize) || has_shared_attributes(item) {
            return Ok(());
        }
        let Ok(own) = item.getattr(pyo3::intern!(item.py(), "__dict__")) else { return Ok(()) };
        let Ok(own) = own.cast_into::<PyDict>() else { return Ok(()) };
        self.number(own.len());
        for (name, value) in own.iter() {
            self.name(&name)?;
            self.work.push(value);
        }
        Ok(())
    }

    fn item(&mut self, item: &Bound<'py, PyAny>) -> Result<()> {
        if item.is_exact_instance_of::<PyTensor>() {
            self.tagged(Tag::Identity, item.as_ptr() as usize);
            return self.hold(item);
        }
        if self.value(item)? {
            return Ok(());
        }
        if let Ok(list) = item.cast_exact::<PyList>() {
            if self.container(item, list.len()) {
                self.work.extend(list.iter());
            }
        } else if let Ok(tuple) = item.cast_exact::<PyTuple>() {
            if self.container(item, tuple.len()) {
                self.work.extend(tuple.iter());
            }
        } else if let Ok(dict) = item.cast_exact::<PyDict>() {
            if self.container(item, dict.len()) {
                for (name, value) in dict.iter() {
                    self.name(&name)?;
                    self.work.push(value);
                }
            }
        } else if item.is_exact_instance_of::<PySet>() || item.is_exact_instance_of::<PyFrozenSet>() {
            if self.container(item, item.len()?) {
                self.set(item)?;
            }
        } else {
            self.object(item)?;
            self.hold(item)?;
        }
        Ok(())
    }

    /// A container's type and size, and whether its items are looked at.
    fn container(&mut self, item: &Bound<'py, PyAny>, len: usize) -> bool {
        self.tagged(Tag::Container, item.get_type_ptr() as usize);
        self.number(len);
        if len > MOST {
            self.number(item.as_ptr() as usize);
        }
        len <= MOST
    }

    /// The items of a set, in whichever order it has them.
    fn set(&mut self, items: &Bound<'py, PyAny>) -> Result<()> {
        let before = std::mem::take(&mut self.bytes);
        let mut names = Vec::new();
        for name in items.try_iter()? {
            let name = name?;
            self.name(&name)?;
            names.push(std::mem::take(&mut self.bytes));
            self.hold(&name)?;
        }
        names.sort_unstable();
        self.bytes = before;
        names.iter().for_each(|name| self.bytes.extend_from_slice(name));
        Ok(())
    }

    /// A key of a dict, or an item of a set, of which 1, 1.0 and True are equal.
    fn name(&mut self, name: &Bound<'py, PyAny>) -> Result<()> {
        if !self.value(name)? {
            self.tagged(Tag::Identity, name.as_ptr() as usize);
        }
        Ok(())
    }

    /// Numbers and text, by type and value, and whether it is one of them.
    fn value(&mut self, item: &Bound<'py, PyAny>) -> Result<bool> {
        if plain(&mut self.bytes, item) {
            return Ok(true);
        }
        if !is_value(item) {
            return Ok(false);
        }
        let shown = item.repr()?;
        text(&mut self.bytes, item, shown.to_string_lossy().as_bytes());
        Ok(true)
    }

    fn tagged(&mut self, tag: Tag, number: usize) {
        tagged(&mut self.bytes, tag, number);
    }

    fn number(&mut self, number: usize) {
        put(&mut self.bytes, number);
    }

    fn hold(&self, item: &Bound<'py, PyAny>) -> Result<()> {
        if let Some(objects) = self.objects {
            objects.append(item)?;
        }
        Ok(())
    }
}

/// Writes a number or a text of Python's own classes, by type and value, and says whether it is one.
pub fn plain(bytes: &mut Vec<u8>, item: &Bound<'_, PyAny>) -> bool {
    if let Ok(own) = item.cast_exact::<PyString>()
        && let Ok(own) = own.to_cow()
    {
        text(bytes, item, own.as_bytes());
    } else if let Ok(own) = item.cast_exact::<PyBytes>() {
        text(bytes, item, own.as_bytes());
    } else if item.is_none() || item.is_exact_instance_of::<PyBool>() {
        // There is one object of each value.
        tagged(bytes, Tag::Identity, item.as_ptr() as usize);
    } else if item.is_exact_instance_of::<PyInt>()
        && let Ok(number) = item.extract::<i64>()
    {
        tagged(bytes, Tag::Number, item.get_type_ptr() as usize);
        put(bytes, number as usize);
    } else if let Ok(float) = item.cast_exact::<PyFloat>() {
        // 0.0 and -0.0 are equal, NaN is not equal to itself.
        let number = float.value();
        tagged(bytes, Tag::Number, item.get_type_ptr() as usize);
        put(bytes, if number.is_nan() { f64::NAN } else { number }.to_bits() as usize);
    } else {
        return false;
    }
    true
}

/// Writes an object's type and a text.
fn text(bytes: &mut Vec<u8>, item: &Bound<'_, PyAny>, text: &[u8]) {
    tagged(bytes, Tag::Text, item.get_type_ptr() as usize);
    put(bytes, text.len());
    bytes.extend_from_slice(text);
}

/// Writes what comes next, and a number that says more of it.
pub fn tagged(bytes: &mut Vec<u8>, tag: Tag, number: usize) {
    bytes.push(tag as u8);
    put(bytes, number);
}

/// Writes a number.
pub fn put(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend_from_slice(&number.to_ne_bytes());
}

/// Whether an object is a number or a text of a class derived from Python's, or a rare one of these.
fn is_value(item: &Bound<'_, PyAny>) -> bool {
    item.is_instance_of::<PyInt>()
        || item.is_instance_of::<PyFloat>()
        || item.is_instance_of::<PyComplex>()
        || item.is_instance_of::<PyString>()
        || item.is_instance_of::<PyBytes>()
}

/// Whether an object's attributes are not its own business: those of a class, a function or a module.
fn has_shared_attributes(item: &Bound<'_, PyAny>) -> bool {
    item.is_instance_of::<PyType>()
        || item.is_instance_of::<PyFunction>()
        || item.is_instance_of::<PyCFunction>()
        || item.is_instance_of::<PyModule>()
}
