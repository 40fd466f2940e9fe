//! The data of an analysis.

use serde::{Serialize, Serializer};
use svod_ir::graph::Origin;
use svod_ir::size::Size;

/// What a schedule is and costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Analysis {
    /// The items, in the order in which they run.
    pub items: Vec<Item>,
    /// The buffers that items name by position.
    pub buffers: Vec<BufferInfo>,
    /// The machine that estimates are for.
    pub machine: MachineInfo,
    /// Pairs of items that might be one.
    pub opportunities: Vec<Opportunity>,
    /// Items each of which waits for the one before, of which the sum of costs is the largest.
    pub critical_path: Vec<usize>,
    /// The sum of the costs of the critical path, in nanoseconds.
    pub estimated_total_ns: f64,
    /// The time of the last profiled run, where there was one.
    pub measured_total_ns: Option<f64>,
    /// Bytes of all memory that is held, what buffers share counted once.
    pub held_bytes: u64,
    /// Bytes of the buffers that are alive at one item, at most.
    pub peak_bytes: u64,
}

/// How fast the machine is at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MachineInfo {
    /// Threads.
    pub threads: usize,
    /// Operations on 32-bit floats a second.
    pub flops: f64,
    /// Bytes a second to and from main memory.
    pub bandwidth: f64,
    /// Whether the rates were measured here, rather than taken from the target's description.
    pub measured: bool,
    /// By what share times varied as they were measured.
    pub noise: f64,
    /// The GPUs that items run on.
    pub gpus: Vec<GpuInfo>,
}

/// How fast a GPU is at most, as its driver and what is known of its generation tell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GpuInfo {
    /// Its device.
    pub device: String,
    /// Number of multiprocessors.
    pub multiprocessors: usize,
    /// Their cycles a second.
    pub clock: f64,
    /// Operations on 32-bit floats a second, by threads.
    pub flops: f64,
    /// Operations of products of 16-bit floats a second, by tensor cores.
    pub tensor_flops: f64,
    /// Bytes a second to and from its memory.
    pub bandwidth: f64,
}

/// One step of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Item {
    /// The number of the plan's operation, by which its listing and its profiles name it too; none of what only
    /// waits.
    pub op: Option<usize>,
    /// For listings.
    pub name: String,
    /// What it does.
    pub what: What,
    /// Where and how.
    pub context: ItemContext,
    /// Buffers that it reads.
    pub reads: Vec<usize>,
    /// Buffers that it writes.
    pub writes: Vec<usize>,
    /// Earlier items whose results it reads.
    pub data: Vec<usize>,
    /// Earlier items that it follows for another reason: because it overwrites what they access, or
    /// because it was told to.
    pub control: Vec<usize>,
    /// The lines of the user's program that it computes, first the one that it is for.
    #[serde(serialize_with = "as_text_each")]
    pub origins: Vec<Origin>,
    /// What it costs, where that is known.
    pub analysis: Option<ItemAnalysis>,
}

/// What an item does.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Runs a kernel.
    Kernel(Box<KernelInfo>),
    /// Moves memory.
    Transfer {
        /// Whether the host goes on meanwhile.
        asynchronous: bool,
        /// How it lies, where it is not dense.
        strided: Option<Strided>,
    },
    /// Gives memory another name; nothing is moved.
    View {
        /// Distance from the start of the source, in bytes.
        offset: usize,
    },
    /// Waits.
    Synchronization {
        /// For what.
        what: Synchronization,
        /// Among whom.
        scope: Scope,
    },
    /// Calls a function of the host.
    HostCallback,
}

/// Memory of several dimensions that is moved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Strided {
    /// Extents, outermost first.
    pub shape: Vec<usize>,
    /// Distances in the source, in elements.
    pub from: Vec<usize>,
    /// Distances in the destination, in elements.
    pub to: Vec<usize>,
}

/// What a synchronization waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Synchronization {
    /// Everyone gets there.
    Barrier,
    /// Earlier accesses to memory are done.
    Fence,
    /// The event of this number.
    Event(u64),
}

/// Among whom a synchronization holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Threads of a group.
    Threadgroup,
    /// All of a device.
    Device,
    /// All devices.
    System,
}

/// Where and how an item runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ItemContext {
    /// The device.
    pub device: String,
    /// Items of one level are independent, and may run side by side.
    pub stream: usize,
    /// Number of loops.
    pub dims: usize,
    /// Number of loops that are vectors or laid out.
    pub upcasted: usize,
}

