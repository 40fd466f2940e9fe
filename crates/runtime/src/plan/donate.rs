//! Inputs that a run may write outputs over: the weights and the state that a training step renews.
//!
//! An output may take the place of an input where an elementwise kernel writes it at the index at which it reads the input,
//! and all else that reads the input is done in an earlier level. Whether it does is decided in each run
//! ([`super::lend`]), by whether anybody else has a hold on the memory.
//!
//! A call that fails changes nothing. So whatever may fail, functions of the host and the kernels that tell whether
//! indices are inside of their dimensions, goes before the first kernel that writes over an input: the *gate*. Indices are
//! looked at as soon as their kernels have run, which is early: a GPU, for which the host has to wait there, is given all that
//! follows at once, and works while the host prepares what a call gives.

use super::PlanInput;
use super::op::PlanOp;
use super::order::Order;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;
use svod_device::{Buffer, DeviceSpec, StorageId};

/// Bytes from which on it matters to a host whether memory is fresh. Of a GPU, kernels on the same memory are one launch, so
/// that it always matters there.
const WORTH: usize = 4096;

/// An output that may be written over an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Donation {
    /// Position of the input.
    pub input: usize,
    /// Position of the output.
    pub output: usize,
}

/// What a plan is asked to write over inputs.
#[derive(Clone, Debug, Default)]
pub struct Donated {
    /// The pairs, each input and output in one of them at most.
    pub pairs: Vec<Donation>,
    /// The outputs from this one on tell whether the run succeeds, if there are such.
    pub checks: Option<usize>,
}

/// A pair, and the op that writes the one over the other.
struct Candidate {
    pair: Donation,
    from: StorageId,
    writer: usize,
}

/// The pairs that are possible, and when a run decides.
#[derive(Debug, Default)]
pub(super) struct Donations {
    pub(super) pairs: Vec<Donation>,
    /// The level before which all is done that tells whether the run fails.
    pub(super) checked: usize,
    /// The level of the first that writes over an input, which is no earlier one.
    pub(super) gate: usize,
}

/// How ops use storages.
struct Uses {
    readers: FxHashMap<StorageId, Vec<usize>>,
    writers: FxHashMap<StorageId, Vec<usize>>,
    /// Ops that may fail, or tell whether the run does.
    fallible: Vec<usize>,
    /// Those that tell.
    telling: Vec<usize>,
}

impl Uses {
    fn new(ops: &[PlanOp], buffers: &[Arc<Buffer>], checks: &[usize]) -> Uses {
        let (readers, writers) = (FxHashMap::default(), FxHashMap::default());
        let mut uses = Uses { readers, writers, fallible: Vec::new(), telling: Vec::new() };
        let checks: FxHashSet<StorageId> = checks.iter().map(|at| buffers[*at].storage_id()).collect();
        for (at, op) in ops.iter().enumerate() {
            let mut tells = false;
            for (buffer, write) in op.accesses() {
                let storage = buffers[buffer].storage_id();
                tells |= write && checks.contains(&storage);
                let of = if write { &mut uses.writers } else { &mut uses.readers };
                of.entry(storage).or_default().push(at);
            }
            if tells {
                uses.telling.push(at);
            }
            if tells || !op.is_sure() {
                uses.fallible.push(at);
            }
        }
        uses
    }

    /// The ops besides the writer that have to be done before a candidate is written.
    fn before<'a>(&'a self, candidate: &'a Candidate) -> impl Iterator<Item = usize> + 'a {
        let readers = self.readers.get(&candidate.from).into_iter().flatten();
        readers.chain(&self.fallible).copied().filter(|op| *op != candidate.writer)
    }
}

/// What of `asked` kernels allow. Those that nothing follows are put after all that has to be done before.
pub(super) struct Asked {
    candidates: Vec<Candidate>,
    uses: Uses,
}

