//! Buffers in host memory, as the reference interpreters read and write them.

use svod_dtype::{Const, DType};

/// A flat array of elements of one type, little endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostBuffer {
    dtype: DType,
    bytes: Vec<u8>,
}

impl HostBuffer {
    /// `len` zeros.
    pub fn zeros(dtype: DType, len: usize) -> Self {
        HostBuffer { dtype, bytes: vec![0; len * dtype.bytes()] }
    }

    /// The elements whose memory is `bytes`; `None` where that is no whole number of them.
    pub fn from_bytes(dtype: DType, bytes: Vec<u8>) -> Option<Self> {
        (dtype.bytes() > 0 && bytes.len().is_multiple_of(dtype.bytes())).then_some(HostBuffer { dtype, bytes })
    }

    /// Numbers, each rounded to `dtype`.
    pub fn from_f64(dtype: DType, values: impl IntoIterator<Item = f64>) -> Self {
        Self::collect(dtype, values.into_iter().map(|v| Const::f64(dtype, v)))
    }

    /// Integers, each wrapped to `dtype`.
    pub fn from_i64(dtype: DType, values: impl IntoIterator<Item = i64>) -> Self {
        Self::collect(dtype, values.into_iter().map(|v| Const::i64(dtype, v)))
    }

    fn collect(dtype: DType, values: impl Iterator<Item = Const>) -> Self {
        let bytes = values.flat_map(|c| c.to_le_bytes().into_iter().take(dtype.bytes())).collect();
        HostBuffer { dtype, bytes }
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.bytes.len().checked_div(self.dtype.bytes()).unwrap_or(0)
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The memory.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The memory, to be written, for example by compiled code.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Element `i`, which must exist, of a real type.
    pub fn get(&self, i: usize) -> Const {
        let size = self.dtype.bytes();
        let mut bits = [0; 16];
        bits[..size].copy_from_slice(&self.bytes[i * size..][..size]);
        Const::from_bits(self.dtype, u128::from_le_bytes(bits) as u64)
    }

    /// Sets element `i`, which must exist, to a value of the buffer's type.
    pub fn set(&mut self, i: usize, value: Const) {
        debug_assert_eq!(value.dtype(), self.dtype);
        let size = self.dtype.bytes();
        self.bytes[i * size..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
    }

    /// All elements, in order.
    pub fn iter(&self) -> impl Iterator<Item = Const> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// All elements as binary64, integers beyond 2^53 rounded.
    pub fn to_f64(&self) -> Vec<f64> {
        self.iter().map(Const::as_f64).collect()
    }

    /// All elements as 64-bit integers, floats truncated.
    pub fn to_i64(&self) -> Vec<i64> {
        self.iter().map(Const::as_i64).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_keep_their_bits() {
        let mut b = HostBuffer::from_f64(DType::F32, [1.5, -0.0, f64::NAN]);
        assert_eq!((b.len(), b.bytes().len()), (3, 12));
        assert_eq!(b.get(1), Const::f64(DType::F32, -0.0));
        b.set(0, Const::from_bits(DType::F32, 0xffc0_0001));
        assert_eq!(b.get(0).bits(), 0xffc0_0001);
        assert_eq!(HostBuffer::from_i64(DType::I8, [300]).to_i64(), [44]);
        assert_eq!(HostBuffer::from_bytes(DType::F64, vec![0; 9]), None);
    }
}
