//! Which tile a product gets: the one with the fewest cycles by a model of one multiprocessor.
//!
//! A wave of blocks takes, for each slice of the depth, as long as the tensor cores or shared memory, whichever is longer, and
//! some time to fill the ring and to store; blocks that divide the depth meet and add their sums. All of it takes as long as
//! memory gives the operands, at least. On an H200 this is within some percent of what was measured at 1024³ to 8192³:
//! a slice of 128 × 256 takes 1024 cycles, of 128 × 128 640, of 128 × 64 460.

use super::{FmaTile, MmaTile, Product, Tile, WgmmaTile};
use svod_dtype::DType;

/// The sizes of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Rows of C.
    pub m: u64,
    /// Columns of C.
    pub n: u64,
    /// The depth.
    pub k: u64,
    /// Products.
    pub batch: u64,
}

/// Tiles for warpgroups, from large ones to small ones.
const WARPGROUPS: [WgmmaTile; 5] = {
    let large = WgmmaTile::LARGE;
    let most = WgmmaTile { columns: 192, ..large };
    let half = WgmmaTile { columns: 128, stages: 6, ..large };
    let quarter = WgmmaTile { columns: 64, stages: 8, ..large };
    [large, most, half, quarter, WgmmaTile { columns: 64, stages: 8, ..ONE }]
};

/// A tile of one warpgroup, for few rows.
const ONE: WgmmaTile = WgmmaTile { groups: 1, registers: false, persistent: false, ..WgmmaTile::LARGE };

/// The tile whose depth is divided where all tiles together are few.
const DIVIDED: WgmmaTile = WgmmaTile { columns: 128, stages: 8, ..ONE };

/// Tiles for few rows, which read long pieces of rows of B.
const FEW_ROWS: [WgmmaTile; 3] = [
    WgmmaTile { columns: 256, stages: 5, ..ONE },
    WgmmaTile { columns: 192, stages: 6, ..ONE },
    WgmmaTile { columns: 128, stages: 8, ..ONE },
];

/// Bytes of B from which on few rows wait for memory, and from which on they do so for long.
const WAITS: u64 = 16 << 20;
const WAITS_LONG: u64 = 120 << 20;

/// Blocks at most that divide the depth of a tile: as many as any GPU has in a cluster.
const SPLIT: u32 = 8;

/// Columns of a tile whose sums need twice as many registers.
const MOST_COLUMNS_TWICE: u32 = 192;

/// Tiles for warps.
const WARPS: [MmaTile; 2] = [MmaTile::LARGE, MmaTile { tile: [64, 64], warp: [32, 32], stages: 5, ..MmaTile::LARGE }];

/// Tiles for f32.
const MULTIPLY_ADD: [FmaTile; 4] = [FmaTile::LARGE, FmaTile::MEDIUM, FmaTile::SMALL, FmaTile::NARROW];

/// The tile for a product of this shape, on a GPU with so many multiprocessors; `warpgroups` is whether it is of sm_90a.
pub fn choose(product: &Product, shape: Shape, multiprocessors: u64, warpgroups: bool) -> Tile {
    // A tensor map has no empty dimension.
    let some = shape.m > 0 && shape.n > 0 && shape.k > 0 && shape.batch > 0;
    let tiles: Vec<Tile> = if product.dtype == DType::F32 {
        MULTIPLY_ADD.map(Tile::Fma).to_vec()
    } else if warpgroups && some && product.align.is_multiple_of(16) && !product.groups {
        if let Some(tile) = few_rows(product, shape, multiprocessors) {
            return Tile::Wgmma(tile);
        }
        WARPGROUPS.into_iter().chain(divided(DIVIDED)).filter(|tile| has_sums(product, tile)).map(Tile::Wgmma).collect()
    } else {
        WARPS.map(Tile::Mma).to_vec()
    };
    let cycles = |tile: &Tile| estimate(product, tile, shape, multiprocessors);
    tiles.into_iter().min_by(|a, b| cycles(a).total_cmp(&cycles(b))).unwrap_or(Tile::Mma(MmaTile::LARGE))
}

