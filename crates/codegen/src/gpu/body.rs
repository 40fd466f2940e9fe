//! The text of a kernel as it is written: values, slots, structured control flow.

use super::Runner;
use super::ptx::{self, Factor, Left, Operation, Ptx};
use std::collections::BTreeSet;
use std::fmt::{Display, Write as _};
use svod_dtype::DType;

/// A variable on the stack, which `sroa` makes a register.
#[derive(Clone, Debug)]
pub struct Slot {
    name: String,
    ty: &'static str,
}

/// The body of a kernel. Integers are `i32` but where a name says otherwise; constants among them are folded.
#[derive(Debug)]
pub struct Body {
    runner: Runner,
    slots: String,
    text: String,
    declarations: BTreeSet<String>,
    next: u32,
}

/// Where dynamic shared memory starts in a simulator: where no more than chunks of 16 bytes are aligned.
const SIMULATED_SHARED: u32 = 16;

impl Body {
    /// An empty body.
    pub(super) fn new(runner: Runner) -> Body {
        let (slots, text, declarations) = Default::default();
        Body { runner, slots, text, declarations, next: 0 }
    }

    /// A line that defines nothing.
    pub fn line(&mut self, text: impl Display) {
        let _ = writeln!(self.text, "  {text}");
    }

    /// What an instruction gives.
    pub fn value(&mut self, text: impl Display) -> String {
        self.next += 1;
        let name = format!("%v{}", self.next);
        self.line(format_args!("{name} = {text}"));
        name
    }

    /// A function that is called.
    pub fn declare(&mut self, text: impl Into<String>) {
        self.declarations.insert(text.into());
    }

    fn label(&mut self, label: &str) {
        let _ = writeln!(self.text, "{label}:");
    }

    /// A variable.
    pub fn slot(&mut self, ty: &'static str, initial: impl Display) -> Slot {
        self.next += 1;
        let slot = Slot { name: format!("%slot{}", self.next), ty };
        let _ = writeln!(self.slots, "  {} = alloca {ty}", slot.name);
        self.set(&slot, initial);
        slot
    }

    /// Writes a variable.
    pub fn set(&mut self, slot: &Slot, value: impl Display) {
        self.line(format_args!("store {} {value}, ptr {}", slot.ty, slot.name));
    }

    /// Reads a variable.
    pub fn get(&mut self, slot: &Slot) -> String {
        self.value(format_args!("load {}, ptr {}", slot.ty, slot.name))
    }

    fn integer(&mut self, operation: &str, a: impl Display, b: impl Display) -> String {
        let (a, b) = (a.to_string(), b.to_string());
        if let (Ok(x), Ok(y)) = (a.parse::<i64>(), b.parse::<i64>()) {
            return match operation {
                "add" => x + y,
                "sub" => x - y,
                "mul" => x * y,
                "udiv" => x / y,
                "urem" => x % y,
                "and" => x & y,
                "or" => x | y,
                "xor" => x ^ y,
                "shl" => x << y,
                _ => x >> y,
            }
            .to_string();
        }
        match (operation, b.as_str(), a.as_str()) {
            ("add" | "sub" | "or" | "xor" | "shl" | "lshr", "0", _) | ("mul" | "udiv", "1", _) => a,
            ("add" | "or" | "xor", _, "0") | ("mul", _, "1") => b,
            ("mul" | "and", "0", _) | ("mul" | "and" | "udiv" | "urem" | "shl" | "lshr", _, "0") => "0".into(),
            _ => self.value(format_args!("{operation} i32 {a}, {b}")),
        }
    }

    /// `a + b`.
    pub fn add(&mut self, a: impl Display, b: impl Display) -> String {
        self.integer("add", a, b)
    }

    /// `a - b`.
    pub fn sub(&mut self, a: impl Display, b: impl Display) -> String {
        self.integer("sub", a, b)
    }

    /// `a * b`.
    pub fn mul(&mut self, a: impl Display, b: impl Display) -> String {
        self.integer("mul", a, b)
    }

    /// `a / b`, without signs.
    pub fn div(&mut self, a: impl Display, b: impl Display) -> String {
        self.integer("udiv", a, b)
    }

    /// `a % b`, without signs.
    pub fn rem(&mut self, a: impl Display, b: impl Display) -> String {
        self.integer("urem", a, b)
    }

    /// `a & b`.
    pub fn and(&mut self, a: impl Display, b: impl Display) -> String {
        self.integer("and", a, b)
    }

    /// `a ^ b`.
    pub fn xor(&mut self, a: impl Display, b: impl Display) -> String {
        self.integer("xor", a, b)
    }

    /// `a << b`.
    pub fn shl(&mut self, a: impl Display, b: impl Display) -> String {
        self.integer("shl", a, b)
    }

