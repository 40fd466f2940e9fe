//! Lookups and writes at positions that a tensor has.

use svod_dtype::DType;
use svod_tensor::{Index, Reduction, Size, Tensor};

use super::{Row, row};
use crate::call::{Call, Outcome, axis_of, counting_along, extent_at, extents, invalid, one, unsupported};
use crate::error::Fault;

pub(super) const ROWS: &[Row] = &[
    row("Compress", 9, compress),
    row("Gather", 1, |c| {
        let (x, index) = (c.tensor(0)?, c.tensor(1)?);
        let axis = c.axis("axis", 0, x.rank())?;
        one(x.take(&index, axis as i64)?)
    }),
    row("GatherElements", 11, |c| {
        let (x, index) = (c.tensor(0)?, c.tensor(1)?);
        let axis = c.axis("axis", 0, x.rank())?;
        one(x.gather(axis as i64, &index)?)
    }),
    row("GatherND", 11, gather_nd),
    row("NonZero", 9, |c| {
        let found = c.tensor(0)?.nonzero()?;
        one(Tensor::stack(&found.iter().collect::<Vec<_>>(), 0)?)
    }),
    row("Scatter", 9, scatter_elements),
    row("ScatterElements", 11, scatter_elements),
    row("ScatterND", 11, scatter_nd),
    row("TensorScatter", 24, tensor_scatter),
    row("Unique", 11, unique),
];

/// The elements at rows of positions: `[..batch, .., k]` positions of the `k` dimensions behind those of the batch.
fn gather_nd(c: &Call<'_>) -> Outcome {
    let (x, index) = (c.tensor(0)?, c.tensor(1)?);
    let batch = c.int("batch_dims", 0)?;
    let Some(batch) = usize::try_from(batch).ok().filter(|b| *b < index.rank() && *b <= x.rank()) else {
        return invalid(format!("batch_dims of {batch}"));
    };
    let (columns, lead) = columns_of(&index)?;
    let mut all: Vec<Index> = Vec::with_capacity(batch + columns.len());
    for axis in 0..batch {
        all.push(Index::Tensor(counting_along(lead[axis].clone(), axis, lead.len())?));
    }
    all.extend(columns.into_iter().map(Index::Tensor));
    one(x.get(&all)?)
}

/// The columns of rows of positions, and the shape of each.
fn columns_of(index: &Tensor) -> Result<(Vec<Tensor>, Vec<Size>), Fault> {
    let mut lead = index.shape();
    let Some(width) = lead.pop().and_then(|n| n.as_const()) else {
        return unsupported(format!("positions {} of an unknown number of dimensions", index.described()));
    };
    let column = |at: i64| index.narrow(-1, at, 1)?.squeeze(Some(&[-1]));
    Ok(((0..width).map(column).collect::<svod_tensor::Result<_>>()?, lead))
}

/// What is done where something is already.
fn reduction(c: &Call<'_>) -> Result<Option<Reduction>, Fault> {
    Ok(match c.text("reduction", "none")? {
        "none" => None,
        "add" => Some(Reduction::Sum),
        "mul" => Some(Reduction::Prod),
        "max" => Some(Reduction::Max),
        "min" => Some(Reduction::Min),
        other => return invalid(format!("attribute 'reduction' is '{other}'")),
    })
}

fn scattered(x: &Tensor, axis: i64, index: &Tensor, values: &Tensor, by: Option<Reduction>) -> Outcome {
    one(match by {
        None => x.scatter(axis, index, values)?,
        Some(by) => x.scatter_reduce(axis, index, values, by, true)?,
    })
}

fn scatter_elements(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = c.axis("axis", 0, x.rank())?;
    scattered(&x, axis as i64, &c.tensor(1)?, &c.tensor(2)?, reduction(c)?)
}

