//! Recurrent layers: loops over the steps of a sequence, unrolled where these are few.

use svod_dtype::DType;
use svod_tensor::{Operand, Size, Tensor};

use super::activation::{elu, hard_sigmoid, softsign};
use super::control::SHORT;
use super::{Row, row};
use crate::call::{Call, Outcome, counting, extents, invalid};
use crate::error::Fault;

pub(super) const ROWS: &[Row] = &[
    row("GRU", 7, |c| layer(c, &["Sigmoid", "Tanh"], gru)),
    row("LSTM", 7, |c| layer(c, &["Sigmoid", "Tanh", "Tanh"], lstm)),
    row("RNN", 7, |c| layer(c, &["Tanh"], rnn)),
];

/// A function of gates, by its name.
struct Activation {
    name: String,
    alpha: Option<f64>,
    beta: Option<f64>,
}

impl Activation {
    fn apply(&self, x: &Tensor) -> Result<Tensor, Fault> {
        let alpha = |default| self.alpha.unwrap_or(default);
        let beta = |default| self.beta.unwrap_or(default);
        Ok(match self.name.as_str() {
            "Relu" => x.relu()?,
            "Tanh" => x.tanh()?,
            "Sigmoid" => x.sigmoid()?,
            "Affine" => x.mul(alpha(1.0))?.add(beta(0.0))?,
            "LeakyRelu" => x.leaky_relu(alpha(0.01))?,
            "ThresholdedRelu" => Tensor::select(&x.gt(alpha(1.0))?, x, 0)?,
            "ScaledTanh" => x.mul(beta(1.0))?.tanh()?.mul(alpha(1.0))?,
            "HardSigmoid" => hard_sigmoid(x, alpha(0.2), beta(0.5))?,
            "Elu" => elu(x, alpha(1.0))?,
            "Softsign" => softsign(x)?,
            "Softplus" => x.softplus()?,
            other => return invalid(format!("there is no activation '{other}'")),
        })
    }
}

/// One direction of a layer.
struct Direction {
    /// `[gates·hidden, hidden]`, transposed.
    recurrent: Tensor,
    /// Biases of the recurrent products, `[gates·hidden]`.
    bias: Option<Tensor>,
    peepholes: Option<Tensor>,
    activations: Vec<Activation>,
    hidden: i64,
    clip: Option<f64>,
    linear_before_reset: bool,
    input_forget: bool,
}

impl Direction {
    /// Gate `at` of several beside each other.
    fn gate(&self, x: &Tensor, at: i64) -> svod_tensor::Result<Tensor> {
        x.narrow(-1, at * self.hidden, self.hidden)
    }

    fn clipped(&self, x: Tensor) -> svod_tensor::Result<Tensor> {
        match self.clip {
            Some(most) => x.clamp(Some(Operand::Float(-most)), Some(Operand::Float(most))),
            None => Ok(x),
        }
    }

    /// The activation of this number, of what is clipped before.
    fn activated(&self, at: usize, x: Tensor) -> Result<Tensor, Fault> {
        match self.activations.get(at) {
            Some(activation) => activation.apply(&self.clipped(x)?),
            None => invalid(format!("activation {at} is missing")),
        }
    }

    /// `h @ R.T + bias`.
    fn recurrence(&self, h: &Tensor) -> svod_tensor::Result<Tensor> {
        let product = h.matmul(&self.recurrent)?;
        match &self.bias {
            Some(bias) => product.add(bias),
            None => Ok(product),
        }
    }

    /// What a gate sees of the state, by number.
    fn peephole(&self, at: i64, cell: &Tensor) -> Result<Option<Tensor>, Fault> {
        match &self.peepholes {
            Some(all) => Ok(Some(self.gate(all, at)?.mul(cell)?)),
            None => Ok(None),
        }
    }
}

fn plus(x: Tensor, more: Option<Tensor>) -> svod_tensor::Result<Tensor> {
    match more {
        Some(more) => x.add(more),
        None => Ok(x),
    }
}

/// A step: from the products of the input `[batch, gates·hidden]` and the states to new states, the output first.
type Step = fn(&Direction, &Tensor, &[Tensor]) -> Result<Vec<Tensor>, Fault>;

