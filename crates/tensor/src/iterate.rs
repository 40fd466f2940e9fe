//! Loops over tensors, and functions of the host on them.

use std::ops::Range;
use std::sync::Arc;

use svod_ir::graph::key::BindMismatch;
use svod_ir::graph::{GraphError, Leaf, Op, Place, UOp};
use svod_ir::size::{Size, Variable};
use svod_runtime::Function;

use crate::devices::{joined, spread};
use crate::error::{Result, TensorError, show_operands};
use crate::memory::device_of;
use crate::tensor::Tensor;
use crate::trace::Trace;

impl Tensor {
    /// What `init` becomes when `body` computes it anew for each number of `times`, from the number and the
    /// values so far. The body is called once, with the number as a size, to be used in indices, shapes
    /// and arithmetic; the loop is part of the plan. Shapes, types and devices stay as they begin: what is
    /// spread over devices is carried in its parts.
    ///
    /// ```
    /// use svod_tensor::{Tensor, TensorError};
    /// let x = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
    /// let last = Tensor::iterate(1..5, &[&x], |i, x| Ok::<_, TensorError>(vec![x[0].mul(i)?]))?;
    /// assert_eq!(last[0].to_vec::<f32>()?, [24.0, 48.0]);
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// Those of the body, another number of results than of values, and results of another shape or type
    /// than the values that they are to replace.
    pub fn iterate<E: From<TensorError>>(
        times: Range<i64>,
        init: &[&Tensor],
        body: impl FnOnce(Size, Vec<Tensor>) -> Result<Vec<Tensor>, E>,
    ) -> Result<Vec<Tensor>, E> {
        if times.is_empty() || init.is_empty() {
            return Ok(init.iter().map(|t| Tensor::from_uop(t.uop())).collect());
        }
        // With a dot, no user's variable is of this name.
        let name = format!("loop.{}", Trace::depth());
        let var = Variable::internal(&name, times.start, times.end - 1).map_err(TensorError::from)?;
        let begin: Vec<UOp> = init.iter().map(|t| t.uop()).collect();
        let (carried, places) = spread(&begin)?;
        let name = |trace: &Trace| {
            for (i, place) in places.iter().enumerate() {
                trace.slots_for(place.len(), format!("value {i} of the loop"));
            }
        };
        let outputs = repeat(&var, &carried, name, |number, params| {
            // Handles of the body's own, which it may assign to.
            let inside = |(value, place): (&UOp, &Range<usize>)| -> Result<Tensor> {
                Ok(Tensor::from_uop(joined(value, params[place.clone()].to_vec())?))
            };
            let inside = begin.iter().zip(&places).map(inside).collect::<Result<Vec<_>>>()?;
            let results = body(number, inside)?;
            if results.len() != init.len() {
                let message = format!("{} values are carried, but the body gives {}", init.len(), results.len());
                return Err(TensorError::value("iterate", message).into());
            }
            let mut next = Vec::with_capacity(carried.len());
            for (i, (value, result)) in begin.iter().zip(&results).enumerate() {
                let result = result.uop();
                let Some(of) = value.sharding() else {
                    next.push(result);
                    continue;
                };
                if result.shape() != value.shape() {
                    let (was, is) = (show_operands(std::slice::from_ref(value)), show_operands(&[result]));
                    let message = format!("carried value {i} is {was} and becomes {is}");
                    return Err(TensorError::shape("iterate", message).into());
                }
                next.extend(result.shard(of).and_then(|result| result.parts()).map_err(TensorError::from)?);
            }
            Ok::<_, E>((next, Vec::new()))
        })?;
        let whole = |(value, place): (&UOp, Range<usize>)| joined(value, outputs[place].to_vec()).map(Tensor::from_uop);
        Ok(begin.iter().zip(places).map(whole).collect::<Result<_>>()?)
    }

