//! The text form of a graph: the variables, then one line per node, operands before users.
//!
//! ```text
//! var n = 1..=8
//! %0: f32[4, n] = leaf data storage=0 offset=0 device="CPU"
//! %1: f32[4] = reduce %0 by=sum axes=[1]  # model.py:3 (Net.head)
//! return %1
//! ```
//!
//! Numbers of nodes and storages follow the order of the walk, so equal structures print equally.
//! [`Graph::parse`](Graph::parse) reads it back.

use super::data::Datum;
use super::op::{Op, ShowShape};
use super::uop::UOp;
use super::walk::Graph;
use crate::size::{Size, Variable};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::fmt;

/// The text form of what the roots reach.
pub fn print(roots: &[UOp]) -> String {
    Graph::new(roots).to_string()
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for var in variables(self) {
            writeln!(f, "var {var} = {}..={}", Variable::min(&var), Variable::max(&var))?;
        }
        let mut storages: FxHashMap<u64, usize> = FxHashMap::default();
        for (i, (node, sources)) in self.iter().enumerate() {
            let (dtype, shape) = (node.dtype().short(), ShowShape(node.shape()));
            write!(f, "%{i}: {dtype}{shape} = {}", node.op().name())?;
            write_list(f, sources)?;
            match node.op() {
                Op::Leaf(leaf) => {
                    let fresh = storages.len();
                    let storage = *storages.entry(leaf.storage()).or_insert(fresh);
                    write!(f, " {} storage={storage} offset={} device=", leaf.class(), leaf.offset())?;
                    leaf.data().device().write(f)?;
                }
                op => f.write_str(&op.data_text())?,
            }
            match node.origin() {
                Some(origin) => writeln!(f, "  # {origin}")?,
                None => writeln!(f)?,
            }
        }
        f.write_str("return")?;
        write_list(f, self.roots())?;
        writeln!(f)
    }
}

/// The variables that a graph mentions: each is in some extent, or in an operation that stands for it.
fn variables(graph: &Graph) -> BTreeSet<Variable> {
    let mut found = BTreeSet::new();
    for node in graph.nodes() {
        found.extend(node.shape().iter().flat_map(Size::variables));
        match node.op() {
            Op::Size(size) => found.extend(size.variables()),
            Op::Pad(pairs, _) | Op::Shrink(pairs) => {
                found.extend(pairs.iter().flat_map(|(a, b)| [a, b]).flat_map(Size::variables));
            }
            Op::Window(_, size, ..) => found.extend(size.variables()),
            Op::Bind(bound) | Op::Let(bound) => drop(found.insert(bound.variable().clone())),
            _ => {}
        }
    }
    found
}

fn write_list(f: &mut fmt::Formatter<'_>, nodes: &[u32]) -> fmt::Result {
    for (i, n) in nodes.iter().enumerate() {
        write!(f, "{} %{n}", if i == 0 { "" } else { "," })?;
    }
    Ok(())
}
