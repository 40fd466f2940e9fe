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
    ("qr_reduced", Factor::Qr { complete: false }),
    ("qr_complete", Factor::Qr { complete: true }),
    ("svd", Factor::Svd { full: false }),
    ("svd_full", Factor::Svd { full: true }),
    ("eigh", Factor::Eigh { lower: true }),
    ("eigh_upper", Factor::Eigh { lower: false }),
    ("eig", Factor::Eig),
    ("svdvals", Factor::SingularValues),
    ("eigvalsh", Factor::Eigenvalues { lower: true }),
    ("eigvalsh_upper", Factor::Eigenvalues { lower: false }),
];

#[explained]
#[pymethods]
impl PyTensor {
    /// Factors of the matrices of the last two dimensions, by their name.
    #[pyo3(signature = (name, other=None))]
    fn _factors(&self, name: &str, other: Option<AnyTensor>) -> Result<Vec<PyTensor>> {
        let Some((_, factor)) = FACTORS.iter().find(|(known, _)| *known == name) else {
            return Err(Class::Argument.raise(format!("there are no factors '{name}'")));
        };
        let results = self.0.factors(*factor, other.as_ref().map(|other| &other.0))?;
        Ok(results.into_iter().map(PyTensor::from).collect())
    }
}
