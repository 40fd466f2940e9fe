//! Discrete Fourier transforms, without a factor: functions of the host along an axis.
//!
//! A transform is linear, so that its derivative is its transpose, which is the transform in the other direction; that of
//! real numbers has to add up what the half that it leaves out would say as well.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use svod_dtype::DType;
use svod_ir::graph::UOp;
use svod_ir::size::Size;
use svod_numeric::fft::{self, Transform};
use svod_runtime::plan::CustomError;
use svod_runtime::{Function, HostArgs};

use crate::error::{Result, TensorError};
use crate::host::{Plain, Ruled, elements, elements_mut, function, parallel};
use crate::operand::axis_of;
use crate::tensor::Tensor;

impl Tensor {
    /// The transform of complex numbers along an axis, by e^(-2πijk/n) or, `backward`, e^(2πijk/n), without a factor.
    pub fn fft(&self, axis: i64, backward: bool) -> Result<Tensor> {
        let kind = if backward { Transform::Backward } else { Transform::Forward };
        let x = match self.dtype().is_complex() {
            true => self.clone(),
            false => Tensor::complex(self, 0.0)?,
        };
        let axis = Axis::of("fft", axis, &x)?;
        let pull = move |g: &Tensor| g.fft(axis.counted_back(), !backward);
        x.transformed(kind, false, axis)?.as_complex()?.with_pull("fft", &x, pull)
    }

    /// The first n/2 + 1 results of the transform of real numbers along an axis; the others are their conjugates.
    pub fn rfft(&self, axis: i64) -> Result<Tensor> {
        if self.dtype().is_complex() {
            return Err(TensorError::dtype("rfft", format!("takes real numbers, not {}", self.described())));
        }
        let x = match self.dtype() {
            DType::F32 | DType::F64 => self.clone(),
            _ => self.cast(DType::F32)?,
        };
        let axis = Axis::of("rfft", axis, &x)?;
        let n = axis.extent(&x);
        let pull = move |g: &Tensor| {
            let mut by = vec![(Size::ZERO, Size::ZERO); g.rank()];
            by[axis.index(g)] = (Size::ZERO, &n - axis.extent(g));
            let zero = svod_dtype::Const::zero(g.dtype());
            Tensor::from_uop(g.uop().pad(by, zero)?).fft(axis.counted_back(), true)?.real()
        };
        x.transformed(Transform::Half, false, axis)?.as_complex()?.with_pull("rfft", &x, pull)
    }

    /// The n real numbers whose transform backward, along an axis, has these first n/2 + 1 terms, without a factor.
    pub fn irfft(&self, axis: i64, odd: bool) -> Result<Tensor> {
        let x = match self.dtype().is_complex() {
            true => self.clone(),
            false => Tensor::complex(self, 0.0)?,
        };
        let axis = Axis::of("irfft", axis, &x)?;
        let half = axis.extent(&x);
        // All but those that are their own conjugates stand for two.
        let pull = move |g: &Tensor| {
            let at = Tensor::from_uop(UOp::range(half.clone())?);
            let last = if odd { half.clone() } else { &half - 1 };
            let twice = Tensor::select(&at.gt(0)?.bitwise_and(at.lt(last)?)?, 2.0, 1.0)?.cast(g.dtype())?;
            let along = std::iter::once(half.clone()).chain(vec![Size::from(1); axis.0]);
            g.rfft(axis.counted_back())?.mul(twice.reshape(&along.collect::<Vec<Size>>())?)
        };
        x.transformed(Transform::Real, odd, axis)?.with_pull("irfft", &x, pull)
    }

    /// The transform along an axis, over pairs of what is complex.
    fn transformed(&self, kind: Transform, odd: bool, axis: Axis) -> Result<Tensor> {
        let pairs = if self.dtype().is_complex() { self.as_real()? } else { self.clone() };
        Ok(Tensor::host(of(kind, odd, axis), &[&pairs])?.swap_remove(0))
    }

    /// A value with the derivative of a linear function of one operand.
    fn with_pull(
        &self,
        name: &str,
        operand: &Tensor,
        pull: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static,
    ) -> Result<Tensor> {
        self.with_derivative(name, &[operand], move |g| {
            pull(g).map(|part| vec![Some(part)]).map_err(|error| Arc::new(error) as _)
        })
    }
}

/// An axis, by the number of those behind it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Axis(usize);

impl Axis {
    fn of(op: &'static str, axis: i64, x: &Tensor) -> Result<Axis> {
        let at = axis_of(op, axis, x.rank())?;
        Ok(Axis(x.rank() - 1 - at))
    }

    /// The axis as one counted back from the end.
    fn counted_back(self) -> i64 {
        -(self.0 as i64) - 1
    }

    fn index(self, x: &Tensor) -> usize {
        x.rank() - 1 - self.0
    }

    fn extent(self, x: &Tensor) -> Size {
        x.shape()[self.index(x)].clone()
    }
}

/// The function of a transform: the same one each time, so that equal transforms are one.
fn of(kind: Transform, odd: bool, axis: Axis) -> Arc<Function> {
    type Made = HashMap<(Transform, bool, Axis), Arc<Function>>;
    static MADE: LazyLock<Mutex<Made>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock();
    let make = || {
        let name = match kind {
            Transform::Forward => "fft",
            Transform::Backward => "ifft",
            Transform::Half => "rfft",
            Transform::Real => "irfft",
        };
        let rule = move |operands: &[(DType, &[Size])]| rule(kind, odd, axis, operands);
        function(name, rule, move |args| run::<f32>(kind, axis, args), move |args| run::<f64>(kind, axis, args))
    };
    made.entry((kind, odd, axis)).or_insert_with(make).clone()
}

/// What a transform gives: lines of the axis, before the parts of what is complex.
fn rule(kind: Transform, odd: bool, axis: Axis, operands: &[(DType, &[Size])]) -> Ruled {
    let (dtype, shape) = operands[0];
    let two = Size::from(2);
    let parts = usize::from(kind != Transform::Half);
    let Some(at) = shape.len().checked_sub(1 + axis.0 + parts) else { return Err("takes an axis".into()) };
    let mut result = shape.to_vec();
    match kind {
        Transform::Forward | Transform::Backward => {}
        Transform::Half => {
            result[at] = shape[at].floordiv(two.clone()) + 1;
            result.push(two);
        }
        Transform::Real => {
            result[at] = (&shape[at] - 1) * two + Size::from(usize::from(odd));
            result.pop();
        }
    }
    Ok(vec![(dtype, result.into())])
}

fn run<T: Plain + fft::Float>(kind: Transform, axis: Axis, args: &HostArgs) -> std::result::Result<(), CustomError> {
    let (operand, result) = (&args.operands[0], &args.results[0]);
    // The extents of real numbers, or of pairs.
    let (extents, parts) = match kind {
        Transform::Half => (&operand.extents, 0),
        Transform::Real => (&result.extents, 0),
        _ => (&operand.extents, 1),
    };
    let at = extents.len() - 1 - axis.0 - parts;
    let behind = extents[at + 1..extents.len() - parts].iter().product();
    if extents[at] > 0 {
        fft::transform(kind, extents[at], behind, elements::<T>(operand)?, elements_mut::<T>(result)?, &parallel);
    }
    Ok(())
}