/// Cycles of a launch that copies an operand, and cycles by which warps take longer for operands that are aligned to less than 16 bytes.
const COPY: f64 = 4000.0;
const UNALIGNED: [(u32, f64); 3] = [(8, 1.3), (4, 2.0), (1, 6.0)];

/// Whether it is worth it to copy operands of elements of 16 bits, so many bytes, to rows that are aligned. Rows aligned to 2 bytes take
/// six times as long as others: 78 TFLOP/s at 4095 × 4097 × 4099 on an H200.
pub(super) fn copies_pay(product: &Product, shape: Shape, bytes: u64, multiprocessors: u64, warpgroups: bool) -> bool {
    if product.dtype == DType::F32 || product.groups || product.align >= 16 {
        return false;
    }
    let cycles = |tile: &Tile, k: u64| estimate(product, tile, Shape { k, ..shape }, multiprocessors);
    let [aligned, as_it_is] =
        [16, product.align].map(|align| choose(&Product { align, ..*product }, shape, multiprocessors, warpgroups));
    let slower = UNALIGNED.iter().find(|(by, _)| product.align.is_multiple_of(*by)).map_or(1.0, |(_, slower)| *slower);
    // What each slice of the depth takes is slower, and not what a block takes by itself.
    let fixed = cycles(&as_it_is, 0);
    let as_it_is = fixed + (cycles(&as_it_is, shape.k) - fixed) * slower;
    2.0 * COPY + 2.0 * bytes as f64 / MEMORY + cycles(&aligned, shape.k) < as_it_is
}

/// Whether a tile's sums fit into registers, of which 8-bit floats need twice as many.
fn has_sums(product: &Product, tile: &WgmmaTile) -> bool {
    !product.adds_sums() || tile.columns <= MOST_COLUMNS_TWICE
}

/// A tile by as many blocks as may divide its depth.
fn divided(tile: WgmmaTile) -> impl Iterator<Item = WgmmaTile> {
    (2..=SPLIT).map(move |split| WgmmaTile { split, ..tile })
}

/// The tile of a product of few rows, which takes as long as memory gives B. On an H200, half of the multiprocessors keep memory
/// busy, and more of them are in each other's way; where each has long to go, three quarters are best, with fewer stages.
fn few_rows(product: &Product, shape: Shape, multiprocessors: u64) -> Option<WgmmaTile> {
    let bytes = product.dtype.bytes() as u64 * shape.n * shape.k;
    if shape.m > 64 || shape.batch > 1 || bytes < WAITS {
        return None;
    }
    let long = bytes >= WAITS_LONG;
    let wanted = if long { multiprocessors * 3 / 4 } else { multiprocessors / 2 };
    let away = |tile: &WgmmaTile| {
        let blocks = shape.n.div_ceil(tile.columns.into()) * u64::from(tile.split);
        // A tenth more or fewer is the same; then the widest tile is.
        ((blocks as f64 / wanted.max(1) as f64).ln().abs() * 10.0).round()
    };
    let tiles = FEW_ROWS.into_iter().filter(|tile| has_sums(product, tile)).flat_map(|tile| {
        let tile = if long { WgmmaTile { stages: tile.stages.min(768 / tile.columns), ..tile } } else { tile };
        std::iter::once(tile).chain(divided(tile))
    });
    tiles.min_by(|a, b| away(a).total_cmp(&away(b)))
}

/// What the model counts of a tile.
struct Costs {
    /// Rows and columns of a block.
    rows: u64,
    columns: u64,
    /// Blocks that share columns, and that divide the depth.
    cluster: u64,
    split: u64,
    /// Blocks that a multiprocessor has at once.
    resident: u64,
    /// Cycles of a slice of the depth: of 128 bytes by tensor cores, else 64 deep.
    slice: f64,
    /// By how much it takes longer where a multiprocessor has no other block meanwhile.
    alone: f64,
}

