//! Constructors: one per operation, named as in the table.

use super::error::{GraphError, Reason};
use super::infer;
use super::leaf::{Device, Leaf};
use super::op::{Axes, Op, Pairs, Shape};
use super::sharding::Sharding;
use super::uop::{Thunk, UOp};
use crate::alu::Alu;
use crate::kernel::Monoid;
use crate::size::{BoundVariable, Size};
use smallvec::smallvec;
use std::sync::Arc;
use svod_dtype::{Const, DType};

/// Values that one operation puts one after the other at most: each is another branch of its code.
const MOST_JOINED: usize = 32;

impl UOp {
    /// A 0-d constant of a type that tensors may have.
    pub fn constant(value: Const) -> Result<UOp, GraphError> {
        UOp::new(Op::Const(value), &[])
    }

    /// A constant of this shape: an expanded 0-d one.
    pub fn full(value: Const, shape: &Shape) -> Result<UOp, GraphError> {
        UOp::constant(value)?.expand(shape.clone())
    }

    /// Memory.
    pub fn leaf(leaf: Leaf) -> Result<UOp, GraphError> {
        UOp::new(Op::Leaf(leaf), &[])
    }

    /// An integer expression over variables as a 0-d `i64`.
    pub fn size(size: impl Into<Size>) -> Result<UOp, GraphError> {
        UOp::new(Op::Size(size.into()), &[])
    }

    /// A variable's value for this run as a 0-d `i64`.
    pub fn bind(var: BoundVariable) -> Result<UOp, GraphError> {
        UOp::new(Op::Bind(var), &[])
    }

    /// The numbers `0..count`.
    pub fn range(count: impl Into<Size>) -> Result<UOp, GraphError> {
        UOp::new(Op::Range(count.into()), &[])
    }

    /// Random bits; see [`Op::Rand`]. A plan is reused for another key where the key is a leaf
    /// rather than a constant, which is part of the graph's structure.
    pub fn rand(key: &UOp, offset: &UOp, shape: Shape) -> Result<UOp, GraphError> {
        UOp::new(Op::Rand(shape), &[key.clone(), offset.clone()])
    }

    /// A scalar operation on each element.
    pub fn alu(op: Alu, operands: &[UOp]) -> Result<UOp, GraphError> {
        UOp::new(Op::Alu(op), operands)
    }

    /// Conversion; the node itself when it has the type. Of a complex type, that of the pairs.
    pub fn cast(&self, to: DType) -> Result<UOp, GraphError> {
        match () {
            () if to == self.dtype() => Ok(self.clone()),
            () if to.is_complex() || self.dtype().is_complex() => self.converted(to),
            () => self.unary(Op::Cast(to)),
        }
    }

    /// The bits as another type; the node itself when it has the type.
    pub fn bitcast(&self, to: DType) -> Result<UOp, GraphError> {
        if to == self.dtype() { Ok(self.clone()) } else { self.unary(Op::Bitcast(to)) }
    }

    /// Other extents; the node itself when it has them.
    pub fn reshape(&self, shape: impl Into<Shape>) -> Result<UOp, GraphError> {
        let shape = shape.into();
        if *shape == *self.shape() { Ok(self.clone()) } else { self.unary(Op::Reshape(shape)) }
    }

    /// Dimensions in another order; the node itself when it is the same.
    pub fn permute(&self, axes: &[usize]) -> Result<UOp, GraphError> {
        if axes.iter().copied().eq(0..self.rank()) {
            return Ok(self.clone());
        }
        self.unary(Op::Permute(axes.into()))
    }

    /// Repetition; the node itself when it has the shape.
    pub fn expand(&self, shape: impl Into<Shape>) -> Result<UOp, GraphError> {
        let shape = shape.into();
        if *shape == *self.shape() { Ok(self.clone()) } else { self.unary(Op::Expand(shape)) }
    }

    /// Padding with `fill`; the node itself when there is none.
    pub fn pad(&self, by: impl Into<Pairs>, fill: Const) -> Result<UOp, GraphError> {
        let by = by.into();
        let none = by.len() == self.rank() && by.iter().all(|(a, b)| *a == Size::ZERO && *b == Size::ZERO);
        if none && fill.dtype() == self.dtype() { Ok(self.clone()) } else { self.unary(Op::Pad(by, fill)) }
    }

    /// A part, `first..last` of each dimension; the node itself when it is all.
    pub fn shrink(&self, to: impl Into<Pairs>) -> Result<UOp, GraphError> {
        let to = to.into();
        let all = to.len() == self.rank()
            && to.iter().zip(self.shape()).all(|((first, last), n)| *first == Size::ZERO && last == n);
        if all { Ok(self.clone()) } else { self.unary(Op::Shrink(to)) }
    }

    /// Reversed dimensions; the node itself when there are none.
    pub fn flip(&self, axes: &[usize]) -> Result<UOp, GraphError> {
        let mut axes = Axes::from_slice(axes);
        axes.sort_unstable();
        if axes.is_empty() { Ok(self.clone()) } else { self.unary(Op::Flip(axes)) }
    }

