//! Models are read, called, and refused; their files are fuzzed.
#![allow(clippy::unwrap_used)]

mod fuzz;
mod support;

use prost::Message;
use support::{model, models};
use svod_onnx::{Extent, Model, OnnxError};
use svod_tensor::Tensor;

#[test]
fn a_model_is_called_for_several_sizes() {
    let model = Model::from_bytes(model().encode_to_vec()).unwrap();
    assert_eq!(model.inputs()[0].shape, Some(vec![Extent::Named("rows".into()), Extent::Known(2)]));
    for rows in [4usize, 3, 1] {
        let x = Tensor::from_slice(&vec![2.0f32; rows * 2], &[rows, 2]).unwrap();
        let results = model.run(&[Some(x.into())]).unwrap();
        assert_eq!(results[0].tensor().unwrap().to_vec::<f32>().unwrap(), [2.0, 2.0, 0.0].repeat(rows));
    }
    assert_eq!(model.plans(), 1);
}

#[test]
fn errors_name_the_node() {
    let mut bad = model();
    bad.graph.as_mut().unwrap().node[0].input[1] = "y".into();
    let error = Model::from_bytes(bad.encode_to_vec()).unwrap_err();
    assert!(matches!(&error, OnnxError::Graph(message) if message.contains("node 0 (MatMul)")), "{error}");
}

#[test]
fn truncated_files_are_no_models() {
    let bytes = model().encode_to_vec();
    for end in 0..bytes.len() {
        assert!(Model::from_bytes(&bytes[..end]).is_err(), "the first {end} bytes");
    }
}

#[test]
fn branches_and_functions_are_computed() {
    let [_, branched, called] = models();
    for (model, expected) in [(branched, [4.0f32, 4.0, -8.0]), (called, [4.0, 4.0, -8.0])] {
        let model = Model::from_bytes(model.encode_to_vec()).unwrap();
        let x = Tensor::from_slice(&[2.0f32; 2], &[1, 2]).unwrap();
        assert_eq!(model.run(&[Some(x.into())]).unwrap()[0].tensor().unwrap().to_vec::<f32>().unwrap(), expected);
    }
}
