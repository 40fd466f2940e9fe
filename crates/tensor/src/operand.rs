//! Operands: tensors and scalars, brought to one type and shape.

use svod_dtype::{Const, DEFAULT_COMPLEX, DEFAULT_FLOAT, DEFAULT_INT, DType, Weak, promote, promote_weak};
use svod_ir::graph::{Shape, UOp};
use svod_ir::size::{BoundVariable, Size};

use crate::complex;
use crate::error::{Result, TensorError, show, show_operands, show_typed};
use crate::memory::as_computed;
use crate::tensor::Tensor;

/// A tensor, or a scalar that takes the type of the tensor it meets.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A tensor.
    Tensor(Tensor),
    /// Floats of a list: of the default type, but what they are rounded to is the type in which operands meet.
    Listed {
        /// In the default type.
        rounded: Tensor,
        /// In `float64`, as they were written.
        exact: Tensor,
    },
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i128),
    /// A float.
    Float(f64),
    /// A complex number: its real and its imaginary part.
    Complex(f64, f64),
    /// An integer that variables give, some of which have a value for this run.
    Size(Size, Vec<BoundVariable>),
}

macro_rules! operand_from {
    ($($ty:ty => $variant:ident;)*) => {$(
        impl From<$ty> for Operand {
            fn from(value: $ty) -> Self {
                Operand::$variant(value.into())
            }
        }
    )*};
}
operand_from! {
    Tensor => Tensor;
    bool => Bool;
    i32 => Int;
    i64 => Int;
    u64 => Int;
    i128 => Int;
    f32 => Float;
    f64 => Float;
}

impl From<&Tensor> for Operand {
    fn from(value: &Tensor) -> Self {
        Operand::Tensor(value.clone())
    }
}

impl From<Size> for Operand {
    fn from(value: Size) -> Self {
        Operand::Size(value, Vec::new())
    }
}

impl Operand {
    /// The value as a size, of an integer.
    pub(crate) fn size(&self) -> Option<Size> {
        match self {
            Operand::Int(value) => i64::try_from(*value).ok().map(Size::from),
            Operand::Size(size, _) => Some(size.clone()),
            _ => None,
        }
    }

    /// The values of variables that come with it.
    pub(crate) fn values(&self) -> &[BoundVariable] {
        if let Operand::Size(_, values) = self { values } else { &[] }
    }

    fn weak(&self) -> Option<Weak> {
        match self {
            Operand::Tensor(_) | Operand::Listed { .. } => None,
            Operand::Bool(_) => Some(Weak::Bool),
            Operand::Int(_) | Operand::Size(..) => Some(Weak::Int),
            Operand::Float(_) => Some(Weak::Float),
            Operand::Complex(..) => Some(Weak::Complex),
        }
    }

    /// The operand in this type: a cast tensor, or a 0-d constant.
    pub(crate) fn in_type(&self, op: &'static str, dtype: DType) -> Result<UOp> {
        let constant = match *self {
            Operand::Tensor(ref tensor) => return Ok(tensor.uop().cast(dtype)?),
            Operand::Listed { ref rounded, .. } if dtype == rounded.dtype() => return Ok(rounded.uop()),
            Operand::Listed { ref exact, .. } => return Ok(exact.uop().cast(dtype)?),
            Operand::Size(ref size, ref values) => return Ok(size_value(size)?.with_values(values)?.cast(dtype)?),
            Operand::Complex(re, im) if dtype.is_complex() => return complex::constant(dtype, re, im),
            Operand::Complex(re, im) => {
                let message = format!("{re} + {im}i is complex, which {dtype} is not");
                return Err(TensorError::dtype(op, message));
            }
            Operand::Bool(value) if dtype.is_complex() => return complex::constant(dtype, value.into(), 0.0),
            Operand::Float(value) if dtype.is_complex() => return complex::constant(dtype, value, 0.0),
            Operand::Int(value) if dtype.is_complex() => return complex::constant(dtype, value as f64, 0.0),
            Operand::Bool(value) => Const::bool(value).cast(dtype),
            Operand::Float(value) => Const::f64(dtype, value),
            Operand::Int(value) => match dtype.int_range() {
                Some((least, most)) if !dtype.is_bool() => {
                    if !(least..=most).contains(&value) {
                        let message = format!("{value} does not fit {dtype}, which holds {least} to {most}");
                        return Err(TensorError::Overflow { op, message });
                    }
                    Const::from_bits(dtype, value as u64)
                }
                _ => Const::f64(dtype, value as f64),
            },
        };
        Ok(UOp::constant(constant)?)
    }

