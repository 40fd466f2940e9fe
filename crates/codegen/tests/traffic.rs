//! Budgets of what kernels for GPUs ask of memory: sectors of 32 bytes beside those that would do, and cycles of the banks of
//! shared memory beside those without conflicts. A kernel's own text is run for one block of threads, a fiber each, with a
//! note before each access.
#![allow(clippy::unwrap_used)]

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, Yielder};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use svod_codegen::load::{Address, Code};
use svod_codegen::{host, llvm, lower, machine};
use svod_ir::kernel::Kernel;
use svod_ir::target::Target;
use svod_schedule::{heuristic, lower as lower_kernel};

/// Threads of a warp, bytes of a sector, of an access at most, of a word of a bank, and number of banks.
const WARP: usize = 32;
const SECTOR: usize = 32;
const WIDEST: usize = 16;
const WORD: usize = 4;
const BANKS: usize = 32;

/// Bytes that a block of threads may have without asking for more.
const SHARED: usize = 48 << 10;

/// An access of a thread: which of its warp, which instruction, how often it was there before, and the bytes.
struct Access {
    thread: usize,
    site: usize,
    time: usize,
    at: usize,
    bytes: usize,
}

thread_local! {
    static THREAD: Cell<usize> = const { Cell::new(0) };
    static BLOCK: Cell<usize> = const { Cell::new(0) };
    static FIBER: Cell<*const Yielder<(), ()>> = const { Cell::new(std::ptr::null()) };
    static VALUES: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
    static MEMORY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ACCESSES: RefCell<Vec<Access>> = const { RefCell::new(Vec::new()) };
    static COUNTS: RefCell<BTreeMap<(usize, usize), usize>> = const { RefCell::new(BTreeMap::new()) };
}

extern "C" fn tid() -> u32 {
    THREAD.get() as u32
}

extern "C" fn ctaid() -> u32 {
    BLOCK.get() as u32
}

/// So many that no block does a second task.
extern "C" fn nctaid() -> u32 {
    1 << 24
}

extern "C" fn shared() -> *mut u8 {
    MEMORY.with_borrow_mut(|memory| {
        let start = memory.as_mut_ptr();
        start.wrapping_add(start.addr().wrapping_neg() % 128)
    })
}

extern "C" fn sync() {
    let (thread, fiber) = (THREAD.get(), FIBER.get());
    // SAFETY: the fiber that runs.
    unsafe { (*fiber).suspend(()) };
    THREAD.set(thread);
    FIBER.set(fiber);
}

extern "C" fn shuffle(value: u32, lane: u32) -> u32 {
    let thread = THREAD.get();
    VALUES.with_borrow_mut(|values| values[thread] = value);
    sync();
    let got = VALUES.with_borrow(|values| values[thread - thread % WARP + lane as usize % WARP]);
    sync();
    got
}

extern "C" fn shuffle_xor(value: u32, bits: u32) -> u32 {
    shuffle(value, (THREAD.get() % WARP) as u32 ^ bits)
}

extern "C" fn exp2(x: f32) -> f32 {
    x.exp2()
}

extern "C" fn access(at: usize, bytes: u32, site: u32) {
    let (thread, site, bytes) = (THREAD.get(), site as usize, bytes as usize);
    let time = COUNTS.with_borrow_mut(|counts| {
        let count = counts.entry((thread, site)).or_default();
        *count += 1;
        *count
    });
    ACCESSES.with_borrow_mut(|all| {
        for (part, offset) in (0..bytes).step_by(WIDEST).enumerate() {
            // Instructions of more bytes are several of the widest.
            let (site, bytes) = (site * 64 + part, (bytes - offset).min(WIDEST));
            all.push(Access { thread, site, time, at: at + offset, bytes });
        }
    });
}

fn symbol(name: &str) -> Option<Address> {
    let address = match name {
        "svod_sim_tid" => tid as *const (),
        "svod_sim_ctaid" => ctaid as *const (),
        "svod_sim_nctaid" => nctaid as *const (),
        "svod_sim_shared" => shared as *const (),
        "svod_sim_block_sync" | "svod_sim_warp_sync" => sync as *const (),
        "svod_sim_shfl" => shuffle as *const (),
        "svod_sim_shfl_xor" => shuffle_xor as *const (),
        "svod_sim_exp2" => exp2 as *const (),
        "svod_sim_access" => access as *const (),
        _ => return None,
    };
    Some(Address(address as usize))
}

/// Bytes of a value of a type, as LLVM writes it.
fn bytes_of(of: &str) -> usize {
    let (lanes, element) = match of.trim_start_matches('<').trim_end_matches('>').split_once(" x ") {
        Some((lanes, element)) => (lanes.parse().unwrap(), element),
        None => (1, of),
    };
    let bits = match element {
        "float" => 32,
        "double" => 64,
        integer => integer.trim_start_matches('i').parse::<usize>().unwrap(),
    };
    lanes * bits / 8
}

