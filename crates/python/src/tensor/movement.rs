//! Shapes, parts, lookups.

use pyo3::prelude::*;
use pyo3::types::{PySequence, PyTuple};
use svod_tensor::{Size, Tensor};

use super::{Made, MadeList, PyTensor};
use crate::convert::{AnyOperand, AnyTensor, Axes, Axis, argument, either, integer, integers, one_axis, required};
use crate::dtype::PyDType;
use crate::error::{Class, Raised};
use crate::explained::parts;
use crate::functions::shape_of;
use crate::scalar::{Several, expected, whole};
use crate::size::{AnySize, Extents, symbolic};

#[explained]
#[pymethods]
impl PyTensor {
    /// The same elements in row-major order under other extents; one -1 is inferred.
    #[pyo3(signature = (*shape))]
    fn reshape(&self, shape: &Bound<'_, PyTuple>) -> Made {
        let shape = parts(shape.py(), "reshape", "shape", Extents::of(shape))?;
        self.reshaped_by("reshape", shape.bind(self.0.reshape(&shape.sizes)))
    }

    /// As `reshape`; of a type, as `bitcast`.
    #[pyo3(signature = (*shape))]
    fn view(&self, shape: &Bound<'_, PyTuple>) -> Made {
        if shape.len() == 1
            && let Ok(dtype) = shape.get_item(0)?.cast::<PyDType>()
        {
            return self.view_by("view", Ok(self.0.bitcast(dtype.get().0)?.into()));
        }
        let shape = parts(shape.py(), "view", "shape", Extents::of(shape))?;
        self.reshaped_by("reshape", shape.bind(self.0.reshape(&shape.sizes)))
    }

    /// Dimension `i` of the result is dimension `axes[i]`.
    #[pyo3(signature = (*axes, dims=None))]
    fn permute(&self, axes: &Bound<'_, PyTuple>, dims: Option<Bound<'_, PyAny>>) -> Made {
        let axes = shape_of("permute", axes, dims, None)?;
        let axes = parts(axes.py(), "permute", "axes", integers(&axes).map_err(Raised::from))?;
        self.view_by("permute", Ok(self.0.permute(&axes)?.into()))
    }