    /// Windows along `axis`, whose elements are a new last dimension; see [`Op::Window`]. Windows of
    /// one element each are a reshape.
    pub fn window(
        &self,
        axis: usize,
        size: impl Into<Size>,
        stride: usize,
        dilation: usize,
    ) -> Result<UOp, GraphError> {
        let size = size.into();
        if size == Size::ONE && stride == 1 && dilation > 0 && axis < self.rank() {
            let mut shape = self.shape().to_vec();
            shape.push(Size::ONE);
            return self.reshape(shape);
        }
        // The distance of the elements of a window of one says nothing.
        let dilation = if size == Size::ONE { dilation.min(1) } else { dilation };
        self.unary(Op::Window(axis, size, stride, dilation))
    }

    /// A reduction, which removes `axes`; the node itself when there are none.
    pub fn reduce(&self, by: Monoid, axes: &[usize]) -> Result<UOp, GraphError> {
        let mut axes = Axes::from_slice(axes);
        axes.sort_unstable();
        let same = axes.is_empty() && infer::scan(by, std::slice::from_ref(self)).is_ok();
        if same { Ok(self.clone()) } else { self.unary(Op::Reduce(by, axes)) }
    }

    /// A scan.
    pub fn scan(&self, by: Monoid, axis: usize, inclusive: bool) -> Result<UOp, GraphError> {
        self.unary(Op::Scan(by, axis, inclusive))
    }

    /// `axis` indexed by a tensor.
    pub fn take(&self, axis: usize, index: &UOp) -> Result<UOp, GraphError> {
        UOp::new(Op::Take(axis), &[self.clone(), index.clone()])
    }

    /// Elements picked along `axis`.
    pub fn gather(&self, axis: usize, index: &UOp) -> Result<UOp, GraphError> {
        UOp::new(Op::Gather(axis), &[self.clone(), index.clone()])
    }

    /// This value with elements replaced or combined along `axis`.
    pub fn scatter(&self, axis: usize, index: &UOp, values: &UOp, by: Option<Monoid>) -> Result<UOp, GraphError> {
        UOp::new(Op::Scatter(axis, by), &[self.clone(), index.clone(), values.clone()])
    }

    /// The first `count` elements along an axis, sorted.
    pub fn sort(&self, axis: usize, descending: bool, count: impl Into<Size>) -> Result<UOp, GraphError> {
        self.unary(Op::Sort(axis, descending, count.into()))
    }

    /// Where along an axis the first `count` elements, sorted, are.
    pub fn argsort(&self, axis: usize, descending: bool, count: impl Into<Size>) -> Result<UOp, GraphError> {
        self.unary(Op::ArgSort(axis, descending, count.into()))
    }

    /// In memory of its own.
    pub fn contiguous(&self) -> Result<UOp, GraphError> {
        self.unary(Op::Contiguous)
    }

    /// Without gradient.
    pub fn detach(&self) -> Result<UOp, GraphError> {
        self.unary(Op::Detach)
    }

    /// With a contiguous gradient.
    pub fn contiguous_backward(&self) -> Result<UOp, GraphError> {
        self.unary(Op::ContiguousBackward)
    }

    /// This value, whose readers run once another one is computed.
    pub fn after(&self, other: &UOp) -> Result<UOp, GraphError> {
        UOp::new(Op::After, &[self.clone(), other.clone()])
    }

    /// With values for this run of variables that sizes below mention.
    pub fn with_values(&self, values: &[BoundVariable]) -> Result<UOp, GraphError> {
        values.iter().try_fold(self.clone(), |node, value| node.unary(Op::Let(value.clone())))
    }

    /// To be folded by `by` along `axes`, which must have an element where it is computed: the node itself where
    /// they have one at all sizes.
    pub fn non_empty(&self, by: Monoid, axes: &[usize]) -> Result<UOp, GraphError> {
        let open: Axes = axes.iter().copied().filter(|axis| self.shape()[*axis].bounds().0 < 1).collect();
        if open.is_empty() { Ok(self.clone()) } else { self.unary(Op::NonEmpty(by, open)) }
    }

    /// On another device; the node itself when it is there. Files are only read: what is to be where one is, is on the CPU.
    pub fn copy_to(&self, to: &Device) -> Result<UOp, GraphError> {
        let host = Device::host();
        let to = if to.is_file() { &host } else { to };
        if self.device() == Some(to) { Ok(self.clone()) } else { self.unary(Op::Copy(to.clone())) }
    }

    /// Spread over devices; the node itself when it is.
    pub fn shard(&self, to: &Arc<Sharding>) -> Result<UOp, GraphError> {
        if self.sharding() == Some(to) { Ok(self.clone()) } else { self.unary(Op::Shard(to.clone())) }
    }

    /// The value whose parts these are.
    pub fn multi(parts: &[UOp], of: &Arc<Sharding>) -> Result<UOp, GraphError> {
        UOp::new(Op::Multi(of.clone()), parts)
    }