/// The text with a call before each access to memory.
fn noted(text: &str) -> String {
    let mut made = String::new();
    for (site, line) in text.lines().enumerate() {
        let words = line.trim_start();
        let of = match words.split_once(" = load ") {
            Some((_, rest)) => rest.split_once(", ptr "),
            None => words.strip_prefix("store ").and_then(|rest| {
                let end = if rest.starts_with('<') { rest.find('>')? + 1 } else { rest.find(' ')? };
                let (_, pointer) = rest.split_once(", ptr ")?;
                Some((&rest[..end], pointer))
            }),
        };
        if let Some((of, pointer)) = of {
            let pointer = pointer.split([',', ' ']).next().unwrap();
            let slot = pointer.strip_prefix("%a").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
            if !slot {
                let bytes = bytes_of(of);
                let _ = writeln!(made, "  call void @svod_sim_access(ptr {pointer}, i32 {bytes}, i32 {site})");
            }
        }
        made.push_str(line);
        made.push('\n');
    }
    made.push_str("declare void @svod_sim_access(ptr, i32, i32)\n");
    made
}

/// What a block of threads asked for.
#[derive(Debug)]
struct Traffic {
    /// Sectors of memory beside what would hold as many bytes.
    sectors: f64,
    /// Cycles of banks beside phases of accesses to shared memory; 1 without any.
    cycles: f64,
    /// Bytes of memory.
    bytes: usize,
    shared: usize,
}

/// Runs one block of a kernel's first phase, on memory that is all 0.
fn traffic(kernel: &str, block: usize) -> Traffic {
    let (kernel, target) = (Kernel::parse(kernel).unwrap(), Target::named("cuda-sm90").unwrap());
    let lowered = lower_kernel(&kernel, &heuristic(&kernel, &target)).unwrap().lowered;
    let lists = lower::linearize(&lowered, &target).unwrap();
    let (list, machine) = (&lists[..1], host::native());
    let entry = llvm::Entry { form: llvm::Form::Simulated, machine: &machine, align: 16 };
    let object = machine::object("traffic", &noted(&llvm::module(list, &target, entry)), &machine).unwrap();
    let code = Code::load("traffic", &object, &symbol).unwrap();
    let address = code.address(&list[0].name).unwrap();
    let threads = llvm::Share::of(&list[0]).block() as usize;

    let elements = |shape: &[svod_ir::size::Size]| shape.iter().map(|n| n.as_usize().unwrap()).product::<usize>();
    let memory: Vec<Vec<u64>> =
        lowered.params.iter().map(|p| vec![0u64; elements(&p.shape) * p.dtype.bytes() / 8 + 64]).collect();
    // As memory of a GPU, which is aligned to more.
    let start = |memory: &Vec<u64>| memory.as_ptr().addr().next_multiple_of(256) as u64;
    let mut words: Vec<u64> = memory.iter().map(start).collect();
    assert!(list[0].scratch.is_empty() && list[0].vars.is_empty() && words.len() <= 6);
    words.extend([1 << 24, 0]);
    words.resize(8, 0);
    // SAFETY: a kernel takes pointers and numbers, of which all those that it does not take are left to the caller.
    let call: extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64) = unsafe { std::mem::transmute(address.0) };

    MEMORY.set(vec![0; SHARED + 128]);
    VALUES.set(vec![0; threads]);
    ACCESSES.take();
    COUNTS.take();
    BLOCK.set(block);
    let w: [u64; 8] = words[..].try_into().unwrap();
    let mut fibers: Vec<_> = (0..threads)
        .map(|thread| {
            Coroutine::with_stack(DefaultStack::new(256 << 10).unwrap(), move |fiber: &Yielder<(), ()>, ()| {
                THREAD.set(thread);
                FIBER.set(fiber);
                call(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]);
            })
        })
        .collect();
    while fibers.iter().any(|fiber| !fiber.done()) {
        for fiber in fibers.iter_mut().filter(|fiber| !fiber.done()) {
            let _ = fiber.resume(());
        }
    }
    counted(&ACCESSES.take())
}

fn counted(all: &[Access]) -> Traffic {
    let own = MEMORY.with_borrow(|memory| memory.as_ptr_range());
    let is_shared = |a: &Access| (own.start.addr()..own.end.addr()).contains(&a.at);
    let mut together: BTreeMap<(usize, usize, usize), Vec<&Access>> = BTreeMap::new();
    for a in all {
        together.entry((a.thread / WARP, a.site, a.time)).or_default().push(a);
    }
    let (mut sectors, mut least, mut cycles, mut phases, mut bytes, mut shared) = (0, 0, 0, 0, 0, 0);
    for accesses in together.values() {
        if is_shared(accesses[0]) {
            // A phase is as many threads as all banks serve at one time.
            let threads = (BANKS * WORD / accesses[0].bytes.max(WORD)).min(WARP);
            for phase in accesses.chunks(threads) {
                let words: BTreeSet<usize> =
                    phase.iter().flat_map(|a| (a.at..a.at + a.bytes).map(|byte| byte / WORD)).collect();
                let mut banks = [0; BANKS];
                words.iter().for_each(|word| banks[word % BANKS] += 1);
                (cycles, phases) = (cycles + banks.iter().max().unwrap(), phases + 1);
            }
            shared += accesses.iter().map(|a| a.bytes).sum::<usize>();
            continue;
        }
        let touched: BTreeSet<usize> = accesses.iter().flat_map(|a| a.at..a.at + a.bytes).collect();
        let of: BTreeSet<usize> = touched.iter().map(|byte| byte / SECTOR).collect();
        (sectors, least) = (sectors + of.len(), least + touched.len().div_ceil(SECTOR));
        bytes += touched.len();
    }
    assert!(least > 0, "nothing was accessed");
    let cycles = if phases == 0 { 1.0 } else { f64::from(cycles) / f64::from(phases) };
    Traffic { sectors: sectors as f64 / least as f64, cycles, bytes, shared }
}

