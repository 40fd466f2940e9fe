//! Tensors of constants that are part of a model.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use svod_device::{Allocator, Buffer, DeviceError, DeviceSpec, DiskAllocator, Storage};
use svod_dtype::{Const, DType};
use svod_ir::graph::LeafClass;
use svod_runtime::Context;
use svod_tensor::Tensor;

use crate::error::{OnnxError, Result};
use crate::proto::{SparseTensorProto, TensorProto};
use crate::types;
use crate::value::Value;

/// Where tensors outside of a model's file are: in files of its folder, each of which is mapped once.
#[derive(Default)]
pub(crate) struct External {
    folder: Option<PathBuf>,
    files: Mutex<BTreeMap<PathBuf, Arc<Storage>>>,
}

impl External {
    /// Files of this folder; none of a model that is no file.
    pub fn new(folder: Option<&Path>) -> External {
        External { folder: folder.map(Path::to_path_buf), files: Mutex::default() }
    }

    /// A file of the folder. What leaves the folder, by its name or as a link, is an error.
    fn file(&self, location: &str) -> Result<Arc<Storage>, String> {
        let Some(folder) = &self.folder else {
            return Err(format!("its elements are in '{location}', but the model was not loaded from a file"));
        };
        let relative = Path::new(location);
        let is_inside = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if location.is_empty() || !is_inside {
            return Err(format!("its elements are in '{location}', which is not in the model's folder"));
        }
        let path = folder.join(relative);
        let canonical = |path: &Path| std::fs::canonicalize(path).map_err(|e| format!("{}: {e}", path.display()));
        let (folder, path) = (canonical(folder)?, canonical(&path)?);
        if !path.starts_with(&folder) {
            return Err(format!("its elements are in '{location}', a link that leaves the model's folder"));
        }
        let mut files = self.files.lock();
        if let Some(storage) = files.get(&path) {
            return Ok(storage.clone());
        }
        let disk = DiskAllocator::open(&path).map_err(|e| e.to_string())?;
        let bytes = disk.bytes();
        let allocator: Arc<dyn Allocator> = Arc::new(disk);
        let storage = Storage::new(&allocator, bytes);
        files.insert(path, storage.clone());
        Ok(storage)
    }

    /// The elements of a tensor that says where they are: the file's own pages where they are aligned, else a copy.
    fn read(&self, proto: &TensorProto, dtype: DType, shape: &[usize], bytes: usize) -> Result<Value, String> {
        let entry = |key: &str| proto.external_data.iter().find(|e| e.key == key).map(|e| e.value.as_str());
        let number = |key: &str| match entry(key) {
            None => Ok(None),
            Some(text) => text.parse::<usize>().map(Some).map_err(|_| format!("its {key} is '{text}', no size")),
        };
        let storage = self.file(entry("location").unwrap_or_default())?;
        let offset = number("offset")?.unwrap_or(0);
        let available = storage.bytes().saturating_sub(offset);
        let length = number("length")?.unwrap_or(bytes);
        if length != bytes || bytes > available {
            return Err(format!("it needs {bytes} bytes, of {length} given from {offset} on, where {available} are"));
        }
        let view = || -> Result<Value, DeviceError> {
            let of_file = match Buffer::over(storage.clone(), offset, dtype, bytes / dtype.bytes()) {
                Err(DeviceError::Misaligned { .. }) => Buffer::over(storage.clone(), offset, DType::U8, bytes)?,
                other => other?,
            };
            let host = Context::global().devices().get(&DeviceSpec::CPU)?;
            if of_file.dtype() == dtype
                && dtype != DType::Bool
                && let Some(mapped) = of_file.borrow_on(host.allocator())?
                && let Ok(tensor) = Tensor::from_buffer(Arc::new(mapped), LeafClass::File, shape)
            {
                return Ok(Value::Constant(tensor.uop()));
            }
            let copy = of_file.with_bytes(|bytes| {
                Value::constant(bytes, dtype, shape)
                    .map_err(|e| DeviceError::Io { path: "external data".into(), message: e.to_string() })
            })?;
            of_file.evict();
            copy
        };
        view().map_err(|e| e.to_string())
    }
}

/// The value of a tensor of a model.
///
/// # Errors
/// A type that svod does not have, elements that are not as many as the extents say, and those of [`External`].
pub(crate) fn value_of(proto: &TensorProto, external: &External) -> Result<Value> {
    made(proto, external).map_err(|message| OnnxError::Constant { name: proto.name.clone(), message })
}

