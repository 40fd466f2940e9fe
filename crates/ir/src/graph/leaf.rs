//! Leaves: the memory that a graph reads, by class.

use super::op::Shape;
use crate::size::BoundVariable;
use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use svod_dtype::DType;

/// A device by its name, such as `CPU` or `CUDA:1`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Device(Arc<str>);

impl Device {
    /// The device with this name. Whether there is one is not asked here.
    pub fn new(name: &str) -> Self {
        Device(name.into())
    }

    /// The CPU, where what is made of files is computed.
    pub fn host() -> Self {
        Device::new("CPU")
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Whether it is the host: a processor, whose caches hold what a task computes row by row, or a file.
    pub fn is_host(&self) -> bool {
        ["CPU", "DISK"].iter().any(|host| self.0.starts_with(host))
    }

    /// Whether what is computed on a device is computed by the host: also what is on none.
    pub fn computes_on_host(device: Option<&Device>) -> bool {
        device.is_none_or(Device::is_host)
    }

    /// Whether it is a file, in which nothing is computed.
    pub fn is_file(&self) -> bool {
        self.0.starts_with("DISK:")
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What may be assumed of a leaf's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LeafClass {
    /// Memory that svod owns, immutable at the leaf's version.
    Data,
    /// Numbers of the host that a program gives where a value is expected, such as the positions of an index:
    /// immutable, and on no device, as a constant is.
    Literal,
    /// A caller's memory taken without a copy: it may change at any time, so nothing computed
    /// from it may be remembered.
    Borrowed,
    /// Pages of a file, which are only read. Nothing is to write the file while it is in use, so that what is computed
    /// from it may be remembered; but svod cannot keep it from being written, and a value of its own is a copy.
    File,
    /// What a plan or a jitted function is given anew at each run: its `n`-th input.
    Input(u32),
    /// The output of a plan, rewritten by each of its runs. Only handles that follow the plan have it: what is built
    /// from them reads the memory of one run, which is `Data`, or what is `Awaited`.
    Output,
    /// What the next run of a plan will write. It is no memory yet: the run forces it.
    Awaited,
}

impl LeafClass {
    /// Whether the memory is not to change as long as anything reads it.
    pub fn is_constant(self) -> bool {
        matches!(self, LeafClass::Data | LeafClass::Literal | LeafClass::File)
    }

    /// Whether the memory is svod's own and never changes: who has it has a value.
    pub fn is_value(self) -> bool {
        matches!(self, LeafClass::Data | LeafClass::Literal)
    }
}

impl fmt::Display for LeafClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeafClass::Data => f.write_str("data"),
            LeafClass::Literal => f.write_str("literal"),
            LeafClass::Borrowed => f.write_str("borrowed"),
            LeafClass::File => f.write_str("file"),
            LeafClass::Input(slot) => write!(f, "input{slot}"),
            LeafClass::Output => f.write_str("output"),
            LeafClass::Awaited => f.write_str("awaited"),
        }
    }
}

/// The memory behind a leaf. The graph needs only its identity; whoever runs the graph gets the
/// rest by downcasting (`&dyn LeafData` coerces to `&dyn Any`).
pub trait LeafData: Any + Send + Sync + fmt::Debug {
    /// Identifies the storage; never used again for another one.
    fn storage_id(&self) -> u64;
    /// Number of writes so far.
    fn version(&self) -> u64;
    /// What may be assumed of the memory.
    fn class(&self) -> LeafClass;
    /// Where the memory is.
    fn device(&self) -> Device;
    /// Alignment of the storage's first byte.
    fn alignment(&self) -> u64;
    /// The number of the trace whose placeholder this is, larger for later ones; 0 of all other memory.
    fn trace(&self) -> u64 {
        0
    }
    /// The values of the shape's variables at which the elements lie in memory; none where all
    /// extents are numbers.
    fn bindings(&self) -> Vec<BoundVariable> {
        Vec::new()
    }
}

/// Elements of one storage, dense and row-major from a byte offset.
///
/// Storage, version and class are those at construction: two leaves are equal when they, the
/// offset, the type, the shape and the variable are.
#[derive(Clone)]
pub struct Leaf {
    data: Arc<dyn LeafData>,
    storage: u64,
    version: u64,
    class: LeafClass,
    offset: u64,
    dtype: DType,
    shape: Shape,
    watch: u64,
}

impl Leaf {
    /// A leaf over the present version of `data`, from `offset` bytes on.
    pub fn new(data: Arc<dyn LeafData>, offset: u64, dtype: DType, shape: Shape) -> Self {
        let version = data.version();
        Leaf::at(data, version, offset, dtype, shape)
    }

    /// A leaf over `data` as it was at a version.
    pub fn at(data: Arc<dyn LeafData>, version: u64, offset: u64, dtype: DType, shape: Shape) -> Self {
        let (storage, class) = (data.storage_id(), data.class());
        Leaf { data, storage, version, class, offset, dtype, shape, watch: 0 }
    }

    /// The same elements as the value of the variable of this number (see [`Watch`](super::Watch)), told from
    /// others that lie there.
    pub fn watched(&self, number: u64) -> Self {
        Leaf { watch: number, ..self.clone() }
    }

    /// The number of the variable whose value it is; 0 of all other memory.
    pub fn watch(&self) -> u64 {
        self.watch
    }

    /// The memory.
    pub fn data(&self) -> &Arc<dyn LeafData> {
        &self.data
    }

    /// The memory as what it is; `None` where it is something else.
    pub fn downcast<T: LeafData>(&self) -> Option<&T> {
        (&*self.data as &dyn Any).downcast_ref()
    }

    /// The storage's id.
    pub fn storage(&self) -> u64 {
        self.storage
    }

    /// The storage's version when the leaf was made.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// What may be assumed of the memory.
    pub fn class(&self) -> LeafClass {
        self.class
    }

    /// First byte.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Extents.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The values of the shape's variables at which the elements lie in memory.
    pub fn bindings(&self) -> Vec<BoundVariable> {
        if self.shape.iter().all(|n| n.as_const().is_some()) {
            return Vec::new();
        }
        let mentioned = |b: &BoundVariable| self.shape.iter().any(|n| n.variables().contains(b.variable()));
        self.data.bindings().into_iter().filter(mentioned).collect()
    }

    fn identity(&self) -> (u64, u64, LeafClass, u64, DType, &Shape, u64) {
        (self.storage, self.version, self.class, self.offset, self.dtype, &self.shape, self.watch)
    }
}

impl PartialEq for Leaf {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Leaf {}

impl Hash for Leaf {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} storage {} version {} offset {}", self.class, self.storage, self.version, self.offset)
    }
}

impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
