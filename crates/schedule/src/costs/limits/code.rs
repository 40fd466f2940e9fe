//! How much code is made, in vector instructions of a point: it is compiled, read into a cache, and looked ahead in. Set by:
//! elementwise, rows, convolutions.

/// Of a kernel at most: bounds the time that LLVM takes for a kernel, which is some 20 µs each. A cut costs memory traffic
/// worth some tens of them.
pub(crate) const MAX_CODE: u32 = 400;
/// Of all copies of a body that is laid out several times, at most.
pub(crate) const LAID_OUT: u32 = 320;
/// That loops add to a kernel at most, whose rounds are laid out or cut.
pub(crate) const ADDED: i64 = 256;
/// Of a body that is laid out several times wherever it fits, at most.
pub(crate) const SHORT_BODY: i64 = 12;
/// Of a body at least of which a processor does not see enough rounds.
pub(crate) const LONG_BODY: u32 = 16;
/// Of an operation at least that is worth a result of its own. A division, which makes means of sums, is not: parts of a
/// reduction are told from the whole by their means ([`crate::apply`]).
pub(crate) const SLOW: u32 = 12;
/// Of all points of a map at least, for which more code is worth the time to compile it.
pub(crate) const WORTH_MORE: i64 = 1 << 18;
/// Points of a loop at most that is laid out whole, where it fills no vector.
pub(crate) const SHORT_LOOP: i64 = 16;

/// Rounds of a loop below which masks cost less than loops.
pub(crate) const FEWEST_ROUNDS: i64 = 4;
/// Elements that a loop stores in all of its rounds and all tasks, below which masks cost less than to compile loops of bounds
/// that are no constants.
pub(crate) const FEWEST_STORED: i64 = 1024;
/// Cuts at points that are no constants, of parts of one loop: such as begin and end of a padded row.
pub(crate) const MAX_OPEN_CUTS: usize = 2;
/// Rounds of a loop within a loop from which on bounds of the outer one that are no constants cost nothing beside them.
pub(crate) const MANY_ROUNDS: i64 = 64;
/// Points that a reduction which ends early ends at multiples of, so that vectors and tiles have no short tails.
pub(crate) const GRAIN: i64 = 64;
