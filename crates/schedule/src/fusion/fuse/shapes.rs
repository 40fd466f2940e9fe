//! Which dimensions of one shape are which of another.

use std::ops::Range;
use svod_ir::graph::shape::squeezed;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Op};
use svod_ir::size::Size;

/// For a reshape that merges dimensions: per dimension of `outer`, the dimensions of `inner` whose
/// product it is. Nothing where it does something else.
pub(crate) fn merged(outer: &[Size], inner: &[Size]) -> Option<Vec<Range<usize>>> {
    let mut groups: Vec<Range<usize>> = Vec::with_capacity(outer.len());
    let mut next = 0;
    for extent in outer {
        let first = next;
        let mut product = Size::ONE;
        while product != *extent {
            product = product * inner.get(next)?;
            next += 1;
        }
        groups.push(first..next);
    }
    let rest = inner[next..].iter().all(|e| *e == Size::ONE);
    if let Some(last) = groups.last_mut() {
        last.end = inner.len();
    }
    rest.then_some(groups)
}

/// The parts that the dimensions of both shapes are products of, where there are such.
pub(super) fn refined(a: &[Size], b: &[Size]) -> Option<Vec<Size>> {
    let long = |shape: &[Size]| -> Vec<Size> { shape.iter().rev().filter(|e| **e != Size::ONE).cloned().collect() };
    // Outermost last, to be taken from.
    let (mut a, mut b) = (long(a), long(b));
    let mut parts = Vec::new();
    while let (Some(x), Some(y)) = (a.pop(), b.pop()) {
        if x == y {
            parts.push(x);
            continue;
        }
        let (x, y) = (x.as_const()?, y.as_const()?);
        let (part, rest, of) = if x > y { (y, x, &mut a) } else { (x, y, &mut b) };
        if part == 0 || rest % part != 0 {
            return None;
        }
        of.push(Size::from(rest / part));
        parts.push(Size::from(part));
    }
    (a.is_empty() && b.is_empty()).then_some(parts)
}

/// The dimensions along which a node's value repeats, as far as its movements tell.
pub(super) fn repeated_dims(graph: &Graph, node: NodeIndex) -> u64 {
    let mut at = node;
    // From the node down, the dimension of the start that each dimension here is.
    let mut dims: Vec<Option<usize>> = (0..graph.nodes()[node as usize].rank()).map(Some).collect();
    let mut repeated = 0;
    loop {
        let value = &graph.nodes()[at as usize];
        let Some(&below) = graph.sources(at).first() else { return repeated };
        let source = &graph.nodes()[below as usize];
        match value.op() {
            Op::Expand(_) => {
                let new = value.rank() - source.rank();
                let mut kept = Vec::new();
                for (d, start) in dims.iter().enumerate() {
                    let grown = d < new || source.shape()[d - new] != value.shape()[d];
                    if let (true, Some(s)) = (grown, start) {
                        repeated |= 1 << s;
                    }
                    if d >= new {
                        kept.push(if grown { None } else { *start });
                    }
                }
                dims = kept;
            }
            Op::Permute(axes) => {
                let mut inner = vec![None; dims.len()];
                axes.iter().zip(&dims).for_each(|(a, d)| inner[*a] = *d);
                dims = inner;
            }
            Op::Reshape(_) => match squeezed(value.shape(), source.shape()) {
                Some(map) => dims = map.into_iter().map(|d| d.and_then(|d| dims[d])).collect(),
                None => return repeated,
            },
            Op::Window(axis, ..) => {
                dims.pop();
                dims[*axis] = None;
            }
            // A part of what repeats repeats.
            Op::Shrink(_) | Op::Flip(_) | Op::Cast(_) => {}
            op if op.is_mark() => {}
            _ => return repeated,
        }
        at = below;
    }
}
