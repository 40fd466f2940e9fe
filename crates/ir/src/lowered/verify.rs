//! The invariants of a loop tree, as listed in the [module](super).
//!
//! That tasks write different elements and that unmasked accesses are in range depends on values,
//! in general: the interpreter checks it.

use super::{Guard, Home, Loop, LoopKind, Lowered, Micro, Phase, Stmt, TileOperand};
use crate::expr::{Expr, ExprId, Mem, ParamId};
use crate::expr_check::{self, Context, ExprError};
use crate::size::{Size, Variable};
use crate::text::is_name;
use svod_dtype::DType;

/// The deepest nesting of statements.
const MAX_DEPTH: usize = 100;

/// What is wrong with a loop tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// A name that is used twice, is not an identifier, or means something else.
    #[error("the name '{0}' is taken, reserved or not an identifier")]
    Name(String),
    /// A buffer argument whose shape names more than the variables.
    #[error("p{0}: the shape has no value, or names more than the variables")]
    Param(usize),
    /// A guard that names more than the variables.
    #[error("the guard `{0}` has no value, or names more than the variables")]
    Guard(Guard),
    /// Phases that are not in the order of the variants, or a variant without any.
    #[error("phase {0}: each variant has phases, and they follow one another in the order of the variants")]
    Variant(usize),
    /// A fault of one phase.
    #[error("phase {phase}: {error}")]
    Phase {
        /// Which.
        phase: usize,
        /// What is wrong with it.
        error: PhaseError,
    },
}

/// What is wrong with a phase.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PhaseError {
    /// See [`ExprError`].
    #[error(transparent)]
    Expr(#[from] ExprError),
    /// A loop or temporary whose name is used twice, is not an identifier, or means something else.
    #[error("the name '{0}' is taken, reserved or not an identifier")]
    Name(String),
    /// A size that has no value, or names more than it may.
    #[error("{what}: {size} has no value, or names what is not in scope")]
    Scope {
        /// Where.
        what: String,
        /// The size.
        size: Size,
    },
    /// A loop of the grid that is not serial, or an unrolled or vector loop with a varying extent.
    #[error("loop {0}: this kind of loop is not allowed here, or needs a constant extent")]
    Loop(Variable),
    /// A loop whose counter's bounds do not hold all its iterations.
    #[error("loop {0}: the counter's bounds do not hold every iteration")]
    LoopBounds(Variable),
    /// A statement other than stores and unrolled loops in a vector loop.
    #[error("vector loop {0} contains more than stores and unrolled loops")]
    Vector(Variable),
    /// A condition that is not of type bool, or that differs between lanes.
    #[error("condition {0} is not a bool, or not uniform")]
    Condition(ExprId),
    /// A store to a memory that does not exist or is constant, with another rank or types.
    #[error("cannot write {value} to {to:?}: it does not exist, is constant, or has another type or rank")]
    Store {
        /// The memory.
        to: Mem,
        /// The value.
        value: ExprId,
    },
    /// A register indexed by what has no constant value once loops are unrolled, or by a vector
    /// loop elsewhere than in its last dimension.
    #[error("{0:?} is in registers, and indexed by more than constants, unrolled and, last, vector loops")]
    Register(Mem),
    /// An operand of a contraction tile that does not exist, or has the wrong home, rank or type.
    #[error("a contraction tile cannot use {0:?}: home, rank or type do not suit it")]
    Tile(Mem),
    /// A buffer argument that does not exist, has another rank, or is constant and written.
    #[error("cannot use {0}: it does not exist, has another rank, or is constant")]
    Argument(ParamId),
    /// Statements nested beyond the limit.
    #[error("statements are nested more than {MAX_DEPTH} deep")]
    Depth,
}

impl Lowered {
    /// Checks the invariants of the [module](super).
    ///
    /// # Errors
    /// The first of [`Lowered::faults`].
    pub fn verify(&self) -> Result<(), VerifyError> {
        self.faults().into_iter().next().map_or(Ok(()), Err)
    }

    /// Every invariant that does not hold, each with what it is about; of a phase the first.
    pub fn faults(&self) -> Vec<VerifyError> {
        let mut faults = Vec::new();
        faults.extend((!is_name(&self.name)).then(|| VerifyError::Name(self.name.clone())));
        let taken = |n: usize, v: &Variable| self.vars[..n].iter().any(|w| w.name() == v.name());
        let wrong = self.vars.iter().enumerate().filter(|(n, v)| !is_name(v.name()) || taken(*n, v));
        faults.extend(wrong.map(|(_, v)| VerifyError::Name(v.name().to_owned())));
        let known = |size: &Size| names_only(size, &self.vars);
        let params = self.params.iter().enumerate().filter(|(_, param)| !param.shape.iter().all(known));
        faults.extend(params.map(|(n, _)| VerifyError::Param(n)));
        let guards = self.guards.iter().filter(|guard| !known(&guard.left) || !known(&guard.right));
        faults.extend(guards.map(|guard| VerifyError::Guard(guard.clone())));
        let mut last = None;
        for (n, phase) in self.phases.iter().enumerate() {
            if last != Some(phase.variant) && phase.variant != last.map_or(0, |v| v + 1) {
                faults.push(VerifyError::Variant(n));
            }
            last = Some(phase.variant);
        }
        if !self.phases.is_empty() && last != Some(self.guards.len()) {
            faults.push(VerifyError::Variant(self.phases.len()));
        }
        for (n, phase) in self.phases.iter().enumerate() {
            faults.extend(verify_phase(self, phase).err().map(|error| VerifyError::Phase { phase: n, error }));
        }
        faults
    }
}

