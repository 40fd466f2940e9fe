//! The threads of a simulated GPU.
//!
//! Threads that ask nothing of each other run one after the other. Where they do, those of a block run as fibers, each
//! until it comes to an operation of its warp or of the block; when the last one is there, each is given its result and
//! goes on. Blocks, warps and threads run in an order that a seed makes.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use svod_codegen::load::Address;

/// Threads of a warp.
const WARP: u32 = 32;

/// Bytes of a fiber's stack.
const STACK: usize = 1 << 20;

/// Bytes that a block shares at most, and what they are multiples of.
const SHARED: usize = 232_448;
const SHARED_ALIGN: usize = 128;

/// What a thread asks of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    /// That all of its block have come here.
    Block,
    /// That all of its warp have come here.
    Warp,
    /// The value of the thread whose number differs in these bits.
    Xor { value: u32, bits: u32 },
    /// The value of the thread of this number.
    From { value: u32, lane: u32 },
    /// A bit for each thread that has the same value.
    Match { value: u32 },
}

/// Where the code that runs is.
#[derive(Clone, Copy)]
struct Thread {
    thread: u32,
    threads: u32,
    block: u32,
    blocks: u32,
    /// The fiber; null where the thread is none.
    fiber: *const Yielder<u32, Ask>,
}

