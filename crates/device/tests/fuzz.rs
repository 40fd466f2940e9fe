//! Safetensors files, fuzzed: see `mutate.rs`.
#![allow(clippy::unwrap_used)]

#[path = "../../ir/tests/support/mutate.rs"]
mod mutate;

use std::path::PathBuf;

use mutate::{fuzz_bytes, fuzz_text};
use svod_device::safetensors::Safetensors;

/// A file that is written anew for each input, and goes away with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("svod-fuzz-{}-{name}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const DATA: usize = 24;

const HEADERS: [&str; 3] = [
    r#"{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"b":{"dtype":"I64","shape":[],"data_offsets":[16,24]}}"#,
    r#"{"__metadata__":{"format":"pt"},"x":{"dtype":"BF16","shape":[3,0,4],"data_offsets":[0,0]},"y":{"dtype":"U8","shape":[24],"data_offsets":[0,24]}}"#,
    r#"{"t":{"dtype":"F8_E4M3","shape":[2,3,4],"data_offsets":[0,24]}}"#,
];

fn with_header(header: &str) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &[1; DATA]].concat()
}

/// Refused, or tensors whose bytes are the file's data, each once.
fn check(scratch: &Scratch, content: &[u8]) {
    std::fs::write(&scratch.0, content).unwrap();
    let Ok(tensors) = Safetensors::open(&scratch.0) else { return };
    let mut bytes = 8 + u64::from_le_bytes(content[..8].try_into().unwrap()) as usize;
    for (_, tensor) in tensors.iter() {
        let count: usize = tensor.shape.iter().product();
        assert_eq!(tensor.buffer.to_vec().unwrap().len(), count * tensor.dtype.bytes());
        bytes += tensor.buffer.bytes();
    }
    assert_eq!(bytes, content.len());
}

#[test]
fn headers() {
    let scratch = Scratch::new("headers");
    fuzz_text("safetensors header", &HEADERS.map(str::to_owned), |header| check(&scratch, &with_header(header)));
}

#[test]
fn files() {
    let scratch = Scratch::new("files");
    fuzz_bytes("safetensors file", &HEADERS.map(with_header), |bytes| check(&scratch, bytes));
}
