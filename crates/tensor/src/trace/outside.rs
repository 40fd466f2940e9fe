//! What a traced function reads from outside: tensors that it finds in its closure, in globals, in objects.
//!
//! In the trace of a function, a handle that was made outside of it stands for an input of the plan that is made, as an
//! argument does (lambda lifting; Johnsson 1985): the plan then is run on what the handle, or the one that has
//! taken its place, stands for at the call. Some stay the values that they are, constants of this trace, which serves calls
//! as long as they do: what lies on a disk, what is of symbolic extents, and what the program asks the data of
//! ([`Trace::looked_at`]), for which it is traced again.
//!
//! What the function assigns to such a handle, or gathers as a gradient by it, belongs to the trace as well: the handle itself
//! stays what it is, and stands for the new value within the trace only ([`Found::written`], [`Gathered`]). These values are
//! further results of the plan, and each call gives them to the handles after its run.

use std::collections::HashMap;
use std::sync::Arc;

use svod_ir::graph::{Graph, LeafClass, Op, UOp, Watch};

use super::{FUNCTION, Trace, Traced, function, innermost};
use crate::derivative::Variable;
use crate::tensor::Tensor;

/// What a trace knows of tensors from outside.
#[derive(Debug, Default)]
pub(super) struct Outside {
    /// Those that are constants whatever is asked of them.
    pub(super) constants: Vec<Tensor>,
    /// Those that the function found, in the order in which it did.
    found: Vec<Found>,
    /// Their positions by the address of the handle.
    positions: HashMap<usize, usize>,
    /// Positions of those whose data it asked for.
    looked: Vec<usize>,
    /// The gradients by them that it asked for or gathered.
    gathered: Vec<Gathered>,
}

/// A tensor from outside that a traced function found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The handle.
    pub tensor: Tensor,
    /// What it stands for in the trace.
    pub node: UOp,
    /// Whether that is an input of the plan, and not the value itself.
    pub is_input: bool,
    /// What derivatives are taken by, of an input in place of a value that follows from tensors that require a gradient.
    mark: Option<Watch>,
    /// What it stands for once the function has assigned to it.
    pub written: Option<UOp>,
}

/// The gradient by a tensor from outside, in a trace.
#[derive(Clone, Debug)]
pub struct Gathered {
    variable: Arc<Variable>,
    /// What was gathered when the trace began.
    pub before: Option<Tensor>,
    /// What is gathered now.
    pub now: Option<Tensor>,
}

/// What a handle made in the trace `home` that stands for `now` stands for in the function that this thread traces.
pub(crate) fn stands_for(tensor: &Tensor, home: u64, now: UOp) -> UOp {
    if FUNCTION.get() <= home || now.trace() != 0 {
        return now;
    }
    match function() {
        Some(trace) => trace.found_as(tensor, now),
        None => now,
    }
}

/// Lets the function that this thread traces find a tensor, if it is one from outside of it, though nobody asks for its value.
pub(crate) fn notice(tensor: &Tensor) {
    tensor.with_node(|_| ());
}

/// Notes what the function that this thread traces assigns to a handle made in the trace `home` that stands for `now`; whether
/// it is one from outside of it. Others, and those that bodies of loops assign to, are not looked at.
pub(crate) fn write(tensor: &Tensor, home: u64, now: &UOp, new: &UOp) -> bool {
    let Some(trace) = innermost().filter(|trace| trace.takes_write(home, now)) else { return false };
    trace.found_as(tensor, now.clone());
    let mut outside = trace.0.outside.lock();
    let Some(at) = outside.positions.get(&tensor.address()).copied() else { return false };
    let old = outside.found[at].written.replace(new.clone());
    drop(outside);
    drop(old);
    true
}

/// The gradient by a variable made in the trace `home`, as the function that this thread traces sees it; none where it is no
/// variable from outside of one. `present` gives what was gathered outside.
pub(crate) fn gradient(
    variable: &Arc<Variable>,
    home: u64,
    present: impl FnOnce() -> Option<Tensor>,
) -> Option<Option<Tensor>> {
    let trace = function().filter(|_| is_outside(home))?;
    let mut outside = trace.0.outside.lock();
    Some(outside.gathered(variable, present).now.clone())
}

/// Makes this the gradient by a variable made in the trace `home` in the function that this thread traces; whether there is one
/// that the variable is from outside of.
pub(crate) fn set_gradient(
    variable: &Arc<Variable>,
    home: u64,
    present: impl FnOnce() -> Option<Tensor>,
    gradient: Option<Tensor>,
) -> bool {
    let Some(trace) = function().filter(|_| is_outside(home)) else { return false };
    let mut outside = trace.0.outside.lock();
    let old = std::mem::replace(&mut outside.gathered(variable, present).now, gradient);
    drop(outside);
    drop(old);
    true
}

