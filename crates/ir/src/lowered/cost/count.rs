//! Counting a phase's instructions, operations and bytes.

mod mean;
mod memory;

use super::ops::{FORWARD, LATENCY, latency, slots_of};
use super::ports::{AHEAD, Port, Ports};
use super::{Cost, Registers, Rounds};
use crate::alu::Alu;
use crate::expr::{Expr, ExprId, Mem, ParamId, TempId};
use crate::kernel::Param;
use crate::lowered::{Home, LoopKind, Lowered, Micro, Phase, Stmt, TileOperand};
use crate::size::{Size, Variable};
use mean::At;
use memory::{Access, How, STREAM, Touch};
use rustc_hash::{FxHashMap, FxHashSet};
use svod_dtype::DType;

/// The share in which a condition on data holds.
const LIKELY: f64 = 1.0 / 16.0;

/// Slots of an operation on integers that are in no vector: four begin in a cycle.
const SCALAR: f64 = 0.5;

/// Slots of one round of a serial loop, besides its body.
const ROUND: f64 = 1.5;

/// Vector registers that a loop works with, besides those for its sums and for what it needs from outside.
const WORKING: f64 = 2.0;

/// Slots to call a contraction tile.
const TILE_CALL: f64 = 40.0;

/// A loop around a statement, or the grid.
struct Frame {
    var: Variable,
    /// Rounds, which may depend on counters and variables, and those on average.
    size: Size,
    extent: f64,
    kind: LoopKind,
    grid: bool,
}

/// Counts one phase.
pub(super) struct Counter<'a> {
    lowered: &'a Lowered,
    phase: &'a Phase,
    rounds: Rounds,
    vector_bytes: f64,
    /// Vector registers for values that loops need from outside, and for sums.
    registers: f64,
    /// Values of variables, and of counters the middle.
    at: At,
    frames: Vec<Frame>,
    /// The number of each frame's loop in the phase.
    numbers: Vec<usize>,
    loops: usize,
    /// For each temporary the loops, by number, in which it is stored.
    stored: Vec<FxHashSet<usize>>,
    statements: usize,
    /// Registers that hold elements of arguments as they are.
    copies: FxHashSet<TempId>,
    /// How often the innermost condition holds.
    share: f64,
    /// The conditions on counters that hold here.
    conditions: Vec<ExprId>,
    accesses: Vec<Access>,
    /// What each serial loop takes by itself, and, first, what is in none.
    blocks: Vec<Ports>,
    cost: Cost,
}

/// The frames on which something depends, a bit each.
type Mask = u64;

impl<'a> Counter<'a> {
    /// A counter that has counted nothing.
    pub fn new(
        lowered: &'a Lowered,
        phase: &'a Phase,
        values: &dyn Fn(&Variable) -> Option<i64>,
        registers: Registers,
        rounds: Rounds,
    ) -> Self {
        let value = |v: &Variable| (v.clone(), values(v).unwrap_or(Variable::max(v)));
        Counter {
            lowered,
            phase,
            rounds,
            vector_bytes: registers.bytes.max(1) as f64,
            registers: (registers.count as f64 - WORKING).max(1.0),
            at: lowered.vars.iter().map(value).collect(),
            frames: Vec::new(),
            numbers: Vec::new(),
            loops: 0,
            stored: stores(phase),
            statements: 0,
            copies: FxHashSet::default(),
            share: 1.0,
            conditions: Vec::new(),
            accesses: Vec::new(),
            blocks: Vec::new(),
            cost: Cost::default(),
        }
    }

