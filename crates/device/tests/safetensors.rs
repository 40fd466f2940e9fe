//! Contract A11: memory-mapped files, and what a damaged safetensors file gets.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::*;
use svod_device::safetensors::{Safetensors, SafetensorsErrorKind as Kind};
use svod_device::*;
use svod_dtype::DType;

/// A file that goes away with the test.
struct TempFile(PathBuf);

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn file(content: &[u8]) -> TempFile {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("svod-device-{}-{number}", std::process::id()));
    std::fs::write(&path, content).unwrap();
    TempFile(path)
}

fn with_header(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

fn kind(content: &[u8]) -> Kind {
    match Safetensors::open(&file(content).0) {
        Err(DeviceError::Safetensors(error)) => error.kind,
        other => panic!("{other:?}"),
    }
}

/// The error of a file with one tensor, `dtype`, `shape` and `offsets` being JSON, and 8 bytes.
fn one(dtype: &str, shape: &str, offsets: &str) -> Kind {
    let entry = format!(r#"{{"t":{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}}}}}"#);
    kind(&with_header(&entry, &[0; 8]))
}

/// A header that ends at a multiple of 8 bytes, as writers pad it, and then `by` more.
fn padded(header: &str, by: usize) -> String {
    format!("{header}{}", " ".repeat(header.len().next_multiple_of(8) - header.len() + by))
}

const TWO: &str = r#"{"b":{"dtype":"I64","shape":[],"data_offsets":[8,16]},"__metadata__":{"format":"pt"},
    "a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"e":{"dtype":"F16","shape":[0,4],"data_offsets":[8,8]}}"#;

#[test]
fn a11_tensors_are_views_of_the_file() {
    let content: Vec<u8> = bytes(&[1.5, -2.0]).into_iter().chain(7i64.to_le_bytes()).collect();
    let temp = file(&with_header(&padded(TWO, 0), &content));
    let tensors = Safetensors::open(&temp.0).unwrap();
    assert_eq!(tensors.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b", "e"]);
    assert_eq!((tensors.len(), tensors.metadata()["format"].as_str()), (3, "pt"));

    let a = tensors.get("a").unwrap();
    assert_eq!((a.dtype, a.shape.as_slice(), a.is_aligned()), (DType::F32, &[2, 1][..], true));
    assert_eq!(a.buffer.device(), &DeviceSpec::Disk(temp.0.clone()));
    assert_eq!(a.buffer.storage_id(), tensors.get("b").unwrap().buffer.storage_id());
    assert!(matches!(a.buffer.copy_in(&[0; 8]), Err(DeviceError::ReadOnly { .. })));
    assert!(!a.buffer.storage().release());

    let b = tensors.get("b").unwrap();
    assert_eq!((b.shape.len(), b.buffer.to_vec().unwrap()), (0, 7i64.to_le_bytes().to_vec()));
    let e = tensors.get("e").unwrap();
    assert_eq!((e.shape.as_slice(), e.buffer.count()), (&[0, 4][..], 0));

    // The CPU reads the file's own pages; other devices get a copy. Both outlive the file's name.
    let (host, gpu): (_, Arc<dyn Allocator>) = (cpu(), hidden(0));
    let on_cpu = a.to_device(&host).unwrap();
    assert_eq!((on_cpu.as_ptr(), host.stats().live), (a.buffer.as_ptr(), 0));
    let on_gpu = a.to_device(&gpu).unwrap();
    drop((tensors, temp));
    assert_eq!(on_cpu.device(), &DeviceSpec::CPU);
    assert_eq!(on_cpu.to_vec().unwrap(), bytes(&[1.5, -2.0]));
    assert_eq!(on_gpu.to_vec().unwrap(), bytes(&[1.5, -2.0]));
}

#[test]
fn a11_tensors_that_the_file_does_not_align_are_copied() {
    let content: Vec<u8> = bytes(&[1.5, -2.0]).into_iter().chain(7i64.to_le_bytes()).collect();
    let temp = file(&with_header(&padded(TWO, 3), &content));
    let tensors = Safetensors::open(&temp.0).unwrap();
    let a = tensors.get("a").unwrap();
    assert_eq!((a.is_aligned(), a.dtype, a.buffer.dtype()), (false, DType::F32, DType::U8));
    let copy = a.to_device(&cpu()).unwrap();
    assert_eq!((copy.dtype(), copy.count(), copy.to_vec().unwrap()), (DType::F32, 2, bytes(&[1.5, -2.0])));
}

#[test]
fn a11_a_disk_device_is_a_file() {
    let temp = file(b"hello");
    let device = Devices::new().open(&format!("disk:{}", temp.0.display())).unwrap();
    let buffer = Buffer::new(device.allocator(), DType::U8, 5).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), b"hello");
    assert!(matches!(buffer.copy_from(&buffer), Err(DeviceError::ReadOnly { .. })));
    let longer = Buffer::new(device.allocator(), DType::U8, 6).unwrap();
    assert_eq!(longer.allocate().unwrap_err(), DeviceError::ViewOutOfRange { offset: 0, bytes: 6, base_bytes: 5 });
    assert!(matches!(device.primary(), Err(DeviceError::Unsupported { .. })));

    let empty = file(b"");
    let device = Devices::new().get(&DeviceSpec::Disk(empty.0.clone())).unwrap();
    assert!(Buffer::new(device.allocator(), DType::U8, 0).unwrap().to_vec().unwrap().is_empty());
}

#[test]
fn a11_a_file_without_tensors_is_fine() {
    assert!(Safetensors::open(&file(&with_header("{}", &[])).0).unwrap().is_empty());
}

#[test]
fn a11_a_missing_tensor_or_file_is_named() {
    let temp = file(&with_header(TWO, &[0; 16]));
    let error = Safetensors::open(&temp.0).unwrap().get("weight").unwrap_err().to_string();
    assert!(error.ends_with("there is no tensor 'weight'; the file has a, b, e"), "{error}");
    let error = Safetensors::open("/no/such/model.safetensors").unwrap_err();
    assert!(matches!(&error, DeviceError::Io { path, .. } if path == "/no/such/model.safetensors"), "{error}");
}

#[test]
fn a11_truncated_and_lying_headers_are_refused() {
    for length in 0..8 {
        assert_eq!(kind(&vec![0; length]), Kind::TooShort(length));
    }
    assert_eq!(kind(&3u64.to_le_bytes()), Kind::HeaderLength { header: 3, available: 0 });
    assert_eq!(kind(&u64::MAX.to_le_bytes()), Kind::HeaderTooLarge(u64::MAX));
    assert_eq!(kind(&[&99u64.to_le_bytes()[..], b"{}"].concat()), Kind::HeaderLength { header: 99, available: 2 });
    // Every truncation of a good file is an error, and none panics.
    let good = with_header(TWO, &[0; 16]);
    Safetensors::open(&file(&good).0).unwrap();
    for length in 0..good.len() {
        kind(&good[..length]);
    }
    for header in ["", " {}", "[]", "{", "{}}", "null", "{\"a\":1} x", "{\"a\":", "\u{0}"] {
        assert!(matches!(kind(&with_header(header, &[])), Kind::Header(_)), "{header}");
    }
    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    assert!(matches!(kind(&with_header(&deep, &[])), Kind::Header(_)));
    assert!(matches!(kind(&[&2u64.to_le_bytes()[..], b"{\xff"].concat()), Kind::Header(_)));
    assert!(matches!(kind(&with_header(r#"{"__metadata__":{"a":1}}"#, &[])), Kind::Entry { .. }));
}

#[test]
fn a11_wrong_entries_are_refused() {
    for (dtype, shape, offsets) in [
        ("7", "[2]", "[0,8]"),
        ("\"F32\"", "2", "[0,8]"),
        ("\"F32\"", "[-2]", "[0,8]"),
        ("\"F32\"", "[2.5]", "[0,8]"),
        ("\"F32\"", "[99999999999999999999]", "[0,8]"),
        ("\"F32\"", "[2]", "[0]"),
        ("\"F32\"", "[2]", "[0,4,8]"),
        ("\"F32\"", "[2]", "{}"),
        ("\"F32\"", "[2]", "[0,8],\"more\":1"),
    ] {
        assert!(matches!(one(dtype, shape, offsets), Kind::Entry { .. }), "{dtype} {shape} {offsets}");
    }
    assert!(matches!(kind(&with_header(r#"{"t":5}"#, &[])), Kind::Entry { .. }));
    assert!(matches!(kind(&with_header(r#"{"t":{"dtype":"F32"}}"#, &[])), Kind::Entry { .. }));
    assert_eq!(one("\"F128\"", "[2]", "[0,8]"), Kind::UnknownDType { name: "t".into(), dtype: "F128".into() });

    let entry = r#""t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}"#;
    assert_eq!(kind(&with_header(&format!("{{{entry},{entry}}}"), &[0; 8])), Kind::Duplicate("t".into()));
}

#[test]
fn a11_wrong_ranges_are_refused() {
    let offsets = |begin, end| Kind::Offsets { name: "t".into(), begin, end, data: 8 };
    assert_eq!(one("\"F32\"", "[2]", "[0,16]"), offsets(0, 16));
    assert_eq!(one("\"F32\"", "[2]", "[8,0]"), offsets(8, 0));
    assert_eq!(one("\"F32\"", "[2]", "[18446744073709551608,18446744073709551615]"), offsets(u64::MAX - 7, u64::MAX));
    let error = one("\"F32\"", "[3]", "[0,8]");
    assert_eq!(
        error.to_string(),
        "tensor 't' of shape [3] and dtype float32 needs 12 bytes, but its data offsets hold 8"
    );
    for shape in ["[4611686018427387904,4]", "[9223372036854775808,2]", "[0,9223372036854775807,9]"] {
        assert!(matches!(one("\"F32\"", shape, "[0,8]"), Kind::TooLarge { .. }), "{shape}");
    }
    assert_eq!(one("\"F32\"", "[1]", "[0,4]"), Kind::Hole { begin: 4, end: 8 });
    assert_eq!(one("\"F32\"", "[1]", "[4,8]"), Kind::Hole { begin: 0, end: 4 });
    let two = |a: &str, b: &str| {
        let entry = |name, offsets| format!(r#""{name}":{{"dtype":"U8","shape":[4],"data_offsets":{offsets}}}"#);
        kind(&with_header(&format!("{{{},{}}}", entry("a", a), entry("b", b)), &[0; 8]))
    };
    assert_eq!(two("[0,4]", "[3,7]"), Kind::Overlap { name: "b".into(), begin: 3, end: 4 });
    assert_eq!(two("[4,8]", "[4,8]"), Kind::Hole { begin: 0, end: 4 });
    assert_eq!(two("[0,4]", "[0,4]"), Kind::Overlap { name: "b".into(), begin: 0, end: 4 });
}

#[test]
fn a11_evicted_pages_are_read_from_the_file_again() {
    let content: Vec<u8> = (0..100_000u32).flat_map(u32::to_le_bytes).collect();
    let header = format!(r#"{{"t":{{"dtype":"U32","shape":[100000],"data_offsets":[0,{}]}}}}"#, content.len());
    // The elements start at a multiple of a vector's bytes.
    let padded = format!("{header:width$}", width = (header.len() + 8).next_multiple_of(64) - 8);
    let file = file(&with_header(&padded, &content));
    let tensors = Safetensors::open(&file.0).unwrap();
    let view = tensors.get("t").unwrap();
    let host = cpu();
    let mapped = view.to_device(&host).unwrap();
    assert!(mapped.storage().is_borrowed());
    for _ in 0..2 {
        assert!(mapped.to_vec().unwrap() == content);
        mapped.evict();
    }
    // Of memory that nothing else has, it does nothing.
    let copy = Buffer::from_bytes(&host, DType::U8, &content).unwrap();
    copy.evict();
    assert!(copy.to_vec().unwrap() == content);
}
