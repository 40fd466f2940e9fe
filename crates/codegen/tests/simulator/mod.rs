//! A simulator of one cluster of blocks of a GPU, for kernels of matrix products and attention: a fiber for each thread, in an order that a
//! seed makes. Copies land as late as they may, over bytes that are poisoned until then; a copy that lands over what a product
//! reads, an mbarrier with too many arrivals, lanes that do not meet, memory outside of what there is: all are errors. Sums of a
//! warpgroup's products are no numbers until it has waited for them.
//!
//! It has its author's reading of descriptors and swizzles, no fences between proxies, and adds in its own order.

#[allow(dead_code)]
pub mod loops;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use half::{bf16, f16};
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use svod_codegen::gpu::product::{Factor, Operation};
use svod_codegen::load::{Address, Code, Entry};
use svod_dtype::{Const, DType};

/// A tensor map, as a kernel's parameter points to it: up to four dimensions.
pub struct Map {
    pub start: *mut u8,
    /// Bytes of an element.
    pub bytes: usize,
    /// Elements of each dimension.
    pub sizes: [usize; 4],
    /// Elements from one to the next of all but the first one.
    pub strides: [usize; 3],
    /// Elements of a copy.
    pub region: [usize; 2],
}

/// What is launched.
pub struct Program<'a> {
    pub entry: &'a str,
    pub object: Vec<u8>,
    /// Threads of a block.
    pub threads: usize,
    /// Blocks of a cluster.
    pub cluster: usize,
}

/// Bytes of shared memory of a block.
const SHARED: usize = 240_000;
/// Bytes of a fiber's stack.
const STACK: usize = 64 << 10;
/// Threads of a warp and of a warpgroup.
const WARP: usize = 32;
const GROUP: usize = 128;
/// How often each fiber may ask in vain before a copy has to land.
const PATIENCE: usize = 8;

/// Threads that wait for one another, and what they brought.
#[derive(Default)]
struct Meeting {
    operation: Option<Operation>,
    lanes: Vec<(usize, *const u64, *mut u32)>,
    over: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Scope {
    Warp(usize),
    Group(usize),
    /// A barrier of a block, by its number.
    Named(usize, u64),
    Cluster,
}

struct Barrier {
    pending: i64,
    count: i64,
    bytes: i64,
    parity: u32,
}

/// A copy of a tensor map's region on its way.
struct Flight {
    map: *const Map,
    to: usize,
    barrier: usize,
    block: usize,
    at: [i64; 4],
}

/// A copy of a thread on its way.
struct Pending {
    to: usize,
    data: Vec<u8>,
}

struct Cluster {
    threads: usize,
    first: usize,
    blocks: usize,
    current: usize,
    fiber: *const Yielder<(), ()>,
    shared: Vec<Vec<u8>>,
    barriers: Vec<HashMap<usize, Barrier>>,
    meetings: HashMap<Scope, Meeting>,
    flights: Vec<Flight>,
    /// Groups of copies of each thread; the last one is open.
    copies: Vec<Vec<Vec<Pending>>>,
    /// What products of each warpgroup read that are on their way, by group.
    reads: Vec<Vec<(u64, Range<usize>)>>,
    groups: Vec<u64>,
    /// Sums of each thread that products make, with the group that does.
    sums: Vec<Vec<(u32, u64)>>,
    /// Threads at barriers of warpgroups that take turns, and how often they went on, by block and number.
    turns: HashMap<(usize, usize), (usize, usize)>,
    memory: Vec<Range<usize>>,
    random: u64,
    idle: usize,
    error: Option<String>,
}

thread_local! {
    static CLUSTER: Cell<*mut Cluster> = const { Cell::new(std::ptr::null_mut()) };
}

/// Runs all blocks of a kernel. `memory` is what it may read and write. The error is the first thing that was wrong.
pub fn run(
    program: &Program,
    parameters: &[u64],
    blocks: usize,
    memory: &[Range<usize>],
    seed: u64,
) -> Result<(), String> {
    let code = Code::load(program.entry, &program.object, &symbol).map_err(|e| e.to_string())?;
    let entry = code.entry(program.entry).ok_or("the kernel has no entry")?;
    let (threads, size) = (program.threads, program.cluster);
    let mut stacks: Vec<DefaultStack> = Vec::new();
    for first in (0..blocks).step_by(size) {
        let all = threads * size;
        let mut cluster = Cluster {
            threads,
            first,
            blocks,
            current: 0,
            fiber: std::ptr::null(),
            shared: vec![vec![0xFF; SHARED]; size],
            barriers: (0..size).map(|_| HashMap::new()).collect(),
            meetings: HashMap::new(),
            flights: Vec::new(),
            copies: (0..all).map(|_| vec![Vec::new()]).collect(),
            reads: vec![Vec::new(); all.div_ceil(GROUP)],
            groups: vec![0; all.div_ceil(GROUP)],
            sums: vec![Vec::new(); all],
            turns: HashMap::new(),
            memory: memory.to_vec(),
            random: seed * 1_000_003 + first as u64 + 1,
            idle: 0,
            error: None,
        };
        cluster.run(entry, parameters, &mut stacks);
        if let Some(error) = cluster.error {
            return Err(error);
        }
    }
    Ok(())
}

fn symbol(name: &str) -> Option<Address> {
    let address = match name {
        "svod_sim_ptx" => ptx as *const (),
        "svod_sim_tid" => tid as *const (),
        "svod_sim_ctaid" => ctaid as *const (),
        "svod_sim_nctaid" => nctaid as *const (),
        "memcpy" => libc::memcpy as *const (),
        _ => return None,
    };
    Some(Address(address as usize))
}

/// The cluster that runs. No reference lives while a fiber waits.
fn cluster() -> &'static mut Cluster {
    // SAFETY: fibers run only inside of `Cluster::run`, which sets this, one at a time on one thread.
    unsafe { &mut *CLUSTER.get() }
}

