//! Recognising phases that are a radix sort of rows, for devices that have kernels of it.
//!
//! The first statements count digits, of keys that they store in a temporary, and the last ones move points to where the result is.
//! Both take as many points at a time as vectors have lanes. What is read and stored there, of points all of which are
//! inside, is what a kernel needs to know. Rows are sorted by a task each, in one phase, or in blocks, in four phases for each pass.

use super::{Loop, LoopKind, Lowered, Phase, Stmt};
use crate::expr::{Expr, ExprId, Mem, ParamId, TempId};
use crate::size::Variable;
use svod_dtype::DType;

/// Phases of a pass.
const PHASES: usize = 4;
/// Bits of a digit.
const DIGIT: u32 = 8;

/// Phases that are a stable sort of rows: by keys that ascend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// Type of the keys: an unsigned integer.
    pub dtype: DType,
    /// Points of a row.
    pub points: i64,
    /// Counters of rows, outermost first, and their numbers of iterations.
    pub rows: Vec<(Variable, i64)>,
    /// Counters of the first phase that number the points of a row together, likewise.
    pub point: Vec<(Variable, i64)>,
    /// The key of a point, in the first phase.
    pub key: ExprId,
    /// What is stored of a point, in the last phase: in terms of its [temporaries](Sort::temps).
    pub results: Vec<Stmt>,
    /// Whether that depends on where the point was.
    pub has_positions: bool,
    /// Of the last phase: the key of a point, where it was in its row, and where it goes.
    pub temps: [TempId; 3],
    /// Of rows in blocks: two arguments for keys, and two for positions of 32 bits, `[rows, points]` each.
    pub copies: Option<[[ParamId; 2]; 2]>,
}

/// Stores, each with the loops around it.
fn stores<'p>(body: &'p [Stmt], around: &[&'p Loop], found: &mut Vec<(Vec<&'p Loop>, &'p Stmt)>) {
    for stmt in body {
        match stmt {
            Stmt::Loop(l, inner) => stores(inner, &[around, &[l]].concat(), found),
            Stmt::Store { .. } => found.push((around.to_vec(), stmt)),
            _ => {}
        }
    }
}

/// A loop over rounds, one over vectors, and one over lanes.
fn is_over_vectors(loops: &[&Loop]) -> bool {
    loops.iter().map(|l| l.kind).eq([LoopKind::Serial, LoopKind::Unroll, LoopKind::Vector])
}

impl Phase {
    /// Whether an expression reads a temporary.
    fn reads(&self, e: ExprId, temp: TempId) -> bool {
        let is_it = |e: &ExprId| matches!(self.exprs.get(*e), Expr::Load { from: Mem::Temp(t, 0), .. } if *t == temp);
        self.exprs.loads(&[e]).iter().any(is_it)
    }
}

/// A register of a point, by how many temporaries it comes before its place.
fn before(place: TempId, n: u32) -> Option<TempId> {
    place.0.checked_sub(n).map(TempId)
}

