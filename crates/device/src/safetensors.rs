//! Files of named tensors in the safetensors format.
//!
//! The format is 8 bytes with the length of the header, little endian; the header, a JSON object
//! that gives each name its type, shape and range of bytes; and the data, which the ranges cover
//! with no overlap and no hole. A file is mapped, checked in full before anything is read, and each
//! tensor is a view of it that costs nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use svod_dtype::DType;

use crate::allocator::Allocator;
use crate::buffer::Buffer;
use crate::disk::DiskAllocator;
use crate::error::{DeviceError, Result};
use crate::storage::Storage;

mod header;

/// An open file; clones of its tensors keep the mapping alive.
#[derive(Debug)]
pub struct Safetensors {
    path: String,
    tensors: BTreeMap<String, TensorView>,
    metadata: BTreeMap<String, String>,
}

/// A tensor in a file.
#[derive(Clone, Debug)]
pub struct TensorView {
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<usize>,
    /// The bytes in the file: elements of `dtype`, or `U8` where the file does not align them.
    pub buffer: Arc<Buffer>,
}

/// A file that is not safetensors, or lacks something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {kind}")]
pub struct SafetensorsError {
    /// The file.
    pub path: String,
    /// What is wrong with it.
    pub kind: SafetensorsErrorKind,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SafetensorsErrorKind {
    /// No room for the header's length.
    #[error("a safetensors file starts with the 8 bytes of its header's length, but this one has {0} bytes")]
    TooShort(usize),
    /// A header that is not in the file.
    #[error("the header should have {header} bytes, but only {available} follow its length")]
    HeaderLength {
        /// What the file says.
        header: u64,
        /// What there is.
        available: usize,
    },
    /// A header beyond the format's limit.
    #[error("the header should have {0} bytes, more than the {MAX_HEADER} of the format")]
    HeaderTooLarge(u64),
    /// A header that is not a JSON object of the right form.
    #[error("the header is not valid: {0}")]
    Header(String),
    /// Two tensors of one name.
    #[error("the header names '{0}' twice")]
    Duplicate(String),
    /// A tensor whose entry has not the right form.
    #[error("tensor '{name}': {reason}")]
    Entry {
        /// The tensor.
        name: String,
        /// What was given and what is expected.
        reason: String,
    },
    /// A type that svod does not have.
    #[error("tensor '{name}' has dtype '{dtype}'; expected one of {KNOWN_DTYPES}")]
    UnknownDType {
        /// The tensor.
        name: String,
        /// Its type.
        dtype: String,
    },
    /// A range that runs backwards or beyond the data.
    #[error("tensor '{name}' has data offsets [{begin}, {end}], but the data has {data} bytes")]
    Offsets {
        /// The tensor.
        name: String,
        /// Its first byte.
        begin: u64,
        /// The byte after its last.
        end: u64,
        /// Size of the data.
        data: u64,
    },
    /// A shape whose number of bytes overflows.
    #[error("tensor '{name}' of shape {shape:?} and dtype {dtype} is too large")]
    TooLarge {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<u64>,
        /// Its type.
        dtype: DType,
    },
    /// A range that does not fit type and shape.
    #[error(
        "tensor '{name}' of shape {shape:?} and dtype {dtype} needs {expected} bytes, but its data offsets hold {given}"
    )]
    Size {
        /// The tensor.
        name: String,
        /// Its shape.
        shape: Vec<usize>,
        /// Its type.
        dtype: DType,
        /// What type and shape need.
        expected: u64,
        /// What the range holds.
        given: u64,
    },
    /// A tensor that shares bytes with another one.
    #[error("tensor '{name}' starts at byte {begin} of the data, inside the tensor that ends at {end}")]
    Overlap {
        /// The later tensor.
        name: String,
        /// Its first byte.
        begin: u64,
        /// Where the earlier one ends.
        end: u64,
    },
    /// Bytes that belong to no tensor.
    #[error("bytes {begin} to {end} of the data belong to no tensor")]
    Hole {
        /// The first of them.
        begin: u64,
        /// The byte after the last.
        end: u64,
    },
    /// A name that the file does not have.
    #[error("there is no tensor '{name}'{}", similar(.names))]
    MissingTensor {
        /// The name asked for.
        name: String,
        /// Some of the names there are.
        names: Vec<String>,
    },
}

