//! Tensors joined, split and repeated.

use svod_dtype::{DType, promote};
use svod_ir::graph::UOp;
use svod_ir::size::Size;

use crate::derivative::{following, grad_enabled};
use crate::error::{Result, TensorError, show_operands};
use crate::joins::MANY;
use crate::memory::as_computed;
use crate::movement::part;
use crate::operand::{axis_of, sizes};
use crate::tensor::Tensor;

impl Tensor {
    /// The tensors one after the other along `axis`; their other extents are equal.
    ///
    /// Tensors of shape `[0]` fit beside any others.
    pub fn cat(tensors: &[&Tensor], axis: i64) -> Result<Tensor> {
        let op = "cat";
        let mut nodes: Vec<UOp> = tensors.iter().map(|t| t.uop()).collect();
        let is_nothing = |node: &UOp| node.shape() == [Size::ZERO];
        let Some(first) = nodes.iter().find(|node| !is_nothing(node)).or(nodes.first()).cloned() else {
            return Err(TensorError::value(op, "no tensor was given"));
        };
        let axis = axis_of(op, axis, first.rank())?;
        if first.rank() != 1 {
            let mut shape = first.shape().to_vec();
            shape[axis] = Size::ZERO;
            for node in nodes.iter_mut().filter(|node| is_nothing(node)) {
                *node = node.reshape(shape.clone())?;
            }
        }
        let fit = |nodes: &[UOp]| {
            let first = nodes[0].shape();
            let fits =
                |n: &UOp| n.rank() == first.len() && (0..n.rank()).all(|i| i == axis || n.shape()[i] == first[i]);
            nodes.iter().all(fits)
        };
        if !fit(&nodes) {
            nodes = as_computed(&nodes).filter(|nodes| fit(nodes)).unwrap_or(nodes);
        }
        if !fit(&nodes) {
            let message = format!("extents off axis {axis} differ: {}", show_operands(&nodes));
            return Err(TensorError::shape(op, message));
        }
        joined(op, nodes, axis)
    }

    /// The tensors, of equal shape, along a new dimension.
    pub fn stack(tensors: &[&Tensor], axis: i64) -> Result<Tensor> {
        let mut nodes: Vec<UOp> = tensors.iter().map(|t| t.uop()).collect();
        let fit = |nodes: &[UOp]| nodes.windows(2).all(|w| w[0].shape() == w[1].shape());
        if !fit(&nodes) {
            nodes = as_computed(&nodes).filter(|nodes| fit(nodes)).unwrap_or(nodes);
        }
        if !fit(&nodes) {
            return Err(TensorError::shape("stack", format!("shapes differ: {}", show_operands(&nodes))));
        }
        let rank = nodes.first().map_or(0, UOp::rank);
        let axis = axis_of("stack", axis, rank + 1)?;
        let nodes = in_common_type("stack", nodes)?;
        Ok(Tensor::from_uop(match is_one_join(&nodes) {
            true => UOp::stack_of_many(&nodes, axis)?,
            false => UOp::stack(&nodes, axis)?,
        }))
    }

    /// Parts of these extents along `axis`, whose sum is its extent.
    pub fn split<S: Clone + Into<Size>>(&self, extents: &[S], axis: i64) -> Result<Vec<Tensor>> {
        let (node, extents) = (self.uop(), sizes(extents));
        let axis = axis_of("split", axis, node.rank())?;
        let total: Size = extents.iter().sum();
        if total != node.shape()[axis] {
            let given = crate::error::show(&extents);
            let message = format!("extents {given} have the sum {total}, but axis {axis} has {}", node.shape()[axis]);
            return Err(TensorError::shape("split", message));
        }
        let mut start = Size::ZERO;
        let parts = extents.into_iter().map(|extent| {
            let (first, last) = (start.clone(), &start + extent);
            start = last.clone();
            Ok(Tensor::from_uop(part(&node, axis, first, last)?))
        });
        parts.collect()
    }

    /// Parts of `extent` along `axis`, the last one maybe smaller.
    ///
    /// # Errors
    /// An extent below 1, and symbolic ones of which it cannot be decided how many parts they make.
    pub fn split_every(&self, extent: impl Into<Size>, axis: i64) -> Result<Vec<Tensor>> {
        self.in_parts("split", extent.into(), axis)
    }

