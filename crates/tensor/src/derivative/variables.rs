//! Tensors that require a gradient: PyTorch's way to say what derivatives are taken by.
//!
//! Such a handle has a *variable*, and stands for its value as that variable. What is built on it is watched and, once
//! it is in memory, remembers how it was computed, as long as anybody holds it or `backward` has not let that go.

use std::any::Any;
use std::cell::Cell;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use svod_ir::graph::{UOp, Watch};

use super::calls;
use super::walk::{Target, Walk};
use crate::error::{Result, TensorError, show_typed};
use crate::tensor::Tensor;
use crate::trace::{self, Trace};

thread_local! {
    static RECORDS: Cell<bool> = const { Cell::new(true) };
}

/// Whether what this thread computes remembers the tensors that require a gradient.
pub fn grad_enabled() -> bool {
    RECORDS.get()
}

/// Says whether what this thread computes from now on does; gives what was so before.
pub fn set_grad_enabled(enabled: bool) -> bool {
    RECORDS.replace(enabled)
}

/// A variable that a handle stands for, and the gradient that was gathered by it.
#[derive(Debug)]
pub(crate) struct Variable {
    watch: Watch,
    gradient: Mutex<Option<Tensor>>,
    /// Whether the handle is an operand of the program's own, rather than a result that keeps its gradient.
    is_leaf: bool,
    /// The number of the trace in which it was made; 0 outside of any.
    trace: u64,
}

impl Variable {
    fn new(is_leaf: bool) -> Arc<Variable> {
        Arc::new_cyclic(|own: &Weak<Variable>| {
            let owner: Weak<dyn Any + Send + Sync> = own.clone();
            let trace = trace::current();
            Variable { watch: Watch::new(Some(owner)), gradient: Mutex::new(None), is_leaf, trace }
        })
    }

    /// The gradient that was gathered; in a traced function, what that has gathered.
    fn gathered(self: &Arc<Variable>) -> Option<Tensor> {
        let present = || self.gradient.lock().clone();
        trace::gradient(self, self.trace, present).unwrap_or_else(present)
    }

    /// Makes this the gradient that was gathered; in a traced function for that only.
    fn gather(self: &Arc<Variable>, gradient: Option<Tensor>) {
        let present = || self.gradient.lock().clone();
        if !trace::set_gradient(self, self.trace, present, gradient.clone()) {
            let old = std::mem::replace(&mut *self.gradient.lock(), gradient);
            drop(old);
        }
    }

    /// A value as that of this variable, with nothing remembered of how it was computed.
    pub(crate) fn value(&self, node: &UOp) -> Result<UOp> {
        let node = if self.is_leaf && node.is_watched() { node.detach()? } else { node.clone() };
        Ok(node.watch(&self.watch)?)
    }

    pub(crate) fn is_leaf(&self) -> bool {
        self.is_leaf
    }
}

impl Tensor {
    /// Lets the tensor be a variable whose derivatives nobody gathers, until [`Tensor::unwatch`]; not if it requires a
    /// gradient already. Gives whether it is one now.
    ///
    /// # Errors
    /// A tensor that is not of floats.
    pub fn watch(&self) -> Result<bool> {
        if self.requires_grad() {
            return Ok(false);
        }
        if !self.dtype().is_inexact() {
            return Err(TensorError::dtype("grad", format!("only floats have gradients, not {}", self.described())));
        }
        self.set_variable(Some(Variable::new(true)));
        Ok(true)
    }

    /// Ends [`Tensor::watch`].
    pub fn unwatch(&self) {
        self.set_variable(None);
    }

    /// The cotangent of a tensor of one element.
    ///
    /// # Errors
    /// A tensor of several, or not of floats; `op` is what wants it.
    pub fn unit(&self, op: &'static str) -> Result<Tensor> {
        super::seed(op, &self.uop(), None).map(Tensor::from_uop)
    }

    /// Whether derivatives may be taken by the tensor, or by something that it follows from.
    pub fn requires_grad(&self) -> bool {
        self.with_variable(|variable| variable.is_some()) || self.with_node(UOp::is_watched)
    }

    /// Whether somebody may take a derivative of what is made of the tensor: one requires a gradient, or is in the body of a loop or
    /// in a branch, of whose values that is not known yet.
    pub fn may_be_differentiated(&self) -> bool {
        self.dtype().is_inexact() && (self.requires_grad() || Trace::in_step())
    }

    /// Says whether [`Tensor::backward`] gathers the derivative by this tensor.
    ///
    /// # Errors
    /// A tensor that is not of floats, and `false` of one that follows from others: [`Tensor::detach`] gives such a one.
    pub fn set_requires_grad(&self, requires: bool) -> Result<()> {
        let op = "requires_grad_";
        if requires == self.requires_grad() {
            self.set_fixed(!requires);
            return Ok(());
        }
        if !requires {
            if !self.with_variable(|variable| variable.is_some_and(|v| v.is_leaf)) {
                let message = "follows from others that require a gradient; `detach()` gives one that does not";
                return Err(TensorError::value(op, message));
            }
            self.set_fixed(true);
            self.set_variable(None);
            self.rebind(self.uop().detach()?);
            return Ok(());
        }
        if !self.dtype().is_inexact() {
            return Err(TensorError::dtype(op, format!("only floats have gradients, not {}", self.described())));
        }
        let variable = Variable::new(true);
        let node = variable.value(&self.uop())?;
        self.set_fixed(false);
        self.set_variable(Some(variable));
        self.rebind(node);
        Ok(())
    }

