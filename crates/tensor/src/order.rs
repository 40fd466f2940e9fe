//! Sorting, and what is found by it.
//!
//! All orders are stable. NaN is the greatest value: it comes last, or first where the order descends.

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Shape, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

use crate::error::{Result, TensorError, show_operands};
use crate::operand::{Operand, axis_of, common_dtype, size_value};
use crate::scatter::Reduction;
use crate::tensor::Tensor;

impl Tensor {
    /// The elements along `axis`, sorted.
    pub fn sort(&self, axis: i64, descending: bool) -> Result<Tensor> {
        if let Some(line) = self.as_line(axis)? {
            return line.sort(0, descending)?.reshape(&[] as &[Size]);
        }
        let node = self.uop();
        let axis = axis_of("sort", axis, node.rank())?;
        Ok(Tensor::from_uop(node.sort(axis, descending, node.shape()[axis].clone())?))
    }

    /// Where the elements along `axis` are, when sorted; `int64`.
    pub fn argsort(&self, axis: i64, descending: bool) -> Result<Tensor> {
        if let Some(line) = self.as_line(axis)? {
            return line.argsort(0, descending)?.reshape(&[] as &[Size]);
        }
        let node = self.uop();
        let axis = axis_of("argsort", axis, node.rank())?;
        Ok(Tensor::from_uop(node.argsort(axis, descending, node.shape()[axis].clone())?))
    }

    /// The `k` largest elements along `axis`, or the smallest, in order, and where they are.
    pub fn topk(&self, k: impl Into<Size>, axis: i64, largest: bool) -> Result<(Tensor, Tensor)> {
        self.first_in_order("topk", k.into(), axis, largest)
    }

    fn first_in_order(&self, op: &'static str, k: Size, axis: i64, largest: bool) -> Result<(Tensor, Tensor)> {
        if k == Size::ONE
            && let Some(line) = self.as_line(axis)?
        {
            return without_dimensions(line.first_in_order(op, k, 0, largest)?);
        }
        let node = self.uop();
        let at = axis_of(op, axis, node.rank())?;
        if k.bounds().0 < 0 || !(&node.shape()[at] - &k).is_extent() {
            let given = show_operands(std::slice::from_ref(&node));
            return Err(TensorError::value(op, format!("{k} elements along axis {at} of {given}")));
        }
        if k == Size::ONE {
            return first(&node, at, largest).map(|(value, at)| (Tensor::from_uop(value), Tensor::from_uop(at)));
        }
        let positions = node.argsort(at, largest, k)?;
        Ok((Tensor::from_uop(node.gather(at, &positions)?), Tensor::from_uop(positions)))
    }

    /// The `k`-th smallest element along `axis`, counted from 1.
    pub fn kthvalue(&self, k: impl Into<Size>, axis: i64) -> Result<(Tensor, Tensor)> {
        let (op, k) = ("kthvalue", k.into());
        if let Some(line) = self.as_line(axis)? {
            return without_dimensions(line.kthvalue(k, 0)?);
        }
        let at = axis_of(op, axis, self.rank())? as i64;
        if k.bounds().0 < 1 {
            return Err(TensorError::value(op, format!("element {k}: they are counted from 1")));
        }
        let last = &k - 1;
        let (values, positions) = self.first_in_order(op, k, at, false)?;
        let last = |of: Tensor| of.narrow(at, &last, 1)?.squeeze(Some(&[at]));
        Ok((last(values)?, last(positions)?))
    }

    /// The median along `axis`, of an even number of elements the lower one of the two in the middle, and where it is;
    /// NaN where there is one.
    pub fn median(&self, axis: i64) -> Result<(Tensor, Tensor)> {
        let op = "median";
        if let Some(line) = self.as_line(axis)? {
            return without_dimensions(line.median(0)?);
        }
        let (_, middle) = self.middle(op, axis)?;
        let (values, positions) = self.kthvalue(middle, axis)?;
        if !self.dtype().is_float() {
            return Ok((values, positions));
        }
        let nan = self.isnan()?;
        let any = nan.any(Some(&[axis]), false)?;
        let positions = Tensor::select(&any, nan.argmax(Some(axis), false)?, positions)?;
        Ok((Tensor::select(&any, f64::NAN, values)?, positions))
    }

