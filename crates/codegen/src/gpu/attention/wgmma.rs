//! Attention by Hopper's warpgroups.
//!
//! A block makes `groups · 64` rows of O. Its first warpgroup copies Q, and tiles of K and V in the order in which they are
//! needed, into one ring in shared memory; each other warpgroup has 64 rows, whose scores, weights and sums are in registers.
//! Mbarriers say *full* (bytes have come) and *empty* (all warpgroups are done) of each tile of the ring, and of Q.
//!
//! A warpgroup goes from the last tile of keys to the first. It starts the scores of a tile, then the sums of the tile before,
//! and makes weights of the former while the latter is on its way. Warpgroups may start products in turns, so that one
//! multiplies while the other makes weights.
//!
//! Shared memory, from a multiple of 1024 bytes on: Q, what is stored, the ring, mbarriers. Q, K and V are in panels of 64 elements
//! of the depth or columns.

use super::order::{self, Order, Place, Span};
use super::rows::{self, Results, Rows, Scored};
use super::{Attention, Inner, Kernel, Launch, Operand, Parameter, Plan, Sizes, TensorMap, unsupported};
use crate::CompileError;
use crate::gpu::Runner;
use crate::gpu::body::{Body, Slot};
use crate::gpu::ptx::{self, Factor, Left};
use crate::gpu::warpgroup::{self, GROUP, ROW, ROWS, Ring, SHARED, STEP};
use svod_dtype::DType;

/// Elements of a panel's rows.
const WIDE: u32 = 64;
/// The first of the barriers by which warpgroups take turns; those before are for the stores of each.
const TURNS: u32 = 4;

/// The shape of a kernel for warpgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WgmmaTile {
    /// Warpgroups that multiply, of 64 rows each: 1 to 3.
    pub groups: u32,
    /// Keys of a tile: a multiple of 16.
    pub keys: u32,
    /// Tiles of K or V in the ring.
    pub stages: u32,
    /// Whether blocks go from tile to tile.
    pub persistent: bool,
    /// Whether warpgroups start products in turns.
    pub turns: bool,
    /// Bytes of K and V that blocks work on at one time, so that the L2 cache holds them.
    pub together: u32,
}

impl WgmmaTile {
    /// The tile of rows of up to 128 elements.
    pub const LARGE: WgmmaTile =
        WgmmaTile { groups: 2, keys: 128, stages: 4, persistent: true, turns: true, together: order::TOGETHER };

    /// The tile of an attention of so many rows. On an H200, other numbers of keys are slower, and blocks that stay are where
    /// some tiles take much longer than others: the hardware shares those out as blocks end.
    pub fn of(attention: &Attention, rows: u32) -> WgmmaTile {
        let large = WgmmaTile { persistent: !attention.causal || rows < 4096, ..Self::LARGE };
        match attention.depth.max(attention.columns) {
            ..=64 => WgmmaTile { groups: if rows < 2048 { 2 } else { 3 }, stages: 6, ..large },
            65..=128 => large,
            deep => WgmmaTile { keys: 64, stages: if deep <= 192 { 4 } else { 3 }, ..large },
        }
    }

    pub(super) fn plan(&self, sizes: &Sizes, multiprocessors: u32) -> Plan {
        order::plan(sizes, self.rows(), if self.persistent { multiprocessors } else { u32::MAX })
    }

    fn rows(&self) -> u32 {
        self.groups * ROWS
    }

    fn name(&self) -> String {
        let flag = |on: bool, letter: &'static str| if on { letter } else { "" };
        let flags = [flag(self.persistent, "p"), flag(self.turns, "t")].concat();
        format!("{}x{}_s{}_l{}{flags}", self.rows(), self.keys, self.stages, self.together >> 10)
    }
}

/// Panels of rows of so many elements.
fn panels(elements: u32) -> u32 {
    elements.div_ceil(WIDE)
}