fn scatter_nd(c: &Call<'_>) -> Outcome {
    let (x, index, updates) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let (columns, lead) = columns_of(&index)?;
    let shape = x.shape();
    if columns.len() > shape.len() {
        return invalid(format!("{} positions for rank {}", columns.len(), shape.len()));
    }
    // Positions in the dimensions that they name, which become one.
    let mut flat = Tensor::zeros(&lead, DType::I64)?;
    for (column, extent) in columns.iter().zip(&shape) {
        let column = column.cast(DType::I64)?;
        let extent = Tensor::from_size(extent.clone())?;
        let from_front = Tensor::select(&column.lt(0)?, column.add(&extent)?, &column)?;
        flat = flat.mul(&extent)?.add(from_front)?;
    }
    let named: Size = shape[..columns.len()].iter().product();
    let rest: Size = shape[columns.len()..].iter().product();
    let count: Size = lead.iter().product();
    let rows = updates.reshape(&[count.clone(), rest.clone()])?;
    let at = flat.reshape(&[count.clone(), Size::ONE])?.expand(&[count, rest.clone()])?;
    let table = x.reshape(&[named, rest])?;
    let written = match reduction(c)? {
        None => table.scatter(0, &at, &rows)?,
        Some(by) => table.scatter_reduce(0, &at, &rows, by, true)?,
    };
    one(written.reshape(&shape)?)
}

fn compress(c: &Call<'_>) -> Outcome {
    let (mut x, mask) = (c.tensor(0)?, c.tensor(1)?);
    let axis = match c.maybe_int("axis")? {
        Some(axis) => axis_of(axis, x.rank())?,
        None => {
            x = x.flatten(0, -1)?;
            0
        }
    };
    let found = mask.nonzero()?;
    let Some(at) = found.first() else { return invalid("the condition should be a list") };
    one(x.take(at, axis as i64)?)
}

/// A cache with `update` written along an axis, from a position on that each item of the batch has.
fn tensor_scatter(c: &Call<'_>) -> Outcome {
    let (past, update) = (c.tensor(0)?, c.tensor(1)?);
    let axis = c.axis("axis", -2, past.rank())?;
    let (own, given) = (past.shape(), update.shape());
    if given.len() != own.len() {
        return invalid(format!("{} is no part of {}", update.described(), past.described()));
    }
    let mut at = counting_along(given[axis].clone(), axis, own.len())?;
    if let Some(first) = c.optional(2)? {
        at = at.add(first.cast(DType::I64)?.reshape(&extent_at(own[0].clone(), 0, own.len()))?)?;
    }
    if c.text("mode", "linear")? == "circular" {
        at = at.modulo(Tensor::from_size(own[axis].clone())?)?;
    }
    one(past.scatter(axis as i64, &at.expand(&given)?, &update)?)
}

/// The values, each once: with where each is first, which of them each element is, and how often.
fn unique(c: &Call<'_>) -> Outcome {
    let mut x = c.tensor(0)?;
    let (axis, is_flat) = match c.maybe_int("axis")? {
        Some(axis) => (axis_of(axis, x.rank())?, false),
        None => {
            x = x.flatten(0, -1)?;
            (0, true)
        }
    };
    x.check_known("Unique")?;
    let shape = extents(&x)?;
    let rows = x.movedim(axis as i64, 0)?.reshape(&[shape[axis], -1])?;
    let values = rows.cast(DType::F64)?.to_vec::<f64>()?;
    let width = (values.len() / (shape[axis].max(1) as usize)).max(1);
    let all: Vec<&[f64]> = values.chunks(width).collect();
    let order = |a: &[f64], b: &[f64]| {
        let pairs = a.iter().zip(b);
        pairs.map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    };
    // The first of each value, in the order of the elements.
    let mut sorted: Vec<usize> = (0..all.len()).collect();
    sorted.sort_by(|a, b| order(all[*a], all[*b]));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for at in sorted {
        match groups.last_mut().filter(|group| order(all[group[0]], all[at]).is_eq()) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    if !c.flag("sorted", true)? {
        groups.sort_by_key(|group| group[0]);
    }
    let mut inverse = vec![0i64; all.len()];
    for (number, group) in groups.iter().enumerate() {
        group.iter().for_each(|at| inverse[*at] = number as i64);
    }
    let first: Vec<i64> = groups.iter().map(|group| group[0] as i64).collect();
    let counts: Vec<i64> = groups.iter().map(|group| group.len() as i64).collect();
    let list = |numbers: &[i64]| Tensor::from_slice(numbers, &[numbers.len()]);
    let first = list(&first)?;
    let taken = x.take(&first, if is_flat { 0 } else { axis as i64 })?;
    Ok(vec![taken.into(), first.into(), list(&inverse)?.into(), list(&counts)?.into()])
}
