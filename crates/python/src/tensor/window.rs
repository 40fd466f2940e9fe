//! Convolution, pooling, and normalisation over channels.

use pyo3::prelude::*;
use pyo3::types::{PySequence, PyString};
use svod_tensor::{Conv, Padding, Pool, Tensor, TensorError};

use super::{Made, PyTensor};
use crate::convert::{AnyTensor, Axes, Axis, argument, integer, required};
use crate::error::{Class, Raised, Result};
use crate::scalar::{Integer, expected, flag, real};

/// `"same"`, `"valid"`, a number, one for each dimension, or a pair for each.
pub struct AnyPadding(Padding);

impl<'a, 'py> FromPyObject<'a, 'py> for AnyPadding {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(name) = given.cast::<PyString>() {
            return match name.to_string().as_str() {
                "same" => Ok(AnyPadding(Padding::Same)),
                "valid" => Ok(AnyPadding(Padding::Valid)),
                other => {
                    let message = format!("numbers, \"same\" or \"valid\" are expected, not {other:?}");
                    Err(Class::Argument.raise(message).into())
                }
            };
        }
        if given.cast::<PySequence>().is_ok()
            && let Ok(pairs) = given.extract::<Vec<(i64, i64)>>()
        {
            return Ok(AnyPadding(Padding::Pairs(pairs)));
        }
        given.extract::<Axes>().map(|numbers| AnyPadding(Padding::both(&numbers.0)))
    }
}

