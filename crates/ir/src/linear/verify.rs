//! The invariants of the linear list, as listed in the [module](super).

use super::{Inst, Linear, Place, Slot, Special, Tile, Ty, Val};
use crate::alu::Alu;
use crate::pass::visit;
use svod_dtype::DType;

/// Elements of a block at most.
const LARGEST_BLOCK: u64 = 1 << 16;

/// What is wrong with a linear list, and at which instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("instruction {at}: {fault}")]
pub struct VerifyError {
    /// Position in [`Linear::insts`].
    pub at: usize,
    /// What is wrong.
    pub fault: Fault,
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// An operand that is not defined here.
    #[error("{0} is not defined here")]
    Undefined(Val),
    /// More or fewer types than values.
    #[error("{types} types for {values} values")]
    Types {
        /// Number of types.
        types: usize,
        /// Number of values.
        values: usize,
    },
    /// A range or conditional that is not closed, or not open.
    #[error("a range or conditional is not closed, or closes what is not open")]
    Nesting,
    /// Operand types that do not fit the instruction or its value.
    #[error("the types of operands and value do not fit the instruction")]
    Operands,
    /// Arithmetic on a type that has none.
    #[error("no arithmetic on {0}")]
    Narrow(DType),
    /// A memory, slot or variable that does not exist, or is of another type.
    #[error("no such memory, slot or variable, or one of another type")]
    Memory,
    /// A parameter that is written and not declared so.
    #[error("a parameter that is only read is written")]
    Constant,
}

impl Linear {
    /// Checks the invariants of the [module](super).
    ///
    /// # Errors
    /// The first violation.
    pub fn verify(&self) -> Result<(), VerifyError> {
        let values = self.insts.iter().filter(|i| i.has_value()).count();
        if values != self.values.len() {
            let fault = Fault::Types { types: self.values.len(), values };
            return Err(VerifyError { at: 0, fault });
        }
        let mut defined = vec![false; values];
        // What is open, and how many values were defined when it was opened.
        let mut open: Vec<(Inst, usize)> = Vec::new();
        let mut next = 0;
        visit(self.insts.len());
        for (at, inst) in self.insts.iter().enumerate() {
            let error = |fault| VerifyError { at, fault };
            let undefined = |v: &Val| !defined.get(v.index()).copied().unwrap_or(false);
            if let Some(v) = inst.operands().into_iter().find(undefined) {
                return Err(error(Fault::Undefined(v)));
            }
            match inst {
                Inst::Range(_) => open.push((Inst::EndRange, next)),
                Inst::If(_) => open.push((Inst::EndIf, next)),
                Inst::EndRange | Inst::EndIf => match open.pop() {
                    Some((end, first)) if end == *inst => defined[first..next].fill(false),
                    _ => return Err(error(Fault::Nesting)),
                },
                _ => {}
            }
            let ty = inst.has_value().then_some(Val(next as u32));
            self.check(inst, ty.map(|v| self.ty(v))).map_err(error)?;
            if ty.is_some() {
                defined[next] = true;
                next += 1;
            }
        }
        if open.is_empty() { Ok(()) } else { Err(VerifyError { at: self.insts.len(), fault: Fault::Nesting }) }
    }

    fn check(&self, inst: &Inst, ty: Option<Ty>) -> Result<(), Fault> {
        let ty = ty.unwrap_or(Ty::scalar(DType::Void));
        let index = Ty::scalar(DType::Index);
        let ok = match inst {
            Inst::Const(c) => c.dtype() == ty.dtype && ty.lanes > 0,
            Inst::Var(n) if (*n as usize) < self.vars.len() => ty == index,
            Inst::Var(_) => return Err(Fault::Memory),
            Inst::Special(Special::Block | Special::Local | Special::Workgroup, axis) => *axis < 3 && ty == index,
            Inst::Iota => ty.dtype.is_int() && ty.lanes > 0,
            Inst::Alu(op, args) => return self.check_alu(*op, args, ty),
            Inst::Cast(v) => self.ty(*v).lanes == ty.lanes && ty.dtype != DType::Void,
            Inst::Bitcast(v) => {
                let bool = |ty: Ty| ty.dtype == DType::Bool;
                let from = self.ty(*v);
                from.lanes == ty.lanes && from.dtype.bits() == ty.dtype.bits() && bool(from) == bool(ty)
            }
            Inst::Splat(v) => self.ty(*v) == Ty::scalar(ty.dtype) && ty.lanes > 1,
            Inst::Vector(args) => {
                args.len() == ty.lanes as usize && args.iter().all(|v| self.ty(*v) == Ty::scalar(ty.dtype))
            }
            Inst::Shuffle(a, b, lanes) => {
                let from = self.ty(*a);
                from == self.ty(*b)
                    && from.lanes > 1
                    && (ty.dtype, ty.lanes as usize) == (from.dtype, lanes.len())
                    && lanes.iter().all(|l| *l < 2 * from.lanes)
            }
            Inst::Extract(v, lane) => *lane < self.ty(*v).lanes && Ty::scalar(self.ty(*v).dtype) == ty,
            Inst::Insert(vector, lane, v) => {
                self.ty(*vector) == ty && *lane < ty.lanes && self.ty(*v) == Ty::scalar(ty.dtype)
            }
            Inst::Reduce(op, v) => {
                let scalar = Ty::scalar(self.ty(*v).dtype);
                let lanes = self.ty(*v).lanes;
                self.check_types(*op, &[scalar, scalar], ty)?;
                lanes > 1 && lanes.is_power_of_two()
            }
            Inst::Scan(op, v) => {
                self.check_types(*op, &[ty, ty], ty)?;
                self.ty(*v) == ty && ty.lanes > 1 && ty.lanes.is_power_of_two()
            }
            Inst::Alike(v, _) => {
                let lanes = (2..=32).contains(&ty.lanes) && ty.lanes.is_power_of_two();
                self.ty(*v) == ty && ty.dtype == DType::U32 && lanes
            }
            Inst::Read(slot) => self.slot(*slot)? == ty,
            Inst::Write(slot, v) => self.slot(*slot)? == self.ty(*v),
            Inst::Load { from, at, mask, other } => {
                self.place(*from)? == ty.dtype && other.dtype() == ty.dtype && self.access(*at, *mask, ty)
            }
            Inst::Store { to, at, value, mask } => {
                self.writable(*to)?;
                self.place(*to)? == self.ty(*value).dtype && self.access(*at, *mask, self.ty(*value))
            }
            Inst::Copy { to, from, at, step, within } => {
                let block = self.blocks.get(to.index()).ok_or(Fault::Memory)?;
                if matches!(from, Place::Param(p) if self.params.get(p.index()).is_some_and(|p| p.written)) {
                    return Err(Fault::Memory);
                }
                let indices = within.iter().flatten().chain([at, step]).all(|v| self.ty(*v) == index);
                indices
                    && self.place(*from)? == block.dtype
                    && (1..=LARGEST_BLOCK).contains(&(u64::from(block.rows) * u64::from(block.columns)))
            }
            Inst::Column(block, n) => {
                let block = self.blocks.get(block.index()).ok_or(Fault::Memory)?;
                *n < block.columns && ty == Ty { dtype: block.dtype, lanes: block.rows }
            }
            Inst::Range(extent) => self.ty(*extent) == index && ty == index,
            Inst::If(cond) => self.ty(*cond) == Ty::scalar(DType::Bool),
            Inst::EndRange | Inst::EndIf | Inst::Barrier => true,
            Inst::Prefetch(from, at) => {
                self.place(*from)?;
                self.ty(*at) == index
            }
            Inst::Tile(tile) => return self.check_tile(tile),
        };
        if ok { Ok(()) } else { Err(Fault::Operands) }
    }

