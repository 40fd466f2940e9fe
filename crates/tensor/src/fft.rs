//! Discrete Fourier transforms, without a factor: functions of the host over the last dimension.
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
        x.along_last("fft", axis, &|x| {
            let pull = move |g: &Tensor| g.fft(-1, !backward);
            x.transformed(kind, false)?.as_complex()?.with_pull("fft", x, pull)
        })
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
        x.along_last("rfft", axis, &|x| {
            let n = x.shape()[x.rank() - 1].clone();
            let pull = move |g: &Tensor| {
                let known = &g.shape()[g.rank() - 1];
                let mut by = vec![(Size::ZERO, Size::ZERO); g.rank()];
                by[g.rank() - 1] = (Size::ZERO, &n - known);
                let zero = svod_dtype::Const::zero(g.dtype());
                Tensor::from_uop(g.uop().pad(by, zero)?).fft(-1, true)?.real()
            };
            x.transformed(Transform::Half, false)?.as_complex()?.with_pull("rfft", x, pull)
        })
    }

    /// The n real numbers whose transform backward, along an axis, has these first n/2 + 1 terms, without a factor.
    pub fn irfft(&self, axis: i64, odd: bool) -> Result<Tensor> {
        let x = match self.dtype().is_complex() {
            true => self.clone(),
            false => Tensor::complex(self, 0.0)?,
        };
        x.along_last("irfft", axis, &|x| {
            let half = x.shape()[x.rank() - 1].clone();
            // All but those that are their own conjugates stand for two.
            let pull = move |g: &Tensor| {
                let at = Tensor::from_uop(UOp::range(half.clone())?);
                let last = if odd { half.clone() } else { &half - 1 };
                let twice = at.gt(0)?.bitwise_and(at.lt(last)?)?;
                g.rfft(-1)?.mul(Tensor::select(&twice, 2.0, 1.0)?.cast(g.dtype())?)
            };
            x.transformed(Transform::Real, odd)?.with_pull("irfft", x, pull)
        })
    }

    /// What a function makes of the value with an axis as its last one.
    fn along_last(&self, op: &'static str, axis: i64, of: &dyn Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
        let axis = axis_of(op, axis, self.rank())? as i64;
        let last = self.rank() as i64 - 1;
        match axis == last {
            true => of(self),
            false => of(&self.transpose(axis, last)?)?.transpose(axis, last),
        }
    }

    /// The transform of the last dimension, over pairs of what is complex.
    fn transformed(&self, kind: Transform, odd: bool) -> Result<Tensor> {
        let pairs = if self.dtype().is_complex() { self.as_real()? } else { self.clone() };
        Ok(Tensor::host(of(kind, odd), &[&pairs])?.swap_remove(0))
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

/// The function of a transform: the same one each time, so that equal transforms are one.
fn of(kind: Transform, odd: bool) -> Arc<Function> {
    type Made = HashMap<(Transform, bool), Arc<Function>>;
    static MADE: LazyLock<Mutex<Made>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock();
    let make = || {
        let name = match kind {
            Transform::Forward => "fft",
            Transform::Backward => "ifft",
            Transform::Half => "rfft",
            Transform::Real => "irfft",
        };
        let rule = move |operands: &[(DType, &[Size])]| rule(kind, odd, operands);
        function(name, rule, move |args| run::<f32>(kind, args), move |args| run::<f64>(kind, args))
    };
    made.entry((kind, odd)).or_insert_with(make).clone()
}

fn rule(kind: Transform, odd: bool, operands: &[(DType, &[Size])]) -> Ruled {
    let (dtype, shape) = operands[0];
    let two = Size::from(2);
    let result: Vec<Size> = match (kind, shape) {
        (Transform::Forward | Transform::Backward, shape) => shape.to_vec(),
        (Transform::Half, [batch @ .., n]) => batch.iter().cloned().chain([n.floordiv(two.clone()) + 1, two]).collect(),
        (Transform::Real, [batch @ .., half, _]) => {
            let n = (half - 1) * two + Size::from(usize::from(odd));
            batch.iter().cloned().chain([n]).collect()
        }
        _ => return Err("takes rows".into()),
    };
    Ok(vec![(dtype, result.into())])
}

fn run<T: Plain + fft::Float>(kind: Transform, args: &HostArgs) -> std::result::Result<(), CustomError> {
    let (operand, result) = (&args.operands[0], &args.results[0]);
    let (extents, at) = match kind {
        Transform::Half => (&operand.extents, operand.extents.len() - 1),
        Transform::Real => (&result.extents, result.extents.len() - 1),
        _ => (&operand.extents, operand.extents.len() - 2),
    };
    let n = extents[at];
    if n > 0 {
        fft::transform(kind, n, elements::<T>(operand)?, elements_mut::<T>(result)?, &parallel);
    }
    Ok(())
}
