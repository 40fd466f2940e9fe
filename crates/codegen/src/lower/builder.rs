//! Builds a linear list with common subexpressions shared and invariants hoisted as it goes.
//!
//! Code is collected per open scope. A pure instruction goes to the outermost scope in which its
//! operands exist, at that scope's current end, which is before the loop that is being built. A
//! load goes no further out than the first loop that writes its memory, that may run no time at
//! all, or the first conditional. Inner scopes see the values of outer ones, so equal instructions
//! are one.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::linear::{Block, BlockId, Inst, Linear, Place, Slot, Ty, Val};
use svod_ir::pass::visit;

/// A list under construction.
pub(super) struct Builder {
    scopes: Vec<Scope>,
    values: Vec<Value>,
    slots: Vec<Ty>,
    slot_versions: Vec<u32>,
    versions: FxHashMap<Place, u32>,
    blocks: Vec<Block>,
}

struct Value {
    ty: Ty,
    /// The scope that defines it.
    level: usize,
    inst: Inst,
}

struct Scope {
    code: Vec<(Option<Val>, Inst)>,
    memo: FxHashMap<(Inst, Ty, u32), Val>,
    kind: Kind,
    places: Vec<Place>,
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Root,
    /// A range; whether it runs at least once.
    Range(bool),
    If,
}

impl Scope {
    fn new(kind: Kind, places: Vec<Place>, slots: Vec<Slot>) -> Self {
        Scope { code: Vec::new(), memo: FxHashMap::default(), kind, places, slots }
    }
}

impl Builder {
    pub fn new() -> Self {
        let scopes = vec![Scope::new(Kind::Root, Vec::new(), Vec::new())];
        let (slots, slot_versions) = (Vec::new(), Vec::new());
        Builder { scopes, values: Vec::new(), slots, slot_versions, versions: FxHashMap::default(), blocks: Vec::new() }
    }

    pub fn ty(&self, v: Val) -> Ty {
        self.values[v.index()].ty
    }

    /// How many loops and conditionals are around the definition of a value.
    pub fn level(&self, v: Val) -> usize {
        self.values[v.index()].level
    }

    /// The constant that a value is in every lane.
    pub fn as_const(&self, v: Val) -> Option<Const> {
        match &self.values[v.index()].inst {
            Inst::Const(c) => Some(*c),
            Inst::Splat(v) => self.as_const(*v),
            _ => None,
        }
    }

    /// The scalar whose splat a value is.
    pub fn as_splat(&self, v: Val) -> Option<Val> {
        match self.values[v.index()].inst {
            Inst::Splat(v) => Some(v),
            _ => None,
        }
    }

    fn innermost(&self) -> usize {
        self.scopes.len() - 1
    }

    fn define(&mut self, level: usize, ty: Ty, inst: Inst) -> Val {
        let v = Val(self.values.len() as u32);
        self.values.push(Value { ty, level, inst: inst.clone() });
        self.scopes[level].code.push((Some(v), inst));
        v
    }

    fn shared(&mut self, level: usize, ty: Ty, inst: Inst, version: u32) -> Val {
        visit(1);
        let key = (inst, ty, version);
        if let Some(v) = self.scopes.iter().rev().find_map(|s| s.memo.get(&key)) {
            return *v;
        }
        let v = self.define(level, ty, key.0.clone());
        self.scopes[level].memo.insert(key, v);
        v
    }

    /// A pure instruction, in the outermost scope that has its operands.
    pub fn pure(&mut self, ty: Ty, inst: Inst) -> Val {
        let operands = inst.operands();
        let mut level = operands.iter().map(|v| self.level(*v)).max().unwrap_or(0);
        if !is_cheap(&inst, ty) {
            let conditional = self.scopes.iter().rposition(|s| s.kind == Kind::If);
            level = level.max(conditional.unwrap_or(0));
        }
        self.shared(level, ty, inst, 0)
    }

    pub fn constant(&mut self, c: Const) -> Val {
        self.pure(Ty::scalar(c.dtype()), Inst::Const(c))
    }

    pub fn constant_of(&mut self, ty: Ty, c: Const) -> Val {
        self.pure(ty, Inst::Const(c))
    }

