//! Evaluation of expressions, for the interpreters of the kernel and of the loop tree.

use crate::alu::Alu;
use crate::expr::{Expr, ExprId, ExprPool, Mem};
use crate::size::{Size, SizeError, Variable};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use svod_dtype::{Const, DType, eval};

/// Why an interpreter stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterpError {
    /// A size has no value.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// The number of buffers differs from that of buffer arguments.
    #[error("{given} buffers for {expected} buffer arguments")]
    Buffers {
        /// Number given.
        given: usize,
        /// Number of buffer arguments.
        expected: usize,
    },
    /// A buffer of another type, or too small.
    #[error("p{param} is {dtype} of at least {len} elements; given {given_dtype} of {given_len}")]
    Buffer {
        /// The buffer argument.
        param: usize,
        /// Its type.
        dtype: DType,
        /// Its number of elements.
        len: usize,
        /// Type of the buffer.
        given_dtype: DType,
        /// Its number of elements.
        given_len: usize,
    },
    /// An extent below zero, or a memory too large to count.
    #[error("a shape or range of {0:?}")]
    Extents(Vec<i64>),
    /// An access outside its memory.
    #[error("index {index:?} is outside {mem:?} of shape {shape:?}")]
    OutOfRange {
        /// The memory.
        mem: Mem,
        /// One index per dimension; for a contraction tile, the flat index.
        index: Vec<i64>,
        /// The shape of the memory.
        shape: Vec<i64>,
    },
    /// Two writes to one element: two stages or points of a kernel, two tasks of a phase, or two
    /// lanes of a vector with different values.
    #[error("element {element} of {mem:?} is written twice")]
    WrittenTwice {
        /// The memory.
        mem: Mem,
        /// The flat index.
        element: usize,
    },
    /// A task reads what another task of the phase writes.
    #[error("element {element} of {mem:?} is read by one task and written by another")]
    Race {
        /// The memory.
        mem: Mem,
        /// The flat index.
        element: usize,
    },
    /// An index, a condition or an output depends on a temporary's undefined content.
    #[error("an index, a condition or an output depends on undefined content")]
    Undefined,
    /// The kernel or loop tree is not well formed; its verifier says more.
    #[error("{0} is not well formed")]
    Malformed(ExprId),
}