    /// The median along `axis` alone, as [`Tensor::median`] has it: values are sorted in half of the time that it takes to
    /// find where they are.
    pub fn median_value(&self, axis: i64) -> Result<Tensor> {
        if let Some(line) = self.as_line(axis)? {
            return line.median_value(0);
        }
        let (at, middle) = self.middle("median", axis)?;
        let last = &middle - 1;
        let sorted = Tensor::from_uop(self.uop().sort(at, false, middle)?);
        let value = sorted.narrow(at as i64, &last, 1)?.squeeze(Some(&[at as i64]))?;
        match self.dtype().is_float() {
            true => Tensor::select(&self.isnan()?.any(Some(&[axis]), false)?, f64::NAN, value),
            false => Ok(value),
        }
    }

    /// An axis, and how many elements there are along it up to the median.
    fn middle(&self, op: &'static str, axis: i64) -> Result<(usize, Size)> {
        let at = axis_of(op, axis, self.rank())?;
        let n = self.shape()[at].clone();
        if n.bounds().0 < 1 {
            return Err(TensorError::value(op, format!("no element along axis {at} of {}", self.described())));
        }
        Ok((at, (n + 1).floordiv(2)))
    }

    /// The maxima of the elements up to each one along `axis`, or with `least` the minima, and where they are: of several
    /// the last one, and NaN is both the greatest and the least.
    pub fn running_extremes(&self, axis: i64, least: bool) -> Result<(Tensor, Tensor)> {
        let op = if least { "cummin" } else { "cummax" };
        if let Some(line) = self.as_line(axis)? {
            return without_dimensions(line.running_extremes(0, least)?);
        }
        let at = axis_of(op, axis, self.rank())?;
        let values = if least { self.cummin(axis)? } else { self.cummax(axis)? };
        let reached = self.eq(&values)?.logical_or(self.ne(self)?)?;
        let mut shape = vec![Size::ONE; self.rank()];
        shape[at] = self.shape()[at].clone();
        let n = shape[at].as_const().map_or_else(|| shape[at].clone().into(), Operand::from);
        let count = Tensor::arange(0.into(), n, 1.into(), Some(DType::I64))?.reshape(&shape)?;
        Ok((values, Tensor::select(&reached, count, 0)?.cummax(axis)?))
    }

    /// A tensor without dimensions as the only element of a line, where `axis` is the only one that it has.
    pub(crate) fn as_line(&self, axis: i64) -> Result<Option<Tensor>> {
        let is_line = self.rank() == 0 && [0, -1].contains(&axis);
        is_line.then(|| self.reshape(&[Size::ONE])).transpose()
    }

    /// For each of `values` where it would be put into this sorted 1-d tensor to keep it sorted: before
    /// the elements equal to it, or, with `right`, behind them. `int64`.
    ///
    /// A binary search: as many lookups as the number of elements has bits.
    pub fn searchsorted(&self, values: &Tensor, right: bool) -> Result<Tensor> {
        let (op, sorted, values) = ("searchsorted", self.uop(), values.uop());
        let misfit = || {
            TensorError::shape(op, format!("a sorted 1-d tensor, not {}", show_operands(std::slice::from_ref(&sorted))))
        };
        if sorted.rank() != 1 {
            return Err(misfit());
        }
        let n = sorted.shape()[0].clone();
        let Some(most) = n.upper_bound() else {
            return Err(TensorError::shape(op, format!("{n} elements have no upper bound")));
        };
        let both = [Operand::from(self), Operand::from(&Tensor::from_uop(values.clone()))];
        let common = common_dtype(op, &both)?;
        let (sorted, values) = (sorted.cast(common)?, values.cast(common)?);
        // Behind a number of elements that runs choose, as many as make it a number that is known: all lookups
        // are inside then.
        let sorted = sorted.pad([(Size::ZERO, Size::from(most) - &n)], Const::zero(common))?;
        let shape = values.shape_arc().clone();
        let number = |i: i64| UOp::full(Const::i64(DType::I64, i), &shape);
        let count = size_value(&n)?.expand(shape.clone())?;
        let mut at = number(0)?;
        let mut step = if most > 0 { 1i64 << most.ilog2() } else { 0 };
        // Before `at` all elements belong in front of the value.
        while step > 0 {
            let next = UOp::alu(Alu::Add, &[at.clone(), number(step)?])?;
            let inside = UOp::alu(Alu::Le, &[next.clone(), count.clone()])?;
            let last = UOp::alu(Alu::Min, &[next.clone(), count.clone()])?;
            let last = UOp::alu(Alu::Sub, &[last, number(1)?])?;
            let last = if n.bounds().0 > 0 { last } else { UOp::alu(Alu::Max, &[last, number(0)?])? };
            let element = sorted.take(0, &last)?;
            let passed = goes_before(&element, &values, right)?;
            let moves = UOp::alu(Alu::And, &[inside, passed])?;
            at = UOp::alu(Alu::Where, &[moves, next, at])?;
            step /= 2;
        }
        Ok(Tensor::from_uop(at))
    }

