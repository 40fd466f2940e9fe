//! Entry points: what a function is called with, and which task it does.
//!
//! | form | called with | does |
//! |---|---|---|
//! | [`Form::Task`] | pointers and values, in memory | one task |
//! | [`Form::Part`] | each pointer, each variable | what it says |
//! | [`Form::Kernel`], [`Form::Simulated`] | each pointer, each variable, the number of tasks, scratch memory | tasks, with the stride of the grid |
//!
//! A kernel is run by blocks of threads. Where vectors are worth it, a warp does a task, or several warps of a block, and
//! its threads share the vectors; else each thread does a task of its own ([`Share`]). Scratch memory is an array over what does tasks at
//! one time, so that its size follows from the grid and not from the number of tasks.

use super::operations::Operation;
use super::{Function, Writer, global, ty};
use std::fmt::Write;
use svod_ir::linear::{Block, Inst, Linear, Ty};
use svod_ir::target::Target;

/// How a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// By a thread of the host, for one task.
    Task,
    /// By a GPU.
    Kernel,
    /// As by a GPU, by a simulator on the host.
    Simulated,
    /// By a kernel of a GPU, which it becomes a part of.
    Part,
}

impl Form {
    /// Whether threads of a GPU run it, or what stands for them.
    pub(super) fn is_for_threads(self) -> bool {
        self != Form::Task
    }
}

/// A form, with what it depends on.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// How functions are called.
    pub form: Form,
    /// What runs them: the target itself, or the host in place of a GPU that it simulates.
    pub machine: &'a Target,
    /// What arguments of kernels are multiples of, in bytes; of tasks nothing is known.
    pub align: usize,
}

impl<'a> Entry<'a> {
    /// Of tasks on the host.
    pub fn task(target: &'a Target) -> Self {
        Entry { form: Form::Task, machine: target, align: 1 }
    }
}

/// Threads of a block in which each thread, or warp, has tasks of its own.
const BLOCK: u32 = 128;
/// Threads of a block at most.
const LARGEST: u32 = 1024;
/// Threads of a warp.
pub const WARP: u32 = 32;
/// Bytes of shared memory that blocks of operands have at most in a block of threads, unless one task needs more.
const MOST_SHARED: u32 = 32 << 10;
/// Bytes of a thread's widest access to memory.
const WIDEST: u32 = 16;
/// Lanes of the widest vector from which on threads share the vectors of a task: with fewer, most threads of a warp would
/// do what others do too.
const SHARED: u32 = 16;

/// Threads that do a task together, a power of two: one, a warp, or several warps of a block. Each has an equal part of
/// each vector, and all of them have each scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// How many.
    pub threads: u32,
    /// Threads of a block of a GPU: those of one task or of several.
    block: u32,
}

impl Share {
    /// A task is a thread.
    pub const ALONE: Share = Share { threads: 1, block: BLOCK };

    /// What fits the vectors of a list: so many threads that each access to memory is one of the widest of each. Vectors
    /// that have to be exchanged between threads in other ways than by reductions and single lanes stay whole.
    pub fn of(linear: &Linear) -> Share {
        let types = || linear.values.iter().chain(&linear.slots);
        let widest = types().map(|t| t.lanes).max().unwrap_or(1);
        let even = types().all(|t| t.lanes.is_power_of_two());
        let exchanged = |inst: &Inst| matches!(inst, Inst::Shuffle(..) | Inst::Vector(_));
        if widest < SHARED || !even || linear.insts.iter().any(exchanged) {
            return Share::ALONE;
        }
        let accessed = |inst: &Inst| match inst {
            Inst::Store { value, .. } => Some(linear.ty(*value)),
            _ => None,
        };
        let loaded = linear.insts.iter().filter(|inst| inst.has_value()).zip(&linear.values);
        let loaded = loaded.filter(|(inst, _)| matches!(inst, Inst::Load { .. })).map(|(_, of)| *of);
        let bytes = linear.insts.iter().filter_map(accessed).chain(loaded).map(|of| of.lanes * of.dtype.bytes() as u32);
        let threads = bytes.max().unwrap_or(1) / WIDEST;
        let threads = threads.clamp(WARP, LARGEST);
        // Tasks of several warps have a block each: they wait for all threads of it.
        let shared: u32 = linear.blocks.iter().map(Block::bytes).sum();
        let tasks = (MOST_SHARED / shared.max(1)).clamp(1, BLOCK / WARP);
        Share { threads, block: if threads > WARP { threads } else { WARP << tasks.ilog2() } }
    }

    /// Lanes of a vector that a thread has.
    pub fn lanes(self, lanes: u32) -> u32 {
        if self == Share::ALONE { lanes } else { (lanes / self.threads).max(1) }
    }

    /// Threads of a block.
    pub fn block(self) -> u32 {
        self.block
    }

    /// Tasks that a block does at one time.
    pub fn tasks(self) -> u32 {
        self.block() / self.threads
    }

    /// A list in which each vector is the part of it that a thread has.
    pub(super) fn part(self, linear: &Linear) -> Linear {
        let mut part = linear.clone();
        for of in part.values.iter_mut().chain(&mut part.slots) {
            *of = Ty { lanes: self.lanes(of.lanes), ..*of };
        }
        part
    }
}

