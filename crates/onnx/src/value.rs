//! What flows along the edges of a graph.

use svod_dtype::DType;
use svod_tensor::{Operand, Size, Tensor, UOp};

use crate::error::Fault;

/// A value of a graph.
#[derive(Clone, Debug)]
pub enum Value {
    /// A tensor.
    Tensor(Tensor),
    /// A tensor that is part of a model. A trace takes a handle that is made outside of it for an input, but not one that
    /// is made of a node there.
    Constant(UOp),
    /// Integers known up to variables, such as a shape.
    Sizes(Sizes),
    /// A list of values.
    Sequence(Vec<Value>),
    /// The empty optional.
    Nothing,
}

/// `int64` elements that are known while a graph is built, of at most one dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// Whether they are a vector; else a single number.
    pub is_vector: bool,
    /// The elements.
    pub elements: Vec<Size>,
}

/// The most integers that are known as sizes.
const MOST: usize = 64;

impl Sizes {
    /// A vector.
    pub fn vector(elements: Vec<Size>) -> Sizes {
        Sizes { is_vector: true, elements }
    }

    /// A single number.
    pub fn scalar(element: Size) -> Sizes {
        Sizes { is_vector: false, elements: vec![element] }
    }

    /// The extents of the tensor that they are.
    fn shape(&self) -> Vec<usize> {
        if self.is_vector { vec![self.elements.len()] } else { Vec::new() }
    }

    /// The numbers, where no variable is in them.
    pub fn numbers(&self) -> Option<Vec<i64>> {
        self.elements.iter().map(Size::as_const).collect()
    }

    fn tensor(&self) -> svod_tensor::Result<Tensor> {
        if let (false, [number]) = (self.is_vector, &self.elements[..])
            && let Some(number) = number.as_const()
        {
            return Tensor::scalar(number, Some(DType::I64));
        }
        if let Some(numbers) = self.numbers() {
            let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
            return Tensor::literal(&bytes, DType::I64, &self.shape());
        }
        let all = self.elements.iter().map(|size| Tensor::from_size(size.clone()));
        let all = all.collect::<svod_tensor::Result<Vec<_>>>()?;
        if self.is_vector { Tensor::stack(&all.iter().collect::<Vec<_>>(), 0) } else { Ok(all[0].clone()) }
    }
}

impl Value {
    /// Elements that are part of a model, or fixed for a plan: few integers are known as sizes, and a single number is
    /// part of what is compiled.
    ///
    /// # Errors
    /// Bytes that are not as many as the shape has.
    pub fn constant(bytes: &[u8], dtype: DType, shape: &[usize]) -> svod_tensor::Result<Value> {
        let count: usize = shape.iter().product();
        if dtype == DType::I64 && shape.len() < 2 && count <= MOST && bytes.len() == count * size_of::<i64>() {
            let number = |b: &[u8]| i64::from_le_bytes(b.try_into().unwrap_or_default()).into();
            let elements = bytes.chunks_exact(size_of::<i64>()).map(number).collect();
            return Ok(Value::Sizes(Sizes { is_vector: shape.len() == 1, elements }));
        }
        let single = count == 1 && !dtype.is_complex() && bytes.len() == dtype.bytes();
        let tensor = if single {
            let mut bits = [0; 8];
            bits[..bytes.len()].copy_from_slice(bytes);
            let number = svod_dtype::Const::from_bits(dtype, u64::from_le_bytes(bits));
            Tensor::constant(number)?.reshape(&shape.iter().map(|n| *n as i64).collect::<Vec<_>>())?
        } else {
            Tensor::from_bytes(bytes, dtype, shape)?
        };
        Ok(Value::Constant(tensor.uop()))
    }

    /// The tensor of a value that is computed.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        if let Value::Tensor(tensor) = self { Some(tensor) } else { None }
    }

    /// The tensor.
    ///
    /// # Errors
    /// A value that is none.
    pub fn tensor(&self) -> Result<Tensor, Fault> {
        match self {
            Value::Tensor(tensor) => Ok(tensor.clone()),
            Value::Constant(node) => Ok(Tensor::from_uop(node.clone())),
            Value::Sizes(sizes) => Ok(sizes.tensor()?),
            Value::Sequence(_) => Err(Fault::Invalid("a tensor is expected, not a sequence".into())),
            Value::Nothing => Err(Fault::Invalid("a tensor is expected, not an empty optional".into())),
        }
    }

    /// The integers that it is, up to variables; other tensors are computed if they can be.
    ///
    /// # Errors
    /// A value that is no tensor of integers, or depends on what a graph is traced with.
    pub fn sizes(&self) -> Result<Sizes, Fault> {
        match self {
            Value::Sizes(sizes) => Ok(sizes.clone()),
            other => {
                let tensor = other.tensor()?;
                let rank = tensor.rank();
                if rank > 1 || !tensor.dtype().is_int() {
                    let message = format!("{} is given where a list of integers is expected", tensor.described());
                    return Err(Fault::Invalid(message));
                }
                let numbers = tensor.cast(DType::I64)?.to_vec::<i64>()?;
                Ok(Sizes { is_vector: rank == 1, elements: numbers.into_iter().map(Size::from).collect() })
            }
        }
    }

    /// [`Value::sizes`] of what is known already: nothing is computed for it.
    pub(crate) fn known_sizes(&self) -> Option<Sizes> {
        match self {
            Value::Sizes(sizes) => Some(sizes.clone()),
            Value::Tensor(tensor) if tensor.dtype() == DType::I64 && tensor.rank() < 2 && tensor.is_realized() => {
                let few = tensor.numel().as_const().is_some_and(|n| n <= MOST as i64);
                let known = few && tensor.traced_from().is_none();
                known.then(|| self.sizes().ok()).flatten()
            }
            _ => None,
        }
    }

    /// The element type.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            Value::Tensor(tensor) => Some(tensor.dtype()),
            Value::Constant(node) => Some(node.dtype()),
            Value::Sizes(_) => Some(DType::I64),
            Value::Sequence(_) | Value::Nothing => None,
        }
    }

    /// The extents.
    ///
    /// # Errors
    /// A value that is no tensor.
    pub fn shape(&self) -> Result<Vec<Size>, Fault> {
        match self {
            Value::Sizes(sizes) => Ok(sizes.shape().into_iter().map(Size::from).collect()),
            other => Ok(other.tensor()?.shape()),
        }
    }
}

impl From<Tensor> for Value {
    fn from(tensor: Tensor) -> Self {
        Value::Tensor(tensor)
    }
}

impl TryFrom<&Value> for Operand {
    type Error = Fault;

    fn try_from(value: &Value) -> Result<Self, Fault> {
        Ok(Operand::Tensor(value.tensor()?))
    }
}
