//! Functions of each element.

use std::f64::consts;
use std::ops;

use svod_dtype::{DEFAULT_FLOAT, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Op, UOp};

use crate::complex;
use crate::error::{Result, TensorError, show_operands};
use crate::operand::{Operand, aligned, broadcast, common_dtype};
use crate::realize::seen;
use crate::tensor::Tensor;
use crate::trace::Trace;

/// The types in which an operation computes, and what it does to others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Types {
    /// The common type.
    Any,
    /// The common type, which may not be `Bool`.
    Number,
    /// The common type; integers and bools become the default float.
    Float,
    /// Integers.
    Int,
    /// Integers and bools.
    Bits,
}

fn computed_in(op: &'static str, types: Types, dtype: DType, operands: &[Operand]) -> Result<DType> {
    let expected = match types {
        Types::Float if !dtype.is_float() => return Ok(DEFAULT_FLOAT),
        Types::Number if dtype.is_bool() => "numbers",
        Types::Int if !dtype.is_int() => "integers",
        Types::Bits if !dtype.is_int() && !dtype.is_bool() => "integers or bool",
        _ => return Ok(dtype),
    };
    let given: Vec<UOp> = operands.iter().map(|o| o.typed(op)).collect::<Result<_>>()?;
    let instead = match (op, types) {
        ("sub", Types::Number) => "; of bools `^` (`logical_xor`) says where they differ",
        ("neg", Types::Number) => "; of bools `~` (`logical_not`) is the opposite",
        (_, Types::Number) => "; cast them, as by `.int()`",
        _ => "",
    };
    Err(TensorError::dtype(op, format!("takes {expected}, not {}{instead}", show_operands(&given))))
}

fn apply(op: &'static str, alu: Alu, types: Types, operands: &[Operand]) -> Result<Tensor> {
    if let Some(known) = known_order(alu, operands)? {
        return Ok(known);
    }
    let common = common_dtype(op, operands)?;
    if common.is_complex() {
        return complex::apply(op, alu, operands, common);
    }
    let dtype = computed_in(op, types, common, operands)?;
    Ok(Tensor::from_uop(UOp::alu(alu, &aligned(op, operands, dtype)?)?))
}

/// How integers compare with a number that their type does not hold: all in the same way.
fn known_order(alu: Alu, operands: &[Operand]) -> Result<Option<Tensor>> {
    let (tensor, number, first) = match operands {
        [Operand::Tensor(tensor), Operand::Int(number)] => (tensor, *number, true),
        [Operand::Int(number), Operand::Tensor(tensor)] => (tensor, *number, false),
        _ => return Ok(None),
    };
    let beyond = |(least, most): (i128, i128)| (number > most).then_some(true).or((number < least).then_some(false));
    let dtype = tensor.dtype();
    let Some(greater) = dtype.int_range().filter(|_| !dtype.is_bool()).and_then(beyond) else { return Ok(None) };
    let holds = match alu {
        Alu::Eq => false,
        Alu::Ne => true,
        Alu::Lt | Alu::Le => greater == first,
        _ => return Ok(None),
    };
    tensor.full_like(0)?.cast(DType::Bool)?.bitwise_or(holds).map(Some)
}

macro_rules! unary {
    ($($name:ident $alu:ident $types:ident $doc:literal;)*) => {
        impl Tensor {
            $(#[doc = $doc] pub fn $name(&self) -> Result<Tensor> {
                apply(stringify!($name), Alu::$alu, Types::$types, &[self.into()])
            })*
        }
    };
}

