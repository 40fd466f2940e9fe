//! Expressions of a kernel, at one point of its axes, as expressions of the loop tree.

use super::{Lowerer, Made, Nest};
use crate::apply::Runs;
use crate::language::Layout;
use smallvec::SmallVec;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, TempId};
use svod_ir::kernel::{AxisId, Body, Emit, Kernel};
use svod_ir::size::{Size, Variable};

/// A masked axis, where the current point stands along it, and whether that is inside of it.
struct Guard {
    axis: AxisId,
    at: Size,
    inside: ExprId,
}

/// A masked axis, where the current point stands along it, and the nearest point inside of it.
struct Clamped {
    axis: AxisId,
    at: Size,
    inside: Size,
}

/// What a carry-dependent expression stands for: the expression, and its value.
pub(super) type Bound = (Expr, ExprId);

/// The types of a stage's values.
pub(super) fn result_types(kernel: &Kernel, stage: usize) -> Vec<DType> {
    kernel.stages[stage].body.values().iter().map(|v| kernel.exprs.dtype(*v)).collect()
}

impl Lowerer<'_> {
    /// Whether the current point lies inside the axes that are masked; `None` where none is.
    pub(super) fn guard(&mut self, nest: &Nest) -> Option<ExprId> {
        let guards = self.guards(nest);
        self.phase.exprs.all_of(guards.into_iter().map(|guard| guard.inside))
    }

    /// Whether the current point lies inside each of the axes that are masked.
    fn guards(&mut self, nest: &Nest) -> Vec<Guard> {
        let mut guards = Vec::new();
        for l in &self.s.stages[nest.stage].loops {
            let span = &nest.env[&l.axis];
            if l.step != 1 || !span.masked {
                continue;
            }
            let (at, end) = (span.base.clone(), self.axis_extent(l.axis));
            if (&at + 1).le(&end) == Some(true) {
                continue;
            }
            let (index, end) = (self.phase.exprs.index(at.clone()), self.phase.exprs.index(end));
            guards.push(Guard { axis: l.axis, at, inside: self.phase.exprs.alu(Alu::Lt, &[index, end]) });
        }
        guards
    }

    /// Where an axis of the kernel stands.
    pub(super) fn axis_value(&self, v: &Variable, nest: &Nest) -> Option<Size> {
        let axis = self.s.kernel.axes.iter().position(|a| a.var == *v)?;
        nest.env.get(&AxisId(axis as u32)).map(|span| span.base.clone())
    }

    /// An expression of the kernel at the current point of a stage's axes.
    pub(super) fn convert(&mut self, root: ExprId, nest: &Nest, bound: &[Bound]) -> Made<ExprId> {
        let guards = self.guards(nest);
        let clamped = self.clamped(nest);
        let mut error = None;
        let mut pool = std::mem::take(&mut self.phase.exprs);
        let s = self.s;
        // What is clamped keeps its name until it is known whether it is the index of a load.
        let of = |v: &Variable| clamped.iter().find(|c| s.kernel.axes[c.axis.index()].var == *v);
        let at = |v: &Variable| if of(v).is_some() { None } else { self.axis_value(v, nest) };
        let (point, inside) =
            (|v: &Variable| of(v).map(|c| c.at.clone()), |v: &Variable| of(v).map(|c| c.inside.clone()));
        let rewrite = |to: &mut ExprPool, node: Expr, dtype: DType| {
            if let Expr::Load { from: from @ Mem::Param(_), ref index, valid: None, other } = node
                && index.iter().all(|i| matches!(to.get(*i), Expr::Index(_)))
            {
                let index: Vec<ExprId> = index.iter().map(|i| substituted(to, *i, &inside)).collect();
                let valid = guard_of(to, &guards, &index, &clamped);
                return to.load_valid(dtype, from, &index, valid, other);
            }
            let operands: Vec<ExprId> = node.operands().iter().map(|o| substituted(to, *o, &point)).collect();
            match node.with_operands(&operands) {
                Expr::Load { from: Mem::Temp(t, field), ref index, .. } => match self.temp_load(to, t, field, index) {
                    Ok((temp, index)) => {
                        let placed = &self.placed[&t.index()];
                        let outside = placed.whole || placed.overrun.is_some();
                        let valid = if outside { guard_of(to, &guards, &index, &[]) } else { None };
                        let other = svod_dtype::Const::zero(dtype);
                        to.load_valid(dtype, Mem::Temp(temp, 0), &index, valid, other)
                    }
                    Err(why) => {
                        error = Some(why);
                        to.constant(svod_dtype::Const::zero(dtype))
                    }
                },
                Expr::Load { from, ref index, valid, other } => {
                    let guard = guard_of(to, &guards, index, &[]);
                    let valid = to.all_of(valid.into_iter().chain(guard));
                    to.load_valid(dtype, from, index, valid, other)
                }
                node => match bound.iter().find(|(e, _)| *e == node) {
                    Some((_, value)) => *value,
                    None => to.add(node, dtype),
                },
            }
        };
        let value = pool.copy_with(&s.kernel.exprs, &[root], &at, rewrite)[0];
        let value = substituted(&mut pool, value, &point);
        self.phase.exprs = pool;
        error.map_or(Ok(value), Err)
    }

    /// The masked axes along which loads may read the last point in place of those beyond the end: nobody reads what is
    /// computed there, and to know where it lies costs less than a mask. Those that are kept, and in no vector, whose
    /// lanes would no longer lie side by side.
    fn clamped(&self, nest: &Nest) -> Vec<Clamped> {
        let stage = &self.s.stages[nest.stage];
        let mut found: Vec<Clamped> = Vec::new();
        if !matches!(self.s.kernel.stages[nest.stage].body, Body::Map(_) | Body::Reduce { emit: Emit::Last, .. }) {
            return found;
        }
        for l in stage.loops.iter().filter(|l| l.step == 1 && nest.env[&l.axis].masked) {
            let (at, end) = (nest.env[&l.axis].base.clone(), self.axis_extent(l.axis));
            let vector = stage.loops.iter().any(|o| o.axis == l.axis && o.runs == Runs::Vector);
            let known = (&at + 1).le(&end) == Some(true) || end.bounds().0 < 1 || at.bounds().0 < 0;
            if vector || known || self.reduces(nest.stage, l.axis) {
                continue;
            }
            let inside = at.min(&end - 1);
            found.push(Clamped { axis: l.axis, at, inside });
        }
        found
    }

    /// The temporary that holds a stage's value, and the index into it, given the point that is read.
    fn temp_load(
        &self,
        to: &mut ExprPool,
        stage: TempId,
        field: u8,
        point: &[ExprId],
    ) -> Made<(TempId, SmallVec<[ExprId; 4]>)> {
        let stage = stage.index();
        let placed = self.placed.get(&stage).ok_or_else(|| {
            format!("stage `{}` is read outside the loop it is computed in", self.s.kernel.stages[stage].name)
        })?;
        let temp = placed.temp(usize::from(field))?;
        let known: Option<Vec<Size>> = point
            .iter()
            .map(|p| match to.get(*p) {
                Expr::Index(size) => Some(size.clone()),
                _ => None,
            })
            .collect();
        if let Some(point) = known {
            let index = self.temp_index(stage, &point)?;
            return Ok((temp, index.into_iter().map(|i| to.index(i)).collect()));
        }
        if placed.layout != Layout::Rows {
            return Err("a packed copy is read at an index that depends on data".into());
        }
        let mut relative = SmallVec::new();
        for ((p, base), extent) in point.iter().zip(&placed.base).zip(&placed.extents) {
            let base = to.index(base.clone());
            relative.push(if extent.as_const() == Some(1) { to.index(0i64) } else { to.alu(Alu::Sub, &[*p, base]) });
        }
        Ok((temp, relative))
    }
}

/// An index with its variables replaced; anything else as it is.
fn substituted(pool: &mut ExprPool, id: ExprId, by: &dyn Fn(&Variable) -> Option<Size>) -> ExprId {
    let Expr::Index(size) = pool.get(id) else { return id };
    let new = size.substitute(by);
    if new == *size { id } else { pool.index(new) }
}

/// Whether a load's index lies inside the masked axes that it names, besides those that are clamped. What names none of
/// an axis's counters is the same at points inside of it, so that it may be loaded at all points.
fn guard_of(pool: &mut ExprPool, guards: &[Guard], index: &[ExprId], clamped: &[Clamped]) -> Option<ExprId> {
    let used = pool.variables_used(index);
    let named = |at: &Size| {
        let counters = at.variables();
        counters.is_empty() || counters.iter().any(|v| used.contains(v))
    };
    let open = |guard: &&Guard| clamped.iter().all(|c| c.axis != guard.axis) && named(&guard.at);
    let inside: Vec<ExprId> = guards.iter().filter(open).map(|guard| guard.inside).collect();
    pool.all_of(inside)
}
