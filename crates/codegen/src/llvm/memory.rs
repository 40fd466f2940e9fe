//! Loads and stores.

use super::spread::Access;
use super::{Function, base, constant, lanes_of, suffix, ty};
use super::{PREFETCH, Share, prefetch};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::linear::{Inst, Linear, Place, Ty, Val};
use svod_ir::target::Arch;

/// The LLVM type of an element in memory.
pub(super) fn element(dtype: DType) -> &'static str {
    if dtype == DType::Bool { "i8" } else { super::scalar(dtype) }
}

/// As it is in memory: a bool is a byte.
pub(super) fn stored(of: Ty) -> Ty {
    if of.dtype == DType::Bool { of.with(DType::U8) } else { of }
}

impl Function<'_> {
    pub(super) fn load(&mut self, v: Val, from: Place, at: Val, mask: Option<Val>, other: Const) -> String {
        let of = self.linear.ty(v);
        let (bytes, other) = (stored(of), Const::from_bits(stored(of).dtype, other.bits()));
        let value = match self.form.is_for_threads() {
            true => self.load_part(v, bytes, (from, at), mask, other),
            false => self.load_stored(bytes, from, at, mask, other),
        };
        match of.dtype {
            DType::Bool => self.temporary(format_args!("icmp ne {} {value}, zeroinitializer", ty(bytes))),
            _ => value,
        }
    }

    fn load_stored(&mut self, of: Ty, from: Place, at: Val, mask: Option<Val>, other: Const) -> String {
        let (whole, align, scope) = (ty(of), of.dtype.bytes(), self.scope(from));
        let pointer = self.pointer(from, at);
        let gathers = self.linear.ty(at).lanes > 1;
        let other = constant(of, other);
        match mask {
            None if !gathers => self.temporary(format_args!("load {whole}, ptr {pointer}, align {align}{scope}")),
            Some(mask) if !gathers && self.linear.ty(mask).lanes == 1 => {
                let mask = self.operand(mask);
                let pointer = self.safe_pointer(&mask, &pointer, of);
                let value = self.temporary(format_args!("load {whole}, ptr {pointer}, align {align}"));
                self.temporary(format_args!("select i1 {mask}, {whole} {value}, {whole} {other}"))
            }
            mask => {
                let mask = self.lane_mask(mask, of.lanes);
                let (pointers, kind) = self.vector_pointer(gathers, of.lanes);
                let kind = if gathers {
                    format!("gather.{}.{kind}", suffix(of))
                } else {
                    format!("load.{}.{kind}", suffix(of))
                };
                let masks = format!("<{} x i1>", of.lanes);
                self.declare(format!("{whole} @llvm.masked.{kind}({pointers}, i32, {masks}, {whole})"));
                self.temporary(format_args!(
                    "call {whole} @llvm.masked.{kind}({pointers} {pointer}, i32 {align}, {masks} {mask}, {whole} {other}){scope}"
                ))
            }
        }
    }

    pub(super) fn store(&mut self, to: Place, at: Val, value: Val, mask: Option<Val>) {
        let (of, width) = (self.linear.ty(value), self.whole(value));
        let (bytes, mut value) = (stored(of), self.operand(value));
        if of.dtype == DType::Bool {
            value = self.temporary(format_args!("zext {} {value} to {}", ty(of), ty(bytes)));
        }
        if self.form.is_for_threads() {
            self.before_store(to);
            let access = self.access(bytes, width, (to, at), mask);
            let mask = mask.map(|m| self.operand(m));
            return self.store_branching(bytes, &value, &access, mask.as_deref(), width);
        }
        let (of, whole, align, scope) = (bytes, ty(bytes), bytes.dtype.bytes(), self.scope(to));
        let pointer = self.pointer(to, at);
        let scatters = self.linear.ty(at).lanes > 1;
        match mask {
            None if !scatters && self.streams_to(to, of) => self.stream(of, &value, &pointer, &scope),
            None if !scatters => self.line(format_args!("store {whole} {value}, ptr {pointer}, align {align}{scope}")),
            Some(mask) if !scatters && self.linear.ty(mask).lanes == 1 => {
                let mask = self.operand(mask);
                let pointer = self.safe_pointer(&mask, &pointer, of);
                self.line(format_args!("store {whole} {value}, ptr {pointer}, align {align}"));
            }
            mask => {
                let mask = self.lane_mask(mask, of.lanes);
                let (pointers, kind) = self.vector_pointer(scatters, of.lanes);
                let verb = if scatters { "scatter" } else { "store" };
                let kind = format!("{verb}.{}.{kind}", suffix(of));
                let masks = format!("<{} x i1>", of.lanes);
                self.declare(format!("void @llvm.masked.{kind}({whole}, {pointers}, i32, {masks})"));
                self.line(format_args!(
                    "call void @llvm.masked.{kind}({whole} {value}, {pointers} {pointer}, i32 {align}, {masks} {mask}){scope}"
                ));
            }
        }
    }

    /// Whether a store of this type goes past the caches: vectors that are whole registers do.
    fn streams_to(&self, to: Place, of: Ty) -> bool {
        let bytes = of.dtype.bytes() * of.lanes as usize;
        let stream = matches!(to, Place::Param(p) if self.linear.params[p.index()].stream);
        stream && bytes.is_power_of_two() && (16..=self.target.vector_bytes.max(16)).contains(&bytes)
    }

    /// A store past the caches where the address is aligned, which the instructions for it demand.
    fn stream(&mut self, of: Ty, value: &str, pointer: &str, scope: &str) {
        let (whole, align, bytes) = (ty(of), of.dtype.bytes(), of.dtype.bytes() * of.lanes as usize);
        let [past, through, done] = [self.label(), self.label(), self.label()];
        let address = self.temporary(format_args!("ptrtoint ptr {pointer} to i64"));
        let low = self.temporary(format_args!("and i64 {address}, {}", bytes - 1));
        let aligned = self.temporary(format_args!("icmp eq i64 {low}, 0"));
        self.line(format_args!("br i1 {aligned}, label %{past}, label %{through}"));
        self.start_block(past);
        let hint = self.nontemporal();
        self.line(format_args!("store {whole} {value}, ptr {pointer}, align {bytes}{scope}, !nontemporal !{hint}"));
        self.line(format_args!("br label %{done}"));
        self.start_block(through);
        self.line(format_args!("store {whole} {value}, ptr {pointer}, align {align}{scope}"));
        self.line(format_args!("br label %{done}"));
        self.start_block(done);
        self.streams = true;
    }

    /// The fence that orders stores past the caches before later ones. Only x86 does not order them
    /// by what the task pool does between tasks.
    pub(super) fn fence(&mut self) -> &'static str {
        match self.target.arch {
            Arch::X86_64 => {
                self.declare("void @llvm.x86.sse.sfence()".into());
                "  call void @llvm.x86.sse.sfence()\n"
            }
            Arch::Aarch64 | Arch::Nvptx | Arch::Metal => "",
        }
    }

    /// Fetches a position into all levels of the cache.
    pub(super) fn prefetch(&mut self, from: Place, at: Val) {
        if self.form.is_for_threads() {
            return;
        }
        let pointer = self.pointer(from, at);
        self.declare(PREFETCH.into());
        self.line(format_args!("{}", prefetch(&pointer)));
    }

    fn vector_pointer(&self, vector: bool, lanes: u32) -> (String, String) {
        match vector {
            true => (lanes_of("ptr", lanes), format!("v{lanes}p0")),
            false => ("ptr".to_owned(), "p0".to_owned()),
        }
    }

    pub(super) fn scope(&self, place: Place) -> String {
        let n = match place {
            Place::Param(p) => p.index(),
            Place::Scratch(s) => self.linear.params.len() + s.index(),
        };
        self.scopes[n].clone()
    }

    pub(super) fn pointer(&mut self, place: Place, at: Val) -> String {
        let (element, at) = (element(self.dtype(place)), self.typed(at));
        self.temporary(format_args!("getelementptr {element}, ptr {}, {at}", base(place)))
    }

    /// The pointer, or one to a block of the stack where a scalar mask does not hold.
    fn safe_pointer(&mut self, mask: &str, pointer: &str, of: Ty) -> String {
        self.safe = self.safe.max(of.dtype.bytes() * of.lanes as usize);
        self.temporary(format_args!("select i1 {mask}, ptr {pointer}, ptr %safe"))
    }

    /// A mask as a vector.
    fn lane_mask(&mut self, mask: Option<Val>, lanes: u32) -> String {
        match mask {
            None => "splat (i1 true)".to_owned(),
            Some(mask) if self.linear.ty(mask).lanes == 1 && lanes > 1 => {
                let mask = self.typed(mask);
                self.splat(&mask, Ty { dtype: DType::Bool, lanes })
            }
            Some(mask) => self.operand(mask),
        }
    }
}

