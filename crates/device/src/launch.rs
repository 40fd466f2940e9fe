//! Launch sizes: how many tasks a program has, as an expression that is evaluated at each run.

use std::fmt;

use smallvec::SmallVec;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::size::{Atom, Size, Variable};

/// An integer expression over constants and variables.
///
/// Unlike [`Size`] and tensors, `/` and `%` truncate, as they do in generated code. Arithmetic is
/// checked at evaluation: against the range of the operands' type where they agree, else of `i64`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LaunchExpr {
    /// Operands before users; the last is the value.
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Node {
    Const(Const),
    Var(Variable),
    Bind(Variable, i64),
    Alu(Alu, SmallVec<[u32; 3]>),
    Cast(DType, u32),
    Bitcast(DType, u32),
    After(u32),
}

/// One of the six numbers of a launch; prints as `global size 0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Number of groups, or of tasks where there is no local size, along an axis.
    Global(usize),
    /// Number of threads of a group along an axis.
    Local(usize),
}

/// A launch size that cannot be evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{dimension}: {kind}")]
pub struct LaunchError {
    /// Which one.
    pub dimension: Dimension,
    /// Why.
    pub kind: LaunchErrorKind,
}

/// Why a launch size cannot be evaluated, or cannot be a launch size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchErrorKind {
    /// A constant that is no integer.
    #[error("{0} is not an integer")]
    FloatConstant(Const),
    /// An operation that launch sizes do not have.
    #[error("a launch size cannot use {0}")]
    UnsupportedOp(String),
    /// A variable without a value.
    #[error("variable {0} has no value")]
    MissingVariable(String),
    /// A value outside its variable's bounds.
    #[error("variable {name}: {value} is outside [{min}, {max}]")]
    OutOfBounds {
        /// The variable.
        name: String,
        /// Its value.
        value: i64,
        /// Its lower bound.
        min: i64,
        /// Its upper bound.
        max: i64,
    },
    /// A division or remainder by 0.
    #[error("division by zero")]
    DivisionByZero,
    /// A value that does not fit its type, or `i64`.
    #[error("{0} overflows")]
    Overflow(String),
    /// A floored division of numbers that may be negative, which truncation would round otherwise.
    #[error("{0} divides numbers that may be negative")]
    MayBeNegative(String),
    /// A size below 1.
    #[error("a size must be positive, not {0}")]
    NotPositive(i64),
}

/// Launch sizes before the variables have values.
///
/// The default is 1 everywhere, with a local size.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LaunchSizes {
    /// Numbers of groups, or of tasks where there is no local size.
    pub global: [LaunchExpr; 3],
    /// Threads of a group; absent where tasks are addressed directly.
    pub local: Option<[LaunchExpr; 3]>,
}

/// Launch sizes of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConcreteLaunchDims {
    /// Numbers of groups, or of tasks where there is no local size.
    pub global: [usize; 3],
    /// Threads of a group; absent where tasks are addressed directly.
    pub local: Option<[usize; 3]>,
}

/// Evaluates launch sizes, with the value that `lookup` gives for each variable.
pub fn launch_dims(
    sizes: &LaunchSizes,
    lookup: &dyn Fn(&str) -> Option<i64>,
) -> Result<ConcreteLaunchDims, LaunchError> {
    let resolve = |exprs: &[LaunchExpr; 3], dimension: fn(usize) -> Dimension| {
        let mut dims = [1; 3];
        for (axis, expr) in exprs.iter().enumerate() {
            let value = expr.eval(lookup).and_then(|v| match usize::try_from(v) {
                Ok(size) if size > 0 => Ok(size),
                _ => Err(LaunchErrorKind::NotPositive(v)),
            });
            dims[axis] = value.map_err(|kind| LaunchError { dimension: dimension(axis), kind })?;
        }
        Ok(dims)
    };
    let global = resolve(&sizes.global, Dimension::Global)?;
    let local = sizes.local.as_ref().map(|l| resolve(l, Dimension::Local)).transpose()?;
    Ok(ConcreteLaunchDims { global, local })
}

/// Evaluates launch sizes for the positional values of a run; `names` says which is which.
pub fn resolve_launch_dims(
    sizes: &LaunchSizes,
    names: &[impl AsRef<str>],
    vals: &[i64],
) -> Result<ConcreteLaunchDims, LaunchError> {
    launch_dims(sizes, &|name| {
        let at = names.iter().position(|n| n.as_ref() == name)?;
        vals.get(at).copied()
    })
}

