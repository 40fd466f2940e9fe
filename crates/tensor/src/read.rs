//! Values taken out.

use std::sync::Arc;

use svod_device::Buffer;
use svod_dtype::Const;
use svod_ir::buffer::HostBuffer;
use svod_ir::graph::{Leaf, LeafClass, Op, UOp};
use svod_runtime::Memory;

use crate::create::Element;
use crate::error::{Result, TensorError};
use crate::tensor::Tensor;

impl Tensor {
    /// The elements in row-major order; realizes the tensor.
    ///
    /// # Errors
    /// Also where `T` is not the tensor's type.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        if self.dtype() != T::DTYPE {
            let message = format!("a tensor of {} cannot be read as {}; cast it", self.dtype(), T::DTYPE);
            return Err(TensorError::dtype("to_vec", message));
        }
        Ok(self.to_bytes()?.chunks_exact(T::DTYPE.bytes()).map(T::from_le).collect())
    }

    /// The only element; realizes the tensor.
    pub fn item<T: Element>(&self) -> Result<T> {
        match *self.to_vec::<T>()? {
            [value] => Ok(value),
            ref values => Err(TensorError::value("item", format!("takes 1 element, not {}", values.len()))),
        }
    }

    /// The only element as a constant; realizes the tensor.
    pub fn item_const(&self) -> Result<Const> {
        self.realize()?;
        match *host_elements(&self.uop())? {
            [value] => Ok(value),
            ref values => Err(TensorError::value("item", format!("takes 1 element, not {}", values.len()))),
        }
    }

    /// The memory of the elements, little endian, in row-major order; realizes the tensor.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        Ok(self.buffer()?.to_vec()?)
    }

    /// The buffer that holds exactly the elements; realizes the tensor.
    pub fn buffer(&self) -> Result<Arc<Buffer>> {
        self.realize()?;
        match self.uop().op() {
            Op::Leaf(leaf) => buffer_of(leaf),
            _ => Err(TensorError::NotExecuted),
        }
    }
}

/// The buffer that holds exactly a leaf's elements.
pub(crate) fn buffer_of(leaf: &Leaf) -> Result<Arc<Buffer>> {
    let memory = leaf.downcast::<Memory>().ok_or_else(|| TensorError::unsupported("read", "memory of another kind"))?;
    if leaf.class() == LeafClass::Output && (leaf.data().version() == 0 || !memory.is_valid()) {
        return Err(TensorError::NotExecuted);
    }
    let base = memory.buffer();
    let count = leaf.shape().iter().product::<svod_ir::size::Size>();
    let count = count.as_usize().ok_or_else(|| TensorError::shape("read", format!("{count} elements are symbolic")))?;
    if leaf.offset() == base.offset() as u64 && base.dtype() == leaf.dtype() && base.count() == count {
        return Ok(base.clone());
    }
    Ok(Arc::new(Buffer::over(base.storage().clone(), leaf.offset() as usize, leaf.dtype(), count)?))
}

/// The elements of a leaf.
pub(crate) fn host_elements(node: &UOp) -> Result<Vec<Const>> {
    let Op::Leaf(leaf) = node.op() else { return Ok(Vec::new()) };
    let bytes = buffer_of(leaf)?.to_vec()?;
    Ok(HostBuffer::from_bytes(leaf.dtype(), bytes).map(|b| b.iter().collect()).unwrap_or_default())
}