/// Whether a handle made in the trace `home` is from outside of the function that this thread traces.
pub(crate) fn is_outside(home: u64) -> bool {
    FUNCTION.get() > home
}

impl Trace {
    /// The tensors from outside that the function has found, in the order in which it did.
    pub fn found(&self) -> Vec<Found> {
        self.0.outside.lock().found.clone()
    }

    /// Those among them whose data it asked for, which an input has not.
    pub fn looked_at(&self) -> Vec<Tensor> {
        let outside = self.0.outside.lock();
        outside.looked.iter().map(|at| outside.found[*at].tensor.clone()).collect()
    }

    /// The gradients by tensors from outside that the function asked for or gathered, each with the position of the tensor
    /// among [`Trace::found`].
    pub fn gathered(&self) -> Vec<(usize, Gathered)> {
        let outside = self.0.outside.lock();
        let is_of = |found: &Found, one: &Gathered| {
            found.tensor.with_variable_arc(|variable| variable.is_some_and(|v| Arc::ptr_eq(v, &one.variable)))
        };
        let position = |one: &Gathered| outside.found.iter().position(|found| is_of(found, one));
        outside.gathered.iter().filter_map(|one| Some((position(one)?, one.clone()))).collect()
    }

    /// Whether a handle stands for a value that depends on what the trace is made with. One from outside does not.
    pub fn has_made(&self, tensor: &Tensor) -> bool {
        tensor.present().trace() == self.number()
    }

    /// Whether it is a function's, and a handle made in the trace `home` that stands for `now` is from outside of it.
    pub(super) fn takes_write(&self, home: u64, now: &UOp) -> bool {
        self.0.what == Traced::Function && home < self.number() && now.trace() == 0
    }

    fn found_as(&self, tensor: &Tensor, now: UOp) -> UOp {
        let is_constant = {
            let outside = self.0.outside.lock();
            if let Some(at) = outside.positions.get(&tensor.address()) {
                let found = &outside.found[*at];
                // A constant may have been computed since.
                let node = if found.is_input { found.marked() } else { now };
                return found.written.clone().unwrap_or(node);
            }
            outside.constants.iter().any(|constant| constant.same(tensor))
        };
        let input = if is_constant { None } else { self.input_for(&now) };
        let is_input = input.is_some();
        let follows = is_input && now.is_watched() && tensor.with_variable(|variable| variable.is_none());
        let mark = follows.then(Watch::stand_in);
        let found = Found { tensor: tensor.clone(), node: input.unwrap_or(now), is_input, mark, written: None };
        let node = found.marked();
        let mut outside = self.0.outside.lock();
        let position = outside.found.len();
        outside.positions.insert(tensor.address(), position);
        outside.found.push(found);
        node
    }

    /// An input in place of a value; none of one that plans are not given.
    fn input_for(&self, value: &UOp) -> Option<UOp> {
        // A handle of the trace's own, which stands for nothing else.
        let value = Tensor::from_uop(value.clone());
        if value.device().is_file() || value.dims().is_err() {
            return None;
        }
        let slot = self.slots_for(value.sharding().map_or(1, |of| of.devices().len()), "a tensor from outside");
        value.placeholder_for(&value.shape(), slot, self).ok().map(|input| input.uop())
    }

    /// Notes that the data of a value was asked for, if tensors from outside alone decide it.
    pub(super) fn look_at(&self, value: &UOp) {
        let mut outside = self.0.outside.lock();
        let mut inputs = Vec::new();
        for node in Graph::new(std::slice::from_ref(value)).nodes() {
            if matches!(node.op(), Op::Leaf(leaf) if matches!(leaf.class(), LeafClass::Input(_))) {
                let of = |found: &Found| found.node.parts().is_ok_and(|parts| parts.contains(node));
                match outside.found.iter().position(of) {
                    Some(at) => inputs.push(at),
                    None => return,
                }
            }
        }
        outside.looked.extend(inputs);
    }
}

impl Outside {
    fn gathered(&mut self, variable: &Arc<Variable>, present: impl FnOnce() -> Option<Tensor>) -> &mut Gathered {
        let known = self.gathered.iter().position(|one| Arc::ptr_eq(&one.variable, variable));
        let at = known.unwrap_or_else(|| {
            let before = present();
            self.gathered.push(Gathered { variable: variable.clone(), before: before.clone(), now: before });
            self.gathered.len() - 1
        });
        &mut self.gathered[at]
    }
}

impl Found {
    /// What it stands for, as what derivatives are taken by.
    fn marked(&self) -> UOp {
        let marked = self.mark.as_ref().and_then(|mark| self.node.watch(mark).ok());
        marked.unwrap_or_else(|| self.node.clone())
    }

    /// Whether one of these values depends on it.
    pub fn is_read_by(&self, graph: &Graph) -> bool {
        self.node.parts().is_ok_and(|parts| parts.iter().any(|part| graph.nodes().contains(part)))
    }
}