    /// The cost of the phase.
    pub fn count(mut self) -> Cost {
        let phase = self.phase;
        self.cost.tasks = 1.0;
        for axis in &phase.grid {
            self.enter(&axis.var, &axis.extent, axis.kind, true);
            self.cost.tasks *= self.frames.last().map_or(1.0, |f| f.extent);
        }
        for temp in &phase.temps {
            let count: f64 = temp.shape.iter().map(|n| self.value(n)).product();
            let bytes = count * temp.dtype.bytes() as f64;
            match temp.home {
                Home::Register => self.cost.registers += (bytes / self.vector_bytes).ceil() as u32,
                Home::Scratch => self.cost.scratch += bytes as u64,
            }
        }
        self.body(&phase.body);
        self.cost.slots = self.blocks.iter().map(Ports::slots).sum();
        self.cost.flops *= self.cost.tasks;
        self.cost.traffic = self.traffic();
        self.cost
    }

    fn enter(&mut self, var: &Variable, extent: &Size, kind: LoopKind, grid: bool) {
        let mean = self.mean_size(extent);
        let frame = Frame { var: var.clone(), size: extent.clone(), extent: mean, kind, grid };
        self.at.insert(var.clone(), ((self.value(extent) - 1.0) / 2.0).max(0.0) as i64);
        self.frames.push(frame);
        self.numbers.push(self.loops);
        self.loops += 1;
    }

    /// Adds slots to what is done inside of the first `depth` frames.
    fn add(&mut self, port: Port, depth: usize, slots: f64) {
        let at = self.block(depth);
        if self.blocks.len() <= at {
            self.blocks.resize(at + 1, Ports::default());
        }
        self.blocks[at].add(port, self.share * slots);
    }

    /// Notes a chain of instructions inside of the first `depth` frames.
    fn wait(&mut self, depth: usize, chain: f64) {
        let (at, rounds) = (self.block(depth), self.times(self.innermost(depth).map_or(0, |at| at + 1)));
        self.blocks[at].wait(chain, self.share * rounds);
    }

    /// The innermost serial loop among the first `depth` frames, counted from 1.
    fn block(&self, depth: usize) -> usize {
        self.innermost(depth).map_or(0, |at| self.numbers[at] + 1)
    }

    /// The frame of the innermost serial loop among the first `depth`.
    fn innermost(&self, depth: usize) -> Option<usize> {
        (0..depth).rev().find(|at| !self.frames[*at].grid && self.frames[*at].kind == LoopKind::Serial)
    }

    /// A size where counters are at their middle; never negative.
    fn value(&self, size: &Size) -> f64 {
        self.index(size).max(0) as f64
    }

    fn index(&self, size: &Size) -> i64 {
        self.index_at(size, &self.at)
    }

    fn index_at(&self, size: &Size, at: &At) -> i64 {
        let known = size.eval(&|v| at.get(v).copied().or(Some(Variable::max(v))));
        known.ok().or(size.upper_bound()).unwrap_or(i64::MAX)
    }