/// A kernel of a schedule.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KernelInfo {
    /// Its axes, and how they are visited.
    pub space: IterationSpace,
    /// Tasks in three dimensions, of each phase that runs, at the present sizes.
    pub launches: Vec<[String; 3]>,
    /// How its reductions are combined.
    pub reductions: Vec<Reduction>,
    /// What it was told about how to run.
    pub hints: Vec<Hint>,
    /// The steps that made its loops, as text.
    pub schedule: String,
}

/// Axes, and how they are visited.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct IterationSpace {
    /// The axes.
    pub axes: Vec<AxisInfo>,
    /// What loops become, axis by axis, those of one axis outermost first.
    pub mapping: Vec<LoopInfo>,
    /// Of each axis, the points of its inner loops, outermost first.
    pub tiles: Vec<Vec<u64>>,
}

/// A loop of an iteration space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LoopInfo {
    /// The position of its axis.
    pub axis: usize,
    /// What it becomes.
    pub to: Mapping,
}

/// A named range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AxisInfo {
    /// `stage.axis`.
    pub name: String,
    /// Number of points.
    #[serde(serialize_with = "as_text")]
    pub extent: Size,
    /// What for.
    pub role: Role,
}

/// What an axis is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Each point has a result of its own.
    Normal,
    /// Its points are combined.
    Reduction,
}

/// What a loop becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mapping {
    /// A dimension of the grid: tasks of a CPU, groups of threads of a GPU.
    Block,
    /// Threads of a group.
    Thread,
    /// Lanes of a vector.
    Vector,
    /// One round after the other.
    Serial,
}

/// What a kernel was told about how to run, with its parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hint {
    /// Vectors of so many lanes.
    Vectorize(u64),
    /// So many rounds laid out.
    Unroll(u64),
    /// What is fetched before it is read.
    Prefetch {
        /// What: a load, or an operand of a contraction, as schedules name it.
        read: String,
        /// So many rounds ahead.
        ahead: u64,
    },
    /// So many stages at work at one time.
    Pipeline(u64),
}

/// How a reduction is combined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reduction {
    /// The stage.
    pub stage: String,
    /// What combines, such as `sum`.
    pub by: String,
    /// By one thread.
    pub within: Within,
    /// By several; none where one thread combines all.
    pub across: Option<Across>,
}

/// How one thread combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Within {
    /// From first to last.
    Sequential,
    /// Several running values, combined as a tree.
    Tree,
    /// Mean and squared deviations in one pass (Welford 1962).
    Welford,
    /// Between the lanes of a warp.
    Shuffle,
}

/// How several threads combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Across {
    /// In the memory of their group.
    SharedTree,
    /// By atomic operations.
    Atomic,
    /// By another phase.
    Grid,
}

/// A buffer of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BufferInfo {
    /// Element type.
    pub dtype: String,
    /// How it lies.
    pub layout: Layout,
    /// Who sees it.
    pub scope: MemoryScope,
    /// Where it is.
    pub device: String,
    /// Its size.
    pub bytes: u64,
    /// Whether it is there before the first item.
    pub input: bool,
    /// Whether it is what the schedule is for.
    pub output: bool,
    /// The first and the last item during which it must not change otherwise, both included; none
    /// where no item names it.
    pub lifetime: Option<(usize, usize)>,
    /// Buffers with one number share memory.
    pub alias_group: usize,
    /// First byte in that memory.
    pub offset: u64,
}

/// How a buffer lies in memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layout {
    /// Extents, outermost first.
    #[serde(serialize_with = "as_text_each")]
    pub shape: Vec<Size>,
    /// Distances in elements.
    #[serde(serialize_with = "as_text_each")]
    pub strides: Vec<Size>,
    /// Of the first byte.
    pub alignment: usize,
    /// Elements that are accessed at once.
    pub vector_width: usize,
}

impl Layout {
    /// Row-major: each stride is the product of the extents after it, of which 0 counts as 1. Aligned to
    /// 16 bytes, one element at a time.
    pub fn row_major(shape: &[Size]) -> Layout {
        let mut strides = vec![Size::ONE; shape.len()];
        for i in (1..shape.len()).rev() {
            let extent = if shape[i].as_const() == Some(0) { Size::ONE } else { shape[i].clone() };
            strides[i - 1] = &strides[i] * &extent;
        }
        Layout { shape: shape.to_vec(), strides, alignment: 16, vector_width: 1 }
    }
}

