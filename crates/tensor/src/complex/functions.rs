//! Elementary functions of complex numbers, in `complex128`.
//!
//! The formulas are those of W. Kahan, "Branch Cuts for Complex Elementary Functions" (1987), the values at zeros,
//! infinities and NaN those of C99, annex G, as the array API standard lists them. Circular functions are the
//! hyperbolic ones, turned by a right angle.

use std::f64::consts::{FRAC_PI_2, LN_2, LN_10};

use svod_ir::alu::Alu;

use super::Parts;
use super::real::{Real, Truth, atan2, hypot};

/// A function of complex numbers.
pub type Function = fn(&Parts) -> Parts;

/// What a scalar operation is of complex numbers.
pub fn of(alu: Alu) -> Option<Function> {
    Some(match alu {
        Alu::Sqrt => sqrt,
        Alu::Exp => exp,
        Alu::Exp2 => exp2,
        Alu::Expm1 => expm1,
        Alu::Log => log,
        Alu::Log2 => log2,
        Alu::Log10 => log10,
        Alu::Log1p => log1p,
        Alu::Sin => sin,
        Alu::Cos => cos,
        Alu::Tan => tan,
        Alu::Atan => atan,
        Alu::Tanh => tanh,
        _ => return None,
    })
}

/// The functions that no scalar operation is.
pub fn named(name: &str) -> Option<Function> {
    Some(match name {
        "sinh" => sinh,
        "cosh" => cosh,
        "asin" => asin,
        "acos" => acos,
        "asinh" => asinh,
        "acosh" => acosh,
        "atanh" => atanh,
        _ => return None,
    })
}

impl Parts {
    fn new(re: Real, im: Real) -> Parts {
        Parts { re, im }
    }

    /// i z.
    fn turned(&self) -> Parts {
        Parts::new(-&self.im, self.re.clone())
    }

    /// -i z.
    fn turned_back(&self) -> Parts {
        Parts::new(self.im.clone(), -&self.re)
    }

    /// Both parts times a number.
    fn times(&self, number: f64) -> Parts {
        Parts::new(&self.re * number, &self.im * number)
    }

    /// Whether it is NaN on the imaginary axis: the other part is known then.
    fn imaginary_nan(&self) -> Truth {
        &self.re.is(0.0) & &self.im.is_nan()
    }

    /// With another value where a part is infinite.
    fn at_infinity(&self, of: &Parts, re: &Real, im: &Real) -> Parts {
        let infinite = &of.re.is_inf() | &of.im.is_inf();
        Parts::new(infinite.pick(re, &self.re), infinite.pick(im, &self.im))
    }
}

fn exp(z: &Parts) -> Parts {
    let Parts { re: a, im: b } = z;
    // Products with a sine may be finite where the exponential is not.
    const SHIFT: f64 = 600.0;
    let far = a.above(700.0);
    let scale = far.pick(&a.number(SHIFT.exp()), &a.number(1.0));
    let e = far.pick(&(a - SHIFT), a).exp();
    let level = b.is(0.0);
    let re = level.pick(&a.exp(), &(&e * b.cos() * &scale));
    let im = level.pick(b, &(e * b.sin() * scale));
    // Of -∞ nothing is left, whatever the angle; of ∞ at no angle the size is.
    let lost = !&b.is_finite();
    let (down, up) = (&lost & &a.is(f64::NEG_INFINITY), &lost & &a.is(f64::INFINITY));
    let zero = a.number(0.0);
    Parts::new(down.pick(&zero, &up.pick(a, &re)), down.pick(&zero, &im))
}

fn exp2(z: &Parts) -> Parts {
    exp(&z.times(LN_2))
}

/// `exp(z) - 1`, without loss near 0.
fn expm1(z: &Parts) -> Parts {
    let (power, half) = (exp(z), (&z.im * 0.5).sin());
    let near = z.re.expm1() * z.im.cos() - &half * &half * 2.0;
    let use_near = z.re.abs().below(1.0);
    Parts::new(use_near.pick(&near, &(&power.re - 1.0)), power.im)
}

fn log(z: &Parts) -> Parts {
    let (a, b) = (z.re.abs(), z.im.abs());
    let (most, least) = (a.max(&b), a.min(&b));
    let one = most.number(1.0);
    // Near the unit circle the logarithm of the size is small, and follows from how far the size is from 1.
    let near = &most.above(0.5) & &most.below(2.0);
    let held = near.pick(&most, &one);
    let close = ((&held - 1.0) * (&held + 1.0) + near.pick(&(&least * &least), &one)).log1p() * 0.5;
    let zero = most.is(0.0);
    let ratio = &least / zero.pick(&one, &most);
    let far = most.log() + (&ratio * &ratio).log1p() * 0.5;
    let size = near.pick(&close, &far);
    let infinite = &a.is_inf() | &b.is_inf();
    Parts::new(infinite.pick(&one.number(f64::INFINITY), &size), atan2(&z.im, &z.re))
}

