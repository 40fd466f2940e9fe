//! Attention, and what goes with it.

use svod_dtype::DType;
use svod_tensor::{Attention, Operand, Size, Tensor};

use super::{Row, row};
use crate::call::{Call, Outcome, counting, invalid, one, ranked};
use crate::error::Fault;
use crate::interpret;
use crate::value::Value;

pub(super) const ROWS: &[Row] = &[
    row("Attention", 23, attention),
    row("CausalConvWithState", 27, causal_conv),
    Row { domain: "ai.onnx.preview", op: "FlexAttention", since: 1, rule: flex_attention },
    row("LinearAttention", 27, linear_attention),
    row("RotaryEmbedding", 23, rotary),
    row("SwiGLU", 28, |c| {
        let (gate, alpha) = (c.tensor(0)?, c.float("alpha", 1.0)?);
        let gated = super::elementwise::in_f32(&gate, |x| super::activation::swish(x, alpha))?;
        one(gated.mul(c.tensor(1)?)?)
    }),
];

/// `[batch, length, heads·depth]` as `[batch, heads, length, depth]`; what is so already stays.
fn by_heads(c: &Call<'_>, x: Tensor, heads: &str) -> Result<Tensor, Fault> {
    if x.rank() != 3 {
        return Ok(x);
    }
    let Some(heads) = c.maybe_int(heads)?.filter(|n| *n > 0) else { return invalid(format!("{heads} is missing")) };
    Ok(x.unflatten(-1, &[heads, -1])?.transpose(1, 2)?)
}

/// The inverse of [`by_heads`].
fn packed(x: &Tensor) -> svod_tensor::Result<Tensor> {
    x.transpose(1, 2)?.flatten(2, 3)
}

fn attention(c: &Call<'_>) -> Outcome {
    let is_packed = c.tensor(0)?.rank() == 3;
    let query = by_heads(c, c.tensor(0)?, "q_num_heads")?;
    let mut key = by_heads(c, c.tensor(1)?, "kv_num_heads")?;
    let mut value = by_heads(c, c.tensor(2)?, "kv_num_heads")?;
    let past = c.optional(4)?;
    if let (Some(keys), Some(values)) = (&past, c.optional(5)?) {
        key = Tensor::cat(&[keys, &key], 2)?;
        value = Tensor::cat(&[&values, &value], 2)?;
    }
    let (q, k) = (query.shape(), key.shape());
    let ([.., heads, queries, depth], [.., key_heads, keys, _]) = (&q[..], &k[..]) else {
        return invalid("queries, keys and values should be of rank 3 or 4");
    };
    let before = past.and_then(|past| past.shape().get(2).cloned()).unwrap_or(Size::ZERO);
    let mask = mask(c, &query, (queries, keys), before)?;
    let scale = scale(c, depth)?;
    let grouped = heads != key_heads;
    let softcap = c.float("softcap", 0.0)?;
    let (mut result, scores) = if softcap == 0.0 && !c.wants(3) {
        let how = Attention { mask: mask.as_ref(), causal: false, scale: Some(scale), grouped };
        (query.scaled_dot_product_attention(&key, &value, how)?, None)
    } else {
        let (key, value) = for_heads(heads, key_heads, key.clone(), value.clone())?;
        let (result, scores) = explicit(c, [&query, &key, &value], mask.as_ref(), scale, softcap)?;
        (result, Some(scores))
    };
    if let Some(mask) = &mask {
        result = Tensor::select(&seen(mask)?, &result, 0)?;
    }
    let result = if is_packed { packed(&result)? } else { result };
    Ok([Some(result), Some(key), Some(value), scores].into_iter().flatten().map(Value::from).collect())
}

/// What scores are multiplied with.
fn scale(c: &Call<'_>, depth: &Size) -> Result<f64, Fault> {
    let given = c.maybe_float("scale")?;
    Ok(given.unwrap_or_else(|| 1.0 / (depth.as_const().unwrap_or(1) as f64).sqrt()))
}

/// The type in which a softmax is computed.
fn softmax_precision(c: &Call<'_>, dtype: DType) -> Result<DType, Fault> {
    let usual = if dtype == DType::F64 { dtype } else { DType::F32 };
    Ok(c.dtype("softmax_precision")?.unwrap_or(usual))
}

