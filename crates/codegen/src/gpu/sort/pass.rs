//! A pass over the points of rows.

use super::block::{Block, Places};
use super::{BITS, COUNTED, DIGITS, Kernel, Key, Keys, Tile, word_of};
use crate::gpu::body::{Body, Slot};
use crate::gpu::part::{self, Part};
use crate::gpu::{Runner, ptx};

/// What a pass is made for.
pub(super) struct Pass<'a> {
    pub keys: Keys,
    pub tile: Tile,
    /// Whether points have positions.
    pub positions: bool,
    /// Numbers of iterations of the counters of rows.
    pub rows: &'a [i64],
    /// The first pass: where keys come from.
    pub key: Option<Key<'a>>,
    /// The last pass: what becomes of points.
    pub results: Option<&'a Part>,
    /// The text of these parts.
    pub parts: &'a str,
}

impl Pass<'_> {
    /// Bytes of shared memory of a block.
    pub fn shared(&self) -> u32 {
        Places::of(self.keys, self.tile, self.positions).shared()
    }

    /// Which words say that a count is a tile's, or that of all tiles up to it: more than what is left of other passes.
    pub fn code(pass: u32) -> u32 {
        2 * pass + 1
    }

    /// The kernel. It is given points and tiles of a row, the first bit of the digit, what marks its words ([`Pass::code`]), a counter of
    /// tiles, counts of the digits of a row and how far these are from row to row, the words of tiles, then where points are (not the first
    /// pass) and where they go (not the last one): keys and positions.
    pub fn kernel(&self, runner: Runner) -> Kernel {
        let mut body = Body::new(runner);
        self.write(&mut body);
        let mut parameters: Vec<String> = [
            "i32 %points",
            "i32 %tiles",
            "i32 %shift",
            "i32 %code",
            "ptr addrspace(1) %next",
            "ptr addrspace(1) noalias readonly %counts",
            "i32 %counted",
            "ptr addrspace(1) %told",
        ]
        .map(str::to_owned)
        .to_vec();
        let positions = |name: &str| self.positions.then(|| name.to_owned());
        match &self.key {
            Some(key) => parameters.extend(key.part.parameters()),
            None => {
                parameters.push("ptr addrspace(1) noalias readonly %keys".into());
                parameters.extend(positions("ptr addrspace(1) noalias readonly %positions"));
            }
        }
        match self.results {
            Some(part) => parameters.extend(part.parameters()),
            None => {
                parameters.push("ptr addrspace(1) noalias %keys_to".into());
                parameters.extend(positions("ptr addrspace(1) noalias %positions_to"));
            }
        }
        let (first, last) = (self.key.is_some(), self.results.is_some());
        let which = ["", "_first", "_last", "_only"][usize::from(first) + 2 * usize::from(last)];
        let entry = format!("svod_sort_pass_u{}{which}", self.keys.0.bits());
        Kernel::new(&body, entry, self.tile.threads, &parameters, self.parts, runner)
    }

    fn write(&self, b: &mut Body) {
        let (keys, each) = (self.keys, self.tile.each);
        let block = Block::new(b, keys, self.tile, self.positions);

        // Tiles are numbered as blocks start: those before this one are on their way.
        let number_at = b.add(&block.shared, block.places.tile);
        let is_first = b.compare("eq", &block.thread, 0);
        b.when(is_first, |b| {
            let number = b.ask(&ptx::TAKE_GLOBAL, &[&"%next", &1]);
            b.run(&ptx::STORE_SHARED_WORD, &[&number_at, &number]);
        });
        b.run(&ptx::SYNC, &[]);
        let number = b.ask(&ptx::LOAD_SHARED_WORD, &[&number_at]);
        let row = b.div(&number, "%tiles");
        let tile = b.rem(&number, "%tiles");
        let first = b.mul(&tile, self.tile.points());
        let count = b.sub("%points", &first);
        let start_of_row = {
            let (row, points) = (b.wide(&row), b.wide("%points"));
            b.value(format_args!("mul i64 {row}, {points}"))
        };
        let counters = part::counters(b, &row, self.rows);

        block.clear(b);
        let last = b.sub("%points", 1);
        let (mut held, mut positions) = (Vec::new(), Vec::new());
        for n in 0..each {
            let local = block.point(b, n);
            let inside = b.compare("ult", &local, &count);
            let at = b.add(&first, local);
            let at = b.min(at, &last);
            let (key, position) = match &self.key {
                Some(key) => (key.call(b, keys, &counters, &at), at),
                None => {
                    let at = b.wide(at);
                    let at = b.value(format_args!("add i64 {start_of_row}, {at}"));
                    let key = keys.load(b, "%keys", &at);
                    (key, if self.positions { load_word(b, "%positions", &at) } else { String::new() })
                }
            };
            held.push(keys.inside(b, &inside, &key));
            positions.push(position);
        }
        let ranks = block.rank(b, &held, "%shift");

        // How many points of the tile have the thread's digit, and where those start in the tile.
        let (total, inclusive) = (b.slot("i32", 0), b.slot("i32", 0));
        let own_word = b.mul(&number, DIGITS);
        let own_word = b.add(own_word, &block.thread);
        let opens = b.compare("eq", &tile, 0);
        block.of_digits(b, |b| {
            block.total(b, &total, &inclusive);
            // The first tile of a row tells where digits start, when it knows that.
            let later = b.value(format_args!("xor i1 {opens}, true"));
            b.when(later, |b| {
                let total = b.get(&total);
                tell(b, &own_word, &total, "%code");
            });
        });
        block.scan(b, &inclusive);
        block.starts(b, &total, &inclusive);
        block.put(b, &held, &positions, &ranks);

        // Where digits start in the row: after lesser digits in all of it, and the same ones of the tiles before.
        let before = b.slot("i32", 0);
        b.either(
            &opens,
            |b| {
                let (count, scanned) = (b.slot("i32", 0), b.slot("i32", 0));
                block.of_digits(b, |b| {
                    let at = b.mul(&row, "%counted");
                    let at = b.add(at, &block.thread);
                    let at = b.wide(at);
                    let known = load_word(b, "%counts", &at);
                    b.set(&count, &known);
                    b.set(&scanned, &known);
                });
                block.scan(b, &scanned);
                let (count, scanned) = (b.get(&count), b.get(&scanned));
                let start = b.sub(scanned, count);
                b.set(&before, start);
            },
            |b| block.of_digits(b, |b| look_back(b, &own_word, &before)),
        );
        block.of_digits(b, |b| {
            let (before, total, inclusive) = (b.get(&before), b.get(&total), b.get(&inclusive));
            let all = b.add(&before, &total);
            let code = b.add("%code", 1);
            tell(b, &own_word, &all, &code);
            let start = b.sub(inclusive, total);
            let moved = b.sub(before, start);
            let at = block.word_of_digit(b, block.places.moved);
            b.run(&ptx::STORE_SHARED_WORD, &[&at, &moved]);
        });
        b.run(&ptx::SYNC, &[]);

        for n in 0..each {
            let local = b.add(&block.thread, n * self.tile.threads);
            let (key, position) = block.taken(b, &local);
            let moved = block.word_of_key(b, block.places.moved, &key, "%shift");
            let place = b.add(moved, &local);
            let inside = b.compare("ult", &local, &count);
            b.when(inside, |b| match self.results {
                Some(part) => {
                    let key = keys.narrowed(b, &key);
                    part.call(b, &[&key, position.as_deref().unwrap_or("0"), &place], &counters);
                }
                None => {
                    let at = b.wide(&place);
                    let at = b.value(format_args!("add i64 {start_of_row}, {at}"));
                    keys.store(b, "%keys_to", &at, &key);
                    if let Some(position) = &position {
                        let to = b.value(format_args!("getelementptr i32, ptr addrspace(1) %positions_to, i64 {at}"));
                        b.line(format_args!("store i32 {position}, ptr addrspace(1) {to}, align 4"));
                    }
                }
            });
        }
    }
}

