//! Scalar evaluation of the decompositions: the reference for generated code, and the means to test
//! them.

use std::marker::PhantomData;

use super::{Float, Ops};

/// Evaluates a decomposition on the bits of one `T`, which is `f32` or `f64`.
///
/// ```
/// use svod_codegen::math::{self, eval::Eval};
///
/// let mut eval = Eval::<f32>::new(true);
/// assert_eq!(eval.unary(math::exp2, 3.0), 8.0);
/// assert_eq!(eval.binary(math::pow, -2.0, 3.0), -8.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Eval<T> {
    fused: bool,
    power_of_two: bool,
    float: PhantomData<T>,
}

impl<T> Eval<T> {
    /// An evaluator whose multiply-add rounds once if `fused`, else twice.
    pub fn new(fused: bool) -> Self {
        Self { fused, power_of_two: false, float: PhantomData }
    }

    /// The same for a target that has an instruction for 2^x.
    pub fn with_power_of_two(self) -> Self {
        Self { power_of_two: true, ..self }
    }
}

macro_rules! eval {
    ($float:ident, $kind:expr, $bits:ident) => {
        impl Eval<$float> {
            /// The value of a decomposition of one argument.
            #[inline]
            pub fn unary(&mut self, f: impl FnOnce(&mut Self, $bits) -> $bits, x: $float) -> $float {
                $float::from_bits(f(self, x.to_bits()))
            }

            /// The value of a decomposition of two arguments.
            #[inline]
            pub fn binary(
                &mut self,
                f: impl FnOnce(&mut Self, $bits, $bits) -> $bits,
                x: $float,
                y: $float,
            ) -> $float {
                $float::from_bits(f(self, x.to_bits(), y.to_bits()))
            }
        }

        impl Ops for Eval<$float> {
            type V = $bits;
            type M = bool;

            eval! { @ops $float $bits
                fadd(a, b) = a + b;
                fsub(a, b) = a - b;
                fmul(a, b) = a * b;
                fdiv(a, b) = a / b;
                fneg(a) = -a;
                fabs(a) = a.abs();
                fmin(a, b) = if a < b { a } else { b };
                fmax(a, b) = if a > b { a } else { b };
            }
            eval! { @compare $float $bits
                flt(a, b) = a < b;
                fle(a, b) = a <= b;
                feq(a, b) = a == b;
            }

            fn float(&self) -> Float {
                $kind
            }
            fn fused(&self) -> bool {
                self.fused
            }
            fn has_power_of_two(&self) -> bool {
                self.power_of_two
            }
            #[inline]
            fn power_of_two(&mut self, x: $bits) -> $bits {
                $float::from_bits(x).exp2().to_bits()
            }
            #[inline]
            fn fconst(&mut self, value: f64) -> $bits {
                (value as $float).to_bits()
            }
            #[inline]
            fn iconst(&mut self, value: i64) -> $bits {
                value as $bits
            }
            #[inline]
            fn mul_add(&mut self, a: $bits, b: $bits, c: $bits) -> $bits {
                let [a, b, c] = [a, b, c].map($float::from_bits);
                if self.fused { a.mul_add(b, c) } else { a * b + c }.to_bits()
            }
            #[inline]
            fn to_float(&mut self, a: $bits) -> $bits {
                (a.cast_signed() as $float).to_bits()
            }
            #[inline]
            fn as_float(&mut self, a: $bits) -> $bits {
                a
            }
            #[inline]
            fn as_int(&mut self, a: $bits) -> $bits {
                a
            }
            #[inline]
            fn iadd(&mut self, a: $bits, b: $bits) -> $bits {
                a.wrapping_add(b)
            }
            #[inline]
            fn isub(&mut self, a: $bits, b: $bits) -> $bits {
                a.wrapping_sub(b)
            }
            #[inline]
            fn imul(&mut self, a: $bits, b: $bits) -> $bits {
                a.wrapping_mul(b)
            }
            #[inline]
            fn iand(&mut self, a: $bits, b: $bits) -> $bits {
                a & b
            }
            #[inline]
            fn ior(&mut self, a: $bits, b: $bits) -> $bits {
                a | b
            }
            #[inline]
            fn ixor(&mut self, a: $bits, b: $bits) -> $bits {
                a ^ b
            }
            #[inline]
            fn ishl(&mut self, a: $bits, n: $bits) -> $bits {
                a << n
            }
            #[inline]
            fn lshr(&mut self, a: $bits, n: $bits) -> $bits {
                a >> n
            }
            #[inline]
            fn ashr(&mut self, a: $bits, n: $bits) -> $bits {
                (a.cast_signed() >> n).cast_unsigned()
            }
            #[inline]
            fn ieq(&mut self, a: $bits, b: $bits) -> bool {
                a == b
            }
            #[inline]
            fn and(&mut self, a: bool, b: bool) -> bool {
                a && b
            }
            #[inline]
            fn or(&mut self, a: bool, b: bool) -> bool {
                a || b
            }
            #[inline]
            fn not(&mut self, a: bool) -> bool {
                !a
            }
            #[inline]
            fn select(&mut self, m: bool, a: $bits, b: $bits) -> $bits {
                if m { a } else { b }
            }
            #[inline]
            fn rarely<const N: usize, const M: usize>(
                &mut self,
                when: bool,
                usual: [$bits; N],
                of: [$bits; M],
                exact: impl FnOnce(&mut Self, [$bits; M]) -> [$bits; N],
            ) -> [$bits; N] {
                if when { exact(self, of) } else { usual }
            }
        }
    };
    (@ops $float:ident $bits:ident $($name:ident($($a:ident),*) = $value:expr;)*) => {$(
        #[inline]
        fn $name(&mut self, $($a: $bits),*) -> $bits {
            $(let $a = $float::from_bits($a);)*
            $float::to_bits($value)
        }
    )*};
    (@compare $float:ident $bits:ident $($name:ident($($a:ident),*) = $value:expr;)*) => {$(
        #[inline]
        fn $name(&mut self, $($a: $bits),*) -> bool {
            $(let $a = $float::from_bits($a);)*
            $value
        }
    )*};
}

eval!(f32, Float::F32, u32);
eval!(f64, Float::F64, u64);
