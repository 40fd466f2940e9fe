//! How often digits occur.

use super::{DIGITS, Kernel, Key, Keys, word_of};
use crate::gpu::body::Body;
use crate::gpu::{Runner, part, ptx};

/// Threads of a block.
pub(super) const THREADS: u32 = 256;
/// Points of a thread that are loaded at one time.
const EACH: u32 = 8;
/// Counters of a digit: lanes have them in turn, so that fewer wait for one another where many keys are alike.
const PARTS: u32 = 4;

/// Points that a block counts at one time.
pub(super) const POINTS: u32 = THREADS * EACH;

/// Bytes of shared memory of a block.
pub(super) fn shared(keys: Keys) -> u32 {
    keys.passes() * DIGITS * PARTS * 4
}

/// Clears memory: how many times 16 bytes, and where.
pub(super) fn clear(runner: Runner) -> Kernel {
    let mut body = Body::new(runner);
    let thread = body.special("tid.x");
    let block = body.special("ctaid.x");
    let first = body.mul(block, THREADS);
    let at = body.add(first, thread);
    let some = body.compare("ult", &at, "%count");
    body.when(some, |body| {
        let at = body.wide(&at);
        let to = body.value(format_args!("getelementptr <4 x i32>, ptr addrspace(1) %to, i64 {at}"));
        body.line(format_args!("store <4 x i32> zeroinitializer, ptr addrspace(1) {to}, align 16"));
    });
    let parameters = ["i32 %count", "ptr addrspace(1) noalias %to"].map(str::to_owned);
    Kernel::new(&body, "svod_sort_clear".into(), THREADS, &parameters, "", runner)
}

/// Blocks that clear so many times 16 bytes.
pub(super) fn blocks_that_clear(pieces: u64) -> u64 {
    pieces.div_ceil(THREADS.into())
}

/// Adds how often each digit of each pass occurs in each row: so many blocks a row, to `[row, pass, digit]`.
pub(super) fn kernel(keys: Keys, key: &Key, rows: &[i64], parts: &str, runner: Runner) -> Kernel {
    let mut body = Body::new(runner);
    let b = &mut body;
    let shared = b.shared();
    let thread = b.special("tid.x");
    let block = b.special("ctaid.x");
    let row = b.div(&block, "%blocks");
    let own = b.rem(&block, "%blocks");
    let counters = part::counters(b, &row, rows);
    let at = b.mul(&thread, 16);
    let at = b.add(&shared, at);
    for n in 0..keys.passes() * DIGITS * PARTS / 4 / THREADS {
        let at = b.add(&at, n * THREADS * 16);
        b.run(&ptx::STORE_SHARED, &[&at, &0, &0, &0, &0]);
    }
    b.run(&ptx::SYNC, &[]);
    let lane = b.and(&thread, PARTS - 1);
    let lane = b.mul(lane, 4);
    let start = b.add(&shared, lane);
    let first = b.mul(own, POINTS);
    let step = b.mul("%blocks", POINTS);
    let last = b.sub("%points", 1);
    b.repeat(first, "%points", step, |b, first| {
        let mut all = Vec::new();
        for n in 0..EACH {
            let at = b.add(first, n * THREADS);
            let at = b.add(at, &thread);
            let inside = b.compare("ult", &at, "%points");
            let at = b.min(at, &last);
            all.push((inside, key.call(b, keys, &counters, &at)));
        }
        for (inside, key) in all {
            let one = b.value(format_args!("zext i1 {inside} to i32"));
            for pass in 0..keys.passes() {
                let digit = keys.digit(b, &key, &(pass * super::BITS).to_string());
                let at = b.mul(digit, PARTS * 4);
                let at = b.add(&start, at);
                let at = b.add(at, pass * DIGITS * PARTS * 4);
                b.run(&ptx::ADD_SHARED, &[&at, &one]);
            }
        }
    });
    b.run(&ptx::SYNC, &[]);
    let at = b.mul(&thread, PARTS * 4);
    let at = b.add(&shared, at);
    let row = b.mul(row, keys.passes() * DIGITS);
    let to = b.add(row, &thread);
    for pass in 0..keys.passes() {
        let at = b.add(&at, pass * DIGITS * PARTS * 4);
        let mut sum = "0".to_owned();
        for n in 0..PARTS {
            let at = b.add(&at, n * 4);
            let one = b.ask(&ptx::LOAD_SHARED_WORD, &[&at]);
            sum = b.add(sum, one);
        }
        let to = b.add(&to, pass * DIGITS);
        let to = word_of(b, "%counts", &to);
        let some = b.compare("ne", &sum, 0);
        b.when(some, |b| b.run(&ptx::ADD_GLOBAL, &[&to, &sum]));
    }
    let mut parameters = ["i32 %points", "i32 %blocks", "ptr addrspace(1) %counts"].map(str::to_owned).to_vec();
    parameters.extend(key.part.parameters());
    let entry = format!("svod_sort_counts_u{}", keys.0.bits());
    Kernel::new(&body, entry, THREADS, &parameters, parts, runner)
}
