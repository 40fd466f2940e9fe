//! Vectors that the threads of a task share.
//!
//! Of a vector of `n` lanes, and `m` threads of which there are no more, thread `t` has lanes `t*n/m` and those after it,
//! as many as there are of `n/m`; of a shorter one, lane `t % n`, so that several threads have the same. What goes lane
//! by lane is done by each thread on its part. Here is what does not: numbers of lanes, single lanes, reductions. Warps
//! exchange values through memory that the block shares.
//!
//! Where a task is a thread, a part is all of the vector.

use super::operations::{Operation, SHARED};
use super::{Form, Function, Share, WARP, constant, scalar, ty};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::linear::{Ty, Val};

/// Lanes of bytes that LLVM 19 loads by one instruction for NVIDIA's GPUs, which needs them to be aligned, whatever is said of
/// their alignment.
const ALIGNED_BYTES: u32 = 16;

/// Bytes that a block shares for scalars of its warps.
pub(super) const SLOTS: u32 = 8 * WARP;

impl Function<'_> {
    /// Lanes of the whole vector.
    pub(super) fn whole(&self, v: Val) -> u32 {
        self.whole.ty(v).lanes
    }

    /// Whether threads have parts of a vector of so many lanes.
    pub(super) fn is_spread(&self, lanes: u32) -> bool {
        self.share != Share::ALONE && lanes > 1
    }

    pub(super) fn operate(&mut self, op: Operation, operands: &[&str]) -> String {
        self.declare(op.declaration(self.form));
        let call = op.call(self.form, operands);
        self.temporary(format_args!("{call}"))
    }

    /// All threads of the task see what any of them has written.
    pub(super) fn wait(&mut self) {
        let op = if self.share.threads > WARP { Operation::BlockSync } else { Operation::WarpSync };
        self.declare(op.declaration(self.form));
        let call = op.call(self.form, &[]);
        self.line(format_args!("{call}"));
    }

    /// The number of a thread's first lane, as an `i64` or another type of integers.
    pub(super) fn first_lane(&mut self, lanes: u32, integer: &str) -> String {
        let threads = self.share.threads;
        let lane = match lanes {
            n if n < threads => self.temporary(format_args!("and i32 %lane, {}", n - 1)),
            n if n == threads => "%lane".to_owned(),
            n => self.temporary(format_args!("mul i32 %lane, {}", n / threads)),
        };
        match integer {
            "i32" => lane,
            "i64" => self.temporary(format_args!("zext i32 {lane} to i64")),
            narrow => self.temporary(format_args!("trunc i32 {lane} to {narrow}")),
        }
    }

    /// 0, 1, 2 … in the lanes.
    pub(super) fn iota(&mut self, v: Val) -> String {
        let (of, whole) = (self.linear.ty(v), self.whole(v));
        if whole == 1 {
            return "0".to_owned();
        }
        let numbers: Vec<String> = (0..of.lanes).map(|i| format!("{} {i}", scalar(of.dtype))).collect();
        let numbers = if of.lanes == 1 { "0".to_owned() } else { format!("<{}>", numbers.join(", ")) };
        if !self.is_spread(whole) {
            return numbers;
        }
        let first = self.first_lane(whole, scalar(of.dtype));
        if of.lanes == 1 {
            return first;
        }
        let first = self.splat(&format!("{} {first}", scalar(of.dtype)), of);
        self.temporary(format_args!("add {} {first}, {numbers}", ty(of)))
    }

    /// One lane of a vector.
    pub(super) fn extract(&mut self, vector: Val, lane: u32) -> String {
        let (of, whole) = (self.linear.ty(vector), self.whole(vector));
        if !self.is_spread(whole) {
            let vector = self.typed(vector);
            return self.temporary(format_args!("extractelement {vector}, i64 {lane}"));
        }
        let part = of.lanes;
        let own = match part {
            1 => self.operand(vector),
            _ => {
                let vector = self.typed(vector);
                self.temporary(format_args!("extractelement {vector}, i64 {}", lane % part))
            }
        };
        let owner = lane / part;
        if self.share.threads <= WARP {
            return self.exchange(Operation::Shuffle, of.dtype, &own, &owner.to_string());
        }
        let place = self.shared_slot(of.dtype, "0");
        let own_lane = self.temporary(format_args!("icmp eq i32 %lane, {owner}"));
        let end = self.guard(Some(&own_lane));
        self.store_shared(of.dtype, &own, &place);
        self.close(end);
        self.wait();
        let value = self.load_shared(of.dtype, &place);
        self.wait();
        value
    }

    /// A vector with one lane replaced.
    pub(super) fn insert(&mut self, vector: Val, lane: u32, value: Val) -> String {
        let (of, whole) = (self.linear.ty(vector), self.whole(vector));
        if !self.is_spread(whole) {
            let (vector, value) = (self.typed(vector), self.typed(value));
            return self.temporary(format_args!("insertelement {vector}, {value}, i64 {lane}"));
        }
        let replaced = match of.lanes {
            1 => self.operand(value),
            part => {
                let (vector, value) = (self.typed(vector), self.typed(value));
                self.temporary(format_args!("insertelement {vector}, {value}, i64 {}", lane % part))
            }
        };
        let first = self.first_lane(whole, "i32");
        let own = self.temporary(format_args!("icmp eq i32 {first}, {}", lane - lane % of.lanes));
        let (whole, old) = (ty(of), self.typed(vector));
        self.temporary(format_args!("select i1 {own}, {whole} {replaced}, {old}"))
    }

    /// All lanes combined: those of each thread, halves first, then of threads of a warp, then of warps in order.
    pub(super) fn reduce_spread(&mut self, op: Alu, v: Val) -> String {
        let (of, whole) = (self.linear.ty(v), self.whole(v));
        let (own, one) = (self.operand(v), Ty { lanes: 1, ..of });
        let mut value = self.combine_lanes(op, of, own);
        let mut distance = whole.min(WARP) / 2;
        while distance > 0 {
            let other = self.exchange(Operation::ShuffleXor, of.dtype, &value, &distance.to_string());
            value = self.operation(op, one, &[&value, &other], &[None, None]);
            distance /= 2;
        }
        let warps = whole.min(self.share.threads) / WARP;
        if warps <= 1 {
            return value;
        }
        // Each warp has its value in all of its threads.
        let warp = self.temporary(format_args!("lshr i32 %lane, {}", WARP.ilog2()));
        let place = self.shared_slot(of.dtype, &warp);
        self.store_shared(of.dtype, &value, &place);
        self.wait();
        // Several groups of warps have the same lanes where there are fewer lanes than threads.
        let mut parts: Vec<String> = Vec::new();
        for n in 0..warps {
            let place = self.shared_slot(of.dtype, &n.to_string());
            parts.push(self.load_shared(of.dtype, &place));
        }
        self.wait();
        while parts.len() > 1 {
            let half = parts.len() / 2;
            parts = (0..half).map(|n| self.operation(op, one, &[&parts[n], &parts[n + half]], &[None, None])).collect();
        }
        parts.swap_remove(0)
    }

    /// The pointer to a scalar of the memory that the block shares.
    pub(super) fn shared_slot(&mut self, dtype: DType, n: &str) -> String {
        self.shared = self.shared.max(SLOTS);
        const SLOT: u32 = SLOTS / WARP;
        let element = if dtype == DType::Bool { "i8" } else { scalar(dtype) };
        let step = SLOT as usize / dtype.bytes();
        let at = self.temporary(format_args!("mul i32 {n}, {step}"));
        match self.form {
            Form::Simulated => {
                let base = self.temporary(format_args!("call ptr @svod_sim_shared()"));
                self.temporary(format_args!("getelementptr {element}, ptr {base}, i32 {at}"))
            }
            _ => self.temporary(format_args!("getelementptr {element}, ptr addrspace(3) {SHARED}, i32 {at}")),
        }
    }

    pub(super) fn shared_pointer(&self) -> &'static str {
        if self.form == Form::Simulated { "ptr" } else { "ptr addrspace(3)" }
    }

    pub(super) fn store_shared(&mut self, dtype: DType, value: &str, place: &str) {
        let (pointer, align) = (self.shared_pointer(), dtype.bytes());
        if dtype == DType::Bool {
            let byte = self.temporary(format_args!("zext i1 {value} to i8"));
            return self.line(format_args!("store i8 {byte}, {pointer} {place}, align 1"));
        }
        self.line(format_args!("store {} {value}, {pointer} {place}, align {align}", scalar(dtype)));
    }

    pub(super) fn load_shared(&mut self, dtype: DType, place: &str) -> String {
        let (pointer, align) = (self.shared_pointer(), dtype.bytes());
        if dtype == DType::Bool {
            let byte = self.temporary(format_args!("load i8, {pointer} {place}, align 1"));
            return self.temporary(format_args!("icmp ne i8 {byte}, 0"));
        }
        self.temporary(format_args!("load {}, {pointer} {place}, align {align}", scalar(dtype)))
    }

    /// A scalar of another thread, in words of 32 bits.
    pub(super) fn exchange(&mut self, op: Operation, dtype: DType, value: &str, of: &str) -> String {
        let (element, bits) = (scalar(dtype), if dtype == DType::Bool { 1 } else { dtype.bits() });
        let float = matches!(dtype, DType::F32 | DType::F64);
        let integer = format!("i{bits}");
        let word = match float {
            true => self.temporary(format_args!("bitcast {element} {value} to {integer}")),
            false => value.to_owned(),
        };
        let got = match bits {
            64 => {
                let low = self.temporary(format_args!("trunc i64 {word} to i32"));
                let high = self.temporary(format_args!("lshr i64 {word}, 32"));
                let high = self.temporary(format_args!("trunc i64 {high} to i32"));
                let [low, high] = [low, high].map(|half| {
                    let got = self.operate(op, &[&half, of]);
                    self.temporary(format_args!("zext i32 {got} to i64"))
                });
                let high = self.temporary(format_args!("shl i64 {high}, 32"));
                self.temporary(format_args!("or i64 {high}, {low}"))
            }
            32 => self.operate(op, &[&word, of]),
            _ => {
                let wide = self.temporary(format_args!("zext {integer} {word} to i32"));
                let got = self.operate(op, &[&wide, of]);
                self.temporary(format_args!("trunc i32 {got} to {integer}"))
            }
        };
        if float { self.temporary(format_args!("bitcast {integer} {got} to {element}")) } else { got }
    }

    /// Opens a block that runs where a thread is the first of those that have the same lanes; gives the block after it.
    pub(super) fn once(&mut self, lanes: u32) -> Option<String> {
        if lanes >= self.share.threads {
            return None;
        }
        let first = self.temporary(format_args!("icmp ult i32 %lane, {lanes}"));
        self.guard(Some(&first))
    }

    /// Closes a block that [`Function::once`] or [`Function::guard`] opened.
    pub(super) fn close(&mut self, end: Option<String>) {
        if let Some(end) = end {
            self.line(format_args!("br label %{end}"));
            self.start_block(end);
        }
    }

    /// A load where a mask holds, else `other`.
    pub(super) fn load_branching(&mut self, of: Ty, access: &Access, mask: Option<&str>, other: Const) -> String {
        let Some(mask) = mask.filter(|_| access.lane_masks) else {
            return self.guarded(mask, of, constant(of, other), |f| match access.gathers() {
                true => f.load_each(of, access, None, other),
                false => f.load_whole(of, access),
            });
        };
        if access.gathers() || of.lanes == 1 {
            return self.load_each(of, access, Some(mask), other);
        }
        // Mostly all lanes of a thread are inside.
        let all = self.combine_lanes(Alu::And, of.with(DType::Bool), mask.to_owned());
        let [fast, slow, done] = [self.label(), self.label(), self.label()];
        self.line(format_args!("br i1 {all}, label %{fast}, label %{slow}"));
        self.start_block(fast);
        let inside = self.load_whole(of, access);
        let from_fast = self.block.clone();
        self.line(format_args!("br label %{done}"));
        self.start_block(slow);
        let some = self.load_each(of, access, Some(mask), other);
        let from_slow = self.block.clone();
        self.line(format_args!("br label %{done}"));
        self.start_block(done);
        self.temporary(format_args!("phi {} [ {inside}, %{from_fast} ], [ {some}, %{from_slow} ]", ty(of)))
    }

    /// What `make` makes where a mask holds, else something else.
    pub(super) fn guarded(
        &mut self,
        mask: Option<&str>,
        of: Ty,
        other: String,
        make: impl FnOnce(&mut Self) -> String,
    ) -> String {
        let Some(mask) = mask else { return make(self) };
        let (then, end) = (self.label(), self.label());
        let before = self.block.clone();
        self.line(format_args!("br i1 {mask}, label %{then}, label %{end}"));
        self.start_block(then);
        let value = make(self);
        let from = self.block.clone();
        self.line(format_args!("br label %{end}"));
        self.start_block(end);
        self.temporary(format_args!("phi {} [ {value}, %{from} ], [ {other}, %{before} ]", ty(of)))
    }

    fn load_whole(&mut self, of: Ty, access: &Access) -> String {
        let Access { pointer, align, scope, .. } = access;
        if of.dtype.bytes() > 1 || of.lanes < ALIGNED_BYTES || *align >= ALIGNED_BYTES as usize {
            return self.temporary(format_args!("load {}, ptr {pointer}, align {align}{scope}", ty(of)));
        }
        let (part, align) = (Ty { lanes: ALIGNED_BYTES / 2, ..of }, *align.min(&(ALIGNED_BYTES as usize / 2)));
        let mut parts: Vec<String> = (0..of.lanes)
            .step_by(part.lanes as usize)
            .map(|lane| {
                let at = self.temporary(format_args!("getelementptr i8, ptr {pointer}, i64 {lane}"));
                self.temporary(format_args!("load {}, ptr {at}, align {align}{scope}", ty(part)))
            })
            .collect();
        let mut lanes = part.lanes;
        while parts.len() > 1 {
            let order: Vec<String> = (0..2 * lanes).map(|lane| format!("i32 {lane}")).collect();
            let half = ty(Ty { lanes, ..of });
            parts = parts
                .chunks(2)
                .map(|two| {
                    let order = format!("<{} x i32> <{}>", 2 * lanes, order.join(", "));
                    self.temporary(format_args!("shufflevector {half} {}, {half} {}, {order}", two[0], two[1]))
                })
                .collect();
            lanes *= 2;
        }
        parts.remove(0)
    }

    /// The pointer to one lane.
    fn lane_pointer(&mut self, of: Ty, access: &Access, lane: u32) -> String {
        let (pointer, element) = (&access.pointer, scalar(of.dtype));
        let at = match &access.indices {
            None if of.lanes == 1 => return pointer.clone(),
            None => format!("i64 {lane}"),
            Some(index) if of.lanes == 1 => index.clone(),
            Some(indices) => {
                let index = self.temporary(format_args!("extractelement {indices}, i64 {lane}"));
                format!("i64 {index}")
            }
        };
        self.temporary(format_args!("getelementptr {element}, ptr {pointer}, {at}"))
    }

    fn lane_mask_of(&mut self, of: Ty, mask: Option<&str>, lane: u32) -> Option<String> {
        Some(match (mask?, of.lanes) {
            (mask, 1) => mask.to_owned(),
            (mask, lanes) => self.temporary(format_args!("extractelement <{lanes} x i1> {mask}, i64 {lane}")),
        })
    }

    fn load_each(&mut self, of: Ty, access: &Access, mask: Option<&str>, other: Const) -> String {
        let one = Ty { lanes: 1, ..of };
        let align = if access.gathers() { access.align } else { of.dtype.bytes() };
        let (whole, element) = (ty(of), scalar(of.dtype));
        let mut all = "poison".to_owned();
        for lane in 0..of.lanes {
            let mask = self.lane_mask_of(of, mask, lane);
            let pointer = self.lane_pointer(of, access, lane);
            let scope = access.scope.clone();
            let value = self.guarded(mask.as_deref(), one, constant(one, other), |f| {
                f.temporary(format_args!("load {element}, ptr {pointer}, align {align}{scope}"))
            });
            if of.lanes == 1 {
                return value;
            }
            all = self.temporary(format_args!("insertelement {whole} {all}, {element} {value}, i64 {lane}"));
        }
        all
    }

    /// A block that runs where a mask holds; gives the block after it.
    pub(super) fn guard(&mut self, mask: Option<&str>) -> Option<String> {
        let mask = mask?;
        let (then, end) = (self.label(), self.label());
        self.line(format_args!("br i1 {mask}, label %{then}, label %{end}"));
        self.start_block(then);
        Some(end)
    }

    /// A store where a mask holds.
    pub(super) fn store_branching(&mut self, of: Ty, value: &str, access: &Access, mask: Option<&str>, lanes: u32) {
        let once = self.once(lanes);
        if !access.lane_masks {
            let end = self.guard(mask);
            match access.gathers() {
                true => self.store_each(of, value, access, None),
                false => self.store_part(of, value, access),
            }
            self.close(end);
        } else if access.gathers() || of.lanes == 1 {
            self.store_each(of, value, access, mask);
        } else {
            let mask = mask.unwrap_or_default();
            let all = self.combine_lanes(Alu::And, of.with(DType::Bool), mask.to_owned());
            let [fast, slow, done] = [self.label(), self.label(), self.label()];
            self.line(format_args!("br i1 {all}, label %{fast}, label %{slow}"));
            self.start_block(fast);
            self.store_part(of, value, access);
            self.line(format_args!("br label %{done}"));
            self.start_block(slow);
            self.store_each(of, value, access, Some(mask));
            self.line(format_args!("br label %{done}"));
            self.start_block(done);
        }
        self.close(once);
    }

    fn store_part(&mut self, of: Ty, value: &str, access: &Access) {
        let Access { pointer, align, scope, .. } = access;
        self.line(format_args!("store {} {value}, ptr {pointer}, align {align}{scope}", ty(of)));
    }

    fn store_each(&mut self, of: Ty, value: &str, access: &Access, mask: Option<&str>) {
        let (element, align, scope) = (scalar(of.dtype), of.dtype.bytes(), &access.scope);
        for lane in 0..of.lanes {
            let mask = self.lane_mask_of(of, mask, lane);
            let pointer = self.lane_pointer(of, access, lane);
            let one = match of.lanes {
                1 => value.to_owned(),
                _ => self.temporary(format_args!("extractelement {} {value}, i64 {lane}", ty(of))),
            };
            let end = self.guard(mask.as_deref());
            self.line(format_args!("store {element} {one}, ptr {pointer}, align {align}{scope}"));
            self.close(end);
        }
    }
}

/// Where a thread's part of a vector is in memory.
pub(super) struct Access {
    /// The pointer to the first lane, or, of a gather or scatter, to the memory.
    pub pointer: String,
    /// Where each lane is, of a gather or scatter: a vector of elements, with its type.
    pub indices: Option<String>,
    /// Whether lanes have masks of their own.
    pub lane_masks: bool,
    /// What the pointer is a multiple of, in bytes.
    pub align: usize,
    /// Metadata of the access.
    pub scope: String,
}

impl Access {
    /// Whether lanes lie anywhere.
    fn gathers(&self) -> bool {
        self.indices.is_some()
    }
}
