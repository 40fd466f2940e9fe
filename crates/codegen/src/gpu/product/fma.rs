//! Products of f32 without tensor cores: each sum is of products and sums in f32, fused, in the order of the depth.
//!
//! A block makes 128 × 128 values of C, each of its 128 threads 8 × 16; or fewer, where there would be too few blocks, or columns.
//! Slices of A and B go through a ring of stages in shared memory. A row of a stage is what is at one depth, and a thread reads four
//! rows or columns of C at once: operands that have the depth inside are turned as they are copied, element by element, which costs
//! the copies four times the instructions, and what multiplies none. Rows are padded, so that what the threads of a warp copy at once
//! is in different banks.
//!
//! When all is summed up, each warp lays out its sums in shared memory, and goes over them in a loop, four side by side a thread:
//! so stores are wide, an epilogue is in the code four times in place of 128, and has the registers that the sums had.

use super::order::{Order, Place};
use super::result::Results;
use super::{Epilogue, Kernel, Launch, Layout, Operand, Product, SliceCopies};
use crate::CompileError;
use crate::gpu::Runner;
use crate::gpu::body::{Body, Slot};
use crate::gpu::copies::Stages;
use crate::gpu::ptx;
use svod_dtype::DType;

/// Elements by which a row of a stage, or of laid out sums, is padded.
const PADDING: u32 = 4;
/// Elements that are read from shared memory at once.
const FOUR: u32 = 4;
/// Neighbours along the depth that a warp copies at once where it turns an operand.
const TURNED: u32 = 8;
/// Bytes of an element.
const BYTES: u32 = 4;
/// Threads of a warp, one below the other, and side by side.
const DOWN_LANES: u32 = 8;
const ALONG_LANES: u32 = 4;
/// Rows that are made, by an epilogue, before any is stored.
const AT_ONCE: u32 = 4;

/// The shape of a kernel for f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FmaTile {
    /// Rows and columns of a block.
    pub tile: [u32; 2],
    /// Rows and columns of a thread, in fours that are a warp's apart.
    pub thread: [u32; 2],
    /// Depth of a stage: 8 or 16.
    pub depth: u32,
    /// Stages of the ring: 2 to 5.
    pub stages: u32,
    /// Blocks that a multiprocessor has at once, for which there are registers.
    pub resident: u32,
    /// Rows of tiles that are made together, so that the L2 cache holds what they share.
    pub rows_together: u32,
}

impl FmaTile {
    /// The tile of large products.
    pub const LARGE: FmaTile =
        FmaTile { tile: [128, 128], thread: [8, 16], depth: 8, stages: 4, resident: 2, rows_together: 16 };
    /// The tile of products with few of the large ones.
    pub const MEDIUM: FmaTile = FmaTile { tile: [128, 64], thread: [8, 8], resident: 3, ..FmaTile::LARGE };
    /// The tile of products with few of those.
    pub const SMALL: FmaTile = FmaTile { tile: [64, 64], thread: [4, 8], depth: 16, resident: 5, ..FmaTile::LARGE };
    /// The tile of products of few columns.
    pub const NARROW: FmaTile = FmaTile { tile: [128, 32], thread: [8, 4], depth: 16, resident: 5, ..FmaTile::LARGE };

    /// Rows and columns that a warp makes.
    fn warp(&self) -> [u32; 2] {
        [DOWN_LANES * self.thread[0], ALONG_LANES * self.thread[1]]
    }

    /// Warps of a block, one below the other and side by side.
    fn warps(&self) -> [u32; 2] {
        let warp = self.warp();
        [self.tile[0] / warp[0], self.tile[1] / warp[1]]
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        let [down, along] = self.warps();
        32 * down * along
    }

    /// Elements from one row of a stage to the next.
    fn row(&self, operand: Operand) -> u32 {
        PADDING + self.tile[usize::from(operand == Operand::B)]
    }

    /// Bytes of a stage of an operand.
    fn stage(&self, operand: Operand) -> u32 {
        self.depth * self.row(operand) * BYTES
    }

    /// Where the stages of an operand start.
    fn start(&self, operand: Operand) -> u32 {
        if operand == Operand::A { 0 } else { self.stages * self.stage(Operand::A) }
    }

    /// Elements from one row of a warp's sums to the next, where they are laid out.
    fn row_of_sums(&self) -> u32 {
        self.warp()[1] + PADDING
    }

    /// Bytes of a warp's sums.
    fn sums(&self) -> u32 {
        self.warp()[0] * self.row_of_sums() * BYTES
    }

    /// Bytes of shared memory: stages, then sums.
    fn shared(&self) -> u32 {
        let stages = self.stages * (self.stage(Operand::A) + self.stage(Operand::B));
        stages.max(self.sums() * self.threads() / 32)
    }
}

