//! Sorts and selections. Set by: sorts.

use super::registers::WIDEST;

/// Scalar operations of a point, roughly.
pub(crate) const COST: i64 = 32;
/// Points of a block at least: its histograms cost as much as some thousand points.
pub(crate) const BLOCK: i64 = 1 << 15;
/// Blocks of a row at most: each reads the histograms of all.
pub(crate) const BLOCKS: i64 = 16;
/// Bits of a digit of few points: its histogram costs less than they do, and fits a first-level
/// cache together with the lines that a pass writes.
pub(crate) const NARROW_DIGIT: u32 = 8;
/// Bits of a digit of many points: fewer passes, whose histogram still fits a first-level cache.
pub(crate) const WIDE_DIGIT: u32 = 11;
/// So many points are many.
pub(crate) const MANY: i64 = 1 << 14;
/// So many points are few: each is compared with all others, which beyond takes longer than the histograms of a
/// radix sort. As many are tested at a time, and blocks are whole multiples of them.
pub(crate) const FEW: i64 = 64;
/// Lanes in which few points are compared.
pub(crate) const COMPARED: i64 = 8;
/// Points of a block of a selection: as many as leave enough blocks.
pub(crate) const SELECTED: [i64; 3] = [4 * WIDEST, 2 * WIDEST, WIDEST];
/// Blocks of a selection for each place wanted, so that few of the other points are below the threshold.
pub(crate) const ENOUGH: i64 = 4;

/// Where threads share points: digits that are lanes of a vector.
pub(crate) const DIGITS: i64 = 128;
/// Chunks of blocks of a row, about as many.
pub(crate) const CHUNKS: i64 = 64;
/// Vectors of points that are loaded at one time.
pub(crate) const VECTORS: i64 = 4;
