//! Long loops in reverse: what an iteration read is computed again, a block of iterations at a time (Griewank and Walther 2000;
//! Chen et al. 2016).
//!
//! Of `n` iterations the values at the beginning of each block of about `√n` are kept, stacked by a loop that runs them
//! once more; then, from the last block to the first, those at the beginning of each iteration of the block, from
//! which the block is gone through backwards. Memory is that of `2 √n` iterations, and all of it are loops: a plan is as long as
//! the program's own, and is compiled as fast. What an iteration reads by its number, `x[i]`, has cotangents that are rows,
//! which are stacked as well; those of all else from outside are sums that are carried.

use std::cell::Cell;

use rustc_hash::{FxHashMap, FxHashSet};
use svod_ir::graph::{Graph, LoopBody, Op, UOp};
use svod_ir::size::{Size, Variable};

use super::algebra::{add, padded};
use super::backwards::{begin, further, marked, walked, zeros_there};
use super::iteration::Iteration;
use super::walk::Target;
use crate::error::Result;
use crate::iterate::repeat;
use crate::trace::Trace;

/// Iterations up to which a loop is differentiated as the graph that it stands for.
const SHORT: i64 = 64;

/// Whether the derivative of a loop is made of loops.
pub fn is_long(body: &LoopBody) -> bool {
    body.trips() > SHORT
}

/// The cotangents of what a loop reads, where that is `active`, given those of its outputs.
///
/// # Errors
/// Operations without a derivative.
pub fn pulled(body: &LoopBody, sources: &[UOp], given: &[Option<UOp>], active: &[bool]) -> Result<Vec<Option<UOp>>> {
    let iteration = Iteration::of(body);
    let parts = Parts::of(&iteration, body, sources, given, active);
    let none = vec![None; sources.len()];
    if parts.carried.is_empty() && parts.sums.is_empty() && parts.rows.is_empty() {
        return Ok(none);
    }
    let name = Names::enter(body);
    let back = Reverse { body, iteration, parts, sources, given, name: name.first };
    let trips = body.trips();
    let block = (i64::isqrt(trips - 1) + 1..).find(|block| trips % block != 1).unwrap_or(trips);
    let (blocks, rest) = (trips / block, trips % block);

    let (after, starts) = back.forward(0, &Size::ZERO, block, blocks, &sources[..body.carried()])?;
    let mut now = begin(given, sources, &back.parts.carried, &back.parts.sums)?;
    let mut rows: Vec<Vec<UOp>> = vec![Vec::new(); back.parts.rows.len()];
    if rest > 0 {
        let found = back.block(0, &Size::from(block * blocks), rest, &after, now)?;
        now = found.0;
        found.1.into_iter().enumerate().for_each(|(at, row)| rows[at].push(row));
    }
    let count = now.len();
    let mut found = back.looped(0, blocks, &now, |at, now| {
        let at = Size::from(blocks - 1) - at;
        let states = starts.iter().map(|start| row_of(start, &at)).collect::<Result<Vec<_>>>()?;
        let (next, rows) = back.block(1, &(at * block), block, &states, now)?;
        Ok((next, rows))
    })?;
    for (at, stacked) in found.split_off(count).into_iter().enumerate() {
        // Blocks from the last to the first.
        let inner = stacked.shape()[1..].to_vec();
        let shape: Vec<Size> = [&inner[0] * blocks].into_iter().chain(inner[1..].iter().cloned()).collect();
        rows[at].insert(0, stacked.flip(&[0])?.reshape(shape)?);
    }
    let rows = rows.into_iter().map(|parts| UOp::concat(&parts, 0)).collect::<std::result::Result<Vec<_>, _>>()?;
    back.gathered(found, rows, none)
}

/// What is to be computed of the cotangents of a loop.
struct Parts {
    /// Carried values that have one.
    carried: Vec<usize>,
    /// Values from outside whose cotangents are summed.
    sums: Vec<usize>,
    /// Nodes that are the row of a value from outside of which the number is the loop's, after some others, and the value.
    rows: Vec<(u32, usize, i64)>,
}

