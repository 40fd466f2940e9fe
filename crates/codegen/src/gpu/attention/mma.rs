//! Stub.

use super::{Attention, Inner, Kernel, Plan, Sizes, unsupported};
use crate::CompileError;
use crate::gpu::Runner;

/// Tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MmaTile {
    /// Warps of a block.
    pub warps: u32,
    /// Keys of a stage.
    pub keys: u32,
    /// Stages of the ring.
    pub stages: u32,
}

impl MmaTile {
    /// The tile of an attention.
    pub fn of(_: &Attention) -> MmaTile {
        MmaTile { warps: 4, keys: 64, stages: 2 }
    }

    pub(super) fn plan(&self, sizes: &Sizes) -> Plan {
        let tiles = u64::from(sizes.rows.div_ceil(self.warps * 16)) * u64::from(sizes.heads) * u64::from(sizes.batch);
        Plan { blocks: [tiles as u32, 0], splits: 1, scratch: 0 }
    }
}

pub(super) fn render(_: &Attention, tile: &MmaTile, _: &Inner, _: Runner) -> Result<Kernel, CompileError> {
    Err(unsupported(format_args!("{tile:?}")))
}
