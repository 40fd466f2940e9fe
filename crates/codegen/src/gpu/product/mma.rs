//! Products by the warps of sm_80 and newer.
//!
//! A block makes a tile of C, each warp a part of it. Slices of A and B go through a ring of stages in shared memory: all
//! threads copy the one that is wanted some slices later, then multiply the one that is there. Chunks of 16 bytes are
//! swizzled by their row, so that the eight rows of a matrix of 8 x 8 lie in different banks.
//!
//! Rows need not be aligned to 16 bytes: copies are of 16, 8 or 4 bytes; those of 2 go through registers.
//!
//! Integers of 8 bits have the depth inside. Two of them are then to a lane, to the loads of matrices and to shared memory what an element
//! of 16 bits is.

use super::order::{Order, Place};
use super::result::Results;
use super::{Epilogue, Kernel, Launch, Layout, Operand, Product, SliceCopies};
use crate::CompileError;
use crate::gpu::Runner;
use crate::gpu::body::{Body, Slot};
use crate::gpu::copies::{self, CHUNK, ELEMENTS, Stages};
use crate::gpu::ptx::{self, Factor, Ptx};

/// Depth of an instruction, in elements of 16 bits.
const STEP: u32 = 16;
/// Threads of a warp.
const WARP: u32 = 32;
/// Bytes that a block may use at most, on the smallest GPU of sm_80 and newer.
const SHARED: u32 = 101_376;

/// The shape of a kernel for warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MmaTile {
    /// Rows and columns of a block.
    pub tile: [u32; 2],
    /// Rows and columns of a warp: multiples of 16.
    pub warp: [u32; 2],
    /// Depth of a stage, in elements of 16 bits: 32 or 64.
    pub depth: u32,
    /// Stages of the ring.
    pub stages: u32,
    /// Rows of tiles that are made together, so that the L2 cache holds what they share.
    pub rows_together: u32,
}

impl MmaTile {
    /// The tile of large products.
    pub const LARGE: MmaTile = MmaTile { tile: [128, 128], warp: [64, 64], depth: 32, stages: 4, rows_together: 16 };

    fn warps(&self) -> [u32; 2] {
        [self.tile[0] / self.warp[0], self.tile[1] / self.warp[1]]
    }

    fn threads(&self) -> u32 {
        self.warps()[0] * self.warps()[1] * WARP
    }

    fn name(&self) -> String {
        format!(
            "{}x{}x{}_w{}x{}_s{}_g{}",
            self.tile[0], self.tile[1], self.depth, self.warp[0], self.warp[1], self.stages, self.rows_together
        )
    }
}

/// How an operand lies in a stage: rows of chunks. Its depth is in elements of 16 bits.
struct Stage {
    layout: Layout,
    /// Rows in shared memory, and chunks of each.
    rows: u32,
    chunks: u32,
    /// Where the stages start.
    at: u32,
}

impl Stage {
    fn new(layout: Layout, outer: u32, depth: u32, at: u32) -> Stage {
        let (rows, columns) = if layout == Layout::Depth { (outer, depth) } else { (depth, outer) };
        Stage { layout, rows, chunks: columns / ELEMENTS, at }
    }

    fn bytes(&self) -> u32 {
        self.rows * self.row()
    }

    fn row(&self) -> u32 {
        self.chunks * CHUNK
    }

    /// What chunks of a row are swizzled by. Rows of four chunks: two of them fill the banks.
    fn swizzle(&self, body: &mut Body, row: &str) -> String {
        if self.chunks == 4 {
            let half = body.shr(row, 1);
            body.and(half, 3)
        } else {
            body.and(row, 7)
        }
    }
}

/// The product of a warp, of elements that it has.
fn instruction(product: &Product) -> Option<&'static Ptx> {
    Some(match product.factor()? {
        Factor::Bf16 => &ptx::MMA_BF16,
        Factor::F16 => &ptx::MMA_F16,
        Factor::I8 => &ptx::MMA_I8,
        Factor::U8 => &ptx::MMA_U8,
        Factor::E4m3 | Factor::E5m2 => return None,
    })
}

