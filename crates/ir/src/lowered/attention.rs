//! Recognising phases that are attention, for devices that have kernels of it.
//!
//! A task is a row of the result: its scores, the greatest of them, weights, their total, and weights times values, one loop
//! after the other. What each temporary is follows from the statements in order; loops that add up or take the greatest are
//! *reductions*, and everything else is expressed by these.

use super::product::{Affine, collapsed};
use super::{LoopKind, Lowered, Phase, Stmt};
use crate::alu::Alu;
use crate::expr::{Expr, ExprId, ExprPool, Mem, ParamId, TempId};
use crate::size::{Atom, Size, Variable};
use rustc_hash::FxHashMap;
use std::fmt;
use svod_dtype::{Const, DType};

/// An operand: an argument, in elements from whose start its first element is. Its last dimension is side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionOperand {
    /// The argument.
    pub param: ParamId,
    /// Where the first element is.
    pub offset: i64,
    /// Elements between those of the batch, heads (of keys and values: theirs) and rows; 0 where there is one, or all share it.
    pub strides: [i64; 3],
}

/// A value that is made of others, which are loads of these temporaries at 0.
#[derive(Clone, Debug)]
pub struct AttentionPart {
    /// The expressions.
    pub exprs: ExprPool,
    /// The value.
    pub value: ExprId,
}

/// A phase that is attention: `o[b, h, i, c] = value(sum over j of w[j] * v[b, h / group, j, c], sum over j of w[j])` with
/// `w[j] = exp(x[j] - max x)` and `x[j] = score(scale * sum over d of q[b, h, i, d] * k[b, h / group, j, d])`.
#[derive(Clone, Debug)]
pub struct Attention {
    /// Type of Q, K and V, and of O.
    pub dtype: [DType; 2],
    /// Q, K, V and O.
    pub operands: [AttentionOperand; 4],
    /// Batch, query heads, query heads of a key head, rows, keys, depth and columns, none of which is 0.
    pub sizes: [i64; 7],
    /// What sums of products are multiplied by.
    pub scale: f32,
    /// Row `i` sees the keys up to `i` and so many more.
    pub diagonal: Option<i64>,
    /// Counters of the batch and of the heads, outermost first, and their numbers of iterations.
    pub batch: Vec<(Variable, i64)>,
    /// Counters of the heads, likewise.
    pub heads: Vec<(Variable, i64)>,
    /// Counters of rows, keys and columns; none where there is one.
    pub counters: [Option<Variable>; 3],
    /// What becomes of a scaled score, if anything does: in terms of [`Attention::SCORE`].
    pub score: Option<AttentionPart>,
    /// What is stored, unless it is the sum divided by the total: in terms of [`Attention::SUM`] and [`Attention::TOTAL`].
    pub value: Option<AttentionPart>,
}

/// Sizes, and where operands are.
impl fmt::Display for Attention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [batch, heads, group, rows, keys, depth, columns] = self.sizes;
        write!(f, "attention {} of {batch} x {heads} heads in groups of {group}", self.dtype[0])?;
        write!(f, ", {rows} rows, {keys} keys, depth {depth}, {columns} columns, scale {}", self.scale)?;
        self.diagonal.iter().try_for_each(|diagonal| write!(f, ", diagonal {diagonal}"))?;
        self.operands
            .iter()
            .zip(["q", "k", "v", "o"])
            .try_for_each(|(of, name)| write!(f, ", {name} {} from {} by {:?}", of.param, of.offset, of.strides))
    }
}

impl Attention {
    /// A scaled score.
    pub const SCORE: TempId = TempId(0);
    /// The sum of weights times values.
    pub const SUM: TempId = TempId(1);
    /// The sum of weights.
    pub const TOTAL: TempId = TempId(2);
}

/// A loop that adds up, or takes the greatest.
struct Reduction {
    op: Alu,
    counter: Variable,
    extent: i64,
    element: ExprId,
    /// The loops around it.
    over: Vec<(Variable, i64)>,
}

/// What a temporary is: at these indices, this value.
struct Known {
    index: Vec<ExprId>,
    value: ExprId,
}

