//! Fuzzing of what is parsed: valid samples are changed, piece by piece, and given to a parser.
//!
//! Whatever comes of that, a parser neither panics nor overflows the stack, takes memory in proportion to what it
//! reads, and ends soon. Tests try a fixed few inputs; `make fuzz` sets `SVOD_FUZZ_SECONDS`, and every run then goes
//! on from another seed. `SVOD_SEED` names one input; with `SVOD_PRINT=1` each seed is printed before it is tried, for
//! faults that end the process.
#![allow(dead_code, clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant, SystemTime};

/// Inputs for each parser in a run of the tests.
const FEW: u64 = 4000;
/// Bytes that a parser may have at once, beside so many for each byte of the input.
const MEMORY: usize = 32 << 20;
const MEMORY_PER_BYTE: usize = 8 << 10;
/// What an input may take of a processor.
const MOST_TIME: Duration = Duration::from_secs(5);
/// No input is longer.
const MOST_BYTES: usize = 64 << 10;

/// Counts what the thread that fuzzes has allocated.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that is ending has no counters any more.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: the system's allocator does the work; what is counted is in cells of the thread, which allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the memory came from `System`, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A generator of numbers (xorshift64*).
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Rng((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Numbers at which something may end.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "-2",
    "3",
    "7",
    "64",
    "65535",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "99999999999999999999999",
    "1e400",
    "-0.0",
    "nan",
    "inf",
    "0x10",
    "00",
    "1.5",
    "",
];

/// Pieces of any text form.
const PIECES: &[&str] = &[
    "(", ")", "[", "]", "{", "}", ",", ":", "=", "<", "..=", "-", "+", "*", "/", "%", "#", "\"", "'", "\\", "\n", " ",
    "\0", "\u{feff}", "é", "🦀", "f32", "i64", "bool", "index", "f64x8", "if", "else", "where", "min", "max", "null",
    "if if", "e0", "e1", "%0", "%1", "p0", "v0", "carry.0", "new.0", "old.0", "return", "true", ".", "\t", "\r\n",
];

/// Words, numbers, spaces and signs.
fn tokens(text: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        ' ' => 1,
        _ => 2,
    };
    let mut found = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, c) in text.char_indices() {
        if at > start && (class(c) == 2 || last != Some(class(c))) {
            found.push(&text[start..at]);
            start = at;
        }
        last = Some(class(c));
    }
    found.push(&text[start..]);
    found
}

/// A text with some of its pieces or lines changed.
pub fn mutated_text(rng: &mut Rng, samples: &[String]) -> String {
    let mut text = rng.pick(samples).clone();
    for _ in 0..*rng.pick(&[1, 1, 1, 2, 3, 5]) {
        text = if rng.below(3) == 0 { by_lines(rng, &text, samples) } else { by_tokens(rng, &text, samples) };
        if text.len() > MOST_BYTES {
            let end = (0..=MOST_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            text.truncate(end);
        }
    }
    text
}

fn by_lines(rng: &mut Rng, text: &str, samples: &[String]) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return "\n".into();
    }
    let other: Vec<&str> = rng.pick(samples).lines().collect();
    let (at, to) = (rng.below(lines.len()), rng.below(lines.len()));
    match rng.below(7) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(to, lines[at]),
        2 => lines.swap(at, to),
        3 if !other.is_empty() => lines.insert(at, other[rng.below(other.len())]),
        4 => lines.truncate(at + 1),
        5 => lines.extend(&other),
        _ => {
            let line = lines[at];
            lines.splice(at..at, std::iter::repeat_n(line, *rng.pick(&[2, 30, 300])));
        }
    }
    lines.join("\n") + "\n"
}

fn by_tokens(rng: &mut Rng, text: &str, samples: &[String]) -> String {
    let mut found: Vec<String> = tokens(text).into_iter().map(str::to_owned).collect();
    let other = tokens(rng.pick::<String>(samples));
    let (at, to) = (rng.below(found.len()), rng.below(found.len()));
    let numbers: Vec<usize> =
        (0..found.len()).filter(|i| found[*i].starts_with(|c: char| c.is_ascii_digit())).collect();
    match rng.below(10) {
        0 => drop(found.remove(at)),
        1 => found.insert(to, found[at].clone()),
        2 => found.swap(at, to),
        3 | 4 if !numbers.is_empty() => found[*rng.pick(&numbers)] = (*rng.pick(NUMBERS)).to_owned(),
        5 => found[at] = (*rng.pick(&other)).to_owned(),
        6 => found[at] = (*rng.pick(PIECES)).to_owned(),
        7 => found.insert(at, (*rng.pick(PIECES)).to_owned()),
        8 => {
            // Deep nesting of what a piece is in.
            let (open, close) = *rng.pick(&[("(", ")"), ("[", "]"), ("{", "}"), ("-", ""), ("!(", ")"), ("exp(", ")")]);
            let deep = *rng.pick(&[1, 5, 100, 9000]);
            found[at] = open.repeat(deep) + &found[at] + &close.repeat(deep);
        }
        _ => found[at] = found[at].repeat(*rng.pick(&[2, 40, 2000])),
    }
    found.concat()
}

