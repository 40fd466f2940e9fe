//! Functions of the host over whole rows of floats, such as Fourier transforms and linear algebra.

use std::sync::Arc;

use svod_dtype::DType;
use svod_ir::graph::Shape;
use svod_ir::size::Size;
use svod_numeric::linalg::{c32, c64};
use svod_runtime::plan::CustomError;
use svod_runtime::{Context, Function, HostArgs, HostValue};

/// A type that memory of tensors is read as, whose values are all bytes of its size: numbers, and pairs of them.
pub(crate) trait Plain: Copy + Send + Sync + 'static {}

impl Plain for i64 {}
impl Plain for f32 {}
impl Plain for f64 {}
impl Plain for c32 {}
impl Plain for c64 {}

/// What a rule gives.
pub(crate) type Ruled = Result<Vec<(DType, Shape)>, String>;

/// A function of the last dimensions of floats: `f32` and `f64` are the same to it but for their width.
pub(crate) fn function(
    name: &str,
    rule: impl Fn(&[(DType, &[Size])]) -> Ruled + Send + Sync + 'static,
    narrow: impl Fn(&HostArgs) -> Result<(), CustomError> + Send + Sync + 'static,
    wide: impl Fn(&HostArgs) -> Result<(), CustomError> + Send + Sync + 'static,
) -> Arc<Function> {
    Function::of_last_dimensions(name, rule, move |args| match args.operands[0].buffer.dtype() {
        DType::F32 => narrow(args),
        _ => wide(args),
    })
}

/// The elements of an operand.
pub(crate) fn elements<T: Plain>(value: &HostValue) -> Result<&[T], CustomError> {
    let count = value.buffer.bytes() / size_of::<T>();
    if count == 0 {
        return Ok(&[]);
    }
    let pointer = value.buffer.allocate().map_err(|error| CustomError::Failed(error.to_string()))?;
    // SAFETY: the buffer has so many bytes, aligned as its numbers are, of which pairs are no more; nobody writes them while a
    // function that reads them runs, and the value holds the buffer.
    Ok(unsafe { std::slice::from_raw_parts(pointer.as_ptr().cast(), count) })
}

/// The elements of a result, to be written.
// Each result is asked for once.
#[allow(clippy::mut_from_ref)]
pub(crate) fn elements_mut<T: Plain>(value: &HostValue) -> Result<&mut [T], CustomError> {
    let count = value.buffer.bytes() / size_of::<T>();
    if count == 0 {
        return Ok(&mut []);
    }
    let pointer = value.buffer.allocate().map_err(|error| CustomError::Failed(error.to_string()))?;
    // SAFETY: as above; a result overlaps nothing else that the function is called with, and is the function's alone while
    // it runs.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer.as_ptr().cast(), count) })
}

/// Runs tasks on svod's threads.
pub(crate) fn parallel(tasks: usize, f: &(dyn Fn(usize) + Sync)) {
    Context::global().pool().run(tasks, &|_, task| f(task));
}
