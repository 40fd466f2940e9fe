//! Kernels that differ only in numbers become one, which has the numbers as arguments.
//!
//! A hundred layers that scale by numbers of their own, or that read other slices of one tensor, are as many
//! kernels by their texts, and would be compiled as often.
//!
//! * Float constants become elements of a parameter, one parameter for each type of them.
//! * Offsets at which parameters are read become variables, whose values each call fixes.
//!
//! A constant makes better code than an argument, so that only numbers in which kernels of one schedule differ are
//! arguments: a kernel that has no equal but for its numbers stays what it is.

use crate::contraction::{recognise, window};
use crate::preschedule::{Item, PreSchedule, Slot};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;
use svod_dtype::{Const, DType};
use svod_ir::Key;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, ParamId};
use svod_ir::kernel::{Kernel, Out, Param, Stage};
use svod_ir::size::{Size, Variable};

/// The same calls, of fewer kernels.
pub(crate) fn unify(schedule: PreSchedule) -> PreSchedule {
    let families = families(&schedule.kernels);
    if families.is_empty() { schedule } else { with_families(schedule, &families) }
}

/// A number in a kernel that could be an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    /// An operand of a scalar operation.
    Float(Const),
    /// What is added to the other terms of an index at which a parameter is read.
    Offset(i64),
}

/// What takes the place of a number.
#[derive(Clone, Debug)]
enum Argument {
    /// The next element of the parameter of its type.
    Element,
    /// A variable.
    Variable(Variable),
}

/// Kernels that are one but for their numbers.
struct Family {
    /// Positions among the kernels, ascending, and the numbers of each.
    members: Vec<(usize, Vec<Number>)>,
    /// What takes the place of each number; nothing where all members have the same.
    arguments: Vec<Option<Argument>>,
}

/// Values that code generation knows more of than that they are numbers.
fn is_common(value: f64) -> bool {
    const COMMON: [f64; 6] = [0.0, 1.0, -1.0, 2.0, -2.0, 0.5];
    !value.is_finite() || COMMON.contains(&value)
}

/// The families of more than one kernel, in the order of their first members.
fn families(kernels: &[Arc<Kernel>]) -> Vec<Family> {
    // Names hold kinds and extents: most kernels have nothing to be compared with.
    let mut alike: FxHashMap<(&str, usize, usize), Vec<usize>> = FxHashMap::default();
    for (at, kernel) in kernels.iter().enumerate() {
        alike.entry((&kernel.name, kernel.params.len(), kernel.stages.len())).or_default().push(at);
    }
    let mut by_key: FxHashMap<Key, Vec<(usize, Vec<Number>)>> = FxHashMap::default();
    for at in alike.into_values().filter(|all| all.len() > 1).flatten() {
        let numbers = numbers(&kernels[at]);
        let every: Vec<Option<Argument>> = (0..).zip(&numbers).map(|(n, number)| argument(n, &[*number])).collect();
        by_key.entry(lifted(&kernels[at], &every).key()).or_default().push((at, numbers));
    }
    let several = by_key.into_values().filter(|members| members.len() > 1);
    let mut families: Vec<Family> = several.map(Family::of).collect();
    families.sort_unstable_by_key(|family| family.members[0].0);
    families
}

impl Family {
    fn of(mut members: Vec<(usize, Vec<Number>)>) -> Family {
        members.sort_unstable_by_key(|(at, _)| *at);
        let differing = |n: usize| {
            let values: Vec<Number> = members.iter().map(|(_, numbers)| numbers[n]).collect();
            if values.iter().all(|v| *v == values[0]) { None } else { argument(n, &values) }
        };
        let arguments = (0..members[0].1.len()).map(differing).collect();
        Family { members, arguments }
    }
}

