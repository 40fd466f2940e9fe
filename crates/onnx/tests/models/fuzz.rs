//! Model files, fuzzed: see `mutate.rs`.

#[path = "../../../ir/tests/support/mutate.rs"]
mod mutate;

use mutate::fuzz_bytes;
use prost::Message;
use svod_onnx::Model;

use super::support;

/// Refused, or a model with names for what it takes and gives.
fn check(content: &[u8]) {
    let Ok(model) = Model::from_bytes(content) else { return };
    assert!(model.inputs().iter().all(|port| !port.name.is_empty()));
}

#[test]
fn files() {
    fuzz_bytes("ONNX model", &support::models().map(|model| model.encode_to_vec()), check);
}
