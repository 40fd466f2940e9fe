//! What a rule sees of a node: operands, attributes, and the graph around it.

use svod_dtype::DType;
use svod_tensor::{Operand, Size, Tensor};

use crate::error::Fault;
use crate::graph::{Attribute, Graph, Node};
use crate::interpret::Scope;
use crate::types;
use crate::value::{Sizes, Value};

/// What a rule gives: the node's results, in order.
pub(crate) type Outcome = Result<Vec<Value>, Fault>;

/// A node with its operands.
pub(crate) struct Call<'a> {
    pub node: &'a Node,
    pub scope: &'a Scope<'a>,
    /// Operands, as many as the node names; none for one that is left out.
    pub inputs: Vec<Option<Value>>,
}

/// One result.
pub(crate) fn one(value: impl Into<Value>) -> Outcome {
    Ok(vec![value.into()])
}

/// That operands or attributes do not fit.
pub(crate) fn invalid<T>(message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Invalid(message.into()))
}

/// That svod does not compute this.
pub(crate) fn unsupported<T>(message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Unsupported(message.into()))
}

impl Call<'_> {
    /// Whether there is an operand at this place.
    pub fn has(&self, at: usize) -> bool {
        self.inputs.get(at).is_some_and(Option::is_some)
    }

    /// Whether somebody wants the result at this place.
    pub fn wants(&self, at: usize) -> bool {
        self.node.outputs.get(at).is_some_and(|name| !name.is_empty())
    }

    /// An operand.
    pub fn value(&self, at: usize) -> Result<&Value, Fault> {
        match self.inputs.get(at) {
            Some(Some(value)) => Ok(value),
            _ => invalid(format!("operand {at} is missing")),
        }
    }

    /// An operand that is a tensor.
    pub fn tensor(&self, at: usize) -> Result<Tensor, Fault> {
        self.value(at)?.tensor()
    }

    /// A tensor that may be left out.
    pub fn optional(&self, at: usize) -> Result<Option<Tensor>, Fault> {
        if self.has(at) { Ok(Some(self.tensor(at)?)) } else { Ok(None) }
    }

    /// All operands, tensors.
    pub fn tensors(&self) -> Result<Vec<Tensor>, Fault> {
        (0..self.inputs.len()).map(|at| self.tensor(at)).collect()
    }

    /// The integers that an operand is, known up to variables.
    pub fn sizes(&self, at: usize) -> Result<Sizes, Fault> {
        self.value(at)?.sizes()
    }

    /// The integers that an operand is.
    pub fn numbers(&self, at: usize) -> Result<Vec<i64>, Fault> {
        match self.sizes(at)?.numbers() {
            Some(numbers) => Ok(numbers),
            None => unsupported(format!("operand {at} depends on a variable, where numbers are needed")),
        }
    }

    /// The integers of an operand that may be left out.
    pub fn maybe_numbers(&self, at: usize) -> Result<Option<Vec<i64>>, Fault> {
        if self.has(at) { self.numbers(at).map(Some) } else { Ok(None) }
    }

    /// The floats that an operand is.
    pub fn floats(&self, at: usize) -> Result<Vec<f64>, Fault> {
        Ok(self.tensor(at)?.cast(DType::F64)?.to_vec()?)
    }

    /// The only number of an operand.
    pub fn number(&self, at: usize) -> Result<f64, Fault> {
        match self.floats(at)?[..] {
            [one] => Ok(one),
            ref other => invalid(format!("operand {at} should be one number, not {}", other.len())),
        }
    }

    /// An attribute, where it is given.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        match self.node.attributes.get(name)? {
            Attribute::Reference(outside) => self.scope.attribute(outside),
            own => Some(own),
        }
    }

    fn unfit<T>(&self, name: &str, expected: &str) -> Result<T, Fault> {
        invalid(format!("attribute '{name}' should be {expected}"))
    }

    /// An attribute that is an integer.
    pub fn maybe_int(&self, name: &str) -> Result<Option<i64>, Fault> {
        match self.attribute(name) {
            None => Ok(None),
            Some(Attribute::Int(value)) => Ok(Some(*value)),
            Some(_) => self.unfit(name, "an integer"),
        }
    }

    /// An attribute that is an integer, or its default.
    pub fn int(&self, name: &str, default: i64) -> Result<i64, Fault> {
        Ok(self.maybe_int(name)?.unwrap_or(default))
    }

    /// An attribute that is a truth value, or its default.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, Fault> {
        Ok(self.int(name, default.into())? != 0)
    }

    /// An attribute that is a float.
    pub fn maybe_float(&self, name: &str) -> Result<Option<f64>, Fault> {
        match self.attribute(name) {
            None => Ok(None),
            Some(Attribute::Float(value)) => Ok(Some(*value)),
            Some(_) => self.unfit(name, "a float"),
        }
    }

    /// An attribute that is a float, or its default.
    pub fn float(&self, name: &str, default: f64) -> Result<f64, Fault> {
        Ok(self.maybe_float(name)?.unwrap_or(default))
    }

    /// An attribute that is a text, or its default.
    pub fn text<'t>(&'t self, name: &str, default: &'t str) -> Result<&'t str, Fault> {
        match self.attribute(name) {
            None => Ok(default),
            Some(Attribute::Text(text)) => Ok(text),
            Some(_) => self.unfit(name, "a text"),
        }
    }

    /// An attribute that is a list of integers.
    pub fn ints(&self, name: &str) -> Result<Option<Vec<i64>>, Fault> {
        match self.attribute(name) {
            None => Ok(None),
            Some(Attribute::Ints(values)) => Ok(Some(values.clone())),
            Some(_) => self.unfit(name, "a list of integers"),
        }
    }

    /// An attribute that is a list of floats.
    pub fn float_list(&self, name: &str) -> Result<Option<Vec<f64>>, Fault> {
        match self.attribute(name) {
            None => Ok(None),
            Some(Attribute::Floats(values)) => Ok(Some(values.clone())),
            Some(_) => self.unfit(name, "a list of floats"),
        }
    }

    /// An attribute that is a list of texts.
    pub fn texts(&self, name: &str) -> Result<Option<Vec<String>>, Fault> {
        match self.attribute(name) {
            None => Ok(None),
            Some(Attribute::Texts(values)) => Ok(Some(values.clone())),
            Some(_) => self.unfit(name, "a list of texts"),
        }
    }

    /// An attribute that is a graph.
    pub fn graph(&self, name: &str) -> Result<&Graph, Fault> {
        match self.attribute(name) {
            Some(Attribute::Graph(graph)) => Ok(graph),
            _ => self.unfit(name, "a graph"),
        }
    }

    /// An attribute that is the number of an element type.
    pub fn dtype(&self, name: &str) -> Result<Option<DType>, Fault> {
        match self.maybe_int(name)? {
            None => Ok(None),
            Some(number) => types::dtype(number).map(Some).map_err(Fault::Unsupported),
        }
    }

    /// An attribute that is the number of an element type, of which 0 stands for a default.
    pub fn dtype_or(&self, name: &str, default: DType) -> Result<DType, Fault> {
        match self.int(name, 0)? {
            0 => Ok(default),
            number => types::dtype(number).map_err(Fault::Unsupported),
        }
    }

    /// An attribute that is an axis, counted from 0, of a rank.
    pub fn axis(&self, name: &str, default: i64, rank: usize) -> Result<usize, Fault> {
        axis_of(self.int(name, default)?, rank)
    }

    /// The axes that operand `at` gives, or an attribute in earlier versions.
    pub fn axes(&self, at: usize) -> Result<Option<Vec<i64>>, Fault> {
        match self.ints("axes")? {
            Some(axes) => Ok(Some(axes)),
            None => self.maybe_numbers(at),
        }
    }

    /// The first operand, mapped.
    pub fn map(&self, f: impl FnOnce(&Tensor) -> svod_tensor::Result<Tensor>) -> Outcome {
        one(f(&self.tensor(0)?)?)
    }

    /// The first two operands, combined.
    pub fn zip(&self, f: impl FnOnce(&Tensor, Operand) -> svod_tensor::Result<Tensor>) -> Outcome {
        one(f(&self.tensor(0)?, Operand::Tensor(self.tensor(1)?))?)
    }
}

