//! ONNX's element types.

use svod_dtype::DType;

/// The numbers and names of ONNX's element types, with svod's own for those that it has.
const TYPES: &[(i32, &str, Option<DType>)] = &[
    (1, "float", Some(DType::F32)),
    (2, "uint8", Some(DType::U8)),
    (3, "int8", Some(DType::I8)),
    (4, "uint16", Some(DType::U16)),
    (5, "int16", Some(DType::I16)),
    (6, "int32", Some(DType::I32)),
    (7, "int64", Some(DType::I64)),
    (8, "string", None),
    (9, "bool", Some(DType::Bool)),
    (10, "float16", Some(DType::F16)),
    (11, "double", Some(DType::F64)),
    (12, "uint32", Some(DType::U32)),
    (13, "uint64", Some(DType::U64)),
    (14, "complex64", Some(DType::C64)),
    (15, "complex128", Some(DType::C128)),
    (16, "bfloat16", Some(DType::BF16)),
    (17, "float8e4m3fn", Some(DType::F8E4M3)),
    (18, "float8e4m3fnuz", None),
    (19, "float8e5m2", Some(DType::F8E5M2)),
    (20, "float8e5m2fnuz", None),
    (21, "uint4", None),
    (22, "int4", None),
    (23, "float4e2m1", None),
    (24, "float8e8m0", None),
    (25, "uint2", None),
    (26, "int2", None),
    (27, "float6e2m3", None),
    (28, "float6e3m2", None),
];

/// svod's type of a number; the message says which one svod does not have.
pub(crate) fn dtype(number: i64) -> Result<DType, String> {
    match TYPES.iter().find(|(n, ..)| i64::from(*n) == number) {
        Some((.., Some(dtype))) => Ok(*dtype),
        Some((_, name, None)) => Err(format!("elements of type {name} are not supported")),
        None => Err(format!("there is no element type {number}")),
    }
}

/// The number of an element type by ONNX's name.
pub(crate) fn number(name: &str) -> Option<i32> {
    TYPES.iter().find(|(_, own, _)| *own == name).map(|(number, ..)| *number)
}

/// ONNX's name of an element type.
pub(crate) fn name(number: i32) -> &'static str {
    TYPES.iter().find(|(own, ..)| *own == number).map_or("an unknown type", |(_, name, _)| name)
}

/// The number of svod's element type.
pub(crate) fn number_of(dtype: DType) -> Option<i32> {
    TYPES.iter().find(|(.., own)| *own == Some(dtype)).map(|(number, ..)| *number)
}