/// Who sees a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryScope {
    /// Every item.
    Global,
    /// The threads of a group.
    Shared,
    /// One thread.
    Local,
}

/// What an item costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ItemAnalysis {
    /// Operations on floats, as they are executed.
    pub flops: f64,
    /// Bytes that are moved from buffers.
    pub bytes_read: f64,
    /// Bytes that are moved to buffers.
    pub bytes_written: f64,
    /// Vector registers that are in use at one time.
    pub registers: u32,
    /// Bytes of scratch memory of a task.
    pub scratch_bytes: u64,
    /// Bytes of operands that one core copies into panels where [`PACKING_CORES`](super::PACKING_CORES) share the tasks.
    pub packed_bytes: [f64; 3],
    /// The share of the machine's threads that have work, 0 to 1.
    pub occupancy: f64,
    /// Estimated time in nanoseconds.
    pub estimated_ns: f64,
    /// Measured time in nanoseconds, where the plan was profiled.
    pub measured_ns: Option<f64>,
    /// The time in nanoseconds below which the machine cannot go: the roofline's.
    pub least_ns: f64,
    /// How long parts of a GPU are busy, where it runs on one.
    pub gpu: Option<GpuCycles>,
}

/// How long parts of a GPU are busy with an item, in cycles in which all multiprocessors are at work. The parts work side by
/// side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct GpuCycles {
    /// Units that multiply small matrices.
    pub tensor_cores: f64,
    /// Arithmetic of threads.
    pub arithmetic: f64,
    /// The memory that threads of a block share.
    pub shared_memory: f64,
    /// The second-level cache.
    pub l2: f64,
    /// The GPU's memory.
    pub memory: f64,
}

impl GpuCycles {
    /// The parts, by name.
    pub fn parts(&self) -> [(&'static str, f64); 5] {
        [
            ("tensor cores", self.tensor_cores),
            ("arithmetic", self.arithmetic),
            ("shared memory", self.shared_memory),
            ("L2", self.l2),
            ("memory", self.memory),
        ]
    }

    /// Cycles of the part that is busy longest.
    pub fn most(&self) -> f64 {
        self.parts().into_iter().fold(0.0, |most, (_, cycles)| cycles.max(most))
    }
}

impl ItemAnalysis {
    /// Operations on floats for each byte that is moved.
    pub fn intensity(&self) -> f64 {
        self.flops / (self.bytes_read + self.bytes_written).max(1.0)
    }

    /// The share of the roofline that is reached, by the measured time where there is one.
    pub fn roofline(&self) -> f64 {
        self.least_ns / self.measured_ns.unwrap_or(self.estimated_ns).max(1.0)
    }
}

/// Two items that might be one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Opportunity {
    /// Which writes.
    pub producer: usize,
    /// The only one that reads what was written.
    pub consumer: usize,
    /// What would be fused.
    pub kind: Fusion,
    /// The share of the estimated total that it would save, 0 to 1.
    pub benefit: f64,
    /// Bytes that would not be moved.
    pub bytes_saved: f64,
}

/// What a fusion would join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fusion {
    /// Two maps.
    Elementwise,
    /// A map and a reduction.
    Reduction,
    /// Anything else.
    Mixed,
}

impl Item {
    /// The kernel, if it is one.
    pub fn kernel(&self) -> Option<&KernelInfo> {
        match &self.what {
            What::Kernel(kernel) => Some(kernel),
            _ => None,
        }
    }

    /// Whether it only waits.
    pub fn is_synchronization(&self) -> bool {
        matches!(self.what, What::Synchronization { .. })
    }

    /// Earlier items that it waits for.
    pub fn dependencies(&self) -> impl Iterator<Item = usize> {
        self.data.iter().chain(&self.control).copied()
    }

    /// What it counts on the critical path: its estimated time in nanoseconds, at least 1; 1 where
    /// nothing is known.
    pub fn cost(&self) -> f64 {
        self.analysis.map_or(1.0, |a| a.estimated_ns.max(1.0))
    }
}

fn as_text<S: Serializer>(value: &impl ToString, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&value.to_string())
}

fn as_text_each<S: Serializer>(values: &[impl ToString], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(values.iter().map(ToString::to_string))
}
