//! Factors and solutions of matrices: functions of the host over the last two dimensions, a call for each matrix.
//!
//! Complex matrices are given and taken as pairs. Derivatives are formulas over these results, in `svod/linalg`.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use svod_dtype::DType;
use svod_ir::size::Size;
use svod_numeric::group_of;
use svod_numeric::linalg::{self, Failure, Number, c32, c64};
use svod_runtime::plan::CustomError;
use svod_runtime::{Function, HostArgs, HostValue};

use crate::error::{Result, TensorError};
use crate::host::{Plain, Ruled, elements, elements_mut, parallel};
use crate::tensor::Tensor;

/// What is computed of a matrix; `m` rows and `n` columns, of which there are `k = min(m, n)` at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Factor {
    /// L of a matrix that is positive definite.
    Cholesky,
    /// The order of the first leading minor that is not positive, and 0 where a matrix is positive definite.
    Minor,
    /// The first pivot, counted from 1, that is 0, and 0 where a matrix is invertible.
    Pivot,
    /// Positions of rows, L, and U.
    Lu,
    /// Sign and logarithm of the determinant.
    Slogdet,
    /// X with A X = B, of a second operand.
    Solve,
    /// The inverse.
    Inverse,
    /// The X of least length with the least A X - B, of a second operand.
    LeastSquares,
    /// The inverse times the determinant, and what that tends to where a matrix is singular.
    Adjugate,
    /// Q and R, all columns of Q where it is complete.
    Qr {
        /// Whether Q is square.
        complete: bool,
    },
    /// U, the singular values, and Vᴴ.
    Svd {
        /// Whether U and V are square.
        full: bool,
    },
    /// Eigenvalues and eigenvectors of a matrix that is its own adjoint.
    Eigh {
        /// Whether the lower triangle is read, rather than the upper one.
        lower: bool,
    },
    /// Eigenvalues and eigenvectors, complex ones of real matrices too.
    Eig,
    /// The eigenvalues alone.
    Eigvals,
    /// The singular values alone.
    SingularValues,
    /// The eigenvalues of a matrix that is its own adjoint, alone.
    Eigenvalues {
        /// Whether the lower triangle is read, rather than the upper one.
        lower: bool,
    },
}

/// What a result holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// Numbers as the matrix has.
    Same,
    /// Complex numbers.
    Complex,
    /// Real numbers.
    Real,
    /// Positions.
    Positions,
}

impl Factor {
    fn name(self) -> &'static str {
        match self {
            Factor::Cholesky => "cholesky",
            Factor::Minor => "minor",
            Factor::Pivot => "pivot",
            Factor::Lu => "lu",
            Factor::Slogdet => "slogdet",
            Factor::Solve => "solve",
            Factor::Inverse => "inv",
            Factor::LeastSquares => "lstsq",
            Factor::Adjugate => "adjugate",
            Factor::Qr { .. } => "qr",
            Factor::Svd { .. } => "svd",
            Factor::Eigh { .. } => "eigh",
            Factor::Eig => "eig",
            Factor::Eigvals => "eigvals",
            Factor::SingularValues => "svdvals",
            Factor::Eigenvalues { .. } => "eigvalsh",
        }
    }

    fn needs_square(self) -> bool {
        !matches!(
            self,
            Factor::Lu | Factor::Qr { .. } | Factor::Svd { .. } | Factor::SingularValues | Factor::LeastSquares
        )
    }

    /// The results of a matrix of m × n and, of a second operand, `columns`: what each holds, and its extents.
    fn results(self, m: &Size, n: &Size, columns: &Size) -> Vec<(Holds, Vec<Size>)> {
        use Holds::{Complex, Positions, Real, Same};
        let k = m.min(n);
        let shape = |extents: &[&Size]| extents.iter().copied().cloned().collect::<Vec<Size>>();
        match self {
            Factor::Cholesky => vec![(Same, shape(&[n, n]))],
            Factor::Minor | Factor::Pivot => vec![(Positions, shape(&[]))],
            Factor::Lu => vec![(Positions, shape(&[m])), (Same, shape(&[m, &k])), (Same, shape(&[&k, n]))],
            Factor::Slogdet => vec![(Same, shape(&[])), (Real, shape(&[]))],
            Factor::Solve | Factor::LeastSquares => vec![(Same, shape(&[n, columns]))],
            Factor::Inverse | Factor::Adjugate => vec![(Same, shape(&[n, n]))],
            Factor::Qr { complete: true } => vec![(Same, shape(&[m, m])), (Same, shape(&[m, n]))],
            Factor::Qr { complete: false } => vec![(Same, shape(&[m, &k])), (Same, shape(&[&k, n]))],
            Factor::Svd { full: true } => {
                vec![(Same, shape(&[m, m])), (Real, shape(&[&k])), (Same, shape(&[n, n]))]
            }
            Factor::Svd { full: false } => {
                vec![(Same, shape(&[m, &k])), (Real, shape(&[&k])), (Same, shape(&[&k, n]))]
            }
            Factor::Eigh { .. } => vec![(Real, shape(&[n])), (Same, shape(&[n, n]))],
            Factor::Eig => vec![(Complex, shape(&[n])), (Complex, shape(&[n, n]))],
            Factor::Eigvals => vec![(Complex, shape(&[n]))],
            Factor::SingularValues => vec![(Real, shape(&[&k]))],
            Factor::Eigenvalues { .. } => vec![(Real, shape(&[n]))],
        }
    }
}