/// What the threads of a task have to wait for: memory that some of them write and others read.
#[derive(Debug, Default)]
pub(super) struct Hazards {
    /// Memories that are read and written.
    shared: Vec<Place>,
    /// Of these, what has been read and written since all threads were at one point.
    read: Vec<Place>,
    written: Vec<Place>,
    /// What each value is a multiple of in all of its lanes, if it is an index: a power of two.
    pub(super) multiples: Vec<u64>,
}

/// Elements at most that a thread accesses at once.
const WIDEST: usize = 16;
/// Multiples are not told apart from here on.
const MOST: u64 = 1 << 12;

impl Hazards {
    /// Those of a list that threads run; a task of a host waits for nobody.
    pub(super) fn of(linear: &Linear, share: Share) -> Hazards {
        let (mut read, mut written) = (Vec::new(), Vec::new());
        for inst in linear.insts.iter().filter(|_| share != Share::ALONE) {
            match inst {
                Inst::Load { from, .. } => note(&mut read, *from),
                Inst::Store { to, .. } => note(&mut written, *to),
                _ => {}
            }
        }
        let shared = written.into_iter().filter(|place| read.contains(place)).collect();
        Hazards { shared, multiples: multiples(linear), ..Hazards::default() }
    }
}

/// Adds one of the few memories of a list, once.
fn note(places: &mut Vec<Place>, place: Place) {
    if !places.contains(&place) {
        places.push(place);
    }
}