impl From<Sizes> for Value {
    fn from(sizes: Sizes) -> Self {
        Value::Sizes(sizes)
    }
}

/// An axis counted from 0.
pub(crate) fn axis_of(axis: i64, rank: usize) -> Result<usize, Fault> {
    let from_start = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    match usize::try_from(from_start) {
        Ok(at) if at < rank => Ok(at),
        _ => invalid(format!("axis {axis} is out of range for rank {rank}")),
    }
}

/// The extents of a tensor as numbers.
pub(crate) fn extents(tensor: &Tensor) -> Result<Vec<i64>, Fault> {
    let numbers: Option<Vec<i64>> = tensor.shape().iter().map(Size::as_const).collect();
    match numbers {
        Some(numbers) => Ok(numbers),
        None => unsupported(format!("{} has extents with variables, where numbers are needed", tensor.described())),
    }
}

/// The extents of a tensor of this rank.
pub(crate) fn ranked<const N: usize>(tensor: &Tensor) -> Result<[i64; N], Fault> {
    let found = extents(tensor)?;
    found.try_into().or_else(|_| invalid(format!("{} should be of rank {N}", tensor.described())))
}

/// The extents of a tensor with at least a batch and channels.
pub(crate) fn spatial_extents(tensor: &Tensor) -> Result<Vec<i64>, Fault> {
    match tensor.rank() {
        0 | 1 => invalid(format!("{} has no batch and channels", tensor.described())),
        _ => extents(tensor),
    }
}

/// The numbers from 0 on, so many of them, `int64`, along an axis of a rank.
pub(crate) fn counting_along(count: impl Into<Size>, axis: usize, rank: usize) -> svod_tensor::Result<Tensor> {
    let count = count.into();
    counting(count.clone())?.reshape(&extent_at(count, axis, rank))
}

/// The shape of a rank whose extents are 1 but along an axis.
pub(crate) fn extent_at(extent: Size, axis: usize, rank: usize) -> Vec<Size> {
    let mut shape = vec![Size::ONE; rank];
    shape[axis] = extent;
    shape
}

/// The numbers from 0 on, so many of them, `int64`.
pub(crate) fn counting(count: impl Into<Size>) -> svod_tensor::Result<Tensor> {
    let count: Size = count.into();
    let count = count.as_const().map_or_else(|| Operand::from(count.clone()), Operand::from);
    Tensor::arange(Operand::Int(0), count, Operand::Int(1), Some(DType::I64))
}
