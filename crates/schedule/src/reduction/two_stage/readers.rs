//! Values in memory, and everything that reads them.
//!
//! Reading something once spares nothing unless all that reads it can do so together: a kernel that is left over reads
//! it anyway, and has lost what it shared. So what is in memory is looked at with all its readers, and with what these
//! read besides. Where one of them reads in another order, waits for another, or is anything but a reduction or a map, the
//! others are left as they are.

use super::in_two::{deviations, is_order, is_reordered};
use crate::costs::limits::kernels::MAX_NODES;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Op};
use svod_ir::kernel::Monoid;
use svod_ir::lowered::cost::instructions_of;
use svod_ir::size::Size;

/// Values in memory, of as many elements, and what reads them.
#[derive(Debug, Default)]
pub(super) struct Readers {
    /// The values in memory, each with those that read it.
    pub memory: Vec<(NodeIndex, Vec<NodeIndex>)>,
    /// Reductions of everything.
    pub totals: Vec<NodeIndex>,
    /// Other reductions.
    pub reductions: Vec<NodeIndex>,
    /// Outputs that have an element for each that is read.
    pub maps: Vec<NodeIndex>,
    /// Whether something that is repeated is read besides, such as a bias for each row.
    pub repeats: bool,
    /// Vector instructions of what all of them compute of an element.
    pub instructions: u32,
}

/// A graph with what is asked of its nodes again and again.
pub(super) struct Reads<'g> {
    graph: &'g Graph,
    users: Vec<Vec<NodeIndex>>,
    root: Vec<bool>,
    /// How many values that pass through memory depend on one another below each node, itself included.
    level: Vec<u32>,
}

impl<'g> Reads<'g> {
    pub fn of(graph: &'g Graph) -> Reads<'g> {
        let mut root = vec![false; graph.len()];
        graph.roots().iter().for_each(|r| root[*r as usize] = true);
        let mut level: Vec<u32> = Vec::with_capacity(graph.len());
        for (node, sources) in graph.iter() {
            let own = u32::from(is_memory(node.op()) && !sources.is_empty());
            level.push(own + sources.iter().map(|s| level[*s as usize]).max().unwrap_or(0));
        }
        Reads { graph, users: graph.users(), root, level }
    }

    fn op(&self, node: NodeIndex) -> &'g Op {
        self.graph.nodes()[node as usize].op()
    }

    /// All that reads what a reduction reads, if it can be read by all at once.
    pub fn with(&self, reduction: NodeIndex) -> Option<Readers> {
        let mut found = Readers::default();
        let (mut work, mut seen): (Vec<NodeIndex>, Vec<NodeIndex>) = (vec![reduction], Vec::new());
        let begins = self.begins(reduction);
        while let Some(reader) = work.pop() {
            if seen.contains(&reader) {
                continue;
            }
            if self.begins(reader) != begins {
                return None;
            }
            seen.push(reader);
            let of = match self.op(reader) {
                Op::Reduce(..) if self.is_total(reader) => &mut found.totals,
                Op::Reduce(..) => &mut found.reductions,
                _ => &mut found.maps,
            };
            of.push(reader);
            for base in self.memory(reader, &mut found)? {
                let at = found.memory.iter().position(|(m, ..)| *m == base).unwrap_or(found.memory.len());
                if at == found.memory.len() {
                    found.memory.push((base, Vec::new()));
                    work.extend(self.readers(base)?);
                }
                found.memory[at].1.push(reader);
            }
        }
        Some(found)
    }

    /// Whether a node is a reduction of everything.
    pub fn is_total(&self, node: NodeIndex) -> bool {
        matches!(self.op(node), Op::Reduce(..)) && self.graph.nodes()[node as usize].numel() == Size::ONE
    }

    /// What a total sums the squared deviations of, which nothing else reads, if it is from the mean of just that.
    pub fn centred(&self, total: NodeIndex) -> Option<NodeIndex> {
        let is_sum = |n: NodeIndex| matches!(self.op(n), Op::Reduce(Monoid::Sum, _));
        if !is_sum(total) {
            return None;
        }
        let square = self.reduced(total);
        deviations(&self.graph.nodes()[square as usize])?;
        let deviation = self.graph.sources(square)[0];
        let [values, centre] = self.graph.sources(deviation)[..] else { return None };
        let alone = [square, deviation].iter().all(|n| !self.root[*n as usize]);
        let sum = self.only_fold(centre).filter(|sum| alone && is_sum(*sum))?;
        (self.reduced(sum) == self.unordered(values)).then_some(values)
    }

    /// After how many values, one made of the other, a reader can begin. That of squared deviations begins with that of
    /// the mean.
    fn begins(&self, reader: NodeIndex) -> u32 {
        let from = match self.op(reader) {
            Op::Reduce(..) => self.centred(reader).unwrap_or(self.graph.sources(reader)[0]),
            _ => reader,
        };
        self.level[from as usize]
    }

