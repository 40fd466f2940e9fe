//! Which values go to memory: the cut of a graph into kernels.
//!
//! One walk from the outputs to the leaves. Each node learns from its users which kernel wants it,
//! and through which of that kernel's axes ([`Access`]); it is then *inlined* (computed where it is
//! read), *staged* (computed once a row, inside the kernel), or *realized* (a buffer, computed by
//! a kernel of its own). The rules:
//!
//! * a value that several kernels want, or that is read at several positions or many times over, is
//!   realized, unless to compute it again costs less than to move it ([`crate::costs`]);
//! * a reduction joins its consumer's kernel when each of its values is read by exactly one row of
//!   the consumer (softmax, layer norm), unless strips of columns would be read from memory again, or when it
//!   is a contraction and the consumer an elementwise epilogue of the same extent;
//! * a contraction whose operand is rows of weights made from another contraction takes those rows,
//!   and the other contraction, into its kernel ([`chain`]); on a GPU, where code generation has a kernel of such
//!   attention ([`whole`]);
//! * a copy between devices reads and writes memory;
//! * a kernel never has more than [`MAX_NODES`] nodes, or [`MAX_MOVED`] with movements, nor more than [`MAX_CODE`]
//!   instructions a point.

mod access;
mod chain;
mod costs;
mod operands;
mod shapes;
mod whole;

pub(crate) use shapes::merged;

use crate::costs::limits::kernels::{MAX_MOVED, MAX_NODES};
use crate::costs::limits::{code, memory, tasks};
use crate::costs::{Caches, Decision, Estimate, Repeated, Verdict};
use crate::fusion::Purpose;
use crate::graph::place::is_transfer;
use access::{Access, Dim, Reads, Wanted, exact_dim};
use chain::{Role, chain};
use costs::{Costs, elements, instructions};
use rustc_hash::{FxHashMap, FxHashSet};
use shapes::{refined, repeated_dims};
use smallvec::SmallVec;
use std::ops::Range;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::graph::shape::squeezed;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Device, Graph, Op, Shape, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::pass::Artifact;
use svod_ir::size::Size;
use whole::whole;

/// What becomes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing reads it, or it is a leaf or constant.
    Free,
    /// Computed where it is read.
    Inline,
    /// Computed once per row of the kernel, into scratch.
    Stage,
    /// A buffer, computed by a kernel of its own.
    Realize,
    /// The buffer of its operand, of which it is a reshape.
    Alias,
}

/// What a kernel has absorbed so far.
#[derive(Clone, Debug, Default)]
struct Absorbed {
    nodes: usize,
    /// Instructions for a point.
    code: u32,
    /// The extents of all its axes: those of its output, then those of its reductions.
    extents: Vec<i64>,
    /// The extents of its output axes.
    over: Shape,
    contraction: bool,
    /// Whether it has a chain of two products.
    chained: bool,
    /// The output axes that index its fused reductions, once there is one.
    rows: Option<u64>,
}

/// The cut of a graph.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    /// The fate of each node.
    pub fates: Vec<Fate>,
    /// Per kernel, by its output node, the axes that index its fused reductions, a bit each.
    pub rows: Vec<u64>,
    /// Per kernel, by its output node, whether it computes rows of weights between two products.
    pub chained: Vec<bool>,
    /// Per kernel, by its output node, the extents of its output axes: those of the output's
    /// dimensions, or of several axes that a dimension merges.
    pub over: Vec<Shape>,
    /// What was decided where there was a choice, and why.
    pub decisions: Vec<Decision>,
}

impl Artifact for Cut {}

/// Cuts a graph into kernels.
pub(crate) fn fuse(graph: &Graph, how: Purpose) -> Cut {
    let users = graph.users();
    let mut fuse = Fuse {
        graph,
        caches: how.caches,
        how,
        costs: Costs::of(graph, &users),
        decisions: Vec::new(),
        users,
        roles: FxHashMap::default(),
        wanted: vec![None; graph.len()],
        kernels: vec![Absorbed::default(); graph.len()],
        fates: vec![Fate::Free; graph.len()],
        output: vec![false; graph.len()],
    };
    graph.roots().iter().for_each(|r| fuse.output[*r as usize] = true);
    for node in (0..graph.len() as NodeIndex).rev() {
        fuse.visit(node);
    }
    let rows = fuse.kernels.iter().map(|k| k.rows.unwrap_or(0)).collect();
    let chained = fuse.kernels.iter().map(|k| k.chained).collect();
    let over = fuse.kernels.into_iter().map(|k| k.over).collect();
    Cut { fates: fuse.fates, rows, chained, over, decisions: fuse.decisions }
}