impl Asked {
    /// The pairs that kernels allow; the ops learn what to wait for.
    pub(super) fn new(
        asked: &Donated,
        ops: &mut [PlanOp],
        buffers: &[Arc<Buffer>],
        inputs: &[PlanInput],
        outputs: &[usize],
    ) -> Asked {
        let checks = asked.checks.and_then(|first| outputs.get(first..)).unwrap_or_default();
        let uses = Uses::new(ops, buffers, checks);
        let candidate = |pair: &Donation| {
            let (input, to) = (inputs.get(pair.input)?.memory.buffer(), *outputs.get(pair.output)?);
            let from = input.storage_id();
            let [writer] = uses.writers.get(&buffers[to].storage_id())?[..] else { return None };
            let op = &ops[writer];
            let slots = |of: StorageId| {
                let named = op.buffers.iter().enumerate().filter(move |(_, b)| buffers[**b].storage_id() == of);
                named.map(|(slot, _)| slot)
            };
            let (code, slot) = (op.code()?, slots(buffers[to].storage_id()).next()?);
            let over = slots(from).count() > 0 && slots(from).all(|s| code.replaceable(slot).any(|other| other == s));
            let is_worth = input.bytes() >= WORTH || !matches!(buffers[to].device(), DeviceSpec::Cpu(_));
            let alike = input.bytes() == buffers[to].bytes() && is_worth;
            let is_last = !uses.writers.contains_key(&from) && !uses.telling.contains(&writer);
            (over && alike && is_last).then_some(Candidate { pair: *pair, from, writer })
        };
        let candidates: Vec<Candidate> = asked.pairs.iter().filter_map(candidate).collect();
        let mut followed = followed(ops, buffers, &uses);
        for candidate in &candidates {
            // An op that nothing follows may wait for any other: no cycle goes through it.
            if !followed[candidate.writer] {
                let before: FxHashSet<usize> = uses.before(candidate).collect();
                before.iter().for_each(|op| followed[*op] = true);
                ops[candidate.writer].after.extend(before);
            }
        }
        Asked { candidates, uses }
    }

    /// The pairs that the order allows.
    pub(super) fn ordered(self, order: &Order) -> Donations {
        let level = |op: usize| order.levels[op];
        let done = |candidate: &Candidate| self.uses.before(candidate).all(|op| level(op) < level(candidate.writer));
        let possible: Vec<&Candidate> = self.candidates.iter().filter(|candidate| done(candidate)).collect();
        let checked = self.uses.telling.iter().map(|op| level(*op) + 1).max().unwrap_or(0);
        let gate = possible.iter().map(|candidate| level(candidate.writer)).min().unwrap_or(checked);
        Donations { pairs: possible.iter().map(|candidate| candidate.pair).collect(), checked, gate }
    }
}

/// Which ops others wait for.
fn followed(ops: &[PlanOp], buffers: &[Arc<Buffer>], uses: &Uses) -> Vec<bool> {
    let positions: FxHashMap<u64, Vec<usize>> =
        ops.iter().enumerate().fold(FxHashMap::default(), |mut known, (i, op)| {
            known.entry(op.id.unwrap_or(i as u64)).or_insert_with(Vec::new).push(i);
            known
        });
    let mut followed = vec![false; ops.len()];
    for op in ops {
        let stated = op.dependencies.iter().filter_map(|id| positions.get(id)).flatten();
        for at in stated.chain(&op.after) {
            // Ops that are not there are refused where the order is made.
            if let Some(followed) = followed.get_mut(*at) {
                *followed = true;
            }
        }
    }
    for (at, op) in ops.iter().enumerate() {
        followed[at] |= op.accesses().any(|(buffer, write)| {
            let storage = buffers[buffer].storage_id();
            let of = |users: &FxHashMap<StorageId, Vec<usize>>| users.get(&storage).cloned().unwrap_or_default();
            // What others have written before it is read is no matter.
            of(&uses.writers).iter().any(|user| *user > at) || write && of(&uses.readers).iter().any(|user| *user != at)
        });
    }
    followed
}