unary! {
    neg         Neg   Number "`-x`; wraps on integers.";
    bitwise_not Not   Bits   "Each bit inverted; logical on bools.";
    sqrt        Sqrt  Float  "Square root.";
    reciprocal  Recip Float  "`1 / x`.";
    exp         Exp   Float  "Natural exponential.";
    exp2        Exp2  Float  "Exponential with base 2.";
    expm1       Expm1 Float  "`exp(x) - 1`, exactly of small `x` too.";
    log         Log   Float  "Natural logarithm.";
    log2        Log2  Float  "Logarithm to base 2.";
    log10       Log10 Float  "Logarithm to base 10.";
    log1p       Log1p Float  "`log(1 + x)`, exactly of small `x` too.";
    sin         Sin   Float  "Sine of an angle in radians.";
    cos         Cos   Float  "Cosine of an angle in radians.";
    tan         Tan   Float  "Tangent of an angle in radians.";
    atan        Atan  Float  "Arc tangent, in radians.";
    tanh        Tanh  Float  "Hyperbolic tangent.";
    erf         Erf   Float  "The error function.";
}

/// Functions that leave integers as they are.
macro_rules! rounding {
    ($($name:ident $alu:ident $doc:literal;)*) => {
        impl Tensor {
            $(#[doc = $doc] pub fn $name(&self) -> Result<Tensor> {
                match self.dtype().is_inexact() {
                    true => apply(stringify!($name), Alu::$alu, Types::Float, &[self.into()]),
                    false => Ok(Tensor::from_uop(self.uop())),
                }
            })*
        }
    };
}

rounding! {
    floor Floor "The largest integer not above, in the same type.";
    ceil  Ceil  "The smallest integer not below, in the same type.";
    trunc Trunc "The integer part, in the same type.";
}

macro_rules! binary {
    ($($name:ident $alu:ident $types:ident $doc:literal;)*) => {
        impl Tensor {
            $(#[doc = $doc] pub fn $name(&self, other: impl Into<Operand>) -> Result<Tensor> {
                apply(stringify!($name), Alu::$alu, Types::$types, &[self.into(), other.into()])
            })*
        }
    };
}

binary! {
    add         Add      Any    "Sum; logical or on bools.";
    sub         Sub      Number "Difference.";
    mul         Mul      Any    "Product; logical and on bools.";
    div         Div      Float  "True quotient: integers become floats.";
    floor_div   FloorDiv Number "Quotient rounded down; an integer divided by 0 gives 0.";
    modulo      FloorMod Number "Remainder of `floor_div`, of the divisor's sign; by an integer 0 it is 0.";
    pow         Pow      Number "Power; a negative integer exponent gives 0 unless the base is 1 or -1.";
    maximum     Max      Any    "The greater; NaN where one is.";
    minimum     Min      Any    "The lesser; NaN where one is.";
    bitwise_and And      Bits   "Bitwise and; logical on bools.";
    bitwise_or  Or       Bits   "Bitwise or; logical on bools.";
    bitwise_xor Xor      Bits   "Bitwise exclusive or; logical on bools.";
    shl         Shl      Int    "Left shift; 0 when shifted by the width or more.";
    shr         Shr      Int    "Right shift, arithmetic on signed types; 0 when shifted by the width or more.";
    eq          Eq       Any    "`self == other`, false with NaN.";
    ne          Ne       Any    "`self != other`, true with NaN.";
    lt          Lt       Any    "`self < other`, false with NaN.";
    le          Le       Any    "`self <= other`, false with NaN.";
}

impl Tensor {
    /// `self > other`, false with NaN.
    pub fn gt(&self, other: impl Into<Operand>) -> Result<Tensor> {
        apply("gt", Alu::Lt, Types::Any, &[other.into(), self.into()])
    }

    /// `self >= other`, false with NaN.
    pub fn ge(&self, other: impl Into<Operand>) -> Result<Tensor> {
        apply("ge", Alu::Le, Types::Any, &[other.into(), self.into()])
    }

    /// `other - self`, for a scalar on the left.
    pub fn rsub(&self, other: impl Into<Operand>) -> Result<Tensor> {
        apply("sub", Alu::Sub, Types::Number, &[other.into(), self.into()])
    }