/// What takes the place of the `n`-th number, which has these values.
fn argument(n: usize, values: &[Number]) -> Option<Argument> {
    let offsets = values.iter().filter_map(|v| if let Number::Offset(offset) = v { Some(*offset) } else { None });
    match (offsets.clone().min(), offsets.max()) {
        // With a dot, no user's variable is of this name.
        (Some(least), Some(greatest)) => {
            let bounds = if values.len() == 1 { (0, i64::from(i32::MAX)) } else { (least, greatest) };
            Variable::internal(&format!("offset.{n}"), bounds.0, bounds.1).ok().map(Argument::Variable)
        }
        _ => Some(Argument::Element),
    }
}

/// The numbers among the operands of a node, with the positions of those operands.
fn numbers_of(pool: &ExprPool, node: &Expr, movable: &dyn Fn(ParamId) -> bool) -> SmallVec<[(usize, Number); 4]> {
    let float = |operand: &ExprId| match pool.get(*operand) {
        Expr::Const(value) if value.dtype().is_float() && !is_common(value.as_f64()) => Some(Number::Float(*value)),
        _ => None,
    };
    let offset = |operand: &ExprId| match pool.get(*operand) {
        Expr::Index(size) => Some(Number::Offset(constant_term(size)?)),
        _ => None,
    };
    let all = |of: &dyn Fn(&ExprId) -> Option<Number>, operands: &[ExprId]| {
        operands.iter().enumerate().filter_map(|(i, operand)| Some((i, of(operand)?))).collect()
    };
    match node {
        // What is a power of a constant is computed in other ways.
        Expr::Alu(op, operands) if *op != Alu::Pow => all(&float, operands),
        Expr::Load { from: Mem::Param(p), index, valid: None, .. } if movable(*p) => all(&offset, index),
        _ => SmallVec::new(),
    }
}

/// What a polynomial is where all its variables are 0.
fn constant_term(size: &Size) -> Option<i64> {
    let terms = size.terms()?;
    Some(terms.iter().find(|t| t.factors().is_empty()).map_or(0, |t| t.coefficient()))
}

fn roots(kernel: &Kernel) -> Vec<ExprId> {
    kernel.stages.iter().flat_map(Stage::roots).collect()
}

/// Whether a kernel may read a parameter at offsets that vary. Of constant operands of a product each part is packed,
/// once.
fn movable(kernel: &Kernel) -> impl Fn(ParamId) -> bool + '_ {
    let packs = (0..kernel.stages.len()).any(|s| recognise(kernel, s).is_some() || window::is_convolution(kernel, s));
    move |p| !(packs && kernel.params[p.index()].constant)
}

/// All numbers of a kernel that could be arguments, in the order in which [`lifted`] meets them.
fn numbers(kernel: &Kernel) -> Vec<Number> {
    let movable = movable(kernel);
    let of = |e: ExprId| numbers_of(&kernel.exprs, kernel.exprs.get(e), &movable);
    kernel.exprs.reachable(&roots(kernel)).into_iter().flat_map(of).map(|(_, number)| number).collect()
}

