//! Constants: operations on values that are the same everywhere.

use super::Family;
use crate::graph::{GraphError, Op, UOp};
use smallvec::SmallVec;
use svod_dtype::Const;

/// Folds operations over constants, by the reference semantics.
pub const FOLDING: Family = Family { name: "folding", holds_for: |_| true, equations: "", function: Some(fold) };

fn fold(node: &UOp) -> Result<Option<(&'static str, UOp)>, GraphError> {
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
    value.map(|v| Ok((name, UOp::full(v, node.shape_arc())?))).transpose()
}
