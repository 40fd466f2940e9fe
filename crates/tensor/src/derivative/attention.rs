//! The derivative of attention, by blocks: scores and weights are computed again for a few heads, or a few queries of one, at a
//! time, so that they are never in memory for all of them (Rabe and Staats 2021; Dao et al. 2022).

use std::sync::Arc;

use svod_dtype::{Const, DType};
use svod_ir::graph::{Device, GraphError, Op, Pairs, UOp, Watch};
use svod_ir::size::{Size, Variable};

use super::algebra::{add, zeros};
use super::given::{Pulled, derived};
use super::loops::Names;
use super::remade::Now;
use super::table::unexpanded;
use super::walk::{Target, Walk};
use crate::error::{Result, TensorError};
use crate::iterate::repeat;
use crate::tensor::Tensor;

/// Bytes of a block of scores: a few of them lie in the caches, and there is enough to do between two barriers.
const BLOCK: i64 = 1 << 22;

/// Bytes of scores that are kept as a whole: blocks would spare little memory, and cost their barriers.
const SMALL: i64 = 1 << 24;

/// Blocks at most.
const MOST_BLOCKS: i64 = 1 << 11;

/// The same on devices with memory of their own, which are busy with large blocks only.
const LARGE_BLOCK: i64 = 1 << 28;
const LARGE: i64 = 1 << 31;

/// What attention is of queries, keys, values, a mask and the number of the first query.
pub type Mixed = Arc<dyn Fn(&UOp, &UOp, &UOp, Option<&UOp>, &Size) -> Result<UOp> + Send + Sync>;

/// The cotangents of queries, keys, values and scores, by these, a mask, the number of the first query and the cotangent of the
/// result.
pub type Known = Arc<dyn Fn(&[UOp; 3], Option<&UOp>, &Size, &UOp) -> Result<[UOp; 4]> + Send + Sync>;

/// How attention is differentiated.
#[derive(Clone)]
pub struct Derivative {
    /// Attention itself.
    pub mixed: Mixed,
    /// Its cotangents, of operands of 16 bits.
    pub known: Known,
    /// Queries, keys and values as they were given.
    pub narrow: [UOp; 3],
}

/// Extents.
#[derive(Clone, Copy)]
struct Extents {
    heads: i64,
    queries: i64,
    keys: i64,
    /// Bytes of the scores of one head.
    bytes: i64,
    /// Bytes of a block.
    block: i64,
}

/// The value of attention, whose derivative is computed by blocks where its scores are large: operands are queries, keys, values
/// and, if there is one, a mask.
///
/// # Errors
/// None that a program could make.
pub fn by_blocks(value: &Tensor, operands: &[UOp], how: Derivative) -> Result<Tensor> {
    let of = value.uop();
    let constant = |node: &UOp| node.shape().iter().map(Size::as_const).collect::<Option<Vec<i64>>>();
    let (Some(shape), Some(keys)) = (constant(&of), constant(&operands[1])) else { return Ok(value.clone()) };
    let batch = shape.len() - 2;
    let (heads, queries, keys) = (shape[..batch].iter().product::<i64>(), shape[batch], keys[keys.len() - 2]);
    let bytes = queries.saturating_mul(keys).saturating_mul(of.dtype().bytes() as i64);
    let is_same = operands[1].resolved().id() == operands[2].resolved().id();
    let is_spread = operands.iter().any(|operand| operand.sharding().is_some());
    if of.numel() == Size::ZERO || is_same || is_spread {
        return Ok(value.clone());
    }
    let on_host = Device::computes_on_host(of.device());
    let (small, block) = if on_host { (SMALL, BLOCK) } else { (LARGE, LARGE_BLOCK) };
    let is_small = heads.saturating_mul(bytes) <= small;
    let extents = Extents { heads, queries, keys, bytes, block };
    let Derivative { mixed, known, narrow } = how;
    let types = narrow.each_ref().map(|x| x.dtype());
    if !on_host && types[0].bytes() == 2 && types.iter().all(|dtype| *dtype == types[0]) {
        let operands: Vec<UOp> = narrow.iter().chain(&operands[3..]).cloned().collect();
        let pull = move |g: &Tensor, now: &Now<'_>| -> Pulled {
            let found = narrowed(&g.uop(), types[0]).map_err(TensorError::from).and_then(|g| match is_small {
                true => at_once(&known, &g, now.operands),
                false => pulled(&extents, (&mixed, Some(&known)), &g, now.operands),
            });
            found.map_err(|error| Arc::new(error) as _)
        };
        return Ok(Tensor::from_uop(derived("attention", &of, &operands, pull)?));
    }
    if is_small {
        return Ok(value.clone());
    }
    let pull = move |g: &Tensor, now: &Now<'_>| -> Pulled {
        pulled(&extents, (&mixed, None), &g.uop(), now.operands).map_err(|error| Arc::new(error) as _)
    };
    Ok(Tensor::from_uop(derived("attention", &of, operands, pull)?))
}