/// The kernel with arguments in the places of some of its numbers: parameters before those that it writes,
/// and variables.
fn lifted(kernel: &Kernel, arguments: &[Option<Argument>]) -> Kernel {
    let numbers = numbers(kernel);
    let mut elements: Vec<(DType, i64)> = Vec::new();
    for (number, argument) in numbers.iter().zip(arguments) {
        if let (Number::Float(value), Some(Argument::Element)) = (number, argument) {
            match elements.iter_mut().find(|(dtype, _)| *dtype == value.dtype()) {
                Some((_, count)) => *count += 1,
                None => elements.push((value.dtype(), 1)),
            }
        }
    }
    let first = kernel.params.len() - kernel.written().len();
    let moved = |p: ParamId| if p.index() < first { p } else { ParamId(p.0 + elements.len() as u32) };
    let mut next: Vec<i64> = vec![0; elements.len()];
    let mut arguments_left = arguments.iter();
    let movable = movable(kernel);
    let mut pool = ExprPool::new();
    let place = |pool: &mut ExprPool, mut node: Expr, dtype: DType| {
        for (at, number) in numbers_of(pool, &node, &movable) {
            let mut operands = node.operands();
            operands[at] = match (number, arguments_left.next()) {
                (Number::Float(value), Some(Some(Argument::Element))) => {
                    let of = elements.iter().position(|(dtype, _)| *dtype == value.dtype()).unwrap_or_default();
                    let index = pool.index(next[of]);
                    next[of] += 1;
                    pool.load(value.dtype(), Mem::Param(ParamId((first + of) as u32)), &[index])
                }
                (Number::Offset(offset), Some(Some(Argument::Variable(variable)))) => {
                    let Expr::Index(size) = pool.get(operands[at]).clone() else { continue };
                    pool.index(size - offset + Size::from(variable))
                }
                _ => continue,
            };
            node = node.with_operands(&operands);
        }
        if let Expr::Load { from: Mem::Param(p), .. } = &mut node {
            *p = moved(*p);
        }
        pool.add(node, dtype)
    };
    let mut copies = pool.copy_with(&kernel.exprs, &roots(kernel), &|_| None, place).into_iter();
    let mut stages = kernel.stages.clone();
    for stage in &mut stages {
        stage.for_each_root(&mut |root| *root = copies.next().unwrap_or(*root));
        for out in &mut stage.outs {
            if let Out::Param { param, .. } = out {
                *param = moved(*param);
            }
        }
    }
    let mut params = kernel.params.clone();
    let own = |(dtype, count): &(DType, i64)| Param { dtype: *dtype, shape: vec![Size::from(*count)], constant: false };
    params.splice(first..first, elements.iter().map(own));
    let mut vars = kernel.vars.clone();
    vars.extend(arguments.iter().flatten().filter_map(|argument| match argument {
        Argument::Variable(variable) => Some(variable.clone()),
        Argument::Element => None,
    }));
    Kernel { name: kernel.name.clone(), axes: kernel.axes.clone(), params, vars, exprs: pool, stages }
}

/// What a call of a member gives to the family's kernel.
#[derive(Default)]
struct Given {
    slots: Vec<Slot>,
    fixed: Vec<(String, i64)>,
}

/// The schedule with one kernel a family.
fn with_families(mut schedule: PreSchedule, families: &[Family]) -> PreSchedule {
    let count = schedule.kernels.len();
    let mut stands_for: Vec<usize> = (0..count).collect();
    let mut given: Vec<Given> = (0..count).map(|_| Given::default()).collect();
    for Family { members, arguments } in families {
        let first = members[0].0;
        for (member, numbers) in members {
            stands_for[*member] = first;
            let mut lists: Vec<Vec<Const>> = Vec::new();
            for (number, argument) in numbers.iter().zip(arguments) {
                match (number, argument) {
                    (Number::Float(value), Some(_)) => {
                        match lists.iter_mut().find(|list| list[0].dtype() == value.dtype()) {
                            Some(list) => list.push(*value),
                            None => lists.push(vec![*value]),
                        }
                    }
                    (Number::Offset(offset), Some(Argument::Variable(variable))) => {
                        given[*member].fixed.push((variable.name().to_owned(), *offset));
                    }
                    _ => {}
                }
            }
            for list in lists {
                given[*member].slots.push(Slot::Numbers(schedule.numbers.len()));
                schedule.numbers.push(list);
            }
        }
        schedule.kernels[first] = Arc::new(lifted(&schedule.kernels[first], arguments));
    }
    for invocation in &mut schedule.invocations {
        if let Item::Kernel(kernel) = &mut invocation.item {
            let own = &given[*kernel];
            *kernel = stands_for[*kernel];
            let read = invocation.args.len() - schedule.kernels[*kernel].written().len();
            invocation.args.splice(read..read, own.slots.iter().copied());
            invocation.fixed.extend(own.fixed.iter().cloned());
        }
    }
    // Those that stand for others close up.
    let kept: Vec<usize> = (0..count).filter(|k| stands_for[*k] == *k).collect();
    for invocation in &mut schedule.invocations {
        if let Item::Kernel(kernel) = &mut invocation.item {
            *kernel = kept.binary_search(kernel).unwrap_or(*kernel);
        }
    }
    schedule.kernels = kept.into_iter().map(|k| schedule.kernels[k].clone()).collect();
    schedule
}
