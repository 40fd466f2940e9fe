//! Functions of one example, applied to many at once: a graph over examples becomes one over batches, in which each
//! operation has one more dimension, the first.
//!
//! The function runs once, on *examples*: values that have a shape and a type, and whose elements nobody can read. What it
//! gives follows from these, and from values that are the same for all examples and stay as they are. The walk replaces
//! each operation between by the same operation over batches; `table` says how, a row for each operation. No loop is left: a
//! batch of products is a product of batches, and is scheduled as one.
//!
//! This is the vectorizing map of JAX (`jax.vmap`; Frostig, Johnson and Leary 2018), done on the graph once it is there.

mod table;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use svod_dtype::DType;
use svod_ir::graph::{Op, Pullback, Shape, Sources, UOp};
use svod_ir::size::Size;
use svod_runtime::plan::CustomError;
use svod_runtime::{Function, HostArgs};

use crate::derivative::{Rule, unrolled};
use crate::error::{Result, TensorError};
use crate::tensor::Tensor;
use table::{Operand, over_batches};

/// What values are for a whole batch: with one more dimension, the first; none of what is the same for all examples.
///
/// `batches` have the shapes of `examples`, from which the values follow, behind a first dimension of one extent.
///
/// # Errors
/// Batches of other shapes or of unequal extents, and operations that are not there for batches.
///
/// ```
/// use svod_tensor::{Tensor, batched};
/// let batch = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
/// let example = Tensor::from_slice(&[0.0f32, 0.0], &[2])?;
/// let total = example.mul(&example)?.sum(None, false)?;
/// let totals = batched(&[&total], &[&example], &[&batch])?;
/// assert_eq!(totals[0].as_ref().unwrap().to_vec::<f32>()?, [5.0, 25.0]);
/// # Ok::<(), svod_tensor::TensorError>(())
/// ```
pub fn batched(values: &[&Tensor], examples: &[&Tensor], batches: &[&Tensor]) -> Result<Vec<Option<Tensor>>> {
    let count = checked_count(examples, batches)?;
    let leaves: Vec<(UOp, UOp)> = examples.iter().zip(batches).map(|(e, b)| (e.uop().resolved(), b.uop())).collect();
    let found = leaves.iter().map(|(example, batch)| (example.id(), Some(batch.clone()))).collect();
    let mut walk = Walk { count, leaves: Arc::new(leaves), found };
    let roots: Vec<UOp> = values.iter().map(|value| value.uop().resolved()).collect();
    walk.visit(&roots)?;
    Ok(roots.iter().map(|root| walk.found[&root.id()].clone().map(Tensor::from_uop)).collect())
}

/// The extent of the first dimension of all batches.
fn checked_count(examples: &[&Tensor], batches: &[&Tensor]) -> Result<Size> {
    let mut count: Option<Size> = None;
    for (example, batch) in examples.iter().zip(batches) {
        let (example, batch) = (example.uop(), batch.uop());
        let fits = batch.rank() == example.rank() + 1
            && batch.shape()[1..] == *example.shape()
            && batch.dtype() == example.dtype()
            && count.as_ref().is_none_or(|count| *count == batch.shape()[0]);
        if !fits {
            let message = format!(
                "a batch of {} {:?} for examples of {} {:?}: batches have one extent, in front of the shape of an example",
                batch.dtype(),
                batch.shape(),
                example.dtype(),
                example.shape()
            );
            return Err(TensorError::shape("vmap", message));
        }
        count = Some(batch.shape()[0].clone());
    }
    count.ok_or_else(|| TensorError::shape("vmap", "no batch, of which the extent is to be known".to_owned()))
}

enum Visit {
    Open(UOp),
    /// The operation over what its operands have become.
    Close(UOp, Sources),
    /// The same as another value of one example.
    Same(UOp, UOp),
}

struct Walk {
    count: Size,
    /// The examples, each with its batch.
    leaves: Arc<Vec<(UOp, UOp)>>,
    /// By node: its value for the batch; none where that is the same for all examples.
    found: FxHashMap<u64, Option<UOp>>,
}

