//! From linear lists to the text of an LLVM module.
//!
//! Deviations from the linear list: a bool is an `i1` in registers and a byte in memory; narrow
//! floats are integers of their width; accumulators are stack slots, which `sroa` makes registers.
//! The only calls are of contraction tiles and of intrinsics that every target has instructions
//! for. Different memories carry alias scopes: arguments overlap only where a plan lets an elementwise
//! kernel write over what it reads, and there each element is read once, to make the one that takes its
//! place, so that no order of other accesses changes a result.

mod alike;
mod alu;
mod blocks;
mod entry;
mod memory;
mod operations;
mod scan;
mod spread;

pub use entry::{Entry, Form, Share, WARP};

use crate::tile;
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use svod_dtype::{Const, DType};
use svod_ir::linear::{Inst, Linear, Place, Special, Tile, Ty, Val};
use svod_ir::pass::visit;
use svod_ir::target::Target;

/// The LLVM text of a module with one entry point per list.
pub fn module(lists: &[Linear], target: &Target, entry: Entry<'_>) -> String {
    let mut writer = Writer::new(target, entry);
    for linear in lists {
        writer.function(linear);
    }
    writer.finish()
}

struct Writer<'a> {
    target: &'a Target,
    machine: &'a Target,
    form: Form,
    align: usize,
    /// The kernels' names, and threads of a block of each.
    kernels: Vec<(String, u32)>,
    /// Bytes of memory that a block shares.
    shared: u32,
    functions: String,
    declarations: BTreeSet<String>,
    metadata: Vec<String>,
}

/// A function that is being written.
struct Function<'a> {
    target: &'a Target,
    form: Form,
    align: usize,
    share: Share,
    /// The list, whose vectors are the parts that a thread has.
    linear: &'a Linear,
    /// The list with its whole vectors.
    whole: &'a Linear,
    hazards: memory::Hazards,
    across: blocks::Blocks,
    body: String,
    declarations: &'a mut BTreeSet<String>,
    metadata: &'a mut Vec<String>,
    /// Per memory, the metadata of its accesses.
    scopes: Vec<String>,
    /// What is constant.
    constants: Vec<Option<Const>>,
    /// Values as operands.
    names: Vec<String>,
    /// Whether anything is written past the caches.
    streams: bool,
    /// Bytes of memory that the block shares.
    shared: u32,
    /// Bytes of the block that masked-out accesses touch instead.
    safe: usize,
    temporaries: u32,
    blocks: u32,
    block: String,
}

/// Whether an operand is a temporary; other names are of values, which keep them.
fn operand_is_new(operand: &str) -> bool {
    operand.starts_with("%t")
}

/// The LLVM name of an element type, in registers.
fn scalar(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "i1",
        DType::I8 | DType::U8 | DType::F8E4M3 | DType::F8E5M2 => "i8",
        DType::I16 | DType::U16 | DType::F16 | DType::BF16 => "i16",
        DType::I32 | DType::U32 => "i32",
        DType::I64 | DType::U64 | DType::Index => "i64",
        DType::F32 => "float",
        DType::F64 => "double",
        // Kernels have pairs of floats in place of complex numbers.
        DType::Void | DType::C64 | DType::C128 => "void",
    }
}

/// An LLVM type of some lanes.
fn lanes_of(element: &str, lanes: u32) -> String {
    if lanes == 1 { element.to_owned() } else { format!("<{lanes} x {element}>") }
}

/// The LLVM type of a value.
fn ty(ty: Ty) -> String {
    lanes_of(scalar(ty.dtype), ty.lanes)
}

/// The suffix by which intrinsics name a type: `f32`, `v8i64`.
fn suffix(ty: Ty) -> String {
    let element = match ty.dtype {
        DType::F32 => "f32",
        DType::F64 => "f64",
        dtype => scalar(dtype),
    };
    if ty.lanes == 1 { element.to_owned() } else { format!("v{}{element}", ty.lanes) }
}

/// A function's name, in quotes where LLVM needs them.
fn global(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.');
    if name.bytes().all(plain) {
        return format!("@{name}");
    }
    let escaped = name.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("\\{b:02X}") });
    format!("@\"{}\"", escaped.collect::<String>())
}

/// A constant of an element type, in registers.
fn literal(c: Const) -> String {
    match c.dtype() {
        DType::Bool => c.as_bool().to_string(),
        DType::F32 | DType::F64 => format!("0x{:016X}", c.as_f64().to_bits()),
        dtype if dtype.is_float() => c.bits().to_string(),
        _ => c.as_i128().to_string(),
    }
}

/// A constant in every lane.
fn constant(ty: Ty, c: Const) -> String {
    match ty.lanes {
        1 => literal(c),
        _ => format!("splat ({} {})", scalar(ty.dtype), literal(c)),
    }
}

