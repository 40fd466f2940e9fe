//! What the tests share: values by the reference interpreter, and by compiled code.
#![allow(dead_code, clippy::unwrap_used)]

use svod_ir::buffer::HostBuffer;
use svod_ir::graph::interp::evaluate;
use svod_ir::graph::{Graph, Leaf};
use svod_tensor::{DType, Element, Tensor, UOp};

/// A tensor of these numbers.
pub fn t(values: &[f32], shape: &[usize]) -> Tensor {
    Tensor::from_slice(values, shape).unwrap()
}

/// A tensor of these integers.
pub fn i(values: &[i64], shape: &[usize]) -> Tensor {
    Tensor::from_slice(values, shape).unwrap()
}

/// The numbers 0, 1, 2 … in a shape.
pub fn iota(shape: &[usize]) -> Tensor {
    let n: usize = shape.iter().product();
    t(&(0..n).map(|i| i as f32).collect::<Vec<_>>(), shape)
}

fn memory(leaf: &Leaf) -> Option<HostBuffer> {
    let shape: Vec<usize> = leaf.shape().iter().map(|s| s.as_usize().unwrap()).collect();
    let node = UOp::leaf(leaf.clone()).unwrap();
    let bytes = Tensor::from_uop(node).to_bytes().ok()?;
    assert_eq!(bytes.len(), shape.iter().product::<usize>() * leaf.dtype().bytes());
    HostBuffer::from_bytes(leaf.dtype(), bytes)
}

/// The value by the reference interpreter.
pub fn interpreted(tensor: &Tensor) -> HostBuffer {
    let graph = Graph::new(&[tensor.uop()]);
    let value = evaluate(&graph, &memory, &[]).unwrap().pop().unwrap();
    assert_eq!(value.shape, tensor.dims().unwrap());
    value.data
}

/// The numbers of a tensor.
#[track_caller]
pub fn values(tensor: Result<Tensor, svod_tensor::TensorError>) -> Vec<f64> {
    let tensor = tensor.unwrap();
    interpreted(&tensor).to_f64()
}

/// Checks shape and elements, interpreted and compiled.
#[track_caller]
pub fn check(tensor: Result<Tensor, svod_tensor::TensorError>, shape: &[usize], expected: &[f64]) {
    let tensor = tensor.unwrap();
    assert_eq!(tensor.dims().unwrap(), shape);
    close(&interpreted(&tensor).to_f64(), expected);
    close(&compiled(&tensor).to_f64(), expected);
}

/// The value by compiled code. The handle stays as it is.
pub fn compiled(tensor: &Tensor) -> HostBuffer {
    let other = Tensor::from_uop(tensor.uop());
    HostBuffer::from_bytes(tensor.dtype(), other.to_bytes().unwrap()).unwrap()
}

/// Elements within 1e-6, relatively; NaN equals NaN, signs of zeros count.
#[track_caller]
pub fn close(given: &[f64], expected: &[f64]) {
    assert_eq!(given.len(), expected.len(), "{given:?} for {expected:?}");
    for (g, e) in given.iter().zip(expected) {
        let equal = g == e && (*e != 0.0 || g.is_sign_negative() == e.is_sign_negative());
        let near = *e != 0.0 && (g - e).abs() <= 1e-6 * e.abs().max(1e-6);
        assert!(equal || near || (g.is_nan() && e.is_nan()), "{given:?} for {expected:?}");
    }
}

/// The message of an error.
#[track_caller]
pub fn fails<T: std::fmt::Debug>(result: Result<T, svod_tensor::TensorError>) -> String {
    result.unwrap_err().to_string()
}

/// The elements, compared exactly.
pub fn exact<T: Element>(tensor: &Tensor) -> Vec<T> {
    assert_eq!(tensor.dtype(), T::DTYPE);
    interpreted(tensor).bytes().chunks_exact(T::DTYPE.bytes()).map(T::from_le).collect()
}

pub const F32: DType = DType::F32;
