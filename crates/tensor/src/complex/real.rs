//! Formulas over real values, written as such.
//!
//! All values of a formula have one shape, and its floats one type: operators cannot fail. What comes from several
//! tensors is brought to one shape, and checked to be on one device, before.

use std::f64::consts::{FRAC_PI_2, PI};
use std::ops;

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::UOp;

use crate::tensor::Tensor;

const ALIKE: &str = "the values of a formula have one type, shape and place";

/// A value of floats.
#[derive(Clone)]
pub struct Real(pub UOp);

/// A value of bools.
#[derive(Clone)]
pub struct Truth(pub UOp);

fn alu(op: Alu, operands: &[&UOp]) -> UOp {
    UOp::alu(op, &operands.iter().copied().cloned().collect::<Vec<_>>()).expect(ALIKE)
}

macro_rules! operators {
    ($($trait:ident $method:ident $alu:ident;)*) => {$(
        operators!(@of $trait $method $alu: [Real, Real] [&Real, &Real] [Real, &Real] [&Real, Real]);
        impl ops::$trait<f64> for &Real {
            type Output = Real;
            fn $method(self, other: f64) -> Real {
                Real(alu(Alu::$alu, &[&self.0, &self.number(other).0]))
            }
        }
        impl ops::$trait<f64> for Real {
            type Output = Real;
            fn $method(self, other: f64) -> Real {
                ops::$trait::$method(&self, other)
            }
        }
        impl ops::$trait<&Real> for f64 {
            type Output = Real;
            fn $method(self, other: &Real) -> Real {
                Real(alu(Alu::$alu, &[&other.number(self).0, &other.0]))
            }
        }
        impl ops::$trait<Real> for f64 {
            type Output = Real;
            fn $method(self, other: Real) -> Real {
                ops::$trait::$method(self, &other)
            }
        }
    )*};
    (@of $trait:ident $method:ident $alu:ident: $([$a:ty, $b:ty])*) => {$(
        impl ops::$trait<$b> for $a {
            type Output = Real;
            fn $method(self, other: $b) -> Real {
                Real(alu(Alu::$alu, &[&self.0, &other.0]))
            }
        }
    )*};
}

operators! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
}

impl ops::Neg for &Real {
    type Output = Real;
    fn neg(self) -> Real {
        Real(alu(Alu::Neg, &[&self.0]))
    }
}

impl ops::Neg for Real {
    type Output = Real;
    fn neg(self) -> Real {
        -&self
    }
}

impl ops::BitAnd for &Truth {
    type Output = Truth;
    fn bitand(self, other: &Truth) -> Truth {
        Truth(alu(Alu::And, &[&self.0, &other.0]))
    }
}

impl ops::BitOr for &Truth {
    type Output = Truth;
    fn bitor(self, other: &Truth) -> Truth {
        Truth(alu(Alu::Or, &[&self.0, &other.0]))
    }
}

impl ops::Not for &Truth {
    type Output = Truth;
    fn not(self) -> Truth {
        Truth(alu(Alu::Not, &[&self.0]))
    }
}

impl Truth {
    /// `a` where it holds, else `b`.
    pub fn pick(&self, a: &Real, b: &Real) -> Real {
        Real(alu(Alu::Where, &[&self.0, &a.0, &b.0]))
    }
}

macro_rules! functions {
    ($($name:ident $alu:ident;)*) => {
        impl Real {
            $(pub fn $name(&self) -> Real {
                Real(alu(Alu::$alu, &[&self.0]))
            })*
        }
    };
}

functions! {
    abs Abs;
    sqrt Sqrt;
    exp Exp;
    expm1 Expm1;
    log Log;
    log1p Log1p;
    sin Sin;
    cos Cos;
    tan Tan;
    atan Atan;
}

macro_rules! comparisons {
    ($($name:ident $alu:ident;)*) => {
        impl Real {
            $(pub fn $name(&self, other: &Real) -> Truth {
                Truth(alu(Alu::$alu, &[&self.0, &other.0]))
            })*
        }
    };
}

comparisons! {
    eq Eq;
    ne Ne;
    lt Lt;
    le Le;
}

impl Real {
    /// A number of its type and shape.
    pub fn number(&self, value: f64) -> Real {
        Real(UOp::full(Const::f64(self.0.dtype(), value), self.0.shape_arc()).expect(ALIKE))
    }

    pub fn above(&self, value: f64) -> Truth {
        self.number(value).lt(self)
    }

    pub fn below(&self, value: f64) -> Truth {
        self.lt(&self.number(value))
    }

    pub fn is(&self, value: f64) -> Truth {
        self.eq(&self.number(value))
    }

    pub fn is_nan(&self) -> Truth {
        self.ne(self)
    }

    pub fn is_inf(&self) -> Truth {
        self.abs().is(f64::INFINITY)
    }

    pub fn is_finite(&self) -> Truth {
        self.abs().below(f64::INFINITY)
    }

    /// Whether the sign is minus, of zeros and NaN as well.
    pub fn is_negative(&self) -> Truth {
        let bits = if self.0.dtype() == DType::F64 { DType::I64 } else { DType::I32 };
        let bits = self.0.bitcast(bits).expect(ALIKE);
        let zero = UOp::full(Const::zero(bits.dtype()), bits.shape_arc()).expect(ALIKE);
        Truth(alu(Alu::Lt, &[&bits, &zero]))
    }

