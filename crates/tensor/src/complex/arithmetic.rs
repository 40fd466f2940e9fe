//! The four operations, equality, and the absolute value.

use svod_ir::alu::Alu;
use svod_ir::graph::UOp;
use svod_ir::graph::complex::beside;

use super::real::{Real, Truth, hypot};
use super::{Parts, Value, alternating};
use crate::error::Result;

/// An operation of one operand; nothing where it has no complex meaning.
pub(super) fn unary(alu: Alu, value: &Value) -> Result<Option<UOp>> {
    let node = value.complex()?;
    Ok(Some(match alu {
        Alu::Neg => UOp::alu(Alu::Neg, &[node.as_real()?])?.as_complex()?,
        Alu::Recip => {
            let parts = Parts::of(&node)?;
            real_by(&parts.re.number(1.0), &parts).join()?
        }
        Alu::Abs => {
            let Parts { re, im } = Parts::of(&node)?;
            hypot(&re, &im).0
        }
        _ => return Ok(None),
    }))
}

/// An operation of two operands, one of which is complex; nothing where it has no complex meaning.
pub(super) fn binary(alu: Alu, a: &Value, b: &Value) -> Result<Option<UOp>> {
    use Value::{Complex, Real};
    Ok(Some(match (alu, a, b) {
        (Alu::Add | Alu::Sub, Complex(a), Complex(b)) => UOp::alu(alu, &[a.as_real()?, b.as_real()?])?.as_complex()?,
        (Alu::Add, Complex(z), Real(x)) | (Alu::Add, Real(x), Complex(z)) => {
            let Parts { re, im } = Parts::of(z)?;
            Parts { re: re + self::real(x), im }.join()?
        }
        (Alu::Sub, Complex(z), Real(x)) => {
            let Parts { re, im } = Parts::of(z)?;
            Parts { re: re - self::real(x), im }.join()?
        }
        (Alu::Sub, Real(x), Complex(z)) => {
            let Parts { re, im } = Parts::of(z)?;
            Parts { re: self::real(x) - re, im: -im }.join()?
        }
        (Alu::Mul, Complex(a), Complex(b)) => product(a, b)?,
        (Alu::Mul, Complex(z), Real(x)) | (Alu::Mul, Real(x), Complex(z)) => by_real(Alu::Mul, z, x)?,
        (Alu::Div, Complex(z), Real(x)) => by_real(Alu::Div, z, x)?,
        (Alu::Div, Real(x), Complex(z)) => real_by(&self::real(x), &Parts::of(z)?).join()?,
        (Alu::Div, Complex(a), Complex(b)) => quotient(&Parts::of(a)?, &Parts::of(b)?).join()?,
        (Alu::Eq, a, b) => equal(&a.parts()?, &b.parts()?).0,
        (Alu::Ne, a, b) => (!&equal(&a.parts()?, &b.parts()?)).0,
        (Alu::Pow, a, b) => super::power(a, b)?,
        _ => return Ok(None),
    }))
}

fn real(node: &UOp) -> Real {
    Real(node.clone())
}

fn equal(a: &Parts, b: &Parts) -> Truth {
    &a.re.eq(&b.re) & &a.im.eq(&b.im)
}

/// Both parts times, or divided by, a real number.
fn by_real(alu: Alu, z: &UOp, x: &UOp) -> Result<UOp> {
    let pair = z.as_real()?;
    let both = beside(x, &pair)?;
    Ok(UOp::alu(alu, &[pair, both])?.as_complex()?)
}

/// (a + bi)(c + di): each part of the first times c, and the parts in the other order times -d and d.
fn product(a: &UOp, b: &UOp) -> Result<UOp> {
    let mul = |x: UOp, y: UOp| UOp::alu(Alu::Mul, &[x, y]);
    let pair = a.as_real()?;
    let Parts { re, im } = Parts::of(b)?;
    let (re, im) = (beside(&re.0, &pair)?, beside(&im.0, &pair)?);
    let turned = mul(pair.flip(&[pair.rank() - 1])?, mul(im, alternating(&pair, -1.0, 1.0)?)?)?;
    Ok(UOp::alu(Alu::Add, &[mul(pair, re)?, turned])?.as_complex()?)
}

/// A divisor as Smith (1962) takes it apart, so that nothing overflows where the quotient does not: whether the real part is
/// the greater one, the lesser part divided by the greater, and the greater one plus the lesser times that.
fn divisor(b: &Parts) -> (Truth, Real, Real) {
    let upright = b.im.abs().le(&b.re.abs());
    let (most, least) = (upright.pick(&b.re, &b.im), upright.pick(&b.im, &b.re));
    let zero = &b.re.is(0.0) & &b.im.is(0.0);
    let ratio = zero.pick(&most.number(0.0), &(&least / zero.pick(&most.number(1.0), &most)));
    let below = zero.pick(&most.abs(), &(&most + &least * &ratio));
    (upright, ratio, below)
}

/// A real number divided by a complex one.
fn real_by(x: &Real, b: &Parts) -> Parts {
    let (upright, ratio, below) = divisor(b);
    let (whole, part) = (x / &below, x * ratio / below);
    Parts { re: upright.pick(&whole, &part), im: -upright.pick(&part, &whole) }
}

/// a / b; by 0 it is that of each part.
fn quotient(a: &Parts, b: &Parts) -> Parts {
    let (upright, ratio, below) = divisor(b);
    let (first, second) = (upright.pick(&a.re, &a.im), upright.pick(&a.im, &a.re));
    let turned = &second - &first * &ratio;
    Parts { re: (first + second * ratio) / &below, im: upright.pick(&turned, &-&turned) / below }
}