extern "C" fn tid() -> u32 {
    (cluster().current % cluster().threads) as u32
}

extern "C" fn ctaid() -> u32 {
    (cluster().first + cluster().block()) as u32
}

extern "C" fn nctaid() -> u32 {
    cluster().blocks as u32
}

/// Lets others run; comes back only while nothing was wrong.
fn wait() {
    let cluster = cluster();
    let (me, fiber) = (cluster.current, cluster.fiber);
    // SAFETY: this fiber runs, so its yielder is alive.
    unsafe { (*fiber).suspend(()) };
    let cluster = self::cluster();
    (cluster.current, cluster.fiber) = (me, fiber);
}

impl Cluster {
    fn run(&mut self, entry: Entry, parameters: &[u64], stacks: &mut Vec<DefaultStack>) {
        let all = self.threads * self.shared.len();
        let address = parameters.as_ptr() as usize;
        CLUSTER.set(self);
        let mut fibers: Vec<Option<Coroutine<(), (), (), DefaultStack>>> = (0..all)
            .map(|thread| {
                let stack = stacks.pop().unwrap_or_else(|| DefaultStack::new(STACK).unwrap());
                Some(Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
                    (cluster().current, cluster().fiber) = (thread, yielder);
                    // SAFETY: the kernel takes its parameters from the second argument, and those are as it declares them.
                    unsafe { entry(std::ptr::null(), address as *const i64) };
                }))
            })
            .collect();
        let mut live: Vec<usize> = (0..all).collect();
        while !live.is_empty() && cluster().error.is_none() {
            // Runs of neighbours, from somewhere.
            let (from, count) = (cluster().next(live.len()), 1 + cluster().next(2 * live.len()));
            let mut ended = Vec::new();
            for i in 0..count {
                let thread = live[(from + i) % live.len()];
                let Some(fiber) = &mut fibers[thread] else { continue };
                if fiber.resume(()).as_return().is_some() {
                    stacks.extend(fibers[thread].take().map(Coroutine::into_stack));
                    ended.push(thread);
                    cluster().idle = 0;
                }
                if cluster().error.is_some() {
                    break;
                }
                cluster().idle += 1;
            }
            live.retain(|thread| !ended.contains(thread));
            let cluster = cluster();
            let late = cluster.idle > PATIENCE * all;
            let lands = (late || cluster.next(4) == 0) && cluster.land();
            if late && !lands && !live.is_empty() {
                cluster.strikes(&live);
            }
        }
        for fiber in fibers.iter_mut().flatten() {
            // SAFETY: the frames of generated code own nothing, and the others are those of `wait`.
            unsafe { fiber.force_reset() };
        }
        let cluster = cluster();
        let waits = cluster.copies.iter().any(|groups| groups.iter().any(|group| !group.is_empty()));
        if cluster.error.is_none() && (waits || !cluster.flights.is_empty()) {
            cluster.error = Some("copies are on their way at the end".into());
        }
        CLUSTER.set(std::ptr::null_mut());
    }

    /// Nobody goes on.
    fn strikes(&mut self, live: &[usize]) {
        self.fail(format!("{} threads wait for ever, one of them is {}", live.len(), live[0]));
    }

    fn next(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % below.max(1)
    }

    fn block(&self) -> usize {
        self.current / self.threads
    }

    fn fail(&mut self, what: impl std::fmt::Display) {
        let (thread, block) = (self.current % self.threads, self.first + self.block());
        self.error.get_or_insert_with(|| format!("{what}, thread {thread} of block {block}"));
    }

    fn bytes(&mut self, block: usize, at: usize, count: usize, align: usize) -> &mut [u8] {
        let inside = at + count <= SHARED && at.is_multiple_of(align);
        if !inside {
            self.fail(format!("{count} bytes at {at} of shared memory, aligned to {align}"));
        }
        let at = if inside { at } else { 0 };
        &mut self.shared[block][at..at + count]
    }

    fn word(&mut self, at: usize) -> [u8; 2] {
        let block = self.block();
        self.bytes(block, at, 2, 2).try_into().unwrap()
    }

    /// Whether memory of the GPU may be read or written there.
    fn global(&mut self, at: u64, count: usize, align: usize) -> Option<*mut u8> {
        let at = at as usize;
        let known = self.memory.iter().any(|range| range.start <= at && at + count <= range.end);
        if !known || !at.is_multiple_of(align) {
            self.fail(format!("{count} bytes at {at:#x} of the GPU's memory, known: {known}"));
            return None;
        }
        Some(at as *mut u8)
    }

    fn barrier(&mut self, block: usize, at: usize, change: impl FnOnce(&mut Barrier)) {
        self.idle = 0;
        let Some(barrier) = self.barriers[block].get_mut(&at) else { return self.fail("no mbarrier is there") };
        change(barrier);
        let many = barrier.pending < 0;
        if barrier.pending == 0 && barrier.bytes == 0 {
            barrier.parity ^= 1;
            barrier.pending = barrier.count;
        }
        if many {
            self.fail("an mbarrier has more arrivals than it expects");
        }
    }

    /// One copy of a region comes to its end; whether there was one.
    fn land(&mut self) -> bool {
        if self.flights.is_empty() {
            return false;
        }
        let which = self.next(self.flights.len());
        let Flight { map, to, barrier, block, at } = self.flights.swap_remove(which);
        // SAFETY: the caller's maps live as long as the run.
        let map = unsafe { &*map };
        let bytes = 128 * map.region[1];
        let groups = self.threads / GROUP;
        let read = self.reads[block * groups..][..groups].iter().flatten();
        if read.into_iter().any(|(_, range)| range.start < to + bytes && to < range.end) {
            self.fail("a copy lands over what a product reads");
        }
        for y in 0..map.region[1] {
            for x in 0..map.region[0] {
                let from = element(map, [at[0] + x as i64, at[1] + y as i64, at[2], at[3]]);
                let value = from.map_or(&[0, 0][..map.bytes], |from| {
                    // SAFETY: `element` gives addresses inside of the tensor.
                    unsafe { std::slice::from_raw_parts(from, map.bytes) }
                });
                let to = swizzled(to + y * 128 + x * map.bytes);
                self.bytes(block, to, map.bytes, map.bytes).copy_from_slice(value);
            }
        }
        self.barrier(block, barrier, |barrier| barrier.bytes -= bytes as i64);
        true
    }
}