impl ConcreteLaunchDims {
    /// Number of tasks, saturating.
    pub fn tasks(&self) -> usize {
        let local = self.local.unwrap_or([1; 3]);
        self.global.iter().chain(&local).fold(1, |n, size| n.saturating_mul(*size))
    }
}

impl Default for LaunchSizes {
    fn default() -> Self {
        LaunchSizes { global: LaunchExpr::ones(), local: Some(LaunchExpr::ones()) }
    }
}

impl LaunchSizes {
    /// `tasks` tasks along the first axis, addressed directly.
    pub fn tasks(tasks: LaunchExpr) -> Self {
        let [_, y, z] = LaunchExpr::ones();
        LaunchSizes { global: [tasks, y, z], local: None }
    }
}

impl LaunchExpr {
    /// A constant. One that is no integer is an error at evaluation; a truth value is 0 or 1.
    pub fn constant(value: Const) -> Self {
        LaunchExpr { nodes: vec![Node::Const(value)] }
    }

    /// A variable, which has a value at evaluation.
    pub fn var(variable: Variable) -> Self {
        LaunchExpr { nodes: vec![Node::Var(variable)] }
    }

    /// A variable with a value of its own, whose bounds are checked at evaluation.
    pub fn bind(variable: Variable, value: i64) -> Self {
        LaunchExpr { nodes: vec![Node::Bind(variable, value)] }
    }

    /// An operation; `+ - * / %`, `max`, `neg` and `abs` can be evaluated.
    pub fn alu(op: Alu, operands: &[LaunchExpr]) -> Self {
        let mut nodes = Vec::new();
        let roots = operands.iter().map(|operand| append(&mut nodes, operand)).collect();
        nodes.push(Node::Alu(op, roots));
        LaunchExpr { nodes }
    }

    /// The value in another type, which must be able to hold it.
    pub fn cast(self, to: DType) -> Self {
        self.wrap(|root| Node::Cast(to, root))
    }

    /// The bits of the value read as another type of the same width.
    pub fn bitcast(self, to: DType) -> Self {
        self.wrap(|root| Node::Bitcast(to, root))
    }

    /// The value, after something that it waits for: the order matters to a schedule, not here.
    pub fn after(self) -> Self {
        self.wrap(Node::After)
    }

    /// The expression of a size. Its divisions floor, so their operands must be proven not
    /// negative.
    pub fn from_size(size: &Size) -> Result<Self, LaunchErrorKind> {
        if let Some(fault) = size.fault() {
            return Err(LaunchErrorKind::Overflow(fault.to_string()));
        }
        let mut sum: Option<LaunchExpr> = None;
        for term in size.terms().unwrap_or_default() {
            let mut product = match (term.coefficient(), term.factors()) {
                (1, [_, ..]) => None,
                (coefficient, _) => Some(LaunchExpr::from(coefficient)),
            };
            // The depth of a size is bounded, and so is this recursion.
            for atom in term.factors() {
                let factor = Self::from_atom(atom)?;
                product = Some(match product {
                    None => factor,
                    Some(product) => Self::alu(Alu::Mul, &[product, factor]),
                });
            }
            sum = match (sum, product) {
                (Some(sum), Some(product)) => Some(Self::alu(Alu::Add, &[sum, product])),
                (sum, product) => sum.or(product),
            };
        }
        Ok(sum.unwrap_or_else(|| 0.into()))
    }

    fn from_atom(atom: &Atom) -> Result<Self, LaunchErrorKind> {
        let floored = |op: Alu, sign: &str, a: &Size, b: &Size| {
            if a.bounds().0 < 0 || b.bounds().0 < 0 {
                return Err(LaunchErrorKind::MayBeNegative(format!("({a}) {sign} ({b})")));
            }
            Ok(Self::alu(op, &[Self::from_size(a)?, Self::from_size(b)?]))
        };
        let neg = |a: LaunchExpr| Self::alu(Alu::Neg, &[a]);
        match atom {
            Atom::Var(v) => Ok(Self::var(v.clone())),
            Atom::FloorDiv(a, b) => floored(Alu::IDiv, "//", a, b),
            Atom::Mod(a, b) => floored(Alu::Rem, "%", a, b),
            Atom::Max(a, b) => Ok(Self::alu(Alu::Max, &[Self::from_size(a)?, Self::from_size(b)?])),
            Atom::Min(a, b) => Ok(neg(Self::alu(Alu::Max, &[neg(Self::from_size(a)?), neg(Self::from_size(b)?)]))),
        }
    }

