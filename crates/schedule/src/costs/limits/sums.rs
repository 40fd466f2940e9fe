//! How long sums are, for their rounding. Set by: tests of accuracy; columns, rows.

/// Additions that one accumulator takes without a cascade.
pub(crate) const LONGEST: i64 = 128;
/// The same, where totals are wider and so lose nothing: all of the error is that of a block, whose lanes are
/// then no longer than those of NumPy's pairwise sums.
pub(crate) const LONGEST_PART: i64 = 16;
/// The same, of products: libraries add those up in fours and eights before they are added to a sum.
pub(crate) const LONGEST_OF_PRODUCTS: i64 = 12;
/// Steps of a sum at least, at the end of which there is a total to be added to, or that is worth two accumulators.
pub(crate) const SHORTEST: i64 = 16;