fn log2(z: &Parts) -> Parts {
    log(z).times(1.0 / LN_2)
}

fn log10(z: &Parts) -> Parts {
    log(z).times(1.0 / LN_10)
}

/// `log(1 + z)`, without loss near 0.
fn log1p(z: &Parts) -> Parts {
    let moved = Parts::new(&z.re + 1.0, z.im.clone());
    let small = &z.re.abs().below(0.5) & &z.im.abs().below(0.5);
    let zero = z.re.number(0.0);
    let (a, b) = (small.pick(&z.re, &zero), small.pick(&z.im, &zero));
    // |1 + z|² - 1
    let near = (&a * (&a + 2.0) + &b * &b).log1p() * 0.5;
    let far = log(&moved);
    Parts::new(small.pick(&near, &far.re), far.im)
}

fn sqrt(z: &Parts) -> Parts {
    // So large and so small that sums and squares stay in range.
    const LARGE: f64 = 1e300;
    const SMALL: f64 = 1e-280;
    let (x, y) = (&z.re, &z.im);
    let most = x.abs().max(&y.abs());
    let (large, small) = (most.above(LARGE), most.below(SMALL));
    let one = x.number(1.0);
    let scale = large.pick(&x.number(0.25), &small.pick(&x.number(2f64.powi(128)), &one));
    let back = large.pick(&x.number(2.0), &small.pick(&x.number(2f64.powi(-64)), &one));
    let (a, b) = (x * &scale, y * &scale);
    let t = ((a.abs() + hypot(&a, &b)) * 0.5).sqrt();
    let zero = t.is(0.0);
    let other = b.abs() / (zero.pick(&one, &t) * 2.0);
    let left = x.is_negative();
    let re = left.pick(&other, &t) * &back;
    let im = left.pick(&t, &other) * back;
    // With an infinite imaginary part both are; with an infinite real part the other one may be of no number.
    let up = y.is_inf();
    let right = x.is(f64::INFINITY);
    let leftmost = x.is(f64::NEG_INFINITY);
    let infinity = x.number(f64::INFINITY);
    let flat = y.is_nan().pick(y, &x.number(0.0));
    let re = up.pick(&infinity, &right.pick(&infinity, &leftmost.pick(&flat, &re)));
    let im = up.pick(&infinity, &leftmost.pick(&infinity, &right.pick(&flat, &im)));
    Parts::new(re, im.with_sign(y))
}

fn sinh(z: &Parts) -> Parts {
    let Parts { re: a, im: b } = z;
    let (sinh, cosh, scale) = a.hyperbolic();
    let lost = !&b.is_finite();
    let re = &sinh * b.cos() * &scale;
    let kept = &lost & &(&a.is(0.0) | &a.is_inf());
    Parts::new(kept.pick(a, &re), b.is(0.0).pick(b, &(cosh * b.sin() * scale)))
}

fn cosh(z: &Parts) -> Parts {
    let Parts { re: a, im: b } = z;
    let (sinh, cosh, scale) = a.hyperbolic();
    let lost = !&b.is_finite();
    let re = cosh * b.cos() * &scale;
    let im = sinh * b.sin() * scale;
    // 0 with the sign of the product.
    let none = &b.is(0.0) | &(&lost & &a.is(0.0));
    let zero = b.is_negative().pick(&-a, a);
    let zero = a.number(0.0).with_sign(&zero);
    Parts::new((&lost & &a.is_inf()).pick(&a.abs(), &re), none.pick(&zero, &im))
}

fn tanh(z: &Parts) -> Parts {
    let Parts { re: a, im: b } = z;
    let far = a.abs().above(22.0);
    let zero = a.number(0.0);
    let near = far.pick(&zero, a);
    let (sinh, ..) = near.hyperbolic();
    let tan = b.tan();
    let (beta, rho) = (&tan * &tan + 1.0, (&sinh * &sinh + 1.0).sqrt());
    let below = &beta * &sinh * &sinh + 1.0;
    let steep = tan.is_inf();
    let re = steep.pick(&(&rho / near.is(0.0).pick(&a.number(1.0), &sinh)), &(&beta * rho * sinh / &below));
    let im = steep.pick(&(1.0 / &tan), &(&tan / below));
    let lost = !&b.is_finite();
    let fade = (a.abs() * -2.0).exp() * 4.0;
    let far_im = lost.pick(&zero, &(b.sin() * b.cos() * fade));
    let still = &lost & &a.is(0.0);
    let astray = &(&lost & &a.is_finite()) & &!&a.is(0.0);
    let nan = a.number(f64::NAN);
    let re = still.pick(a, &astray.pick(&nan, &far.pick(&a.number(1.0).with_sign(a), &re)));
    Parts::new(re, b.is(0.0).pick(b, &astray.pick(&nan, &far.pick(&far_im, &im))))
}