thread_local! {
    static THREAD: Cell<Thread> =
        const { Cell::new(Thread { thread: 0, threads: 0, block: 0, blocks: 0, fiber: std::ptr::null() }) };
    /// Whether a thread asked its warp for something and was no fiber.
    static NEEDS_FIBERS: Cell<bool> = const { Cell::new(false) };
    /// What the block that runs shares.
    static BLOCK_MEMORY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// The function of this name that code calls.
pub(super) fn symbol(name: &str) -> Option<Address> {
    let address = match name {
        "svod_sim_tid" => tid as *const (),
        "svod_sim_ntid" => ntid as *const (),
        "svod_sim_ctaid" => ctaid as *const (),
        "svod_sim_nctaid" => nctaid as *const (),
        "svod_sim_shared" => shared as *const (),
        "svod_sim_block_sync" => block_sync as *const (),
        "svod_sim_warp_sync" => warp_sync as *const (),
        "svod_sim_shfl_xor" => shuffle_xor as *const (),
        "svod_sim_shfl" => shuffle as *const (),
        "svod_sim_exp2" => exp2 as *const (),
        "svod_sim_match" => alike as *const (),
        _ => return None,
    };
    Some(Address(address as usize))
}

extern "C" fn tid() -> u32 {
    THREAD.get().thread
}

extern "C" fn ntid() -> u32 {
    THREAD.get().threads
}

extern "C" fn ctaid() -> u32 {
    THREAD.get().block
}

extern "C" fn nctaid() -> u32 {
    THREAD.get().blocks
}

extern "C" fn shared() -> *mut u8 {
    BLOCK_MEMORY.with_borrow_mut(|memory| {
        let start = memory.as_mut_ptr();
        start.wrapping_add(start.addr().wrapping_neg() % SHARED_ALIGN)
    })
}

extern "C" fn block_sync() {
    ask(Ask::Block, 0);
}

extern "C" fn warp_sync() {
    ask(Ask::Warp, 0);
}

extern "C" fn shuffle_xor(value: u32, bits: u32) -> u32 {
    ask(Ask::Xor { value, bits }, value)
}

extern "C" fn exp2(x: f32) -> f32 {
    x.exp2()
}

extern "C" fn shuffle(value: u32, lane: u32) -> u32 {
    ask(Ask::From { value, lane }, value)
}

extern "C" fn alike(value: u32) -> u32 {
    ask(Ask::Match { value }, 1)
}

fn ask(what: Ask, alone: u32) -> u32 {
    let fiber = THREAD.get().fiber;
    if fiber.is_null() {
        NEEDS_FIBERS.set(true);
        return alone;
    }
    // SAFETY: the fiber that runs; it is there as long as the code that it runs.
    unsafe { (*fiber).suspend(what) }
}

/// Whether code asks of other threads, by name of what it calls.
pub(super) fn calls_warp(name: &str) -> bool {
    matches!(
        name,
        "svod_sim_shared" | "svod_sim_block_sync" | "svod_sim_warp_sync" | "svod_sim_shfl_xor" | "svod_sim_shfl"
    )
}

/// Runs a kernel; says what went wrong in it.
///
/// # Safety
/// The address is that of a kernel for which these are the arguments.
pub(super) unsafe fn run(
    kernel: Address,
    words: &[u64],
    (blocks, threads): (u32, u32),
    fibers: bool,
    seed: u64,
) -> Result<(), String> {
    let Some(call) = caller(words.len()) else { return Err(format!("{} arguments are too many", words.len())) };
    let mut padded = words.to_vec();
    padded.resize(MOST, 0);
    // SAFETY: the caller's promise.
    let enter = || unsafe { call(kernel.0, &padded) };
    let mut order = Order(seed | 1);
    for block in order.of(blocks) {
        let at = Thread { thread: 0, threads, block, blocks, fiber: std::ptr::null() };
        if fibers {
            // What no thread has written is NaN.
            BLOCK_MEMORY.with_borrow_mut(|memory| {
                memory.clear();
                memory.resize(SHARED + SHARED_ALIGN, 0xFF);
            });
            run_block(&enter, at, &mut order)?;
            continue;
        }
        for thread in order.of(threads) {
            THREAD.set(Thread { thread, ..at });
            enter();
        }
        if NEEDS_FIBERS.replace(false) {
            return Err("threads exchanged values in code that declares nothing of it".into());
        }
    }
    Ok(())
}

type Fiber = Coroutine<u32, Ask, (), DefaultStack>;

/// Runs the threads of a block as fibers.
fn run_block(enter: &dyn Fn(), at: Thread, order: &mut Order) -> Result<(), String> {
    let mut fibers: Vec<Fiber> = Vec::with_capacity(at.threads as usize);
    for _ in 0..at.threads {
        let stack = STACKS.with_borrow_mut(Vec::pop).map_or_else(|| DefaultStack::new(STACK), Ok);
        let stack = stack.map_err(|error| format!("no stack for a thread: {error}"))?;
        let body = move |fiber: &Yielder<u32, Ask>, _: u32| {
            THREAD.set(Thread { fiber, ..THREAD.get() });
            enter();
        };
        // SAFETY: the fibers end, or are given up, before `enter` is no longer there.
        fibers.push(unsafe { Coroutine::with_stack_unchecked(stack, body) });
    }
    let mut block = Block { places: vec![at; fibers.len()], states: vec![State::Ready(0); fibers.len()], fibers };
    let done = block.run(order);
    for mut fiber in block.fibers {
        if !fiber.done() {
            // SAFETY: what is on its stack is plain data of generated code, and references.
            unsafe { fiber.force_reset() };
        }
        let stack = fiber.into_stack();
        STACKS.with_borrow_mut(|stacks| stacks.push(stack));
    }
    done
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Goes on with this result of what it asked.
    Ready(u32),
    /// Waits for others.
    Waits(Ask),
    /// Is done.
    Ended,
}

/// The threads of a block that runs.
struct Block {
    fibers: Vec<Fiber>,
    places: Vec<Thread>,
    states: Vec<State>,
}

impl Block {
    fn run(&mut self, order: &mut Order) -> Result<(), String> {
        let threads = self.fibers.len() as u32;
        loop {
            for warp in order.of(threads.div_ceil(WARP)) {
                let lanes = warp * WARP..((warp + 1) * WARP).min(threads);
                self.run_warp(lanes.start as usize..lanes.end as usize, order)?;
            }
            let waits = |state: &&State| matches!(state, State::Waits(_));
            if self.states.iter().filter(waits).count() == 0 {
                return Ok(());
            }
            // Those that have ended count as having come.
            for state in self.states.iter_mut().filter(|state| matches!(state, State::Waits(_))) {
                *state = State::Ready(0);
            }
        }
    }

    /// Runs a warp until each of its threads has ended or waits for the block.
    fn run_warp(&mut self, lanes: Range<usize>, order: &mut Order) -> Result<(), String> {
        loop {
            for lane in order.of(lanes.len() as u32) {
                self.resume(lanes.start + lane as usize);
            }
            let states = &self.states[lanes.clone()];
            let of_block = |state: &State| matches!(state, State::Ended | State::Waits(Ask::Block));
            if states.iter().all(of_block) {
                return Ok(());
            }
            let asked: Vec<Ask> = states
                .iter()
                .filter_map(|state| if let State::Waits(ask) = state { Some(*ask) } else { None })
                .collect();
            if asked.len() < states.len() {
                let (waiting, all) = (asked.len(), states.len());
                return Err(format!("{waiting} of {all} threads of a warp wait for the others, which have ended"));
            }
            let kind = std::mem::discriminant(&asked[0]);
            if let Some(other) = asked.iter().find(|ask| std::mem::discriminant(*ask) != kind) {
                return Err(format!("threads of a warp wait for different things: {:?} and {other:?}", asked[0]));
            }
            for (lane, ask) in asked.iter().enumerate() {
                let value = |from: u32| match asked.get(from as usize) {
                    Some(Ask::Xor { value, .. } | Ask::From { value, .. }) => Ok(*value),
                    _ => Err(format!("thread {lane} of a warp asks thread {from}, which there is not")),
                };
                self.states[lanes.start + lane] = State::Ready(match ask {
                    Ask::Warp | Ask::Block => 0,
                    Ask::Xor { bits, .. } => value(lane as u32 ^ bits)?,
                    Ask::From { lane, .. } => value(*lane)?,
                    Ask::Match { .. } => {
                        let bits = asked.iter().enumerate().filter(|(_, other)| *other == ask).map(|(n, _)| 1 << n);
                        bits.fold(0, |all: u32, bit: u32| all | bit)
                    }
                });
            }
        }
    }

    /// Lets a thread go on, if it is ready.
    fn resume(&mut self, at: usize) {
        let State::Ready(given) = self.states[at] else { return };
        THREAD.set(Thread { thread: at as u32, ..self.places[at] });
        self.states[at] = match self.fibers[at].resume(given) {
            CoroutineResult::Yield(ask) => {
                self.places[at].fiber = THREAD.get().fiber;
                State::Waits(ask)
            }
            CoroutineResult::Return(()) => State::Ended,
        };
    }
}

/// Makes orders.
struct Order(u64);

impl Order {
    fn next(&mut self) -> u64 {
        // Xorshift (Marsaglia 2003).
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// All numbers below `n`, each once: from anywhere on, forwards or backwards.
    fn of(&mut self, n: u32) -> impl Iterator<Item = u32> + use<> {
        let random = self.next();
        let (start, back) = ((random >> 8) % u64::from(n.max(1)), random & 1 == 1);
        (0..u64::from(n)).map(move |i| {
            let at = ((start + i) % u64::from(n)) as u32;
            if back { n - 1 - at } else { at }
        })
    }
}

/// Arguments of a kernel at most.
const MOST: usize = 256;

/// Calls the function at an address with so many words, of [`MOST`].
type Call = unsafe fn(usize, &[u64]);

macro_rules! word {
    ($word:literal) => {
        u64
    };
}

macro_rules! callers {
    ($($name:ident $count:literal ($($word:literal)*);)*) => {
        $(
            /// # Safety
            /// The function takes at most so many words, all of them integers or pointers. Those that it does not take
            /// are on the stack, where the caller removes them (System V ABI), or in registers.
            unsafe fn $name(address: usize, words: &[u64]) {
                // SAFETY: as above.
                unsafe {
                    let function: extern "C" fn($(word!($word)),*) = std::mem::transmute(address);
                    function($(words[$word]),*);
                }
            }
        )*

        /// What calls functions of so many arguments.
        fn caller(count: usize) -> Option<Call> {
            let all: &[(usize, Call)] = &[$(($count, $name)),*];
            all.iter().find(|(most, _)| count <= *most).map(|(_, call)| *call)
        }
    };
}

callers! {
    call_8 8 (0 1 2 3 4 5 6 7);
    call_16 16 (0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    call_32 32 (0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
    call_64 64 (0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63);
    call_128 128 (0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127);
    call_256 256 (0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133 134 135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161 162 163 164 165 166 167 168 169 170 171 172 173 174 175 176 177 178 179 180 181 182 183 184 185 186 187 188 189 190 191 192 193 194 195 196 197 198 199 200 201 202 203 204 205 206 207 208 209 210 211 212 213 214 215 216 217 218 219 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242 243 244 245 246 247 248 249 250 251 252 253 254 255);
}
