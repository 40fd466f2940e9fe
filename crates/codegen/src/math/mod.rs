//! Transcendental functions as straight-line vector code, shared by every target.
//!
//! A function here is generic over [`Ops`], the handful of IEEE operations that a target can do on
//! a vector, and expands into a decomposition without tables, gathers, calls or data-dependent
//! branches. The same text therefore emits LLVM vectors, and evaluates scalars in the reference
//! interpreter ([`eval::Eval`]); both give the same bits if they agree on [`Ops::fused`].
//!
//! Every function takes the whole range: infinities, NaN, signed zeros and subnormals come out as
//! IEEE 754 (section 9.2) asks. Nothing relies on flushing subnormals, and the bounds hold with and
//! without fused multiply-add.
//!
//! # Measured error
//!
//! Largest error seen, in units in the last place of the result, with / without fused multiply-add.
//! For f32 against f64 functions, over every 13th float; for f64 against
//! 140-bit arithmetic, over thousands of random arguments of small, moderate and huge size.
//! `SVOD_TEST_FULL=1` tests the f32 bounds on every float.
//!
//! | function | f32         | f32 bound tested | f64         |
//! |----------|-------------|------------------|-------------|
//! | `exp`    | 1.02 / 0.99 | 2                | 1.03 / 0.94 |
//! | `exp2`   | 1.02 / 1.04 | 2                | 0.98 / 0.94 |
//! | `expm1`  | 1.54 / 1.69 | 2                | 1.84 / 1.97 |
//! | `log`    | 0.77 / 0.77 | 2                | 0.74 / 0.74 |
//! | `log2`   | 1.05 / 1.86 | 2                | 0.54 / 0.54 |
//! | `log10`  | 0.64 / 0.62 | 2                | 1 / 1       |
//! | `log1p`  | 1.44 / 1.44 | 2                | 1.10 / 1.10 |
//! | `sin`    | 1.49 / 1.48 | 2                | 1.36 / 1.36 |
//! | `cos`    | 1.50 / 1.53 | 2                | 1.04 / 1.04 |
//! | `tan`    | 0.91 / 0.91 | 1                | 0.91 / 0.87 |
//! | `atan`   | 0.91 / 0.91 | 2                | 1 / 1       |
//! | `tanh`   | 1.45 / 1.45 | 2                | 2.12 / 2.47 |
//! | `erf`    | 1.23 / 1.39 | 2                | 0.77 / 0.73 |
//! | `pow`    | 1.13 / 1.14 | 2 (sampled)      | 1.11 / 1.02 |
//!
//! `sin`, `cos` and `tan` keep this for arguments of any size. Where a target has an instruction for 2^x (GPUs: `ex2.approx`, PTX
//! ISA, 2 ulp), `exp2` is that, and `exp`, `tanh` and `erf` are made with it, to 4 ulp.
//!
//! # Method
//!
//! Argument reduction in the style of Cody and Waite (*Software Manual for the Elementary
//! Functions*, 1980), with the range of huge arguments handled as in Payne and Hanek (1983);
//! polynomials are minimax in relative error (Remez exchange in 260-bit arithmetic), their
//! coefficients rounded one after another with the rest fitted again, which keeps nearly all of
//! the accuracy (J.-M. Muller, *Elementary Functions*, chapters 3, 4 and 11).

mod atan;
mod erf;
pub mod eval;
mod exp;
mod log;
mod pow;
mod reduce;
mod tanh;
mod trig;

pub use atan::atan;
pub use erf::erf;
pub use exp::{exp, exp2, expm1};
pub use log::{log, log1p, log2, log10};
pub use pow::pow;
pub use tanh::tanh;
pub use trig::{cos, sin, tan};

/// The float type that a decomposition computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Float {
    /// IEEE binary32, with 32-bit integers beside it.
    F32,
    /// IEEE binary64, with 64-bit integers beside it.
    F64,
}

impl Float {
    /// Width of the float, and of the integers beside it.
    pub const fn bits(self) -> u32 {
        match self {
            Float::F32 => 32,
            Float::F64 => 64,
        }
    }

    /// Explicitly stored bits of the significand.
    pub const fn mantissa_bits(self) -> u32 {
        match self {
            Float::F32 => 23,
            Float::F64 => 52,
        }
    }

    /// What the exponent field holds for 1.0.
    pub const fn exponent_bias(self) -> i64 {
        match self {
            Float::F32 => 127,
            Float::F64 => 1023,
        }
    }

    /// Least positive normal number.
    pub(crate) const fn min_normal(self) -> f64 {
        match self {
            Float::F32 => f32::MIN_POSITIVE as f64,
            Float::F64 => f64::MIN_POSITIVE,
        }
    }