/// Whether a node is memory already, or costs nothing.
pub(crate) fn is_source(op: &Op) -> bool {
    matches!(op, Op::Leaf(_) | Op::Const(_) | Op::Size(_) | Op::Bind(_))
}

/// Whether a value is computed once, whoever wants it: in a buffer, or once a row.
fn is_barrier(op: &Op) -> bool {
    let step = matches!(op, Op::Loop(..) | Op::Host(..) | Op::After);
    matches!(op, Op::Reduce(..) | Op::Scan(..) | Op::Scatter(..) | Op::Contiguous) || is_order(op) || step
}

/// Whether a node is no kernel: it reads and writes buffers as they are.
pub(crate) fn is_step(graph: &Graph, node: NodeIndex) -> bool {
    matches!(graph.nodes()[node as usize].op(), Op::Loop(..) | Op::Host(..) | Op::After) || is_transfer(graph, node)
}

/// Whether a value's elements are another's in an order of their own.
fn is_order(op: &Op) -> bool {
    matches!(op, Op::Sort(..) | Op::ArgSort(..))
}

fn is_transcendental(op: &Op) -> bool {
    matches!(op, Op::Alu(a) if a.is_transcendental())
}

/// Whether a movement is never worth a buffer: what is below it has no more elements, or a window's
/// few more, so that a wish for memory is passed on.
fn passes_on(op: &Op) -> bool {
    op.is_mark() || matches!(op, Op::Copy(_)) || (op.is_movement() && !matches!(op, Op::Shrink(_)))
}

/// Whether a reduction is a contraction with a tile to it: a float sum of products in which each
/// factor lacks an axis of the result. On GPUs one of bytes, summed in int32, has a kernel of tiles, too.
pub(crate) fn is_contraction(graph: &Graph, node: NodeIndex) -> bool {
    let op = graph.nodes()[node as usize].op();
    let Op::Reduce(Monoid::Sum, axes) = op else { return false };
    let product = graph.sources(node)[0];
    if !matches!(graph.nodes()[product as usize].op(), Op::Alu(Alu::Mul)) {
        return false;
    }
    let rank = graph.nodes()[product as usize].rank();
    let factors = graph.sources(product);
    let repeats = |factor: NodeIndex| {
        let repeated = repeated_dims(graph, factor);
        (0..rank).any(|d| !axes.contains(&d) && repeated & (1 << d) != 0)
    };
    let sum = &graph.nodes()[node as usize];
    let of_bytes = || {
        let on_host = Device::computes_on_host(sum.device());
        let [a, b] = factors else { return false };
        !on_host && sum.dtype() == DType::I32 && bytes(graph, *a).is_some_and(|of| bytes(graph, *b) == Some(of))
    };
    rank < 64 && factors.iter().all(|f| repeats(*f)) && (sum.dtype().is_float() || of_bytes())
}

/// The type of bytes that a value is converted from, below movements.
fn bytes(graph: &Graph, mut node: NodeIndex) -> Option<DType> {
    for _ in 0..MAX_NODES {
        let (op, from) = (graph.nodes()[node as usize].op(), *graph.sources(node).first()?);
        if matches!(op, Op::Cast(_)) {
            return Some(graph.nodes()[from as usize].dtype()).filter(|of| matches!(of, DType::I8 | DType::U8));
        }
        (op.is_movement() || op.is_mark()).then_some(())?;
        node = from;
    }
    None
}

/// The extent of a dimension at most.
fn bound(extent: &Size) -> i64 {
    extent.upper_bound().unwrap_or(i64::MAX)
}

