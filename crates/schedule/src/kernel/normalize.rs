//! Putting a kernel into the form that schedules expect: no dimensions of extent 1, no more axes
//! than needed.
//!
//! * Dimensions of extent 1 of the parameters are dropped ([`squeeze`]), before kernels are compared.
//! * Parameters get the shape in which they are read ([`crate::kernel::views`]).
//! * Temporaries between two products keep their axes in the order that tiles want ([`crate::kernel::contraction::order`]), and
//!   their elements in the type that these multiply ([`crate::kernel::contraction::widen`]).
//! * Two adjacent axes that every access names together, `[.., a, b, ..]` or `[.., a*extent(b) + b, ..]`,
//!   become one. A row of a batch of matrices is then a row of one tall matrix.

use super::access::accesses;
use super::rewrite::rebuild;
use crate::kernel::contraction::columns::columns_together;
use crate::kernel::contraction::order::{rows_first, taps_first};
use crate::kernel::contraction::widen::widen;
use crate::kernel::views::reshape_params;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, ParamId};
use svod_ir::kernel::{Axis, AxisId, Body, Kernel};
use svod_ir::size::{Size, Variable};

/// The same computation, squeezed already, in normal form; axes are renumbered in the order of use.
pub(crate) fn normalize(kernel: Kernel) -> Kernel {
    let mut kernel = taps_first(rows_first(widen(columns_together(reshape_params(kernel)))));
    while let Some((a, b)) = mergeable(&kernel) {
        kernel = merge(kernel, a, b);
    }
    renumber(kernel)
}

/// Drops the dimensions of extent 1 of parameters.
pub(crate) fn squeeze(kernel: Kernel) -> Kernel {
    // A scatter drops points by their index, so that a dimension with one that depends on data stays.
    let scattered: Vec<(Mem, Vec<ExprId>)> = accesses(&kernel);
    let by_data = |p: usize, d: usize| {
        let here = |(mem, index): &(Mem, Vec<ExprId>)| *mem == Mem::Param(ParamId(p as u32)) && data(&kernel, index[d]);
        scattered.iter().any(here)
    };
    let kept: Vec<Vec<usize>> = kernel
        .params
        .iter()
        .enumerate()
        .map(|(n, p)| (0..p.shape.len()).filter(|d| p.shape[*d].as_const() != Some(1) || by_data(n, *d)).collect())
        .collect();
    if kernel.params.iter().zip(&kept).all(|(p, k)| p.shape.len() == k.len()) {
        return kernel;
    }
    let mut new = rebuild(kernel, &|_| None, &|mem, index| match mem {
        Mem::Param(p) => kept[p.index()].iter().map(|d| index[*d]).collect(),
        Mem::Temp(..) => index.to_vec(),
    });
    for (param, kept) in new.params.iter_mut().zip(&kept) {
        param.shape = kept.iter().map(|d| param.shape[*d].clone()).collect();
    }
    new
}

fn data(kernel: &Kernel, index: ExprId) -> bool {
    !matches!(kernel.exprs.get(index), Expr::Index(_))
}

/// Two axes that are always named together and in this order.
fn mergeable(kernel: &Kernel) -> Option<(AxisId, AxisId)> {
    let accesses = accesses(kernel);
    kernel.stages.iter().find_map(|stage| {
        let reduction: &[AxisId] = match &stage.body {
            Body::Reduce { axes, .. } => axes,
            Body::Map(_) | Body::Scatter { .. } | Body::Sort { .. } => &[],
        };
        let pairs = stage.over.windows(2).chain(reduction.windows(2));
        pairs.map(|p| (p[0], p[1])).find(|(a, b)| together(kernel, &accesses, *a, *b))
    })
}