impl Parts {
    fn of(
        iteration: &Iteration<'_>,
        body: &LoopBody,
        sources: &[UOp],
        given: &[Option<UOp>],
        active: &[bool],
    ) -> Parts {
        let (graph, carried) = (iteration.graph(), body.carried());
        let reads = params_below(iteration);
        let results: Vec<&FxHashSet<usize>> = graph.roots().iter().map(|root| &reads[*root as usize]).collect();
        // What derivatives are taken by is below; what has a cotangent is above.
        let (mut below, mut above) = (active.to_vec(), vec![false; results.len()]);
        for (above, given) in above.iter_mut().zip(given) {
            *above = given.is_some();
        }
        loop {
            let before = (below.clone(), above.clone());
            for at in 0..carried {
                below[at] |= results[at].iter().any(|param| before.0[*param]);
                above[at] |= (0..results.len()).any(|result| before.1[result] && results[result].contains(&at));
            }
            if before == (below.clone(), above.clone()) {
                break;
            }
        }
        let is_read = |param: usize| (0..results.len()).any(|result| above[result] && results[result].contains(&param));
        let own = |at: &usize| below[*at] && above[*at] && sources[*at].dtype().is_inexact();
        let outside: Vec<usize> = (carried..sources.len()).filter(|at| active[*at] && is_read(*at)).collect();
        let mut known: FxHashSet<u64> = FxHashSet::default();
        let (mut sums, mut rows) = (Vec::new(), Vec::new());
        // One value that is read in two ways has one cotangent.
        for at in outside.into_iter().filter(|at| known.insert(sources[*at].resolved().id())) {
            let same = |other: usize| sources[other].resolved().id() == sources[at].resolved().id();
            let params: Vec<usize> = (carried..sources.len()).filter(|other| same(*other)).collect();
            match rows_of(iteration, body, &params) {
                Some(found) => rows.extend(found.into_iter().map(|(node, after)| (node, at, after))),
                None => sums.push(at),
            }
        }
        Parts { carried: (0..carried).filter(own).collect(), sums, rows }
    }
}

/// The parameters that each node follows from through values of floats.
fn params_below(iteration: &Iteration<'_>) -> Vec<FxHashSet<usize>> {
    let mut found: Vec<FxHashSet<usize>> = Vec::with_capacity(iteration.graph().len());
    for (at, (node, below)) in iteration.graph().iter().enumerate() {
        let own = iteration.param(at as u32);
        let passes = node.dtype().is_inexact() && !matches!(node.op(), Op::Detach);
        found.push(match own {
            Some(param) => [param].into_iter().collect(),
            None if passes => below.iter().flat_map(|s| found[*s as usize].iter().copied()).collect(),
            None => FxHashSet::default(),
        });
    }
    found
}

/// The nodes that read some parameters, if all of them are one row, whose number is the loop's after so many others.
fn rows_of(iteration: &Iteration<'_>, body: &LoopBody, params: &[usize]) -> Option<Vec<(u32, i64)>> {
    let graph = iteration.graph();
    let is_one = |node: u32| iteration.param(node).is_some_and(|param| params.contains(&param));
    if graph.roots().iter().any(|root| is_one(*root)) {
        return None;
    }
    let number = Size::from(body.var());
    let mut found = Vec::new();
    for (at, (node, below)) in graph.iter().enumerate() {
        if !below.iter().any(|s| is_one(*s)) {
            continue;
        }
        let Op::Shrink(to) = node.op() else { return None };
        let (first, last) = to.first()?;
        let after = (first.clone() - &number).as_const()?;
        let alike = |(a, b): &(Size, Size)| ![a, b].into_iter().any(|n| n.variables().contains(body.var()));
        if (last.clone() - first).as_const() != Some(1) || !to[1..].iter().all(alike) {
            return None;
        }
        found.push((at as u32, after));
    }
    Some(found)
}