/// What a value is made of element by element, without the layouts in between; and the value's dimension that each of
/// its dimensions is.
fn in_memory_order(graph: &Graph, node: NodeIndex) -> (&UOp, Vec<usize>) {
    let mut order: Vec<usize> = (0..graph.nodes()[node as usize].rank()).collect();
    let mut at = node;
    for _ in 0..MAX_NODES {
        let value = &graph.nodes()[at as usize];
        let below = match value.op() {
            op if op.is_elementwise() => graph.sources(at).iter().copied().find(|s| {
                let operand = &graph.nodes()[*s as usize];
                operand.shape() == value.shape() && !matches!(operand.op(), Op::Expand(_) | Op::Const(_))
            }),
            Op::Permute(axes) => {
                let mut turned = order.clone();
                axes.iter().zip(&order).for_each(|(a, d)| turned[*a] = *d);
                order = turned;
                graph.sources(at).first().copied()
            }
            _ => None,
        };
        let Some(below) = below else { break };
        at = below;
    }
    (&graph.nodes()[at as usize], order)
}

struct Fuse<'g> {
    graph: &'g Graph,
    how: Purpose,
    caches: Caches,
    costs: Costs,
    decisions: Vec<Decision>,
    users: Vec<Vec<NodeIndex>>,
    /// What nodes are to the chain that their kernel computes.
    roles: FxHashMap<NodeIndex, Role>,
    wanted: Vec<Option<Wanted>>,
    kernels: Vec<Absorbed>,
    fates: Vec<Fate>,
    /// Nodes that are buffers whatever their users want.
    output: Vec<bool>,
}

