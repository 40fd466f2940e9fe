//! The same elements under other coordinates.

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Op, Pairs, UOp};
use svod_ir::size::Size;

use crate::error::{Result, TensorError, show, show_operands};
use crate::operand::{Operand, axes_of, axes_or_none, axis_of, checked_shape, size_value, sizes};
use crate::read::{host_elements, is_known};
use crate::tensor::Tensor;

const INFERRED: i64 = -1;

impl Tensor {
    /// The same elements in row-major order under other extents; one -1 is inferred.
    pub fn reshape<S: Clone + Into<Size>>(&self, shape: &[S]) -> Result<Tensor> {
        let (op, node, mut shape) = ("reshape", self.uop(), sizes(shape));
        let inferred: Vec<usize> = (0..shape.len()).filter(|&i| shape[i].as_const() == Some(INFERRED)).collect();
        let misfit = |shape: &[Size]| {
            let given = show_operands(std::slice::from_ref(&node));
            TensorError::shape(op, format!("{given} has {} elements, which do not fit {}", node.numel(), show(shape)))
        };
        match *inferred {
            [] => {}
            [i] => {
                shape[i] = Size::ONE;
                let others: Size = shape.iter().product();
                let extent = node.numel().floordiv(&others);
                let exact = others != Size::ZERO && &extent * &others == node.numel();
                shape[i] = INFERRED.into();
                if !exact {
                    return Err(misfit(&shape));
                }
                shape[i] = extent;
            }
            _ => return Err(TensorError::shape(op, format!("{} has more than one -1", show(&shape)))),
        }
        let shape = checked_shape(op, shape)?;
        if node.numel() != shape.iter().product::<Size>() {
            return Err(misfit(&shape));
        }
        Ok(Tensor::from_uop(node.reshape(shape)?))
    }

    /// Dimension `i` of the result is dimension `axes[i]`.
    pub fn permute(&self, axes: &[i64]) -> Result<Tensor> {
        self.permute_for("permute", axes)
    }

    /// [`Tensor::permute`] by the name that errors are to have.
    pub fn permute_for(&self, op: &'static str, axes: &[i64]) -> Result<Tensor> {
        let node = self.uop();
        let order: Vec<usize> = axes.iter().map(|&a| axis_of(op, a, node.rank())).collect::<Result<_>>()?;
        if axes_of(op, Some(axes), node.rank())?.len() != node.rank() {
            let given = show_operands(&[node]);
            return Err(TensorError::shape(op, format!("axes {axes:?} do not order all dimensions of {given}")));
        }
        Ok(Tensor::from_uop(node.permute(&order)?))
    }

    /// Two dimensions exchanged.
    pub fn transpose(&self, a: i64, b: i64) -> Result<Tensor> {
        let node = self.uop();
        if node.rank() == 0 && [a, b].iter().all(|axis| [0, -1].contains(axis)) {
            return Ok(Tensor::from_uop(node));
        }
        let (a, b) = (axis_of("transpose", a, node.rank())?, axis_of("transpose", b, node.rank())?);
        let mut order: Vec<usize> = (0..node.rank()).collect();
        order.swap(a, b);
        Ok(Tensor::from_uop(node.permute(&order)?))
    }

    /// All dimensions in reverse order.
    pub fn t(&self) -> Result<Tensor> {
        let node = self.uop();
        Ok(Tensor::from_uop(node.permute(&(0..node.rank()).rev().collect::<Vec<_>>())?))
    }

    /// Dimension `from` moved to position `to`.
    pub fn movedim(&self, from: i64, to: i64) -> Result<Tensor> {
        let node = self.uop();
        let (from, to) = (axis_of("movedim", from, node.rank())?, axis_of("movedim", to, node.rank())?);
        let mut order: Vec<usize> = (0..node.rank()).filter(|&a| a != from).collect();
        order.insert(to, from);
        Ok(Tensor::from_uop(node.permute(&order)?))
    }

    /// Dimensions `start..=end` as one; that of a 0-d tensor is new.
    pub fn flatten(&self, start: i64, end: i64) -> Result<Tensor> {
        let shape = self.shape();
        if shape.is_empty() {
            return self.reshape(&[1]);
        }
        let (start, end) = (axis_of("flatten", start, shape.len())?, axis_of("flatten", end, shape.len())?);
        if start > end {
            return Err(TensorError::value("flatten", format!("first axis {start} comes after last axis {end}")));
        }
        let merged = numel(&shape[start..=end]);
        self.reshape(&[&shape[..start], &[merged], &shape[end + 1..]].concat())
    }

