//! The table: each operation over batches. The first dimension is that of the batch; those of an example follow.

use svod_dtype::{Const, DType};
use svod_ir::graph::{Op, Pairs, UOp};
use svod_ir::size::Size;
use svod_runtime::control::{Control, Kind};

use crate::derivative::algebra::{add, both, choose, less, mul};
use crate::error::{Result, TensorError};

/// What an operand has become.
pub struct Operand {
    pub node: UOp,
    /// Whether it differs from example to example, and has the batch's dimension.
    pub is_batch: bool,
}

impl Operand {
    /// The operand with the batch's dimension, whether it needs it or not.
    pub fn leading(&self, count: &Size) -> Result<UOp> {
        if self.is_batch {
            return Ok(self.node.clone());
        }
        let shape: Vec<Size> = [count.clone()].into_iter().chain(self.node.shape().iter().cloned()).collect();
        Ok(self.node.expand(shape)?)
    }
}

/// What an operation of one example is over a batch of `count`, some of whose operands are batches.
///
/// # Errors
/// Operations that are not there for batches.
pub fn over_batches(node: &UOp, operands: &[Operand], count: &Size) -> Result<UOp> {
    let x = &operands[0].node;
    let all = || operands.iter().map(|operand| operand.leading(count)).collect::<Result<Vec<UOp>>>();
    let with_count = |shape: &[Size]| [count.clone()].into_iter().chain(shape.iter().cloned()).collect::<Vec<Size>>();
    let later = |axes: &[usize]| axes.iter().map(|axis| axis + 1).collect::<Vec<usize>>();
    Ok(match node.op() {
        // The same operation; marks say of a batch what they said of an example.
        Op::Alu(_) | Op::Cast(_) | Op::Bitcast(_) | Op::After => UOp::new(node.op().clone(), &all()?)?,
        Op::Contiguous
        | Op::Detach
        | Op::ContiguousBackward
        | Op::Copy(_)
        | Op::Let(_)
        | Op::AsReal
        | Op::AsComplex => UOp::new(node.op().clone(), std::slice::from_ref(x))?,
        // Derivatives by values of one example have been taken by now.
        Op::Watch(_) => x.clone(),
        // Other dimensions, behind the batch's.
        Op::Reshape(shape) => x.reshape(with_count(shape))?,
        Op::Permute(axes) => x.permute(&[vec![0], later(axes)].concat())?,
        Op::Expand(shape) => {
            let new = shape.len() + 1 - x.rank();
            let mut ones = with_count(&vec![Size::ONE; new]);
            ones.extend_from_slice(&x.shape()[1..]);
            x.reshape(ones)?.expand(with_count(shape))?
        }
        Op::Pad(by, fill) => x.pad(behind((Size::ZERO, Size::ZERO), by), *fill)?,
        Op::Shrink(to) => x.shrink(behind((Size::ZERO, count.clone()), to))?,
        Op::Flip(axes) => x.flip(&later(axes))?,
        Op::Concat(axis, _) => UOp::concat_of_many(&all()?, axis + 1)?,
        Op::Stack(axis, _) => UOp::stack_of_many(&all()?, axis + 1)?,
        Op::Window(axis, size, stride, dilation) => x.window(axis + 1, size.clone(), *stride, *dilation)?,
        Op::Reduce(by, axes) => x.reduce(*by, &later(axes))?,
        Op::NonEmpty(by, axes) => x.non_empty(*by, &later(axes))?,
        Op::Scan(by, axis, inclusive) => x.scan(*by, axis + 1, *inclusive)?,
        Op::Sort(axis, descending, first) => x.sort(axis + 1, *descending, first.clone())?,
        Op::ArgSort(axis, descending, first) => x.argsort(axis + 1, *descending, first.clone())?,
        Op::Gather(axis) => operands[0].leading(count)?.gather(axis + 1, &operands[1].leading(count)?)?,
        Op::Scatter(axis, by) => {
            let all = all()?;
            all[0].scatter(axis + 1, &all[1], &all[2], *by)?
        }
        Op::Take(axis) => take(*axis, &operands[0], &operands[1], count)?,
        Op::Host(call, _, output) if call.function().takes_batches() => {
            UOp::host(call.function().clone(), &all()?)?.swap_remove(*output)
        }
        other => return Err(missing(other)),
    })
}

/// The error of an operation that is not there for batches, by the name that users know it by.
fn missing(op: &Op) -> TensorError {
    let name = match op {
        Op::Host(call, ..) => call.function().name(),
        other => other.name(),
    };
    let control = if let Op::Host(call, ..) = op { call.downcast::<Control>() } else { None };
    let hint = match (op, control.map(Control::kind)) {
        (Op::Rand(_), _) => "; draw for all examples at once, outside",
        (_, Some(Kind::Branch)) => "; `where` chooses for each example",
        (_, Some(Kind::Loop { .. })) => "; loop over all examples at once, outside",
        _ => "",
    };
    TensorError::unsupported("vmap", format!("`{name}` is not there for batches{hint}"))
}

/// A pair for the batch's dimension before those of the others.
fn behind(first: (Size, Size), pairs: &Pairs) -> Pairs {
    [first].into_iter().chain(pairs.iter().cloned()).collect()
}

/// `axis` of an example indexed: a lookup in what all share, or in a table of which each example has its own rows.
fn take(axis: usize, source: &Operand, index: &Operand, count: &Size) -> Result<UOp> {
    if !index.is_batch {
        return Ok(source.node.take(axis + 1, &index.node)?);
    }
    if !source.is_batch {
        // The batch's dimension comes with the index.
        let found = source.node.take(axis, &index.node)?;
        return Ok(found.permute(&to_front(axis, found.rank()))?);
    }
    // One table of all examples' rows, and positions in that; what is outside of an example's rows stays outside.
    let x = &source.node;
    let (rows, rank) = (x.shape()[axis + 1].clone(), x.rank());
    let order: Vec<usize> = [0, axis + 1].into_iter().chain((1..rank).filter(|i| *i != axis + 1)).collect();
    let behind: Vec<Size> = order[2..].iter().map(|i| x.shape()[*i].clone()).collect();
    let mut merged = vec![count.clone() * rows.clone()];
    merged.extend(behind);
    let table = x.permute(&order)?.reshape(merged)?;
    let index = index.node.cast(DType::I64)?;
    let like = index.shape_arc();
    let extent = UOp::size(rows)?.expand(like.clone())?;
    let mut own = vec![Size::ONE; index.rank()];
    own[0] = count.clone();
    let example = UOp::range(count.clone())?.reshape(own)?.expand(like.clone())?;
    let outside = UOp::full(Const::i64(DType::I64, -1), like)?;
    let is_inside = both(&less(&outside, &index)?, &less(&index, &extent)?)?;
    let at = choose(&is_inside, &add(&index, &mul(&example, &extent)?)?, &outside)?;
    let found = table.take(0, &at)?;
    // Batch, index, the dimensions before the axis, those behind it: the index goes between these.
    let (indexed, before) = (index.rank() - 1, axis);
    let mut back = vec![0];
    back.extend((0..before).map(|i| 1 + indexed + i));
    back.extend(1..=indexed);
    back.extend(1 + indexed + before..found.rank());
    Ok(found.permute(&back)?)
}

/// The order of axes in which one of them comes first.
fn to_front(axis: usize, rank: usize) -> Vec<usize> {
    [axis].into_iter().chain((0..rank).filter(|i| *i != axis)).collect()
}