impl Writer<'_> {
    /// A function of a host's thread.
    pub(super) fn task(&mut self, linear: &Linear, head: &str, body: &str) {
        let mut args = String::new();
        let names = (0..linear.params.len()).map(|n| format!("p{n}"));
        let scratch = (!linear.scratch.is_empty()).then(|| "scratch".to_owned());
        for (n, name) in names.chain(scratch).enumerate() {
            let _ = writeln!(args, "  %{name}.at = getelementptr ptr, ptr %buffers, i64 {n}");
            let _ = writeln!(args, "  %{name} = load ptr, ptr %{name}.at, align 8");
        }
        let _ = write!(
            self.functions,
            "define void {}(ptr readonly %buffers, ptr readonly %vals) #0 {{\nentry:\n{args}{head}{body}  ret void\n}}\n\n",
            global(&linear.name)
        );
    }

    /// A part of a kernel: a function without tasks.
    pub(super) fn part(&mut self, linear: &Linear, head: &str, body: &str) {
        let mut params: Vec<String> = (0..linear.params.len()).map(|n| format!("ptr %p{n}")).collect();
        params.extend((0..linear.vars.len()).map(|n| format!("i64 %x{n}")));
        let _ = write!(
            self.functions,
            "define internal void {}({}) alwaysinline nounwind {{\nentry:\n{head}  br label %{TASK}\n{TASK}:\n{body}  ret void\n}}\n\n",
            global(&linear.name),
            params.join(", ")
        );
    }

    /// A kernel: its tasks, one after the other, with the stride of the grid.
    pub(super) fn kernel(&mut self, linear: &Linear, share: Share, head: &str, (body, last): (&str, &str)) {
        let mut params: Vec<String> = Vec::new();
        for (n, param) in linear.params.iter().enumerate() {
            params.push(format!("ptr noalias {}%p{n}", if param.written { "" } else { "readonly " }));
        }
        params.extend((0..linear.vars.len()).map(|n| format!("i64 %x{n}")));
        params.extend(["i64 %tasks".to_owned(), "ptr %memory".to_owned()]);
        let [thread, block, blocks] =
            [Operation::Thread, Operation::Block, Operation::Blocks].map(|op| op.call(self.form, &[]));
        for op in [Operation::Thread, Operation::Block, Operation::Blocks] {
            self.declarations.insert(op.declaration(self.form));
        }
        let each = share.tasks();
        let (kind, name) = (if self.form == Form::Kernel { "ptx_kernel " } else { "" }, global(&linear.name));
        let (by, mask) = (share.threads.ilog2(), share.threads - 1);
        let place = format!("  %place = lshr i32 %thread, {by}\n  %lane = and i32 %thread, {mask}\n");
        let _ = write!(
            self.functions,
            "define {kind}void {name}({}) #0 {{\nentry:\n  %thread = {thread}\n  %block = {block}\n  %blocks = {blocks}\n{place}\
             \x20 %before = mul i32 %block, {each}\n  %own = add i32 %before, %place\n  %first = zext i32 %own to i64\n\
             \x20 %step.narrow = mul i32 %blocks, {each}\n  %step = zext i32 %step.narrow to i64\n",
            params.join(", ")
        );
        if !linear.scratch.is_empty() {
            let bytes = linear.scratch_bytes().next_multiple_of(64);
            let _ = writeln!(self.functions, "  %scratch.at = mul i64 %first, {bytes}");
            let _ = writeln!(self.functions, "  %scratch = getelementptr i8, ptr %memory, i64 %scratch.at");
        }
        let _ = write!(
            self.functions,
            "{head}  br label %task.head\ntask.head:\n  %task = phi i64 [ %first, %entry ], [ %task.next, %{last} ]\n\
             \x20 %task.more = icmp slt i64 %task, %tasks\n  br i1 %task.more, label %{TASK}, label %task.end\n{TASK}:\n\
             {body}  %task.next = add nsw i64 %task, %step\n  br label %task.head\ntask.end:\n  ret void\n}}\n\n"
        );
        if self.form == Form::Kernel {
            self.kernels.push((name, share.block()));
        }
    }
}

/// The first block of a task's code.
pub(super) const TASK: &str = "task.body";

/// Arrays of scratch memory, and stack slots.
pub(super) fn head(linear: &Linear, safe: usize) -> String {
    let mut head = String::new();
    for (n, s) in linear.scratch.iter().enumerate() {
        let _ = writeln!(head, "  %s{n} = getelementptr i8, ptr %scratch, i64 {}", s.offset);
    }
    for (n, slot) in linear.slots.iter().enumerate() {
        let _ = writeln!(head, "  %a{n} = alloca {}", ty(*slot));
    }
    if safe > 0 {
        let _ = writeln!(head, "  %safe = alloca [{safe} x i8], align 64");
    }
    head
}

impl Function<'_> {
    /// The value of variable `n`.
    pub(super) fn variable(&mut self, n: usize) -> String {
        match self.form {
            Form::Task => self.argument(n),
            Form::Kernel | Form::Simulated | Form::Part => format!("%x{n}"),
        }
    }

    /// The index of the task.
    pub(super) fn task_index(&mut self) -> String {
        match self.form {
            Form::Task => self.argument(self.linear.vars.len()),
            Form::Kernel | Form::Simulated => "%task".to_owned(),
            Form::Part => "0".to_owned(),
        }
    }

    /// Element `n` of the values that the function is given.
    fn argument(&mut self, n: usize) -> String {
        let at = self.temporary(format_args!("getelementptr i64, ptr %vals, i64 {n}"));
        self.temporary(format_args!("load i64, ptr {at}, align 8"))
    }
}
