//! Argument reduction of the trigonometric functions.

use super::{Float, Ops, fast_two_sum, flip_sign, mul_const, scale_add, two_prod, two_sum};

/// 2/π after `mantissa_bits + 2` zero bits, most significant word first.
const TWO_OVER_PI_32: [i64; 7] = [0x51, 0x7cc1b727, 0x220a94fe, 0x13abe8fa, 0x9a6ee06d, 0xb14acc9e, 0x21c820ff];
const TWO_OVER_PI_64: [u64; 19] = [
    0x28b,
    0xe60db9391054a7f0,
    0x9d5f47d4d377036d,
    0x8a5664f10e4107f9,
    0x458eaf7aef1586dc,
    0x91b8e909374b8019,
    0x24bba827464873f8,
    0x77ac72c4a69cfba2,
    0x8d7d4baed1213a6,
    0x71c09ad17df904e6,
    0x4758e60d4ce7d272,
    0x117e2ef7e4a0ec7f,
    0xe25fff7816603fbc,
    0xbc462d6829b47db4,
    0xd9fb3c9f2c26dd3d,
    0x18fd9a797fa8b5d4,
    0x9eeb1faf97c5ecf4,
    0x1ce7de294a4ba9af,
    0xed7ec47e35742158,
];

/// a = q π/2 + r with |r| <= π/4 (hardly more), for a >= 0, as q mod 4 in the low bits of an integer,
/// r rounded, and what rounding it lost. NaN for infinity and NaN.
pub(super) fn reduce_half_pi<B: Ops>(b: &mut B, a: B::V) -> [B::V; 3] {
    let (limit, usual) = cody_waite(b, a);
    let limit = b.fconst(limit);
    let infinity = b.fconst(f64::INFINITY);
    let large = b.flt(limit, a);
    let finite = b.flt(a, infinity);
    let when = b.and(large, finite);
    b.rarely(when, usual, [a], |b, [a]| payne_hanek(b, a))
}

/// The usual case, for a up to the limit given first: a - q π/2 with π/2 as a sum of parts so short
/// that their products with q are exact, or are rounded only once by the fused operation.
fn cody_waite<B: Ops>(b: &mut B, a: B::V) -> (f64, [B::V; 3]) {
    let magic = b.fconst(b.float().round_magic());
    let z = scale_add(b, a, std::f64::consts::FRAC_2_PI, magic);
    let n = b.fsub(z, magic);
    let (limit, (r, low)) = match (b.float(), b.fused()) {
        (Float::F32, true) => {
            (1e5, less_three(b, a, n, [1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15]))
        }
        (Float::F32, false) => {
            let parts = [1.57073974609375, 5.657970905303955e-05, 9.920881893776823e-10, 5.390302953474238e-15];
            (800.0, less_four(b, a, n, parts))
        }
        (Float::F64, _) => {
            let parts = [1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32];
            (1.6e6, less_four(b, a, n, parts))
        }
    };
    (limit, [b.as_int(z), r, low])
}

/// a - n (p1 + p2 + p3), rounded, and what that lost, where each product is rounded with its sum.
fn less_three<B: Ops>(b: &mut B, a: B::V, n: B::V, [p1, p2, p3]: [f64; 3]) -> (B::V, B::V) {
    let r1 = scale_add(b, n, -p1, a);
    let r2 = scale_add(b, n, -p2, r1);
    let r = scale_add(b, n, -p3, r2);
    let p2 = b.fconst(-p2);
    let (product, error) = two_prod(b, n, p2);
    let (sum, rest) = two_sum(b, r1, product);
    let low = b.fsub(sum, r);
    let low = b.fadd(low, rest);
    let low = b.fadd(low, error);
    (r, scale_add(b, n, -p3, low))
}

/// The same with four parts, of which the first two have exact products with n.
fn less_four<B: Ops>(b: &mut B, a: B::V, n: B::V, [p1, p2, p3, p4]: [f64; 4]) -> (B::V, B::V) {
    let r1 = scale_add(b, n, -p1, a);
    let product = mul_const(b, n, p2);
    let r2 = b.fsub(r1, product);
    // The rounding error of r2; where |r1| is the smaller one, there is none.
    let error = b.fsub(r1, r2);
    let error = b.fsub(error, product);
    let error = scale_add(b, n, -p3, error);
    let (r3, error) = fast_two_sum(b, r2, error);
    let r = scale_add(b, n, -p4, r3);
    let last = b.fsub(r3, r);
    let last = scale_add(b, n, -p4, last);
    (r, b.fadd(error, last))
}

