//! The reverse walk: cotangents from results to what derivatives are taken by (Linnainmaa 1970; Griewank and Walther 2008).
//!
//! One pass down finds the operations between, one pass back gives each of them the sum of what its users pass on. Both go by
//! a list, whatever the depth, and look at each operation once.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use svod_ir::graph::{HostCall, LoopBody, Op, Sources, UOp, Watch};
use svod_runtime::control::Control;

use super::algebra::{add, zeros};
use super::calls::Call;
use super::control;
use super::given::Rule;
use super::iteration::unrolled;
use super::loops;
use super::sums;
use super::table::{Step, cotangent, follows_from};
use super::windows;
use crate::error::Result;

/// What a derivative is taken by: a variable, or a value of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// A variable, whichever value it has.
    Variable(Watch),
    /// The value of this node.
    Value(u64),
}

impl Target {
    /// The target that a node is.
    pub fn of(node: &UOp) -> Target {
        match origin(node).op() {
            Op::Watch(variable) => Target::Variable(variable.clone()),
            _ => Target::Value(node.resolved().id()),
        }
    }
}

/// How a value was computed: what it remembers where it is memory.
pub(super) fn origin(value: &UOp) -> UOp {
    let value = value.resolved();
    value.history().unwrap_or(&value).clone()
}

/// One operation of the walk.
struct Place {
    value: UOp,
    /// What computed it, with its operands, and where in the walk these are.
    op: Op,
    sources: Sources,
    below: SmallVec<[u32; 3]>,
    /// Whether what derivatives are taken by is below.
    is_active: bool,
    /// The step with several outputs that this is, below all of them.
    whole: Option<Whole>,
}

impl Place {
    /// Whether it follows from what is below it in the `i`-th place, though its derivative by that may be 0 everywhere.
    fn follows(&self, i: usize) -> bool {
        matches!(Whole::of(&self.op), Some((Whole::Call(_), _))) || follows_from(&self.op, i)
    }
}

/// A step whose outputs are differentiated together.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Whole {
    Loop(LoopBody),
    Control(HostCall),
    Call(Call),
}

impl Whole {
    /// The step that an operation is an output of, and which.
    fn of(op: &Op) -> Option<(Whole, usize)> {
        match op {
            Op::Loop(body, output) if loops::is_long(body) => Some((Whole::Loop(body.clone()), *output)),
            Op::Host(call, _, output) if call.downcast::<Control>().is_some() => {
                Some((Whole::Control(call.clone()), *output))
            }
            Op::Derived(by, _) => Call::of(by).map(|(call, output)| (Whole::Call(call), output)),
            _ => None,
        }
    }

    /// Its operands, of those of one of its outputs.
    fn operands(&self, sources: Sources) -> Sources {
        match self {
            // The first one is the value itself.
            Whole::Call(_) => sources[1..].iter().cloned().collect(),
            _ => sources,
        }
    }

    /// The cotangents of its operands.
    fn pulled(&self, sources: &[UOp], given: &[Option<UOp>], active: &[bool]) -> Result<Vec<Option<UOp>>> {
        match self {
            Whole::Loop(body) => {
                let rest = body.results().len().saturating_sub(given.len());
                loops::pulled(body, sources, &[given, &vec![None; rest]].concat(), active)
            }
            Whole::Control(call) => control::pulled(call, sources, given, active),
            Whole::Call(call) => call.pulled(sources, given),
        }
    }
}

/// What is passed on to each target, and where in the walk it is.
type Passed = (Vec<Option<UOp>>, Vec<Option<usize>>);

/// The operations below some values, operands first.
pub struct Walk {
    places: Vec<Place>,
    index: FxHashMap<u64, u32>,
}

enum Visit {
    Open(UOp),
    Close(UOp, Op, Sources),
    /// A step, of which the value is an output.
    Whole(UOp, Op, Whole, Sources),
    /// An output of a step.
    Output(UOp, Op, Whole, Sources),
}

impl Walk {
    /// Of what some values follow from; `only_watched` leaves out what follows from no variable. Targets are values that
    /// derivatives may be taken by.
    ///
    /// # Errors
    /// Those of loops that cannot be unrolled.
    pub fn new(roots: &[UOp], only_watched: bool, targets: &[Target]) -> Result<Walk> {
        Walk::down(roots, only_watched, targets, false)
    }

    /// Of what some values follow from down to the targets, of which none is looked into.
    ///
    /// # Errors
    /// Those of loops that cannot be unrolled.
    pub fn down_to(roots: &[UOp], targets: &[Target]) -> Result<Walk> {
        Walk::down(roots, false, targets, true)
    }

