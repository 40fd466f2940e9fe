//! Matrices of elements of 8 bits, copied to where the depth is side by side and rows begin at multiples of 16 bytes: tensor cores
//! multiply no others. That is two passes over memory, of a quarter of the bytes that f32 has.
//!
//! A thread makes 16 bytes of the depth of four rows. Of matrices whose rows or columns are side by side it reads 16 words, four rows of
//! one depth each, and exchanges bytes in registers. A warp has 32 rows and a depth of 64, so that what it reads and writes are sectors.

use super::{Kernel, Launch, Layout, aligned};
use crate::gpu::body::{Body, element_of};
use crate::gpu::{Argument, Call, Runner, ptx};
use svod_dtype::DType;

/// Threads of a block.
const THREADS: u32 = 256;
/// Rows of a thread, and elements of the depth.
const ROWS: u32 = 4;
const DEPTH: u32 = 16;
/// The same of a warp.
const ROWS_OF_WARP: u32 = 32;
const DEPTH_OF_WARP: u32 = 64;
/// Bytes of a word.
const WORD: u32 = 4;

/// Matrices that are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Matrices {
    /// What is side by side before.
    pub layout: Layout,
    /// Matrices, rows or columns of each, the depth.
    pub sizes: [u64; 3],
    /// Elements from one matrix to the next, and from one row of memory to the next, before.
    pub strides: [i64; 2],
    /// Bytes that divide where they start and these.
    pub align: u32,
}

impl Matrices {
    /// Elements from one row to the next, after.
    pub fn stride(&self) -> u64 {
        self.sizes[2].next_multiple_of(DEPTH.into())
    }

    /// Bytes of all rows, after.
    pub fn bytes(&self) -> u64 {
        self.sizes[0].saturating_mul(self.sizes[1]).saturating_mul(self.stride())
    }

    /// Whether what is side by side before is whole words.
    fn has_words(&self) -> bool {
        let side_by_side = if self.layout == Layout::Depth { self.sizes[2] } else { self.sizes[1] };
        self.align.is_multiple_of(WORD) && side_by_side.is_multiple_of(WORD.into())
    }

    /// The launch of [`Self::kernel`], from an argument, and bytes from its start, to so many bytes from the start of scratch memory.
    pub fn call(&self, (param, skipped): (usize, u64), to: u64) -> Call {
        let ([matrices, rows, depth], [matrix, row]) = (self.sizes, self.strides);
        let [below, beside] = [rows.div_ceil(ROWS_OF_WARP.into()), depth.div_ceil(DEPTH_OF_WARP.into())];
        let warps = matrices * below * beside;
        let numbers = [rows as i64, depth as i64, below as i64, beside as i64, warps as i64, row, matrix];
        let pointers = [Argument::Pointer(param, skipped), Argument::Scratch(to)];
        Call {
            blocks: (warps * 32).div_ceil(THREADS.into()) as u32,
            cluster: 1,
            shared: 0,
            scratch: 0,
            follows: false,
            arguments: pointers.into_iter().chain(numbers.map(Argument::Number)).collect(),
        }
    }

    /// The kernel that copies such matrices: it serves all sizes.
    pub fn kernel(&self, runner: Runner) -> Kernel {
        let mut body = Body::new(runner);
        let thread = body.special("tid.x");
        let block = body.special("ctaid.x");
        let first = body.mul(block, THREADS);
        let at = body.add(first, thread);
        let (warp, lane) = (body.shr(&at, 5), body.and(&at, 31));
        let some = body.compare("ult", &warp, "%warps");
        body.when(some, |body| {
            let (beside, rest) = (body.rem(&warp, "%beside"), body.div(&warp, "%beside"));
            let (below, matrix) = (body.rem(&rest, "%below"), body.div(&rest, "%below"));
            let (row, depth) = (body.mul(below, ROWS_OF_WARP), body.mul(beside, DEPTH_OF_WARP));
            let (own_row, own_depth) = (body.and(&lane, 7), body.shr(&lane, 3));
            let (own_row, own_depth) = (body.mul(own_row, ROWS), body.mul(own_depth, DEPTH));
            let (row, depth) = (body.add(row, own_row), body.add(depth, own_depth));
            let matrix = body.wide(matrix);
            let rows = self.rows(body, &matrix, &row, &depth);
            let deep = body.compare("ult", &depth, "%depth");
            for (i, words) in rows.iter().enumerate() {
                let row = body.add(&row, i);
                let inside = body.compare("ult", &row, "%rows");
                let inside = body.both(inside, &deep);
                body.when(inside, |body| store(body, &matrix, (&row, &depth), words));
            }
        });
        let (layout, unit) = (self.layout, if self.has_words() { "words" } else { "bytes" });
        let entry = format!("svod_turned_{}_{unit}", if layout == Layout::Depth { "depth" } else { "outer" });
        let pointers = ["ptr addrspace(1) noalias readonly %from", "ptr addrspace(1) noalias %to"];
        let numbers = ["%rows", "%depth", "%below", "%beside", "%warps"].map(|name| format!("i32 {name}"));
        let strides = ["%row", "%matrix"].map(|name| format!("i64 {name}"));
        let parameters: Vec<String> = pointers.map(str::to_owned).into_iter().chain(numbers).chain(strides).collect();
        let annotations = [format!("!\"maxntidx\", i32 {THREADS}")];
        let text = body.module(&entry, &parameters, &annotations, 0);
        let launch = Launch::of_copies(entry, THREADS);
        Kernel { text, processor: "sm_80", runner, out: DType::I8, launch }
    }

