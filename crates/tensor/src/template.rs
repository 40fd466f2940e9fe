//! Functions of elements that are composed of many operations, which are looked at once and then built without asking.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use svod_ir::graph::{Graph, Op, Shape, UOp};

use crate::error::Result;
use crate::operand::broadcast;
use crate::tensor::Tensor;

/// The operations of a function of elements, in order.
pub struct Template {
    steps: Vec<Step>,
    result: usize,
}

enum Step {
    /// The operand of this number.
    Operand(usize),
    /// What no operand is part of, without dimensions.
    Same(UOp),
    /// An operation on earlier steps.
    Apply(Op, SmallVec<[usize; 3]>),
}

/// The value of a step.
enum Value {
    /// The same for all elements, 0-d; and expanded, once that is asked for.
    Same(UOp, Option<UOp>),
    Each(UOp),
}

impl Template {
    /// The template of what was made of operands without dimensions; none where there is more in it than operations on
    /// elements and constants.
    pub fn of(operands: &[Tensor], result: &Tensor) -> Option<Template> {
        let graph = Graph::new(&[result.uop()]);
        let operands: FxHashMap<u64, usize> = operands.iter().enumerate().map(|(i, one)| (one.uop().id(), i)).collect();
        let mut steps = Vec::with_capacity(graph.len());
        for (node, sources) in graph.iter() {
            let step = match (operands.get(&node.id()), node.op()) {
                (Some(operand), _) => Step::Operand(*operand),
                (None, Op::Const(_)) => Step::Same(node.clone()),
                (None, op @ (Op::Alu(_) | Op::Cast(_) | Op::Bitcast(_) | Op::Detach)) => {
                    match sources.iter().all(|source| matches!(steps[*source as usize], Step::Same(_))) {
                        true => Step::Same(node.clone()),
                        false => Step::Apply(op.clone(), sources.iter().map(|source| *source as usize).collect()),
                    }
                }
                _ => return None,
            };
            steps.push(step);
        }
        Some(Template { steps, result: *graph.roots().first()? as usize })
    }

    /// The function of these operands, which broadcast, and are of the types for which the template was made.
    ///
    /// # Errors
    /// Operands that do not broadcast, or that are on several devices.
    pub fn apply(&self, op: &'static str, operands: &[Tensor]) -> Result<Tensor> {
        let operands = broadcast(op, operands.iter().map(Tensor::uop).collect())?;
        let shape: &Shape = &operands.first().map_or_else(|| Vec::new().into(), |one| one.shape_arc().clone());
        let mut values: Vec<Value> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let value = match step {
                Step::Operand(at) => Value::Each(operands[*at].clone()),
                Step::Same(node) => Value::Same(node.clone(), None),
                Step::Apply(op, sources) => {
                    let operands = sources.iter().map(|source| values[*source].each(shape));
                    Value::Each(UOp::new(op.clone(), &operands.collect::<Result<SmallVec<[UOp; 3]>>>()?)?)
                }
            };
            values.push(value);
        }
        Ok(Tensor::from_uop(values[self.result].each(shape)?))
    }
}

impl Value {
    fn each(&mut self, shape: &Shape) -> Result<UOp> {
        match self {
            Value::Each(node) => Ok(node.clone()),
            Value::Same(_, Some(wide)) => Ok(wide.clone()),
            Value::Same(node, wide) => Ok(wide.insert(node.expand(shape.clone())?).clone()),
        }
    }
}
