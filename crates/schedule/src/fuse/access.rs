//! How kernels read nodes: from each node to its operands, through the axes of the kernel that wants it.

use super::shapes::{merged, squeezed};
use super::{Fuse, bound, is_order};
use smallvec::SmallVec;
use std::ops::Range;
use svod_ir::graph::Op;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::size::Size;

/// The axes of the kernel that one dimension of a node is read through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dim {
    /// A bit an axis; axes of reductions come after those of the kernel's output.
    pub axes: u64,
    /// Whether the index is just the axes, in order: the position in the row-major range over them.
    pub exact: bool,
}

impl Dim {
    /// Whether the index is at most one axis.
    pub fn is_single(&self) -> bool {
        self.exact && self.axes.count_ones() <= 1
    }
}

/// How a kernel reads a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub dims: SmallVec<[Dim; 6]>,
    /// The axes that are open where it is read; those that no dimension names read it again.
    pub scope: u64,
}

/// What the users of a node want of it.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub kernel: NodeIndex,
    pub access: Access,
    /// Several kernels want it.
    pub many: bool,
    /// It is read at different positions by one point of the kernel.
    pub scattered: bool,
    /// Rows read it more than once, in loops of their own.
    pub passes: u32,
    /// Kernels, or places of one, that want it.
    pub readers: u32,
}

/// A dimension that is a group of axes.
pub(super) fn exact_dim(over: &[Size], group: Range<usize>) -> Dim {
    Dim { axes: group.filter(|d| over[*d] != Size::ONE).fold(0, |axes, d| axes | 1 << d), exact: true }
}

