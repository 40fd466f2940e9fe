//! What the text of a graph names but does not tell: memory, and functions of the host.

use super::host::{HostCall, HostFunction};
use super::leaf::{Device, Leaf, LeafClass, LeafData};
use super::op::{Shape, ShowShape};
use crate::size::Size;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use svod_dtype::DType;

/// What the text says of a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafText {
    /// Its place among the leaves, from 0.
    pub number: usize,
    /// What may be assumed of the memory.
    pub class: LeafClass,
    /// The number of its storage.
    pub storage: usize,
    /// First byte.
    pub offset: u64,
    /// Where it is.
    pub device: Device,
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Shape,
}

/// What the text says of a call of a function of the host.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostText {
    /// The function's name, see [`super::Graph::functions`].
    pub name: String,
    /// Types and shapes of what it is called with.
    pub operands: Vec<(DType, Shape)>,
    /// Types and shapes of what it gives.
    pub results: Vec<(DType, Shape)>,
}

/// Gives what a text names, or says why there is none.
pub trait Known {
    /// The memory of a leaf.
    fn leaf(&mut self, text: &LeafText) -> Result<Leaf, String>;

    /// The function of a call.
    fn function(&mut self, text: &HostText) -> Result<Arc<dyn HostFunction>, String>;
}

/// Leaves without memory and functions that do nothing: the graph can be printed, rewritten and scheduled,
/// but not run.
#[derive(Default)]
pub struct Declared {
    storages: FxHashMap<usize, Arc<dyn LeafData>>,
    /// By name and results.
    functions: FxHashMap<HostText, Arc<dyn HostFunction>>,
}

impl Known for Declared {
    fn leaf(&mut self, text: &LeafText) -> Result<Leaf, String> {
        let fresh = || -> Arc<dyn LeafData> { Arc::new(NoMemory::new(text.class, text.device.clone())) };
        let data = self.storages.entry(text.storage).or_insert_with(fresh).clone();
        if (data.class(), data.device()) != (text.class, text.device.clone()) {
            return Err(format!("storage {} is of another class or on another device", text.storage));
        }
        Ok(Leaf::new(data, text.offset, text.dtype, text.shape.clone()))
    }

    fn function(&mut self, text: &HostText) -> Result<Arc<dyn HostFunction>, String> {
        let HostText { name, results, .. } = text.clone();
        let fresh =
            || -> Arc<dyn HostFunction> { Arc::new(NoFunction { name: name.clone(), results: results.clone() }) };
        let key = HostText { operands: Vec::new(), ..text.clone() };
        Ok(self.functions.entry(key).or_insert_with(fresh).clone())
    }
}

/// These leaves, in the order of the text, and these functions, by name.
#[derive(Default)]
pub struct Given<'a> {
    /// The leaves.
    pub leaves: &'a [Leaf],
    /// The functions, such as [`super::Graph::functions`] gives.
    pub functions: &'a [(String, HostCall)],
}

impl Known for Given<'_> {
    fn leaf(&mut self, text: &LeafText) -> Result<Leaf, String> {
        let Some(leaf) = self.leaves.get(text.number) else {
            return Err(format!("there are only {} leaves", self.leaves.len()));
        };
        if (leaf.dtype(), leaf.shape()) != (text.dtype, &text.shape) {
            let (is, stated) = (ShowShape(leaf.shape()), ShowShape(&text.shape));
            let (dtype, expected) = (leaf.dtype().short(), text.dtype.short());
            return Err(format!("leaf {} is {dtype}{is}, not {expected}{stated}", text.number));
        }
        Ok(leaf.clone())
    }

    fn function(&mut self, text: &HostText) -> Result<Arc<dyn HostFunction>, String> {
        let found = self.functions.iter().find(|(name, _)| *name == text.name);
        let Some((_, call)) = found else { return Err(format!("no function is named '{}'", text.name)) };
        Ok(call.function().clone())
    }
}

/// A leaf of its own without memory.
pub(super) fn declared_leaf(class: LeafClass, device: Device, dtype: DType, shape: Shape) -> Leaf {
    Leaf::new(Arc::new(NoMemory::new(class, device)), 0, dtype, shape)
}

/// A storage that is only declared.
#[derive(Debug)]
struct NoMemory {
    id: u64,
    class: LeafClass,
    device: Device,
}

impl NoMemory {
    fn new(class: LeafClass, device: Device) -> NoMemory {
        // Storages that exist count up from 0, these down from the greatest number.
        static NEXT: AtomicU64 = AtomicU64::new(u64::MAX);
        NoMemory { id: NEXT.fetch_sub(1, Ordering::Relaxed), class, device }
    }
}

impl LeafData for NoMemory {
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

/// A function that is only declared.
struct NoFunction {
    name: String,
    results: Vec<(DType, Shape)>,
}

impl HostFunction for NoFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn infer(&self, _: &[(DType, &[Size])]) -> Result<Vec<(DType, Shape)>, String> {
        Ok(self.results.clone())
    }
}