impl<'a> Writer<'a> {
    fn new(target: &'a Target, Entry { form, machine, align }: Entry<'a>) -> Self {
        let (functions, declarations, metadata, kernels) = (String::new(), BTreeSet::new(), Vec::new(), Vec::new());
        Writer { target, machine, form, align, kernels, shared: 0, functions, declarations, metadata }
    }

    fn function(&mut self, whole: &Linear) {
        let scopes = self.scopes(whole);
        let share = if matches!(self.form, Form::Task | Form::Part) { Share::ALONE } else { Share::of(whole) };
        let part;
        let linear = if share == Share::ALONE {
            whole
        } else {
            part = share.part(whole);
            &part
        };
        let hazards = if self.form.is_for_threads() { memory::Hazards::of(linear, share) } else { Default::default() };
        let mut function = Function {
            target: self.target,
            form: self.form,
            align: self.align,
            share,
            linear,
            whole,
            hazards,
            across: blocks::Blocks::default(),
            body: String::new(),
            declarations: &mut self.declarations,
            metadata: &mut self.metadata,
            scopes,
            constants: vec![None; linear.values.len()],
            names: vec![String::new(); linear.values.len()],
            streams: false,
            shared: 0,
            safe: 0,
            temporaries: 0,
            blocks: 0,
            block: if self.form == Form::Task { "entry" } else { entry::TASK }.into(),
        };
        function.instructions();
        // What follows a task, on any thread, sees what it has written past the caches.
        let fence = if function.streams { function.fence() } else { "" };
        let (body, safe, last) = (function.body + fence, function.safe, function.block);
        self.shared = self.shared.max(function.shared);
        let head = entry::head(linear, safe);
        match self.form {
            Form::Task => self.task(linear, &head, &body),
            Form::Part => self.part(linear, &head, &body),
            Form::Kernel | Form::Simulated => self.kernel(linear, share, &head, (&body, &last)),
        }
    }

    /// An alias scope for each memory: an access is in its own, and not in those of the others.
    fn scopes(&mut self, linear: &Linear) -> Vec<String> {
        let memories = linear.params.len() + linear.scratch.len();
        if memories < 2 {
            return vec![String::new(); memories];
        }
        let domain = self.metadata.len();
        self.metadata.push(format!("distinct !{{!{domain}}}"));
        let first = domain + 1;
        for n in 0..memories {
            self.metadata.push(format!("distinct !{{!{}, !{domain}}}", first + n));
        }
        let lists = self.metadata.len();
        for n in 0..memories {
            let others: Vec<String> = (0..memories).filter(|m| *m != n).map(|m| format!("!{}", first + m)).collect();
            self.metadata.push(format!("!{{!{}}}", first + n));
            self.metadata.push(format!("!{{{}}}", others.join(", ")));
        }
        let access = |n| format!(", !alias.scope !{}, !noalias !{}", lists + 2 * n, lists + 2 * n + 1);
        (0..memories).map(access).collect()
    }

    fn finish(self) -> String {
        let mut text = self.functions;
        if self.shared > 0 {
            let _ = writeln!(text, "{}", operations::shared(self.form, self.shared));
        }
        for declaration in &self.declarations {
            let _ = writeln!(text, "declare {declaration}");
        }
        let _ = writeln!(text, "\nattributes #0 = {}", attributes(self.machine));
        if !self.kernels.is_empty() {
            text.push_str("!nvvm.annotations = !{");
            let first = self.metadata.len();
            let nodes: Vec<String> = (0..self.kernels.len()).map(|n| format!("!{}", first + n)).collect();
            let _ = writeln!(text, "{}}}", nodes.join(", "));
            for (n, (kernel, threads)) in self.kernels.iter().enumerate() {
                let n = first + n;
                let _ = writeln!(text, "!{n} = !{{ptr {kernel}, !\"kernel\", i32 1, !\"maxntidx\", i32 {threads}}}");
            }
        }
        for (n, node) in self.metadata.iter().enumerate() {
            let _ = writeln!(text, "!{n} = {node}");
        }
        text
    }
}

/// The function that [`prefetch`] calls.
pub(crate) const PREFETCH: &str = "void @llvm.prefetch.p0(ptr, i32, i32, i32)";

/// The call that brings the line of a pointer into all levels of the cache.
pub(crate) fn prefetch(pointer: &str) -> String {
    format!("call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 3, i32 1)")
}

/// The attributes of every function: without the widths, LLVM halves 512-bit vectors.
pub(crate) fn attributes(target: &Target) -> String {
    let width = target.vector_bytes * 8;
    format!(
        "{{ nounwind \"target-cpu\"=\"{}\" \"target-features\"=\"{}\" \"prefer-vector-width\"=\"{width}\" \
         \"min-legal-vector-width\"=\"{width}\" }}",
        target.cpu, target.features
    )
}