fn check(kernel: &str) -> Traffic {
    let traffic = traffic(kernel, 1);
    assert!(traffic.sectors <= 1.05, "{traffic:?} of {kernel}");
    assert!(traffic.cycles <= 1.0, "{traffic:?} of {kernel}");
    traffic
}

/// A map of two arguments, the second one read at `at`.
fn added(dtype: &str, shape: [i64; 2], second: &str, at: &str) -> String {
    let [m, n] = shape;
    let wide = |e: String| if dtype == "f32" { e } else { format!("cast(f32, {e})") };
    let (a, b) = (wide("p0[i, j]".into()), wide(format!("p1[{at}]")));
    let sum = if dtype == "f32" { format!("{a} + {b}") } else { format!("cast({dtype}, {a} + {b})") };
    format!(
        "kernel added\nparam p0: {dtype}[{m}, {n}]\nparam p1: {dtype}[{second}]\nparam p2: {dtype}[{m}, {n}]\n\
         axis i < {m}\naxis j < {n}\nstage out[i, j] = map\n  p2[i, j] = {sum}\n"
    )
}

#[test]
fn maps_read_and_write_whole_sectors() {
    for dtype in ["f32", "bf16"] {
        check(&added(dtype, [4096, 4096], "4096, 4096", "i, j"));
        check(&added(dtype, [4096, 4096], "4096", "j"));
    }
}

#[test]
fn operands_that_lie_across_are_read_by_lines() {
    for dtype in ["f32", "bf16", "f16"] {
        let traffic = check(&added(dtype, [4096, 4096], "4096, 4096", "j, i"));
        // Each element of the second argument is written to shared memory, and read once.
        assert_eq!(3 * traffic.shared, 2 * traffic.bytes, "{traffic:?}");
    }
    // Nothing is aligned: elements one by one, still side by side.
    let traffic = traffic(&added("f32", [4097, 4099], "4099, 4097", "j, i"), 1);
    assert!(traffic.sectors <= 1.3 && traffic.cycles <= 1.1, "{traffic:?}");
}

#[test]
fn rows_are_read_and_written_by_sectors() {
    let softmax = "kernel soft\nparam p0: f32[8192, 4096]\nparam p1: f32[8192, 4096]\naxis i < 8192\naxis j < 4096\naxis k < 4096\n\
                   axis l < 4096\nstage peak[i] = reduce j\n  carry.0: f32 = max(p0[i, j])\n  peak = carry.0\n\
                   stage total[i] = reduce k\n  carry.0: f32 = sum(exp(p0[i, k] - peak[i]))\n  total = carry.0\n\
                   stage out[i, l] = map\n  p1[i, l] = exp(p0[i, l] - peak[i]) / total[i]\n";
    check(softmax);
    let sums = "kernel sums\nparam p0: f32[4096, 4096]\nparam p1: f32[4096]\naxis i < 4096\naxis j < 4096\n\
                stage out[i] = reduce j\n  carry.0: f32 = sum(p0[i, j])\n  p1[i] = carry.0\n";
    check(sums);
    let columns = "kernel columns\nparam p0: f32[32, 128, 4096]\nparam p1: f32[32, 4096]\naxis i < 32\naxis j < 4096\n\
                   axis k < 128\nstage out[i, j] = reduce k\n  carry.0: f32 = sum(p0[i, k, j])\n  p1[i, j] = carry.0\n";
    check(columns);
}

/// That what counts tells good from bad.
#[test]
fn strides_and_conflicts_are_counted() {
    let at = MEMORY.with_borrow_mut(|memory| {
        *memory = vec![0; SHARED + 128];
        memory.as_ptr().addr().next_multiple_of(128)
    });
    let warp = |stride: usize, at: usize| {
        let each = |thread| Access { thread, site: 0, time: 1, at: at + thread * stride, bytes: 4 };
        (0..WARP).map(each).collect::<Vec<Access>>()
    };
    assert_eq!(counted(&warp(4, 1 << 12)).sectors, 1.0);
    assert_eq!(counted(&warp(32, 1 << 12)).sectors, 8.0);
    let with = |mut all: Vec<Access>| {
        all.extend(warp(4, 1 << 12).into_iter().map(|a| Access { site: 1, ..a }));
        counted(&all).cycles
    };
    assert_eq!([4, 8, 128].map(|stride| with(warp(stride, at))), [1.0, 2.0, 32.0]);
}
