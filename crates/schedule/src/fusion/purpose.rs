//! How a graph is cut into kernels.

use crate::costs::Caches;
use svod_ir::pass::{Pass, PassSet, bisect};
use svod_ir::target::MatrixUnits;

/// How a graph is cut into kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purpose {
    /// Whether leaves of class `Data` count as constant, so that a plan may pack them once.
    pub prepared: bool,
    /// Whether every float operation stays the one that was written, and reductions go from left to right.
    pub strict: bool,
    /// The caches of the machine that it is computed on.
    pub caches: Caches,
    /// What devices that are no hosts multiply matrices with.
    pub matrix: MatrixUnits,
    /// Optional passes that are left out.
    pub skipped: PassSet,
}

impl Purpose {
    /// Whether a pass runs: to be asked once for each of its runs, which [`bisect`] counts.
    pub fn runs(self, pass: Pass) -> bool {
        !pass.row().optional || !self.skipped.contains(pass) && bisect::runs(pass)
    }
}
