//! Intermediates that are computed again where a plan has a budget of memory: what a backward pass reads of the
//! forward one is let go after its early uses, and made anew, by the same kernel of the same operands, for the late ones.
//!
//! What takes least time per byte goes first, until the levels are within the budget or nothing more helps. Values are the
//! same to the bit. An operand that would be let go before that stays until then, which counts against what is won.
//!
//! That goes by rounds, of which there are few: each chooses, by what the levels would need then, results that have nothing
//! to do with one another, and all of them are made anew at once.

use super::builder::{BuildError, Role};
use super::memory_plan::alive;
use super::need::Need;
use super::op::PlanOp;
use super::order::{self, Order};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::sync::Arc;
use svod_device::Buffer;
use svod_ir::lowered::cost::{self, Machine, Rounds};
use svod_ir::pass::visit;
use svod_ir::size::Variable;

/// The parts of a plan that is being built.
#[derive(Clone)]
pub(super) struct Parts {
    pub ops: Vec<PlanOp>,
    pub buffers: Vec<Arc<Buffer>>,
    pub roles: Vec<Role>,
}

/// Results of a kernel that nobody uses between two levels.
struct Gap {
    /// The op that writes them.
    maker: usize,
    buffers: Vec<usize>,
    /// The last level before the gap in which one is used.
    from: usize,
    /// The first level after it.
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
    let mut times = Times { machine, known: FxHashMap::default() };
    let mut order = order::order(&parts.ops, &parts.buffers)?;
    let mut need = alive(&parts.ops, &order, &parts.roles, &parts.buffers);
    loop {
        let mut gaps = chosen(budget, &parts, &order, &need, &refused, &mut times);
        // What was chosen goes by an estimate: if it does not help together, half of it may.
        loop {
            let Some(first) = gaps.first().map(|gap| gap.buffers[0]) else { return Ok(parts) };
            visit(parts.ops.len());
            let tried = parts.with(&gaps, &order, next)?;
            let then = order::order(&tried.ops, &tried.buffers)?;
            let needs = alive(&tried.ops, &then, &tried.roles, &tried.buffers);
            if excess(budget, &needs) < excess(budget, &need) {
                next += gaps.len() as u64;
                (parts, order, need) = (tried, then, needs);
                break;
            }
            if gaps.len() == 1 {
                refused.insert(first);
                break;
            }
            gaps.truncate(gaps.len() / 2);
        }
    }
}

/// Bytes beyond the budget, in all levels together.
fn excess(budget: usize, need: &[usize]) -> u128 {
    need.iter().map(|bytes| bytes.saturating_sub(budget) as u128).sum()
}

/// The gaps of one round, those of least time per byte first. None is of what another one reads to make its results anew. What
/// has to wait for another round for that reason goes before what takes twice the time.
fn chosen(
    budget: usize,
    parts: &Parts,
    order: &Order,
    need: &[usize],
    refused: &FxHashSet<usize>,
    times: &mut Times,
) -> Vec<Gap> {
    let mut need = Need::new(need.iter().map(|bytes| *bytes as i64 - budget.min(i64::MAX as usize) as i64));
    if need.most() <= 0 {
        return Vec::new();
    }
    let uses = parts.uses();
    let last: Vec<Option<usize>> = uses.iter().map(|uses| uses.levels(order).max()).collect();
    let gaps = (0..parts.ops.len()).flat_map(|maker| parts.gaps(maker, &uses, order, times));
    let mut gaps: Vec<Gap> = gaps.filter(|gap| !refused.contains(&gap.buffers[0])).collect();
    gaps.sort_by(|a, b| a.price.total_cmp(&b.price).then(a.maker.cmp(&b.maker)).then(a.from.cmp(&b.from)));
    let mut taken: Vec<Gap> = Vec::new();
    let (mut gone, mut held) = (FxHashSet::default(), FxHashSet::default());
    let mut most = f64::INFINITY;
    for gap in gaps {
        if gap.price > most || need.most() <= 0 {
            break;
        }
        let changes = parts.changes(&gap, &last);
        // Levels are relieved that need too much, and none needs more than these did.
        let less = changes.iter().filter(|(_, bytes)| *bytes < 0);
        let relieved = less.map(|(levels, _)| need.most_in(levels)).max().unwrap_or(i64::MIN);
        let mut more = changes.iter().filter(|(_, bytes)| *bytes > 0);
        if relieved <= 0 || more.any(|(levels, bytes)| need.most_in(levels).saturating_add(*bytes) > relieved) {
            continue;
        }
        let reads = || parts.reads(gap.maker);
        if gap.buffers.iter().any(|own| held.contains(own) || gone.contains(own)) || reads().any(|o| gone.contains(&o))
        {
            most = most.min(2.0 * gap.price);
            continue;
        }
        changes.iter().for_each(|(levels, bytes)| need.add(levels, *bytes));
        held.extend(reads());
        gone.extend(gap.buffers.iter().copied());
        taken.push(gap);
    }
    taken
}

/// How long kernels take, as a machine is described; for those of other devices numbers to compare them by.
struct Times<'a> {
    machine: &'a Machine,
    /// By code and the values that an op fixes.
    known: FxHashMap<(usize, Vec<(String, i64)>), f64>,
}

impl Times<'_> {
    fn of(&mut self, op: &PlanOp) -> f64 {
        let Some(code) = op.code() else { return f64::INFINITY };
        let machine = self.machine;
        let value = |v: &Variable| op.fixed.iter().find(|(name, _)| name == v.name()).map(|(_, n)| *n);
        *self.known.entry((Arc::as_ptr(code).addr(), op.fixed.clone())).or_insert_with(|| {
            let costs = code.spec().ast.costs(&value, machine.registers, Rounds::All);
            machine.call + cost::total(costs.iter().map(|cost| cost.seconds(machine)))
        })
    }
}

