//! What a graph with arguments was made of, so that the next one like it needs none.
//!
//! A [`Form`] says which numbers of an outline are arguments, and which are kept with what values. All graphs of a form have one
//! schedule; where its arguments are in the graph at hand follows from positions, without building another graph.

use super::counted::bytes_of;
use super::law::{Law, Linear, Variables};
use super::leaves_of;
use crate::error::Result;
use crate::instantiate::Scheduled;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Weak};
use svod_device::Device;
use svod_dtype::Const;
use svod_ir::graph::key::GraphKey;
use svod_ir::graph::outline::Outline;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Leaf, Op, Shape, UOp};
use svod_ir::size::BoundVariable;

/// Numbers that are arguments, and those that are not.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Numbers {
    pub variables: Variables,
    /// For each size what it follows from, or its value.
    pub sizes: Vec<Number>,
    pub constants: Vec<Constant>,
}

/// An extent or a position.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Number {
    Kept(i64),
    Follows(Law),
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Constant {
    Kept(Const),
    Leaf,
    Position(Linear),
}

impl Number {
    pub(super) fn law(&self) -> Option<&Law> {
        if let Number::Follows(law) = self { Some(law) } else { None }
    }
}

impl Numbers {
    /// The variables' values for a graph whose other numbers are those that are kept.
    fn read(&self, outline: &Outline) -> Option<Vec<BoundVariable>> {
        let values = self.variables.solve(outline, &self.sizes)?;
        let kept = self.constants.iter().zip(&outline.constants).all(|(constant, at)| match constant {
            Constant::Kept(value) => *value == at.value,
            Constant::Leaf => true,
            Constant::Position(linear) => self.variables.at(linear, &values) == Some(at.value.as_i64()),
        });
        kept.then_some(values)
    }

    /// Which constants are leaves.
    pub(super) fn leaves(&self) -> Vec<bool> {
        self.constants.iter().map(|constant| *constant == Constant::Leaf).collect()
    }
}

/// Where a leaf of the graph with arguments comes from.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    /// It is a leaf of the graph at hand, in the order of the key.
    Own(usize),
    /// It stands for a constant of the outline.
    Constant(usize),
}

/// Graphs that have one schedule.
pub(crate) struct Form {
    numbers: Numbers,
    scheduled: Weak<Scheduled>,
    hash: [u8; 32],
    leaves: Arc<[Source]>,
    /// The extents of these leaves, which variables give.
    shapes: Arc<[Shape]>,
    /// For each node of the graph with arguments the node of the outline.
    nodes: Vec<Option<usize>>,
}

/// A graph of a known form: the key of the graph with arguments, its schedule, and whose lines its nodes have.
pub(crate) struct Formed {
    pub key: GraphKey,
    pub scheduled: Arc<Scheduled>,
    /// The extents that the leaves have in all graphs of the form, whose variables the key's bindings give a value.
    pub shapes: Arc<[Shape]>,
    /// Where each of the leaves comes from.
    pub sources: Arc<[Source]>,
    /// For each node of the graph with arguments that of the graph at hand.
    pub nodes: Vec<Option<NodeIndex>>,
}

/// A graph with arguments, and of what it was made.
pub(crate) struct Made {
    pub graph: Graph,
    pub key: GraphKey,
    numbers: Numbers,
    /// The new nodes in the places of those of the outline.
    nodes: Vec<UOp>,
    constants: Vec<Option<UOp>>,
}

impl Made {
    /// The graph of new nodes in place of a graph's.
    pub(super) fn new(
        graph: &Graph,
        outline: &Outline,
        nodes: Vec<UOp>,
        constants: Vec<Option<UOp>>,
        numbers: Numbers,
        bindings: Vec<BoundVariable>,
    ) -> Result<Made> {
        let roots: Vec<UOp> = graph.roots().iter().map(|r| nodes[*r as usize].clone()).collect();
        let graph = Graph::new(&roots);
        let mut key = GraphKey::new(&graph)?;
        key.bindings.extend(bindings.iter().cloned());
        key.fixed.extend(bindings);
        let nodes = outline.nodes.iter().map(|at| nodes[*at as usize].clone()).collect();
        Ok(Made { graph, key, numbers, nodes, constants })
    }

    /// The form, once the graph has a schedule. None of a graph with loops, whose bodies have nodes of their own, or
    /// of one that another thread has forced in parts meanwhile.
    pub(crate) fn form(self, scheduled: &Arc<Scheduled>) -> Option<Form> {
        if self.graph.nodes().iter().any(|node| matches!(node.op(), Op::Loop(..))) {
            return None;
        }
        let own: FxHashMap<u64, usize> = self.nodes.iter().enumerate().map(|(at, node)| (node.id(), at)).collect();
        let given = self.nodes.iter().filter(|node| node.op().leaf().is_some()).enumerate();
        let mut leaves: FxHashMap<u64, Source> = given.map(|(i, node)| (node.id(), Source::Own(i))).collect();
        let constants = self.constants.iter().enumerate();
        leaves.extend(constants.filter_map(|(i, node)| Some((node.as_ref()?.id(), Source::Constant(i)))));
        let read = || self.graph.nodes().iter().filter(|node| node.op().leaf().is_some());
        let shapes = read().map(|node| node.shape_arc().clone()).collect();
        let leaves = read().map(|node| leaves.get(&node.id()).copied()).collect::<Option<_>>()?;
        let nodes = self.graph.nodes().iter().map(|node| own.get(&node.id()).copied()).collect();
        let (numbers, hash) = (self.numbers, self.key.hash);
        Some(Form { numbers, scheduled: Arc::downgrade(scheduled), hash, leaves, shapes, nodes })
    }
}

impl Form {
    /// Whether its schedule is still there.
    pub(super) fn is_known(&self) -> bool {
        self.scheduled.strong_count() > 0
    }

    /// Whether the graph of an outline is of it.
    pub(super) fn fits(&self, outline: &Outline) -> bool {
        self.is_known() && self.numbers.read(outline).is_some()
    }

    pub(super) fn bytes(&self) -> usize {
        let numbers = bytes_of(&self.numbers.sizes) + bytes_of(&self.numbers.constants);
        numbers + size_of_val(&*self.leaves) + bytes_of(&self.nodes)
    }

    /// The graph of this key and outline, if it is of this form.
    pub(super) fn read(&self, key: &GraphKey, outline: &Outline, device: &Device) -> Result<Option<Formed>> {
        let (Some(values), Some(scheduled)) = (self.numbers.read(outline), self.scheduled.upgrade()) else {
            return Ok(None);
        };
        let constants = leaves_of(outline, &self.numbers.leaves(), device)?;
        let leaf = |source: &Source| -> Option<Leaf> {
            match *source {
                Source::Own(i) => key.leaves.get(i).cloned(),
                Source::Constant(i) => constants[i].as_ref()?.op().leaf().cloned(),
            }
        };
        let Some(leaves) = self.leaves.iter().map(leaf).collect() else { return Ok(None) };
        let key = GraphKey {
            hash: self.hash,
            leaves,
            bindings: key.bindings.iter().chain(&values).cloned().collect(),
            variables: key.variables.clone(),
            fixed: key.fixed.iter().chain(&values).cloned().collect(),
            functions: key.functions.clone(),
        };
        let nodes = self.nodes.iter().map(|at| Some(outline.nodes[(*at)?])).collect();
        Ok(Some(Formed { key, scheduled, shapes: self.shapes.clone(), sources: self.leaves.clone(), nodes }))
    }
}