    #[expect(clippy::mutable_key_type, reason = "bodies and nodes are hashed by what never changes of them")]
    fn down(roots: &[UOp], only_watched: bool, targets: &[Target], stops: bool) -> Result<Walk> {
        let ends_at: FxHashSet<&Target> = if stops { targets.iter().collect() } else { FxHashSet::default() };
        const OPEN: u32 = u32::MAX;
        let mut walk = Walk { places: Vec::new(), index: FxHashMap::default() };
        let mut written_out: FxHashMap<(LoopBody, Sources), Vec<UOp>> = FxHashMap::default();
        let mut whole: FxHashMap<(Whole, Sources), u32> = FxHashMap::default();
        let mut work: Vec<Visit> = roots.iter().rev().map(|root| Visit::Open(root.resolved())).collect();
        while let Some(visit) = work.pop() {
            match visit {
                Visit::Open(value) => {
                    if walk.index.contains_key(&value.id()) {
                        continue;
                    }
                    walk.index.insert(value.id(), OPEN);
                    let origin = origin(&value);
                    let (mut op, mut sources) = (origin.op().clone(), origin.sources());
                    let ends = matches!(op, Op::Detach)
                        || (only_watched && !value.is_watched())
                        || ends_at.contains(&Target::of(&value));
                    if ends || !value.dtype().is_inexact() {
                        sources.clear();
                    } else if matches!(op, Op::Window(..)) && value.history().is_none() {
                        let base = windows::base(&value, |node| targets.contains(&Target::of(node)));
                        sources = base.into_iter().collect();
                    } else if let Some((step, _)) = Whole::of(&op) {
                        let sources = step.operands(sources);
                        work.push(Visit::Output(value.clone(), op.clone(), step.clone(), sources.clone()));
                        if !whole.contains_key(&(step.clone(), sources.clone())) {
                            let fresh: Vec<Visit> = sources.iter().rev().cloned().map(Visit::Open).collect();
                            work.push(Visit::Whole(value, op, step, sources));
                            work.extend(fresh);
                        }
                        continue;
                    } else if let Op::Loop(body, output) = &op {
                        let key = (body.clone(), sources.clone());
                        let made = match written_out.get(&key) {
                            Some(made) => made[*output].clone(),
                            None => {
                                let made = unrolled(body, &sources)?;
                                let one = made[*output].clone();
                                written_out.insert(key, made);
                                one
                            }
                        };
                        (op, sources) = (Op::Contiguous, [made].into_iter().collect());
                    }
                    let fresh = sources.iter().rev().filter(|s| !walk.index.contains_key(&s.id())).cloned();
                    let fresh: Vec<Visit> = fresh.map(Visit::Open).collect();
                    work.push(Visit::Close(value, op, sources));
                    work.extend(fresh);
                }
                Visit::Close(value, op, sources) => {
                    let below = sources.iter().map(|s| walk.index[&s.id()]).collect();
                    walk.index.insert(value.id(), walk.places.len() as u32);
                    walk.places.push(Place { value, op, sources, below, is_active: false, whole: None });
                }
                Visit::Whole(value, op, step, sources) => {
                    whole.insert((step.clone(), sources.clone()), walk.places.len() as u32);
                    let below = sources.iter().map(|s| walk.index[&s.id()]).collect();
                    walk.places.push(Place { value, op, sources, below, is_active: false, whole: Some(step) });
                }
                Visit::Output(value, op, body, sources) => {
                    let below = [whole[&(body, sources)]].into_iter().collect();
                    walk.index.insert(value.id(), walk.places.len() as u32);
                    let sources = Sources::new();
                    walk.places.push(Place { value, op, sources, below, is_active: false, whole: None });
                }
            }
        }
        Ok(walk)
    }

    /// The variables that the values follow from.
    pub fn variables(&self) -> impl Iterator<Item = &Watch> {
        self.places.iter().filter_map(|place| match &place.op {
            Op::Watch(variable) => Some(variable),
            _ => None,
        })
    }

    /// Whether the values follow from a target in more than one way, so that its derivative is a sum.
    pub fn is_sum(&mut self, target: &Target) -> bool {
        self.mark(|one| one == target);
        let mut users = vec![0; self.places.len()];
        let active = self.places.iter().filter(|place| place.is_active);
        active.flat_map(|place| &place.below).for_each(|below| users[*below as usize] += 1);
        self.places.iter().zip(users).any(|(place, users)| place.is_active && users > 1)
    }

    /// Marks what the targets are below.
    fn mark(&mut self, is_target: impl Fn(&Target) -> bool) {
        for at in 0..self.places.len() {
            let is_one = self.target(at).is_some_and(|target| is_target(&target));
            let is_active = is_one || self.places[at].below.iter().any(|s| self.places[*s as usize].is_active);
            self.places[at].is_active = is_active;
        }
    }

    /// The cotangents of targets, given those of some of the values; none of what these do not follow from, and zeros of what
    /// they follow from only by operations that pass nothing on, such as roundings. No operation is applied to such zeros on
    /// their way: they are zeros where a derivative on it is infinite, too.
    ///
    /// # Errors
    /// An operation between that has no derivative.
    pub fn pull(&mut self, given: &[(UOp, UOp)], targets: &[Target]) -> Result<Vec<Option<UOp>>> {
        let (mut found, reached) = self.passed(given, targets)?;
        for (found, place) in found.iter_mut().zip(reached) {
            if let (None, Some(at)) = (&found, place) {
                *found = Some(zeros(&self.places[at].value)?);
            }
        }
        Ok(found)
    }

