//! Leaves over host memory, and the value of a graph over them.
#![allow(dead_code, clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use svod_dtype::{Const, DType};
use svod_ir::buffer::HostBuffer;
use svod_ir::graph::interp::{Value, evaluate};
use svod_ir::graph::{Device, Graph, Leaf, LeafClass, LeafData, Shape, UOp};
use svod_ir::size::{BoundVariable, Size};

/// Host memory as a leaf.
#[derive(Debug)]
pub struct Memory {
    pub id: u64,
    pub class: LeafClass,
    pub device: Device,
    pub data: HostBuffer,
}

impl LeafData for Memory {
    fn storage_id(&self) -> u64 {
        self.id
    }
    fn version(&self) -> u64 {
        0
    }
    fn class(&self) -> LeafClass {
        self.class
    }
    fn device(&self) -> Device {
        self.device.clone()
    }
    fn alignment(&self) -> u64 {
        64
    }
}

/// A shape of numbers.
pub fn shape(extents: &[i64]) -> Shape {
    extents.iter().map(|&n| Size::from(n)).collect()
}

/// New storage that holds `data`.
pub fn memory(data: HostBuffer) -> Memory {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    Memory { id, class: LeafClass::Data, device: Device::new("CPU"), data }
}

/// A leaf over new storage.
pub fn leaf(data: HostBuffer, extents: &[i64]) -> UOp {
    let dtype = data.dtype();
    UOp::leaf(Leaf::new(Arc::new(memory(data)), 0, dtype, shape(extents))).unwrap()
}

/// An `f32` leaf of the numbers 0, 1, 2 ….
pub fn numbers(extents: &[i64]) -> UOp {
    let count = extents.iter().product::<i64>();
    leaf(HostBuffer::from_i64(DType::F32, 0..count), extents)
}

/// The value of one node.
pub fn value(node: &UOp, bindings: &[BoundVariable]) -> Value {
    let memory = |leaf: &Leaf| leaf.downcast::<Memory>().map(|m| m.data.clone());
    evaluate(&Graph::new(std::slice::from_ref(node)), &memory, bindings).unwrap().remove(0)
}

/// Whether two values are equal, bit for bit but for the payload of a NaN.
pub fn same(a: &Value, b: &Value) -> bool {
    let equal = |(x, y): (Const, Const)| x == y || (x.dtype() == y.dtype() && x.is_nan() && y.is_nan());
    a.shape == b.shape && a.data.len() == b.data.len() && a.data.iter().zip(b.data.iter()).all(equal)
}
