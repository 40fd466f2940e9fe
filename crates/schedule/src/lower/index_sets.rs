//! Loops cut where a condition changes (index-set splitting: Wolfe 1996, chapter 9).
//!
//! A concatenation reads one operand up to some point and another one from there on; padding, a shift or a
//! triangle read nothing on one side of it. Inside a loop that is a mask on every load. Where a condition's
//! first point in a loop is known when the loop begins, the loop becomes up to three: before it, where the
//! condition has one value, the few rounds in which it changes, and after it. Rounds keep their order, so that
//! results are the same bit for bit.
//!
//! Where the points are no constants, parts are as long as the greatest and least of expressions. Parts of such parts have
//! these within one another, over and over: how often is bounded, and the few rounds in which a condition changes stay whole.

use super::size_of;
use crate::costs::limits::code;
use rustc_hash::FxHashMap;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool};
use svod_ir::lowered::{Loop, LoopKind, Phase, Stmt};
use svod_ir::renamed;
use svod_ir::size::{Size, Variable};

/// Cuts the loops of a phase.
pub(super) fn cut(phase: &mut Phase) {
    let body = std::mem::take(&mut phase.body);
    let tasks = phase.grid.iter().map(most_rounds).fold(1, i64::saturating_mul);
    let mut cutter = Cutter { exprs: &mut phase.exprs, counters: 0, room: code::ADDED as usize };
    phase.body = cutter.all(body, tasks);
}

/// Rounds of a loop at most.
fn most_rounds(l: &Loop) -> i64 {
    Variable::max(&l.var).saturating_add(1)
}

/// Where a statement is.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// How often it runs at most.
    times: i64,
    /// If it is a part of a loop, the conditions at which that was cut.
    settled: &'a [ExprId],
    /// How often that may still be cut at points that are no constants.
    open_cuts: usize,
}

impl Place<'_> {
    fn within(times: i64) -> Place<'static> {
        Place { times, settled: &[], open_cuts: code::MAX_OPEN_CUTS }
    }
}

struct Cutter<'p> {
    exprs: &'p mut ExprPool,
    counters: usize,
    /// Operations by which the phase may still grow.
    room: usize,
}

/// How the expressions of a part differ from those of the whole loop.
#[derive(Default)]
struct Part {
    /// What counters become.
    replace: Vec<(Variable, Size)>,
    /// The conditions at which the loop is cut, and their values in this part where they have one.
    conditions: Vec<(ExprId, Option<bool>)>,
    /// What those that may change in this part have become.
    open: Vec<ExprId>,
}

/// Where a loop is cut.
struct CutAt {
    /// Conditions that change there, and their values before; after, they have the others.
    conditions: Vec<(ExprId, bool)>,
    /// The first round in which they may change, and the first after that.
    from: Size,
    to: Size,
}

impl CutAt {
    fn is_constant(&self) -> bool {
        self.from.as_const().is_some() && self.to.as_const().is_some()
    }
}

