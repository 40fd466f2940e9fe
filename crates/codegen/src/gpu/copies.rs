//! Copies to shared memory by threads.

use super::body::{Body, Slot, element_of};
use super::ptx::{self, Ptx};
use svod_dtype::DType;

/// Bytes of a chunk.
pub(super) const CHUNK: u32 = 16;
/// Elements of a chunk, of 16 bits each.
pub(super) const ELEMENTS: u32 = 8;

/// Copies a chunk of elements of 8 or 16 bits, of which so many are there, from an address that is a multiple of so many bytes: of those
/// of 8 bits, of 4 at least.
pub(super) fn chunk(body: &mut Body, dtype: DType, align: u32, (source, to): (&str, &str), left: &str) {
    let pieces: &[(u32, &Ptx)] = &[(16, &ptx::COPY_16), (8, &ptx::COPY_8), (4, &ptx::COPY_4)];
    if let Some((bytes, copy)) = pieces.iter().find(|(bytes, _)| align.is_multiple_of(*bytes)) {
        let width = dtype.bytes() as u32;
        let left = body.mul(left, width);
        for piece in 0..CHUNK / bytes {
            let skipped = piece * bytes;
            let from = element_of(body, dtype, source, &(skipped / width).to_string());
            let to = body.add(to, skipped);
            let some = body.compare("ugt", &left, skipped);
            let rest = body.sub(&left, skipped);
            let rest = body.select(some, rest, 0);
            let rest = body.min(rest, bytes);
            body.run(copy, &[&to, &from, &rest]);
        }
        return;
    }
    let words = loaded(body, dtype, source, left);
    body.run(&ptx::STORE_SHARED, &[&to, &words[0], &words[1], &words[2], &words[3]]);
}

/// The four words of a chunk of which so many elements of 16 bits are there, wherever it begins.
pub(super) fn loaded(body: &mut Body, dtype: DType, source: &str, left: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in 0..4 {
        let [low, high] = [0, 1].map(|half| {
            let at = 2 * word + half;
            let some = body.compare("ugt", left, at);
            let some = body.value(format_args!("zext i1 {some} to i32"));
            let from = element_of(body, dtype, source, &at.to_string());
            body.ask(&ptx::LOAD_B16, &[&from, &some])
        });
        let high = body.shl(high, 16);
        words.push(body.value(format_args!("or i32 {low}, {high}")));
    }
    words
}

/// A ring of stages that threads fill while they read.
pub(super) struct Stages<'a> {
    /// How many there are: 2 to 5.
    pub stages: u32,
    /// How many slices go through them.
    pub slices: &'a str,
    /// The barrier of the threads that fill a ring.
    pub sync: &'a Ptx,
}

impl Stages<'_> {
    /// Goes over the slices: `copy` starts copies of a slice to a stage, `read` reads a slice in a stage.
    pub fn run(&self, body: &mut Body, copy: impl Fn(&mut Body, &str, &str), read: impl FnOnce(&mut Body, &str, &str)) {
        let issue = |body: &mut Body, slice: &str, stage: &str| {
            let some = body.compare("ult", slice, self.slices);
            body.when(some, |body| copy(body, slice, stage));
            body.run(&ptx::COPY_COMMIT, &[]);
        };
        for slice in 0..self.stages - 1 {
            issue(body, &slice.to_string(), &slice.to_string());
        }
        let from_stage = body.slot("i32", 0);
        let to_stage = body.slot("i32", self.stages - 1);
        body.repeat(0, self.slices, 1, |body, slice| {
            let wait = [&ptx::COPY_WAIT_0, &ptx::COPY_WAIT_1, &ptx::COPY_WAIT_2, &ptx::COPY_WAIT_3];
            body.run(wait[self.stages as usize - 2], &[]);
            // All copies of this slice are there, and the stage that is written next has been read by all.
            body.run(self.sync, &[]);
            let ahead = body.add(slice, self.stages - 1);
            let to = body.get(&to_stage);
            issue(body, &ahead, &to);
            let from = body.get(&from_stage);
            read(body, slice, &from);
            self.turn(body, &from_stage, &from);
            self.turn(body, &to_stage, &to);
        });
        // Those that wait still are of nothing.
        body.run(&ptx::COPY_WAIT_0, &[]);
    }

    /// As [`Self::run`], with the copies in the code once: slices are copied some rounds of the loop before they are read.
    pub fn run_rolled(
        &self,
        body: &mut Body,
        copy: impl FnOnce(&mut Body, &str, &str),
        read: impl FnOnce(&mut Body, &str),
    ) {
        let from_stage = body.slot("i32", 0);
        let to_stage = body.slot("i32", 0);
        let ahead = self.stages - 1;
        let rounds = body.add(self.slices, ahead);
        body.repeat(0, rounds, 1, |body, slice| {
            let reads = body.compare("uge", slice, ahead);
            body.when(&reads, |body| {
                let wait = [&ptx::COPY_WAIT_0, &ptx::COPY_WAIT_1, &ptx::COPY_WAIT_2, &ptx::COPY_WAIT_3];
                body.run(wait[self.stages as usize - 2], &[]);
                // All copies of the slice that is read are there, and the stage that is written next has been read by all.
                body.run(self.sync, &[]);
            });
            let some = body.compare("ult", slice, self.slices);
            body.when(some, |body| {
                let to = body.get(&to_stage);
                copy(body, slice, &to);
                self.turn(body, &to_stage, &to);
            });
            body.run(&ptx::COPY_COMMIT, &[]);
            body.when(&reads, |body| {
                let from = body.get(&from_stage);
                read(body, &from);
                self.turn(body, &from_stage, &from);
            });
        });
        // Those that wait still are of nothing.
        body.run(&ptx::COPY_WAIT_0, &[]);
    }

    /// Goes to the next stage of the ring.
    fn turn(&self, body: &mut Body, slot: &Slot, stage: &str) {
        let next = body.add(stage, 1);
        let around = body.compare("eq", &next, self.stages);
        let next = body.select(around, 0, next);
        body.set(slot, next);
    }
}