fn names_only(size: &Size, vars: &[Variable]) -> bool {
    size.fault().is_none() && size.variables().iter().all(|v| vars.contains(v))
}

fn verify_phase(lowered: &Lowered, phase: &Phase) -> Result<(), PhaseError> {
    let names = lowered.vars.iter().map(|v| v.name().to_owned()).collect();
    let mut scope = Scope { lowered, phase, vars: lowered.vars.clone(), loops: Vec::new(), names };
    for l in &phase.grid {
        scope.check_size(&format!("grid {}", l.var), &l.extent, &lowered.vars)?;
        if l.kind != LoopKind::Serial {
            return Err(PhaseError::Loop(l.var.clone()));
        }
    }
    for l in &phase.grid {
        scope.enter(l)?;
    }
    for param in &phase.streams {
        if lowered.params.get(param.index()).is_none_or(|p| p.constant) {
            return Err(PhaseError::Argument(*param));
        }
    }
    for (n, temp) in phase.temps.iter().enumerate() {
        if !is_name(&temp.name) || phase.temps[..n].iter().any(|t| t.name == temp.name) {
            return Err(PhaseError::Name(temp.name.clone()));
        }
        temp.shape.iter().try_for_each(|s| scope.check_size(&temp.name, s, &lowered.vars))?;
        if temp.home == Home::Register && temp.shape.iter().any(|s| s.as_usize().is_none()) {
            let size = temp.shape.iter().find(|s| s.as_usize().is_none()).cloned().unwrap_or(Size::ZERO);
            return Err(PhaseError::Scope { what: temp.name.clone(), size });
        }
    }
    scope.body(&phase.body, 0)
}

/// What a statement may name.
struct Scope<'a> {
    lowered: &'a Lowered,
    phase: &'a Phase,
    /// Variables of the kernel and counters of the loops around, outermost first.
    vars: Vec<Variable>,
    /// The loops around, the grid included.
    loops: Vec<Loop>,
    /// Every name that is taken in the phase.
    names: std::collections::BTreeSet<String>,
}