fn together(kernel: &Kernel, accesses: &[(Mem, Vec<ExprId>)], a: AxisId, b: AxisId) -> bool {
    let in_order = |list: &[AxisId]| match (list.iter().position(|x| *x == a), list.iter().position(|x| *x == b)) {
        (None, None) => true,
        (Some(i), Some(j)) => j == i + 1,
        _ => false,
    };
    for stage in &kernel.stages {
        let order_ok = match &stage.body {
            Body::Reduce { axes, emit, .. } => {
                let scan = *emit != svod_ir::kernel::Emit::Last && (axes.contains(&a) || axes.contains(&b));
                in_order(axes) && !scan
            }
            Body::Map(_) | Body::Scatter { .. } => true,
            Body::Sort { .. } => !stage.sorts(a) && !stage.sorts(b),
        };
        if !order_ok || !in_order(&stage.over) {
            return false;
        }
    }
    let (pa, pb) = (kernel.axes[a.index()].var.clone(), kernel.axes[b.index()].var.clone());
    let is = |e: ExprId, v: &Variable| matches!(kernel.exprs.get(e), Expr::Index(s) if *s == Size::from(v));
    let mut indices: Vec<ExprId> = Vec::new();
    for (mem, index) in accesses {
        let here = (0..index.len().saturating_sub(1)).find(|d| is(index[*d], &pa) && is(index[d + 1], &pb));
        if let Mem::Temp(t, _) = mem {
            // The dimensions of a temporary are its stage's axes: both merge, or neither.
            let own = kernel.stages[t.index()].dims().iter().position(|x| *x == a);
            if own != here {
                return false;
            }
        }
        if let Mem::Param(p) = mem {
            let shape = &kernel.params[p.index()].shape;
            if let Some(d) = here {
                let whole = shape[d] == kernel.axes[a.index()].extent && shape[d + 1] == kernel.axes[b.index()].extent;
                let mut elsewhere = accesses.iter().filter(|(m, _)| m == mem);
                if !whole || !elsewhere.all(|(_, i)| is(i[d], &pa) && is(i[d + 1], &pb)) {
                    return false;
                }
            }
        }
        for (d, i) in index.iter().enumerate() {
            if here.is_none_or(|h| d != h && d != h + 1) && !is_flat(kernel, *i, a, b) {
                indices.push(*i);
            }
        }
    }
    let extent = &kernel.axes[a.index()].extent * &kernel.axes[b.index()].extent;
    if merged_variable(pb.name(), &extent).is_none() {
        return false;
    }
    // Nothing else may name either axis: not another index, not a mask, not a value.
    let all: Vec<ExprId> = (0..kernel.stages.len()).flat_map(|s| value_roots(kernel, s)).collect();
    let mut named: Vec<ExprId> = indices;
    for e in kernel.exprs.reachable(&all) {
        match kernel.exprs.get(e) {
            Expr::Load { valid, .. } => named.extend(valid),
            Expr::Index(_) | Expr::Const(_) => {}
            other => {
                named.extend(other.operands().into_iter().filter(|o| matches!(kernel.exprs.get(*o), Expr::Index(_))))
            }
        }
    }
    named.extend(all.iter().filter(|e| matches!(kernel.exprs.get(**e), Expr::Index(_))));
    let uses = |e: &ExprId| matches!(kernel.exprs.get(*e), Expr::Index(s) if { let v = s.variables(); v.contains(&pa) || v.contains(&pb) });
    !kernel.exprs.reachable(&masks(kernel, &named)).iter().any(uses)
}

/// Whether an index names two axes only as the position in the row-major range over both.
fn is_flat(kernel: &Kernel, index: ExprId, a: AxisId, b: AxisId) -> bool {
    let Expr::Index(size) = kernel.exprs.get(index) else { return false };
    let [outer, inner] = [a, b].map(|x| &kernel.axes[x.index()]);
    if !size.variables().contains(&outer.var) || !size.variables().contains(&inner.var) {
        return false;
    }
    let extent = &outer.extent * &inner.extent;
    let Some(flat) = merged_variable(inner.var.name(), &extent) else { return false };
    let alone = size.substitute(&|v: &Variable| at_the_start(v, &outer.var, &inner.var, &flat));
    let position = Size::from(&outer.var) * &inner.extent + Size::from(&inner.var);
    alone.substitute(&|v: &Variable| (*v == flat).then(|| position.clone())) == *size
}

/// An axis merged into the one inside it: that counts all points from where the outer one is 0.
fn at_the_start(v: &Variable, outer: &Variable, inner: &Variable, flat: &Variable) -> Option<Size> {
    if v == outer { Some(Size::ZERO) } else { (v == inner).then(|| Size::from(flat)) }
}

/// The variable of an axis of so many points; none where these are not shown to be a number, and a bounded one.
fn merged_variable(name: &str, extent: &Size) -> Option<Variable> {
    extent.upper_bound().filter(|_| extent.is_extent())?;
    Variable::counter(name, extent).ok()
}