fn rnn(d: &Direction, x: &Tensor, states: &[Tensor]) -> Result<Vec<Tensor>, Fault> {
    Ok(vec![d.activated(0, x.add(d.recurrence(&states[0])?)?)?])
}

/// Gates update, reset, hidden (Cho et al. 2014).
fn gru(d: &Direction, x: &Tensor, states: &[Tensor]) -> Result<Vec<Tensor>, Fault> {
    let h = &states[0];
    let all = d.recurrence(h)?;
    let update = d.activated(0, d.gate(x, 0)?.add(d.gate(&all, 0)?)?)?;
    let reset = d.activated(0, d.gate(x, 1)?.add(d.gate(&all, 1)?)?)?;
    let seen =
        if d.linear_before_reset { reset.mul(d.gate(&all, 2)?)? } else { d.gate(&d.recurrence(&reset.mul(h)?)?, 2)? };
    let fresh = d.activated(1, d.gate(x, 2)?.add(seen)?)?;
    Ok(vec![fresh.add(update.mul(h.sub(&fresh)?)?)?])
}

/// Gates input, output, forget, cell (Hochreiter and Schmidhuber 1997; peepholes: Gers and Schmidhuber 2000).
fn lstm(d: &Direction, x: &Tensor, states: &[Tensor]) -> Result<Vec<Tensor>, Fault> {
    let cell = &states[1];
    let all = x.add(d.recurrence(&states[0])?)?;
    let input = d.activated(0, plus(d.gate(&all, 0)?, d.peephole(0, cell)?)?)?;
    let forget =
        if d.input_forget { input.rsub(1)? } else { d.activated(0, plus(d.gate(&all, 2)?, d.peephole(2, cell)?)?)? };
    let fresh = d.activated(1, d.gate(&all, 3)?)?;
    let cell = forget.mul(cell)?.add(input.mul(fresh)?)?;
    let output = d.activated(0, plus(d.gate(&all, 1)?, d.peephole(1, &cell)?)?)?;
    let seen = d.activated(2, cell.clone())?;
    Ok(vec![output.mul(seen)?, cell])
}

/// What one direction gives in all steps, and the states at the end. `lengths` are those of the sequences of a batch: behind
/// its end a state stays, and what is given is 0.
fn steps_of(
    direction: &Direction,
    step: Step,
    products: &Tensor,
    mut state: Vec<Tensor>,
    length: &Size,
    lengths: Option<&Tensor>,
) -> Result<(Tensor, Vec<Tensor>), Fault> {
    let one = |t: Size, product: &Tensor, state: &[Tensor]| -> Result<(Vec<Tensor>, Tensor), Fault> {
        let new = step(direction, product, state)?;
        let row = new[0].clone();
        let Some(lengths) = lengths else { return Ok((new, row)) };
        let goes_on = lengths.gt(t)?.unsqueeze(-1)?;
        let pairs = new.iter().zip(state);
        let kept = pairs.map(|(new, old)| Tensor::select(&goes_on, new, old)).collect::<svod_tensor::Result<_>>()?;
        Ok((kept, Tensor::select(&goes_on, &row, 0)?))
    };
    let Some(steps) = length.as_const().filter(|n| (1..=SHORT).contains(n)) else {
        let init: Vec<&Tensor> = state.iter().collect();
        let (last, mut rows) = Tensor::scan_over(&init, &[products], length.clone(), false, &[], |t, now, product| {
            let (next, row) = one(t, &product[0], &now)?;
            Ok::<_, Fault>((next, vec![row]))
        })?;
        return Ok((rows.swap_remove(0), last));
    };
    let mut rows = Vec::with_capacity(steps as usize);
    for t in 0..steps {
        let (next, row) = one(t.into(), &products.narrow(0, t, 1)?.squeeze(Some(&[0]))?, &state)?;
        state = next;
        rows.push(row);
    }
    Ok((Tensor::stack(&rows.iter().collect::<Vec<_>>(), 0)?, state))
}

