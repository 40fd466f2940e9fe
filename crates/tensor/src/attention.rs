//! Scaled dot-product attention (Vaswani et al. 2017), as a composition that becomes one kernel.

use std::sync::Arc;

use crate::derivative::attention::{Derivative, by_blocks};
use crate::error::{Result, TensorError, show, show_operands};
use crate::operand::{common_shape, size_value};
use crate::tensor::Tensor;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::graph::{Shape, UOp};
use svod_ir::size::Size;

const OP: &str = "scaled_dot_product_attention";

/// How attention is computed; the default is plain: no mask, `1 / sqrt(depth)`, a key head a query head.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attention<'a> {
    /// Which keys take part in each query (bool), or what is added to the scores (float); broadcast
    /// to `[.., queries, keys]`.
    pub mask: Option<&'a Tensor>,
    /// Whether query `i` sees keys `0..=i` only. Most of the others are not even read, so that an infinite
    /// or NaN value there need not reach the result.
    pub causal: bool,
    /// What the scores are multiplied by, instead of `1 / sqrt(depth)`.
    pub scale: Option<f64>,
    /// Whether each head of keys and values serves a group of heads of queries (dimension -3; Ainslie
    /// et al. 2023).
    pub grouped: bool,
}

impl Tensor {
    /// `softmax(self @ key.T * scale + mask) @ value` for queries `[.., queries, depth]`, keys
    /// `[.., keys, depth]` and values `[.., keys, columns]`; `[.., queries, columns]` in the queries' type.
    /// Half-precision operands are multiplied in `float32`. A query that a mask hides all keys from gives zeros.
    ///
    /// # Errors
    /// [`TensorError::Shape`] where the shapes do not fit each other, and [`TensorError::DType`] where
    /// the operands or the mask are of a type that attention does not take.
    pub fn scaled_dot_product_attention(&self, key: &Tensor, value: &Tensor, how: Attention<'_>) -> Result<Tensor> {
        check(self, key, value, how.mask)?;
        let dtype = self.dtype();
        let operands = [self.uop(), key.uop(), value.uop()];
        let (mut query, mut key, mut value) = (self.clone(), key.clone(), value.clone());
        let mut mask = how.mask.cloned();
        let shape = query.shape();
        if how.grouped {
            let (heads, group) = groups(&query, &key, &value)?;
            query = query.reshape(&split_heads(&shape, &heads, &group))?;
            (key, value) = (key.unsqueeze(-3)?, value.unsqueeze(-3)?);
            if let Some(m) = mask.take() {
                mask = Some(match m.shape() {
                    s if s.len() < 3 => m,
                    s if s[s.len() - 3] == Size::ONE => m.unsqueeze(-3)?,
                    s => m.reshape(&split_heads(&s, &heads, &group))?,
                });
            }
        }
        let narrow = [&query, &key, &value].map(Tensor::uop);
        let (query, key, value) = (query.widened()?, key.widened()?, value.widened()?);
        let batch = |t: &Tensor| t.shape()[..t.rank() - 2].to_vec();
        let misfit = |what: String, why: String| TensorError::shape(OP, format!("{what} do not broadcast, {why}"));
        common_shape(&[&batch(&query), &batch(&key), &batch(&value)]).map_err(|why| {
            let given = show_operands(&operands);
            misfit(format!("dimensions before the last two of {given}"), why)
        })?;
        if let Some(mask) = &mask {
            let scores = query.matmul(&key.transpose(-2, -1)?)?;
            common_shape(&[&scores.shape(), &mask.shape()]).map_err(|why| {
                let given = show_operands(&[scores.uop(), mask.uop()]);
                misfit(format!("scores and mask, {given},"), why)
            })?;
        }
        let (causal, scale) = (how.causal, how.scale);
        let mixed = move |q: &UOp, k: &UOp, v: &UOp, mask: Option<&UOp>, first: &Size| -> Result<UOp> {
            let [q, k, v] = [q, k, v].map(|x| Tensor::from_uop(x.clone()));
            Ok(mixed(&q, &k, &v, mask, causal.then_some(first), scale)?.uop())
        };
        let operands: Vec<UOp> = [&query, &key, &value].into_iter().chain(&mask).map(Tensor::uop).collect();
        let value = mixed(&operands[0], &operands[1], &operands[2], operands.get(3), &Size::ZERO)?;
        let known = move |[q, k, v]: &[UOp; 3], mask: Option<&UOp>, first: &Size, g: &UOp| -> Result<[UOp; 4]> {
            let [q, k, v, g] = [q, k, v, g].map(|x| Tensor::from_uop(x.clone()));
            cotangents([&q, &k, &v], mask, causal.then_some(first), scale, &g)
        };
        let derivative = Derivative { mixed: Arc::new(mixed), known: Arc::new(known), narrow };
        let mixed = by_blocks(&Tensor::from_uop(value), &operands, derivative)?.cast(dtype)?;
        if !how.grouped {
            return Ok(mixed);
        }
        let mut joined = mixed.shape();
        let group = joined.remove(joined.len() - 3);
        let at = joined.len() - 3;
        joined[at] = &joined[at] * group;
        mixed.reshape(&joined)
    }