impl Cutter<'_> {
    /// What statements become that run so often at most.
    fn all(&mut self, body: Vec<Stmt>, times: i64) -> Vec<Stmt> {
        body.into_iter().flat_map(|stmt| self.stmt(stmt, Place::within(times))).collect()
    }

    /// What a statement becomes.
    fn stmt(&mut self, stmt: Stmt, place: Place<'_>) -> Vec<Stmt> {
        let (l, body) = match stmt {
            Stmt::Loop(l, body) if l.kind == LoopKind::Serial => (l, body),
            Stmt::If(condition, body) => return vec![Stmt::If(condition, self.all(body, place.times))],
            other => return vec![other],
        };
        let rounds = place.times.saturating_mul(most_rounds(&l));
        let Some(cut) = self.find(&l, &body, place) else { return vec![Stmt::Loop(l, self.all(body, rounds))] };
        // `from` is not above `to`, and both are within the loop.
        let parts = [
            (Size::ZERO, cut.from.clone(), Some(true)),
            (cut.from.clone(), &cut.to - &cut.from, None),
            (cut.to.clone(), &l.extent - &cut.to, Some(false)),
        ];
        let mut parts: Vec<_> = parts.into_iter().filter(|(_, count, _)| count.bounds().1 > 0).collect();
        let growth = self.weight(&body) * parts.len().saturating_sub(1);
        if growth > self.room {
            return vec![Stmt::Loop(l, self.all(body, rounds))];
        }
        self.room -= growth;
        parts.retain(|(_, count, _)| count.as_const() != Some(0));
        let mut cuts = Vec::new();
        for (start, count, side) in parts {
            let once = count.as_const() == Some(1);
            let var = self.counter(&l.var, &count);
            let at = if once { start } else { Size::from(&var) + start };
            let value = |(c, before): &(ExprId, bool)| (*c, side.map(|side| *before == side));
            let conditions = cut.conditions.iter().map(value).chain(place.settled.iter().map(|c| (*c, None))).collect();
            let mut part = Part { replace: vec![(l.var.clone(), at)], conditions, open: Vec::new() };
            let body = self.copy(&body, &mut part);
            if once {
                cuts.extend(self.all(body, place.times));
                continue;
            }
            // Conditions change in a few rounds.
            let open_cuts = match cut.is_constant() {
                true => place.open_cuts,
                false if side.is_none() => 0,
                false => place.open_cuts.saturating_sub(1),
            };
            let part_of_loop = Stmt::Loop(Loop { var, extent: count, kind: LoopKind::Serial }, body);
            cuts.extend(self.stmt(part_of_loop, Place { settled: &part.open, open_cuts, ..place }));
        }
        cuts
    }

    /// A new counter, unique in the phase.
    fn counter(&mut self, like: &Variable, count: &Size) -> Variable {
        self.counters += 1;
        Variable::counter(&format!("{}_{}", like.name(), self.counters), count)
            .expect("a counter's name is an identifier")
    }

    /// Where to cut a loop, if it is worth it.
    fn find(&self, l: &Loop, body: &[Stmt], place: Place<'_>) -> Option<CutAt> {
        if most_rounds(l) < code::FEWEST_ROUNDS {
            return None;
        }
        let (mut inner, mut roots, mut serial) = (Vec::new(), Vec::new(), 0);
        let mut open: Vec<&Stmt> = body.iter().collect();
        while let Some(stmt) = open.pop() {
            match stmt {
                Stmt::Loop(l, body) => {
                    inner.push(l.var.clone());
                    if l.kind == LoopKind::Serial {
                        serial = serial.max(most_rounds(l));
                    }
                    open.extend(body);
                }
                Stmt::Store { index, value, valid, .. } => {
                    roots.extend(index.iter().chain([value]).chain(valid).copied());
                }
                Stmt::If(..) | Stmt::Micro(_) | Stmt::Prefetch { .. } => return None,
            }
        }
        let reachable = self.exprs.reachable(&roots);
        for id in &reachable {
            if let Expr::Lanes { lanes, .. } = self.exprs.get(*id) {
                inner.push(lanes.clone());
            }
        }
        // In short loops, and around such, a condition costs little in each round, and bounds that are no constants much.
        let elements = place.times.saturating_mul(most_rounds(l)).saturating_mul(elements(body));
        let few = (1..code::MANY_ROUNDS).contains(&serial) || elements < code::FEWEST_STORED;
        let mut found: Option<CutAt> = None;
        for id in reachable.into_iter().filter(|id| !place.settled.contains(id)) {
            let Some((before, from, to)) = self.change(id, l, &inner) else { continue };
            let cut = CutAt { conditions: vec![(id, before)], from, to };
            if (few || place.open_cuts == 0) && !cut.is_constant() {
                continue;
            }
            match &mut found {
                Some(other) if other.from == cut.from && other.to == cut.to => other.conditions.push((id, before)),
                Some(_) => {}
                None => found = Some(cut),
            }
        }
        found
    }

    /// The value of a condition at the beginning of a loop, the first round in which it may change, and the
    /// first after that. Nothing for what is no condition, does not change, or changes in most of the rounds.
    fn change(&self, id: ExprId, l: &Loop, inner: &[Variable]) -> Option<(bool, Size, Size)> {
        // The condition holds where this is positive.
        let margin = margin(self.exprs, id)?;
        let with = |size: &Size, v: &Variable, value: Size| size.substitute(&|x| (x == v).then(|| value.clone()));
        let slope = |size: &Size, v: &Variable| (with(size, v, Size::from(v) + 1) - size).as_const();
        let step = slope(&margin, &l.var).filter(|s| *s != 0)?;
        let start = with(&margin, &l.var, Size::ZERO);
        let (mut least, mut most, mut spread) = (start.clone(), start.clone(), 0i64);
        for v in inner.iter().filter(|v| start.variables().contains(v)) {
            let slope = slope(&start, v)?;
            let (low, high) =
                if slope > 0 { (Variable::min(v), Variable::max(v)) } else { (Variable::max(v), Variable::min(v)) };
            least = with(&least, v, Size::from(low));
            most = with(&most, v, Size::from(high));
            spread = spread.saturating_add(slope.saturating_abs().saturating_mul(Variable::max(v) - Variable::min(v)));
        }
        if spread.saturating_mul(2) >= step.saturating_abs().saturating_mul(Variable::max(&l.var) + 1) {
            return None;
        }
        let (before, from, to) = if step > 0 {
            (false, (-most).floordiv(step) + 1, (Size::ONE - least).ceil_div(step))
        } else {
            (true, (least - 1).floordiv(-step) + 1, most.ceil_div(-step))
        };
        let [from, to] = [from, to].map(|at| at.max(0i64).min(&l.extent));
        let none = from == l.extent || to == Size::ZERO || (from == Size::ZERO && to == l.extent);
        (!none && from.fault().is_none() && to.fault().is_none()).then_some((before, from, to))
    }

    /// Operations of statements, those of loops that are laid out as often as they are.
    fn weight(&self, body: &[Stmt]) -> usize {
        let mut total = 0usize;
        let mut open: Vec<(&Stmt, usize)> = body.iter().map(|s| (s, 1)).collect();
        while let Some((stmt, times)) = open.pop() {
            match stmt {
                Stmt::Loop(l, body) => {
                    let laid_out = l.extent.as_usize().filter(|_| l.kind == LoopKind::Unroll).unwrap_or(1);
                    open.extend(body.iter().map(|s| (s, times.saturating_mul(laid_out))));
                }
                Stmt::If(_, body) => open.extend(body.iter().map(|s| (s, times))),
                Stmt::Store { value, .. } => {
                    let each = 1 + self.exprs.count_ops(&[*value]) + self.exprs.loads(&[*value]).len();
                    total = total.saturating_add(each.saturating_mul(times));
                }
                Stmt::Micro(_) | Stmt::Prefetch { .. } => {}
            }
        }
        total
    }

    /// A copy of statements, with counters of its own.
    fn copy(&mut self, body: &[Stmt], part: &mut Part) -> Vec<Stmt> {
        let mut copies = Vec::new();
        for stmt in body {
            match stmt {
                Stmt::Loop(l, body) => {
                    let extent = l.extent.substitute(&part.place());
                    let var = self.counter(&l.var, &extent);
                    part.replace.push((l.var.clone(), Size::from(&var)));
                    let body = self.copy(body, part);
                    if !body.is_empty() {
                        copies.push(Stmt::Loop(Loop { var, extent, kind: l.kind }, body));
                    }
                }
                Stmt::Store { to, index, value, valid } => {
                    let roots: Vec<ExprId> = index.iter().chain([value]).chain(valid).copied().collect();
                    let mut copied = self.copy_exprs(&roots, part);
                    let valid = if valid.is_some() { copied.pop() } else { None };
                    let holds = valid.and_then(|v| truth(self.exprs, v));
                    let (Some(value), true) = (copied.pop(), holds != Some(false)) else { continue };
                    let valid = valid.filter(|_| holds.is_none());
                    copies.push(Stmt::Store { to: *to, index: copied, value, valid });
                }
                // Loops around these are not cut.
                Stmt::If(..) | Stmt::Micro(_) | Stmt::Prefetch { .. } => copies.push(stmt.clone()),
            }
        }
        copies
    }

    /// Copies of expressions, simplified by what is known in a part.
    fn copy_exprs(&mut self, roots: &[ExprId], part: &mut Part) -> Vec<ExprId> {
        let mut copies: FxHashMap<ExprId, ExprId> = FxHashMap::default();
        for id in self.exprs.reachable(roots) {
            let dtype = self.exprs.dtype(id);
            let condition = part.conditions.iter().find(|(c, _)| *c == id);
            let copy = match condition {
                Some((_, Some(value))) => self.exprs.constant(Const::bool(*value)),
                _ => {
                    let node = self.exprs.get(id).clone();
                    let operands: Vec<ExprId> = node.operands().iter().map(|o| copies[o]).collect();
                    let node = match node.with_operands(&operands) {
                        Expr::Index(size) => Expr::Index(size.substitute(&part.place())),
                        Expr::Running { op, over, value } => {
                            Expr::Running { op, over: renamed(over, &part.place()), value }
                        }
                        Expr::Alike { over, value, before } => {
                            Expr::Alike { over: renamed(over, &part.place()), value, before }
                        }
                        node => node,
                    };
                    simplified(self.exprs, node, dtype)
                }
            };
            if condition.is_some() {
                part.open.push(copy);
            }
            copies.insert(id, copy);
        }
        roots.iter().map(|root| copies[root]).collect()
    }
}