    /// Four words of each of four rows, from a row and a depth on; zeros where there are none.
    fn rows(&self, body: &mut Body, matrix: &str, row: &str, depth: &str) -> Vec<Vec<String>> {
        let words = DEPTH / WORD;
        match self.layout {
            Layout::Depth => (0..ROWS)
                .map(|i| {
                    let row = body.add(row, i);
                    let word = |j| {
                        let element = body.add(depth, WORD * j);
                        self.load(body, matrix, (&row, "%rows"), (&element, "%depth"))
                    };
                    (0..words).map(word).collect()
                })
                .collect(),
            Layout::Outer => {
                let mut rows = vec![Vec::new(); ROWS as usize];
                for j in 0..words {
                    let square = [0, 1, 2, 3].map(|i| {
                        let depth = body.add(depth, WORD * j + i);
                        self.load(body, matrix, (&depth, "%depth"), (row, "%rows"))
                    });
                    for (row, word) in rows.iter_mut().zip(turned(body, &square)) {
                        row.push(word);
                    }
                }
                rows
            }
        }
    }

    /// A word of a row of memory, from an element on, and where rows and elements end.
    fn load(&self, body: &mut Body, matrix: &str, (row, rows): (&str, &str), (element, end): (&str, &str)) -> String {
        let inside = body.compare("ult", row, rows);
        let (row, wide) = (body.wide(row), body.wide(element));
        let start = body.offset(wide, matrix, "%matrix");
        let start = body.offset(start, row, "%row");
        let from = element_of(body, DType::I8, "%from", &start);
        let part = |body: &mut Body, skipped: u32, load| {
            let element = body.add(element, skipped);
            let some = body.compare("ult", element, end);
            let some = body.both(some, &inside);
            let some = body.value(format_args!("zext i1 {some} to i32"));
            let from = element_of(body, DType::I8, &from, &skipped.to_string());
            let part = body.ask(load, &[&from, &some]);
            body.shl(part, 8 * skipped)
        };
        if self.has_words() {
            return part(body, 0, &ptx::LOAD_B32);
        }
        let bytes: Vec<String> = (0..WORD).map(|i| part(body, i, &ptx::LOAD_B8)).collect();
        bytes.into_iter().reduce(|word, byte| body.value(format_args!("or i32 {word}, {byte}"))).unwrap_or_default()
    }
}

/// Four words of which each has the bytes of one number in these.
fn turned(body: &mut Body, words: &[String; 4]) -> [String; 4] {
    // Selectors: bytes 0 to 3 are of the first word, the lowest first.
    let mut of = |a: &str, b: &str, bytes: u32| body.ask(&ptx::PERMUTE, &[&a, &b, &bytes]);
    let [a, b, c, d] = words;
    let (low, high) = ([of(a, b, 0x5140), of(c, d, 0x5140)], [of(a, b, 0x7362), of(c, d, 0x7362)]);
    [
        of(&low[0], &low[1], 0x5410),
        of(&low[0], &low[1], 0x7632),
        of(&high[0], &high[1], 0x5410),
        of(&high[0], &high[1], 0x7632),
    ]
}

/// Stores 16 bytes of a row.
fn store(body: &mut Body, matrix: &str, (row, depth): (&str, &str), words: &[String]) {
    let chunk = body.shr(depth, DEPTH.trailing_zeros());
    let chunks = body.ceil_div("%depth", DEPTH);
    let [row, chunk, chunks, rows] = [row, &chunk, &chunks, "%rows"].map(|number| body.wide(number));
    let row = body.offset(row, matrix, rows);
    let at = body.offset(chunk, row, chunks);
    aligned::store(body, &at, words);
}
