//! What a call of a compiled function gives: values in memory, whose derivatives the function's other plans compute, those of
//! all of them together.

use std::cell::Cell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use svod_ir::graph::{Op, Pullback, PullbackRule, UOp};

use super::given::Pulled;
use crate::error::{Result, TensorError};
use crate::tensor::Tensor;

/// A call, which gives of the cotangents of its results, and the values that derivatives are taken by, the cotangents of these.
#[derive(Clone)]
pub struct Call(Arc<State>);

struct State {
    name: String,
    pull: Box<Pull>,
}

type Pull = dyn Fn(&[Option<Tensor>], &[Tensor], bool) -> Pulled + Send + Sync;

thread_local! {
    /// Whether nobody takes derivatives of what this thread's walk finds.
    static IS_LAST: Cell<bool> = const { Cell::new(false) };
}

/// A walk of whose results nobody takes derivatives.
pub(super) fn at_last<T>(walk: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            IS_LAST.set(self.0);
        }
    }
    let _before = Before(IS_LAST.replace(true));
    walk()
}

/// One of the results.
struct Output {
    call: Call,
    at: usize,
}

impl PullbackRule for Output {
    fn name(&self) -> &str {
        &self.call.0.name
    }
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Call {}

impl Hash for Call {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(Arc::as_ptr(&self.0).addr());
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Call({})", self.0.name)
    }
}

impl Call {
    /// The call that a value is a result of, and which.
    pub(super) fn of(by: &Pullback) -> Option<(Call, usize)> {
        by.downcast::<Output>().map(|output| (output.call.clone(), output.at))
    }

    /// The cotangents of its operands, given those of its first results.
    pub(super) fn pulled(&self, operands: &[UOp], given: &[Option<UOp>]) -> Result<Vec<Option<UOp>>> {
        let State { name, pull } = &*self.0;
        let given: Vec<Option<Tensor>> = given.iter().map(|g| g.clone().map(Tensor::from_uop)).collect();
        let now: Vec<Tensor> = operands.iter().cloned().map(Tensor::from_uop).collect();
        let parts =
            pull(&given, &now, IS_LAST.get()).map_err(|source| TensorError::Rule { name: name.clone(), source })?;
        Ok(parts.into_iter().map(|part| part.map(|part| part.uop())).collect())
    }
}

/// Values in memory, which a call of this name has given, with the derivatives by its operands that a rule makes of their cotangents
/// and the operands: those of values that nothing passes a cotangent to are none, or missing at the end. The rule is told whether
/// nobody takes derivatives of what it gives.
///
/// # Errors
/// Values that are not in memory.
pub fn with_derivatives(
    name: &str,
    values: &[&Tensor],
    operands: &[&Tensor],
    pull: impl Fn(&[Option<Tensor>], &[Tensor], bool) -> Pulled + Send + Sync + 'static,
) -> Result<Vec<Tensor>> {
    let call = Call(Arc::new(State { name: name.to_owned(), pull: Box::new(pull) }));
    let operands: Vec<UOp> = operands.iter().map(|operand| operand.uop()).collect();
    let one = |(at, value): (usize, &&Tensor)| {
        let value = value.uop();
        let value = if value.is_watched() { value.detach()? } else { value };
        let by = Pullback::new(Arc::new(Output { call: call.clone(), at }));
        let sources: Vec<UOp> = [value.clone()].into_iter().chain(operands.iter().cloned()).collect();
        let node = UOp::new(Op::Derived(by, operands.len()), &sources)?;
        Ok(Tensor::from_uop(node.force(value)?))
    };
    values.iter().enumerate().map(one).collect()
}
