//! Products of f32 without tensor cores: each sum is of products and sums in f32, fused, in the order of the depth.
//!
//! A block makes 128 × 128 values of C, each of its 256 threads 8 × 8; or 64 × 64, each of 128 threads 4 × 8, where there would be
//! too few blocks. Slices of A and B, 16 deep, go through a ring of stages in shared memory.
//!
//! A row of a stage is what is at one depth, and a thread reads four rows or columns of C at once ([`Stage::Across`]). Where an operand has
//! the depth inside, and is aligned to four elements, a row is all depths of one row or column of C, and a thread reads four
//! depths at once ([`Stage::Along`]); elsewhere it is copied element by element. Rows are padded and swizzled, so that what eight threads
//! read or write at once is in different banks.

use super::order::{Order, Place};
use super::result::Results;
use super::{Epilogue, Kernel, Launch, Layout, Operand, Product, SliceCopies};
use crate::CompileError;
use crate::gpu::Runner;
use crate::gpu::body::{Body, Slot};
use crate::gpu::copies::Stages;
use crate::gpu::ptx;
use svod_dtype::DType;

/// Depth of a stage.
const DEPTH: u32 = 16;
/// Elements by which a row of a stage is padded.
const PADDING: u32 = 4;
/// Elements that are read from shared memory at once.
const FOUR: u32 = 4;
/// Rows of a stage that have their chunks of four depths in the same order; eight rows, from four to four, are in different banks then.
const SAME_ORDER: u32 = 8;
/// Bytes of an element.
const BYTES: u32 = 4;
/// Values that a thread makes side by side: 4, and 4 more half a warp's columns away. Their rows are in fours as well.
const ALONG: u32 = 8;
/// Threads of a warp, one below the other, and side by side.
const DOWN_LANES: u32 = 4;
const ALONG_LANES: u32 = 8;

/// The shape of a kernel for f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FmaTile {
    /// Rows, and columns, of a block: 64 or 128.
    pub tile: u32,
    /// Rows of a thread: 4 or 8. Of columns it has 8.
    pub rows: u32,
    /// Stages of the ring: 2 to 5.
    pub stages: u32,
    /// Rows of tiles that are made together, so that the L2 cache holds what they share.
    pub rows_together: u32,
}

impl FmaTile {
    /// The tile of large products.
    pub const LARGE: FmaTile = FmaTile { tile: 128, rows: 8, stages: 3, rows_together: 16 };
    /// The tile of products with few of the large ones.
    pub const SMALL: FmaTile = FmaTile { tile: 64, rows: 4, stages: 4, rows_together: 16 };

    /// Bytes of a stage of one operand, of either kind.
    fn stage(&self) -> u32 {
        Stage::ALL.map(|stage| stage.rows(self) * stage.row(self) * BYTES).into_iter().fold(0, u32::max)
    }

    /// Rows and columns that a warp makes.
    fn warp(&self) -> [u32; 2] {
        [DOWN_LANES * self.rows, ALONG_LANES * ALONG]
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.tile * self.tile / (self.rows * ALONG)
    }
}

/// How a slice of an operand is in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A row is what is at one depth.
    Across,
    /// A row is what has one row or column of C.
    Along,
}

impl Stage {
    const ALL: [Stage; 2] = [Stage::Across, Stage::Along];

    fn of(product: &Product, layout: Layout) -> Stage {
        let whole = layout == Layout::Depth && product.align.is_multiple_of(FOUR * BYTES);
        if whole { Stage::Along } else { Stage::Across }
    }

    fn rows(self, tile: &FmaTile) -> u32 {
        if self == Stage::Across { DEPTH } else { tile.tile }
    }

    /// Elements from one row to the next.
    fn row(self, tile: &FmaTile) -> u32 {
        PADDING + if self == Stage::Across { tile.tile } else { DEPTH }
    }
}

