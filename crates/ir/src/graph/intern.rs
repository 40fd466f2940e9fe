//! The table of live nodes: sharded, weak, keyed by operation and identity of the sources.
//!
//! Lock order: a shard, then a node's state. No handle is dropped while a shard is locked, because
//! dropping a node's last handle locks its shard.

use super::error::GraphError;
use super::identity;
use super::leaf::LeafClass;
use super::op::Op;
use super::place::place;
use super::uop::{Node, Sources, State, UOp};
use super::watch;
use crate::pass::visit;
use parking_lot::{Condvar, Mutex};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

const SHARDS: usize = 64;

/// Operations one after the other from which on a value is the end of a long chain.
pub(super) const CHAIN: u32 = 64;

/// The nodes with one hash, by id, and whether each may hold a variable's value: usually one.
type Bucket = SmallVec<[(u64, bool, Weak<Node>); 1]>;
type Shard = FxHashMap<u64, Bucket>;

static TABLE: [Mutex<Shard>; SHARDS] = [const { Mutex::new(FxHashMap::with_hasher(FxBuildHasher)) }; SHARDS];
static NEXT_ID: AtomicU64 = AtomicU64::new(1);

fn shard(hash: u64) -> &'static Mutex<Shard> {
    &TABLE[(hash >> 32) as usize % SHARDS]
}

fn hash_of(op: &Op, sources: &[UOp]) -> u64 {
    let mut hasher = FxHasher::default();
    op.hash(&mut hasher);
    for s in sources {
        hasher.write_u64(s.0.id);
    }
    hasher.finish()
}

/// Finds the live node in a bucket; handles to others go to `passed`, to be dropped unlocked.
fn find(bucket: Option<&Bucket>, op: &Op, sources: &[UOp], passed: &mut Vec<Arc<Node>>) -> Option<UOp> {
    for (_, _, weak) in bucket? {
        visit(1);
        let Some(node) = weak.upgrade() else { continue };
        let is_found = node.op == *op && node.forced.get().is_none() && !node.apart.load(Ordering::Relaxed);
        if is_found && node.state.lock().sources.as_slice() == sources {
            return Some(UOp(node));
        }
        passed.push(node);
    }
    None
}

/// The live node of `op` over `sources` that is not forced, if there is one.
pub(super) fn known(op: &Op, sources: &[UOp]) -> Option<UOp> {
    let hash = hash_of(op, sources);
    let mut passed = Vec::new();
    let found = find(shard(hash).lock().get(&hash), op, sources, &mut passed);
    drop(passed);
    found
}

/// The node of `op` over `sources`, found or made.
pub(super) fn node(op: Op, sources: Sources) -> Result<UOp, GraphError> {
    visit(1);
    let hash = hash_of(&op, &sources);
    let mut passed = Vec::new();
    if let Some(found) = find(shard(hash).lock().get(&hash), &op, &sources, &mut passed) {
        identity::note_found(&found);
        return Ok(found);
    }
    let (dtype, shape) = op.infer(&sources)?;
    let place = place(&op, &sources).map_err(|reason| GraphError::new(&op, &sources, reason))?;
    let trace = match &op {
        Op::Leaf(leaf) => leaf.data().trace(),
        _ => sources.iter().map(UOp::trace).max().unwrap_or(0),
    };
    let within = |op: &Op| matches!(op, Op::Loop(body, _) if !body.key().functions.is_empty());
    let calls = matches!(op, Op::Host(..)) || within(&op) || sources.iter().any(|s| s.0.calls);
    let borrows = match &op {
        Op::Leaf(leaf) => leaf.class() == LeafClass::Borrowed,
        _ => sources.iter().any(|s| s.0.borrows),
    };
    let watched = watch::is_watched(&op, dtype, &sources);
    let depth = sources.iter().map(|s| s.0.depth.saturating_add(1)).max().unwrap_or(0);
    let holds = watch::holds(&op, &sources);
    let node = Arc::new(Node {
        id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        hash,
        op,
        dtype,
        shape,
        place,
        trace,
        calls,
        borrows,
        watched,
        holds,
        depth,
        history: OnceLock::new(),
        forced: OnceLock::new(),
        state: Mutex::new(State { sources, claimed: None }),
        released: Condvar::new(),
        origin: OnceLock::new(),
        names: AtomicU32::new(0),
        runs: AtomicU32::new(0),
        again: AtomicBool::new(false),
        apart: AtomicBool::new(false),
    });
    let mut table = shard(hash).lock();
    let bucket = table.entry(hash).or_default();
    // Another thread may have made it meanwhile.
    let found = find(Some(bucket), &node.op, &node.state.lock().sources, &mut passed);
    if found.is_none() {
        bucket.push((node.id, node.holds || node.depth >= CHAIN, Arc::downgrade(&node)));
    }
    drop(table);
    found.iter().for_each(identity::note_found);
    Ok(found.unwrap_or(UOp(node)))
}

/// A node that computes what `node` did, and that no table knows: what it was before it is forced.
pub(super) fn twin(node: &Node, sources: Sources) -> UOp {
    UOp(Arc::new(Node {
        id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        hash: node.hash,
        op: node.op.clone(),
        dtype: node.dtype,
        shape: node.shape.clone(),
        place: node.place.clone(),
        trace: node.trace,
        calls: node.calls,
        borrows: node.borrows,
        watched: node.watched,
        holds: node.holds,
        depth: node.depth,
        history: OnceLock::new(),
        forced: OnceLock::new(),
        state: Mutex::new(State { sources, claimed: None }),
        released: Condvar::new(),
        origin: node.origin.clone(),
        names: AtomicU32::new(0),
        runs: AtomicU32::new(0),
        again: AtomicBool::new(false),
        apart: AtomicBool::new(true),
    }))
}

/// Takes a node out of the table, because it is dropped or forced.
pub(super) fn remove(hash: u64, id: u64) {
    let mut table = shard(hash).lock();
    if let Some(bucket) = table.get_mut(&hash) {
        bucket.retain(|(i, ..)| *i != id);
        if bucket.is_empty() {
            table.remove(&hash);
            if table.capacity() > 1024 && table.len() < table.capacity() / 8 {
                table.shrink_to_fit();
            }
        }
    }
}

/// All live nodes that have no value yet, and the leaves.
pub(super) fn live() -> Vec<UOp> {
    found(|_| true)
}

/// Those that the value of a variable is below, by whatever operations, or that end a chain of at least [`CHAIN`].
pub(super) fn holding() -> Vec<UOp> {
    found(|holds| holds)
}

/// Live nodes, by whether they may hold a variable's value, in the order in which they were made.
fn found(is_wanted: impl Fn(bool) -> bool) -> Vec<UOp> {
    let mut found = Vec::new();
    for shard in &TABLE {
        let table = shard.lock();
        let wanted = table.values().flatten().filter(|(_, holds, _)| is_wanted(*holds));
        found.extend(wanted.filter_map(|(_, _, weak)| weak.upgrade()).map(UOp));
    }
    found.sort_by_key(UOp::id);
    found
}

/// Number of nodes in the table, for tests and diagnostics.
pub(super) fn len() -> usize {
    TABLE.iter().map(|t| t.lock().values().map(SmallVec::len).sum::<usize>()).sum()
}
