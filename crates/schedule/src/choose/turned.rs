//! Contractions of constant weights whose rows these are: by turning them, vectors are of what the weights keep, their panels are
//! packed when the plan is prepared, and no task copies them.
//!
//! An image's few points fill rows of any number of tiles, but not vectors; the more so those of a convolution, whose plane
//! has zeros between its rows. What turning costs is that results are written across the vectors that tiles compute, in square
//! blocks, and, of a convolution, a copy of the image for each tap.

use super::Choice;
use super::contraction::{Tile, tile_cost};
use crate::apply::copied_by;
use crate::costs::limits::products;
use crate::kernel::access::{extent, loads_only_constants, round_up};
use crate::kernel::contraction::turn::turned;
use crate::kernel::contraction::window::windows;
use crate::kernel::contraction::{Contraction, pairs, recognise, worth_a_tile};
use crate::language::{Opt, Schedule};
use svod_ir::kernel::{AxisId, Kernel};
use svod_ir::target::Target;

/// The schedule that turns stage `stage`, a contraction of constant weights with something else, and its time.
pub(super) fn schedule(kernel: &Kernel, stage: usize, target: &Target) -> Option<(Schedule, f64)> {
    let windows = windows(kernel, stage);
    let line = match &windows {
        Some(windows) if windows.slides.len() > 2 => return None,
        Some(windows) => windows.slides.last().map(|s| extent(kernel, s.kept)),
        None => None,
    };
    let in_pairs = (target.matrix.bf16_dot || target.matrix.tiles) && pairs::halves_of(kernel, stage).is_some();
    if in_pairs || windows.is_none() && !recognise(kernel, stage).is_some_and(|c| loads_only_constants(kernel, c.a)) {
        return None;
    }
    let turned = turned(kernel, stage).ok()?;
    let c = recognise(&turned, stage)?;
    // Each tap is a call of the tile for every block of the channels.
    let deep = c.depth.len() == 1 || extent(&turned, c.k) >= products::DEEP;
    if !loads_only_constants(&turned, c.b) || loads_only_constants(&turned, c.a) || !deep {
        return None;
    }
    let known = |axis: AxisId| turned.axes[axis.index()].extent.as_const().is_some();
    let over = &turned.stages[turned.stages.len() - 1].over;
    let both = [c.m, c.n];
    if !both.iter().all(|a| known(*a) && over.contains(a)) || !worth_a_tile(&turned, &c) {
        return None;
    }
    let opts = vec![Opt::Turn { stage: turned.stages[stage].name.clone() }];
    let mut choice = Choice { line, opts, ..Choice::new(&turned, target) };
    let (tile, copies) = choice.tile_and_blocks(&[(stage, c.clone())], &c, false);
    // A tile's rows that are of two lines of the image would be copied one by one.
    if line.is_some_and(|line| line % tile.rows != 0) {
        return None;
    }
    let depth: i64 = c.depth.iter().map(|a| extent(&turned, *a)).product();
    let across = f64::from(tile.lanes.ilog2()) / depth as f64;
    let time = choice.time_of_tiles(&c, &tile, copies) + across;
    choice.contraction(&[(stage, c)]);
    Some((choice.opts.into(), time))
}

/// The time of a contraction that is not turned, likewise.
pub(super) fn time_as_it_is(kernel: &Kernel, stage: usize, c: &Contraction, target: &Target) -> f64 {
    let choice = Choice::new(kernel, target);
    let direct = copied_by(kernel, stage, kernel.stages.len() - 1);
    let (tile, copies) = choice.tile_and_blocks(&[(stage, c.clone())], c, direct);
    // Tiles of the whole depth write lines of the output, once.
    if direct && tile.block_k >= extent(kernel, c.k) {
        return 0.0;
    }
    choice.time_of_tiles(c, &tile, copies)
}

impl Choice<'_> {
    /// The time of a contraction, in that of the multiply-adds that are wanted: in tiles that go over its edges, with what is
    /// copied and fetched, and sums that are read and written for each block of the depth.
    fn time_of_tiles(&self, c: &Contraction, tile: &Tile, copies: f64) -> f64 {
        let k = self.kernel;
        let (m, n) = (extent(k, c.m), extent(k, c.n));
        let shape = (tile.rows, tile.cols / tile.lanes);
        let computed = tile_cost(m, &|cols| round_up(n, cols), tile.lanes, &shape) / (m as f64 * n as f64);
        computed * (1.0 + copies + 2.0 / tile.block_k.min(extent(k, c.k)) as f64)
    }
}