/// Keys and values once for each head of the queries, of which several may share one.
fn for_heads(heads: &Size, key_heads: &Size, key: Tensor, value: Tensor) -> svod_tensor::Result<(Tensor, Tensor)> {
    if heads == key_heads {
        return Ok((key, value));
    }
    let times = heads.floordiv(key_heads.clone());
    Ok((key.repeat_interleave(times.clone(), 1)?, value.repeat_interleave(times, 1)?))
}

/// Whether a query sees any key.
fn seen(mask: &Tensor) -> svod_tensor::Result<Tensor> {
    if mask.dtype().is_bool() {
        mask.any(Some(&[-1]), true)
    } else {
        mask.max(Some(&[-1]), true)?.gt(f64::NEG_INFINITY)
    }
}

/// Attention with the scores of a stage, which the node asks for.
fn explicit(
    c: &Call<'_>,
    [query, key, value]: [&Tensor; 3],
    mask: Option<&Tensor>,
    scale: f64,
    softcap: f64,
) -> Result<(Tensor, Tensor), Fault> {
    let dtype = query.dtype();
    let stage = c.int("qk_matmul_output_mode", 0)?;
    let precision = softmax_precision(c, dtype)?;
    let root = scale.sqrt();
    let scores = query.mul(root)?.matmul(&key.mul(root)?.transpose(-2, -1)?)?;
    let capped = if softcap == 0.0 { scores.clone() } else { scores.div(softcap)?.tanh()?.mul(softcap)? };
    let biased = match mask {
        None => capped.clone(),
        Some(mask) if mask.dtype().is_bool() => Tensor::select(mask, &capped, f64::NEG_INFINITY)?,
        Some(mask) => capped.add(mask)?,
    };
    let mut weights = biased.cast(precision)?.softmax(-1)?;
    if let Some(mask) = mask {
        weights = Tensor::select(&seen(mask)?, weights, 0)?;
    }
    let result = weights.cast(dtype)?.matmul(value)?;
    let told = match stage {
        0 => scores,
        1 => capped,
        2 => biased,
        _ => weights,
    };
    Ok((result, told.cast(dtype)?))
}

/// Which keys each query sees (bool), or what is added to the scores; none where each sees all.
fn mask(c: &Call<'_>, query: &Tensor, (queries, keys): (&Size, &Size), before: Size) -> Result<Option<Tensor>, Fault> {
    let lengths = match c.optional(6)? {
        Some(lengths) => Some(lengths.cast(DType::I64)?.reshape(&[-1i64, 1, 1, 1])?),
        None => None,
    };
    let column = counting(keys.clone())?;
    // How many keys come before the first query.
    let offset = match &lengths {
        Some(lengths) if !c.has(4) => lengths.sub(Tensor::from_size(queries.clone())?)?,
        _ => Tensor::from_size(before)?,
    };
    let row = counting(queries.clone())?.unsqueeze(1)?.add(offset)?;
    let mut allowed: Option<Tensor> = None;
    let mut also = |more: Tensor| -> Result<(), Fault> {
        allowed = Some(match allowed.take() {
            Some(known) => known.logical_and(more)?,
            None => more,
        });
        Ok(())
    };
    if c.flag("is_causal", false)? {
        also(column.le(&row)?)?;
    }
    let (left, right) = (c.int("left_window_size", -1)?, c.int("right_window_size", -1)?);
    if left >= 0 {
        also(column.ge(row.sub(left)?)?)?;
    }
    if right >= 0 {
        also(column.le(row.add(right)?)?)?;
    }
    if let Some(lengths) = &lengths {
        also(column.lt(lengths)?)?;
    }
    let Some(given) = c.optional(3)? else { return Ok(allowed) };
    let is_bool = given.dtype().is_bool();
    let given = if is_bool { given } else { given.cast(query.dtype())? };
    // A mask that is too short is of no key beyond.
    let own = given.shape();
    let Some(last) = own.last() else { return invalid("the mask has no dimension") };
    let given = match last == keys || *last == Size::ONE && keys != last && own.len() < 2 {
        true => given,
        false => {
            let mut by = vec![(Size::ZERO, Size::ZERO); own.len()];
            by[own.len() - 1].1 = keys - last;
            let beyond = if is_bool { Operand::Bool(false) } else { Operand::Float(f64::NEG_INFINITY) };
            given.pad(&by, beyond)?
        }
    };
    Ok(Some(match allowed {
        None => given,
        Some(allowed) if is_bool => given.logical_and(allowed)?,
        Some(allowed) => Tensor::select(&allowed, given, f64::NEG_INFINITY)?,
    }))
}