impl Tensor {
    /// Factors of each matrix of the last two dimensions.
    ///
    /// # Errors
    /// Fewer dimensions, matrices that are not square where they have to be, and types other than floats and complex
    /// numbers of 32 and 64 bits. Matrices that have no such factors are an error of the run.
    pub fn factors(&self, factor: Factor, other: Option<&Tensor>) -> Result<Vec<Tensor>> {
        self.factors_for(factor.name(), factor, other)
    }

    /// [`Tensor::factors`] for the function of a name, which errors of the run tell.
    ///
    /// # Errors
    /// As [`Tensor::factors`].
    pub fn factors_for(&self, name: &str, factor: Factor, other: Option<&Tensor>) -> Result<Vec<Tensor>> {
        let op = factor.name();
        let (shape, rank) = (self.shape(), self.rank());
        let square = rank >= 2 && shape[rank - 1] == shape[rank - 2];
        if rank < 2 || (factor.needs_square() && !square) {
            let what = if factor.needs_square() { "square matrices" } else { "matrices" };
            return Err(TensorError::shape(op, format!("takes {what}, not {}", self.described())));
        }
        if !matches!(self.dtype(), DType::F32 | DType::F64 | DType::C64 | DType::C128) {
            let message = format!("takes float32, float64, complex64 or complex128, not {}", self.described());
            return Err(TensorError::dtype(op, message));
        }
        let complex = self.dtype().is_complex();
        let pairs = |x: &Tensor| if complex { x.as_real() } else { Ok(x.clone()) };
        let operands = [Some(self), other].into_iter().flatten().map(pairs).collect::<Result<Vec<Tensor>>>()?;
        let results = Tensor::host(function(name, factor, complex), &operands.iter().collect::<Vec<_>>())?;
        let one = Size::ONE;
        let held = factor.results(&one, &one, &one);
        let typed = |(result, (holds, _)): (Tensor, &(Holds, _))| match holds {
            Holds::Complex => result.as_complex(),
            Holds::Same if complex => result.as_complex(),
            _ => Ok(result),
        };
        results.into_iter().zip(&held).map(typed).collect()
    }
}

/// The function of some factors: the same one each time, so that equal factors are one.
fn function(name: &str, factor: Factor, complex: bool) -> Arc<Function> {
    type Made = Mutex<HashMap<(String, Factor, bool), Arc<Function>>>;
    static MADE: LazyLock<Made> = LazyLock::new(Mutex::default);
    let make = || {
        let rule = move |operands: &[(DType, &[Size])]| rule(factor, complex, operands);
        let call = move |args: &HostArgs| match (args.operands[0].buffer.dtype(), complex) {
            (DType::F32, false) => run::<f32>(factor, args),
            (DType::F32, true) => run::<c32>(factor, args),
            (_, false) => run::<f64>(factor, args),
            (_, true) => run::<c64>(factor, args),
        };
        Function::of_last_dimensions(name, rule, call)
    };
    MADE.lock().entry((name.to_owned(), factor, complex)).or_insert_with(make).clone()
}

