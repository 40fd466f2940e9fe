//! What one kernel may be, and how far is looked to decide on it. Set by: elementwise, rows, models.

/// Nodes of one kernel at most, without movements; operations of kernels that become one. Bounds
/// code size, and the depth of every walk inside a kernel.
pub(crate) const MAX_NODES: usize = 192;
/// Nodes of one kernel at most, with movements, of which each operation has several: a pad without room would be
/// copied to memory, at its full size.
pub(crate) const MAX_MOVED: usize = 4 * MAX_NODES;
/// Nodes below the weights of attention at most, masks included: half of a kernel.
pub(crate) const MAX_WEIGHTS: usize = MAX_NODES / 2;
/// Arguments of one kernel at most: their addresses are in registers or in the first cache lines of the stack.
pub(crate) const MAX_PARAMS: usize = 24;
/// Outputs of one kernel, and values of one stage, at most: as many streams as a processor writes at once.
pub(crate) const MAX_OUTPUTS: usize = 8;
/// Contractions of one kernel at most: their sums are in a task's scratch at once.
pub(crate) const MAX_PRODUCTS: usize = 4;
/// Running values at most of reductions that become one: each has accumulators in registers.
pub(crate) const MAX_CARRIES: usize = 4;
/// The same where a variance is corrected, for what its mean is short of.
pub(crate) const MAX_CORRECTED: usize = 6;
/// Operations, counted as a tree, of a value that is computed again: code size, where kernels are small.
pub(crate) const MAX_REPEATED: u32 = 32;
/// What one is compared with at most, so that the work stays linear: kernels for each argument, and ways in which the axes
/// of two kernels are taken for the same.
pub(crate) const MAX_COMPARED: usize = 4;
/// Steps of a search at most: accesses of a node that are told from one another, movements and conversions between an
/// operand and its product.
pub(crate) const MAX_SEEN: usize = 32;
/// Operations that a condition on positions is looked for through, stages included.
pub(crate) const MAX_LOOKED_THROUGH: usize = 24;
/// Operations of a value, counted as a tree, beyond which counts saturate. What a kernel joins is looked for in an eighth of
/// them, for all rows together.
pub(crate) const MAX_COUNTED: u32 = 1 << 20;
/// Calls that a loop of kernels is unrolled into at most.
pub(crate) const MAX_CALLS: usize = 1 << 20;
/// By how much a number by which a sum is divided may differ from that of its terms, of which it is a rounding.
pub(crate) const ROUNDED: f64 = 1e-6;
/// Bytes from which on, with more than two devices, a ring moves fewer than it costs steps.
pub(crate) const RING: i64 = 256 << 10;
