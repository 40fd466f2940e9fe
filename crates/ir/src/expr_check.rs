//! What a well-formed expression is, for the verifiers of the kernel and of the loop tree.

use crate::expr::{Expr, ExprId, ExprPool, Mem};
use crate::size::Variable;
use svod_dtype::DType;

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExprError {
    /// The operation does not take these types, or as many operands.
    #[error("{id}: {op} does not take {types:?}")]
    Operands {
        /// The expression.
        id: ExprId,
        /// The operation.
        op: &'static str,
        /// Types of the operands.
        types: Vec<DType>,
    },
    /// The pool records another type than the node computes.
    #[error("{id} is recorded as {recorded} but computes {computed}")]
    Type {
        /// The expression.
        id: ExprId,
        /// What the pool says.
        recorded: DType,
        /// What follows from the node.
        computed: DType,
    },
    /// An operand has a larger id than its user.
    #[error("{id}: operand {operand} does not come before it")]
    Order {
        /// The expression.
        id: ExprId,
        /// Its operand.
        operand: ExprId,
    },
    /// A variable that is no axis or loop in scope, and no variable of the kernel.
    #[error("{id} names '{variable}', which is not in scope")]
    Variable {
        /// The expression.
        id: ExprId,
        /// The variable.
        variable: Variable,
    },
    /// A memory that does not exist, or not yet.
    #[error("{id} reads {mem:?}, which does not exist at this point")]
    Memory {
        /// The load.
        id: ExprId,
        /// What it reads.
        mem: Mem,
    },
    /// The number of indices differs from that of dimensions.
    #[error("{id} reads {mem:?} with {given} indices, but it has {rank} dimensions")]
    Rank {
        /// The load.
        id: ExprId,
        /// What it reads.
        mem: Mem,
        /// Number of indices.
        given: usize,
        /// Number of dimensions.
        rank: usize,
    },
    /// An operand of a load has the wrong type.
    #[error("{id}: operand {operand} is {given}, expected {expected}")]
    LoadOperand {
        /// The load.
        id: ExprId,
        /// The index or the validity.
        operand: ExprId,
        /// Its type.
        given: DType,
        /// The type it must have.
        expected: DType,
    },
    /// A running value that may not be used here.
    #[error("{id}: {node:?} may not be used here")]
    Carry {
        /// The expression.
        id: ExprId,
        /// The node.
        node: Expr,
    },
    /// A reduction over lanes that are no power of two, that have another meaning, or in a kernel.
    #[error("{id} reduces over '{lanes}', which are not a power of two of lanes or have another meaning here")]
    Lanes {
        /// The expression.
        id: ExprId,
        /// The loop.
        lanes: Variable,
    },
    /// What compares or combines the lanes of a loop that is no vector, or has too many of them.
    #[error("{id} is about the lanes of '{over}', which is no vector loop around it or has more of them than it takes")]
    Vector {
        /// The expression.
        id: ExprId,
        /// The loop.
        over: Variable,
    },
}

/// Lanes at most that are compared with one another.
const MOST_ALIKE: i64 = 32;

/// What the surroundings of an expression allow in it.
pub(crate) trait Context {
    /// Whether a variable is in scope.
    fn has_variable(&self, variable: &Variable) -> bool;
    /// Type and number of dimensions of a memory that may be read.
    fn memory(&self, mem: Mem) -> Option<(DType, usize)>;
    /// The type of a `Carry`, `Old` or `New` that may be used.
    fn carry(&self, node: &Expr) -> Option<DType>;
    /// Whether there may be reductions over lanes.
    fn has_lanes(&self) -> bool;
    /// Whether a variable counts the lanes of a vector loop that is open.
    fn is_vector(&self, variable: &Variable) -> bool;
}

/// Checks all that is reachable from `roots`.
pub(crate) fn check(pool: &ExprPool, roots: &[ExprId], context: &dyn Context) -> Result<(), ExprError> {
    let order = pool.reachable(roots);
    let mut bound: Vec<Variable> = Vec::new();
    for id in &order {
        if let Expr::Lanes { lanes, .. } = pool.get(*id) {
            check_lanes(pool, roots, *id, lanes, context)?;
            bound.push(lanes.clone());
        }
    }
    for id in order {
        let node = pool.get(id);
        if let Some(&operand) = node.operands().iter().find(|o| **o >= id) {
            return Err(ExprError::Order { id, operand });
        }
        let (recorded, computed) = (pool.dtype(id), result(pool, id, node, context, &bound)?);
        if recorded != computed {
            return Err(ExprError::Type { id, recorded, computed });
        }
    }
    Ok(())
}