fn check(product: &Product, tile: &MmaTile) -> Result<(), CompileError> {
    if instruction(product).is_none() {
        return Err(super::unsupported(format_args!("elements of {} by warps", product.dtype)));
    }
    if !super::has_result(product) {
        return Err(super::unsupported(format_args!("a result of {} by warps", product.out)));
    }
    let is_narrow = product.dtype.bytes() == 1;
    if is_narrow && (product.a, product.b) != (Layout::Depth, Layout::Depth) {
        return Err(super::unsupported(format_args!("elements of {} whose depth is not side by side", product.dtype)));
    }
    let known = matches!(tile.depth, 32 | 64)
        && (2..=5).contains(&tile.stages)
        && tile.rows_together > 0
        && (0..2).all(|i| {
            matches!(tile.tile[i], 64 | 128 | 256)
                && matches!(tile.warp[i], 16 | 32 | 64)
                && tile.tile[i].is_multiple_of(tile.warp[i])
        })
        && (64..=512).contains(&tile.threads())
        && [(product.a, tile.tile[0]), (product.b, tile.tile[1])].into_iter().all(|(layout, outer)| {
            // The rows of a thread's chunks are swizzled alike.
            let stage = Stage::new(layout, outer, tile.depth, 0);
            let step = tile.threads() / stage.chunks;
            step > 0 && step.is_multiple_of(8) && stage.rows.is_multiple_of(step)
        });
    let bytes = tile.stages * (tile.tile[0] + tile.tile[1]) * tile.depth * 2;
    if !known || bytes > SHARED || !product.align.is_multiple_of(if is_narrow { 4 } else { 2 }) {
        return Err(super::unsupported(format_args!("{tile:?}, {bytes} bytes of shared memory")));
    }
    Ok(())
}

pub(super) fn render(
    product: &Product,
    tile: &MmaTile,
    epilogue: &dyn Epilogue,
    runner: Runner,
) -> Result<Kernel, CompileError> {
    check(product, tile)?;
    let Some(instruction) = instruction(product) else { return Err(super::unsupported("no products of a warp")) };
    let a = Stage::new(product.a, tile.tile[0], tile.depth, 0);
    let b = Stage::new(product.b, tile.tile[1], tile.depth, tile.stages * a.bytes());
    let shared = b.at + tile.stages * b.bytes();
    let writer = Writer { product, instruction, tile, a, b, epilogue };
    let mut body = Body::new(runner);
    writer.kernel(&mut body);
    let parameters = super::plain_parameters(product, epilogue);
    let align = [16, 8, 4, 2].into_iter().find(|n| product.align.is_multiple_of(*n)).unwrap_or(2);
    let entry = super::name(product, &format!("{}_a{align}", tile.name()), epilogue);
    let threads = tile.threads();
    let annotations = [format!("!\"maxntidx\", i32 {threads}"), "!\"minctasm\", i32 1".into()];
    let text = body.module(&entry, &super::declarations(&parameters, epilogue), &annotations, 0);
    let launch =
        Launch { entry, threads, shared, cluster: 1, tile: tile.tile, persistent: false, parameters, maps: Vec::new() };
    Ok(Kernel { text, processor: "sm_80", runner, out: product.out, launch })
}

/// Writes a kernel. `%base` is where shared memory starts, `%slices` how many there are of the depth.
struct Writer<'a> {
    product: &'a Product,
    instruction: &'static Ptx,
    tile: &'a MmaTile,
    a: Stage,
    b: Stage,
    epilogue: &'a dyn Epilogue,
}

/// What a thread copies of an operand: chunks of the same number in rows some apart.
struct Copies<'a> {
    stage: &'a Stage,
    operand: Operand,
    /// Where its first chunk is in a stage, in bytes.
    at: String,
    /// Its first row, its chunk's first element.
    row: String,
    element: String,
    /// Rows from chunk to chunk, and chunks.
    step: u32,
    count: u32,
}

/// Where a lane finds its rows of matrices of 8 x 8.
struct Matrices<'a> {
    stage: &'a Stage,
    transposed: bool,
    /// Offsets for each part of what is side by side in memory.
    offsets: Vec<String>,
}

