//! Derivatives of graphs, as graphs.
//!
//! A derivative is an expression like any other: taking it builds a larger graph, which is simplified, fused and compiled
//! as one with what it is taken of. Nothing outside of this directory knows of it, but for marks that the
//! graph has: [`Op::Watch`], a variable; [`Op::Detach`], where nothing passes; [`Op::Derived`], a value whose derivative
//! the program gives.
//!
//! | file | subject |
//! |---|---|
//! | `table` | the table: for each operation the cotangents of its operands |
//! | `scalars`, `folds`, `indexed`, `windows` | rows of the table that are longer than a line |
//! | `iteration` | one iteration of a loop; loops as the graphs that they stand for |
//! | `loops` | long loops in reverse, in memory of the square root of their length |
//! | `control` | branches and loops that are steps of plans |
//! | `walk` | the reverse walk |
//! | `variables` | tensors that require a gradient; `backward` |
//! | `attention` | attention by blocks of scores |
//! | `given` | derivatives that a program gives |
//! | `calls` | what calls of compiled functions give |
//! | `backward` | derivatives of graphs over inputs, of which such functions make plans |
//! | `checkpoint` | values that are computed again for their derivatives |
//! | `remade` | expressions over others in place of what they follow from |
//! | `algebra` | the operations that all of it is written in |
//!
//! Forward derivatives have no table: a pullback is linear in the cotangent, and the transpose of the transpose of a linear
//! map is that map, so that [`pushforward`] is the pullback of a pullback.
//!
//! [`Op::Watch`]: svod_ir::graph::Op::Watch
//! [`Op::Detach`]: svod_ir::graph::Op::Detach
//! [`Op::Derived`]: svod_ir::graph::Op::Derived

pub(crate) mod algebra;
pub(crate) mod attention;
mod backward;
pub(crate) mod backwards;
mod calls;
mod checkpoint;
mod control;
mod cropped;
mod folds;
mod given;
mod indexed;
mod iteration;
pub(crate) mod loops;
mod remade;
mod scalars;
mod sums;
mod table;
mod variables;
mod walk;
mod windows;

use rustc_hash::FxHashMap;
use svod_dtype::Const;
use svod_ir::graph::{Graph, Op, UOp, Watch};

use crate::error::{Result, TensorError, show_operands, show_typed};
use crate::tensor::Tensor;
use crate::trace::Trace;

pub use backward::{Backward, Kept};
pub use calls::with_derivatives;
pub(crate) use folds::first_maximum;
pub use given::Pulled;
pub(crate) use given::{Rule, following};
pub(crate) use iteration::unrolled;
pub(crate) use variables::Variable;
pub use variables::{grad_enabled, set_grad_enabled};

use walk::{Target, Walk};

impl Tensor {
    /// The derivatives of this value, times the cotangent, by tensors that it follows from: 1 for a value of one element.
    /// They need not require a gradient, and may be any values that it was built on.
    ///
    /// ```
    /// use svod_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
    /// let loss = x.mul(&x)?.sum(None, false)?;
    /// assert_eq!(loss.gradient(&[&x], None)?[0].to_vec::<f32>()?, [2.0, 4.0, 6.0]);
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// A value of several elements without a cotangent, and a cotangent of another shape or type; tensors that are not of
    /// floats, or that the value does not follow from; constants that require no gradient and are not in memory, two tensors
    /// that are computed alike, and an expression that was built more than once and by which the derivative is a sum, where equal
    /// ones are one value (see [`Tensor::told_apart`]); operations without a derivative.
    pub fn gradient(&self, by: &[&Tensor], cotangent: Option<&Tensor>) -> Result<Vec<Tensor>> {
        let op = "gradient";
        let root = self.uop();
        let seed = seed(op, &root, cotangent)?;
        if let Some(constant) = by.iter().find(|by| is_literal(&by.uop())) {
            let message = format!(
                "{} is a constant, and so is each equal one that the value is made of: `realize()` it, or let it require a \
                 gradient, before it is used; or take `svod.grad` of a function of it",
                constant.described()
            );
            return Err(TensorError::value(op, message));
        }
        if let Some(twin) = twin(by) {
            let message = format!(
                "{} is given twice, by two tensors that are computed alike and are one value: let each require a gradient \
                 before it is used, or take `svod.grad` of a function of them",
                twin.described()
            );
            return Err(TensorError::value(op, message));
        }
        let targets = targets(op, by)?;
        let mut walk = Walk::new(std::slice::from_ref(&root), false, &targets)?;
        for (tensor, target) in by.iter().zip(&targets) {
            let node = tensor.uop().resolved();
            let is_equal = matches!(target, Target::Value(_)) && node.is_asked_again();
            if is_equal && (node.names() > 1 || walk.is_sum(target)) {
                let message = format!(
                    "{} is an expression that the program has built more than once, and equal ones are one value: let it \
                     require a gradient before it is used, or take `svod.grad` of a function of it",
                    tensor.described()
                );
                return Err(TensorError::value(op, message));
            }
        }
        let found = walk.pull(&[(root.clone(), seed)], &targets)?;
        // What is built from now on is told from them.
        by.iter().map(|tensor| tensor.uop()).filter(|node| !node.is_value()).for_each(|node| node.set_apart());
        let one = |(found, by): (Option<UOp>, &&Tensor)| match found {
            Some(gradient) => Ok(Tensor::from_uop(gradient)),
            None => {
                let message = format!(
                    "{} does not follow from {}, or has forgotten it: what was computed keeps how only if it follows from a \
                     tensor that requires a gradient",
                    show_typed(root.dtype(), root.shape()),
                    by.described()
                );
                Err(TensorError::value(op, message))
            }
        };
        found.into_iter().zip(by).map(one).collect()
    }
}

