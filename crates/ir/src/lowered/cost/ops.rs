//! What single operations take.

use crate::alu::Alu;
use crate::expr::{Expr, Mem};
use crate::lowered::{Home, Phase};

/// Slots from the start of a float addition to its result: four cycles.
pub const LATENCY: f64 = 8.0;

/// Slots until what was stored to scratch can be loaded again.
pub(super) const FORWARD: f64 = 10.0;

/// Slots from the start of an operation of a phase to its result. Those of several instructions are computed in few
/// chains.
pub(super) fn latency(phase: &Phase, node: &Expr) -> f64 {
    match node {
        Expr::Alu(op, args) if args.iter().any(|a| phase.exprs.dtype(*a).is_float()) => {
            LATENCY.max(3.0 * slots_of(*op, true, 1.0))
        }
        Expr::Load { from: Mem::Temp(t, _), .. } if phase.temps[t.index()].home == Home::Register => 0.0,
        Expr::Load { .. } => FORWARD,
        Expr::Cast(..) => LATENCY,
        Expr::Alu(..) => LATENCY / 4.0,
        _ => 0.0,
    }
}

/// Slots of one vector of an operation; of some, of each lane.
pub fn slots_of(op: Alu, float: bool, lanes: f64) -> f64 {
    match op {
        Alu::Div | Alu::Recip => 10.0,
        Alu::Sqrt => 14.0,
        // Integers are divided lane by lane.
        Alu::IDiv | Alu::Rem | Alu::FloorDiv | Alu::FloorMod if !float => 10.0 * lanes.clamp(1.0, 16.0),
        Alu::FloorDiv | Alu::FloorMod | Alu::Rem => 14.0,
        Alu::Exp | Alu::Exp2 | Alu::Expm1 => 22.0,
        Alu::Log | Alu::Log2 => 28.0,
        Alu::Log10 | Alu::Log1p => 38.0,
        Alu::Sin | Alu::Cos => 34.0,
        Alu::Tanh | Alu::Atan => 34.0,
        Alu::Erf => 38.0,
        Alu::Tan => 50.0,
        Alu::Pow => 70.0,
        Alu::Max | Alu::Min if float => 2.0,
        _ => 1.0,
    }
}
