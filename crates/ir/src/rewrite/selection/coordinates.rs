//! A value at one position of a dimension, in the dimensions of the value that it is a part of.

use crate::graph::shape::squeezed;
use crate::graph::{Axes, GraphError, Op, Shape, UOp};
use crate::size::Size;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use svod_dtype::Const;

/// Per dimension of a node, the dimension of the whole that it is; none for one of extent 1.
pub(in crate::rewrite) type Map = SmallVec<[Option<usize>; 6]>;

/// Nodes that are rewritten at most, which bounds the depth of recursion too.
const MOST: usize = 64;

/// Why there is no such value.
pub(super) enum Stop {
    /// It cannot be told, or not with so many nodes.
    Unknown,
    /// A node that cannot be built.
    Graph(GraphError),
}

impl From<GraphError> for Stop {
    fn from(error: GraphError) -> Self {
        Stop::Graph(error)
    }
}

/// The dimensions of a node's operand, below a movement that keeps positions, or a mark.
pub(in crate::rewrite) fn below(node: &UOp, map: &Map) -> Option<Map> {
    let source = node.source()?;
    match node.op() {
        Op::Expand(_) => {
            let new = node.rank() - source.rank();
            let kept = |d: usize| if source.shape()[d] == node.shape()[d + new] { map[d + new] } else { None };
            Some((0..source.rank()).map(kept).collect())
        }
        Op::Permute(axes) => {
            let mut inner = map.clone();
            axes.iter().zip(map).for_each(|(a, d)| inner[*a] = *d);
            Some(inner)
        }
        Op::Reshape(_) => {
            let dims = squeezed(node.shape(), source.shape())?;
            Some(dims.into_iter().map(|d| d.and_then(|d| map[d])).collect())
        }
        op if op.is_mark() => Some(map.clone()),
        _ => None,
    }
}

/// The dimensions of a value along which movements do not repeat it. Of what repeats, windows, parts and what is joined to
/// constants along other dimensions repeat as well.
pub fn own_dimensions(value: &UOp) -> Vec<usize> {
    let (mut node, mut map): (UOp, Map) = (value.clone(), (0..value.rank()).map(Some).collect());
    let mut own: Vec<usize> = Vec::new();
    while node.op().is_movement() {
        let Some(source) = node.source() else { break };
        let inner = match node.op() {
            Op::Window(axis, ..) => {
                // Both the window and the place in it are told by positions of the operand's one dimension.
                let place = map.pop().flatten();
                own.extend(place.into_iter().chain(map[*axis].take()));
                Some(map.clone())
            }
            Op::Pad(by, _) => {
                let padded = (0..map.len()).filter(|d| by[*d] != (Size::ZERO, Size::ZERO));
                padded.for_each(|d| own.extend(map[d].take()));
                Some(map.clone())
            }
            Op::Shrink(_) | Op::Flip(_) => Some(map.clone()),
            _ => below(&node, &map),
        };
        let Some(inner) = inner else { break };
        (node, map) = (source, inner);
    }
    let long = map.iter().zip(node.shape()).filter(|(_, n)| **n != Size::ONE);
    own.extend(long.filter_map(|(d, _)| *d));
    own.sort_unstable();
    own.retain(|d| value.shape()[*d] != Size::ONE);
    own
}

/// Two values of one rank, repeated to each other's extents.
pub(super) fn broadcast<const N: usize>(values: [&UOp; N]) -> Result<[UOp; N], GraphError> {
    let shape = common(values);
    let mut repeated = values.map(UOp::clone);
    for value in &mut repeated {
        *value = value.expand(shape.clone())?;
    }
    Ok(repeated)
}

/// The extents of values of one rank, where they are not 1.
fn common<'a>(values: impl IntoIterator<Item = &'a UOp>) -> Shape {
    let mut shape: Vec<Size> = Vec::new();
    for value in values {
        shape.resize(value.rank(), Size::ONE);
        let long = value.shape().iter().enumerate().filter(|(_, n)| **n != Size::ONE);
        long.for_each(|(d, n)| shape[d] = n.clone());
    }
    shape.into()
}

/// Rewrites nodes to values in the dimensions of a whole, one of which is at a position.
pub(super) struct Coordinates<'a> {
    rank: usize,
    /// The dimension that vanishes, to extent 1, and its extent.
    axis: usize,
    /// Where along it, if values are looked up at all.
    position: Option<&'a UOp>,
    known: FxHashMap<(u64, Map), UOp>,
    /// The node whose value was given.
    given: Option<u64>,
    left: usize,
}

impl<'a> Coordinates<'a> {
    pub fn new(whole: &[Size], axis: usize, position: Option<&'a UOp>) -> Self {
        Coordinates { rank: whole.len(), axis, position, known: FxHashMap::default(), given: None, left: MOST }
    }

