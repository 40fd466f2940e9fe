//! Copies of what a stage reads: rows, panels and planes, in a task's scratch, shared, or prepared.

use super::{Applied, Operand, PackJob, Scheduled, StageState};
use crate::kernel::contraction;
use crate::language::{Layout, Read, StageHome};
use svod_dtype::DType;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, ParamId, TempId};
use svod_ir::kernel::{AxisId, Body, Kernel, Out, Param, Stage};
use svod_ir::size::Size;

impl Scheduled {
    pub(super) fn stage_plane(&mut self, stage: usize, read: &Read, layout: Layout, home: StageHome) -> Applied {
        let Layout::Plane { slack, multiple } = layout else { return Err("not a plane".into()) };
        if *read != Read::Operand(1) || home != StageHome::Task {
            return Err("a plane is a copy of operand 1 in the task's scratch".into());
        }
        let new = StageState::new(&self.kernel.stages[stage]);
        let untouched =
            self.stages[stage].loops == new.loops && self.stages[stage].operands.iter().all(Option::is_none);
        if !untouched {
            return Err("a plane is staged before anything else is done to the stage".into());
        }
        let mem = Mem::Temp(TempId(self.kernel.stages.len() as u32), 0);
        let plane = contraction::window::flatten(&mut self.kernel, stage, i64::from(multiple))?;
        if multiple > 1 && i64::from(slack) < plane.overhang {
            return Err(format!("whole rows read {} elements after a line, the plane has {slack}", plane.overhang));
        }
        self.stages[stage].loops = StageState::new(&self.kernel.stages[stage]).loops;
        self.stages[stage].operands[1] = Some(Operand { mem, layout });
        self.add_copy(stage, plane.copy, layout)
    }

    pub(super) fn stage_read(&mut self, stage: &str, read: &Read, layout: Layout, home: StageHome) -> Applied {
        let index = self.stage(stage)?;
        if let Layout::Plane { .. } = layout {
            return self.stage_plane(index, read, layout, home);
        }
        let (name, value, over) = self.what_is_read(index, read, layout)?;
        let exprs = &self.kernel.exprs;
        let of_a_step = |e: &ExprId| matches!(exprs.get(*e), Expr::Carry(..) | Expr::Old(..) | Expr::New(..));
        if exprs.reachable(&[value]).iter().any(of_a_step) {
            return Err("the read depends on the reduction's running values".into());
        }
        let copy = |n: &u8| self.stages[index].operands.get(usize::from(*n)).copied().flatten();
        let staged = |n: &u8| copy(n).is_some_and(|c| !matches!(c.layout, Layout::Plane { .. }));
        let copied = matches!(read, Read::Operand(n) if staged(n));
        let known = self.same_copy(value, &over, layout).filter(|_| home == StageHome::Task && !copied);
        if let (Read::Operand(operand), Some(temp)) = (read, known) {
            let copy = self.element(temp, self.kernel.exprs.dtype(value), &over);
            self.read_copy(index, *operand, copy, layout);
            return Ok(());
        }
        if copied || self.kernel.stages.iter().any(|s| s.name == name) {
            return Err(format!("`{name}` is staged already"));
        }
        match layout {
            Layout::Panels(0) => return Err("panels of no columns".into()),
            Layout::Panels(_) if over.len() < 2 => return Err("panels need two axes".into()),
            _ if over.is_empty() => return Err("what is the same at every point needs no copy".into()),
            _ => {}
        }
        let copy = self.copy_in(home, index, name, value, over, layout)?;
        match read {
            Read::Operand(operand) => self.read_copy(index, *operand, copy, layout),
            Read::Load { .. } => self.replace(index, value, copy),
        }
        Ok(())
    }

    /// What a stage reads: the name of its copy, its value, and the axes that this varies along.
    fn what_is_read(&mut self, index: usize, read: &Read, layout: Layout) -> Applied<(String, ExprId, Vec<AxisId>)> {
        let stage = self.kernel.stages[index].name.clone();
        match read {
            Read::Operand(operand) => {
                let found = self.contraction(index)?;
                let (side, value) = match operand {
                    0 => ("a", found.a),
                    1 => ("b", found.b),
                    _ => return Err("a contraction has operands 0 and 1".into()),
                };
                Ok((format!("{stage}.{side}"), value, found.operand_axes(&self.kernel, *operand, layout)))
            }
            Read::Load { from, nth } => {
                let value = self.load(index, read)?;
                let number = if *nth > 0 { format!("_{nth}") } else { String::new() };
                Ok((format!("{stage}.{from}{number}"), value, contraction::axes_of(&self.kernel, value)))
            }
        }
    }

