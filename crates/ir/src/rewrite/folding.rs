//! Constants: operations on values that are the same everywhere.

use super::Family;
use crate::alu::Alu;
use crate::graph::{GraphError, Op, UOp};
use smallvec::SmallVec;
use svod_dtype::{Const, DType};

/// Folds operations over constants, by the reference semantics.
pub const FOLDING: Family = Family { name: "folding", holds_for: |_| true, equations: "", function: Some(fold) };

type Found = Result<Option<(&'static str, UOp)>, GraphError>;

fn fold(node: &UOp) -> Found {
    let uniform = || node.sources().iter().map(UOp::uniform).collect::<Option<SmallVec<[Const; 3]>>>();
    let (name, value) = match node.op() {
        Op::Alu(op) => ("fold-alu", uniform().and_then(|c| op.eval(&c))),
        Op::Cast(to) => ("fold-cast", uniform().and_then(|c| Some(c.first()?.cast(*to)))),
        Op::Bitcast(to) => ("fold-bitcast", uniform().and_then(|c| c.first()?.bitcast(*to))),
        Op::Size(size) => ("fold-size", size.as_const().map(|n| Const::i64(node.dtype(), n))),
        Op::Scan(by, axis, true) if node.shape()[*axis] == crate::size::Size::ONE && by.alu().is_some() => {
            return Ok(node.source().map(|s| ("scan-of-one", s)));
        }
        _ => return Ok(None),
    };
    match (value, node.op()) {
        (Some(value), _) => Ok(Some((name, UOp::full(value, node.shape_arc())?))),
        (None, Op::Alu(op @ (Alu::Eq | Alu::Ne))) => truth(node, *op),
        _ => Ok(None),
    }
}

/// Of a condition that is compared, as a number, with a constant: the condition, its opposite, or what always holds.
fn truth(node: &UOp, op: Alu) -> Found {
    let sources = node.sources();
    for (number, other) in [(&sources[0], &sources[1]), (&sources[1], &sources[0])] {
        let (Op::Cast(_), Some(condition), Some(constant)) = (number.op(), number.source(), other.uniform()) else {
            continue;
        };
        if condition.dtype() != DType::Bool {
            continue;
        }
        let like = |value: i64| constant == Const::i64(DType::I64, value).cast(constant.dtype());
        let equal = op == Alu::Eq;
        let to = match (like(0), like(1)) {
            (true, _) if equal => UOp::alu(Alu::Not, &[condition])?,
            (_, true) if !equal => UOp::alu(Alu::Not, &[condition])?,
            (false, false) => continue,
            _ => condition,
        };
        return Ok(Some(("truth", to)));
    }
    Ok(None)
}
