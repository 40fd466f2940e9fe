//! Functions of the host over whole rows of floats, such as Fourier transforms.

use std::sync::Arc;

use svod_dtype::DType;
use svod_ir::graph::Shape;
use svod_ir::size::Size;
use svod_runtime::plan::CustomError;
use svod_runtime::{Context, Function, HostArgs, HostValue};

/// A type of floats that functions of the host know.
pub(crate) trait Float: Copy + 'static {
    const DTYPE: DType;
}

impl Float for f32 {
    const DTYPE: DType = DType::F32;
}

impl Float for f64 {
    const DTYPE: DType = DType::F64;
}

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
pub(crate) fn elements<T: Float>(value: &HostValue) -> Result<&[T], CustomError> {
    debug_assert_eq!(value.buffer.dtype(), T::DTYPE);
    if value.buffer.count() == 0 {
        return Ok(&[]);
    }
    let pointer = value.buffer.allocate().map_err(|error| CustomError::Failed(error.to_string()))?;
    // SAFETY: a buffer of this type has so many elements, aligned, which nobody writes while a function that reads them
    // runs; the value holds the buffer.
    Ok(unsafe { std::slice::from_raw_parts(pointer.as_ptr().cast(), value.buffer.count()) })
}

/// The elements of a result, to be written.
// Each result is asked for once.
#[allow(clippy::mut_from_ref)]
pub(crate) fn elements_mut<T: Float>(value: &HostValue) -> Result<&mut [T], CustomError> {
    debug_assert_eq!(value.buffer.dtype(), T::DTYPE);
    if value.buffer.count() == 0 {
        return Ok(&mut []);
    }
    let pointer = value.buffer.allocate().map_err(|error| CustomError::Failed(error.to_string()))?;
    // SAFETY: a buffer of this type has so many elements, aligned; a result overlaps nothing else that the function
    // is called with, and is the function's alone while it runs.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer.as_ptr().cast(), value.buffer.count()) })
}

/// Runs tasks on svod's threads.
pub(crate) fn parallel(tasks: usize, f: &(dyn Fn(usize) + Sync)) {
    Context::global().pool().run(tasks, &|_, task| f(task));
}
