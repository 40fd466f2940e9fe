//! The invariants of a kernel, as listed in the [module](super).
//!
//! That every element of an output is written once depends on values, in general: the interpreter
//! checks it.

use super::{Axis, AxisId, Body, Carry, Emit, Kernel, Monoid, Out, Stage};
use crate::expr::{Expr, ExprId, Mem, ParamId};
use crate::expr_check::{self, Context, ExprError};
use crate::size::{Size, Variable};
use crate::text::is_name;
use svod_dtype::DType;

/// What is wrong with a kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// A name that is used twice, is not an identifier, or means something else.
    #[error("the name '{0}' is taken, reserved or not an identifier")]
    Name(String),
    /// An extent that may be negative, has no value, or depends on more than the variables.
    #[error("{what}: the extent {extent} may be negative, or names more than the kernel's variables")]
    Extent {
        /// The axis or the buffer argument.
        what: String,
        /// Its extent.
        extent: Size,
    },
    /// An axis whose counter's bounds do not hold all its points.
    #[error("axis {0}: the counter's bounds do not hold every point")]
    AxisBounds(Variable),
    /// A fault of one stage.
    #[error("stage {stage}: {error}")]
    Stage {
        /// Name of the stage.
        stage: String,
        /// What is wrong with it.
        error: StageError,
    },
}

/// What is wrong with a stage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StageError {
    /// See [`ExprError`].
    #[error(transparent)]
    Expr(#[from] ExprError),
    /// An axis that does not exist, or that the stage has already.
    #[error("axis {} does not exist, or is named twice", .0.0)]
    Axis(AxisId),
    /// The number of destinations differs from that of values.
    #[error("{values} values go to {outs} places")]
    Outs {
        /// Number of values.
        values: usize,
        /// Number of destinations.
        outs: usize,
    },
    /// A destination that does not exist, is constant, or has another type or rank.
    #[error("cannot write {param}: it does not exist, is constant, or has another type or rank")]
    OutParam {
        /// The buffer argument.
        param: ParamId,
    },
    /// An index of a destination that is no index.
    #[error("index {0} of a destination is not of type index")]
    OutIndex(ExprId),
    /// A scan must have one axis.
    #[error("a scan has one axis, not {0}")]
    ScanAxes(usize),
    /// A carry whose element, fix or type does not suit its monoid.
    #[error("carry {n} ({op}): {reason}")]
    Carry {
        /// Which.
        n: usize,
        /// Its monoid.
        op: Monoid,
        /// What is wrong.
        reason: &'static str,
    },
    /// A sort whose key is no unsigned integer, or whose places are no axis of the stage, or too many.
    #[error("a sort has an unsigned key, and places that are an axis of the stage, no more than points")]
    Sort,
    /// A scatter must go to a buffer argument, and combine by an operation on its type.
    #[error("a scatter goes to one buffer argument that an earlier stage has written, and combines by one operation")]
    Scatter,
}

impl Kernel {
    /// Checks the invariants of the [module](super).
    ///
    /// # Errors
    /// The first of [`Kernel::faults`].
    pub fn verify(&self) -> Result<(), VerifyError> {
        self.faults().into_iter().next().map_or(Ok(()), Err)
    }

    /// Every invariant that does not hold, each with what it is about; of a stage the first.
    pub fn faults(&self) -> Vec<VerifyError> {
        let mut faults = self.name_faults();
        for axis in &self.axes {
            faults.extend(self.extent_fault(&format!("axis {}", axis.var), &axis.extent));
            let (var, largest) = (&axis.var, axis.extent.bounds().1.saturating_sub(1).max(0));
            if var.min() > 0 || var.max() < largest {
                faults.push(VerifyError::AxisBounds(var.clone()));
            }
        }
        for (n, param) in self.params.iter().enumerate() {
            faults.extend(param.shape.iter().filter_map(|s| self.extent_fault(&format!("p{n}"), s)));
        }
        for (n, stage) in self.stages.iter().enumerate() {
            let fault = self.verify_stage(n, stage).err();
            faults.extend(fault.map(|error| VerifyError::Stage { stage: stage.name.clone(), error }));
        }
        faults
    }

