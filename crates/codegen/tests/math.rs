//! Error of the transcendental functions against functions of twice the precision (f32) or of the
//! system's libm (f64), with and without fused multiply-add.
//!
//! With `SVOD_TEST_FULL=1` the f32 functions are tested on every float there is.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU32, Ordering};

use svod_codegen::math::eval::Eval;
use svod_codegen::math::{self, Float, Ops};

/// Distance of `got` from `want` in units in the last place of a float with this many significand
/// bits and this least exponent; infinite for a wrong NaN or sign of zero.
fn ulps(got: f64, want: f64, mantissa_bits: i32, min_exponent: i32) -> f64 {
    if want.is_nan() || got.is_nan() {
        return if want.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got.is_sign_negative() != want.is_sign_negative() {
        return f64::INFINITY;
    }
    if got == want {
        return 0.0;
    }
    let exponent = |x: f64| ((x.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(min_exponent);
    // Overflow counts as the power of two above the largest number.
    let top = 1 - min_exponent;
    let bounded = |x: f64| {
        if exponent(x) > top { power_of_two(top).copysign(x) * 2.0 } else { x }
    };
    let difference = (bounded(got) - bounded(want)).abs();
    // In two factors, since the scale of subnormal numbers is itself out of range.
    difference * power_of_two(mantissa_bits) * power_of_two(-exponent(want).min(top))
}

/// 2^e for normal results
fn power_of_two(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

fn ulps_f32(got: f32, want: f64) -> f64 {
    ulps(got.into(), want, 23, -126)
}

fn ulps_f64(got: f64, want: f64) -> f64 {
    // Infinities compare equal or are far apart; in between, one bit less avoids overflow.
    if got.is_infinite() != want.is_infinite() {
        let (a, b) = (got.to_bits(), want.to_bits());
        return a.abs_diff(b) as f64;
    }
    ulps(got, want, 52, -1022)
}

const SPECIAL: [f64; 23] = [
    0.0,
    1e-310,
    5e-324,
    1.4e-45,
    1e-40,
    f32::MIN_POSITIVE as f64,
    f64::MIN_POSITIVE,
    1e-8,
    0.25,
    0.5,
    1.0,
    std::f64::consts::FRAC_PI_2,
    1.5,
    2.0,
    3.0,
    89.0,
    104.0,
    745.5,
    1e10,
    // The f32 nearest to a multiple of π/2
    7.729178919452902e28,
    f32::MAX as f64,
    f64::MAX,
    f64::INFINITY,
];

fn full() -> bool {
    std::env::var_os("SVOD_TEST_FULL").is_some_and(|v| v == "1")
}

/// The largest error over all f32 (each `step`th and the special values), and where it is.
fn worst_f32(error: impl Fn(f32) -> f64 + Sync) -> (f64, f32) {
    let step = if full() { 1 } else { 997 };
    let (block, next) = (1_u64 << 22, AtomicU32::new(0));
    let search = || {
        let mut worst = (0.0, 0.0);
        let mut see = |x: f32| {
            let e = error(x);
            if e > worst.0 {
                worst = (e, x);
            }
        };
        for x in SPECIAL {
            see(x as f32);
            see(-x as f32);
        }
        see(f32::NAN);
        loop {
            let start = u64::from(next.fetch_add(1, Ordering::Relaxed)) * block;
            if start >= 1 << 32 {
                return worst;
            }
            for bits in (start..start + block).step_by(step) {
                see(f32::from_bits(bits as u32));
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(search)).collect();
        workers.into_iter().map(|w| w.join().unwrap()).fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
    })
}

/// xorshift64*
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Any float, or one of moderate size, half of the time each.
    fn float(&mut self) -> f64 {
        let bits = self.bits();
        if bits & 1 == 0 {
            f64::from_bits(self.bits())
        } else {
            let exponent = 1023 - 20 + (bits >> 1) % 30;
            f64::from_bits(self.bits() & !(0x7ff << 52) | exponent << 52)
        }
    }
}

fn worst_f64(error: impl Fn(f64) -> f64) -> (f64, f64) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let special = SPECIAL.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN]);
    special
        .chain((0..200_000).map(|_| random.float()))
        .map(|x| (error(x), x))
        .fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
}