    /// One dimension as several; one -1 is inferred.
    pub fn unflatten<S: Clone + Into<Size>>(&self, axis: i64, extents: &[S]) -> Result<Tensor> {
        let (op, shape, mut extents) = ("unflatten", self.shape(), sizes(extents));
        let axis = axis_of(op, axis, shape.len())?;
        let given = show(&extents);
        if let Some(i) = extents.iter().position(|s| s.as_const() == Some(INFERRED)) {
            extents[i] = Size::ONE;
            let others = numel(&extents);
            if others != Size::ZERO {
                extents[i] = shape[axis].floordiv(&others);
            }
        }
        if numel(&extents) != shape[axis] {
            return Err(TensorError::shape(op, format!("extent {} does not fit {given}", shape[axis])));
        }
        self.reshape(&[&shape[..axis], &extents, &shape[axis + 1..]].concat())
    }

    /// Without these dimensions of extent 1; those of another extent stay. `None` is all.
    pub fn squeeze(&self, axes: Option<&[i64]>) -> Result<Tensor> {
        let shape = self.shape();
        let axes = axes_or_none("squeeze", axes, shape.len())?;
        let stays = |i: &usize| !axes.contains(i) || shape[*i] != Size::ONE;
        self.reshape(&(0..shape.len()).filter(stays).map(|i| shape[i].clone()).collect::<Vec<_>>())
    }

    /// A new dimension of extent 1 at this position of the result.
    pub fn unsqueeze(&self, axis: i64) -> Result<Tensor> {
        let mut shape = self.shape();
        shape.insert(axis_of("unsqueeze", axis, shape.len() + 1)?, Size::ONE);
        self.reshape(&shape)
    }

    /// Dimensions of extent 1 repeated to these extents, new ones in front; -1 keeps an extent.
    pub fn expand<S: Clone + Into<Size>>(&self, shape: &[S]) -> Result<Tensor> {
        let (op, node, mut shape) = ("expand", self.uop(), sizes(shape));
        let misfit = |shape: &[Size]| {
            let given = show_operands(std::slice::from_ref(&node));
            TensorError::shape(op, format!("{given} does not expand to {}", show(shape)))
        };
        let Some(new) = shape.len().checked_sub(node.rank()) else { return Err(misfit(&shape)) };
        for (i, extent) in node.shape().iter().enumerate() {
            if shape[new + i].as_const() == Some(INFERRED) {
                shape[new + i] = extent.clone();
            } else if *extent != Size::ONE && *extent != shape[new + i] {
                return Err(misfit(&shape));
            }
        }
        Ok(Tensor::from_uop(node.expand(checked_shape(op, shape)?)?))
    }

    /// As [`Tensor::expand`], by NumPy's name.
    pub fn broadcast_to<S: Clone + Into<Size>>(&self, shape: &[S]) -> Result<Tensor> {
        self.expand(shape)
    }

    /// `value` before and after each dimension, by these numbers of elements; a negative number takes as many away.
    pub fn pad<S: Clone + Into<Size>>(&self, by: &[(S, S)], value: impl Into<Operand>) -> Result<Tensor> {
        let (op, node) = ("pad", self.uop());
        let by: Vec<(Size, Size)> = by.iter().map(|(a, b)| (a.clone().into(), b.clone().into())).collect();
        let fill = value.into().in_type(op, node.dtype())?;
        let fill = fill.uniform().ok_or_else(|| TensorError::value(op, "the fill must be a scalar"))?;
        let may_cut = |n: &Size| n.bounds().0 < 0;
        if !by.iter().any(|(a, b)| may_cut(a) || may_cut(b)) || by.len() != node.rank() {
            return Ok(Tensor::from_uop(node.pad(by, fill)?));
        }
        // A size may be both, as variables have it.
        let positive = |n: &Size| match n.bounds() {
            (0.., _) => n.clone(),
            (_, ..=0) => Size::ZERO,
            _ => n.max(0),
        };
        let cut = |n: &Size| positive(&-n);
        let kept: Pairs = node.shape().iter().zip(&by).map(|(n, (a, b))| (cut(a), n - cut(b))).collect();
        let added: Pairs = by.iter().map(|(a, b)| (positive(a), positive(b))).collect();
        Ok(Tensor::from_uop(node.shrink(kept)?.pad(added, fill)?))
    }

    /// The part `first..last` of each dimension.
    pub fn shrink<S: Clone + Into<Size>>(&self, to: &[(S, S)]) -> Result<Tensor> {
        let to: Vec<(Size, Size)> = to.iter().map(|(a, b)| (a.clone().into(), b.clone().into())).collect();
        Ok(Tensor::from_uop(self.uop().shrink(to)?))
    }

    /// `length` elements of `axis` from `start` on.
    pub fn narrow(&self, axis: i64, start: impl Into<Size>, length: impl Into<Size>) -> Result<Tensor> {
        let node = self.uop();
        let axis = axis_of("narrow", axis, node.rank())?;
        let start = start.into();
        let last = &start + length.into();
        Ok(Tensor::from_uop(part(&node, axis, start, last)?))
    }

