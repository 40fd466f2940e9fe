//! Memories of a phase: addresses, loads and stores, temporaries that are accumulators.

use super::LowerError;
use super::Lowering;
use super::builder::Builder;
use smallvec::SmallVec;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem, ParamId, TempId};
use svod_ir::linear::{Inst, Linear, Place, Scratch, ScratchId, Slot, Ty, Val};
use svod_ir::lowered::{Home, LoopKind, Lowered, Phase, Stmt, Temp};
use svod_ir::size::{Size, Variable};
use svod_ir::target::{Arch, Target};

/// A buffer argument or temporary.
pub(super) enum Memory {
    /// Elements in memory, row-major.
    Flat { place: Place, strides: Vec<Size> },
    /// Accumulators: rows of the last dimension, in chunks of `width` lanes, one after the other.
    Register { slots: Vec<Slot>, shape: Vec<i64>, width: u32 },
}

/// The positions that an access has in the lanes of the vector loop.
enum At {
    /// The same one in all lanes.
    Uniform(Val),
    /// Consecutive ones.
    Contiguous(Val),
    /// Ones at a distance.
    Strided(Val, Val),
    /// As `Strided`, and a loop that is laid out visits as many consecutive positions of each lane as
    /// there are lanes: where it starts, the distance between lanes, and which of the positions this is.
    Block(Val, Val, u32),
    /// Others.
    Each(Val),
}

impl Memory {
    pub fn params(lowered: &Lowered) -> Vec<Memory> {
        let params = lowered.params.iter().enumerate();
        params.map(|(n, p)| Memory::flat(Place::Param(ParamId(n as u32)), &p.shape)).collect()
    }

    /// The temporaries of a phase, declared in the list.
    pub fn temps(
        phase: &Phase,
        b: &mut Builder,
        linear: &mut Linear,
        target: &Target,
    ) -> Result<Vec<Memory>, LowerError> {
        let mut memories = Vec::new();
        let widths = widths(phase);
        let in_registers = if target.groups.is_some() { laid_out(phase) } else { vec![false; phase.temps.len()] };
        for (n, temp) in phase.temps.iter().enumerate() {
            let unbounded = || LowerError::Unbounded(temp.name.clone());
            let shape: Option<Vec<i64>> = temp.shape.iter().map(|s| s.upper_bound().map(|n| n.max(0))).collect();
            let shape = shape.ok_or_else(unbounded)?;
            if temp.home == Home::Scratch && !in_registers[n] {
                let len = shape.iter().try_fold(1u64, |len, n| len.checked_mul(*n as u64)).ok_or_else(unbounded)?;
                let offset = linear.scratch_bytes().next_multiple_of(64);
                let place = Place::Scratch(ScratchId(linear.scratch.len() as u32));
                linear.scratch.push(Scratch { dtype: temp.dtype, len, offset });
                memories.push(Memory::flat(place, &temp.shape));
                continue;
            }
            let width = widths[n];
            let (last, rows) = shape.split_last().map_or((1, 1), |(last, outer)| (*last, outer.iter().product()));
            let chunks = rows * (last as u64).div_ceil(width.into()) as i64;
            let ty = Ty { dtype: temp.dtype, lanes: width };
            let slots = (0..chunks).map(|_| b.slot(ty)).collect();
            memories.push(Memory::Register { slots, shape, width });
        }
        Ok(memories)
    }

    fn flat(place: Place, shape: &[Size]) -> Memory {
        let mut strides = vec![Size::ONE; shape.len()];
        for d in (1..shape.len()).rev() {
            strides[d - 1] = &strides[d] * &shape[d];
        }
        Memory::Flat { place, strides }
    }
}

/// Bytes at most of a temporary in scratch memory that is kept in registers.
const IN_REGISTERS: i64 = 1 << 17;

/// Which temporaries in scratch memory can be registers of a group of threads: small ones whose elements are all named
/// by loops that are laid out.
fn laid_out(phase: &Phase) -> Vec<bool> {
    let bytes = |temp: &Temp| {
        let mut extents = temp.shape.iter().map(|n| n.as_const());
        extents.try_fold(temp.dtype.bytes() as i64, |bytes, n| Some(bytes.saturating_mul(n?)))
    };
    let mut fits: Vec<bool> = phase.temps.iter().map(|t| bytes(t).is_some_and(|bytes| bytes <= IN_REGISTERS)).collect();
    for_each_access(phase, |temp, index, loops| {
        let last = index.map_or(0, <[ExprId]>::len);
        let named = |(d, id): (usize, &ExprId)| match phase.exprs.get(*id) {
            Expr::Index(size) => size.variables().iter().all(|var| {
                let kind = loops.iter().find(|l| l.var == var).map(|l| l.kind);
                kind == Some(LoopKind::Unroll) || (kind == Some(LoopKind::Vector) && d + 1 == last)
            }),
            _ => false,
        };
        fits[temp.index()] &= index.is_some_and(|index| index.iter().enumerate().all(named));
    });
    fits
}