/// The address of an element of a tensor, where it has that.
fn element(map: &Map, at: [i64; 4]) -> Option<*mut u8> {
    let inside = at.iter().zip(map.sizes).all(|(at, size)| (0..size as i64).contains(at));
    let offset = at[0] as usize + at[1..].iter().zip(map.strides).map(|(at, by)| *at as usize * by).sum::<usize>();
    inside.then(|| map.start.wrapping_add(map.bytes * offset))
}

/// Rows of 128 bytes: chunks of 16 by the row modulo 8.
fn swizzled(at: usize) -> usize {
    at ^ ((at >> 7 & 7) << 4)
}

/// Waits for so many threads; what the last one does is done for all.
fn meet(scope: Scope, count: usize, operation: Operation, lane: Lane, last: impl FnOnce(&mut Cluster, &Meeting)) {
    let cluster = cluster();
    cluster.idle = 0;
    let meeting = cluster.meetings.entry(scope).or_default();
    if meeting.operation.is_some_and(|other| other != operation) {
        let other = meeting.operation;
        return cluster.fail(format!("{operation:?} where others of the warp or group are at {other:?}"));
    }
    meeting.operation = Some(operation);
    meeting.lanes.push((lane.number, lane.operands, lane.results));
    let turn = meeting.over;
    if meeting.lanes.len() == count {
        let mut all = std::mem::take(meeting);
        all.lanes.sort_by_key(|lane| lane.0);
        last(cluster, &all);
        cluster.meetings.insert(scope, Meeting { over: turn + 1, ..Meeting::default() });
        return;
    }
    while self::cluster().meetings.get(&scope).is_some_and(|meeting| meeting.over == turn) {
        wait();
    }
}

/// What a lane brings to a meeting.
#[derive(Clone, Copy)]
struct Lane {
    number: usize,
    operands: *const u64,
    results: *mut u32,
}

fn operand(lane: &(usize, *const u64, *mut u32), i: usize) -> u64 {
    // SAFETY: kernels give as many operands as an operation has, and wait until it is done.
    unsafe { *lane.1.add(i) }
}

fn number(lane: &(usize, *const u64, *mut u32), i: usize) -> u32 {
    operand(lane, i) as u32
}

fn give(lane: &(usize, *const u64, *mut u32), i: usize, value: u32) {
    // SAFETY: as in `operand`.
    unsafe { *lane.2.add(i) = value }
}

