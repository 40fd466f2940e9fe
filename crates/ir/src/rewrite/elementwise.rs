//! Elementwise identities, grouped by what makes them sound.

use super::Family;
use crate::alu::Alu;
use crate::graph::{GraphError, Op, UOp};
use svod_dtype::{Const, DType};

/// Sound for every type that the operation takes: floats with NaN, infinities and -0, wrapping
/// integers, `Bool` (whose sum is `or` and whose product is `and`). A NaN may change its payload.
pub const ANY: Family = Family {
    name: "any",
    holds_for: |_| true,
    equations: "
        // -0.0 is the identity of a float sum: 0.0 + -0.0 is 0.0. In other types it is 0.
        add-zero:       x + -0.0             => x
        sub-zero:       x - 0                => x
        mul-one:        x * 1                => x
        div-one:        x / 1                => x
        neg-neg:        -(-x)                => x
        add-neg:        x + -y               => x - y
        sub-neg:        x - -y               => x + y
        mul-minus-one:  x * -1               => -x
        neg-mul-neg:    -x * -y              => x * y
        abs-abs:        abs(abs(x))          => abs(x)
        max-self:       max(x, x)            => x
        min-self:       min(x, x)            => x
        less-self:      x < x                => false
        not-not:        !(!x)                => x
        where-same:     where(x, y, y)       => y
        where-true:     where(true, x, y)    => x
        where-false:    where(false, x, y)   => y
        where-not:      where(!x, y, z)      => where(x, z, y)
        where-then:     where(x, where(x, y, z), w) => where(x, y, w)
        where-else:     where(x, y, where(x, z, w)) => where(x, y, w)
        floor-floor:    floor(floor(x))      => floor(x)
        ceil-ceil:      ceil(ceil(x))        => ceil(x)
        round-round:    round(round(x))      => round(x)
        trunc-trunc:    trunc(trunc(x))      => trunc(x)
        pow-zero:       pow(x, 0)            => 1
        pow-one:        pow(x, 1)            => x
        pow-two:        pow(x, 2)            => x * x
    ",
    function: None,
};

/// Sound for types with a sign: floats and signed integers.
pub const SIGNED: Family = Family {
    name: "signed",
    holds_for: |t| t.is_float() || t.is_signed(),
    equations: "
        abs-neg:        abs(-x)              => abs(x)
        abs-square:     abs(x) * abs(x)      => x * x
    ",
    function: None,
};

/// Sound for bit strings: integers, and `Bool`, which is one bit.
pub const BITS: Family = Family {
    name: "bits",
    holds_for: |t| t.is_int() || t == DType::Bool,
    equations: "
        and-self:       x & x                => x
        or-self:        x | x                => x
        xor-self:       x ^ x                => 0
        and-zero:       x & 0                => 0
        or-zero:        x | 0                => x
        xor-zero:       x ^ 0                => x
        mul-zero:       x * 0                => 0
        equal-self:     x == x               => true
        not-equal-self: x != x               => false
        less-equal-self: x <= x              => true
        max-min:        max(x, min(x, y))    => x
        min-max:        min(x, max(x, y))    => x
        and-constants:  (x & c0) & c1        => x & (c0 & c1)
        or-constants:   (x | c0) | c1        => x | (c0 | c1)
        xor-constants:  (x ^ c0) ^ c1        => x ^ (c0 ^ c1)
        max-constants:  max(max(x, c0), c1)  => max(x, max(c0, c1))
        min-constants:  min(min(x, c0), c1)  => min(x, min(c0, c1))
    ",
    function: None,
};

/// Sound for integers that wrap.
pub const INTEGERS: Family = Family {
    name: "integers",
    holds_for: DType::is_int,
    equations: "
        sub-self:       x - x                => 0
        add-sub:        (x + y) - y          => x
        sub-add:        (x - y) + y          => x
        add-constants:  (x + c0) + c1        => x + (c0 + c1)
        sub-constants:  (x - c0) - c1        => x - (c0 + c1)
        add-sub-constants: (x + c0) - c1     => x + (c0 - c1)
        sub-add-constants: (x - c0) + c1     => x + (c1 - c0)
        mul-constants:  (x * c0) * c1        => x * (c0 * c1)
        shl-zero:       x << 0               => x
        shr-zero:       x >> 0               => x
        idiv-one:       idiv(x, 1)           => x
        rem-one:        rem(x, 1)            => 0
        floordiv-one:   x // 1               => x
        floormod-one:   x % 1                => 0
        floormod-twice: (x % y) % y          => x % y
        rem-twice:      rem(rem(x, y), y)    => rem(x, y)
        pow-three:      pow(x, 3)            => x * x * x
        pow-four:       pow(x, 4)            => (x * x) * (x * x)
    ",
    function: None,
};

/// Exponents for which there are equations here: a power of another one is computed in the same way, known or not.
pub const SHORT_POWERS: [f64; 10] = [0.0, 1.0, 2.0, 3.0, 4.0, -1.0, -2.0, 0.5, -0.5, 1.5];

/// Sound for floats up to rounding, as powers are approximations anyhow: a unit in the last place for each operation,
/// three at most, where the general one errs by one. Signs, zeros, infinities and NaN are exact: the root of -0.0 is 0.0 and that of
/// -infinity is infinity, by the definition of `pow` (IEEE 754). Larger expressions, that take a tenth of the time.
pub const POWERS: Family = Family {
    name: "powers",
    holds_for: DType::is_float,
    equations: "
        pow-three:      pow(x, 3)            => x * x * x
        pow-four:       pow(x, 4)            => (x * x) * (x * x)
        pow-minus-one:  pow(x, -1)           => recip(x)
        pow-minus-two:  pow(x, -2)           => recip(x) * recip(x)
        pow-half:       pow(x, 0.5)          => where(x == -inf, -x, sqrt(x + 0))
        pow-minus-half: pow(x, -0.5)         => where(x == -inf, 0, recip(sqrt(x + 0)))
        pow-three-halves: pow(x, 1.5)        => where(x == -inf, -x, (x + 0) * sqrt(x + 0))
    ",
    function: Some(wide_power),
};

/// A power of narrow floats by several roundings is one of `float32`, rounded once.
fn wide_power(node: &UOp) -> Result<Option<(&'static str, UOp)>, GraphError> {
    let (Op::Alu(Alu::Pow), dtype) = (node.op(), node.dtype()) else { return Ok(None) };
    if !dtype.is_float() || dtype.bits() >= 32 {
        return Ok(None);
    }
    let sources = node.sources();
    let several = |c: Const| [3.0, 4.0, -2.0, -0.5, 1.5].contains(&c.as_f64());
    match &sources[..] {
        [x, exponent] if exponent.uniform().is_some_and(several) => {
            let wide = UOp::alu(Alu::Pow, &[x.cast(DType::F32)?, exponent.cast(DType::F32)?])?;
            Ok(Some(("pow-wide", wide.cast(dtype)?)))
        }
        _ => Ok(None),
    }
}

/// Sound for floats where the user allows re-association; not in the default set.
pub const FLOATS_REASSOCIATED: Family = Family {
    name: "floats-reassociated",
    holds_for: DType::is_float,
    equations: "
        add-constants:  (x + c0) + c1        => x + (c0 + c1)
        sub-constants:  (x - c0) - c1        => x - (c0 + c1)
        mul-constants:  (x * c0) * c1        => x * (c0 * c1)
        add-sub:        (x + y) - y          => x
        sub-add:        (x - y) + y          => x
    ",
    function: None,
};