    /// `other / self`, for a scalar on the left.
    pub fn rdiv(&self, other: impl Into<Operand>) -> Result<Tensor> {
        apply("div", Alu::Div, Types::Float, &[other.into(), self.into()])
    }

    /// `other // self`, for a scalar on the left.
    pub fn rfloor_div(&self, other: impl Into<Operand>) -> Result<Tensor> {
        apply("floor_div", Alu::FloorDiv, Types::Number, &[other.into(), self.into()])
    }

    /// `other % self`, for a scalar on the left.
    pub fn rmodulo(&self, other: impl Into<Operand>) -> Result<Tensor> {
        apply("modulo", Alu::FloorMod, Types::Number, &[other.into(), self.into()])
    }

    /// `other ** self`, for a scalar on the left.
    pub fn rpow(&self, other: impl Into<Operand>) -> Result<Tensor> {
        apply("pow", Alu::Pow, Types::Number, &[other.into(), self.into()])
    }

    /// `other << self`, for a scalar on the left.
    pub fn rshl(&self, other: impl Into<Operand>) -> Result<Tensor> {
        apply("shl", Alu::Shl, Types::Int, &[other.into(), self.into()])
    }

    /// `other >> self`, for a scalar on the left.
    pub fn rshr(&self, other: impl Into<Operand>) -> Result<Tensor> {
        apply("shr", Alu::Shr, Types::Int, &[other.into(), self.into()])
    }

    /// `self` where `condition` holds, else `other`.
    pub fn where_(&self, condition: &Tensor, other: impl Into<Operand>) -> Result<Tensor> {
        Tensor::select(condition, self, other)
    }

    /// `a` where `condition` holds, else `b`.
    pub fn select(condition: &Tensor, a: impl Into<Operand>, b: impl Into<Operand>) -> Result<Tensor> {
        let op = "where";
        let (condition, values) = (condition.uop(), [a.into(), b.into()]);
        if !condition.dtype().is_bool() {
            let given = show_operands(&[condition]);
            return Err(TensorError::dtype(op, format!("the condition must be bool, not {given}")));
        }
        let dtype = common_dtype(op, &values)?;
        let nodes = vec![condition, values[0].in_type(op, dtype)?, values[1].in_type(op, dtype)?];
        Ok(Tensor::from_uop(UOp::alu(Alu::Where, &broadcast(op, nodes)?)?))
    }

    /// `|x|`; wraps on integers.
    pub fn abs(&self) -> Result<Tensor> {
        let dtype = self.dtype();
        match dtype.is_bool() || dtype.is_unsigned() {
            true => Ok(Tensor::from_uop(self.uop())),
            false => apply("abs", Alu::Abs, Types::Number, &[self.into()]),
        }
    }

    /// -1, 0 or 1; NaN is kept, and zero has no sign. Its derivative is 0.
    pub fn sign(&self) -> Result<Tensor> {
        let dtype = self.dtype();
        if dtype.is_bool() {
            return Ok(Tensor::from_uop(self.uop()));
        }
        if dtype.is_complex() {
            return self.complex_sign();
        }
        let one = |value: i32| Operand::from(value);
        // What is left is zero or NaN, which roundings leave as they are, and derivatives end at.
        let rest = if dtype.is_float() { self.trunc()?.abs()? } else { self.detach()? };
        let positive = Tensor::select(&self.gt(0)?, one(1), rest)?;
        match dtype.is_unsigned() {
            true => Ok(positive),
            false => Tensor::select(&self.lt(0)?, one(-1), positive),
        }
    }

    /// `x * x`.
    pub fn square(&self) -> Result<Tensor> {
        self.mul(self)
    }

    /// `1 / sqrt(x)`.
    pub fn rsqrt(&self) -> Result<Tensor> {
        self.rounded_once(|x| x.sqrt()?.reciprocal())
    }