    /// The only reduction that a value of one element is computed of.
    fn only_fold(&self, of: NodeIndex) -> Option<NodeIndex> {
        let (mut work, mut seen, mut found) = (vec![of], 0, None);
        while let Some(node) = work.pop() {
            seen += 1;
            let is_reduction = matches!(self.op(node), Op::Reduce(..));
            if seen == MAX_NODES || (is_reduction && found.is_some_and(|f| f != node)) {
                return None;
            }
            match self.op(node) {
                Op::Reduce(..) => found = Some(node),
                op if keeps_order(op) || matches!(op, Op::Expand(_)) => work.extend(self.graph.sources(node)),
                _ => {}
            }
        }
        found
    }

    /// What a reduction reduces, whatever its order.
    fn reduced(&self, reduction: NodeIndex) -> NodeIndex {
        self.unordered(self.graph.sources(reduction)[0])
    }

    fn unordered(&self, mut node: NodeIndex) -> NodeIndex {
        while is_reordered(self.op(node)) {
            node = self.graph.sources(node)[0];
        }
        node
    }

    /// The values in memory that a reader reads, element by element. Nothing where it reads others in another order. Notes
    /// what it computes of them.
    fn memory(&self, reader: NodeIndex, all: &mut Readers) -> Option<Vec<NodeIndex>> {
        let mut from = reader;
        if matches!(self.op(reader), Op::Reduce(..)) {
            from = self.graph.sources(reader)[0];
            // A total has no order.
            while self.is_total(reader) && is_order(self.op(from)) {
                from = self.graph.sources(from)[0];
            }
        }
        let mut found = Vec::new();
        walk(from, |node, work| {
            if let Op::Alu(alu) = self.op(node) {
                all.instructions += instructions_of(*alu, self.graph.nodes()[node as usize].dtype());
            }
            match self.op(node) {
                op if keeps_order(op) => work.extend(self.graph.sources(node)),
                op if is_memory(op) => found.push(node),
                // What is repeated is little in memory.
                Op::Expand(_) => {
                    all.repeats |= self.graph.nodes()[self.graph.sources(node)[0] as usize].numel() != Size::ONE
                }
                Op::Const(_) | Op::Size(_) | Op::Bind(_) | Op::Range(_) | Op::Rand(_) => {}
                _ => return None,
            }
            Some(())
        })?;
        Some(found)
    }

    /// What reads a value in memory, if that is reductions and outputs made of it element by element.
    fn readers(&self, base: NodeIndex) -> Option<Vec<NodeIndex>> {
        // An output that is memory is a copy of it.
        if self.root[base as usize] && self.op(base).leaf().is_some() {
            return None;
        }
        let mut found = Vec::new();
        walk(base, |node, work| {
            if node != base && self.root[node as usize] {
                found.push(self.written(node)?);
            }
            for &user in &self.users[node as usize] {
                match self.op(user) {
                    op if keeps_order(op) => work.push(user),
                    op if is_order(op) => found.extend(self.totals_of(user)?),
                    Op::Reduce(by, _) if by.alu().is_some() => found.push(user),
                    _ => return None,
                }
            }
            Some(())
        })?;
        Some(found)
    }

    /// What computes an output: the operation on elements of which it is another shape.
    fn written(&self, root: NodeIndex) -> Option<NodeIndex> {
        let mut node = root;
        while let Op::Reshape(_) = self.op(node) {
            node = self.graph.sources(node)[0];
        }
        let twice = node != root && self.root[node as usize];
        (self.op(node).is_elementwise() && !twice).then_some(node)
    }

    /// The totals of a value in another order, if nothing else reads that.
    fn totals_of(&self, turned: NodeIndex) -> Option<Vec<NodeIndex>> {
        let mut found = Vec::new();
        for &user in &self.users[turned as usize] {
            match self.op(user) {
                op if is_order(op) => found.extend(self.totals_of(user)?),
                Op::Reduce(by, _) if by.alu().is_some() && self.is_total(user) => found.push(user),
                _ => return None,
            }
        }
        (!self.root[turned as usize]).then_some(found)
    }
}

/// Looks at a node, and once at each that `step` adds to those that are still to be looked at. Nothing where `step` gives
/// nothing, or they are too many.
fn walk(from: NodeIndex, mut step: impl FnMut(NodeIndex, &mut Vec<NodeIndex>) -> Option<()>) -> Option<()> {
    let (mut work, mut seen) = (vec![from], Vec::new());
    while let Some(node) = work.pop() {
        if seen.contains(&node) {
            continue;
        }
        if seen.len() == MAX_NODES {
            return None;
        }
        seen.push(node);
        step(node, &mut work)?;
    }
    Some(())
}

/// Whether a node has an element for each of its operands', in their order.
fn keeps_order(op: &Op) -> bool {
    op.is_elementwise() || matches!(op, Op::Reshape(_))
}

/// Whether a value is in memory before it is read.
fn is_memory(op: &Op) -> bool {
    let reduced = matches!(op, Op::Reduce(..) | Op::Scan(..) | Op::Scatter(..) | Op::Sort(..) | Op::ArgSort(..));
    reduced || matches!(op, Op::Leaf(_) | Op::Contiguous | Op::Loop(..) | Op::Host(..))
}
