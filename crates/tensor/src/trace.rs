//! Traces: functions that are called once, with placeholders, to learn which graph they build.
//!
//! A value that depends on a placeholder is one only until its trace ends, and what a function writes to a tensor
//! from outside would be written once, not with each call. So handles know the trace in which they were
//! made, values ([`UOp::trace`]) that of the placeholders they depend on, and an assignment asks both.
//!
//! Sizes have no value either, but a function may ask how they compare, as in `if x.shape[0] > 100`. A trace of
//! a function is told the sizes of the call that it is made for: it answers with these, and notes what it
//! answered ([`Decision`]). Its plan serves all calls for which the answers are the same. A trace that fails may be
//! made again with what the answers say of variables ([`Facts`]).
//!
//! A tensor that the function finds outside of its arguments is an input of the plan as well ([`Found`]), and so is what
//! the generator of random numbers gives ([`Draws`](crate::random::Draws)).
//!
//! [`UOp::trace`]: svod_ir::graph::UOp::trace

mod decision;
mod draws;
mod facts;
mod outside;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use parking_lot::Mutex;
use svod_ir::graph::{Graph, LeafClass, Op, UOp};
use svod_ir::size::Size;

pub use decision::{Comparison, Decision, SizeValues};
pub use facts::Facts;
pub use outside::{Found, Gathered};
pub(crate) use outside::{gradient, is_outside, notice, set_gradient, stands_for, write};

use self::draws::Drawn;
use self::outside::Outside;
use crate::error::{Result, TensorError, show_operands};
use crate::tensor::Tensor;

/// What is traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traced {
    /// A function of tensors, such as `jit` makes a plan of.
    Function,
    /// The body of a loop.
    Body,
    /// A branch.
    Branch,
}

impl Traced {
    /// From what to what else data differs.
    pub(crate) fn differs(self) -> &'static str {
        match self {
            Traced::Function => "call to call",
            Traced::Body => "iteration to iteration",
            Traced::Branch => "run to run",
        }
    }

    /// What else a program may do, as a message goes on.
    pub(crate) fn static_hint(self) -> &'static str {
        match self {
            Traced::Function => "; a Python number as argument is part of what is recorded",
            Traced::Body | Traced::Branch => "",
        }
    }
}

impl fmt::Display for Traced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Traced::Function => "a traced function",
            Traced::Body => "the body of a loop",
            Traced::Branch => "a branch",
        })
    }
}

/// A call of a function that is traced, with the placeholders that were made for it.
#[derive(Clone, Debug)]
pub struct Trace(Arc<State>);

#[derive(Debug)]
struct State {
    /// From 1 on; larger for later ones.
    number: u64,
    what: Traced,
    /// What the program calls a placeholder, by its first slot.
    names: Mutex<Vec<(u32, String)>>,
    /// The sizes of the call that it is made for.
    values: SizeValues,
    /// What it takes for granted, over whose variables its placeholders are.
    facts: Facts,
    /// What it was told beyond that.
    decisions: Mutex<Vec<Decision>>,
    /// Why it was last refused the number that a size is.
    refused: Mutex<Option<String>>,
    /// The tensors from outside.
    outside: Mutex<Outside>,
    /// What it does with the generator.
    drawn: Mutex<Drawn>,
    /// The next slot of an input.
    slots: AtomicU32,
}

thread_local! {
    /// The traces that this thread is in, the innermost last.
    static ACTIVE: RefCell<Vec<Trace>> = const { RefCell::new(Vec::new()) };
    /// The number of the innermost of them that is of a function; 0 outside of any.
    static FUNCTION: Cell<u64> = const { Cell::new(0) };
}

impl Trace {
    /// The trace of a function, which [`Trace::run`] begins, for a call with these sizes, where these facts hold;
    /// these tensors from outside are constants of it.
    pub fn of_function(values: SizeValues, facts: Facts, constants: Vec<Tensor>) -> Trace {
        let trace = Trace::new(Traced::Function, values, facts);
        trace.0.outside.lock().constants = constants;
        trace
    }