/// Tells other tiles a count of a digit, and what it counts.
fn tell(b: &mut Body, word: &str, count: &str, code: &str) {
    let mark = b.shl(code, COUNTED);
    let told = b.value(format_args!("or i32 {count}, {mark}"));
    let to = word_of(b, "%told", word);
    b.run(&ptx::STORE_FLAG, &[&to, &told]);
}

/// Adds up what tiles before this one have told of a digit, back to one that knows the sum of all.
fn look_back(b: &mut Body, own_word: &str, before: &Slot) {
    let earlier = b.sub(own_word, DIGITS);
    let at = b.slot("i32", earlier);
    let all_code = b.add("%code", 1);
    b.again(|b| {
        let of = b.get(&at);
        let from = word_of(b, "%told", &of);
        let word = b.ask(&ptx::LOAD_FLAG, &[&from]);
        let code = b.shr(&word, COUNTED);
        let (of_all, of_tile) = (b.compare("eq", &code, &all_code), b.compare("eq", &code, "%code"));
        let known = b.value(format_args!("or i1 {of_all}, {of_tile}"));
        let count = b.and(word, (1u32 << COUNTED) - 1);
        let count = b.select(known, count, 0);
        let sum = b.get(before);
        let sum = b.add(sum, count);
        b.set(before, sum);
        let step = b.select(of_tile, DIGITS, 0);
        let next = b.sub(of, step);
        b.set(&at, next);
        b.value(format_args!("xor i1 {of_all}, true"))
    });
}

fn load_word(b: &mut Body, from: &str, at: &str) -> String {
    let from = b.value(format_args!("getelementptr i32, ptr addrspace(1) {from}, i64 {at}"));
    b.value(format_args!("load i32, ptr addrspace(1) {from}, align 4"))
}

/// The first bit of the digit of a pass.
pub(super) fn shift(pass: u32) -> u32 {
    pass * BITS
}