/// Bytes a cycle that come from memory, and from the second-level cache, for all multiprocessors of an H200.
const MEMORY: f64 = 2170.0;
const CACHE: f64 = 3800.0;
/// Cycles in which one warpgroup waits for a slice, starts its products and waits for those before.
const SLICE_OF_ONE: f64 = 350.0;
/// Cycles in which blocks wait for each other, each of them, and for each value of theirs.
const MEET: f64 = 6000.0;
const MEET_EACH: f64 = 300.0;
const MEET_VALUE: f64 = 1.2;
/// Neighbours among which a cluster has its multiprocessors.
const NEIGHBOURS: u64 = 16;

/// Cycles of a product.
pub fn estimate(product: &Product, tile: &Tile, shape: Shape, multiprocessors: u64) -> f64 {
    let element = product.dtype.bytes() as u64;
    let deep = 64 * 2 / element.min(2);
    let costs = match tile {
        Tile::Wgmma(tile) => {
            let (rows, columns) = (u64::from(tile.groups * tile.blocks * 64), u64::from(tile.columns));
            // Tensor cores make 2048 products in a cycle, of 8 bits twice as many. Shared memory gives or takes 128 bytes: each instruction reads
            // 64 rows of A and all columns of B, and what is copied is written.
            let products = (rows * columns * 64) as f64 / 2048.0;
            let read = rows / 64 * (64 + columns) * 64 * 2;
            let written = (rows + columns) * 64 * 2;
            let slice = products.max((read + written) as f64 / 128.0);
            let slice = if tile.groups == 1 { slice.max(SLICE_OF_ONE) } else { slice };
            Costs {
                rows,
                columns,
                cluster: u64::from(tile.cluster),
                split: u64::from(tile.split),
                resident: 1,
                slice,
                alone: 1.0,
            }
        }
        Tile::Mma(tile) => {
            let [rows, columns] = tile.tile.map(u64::from);
            let resident = if rows * columns > 64 * 64 { 2 } else { 4 };
            let slice = (rows * columns * 64) as f64 / 1024.0;
            Costs { rows, columns, cluster: 1, split: 1, resident, slice, alone: 1.0 }
        }
        Tile::Fma(tile) => {
            let [rows, columns] = tile.tile.map(u64::from);
            // A thread reads less for each sum where it makes more of them.
            let share = match tile.thread[0] * tile.thread[1] {
                128 => 0.78,
                64 => 0.7,
                _ => 0.6,
            };
            let slice = (rows * columns * 64) as f64 / (128.0 * share);
            Costs { rows, columns, cluster: 1, split: 1, resident: tile.resident.into(), slice, alone: 1.3 }
        }
    };
    let Costs { rows, columns, cluster, split, resident, slice, alone } = costs;
    let together = cluster * split;
    let blocks = shape.m.div_ceil(rows * cluster) * shape.n.div_ceil(columns) * shape.batch * together;
    // Of so many neighbours, those that clusters do not fill have nothing to do.
    let usable = if together > 2 {
        multiprocessors / NEIGHBOURS * (NEIGHBOURS / together * together)
    } else {
        multiprocessors / together * together
    };
    // Blocks of one multiprocessor, one after the other, and how many of them at once.
    let each = blocks.div_ceil(usable.max(together));
    let at_once = each.min(resident).max(1);
    let turns = each.div_ceil(at_once) as f64;
    let slice = if at_once == 1 { slice * alone } else { slice };
    let slices = shape.k.div_ceil(deep).div_ceil(split) as f64;
    // To fill the ring, and to store.
    let stored = (rows.min(shape.m) * columns) as f64;
    let mut fixed = 1000.0 + 0.25 * stored;
    if split > 1 {
        fixed += MEET + MEET_EACH * split as f64 + MEET_VALUE * stored;
    }
    let mut busy = slices * each as f64 * slice + turns * fixed;
    if split > 1 {
        // Rows and columns that there are not are not read.
        let copied = blocks * (rows.min(shape.m) + columns.min(shape.n)) * 64 * 2;
        busy = busy.max(copied as f64 * slices / CACHE);
    }
    let bytes = element * shape.batch * (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n);
    let memory = bytes as f64 / MEMORY;
    // Both go on at the same time, but not at all times.
    busy.max(memory) + 0.25 * busy.min(memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::product::Layout;

    const BF16: Product = Product {
        dtype: DType::BF16,
        out: DType::BF16,
        a: Layout::Depth,
        b: Layout::Outer,
        groups: false,
        align: 16,
        align_out: 16,
    };

    fn chosen(m: u64, n: u64, k: u64) -> Tile {
        choose(&BF16, Shape { m, n, k, batch: 1 }, 132, true)
    }

    #[test]
    fn large_products_get_large_tiles_and_small_ones_fill_the_gpu() {
        assert_eq!(chosen(4096, 4096, 4096), Tile::Wgmma(WgmmaTile::LARGE));
        assert_eq!(chosen(8192, 8192, 8192), Tile::Wgmma(WgmmaTile::LARGE));
        let blocks = |tile: Tile, m: u64, n: u64| match tile {
            Tile::Wgmma(tile) => {
                let tiles = m.div_ceil(u64::from(tile.groups * tile.blocks * 64)) * n.div_ceil(tile.columns.into());
                tiles * u64::from(tile.split)
            }
            other => panic!("{other:?}"),
        };
        for (m, n, k) in [(512, 4096, 4096), (1024, 1024, 4096), (16, 4096, 4096), (256, 256, 65536), (64, 4096, 512)] {
            assert!(blocks(chosen(m, n, k), m, n) >= 64, "{m} {n}: {:?}", chosen(m, n, k));
        }
        // As measured: no kernel divides its depth that has enough tiles.
        let split = |m, n, k| match chosen(m, n, k) {
            Tile::Wgmma(tile) => (tile.groups, tile.columns, tile.split),
            other => panic!("{other:?}"),
        };
        assert_eq!(split(256, 256, 65536), (1, 128, 8));
        assert_eq!([split(512, 4096, 11008), split(512, 4096, 4096)], [(2, 128, 1); 2]);
        assert_eq!([split(1024, 1024, 16384), split(1024, 1024, 1024)], [(2, 64, 1); 2]);
        assert_eq!([split(16, 4096, 4096), split(16, 11008, 4096)], [(1, 256, 4), (1, 192, 1)]);
        assert_eq!([split(16, 8192, 8192), split(16, 28672, 8192)], [(1, 256, 3), (1, 256, 1)]);
        assert_eq!([split(127, 4096, 4096), split(16, 768, 768)], [(1, 64, 1); 2]);
        // A third turn of the largest tile would be for a few of them.
        assert_eq!(chosen(3072, 3072, 3072), Tile::Wgmma(WgmmaTile { columns: 192, ..WgmmaTile::LARGE }));
    }

    #[test]
    fn what_warpgroups_cannot_do_is_done_by_warps() {
        let shape = Shape { m: 512, n: 512, k: 512, batch: 1 };
        for (product, shape, warpgroups) in
            [(Product { align: 2, ..BF16 }, shape, true), (BF16, Shape { k: 0, ..shape }, true), (BF16, shape, false)]
        {
            assert!(matches!(choose(&product, shape, 132, warpgroups), Tile::Mma(_)));
        }
        let product = Product { dtype: DType::F32, ..BF16 };
        assert_eq!(choose(&product, shape, 132, true), Tile::Fma(FmaTile::SMALL));
        let shape = Shape { m: 4096, n: 4096, ..shape };
        assert_eq!(choose(&product, shape, 132, true), Tile::Fma(FmaTile::LARGE));
        // Of large tiles, the last would be for a few multiprocessors.
        let chosen = |m, n, k, batch| choose(&product, Shape { m, n, k, batch }, 132, true);
        assert_eq!(chosen(8192, 384, 384, 1), Tile::Fma(FmaTile::MEDIUM));
        assert_eq!(chosen(128, 32, 128, 768), Tile::Fma(FmaTile::NARROW));
    }
}