    fn check_alu(&self, op: Alu, args: &[Val], ty: Ty) -> Result<(), Fault> {
        let types: Vec<Ty> = args.iter().map(|v| self.ty(*v)).collect();
        self.check_types(op, &types, ty)
    }

    fn check_types(&self, op: Alu, types: &[Ty], ty: Ty) -> Result<(), Fault> {
        let free = usize::from(op == Alu::Where && types.first().is_some_and(|c| c.lanes == 1));
        let dtypes: Vec<DType> = types.iter().map(|t| t.dtype).collect();
        let lanes = types.iter().skip(free).all(|t| t.lanes == ty.lanes);
        match dtypes.last() {
            Some(&d) if d.is_float() && d.bytes() < 4 && op != Alu::Where => Err(Fault::Narrow(d)),
            _ if lanes && op.result(&dtypes) == Some(ty.dtype) => Ok(()),
            _ => Err(Fault::Operands),
        }
    }

    fn access(&self, at: Val, mask: Option<Val>, ty: Ty) -> bool {
        let at = self.ty(at);
        let mask = mask.map(|m| self.ty(m));
        let masked = |m: Ty| m.dtype == DType::Bool && (m.lanes == 1 || m.lanes == ty.lanes);
        at.dtype == DType::Index && (at.lanes == 1 || at.lanes == ty.lanes) && mask.is_none_or(masked)
    }

    fn check_tile(&self, tile: &Tile) -> Result<(), Fault> {
        let index = Ty::scalar(DType::Index);
        let mut scalars = vec![tile.depth, tile.start];
        for (operand, dtype) in tile.operands.iter().zip([tile.spec.acc, tile.spec.stored(), tile.spec.stored()]) {
            scalars.extend([operand.at, operand.stride]);
            if self.place(operand.place)? != dtype {
                return Err(Fault::Memory);
            }
        }
        let fetches = tile.spec.fetches > 0;
        let said = tile.spec.b_offsets == tile.offsets.is_some() && fetches == tile.fetch.is_some();
        if !said || (tile.spec.pairs && tile.spec.dtype.bytes() != 2) {
            return Err(Fault::Operands);
        }
        if let Some(fetch) = tile.fetch {
            self.place(fetch.place)?;
            scalars.extend([fetch.at, fetch.step]);
        }
        if let Some(offsets) = tile.offsets.map(|t| self.place(t)).transpose()?
            && offsets != DType::I32
        {
            return Err(Fault::Memory);
        }
        self.writable(tile.operands[0].place)?;
        if scalars.iter().all(|v| self.ty(*v) == index) { Ok(()) } else { Err(Fault::Operands) }
    }

    fn slot(&self, slot: Slot) -> Result<Ty, Fault> {
        self.slots.get(slot.index()).copied().ok_or(Fault::Memory)
    }

    /// The element type of a memory.
    fn place(&self, place: Place) -> Result<DType, Fault> {
        let dtype = match place {
            Place::Param(p) => self.params.get(p.index()).map(|p| p.dtype),
            Place::Scratch(s) => self.scratch.get(s.index()).map(|s| s.dtype),
        };
        dtype.ok_or(Fault::Memory)
    }

    fn writable(&self, place: Place) -> Result<(), Fault> {
        match place {
            Place::Param(p) if !self.params.get(p.index()).is_some_and(|p| p.written) => Err(Fault::Constant),
            _ => Ok(()),
        }
    }
}
