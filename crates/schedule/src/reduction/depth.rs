//! A product of matrices with few results and a long depth: each block of the depth gives sums of its own, which are added
//! (split-K).
//!
//! ```text
//! sum(a[i, k] · b[k, j], k)  =  sum(sum(a[i, block, k] · b[block, k, j], k), block)
//! ```
//!
//! A processor's tasks are blocks where there are too few results. Where groups of threads do tasks, blocks also fill a GPU that
//! has more multiprocessors than the product has tiles, and make one axis of a depth whose axes do not follow one another in
//! memory, as sentences and tokens of a text whose heads are apart do not: a kernel of tiles has one.

use super::blocks::{blocks, constant, shape};
use crate::costs::groups::Extents;
use crate::costs::limits::{groups, products, registers, tasks};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Device, GraphError, Op, Shape, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::rewrite::{may_be_weights, own_dimensions};
use svod_ir::size::Size;

/// A product whose depth is summed.
struct Product<'a> {
    /// Both factors, and the extents that they have together.
    factors: [UOp; 2],
    /// Dimensions along which each of them does not repeat.
    own: [Vec<usize>; 2],
    extents: &'a [i64],
    /// Dimensions that are summed.
    reduced: &'a [usize],
    of: Extents,
}

/// The sums of blocks of the depth, added.
pub(super) fn in_blocks_of_depth(node: &UOp, reduced: &[usize]) -> Result<Option<UOp>, GraphError> {
    let Some(product) = node.source().filter(|p| *p.op() == Op::Alu(Alu::Mul) && p.dtype().is_float()) else {
        return Ok(None);
    };
    let (Some(extents), Ok(factors)) = (constant(product.shape()), <[UOp; 2]>::try_from(product.sources().to_vec()))
    else {
        return Ok(None);
    };
    let own = [0, 1].map(|side: usize| own_dimensions(&factors[side]));
    let points =
        |of: &dyn Fn(&usize) -> bool| (0..extents.len()).filter(of).map(|d| extents[d]).fold(1, i64::saturating_mul);
    let [rows, columns] = [0, 1].map(|side| points(&|d| own[side].contains(d) && !own[1 - side].contains(d)));
    let batch = points(&|d| !reduced.contains(d) && own.iter().all(|own| own.contains(d)));
    let depth = points(&|d| reduced.contains(d));
    let whole = reduced.iter().all(|d| own.iter().all(|own| own.contains(d)));
    if !whole {
        return Ok(None);
    }
    let of = Extents { batch, rows, columns, depth };
    let product = Product { factors, own, extents: &extents, reduced, of };
    let found = match Device::computes_on_host(node.device()) {
        false if node.dtype() == DType::F32 => product.blocks_of_groups(),
        // Asked last: it looks at much of the graph, and hardly any product is cut.
        _ => product.blocks_of_tasks().filter(|_| !product.is_of_attention()),
    };
    found.map(|(axis, count)| product.cut(axis, count)).transpose()
}

