//! Reading and checking a header.

use std::collections::BTreeMap;

use serde_json::Value;
use svod_dtype::DType;

use super::SafetensorsErrorKind as Kind;

/// A checked header: every range lies in the data and fits its type and shape, and together they
/// cover the data once.
pub(super) struct Header {
    pub tensors: BTreeMap<String, Entry>,
    pub metadata: BTreeMap<String, String>,
}

/// A tensor's type, shape and bytes, counted from the start of the data.
pub(super) struct Entry {
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub begin: usize,
    pub end: usize,
}

/// Reads a header, of a file with `data` bytes after it.
pub(super) fn parse(text: &[u8], data: u64) -> Result<Header, Kind> {
    let text = std::str::from_utf8(text).map_err(|e| Kind::Header(e.to_string()))?;
    if !text.starts_with('{') {
        return Err(Kind::Header("it does not start with '{'".into()));
    }
    let object: Object = serde_json::from_str(text).map_err(|e| Kind::Header(e.to_string()))?;
    let mut header = Header { tensors: BTreeMap::new(), metadata: BTreeMap::new() };
    let mut noted = false;
    for (name, value) in object.0 {
        if name == "__metadata__" {
            if std::mem::replace(&mut noted, true) {
                return Err(Kind::Duplicate(name));
            }
            let notes: Result<BTreeMap<String, String>, _> = serde_json::from_value(value);
            header.metadata = notes.map_err(|e| Kind::Entry { name, reason: e.to_string() })?;
            continue;
        }
        if header.tensors.contains_key(&name) {
            return Err(Kind::Duplicate(name));
        }
        let entry = entry(&name, value, data)?;
        header.tensors.insert(name, entry);
    }
    check_cover(&header.tensors, data)?;
    Ok(header)
}

/// The members of a JSON object as they come: a map would drop all but one of equal names.
struct Object(Vec<(String, Value)>);

impl<'de> serde::Deserialize<'de> for Object {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> serde::de::Visitor<'de> for Members {
            type Value = Object;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

fn entry(name: &str, value: Value, data: u64) -> Result<Entry, Kind> {
    let wrong = |reason: String| Kind::Entry { name: name.into(), reason };
    let Value::Object(mut fields) = value else {
        return Err(wrong(format!("expected an object, not {value}")));
    };
    let mut field = |key: &str| fields.remove(key).ok_or_else(|| wrong(format!("it has no '{key}'")));
    let (dtype, shape, offsets) = (field("dtype")?, field("shape")?, field("data_offsets")?);
    if let Some(key) = fields.keys().next() {
        return Err(wrong(format!("unknown key '{key}'; expected dtype, shape and data_offsets")));
    }
    let Value::String(dtype) = dtype else {
        return Err(wrong(format!("dtype is {dtype}; expected a string")));
    };
    let shape = counts(&shape).ok_or_else(|| wrong(format!("shape is {shape}; expected a list of counts")))?;
    let offsets = counts(&offsets)
        .and_then(|list| <[u64; 2]>::try_from(list).ok())
        .ok_or_else(|| wrong(format!("data_offsets are {offsets}; expected two counts")))?;

    let dtype = dtype_of(&dtype).ok_or_else(|| Kind::UnknownDType { name: name.into(), dtype: dtype.clone() })?;
    let [begin, end] = offsets;
    if begin > end || end > data {
        return Err(Kind::Offsets { name: name.into(), begin, end, data });
    }
    let too_large = || Kind::TooLarge { name: name.into(), shape: shape.clone(), dtype };
    let element = dtype.bytes() as u64;
    let expected = shape.iter().try_fold(element, |n, extent| n.checked_mul(*extent));
    // An extent of 0 hides the overflow of the others, whose product strides are made of.
    let nonzero = shape.iter().filter(|e| **e > 0).try_fold(element, |n, e| n.checked_mul(*e));
    let expected = expected.filter(|_| nonzero.is_some_and(|n| i64::try_from(n).is_ok()));
    let expected = expected.ok_or_else(too_large)?;
    let extents: Vec<usize> =
        shape.iter().map(|e| usize::try_from(*e)).collect::<Result<_, _>>().map_err(|_| too_large())?;
    if expected != end - begin {
        let (name, given) = (name.into(), end - begin);
        return Err(Kind::Size { name, shape: extents, dtype, expected, given });
    }
    match (usize::try_from(begin), usize::try_from(end)) {
        (Ok(begin), Ok(end)) => Ok(Entry { dtype, shape: extents, begin, end }),
        _ => Err(too_large()),
    }
}

fn counts(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}

fn dtype_of(name: &str) -> Option<DType> {
    Some(match name {
        "BOOL" => DType::Bool,
        "I8" => DType::I8,
        "I16" => DType::I16,
        "I32" => DType::I32,
        "I64" => DType::I64,
        "U8" => DType::U8,
        "U16" => DType::U16,
        "U32" => DType::U32,
        "U64" => DType::U64,
        "F16" => DType::F16,
        "BF16" => DType::BF16,
        "F32" => DType::F32,
        "F64" => DType::F64,
        "C64" => DType::C64,
        "F8_E4M3" => DType::F8E4M3,
        "F8_E5M2" => DType::F8E5M2,
        _ => return None,
    })
}

/// Checks that the ranges cover the data, in some order, each byte once.
fn check_cover(tensors: &BTreeMap<String, Entry>, data: u64) -> Result<(), Kind> {
    let mut ranges: Vec<_> = tensors.iter().map(|(name, e)| (e.begin as u64, e.end as u64, name)).collect();
    ranges.sort_unstable();
    let mut covered = 0;
    for (begin, end, name) in ranges {
        if begin < covered {
            return Err(Kind::Overlap { name: name.clone(), begin, end: covered });
        }
        if begin > covered {
            return Err(Kind::Hole { begin: covered, end: begin });
        }
        covered = end;
    }
    match covered == data {
        true => Ok(()),
        false => Err(Kind::Hole { begin: covered, end: data }),
    }
}
