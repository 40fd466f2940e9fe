//! How DLPack lays out a tensor and what a capsule has in it.

use std::ffi::{CStr, c_int, c_void};

use svod_dtype::DType;

/// DLPack's numbers of devices.
pub const CPU: i32 = 1;
pub const CUDA: i32 = 2;

/// DLPack's codes of types, by number of bits.
pub const TYPES: [(u8, u8, DType); 17] = [
    (0, 8, DType::I8),
    (0, 16, DType::I16),
    (0, 32, DType::I32),
    (0, 64, DType::I64),
    (1, 8, DType::U8),
    (1, 16, DType::U16),
    (1, 32, DType::U32),
    (1, 64, DType::U64),
    (2, 16, DType::F16),
    (2, 32, DType::F32),
    (2, 64, DType::F64),
    (4, 16, DType::BF16),
    (5, 64, DType::C64),
    (5, 128, DType::C128),
    (6, 8, DType::Bool),
    (10, 8, DType::F8E4M3),
    (12, 8, DType::F8E5M2),
];

#[repr(C)]
pub struct DlTensor {
    pub data: *mut c_void,
    pub device: c_int,
    pub number: c_int,
    pub rank: c_int,
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
    pub shape: *mut i64,
    /// In elements; none for row-major order.
    pub strides: *mut i64,
    pub offset: u64,
}

/// A tensor with its owner, of DLPack before version 1.
#[repr(C)]
pub struct Managed {
    pub tensor: DlTensor,
    pub owner: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// The same from version 1 on.
#[repr(C)]
pub struct Versioned {
    /// Major and minor number.
    pub version: [u32; 2],
    pub owner: *mut c_void,
    pub deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    pub flags: u64,
    pub tensor: DlTensor,
}

/// The version that is known here: a tensor of another major one lies otherwise.
pub const MAJOR: u32 = 1;
pub const READ_ONLY: u64 = 1;
pub const COPIED: u64 = 2;

/// The names of a capsule, before and after somebody took what is in it.
pub const NAMES: (&CStr, &CStr) = (c"dltensor", c"used_dltensor");
pub const VERSIONED_NAMES: (&CStr, &CStr) = (c"dltensor_versioned", c"used_dltensor_versioned");

/// The type of a tensor's elements, if a tensor of svod's may have them.
pub fn type_of(tensor: &DlTensor) -> Option<DType> {
    let row = TYPES.iter().find(|row| (row.0, row.1) == (tensor.code, tensor.bits))?;
    (tensor.lanes == 1).then_some(row.2)
}