    pub fn index(&mut self, value: i64) -> Val {
        self.constant(Const::i64(DType::Index, value))
    }

    /// A value with this many lanes: a scalar is repeated.
    pub fn widen(&mut self, v: Val, lanes: u32) -> Val {
        let ty = self.ty(v);
        if ty.lanes == lanes {
            return v;
        }
        let ty = Ty { lanes, ..ty };
        match self.as_const(v) {
            Some(c) => self.constant_of(ty, c),
            None => self.pure(ty, Inst::Splat(v)),
        }
    }

    /// An operation of the table on operands of equal lanes (or scalars, which are repeated).
    /// Operands' types must be such as [`Alu::result`] allows.
    pub fn alu(&mut self, op: Alu, args: &[Val]) -> Val {
        let lanes = args.iter().map(|v| self.ty(*v).lanes).max().unwrap_or(1);
        let dtypes: SmallVec<[DType; 3]> = args.iter().map(|v| self.ty(*v).dtype).collect();
        let dtype = op.result(&dtypes).expect("the expression pool checked the operand types");
        let ty = Ty { dtype, lanes };
        if let Some(simple) = self.simplify(op, args, ty) {
            return simple;
        }
        let free = usize::from(op == Alu::Where && self.ty(args[0]).lanes == 1);
        let mut args: SmallVec<[Val; 3]> = args.into();
        for arg in &mut args[free..] {
            *arg = self.widen(*arg, lanes);
        }
        self.pure(ty, Inst::Alu(op, args))
    }

    fn simplify(&mut self, op: Alu, args: &[Val], ty: Ty) -> Option<Val> {
        let consts: SmallVec<[Option<Const>; 3]> = args.iter().map(|v| self.as_const(*v)).collect();
        if let Some(all) = consts.iter().copied().collect::<Option<SmallVec<[Const; 3]>>>()
            && let Some(c) = op.eval(&all)
        {
            return Some(self.constant_of(ty, c));
        }
        let is = |n: usize, value: i64| consts[n].is_some_and(|c| c == Const::i64(c.dtype(), value));
        let exact = !ty.dtype.is_float();
        let kept = match op {
            Alu::Add | Alu::Or | Alu::Xor if exact && is(0, 0) => 1,
            Alu::Add | Alu::Sub | Alu::Or | Alu::Xor | Alu::Shl | Alu::Shr if exact && is(1, 0) => 0,
            Alu::Mul if exact && is(0, 1) => 1,
            Alu::Mul | Alu::IDiv | Alu::FloorDiv if exact && is(1, 1) => 0,
            Alu::And if ty.dtype == DType::Bool && is(0, 1) => 1,
            Alu::And if ty.dtype == DType::Bool && is(1, 1) => 0,
            Alu::Mul | Alu::And if exact && is(0, 0) => 0,
            Alu::Mul | Alu::And if exact && is(1, 0) => 1,
            Alu::Where if consts[0].is_some() => {
                if is(0, 1) {
                    1
                } else {
                    2
                }
            }
            Alu::Where if args[1] == args[2] => 1,
            _ => return None,
        };
        Some(self.widen(args[kept], ty.lanes))
    }

    /// A conversion; the same value where it has the type already. Must not be between narrow
    /// floats and anything but `f32`.
    pub fn cast(&mut self, to: DType, v: Val) -> Val {
        let ty = self.ty(v);
        if ty.dtype == to {
            return v;
        }
        match (self.as_const(v), self.as_splat(v)) {
            (Some(c), _) => self.constant_of(ty.with(to), c.cast(to)),
            (_, Some(scalar)) => {
                let scalar = self.cast(to, scalar);
                self.widen(scalar, ty.lanes)
            }
            _ => self.pure(ty.with(to), Inst::Cast(v)),
        }
    }

    pub fn bitcast(&mut self, to: DType, v: Val) -> Val {
        let ty = self.ty(v);
        match self.as_const(v) {
            _ if ty.dtype == to => v,
            Some(c) => self.constant_of(ty.with(to), Const::from_bits(to, c.bits())),
            None => self.pure(ty.with(to), Inst::Bitcast(v)),
        }
    }