impl Product<'_> {
    /// Whether an attention's weights may make one kernel with this product.
    fn is_of_attention(&self) -> bool {
        self.factors.iter().any(|factor| self.reduced.iter().any(|d| may_be_weights(factor, *d)))
    }

    /// Which axis of the depth is cut in how many blocks where a processor has too few results to divide.
    fn blocks_of_tasks(&self) -> Option<(usize, i64)> {
        let Extents { batch, rows, columns, depth } = self.of;
        let axis = *self.reduced.iter().max_by_key(|d| self.extents[**d])?;
        // A few rows are read where they lie.
        if rows.min(columns) <= registers::FEWEST_LANES || rows.max(columns) > products::MAX_CUT {
            return None;
        }
        let little = depth.saturating_mul(rows + columns) / (products::MORE * rows * columns);
        let length = self.extents[axis];
        let most = (depth / products::MULTIPLIED).min(tasks::MANY / batch.max(1)).min(little).min(length);
        let count = if most < tasks::FEW { 1 } else { blocks(length, most) };
        (count > 1).then_some((axis, count))
    }

    /// The same for a kernel of tiles: equal blocks with which all takes least.
    fn blocks_of_groups(&self) -> Option<(usize, i64)> {
        // Kernels for tensor cores divide the depth themselves, and attention of f32 has no kernel.
        let narrow = self.factors.iter().filter(|factor| is_narrow(factor)).count();
        if narrow == 2 || !self.of.has_tiles() || (narrow == 1 && self.is_of_attention()) {
            return None;
        }
        let long: Vec<usize> = self.reduced.iter().copied().filter(|d| self.extents[*d] > 1).collect();
        let loops = if self.is_one_axis(&long) { self.of.by_tiles(0, 0) } else { self.of.by_loops() };
        let along = matches!(long[..], [axis] if self.factors.iter().all(|factor| is_last(factor, axis)));
        let now = if along { loops.min(self.of.by_dots()) } else { loops };
        let sums = self.of.batch.saturating_mul(self.of.rows).saturating_mul(self.of.columns);
        let mut best = None;
        let mut least = now;
        for axis in &long {
            let n = self.extents[*axis];
            // A block is as deep as a tile is wide, at least.
            let most = n.min(self.of.depth / groups::TILE as i64);
            for count in (2..=most).filter(|count| n % count == 0) {
                let rest: Vec<usize> = long.iter().copied().filter(|d| d != axis || count < n).collect();
                let bytes = sums.saturating_mul(count).saturating_mul(DType::F32.bytes() as i64);
                let block = Extents { batch: self.of.batch * count, depth: self.of.depth / count, ..self.of };
                // The product's launch, and that of the sum, which waits for it.
                let time = block.by_tiles(bytes, 2);
                if time < least && block.has_tiles() && self.is_one_axis(&rest) {
                    (best, least) = (Some((*axis, count)), time);
                }
            }
        }
        best
    }

    /// Whether dimensions follow one another in the memory of both factors, so that they are one axis there.
    fn is_one_axis(&self, dims: &[usize]) -> bool {
        self.factors.iter().all(|factor| dims.windows(2).all(|pair| are_joined(factor, pair[0], pair[1])))
    }

    /// The sums of so many blocks of an axis, added.
    fn cut(&self, axis: usize, count: i64) -> Result<UOp, GraphError> {
        let (extents, reduced) = (self.extents, self.reduced);
        let length = (extents[axis] + count - 1) / count;
        let mut by_end: Vec<(Size, Size)> = vec![(Size::ZERO, Size::ZERO); extents.len()];
        by_end[axis].1 = Size::from(count * length - extents[axis]);
        let cut = shape(&[&extents[..axis], &[count, length], &extents[axis + 1..]].concat());
        let in_blocks = |side: usize| {
            // What repeats goes on to do so as it is: operands are told by that.
            let is_own = |d: usize| self.own[side].contains(&d);
            let part = |d| (Size::ZERO, if is_own(d) { Size::from(extents[d]) } else { Size::ONE });
            let factor = self.factors[side].shrink((0..extents.len()).map(part).collect::<Vec<_>>())?;
            let mut once = cut.to_vec();
            for d in (0..extents.len()).filter(|d| !is_own(*d)) {
                once[d + usize::from(d > axis)] = Size::ONE;
            }
            factor.pad(by_end.clone(), Const::zero(factor.dtype()))?.reshape(Shape::from(once))?.expand(cut.clone())
        };
        let factors = [in_blocks(0)?, in_blocks(1)?];
        let inside: Vec<usize> = reduced.iter().map(|d| d + usize::from(*d >= axis)).collect();
        let sums = UOp::alu(Alu::Mul, &factors)?.reduce(Monoid::Sum, &inside)?;
        let block = (0..axis).filter(|d| !reduced.contains(d)).count();
        let order: Vec<usize> = [block].into_iter().chain((0..sums.rank()).filter(|d| *d != block)).collect();
        sums.permute(&order)?.contiguous()?.reduce(Monoid::Sum, &[0])
    }
}

/// Whether a value is of elements that tensor cores multiply, as far as its conversions and movements tell.
fn is_narrow(factor: &UOp) -> bool {
    let mut node = factor.clone();
    while node.op().is_movement() || matches!(node.op(), Op::Cast(DType::F32)) {
        let Some(source) = node.source() else { return false };
        node = source;
    }
    node.dtype().is_float() && node.dtype().bytes() <= DType::F16.bytes()
}

/// Whether one dimension of a value follows another in memory: as far as its permutations, repetitions and shapes tell, below
/// which elements are in order.
fn are_joined(value: &UOp, outer: usize, inner: usize) -> bool {
    let Some((below, dims)) = in_memory(value, &[outer, inner]) else { return false };
    dims[0] < dims[1] && (dims[0] + 1..dims[1]).all(|d| below.shape()[d] == Size::ONE)
}

/// Whether elements are side by side along a dimension of a value, likewise.
fn is_last(value: &UOp, d: usize) -> bool {
    in_memory(value, &[d])
        .is_some_and(|(below, dims)| (dims[0] + 1..below.rank()).all(|d| below.shape()[d] == Size::ONE))
}

/// The value that permutations, repetitions, conversions and shapes are of, and which of its dimensions these are.
fn in_memory(value: &UOp, dims: &[usize]) -> Option<(UOp, Vec<usize>)> {
    let (mut node, mut dims) = (value.clone(), dims.to_vec());
    while let Some(source) = node.source() {
        let below = |d: usize| match node.op() {
            Op::Permute(axes) => Some(axes[d]),
            Op::Expand(_) => d.checked_sub(node.rank() - source.rank()),
            Op::Cast(_) => Some(d),
            _ => dimension_below(&node, &source, d),
        };
        if !matches!(node.op(), Op::Permute(_) | Op::Expand(_) | Op::Cast(_) | Op::Reshape(_)) {
            break;
        }
        for d in &mut dims {
            *d = below(*d)?;
        }
        node = source;
    }
    Some((node, dims))
}

/// The dimension of a reshape's source that a dimension of it is: of as many elements, after as many.
fn dimension_below(node: &UOp, source: &UOp, d: usize) -> Option<usize> {
    let before = |of: &UOp, d: usize| of.shape()[..d].iter().try_fold(1i64, |n, e| Some(n * e.as_const()?));
    let wanted = (before(node, d)?, node.shape()[d].as_const()?);
    (0..source.rank()).find(|s| source.shape()[*s].as_const() == Some(wanted.1) && before(source, *s) == Some(wanted.0))
}
