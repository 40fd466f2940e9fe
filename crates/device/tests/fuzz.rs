//! Safetensors files and device names, fuzzed: see `mutate.rs`.
#![allow(clippy::unwrap_used)]

#[path = "../../ir/tests/support/mutate.rs"]
mod mutate;

use mutate::{fuzz_bytes, fuzz_text, mutated_text, reads_back};
use svod_device::DeviceSpec;
use svod_device::safetensors::Safetensors;

const HEADERS: &[&str] = &[
    r#"{"t":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}"#,
    r#"{"b":{"dtype":"I64","shape":[],"data_offsets":[8,16]},"__metadata__":{"format":"pt"},
        "a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"e":{"dtype":"F16","shape":[0,4],"data_offsets":[8,8]}}"#,
    r#"{"__metadata__":{"a":"b","c":"d"}}"#,
    r#"{"x.weight":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]},"m":{"dtype":"BOOL","shape":[2],"data_offsets":[6,8]},
        "l":{"dtype":"I64","shape":[1,1,1],"data_offsets":[8,16]}}"#,
];

/// A file of a header and 16 bytes.
fn with_header(header: &str) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[7; 16]].concat()
}

/// Opens a file of these bytes, and looks at all that it holds.
fn open(path: &std::path::Path, bytes: &[u8]) {
    std::fs::write(path, bytes).unwrap();
    if let Ok(file) = Safetensors::open(path) {
        for (name, tensor) in file.iter() {
            assert!(!format!("{name} {:?} {:?}", tensor.shape, tensor.dtype).is_empty());
        }
    }
}

#[test]
fn files() {
    let path = std::env::temp_dir().join(format!("svod-fuzz-{}", std::process::id()));
    let files: Vec<Vec<u8>> = HEADERS.iter().map(|header| with_header(header)).collect();
    fuzz_bytes("safetensors file", &files, |bytes| open(&path, bytes));
    let headers: Vec<String> = HEADERS.iter().map(|header| (*header).to_owned()).collect();
    fuzz_text("safetensors header", &headers, |header| open(&path, &with_header(header)));
    std::fs::remove_file(&path).unwrap();
    // The generator makes texts of them that are other ones.
    let mutant = mutated_text(&mut mutate::Rng::new(3), &headers);
    assert!(!headers.contains(&mutant));
}

#[test]
fn device_names() {
    let names: Vec<String> = ["CPU", "CPU:1", "CPU:17", "DISK:/tmp/x.bin", "cpu:0"].map(str::to_owned).into();
    fuzz_text("device", &names, |text| {
        if let Ok(device) = text.parse::<DeviceSpec>() {
            reads_back(&device, str::parse::<DeviceSpec>);
        }
    });
}
