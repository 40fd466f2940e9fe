//! The contraction tile: `C += A B` for a block of registers, generated once per target and types.
//!
//! The accumulators are `rows × cols / lanes` vectors. A step of the depth loads a row of B as
//! vectors and broadcasts a column of A, element by element. Depth and strides are arguments, so
//! that one tile serves every contraction of its types; see Goto and van de Geijn (2008) and Low et
//! al. (2016). Where a step is a word of two elements, [`product`] says what multiplies it; on machines
//! with tiles in registers of their own, [`amx`] is the tile.
//!
//! Signature: `(c, a, b: ptr, depth, start, c_stride, a_stride, b_stride: i64)`, strides in elements; or,
//! where the rows of B are at offsets, those (`i32`, in elements) in place of `b_stride`. Of pairs, the words
//! are the elements. A tile that brings memory into the caches has two more, `(fetch: ptr, fetch_step: i64)`,
//! a step in bytes.

mod amx;
mod product;

use crate::host::has_half;
use crate::llvm::{PREFETCH, attributes, prefetch};
use product::{Factor, Product};
use std::fmt::Write as _;
use svod_dtype::DType;
use svod_ir::linear::{LINE, TileSpec};
use svod_ir::target::Target;

/// Steps of the depth in one round of the main loop, where a step is short. Longer steps are one a
/// round: LLVM would mix them, which takes more registers than there are.
const UNROLL: u32 = 4;
/// Sums of a tile whose steps are short.
const FEW_SUMS: u32 = 8;
/// Rows of A that share a pointer: 0, 1 and 2 strides from it are addresses of one instruction.
const ROWS_OF_A_POINTER: u32 = 3;

/// The tile's function.
pub fn symbol(spec: &TileSpec) -> String {
    let layout = if spec.a_panel { "panel" } else { "row" };
    let rows_of_b = if spec.b_offsets { "_offsets" } else { "" };
    let (dtype, acc, pairs) = (spec.dtype.short(), spec.acc.short(), if spec.pairs { "_pairs" } else { "" });
    let fetches = if spec.fetches > 0 { format!("_fetch{}", spec.fetches) } else { String::new() };
    format!("svod_tile_{dtype}{pairs}_{acc}_{}x{}_{layout}{rows_of_b}{fetches}", spec.rows, spec.cols)
}

/// The parameters of a tile's function: types, attributes and names.
fn parameters(spec: &TileSpec) -> String {
    let rows_of_b = if spec.b_offsets { "ptr noalias readonly %b_offsets" } else { "i64 %b_stride" };
    let fetch = if spec.fetches > 0 { ", ptr %fetch, i64 %fetch_step" } else { "" };
    format!(
        "ptr noalias %c, ptr noalias readonly %a, ptr noalias readonly %b, i64 %depth, i64 %start, \
         i64 %c_stride, i64 %a_stride, {rows_of_b}{fetch}"
    )
}

/// Whether there is a tile of these types; lowering lays out the others as loops.
pub fn supports(spec: &TileSpec, target: &Target) -> bool {
    if target.groups.is_some() {
        return false;
    }
    if spec.pairs {
        return product::supports_pairs(spec, target);
    }
    match (spec.dtype, spec.acc) {
        (DType::F32, DType::F32 | DType::F64) | (DType::F64, DType::F64) | (DType::BF16, DType::F32) => true,
        (DType::F16, DType::F32) => has_half(target),
        (dtype, acc) => dtype.is_int() && acc.is_int() && dtype.bytes() <= acc.bytes(),
    }
}

/// The LLVM type of an element.
fn element(dtype: DType) -> &'static str {
    match dtype {
        DType::F64 => "double",
        DType::F32 => "float",
        DType::F16 => "half",
        dtype => match dtype.bytes() {
            1 => "i8",
            2 => "i16",
            4 => "i32",
            _ => "i64",
        },
    }
}

/// The LLVM text of a tile's module.
pub fn render(spec: &TileSpec, target: &Target) -> String {
    if amx::fits(spec, target) {
        return amx::render(spec, target);
    }
    // Vectors that fill the columns: as wide as the target's, or the widest that divide them.
    let lanes = (target.lanes(spec.acc.bytes()) as u32).min(1 << spec.cols.trailing_zeros());
    let product = Product::of(spec, target, lanes);
    let mut w = Writer { spec, target, lanes, product, text: String::new(), next: 0 };
    w.module();
    w.text
}