/// A value in a type, which is what it was converted from if that has this type.
fn narrowed(x: &UOp, to: DType) -> std::result::Result<UOp, GraphError> {
    match (x.op(), x.sources().first()) {
        (Op::Cast(_), Some(from)) if from.dtype() == to => Ok(from.clone()),
        _ => x.cast(to),
    }
}

/// The cotangents of all operands, of scores that are computed again for all heads together.
fn at_once(known: &Known, g: &UOp, operands: &[UOp]) -> Result<Vec<Option<Tensor>>> {
    // The scores are other ones than those of the value, whose kernel keeps its own to itself.
    let parts = [operands[0].after(g)?, operands[1].clone(), operands[2].clone()];
    let mask = operands.get(3);
    let found = known(&parts, mask.map(in_full).as_ref(), &Size::ZERO, g)?;
    let mut all = Vec::new();
    for (part, operand) in found.iter().zip(operands) {
        let wanted = operand.dtype().is_inexact();
        all.push(if wanted { Some(Tensor::from_uop(unexpanded(part, operand)?)) } else { None });
    }
    Ok(all)
}

fn pulled(
    extents: &Extents,
    (mixed, known): (&Mixed, Option<&Known>),
    g: &UOp,
    operands: &[UOp],
) -> Result<Vec<Option<Tensor>>> {
    let Extents { heads, queries, keys, bytes, block } = *extents;
    let batch = &g.shape()[..g.rank() - 2];
    // All heads in one dimension.
    let flat = |x: &UOp, rows: i64| -> Result<UOp> {
        let (rows, columns) = (Size::from(rows), x.shape()[x.rank() - 1].clone());
        let whole: Vec<Size> = batch.iter().cloned().chain([rows.clone(), columns.clone()]).collect();
        Ok(x.expand(whole)?.reshape([Size::from(heads), rows, columns])?)
    };
    let block = block.max(heads.saturating_mul(bytes) / MOST_BLOCKS);
    let of = Blocks {
        mixed,
        known,
        q: flat(&operands[0], queries)?,
        k: flat(&operands[1], keys)?,
        v: flat(&operands[2], keys)?,
        mask: operands.get(3).map(|mask| flat(&in_full(mask), queries)).transpose()?,
        g: flat(g, queries)?,
    };
    let names = Names::from(0);
    let found = if bytes <= block {
        let times = (heads.saturating_mul(bytes) + block - 1) / block;
        of.heads(heads, (heads + times - 1) / times, names.first)?
    } else {
        let times = (bytes + block - 1) / block;
        let rows = (queries + times - 1) / times;
        of.each_head(heads, queries, (rows + 7) / 8 * 8, names.first)?
    };
    let mut parts: Vec<Option<Tensor>> = Vec::new();
    for (part, operand) in found.into_iter().zip(operands) {
        let last = operand.shape()[operand.rank() - 2..].iter().cloned();
        let whole: Vec<Size> = batch.iter().cloned().chain(last).collect();
        parts.push(Some(Tensor::from_uop(unexpanded(&part.reshape(whole)?, operand)?)));
    }
    if let Some(mask) = operands.get(3) {
        parts.push(of_mask(mixed, g, operands, mask)?);
    }
    Ok(parts)
}