fn check(product: &Product, tile: &FmaTile) -> Result<(), CompileError> {
    if product.dtype != DType::F32 || !product.align.is_multiple_of(BYTES) {
        return Err(super::unsupported(format_args!("elements of {} by multiply-add of f32", product.dtype)));
    }
    if !matches!(product.out, DType::BF16 | DType::F16 | DType::F32) {
        return Err(super::unsupported(format_args!("a result of {} by multiply-add of f32", product.out)));
    }
    let known = matches!(tile.tile, 64 | 128) && matches!(tile.rows, 4 | 8);
    if !known || !(2..=5).contains(&tile.stages) || tile.rows_together == 0 {
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
    let shape = format!("fma_{}x{}_s{}_g{}_a{align}", tile.tile, tile.rows, tile.stages, tile.rows_together);
    let entry = super::name(product, &shape, epilogue);
    // Threads of an SM, at 128 registers each.
    let blocks = 512 / tile.threads();
    let annotations = [format!("!\"maxntidx\", i32 {}", tile.threads()), format!("!\"minctasm\", i32 {blocks}")];
    let text = body.module(&entry, &super::declarations(&parameters, epilogue), &annotations, 0);
    let launch = Launch {
        entry,
        threads: tile.threads(),
        shared: 2 * tile.stages * tile.stage(),
        cluster: 1,
        tile: [tile.tile; 2],
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
}

impl Writer<'_> {
    fn kernel(&self, body: &mut Body) {
        let tile = self.tile;
        let thread = body.special("tid.x");
        let start = body.shared();
        body.line(format_args!("%base = add i32 {start}, 0"));
        let deep = body.add("%k", DEPTH - 1);
        body.line(format_args!("%slices = lshr i32 {deep}, {}", DEPTH.trailing_zeros()));
        // Warps make 32 x 64 or 16 x 64, lanes 4 x 4 of each 16 x 32 in that.
        let lane = body.and(&thread, 31);
        let warp = body.shr(&thread, 5);
        let [rows, columns] = tile.warp();
        let beside = tile.tile / columns;
        let (down, along) = (body.div(&warp, beside), body.rem(&warp, beside));
        let (down, along) = (body.mul(down, rows), body.mul(along, columns));
        let (lane_down, lane_along) = (body.shr(&lane, 3), body.and(&lane, 7));
        let (lane_down, lane_along) = (body.mul(lane_down, 4), body.mul(lane_along, 4));
        let (down, along) = (body.add(down, lane_down), body.add(along, lane_along));
        let copies = [self.copies(body, Operand::A, &thread), self.copies(body, Operand::B, &thread)];
        let sums: Vec<Vec<Slot>> =
            (0..tile.rows).map(|_| (0..ALONG).map(|_| body.slot("float", "0.0")).collect()).collect();
        let order =
            Order { rows: tile.tile, columns: tile.tile, cluster: 1, split: 1, rows_together: tile.rows_together };
        order.tile(body, |body, place| {
            let starts = [self.start(body, &copies[0], place), self.start(body, &copies[1], place)];
            let outers = [&place.row, &place.column];
            let stages = Stages { stages: tile.stages, slices: "%slices", sync: &ptx::SYNC };
            stages.run(
                body,
                |body, slice, stage| {
                    for i in 0..2 {
                        self.copy(body, &copies[i], &starts[i], outers[i], slice, stage);
                    }
                },
                |body, _, stage| self.products(body, stage, (&down, &along), &sums),
            );
            self.finish(body, place, (&down, &along), &sums);
        });
    }

    fn copies(&self, body: &mut Body, operand: Operand, thread: &str) -> Copies {
        let layout = if operand == Operand::A { self.product.a } else { self.product.b };
        let stage = Stage::of(self.product, layout);
        let width = if self.product.align.is_multiple_of(FOUR * BYTES) { FOUR } else { 1 };
        let (rows, elements) = match layout {
            Layout::Depth => (self.tile.tile, DEPTH),
            Layout::Outer => (DEPTH, self.tile.tile),
        };
        let pieces = elements / width;
        let step = self.tile.threads() / pieces;
        let row = body.div(thread, pieces);
        let element = body.rem(thread, pieces);
        let element = body.mul(element, width);
        let of_stage = stage.row(self.tile);
        let cell = |body: &mut Body, row: &str, element: &str| {
            let at = body.mul(row, of_stage);
            body.add(at, element)
        };
        // Of a copy of four, rows are those of the stage; element by element, the depth goes across.
        let (at, next) = match (layout, stage) {
            (Layout::Outer, _) => (cell(body, &row, &element), of_stage),
            (Layout::Depth, Stage::Across) => (cell(body, &element, &row), 1),
            (Layout::Depth, Stage::Along) => {
                // All rows of a thread have the same order.
                let order = body.div(&row, SAME_ORDER);
                let order = body.and(order, DEPTH / FOUR - 1);
                let order = body.mul(order, FOUR);
                let swizzled = body.xor(&element, order);
                (cell(body, &row, &swizzled), of_stage)
            }
        };
        let at = body.mul(at, BYTES);
        let next = BYTES * step * next;
        Copies { operand, layout, width, row, element, at, next, step, count: rows / step }
    }

    fn start(&self, body: &mut Body, copies: &Copies, place: &Place) -> String {
        let Copies { operand, layout, row, element, .. } = copies;
        super::first_address(body, self.product, *operand, *layout, place, (row, element))
    }

    /// Copies a thread's part of a slice to a stage.
    fn copy(&self, body: &mut Body, copies: &Copies, start: &str, outer: &str, slice: &str, stage: &str) {
        let Copies { operand, layout, width, row, element, at, next, step, count } = copies;
        let (start_of, piece) = (self.at(*operand), if *width == 4 { &ptx::COPY_16 } else { &ptx::COPY_4 });
        let slices = SliceCopies {
            operand: *operand,
            layout: *layout,
            row,
            element,
            width: *width,
            unit: BYTES,
            depth: DEPTH,
            stage: self.tile.stage(),
            start: start_of,
            at,
            step: *step,
            next: *next,
            count: *count,
        };
        slices.run(body, self.product.dtype, (start, outer), (slice, stage), |body, source, to, left| {
            body.run(piece, &[&to, &source, &left]);
        });
    }

    /// Where the stages of an operand start.
    fn at(&self, operand: Operand) -> u32 {
        if operand == Operand::A { 0 } else { self.tile.stages * self.tile.stage() }
    }

    /// The products of a stage.
    fn products(&self, body: &mut Body, stage: &str, (down, along): (&str, &str), sums: &[Vec<Slot>]) {
        body.declare("declare float @llvm.fma.f32(float, float, float)");
        let stage = body.mul(stage, self.tile.stage());
        let stage = body.add(stage, "%base");
        let a = self.factors(body, &stage, Operand::A, down, self.tile.rows);
        let b = self.factors(body, &stage, Operand::B, along, ALONG);
        let mut values: Vec<Vec<String>> =
            sums.iter().map(|sums| sums.iter().map(|sum| body.get(sum)).collect()).collect();
        for depth in (0..DEPTH).step_by(FOUR as usize) {
            let rows: Vec<Fours> = (0..a.groups.len()).map(|group| a.read(body, group, depth)).collect();
            for group in 0..b.groups.len() {
                let columns = b.read(body, group, depth);
                for d in 0..FOUR as usize {
                    for (row, values) in values.iter_mut().enumerate() {
                        for column in 0..FOUR as usize {
                            let value = &mut values[group * FOUR as usize + column];
                            let (a, b) = (rows[row / FOUR as usize].of(row % FOUR as usize, d), columns.of(column, d));
                            let sum = format!("call float @llvm.fma.f32(float {a}, float {b}, float {value})");
                            *value = body.value(sum);
                        }
                    }
                }
            }
        }
        for (sum, value) in sums.iter().flatten().zip(values.iter().flatten()) {
            body.set(sum, value);
        }
    }

    /// Where a thread reads its rows or columns, `count` in fours, from a stage on.
    fn factors(&self, body: &mut Body, stage: &str, operand: Operand, first: &str, count: u32) -> Factors {
        let (layout, apart) =
            if operand == Operand::A { (self.product.a, DOWN_LANES) } else { (self.product.b, ALONG_LANES) };
        let kind = Stage::of(self.product, layout);
        let row = BYTES * kind.row(self.tile);
        let start = body.add(stage, self.at(operand));
        let groups = (0..count / FOUR)
            .map(|group| {
                let first = body.add(first, group * apart * FOUR);
                let unit = if kind == Stage::Across { BYTES } else { row };
                let at = body.mul(&first, unit);
                let at = body.add(&start, at);
                let order = body.div(first, SAME_ORDER);
                let order = body.and(order, DEPTH / FOUR - 1);
                let order = body.mul(order, FOUR * BYTES);
                (at, order)
            })
            .collect();
        Factors { kind, row, groups }
    }

    /// Epilogue and stores.
    fn finish(&self, body: &mut Body, place: &Place, (down, along): (&str, &str), sums: &[Vec<Slot>]) {
        let results = Results { product: self.product, epilogue: self.epilogue };
        let row = body.add(&place.row, down);
        let column = body.add(&place.column, along);
        for (i, sums) in sums.iter().enumerate() {
            let row = body.add(&row, i % 4 + i / 4 * 16);
            let values: Vec<String> = sums.iter().map(|sum| body.get(sum)).collect();
            let pairs: Vec<(u32, [&str; 2])> = values
                .chunks(2)
                .zip([0, 2, 32, 34])
                .map(|(two, at)| (at, [two[0].as_str(), two[1].as_str()]))
                .collect();
            results.store_row(body, place, &row, &column, &pairs);
        }
    }
}

/// Where a thread reads its factors.
struct Factors {
    kind: Stage,
    /// Bytes from one row of the stage to the next.
    row: u32,
    /// Of each four rows or columns: where they start, and by what the place of a chunk of depths is swizzled.
    groups: Vec<(String, String)>,
}

/// Four rows or columns at four depths.
struct Fours {
    kind: Stage,
    values: Vec<Vec<String>>,
}

impl Fours {
    /// The factor of a row or column at a depth.
    fn of(&self, outer: usize, depth: usize) -> &str {
        match self.kind {
            Stage::Across => &self.values[depth][outer],
            Stage::Along => &self.values[outer][depth],
        }
    }
}

impl Factors {
    fn read(&self, body: &mut Body, group: usize, depth: u32) -> Fours {
        let (at, order) = &self.groups[group];
        let (at, first) = match self.kind {
            Stage::Across => (at.clone(), depth * self.row),
            Stage::Along => {
                let chunk = body.xor(order, depth * BYTES);
                (body.add(at, chunk), 0)
            }
        };
        let mut row = |i: u32| {
            let at = body.add(&at, first + i * self.row);
            body.ask_all(&ptx::LOAD_SHARED, &[&at])
        };
        Fours { kind: self.kind, values: (0..FOUR).map(&mut row).collect() }
    }
}