struct Writer<'s> {
    spec: &'s TileSpec,
    target: &'s Target,
    lanes: u32,
    product: Product,
    text: String,
    next: u32,
}

/// The accumulators, by row and vector.
type Sums = Vec<Vec<String>>;

/// Where a step of the depth reads.
struct Pointers {
    /// The panel of A, or some of its rows each.
    a: Vec<String>,
    /// The row of B, where no table says so.
    b: String,
    /// What is brought into the caches.
    fetch: Option<String>,
}

impl Writer<'_> {
    fn line(&mut self, text: std::fmt::Arguments) {
        self.text.push_str("  ");
        let _ = self.text.write_fmt(text);
        self.text.push('\n');
    }

    fn value(&mut self, text: std::fmt::Arguments) -> String {
        self.next += 1;
        let name = format!("%v{}", self.next);
        self.line(format_args!("{name} = {text}"));
        name
    }

    fn acc(&self) -> String {
        format!("<{} x {}>", self.lanes, element(self.spec.acc))
    }

    fn vectors(&self) -> u32 {
        self.spec.cols / self.lanes
    }

    fn names(&self, prefix: &str) -> Sums {
        let row = |r| (0..self.vectors()).map(|v| format!("%{prefix}_{r}_{v}")).collect();
        (0..self.spec.rows).map(row).collect()
    }

    fn module(&mut self) {
        let _ = writeln!(self.text, "define void @{}({}) #0 {{\nentry:", symbol(self.spec), parameters(self.spec));
        let starts = self.row_addresses();
        let short = self.spec.rows * self.vectors() <= FEW_SUMS && self.spec.fetches == 0;
        let unroll = if short { UNROLL } else { 1 };
        self.line(format_args!("%steps = call i64 @llvm.smax.i64(i64 %depth, i64 0)"));
        let main = self.value(format_args!("and i64 %steps, {}", -i64::from(unroll)));
        let some = self.value(format_args!("icmp sgt i64 {main}, 0"));
        self.line(format_args!("br i1 {some}, label %main, label %mid"));

        self.text.push_str("main:\n");
        let (sums, at) = self.head("main", "entry", None, &starts);
        let (sums, at) = self.steps(unroll, "%main_k", at, sums);
        self.tail("main", unroll, &main, &sums, &at, "mid");

        self.text.push_str("mid:\n");
        let ty = self.acc();
        for (r, row) in self.names("main_next").into_iter().enumerate() {
            for (v, next) in row.into_iter().enumerate() {
                self.line(format_args!("%mid_{r}_{v} = phi {ty} [ zeroinitializer, %entry ], [ {next}, %main ]"));
            }
        }
        self.line(format_args!("%mid_b = phi ptr [ %b, %entry ], [ %main_b_next, %main ]"));
        for (i, start) in starts.iter().enumerate() {
            self.line(format_args!("%mid_a{i} = phi ptr [ {start}, %entry ], [ %main_a{i}_next, %main ]"));
        }
        if self.spec.fetches > 0 {
            self.line(format_args!("%mid_fetch = phi ptr [ %fetch, %entry ], [ %main_fetch_next, %main ]"));
        }
        let more = self.value(format_args!("icmp slt i64 {main}, %steps"));
        self.line(format_args!("br i1 {more}, label %rest, label %done"));

        self.text.push_str("rest:\n");
        let (sums, at) = self.head("rest", "mid", Some(&main), &starts);
        let (sums, at) = self.steps(1, "%rest_k", at, sums);
        self.tail("rest", 1, "%steps", &sums, &at, "done");

        self.text.push_str("done:\n");
        for (r, row) in self.names("rest_next").into_iter().enumerate() {
            for (v, next) in row.into_iter().enumerate() {
                self.line(format_args!("%sum_{r}_{v} = phi {ty} [ %mid_{r}_{v}, %mid ], [ {next}, %rest ]"));
            }
        }
        self.line(format_args!("%fresh = icmp eq i64 %start, 0"));
        self.line(format_args!("br i1 %fresh, label %set, label %add"));
        for (label, add) in [("set", false), ("add", true)] {
            let _ = writeln!(self.text, "{label}:");
            self.store(add);
        }
        self.text.push_str("}\ndeclare i64 @llvm.smax.i64(i64, i64)\n");
        if self.spec.fetches > 0 {
            let _ = writeln!(self.text, "declare {PREFETCH}");
        }
        self.declare_product();
        let _ = writeln!(self.text, "attributes #0 = {}", attributes(self.target));
    }

    /// Where each pointer to A starts: one for some rows, or the panel's.
    fn row_addresses(&mut self) -> Vec<String> {
        if self.spec.a_panel {
            return vec!["%a".into()];
        }
        let ty = element(self.spec.stored());
        (0..self.spec.rows)
            .step_by(ROWS_OF_A_POINTER as usize)
            .map(|r| {
                let at = self.value(format_args!("mul i64 %a_stride, {r}"));
                self.value(format_args!("getelementptr {ty}, ptr %a, i64 {at}"))
            })
            .collect()
    }

    /// The start of a loop block: counter, pointers and accumulators.
    fn head(&mut self, label: &str, from: &str, first: Option<&str>, starts: &[String]) -> (Sums, Pointers) {
        let ty = self.acc();
        let entry = from == "entry";
        let (first, b) = (first.unwrap_or("0"), if entry { "%b" } else { "%mid_b" });
        self.line(format_args!("%{label}_k = phi i64 [ {first}, %{from} ], [ %{label}_k_next, %{label} ]"));
        self.line(format_args!("%{label}_b = phi ptr [ {b}, %{from} ], [ %{label}_b_next, %{label} ]"));
        let mut a = Vec::new();
        for (i, start) in starts.iter().enumerate() {
            let start = if entry { start.clone() } else { format!("%mid_a{i}") };
            self.line(format_args!("%{label}_a{i} = phi ptr [ {start}, %{from} ], [ %{label}_a{i}_next, %{label} ]"));
            a.push(format!("%{label}_a{i}"));
        }
        let fetch = (self.spec.fetches > 0).then(|| {
            let start = if entry { "%fetch" } else { "%mid_fetch" };
            self.line(format_args!("%{label}_fetch = phi ptr [ {start}, %{from} ], [ %{label}_fetch_next, %{label} ]"));
            format!("%{label}_fetch")
        });
        let sums = self.names(label);
        for (r, row) in sums.iter().enumerate() {
            for (v, name) in row.iter().enumerate() {
                let initial = if entry { "zeroinitializer".into() } else { format!("%{from}_{r}_{v}") };
                self.line(format_args!(
                    "{name} = phi {ty} [ {initial}, %{from} ], [ %{label}_next_{r}_{v}, %{label} ]"
                ));
            }
        }
        (sums, Pointers { a, b: format!("%{label}_b"), fetch })
    }

    /// `n` steps of the depth, and where the next one begins.
    fn steps(&mut self, n: u32, k: &str, mut at: Pointers, mut sums: Sums) -> (Sums, Pointers) {
        let ty = element(self.spec.stored());
        for step in 0..n {
            let k = if step == 0 { k.to_string() } else { self.value(format_args!("add i64 {k}, {step}")) };
            let row = if self.spec.b_offsets { self.row_of_b(&k) } else { at.b.clone() };
            at.fetch = at.fetch.map(|fetch| self.fetch(&fetch));
            let columns: Vec<Factor> = (0..self.vectors()).map(|v| self.load_b(&row, v)).collect();
            for (r, row) in sums.iter_mut().enumerate() {
                let a = self.load_a(&at.a, r as u32);
                for (v, sum) in row.iter_mut().enumerate() {
                    *sum = self.multiply_add(&a, &columns[v], sum);
                }
            }
            if !self.spec.b_offsets {
                at.b = self.value(format_args!("getelementptr {ty}, ptr {}, i64 %b_stride", at.b));
            }
            let by = if self.spec.a_panel { "%a_stride" } else { "1" };
            for a in &mut at.a {
                *a = self.value(format_args!("getelementptr {ty}, ptr {a}, i64 {by}"));
            }
        }
        (sums, at)
    }

    /// Brings a step's lines into the caches; gives where the next step's begin.
    fn fetch(&mut self, pointer: &str) -> String {
        for line in 0..self.spec.fetches {
            let at = self.value(format_args!("getelementptr i8, ptr {pointer}, i64 {}", line * LINE));
            self.line(format_args!("{}", prefetch(&at)));
        }
        self.value(format_args!("getelementptr i8, ptr {pointer}, i64 %fetch_step"))
    }

    /// Where step `k` finds its row of B by the table.
    fn row_of_b(&mut self, k: &str) -> String {
        let at = self.value(format_args!("getelementptr i32, ptr %b_offsets, i64 {k}"));
        let offset = self.value(format_args!("load i32, ptr {at}, align 4"));
        let offset = self.value(format_args!("sext i32 {offset} to i64"));
        self.value(format_args!("getelementptr {}, ptr %b, i64 {offset}", element(self.spec.stored())))
    }

    fn load_b(&mut self, b: &str, v: u32) -> Factor {
        let (ty, lanes) = (element(self.spec.stored()), self.lanes);
        let at = self.value(format_args!("getelementptr {ty}, ptr {b}, i64 {}", v * lanes));
        let align = self.spec.stored().bytes();
        let value = self.value(format_args!("load <{lanes} x {ty}>, ptr {at}, align {align}"));
        self.factor(value, Some(lanes))
    }

    fn load_a(&mut self, pointers: &[String], r: u32) -> Factor {
        let ty = element(self.spec.stored());
        let at = if self.spec.a_panel {
            self.value(format_args!("getelementptr {ty}, ptr {}, i64 {r}", pointers[0]))
        } else {
            let by = self.value(format_args!("mul i64 %a_stride, {}", r % ROWS_OF_A_POINTER));
            let pointer = &pointers[(r / ROWS_OF_A_POINTER) as usize];
            self.value(format_args!("getelementptr {ty}, ptr {pointer}, i64 {by}"))
        };
        let value = self.value(format_args!("load {ty}, ptr {at}, align {}", self.spec.stored().bytes()));
        self.factor(value, None)
    }

    /// The end of a loop block.
    fn tail(&mut self, label: &str, step: u32, end: &str, sums: &Sums, at: &Pointers, after: &str) {
        let ty = self.acc();
        for (r, row) in sums.iter().enumerate() {
            for (v, sum) in row.iter().enumerate() {
                self.line(format_args!("%{label}_next_{r}_{v} = bitcast {ty} {sum} to {ty}"));
            }
        }
        self.line(format_args!("%{label}_b_next = getelementptr i8, ptr {}, i64 0", at.b));
        for (i, a) in at.a.iter().enumerate() {
            self.line(format_args!("%{label}_a{i}_next = getelementptr i8, ptr {a}, i64 0"));
        }
        if let Some(fetch) = &at.fetch {
            self.line(format_args!("%{label}_fetch_next = getelementptr i8, ptr {fetch}, i64 0"));
        }
        self.line(format_args!("%{label}_k_next = add i64 %{label}_k, {step}"));
        let more = self.value(format_args!("icmp slt i64 %{label}_k_next, {end}"));
        self.line(format_args!("br i1 {more}, label %{label}, label %{after}"));
    }

    fn store(&mut self, add: bool) {
        let (ty, of, align) = (self.acc(), element(self.spec.acc), self.spec.acc.bytes());
        for r in 0..self.spec.rows {
            let at = self.value(format_args!("mul i64 %c_stride, {r}"));
            let row = self.value(format_args!("getelementptr {of}, ptr %c, i64 {at}"));
            for v in 0..self.vectors() {
                let at = self.value(format_args!("getelementptr {of}, ptr {row}, i64 {}", v * self.lanes));
                let mut sum = format!("%sum_{r}_{v}");
                if add {
                    let old = self.value(format_args!("load {ty}, ptr {at}, align {align}"));
                    sum = self.value(format_args!("{} {ty} {old}, {sum}", self.operation("add")));
                }
                self.line(format_args!("store {ty} {sum}, ptr {at}, align {align}"));
            }
        }
        self.line(format_args!("ret void"));
    }
}