fn sin(z: &Parts) -> Parts {
    sinh(&z.turned()).turned_back()
}

fn cos(z: &Parts) -> Parts {
    cosh(&z.turned())
}

fn tan(z: &Parts) -> Parts {
    tanh(&z.turned()).turned_back()
}

/// Square roots of 1 - z and of 1 + z.
fn roots(z: &Parts) -> (Parts, Parts) {
    let minus = Parts::new(1.0 - &z.re, -&z.im);
    let plus = Parts::new(&z.re + 1.0, z.im.clone());
    (sqrt(&minus), sqrt(&plus))
}

fn asin(z: &Parts) -> Parts {
    let (minus, plus) = roots(z);
    let re = atan2(&z.re, &(&minus.re * &plus.re - &minus.im * &plus.im));
    let im = (&minus.re * &plus.im - &minus.im * &plus.re).asinh();
    let infinity = z.im.number(f64::INFINITY).with_sign(&z.im);
    let re = z.imaginary_nan().pick(&z.re, &re);
    Parts::new(re, im).at_infinity(z, &atan2(&z.re, &z.im.abs()), &infinity)
}

fn acos(z: &Parts) -> Parts {
    let (minus, plus) = roots(z);
    let re = atan2(&minus.re, &plus.re) * 2.0;
    let im = (&plus.re * &minus.im - &plus.im * &minus.re).asinh();
    let infinity = z.im.number(f64::INFINITY).with_sign(&-&z.im);
    let re = z.imaginary_nan().pick(&re.number(FRAC_PI_2), &re);
    Parts::new(re, im).at_infinity(z, &atan2(&z.im.abs(), &z.re), &infinity)
}

fn asinh(z: &Parts) -> Parts {
    asin(&z.turned()).turned_back()
}

fn acosh(z: &Parts) -> Parts {
    let below = sqrt(&Parts::new(&z.re - 1.0, z.im.clone()));
    let above = sqrt(&Parts::new(&z.re + 1.0, z.im.clone()));
    let re = (&below.re * &above.re + &below.im * &above.im).asinh();
    let im = atan2(&below.im, &above.re) * 2.0;
    let infinity = z.re.number(f64::INFINITY);
    let im = z.imaginary_nan().pick(&im.number(FRAC_PI_2), &im);
    Parts::new(re, im).at_infinity(z, &infinity, &atan2(&z.im, &z.re))
}

fn atanh(z: &Parts) -> Parts {
    let (x, y) = (z.re.abs(), &z.im);
    let size = hypot(&x, y);
    let far = size.above(1e150);
    let zero = x.number(0.0);
    let (a, b) = (far.pick(&zero, &x), far.pick(&zero, y));
    let rest = 1.0 - &a;
    // Above 1 the square of a small distance may be 0.
    let pole = &rest.is(0.0) & &(&b.abs().below(1e-100) & &!&b.is(0.0));
    let near = pole.pick(&b.abs(), &x.number(1.0)).log() * -0.5 + LN_2 * 0.5;
    let usual = (&a * 4.0 / (&rest * &rest + &b * &b)).log1p() * 0.25;
    let re = pole.pick(&near, &usual);
    let im = atan2(&(&b * 2.0), &(&rest * (&a + 1.0) - &b * &b)) * 0.5;
    let inverse = (&x / &size) / &size;
    let inverse = size.is_inf().pick(&zero, &inverse);
    let upright = y.is_nan().pick(y, &y.number(FRAC_PI_2).with_sign(y));
    let re = far.pick(&inverse, &z.imaginary_nan().pick(&zero, &re));
    Parts::new(re.with_sign(&z.re), far.pick(&upright, &im))
}

fn atan(z: &Parts) -> Parts {
    atanh(&z.turned()).turned_back()
}

/// `a ** b`; of 0, 1 for an exponent 0 and 0 for one whose real part is positive.
pub fn pow(a: &Parts, b: &Parts) -> Parts {
    let log = log(a);
    let raised = Parts::new(&b.re * &log.re - &b.im * &log.im, &b.re * &log.im + &b.im * &log.re);
    let power = exp(&raised);
    let (zero, nan) = (a.re.number(0.0), a.re.number(f64::NAN));
    let one = &b.re.is(0.0) & &b.im.is(0.0);
    let origin = &a.re.is(0.0) & &a.im.is(0.0);
    let gone = b.re.above(0.0);
    let at_origin = gone.pick(&zero, &nan);
    let re = one.pick(&a.re.number(1.0), &origin.pick(&at_origin, &power.re));
    let im = one.pick(&zero, &origin.pick(&at_origin, &power.im));
    Parts::new(re, im)
}
