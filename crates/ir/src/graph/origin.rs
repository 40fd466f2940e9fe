//! Where in the user's program a node was made: a side table, outside of identity and cache key.

use super::uop::UOp;
use super::walk::{Graph, NodeIndex};
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A line of the user's program, and the part of the model that ran it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// File name.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Path of the module that was called, such as `Bert.layers.0.attention`.
    pub module: Option<Arc<str>>,
}

impl Origin {
    /// A line outside of any module.
    pub fn new(file: &str, line: u32) -> Origin {
        Origin { file: file.into(), line, module: None }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        self.module.as_ref().map_or(Ok(()), |module| write!(f, " ({module})"))
    }
}

static ORIGINS: Mutex<FxHashMap<u64, Origin>> = Mutex::new(FxHashMap::with_hasher(FxBuildHasher));

impl UOp {
    /// Notes where the node was made, unless that is known already.
    pub fn set_origin(&self, origin: &Origin) {
        if !self.0.has_origin.swap(true, Ordering::AcqRel) {
            ORIGINS.lock().insert(self.id(), origin.clone());
        }
    }

    /// Where the node was made first.
    pub fn origin(&self) -> Option<Origin> {
        if self.has_origin() { ORIGINS.lock().get(&self.id()).cloned() } else { None }
    }

    /// Whether it is known where the node was made.
    pub fn has_origin(&self) -> bool {
        self.0.has_origin.load(Ordering::Acquire)
    }

    /// Takes over where another node was made, one that this one stands for.
    pub fn inherit_origin(&self, from: &UOp) {
        if from != self
            && let Some(origin) = from.origin()
        {
            self.set_origin(&origin);
        }
    }
}

impl Graph {
    /// Where each node was made, and each of the bodies of its loops, see [`Graph::bodies`].
    pub fn all_origins(&self) -> Vec<Option<Origin>> {
        let bodies = self.bodies();
        self.origins().into_iter().chain(bodies.iter().flat_map(|(_, graph, _)| graph.origins())).collect()
    }

    /// Where each node was made. What an operation made on its way to its result has the origin of
    /// that result; what serves results of several lines has none.
    pub fn origins(&self) -> Vec<Option<Origin>> {
        let own: Vec<Option<Origin>> = {
            let table = ORIGINS.lock();
            self.nodes().iter().map(|node| table.get(&node.id()).cloned()).collect()
        };
        let mut origins = own.clone();
        let mut several = vec![false; self.len()];
        // Users come after their operands.
        for user in (0..self.len()).rev() {
            for &operand in self.sources(user as NodeIndex) {
                let operand = operand as usize;
                if own[operand].is_some() || several[operand] {
                    continue;
                }
                let known = origins[operand].is_some() && origins[user].is_some();
                several[operand] = several[user] || known && origins[operand] != origins[user];
                origins[operand] = match several[operand] {
                    true => None,
                    false => origins[operand].take().or_else(|| origins[user].clone()),
                };
            }
        }
        origins
    }
}

pub(super) fn remove(id: u64) {
    let origin = ORIGINS.lock().remove(&id);
    drop(origin);
}