    pub fn extract(&mut self, v: Val, lane: u32) -> Val {
        let scalar = Ty::scalar(self.ty(v).dtype);
        match &self.values[v.index()].inst {
            _ if self.ty(v).lanes == 1 => v,
            Inst::Splat(v) => *v,
            Inst::Vector(args) => args[lane as usize],
            Inst::Const(c) => {
                let c = *c;
                self.constant(c)
            }
            _ => self.pure(scalar, Inst::Extract(v, lane)),
        }
    }

    pub fn reduce(&mut self, op: Alu, v: Val) -> Val {
        let ty = self.ty(v);
        if ty.lanes == 1 { v } else { self.pure(Ty::scalar(ty.dtype), Inst::Reduce(op, v)) }
    }

    /// Whether a scalar or any lane of a vector holds.
    pub fn any(&mut self, mask: Val) -> Val {
        let ty = self.ty(mask);
        if ty.lanes.is_power_of_two() {
            return self.reduce(Alu::Or, mask);
        }
        // Combined as a tree of halves, of which there are as many lanes.
        let none = self.constant_of(ty, Const::bool(false));
        let lanes = ty.lanes.next_power_of_two();
        let padded = self.pure(Ty { lanes, ..ty }, Inst::Shuffle(mask, none, (0..lanes).collect()));
        self.reduce(Alu::Or, padded)
    }

    pub fn load(&mut self, ty: Ty, from: Place, at: Val, mask: Option<Val>, other: Const) -> Val {
        let inst = Inst::Load { from, at, mask, other };
        let mut level = inst.operands().iter().map(|v| self.level(*v)).max().unwrap_or(0);
        let stays = |s: &Scope| match s.kind {
            Kind::Root => false,
            Kind::If => true,
            Kind::Range(runs) => !runs || s.places.contains(&from),
        };
        level = level.max(self.scopes.iter().rposition(stays).unwrap_or(0));
        let version = self.versions.get(&from).copied().unwrap_or(0);
        self.shared(level, ty, inst, version)
    }

    pub fn store(&mut self, to: Place, at: Val, value: Val, mask: Option<Val>) {
        let level = self.innermost();
        if mask.is_none() {
            self.forget_store(to, at, self.ty(value));
        }
        self.effect(Inst::Store { to, at, value, mask });
        self.written(to);
        let ty = self.ty(value);
        if mask.is_none() && self.ty(at).lanes == 1 {
            // What was written is what is read next.
            let load = Inst::Load { from: to, at, mask: None, other: Const::zero(ty.dtype) };
            self.scopes[level].memo.insert((load, ty, self.versions[&to]), value);
        }
    }

    /// Drops the last store of the innermost scope, if it is to the same elements and nothing has read
    /// them since.
    fn forget_store(&mut self, to: Place, at: Val, ty: Ty) {
        let level = self.innermost();
        let reads = |inst: &Inst| matches!(inst, Inst::Load { from, .. } if *from == to);
        let code = &self.scopes[level].code;
        let last = code.iter().rposition(|(v, inst)| v.is_none() || reads(inst));
        let Some(last) = last else { return };
        let same = match &code[last].1 {
            Inst::Store { to: t, at: a, value, mask: None } => (*t, *a, self.ty(*value)) == (to, at, ty),
            _ => false,
        };
        if same {
            self.scopes[level].code.remove(last);
        }
    }

    /// Notes a write that an instruction makes besides.
    pub fn written(&mut self, place: Place) {
        *self.versions.entry(place).or_default() += 1;
    }

    /// How many loops and conditionals are open.
    pub fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Bytes of all blocks.
    pub fn bytes_of_blocks(&self) -> u32 {
        self.blocks.iter().map(Block::bytes).sum()
    }

    /// A block, which is to be copied before its columns are read.
    pub fn block(&mut self, block: Block) -> BlockId {
        self.blocks.push(block);
        BlockId(self.blocks.len() as u32 - 1)
    }

    /// A column of a block that has been copied in the innermost scope.
    pub fn column(&mut self, block: BlockId, n: u32) -> Val {
        let (level, Block { dtype, rows, .. }) = (self.innermost(), self.blocks[block.index()]);
        self.shared(level, Ty { dtype, lanes: rows }, Inst::Column(block, n), 0)
    }

