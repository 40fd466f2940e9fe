//! Contractions whose operands change places: what were columns become rows.
//!
//! A tile has vectors along its columns, and takes one element of the other operand at a time. The points of an image fill
//! vectors badly where it has few, such as 7 × 7; channels, of which there are 2⁹, fill them. So where the weights are
//! constant it may be better to have *their* panels read in vectors and the image element by element: any number of
//! rows fills a tile. The sums are then kept point by point, and what follows them goes through registers in square blocks.
//!
//! Of a convolution, the image's axes become one, of which each is a digit, and taps are the outer axes of the depth: a
//! step from channel to channel is the same everywhere, and copies of the rows hold what one tap reads.

use super::columns::{are_neighbours, together};
use super::order::reordered;
use super::recognise;
use super::window::{Windows, windows};
use crate::kernel::views::reshape_params;
use svod_ir::kernel::{AxisId, Body, Kernel, Out};

/// The same computation, where the operands of a contraction have changed places.
///
/// # Errors
/// What keeps the stage from that.
pub(crate) fn turned(kernel: &Kernel, stage: usize) -> Result<Kernel, String> {
    if kernel.stages[stage].outs != [Out::Temp] {
        return Err("what a stage writes to memory is in the order of that".into());
    }
    let mut kernel = kernel.clone();
    if let Some(found) = windows(&kernel, stage) {
        kernel = without_windows(kernel, stage, &found)?;
    }
    let found = recognise(&kernel, stage).ok_or("the stage is not a contraction of two operands")?;
    let mut orders: Vec<Vec<usize>> = kernel.stages.iter().map(|s| (0..s.over.len()).collect()).collect();
    let over = &kernel.stages[stage].over;
    let place = |axis: AxisId| over.iter().position(|a| *a == axis).ok_or("an axis that is not kept");
    let (m, n) = (place(found.m)?, place(found.n)?);
    orders[stage][m..=n].rotate_left(1);
    Ok(reordered(kernel, &orders))
}

/// A convolution as a contraction with one axis for the last two of the image, and taps as the outer axes of the depth.
fn without_windows(mut kernel: Kernel, stage: usize, found: &Windows) -> Result<Kernel, String> {
    if let [.., rows, columns] = &found.slides[..] {
        let axes = [rows.kept, columns.kept];
        if !are_neighbours(&kernel, stage, &axes) {
            return Err("the axes over which its windows slide cannot become one".into());
        }
        kernel = reshape_params(together(kernel, stage, &axes));
    }
    if let Body::Reduce { axes, .. } = &mut kernel.stages[stage].body {
        axes.sort_by_key(|a| !found.slides.iter().any(|s| s.tap == Some(*a)));
    }
    Ok(kernel)
}
