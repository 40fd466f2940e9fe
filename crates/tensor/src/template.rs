//! Functions of elements that are composed of many operations, which are looked at once and then built without asking.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use svod_dtype::Const;
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
    Constant(Const),
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
                (None, Op::Const(value)) => Step::Constant(*value),
                (None, op @ (Op::Alu(_) | Op::Cast(_) | Op::Bitcast(_) | Op::Detach)) => {
                    Step::Apply(op.clone(), sources.iter().map(|source| *source as usize).collect())
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
        let Some(shape) = operands.first().map(UOp::shape_arc) else {
            return Tensor::constant(Const::bool(false));
        };
        let mut values: Vec<Value> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let value = match step {
                Step::Operand(at) => Value::Each(operands[*at].clone()),
                Step::Constant(value) => Value::Same(UOp::constant(*value)?, None),
                Step::Apply(op, sources) => applied(op, sources, &mut values, shape)?,
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

fn applied(op: &Op, sources: &[usize], values: &mut [Value], shape: &Shape) -> Result<Value> {
    let is_same = sources.iter().all(|source| matches!(values[*source], Value::Same(..)));
    let operand = |source: &usize| match &mut values[*source] {
        Value::Same(node, _) if is_same => Ok(node.clone()),
        value => value.each(shape),
    };
    let operands = sources.iter().map(operand).collect::<Result<SmallVec<[UOp; 3]>>>()?;
    let made = UOp::new(op.clone(), &operands)?;
    Ok(if is_same { Value::Same(made, None) } else { Value::Each(made) })
}