    /// Names that are used twice, and those that are none.
    fn name_faults(&self) -> Vec<VerifyError> {
        let stages = self.stages.iter().map(|s| s.name.as_str());
        let counters = self.vars.iter().chain(self.axes.iter().map(|a| &a.var)).map(Variable::name);
        let mut faults = Vec::new();
        for mut names in [stages.collect::<Vec<_>>(), counters.collect()] {
            names.sort_unstable();
            let twice = names.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]);
            let none = names.iter().copied().filter(|n| !is_name(n));
            faults.extend(twice.chain(none).map(|name| VerifyError::Name(name.to_owned())));
        }
        faults
    }

    fn extent_fault(&self, what: &str, extent: &Size) -> Option<VerifyError> {
        let known = extent.variables().iter().all(|v| self.vars.contains(v));
        let right = known && extent.is_extent();
        (!right).then(|| VerifyError::Extent { what: what.to_owned(), extent: extent.clone() })
    }

    fn verify_stage(&self, n: usize, stage: &Stage) -> Result<(), StageError> {
        let mut scope = Scope { kernel: self, before: n, axes: Vec::new(), carries: &[], uses: Uses::None };
        scope.enter(&stage.over)?;
        let types = match &stage.body {
            Body::Map(values) => scope.types(values)?,
            Body::Reduce { axes, carries, emit, results } => {
                let mut inner = scope.clone();
                inner.enter(axes)?;
                inner.carries = carries;
                verify_carries(&inner, carries)?;
                if *emit != Emit::Last {
                    if axes.len() != 1 {
                        return Err(StageError::ScanAxes(axes.len()));
                    }
                    scope.enter(axes)?;
                }
                Scope { uses: Uses::Results, carries, ..scope.clone() }.types(results)?
            }
            Body::Sort { along, to, key, results } => {
                let mut inner = scope.clone();
                inner.enter(&[*along])?;
                let dtype = inner.types(&[*key])?[0];
                let [points, places] = [along, to].map(|a| &self.axes[a.index()].extent);
                if !dtype.is_unsigned() || !stage.over.contains(to) || places.le(points) != Some(true) {
                    return Err(StageError::Sort);
                }
                let carry = |dtype| Carry { dtype, element: *key, op: Monoid::Min, fix: None };
                let carries = [carry(dtype), carry(DType::I64)];
                Scope { uses: Uses::Results, carries: &carries, ..scope.clone() }.types(results)?
            }
            Body::Scatter { value, combine } => {
                let dtype = scope.types(&[*value])?[0];
                self.verify_scatter(n, *combine, dtype)?;
                vec![dtype]
            }
        };
        if types.len() != stage.outs.len() {
            return Err(StageError::Outs { values: types.len(), outs: stage.outs.len() });
        }
        for (dtype, out) in types.into_iter().zip(&stage.outs) {
            if let Out::Param { param, index } = out {
                scope.destination(*param, index, dtype)?;
            }
        }
        Ok(())
    }

    /// That scatter `n` of values of a type combines by an operation, into what is there.
    fn verify_scatter(&self, n: usize, combine: Option<Monoid>, dtype: DType) -> Result<(), StageError> {
        let [Out::Param { param, .. }] = self.stages[n].outs.as_slice() else { return Err(StageError::Scatter) };
        let writes = |s: &Stage| s.outs.iter().any(|o| matches!(o, Out::Param { param: p, .. } if p == param));
        let combines = combine.is_none_or(|m| m.alu().is_some_and(|op| op.result(&[dtype, dtype]) == Some(dtype)));
        if combines && self.stages[..n].iter().any(writes) { Ok(()) } else { Err(StageError::Scatter) }
    }
}

fn verify_carries(scope: &Scope<'_>, carries: &[Carry]) -> Result<(), StageError> {
    for (n, carry) in carries.iter().enumerate() {
        let fault = |reason| Err(StageError::Carry { n, op: carry.op, reason });
        let element = Scope { uses: Uses::Element(n), ..scope.clone() }.types(&[carry.element])?[0];
        if element != carry.dtype {
            return fault("the element has another type than the carry");
        }
        if let Some(fix) = carry.fix {
            let fix = Scope { uses: Uses::Fix(n), ..scope.clone() }.types(&[fix])?[0];
            if fix != carry.dtype || !fix.is_float() || carry.op != Monoid::Sum {
                return fault("only a sum of floats has a fix, of the carry's type");
            }
        }
        let before = n.checked_sub(1).map(|p| carries[p].op);
        match carry.op {
            Monoid::Any | Monoid::All if carry.dtype != DType::Bool => return fault("it takes bools"),
            Monoid::ArgMax if before != Some(Monoid::Max) => return fault("it must follow a max"),
            Monoid::ArgMin if before != Some(Monoid::Min) => return fault("it must follow a min"),
            Monoid::ArgMax | Monoid::ArgMin if carry.dtype != DType::I64 => return fault("it carries an i64"),
            Monoid::Welford => {
                let run = carries[..n].iter().rev().take_while(|c| c.op == Monoid::Welford).count();
                let trio = carries.get(n - run % 3..n - run % 3 + 3);
                let alike = |c: &Carry| c.op == carry.op && c.element == carry.element && c.dtype == carry.dtype;
                if !carry.dtype.is_float() || !trio.is_some_and(|t| t.iter().all(alike)) {
                    return fault("it takes three carries in a row of one float type, with one element");
                }
            }
            op => {
                if op.alu().is_some_and(|alu| alu.result(&[carry.dtype; 2]) != Some(carry.dtype)) {
                    return fault("it does not take this type");
                }
            }
        }
    }
    Ok(())
}

