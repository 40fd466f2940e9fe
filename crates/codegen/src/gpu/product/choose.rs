//! Which tile a product gets: the one with the fewest cycles by a model of one multiprocessor.
//!
//! A wave of blocks takes, for each slice of the depth, as long as the tensor cores or what the L2 cache gives, whichever is
//! longer, and some time to fill the ring and to store. Figures are those of Hopper (and, by warps, of Ampere).

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
const WARPGROUPS: [WgmmaTile; 6] = {
    let large = WgmmaTile::LARGE;
    let tall = WgmmaTile { blocks: 2, columns: 128, rows_together: 4, ..large };
    let half = WgmmaTile { columns: 128, stages: 6, ..large };
    let alone = WgmmaTile { cluster: 1, rows_together: 16, ..half };
    let quarter = WgmmaTile { columns: 64, stages: 8, ..alone };
    let small = WgmmaTile { groups: 1, registers: false, persistent: false, ..quarter };
    [large, tall, half, alone, quarter, small]
};

/// Tiles for warps.
const WARPS: [MmaTile; 2] = [MmaTile::LARGE, MmaTile { tile: [64, 64], warp: [32, 32], stages: 5, ..MmaTile::LARGE }];

/// The tile for a product of this shape, on a GPU with so many multiprocessors; `warpgroups` is whether it is of sm_90a.
pub fn choose(product: &Product, shape: Shape, multiprocessors: u64, warpgroups: bool) -> Tile {
    if product.dtype == DType::F32 {
        return Tile::Fma(FmaTile::LARGE);
    }
    // A tensor map has no empty dimension.
    let some = shape.m > 0 && shape.n > 0 && shape.k > 0 && shape.batch > 0;
    let tiles: Vec<Tile> = if warpgroups && some && product.align.is_multiple_of(16) {
        WARPGROUPS.map(Tile::Wgmma).to_vec()
    } else {
        WARPS.map(Tile::Mma).to_vec()
    };
    let cycles = |tile: &Tile| estimate(tile, shape, multiprocessors);
    tiles.into_iter().min_by(|a, b| cycles(a).total_cmp(&cycles(b))).unwrap_or(Tile::Mma(MmaTile::LARGE))
}

/// What the model counts of a tile.
struct Costs {
    /// Rows and columns of a block.
    rows: u64,
    columns: u64,
    /// Blocks that share columns.
    cluster: u64,
    /// Blocks that a multiprocessor has at once.
    resident: u64,
    /// Products and sums of a multiprocessor in a cycle.
    rate: f64,
    /// Cycles of a tile that nothing hides.
    fixed: f64,
}

/// Bytes that the L2 cache gives a multiprocessor in a cycle.
const L2: f64 = 40.0;

/// Cycles of a product.
pub fn estimate(tile: &Tile, shape: Shape, multiprocessors: u64) -> f64 {
    let costs = match tile {
        Tile::Wgmma(tile) => Costs {
            rows: u64::from(tile.groups * tile.blocks * 64),
            columns: u64::from(tile.columns),
            cluster: u64::from(tile.cluster),
            resident: 1,
            rate: 2048.0,
            fixed: 2500.0,
        },
        Tile::Mma(tile) => Costs {
            rows: u64::from(tile.tile[0]),
            columns: u64::from(tile.tile[1]),
            cluster: 1,
            resident: if tile.tile[0] * tile.tile[1] > 64 * 64 { 2 } else { 4 },
            rate: 1024.0,
            fixed: 3000.0,
        },
        Tile::Fma(_) => Costs { rows: 128, columns: 128, cluster: 1, resident: 2, rate: 128.0, fixed: 3000.0 },
    };
    let Costs { rows, columns, cluster, resident, rate, fixed } = costs;
    let blocks = shape.m.div_ceil(rows * cluster) * shape.n.div_ceil(columns) * shape.batch * cluster;
    let multiprocessors = (multiprocessors / cluster * cluster).max(cluster);
    // Blocks of one multiprocessor, one after the other, and how many of them at once.
    let each = blocks.div_ceil(multiprocessors);
    let together = each.min(resident).max(1);
    let turns = each.div_ceil(together) as f64;
    let slices = shape.k.div_ceil(64) as f64;
    let products = (rows * columns * 64) as f64 / rate;
    let bytes = (rows + columns / cluster) as f64 * 128.0;
    turns * (slices * together as f64 * products.max(bytes / L2) + fixed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::product::Layout;

    const BF16: Product =
        Product { dtype: DType::BF16, out: DType::BF16, a: Layout::Depth, b: Layout::Outer, align: 16, align_out: 16 };

    fn chosen(m: u64, n: u64, k: u64) -> Tile {
        choose(&BF16, Shape { m, n, k, batch: 1 }, 132, true)
    }

    #[test]
    fn large_products_get_large_tiles_and_small_ones_fill_the_gpu() {
        assert_eq!(chosen(4096, 4096, 4096), Tile::Wgmma(WgmmaTile::LARGE));
        assert_eq!(chosen(8192, 8192, 8192), Tile::Wgmma(WgmmaTile::LARGE));
        let blocks = |tile: Tile, m: u64, n: u64| match tile {
            Tile::Wgmma(tile) => {
                m.div_ceil(u64::from(tile.groups * tile.blocks * 64)) * n.div_ceil(tile.columns.into())
            }
            other => panic!("{other:?}"),
        };
        for (m, n) in [(512, 4096), (1024, 1024), (16, 4096)] {
            assert!(blocks(chosen(m, n, 4096), m, n) >= 64, "{m} {n}: {:?}", chosen(m, n, 4096));
        }
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
        assert_eq!(choose(&product, shape, 132, true), Tile::Fma(FmaTile::LARGE));
    }
}
