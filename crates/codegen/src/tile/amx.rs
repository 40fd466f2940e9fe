//! The tile in AMX's registers: products of pairs of bf16 by blocks of 16 × 16 sums.
//!
//! Of eight registers of 16 lines of 64 bytes, four are sums, two rows of A (16 words of the depth each),
//! two columns of B (as many steps, of 16 words): a step of 16 words is four instructions of 8192 products.
//! Rows, columns and the last step of the depth may be shorter, since the configuration says how much of
//! each register there is. Configuring clears all registers, so that the sums of a shorter last step go
//! through C. A call leaves nothing configured.
//!
//! `tdpbf16ps` adds up the upper and the lower products of a row by themselves and then both to the sum,
//! rounding to nearest; subnormals count as 0 (Intel 64 and IA-32 Architectures Software Developer's Manual,
//! `TDPBF16PS`). The bound on the error is that of [`super::product`].
//!
//! The process needs the system's leave to use these registers; see [`crate::host::native`].

use super::{parameters, symbol};
use crate::llvm::{PREFETCH, attributes, prefetch};
use std::fmt::{self, Write as _};
use svod_dtype::DType;
use svod_ir::linear::{LINE, TileSpec};
use svod_ir::target::Target;

/// Lines of a register, and words of a line.
const SIDE: u32 = 16;
/// Bytes of a word: a pair of bf16, or a sum.
const WORD: u32 = 4;
/// Registers of A and B; the first ones are sums, row by row.
const A: u32 = 4;
const B: u32 = 6;

/// Whether a tile is computed in AMX's registers.
pub(super) fn fits(spec: &TileSpec, target: &Target) -> bool {
    let types = spec.pairs && (spec.dtype, spec.acc) == (DType::BF16, DType::F32);
    let sides = [spec.rows, spec.cols].iter().all(|n| (1..=2 * SIDE).contains(n));
    target.matrix.tiles && types && sides && !spec.a_panel && !spec.b_offsets
}

pub(super) fn render(spec: &TileSpec, target: &Target) -> String {
    let (rows, columns, fetches) = (parts(spec.rows), parts(spec.cols), spec.fetches);
    let mut w = Writer { rows, columns, fetches, text: String::new(), next: 0 };
    let _ = writeln!(w.text, "define void @{}({}) #0 {{", symbol(spec), parameters(spec));
    w.body();
    w.text.push_str("}\n");
    for declaration in DECLARATIONS.into_iter().chain((spec.fetches > 0).then_some(PREFETCH)) {
        let _ = writeln!(w.text, "declare {declaration}");
    }
    let _ = writeln!(w.text, "attributes #0 = {}", attributes(target));
    w.text
}

const DECLARATIONS: [&str; 7] = [
    "i64 @llvm.smax.i64(i64, i64)",
    "void @llvm.x86.ldtilecfg(ptr)",
    "void @llvm.x86.tilerelease()",
    "void @llvm.x86.tilezero(i8 immarg)",
    "void @llvm.x86.tileloadd64(i8 immarg, ptr, i64)",
    "void @llvm.x86.tilestored64(i8 immarg, ptr, i64)",
    "void @llvm.x86.tdpbf16ps(i8 immarg, i8 immarg, i8 immarg)",
];

/// A side of the tile in registers: the length of each.
fn parts(side: u32) -> Vec<u32> {
    [side.min(SIDE), side.saturating_sub(SIDE)].into_iter().filter(|n| *n > 0).collect()
}

struct Writer {
    rows: Vec<u32>,
    columns: Vec<u32>,
    fetches: u32,
    text: String,
    next: u32,
}

impl Writer {
    fn line(&mut self, text: fmt::Arguments) {
        let _ = writeln!(self.text, "  {text}");
    }

    fn value(&mut self, text: fmt::Arguments) -> String {
        self.next += 1;
        let name = format!("%v{}", self.next);
        self.line(format_args!("{name} = {text}"));
        name
    }