/// Values that a part of the derivative carries: cotangents of what the loop carries, then sums.
type Now = Vec<UOp>;

struct Reverse<'a> {
    body: &'a LoopBody,
    iteration: Iteration<'a>,
    parts: Parts,
    sources: &'a [UOp],
    given: &'a [Option<UOp>],
    /// The number in the names of its loops' variables.
    name: usize,
}

impl Reverse<'_> {
    /// A loop of the derivative, inside of so many others of it.
    fn looped(
        &self,
        depth: usize,
        trips: i64,
        begin: &[UOp],
        body: impl FnOnce(Size, Vec<UOp>) -> Result<(Vec<UOp>, Vec<UOp>)>,
    ) -> Result<Vec<UOp>> {
        let var = Variable::internal(&format!("loop.{}", self.name + depth), 0, trips - 1)?;
        repeat(&var, begin, |_| (), body)
    }

    /// The loop's own number of an iteration.
    fn number(&self, at: &Size) -> Size {
        at + Variable::min(self.body.var())
    }

    /// The carried values after an iteration.
    fn next(&self, at: &Size, states: &[UOp]) -> Result<Vec<UOp>> {
        let values = [states, &self.sources[self.body.carried()..]].concat();
        let mut results = self.iteration.at(&self.number(at), &values, &FxHashMap::default())?;
        results.truncate(self.body.carried());
        Ok(results)
    }

    /// Runs `count` blocks of `length` iterations from number `first` on; gives what is carried then, and, stacked, at the
    /// beginning of each block.
    fn forward(
        &self,
        depth: usize,
        first: &Size,
        length: i64,
        count: i64,
        states: &[UOp],
    ) -> Result<(Vec<UOp>, Vec<UOp>)> {
        let mut after = self.looped(depth, count, states, |at, states| {
            let begin = first + at * length;
            let next = match length {
                1 => self.next(&begin, &states)?,
                _ => self.looped(depth + 1, length, &states, |at, states| {
                    Ok((self.next(&(&begin + at), &states)?, Vec::new()))
                })?,
            };
            Ok((next, states))
        })?;
        let stacked = after.split_off(states.len());
        Ok((after, stacked))
    }

    /// Goes back through `length` iterations from number `first` on, at whose beginning the loop carries `states`. Gives
    /// what is carried further back, and the rows of the iterations, in their order.
    fn block(&self, depth: usize, first: &Size, length: i64, states: &[UOp], now: Now) -> Result<(Now, Vec<UOp>)> {
        let (_, stacked) = self.forward(depth, first, 1, length, states)?;
        let mut found = self.looped(depth, length, &now, |at, now| {
            let at = Size::from(length - 1) - at;
            let states = stacked.iter().map(|states| row_of(states, &at)).collect::<Result<Vec<_>>>()?;
            self.back(&(first + &at), &states, now)
        })?;
        let rows = found.split_off(now.len()).into_iter().map(|rows| Ok(rows.flip(&[0])?)).collect::<Result<_>>()?;
        Ok((found, rows))
    }

    /// Goes back through one iteration; gives what is carried further, and its rows.
    fn back(&self, at: &Size, states: &[UOp], now: Now) -> Result<(Now, Vec<UOp>)> {
        let Parts { carried, sums, rows } = &self.parts;
        let mut values = [states, &self.sources[self.body.carried()..]].concat();
        let mut targets: Vec<Target> = Vec::new();
        for which in carried {
            values[*which] = marked(&values[*which], &mut targets)?;
        }
        targets.extend(sums.iter().map(|which| Target::of(&values[*which])));
        let mut given: FxHashMap<u32, UOp> = FxHashMap::default();
        for (node, which, after) in rows {
            let Op::Shrink(to) = self.iteration.graph().nodes()[*node as usize].op() else { continue };
            let mut to = to.to_vec();
            let number = self.number(at) + *after;
            to[0] = (number.clone(), number + 1);
            let row = self.sources[*which].shrink(to)?;
            given.insert(*node, marked(&row, &mut targets)?);
        }
        let results = self.iteration.at(&self.number(at), &values, &given)?;
        let mut seeds: Vec<(UOp, UOp)> = Vec::new();
        for (which, g) in carried.iter().zip(&now) {
            seeds.push((results[*which].clone(), g.clone()));
        }
        for (result, given) in results.iter().zip(self.given).skip(self.body.carried()) {
            if let Some(stacked) = given {
                seeds.push((result.clone(), row_of(stacked, at)?));
            }
        }
        let mut found = walked(&seeds, &values, &targets)?.into_iter();
        let next = further(&mut found, &now, carried.len())?;
        let mut own = Vec::new();
        for (node, _, _) in rows {
            let part = found.next().flatten();
            // Rows have one row each.
            own.push(match part {
                Some(part) => without_first(&part)?,
                None => without_first(&zeros_there(&given[node])?)?,
            });
        }
        Ok((next, own))
    }

    /// The cotangents of what the loop reads.
    fn gathered(&self, now: Now, rows: Vec<UOp>, mut found: Vec<Option<UOp>>) -> Result<Vec<Option<UOp>>> {
        let Parts { carried, sums, rows: read } = &self.parts;
        for (which, g) in carried.iter().chain(sums).zip(now) {
            found[*which] = Some(g);
        }
        let first = Variable::min(self.body.var());
        for ((node, which, after), mut rows) in read.iter().zip(rows) {
            let Op::Shrink(to) = self.iteration.graph().nodes()[*node as usize].op() else { continue };
            let source = &self.sources[*which];
            for (axis, (from, to)) in to.iter().enumerate() {
                let extent = &source.shape()[axis];
                let (from, to) = match axis {
                    0 => (Size::from(first + after), Size::from(first + after + self.body.trips())),
                    _ => (from.clone(), to.clone()),
                };
                rows = padded(&rows, axis, from, extent - to)?;
            }
            found[*which] = Some(match found[*which].take() {
                Some(sum) => add(&sum, &rows)?,
                None => rows,
            });
        }
        Ok(found)
    }
}

