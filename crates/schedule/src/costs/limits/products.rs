//! Contractions, convolutions and attention on CPUs. Set by: products, convolutions, attention.

/// Rows of a contraction's task at most. More save little more fetching of the other operand, and leave
/// too few tasks to share out evenly.
pub(crate) const MAX_ROWS: i64 = 144;
/// Rows of a task at most, however few sets of a cache they share.
pub(crate) const FEWEST_HIGH: i64 = 64;
/// Panels after which an epilogue follows, where it can: their sums are still in the first-level cache.
pub(crate) const PANELS_AT_ONCE: i64 = 2;
/// Points of a row that a copy in panels takes at a time: some cache lines, and few enough panels
/// that each has a line in the first-level cache.
pub(crate) const COPIED_AT_ONCE: i64 = 192;
/// Depth that one task of a shared copy covers.
pub(crate) const MAX_COPIED_DEPTH: i64 = 256;
/// Columns of a panel at least of which a copy writes one row at a time: such a row is a line.
pub(crate) const FEWEST_AT_ONCE: i64 = 16;
/// Rows and columns of a tile in registers of its own: four of 16 × 16 sums.
pub(crate) const IN_TILES: i64 = 32;

/// Rows, columns and results up to which a product's depth is in two blocks at least: libraries have registers for
/// two chains of sums at the edges of a result, which so few are. And that depth: a block takes a call of the tile.
pub(crate) const FEW_ROWS: i64 = 10;
pub(crate) const FEW_COLUMNS: i64 = 24;
pub(crate) const FEW_RESULTS: i64 = 1024;
pub(crate) const DEEP: i64 = 32;
/// Depth of a block at most: so many products are summed one after the other. The error of a sum grows with the
/// longest chain of roundings, and no chain is longer than in other libraries, which have fewer of wide elements.
pub(crate) const DEEPEST: i64 = 320;
pub(crate) const DEEPEST_OF_WIDE: i64 = 256;

/// What it costs to copy an element of a block of rows, in multiply-adds for each byte of a vector, which are as many
/// as a machine does at once: one that the second-level cache holds, and one that comes from beyond.
pub(crate) const COPY: [f64; 2] = [1.0 / 8.0, 1.0 / 2.0];
/// What it costs to fetch an element of a panel, likewise: of a copy that the task has just made or that is fetched ahead
/// of its use, and of one that another core has just made.
pub(crate) const FETCH: [f64; 2] = [1.0 / 32.0, 3.0 / 16.0];
/// How long an element of a panel takes that was there before the plan ran, likewise: it is fetched ahead, beside a
/// multiply-add for each row of the task.
pub(crate) const AHEAD: f64 = 3.0 / 4.0;
/// Tiles of columns of a task at least, of all contractions that it computes.
pub(crate) const FEWEST_TILES: i64 = 3;
/// Bytes of the vectors with which a task's multiply-adds take as long as its operations.
pub(crate) const VECTOR: i64 = 32;

/// Rows, or columns, at most, of a product or of attention whose large operands are read where they lie.
pub(crate) const SKINNY: i64 = 16;
/// Rows at least, and depth at most, of a product whose tiles may have few columns, and how many they have: rows that are
/// shorter than a vector are copied for a tile, where each sum by itself would take as many instructions as it has terms.
pub(crate) const TALL: i64 = 64;
pub(crate) const SHALLOW: i64 = 16;
pub(crate) const NARROW: i64 = 3;

/// Rows and columns of a contraction whose depth is cut, at most: one task has all of those of a block, and reads its
/// operands once.
pub(crate) const MAX_CUT: i64 = 256;
/// Depth of a block of such a contraction, or multiply-adds of an element of a convolution's plane where there are as many, at
/// least: what they cost beside is little.
pub(crate) const MULTIPLIED: i64 = 1 << 9;
/// How much more a contraction has to read than the sums of its blocks are.
pub(crate) const MORE: i64 = 8;

/// Points of a convolution's plane that are computed for each that is wanted, at most.
pub(crate) const MAX_WASTE: i64 = 4;
/// Rows of the tiles that must read a panel of a plane for it to be worth a copy.
pub(crate) const PANEL_ROWS: i64 = 48;
/// Panels of weights that one task of a shared copy makes.
pub(crate) const PANELS_OF_WEIGHTS: i64 = 4;
/// Vectors of a row, of all its phases, whose copies are laid out at most.
pub(crate) const MAX_COPIES: i64 = 32;

/// Rows of scores that are computed at once: a few tiles. More would fetch keys and values less often,
/// and push the scores out of the caches; measured from 128 to 16384 keys, neither matters much.
pub(crate) const SCORES: i64 = 24;
/// Rows of attention of a task at least: each copies keys and values.
pub(crate) const MIN_TASK_ROWS: i64 = 128;
/// Elements of one row's keys and values together at most: they are copied into a task's scratch.
pub(crate) const MOST_COPIED: i64 = 1 << 26;
