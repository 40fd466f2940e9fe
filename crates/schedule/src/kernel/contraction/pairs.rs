//! Contractions whose depth goes in pairs.
//!
//! Machines that multiply narrow floats do so in pairs: an instruction takes words of two steps of the depth
//! from each operand, and adds both products to a sum in f32. A contraction of widened bf16 (or f16),
//!
//! ```text
//! sum over k of f32(a[i, k]) * f32(b[k, j])
//! ```
//!
//! is then one of words, with half as many steps,
//!
//! ```text
//! sum over p of f32(lower(A[i, p])) * f32(lower(B[p, j])) + f32(upper(A[i, p])) * f32(upper(B[p, j]))
//! A[i, p] = a[i, 2p] | a[i, 2p + 1] << 16          B[p, j] = b[2p, j] | b[2p + 1, j] << 16
//! ```
//!
//! whose operands are copied as any others are, elements being words: panels of words of B are its rows
//! interleaved by pairs. Where the depth is odd, the last words' upper halves are 0.

use super::{add_axis, recognise, stage_axes, summed};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem};
use svod_ir::kernel::{Axis, AxisId, Body, Kernel};
use svod_ir::size::{Size, Variable};

/// Bits of a half.
const HALF: i64 = 8 * DType::BF16.bytes() as i64;

/// Two operands, whose elements are words of pairs, and the type of a half.
pub(super) struct Words {
    pub operands: [ExprId; 2],
    pub of: DType,
}

/// What both operands of a contraction are, narrower than its sum, if they can go in pairs.
pub(crate) fn halves_of(kernel: &Kernel, stage: usize) -> Option<DType> {
    let found = recognise(kernel, stage)?;
    let [a, b] = [found.a, found.b].map(|e| widened(&kernel.exprs, e).map(|e| kernel.exprs.dtype(e)));
    let narrow = a.filter(|a| b == Some(*a) && matches!(a, DType::BF16 | DType::F16));
    narrow.filter(|_| found.acc == DType::F32 && found.depth.len() == 1)
}

/// Makes the depth of a contraction go in pairs. The axis over them takes the depth's place; for an axis `k` it
/// is `k_pair`.
pub(crate) fn pair(kernel: &mut Kernel, stage: usize) -> Result<AxisId, String> {
    let found = recognise(kernel, stage).ok_or("the stage is not a contraction of two operands")?;
    let of = halves_of(kernel, stage).ok_or_else(|| {
        let [a, b] = [found.a, found.b].map(|e| kernel.exprs.dtype(widened(&kernel.exprs, e).unwrap_or(e)).short());
        format!(
            "pairs are of bf16 or f16, multiplied as f32 along one axis; the operands are {a} and {b}, the depth has {} axes",
            found.depth.len()
        )
    })?;
    let operands = [found.a, found.b].map(|e| widened(&kernel.exprs, e).unwrap_or(e));
    let Axis { var, extent } = kernel.axes[found.k.index()].clone();
    let even = extent.divisible_by(2) == Some(true);
    let staged = |e: &ExprId| matches!(kernel.exprs.get(*e), Expr::Load { from: Mem::Temp(..), .. });
    if !even && kernel.exprs.reachable(&operands).iter().any(staged) {
        return Err(format!("a depth of {extent} has half a pair at its end, beyond what another stage computes"));
    }
    let (name, extent_of_pairs) = (format!("{}_pair", var.name()), extent.ceil_div(2));
    // Contractions along one axis go in the same pairs, so that they may share copies.
    let own = stage_axes(kernel, stage);
    let same = |a: &Axis| a.var.name() == name && a.extent == extent_of_pairs;
    let known = kernel.axes.iter().position(same).map(|n| AxisId(n as u32)).filter(|a| !own.contains(a));
    let axis = known.map_or_else(|| add_axis(kernel, &name, &extent_of_pairs), Ok)?;
    let first = Size::from(&kernel.axes[axis.index()].var) * 2;
    let words = operands.map(|value| word(&mut kernel.exprs, value, &var, &first, (!even).then_some(&extent)));
    let element = products(&mut kernel.exprs, words, of);
    if let Body::Reduce { axes, carries, .. } = &mut kernel.stages[stage].body {
        axes.iter_mut().filter(|a| **a == found.k).for_each(|a| *a = axis);
        carries[0].element = element;
    }
    Ok(axis)
}

