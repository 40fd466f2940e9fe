//! Loads whose lanes lie close together, though not evenly: `u//2` of what two arrays interleave, `u%4` of what
//! repeats. What they visit is loaded as one vector, from the first position to the last, and each lane takes its
//! element of it.

use super::LowerError;
use super::Lowering;
use super::memory::Memory;
use smallvec::SmallVec;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::linear::{Inst, Place, Ty, Val};
use svod_ir::size::Size;

/// Consecutive positions that are all that the lanes of a vector loop visit.
pub(super) struct Window {
    place: Place,
    /// The first position.
    start: Size,
    /// How many there are.
    span: u32,
    /// For each lane which of them it visits; any, where a mask lets it visit none.
    lanes: SmallVec<[u32; 8]>,
    /// Whether the mask depends on lanes, so that `lanes` is what it lets through.
    masked: bool,
}

impl Lowering<'_> {
    /// The window of an access, if its positions do not go up evenly, and no more of them than lanes are visited.
    /// First and last are visited, so that all of it is memory.
    pub(super) fn window(&self, from: Mem, index: &[ExprId], mask: Option<(ExprId, Val)>) -> Option<Window> {
        let (var, count) = self.vector.as_ref().filter(|_| !self.spreads())?;
        let Memory::Flat { place, strides } = self.memory(from) else { return None };
        let mut total = Size::ZERO;
        for (id, stride) in index.iter().zip(strides) {
            let Expr::Index(size) = self.phase.exprs.get(*id) else { return None };
            total = total + size * stride;
        }
        if total.fault().is_some() || !total.variables().contains(var) || self.affine(&total).is_some() {
            return None;
        }
        let masked = mask.filter(|(_, value)| self.b.ty(*value).lanes > 1).map(|(id, _)| id);
        let mut at: Vec<Option<Size>> = Vec::new();
        for lane in 0..i64::from(*count) {
            let visited = masked.map_or(Some(true), |mask| self.holds(mask, lane))?;
            at.push(visited.then(|| total.substitute(&|v| (v == var).then(|| Size::from(lane)))));
        }
        let some = at.iter().flatten().next()?;
        let distance = |at: &Option<Size>| at.as_ref().map_or(Some(None), |at| (at - some).as_const().map(Some));
        let distances: Vec<Option<i64>> = at.iter().map(distance).collect::<Option<_>>()?;
        let first = distances.iter().flatten().min()?;
        let span = u32::try_from(distances.iter().flatten().max()? - first + 1).ok().filter(|span| span <= count)?;
        let lanes = distances.iter().map(|d| d.map_or(0, |d| (d - first) as u32)).collect();
        Some(Window { place: *place, start: some + *first, span, lanes, masked: masked.is_some() })
    }

    /// The lanes of a window; `mask` is one for all of it, if any.
    pub(super) fn load_window(
        &mut self,
        dtype: DType,
        window: Window,
        mask: Option<Val>,
        other: Const,
    ) -> Result<Val, LowerError> {
        let Window { place, start, span, lanes, masked } = window;
        let at = self.size(&start)?;
        let (all, of_all) = (Ty { dtype, lanes: span }, mask.filter(|_| !masked));
        let loaded = self.b.load(all, place, at, of_all, other);
        let count = lanes.len() as u32;
        let value = match span {
            1 => self.b.widen(loaded, count),
            _ => self.b.pure(Ty { dtype, lanes: count }, Inst::Shuffle(loaded, loaded, lanes)),
        };
        let Some(mask) = mask.filter(|_| masked) else { return Ok(value) };
        let other = self.b.constant(other);
        Ok(self.b.alu(Alu::Where, &[mask, value, other]))
    }

    /// Whether a condition on positions holds in a lane, where nothing else decides that.
    fn holds(&self, condition: ExprId, lane: i64) -> Option<bool> {
        let exprs = &self.phase.exprs;
        let Expr::Alu(op, of) = exprs.get(condition) else { return None };
        if let (Alu::And, [a, b]) = (op, &of[..]) {
            return match (self.holds(*a, lane), self.holds(*b, lane)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (a, b) => Some(a? && b?),
            };
        }
        let position = |id: &ExprId| match exprs.get(*id) {
            Expr::Index(size) => self.fixed(size, lane),
            _ => None,
        };
        match (op, &of[..]) {
            (Alu::Lt, [a, b]) => Some(position(a)? < position(b)?),
            (Alu::Le, [a, b]) => Some(position(a)? <= position(b)?),
            _ => None,
        }
    }
}
