//! Rows of 16-bit elements that begin anywhere, copied to where each begins at a multiple of 16 bytes: what asynchronous copies and
//! tensor maps want. That is two passes over memory, where threads that load two bytes at a time keep tensor cores waiting.

use super::{Body, Kernel, Launch};
use crate::gpu::body::element_of;
use crate::gpu::copies::{self, ELEMENTS};
use crate::gpu::{Argument, Call, Runner};
use svod_dtype::DType;

/// Threads of a block, each of which copies 16 bytes.
const THREADS: u32 = 256;

/// Matrices whose rows are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    /// Matrices, rows of each, elements of a row.
    pub sizes: [u64; 3],
    /// Elements from one matrix to the next, and from row to row.
    pub strides: [i64; 2],
}

impl Rows {
    /// Elements from one aligned row to the next.
    pub fn stride(&self) -> u64 {
        self.sizes[2].next_multiple_of(ELEMENTS.into())
    }

    /// Bytes of all aligned rows.
    pub fn bytes(&self) -> u64 {
        2 * self.sizes[0].saturating_mul(self.sizes[1]).saturating_mul(self.stride())
    }

    /// The launch of [`kernel`] with these, from an argument, and bytes from its start, to so many bytes from the start of scratch memory.
    pub fn call(&self, (param, skipped): (usize, u64), to: u64) -> Call {
        let ([_, rows, elements], [batch, stride]) = (self.sizes, self.strides);
        let chunks = self.stride() / u64::from(ELEMENTS);
        let all = self.bytes() / 16;
        let numbers = [rows as i64, elements as i64, chunks as i64, all as i64, stride, batch];
        let pointers = [Argument::Pointer(param, skipped), Argument::Scratch(to)];
        Call {
            blocks: all.div_ceil(THREADS.into()) as u32,
            cluster: 1,
            shared: 0,
            scratch: 0,
            follows: false,
            arguments: pointers.into_iter().chain(numbers.map(Argument::Number)).collect(),
        }
    }
}

/// The kernel that copies such rows: it serves all sizes.
pub(super) fn kernel(runner: Runner) -> Kernel {
    let mut body = Body::new(runner);
    let thread = body.special("tid.x");
    let block = body.special("ctaid.x");
    let first = body.mul(block, THREADS);
    let at = body.add(first, thread);
    let some = body.compare("ult", &at, "%all");
    body.when(some, |body| {
        let (row, chunk) = (body.div(&at, "%chunks"), body.rem(&at, "%chunks"));
        let (batch, row) = (body.div(&row, "%rows"), body.rem(&row, "%rows"));
        let element = body.mul(chunk, ELEMENTS);
        let left = body.sub("%elements", &element);
        let (batch, row, element) = (body.wide(batch), body.wide(row), body.wide(element));
        let start = body.offset(element, batch, "%batch");
        let start = body.offset(start, row, "%stride");
        let source = element_of(body, DType::BF16, "%from", &start);
        let words = copies::loaded(body, DType::BF16, &source, &left);
        let at = body.wide(&at);
        store(body, &at, &words);
    });
    let entry = "svod_rows_aligned".to_owned();
    let pointers = ["ptr addrspace(1) noalias readonly %from", "ptr addrspace(1) noalias %to"];
    let numbers = ["i32 %rows", "i32 %elements", "i32 %chunks", "i32 %all", "i64 %stride", "i64 %batch"];
    let parameters: Vec<String> = pointers.into_iter().chain(numbers).map(str::to_owned).collect();
    let annotations = [format!("!\"maxntidx\", i32 {THREADS}")];
    let text = body.module(&entry, &parameters, &annotations, 0);
    let launch = Launch::of_copies(entry, THREADS);
    Kernel { text, processor: "sm_80", runner, out: DType::BF16, launch }
}

/// Stores 16 bytes, as the chunk of that number.
pub(super) fn store(body: &mut Body, at: &str, words: &[String]) {
    let vector = words.iter().enumerate().fold("poison".to_owned(), |vector, (i, word)| {
        body.value(format_args!("insertelement <4 x i32> {vector}, i32 {word}, i32 {i}"))
    });
    let to = body.value(format_args!("getelementptr <4 x i32>, ptr addrspace(1) %to, i64 {at}"));
    body.line(format_args!("store <4 x i32> {vector}, ptr addrspace(1) {to}, align 16"));
}