    /// `a >> b`, without signs.
    pub fn shr(&mut self, a: impl Display, b: impl Display) -> String {
        self.integer("lshr", a, b)
    }

    /// How often `by` fits, rounded up.
    pub fn ceil_div(&mut self, a: impl Display, by: u32) -> String {
        let up = self.add(a, by - 1);
        self.div(up, by)
    }

    /// The smaller one of two unsigned numbers.
    pub fn min(&mut self, a: impl Display, b: impl Display) -> String {
        self.declare("declare i32 @llvm.umin.i32(i32, i32)");
        self.value(format_args!("call i32 @llvm.umin.i32(i32 {a}, i32 {b})"))
    }

    /// As 64 bits, without a sign.
    pub fn wide(&mut self, a: impl Display) -> String {
        let a = a.to_string();
        if a.parse::<i64>().is_ok() { a } else { self.value(format_args!("zext i32 {a} to i64")) }
    }

    /// `a + b * c` of 64 bits.
    pub fn offset(&mut self, a: impl Display, b: impl Display, c: impl Display) -> String {
        let product = self.value(format_args!("mul i64 {b}, {c}"));
        self.value(format_args!("add i64 {a}, {product}"))
    }

    /// A comparison: `eq`, `ult` …
    pub fn compare(&mut self, how: &str, a: impl Display, b: impl Display) -> String {
        self.value(format_args!("icmp {how} i32 {a}, {b}"))
    }

    /// Both.
    pub fn both(&mut self, a: impl Display, b: impl Display) -> String {
        self.value(format_args!("and i1 {a}, {b}"))
    }

    /// One of two numbers.
    pub fn select(&mut self, condition: impl Display, yes: impl Display, no: impl Display) -> String {
        self.value(format_args!("select i1 {condition}, i32 {yes}, i32 {no}"))
    }

    /// `a * b + c`, rounded once.
    pub fn fma(&mut self, a: impl Display, b: impl Display, c: impl Display) -> String {
        self.declare("declare float @llvm.fma.f32(float, float, float)");
        self.value(format_args!("call float @llvm.fma.f32(float {a}, float {b}, float {c})"))
    }

    /// The larger one of two floats, of which a NaN is none.
    pub fn max(&mut self, a: impl Display, b: impl Display) -> String {
        self.declare("declare float @llvm.maxnum.f32(float, float)");
        self.value(format_args!("call float @llvm.maxnum.f32(float {a}, float {b})"))
    }

    /// The smaller one of two numbers with signs.
    pub fn least(&mut self, a: impl Display, b: impl Display) -> String {
        self.declare("declare i32 @llvm.smin.i32(i32, i32)");
        self.value(format_args!("call i32 @llvm.smin.i32(i32 {a}, i32 {b})"))
    }

    /// The larger one of two numbers with signs.
    pub fn most(&mut self, a: impl Display, b: impl Display) -> String {
        self.declare("declare i32 @llvm.smax.i32(i32, i32)");
        self.value(format_args!("call i32 @llvm.smax.i32(i32 {a}, i32 {b})"))
    }

    /// A register of the hardware: `tid.x`, `ctaid.x` …
    pub fn special(&mut self, register: &str) -> String {
        let function = match self.runner {
            Runner::Driver => format!("llvm.nvvm.read.ptx.sreg.{register}"),
            Runner::Simulator => format!("svod_sim_{}", register.trim_end_matches(".x")),
        };
        self.declare(format!("declare i32 @{function}()"));
        self.value(format_args!("call i32 @{function}()"))
    }

    /// Where dynamic shared memory starts.
    pub fn shared(&mut self) -> String {
        match self.runner {
            Runner::Driver => {
                let start = self.value("ptrtoint ptr addrspace(3) @shared to i64");
                self.value(format_args!("trunc i64 {start} to i32"))
            }
            Runner::Simulator => self.value(format_args!("add i32 {SIMULATED_SHARED}, 0")),
        }
    }

    /// An instruction of PTX without a result.
    pub fn run(&mut self, ptx: &Ptx, operands: &[&dyn Display]) {
        match self.runner {
            Runner::Driver => self.line(ptx.call(operands)),
            Runner::Simulator => {
                self.simulate(ptx.operation, ptx.operands().zip(operands).map(|(ty, x)| (ty, x.to_string())), &[]);
            }
        }
    }

    /// What an instruction of PTX gives.
    pub fn ask(&mut self, ptx: &Ptx, operands: &[&dyn Display]) -> String {
        self.ask_all(ptx, operands).swap_remove(0)
    }