    /// The results of a function of the host on these operands: it is called when they are needed, each
    /// time that a plan with it runs. Of what lies whole on each of several devices it reads the first one's, and so
    /// do its results lie.
    ///
    /// ```
    /// use svod_runtime::Function;
    /// use svod_tensor::{Tensor, TensorError};
    /// let reverse = Function::new(
    ///     "reverse_bytes",
    ///     |operands| Ok(vec![(operands[0].0, operands[0].1.into())]),
    ///     |args| {
    ///         let mut bytes = args.operands[0].buffer.to_vec().map_err(|e| svod_runtime::plan::CustomError::Failed(e.to_string()))?;
    ///         bytes.reverse();
    ///         args.results[0].buffer.copy_in(&bytes).map_err(|e| svod_runtime::plan::CustomError::Failed(e.to_string()))
    ///     },
    /// );
    /// let x = Tensor::from_slice(&[1u8, 2, 3], &[3])?;
    /// let y = Tensor::host(reverse, &[&x])?;
    /// assert_eq!(y[0].to_vec::<u8>()?, [3, 2, 1]);
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// Operands that the function's rule refuses.
    pub fn host(function: Arc<Function>, operands: &[&Tensor]) -> Result<Vec<Tensor>> {
        let mut operands: Vec<UOp> = operands.iter().map(|t| t.uop()).collect();
        let places = operands.iter().filter_map(UOp::place);
        let whole = match places.clone().next() {
            Some(Place::Many(of)) if of.split().is_none() && places.clone().all(|p| *p == Place::Many(of.clone())) => {
                Some(of.clone())
            }
            _ => None,
        };
        if whole.is_some() {
            for operand in &mut operands {
                *operand = operand.parts()?.swap_remove(0);
            }
        }
        let results = UOp::host(function, &operands).map_err(TensorError::of_step("custom", operands.len()))?;
        let there =
            |result: UOp| Ok(Tensor::from_uop(whole.as_ref().map_or(Ok(result.clone()), |of| result.shard(of))?));
        results.into_iter().map(there).collect()
    }
}

/// What `carried`, each on one device, becomes when `body` computes it anew for each value of a variable, from the value and
/// what is carried so far; then what the body gives besides, stacked. `name` says what a program calls the carried values.
pub(crate) fn repeat<E: From<TensorError>>(
    var: &Variable,
    carried: &[UOp],
    name: impl FnOnce(&Trace),
    body: impl FnOnce(Size, Vec<UOp>) -> Result<(Vec<UOp>, Vec<UOp>), E>,
) -> Result<Vec<UOp>, E> {
    let trace = Trace::of_body();
    name(&trace);
    let mut params = Vec::with_capacity(carried.len());
    for (slot, value) in (0u32..).zip(carried) {
        params.push(parameter(value, slot, &trace)?);
    }
    let results = trace.run(|| {
        let leaves = params.iter().map(|param| UOp::leaf(param.clone())).collect::<Result<Vec<_>, GraphError>>();
        let (mut next, rows) = body(Size::from(var), leaves.map_err(TensorError::from)?)?;
        next.extend(rows);
        Ok::<_, E>(next)
    })?;
    let mut outside = |node: &UOp, slot: u32| parameter(node, slot, &trace);
    let of_step = |error: TensorError| match error {
        TensorError::Graph(error) => TensorError::of_step("iterate", carried.len())(error),
        error => error,
    };
    Ok(UOp::iterate(var, carried, params, &results, &mut outside).map_err(of_step)?)
}

/// What stands for a value in the body of a loop.
pub(crate) fn parameter(value: &UOp, slot: u32, trace: &Trace) -> Result<Leaf> {
    let device = device_of(value)?;
    let placeholder = Tensor::placeholder(device.spec(), value.shape(), value.dtype(), slot, trace)?.uop();
    match placeholder.op() {
        Op::Leaf(leaf) => Ok(leaf.clone()),
        _ => Err(TensorError::value("iterate", "a value without memory")),
    }
}

impl From<BindMismatch> for TensorError {
    fn from(error: BindMismatch) -> Self {
        TensorError::Runtime(error.into())
    }
}