    /// At most `count` parts of equal extent along `axis`, the last one maybe smaller.
    ///
    /// # Errors
    /// As [`Tensor::split_every`].
    pub fn chunk(&self, count: usize, axis: i64) -> Result<Vec<Tensor>> {
        let (op, shape) = ("chunk", self.shape());
        let total = &shape[axis_of(op, axis, shape.len())?];
        if count == 0 {
            return Err(TensorError::value(op, "the number of parts must not be 0"));
        }
        if *total == Size::ZERO {
            return (0..count).map(|_| self.narrow(axis, 0, 0)).collect();
        }
        self.in_parts(op, total.ceil_div(count).max(1), axis)
    }

    fn in_parts(&self, op: &'static str, extent: Size, axis: i64) -> Result<Vec<Tensor>> {
        let shape = self.shape();
        let at = axis_of(op, axis, shape.len())?;
        let total = &shape[at];
        if extent.bounds().0 < 1 {
            return Err(TensorError::value(op, format!("parts of extent {extent}, which must be at least 1")));
        }
        let whole = count_of_parts(total, &extent).ok_or_else(|| {
            let message = format!(
                "how many parts of extent {extent} axis {at} of {} has cannot be decided: name each part's extent",
                show_operands(&[self.uop()])
            );
            TensorError::shape(op, message)
        })? - 1;
        let mut extents = vec![extent.clone(); whole];
        extents.push(total - extent * Size::from(whole));
        self.split(&extents, axis)
    }

    /// The whole repeated along each dimension; new dimensions come first.
    pub fn repeat<S: Clone + Into<Size>>(&self, times: &[S]) -> Result<Tensor> {
        let (op, node, times) = ("repeat", self.uop(), sizes(times));
        let Some(new) = times.len().checked_sub(node.rank()) else {
            let given = show_operands(&[node]);
            return Err(TensorError::shape(op, format!("{} numbers of times for {given}", times.len())));
        };
        let extent = |i: usize| if i < new { Size::ONE } else { node.shape()[i - new].clone() };
        let single: Vec<Size> = (0..times.len()).flat_map(|i| [Size::ONE, extent(i)]).collect();
        let repeated: Vec<Size> = (0..times.len()).flat_map(|i| [times[i].clone(), extent(i)]).collect();
        let merged: Vec<Size> = (0..times.len()).map(|i| &times[i] * extent(i)).collect();
        self.reshape(&single)?.expand(&repeated)?.reshape(&merged)
    }

    /// Each element of `axis` repeated in place.
    pub fn repeat_interleave(&self, times: impl Into<Size>, axis: i64) -> Result<Tensor> {
        let (times, mut shape) = (times.into(), self.shape());
        if shape.is_empty() && matches!(axis, -1 | 0) {
            return self.unsqueeze(0)?.repeat_interleave(times, 0);
        }
        let axis = axis_of("repeat_interleave", axis, shape.len())?;
        let mut expanded = shape.clone();
        expanded.insert(axis + 1, times.clone());
        shape[axis] = &shape[axis] * times;
        self.unsqueeze(axis as i64 + 1)?.expand(&expanded)?.reshape(&shape)
    }

    /// Each element of `axis` repeated in place as often as the number at its place in a 1-d `times` says, or
    /// the only one there. The result's extent depends on these numbers: they are computed now.
    pub fn repeat_interleave_each(&self, times: &Tensor, axis: i64) -> Result<Tensor> {
        let (op, extent) =
            ("repeat_interleave", self.shape()[axis_of("repeat_interleave", axis, self.rank())?].clone());
        let given = show_operands(&[times.uop()]);
        times.check_known(op)?;
        if times.rank() > 1 || !times.dtype().is_int() {
            return Err(TensorError::shape(op, format!("the numbers of times must be 1-d integers, not {given}")));
        }
        let numbers = times.cast(DType::I64)?.to_vec::<i64>()?;
        if let Some(negative) = numbers.iter().find(|n| **n < 0) {
            return Err(TensorError::value(op, format!("{negative} times, among those of {given}")));
        }
        if let [same] = numbers[..] {
            return self.repeat_interleave(same, axis);
        }
        if extent != Size::from(numbers.len()) {
            let message = format!("a number of times for each of {extent} elements along axis {axis}, not {given}");
            return Err(TensorError::shape(op, message));
        }
        let total = numbers.iter().try_fold(0usize, |sum, n| sum.checked_add(*n as usize));
        let mut places: Vec<u8> = Vec::new();
        let reserved = total.and_then(|n| n.checked_mul(size_of::<i64>())).map(|n| places.try_reserve_exact(n));
        if !matches!(reserved, Some(Ok(()))) {
            return Err(TensorError::value(op, format!("no memory holds as many elements as the sum of {given}")));
        }
        for (at, n) in numbers.iter().enumerate() {
            (0..*n).for_each(|_| places.extend((at as i64).to_le_bytes()));
        }
        self.taken(op, &Tensor::literal(&places, DType::I64, &[places.len() / size_of::<i64>()])?, axis)
    }

