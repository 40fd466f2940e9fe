//! Intermediates that are computed again where a plan has a budget of memory: what a backward pass reads of the
//! forward one is let go after its early uses, and made anew, by the same kernel of the same operands, for the late ones.
//!
//! Of what is in memory in the level that needs most, that which takes least time per byte goes first, until the levels
//! are within the budget or nothing more helps. Values are the same to the bit. An operand that would be
//! let go before that stays until then, which counts against what is won.

use super::builder::{BuildError, Role};
use super::memory_plan::alive;
use super::op::PlanOp;
use super::order::{self, Order};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use svod_device::Buffer;
use svod_ir::lowered::cost::{self, Machine, Rounds};
use svod_ir::pass::visit;

/// The parts of a plan that is being built.
#[derive(Clone)]
pub(super) struct Parts {
    pub ops: Vec<PlanOp>,
    pub buffers: Vec<Arc<Buffer>>,
    pub roles: Vec<Role>,
}

/// Results of a kernel that nobody uses between two levels, in which more is in memory than may be.
struct Gap {
    /// The op that writes them.
    maker: usize,
    buffers: Vec<usize>,
    /// The first level, after the gap, in which one is read.
    until: usize,
    /// Seconds for each byte that is let go.
    price: f64,
}

/// How often ops use a buffer.
#[derive(Clone, Default)]
struct Uses {
    writers: Vec<usize>,
    readers: Vec<usize>,
}

/// Computes intermediates again until no level needs more than `budget` bytes of them, or none is left that helps.
pub(super) fn within(budget: usize, mut parts: Parts, machine: &Machine) -> Result<Parts, BuildError> {
    // Ops are named by their positions where they have no name: these are about to change.
    let mut next = 0;
    for (at, op) in parts.ops.iter_mut().enumerate() {
        next = next.max(*op.id.get_or_insert(at as u64) + 1);
    }
    let mut refused: FxHashSet<usize> = FxHashSet::default();
    let mut order = order::order(&parts.ops, &parts.buffers)?;
    let mut need = alive(&parts.ops, &order, &parts.roles, &parts.buffers);
    while let Some(gap) = cheapest(budget, &parts, &order, &need, &refused, machine) {
        visit(parts.ops.len());
        let tried = parts.with(&gap, &order, next)?;
        let then = order::order(&tried.ops, &tried.buffers)?;
        let needs = alive(&tried.ops, &then, &tried.roles, &tried.buffers);
        if excess(budget, &needs) < excess(budget, &need) {
            (parts, order, need) = (tried, then, needs);
            next += 1;
        } else {
            refused.insert(gap.buffers[0]);
        }
    }
    Ok(parts)
}

/// Bytes beyond the budget, in all levels together.
fn excess(budget: usize, need: &[usize]) -> u128 {
    need.iter().map(|bytes| bytes.saturating_sub(budget) as u128).sum()
}

/// The gap in the level that needs most whose buffer is made again in the least time per byte.
fn cheapest(
    budget: usize,
    parts: &Parts,
    order: &Order,
    need: &[usize],
    refused: &FxHashSet<usize>,
    machine: &Machine,
) -> Option<Gap> {
    let most = *need.iter().max()?;
    let level = need.iter().position(|bytes| *bytes == most).filter(|_| most > budget)?;
    let uses = parts.uses();
    let gap = |maker: usize| {
        // Where a result is read again after the level; its kernel runs in the level before, and all of that is another one.
        let until = |buffer: &usize| {
            let levels = || uses[*buffer].readers.iter().map(|op| order.levels[*op]).chain([order.levels[maker]]);
            let from = levels().filter(|at| *at <= level).max()?;
            let until = levels().filter(|at| *at > level).min()?;
            (from < level && level + 1 < until).then_some(until)
        };
        let op = &parts.ops[maker];
        let code = op.code().filter(|_| parts.runs_again(maker, &uses))?;
        let results = op.outputs.iter().filter(|at| !code.workspaces().contains(at)).map(|at| op.buffers[*at]);
        let buffers: Vec<usize> = results.filter(|buffer| parts.is_free(*buffer) && until(buffer).is_some()).collect();
        let until = buffers.iter().filter_map(until).min()?;
        let bytes: usize = buffers.iter().map(|buffer| parts.buffers[*buffer].bytes()).sum();
        let price = (bytes > 0 && !refused.contains(&buffers[0])).then(|| seconds(op, machine) / bytes as f64)?;
        Some(Gap { maker, buffers, until, price })
    };
    let gaps = (0..parts.ops.len()).filter_map(gap);
    gaps.min_by(|a, b| a.price.total_cmp(&b.price).then(a.maker.cmp(&b.maker)))
}