/// Attention with graphs that change scores and weights.
fn flex_attention(c: &Call<'_>) -> Outcome {
    let (query, key, value) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let dtype = query.dtype();
    let precision = softmax_precision(c, dtype)?;
    let (q, k) = (query.shape(), key.shape());
    let ([_, heads, _, depth], [_, key_heads, ..]) = (&q[..], &k[..]) else {
        return invalid("queries, keys and values should be of rank 4");
    };
    let (key, value) = for_heads(heads, key_heads, key, value)?;
    let scale = scale(c, depth)?;
    let changed = |name: &str, x: Tensor| -> Result<Tensor, Fault> {
        if c.attribute(name).is_none() {
            return Ok(x);
        }
        match interpret::inside(c.graph(name)?, vec![x.into()], c.scope)?.first() {
            Some(result) => result.tensor(),
            None => invalid(format!("{name} gives nothing")),
        }
    };
    let scores = query.cast(precision)?.matmul(&key.cast(precision)?.transpose(-2, -1)?)?.mul(scale)?;
    let weights = changed("prob_mod", changed("score_mod", scores)?.softmax(-1)?)?;
    one(weights.matmul(&value.cast(precision)?)?.cast(dtype)?)
}

/// Pairs of elements turned by an angle for each position (Su et al. 2021).
fn rotary(c: &Call<'_>) -> Outcome {
    let given = c.tensor(0)?;
    let is_packed = given.rank() == 3;
    let x = by_heads(c, given, "num_heads")?;
    let Some(depth) = x.shape().last().and_then(Size::as_const) else {
        return invalid(format!("{} has rows of unknown length", x.described()));
    };
    let turned = match c.int("rotary_embedding_dim", 0)? {
        0 => depth,
        turned => turned,
    };
    let half = turned / 2;
    // One row for each position, the same for all heads.
    let angles = |at: usize| -> Result<Tensor, Fault> {
        let table = c.tensor(at)?;
        let rows = match c.optional(3)? {
            Some(positions) => table.take(&positions, 0)?,
            None => table,
        };
        Ok(rows.unsqueeze(1)?)
    };
    let (cos, sin) = (angles(1)?, angles(2)?);
    let (front, rest) = (x.narrow(-1, 0, turned)?, x.narrow(-1, turned, depth - turned)?);
    let is_interleaved = c.flag("interleaved", false)?;
    let (a, b) = if is_interleaved {
        let pairs = front.unflatten(-1, &[half, 2])?;
        let one_of = |at: i64| pairs.narrow(-1, at, 1)?.squeeze(Some(&[-1]));
        (one_of(0)?, one_of(1)?)
    } else {
        (front.narrow(-1, 0, half)?, front.narrow(-1, half, half)?)
    };
    let real = a.mul(&cos)?.sub(b.mul(&sin)?)?;
    let imaginary = a.mul(&sin)?.add(b.mul(&cos)?)?;
    let turned = if is_interleaved {
        Tensor::stack(&[&real, &imaginary], -1)?.flatten(-2, -1)?
    } else {
        Tensor::cat(&[&real, &imaginary], -1)?
    };
    let whole = Tensor::cat(&[&turned, &rest], -1)?;
    one(if is_packed { packed(&whole)? } else { whole })
}

