//! Derivatives that a program gives in place of those of the table.

use std::error::Error;
use std::sync::Arc;

use svod_ir::graph::{Op, Pullback, PullbackRule, UOp};

use super::table::Step;
use crate::error::{Result, TensorError, show_typed};
use crate::tensor::Tensor;

/// What errors call a derivative that is given.
const OP: &str = "custom_gradient";

/// What a rule gives, or why it failed.
pub type Pulled = std::result::Result<Vec<Option<Tensor>>, Arc<dyn Error + Send + Sync>>;

/// A rule that gives, of the cotangent of a result and the operands, the cotangents of these.
pub struct Rule {
    name: String,
    pull: Box<Pull>,
}

type Pull = dyn Fn(&Tensor, &[UOp]) -> Pulled + Send + Sync;

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
        (self.pull)(cotangent, operands).map_err(|source| TensorError::Rule { name: self.name.clone(), source })
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
        let operands: Vec<UOp> = operands.iter().map(|t| t.uop()).collect();
        Ok(Tensor::from_uop(derived(name, &self.uop(), &operands, move |g, _| pull(g))?))
    }
}

/// A value whose derivative by some operands is what a rule makes of its cotangent and the operands, which are others where the
/// value is part of a graph that is made anew.
pub(crate) fn derived(
    name: &str,
    value: &UOp,
    operands: &[UOp],
    pull: impl Fn(&Tensor, &[UOp]) -> Pulled + Send + Sync + 'static,
) -> Result<UOp> {
    let rule = Arc::new(Rule { name: name.to_owned(), pull: Box::new(pull) });
    let sources: Vec<UOp> = [value.detach()?].into_iter().chain(operands.iter().cloned()).collect();
    Ok(UOp::new(Op::Derived(Pullback::new(rule), operands.len()), &sources)?)
}
