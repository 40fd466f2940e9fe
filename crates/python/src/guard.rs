//! Guards: which objects every container and namespace that a walk met held, by identity; see [`crate::reach`].
//!
//! A guard is a tuple of entries, tuples themselves, as the garbage collector knows them: a list, a dict or a set and its
//! items; or a namespace or an object, names, and what it has under these.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple, PyType};

use crate::error::Result;

/// Whether all that a guard names is as it was.
#[explained]
#[pyfunction]
pub fn _unchanged(guard: &Bound<'_, PyTuple>) -> Result<bool> {
    for entry in guard.iter() {
        if !Entry::of(&entry)?.is_unchanged()? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What is not as it was: holders, each with a name; none where it is no namespace.
#[explained]
#[pyfunction]
#[expect(clippy::type_complexity, reason = "pairs for Python")]
pub fn _changed<'py>(guard: &Bound<'py, PyTuple>) -> Result<Vec<(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>)>> {
    let mut all = Vec::new();
    for entry in guard.iter() {
        let entry = Entry::of(&entry)?;
        if !entry.is_unchanged()? {
            entry.changes(&mut all)?;
        }
    }
    Ok(all)
}

/// An entry of a guard: what a list, a dict or a set held, or what a namespace or an object had under some names.
struct Entry<'py> {
    holder: Bound<'py, PyAny>,
    names: Option<Bound<'py, PyTuple>>,
    values: Bound<'py, PyTuple>,
}

impl<'py> Entry<'py> {
    fn of(entry: &Bound<'py, PyAny>) -> Result<Self> {
        let entry = entry.cast::<PyTuple>().map_err(PyErr::from)?;
        let part = |at| Ok::<_, PyErr>(entry.get_item(at)?.cast_into::<PyTuple>()?);
        let names = if entry.len() == 3 { Some(part(1)?) } else { None };
        Ok(Entry { holder: entry.get_item(0)?, names, values: part(entry.len() - 1)? })
    }

    fn is_unchanged(&self) -> Result<bool> {
        let Entry { holder, names, values } = self;
        if let Some(names) = names {
            for (name, value) in names.iter().zip(values.iter()) {
                if !named(holder, &name)?.is_some_and(|now| now.is(&value)) {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        if let Ok(dict) = holder.cast::<PyDict>() {
            let mut known = values.iter();
            let mut next = |item: &Bound<'_, PyAny>| known.next().is_some_and(|known| known.is(item));
            return Ok(dict.iter().all(|(name, value)| next(&name) && next(&value)) && known.next().is_none());
        }
        if let Ok(list) = holder.cast::<PyList>() {
            return Ok(list.len() == values.len() && list.iter().zip(values.iter()).all(|(a, b)| a.is(&b)));
        }
        let same = |(a, b): (PyResult<Bound<'_, PyAny>>, Bound<'_, PyAny>)| a.is_ok_and(|a| a.is(&b));
        Ok(holder.len()? == values.len() && holder.try_iter()?.zip(values.iter()).all(same))
    }

    /// The names whose values are others now, those that are new, and those that are gone.
    fn changes(&self, all: &mut Vec<(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>)>) -> Result<()> {
        let Entry { holder, names, values } = self;
        let known: Vec<_> = match names {
            Some(names) => names.iter().zip(values.iter()).collect(),
            None if holder.is_instance_of::<PyDict>() => {
                let items: Vec<_> = values.iter().collect();
                items.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
            }
            None => {
                all.push((holder.clone(), None));
                return Ok(());
            }
        };
        for (name, value) in &known {
            if !named(holder, name)?.is_some_and(|now| now.is(value)) {
                all.push((holder.clone(), Some(name.clone())));
            }
        }
        if let (None, Ok(dict)) = (names, holder.cast::<PyDict>()) {
            let known = PyList::new(holder.py(), known.iter().map(|(name, _)| name))?.to_tuple();
            for name in dict.keys() {
                if !known.contains(&name)? {
                    all.push((holder.clone(), Some(name)));
                }
            }
        }
        Ok(())
    }
}

/// What a namespace or an object has under a name.
pub fn named<'py>(holder: &Bound<'py, PyAny>, name: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
    if let Ok(dict) = holder.cast::<PyDict>() {
        return Ok(dict.get_item(name)?);
    }
    if let Ok(class) = holder.cast::<PyType>() {
        // As it lies in the class: what a descriptor makes of it is another object each time.
        return Ok(class.getattr(pyo3::intern!(holder.py(), "__dict__"))?.get_item(name).ok());
    }
    let name = name.cast::<PyString>().map_err(PyErr::from)?;
    Ok(holder.getattr(name).ok())
}