impl Alu {
    /// The value of the operation; `None` where the table does not allow the operands.
    pub fn eval(self, args: &[Const]) -> Option<Const> {
        match *args {
            [a] => {
                let f = match self {
                    Alu::Neg => eval::neg,
                    Alu::Abs => eval::abs,
                    Alu::Not => eval::not,
                    Alu::Sqrt => eval::sqrt,
                    Alu::Recip => eval::recip,
                    Alu::Exp => eval::exp,
                    Alu::Exp2 => eval::exp2,
                    Alu::Expm1 => eval::expm1,
                    Alu::Log => eval::log,
                    Alu::Log2 => eval::log2,
                    Alu::Log10 => eval::log10,
                    Alu::Log1p => eval::log1p,
                    Alu::Sin => eval::sin,
                    Alu::Cos => eval::cos,
                    Alu::Tan => eval::tan,
                    Alu::Atan => eval::atan,
                    Alu::Tanh => eval::tanh,
                    Alu::Erf => eval::erf,
                    Alu::Floor => eval::floor,
                    Alu::Ceil => eval::ceil,
                    Alu::Round => eval::round,
                    Alu::Trunc => eval::trunc,
                    _ => return None,
                };
                f(a)
            }
            [a, b] => {
                let f = match self {
                    Alu::Add => eval::add,
                    Alu::Sub => eval::sub,
                    Alu::Mul => eval::mul,
                    Alu::Div => eval::div,
                    Alu::IDiv => eval::idiv,
                    Alu::Rem => eval::mod_trunc,
                    Alu::FloorDiv => eval::floordiv,
                    Alu::FloorMod => eval::floormod,
                    Alu::Pow => eval::pow,
                    Alu::Max => eval::max,
                    Alu::Min => eval::min,
                    Alu::And => eval::and,
                    Alu::Or => eval::or,
                    Alu::Xor => eval::xor,
                    Alu::Shl => eval::shl,
                    Alu::Shr => eval::shr,
                    Alu::Lt => eval::cmp_lt,
                    Alu::Le => |a, b| eval::or(eval::cmp_lt(a, b)?, eval::cmp_eq(a, b)?),
                    Alu::Eq => eval::cmp_eq,
                    Alu::Ne => eval::cmp_ne,
                    _ => return None,
                };
                f(a, b)
            }
            [a, b, c] => match self {
                Alu::Where => eval::where_(a, b, c),
                Alu::MulAdd => eval::mul_add(a, b, c),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A value; `None` is the undefined content of a temporary, and what depends on it.
pub(crate) type Value = Option<Const>;

/// Values of axes, loops and variables, inner ones last.
pub(crate) type Bindings = Vec<(Variable, i64)>;

/// What an evaluation reads beside the bindings.
pub(crate) trait Machine {
    /// The content of a memory, with bounds checked.
    fn load(&self, from: Mem, index: &[i64]) -> Result<Value, InterpError>;
    /// The value of a `Carry`, `Old` or `New`.
    fn carry(&self, _node: &Expr) -> Value {
        None
    }
}

/// The value of a size under some bindings.
pub(crate) fn size(size: &Size, bindings: &Bindings) -> Result<i64, SizeError> {
    size.eval(&|v| bindings.iter().rev().find(|(bound, _)| bound == v).map(|(_, value)| *value))
}

/// The values of some sizes, none negative, and their product.
pub(crate) fn extents(sizes: &[Size], bindings: &Bindings) -> Result<(Vec<i64>, usize), InterpError> {
    let values = sizes.iter().map(|s| size(s, bindings)).collect::<Result<Vec<i64>, _>>()?;
    let count = values.iter().try_fold(1usize, |n, v| n.checked_mul(usize::try_from(*v).ok()?));
    match count {
        Some(count) => Ok((values, count)),
        None => Err(InterpError::Extents(values)),
    }
}

/// The row-major position of an index, which is checked.
pub(crate) fn flat(mem: Mem, index: &[i64], shape: &[i64]) -> Result<usize, InterpError> {
    let outside = || InterpError::OutOfRange { mem, index: index.to_vec(), shape: shape.to_vec() };
    if index.len() != shape.len() || index.iter().zip(shape).any(|(i, n)| *i < 0 || i >= n) {
        return Err(outside());
    }
    let position = index.iter().zip(shape).fold(0, |at, (i, n)| at * n + i);
    usize::try_from(position).map_err(|_| outside())
}

/// All points of a box in row-major order; one point when there are no extents.
pub(crate) fn points(extents: &[i64]) -> impl Iterator<Item = Vec<i64>> + '_ {
    let first = extents.iter().all(|n| *n > 0).then(|| vec![0; extents.len()]);
    std::iter::successors(first, |point| {
        let mut next = point.clone();
        for d in (0..next.len()).rev() {
            next[d] += 1;
            if next[d] < extents[d] {
                return Some(next);
            }
            next[d] = 0;
        }
        None
    })
}

/// Evaluates the expressions of one pool.
pub(crate) struct Evaluator<'a> {
    pool: &'a ExprPool,
    /// What each root needs, operands first.
    orders: FxHashMap<ExprId, Rc<[ExprId]>>,
}

impl<'a> Evaluator<'a> {
    pub fn new(pool: &'a ExprPool) -> Self {
        Evaluator { pool, orders: FxHashMap::default() }
    }

    /// The value of an expression.
    pub fn eval(&mut self, root: ExprId, vars: &mut Bindings, machine: &dyn Machine) -> Result<Value, InterpError> {
        let pool = self.pool;
        let order = self.orders.entry(root).or_insert_with(|| pool.outside_lanes(&[root]).into()).clone();
        let mut values: FxHashMap<ExprId, Value> = FxHashMap::default();
        for &id in order.iter() {
            // What is inside of lanes has no value outside.
            let args: Vec<Value> = pool.get(id).operands().iter().filter_map(|o| values.get(o).copied()).collect();
            let value = self.node(id, &args, vars, machine)?;
            values.insert(id, value);
        }
        Ok(values[&root])
    }

    /// The values of some indices, which must be defined.
    pub fn index(
        &mut self,
        index: &[ExprId],
        vars: &mut Bindings,
        machine: &dyn Machine,
    ) -> Result<Vec<i64>, InterpError> {
        let defined = |v: Value| v.map(Const::as_i64).ok_or(InterpError::Undefined);
        index.iter().map(|i| self.eval(*i, vars, machine).and_then(defined)).collect()
    }

    /// Whether a condition holds, which must be defined.
    pub fn holds(&mut self, cond: ExprId, vars: &mut Bindings, machine: &dyn Machine) -> Result<bool, InterpError> {
        self.eval(cond, vars, machine)?.map(Const::as_bool).ok_or(InterpError::Undefined)
    }

    fn node(
        &mut self,
        id: ExprId,
        args: &[Value],
        vars: &mut Bindings,
        machine: &dyn Machine,
    ) -> Result<Value, InterpError> {
        let malformed = InterpError::Malformed(id);
        let node = self.pool.get(id);
        match node {
            Expr::Const(value) => Ok(Some(*value)),
            Expr::Index(s) => Ok(Some(Const::i64(DType::Index, size(s, vars)?))),
            Expr::Alu(Alu::Where, _) => match args[0] {
                Some(cond) => Ok(if cond.as_bool() { args[1] } else { args[2] }),
                None => Ok(None),
            },
            Expr::Alu(op, _) => match args.iter().copied().collect::<Option<Vec<Const>>>() {
                Some(args) => op.eval(&args).map(Some).ok_or(malformed),
                None => Ok(None),
            },
            Expr::Cast(to, _) => Ok(args[0].map(|v| v.cast(*to))),
            Expr::Bitcast(to, _) => match args[0] {
                Some(v) => v.bitcast(*to).map(Some).ok_or(malformed),
                None => Ok(None),
            },
            Expr::Load { from, index, valid, other } => {
                if valid.is_some() && !args[index.len()].ok_or(InterpError::Undefined)?.as_bool() {
                    return Ok(Some(*other));
                }
                let defined = |v: &Value| v.map(Const::as_i64).ok_or(InterpError::Undefined);
                let at = args[..index.len()].iter().map(defined).collect::<Result<Vec<i64>, _>>()?;
                machine.load(*from, &at)
            }
            Expr::Carry(..) | Expr::Old(..) | Expr::New(..) => machine.carry(node).map(Some).ok_or(malformed),
            Expr::Alike { over, value, before } => {
                let at = vars.iter().rposition(|(v, _)| v == over).ok_or(malformed)?;
                let (here, own) = (vars[at].1, args[0]);
                let end = if *before { here } else { Variable::max(over) + 1 };
                let mut count = 0;
                for lane in 0..end {
                    vars[at].1 = lane;
                    let other = self.eval(*value, vars, machine);
                    vars[at].1 = here;
                    count += i64::from(other? == own);
                }
                Ok(own.map(|_| Const::i64(DType::U32, count)))
            }
            Expr::Running { op, over, value } => {
                let at = vars.iter().rposition(|(v, _)| v == over).ok_or(malformed.clone())?;
                let here = vars[at].1;
                let mut total: Option<Value> = None;
                for lane in 0..=here {
                    vars[at].1 = lane;
                    let value = self.eval(*value, vars, machine);
                    vars[at].1 = here;
                    let value = value?;
                    total = Some(match (total, value) {
                        (None, value) => value,
                        (Some(Some(total)), Some(value)) => Some(op.eval(&[total, value]).ok_or(malformed.clone())?),
                        _ => None,
                    });
                }
                Ok(total.flatten())
            }
            Expr::Lanes { op, lanes, value } => {
                let count =
                    Variable::max(lanes).checked_add(1).filter(|n| n.count_ones() == 1).ok_or(malformed.clone())?;
                let mut values = Vec::new();
                for lane in 0..count {
                    vars.push((lanes.clone(), lane));
                    let value = self.eval(*value, vars, machine);
                    vars.pop();
                    values.push(value?);
                }
                let Some(mut values) = values.into_iter().collect::<Option<Vec<Const>>>() else { return Ok(None) };
                while values.len() > 1 {
                    let upper = values.split_off(values.len() / 2);
                    let halves = values.iter().zip(&upper).map(|(a, b)| op.eval(&[*a, *b]));
                    values = halves.collect::<Option<_>>().ok_or(malformed.clone())?;
                }
                Ok(values.pop())
            }
        }
    }
}