    /// The trace of a loop's body, which [`Trace::run`] begins.
    pub(crate) fn of_body() -> Trace {
        Trace::new(Traced::Body, SizeValues::default(), Facts::default())
    }

    /// The trace of a branch, which [`Trace::run`] begins.
    pub(crate) fn of_branch() -> Trace {
        Trace::new(Traced::Branch, SizeValues::default(), Facts::default())
    }

    fn new(what: Traced, values: SizeValues, facts: Facts) -> Trace {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let (names, decisions, refused) = (Mutex::default(), Mutex::default(), Mutex::default());
        let (outside, drawn, slots) = (Mutex::default(), Mutex::default(), AtomicU32::new(0));
        Trace(Arc::new(State { number, what, names, values, facts, decisions, refused, outside, drawn, slots }))
    }

    /// Whether this thread traces something.
    pub fn is_active() -> bool {
        ACTIVE.with_borrow(|active| !active.is_empty())
    }

    /// Notes why a size gives no number to the function that this thread traces; whether there is one. Who asks may
    /// say something else in its place, as NumPy does.
    pub fn refuse(why: &str) -> bool {
        function().map(|function| *function.0.refused.lock() = Some(why.to_owned())).is_some()
    }

    /// Why it was last refused the number that a size is.
    pub fn refused(&self) -> Option<String> {
        self.0.refused.lock().clone()
    }

    /// The slots of a placeholder in as many parts, which errors call `name`, such as "argument `x`": gives the first.
    pub fn slots_for(&self, parts: usize, name: impl Into<String>) -> u32 {
        let slot = self.0.slots.fetch_add(parts as u32, Ordering::Relaxed);
        self.0.names.lock().push((slot, name.into()));
        slot
    }

    /// Calls the function that is traced.
    pub fn run<T>(&self, function: impl FnOnce() -> T) -> T {
        struct Active(u64);
        impl Drop for Active {
            fn drop(&mut self) {
                ACTIVE.with_borrow_mut(Vec::pop);
                FUNCTION.set(self.0);
            }
        }
        ACTIVE.with_borrow_mut(|active| active.push(self.clone()));
        let _active = Active(FUNCTION.get());
        if self.0.what == Traced::Function {
            FUNCTION.set(self.number());
        }
        function()
    }

    /// How sizes compare in the call that the innermost function is traced for; none outside of any, and where
    /// that call does not tell.
    pub fn decide(a: &Size, by: Comparison, b: &Size) -> Option<bool> {
        let State { values, facts, decisions, .. } = &*function()?.0;
        let decision = Decision::new(&facts.original(a), by, &facts.original(b), values)?;
        let answer = decision.answer();
        let mut known = decisions.lock();
        if !known.contains(&decision) {
            known.push(decision);
        }
        Some(answer)
    }

    /// A size as the innermost function that is traced has it: over the variables that its facts leave.
    pub fn known(size: &Size) -> Size {
        function().map_or_else(|| size.clone(), |function| function.0.facts.apply(size))
    }

    /// What it takes for granted.
    pub fn facts(&self) -> &Facts {
        &self.0.facts
    }

