//! How work is divided among tasks. Set by: rows, columns, products, scatters.

use svod_ir::target::Target;

/// What differs between CPUs, whose threads are handed tasks, and GPUs, where a scheduler in hardware hands them out, and only
/// many of them hide how long memory takes.
pub(crate) struct Division {
    /// Scalar operations that are worth a task.
    pub task: i64,
    /// Tasks of one kernel at most: more only cost time to hand out.
    pub most: i64,
    /// Rows, or results, that keep a machine busy without parts.
    pub results: i64,
    /// Parts of all results together at most, where none stays in a cache for another.
    pub parts: i64,
    /// Points of a part at least.
    pub part: i64,
    /// Of a reduction across rows, vectors of a chunk at least: shorter runs of memory defeat a processor's prefetching.
    pub vectors: i64,
    /// Of a reduction across rows, parts at most, and rows of a part at least: parts are written, and read again, after a
    /// barrier.
    pub parts_of_rows: i64,
    pub rows_of_part: i64,
}

pub(crate) const CPU: Division = Division {
    task: 1 << 16,
    most: 256,
    results: 16,
    parts: 256,
    part: 1 << 16,
    vectors: 32,
    parts_of_rows: MANY,
    rows_of_part: 64,
};

pub(crate) const GROUPS: Division = Division {
    task: 1 << 9,
    most: 1 << 20,
    results: 512,
    parts: 1 << 12,
    part: 1 << 13,
    vectors: 1,
    parts_of_rows: 512,
    rows_of_part: 256,
};

/// Points of a row, of few, that a group of threads may have alone.
pub(crate) const ROW_OF_GROUP: i64 = 1 << 17;

impl Division {
    pub fn of(target: &Target) -> &'static Division {
        if target.groups.is_some() { &GROUPS } else { &CPU }
    }
}

/// Tasks that share work among few threads, and that many need no more of. Rows, or parts with memory of their own, likewise.
pub(crate) const FEW: i64 = 8;
pub(crate) const MANY: i64 = 32;
/// Parts of a reduction across rows at least.
pub(crate) const FEWEST_PARTS: i64 = 4;