/// Attention as a recurrence over a state of `[keys' depth, values' depth]` for each head.
fn linear_attention(c: &Call<'_>) -> Outcome {
    let dtype = c.tensor(0)?.dtype();
    let wide = |at: usize, heads: &str| by_heads(c, c.tensor(at)?.cast(DType::F32)?, heads);
    let (query, key, value) = (wide(0, "q_num_heads")?, wide(1, "kv_num_heads")?, wide(2, "kv_num_heads")?);
    let [batch, query_heads, length, query_depth] = ranked(&query)?;
    let ([_, heads, _, depth], [.., columns]) = (ranked(&key)?, ranked::<4>(&value)?);
    if heads < 1 || query_heads % heads != 0 {
        return invalid(format!("{query_heads} heads of queries for {heads} of keys"));
    }
    let scale = match c.float("scale", 0.0)? {
        0.0 => 1.0 / (query_depth as f64).sqrt(),
        scale => scale,
    };
    let mut state = match c.optional(3)? {
        Some(state) => state.cast(DType::F32)?,
        None => Tensor::zeros(&[batch, heads, depth, columns], DType::F32)?,
    };
    let rule = c.text("update_rule", "gated_delta")?;
    let is_gated = rule.contains("gated");
    let is_delta = rule.contains("delta");
    // For each head, and maybe for each element of a key.
    let by_head = |at: usize| -> Result<Tensor, Fault> {
        let x = c.tensor(at)?.cast(DType::F32)?;
        let [_, _, width] = ranked(&x)?;
        Ok(match width == 1 {
            true => x.unsqueeze(1)?,
            false => x.unflatten(-1, &[heads, -1])?.transpose(1, 2)?,
        })
    };
    let decay = if is_gated { Some(by_head(4)?.exp()?) } else { None };
    let rate = if is_delta { Some(by_head(5)?) } else { None };
    let at = |x: &Tensor, t: i64| x.narrow(2, t, 1)?.squeeze(Some(&[2]));
    let groups = query_heads / heads;
    let mut rows = Vec::with_capacity(length.max(0) as usize);
    for t in 0..length {
        let (key, value) = (at(&key, t)?.unsqueeze(-1)?, at(&value, t)?.unsqueeze(-2)?);
        if let Some(decay) = &decay {
            state = state.mul(at(decay, t)?.unsqueeze(-1)?)?;
        }
        let value = match &rate {
            Some(rate) => {
                let known = key.transpose(-2, -1)?.matmul(&state)?;
                value.sub(known)?.mul(at(rate, t)?.unsqueeze(-1)?)?
            }
            None => value,
        };
        state = state.add(key.mul(value)?)?;
        let seen = if groups > 1 { state.repeat_interleave(groups, 1)? } else { state.clone() };
        rows.push(at(&query, t)?.unsqueeze(-2)?.matmul(&seen)?.mul(scale)?);
    }
    let result = if rows.is_empty() {
        Tensor::zeros(&[batch, 0, query_heads * columns], dtype)?
    } else {
        packed(&Tensor::cat(&rows.iter().collect::<Vec<_>>(), 2)?)?.cast(dtype)?
    };
    let kept = c.optional(3)?.map_or(dtype, |past| past.dtype());
    Ok(vec![result.into(), state.cast(kept)?.into()])
}

/// Each channel convolved with its own kernel, over what came before and what comes now.
fn causal_conv(c: &Call<'_>) -> Outcome {
    let (x, weight, bias) = (c.tensor(0)?, c.tensor(1)?, c.optional(2)?);
    let ([channels, _, taps], [batch, _, length]) = (ranked(&weight)?, &x.shape()[..]) else {
        return invalid(format!("{} is not of rank 3", x.described()));
    };
    let reach = taps - 1;
    let past = match c.optional(3)? {
        Some(past) => past,
        None => Tensor::zeros(&[batch.clone(), channels.into(), reach.into()], x.dtype())?,
    };
    let whole = Tensor::cat(&[&past, &x], 2)?;
    let how = svod_tensor::Conv { groups: channels, ..svod_tensor::Conv::default() };
    let result = whole.conv(&weight, bias.as_ref(), &how)?;
    let result = match c.text("activation", "none")? {
        "silu" | "swish" => result.silu()?,
        _ => result,
    };
    let last = whole.narrow(2, length.clone(), reach)?;
    Ok(vec![result.into(), last.into()])
}
