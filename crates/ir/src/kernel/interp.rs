//! The reference interpreter of kernels: what each stage says, point by point, in order.
//!
//! Loads of a buffer argument see its content from before the kernel. Reductions go in sequence, one
//! rounding per operation, so a schedule that associates differently agrees up to rounding only.

use super::{Body, Carry, Emit, Kernel, Monoid, Out, Stage};
use crate::alu::Alu;
use crate::buffer::HostBuffer;
use crate::expr::{Expr, ExprId, Mem, ParamId};
use crate::expr_eval::{Bindings, Evaluator, InterpError, Machine, Value, extents, flat, points};
use crate::size::BoundVariable;
use rustc_hash::FxHashMap;
use svod_dtype::Const;

impl Kernel {
    /// Computes the kernel over its buffer arguments, in order; outputs are overwritten. The
    /// kernel must satisfy [`Kernel::verify`].
    ///
    /// # Errors
    /// Buffers that do not fit, unbound variables, an unmasked access out of range, an element
    /// written twice.
    pub fn interpret(&self, vars: &[BoundVariable], buffers: &mut [HostBuffer]) -> Result<(), InterpError> {
        let mut vars: Bindings = vars.iter().map(|b| (b.variable().clone(), b.value())).collect();
        let shapes = param_shapes(&self.params, &vars, buffers)?;
        let mut run = Run {
            kernel: self,
            evaluator: Evaluator::new(&self.exprs),
            state: State { inputs: buffers.to_vec(), shapes, temps: Vec::new(), carries: Vec::new(), old: Vec::new() },
            written: buffers.iter().map(|b| vec![false; b.len()]).collect(),
            buffers,
        };
        for stage in &self.stages {
            run.stage(stage, &mut vars)?;
        }
        Ok(())
    }
}

/// The shapes of buffer arguments, after a check that the buffers fit them.
pub(crate) fn param_shapes(
    params: &[super::Param],
    vars: &Bindings,
    buffers: &[HostBuffer],
) -> Result<Vec<Vec<i64>>, InterpError> {
    if params.len() != buffers.len() {
        return Err(InterpError::Buffers { given: buffers.len(), expected: params.len() });
    }
    let mut shapes = Vec::new();
    for (n, (param, buffer)) in params.iter().zip(buffers).enumerate() {
        let (shape, len) = extents(&param.shape, vars)?;
        if param.dtype != buffer.dtype() || buffer.len() < len {
            let (given_dtype, given_len) = (buffer.dtype(), buffer.len());
            return Err(InterpError::Buffer { param: n, dtype: param.dtype, len, given_dtype, given_len });
        }
        shapes.push(shape);
    }
    Ok(shapes)
}

/// The values of one stage, as far as they are temporaries.
struct Temp {
    shape: Vec<i64>,
    values: Vec<Vec<Const>>,
}

/// What expressions read.
struct State {
    inputs: Vec<HostBuffer>,
    shapes: Vec<Vec<i64>>,
    temps: Vec<Temp>,
    /// Running values; within a step, those of earlier carries are already new.
    carries: Vec<Const>,
    /// Running values before the step.
    old: Vec<Const>,
}

impl Machine for State {
    fn load(&self, from: Mem, index: &[i64]) -> Result<Value, InterpError> {
        let missing = || InterpError::OutOfRange { mem: from, index: index.to_vec(), shape: Vec::new() };
        match from {
            Mem::Param(p) => {
                let shape = self.shapes.get(p.index()).ok_or_else(missing)?;
                Ok(Some(self.inputs[p.index()].get(flat(from, index, shape)?)))
            }
            Mem::Temp(t, field) => {
                let temp = self.temps.get(t.index()).ok_or_else(missing)?;
                let position = flat(from, index, &temp.shape)?;
                let value = temp.values.get(usize::from(field)).and_then(|v| v.get(position));
                value.copied().map(Some).ok_or_else(missing)
            }
        }
    }

    fn carry(&self, node: &Expr) -> Value {
        match node {
            Expr::Carry(n, _) | Expr::New(n, _) => self.carries.get(usize::from(*n)).copied(),
            Expr::Old(n, _) => self.old.get(usize::from(*n)).copied(),
            _ => None,
        }
    }
}