/// What the statements of a task compute.
struct Walk<'p> {
    phase: &'p Phase,
    pool: ExprPool,
    known: FxHashMap<TempId, Known>,
    /// Of which number `n` is, in the pool, a load of temporary `n` at the counters of the loops around.
    reductions: Vec<Reduction>,
    /// What is stored in an argument.
    stored: Option<Stored>,
}

impl Walk<'_> {
    fn all(&mut self, body: &[Stmt], over: &[(Variable, i64)]) -> Option<()> {
        body.iter().try_for_each(|stmt| self.stmt(stmt, over))
    }

    fn stmt(&mut self, stmt: &Stmt, over: &[(Variable, i64)]) -> Option<()> {
        match stmt {
            Stmt::Store { to: Mem::Temp(temp, 0), index, value, valid: None } => {
                // What follows from itself is no reduction that is known.
                let exprs = &self.phase.exprs;
                let own = |e: &ExprId| matches!(exprs.get(*e), Expr::Load { from: Mem::Temp(t, 0), .. } if t == temp);
                (!exprs.loads(&[*value]).iter().any(own)).then_some(())?;
                let (index, value) = (self.resolved(index)?, self.resolved(&[*value])?[0]);
                self.known.insert(*temp, Known { index, value });
            }
            Stmt::Store { to: Mem::Param(param), index, value, valid: None } if self.stored.is_none() => {
                let (index, value) = (self.resolved(index)?, self.resolved(&[*value])?[0]);
                (over.len() <= 1).then_some(())?;
                self.stored = Some(Stored { param: *param, index, column: over.first().cloned(), value });
            }
            Stmt::Loop(l, body) if l.kind == LoopKind::Serial => {
                let extent = l.extent.as_const().filter(|n| *n > 0)?;
                match self.reduced(body) {
                    Some((temp, op, element)) => {
                        let element = self.resolved(&[element])?[0];
                        let counters: Vec<ExprId> = over.iter().map(|(v, _)| self.pool.index(v)).collect();
                        let number = TempId(self.reductions.len() as u32);
                        let value = self.pool.load(DType::F32, Mem::Temp(number, 0), &counters);
                        let (counter, over) = (l.var.clone(), over.to_vec());
                        self.reductions.push(Reduction { op, counter, extent, element, over });
                        self.known.get_mut(&temp)?.value = value;
                    }
                    None => self.all(body, &[over, &[(l.var.clone(), extent)]].concat())?,
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// The accumulator, the operation and the element of a loop's body that does nothing but reduce.
    fn reduced(&self, body: &[Stmt]) -> Option<(TempId, Alu, ExprId)> {
        let [Stmt::Store { to: Mem::Temp(temp, 0), value, valid: None, .. }] = body else { return None };
        let Expr::Alu(op, terms) = self.phase.exprs.get(*value) else { return None };
        let is_own = |e: &ExprId| matches!(self.phase.exprs.get(*e), Expr::Load { from: Mem::Temp(t, 0), valid: None, .. } if t == temp);
        let element = match &terms[..] {
            [own, element] | [element, own] if is_own(own) && !is_own(element) => *element,
            _ => return None,
        };
        let least = match op {
            Alu::Add => 0.0,
            Alu::Max => f64::NEG_INFINITY,
            _ => return None,
        };
        let first = self.known.get(temp)?.value;
        let is_first = |c: &Const| c.dtype() == DType::F32 && c.as_f64() == least;
        matches!(self.pool.get(first), Expr::Const(c) if is_first(c)).then_some((*temp, *op, element))
    }

    /// Expressions of the phase in terms of arguments, counters and reductions.
    fn resolved(&mut self, roots: &[ExprId]) -> Option<Vec<ExprId>> {
        let (known, mut fails) = (&self.known, false);
        let made = self.pool.copy_with(&self.phase.exprs, roots, &|_| None, |pool, node, dtype| {
            let Expr::Load { from: Mem::Temp(temp, field), index, valid, .. } = &node else {
                fails |= matches!(node, Expr::Lanes { .. });
                return pool.add(node, dtype);
            };
            let read = known.get(temp).filter(|_| *field == 0 && valid.is_none());
            match read.and_then(|of| read_at(pool, of, index)) {
                Some(value) => value,
                None => {
                    fails = true;
                    pool.constant(Const::zero(dtype))
                }
            }
        });
        (!fails).then_some(made)
    }
}

/// What a temporary is at an index.
fn read_at(pool: &mut ExprPool, of: &Known, index: &[ExprId]) -> Option<ExprId> {
    let mut becomes: Vec<(Variable, Size)> = Vec::new();
    for (own, at) in of.index.iter().zip(index) {
        let (Expr::Index(own), Expr::Index(at)) = (pool.get(*own), pool.get(*at)) else { return None };
        match (own.as_const(), crate::expr_util::single_variable(own)) {
            (None, Some(variable)) => becomes.push((variable, at.clone())),
            (Some(n), _) if at.as_const() == Some(n) => {}
            _ => return None,
        }
    }
    becomes.retain(|(variable, at)| *at != Size::from(variable));
    if becomes.is_empty() {
        return Some(of.value);
    }
    let from = pool.clone();
    let replace = |v: &Variable| becomes.iter().find(|(own, _)| own == v).map(|(_, at)| at.clone());
    Some(pool.copy(&from, &[of.value], &replace)[0])
}

/// A value below conversions from float to float, but those of something narrow to start with.
fn bare(pool: &ExprPool, mut e: ExprId) -> ExprId {
    while let Expr::Cast(to, from) = pool.get(e) {
        if !to.is_float()
            || !pool.dtype(*from).is_float()
            || matches!(pool.get(*from), Expr::Load { from: Mem::Param(_), .. })
        {
            break;
        }
        e = *from;
    }
    e
}

/// Operations whose results differ little where their operands do.
#[rustfmt::skip]
const SMOOTH: &[Alu] = {
    use Alu::{Abs, Add, Div, Erf, Exp, Exp2, Expm1, Log, Log1p, Log2, Max, Min, Mul, Neg, Recip, Sqrt, Sub, Tanh};
    &[Abs, Add, Div, Erf, Exp, Exp2, Expm1, Log, Log1p, Log2, Max, Min, Mul, Neg, Recip, Sqrt, Sub, Tanh]
};

/// A value in f32, without what rounds its parts on the way: arithmetic of 16 bits between scores and their weights is as wide
/// as these are. What is compared, and what comes from memory, stays as it is.
fn widened(pool: &mut ExprPool, value: ExprId) -> ExprId {
    let mut wide: FxHashMap<ExprId, ExprId> = FxHashMap::default();
    for id in pool.reachable(&[value]) {
        let dtype = pool.dtype(id);
        if !dtype.is_float() || dtype.bytes() > DType::F32.bytes() {
            continue;
        }
        let is_read = |e: ExprId| matches!(pool.get(e), Expr::Load { from: Mem::Param(_), .. });
        let of = |operands: &[ExprId]| operands.iter().map(|e| wide.get(e).copied()).collect::<Option<Vec<_>>>();
        let made = match pool.get(id).clone() {
            Expr::Const(c) => Some(pool.constant(Const::f64(DType::F32, c.as_f64()))),
            // Who rounds to a byte means it.
            Expr::Cast(to, from) if to.bytes() > 1 && !is_read(from) => wide.get(&from).copied(),
            Expr::Alu(Alu::Where, operands) => {
                of(&operands[1..]).map(|of| pool.alu(Alu::Where, &[operands[0], of[0], of[1]]))
            }
            Expr::Alu(op, operands) => of(&operands).filter(|_| SMOOTH.contains(&op)).map(|of| pool.alu(op, &of)),
            _ => None,
        };
        let made = made.unwrap_or_else(|| pool.cast(DType::F32, id));
        wide.insert(id, made);
    }
    wide.get(&value).copied().unwrap_or(value)
}

/// Whether a value is a reduction's.
fn is_load(pool: &ExprPool, e: ExprId, n: usize) -> bool {
    matches!(pool.get(e), Expr::Load { from: Mem::Temp(t, 0), .. } if t.index() == n)
}

/// The factors of what a reduction adds up.
fn factors(pool: &ExprPool, of: &Reduction) -> Option<[ExprId; 2]> {
    match pool.get(of.element) {
        Expr::Alu(Alu::Mul, factors) => Some([factors[0], factors[1]]),
        _ => None,
    }
}

/// What is divided by a reduction.
fn quotient(pool: &ExprPool, e: ExprId, by: usize) -> Option<ExprId> {
    match pool.get(e) {
        Expr::Alu(Alu::Div, of) if is_load(pool, of[1], by) => Some(of[0]),
        Expr::Alu(Alu::Mul, of) => {
            let inverse = |e: ExprId| matches!(pool.get(e), Expr::Alu(Alu::Recip, of) if is_load(pool, of[0], by));
            (0..2).find(|n| inverse(of[1 - n])).map(|n| of[n])
        }
        _ => None,
    }
}

/// A softmax of scores and what it mixes: which reduction is what, and what they are made of.
struct Softmax {
    scores: usize,
    total: usize,
    mixed: usize,
    /// The loop over keys in which scores are, by whose counter all is said.
    key: (Variable, i64),
    /// What the exponential is of, but for the greatest.
    score: ExprId,
    /// The factor of weights.
    value: ExprId,
    /// Whether weights are divided by the total.
    divided: bool,
}

impl Softmax {
    fn of(pool: &mut ExprPool, reductions: &[Reduction]) -> Option<Softmax> {
        // There are four: scores, the greatest, the total, and weights times values.
        let number = |op: Alu| {
            let mut found = (0..reductions.len()).filter(|n| reductions[*n].op == op && reductions[*n].over.is_empty());
            found.next().filter(|_| found.next().is_none() && reductions.len() == 4)
        };
        let (peak, total) = (number(Alu::Max)?, number(Alu::Add)?);
        let sums: Vec<usize> = (0..4).filter(|n| reductions[*n].op == Alu::Add && *n != total).collect();
        let &[scores, mixed] = &sums[..] else { return None };
        let [key] = &reductions[scores].over[..] else { return None };
        (scores < peak && [peak, total, mixed].iter().all(|n| reductions[*n].extent == key.1)).then_some(())?;
        let of_keys = |pool: &mut ExprPool, n: usize, e: ExprId| {
            let (from, own) = (pool.clone(), &reductions[n].counter);
            pool.copy(&from, &[e], &|v| (v == own).then(|| Size::from(&key.0)))[0]
        };
        let is_argument = |pool: &ExprPool, e: ExprId| match pool.get(e) {
            Expr::Cast(DType::F32, load) => {
                matches!(pool.get(*load), Expr::Load { from: Mem::Param(_), valid: None, .. })
            }
            _ => false,
        };
        let [a, b] = factors(pool, &reductions[mixed])?;
        let (weight, value) = match [a, b].map(|e| is_argument(pool, e)) {
            [false, true] => (a, b),
            [true, false] => (b, a),
            _ => return None,
        };
        let weight = of_keys(pool, mixed, weight);
        let weight = bare(pool, weight);
        // The division may come before the product, or after it.
        let divided = quotient(pool, weight, total);
        let weight = bare(pool, divided.unwrap_or(weight));
        let summed = of_keys(pool, total, reductions[total].element);
        (bare(pool, summed) == weight).then_some(())?;
        let Expr::Alu(Alu::Exp, of) = pool.get(weight) else { return None };
        let Expr::Alu(Alu::Sub, of) = pool.get(of[0]) else { return None };
        let (score, greatest) = (of[0], of[1]);
        let guard = |e: ExprId| matches!(pool.get(e), Expr::Const(c) if c.as_f64() <= f64::from(f32::MIN));
        let is_greatest = match pool.get(greatest) {
            Expr::Alu(Alu::Max, of) => (0..2).any(|n| is_load(pool, of[n], peak) && guard(of[1 - n])),
            _ => is_load(pool, greatest, peak),
        };
        let compared = of_keys(pool, peak, reductions[peak].element);
        let (divided, key) = (divided.is_some(), key.clone());
        (is_greatest && compared == score).then_some(Softmax { scores, total, mixed, key, score, value, divided })
    }
}

/// What is stored: where, in which loops, and the value.
struct Stored {
    param: ParamId,
    index: Vec<ExprId>,
    column: Option<(Variable, i64)>,
    value: ExprId,
}

/// Where operands are, and what the counters of tasks are to them.
struct Places {
    operands: [AttentionOperand; 4],
    dtype: DType,
    sizes: [i64; 7],
    batch: Vec<(Variable, i64)>,
    heads: Vec<(Variable, i64)>,
    row: Option<Variable>,
}

impl Places {
    /// Of Q, K, V and O by the counters of a grid, whose strides are followed by those along what is given.
    fn of(grid: &[(Variable, i64)], all: [&Affine; 4], [keys, depth, columns]: [i64; 3]) -> Option<Places> {
        let (n, [q, k, v, o]) = (grid.len(), all);
        let side_by_side = |stride: i64, count: i64| stride == 1 || count == 1;
        let fits = q.strides[n] == 0
            && k.strides[n] > 0
            && v.strides[n] > 0
            && side_by_side(q.strides[n + 1], depth)
            && side_by_side(k.strides[n + 1], depth)
            && side_by_side(v.strides[n + 1], columns)
            && side_by_side(o.strides[n], columns)
            && (q.dtype, q.dtype) == (k.dtype, v.dtype)
            && o.strides[..n].iter().zip(grid).all(|(stride, (_, count))| *stride > 0 || *count == 1);
        fits.then_some(())?;

        // Rows are what keys and values lack.
        let long: Vec<usize> = (0..n).filter(|at| grid[*at].1 > 1).collect();
        let lacks = |at: &usize| k.strides[*at] == 0 && v.strides[*at] == 0;
        let row = long.iter().copied().rfind(|at| lacks(at));
        let others: Vec<usize> = long.iter().copied().filter(|at| Some(*at) != row).collect();
        let strides = |of: &Affine, dims: &[usize]| {
            collapsed(&dims.iter().map(|at| (grid[*at].1, of.strides[*at])).collect::<Vec<_>>())
        };
        // The batch is outside, heads are inside; the innermost of these may share their keys.
        let split = |outside: usize| {
            let (batch, heads) = others.split_at(outside);
            let shared = heads.iter().rev().take_while(|at| lacks(at)).count();
            let own = &heads[..heads.len() - shared];
            let group = heads[heads.len() - shared..].iter().map(|at| grid[*at].1).product::<i64>();
            let mut found = [[0; 3]; 4];
            for (i, of) in all.into_iter().enumerate() {
                let of_heads = if matches!(i, 1 | 2) { own } else { heads };
                found[i] = [strides(of, batch)?, strides(of, of_heads)?, 0];
            }
            Some((found, outside, group))
        };
        let (mut strides, outside, group) = (0..=others.len()).find_map(split)?;
        let rows = [row.map_or(0, |at| q.strides[at]), k.strides[n], v.strides[n], row.map_or(0, |at| o.strides[at])];
        strides.iter_mut().zip(rows).for_each(|(of, row)| of[2] = row);
        let numbered = |dims: &[usize]| dims.iter().map(|at| grid[*at].clone()).collect::<Vec<_>>();
        let (batch, heads) = (numbered(&others[..outside]), numbered(&others[outside..]));
        let count = |of: &[(Variable, i64)]| of.iter().map(|(_, n)| n).product::<i64>();
        let operand = |i: usize| AttentionOperand { param: all[i].param, offset: all[i].offset, strides: strides[i] };
        let sizes = [count(&batch), count(&heads), group, row.map_or(1, |at| grid[at].1), keys, depth, columns];
        let row = row.map(|at| grid[at].0.clone());
        Some(Places { operands: [0, 1, 2, 3].map(operand), dtype: q.dtype, sizes, batch, heads, row })
    }
}

/// A value in terms of what the kernel gives for reductions, and of counters that it has; where weights are divided, the sum
/// `over` the total is in the place of that reduction.
fn part(
    pool: &ExprPool,
    value: ExprId,
    named: &[(usize, TempId)],
    over: Option<usize>,
    counters: &[&Variable],
) -> Option<AttentionPart> {
    let mut exprs = ExprPool::new();
    let zero = exprs.index(0);
    let mut fails = !pool.variables_used(&[value]).iter().all(|v| counters.contains(&v));
    let value = exprs.copy_with(pool, &[value], &|_| None, |exprs, node, dtype| {
        let Expr::Load { from: Mem::Temp(t, 0), .. } = node else { return exprs.add(node, dtype) };
        let Some((_, known)) = named.iter().find(|(n, _)| *n == t.index()) else {
            fails = true;
            return zero;
        };
        let load = exprs.load(dtype, Mem::Temp(*known, 0), &[zero]);
        if over != Some(t.index()) {
            return load;
        }
        let total = exprs.load(dtype, Mem::Temp(Attention::TOTAL, 0), &[zero]);
        exprs.alu(Alu::Div, &[load, total])
    })[0];
    (!fails).then_some(AttentionPart { exprs, value })
}

impl Lowered {
    /// The attention that this is, if it is one phase that is attention of known sizes.
    pub fn attention(&self) -> Option<Attention> {
        let [phase] = &self.phases[..] else { return None };
        (self.guards.is_empty() && self.vars.is_empty() && !self.strict).then_some(())?;
        let mut grid = Vec::new();
        for l in &phase.grid {
            grid.push((l.var.clone(), l.extent.as_const().filter(|n| *n > 0)?));
        }
        let (pool, known) = (ExprPool::new(), FxHashMap::default());
        let mut walk = Walk { phase, pool, known, reductions: Vec::new(), stored: None };
        walk.all(&phase.body, &[])?;
        let Walk { mut pool, reductions, stored, .. } = walk;
        let stored = stored?;
        let found = Softmax::of(&mut pool, &reductions)?;
        let Softmax { scores, total, mixed, ref key, score, .. } = found;
        let places = self.places(&pool, &reductions, &grid, &found, &stored)?;

        // Scores: a triangle, a factor, and whatever else there is.
        let score = widened(&mut pool, score);
        let triangle = places.row.as_ref().and_then(|row| triangle(&pool, score, row, &key.0));
        let (seen, diagonal) = triangle.map_or((score, None), |(seen, diagonal)| (seen, Some(diagonal)));
        let scale = scaled(&pool, seen, scores);
        let Places { operands, dtype, sizes, batch, heads, row } = places;
        let counters = [row, Some(key.0.clone()), stored.column.map(|(v, _)| v)];
        let bound: Vec<&Variable> =
            batch.iter().chain(&heads).map(|(v, _)| v).chain(counters.iter().flatten()).collect();
        let score = match scale {
            Some(_) => None,
            None => Some(part(&pool, seen, &[(scores, Attention::SCORE)], None, &bound)?),
        };
        let out = self.params[stored.param.index()].dtype;
        let rounded = match pool.get(stored.value) {
            Expr::Cast(to, value) if *to == out => *value,
            _ => stored.value,
        };
        let sum = if found.divided { Some(rounded) } else { quotient(&pool, rounded, total) };
        let named = [(mixed, Attention::SUM), (total, Attention::TOTAL)];
        let value = match sum.is_some_and(|sum| is_load(&pool, sum, mixed)) {
            true => None,
            false => Some(part(&pool, stored.value, &named, found.divided.then_some(mixed), &bound)?),
        };
        let (scale, dtype) = (scale.unwrap_or(1.0), [dtype, out]);
        Some(Attention { dtype, operands, sizes, scale, diagonal, batch, heads, counters, score, value })
    }

    /// Where operands and result of a softmax are.
    fn places(
        &self,
        pool: &ExprPool,
        reductions: &[Reduction],
        grid: &[(Variable, i64)],
        found: &Softmax,
        stored: &Stored,
    ) -> Option<Places> {
        let (scores, mixed) = (&reductions[found.scores], &reductions[found.mixed]);
        // Columns are a loop of the result, and one of sums; or there is one, and neither is.
        let across = match &mixed.over[..] {
            [] => None,
            [one] => Some(one),
            _ => return None,
        };
        (across.map(|(_, n)| n) == stored.column.as_ref().map(|(_, n)| n)).then_some(())?;
        let counters = |more: &[&Variable]| -> Vec<Variable> {
            grid.iter().map(|(v, _)| v.clone()).chain(more.iter().map(|v| (*v).clone())).collect()
        };
        // A counter that is none of an operand's has a stride of 0.
        let (key, depth) = (&found.key.0, &scores.counter);
        let [a, b] = factors(pool, scores)?;
        let of_keys = counters(&[key, depth]);
        let [a, b] = [a, b].map(|e| self.affine_of(pool, e, DType::F32, &of_keys));
        let (a, b) = (a?, b?);
        let (q, k) = if b.strides[grid.len()] != 0 { (a, b) } else { (b, a) };
        let column = across.map_or(depth, |(v, _)| v);
        let v = self.affine_of(pool, found.value, DType::F32, &counters(&[&mixed.counter, column]))?;
        let column = stored.column.as_ref().map_or(depth, |(v, _)| v);
        let o = self.position(pool, stored.param, &stored.index, &counters(&[column]))?;
        let columns = across.map_or(1, |(_, n)| *n);
        Places::of(grid, [&q, &k, &v, &o], [found.key.1, scores.extent, columns])
    }
}

/// What a score is where a row sees a key, and up to how many keys beyond its own number that is; where it does not, the score
/// is -∞.
fn triangle(pool: &ExprPool, score: ExprId, row: &Variable, key: &Variable) -> Option<(ExprId, i64)> {
    let Expr::Alu(Alu::Where, of) = pool.get(bare(pool, score)) else { return None };
    let least = |e: ExprId| matches!(pool.get(e), Expr::Const(c) if c.as_f64() == f64::NEG_INFINITY);
    let (seen, holds) = match [of[1], of[2]].map(least) {
        [false, true] => (of[1], true),
        [true, false] => (of[2], false),
        _ => return None,
    };
    let Expr::Alu(op @ (Alu::Le | Alu::Lt), sides) = pool.get(of[0]) else { return None };
    let (Expr::Index(a), Expr::Index(b)) = (pool.get(sides[0]), pool.get(sides[1])) else { return None };
    // A key is seen where this is not negative.
    let margin = match (op, holds) {
        (Alu::Le, true) => b - a,
        (Alu::Lt, true) => b - a - 1,
        (Alu::Le, false) => a - b - 1,
        (_, _) => a - b,
    };
    let mut diagonal = 0;
    let (mut rows, mut keys) = (0, 0);
    for term in margin.terms()? {
        match term.factors() {
            [] => diagonal += term.coefficient(),
            [Atom::Var(v)] if v == row => rows += term.coefficient(),
            [Atom::Var(v)] if v == key => keys += term.coefficient(),
            _ => return None,
        }
    }
    ((rows, keys) == (1, -1)).then_some((seen, diagonal))
}

/// What the sum of products is multiplied by, if nothing else is done to it: the greatest score is then that of the greatest sum.
fn scaled(pool: &ExprPool, e: ExprId, scores: usize) -> Option<f32> {
    let is_sum =
        |e: ExprId| matches!(pool.get(bare(pool, e)), Expr::Load { from: Mem::Temp(t, 0), .. } if t.index() == scores);
    let constant = |e: ExprId| match pool.get(e) {
        Expr::Const(c) if c.dtype() == DType::F32 => Some(c.as_f64()),
        _ => None,
    };
    let scale = match pool.get(bare(pool, e)) {
        Expr::Alu(Alu::Mul, of) if is_sum(of[0]) => constant(of[1])? as f32,
        Expr::Alu(Alu::Mul, of) if is_sum(of[1]) => constant(of[0])? as f32,
        Expr::Alu(Alu::Div, of) if is_sum(of[0]) => (1.0 / constant(of[1])?) as f32,
        _ if is_sum(e) => 1.0,
        _ => return None,
    };
    (scale > 0.0 && scale.is_finite()).then_some(scale)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn attention(text: &str) -> Option<Attention> {
        Lowered::parse(text).unwrap().attention()
    }

    const PLAIN: &str = "lowered attention
param p0: bf16[6, 10, 8]
param p1: bf16[6, 13, 8]
param p2: bf16[6, 13, 16]
param p3: bf16[6, 10, 16]

phase
grid b < 6, i < 10
temp s: f32[13] scratch
temp s_acc: f32[1] register
temp m: f32[1] register
temp m_acc: f32[1] register
temp w: f32[13] scratch
temp t: f32[1] register
temp t_acc: f32[1] register
temp o: f32[16] scratch
temp o_acc: f32[1] register
{
  serial j0 < 13 {
    s_acc[0] = f32(0.0)
    serial d < 8 {
      s_acc[0] = s_acc[0] + cast(f32, p0[b, i, d]) * cast(f32, p1[b, j0, d])
    }
    s[j0] = s_acc[0]
  }
  m_acc[0] = f32(-inf)
  serial j1 < 13 {
    m_acc[0] = max(m_acc[0], s[j1] * f32(0.5))
  }
  m[0] = m_acc[0]
  serial j2 < 13 {
    w[j2] = exp(s[j2] * f32(0.5) - m[0])
  }
  t_acc[0] = f32(0.0)
  serial j3 < 13 {
    t_acc[0] = t_acc[0] + w[j3]
  }
  t[0] = t_acc[0]
  serial c < 16 {
    o_acc[0] = f32(0.0)
    serial j4 < 13 {
      o_acc[0] = o_acc[0] + w[j4] * cast(f32, p2[b, j4, c])
    }
    o[c] = o_acc[0]
  }
  serial e < 16 {
    p3[b, i, e] = cast(bf16, o[e] / t[0])
  }
}
";

    #[test]
    fn attention_is_found_with_its_strides() {
        let found = attention(PLAIN).unwrap();
        assert_eq!(found.sizes, [1, 6, 1, 10, 13, 8, 16]);
        assert_eq!((found.scale, found.diagonal, found.dtype), (0.5, None, [DType::BF16; 2]));
        assert_eq!(found.operands.map(|o| o.strides), [[0, 80, 8], [0, 104, 8], [0, 208, 16], [0, 160, 16]]);
        assert!(found.score.is_none() && found.value.is_none());
        // A triangle, and something else that is done to scores and to the result.
        let score = |own: &str| {
            PLAIN
                .replace("s[j1] * f32(0.5)", &own.replace('J', "j1"))
                .replace("s[j2] * f32(0.5)", &own.replace('J', "j2"))
        };
        let found = attention(&score("where(J <= {i + 3}, s[J] * f32(0.5), f32(-inf))")).unwrap();
        assert_eq!((found.diagonal, found.scale, found.score.is_none()), (Some(3), 0.5, true));
        let found = attention(&score("where(i < J, f32(-inf), s[J])")).unwrap();
        assert_eq!((found.diagonal, found.scale), (Some(0), 1.0));
        // What is rounded between scores and weights.
        let found = attention(&score("cast(f32, cast(bf16, s[J]) * bf16(0.5))")).unwrap();
        assert_eq!((found.scale, found.score.is_none()), (0.5, true));
        let found = attention(&score("cast(f32, where(J <= i, cast(bf16, s[J]) / bf16(2.0), bf16(-inf)))")).unwrap();
        assert_eq!((found.diagonal, found.scale, found.score.is_none()), (Some(0), 0.5, true));
        let found = attention(&score("cast(f32, cast(bf16, s[J]) * bf16(0.5) + p0[b, i, 0])")).unwrap();
        let part = found.score.unwrap();
        let narrow = |e: &ExprId| part.exprs.dtype(*e) == DType::BF16;
        let narrow: Vec<_> = part.exprs.reachable(&[part.value]).into_iter().filter(narrow).collect();
        assert!(matches!(narrow[..], [e] if matches!(part.exprs.get(e), Expr::Load { .. })), "{narrow:?}");
        let found = attention(&score("where({i*2} < J, f32(-inf), s[J])")).unwrap();
        assert!(found.diagonal.is_none() && found.score.is_some());
        let found = attention(&score("s[J] + cast(f32, p0[b, i, 0])").replace("o[e] / t[0]", "o[e] / t[0] + f32(1.0)"))
            .unwrap();
        assert!(found.score.is_some() && found.value.is_some());
    }

    #[test]
    fn other_phases_are_none() {
        for (from, to) in [
            ("m_acc[0] = f32(-inf)", "m_acc[0] = f32(0.0)"),
            ("max(m_acc[0], s[j1] * f32(0.5))", "max(m_acc[0], s[j1])"),
            ("- m[0])", "- f32(1.0))"),
            ("serial j3 < 13", "serial j3 < 12"),
            ("t_acc[0] + w[j3]", "t_acc[0] + w[j3] * w[j3]"),
            ("w[j4] * cast", "s[j4] * cast"),
            ("p0[b, i, d]", "p0[b, i, d//2]"),
            ("p1[b, j0, d]", "p1[b, i, d]"),
            ("p3[b, i, e]", "p3[b, 0, e]"),
            ("p2[b, j4, c]", "p2[b, j4, 0]"),
        ] {
            assert!(PLAIN.contains(from));
            assert!(attention(&PLAIN.replace(from, to)).is_none(), "{to}");
        }
    }
}
