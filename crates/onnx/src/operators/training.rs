//! Steps of optimizers.

use svod_tensor::{Result, Tensor};

use super::Row;
use crate::call::{Call, Outcome, invalid};
use crate::value::Value;

const DOMAIN: &str = "ai.onnx.preview.training";

pub(super) const ROWS: &[Row] = &[
    Row { domain: DOMAIN, op: "Adagrad", since: 1, rule: adagrad },
    Row { domain: DOMAIN, op: "Adam", since: 1, rule: adam },
    Row { domain: DOMAIN, op: "Momentum", since: 1, rule: momentum },
];

/// The rate, the number of steps before, and for each parameter its value, its gradient and its states.
struct Steps {
    rate: Tensor,
    before: Tensor,
    parameters: Vec<Vec<Tensor>>,
}

impl Steps {
    fn of(c: &Call<'_>, states: usize) -> std::result::Result<Steps, crate::error::Fault> {
        let (count, rest) = ((c.inputs.len().saturating_sub(2)) / (2 + states), c.tensors()?);
        if rest.len() != 2 + count * (2 + states) {
            return invalid(format!("{} operands are not those of whole parameters", rest.len()));
        }
        let of = |i: usize| (0..2 + states).map(|kind| rest[2 + kind * count + i].clone()).collect();
        let parameters = (0..count).map(of).collect();
        Ok(Steps { rate: rest[0].reshape::<i64>(&[])?, before: rest[1].reshape::<i64>(&[])?, parameters })
    }

    /// The results of all parameters, first the values, then each state.
    fn map(&self, step: impl Fn(&[Tensor]) -> Result<Vec<Tensor>>) -> Outcome {
        let results = self.parameters.iter().map(|p| step(p)).collect::<Result<Vec<_>>>()?;
        let kinds = results.first().map_or(0, Vec::len);
        Ok((0..kinds).flat_map(|kind| results.iter().map(move |all| Value::from(all[kind].clone()))).collect())
    }
}

/// Duchi, Hazan and Singer 2011.
fn adagrad(c: &Call<'_>) -> Outcome {
    let (decay, epsilon, penalty) =
        (c.float("decay_factor", 0.0)?, c.float("epsilon", 1e-6)?, c.float("norm_coefficient", 0.0)?);
    let steps = Steps::of(c, 1)?;
    let rate = steps.rate.div(steps.before.cast(steps.rate.dtype())?.mul(decay)?.add(1)?)?;
    steps.map(|p| {
        let gradient = p[1].add(p[0].mul(penalty)?)?;
        let sum = p[2].add(gradient.square()?)?;
        let value = p[0].sub(gradient.mul(&rate)?.div(sum.sqrt()?.add(epsilon)?)?)?;
        Ok(vec![value, sum])
    })
}

/// Kingma and Ba 2015.
fn adam(c: &Call<'_>) -> Outcome {
    let (alpha, beta, epsilon) = (c.float("alpha", 0.9)?, c.float("beta", 0.999)?, c.float("epsilon", 1e-6)?);
    let (penalty, after) = (c.float("norm_coefficient", 0.0)?, c.float("norm_coefficient_post", 0.0)?);
    let steps = Steps::of(c, 2)?;
    // From the first step on the averages are mended for where they began.
    let count = steps.before.cast(steps.rate.dtype())?;
    let mended = |decay: f64| {
        let power = count.full_like(decay)?.pow(&count)?;
        Tensor::select(&count.gt(0)?, power.rsub(1)?, 1)
    };
    let rate = steps.rate.mul(mended(beta)?.sqrt()?)?.div(mended(alpha)?)?;
    steps.map(|p| {
        let gradient = p[1].add(p[0].mul(penalty)?)?;
        let mean = p[2].mul(alpha)?.add(gradient.mul(1.0 - alpha)?)?;
        let square = p[3].mul(beta)?.add(gradient.square()?.mul(1.0 - beta)?)?;
        let value = p[0].sub(mean.mul(&rate)?.div(square.sqrt()?.add(epsilon)?)?)?;
        Ok(vec![value.mul(1.0 - after)?, mean, square])
    })
}

/// Polyak 1964, Nesterov 1983.
fn momentum(c: &Call<'_>) -> Outcome {
    let (alpha, beta, penalty) = (c.float("alpha", 0.9)?, c.float("beta", 1.0)?, c.float("norm_coefficient", 0.0)?);
    let looks_ahead = c.text("mode", "standard")? == "nesterov";
    let steps = Steps::of(c, 1)?;
    // The first step takes the gradient as it is.
    let count = steps.before.cast(steps.rate.dtype())?;
    let share = Tensor::select(&count.gt(0)?, beta, 1.0)?.cast(steps.rate.dtype())?;
    steps.map(|p| {
        let gradient = p[1].add(p[0].mul(penalty)?)?;
        let velocity = p[2].mul(alpha)?.add(gradient.mul(&share)?)?;
        let by = if looks_ahead { gradient.add(velocity.mul(alpha)?)? } else { velocity.clone() };
        Ok(vec![p[0].sub(by.mul(&steps.rate)?)?, velocity])
    })
}
