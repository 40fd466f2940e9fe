//! Products of f32 without tensor cores: each sum is of products and sums in f32, fused, in the order of the depth.
//!
//! A block makes 128 × 128 values of C, each of its 256 threads 8 × 8. Slices of A and B, 16 deep, go through a ring of
//! stages in shared memory, where a row is what is at one depth; rows are padded, so that the copies of a layout with the
//! depth inside, element by element, spread over the banks.

use super::order::{Order, Place};
use super::result::Results;
use super::{Epilogue, Kernel, Launch, Layout, Operand, Product, SliceCopies};
use crate::CompileError;
use crate::gpu::Runner;
use crate::gpu::body::{Body, Slot};
use crate::gpu::ptx;
use svod_dtype::DType;

/// Rows, and columns, of a block.
const TILE: u32 = 128;
/// Depth of a stage.
const DEPTH: u32 = 16;
/// Elements of a row of a stage, with its padding.
const ROW: u32 = TILE + 4;
/// Threads of a block.
const THREADS: u32 = 256;
/// Bytes of a stage of one operand.
const STAGE: u32 = DEPTH * ROW * 4;
/// Bytes of an element.
const BYTES: u32 = 4;

/// The shape of a kernel for f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FmaTile {
    /// Stages of the ring: 2 to 5.
    pub stages: u32,
    /// Rows of tiles that are made together, so that the L2 cache holds what they share.
    pub rows_together: u32,
}

impl FmaTile {
    /// The tile of large products.
    pub const LARGE: FmaTile = FmaTile { stages: 3, rows_together: 16 };
}

fn check(product: &Product, tile: &FmaTile) -> Result<(), CompileError> {
    if product.dtype != DType::F32 || !product.align.is_multiple_of(BYTES) {
        return Err(super::unsupported(format_args!("elements of {} by multiply-add of f32", product.dtype)));
    }
    if !matches!(product.out, DType::BF16 | DType::F16 | DType::F32) {
        return Err(super::unsupported(format_args!("a result of {} by multiply-add of f32", product.out)));
    }
    if !(2..=5).contains(&tile.stages) || tile.rows_together == 0 {
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
    let shape = format!("fma_s{}_g{}_a{align}", tile.stages, tile.rows_together);
    let entry = super::name(product, &shape, epilogue);
    let annotations = [format!("!\"maxntidx\", i32 {THREADS}"), "!\"minctasm\", i32 2".into()];
    let text = body.module(&entry, &super::declarations(&parameters, epilogue), &annotations, 0);
    let launch = Launch {
        entry,
        threads: THREADS,
        shared: 2 * tile.stages * STAGE,
        cluster: 1,
        tile: [TILE, TILE],
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
        // Warps make 32 x 64, lanes 4 x 4 of each 16 x 32 in that.
        let lane = body.and(&thread, 31);
        let warp = body.shr(&thread, 5);
        let (down, along) = (body.shr(&warp, 1), body.and(&warp, 1));
        let (down, along) = (body.mul(down, 32), body.mul(along, 64));
        let (lane_down, lane_along) = (body.shr(&lane, 3), body.and(&lane, 7));
        let (lane_down, lane_along) = (body.mul(lane_down, 4), body.mul(lane_along, 4));
        let (down, along) = (body.add(down, lane_down), body.add(along, lane_along));
        let copies = [self.copies(body, Operand::A, &thread), self.copies(body, Operand::B, &thread)];
        let sums: Vec<Vec<Slot>> = (0..8).map(|_| (0..8).map(|_| body.slot("float", "0.0")).collect()).collect();
        let order = Order { rows: TILE, columns: TILE, cluster: 1, rows_together: tile.rows_together };
        order.tile(body, |body, place| {
            let starts = [self.start(body, &copies[0], place), self.start(body, &copies[1], place)];
            let outers = [&place.row, &place.column];
            super::slices(
                body,
                tile.stages,
                |body, slice, stage| {
                    for i in 0..2 {
                        self.copy(body, &copies[i], &starts[i], outers[i], slice, stage);
                    }
                },
                |body, stage| Self::products(body, stage, tile.stages, (&down, &along), &sums),
            );
            self.finish(body, place, (&down, &along), &sums);
        });
    }

    fn copies(&self, body: &mut Body, operand: Operand, thread: &str) -> Copies {
        let layout = if operand == Operand::A { self.product.a } else { self.product.b };
        let width = if layout == Layout::Outer && self.product.align.is_multiple_of(16) { 4 } else { 1 };
        let (rows, elements) = match layout {
            Layout::Depth => (TILE, DEPTH),
            Layout::Outer => (DEPTH, TILE),
        };
        let pieces = elements / width;
        let step = THREADS / pieces;
        let row = body.div(thread, pieces);
        let element = body.rem(thread, pieces);
        let element = body.mul(element, width);
        let (depth, outer) = if layout == Layout::Depth { (&element, &row) } else { (&row, &element) };
        let at = body.mul(depth, ROW);
        let at = body.add(at, outer);
        let at = body.mul(at, BYTES);
        let next = BYTES * step * if layout == Layout::Depth { 1 } else { ROW };
        Copies { operand, layout, width, row, element, at, next, step, count: rows / step }
    }

    fn start(&self, body: &mut Body, copies: &Copies, place: &Place) -> String {
        let Copies { operand, layout, row, element, .. } = copies;
        super::first_address(body, self.product, *operand, *layout, place, (row, element))
    }

    /// Copies a thread's part of a slice to a stage.
    fn copy(&self, body: &mut Body, copies: &Copies, start: &str, outer: &str, slice: &str, stage: &str) {
        let Copies { operand, layout, width, row, element, at, next, step, count } = copies;
        let (start_of, piece) =
            (Self::at(*operand, self.tile.stages), if *width == 4 { &ptx::COPY_16 } else { &ptx::COPY_4 });
        let slices = SliceCopies {
            operand: *operand,
            layout: *layout,
            row,
            element,
            width: *width,
            unit: BYTES,
            depth: DEPTH,
            stage: STAGE,
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
    fn at(operand: Operand, stages: u32) -> u32 {
        if operand == Operand::A { 0 } else { stages * STAGE }
    }

    /// The products of a stage.
    fn products(body: &mut Body, stage: &str, stages: u32, (down, along): (&str, &str), sums: &[Vec<Slot>]) {
        body.declare("declare float @llvm.fma.f32(float, float, float)");
        let stage = body.mul(stage, STAGE);
        let stage = body.add(stage, "%base");
        let [a, b] = [(Operand::A, down), (Operand::B, along)].map(|(operand, first)| {
            let first = body.mul(first, BYTES);
            let at = body.add(&stage, first);
            body.add(at, Self::at(operand, stages))
        });
        let mut values: Vec<Vec<String>> =
            sums.iter().map(|sums| sums.iter().map(|sum| body.get(sum)).collect()).collect();
        for depth in 0..DEPTH {
            let [a, b] = [(&a, 16), (&b, 32)].map(|(from, apart)| {
                let mut factors = Vec::new();
                for half in 0..2 {
                    let at = body.add(from, BYTES * (depth * ROW + half * apart));
                    factors.extend(body.ask_all(&ptx::LOAD_SHARED, &[&at]));
                }
                factors
            });
            for (a, values) in a.iter().zip(&mut values) {
                for (b, value) in b.iter().zip(values) {
                    *value = body.value(format_args!("call float @llvm.fma.f32(float {a}, float {b}, float {value})"));
                }
            }
        }
        for (sum, value) in sums.iter().flatten().zip(values.iter().flatten()) {
            body.set(sum, value);
        }
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