    fn scaled(self, scale: Option<f64>, depth: &Size) -> Result<Tensor> {
        match (scale, depth.as_const()) {
            (Some(scale), _) => self.mul(scale),
            (None, Some(depth)) => self.mul(1.0 / (depth as f64).sqrt()),
            (None, None) => {
                let root = Tensor::from_uop(size_value(depth)?.cast(self.dtype())?).rsqrt()?;
                self.mul(root)
            }
        }
    }
}

/// The values, mixed by the weights of each query; the first query is number `causal` where those before it see fewer keys.
fn mixed(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    mask: Option<&UOp>,
    causal: Option<&Size>,
    scale: Option<f64>,
) -> Result<Tensor> {
    weights(query, key, mask, causal, scale)?.matmul(value)
}

/// The weights of each query.
fn weights(
    query: &Tensor,
    key: &Tensor,
    mask: Option<&UOp>,
    causal: Option<&Size>,
    scale: Option<f64>,
) -> Result<Tensor> {
    let depth = query.shape()[query.rank() - 1].clone();
    let mut scores = query.matmul(&key.transpose(-2, -1)?)?.scaled(scale, &depth)?;
    if let Some(mask) = mask {
        let mask = Tensor::from_uop(mask.clone());
        scores = match mask.dtype().is_bool() {
            true => Tensor::select(&mask, &scores, f64::NEG_INFINITY)?,
            false => scores.add(mask)?,
        };
    }
    if let Some(first) = causal {
        scores = Tensor::select(&seen(&scores.shape(), first)?, &scores, f64::NEG_INFINITY)?;
    }
    if mask.is_some() { over_seen(&scores) } else { scores.softmax(-1) }
}

/// The cotangents of 16-bit queries, keys, values and of the scores that a mask is added to, by that of the result. Weights
/// and what they pass on are rounded to 16 bits for the three products that they are factors of (Dao et al. 2022), since
/// tensor cores multiply these; sums are `float32`.
fn cotangents(
    [q, k, v]: [&Tensor; 3],
    mask: Option<&UOp>,
    causal: Option<&Size>,
    scale: Option<f64>,
    g: &Tensor,
) -> Result<[UOp; 4]> {
    let narrow = q.dtype();
    let round = |x: &Tensor| x.cast(narrow)?.contiguous()?.widened();
    let depth = q.shape()[q.rank() - 1].clone();
    let (q, k, v, g) = (q.widened()?, k.widened()?, v.widened()?, g.widened()?);
    let weights = weights(&q, &k, mask, causal, scale)?;
    let of_weights = g.matmul(&v.transpose(-2, -1)?)?;
    let total = weights.mul(&of_weights)?.sum(Some(&[-1]), true)?;
    let of_scores = weights.mul(of_weights.sub(total)?)?;
    let (weights, scores) = (round(&weights)?, round(&of_scores)?);
    let of_q = scores.matmul(&k)?.scaled(scale, &depth)?;
    let of_k = scores.transpose(-2, -1)?.matmul(&q)?.scaled(scale, &depth)?;
    let of_v = weights.transpose(-2, -1)?.matmul(&g)?;
    Ok([of_q.uop(), of_k.uop(), of_v.uop(), of_scores.uop()])
}

