//! Contractions whose tiles write an output themselves, in place of the stage that copies them there.

use super::{Applied, DirectStore, Runs, STRICT, Scheduled};
use crate::kernel::access::reads;
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::kernel::{Body, Kernel, Out};
use svod_ir::size::{Size, Variable};

impl Scheduled {
    pub(super) fn store_directly(&mut self, step: usize, stage: &str, output: &str) -> Applied {
        let (index, output) = (self.stage(stage)?, self.stage(output)?);
        if self.strict {
            return Err(STRICT.into());
        }
        if self.stages[index].direct_store.is_some() {
            return Err(format!("`{stage}` writes an output already"));
        }
        self.stages[index].direct_store = Some(DirectStore { output, step });
        self.check_direct_store(index, output)
    }

    /// Whether what a tiled stage gives is what an output stores, unchanged and nowhere else.
    pub(super) fn check_direct_store(&self, stage: usize, output: usize) -> Applied {
        let (name, to) = (&self.kernel.stages[stage].name, &self.kernel.stages[output].name);
        if self.stages[stage].micro.is_none() {
            return Err(format!("`{name}` has no tile that could write the output"));
        }
        if !copied_by(&self.kernel, stage, output) {
            return Err(format!("`{to}` is not just a copy of `{name}` with contiguous columns"));
        }
        if (0..self.stages.len()).any(|other| other != output && reads(&self.kernel, other, stage)) {
            return Err(format!("another stage than `{to}` reads `{name}` as well"));
        }
        let Some((_, axis, part)) = self.stages[stage].at.filter(|(consumer, ..)| *consumer == output) else {
            return Err(format!("`{name}` is not computed inside a loop of `{to}`"));
        };
        let loops = &self.stages[output].loops;
        let around = loops.iter().position(|l| (l.axis, l.part) == (axis, part)).map_or(0, |l| l + 1);
        // What the loops further inside would do is left out with them.
        let inside = |s: &super::StageState| {
            s.at.is_some_and(|(of, axis, part)| {
                of == output && loops[around..].iter().any(|l| (l.axis, l.part) == (axis, part))
            })
        };
        if self.stages[output].stream || self.stages.iter().any(inside) {
            return Err(format!("`{to}` does more than to copy `{name}` inside that loop"));
        }
        if loops[around..].iter().any(|l| l.runs == Runs::Task) {
            return Err(format!("inside that loop `{to}` has loops over tasks"));
        }
        Ok(())
    }
}

/// Whether a stage does nothing but copy the contraction `stage`, point by point, to a parameter in which
/// columns are contiguous and rows lie a stride apart.
pub(crate) fn copied_by(kernel: &Kernel, stage: usize, output: usize) -> bool {
    let Some(found) = crate::kernel::contraction::recognise(kernel, stage) else { return false };
    let (of, to) = (&kernel.stages[stage], &kernel.stages[output]);
    let (Body::Map(values), [Out::Param { param, index }]) = (&to.body, &to.outs[..]) else { return false };
    let own = |e: ExprId, axis: svod_ir::kernel::AxisId| {
        *kernel.exprs.get(e) == Expr::Index(Size::from(&kernel.axes[axis.index()].var))
    };
    let same = values.len() == 1
        && match kernel.exprs.get(values[0]) {
            Expr::Load { from: Mem::Temp(t, 0), index, valid: None, .. } if t.index() == stage => {
                index.len() == of.over.len() && index.iter().zip(&of.over).all(|(e, a)| own(*e, *a))
            }
            _ => false,
        };
    let over = to.over.len() == of.over.len() && to.over.iter().all(|a| of.over.contains(a));
    let param = &kernel.params[param.index()];
    if !same || !over || param.dtype != found.acc || of.outs.len() != 1 {
        return false;
    }
    let mut at = Size::ZERO;
    for (i, extent) in index.iter().zip(&param.shape) {
        let Expr::Index(size) = kernel.exprs.get(*i) else { return false };
        at = &at * extent + size;
    }
    let step = |axis: svod_ir::kernel::AxisId| {
        let var = &kernel.axes[axis.index()].var;
        at.substitute(&|v: &Variable| (v == var).then(|| Size::from(v) + 1)) - &at
    };
    let axes: Vec<&Variable> = kernel.axes.iter().map(|a| &a.var).collect();
    let rows = step(found.m);
    step(found.n).as_const() == Some(1) && !rows.variables().iter().any(|v| axes.contains(&v))
}