    /// `1 / (1 + exp(-x))`, without overflow for any `x`, in its derivatives neither.
    pub fn sigmoid(&self) -> Result<Tensor> {
        self.rounded_once(|x| {
            if x.dtype().is_complex() {
                return x.neg()?.exp()?.add(1)?.reciprocal();
            }
            let positive = x.ge(0)?;
            let e = Tensor::select(&positive, x.neg()?, x)?.exp()?;
            let sum = e.add(1)?;
            let ratio = Tensor::select(&positive, 1, &e)?.div(&sum)?;
            if self.dtype().is_float() && x.dtype() != self.dtype() {
                return Ok(ratio); // It is rounded to fewer digits.
            }
            // What is too much where the sum was rounded: of 1 / (1 + e) a line is near enough.
            let share = lost(&e, &sum)?.mul(e.mul(-0.5)?.add(1)?)?;
            ratio.sub(ratio.mul(share)?.detach()?)
        })
    }

    /// `max(x, 0)`.
    pub fn relu(&self) -> Result<Tensor> {
        self.maximum(0)
    }

    /// `x * Φ(x)` with the exact normal distribution (Hendrycks and Gimpel 2016).
    pub fn gelu(&self) -> Result<Tensor> {
        self.rounded_once(|x| x.mul(0.5)?.mul(x.mul(consts::FRAC_1_SQRT_2)?.erf()?.add(1)?))
    }

    /// [`Tensor::gelu`] by the tanh approximation of its authors.
    pub fn gelu_tanh(&self) -> Result<Tensor> {
        self.rounded_once(|x| {
            let inner = x.mul(x.mul(x)?.mul(0.044715)?.add(1)?)?.mul((2.0 / consts::PI).sqrt())?;
            x.mul(0.5)?.mul(inner.tanh()?.add(1)?)
        })
    }

    /// `x * sigmoid(x)`.
    pub fn silu(&self) -> Result<Tensor> {
        self.rounded_once(|x| x.mul(x.sigmoid()?))
    }

    /// `log(1 + exp(x))`, without overflow.
    pub fn softplus(&self) -> Result<Tensor> {
        self.rounded_once(|x| {
            let e = Tensor::select(&x.gt(0)?, x.neg()?, x)?.exp()?;
            // log(1 + e), also where e is lost in the sum. What the rounding of the sum is mended by is no function of e
            // as far as derivatives go.
            let sum = e.add(1)?;
            sum.log()?.add(lost(&e, &sum)?.div(&sum)?.detach()?)?.add(x.relu()?)
        })
    }

    /// `x` for `x > 0`, else `slope * x`.
    pub fn leaky_relu(&self, slope: f64) -> Result<Tensor> {
        self.rounded_once(|x| Tensor::select(&x.gt(0)?, x, x.mul(slope)?))
    }

    /// Not below `min` and not above `max`; NaN stays.
    pub fn clamp(&self, min: Option<Operand>, max: Option<Operand>) -> Result<Tensor> {
        let raised = match min {
            Some(min) => self.maximum(min)?,
            None => Tensor::from_uop(self.uop()),
        };
        match max {
            Some(max) => raised.minimum(max),
            None => Ok(raised),
        }
    }

    /// `self + weight * (end - self)`.
    pub fn lerp(&self, end: impl Into<Operand>, weight: impl Into<Operand>) -> Result<Tensor> {
        let (end, weight) = (Tensor::beside(end.into(), &self.into())?, weight.into());
        let way = end.sub(self)?;
        // From the end that is nearer, so that a weight of 1 gives the other one.
        let from_self = |weight: Operand| self.add(way.mul(weight)?);
        match weight {
            Operand::Float(number) if number < 0.5 => from_self(weight),
            Operand::Float(number) => end.sub(way.mul(1.0 - number)?),
            Operand::Tensor(ref weights) if !weights.dtype().is_complex() => {
                let near = weights.lt(0.5)?;
                let share = Tensor::select(&near, weights, weights.sub(1)?)?;
                Tensor::select(&near, self, &end)?.add(way.mul(share)?)
            }
            weight => from_self(weight),
        }
    }

