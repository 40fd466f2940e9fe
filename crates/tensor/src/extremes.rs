//! The least and the greatest of integers in memory: whether indices are inside of a dimension asks no more.

use svod_dtype::DType;
use svod_ir::graph::Leaf;
use svod_runtime::Memory;

use crate::error::Result;
use crate::read::buffer_of;

/// The least and the greatest of a leaf's integers; `None` of none. What never changes is looked at once.
pub(crate) fn of_leaf(leaf: &Leaf) -> Result<Option<[i128; 2]>> {
    let buffer = buffer_of(leaf)?;
    let find = || Ok(buffer.with_bytes(|content| of_bytes(leaf.dtype(), content))?);
    match leaf.downcast::<Memory>() {
        Some(memory) if leaf.class().is_value() => memory.extremes(&buffer, leaf.version(), find),
        _ => find(),
    }
}

/// The least and the greatest of integers; `None` of none.
pub(crate) fn of_bytes(dtype: DType, content: &[u8]) -> Option<[i128; 2]> {
    macro_rules! of {
        ($t:ty) => {{
            let all =
                content.chunks_exact(size_of::<$t>()).filter_map(|b| Some(<$t>::from_le_bytes(b.try_into().ok()?)));
            let (least, most) = all.fold((<$t>::MAX, <$t>::MIN), |(a, b), n| (a.min(n), b.max(n)));
            [i128::from(least), i128::from(most)]
        }};
    }
    if content.is_empty() {
        return None;
    }
    let extremes = match dtype {
        DType::I8 => of!(i8),
        DType::I16 => of!(i16),
        DType::I32 => of!(i32),
        DType::I64 => of!(i64),
        DType::U8 | DType::Bool => of!(u8),
        DType::U16 => of!(u16),
        DType::U32 => of!(u32),
        DType::U64 => of!(u64),
        _ => return None,
    };
    Some(extremes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_every_type() {
        assert_eq!(of_bytes(DType::I64, &[]), None);
        assert_eq!(of_bytes(DType::F32, &[0; 4]), None);
        assert_eq!(of_bytes(DType::I8, &[3, 0xFF, 7]), Some([-1, 7]));
        assert_eq!(of_bytes(DType::U8, &[3, 0xFF, 7]), Some([3, 255]));
        assert_eq!(of_bytes(DType::U64, &u64::MAX.to_le_bytes()), Some([u64::MAX.into(); 2]));
        let numbers = [5i32, -9, 8];
        let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(of_bytes(DType::I32, &bytes), Some([-9, 8]));
    }
}