    /// What each device has of a value that is spread over several; the node itself of any other.
    pub fn parts(&self) -> Result<Vec<UOp>, GraphError> {
        let Some(of) = self.sharding() else { return Ok(vec![self.clone()]) };
        if let (Op::Multi(_), Thunk::Expr(parts)) = (self.op(), self.state()) {
            return Ok(parts.to_vec());
        }
        (0..of.devices().len()).map(|i| self.unary(Op::Part(of.clone(), i))).collect()
    }

    /// Values of one type, whose extents differ along `axis` only, one after the other; at least one. Many are
    /// joined by groups, in memory: alike ones by the same code.
    pub fn concat(parts: &[UOp], axis: usize) -> Result<UOp, GraphError> {
        if parts.len() > MOST_JOINED {
            let group = |parts: &[UOp]| UOp::concat(parts, axis)?.contiguous();
            let groups = parts.chunks(MOST_JOINED).map(group).collect::<Result<Vec<UOp>, GraphError>>()?;
            return UOp::concat(&groups, axis);
        }
        let axis_extent = |n: &UOp| n.shape().get(axis).cloned().unwrap_or(Size::ZERO);
        let mut some = parts.iter().filter(|n| axis_extent(n) != Size::ZERO);
        let (Some(first), true) = (some.next().or(parts.first()), parts.iter().all(|p| axis < p.rank())) else {
            let reason = Reason::Axis { axis, rank: parts.first().map_or(0, UOp::rank) };
            return Err(GraphError::new(&Op::Range(Size::ZERO), parts, reason));
        };
        let total: Size = parts.iter().map(axis_extent).sum();
        let mut shape = first.shape().to_vec();
        shape[axis] = total.clone();
        let shape: Shape = shape.into();
        let zero = Const::zero(first.dtype());
        // What is behind a part is the sum of the others, of which bounds show that it is not negative.
        let rest: Vec<UOp> = some.cloned().collect();
        let placed = |part: &UOp, start: &Size, behind: &[UOp]| {
            let mut by = vec![(Size::ZERO, Size::ZERO); shape.len()];
            by[axis] = (start.clone(), behind.iter().map(axis_extent).sum());
            part.pad(by, zero)
        };
        let mut joined = placed(first, &Size::ZERO, &rest)?;
        let mut start = axis_extent(first);
        // Repetition aligns at the last dimension.
        let mut along = vec![Size::ONE; shape.len() - axis];
        along[0] = total.clone();
        let position = UOp::range(total.clone())?.reshape(along)?.expand(shape.clone())?;
        for (i, part) in rest.iter().enumerate() {
            let boundary = match start.as_const() {
                Some(start) => UOp::constant(Const::i64(DType::I64, start))?,
                None => UOp::size(start.clone())?,
            };
            let is_before = UOp::alu(Alu::Lt, &[position.clone(), boundary.expand(shape.clone())?])?;
            joined = UOp::alu(Alu::Where, &[is_before, joined, placed(part, &start, &rest[i + 1..])?])?;
            start = start + axis_extent(part);
        }
        Ok(joined)
    }

    /// Parts one after the other along an axis, as one operation over all of them: what it takes to make it does not
    /// depend on where each begins.
    pub fn concat_of_many(parts: &[UOp], axis: usize) -> Result<UOp, GraphError> {
        UOp::new(Op::Concat(axis, parts.len()), parts)
    }

    /// [`UOp::concat_of_many`] along a new axis.
    pub fn stack_of_many(parts: &[UOp], axis: usize) -> Result<UOp, GraphError> {
        UOp::new(Op::Stack(axis, parts.len()), parts)
    }

    /// Parts of equal extents along a new axis, as choices by position.
    pub fn stack(parts: &[UOp], axis: usize) -> Result<UOp, GraphError> {
        let layer = |node: &UOp| {
            let mut shape = node.shape().to_vec();
            shape.insert(axis.min(shape.len()), Size::ONE);
            node.reshape(shape)
        };
        UOp::concat(&parts.iter().map(layer).collect::<Result<Vec<UOp>, GraphError>>()?, axis)
    }

    /// Number of elements.
    pub fn numel(&self) -> Size {
        infer::numel(self.shape())
    }

    fn unary(&self, op: Op) -> Result<UOp, GraphError> {
        UOp::over(op, smallvec![self.resolved()])
    }

    /// The constant that every element is, where that can be seen: a constant under movement
    /// that adds no elements, and under marks.
    pub fn uniform(&self) -> Option<Const> {
        let mut node = self.resolved();
        loop {
            match node.op() {
                Op::Const(value) => return Some(*value),
                Op::Reshape(_) | Op::Permute(_) | Op::Expand(_) | Op::Shrink(_) | Op::Flip(_) => {
                    node = node.source()?
                }
                Op::Window(..) | Op::Let(_) => {
                    node = node.source()?;
                }
                _ => return None,
            }
        }
    }
}