fn layer(c: &Call<'_>, defaults: &[&str], step: Step) -> Outcome {
    let batch_first = c.flag("layout", false)?;
    let x = if batch_first { c.tensor(0)?.transpose(0, 1)? } else { c.tensor(0)? };
    let (weights, recurrent) = (c.tensor(1)?, c.tensor(2)?);
    let shape = x.shape();
    let ([length, batch, _], [directions, gates, hidden]) = (&shape[..], &extents(&recurrent)?[..]) else {
        return invalid("the sequence and the weights should be of rank 3");
    };
    let (directions, gates, hidden) = (*directions, *gates, *hidden);
    let lengths = c.optional(4)?;
    let way = c.text("direction", "forward")?;
    let states = if c.node.op == "LSTM" { 2 } else { 1 };
    let part = |t: &Tensor, at: i64| t.narrow(0, at, 1)?.squeeze(Some(&[0]));
    let mut columns = Vec::new();
    let mut finals = vec![Vec::new(); states];
    for at in 0..directions {
        let backward = way == "reverse" || at == 1;
        let biases = match c.optional(3)? {
            Some(all) => Some(part(&all, at)?),
            None => None,
        };
        let half = |first: i64| biases.as_ref().map(|b| b.narrow(0, first, gates)).transpose();
        let direction = Direction {
            recurrent: part(&recurrent, at)?.t()?,
            bias: half(gates)?,
            peepholes: if states == 2 { c.optional(7)?.map(|p| part(&p, at)).transpose()? } else { None },
            activations: activations(c, defaults, at as usize)?,
            hidden,
            clip: c.maybe_float("clip")?,
            linear_before_reset: c.flag("linear_before_reset", false)?,
            input_forget: c.flag("input_forget", false)?,
        };
        let sequence = if backward { turned(&x, lengths.as_ref())? } else { x.clone() };
        // The products of all inputs, in one.
        let products = plus(sequence.matmul(&part(&weights, at)?.t()?)?, half(0)?)?;
        let mut state = Vec::with_capacity(states);
        for number in 0..states {
            let given = c.optional(5 + number)?;
            state.push(match given {
                Some(given) if batch_first => part(&given.transpose(0, 1)?, at)?,
                Some(given) => part(&given, at)?,
                None => Tensor::zeros(&[batch.clone(), hidden.into()], x.dtype())?,
            });
        }
        let (whole, state) = steps_of(&direction, step, &products, state, length, lengths.as_ref())?;
        columns.push(if backward { turned(&whole, lengths.as_ref())? } else { whole });
        finals.iter_mut().zip(state).for_each(|(all, one)| all.push(one));
    }
    let joined = |all: &[Tensor], axis| Tensor::stack(&all.iter().collect::<Vec<_>>(), axis);
    // `[length, directions, batch, hidden]`, or the batch first.
    let whole = joined(&columns, 1)?;
    let mut results = vec![if batch_first { whole.permute(&[2, 0, 1, 3])? } else { whole }.into()];
    for all in &finals {
        results.push(joined(all, if batch_first { 1 } else { 0 })?.into());
    }
    Ok(results)
}

/// A sequence `[length, batch, ..]` backward, each item as far as it goes.
fn turned(x: &Tensor, lengths: Option<&Tensor>) -> svod_tensor::Result<Tensor> {
    let Some(lengths) = lengths else { return x.flip(Some(&[0])) };
    let shape = x.shape();
    let at = counting(shape[0].clone())?.unsqueeze(1)?;
    let lengths = lengths.cast(DType::I64)?;
    let from = Tensor::select(&at.lt(&lengths)?, lengths.sub(1)?.sub(&at)?, &at)?;
    x.gather(0, &from.unsqueeze(-1)?.expand(&shape)?)
}

/// The activations of a direction.
fn activations(c: &Call<'_>, defaults: &[&str], direction: usize) -> Result<Vec<Activation>, Fault> {
    let names = c.texts("activations")?.unwrap_or_else(|| {
        defaults.iter().cycle().take(defaults.len() * (direction + 1)).map(|name| (*name).to_owned()).collect()
    });
    let (alphas, betas) = (c.float_list("activation_alpha")?, c.float_list("activation_beta")?);
    let number = |all: &Option<Vec<f64>>, at: usize| all.as_ref().and_then(|all| all.get(at)).copied();
    let first = direction * defaults.len();
    let named = |(at, name): (usize, String)| Activation { name, alpha: number(&alphas, at), beta: number(&betas, at) };
    Ok(names.into_iter().enumerate().skip(first).take(defaults.len()).map(named).collect())
}