    /// Two dimensions exchanged.
    #[pyo3(signature = (dim0=None, dim1=None, *, axis0=None, axis1=None),
        text_signature = "($self, dim0, dim1, *, axis0=None, axis1=None)")]
    fn transpose(&self, dim0: Option<Axis>, dim1: Option<Axis>, axis0: Option<Axis>, axis1: Option<Axis>) -> Made {
        let (op, first) = self.at("transpose", axis0, dim0)?;
        let (_, second) = self.at(op, axis1, dim1)?;
        self.view_by(op, Ok(self.0.transpose(first, second)?.into()))
    }

    /// As `transpose`.
    #[pyo3(signature = (axis0=None, axis1=None, *, dim0=None, dim1=None),
        text_signature = "($self, axis0, axis1, *, dim0=None, dim1=None)")]
    fn swapaxes(&self, axis0: Option<Axis>, axis1: Option<Axis>, dim0: Option<Axis>, dim1: Option<Axis>) -> Made {
        self.transpose(dim0, dim1, axis0, axis1)
    }

    /// `transpose` in NumPy's form: all dimensions in this order.
    fn _transposed(&self, axes: Vec<Axis>) -> Made {
        let axes: Vec<i64> = axes.into_iter().map(|axis| axis.0).collect();
        self.view_by("transpose", Ok(self.0.permute_for("transpose", &axes)?.into()))
    }

    /// Rows and columns exchanged, of at most 2 dimensions.
    fn t(&self) -> Made {
        if self.0.rank() > 2 {
            return Err(
                Class::Shape.raise(format!("t: at most 2 dimensions, not {}; see mT and permute", self.0.described()))
            );
        }
        self.view_by("transpose", Ok(self.0.t()?.into()))
    }

    /// All dimensions in reverse order.
    #[getter(T)]
    fn transposed(&self) -> Made {
        self.view_by("transpose", Ok(self.0.t()?.into()))
    }

    /// The last two dimensions exchanged.
    #[getter(mT)]
    fn matrix_transposed(&self) -> Made {
        self.view_by("mT", Ok(self.0.transpose(-2, -1)?.into()))
    }

    /// The adjoint of a matrix.
    #[getter(H)]
    fn adjoint_of_matrix(&self) -> Made {
        if self.0.rank() != 2 {
            return Err(Class::Shape.raise(format!("H: 2 dimensions, not {}; see mH", self.0.described())));
        }
        self.adjoint_of_matrices()
    }

    /// The adjoints of matrices: the last two dimensions exchanged, and complex numbers conjugated.
    #[getter(mH)]
    fn adjoint_of_matrices(&self) -> Made {
        self.view_by("mH", Ok(self.0.conj()?.transpose(-2, -1)?.into()))
    }

    /// Dimension `source` moved to position `destination`.
    fn movedim(&self, source: Axis, destination: Axis) -> Made {
        self.view_by("movedim", Ok(self.0.movedim(source.0, destination.0)?.into()))
    }

    /// Dimensions `start_dim` to `end_dim` as one.
    #[pyo3(signature = (start_dim=0, end_dim=-1), text_signature = "($self, start_dim=0, end_dim=-1)")]
    fn flatten(
        &self,
        #[pyo3(from_py_with = whole)] start_dim: i64,
        #[pyo3(from_py_with = whole)] end_dim: i64,
    ) -> Made {
        self.reshaped_by("flatten", Ok(self.0.flatten(start_dim, end_dim)?.into()))
    }

    /// One dimension as several; one -1 is inferred.
    #[pyo3(signature = (dim=None, sizes=None, *, axis=None), text_signature = "($self, dim, sizes, *, axis=None)")]
    fn unflatten(&self, dim: Option<Axis>, sizes: Option<Several<AnySize>>, axis: Option<Axis>) -> Made {
        let (op, dim) = self.at("unflatten", axis, dim)?;
        let mut extents = Extents::default();
        required(op, "sizes", sizes)?.0.into_iter().for_each(|n| extents.push(n));
        self.view_by("unflatten", extents.bind(self.0.unflatten(dim, &extents.sizes)))
    }

    /// Without these dimensions of extent 1, by default all of them.
    #[pyo3(signature = (dim=None, *, axis=None))]
    fn squeeze(&self, dim: Option<Axes>, axis: Option<Axes>) -> Made {
        self.view_by("squeeze", Ok(self.0.squeeze(either(axis, dim)?.as_deref())?.into()))
    }

    /// A new dimension of extent 1 at this position of the result.
    #[pyo3(signature = (dim=None, *, axis=None), text_signature = "($self, dim, *, axis=None)")]
    fn unsqueeze(&self, dim: Option<Axis>, axis: Option<Axis>) -> Made {
        let (op, at) = self.at("unsqueeze", axis, dim)?;
        self.view_by(op, Ok(self.0.unsqueeze(at)?.into()))
    }

    /// Dimensions of extent 1 repeated to these extents; -1 keeps one.
    #[pyo3(signature = (*shape))]
    fn expand(&self, shape: &Bound<'_, PyTuple>) -> Made {
        let shape = parts(shape.py(), "expand", "shape", Extents::of(shape))?;
        self.view_by("expand", shape.bind(self.0.expand(&shape.sizes)))
    }

    /// As `expand`, by NumPy's name.
    #[pyo3(signature = (*shape))]
    fn broadcast_to(&self, shape: &Bound<'_, PyTuple>) -> Made {
        let shape = parts(shape.py(), "broadcast_to", "shape", Extents::of(shape))?;
        self.view_by("expand", shape.bind(self.0.expand(&shape.sizes)))
    }

    /// `value` before and after each dimension, by pairs of numbers of elements; negative ones cut off.
    #[pyo3(signature = (padding, value=None))]
    fn pad(&self, #[pyo3(from_py_with = each_pair)] padding: SizePairs, value: Option<AnyOperand>) -> Made {
        if padding.len() != self.0.rank() {
            let message = format!("pad: a pair for each axis of {}, not {}", self.0.described(), padding.len());
            return Err(Class::Shape.raise(message));
        }
        let (padding, extents) = pairs(padding);
        extents.bind(self.0.pad(&padding, value.map_or(0.into(), |v| v.0)))
    }

    /// The part from the first to before the second number, of each dimension.
    fn shrink(&self, #[pyo3(from_py_with = each_pair)] bounds: SizePairs) -> Made {
        let (bounds, extents) = pairs(bounds);
        self.view_by("shrink", extents.bind(self.0.shrink(&bounds)))
    }

    /// `length` elements of `dim` from `start` on, which counts from the end where it is negative. It may be an integer
    /// in a tensor, which is then read when the elements are.
    #[pyo3(signature = (dim=None, start=None, length=None, *, axis=None),
        text_signature = "($self, dim, start, length, *, axis=None)")]
    fn narrow(&self, dim: Option<Axis>, start: Option<Start>, length: Option<AnySize>, axis: Option<Axis>) -> Made {
        let (op, dim) = self.at("narrow", axis, dim)?;
        let (start, length) = (required(op, "start", start)?, required(op, "length", length)?);
        let start = match start {
            Start::Known(start) => start,
            Start::Read(start) => return length.bind(self.0.narrow_at(dim, &start, &length.size)),
        };
        let (bounds, extents) = pairs(vec![(start, length)]);
        let [(start, length)] = &bounds[..] else { return Ok(self.0.clone().into()) };
        let (shape, rank) = (self.0.shape(), self.0.rank() as i64);
        let negative = start.as_const().is_some_and(|start| start < 0) && (-rank..rank).contains(&dim);
        let start = &if negative { start + &shape[dim.rem_euclid(rank) as usize] } else { start.clone() };
        self.view_by("narrow", extents.bind(self.0.narrow(dim, start, length)))
    }

    /// These dimensions in reverse order, by default all: one by one, or together by a name.
    #[pyo3(signature = (*axes, axis=None, dim=None, dims=None))]
    fn flip(
        &self,
        axes: &Bound<'_, PyTuple>,
        axis: Option<Axes>,
        dim: Option<Axes>,
        dims: Option<Bound<'_, PyAny>>,
    ) -> Made {
        let dims = shape_of("flip", axes, dims, None)?;
        let given = match dims.is_empty() || dims.len() == 1 && dims.get_item(0)?.is_none() {
            true => None,
            false => Some(Axes(parts(dims.py(), "flip", "axes", integers(&dims).map_err(Raised::from))?)),
        };
        let named = either(axis, dim)?;
        Ok(self.0.flip(either(named, given)?.as_deref())?.into())
    }

    /// The elements of axes moved towards their ends, those beyond them to the start, by one number or by one
    /// for each; without axes those of the flat tensor.
    #[pyo3(signature = (shifts, dims=None, *, axis=None, dim=None))]
    fn roll(&self, shifts: &Bound<'_, PyAny>, dims: Option<Axes>, axis: Option<Axes>, dim: Option<Axes>) -> Made {
        let (by, is_one) = match shifts.cast::<PySequence>() {
            Ok(several) => (parts(shifts.py(), "roll", "shifts", Extents::of(&several.to_tuple()?))?, false),
            Err(_) => {
                let mut one = Extents::default();
                one.push(argument("roll", "shifts", shifts)?);
                (one, true)
            }
        };
        let Some(Axes(axes)) = either(either(axis, dim)?, dims)? else {
            if !is_one {
                return Err(
                    Class::Argument.raise(format!("roll: shifts {:?} are of axes, which are not named", by.sizes))
                );
            }
            return by.bind(self.0.flatten(0, -1)?.roll(&by.sizes[0], 0)?.reshape(&self.0.shape()));
        };
        if !is_one && by.sizes.len() != axes.len() {
            let (shifts, axes) = (by.sizes.len(), axes.len());
            return Err(
                Class::Argument.raise(format!("roll: as many shifts as axes are expected, not {shifts} for {axes}"))
            );
        }
        let mut rolled = self.0.clone();
        for (i, axis) in axes.iter().enumerate() {
            rolled = rolled.roll(&by.sizes[if is_one { 0 } else { i }], *axis)?;
        }
        by.bind(Ok(rolled))
    }

    /// The elements on and below a diagonal, zeros above.
    #[pyo3(signature = (diagonal=0.into()), text_signature = "($self, diagonal=0)")]
    fn tril(&self, diagonal: AnySize) -> Made {
        diagonal.bind(self.0.tril(&diagonal.size))
    }

    /// The elements on and above a diagonal, zeros below.
    #[pyo3(signature = (diagonal=0.into()), text_signature = "($self, diagonal=0)")]
    fn triu(&self, diagonal: AnySize) -> Made {
        diagonal.bind(self.0.triu(&diagonal.size))
    }

    /// The whole repeated along each dimension; new dimensions come first.
    #[pyo3(signature = (*repeats))]
    fn repeat(&self, repeats: &Bound<'_, PyTuple>) -> Made {
        let repeats = parts(repeats.py(), "repeat", "repeats", Extents::of(repeats))?;
        repeats.bind(self.0.repeat(&repeats.sizes))
    }

    /// Each element repeated in place, along an axis or of the flat tensor: so often, or, by a 1-d tensor,
    /// each as often as the number at its place says. Such numbers are computed now, as `nonzero` is. `output_size` is
    /// what the extent has to be.
    #[pyo3(signature = (repeats, dim=None, *, axis=None, output_size=None))]
    fn repeat_interleave(
        &self,
        repeats: &Bound<'_, PyAny>,
        dim: Option<Axis>,
        axis: Option<Axis>,
        output_size: Option<AnySize>,
    ) -> Made {
        let (source, axis) = match one_axis(axis, dim)? {
            Some(axis) => (self.0.clone(), axis),
            None => (self.0.flatten(0, -1)?, 0),
        };
        if repeats.cast::<PyTensor>().is_ok() || repeats.cast::<PySequence>().is_ok() || repeats.hasattr("__array__")? {
            let made = source.repeat_interleave_each(&repeats.extract::<AnyTensor>()?.0, axis)?;
            return sized("repeat_interleave", made, axis, output_size);
        }
        let times = match symbolic(repeats) {
            Some(times) => times,
            None => integer("repeat_interleave: repeats", repeats)?.into(),
        };
        let made = times.bind(source.repeat_interleave(&times.size, axis))?;
        sized("repeat_interleave", made.0, axis, output_size)
    }

    /// Parts along an axis: of this extent, the last one maybe smaller, or of these extents.
    #[pyo3(signature = (split_size, dim=None, *, axis=None),
        text_signature = "($self, split_size, dim=0, *, axis=None)")]
    fn split(&self, split_size: &Bound<'_, PyAny>, dim: Option<Axis>, axis: Option<Axis>) -> MadeList {
        let dim = one_axis(axis, dim)?.unwrap_or(0);
        let mut extents = Extents::default();
        let parts = match split_size.cast::<PySequence>() {
            Ok(several) => {
                argument::<Several<AnySize>>("split", "split_size", several)?
                    .0
                    .into_iter()
                    .for_each(|n| extents.push(n));
                self.0.split(&extents.sizes, dim)?
            }
            Err(_) => {
                extents.push(argument("split", "split_size", split_size)?);
                self.0.split_every(&extents.sizes[0], dim)?
            }
        };
        parts.into_iter().map(|part| self.view_by("split", extents.bind(Ok(part)))).collect()
    }

    /// At most so many parts of equal extent along an axis, the last one maybe smaller.
    #[pyo3(signature = (chunks, dim=None, *, axis=None), text_signature = "($self, chunks, dim=0, *, axis=None)")]
    fn chunk(&self, chunks: AnySize, dim: Option<Axis>, axis: Option<Axis>) -> MadeList {
        let dim = one_axis(axis, dim)?.unwrap_or(0);
        let Ok(count) = chunks.size.eval_bound(&chunks.values) else {
            let message = format!("chunk: so many tensors are given, of which {} is no number", chunks.size);
            return Err(Class::Argument.raise(message));
        };
        let none = |_| Class::Argument.raise(format!("chunk: {count} parts"));
        let count = usize::try_from(count).map_err(none)?;
        self.0.chunk(count, dim)?.into_iter().map(|part| self.view_by("chunk", Ok(part.into()))).collect()
    }

    /// 1 at each index along a new last dimension, else 0.
    fn one_hot(&self, num_classes: AnySize) -> Made {
        num_classes.bind(self.0.one_hot(&num_classes.size))
    }

    /// Rows of this table by index.
    fn embedding(&self, ids: AnyTensor) -> Made {
        Ok(self.0.embedding(&ids.0)?.into())
    }

    /// A tensor of its own with the same value: of one that follows a plan, or borrows an array, that of this moment.
    fn clone(&self) -> Made {
        Ok(self.0.kept()?.into())
    }
}

