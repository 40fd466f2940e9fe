//! Rows between two chained products, in the type that the second multiplies.
//!
//! Weights that are narrowed for a product, `softmax(q kᵀ).cast(bf16) @ v`, are widened again where they are summed. What
//! is kept between the two products is nobody's business: the rounded values, wide, which a tile reads as they are. Where
//! the weights are wanted as they were as well, by their own sum, both are kept.

use super::factors;
use crate::costs::limits::kernels;
use crate::kernel::rewrite::drop_unread;
use crate::kernel::rewrite::rewrite;
use smallvec::SmallVec;
use svod_dtype::DType;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, TempId};
use svod_ir::kernel::{Body, Kernel, Out};

/// A value of another stage, and the types that it is converted to, one after the other; the last one first.
type Converted = (TempId, u8, SmallVec<[DType; 2]>);

/// The same values; a stage gives what a product makes of its floats by conversions alone.
pub(crate) fn widen(mut kernel: Kernel) -> Kernel {
    for product in 0..kernel.stages.len() {
        while let Some(found) = converted_rows(&kernel, product) {
            kernel = convert(kernel, &found);
        }
    }
    kernel
}

/// The factor of a product that is converted rows.
fn converted_rows(kernel: &Kernel, product: usize) -> Option<Converted> {
    factors(kernel, product)?.into_iter().find_map(|factor| {
        let (found, _) = converted(&kernel.exprs, factor)?;
        let stage = &kernel.stages[found.0.index()];
        let Body::Map(values) = &stage.body else { return None };
        let from = kernel.exprs.dtype(values[usize::from(found.1)]);
        let floats = from.is_float() && found.2.iter().all(|to| to.is_float());
        let kept = stage.outs.iter().all(|out| *out == Out::Temp);
        (floats && kept && values.len() < kernels::MAX_OUTPUTS).then_some(found)
    })
}

/// What an expression converts, and the index at which it reads that.
fn converted(pool: &ExprPool, mut e: ExprId) -> Option<(Converted, &[ExprId])> {
    let mut to = SmallVec::new();
    while let Expr::Cast(dtype, value) = pool.get(e) {
        to.push(*dtype);
        e = *value;
    }
    match pool.get(e) {
        Expr::Load { from: Mem::Temp(stage, value), index, valid: None, .. } if !to.is_empty() => {
            Some(((*stage, *value, to), index))
        }
        _ => None,
    }
}

/// Makes what is found a value of its stage, which is read instead.
fn convert(kernel: Kernel, found: &Converted) -> Kernel {
    let (of, value, to) = found;
    let stage = of.index();
    let new = Mem::Temp(*of, kernel.stages[stage].outs.len() as u8);
    let mut kernel = rewrite(kernel, |pool, node, dtype| {
        let id = pool.add(node, dtype);
        let index = converted(pool, id).filter(|(other, _)| other == found).map(|(_, index)| index.to_vec());
        index.map_or(id, |index| pool.load(dtype, new, &index))
    });
    let Kernel { stages, exprs, .. } = &mut kernel;
    if let Body::Map(values) = &mut stages[stage].body {
        let wide = to.iter().rev().fold(values[usize::from(*value)], |value, to| exprs.cast(*to, value));
        values.push(wide);
        stages[stage].outs.push(Out::Temp);
    }
    drop_unread(&mut kernel, stage);
    kernel
}
