//! Which dimensions of one shape are which of another.

use crate::size::Size;

/// For a reshape that only adds or drops dimensions of extent 1: per dimension of `inner`, the
/// dimension of `outer` that it is.
pub fn squeezed(outer: &[Size], inner: &[Size]) -> Option<Vec<Option<usize>>> {
    let long = |shape: &[Size]| -> Vec<usize> { (0..shape.len()).filter(|d| shape[*d] != Size::ONE).collect() };
    let (from, to) = (long(outer), long(inner));
    if from.len() != to.len() || from.iter().zip(&to).any(|(a, b)| outer[*a] != inner[*b]) {
        return None;
    }
    let mut map = vec![None; inner.len()];
    from.into_iter().zip(to).for_each(|(a, b)| map[b] = Some(a));
    Some(map)
}
