//! Rows that a block sorts as a whole, in shared memory.

use super::block::{Block, Places};
use super::{BITS, Kernel, Key, Keys, Tile};
use crate::gpu::Runner;
use crate::gpu::body::Body;
use crate::gpu::part::{self, Part};
use crate::gpu::ptx;

/// What rows are sorted by, and what becomes of their points.
pub(super) struct Rows<'a> {
    pub keys: Keys,
    pub tile: Tile,
    /// Whether points have positions.
    pub positions: bool,
    /// Numbers of iterations of the counters of rows.
    pub rows: &'a [i64],
    pub key: Key<'a>,
    pub results: &'a Part,
    /// The text of both.
    pub parts: &'a str,
}

impl Rows<'_> {
    /// Bytes of shared memory of a block.
    pub fn shared(&self) -> u32 {
        Places::of(self.keys, self.tile, self.positions).shared()
    }

    /// The kernel: a row for each block, of so many points.
    pub fn kernel(&self, runner: Runner) -> Kernel {
        let mut body = Body::new(runner);
        let b = &mut body;
        let (keys, each) = (self.keys, self.tile.each);
        let block = Block::new(b, keys, self.tile, self.positions);
        let row = b.special("ctaid.x");
        let counters = part::counters(b, &row, self.rows);
        let last = b.sub("%points", 1);
        let mut slots = Vec::new();
        for n in 0..each {
            let at = block.point(b, n);
            let inside = b.compare("ult", &at, "%points");
            let at = b.min(at, &last);
            let key = self.key.call(b, keys, &counters, &at);
            let key = keys.inside(b, &inside, &key);
            slots.push((b.slot(keys.held().0, key), b.slot("i32", at)));
        }
        let (total, inclusive) = (b.slot("i32", 0), b.slot("i32", 0));
        b.repeat(0, keys.passes() * BITS, BITS, |b, shift| {
            block.clear(b);
            let held: Vec<String> = slots.iter().map(|(key, _)| b.get(key)).collect();
            let positions: Vec<String> = slots.iter().map(|(_, position)| b.get(position)).collect();
            let ranks = block.rank(b, &held, shift);
            block.of_digits(b, |b| block.total(b, &total, &inclusive));
            block.scan(b, &inclusive);
            block.starts(b, &total, &inclusive);
            block.put(b, &held, &positions, &ranks);
            b.run(&ptx::SYNC, &[]);
            for (n, (key_slot, position_slot)) in slots.iter().enumerate() {
                let at = block.point(b, n as u32);
                let (key, position) = block.taken(b, &at);
                b.set(key_slot, key);
                position.iter().for_each(|position| b.set(position_slot, position));
            }
            b.run(&ptx::SYNC, &[]);
        });
        for (n, (key, position)) in slots.iter().enumerate() {
            let at = block.point(b, n as u32);
            let inside = b.compare("ult", &at, "%points");
            let (key, position) = (b.get(key), b.get(position));
            b.when(inside, |b| {
                let key = keys.narrowed(b, &key);
                self.results.call(b, &[&key, &position, &at], &counters);
            });
        }
        let mut parameters = vec!["i32 %points".to_owned()];
        parameters.extend(self.key.part.parameters());
        parameters.extend(self.results.parameters());
        let entry = format!("svod_sort_rows_u{}_{each}", keys.0.bits());
        Kernel::new(&body, entry, self.tile.threads, &parameters, self.parts, runner)
    }
}