/// Bytes some of which are changed, cut out or put in.
pub fn mutated_bytes(rng: &mut Rng, samples: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = rng.pick(samples).clone();
    for _ in 0..*rng.pick(&[1, 1, 2, 4, 16]) {
        if bytes.is_empty() {
            return bytes;
        }
        let at = rng.below(bytes.len());
        match rng.below(8) {
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => bytes[at] = *rng.pick(&[0, 1, 0x7f, 0x80, 0xff, b'"', b'{', b'\\']),
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..(at + rng.below(64)).min(bytes.len()))),
            4 => {
                let from = rng.below(bytes.len());
                let piece = bytes[from..(from + rng.below(64)).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
            // A number of 2, 4 or 8 bytes at its place.
            _ => {
                let width = *rng.pick(&[2usize, 4, 8]);
                let at = at / width * width;
                let value = match rng.below(3) {
                    0 => rng.next(),
                    1 => rng.below(bytes.len() * 2) as u64,
                    _ => *rng.pick(&[0, 1, u64::MAX, i64::MAX as u64, 1 << 31, 1 << 32, 1 << 62, u64::MAX - 7]),
                };
                let end = (at + width).min(bytes.len());
                bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
            }
        }
    }
    bytes.truncate(MOST_BYTES);
    bytes
}

/// The time that this thread has had on a processor, since a busy machine may have no turn for it in seconds; where Linux
/// does not say, the time that went by.
fn time_on_processor(start: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|told| told.split(' ').next()?.parse().ok());
    nanoseconds.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// What an input did that it may not do.
fn fault(input: &[u8], parse: &dyn Fn(&[u8])) -> Option<String> {
    let start = Instant::now();
    let had = time_on_processor(start);
    let before = HELD.get();
    PEAK.set(before);
    let outcome = catch_unwind(AssertUnwindSafe(|| parse(input)));
    let held = (PEAK.get() - before).max(0) as usize;
    if let Err(panic) = outcome {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        return Some(format!("panic: {}", text.unwrap_or_default()));
    }
    if held > MEMORY + MEMORY_PER_BYTE * input.len() {
        return Some(format!("{} MiB for {} bytes", held >> 20, input.len()));
    }
    let took = time_on_processor(start).saturating_sub(had);
    (took > MOST_TIME).then(|| format!("took {took:?}"))
}

/// The same fault with less input: parts are left out as long as it stays.
fn shrunk(mut input: Vec<u8>, kind: &str, parse: &dyn Fn(&[u8])) -> Vec<u8> {
    let mut part = input.len() / 2;
    let until = Instant::now() + Duration::from_secs(20);
    while part > 0 && Instant::now() < until {
        let mut at = 0;
        while at < input.len() && Instant::now() < until {
            let less = [&input[..at], &input[(at + part).min(input.len())..]].concat();
            match fault(&less, parse).is_some_and(|told| told.split(':').next() == Some(kind)) {
                true => input = less,
                false => at += part,
            }
        }
        part /= 2;
    }
    input
}

/// Tries inputs that `mutate` makes, and fails with the smallest that shows a fault.
fn search(name: &str, mutate: &dyn Fn(&mut Rng) -> Vec<u8>, parse: &dyn Fn(&[u8])) {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    let seconds = number("SVOD_FUZZ_SECONDS");
    let one = number("SVOD_SEED");
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let first = one.unwrap_or(if seconds.is_some() { now } else { 0 });
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(3600));
    let few = if one.is_some() {
        1
    } else if seconds.is_some() {
        u64::MAX
    } else {
        FEW
    };
    let prints = std::env::var_os("SVOD_PRINT").is_some();
    let mut tried = 0;
    while tried < few && Instant::now() < until {
        let seed = first.wrapping_add(tried);
        if prints {
            eprintln!("{name}: SVOD_SEED={seed}");
        }
        let input = mutate(&mut Rng::new(seed));
        if let Some(told) = fault(&input, parse) {
            let small = shrunk(input, told.split(':').next().unwrap(), parse);
            panic!("{name}: {told}, with SVOD_SEED={seed}, smallest:\n{:?}", String::from_utf8_lossy(&small));
        }
        tried += 1;
    }
    println!("{name}: {tried} inputs from seed {first}");
}

/// Fuzzes a parser of text.
pub fn fuzz_text(name: &str, samples: &[String], parse: impl Fn(&str)) {
    let mutate = |rng: &mut Rng| mutated_text(rng, samples).into_bytes();
    search(name, &mutate, &|input| {
        // Parts that were left out may have been half of a character.
        if let Ok(text) = std::str::from_utf8(input) {
            parse(text);
        }
    });
}

/// Fuzzes a parser of bytes.
pub fn fuzz_bytes(name: &str, samples: &[Vec<u8>], parse: impl Fn(&[u8])) {
    search(name, &|rng| mutated_bytes(rng, samples), &parse);
}

/// Reads what `print` wrote of a value that was parsed, and says that this is the same text.
pub fn reads_back<T: Display, E: Display>(value: &T, parse: impl Fn(&str) -> Result<T, E>) {
    let text = value.to_string();
    match parse(&text) {
        Ok(again) => assert_eq!(again.to_string(), text, "another text when it is read again"),
        Err(error) => panic!("its own text is refused: {error}\n{text}"),
    }
}