    /// 1.5 * 2^mantissa: adding it to a number of less than a quarter of that size rounds the number
    /// to an integer, and leaves that integer in the low bits of the sum.
    const fn round_magic(self) -> f64 {
        match self {
            Float::F32 => 12_582_912.0,
            Float::F64 => 6_755_399_441_055_744.0,
        }
    }

    /// The constant of this width.
    const fn pick(self, f32: f64, f64: f64) -> f64 {
        match self {
            Float::F32 => f32,
            Float::F64 => f64,
        }
    }
}

/// Target of a decomposition: IEEE operations on values of one float type and of the integer type
/// of the same width.
///
/// An implementation must round every operation on its own: no reassociation, no contraction (other
/// than in [`Ops::mul_add`]), no flushing of subnormals, no assumption that NaN or infinity is absent.
/// Integer arithmetic wraps. Shift counts are constants or values in `0..bits`.
pub trait Ops {
    /// A float or an integer (vector); which of the two follows from the operation that made it.
    type V: Copy;
    /// A truth value (a lane).
    type M: Copy;

    /// The float type of this target.
    fn float(&self) -> Float;
    /// Whether [`Ops::mul_add`] rounds once.
    fn fused(&self) -> bool;

    /// A float constant, rounded to the float type.
    fn fconst(&mut self, value: f64) -> Self::V;
    /// An integer constant, truncated to the width.
    fn iconst(&mut self, value: i64) -> Self::V;