    /// Adds what makes a copy at its home; an element of it.
    fn copy_in(
        &mut self,
        home: StageHome,
        index: usize,
        name: String,
        value: ExprId,
        over: Vec<AxisId>,
        layout: Layout,
    ) -> Applied<ExprId> {
        let dtype = self.kernel.exprs.dtype(value);
        Ok(match home {
            StageHome::Task => {
                let element = self.element(TempId(self.kernel.stages.len() as u32), dtype, &over);
                self.add_copy(index, Stage { name, over, body: Body::map(value), outs: vec![Out::Temp] }, layout)?;
                element
            }
            StageHome::Shared => {
                let outside = |e: &ExprId| !matches!(self.kernel.exprs.get(*e), Expr::Load { from: Mem::Temp(..), .. });
                if !self.kernel.exprs.reachable(&[value]).iter().all(outside) {
                    return Err("an operand that reads another stage cannot be shared by all tasks".into());
                }
                let extents: Vec<Size> = over.iter().map(|a| self.kernel.axes[a.index()].extent.clone()).collect();
                let param = ParamId(self.kernel.params.len() as u32);
                let shape = contraction::layout_shape(&extents, layout);
                self.kernel.params.push(Param { dtype, shape, constant: false });
                self.workspaces.push(param);
                let at = contraction::packed_index(&mut self.kernel, &over, layout);
                let outs = vec![Out::Param { param, index: at.clone() }];
                self.add_copy(index, Stage { name, over, body: Body::map(value), outs }, layout)?;
                self.kernel.exprs.load(dtype, Mem::Param(param), &at)
            }
            StageHome::Prepared => {
                // Of the kernel's own arguments: those that the schedule adds come after them.
                let own = self.kernel.params.len() - self.packs.len() - self.workspaces.len();
                let pack = contraction::pack_kernel(&self.kernel, own, value, &over, layout).map_err(String::from)?;
                let packed = ParamId(self.kernel.params.len() as u32);
                let shape = pack.params[pack.params.len() - 1].shape.clone();
                self.kernel.params.push(Param { dtype, shape, constant: true });
                let at = contraction::packed_index(&mut self.kernel, &over, layout);
                self.packs.push(PackJob { kernel: pack, packed });
                self.kernel.exprs.load(dtype, Mem::Param(packed), &at)
            }
        })
    }

    /// What a temporary has at the point of a stage.
    fn element(&mut self, temp: TempId, dtype: DType, over: &[AxisId]) -> ExprId {
        let Kernel { exprs, axes, .. } = &mut self.kernel;
        let at: Vec<ExprId> = over.iter().map(|a| exprs.index(Size::from(&axes[a.index()].var))).collect();
        exprs.load(dtype, Mem::Temp(temp, 0), &at)
    }

    /// Gives a contraction a copy for an operand.
    fn read_copy(&mut self, stage: usize, operand: u8, copy: ExprId, layout: Layout) {
        contraction::replace_operand(&mut self.kernel, stage, operand, copy);
        if let Expr::Load { from: mem, .. } = *self.kernel.exprs.get(copy) {
            self.stages[stage].operands[usize::from(operand)] = Some(Operand { mem, layout });
        }
    }

    /// The stage that copies the same for another contraction: one copy serves both.
    fn same_copy(&self, value: ExprId, over: &[AxisId], layout: Layout) -> Option<TempId> {
        let same = |s: &usize| {
            let stage = &self.kernel.stages[*s];
            let operand = Operand { mem: Mem::Temp(TempId(*s as u32), 0), layout };
            let of_another = self.stages.iter().any(|state| state.operands.contains(&Some(operand)));
            of_another && stage.over == over && stage.body.mapped() == Some(value) && stage.outs == [Out::Temp]
        };
        (0..self.kernel.stages.len()).find(same).map(|s| TempId(s as u32))
    }

    /// Adds the stage that copies an operand of stage `of`.
    pub(super) fn add_copy(&mut self, of: usize, copy: Stage, layout: Layout) -> Applied {
        self.stages.push(StageState { layout, ..StageState::new(&copy) });
        let position = self.order.iter().position(|o| *o == of).ok_or("the stage is not in order")?;
        self.order.insert(position, self.kernel.stages.len());
        self.kernel.stages.push(copy);
        Ok(())
    }

    /// Gives a stage another value in place of one that it uses.
    fn replace(&mut self, stage: usize, value: ExprId, with: ExprId) {
        let from = self.kernel.exprs.clone();
        let exprs = &mut self.kernel.exprs;
        // Equal nodes are one: the copy of what does not use `value` is itself.
        let swap = |pool: &mut ExprPool, node: Expr, dtype: DType| match pool.add(node, dtype) {
            same if same == value => with,
            other => other,
        };
        let mut change = |root: &mut ExprId| *root = exprs.copy_with(&from, &[*root], &|_| None, swap)[0];
        self.kernel.stages[stage].for_each_root(&mut change);
    }
}
