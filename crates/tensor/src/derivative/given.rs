//! Derivatives that a program gives in place of those of the table.

use std::error::Error;
use std::sync::Arc;

use svod_ir::graph::{Op, Pullback, PullbackRule, UOp};

use super::table::Step;
use crate::error::{Result, TensorError, show_typed};
use crate::tensor::Tensor;

/// What a rule gives, or why it failed.
pub type Pulled = std::result::Result<Vec<Option<Tensor>>, Arc<dyn Error + Send + Sync>>;

/// A rule that gives, of the cotangent of a result, those of operands.
pub struct Rule {
    name: String,
    pull: Box<dyn Fn(&Tensor) -> Pulled + Send + Sync>,
}

impl PullbackRule for Rule {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Rule {
    /// The cotangent of an operand of a value with a given derivative. The value itself passes nothing on.
    pub(super) fn cotangent(by: &Pullback, step: &Step<'_>, i: usize) -> Result<Option<UOp>> {
        let (Some(rule), Some(operand)) = (by.downcast::<Rule>(), i.checked_sub(1)) else { return Ok(None) };
        let op = "custom_gradient";
        let parts = rule.pull(&Tensor::from_uop(step.g.clone()))?;
        let operands = step.x.len() - 1;
        if parts.len() != operands {
            let message = format!("{}: {operands} operands, but {} cotangents were given", rule.name, parts.len());
            return Err(TensorError::value(op, message));
        }
        let Some(part) = &parts[operand] else { return Ok(None) };
        let (part, x) = (part.uop(), &step.x[i]);
        if part.shape() != x.shape() {
            let (given, own) = (show_typed(part.dtype(), part.shape()), show_typed(x.dtype(), x.shape()));
            let message = format!("{}: the cotangent of operand {operand}, {own}, is {given}", rule.name);
            return Err(TensorError::shape(op, message));
        }
        Ok(Some(part.cast(x.dtype())?))
    }

    /// The cotangents of the operands, by that of the result.
    pub(crate) fn pull(&self, cotangent: &Tensor) -> Result<Vec<Option<Tensor>>> {
        (self.pull)(cotangent).map_err(|source| TensorError::Rule { name: self.name.clone(), source })
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
        let rule = Arc::new(Rule { name: name.to_owned(), pull: Box::new(pull) });
        let mut sources = vec![self.uop().detach()?];
        sources.extend(operands.iter().map(|t| t.uop()));
        Ok(Tensor::from_uop(UOp::new(Op::Derived(Pullback::new(rule), operands.len()), &sources)?))
    }
}
