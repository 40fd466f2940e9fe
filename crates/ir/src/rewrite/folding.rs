//! Constants: operations on values that are the same everywhere.

use super::Family;
use crate::alu::Alu;
use crate::graph::{GraphError, Op, UOp};
use smallvec::SmallVec;
use svod_dtype::{Const, DType};

/// Folds operations over constants, by the reference semantics.
pub const FOLDING: Family = Family { name: "folding", holds_for: |_| true, equations: "", function: Some(fold) };

impl Op {
    /// The value of an operation over constants, which `operands` gives where all of them are; none of one that is not
    /// computed here.
    pub(crate) fn fold(&self, operands: impl FnOnce() -> Option<SmallVec<[Const; 3]>>) -> Option<Const> {
        match self {
            Op::Alu(op) => operands().and_then(|c| op.eval(&c)),
            Op::Cast(to) => Some(operands()?.first()?.cast(*to)),
            Op::Bitcast(to) => operands()?.first()?.bitcast(*to),
            Op::Size(size) => size.as_const().map(|n| Const::i64(DType::I64, n)),
            _ => None,
        }
    }
}

type Found = Result<Option<(&'static str, UOp)>, GraphError>;

fn fold(node: &UOp) -> Found {
    if let Op::Scan(by, axis, true) = node.op()
        && node.shape()[*axis] == crate::size::Size::ONE
        && by.alu().is_some()
    {
        return Ok(node.source().map(|s| ("scan-of-one", s)));
    }
    let value = node.op().fold(|| node.sources().iter().map(UOp::uniform).collect());
    match (value, node.op()) {
        (Some(value), _) => Ok(Some(("fold", UOp::full(value, node.shape_arc())?))),
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
