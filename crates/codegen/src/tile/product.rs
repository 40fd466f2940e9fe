//! What a step of the depth adds to a sum.
//!
//! A step is an element of A times one of B, or, of pairs, the products of two: the lower halves of the words
//! first, then the upper ones. Two products of pairs are exact in f32, so that only their additions round.
//!
//! Where the target has an instruction for a pair of bf16, that is used:
//!
//! * x86's `vdpbf16ps` adds the product of the upper halves, then that of the lower ones, each with one
//!   rounding to nearest. Subnormal factors and results count as 0, whatever the mode of the thread (Intel
//!   64 and IA-32 Architectures Software Developer's Manual, `VDPBF16PS`).
//! * Arm's `bfdot` adds the two products to one another, then to the sum; without FEAT_EBF16 each of these
//!   rounds to odd, and subnormals count as 0 (Arm Architecture Reference Manual, `BFDOT`).
//!
//! So a sum of n products a·b is off by at most n · 2⁻²³ · Σ|a·b|, twice what rounding to nearest gives,
//! and by n · 2⁻¹²⁶ · (1 + max |a|, |b|) for the subnormals.

use super::{Writer, element};
use crate::host::has_half;
use std::fmt::Write as _;
use svod_dtype::DType;
use svod_ir::linear::TileSpec;
use svod_ir::target::{Arch, Target};

/// A vector for each product of a step: an element of A in all lanes, or elements of B. Of words that one
/// instruction takes, one.
pub(super) type Factor = Vec<String>;

/// How a step is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    /// One product of elements.
    Elements,
    /// A product of the lower halves of words, then one of the upper halves.
    Halves,
    /// Both by one instruction, this function of LLVM.
    Dot(&'static str),
}

impl Product {
    pub fn of(spec: &TileSpec, target: &Target, lanes: u32) -> Product {
        match (target.arch, lanes) {
            _ if !spec.pairs => Product::Elements,
            _ if !target.matrix.bf16_dot || (spec.dtype, spec.acc) != (DType::BF16, DType::F32) => Product::Halves,
            (Arch::X86_64, 16) => Product::Dot("llvm.x86.avx512bf16.dpbf16ps.512"),
            (Arch::X86_64, 8) => Product::Dot("llvm.x86.avx512bf16.dpbf16ps.256"),
            (Arch::X86_64, 4) => Product::Dot("llvm.x86.avx512bf16.dpbf16ps.128"),
            (Arch::Aarch64, 4) => Product::Dot("llvm.aarch64.neon.bfdot.v4f32.v8bf16"),
            _ => Product::Halves,
        }
    }
}

/// Whether the tile's types have products: those of halves of 2 bytes, with sums in f32.
pub(super) fn supports_pairs(spec: &TileSpec, target: &Target) -> bool {
    spec.acc == DType::F32 && (spec.dtype == DType::BF16 || (spec.dtype == DType::F16 && has_half(target)))
}