    /// The operand in its own type; that of a scalar is the default of its kind.
    pub(crate) fn typed(&self, op: &'static str) -> Result<UOp> {
        match self {
            Operand::Tensor(tensor) | Operand::Listed { rounded: tensor, .. } => Ok(tensor.uop()),
            Operand::Bool(_) => self.in_type(op, DType::Bool),
            Operand::Int(_) | Operand::Size(..) => self.in_type(op, DEFAULT_INT),
            Operand::Float(_) => self.in_type(op, DEFAULT_FLOAT),
            Operand::Complex(..) => self.in_type(op, DEFAULT_COMPLEX),
        }
    }
}

/// The type in which these operands meet.
pub(crate) fn common_dtype(op: &'static str, operands: &[Operand]) -> Result<DType> {
    let none = |a: DType, b: &dyn std::fmt::Display| TensorError::dtype(op, format!("{a} and {b} have no common type"));
    let mut common = None;
    for operand in operands {
        if let Operand::Tensor(t) | Operand::Listed { rounded: t, .. } = operand {
            let dtype = t.dtype();
            let joined = common.map_or(Some(dtype), |c| promote(c, dtype));
            common = Some(joined.ok_or_else(|| none(common.unwrap_or(dtype), &dtype))?);
        }
    }
    let weak = operands.iter().filter_map(Operand::weak).max();
    match (common, weak) {
        (Some(common), Some(weak)) => {
            promote_weak(common, weak).ok_or_else(|| none(common, &format_args!("a scalar {weak:?}")))
        }
        (Some(common), None) => Ok(common),
        (None, Some(Weak::Bool)) => Ok(DType::Bool),
        (None, Some(Weak::Int)) => Ok(DEFAULT_INT),
        (None, Some(Weak::Float)) => Ok(DEFAULT_FLOAT),
        (None, Some(Weak::Complex)) => Ok(DEFAULT_COMPLEX),
        (None, None) => Err(TensorError::value(op, "no operand was given")),
    }
}

/// The operands in this type and in their common shape.
pub(crate) fn aligned(op: &'static str, operands: &[Operand], dtype: DType) -> Result<Vec<UOp>> {
    let nodes: Vec<UOp> = operands.iter().map(|o| o.in_type(op, dtype)).collect::<Result<_>>()?;
    broadcast(op, nodes)
}

/// Nodes expanded to their common shape.
pub(crate) fn broadcast(op: &'static str, nodes: Vec<UOp>) -> Result<Vec<UOp>> {
    let to = |shape: Shape, nodes: Vec<UOp>| nodes.into_iter().map(|n| Ok(n.expand(shape.clone())?)).collect();
    match broadcast_shape(op, &nodes) {
        Ok(shape) => to(shape, nodes),
        Err(misfit) => {
            let Some(nodes) = as_computed(&nodes) else { return Err(misfit) };
            to(broadcast_shape(op, &nodes).map_err(|_| misfit)?, nodes)
        }
    }
}