/// Checks one function against an oracle in f64: bounds in ulp of f32, and of f64 (where the oracle
/// itself is allowed one more).
macro_rules! unary {
    ($name:ident, $oracle:expr, $bound_f32:expr, $bound_f64:expr) => {
        #[test]
        fn $name() {
            let oracle: fn(f64) -> f64 = $oracle;
            for fused in [true, false] {
                let (error, x) = worst_f32(|x| {
                    let got = Eval::<f32>::new(fused).unary(math::$name, x);
                    ulps_f32(got, oracle(x.into()))
                });
                println!("{} f32 fused {fused}: {error:.3} ulp at {x:e}", stringify!($name));
                assert!(error <= $bound_f32, "f32, fused {fused}: {error} ulp at {x:e}");
                let (error, x) = worst_f64(|x| {
                    let got = Eval::<f64>::new(fused).unary(math::$name, x);
                    ulps_f64(got, oracle(x))
                });
                println!("{} f64 fused {fused}: {error:.3} ulp at {x:e}", stringify!($name));
                assert!(error <= $bound_f64 + 1.0, "f64, fused {fused}: {error} ulp at {x:e}");
            }
        }
    };
}

unary!(exp, f64::exp, 2.0, 2.0);
unary!(exp2, f64::exp2, 2.0, 2.0);
unary!(expm1, f64::exp_m1, 2.0, 2.0);
unary!(log, f64::ln, 2.0, 2.0);
unary!(log2, f64::log2, 2.0, 2.0);
unary!(log1p, f64::ln_1p, 2.0, 2.0);
unary!(log10, f64::log10, 2.0, 2.0);
unary!(sin, f64::sin, 2.0, 2.0);
unary!(cos, f64::cos, 2.0, 2.0);
unary!(tan, f64::tan, 1.0, 1.0);
unary!(atan, f64::atan, 2.0, 2.0);
unary!(tanh, f64::tanh, 2.0, 3.0);
unary!(erf, libm::erf, 2.0, 3.0);

#[test]
fn log10_of_powers_of_ten() {
    for fused in [true, false] {
        for e in -300..=308 {
            let x: f64 = format!("1e{e}").parse().unwrap();
            assert_eq!(Eval::<f64>::new(fused).unary(math::log10, x), f64::from(e), "fused {fused}");
        }
        for e in -37..=38_i16 {
            let x: f32 = format!("1e{e}").parse().unwrap();
            assert_eq!(Eval::<f32>::new(fused).unary(math::log10, x), f32::from(e), "fused {fused}");
        }
    }
}

/// The f64 nearest to a multiple of π/2 (Muller, Elementary Functions), where the system's libm is itself some ulp off.
#[test]
fn cos_of_hardest_argument() {
    let x = 6_381_956_970_095_103.0 * 2f64.powi(797);
    for fused in [true, false] {
        let got = Eval::<f64>::new(fused).unary(math::cos, x);
        assert!(ulps_f64(got, -4.687_165_924_254_628e-19) <= 2.0, "fused {fused}: {got:e}");
    }
}

/// Pairs of every kind: special values, results in range, near 1, any bits.
fn pow_pairs(count: usize) -> impl Iterator<Item = (f64, f64)> {
    let values = SPECIAL.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN]);
    let special: Vec<f64> = values.collect();
    let pairs: Vec<_> = special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y))).collect();
    let mut random = Random(0xdead_beef);
    pairs.into_iter().chain((0..count).map(move |i| {
        let unit = |r: &mut Random| (r.bits() >> 11) as f64 / (1_u64 << 53) as f64;
        match i % 4 {
            0 => (random.float(), random.float()),
            1 => {
                let exponent = (unit(&mut random) - 0.5) * 250.0;
                (exponent.exp2(), (unit(&mut random) - 0.5) * 300.0 / exponent)
            }
            2 => {
                let x = 1.0 + (unit(&mut random) - 0.5) * 0.1;
                (x, (unit(&mut random) - 0.5) * 200.0 / x.log2().abs())
            }
            _ => (-(unit(&mut random) * 20.0), ((unit(&mut random) - 0.5) * 40.0).round()),
        }
    }))
}

#[test]
fn pow() {
    let count = if full() { 100_000_000 } else { 1_000_000 };
    for fused in [true, false] {
        let mut worst = [(0.0, 0.0, 0.0); 2];
        for (x, y) in pow_pairs(count) {
            let (x32, y32) = (x as f32, y as f32);
            let got = Eval::<f32>::new(fused).binary(math::pow, x32, y32);
            let error = ulps_f32(got, f64::from(x32).powf(y32.into()));
            if error > worst[0].0 {
                worst[0] = (error, x32.into(), y32.into());
            }
            let got = Eval::<f64>::new(fused).binary(math::pow, x, y);
            let error = ulps_f64(got, x.powf(y));
            if error > worst[1].0 {
                worst[1] = (error, x, y);
            }
        }
        println!("pow fused {fused}: {worst:?}");
        assert!(worst[0].0 <= 2.0, "f32, fused {fused}: {:?}", worst[0]);
        assert!(worst[1].0 <= 3.0, "f64, fused {fused}: {:?}", worst[1]);
    }
}

