//! How kernels read nodes: from each node to its operands, through the axes of the kernel that wants it.

use super::costs::elements;
use super::shapes::merged;
use super::{Fuse, bound, is_order};
use crate::costs::limits::kernels;
use rustc_hash::FxHasher;
use smallvec::{SmallVec, smallvec};
use std::hash::{Hash, Hasher};
use std::ops::Range;
use svod_ir::graph::shape::squeezed;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Op, UOp};
use svod_ir::size::Size;

/// The axes of the kernel that one dimension of a node is read through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Dim {
    /// A bit an axis; axes of reductions come after those of the kernel's output.
    pub axes: u64,
    /// Whether the index is just the axes, in order: the position in the row-major range over them.
    pub exact: bool,
    /// What else the index is made of: elements that it is moved by where it is the axes but for that, else a
    /// number that tells it from others. Equal indices over the same axes have equal ones, as a rule.
    pub moved: u64,
}

impl Dim {
    /// The position in the row-major range over some axes.
    pub fn exact(axes: u64) -> Dim {
        Dim { axes, exact: true, moved: 0 }
    }

    /// Some other function of the axes, which `what` tells from others.
    fn other(axes: u64, what: impl Hash) -> Dim {
        Dim { axes, exact: false, moved: fingerprint(what) }
    }

    /// The index, moved by an extent.
    fn moved_by(self, by: &Size, back: bool) -> Dim {
        let by = by.as_const().map_or_else(|| fingerprint(by), |by| by as u64);
        let moved = if back { self.moved.wrapping_sub(by) } else { self.moved.wrapping_add(by) };
        Dim { exact: false, moved, ..self }
    }

    /// Whether the index is at most one axis.
    pub fn is_single(&self) -> bool {
        self.exact && self.axes.count_ones() <= 1
    }
}

fn fingerprint(what: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    what.hash(&mut hasher);
    hasher.finish()
}

/// How a kernel reads a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Access {
    pub dims: SmallVec<[Dim; 6]>,
    /// The axes that are open where it is read; those that no dimension names read it again.
    pub scope: u64,
}

/// How often a value is wanted, beside how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reads {
    /// Several kernels want it.
    pub many: bool,
    /// The dimensions along which one point of the kernel reads it at different positions, a bit each.
    pub scattered: u64,
    /// Positions at which one point of a kernel computes it, if it is computed where it is read: so often it
    /// is in the kernel's code.
    pub variants: u32,
    /// Values that are computed then, of all points but without what repeats them.
    pub points: f64,
    /// Whether it is read where memory is waited for, rather than along rows that lie in cache.
    pub waits: bool,
}

/// What the users of a node want of it.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub kernel: NodeIndex,
    pub access: Access,
    pub reads: Reads,
    /// Rows read it more than once, in loops of their own.
    pub passes: u32,
    /// Fingerprints of the accesses.
    seen: SmallVec<[u64; 4]>,
}

/// A dimension that is a group of axes.
pub(super) fn exact_dim(over: &[Size], group: Range<usize>) -> Dim {
    Dim::exact(group.filter(|d| over[*d] != Size::ONE).fold(0, |axes, d| axes | 1 << d))
}

/// The dimensions of an operand, of shape `below`, along which a point reads it at different positions, given those
/// of the value.
fn scattered_below(value: &UOp, operand: usize, below: &[Size], scattered: u64) -> u64 {
    let bit = |d: usize| scattered >> d.min(63) & 1;
    let pick = |from: &mut dyn Iterator<Item = Option<usize>>| {
        from.enumerate().fold(0, |bits, (to, d)| bits | d.map_or(0, bit) << to.min(63))
    };
    match value.op() {
        // A sort reads its keys several times.
        op if is_order(op) => u64::MAX,
        _ if scattered == 0 => 0,
        op if op.is_elementwise() => scattered,
        op if op.is_mark() => scattered,
        Op::Pad(..) | Op::Shrink(_) | Op::Flip(_) | Op::Copy(_) => scattered,
        Op::Permute(axes) => axes.iter().enumerate().fold(0, |bits, (d, a)| bits | bit(d) << a.min(&63)),
        Op::Expand(_) => {
            let new = value.rank() - below.len();
            pick(&mut (0..below.len()).map(|d| (below[d] == value.shape()[d + new]).then_some(d + new)))
        }
        Op::Reshape(_) => match squeezed(value.shape(), below) {
            Some(map) => pick(&mut map.into_iter()),
            None => u64::MAX,
        },
        Op::Reduce(_, axes) => {
            let mut kept = 0..value.rank();
            pick(&mut (0..below.len()).map(|d| if axes.contains(&d) { None } else { kept.next() }))
        }
        Op::Gather(axis) => scattered | u64::from(operand == 0) << axis.min(&63),
        _ => u64::MAX,
    }
}