    /// The value where it is a constant integer that fits.
    pub fn as_const(&self) -> Option<i64> {
        match self.nodes.as_slice() {
            [Node::Const(_)] => self.eval(&|_| None).ok(),
            _ => None,
        }
    }

    /// The value, with the one that `lookup` gives for each variable.
    pub fn eval(&self, lookup: &dyn Fn(&str) -> Option<i64>) -> Result<i64, LaunchErrorKind> {
        let mut values: SmallVec<[(i64, DType); 16]> = SmallVec::new();
        for node in &self.nodes {
            let value = match node {
                Node::Const(c) if c.dtype().is_float() => {
                    return Err(LaunchErrorKind::FloatConstant(*c));
                }
                Node::Const(c) => checked(c.as_i128(), c.dtype(), || c.to_string())?,
                Node::Var(v) => match lookup(v.name()) {
                    Some(value) => bounded(v, value)?,
                    None => return Err(LaunchErrorKind::MissingVariable(v.name().into())),
                },
                Node::Bind(v, value) => bounded(v, *value)?,
                Node::Alu(op, operands) => {
                    let operands: SmallVec<[_; 3]> = operands.iter().map(|i| values[*i as usize]).collect();
                    eval_alu(*op, &operands)?
                }
                Node::Cast(to, i) => eval_cast(values[*i as usize], *to)?,
                Node::Bitcast(to, i) => eval_bitcast(values[*i as usize], *to)?,
                Node::After(i) => values[*i as usize],
            };
            values.push(value);
        }
        let (value, _) = values.pop().expect("an expression has at least one node");
        Ok(value)
    }

    /// The size with the same value, where there is one: only what is proven not negative is divided alike.
    pub fn to_size(&self) -> Option<Size> {
        let mut sizes: Vec<Size> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let size = match node {
                // In a narrower type arithmetic overflows earlier than in sizes.
                Node::Const(c) if matches!(c.dtype(), DType::Index | DType::I64) => {
                    i64::try_from(c.as_i128()).ok()?.into()
                }
                Node::Var(v) => Size::from(v),
                Node::Alu(op, operands) if operands.len() == op.arity() => {
                    let operand = |at: usize| operands.get(at).map(|i| &sizes[*i as usize]);
                    let (a, b) = (operand(0)?, operand(1));
                    let positive = || a.bounds().0 >= 0 && b.is_some_and(|b| b.bounds().0 >= 0);
                    match op {
                        Alu::Neg => -a,
                        Alu::Add => a + b?,
                        Alu::Sub => a - b?,
                        Alu::Mul => a * b?,
                        Alu::Max => a.max(b?.clone()),
                        Alu::IDiv if positive() => a.floordiv(b?),
                        Alu::Rem if positive() => a.modulo(b?),
                        _ => return None,
                    }
                }
                Node::After(i) => sizes[*i as usize].clone(),
                _ => return None,
            };
            sizes.push(size);
        }
        sizes.pop().filter(|size| size.fault().is_none())
    }

    fn ones() -> [LaunchExpr; 3] {
        [1.into(), 1.into(), 1.into()]
    }

    fn wrap(mut self, node: impl FnOnce(u32) -> Node) -> Self {
        self.nodes.push(node(self.nodes.len() as u32 - 1));
        self
    }
}

/// Appends an expression to a list of nodes and gives the position of its root.
fn append(nodes: &mut Vec<Node>, expr: &LaunchExpr) -> u32 {
    let base = nodes.len() as u32;
    nodes.extend(expr.nodes.iter().cloned().map(|node| match node {
        Node::Alu(op, operands) => Node::Alu(op, operands.iter().map(|i| base + i).collect()),
        Node::Cast(to, i) => Node::Cast(to, base + i),
        Node::Bitcast(to, i) => Node::Bitcast(to, base + i),
        Node::After(i) => Node::After(base + i),
        leaf @ (Node::Const(_) | Node::Var(_) | Node::Bind(..)) => leaf,
    }));
    nodes.len() as u32 - 1
}