impl Scope<'_> {
    fn check_size(&self, what: &str, size: &Size, vars: &[Variable]) -> Result<(), PhaseError> {
        if names_only(size, vars) {
            return Ok(());
        }
        Err(PhaseError::Scope { what: what.to_owned(), size: size.clone() })
    }

    fn enter(&mut self, l: &Loop) -> Result<(), PhaseError> {
        if !is_name(l.var.name()) || !self.names.insert(l.var.name().to_owned()) {
            return Err(PhaseError::Name(l.var.name().to_owned()));
        }
        self.check_size(&format!("loop {}", l.var), &l.extent, &self.vars)?;
        let (var, last) = (&l.var, l.extent.bounds().1.saturating_sub(1));
        if last >= 0 && (var.min() > 0 || var.max() < last) {
            return Err(PhaseError::LoopBounds(var.clone()));
        }
        self.vars.push(l.var.clone());
        self.loops.push(l.clone());
        Ok(())
    }

    fn kind(&self, var: &Variable) -> Option<LoopKind> {
        self.loops.iter().find(|l| l.var == *var).map(|l| l.kind)
    }

    fn body(&mut self, body: &[Stmt], depth: usize) -> Result<(), PhaseError> {
        if depth > MAX_DEPTH {
            return Err(PhaseError::Depth);
        }
        for stmt in body {
            expr_check::check(&self.phase.exprs, &stmt.roots(), self)?;
            self.verify_registers(&stmt.roots())?;
            let vector = self.loops.iter().find(|l| l.kind == LoopKind::Vector).map(|l| l.var.clone());
            let allowed = match stmt {
                Stmt::Store { .. } => true,
                Stmt::Loop(l, _) => l.kind == LoopKind::Unroll,
                Stmt::If(..) | Stmt::Micro(_) | Stmt::Prefetch { .. } => false,
            };
            if let Some(vector) = vector.filter(|_| !allowed) {
                return Err(PhaseError::Vector(vector));
            }
            match stmt {
                Stmt::Loop(l, inner) => {
                    if l.kind != LoopKind::Serial && l.extent.as_usize().is_none() {
                        return Err(PhaseError::Loop(l.var.clone()));
                    }
                    self.enter(l)?;
                    self.body(inner, depth + 1)?;
                    self.loops.pop();
                    self.vars.pop();
                }
                Stmt::If(cond, inner) => {
                    self.bool(*cond)?;
                    self.body(inner, depth + 1)?;
                }
                Stmt::Store { to, index, value, valid } => {
                    valid.iter().try_for_each(|v| self.bool(*v))?;
                    self.verify_store(*to, index, *value)?;
                }
                Stmt::Micro(m) => self.verify_micro(m)?,
                Stmt::Prefetch { from, index } => self.verify_fetch(*from, index)?,
            }
        }
        Ok(())
    }

    fn bool(&self, cond: ExprId) -> Result<(), PhaseError> {
        if self.phase.exprs.dtype(cond) == DType::Bool { Ok(()) } else { Err(PhaseError::Condition(cond)) }
    }

    fn verify_store(&self, to: Mem, index: &[ExprId], value: ExprId) -> Result<(), PhaseError> {
        let exprs = &self.phase.exprs;
        let constant = matches!(to, Mem::Param(p) if self.lowered.params.get(p.index()).is_some_and(|p| p.constant));
        let indices = index.iter().all(|i| exprs.dtype(*i) == DType::Index);
        if constant || !indices || self.memory(to) != Some((exprs.dtype(value), index.len())) {
            return Err(PhaseError::Store { to, value });
        }
        self.verify_register(to, index)
    }

    fn verify_registers(&self, roots: &[ExprId]) -> Result<(), PhaseError> {
        for load in self.phase.exprs.loads(roots) {
            if let Expr::Load { from, index, .. } = self.phase.exprs.get(load) {
                self.verify_register(*from, index)?;
            }
        }
        Ok(())
    }

    /// Checks that a register is indexed by what is constant once loops are unrolled.
    fn verify_register(&self, mem: Mem, index: &[ExprId]) -> Result<(), PhaseError> {
        if self.home(mem) != Some(Home::Register) {
            return Ok(());
        }
        for (d, i) in index.iter().enumerate() {
            let Expr::Index(size) = self.phase.exprs.get(*i) else { return Err(PhaseError::Register(mem)) };
            let fixed = |v: &Variable| match self.kind(v) {
                Some(LoopKind::Unroll) => true,
                Some(LoopKind::Vector) => d + 1 == index.len(),
                Some(LoopKind::Serial) => false,
                // Lanes that the expression itself binds.
                None => d + 1 == index.len() && !self.vars.contains(v),
            };
            if !size.variables().iter().all(fixed) {
                return Err(PhaseError::Register(mem));
            }
        }
        Ok(())
    }

    fn home(&self, mem: Mem) -> Option<Home> {
        match mem {
            Mem::Temp(t, 0) => self.phase.temps.get(t.index()).map(|t| t.home),
            Mem::Temp(..) | Mem::Param(_) => None,
        }
    }

    fn verify_fetch(&self, from: ParamId, index: &[Size]) -> Result<(), PhaseError> {
        index.iter().try_for_each(|i| self.check_size("prefetch", i, &self.vars))?;
        let fits = self.memory(Mem::Param(from)).is_some_and(|(_, rank)| rank == index.len());
        if fits { Ok(()) } else { Err(PhaseError::Argument(from)) }
    }

    fn verify_micro(&self, m: &Micro) -> Result<(), PhaseError> {
        self.check_size("micro depth", &m.depth, &self.vars)?;
        self.check_size("micro start", &m.start, &self.vars)?;
        for (operand, dtype) in [(&m.a, m.stored()), (&m.b, m.stored()), (&m.c, m.acc)] {
            let TileOperand { mem, index, stride } = operand;
            index.iter().chain([stride]).try_for_each(|s| self.check_size("micro", s, &self.vars))?;
            if self.memory(*mem) != Some((dtype, index.len())) || self.home(*mem) == Some(Home::Register) {
                return Err(PhaseError::Tile(*mem));
            }
        }
        if m.pairs && m.dtype.bytes() != 2 {
            return Err(PhaseError::Tile(m.a.mem));
        }
        if let Some(t) = m.b_offsets {
            let mem = Mem::Temp(t, 0);
            if self.memory(mem) != Some((DType::I32, 1)) || self.home(mem) == Some(Home::Register) {
                return Err(PhaseError::Tile(mem));
            }
        }
        if let Some(fetch) = &m.fetch {
            self.verify_fetch(fetch.from, &fetch.index)?;
            self.check_size("fetch", &fetch.step, &self.vars)?;
        }
        let constant = matches!(m.c.mem, Mem::Param(p) if self.lowered.params[p.index()].constant);
        if constant { Err(PhaseError::Tile(m.c.mem)) } else { Ok(()) }
    }
}

impl Context for Scope<'_> {
    fn has_variable(&self, variable: &Variable) -> bool {
        self.vars.contains(variable)
    }

    fn memory(&self, mem: Mem) -> Option<(DType, usize)> {
        match mem {
            Mem::Param(p) => self.lowered.params.get(p.index()).map(|p| (p.dtype, p.shape.len())),
            Mem::Temp(t, 0) => self.phase.temps.get(t.index()).map(|t| (t.dtype, t.shape.len())),
            Mem::Temp(..) => None,
        }
    }

    fn carry(&self, _: &Expr) -> Option<DType> {
        None
    }

    fn has_lanes(&self) -> bool {
        true
    }

    fn is_vector(&self, variable: &Variable) -> bool {
        self.kind(variable) == Some(LoopKind::Vector)
    }
}