impl Fuse<'_> {
    /// Tells the operands of a node how they are read.
    pub(super) fn propagate(
        &mut self,
        node: NodeIndex,
        kernel: NodeIndex,
        access: &Access,
        (many, scattered, readers): (bool, bool, u32),
    ) {
        let value = self.graph.nodes()[node as usize].clone();
        let sources: SmallVec<[NodeIndex; 3]> = self.graph.sources(node).into();
        let inexact = |axes: u64| Dim { axes, exact: false };
        let all = access.dims.iter().fold(0, |a, d| a | d.axes);
        for (operand, source) in sources.into_iter().enumerate() {
            let below = self.graph.nodes()[source as usize].shape();
            let mut scope = access.scope;
            let dims: SmallVec<[Dim; 6]> = match value.op() {
                Op::Reshape(_) => match squeezed(value.shape(), below) {
                    Some(map) => map.into_iter().map(|d| d.map_or(inexact(0), |d| access.dims[d])).collect(),
                    None => self.regrouped(kernel, access, below).unwrap_or_else(|| {
                        below.iter().map(|e| inexact(if e.as_const() == Some(1) { 0 } else { all })).collect()
                    }),
                },
                Op::Permute(axes) => {
                    let mut dims: SmallVec<[Dim; 6]> = access.dims.clone();
                    axes.iter().zip(&access.dims).for_each(|(a, d)| dims[*a] = *d);
                    dims
                }
                Op::Expand(_) => {
                    let new = value.rank() - below.len();
                    let grown = |d: usize| below[d] != value.shape()[d + new];
                    (0..below.len()).map(|d| if grown(d) { inexact(0) } else { access.dims[d + new] }).collect()
                }
                Op::Window(axis, ..) => {
                    let mut dims: SmallVec<[Dim; 6]> = access.dims.clone();
                    let taps = dims.pop().map_or(0, |d| d.axes);
                    dims[*axis] = inexact(dims[*axis].axes | taps);
                    dims
                }
                Op::Pad(..) | Op::Shrink(_) | Op::Flip(_) => access.dims.iter().map(|d| inexact(d.axes)).collect(),
                Op::Reduce(_, axes) => {
                    let own = &mut self.kernels[kernel as usize].extents;
                    let mut kept = access.dims.iter();
                    let mut dims = SmallVec::new();
                    for (d, extent) in below.iter().enumerate() {
                        if axes.contains(&d) {
                            let bit = 1 << own.len().min(63);
                            own.push(bound(extent));
                            scope |= if extent.as_const() == Some(1) { 0 } else { bit };
                            dims.push(Dim { axes: bit, exact: true });
                        } else {
                            dims.extend(kept.next().copied());
                        }
                    }
                    let named = dims.iter().fold(0, |n, d: &Dim| n | d.axes);
                    scope &= named;
                    dims
                }
                Op::Take(axis) => {
                    let indexed = value.rank() - (below.len().max(1) - 1);
                    if operand == 1 {
                        access.dims[*axis..*axis + below.len()].into()
                    } else {
                        let mut dims: SmallVec<[Dim; 6]> = access.dims[..*axis].into();
                        dims.push(inexact(access.dims[*axis..*axis + indexed].iter().fold(0, |a, d| a | d.axes)));
                        dims.extend_from_slice(&access.dims[*axis + indexed..]);
                        dims
                    }
                }
                Op::Scatter(axis, _) | Op::Sort(axis, ..) | Op::ArgSort(axis, ..)
                    if operand > 0 || is_order(value.op()) =>
                {
                    let own = &mut self.kernels[kernel as usize].extents;
                    let bit = 1 << own.len().min(63);
                    if operand != 1 {
                        own.push(bound(&below[*axis]));
                    }
                    let mut dims = access.dims.clone();
                    scope |= bit;
                    dims[*axis] = Dim { axes: bit, exact: true };
                    dims
                }
                Op::Gather(_) if operand == 0 => access.dims.iter().map(|d| inexact(d.axes)).collect(),
                Op::Rand(_) => SmallVec::new(),
                _ => access.dims.clone(),
            };
            self.want(source, kernel, Access { dims, scope });
            if let Some(wanted) = &mut self.wanted[source as usize] {
                wanted.many |= many;
                wanted.readers = wanted.readers.max(readers);
                // A sort reads its keys several times.
                wanted.scattered |= scattered || is_order(value.op());
            }
        }
    }

    /// How a reshape from `below` is read, where each of the dimensions is some of the kernel's axes.
    fn regrouped(&self, kernel: NodeIndex, access: &Access, below: &[Size]) -> Option<SmallVec<[Dim; 6]>> {
        let over = &self.kernels[kernel as usize].over;
        let mut axes: SmallVec<[usize; 8]> = SmallVec::new();
        for dim in &access.dims {
            let own = dim.axes >> over.len().min(63) == 0;
            if !(dim.axes == 0 || (dim.exact && own)) {
                return None;
            }
            axes.extend((0..over.len()).filter(|d| dim.axes & (1 << d) != 0));
        }
        let extents: Vec<Size> = axes.iter().map(|d| over[*d].clone()).collect();
        let dim = |group: Range<usize>| {
            let group = &axes[group];
            Dim { axes: group.iter().fold(0, |bits, d| bits | 1 << d), exact: group.is_sorted() }
        };
        Some(merged(below, &extents)?.into_iter().map(dim).collect())
    }

    fn want(&mut self, node: NodeIndex, kernel: NodeIndex, access: Access) {
        let output = self.kernels[kernel as usize].over.len() as u32;
        let slot = &mut self.wanted[node as usize];
        let Some(wanted) = slot else {
            *slot = Some(Wanted { kernel, access, many: false, scattered: false, passes: 1, readers: 1 });
            return;
        };
        if wanted.kernel != kernel {
            wanted.many = true;
            wanted.readers = wanted.readers.saturating_add(1);
            return;
        }
        if wanted.access == access {
            return;
        }
        let reduced = |d: &Dim| d.exact && d.axes >> output.min(63) != 0;
        for (known, new) in wanted.access.dims.iter_mut().zip(&access.dims) {
            if known.axes == new.axes {
                known.exact &= new.exact;
                continue;
            }
            // The same row in another pass over it, or another position altogether.
            if !(known.exact && new.exact && (reduced(known) || reduced(new))) {
                wanted.scattered = true;
            }
            if reduced(known) && !reduced(new) {
                *known = *new;
            }
        }
        wanted.passes += 1;
        wanted.readers = wanted.readers.saturating_add(1);
        let named = wanted.access.dims.iter().fold(0, |n, d| n | d.axes);
        wanted.access.scope = (wanted.access.scope | access.scope) & (named | ((1u64 << output.min(63)) - 1));
    }
}
