//! The order in which tiles of rows are made.

use super::{Attention, Plan, Sizes};
use crate::gpu::body::Body;

/// Bytes of K and V that blocks may work on at one time, so that the L2 cache holds them.
pub(super) const TOGETHER: u32 = 32 << 20;

/// Tiles of so many rows of each head. Those of the last rows come first where attention is causal: they take longest. Heads are
/// taken some together, whose keys and values the L2 cache holds.
pub(super) struct Order<'a> {
    pub attention: &'a Attention,
    /// Rows of a tile.
    pub rows: u32,
    /// Whether blocks go from tile to tile.
    pub persistent: bool,
    /// Bytes of K and V that blocks work on at one time.
    pub together: u32,
}

/// Which rows a block makes.
pub(super) struct Place {
    pub batch: String,
    pub head: String,
    /// The head of K and V.
    pub key_head: String,
    /// The first row.
    pub row: String,
}

/// Tiles of a launch.
pub(super) fn tiles(sizes: &Sizes, rows: u32) -> u32 {
    let tiles = u64::from(sizes.rows.div_ceil(rows)) * u64::from(sizes.heads) * u64::from(sizes.batch);
    tiles.min(i32::MAX as u64) as u32
}

/// What is launched of a kernel without splits.
pub(super) fn plan(sizes: &Sizes, rows: u32, most: u32) -> Plan {
    Plan { blocks: [tiles(sizes, rows).min(most).max(1), 0], splits: 1, scratch: 0 }
}

impl Order<'_> {
    /// Goes over the tiles of this block.
    pub fn tiles(&self, body: &mut Body, each: impl FnOnce(&mut Body, &Place)) {
        let block = body.special("ctaid.x");
        let counts = self.counts(body);
        if !self.persistent {
            let some = body.compare("ult", &block, &counts.all);
            return body.when(some, |body| {
                let place = self.place(body, &counts, &block);
                each(body, &place);
            });
        }
        // Every other time from the last block to the first, so that each gets short and long ones of a section.
        let blocks = body.special("nctaid.x");
        let last = body.sub(&blocks, 1);
        let back = body.sub(&last, &block);
        let section = if self.attention.causal { &counts.section } else { &counts.all };
        let up = body.add(section, &last);
        let times = body.div(up, &blocks);
        let sections = if self.attention.causal { counts.sections.clone() } else { "1".into() };
        let all_times = body.mul(sections, &times);
        body.repeat(0, all_times, 1, |body, time| {
            let odd = body.and(time, 1);
            let odd = body.compare("ne", odd, 0);
            let mine = body.select(odd, &back, &block);
            let before = body.rem(time, &times);
            let before = body.mul(before, &blocks);
            let inside = body.add(before, mine);
            let sections = body.div(time, &times);
            let first = body.mul(sections, section);
            let at = body.add(first, &inside);
            let some = body.compare("ult", inside, section);
            let known = body.compare("ult", &at, &counts.all);
            let some = body.both(some, known);
            body.when(some, |body| {
                let place = self.place(body, &counts, &at);
                each(body, &place);
            });
        });
    }

    fn counts(&self, body: &mut Body) -> Counts {
        let down = body.ceil_div("%rows", self.rows);
        let heads = body.mul("%heads", "%batch");
        let all = body.mul(&down, &heads);
        // Key heads that fit, at least one; as many in each section, and their query heads.
        let bytes = body.mul("%keys", 2 * (self.attention.depth + self.attention.columns));
        let bytes = body.most(bytes, 1);
        let fit = body.div(self.together, bytes);
        let fit = body.most(fit, 1);
        let key_heads = body.div(&heads, "%group");
        let sections = over(body, &key_heads, &fit);
        let each = body.most(&sections, 1);
        let each = over(body, &key_heads, &each);
        let each = body.most(each, 1);
        let together = body.mul(each, "%group");
        let section = body.mul(&together, &down);
        // Of heads rounded up there may be one section less.
        let sections = over(body, &heads, &together);
        Counts { down, heads, all, together, section, sections }
    }

    fn place(&self, body: &mut Body, counts: &Counts, at: &str) -> Place {
        let section = body.div(at, &counts.section);
        let inside = body.rem(at, &counts.section);
        let first = body.mul(section, &counts.together);
        let left = body.sub(&counts.heads, &first);
        let width = body.min(left, &counts.together);
        let head = body.rem(&inside, &width);
        let head = body.add(first, head);
        let mut tile = body.div(inside, width);
        if self.attention.causal {
            let last = body.sub(&counts.down, 1);
            tile = body.sub(last, tile);
        }
        let row = body.mul(tile, self.rows);
        let batch = body.div(&head, "%heads");
        let head = body.rem(head, "%heads");
        let key_head = body.div(&head, "%group");
        Place { batch, head, key_head, row }
    }
}

/// How many tiles there are.
struct Counts {
    /// Of a head.
    down: String,
    /// Heads of the batch.
    heads: String,
    all: String,
    /// Heads that are made together, and their tiles.
    together: String,
    section: String,
    /// How often.
    sections: String,
}

/// How often one number fits into another, rounded up.
fn over(body: &mut Body, all: &str, by: &str) -> String {
    let up = body.add(all, by);
    let up = body.sub(up, 1);
    body.div(up, by)
}

/// The tiles of keys that a tile of rows sees.
pub(super) struct Span {
    /// How many, from the first key on.
    pub tiles: String,
    /// How many, from the first key on, are seen by all rows from `row` on.
    pub full: String,
}

impl Span {
    /// For rows `first` to `first + rows`, of which those from `row` on are a part that is masked by itself.
    pub fn of(body: &mut Body, attention: &Attention, keys: u32, (first, rows): (&str, u32), row: &str) -> Span {
        let mut tiles = body.ceil_div("%keys", keys);
        let mut full = body.div("%keys", keys);
        if attention.causal {
            // Keys that the last row sees, and those that `row` sees, both at least 0.
            let last = body.add(first, rows);
            let last = body.least(last, "%rows");
            let most = body.add(last, "%diagonal");
            let most = body.most(most, 0);
            let seen = body.ceil_div(most, keys);
            tiles = body.min(tiles, seen);
            let least = body.add(row, 1);
            let least = body.add(least, "%diagonal");
            let least = body.most(least, 0);
            let seen = body.div(least, keys);
            full = body.min(full, seen);
            full = body.min(full, &tiles);
        }
        Span { tiles, full }
    }
}