    /// The magnitude with another value's sign.
    pub fn with_sign(&self, of: &Real) -> Real {
        let magnitude = self.abs();
        of.is_negative().pick(&-&magnitude, &magnitude)
    }

    /// The greater one; NaN where one is.
    pub fn max(&self, other: &Real) -> Real {
        Real(alu(Alu::Max, &[&self.0, &other.0]))
    }

    /// The lesser one; NaN where one is.
    pub fn min(&self, other: &Real) -> Real {
        Real(alu(Alu::Min, &[&self.0, &other.0]))
    }

    pub fn detached(&self) -> Real {
        Real(self.0.detach().expect(ALIKE))
    }

    /// `sinh(x)` and `cosh(x)`, each divided by `exp(shift)`, and that factor, so that products with numbers below 1 do not
    /// overflow early.
    pub fn hyperbolic(&self) -> (Real, Real, Real) {
        const SHIFT: f64 = 300.0;
        let x = self.abs();
        let far = x.above(2.0 * SHIFT);
        let scale = far.pick(&self.number(SHIFT.exp()), &self.number(1.0));
        let near = far.pick(&self.number(0.0), &x);
        let e = near.expm1();
        let (half, rest) = (&e * 0.5, &e / (&e + 1.0) * 0.5);
        let far_half = (&x - SHIFT).exp() * 0.5;
        let sinh = far.pick(&far_half, &(&half + &rest)).with_sign(self);
        let cosh = far.pick(&far_half, &(&half - &rest + 1.0));
        (sinh, cosh, scale)
    }

    /// `asinh(x)`.
    pub fn asinh(&self) -> Real {
        let x = self.abs();
        let large = x.above(1e9);
        let near = large.pick(&self.number(1.0), &x);
        let square = &near * &near;
        let usual = (&near + &square / ((&square + 1.0).sqrt() + 1.0)).log1p();
        let far = large.pick(&x, &self.number(1.0)).log() + std::f64::consts::LN_2;
        large.pick(&far, &usual).with_sign(self)
    }
}

/// `sqrt(a² + b²)` without overflow: infinite where one is, and 0 with slope 0 at 0.
pub fn hypot(a: &Real, b: &Real) -> Real {
    let (x, y) = (a.abs(), b.abs());
    let (most, least) = (x.max(&y), x.min(&y));
    let is_zero = most.is(0.0);
    let ratio = &least / is_zero.pick(&x.number(1.0), &most);
    let usual = &most * (&ratio * &ratio + 1.0).sqrt();
    let infinite = &x.is_inf() | &y.is_inf();
    let value = infinite.pick(&x.number(f64::INFINITY), &usual);
    let (own, given) = (value.clone(), [a.clone(), b.clone()]);
    derived("hypot", value, [a, b], move |g| {
        let safe = own.is(0.0).pick(&own.number(1.0), &own);
        [g * (&given[0] / &safe), g * (&given[1] / &safe)]
    })
}

/// The angle of the point (x, y), from -π to π, as IEEE 754 has it of zeros and infinities.
pub fn atan2(y: &Real, x: &Real) -> Real {
    let (b, a) = (y.abs(), x.abs());
    let (most, least) = (a.max(&b), a.min(&b));
    let is_zero = most.is(0.0);
    let both_infinite = &a.is_inf() & &b.is_inf();
    let ratio = &least / is_zero.pick(&a.number(1.0), &most);
    let ratio = both_infinite.pick(&a.number(1.0), &ratio);
    let octant = ratio.atan();
    let quadrant = a.lt(&b).pick(&(FRAC_PI_2 - &octant), &octant);
    let half = x.is_negative().pick(&(PI - &quadrant), &quadrant);
    let nan = x + y;
    let nan = (&x.is_nan() | &y.is_nan()).pick(&nan, &half);
    let value = nan.with_sign(y);
    let given = [y.clone(), x.clone()];
    derived("atan2", value, [y, x], move |g| {
        let [y, x] = &given;
        // Squares that neither overflow nor vanish.
        let scale = x.abs().max(&y.abs());
        let scale = scale.is(0.0).pick(&scale.number(1.0), &scale).detached();
        let (u, v) = (x / &scale, y / &scale);
        let share = g / ((&u * &u + &v * &v) * &scale);
        [&share * u, -(share * v)]
    })
}

/// A value with a derivative of its own.
fn derived<const N: usize>(
    name: &str,
    value: Real,
    operands: [&Real; N],
    pull: impl Fn(&Real) -> [Real; N] + Send + Sync + 'static,
) -> Real {
    let tensors = operands.map(|operand| Tensor::from_uop(operand.0.clone()));
    let rule = move |g: &Tensor| Ok(pull(&Real(g.uop())).into_iter().map(|p| Some(Tensor::from_uop(p.0))).collect());
    Real(Tensor::from_uop(value.0).with_derivative(name, &tensors.each_ref(), rule).expect(ALIKE).uop())
}
