//! Activation functions.

use svod_tensor::{Operand, Result, Tensor};

use super::elementwise::in_f32;
use super::{Row, row};
use crate::call::{Call, Outcome, axis_of, counting_along, one};

pub(super) const ROWS: &[Row] = &[
    row("Celu", 12, |c| {
        let alpha = c.float("alpha", 1.0)?;
        c.map(|x| in_f32(x, |x| celu(x, alpha)))
    }),
    row("Elu", 6, |c| {
        let alpha = c.float("alpha", 1.0)?;
        c.map(|x| in_f32(x, |x| elu(x, alpha)))
    }),
    row("Gelu", 20, |c| match c.text("approximate", "none")? {
        "tanh" => c.map(Tensor::gelu_tanh),
        _ => c.map(Tensor::gelu),
    }),
    row("HardSigmoid", 6, |c| {
        let (alpha, beta) = (c.float("alpha", 0.2)?, c.float("beta", 0.5)?);
        c.map(|x| hard_sigmoid(x, alpha, beta))
    }),
    row("HardSwish", 14, |c| c.map(|x| x.mul(hard_sigmoid(x, 1.0 / 6.0, 0.5)?))),
    row("Hardmax", 13, hardmax),
    row("LeakyRelu", 6, |c| {
        let alpha = c.float("alpha", 0.01)?;
        c.map(|x| x.leaky_relu(alpha))
    }),
    row("LogSoftmax", 13, |c| {
        let axis = c.int("axis", -1)?;
        c.map(|x| x.log_softmax(axis))
    }),
    row("Mish", 18, |c| c.map(|x| in_f32(x, |x| x.mul(x.softplus()?.tanh()?)))),
    row("PRelu", 9, |c| {
        let (x, slope) = (c.tensor(0)?, c.tensor(1)?);
        one(Tensor::select(&x.lt(0)?, x.mul(slope)?, &x)?)
    }),
    row("Relu", 6, |c| c.map(Tensor::relu)),
    row("Selu", 6, |c| {
        let (alpha, gamma) = (c.float("alpha", 1.673_263_192_176_818_8)?, c.float("gamma", 1.050_701_022_148_132_3)?);
        c.map(|x| in_f32(x, |x| elu(x, alpha)?.mul(gamma)))
    }),
    row("Shrink", 9, shrunk),
    row("Sigmoid", 6, |c| c.map(Tensor::sigmoid)),
    row("Softmax", 13, |c| {
        let axis = c.int("axis", -1)?;
        c.map(|x| x.softmax(axis))
    }),
    row("Softplus", 1, |c| c.map(Tensor::softplus)),
    row("Softsign", 1, |c| c.map(softsign)),
    row("Swish", 24, |c| {
        let alpha = c.float("alpha", 1.0)?;
        c.map(|x| in_f32(x, |x| swish(x, alpha)))
    }),
    row("ThresholdedRelu", 10, |c| {
        let alpha = c.float("alpha", 1.0)?;
        c.map(|x| Tensor::select(&x.gt(alpha)?, x, 0))
    }),
];

pub(super) fn elu(x: &Tensor, alpha: f64) -> Result<Tensor> {
    // Of what is not below 0 no exponential is taken, which might be infinite.
    Tensor::select(&x.lt(0)?, x.minimum(0)?.expm1()?.mul(alpha)?, x)
}

pub(super) fn swish(x: &Tensor, alpha: f64) -> Result<Tensor> {
    x.mul(x.mul(alpha)?.sigmoid()?)
}

fn celu(x: &Tensor, alpha: f64) -> Result<Tensor> {
    x.relu()?.add(x.div(alpha)?.minimum(0)?.expm1()?.mul(alpha)?)
}

pub(super) fn hard_sigmoid(x: &Tensor, alpha: f64, beta: f64) -> Result<Tensor> {
    x.mul(alpha)?.add(beta)?.clamp(Some(Operand::Float(0.0)), Some(Operand::Float(1.0)))
}

pub(super) fn softsign(x: &Tensor) -> Result<Tensor> {
    x.div(x.abs()?.add(1)?)
}

/// 1 at the first of the greatest elements along an axis, else 0.
fn hardmax(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?;
    let axis = axis_of(c.int("axis", -1)?, x.rank())?;
    let positions = counting_along(x.shape()[axis].clone(), axis, x.rank())?;
    one(x.argmax(Some(axis as i64), true)?.eq(positions)?.cast(x.dtype())?)
}

fn shrunk(c: &Call<'_>) -> Outcome {
    let (bias, lambda) = (c.float("bias", 0.0)?, c.float("lambd", 0.5)?);
    let x = c.tensor(0)?;
    let dtype = x.dtype();
    let wide = if dtype.is_float() { x } else { x.cast(svod_dtype::DType::F32)? };
    let below = Tensor::select(&wide.lt(-lambda)?, wide.add(bias)?, 0)?;
    one(Tensor::select(&wide.gt(lambda)?, wide.sub(bias)?, below)?.cast(dtype)?)
}
