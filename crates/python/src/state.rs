//! The text by which objects are told from others: bytes that are equal where these are.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyString};

use crate::error::Result;

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

/// A text that is being written.
#[derive(Default)]
pub struct State {
    /// What was written.
    pub bytes: Vec<u8>,
}

impl State {
    /// The items of a set, in whichever order they are given.
    pub fn set(&mut self, items: &[Bound<'_, PyAny>]) -> Result<()> {
        let before = std::mem::take(&mut self.bytes);
        let mut names = Vec::new();
        for name in items {
            self.name(name)?;
            names.push(std::mem::take(&mut self.bytes));
        }
        names.sort_unstable();
        self.bytes = before;
        names.iter().for_each(|name| self.bytes.extend_from_slice(name));
        Ok(())
    }

    /// A key of a dict, or an item of a set, of which 1, 1.0 and True are equal.
    pub fn name(&mut self, name: &Bound<'_, PyAny>) -> Result<()> {
        if !self.value(name)? {
            self.tagged(Tag::Identity, name.as_ptr() as usize);
        }
        Ok(())
    }

    /// Numbers and text, by type and value, and whether it is one of them.
    pub fn value(&mut self, item: &Bound<'_, PyAny>) -> Result<bool> {
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

    /// What comes next, and a number that says more of it.
    pub fn tagged(&mut self, tag: Tag, number: usize) {
        tagged(&mut self.bytes, tag, number);
    }

    /// A number.
    pub fn number(&mut self, number: usize) {
        put(&mut self.bytes, number);
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