    /// All that an instruction of PTX gives.
    pub fn ask_all(&mut self, ptx: &Ptx, operands: &[&dyn Display]) -> Vec<String> {
        let results = ptx.results();
        match self.runner {
            Runner::Simulator => {
                self.simulate(ptx.operation, ptx.operands().zip(operands).map(|(ty, x)| (ty, x.to_string())), &results)
            }
            Runner::Driver => {
                let all = self.value(ptx.call(operands));
                let ty = format!("{{{}}}", results.join(", "));
                if results.len() == 1 { vec![all] } else { self.parts(&all, &ty, results.len()) }
            }
        }
    }

    /// A product of a warpgroup, see [`ptx::wgmma`].
    pub(super) fn wgmma(
        &mut self,
        factor: Factor,
        sums: &[String],
        a: Left,
        (b, transposed): (&str, bool),
        add: &str,
    ) -> Vec<String> {
        let (count, ty) = (sums.len(), factor.sum().0);
        if self.runner == Runner::Driver {
            let all = self.value(ptx::wgmma(factor, sums, a, (b, transposed), add));
            return self.parts(&all, &ptx::several(ty, count), count);
        }
        let elements = factor as usize;
        let (operation, flags, left): (_, Vec<usize>, Vec<_>) = match a {
            Left::Shared(a, other) => {
                (Operation::Wgmma, vec![count, other.into(), transposed.into(), elements], vec![("i64", a)])
            }
            Left::Registers(a) => {
                (Operation::WgmmaRegisters, vec![count, transposed.into(), elements], a.map(|a| ("i32", a)).to_vec())
            }
        };
        let flags = flags.into_iter().map(|flag| ("i32", flag.to_string()));
        let operands = flags.chain(sums.iter().map(|sum| (ty, sum.clone())));
        let rest = left.into_iter().chain([("i64", b), ("i32", add)]).map(|(ty, operand)| (ty, operand.to_owned()));
        self.simulate(operation, operands.chain(rest), &vec![ty; count])
    }

    /// Waits for all groups of products but the last ones; the sums are what they are then.
    pub(super) fn wgmma_wait(&mut self, factor: Factor, pending: u32, sums: &[String]) -> Vec<String> {
        let (count, ty) = (sums.len(), factor.sum().0);
        match self.runner {
            Runner::Driver => {
                let all = self.value(ptx::wgmma_wait(factor, pending, sums));
                self.parts(&all, &ptx::several(ty, count), count)
            }
            Runner::Simulator => {
                let numbers = [count.to_string(), pending.to_string()].into_iter().map(|n| ("i32", n));
                let operands = numbers.chain(sums.iter().map(|sum| (ty, sum.clone())));
                self.simulate(Operation::WgmmaWait, operands, &vec![ty; count])
            }
        }
    }

    /// Orders accesses to sums and to words of A before products; gives them as they are.
    pub(super) fn wgmma_fence(&mut self, sums: &mut Vec<String>, words: &mut Vec<String>) {
        if self.runner == Runner::Simulator {
            return self.run(&ptx::WGMMA_FENCE, &[]);
        }
        let all = self.value(ptx::wgmma_fence(sums, words));
        let types = [vec!["float"; sums.len()], vec!["i32"; words.len()]].concat();
        let mut parts = self.parts(&all, &format!("{{{}}}", types.join(", ")), types.len());
        *words = parts.split_off(sums.len());
        *sums = parts;
    }

