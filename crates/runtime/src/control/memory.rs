//! Memory of a loop's own, which it keeps from run to run.

use crate::error::{Error, Result};
use std::ptr::NonNull;
use std::sync::Arc;
use svod_device::{Block, Buffer};
use svod_dtype::DType;

/// Buffers, by what they are for; each as large as was ever needed.
#[derive(Default)]
pub(super) struct Memory {
    buffers: Vec<Option<Buffer>>,
}

impl Memory {
    /// For one run, which asks for the same in the same order as the others.
    pub fn of_run<'m>(&'m mut self, like: &'m Buffer) -> Own<'m> {
        Own { memory: self, like, next: 0 }
    }
}

/// The memory that one run of a loop asks for.
pub(super) struct Own<'m> {
    memory: &'m mut Memory,
    /// A buffer, beside which addresses are.
    like: &'m Buffer,
    next: usize,
}

impl Own<'_> {
    /// A buffer of at least so many bytes, beside another one.
    fn bytes(&mut self, like: &Buffer, bytes: usize) -> Result<&Buffer> {
        let (buffers, at) = (&mut self.memory.buffers, self.next);
        self.next += 1;
        if buffers.len() <= at {
            buffers.resize_with(at + 1, || None);
        }
        let allocator = like.storage().allocator();
        let fits = |b: &Buffer| b.bytes() >= bytes && Arc::ptr_eq(b.storage().allocator(), allocator);
        if !buffers[at].as_ref().is_some_and(fits) {
            buffers[at] = Some(Buffer::new(allocator, DType::U8, bytes.max(1))?);
        }
        buffers[at].as_ref().ok_or(Error::Stale)
    }

    /// So many elements, where another buffer is.
    pub fn elements(&mut self, like: &Buffer, dtype: DType, count: usize) -> Result<Buffer> {
        Ok(self.bytes(like, count * dtype.bytes())?.view(0, dtype, count)?)
    }

    /// The address of so many bytes.
    pub fn place(&mut self, bytes: usize) -> Result<NonNull<u8>> {
        Ok(self.bytes(self.like, bytes)?.allocate()?)
    }

    /// Likewise, in a run that needs them.
    pub fn place_if(&mut self, is_needed: bool, bytes: usize) -> Result<Option<NonNull<u8>>> {
        if is_needed {
            return self.place(bytes).map(Some);
        }
        self.next += 1;
        Ok(None)
    }

    /// The addresses of so many bytes, each aligned by itself.
    pub fn flags(&mut self, count: usize) -> Result<Vec<*mut u8>> {
        let start = self.place(count * Block::ALIGN)?;
        // SAFETY: there are `Block::ALIGN` bytes for each.
        Ok((0..count).map(|at| unsafe { start.as_ptr().add(at * Block::ALIGN) }).collect())
    }
}