impl Walk {
    /// Finds the values of these nodes, by a list, whatever the depth, looking at each node once.
    fn visit(&mut self, roots: &[UOp]) -> Result<()> {
        let mut work: Vec<Visit> = roots.iter().rev().cloned().map(Visit::Open).collect();
        while let Some(visit) = work.pop() {
            match visit {
                Visit::Open(node) if self.found.contains_key(&node.id()) => {}
                Visit::Open(node) => {
                    let sources = node.sources();
                    if sources.is_empty() {
                        self.found.insert(node.id(), None);
                        continue;
                    }
                    let below: Vec<Visit> = sources.iter().rev().map(|s| Visit::Open(s.resolved())).collect();
                    work.push(Visit::Close(node, sources));
                    work.extend(below);
                }
                Visit::Close(node, _) if self.found.contains_key(&node.id()) => {}
                Visit::Close(node, sources) => {
                    let operands: Vec<Operand> = sources.iter().map(|source| self.operand(source)).collect();
                    if operands.iter().all(|operand| !operand.is_batch) {
                        self.found.insert(node.id(), None);
                    } else if let Op::Loop(body, output) = node.op() {
                        let made = unrolled(body, &sources)?.swap_remove(*output).resolved();
                        work.push(Visit::Same(node, made.clone()));
                        work.push(Visit::Open(made));
                    } else {
                        let made = match node.op() {
                            Op::Derived(by, _) => self.derived(by, &sources[1..], &operands)?,
                            _ => over_batches(&node, &operands, &self.count)?,
                        };
                        made.inherit_origin(&node);
                        self.found.insert(node.id(), Some(made));
                    }
                }
                Visit::Same(node, other) => {
                    let value = self.found[&other.id()].clone();
                    self.found.insert(node.id(), value);
                }
            }
        }
        Ok(())
    }

    /// A value for a batch whose derivative is given: the rule is applied to a cotangent of one example, and what it gives,
    /// which may follow from other values of that example, becomes that of the batch.
    fn derived(&self, by: &Pullback, of_example: &[UOp], operands: &[Operand]) -> Result<UOp> {
        let all = operands.iter().map(|operand| operand.leading(&self.count)).collect::<Result<Vec<UOp>>>()?;
        let all: Vec<Tensor> = all.into_iter().map(Tensor::from_uop).collect();
        let (rule, leaves, of_example) = (by.clone(), self.leaves.clone(), of_example.to_vec());
        let pull = move |g: &Tensor| {
            let Some(given) = rule.downcast::<Rule>() else { return Ok(vec![None; of_example.len()]) };
            let (example, leaf) = example(&g.shape()[1..], g.dtype())?;
            let parts = given.pull(&example, &of_example)?;
            let (mut examples, mut batches): (Vec<Tensor>, Vec<Tensor>) =
                leaves.iter().map(|(e, b)| (Tensor::from_uop(e.clone()), Tensor::from_uop(b.clone()))).unzip();
            examples.push(Tensor::from_uop(leaf));
            batches.push(if g.dtype().is_complex() { g.as_real()? } else { g.clone() });
            let (examples, batches): (Vec<&Tensor>, Vec<&Tensor>) =
                (examples.iter().collect(), batches.iter().collect());
            let for_batch = |part: &Tensor| {
                let made = batched(&[part], &examples, &batches)?.swap_remove(0);
                let same = Operand { node: part.uop(), is_batch: false };
                made.map_or_else(|| Ok(Tensor::from_uop(same.leading(&g.shape()[0])?)), Ok)
            };
            parts.iter().map(|part| part.as_ref().map(for_batch).transpose()).collect::<Result<Vec<_>>>()
        };
        let operands: Vec<&Tensor> = all[1..].iter().collect();
        let value =
            all[0].with_derivative(by.rule().name(), &operands, move |g| pull(g).map_err(|e| Arc::new(e) as _))?;
        Ok(value.uop())
    }

    fn operand(&self, source: &UOp) -> Operand {
        let source = source.resolved();
        match &self.found[&source.id()] {
            Some(batch) => Operand { node: batch.clone(), is_batch: true },
            None => Operand { node: source, is_batch: false },
        }
    }
}

/// A value of one example, of which nobody can read the elements, and the node that it follows from: of complex numbers
/// that is their pairs.
pub(crate) fn example(shape: &[Size], dtype: DType) -> Result<(Tensor, UOp)> {
    let pair = dtype.is_complex().then_some(Size::from(2));
    let (of, shape): (DType, Shape) = (dtype.real(), shape.iter().cloned().chain(pair).collect());
    let read =
        |_: &HostArgs| Err(CustomError::Failed("the elements of an example are not there to be read".to_owned()));
    let function = Function::new("example", move |_| Ok(vec![(of, shape.clone())]), read);
    let leaf = Tensor::host(function, &[])?.swap_remove(0);
    Ok((if dtype.is_complex() { leaf.as_complex()? } else { leaf.clone() }, leaf.uop()))
}