    /// The nearest integer, ties to even, in the same type; of a complex number, of each part.
    pub fn round(&self) -> Result<Tensor> {
        let dtype = self.dtype();
        if dtype.is_complex() {
            return Tensor::complex(self.real()?.round()?, self.imag()?.round()?);
        }
        match dtype.is_inexact() {
            true => apply("round", Alu::Round, Types::Float, &[self.into()]),
            false => Ok(Tensor::from_uop(self.uop())),
        }
    }

    /// The nearest number of so many places behind the point, or, where `decimals` is negative, before it; ties are even.
    pub fn round_to(&self, decimals: i64) -> Result<Tensor> {
        let places = i32::try_from(decimals.unsigned_abs()).unwrap_or(i32::MAX);
        if decimals == 0 {
            return self.round();
        }
        if !self.dtype().is_inexact() {
            let Some(ten) = 10_i64.checked_pow(places.unsigned_abs()).filter(|_| decimals < 0) else {
                return if decimals < 0 { self.full_like(0) } else { Ok(Tensor::from_uop(self.uop())) };
            };
            let wide = self.cast(DType::I64)?;
            let (below, rest) = (wide.floor_div(ten)?, wide.modulo(ten)?);
            let odd = below.bitwise_and(1)?.eq(1)?;
            let half = ten / 2;
            let up = rest.gt(half)?.bitwise_or(rest.eq(half)?.bitwise_and(odd)?)?;
            return below.add(up.cast(DType::I64)?)?.mul(ten)?.cast(self.dtype());
        }
        if self.dtype().is_complex() {
            return Tensor::complex(self.real()?.round_to(decimals)?, self.imag()?.round_to(decimals)?);
        }
        let ten = 10_f64.powi(places);
        self.rounded_once(|x| match decimals > 0 {
            true => x.mul(ten)?.round()?.div(ten),
            false => x.div(ten)?.round()?.mul(ten),
        })
    }

    /// Whether an element is NaN.
    pub fn isnan(&self) -> Result<Tensor> {
        self.ne(self)
    }

    /// Whether an element is infinite.
    pub fn isinf(&self) -> Result<Tensor> {
        if self.dtype().is_complex() {
            return self.where_parts(false, complex::Real::is_inf);
        }
        match self.dtype().is_float() {
            true => self.abs()?.eq(f64::INFINITY),
            false => Tensor::from_uop(self.uop()).ne(self),
        }
    }

    /// Whether an element is neither infinite nor NaN.
    pub fn isfinite(&self) -> Result<Tensor> {
        if self.dtype().is_complex() {
            return self.where_parts(true, complex::Real::is_finite);
        }
        match self.dtype().is_float() {
            true => self.abs()?.lt(f64::INFINITY),
            false => self.eq(self),
        }
    }

    /// Whether an element is not zero; NaN is not.
    pub fn to_bool(&self) -> Result<Tensor> {
        self.cast(DType::Bool)
    }

    /// Whether an element is zero.
    pub fn logical_not(&self) -> Result<Tensor> {
        self.to_bool()?.bitwise_not()
    }

    /// Whether both are not zero.
    pub fn logical_and(&self, other: impl Into<Operand>) -> Result<Tensor> {
        self.to_bool()?.bitwise_and(truth(other)?)
    }

    /// Whether one is not zero.
    pub fn logical_or(&self, other: impl Into<Operand>) -> Result<Tensor> {
        self.to_bool()?.bitwise_or(truth(other)?)
    }

    /// Whether exactly one is not zero.
    pub fn logical_xor(&self, other: impl Into<Operand>) -> Result<Tensor> {
        self.to_bool()?.bitwise_xor(truth(other)?)
    }

    /// Each value converted: floats truncate and saturate to integers, integers wrap.
    pub fn cast(&self, to: DType) -> Result<Tensor> {
        let node = self.uop();
        Ok(Tensor::from_uop(if node.dtype().is_complex() { complex::cast(&node, to)? } else { node.cast(to)? }))
    }

