//! Operands of products on GPUs that have to be in memory first.
//!
//! Kernels of products read operands as they are in memory: rows at equal distances, of the elements that are multiplied. What else an
//! operand is (a sum, rows that are gathered, two joined values, a padded one) would make loops of the product, in which each element is
//! computed as often as it is read, without tiles. Where it is read many times, it is computed once, by a kernel before.

use super::costs::elements;
use super::shapes::{merged, repeated_dims};
use super::{Fuse, Role, is_barrier, is_source};
use crate::costs::groups::Extents;
use crate::costs::limits::kernels;
use crate::graph::place::is_transfer;
use svod_dtype::DType;
use svod_ir::graph::Op;
use svod_ir::graph::walk::NodeIndex;
use svod_ir::size::Size;

/// What a factor is made of, without layouts that a kernel can have.
struct Factor {
    /// What is not in memory as it is, if anything is not.
    computed: Option<NodeIndex>,
    /// A conversion from narrower elements, which a kernel multiplies as they are.
    widened: Option<NodeIndex>,
    /// Type of the elements that are multiplied.
    dtype: DType,
}

/// Whether sums of tensor cores are of a type.
fn is_carried(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::I32)
}

impl Fuse<'_> {
    /// Realizes operands of a contraction that is a kernel of its own on a GPU.
    pub(super) fn realize_operands(&mut self, node: NodeIndex) {
        let product = self.graph.sources(node)[0];
        let value = &self.graph.nodes()[product as usize];
        let known = value.shape().iter().all(|extent| extent.as_const().is_some());
        if self.how.strict || self.is_on_host(node) || !known {
            return;
        }
        let extents = self.extents_of(node, product);
        let factors: Vec<Factor> = self.graph.sources(product).iter().filter_map(|f| self.factor(*f)).collect();
        let [a, b] = &factors[..] else { return };
        let other = |own: &Factor, other: &Factor| own.widened.filter(|_| own.dtype != other.dtype);
        let found = [other(a, b).or(a.computed), other(b, a).or(b.computed)];
        for node in found.into_iter().flatten() {
            let operand = &self.graph.nodes()[node as usize];
            let bytes = elements(operand).saturating_mul(operand.dtype().bytes() as i64);
            if extents.are_worth_operands(bytes, 1) && !self.roles.contains_key(&node) {
                self.roles.insert(node, Role::Operand);
            }
        }
    }

    /// Rows, columns and depth of a contraction, by the dimensions along which its factors repeat.
    fn extents_of(&self, node: NodeIndex, product: NodeIndex) -> Extents {
        let value = &self.graph.nodes()[product as usize];
        let repeated: Vec<u64> =
            self.graph.sources(product).iter().map(|factor| repeated_dims(self.graph, *factor)).collect();
        let reduced: &[usize] = match self.graph.nodes()[node as usize].op() {
            Op::Reduce(_, axes) => axes,
            _ => &[],
        };
        let mut of = Extents { batch: 1, rows: 1, columns: 1, depth: 1 };
        for (d, extent) in value.shape().iter().enumerate() {
            let repeats = |factor: usize| repeated.get(factor).is_some_and(|dims| dims >> d.min(63) & 1 == 1);
            let part = match (reduced.contains(&d), repeats(0), repeats(1)) {
                (true, ..) => &mut of.depth,
                (false, true, _) => &mut of.columns,
                (false, _, true) => &mut of.rows,
                _ => &mut of.batch,
            };
            *part = part.saturating_mul(extent.upper_bound().unwrap_or(i64::MAX));
        }
        of
    }

    /// What a factor is made of; nothing where windows are read, of which convolutions have kernels.
    fn factor(&self, factor: NodeIndex) -> Option<Factor> {
        let mut at = factor;
        let mut widened = None;
        for _ in 0..kernels::MAX_SEEN {
            let value = &self.graph.nodes()[at as usize];
            let (op, dtype) = (value.op(), value.dtype());
            if is_source(op) || is_barrier(op) || is_transfer(self.graph, at) {
                return Some(Factor { computed: None, widened, dtype });
            }
            let computed = Some(Factor { computed: Some(at), widened, dtype });
            match op {
                Op::Window(..) => return None,
                Op::Reshape(_) if !self.is_even(at) => return computed,
                Op::Cast(_) if widened.is_none() && is_carried(dtype) && self.is_widening(at) => widened = Some(at),
                Op::Reshape(_) | Op::Expand(_) | Op::Permute(_) | Op::Shrink(_) => {}
                op if op.is_mark() => {}
                _ => return computed,
            }
            at = *self.graph.sources(at).first()?;
        }
        None
    }

    /// Whether a reshape joins no dimension along which a value repeats with one along which it does not, and none in an order
    /// in which memory does not have them: elements along each dimension are at equal distances.
    fn is_even(&self, node: NodeIndex) -> bool {
        let below = self.graph.sources(node)[0];
        let (shape, inner) = (self.graph.nodes()[node as usize].shape(), self.graph.nodes()[below as usize].shape());
        let Some(joined) = merged(shape, inner) else { return true };
        let repeated = repeated_dims(self.graph, below);
        let alike = |group: std::ops::Range<usize>| {
            let mut long = group.filter(|d| inner[*d] != Size::ONE).map(|d| repeated >> d.min(63) & 1);
            let first = long.next();
            long.all(|bit| Some(bit) == first)
        };
        !self.is_rearranged(node) && joined.into_iter().all(alike)
    }
}