/// The softmax of the last dimension, but zeros where all of it is -∞, as of a query that sees no key.
fn over_seen(scores: &Tensor) -> Result<Tensor> {
    let least = if scores.dtype() == DType::F64 { f64::MIN } else { f64::from(f32::MIN) };
    let greatest = scores.max(Some(&[-1]), true)?.detach()?;
    let weights = scores.sub(greatest.maximum(least)?)?.exp()?;
    // Where a key is seen, the greatest weight is 1, so that the total is not below 1.
    let total = weights.sum(Some(&[-1]), true)?.maximum(0.5)?;
    weights.div(total)
}

/// Whether each query, from number `first` on, sees each key, for scores of this shape.
fn seen(scores: &[Size], first: &Size) -> Result<Tensor> {
    let (queries, keys) = (scores[scores.len() - 2].clone(), scores[scores.len() - 1].clone());
    let extents: Shape = [queries.clone(), keys.clone()].into();
    let mut row = UOp::range(queries.clone())?;
    if *first != Size::ZERO {
        let first = UOp::size(first.clone())?.expand([queries.clone()])?;
        row = UOp::alu(Alu::Add, &[row, first])?;
    }
    let row = row.reshape([queries, Size::ONE])?.expand(extents.clone())?;
    let column = UOp::range(keys)?.expand(extents)?;
    Ok(Tensor::from_uop(UOp::alu(Alu::Le, &[column, row])?))
}

fn check(query: &Tensor, key: &Tensor, value: &Tensor, mask: Option<&Tensor>) -> Result<()> {
    let operands = [query.uop(), key.uop(), value.uop()];
    let given = || show_operands(&operands);
    if operands.iter().any(|t| t.rank() < 2) {
        return Err(TensorError::shape(OP, format!("needs [.., length, depth], not {}", given())));
    }
    if !operands.iter().all(|t| t.dtype().is_float()) {
        return Err(TensorError::dtype(OP, format!("needs floating-point operands, not {}", given())));
    }
    let [q, k, v] = operands.each_ref().map(|t| &t.shape()[t.rank() - 2..]);
    if q[1].eq(&k[1]) != Some(true) {
        return Err(TensorError::shape(OP, format!("the depths of queries and keys differ in {}", given())));
    }
    if k[0].eq(&v[0]) != Some(true) {
        return Err(TensorError::shape(OP, format!("the numbers of keys and values differ in {}", given())));
    }
    if let Some(mask) = mask.filter(|m| !m.dtype().is_bool() && !m.dtype().is_float()) {
        let mask = show_operands(&[mask.uop()]);
        return Err(TensorError::dtype(OP, format!("a mask is bool or floating-point, not {mask}")));
    }
    Ok(())
}

/// Heads of keys, and heads of queries that share each.
fn groups(query: &Tensor, key: &Tensor, value: &Tensor) -> Result<(Size, Size)> {
    let operands = [query.uop(), key.uop(), value.uop()];
    let misfit = |why: &str| Err(TensorError::shape(OP, format!("{why} in {}", show_operands(&operands))));
    if operands.iter().any(|t| t.rank() < 3) {
        return misfit("grouped heads need [.., heads, length, depth]");
    }
    let [q, k, v] = operands.each_ref().map(|t| &t.shape()[t.rank() - 3]);
    if k.eq(v) != Some(true) {
        return misfit("keys and values have different numbers of heads");
    }
    if *k == Size::ZERO || q.modulo(k.clone()) != Size::ZERO {
        let (q, k) = (show(std::slice::from_ref(q)), show(std::slice::from_ref(k)));
        return misfit(&format!("the heads of the queries, {q}, are no multiple of those of the keys, {k},"));
    }
    Ok((k.clone(), q.floordiv(k.clone())))
}

/// A shape with dimension -3 as groups of heads.
fn split_heads(shape: &[Size], heads: &Size, group: &Size) -> Vec<Size> {
    let at = shape.len() - 3;
    [&shape[..at], &[heads.clone(), group.clone()], &shape[at + 1..]].concat()
}
