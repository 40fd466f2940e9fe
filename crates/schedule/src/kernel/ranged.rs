//! A kernel, and what its arguments are.

use crate::kernel::access::accesses;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, ParamId};
use svod_ir::graph::walk::NodeIndex;
use svod_ir::kernel::{Kernel, Out, Stage};
use svod_ir::pass::Artifact;

/// A kernel and the nodes that its parameters stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranged {
    pub kernel: Kernel,
    pub params: Vec<NodeIndex>,
    /// Those of the nodes that it writes.
    pub outputs: Vec<NodeIndex>,
}

impl Artifact for Ranged {
    fn verify(&self) -> Result<(), String> {
        self.kernel.verify().map_err(|fault| fault.to_string())
    }

    fn text(&self) -> Option<String> {
        self.kernel.text()
    }
}

impl Ranged {
    /// The same with the outputs last, and no parameters that are not used.
    pub fn arranged(self) -> Ranged {
        let Ranged { mut kernel, params, outputs } = self;
        let used: Vec<ParamId> = accesses(&kernel)
            .into_iter()
            .filter_map(|(mem, _)| if let Mem::Param(p) = mem { Some(p) } else { None })
            .collect();
        let is_output = |p: usize| outputs.contains(&params[p]);
        let mut order: Vec<usize> = (0..params.len()).filter(|p| used.contains(&ParamId(*p as u32))).collect();
        order.sort_by_key(|p| is_output(*p));
        if order.iter().copied().eq(0..params.len()) {
            return Ranged { kernel, params, outputs };
        }
        let place = |p: ParamId| ParamId(order.iter().position(|o| *o == p.index()).unwrap_or(0) as u32);
        kernel.params = order.iter().map(|p| kernel.params[*p].clone()).collect();
        let renumber = |pool: &mut ExprPool, node: Expr, dtype| match node {
            Expr::Load { from: Mem::Param(p), ref index, valid, other } => {
                pool.load_valid(dtype, Mem::Param(place(p)), index, valid, other)
            }
            node => pool.add(node, dtype),
        };
        let old = std::mem::take(&mut kernel.exprs);
        let roots: Vec<ExprId> = kernel.stages.iter().flat_map(Stage::roots).collect();
        let mut new = kernel.exprs.copy_with(&old, &roots, &|_| None, renumber).into_iter();
        for stage in &mut kernel.stages {
            stage.for_each_root(&mut |root| *root = new.next().unwrap_or(*root));
            for out in &mut stage.outs {
                if let Out::Param { param, .. } = out {
                    *param = place(*param);
                }
            }
        }
        let params: Vec<NodeIndex> = order.iter().map(|p| params[*p]).collect();
        let outputs = params.iter().copied().filter(|n| outputs.contains(n)).collect();
        Ranged { kernel, params, outputs }
    }
}