    /// How many elements of this 1-d tensor of integers from 0 to before `length` are each of these
    /// numbers, or the sums of their `weights`.
    pub fn bincount(&self, weights: Option<&Tensor>, length: i64) -> Result<Tensor> {
        let (op, node) = ("bincount", self.uop());
        if node.rank() != 1 {
            return Err(TensorError::shape(op, format!("a 1-d tensor, not {}", show_operands(&[node]))));
        }
        let weights = match weights {
            Some(weights) => Tensor::from_uop(weights.uop()),
            None => Tensor::from_uop(UOp::full(Const::one(DType::I64), node.shape_arc())?),
        };
        let zero = UOp::full(Const::zero(weights.dtype()), &[Size::from(length)].into_iter().collect())?;
        Tensor::from_uop(zero).scatter_reduce_as(op, 0, self, (&weights).into(), Reduction::Sum, true)
    }
}

/// The first element in an order along an axis, which becomes 1, and where it is: folds of one pass.
fn first(node: &UOp, axis: usize, descending: bool) -> Result<(UOp, UOp)> {
    let mut shape = node.shape().to_vec();
    shape[axis] = Size::ONE;
    let shape: Shape = shape.into();
    let fold = |x: &UOp, by: Monoid| x.reduce(by, &[axis])?.reshape(shape.clone());
    if descending {
        return Ok((fold(node, Monoid::Max)?, fold(node, Monoid::ArgMax)?));
    }
    if !node.dtype().is_float() {
        return Ok((fold(node, Monoid::Min)?, fold(node, Monoid::ArgMin)?));
    }
    // NaN comes last: the least of the numbers, and the first element where there is none.
    let numbers = UOp::alu(Alu::Eq, &[node.clone(), node.clone()])?;
    let greatest = UOp::full(Const::max_value(node.dtype()), node.shape_arc())?;
    let least = fold(&UOp::alu(Alu::Where, &[numbers.clone(), node.clone(), greatest])?, Monoid::Min)?;
    let any = fold(&numbers, Monoid::Any)?;
    let nan = UOp::full(Const::f64(node.dtype(), f64::NAN), &shape)?;
    let value = UOp::alu(Alu::Where, &[any, least, nan])?;
    let found = UOp::alu(Alu::Eq, &[node.clone(), value.expand(node.shape_arc().clone())?])?;
    Ok((value, fold(&found, Monoid::ArgMax)?))
}

/// Whether an element comes before a value, or with `right` not after it; NaN is the greatest.
fn goes_before(element: &UOp, value: &UOp, right: bool) -> Result<UOp> {
    let less = UOp::alu(if right { Alu::Le } else { Alu::Lt }, &[element.clone(), value.clone()])?;
    if !value.dtype().is_float() {
        return Ok(less);
    }
    let nan = UOp::alu(Alu::Ne, &[value.clone(), value.clone()])?;
    let number = UOp::alu(Alu::Eq, &[element.clone(), element.clone()])?;
    let below = if right { nan } else { UOp::alu(Alu::And, &[nan, number])? };
    Ok(UOp::alu(Alu::Or, &[less, below])?)
}

/// Values and positions along a line of one element as those of the element alone.
fn without_dimensions((values, positions): (Tensor, Tensor)) -> Result<(Tensor, Tensor)> {
    let alone: &[Size] = &[];
    Ok((values.reshape(alone)?, positions.reshape(alone)?))
}
