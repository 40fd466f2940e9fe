//! Products by Hopper's warpgroups.
//!
//! A block makes `groups · blocks · 64` rows and `columns` columns of C. Its first warpgroup copies slices of A and B,
//! 128 bytes deep, into a ring of stages in shared memory; each other warpgroup multiplies its rows of A by all columns of B.
//! Two mbarriers a stage say *full* (bytes have come) and *empty* (all warpgroups are done with it).
//!
//! In a cluster, blocks have different rows and the same columns: each copies a part of B, to all of them. A stage is
//! then empty when the warpgroups of all blocks are done.
//!
//! Or the blocks of a cluster divide the depth (`split`), where there are too few tiles for all multiprocessors. Each then puts
//! its sums into its shared memory, where the ring was, adds those that all of them have of its part of the tile, always in the
//! same order, and stores that.
//!
//! Shared memory, from a multiple of 1024 bytes on: stages of A and B, what is stored, mbarriers. A slice is in rows of
//! 128 bytes, whose chunks of 16 bytes are swizzled by the row's number modulo 8; a layout with the depth outside is in
//! panels of 64 rows or columns. Elements of 8 bits have the depth inside.
//!
//! Sums of 8-bit floats lose bits in tensor cores: what these have of a slice is added to sums in registers of their own, for which
//! a warpgroup waits, while the other one multiplies. See PTX ISA 8.3, "Asynchronous Warpgroup Level Matrix Instructions".

use super::order::{Order, Place};
use super::result::Results;
use super::{Epilogue, Kernel, Launch, Layout, Operand, Parameter, Product, Size, TensorMap, ptx};
use crate::CompileError;
use crate::gpu::Runner;
use crate::gpu::body::{Body, Slot};
use crate::gpu::ptx::{Factor, Left};
use crate::gpu::warpgroup::{self, GROUP, ROW, ROWS, Ring, SHARED, STEP};
use svod_dtype::DType;

/// Bytes of the depth of an instruction.
const BYTES_OF_STEP: u32 = 32;
/// Bytes of a panel: 64 rows.
const PANEL: u32 = ROWS * ROW;
/// Stages of what is stored, for each warpgroup.
const STORES: u32 = 2;
/// Bytes of four sums.
const BYTES_OF_FOUR: u32 = 16;
/// The barrier of all warpgroups that multiply; theirs are 1 and 2.
const COMBINE_BARRIER: u32 = 3;

/// The shape of a kernel for warpgroups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WgmmaTile {
    /// Warpgroups that multiply: 1 or 2.
    pub groups: u32,
    /// Blocks of 64 rows of each.
    pub blocks: u32,
    /// Columns of a block: 64, 128, 192 or 256.
    pub columns: u32,
    /// Stages of the ring.
    pub stages: u32,
    /// Blocks of a cluster that share columns: 1, 2 or 4.
    pub cluster: u32,
    /// Blocks of a cluster that divide the depth: 1 to 8.
    pub split: u32,
    /// Whether blocks go from tile to tile.
    pub persistent: bool,
    /// Whether the producer gives registers to the consumers.
    pub registers: bool,
    /// Whether C is stored by tensor maps, where its type and alignment let it.
    pub stores: bool,
    /// Rows of tiles that are made together, so that the L2 cache holds what they share.
    pub rows_together: u32,
}

impl WgmmaTile {
    /// The tile of large products. On an H200, clusters of two are no faster: the L2 cache gives enough.
    pub const LARGE: WgmmaTile = WgmmaTile {
        groups: 2,
        blocks: 1,
        columns: 256,
        stages: 4,
        cluster: 1,
        split: 1,
        persistent: true,
        registers: true,
        stores: true,
        rows_together: 16,
    };

    fn rows(&self) -> u32 {
        self.groups * self.blocks * ROWS
    }

    /// Blocks of a cluster of the launch.
    fn together(&self) -> u32 {
        self.cluster * self.split
    }