fn check(attention: &Attention, tile: &WgmmaTile) -> Result<(), CompileError> {
    if !attention.align.is_multiple_of(16) {
        let align = attention.align;
        return Err(unsupported(format_args!("rows aligned to {align} bytes by warpgroups, which need 16")));
    }
    // Scores, weights, sums.
    let registers = tile.keys / 2 + tile.keys / 4 + attention.columns / 2;
    let known = (1..=3).contains(&tile.groups)
        && tile.keys > 0
        && tile.keys.is_multiple_of(16)
        && tile.keys <= 256
        && (2..=8).contains(&tile.stages)
        && registers <= if tile.groups == 3 { 132 } else { 200 }
        && !(tile.turns && tile.groups == 1);
    let bytes = Shared::of(attention, tile).bytes;
    if !known || bytes > SHARED {
        return Err(unsupported(format_args!("{tile:?}: {bytes} bytes of shared memory, {registers} registers")));
    }
    Ok(())
}

/// Offsets in shared memory.
struct Shared {
    /// Bytes of Q, of a tile of K and of V, and of a stage of the ring. Q starts at 0.
    q: u32,
    k: u32,
    v: u32,
    stage: u32,
    /// Where the result of each warpgroup, the ring and the mbarriers start.
    o_at: u32,
    ring: u32,
    full: u32,
    empty: u32,
    q_full: u32,
    q_empty: u32,
    /// With room to start at a multiple of 1024.
    bytes: u32,
}

impl Shared {
    fn of(attention: &Attention, tile: &WgmmaTile) -> Shared {
        let Attention { depth, columns, .. } = *attention;
        let q = panels(depth) * tile.rows() * ROW;
        let (k, v) = (panels(depth) * tile.keys * ROW, panels(columns) * tile.keys * ROW);
        let stage = k.max(v);
        let o_at = q;
        let ring = o_at + if stores_by_map(attention) { panels(columns) * tile.rows() * ROW } else { 0 };
        let full = ring + tile.stages * stage;
        let empty = full + 8 * tile.stages;
        let q_full = empty + 8 * tile.stages;
        Shared { q, k, v, stage, o_at, ring, full, empty, q_full, q_empty: q_full + 8, bytes: q_full + 16 + 1024 }
    }
}

/// Whether O goes through shared memory and a tensor map.
fn stores_by_map(attention: &Attention) -> bool {
    attention.out.bytes() == 2 && attention.align_out.is_multiple_of(16)
}

pub(super) fn render(
    attention: &Attention,
    tile: &WgmmaTile,
    inner: &Inner,
    runner: Runner,
) -> Result<Kernel, CompileError> {
    check(attention, tile)?;
    let writer = Writer { attention, tile, shared: Shared::of(attention, tile), inner };
    let mut body = Body::new(runner);
    writer.kernel(&mut body);
    let (maps, parameters) = (writer.maps(), writer.parameters());
    let entry = super::name(attention, &tile.name(), inner);
    let threads = (tile.groups + 1) * GROUP;
    let annotations = [format!("!\"maxntidx\", i32 {threads}"), "!\"minctasm\", i32 1".into()];
    let text = body.module(&entry, &super::declarations(&parameters, inner), &annotations, maps.len());
    let launch = Launch { entry, threads, shared: writer.shared.bytes, parameters, maps };
    Ok(Kernel { text, processor: "sm_90a", runner, launch })
}

/// Writes a kernel. Values that all of it uses have names: `%base`, where shared memory starts, `%lead`, whether this is the first
/// thread of its warpgroup.
struct Writer<'a> {
    attention: &'a Attention,
    tile: &'a WgmmaTile,
    shared: Shared,
    inner: &'a Inner<'a>,
}

