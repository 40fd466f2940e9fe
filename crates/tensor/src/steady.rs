//! What a traced function finds outside of its arguments, as constants of a plan.
//!
//! A plan that is given weights anew in each run lays them out for its contractions in each run. Where calls find the
//! same values again and again, the function gets a second plan in which these are constants. This decides when two calls find
//! the same, and puts memory, or other values, in the places of inputs.

use rustc_hash::FxHashMap;
use svod_ir::graph::{Graph, Leaf, UOp};

use crate::error::Result;
use crate::output::with_leaves;
use crate::realize::{seen, viewed};
use crate::tensor::Tensor;

impl Tensor {
    /// A number that no other value has, of one in memory that stays as it is.
    pub fn constant_id(&self) -> Option<u64> {
        let node = self.uop();
        let constant = |part: &UOp| viewed(part).is_some_and(|leaf| leaf.class().is_constant());
        let known = self.dims().is_ok() && node.parts().is_ok_and(|parts| parts.iter().all(constant));
        known.then(|| node.id())
    }
}

/// What a graph computes, with values in memory in place of its inputs; none where one of them does not fit there.
pub fn with_constants(graph: &Graph, inputs: &[(&Tensor, &Tensor)]) -> Result<Option<Vec<Tensor>>> {
    let values = inputs.iter().map(|(_, value)| value.detach()).collect::<Result<Vec<_>>>()?;
    with_values(graph, &inputs.iter().zip(&values).map(|((input, _), value)| (*input, value)).collect::<Vec<_>>())
}

/// What a graph computes, with values in place of its inputs; none where one of them does not fit there.
pub fn with_values(graph: &Graph, inputs: &[(&Tensor, &Tensor)]) -> Result<Option<Vec<Tensor>>> {
    let mut by: FxHashMap<Leaf, UOp> = FxHashMap::default();
    for (input, value) in inputs {
        let (input, value) = (input.uop().parts()?, value.uop().parts()?);
        if input.len() != value.len() {
            return Ok(None);
        }
        for (old, new) in input.iter().zip(value) {
            let Some((node, leaf)) = seen(old).and_then(|node| Some((node.clone(), node.op().leaf()?.clone()))) else {
                return Ok(None);
            };
            if (node.dtype(), node.shape()) != (new.dtype(), new.shape()) {
                return Ok(None);
            }
            by.insert(leaf, new);
        }
    }
    let nodes = with_leaves(graph, |_, leaf| Ok(by.get(leaf).cloned()))?;
    Ok(Some(graph.roots().iter().map(|root| Tensor::from_uop(nodes[*root as usize].clone())).collect()))
}