/// A mask with two dimensions at least.
fn in_full(mask: &UOp) -> UOp {
    let missing = 2usize.saturating_sub(mask.rank());
    let shape: Vec<Size> = vec![Size::ONE; missing].into_iter().chain(mask.shape().iter().cloned()).collect();
    mask.reshape(shape).unwrap_or_else(|_| mask.clone())
}

/// The cotangent of a mask of numbers, which is as large as the scores.
fn of_mask(mixed: &Mixed, g: &UOp, operands: &[UOp], mask: &UOp) -> Result<Option<Tensor>> {
    if !mask.dtype().is_inexact() {
        return Ok(None);
    }
    let [q, k, v] = [0, 1, 2].map(|i| widened(&operands[i]));
    let value = mixed(&q?, &k?, &v?, Some(mask), &Size::ZERO)?;
    let target = [Target::of(mask)];
    let found = Walk::down_to(std::slice::from_ref(&value), &target)?.pull(&[(value, g.clone())], &target)?;
    Ok(found.into_iter().flatten().next().map(Tensor::from_uop))
}

/// Operands and the cotangent of the result, all heads in the first dimension.
struct Blocks<'a> {
    mixed: &'a Mixed,
    known: Option<&'a Known>,
    q: UOp,
    k: UOp,
    v: UOp,
    mask: Option<UOp>,
    g: UOp,
}

impl Blocks<'_> {
    /// Cotangents of queries, keys and values, so many heads at a time.
    fn heads(&self, heads: i64, each: i64, name: usize) -> Result<Vec<UOp>> {
        let times = (heads + each - 1) / each;
        let of = |x: &UOp, at: &Size| part(x, 0, at, each, times);
        let var = Variable::internal(&format!("loop.{name}"), 0, times - 1)?;
        let found = repeat(
            &var,
            &[],
            |_| (),
            |at, _| {
                let mut targets = Vec::new();
                let [q, k, v] = [&self.q, &self.k, &self.v].map(|x| of(x, &at).and_then(|x| marked(&x, &mut targets)));
                let mask = self.mask.as_ref().map(|mask| of(mask, &at)).transpose()?;
                let rows = self.pull(&[q?, k?, v?], mask.as_ref(), &Size::ZERO, &of(&self.g, &at)?, &targets)?;
                Ok::<_, TensorError>((Vec::new(), rows))
            },
        )?;
        found.iter().map(|stacked| joined(stacked, heads)).collect()
    }

    /// The same one head after the other, so many queries at a time.
    fn each_head(&self, heads: i64, queries: i64, each: i64, name: usize) -> Result<Vec<UOp>> {
        if heads == 1 {
            return self.head(&Size::ZERO, queries, each, name);
        }
        let var = Variable::internal(&format!("loop.{name}"), 0, heads - 1)?;
        let found = repeat(
            &var,
            &[],
            |_| (),
            |at, _| Ok::<_, TensorError>((Vec::new(), self.head(&at, queries, each, name + 1)?)),
        );
        found?.iter().map(|stacked| joined(stacked, heads)).collect()
    }

    /// Those of one head.
    fn head(&self, head: &Size, queries: i64, each: i64, name: usize) -> Result<Vec<UOp>> {
        let times = (queries + each - 1) / each;
        let of = |x: &UOp| part(x, 0, head, 1, self.heads_of(x));
        let (q, k, v, g) = (of(&self.q)?, of(&self.k)?, of(&self.v)?, of(&self.g)?);
        let mask = self.mask.as_ref().map(of).transpose()?;
        let begin = [zeros_at(&widened(&k)?)?, zeros_at(&widened(&v)?)?];
        let var = Variable::internal(&format!("loop.{name}"), 0, times - 1)?;
        let mut found = repeat(
            &var,
            &begin,
            |_| (),
            |at, sums| {
                let rows = |x: &UOp| part(x, 1, &at, each, times);
                let mut targets = Vec::new();
                let own = marked(&rows(&q)?, &mut targets)?;
                targets.extend([Target::of(&k), Target::of(&v)]);
                let mask = mask.as_ref().map(rows).transpose()?;
                let first = &at * each;
                let parts = self.pull(&[own, k.clone(), v.clone()], mask.as_ref(), &first, &rows(&g)?, &targets)?;
                let next = vec![add(&sums[0], &parts[1])?, add(&sums[1], &parts[2])?];
                Ok::<_, TensorError>((next, parts[..1].to_vec()))
            },
        )?;
        let columns = self.q.shape()[2].clone();
        let stacked = found.remove(2).reshape([Size::ONE, Size::from(times * each), columns])?;
        found.insert(0, first_of(&stacked, 1, queries)?);
        Ok(found)
    }

    fn heads_of(&self, x: &UOp) -> i64 {
        x.shape()[0].as_const().unwrap_or(1)
    }

    /// Cotangents of some queries, of keys and of values.
    fn pull(
        &self,
        [q, k, v]: &[UOp; 3],
        mask: Option<&UOp>,
        first: &Size,
        g: &UOp,
        targets: &[Target],
    ) -> Result<Vec<UOp>> {
        if let Some(known) = self.known {
            return Ok(known(&[q.clone(), k.clone(), v.clone()], mask, first, g)?[..3].to_vec());
        }
        let value = (self.mixed)(q, k, v, mask, first)?;
        let found = Walk::down_to(std::slice::from_ref(&value), targets)?.pull(&[(value, g.clone())], targets)?;
        found.into_iter().zip([q, k, v]).map(|(found, like)| found.map_or_else(|| zeros(like), Ok)).collect()
    }
}

