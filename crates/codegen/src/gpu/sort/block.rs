//! Points of a tile in the order of a digit: what the threads of a block do together, in shared memory.

use super::{DIGITS, Keys, Tile, WARP, ones};
use crate::gpu::body::{Body, Slot};
use crate::gpu::ptx;

/// Bytes of the words of all digits.
const ALL: u32 = DIGITS * 4;

/// Where the shared memory of a block has what, in bytes from its start. Before all of it there are counts of digits, for each warp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    keys: u32,
    positions: u32,
    /// What is added to the place of a point in the tile, by its digit.
    pub moved: u32,
    /// Totals of warps.
    totals: u32,
    /// The number of the tile.
    pub tile: u32,
}

impl Places {
    pub fn of(keys: Keys, tile: Tile, has_positions: bool) -> Places {
        let own = tile.warps() * ALL;
        let positions = own + tile.points() * keys.held().1;
        let moved = positions + if has_positions { tile.points() * 4 } else { 0 };
        Places { keys: own, positions, moved, totals: moved + ALL, tile: moved + ALL + DIGITS / WARP * 4 }
    }

    /// Bytes of shared memory of a block.
    pub fn shared(&self) -> u32 {
        self.tile + 16
    }
}

/// A block at work.
pub(super) struct Block {
    keys: Keys,
    tile: Tile,
    pub places: Places,
    has_positions: bool,
    pub shared: String,
    pub thread: String,
    lane: String,
    warp: String,
    /// Counts of the warp.
    own: String,
    /// The lanes before this one.
    below: String,
    /// The first point of the lane.
    first: String,
    /// The first count of the thread's digit.
    digit: String,
}

/// Where a point goes: its place among those of its warp with the same digit, and in the upper bits this.
pub(super) struct Rank(String);

/// Bits of a place in a warp.
const RANK: u32 = 16;

impl Block {
    pub fn new(b: &mut Body, keys: Keys, tile: Tile, has_positions: bool) -> Block {
        let places = Places::of(keys, tile, has_positions);
        let shared = b.shared();
        let thread = b.special("tid.x");
        let lane = b.and(&thread, WARP - 1);
        let warp = b.shr(&thread, WARP.ilog2());
        let own = b.mul(&warp, ALL);
        let own = b.add(&shared, own);
        let below = b.shl(1, &lane);
        let below = b.sub(below, 1);
        let first = b.mul(&warp, WARP * tile.each);
        let first = b.add(first, &lane);
        let digit = b.mul(&thread, 4);
        let digit = b.add(&shared, digit);
        Block { keys, tile, places, has_positions, shared, thread, lane, warp, own, below, first, digit }
    }

    /// Each warp clears its counts.
    pub fn clear(&self, b: &mut Body) {
        let at = b.mul(&self.lane, 16);
        let at = b.add(&self.own, at);
        for n in 0..ALL / (WARP * 16) {
            let at = b.add(&at, n * WARP * 16);
            b.run(&ptx::STORE_SHARED, &[&at, &0, &0, &0, &0]);
        }
        b.run(&ptx::SYNC_WARP, &[]);
    }

    /// Which point of the tile is the thread's `n`-th: those of a warp are side by side, and so are those of its lanes.
    pub fn point(&self, b: &mut Body, n: u32) -> String {
        b.add(&self.first, n * WARP)
    }

    /// Counts digits, and gives the place of each point among those of its warp with the same one. All threads of the block wait for
    /// one another.
    pub fn rank(&self, b: &mut Body, keys: &[String], shift: &str) -> Vec<Rank> {
        let mut ranks = Vec::new();
        for key in keys {
            let digit = self.keys.digit(b, key, shift);
            let alike = b.ask(&ptx::ALIKE, &[&digit]);
            let at = b.mul(&digit, 4);
            let at = b.add(&self.own, at);
            let known = b.ask(&ptx::LOAD_SHARED_WORD, &[&at]);
            let before = b.and(&alike, &self.below);
            let (before, all) = (ones(b, &before), ones(b, &alike));
            let rank = b.add(&known, before);
            let next = b.add(known, all);
            b.run(&ptx::SYNC_WARP, &[]);
            b.run(&ptx::STORE_SHARED_WORD, &[&at, &next]);
            b.run(&ptx::SYNC_WARP, &[]);
            // Both in one register.
            let digit = b.shl(digit, RANK);
            ranks.push(Rank(b.value(format_args!("or i32 {digit}, {rank}"))));
        }
        b.run(&ptx::SYNC, &[]);
        ranks
    }

    /// What threads do that have a digit each.
    pub fn of_digits(&self, b: &mut Body, each: impl FnOnce(&mut Body)) {
        if self.tile.threads == DIGITS {
            return each(b);
        }
        let is_digit = b.compare("ult", &self.thread, DIGITS);
        b.when(is_digit, each);
    }