/// The cotangents of tensors, given those of some values; zeros of what these do not follow from.
///
/// # Errors
/// As [`Tensor::gradient`], save that tensors need not be used.
pub fn pullback(op: &'static str, values: &[&Tensor], cotangents: &[&Tensor], by: &[&Tensor]) -> Result<Vec<Tensor>> {
    let one = |(value, cotangent): (&&Tensor, &&Tensor)| {
        let node = value.uop();
        let seed = seed(op, &node, Some(cotangent))?;
        Ok((node, seed))
    };
    let given = values.iter().zip(cotangents).map(one).collect::<Result<Vec<_>>>()?;
    let found = pulled(op, &given, by)?;
    let or_zeros = |(found, by): (Option<UOp>, &&Tensor)| match found {
        Some(found) => Ok(Tensor::from_uop(found)),
        None => Ok(Tensor::from_uop(algebra::zeros(&by.uop())?)),
    };
    found.into_iter().zip(by).map(or_zeros).collect()
}

/// The tangents of values, given those of the tensors that these follow from: the directional derivative (Townsend 2017).
///
/// # Errors
/// Tangents of another shape or type than their tensors; operations without a derivative.
pub fn pushforward(op: &'static str, values: &[&Tensor], by: &[&Tensor], tangents: &[&Tensor]) -> Result<Vec<Tensor>> {
    let tangents = by.iter().zip(tangents).map(|(x, tangent)| fitting(op, "tangent", &x.uop(), tangent));
    let tangents = tangents.collect::<Result<Vec<_>>>()?;
    // The pullback of a cotangent that has no value yet, and the pullback of that.
    let free = |value: &&Tensor| Ok(algebra::zeros(&value.uop())?.watch(&Watch::new(None))?);
    let free = values.iter().map(free).collect::<Result<Vec<UOp>>>()?;
    let given: Vec<(UOp, UOp)> = values.iter().map(|value| value.uop()).zip(free.iter().cloned()).collect();
    let pulled = pulled(op, &given, by)?;
    let given: Vec<(UOp, UOp)> = pulled.into_iter().zip(tangents).filter_map(|(p, t)| Some((p?, t))).collect();
    let targets: Vec<Target> = free.iter().map(Target::of).collect();
    let roots: Vec<UOp> = given.iter().map(|(root, _)| root.clone()).collect();
    let found = Walk::new(&roots, false, &targets)?.pull(&given, &targets)?;
    let or_zeros = |(found, value): (Option<UOp>, &&Tensor)| match found {
        Some(found) => Ok(Tensor::from_uop(found)),
        None => Ok(Tensor::from_uop(algebra::zeros(&value.uop())?)),
    };
    found.into_iter().zip(values).map(or_zeros).collect()
}

/// Variables of these values, to take derivatives by.
///
/// # Errors
/// Values that are not of floats.
pub fn variables(op: &'static str, values: &[&Tensor]) -> Result<Vec<Tensor>> {
    values
        .iter()
        .map(|value| Ok(Tensor::from_uop(differentiable(op, &value.uop())?.watch(&Watch::new(None))?)))
        .collect()
}

