//! GPUs: groups of threads, which warps and vectors of the target divide. Set by: benches of products, rows, scans, on an H200.

/// Rows and vectors of columns of a product's task, those that read least for each multiply-add first.
pub(crate) const BLOCKS: [(i64, i64); 5] = [(8, 2), (8, 1), (4, 1), (2, 1), SMALLEST];
pub(crate) const SMALLEST: (i64, i64) = (1, 1);
/// Products and sums of a matrix from which on a whole kernel of its own is worth it.
pub(crate) const WORTH_A_KERNEL: i64 = 1 << 15;
/// Warps of a multiprocessor at least, for as much to be done at one time as can be.
pub(crate) const FEWEST_WARPS: i64 = 2;
/// Rows up to which a product is as many dot products along the memory of the other operand.
pub(crate) const FEW_ROWS: i64 = 2;
/// Depth of a task that copies an operand: what it reads is as much of each of its lines.
pub(crate) const COPIED_DEPTH: i64 = 16;
/// Rows, and columns, of a block of dot products.
pub(crate) const DOTS: i64 = 4;
/// Of a product of f32 by tiles: rows and columns of the smallest, and cycles of a step of the depth. Of dot products: bytes that
/// a GPU's caches give in a cycle. Measured on an H200, roughly.
pub(crate) const TILE: f64 = 64.0;
pub(crate) const CYCLES_OF_DEPTH: f64 = 70.0;
/// Where a graph is rewritten for any GPU, nanoseconds of such a step, and tiles that are computed at one time; of a round of a loop
/// that waits for what it reads, and products that loops do in one; bytes that memory moves in one, and of a launch. Measured likewise.
pub(crate) const NS_OF_STEP: f64 = 35.0;
pub(crate) const TILES_AT_ONCE: f64 = 132.0;
pub(crate) const NS_OF_ROUND: f64 = 450.0;
pub(crate) const PRODUCTS_OF_NS: f64 = 200.0;
pub(crate) const BYTES_OF_NS: f64 = 4000.0;
pub(crate) const NS_OF_LAUNCH: f64 = 2000.0;
pub(crate) const BYTES_OF_CYCLE: f64 = 3000.0;

/// Vectors of a row that is kept in registers at most.
pub(crate) const VECTORS_OF_ROW: i64 = 8;
/// Bytes that are read at least, in place of a line.
pub(crate) const SECTOR: i64 = 32;
/// Of an operand that lies across: columns of a block of it, which threads share, and warps of a multiprocessor that have such
/// blocks at least. Operations at most of the columns that a thread has.
pub(crate) const COLUMNS_ACROSS: i64 = 32;
pub(crate) const WARPS_ACROSS: i64 = 8;
pub(crate) const LAID_OUT_ACROSS: i64 = 1 << 12;

/// Points of a row at least that threads scan together: a shorter one is a thread's.
pub(crate) const SHARED_ROW: i64 = 16;
/// Points of a block of a row at least, of a scan or of a sort, where a histogram costs as much as some hundred points.
pub(crate) const BLOCK_OF_ROW: i64 = 1 << 12;
/// Points of a block of a column at least, which one thread scans.
pub(crate) const BLOCK_OF_COLUMN: i64 = 1 << 6;
/// Threads of a warp, and columns that it scans, where a graph is rewritten for any GPU.
pub(crate) const WARP: i64 = 32;
pub(crate) const COLUMNS_OF_WARP: i64 = 4 * WARP;
/// Warps, or as many single threads, with which a scan of columns needs no blocks.
pub(crate) const WARPS_OF_COLUMNS: i64 = 1 << 10;

/// Points of a scatter that are not worth parts.
pub(crate) const FEWEST_POINTS: i64 = 128;

/// Bytes that memory moves while a thread looks whether a point of a scatter is its own, some 28 ns.
pub(crate) const BYTES_OF_POINT: f64 = 112e3;

/// Threads that have work of their own side by side: as many as hide how long one waits.
pub(crate) const THREADS: i64 = 1 << 16;

/// Bytes at most of convolutions' windows that are a matrix in memory.
pub(crate) const MOST_WINDOWS: i64 = 1 << 29;
