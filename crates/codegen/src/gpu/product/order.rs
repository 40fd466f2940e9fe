//! The order in which tiles are made.

use crate::gpu::body::Body;

/// Tiles of a result, and which are made together.
pub(super) struct Order {
    /// Rows of a block's tile.
    pub rows: u32,
    /// Its columns.
    pub columns: u32,
    /// Blocks of a cluster, whose tiles are one below the other. Which of them this is, is `%rank`.
    pub cluster: u32,
    /// Blocks that divide the depth of a tile: neighbours.
    pub split: u32,
    /// Rows of clusters' tiles that are made together, column by column, so that the L2 cache holds what they share.
    pub rows_together: u32,
}

/// Which part of C a block makes.
pub(super) struct Place {
    pub batch: String,
    /// Its first row.
    pub row: String,
    /// Its first column.
    pub column: String,
}

impl Order {
    /// Goes over the tiles of this block, whatever the number of blocks, of products of `%m` rows and `%n` columns.
    pub fn tiles(&self, body: &mut Body, each: impl FnOnce(&mut Body, &Place)) {
        let block = body.special("ctaid.x");
        let blocks = body.special("nctaid.x");
        let together = self.cluster * self.split;
        let (first, step) = (body.div(block, together), body.div(blocks, together));
        let counts = self.counts(body);
        body.repeat(first, &counts.all, step, |body, at| {
            let place = self.place(body, &counts, at);
            each(body, &place);
        });
    }

    /// The one tile of this block, of as many blocks as tiles.
    pub fn tile(&self, body: &mut Body, each: impl FnOnce(&mut Body, &Place)) {
        let block = body.special("ctaid.x");
        let counts = self.counts(body);
        let some = body.compare("ult", &block, &counts.all);
        body.when(some, |body| {
            let place = self.place(body, &counts, &block);
            each(body, &place);
        });
    }

    /// The one tile of this block and its neighbours, where there are exactly as many blocks as are wanted: without a
    /// condition, so that all of them come to the same barriers.
    pub fn own(&self, body: &mut Body, each: impl FnOnce(&mut Body, &Place)) {
        let block = body.special("ctaid.x");
        let at = body.div(block, self.cluster * self.split);
        let counts = self.counts(body);
        let place = self.place(body, &counts, &at);
        each(body, &place);
    }

    fn counts(&self, body: &mut Body) -> Counts {
        let down = body.ceil_div("%m", self.rows * self.cluster);
        let along = body.ceil_div("%n", self.columns);
        let of_one = body.mul(&down, &along);
        let all = body.mul(&of_one, "%batch");
        let together = body.mul(&along, self.rows_together);
        Counts { down, of_one, all, together }
    }

    fn place(&self, body: &mut Body, counts: &Counts, at: &str) -> Place {
        let Counts { down, of_one, together, .. } = counts;
        let batch = body.div(at, of_one);
        let rest = body.rem(at, of_one);
        let strip = body.div(&rest, together);
        let above = body.mul(&strip, self.rows_together);
        let below = body.sub(down, &above);
        let height = body.min(below, self.rows_together);
        let inside = body.rem(&rest, together);
        let row = body.rem(&inside, &height);
        let mut row = body.add(above, row);
        if self.cluster > 1 {
            row = body.mul(row, self.cluster);
            row = body.add(row, "%rank");
        }
        let row = body.mul(row, self.rows);
        let column = body.div(inside, height);
        let column = body.mul(column, self.columns);
        Place { batch, row, column }
    }
}

/// How many tiles there are.
struct Counts {
    /// One below the other.
    down: String,
    /// Of one product, and of all.
    of_one: String,
    all: String,
    /// In rows that are made together.
    together: String,
}
