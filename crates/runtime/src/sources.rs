//! What reads computed values from.
//!
//! A read keeps what it computes, and so the expressions are gone. A plan over such a value would not follow an input that
//! the value was made of, in silence; so memory that a read computed knows the memory that it came from, weakly, and
//! `prepare` refuses it. A value that a program has asked to be computed (`realize`) is a constant, as it says.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::sync::{Arc, Weak};
use svod_device::Storage;
use svod_ir::graph::Leaf;

use crate::memory::Memory;

/// What a read computed a value from: storages, and their versions then. Nothing where the value was computed on request,
/// as a constant from then on.
pub type Sources = Arc<[(Weak<Storage>, u64)]>;

/// Sources that a value knows at most: of more, the oldest are forgotten.
const MOST_SOURCES: usize = 256;
/// Sources that are told from one another without a set.
const FEW: usize = 16;

/// The sources of what is computed from these leaves: they, and what reads computed them from that is still alive.
pub fn sources_of<'a>(leaves: impl Iterator<Item = &'a Leaf>) -> Sources {
    let mut all: SmallVec<[(Weak<Storage>, u64); FEW]> = SmallVec::new();
    let mut seen = FxHashSet::default();
    for leaf in leaves {
        let Some(memory) = leaf.downcast::<Memory>() else { continue };
        let own = (Arc::downgrade(memory.buffer().storage()), leaf.version());
        for (storage, version) in memory.sources().iter().chain([&own]) {
            if all.len() == FEW && seen.is_empty() {
                seen.extend(all.iter().map(|(storage, version)| (storage.as_ptr(), *version)));
            }
            let is_new = match all.len() < FEW {
                true => !all.iter().any(|(known, at)| known.ptr_eq(storage) && at == version),
                false => seen.insert((storage.as_ptr(), *version)),
            };
            if is_new && storage.strong_count() > 0 {
                all.push((storage.clone(), *version));
            }
        }
    }
    let forgotten = all.len().saturating_sub(MOST_SOURCES);
    all.drain(..forgotten);
    Sources::from_iter(all)
}