/// What stands for a function's arguments while it is traced, to take derivatives by: nobody gathers them.
///
/// # Errors
/// Values that are not of floats.
pub fn stand_ins(values: &[&Tensor]) -> Result<Vec<Tensor>> {
    let one = |value: &&Tensor| Ok(Tensor::from_uop(differentiable("jit", &value.uop())?.watch(&Watch::stand_in())?));
    values.iter().map(one).collect()
}

/// These values; those that follow from no variables but the given ones, which no one takes derivatives by any more,
/// without remembering them. In the body of a loop and in a branch, whose derivative may be taken later, they are as they were.
///
/// # Errors
/// None that a program could make.
pub fn released(values: &[&Tensor], variables: &[&Tensor]) -> Result<Vec<Tensor>> {
    let targets: Vec<Target> = variables.iter().map(|variable| Target::of(&variable.uop())).collect();
    let one = |value: &&Tensor| {
        let node = value.uop();
        if !node.is_watched() || Trace::in_step() {
            return Ok(Tensor::from_uop(node));
        }
        let walk = Walk::new(std::slice::from_ref(&node), true, &[])?;
        let is_done = walk.variables().all(|watch| targets.contains(&Target::Variable(watch.clone())));
        Ok(Tensor::from_uop(if is_done { node.detach()? } else { node }))
    };
    values.iter().map(one).collect()
}

/// Whether a value follows from literals alone, none of which is told from others, so that all equal ones are the same node.
fn is_literal(node: &UOp) -> bool {
    let is_found =
        |node: &UOp| node.op().leaf().is_some() || matches!(node.op(), Op::Host(..) | Op::Watch(_)) || node.is_apart();
    node.trace() == 0 && !Graph::new(std::slice::from_ref(node)).nodes().iter().any(is_found)
}

/// A tensor whose node is that of another one before it, so that derivatives by the two are not told apart.
fn twin<'a>(by: &[&'a Tensor]) -> Option<&'a Tensor> {
    let mut seen: FxHashMap<Target, &Tensor> = FxHashMap::default();
    by.iter().copied().find(|tensor| !seen.entry(Target::of(&tensor.uop())).or_insert(tensor).same(tensor))
}

fn pulled(op: &'static str, given: &[(UOp, UOp)], by: &[&Tensor]) -> Result<Vec<Option<UOp>>> {
    let targets = targets(op, by)?;
    let roots: Vec<UOp> = given.iter().map(|(root, _)| root.clone()).collect();
    Walk::new(&roots, false, &targets)?.pull(given, &targets)
}

fn targets(op: &'static str, by: &[&Tensor]) -> Result<Vec<Target>> {
    by.iter().map(|tensor| Ok(Target::of(&differentiable(op, &tensor.uop())?))).collect()
}

fn differentiable(op: &'static str, node: &UOp) -> Result<UOp> {
    if algebra::is_differentiable(node.dtype()) {
        return Ok(node.clone());
    }
    let given = show_operands(std::slice::from_ref(node));
    Err(TensorError::dtype(op, format!("only floats have gradients, not {given}: convert it before")))
}

/// The cotangent that a walk begins with.
fn seed(op: &'static str, root: &UOp, given: Option<&Tensor>) -> Result<UOp> {
    differentiable(op, root)?;
    match given {
        Some(given) => fitting(op, "cotangent", root, given),
        None if root.dtype().is_complex() => {
            let value = show_operands(std::slice::from_ref(root));
            Err(TensorError::dtype(op, format!("{value} is no real number: give the cotangent, or a real loss")))
        }
        None if root.numel().as_const() == Some(1) => Ok(UOp::full(Const::one(root.dtype()), root.shape_arc())?),
        None => {
            let value = show_operands(std::slice::from_ref(root));
            Err(TensorError::shape(op, format!("{value} is no scalar: give the cotangent, one of its shape")))
        }
    }
}

/// A cotangent or tangent of a value.
fn fitting(op: &'static str, what: &str, value: &UOp, given: &Tensor) -> Result<UOp> {
    let node = given.uop();
    let message =
        || format!("the {what} {} does not fit {}", given.described(), show_operands(std::slice::from_ref(value)));
    if node.shape() != value.shape() {
        return Err(TensorError::shape(op, message()));
    }
    if node.dtype() != value.dtype() {
        return Err(TensorError::dtype(op, message()));
    }
    Ok(node)
}