/// The largest header that the format allows.
pub const MAX_HEADER: u64 = 100_000_000;

const KNOWN_DTYPES: &str = "BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, C64, F8_E4M3, F8_E5M2";

impl Safetensors {
    /// Maps a file and checks its header.
    pub fn open(path: impl AsRef<Path>) -> Result<Safetensors> {
        let path = path.as_ref();
        let disk = DiskAllocator::open(path)?;
        let file_bytes = disk.bytes();
        let allocator: Arc<dyn Allocator> = Arc::new(disk);
        let storage = Storage::new(&allocator, file_bytes);
        let path = path.display().to_string();
        let error = |kind| SafetensorsError { path: path.clone(), kind };

        let data_start = |length: u64| {
            let available = file_bytes - 8;
            match usize::try_from(length) {
                _ if length > MAX_HEADER => Err(SafetensorsErrorKind::HeaderTooLarge(length)),
                Ok(header) if header <= available => Ok(8 + header),
                _ => Err(SafetensorsErrorKind::HeaderLength { header: length, available }),
            }
        };
        if file_bytes < 8 {
            return Err(error(SafetensorsErrorKind::TooShort(file_bytes)).into());
        }
        let mut length = [0; 8];
        storage.read(0, &mut length)?;
        let start = data_start(u64::from_le_bytes(length)).map_err(error)?;
        let text = Buffer::over(storage.clone(), 8, DType::U8, start - 8)?.to_vec()?;
        let header = header::parse(&text, (file_bytes - start) as u64).map_err(error)?;

        let view = |entry: header::Entry| -> Result<TensorView> {
            let (offset, bytes) = (start + entry.begin, entry.end - entry.begin);
            let count = bytes / entry.dtype.bytes();
            let buffer = match Buffer::over(storage.clone(), offset, entry.dtype, count) {
                Err(DeviceError::Misaligned { .. }) => Buffer::over(storage.clone(), offset, DType::U8, bytes)?,
                other => other?,
            };
            Ok(TensorView { dtype: entry.dtype, shape: entry.shape, buffer: Arc::new(buffer) })
        };
        let tensors = header.tensors.into_iter().map(|(name, entry)| Ok((name, view(entry)?)));
        let tensors = tensors.collect::<Result<_>>()?;
        Ok(Safetensors { path, tensors, metadata: header.metadata })
    }

    /// A tensor by name.
    pub fn get(&self, name: &str) -> Result<&TensorView> {
        self.tensors.get(name).ok_or_else(|| {
            let kind = SafetensorsErrorKind::MissingTensor {
                name: name.into(),
                names: self.tensors.keys().take(NAMES_SHOWN).cloned().collect(),
            };
            SafetensorsError { path: self.path.clone(), kind }.into()
        })
    }

    /// All tensors, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &TensorView)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// Number of tensors.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// The file's own notes.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }
}

impl TensorView {
    /// Whether the elements are where their type may be loaded from.
    pub fn is_aligned(&self) -> bool {
        self.buffer.dtype() == self.dtype
    }

    /// The elements in a device's memory: the file's own pages where the device can read them,
    /// else a copy.
    pub fn to_device(&self, allocator: &Arc<dyn Allocator>) -> Result<Buffer> {
        if self.is_aligned()
            && let Some(borrowed) = self.buffer.borrow_on(allocator)?
        {
            return Ok(borrowed);
        }
        let copy = Buffer::new(allocator, self.dtype, self.buffer.bytes() / self.dtype.bytes())?;
        copy.copy_from(&self.buffer)?;
        self.buffer.evict();
        Ok(copy)
    }
}

const NAMES_SHOWN: usize = 8;

fn similar(names: &[String]) -> String {
    match names {
        [] => "; the file has no tensors".into(),
        _ => format!("; the file has {}{}", names.join(", "), if names.len() == NAMES_SHOWN { ", …" } else { "" }),
    }
}
