//! Means over the rounds of the loops around: of extents that differ from round to round, as those of a last block
//! do, and of conditions.

use super::{Counter, Rounds};
use crate::expr::ExprId;
use crate::size::{Size, Variable};
use rustc_hash::FxHashMap;

/// Points at which a mean is taken, at most; fewer of each loop where it depends on several.
const POINTS: usize = 64;

/// Loops over whose rounds a mean is taken, innermost first. Others are at their middle.
const LOOPS: usize = 3;

/// Values of counters and variables.
pub(super) type At = FxHashMap<Variable, i64>;

impl Counter<'_> {
    /// A size on average over the rounds in which it is asked for; never negative.
    pub(super) fn mean_size(&self, size: &Size) -> f64 {
        if self.rounds == Rounds::Middle {
            return self.value(size);
        }
        let vars = size.variables();
        let found = self.mean(vars, &|at| Some(self.index_at(size, at).max(0) as f64));
        found.unwrap_or_else(|| self.value(size))
    }

    /// The share of the rounds in which a condition on counters holds; none if it depends on anything else.
    pub(super) fn mean_truth(&self, condition: ExprId) -> Option<f64> {
        let ids = self.ordered(condition);
        let holds = |at: &At| self.truth_at(&ids, at).map(|holds| f64::from(u8::from(holds)));
        let mean = match self.rounds {
            Rounds::Middle => None,
            Rounds::All => self.mean(self.variables_of(&ids), &holds),
        };
        mean.or_else(|| holds(&self.at))
    }

    /// The mean of `of` over those loops around that these variables, or a condition on them, name: over all their
    /// rounds, or some of each, where the last one counts by itself. None where there are no such rounds.
    fn mean(&self, vars: Vec<Variable>, of: &dyn Fn(&At) -> Option<f64>) -> Option<f64> {
        let conditions: Vec<Vec<ExprId>> = self.conditions.iter().map(|c| self.ordered(*c)).collect();
        let named: Vec<Vec<Variable>> = conditions.iter().map(|ids| self.variables_of(ids)).collect();
        let loops = self.loops_of(vars, &named);
        if loops.is_empty() {
            return None;
        }
        let each = (1..=POINTS).take_while(|n| n.pow(loops.len() as u32) <= POINTS).last().unwrap_or(1);
        let (mut at, mut weighed, mut weight) = (self.at.clone(), 0.0, 0.0);
        let mut leaf = |at: &At, share: f64| {
            let inside = conditions.iter().all(|ids| self.truth_at(ids, at).unwrap_or(true));
            if let Some(value) = of(at).filter(|_| inside) {
                weighed += share * value;
                weight += share;
            }
        };
        self.each_round(&loops, each, 1.0, &mut at, &mut leaf);
        (weight > 0.0).then(|| weighed / weight)
    }

    /// The frames, outermost first, whose counters are among the variables, or decide on how often or whether
    /// their loops run.
    fn loops_of(&self, mut vars: Vec<Variable>, conditions: &[Vec<Variable>]) -> Vec<usize> {
        let mut loops: Vec<usize> = Vec::new();
        loop {
            let known = loops.len();
            for (at, frame) in self.frames.iter().enumerate().rev() {
                if !loops.contains(&at) && vars.contains(&frame.var) {
                    loops.push(at);
                    vars.extend(frame.size.variables());
                }
            }
            let counters = |vars: &[Variable]| vars.iter().any(|v| loops.iter().any(|at| self.frames[*at].var == *v));
            let more = conditions.iter().filter(|named| counters(named)).flatten().cloned().collect::<Vec<_>>();
            vars.extend(more);
            if loops.len() == known {
                break;
            }
        }
        loops.sort_unstable();
        loops.drain(..loops.len().saturating_sub(LOOPS));
        loops
    }

    /// Calls `leaf` at points of the loops, with how many of all points each stands for.
    fn each_round(&self, loops: &[usize], each: usize, share: f64, at: &mut At, leaf: &mut dyn FnMut(&At, f64)) {
        let Some((first, rest)) = loops.split_first() else { return leaf(at, share) };
        let frame = &self.frames[*first];
        let middle = at.get(&frame.var).copied();
        for (round, stands_for) in points(self.index_at(&frame.size, at), each) {
            at.insert(frame.var.clone(), round);
            self.each_round(rest, each, share * stands_for, at, leaf);
        }
        at.extend(middle.map(|round| (frame.var.clone(), round)));
    }
}

/// Rounds of so many, `most` at most, with how many each stands for: the first and the last for themselves, others for
/// those around them. What grows evenly, and what differs in the last round alone, has its very mean.
fn points(count: i64, most: usize) -> Vec<(i64, f64)> {
    let most = most.max(4) as i64;
    if count <= most {
        return (0..count.max(0)).map(|round| (round, 1.0)).collect();
    }
    let (between, parts) = (count - 2, most - 2);
    let part = |i: i64| {
        // From both ends alike.
        let from_start = |i: i64| 1 + (2 * i + 1) * between / (2 * parts);
        let round = if 2 * i < parts { from_start(i) } else { count - 1 - from_start(parts - 1 - i) };
        (round, between as f64 / parts as f64)
    };
    [(0, 1.0)].into_iter().chain((0..parts).map(part)).chain([(count - 1, 1.0)]).collect()
}

#[cfg(test)]
mod tests {
    use super::points;

    #[test]
    fn e4_means_of_what_grows_evenly_and_of_last_rounds_are_exact() {
        for (count, most) in [(1, 4), (4, 4), (5, 4), (100, 4), (101, 8), (64, 64), (1000, 64), (1001, 7)] {
            let points = points(count, most);
            let sum = |of: &dyn Fn(i64) -> f64| points.iter().map(|(round, n)| n * of(*round)).sum::<f64>();
            let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * b.abs().max(1.0), "{a} instead of {b}");
            assert!(points.len() <= most);
            close(sum(&|_| 1.0), count as f64);
            close(sum(&|round| f64::from(u8::from(round == count - 1))), 1.0);
            // The middle round of an odd number of parts is not between two.
            if most % 2 == 0 || count % 2 == 1 {
                close(sum(&|round| round as f64), (count * (count - 1) / 2) as f64);
            }
        }
        assert!(points(0, 4).is_empty() && points(-3, 4).is_empty());
    }
}
