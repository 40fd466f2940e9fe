//! Kernels whose last stage is no map or reduction: scans, scatters and sorts.

use super::{Build, Context, ELEMENTS, Evaluated, Index, OUTPUT, RangeifyError};
use crate::rangeify::order_key::OrderKey;
use svod_dtype::{Const, DType};
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::graph::Op;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::kernel::{Body, Carry, Emit, Monoid, Out, Stage};
use svod_ir::size::Size;

impl Build<'_> {
    /// Two stages: what the elements start from, and the points that are combined into them.
    pub(super) fn scatter(&mut self, axis: usize, combine: Option<Monoid>) -> Evaluated<()> {
        let [base, index, values] = self.graph.sources(self.root)[..] else {
            return Err(RangeifyError::Unsupported("a scatter of other than three operands"));
        };
        let to = |index: &[ExprId]| vec![Out::Param { param: OUTPUT, index: index.to_vec() }];
        let (over, at) = self.open(&self.graph.nodes()[self.root as usize].shape_arc().clone())?;
        let start = self.value(base, Context { index: at.clone(), valid: None })?;
        self.kernel.stages.push(Stage { name: "start".into(), over, body: Body::map(start), outs: to(&at) });
        let (over, at) = self.open(&self.graph.nodes()[index as usize].shape_arc().clone())?;
        let context = Context { index: at.clone(), valid: None };
        let position = self.value(index, context.clone())?;
        let value = self.value(values, context)?;
        let mut at = at;
        at[axis] = self.kernel.exprs.cast(DType::Index, position);
        let body = Body::Scatter { value, combine };
        self.kernel.stages.push(Stage { name: "out".into(), over, body, outs: to(&at) });
        Ok(())
    }

    pub(super) fn sort(&mut self, axis: usize, descending: bool) -> Evaluated<()> {
        let value = self.graph.nodes()[self.root as usize].clone();
        let positions = matches!(value.op(), Op::ArgSort(..));
        let source = self.graph.sources(self.root)[0];
        let below = &self.graph.nodes()[source as usize];
        let (extent, order) = (below.shape()[axis].clone(), OrderKey { dtype: below.dtype(), descending });
        let (mut over, to) = self.open(value.shape())?;
        let mut outs = vec![Out::Param { param: OUTPUT, index: to.to_vec() }];
        let mut index = to.clone();
        if extent.as_const() == Some(1) {
            if self.with_elements {
                return Err(RangeifyError::Unsupported("an order of one element with the element"));
            }
            // A single element is in order.
            let body = if positions {
                Body::map(self.kernel.exprs.constant(Const::zero(DType::I64)))
            } else {
                Body::map(self.value(source, Context { index, valid: None })?)
            };
            self.kernel.stages.push(Stage { name: "out".into(), over, body, outs });
            return Ok(());
        }
        let to = match self.own_axis(to[axis]) {
            Some(to) => to,
            None => {
                // The first place only: an axis of one point.
                let (to, _) = self.axis(&Size::ONE)?;
                over.push(to);
                to
            }
        };
        let (along, at) = self.axis(&extent)?;
        index[axis] = at;
        let element = self.value(source, Context { index: index.clone(), valid: None })?;
        let pool = &mut self.kernel.exprs;
        let key = order.encode(pool, element, positions);
        let carry = if positions { Expr::Carry(1, DType::I64) } else { Expr::Carry(0, order.key()) };
        let carry = pool.add(carry, if positions { DType::I64 } else { order.key() });
        let result = if positions { carry } else { order.decode(pool, carry) };
        let mut results = vec![result];
        if self.with_elements {
            let Out::Param { index: to, .. } = &outs[0] else { return Ok(()) };
            outs.push(Out::Param { param: ELEMENTS, index: to.clone() });
            results.push(self.element_in_order(source, axis, index, order)?);
        }
        let body = Body::Sort { along, to, key, results };
        self.kernel.stages.push(Stage { name: "out".into(), over, body, outs });
        Ok(())
    }

    /// The element at a place of an order by positions. Keys of floats do not tell the zeros apart: these elements
    /// are read again, which takes memory that has them.
    fn element_in_order(&mut self, source: NodeIndex, axis: usize, mut index: Index, order: OrderKey) -> Evaluated {
        let pool = &mut self.kernel.exprs;
        if !order.dtype.is_float() {
            let key = pool.add(Expr::Carry(0, order.key()), order.key());
            return Ok(order.decode(pool, key));
        }
        let position = pool.add(Expr::Carry(1, DType::I64), DType::I64);
        index[axis] = pool.cast(DType::Index, position);
        let stages = self.kernel.stages.len();
        let element = self.value(source, Context { index, valid: None })?;
        let pool = &self.kernel.exprs;
        let moves = |index: &[ExprId]| pool.reachable(index).iter().any(|e| matches!(pool.get(*e), Expr::Carry(..)));
        let staged = |load: &ExprId| match pool.get(*load) {
            Expr::Load { from: Mem::Temp(..), index, .. } => moves(index),
            _ => false,
        };
        if self.kernel.stages.len() > stages || pool.loads(&[element]).iter().any(staged) {
            return Err(RangeifyError::Unsupported("elements of an order that are computed once a row"));
        }
        Ok(element)
    }

    pub(super) fn scan(&mut self, by: Monoid, axis: usize, inclusive: bool) -> Evaluated<()> {
        let value = self.graph.nodes()[self.root as usize].clone();
        let (mut over, index) = self.open(value.shape())?;
        let source = self.graph.sources(self.root)[0];
        let element = self.value(source, Context { index: index.clone(), valid: None })?;
        let out = Out::Param { param: OUTPUT, index: index.to_vec() };
        let dtype = value.dtype();
        let result = self.kernel.exprs.add(Expr::Carry(0, dtype), dtype);
        let body = match self.own_axis(index[axis]) {
            Some(along) => {
                over.retain(|a| *a != along);
                let carries = vec![Carry { dtype, element, op: by, fix: None }];
                let emit = if inclusive { Emit::Inclusive } else { Emit::Exclusive };
                Body::Reduce { axes: vec![along], carries, emit, results: vec![result] }
            }
            None if inclusive => Body::map(element),
            None => Body::map(self.kernel.exprs.constant(by.identity(dtype))),
        };
        self.kernel.stages.push(Stage { name: "out".into(), over, body, outs: vec![out] });
        Ok(())
    }
}
