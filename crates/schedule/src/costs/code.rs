//! How much code a kernel is: vector instructions for a point.

use rustc_hash::FxHashMap;
use svod_ir::expr::{Expr, ExprId};
use svod_ir::kernel::{Kernel, Stage};
use svod_ir::lowered::cost::instructions_of;

/// Vector instructions for a point of each of a kernel's stages.
pub(crate) fn code_of(kernel: &Kernel) -> u32 {
    kernel.stages.iter().map(|stage| code_of_stage(kernel, stage)).fold(0, u32::saturating_add)
}

/// Vector instructions for a point of a stage.
pub(crate) fn code_of_stage(kernel: &Kernel, stage: &Stage) -> u32 {
    kernel.exprs.reachable(&stage.roots()).into_iter().map(|e| code_of_node(kernel, e)).fold(0, u32::saturating_add)
}

/// The longest chain of a stage's vector instructions that wait for one another.
pub(crate) fn longest_chain(kernel: &Kernel, stage: usize) -> u32 {
    // Operands have smaller numbers than their users.
    let mut ordered = kernel.exprs.reachable(&kernel.stages[stage].roots());
    ordered.sort_unstable();
    let mut until: FxHashMap<ExprId, u32> = FxHashMap::default();
    for e in ordered {
        let before = kernel.exprs.get(e).operands().iter().map(|o| until[o]).max().unwrap_or(0);
        until.insert(e, before.saturating_add(code_of_node(kernel, e)));
    }
    until.into_values().max().unwrap_or(0)
}

fn code_of_node(kernel: &Kernel, e: ExprId) -> u32 {
    match kernel.exprs.get(e) {
        Expr::Alu(op, operands) => operands.last().map_or(0, |x| instructions_of(*op, kernel.exprs.dtype(*x))),
        Expr::Load { .. } | Expr::Cast(..) => 1,
        _ => 0,
    }
}
