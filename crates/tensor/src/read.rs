//! Values taken out.

use std::sync::Arc;

use svod_device::Buffer;
use svod_dtype::{Const, DType};
use svod_ir::buffer::HostBuffer;
use svod_ir::graph::{Leaf, LeafClass, Op, UOp};
use svod_ir::size::Size;
use svod_runtime::Memory;

use crate::create::Element;
use crate::error::{Result, TensorError};
use crate::folded;
use crate::memory::{extents_of, host};
use crate::realize::{compute_whole, without_kernel};
use crate::single;
use crate::tensor::Tensor;
use crate::total;
use crate::trace;

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
            ref values => Err(self.several(values.len())),
        }
    }

    /// The only element as a constant; realizes the tensor.
    ///
    /// # Errors
    /// Also of a complex tensor: see [`Tensor::item_complex`].
    pub fn item_const(&self) -> Result<Const> {
        if self.dtype().is_complex() {
            let message = format!("a number of two parts is no real one: {}", self.described());
            return Err(TensorError::dtype("item", message));
        }
        if let Some(value) = self.element("item")? {
            return Ok(value);
        }
        match *self.read("item", host_elements)? {
            [value] => Ok(value),
            ref values => Err(self.several(values.len())),
        }
    }

    /// The real and the imaginary part of the only element; realizes the tensor.
    pub fn item_complex(&self) -> Result<[f64; 2]> {
        let parts = self.cast(DType::C128)?.as_real()?.to_vec::<f64>()?;
        <[f64; 2]>::try_from(parts).map_err(|parts| self.several(parts.len() / 2))
    }

    /// The only element as a truth value; realizes the tensor.
    ///
    /// # Errors
    /// Also where there are several elements, or none.
    pub fn truth(&self) -> Result<bool> {
        if self.dtype().is_complex() {
            return self.to_bool()?.truth();
        }
        if let Some(value) = self.element("bool")? {
            return Ok(value.as_bool());
        }
        match *self.read("bool", host_elements)? {
            [value] => Ok(value.as_bool()),
            ref values => {
                let (count, of) = (values.len(), self.described());
                let message = format!("the truth of {count} elements ({of}) is ambiguous: ask `.any()` or `.all()`");
                Err(TensorError::value("bool", message))
            }
        }
    }

    /// The only element, where it is a number, or follows by little from memory at constant positions: that is read, and the
    /// tensor stays what it is. So it does where the element is one of a value of which others will be read.
    fn element(&self, op: &'static str) -> Result<Option<Const>> {
        self.check_known(op)?;
        let node = self.uop();
        if node.numel().as_const() != Some(1) {
            return Ok(None);
        }
        if let Some(value) = folded::constant(&node)? {
            return Ok(Some(value));
        }
        match single::value(&node)? {
            None if total::compute(&node)? || compute_whole(&node)? => single::value(&node),
            found => Ok(found),
        }
    }

    fn several(&self, elements: usize) -> TensorError {
        TensorError::value("item", format!("takes 1 element, not the {elements} of {}", self.described()))
    }

    /// The memory of the elements, little endian, in row-major order; realizes the tensor.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.read("to_vec", |leaf| Ok(present(leaf)?.to_vec()?))
    }

    /// Extents in memory; realizes the tensor, so that symbolic ones have a value.
    pub fn extents(&self) -> Result<Vec<usize>> {
        if let Ok(dims) = self.dims() {
            return Ok(dims);
        }
        self.check_known("extents")?;
        match self.now().computed()?.op() {
            Op::Leaf(leaf) => extents_of(leaf),
            _ => Err(TensorError::NotExecuted),
        }
    }

    /// The memory and the extents of the elements at one moment, which no run of a plan changes.
    pub fn snapshot(&self) -> Result<(Arc<Buffer>, Vec<usize>)> {
        if let Some(known) = self.in_place() {
            return Ok(known);
        }
        self.read("snapshot", |leaf| Ok((buffer_of(leaf)?, extents_of(leaf)?)))
    }

    /// [`Tensor::snapshot`] of what lies in memory of its own already, the caller's included, which needs no more than a look.
    fn in_place(&self) -> Option<(Arc<Buffer>, Vec<usize>)> {
        self.with_node(|node| {
            let leaf =
                node.op().leaf().filter(|leaf| leaf.class().is_constant() || leaf.class() == LeafClass::Borrowed)?;
            whole(leaf)
        })
    }

    /// A copy of the elements in the host's memory and their extents, at one moment.
    pub fn copied(&self) -> Result<(Buffer, Vec<usize>)> {
        self.read("copied", |leaf| Ok((present(leaf)?.to_device(host()?.allocator())?, extents_of(leaf)?)))
    }

    /// Realizes the tensor and reads its leaf. What is spread over devices is gathered on the first of them.
    fn read<T>(&self, op: &'static str, get: impl FnOnce(&Leaf) -> Result<T>) -> Result<T> {
        self.check_known(op)?;
        let value = self.now().computed()?;
        match value.op() {
            Op::Leaf(leaf) => get(leaf),
            Op::Multi(_) => {
                let device = Tensor::from_uop(value.clone()).device();
                Tensor::from_uop(value.copy_to(&device)?).read(op, get)
            }
            _ => Err(TensorError::NotExecuted),
        }
    }

    /// The memory of the value, which is computed: once more where another thread has assigned to the tensor meanwhile. It may
    /// have assigned what was there before, which is the same node where that is a constant.
    fn computed(&self) -> Result<UOp> {
        loop {
            let before = self.uop();
            self.compute()?;
            let now = self.in_memory()?;
            if now.is_memory() || now == before {
                return Ok(now);
            }
        }
    }

    /// The value in memory, of a constant too; what is pending stays so.
    pub fn in_memory(&self) -> Result<UOp> {
        let node = self.uop();
        Ok(if node.uniform().is_some() { without_kernel(&node)?.unwrap_or(node) } else { node })
    }

    /// The buffer that holds exactly the elements; realizes the tensor.
    pub fn buffer(&self) -> Result<Arc<Buffer>> {
        self.check_known("buffer")?;
        match self.now().computed()?.op() {
            Op::Leaf(leaf) => buffer_of(leaf),
            _ => Err(TensorError::NotExecuted),
        }
    }
}