/// For each register, the most lanes of a vector loop by which its last dimension is indexed.
fn widths(phase: &Phase) -> Vec<u32> {
    let mut widths = vec![1; phase.temps.len()];
    for_each_access(phase, |temp, index, loops| {
        let Some(Expr::Index(size)) = index.and_then(|index| index.last()).map(|id| phase.exprs.get(*id)) else {
            return;
        };
        let used = size.variables();
        let vectors = loops.iter().filter(|l| l.kind == LoopKind::Vector && used.contains(l.var));
        let lanes = vectors.filter_map(|l| l.rounds).map(|n| n as u32).max();
        widths[temp.index()] = widths[temp.index()].max(lanes.unwrap_or(1));
    });
    widths
}

/// A loop around an access.
#[derive(Clone, Copy)]
struct Around<'p> {
    var: &'p Variable,
    kind: LoopKind,
    /// Number of iterations, if it is known.
    rounds: Option<usize>,
}

/// Visits what a phase reads and writes of its temporaries: the index, where an access is to one element, and the loops
/// around it, those over the lanes of a reduction included.
fn for_each_access<'p>(phase: &'p Phase, mut visit: impl FnMut(TempId, Option<&[ExprId]>, &[Around<'p>])) {
    type Loops<'p> = SmallVec<[Around<'p>; 8]>;
    let mut open: Vec<(&'p Stmt, Loops<'p>)> = phase.body.iter().map(|s| (s, Loops::new())).collect();
    let mut at = |mem: Mem, index: Option<&[ExprId]>, loops: &[Around<'p>]| {
        if let Mem::Temp(temp, _) = mem {
            visit(temp, index, loops);
        }
    };
    while let Some((stmt, mut loops)) = open.pop() {
        match stmt {
            Stmt::Loop(l, inner) => {
                loops.push(Around { var: &l.var, kind: l.kind, rounds: l.extent.as_usize() });
                open.extend(inner.iter().map(|s| (s, loops.clone())));
            }
            Stmt::If(_, inner) => open.extend(inner.iter().map(|s| (s, loops.clone()))),
            Stmt::Store { to, index, .. } => {
                let read = phase.exprs.reachable(&stmt.roots());
                for id in &read {
                    if let Expr::Lanes { lanes, .. } = phase.exprs.get(*id) {
                        let rounds = Some(Variable::max(lanes) as usize + 1);
                        loops.push(Around { var: lanes, kind: LoopKind::Vector, rounds });
                    }
                }
                at(*to, Some(index), &loops);
                for id in read {
                    if let Expr::Load { from, index, .. } = phase.exprs.get(id) {
                        at(*from, Some(index), &loops);
                    }
                }
            }
            Stmt::Micro(m) => {
                let tables = m.b_offsets.map(|t| Mem::Temp(t, 0));
                [m.a.mem, m.b.mem, m.c.mem].into_iter().chain(tables).for_each(|mem| at(mem, None, &loops));
            }
            Stmt::Prefetch { .. } => {}
        }
    }
}

