//! Calls of jitted functions that are told from others in one pass: those by position, with arguments of the kinds that
//! nearly all have. What `jit` asks of other calls says the same of these, and takes longer.

use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple, PyType};
use svod_ir::graph::Place;
use svod_runtime::PrepareConfig;
use svod_tensor::derivative::grad_enabled;
use svod_tensor::{Tensor, Trace};

use crate::array::dtype_of;
use crate::error::Result;
use crate::state::{Tag, plain, put, tagged};
use crate::tensor::PyTensor;

/// Containers in containers, in arguments that are looked at here.
const DEEPEST: usize = 16;

/// What tells a call with these arguments from others, and their tensors and arrays in their order: bytes that
/// are equal where structures, numbers, text, element types, extents, devices, whether gradients by them are recorded, and the
/// present configuration are, and objects of `nn.Module` the same.
///
/// Nothing of a call within a trace, and where an argument is neither a tensor, an array, a number, text, a module nor a
/// list, tuple or dict of these, or an extent is no number.
#[explained]
#[pyfunction]
pub fn _call<'py>(
    args: &Bound<'py, PyTuple>,
    module: &Bound<'py, PyType>,
) -> Result<Option<(Bound<'py, PyBytes>, Bound<'py, PyList>)>> {
    if Trace::is_active() {
        return Ok(None);
    }
    let mut call = Call { bytes: Vec::with_capacity(128), arrays: Vec::with_capacity(args.len()), module };
    for item in args.iter() {
        if !call.item(item, DEEPEST) {
            return Ok(None);
        }
    }
    let config = PrepareConfig::current();
    if config != PrepareConfig::default() {
        call.bytes.extend_from_slice(config.to_string().as_bytes());
    }
    let py = args.py();
    Ok(Some((PyBytes::new(py, &call.bytes), PyList::new(py, call.arrays)?)))
}

/// Whether what is made of an argument remembers it.
pub fn is_recorded(tensor: &Tensor) -> bool {
    grad_enabled() && tensor.requires_grad()
}

struct Call<'a, 'py> {
    bytes: Vec<u8>,
    arrays: Vec<Bound<'py, PyAny>>,
    /// The class of modules.
    module: &'a Bound<'py, PyType>,
}

impl<'py> Call<'_, 'py> {
    /// Writes an argument, and says whether it is of a kind that is known here.
    fn item(&mut self, item: Bound<'py, PyAny>, deepest: usize) -> bool {
        if let Ok(tensor) = item.cast_exact::<PyTensor>() {
            let known = self.tensor(&tensor.get().0);
            self.arrays.push(item);
            return known;
        }
        if plain(&mut self.bytes, &item) {
            return true;
        }
        if deepest == 0 {
            return false;
        }
        if let Ok(list) = item.cast_exact::<PyList>() {
            self.container(&item, list.len());
            return list.iter().all(|item| self.item(item, deepest - 1));
        }
        if let Ok(tuple) = item.cast_exact::<PyTuple>() {
            self.container(&item, tuple.len());
            return tuple.iter().all(|item| self.item(item, deepest - 1));
        }
        if let Ok(dict) = item.cast_exact::<PyDict>() {
            self.container(&item, dict.len());
            let named = |name: &Bound<'py, PyAny>| name.is_exact_instance_of::<PyString>();
            return dict
                .iter()
                .all(|(name, item)| named(&name) && plain(&mut self.bytes, &name) && self.item(item, deepest - 1));
        }
        if item.is_instance(self.module).unwrap_or(false) {
            tagged(&mut self.bytes, Tag::Object, item.as_ptr() as usize);
            return true;
        }
        self.array(item)
    }

    fn container(&mut self, item: &Bound<'py, PyAny>, len: usize) {
        tagged(&mut self.bytes, Tag::Container, item.get_type_ptr() as usize);
        put(&mut self.bytes, len);
    }

    fn tensor(&mut self, tensor: &Tensor) -> bool {
        let value = tensor.uop();
        let name = value.dtype().name();
        tagged(&mut self.bytes, Tag::Array, name.len());
        self.bytes.extend_from_slice(name.as_bytes());
        put(&mut self.bytes, value.rank());
        for extent in value.shape() {
            let Some(extent) = extent.as_usize() else { return false };
            put(&mut self.bytes, extent);
        }
        match value.place() {
            None => self.name(""),
            Some(Place::One(device)) => self.name(device.name()),
            Some(Place::Many(sharding)) => self.name(&sharding.to_string()),
        }
        put(&mut self.bytes, usize::from(is_recorded(tensor)));
        true
    }

    fn array(&mut self, item: Bound<'py, PyAny>) -> bool {
        let Ok(array) = item.cast_exact::<PyUntypedArray>() else { return false };
        let Ok(dtype) = dtype_of(array) else { return false };
        let name = dtype.name();
        tagged(&mut self.bytes, Tag::Array, name.len());
        self.bytes.extend_from_slice(name.as_bytes());
        let extents = array.shape();
        put(&mut self.bytes, extents.len());
        extents.iter().for_each(|n| put(&mut self.bytes, *n));
        self.name("CPU");
        self.arrays.push(item);
        true
    }

    fn name(&mut self, name: &str) {
        put(&mut self.bytes, name.len());
        self.bytes.extend_from_slice(name.as_bytes());
    }
}