/// The buffer and the extents of memory that nothing writes, where that is all that the buffer holds.
pub(crate) fn whole_buffer(node: &UOp) -> Option<(Arc<Buffer>, Vec<usize>)> {
    whole(node.op().leaf().filter(|leaf| leaf.class().is_constant())?)
}

/// The buffer and the extents of a leaf, where its elements are all that the buffer holds.
fn whole(leaf: &Leaf) -> Option<(Arc<Buffer>, Vec<usize>)> {
    let extents: Vec<usize> = leaf.shape().iter().map(Size::as_usize).collect::<Option<_>>()?;
    let buffer = leaf.downcast::<Memory>()?.buffer();
    let whole = leaf.offset() == buffer.offset() as u64
        && buffer.dtype() == leaf.dtype()
        && buffer.count() == extents.iter().product::<usize>();
    whole.then(|| (buffer.clone(), extents))
}

/// Why leaves that are only declared cannot be read.
pub(crate) const NO_MEMORY: &str =
    "a graph that was read from a text without its leaves can be looked at, but not run: give them";

/// The buffer that holds exactly a leaf's elements.
pub(crate) fn buffer_of(leaf: &Leaf) -> Result<Arc<Buffer>> {
    let memory = leaf.downcast::<Memory>().ok_or_else(|| TensorError::unsupported("read", NO_MEMORY))?;
    if matches!(leaf.class(), LeafClass::Input(_)) {
        return Err(trace::unknown("read", &UOp::leaf(leaf.clone())?, leaf.data().trace()));
    }
    let base = memory.buffer();
    let count = extents_of(leaf)?.iter().product();
    if leaf.offset() == base.offset() as u64 && base.dtype() == leaf.dtype() && base.count() == count {
        return Ok(base.clone());
    }
    Ok(Arc::new(Buffer::over(base.storage().clone(), leaf.offset() as usize, leaf.dtype(), count)?))
}

/// [`buffer_of`] what has elements, arbitrary ones where nothing was written.
fn present(leaf: &Leaf) -> Result<Arc<Buffer>> {
    let buffer = buffer_of(leaf)?;
    if leaf.class() == LeafClass::Data {
        buffer.allocate()?;
    }
    Ok(buffer)
}

/// Whether the elements of a leaf are known, and will not be others when it is read: not those that are awaited, nor
/// those of a plan's inputs, nor memory that nothing was written to.
pub(crate) fn is_known(leaf: &Leaf) -> bool {
    let constant = !matches!(leaf.class(), LeafClass::Output | LeafClass::Awaited | LeafClass::Input(_));
    let written = |m: &Memory| m.buffer().is_allocated() || m.buffer().storage().is_read_only();
    constant && leaf.downcast::<Memory>().is_some_and(written)
}

/// The elements of a leaf.
pub(crate) fn host_elements(leaf: &Leaf) -> Result<Vec<Const>> {
    Ok(constants(leaf.dtype(), buffer_of(leaf)?.to_vec()?))
}

/// Elements of this type in memory.
pub(crate) fn constants(dtype: DType, bytes: Vec<u8>) -> Vec<Const> {
    HostBuffer::from_bytes(dtype, bytes).map(|b| b.iter().collect()).unwrap_or_default()
}
