//! Attention of few rows, from sm_80 on: what counts is how fast keys and values come.
//!
//! A block takes a part of the keys for up to 16 rows of a head. Each of its warps goes by itself over tiles of K and V, which it
//! copies into a ring of its own; at the end, the warps' results are put together through shared memory and stored in scratch memory.
//! A second kernel puts the parts together. Where keys are not split, the first kernel stores the result.
//!
//! Scratch memory: for each row of O and each part, the maximum as an exponent of 2 and the sum of weights, then the weighted sums.

use super::order::{self, Place, Span};
use super::rows::{self, Rows};
use super::warp::{self, ROWS, Tile, WARP, Warp};
use super::{Attention, Element, Inner, Kernel, Launch, Operand, Parameter, Plan, Size, Sizes, unsupported};
use crate::CompileError;
use crate::gpu::Runner;
use crate::gpu::body::{Body, element_of};
use crate::gpu::copies::Stages;
use crate::gpu::ptx;
use svod_dtype::DType;

/// Bytes that a block may use at most.
const SHARED: u32 = 232_448;
/// Threads of a block that puts parts together, and most parts that there may be.
const TOGETHER: u32 = 128;
/// Parts whose sums a thread loads at one time.
const AHEAD: u32 = 8;

/// The shape of a kernel for few rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DecodeTile {
    /// Warps of a block.
    pub warps: u32,
    /// Keys of a tile of a warp: a multiple of 16.
    pub keys: u32,
    /// Stages of a warp's ring.
    pub stages: u32,
    /// Whether keys are split among blocks.
    pub split: bool,
}

impl DecodeTile {
    /// Rows of a block.
    pub const ROWS: u32 = ROWS;

    /// The tile of an attention, in the shared memory of any GPU from sm_80 on.
    pub fn of(attention: &Attention) -> DecodeTile {
        let tile = DecodeTile { warps: 4, keys: 16, stages: 3, split: true };
        if attention.depth.max(attention.columns) <= 128 { tile } else { DecodeTile { warps: 2, ..tile } }
    }

    /// Parts that keys are split into, so that blocks fill all multiprocessors, two of them each, about evenly.
    fn splits(&self, tiles: u32, keys: u32, multiprocessors: u32) -> u32 {
        if !self.split {
            return 1;
        }
        let slots = u64::from(2 * multiprocessors.max(1));
        let tiles = u64::from(tiles.max(1));
        // At least four tiles for each warp.
        let most = u64::from(keys.div_ceil(4 * self.keys * self.warps)).clamp(1, u64::from(TOGETHER));
        let busy = |splits: u64| {
            let blocks = tiles * splits;
            blocks as f64 / (blocks.div_ceil(slots) * slots) as f64
        };
        let best = (1..=most).map(busy).fold(0.0, f64::max);
        (1..=most).find(|splits| busy(*splits) >= 0.95 * best).unwrap_or(1) as u32
    }

    pub(super) fn plan(&self, attention: &Attention, sizes: &Sizes, multiprocessors: u32) -> Plan {
        let tiles = order::tiles(sizes, Self::ROWS);
        let splits = self.splits(tiles, sizes.keys, multiprocessors);
        if !self.split {
            return Plan { blocks: [tiles.max(1), 0], splits, scratch: 0 };
        }
        let rows = order::tiles(sizes, 1);
        let floats = u64::from(rows) * u64::from(splits) * u64::from(attention.columns + 2);
        Plan { blocks: [(tiles * splits).max(1), rows.max(1)], splits, scratch: 4 * floats }
    }

    /// Bytes of a warp's ring.
    fn ring(&self, attention: &Attention) -> u32 {
        let [k, v] = [Operand::K, Operand::V].map(|operand| Tile::of(attention, operand, self.keys).bytes());
        self.stages * (k + v)
    }

    /// Bytes of a warp's part of shared memory: its ring, then its result.
    fn part(&self, attention: &Attention) -> u32 {
        self.ring(attention).max(ROWS * Self::row(attention) + ROWS * 8)
    }

    /// Bytes of a row of a warp's result: eight of them lie in different banks.
    fn row(attention: &Attention) -> u32 {
        attention.columns.next_multiple_of(32) * 4 + 32
    }
}

