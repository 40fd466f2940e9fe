//! The text form of a graph: one line per node, operands before users.
//!
//! ```text
//! %0: f32[4, n] = leaf data storage=0 offset=0
//! %1: f32[4] = reduce %0 by=sum axes=[1]
//! return %1
//! ```
//!
//! Numbers of nodes and storages follow the order of the walk, so equal structures print equally.

use super::op::{Op, ShowShape};
use super::uop::UOp;
use super::walk::Graph;
use rustc_hash::FxHashMap;
use std::fmt;

/// The text form of what the roots reach.
pub fn print(roots: &[UOp]) -> String {
    Graph::new(roots).to_string()
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut storages: FxHashMap<u64, usize> = FxHashMap::default();
        for (i, (node, sources)) in self.iter().enumerate() {
            let (dtype, shape) = (node.dtype().short(), ShowShape(node.shape()));
            write!(f, "%{i}: {dtype}{shape} = {}", node.op().name())?;
            write_list(f, sources)?;
            match node.op() {
                Op::Leaf(leaf) => {
                    let fresh = storages.len();
                    let storage = *storages.entry(leaf.storage()).or_insert(fresh);
                    write!(f, " {} storage={storage} offset={}", leaf.class(), leaf.offset())?;
                }
                op => f.write_str(&op.data_text())?,
            }
            match node.origin() {
                Some(origin) => writeln!(f, "  ; {origin}")?,
                None => writeln!(f)?,
            }
        }
        f.write_str("return")?;
        write_list(f, self.roots())?;
        writeln!(f)
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, nodes: &[u32]) -> fmt::Result {
    for (i, n) in nodes.iter().enumerate() {
        write!(f, "{} %{n}", if i == 0 { "" } else { "," })?;
    }
    Ok(())
}
