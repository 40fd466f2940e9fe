//! The rules for types and shapes that the table of operations names.

use super::error::Reason;
use super::op::{Shape, ShowShape};
use super::sharding::Sharding;
use super::uop::UOp;
use crate::alu::{Accepts, Alu, DTypeRule};
use crate::kernel::Monoid;
use crate::size::Size;
use smallvec::SmallVec;
use std::sync::{Arc, LazyLock};
use svod_dtype::{Const, DType};

type Ruled<T> = Result<T, Reason>;

fn dtype_error<T>(expected: impl Into<String>) -> Ruled<T> {
    Err(Reason::DType { expected: expected.into() })
}

fn shape_error<T>(message: impl Into<String>) -> Ruled<T> {
    Err(Reason::Shape(message.into()))
}

// Types.

/// A type that tensors may have.
pub(super) fn element(dtype: DType) -> Ruled<DType> {
    match dtype {
        DType::Index | DType::Void => dtype_error(format!("a type of elements, not {dtype}")),
        _ => Ok(dtype),
    }
}

pub(super) fn value(value: Const) -> Ruled<DType> {
    element(value.dtype())
}

pub(super) fn alu(op: Alu, s: &[UOp]) -> Ruled<DType> {
    let types: SmallVec<[DType; 3]> = s.iter().map(UOp::dtype).collect();
    if op.rule() != DTypeRule::Select && types.iter().any(|t| t.is_complex()) {
        return dtype_error("the pairs of complex values");
    }
    op.result(&types).ok_or_else(|| {
        let accepted = match op.accepts() {
            Accepts::Any => "operands of one type",
            Accepts::Number => "numbers of one type",
            Accepts::Float => "floats of one type",
            Accepts::Int => "integers of one type",
            Accepts::Bits => "integers or bools of one type",
        };
        let first = if op.rule() == DTypeRule::Select { "a bool, then " } else { "" };
        Reason::DType { expected: format!("{first}{accepted}") }
    })
}

/// A type that scalar operations know.
pub(super) fn real(dtype: DType) -> Ruled<DType> {
    if dtype.is_real() { Ok(dtype) } else { dtype_error(format!("a real type, not {dtype}")) }
}

pub(super) fn converted(s: &[UOp], to: DType) -> Ruled<DType> {
    real(s[0].dtype())?;
    real(to)
}

pub(super) fn as_real(s: &[UOp]) -> Ruled<DType> {
    let dtype = s[0].dtype();
    if dtype.is_complex() { Ok(dtype.real()) } else { dtype_error("a complex value") }
}

pub(super) fn as_complex(s: &[UOp]) -> Ruled<DType> {
    s[0].dtype().complex().map_or_else(|| dtype_error("float32 or float64"), Ok)
}

pub(super) fn bitcast(s: &[UOp], to: DType) -> Ruled<DType> {
    let from = s[0].dtype();
    // Not every byte is a bool.
    let fits = from.bits() == real(to)?.bits() && real(from).is_ok() && (to != DType::Bool || from == DType::Bool);
    if fits { Ok(to) } else { dtype_error(format!("a type of the width of {to}, and bool from bool only")) }
}

pub(super) fn filled(s: &[UOp], fill: Const) -> Ruled<DType> {
    let dtype = s[0].dtype();
    if fill.dtype() == dtype { Ok(dtype) } else { dtype_error(format!("the fill's type, {}", fill.dtype())) }
}

pub(super) fn random(s: &[UOp]) -> Ruled<DType> {
    if s.iter().any(|u| u.dtype() != DType::U64) {
        return dtype_error("uint64 key and offset");
    }
    if s.iter().any(|u| u.rank() != 0) {
        return shape_error("key and offset are scalars");
    }
    Ok(DType::U32)
}

/// Any and all are of bools; a maximum of bools is as good as their `Any`, and so on.
pub(super) fn fold(by: Monoid, s: &[UOp]) -> Ruled<DType> {
    let dtype = s[0].dtype();
    match by {
        Monoid::Any | Monoid::All if dtype != DType::Bool => dtype_error("bools"),
        by if dtype.is_complex() && by != Monoid::Sum => dtype_error("a real type; complex values have sums only"),
        Monoid::ArgMax | Monoid::ArgMin => Ok(DType::I64),
        Monoid::Welford => Err(Reason::Node("has several results; it is a fold of kernels only")),
        _ => Ok(dtype),
    }
}