fn check(attention: &Attention, tile: &DecodeTile) -> Result<(), CompileError> {
    let known = (1..=8).contains(&tile.warps)
        && matches!(tile.keys, 16 | 32 | 48 | 64)
        && (2..=5).contains(&tile.stages)
        && attention.align.is_multiple_of(2);
    let bytes = if known { tile.warps * tile.part(attention) } else { 0 };
    if !known || bytes > SHARED {
        return Err(unsupported(format_args!("{tile:?}: {bytes} bytes of shared memory")));
    }
    Ok(())
}

pub(super) fn render(
    attention: &Attention,
    tile: &DecodeTile,
    inner: &Inner,
    runner: Runner,
) -> Result<Vec<Kernel>, CompileError> {
    check(attention, tile)?;
    let mut body = Body::new(runner);
    parts(&mut body, attention, tile, inner);
    let mut parameters: Vec<Parameter> =
        [Operand::Q, Operand::K, Operand::V].into_iter().flat_map(super::pointer).collect();
    if tile.split {
        parameters.extend([Parameter::Scratch, Parameter::Splits]);
    } else {
        parameters.extend(super::pointer(Operand::O));
    }
    parameters.extend(super::numbers(attention, inner));
    let (align, whole) = (super::alignment(attention.align), if tile.split { "" } else { "_whole" });
    let words = format!("decode{}x{}_s{}_a{align}{whole}", tile.warps, tile.keys, tile.stages);
    let shared = tile.warps * tile.part(attention);
    let first = finished(body, attention, inner, (&words, tile.warps * WARP, shared), parameters, runner);
    if !tile.split {
        return Ok(vec![first]);
    }

    let mut body = Body::new(runner);
    together(&mut body, attention, inner);
    let mut parameters = super::pointer(Operand::O).to_vec();
    parameters.extend([Parameter::Scratch, Parameter::Splits]);
    parameters.extend([Size::Batch, Size::Heads, Size::Rows].map(Parameter::Size));
    parameters.extend((0..inner.epilogue.parameters().len()).map(Parameter::Epilogue));
    let second = finished(body, attention, inner, ("together", TOGETHER, 8 * TOGETHER), parameters, runner);
    Ok(vec![first, second])
}

fn finished(
    body: Body,
    attention: &Attention,
    inner: &Inner,
    (words, threads, shared): (&str, u32, u32),
    parameters: Vec<Parameter>,
    runner: Runner,
) -> Kernel {
    let entry = super::name(attention, words, inner);
    let annotations = [format!("!\"maxntidx\", i32 {threads}"), "!\"minctasm\", i32 1".into()];
    let text = body.module(&entry, &super::declarations(&parameters, inner), &annotations, 0);
    let launch = Launch { entry, threads, shared, parameters, maps: Vec::new() };
    Kernel { text, processor: "sm_80", runner, launch }
}

/// The first kernel. `%base` is where shared memory starts.
fn parts(body: &mut Body, attention: &Attention, tile: &DecodeTile, inner: &Inner) {
    let thread = body.special("tid.x");
    let start = body.shared();
    body.line(format_args!("%base = add i32 {start}, 0"));
    rows::scales(body, inner);
    let number = body.shr(&thread, 5);
    let number = body.ask(&ptx::UNIFORM, &[&number]);
    let warp = Warp::new(body, attention, inner, tile.keys, &thread, "0");
    let block = body.special("ctaid.x");
    let splits = if tile.split { "%splits" } else { "1" };
    let split = body.rem(&block, splits);
    let at = body.div(&block, splits);
    let place = place(body, &at);
    let inside = body.compare("ult", &place.batch, "%batch");
    body.when(inside, |body| {
        let span = Span::of(body, attention, tile.keys, (&place.row, ROWS), &place.row);
        // Tiles of this part; of these, each warp has one in so many.
        let up = body.add(&span.tiles, splits);
        let up = body.sub(up, 1);
        let each = body.div(up, splits);
        let first = body.mul(&split, &each);
        let end = body.add(&first, &each);
        let end = body.min(end, &span.tiles);
        let first = body.add(first, &number);
        let some = body.compare("ult", &first, &end);
        let count = body.sub(end, &first);
        let count = body.ceil_div(count, tile.warps);
        let count = body.select(some, count, 0);
        let part = body.mul(&number, tile.part(attention));
        let part = body.add(part, "%base");
        keys(body, tile, &warp, &place, &span, (&first, &count), &part);
        body.run(&ptx::SYNC, &[]);
        leave(body, attention, &warp, &part);
        body.run(&ptx::SYNC, &[]);
        merge(body, tile, &warp, &place, &split, &thread);
    });
}