/// Checks that lanes are named only inside of what binds them.
fn check_lanes(
    pool: &ExprPool,
    roots: &[ExprId],
    id: ExprId,
    lanes: &Variable,
    context: &dyn Context,
) -> Result<(), ExprError> {
    let count = Variable::max(lanes).checked_add(1).filter(|n| n.count_ones() == 1 && *n > 0);
    if !context.has_lanes() || context.has_variable(lanes) || lanes.min() != 0 || count.is_none() {
        return Err(ExprError::Lanes { id, lanes: lanes.clone() });
    }
    let mut free = vec![false; roots.iter().map(|r| r.index() + 1).max().unwrap_or(0)];
    roots.iter().for_each(|root| free[root.index()] = true);
    for i in (0..free.len()).rev() {
        let id = ExprId(i as u32);
        match pool.get(id) {
            _ if !free[i] => {}
            Expr::Lanes { lanes: inner, .. } if inner == lanes => {}
            Expr::Index(size) if size.variables().contains(lanes) => {
                return Err(ExprError::Variable { id, variable: lanes.clone() });
            }
            node => node.operands().iter().filter(|o| **o < id).for_each(|o| free[o.index()] = true),
        }
    }
    Ok(())
}

fn result(
    pool: &ExprPool,
    id: ExprId,
    node: &Expr,
    context: &dyn Context,
    bound: &[Variable],
) -> Result<DType, ExprError> {
    let mismatch = |op| {
        let types = node.operands().iter().map(|o| pool.dtype(*o)).collect();
        ExprError::Operands { id, op, types }
    };
    match node {
        Expr::Const(value) => Ok(value.dtype()),
        Expr::Index(size) => {
            match size.variables().into_iter().find(|v| !context.has_variable(v) && !bound.contains(v)) {
                Some(variable) => Err(ExprError::Variable { id, variable }),
                None => Ok(DType::Index),
            }
        }
        Expr::Alu(op, args) => {
            let types: Vec<DType> = args.iter().map(|a| pool.dtype(*a)).collect();
            op.result(&types).ok_or_else(|| mismatch(op.name()))
        }
        Expr::Cast(to, value) => {
            let void = [*to, pool.dtype(*value)].contains(&DType::Void);
            if void { Err(mismatch("cast")) } else { Ok(*to) }
        }
        Expr::Bitcast(to, value) => {
            let same = to.bits() == pool.dtype(*value).bits();
            if same { Ok(*to) } else { Err(mismatch("bitcast")) }
        }
        Expr::Load { from, index, valid, other } => {
            let (dtype, rank) = context.memory(*from).ok_or(ExprError::Memory { id, mem: *from })?;
            if index.len() != rank {
                return Err(ExprError::Rank { id, mem: *from, given: index.len(), rank });
            }
            let typed = index.iter().map(|i| (*i, DType::Index)).chain(valid.map(|v| (v, DType::Bool)));
            for (operand, expected) in typed {
                let given = pool.dtype(operand);
                if given != expected {
                    return Err(ExprError::LoadOperand { id, operand, given, expected });
                }
            }
            if other.dtype() != dtype {
                return Err(ExprError::Type { id, recorded: other.dtype(), computed: dtype });
            }
            Ok(dtype)
        }
        Expr::Carry(_, dtype) | Expr::Old(_, dtype) | Expr::New(_, dtype) => match context.carry(node) {
            Some(carried) if carried == *dtype => Ok(carried),
            _ => Err(ExprError::Carry { id, node: node.clone() }),
        },
        Expr::Running { over, .. } | Expr::Alike { over, .. } if !context.is_vector(over) => {
            Err(ExprError::Vector { id, over: over.clone() })
        }
        Expr::Alike { over, value, .. } => match Variable::max(over) {
            ..MOST_ALIKE if pool.dtype(*value) == DType::U32 => Ok(DType::U32),
            ..MOST_ALIKE => Err(mismatch("alike")),
            _ => Err(ExprError::Vector { id, over: over.clone() }),
        },
        Expr::Lanes { op, value, .. } | Expr::Running { op, value, .. } => {
            let dtype = pool.dtype(*value);
            op.result(&[dtype, dtype]).filter(|r| *r == dtype).ok_or_else(|| mismatch(op.name()))
        }
    }
}