/// The same for finite a >= 1 (Payne and Hanek): only those bits of 2/π are multiplied that matter
/// modulo 4, in integer arithmetic. The window of three words leaves an error below 2^-70 quarter
/// turns (2^-137 in f64), while no float but zero is nearer to a multiple of π/2 than some 2^-31
/// (2^-61).
fn payne_hanek<B: Ops>(b: &mut B, a: B::V) -> [B::V; 3] {
    let float = b.float();
    let bits = i64::from(float.bits());
    let mantissa_bits = i64::from(float.mantissa_bits());

    // a = m 2^(e - mantissa_bits)
    let a_bits = b.as_int(a);
    let mantissa_shift = b.iconst(mantissa_bits);
    let e = b.lshr(a_bits, mantissa_shift);
    let bias = b.iconst(float.exponent_bias());
    let e = b.isub(e, bias);
    let fraction_mask = b.iconst((1 << mantissa_bits) - 1);
    let hidden = b.iconst(1 << mantissa_bits);
    let m = b.iand(a_bits, fraction_mask);
    let m = b.ior(m, hidden);

    // With F = the bits of the table from bit e on, as a fraction, a 2/π = 4 m F modulo 4.
    let [w0, w1, w2] = window(b, e);
    let high0 = b.imul(m, w0);
    let (carry1, low1) = widening_mul(b, m, w1);
    let (carry2, _) = widening_mul(b, m, w2);
    let high1 = b.iadd(low1, carry2);
    let carry = carry_of_sum(b, low1, carry2, high1);
    let high0 = b.iadd(high0, carry1);
    let high0 = b.iadd(high0, carry);

    // The top two bits count quarter turns; the nearest count leaves a signed fraction.
    let eighth = b.iconst(1 << (bits - 3));
    let quarter_shift = b.iconst(bits - 2);
    let q = b.iadd(high0, eighth);
    let q = b.lshr(q, quarter_shift);
    let two = b.iconst(2);
    let top = b.ishl(high0, two);
    let carried = b.lshr(high1, quarter_shift);
    let top = b.ior(top, carried);
    let bottom = b.ishl(high1, two);

    // Its magnitude (but for one unit of the last bit) as a sum of floats, then times π/2.
    let sign_shift = b.iconst(bits - 1);
    let sign = b.ashr(top, sign_shift);
    let top = b.ixor(top, sign);
    let bottom = b.ixor(bottom, sign);
    let low_mask = b.iconst((1 << (bits - mantissa_bits - 1)) - 1);
    let middle = b.iand(top, low_mask);
    let top = b.isub(top, middle);
    let one = b.iconst(1);
    let bottom = b.lshr(bottom, one);
    let top = b.to_float(top);
    let middle = b.to_float(middle);
    let bottom = b.to_float(bottom);
    let middle = scale_add(b, bottom, (-(bits - 1) as f64).exp2(), middle);
    let (high, low) = fast_two_sum(b, top, middle);
    let unit = (-bits as f64).exp2();
    let (high, low) = (mul_const(b, high, unit), mul_const(b, low, unit));
    let (half_pi, half_pi_low) = match float {
        Float::F32 => (1.5707963705062866, -4.371138828673793e-08),
        Float::F64 => (std::f64::consts::FRAC_PI_2, 6.123233995736766e-17),
    };
    let half_pi_value = b.fconst(half_pi);
    let (product, error) = two_prod(b, high, half_pi_value);
    let error = scale_add(b, high, half_pi_low, error);
    let error = scale_add(b, low, half_pi, error);
    let (r, low) = fast_two_sum(b, product, error);
    let top_bit = b.iconst(1);
    let top_bit = b.ishl(top_bit, sign_shift);
    let sign = b.iand(sign, top_bit);
    [q, flip_sign(b, r, sign), flip_sign(b, low, sign)]
}

/// Three words of the table of 2/π from bit e on.
fn window<B: Ops>(b: &mut B, e: B::V) -> [B::V; 3] {
    let float = b.float();
    let bits = float.bits();
    let mut words: Vec<B::V> = match float {
        Float::F32 => TWO_OVER_PI_32.iter().map(|&w| b.iconst(w)).collect(),
        Float::F64 => TWO_OVER_PI_64.iter().map(|&w| b.iconst(w.cast_signed())).collect(),
    };
    // Shift by whole words, one bit of the count after another, down to the four words in question.
    let zero = b.iconst(0);
    let mut step = (words.len() - 3) / 2;
    while step > 0 {
        let bit = b.iconst(step as i64 * i64::from(bits));
        let bit = b.iand(e, bit);
        let stay = b.ieq(bit, zero);
        words = (0..words.len() - step).map(|i| b.select(stay, words[i], words[i + step])).collect();
        step /= 2;
    }
    // Then by the bits that are left; a shift by the full width is out of range, hence two steps.
    let one = b.iconst(1);
    let last = b.iconst(i64::from(bits) - 1);
    let left = b.iand(e, last);
    let right = b.isub(last, left);
    std::array::from_fn(|i| {
        let high = b.ishl(words[i], left);
        let low = b.lshr(words[i + 1], one);
        let low = b.lshr(low, right);
        b.ior(high, low)
    })
}

/// The two words of m * w, unsigned, for m of less than a word by half the word's width or so:
/// schoolbook multiplication of half words.
fn widening_mul<B: Ops>(b: &mut B, m: B::V, w: B::V) -> (B::V, B::V) {
    let half = i64::from(b.float().bits() / 2);
    let mask = b.iconst((1 << half) - 1);
    let half = b.iconst(half);
    let low = b.imul(m, w);
    let (m0, m1) = (b.iand(m, mask), b.lshr(m, half));
    let (w0, w1) = (b.iand(w, mask), b.lshr(w, half));
    let p00 = b.imul(m0, w0);
    let p01 = b.imul(m0, w1);
    let p10 = b.imul(m1, w0);
    let p11 = b.imul(m1, w1);
    let p00 = b.lshr(p00, half);
    let u = b.iadd(p10, p00);
    let u_low = b.iand(u, mask);
    let v = b.iadd(p01, u_low);
    let u = b.lshr(u, half);
    let v = b.lshr(v, half);
    let high = b.iadd(p11, u);
    (b.iadd(high, v), low)
}

/// 1 if the unsigned sum x + y wrapped, else 0.
fn carry_of_sum<B: Ops>(b: &mut B, x: B::V, y: B::V, sum: B::V) -> B::V {
    // The carry out of the top bit is the majority of x, y and the inverted sum there.
    let all = b.iconst(-1);
    let inverted = b.ixor(sum, all);
    let both = b.iand(x, y);
    let either = b.ior(x, y);
    let either = b.iand(either, inverted);
    let carry = b.ior(both, either);
    let last = b.iconst(i64::from(b.float().bits()) - 1);
    b.lshr(carry, last)
}