    fn body(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Loop(l, inner) => {
                    self.enter(&l.var, &l.extent, l.kind, false);
                    if l.kind == LoopKind::Serial {
                        self.add(Port::Scalar, self.frames.len(), self.times(self.frames.len()) * ROUND);
                    }
                    self.body(inner);
                    self.frames.pop();
                    self.numbers.pop();
                }
                Stmt::If(condition, inner) => {
                    let (outer, known) = (self.share, self.conditions.len());
                    self.share *= match self.mean_truth(*condition) {
                        Some(share) => {
                            self.conditions.push(*condition);
                            share
                        }
                        None if self.is_bounds_check(*condition) => 1.0,
                        None => LIKELY,
                    };
                    self.body(inner);
                    self.share = outer;
                    self.conditions.truncate(known);
                }
                Stmt::Store { to, index, value, valid } => {
                    let roots: Vec<ExprId> = index.iter().chain([value]).chain(valid).copied().collect();
                    self.store(*to, index, *value, &roots);
                }
                Stmt::Micro(micro) => self.tile(micro),
                Stmt::Prefetch { .. } => self.add(Port::Load, self.frames.len(), self.times(self.frames.len())),
            }
            self.statements += 1;
        }
    }

    /// How often the body of the first `depth` frames runs in a task; vectors run once.
    fn times(&self, depth: usize) -> f64 {
        let counted = self.frames[..depth].iter().filter(|f| !f.grid && f.kind != LoopKind::Vector);
        counted.map(|f| f.extent).product()
    }

    fn frames_of(&self, size: &Size) -> Mask {
        let mut mask = 0;
        for var in size.variables() {
            if let Some(at) = self.frames.iter().position(|f| f.var == var) {
                mask |= 1 << at.min(62);
            }
        }
        mask
    }

    /// The frames around a statement that are laid out, with nothing but others of their kind inside: what is the same
    /// in all their rounds is computed, loaded and stored once.
    fn laid_out(&self) -> Mask {
        let inner = self.frames.iter().enumerate().rev();
        let inner = inner.take_while(|(_, f)| !f.grid && matches!(f.kind, LoopKind::Unroll | LoopKind::Vector));
        inner.filter(|(_, f)| f.kind == LoopKind::Unroll).fold(0, |m, (at, _)| m | 1 << at.min(62))
    }

    /// Lanes and runs a task of what depends on these frames.
    fn extent_of(&self, mask: Mask) -> (f64, f64) {
        let own = |at: &usize| mask >> at & 1 == 1;
        let frame = |at: usize| &self.frames[at];
        let vector = (0..self.frames.len()).filter(own).filter(|at| frame(*at).kind == LoopKind::Vector);
        let lanes: f64 = vector.map(|at| frame(at).extent).product();
        let laid_out = self.laid_out() & mask;
        let copies: f64 =
            (0..self.frames.len()).filter(|at| laid_out >> at & 1 == 1).map(|at| frame(at).extent).product();
        (lanes, self.times(self.depth_of(mask)) * copies)
    }

    /// The number of frames, from the outermost on, inside of which is what depends on these. Whatever is laid out can
    /// be computed outside of loops on which it does not depend.
    fn depth_of(&self, mask: Mask) -> usize {
        let mask = mask & !self.laid_out();
        let own = |at: &usize| mask >> at & 1 == 1 && self.frames[*at].kind != LoopKind::Vector;
        (0..self.frames.len()).rev().find(own).map_or(0, |at| at + 1)
    }

    fn vectors(&self, lanes: f64, bytes: usize) -> f64 {
        if lanes <= 1.0 { 1.0 } else { (lanes * bytes as f64 / self.vector_bytes).max(0.25) }
    }

    fn store(&mut self, to: Mem, index: &[ExprId], value: ExprId, roots: &[ExprId]) {
        const LANES: Mask = 1 << 63;
        let pool = &self.phase.exprs;
        let ids = pool.reachable(roots);
        let mut lanes_of: f64 = 1.0;
        for id in &ids {
            if let Expr::Lanes { lanes, .. } = pool.get(*id) {
                lanes_of = lanes_of.max(Variable::max(lanes) as f64 + 1.0);
            }
        }
        let mut masks: FxHashMap<ExprId, Mask> = FxHashMap::default();
        // The longest chain of instructions that ends with a node, in the loop in which it is computed.
        let mut chains: FxHashMap<ExprId, (usize, f64)> = FxHashMap::default();
        let mut ordered = ids;
        // Operands have smaller numbers than their users.
        ordered.sort_unstable();
        let all: Mask = self.frames.iter().enumerate().fold(0, |m, (at, _)| m | 1 << at.min(62));
        let fused = self.fused(&ordered);
        for &id in &ordered {
            let node = pool.get(id);
            let mut mask: Mask = node.operands().iter().map(|o| masks[o]).fold(0, |a, b| a | b);
            let named = mask;
            match node {
                Expr::Index(size) => {
                    mask |= self.frames_of(size);
                    let bound = |v: &Variable| !self.frames.iter().any(|f| f.var == *v) && !self.at.contains_key(v);
                    if size.variables().iter().any(bound) {
                        mask |= LANES;
                    }
                }
                // A temporary changes with the loops in which it is stored.
                Expr::Load { from: Mem::Temp(t, _), .. } => {
                    let stored = &self.stored[t.index()];
                    let changes = |at: &usize| stored.contains(&self.numbers[*at]);
                    mask |= (0..self.frames.len()).filter(changes).fold(0, |m, at| m | 1 << at.min(62));
                }
                _ => {}
            }
            let (mut lanes, times) = self.extent_of(mask & !LANES);
            if mask & LANES != 0 {
                lanes *= lanes_of;
            }
            let dtype = pool.dtype(id);
            let operands = node.operands();
            let widest = operands.iter().map(|o| pool.dtype(*o)).filter(|t| *t != DType::Index);
            let bytes = widest.map(DType::bytes).fold(dtype.bytes(), usize::max);
            let vectors = self.vectors(lanes, bytes);
            let (mut slots, mut port) = (0.0, Port::Vector);
            match node {
                Expr::Alu(op, args) => {
                    let float = args.iter().any(|a| pool.dtype(*a).is_float());
                    // A choice computes nothing: those of masked elements are in no program.
                    if float && *op != Alu::Where {
                        self.cost.flops += self.share * times * lanes;
                    }
                    let address = dtype == DType::Index && mask & LANES == 0;
                    let scalar = if float || lanes > 1.0 { 1.0 } else { SCALAR };
                    port = if float || lanes > 1.0 { Port::Vector } else { Port::Scalar };
                    slots = if address { 0.0 } else { slots_of(*op, float, lanes) * vectors * scalar };
                }
                Expr::Cast(_, from) if lanes <= 1.0 && !dtype.is_float() && !pool.dtype(*from).is_float() => {
                    (slots, port) = (SCALAR, Port::Scalar);
                }
                Expr::Cast(_, from) if pool.dtype(*from) != DType::Index => slots = 1.5 * vectors,
                Expr::Cast(..) => slots = vectors,
                Expr::Alike { .. } => slots = lanes * vectors,
                Expr::Running { .. } => slots = 2.0 * lanes.max(2.0).log2() * vectors,
                Expr::Lanes { .. } => {
                    slots = 2.0 * lanes_of.log2();
                    mask &= !LANES;
                }
                Expr::Load { from, index, .. } => {
                    let (from, index) = (*from, index.clone());
                    slots = self.access(from, &index, dtype, How { mask, lanes, bound: lanes_of, written: false });
                    port = Port::Load;
                }
                _ => {}
            }
            masks.insert(id, mask);
            // What is updated in rounds that are laid out stays in a register between them.
            let of = match node {
                Expr::Load { from: Mem::Temp(..), .. } => mask & !LANES & !(self.laid_out() & !named),
                _ => mask & !LANES,
            };
            let depth = self.depth_of(of);
            let block = self.block(depth);
            let before = operands.iter().filter_map(|o| chains.get(o)).filter(|(at, _)| *at == block);
            let mut chain = before.fold(0.0, |longest: f64, (_, chain)| longest.max(*chain));
            if !fused.contains(&id) {
                let times = self.extent_of(of).1;
                self.add(port, depth, times * slots);
                chain += latency(self.phase, node);
                self.wait(depth, chain);
            }
            chains.insert(id, (block, chain));
        }
        self.reload(&ordered, &masks);
        let own = index.iter().fold(0, |m, i| m | masks.get(i).copied().unwrap_or(0));
        let once = if matches!(to, Mem::Temp(..)) { self.laid_out() & !own } else { 0 };
        let (lanes, times) = self.extent_of(all & !once);
        let dtype = pool.dtype(value);
        let slots = self.access(to, index, dtype, How { mask: own & !LANES, lanes, bound: 1.0, written: true });
        self.add(Port::Store, self.depth_of(all & !once), times * slots);
        self.pack(to, value, times * lanes * dtype.bytes() as f64);
        self.chain(to, own, &ordered);
    }

    /// Counts what a statement's innermost loop loads again in each round, since there are more values that it needs
    /// from outside, or sums, than registers.
    fn reload(&mut self, ids: &[ExprId], masks: &FxHashMap<ExprId, Mask>) {
        let pool = &self.phase.exprs;
        let Some(round) = (0..self.frames.len()).rev().find(|at| self.frames[*at].kind == LoopKind::Serial) else {
            return;
        };
        if self.frames[round].grid || self.frames[round].extent <= 1.0 {
            return;
        }
        let copies = |mask: Mask| -> f64 {
            let own = (round + 1..self.frames.len()).filter(|at| mask >> at & 1 == 1);
            own.filter(|at| self.frames[*at].kind == LoopKind::Unroll).map(|at| self.frames[at].extent).product()
        };
        let (mut outside, mut sums) = (0.0, 0.0);
        for id in ids {
            match pool.get(*id) {
                Expr::Load { from: Mem::Temp(t, _), index, .. }
                    if self.phase.temps[t.index()].home == Home::Register
                        && self.stored[t.index()].contains(&self.numbers[round]) =>
                {
                    sums += copies(index.iter().fold(0, |m, i| m | masks[i]));
                }
                Expr::Load { .. } if masks[id] >> round & 1 == 0 => outside += copies(masks[id]),
                _ => {}
            }
        }
        let excess = outside + sums - self.registers;
        if excess > 0.0 {
            let times = self.times(round + 1);
            self.add(Port::Load, round + 1, times * excess.min(outside));
        }
        // Sums that have no register are stored as well.
        let spilled = sums - self.registers;
        if spilled > 0.0 {
            let times = self.times(round + 1);
            self.add(Port::Load, round + 1, times * spilled);
            self.add(Port::Store, round + 1, times * 2.0 * spilled);
        }
    }

    /// Whether no other phase of its variant follows.
    fn is_last(&self) -> bool {
        let own = self.lowered.phases.iter().rfind(|phase| phase.variant == self.phase.variant);
        own.is_some_and(|last| std::ptr::eq(last, self.phase))
    }

    /// Notes bytes that are copied, as they are or converted, to where a tile reads them: to a task's scratch,
    /// or to what a later phase reads. On the way they may be in registers.
    fn pack(&mut self, to: Mem, value: ExprId, bytes: f64) {
        let pool = &self.phase.exprs;
        // Converted, or half of a word.
        let below = |e: &ExprId| match pool.get(*e) {
            Expr::Cast(_, from) | Expr::Bitcast(_, from) => Some(*from),
            Expr::Alu(Alu::Or, halves) => Some(halves[0]),
            _ => None,
        };
        let source = std::iter::successors(Some(value), below).last().unwrap_or(value);
        let copied = match pool.get(source) {
            Expr::Load { from: Mem::Param(_), .. } => true,
            Expr::Load { from: Mem::Temp(t, _), .. } => self.copies.contains(t),
            _ => false,
        };
        let packs = match to {
            Mem::Param(_) => !self.is_last(),
            Mem::Temp(t, _) if self.phase.temps[t.index()].home == Home::Scratch => true,
            Mem::Temp(t, _) if copied => {
                self.copies.insert(t);
                false
            }
            Mem::Temp(t, _) => {
                self.copies.remove(&t);
                false
            }
        };
        if copied && packs {
            self.cost.packed += self.share * bytes;
        }
    }

    /// Products that become part of a multiply-add.
    fn fused(&self, ids: &[ExprId]) -> FxHashSet<ExprId> {
        let pool = &self.phase.exprs;
        let mut fused = FxHashSet::default();
        if self.lowered.strict {
            return fused;
        }
        let mut uses: FxHashMap<ExprId, usize> = FxHashMap::default();
        ids.iter().flat_map(|id| pool.get(*id).operands()).for_each(|o| *uses.entry(o).or_default() += 1);
        for id in ids {
            if let Expr::Alu(Alu::Add | Alu::Sub, args) = pool.get(*id)
                && pool.dtype(*id).is_float()
            {
                let product = |a: &&ExprId| matches!(pool.get(**a), Expr::Alu(Alu::Mul, _)) && uses[*a] == 1;
                fused.extend(args.iter().find(product));
            }
        }
        fused
    }

    /// The chain of a statement that updates what it stores to. Rounds that update other elements
    /// overlap as far as a processor looks ahead.
    fn chain(&mut self, to: Mem, own: Mask, ids: &[ExprId]) {
        let pool = &self.phase.exprs;
        let updates = ids.iter().any(|id| matches!(pool.get(*id), Expr::Load { from, .. } if *from == to));
        let Mem::Temp(t, _) = to else { return };
        if !updates {
            return;
        }
        let scratch = self.phase.temps[t.index()].home == Home::Scratch;
        let (mut chain, mut instructions, mut repeats) = (LATENCY, 2.0, false);
        for (at, frame) in self.frames.iter().enumerate().rev() {
            let other = own >> at & 1 == 1;
            match frame.kind {
                LoopKind::Vector => continue,
                _ if frame.grid => break,
                LoopKind::Unroll if other => {}
                LoopKind::Serial if other => {
                    chain *= frame.extent / (AHEAD / instructions).clamp(1.0, frame.extent.max(1.0));
                }
                kind => {
                    let forward = if scratch && kind == LoopKind::Serial { FORWARD } else { 0.0 };
                    chain = (chain + forward) * frame.extent;
                    repeats |= frame.extent > 1.0;
                }
            }
            instructions *= frame.extent;
        }
        if repeats {
            self.cost.chain += self.share * chain;
        }
    }

    fn tile(&mut self, micro: &Micro) {
        let (rows, cols, depth) = (f64::from(micro.rows), f64::from(micro.cols), self.mean_size(&micro.depth));
        let times = self.share * self.times(self.frames.len());
        let vectors = (cols * micro.acc.bytes() as f64 / self.vector_bytes).ceil();
        // What is narrower than the sum is widened first. Pairs are chosen where one instruction takes both.
        let widened = if micro.stored().bytes() < micro.acc.bytes() { 2.0 * (vectors + rows) } else { 0.0 };
        let products = if micro.pairs { 2.0 } else { 1.0 };
        let mut ports = Ports::default();
        ports.add(Port::Vector, depth * (rows * vectors + widened).max(LATENCY) + rows * vectors);
        ports.add(Port::Load, depth * (rows + vectors) + rows * vectors);
        ports.add(Port::Store, 2.0 * rows * vectors);
        // The call waits for its sums.
        self.add(Port::Vector, self.frames.len(), self.times(self.frames.len()) * (ports.slots() + TILE_CALL));
        self.cost.flops += times * 2.0 * products * rows * cols * depth;
        self.cost.registers = self.cost.registers.max((rows * vectors + vectors) as u32 + 1);
        let blocks = [
            (&micro.a, rows * depth, micro.stored()),
            (&micro.b, depth * cols, micro.stored()),
            (&micro.c, rows * cols, micro.acc),
        ];
        for (n, (operand, block, dtype)) in blocks.into_iter().enumerate() {
            let Mem::Param(param) = operand.mem else { continue };
            let size = self.param(param).shape.iter().map(|n| self.value(n)).product::<f64>() * dtype.bytes() as f64;
            let own = operand.index.iter().fold(0, |m, i| m | self.frames_of(i));
            let steps = vec![block; self.frames.len()];
            self.note(Touch { param, written: n == 2, random: false, run: STREAM, steps, block, own, dtype, size });
        }
    }

    fn param(&self, param: ParamId) -> &'a Param {
        &self.lowered.params[param.index()]
    }

    /// Whether a condition asks if a position is inside of an extent, as scatters do of each: nearly all are.
    fn is_bounds_check(&self, condition: ExprId) -> bool {
        let pool = &self.phase.exprs;
        let Expr::Alu(Alu::Lt, args) = pool.get(condition) else { return false };
        let extent = match pool.get(args[1]) {
            Expr::Cast(_, from) => matches!(pool.get(*from), Expr::Index(_)),
            other => matches!(other, Expr::Const(_)),
        };
        extent && matches!(pool.get(args[0]), Expr::Bitcast(to, _) if to.is_unsigned())
    }

    /// What a condition is made of, operands first.
    fn ordered(&self, condition: ExprId) -> Vec<ExprId> {
        let mut ids = self.phase.exprs.reachable(&[condition]);
        ids.sort_unstable();
        ids
    }

    /// The counters and variables that these name.
    fn variables_of(&self, ids: &[ExprId]) -> Vec<Variable> {
        let sizes = ids.iter().filter_map(|id| match self.phase.exprs.get(*id) {
            Expr::Index(size) => Some(size.variables()),
            _ => None,
        });
        sizes.flatten().collect()
    }

    /// Whether a condition on counters, the last of what it is made of, holds where they have these values.
    fn truth_at(&self, ids: &[ExprId], at: &At) -> Option<bool> {
        let pool = &self.phase.exprs;
        let mut known: FxHashMap<ExprId, i64> = FxHashMap::default();
        for &id in ids {
            let value = match pool.get(id) {
                Expr::Index(size) => Some(self.index_at(size, at)),
                Expr::Const(c) if !c.dtype().is_float() => i64::try_from(c.as_i128()).ok(),
                Expr::Alu(op, args) => {
                    let args: Option<Vec<i64>> = args.iter().map(|a| known.get(a).copied()).collect();
                    match (op, args.as_deref()) {
                        (Alu::Lt, Some([a, b])) => Some(i64::from(a < b)),
                        (Alu::Le, Some([a, b])) => Some(i64::from(a <= b)),
                        (Alu::Eq, Some([a, b])) => Some(i64::from(a == b)),
                        (Alu::Ne, Some([a, b])) => Some(i64::from(a != b)),
                        (Alu::And, Some([a, b])) => Some(a & b),
                        (Alu::Or, Some([a, b])) => Some(a | b),
                        (Alu::Not, Some([a])) => Some(i64::from(*a == 0)),
                        _ => None,
                    }
                }
                Expr::Cast(_, a) => known.get(a).copied(),
                _ => None,
            };
            known.extend(value.map(|v| (id, v)));
        }
        ids.last().and_then(|condition| known.get(condition)).map(|v| *v != 0)
    }
}

/// For each temporary the loops in which it is stored, numbered in the order in which they open, after
/// those of the grid.
fn stores(phase: &Phase) -> Vec<FxHashSet<usize>> {
    fn walk(body: &[Stmt], loops: &mut usize, around: &mut Vec<usize>, found: &mut [FxHashSet<usize>]) {
        for stmt in body {
            match stmt {
                Stmt::Loop(_, inner) => {
                    around.push(*loops);
                    *loops += 1;
                    walk(inner, loops, around, found);
                    around.pop();
                }
                Stmt::If(_, inner) => walk(inner, loops, around, found),
                Stmt::Store { to: Mem::Temp(t, _), .. } => found[t.index()].extend(around.iter()),
                Stmt::Micro(Micro { c: TileOperand { mem: Mem::Temp(t, _), .. }, .. }) => {
                    found[t.index()].extend(around.iter());
                }
                _ => {}
            }
        }
    }
    let mut found = vec![FxHashSet::default(); phase.temps.len()];
    walk(&phase.body, &mut phase.grid.len(), &mut Vec::new(), &mut found);
    found
}