    /// Bytes of the sums of a block.
    fn sums(&self) -> u32 {
        self.rows() * self.columns * 4
    }

    fn name(&self) -> String {
        let flag = |on: bool, letter: &'static str| if on { letter } else { "" };
        let split = if self.split > 1 { format!("_d{}", self.split) } else { String::new() };
        format!(
            "{}x{}x{}_s{}_c{}{split}_g{}{}{}{}",
            self.rows(),
            self.columns,
            self.groups,
            self.stages,
            self.cluster,
            self.rows_together,
            flag(self.persistent, "p"),
            flag(self.registers, "r"),
            flag(self.stores, "t")
        )
    }
}

fn check(product: &Product, tile: &WgmmaTile) -> Result<(), CompileError> {
    if product.factor().is_none() {
        return Err(super::unsupported(format_args!("elements of {} by warpgroups", product.dtype)));
    }
    if !super::has_result(product) {
        return Err(super::unsupported(format_args!("a result of {} by warpgroups", product.out)));
    }
    if product.dtype.bytes() == 1 && (product.a, product.b) != (Layout::Depth, Layout::Depth) {
        return Err(super::unsupported(format_args!("elements of {} whose depth is not side by side", product.dtype)));
    }
    if product.groups {
        return Err(super::unsupported(format_args!("groups of matrices by warpgroups")));
    }
    if !product.align.is_multiple_of(16) {
        return Err(super::unsupported(format_args!(
            "rows aligned to {} bytes by warpgroups, which need 16",
            product.align
        )));
    }
    // Of sums; those that tensor cores make of a slice are no more at the end.
    let twice = if product.adds_sums() { 2 } else { 1 };
    let registers = twice * tile.blocks * tile.columns / 2;
    let most = if tile.registers && tile.groups == 2 && twice == 1 { 128 } else { 256 - 64 };
    let known = matches!(tile.groups, 1 | 2)
        && matches!(tile.blocks, 1 | 2)
        && matches!(tile.columns, 64 | 128 | 192 | 256)
        && matches!(tile.cluster, 1 | 2 | 4)
        && (tile.split == 1
            || ((2..=8).contains(&tile.split) && tile.cluster == 1 && tile.blocks == 1 && !tile.persistent))
        && (2..=8).contains(&tile.stages)
        && tile.rows_together > 0
        && (tile.columns / ROWS).is_multiple_of(tile.cluster)
        && registers <= most
        && !(tile.registers && tile.groups == 1);
    if !known {
        return Err(super::unsupported(format_args!("{tile:?}")));
    }
    let layout = Shared::of(product, tile);
    if tile.split > 1 && layout.c_at < tile.sums() {
        return Err(super::unsupported(format_args!("{tile:?}, whose ring has no room for the sums")));
    }
    if layout.bytes > SHARED {
        return Err(super::unsupported(format_args!("{tile:?}: {} bytes of shared memory", layout.bytes)));
    }
    Ok(())
}

/// Offsets in shared memory.
struct Shared {
    /// Bytes of a stage's A and B.
    a: u32,
    b: u32,
    /// Where the stages of B, those of C and the mbarriers start. Those of A start at 0.
    b_at: u32,
    c_at: u32,
    full: u32,
    empty: u32,
    /// With room to start at a multiple of 1024.
    bytes: u32,
}

impl Shared {
    fn of(product: &Product, tile: &WgmmaTile) -> Shared {
        let (a, b) = (tile.rows() * ROW, tile.columns * ROW);
        let b_at = tile.stages * a;
        let c_at = b_at + tile.stages * b;
        let stored = if stores_by_map(product, tile) { tile.groups * STORES * PANEL } else { 0 };
        let full = c_at + stored;
        let empty = full + 8 * tile.stages;
        Shared { a, b, b_at, c_at, full, empty, bytes: empty + 8 * tile.stages + 1024 }
    }
}

/// Whether C goes through shared memory and a tensor map. Pairs of f32 fill sectors as they are.
fn stores_by_map(product: &Product, tile: &WgmmaTile) -> bool {
    tile.stores && tile.split == 1 && product.out.bytes() == 2 && product.align_out.is_multiple_of(16)
}