    /// Asks the simulator.
    fn simulate(
        &mut self,
        operation: Operation,
        operands: impl Iterator<Item = (&'static str, String)>,
        results: &[&str],
    ) -> Vec<String> {
        self.declare("declare void @svod_sim_ptx(i32, ptr, ptr)");
        for (i, (ty, operand)) in operands.enumerate() {
            let to = self.value(format_args!("getelementptr i64, ptr %operands, i64 {i}"));
            self.line(format_args!("store {ty} {operand}, ptr {to}"));
        }
        self.line(format_args!("call void @svod_sim_ptx(i32 {}, ptr %operands, ptr %results)", operation as u32));
        let load = |(i, ty): (usize, &&str)| {
            let from = self.value(format_args!("getelementptr i32, ptr %results, i64 {i}"));
            self.value(format_args!("load {ty}, ptr {from}"))
        };
        results.iter().enumerate().map(load).collect()
    }

    /// The pointer to a variable.
    pub(super) fn pointer(slot: &Slot) -> &str {
        &slot.name
    }

    /// The parts of a struct.
    fn parts(&mut self, of: &str, ty: &str, count: usize) -> Vec<String> {
        (0..count).map(|i| self.value(format_args!("extractvalue {ty} {of}, {i}"))).collect()
    }

    /// What is done where a condition holds.
    pub fn when(&mut self, condition: impl Display, then: impl FnOnce(&mut Self)) {
        self.either(condition, then, |_| ());
    }

    /// One thing or the other.
    pub fn either(&mut self, condition: impl Display, yes: impl FnOnce(&mut Self), no: impl FnOnce(&mut Self)) {
        self.next += 1;
        let n = self.next;
        self.line(format_args!("br i1 {condition}, label %yes{n}, label %no{n}"));
        self.label(&format!("yes{n}"));
        yes(self);
        self.line(format_args!("br label %join{n}"));
        self.label(&format!("no{n}"));
        no(self);
        self.line(format_args!("br label %join{n}"));
        self.label(&format!("join{n}"));
    }

    /// A loop over unsigned numbers from `first` below `end`.
    pub fn repeat(
        &mut self,
        first: impl Display,
        end: impl Display,
        step: impl Display,
        each: impl FnOnce(&mut Self, &str),
    ) {
        let counter = self.slot("i32", first);
        let n = self.next;
        self.line(format_args!("br label %head{n}"));
        self.label(&format!("head{n}"));
        let i = self.get(&counter);
        let more = self.compare("ult", &i, end);
        self.line(format_args!("br i1 {more}, label %body{n}, label %done{n}"));
        self.label(&format!("body{n}"));
        each(self, &i);
        let next = self.add(&i, step);
        self.set(&counter, next);
        self.line(format_args!("br label %head{n}"));
        self.label(&format!("done{n}"));
    }

    /// What is done once, and again as long as it gives a condition that holds.
    pub fn again(&mut self, each: impl FnOnce(&mut Self) -> String) {
        self.next += 1;
        let n = self.next;
        self.line(format_args!("br label %again{n}"));
        self.label(&format!("again{n}"));
        let more = each(self);
        self.line(format_args!("br i1 {more}, label %again{n}, label %over{n}"));
        self.label(&format!("over{n}"));
    }

    /// The module, but for what an epilogue adds: a kernel of this name, its parameters and the annotations that it has.
    pub(super) fn module(&self, name: &str, parameters: &[String], annotations: &[String], maps: usize) -> String {
        let declarations: String = self.declarations.iter().map(|d| format!("{d}\n")).collect();
        if self.runner == Runner::Simulator {
            return self.simulated(name, parameters, &declarations);
        }
        let constants: Vec<String> = (1..=maps).map(|i| format!("i32 {i}")).collect();
        let constants = match maps {
            0 => String::new(),
            _ => format!("!901 = !{{ptr @{name}, !\"grid_constant\", !{{{}}}}}\n", constants.join(", ")),
        };
        let both = if maps == 0 { "" } else { ", !901" };
        format!(
            "@shared = external addrspace(3) global [0 x i8], align 1024\n\
             define ptx_kernel void @{name}({}) nounwind {{\nentry:\n{}{}  ret void\n}}\n{declarations}\
             attributes #9 = {{ convergent nounwind }}\n\
             !nvvm.annotations = !{{!900{both}}}\n!900 = !{{ptr @{name}, !\"kernel\", i32 1, {}}}\n{constants}",
            parameters.join(", "),
            self.slots,
            self.text,
            annotations.join(", "),
        )
    }

    /// The module for a simulator: a function that is given nothing and the parameters, 8 bytes each.
    fn simulated(&self, name: &str, parameters: &[String], declarations: &str) -> String {
        let mut loads = String::new();
        for (i, parameter) in parameters.iter().enumerate() {
            let mut words = parameter.split_whitespace();
            let (ty, name) = (words.next().unwrap_or_default(), words.next_back().unwrap_or_default());
            let _ = writeln!(loads, "  %from{i} = getelementptr i64, ptr %parameters, i64 {i}");
            let _ = writeln!(loads, "  {name} = load {ty}, ptr %from{i}");
        }
        let text = format!(
            "define void @{name}(ptr %buffers, ptr %parameters) nounwind {{\nentry:\n  %operands = alloca [160 x i64]\n  \
             %results = alloca [128 x i32]\n{}{loads}{}  ret void\n}}\n{declarations}",
            self.slots, self.text
        );
        text.replace(" addrspace(1)", "")
    }
}

/// LLVM's type of an element in memory.
pub(super) fn element_type(dtype: DType) -> &'static str {
    match dtype.bytes() {
        1 => "i8",
        2 => "i16",
        4 => "float",
        _ => "double",
    }
}

/// The address of an element, `at` from the start.
pub(super) fn element_of(body: &mut Body, dtype: DType, start: &str, at: &str) -> String {
    body.value(format_args!("getelementptr {}, ptr addrspace(1) {start}, i64 {at}", element_type(dtype)))
}
