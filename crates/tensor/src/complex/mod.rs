//! Complex numbers.
//!
//! In the graph a complex tensor is a value of a complex type, which is moved, indexed, joined, chosen and summed like any
//! other ([`svod_ir::graph::complex`]). What computes with it goes through the pair of its parts: this directory is
//! all that knows formulas of complex numbers. Elementwise functions come here from one place, where an operation has
//! found the type of its operands ([`apply`]); folds and contractions, which are sums of products, from theirs.
//! Whatever is not here has no complex meaning, and is refused with an error that says so.
//!
//! | file | subject |
//! |---|---|
//! | `real` | formulas over real values |
//! | `arithmetic` | the four operations, equality, absolute value |
//! | `functions` | elementary functions, after Kahan (1987) |
//! | `folds` | products, scans, contractions |
//!
//! Gradients need nothing here: that by a pair is, read as a complex number, ∂L/∂re + i ∂L/∂im, as in PyTorch.
//! A real operand of a sum, a product or a quotient stays real (C99, annex G): infinities and signs of zeros
//! are those of the parts.

mod arithmetic;
mod folds;
mod functions;
mod real;

use svod_dtype::{Const, DEFAULT_COMPLEX, DEFAULT_FLOAT, DType, promote};
use svod_ir::alu::Alu;
use svod_ir::graph::UOp;
use svod_ir::size::Size;

use crate::error::{Result, TensorError, show_operands};
use crate::operand::{Operand, broadcast};
use crate::tensor::Tensor;

pub(crate) use folds::{multilinear, product, running_product};
pub(crate) use real::Real;
use real::{Truth, atan2};

/// The parts of complex values, of one type and shape.
#[derive(Clone)]
struct Parts {
    re: Real,
    im: Real,
}

/// An operand of an elementwise operation.
enum Value {
    Real(UOp),
    Complex(UOp),
}

impl Parts {
    fn of(value: &UOp) -> Result<Parts> {
        let pair = value.as_real()?;
        Ok(Parts { re: Real(part(&pair, 0)?), im: Real(part(&pair, 1)?) })
    }

    fn join(&self) -> Result<UOp> {
        joined(&self.re.0, &self.im.0)
    }
}

impl Value {
    /// The value as a complex one.
    fn complex(&self) -> Result<UOp> {
        match self {
            Value::Complex(node) => Ok(node.clone()),
            Value::Real(node) => Ok(node.cast(node.dtype().complex().expect("real operands have the type of parts"))?),
        }
    }

    fn parts(&self) -> Result<Parts> {
        match self {
            Value::Complex(node) => Parts::of(node),
            Value::Real(node) => Ok(Parts { re: Real(node.clone()), im: Real(node.clone()).number(0.0) }),
        }
    }
}

/// Part 0 or 1 of each number of a pair.
fn part(pair: &UOp, at: usize) -> Result<UOp> {
    let rank = pair.rank() - 1;
    let mut kept: Vec<(Size, Size)> = pair.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
    kept[rank] = (at.into(), (at + 1).into());
    Ok(pair.shrink(kept)?.reshape(pair.shape()[..rank].to_vec())?)
}

/// The complex value of these parts.
fn joined(re: &UOp, im: &UOp) -> Result<UOp> {
    Ok(UOp::concat(&[re.column()?, im.column()?], re.rank())?.as_complex()?)
}

/// The constant of these parts, 0-d.
pub(crate) fn constant(dtype: DType, re: f64, im: f64) -> Result<UOp> {
    let part = |value: f64| UOp::constant(Const::f64(dtype.real(), value));
    match (re.to_bits(), im.to_bits()) {
        (0, 0) => Ok(UOp::constant(Const::zero(dtype))?),
        (_, 0) => Ok(part(re)?.cast(dtype)?),
        _ => joined(&part(re)?, &part(im)?),
    }
}

/// A complex value in another type: as a bool whether it is not 0.
///
/// # Errors
/// Another real type: the value has two parts.
pub(crate) fn cast(node: &UOp, to: DType) -> Result<UOp> {
    if to.is_bool() {
        let Parts { re, im } = Parts::of(node)?;
        return Ok((&re.ne(&re.number(0.0)) | &im.ne(&im.number(0.0))).0);
    }
    if !to.is_complex() {
        let given = show_operands(std::slice::from_ref(node));
        let message = format!("{given} has two parts: take `.real`, `.imag` or `abs` before it becomes {to}");
        return Err(TensorError::dtype("cast", message));
    }
    Ok(node.cast(to)?)
}

