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
enum Tag {
    Identity,
    Object,
    Container,
    Number,
    Text,
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
        if let Ok(text) = item.cast_exact::<PyString>()
            && let Ok(text) = text.to_cow()
        {
            self.text(item, text.as_bytes());
        } else if let Ok(bytes) = item.cast_exact::<PyBytes>() {
            self.text(item, bytes.as_bytes());
        } else if item.is_none() || item.is_exact_instance_of::<PyBool>() {
            // There is one object of each value.
            self.tagged(Tag::Identity, item.as_ptr() as usize);
        } else if item.is_exact_instance_of::<PyInt>()
            && let Ok(number) = item.extract::<i64>()
        {
            self.tagged(Tag::Number, item.get_type_ptr() as usize);
            self.number(number as usize);
        } else if let Ok(float) = item.cast_exact::<PyFloat>() {
            // 0.0 and -0.0 are equal, NaN is not equal to itself.
            let number = float.value();
            self.tagged(Tag::Number, item.get_type_ptr() as usize);
            self.number(if number.is_nan() { f64::NAN } else { number }.to_bits() as usize);
        } else if is_value(item) {
            let text = item.repr()?;
            self.text(item, text.to_string_lossy().as_bytes());
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn text(&mut self, item: &Bound<'py, PyAny>, text: &[u8]) {
        self.tagged(Tag::Text, item.get_type_ptr() as usize);
        self.number(text.len());
        self.bytes.extend_from_slice(text);
    }

    fn tagged(&mut self, tag: Tag, number: usize) {
        self.bytes.push(tag as u8);
        self.number(number);
    }

    fn number(&mut self, number: usize) {
        self.bytes.extend_from_slice(&number.to_ne_bytes());
    }

    fn hold(&self, item: &Bound<'py, PyAny>) -> Result<()> {
        if let Some(objects) = self.objects {
            objects.append(item)?;
        }
        Ok(())
    }
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
