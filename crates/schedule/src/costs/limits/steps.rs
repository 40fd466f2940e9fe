//! What a schedule's steps may ask for: beyond, they are refused.

/// Points of a round of a split loop at most.
pub(crate) const LARGEST: u64 = 1 << 48;
/// Copies that the unrolled loops of a stage make of its body at most: more than any tile needs.
pub(crate) const MAX_COPIES: u64 = 1024;
/// Points that the full rounds of a stage visit for each that there is, at most: few enough to compute.
pub(crate) const MAX_PADDING: f64 = 1024.0;
/// Lanes of a vector at most that is made of several registers.
pub(crate) const LONGEST_VECTOR: u64 = 64;
/// Threads of a group at most, of all loops of a stage.
pub(crate) const MAX_GROUP: u64 = 1024;
/// Lanes of a vector loop at most: the widest load of a group's threads, in elements of 4 bytes. Accumulators of a carry likewise.
pub(crate) const MAX_LANES: u64 = 4 * MAX_GROUP;
/// Lanes in which points of a sort go at most.
pub(crate) const MAX_WARP: u64 = super::groups::WARP as u64;
/// Rows or columns of a tile at most.
pub(crate) const MAX_TILE: u32 = 256;