    /// What it took for granted and was told about sizes: what its result depends on.
    pub fn told(&self) -> Facts {
        let State { values, facts, decisions, .. } = &*self.0;
        let new: Vec<Decision> =
            decisions.lock().iter().filter(|new| !facts.decisions().contains(new)).cloned().collect();
        if new.is_empty() { facts.clone() } else { Facts::new([facts.decisions(), &new].concat(), values) }
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// How many bodies of loops this thread is in.
    pub(crate) fn depth() -> usize {
        ACTIVE.with_borrow(|active| active.iter().filter(|trace| trace.0.what == Traced::Body).count())
    }

    /// Whether this thread is in the body of a loop, or in a branch.
    pub(crate) fn in_step() -> bool {
        ACTIVE.with_borrow(|active| active.iter().any(|trace| trace.0.what != Traced::Function))
    }

    /// The name of a placeholder.
    fn name_of(&self, slot: u32) -> Option<String> {
        let names = self.0.names.lock();
        let first = names.iter().filter(|(first, _)| *first <= slot).max_by_key(|(first, _)| *first);
        first.map(|(_, name)| name.clone())
    }
}

/// The trace of the innermost function that this thread is in.
fn function() -> Option<Trace> {
    ACTIVE.with_borrow(|active| active.iter().rev().find(|trace| trace.0.what == Traced::Function).cloned())
}

/// The trace that this thread is in.
fn innermost() -> Option<Trace> {
    ACTIVE.with_borrow(|active| active.last().cloned())
}

/// The number of the trace that this thread is in; 0 outside of any.
pub(crate) fn current() -> u64 {
    ACTIVE.with_borrow(|active| active.last().map_or(0, Trace::number))
}

/// The trace of this number, if this thread is in it.
fn active(number: u64) -> Option<Trace> {
    ACTIVE.with_borrow(|active| active.iter().find(|trace| trace.number() == number).cloned())
}

/// The names of the placeholders that a value depends on, of traces that this thread is in.
fn names(value: &UOp) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for node in Graph::new(std::slice::from_ref(value)).nodes() {
        let Op::Leaf(leaf) = node.op() else { continue };
        let LeafClass::Input(slot) = leaf.class() else { continue };
        names.extend(active(leaf.data().trace()).and_then(|trace| trace.name_of(slot)));
    }
    names.sort();
    names.dedup();
    names
}

/// Why `op` cannot look at a value that depends on a placeholder of the trace of this number: it goes on, or has ended.
pub(crate) fn unknown(op: &'static str, value: &UOp, number: u64) -> TensorError {
    match active(number) {
        Some(trace) => {
            trace.look_at(value);
            TensorError::Traced {
                op,
                value: show_operands(std::slice::from_ref(value)),
                from: names(value),
                what: trace.0.what,
            }
        }
        None => TensorError::Leaked,
    }
}

/// Checks that a value has data, now or when it is computed.
///
/// # Errors
/// [`TensorError::Traced`] and [`TensorError::Leaked`] where it depends on a placeholder.
pub(crate) fn check_known(op: &'static str, value: &UOp) -> Result<()> {
    match value.trace() {
        0 => Ok(()),
        number => Err(unknown(op, value, number)),
    }
}

/// Checks that a handle to `old` which was made in the trace `home` may be made to stand for `new`.
///
/// # Errors
/// [`TensorError::Outside`] where the handle is an argument of the trace that the thread is in, or from outside of the body of a
/// loop, and [`TensorError::Leaked`] where the value's trace has ended.
pub(crate) fn check_write(op: &'static str, home: u64, old: &UOp, new: &UOp) -> Result<()> {
    if let Some(trace) = innermost()
        && home < trace.number()
        && !trace.takes_write(home, old)
    {
        let argument = if old.trace() == trace.number() { names(old).into_iter().next() } else { None };
        let tensor = match argument {
            Some(name) => name,
            None => format!("{}, a tensor from outside of it", show_operands(std::slice::from_ref(old))),
        };
        return Err(TensorError::Outside { op, what: trace.0.what, tensor });
    }
    match new.trace() {
        0 => Ok(()),
        number if active(number).is_some() => Ok(()),
        _ => Err(TensorError::Leaked),
    }
}

impl Tensor {
    /// Checks that the tensor has data to look at, now or when it is computed; `op` is what looks.
    ///
    /// # Errors
    /// [`TensorError::Traced`] where it depends on what a function is traced with, [`TensorError::Leaked`] where
    /// that trace has ended.
    pub fn check_known(&self, op: &'static str) -> Result<()> {
        self.with_node(|node| check_known(op, node))
    }

    /// What a tensor that depends on a placeholder follows from: the names of the placeholders; none where their trace
    /// has ended. Nothing of any other tensor.
    pub fn traced_from(&self) -> Option<Vec<String>> {
        let value = self.uop();
        (value.trace() != 0).then(|| names(&value))
    }
}