impl Writer<'_> {
    /// Depth of a stage.
    fn depth(&self) -> u32 {
        self.tile.depth * 2 / self.product.dtype.bytes() as u32
    }

    /// Elements of a chunk.
    fn elements(&self) -> u32 {
        CHUNK / self.product.dtype.bytes() as u32
    }

    fn kernel(&self, body: &mut Body) {
        let tile = self.tile;
        let thread = body.special("tid.x");
        let start = body.shared();
        body.line(format_args!("%base = add i32 {start}, 0"));
        let deep = body.add("%k", self.depth() - 1);
        body.line(format_args!("%slices = lshr i32 {deep}, {}", self.depth().trailing_zeros()));
        let lane = body.and(&thread, WARP - 1);
        let warp = body.shr(&thread, 5);
        let warp = body.ask(&ptx::UNIFORM, &[&warp]);
        let along = tile.warps()[1];
        let (down, along) = (body.div(&warp, along), body.rem(&warp, along));
        let down = body.mul(down, tile.warp[0]);
        let along = body.mul(along, tile.warp[1]);
        let copies = [self.copies(body, Operand::A, &thread), self.copies(body, Operand::B, &thread)];
        let matrices = [self.matrices(body, Operand::A, &lane, &down), self.matrices(body, Operand::B, &lane, &along)];
        let count = (tile.warp[1] / 2) as usize;
        let (ty, zero) = if self.product.dtype.is_int() { ("i32", "0") } else { ("float", "0.0") };
        let sums: Vec<Vec<Slot>> =
            (0..tile.warp[0] / 16).map(|_| (0..count).map(|_| body.slot(ty, zero)).collect()).collect();
        let [rows, columns] = tile.tile;
        let order = Order { rows, columns, cluster: 1, split: 1, rows_together: tile.rows_together };
        order.tile(body, |body, place| {
            self.multiply(body, place, &copies, &matrices, &sums);
            self.finish(body, place, &lane, (&down, &along), &sums);
        });
    }

    /// All products of a tile.
    fn multiply(
        &self,
        body: &mut Body,
        place: &Place,
        copies: &[Copies; 2],
        matrices: &[Matrices; 2],
        sums: &[Vec<Slot>],
    ) {
        let starts = [self.start(body, &copies[0], place), self.start(body, &copies[1], place)];
        let outers = [&place.row, &place.column];
        let stages = Stages { stages: self.tile.stages, slices: "%slices", sync: &ptx::SYNC };
        stages.run(
            body,
            |body, slice, stage| {
                for i in 0..2 {
                    self.copy(body, &copies[i], &starts[i], outers[i], slice, stage);
                }
            },
            |body, _, stage| self.products(body, matrices, stage, sums),
        );
    }

    fn copies(&self, body: &mut Body, operand: Operand, thread: &str) -> Copies<'_> {
        let stage = if operand == Operand::A { &self.a } else { &self.b };
        let threads = self.tile.threads();
        let step = threads / stage.chunks;
        let row = body.div(thread, stage.chunks);
        let chunk = body.rem(thread, stage.chunks);
        let swizzle = stage.swizzle(body, &row);
        let swizzled = body.xor(&chunk, swizzle);
        let swizzled = body.mul(swizzled, CHUNK);
        let at = body.mul(&row, stage.row());
        let at = body.add(at, swizzled);
        let element = body.mul(chunk, self.elements());
        Copies { stage, operand, at, row, element, step, count: stage.rows / step }
    }

    /// The address of a thread's first chunk of the first slice of a tile.
    fn start(&self, body: &mut Body, copies: &Copies, place: &Place) -> String {
        let Copies { operand, stage, row, element, .. } = copies;
        super::first_address(body, self.product, *operand, stage.layout, place, (row, element))
    }

    /// Copies a thread's part of a slice to a stage.
    fn copy(&self, body: &mut Body, copies: &Copies, start: &str, outer: &str, slice: &str, stage: &str) {
        let Copies { stage: of, operand, at, row, element, step, count } = copies;
        let slices = SliceCopies {
            operand: *operand,
            layout: of.layout,
            row,
            element,
            width: self.elements(),
            unit: 1,
            depth: self.depth(),
            stage: of.bytes(),
            start: of.at,
            at,
            step: *step,
            next: step * of.row(),
            count: *count,
            whole: false,
        };
        slices.run(body, self.product.dtype, (start, outer), (slice, stage), |body, source, to, left| {
            copies::chunk(body, self.product.dtype, self.product.align, (source, to), left);
        });
    }

    /// Where lanes find matrices, for the warp whose rows or columns start at `first`.
    fn matrices(&self, body: &mut Body, operand: Operand, lane: &str, first: &str) -> Matrices<'_> {
        let stage = if operand == Operand::A { &self.a } else { &self.b };
        // Lanes 8 to 15 are rows 8 to 15 of A as it is or of B transposed, otherwise they are the next chunk.
        let (row, chunk) = if (operand == Operand::A) == (stage.layout == Layout::Depth) {
            (body.and(lane, 15), body.shr(lane, 4))
        } else {
            let low = body.and(lane, 7);
            let high = body.shr(lane, 4);
            let high = body.mul(high, 8);
            let bit = body.shr(lane, 3);
            (body.add(low, high), body.and(bit, 1))
        };
        let swizzle = stage.swizzle(body, &row);
        let (row, chunk, parts) = match stage.layout {
            Layout::Depth => (body.add(row, first), chunk, self.tile.depth / STEP),
            Layout::Outer => {
                let first = body.div(first, ELEMENTS);
                let warp = if operand == Operand::A { self.tile.warp[0] } else { self.tile.warp[1] };
                (row, body.add(chunk, first), warp / 16)
            }
        };
        let row = body.mul(row, stage.row());
        let row = body.add(row, stage.at);
        let row = body.add(row, "%base");
        let offsets = (0..parts)
            .map(|part| {
                let chunk = body.add(&chunk, 2 * part);
                let chunk = body.xor(chunk, &swizzle);
                let chunk = body.mul(chunk, CHUNK);
                body.add(chunk, &row)
            })
            .collect();
        Matrices { stage, transposed: stage.layout == Layout::Outer, offsets }
    }

    /// Loads 16 rows or columns of C, from `outer` times 16 on, of a step of the depth.
    fn load(body: &mut Body, matrices: &Matrices, stage: &str, outer: u32, step: u32) -> Vec<String> {
        let (part, rows) = match matrices.stage.layout {
            Layout::Depth => (step, outer),
            Layout::Outer => (outer, step),
        };
        let at = body.add(&matrices.offsets[part as usize], stage);
        let at = body.add(at, rows * 16 * matrices.stage.row());
        let load = if matrices.transposed { &ptx::LOAD_TRANSPOSED } else { &ptx::LOAD_MATRICES };
        body.ask_all(load, &[&at])
    }

    /// The products of a stage.
    fn products(&self, body: &mut Body, matrices: &[Matrices; 2], stage: &str, sums: &[Vec<Slot>]) {
        let [a_at, b_at] = [&self.a, &self.b].map(|of| body.mul(stage, of.bytes()));
        for step in 0..self.tile.depth / STEP {
            let a: Vec<Vec<String>> =
                (0..self.tile.warp[0] / 16).map(|i| Self::load(body, &matrices[0], &a_at, i, step)).collect();
            for pair in 0..self.tile.warp[1] / 16 {
                let b = Self::load(body, &matrices[1], &b_at, pair, step);
                for (a, sums) in a.iter().zip(sums) {
                    for half in 0..2 {
                        let sums = &sums[(pair * 8 + half * 4) as usize..][..4];
                        let old: Vec<String> = sums.iter().map(|sum| body.get(sum)).collect();
                        let b = &b[2 * half as usize..][..2];
                        let operands: [&dyn std::fmt::Display; 10] =
                            [&old[0], &old[1], &old[2], &old[3], &a[0], &a[1], &a[2], &a[3], &b[0], &b[1]];
                        let new = body.ask_all(self.instruction, &operands);
                        for (sum, value) in sums.iter().zip(new) {
                            body.set(sum, value);
                        }
                    }
                }
            }
        }
    }

    /// Epilogue and stores.
    fn finish(&self, body: &mut Body, place: &Place, lane: &str, (down, along): (&str, &str), sums: &[Vec<Slot>]) {
        let quad = body.shr(lane, 2);
        let row = body.add(&place.row, down);
        let row = body.add(row, quad);
        let pair = body.and(lane, 3);
        let pair = body.mul(pair, 2);
        let column = body.add(&place.column, along);
        let column = body.add(column, pair);
        let results = Results { product: self.product, epilogue: self.epilogue };
        for (i, sums) in sums.iter().enumerate() {
            let mut values: Vec<String> = sums.iter().map(|sum| body.get(sum)).collect();
            values.iter_mut().for_each(|value| *value = super::bits(body, self.product, std::mem::take(value)));
            let row = body.add(&row, 16 * i);
            results.store(body, place, &row, &column, &values);
        }
    }
}
