//! Sums of single elements in memory one after the other, as Python's `sum` makes of a list: added up where they are read.
//!
//! A program that follows a loss sums a list that grows, and each length would be a graph of its own.

use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Graph, Op, UOp};
use svod_runtime::PrepareConfig;

use crate::error::Result;
use crate::folded;
use crate::joins::{MANY, PENDING};
use crate::kept;
use crate::realize::compute_all;
use crate::single;
use crate::sources;

/// Computes the sum of many elements that the one element of a node is made of, directly or by operations with numbers, and
/// says whether it did. The few elements that are yet to be computed are computed first.
///
/// # Errors
/// Those of computing them.
pub(crate) fn compute(node: &UOp) -> Result<bool> {
    if node.trace() != 0 {
        return Ok(false);
    }
    let Some((sum, terms)) = sum_below(node) else { return Ok(false) };
    let mut pending = Vec::new();
    for term in &terms {
        if single::unrounded(term)?.is_none() && !pending.contains(term) {
            pending.push(term.clone());
        }
    }
    if pending.len() * PENDING > terms.len() || !kept::are_lasting(&Graph::new(&pending)) {
        return Ok(false);
    }
    compute_all(&pending, None, PrepareConfig::of_reads)?;
    let Some(value) = total(&sum, &terms)? else { return Ok(false) };
    // Who looks for NaN is told by a run.
    if value.is_nan() && PrepareConfig::of_reads().detect_nan {
        return Ok(false);
    }
    let graph = Graph::new(std::slice::from_ref(&sum));
    let Some(claim) = sum.try_claim() else { return Ok(false) };
    let memory = folded::repeated(&sum, value)?;
    for sources in sources::of_roots(&graph) {
        sources::note(&memory, &sources)?;
    }
    claim.force(memory)?;
    Ok(true)
}

/// A sum of many elements, and these in the order in which they are added.
fn sum_below(node: &UOp) -> Option<(UOp, Vec<UOp>)> {
    let mut node = node.resolved();
    loop {
        let Op::Alu(alu) = *node.op() else { return None };
        if alu == Alu::Add && adds_exactly(node.dtype()) {
            let terms = terms(&node);
            if terms.len() >= MANY {
                return Some((node, terms));
            }
        }
        let sources = node.sources();
        let mut unknown = sources.iter().filter(|source| source.uniform().is_none());
        let (one, None) = (unknown.next()?, unknown.next()) else { return None };
        node = one.resolved();
    }
}

/// Whether kernels round each addition as the reference arithmetic does.
fn adds_exactly(dtype: DType) -> bool {
    dtype.is_int() || matches!(dtype, DType::F32 | DType::F64)
}

/// What a chain of additions adds, the innermost first.
fn terms(sum: &UOp) -> Vec<UOp> {
    let (mut terms, mut node) = (Vec::new(), sum.clone());
    while let Op::Alu(Alu::Add) = node.op() {
        let [before, term] = &node.sources()[..] else { break };
        terms.push(term.resolved());
        node = before.resolved();
    }
    terms.push(node);
    terms.reverse();
    terms
}

/// The sum of elements that are in memory, or numbers.
fn total(sum: &UOp, terms: &[UOp]) -> Result<Option<Const>> {
    let mut total: Option<Const> = None;
    for term in terms {
        let Some(value) = single::unrounded(term)? else { return Ok(None) };
        total = match total {
            None => Some(value),
            Some(so_far) => Alu::Add.eval(&[so_far, value]),
        };
        if total.is_none() {
            return Ok(None);
        }
    }
    Ok(total.filter(|total| total.dtype() == sum.dtype()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::tensor::Tensor;

    /// The sum as Python makes it.
    fn sum(terms: &[Tensor]) -> Tensor {
        let zero = Tensor::full::<i64>(&[], 0.0, Some(terms[0].dtype())).unwrap();
        terms.iter().fold(zero, |sum, term| sum.add(term).unwrap())
    }

    #[test]
    fn a_list_that_grows_is_summed() {
        let w = Tensor::from_slice(&[0.1f32, 0.7, -0.3], &[3]).unwrap();
        let (mut terms, mut wanted): (Vec<Tensor>, Vec<f32>) = (Vec::new(), Vec::new());
        for i in 0..40 {
            terms.push(w.mul(i as f32).unwrap().sum(None, false).unwrap());
            let total = sum(&terms);
            let mean = total.div(terms.len() as f32).unwrap();
            let found = mean.item::<f32>().unwrap();
            wanted.push(terms[i].item::<f32>().unwrap());
            let expected = wanted.iter().sum::<f32>();
            assert_eq!(found, expected / terms.len() as f32);
            assert_eq!(total.item::<f32>().unwrap(), expected);
        }
        assert!(terms.iter().all(Tensor::is_realized));
    }

    #[test]
    fn integers_and_elements_of_memory_are_summed() {
        let numbers: Vec<i32> = (0..300).map(|i| i * 7919 % 1013).collect();
        let x = Tensor::from_slice(&numbers, &[300]).unwrap();
        let terms: Vec<Tensor> = (0..300i64).map(|i| x.get(&[i.into()]).unwrap()).collect();
        assert_eq!(sum(&terms).item::<i32>().unwrap(), numbers.iter().sum::<i32>());
        assert_eq!(sum(&terms).sub(1).unwrap().item::<i32>().unwrap(), numbers.iter().sum::<i32>() - 1);
    }

    #[test]
    fn products_are_left_to_kernels() {
        let x = Tensor::from_slice(&[1.5f32, 0.1, 3.3, 4.7, 5.9, 6.1], &[6]).unwrap();
        let at = |i: i64| x.get(&[i.into()]).unwrap();
        let products: Vec<Tensor> = (0..6).map(|i| at(i).mul(at(5 - i)).unwrap()).collect();
        assert!(!super::compute(&sum(&products).uop()).unwrap());
    }
}