/// With an exact 2^x: what `ex2.approx` has for an error comes on top of it.
#[test]
fn functions_by_an_instruction_for_powers_of_two_are_nearly_as_exact() {
    let mut eval = Eval::<f32>::new(true).with_power_of_two();
    let [mut exp, mut tanh, mut erf] = [0.0f64; 3];
    let wide: Vec<f32> = (0..=u32::MAX).step_by(9973).map(f32::from_bits).collect();
    let special = SPECIAL.iter().flat_map(|x| [*x as f32, -*x as f32]).chain([f32::NAN]);
    for x in wide.into_iter().chain(special) {
        exp = exp.max(ulps_f32(eval.unary(math::exp, x), f64::from(x).exp()));
        tanh = tanh.max(ulps_f32(eval.unary(math::tanh, x), f64::from(x).tanh()));
        erf = erf.max(ulps_f32(eval.unary(math::erf, x), libm::erf(f64::from(x))));
    }
    assert!(exp <= 2.0 && tanh <= 2.0 && erf <= 2.0, "{exp} {tanh} {erf}");
    // So that 1 + erf(-x) is 0.
    assert!([4.0, 5.0, 1e30, f32::INFINITY].into_iter().all(|x| eval.unary(math::erf, -x) == -1.0));
}

/// Evaluates as [`Eval`] does, and counts the products that underflow, for which processors take long.
struct Underflows {
    eval: Eval<f32>,
    count: usize,
}

macro_rules! delegate {
    ($($name:ident($($a:ident: $t:ty),*) -> $to:ty;)*) => {$(
        fn $name(&mut self, $($a: $t),*) -> $to {
            self.eval.$name($($a),*)
        }
    )*};
}

impl Ops for Underflows {
    type V = u32;
    type M = bool;

    delegate! {
        fconst(value: f64) -> u32;
        iconst(value: i64) -> u32;
        fadd(a: u32, b: u32) -> u32;
        fsub(a: u32, b: u32) -> u32;
        fdiv(a: u32, b: u32) -> u32;
        fneg(a: u32) -> u32;
        fabs(a: u32) -> u32;
        power_of_two(x: u32) -> u32;
        fmin(a: u32, b: u32) -> u32;
        fmax(a: u32, b: u32) -> u32;
        to_float(a: u32) -> u32;
        as_float(a: u32) -> u32;
        as_int(a: u32) -> u32;
        iadd(a: u32, b: u32) -> u32;
        isub(a: u32, b: u32) -> u32;
        imul(a: u32, b: u32) -> u32;
        iand(a: u32, b: u32) -> u32;
        ior(a: u32, b: u32) -> u32;
        ixor(a: u32, b: u32) -> u32;
        ishl(a: u32, n: u32) -> u32;
        lshr(a: u32, n: u32) -> u32;
        ashr(a: u32, n: u32) -> u32;
        flt(a: u32, b: u32) -> bool;
        fle(a: u32, b: u32) -> bool;
        feq(a: u32, b: u32) -> bool;
        ieq(a: u32, b: u32) -> bool;
        and(a: bool, b: bool) -> bool;
        or(a: bool, b: bool) -> bool;
        not(a: bool) -> bool;
        select(m: bool, a: u32, b: u32) -> u32;
    }

    fn float(&self) -> Float {
        self.eval.float()
    }
    fn fused(&self) -> bool {
        self.eval.fused()
    }
    fn fmul(&mut self, a: u32, b: u32) -> u32 {
        let product = f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b));
        self.count += usize::from(product != 0.0 && product.abs() < f64::from(f32::MIN_POSITIVE));
        self.eval.fmul(a, b)
    }
    fn mul_add(&mut self, a: u32, b: u32, c: u32) -> u32 {
        let sum = self.eval.mul_add(a, b, c);
        self.count += usize::from(f32::from_bits(sum).is_subnormal());
        sum
    }
}

/// A mask of attention is minus infinity, or some huge number: its exponential costs no more than another.
#[test]
fn exponentials_of_masks_do_not_underflow() {
    type Function = fn(&mut Underflows, u32) -> u32;
    let functions: [(&str, Function); 4] =
        [("exp", math::exp), ("exp2", math::exp2), ("tanh", math::tanh), ("erf", math::erf)];
    for x in [f32::NEG_INFINITY, f32::MIN, -1e9, -1e4, -300.0, -20.0, 0.0, 20.0, 1e4, 1e9, f32::INFINITY] {
        for (name, f) in functions {
            let mut ops = Underflows { eval: Eval::new(true), count: 0 };
            f(&mut ops, x.to_bits());
            assert_eq!(ops.count, 0, "{name}({x})");
        }
    }
}
