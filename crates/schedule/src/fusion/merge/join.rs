//! Making one kernel of two, given which of their rows are the same.
//!
//! The second kernel's stages are added to the first's. What both compute is computed once; where the
//! second reads what the first writes, it reads the stage that computes it.

use super::{Ranged, SharedRows};
use crate::kernel::contraction::recognise;
use rustc_hash::FxHashMap;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, ParamId, TempId};
use svod_ir::graph::walk::NodeIndex;
use svod_ir::kernel::{Axis, AxisId, Body, Carry, Kernel, Out, Stage};
use svod_ir::size::{Size, Variable};

/// A value of a stage: the stage, and which of its values.
type Value = (TempId, usize);

/// Makes one kernel of two whose rows are the same. Nothing, where the second reads what the first
/// writes in a way that needs memory.
pub(super) fn join(first: &Ranged, second: &Ranged, rows: &SharedRows) -> Option<Ranged> {
    let mut join = Join {
        kernel: first.kernel.clone(),
        nodes: first.params.clone(),
        outputs: first.outputs.clone(),
        second,
        axes: vec![None; second.kernel.axes.len()],
        params: vec![ParamId(0); second.params.len()],
        produced: FxHashMap::default(),
        values: FxHashMap::default(),
        last: first.kernel.stages.len().checked_sub(1)?,
        merged: None,
    };
    rows.pairs.iter().for_each(|(of_second, of_first)| join.axes[of_second.index()] = Some(*of_first));
    join.share_depth();
    join.add_params()?;
    join.add_stages()?;
    let Join { mut kernel, nodes, outputs, .. } = join;
    let last = kernel.stages.len() - 1;
    for (n, stage) in kernel.stages.iter_mut().enumerate() {
        stage.name = if n == last { "out".into() } else { format!("s{n}") };
    }
    Some(Ranged { kernel, params: nodes, outputs })
}

struct Join<'a> {
    kernel: Kernel,
    nodes: Vec<NodeIndex>,
    outputs: Vec<NodeIndex>,
    second: &'a Ranged,
    /// The axes that those of the second kernel have become.
    axes: Vec<Option<AxisId>>,
    /// The parameters that those of the second kernel have become.
    params: Vec<ParamId>,
    /// Parameters of the second kernel that the first writes.
    produced: FxHashMap<ParamId, Value>,
    /// What the values of the second kernel's stages have become.
    values: FxHashMap<Value, Value>,
    /// The first kernel's last stage.
    last: usize,
    /// Where the two last stages are one map: what the second reads of the first's is its value.
    merged: Option<Vec<ExprId>>,
}