impl Part {
    /// What counters become.
    fn place(&self) -> impl Fn(&Variable) -> Option<Size> + '_ {
        |v| self.replace.iter().find(|(x, _)| x == v).map(|(_, size)| size.clone())
    }
}

/// Elements that statements store at most.
fn elements(body: &[Stmt]) -> i64 {
    let one = |stmt: &Stmt| match stmt {
        Stmt::Loop(l, body) => elements(body).saturating_mul(most_rounds(l)),
        Stmt::If(_, body) => elements(body),
        Stmt::Store { .. } => 1,
        Stmt::Micro(_) | Stmt::Prefetch { .. } => 0,
    };
    body.iter().map(one).fold(0, i64::saturating_add)
}

/// An expression whose conditions may be constants by now.
fn simplified(pool: &mut ExprPool, node: Expr, dtype: DType) -> ExprId {
    let is = |pool: &ExprPool, e: ExprId, value: bool| truth(pool, e) == Some(value);
    match &node {
        Expr::Alu(Alu::Where, of) if is(pool, of[0], true) => return of[1],
        Expr::Alu(Alu::Where, of) if is(pool, of[0], false) => return of[2],
        Expr::Alu(Alu::And, of) if dtype == DType::Bool => {
            if let Some(neutral) = of.iter().position(|o| is(pool, *o, true)) {
                return of[1 - neutral];
            }
            if let Some(zero) = of.iter().find(|o| is(pool, **o, false)) {
                return *zero;
            }
        }
        Expr::Alu(Alu::Or, of) if dtype == DType::Bool => {
            if let Some(neutral) = of.iter().position(|o| is(pool, *o, false)) {
                return of[1 - neutral];
            }
            if let Some(one) = of.iter().find(|o| is(pool, **o, true)) {
                return *one;
            }
        }
        Expr::Alu(Alu::Not, of) if dtype == DType::Bool => {
            if let Some(value) = truth(pool, of[0]) {
                return pool.constant(Const::bool(!value));
            }
        }
        Expr::Load { valid: Some(valid), other, from, index } => match truth(pool, *valid) {
            Some(true) => return pool.load_valid(dtype, *from, index, None, *other),
            Some(false) => return pool.constant(*other),
            None => {}
        },
        _ => {}
    }
    let id = pool.add(node, dtype);
    let decided = match margin(pool, id).map(|m| m.bounds()) {
        Some((least, _)) if least > 0 => Some(true),
        Some((_, most)) if most <= 0 => Some(false),
        _ => None,
    };
    decided.map_or(id, |value| pool.constant(Const::bool(value)))
}

