//! Rows of a shape, and blocks of rows.

use super::Blocks;
use crate::costs::limits::{memory, tasks};
use svod_ir::size::Size;

/// The points of some dimensions, at most.
pub(super) fn points(shape: &[Size]) -> i64 {
    shape.iter().map(|n| n.upper_bound().unwrap_or(i64::MAX)).fold(1, i64::saturating_mul)
}

/// Rows, which are the dimensions of a shape from one on.
pub(super) struct Rows {
    pub over: Vec<Size>,
    pub from: usize,
}

/// The rows of as many elements as a shape has, if they are many: whole dimensions, or blocks of one. How many there
/// are need not be known before a run, how long they are has to be.
pub(super) fn rows(shape: &[Size]) -> Option<Rows> {
    let mut row = 1;
    let mut from = shape.len();
    while from > 0
        && let Some(n) = shape[from - 1].as_const()
        && row * n <= memory::ROW
    {
        from -= 1;
        row *= n;
    }
    let axis = from.checked_sub(1)?;
    let divisor = shape[axis].divisor();
    let divides = |n: &i64| divisor % n == 0;
    let fits = |n: &i64| divides(n) && n * row % memory::WHOLE_VECTORS == 0;
    let about = (memory::ROW / 2 / row).max(1)..=memory::ROW / row;
    let (mut longer, mut long) = (
        memory::ROW / row + 1..=memory::READ_AGAIN / row,
        (memory::ROW_WITH_TAIL / row).max(1)..=memory::READ_AGAIN / row,
    );
    let any = (memory::SHORTEST_ROW / row).max(1)..=memory::ROW_WITH_TAIL / row;
    let whole = about.rev().find(fits).or_else(|| longer.find(fits));
    let length = whole.or_else(|| long.find(divides)).or_else(|| any.rev().find(divides))?;
    let (over, from) = match length {
        1 => (shape.to_vec(), from),
        n if shape[axis] == Size::from(n) => (shape.to_vec(), axis),
        length => (Blocks { axis, length }.of(shape), axis + 1),
    };
    let row = row * length;
    let little_tails = are_whole(&over) || over.last()?.as_const()? >= memory::SHORTEST_ROW;
    (row >= memory::SHORTEST_ROW && little_tails && points(shape) / row >= tasks::FEW).then_some(Rows { over, from })
}

/// Whether what lies side by side in a shape is whole vectors, which are whole lines of memory.
pub(super) fn are_whole(shape: &[Size]) -> bool {
    shape.last().is_some_and(|n| n.divisor() % memory::WHOLE_VECTORS == 0)
}

/// Whether some dimensions are a row that has a mean, and stays in a cache.
pub(super) fn is_row(shape: &[Size]) -> bool {
    shape.iter().all(|n| n.bounds().0 > 0) && (memory::SHORTEST_ROW..=memory::READ_AGAIN).contains(&points(shape))
}

/// The points of a block of a dimension, where it can be cut in blocks.
pub(super) fn block(shape: &[Size], axis: usize) -> Option<i64> {
    let (divisor, row) = (shape[axis].divisor(), points(&shape[axis + 1..]));
    (memory::FEWEST_BLOCKED..=memory::MOST_BLOCKED)
        .rev()
        .find(|n| divisor % n == 0 && row >= memory::SHORTEST_ROW && row.saturating_mul(*n) <= memory::BLOCK_OF_ROWS)
}

/// Whether a block holds some dimensions.
pub(super) fn holds(shape: &[Size]) -> bool {
    points(shape) <= memory::BLOCK_OF_ROWS
}
