//! What products of matrices take where groups of threads do tasks: by a kernel of tiles, and by loops.
//!
//! A kernel of tiles reads its operands from memory as they are. What an operand is made of has to be written there first;
//! loops compute it, as often as it is read. Which is faster is a question of four times: of a step of the depth in either,
//! of memory, and of a launch.

use super::limits::groups;

/// Rows, columns and depth of some products of matrices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extents {
    pub batch: i64,
    pub rows: i64,
    pub columns: i64,
    pub depth: i64,
}

impl Extents {
    /// Multiplications.
    pub fn work(self) -> i64 {
        [self.rows, self.columns, self.depth].into_iter().fold(self.batch, i64::saturating_mul)
    }

    /// Nanoseconds that loops take, each round of which waits for what it reads.
    pub fn by_loops(self) -> f64 {
        let waits = self.depth as f64 * groups::NS_OF_ROUND;
        waits.max(self.work() as f64 / groups::PRODUCTS_OF_NS)
    }

    /// Nanoseconds that dot products of rows in memory take, by what caches give.
    pub fn by_dots(self) -> f64 {
        let read = self.work() as f64 * 8.0 / groups::DOTS as f64;
        groups::NS_OF_LAUNCH + read / groups::BYTES_OF_NS
    }

    /// Nanoseconds that a kernel of tiles takes, for which so many bytes are written, by so many kernels, before.
    pub fn by_tiles(self, bytes: i64, kernels: usize) -> f64 {
        let along = |n: i64| (n as f64 / groups::TILE).ceil();
        let tiles = self.batch as f64 * along(self.rows) * along(self.columns);
        let steps = (tiles / groups::TILES_AT_ONCE).max(1.0) * self.depth as f64;
        let moved = 2.0 * bytes as f64 / groups::BYTES_OF_NS;
        steps * groups::NS_OF_STEP + moved + kernels as f64 * groups::NS_OF_LAUNCH
    }

    /// Whether operands of so many bytes, each of which a kernel writes to memory first, are worth a kernel of tiles. A few rows
    /// are as many sums along the other operand, whose threads share what they wait for.
    pub fn are_worth_operands(self, bytes: i64, kernels: usize) -> bool {
        self.has_tiles() && self.by_tiles(bytes, kernels) < self.by_loops()
    }

    /// Whether there is enough for a kernel of tiles.
    pub fn has_tiles(self) -> bool {
        self.rows.min(self.columns) > groups::FEW_ROWS && self.work() >= groups::WORTH_A_KERNEL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_by_many_columns_is_written_before() {
        let product = |rows, columns, depth| Extents { batch: 1, rows, columns, depth };
        // The last layer of a classifier; a convolution of few positions by its windows; a derivative by weights.
        assert!(product(256, 10, 512).are_worth_operands(256 * 512 * 4, 1));
        assert!(product(512, 128, 1152).are_worth_operands(512 * 1152 * 4, 2));
        assert!(product(512, 4608, 32).are_worth_operands(4608 * 32 * 4, 2));
        // So little depth, or so few products, that loops are done before anything else has begun.
        assert!(!product(256, 16, 4).are_worth_operands(256 * 4 * 4, 1));
        assert!(!product(8, 8, 64).are_worth_operands(8 * 64 * 4, 1));
        // Weights that one row reads, as in decoding; but not those that a few do.
        assert!(!product(1, 4096, 4096).are_worth_operands(4096 * 4096 * 2, 1));
        assert!(product(4, 4096, 4096).are_worth_operands(4096 * 4096 * 2, 1));
    }
}
