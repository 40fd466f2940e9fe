//! Losses of classification.

use svod_dtype::DType;
use svod_tensor::Tensor;

use super::{Row, row};
use crate::call::{Call, Outcome, invalid};
use crate::error::Fault;

pub(super) const ROWS: &[Row] = &[
    row("NegativeLogLikelihoodLoss", 12, |c| Ok(vec![likelihood(c, &c.tensor(0)?)?.into()])),
    row("SoftmaxCrossEntropyLoss", 12, cross_entropy),
];

fn cross_entropy(c: &Call<'_>) -> Outcome {
    let logarithms = c.tensor(0)?.log_softmax(1)?;
    Ok(vec![likelihood(c, &logarithms)?.into(), logarithms.into()])
}

/// What the classes' logarithms `[batch, classes, ..]` say of the targets `[batch, ..]`, weighted and averaged.
fn likelihood(c: &Call<'_>, x: &Tensor) -> Result<Tensor, Fault> {
    let (target, weight) = (c.tensor(1)?.cast(DType::I64)?, c.optional(2)?);
    let ignored = c.maybe_int("ignore_index")?;
    let counted = match ignored {
        Some(ignored) => Some(target.ne(ignored)?),
        None => None,
    };
    // What does not count looks up something that is there.
    let class = match &counted {
        Some(counted) => Tensor::select(counted, &target, 0)?,
        None => target,
    };
    let found = x.gather(1, &class.unsqueeze(1)?)?.squeeze(Some(&[1]))?.neg()?;
    let weights = match weight {
        Some(weight) => Some(weight.take(&class, 0)?),
        None => None,
    };
    let weights = match (weights, counted) {
        (Some(weights), Some(counted)) => Some(Tensor::select(&counted, weights, 0)?),
        (None, Some(counted)) => Some(counted.cast(x.dtype())?),
        (weights, None) => weights,
    };
    let loss = match &weights {
        Some(weights) => found.mul(weights)?,
        None => found,
    };
    Ok(match (c.text("reduction", "mean")?, weights) {
        ("none", _) => loss,
        ("sum", _) => loss.sum(None, false)?,
        ("mean", None) => loss.mean(None, false)?,
        ("mean", Some(weights)) => loss.sum(None, false)?.div(weights.sum(None, false)?)?,
        (other, _) => return invalid(format!("attribute 'reduction' is '{other}'")),
    })
}
