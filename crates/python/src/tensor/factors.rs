//! Factors of matrices: what `svod.linalg` is made of.

use pyo3::prelude::*;
use svod_tensor::Factor;

use super::PyTensor;
use crate::convert::AnyTensor;
use crate::error::{Class, Result};

/// The factors by their names.
const FACTORS: &[(&str, Factor)] = &[
    ("cholesky", Factor::Cholesky),
    ("minor", Factor::Minor),
    ("pivot", Factor::Pivot),
    ("lu", Factor::Lu),
    ("slogdet", Factor::Slogdet),
    ("solve", Factor::Solve),
    ("inv", Factor::Inverse),
    ("lstsq", Factor::LeastSquares),
    ("adjugate", Factor::Adjugate),
    ("qr_reduced", Factor::Qr { complete: false }),
    ("qr_complete", Factor::Qr { complete: true }),
    ("svd", Factor::Svd { full: false }),
    ("svd_full", Factor::Svd { full: true }),
    ("eigh", Factor::Eigh { lower: true }),
    ("eigh_upper", Factor::Eigh { lower: false }),
    ("eig", Factor::Eig),
    ("eigvals", Factor::Eigvals),
    ("svdvals", Factor::SingularValues),
    ("eigvalsh", Factor::Eigenvalues { lower: true }),
    ("eigvalsh_upper", Factor::Eigenvalues { lower: false }),
];

#[explained]
#[pymethods]
impl PyTensor {
    /// Factors of the matrices of the last two dimensions, by their name; for the function `name`, which errors tell.
    #[pyo3(signature = (factors, other=None, *, name=None))]
    fn _factors(&self, factors: &str, other: Option<AnyTensor>, name: Option<&str>) -> Result<Vec<PyTensor>> {
        let Some((_, factor)) = FACTORS.iter().find(|(known, _)| *known == factors) else {
            return Err(Class::Argument.raise(format!("there are no factors '{factors}'")));
        };
        let other = other.as_ref().map(|other| &other.0);
        let results = match name {
            Some(name) => self.0.factors_for(name, *factor, other)?,
            None => self.0.factors(*factor, other)?,
        };
        Ok(results.into_iter().map(PyTensor::from).collect())
    }
}