/// A value in the type in which sums of it are.
fn widened(x: &UOp) -> Result<UOp> {
    Ok(Tensor::from_uop(x.clone()).widened()?.uop())
}

fn zeros_at(like: &UOp) -> Result<UOp> {
    let made = zeros(like)?;
    Ok(like.device().map_or(Ok(made.clone()), |device| made.copy_to(device))?)
}

fn marked(value: &UOp, targets: &mut Vec<Target>) -> Result<UOp> {
    let value = value.watch(&Watch::new(None))?;
    targets.push(Target::of(&value));
    Ok(value)
}

/// Part `at` of `times` along an axis, each of `each` rows; beyond the end there are zeros.
fn part(x: &UOp, axis: usize, at: &Size, each: i64, times: i64) -> Result<UOp> {
    let missing = Size::from(times * each) - &x.shape()[axis];
    let none = (Size::ZERO, Size::ZERO);
    let by: Pairs =
        (0..x.rank()).map(|i| if i == axis { (Size::ZERO, missing.clone()) } else { none.clone() }).collect();
    let whole = if missing == Size::ZERO { x.clone() } else { x.pad(by, Const::zero(x.dtype()))? };
    let all = |(i, n): (usize, &Size)| if i == axis { (at * each, at * each + each) } else { (Size::ZERO, n.clone()) };
    let to: Pairs = whole.shape().iter().enumerate().map(all).collect();
    Ok(whole.shrink(to)?)
}

/// What is stacked, joined along the next dimension, of which there are so many.
fn joined(stacked: &UOp, count: i64) -> Result<UOp> {
    let shape = stacked.shape();
    let whole: Vec<Size> = [&shape[0] * &shape[1]].into_iter().chain(shape[2..].iter().cloned()).collect();
    first_of(&stacked.reshape(whole)?, 0, count)
}

/// The first ones along an axis.
fn first_of(x: &UOp, axis: usize, count: i64) -> Result<UOp> {
    let kept = |(i, n): (usize, &Size)| (Size::ZERO, if i == axis { Size::from(count) } else { n.clone() });
    let to: Pairs = x.shape().iter().enumerate().map(kept).collect();
    Ok(x.shrink(to)?)
}