    pub fn slot(&mut self, ty: Ty) -> Slot {
        self.slots.push(ty);
        self.slot_versions.push(0);
        Slot(self.slots.len() as u32 - 1)
    }

    pub fn read(&mut self, slot: Slot) -> Val {
        let (level, version) = (self.innermost(), self.slot_versions[slot.index()]);
        self.shared(level, self.slots[slot.index()], Inst::Read(slot), version)
    }

    pub fn write(&mut self, slot: Slot, v: Val) {
        self.effect(Inst::Write(slot, v));
        self.slot_versions[slot.index()] += 1;
        // What was written is what is read next.
        let key = (Inst::Read(slot), self.slots[slot.index()], self.slot_versions[slot.index()]);
        let level = self.innermost();
        self.scopes[level].memo.insert(key, v);
    }

    /// An instruction without a value, at the end of the innermost scope.
    pub fn effect(&mut self, inst: Inst) {
        let level = self.innermost();
        self.scopes[level].code.push((None, inst));
    }

    /// Opens a loop, given what its body writes and whether it runs at least once; the counter.
    pub fn range(&mut self, extent: Val, places: Vec<Place>, slots: Vec<Slot>, runs: bool) -> Val {
        self.open(Scope::new(Kind::Range(runs), places, slots));
        let level = self.innermost();
        self.define(level, Ty::scalar(DType::Index), Inst::Range(extent))
    }

    /// Opens a conditional, given what its body writes.
    pub fn condition(&mut self, cond: Val, places: Vec<Place>, slots: Vec<Slot>) {
        self.open(Scope::new(Kind::If, places, slots));
        self.effect(Inst::If(cond));
    }

    fn open(&mut self, scope: Scope) {
        self.touch(&scope);
        self.scopes.push(scope);
    }

    fn touch(&mut self, scope: &Scope) {
        for place in &scope.places {
            *self.versions.entry(*place).or_default() += 1;
        }
        for slot in &scope.slots {
            self.slot_versions[slot.index()] += 1;
        }
    }

    /// Closes the innermost loop or conditional.
    pub fn close(&mut self) {
        let scope = self.scopes.pop().expect("as many scopes are closed as were opened");
        self.touch(&scope);
        let level = self.innermost();
        let end = if scope.kind == Kind::If { Inst::EndIf } else { Inst::EndRange };
        let outer = &mut self.scopes[level].code;
        outer.extend(scope.code);
        outer.push((None, end));
    }

    /// The finished list, without what nothing uses, and its values numbered in order.
    pub fn finish(mut self, mut linear: Linear) -> Linear {
        let code = self.scopes.swap_remove(0).code;
        let mut used = vec![false; self.values.len()];
        let mut kept = vec![true; code.len()];
        for (n, (v, inst)) in code.iter().enumerate().rev() {
            let dead = |v: &Val| !used[v.index()] && !matches!(inst, Inst::Range(_));
            kept[n] = !v.as_ref().is_some_and(dead);
            if kept[n] {
                inst.operands().iter().for_each(|v| used[v.index()] = true);
            }
        }
        let mut names = vec![Val(0); self.values.len()];
        for ((v, mut inst), _) in code.into_iter().zip(kept).filter(|(_, kept)| *kept) {
            inst.for_each_operand(&mut |v| *v = names[v.index()]);
            if let Some(v) = v {
                names[v.index()] = Val(linear.values.len() as u32);
                linear.values.push(self.values[v.index()].ty);
            }
            linear.insts.push(inst);
        }
        linear.slots = self.slots;
        linear.blocks = self.blocks;
        linear
    }
}

/// Whether an instruction may run where its value turns out not to be needed.
fn is_cheap(inst: &Inst, ty: Ty) -> bool {
    match inst {
        Inst::Alu(op, _) => {
            ty.lanes == 1
                && ty.dtype == DType::Index
                && !matches!(op, Alu::IDiv | Alu::Rem | Alu::FloorDiv | Alu::FloorMod)
        }
        Inst::Const(_) | Inst::Var(_) | Inst::Special(..) | Inst::Iota | Inst::Splat(_) => true,
        _ => false,
    }
}