    /// Has [`Tensor::backward`] keep the gradient by this tensor, though it follows from others.
    ///
    /// # Errors
    /// A tensor that requires no gradient.
    pub fn retain_grad(&self) -> Result<()> {
        if self.with_variable(|variable| variable.is_some()) {
            return Ok(());
        }
        let node = self.uop();
        if !node.is_watched() {
            return Err(TensorError::value("retain_grad", "the tensor requires no gradient"));
        }
        let variable = Variable::new(false);
        let node = variable.value(&node)?;
        self.set_variable(Some(variable));
        self.rebind(node);
        Ok(())
    }

    /// Whether it follows from no other tensor that requires a gradient.
    pub fn is_leaf(&self) -> bool {
        self.with_variable(|variable| variable.is_some_and(|v| v.is_leaf)) || !self.requires_grad()
    }

    /// The gradient that was gathered by [`Tensor::backward`].
    pub fn grad(&self) -> Option<Tensor> {
        let variable = self.with_variable_arc(|variable| variable.cloned())?;
        trace::notice(self);
        variable.gathered()
    }

    /// Makes this the gradient that was gathered.
    ///
    /// # Errors
    /// A tensor that gathers none, and a gradient of another shape or type.
    pub fn set_grad(&self, gradient: Option<&Tensor>) -> Result<()> {
        let op = "grad";
        if let Some(given) = gradient {
            let (own, other) = (self.described(), given.described());
            if given.shape() != self.shape() {
                return Err(TensorError::shape(op, format!("{other} is no gradient of {own}")));
            }
            if given.dtype() != self.dtype() {
                return Err(TensorError::dtype(op, format!("{other} is no gradient of {own}")));
            }
        }
        match (self.with_variable_arc(|variable| variable.cloned()), gradient) {
            (Some(variable), _) => {
                trace::notice(self);
                variable.gather(gradient.cloned());
                Ok(())
            }
            (None, None) => Ok(()),
            (None, Some(_)) => Err(TensorError::value(op, "the tensor gathers no gradient: `requires_grad_()` first")),
        }
    }

    /// Adds to the `grad` of each tensor that requires a gradient the derivative of this one by it, times the cotangent:
    /// 1 for a tensor of one element. Then this tensor forgets how it was computed, unless `retain` says
    /// otherwise; `create_graph` lets gradients be differentiated in turn.
    ///
    /// # Errors
    /// A tensor that requires no gradient, or whose history was let go; one that follows from arguments of a function that is
    /// traced, or from nothing but those of one whose derivative is taken; one of several elements without a cotangent, a
    /// cotangent of another shape or type; operations without a derivative.
    pub fn backward(&self, cotangent: Option<&Tensor>, retain: bool, create_graph: bool) -> Result<()> {
        let op = "backward";
        let root = self.uop();
        if !root.is_watched() {
            let message = format!(
                "{} requires no gradient: it follows from no tensor with `requires_grad`, or forgot how it was computed \
                 (by `detach`, `no_grad`, an earlier `backward` without `retain_graph`, or as the output of a plan)",
                show_typed(root.dtype(), root.shape())
            );
            return Err(TensorError::value(op, message));
        }
        let seed = super::seed(op, &root, cotangent)?;
        let mut walk = Walk::new(std::slice::from_ref(&root), true, &[])?;
        let mut targets: Vec<Target> = Vec::new();
        let mut owners: Vec<Arc<Variable>> = Vec::new();
        let mut is_partial = false;
        for watch in walk.variables() {
            if watch.stands_in() {
                let message = "the value follows from an argument of a function that is traced, or from what was made of \
                               such parameters outside of it, which gathers no gradient there: let the function reach the \
                               parameters themselves, or take `svod.grad` or `svod.value_and_grad` of it";
                return Err(TensorError::value(op, message));
            }
            is_partial |= !watch.is_owned();
            let target = Target::Variable(watch.clone());
            let owner = watch.owner().and_then(|owner| owner.downcast::<Variable>().ok());
            if let Some(owner) = owner.filter(|_| !targets.contains(&target)) {
                targets.push(target);
                owners.push(owner);
            }
        }
        if is_partial && walk.variables().all(|watch| !watch.is_owned()) {
            let message = "the value follows from arguments of a function whose derivative is taken, and from nothing that \
                           gathers one: leave out `backward`, or take `svod.grad` within";
            return Err(TensorError::value(op, message));
        }
        let given = [(root.clone(), seed)];
        let gradients =
            if create_graph { walk.pull(&given, &targets)? } else { calls::at_last(|| walk.pull(&given, &targets))? };
        for (owner, gradient) in owners.iter().zip(gradients) {
            let Some(gradient) = gradient else { continue };
            let gradient = if create_graph { gradient } else { gradient.detach()? };
            let sum = match owner.gathered() {
                Some(before) => super::algebra::add(&before.uop(), &gradient)?,
                None => gradient,
            };
            owner.gather(Some(Tensor::from_uop(sum)));
        }
        // Whoever takes derivatives by the others does that later.
        if !retain && !is_partial && !create_graph && !self.with_variable(|variable| variable.is_some()) {
            self.rebind_from(&root, root.detach()?);
        }
        Ok(())
    }
}
