//! Operations that a target lacks, made of others.

use svod_ir::expr::{Expr, ExprId, ExprPool};
use svod_ir::lowered::{Lowered, Phase, Stmt};

use super::Decomposition;

/// The kernel with each operation that has a rule replaced by what the rule makes of it. What a rule makes
/// is not looked at again.
pub fn decompose(kernel: Lowered, rules: &[Decomposition]) -> Lowered {
    let lacks = |expr: &Expr| matches!(expr, Expr::Alu(op, _) if rules.iter().any(|rule| rule.op == *op));
    if !kernel.phases.iter().any(|phase| phase.exprs.iter().any(|(_, expr)| lacks(expr))) {
        return kernel;
    }
    let phases = kernel.phases.iter().map(|phase| rewritten(phase, rules)).collect();
    Lowered { phases, ..kernel }
}

fn rewritten(phase: &Phase, rules: &[Decomposition]) -> Phase {
    let mut body = phase.body.clone();
    let mut roots = Vec::new();
    each_root(&mut body, &mut |root| roots.push(*root));
    let mut exprs = ExprPool::new();
    let copies = exprs.copy_with(&phase.exprs, &roots, &|_| None, |pool, node, dtype| match &node {
        Expr::Alu(op, operands) => match rules.iter().find(|rule| rule.op == *op) {
            Some(rule) => (rule.rewrite)(pool, operands),
            None => pool.add(node, dtype),
        },
        _ => pool.add(node, dtype),
    });
    let mut copies = copies.into_iter();
    each_root(&mut body, &mut |root| *root = copies.next().unwrap_or(*root));
    Phase { exprs, body, ..phase.clone() }
}

/// Visits the expressions that statements name, always in the same order.
fn each_root(body: &mut [Stmt], visit: &mut impl FnMut(&mut ExprId)) {
    let mut stmts: Vec<&mut Stmt> = body.iter_mut().collect();
    while let Some(stmt) = stmts.pop() {
        match stmt {
            Stmt::Loop(_, body) => stmts.extend(body),
            Stmt::If(condition, body) => {
                visit(condition);
                stmts.extend(body);
            }
            Stmt::Store { index, value, valid, .. } => {
                index.iter_mut().chain([value]).chain(valid).for_each(&mut *visit)
            }
            Stmt::Micro(_) | Stmt::Prefetch { .. } => {}
        }
    }
}