/// What a warpgroup that multiplies keeps.
struct Consumer<'a> {
    ring: Ring,
    /// Whether Q has come once more.
    q_parity: Slot,
    sums: Vec<Slot>,
    /// Weights of the tile before, two in a word.
    weights: Vec<Slot>,
    rows: Rows,
    /// The number of the warpgroup.
    group: &'a str,
    /// The first of the thread's two rows in the block, and its first column.
    down: &'a str,
    along: &'a str,
}

impl Writer<'_> {
    fn maps(&self) -> Vec<TensorMap> {
        let (tile, attention) = (self.tile, self.attention);
        let map = |operand, dtype, rows| TensorMap { operand, dtype, region: [WIDE, rows, 1, 1] };
        let mut maps = vec![
            map(Operand::Q, attention.dtype, tile.rows()),
            map(Operand::K, attention.dtype, tile.keys),
            map(Operand::V, attention.dtype, tile.keys),
        ];
        if stores_by_map(attention) {
            maps.push(map(Operand::O, attention.out, ROWS));
        }
        maps
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters: Vec<Parameter> = (0..self.maps().len()).map(Parameter::Map).collect();
        if !stores_by_map(self.attention) {
            parameters.extend(super::pointer(Operand::O));
        }
        parameters.extend(super::numbers(self.attention, self.inner));
        parameters
    }

    fn kernel(&self, body: &mut Body) {
        let thread = body.special("tid.x");
        let group = body.shr(&thread, 7);
        let group = body.ask(&ptx::UNIFORM, &[&group]);
        let in_group = body.and(&thread, GROUP - 1);
        body.line(format_args!("%lead = icmp eq i32 {in_group}, 0"));
        let start = body.shared();
        let start = body.add(start, 1023);
        body.line(format_args!("%base = and i32 {start}, -1024"));
        rows::scales(body, self.inner);
        let first = body.compare("eq", &thread, 0);
        body.when(first, |body| self.barriers(body));
        body.run(&ptx::SYNC, &[]);
        let producer = body.compare("eq", &group, 0);
        let registers = match self.tile.groups {
            1 => None,
            2 => Some([&ptx::REGISTERS_24, &ptx::REGISTERS_240]),
            _ => Some([&ptx::REGISTERS_32, &ptx::REGISTERS_160]),
        };
        body.either(
            producer,
            |body| {
                if let Some([less, _]) = registers {
                    body.run(less, &[]);
                }
                body.when("%lead", |body| self.produce(body));
            },
            |body| {
                if let Some([_, more]) = registers {
                    body.run(more, &[]);
                }
                let group = body.sub(&group, 1);
                self.consume(body, &group, &in_group);
            },
        );
    }

    fn barriers(&self, body: &mut Body) {
        let shared = &self.shared;
        let mut barrier = |at: u32, arrivals: u32| {
            let at = body.add("%base", at);
            body.run(&ptx::BARRIER_INIT, &[&at, &arrivals]);
        };
        for stage in 0..self.tile.stages {
            barrier(shared.full + 8 * stage, 1);
            barrier(shared.empty + 8 * stage, self.tile.groups);
        }
        barrier(shared.q_full, 1);
        barrier(shared.q_empty, self.tile.groups);
        body.run(&ptx::BARRIER_FENCE, &[]);
        for map in 0..self.maps().len() {
            body.run(&ptx::MAP_PREFETCH, &[&format_args!("%map{map}")]);
        }
    }

    /// Goes over the tiles of this block.
    fn tiles(&self, body: &mut Body, each: impl FnOnce(&mut Body, &Place)) {
        let WgmmaTile { persistent, together, .. } = *self.tile;
        let order = Order { attention: self.attention, rows: self.tile.rows(), persistent, together };
        order.tiles(body, each);
    }

    fn span(&self, body: &mut Body, place: &Place, row: &str) -> Span {
        Span::of(body, self.attention, self.tile.keys, (&place.row, self.tile.rows()), row)
    }

    /// What the first warpgroup's first thread does: keeps the ring full. Scores are a tile of keys ahead of sums.
    fn produce(&self, body: &mut Body) {
        let (tile, shared) = (self.tile, &self.shared);
        let ring = Ring::new(body);
        let q_parity = body.slot("i32", 0);
        self.tiles(body, |body, place| {
            let span = self.span(body, place, &place.row);
            let some = body.compare("ne", &span.tiles, 0);
            body.when(some, |body| {
                let parity = body.get(&q_parity);
                let other = body.xor(&parity, 1);
                body.set(&q_parity, &other);
                let (full, empty) = (body.add("%base", shared.q_full), body.add("%base", shared.q_empty));
                // In the first round, the phase before the first one counts as over.
                body.run(&ptx::BARRIER_WAIT, &[&empty, &other]);
                body.run(&ptx::BARRIER_EXPECT, &[&full, &shared.q]);
                let (depth, rows) = (self.attention.depth, tile.rows());
                self.load(body, (0, depth, rows), "%base", &full, &place.row, (&place.head, &place.batch));
                let last = body.sub(&span.tiles, 1);
                let first = body.mul(last, tile.keys);
                self.produce_tile(body, &ring, Operand::K, place, &first);
                let before = body.slot("i32", &first);
                body.repeat(1, &span.tiles, 1, |body, _| {
                    let values = body.get(&before);
                    let keys = body.sub(&values, tile.keys);
                    body.set(&before, &keys);
                    self.produce_tile(body, &ring, Operand::K, place, &keys);
                    self.produce_tile(body, &ring, Operand::V, place, &values);
                });
                self.produce_tile(body, &ring, Operand::V, place, "0");
            });
        });
    }

    /// Copies a tile of K or V to the next stage.
    fn produce_tile(&self, body: &mut Body, ring: &Ring, operand: Operand, place: &Place, key: &str) {
        let (tile, shared) = (self.tile, &self.shared);
        let (map, elements, bytes) = match operand {
            Operand::K => (1, self.attention.depth, shared.k),
            _ => (2, self.attention.columns, shared.v),
        };
        let (stage, parity) = (body.get(&ring.stage), body.get(&ring.parity));
        let [full, empty] = [shared.full, shared.empty].map(|from| warpgroup::at(body, from, &stage, 8));
        let before = body.xor(parity, 1);
        body.run(&ptx::BARRIER_WAIT, &[&empty, &before]);
        body.run(&ptx::BARRIER_EXPECT, &[&full, &bytes]);
        let to = warpgroup::at(body, shared.ring, &stage, shared.stage);
        self.load(body, (map, elements, tile.keys), &to, &full, key, (&place.key_head, &place.batch));
        ring.advance(body, tile.stages);
    }

    /// Copies panels of some rows to `to`.
    fn load(
        &self,
        body: &mut Body,
        (map, elements, rows): (usize, u32, u32),
        to: &str,
        full: &str,
        row: &str,
        (head, batch): (&str, &str),
    ) {
        for panel in 0..panels(elements) {
            let to = body.add(to, panel * rows * ROW);
            let map = format!("%map{map}");
            body.run(&ptx::TMA_LOAD_4, &[&to, &map, &full, &(panel * WIDE), &row, &head, &batch]);
        }
    }

    /// What the other warpgroups do.
    fn consume(&self, body: &mut Body, group: &str, in_group: &str) {
        let (tile, attention) = (self.tile, self.attention);
        let lane = body.and(in_group, 31);
        let warp = body.shr(in_group, 5);
        let down = body.mul(group, ROWS);
        let skipped = body.mul(&warp, 16);
        let down = body.add(down, skipped);
        let quad = body.shr(&lane, 2);
        let down = body.add(down, quad);
        let along = body.and(&lane, 3);
        let along = body.mul(along, 2);
        let consumer = Consumer {
            ring: Ring::new(body),
            q_parity: body.slot("i32", 0),
            sums: (0..attention.columns / 2).map(|_| body.slot("float", "0.0")).collect(),
            weights: (0..tile.keys / 4).map(|_| body.slot("i32", 0)).collect(),
            rows: Rows::new(body),
            group,
            down: &down,
            along: &along,
        };
        if tile.turns {
            // The first warpgroup is first.
            let last = body.compare("eq", group, tile.groups - 1);
            body.when(last, |body| body.run(&ptx::TURN_GIVE, &[&TURNS]));
        }
        self.tiles(body, |body, place| {
            for sum in &consumer.sums {
                body.set(sum, "0.0");
            }
            consumer.rows.reset(body);
            let above = body.mul(group, ROWS);
            let top = body.add(&place.row, &above);
            let span = self.span(body, place, &top);
            let some = body.compare("ne", &span.tiles, 0);
            body.when(some, |body| self.sum(body, &consumer, place, &span));
            self.finish(body, &consumer, place, (&top, &warp, &lane));
        });
        if stores_by_map(attention) {
            body.when("%lead", |body| body.run(&ptx::TMA_WAIT, &[]));
        }
    }

    /// All tiles of keys of a tile of rows.
    fn sum(&self, body: &mut Body, consumer: &Consumer, place: &Place, span: &Span) {
        let (tile, shared) = (self.tile, &self.shared);
        let parity = body.get(&consumer.q_parity);
        let other = body.xor(&parity, 1);
        body.set(&consumer.q_parity, other);
        let full = body.add("%base", shared.q_full);
        body.run(&ptx::BARRIER_WAIT, &[&full, &parity]);
        let q = body.mul(consumer.group, ROWS * ROW);
        let q = body.add(q, "%base");
        let q = warpgroup::descriptor(body, &q, tile.rows() * ROW);

        // The first tile, which may have keys that some rows do not see.
        let last = body.sub(&span.tiles, 1);
        let key = body.mul(last, tile.keys);
        let (stage, keys) = self.wait(body, consumer);
        body.run(&ptx::WGMMA_FENCE, &[]);
        let scores = self.scores(body, &q, &keys);
        body.run(&ptx::WGMMA_COMMIT, &[]);
        let mut scores = body.wgmma_wait(self.factor(), 0, &scores);
        self.release(body, &stage);
        self.scored(body, consumer, place, &key, true).scores(body, &mut scores);
        consumer.rows.weigh(body, &mut scores, true);
        self.keep(body, consumer, &scores);

        // Then those that may have such keys, which all but the last have of a triangle only, then those that have none.
        let before = body.slot("i32", &key);
        let mut masked = "1".to_owned();
        if self.attention.causal {
            let seen_in_part = body.sub(&span.tiles, &span.full);
            masked = body.most(seen_in_part, 1);
            body.repeat(1, &masked, 1, |body, _| self.step(body, consumer, place, &q, &before, true));
        }
        body.repeat(&masked, &span.tiles, 1, |body, _| self.step(body, consumer, place, &q, &before, false));

        let empty = body.add("%base", shared.q_empty);
        body.when("%lead", |body| body.run(&ptx::BARRIER_ARRIVE, &[&empty]));
        let (stage, values) = self.wait(body, consumer);
        let (mut sums, mut weights) = self.kept(body, consumer);
        body.wgmma_fence(&mut sums, &mut weights);
        let sums = self.add(body, sums, &weights, &values);
        body.run(&ptx::WGMMA_COMMIT, &[]);
        let sums = body.wgmma_wait(self.factor(), 0, &sums);
        self.release(body, &stage);
        for (slot, sum) in consumer.sums.iter().zip(sums) {
            body.set(slot, sum);
        }
    }

    /// A tile of keys: its scores, and the sums of the one before.
    fn step(&self, body: &mut Body, consumer: &Consumer, place: &Place, q: &str, before: &Slot, masked: bool) {
        let tile = self.tile;
        let key = body.get(before);
        let key = body.sub(key, tile.keys);
        body.set(before, &key);
        let (keys_stage, keys) = self.wait(body, consumer);
        if tile.turns {
            let turn = body.add(consumer.group, TURNS);
            body.run(&ptx::TURN_WAIT, &[&turn]);
        }
        let (mut sums, mut weights) = self.kept(body, consumer);
        body.wgmma_fence(&mut sums, &mut weights);
        let scores = self.scores(body, q, &keys);
        body.run(&ptx::WGMMA_COMMIT, &[]);
        let (values_stage, values) = self.wait(body, consumer);
        let sums = self.add(body, sums, &weights, &values);
        body.run(&ptx::WGMMA_COMMIT, &[]);
        if tile.turns {
            let next = body.add(consumer.group, 1);
            let around = body.compare("eq", &next, tile.groups);
            let next = body.select(around, 0, next);
            let next = body.add(next, TURNS);
            body.run(&ptx::TURN_GIVE, &[&next]);
        }
        let mut scores = body.wgmma_wait(self.factor(), 1, &scores);
        self.release(body, &keys_stage);
        self.scored(body, consumer, place, &key, masked).scores(body, &mut scores);
        let less = consumer.rows.weigh(body, &mut scores, false);
        let sums = body.wgmma_wait(self.factor(), 0, &sums);
        self.release(body, &values_stage);
        for (i, (slot, sum)) in consumer.sums.iter().zip(sums).enumerate() {
            let sum = rows::times(body, &sum, &less[i / 2 % 2]);
            body.set(slot, sum);
        }
        self.keep(body, consumer, &scores);
    }

    fn scored<'b>(
        &'b self,
        body: &mut Body,
        consumer: &'b Consumer,
        place: &'b Place,
        key: &str,
        masked: bool,
    ) -> Scored<'b> {
        let row = body.add(&place.row, consumer.down);
        let key = body.add(key, consumer.along);
        Scored { attention: self.attention, inner: self.inner, place, row, key, masked }
    }

    /// Waits for the next tile of the ring: its stage, and its descriptor.
    fn wait(&self, body: &mut Body, consumer: &Consumer) -> (String, String) {
        let (tile, shared, ring) = (self.tile, &self.shared, &consumer.ring);
        let (stage, parity) = (body.get(&ring.stage), body.get(&ring.parity));
        let full = warpgroup::at(body, shared.full, &stage, 8);
        body.run(&ptx::BARRIER_WAIT, &[&full, &parity]);
        let at = warpgroup::at(body, shared.ring, &stage, shared.stage);
        ring.advance(body, tile.stages);
        let descriptor = warpgroup::descriptor(body, &at, tile.keys * ROW);
        (stage, descriptor)
    }

    /// Says that this warpgroup is done with a stage.
    fn release(&self, body: &mut Body, stage: &str) {
        let empty = warpgroup::at(body, self.shared.empty, stage, 8);
        body.when("%lead", |body| body.run(&ptx::BARRIER_ARRIVE, &[&empty]));
    }

    fn factor(&self) -> Factor {
        if self.attention.dtype == DType::BF16 { Factor::Bf16 } else { Factor::F16 }
    }

    /// Starts the products of Q with a tile of K.
    fn scores(&self, body: &mut Body, q: &str, keys: &str) -> Vec<String> {
        let tile = self.tile;
        let mut scores = vec!["poison".to_owned(); (tile.keys / 2) as usize];
        for step in 0..self.attention.depth.div_ceil(STEP) {
            let (panel, along) = (step * STEP / WIDE, step * STEP % WIDE * 2 / 16);
            let a = body.value(format_args!("add i64 {q}, {}", panel * tile.rows() * ROW / 16 + along));
            let b = body.value(format_args!("add i64 {keys}, {}", panel * tile.keys * ROW / 16 + along));
            let add = if step == 0 { "0" } else { "1" };
            scores = body.wgmma(self.factor(), &scores, Left::Shared(&a, false), (&b, false), add);
        }
        scores
    }

    /// Starts the products of weights with a tile of V.
    fn add(&self, body: &mut Body, mut sums: Vec<String>, weights: &[String], values: &str) -> Vec<String> {
        for (step, four) in weights.chunks(4).enumerate() {
            let a = Left::Registers([&four[0], &four[1], &four[2], &four[3]]);
            let b = body.value(format_args!("add i64 {values}, {}", step as u32 * STEP * ROW / 16));
            sums = body.wgmma(self.factor(), &sums, a, (&b, true), "1");
        }
        sums
    }

    fn kept(&self, body: &mut Body, consumer: &Consumer) -> (Vec<String>, Vec<String>) {
        let sums = consumer.sums.iter().map(|slot| body.get(slot)).collect();
        (sums, consumer.weights.iter().map(|slot| body.get(slot)).collect())
    }

    /// Keeps weights for the products with V.
    fn keep(&self, body: &mut Body, consumer: &Consumer, weights: &[String]) {
        let words = rows::words(body, self.attention.dtype, weights);
        for (slot, word) in consumer.weights.iter().zip(words) {
            body.set(slot, word);
        }
    }

    /// Stores the result of this warpgroup.
    fn finish(&self, body: &mut Body, consumer: &Consumer, place: &Place, (top, warp, lane): (&str, &str, &str)) {
        let attention = self.attention;
        let totals = consumer.rows.totals(body);
        let row = body.add(&place.row, consumer.down);
        let results = Results { attention, inner: self.inner, place, row: &row, column: consumer.along };
        let sums: Vec<String> = consumer.sums.iter().map(|slot| body.get(slot)).collect();
        let values = results.made(body, &sums, &totals);
        if !stores_by_map(attention) {
            return results.store(body, &values);
        }
        let barrier = body.add(consumer.group, 1);
        let mine = body.mul(consumer.group, panels(attention.columns) * ROWS * ROW);
        let mine = body.add(mine, self.shared.o_at);
        let mine = body.add(mine, "%base");
        // The row and chunk that this lane addresses: of four matrices, two are down and two along.
        let in_eight = body.and(lane, 7);
        let down = body.and(lane, 15);
        let warp_down = body.mul(warp, 16);
        let down = body.add(down, warp_down);
        let down = body.mul(down, ROW);
        let at = body.add(&mine, down);
        let along = body.shr(lane, 4);
        body.when("%lead", |body| body.run(&ptx::TMA_WAIT_READ_ALL, &[]));
        body.run(&ptx::SYNC_GROUP, &[&barrier, &GROUP]);
        for (pair, eight) in values.chunks(8).enumerate() {
            let mut words = rows::words(body, attention.out, eight);
            // A last half is stored twice.
            words.extend_from_within(..4 - words.len());
            let (panel, pair) = (pair as u32 / 4, pair as u32 % 4);
            let chunk = body.add(&along, pair * 2);
            let chunk = body.xor(chunk, &in_eight);
            let chunk = body.shl(chunk, 4);
            let at = body.add(&at, panel * ROWS * ROW);
            let at = body.add(at, chunk);
            body.run(&ptx::STORE_MATRICES, &[&at, &words[0], &words[1], &words[2], &words[3]]);
        }
        body.run(&ptx::PROXY_FENCE, &[]);
        body.run(&ptx::SYNC_GROUP, &[&barrier, &GROUP]);
        // A copy of rows that there are not does nothing.
        body.when("%lead", |body| {
            for panel in 0..panels(attention.columns) {
                let from = body.add(&mine, panel * ROWS * ROW);
                let x = panel * WIDE;
                body.run(&ptx::TMA_STORE_4, &[&"%map3", &from, &x, &top, &place.head, &place.batch]);
            }
            body.run(&ptx::TMA_COMMIT, &[]);
        });
    }
}
