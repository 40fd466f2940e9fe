//! Rows of a shape, and blocks of rows.

use super::Blocks;
use crate::costs::limits::FEWEST_ROWS;
use svod_ir::size::Size;

/// Elements of a row, about: while one is reduced, what is made of the one before is on its way to memory. Longer rows
/// would have memory read and written in turn.
const ROW: i64 = 1 << 9;

/// What a row's elements are a multiple of, if they can be: whole vectors, laid out several at once. Other rows have a
/// tail each, and rather about this many elements.
const VECTORS: i64 = 1 << 5;
const LONG: i64 = 1 << 11;

/// Elements of a row, and side by side in it, at least: what is done once a row, or for a tail, is little beside it.
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
    let (over, from) = match length {
        1 => (shape.to_vec(), from),
        n if shape[axis] == Size::from(n) => (shape.to_vec(), axis),
        length => (Blocks { axis, length }.of(shape), axis + 1),
    };
    let row = row * length;
    let little_tails = are_whole(&over) || over.last()?.as_const()? >= SHORTEST;
    (row >= SHORTEST && little_tails && points(shape) / row >= FEWEST_ROWS).then_some(Rows { over, from })
}

/// Whether what lies side by side in a shape is whole vectors, which are whole lines of memory.
pub(super) fn are_whole(shape: &[Size]) -> bool {
    shape.last().is_some_and(|n| n.divisor() % VECTORS == 0)
}

/// Whether some dimensions are a row that has a mean, and stays in a cache.
pub(super) fn is_row(shape: &[Size]) -> bool {
    shape.iter().all(|n| n.bounds().0 > 0) && (SHORTEST..=LONGEST).contains(&points(shape))
}

/// The points of a block of a dimension, where it can be cut in blocks.
pub(super) fn block(shape: &[Size], axis: usize) -> Option<i64> {
    let (divisor, row) = (shape[axis].divisor(), points(&shape[axis + 1..]));
    (FEWEST..=MOST).rev().find(|n| divisor % n == 0 && row >= SHORTEST && row.saturating_mul(*n) <= BLOCK)
}

/// Whether a block holds some dimensions.
pub(super) fn holds(shape: &[Size]) -> bool {
    points(shape) <= BLOCK
}
