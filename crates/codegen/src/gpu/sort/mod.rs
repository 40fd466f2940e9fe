//! Sorts as whole kernels. A block sorts a row of up to some thousand points in shared memory ([`rows`]). Of longer ones, each pass
//! reads and writes every point once (Adinets and Merrill 2022, "Onesweep"):
//!
//! * [`counts`]: how often each digit occurs in a row, of all passes at once: that does not depend on the order of points.
//! * [`pass`]: a block has a tile of points, in the order of the tiles. It counts its digits, tells the other blocks, and puts its points in
//!   the order of their digits in shared memory; meanwhile it adds up what the blocks before it have told. Then points
//!   with the same digit go to memory side by side.
//!
//! Digits have 8 bits. What a tile tells of a digit is a word: a count, of this tile or of all up to it, and in the upper bits
//! which of these it is, and of which pass; so the words need not be cleared between passes.

mod block;
mod call;
mod counts;
mod pass;
mod rows;

pub use call::whole;

use super::body::{Body, element_of};
use super::part::{self, Part};
use super::{Runner, ptx};
use crate::CompileError;
use svod_dtype::DType;

/// Digits of a pass.
const DIGITS: u32 = 256;
/// Bits of a digit.
const BITS: u32 = 8;
/// Threads of a warp.
const WARP: u32 = 32;
/// The upper bits of what a tile tells: which pass it is of, and of which tiles. The others are a count.
const COUNTED: u32 = 27;

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The text of its LLVM module.
    pub text: String,
    /// Its entry point.
    pub entry: String,
    /// Threads of a block.
    pub threads: u32,
    runner: Runner,
}

impl Kernel {
    /// The code: PTX, or an object for a simulator.
    ///
    /// # Errors
    /// See [`CompileError`].
    pub fn code(&self) -> Result<Vec<u8>, CompileError> {
        super::assembled(&self.entry, &self.text, "sm_80", self.runner)
    }

    fn new(body: &Body, entry: String, threads: u32, parameters: &[String], parts: &str, runner: Runner) -> Kernel {
        let annotations = [format!("!\"maxntidx\", i32 {threads}")];
        let mut text = body.module(&entry, parameters, &annotations, 0);
        if !parts.is_empty() {
            part::append(&mut text, parts);
        }
        Kernel { text, entry, threads, runner }
    }
}

/// Points of a tile: a block's, some for each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tile {
    threads: u32,
    each: u32,
}

impl Tile {
    fn points(self) -> u32 {
        self.threads * self.each
    }

    fn warps(self) -> u32 {
        self.threads / WARP
    }
}

/// How keys are held.
#[derive(Clone, Copy, Debug)]
struct Keys(DType);

impl Keys {
    fn passes(self) -> u32 {
        self.0.bits().div_ceil(BITS)
    }

    fn is_wide(self) -> bool {
        self.0.bits() > 32
    }

    /// LLVM's type in registers and in shared memory, and its bytes.
    fn held(self) -> (&'static str, u32) {
        if self.is_wide() { ("i64", 8) } else { ("i32", 4) }
    }

    /// LLVM's type in memory.
    fn stored(self) -> String {
        format!("i{}", self.0.bits())
    }

    /// As it is held, of what is stored.
    fn widened(self, body: &mut Body, key: &str) -> String {
        let (held, stored) = (self.held().0, self.stored());
        if held == stored { key.to_owned() } else { body.value(format_args!("zext {stored} {key} to {held}")) }
    }

    /// As it is stored.
    fn narrowed(self, body: &mut Body, key: &str) -> String {
        let (held, stored) = (self.held().0, self.stored());
        if held == stored { key.to_owned() } else { body.value(format_args!("trunc {held} {key} to {stored}")) }
    }

    fn load(self, body: &mut Body, from: &str, at: &str) -> String {
        let (ty, bytes) = (self.stored(), self.0.bytes());
        let from = body.value(format_args!("getelementptr {ty}, ptr addrspace(1) {from}, i64 {at}"));
        let key = body.value(format_args!("load {ty}, ptr addrspace(1) {from}, align {bytes}"));
        self.widened(body, &key)
    }

    fn store(self, body: &mut Body, to: &str, at: &str, key: &str) {
        let (ty, bytes) = (self.stored(), self.0.bytes());
        let key = self.narrowed(body, key);
        let to = body.value(format_args!("getelementptr {ty}, ptr addrspace(1) {to}, i64 {at}"));
        body.line(format_args!("store {ty} {key}, ptr addrspace(1) {to}, align {bytes}"));
    }

    fn load_shared(self, body: &mut Body, at: &str) -> String {
        body.ask(if self.is_wide() { &ptx::LOAD_SHARED_LONG } else { &ptx::LOAD_SHARED_WORD }, &[&at])
    }

    fn store_shared(self, body: &mut Body, at: &str, key: &str) {
        body.run(if self.is_wide() { &ptx::STORE_SHARED_LONG } else { &ptx::STORE_SHARED_WORD }, &[&at, &key]);
    }

    /// A digit of a key that is held.
    fn digit(self, body: &mut Body, key: &str, shift: &str) -> String {
        if self.is_wide() {
            let shift = body.wide(shift);
            let wide = body.value(format_args!("lshr i64 {key}, {shift}"));
            let narrow = body.value(format_args!("trunc i64 {wide} to i32"));
            return body.and(narrow, DIGITS - 1);
        }
        let shifted = body.shr(key, shift);
        body.and(shifted, DIGITS - 1)
    }

    /// A key where there is a point, and elsewhere the last one.
    fn inside(self, body: &mut Body, is: &str, key: &str) -> String {
        body.value(format_args!("select i1 {is}, {0} {key}, {0} -1", self.held().0))
    }
}

/// The key of a point, as a function of its own.
struct Key<'a> {
    part: &'a Part,
    /// Numbers of iterations of the counters of points.
    point: &'a [i64],
}

impl Key<'_> {
    /// Of a point of a row, whose counters these are.
    fn call(&self, body: &mut Body, keys: Keys, row: &[String], point: &str) -> String {
        let mut counters = row.to_vec();
        counters.extend(part::counters(body, point, self.point));
        let key = self.part.call(body, &[], &counters).unwrap_or_default();
        keys.widened(body, &key)
    }
}

/// The address of a word.
fn word_of(body: &mut Body, start: &str, at: &str) -> String {
    let at = body.wide(at);
    element_of(body, DType::F32, start, &at)
}

/// How many bits are set.
fn ones(body: &mut Body, of: &str) -> String {
    body.declare("declare i32 @llvm.ctpop.i32(i32)");
    body.value(format_args!("call i32 @llvm.ctpop.i32(i32 {of})"))
}