    /// The quotient rounded towards 0; of integers exactly, and by 0 it is 0.
    ///
    /// # Errors
    /// Those of [`Tensor::floor_div`].
    pub fn trunc_div(&self, other: impl Into<Operand>) -> Result<Tensor> {
        let other = other.into();
        let below = self.floor_div(other.clone())?;
        if !below.dtype().is_int() {
            return self.div(other)?.trunc();
        }
        // What is left has the divisor's sign: where the dividend has the other one, the quotient is negative.
        let left = self.modulo(other)?;
        let negative = left.lt(0)?.ne(self.lt(0)?)?.logical_and(left.ne(0)?)?;
        below.add(negative.cast(below.dtype())?)
    }

    /// The bits of each value as another type of the same width.
    pub fn bitcast(&self, to: DType) -> Result<Tensor> {
        Ok(Tensor::from_uop(self.uop().bitcast(to)?))
    }

    /// Without gradient.
    pub fn detach(&self) -> Result<Tensor> {
        let node = self.uop();
        // What is in memory already lets go of what it was computed by: a state that is carried from step to step would
        // hold those of all steps. A variable stays, for whoever writes it asks who else holds it.
        let memory = seen(&node).filter(|_| !Trace::is_active());
        let has_history = |of: &UOp| of.history().is_some_and(|history| !matches!(history.op(), Op::Watch(_)));
        if let Some(memory) = memory.filter(|memory| memory.dtype() == node.dtype() && has_history(memory)) {
            return Ok(Tensor::from_uop(memory.forgetting()?.reshape(node.shape_arc().clone())?));
        }
        Ok(Tensor::from_uop(node.detach()?))
    }

    /// In memory of its own, dense and row-major, once it is realized.
    pub fn contiguous(&self) -> Result<Tensor> {
        Ok(Tensor::from_uop(self.uop().contiguous()?))
    }

    /// The same value, whose gradient is made in memory of its own, dense and row-major, before it goes on.
    pub fn contiguous_backward(&self) -> Result<Tensor> {
        Ok(Tensor::from_uop(self.uop().contiguous_backward()?))
    }

    /// What several operations make of the elements as floats, in the type of these. Of narrower floats than `float32`
    /// they are computed in that type, so that only the result is rounded.
    pub(crate) fn rounded_once(&self, compute: impl FnOnce(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
        let x = self.as_float()?;
        compute(&x.widened()?)?.cast(x.dtype())
    }

    /// Integers and bools as the default float, floats and complex numbers as they are.
    pub(crate) fn as_float(&self) -> Result<Tensor> {
        if self.dtype().is_inexact() { Ok(Tensor::from_uop(self.uop())) } else { self.cast(DEFAULT_FLOAT) }
    }
}

/// What is missing of a number up to 1 in its sum with 1, which was rounded.
fn lost(e: &Tensor, sum: &Tensor) -> Result<Tensor> {
    e.sub(sum.sub(1)?)
}

fn truth(operand: impl Into<Operand>) -> Result<Tensor> {
    Tensor::from_uop(operand.into().typed("logical operation")?).to_bool()
}

macro_rules! operators {
    ($($trait:ident $method:ident $function:ident;)*) => {$(
        impl<T: Into<Operand>> ops::$trait<T> for &Tensor {
            type Output = Result<Tensor>;
            fn $method(self, other: T) -> Result<Tensor> {
                Tensor::$function(self, other)
            }
        }
    )*};
}

operators! {
    Add add add;
    Sub sub sub;
    Mul mul mul;
    Div div div;
    Rem rem modulo;
    BitAnd bitand bitwise_and;
    BitOr bitor bitwise_or;
    BitXor bitxor bitwise_xor;
}

impl ops::Neg for &Tensor {
    type Output = Result<Tensor>;
    fn neg(self) -> Result<Tensor> {
        Tensor::neg(self)
    }
}