/// Where a part of an axis begins.
enum Start {
    /// At a size.
    Known(AnySize),
    /// Where an integer in a tensor says.
    Read(Tensor),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Start {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match given.cast::<PyTensor>() {
            Ok(place) => Ok(Start::Read(place.get().0.clone())),
            Err(_) => given.extract().map(Start::Known),
        }
    }
}

/// The tensor, whose extent along an axis has to be what was said of it.
fn sized(op: &str, made: Tensor, axis: i64, said: Option<AnySize>) -> Made {
    let (shape, rank) = (made.shape(), made.rank() as i64);
    match said {
        Some(said) if shape[axis.rem_euclid(rank) as usize] != said.size => {
            let given = made.described();
            Err(Class::Argument.raise(format!("{op}: output_size: {} for a result of {given}", said.size)))
        }
        _ => Ok(made.into()),
    }
}

/// Two numbers for each axis.
type SizePairs = Vec<(AnySize, AnySize)>;

fn each_pair(given: &Bound<'_, PyAny>) -> PyResult<SizePairs> {
    given.extract().map_err(|error| expected("a pair of sizes for each axis", given, error))
}

/// Pairs of sizes, and the values that come with them.
fn pairs(given: SizePairs) -> (Vec<(Size, Size)>, Extents) {
    let mut extents = Extents::default();
    let pairs = given
        .into_iter()
        .map(|(first, second)| {
            let pair = (first.size.clone(), second.size.clone());
            extents.push(first);
            extents.push(second);
            pair
        })
        .collect();
    (pairs, extents)
}
