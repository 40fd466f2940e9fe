//! How much a task of a phase does, roughly: enough to tell what is worth handing to another thread.

use super::{Phase, Stmt};
use crate::alu::Alu;
use crate::expr::{Expr, ExprId};
use crate::size::Size;

/// Multiply-adds of a contraction tile that take as long as one scalar operation of a loop.
const TILED_AT_ONCE: u64 = 2;

impl Phase {
    /// Scalar operations of one task, at most, as far as shapes tell; loads and stores count as one.
    /// A phase without statements does not tell, so that it counts as very much.
    pub fn work(&self) -> u64 {
        if self.body.is_empty() {
            return u64::MAX;
        }
        // Statements that are open, and how often each runs.
        let mut open: Vec<(&Stmt, u64)> = self.body.iter().map(|s| (s, 1)).collect();
        let mut total: u64 = 0;
        while let Some((stmt, times)) = open.pop() {
            let once = match stmt {
                Stmt::Loop(l, body) => {
                    let times = times.saturating_mul(most(&l.extent));
                    open.extend(body.iter().map(|s| (s, times)));
                    0
                }
                Stmt::If(condition, body) => {
                    open.extend(body.iter().map(|s| (s, times)));
                    self.operations(&[*condition])
                }
                Stmt::Store { index, value, valid, .. } => {
                    let roots: Vec<ExprId> = index.iter().chain([value]).chain(valid).copied().collect();
                    1 + self.operations(&roots)
                }
                Stmt::Micro(m) => {
                    let tile = u64::from(m.rows) * u64::from(m.cols);
                    tile.saturating_mul(most(&m.depth)) / TILED_AT_ONCE
                }
                Stmt::Prefetch { .. } => 1,
            };
            total = total.saturating_add(times.saturating_mul(once));
        }
        total
    }

    fn operations(&self, roots: &[ExprId]) -> u64 {
        let of = |e: &ExprId| match self.exprs.get(*e) {
            Expr::Alu(op, _) if op.is_transcendental() => 16,
            Expr::Alu(Alu::Div | Alu::Sqrt | Alu::Recip, _) => 4,
            Expr::Alu(..) | Expr::Load { .. } | Expr::Lanes { .. } => 1,
            _ => 0,
        };
        self.exprs.reachable(roots).iter().map(of).sum()
    }
}

fn most(size: &Size) -> u64 {
    size.upper_bound().map_or(u64::MAX, |n| n.max(0) as u64)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::lowered::Lowered;

    #[test]
    fn loops_multiply_and_operations_add_up() {
        let text = "lowered scale\nparam p0: f32[6, 8]\nparam p1: f32[6, 8]\n\nphase\ngrid i < 6\n{\n  serial j < 8 {\n    \
                    p1[i, j] = p0[i, j] * f32(2.0)\n  }\n}\n";
        let lowered = Lowered::parse(text).unwrap();
        // A load, a product and a store at each of a task's 8 points.
        assert_eq!(lowered.phases[0].work(), 24);
    }
}
