//! Rows of a shape, and blocks of rows.

use super::{Cut, First};
use crate::estimate::FEWEST_ROWS;
use svod_ir::size::Size;

/// Elements of a row, about: while one is folded, what is made of the one before is on its way to memory. Longer rows
/// would have memory read and written in turn.
const ROW: i64 = 1 << 9;

/// What a row's elements are a multiple of, if they can be: whole vectors, laid out several at once. Other rows have a
/// tail each, and rather about this many elements.
const VECTORS: i64 = 1 << 5;
const LONG: i64 = 1 << 11;

/// Elements of a row at least: what is done once a row is little beside it.
const SHORTEST: i64 = 1 << 6;

/// Elements of a row at most: its second reading finds them in a cache.
const LONGEST: i64 = 1 << 14;

/// Elements of a block of rows at most, and rows that it has at least and at most: it is read from memory once, and
/// what it gives for each column is written.
const BLOCK: i64 = 1 << 16;
const FEWEST: i64 = 4;
const MOST: i64 = 16;

/// The points of some dimensions, at most.
pub(super) fn points(shape: &[Size]) -> i64 {
    shape.iter().map(|n| n.upper_bound().unwrap_or(i64::MAX)).fold(1, i64::saturating_mul)
}

/// The rows of a shape, of many points: whole dimensions, or blocks of one; and how many points a row has. How many
/// there are need not be known before a run, how long they are has to be.
pub(super) fn row(shape: &[Size]) -> Option<(First, i64)> {
    let mut row = 1;
    let mut from = shape.len();
    while from > 0
        && let Some(n) = shape[from - 1].as_const()
        && row * n <= ROW
    {
        from -= 1;
        row *= n;
    }
    let axis = from.checked_sub(1)?;
    let divisor = shape[axis].divisor();
    let divides = |n: &i64| divisor % n == 0;
    let fits = |n: &i64| divides(n) && n * row % VECTORS == 0;
    let about = (ROW / 2 / row).max(1)..=ROW / row;
    let (mut longer, mut long) = (ROW / row + 1..=LONGEST / row, (LONG / row).max(1)..=LONGEST / row);
    let any = (SHORTEST / row).max(1)..=LONG / row;
    let whole = about.rev().find(fits).or_else(|| longer.find(fits));
    let length = whole.or_else(|| long.find(divides)).or_else(|| any.rev().find(divides))?;
    let first = match length {
        1 => First::Row(from),
        n if shape[axis] == Size::from(n) => First::Row(axis),
        length => First::Block(Cut { axis, length }),
    };
    let row = row * length;
    (row >= SHORTEST && points(shape) / row >= FEWEST_ROWS).then_some((first, row))
}

/// The points of a block of a dimension, where it can be cut in blocks.
pub(super) fn block(shape: &[Size], axis: usize) -> Option<i64> {
    let (divisor, row) = (shape[axis].divisor(), points(&shape[axis + 1..]));
    (FEWEST..=MOST).rev().find(|n| divisor % n == 0 && row.saturating_mul(*n) <= BLOCK)
}

/// Whether a block holds some dimensions.
pub(super) fn holds(shape: &[Size]) -> bool {
    points(shape) <= BLOCK
}
