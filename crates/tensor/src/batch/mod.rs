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

use rustc_hash::FxHashMap;
use svod_ir::graph::{Op, Sources, UOp};
use svod_ir::size::Size;

use crate::derivative::unrolled;
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
    let mut walk = Walk { count, found: FxHashMap::default() };
    for (example, batch) in examples.iter().zip(batches) {
        walk.found.insert(example.uop().resolved().id(), Some(batch.uop()));
    }
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
                        let made = over_batches(&node, &operands, &self.count)?;
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

    fn operand(&self, source: &UOp) -> Operand {
        let source = source.resolved();
        match &self.found[&source.id()] {
            Some(batch) => Operand { node: batch.clone(), is_batch: true },
            None => Operand { node: source, is_batch: false },
        }
    }
}