impl Join<'_> {
    /// Lets contractions sum over the same axes, so that an operand of both is the same expression.
    fn share_depth(&mut self) {
        let second = &self.second.kernel;
        if recognise(&self.kernel, 0).is_none() || recognise(second, 0).is_none() {
            return;
        }
        let (ours, theirs) = (self.kernel.stages[0].body.inner(), second.stages[0].body.inner());
        let extents = |k: &Kernel, axes: &[AxisId]| -> Vec<Size> {
            axes.iter().map(|a| k.axes[a.index()].extent.clone()).collect()
        };
        if extents(&self.kernel, ours) == extents(second, theirs) {
            theirs.iter().zip(ours).for_each(|(b, a)| self.axes[b.index()] = Some(*a));
        }
    }

    /// Gives the arguments numbers; nothing, where one is what the first writes under another shape.
    fn add_params(&mut self) -> Option<()> {
        let second = &self.second.kernel;
        for (p, node) in self.second.params.iter().enumerate() {
            let same = |q: &usize| self.nodes[*q] == *node && self.kernel.params[*q].shape == second.params[p].shape;
            if (0..self.nodes.len()).any(|q| self.nodes[q] == *node && !same(&q) && self.outputs.contains(node)) {
                return None;
            }
            let id = match (0..self.nodes.len()).find(same) {
                Some(known) => {
                    let id = ParamId(known as u32);
                    if let Some(value) = written_by(&self.kernel, id) {
                        self.produced.insert(ParamId(p as u32), value);
                    }
                    id
                }
                None => {
                    self.kernel.params.push(second.params[p].clone());
                    self.nodes.push(*node);
                    ParamId(self.nodes.len() as u32 - 1)
                }
            };
            self.params[p] = id;
        }
        self.outputs.extend(&self.second.outputs);
        for v in &second.vars {
            if !self.kernel.vars.contains(v) {
                self.kernel.vars.push(v.clone());
            }
        }
        Some(())
    }

    fn add_stages(&mut self) -> Option<()> {
        let second = self.second;
        let last = second.kernel.stages.len() - 1;
        let reads_last = (0..=last).any(|s| self.reads(s, self.last));
        let one_map = self.is_one_map();
        let wider = self.kernel.stages[self.last].over.len() > second.kernel.stages[last].over.len();
        // The last stage has the loops that the others are placed in: the one of more axes, if it can.
        let kept = if one_map || (wider && !reads_last) { self.kernel.stages.pop() } else { None };
        for s in 0..last {
            self.add_stage(s)?;
        }
        match kept {
            Some(mut stage) if one_map => {
                self.merged = Some(stage.body.values().to_vec());
                let theirs = &second.kernel.stages[last];
                let roots = self.copy(&theirs.roots())?;
                let mut copied = theirs.clone();
                let mut roots = roots.into_iter();
                copied.for_each_root(&mut |root| *root = roots.next().unwrap_or(*root));
                self.rename_outs(&mut copied);
                if let (Body::Map(values), Body::Map(added)) = (&mut stage.body, copied.body) {
                    values.extend(added);
                }
                stage.outs.extend(copied.outs);
                self.kernel.stages.push(stage);
            }
            Some(stage) => {
                self.add_stage(last)?;
                self.kernel.stages.push(stage);
            }
            None => self.add_stage(last)?,
        }
        Some(())
    }

    /// Whether the two last stages are maps of the same points, and only the second's reads the first's.
    fn is_one_map(&self) -> bool {
        let (ours, theirs) = (&self.kernel.stages[self.last], self.second.kernel.stages.last());
        let Some(theirs) = theirs else { return false };
        let maps = [ours, theirs].iter().all(|s| matches!(s.body, Body::Map(_)));
        let same = theirs.over.len() == ours.over.len()
            && theirs.over.iter().all(|a| self.axes[a.index()].is_some_and(|a| ours.over.contains(&a)));
        maps && same && (0..self.second.kernel.stages.len() - 1).all(|s| !self.reads(s, self.last))
    }

    /// Whether stage `s` of the second kernel reads what stage `of` of the first writes.
    fn reads(&self, s: usize, of: usize) -> bool {
        let exprs = &self.second.kernel.exprs;
        exprs.loads(&self.second.kernel.stages[s].roots()).iter().any(|load| match exprs.get(*load) {
            Expr::Load { from: Mem::Param(p), .. } => self.produced.get(p).is_some_and(|(t, _)| t.index() == of),
            _ => false,
        })
    }

    fn add_stage(&mut self, s: usize) -> Option<()> {
        let theirs = self.second.kernel.stages[s].clone();
        if let Some(known) = self.known(&theirs) {
            for (n, out) in theirs.outs.iter().enumerate() {
                let to = TempId(known as u32);
                match out {
                    Out::Temp => {
                        let field = expose(&mut self.kernel, (to, n))?;
                        self.values.insert((TempId(s as u32), n), (to, field));
                    }
                    Out::Param { param, index } => {
                        let index = self.copy(index)?;
                        let param = self.params[param.index()];
                        push(&mut self.kernel.stages[known], n, Out::Param { param, index })?;
                    }
                }
            }
            return Some(());
        }
        for axis in theirs.over.iter().chain(theirs.body.inner()) {
            if self.axes[axis.index()].is_none() {
                let extent = self.second.kernel.axes[axis.index()].extent.clone();
                self.axes[axis.index()] = Some(new_axis(&mut self.kernel, extent));
            }
        }
        let mut roots = self.copy(&theirs.roots())?.into_iter();
        let mut stage = theirs;
        stage.for_each_root(&mut |root| *root = roots.next().unwrap_or(*root));
        self.rename_outs(&mut stage);
        let rename = |a: &mut AxisId| *a = self.axes[a.index()].unwrap_or(*a);
        stage.over.iter_mut().for_each(rename);
        stage.body.for_each_axis(&mut |a| rename(a));
        let to = TempId(self.kernel.stages.len() as u32);
        (0..stage.outs.len()).for_each(|n| {
            self.values.insert((TempId(s as u32), n), (to, n));
        });
        self.kernel.stages.push(stage);
        Some(())
    }

    fn rename_outs(&self, stage: &mut Stage) {
        for out in &mut stage.outs {
            if let Out::Param { param, .. } = out {
                *param = self.params[param.index()];
            }
        }
    }

    /// A stage that computes the same already; its axes are then those of the second kernel's.
    fn known(&mut self, theirs: &Stage) -> Option<usize> {
        (0..self.kernel.stages.len()).find(|s| {
            let before = self.axes.clone();
            let same = self.is_same(theirs, *s).is_some();
            if !same {
                self.axes = before;
            }
            same
        })
    }

    fn is_same(&mut self, theirs: &Stage, s: usize) -> Option<()> {
        let ours = self.kernel.stages[s].clone();
        let own = |stage: &Stage| [&stage.over[..], stage.body.inner()].concat();
        let lengths = |stage: &Stage| (stage.over.len(), stage.body.inner().len(), stage.body.values().len());
        if lengths(theirs).0 != lengths(&ours).0 || lengths(theirs).1 != lengths(&ours).1 {
            return None;
        }
        for (b, a) in own(theirs).into_iter().zip(own(&ours)) {
            let extent = |k: &Kernel, x: AxisId| k.axes[x.index()].extent.clone();
            match self.axes[b.index()] {
                Some(known) if known != a => return None,
                None if extent(&self.kernel, a) != extent(&self.second.kernel, b) => return None,
                _ => self.axes[b.index()] = Some(a),
            }
        }
        match (&theirs.body, &ours.body) {
            (Body::Map(added), Body::Map(values)) => {
                (self.copy(added)?.iter().zip(values).all(|(a, b)| a == b) && added.len() <= values.len()).then_some(())
            }
            (
                Body::Reduce { carries: added, results: from, emit: e1, .. },
                Body::Reduce { carries, results, emit: e2, .. },
            ) => {
                let mut same = e1 == e2 && added.len() == carries.len() && from.len() <= results.len();
                for (a, b) in added.iter().zip(carries) {
                    let element = self.copy(&[a.element])?[0];
                    same &= *b == Carry { element, ..a.clone() };
                }
                (same && self.copy(from)?.iter().zip(results).all(|(a, b)| a == b)).then_some(())
            }
            _ => None,
        }
    }

    /// Expressions of the second kernel in terms of the new one.
    fn copy(&mut self, roots: &[ExprId]) -> Option<Vec<ExprId>> {
        let second = &self.second.kernel;
        // Fields for what is read of the first kernel's outputs, before the pool is borrowed.
        for load in second.exprs.loads(roots) {
            let Expr::Load { from: Mem::Param(p), valid, .. } = second.exprs.get(load) else { continue };
            let Some(&(stage, value)) = self.produced.get(p) else { continue };
            if valid.is_some() {
                return None;
            }
            let inlined = self.merged.is_some() && stage.index() == self.last;
            if !inlined {
                expose(&mut self.kernel, (stage, value))?;
            }
        }
        let mut pool = std::mem::take(&mut self.kernel.exprs);
        let place = |v: &Variable| {
            let at = second.axes.iter().position(|a| a.var == *v)?;
            self.axes[at].map(|a| Size::from(&self.kernel.axes[a.index()].var))
        };
        let mut failed = false;
        let rewrite = |pool: &mut ExprPool, node: Expr, dtype| match node {
            Expr::Load { from: Mem::Param(p), ref index, valid, other } => match self.produced.get(&p) {
                Some(value) => self.read(pool, *value, index, dtype).unwrap_or_else(|| {
                    failed = true;
                    pool.constant(other)
                }),
                None => pool.load_valid(dtype, Mem::Param(self.params[p.index()]), index, valid, other),
            },
            Expr::Load { from: Mem::Temp(t, field), ref index, valid, other } => {
                let value = self.values.get(&(t, usize::from(field))).copied();
                failed |= value.is_none();
                let (stage, value) = value.unwrap_or((t, field.into()));
                pool.load_valid(dtype, Mem::Temp(stage, value as u8), index, valid, other)
            }
            node => pool.add(node, dtype),
        };
        let copies = pool.copy_with(&second.exprs, roots, &place, rewrite);
        self.kernel.exprs = pool;
        (!failed).then_some(copies)
    }

    /// What the first kernel writes at an index of its output, as a read of the stage.
    fn read(
        &self,
        pool: &mut ExprPool,
        (stage, value): Value,
        index: &[ExprId],
        dtype: svod_dtype::DType,
    ) -> Option<ExprId> {
        if let Some(values) = self.merged.as_ref().filter(|_| stage.index() == self.last) {
            return values.get(value).copied();
        }
        let of = &self.kernel.stages[stage.index()];
        let written = self.place(of, value)?;
        let mut at = Vec::with_capacity(of.over.len());
        for axis in &of.over {
            let here = Size::from(&self.kernel.axes[axis.index()].var);
            let d = written.iter().position(|w| matches!(pool.get(*w), Expr::Index(size) if *size == here))?;
            at.push(index[d]);
        }
        let field = (0..of.outs.len()).find(|n| of.outs[*n] == Out::Temp && same_value(of, *n, value))?;
        Some(pool.load(dtype, Mem::Temp(stage, field as u8), &at))
    }

    /// The index at which a value goes to memory.
    fn place<'s>(&self, stage: &'s Stage, value: usize) -> Option<&'s [ExprId]> {
        match stage.outs.get(value) {
            Some(Out::Param { index, .. }) => Some(index),
            _ => None,
        }
    }
}