/// An elementwise operation of which an operand is complex; `dtype` is the type in which they meet.
pub(crate) fn apply(op: &'static str, alu: Alu, operands: &[Operand], dtype: DType) -> Result<Tensor> {
    let typed = |operand: &Operand| match operand {
        Operand::Tensor(tensor) if !tensor.dtype().is_complex() => operand.in_type(op, dtype.real()),
        Operand::Tensor(_) | Operand::Complex(..) => operand.in_type(op, dtype),
        _ => operand.in_type(op, dtype.real()),
    };
    let nodes = broadcast(op, operands.iter().map(typed).collect::<Result<_>>()?)?;
    // Whether they are in one place is known when something is made of them.
    if let [a, b] = &nodes[..] {
        let real = |node: &UOp| if node.dtype().is_complex() { part(&node.as_real()?, 0) } else { Ok(node.clone()) };
        UOp::alu(Alu::Add, &[real(a)?, real(b)?])?;
    }
    let values: Vec<Value> = nodes
        .into_iter()
        .map(|node| if node.dtype().is_complex() { Value::Complex(node) } else { Value::Real(node) })
        .collect();
    let made = match &values[..] {
        [value] => match functions::of(alu) {
            Some(function) => Some(elementary(&value.complex()?, function)?),
            None => arithmetic::unary(alu, value)?,
        },
        [a, b] => arithmetic::binary(alu, a, b)?,
        _ => None,
    };
    made.map(Tensor::from_uop).ok_or_else(|| refused(op, operands))
}

/// The error of an operation that has no complex meaning.
fn refused(op: &'static str, operands: &[Operand]) -> TensorError {
    let shown: Result<Vec<UOp>> = operands.iter().map(|o| o.typed(op)).collect();
    match shown {
        Ok(nodes) => TensorError::dtype(op, format!("takes real numbers, not {}", show_operands(&nodes))),
        Err(error) => error,
    }
}

/// A power. By small whole numbers it is the product.
fn power(a: &Value, b: &Value) -> Result<UOp> {
    const MOST: f64 = 16.0;
    let base = a.complex()?;
    if let Value::Real(exponent) = b
        && let Some(n) = exponent.uniform().map(|n| n.as_f64()).filter(|n| n.fract() == 0.0 && (1.0..=MOST).contains(n))
    {
        let base = Tensor::from_uop(base);
        let mut power = base.clone();
        let bits = n as u32;
        for at in (0..bits.ilog2()).rev() {
            power = power.mul(&power)?;
            if bits >> at & 1 == 1 {
                power = power.mul(&base)?;
            }
        }
        return Ok(power.uop());
    }
    let wide = |value: &UOp| Parts::of(&value.cast(DType::C128)?);
    Ok(functions::pow(&wide(&base)?, &wide(&b.complex()?)?).join()?.cast(base.dtype())?)
}

/// A function of complex numbers. In `complex64` it is computed in `complex128`, so that only the result is rounded.
fn elementary(node: &UOp, function: fn(&Parts) -> Parts) -> Result<UOp> {
    Ok(function(&Parts::of(&node.cast(DType::C128)?)?).join()?.cast(node.dtype())?)
}

impl Tensor {
    /// The parts of complex numbers, along a new last dimension of 2.
    ///
    /// # Errors
    /// A tensor that is not complex.
    pub fn as_real(&self) -> Result<Tensor> {
        Ok(Tensor::from_uop(self.uop().as_real()?))
    }

    /// The complex numbers whose parts are the last dimension, of 2.
    ///
    /// # Errors
    /// A tensor that is not of `float32` or `float64`, or has another last dimension.
    pub fn as_complex(&self) -> Result<Tensor> {
        Ok(Tensor::from_uop(self.uop().as_complex()?))
    }