impl From<i64> for LaunchExpr {
    fn from(value: i64) -> Self {
        LaunchExpr::constant(Const::i64(DType::Index, value))
    }
}

/// `value` as a value of type `dtype`, where both that and `i64` can hold it.
fn checked(value: i128, dtype: DType, what: impl FnOnce() -> String) -> Result<(i64, DType), LaunchErrorKind> {
    let fits = dtype.int_range().is_some_and(|(min, max)| (min..=max).contains(&value));
    match i64::try_from(value) {
        Ok(value) if fits => Ok((value, dtype)),
        _ => Err(LaunchErrorKind::Overflow(what())),
    }
}

fn bounded(v: &Variable, value: i64) -> Result<(i64, DType), LaunchErrorKind> {
    match v.check(value) {
        Ok(()) => Ok((value, DType::Index)),
        Err(_) => {
            let (name, min, max) = (v.name().into(), v.min(), v.max());
            Err(LaunchErrorKind::OutOfBounds { name, value, min, max })
        }
    }
}

fn eval_alu(op: Alu, operands: &[(i64, DType)]) -> Result<(i64, DType), LaunchErrorKind> {
    let unsupported = || LaunchErrorKind::UnsupportedOp(op.name().into());
    let a = i128::from(operands.first().ok_or_else(unsupported)?.0);
    let b = operands.get(1).map_or(0, |(b, _)| i128::from(*b));
    let value = match op {
        _ if operands.len() != op.arity() => return Err(unsupported()),
        Alu::Neg => -a,
        Alu::Abs => a.abs(),
        Alu::Add => a + b,
        Alu::Sub => a - b,
        Alu::Mul => a * b,
        Alu::Max => a.max(b),
        Alu::IDiv | Alu::Rem if b == 0 => return Err(LaunchErrorKind::DivisionByZero),
        Alu::IDiv => a / b,
        Alu::Rem => a % b,
        _ => return Err(unsupported()),
    };
    let first = operands[0].1;
    let same = first.is_int() && operands.iter().all(|(_, dtype)| *dtype == first);
    let dtype = if same { first } else { DType::Index };
    checked(value, dtype, || match operands.len() {
        1 => format!("{} of {a}", op.name()),
        _ => format!("{} of {a} and {b}", op.name()),
    })
}

fn eval_cast((value, _): (i64, DType), to: DType) -> Result<(i64, DType), LaunchErrorKind> {
    match to {
        DType::Bool => Ok((i64::from(value != 0), to)),
        _ if to.is_int() => checked(value.into(), to, || format!("{value} as {to}")),
        _ => Err(LaunchErrorKind::UnsupportedOp(format!("a cast to {to}"))),
    }
}

fn eval_bitcast((value, from): (i64, DType), to: DType) -> Result<(i64, DType), LaunchErrorKind> {
    let unsupported = || LaunchErrorKind::UnsupportedOp(format!("a bitcast from {from} to {to}"));
    if to.int_range().is_none() {
        return Err(unsupported());
    }
    let bits = Const::i64(from, value).bitcast(to).ok_or_else(unsupported)?;
    checked(bits.as_i128(), to, || format!("{value} read as {to}"))
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dimension::Global(axis) => write!(f, "global size {axis}"),
            Dimension::Local(axis) => write!(f, "local size {axis}"),
        }
    }
}

/// As the size with the same value is written, where there is one.
impl fmt::Display for LaunchExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(size) = self.to_size() {
            return size.fmt(f);
        }
        let mut texts: Vec<String> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let operand = |i: &u32| texts[*i as usize].as_str();
            let text = match node {
                Node::Const(c) => c.value().to_string(),
                Node::Var(v) => v.to_string(),
                Node::Bind(v, value) => format!("{v}={value}"),
                Node::Alu(op, operands) => {
                    let operands: Vec<&str> = operands.iter().map(operand).collect();
                    format!("{}({})", op.name(), operands.join(", "))
                }
                Node::Cast(to, i) => format!("{}({})", to.short(), operand(i)),
                Node::Bitcast(to, i) => format!("bitcast_{}({})", to.short(), operand(i)),
                Node::After(i) => format!("after({})", operand(i)),
            };
            texts.push(text);
        }
        f.write_str(texts.last().map_or("", String::as_str))
    }
}