impl Uses {
    /// The levels in which ops use it.
    fn levels<'a>(&'a self, order: &'a Order) -> impl Iterator<Item = usize> + 'a {
        self.writers.iter().chain(&self.readers).map(|op| order.levels[*op])
    }
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

    /// The buffers that an op reads.
    fn reads(&self, op: usize) -> impl Iterator<Item = usize> {
        self.ops[op].accesses().filter(|(_, write)| !*write).map(|(buffer, _)| buffer)
    }

    /// The gaps in the use of a kernel's results, in which these can be let go: the kernel runs in the level before the next
    /// use, and all of that is another one.
    fn gaps(&self, maker: usize, uses: &[Uses], order: &Order, times: &mut Times) -> Vec<Gap> {
        let op = &self.ops[maker];
        let Some(code) = op.code().filter(|_| self.runs_again(maker, uses)) else { return Vec::new() };
        let results = op.outputs.iter().filter(|at| !code.workspaces().contains(at)).map(|at| op.buffers[*at]);
        let results: Vec<usize> = results.filter(|buffer| self.is_free(*buffer)).collect();
        let mut levels: Vec<usize> = results.iter().flat_map(|buffer| uses[*buffer].levels(order)).collect();
        levels.sort_unstable();
        let gap = |pair: &[usize]| {
            let (from, until) = (pair[0], pair[1]);
            let is_late = |buffer: &usize| uses[*buffer].levels(order).any(|level| level >= until);
            let buffers: Vec<usize> = results.iter().copied().filter(is_late).collect();
            let bytes: usize = buffers.iter().map(|buffer| self.buffers[*buffer].bytes()).sum();
            let price = (from + 2 < until && bytes > 0).then(|| times.of(op) / bytes as f64)?;
            Some(Gap { maker, buffers, from, until, price })
        };
        levels.windows(2).filter_map(gap).collect()
    }

    /// What levels need more, or less, where results are let go for a gap: `last` is the last use of each buffer. Ranges do not
    /// overlap.
    fn changes(&self, gap: &Gap, last: &[Option<usize>]) -> Vec<(Range<usize>, i64)> {
        let bytes = |buffer: &usize| self.buffers[*buffer].bytes() as i64;
        // Operands stay, from the last use of each until the kernel runs again.
        let mut read: Vec<usize> = self.reads(gap.maker).filter(|buffer| self.is_free(*buffer)).collect();
        read.sort_unstable();
        read.dedup();
        let stays = |buffer: &usize| Some((last[*buffer]? + 1..gap.until, bytes(buffer)));
        let won: i64 = gap.buffers.iter().map(bytes).sum();
        let mut all: Vec<(Range<usize>, i64)> = read.iter().filter_map(stays).collect();
        all.push((gap.from + 1..gap.until - 1, -won));
        all.retain(|(levels, _)| !levels.is_empty());
        let mut ends: Vec<usize> = all.iter().flat_map(|(levels, _)| [levels.start, levels.end]).collect();
        ends.sort_unstable();
        ends.dedup();
        let within = |ends: &[usize]| {
            let of = all.iter().filter(|(levels, _)| levels.contains(&ends[0]));
            (ends[0]..ends[1], of.map(|(_, bytes)| bytes).sum())
        };
        ends.windows(2).map(within).collect()
    }

    /// These, with buffers made again for those that read them after gaps. The new ops are named by the numbers from `id` on.
    fn with(&self, gaps: &[Gap], order: &Order, id: u64) -> Result<Parts, BuildError> {
        let mut parts = self.clone();
        let uses = self.uses();
        // The new ops, by the ops that they come before.
        let mut made: Vec<(usize, PlanOp)> = Vec::with_capacity(gaps.len());
        for (gap, id) in gaps.iter().zip(id..) {
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
            let readers = gap.buffers.iter().flat_map(|buffer| &uses[*buffer].readers).copied();
            let late: Vec<usize> = readers.filter(|at| order.levels[*at] >= gap.until).collect();
            for at in &late {
                for buffer in parts.ops[*at].buffers.iter_mut().filter(|buffer| gap.buffers.contains(buffer)) {
                    *buffer = fresh[&*buffer];
                }
            }
            // Not earlier than the level before its first reader's: it waits for one of the level before that.
            op.after =
                order.ranges.get(gap.until.wrapping_sub(2)).map(|range| order.order[range.start]).into_iter().collect();
            op.id = Some(id);
            made.push((late.into_iter().min().unwrap_or(self.ops.len()), op));
        }
        made.sort_by_key(|(before, _)| *before);
        let places: Vec<usize> = made.iter().map(|(before, _)| *before).collect();
        let moved = |at: usize| at + places.partition_point(|before| *before <= at);
        let after = parts.ops.iter_mut().chain(made.iter_mut().map(|(_, op)| op)).flat_map(|op| &mut op.after);
        after.for_each(|after| *after = moved(*after));
        let mut ops = Vec::with_capacity(parts.ops.len() + made.len());
        let mut made = made.into_iter().peekable();
        for (at, op) in parts.ops.into_iter().enumerate() {
            while let Some((_, op)) = made.next_if(|(before, _)| *before <= at) {
                ops.push(op);
            }
            ops.push(op);
        }
        ops.extend(made.map(|(_, op)| op));
        parts.ops = ops;
        Ok(parts)
    }
}
