//! Looking for the first NaN of a run.
//!
//! A plan that is prepared for it looks at what each step has written before the next one begins. What a kernel computes on its
//! way stays in registers, so it is a kernel that is named, with all lines of the program that it computes; whoever has the
//! graph can ask that which of these operations it was.

use super::{Run, Step};
use crate::error::{Error, Result};
use crate::plan::op::PlanOp;
use crate::plan::{Role, Shared};
use std::ptr::NonNull;
use std::sync::Arc;
use svod_device::Buffer;
use svod_dtype::DType;

/// A NaN in memory: where it is, and in what.
struct Found {
    extents: Vec<usize>,
    at: usize,
    dtype: DType,
}

impl Run {
    /// Checks what the ops of a step wrote.
    pub(super) fn check_numbers(&self, step: &Step, shared: &Shared, buffers: &[Arc<Buffer>]) -> Result<()> {
        match step {
            Step::Singles(ops, _) => {
                self.singles[ops.clone()].iter().try_for_each(|op| self.check_op(*op, shared, buffers))
            }
            Step::Together(kernels) => kernels.ops.iter().try_for_each(|op| self.check_op(*op, shared, buffers)),
            Step::Grid(op) | Step::Alone(op) => self.check_op(*op, shared, buffers),
        }
    }

    fn check_op(&self, at: usize, shared: &Shared, buffers: &[Arc<Buffer>]) -> Result<()> {
        let op = &shared.ops[at];
        for slot in &op.outputs {
            let Some(found) = self.nan_in(at, *slot, shared, buffers)? else { continue };
            let place: Vec<String> = position(found.at, &found.extents).iter().map(usize::to_string).collect();
            let extents: Vec<String> = found.extents.iter().map(usize::to_string).collect();
            let mut message =
                format!("NaN at [{}] of its result {}[{}]", place.join(", "), found.dtype, extents.join(", "));
            let given = self.nan_given(at, op, shared, buffers)?;
            let is_given = given.is_some();
            message += &match given {
                Some(whose) => format!("; {whose} has NaN already"),
                None => "; what it reads has none".to_owned(),
            };
            let (name, origins) = (op.name().to_owned(), op.origins.clone());
            return Err(Error::NaN { op: at, name, origins, found: message, is_given, made: None });
        }
        Ok(())
    }

    /// Whose memory an op reads has NaN, where it does.
    fn nan_given(&self, at: usize, op: &PlanOp, shared: &Shared, buffers: &[Arc<Buffer>]) -> Result<Option<String>> {
        for slot in (0..op.buffers.len()).filter(|slot| !op.outputs.contains(slot)) {
            if self.nan_in(at, slot, shared, buffers)?.is_none() {
                continue;
            }
            let input = || shared.roles[..op.buffers[slot]].iter().filter(|role| matches!(role, Role::Input)).count();
            return Ok(Some(match shared.roles[op.buffers[slot]] {
                Role::Input => format!("input {}", input()),
                _ => "a tensor that it reads".to_owned(),
            }));
        }
        Ok(None)
    }