pub(super) fn render(
    product: &Product,
    tile: &WgmmaTile,
    epilogue: &dyn Epilogue,
    runner: Runner,
) -> Result<Kernel, CompileError> {
    check(product, tile)?;
    let Some(factor) = product.factor() else { return Err(super::unsupported("no elements of tensor cores")) };
    let tile = &WgmmaTile { stores: stores_by_map(product, tile) && !epilogue.stores(), ..*tile };
    let writer = Writer { product, factor, tile, shared: Shared::of(product, tile), epilogue };
    let mut body = Body::new(runner);
    writer.kernel(&mut body);
    let (maps, parameters) = (writer.maps(), writer.parameters());
    let entry = super::name(product, &tile.name(), epilogue);
    let threads = (tile.groups + 1) * GROUP;
    let annotations = [format!("!\"maxntidx\", i32 {threads}"), "!\"minctasm\", i32 1".into()];
    let text = body.module(&entry, &super::declarations(&parameters, epilogue), &annotations, maps.len());
    let launch = Launch {
        entry,
        threads,
        shared: writer.shared.bytes,
        cluster: tile.together(),
        tile: [tile.rows() * tile.cluster, tile.columns],
        persistent: tile.persistent,
        parameters,
        maps,
    };
    Ok(Kernel { text, processor: "sm_90a", runner, out: product.out, launch })
}

/// Writes a kernel. Values that all of it uses have names: `%base`, where shared memory starts, `%rank` in the cluster,
/// `%lead`, whether this is the first thread of its warpgroup, `%slices` of the depth that this block multiplies, and `%first`,
/// the first of these.
struct Writer<'a> {
    product: &'a Product,
    factor: Factor,
    tile: &'a WgmmaTile,
    shared: Shared,
    epilogue: &'a dyn Epilogue,
}