fn check(product: &Product, tile: &FmaTile) -> Result<(), CompileError> {
    if product.dtype != DType::F32 || !product.align.is_multiple_of(BYTES) {
        return Err(super::unsupported(format_args!("elements of {} by multiply-add of f32", product.dtype)));
    }
    if !matches!(product.out, DType::BF16 | DType::F16 | DType::F32) {
        return Err(super::unsupported(format_args!("a result of {} by multiply-add of f32", product.out)));
    }
    let known = [FmaTile::LARGE, FmaTile::MEDIUM, FmaTile::SMALL, FmaTile::NARROW];
    let known = known.iter().any(|k| (k.tile, k.thread) == (tile.tile, tile.thread)) && matches!(tile.depth, 8 | 16);
    if !known || !(2..=5).contains(&tile.stages) || tile.rows_together == 0 || tile.resident == 0 {
        return Err(super::unsupported(format_args!("{tile:?}")));
    }
    Ok(())
}

pub(super) fn render(
    product: &Product,
    tile: &FmaTile,
    epilogue: &dyn Epilogue,
    runner: Runner,
) -> Result<Kernel, CompileError> {
    check(product, tile)?;
    let writer = Writer { product, tile, epilogue };
    let mut body = Body::new(runner);
    writer.kernel(&mut body);
    let parameters = super::plain_parameters(product, epilogue);
    let align = if product.align.is_multiple_of(16) { 16 } else { BYTES };
    let [rows, columns] = tile.tile;
    let shape = format!("fma_{rows}x{columns}x{}_s{}_g{}_a{align}", tile.depth, tile.stages, tile.rows_together);
    let entry = super::name(product, &shape, epilogue);
    let annotations =
        [format!("!\"maxntidx\", i32 {}", tile.threads()), format!("!\"minctasm\", i32 {}", tile.resident)];
    let text = body.module(&entry, &super::declarations(&parameters, epilogue), &annotations, 0);
    let launch = Launch {
        entry,
        threads: tile.threads(),
        shared: tile.shared(),
        cluster: 1,
        tile: tile.tile,
        persistent: false,
        parameters,
        maps: Vec::new(),
    };
    Ok(Kernel { text, processor: "sm_80", runner, out: product.out, launch })
}

/// Writes a kernel. `%base` is where shared memory starts, `%slices` how many there are of the depth.
struct Writer<'a> {
    product: &'a Product,
    tile: &'a FmaTile,
    epilogue: &'a dyn Epilogue,
}

/// What a thread copies of an operand: pieces some rows of memory apart.
struct Copies {
    operand: Operand,
    layout: Layout,
    /// Elements of a piece: 4 or 1.
    width: u32,
    /// The first piece's row and first element in memory, from the slice's.
    row: String,
    element: String,
    /// Where it goes in a stage, in bytes, and how far the next piece is.
    at: String,
    next: u32,
    /// Rows from piece to piece, and pieces.
    step: u32,
    count: u32,
    /// How often there are as many, so many elements on in memory each time, and so many bytes in a stage.
    again: u32,
    elements: u32,
    bytes: u32,
}

/// Where a thread's values are: in the block, from its first row and column, and the warp's and the lane's parts of that.
struct Lane {
    down: String,
    along: String,
    /// In the warp.
    lane_down: String,
    lane_along: String,
    lane: String,
    warp: String,
    warp_down: String,
    warp_along: String,
}