    /// The first NaN among the elements of an argument.
    fn nan_in(&self, at: usize, slot: usize, shared: &Shared, buffers: &[Arc<Buffer>]) -> Result<Option<Found>> {
        let (op, buffer) = (&shared.ops[at], &buffers[shared.ops[at].buffers[slot]]);
        let dtype = buffer.dtype();
        if !(dtype.is_float() || dtype.is_complex()) {
            return Ok(None);
        }
        let shape = op.code().and_then(|code| code.spec().ast.params.get(slot)).map(|param| param.shape.clone());
        let extents = match shape {
            Some(shape) => self.extents_now(shared, &shape)?,
            None => vec![buffer.count()],
        };
        let bytes = extents.iter().product::<usize>() * dtype.bytes();
        let start = match &self.kernels[at] {
            Some(kernel) => self.ptrs[kernel.ptrs.start + slot].cast_const(),
            None => match buffer.as_ptr() {
                Some(start) => start.as_ptr().cast_const(),
                None => return Ok(None),
            },
        };
        if bytes == 0 || start.is_null() || bytes > buffer.bytes() {
            return Ok(None);
        }
        let allocator = buffer.storage().allocator();
        if !allocator.host_visible() {
            let mut elements = vec![0; bytes];
            if let Some(start) = NonNull::new(start.cast_mut()) {
                // SAFETY: as below, but that the memory is the device's, which copies it to memory of our own.
                unsafe { allocator.copy_out(elements.as_mut_ptr(), start, bytes) }?;
            }
            return Ok(first_nan(&elements, dtype).map(|at| Found { extents, at, dtype }));
        }
        // SAFETY: a kernel's pointers are to memory as large as its arguments are at the present values, and other ops' buffers
        // are allocated; nobody writes there between two steps, and what a step reads or wrote is initialized.
        let elements = unsafe { std::slice::from_raw_parts(start, bytes) };
        Ok(first_nan(elements, dtype).map(|at| Found { extents, at, dtype }))
    }
}

/// The position of the first element that is NaN.
fn first_nan(bytes: &[u8], dtype: DType) -> Option<usize> {
    /// Bits without the sign, and the bits of infinity.
    macro_rules! beyond {
        ($bits:ty, $infinity:expr) => {
            bytes.chunks_exact(size_of::<$bits>()).position(|element| {
                let bits = <$bits>::from_le_bytes(element.try_into().expect("chunks have this size"));
                bits & (<$bits>::MAX >> 1) > $infinity
            })
        };
    }
    match dtype {
        DType::F8E4M3 => beyond!(u8, 0x7e),
        DType::F8E5M2 => beyond!(u8, 0x7c),
        DType::BF16 => beyond!(u16, 0x7f80),
        DType::F16 => beyond!(u16, 0x7c00),
        DType::F32 => beyond!(u32, 0x7f80_0000),
        DType::F64 => beyond!(u64, 0x7ff0_0000_0000_0000),
        DType::C64 => beyond!(u32, 0x7f80_0000).map(|at| at / 2),
        DType::C128 => beyond!(u64, 0x7ff0_0000_0000_0000).map(|at| at / 2),
        _ => None,
    }
}

/// The positions along each axis of an element in row-major order.
fn position(mut at: usize, extents: &[usize]) -> Vec<usize> {
    let mut along = vec![0; extents.len()];
    for (place, extent) in along.iter_mut().zip(extents).rev() {
        *place = at % extent;
        at /= extent;
    }
    along
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_nan_is_found_in_each_type() {
        let f32s = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
        assert_eq!(first_nan(&f32s(&[1.0, f32::INFINITY, -f32::NAN, f32::NAN]), DType::F32), Some(2));
        assert_eq!(first_nan(&f32s(&[1.0, -f32::INFINITY, 0.0, f32::NAN]), DType::C64), Some(1));
        let f64s: Vec<u8> = [0.0, f64::NEG_INFINITY, f64::NAN].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(first_nan(&f64s, DType::F64), Some(2));
        assert_eq!(first_nan(&[0x00, 0x7c, 0x01, 0xfe], DType::F16), Some(1));
        assert_eq!(first_nan(&[0x80, 0x7f, 0xc0, 0xff], DType::BF16), Some(1));
        assert_eq!(first_nan(&[0x7e, 0xfe, 0xff], DType::F8E4M3), Some(2));
        assert_eq!(first_nan(&[0x7c, 0xfc, 0x7d], DType::F8E5M2), Some(2));
        assert_eq!(first_nan(&[0xff; 8], DType::I64), None);
    }

    #[test]
    fn positions_are_row_major() {
        assert_eq!(position(7, &[2, 3, 2]), [1, 0, 1]);
        assert_eq!(position(0, &[]), [0usize; 0]);
    }
}