impl Writer<'_> {
    pub(super) fn declare_product(&mut self) {
        let (ty, lanes) = (self.acc(), self.lanes);
        if let Product::Dot(name) = self.product {
            let words = pair_of_words(lanes);
            let _ = writeln!(self.text, "declare {ty} @{name}({ty}, {words}, {words})");
        } else if self.fused() {
            let _ = writeln!(self.text, "declare {ty} @llvm.fma.v{lanes}{}({ty}, {ty}, {ty})", self.suffix());
        }
    }

    /// The factors in what was loaded: in `count` lanes, or a scalar, which then is in all lanes.
    pub(super) fn factor(&mut self, value: String, count: Option<u32>) -> Factor {
        let splat = count.is_none();
        if let Product::Dot(_) = self.product {
            let words = if splat { self.splat(&value, DType::U32) } else { value };
            let (lanes, to) = (self.lanes, pair_of_words(self.lanes));
            return vec![self.value(format_args!("bitcast <{lanes} x i32> {words} to {to}"))];
        }
        let parts = match self.product {
            Product::Halves => self.halves(&value, count),
            _ => vec![self.widen(value, count)],
        };
        if !splat {
            return parts;
        }
        parts.iter().map(|part| self.splat(part, self.spec.acc)).collect()
    }

    /// A scalar in all lanes.
    fn splat(&mut self, value: &str, dtype: DType) -> String {
        let (lanes, ty) = (self.lanes, element(dtype));
        let one = self.value(format_args!("insertelement <{lanes} x {ty}> poison, {ty} {value}, i64 0"));
        self.value(format_args!(
            "shufflevector <{lanes} x {ty}> {one}, <{lanes} x {ty}> poison, <{lanes} x i32> zeroinitializer"
        ))
    }

    /// The halves of words as values of the accumulators' type.
    fn halves(&mut self, words: &str, count: Option<u32>) -> Vec<String> {
        let of = |element: &str| of_lanes(element, count);
        let constant = |bits: i64| count.map_or(bits.to_string(), |_| format!("splat (i32 {bits})"));
        let (from, to) = (of("i32"), of(element(self.spec.acc)));
        if self.spec.dtype == DType::BF16 {
            let lower = self.value(format_args!("shl {from} {words}, {}", constant(16)));
            let upper = self.value(format_args!("and {from} {words}, {}", constant(-0x1_0000)));
            return [lower, upper].map(|bits| self.value(format_args!("bitcast {from} {bits} to {to}"))).into();
        }
        let upper = self.value(format_args!("lshr {from} {words}, {}", constant(16)));
        let half = |bits: String| {
            let bits = self.value(format_args!("trunc {from} {bits} to {}", of("i16")));
            let half = self.value(format_args!("bitcast {} {bits} to {}", of("i16"), of("half")));
            self.value(format_args!("fpext {} {half} to {to}", of("half")))
        };
        [words.to_owned(), upper].map(half).into()
    }

    /// A value of the operands' type as one of the accumulators'.
    fn widen(&mut self, value: String, count: Option<u32>) -> String {
        let of = |element: &str| of_lanes(element, count);
        let (from, to) = (of(element(self.spec.dtype)), of(element(self.spec.acc)));
        match self.spec.dtype {
            _ if from == to => value,
            DType::BF16 => {
                let bits = self.value(format_args!("zext {from} {value} to {}", of("i32")));
                let by = count.map_or("16".to_owned(), |_| "splat (i32 16)".to_owned());
                let bits = self.value(format_args!("shl {} {bits}, {by}", of("i32")));
                self.value(format_args!("bitcast {} {bits} to {to}", of("i32")))
            }
            dtype if dtype.is_float() => self.value(format_args!("fpext {from} {value} to {to}")),
            dtype if dtype.is_signed() => self.value(format_args!("sext {from} {value} to {to}")),
            _ => self.value(format_args!("zext {from} {value} to {to}")),
        }
    }

    /// The sum with a step's products added.
    pub(super) fn multiply_add(&mut self, a: &Factor, b: &Factor, sum: &str) -> String {
        a.iter().zip(b).fold(sum.to_owned(), |sum, (a, b)| self.add_product(a, b, &sum))
    }

    fn add_product(&mut self, a: &str, b: &str, sum: &str) -> String {
        let (ty, lanes) = (self.acc(), self.lanes);
        if let Product::Dot(name) = self.product {
            let words = pair_of_words(lanes);
            return self.value(format_args!("call {ty} @{name}({ty} {sum}, {words} {a}, {words} {b})"));
        }
        if self.fused() {
            let suffix = self.suffix();
            return self.value(format_args!("call {ty} @llvm.fma.v{lanes}{suffix}({ty} {a}, {ty} {b}, {ty} {sum})"));
        }
        let product = self.value(format_args!("{} {ty} {a}, {b}", self.operation("mul")));
        self.value(format_args!("{} {ty} {product}, {sum}", self.operation("add")))
    }

    fn fused(&self) -> bool {
        self.target.fma && self.spec.acc.is_float()
    }

    fn suffix(&self) -> &'static str {
        if self.spec.acc == DType::F64 { "f64" } else { "f32" }
    }

    /// An operation of the accumulators' type.
    pub(super) fn operation(&self, name: &str) -> String {
        format!("{}{name}", if self.spec.acc.is_float() { "f" } else { "" })
    }
}

/// A type of some lanes, or of a scalar.
fn of_lanes(element: &str, count: Option<u32>) -> String {
    count.map_or(element.to_owned(), |n| format!("<{n} x {element}>"))
}

/// What an instruction takes for pairs: their elements.
fn pair_of_words(lanes: u32) -> String {
    format!("<{} x bfloat>", 2 * lanes)
}