impl Writer<'_> {
    fn kernel(&self, body: &mut Body) {
        let tile = self.tile;
        let thread = body.special("tid.x");
        let start = body.shared();
        body.line(format_args!("%base = add i32 {start}, 0"));
        let deep = body.add("%k", tile.depth - 1);
        body.line(format_args!("%slices = lshr i32 {deep}, {}", tile.depth.trailing_zeros()));
        let lane = self.lane(body, &thread);
        let copies = [self.copies(body, Operand::A, &thread), self.copies(body, Operand::B, &thread)];
        let [rows, columns] = tile.thread;
        let sums: Vec<Vec<Slot>> =
            (0..rows).map(|_| (0..columns).map(|_| body.slot("float", "0.0")).collect()).collect();
        let [rows, columns] = tile.tile;
        let order = Order { rows, columns, cluster: 1, split: 1, rows_together: tile.rows_together };
        order.tile(body, |body, place| {
            let starts = [self.first(body, &copies[0], place), self.first(body, &copies[1], place)];
            let whole = self.is_whole(body, place);
            let stages = Stages { stages: tile.stages, slices: "%slices", sync: &ptx::SYNC };
            stages.run_rolled(
                body,
                |body, slice, stage| self.copy(body, &copies, &starts, (place, &whole), slice, stage),
                |body, stage| self.products(body, stage, &lane, &sums),
            );
            self.finish(body, place, &lane, &sums);
        });
    }

    fn lane(&self, body: &mut Body, thread: &str) -> Lane {
        let lane = body.and(thread, 31);
        let warp = body.shr(thread, 5);
        let ([rows, columns], [_, beside]) = (self.tile.warp(), self.tile.warps());
        let (down, along) = (body.div(&warp, beside), body.rem(&warp, beside));
        let (warp_down, warp_along) = (body.mul(down, rows), body.mul(along, columns));
        let (down, along) = (body.div(&lane, ALONG_LANES), body.rem(&lane, ALONG_LANES));
        let (lane_down, lane_along) = (body.mul(down, FOUR), body.mul(along, FOUR));
        let (down, along) = (body.add(&warp_down, &lane_down), body.add(&warp_along, &lane_along));
        Lane { down, along, lane_down, lane_along, lane, warp, warp_down, warp_along }
    }

    /// Whether all rows and columns of a tile are inside.
    fn is_whole(&self, body: &mut Body, place: &Place) -> String {
        let [rows, columns] = self.tile.tile;
        let (below, beside) = (body.add(&place.row, rows), body.add(&place.column, columns));
        let (rows, columns) = (body.compare("ule", below, "%m"), body.compare("ule", beside, "%n"));
        body.both(rows, columns)
    }

    fn copies(&self, body: &mut Body, operand: Operand, thread: &str) -> Copies {
        let layout = if operand == Operand::A { self.product.a } else { self.product.b };
        let (depth, outer) = (self.tile.depth, self.tile.tile[operand as usize]);
        let of_stage = self.tile.row(operand);
        let aligned = self.product.align.is_multiple_of(FOUR * BYTES);
        let width = if layout == Layout::Outer && aligned { FOUR } else { 1 };
        let (rows, pieces) = match layout {
            Layout::Depth => (outer, TURNED),
            Layout::Outer => (depth, outer / width),
        };
        let step = self.tile.threads() / pieces;
        let row = body.div(thread, pieces);
        let element = body.rem(thread, pieces);
        let element = body.mul(element, width);
        // From one row of memory to the next, in a stage.
        let (across, along, apart) = match layout {
            Layout::Depth => (&element, &row, 1),
            Layout::Outer => (&row, &element, of_stage),
        };
        let at = body.mul(across, of_stage);
        let at = body.add(at, along);
        let at = body.mul(at, BYTES);
        let again = if layout == Layout::Depth { depth / TURNED } else { 1 };
        let (elements, bytes) = (TURNED, TURNED * of_stage * BYTES);
        let next = BYTES * step * apart;
        Copies { operand, layout, width, row, element, at, next, step, count: rows / step, again, elements, bytes }
    }

    fn first(&self, body: &mut Body, copies: &Copies, place: &Place) -> String {
        let Copies { operand, layout, row, element, .. } = copies;
        super::first_address(body, self.product, *operand, *layout, place, (row, element))
    }

    /// Copies a thread's parts of slices to a stage: where all of them are inside, without asking for each piece.
    fn copy(
        &self,
        body: &mut Body,
        copies: &[Copies; 2],
        starts: &[String; 2],
        (place, whole): (&Place, &str),
        slice: &str,
        stage: &str,
    ) {
        let first = body.mul(slice, self.tile.depth);
        let end = body.add(first, self.tile.depth);
        let deep = body.compare("ule", end, "%k");
        let whole = body.both(deep, whole);
        let outers = [&place.row, &place.column];
        let each = |body: &mut Body, whole: bool| {
            for i in 0..2 {
                self.copy_operand(body, &copies[i], (&starts[i], outers[i]), (slice, stage), whole);
            }
        };
        body.either(whole, |body| each(body, true), |body| each(body, false));
    }

    fn copy_operand(
        &self,
        body: &mut Body,
        copies: &Copies,
        (start, outer): (&str, &str),
        (slice, stage): (&str, &str),
        whole: bool,
    ) {
        let operand = copies.operand;
        let piece = if copies.width == FOUR { &ptx::COPY_16 } else { &ptx::COPY_4 };
        for again in 0..copies.again {
            let element = body.add(&copies.element, again * copies.elements);
            let at = body.add(&copies.at, again * copies.bytes);
            let elements = (again * copies.elements).to_string();
            let start = super::element_of(body, self.product.dtype, start, &elements);
            let slices = SliceCopies {
                operand,
                layout: copies.layout,
                row: &copies.row,
                element: &element,
                width: copies.width,
                unit: BYTES,
                depth: self.tile.depth,
                stage: self.tile.stage(operand),
                start: self.tile.start(operand),
                at: &at,
                step: copies.step,
                next: copies.next,
                count: copies.count,
                whole,
            };
            slices.run(body, self.product.dtype, (&start, outer), (slice, stage), |body, source, to, left| {
                body.run(piece, &[&to, &source, &left]);
            });
        }
    }

    /// The products of a stage.
    fn products(&self, body: &mut Body, stage: &str, lane: &Lane, sums: &[Vec<Slot>]) {
        let mut values: Vec<Vec<String>> =
            sums.iter().map(|sums| sums.iter().map(|sum| body.get(sum)).collect()).collect();
        let a = self.factors(body, stage, Operand::A, &lane.down);
        let b = self.factors(body, stage, Operand::B, &lane.along);
        for depth in 0..self.tile.depth {
            let rows = self.read(body, &a, Operand::A, depth);
            let columns = self.read(body, &b, Operand::B, depth);
            for (i, (row, values)) in rows.iter().zip(&mut values).enumerate() {
                // There and back, so that each has a factor of the one before.
                let there = columns.iter().zip(values.iter_mut());
                let products: Vec<_> = if i % 2 == 0 { there.collect() } else { there.rev().collect() };
                for (column, value) in products {
                    *value = body.fma(row, column, &*value);
                }
            }
        }
        for (sum, value) in sums.iter().flatten().zip(values.iter().flatten()) {
            body.set(sum, value);
        }
    }

    /// Where a thread's rows or columns of a stage start.
    fn factors(&self, body: &mut Body, stage: &str, operand: Operand, first: &str) -> String {
        let stage = body.mul(stage, self.tile.stage(operand));
        let start = body.add(stage, self.tile.start(operand));
        let start = body.add(start, "%base");
        let first = body.mul(first, BYTES);
        body.add(start, first)
    }

    /// A thread's rows or columns at a depth.
    fn read(&self, body: &mut Body, start: &str, operand: Operand, depth: u32) -> Vec<String> {
        let lanes = if operand == Operand::A { DOWN_LANES } else { ALONG_LANES };
        let fours = self.tile.thread[operand as usize] / FOUR;
        let read = |four: u32| {
            let at = body.add(start, BYTES * (depth * self.tile.row(operand) + four * lanes * FOUR));
            body.ask_all(&ptx::LOAD_SHARED, &[&at])
        };
        (0..fours).flat_map(read).collect()
    }

    /// Lays out the sums, and makes what is stored of them.
    fn finish(&self, body: &mut Body, place: &Place, lane: &Lane, sums: &[Vec<Slot>]) {
        // All stages have been read by all.
        body.run(&ptx::SYNC, &[]);
        let start = body.mul(&lane.warp, self.tile.sums());
        let start = body.add(start, "%base");
        let row = self.tile.row_of_sums();
        let first = body.mul(&lane.lane_down, row);
        let first = body.add(first, &lane.lane_along);
        let first = body.mul(first, BYTES);
        let first = body.add(first, &start);
        for (i, sums) in sums.iter().enumerate() {
            let i = i as u32;
            let down = i % FOUR + i / FOUR * DOWN_LANES * FOUR;
            for (four, sums) in (0..).zip(sums.chunks(FOUR as usize)) {
                let at = body.add(&first, BYTES * (down * row + four * ALONG_LANES * FOUR));
                let values: Vec<String> = sums.iter().map(|sum| body.get(sum)).collect();
                let words: Vec<String> =
                    values.iter().map(|value| body.value(format_args!("bitcast float {value} to i32"))).collect();
                body.run(&ptx::STORE_SHARED, &[&at, &words[0], &words[1], &words[2], &words[3]]);
            }
        }
        body.run(&ptx::SYNC_WARP, &[]);
        // A row of the warp's is that of some threads, so that all have some rows of four columns.
        let [rows, columns] = self.tile.warp();
        let beside = columns / FOUR;
        let below = 32 / beside;
        let (down, along) = (body.div(&lane.lane, beside), body.rem(&lane.lane, beside));
        let along = body.mul(along, FOUR);
        let from = body.mul(&down, row);
        let from = body.add(from, &along);
        let from = body.mul(from, BYTES);
        let from = body.add(from, start);
        let column = body.add(&place.column, &lane.warp_along);
        let column = body.add(column, along);
        let top = body.add(&place.row, &lane.warp_down);
        let top = body.add(top, down);
        let results = Results { product: self.product, epilogue: self.epilogue };
        body.repeat(0, rows, below * AT_ONCE, |body, i| {
            let from_row = body.mul(i, BYTES * row);
            let from = body.add(&from, from_row);
            let top = body.add(&top, i);
            let values: Vec<(String, Vec<String>)> = (0..AT_ONCE)
                .map(|n| {
                    let at = body.add(&from, n * below * row * BYTES);
                    (body.add(&top, n * below), body.ask_all(&ptx::LOAD_SHARED, &[&at]))
                })
                .collect();
            results.store_fours(body, place, &column, &values);
        });
    }
}