/// What an operation was given, by the names of its arguments. Errors name both.
struct Given(&'static str);

impl Given {
    /// A number for every spatial dimension, or one for each.
    fn numbers(&self, name: &str, given: Option<&Bound<'_, PyAny>>) -> Result<Option<Vec<i64>>> {
        given.map(|given| argument::<Axes>(self.0, name, given).map(|numbers| numbers.0)).transpose()
    }

    /// Likewise; 1 where there is none.
    fn or_ones(&self, name: &str, given: Option<&Bound<'_, PyAny>>) -> Result<Vec<i64>> {
        Ok(self.numbers(name, given)?.unwrap_or_else(|| vec![1]))
    }

    fn padding(&self, given: Option<&Bound<'_, PyAny>>) -> Result<Padding> {
        given.map_or(Ok(Padding::both(&[0])), |given| Ok(argument::<AnyPadding>(self.0, "padding", given)?.0))
    }

    fn conv(
        &self,
        groups: Option<&Bound<'_, PyAny>>,
        stride: Option<&Bound<'_, PyAny>>,
        dilation: Option<&Bound<'_, PyAny>>,
        padding: Option<&Bound<'_, PyAny>>,
    ) -> Result<Conv> {
        Ok(Conv {
            stride: self.or_ones("stride", stride)?,
            padding: self.padding(padding)?,
            dilation: self.or_ones("dilation", dilation)?,
            groups: groups.map_or(Ok(1), |groups| integer(&format!("{}: groups", self.0), groups))?,
        })
    }

    /// The extents of a window over so many dimensions, of which a single one counts for all; or over as many as there
    /// are extents.
    fn kernel(&self, given: &Bound<'_, PyAny>, spatial: Option<usize>) -> Result<Vec<i64>> {
        let Some(spatial) = spatial else { return self.each("kernel_size", given) };
        let extents = argument::<Axes>(self.0, "kernel_size", given)?.0;
        match extents.len() {
            1 => Ok(vec![extents[0]; spatial]),
            n if n == spatial => Ok(extents),
            n => Err(Class::Argument.raise(format!("{}: the kernel has {n} extents for {spatial} dimensions", self.0))),
        }
    }

    /// The numbers of parts of so many dimensions, of which a single one counts for all; or of as many as there are numbers.
    fn parts(&self, given: &Bound<'_, PyAny>, spatial: Option<usize>) -> Result<Vec<Option<i64>>> {
        let Some(spatial) = spatial else { return self.each("output_size", given) };
        let parts = given.extract::<Parts>().map_err(|error| {
            Raised::from(expected(
                &format!("{}: output_size: a number of parts, or one for each dimension,", self.0),
                given,
                error,
            ))
        });
        match parts? {
            Parts::One(parts) => Ok(vec![Some(parts); spatial]),
            Parts::Each(parts) if parts.len() == spatial => Ok(parts),
            Parts::Each(parts) => {
                let message = format!("{}: {} numbers of parts for {spatial} dimensions", self.0, parts.len());
                Err(Class::Argument.raise(message))
            }
        }
    }

    /// A list, whose length is the number of dimensions.
    fn each<'py, T: for<'a> FromPyObject<'a, 'py>>(&self, name: &str, given: &Bound<'py, PyAny>) -> Result<Vec<T>> {
        given.extract().map_err(|_| {
            let message = format!("{}: {name}: a number for each dimension is expected, not {given}", self.0);
            Class::ArgumentType.raise(message)
        })
    }

    /// An error unless a weight has so many spatial dimensions.
    fn check_spatial(&self, x: &PyTensor, weight: &Tensor, spatial: Option<usize>) -> Result<()> {
        match spatial {
            Some(spatial) if weight.rank() != spatial + 2 => {
                let (x, weight) = (shown(&x.0), shown(weight));
                let message = format!("{x}, {weight}: the weight must have 2 + {spatial} dimensions");
                Err(TensorError::Shape { op: self.0, message }.into())
            }
            _ => Ok(()),
        }
    }
}

fn shown(tensor: &Tensor) -> String {
    let extents: Vec<String> = tensor.shape().iter().map(|n| n.to_string()).collect();
    format!("{}[{}]", tensor.dtype(), extents.join(", "))
}

macro_rules! windowed {
    ($($spatial:expr, $over:literal, $windows:literal, $conv:ident $conv_transpose:ident $max_pool:ident $avg_pool:ident $adaptive:ident;)*) => {
        #[explained]
        #[pymethods]
        impl PyTensor {
            $(
                #[doc = concat!(
                    "The convolution over ", $over, " of `[batch, in, ..]` with weights `[out, in / groups, ..]`.\n\n",
                    "`padding` is a number, one for each dimension, a pair for each, `\"same\"` or `\"valid\"`."
                )]
                #[pyo3(signature = (weight, bias=None, stride=None, padding=None, dilation=None, groups=None),
                    text_signature = "($self, weight, bias=None, stride=1, padding=0, dilation=1, groups=1)")]
                fn $conv(
                    &self,
                    weight: AnyTensor,
                    bias: Option<AnyTensor>,
                    stride: Option<&Bound<'_, PyAny>>,
                    padding: Option<&Bound<'_, PyAny>>,
                    dilation: Option<&Bound<'_, PyAny>>,
                    groups: Option<&Bound<'_, PyAny>>,
                ) -> Made {
                    let given = Given(stringify!($conv));
                    given.check_spatial(self, &weight.0, $spatial)?;
                    let how = given.conv(groups, stride, dilation, padding)?;
                    Ok(self.0.conv(&weight.0, bias.as_ref().map(|b| &b.0), &how)?.into())
                }

                #[doc = concat!(
                    "The transposed convolution over ", $over, " of `[batch, in, ..]` with weights ",
                    "`[in, out / groups, ..]`.\n\n",
                    "`padding` is cut off the result, `output_padding` added at its end."
                )]
                #[pyo3(signature = (
                    weight, bias=None, stride=None, padding=None, output_padding=None, groups=None, dilation=None),
                    text_signature =
                        "($self, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1)")]
                #[allow(clippy::too_many_arguments)]
                fn $conv_transpose(
                    &self,
                    weight: AnyTensor,
                    bias: Option<AnyTensor>,
                    stride: Option<&Bound<'_, PyAny>>,
                    padding: Option<&Bound<'_, PyAny>>,
                    output_padding: Option<&Bound<'_, PyAny>>,
                    groups: Option<&Bound<'_, PyAny>>,
                    dilation: Option<&Bound<'_, PyAny>>,
                ) -> Made {
                    let given = Given(stringify!($conv_transpose));
                    given.check_spatial(self, &weight.0, $spatial)?;
                    let how = given.conv(groups, stride, dilation, padding)?;
                    let added = given.numbers("output_padding", output_padding)?.unwrap_or_else(|| vec![0]);
                    Ok(self.0.conv_transpose(&weight.0, bias.as_ref().map(|b| &b.0), &how, &added)?.into())
                }

                #[doc = concat!("The maximum of each window over ", $windows, "; NaN where there is one.")]
                #[pyo3(signature = (kernel_size, stride=None, padding=None, dilation=None, ceil_mode=false),
                    text_signature = "($self, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False)")]
                fn $max_pool(
                    &self,
                    kernel_size: &Bound<'_, PyAny>,
                    stride: Option<&Bound<'_, PyAny>>,
                    padding: Option<&Bound<'_, PyAny>>,
                    dilation: Option<&Bound<'_, PyAny>>,
                    #[pyo3(from_py_with = flag)] ceil_mode: bool,
                ) -> Made {
                    let given = Given(stringify!($max_pool));
                    let kernel = given.kernel(kernel_size, $spatial)?;
                    let (stride, padding) = (given.numbers("stride", stride)?, given.padding(padding)?);
                    let dilation = given.or_ones("dilation", dilation)?;
                    let how = Pool { stride, padding, dilation, ceil_mode, ..Pool::default() };
                    Ok(self.0.max_pool(&kernel, &how)?.into())
                }

                #[doc = concat!("The mean of each window over ", $windows, ".")]
                #[pyo3(signature = (
                    kernel_size, stride=None, padding=None, ceil_mode=false, count_include_pad=true, dilation=None),
                    text_signature = "($self, kernel_size, stride=None, padding=0, ceil_mode=False, \
                        count_include_pad=True, dilation=1)")]
                fn $avg_pool(
                    &self,
                    kernel_size: &Bound<'_, PyAny>,
                    stride: Option<&Bound<'_, PyAny>>,
                    padding: Option<&Bound<'_, PyAny>>,
                    #[pyo3(from_py_with = flag)] ceil_mode: bool,
                    #[pyo3(from_py_with = flag)] count_include_pad: bool,
                    dilation: Option<&Bound<'_, PyAny>>,
                ) -> Made {
                    let given = Given(stringify!($avg_pool));
                    let kernel = given.kernel(kernel_size, $spatial)?;
                    let (stride, padding) = (given.numbers("stride", stride)?, given.padding(padding)?);
                    let dilation = given.or_ones("dilation", dilation)?;
                    let how = Pool { stride, padding, dilation, ceil_mode, count_include_pad };
                    Ok(self.0.avg_pool(&kernel, &how)?.into())
                }

                #[doc = concat!(
                    "The means of so many parts of ", $windows, ", that cover them; None keeps an extent."
                )]
                fn $adaptive(&self, output_size: &Bound<'_, PyAny>) -> Made {
                    let parts = Given(stringify!($adaptive)).parts(output_size, $spatial)?;
                    Ok(self.0.adaptive_avg_pool(&parts)?.into())
                }
            )*
        }
    };
}

