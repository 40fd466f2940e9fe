//! `+`, `<`, `@`, `[…]` and the like.

// In the code that `#[pymethods]` makes of reflected operators.
#![allow(unsafe_op_in_unsafe_fn)]

use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use svod_tensor::{Index, Operand, Tensor, TensorError};

use super::{Made, PyTensor};
use crate::array::listed_operand;
use crate::convert::{AnyOperand, index, is_listed, operand};
use crate::error::{Raised, Result};
use crate::gil::allow;
use crate::origin::called;

/// The result, or `NotImplemented` where the other side is no operand, so that Python asks it.
fn with<'py>(
    other: &Bound<'py, PyAny>,
    apply: impl FnOnce(Operand) -> svod_tensor::Result<Tensor>,
) -> Result<Bound<'py, PyAny>> {
    let py = other.py();
    match operand(other)? {
        Some(other) => Ok(Bound::new(py, PyTensor::from(apply(other)?))?.into_any()),
        None => Ok(py.NotImplemented().into_bound(py)),
    }
}

macro_rules! binary {
    ($($name:ident $reflected:ident $symbol:literal $function:ident $flipped:ident;)*) => {
        #[explained]
        #[pymethods]
        impl PyTensor {
            $(
                fn $name<'py>(&self, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
                    called($symbol, || with(other, |other| self.0.$function(other)))
                }

                fn $reflected<'py>(&self, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
                    called($symbol, || with(other, |other| self.0.$flipped(other)))
                }
            )*
        }
    };
}

binary! {
    __add__ __radd__ "+" add add;
    __sub__ __rsub__ "-" sub rsub;
    __mul__ __rmul__ "*" mul mul;
    __truediv__ __rtruediv__ "/" div rdiv;
    __floordiv__ __rfloordiv__ "//" floor_div rfloor_div;
    __mod__ __rmod__ "%" modulo rmodulo;
    __and__ __rand__ "&" bitwise_and bitwise_and;
    __or__ __ror__ "|" bitwise_or bitwise_or;
    __xor__ __rxor__ "^" bitwise_xor bitwise_xor;
    __lshift__ __rlshift__ "<<" shl rshl;
    __rshift__ __rrshift__ ">>" shr rshr;
}

#[explained]
#[pymethods]
impl PyTensor {
    fn __pow__<'py>(&self, other: &Bound<'py, PyAny>, modulo: Option<i64>) -> Result<Bound<'py, PyAny>> {
        match modulo {
            None => called("**", || with(other, |other| self.0.pow(other))),
            Some(_) => Ok(other.py().NotImplemented().into_bound(other.py())),
        }
    }

    fn __rpow__<'py>(&self, other: &Bound<'py, PyAny>, modulo: Option<i64>) -> Result<Bound<'py, PyAny>> {
        match modulo {
            None => called("**", || with(other, |other| self.0.rpow(other))),
            Some(_) => Ok(other.py().NotImplemented().into_bound(other.py())),
        }
    }

    fn __matmul__<'py>(&self, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        called("@", || factor(&self.0, other, |other| self.0.matmul(other)))
    }

    fn __rmatmul__<'py>(&self, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        called("@", || factor(&self.0, other, |other| other.matmul(&self.0)))
    }

    fn __richcmp__<'py>(&self, other: &Bound<'py, PyAny>, op: CompareOp) -> Result<Bound<'py, PyAny>> {
        with(other, |other| match op {
            CompareOp::Eq => self.0.eq(other),
            CompareOp::Ne => self.0.ne(other),
            CompareOp::Lt => self.0.lt(other),
            CompareOp::Le => self.0.le(other),
            CompareOp::Gt => self.0.gt(other),
            CompareOp::Ge => self.0.ge(other),
        })
    }

    fn __contains__(&self, py: Python<'_>, one: &Bound<'_, PyAny>) -> Result<bool> {
        let Some(one) = operand(one)? else { return Ok(false) };
        self.0.check_known("`in`")?;
        let found = self.0.eq(one)?.any(None, false)?;
        allow(py, || found.truth())
    }

    fn __neg__(&self) -> Made {
        called("-", || Ok(self.0.neg()?.into()))
    }

    fn __pos__(&self) -> Made {
        self.view_by("+", Ok(Tensor::from_uop(self.0.uop()).into()))
    }

    fn __invert__(&self) -> Made {
        Ok(self.0.bitwise_not()?.into())
    }

    fn __abs__(&self) -> Made {
        called("abs", || Ok(self.0.abs()?.into()))
    }

    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> Made {
        let (index, extents) = index(key)?;
        let found = extents.bind(self.0.get(&index));
        // Lookups are copies, as in NumPy.
        match index.iter().any(|one| matches!(one, Index::Tensor(_))) {
            true => found,
            false => self.view_by("[]", found),
        }
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: AnyOperand) -> Result<()> {
        let (index, extents) = index(key)?;
        self.0.set(&index, value.0)?;
        match extents.values() {
            [] => Ok(()),
            values => self.0.assign(self.0.with_values(values)?).map_err(Raised::from),
        }
    }
}

/// [`with`] the other factor of a matrix product: it may be a list, as an argument of `matmul` may, and is no number.
fn factor<'py>(
    own: &Tensor,
    other: &Bound<'py, PyAny>,
    apply: impl FnOnce(&Tensor) -> svod_tensor::Result<Tensor>,
) -> Result<Bound<'py, PyAny>> {
    if is_listed(other) {
        let listed = Tensor::beside(listed_operand(other)?, &own.into())?;
        return Ok(Bound::new(other.py(), PyTensor::from(apply(&listed)?))?.into_any());
    }
    with(other, |other| match other {
        Operand::Tensor(tensor) => apply(&tensor),
        _ => {
            let message = "a number has no dimension to sum over; `*` multiplies by one".into();
            Err(TensorError::Shape { op: "matmul", message })
        }
    })
}
