//! Expressions of a kernel, at one point of its axes, as expressions of the loop tree.

use super::{Lowerer, Nest, Step};
use crate::apply::Scheduled;
use crate::opt::Layout;
use smallvec::SmallVec;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem};
use svod_ir::kernel::{AxisId, Body, Kernel, Out};
use svod_ir::lowered::{Loop, LoopKind, Phase, Stmt};
use svod_ir::size::{Size, Variable};

/// What a carry-dependent expression stands for: the expression, and its value.
pub(super) type Bound = (Expr, ExprId);

/// The types of a stage's values.
pub(super) fn result_types(kernel: &Kernel, stage: usize) -> Vec<DType> {
    match &kernel.stages[stage].body {
        Body::Map(value) | Body::Scatter { value, .. } => vec![kernel.exprs.dtype(*value)],
        Body::Fold { results, .. } => results.iter().map(|r| kernel.exprs.dtype(*r)).collect(),
    }
}

impl Lowerer<'_> {
    /// Whether the current point lies inside the axes that are masked; `None` where none is.
    pub(super) fn guard(&mut self, nest: &Nest) -> Option<ExprId> {
        let mut guard = None;
        for l in &self.s.stages[nest.stage].loops {
            let span = &nest.env[&l.axis];
            if l.step != 1 || !span.masked {
                continue;
            }
            let (at, end) = (span.base.clone(), self.axis_extent(l.axis));
            let (at, end) = (self.phase.exprs.index(at), self.phase.exprs.index(end));
            let inside = self.phase.exprs.alu(Alu::Lt, &[at, end]);
            guard = Some(guard.map_or(inside, |g| self.phase.exprs.alu(Alu::And, &[g, inside])));
        }
        guard
    }

    /// Where an axis of the kernel stands.
    pub(super) fn axis_value(&self, v: &Variable, nest: &Nest) -> Option<Size> {
        let axis = self.s.kernel.axes.iter().position(|a| a.var == *v)?;
        nest.env.get(&AxisId(axis as u32)).map(|span| span.base.clone())
    }

    /// An expression of the kernel at the current point of a stage's axes.
    pub(super) fn convert(&mut self, root: ExprId, nest: &Nest, bound: &[Bound]) -> Step<ExprId> {
        let guard = self.guard(nest);
        let mut error = None;
        let mut pool = std::mem::take(&mut self.phase.exprs);
        let s = self.s;
        let at = |v: &Variable| self.axis_value(v, nest);
        let rewrite = |to: &mut ExprPool, node: Expr, dtype: DType| match node {
            Expr::Load { from: Mem::Temp(t, field), ref index, .. } => match self.temp_load(to, t.index(), index) {
                Ok(index) => {
                    let placed = &self.placed[&t.index()];
                    let valid = guard.filter(|_| placed.whole);
                    let other = svod_dtype::Const::zero(dtype);
                    to.load_valid(dtype, Mem::Temp(placed.temps[usize::from(field)], 0), &index, valid, other)
                }
                Err(why) => {
                    error = Some(why);
                    to.constant(svod_dtype::Const::zero(dtype))
                }
            },
            Expr::Load { from, ref index, valid, other } => {
                let valid = match (valid, guard) {
                    (Some(a), Some(b)) => Some(to.alu(Alu::And, &[a, b])),
                    (a, b) => a.or(b),
                };
                to.load_valid(dtype, from, index, valid, other)
            }
            node => match bound.iter().find(|(e, _)| *e == node) {
                Some((_, value)) => *value,
                None => to.add(node, dtype),
            },
        };
        let value = pool.copy_with(&s.kernel.exprs, &[root], &at, rewrite)[0];
        self.phase.exprs = pool;
        error.map_or(Ok(value), Err)
    }

    /// The index into a stage's temporary, given the point that is read.
    fn temp_load(&self, to: &mut ExprPool, stage: usize, point: &[ExprId]) -> Step<SmallVec<[ExprId; 4]>> {
        let placed = self.placed.get(&stage).ok_or_else(|| {
            format!("stage `{}` is read outside the loop it is computed in", self.s.kernel.stages[stage].name)
        })?;
        let known: Option<Vec<Size>> = point
            .iter()
            .map(|p| match to.get(*p) {
                Expr::Index(size) => Some(size.clone()),
                _ => None,
            })
            .collect();
        if let Some(point) = known {
            let index = self.temp_index(stage, &point)?;
            return Ok(index.into_iter().map(|i| to.index(i)).collect());
        }
        if placed.layout != Layout::Rows {
            return Err("a packed copy is read at an index that depends on data".into());
        }
        let mut relative = SmallVec::new();
        for ((p, base), extent) in point.iter().zip(&placed.base).zip(&placed.extents) {
            let base = to.index(base.clone());
            relative.push(if extent.as_const() == Some(1) { to.index(0i64) } else { to.alu(Alu::Sub, &[*p, base]) });
        }
        Ok(relative)
    }
}