    fn label(&mut self, name: &str) {
        let _ = writeln!(self.text, "{name}:");
    }

    /// Brings the lines of a round of the main loop into the caches.
    fn fetch(&mut self) {
        if self.fetches == 0 {
            return;
        }
        let steps = self.value(format_args!("mul i64 %k, {SIDE}"));
        for word in 0..SIDE {
            let step = self.value(format_args!("add i64 {steps}, {word}"));
            let distance = self.value(format_args!("mul i64 {step}, %fetch_step"));
            let begin = self.value(format_args!("getelementptr i8, ptr %fetch, i64 {distance}"));
            for line in 0..self.fetches {
                let at = self.value(format_args!("getelementptr i8, ptr {begin}, i64 {}", line * LINE));
                self.line(format_args!("{}", prefetch(&at)));
            }
        }
    }

    fn body(&mut self) {
        self.label("entry");
        self.line(format_args!("%config = alloca [64 x i8], align 64"));
        self.line(format_args!("store <64 x i8> zeroinitializer, ptr %config, align 64"));
        self.configure();
        for stride in ["c_stride", "a_stride", "b_stride"] {
            self.line(format_args!("%{stride}_bytes = mul i64 %{stride}, {WORD}"));
        }
        self.line(format_args!("%steps = call i64 @llvm.smax.i64(i64 %depth, i64 0)"));
        self.line(format_args!("%whole = lshr i64 %steps, {}", SIDE.trailing_zeros()));
        self.line(format_args!("%left = and i64 %steps, {}", SIDE - 1));
        self.line(format_args!("%fresh = icmp eq i64 %start, 0"));
        self.line(format_args!("br i1 %fresh, label %clear, label %load"));

        self.label("clear");
        for (register, ..) in self.sums() {
            self.line(format_args!("call void @llvm.x86.tilezero(i8 {register})"));
        }
        self.line(format_args!("br label %begin"));
        self.label("load");
        self.move_sums("tileloadd64");
        self.line(format_args!("br label %begin"));

        self.label("begin");
        self.line(format_args!("%some = icmp ne i64 %whole, 0"));
        self.line(format_args!("br i1 %some, label %main, label %store"));
        self.label("main");
        self.line(format_args!("%k = phi i64 [ 0, %begin ], [ %k_next, %main ]"));
        self.line(format_args!("%main_a = phi ptr [ %a, %begin ], [ %main_a_next, %main ]"));
        self.line(format_args!("%main_b = phi ptr [ %b, %begin ], [ %main_b_next, %main ]"));
        self.fetch();
        self.step("%main_a", "%main_b");
        self.line(format_args!("%main_a_next = getelementptr i8, ptr %main_a, i64 {}", SIDE * WORD));
        let by = self.value(format_args!("mul i64 %b_stride_bytes, {SIDE}"));
        self.line(format_args!("%main_b_next = getelementptr i8, ptr %main_b, i64 {by}"));
        self.line(format_args!("%k_next = add i64 %k, 1"));
        self.line(format_args!("%more = icmp ult i64 %k_next, %whole"));
        self.line(format_args!("br i1 %more, label %main, label %store"));

        self.label("store");
        self.line(format_args!("%last_a = phi ptr [ %a, %begin ], [ %main_a_next, %main ]"));
        self.line(format_args!("%last_b = phi ptr [ %b, %begin ], [ %main_b_next, %main ]"));
        self.move_sums("tilestored64");
        self.line(format_args!("%rest = icmp ne i64 %left, 0"));
        self.line(format_args!("br i1 %rest, label %last, label %done"));

        self.label("last");
        self.shorten();
        self.move_sums("tileloadd64");
        self.step("%last_a", "%last_b");
        self.move_sums("tilestored64");
        self.line(format_args!("br label %done"));
        self.label("done");
        self.line(format_args!("call void @llvm.x86.tilerelease()"));
        self.line(format_args!("ret void"));
    }