pub(super) fn scan(by: Monoid, s: &[UOp]) -> Ruled<DType> {
    match by {
        Monoid::ArgMax | Monoid::ArgMin => Err(Reason::Node("there is no scan of this monoid")),
        _ => fold(by, s),
    }
}

pub(super) fn indexed(s: &[UOp]) -> Ruled<DType> {
    if s[1].dtype().is_int() { Ok(s[0].dtype()) } else { dtype_error("an integer index") }
}

pub(super) fn scattered(s: &[UOp], by: Option<Monoid>) -> Ruled<DType> {
    if s[0].dtype() != s[2].dtype() {
        return dtype_error("base and values of one type");
    }
    if let Some(by) = by {
        scan(by, s)?;
    }
    indexed(s)
}

/// Types with an order that sorting knows.
pub(super) fn ordered(s: &[UOp]) -> Ruled<DType> {
    match s[0].dtype() {
        DType::F8E4M3 | DType::F8E5M2 => dtype_error("bools, integers, or floats of 16 bits or more"),
        dtype => real(dtype),
    }
}

pub(super) fn positions(s: &[UOp]) -> Ruled<DType> {
    ordered(s).map(|_| DType::I64)
}

// Shapes.

pub(super) fn scalar() -> Shape {
    static SCALAR: LazyLock<Shape> = LazyLock::new(|| Arc::from([]));
    SCALAR.clone()
}

/// Extents that are proven not negative, and the number of whose elements is representable.
pub(super) fn extents(shape: &[Size]) -> Ruled<Shape> {
    checked(shape.into())
}

fn checked(shape: Shape) -> Ruled<Shape> {
    let all = shape.iter().map(Size::as_usize).try_fold(1usize, |all, n| all.checked_mul(n?));
    if all.is_some_and(|all| i64::try_from(all).is_ok()) {
        return Ok(shape);
    }
    for size in shape.iter() {
        if let Some(fault) = size.fault() {
            return shape_error(fault.to_string());
        }
        if !size.is_extent() {
            return shape_error(format!("extent {size} is or may be negative"));
        }
    }
    match numel(&shape).fault() {
        None => Ok(shape),
        Some(_) => shape_error(format!("the number of elements of {} overflows", ShowShape(&shape))),
    }
}

/// Number of elements. An extent of 0 makes it 0, whatever the others are.
pub(super) fn numel(shape: &[Size]) -> Size {
    let all = shape.iter().map(Size::as_const).try_fold(1i64, |all, n| all.checked_mul(n?));
    match all {
        Some(all) => all.into(),
        None if shape.contains(&Size::ZERO) => Size::ZERO,
        None => shape.iter().product(),
    }
}

pub(super) fn same_shape(s: &[UOp]) -> Shape {
    s[0].shape_arc().clone()
}

/// Extents of the complex values whose pairs these are.
pub(super) fn without_pair(s: &[UOp]) -> Ruled<Shape> {
    match s[0].shape() {
        [shape @ .., last] if *last == Size::from(2) => Ok(shape.into()),
        shape => shape_error(format!("the last dimension of {} is not of 2 parts", ShowShape(shape))),
    }
}

pub(super) fn equal_shapes(s: &[UOp]) -> Ruled<Shape> {
    if s[1..].iter().any(|u| !Arc::ptr_eq(u.shape_arc(), s[0].shape_arc()) && u.shape() != s[0].shape()) {
        return shape_error("operands must have equal shapes");
    }
    Ok(same_shape(s))
}

pub(super) fn reshape(s: &[UOp], to: &Shape) -> Ruled<Shape> {
    let (from, into) = (numel(s[0].shape()), numel(to));
    if from != into {
        return shape_error(format!("{from} elements do not fit {} of {into}", ShowShape(to)));
    }
    checked(to.clone())
}