    /// `length` elements of `axis` from where a 0-d integer says, which counts from the end where it is negative.
    pub fn narrow_at(&self, axis: i64, start: &Tensor, length: &Size) -> Result<Tensor> {
        let (op, node) = ("narrow", self.uop());
        let at = axis_of(op, axis, node.rank())?;
        if start.rank() != 0 || !start.dtype().is_int() {
            let message = format!("start: an integer without dimensions is expected, not {}", start.described());
            return Err(TensorError::shape(op, message));
        }
        let extent = &node.shape()[at];
        if length.bounds().0 < 0 || length.le(extent) != Some(true) {
            return Err(TensorError::shape(op, format!("{length} elements of axis {axis} of {}", self.described())));
        }
        if let (Some(place), Some(extent), Some(length)) = (known(start)?, extent.as_const(), length.as_const())
            && !(0..=i128::from(extent - length))
                .contains(&(if place < 0 { place + i128::from(extent) } else { place }))
        {
            let (index, extent) = (place as i64, extent.into());
            return Err(TensorError::Index { op, index, axis: at, extent, line: None });
        }
        let first = start.cast(DType::I64)?;
        let extent = Tensor::from_uop(size_value(extent)?);
        let first = Tensor::select(&first.lt(0)?, first.add(&extent)?, &first)?;
        // What is negative still is outside, and not counted from the end once more.
        let first = Tensor::select(&first.lt(0)?, &extent, &first)?;
        self.index_select(axis, &Tensor::from_uop(UOp::range(length.clone())?).add(first)?)
    }

    /// These dimensions in reverse order; all of them for `None`.
    pub fn flip(&self, axes: Option<&[i64]>) -> Result<Tensor> {
        let node = self.uop();
        Ok(Tensor::from_uop(node.flip(&axes_or_none("flip", axes, node.rank())?)?))
    }

    /// The elements on and below diagonal `k`, zeros above, of the last two dimensions.
    pub fn tril(&self, k: impl Into<Size>) -> Result<Tensor> {
        self.triangle("tril", |row, column| Ok(UOp::alu(Alu::Le, &[column, row])?), k.into())
    }

    /// The elements on and above diagonal `k`, zeros below, of the last two dimensions.
    pub fn triu(&self, k: impl Into<Size>) -> Result<Tensor> {
        self.triangle("triu", |row, column| Ok(UOp::alu(Alu::Le, &[row, column])?), k.into())
    }

    /// Keeps the elements for which `keep(row + k, column)`.
    fn triangle(&self, op: &'static str, keep: impl Fn(UOp, UOp) -> Result<UOp>, k: Size) -> Result<Tensor> {
        let shape = self.shape();
        let [.., rows, columns] = shape.as_slice() else {
            return Err(TensorError::shape(op, format!("needs at least 2 dimensions, not {}", show(&shape))));
        };
        let (rows, columns) = (rows.clone(), columns.clone());
        let extents: svod_ir::graph::Shape = [rows.clone(), columns.clone()].into();
        let row = Tensor::from_uop(UOp::range(rows.clone())?).add(k)?.uop();
        let row = row.reshape([rows, Size::ONE])?.expand(extents.clone())?;
        let column = UOp::range(columns)?.expand(extents)?;
        Tensor::select(&Tensor::from_uop(keep(row, column)?), self, self.zero()?)
    }

    /// A 0-d zero of the tensor's type.
    pub(crate) fn zero(&self) -> Result<Tensor> {
        Ok(Tensor::from_uop(UOp::constant(Const::zero(self.dtype()))?))
    }
}

/// Number of elements.
pub(crate) fn numel(shape: &[Size]) -> Size {
    if shape.contains(&Size::ZERO) { Size::ZERO } else { shape.iter().product() }
}

/// The part `first..last` of one dimension.
pub(crate) fn part(node: &UOp, axis: usize, first: Size, last: Size) -> Result<UOp> {
    let mut to: Vec<(Size, Size)> = node.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
    to[axis] = (first, last);
    Ok(node.shrink(to)?)
}

/// One dimension padded.
pub(crate) fn padded(node: &UOp, axis: usize, before: Size, after: Size, fill: Const) -> Result<UOp> {
    let by: Pairs = (0..node.rank())
        .map(|i| if i == axis { (before.clone(), after.clone()) } else { (Size::ZERO, Size::ZERO) })
        .collect();
    Ok(node.pad(by, fill)?)
}

/// The number that an integer without dimensions is, where that is in memory.
fn known(number: &Tensor) -> Result<Option<i128>> {
    let node = number.uop();
    Ok(match (node.uniform(), node.op()) {
        (Some(value), _) => Some(value.as_i128()),
        (_, Op::Leaf(leaf)) if is_known(leaf) => host_elements(leaf)?.into_iter().next().map(Const::as_i128),
        _ => None,
    })
}