/// One of what is stacked.
fn row_of(stacked: &UOp, at: &Size) -> Result<UOp> {
    let rest = stacked.shape()[1..].iter().map(|n| (Size::ZERO, n.clone()));
    let one: Vec<(Size, Size)> = [(at.clone(), at + 1)].into_iter().chain(rest).collect();
    without_first(&stacked.shrink(one)?)
}

fn without_first(value: &UOp) -> Result<UOp> {
    Ok(value.reshape(value.shape()[1..].to_vec())?)
}

/// Names for the variables of loops that are made around and inside of others.
pub(crate) struct Names {
    /// The first number that no loop around or inside has.
    pub first: usize,
    before: usize,
}

/// Loops of a derivative that are inside of one another at most.
const DEPTH: usize = 3;

thread_local! {
    /// The numbers in the names of loops of derivatives that are being made are less.
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

impl Names {
    /// For loops over what a body computes, until this is dropped.
    fn enter(body: &LoopBody) -> Names {
        Names::over(Some(body.var()), body.results())
    }

    /// For loops over these results of one with this variable, if it has one.
    pub(crate) fn over(var: Option<&Variable>, results: &[UOp]) -> Names {
        let graph = Graph::new(results);
        let inner = graph.bodies();
        let vars = inner.iter().map(|(body, ..)| body.var()).chain(var);
        let number = |var: &Variable| var.name().strip_prefix("loop.").and_then(|n| n.parse::<usize>().ok());
        let own = vars.filter_map(number).map(|n| n + 1).max().unwrap_or(0);
        Names::from(own)
    }

    /// For loops over what has none.
    pub(crate) fn from(own: usize) -> Names {
        let before = TAKEN.get();
        let first = own.max(before).max(Trace::depth());
        TAKEN.set(first + DEPTH);
        Names { first, before }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        TAKEN.set(self.before);
    }
}
