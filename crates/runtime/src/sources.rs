//! What reads computed values from.
//!
//! A read keeps what it computes, and so the expressions are gone. A plan over such a value would not follow an input that
//! the value was made of, in silence; so memory that a read computed knows the memory that it came from, weakly, and
//! `prepare` refuses it. A value that a program has asked to be computed (`realize`) is a constant, as it says.

use rustc_hash::FxHashMap;
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

/// Each storage once, of those that are alive, at its latest version: memory is written in place only where nobody has a
/// leaf of an earlier one, so that none is an input any more.
fn collected(given: impl Iterator<Item = (Weak<Storage>, u64)>) -> Sources {
    let mut all: SmallVec<[(Weak<Storage>, u64); FEW]> = SmallVec::new();
    let mut known: FxHashMap<*const Storage, usize> = FxHashMap::default();
    for (storage, version) in given {
        if all.len() == FEW && known.is_empty() {
            known.extend(all.iter().enumerate().map(|(at, (storage, _))| (storage.as_ptr(), at)));
        }
        let at = match known.is_empty() {
            true => all.iter().position(|(known, _)| known.ptr_eq(&storage)),
            false => known.get(&storage.as_ptr()).copied(),
        };
        match at {
            Some(at) => all[at].1 = all[at].1.max(version),
            None if storage.strong_count() > 0 => {
                if !known.is_empty() {
                    known.insert(storage.as_ptr(), all.len());
                }
                all.push((storage, version));
            }
            None => {}
        }
    }
    let forgotten = all.len().saturating_sub(MOST_SOURCES);
    all.drain(..forgotten);
    Sources::from_iter(all)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::context::Context;
    use svod_device::DeviceSpec;
    use svod_dtype::DType;

    #[test]
    fn a_storage_is_known_once_at_its_latest_version() {
        let storage = || Context::global().buffer(&DeviceSpec::CPU, DType::F32, 4).unwrap().storage().clone();
        let all: Vec<Arc<Storage>> = (0..40).map(|_| storage()).collect();
        let mut given: Vec<(Weak<Storage>, u64)> = Vec::new();
        for version in [3, 7, 5] {
            given.extend(all.iter().map(|one| (Arc::downgrade(one), version)));
        }
        given.push((Arc::downgrade(&storage()), 1));
        let found = collected(given.into_iter());
        assert_eq!(found.len(), 40);
        for ((known, version), one) in found.iter().zip(&all) {
            assert!(known.ptr_eq(&Arc::downgrade(one)) && *version == 7);
        }
    }
}