/// Of a comparison of positions, what is positive where it holds.
fn margin(pool: &ExprPool, id: ExprId) -> Option<Size> {
    let Expr::Alu(op @ (Alu::Lt | Alu::Le), of) = pool.get(id) else { return None };
    let difference = size_of(pool, of[1], &|_| None)? - size_of(pool, of[0], &|_| None)?;
    let margin = difference + i64::from(*op == Alu::Le);
    margin.fault().is_none().then_some(margin)
}

fn truth(pool: &ExprPool, id: ExprId) -> Option<bool> {
    match pool.get(id) {
        Expr::Const(c) if c.dtype() == DType::Bool => Some(c.as_bool()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use svod_ir::lowered::Lowered;
    use svod_ir::pass::Artifact;

    /// The statements of a task after the cuts.
    fn check(body: &str, expected: &str) {
        let text = |body: &str| {
            format!("lowered k\nparam p0: f32[64, 100]\nparam p1: f32[64, 200]\n\nphase\ngrid t < 64\n{{\n{body}}}\n")
        };
        let mut lowered = Lowered::parse(&text(body)).unwrap();
        lowered.phases.iter_mut().for_each(cut);
        lowered.verify().unwrap();
        assert_eq!(lowered.text().unwrap().trim(), text(expected).trim());
    }

    #[test]
    fn a_concatenation_is_two_loops() {
        check(
            "  serial i < 200 {
    e0 = {i} < 100
    p1[t, i] = where(e0, p0[t, i if e0 else f32(0.0)], p0[t, i - 100 if 0 <= {i - 100} else f32(0.0)])
  }
",
            "  serial i_1 < 100 {
    p1[t, i_1] = p0[t, i_1]
  }
  serial i_2 < 100 {
    p1[t, i_2 + 100] = p0[t, i_2]
  }
",
        );
    }

    #[test]
    fn a_concatenation_of_rows_is_two_loops_around_long_ones() {
        check(
            "  serial i < 8 {
    serial j < 100 {
      e0 = {t*8 + i} < 50
      p1[t*8 + i, j] = where(e0, p0[t*8 + i, j if e0 else f32(0.0)], f32(1.0))
    }
  }
",
            "  serial i_1 < min(8, max(0, -t*8 + 50)) {
    serial j_2 < 100 {
      p1[i_1 + t*8, j_2] = p0[i_1 + t*8, j_2]
    }
  }
  serial i_3 < -min(8, max(0, -t*8 + 50)) + 8 {
    serial j_4 < 100 {
      p1[i_3 + t*8 + min(8, max(0, -t*8 + 50)), j_4] = f32(1.0)
    }
  }
",
        );
    }

    #[test]
    fn vectors_in_which_a_condition_changes_keep_it() {
        check(
            "  serial i < 25 {
    vector l < 8 {
      p1[t, i*8 + l] = p0[t, i*8 + l if {i*8 + l} < 100 else f32(0.0)]
    }
  }
",
            "  serial i_1 < 12 {
    vector l_2 < 8 {
      p1[t, i_1*8 + l_2] = p0[t, i_1*8 + l_2]
    }
  }
  vector l_4 < 8 {
    p1[t, l_4 + 96] = p0[t, l_4 + 96 if {l_4 + 96} < 100 else f32(0.0)]
  }
  serial i_5 < 12 {
    vector l_6 < 8 {
      p1[t, i_5*8 + l_6 + 104] = f32(0.0)
    }
  }