/// Axes that exist, each at most once.
fn check_axes(axes: &[usize], rank: usize) -> Ruled<()> {
    match axes.iter().enumerate().find(|(i, a)| **a >= rank || axes[..*i].contains(a)) {
        Some((_, &axis)) => Err(Reason::Axis { axis, rank }),
        None => Ok(()),
    }
}

pub(super) fn permute(s: &[UOp], axes: &[usize]) -> Ruled<Shape> {
    let shape = s[0].shape();
    check_axes(axes, shape.len())?;
    if axes.len() != shape.len() {
        return shape_error(format!("{} axes for rank {}", axes.len(), shape.len()));
    }
    Ok(axes.iter().map(|&a| shape[a].clone()).collect())
}

pub(super) fn expand(s: &[UOp], to: &Shape) -> Ruled<Shape> {
    let from = s[0].shape();
    if from.len() > to.len() {
        return shape_error(format!("rank {} does not fit {}", from.len(), ShowShape(to)));
    }
    for (a, b) in from.iter().zip(&to[to.len() - from.len()..]) {
        if a != b && *a != Size::ONE {
            return shape_error(format!("extent {a} cannot become {b}; only 1 expands"));
        }
    }
    checked(to.clone())
}

fn per_dimension(s: &[UOp], given: usize) -> Ruled<()> {
    let rank = s[0].rank();
    if given == rank { Ok(()) } else { shape_error(format!("{given} pairs for rank {rank}")) }
}

pub(super) fn pad(s: &[UOp], by: &[(Size, Size)]) -> Ruled<Shape> {
    per_dimension(s, by.len())?;
    if let Some((a, b)) = by.iter().find(|(a, b)| !Size::ZERO.surely_le(a) || !Size::ZERO.surely_le(b)) {
        return shape_error(format!("padding {a}:{b} is or may be negative"));
    }
    checked(s[0].shape().iter().zip(by).map(|(n, (a, b))| n + a + b).collect())
}

pub(super) fn shrink(s: &[UOp], to: &[(Size, Size)]) -> Ruled<Shape> {
    per_dimension(s, to.len())?;
    for (n, (first, last)) in s[0].shape().iter().zip(to) {
        let inside = Size::ZERO.surely_le(first) && first.surely_le(last) && last.surely_le(n);
        if !inside {
            return shape_error(format!("{first}:{last} is or may be outside of 0:{n}"));
        }
    }
    Ok(to.iter().map(|(first, last)| first.until(last)).collect())
}

pub(super) fn concat(s: &[UOp], axis: usize) -> Ruled<Shape> {
    check_axes(&[axis], s[0].rank())?;
    let mut shape = s[0].shape().to_vec();
    let fits = |u: &UOp| u.rank() == shape.len() && (0..shape.len()).all(|i| i == axis || u.shape()[i] == shape[i]);
    if !s.iter().all(fits) {
        return shape_error(format!("operands must have equal extents off axis {axis}"));
    }
    shape[axis] = s.iter().map(|u| &u.shape()[axis]).sum();
    checked(shape.into())
}

pub(super) fn stack(s: &[UOp], axis: usize) -> Ruled<Shape> {
    let mut shape = equal_shapes(s)?.to_vec();
    check_axes(&[axis], shape.len() + 1)?;
    shape.insert(axis, s.len().into());
    checked(shape.into())
}

pub(super) fn one_type(s: &[UOp]) -> Ruled<DType> {
    let Some(dtype) = s.first().map(UOp::dtype) else { return Err(Reason::Arity { expected: 1 }) };
    if s.iter().all(|u| u.dtype() == dtype) { Ok(dtype) } else { dtype_error("parts of one type") }
}

pub(super) fn joined(s: &[UOp], of: &Sharding) -> Ruled<Shape> {
    let mut shape = s[0].shape().to_vec();
    if let Some(split) = of.split() {
        let rank = shape.len();
        let extent = shape.get_mut(split.axis).ok_or(Reason::Axis { axis: split.axis, rank })?;
        *extent = split.extent();
    }
    match (0..s.len()).find(|i| *s[*i].shape() != *of.part_shape(&shape, *i)) {
        None => checked(shape.into()),
        Some(i) => shape_error(format!("part {i} is {}, not as {of} says", ShowShape(s[i].shape()))),
    }
}