impl Lowered {
    /// The sort that this is, if it is one of rows of known size.
    pub fn sort(&self) -> Option<Sort> {
        (self.guards.is_empty() && self.vars.is_empty()).then_some(())?;
        let (first, last) = (self.phases.first()?, self.phases.last()?);
        let (mut counted, mut moved) = (Vec::new(), Vec::new());
        stores(&first.body, &[], &mut counted);
        stores(&last.body, &[], &mut moved);
        let in_blocks = self.phases.len() > 1;

        // Points that go so many places further than where their digit starts as there are such digits before.
        let is_place = |(around, stmt): &(Vec<&Loop>, &Stmt)| match stmt {
            Stmt::Store { to: Mem::Temp(_, 0), value, .. } => {
                let is_further = |e: &ExprId| matches!(last.exprs.get(*e), Expr::Alike { before: true, .. });
                is_over_vectors(around) && last.exprs.reachable(&[*value]).iter().any(is_further)
            }
            _ => false,
        };
        // Of blocks, all points of the first ones are inside; else there is one place for each pass.
        let at = if in_blocks { moved.iter().position(is_place)? } else { moved.iter().rposition(is_place)? };
        let Stmt::Store { to: Mem::Temp(place, _), .. } = moved[at].1 else { return None };
        let temps = [before(*place, 4)?, before(*place, 3)?, *place];

        // Where keys are while they are sorted, and where digits start.
        let (copies, keys, extent, starts) = if in_blocks {
            let Stmt::Store { to: Mem::Param(counts), .. } = counted.first()?.1 else { return None };
            let copies = counts.0.checked_sub(4)?;
            let copy = |n: u32| ParamId(copies + n);
            let of = |n: u32| self.params.get((copies + n) as usize).map(|p| (p.dtype, p.shape.last()));
            let ((dtype, points), positions) = (of(0)?, of(1)?);
            (positions.0 == DType::U32).then_some(())?;
            (Some([[copy(0), copy(2)], [copy(1), copy(3)]]), dtype, points, Some(ParamId(counts.0 + 1)))
        } else {
            let [keys, positions, ..] = &first.temps[..] else { return None };
            (positions.dtype == DType::U32).then_some(())?;
            (None, keys.dtype, keys.shape.last(), None)
        };
        let points = extent?.as_const()?;
        let passes = keys.bits().div_ceil(DIGIT) as usize;
        (keys.is_unsigned() && (!in_blocks || passes * PHASES == self.phases.len())).then_some(())?;
        (last.temps.get(temps[0].index())?.dtype == keys).then_some(())?;

        let (block, rows) = match in_blocks {
            true => first.grid.split_last().map(|(block, rows)| (Some(block), rows))?,
            false => (None, &first.grid[..]),
        };
        let of_last = if in_blocks { last.grid.split_last()?.1 } else { &last.grid };
        let numbers = |of: &[Loop]| of.iter().map(|l| Some((l.var.clone(), l.extent.as_const()?))).collect();
        let rows: Option<Vec<(Variable, i64)>> = numbers(rows);
        (rows == numbers(of_last)).then_some(())?;
        let rows = rows?;
        let of_key = if in_blocks { TempId(0) } else { TempId(5) };
        let (around, key) = counted.iter().find_map(|(around, stmt)| match stmt {
            Stmt::Store { to: Mem::Temp(temp, 0), value, valid: None, .. } if *temp == of_key => Some((around, *value)),
            _ => None,
        })?;
        is_over_vectors(around).then_some(())?;
        let counters = block.into_iter().chain(around.iter().copied());
        let count = |l: &Loop| Some((l.var.clone(), l.extent.upper_bound().filter(|n| *n > 0)?));
        let point = counters.map(count).collect::<Option<Vec<_>>>()?;
        // What is said of these counters holds for all points: of a row in one piece no last points are told apart.
        let product = |of: &[(Variable, i64)]| of.iter().map(|(_, n)| *n).product::<i64>();
        let is_all = match in_blocks {
            true => {
                point[0].1 == points.div_euclid(product(&point[1..])) + i64::from(points % product(&point[1..]) != 0)
            }
            false => product(&point) == points && around[0].extent.as_const().is_some(),
        };
        let known = |v: &Variable| rows.iter().chain(&point).any(|(own, _)| own == v);
        let is_temp = |e: &ExprId| matches!(first.exprs.get(*e), Expr::Load { from: Mem::Temp(..), .. });
        let is_read = !first.exprs.loads(&[key]).iter().any(is_temp);
        (is_all && is_read && first.exprs.variables_used(&[key]).iter().all(known)).then_some(())?;

        let same = |(around, _): &&(Vec<&Loop>, &Stmt)| around.last() == moved[at].0.last();
        let is_result = |stmt: &&Stmt| matches!(stmt, Stmt::Store { to: Mem::Param(p), .. } if starts.is_none_or(|starts| *p != starts));
        let results: Vec<Stmt> =
            moved[at + 1..].iter().take_while(same).map(|(_, stmt)| *stmt).filter(is_result).cloned().collect();
        let mut has_positions = false;
        for stmt in &results {
            let is_other = |e: &ExprId| match last.exprs.get(*e) {
                Expr::Load { from: Mem::Temp(t, 0), valid: None, .. } => !temps.contains(t),
                Expr::Load { from: Mem::Temp(..), .. } => true,
                _ => false,
            };
            (!last.exprs.loads(&stmt.roots()).iter().any(is_other)).then_some(())?;
            has_positions |= stmt.roots().iter().any(|e| last.reads(*e, temps[1]));
        }
        (!results.is_empty()).then_some(())?;
        Some(Sort { dtype: keys, points, rows, point, key, results, has_positions, temps, copies })
    }
}