    /// The elements of `axis` moved by `by` towards its end, those beyond it to its start.
    pub fn roll(&self, by: impl Into<Size>, axis: i64) -> Result<Tensor> {
        let (node, by) = (self.uop(), by.into());
        let axis_at = axis_of("roll", axis, node.rank())?;
        let size = &node.shape()[axis_at];
        let (Some(extent), Some(by)) = (size.as_const(), by.as_const()) else {
            // How many elements come first is a number of the run.
            let place = Tensor::from_uop(UOp::range(size.clone())?).sub(by)?.modulo(size.clone())?;
            return Ok(Tensor::from_uop(node.take(axis_at, &place.uop())?));
        };
        let moved = if extent == 0 { 0 } else { by.rem_euclid(extent) };
        if moved == 0 {
            return Ok(Tensor::from_uop(self.uop()));
        }
        let parts = self.split(&[extent - moved, moved], axis)?;
        Tensor::cat(&[&parts[1], &parts[0]], axis)
    }
}

/// The number of parts of an extent that a total has, at least 1, if it is the same for all values of the variables:
/// that where all are greatest.
fn count_of_parts(total: &Size, extent: &Size) -> Option<usize> {
    let greatest = |size: &Size| size.eval(&|v| Some(v.max())).ok();
    let count = usize::try_from(total.as_const().or_else(|| greatest(total))?).ok()?;
    let count = count.div_ceil(usize::try_from(greatest(extent)?).ok()?).max(1);
    let fits = total.le(&(extent * Size::from(count))) == Some(true);
    let all = count == 1 || (extent * Size::from(count - 1)).lt(total) == Some(true);
    (fits && all).then_some(count)
}

/// Values in their common type.
fn in_common_type(op: &'static str, mut nodes: Vec<UOp>) -> Result<Vec<UOp>> {
    let mut types = nodes.iter().map(UOp::dtype);
    let first = types.next().ok_or_else(|| TensorError::value(op, "no tensor was given"))?;
    let dtype = types.try_fold(first, promote);
    let dtype = dtype.ok_or_else(|| TensorError::dtype(op, format!("no common type: {}", show_operands(&nodes))))?;
    for node in nodes.iter_mut().filter(|node| node.dtype() != dtype) {
        *node = node.cast(dtype)?;
    }
    Ok(nodes)
}

/// Whether one operation joins values. A few of which some are constants are choices, whose numbers are arguments of a kernel that
/// reads differ by.
fn is_one_join(nodes: &[UOp]) -> bool {
    let of_numbers = || nodes.len() < MANY && nodes.iter().any(|node| node.uniform().is_some());
    nodes.len() > 1 && nodes.iter().all(is_plain) && !of_numbers()
}

/// Whether one operation may join a value with others.
fn is_plain(node: &UOp) -> bool {
    let counted = || node.shape().iter().all(|n| n.as_const().is_some());
    node.sharding().is_none() && !node.dtype().is_complex() && counted()
}

/// Values that differ in the extent of `axis` only, one after the other, in their common type.
fn joined(op: &'static str, nodes: Vec<UOp>, axis: usize) -> Result<Tensor> {
    let nodes = in_common_type(op, nodes)?;
    let is_nothing = |node: &UOp| node.shape().get(axis) == Some(&Size::ZERO);
    let some: Vec<UOp> = nodes.iter().filter(|node| !is_nothing(node)).cloned().collect();
    let whole = match is_one_join(&some) {
        true => UOp::concat_of_many(&some, axis)?,
        false => UOp::concat(&nodes, axis)?,
    };
    // What has no elements is left out of the graph, but the result follows from it.
    let left_out: Vec<UOp> = nodes.iter().filter(|node| node.is_watched() && is_nothing(node)).cloned().collect();
    Ok(Tensor::from_uop(if left_out.is_empty() || !grad_enabled() { whole } else { following(op, &whole, &left_out)? }))
}
