//! Several schedules for one kernel, by its sizes.
//!
//! A kernel whose extents are variables is compiled once for all of their values, and the schedule that is best
//! for many rows is not for one. [`Variants`] are up to [`MAX_VARIANTS`] schedules, each but the last with a
//! [`Guard`] over the variables; [`lower_variants`] puts the loops of all in one tree, of which a run takes the
//! phases of the first variant whose guard holds. What variants read and write in common is the same memory,
//! copies of constants and workspaces included where they are laid out alike.

use crate::language::{MAX_VARIANTS, Variants};
use crate::lower::{LowerError, Program, lower};
use svod_ir::expr::ParamId;
use svod_ir::kernel::Kernel;
use svod_ir::lowered::{Guard, Lowered};
use svod_ir::size::{Atom, Size, Variable};

/// Applies each schedule to a kernel.
///
/// # Errors
/// Those of [`lower`], with the guard of the variant; more than [`MAX_VARIANTS`].
pub fn lower_variants(kernel: &Kernel, variants: &Variants) -> Result<Program, LowerError> {
    if variants.guarded.is_empty() {
        return lower(kernel, &variants.rest);
    }
    if variants.guarded.len() >= MAX_VARIANTS {
        return Err(LowerError::TooMany { kernel: kernel.name.clone(), given: variants.guarded.len() + 1 });
    }
    let within = |guard: Option<&Guard>, why| LowerError::Variant {
        when: guard.map_or_else(|| "otherwise".into(), |guard| format!("when {guard}")),
        why: Box::new(why),
    };
    let mut programs = Vec::with_capacity(variants.guarded.len() + 1);
    for (guard, schedule) in variants.iter() {
        let mut program = lower(kernel, schedule).map_err(|why| within(guard, why))?;
        if let Some(guard) = guard {
            narrow(&mut program, guard);
        }
        programs.push(program);
    }
    Ok(merge(kernel.params.len(), variants, programs))
}

/// The trees as one. Parameters after the kernel's `own` are the same where they hold the same.
fn merge(own: usize, variants: &Variants, programs: Vec<Program>) -> Program {
    let mut programs = programs.into_iter();
    let mut all = programs.next().expect("there is the variant without a guard at least");
    all.lowered.guards = variants.guarded.iter().map(|(guard, _)| guard.clone()).collect();
    for (variant, program) in (1..).zip(programs) {
        let Lowered { params, phases, .. } = program.lowered;
        let mut places: Vec<ParamId> = (0..own as u32).map(ParamId).collect();
        let mut taken = Vec::new();
        for (at, param) in params.into_iter().enumerate().skip(own) {
            let old = ParamId(at as u32);
            let pack = program.packs.iter().find(|pack| pack.packed == old);
            let same = |known: &ParamId| match pack {
                Some(pack) => all.packs.iter().any(|p| p.packed == *known && p.kernel.key() == pack.kernel.key()),
                None => all.workspaces.contains(known) && all.lowered.params[known.index()] == param,
            };
            let known = (own..all.lowered.params.len()).map(|p| ParamId(p as u32));
            let place = known.into_iter().find(|known| !taken.contains(known) && same(known)).unwrap_or_else(|| {
                let new = ParamId(all.lowered.params.len() as u32);
                all.lowered.params.push(param.clone());
                match pack {
                    Some(pack) => all.packs.push(crate::apply::PackJob { packed: new, ..pack.clone() }),
                    None => all.workspaces.push(new),
                }
                new
            });
            taken.push(place);
            places.push(place);
        }
        all.lowered.phases.extend(phases.into_iter().map(|mut phase| {
            phase.rename_params(&|param| places[param.index()]);
            phase.variant = variant;
            phase
        }));
    }
    all
}

/// Makes a variant's workspaces and scratch as small as its guard allows.
fn narrow(program: &mut Program, guard: &Guard) {
    let Some(most) = guard.right.as_const() else { return };
    let grows = grows_with_variables(&guard.left);
    let cap = |v: &Variable| {
        let most = grows.then(|| greatest(guard, v))?;
        Some(Size::from(v).min(most))
    };
    let narrow = |size: &mut Size| {
        let capped = if *size == guard.left { guard.left.min(most) } else { size.substitute(&cap) };
        if capped.fault().is_none() {
            *size = capped;
        }
    };
    for param in &program.workspaces {
        program.lowered.params[param.index()].shape.iter_mut().for_each(narrow);
    }
    let temps = program.lowered.phases.iter_mut().flat_map(|phase| &mut phase.temps);
    temps.flat_map(|temp| &mut temp.shape).for_each(narrow);
}

/// Whether a size is a sum of products of variables, so that it never falls as one of them grows.
fn grows_with_variables(size: &Size) -> bool {
    let variable = |atom: &Atom| matches!(atom, Atom::Var(v) if v.min() >= 0);
    size.terms().is_some_and(|terms| terms.iter().all(|t| t.coefficient() >= 0 && t.factors().iter().all(variable)))
}

/// The greatest value of a variable at which a guard whose left side grows with its variables may hold; the
/// least, if there is none.
fn greatest(guard: &Guard, var: &Variable) -> i64 {
    let holds = |value: i64| guard.holds(&|v| Some(if v == var { value } else { v.min() })).unwrap_or(false);
    let (mut low, mut high) = bounds(var);
    while low < high {
        let middle = low + (high - low + 1) / 2;
        (low, high) = if holds(middle) { (middle, high) } else { (low, middle - 1) };
    }
    low
}

fn bounds(var: &Variable) -> (i64, i64) {
    (var.min(), var.max())
}

/// Values of variables at which a size is as large as it can be without being larger than `most`: each in turn is
/// as large as it may be, the others at their least.
pub fn values_at(size: &Size, most: i64) -> Vec<(Variable, i64)> {
    let mut values: Vec<(Variable, i64)> = size.variables().into_iter().map(|v| (v.clone(), bounds(&v).0)).collect();
    for at in (0..values.len()).rev() {
        let (mut low, mut high) = bounds(&values[at].0);
        while low < high {
            let middle = low + (high - low + 1) / 2;
            values[at].1 = middle;
            let value = size.eval(&|v| values.iter().find(|(known, _)| known == v).map(|(_, value)| *value));
            (low, high) = if value.is_ok_and(|value| value <= most) { (middle, high) } else { (low, middle - 1) };
        }
        values[at].1 = low;
    }
    values
}