",
        );
    }

    #[test]
    fn a_triangle_ends_where_its_row_does() {
        check(
            "  serial i < 100 {
    p1[t, i] = where(i <= t, p0[t, i], f32(0.0))
  }
",
            "  serial i_1 < t + 1 {
    p1[t, i_1] = p0[t, i_1]
  }
  serial i_2 < -t + 99 {
    p1[t, i_2 + t + 1] = f32(0.0)
  }
",
        );
    }

    /// A task of a kernel over sizes that are variables, after the cuts.
    fn symbolic(body: &str) -> Lowered {
        let head = "lowered k\nvar n = 1..=4096\nparam p0: f32[n]\nparam p1: f32[n]\nparam p2: f32[n + 1]\n";
        let mut lowered = Lowered::parse(&format!("{head}\nphase\n{{\n{body}}}\n")).unwrap();
        lowered.phases.iter_mut().for_each(cut);
        lowered.verify().unwrap();
        lowered
    }

    fn loops(body: &[Stmt]) -> usize {
        let one = |stmt: &Stmt| match stmt {
            Stmt::Loop(_, body) => 1 + loops(body),
            _ => 0,
        };
        body.iter().map(one).sum()
    }

    #[test]
    fn a_loop_is_cut_a_few_times_at_points_that_are_no_constants() {
        // Each of the conditions has other points at which it changes.
        let changes = |count: i64| {
            let loads = (1..=count).map(|c| format!("where({{i*8 + l}} < {{n - {c}}}, p0[i*8 + l], f32({c}.0))"));
            let value = loads.reduce(|a, b| format!("({a} + {b})")).unwrap();
            symbolic(&format!("  serial i < n//8 {{\n    vector l < 8 {{\n      p2[i*8 + l] = {value}\n    }}\n  }}\n"))
        };
        let work = |lowered: &Lowered| lowered.text().unwrap().len();
        let (few, many) = (changes(3), changes(24));
        assert!(loops(&few.phases[0].body) <= 14, "{few}");
        assert!(loops(&many.phases[0].body) <= 14, "{many}");
        assert!(work(&many) < 12 * work(&few), "{} and {}", work(&few), work(&many));
    }

    #[test]
    fn short_loops_are_not_cut_at_points_that_are_no_constants() {
        let joined = |rounds: &str| {
            // Up to 4096 of them, or 7.
            let value = "where(i < {n - 1}, p0[i if i < {n - 1} else f32(0.0)], p1[0])";
            let lowered = symbolic(&format!("  serial i < {rounds} {{\n    p2[i] = {value}\n  }}\n"));
            lowered.phases[0].body.len()
        };
        assert_eq!((joined("n%8"), joined("n")), (1, 2));
    }
}
