//! Loads and stores.

use super::{Function, base, constant, lanes_of, suffix, ty};
use super::{PREFETCH, prefetch};
use svod_dtype::{Const, DType};
use svod_ir::linear::{Place, Ty, Val};
use svod_ir::target::Arch;

/// The LLVM type of an element in memory.
pub(super) fn element(dtype: DType) -> &'static str {
    if dtype == DType::Bool { "i8" } else { super::scalar(dtype) }
}

/// As it is in memory: a bool is a byte.
fn stored(of: Ty) -> Ty {
    if of.dtype == DType::Bool { of.with(DType::U8) } else { of }
}

impl Function<'_> {
    pub(super) fn load(&mut self, of: Ty, from: Place, at: Val, mask: Option<Val>, other: Const) -> String {
        let bytes = stored(of);
        let value = self.load_stored(bytes, from, at, mask, Const::from_bits(bytes.dtype, other.bits()));
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
        let of = self.linear.ty(value);
        let (bytes, mut value) = (stored(of), self.operand(value));
        if of.dtype == DType::Bool {
            value = self.temporary(format_args!("zext {} {value} to {}", ty(of), ty(bytes)));
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

    fn scope(&self, place: Place) -> String {
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