    /// Lets a node be a constant.
    pub fn know(&mut self, node: &UOp, map: &Map, value: Const) -> Result<(), GraphError> {
        let value = UOp::full(value, &vec![Size::ONE; self.rank].into())?;
        self.known.insert((node.id(), map.clone()), value);
        self.given = Some(node.id());
        Ok(())
    }

    /// The value of a node whose dimensions these are, of the rank of the whole; dimensions along which it
    /// does not change may be 1.
    pub fn value(&mut self, node: &UOp, map: &Map) -> Result<UOp, Stop> {
        let key = (node.id(), map.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        self.left = self.left.checked_sub(1).ok_or(Stop::Unknown)?;
        let value = self.rewritten(node, map)?;
        self.known.insert(key, value.clone());
        Ok(value)
    }

    fn rewritten(&mut self, node: &UOp, map: &Map) -> Result<UOp, Stop> {
        if let Some(value) = node.uniform() {
            return Ok(UOp::full(value, &vec![Size::ONE; self.rank].into())?);
        }
        if !map.contains(&Some(self.axis)) {
            return Ok(self.lifted(node, map)?);
        }
        if let (Some(source), Some(map)) = (node.source(), below(node, map)) {
            return self.value(&source, &map);
        }
        match node.op() {
            Op::Range(_) => Ok(self.position.ok_or(Stop::Unknown)?.clone()),
            op if op.is_elementwise() && !self.is_whole(node) => {
                let values = node.sources().iter().map(|s| self.value(s, map)).collect::<Result<Vec<UOp>, Stop>>()?;
                let shape = common(&values);
                let operands = values.iter().map(|v| v.expand(shape.clone())).collect::<Result<Vec<UOp>, _>>()?;
                Ok(UOp::new(op.clone(), &operands)?)
            }
            _ => self.looked_up(node, map),
        }
    }

    /// A node in the dimensions of the whole.
    fn lifted(&self, node: &UOp, map: &Map) -> Result<UOp, GraphError> {
        let mut order: Axes = (0..map.len()).collect();
        order.sort_by_key(|d| map[*d]);
        let mut shape = vec![Size::ONE; self.rank];
        map.iter().zip(node.shape()).for_each(|(d, n)| {
            if let Some(d) = d {
                shape[*d] = n.clone();
            }
        });
        node.permute(&order)?.reshape(shape)
    }

    /// A node at the position: its elements off the dimension once, if the position does not depend on
    /// what it has besides.
    fn looked_up(&self, node: &UOp, map: &Map) -> Result<UOp, Stop> {
        let position = self.position.ok_or(Stop::Unknown)?;
        let axis = map.iter().position(|d| *d == Some(self.axis)).ok_or(Stop::Unknown)?;
        let long = |shape: &[Size], d: usize| shape[d] != Size::ONE;
        let along: Axes = (0..self.rank).filter(|d| long(position.shape(), *d)).collect();
        let shared = |d: usize| d != axis && long(node.shape(), d) && map[d].is_some_and(|d| along.contains(&d));
        if !(0..map.len()).any(shared) {
            let extents: Shape = along.iter().map(|d| position.shape()[*d].clone()).collect();
            let value = node.take(axis, &position.reshape(extents)?)?;
            // A dimension of extent 1 is where the position is longer.
            let others = |d: &Option<usize>| d.filter(|d| !along.contains(d));
            let before = map[..axis].iter().map(others);
            let after = map[axis + 1..].iter().map(others);
            let map = before.chain(along.iter().copied().map(Some)).chain(after).collect();
            return Ok(self.lifted(&value, &map)?);
        }
        let value = self.lifted(node, map)?;
        let mut off_axis = value.shape().to_vec();
        off_axis[self.axis] = Size::ONE;
        let off_axis: Shape = off_axis.into();
        let mut shape = common([position]).to_vec();
        off_axis.iter().enumerate().filter(|(_, n)| **n != Size::ONE).for_each(|(d, n)| shape[d] = n.clone());
        let index = position.expand(shape.clone())?;
        shape[self.axis] = value.shape()[self.axis].clone();
        Ok(value.expand(shape)?.gather(self.axis, &index)?)
    }

    /// Whether an elementwise value is looked up as it is: one of its operands, down through others, is repeated
    /// along no dimension, and none is the node that was given. What cannot be told is taken for that.
    fn is_whole(&self, node: &UOp) -> bool {
        let mut work: SmallVec<[UOp; 8]> = SmallVec::from_iter([node.clone()]);
        let (mut visited, mut whole) = (0, false);
        while let Some(node) = work.pop() {
            visited += 1;
            if visited > MOST {
                return true;
            }
            match node.op() {
                _ if Some(node.id()) == self.given => return false,
                Op::Const(_) | Op::Expand(_) => {}
                op if op.is_elementwise() || matches!(op, Op::Permute(_) | Op::Reshape(_)) => {
                    work.extend(node.sources());
                }
                _ => whole = true,
            }
        }
        whole
    }
}