/// Which running values an expression may use.
#[derive(Clone, Copy)]
enum Uses {
    None,
    Element(usize),
    Fix(usize),
    Results,
}

/// What an expression of a stage may name.
#[derive(Clone)]
struct Scope<'a> {
    kernel: &'a Kernel,
    /// Stages before this one may be read.
    before: usize,
    axes: Vec<&'a Axis>,
    carries: &'a [Carry],
    uses: Uses,
}

impl<'a> Scope<'a> {
    fn enter(&mut self, axes: &[AxisId]) -> Result<(), StageError> {
        for id in axes {
            let axis = self.kernel.axes.get(id.index()).ok_or(StageError::Axis(*id))?;
            if self.axes.iter().any(|a| a.var == axis.var) {
                return Err(StageError::Axis(*id));
            }
            self.axes.push(axis);
        }
        Ok(())
    }

    /// The types of some expressions, which are checked.
    fn types(&self, roots: &[ExprId]) -> Result<Vec<DType>, StageError> {
        expr_check::check(&self.kernel.exprs, roots, self)?;
        Ok(roots.iter().map(|r| self.kernel.exprs.dtype(*r)).collect())
    }

    fn destination(&self, id: ParamId, index: &[ExprId], dtype: DType) -> Result<(), StageError> {
        let fits = |p: &&super::Param| p.dtype == dtype && p.shape.len() == index.len() && !p.constant;
        self.kernel.params.get(id.index()).filter(fits).ok_or(StageError::OutParam { param: id })?;
        let types = self.types(index)?;
        match types.iter().position(|t| *t != DType::Index) {
            Some(n) => Err(StageError::OutIndex(index[n])),
            None => Ok(()),
        }
    }
}

impl Context for Scope<'_> {
    fn has_variable(&self, variable: &Variable) -> bool {
        self.kernel.vars.contains(variable) || self.axes.iter().any(|a| a.var == *variable)
    }

    fn memory(&self, mem: Mem) -> Option<(DType, usize)> {
        match mem {
            Mem::Param(p) => self.kernel.params.get(p.index()).map(|p| (p.dtype, p.shape.len())),
            Mem::Temp(t, field) => {
                let stage = self.kernel.stages[..self.before].get(t.index())?;
                let is_temp = matches!(stage.outs.get(usize::from(field)), Some(Out::Temp));
                let value = stage.body.values().get(usize::from(field)).copied().filter(|_| is_temp)?;
                Some((self.kernel.exprs.dtype(value), stage.dims().len()))
            }
        }
    }

    fn carry(&self, node: &Expr) -> Option<DType> {
        let n = match (node, self.uses) {
            (Expr::Carry(n, _), Uses::Results) => usize::from(*n),
            (Expr::Old(n, _), Uses::Fix(limit)) if usize::from(*n) < limit => usize::from(*n),
            (Expr::New(n, _), Uses::Fix(limit) | Uses::Element(limit)) if usize::from(*n) < limit => usize::from(*n),
            _ => return None,
        };
        self.carries.get(n).map(|c| c.dtype)
    }

    fn has_lanes(&self) -> bool {
        false
    }

    fn is_vector(&self, _: &Variable) -> bool {
        false
    }
}

impl Body {
    /// The values per point, in the order of a stage's destinations.
    pub fn values(&self) -> &[ExprId] {
        match self {
            Body::Scatter { value, .. } => std::slice::from_ref(value),
            Body::Map(results) | Body::Reduce { results, .. } | Body::Sort { results, .. } => results,
        }
    }
}

impl Stage {
    /// The dimensions of its temporaries: the axes it ranges over and, for a scan, its reduction's.
    pub fn dims(&self) -> Vec<AxisId> {
        match &self.body {
            Body::Reduce { axes, emit: Emit::Inclusive | Emit::Exclusive, .. } => [self.over.as_slice(), axes].concat(),
            _ => self.over.clone(),
        }
    }
}
