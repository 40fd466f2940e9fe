//! Kernels that differ only in numbers become one, which has the numbers as arguments.
//!
//! A hundred layers that scale by numbers of their own, or that read other slices of one tensor, are as many
//! kernels by their texts, and would be compiled as often.
//!
//! * Constants become elements of a parameter, one parameter for each type of them.
//! * Offsets of positions become variables, whose values each call fixes: where parameters are read, and in the
//!   conditions under which they are. Offsets that differ by the same from one kernel to the next are one variable, so that
//!   conditions go on saying what is inside of memory. So do first extents of what is only read.
//!
//! A constant makes better code than an argument, so that only numbers in which kernels of one schedule differ are
//! arguments: a kernel that has no equal but for its numbers stays what it is. So do two that differ in a number of which
//! code makes much, such as 0, a divisor, or where a condition changes; three do not.

mod numbers;

use crate::calls::preschedule::{Item, PreSchedule, Slot};
use numbers::{Argument, Found, Number, lifted, numbers};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use svod_dtype::Const;
use svod_ir::Key;
use svod_ir::kernel::Kernel;
use svod_ir::size::Variable;

/// The same calls, of fewer kernels.
pub(crate) fn parameterise(schedule: PreSchedule) -> PreSchedule {
    let families = families(&schedule.kernels);
    if families.is_empty() { schedule } else { with_families(schedule, &families) }
}

/// A kernel that may be one with others: its position among the kernels, and its numbers.
struct Member {
    at: usize,
    numbers: Vec<Found>,
}

/// Kernels that are one but for their numbers.
struct Family {
    /// In the order of the kernels.
    members: Vec<Member>,
    /// What takes the place of each number; nothing where all members have the same.
    arguments: Vec<Option<Argument>>,
}

/// The families of more than one kernel, in the order of their first members.
fn families(kernels: &[Arc<Kernel>]) -> Vec<Family> {
    // Names hold kinds and extents: most kernels have nothing to be compared with.
    let mut alike: FxHashMap<(&str, usize, usize), Vec<usize>> = FxHashMap::default();
    for (at, kernel) in kernels.iter().enumerate() {
        alike.entry((&kernel.name, kernel.params.len(), kernel.stages.len())).or_default().push(at);
    }
    let mut by_key: FxHashMap<Key, Vec<Member>> = FxHashMap::default();
    for at in alike.into_values().filter(|all| all.len() > 1).flatten() {
        let numbers = numbers(&kernels[at]);
        let every: Vec<Option<Argument>> = numbers.iter().enumerate().map(|(n, found)| any(n, found.number)).collect();
        by_key.entry(lifted(&kernels[at], &numbers, &every).key()).or_default().push(Member { at, numbers });
    }
    let mut families: Vec<Family> = by_key.into_values().flat_map(alike_enough).filter_map(Family::of).collect();
    families.sort_unstable_by_key(|family| family.members[0].at);
    families
}

/// What takes the place of the `n`-th number, whatever it is.
fn any(n: usize, number: Number) -> Option<Argument> {
    match number {
        Number::Scalar(_) => Some(Argument::Element),
        Number::Offset(_) => variable(n, 0, i64::from(i32::MAX)),
    }
}

/// With a dot, no user's variable is of this name.
fn variable(n: usize, least: i64, greatest: i64) -> Option<Argument> {
    let made = Variable::internal(&format!("offset.{n}"), least, greatest).ok()?;
    Some(Argument::Variable(made, 0))
}

/// Kernels that are one but for numbers, in parts that are alike in those that are no arguments: numbers of which code
/// makes much, where there are two of them.
fn alike_enough(mut members: Vec<Member>) -> Vec<Vec<Member>> {
    if members.len() < 2 {
        return Vec::new();
    }
    members.sort_unstable_by_key(|member| member.at);
    let stays = |n: &usize| {
        let mut values = members.iter().map(|member| member.numbers[*n].number);
        let first = values.next();
        let mut others = values.filter(|value| Some(*value) != first);
        let second = others.next();
        second.is_some() && others.all(|value| Some(value) == second) && members.iter().any(|m| m.numbers[*n].preferred)
    };
    let stay: Vec<usize> = (0..members[0].numbers.len()).filter(stays).collect();
    let mut parts: Vec<Vec<Member>> = Vec::new();
    let mut by_side: FxHashMap<Vec<bool>, usize> = FxHashMap::default();
    let first: Vec<Number> = stay.iter().map(|n| members[0].numbers[*n].number).collect();
    for member in members {
        let side = stay.iter().zip(&first).map(|(n, first)| member.numbers[*n].number == *first).collect();
        let part = *by_side.entry(side).or_insert(parts.len());
        if part == parts.len() {
            parts.push(Vec::new());
        }
        parts[part].push(member);
    }
    parts
}

impl Family {
    /// The family of members that are one but for numbers that may be arguments.
    fn of(members: Vec<Member>) -> Option<Family> {
        if members.len() < 2 {
            return None;
        }
        // By how offsets differ from the first member's: the number that stands for all that do so, and its value there.
        let mut together: FxHashMap<Vec<i64>, (usize, i64)> = FxHashMap::default();
        let mut argument = |n: usize| {
            let of = |member: &Member| member.numbers[n].number;
            if members.iter().all(|member| of(member) == of(&members[0])) {
                return None;
            }
            let offset = |member: &Member| if let Number::Offset(offset) = of(member) { Some(offset) } else { None };
            let Some(offsets) = members.iter().map(offset).collect::<Option<Vec<i64>>>() else {
                return Some(Argument::Element);
            };
            let own = offsets[0];
            let apart = offsets.iter().map(|offset| offset.wrapping_sub(own)).collect();
            let (first, base) = *together.entry(apart).or_insert((n, own));
            let offsets = offsets.into_iter().map(|offset| offset.wrapping_sub(own).wrapping_add(base));
            let (least, greatest) = (offsets.clone().min()?, offsets.max()?);
            match variable(first, least, greatest)? {
                Argument::Variable(variable, _) => Some(Argument::Variable(variable, own.wrapping_sub(base))),
                element => Some(element),
            }
        };
        let arguments = (0..members[0].numbers.len()).map(&mut argument).collect();
        Some(Family { members, arguments })
    }
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
        let first = &members[0];
        for Member { at, numbers } in members {
            stands_for[*at] = first.at;
            let own = &mut given[*at];
            let mut lists: Vec<Vec<Const>> = Vec::new();
            for (found, argument) in numbers.iter().zip(arguments) {
                match (found.number, argument) {
                    (Number::Scalar(value), Some(_)) => {
                        match lists.iter_mut().find(|list| list[0].dtype() == value.dtype()) {
                            Some(list) => list.push(value),
                            None => lists.push(vec![value]),
                        }
                    }
                    (Number::Offset(offset), Some(Argument::Variable(variable, more)))
                        if own.fixed.iter().all(|(name, _)| name != variable.name()) =>
                    {
                        own.fixed.push((variable.name().to_owned(), offset - more));
                    }
                    _ => {}
                }
            }
            for list in lists {
                own.slots.push(Slot::Numbers(schedule.numbers.len()));
                schedule.numbers.push(list);
            }
        }
        schedule.kernels[first.at] = Arc::new(lifted(&schedule.kernels[first.at], &first.numbers, arguments));
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
