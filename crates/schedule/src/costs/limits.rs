//! What bounds the size of a kernel, and the work of deciding on it.

/// Nodes of one kernel at most, without movements; operations of kernels that become one. Bounds
/// code size, and the depth of every walk inside a kernel.
pub(crate) const MAX_NODES: usize = 192;
/// Nodes of one kernel at most, with movements, of which each operation has several: a pad without room would be
/// copied to memory, at its full size.
pub(crate) const MAX_MOVED: usize = 4 * MAX_NODES;
/// Vector instructions for a point of a kernel at most: bounds the time that LLVM takes for a kernel,
/// which is some 20 µs each. A cut costs memory traffic worth some tens of them.
pub(crate) const MAX_CODE: u32 = 400;
/// Arguments of one kernel at most: their addresses are in registers or in the first cache lines of the stack.
pub(crate) const MAX_PARAMS: usize = 24;
/// Outputs of one kernel at most: as many streams as a processor writes at once.
pub(crate) const MAX_OUTPUTS: usize = 8;
/// Contractions of one kernel at most: their sums are in a task's scratch at once.
pub(crate) const MAX_PRODUCTS: usize = 4;
/// Operations, counted as a tree, of a value that is computed again: code size, where kernels are small.
pub(crate) const MAX_REPEATED: u32 = 32;
/// Kernels that one is compared with at most, for each argument: so the work stays linear.
pub(crate) const MAX_COMPARED: usize = 4;
/// Ways at most in which the axes of two kernels are taken for the same.
pub(crate) const MAX_PAIRINGS: usize = 4;
/// Rows that divide work among threads.
pub(crate) const FEWEST_ROWS: i64 = 8;
/// Elements of a kernel that one thread may as well compute.
pub(crate) const ONE_TASK: i64 = 1 << 16;
/// Columns that are read together where a row goes across lines of memory.
pub(crate) const COLUMNS: i64 = 32;