/// How long a kernel takes, as the machine is described; for those of other devices a number to compare them by.
fn seconds(op: &PlanOp, machine: &Machine) -> f64 {
    let Some(code) = op.code() else { return f64::INFINITY };
    let value = |v: &svod_ir::size::Variable| op.fixed.iter().find(|(name, _)| name == v.name()).map(|(_, n)| *n);
    let costs = code.spec().ast.costs(&value, machine.registers, Rounds::All);
    machine.call + cost::total(costs.iter().map(|cost| cost.seconds(machine)))
}

impl Parts {
    fn uses(&self) -> Vec<Uses> {
        let mut uses = vec![Uses::default(); self.buffers.len()];
        for (at, op) in self.ops.iter().enumerate() {
            for (buffer, write) in op.accesses() {
                let of = if write { &mut uses[buffer].writers } else { &mut uses[buffer].readers };
                of.push(at);
            }
        }
        uses
    }

    /// Whether a buffer is an intermediate with memory of its own.
    fn is_free(&self, buffer: usize) -> bool {
        let own = &self.buffers[buffer];
        self.roles[buffer] == Role::Intermediate && !own.is_view() && !own.is_allocated()
    }

    /// Whether a kernel can run again later: what it writes nobody else does, and nobody writes what it reads.
    fn runs_again(&self, maker: usize, uses: &[Uses]) -> bool {
        let op = &self.ops[maker];
        let written = |buffer: usize| uses[buffer].writers == [maker] && !uses[buffer].readers.contains(&maker);
        let stays = |read: usize| match self.roles[read] {
            Role::Intermediate => uses[read].writers.len() == 1,
            Role::Given | Role::Input => uses[read].writers.is_empty(),
            Role::Output => false,
        };
        let mut all = op.accesses();
        op.code().is_some() && all.all(|(buffer, write)| if write { written(buffer) } else { stays(buffer) })
    }

    /// These, with buffers made again for those that read them after a gap.
    fn with(&self, gap: &Gap, order: &Order, id: u64) -> Result<Parts, BuildError> {
        let mut parts = self.clone();
        let mut op = self.ops[gap.maker].clone();
        let mut fresh: FxHashMap<usize, usize> = FxHashMap::default();
        for at in op.outputs.clone() {
            let old = op.buffers[at];
            if let std::collections::hash_map::Entry::Vacant(entry) = fresh.entry(old) {
                let like = &self.buffers[old];
                let made = Buffer::new(like.storage().allocator(), like.dtype(), like.count());
                entry.insert(parts.buffers.len());
                parts.buffers.push(Arc::new(made.map_err(crate::error::Error::from)?));
                parts.roles.push(Role::Intermediate);
            }
            op.buffers[at] = fresh[&old];
        }
        let late = |at: usize| order.levels[at] >= gap.until && at != gap.maker;
        let mut first = self.ops.len();
        for (at, reader) in parts.ops.iter_mut().enumerate().filter(|(at, _)| late(*at)) {
            for buffer in reader.buffers.iter_mut().filter(|buffer| gap.buffers.contains(buffer)) {
                *buffer = fresh[&*buffer];
                first = first.min(at);
            }
        }
        // Not earlier than the level before its first reader's: it waits for one of the level before that.
        op.after =
            order.ranges.get(gap.until.wrapping_sub(2)).map(|range| order.order[range.start]).into_iter().collect();
        op.id = Some(id);
        // Positions from the new op's on are one more.
        let moved = |at: usize| at + usize::from(at >= first);
        op.after.iter_mut().for_each(|at| *at = moved(*at));
        for other in &mut parts.ops {
            other.after.iter_mut().for_each(|at| *at = moved(*at));
        }
        parts.ops.insert(first, op);
        Ok(parts)
    }
}