fn made(proto: &TensorProto, external: &External) -> Result<Value, String> {
    let dtype = types::dtype(proto.data_type.into())?;
    let (shape, bytes) = extents(&proto.dims, dtype)?;
    if proto.data_location == 1 {
        return external.read(proto, dtype, &shape, bytes);
    }
    let own = elements(proto, dtype);
    if own.len() != bytes {
        return Err(format!("{dtype}{:?} has {bytes} bytes, but {} are given", proto.dims, own.len()));
    }
    Value::constant(&own, dtype, &shape).map_err(|e| e.to_string())
}

/// The extents, and how many bytes elements of them have.
fn extents(dims: &[i64], dtype: DType) -> Result<(Vec<usize>, usize), String> {
    let shape: Option<Vec<usize>> = dims.iter().map(|n| usize::try_from(*n).ok()).collect();
    let bytes = |shape: &[usize]| match shape.contains(&0) {
        true => Some(0),
        false => shape.iter().try_fold(dtype.bytes(), |n, extent| n.checked_mul(*extent)),
    };
    let found = shape.and_then(|shape| Some((bytes(&shape).filter(|n| isize::try_from(*n).is_ok())?, shape)));
    found.map(|(bytes, shape)| (shape, bytes)).ok_or_else(|| format!("extents {dims:?} are those of no tensor"))
}

/// The elements' bytes, of whichever field has them.
fn elements(proto: &TensorProto, dtype: DType) -> Vec<u8> {
    if let Some(raw) = &proto.raw_data {
        return raw.to_vec();
    }
    let narrow = |bytes: usize| proto.int32_data.iter().flat_map(|n| n.to_le_bytes()[..bytes].to_vec()).collect();
    match dtype {
        DType::F32 | DType::C64 => proto.float_data.iter().flat_map(|n| n.to_le_bytes()).collect(),
        DType::F64 | DType::C128 => proto.double_data.iter().flat_map(|n| n.to_le_bytes()).collect(),
        DType::I64 => proto.int64_data.iter().flat_map(|n| n.to_le_bytes()).collect(),
        DType::U64 => proto.uint64_data.iter().flat_map(|n| n.to_le_bytes()).collect(),
        DType::U32 => proto.uint64_data.iter().flat_map(|n| (*n as u32).to_le_bytes()).collect(),
        DType::Bool => proto.int32_data.iter().map(|n| u8::from(*n != 0)).collect(),
        other => narrow(other.bytes()),
    }
}

/// A tensor that is 0 but at some positions.
///
/// # Errors
/// As [`value_of`], and positions outside of the tensor.
pub(crate) fn sparse(proto: &SparseTensorProto, external: &External) -> Result<Value> {
    let none = TensorProto::default();
    let values = proto.values.as_ref().unwrap_or(&none);
    let failed = |message: String| OnnxError::Constant { name: values.name.clone(), message };
    let tensor = |proto: &TensorProto| value_of(proto, external)?.tensor().map_err(|e| failed(e.to_string()));
    let elements = tensor(values)?;
    let dtype = elements.dtype();
    let (shape, bytes) = extents(&proto.dims, dtype).map_err(failed)?;
    let places = tensor(proto.indices.as_ref().unwrap_or(&none))?;
    let (rank, places) = (places.rank(), places.cast(DType::I64)?.to_vec::<i64>()?);
    let width = if rank > 1 { shape.len().max(1) } else { 1 };
    let own = elements.to_bytes()?;
    // Without a limit a few bytes of a file would ask for any amount of memory.
    if bytes > MOST_DENSE {
        return Err(failed(format!("a sparse tensor of {bytes} bytes is not supported")));
    }
    let mut dense = vec![0; bytes];
    for (place, element) in places.chunks(width).zip(own.chunks(dtype.bytes())) {
        let flat = match rank {
            1 => place[0],
            _ => place.iter().zip(&shape).fold(0, |flat: i64, (at, extent)| flat * *extent as i64 + at),
        };
        let inside = rank == 1 || place.iter().zip(&shape).all(|(at, extent)| (0..*extent as i64).contains(at));
        let slot = usize::try_from(flat).ok().filter(|_| inside).and_then(|at| {
            let first = at.checked_mul(dtype.bytes())?;
            dense.get_mut(first..first.checked_add(dtype.bytes())?)
        });
        slot.ok_or_else(|| failed(format!("position {place:?} is outside of {shape:?}")))?.copy_from_slice(element);
    }
    Ok(Value::constant(&dense, dtype, &shape)?)
}

/// The most bytes of a sparse tensor, once it is dense.
const MOST_DENSE: usize = 1 << 30;

/// A single number in a type.
pub(crate) fn number(value: f64, dtype: DType) -> svod_tensor::Result<Tensor> {
    Tensor::constant(Const::f64(dtype, value))
}