impl Fuse<'_> {
    fn visit(&mut self, node: NodeIndex) {
        let at = node as usize;
        let output = self.output[at];
        let value = &self.graph.nodes()[at];
        let wanted = self.wanted[at].take();
        if is_source(value.op()) && !output {
            return;
        }
        if wanted.is_none() && !output {
            return;
        }
        let fate = match &wanted {
            Some(wanted) if !output => self.fate(node, wanted),
            _ => Fate::Realize,
        };
        if fate == Fate::Realize && self.is_alias(node) {
            self.fates[at] = Fate::Alias;
            self.output[self.graph.sources(node)[0] as usize] = true;
            return;
        }
        self.fates[at] = fate;
        if is_step(self.graph, node) {
            self.graph.sources(node).iter().for_each(|s| self.output[*s as usize] = true);
        }
        let points = elements(value) as f64;
        let mut reads = Reads { many: false, scattered: 0, variants: 1, points, waits: true };
        let (kernel, mut access) = match (fate, wanted) {
            (Fate::Inline | Fate::Stage, Some(wanted)) => {
                let absorbed = &mut self.kernels[wanted.kernel as usize];
                absorbed.nodes += 1;
                reads = wanted.reads;
                absorbed.code = absorbed.code.saturating_add(instructions(value).saturating_mul(reads.variants));
                (wanted.kernel, wanted.access)
            }
            _ => {
                let (over, dims) = self.open(node);
                let extents = over.iter().enumerate();
                let scope = extents.filter(|(_, e)| e.as_const() != Some(1)).fold(0, |s, (d, _)| s | 1 << d.min(63));
                let (extents, code) = (over.iter().map(bound).collect(), instructions(value));
                self.kernels[at] = Absorbed { nodes: 1, code, extents, over, ..Absorbed::default() };
                (node, Access { dims, scope })
            }
        };
        if matches!(value.op(), Op::Reduce(..)) {
            let product = match self.roles.get(&node) {
                Some(role) => *role == Role::Scores,
                None => self.begin_chain(node, kernel),
            };
            let contraction = product || is_contraction(self.graph, node);
            if contraction && !product {
                self.realize_operands(node);
            }
            let rows = access.dims.iter().fold(0, |r, d| r | d.axes);
            let absorbed = &mut self.kernels[kernel as usize];
            absorbed.contraction |= contraction;
            if kernel != node && !contraction {
                absorbed.rows = Some(rows);
            }
        }
        let role = self.roles.get(&node).copied();
        if matches!(role, Some(Role::Row | Role::Stage | Role::Scores)) {
            // What is copied for a product comes from memory, rows of scores do not.
            reads.waits = role == Some(Role::Scores);
        }
        if matches!(role, Some(Role::Stage | Role::Scores)) {
            // What is computed once a row and key is not repeated by the last product's columns.
            let named = access.dims.iter().fold(0, |n, d| n | d.axes);
            access.scope &= named;
        }
        self.propagate(node, kernel, &access, reads);
    }

    /// The extents of the axes of a kernel that computes a node, and how it is read through them.
    /// They are those of its dimensions, unless a reduction below has other dimensions, by a reshape:
    /// of groups and their channels, say. The axes then are the parts that both are made of, so that the
    /// reduction can be part of the kernel.
    fn open(&self, node: NodeIndex) -> (Shape, SmallVec<[Dim; 6]>) {
        let shape = self.graph.nodes()[node as usize].shape_arc();
        let plain = |shape: &Shape| (0..shape.len()).map(|d| Dim::exact(1 << d.min(63))).collect();
        let parts = self.parts(node);
        match merged(shape, &parts).filter(|_| parts.len() < 60) {
            Some(groups) if parts != *shape => {
                let dims = groups.into_iter().map(|group| exact_dim(&parts, group)).collect();
                (parts, dims)
            }
            _ => (shape.clone(), plain(shape)),
        }
    }

    /// The extents of a node's dimensions, refined by those that reductions below have: below elementwise
    /// operations and a reshape.
    fn parts(&self, node: NodeIndex) -> Shape {
        let mut parts = self.graph.nodes()[node as usize].shape_arc().clone();
        let mut work = vec![node];
        let mut seen = FxHashSet::default();
        while let Some(n) = work.pop() {
            if seen.len() >= MAX_NODES || !seen.insert(n) {
                continue;
            }
            let value = &self.graph.nodes()[n as usize];
            if value.op().is_elementwise() {
                work.extend(self.graph.sources(n));
            } else if matches!(value.op(), Op::Reshape(_)) {
                let below = self.graph.sources(n)[0];
                let inner = self.graph.nodes()[below as usize].shape();
                if squeezed(value.shape(), inner).is_none()
                    && self.reduces_to_rows(below)
                    && let Some(finer) = refined(&parts, inner)
                {
                    parts = finer.into();
                }
            }
        }
        parts
    }

    /// Whether a value is a reduction, or made of its operand and a reduction of that.
    fn reduces_to_rows(&self, node: NodeIndex) -> bool {
        let mut at = node;
        while matches!(self.graph.nodes()[at as usize].op(), Op::Cast(_)) {
            at = self.graph.sources(at)[0];
        }
        matches!(self.graph.nodes()[at as usize].op(), Op::Reduce(..)) || self.reduces_below(at)
    }

    /// Whether a value is a narrower one's, where it is worth a buffer in no case: GPUs multiply what they read narrow, and
    /// memory is what all else waits for there. Processors would convert what a tile reads again and again.
    fn is_widening(&self, node: NodeIndex) -> bool {
        let value = &self.graph.nodes()[node as usize];
        let number = |dtype: DType| dtype.is_float() || dtype.is_int();
        let alike = |from: DType| from.is_float() == value.dtype().is_float() && number(from) && number(value.dtype());
        let wider = |from: DType| alike(from) && from.bytes() < value.dtype().bytes();
        let from = self.graph.sources(node).first().map(|s| self.graph.nodes()[*s as usize].dtype());
        matches!(value.op(), Op::Cast(_)) && !self.is_on_host(node) && from.is_some_and(wider)
    }

    /// Whether a value is made of dimensions in an order in which memory does not have them, joined to one: heads side by
    /// side, say. Kernels of products on GPUs read what is at equal distances.
    fn is_rearranged(&self, node: NodeIndex) -> bool {
        let value = &self.graph.nodes()[node as usize];
        let (Op::Reshape(_), [source]) = (value.op(), self.graph.sources(node)) else { return false };
        let below = &self.graph.nodes()[*source as usize];
        let (Op::Permute(order), false) = (below.op(), self.is_on_host(node)) else { return false };
        let together = |group: &Range<usize>| {
            let long: Vec<usize> = group.clone().filter(|d| below.shape()[*d] != Size::ONE).map(|d| order[d]).collect();
            long.windows(2).all(|pair| pair[1] == pair[0] + 1)
        };
        merged(value.shape_arc(), below.shape_arc()).is_some_and(|groups| !groups.iter().all(together))
    }

    /// Whether a value is computed by the host's processor.
    fn is_on_host(&self, node: NodeIndex) -> bool {
        Device::computes_on_host(self.graph.nodes()[node as usize].device())
    }

    /// Whether a buffer is best that of the operand under another shape: a reshape of what nothing else
    /// wants. The operand's own shape then tells the kernel its rows and columns.
    fn is_alias(&self, node: NodeIndex) -> bool {
        let &[source] = self.graph.sources(node) else { return false };
        let below = self.graph.nodes()[source as usize].op();
        let reshape = matches!(self.graph.nodes()[node as usize].op(), Op::Reshape(_));
        reshape && !is_source(below) && !self.output[source as usize] && self.users[source as usize].len() == 1
    }

    /// Takes the rows that are an operand of a sum of products into its kernel, if that has room; says whether it
    /// did.
    fn begin_chain(&mut self, node: NodeIndex, kernel: NodeIndex) -> bool {
        let elsewhere = !self.is_on_host(node);
        let absorbed = &self.kernels[kernel as usize];
        let room = MAX_NODES.saturating_sub(absorbed.nodes);
        if absorbed.extents.len() < 40 && self.graph.nodes()[kernel as usize].rank() < 32 {
            let found = chain(self.graph, &self.users, node, elsewhere).filter(|c| 2 * c.len() <= room);
            let kept = |n: NodeIndex| {
                self.output[n as usize] || self.users[n as usize].iter().any(|user| is_step(self.graph, *user))
            };
            let found = if elsewhere { found.and_then(|c| whole(self.graph, node, c, self.how, &kept)) } else { found };
            let any = found.is_some();
            self.roles.extend(found.into_iter().flatten());
            self.kernels[kernel as usize].chained |= any;
            return any;
        }
        false
    }

    fn fate(&mut self, node: NodeIndex, wanted: &Wanted) -> Fate {
        let value = &self.graph.nodes()[node as usize];
        match self.roles.get(&node) {
            Some(Role::Stage | Role::Scores) => return Fate::Stage,
            Some(Role::Operand) => return Fate::Realize,
            Some(Role::Row) if wanted.passes > 1 && is_transcendental(value.op()) => return Fate::Stage,
            Some(_) => return Fate::Inline,
            None => {}
        }
        let kernel = &self.kernels[wanted.kernel as usize];
        if is_transfer(self.graph, node) || (is_barrier(value.op()) && !matches!(value.op(), Op::Reduce(..))) {
            return Fate::Realize;
        }
        if kernel.contraction && self.is_rearranged(node) {
            return Fate::Realize;
        }
        if (passes_on(value.op()) || self.is_widening(node)) && kernel.nodes < MAX_MOVED {
            return Fate::Inline;
        }
        let wide = value.rank() > 60 || kernel.extents.len() > 56;
        let again = self.repeated(node, wanted);
        let code = instructions(value).saturating_mul(wanted.reads.variants);
        let full = kernel.nodes >= MAX_NODES || kernel.code.saturating_add(code) > code::MAX_CODE;
        let computed = is_barrier(value.op()) || !again.is_hidden();
        if wide || (full && computed) {
            return self.decide(node, again.estimate(), Verdict::Realize("the kernel would be too large"));
        }
        if let Op::Reduce(..) = value.op() {
            let verdict = self.why_apart(node, wanted).map_or(Verdict::Stage, Verdict::Realize);
            return self.decide(node, Repeated { times: 1.0, ..again }.estimate(), verdict);
        }
        let named = wanted.access.dims.iter().fold(0, |n, d| n | d.axes);
        let repeats = wanted.access.scope & !named != 0;
        let several = wanted.reads.many || wanted.reads.scattered != 0;
        if (several || repeats) && self.is_epilogue(node) {
            let verdict = Verdict::Realize("it is computed with the contraction below it");
            return self.decide(node, again.estimate(), verdict);
        }
        let hoisted = || kernel.rows.is_none_or(|rows| named & !rows == 0) && self.over_a_row(node, wanted);
        if several || (repeats && (again.is_hidden() || !hoisted())) {
            let verdict = again.why_once().map_or(Verdict::Inline, Verdict::Realize);
            return self.decide(node, again.estimate(), verdict);
        }
        if wanted.passes > 1 && is_transcendental(value.op()) {
            let again = Repeated { reads: wanted.passes.into(), times: wanted.passes.into(), ..again };
            let scratch = self.row_bytes(node, wanted);
            let verdict = match again.why_once() {
                _ if self.caches.holds(scratch) => Verdict::Stage,
                Some(why) => Verdict::Realize(why),
                None => Verdict::Inline,
            };
            return self.decide(node, Estimate { scratch, ..again.estimate() }, verdict);
        }
        Fate::Inline
    }

    /// Notes what becomes of a node, and why.
    fn decide(&mut self, node: NodeIndex, estimate: Estimate, verdict: Verdict) -> Fate {
        let value = &self.graph.nodes()[node as usize];
        let shape: Vec<String> = value.shape().iter().map(Size::to_string).collect();
        let what = format!("{} {}", value.op().name(), shape.join("x"));
        self.decisions.push(Decision { what, estimate, verdict });
        match verdict {
            Verdict::Stage => Fate::Stage,
            Verdict::Inline | Verdict::Merge => Fate::Inline,
            Verdict::Realize(_) | Verdict::Apart(_) | Verdict::InTwo => Fate::Realize,
        }
    }

    /// What it takes to compute a value wherever it is wanted.
    fn repeated(&self, node: NodeIndex, wanted: &Wanted) -> Repeated {
        let value = &self.graph.nodes()[node as usize];
        let kernel = &self.kernels[wanted.kernel as usize];
        let named = wanted.access.dims.iter().fold(0, |n, d| n | d.axes);
        let unnamed = (0..kernel.extents.len().min(64)).filter(|a| wanted.access.scope & !named & (1 << a) != 0);
        let rounds = unnamed.fold(1i64, |n, a| n.saturating_mul(kernel.extents[a].max(1)));
        let several = wanted.reads.many || wanted.reads.scattered != 0;
        let elements = elements(value);
        let reads = if several { wanted.reads.points / elements.max(1) as f64 } else { 1.0 };
        let operands = self.costs.operands[node as usize];
        // Along a row in cache nothing hides what is done at each point; masks that are larger than what
        // they are made of are computed there all the same, rather than read.
        let along = named >> kernel.over.len().min(63) != 0;
        let larger = elements.saturating_mul(value.dtype().bytes() as i64) > operands;
        Repeated {
            elements,
            dtype: value.dtype(),
            operands,
            operations: self.costs.operations[node as usize],
            reads,
            times: rounds as f64 * reads,
            waits: wanted.reads.waits || !along || larger,
        }
    }

    /// Bytes that a row of the kernel has of a value; or several rows side by side, where they lie so.
    fn row_bytes(&self, node: NodeIndex, wanted: &Wanted) -> i64 {
        let value = &self.graph.nodes()[node as usize];
        let rows = self.kernels[wanted.kernel as usize].rows.unwrap_or(0);
        let in_row = |d: &Dim| d.axes & !rows != 0;
        let dims = value.shape().iter().zip(&wanted.access.dims);
        let count = dims.filter(|(_, d)| in_row(d)).fold(1i64, |n, (e, _)| n.saturating_mul(bound(e)));
        let across = count > 1 && wanted.access.dims.last().is_some_and(|d| d.axes & rows != 0);
        count.saturating_mul(if across { memory::COLUMNS } else { 1 }).saturating_mul(value.dtype().bytes() as i64)
    }

    /// Whether a value is best computed with the contraction below it, which nothing else wants:
    /// that needs a buffer in any case.
    fn is_epilogue(&self, node: NodeIndex) -> bool {
        let count = self.graph.nodes()[node as usize].numel();
        let mut work = vec![(node, 0)];
        let mut visited = 0;
        while let Some((n, depth)) = work.pop() {
            visited += 1;
            let value = &self.graph.nodes()[n as usize];
            let alone = depth == 0 || self.users[n as usize].len() == 1;
            match value.op() {
                Op::Reduce(..) if alone && value.numel() == count && is_contraction(self.graph, n) => return true,
                op if alone && depth < 16 && visited < 64 && (op.is_elementwise() || passes_on(op)) => {
                    work.extend(self.graph.sources(n).iter().map(|s| (*s, depth + 1)));
                }
                _ => {}
            }
        }
        false
    }

    /// Whether a repeated value is of a row: it then is computed once a row, outside the loops that
    /// repeat it.
    fn over_a_row(&self, node: NodeIndex, wanted: &Wanted) -> bool {
        let exact = wanted.access.dims.iter().all(|d| d.is_single() || d.axes == 0);
        let output = self.kernels[wanted.kernel as usize].over.len() as u32;
        let own = wanted.access.dims.iter().all(|d| d.axes >> output.min(63) == 0);
        exact && own && !self.kernels[wanted.kernel as usize].contraction && self.reduces_below(node)
    }

    /// Whether a few steps down there is a plain reduction.
    fn reduces_below(&self, node: NodeIndex) -> bool {
        let mut work = vec![(node, 0)];
        let mut visited = 0;
        while let Some((n, depth)) = work.pop() {
            visited += 1;
            if matches!(self.graph.nodes()[n as usize].op(), Op::Reduce(..)) {
                return !is_contraction(self.graph, n);
            }
            if depth < 8 && visited < 32 {
                work.extend(self.graph.sources(n).iter().map(|s| (*s, depth + 1)));
            }
        }
        false
    }

    /// Why a reduction does not become part of the kernel that wants it, if it does not.
    fn why_apart(&self, node: NodeIndex, wanted: &Wanted) -> Option<&'static str> {
        let kernel = &self.kernels[wanted.kernel as usize];
        let consumer = &self.graph.nodes()[wanted.kernel as usize];
        let rank = kernel.over.len() as u32;
        let mut rows = 0u64;
        for dim in &wanted.access.dims {
            let own = dim.axes >> rank.min(63) == 0;
            if !(dim.axes == 0 || (dim.is_single() && own && rows & dim.axes == 0)) {
                return Some("it is not read by rows");
            }
            rows |= dim.axes;
        }
        if wanted.reads.many || wanted.reads.scattered != 0 || wanted.kernel == node {
            return Some("it is wanted in several places");
        }
        let is_reduction =
            matches!(consumer.op(), Op::Reduce(..) | Op::Scan(..) | Op::Scatter(..)) || is_order(consumer.op());
        let long = (0..rank).filter(|d| kernel.over[*d as usize].as_const() != Some(1));
        let all: u64 = long.fold(0, |all, d| all | 1 << d);
        if is_contraction(self.graph, node) {
            let elementwise = !kernel.contraction && kernel.rows.is_none() && !is_reduction;
            let once = wanted.passes == 1 && all & !rows == 0 && wanted.access.scope & !rows == 0;
            return (!(elementwise && once)).then_some("what reads the contraction is no epilogue");
        }
        if kernel.contraction || kernel.rows.is_some_and(|r| r != rows) || is_reduction {
            return Some("the kernel has other rows");
        }
        let product = |bits: u64| {
            let dims = (0..rank).filter(|d| bits & (1 << d) != 0);
            dims.fold(1i64, |n, d| n.saturating_mul(bound(&kernel.over[d as usize])))
        };
        let read = elements(&self.graph.nodes()[self.graph.sources(node)[0] as usize]);
        // Reductions of few results are cut in parts, if that is all there is to the kernel.
        let small = product(all) <= tasks::CPU.task && read <= tasks::CPU.task;
        let parallel = product(rows) >= tasks::FEW || product(all) <= product(rows) || small;
        if !parallel {
            return Some("its few rows would be all tasks");
        }
        let strips = self.strips(node).is_none_or(|(rows, bytes)| self.caches.hold_strips(rows, bytes, true));
        (!strips).then_some("strips of its columns would be read from memory again")
    }

    /// Of a reduction across rows of memory, how many rows it reduces, and how many bytes these are apart.
    fn strips(&self, node: NodeIndex) -> Option<(i64, i64)> {
        let Op::Reduce(_, reduced) = self.graph.nodes()[node as usize].op() else { return None };
        let (memory, order) = in_memory_order(self.graph, self.graph.sources(node)[0]);
        let shape = memory.shape();
        let is_folded = |d: &usize| reduced.contains(&order[*d]) && shape[*d] != Size::ONE;
        let last = (0..shape.len()).rfind(is_folded)?;
        let product =
            |dims: &mut dyn Iterator<Item = usize>| dims.fold(1i64, |n, d| n.saturating_mul(bound(&shape[d])));
        let (rows, columns) = (product(&mut (0..=last).filter(is_folded)), product(&mut (last + 1..shape.len())));
        (columns > 1).then(|| (rows, columns.saturating_mul(memory.dtype().bytes() as i64)))
    }
}