/// The elements of a word, or of two bytes of one: two or one of 16 bits, or as many of 8 bits as there are bytes.
fn decoded(bytes: &[u8], factor: Factor) -> Vec<f32> {
    let byte = |dtype| bytes.iter().map(|byte| Const::from_bits(dtype, u64::from(*byte)).as_f64() as f32).collect();
    match factor {
        Factor::Bf16 => bytes.chunks(2).map(|b| bf16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
        Factor::F16 => bytes.chunks(2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32()).collect(),
        Factor::I8 => byte(DType::I8),
        Factor::U8 => byte(DType::U8),
        Factor::E4m3 => byte(DType::F8E4M3),
        Factor::E5m2 => byte(DType::F8E5M2),
    }
}

/// A sum's bits with products of some factors added.
fn added(factor: Factor, old: u32, a: &[f32], b: &[f32]) -> u32 {
    if factor.is_integer() {
        return a.iter().zip(b).fold(old, |sum, (x, y)| sum.wrapping_add((*x as i32 * *y as i32) as u32));
    }
    let sum: f32 = a.iter().zip(b).map(|(x, y)| x * y).sum();
    (f32::from_bits(old) + sum).to_bits()
}

extern "C" fn ptx(operation: u32, operands: *const u64, results: *mut u32) {
    let operation = Operation::ALL[operation as usize];
    let state = cluster();
    let (block, thread) = (state.block(), state.current);
    let mine = (thread, operands, results);
    let at = |i: usize| number(&mine, i) as usize;
    let lane = |size: usize| Lane { number: thread % size, operands, results };
    let warp = Scope::Warp(thread / WARP);
    let group = Scope::Group(thread / GROUP);
    match operation {
        Operation::BarrierInit => {
            let count = i64::from(number(&mine, 1));
            state.barriers[block].insert(at(0), Barrier { pending: count, count, bytes: 0, parity: 0 });
        }
        Operation::BarrierExpect => state.barrier(block, at(0), |barrier| {
            barrier.bytes += i64::from(number(&mine, 1));
            barrier.pending -= 1;
        }),
        Operation::BarrierArrive => state.barrier(block, at(0), |barrier| barrier.pending -= 1),
        Operation::BarrierArriveRemote => state.barrier(at(1), at(0), |barrier| barrier.pending -= 1),
        Operation::BarrierWait => loop {
            match cluster().barriers[block].get(&at(0)) {
                None => return cluster().fail("no mbarrier is there"),
                Some(barrier) if barrier.parity != number(&mine, 1) => return cluster().idle = 0,
                Some(_) => wait(),
            }
        },
        Operation::Sync => meet(Scope::Named(block, 0), state.threads, operation, lane(GROUP), |_, _| ()),
        Operation::SyncWarp => meet(warp, WARP, operation, lane(WARP), |_, _| ()),
        Operation::SyncGroup => {
            let scope = Scope::Named(block, 1 + u64::from(number(&mine, 0)) % 15);
            meet(scope, at(1), operation, lane(state.threads), |_, _| ());
        }
        Operation::SyncCluster => {
            meet(Scope::Cluster, state.threads * state.shared.len(), operation, lane(GROUP), |_, _| ());
        }
        Operation::ClusterRank => give(&mine, 0, block as u32),
        Operation::Uniform => give(&mine, 0, number(&mine, 0)),
        Operation::TmaLoad | Operation::TmaLoadMulticast | Operation::TmaLoad4 => load_region(state, &mine, operation),
        Operation::TmaStore | Operation::TmaStore4 => store_region(state, &mine, operation),
        Operation::WgmmaCommit => {
            meet(group, GROUP, operation, lane(GROUP), move |state, _| state.groups[thread / GROUP] += 1)
        }
        Operation::WgmmaWaitOne => {
            meet(group, GROUP, operation, lane(GROUP), move |state, _| state.forget(thread / GROUP, 1))
        }
        Operation::WgmmaWait => {
            let pending = u64::from(number(&mine, 1));
            meet(group, GROUP, operation, lane(GROUP), move |state, _| state.forget(thread / GROUP, pending));
            let done = cluster().groups[thread / GROUP].saturating_sub(pending);
            for i in 0..at(0) {
                let sum = number(&mine, 2 + i);
                let known = cluster().sum(thread, sum).filter(|(_, group)| *group < done);
                give(&mine, i, known.map_or(sum, |(value, _)| value));
            }
        }
        Operation::Wgmma | Operation::WgmmaRegisters => {
            meet(group, GROUP, operation, lane(GROUP), move |state, all| warpgroup_product(state, all, operation));
        }
        Operation::TurnGive => _ = state.turn((block, at(0))),
        Operation::TurnWait => {
            let turn = state.turn((block, at(0)));
            while cluster().turns[&(block, at(0))].1 == turn {
                wait();
            }
        }
        Operation::Exp2 => give(&mine, 0, f32::from_bits(number(&mine, 0)).exp2().to_bits()),
        Operation::ShuffleXor => meet(warp, WARP, operation, lane(WARP), |_, all| {
            for (l, lane) in all.lanes.iter().enumerate() {
                give(lane, 0, number(&all.lanes[l ^ number(lane, 1) as usize], 0));
            }
        }),
        Operation::ScanStep => meet(warp, WARP, operation, lane(WARP), |_, all| {
            for (l, lane) in all.lanes.iter().enumerate() {
                let before = l.checked_sub(number(lane, 1) as usize).map_or(0, |l| number(&all.lanes[l], 0));
                give(lane, 0, number(lane, 0).wrapping_add(before));
            }
        }),
        Operation::Alike => meet(warp, WARP, operation, lane(WARP), |_, all| {
            let byte = |lane| number(lane, 0) & 0xFF;
            for lane in &all.lanes {
                let same = |l: &usize| byte(&all.lanes[*l]) == byte(lane);
                give(lane, 0, (0..WARP).filter(same).map(|l| 1 << l).sum());
            }
        }),
        Operation::LoadSharedWord | Operation::LoadSharedLong => {
            let count = if operation == Operation::LoadSharedWord { 4 } else { 8 };
            let bytes = state.bytes(block, at(0), count, count).to_vec();
            for (i, word) in bytes.chunks(4).enumerate() {
                give(&mine, i, u32::from_le_bytes(word.try_into().unwrap()));
            }
        }
        Operation::StoreSharedWord => {
            state.bytes(block, at(0), 4, 4).copy_from_slice(&number(&mine, 1).to_le_bytes());
        }
        Operation::StoreSharedLong => {
            state.bytes(block, at(0), 8, 8).copy_from_slice(&operand(&mine, 1).to_le_bytes());
        }
        Operation::AddShared => {
            let word = state.bytes(block, at(0), 4, 4);
            let sum = u32::from_le_bytes(word.try_into().unwrap()).wrapping_add(number(&mine, 1));
            word.copy_from_slice(&sum.to_le_bytes());
        }
        Operation::AddGlobal | Operation::TakeGlobal => {
            let Some(to) = state.global(operand(&mine, 0), 4, 4) else { return };
            // SAFETY: `global` gives addresses of memory that is there.
            let known = unsafe { to.cast::<u32>().read() };
            // SAFETY: as before.
            unsafe { to.cast::<u32>().write(known.wrapping_add(number(&mine, 1))) };
            if operation == Operation::TakeGlobal {
                give(&mine, 0, known);
            }
        }
        Operation::LoadFlag => {
            // Whoever asks again lets others run, and those that run come to an end.
            state.idle = 0;
            wait();
            let from = cluster().global(operand(&mine, 0), 4, 4);
            // SAFETY: `global` gives addresses of memory that is there.
            give(&mine, 0, from.map_or(0, |from| unsafe { from.cast::<u32>().read() }));
        }
        Operation::StoreFlag => {
            if let Some(to) = state.global(operand(&mine, 0), 4, 4) {
                // SAFETY: `global` gives addresses of memory that is there.
                unsafe { to.cast::<u32>().write(number(&mine, 1)) };
            }
        }
        Operation::MmaBf16 => meet(warp, WARP, operation, lane(WARP), |_, all| warp_product(all, Factor::Bf16)),
        Operation::MmaF16 => meet(warp, WARP, operation, lane(WARP), |_, all| warp_product(all, Factor::F16)),
        Operation::MmaI8 => meet(warp, WARP, operation, lane(WARP), |_, all| warp_product(all, Factor::I8)),
        Operation::MmaU8 => meet(warp, WARP, operation, lane(WARP), |_, all| warp_product(all, Factor::U8)),
        Operation::Permute => {
            let [low, high, which] = [0, 1, 2].map(|i| u64::from(number(&mine, i)));
            let bytes = (high << 32 | low).to_le_bytes();
            let chosen = [0, 1, 2, 3].map(|i| bytes[(which >> (4 * i) & 7) as usize]);
            give(&mine, 0, u32::from_le_bytes(chosen));
        }
        Operation::LoadB8 => {
            let from = if number(&mine, 1) == 0 { None } else { state.global(operand(&mine, 0), 1, 1) };
            // SAFETY: `global` gives addresses of memory that is there.
            give(&mine, 0, from.map_or(0, |from| u32::from(unsafe { from.read() })));
        }
        Operation::LoadMatrices => {
            meet(warp, WARP, operation, lane(WARP), |state, all| load_matrices(state, all, false))
        }
        Operation::LoadTransposed => {
            meet(warp, WARP, operation, lane(WARP), |state, all| load_matrices(state, all, true))
        }
        Operation::StoreMatrices => meet(warp, WARP, operation, lane(WARP), store_matrices),
        Operation::PackBf16 | Operation::PackF16 => {
            let [high, low] = [0, 1].map(|i| {
                let value = f32::from_bits(number(&mine, i));
                if operation == Operation::PackBf16 {
                    bf16::from_f32(value).to_bits()
                } else {
                    f16::from_f32(value).to_bits()
                }
            });
            give(&mine, 0, u32::from(high) << 16 | u32::from(low));
        }
        Operation::Copy16 => state.copy(&mine, 16),
        Operation::Copy8 => state.copy(&mine, 8),
        Operation::Copy4 => state.copy(&mine, 4),
        Operation::CopyCommit => state.copies[thread].push(Vec::new()),
        Operation::CopyWait0 => state.copied(0),
        Operation::CopyWait1 => state.copied(1),
        Operation::CopyWait2 => state.copied(2),
        Operation::CopyWait3 => state.copied(3),
        Operation::LoadB16 => {
            let from = if number(&mine, 1) == 0 { None } else { state.global(operand(&mine, 0), 2, 2) };
            // SAFETY: `global` gives addresses of memory that is there.
            give(&mine, 0, from.map_or(0, |from| u32::from(unsafe { from.cast::<u16>().read() })));
        }
        Operation::LoadB32 | Operation::LoadF32 => {
            let loads = operation == Operation::LoadF32 || number(&mine, 1) != 0;
            let from = if loads { state.global(operand(&mine, 0), 4, 4) } else { None };
            // SAFETY: `global` gives addresses of memory that is there.
            give(&mine, 0, from.map_or(0, |from| unsafe { from.cast::<u32>().read() }));
        }
        Operation::StoreSharedPair => {
            let words: Vec<u8> = (1..3).flat_map(|i| number(&mine, i).to_le_bytes()).collect();
            state.bytes(block, at(0), 8, 8).copy_from_slice(&words);
        }
        Operation::LoadShared | Operation::LoadSharedPair | Operation::LoadRemote => {
            let count = if operation == Operation::LoadSharedPair { 8 } else { 16 };
            let of = if operation == Operation::LoadRemote { at(1) } else { block };
            let bytes = state.bytes(of, at(0), count, count).to_vec();
            for (i, word) in bytes.chunks(4).enumerate() {
                give(&mine, i, u32::from_le_bytes(word.try_into().unwrap()));
            }
        }
        Operation::StoreShared => {
            let words: Vec<u8> = (1..5).flat_map(|i| number(&mine, i).to_le_bytes()).collect();
            state.bytes(block, at(0), 16, 16).copy_from_slice(&words);
        }
        Operation::StoreF32 | Operation::StoreB32 => state.store(&mine, 1, 4),
        Operation::StoreB16 => state.store(&mine, 1, 2),
        Operation::StoreB8 => state.store(&mine, 1, 1),
        Operation::StoreF32Pair => state.store(&mine, 2, 4),
        // What they order is in order here.
        Operation::BarrierFence
        | Operation::RegistersLess
        | Operation::RegistersMore
        | Operation::MapPrefetch
        | Operation::TmaCommit
        | Operation::TmaWaitRead
        | Operation::TmaWaitReadAll
        | Operation::TmaWait
        | Operation::ProxyFence
        | Operation::WgmmaFence => {}
    }
}

/// What a sum is called while products make it: a NaN with its place.
const SUM: u32 = 0x7FE0_0000;

impl Cluster {
    /// The value of a sum of a thread that products make, and their group.
    fn sum(&self, thread: usize, bits: u32) -> Option<(u32, u64)> {
        if bits & SUM != SUM || bits >> 31 != 0 {
            return None;
        }
        self.sums[thread].get((bits & !SUM) as usize).copied()
    }

    /// Gives a lane a sum that it has to wait for.
    fn give_sum(&mut self, thread: usize, lane: &(usize, *const u64, *mut u32), i: usize, bits: u32) {
        let group = self.groups[thread / GROUP];
        self.sums[thread].push((bits, group));
        give(lane, i, SUM | (self.sums[thread].len() - 1) as u32);
    }

    /// One thread more is at a barrier of two warpgroups; how often others went on before.
    fn turn(&mut self, barrier: (usize, usize)) -> usize {
        self.idle = 0;
        let (threads, over) = self.turns.entry(barrier).or_default();
        let before = *over;
        *threads += 1;
        if *threads == 2 * GROUP {
            (*threads, *over) = (0, before + 1);
        }
        before
    }

    /// Products of a warpgroup are done, but for the last groups.
    fn forget(&mut self, group: usize, but: u64) {
        let done = self.groups[group].saturating_sub(but);
        self.reads[group].retain(|(number, _)| *number >= done);
    }

    fn copy(&mut self, lane: &(usize, *const u64, *mut u32), bytes: usize) {
        let (to, from, count) = (number(lane, 0) as usize, operand(lane, 1), number(lane, 2) as usize);
        let mut data = vec![0; bytes];
        if count > bytes {
            return self.fail("a copy of more bytes than it has");
        }
        if count > 0
            && let Some(from) = self.global(from, count, 1)
        {
            // SAFETY: `global` gives addresses of memory that is there.
            data[..count].copy_from_slice(unsafe { std::slice::from_raw_parts(from, count) });
        }
        if !from.is_multiple_of(bytes as u64) {
            self.fail("a copy from an address that is not aligned");
        }
        let block = self.block();
        self.bytes(block, to, bytes, bytes).fill(0xFF);
        let thread = self.current;
        self.copies[thread].last_mut().unwrap().push(Pending { to, data });
    }

    /// All groups of copies but the last ones have come.
    fn copied(&mut self, but: usize) {
        let (thread, block) = (self.current, self.block());
        let closed = self.copies[thread].len() - 1;
        let done: Vec<Pending> = self.copies[thread].drain(..closed.saturating_sub(but)).flatten().collect();
        for Pending { to, data } in done {
            self.bytes(block, to, data.len(), 1).copy_from_slice(&data);
        }
    }

    /// Stores some words, or the lower half of one, where the last operand is not 0.
    fn store(&mut self, lane: &(usize, *const u64, *mut u32), words: usize, bytes: usize) {
        if number(lane, 1 + words) == 0 {
            return;
        }
        if let Some(to) = self.global(operand(lane, 0), words * bytes, words * bytes) {
            for i in 0..words {
                let word = number(lane, 1 + i).to_le_bytes();
                // SAFETY: `global` gives addresses of memory that is there.
                unsafe { std::ptr::copy_nonoverlapping(word.as_ptr(), to.add(i * bytes), bytes) };
            }
        }
    }
}

fn load_region(state: &mut Cluster, lane: &(usize, *const u64, *mut u32), operation: Operation) {
    let (to, map, barrier) = (number(lane, 0) as usize, operand(lane, 1) as *const Map, number(lane, 2) as usize);
    let mut at = [3, 4, 5, 6].map(|i| i64::from(number(lane, i) as i32));
    let mut blocks = 1 << state.block();
    if operation == Operation::TmaLoadMulticast {
        blocks = u64::from(number(lane, 6) as u16);
    }
    if operation != Operation::TmaLoad4 {
        at[3] = 0;
    }
    // SAFETY: the caller's maps live as long as the run.
    let bytes = 128 * unsafe { &*map }.region[1];
    for block in (0..state.shared.len()).filter(|block| blocks >> block & 1 == 1) {
        state.bytes(block, to, bytes, 1024).fill(0xFF);
        state.flights.push(Flight { map, to, barrier, block, at });
    }
    state.idle = 0;
}

fn store_region(state: &mut Cluster, lane: &(usize, *const u64, *mut u32), operation: Operation) {
    // SAFETY: the caller's maps live as long as the run.
    let map = unsafe { &*(operand(lane, 0) as *const Map) };
    let from = number(lane, 1) as usize;
    let mut at = [2, 3, 4, 5].map(|i| i64::from(number(lane, i) as i32));
    if operation != Operation::TmaStore4 {
        at[3] = 0;
    }
    for y in 0..map.region[1] {
        for x in 0..map.region[0] {
            let value = state.word(swizzled(from + y * 128 + x * 2));
            if let Some(to) = element(map, [at[0] + x as i64, at[1] + y as i64, at[2], at[3]]) {
                // SAFETY: `element` gives addresses inside of the tensor.
                unsafe { to.cast::<[u8; 2]>().write_unaligned(value) };
            }
        }
    }
}

fn load_matrices(state: &mut Cluster, all: &Meeting, transposed: bool) {
    for matrix in 0..4 {
        let rows: Vec<Vec<u8>> = (0..8)
            .map(|row| {
                let at = number(&all.lanes[matrix * 8 + row], 0) as usize;
                let block = state.block();
                state.bytes(block, at, 16, 16).to_vec()
            })
            .collect();
        for (l, lane) in all.lanes.iter().enumerate() {
            let [low, high] = [0, 1].map(|e| {
                let (row, column) = (l / 4, 2 * (l % 4) + e);
                let (row, column) = if transposed { (column, row) } else { (row, column) };
                u32::from(rows[row][2 * column]) | u32::from(rows[row][2 * column + 1]) << 8
            });
            give(lane, matrix, low | high << 16);
        }
    }
}

fn store_matrices(state: &mut Cluster, all: &Meeting) {
    for matrix in 0..4 {
        for row in 0..8 {
            let at = number(&all.lanes[matrix * 8 + row], 0) as usize;
            let words: Vec<u8> =
                (0..4).flat_map(|pair| number(&all.lanes[row * 4 + pair], 1 + matrix).to_le_bytes()).collect();
            let block = state.block();
            state.bytes(block, at, 16, 16).copy_from_slice(&words);
        }
    }
}

fn warp_product(all: &Meeting, factor: Factor) {
    let (mut a, mut b) = (vec![Vec::new(); 16], vec![Vec::new(); 8]);
    // Four bytes of a row or column for each of four lanes, then those 16 bytes on.
    for half in 0..2 {
        for (l, lane) in all.lanes.iter().enumerate() {
            let word = |i: usize| decoded(&number(lane, i).to_le_bytes(), factor);
            for down in 0..2 {
                a[l / 4 + 8 * down].extend(word(4 + 2 * half + down));
            }
            b[l / 4].extend(word(8 + half));
        }
    }
    for (l, lane) in all.lanes.iter().enumerate() {
        for i in 0..4 {
            let (row, column) = (l / 4 + 8 * (i / 2), 2 * (l % 4) + i % 2);
            give(lane, i, added(factor, number(lane, i), &a[row], &b[column]));
        }
    }
}

fn warpgroup_product(state: &mut Cluster, all: &Meeting, operation: Operation) {
    let first = &all.lanes[0];
    let count = number(first, 0) as usize;
    let columns = 2 * count;
    // Where the sums are, what elements are, then the left factor, then the right one and whether the sums count.
    let (sums, rest) = if operation == Operation::Wgmma { (4, 5 + count) } else { (3, 7 + count) };
    let [b_transposed, elements] = [sums - 2, sums - 1].map(|i| number(first, i) as usize);
    let factor = Factor::ALL[elements];
    let (depth, width) = (factor.depth() as usize, 32 / factor.depth() as usize);
    let [a, b, add] = [sums + count, rest, rest + 1].map(|i| operand(first, i));
    let same = |i: usize| all.lanes.iter().all(|lane| operand(lane, i) == operand(first, i));
    if !same(rest) || operation == Operation::Wgmma && !same(sums + count) {
        state.fail("lanes of a warpgroup have different descriptors");
    }
    let field = |descriptor: u64, bit: u32| ((descriptor >> bit & 0x3FFF) << 4) as usize;
    let shared = if operation == Operation::Wgmma { vec![a, b] } else { vec![b] };
    if shared.iter().any(|descriptor| descriptor >> 62 != 1) {
        state.fail("a descriptor without a swizzle of 128 bytes");
    }
    // Of a matrix: where the element of an outer index and a depth is.
    let place = |descriptor: u64, transposed: usize, outer: usize, depth: usize| {
        let (start, panel, eight) = (field(descriptor, 0), field(descriptor, 16), field(descriptor, 32));
        swizzled(if transposed != 0 {
            start + outer / 64 * panel + depth / 8 * eight + depth % 8 * 128 + outer % 64 * 2
        } else {
            start + outer / 8 * eight + outer % 8 * 128 + depth * width
        })
    };
    let group = state.current / GROUP;
    let block = state.block();
    let mut read = |descriptor: u64, transposed: usize, outers: usize| -> Vec<Vec<f32>> {
        let at: Vec<Vec<usize>> = (0..outers)
            .map(|outer| (0..depth).map(|depth| place(descriptor, transposed, outer, depth)).collect())
            .collect();
        // Rows of 128 bytes, of which there are few.
        let mut rows: Vec<usize> = at.iter().flatten().map(|at| at / 128).collect();
        rows.sort_unstable();
        rows.dedup();
        let number = state.groups[group];
        for row in rows {
            match state.reads[group].last_mut() {
                Some((last, range)) if *last == number && range.end == row * 128 => range.end += 128,
                _ => state.reads[group].push((number, row * 128..row * 128 + 128)),
            }
        }
        let mut row = |at: &Vec<usize>| -> Vec<f32> {
            at.iter().flat_map(|at| decoded(state.bytes(block, *at, width, width), factor)).collect()
        };
        at.iter().map(&mut row).collect()
    };
    let left = if operation == Operation::Wgmma {
        read(a, number(first, 1) as usize, 64)
    } else {
        let mut left = vec![Vec::new(); 64];
        for half in 0..2 {
            for (l, lane) in all.lanes.iter().enumerate() {
                for down in 0..2 {
                    let word = number(lane, sums + count + 2 * half + down);
                    left[l / 32 * 16 + l % 32 / 4 + 8 * down].extend(decoded(&word.to_le_bytes(), factor));
                }
            }
        }
        left
    };
    let right = read(b, b_transposed, columns);
    for (l, lane) in all.lanes.iter().enumerate() {
        for i in 0..count {
            let row = l / 32 * 16 + l % 32 / 4 + (i & 2) * 4;
            let column = i / 4 * 8 + l % 4 * 2 + i % 2;
            let thread = group * GROUP + l;
            let bits = number(lane, sums + i);
            let old = state.sum(thread, bits).map_or(bits, |(value, _)| value);
            let old = if add as u32 == 0 { 0 } else { old };
            state.give_sum(thread, lane, i, added(factor, old, &left[row], &right[column]));
        }
    }
}