/// The value that a kernel writes to a parameter.
pub(super) fn written_by(kernel: &Kernel, param: ParamId) -> Option<Value> {
    kernel.stages.iter().enumerate().find_map(|(s, stage)| {
        let out = |o: &Out| matches!(o, Out::Param { param: p, .. } if *p == param);
        stage.outs.iter().position(out).map(|n| (TempId(s as u32), n))
    })
}

fn same_value(stage: &Stage, a: usize, b: usize) -> bool {
    let values = stage.body.values();
    values.get(a) == values.get(b)
}

/// Makes a value of a stage one that other stages can read; gives its number as such.
fn expose(kernel: &mut Kernel, (stage, value): Value) -> Option<usize> {
    let stage = &mut kernel.stages[stage.index()];
    let known = (0..stage.outs.len()).find(|n| stage.outs[*n] == Out::Temp && same_value(stage, *n, value));
    match known {
        Some(known) => Some(known),
        None => {
            push(stage, value, Out::Temp)?;
            Some(stage.outs.len() - 1)
        }
    }
}

/// Gives a value of a stage another destination.
fn push(stage: &mut Stage, value: usize, out: Out) -> Option<()> {
    match &mut stage.body {
        Body::Map(values) | Body::Reduce { results: values, .. } => values.push(*values.get(value)?),
        Body::Scatter { .. } | Body::Sort { .. } => return None,
    }
    stage.outs.push(out);
    Some(())
}

fn new_axis(kernel: &mut Kernel, extent: Size) -> AxisId {
    let id = AxisId(kernel.axes.len() as u32);
    let var = Variable::counter(&format!("a{}", id.0), &extent).expect("the name is an identifier");
    kernel.axes.push(Axis { var, extent });
    id
}