/// A row that a stage sorts.
struct SortedRow {
    along: super::AxisId,
    to: super::AxisId,
    key: ExprId,
    count: i64,
}

/// Sorted rows, positions with keys, by the values of the axes that tell rows apart.
type Rows = FxHashMap<Vec<i64>, Vec<(i64, Const)>>;

struct Run<'a> {
    kernel: &'a Kernel,
    evaluator: Evaluator<'a>,
    state: State,
    buffers: &'a mut [HostBuffer],
    written: Vec<Vec<bool>>,
}

impl Run<'_> {
    fn stage(&mut self, stage: &Stage, vars: &mut Bindings) -> Result<(), InterpError> {
        let outer = vars.len();
        let sizes = |axes: &[super::AxisId]| -> Vec<_> {
            axes.iter().map(|a| self.kernel.axes[a.index()].extent.clone()).collect()
        };
        let (over, _) = extents(&sizes(&stage.over), vars)?;
        let (shape, _) = extents(&sizes(&stage.dims()), vars)?;
        let inner = extents(&sizes(stage.body.inner()), vars)?.0;
        let mut values = vec![Vec::new(); stage.outs.len()];
        let mut rows = FxHashMap::default();
        for point in points(&over) {
            vars.extend(stage.over.iter().map(|a| self.kernel.axes[a.index()].var.clone()).zip(point));
            match &stage.body {
                Body::Map(mapped) => self.emit(stage, mapped, vars, &mut values)?,
                Body::Reduce { axes, carries, emit, results } => {
                    self.state.carries = carries.iter().map(|c| c.op.identity(c.dtype)).collect();
                    for step in points(&inner) {
                        let over = vars.len();
                        vars.extend(axes.iter().map(|a| self.kernel.axes[a.index()].var.clone()).zip(step));
                        if *emit == Emit::Exclusive {
                            self.emit(stage, results, vars, &mut values)?;
                        }
                        self.step(carries, vars)?;
                        if *emit == Emit::Inclusive {
                            self.emit(stage, results, vars, &mut values)?;
                        }
                        vars.truncate(over);
                    }
                    if *emit == Emit::Last {
                        self.emit(stage, results, vars, &mut values)?;
                    }
                }
                Body::Sort { along, to, key, results } => {
                    let sort = SortedRow { along: *along, to: *to, key: *key, count: inner[0] };
                    self.sort(&sort, vars, &mut rows)?;
                    self.emit(stage, results, vars, &mut values)?;
                }
                Body::Scatter { value, combine } => self.scatter(stage, *value, *combine, vars)?,
            }
            vars.truncate(outer);
        }
        self.state.temps.push(Temp { shape, values });
        Ok(())
    }

    /// Evaluates the values of one point, and puts each where it goes.
    fn emit(
        &mut self,
        stage: &Stage,
        results: &[ExprId],
        vars: &mut Bindings,
        values: &mut [Vec<Const>],
    ) -> Result<(), InterpError> {
        for (field, (result, out)) in results.iter().zip(&stage.outs).enumerate() {
            let value = self.evaluator.eval(*result, vars, &self.state)?.ok_or(InterpError::Undefined)?;
            match out {
                Out::Temp => values[field].push(value),
                Out::Param { param, index } => {
                    let index = self.evaluator.index(index, vars, &self.state)?;
                    let mem = Mem::Param(*param);
                    let element = flat(mem, &index, &self.state.shapes[param.index()])?;
                    self.write_once(*param, element)?;
                    self.buffers[param.index()].set(element, value);
                }
            }
        }
        Ok(())
    }

    fn write_once(&mut self, param: ParamId, element: usize) -> Result<(), InterpError> {
        let written = &mut self.written[param.index()][element];
        if std::mem::replace(written, true) {
            return Err(InterpError::WrittenTwice { mem: Mem::Param(param), element });
        }
        Ok(())
    }

    /// Reduces the element at this point into each carry, in order.
    fn step(&mut self, carries: &[Carry], vars: &mut Bindings) -> Result<(), InterpError> {
        self.state.old.clone_from(&self.state.carries);
        for (n, carry) in carries.iter().enumerate() {
            let alu = |op: Alu, a: Const, b: Const| op.eval(&[a, b]).ok_or(InterpError::Malformed(carry.element));
            let element = self.evaluator.eval(carry.element, vars, &self.state)?.ok_or(InterpError::Undefined)?;
            let old = self.state.old[n];
            let new = match carry.op {
                Monoid::ArgMax | Monoid::ArgMin if self.moved(n) => element,
                Monoid::ArgMax | Monoid::ArgMin => old,
                Monoid::Welford => {
                    // The trio is updated at its first carry; the others find their values done.
                    let first = carries[..n].iter().rev().take_while(|c| c.op == Monoid::Welford).count() % 3 == 0;
                    if first {
                        let [count, mean, m2] = [old, self.state.old[n + 1], self.state.old[n + 2]];
                        let count = alu(Alu::Add, count, Const::one(carry.dtype))?;
                        let before = alu(Alu::Sub, element, mean)?;
                        let mean = alu(Alu::Add, mean, alu(Alu::Div, before, count)?)?;
                        let after = alu(Alu::Sub, element, mean)?;
                        let m2 = alu(Alu::Add, m2, alu(Alu::Mul, before, after)?)?;
                        self.state.carries[n + 1] = mean;
                        self.state.carries[n + 2] = m2;
                        count
                    } else {
                        self.state.carries[n]
                    }
                }
                op => {
                    let mut running = old;
                    if let Some(fix) = carry.fix {
                        let factor = self.evaluator.eval(fix, vars, &self.state)?.ok_or(InterpError::Undefined)?;
                        if !factor.is_nan() {
                            running = alu(Alu::Mul, running, factor)?;
                        }
                    }
                    alu(op.alu().ok_or(InterpError::Malformed(carry.element))?, running, element)?
                }
            };
            self.state.carries[n] = new;
        }
        Ok(())
    }

    /// The key and the point at the current place of axis `to`, as carries.
    fn sort(&mut self, sort: &SortedRow, vars: &mut Bindings, rows: &mut Rows) -> Result<(), InterpError> {
        let SortedRow { along, to, key, count } = *sort;
        let axes = &self.kernel.axes;
        let to = &axes[to.index()].var;
        let place = vars.iter().rev().find(|(v, _)| v == to).map_or(0, |(_, i)| *i as usize);
        let row: Vec<i64> = vars.iter().filter(|(v, _)| v != to).map(|(_, i)| *i).collect();
        if !rows.contains_key(&row) {
            let mut keys = Vec::new();
            for i in 0..count {
                vars.push((axes[along.index()].var.clone(), i));
                let value = self.evaluator.eval(key, vars, &self.state)?.ok_or(InterpError::Undefined)?;
                keys.push((i, value));
                vars.pop();
            }
            keys.sort_by_key(|(i, key)| (key.as_i128(), *i));
            rows.insert(row.clone(), keys);
        }
        let (i, value) = rows[&row].get(place).ok_or(InterpError::Malformed(key))?;
        self.state.carries = vec![*value, Const::i64(svod_dtype::DType::I64, *i)];
        Ok(())
    }

    /// Whether the carry before the `n`-th, an extremum, has changed its value in this step.
    fn moved(&self, n: usize) -> bool {
        let (old, new) = (self.state.old[n - 1], self.state.carries[n - 1]);
        !old.is_nan() && Alu::Ne.eval(&[old, new]).is_some_and(Const::as_bool)
    }

    fn scatter(
        &mut self,
        stage: &Stage,
        root: ExprId,
        combine: Option<Monoid>,
        vars: &mut Bindings,
    ) -> Result<(), InterpError> {
        let Some(Out::Param { param, index }) = stage.outs.first() else { return Err(InterpError::Malformed(root)) };
        let index = self.evaluator.index(index, vars, &self.state)?;
        let Ok(element) = flat(Mem::Param(*param), &index, &self.state.shapes[param.index()]) else {
            return Ok(());
        };
        let mut value = self.evaluator.eval(root, vars, &self.state)?.ok_or(InterpError::Undefined)?;
        if let Some(op) = combine.and_then(Monoid::alu) {
            let old = self.buffers[param.index()].get(element);
            value = op.eval(&[old, value]).ok_or(InterpError::Malformed(root))?;
        }
        self.buffers[param.index()].set(element, value);
        Ok(())
    }
}
