//! Operations of a graph that are computed where they are read: of elements, of positions, and movements, which are gone
//! once an index has been moved.

use super::{Build, Context, Evaluated, Index, RangeifyError, threefry};
use smallvec::SmallVec;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId};
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Op, UOp};
use svod_ir::size::Size;

impl Build<'_> {
    /// The value of an operation.
    pub(super) fn operation(&mut self, node: NodeIndex, context: &Context) -> Evaluated {
        let value = self.graph.nodes()[node as usize].clone();
        let sources: SmallVec<[NodeIndex; 3]> = self.graph.sources(node).into();
        let at = |index: Index| Context { index, valid: context.valid };
        match value.op() {
            Op::Const(value) => Ok(self.kernel.exprs.constant(*value)),
            Op::Size(size) => Ok(self.integer(size.clone())),
            Op::Bind(bound) => Ok(self.integer(Size::from(bound.variable()))),
            Op::Range(_) => Ok(self.kernel.exprs.cast(DType::I64, context.index[0])),
            Op::Leaf(_) => Ok(self.load(node, context)),
            Op::Rand(shape) => {
                let position = self.flat(&context.index, shape);
                let key = self.value(sources[0], at(SmallVec::new()))?;
                let offset = self.value(sources[1], at(SmallVec::new()))?;
                Ok(threefry::bits(&mut self.kernel.exprs, key, offset, position))
            }
            Op::Alu(Alu::Where) => self.chosen(&sources, context),
            Op::Alu(op) => self.scalar(*op, &sources, context),
            Op::Cast(to) => {
                let v = self.value(sources[0], context.clone())?;
                Ok(self.kernel.exprs.cast(*to, v))
            }
            Op::Bitcast(to) => {
                let v = self.value(sources[0], context.clone())?;
                Ok(self.kernel.exprs.add(Expr::Bitcast(*to, v), *to))
            }
            op if op.is_mark() => self.value(sources[0], context.clone()),
            Op::Contiguous | Op::Copy(_) => self.value(sources[0], context.clone()),
            Op::Pad(by, fill) => self.padded(sources[0], by, *fill, context),
            Op::Take(axis) => {
                let rank = self.graph.nodes()[sources[1] as usize].rank();
                let position = self.value(sources[1], at(context.index[*axis..*axis + rank].into()))?;
                let mut index: Index = context.index[..*axis].into();
                index.push(position);
                index.extend_from_slice(&context.index[*axis + rank..]);
                self.indexed(sources[0], *axis, index, context)
            }
            Op::Gather(axis) => {
                let position = self.value(sources[1], context.clone())?;
                let mut index = context.index.clone();
                index[*axis] = position;
                self.indexed(sources[0], *axis, index, context)
            }
            op if op.is_movement() => {
                let index = self.moved(&value, sources[0], &context.index)?;
                self.value(sources[0], at(index))
            }
            op => Err(RangeifyError::Unsupported(op.name())),
        }
    }

    /// One of two values, or the only one that can be.
    fn chosen(&mut self, sources: &[NodeIndex], context: &Context) -> Evaluated {
        let condition = self.value(sources[0], context.clone())?;
        if let Some(holds) = self.truth(condition) {
            return self.value(sources[if holds { 1 } else { 2 }], context.clone());
        }
        let chosen = self.value(sources[1], context.clone())?;
        let other = self.value(sources[2], context.clone())?;
        Ok(self.kernel.exprs.alu(Alu::Where, &[condition, chosen, other]))
    }

    /// A scalar operation of elements. Comparing positions is cheaper than comparing their values in lanes.
    fn scalar(&mut self, op: Alu, sources: &[NodeIndex], context: &Context) -> Evaluated {
        let operands =
            sources.iter().map(|s| self.value(*s, context.clone())).collect::<Evaluated<SmallVec<[_; 3]>>>()?;
        if let (Alu::Lt | Alu::Le, [a, b]) = (op, &operands[..])
            && let (Some(a), Some(b)) = (self.position(*a), self.position(*b))
        {
            let (a, b) = (self.kernel.exprs.index(a), self.kernel.exprs.index(b));
            return Ok(self.kernel.exprs.alu(op, &[a, b]));
        }
        Ok(self.kernel.exprs.alu(op, &operands))
    }

    /// Where a movement reads its source.
    fn moved(&mut self, value: &UOp, source: NodeIndex, index: &Index) -> Evaluated<Index> {
        let below = self.graph.nodes()[source as usize].shape_arc().clone();
        Ok(match value.op() {
            Op::Reshape(_) => self.reshape(index, value.shape(), &below),
            Op::Permute(axes) => {
                let mut moved = index.clone();
                axes.iter().zip(index).for_each(|(a, i)| moved[*a] = *i);
                moved
            }
            Op::Expand(_) => {
                let new = value.rank() - below.len();
                let zero = self.kernel.exprs.index(0i64);
                let kept = |d: usize| below[d] == value.shape()[d + new];
                (0..below.len()).map(|d| if kept(d) { index[d + new] } else { zero }).collect()
            }
            Op::Shrink(to) => index.iter().zip(to.iter()).map(|(i, (first, _))| self.plus(*i, first.clone())).collect(),
            Op::Flip(axes) => {
                let mut moved = index.clone();
                for a in axes {
                    let last = &value.shape()[*a] - 1;
                    let last = self.kernel.exprs.index(last);
                    moved[*a] = self.minus(last, moved[*a]);
                }
                moved
            }
            Op::Window(axis, _, stride, dilation) => {
                let mut moved = index.clone();
                let tap = moved.pop().ok_or(RangeifyError::Unsupported("a window of no dimensions"))?;
                let (start, step) = (self.times(moved[*axis], *stride), self.times(tap, *dilation));
                moved[*axis] = self.sum(start, step);
                moved
            }
            op => return Err(RangeifyError::Unsupported(op.name())),
        })
    }

    /// `source` with room around it, which is `fill`.
    fn padded(&mut self, source: NodeIndex, by: &[(Size, Size)], fill: Const, context: &Context) -> Evaluated {
        let below = self.graph.nodes()[source as usize].shape_arc().clone();
        let mut inside: Option<ExprId> = None;
        let mut index = SmallVec::new();
        for (d, (before, _)) in by.iter().enumerate() {
            let i = self.plus(context.index[d], -before);
            inside = self.within(inside, i, &below[d]);
            // Inside of a single point there is no other position.
            let single = below[d].as_const() == Some(1);
            index.push(if single { self.kernel.exprs.index(0i64) } else { i });
        }
        let Some(inside) = inside else { return self.value(source, Context { index, valid: context.valid }) };
        if self.truth(inside) == Some(false) {
            return Ok(self.kernel.exprs.constant(fill));
        }
        let valid = context.valid.map_or(inside, |v| self.kernel.exprs.alu(Alu::And, &[v, inside]));
        let v = self.value(source, Context { index, valid: Some(valid) })?;
        Ok(self.filled(v, inside, valid, fill))
    }

    /// `source` at an index of which dimension `axis` is data; 0 where that is out of range.
    fn indexed(&mut self, source: NodeIndex, axis: usize, mut index: Index, context: &Context) -> Evaluated {
        let value = self.graph.nodes()[source as usize].clone();
        let i = self.kernel.exprs.cast(DType::Index, index[axis]);
        index[axis] = i;
        let Some(inside) = self.within(None, i, &value.shape()[axis]) else {
            return self.value(source, Context { index, valid: context.valid });
        };
        let valid = context.valid.map_or(inside, |v| self.kernel.exprs.alu(Alu::And, &[v, inside]));
        let v = self.value(source, Context { index, valid: Some(valid) })?;
        Ok(self.filled(v, inside, valid, Const::zero(value.dtype())))
    }

    /// A value `v` made where `valid` holds, which implies `inside`: `fill` where that does not hold.
    ///
    /// A masked load gives the fill itself. What is read outside of the context's own mask is of no account, and a load's mask
    /// implies its context's.
    fn filled(&mut self, v: ExprId, inside: ExprId, valid: ExprId, fill: Const) -> ExprId {
        if let Expr::Load { from, index, valid: Some(own), other } = self.kernel.exprs.get(v) {
            if *other == fill {
                return v;
            }
            if *own == valid {
                let (from, index, dtype) = (*from, index.to_vec(), fill.dtype());
                return self.kernel.exprs.load_valid(dtype, from, &index, Some(valid), fill);
            }
        }
        let fill = self.kernel.exprs.constant(fill);
        self.kernel.exprs.alu(Alu::Where, &[inside, v, fill])
    }
}
