//! Blocks in registers, and what waits in them. Set by: rows, columns, scans, products.

/// Points that fill a vector, a tile's rows or columns, or are worth dividing among threads, at least.
pub(crate) const FEWEST_LANES: i64 = 8;
/// Lanes of the widest vector register, of elements of 4 bytes, where code is for any target.
pub(crate) const WIDEST: i64 = 16;
/// Chains of operations side by side that hide the latency of one another, with registers left for what they read: rows
/// of a reduction or scan, each of which memory is fetched ahead in, vectors of long bodies, lines and rows of dot products.
/// More often lie a power of two apart, so that they share a set of the first-level cache.
pub(crate) const CHAINS: i64 = 4;
/// Accumulators in registers that additions need not wait for, beside what they add: vectors of a row, at most.
pub(crate) const ACCUMULATORS: i64 = 8;
/// Sums that hide the latency of a multiply-add, with some to spare: two units of some 4 or 5 cycles.
pub(crate) const SUMS_IN_FLIGHT: i64 = 12;
/// Rows, steps, or taps, that are laid out so that their loads are under way at one time.
pub(crate) const STEPS: i64 = 8;
/// Elements from one lane to the next at most: beyond, each vector has an element that is wanted.
pub(crate) const FARTHEST: i64 = 8;
/// Arrays that are interleaved, element by element, where a vector of them is some elements of each.
pub(crate) const INTERLEAVED: [i64; 3] = [2, 4, 8];
/// Elements from one point to the next at most where a line of memory holds a few.
pub(crate) const CLOSE: i64 = 4;
