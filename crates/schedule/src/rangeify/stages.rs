//! Stages of a kernel: reductions, and values that several passes over a row want.

use super::{Build, Context, Evaluated, Index, RangeifyError};
use svod_ir::expr::{Expr, ExprId, Mem, TempId};
use svod_ir::graph::Op;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::kernel::{AxisId, Body, Out, Stage};
use svod_ir::size::Size;

/// A stage that was made of a node.
pub(super) struct Staged {
    id: TempId,
    /// The node's dimensions that it ranges over.
    dims: Vec<usize>,
    /// Where each of the node's dimensions is read.
    index: Index,
}

/// What a dimension of a stage ranges over.
enum Over {
    /// An axis that there is.
    Axis(AxisId),
    /// An axis of its own, over all of the dimension.
    Own,
    /// The reader's index alone.
    Nothing,
}

impl Build<'_> {
    /// A reduction inside the kernel: a stage over the axes that index it, and over axes of its own where an index is
    /// made of several.
    pub(super) fn reduction(&mut self, node: NodeIndex, context: &Context) -> Evaluated {
        let Op::Reduce(by, axes) = self.graph.nodes()[node as usize].op().clone() else {
            return Err(RangeifyError::Unsupported("a reduction of no axes"));
        };
        if let Some(known) = self.stage_load(node, &context.index) {
            return Ok(known);
        }
        let (mut over, index) = self.place(node, context, |this, at| match this.own_axis(at) {
            Some(axis) => Over::Axis(axis),
            None if this.moves(at) => Over::Own,
            None => Over::Nothing,
        })?;
        let body = self.reduce(node, by, &axes, &Context { index: index.clone(), valid: None })?;
        // What is the same along an axis, as a product with a constant, is computed once.
        let named = match &body {
            Body::Reduce { carries, .. } => {
                self.kernel.exprs.variables_used(&carries.iter().map(|carry| carry.element).collect::<Vec<_>>())
            }
            _ => Vec::new(),
        };
        if !named.is_empty() {
            for axis in &mut over {
                *axis = axis.filter(|a| named.contains(&self.kernel.axes[a.index()].var));
            }
        }
        Ok(self.add_stage(node, &over, index, body, &context.index))
    }

    /// A value that several passes over a row want: a stage over its own dimensions.
    pub(super) fn staged(&mut self, node: NodeIndex, context: &Context) -> Evaluated {
        if let Some(known) = self.stage_load(node, &context.index) {
            return Ok(known);
        }
        // Rows are the axes of the kernel's output; other dimensions get axes of their own.
        let (over, index) = self.place(node, context, |this, at| {
            this.own_axis(at).filter(|axis| this.rows.contains(axis)).map_or(Over::Own, Over::Axis)
        })?;
        let value = self.operation(node, &Context { index: index.clone(), valid: None })?;
        Ok(self.add_stage(node, &over, index, Body::map(value), &context.index))
    }

    /// The axis of each dimension of a node's stage, if it has one, and the index that these make; `of` says which axis
    /// goes with a reader's index.
    fn place(
        &mut self,
        node: NodeIndex,
        context: &Context,
        of: impl Fn(&Self, ExprId) -> Over,
    ) -> Evaluated<(Vec<Option<AxisId>>, Index)> {
        let shape = self.graph.nodes()[node as usize].shape_arc().clone();
        let (mut over, mut index) = (vec![None; shape.len()], context.index.clone());
        for (d, extent) in shape.iter().enumerate() {
            // Indices that a mask hides may be outside.
            if extent.as_const() == Some(1) {
                index[d] = self.kernel.exprs.index(0i64);
                continue;
            }
            over[d] = match of(self, index[d]) {
                Over::Axis(axis) => Some(axis),
                Over::Nothing => None,
                Over::Own => {
                    let (axis, at) = self.axis(extent)?;
                    index[d] = at;
                    Some(axis)
                }
            };
        }
        Ok((over, index))
    }

    pub(super) fn own_axis(&self, i: ExprId) -> Option<AxisId> {
        let Expr::Index(size) = self.kernel.exprs.get(i) else { return None };
        let at = self.kernel.axes.iter().position(|a| *size == Size::from(&a.var))?;
        Some(AxisId(at as u32))
    }

    /// Whether an index names an axis, or is data.
    fn moves(&self, i: ExprId) -> bool {
        let Expr::Index(size) = self.kernel.exprs.get(i) else { return true };
        size.variables().iter().any(|v| self.kernel.axes.iter().any(|a| a.var == *v))
    }

    /// The axes that an index is made of.
    pub(super) fn axes_of(&self, context: &Context) -> Vec<AxisId> {
        context.index.iter().filter_map(|i| self.own_axis(*i)).collect()
    }

    /// Adds a stage of a node, with the axis of each of its dimensions that has one, at an index; the read of it.
    fn add_stage(
        &mut self,
        node: NodeIndex,
        axes: &[Option<AxisId>],
        index: Index,
        body: Body,
        read: &[ExprId],
    ) -> ExprId {
        let mut places: Vec<(AxisId, usize)> = axes.iter().enumerate().filter_map(|(d, a)| Some(((*a)?, d))).collect();
        if self.cut.chained[self.root as usize] {
            // Weights between two products have their rows first, whichever way the scores lie.
            places.sort_by_key(|(axis, _)| !self.rows.contains(axis));
        }
        let (over, dims): (Vec<AxisId>, Vec<usize>) = places.into_iter().unzip();
        let id = TempId(self.kernel.stages.len() as u32);
        self.kernel.stages.push(Stage { name: format!("s{}", id.0), over, body, outs: vec![Out::Temp] });
        self.stages.entry(node).or_default().push(Staged { id, dims, index });
        self.stage_load(node, read).expect("the stage was made for this index")
    }

    /// The read of a node's stage that has its value at an index, if there is one.
    fn stage_load(&mut self, node: NodeIndex, index: &[ExprId]) -> Option<ExprId> {
        let value = &self.graph.nodes()[node as usize];
        // All of a dimension is in the stage, or what it was made for.
        let has = |stage: &Staged, d: usize| {
            let extent = &value.shape()[d];
            let whole = self.own_axis(stage.index[d]).is_some_and(|a| self.kernel.axes[a.index()].extent == *extent);
            whole || index[d] == stage.index[d] || extent.as_const() == Some(1)
        };
        let stages = self.stages.get(&node)?;
        let stage = stages.iter().find(|stage| (0..index.len()).all(|d| has(stage, d)))?;
        let at: Vec<ExprId> = stage.dims.iter().map(|d| index[*d]).collect();
        Some(self.kernel.exprs.load(value.dtype(), Mem::Temp(stage.id, 0), &at))
    }
}