impl Function<'_> {
    fn line(&mut self, text: fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "  {text}");
    }

    /// A fresh name, defined as this.
    fn temporary(&mut self, text: fmt::Arguments<'_>) -> String {
        let name = format!("%t{}", self.temporaries);
        self.temporaries += 1;
        self.line(format_args!("{name} = {text}"));
        name
    }

    fn label(&mut self) -> String {
        self.blocks += 1;
        format!("b{}", self.blocks)
    }

    fn start_block(&mut self, label: String) {
        let _ = writeln!(self.body, "{label}:");
        self.block = label;
    }

    /// The number of the metadata that marks accesses past the caches.
    fn nontemporal(&mut self) -> usize {
        const MARK: &str = "!{i32 1}";
        self.metadata.iter().position(|m| m == MARK).unwrap_or_else(|| {
            self.metadata.push(MARK.to_owned());
            self.metadata.len() - 1
        })
    }

    fn declare(&mut self, declaration: String) {
        self.declarations.insert(declaration);
    }

    /// Makes the temporary that was defined last, or any operand, the name of a value.
    fn bind(&mut self, v: Val, operand: String) {
        let last = self.body.trim_end().rfind('\n').map_or(0, |n| n + 1);
        let defined = format!("  {operand} = ");
        self.names[v.index()] = operand;
        if operand_is_new(&self.names[v.index()]) && self.body[last..].starts_with(&defined) {
            let name = format!("%v{}", v.0);
            self.body.replace_range(last..last + defined.len(), &format!("  {name} = "));
            self.names[v.index()] = name;
        }
    }

    /// A value as an operand, without its type.
    fn operand(&self, v: Val) -> String {
        match self.constants[v.index()] {
            Some(c) => constant(self.linear.ty(v), c),
            None => self.names[v.index()].clone(),
        }
    }

    /// A value as an operand, with its type.
    fn typed(&self, v: Val) -> String {
        format!("{} {}", ty(self.linear.ty(v)), self.operand(v))
    }

    fn instructions(&mut self) {
        let linear = self.linear;
        // The counter and extent of each open range, and its blocks: body, latch, exit.
        let mut open: Vec<(Val, Val, [String; 3])> = Vec::new();
        let mut conditionals: Vec<String> = Vec::new();
        let mut next = 0;
        visit(linear.insts.len());
        for inst in &linear.insts {
            let v = Val(next);
            next += u32::from(inst.has_value());
            match inst {
                Inst::Const(c) => self.constants[v.index()] = Some(*c),
                Inst::Range(extent) => {
                    self.settle();
                    self.leave_blocks();
                    let blocks = [self.label(), self.label(), self.label()];
                    let [body, latch, exit] = &blocks;
                    if self.constants[extent.index()].is_some_and(|c| c.as_i64() > 0) {
                        self.line(format_args!("br label %{body}"));
                    } else {
                        let runs = self.temporary(format_args!("icmp sgt i64 {}, 0", self.operand(*extent)));
                        self.line(format_args!("br i1 {runs}, label %{body}, label %{exit}"));
                    }
                    let from = self.block.clone();
                    self.start_block(body.clone());
                    self.line(format_args!("%v{} = phi i64 [ 0, %{from} ], [ %v{}.next, %{latch} ]", v.0, v.0));
                    self.names[v.index()] = format!("%v{}", v.0);
                    open.push((v, *extent, blocks));
                }
                Inst::EndRange => {
                    let Some((counter, extent, [body, latch, exit])) = open.pop() else { continue };
                    self.settle();
                    self.leave_blocks();
                    self.line(format_args!("br label %{latch}"));
                    self.start_block(latch);
                    self.line(format_args!("%v{}.next = add nuw nsw i64 %v{}, 1", counter.0, counter.0));
                    let extent = self.operand(extent);
                    let more = self.temporary(format_args!("icmp slt i64 %v{}.next, {extent}", counter.0));
                    self.line(format_args!("br i1 {more}, label %{body}, label %{exit}"));
                    self.start_block(exit);
                }
                Inst::If(cond) => {
                    self.settle();
                    self.leave_blocks();
                    let (then, end) = (self.label(), self.label());
                    self.line(format_args!("br i1 {}, label %{then}, label %{end}", self.operand(*cond)));
                    self.start_block(then);
                    conditionals.push(end);
                }
                Inst::EndIf => {
                    let Some(end) = conditionals.pop() else { continue };
                    self.settle();
                    self.leave_blocks();
                    self.line(format_args!("br label %{end}"));
                    self.start_block(end);
                }
                Inst::Write(slot, value) => {
                    self.line(format_args!("store {}, ptr %a{}", self.typed(*value), slot.0));
                }
                Inst::Store { to, at, value, mask } => self.store(*to, *at, *value, *mask),
                Inst::Copy { to, from, at, step, within } => self.copy_block(*to, *from, *at, *step, *within),
                Inst::Tile(tile) => self.tile(tile),
                Inst::Prefetch(from, at) => self.prefetch(*from, *at),
                Inst::Barrier => {}
                inst => self.value(v, inst),
            }
        }
    }

    fn value(&mut self, v: Val, inst: &Inst) {
        let of = self.linear.ty(v);
        let value = match inst {
            Inst::Var(n) => self.variable(*n as usize),
            Inst::Special(Special::Block, 0) => self.task_index(),
            Inst::Special(..) => "0".to_owned(),
            Inst::Iota => self.iota(v),
            Inst::Alu(op, args) => self.alu(*op, args),
            Inst::Cast(from) => self.cast(*from, of),
            Inst::Bitcast(from) => {
                let (source, target) = (ty(self.linear.ty(*from)), ty(of));
                match source == target {
                    true => self.operand(*from),
                    false => self.temporary(format_args!("bitcast {source} {} to {target}", self.operand(*from))),
                }
            }
            Inst::Splat(from) if of.lanes == 1 => self.operand(*from),
            Inst::Splat(from) => {
                let from = self.typed(*from);
                self.splat(&from, of)
            }
            Inst::Vector(args) => {
                let (mut vector, whole) = ("poison".to_owned(), ty(of));
                for (lane, arg) in args.iter().enumerate() {
                    let arg = self.typed(*arg);
                    vector = self.temporary(format_args!("insertelement {whole} {vector}, {arg}, i64 {lane}"));
                }
                vector
            }
            Inst::Shuffle(a, b, lanes) => {
                let (a, b, count) = (self.typed(*a), self.typed(*b), lanes.len());
                let lanes: Vec<String> = lanes.iter().map(|l| format!("i32 {l}")).collect();
                self.temporary(format_args!("shufflevector {a}, {b}, <{count} x i32> <{}>", lanes.join(", ")))
            }
            Inst::Extract(vector, lane) => self.extract(*vector, *lane),
            Inst::Insert(vector, lane, value) => self.insert(*vector, *lane, *value),
            Inst::Reduce(op, vector) => self.reduce(*op, *vector),
            Inst::Scan(op, vector) => self.scan(*op, *vector),
            Inst::Alike(vector, before) => self.alike(*vector, *before),
            Inst::Read(slot) => self.temporary(format_args!("load {}, ptr %a{}", ty(of), slot.0)),
            Inst::Load { from, at, mask, other } => self.load(v, *from, *at, *mask, *other),
            Inst::Column(block, n) => self.column(v, *block, *n),
            // `instructions` takes care of all others.
            _ => return,
        };
        self.bind(v, value);
    }

    /// A scalar, given with its type, in every lane.
    fn splat(&mut self, scalar: &str, of: Ty) -> String {
        let whole = ty(of);
        let one = self.temporary(format_args!("insertelement {whole} poison, {scalar}, i64 0"));
        let zeros = format!("<{} x i32> zeroinitializer", of.lanes);
        self.temporary(format_args!("shufflevector {whole} {one}, {whole} poison, {zeros}"))
    }

    fn tile(&mut self, tile: &Tile) {
        let symbol = tile::symbol(&tile.spec);
        let mut pointers = Vec::new();
        for operand in &tile.operands {
            let element = memory::element(self.dtype(operand.place));
            let (base, at) = (base(operand.place), self.operand(operand.at));
            pointers
                .push(format!("ptr {}", self.temporary(format_args!("getelementptr {element}, ptr {base}, i64 {at}"))));
        }
        let [c, a, b] = tile.operands;
        pointers.extend([tile.depth, tile.start, c.stride, a.stride].map(|v| self.typed(v)));
        pointers.push(tile.offsets.map_or_else(|| self.typed(b.stride), |table| format!("ptr {}", base(table))));
        if let Some(fetch) = tile.fetch {
            pointers.push(format!("ptr {}", self.pointer(fetch.place, fetch.at)));
            pointers.push(self.typed(fetch.step));
        }
        self.line(format_args!("call void @{symbol}({})", pointers.join(", ")));
        let rows_of_b = if tile.offsets.is_some() { "ptr" } else { "i64" };
        let fetch = if tile.fetch.is_some() { ", ptr, i64" } else { "" };
        self.declare(format!("void @{symbol}(ptr, ptr, ptr, i64, i64, i64, i64, {rows_of_b}{fetch}) nounwind"));
    }

    fn dtype(&self, place: Place) -> DType {
        match place {
            Place::Param(p) => self.linear.params[p.index()].dtype,
            Place::Scratch(s) => self.linear.scratch[s.index()].dtype,
        }
    }
}

/// The pointer to a memory's first element.
fn base(place: Place) -> String {
    format!("%{place}")
}