    /// How many points of the tile have the thread's digit, in both variables.
    pub fn total(&self, b: &mut Body, total: &Slot, inclusive: &Slot) {
        let mut sum = "0".to_owned();
        for warp in 0..self.tile.warps() {
            let at = b.add(&self.digit, warp * ALL);
            let count = b.ask(&ptx::LOAD_SHARED_WORD, &[&at]);
            sum = b.add(sum, count);
        }
        b.set(total, &sum);
        b.set(inclusive, &sum);
    }

    /// Numbers of digits become sums of those up to each. All threads of the block wait for one another.
    pub fn scan(&self, b: &mut Body, numbers: &Slot) {
        let totals = b.add(&self.shared, self.places.totals);
        self.of_digits(b, |b| {
            let mut sum = b.get(numbers);
            for by in (0..WARP.ilog2()).map(|n| 1 << n) {
                sum = b.ask(&ptx::SCAN_STEP, &[&sum, &by]);
            }
            b.set(numbers, &sum);
            let is_last = b.compare("eq", &self.lane, WARP - 1);
            let at = b.mul(&self.warp, 4);
            let at = b.add(&totals, at);
            b.when(is_last, |b| b.run(&ptx::STORE_SHARED_WORD, &[&at, &sum]));
        });
        b.run(&ptx::SYNC, &[]);
        self.of_digits(b, |b| {
            let mut sum = b.get(numbers);
            for other in 0..DIGITS / WARP {
                let at = b.add(&totals, other * 4);
                let total = b.ask(&ptx::LOAD_SHARED_WORD, &[&at]);
                let earlier = b.compare("ugt", &self.warp, other);
                let total = b.select(earlier, total, 0);
                sum = b.add(sum, total);
            }
            b.set(numbers, &sum);
        });
        b.run(&ptx::SYNC, &[]);
    }

    /// Counts become where the points of each warp start that have a digit. All threads of the block wait for one another.
    pub fn starts(&self, b: &mut Body, total: &Slot, inclusive: &Slot) {
        self.of_digits(b, |b| {
            let (total, inclusive) = (b.get(total), b.get(inclusive));
            let mut start = b.sub(inclusive, total);
            for warp in 0..self.tile.warps() {
                let at = b.add(&self.digit, warp * ALL);
                let count = b.ask(&ptx::LOAD_SHARED_WORD, &[&at]);
                b.run(&ptx::STORE_SHARED_WORD, &[&at, &start]);
                start = b.add(start, count);
            }
        });
        b.run(&ptx::SYNC, &[]);
    }

    /// Puts points, keys and positions, in the order of their digits.
    pub fn put(&self, b: &mut Body, keys: &[String], positions: &[String], ranks: &[Rank]) {
        for (n, Rank(both)) in ranks.iter().enumerate() {
            let digit = b.shr(both, RANK);
            let at = b.mul(digit, 4);
            let at = b.add(&self.own, at);
            let start = b.ask(&ptx::LOAD_SHARED_WORD, &[&at]);
            let rank = b.and(both, (1u32 << RANK) - 1);
            let place = b.add(start, rank);
            let at = self.key_at(b, &place);
            self.keys.store_shared(b, &at, &keys[n]);
            if self.has_positions {
                let at = self.position_at(b, &place);
                b.run(&ptx::STORE_SHARED_WORD, &[&at, &positions[n]]);
            }
        }
    }

    /// The key and the position, if there is one, that have been put somewhere.
    pub fn taken(&self, b: &mut Body, place: &str) -> (String, Option<String>) {
        let at = self.key_at(b, place);
        let key = self.keys.load_shared(b, &at);
        let position = self.has_positions.then(|| {
            let at = self.position_at(b, place);
            b.ask(&ptx::LOAD_SHARED_WORD, &[&at])
        });
        (key, position)
    }

    fn key_at(&self, b: &mut Body, place: &str) -> String {
        let at = b.mul(place, self.keys.held().1);
        let at = b.add(&self.shared, at);
        b.add(at, self.places.keys)
    }

    fn position_at(&self, b: &mut Body, place: &str) -> String {
        let at = b.mul(place, 4);
        let at = b.add(&self.shared, at);
        b.add(at, self.places.positions)
    }

    /// The address of a word of the thread's digit.
    pub fn word_of_digit(&self, b: &mut Body, start: u32) -> String {
        b.add(&self.digit, start)
    }

    /// The word of a key's digit.
    pub fn word_of_key(&self, b: &mut Body, start: u32, key: &str, shift: &str) -> String {
        let digit = self.keys.digit(b, key, shift);
        let at = b.mul(digit, 4);
        let at = b.add(&self.shared, at);
        let at = b.add(at, start);
        b.ask(&ptx::LOAD_SHARED_WORD, &[&at])
    }
}