/// A dimension of one position.
const START: Dim = Dim { axes: 0, exact: false, moved: 0 };

/// A position in each dimension.
type Dims = SmallVec<[Dim; 6]>;

/// All axes that an access names.
fn all_axes(access: &Access) -> u64 {
    access.dims.iter().fold(0, |a, d| a | d.axes)
}

/// How the operands of a lookup along an axis are read, the dimensions `index` of which are the index's.
fn taken(node: NodeIndex, access: &Access, operand: usize, index: Range<usize>) -> Dims {
    if operand == 1 {
        return access.dims[index].into();
    }
    let mut dims: Dims = access.dims[..index.start].into();
    let positions = &access.dims[index.clone()];
    dims.push(Dim::other(positions.iter().fold(0, |a, d| a | d.axes), (node, positions)));
    dims.extend_from_slice(&access.dims[index.end..]);
    dims
}

impl Fuse<'_> {
    /// Tells the operands of a node how they are read.
    pub(super) fn propagate(&mut self, node: NodeIndex, kernel: NodeIndex, access: &Access, reads: Reads) {
        let value = self.graph.nodes()[node as usize].clone();
        let sources: SmallVec<[NodeIndex; 3]> = self.graph.sources(node).into();
        for (operand, source) in sources.into_iter().enumerate() {
            let below = self.graph.nodes()[source as usize].shape();
            let wanted = match value.op() {
                Op::Reduce(_, axes) => self.by_reduction(kernel, access, below, axes),
                Op::Scatter(axis, _) | Op::Sort(axis, ..) | Op::ArgSort(axis, ..)
                    if operand > 0 || is_order(value.op()) =>
                {
                    self.along_points(kernel, access, *axis, &below[*axis], operand != 1)
                }
                op => {
                    let dims = match op {
                        op if op.is_movement() => self.by_movement(node, kernel, access, below),
                        Op::Take(axis) => {
                            let indexed = value.rank() - (below.len().max(1) - 1);
                            let index = *axis..*axis + if operand == 1 { below.len() } else { indexed };
                            taken(node, access, operand, index)
                        }
                        Op::Gather(axis) if operand == 0 => {
                            let mut dims = access.dims.clone();
                            dims[*axis] = Dim::other(all_axes(access), (node, &access.dims));
                            dims
                        }
                        Op::Rand(_) => SmallVec::new(),
                        _ => access.dims.clone(),
                    };
                    Access { dims, scope: access.scope }
                }
            };
            let share = elements(&self.graph.nodes()[source as usize]) as f64 / elements(&value).max(1) as f64;
            let more = match value.op() {
                Op::Reduce(..) | Op::Scatter(..) => share,
                Op::Window(..) => 1.0,
                Op::Take(_) | Op::Gather(_) if operand == 0 => 1.0,
                _ => share.min(1.0),
            };
            let scattered = scattered_below(&value, operand, below, reads.scattered);
            let reads = Reads { scattered, points: reads.points * more, ..reads };
            self.want(source, kernel, wanted, reads);
        }
    }

    /// The dimensions, of shape `below`, of what a movement moves.
    fn by_movement(&self, node: NodeIndex, kernel: NodeIndex, access: &Access, below: &[Size]) -> Dims {
        let value = &self.graph.nodes()[node as usize];
        match value.op() {
            Op::Reshape(_) => match squeezed(value.shape(), below) {
                Some(map) => map.into_iter().map(|d| d.map_or(START, |d| access.dims[d])).collect(),
                None => self.regrouped(kernel, access, below).unwrap_or_else(|| {
                    let part = Dim::other(all_axes(access), (node, &access.dims));
                    below.iter().map(|e| if e.as_const() == Some(1) { START } else { part }).collect()
                }),
            },
            Op::Permute(axes) => {
                let mut dims = access.dims.clone();
                axes.iter().zip(&access.dims).for_each(|(a, d)| dims[*a] = *d);
                dims
            }
            Op::Expand(_) => {
                let new = value.rank() - below.len();
                let grown = |d: usize| below[d] != value.shape()[d + new];
                (0..below.len()).map(|d| if grown(d) { START } else { access.dims[d + new] }).collect()
            }
            Op::Window(axis, ..) => {
                let mut dims = access.dims.clone();
                let taps = dims.pop().unwrap_or(START);
                dims[*axis] = Dim::other(dims[*axis].axes | taps.axes, (node, dims[*axis], taps));
                dims
            }
            Op::Pad(by, _) => {
                access.dims.iter().zip(by.iter()).map(|(d, (before, _))| d.moved_by(before, true)).collect()
            }
            Op::Shrink(to) => {
                access.dims.iter().zip(to.iter()).map(|(d, (begin, _))| d.moved_by(begin, false)).collect()
            }
            Op::Flip(_) => access.dims.iter().map(|d| Dim::other(d.axes, (node, d))).collect(),
            _ => access.dims.clone(),
        }
    }

    /// How a reduction reads what it reduces: along axes of its own.
    fn by_reduction(&mut self, kernel: NodeIndex, access: &Access, below: &[Size], axes: &[usize]) -> Access {
        let own = &mut self.kernels[kernel as usize].extents;
        let (mut kept, mut scope) = (access.dims.iter(), access.scope);
        let mut dims = SmallVec::new();
        for (d, extent) in below.iter().enumerate() {
            if axes.contains(&d) {
                let bit = 1 << own.len().min(63);
                own.push(bound(extent));
                scope |= if extent.as_const() == Some(1) { 0 } else { bit };
                dims.push(Dim::exact(bit));
            } else {
                dims.extend(kept.next().copied());
            }
        }
        let named = dims.iter().fold(0, |n, d: &Dim| n | d.axes);
        Access { dims, scope: scope & named }
    }

    /// How points that are scattered or sorted are read: along an axis of their own, which is a `new` one for the first
    /// of their operands.
    fn along_points(&mut self, kernel: NodeIndex, access: &Access, axis: usize, points: &Size, new: bool) -> Access {
        let own = &mut self.kernels[kernel as usize].extents;
        let bit = 1 << own.len().min(63);
        if new {
            own.push(bound(points));
        }
        let mut dims = access.dims.clone();
        dims[axis] = Dim::exact(bit);
        Access { dims, scope: access.scope | bit }
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
            let axes = group.iter().fold(0, |bits, d| bits | 1 << d);
            if group.is_sorted() { Dim::exact(axes) } else { Dim::other(axes, group) }
        };
        Some(merged(below, &extents)?.into_iter().map(dim).collect())
    }

    fn want(&mut self, node: NodeIndex, kernel: NodeIndex, access: Access, reads: Reads) {
        let absorbed = &self.kernels[kernel as usize];
        let output = absorbed.over.len() as u32;
        // A chain without reductions of its rows has them along any axis of the output.
        let rows = absorbed.rows.unwrap_or(if absorbed.chained { (1 << output.min(63)) - 1 } else { 0 });
        let slot = &mut self.wanted[node as usize];
        let is = fingerprint(&access);
        let Some(wanted) = slot else {
            *slot = Some(Wanted { kernel, access, reads, passes: 1, seen: smallvec![is] });
            return;
        };
        let known = &mut wanted.reads;
        known.many |= reads.many;
        known.scattered |= reads.scattered;
        known.waits &= reads.waits;
        if wanted.kernel != kernel {
            known.many = true;
            known.points += reads.points;
            return;
        }
        if wanted.access == access || wanted.seen.contains(&is) {
            known.variants = known.variants.max(reads.variants);
            known.points = known.points.max(reads.points);
            return;
        }
        if wanted.seen.len() < kernels::MAX_SEEN {
            wanted.seen.push(is);
        }
        known.variants = known.variants.saturating_add(reads.variants);
        known.points += reads.points;
        let reduced = |d: &Dim| d.exact && d.axes >> output.min(63) != 0;
        for (d, (known, new)) in wanted.access.dims.iter_mut().zip(&access.dims).enumerate() {
            if known.axes == new.axes {
                wanted.reads.scattered |= u64::from(known.moved != new.moved) << d.min(63);
                known.exact &= new.exact;
                continue;
            }
            // The same row in another pass over it, or another position altogether: all of what rows are read at.
            let pass = reduced(known) || reduced(new);
            let of_rows = |d: &Dim| d.axes & rows != 0;
            if !(known.exact && new.exact && pass && of_rows(known) == of_rows(new)) {
                wanted.reads.scattered |= 1 << d.min(63);
            }
            if reduced(known) && !reduced(new) {
                *known = *new;
            }
        }
        wanted.passes += 1;
        let named = wanted.access.dims.iter().fold(0, |n, d| n | d.axes);
        wanted.access.scope = (wanted.access.scope | access.scope) & (named | ((1u64 << output.min(63)) - 1));
    }
}
