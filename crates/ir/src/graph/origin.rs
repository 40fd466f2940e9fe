//! Where in the user's program a node was made: first come, first kept, outside of identity and cache key.

use super::uop::UOp;
use super::walk::{Graph, NodeIndex};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A line of the user's program, and the part of the model that ran it; or what a node of a model is called that no
/// program wrote. Two are equal where these are, whatever is called there.
#[derive(Clone, Debug)]
pub struct Origin {
    /// File name; or what the node of a model is called.
    pub file: Arc<str>,
    /// Line, from 1; 0 of the node of a model.
    pub line: u32,
    /// Path of the module that was called, such as `Bert.layers.0.attention`.
    pub module: Option<Arc<str>>,
    /// The function or operator that the line calls, as the user writes it, where that is known.
    pub called: Option<Arc<str>>,
    /// Whether it is the derivative of that which was made.
    pub is_derivative: bool,
}

impl Origin {
    /// A line outside of any module.
    pub fn new(file: &str, line: u32) -> Origin {
        Origin { file: file.into(), line, module: None, called: None, is_derivative: false }
    }

    /// The node of a model, by what messages call it.
    pub fn of_node(name: &str) -> Origin {
        Origin::new(name, 0)
    }

    fn place(&self) -> (&str, u32, Option<&str>) {
        (&self.file, self.line, self.module.as_deref())
    }
}

impl PartialEq for Origin {
    fn eq(&self, other: &Origin) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Origin {}

impl Hash for Origin {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.place().hash(state);
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file)?,
            line => write!(f, "{}:{line}", self.file)?,
        }
        self.module.as_ref().map_or(Ok(()), |module| write!(f, " ({module})"))
    }
}

impl UOp {
    /// Notes where the node was made, unless that is known already.
    pub fn set_origin(&self, origin: &Origin) {
        self.0.origin.get_or_init(|| origin.clone());
    }

    /// Where the node was made first.
    pub fn origin(&self) -> Option<&Origin> {
        self.0.origin.get()
    }

    /// Takes over where another node was made, one that this one stands for.
    pub fn inherit_origin(&self, from: &UOp) {
        if let Some(origin) = from.origin() {
            self.set_origin(origin);
        }
    }

    /// Takes over where a node was made whose derivative this one is a part of.
    pub fn inherit_origin_as_derivative(&self, of: &UOp) {
        if let Some(origin) = of.origin() {
            self.0.origin.get_or_init(|| Origin { is_derivative: true, ..origin.clone() });
        }
    }
}

impl Graph {
    /// Where each node was made. What an operation made on its way to its result has the origin of
    /// that result; what serves results of several lines has none.
    pub fn origins(&self) -> Vec<Option<&Origin>> {
        let mut origins: Vec<Option<&Origin>> = self.nodes().iter().map(UOp::origin).collect();
        let mut several = vec![false; self.len()];
        // Users come after their operands.
        for user in (0..self.len()).rev() {
            for &operand in self.sources(user as NodeIndex) {
                let operand = operand as usize;
                if several[operand] || self.nodes()[operand].origin().is_some() {
                    continue;
                }
                let known = origins[operand].is_some() && origins[user].is_some();
                several[operand] = several[user] || known && origins[operand] != origins[user];
                origins[operand] = match several[operand] {
                    true => None,
                    false => origins[operand].or(origins[user]),
                };
            }
        }
        origins
    }
}