fn rule(factor: Factor, complex: bool, operands: &[(DType, &[Size])]) -> Ruled {
    let matrix = |(_, shape): &(DType, &[Size])| -> std::result::Result<(Vec<Size>, Size, Size), String> {
        let shape = if complex { &shape[..shape.len().saturating_sub(1)] } else { *shape };
        match shape {
            [batch @ .., m, n] => Ok((batch.to_vec(), m.clone(), n.clone())),
            _ => Err("takes matrices".into()),
        }
    };
    let (dtype, (batch, m, n)) = (operands[0].0, matrix(&operands[0])?);
    let columns = match operands.get(1) {
        Some(other) => matrix(other)?.2,
        None => Size::ZERO,
    };
    let result = |(holds, extents): (Holds, Vec<Size>)| {
        let is_complex = holds == Holds::Complex || (holds == Holds::Same && complex);
        let pair = is_complex.then(|| Size::from(2));
        let dtype = if holds == Holds::Positions { DType::I64 } else { dtype };
        (dtype, batch.iter().cloned().chain(extents).chain(pair).collect())
    };
    Ok(factor.results(&m, &n, &columns).into_iter().map(result).collect())
}

/// Rows of a result that tasks write, each row by one of them.
struct Rows<'a, T> {
    first: *mut T,
    width: usize,
    count: usize,
    _memory: std::marker::PhantomData<&'a mut [T]>,
}

// SAFETY: `row` gives each row to one task only, as its caller promises.
unsafe impl<T: Send> Sync for Rows<'_, T> {}

impl<'a, T: Plain> Rows<'a, T> {
    fn of(value: &'a HostValue, count: usize) -> std::result::Result<Self, CustomError> {
        let all: &mut [T] = elements_mut(value)?;
        Ok(Rows { first: all.as_mut_ptr(), width: all.len() / count, count, _memory: std::marker::PhantomData })
    }

    /// Row `i`.
    ///
    /// # Safety
    /// No other slice of this row is in use.
    #[allow(clippy::mut_from_ref)]
    unsafe fn row(&self, i: usize) -> &mut [T] {
        assert!(i < self.count);
        // SAFETY: there are `count` rows of `width` elements, which are this value's; the caller promises the rest.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(i * self.width), self.width) }
    }
}

/// Calls a function for each matrix, groups of them in parallel; one takes so many operations.
fn each(
    count: usize,
    operations: usize,
    work: &(dyn Fn(usize) -> std::result::Result<(), Failure> + Sync),
) -> std::result::Result<(), CustomError> {
    let group = group_of(count, operations);
    let failed = Mutex::new(None);
    parallel(count.div_ceil(group), &|task| {
        for i in task * group..((task + 1) * group).min(count) {
            if let Err(failure) = work(i) {
                failed.lock().get_or_insert(failure);
                return;
            }
        }
    });
    let failed = failed.into_inner();
    failed.map_or(Ok(()), |failure: Failure| Err(CustomError::Raised(Arc::new(failure))))
}

/// Where, counted from 1, a matrix turned out to have no such factors, and 0 where it has them.
fn place_of(computed: std::result::Result<(), Failure>) -> std::result::Result<i64, Failure> {
    match computed {
        Ok(()) => Ok(0),
        Err(Failure::Singular(place) | Failure::NotPositiveDefinite(place)) => Ok(place as i64),
        Err(other) => Err(other),
    }
}