    /// a + b
    fn fadd(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// a - b
    fn fsub(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// a * b
    fn fmul(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// a / b
    fn fdiv(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// a * b + c, rounded once if [`Ops::fused`], else after each operation
    fn mul_add(&mut self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Sign bit flipped
    fn fneg(&mut self, a: Self::V) -> Self::V;
    /// Sign bit cleared
    fn fabs(&mut self, a: Self::V) -> Self::V;
    /// `if a < b { a } else { b }`: `b` when either is NaN (x86 `minps`)
    fn fmin(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// `if a > b { a } else { b }`: `b` when either is NaN (x86 `maxps`)
    fn fmax(&mut self, a: Self::V, b: Self::V) -> Self::V;

    /// Signed integer to float, to nearest even
    fn to_float(&mut self, a: Self::V) -> Self::V;
    /// The float with these bits
    fn as_float(&mut self, a: Self::V) -> Self::V;
    /// The bits of a float
    fn as_int(&mut self, a: Self::V) -> Self::V;

    /// a + b
    fn iadd(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// a - b
    fn isub(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// Low half of a * b
    fn imul(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// a & b
    fn iand(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// a | b
    fn ior(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// a ^ b
    fn ixor(&mut self, a: Self::V, b: Self::V) -> Self::V;
    /// a << n
    fn ishl(&mut self, a: Self::V, n: Self::V) -> Self::V;
    /// a >> n, zeros shifted in
    fn lshr(&mut self, a: Self::V, n: Self::V) -> Self::V;
    /// a >> n, the sign shifted in
    fn ashr(&mut self, a: Self::V, n: Self::V) -> Self::V;

    /// a < b; false when unordered
    fn flt(&mut self, a: Self::V, b: Self::V) -> Self::M;
    /// a <= b; false when unordered
    fn fle(&mut self, a: Self::V, b: Self::V) -> Self::M;
    /// a == b; false when unordered
    fn feq(&mut self, a: Self::V, b: Self::V) -> Self::M;
    /// Integer a == b
    fn ieq(&mut self, a: Self::V, b: Self::V) -> Self::M;

    /// a and b
    fn and(&mut self, a: Self::M, b: Self::M) -> Self::M;
    /// a or b
    fn or(&mut self, a: Self::M, b: Self::M) -> Self::M;
    /// not a
    fn not(&mut self, a: Self::M) -> Self::M;
    /// `a` where `m` holds, else `b`
    fn select(&mut self, m: Self::M, a: Self::V, b: Self::V) -> Self::V;

    /// Whether there is an instruction for [`Ops::power_of_two`].
    fn has_power_of_two(&self) -> bool {
        false
    }
    /// 2^x to 2 ulp, for every x of binary32
    fn power_of_two(&mut self, x: Self::V) -> Self::V;

    /// `exact` of some operands where `when` holds, else `usual`; `when` is expected to be false in all lanes nearly
    /// always, and `exact` is long.
    ///
    /// Straight-line by default. A target may jump around `exact` when no lane needs it, since it has
    /// no effect other than its value.
    fn rarely<const N: usize, const M: usize>(
        &mut self,
        when: Self::M,
        usual: [Self::V; N],
        of: [Self::V; M],
        exact: impl FnOnce(&mut Self, [Self::V; M]) -> [Self::V; N],
    ) -> [Self::V; N] {
        let exact = exact(self, of);
        std::array::from_fn(|i| self.select(when, exact[i], usual[i]))
    }
}

/// c\[0\] + c\[1\] x + …: what x multiplies last by Estrin's scheme (1960), in pairs, pairs of pairs and so on,
/// so that few steps wait for one another; and the last step by Horner's rule, so that it alone rounds the whole.
fn poly<B: Ops>(b: &mut B, x: B::V, c: &[f64]) -> B::V {
    let (first, rest) = c.split_first().expect("a polynomial has a coefficient");
    let first = b.fconst(*first);
    if rest.is_empty() {
        return first;
    }
    let mut terms: Vec<B::V> = rest.iter().map(|&c| b.fconst(c)).collect();
    let mut power = x;
    while terms.len() > 1 {
        let pair = |pair: &[B::V]| match *pair {
            [low, high] => b.mul_add(high, power, low),
            _ => pair[0],
        };
        terms = terms.chunks(2).map(pair).collect();
        if terms.len() > 1 {
            power = b.fmul(power, power);
        }
    }
    b.mul_add(terms[0], x, first)
}

/// a * c + d for a constant c.
fn scale_add<B: Ops>(b: &mut B, a: B::V, c: f64, d: B::V) -> B::V {
    let c = b.fconst(c);
    b.mul_add(a, c, d)
}

/// a + c for a constant c.
fn add_const<B: Ops>(b: &mut B, a: B::V, c: f64) -> B::V {
    let c = b.fconst(c);
    b.fadd(a, c)
}

/// a * c for a constant c.
fn mul_const<B: Ops>(b: &mut B, a: B::V, c: f64) -> B::V {
    let c = b.fconst(c);
    b.fmul(a, c)
}

/// x limited to lo..hi; NaN stays.
fn clamp<B: Ops>(b: &mut B, x: B::V, lo: f64, hi: f64) -> B::V {
    let (lo, hi) = (b.fconst(lo), b.fconst(hi));
    let x = b.fmax(lo, x);
    b.fmin(hi, x)
}

/// The sign bit of x, as an integer.
pub(crate) fn sign_bit<B: Ops>(b: &mut B, x: B::V) -> B::V {
    let mask = b.iconst(i64::MIN >> (64 - b.float().bits()));
    let x = b.as_int(x);
    b.iand(x, mask)
}

/// x with its sign flipped where the integer `sign` has its top bit set; `sign` has no other bit.
pub(crate) fn flip_sign<B: Ops>(b: &mut B, x: B::V, sign: B::V) -> B::V {
    let x = b.as_int(x);
    let x = b.ixor(x, sign);
    b.as_float(x)
}

/// a + b as a rounded sum and its error, exactly (Knuth).
fn two_sum<B: Ops>(b: &mut B, x: B::V, y: B::V) -> (B::V, B::V) {
    let sum = b.fadd(x, y);
    let y2 = b.fsub(sum, x);
    let x2 = b.fsub(sum, y2);
    let ey = b.fsub(y, y2);
    let ex = b.fsub(x, x2);
    (sum, b.fadd(ex, ey))
}

/// The same where |x| >= |y| or x = 0 (Dekker).
fn fast_two_sum<B: Ops>(b: &mut B, x: B::V, y: B::V) -> (B::V, B::V) {
    let sum = b.fadd(x, y);
    let y2 = b.fsub(sum, x);
    (sum, b.fsub(y, y2))
}

/// x * y as a rounded product and its error, exactly unless it underflows.
pub(crate) fn two_prod<B: Ops>(b: &mut B, x: B::V, y: B::V) -> (B::V, B::V) {
    let p = b.fmul(x, y);
    let np = b.fneg(p);
    if b.fused() {
        return (p, b.mul_add(x, y, np));
    }
    let (xh, xl) = halves(b, x);
    let (yh, yl) = halves(b, y);
    let mut e = b.mul_add(xh, yh, np);
    e = b.mul_add(xh, yl, e);
    e = b.mul_add(xl, yh, e);
    (p, b.mul_add(xl, yl, e))
}

/// x as a sum of two numbers of half the digits.
fn halves<B: Ops>(b: &mut B, x: B::V) -> (B::V, B::V) {
    let low_bits = b.float().mantissa_bits() / 2 + 1;
    let high = clear_low_bits(b, x, low_bits);
    (high, b.fsub(x, high))
}

/// x with the low bits of its significand cleared.
fn clear_low_bits<B: Ops>(b: &mut B, x: B::V, bits: u32) -> B::V {
    let mask = b.iconst(-1 << bits);
    let x = b.as_int(x);
    let x = b.iand(x, mask);
    b.as_float(x)
}
