//! Where in the user's program a node was made: a side table, outside of identity and cache key.

use super::uop::UOp;
use parking_lot::Mutex;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A line of the user's program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// File name.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
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
        let known = self.0.has_origin.load(Ordering::Acquire);
        if known { ORIGINS.lock().get(&self.id()).cloned() } else { None }
    }
}

pub(super) fn remove(id: u64) {
    let origin = ORIGINS.lock().remove(&id);
    drop(origin);
}