    /// What is passed on to targets, given the cotangents of some of the values, and where in the walk each is that these
    /// follow from, though nothing may be passed on.
    ///
    /// # Errors
    /// An operation between that has no derivative.
    pub fn passed(&mut self, given: &[(UOp, UOp)], targets: &[Target]) -> Result<Passed> {
        let wanted: FxHashMap<&Target, usize> = targets.iter().zip(0..).collect();
        self.mark(|target| wanted.contains_key(target));
        // What the users of each value pass on to it.
        let mut passed: Vec<Vec<UOp>> = vec![Vec::new(); self.places.len()];
        for (value, g) in given {
            passed[self.index[&value.resolved().id()] as usize].push(g.clone());
        }
        let mut found: Vec<Option<UOp>> = vec![None; targets.len()];
        let mut reached: Vec<Option<usize>> = vec![None; targets.len()];
        let mut is_reached = vec![false; self.places.len()];
        for (value, _) in given {
            is_reached[self.index[&value.resolved().id()] as usize] = true;
        }
        // The cotangents of the outputs of steps that have several.
        let mut of_steps: FxHashMap<u32, Vec<Option<UOp>>> = FxHashMap::default();
        for at in (0..self.places.len()).rev() {
            let place = &self.places[at];
            let which = self.target(at).and_then(|target| wanted.get(&target)).copied();
            if is_reached[at] && place.is_active {
                if let Some(which) = which {
                    reached[which] = Some(at);
                }
                // A rule that is asked says itself what it passes on.
                let is_asked = matches!(place.op, Op::Derived(..)) && !passed[at].is_empty();
                let below = place.below.iter().enumerate().filter(|(i, _)| !is_asked && place.follows(*i));
                below.for_each(|(_, below)| is_reached[*below as usize] = true);
            }
            if let Some(step) = &place.whole {
                let Some(given) = of_steps.remove(&(at as u32)) else { continue };
                let active: Vec<bool> = place.below.iter().map(|s| self.places[*s as usize].is_active).collect();
                let parts = step.pulled(&place.sources, &given, &active)?;
                for (below, part) in place.below.iter().zip(parts) {
                    if let Some(part) = part {
                        part.inherit_origin_as_derivative(&place.value);
                        passed[*below as usize].push(part);
                        is_reached[*below as usize] = true;
                    }
                }
                continue;
            }
            let parts = std::mem::take(&mut passed[at]);
            if parts.is_empty() || !place.is_active {
                continue;
            }
            if let (Op::Expand(_), None) = (&place.op, which) {
                let part = sums::unexpanded(&parts, &place.sources[0])?;
                part.inherit_origin_as_derivative(&place.value);
                passed[place.below[0] as usize].push(part);
                continue;
            }
            let g = sums::total(&parts)?;
            if let Some(which) = which {
                join(&mut found[which], g.clone())?;
            }
            if let (Some((_, output)), [whole]) = (Whole::of(&place.op), &place.below[..])
                && self.places[*whole as usize].whole.is_some()
            {
                let given = of_steps.entry(*whole).or_default();
                given.resize(given.len().max(output + 1), None);
                given[output] = Some(g);
                continue;
            }
            let step = Step { op: &place.op, y: &place.value, x: &place.sources, g: &g };
            let mut given = match &place.op {
                // The walk may end at it.
                Op::Derived(by, _) if !place.sources.is_empty() => Some(Rule::cotangents(by, &step)?),
                _ => None,
            };
            for (i, below) in place.below.iter().enumerate() {
                if !self.places[*below as usize].is_active {
                    continue;
                }
                let part = match &mut given {
                    Some(parts) => parts[i].take(),
                    None => cotangent(&step, i)?,
                };
                if let Some(part) = part {
                    part.inherit_origin_as_derivative(&place.value);
                    passed[*below as usize].push(part);
                    is_reached[*below as usize] = true;
                }
            }
        }
        // One target that is named twice has one derivative.
        let which = || targets.iter().map(|target| wanted[target]);
        Ok((which().map(|at| found[at].clone()).collect(), which().map(|at| reached[at]).collect()))
    }

    fn target(&self, at: usize) -> Option<Target> {
        let place = &self.places[at];
        match &place.op {
            _ if place.whole.is_some() => None,
            Op::Watch(variable) => Some(Target::Variable(variable.clone())),
            _ => Some(Target::Value(place.value.id())),
        }
    }
}

/// Adds what another user passes on.
fn join(sum: &mut Option<UOp>, part: UOp) -> Result<()> {
    *sum = Some(match sum.take() {
        Some(sum) => add(&sum, &part)?,
        None => part,
    });
    Ok(())
}