pub(super) fn part(s: &[UOp], of: &Arc<Sharding>, index: usize) -> Ruled<Shape> {
    match s[0].sharding() {
        Some(sharding) if sharding == of && index < of.devices().len() => Ok(of.part_shape(s[0].shape(), index)),
        _ => Err(Reason::Node("the source has no such part")),
    }
}

pub(super) fn flip(s: &[UOp], axes: &[usize]) -> Ruled<Shape> {
    check_axes(axes, s[0].rank())?;
    Ok(same_shape(s))
}

pub(super) fn window(s: &[UOp], axis: usize, size: &Size, stride: usize, dilation: usize) -> Ruled<Shape> {
    check_axes(&[axis], s[0].rank())?;
    if stride == 0 || dilation == 0 {
        return shape_error(format!("stride {stride} and dilation {dilation} must be at least 1"));
    }
    if size.bounds().0 < 1 {
        return shape_error(format!("a window of {size} elements is or may be empty"));
    }
    let n = &s[0].shape()[axis];
    let span = (size - 1) * Size::from(dilation) + 1;
    if !span.surely_le(n) {
        return shape_error(format!(
            "a window over {span} elements is or may be larger than extent {n} of axis {axis}"
        ));
    }
    let mut shape = s[0].shape().to_vec();
    shape[axis] = (n - span).floordiv(Size::from(stride)) + 1;
    shape.push(size.clone());
    checked(shape.into())
}

pub(super) fn reduce(s: &[UOp], by: Monoid, axes: &[usize]) -> Ruled<Shape> {
    let shape = s[0].shape();
    check_axes(axes, shape.len())?;
    if !axes.is_sorted() {
        return shape_error("axes must ascend");
    }
    if matches!(by, Monoid::ArgMax | Monoid::ArgMin) {
        let [axis] = axes else { return shape_error("expected a single axis") };
        if shape[*axis] == Size::ZERO {
            return shape_error("no element to find along an axis of extent 0");
        }
    }
    Ok((0..shape.len()).filter(|i| !axes.contains(i)).map(|i| shape[i].clone()).collect())
}

pub(super) fn along(s: &[UOp], axis: usize) -> Ruled<Shape> {
    check_axes(&[axis], s[0].rank())?;
    Ok(same_shape(s))
}

/// A shape of which `axis` keeps its first `count` points.
pub(super) fn first(s: &[UOp], axis: usize, count: &Size) -> Ruled<Shape> {
    let mut shape = along(s, axis)?.to_vec();
    if !(&shape[axis] - count).is_extent() {
        return shape_error(format!("{count} elements exceed or may exceed the {} along axis {axis}", shape[axis]));
    }
    shape[axis] = count.clone();
    checked(shape.into())
}

pub(super) fn take(s: &[UOp], axis: usize) -> Ruled<Shape> {
    check_axes(&[axis], s[0].rank())?;
    let (source, index) = (s[0].shape(), s[1].shape());
    checked(source[..axis].iter().chain(index).chain(&source[axis + 1..]).cloned().collect())
}

pub(super) fn gather(s: &[UOp], axis: usize) -> Ruled<Shape> {
    within(s[0].shape(), s[1].shape(), axis)?;
    Ok(s[1].shape_arc().clone())
}

pub(super) fn scatter(s: &[UOp], axis: usize) -> Ruled<Shape> {
    within(s[0].shape(), s[1].shape(), axis)?;
    if s[1].shape() != s[2].shape() {
        return shape_error("index and values must have equal shapes");
    }
    Ok(same_shape(s))
}

/// An index of the source's rank, no larger than it off `axis`.
fn within(source: &[Size], index: &[Size], axis: usize) -> Ruled<()> {
    check_axes(&[axis], source.len())?;
    if source.len() != index.len() {
        return shape_error("the index must have the rank of the source");
    }
    let outside = |i: &usize| *i != axis && index[*i].le(&source[*i]) != Some(true);
    match (0..source.len()).find(outside) {
        Some(i) => shape_error(format!("axis {i}: index extent {} exceeds or may exceed {}", index[i], source[i])),
        None => Ok(()),
    }
}