/// The head and the rows of a tile, of all heads of a batch.
fn place(body: &mut Body, at: &str) -> Place {
    let tiles = body.ceil_div("%rows", ROWS);
    let row = body.rem(at, &tiles);
    let row = body.mul(row, ROWS);
    let head = body.div(at, &tiles);
    let batch = body.div(&head, "%heads");
    let head = body.rem(head, "%heads");
    let key_head = body.div(&head, "%group");
    Place { batch, head, key_head, row }
}

/// What a warp does with its tiles of keys: `count` of them from `first` on, as many apart as there are warps.
fn keys(
    body: &mut Body,
    tile: &DecodeTile,
    warp: &Warp,
    place: &Place,
    span: &Span,
    (first, count): (&str, &str),
    part: &str,
) {
    let (k, v) = (warp.k, warp.v);
    let starts = ["k", "v"].map(|operand| warp::start(body, warp.attention, operand, place));
    let queries = warp.queries(body, place);
    let tile_of = |body: &mut Body, slice: &str| {
        let slice = body.mul(slice, tile.warps);
        body.add(slice, first)
    };
    let place_of = |body: &mut Body, stage: &str| {
        let at = body.mul(stage, k.bytes() + v.bytes());
        let k_at = body.add(part, at);
        let v_at = body.add(&k_at, k.bytes());
        (k_at, v_at)
    };
    let stages = Stages { stages: tile.stages, slices: count, sync: &ptx::SYNC_WARP };
    stages.run(
        body,
        |body, slice, stage| {
            let at = tile_of(body, slice);
            let key = body.mul(at, tile.keys);
            let (k_at, v_at) = place_of(body, stage);
            k.copy(body, warp.attention, &starts[0], (&warp.lane, WARP), &key, &k_at);
            v.copy(body, warp.attention, &starts[1], (&warp.lane, WARP), &key, &v_at);
        },
        |body, slice, stage| {
            let at = tile_of(body, slice);
            let key = body.mul(&at, tile.keys);
            let (k_at, v_at) = place_of(body, stage);
            let full = body.compare("ult", &at, &span.full);
            warp.step(body, place, &queries, (&k_at, &v_at), (&key, &full));
        },
    );
}

/// Leaves a warp's result in its part of shared memory: sums of rows, then maxima and totals.
fn leave(body: &mut Body, attention: &Attention, warp: &Warp, part: &str) {
    let Rows { max, .. } = &warp.rows;
    let totals = warp.rows.totals(body);
    let quad = body.shr(&warp.lane, 2);
    let column = body.mul(&warp.along, 4);
    for (half, total) in totals.iter().enumerate() {
        let row = body.add(&quad, 8 * half);
        let at = body.mul(&row, DecodeTile::row(attention));
        let at = body.add(at, &column);
        let at = body.add(at, part);
        for (j, four) in warp.sums.chunks(4).enumerate() {
            let at = body.add(&at, 32 * j);
            let two = [body.get(&four[2 * half]), body.get(&four[2 * half + 1])];
            body.run(&ptx::STORE_SHARED_PAIR, &[&at, &two[0], &two[1]]);
        }
        let max = body.get(&max[half]);
        let max = rows::times(body, &max, "%scale2");
        let at = body.mul(&row, 8);
        let at = body.add(at, ROWS * DecodeTile::row(attention));
        let at = body.add(at, part);
        body.run(&ptx::STORE_SHARED_PAIR, &[&at, &max, total]);
    }
}

