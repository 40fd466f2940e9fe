//! What of `ai.onnx.ml` is of numbers.

use svod_dtype::DType;
use svod_tensor::Tensor;

use super::Row;
use crate::call::{Call, Outcome, one};

const DOMAIN: &str = "ai.onnx.ml";

pub(super) const ROWS: &[Row] = &[
    Row { domain: DOMAIN, op: "ArrayFeatureExtractor", since: 1, rule: features },
    Row { domain: DOMAIN, op: "Binarizer", since: 1, rule: binarized },
    Row { domain: DOMAIN, op: "Normalizer", since: 1, rule: normalized },
    Row { domain: DOMAIN, op: "Scaler", since: 1, rule: scaled },
];

/// Elements of the last dimension.
fn features(c: &Call<'_>) -> Outcome {
    let (x, index) = (c.tensor(0)?, c.tensor(1)?);
    let x = if x.rank() == 1 { x.unsqueeze(0)? } else { x };
    one(x.take(&index.reshape(&[-1])?, -1)?)
}

fn binarized(c: &Call<'_>) -> Outcome {
    let threshold = c.float("threshold", 0.0)?;
    c.map(|x| x.gt(threshold)?.cast(x.dtype()))
}

/// Divided by a norm of each row.
fn normalized(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?.cast(DType::F32)?;
    let norm = match c.text("norm", "MAX")? {
        "L1" => x.abs()?.sum(Some(&[-1]), true)?,
        "L2" => x.square()?.sum(Some(&[-1]), true)?.sqrt()?,
        _ => x.max(Some(&[-1]), true)?,
    };
    one(Tensor::select(&norm.eq(0)?, &x, x.div(&norm)?)?)
}

fn scaled(c: &Call<'_>) -> Outcome {
    let x = c.tensor(0)?.cast(DType::F32)?;
    let list = |name: &str, default: f64| -> Result<Tensor, crate::error::Fault> {
        let all = c.float_list(name)?.unwrap_or_else(|| vec![default]);
        Ok(Tensor::from_slice(&all.iter().map(|n| *n as f32).collect::<Vec<_>>(), &[all.len()])?)
    };
    one(x.sub(list("offset", 0.0)?)?.mul(list("scale", 1.0)?)?)
}