/// Numbers of parts: one for every dimension, or one for each.
#[derive(FromPyObject)]
enum Parts {
    One(i64),
    Each(Vec<Option<i64>>),
}

windowed! {
    None, "all axes behind the channels", "the last axes, as many as there are numbers",
        conv conv_transpose max_pool avg_pool adaptive_avg_pool;
    Some(1), "the last 1", "the last 1", conv1d conv_transpose1d max_pool1d avg_pool1d adaptive_avg_pool1d;
    Some(2), "the last 2", "the last 2", conv2d conv_transpose2d max_pool2d avg_pool2d adaptive_avg_pool2d;
    Some(3), "the last 3", "the last 3", conv3d conv_transpose3d max_pool3d avg_pool3d adaptive_avg_pool3d;
}

#[explained]
#[pymethods]
impl PyTensor {
    /// Every part of `size` elements of an axis that begins at a multiple of `step`, as a new last
    /// axis.
    #[pyo3(signature = (dim=None, size=None, step=None, *, axis=None),
        text_signature = "($self, dim, size, step, *, axis=None)")]
    fn unfold(&self, dim: Option<Axis>, size: Option<Integer>, step: Option<Integer>, axis: Option<Axis>) -> Made {
        let (op, at) = self.at("unfold", axis, dim)?;
        self.view_by(op, Ok(self.0.unfold(at, required(op, "size", size)?.0, required(op, "step", step)?.0)?.into()))
    }

    /// The windows of a convolution over `[batch, channels, ..]` as columns: `[batch, channels *
    /// elements of a window, windows]`. `kernel_size` has a number for each spatial dimension.
    #[pyo3(signature = (kernel_size, stride=None, padding=None, dilation=None),
        text_signature = "($self, kernel_size, stride=1, padding=0, dilation=1)")]
    fn im2col(
        &self,
        kernel_size: Axes,
        stride: Option<&Bound<'_, PyAny>>,
        padding: Option<&Bound<'_, PyAny>>,
        dilation: Option<&Bound<'_, PyAny>>,
    ) -> Made {
        let given = Given("im2col");
        let (stride, dilation) = (given.or_ones("stride", stride)?, given.or_ones("dilation", dilation)?);
        Ok(self.0.im2col(&kernel_size.0, &stride, &given.padding(padding)?, &dilation)?.into())
    }

    /// Each channel of `[batch, channels, ..]` less its mean and divided by the root of its variance,
    /// then scaled and shifted; without statistics, by those of this batch.
    #[pyo3(signature = (running_mean=None, running_var=None, weight=None, bias=None, eps=1e-5))]
    fn batch_norm(
        &self,
        running_mean: Option<AnyTensor>,
        running_var: Option<AnyTensor>,
        weight: Option<AnyTensor>,
        bias: Option<AnyTensor>,
        #[pyo3(from_py_with = real)] eps: f64,
    ) -> Made {
        let statistics = match (&running_mean, &running_var) {
            (Some(mean), Some(variance)) => Some((&mean.0, &variance.0)),
            (None, None) => None,
            _ => return Err(Class::Argument.raise("batch_norm: mean and variance come together, or none of them")),
        };
        let (weight, bias) = (weight.as_ref().map(|w| &w.0), bias.as_ref().map(|b| &b.0));
        Ok(self.0.batch_norm(statistics, weight, bias, eps)?.into())
    }

    /// Groups of the channels of `[batch, channels, ..]`, each with mean 0 and variance 1, then scaled
    /// and shifted by channel.
    #[pyo3(signature = (num_groups, weight=None, bias=None, eps=1e-5))]
    fn group_norm(
        &self,
        num_groups: Integer,
        weight: Option<AnyTensor>,
        bias: Option<AnyTensor>,
        #[pyo3(from_py_with = real)] eps: f64,
    ) -> Made {
        let (weight, bias) = (weight.as_ref().map(|w| &w.0), bias.as_ref().map(|b| &b.0));
        Ok(self.0.group_norm(num_groups.0, weight, bias, eps)?.into())
    }

    /// Each channel of each item of `[batch, channels, ..]` with mean 0 and variance 1, then scaled and
    /// shifted by channel.
    #[pyo3(signature = (weight=None, bias=None, eps=1e-5))]
    fn instance_norm(
        &self,
        weight: Option<AnyTensor>,
        bias: Option<AnyTensor>,
        #[pyo3(from_py_with = real)] eps: f64,
    ) -> Made {
        let (weight, bias) = (weight.as_ref().map(|w| &w.0), bias.as_ref().map(|b| &b.0));
        Ok(self.0.instance_norm(weight, bias, eps)?.into())
    }
}