/// The common shape by NumPy's rules: aligned at the last dimension, 1 meets anything.
pub(crate) fn broadcast_shape(op: &'static str, nodes: &[UOp]) -> Result<Shape> {
    // That of one of them, if the others have it too or are single values: nearly always.
    if let Some(largest) = nodes.iter().max_by_key(|n| n.rank())
        && nodes.iter().all(|n| n.rank() == 0 || n.shape() == largest.shape())
    {
        return Ok(largest.shape_arc().clone());
    }
    let shapes: Vec<&[Size]> = nodes.iter().map(UOp::shape).collect();
    let misfit = |why| TensorError::shape(op, format!("shapes do not broadcast: {}; {why}", show_operands(nodes)));
    common_shape(&shapes).map(Shape::from).map_err(misfit)
}

/// The shape to which all of these broadcast, or why there is none.
pub(crate) fn common_shape(shapes: &[&[Size]]) -> std::result::Result<Vec<Size>, String> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut shape = vec![Size::ONE; rank];
    for extents in shapes {
        for (known, extent) in shape[rank - extents.len()..].iter_mut().zip(*extents) {
            if known == extent || *extent == Size::ONE {
                continue;
            }
            if *known == Size::ONE {
                *known = extent.clone();
                continue;
            }
            match Size::eq(known, extent) {
                Some(true) => {}
                Some(false) => return Err(format!("extents {known} and {extent} differ and neither is 1")),
                None => return Err(format!("whether extents {known} and {extent} are equal cannot be decided")),
            }
        }
    }
    Ok(shape)
}

/// A dimension counted from 0; `axis` may count from the end.
pub(crate) fn axis_of(op: &'static str, axis: i64, rank: usize) -> Result<usize> {
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    match usize::try_from(from_start) {
        Ok(a) if a < rank => Ok(a),
        _ => Err(TensorError::Axis { op, axis, rank }),
    }
}

/// As [`axes_of`]; a tensor without dimensions has, as in PyTorch and NumPy, the only element of one.
pub(crate) fn axes_or_none(op: &'static str, axes: Option<&[i64]>, rank: usize) -> Result<Vec<usize>> {
    match axes {
        Some([0 | -1]) if rank == 0 => Ok(Vec::new()),
        axes => axes_of(op, axes, rank),
    }
}

/// Dimensions, ascending; all of them for `None`.
pub(crate) fn axes_of(op: &'static str, axes: Option<&[i64]>, rank: usize) -> Result<Vec<usize>> {
    let Some(given) = axes else { return Ok((0..rank).collect()) };
    let mut axes: Vec<usize> = given.iter().map(|&a| axis_of(op, a, rank)).collect::<Result<_>>()?;
    axes.sort_unstable();
    if axes.windows(2).any(|w| w[0] == w[1]) {
        return Err(TensorError::value(op, format!("axes {given:?} name a dimension twice")));
    }
    Ok(axes)
}

/// Sizes given as integers, variables or sizes.
pub(crate) fn sizes<S: Clone + Into<Size>>(given: &[S]) -> Vec<Size> {
    given.iter().cloned().map(Into::into).collect()
}

/// A size as a 0-d `i64`.
pub(crate) fn size_value(size: &Size) -> Result<UOp> {
    match size.as_const() {
        Some(value) => Ok(UOp::constant(Const::i64(DType::I64, value))?),
        None => Ok(UOp::size(size.clone())?),
    }
}

/// An error unless the extents are proven not negative.
pub(crate) fn checked_shape(op: &'static str, sizes: Vec<Size>) -> Result<Shape> {
    match sizes.iter().find(|s| s.bounds().0 < 0) {
        None => Ok(sizes.into()),
        Some(s) => Err(TensorError::shape(op, format!("extent {s} of {} is or may be negative", show(&sizes)))),
    }
}

/// An error unless the node is of integers.
pub(crate) fn need_int(op: &'static str, what: &str, node: &UOp) -> Result<()> {
    match node.dtype().is_int() {
        true => Ok(()),
        false => {
            let given = show_typed(node.dtype(), node.shape());
            Err(TensorError::dtype(op, format!("{what} must be of integers, but is {given}")))
        }
    }
}