/// A power of two that each index is a multiple of, in all lanes.
fn multiples(linear: &Linear) -> Vec<u64> {
    let mut known: Vec<u64> = Vec::with_capacity(linear.values.len());
    for inst in linear.insts.iter().filter(|inst| inst.has_value()) {
        let multiple = match inst {
            Inst::Const(c) if c.dtype().is_int() || c.dtype() == DType::Index => {
                let n = c.as_i64();
                if n == 0 { MOST } else { 1 << n.trailing_zeros().min(12) }
            }
            Inst::Alu(op, args) => {
                let of: Vec<u64> = args.iter().map(|v| known[v.index()]).collect();
                match (op, &of[..]) {
                    (Alu::Mul, [a, b]) => a * b,
                    (Alu::Add | Alu::Sub | Alu::Max | Alu::Min, [a, b]) | (Alu::Where, [_, a, b]) => *a.min(b),
                    (Alu::MulAdd, [a, b, c]) => *c.min(&(a * b)),
                    _ => 1,
                }
            }
            Inst::Splat(v) | Inst::Cast(v) => known[v.index()],
            _ => 1,
        };
        known.push(multiple.min(MOST));
    }
    known
}

impl Function<'_> {
    /// A thread's part of a load.
    fn load_part(&mut self, v: Val, of: Ty, (from, at): (Place, Val), mask: Option<Val>, other: Const) -> String {
        self.before_load(from);
        let access = self.access(of, self.whole(v), (from, at), mask);
        let mask = mask.map(|m| self.operand(m));
        self.load_branching(of, &access, mask.as_deref(), other)
    }

    /// Where a thread's part of an access to `lanes` lanes is.
    fn access(&mut self, of: Ty, lanes: u32, (place, at): (Place, Val), mask: Option<Val>) -> Access {
        let gathers = self.whole(at) > 1;
        let mut pointer = if gathers { base(place) } else { self.pointer(place, at) };
        let multiple = self.hazards.multiples[at.index()];
        let bytes = of.dtype.bytes();
        if !gathers && self.is_spread(lanes) {
            let first = self.first_lane(lanes, "i64");
            let element = element(self.dtype(place));
            pointer = self.temporary(format_args!("getelementptr {element}, ptr {pointer}, i64 {first}"));
        }
        // A thread's part begins at a multiple of its lanes; single elements may lie beside others of other accesses.
        let most = if gathers { WIDEST } else { of.lanes as usize };
        let align = bytes * usize::try_from(multiple).unwrap_or(1).min(most);
        let align = align.min(self.align).max(bytes);
        let lane_masks = mask.is_some_and(|mask| self.whole(mask) > 1);
        let indices = gathers.then(|| self.typed(at));
        Access { pointer, indices, lane_masks, align, scope: self.scope(place) }
    }

    fn before_load(&mut self, from: Place) {
        if self.hazards.written.contains(&from) {
            self.settle();
        }
        if self.hazards.shared.contains(&from) {
            note(&mut self.hazards.read, from);
        }
    }

    fn before_store(&mut self, to: Place) {
        if self.hazards.read.contains(&to) {
            self.settle();
        }
        if self.hazards.shared.contains(&to) {
            note(&mut self.hazards.written, to);
        }
    }

    /// Waits for all threads of the task, if memory that they share has been accessed.
    pub(super) fn settle(&mut self) {
        if !(self.hazards.read.is_empty() && self.hazards.written.is_empty()) {
            self.hazards.read.clear();
            self.hazards.written.clear();
            self.wait();
        }
    }
}