/// Computes the factors of each matrix.
fn run<T: Number + Plain>(factor: Factor, args: &HostArgs) -> std::result::Result<(), CustomError>
where
    T::Real: Plain + Copy,
    T::Complex: Plain,
{
    let (operand, results) = (&args.operands[0], &args.results);
    let complex = size_of::<T>() != size_of::<T::Real>();
    let extents = &operand.extents[..operand.extents.len() - usize::from(complex)];
    let (batch, matrix) = extents.split_at(extents.len() - 2);
    let (m, n, count) = (matrix[0], matrix[1], batch.iter().product::<usize>());
    if count == 0 {
        return Ok(());
    }
    let all: &[T] = elements(operand)?;
    let a = |i: usize| &all[i * m * n..][..m * n];
    let operations = 4 * m * n * m.min(n) + 1;
    let over = |work: &(dyn Fn(usize) -> std::result::Result<(), Failure> + Sync)| each(count, operations, work);
    macro_rules! rows {
        ($($at:literal)*) => { ($(Rows::of(&results[$at], count)?),*) };
    }
    // SAFETY, of each call of `row` below: `each` calls its function once for each matrix, whose rows no other call has.
    match factor {
        Factor::Cholesky => {
            let l: Rows<'_, T> = rows!(0);
            // SAFETY: see above.
            over(&|i| linalg::cholesky(n, a(i), unsafe { l.row(i) }))
        }
        Factor::Minor => {
            let order: Rows<'_, i64> = rows!(0);
            over(&|i| {
                let failed = linalg::cholesky(n, a(i), &mut vec![T::zero_impl(); n * n]);
                // SAFETY: see above.
                let order = unsafe { order.row(i) };
                order[0] = place_of(failed)?;
                Ok(())
            })
        }
        Factor::Pivot => {
            let pivot: Rows<'_, i64> = rows!(0);
            over(&|i| {
                // SAFETY: see above.
                let pivot = unsafe { pivot.row(i) };
                pivot[0] = place_of(linalg::solve(n, 0, a(i), &[], &mut []))?;
                Ok(())
            })
        }
        Factor::Lu => {
            let (p, l, u): (Rows<'_, i64>, Rows<'_, T>, Rows<'_, T>) = rows!(0 1 2);
            over(&|i| {
                // SAFETY: see above.
                linalg::lu(m, n, a(i), unsafe { p.row(i) }, unsafe { l.row(i) }, unsafe { u.row(i) });
                Ok(())
            })
        }
        Factor::Slogdet => {
            let (sign, log): (Rows<'_, T>, Rows<'_, T::Real>) = rows!(0 1);
            over(&|i| {
                // SAFETY: see above.
                let (sign, log) = unsafe { (&mut sign.row(i)[0], &mut log.row(i)[0]) };
                (*sign, *log) = linalg::slogdet(n, a(i));
                Ok(())
            })
        }
        Factor::Solve | Factor::LeastSquares => {
            let other: &[T] = elements(&args.operands[1])?;
            let x: Rows<'_, T> = rows!(0);
            let wide = other.len() / count;
            let columns = wide.checked_div(m).unwrap_or(0);
            let right = |i: usize| &other[i * wide..][..wide];
            match factor {
                // SAFETY: see above.
                Factor::Solve => over(&|i| linalg::solve(n, columns, a(i), right(i), unsafe { x.row(i) })),
                // SAFETY: see above.
                _ => over(&|i| linalg::least_squares(m, n, columns, a(i), right(i), unsafe { x.row(i) })),
            }
        }
        Factor::Inverse => {
            let x: Rows<'_, T> = rows!(0);
            // SAFETY: see above.
            over(&|i| linalg::inverse(n, a(i), unsafe { x.row(i) }))
        }
        Factor::Adjugate => {
            let x: Rows<'_, T> = rows!(0);
            over(&|i| {
                // SAFETY: see above.
                linalg::adjugate(n, a(i), unsafe { x.row(i) });
                Ok(())
            })
        }
        Factor::Qr { complete } => {
            let (q, r): (Rows<'_, T>, Rows<'_, T>) = rows!(0 1);
            over(&|i| {
                // SAFETY: see above.
                linalg::qr(m, n, complete, a(i), unsafe { q.row(i) }, unsafe { r.row(i) });
                Ok(())
            })
        }
        Factor::Svd { full } => {
            let (u, s, vh): (Rows<'_, T>, Rows<'_, T::Real>, Rows<'_, T>) = rows!(0 1 2);
            // SAFETY: see above.
            over(&|i| linalg::svd(m, n, full, a(i), unsafe { u.row(i) }, unsafe { s.row(i) }, unsafe { vh.row(i) }))
        }
        Factor::Eigh { lower } => {
            let (w, v): (Rows<'_, T::Real>, Rows<'_, T>) = rows!(0 1);
            // SAFETY: see above.
            over(&|i| linalg::eigh(n, lower, a(i), unsafe { w.row(i) }, unsafe { v.row(i) }))
        }
        Factor::Eig => {
            let (w, v): (Rows<'_, T::Complex>, Rows<'_, T::Complex>) = rows!(0 1);
            // SAFETY: see above.
            over(&|i| linalg::eig(n, a(i), unsafe { w.row(i) }, Some(unsafe { v.row(i) })))
        }
        Factor::Eigvals => {
            let w: Rows<'_, T::Complex> = rows!(0);
            // SAFETY: see above.
            over(&|i| linalg::eig(n, a(i), unsafe { w.row(i) }, None))
        }
        Factor::SingularValues => {
            let s: Rows<'_, T::Real> = rows!(0);
            // SAFETY: see above.
            over(&|i| linalg::singular_values(m, n, a(i), unsafe { s.row(i) }))
        }
        Factor::Eigenvalues { lower } => {
            let w: Rows<'_, T::Real> = rows!(0);
            // SAFETY: see above.
            over(&|i| linalg::eigenvalues(n, lower, a(i), unsafe { w.row(i) }))
        }
    }
}
