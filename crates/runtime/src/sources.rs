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
    collected(leaves.flat_map(from))
}

/// The sources of memory that had some, and to which elements of a leaf were written.
pub fn with_source(known: Sources, leaf: &Leaf) -> Sources {
    let all = from(leaf);
    let is_known = |one: &(Weak<Storage>, u64)| known.iter().any(|(of, at)| of.ptr_eq(&one.0) && *at == one.1);
    if all.iter().all(is_known) { known } else { collected(known.iter().cloned().chain(all)) }
}

/// What the memory of a leaf was made of, and itself.
fn from(leaf: &Leaf) -> SmallVec<[(Weak<Storage>, u64); FEW]> {
    let Some(memory) = leaf.downcast::<Memory>() else { return SmallVec::new() };
    let own = (Arc::downgrade(memory.buffer().storage()), leaf.version());
    memory.sources().iter().cloned().chain([own]).collect()
}

/// Each of them once, of those that are alive.
fn collected(given: impl Iterator<Item = (Weak<Storage>, u64)>) -> Sources {
    let mut all: SmallVec<[(Weak<Storage>, u64); FEW]> = SmallVec::new();
    let mut seen = FxHashSet::default();
    for (storage, version) in given {
        if all.len() == FEW && seen.is_empty() {
            seen.extend(all.iter().map(|(storage, version)| (storage.as_ptr(), *version)));
        }
        let is_new = match all.len() < FEW {
            true => !all.iter().any(|(known, at)| known.ptr_eq(&storage) && *at == version),
            false => seen.insert((storage.as_ptr(), version)),
        };
        if is_new && storage.strong_count() > 0 {
            all.push((storage, version));
        }
    }
    let forgotten = all.len().saturating_sub(MOST_SOURCES);
    all.drain(..forgotten);
    Sources::from_iter(all)
}