impl Writer<'_> {
    /// Depth of a stage: 128 bytes.
    fn depth(&self) -> u32 {
        ROW / BYTES_OF_STEP * self.factor.depth()
    }

    fn maps(&self) -> Vec<TensorMap> {
        let (tile, product) = (self.tile, self.product);
        let map = |operand, layout, outer, count| {
            let (sizes, rows) = match layout {
                Layout::Depth => ([Size::K, outer], count),
                Layout::Outer => ([outer, Size::K], self.depth()),
            };
            TensorMap { operand, dtype: product.dtype, sizes, region: [self.depth(), rows] }
        };
        let mut maps = vec![
            map(Operand::A, product.a, Size::M, tile.rows()),
            map(Operand::B, product.b, Size::N, tile.columns / tile.cluster),
        ];
        if tile.stores {
            let (operand, dtype) = (Operand::C, product.out);
            maps.push(TensorMap { operand, dtype, sizes: [Size::N, Size::M], region: [64, ROWS] });
        }
        maps
    }

    fn parameters(&self) -> Vec<Parameter> {
        let mut parameters: Vec<Parameter> = (0..self.maps().len()).map(Parameter::Map).collect();
        if !self.tile.stores && !self.epilogue.stores() {
            parameters.push(Parameter::Pointer(Operand::C));
            parameters.push(Parameter::Stride(Operand::C));
            parameters.push(Parameter::BatchStride(Operand::C));
        }
        parameters.extend([Size::M, Size::N, Size::K, Size::Batch].map(Parameter::Size));
        parameters.extend([Operand::A, Operand::B].map(Parameter::Batched));
        parameters.extend((0..self.epilogue.parameters().len()).map(Parameter::Epilogue));
        parameters
    }

    fn results(&self) -> Results<'_> {
        Results { product: self.product, epilogue: self.epilogue }
    }

    fn kernel(&self, body: &mut Body) {
        let cluster = self.tile.together();
        let thread = body.special("tid.x");
        let group = body.shr(&thread, 7);
        let group = body.ask(&ptx::UNIFORM, &[&group]);
        let in_group = body.and(&thread, GROUP - 1);
        body.line(format_args!("%lead = icmp eq i32 {in_group}, 0"));
        let start = body.shared();
        let start = body.add(start, 1023);
        body.line(format_args!("%base = and i32 {start}, -1024"));
        let rank = if cluster > 1 { body.ask(&ptx::CLUSTER_RANK, &[]) } else { body.value("add i32 0, 0") };
        body.line(format_args!("%rank = add i32 {rank}, 0"));
        let [first, slices] = self.slices(body);
        body.line(format_args!("%first = add i32 {first}, 0"));
        body.line(format_args!("%slices = add i32 {slices}, 0"));

        let first = body.compare("eq", &thread, 0);
        body.when(first, |body| self.barriers(body));
        // Clusters wait for one another: nobody may arrive at an mbarrier that is not there.
        body.run(if cluster > 1 { &ptx::SYNC_CLUSTER } else { &ptx::SYNC }, &[]);
        let producer = body.compare("eq", &group, 0);
        body.either(
            producer,
            |body| {
                if self.tile.registers {
                    body.run(&ptx::REGISTERS_LESS, &[]);
                }
                body.when("%lead", |body| self.produce(body));
                if self.tile.split > 1 {
                    // As in `combine`.
                    body.run(&ptx::SYNC_CLUSTER, &[]);
                }
            },
            |body| {
                if self.tile.registers {
                    body.run(&ptx::REGISTERS_MORE, &[]);
                }
                let group = body.sub(&group, 1);
                self.consume(body, &group, &in_group);
            },
        );
        if cluster > 1 {
            // Nobody leaves while others of the cluster may arrive at its mbarriers, or read its sums.
            body.run(&ptx::SYNC_CLUSTER, &[]);
        }
    }

    /// The first slice of this block, and how many it has.
    fn slices(&self, body: &mut Body) -> [String; 2] {
        let deep = body.add("%k", self.depth() - 1);
        let all = body.shr(deep, self.depth().trailing_zeros());
        if self.tile.split == 1 {
            return ["0".into(), all];
        }
        let each = body.ceil_div(&all, self.tile.split);
        let first = body.mul("%rank", &each);
        let first = body.min(first, &all);
        let left = body.sub(all, &first);
        [first, body.min(left, each)]
    }

    fn barriers(&self, body: &mut Body) {
        for stage in 0..self.tile.stages {
            let full = body.add("%base", self.shared.full + 8 * stage);
            body.run(&ptx::BARRIER_INIT, &[&full, &1]);
            let empty = body.add("%base", self.shared.empty + 8 * stage);
            body.run(&ptx::BARRIER_INIT, &[&empty, &(self.tile.groups * self.tile.cluster)]);
        }
        body.run(&ptx::BARRIER_FENCE, &[]);
        for map in 0..self.maps().len() {
            body.run(&ptx::MAP_PREFETCH, &[&format_args!("%map{map}")]);
        }
    }

    /// Goes over the tiles of this block.
    fn tiles(&self, body: &mut Body, each: impl FnOnce(&mut Body, &Place)) {
        let WgmmaTile { columns, cluster, split, rows_together, .. } = *self.tile;
        let order = Order { rows: self.tile.rows(), columns, cluster, split, rows_together };
        if split > 1 { order.own(body, each) } else { order.tiles(body, each) }
    }

    /// What the first warpgroup's first thread does: keeps the ring full.
    fn produce(&self, body: &mut Body) {
        let ring = Ring::new(body);
        let (tile, shared) = (self.tile, &self.shared);
        self.tiles(body, |body, place| {
            let batch_a = body.mul(&place.batch, "%batched_a");
            let batch_b = body.mul(&place.batch, "%batched_b");
            body.repeat(0, "%slices", 1, |body, slice| {
                let stage = body.get(&ring.stage);
                let parity = body.get(&ring.parity);
                let (full, empty) =
                    (warpgroup::at(body, shared.full, &stage, 8), warpgroup::at(body, shared.empty, &stage, 8));
                // In the first round, the phase before the first one counts as over.
                let before = body.xor(parity, 1);
                body.run(&ptx::BARRIER_WAIT, &[&empty, &before]);
                body.run(&ptx::BARRIER_EXPECT, &[&full, &(shared.a + shared.b)]);
                let depth = body.add(slice, "%first");
                let depth = body.mul(depth, self.depth());
                let a = warpgroup::at(body, 0, &stage, shared.a);
                self.load(body, Operand::A, &a, &full, &depth, &place.row, &batch_a);
                let part = tile.columns / tile.cluster;
                let skipped = if tile.cluster > 1 { body.mul("%rank", part) } else { "0".into() };
                let column = body.add(&place.column, &skipped);
                let skipped = body.mul(&skipped, ROW);
                let b = warpgroup::at(body, shared.b_at, &stage, shared.b);
                let b = body.add(b, skipped);
                self.load(body, Operand::B, &b, &full, &depth, &column, &batch_b);
                ring.advance(body, tile.stages);
            });
        });
    }

    /// Copies a slice of an operand, or this block's part of it, to `to`.
    #[allow(clippy::too_many_arguments)]
    fn load(&self, body: &mut Body, operand: Operand, to: &str, full: &str, depth: &str, outer: &str, batch: &str) {
        let tile = self.tile;
        let (layout, count, map, shared) = match operand {
            Operand::A => (self.product.a, tile.rows(), "%map0", false),
            _ => (self.product.b, tile.columns / tile.cluster, "%map1", tile.cluster > 1),
        };
        let copy = |body: &mut Body, to: &str, x: &str, y: &str| {
            if shared {
                let everybody = (1 << tile.cluster) - 1;
                body.run(&ptx::TMA_LOAD_MULTICAST, &[&to, &map, &full, &x, &y, &batch, &everybody]);
            } else {
                body.run(&ptx::TMA_LOAD, &[&to, &map, &full, &x, &y, &batch]);
            }
        };
        match layout {
            Layout::Depth => copy(body, to, depth, outer),
            Layout::Outer => {
                for panel in 0..count / ROWS {
                    let to = body.add(to, panel * PANEL);
                    let outer = body.add(outer, panel * ROWS);
                    copy(body, &to, &outer, depth);
                }
            }
        }
    }

    /// What the descriptor of the next step of the depth adds.
    fn step(layout: Layout) -> u32 {
        match layout {
            Layout::Depth => BYTES_OF_STEP >> 4,
            Layout::Outer => (STEP * ROW) >> 4,
        }
    }

    /// What the other warpgroups do.
    fn consume(&self, body: &mut Body, group: &str, in_group: &str) {
        let (tile, shared) = (self.tile, &self.shared);
        let ring = Ring::new(body);
        let previous = body.slot("i32", 0);
        let count = (tile.columns / 2) as usize;
        let (ty, zero) = if self.factor.is_integer() { ("i32", "0") } else { ("float", "0.0") };
        let sums: Vec<Vec<Slot>> =
            (0..tile.blocks).map(|_| (0..count).map(|_| body.slot(ty, zero)).collect()).collect();
        let rows_at = body.mul(group, tile.blocks * PANEL);
        self.tiles(body, |body, place| {
            for sum in sums.iter().flatten() {
                body.set(sum, zero);
            }
            body.repeat(0, "%slices", 1, |body, slice| {
                let stage = body.get(&ring.stage);
                let parity = body.get(&ring.parity);
                let full = warpgroup::at(body, shared.full, &stage, 8);
                body.run(&ptx::BARRIER_WAIT, &[&full, &parity]);
                let a = warpgroup::at(body, 0, &stage, shared.a);
                let a = body.add(a, &rows_at);
                let a = warpgroup::descriptor(body, &a, PANEL);
                let b = warpgroup::at(body, shared.b_at, &stage, shared.b);
                let b = warpgroup::descriptor(body, &b, PANEL);
                if self.product.adds_sums() {
                    self.multiply_apart(body, &sums, &a, &b);
                    self.release(body, &stage, in_group);
                    ring.advance(body, tile.stages);
                    return;
                }
                let later = body.compare("ne", slice, 0);
                let later = body.value(format_args!("zext i1 {later} to i32"));
                body.run(&ptx::WGMMA_FENCE, &[]);
                let mut values = get_all(body, &sums);
                self.multiply(body, &mut values, &a, &b, &later);
                set_all(body, &sums, &values);
                body.run(&ptx::WGMMA_COMMIT, &[]);
                body.run(&ptx::WGMMA_WAIT_ONE, &[]);
                // The products of the slice before are done, and its stage is free.
                let some = body.compare("ne", slice, 0);
                body.when(some, |body| self.release_before(body, &previous, in_group));
                body.set(&previous, &stage);
                ring.advance(body, tile.stages);
            });
            if !self.product.adds_sums() {
                for sums in &sums {
                    let values: Vec<String> = sums.iter().map(|sum| body.get(sum)).collect();
                    let values = body.wgmma_wait(self.factor, 0, &values);
                    for (sum, value) in sums.iter().zip(values) {
                        body.set(sum, value);
                    }
                }
                let some = body.compare("ne", "%slices", 0);
                body.when(some, |body| self.release_before(body, &previous, in_group));
            }
            self.finish(body, place, group, in_group, &sums);
        });
        if tile.stores {
            body.when("%lead", |body| body.run(&ptx::TMA_WAIT, &[]));
        }
    }

    /// Starts the products of a stage; those of its first step are added to the sums if `later` is not 0.
    fn multiply(&self, body: &mut Body, sums: &mut [Vec<String>], a: &str, b: &str, later: &str) {
        let product = self.product;
        let transposed = [product.a, product.b].map(|layout| layout == Layout::Outer);
        for step in 0..ROW / BYTES_OF_STEP {
            let b = body.value(format_args!("add i64 {b}, {}", step * Self::step(product.b)));
            for (block, sums) in sums.iter_mut().enumerate() {
                let skipped = step * Self::step(product.a) + block as u32 * (PANEL >> 4);
                let a = body.value(format_args!("add i64 {a}, {skipped}"));
                let add = if step == 0 { later } else { "1" };
                *sums = body.wgmma(self.factor, sums, Left::Shared(&a, transposed[0]), (&b, transposed[1]), add);
            }
        }
    }

    /// Adds the products of a stage to the sums, when tensor cores have added them to one another.
    fn multiply_apart(&self, body: &mut Body, sums: &[Vec<Slot>], a: &str, b: &str) {
        let mut values: Vec<Vec<String>> = sums.iter().map(|sums| vec!["poison".to_owned(); sums.len()]).collect();
        body.run(&ptx::WGMMA_FENCE, &[]);
        self.multiply(body, &mut values, a, b, "0");
        body.run(&ptx::WGMMA_COMMIT, &[]);
        for (sums, values) in sums.iter().zip(values) {
            for (sum, value) in sums.iter().zip(body.wgmma_wait(self.factor, 0, &values)) {
                let old = body.get(sum);
                let new = body.value(format_args!("fadd float {old}, {value}"));
                body.set(sum, new);
            }
        }
    }

    /// Says that this warpgroup is done with the stage before.
    fn release_before(&self, body: &mut Body, previous: &Slot, in_group: &str) {
        let stage = body.get(previous);
        self.release(body, &stage, in_group);
    }

    /// Says that this warpgroup is done with a stage, to all blocks of the cluster.
    fn release(&self, body: &mut Body, stage: &str, in_group: &str) {
        let empty = warpgroup::at(body, self.shared.empty, stage, 8);
        if self.tile.cluster == 1 {
            body.when("%lead", |body| body.run(&ptx::BARRIER_ARRIVE, &[&empty]));
        } else {
            let mine = body.compare("ult", in_group, self.tile.cluster);
            body.when(mine, |body| body.run(&ptx::BARRIER_ARRIVE_REMOTE, &[&empty, &in_group]));
        }
    }

    /// A sum, as what is given to an epilogue.
    fn bits(&self, body: &mut Body, sum: &Slot) -> String {
        let value = body.get(sum);
        super::bits(body, self.product, value)
    }

    /// Two sums, added.
    fn added(&self, body: &mut Body, a: &str, b: &str) -> String {
        if !self.factor.is_integer() {
            return body.value(format_args!("fadd float {a}, {b}"));
        }
        let [a, b] = [a, b].map(|bits| body.value(format_args!("bitcast float {bits} to i32")));
        let sum = body.add(a, b);
        super::bits(body, self.product, sum)
    }

    /// Epilogue and stores. A thread has, of each 8 rows and 8 columns, two values side by side: `g = lane / 4` is
    /// the row, `2 * (lane % 4)` the column.
    fn finish(&self, body: &mut Body, place: &Place, group: &str, in_group: &str, sums: &[Vec<Slot>]) {
        let tile = self.tile;
        let lane = body.and(in_group, 31);
        let warp = body.shr(in_group, 5);
        let top = body.mul(group, tile.blocks * ROWS);
        let top = body.add(&place.row, top);
        for (block, sums) in sums.iter().enumerate() {
            let top = body.add(&top, block as u32 * ROWS);
            let down = body.mul(&warp, 16);
            let quad = body.shr(&lane, 2);
            let down = body.add(down, quad);
            let row = body.add(&top, &down);
            let along = body.and(&lane, 3);
            let along = body.shl(along, 1);
            let column = body.add(&place.column, along);
            let values: Vec<String> = sums.iter().map(|sum| self.bits(body, sum)).collect();
            if tile.split > 1 {
                self.combine(body, place, (&row, &down, &column), (group, in_group), &values);
            } else if tile.stores {
                self.store_by_map(body, place, (group, &warp, &lane), (&top, &row, &column), &values);
            } else {
                self.results().store(body, place, &row, &column, &values);
            }
        }
    }

    /// Adds what the blocks of the cluster have, each a part of the columns, and stores that. Only warps that have rows take
    /// part; a block's values are in shared memory as its threads have them, fours of each thread side by side.
    fn combine(
        &self,
        body: &mut Body,
        place: &Place,
        (row, down, column): (&str, &str, &str),
        (group, in_group): (&str, &str),
        values: &[String],
    ) {
        let tile = self.tile;
        let threads = tile.groups * GROUP;
        let fours = values.len() as u32 / 4;
        let share = fours.div_ceil(tile.split);
        let thread = body.mul(group, GROUP);
        let thread = body.add(thread, in_group);
        let thread = body.mul(thread, BYTES_OF_FOUR);
        let mine = body.add("%base", thread);
        // The first row of the warp, in which all lanes agree.
        let eight = body.and(down, 7);
        let top = body.sub(row, eight);
        let some = body.compare("ult", top, "%m");
        // All consumers are done with the ring.
        body.run(&ptx::SYNC_GROUP, &[&COMBINE_BARRIER, &threads]);
        body.when(&some, |body| {
            for (i, four) in values.chunks(4).enumerate() {
                let at = body.add(&mine, i as u32 * threads * BYTES_OF_FOUR);
                let words: Vec<String> =
                    four.iter().map(|value| body.value(format_args!("bitcast float {value} to i32"))).collect();
                body.run(&ptx::STORE_SHARED, &[&at, &words[0], &words[1], &words[2], &words[3]]);
            }
        });
        body.run(&ptx::SYNC_CLUSTER, &[]);
        body.when(&some, |body| {
            let first = body.mul("%rank", share);
            for i in 0..share {
                let which = body.add(&first, i);
                // The last blocks may have fewer.
                let inside = body.compare("ult", &which, fours);
                body.when(inside, |body| {
                    let at = body.mul(&which, threads * BYTES_OF_FOUR);
                    let at = body.add(at, &mine);
                    let mut sums: Vec<String> = body.ask_all(&ptx::LOAD_REMOTE, &[&at, &0]);
                    for rank in 1..tile.split {
                        let more = body.ask_all(&ptx::LOAD_REMOTE, &[&at, &rank]);
                        for (sum, value) in sums.iter_mut().zip(more) {
                            *sum = self.added(body, sum, &value);
                        }
                    }
                    let along = body.mul(&which, 8);
                    let column = body.add(column, along);
                    self.results().store(body, place, row, &column, &sums);
                });
            }
        });
    }

    /// Stores through shared memory, 64 columns at a time.
    fn store_by_map(
        &self,
        body: &mut Body,
        place: &Place,
        (group, warp, lane): (&str, &str, &str),
        (top, row, column): (&str, &str, &str),
        values: &[String],
    ) {
        let shared = &self.shared;
        let barrier = body.add(group, 1);
        let mine = body.mul(group, STORES * PANEL);
        let mine = body.add(mine, "%base");
        // The row and chunk that this lane addresses: of four matrices, two are down and two along.
        let in_eight = body.and(lane, 7);
        let down = body.and(lane, 15);
        let warp_down = body.mul(warp, 16);
        let down = body.add(down, warp_down);
        let down = body.mul(down, ROW);
        let along = body.shr(lane, 4);
        let results = self.results();
        let bounds = results.bounds(body);
        let pieces = self.tile.columns / 64;
        for piece in 0..pieces {
            let buffer = body.add(&mine, shared.c_at + piece % STORES * PANEL);
            // What was stored from this buffer has been read. With an odd number of pieces, it was the last one of the tile before.
            let last = piece == 0 && !pieces.is_multiple_of(STORES);
            body.when("%lead", |body| body.run(if last { &ptx::TMA_WAIT_READ_ALL } else { &ptx::TMA_WAIT_READ }, &[]));
            body.run(&ptx::SYNC_GROUP, &[&barrier, &GROUP]);
            for pair in 0..4 {
                let words: Vec<String> = (0..4)
                    .map(|matrix| {
                        let (j, half) = (piece * 8 + pair * 2 + matrix / 2, matrix % 2);
                        let two = [0, 1].map(|e| {
                            let value = &values[(4 * j + 2 * half + e) as usize];
                            results.made(body, place, (row, half * 8), (column, j * 8 + e), &bounds, value)
                        });
                        let pack = if self.product.out == DType::BF16 { &ptx::PACK_BF16 } else { &ptx::PACK_F16 };
                        body.ask(pack, &[&two[1], &two[0]])
                    })
                    .collect();
                let chunk = body.add(&along, pair * 2);
                let chunk = body.xor(chunk, &in_eight);
                let chunk = body.shl(chunk, 4);
                let at = body.add(&buffer, &down);
                let at = body.add(at, chunk);
                body.run(&ptx::STORE_MATRICES, &[&at, &words[0], &words[1], &words[2], &words[3]]);
            }
            body.run(&ptx::PROXY_FENCE, &[]);
            body.run(&ptx::SYNC_GROUP, &[&barrier, &GROUP]);
            let x = body.add(&place.column, piece * 64);
            body.when("%lead", |body| {
                body.run(&ptx::TMA_STORE, &[&"%map2", &buffer, &x, &top, &place.batch]);
                body.run(&ptx::TMA_COMMIT, &[]);
            });
        }
    }
}

fn get_all(body: &mut Body, slots: &[Vec<Slot>]) -> Vec<Vec<String>> {
    slots.iter().map(|slots| slots.iter().map(|slot| body.get(slot)).collect()).collect()
}

fn set_all(body: &mut Body, slots: &[Vec<Slot>], values: &[Vec<String>]) {
    for (slot, value) in slots.iter().flatten().zip(values.iter().flatten()) {
        body.set(slot, value);
    }
}