/// Where the numbers of a row and a part are in scratch memory: its maximum and total, and its sums.
fn scratch(body: &mut Body, columns: u32, place: [&str; 3], split: &str) -> [String; 2] {
    let [batch, head, row] = place;
    let all = body.mul("%batch", "%heads");
    let all = body.mul(all, "%rows");
    let at = body.mul(batch, "%heads");
    let at = body.add(at, head);
    let at = body.mul(at, "%rows");
    let at = body.add(at, row);
    let [all, at, splits, split] = [&all, &at, "%splits", split].map(|n| body.wide(n));
    let at = body.offset(split, at, &splits);
    let pair = body.value(format_args!("mul i64 {at}, 2"));
    let all = body.value(format_args!("mul i64 {all}, {splits}"));
    let sums = body.value(format_args!("mul i64 {all}, 2"));
    let sums = body.offset(sums, at, columns);
    [pair, sums].map(|at| element_of(body, DType::F32, "%scratch", &at))
}

/// Puts the warps' results together, and stores them.
fn merge(body: &mut Body, tile: &DecodeTile, warp: &Warp, place: &Place, split: &str, thread: &str) {
    let (attention, inner) = (warp.attention, warp.inner);
    let (row_bytes, threads) = (DecodeTile::row(attention), tile.warps * WARP);
    let fours = attention.columns / 4;
    body.repeat(thread, ROWS * fours, threads, |body, at| {
        let (down, four) = (body.div(at, fours), body.rem(at, fours));
        let row = body.add(&place.row, &down);
        let inside = body.compare("ult", &row, "%rows");
        body.when(inside, |body| {
            let along = body.mul(&four, 16);
            let sums_at = body.mul(&down, row_bytes);
            let sums_at = body.add(sums_at, along);
            let sums_at = body.add(sums_at, "%base");
            let pair_at = body.mul(&down, 8);
            let pair_at = body.add(pair_at, "%base");
            let pair_at = body.add(pair_at, ROWS * row_bytes);
            let pairs: Vec<Vec<String>> = (0..tile.warps)
                .map(|warp| {
                    let at = body.add(&pair_at, warp * tile.part(attention));
                    body.ask_all(&ptx::LOAD_SHARED_PAIR, &[&at])
                })
                .collect();
            let max = pairs.iter().map(|pair| pair[0].clone()).reduce(|a, b| body.max(a, b)).expect("there are warps");
            let shift = rows::seen(body, &max);
            let mut total = "0.0".to_owned();
            let mut sums = vec!["0.0".to_owned(); 4];
            for (warp, pair) in pairs.iter().enumerate() {
                let exponent = body.value(format_args!("fsub float {}, {shift}", pair[0]));
                let factor = body.ask(&ptx::EXP2, &[&exponent]);
                total = body.fma(&pair[1], &factor, total);
                let at = body.add(&sums_at, warp as u32 * tile.part(attention));
                let loaded = body.ask_all(&ptx::LOAD_SHARED, &[&at]);
                for (sum, loaded) in sums.iter_mut().zip(loaded) {
                    *sum = body.fma(&loaded, &factor, &*sum);
                }
            }
            let column = body.mul(&four, 4);
            if !tile.split {
                let Place { batch, head, .. } = place;
                for (i, sum) in sums.iter().enumerate() {
                    let column = body.add(&column, i);
                    let element = Element { batch, head, row: &row, column: &column, sum, total: &total };
                    store(body, attention, inner, element);
                }
                return;
            }
            let [pair, start] = scratch(body, attention.columns, [&place.batch, &place.head, &row], split);
            let column = body.wide(column);
            let to = element_of(body, DType::F32, &start, &column);
            for (i, two) in sums.chunks(2).enumerate() {
                let to = element_of(body, DType::F32, &to, &(2 * i).to_string());
                body.run(&ptx::STORE_F32_PAIR, &[&to, &two[0], &two[1], &1]);
            }
            let first = body.compare("eq", &four, 0);
            body.when(first, |body| body.run(&ptx::STORE_F32_PAIR, &[&pair, &max, &total, &1]));
        });
    });
}