/// The operands of a stage that sums the products of pairs.
pub(super) fn words(kernel: &Kernel, stage: usize) -> Option<Words> {
    let exprs = &kernel.exprs;
    let pair = |e: ExprId, op: Alu| match exprs.get(e) {
        Expr::Alu(found, args) if *found == op => Some([args[0], args[1]]),
        _ => None,
    };
    let [lower, upper] = pair(summed(kernel, stage)?, Alu::Add)?;
    let (lower, upper) = (pair(lower, Alu::Mul)?, pair(upper, Alu::Mul)?);
    let of = |i: usize| {
        let (word, dtype) = half(exprs, lower[i])?;
        let (shifted, same) = half(exprs, upper[i])?;
        let [from, by] = pair(shifted, Alu::Shr)?;
        let sixteen = matches!(exprs.get(by), Expr::Const(c) if c.as_i64() == HALF);
        (from == word && sixteen && same == dtype).then_some((word, dtype))
    };
    let ((a, of_a), (b, of_b)) = (of(0)?, of(1)?);
    (of_a == of_b).then_some(Words { operands: [a, b], of: of_a })
}

/// The products of the halves of two words, added up.
pub(super) fn products(exprs: &mut ExprPool, words: [ExprId; 2], of: DType) -> ExprId {
    let by = exprs.constant(Const::i64(DType::U32, HALF));
    let mut product = |upper: bool| {
        let factors = words.map(|word| {
            let word = if upper { exprs.alu(Alu::Shr, &[word, by]) } else { word };
            let bits = exprs.cast(DType::U16, word);
            let half = exprs.add(Expr::Bitcast(of, bits), of);
            exprs.cast(DType::F32, half)
        });
        exprs.alu(Alu::Mul, &factors)
    };
    let products = [product(false), product(true)];
    exprs.alu(Alu::Add, &products)
}

/// What a value widens.
fn widened(exprs: &ExprPool, value: ExprId) -> Option<ExprId> {
    match exprs.get(value) {
        Expr::Cast(DType::F32, narrow) => Some(*narrow),
        _ => None,
    }
}

/// The word whose lower bits a value widens, and the type that these have there.
fn half(exprs: &ExprPool, value: ExprId) -> Option<(ExprId, DType)> {
    let Expr::Bitcast(of, bits) = *exprs.get(widened(exprs, value)?) else { return None };
    let Expr::Cast(DType::U16, word) = *exprs.get(bits) else { return None };
    (exprs.dtype(word) == DType::U32).then_some((word, of))
}

/// A value at `first` and the step after it of an axis, as a word. Steps from `end` on, if there are any, are 0.
fn word(exprs: &mut ExprPool, value: ExprId, axis: &Variable, first: &Size, end: Option<&Size>) -> ExprId {
    let from = exprs.clone();
    let second = first + 1;
    let valid = end.map(|end| {
        let (at, end) = (exprs.index(second.clone()), exprs.index(end.clone()));
        exprs.alu(Alu::Lt, &[at, end])
    });
    let masked = |pool: &mut ExprPool, node: Expr, dtype: DType| match (node, valid) {
        (Expr::Load { from, ref index, valid: own, other }, Some(valid)) => {
            let valid = own.map_or(valid, |own| pool.alu(Alu::And, &[own, valid]));
            pool.load_valid(dtype, from, index, Some(valid), other)
        }
        (node, _) => pool.add(node, dtype),
    };
    let at = |step: &Size| {
        let step = step.clone();
        move |v: &Variable| (v == axis).then(|| step.clone())
    };
    let lower = exprs.copy_with(&from, &[value], &at(first), |pool, node, dtype| pool.add(node, dtype))[0];
    let mut upper = exprs.copy_with(&from, &[value], &at(&second), masked)[0];
    if let Some(valid) = valid {
        let zero = exprs.constant(Const::zero(exprs.dtype(upper)));
        upper = exprs.alu(Alu::Where, &[valid, upper, zero]);
    }
    let [lower, upper] = [lower, upper].map(|half| {
        let bits = exprs.add(Expr::Bitcast(DType::U16, half), DType::U16);
        exprs.cast(DType::U32, bits)
    });
    let by = exprs.constant(Const::i64(DType::U32, HALF));
    let upper = exprs.alu(Alu::Shl, &[upper, by]);
    exprs.alu(Alu::Or, &[lower, upper])
}