impl Lowering<'_> {
    /// The lanes of the open vector loop, or 1.
    pub(super) fn lanes(&self) -> u32 {
        self.vector.as_ref().map_or(1, |(_, lanes)| *lanes)
    }

    /// `to[index] = value where valid`.
    pub(super) fn assign(
        &mut self,
        to: Mem,
        index: &[ExprId],
        value: ExprId,
        valid: Option<ExprId>,
    ) -> Result<(), LowerError> {
        let roots: Vec<ExprId> = index.iter().copied().chain([value]).chain(valid).collect();
        let values = self.eval(&roots)?;
        let value = values[index.len()];
        let mask = valid.map(|_| values[index.len() + 1]);
        let mask = match mask.and_then(|m| self.b.as_const(m)) {
            Some(c) if !c.as_bool() => return Ok(()),
            Some(_) => None,
            None => mask,
        };
        if let Memory::Register { .. } = self.memory(to) {
            let positions = self.positions(to, index)?;
            return self.write_register(to, &positions, value, mask);
        }
        let Memory::Flat { place, .. } = self.memory(to) else { return Ok(()) };
        let (place, lanes) = (*place, self.lanes());
        match self.address(to, index, &values[..index.len()])? {
            At::Uniform(at) => {
                let mask = mask.map(|m| self.b.any(m));
                let last = self.b.ty(value).lanes - 1;
                let value = self.b.extract(value, last);
                self.b.store(place, at, value, mask);
            }
            At::Contiguous(at) => {
                let value = self.b.widen(value, lanes);
                self.b.store(place, at, value, mask);
            }
            At::Block(start, step, at) => {
                let start = self.offset(start, at);
                self.scatter(place, start, step, value, mask);
            }
            At::Strided(start, step) => self.scatter(place, start, step, value, mask),
            At::Each(at) => {
                let value = self.b.widen(value, lanes);
                self.b.store(place, at, value, mask);
            }
        }
        Ok(())
    }

    /// Whether the lanes of a vector are spread over threads, each of which computes addresses of its own: what a
    /// vector does as a whole, such as a shuffle, is dear there.
    pub(super) fn spreads(&self) -> bool {
        self.target.groups.is_some()
    }

    /// Stores lanes that lie `step` apart.
    fn scatter(&mut self, place: Place, start: Val, step: Val, value: Val, mask: Option<Val>) {
        let lanes = self.lanes();
        if mask.is_some_and(|m| self.b.ty(m).lanes > 1) || self.spreads() {
            let (at, value) = (self.lane_positions(start, step), self.b.widen(value, lanes));
            return self.b.store(place, at, value, mask);
        }
        for lane in 0..lanes {
            let (at, element) = (self.lane_position(start, step, lane), self.b.extract(value, lane));
            self.b.store(place, at, element, mask);
        }
    }

    /// `from[index] where valid, else other`; `values` are those of the index, and the mask is a node and its value.
    pub(super) fn load(
        &mut self,
        dtype: DType,
        from: Mem,
        index: &[ExprId],
        values: &[Val],
        valid: Option<(ExprId, Val)>,
        other: Const,
    ) -> Result<Val, LowerError> {
        let guarded = valid.is_some();
        let valid = match valid.and_then(|(_, mask)| self.b.as_const(mask)) {
            Some(c) if !c.as_bool() => return Ok(self.b.constant(other)),
            Some(_) => None,
            None => valid,
        };
        let mask = valid.map(|(_, mask)| mask);
        if let Some(window) = self.window(from, index, valid) {
            return self.load_window(dtype, window, mask, other);
        }
        if let Some(column) = self.column(dtype, from, index, guarded)? {
            let Some(mask) = mask else { return Ok(column) };
            let other = self.b.constant(other);
            return Ok(self.b.alu(Alu::Where, &[mask, column, other]));
        }
        let Memory::Flat { place, .. } = self.memory(from) else {
            let value = self.read_register(from, index)?;
            let Some(mask) = mask else { return Ok(value) };
            let other = self.b.constant(other);
            return Ok(self.b.alu(Alu::Where, &[mask, value, other]));
        };
        let (place, lanes, scalar) = (*place, self.lanes(), Ty::scalar(dtype));
        let vector = Ty { dtype, lanes };
        Ok(match self.address(from, index, values)? {
            At::Uniform(at) => {
                let any = mask.map(|m| self.b.any(m));
                let value = self.b.load(scalar, place, at, any, other);
                match mask {
                    Some(mask) if self.b.ty(mask).lanes > 1 => {
                        let other = self.b.constant(other);
                        self.b.alu(Alu::Where, &[mask, value, other])
                    }
                    _ => value,
                }
            }
            At::Contiguous(at) => self.b.load(vector, place, at, mask, other),
            At::Block(start, step, at) if mask.is_none() && !self.spreads() => {
                let row = |lane| {
                    let at = self.lane_position(start, step, lane);
                    self.b.load(vector, place, at, None, other)
                };
                let rows: Vec<Val> = (0..lanes).map(row).collect();
                self.transposed(rows)[at as usize]
            }
            At::Block(start, step, at) => {
                let start = self.offset(start, at);
                let at = self.lane_positions(start, step);
                self.b.load(vector, place, at, mask, other)
            }
            At::Strided(start, step) if self.spreads() => {
                let at = self.lane_positions(start, step);
                self.b.load(vector, place, at, mask, other)
            }
            At::Strided(start, step) if self.b.as_const(step).is_some_and(|s| s.as_i64() == -1) => {
                self.backwards(vector, place, start, mask, other)
            }
            At::Strided(start, step) => match self.close(step, vector, mask) {
                Some(apart) => self.every(apart, vector, place, start, mask, other),
                None if mask.is_none() => {
                    let load = |lane| {
                        let at = self.lane_position(start, step, lane);
                        self.b.load(scalar, place, at, None, other)
                    };
                    let elements = (0..lanes).map(load).collect();
                    self.b.pure(vector, Inst::Vector(elements))
                }
                None => {
                    let at = self.lane_positions(start, step);
                    self.b.load(vector, place, at, mask, other)
                }
            },
            At::Each(at) => self.b.load(vector, place, at, mask, other),
        })
    }

    /// Fetches an element of a parameter.
    pub(super) fn prefetch(&mut self, from: ParamId, index: &[Size]) -> Result<(), LowerError> {
        if let Some((place, at)) = self.position_of_param(from, index)? {
            self.b.effect(Inst::Prefetch(place, at));
        }
        Ok(())
    }

    /// Where an element of a parameter is, if that is in memory.
    pub(super) fn position_of_param(
        &mut self,
        from: ParamId,
        index: &[Size],
    ) -> Result<Option<(Place, Val)>, LowerError> {
        let Memory::Flat { place, strides } = self.memory(Mem::Param(from)) else { return Ok(None) };
        let (place, at) = (*place, index.iter().zip(strides).map(|(i, s)| i * s).sum::<Size>());
        Ok(Some((place, self.size(&at)?)))
    }

    /// Consecutive elements, of which the first is the last.
    fn backwards(&mut self, of: Ty, place: Place, last: Val, mask: Option<Val>, other: Const) -> Val {
        let reversed = || (0..of.lanes).rev().collect();
        let back = self.b.index(1 - i64::from(of.lanes));
        let first = self.b.alu(Alu::Add, &[last, back]);
        let mask = mask.map(|mask| match self.b.ty(mask) {
            Ty { lanes: 1, .. } => mask,
            ty => self.b.pure(ty, Inst::Shuffle(mask, mask, reversed())),
        });
        let loaded = self.b.load(of, place, first, mask, other);
        self.b.pure(of, Inst::Shuffle(loaded, loaded, reversed()))
    }

    /// A constant step that is so small that all that lies between the lanes is loaded as well. Where
    /// each lane has a mask of its own, the target must have an instruction for that.
    fn close(&self, step: Val, of: Ty, mask: Option<Val>) -> Option<u32> {
        let step = u32::try_from(self.b.as_const(step)?.as_i64()).ok()?;
        let masked_loads = self.target.arch == Arch::X86_64
            && self.target.vector_bytes >= 32
            && of.dtype.bytes() >= 4
            && of.dtype.bytes() * of.lanes as usize <= self.target.vector_bytes;
        let vectors = of.lanes >= 4 && of.lanes.is_power_of_two() && of.dtype != DType::Bool;
        let uniform = mask.is_none_or(|m| self.b.ty(m).lanes == 1);
        ((2..=4).contains(&step) && vectors && (uniform || masked_loads)).then_some(step)
    }

    /// Every `step`-th element: as many vectors as that, from the first element to the last and not
    /// beyond, and what is wanted of them.
    fn every(&mut self, step: u32, of: Ty, place: Place, start: Val, mask: Option<Val>, other: Const) -> Val {
        let lanes = of.lanes;
        let first = |part: u32| if part + 1 == step { part * lanes + 1 - step } else { part * lanes };
        // Which part an element is in, and where in it.
        let place_of = |lane: u32| (lane * step / lanes, lane * step - first(lane * step / lanes));
        let masks = mask.filter(|m| self.b.ty(*m).lanes > 1).map(|mask| {
            let none = self.b.constant_of(Ty { dtype: DType::Bool, lanes }, Const::bool(false));
            (mask, none)
        });
        let mut loaded = Vec::new();
        for part in 0..step {
            let at = self.offset(start, first(part));
            let of_lanes = masks.map(|(mask, none)| {
                let mut wanted = SmallVec::from_elem(lanes, lanes as usize);
                (0..lanes).filter(|l| place_of(*l).0 == part).for_each(|l| wanted[place_of(l).1 as usize] = l);
                self.b.pure(Ty { dtype: DType::Bool, lanes }, Inst::Shuffle(mask, none, wanted))
            });
            loaded.push(self.b.load(of, place, at, of_lanes.or(mask), other));
        }
        let mut whole = loaded[0];
        for (part, next) in (0u32..).zip(&loaded).skip(1) {
            let pick = |lane: u32| match place_of(lane) {
                (0, at) if part == 1 => at,
                (p, at) if p == part => lanes + at,
                _ => lane,
            };
            whole = self.b.pure(of, Inst::Shuffle(whole, *next, (0..lanes).map(pick).collect()));
        }
        whole
    }

    /// The columns of a square block, given its rows: halves are exchanged, then quarters, and so on
    /// (Eklundh 1972).
    fn transposed(&mut self, mut rows: Vec<Val>) -> Vec<Val> {
        let lanes = rows.len();
        let mut distance = lanes / 2;
        while distance > 0 {
            for r in (0..lanes).filter(|r| r & distance == 0) {
                let (a, b) = (rows[r], rows[r + distance]);
                let pick = |upper: usize| -> SmallVec<[u32; 8]> {
                    let lane = |j: usize| if j & distance == 0 { j + upper } else { lanes + j - distance + upper };
                    (0..lanes).map(|j| lane(j) as u32).collect()
                };
                let ty = self.b.ty(a);
                rows[r] = self.b.pure(ty, Inst::Shuffle(a, b, pick(0)));
                rows[r + distance] = self.b.pure(ty, Inst::Shuffle(a, b, pick(distance)));
            }
            distance /= 2;
        }
        rows
    }

    fn lane_position(&mut self, start: Val, step: Val, lane: u32) -> Val {
        let lane = self.b.index(lane.into());
        let offset = self.b.alu(Alu::Mul, &[step, lane]);
        self.b.alu(Alu::Add, &[start, offset])
    }

    fn lane_positions(&mut self, start: Val, step: Val) -> Val {
        let ty = Ty { dtype: DType::Index, lanes: self.lanes() };
        let lane = self.b.pure(ty, Inst::Iota);
        let offset = self.b.alu(Alu::Mul, &[step, lane]);
        self.b.alu(Alu::Add, &[start, offset])
    }

    /// Where an access is: the parts of the index that are sizes are added up as one.
    fn address(&mut self, mem: Mem, index: &[ExprId], values: &[Val]) -> Result<At, LowerError> {
        let Memory::Flat { strides, .. } = self.memory(mem) else {
            return Err(LowerError::Register(format!("{mem:?}")));
        };
        let strides = strides.clone();
        let (mut total, mut others) = (Size::ZERO, None);
        for ((id, value), stride) in index.iter().zip(values).zip(&strides) {
            let sum = match self.phase.exprs.get(*id) {
                Expr::Index(size) => &total + size * stride,
                _ => Size::from(i64::MAX) + 1,
            };
            if sum.fault().is_none() {
                total = sum;
                continue;
            }
            let stride = self.size(stride)?;
            let part = self.b.alu(Alu::Mul, &[*value, stride]);
            others = Some(match others {
                Some(sum) => self.b.alu(Alu::Add, &[sum, part]),
                None => part,
            });
        }
        let uniform = others.is_none_or(|v| self.b.ty(v).lanes == 1);
        let affine = self.affine(&total).filter(|_| uniform);
        let (mut size, step) = affine.unwrap_or((total, Size::ZERO));
        let block = if matches!(step.as_const(), Some(0 | 1)) { None } else { self.block(&size) };
        if let Some((start, _)) = &block {
            size = start.clone();
        }
        let mut at = self.size(&size)?;
        if let Some(others) = others {
            at = self.b.alu(Alu::Add, &[others, at]);
        }
        Ok(match step.as_const() {
            _ if self.b.ty(at).lanes > 1 => At::Each(at),
            Some(0) => At::Uniform(at),
            Some(1) => At::Contiguous(at),
            _ if block.is_some() => At::Block(at, self.size(&step)?, block.map_or(0, |(_, n)| n)),
            _ => At::Strided(at, self.size(&step)?),
        })
    }

    /// Where a loop that is laid out visits as many consecutive positions as there are lanes: the
    /// first of them, and which one this is.
    fn block(&self, size: &Size) -> Option<(Size, u32)> {
        let lanes = i64::from(self.lanes());
        if !(4..=16).contains(&lanes) || !(lanes as u64).is_power_of_two() {
            return None;
        }
        let along = |(var, count, now): &(Variable, i64, i64)| {
            let at = |n: i64| size.substitute(&|v: &Variable| (v == var).then(|| Size::from(n)));
            let first = now - now % lanes;
            if first + lanes > *count {
                return None;
            }
            let start = at(first);
            let consecutive = (1..lanes).all(|n| (at(first + n) - &start).as_const() == Some(n));
            consecutive.then(|| (start, (now % lanes) as u32))
        };
        self.laid_out.iter().find_map(along)
    }

    /// The position in a register's accumulators, of each lane; one if they are all the same.
    fn positions(&self, mem: Mem, index: &[ExprId]) -> Result<Vec<(Slot, u32)>, LowerError> {
        let Memory::Register { slots, shape, width } = self.memory(mem) else { return Ok(Vec::new()) };
        let chunks = shape.last().map_or(1, |last| (*last as u64).div_ceil(u64::from(*width)) as i64);
        let mut found = Vec::new();
        for lane in 0..self.lanes() {
            let (mut row, mut column) = (0, 0);
            for (d, id) in index.iter().enumerate() {
                let size = match self.phase.exprs.get(*id) {
                    Expr::Index(size) => self.fixed(size, lane.into()),
                    _ => None,
                };
                let at = size.ok_or(LowerError::Expr(*id))?;
                if d + 1 == index.len() { column = at } else { row = row * shape[d] + at }
            }
            let chunk = row * chunks + column / i64::from(*width);
            let slot = usize::try_from(chunk)
                .ok()
                .and_then(|n| slots.get(n))
                .ok_or(LowerError::Register(format!("{mem:?}")))?;
            found.push((*slot, (column % i64::from(*width)) as u32));
        }
        found.dedup();
        Ok(found)
    }

    /// Whether positions are all lanes of one accumulator, in order.
    fn whole(&self, mem: Mem, positions: &[(Slot, u32)]) -> Option<Slot> {
        let Memory::Register { width, .. } = self.memory(mem) else { return None };
        let in_order = |(n, (slot, lane)): (usize, &(Slot, u32))| *slot == positions[0].0 && *lane as usize == n;
        let whole = positions.len() == *width as usize && positions.iter().enumerate().all(in_order);
        whole.then_some(positions[0].0)
    }

    fn read_register(&mut self, mem: Mem, index: &[ExprId]) -> Result<Val, LowerError> {
        let positions = self.positions(mem, index)?;
        Ok(self.read_positions(mem, &positions))
    }

    fn read_positions(&mut self, mem: Mem, positions: &[(Slot, u32)]) -> Val {
        if let Some(slot) = self.whole(mem, positions) {
            return self.b.read(slot);
        }
        let mut elements = Vec::new();
        for (slot, lane) in positions {
            let chunk = self.b.read(*slot);
            elements.push(self.b.extract(chunk, *lane));
        }
        let ty = Ty { lanes: elements.len() as u32, ..self.b.ty(elements[0]) };
        if ty.lanes == 1 { elements[0] } else { self.b.pure(ty, Inst::Vector(elements)) }
    }

    fn write_register(
        &mut self,
        mem: Mem,
        positions: &[(Slot, u32)],
        mut value: Val,
        mask: Option<Val>,
    ) -> Result<(), LowerError> {
        if let Some(mask) = mask {
            let old = self.read_positions(mem, positions);
            value = self.b.alu(Alu::Where, &[mask, value, old]);
        }
        if let Some(slot) = self.whole(mem, positions) {
            let value = self.b.widen(value, positions.len() as u32);
            self.b.write(slot, value);
            return Ok(());
        }
        for (n, (slot, lane)) in positions.iter().enumerate() {
            let element = match self.b.ty(value).lanes {
                1 => value,
                _ => self.b.extract(value, n as u32),
            };
            let chunk = self.b.read(*slot);
            let chunk = match self.b.ty(chunk) {
                Ty { lanes: 1, .. } => element,
                ty => self.b.pure(ty, Inst::Insert(chunk, *lane, element)),
            };
            self.b.write(*slot, chunk);
        }
        Ok(())
    }
}