    /// The complex numbers of these real and imaginary parts, which broadcast.
    ///
    /// # Errors
    /// Parts that are complex.
    pub fn complex(re: impl Into<Operand>, im: impl Into<Operand>) -> Result<Tensor> {
        let op = "complex";
        let given = [re.into(), im.into()];
        let dtype = crate::operand::common_dtype(op, &given)?;
        if dtype.is_complex() {
            return Err(refused(op, &given));
        }
        let real = promote(dtype, DEFAULT_COMPLEX).map_or(DEFAULT_FLOAT, DType::real);
        let nodes = given.iter().map(|part| part.in_type(op, real)).collect::<Result<Vec<UOp>>>()?;
        let nodes = broadcast(op, nodes)?;
        Ok(Tensor::from_uop(joined(&nodes[0], &nodes[1])?))
    }

    /// The real parts; of real numbers themselves.
    pub fn real(&self) -> Result<Tensor> {
        let node = self.uop();
        Ok(Tensor::from_uop(if node.dtype().is_complex() { part(&node.as_real()?, 0)? } else { node }))
    }

    /// The imaginary parts; of real numbers 0.
    pub fn imag(&self) -> Result<Tensor> {
        let node = self.uop();
        match node.dtype().is_complex() {
            true => Ok(Tensor::from_uop(part(&node.as_real()?, 1)?)),
            false => self.full_like(0),
        }
    }

    /// The numbers with imaginary parts of the opposite sign.
    pub fn conj(&self) -> Result<Tensor> {
        let node = self.uop();
        if !node.dtype().is_complex() {
            return Ok(Tensor::from_uop(node));
        }
        let pair = node.as_real()?;
        let signs = alternating(&pair, 1.0, -1.0)?;
        Ok(Tensor::from_uop(UOp::alu(Alu::Mul, &[pair, signs])?.as_complex()?))
    }

    /// The angle of each number, from -π to π; of real ones 0 or π, by their sign.
    pub fn angle(&self) -> Result<Tensor> {
        if !self.dtype().is_complex() {
            let x = self.as_float()?;
            let turned = Tensor::select(&x.lt(0)?, x.full_like(std::f64::consts::PI)?, 0.0)?;
            return Tensor::select(&x.isnan()?, &x, turned)?.cast(x.dtype());
        }
        let wide = Parts::of(&self.uop().cast(DType::C128)?)?;
        Tensor::from_uop(atan2(&wide.im, &wide.re).0).cast(self.dtype().real())
    }

    /// Where a part is finite, infinite or NaN, as the function says; `all` of the parts, or one.
    pub(crate) fn where_parts(&self, all: bool, is: fn(&Real) -> Truth) -> Result<Tensor> {
        let Parts { re, im } = Parts::of(&self.uop())?;
        let (re, im) = (is(&re), is(&im));
        Ok(Tensor::from_uop(if all { &re & &im } else { &re | &im }.0))
    }

    /// z / |z|, and 0 of 0.
    pub(crate) fn complex_sign(&self) -> Result<Tensor> {
        let size = self.abs()?;
        let none = size.eq(0)?;
        let unit = self.div(Tensor::select(&none, 1.0, &size)?)?;
        // Where one part is infinite, the other one is nothing beside it.
        let one_sided = self.isinf()?.bitwise_and(self.real()?.isinf()?.bitwise_xor(self.imag()?.isinf()?)?)?;
        let one_sided = one_sided.bitwise_and(self.isnan()?.bitwise_not()?)?;
        let direction = |part: Tensor| Tensor::select(&part.isinf()?, part.sign()?, 0.0);
        let far = Tensor::complex(direction(self.real()?)?, direction(self.imag()?)?)?;
        Tensor::select(&none, 0.0, Tensor::select(&one_sided, far, unit)?)
    }

    /// A function of complex numbers that no operation of the graph is: `sinh`, `asin` and their like.
    ///
    /// # Errors
    /// A tensor that is not complex; a name of no such function.
    pub fn complex_function(&self, name: &str) -> Result<Tensor> {
        match functions::named(name) {
            Some(function) if self.dtype().is_complex() => Ok(Tensor::from_uop(elementary(&self.uop(), function)?)),
            _ => Err(TensorError::dtype("complex_function", format!("there is no {name} of {}", self.described()))),
        }
    }
}

/// A value of the shape and type of a pair whose parts are these two numbers.
fn alternating(pair: &UOp, first: f64, second: f64) -> Result<UOp> {
    let part = |value: f64| UOp::full(Const::f64(pair.dtype(), value), &vec![Size::ONE].into());
    Ok(UOp::concat(&[part(first)?, part(second)?], 0)?.expand(pair.shape_arc().clone())?)
}