/// Expressions that are evaluated as such: loads' own indices are looked at apart.
fn masks(kernel: &Kernel, named: &[ExprId]) -> Vec<ExprId> {
    let is_load = |e: &ExprId| matches!(kernel.exprs.get(*e), Expr::Load { .. });
    named.iter().copied().filter(|e| !is_load(e)).collect()
}

fn value_roots(kernel: &Kernel, stage: usize) -> Vec<ExprId> {
    match &kernel.stages[stage].body {
        Body::Map(values) => values.clone(),
        Body::Scatter { value, .. } => vec![*value],
        Body::Reduce { carries, results, .. } => {
            carries.iter().flat_map(|c| [Some(c.element), c.fix]).flatten().chain(results.iter().copied()).collect()
        }
        Body::Sort { key, results, .. } => std::iter::once(key).chain(results).copied().collect(),
    }
}

/// Makes one axis of two; `a` becomes the merged one.
fn merge(kernel: Kernel, a: AxisId, b: AxisId) -> Kernel {
    let extent = &kernel.axes[a.index()].extent * &kernel.axes[b.index()].extent;
    let (pa, pb) = (kernel.axes[a.index()].var.clone(), kernel.axes[b.index()].var.clone());
    let merged = merged_variable(pb.name(), &extent).expect("axes are merged that can be");
    let is = |pool: &ExprPool, e: ExprId, v: &Variable| matches!(pool.get(e), Expr::Index(s) if *s == Size::from(v));
    let mut shapes: Vec<Option<usize>> = vec![None; kernel.params.len()];
    for (mem, index) in accesses(&kernel) {
        let here = (0..index.len().saturating_sub(1))
            .find(|d| is(&kernel.exprs, index[*d], &pa) && is(&kernel.exprs, index[d + 1], &pb));
        if let (Mem::Param(p), Some(d)) = (mem, here) {
            shapes[p.index()] = Some(d);
        }
    }
    let old = kernel.exprs.clone();
    let rename = |v: &Variable| at_the_start(v, &pa, &pb, &merged);
    let mut new = rebuild(kernel, &rename, &|_, index| {
        // The index still names expressions of the old pool: drop a where b follows it.
        let followed = |d: usize| d + 1 < index.len() && is(&old, index[d], &pa) && is(&old, index[d + 1], &pb);
        (0..index.len()).filter(|d| !followed(*d)).map(|d| index[d]).collect()
    });
    for (param, at) in new.params.iter_mut().zip(shapes) {
        if let Some(d) = at {
            param.shape[d] = &param.shape[d] * &param.shape[d + 1];
            param.shape.remove(d + 1);
        }
    }
    new.axes[a.index()] = Axis { var: merged, extent };
    for stage in &mut new.stages {
        stage.over.retain(|x| *x != b);
        if let Body::Reduce { axes, .. } = &mut stage.body {
            axes.retain(|x| *x != b);
        }
    }
    new
}

/// Drops unused axes and names the others `a0`, `a1` … in the order of use.
fn renumber(kernel: Kernel) -> Kernel {
    let mut order: Vec<AxisId> = Vec::new();
    for s in 0..kernel.stages.len() {
        for a in crate::kernel::contraction::stage_axes(&kernel, s) {
            if !order.contains(&a) {
                order.push(a);
            }
        }
    }
    let axes: Vec<Axis> = order
        .iter()
        .enumerate()
        .map(|(i, a)| {
            let axis = &kernel.axes[a.index()];
            let last = Variable::max(&axis.var);
            let var = Variable::internal(&format!("a{i}"), 0, last)
                .expect("the name is an identifier and the range not empty");
            Axis { var, extent: axis.extent.clone() }
        })
        .collect();
    let old = kernel.axes.clone();
    let place = |v: &Variable| order.iter().position(|a| old[a.index()].var == *v);
    let rename = |v: &Variable| place(v).map(|i| Size::from(&axes[i].var));
    let mut new = rebuild(kernel, &rename, &|_, index| index.to_vec());
    let number = |a: &mut AxisId| *a = AxisId(order.iter().position(|o| o == a).unwrap_or(0) as u32);
    for stage in &mut new.stages {
        stage.over.iter_mut().for_each(number);
        stage.body.for_each_axis(&mut { number });
    }
    new.axes = axes;
    new
}
