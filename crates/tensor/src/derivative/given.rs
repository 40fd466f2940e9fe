//! Derivatives that a program gives in place of those of the table.

use std::cell::Cell;
use std::error::Error;
use std::sync::Arc;

use svod_ir::graph::{Graph, Op, Pullback, PullbackRule, UOp};

use super::algebra::zeros;
use super::iteration::Number;
use super::remade::{Now, remade};
use super::table::Step;
use crate::batch::example;
use crate::error::{Result, TensorError, show_typed};
use crate::tensor::Tensor;
use crate::trace::Trace;

/// What errors call a derivative that is given.
const OP: &str = "custom_gradient";

/// What a rule gives, or why it failed.
pub type Pulled = std::result::Result<Vec<Option<Tensor>>, Arc<dyn Error + Send + Sync>>;

/// A rule that gives, of the cotangent of a result and the operands, the cotangents of these.
pub struct Rule {
    name: String,
    pull: Arc<Pull>,
    /// The numbers of iterations that the result is of.
    numbers: Vec<Number>,
}

type Pull = dyn Fn(&Tensor, &Now<'_>) -> Pulled + Send + Sync;

impl PullbackRule for Rule {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Rule {
    /// The cotangents of a value with a given derivative and of its operands, by that of the result. The value itself passes
    /// nothing on.
    pub(super) fn cotangents(by: &Pullback, step: &Step<'_>) -> Result<Vec<Option<UOp>>> {
        let Some(rule) = by.downcast::<Rule>() else { return Ok(vec![None; step.x.len()]) };
        let operands = &step.x[1..];
        let parts = rule.pull(&Tensor::from_uop(step.g.clone()), operands)?;
        if parts.len() != operands.len() {
            let (wanted, given) = (operands.len(), parts.len());
            let message = format!("{}: {wanted} operands, but {given} cotangents were given", rule.name);
            return Err(TensorError::value(OP, message));
        }
        let of_operands = parts.iter().zip(operands).enumerate().map(|(i, (part, operand))| match part {
            Some(part) => rule.fitted(i, &part.uop(), operand).map(Some),
            None => Ok(None),
        });
        [Ok(None)].into_iter().chain(of_operands).collect()
    }

    /// The cotangent of an operand in its type.
    fn fitted(&self, i: usize, part: &UOp, operand: &UOp) -> Result<UOp> {
        let typed = |x: &UOp| show_typed(x.dtype(), x.shape());
        let message = || format!("{}: the cotangent of operand {i}, {}, is {}", self.name, typed(operand), typed(part));
        if part.shape() != operand.shape() {
            return Err(TensorError::shape(OP, message()));
        }
        let (given, own) = (part.dtype(), operand.dtype());
        if !given.is_inexact() || (given.is_complex() && !own.is_complex()) {
            return Err(TensorError::dtype(OP, message()));
        }
        match own.is_complex() && !given.is_complex() {
            true => Ok(Tensor::complex(Tensor::from_uop(part.clone()), 0.0)?.cast(own)?.uop()),
            false => Ok(part.cast(own)?),
        }
    }

    /// The cotangents of the operands, by that of the result.
    pub(crate) fn pull(&self, cotangent: &Tensor, operands: &[UOp]) -> Result<Vec<Option<Tensor>>> {
        let now = Now { operands, numbers: &self.numbers };
        (self.pull)(cotangent, &now).map_err(|source| TensorError::Rule { name: self.name.clone(), source })
    }

    /// A derivative where the value is that of an iteration of this number.
    pub(super) fn within(by: &Pullback, number: &Number) -> Pullback {
        let Some(rule) = by.downcast::<Rule>() else { return by.clone() };
        let numbers = rule.numbers.iter().chain([number]).cloned().collect();
        Pullback::new(Arc::new(Rule { name: rule.name.clone(), pull: rule.pull.clone(), numbers }))
    }
}

impl Tensor {
    /// This value, whose derivative by some operands is what a rule makes of its cotangent: a cotangent for each operand,
    /// or none where there is nothing to pass on. Nothing else of how the value was computed is differentiated.
    pub fn with_derivative(
        &self,
        name: &str,
        operands: &[&Tensor],
        pull: impl Fn(&Tensor) -> Pulled + Send + Sync + 'static,
    ) -> Result<Tensor> {
        let value = self.uop();
        let operands: Vec<UOp> = operands.iter().map(|t| t.uop()).collect();
        let written = if Trace::in_step() { Written::of(&value, &operands, &pull) } else { None };
        Ok(Tensor::from_uop(match written {
            Some(written) => {
                let operands = written.own[..written.own.len() - 1].to_vec();
                derived(name, &value, &operands, move |g, now| {
                    written.at(g, now).map_err(|error| Arc::new(error) as _)
                })?
            }
            None => {
                let own = operands.clone();
                derived(name, &value, &operands, move |g, now| {
                    over(&pull(g)?, &own, now).map_err(|error| Arc::new(error) as _)
                })?
            }
        }))
    }
}

/// The cotangents that a rule gives of values of the body of a loop or of a branch. It is called when the value is made, with a
/// cotangent that has no value yet: later these values are there no more. What it finds outside of the operands becomes one.
struct Written {
    parts: Vec<Option<Tensor>>,
    /// The operands, what else there is of the body, and the node of the cotangent.
    own: Vec<UOp>,
}

thread_local! {
    /// Whether this thread writes down the cotangents of a rule.
    static WRITES: Cell<bool> = const { Cell::new(false) };
}

/// Ends what [`WRITES`] tells, however a rule ends.
struct Writes;

impl Drop for Writes {
    fn drop(&mut self) {
        WRITES.set(false);
    }
}

impl Written {
    /// None of a rule that fails: whoever takes the derivative learns why. None within a rule either, which may be part of its own
    /// derivative, as sines and cosines are.
    fn of(value: &UOp, operands: &[UOp], pull: impl Fn(&Tensor) -> Pulled) -> Option<Written> {
        if WRITES.replace(true) {
            return None;
        }
        let writes = Writes;
        let parts = example(value.shape(), value.dtype()).ok().and_then(|(g, leaf)| Some((pull(&g).ok()?, leaf)));
        drop(writes);
        let (mut parts, leaf) = parts.filter(|(parts, _)| parts.len() == operands.len())?;
        let roots: Vec<UOp> = parts.iter().flatten().map(Tensor::uop).collect();
        let found = Graph::new(&roots);
        let is_of_body =
            |node: &&UOp| matches!(node.op(), Op::Size(_)) || (node.op().leaf().is_some() && node.trace() != 0);
        let known: Vec<u64> = operands.iter().map(|operand| operand.resolved().id()).collect();
        let beside = found.nodes().iter().filter(is_of_body).filter(|node| !known.contains(&node.resolved().id()));
        let own: Vec<UOp> = operands.iter().chain(beside).cloned().chain([leaf]).collect();
        parts.resize(own.len() - 1, None);
        Some(Written { parts, own })
    }

    fn at(&self, g: &Tensor, now: &Now<'_>) -> Result<Vec<Option<Tensor>>> {
        let g = if g.dtype().is_complex() { g.as_real()? } else { g.clone() };
        let operands: Vec<UOp> = now.operands.iter().cloned().chain([g.uop()]).collect();
        over(&self.parts, &self.own, &Now { operands: &operands, numbers: now.numbers })
    }
}

/// Cotangents, written over `own`, as they are now.
fn over(parts: &[Option<Tensor>], own: &[UOp], now: &Now<'_>) -> Result<Vec<Option<Tensor>>> {
    let given: Vec<UOp> = parts.iter().flatten().map(Tensor::uop).collect();
    let mut made = remade(&given, own, now)?.into_iter().map(Tensor::from_uop);
    Ok(parts.iter().map(|part| part.as_ref().and_then(|_| made.next())).collect())
}

/// A value whose derivative by some operands is what a rule makes of its cotangent and the operands, which are others where the
/// value is part of a graph that is made anew.
pub(crate) fn derived(
    name: &str,
    value: &UOp,
    operands: &[UOp],
    pull: impl Fn(&Tensor, &Now<'_>) -> Pulled + Send + Sync + 'static,
) -> Result<UOp> {
    let rule = Arc::new(Rule { name: name.to_owned(), pull: Arc::new(pull), numbers: Vec::new() });
    let sources: Vec<UOp> = [value.detach()?].into_iter().chain(operands.iter().cloned()).collect();
    Ok(UOp::new(Op::Derived(Pullback::new(rule), operands.len()), &sources)?)
}

/// A value that follows from others too, by which its derivative is 0.
///
/// # Errors
/// None that a program could make.
pub(crate) fn following(name: &str, value: &UOp, others: &[UOp]) -> Result<UOp> {
    let operands: Vec<UOp> = [value.clone()].into_iter().chain(others.iter().cloned()).collect();
    derived(name, value, &operands, |g, now| {
        let zero = |node: &UOp| zeros(node).map(|zeros| Some(Tensor::from_uop(zeros)));
        match now.operands[1..].iter().map(zero).collect::<Result<Vec<_>>>() {
            Ok(zeros) => Ok([vec![Some(g.clone())], zeros].concat()),
            Err(error) => Err(Arc::new(error) as _),
        }
    })
}
