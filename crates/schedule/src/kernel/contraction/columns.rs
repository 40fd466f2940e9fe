//! Taps and channels as the columns of one product.
//!
//! The gradient of a convolution's kernel is a product of channels for each tap, if these fill a tile. Those of a picture, or of
//! one channel, do not; channels and taps together do. They become one axis, of which each is a digit: copies of the columns are
//! read at quotients and remainders, and the product is one like any other.

use super::window::windows;
use super::{axes_of, recognise};
use crate::costs::limits::registers;
use crate::kernel::access::accesses;
use crate::kernel::rewrite::rebuild;
use crate::kernel::views::reshape_params;
use svod_ir::expr::{Expr, Mem};
use svod_ir::kernel::{Axis, AxisId, Body, Kernel};
use svod_ir::size::{Size, Variable};

/// The same computation, with one axis for what the operand alone has over which windows slide, where no axis of it
/// fills a tile.
pub(crate) fn columns_together(kernel: Kernel) -> Kernel {
    let Some((_, inner)) = kernel.stages.split_last() else { return kernel };
    let found = (0..inner.len()).find_map(|stage| Some((stage, columns(&kernel, stage)?)));
    match found {
        Some((stage, axes)) => reshape_params(together(kernel, stage, &axes)),
        None => kernel,
    }
}

/// The axes that become one: neighbours, of known extents, of the stage and of the output, and of nothing else.
fn columns(kernel: &Kernel, stage: usize) -> Option<Vec<AxisId>> {
    let found = windows(kernel, stage).filter(|found| found.slide_over_few(kernel))?;
    if recognise(kernel, stage).is_none_or(|c| found.are_apart_from(&c)) {
        return None;
    }
    let (own, others) = (axes_of(kernel, found.value), axes_of(kernel, found.weights));
    let alone = |a: &AxisId| own.contains(a) && !others.contains(a);
    let axes: Vec<AxisId> = kernel.stages[stage].over.iter().copied().filter(alone).collect();
    let points = axes.iter().try_fold(1i64, |n, a| n.checked_mul(kernel.axes[a.index()].extent.as_const()?))?;
    if axes.len() < 2 || points < registers::FEWEST_LANES {
        return None;
    }
    are_neighbours(kernel, stage, &axes).then_some(axes)
}

/// Whether axes of a stage can be one: of the stage and of the output they are neighbours, of nothing else are they axes, and the
/// stage is read where it is of the output.
pub(super) fn are_neighbours(kernel: &Kernel, stage: usize, axes: &[AxisId]) -> bool {
    let last = kernel.stages.len() - 1;
    let side_by_side = |at: usize| kernel.stages[at].over.windows(axes.len()).any(|run| run == axes);
    let without = |at: usize| {
        let stage = &kernel.stages[at];
        !axes.iter().any(|a| stage.over.contains(a) || stage.body.inner().contains(a))
    };
    let maps = matches!(kernel.stages[last].body, Body::Map(_));
    let whole = (0..=last).all(|at| if at == stage || at == last { side_by_side(at) } else { without(at) });
    // The sums are read where they are of the output.
    let Some(first) = kernel.stages[stage].over.iter().position(|a| *a == axes[0]) else { return false };
    let in_order = accesses(kernel).iter().filter(|(mem, _)| is_of(*mem, stage)).all(|(_, index)| {
        let at = |(d, a): (usize, &AxisId)| {
            let point = Size::from(&kernel.axes[a.index()].var);
            matches!(kernel.exprs.get(index[first + d]), Expr::Index(size) if *size == point)
        };
        axes.iter().enumerate().all(at)
    });
    maps && whole && in_order
}

fn is_of(mem: Mem, stage: usize) -> bool {
    matches!(mem, Mem::Temp(t, _) if t.index() == stage)
}

/// One axis in place of neighbours, of which each is a digit.
pub(super) fn together(mut kernel: Kernel, stage: usize, axes: &[AxisId]) -> Kernel {
    let extents: Vec<Size> = axes.iter().map(|a| kernel.axes[a.index()].extent.clone()).collect();
    let all = extents.iter().fold(Size::ONE, |n, e| &n * e);
    let (first, rest) = (axes[0], &axes[1..]);
    let names: Vec<Variable> = axes.iter().map(|a| kernel.axes[a.index()].var.clone()).collect();
    let Ok(flat) = Variable::counter(names[0].name(), &all) else { return kernel };
    let Some(at) = kernel.stages[stage].over.iter().position(|a| *a == first) else { return kernel };

    let point = kernel.exprs.index(Size::from(&flat));
    let digit = |v: &Variable| {
        let which = names.iter().position(|name| name == v)?;
        let below = extents[which + 1..].iter().fold(Size::ONE, |n, e| &n * e);
        Some(Size::from(&flat).floordiv(below).modulo(extents[which].clone()))
    };
    let mut new = rebuild(kernel, &digit, &|mem, index| {
        let sums = is_of(mem, stage);
        let dropped = |d: &usize| !sums || !(at + 1..at + axes.len()).contains(d);
        let kept = (0..index.len()).filter(dropped);
        kept.map(|d| if sums && d == at { point } else { index[d] }).collect()
    });
    for stage in &mut new.stages {
        stage.over.retain(|a| !rest.contains(a));
    }
    new.axes[first.index()] = Axis { var: flat, extent: all };
    new
}