/// A scatter: one phase gives every element its initial value, another combines the points in.
pub(super) fn scatter(s: &Scheduled, root: usize) -> Result<Vec<Phase>, String> {
    let stage = &s.kernel.stages[root];
    let (Body::Scatter { at, value, combine, init }, [Out::Param { param, .. }]) = (&stage.body, &stage.outs[..])
    else {
        return Err("a scatter writes one buffer".into());
    };
    let shape = &s.kernel.params[param.index()].shape;
    let mut fill = Phase::default();
    let mut index = Vec::new();
    let mut loops = Vec::new();
    for (d, extent) in shape.iter().enumerate() {
        let last = extent.upper_bound().map_or(i64::MAX >> 1, |u| (u - 1).max(0));
        let var = Variable::new(&format!("fill_{d}"), 0, last).map_err(|e| e.to_string())?;
        index.push(fill.exprs.index(&var));
        loops.push(Loop { var, extent: extent.clone(), kind: LoopKind::Serial });
    }
    let init = fill.exprs.constant(*init);
    let store = Stmt::Store { to: Mem::Param(*param), index, value: init, valid: None };
    fill.body = loops.into_iter().rev().fold(vec![store], |body, l| vec![Stmt::Loop(l, body)]);

    let mut lowerer = Lowerer::new(s);
    let mut body = Vec::new();
    for stage in lowerer.needed(root) {
        if stage != root && s.stages[stage].at.is_none() {
            let region = lowerer.full_env(stage);
            body.extend(lowerer.stage(stage, region)?);
        }
    }
    let nest =
        Nest { stage: root, loops: s.stages[root].loops.clone(), env: lowerer.full_env(root), entered: Vec::new() };
    let mut point = |this: &mut Lowerer, nest: Nest| this.scatter_point(&nest, *param, at, *value, *combine);
    body.extend(points(&mut lowerer, nest, &mut point)?);
    lowerer.phase.body = body;
    Ok(vec![fill, lowerer.phase])
}

fn points(lowerer: &mut Lowerer, nest: Nest, point: &mut dyn FnMut(&mut Lowerer, Nest) -> Step) -> Step {
    if nest.loops.is_empty() {
        return point(lowerer, nest);
    }
    lowerer.each(nest, &mut |this, inner| points(this, inner, point))
}

impl Lowerer<'_> {
    fn scatter_point(
        &mut self,
        nest: &Nest,
        param: svod_ir::expr::ParamId,
        at: &[ExprId],
        value: ExprId,
        combine: Option<svod_ir::kernel::Monoid>,
    ) -> Step {
        let shape = self.s.kernel.params[param.index()].shape.clone();
        let index = at.iter().map(|i| self.convert(*i, nest, &[])).collect::<Step<Vec<_>>>()?;
        let mut inside = None;
        for (i, extent) in index.iter().zip(shape) {
            let (zero, end) = (self.phase.exprs.index(0i64), self.phase.exprs.index(extent));
            let i = self.phase.exprs.cast(DType::Index, *i);
            let low = self.phase.exprs.alu(Alu::Le, &[zero, i]);
            let high = self.phase.exprs.alu(Alu::Lt, &[i, end]);
            let both = self.phase.exprs.alu(Alu::And, &[low, high]);
            inside = Some(inside.map_or(both, |x| self.phase.exprs.alu(Alu::And, &[x, both])));
        }
        let index: Vec<ExprId> = index.into_iter().map(|i| self.phase.exprs.cast(DType::Index, i)).collect();
        let mut value = self.convert(value, nest, &[])?;
        if let Some(monoid) = combine {
            let op = monoid.alu().ok_or("a scatter combines by sum, prod, max, min, any or all")?;
            let dtype = self.phase.exprs.dtype(value);
            let old =
                self.phase.exprs.load_valid(dtype, Mem::Param(param), &index, inside, svod_dtype::Const::zero(dtype));
            value = self.phase.exprs.alu(op, &[old, value]);
        }
        Ok(vec![Stmt::Store { to: Mem::Param(param), index, value, valid: inside }])
    }
}
