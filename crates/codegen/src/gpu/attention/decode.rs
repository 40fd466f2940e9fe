//! Stub.

use super::{Attention, Inner, Kernel, Plan, Sizes, unsupported};
use crate::CompileError;
use crate::gpu::Runner;

/// Tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DecodeTile {
    /// Warps of a block.
    pub warps: u32,
    /// Keys of a stage.
    pub keys: u32,
    /// Stages of the ring.
    pub stages: u32,
}

impl DecodeTile {
    /// Rows of a tile.
    pub const ROWS: u32 = 16;

    /// The tile of an attention.
    pub fn of(_: &Attention) -> DecodeTile {
        DecodeTile { warps: 4, keys: 16, stages: 4 }
    }

    pub(super) fn plan(&self, attention: &Attention, sizes: &Sizes, multiprocessors: u32) -> Plan {
        let tiles = sizes.rows.div_ceil(Self::ROWS) * sizes.heads * sizes.batch;
        let splits =
            (2 * multiprocessors).div_ceil(tiles.max(1)).min(sizes.keys.div_ceil(self.keys * self.warps)).max(1);
        let rows = u64::from(sizes.rows) * u64::from(sizes.heads) * u64::from(sizes.batch) * u64::from(splits);
        Plan { blocks: [tiles * splits, 0], splits, scratch: rows * 4 * u64::from(attention.columns + 2) }
    }
}

pub(super) fn render(_: &Attention, tile: &DecodeTile, _: &Inner, _: Runner) -> Result<Vec<Kernel>, CompileError> {
    Err(unsupported(format_args!("{tile:?}")))
}
