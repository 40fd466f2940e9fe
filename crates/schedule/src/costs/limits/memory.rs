//! What is read in one run, and stays in a cache. Caches themselves are the target's. Set by: rows, columns, scans, transposes.

use svod_ir::linear::LINE;

/// Bytes of a page, within which a processor fetches ahead.
pub(crate) const PAGE: i64 = 1 << 12;
/// Pages whose addresses a core has at hand: entries of a first-level TLB.
pub(crate) const PAGES: i64 = 1 << 6;
/// Bytes of a piece of a row at least, if the row is longer: shorter ones, far from one another, are waited for one by one.
pub(crate) const PIECE: i64 = 4 * LINE as i64;
/// Bytes of a row at least that is written past the caches: beside it, partial lines at its ends are nothing.
pub(crate) const STREAMED_ROW: i64 = 512;
/// Bytes that are fetched ahead: as long as memory takes for a line, at the rate of a long body.
pub(crate) const AHEAD: i64 = 2048;
/// Rows of the second-level cache, of which one is fetched while another is read.
pub(crate) const ROWS_AHEAD: i64 = 4;
/// Bytes that are moved in the time that a kernel takes to begin and end.
pub(crate) const KERNEL: i64 = 1 << 18;
/// The part of the traffic of the lesser of two kernels that has to be spared for them to become one: less
/// is not worth a larger kernel.
pub(crate) const WORTH: i64 = 8;
/// Operations that take as long as moving a byte from or to memory: ten for each f32.
pub const OPERATIONS_PER_BYTE: f64 = 2.5;
/// How much more has to be spared than what reductions of rows write, which takes a kernel of its own.
pub(crate) const WORTH_A_KERNEL: i64 = 4;
/// How much more another operand has to be read for one not to matter.
pub(crate) const LITTLE: i64 = 16;

/// Elements of a row, or a block of a scan, at most, whose second reading finds them in a cache.
pub(crate) const READ_AGAIN: i64 = 1 << 14;
/// Elements of a row, about: while one is reduced, what is made of the one before is on its way to memory. Longer rows
/// would have memory read and written in turn.
pub(crate) const ROW: i64 = 1 << 9;
/// Elements of a row, about, that has a tail.
pub(crate) const ROW_WITH_TAIL: i64 = 1 << 11;
/// Elements of a row, and side by side in it, at least: what is done once a row, or for a tail, is little beside it.
pub(crate) const SHORTEST_ROW: i64 = 1 << 6;
/// What a row's elements are a multiple of, if they can be: whole vectors, laid out several at once.
pub(crate) const WHOLE_VECTORS: i64 = 1 << 5;
/// Elements of a block of rows at most, and rows that it has at least and at most: it is read from memory once, and
/// what it gives for each column is written.
pub(crate) const BLOCK_OF_ROWS: i64 = 1 << 16;
pub(crate) const FEWEST_BLOCKED: i64 = 4;
pub(crate) const MOST_BLOCKED: i64 = 16;
/// Running values of a scan's task, at least and at most: they stay in the first-level cache, and each step
/// reads and writes as many contiguous elements. The least where they come from memory and go there: longer runs are read
/// in fewer pages.
pub(crate) const SHORTEST_LINE: i64 = 256;
pub(crate) const SHORTEST_STREAMED: i64 = 512;
pub(crate) const LONGEST_LINE: i64 = 2048;

/// Columns that are read together where a row goes across lines of memory.
pub(crate) const COLUMNS: i64 = 32;
/// Vectors of columns that a wide matrix has at least.
pub(crate) const WIDE: i64 = 4;
/// Rows that read something for which a copy that lies better is worth making.
pub(crate) const ROWS_WORTH_A_COPY: i64 = 16;
/// Points of a block of a transpose in the vector's axis: what is read of them should stay in the first-level cache.
pub(crate) const TRANSPOSED: i64 = 256;
/// Second-level caches, of as many threads or more, that hold what a transpose reads or writes.
pub(crate) const CACHES: i64 = 2;