    /// The registers of sums, with the places of their rows and columns, and the lengths of these.
    fn sums(&self) -> Vec<(u32, u32, u32, [u32; 2])> {
        let rows = (0..).zip(&self.rows);
        let each = |(r, height): (u32, &u32)| {
            let height = *height;
            (0..).zip(&self.columns).map(move |(c, width)| (2 * r + c, r, c, [height, *width])).collect::<Vec<_>>()
        };
        rows.flat_map(each).collect()
    }

    /// Configures every register, for whole steps of the depth. What there is of a register is, in bytes of
    /// a line, at 16 + 2n, and in lines, at 48 + n; byte 0 is the palette.
    fn configure(&mut self) {
        self.line(format_args!("store i8 1, ptr %config, align 64"));
        for (register, _, _, [height, width]) in self.sums() {
            self.shape(register, height, width);
        }
        for (n, height) in (0..).zip(self.rows.clone()) {
            self.shape(A + n, height, SIDE);
        }
        for (n, width) in (0..).zip(self.columns.clone()) {
            self.shape(B + n, SIDE, width);
        }
        self.line(format_args!("call void @llvm.x86.ldtilecfg(ptr %config)"));
    }

    fn shape(&mut self, register: u32, height: u32, width: u32) {
        self.set(16 + 2 * register, format_args!("i16 {}", width * WORD));
        self.set(48 + register, format_args!("i8 {height}"));
    }

    fn set(&mut self, at: u32, value: fmt::Arguments) {
        let at = self.value(format_args!("getelementptr i8, ptr %config, i64 {at}"));
        self.line(format_args!("store {value}, ptr {at}, align 1"));
    }

    /// Configures for the steps that are left.
    fn shorten(&mut self) {
        let bytes = self.value(format_args!("mul i64 %left, {WORD}"));
        let bytes = self.value(format_args!("trunc i64 {bytes} to i16"));
        let lines = self.value(format_args!("trunc i64 %left to i8"));
        for n in 0..self.rows.len() as u32 {
            self.set(16 + 2 * (A + n), format_args!("i16 {bytes}"));
        }
        for n in 0..self.columns.len() as u32 {
            self.set(48 + B + n, format_args!("i8 {lines}"));
        }
        self.line(format_args!("call void @llvm.x86.ldtilecfg(ptr %config)"));
    }

    fn move_sums(&mut self, how: &str) {
        for (register, r, c, _) in self.sums() {
            let row = self.value(format_args!("mul i64 %c_stride_bytes, {}", r * SIDE));
            let at = self.value(format_args!("getelementptr i8, ptr %c, i64 {row}"));
            let at = self.value(format_args!("getelementptr i8, ptr {at}, i64 {}", c * SIDE * WORD));
            self.line(format_args!("call void @llvm.x86.{how}(i8 {register}, ptr {at}, i64 %c_stride_bytes)"));
        }
    }

    /// A step of the depth: 16 words, or as many as are configured.
    fn step(&mut self, a: &str, b: &str) {
        for n in 0..self.rows.len() as u32 {
            let row = self.value(format_args!("mul i64 %a_stride_bytes, {}", n * SIDE));
            let at = self.value(format_args!("getelementptr i8, ptr {a}, i64 {row}"));
            self.line(format_args!("call void @llvm.x86.tileloadd64(i8 {}, ptr {at}, i64 %a_stride_bytes)", A + n));
        }
        for n in 0..self.columns.len() as u32 {
            let at = self.value(format_args!("getelementptr i8, ptr {b}, i64 {}", n * SIDE * WORD));
            self.line(format_args!("call void @llvm.x86.tileloadd64(i8 {}, ptr {at}, i64 %b_stride_bytes)", B + n));
        }
        for (register, r, c, _) in self.sums() {
            self.line(format_args!("call void @llvm.x86.tdpbf16ps(i8 {register}, i8 {}, i8 {})", A + r, B + c));
        }
    }
}
