//! Stub.

use super::{Attention, Inner, Kernel, Plan, Sizes, unsupported};
use crate::CompileError;
use crate::gpu::Runner;

/// Tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WgmmaTile {
    /// Warpgroups that multiply, of 64 rows each: 2 or 3.
    pub groups: u32,
    /// Keys of a tile.
    pub keys: u32,
    /// Tiles of K or V in the ring.
    pub stages: u32,
    /// Whether blocks go from tile to tile.
    pub persistent: bool,
    /// Whether warpgroups multiply in turns.
    pub turns: bool,
}

impl WgmmaTile {
    /// The tile of an attention.
    pub fn of(_: &Attention) -> WgmmaTile {
        WgmmaTile { groups: 2, keys: 128, stages: 4, persistent: true, turns: true }
    }

    pub(super) fn plan(&self, sizes: &Sizes, multiprocessors: u32) -> Plan {
        let tiles = u64::from(sizes.rows.div_ceil(self.groups * 64)) * u64::from(sizes.heads) * u64::from(sizes.batch);
        let most = if self.persistent { u64::from(multiprocessors) } else { u64::from(i32::MAX as u32) };
        Plan { blocks: [tiles.min(most).max(1) as u32, 0], splits: 1, scratch: 0 }
    }
}

pub(super) fn render(_: &Attention, tile: &WgmmaTile, _: &Inner, _: Runner) -> Result<Kernel, CompileError> {
    Err(unsupported(format_args!("{tile:?}")))
}
