//! What single operations take.

use crate::alu::Alu;
use crate::expr::{Expr, Mem};
use crate::lowered::{Home, Phase};
use svod_dtype::DType;

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

/// Functions that are several instructions: what a vector of floats takes, in slots; and the vector instructions of
/// their code, of binary32 and of binary64, whether they run each time or not: trigonometric functions reduce large
/// arguments apart. Both are of `codegen::math` as it is.
const FUNCTIONS: [(Alu, f64, [u32; 2]); 14] = [
    (Alu::Exp, 22.0, [30, 30]),
    (Alu::Exp2, 22.0, [30, 30]),
    (Alu::Expm1, 22.0, [30, 30]),
    (Alu::Log, 28.0, [38, 38]),
    (Alu::Log2, 28.0, [38, 52]),
    (Alu::Log10, 38.0, [52, 52]),
    (Alu::Log1p, 38.0, [52, 52]),
    (Alu::Sin, 34.0, [170, 200]),
    (Alu::Cos, 34.0, [170, 200]),
    (Alu::Tan, 50.0, [170, 200]),
    (Alu::Tanh, 34.0, [34, 34]),
    (Alu::Atan, 34.0, [34, 34]),
    (Alu::Erf, 38.0, [38, 72]),
    (Alu::Pow, 70.0, [120, 120]),
];

fn function(op: Alu) -> Option<(f64, [u32; 2])> {
    FUNCTIONS.iter().find(|(known, ..)| *known == op).map(|(_, slots, code)| (*slots, *code))
}

/// Slots of one vector of an operation; of some, of each lane.
pub fn slots_of(op: Alu, float: bool, lanes: f64) -> f64 {
    match op {
        Alu::Div | Alu::Recip => 10.0,
        Alu::Sqrt => 14.0,
        // Integers are divided lane by lane.
        Alu::IDiv | Alu::Rem | Alu::FloorDiv | Alu::FloorMod if !float => 10.0 * lanes.clamp(1.0, 16.0),
        Alu::FloorDiv | Alu::FloorMod | Alu::Rem => 14.0,
        Alu::Max | Alu::Min if float => 2.0,
        op => function(op).map_or(1.0, |(slots, _)| slots),
    }
}

/// Vector instructions of the code of an operation.
pub fn instructions_of(op: Alu, dtype: DType) -> u32 {
    match function(op).filter(|_| dtype.is_float()) {
        Some((_, code)) => code[usize::from(dtype == DType::F64)],
        None => slots_of(op, dtype.is_float(), 1.0) as u32,
    }
}