/// The second kernel: a block for each row. `%base` is where shared memory starts: maxima and totals of the parts.
fn together(body: &mut Body, attention: &Attention, inner: &Inner) {
    let thread = body.special("tid.x");
    let at = body.special("ctaid.x");
    let start = body.shared();
    body.line(format_args!("%base = add i32 {start}, 0"));
    let row = body.rem(&at, "%rows");
    let head = body.div(&at, "%rows");
    let batch = body.div(&head, "%heads");
    let head = body.rem(head, "%heads");
    let pair_at = |body: &mut Body, split: &str| {
        let at = body.mul(split, 8);
        body.add(at, "%base")
    };
    let inside = body.compare("ult", &batch, "%batch");
    body.when(inside, |body| {
        let mine = body.compare("ult", &thread, "%splits");
        body.when(mine, |body| {
            let [pair, _] = scratch(body, attention.columns, [&batch, &head, &row], &thread);
            let total = element_of(body, DType::F32, &pair, "1");
            let two = [pair, total].map(|from| body.ask(&ptx::LOAD_F32, &[&from]));
            let to = pair_at(body, &thread);
            body.run(&ptx::STORE_SHARED_PAIR, &[&to, &two[0], &two[1]]);
        });
        body.run(&ptx::SYNC, &[]);
        let max = body.slot("float", rows::LOWEST);
        body.repeat(0, "%splits", 1, |body, split| {
            let from = pair_at(body, split);
            let pair = body.ask_all(&ptx::LOAD_SHARED_PAIR, &[&from]);
            let old = body.get(&max);
            let new = body.max(old, &pair[0]);
            body.set(&max, new);
        });
        let shift = body.get(&max);
        let shift = rows::seen(body, &shift);
        body.repeat(&thread, attention.columns, TOGETHER, |body, column| {
            let (sum, total) = (body.slot("float", "0.0"), body.slot("float", "0.0"));
            body.repeat(0, "%splits", AHEAD, |body, first| {
                let wide = body.wide(column);
                let loaded: Vec<(String, String)> = (0..AHEAD)
                    .map(|i| {
                        let split = body.add(first, i);
                        let some = body.compare("ult", &split, "%splits");
                        let some = body.value(format_args!("zext i1 {some} to i32"));
                        let [_, start] = scratch(body, attention.columns, [&batch, &head, &row], &split);
                        let from = element_of(body, DType::F32, &start, &wide);
                        let value = body.ask(&ptx::LOAD_B32, &[&from, &some]);
                        (split, body.value(format_args!("bitcast i32 {value} to float")))
                    })
                    .collect();
                for (split, value) in loaded {
                    let some = body.compare("ult", &split, "%splits");
                    body.when(some, |body| {
                        let from = pair_at(body, &split);
                        let pair = body.ask_all(&ptx::LOAD_SHARED_PAIR, &[&from]);
                        let exponent = body.value(format_args!("fsub float {}, {shift}", pair[0]));
                        let factor = body.ask(&ptx::EXP2, &[&exponent]);
                        for (slot, part) in [(&total, &pair[1]), (&sum, &value)] {
                            let old = body.get(slot);
                            let new = body.fma(part, &factor, old);
                            body.set(slot, new);
                        }
                    });
                }
            });
            let (sum, total) = (body.get(&sum), body.get(&total));
            let element = Element { batch: &batch, head: &head, row: &row, column, sum: &sum, total: &total };
            store(body, attention, inner, element);
        });
    });
}

/// Stores a value of the result.
fn store(body: &mut Body, attention: &Attention, inner: &Inner, element: Element) {
    let value = if inner.epilogue.plain() {
        body.value(format_args!("fdiv float {}, {}", element.sum, element.total))
    } else {
        inner.epilogue.apply(body, element)
    };
    let start = rows::address(body, attention.out, "o", (element.batch, element.head, element.row));
    let column = body.wide(element.column);
    let to = element_of(body, attention.out, &start, &column);
    if attention.out == DType::F32 {
        return body.run(&ptx::STORE_F32, &[&to, &value, &1]);
    }
    let word = rows::pack(body, attention.out, &[value.clone(), value]);
    body.run(&ptx::STORE_B16, &[&to, &word, &1]);
}
