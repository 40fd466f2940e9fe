//! Values made of parts side by side, of such parts: what a part is of another value is read from that.
//!
//! A concatenation chooses by position between its parts, each padded to the length of all ([`UOp::concat`]). Its
//! runs of positions are followed down to the values that they are in the end, and neighbours that are neighbours
//! there become one: a roll of a roll is a roll, and half of what was put together is what it was before.

mod steps;

pub use steps::join_at_once;

use super::Family;
use crate::alu::Alu;
use crate::graph::{GraphError, Op, UOp};
use crate::size::Size;

/// Sound for every type: these move elements.
pub const JOINED: Family = Family { name: "joined", holds_for: |_| true, equations: "", function: Some(apply) };

/// Runs of one value that are followed at most, so that each node is a constant amount of work.
const MOST_RUNS: usize = 8;
/// Steps down to the values of one run at most.
const MOST_STEPS: usize = 4 * MOST_RUNS;

fn apply(node: &UOp) -> Result<Option<(&'static str, UOp)>, GraphError> {
    match node.op() {
        Op::Alu(Alu::Where) => joined(node),
        Op::Shrink(to) => cut_out(node, to),
        _ => Ok(None),
    }
}

/// A concatenation of the runs of other concatenations, of no more parts than it had.
fn joined(node: &UOp) -> Result<Option<(&'static str, UOp)>, GraphError> {
    let Some((axis, _)) = boundary(node) else { return Ok(None) };
    let Some(extent) = node.shape()[axis].as_const() else { return Ok(None) };
    let whole = Run { value: node.clone(), begin: 0, end: extent };
    let (Some(own), Some(all)) = (Runs::of(whole.clone(), axis, false), Runs::of(whole, axis, true)) else {
        return Ok(None);
    };
    if all.len() > own.len() || all == own {
        return Ok(None);
    }
    let parts = all.iter().map(|run| run.cut(axis)).collect::<Result<Vec<UOp>, GraphError>>()?;
    Ok(Some(("joined-joined", UOp::concat(&parts, axis)?)))
}

/// What is cut out of a concatenation, if that is a part of one value.
fn cut_out(node: &UOp, to: &[(Size, Size)]) -> Result<Option<(&'static str, UOp)>, GraphError> {
    let Some((source, (axis, _))) = node.source().and_then(|s| boundary(&s).map(|b| (s, b))) else { return Ok(None) };
    let (Some(begin), Some(end)) = (to[axis].0.as_const(), to[axis].1.as_const()) else { return Ok(None) };
    let runs = Runs::of(Run { value: source.clone(), begin, end }, axis, true);
    let Some([run]) = runs.as_deref() else { return Ok(None) };
    if run.value == source {
        return Ok(None);
    }
    let mut to = to.to_vec();
    to[axis] = (Size::from(run.begin), Size::from(run.end));
    Ok(Some(("shrink-joined", run.value.shrink(to)?)))
}

/// The axis along which a value is one of two up to a position, and the other from there on; and that position.
fn boundary(node: &UOp) -> Option<(usize, i64)> {
    if *node.op() != Op::Alu(Alu::Where) {
        return None;
    }
    let before = node.source()?;
    let [position, limit] = <[UOp; 2]>::try_from(before.sources().to_vec()).ok()?;
    if *before.op() != Op::Alu(Alu::Lt) {
        return None;
    }
    let below = |of: UOp, is: fn(&Op) -> bool| if is(of.op()) { of.source() } else { Some(of) };
    let along = below(position, |op| matches!(op, Op::Expand(_)))?;
    let shape = along.shape().to_vec();
    let counts = below(along, |op| matches!(op, Op::Reshape(_)))?;
    let axis = shape.iter().position(|extent| *extent != Size::ONE)?;
    let own = matches!(counts.op(), Op::Range(_)) && shape[axis + 1..].iter().all(|extent| *extent == Size::ONE);
    own.then_some((node.rank() - shape.len() + axis, limit.uniform()?.as_i64()))
}

/// Some positions of a value along an axis.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    value: UOp,
    begin: i64,
    end: i64,
}

impl Run {
    fn cut(&self, axis: usize) -> Result<UOp, GraphError> {
        let mut to: Vec<(Size, Size)> = self.value.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
        to[axis] = (Size::from(self.begin), Size::from(self.end));
        self.value.shrink(to)
    }
}

/// The runs that a run is made of, in order.
struct Runs {
    axis: usize,
    /// Whether those of a concatenation below a movement are followed, and neighbours become one.
    through: bool,
    found: Vec<Run>,
    steps: usize,
}

impl Runs {
    /// Those of `run`; nothing, where there are too many.
    fn of(run: Run, axis: usize, through: bool) -> Option<Vec<Run>> {
        let mut runs = Runs { axis, through, found: Vec::new(), steps: 0 };
        // Those that are left, the next one last, with whether they are below a movement.
        let mut left = vec![(run, false)];
        while let Some((run, below)) = left.pop() {
            runs.steps += 1;
            if runs.steps > MOST_STEPS {
                return None;
            }
            runs.follow(run, below, &mut left);
            if runs.found.len() > MOST_RUNS {
                return None;
            }
        }
        Some(runs.found)
    }

    fn follow(&mut self, run: Run, below: bool, left: &mut Vec<(Run, bool)>) {
        let Run { value, begin, end } = run;
        if let (Some((axis, limit)), true) = (boundary(&value), self.through || !below)
            && axis == self.axis
        {
            let sources = value.sources();
            let side = |n: usize, begin: i64, end: i64| (Run { value: sources[n].clone(), begin, end }, below);
            let limit = limit.clamp(begin, end);
            left.extend((limit < end).then(|| side(2, limit, end)));
            left.extend((begin < limit).then(|| side(1, begin, limit)));
            return;
        }
        let below = moved(&value, self.axis).and_then(|by| value.source().map(|source| (source, by)));
        match below {
            Some((source, by)) if self.has(&source, begin + by, end + by) => {
                left.push((Run { value: source, begin: begin + by, end: end + by }, true));
            }
            _ => match self.found.last_mut() {
                Some(last) if self.through && last.value == value && last.end == begin => last.end = end,
                _ => self.found.push(Run { value, begin, end }),
            },
        }
    }

    fn has(&self, value: &UOp, begin: i64, end: i64) -> bool {
        begin >= 0 && value.shape()[self.axis].as_const().is_some_and(|n| end <= n)
    }
}

/// By how much the positions along an axis are greater in the source of a value that is moved along that axis only.
fn moved(value: &UOp, axis: usize) -> Option<i64> {
    let along = |bounds: &[(Size, Size)], same: &dyn Fn(usize) -> (Size, Size)| {
        let others = (0..bounds.len()).all(|d| d == axis || bounds[d] == same(d));
        if others { bounds[axis].0.as_const() } else { None }
    };
    match value.op() {
        Op::Pad(by, _) => along(by, &|_| (Size::ZERO, Size::ZERO)).map(|by| -by),
        Op::Shrink(to) => {
            let source = value.source()?;
            along(to, &|d| (Size::ZERO, source.shape()[d].clone()))
        }
        _ => None,
    }
}
