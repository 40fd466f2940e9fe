//! The structure of a graph without its numbers: what graphs have in common that differ only in constants, in
//! positions, or in extents.
//!
//! An [`Outline`] is found in one linear walk, as a [key](super::key) is, and lists what it left out:
//!
//! * *constants*, by the operand that reads each: what is one node in two places counts twice, so that numbers that
//!   are equal by accident make no other outline; so is what a pad adds, but for 0;
//! * *extents* and *starts* in the data of operations, where these do not follow from the operands: a reshape
//!   that joins dimensions, or an expansion of what has that extent already, has no number of its own. A shrink is
//!   known by where it starts and how long it is, a pad by where its source starts and how long the whole is;
//! * *taps*: how many elements a window has.
//!
//! Kept are numbers that decide on structure: the extents 0 and 1, constants that are not finite, exponents of which
//! rules of rewriting know a shorter way, and strides and dilations of windows.

use super::key::{Bytes, Functions, Storages, hash_node};
use super::op::{Op, Shape};
use super::walk::{Graph, NodeIndex};
use super::{GraphError, UOp};
use crate::alu::Alu;
use crate::rewrite::SHORT_POWERS;
use crate::size::Size;
use smallvec::SmallVec;
use std::hash::Hash;
use svod_dtype::Const;

/// A graph's structure without its numbers, and these. The graph is one in which equal numbers share nothing
/// ([`unshare`](super::unshare)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// A hash of the structure.
    pub hash: [u8; 32],
    /// The nodes that are no constants: the others come and go with what numbers are equal.
    pub nodes: Vec<NodeIndex>,
    /// Constants, in the order of the walk.
    pub constants: Vec<ConstantAt>,
    /// Extents and starts, in the order of the walk.
    pub sizes: Vec<SizeAt>,
}

/// A constant that an operand is everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantAt {
    /// The node that reads it.
    pub node: NodeIndex,
    /// As which operand; of what a pad adds, as the second one.
    pub operand: usize,
    /// Its value.
    pub value: Const,
    /// Whether code that knows the value is several times as fast: a divisor of integers.
    pub costly: bool,
}

/// A number in the data of a node, or in the shape of a constant operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeAt {
    /// What it says.
    pub role: Role,
    /// Its value.
    pub value: i64,
}

/// What a number says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// How many.
    Extent,
    /// From where on.
    Start,
    /// How many elements a window has: code that knows them writes out what is done with each.
    Taps,
}

/// What takes the places of an outline's numbers: as many of each as it lists; none leaves the number.
pub struct Replacements<'a> {
    /// 0-d values in place of constants.
    pub constants: &'a [Option<UOp>],
    /// Expressions in place of extents and starts.
    pub sizes: &'a [Option<Size>],
}

/// A datum of an operation, which may be a number of the outline.
#[derive(Clone, Debug)]
enum Field {
    /// It stays.
    Kept(Size),
    /// It follows from the operands' shapes.
    Derived,
    Free(Role, i64),
}

type Fields = SmallVec<[Field; 8]>;
type Shapes<'a> = SmallVec<[&'a [Size]; 3]>;

/// An extent: those that broadcast, or that make everything empty, are kept.
fn extent(size: &Size) -> Field {
    match size.as_const() {
        Some(n) if n > 1 => Field::Free(Role::Extent, n),
        _ => Field::Kept(size.clone()),
    }
}

fn start(size: &Size) -> Field {
    size.as_const().map_or_else(|| Field::Kept(size.clone()), |n| Field::Free(Role::Start, n))
}

/// The sizes in the data of an operation over operands of these shapes.
fn fields(op: &Op, sources: &Shapes<'_>) -> Fields {
    match op {
        Op::Leaf(leaf) => leaf.shape().iter().map(extent).collect(),
        Op::Rand(shape) => shape.iter().map(extent).collect(),
        Op::Range(count) => [extent(count)].into_iter().collect(),
        Op::Sort(axis, _, count) | Op::ArgSort(axis, _, count) => {
            let all = *count == sources[0][*axis];
            [if all { Field::Derived } else { extent(count) }].into_iter().collect()
        }
        Op::Expand(to) => {
            let new = to.len() - sources[0].len();
            let kept = |(i, n): (usize, &Size)| match i.checked_sub(new).map(|i| &sources[0][i]) {
                Some(own) if own == n => Field::Derived,
                _ => extent(n),
            };
            to.iter().enumerate().map(kept).collect()
        }
        Op::Reshape(to) => {
            let mut all: Fields = to.iter().map(extent).collect();
            for group in groups(sources[0], to) {
                if let [only] = group.into[..] {
                    all[only] = Field::Derived;
                }
            }
            all
        }
        Op::Shrink(to) => {
            let one = |((first, last), n): (&(Size, Size), &Size)| match *first == Size::ZERO && last == n {
                true => [Field::Derived, Field::Derived],
                false => [start(first), extent(&(last - first))],
            };
            to.iter().zip(sources[0]).flat_map(one).collect()
        }
        Op::Pad(by, _) => {
            let one = |((before, after), n): (&(Size, Size), &Size)| match (before, after) {
                (&Size::ZERO, &Size::ZERO) => [Field::Derived, Field::Derived],
                _ => [start(before), extent(&(before + n + after))],
            };
            by.iter().zip(sources[0]).flat_map(one).collect()
        }
        Op::Window(_, size, ..) => [match extent(size) {
            Field::Free(_, n) => Field::Free(Role::Taps, n),
            kept => kept,
        }]
        .into_iter()
        .collect(),
        _ => Fields::new(),
    }
}

/// The operation with other sizes in its data, over operands of these shapes; `old` are those that it had.
fn with_fields(op: &Op, old: &Shapes<'_>, sources: &Shapes<'_>, sizes: &[Option<Size>]) -> Op {
    let shape = |to: &Shape, derived: &dyn Fn(usize) -> Size| -> Shape {
        let given = sizes.iter().enumerate().map(|(i, size)| size.clone().unwrap_or_else(|| derived(i)));
        debug_assert_eq!(sizes.len(), to.len());
        given.collect()
    };
    let first = |derived: &dyn Fn() -> Size| sizes.first().cloned().flatten().unwrap_or_else(derived);
    match op {
        Op::Leaf(leaf) => {
            let own = leaf.shape();
            let (data, at) = (leaf.data().clone(), leaf.offset());
            Op::Leaf(super::Leaf::at(data, leaf.version(), at, leaf.dtype(), shape(own, &|i| own[i].clone())))
        }
        Op::Rand(own) => Op::Rand(shape(own, &|i| own[i].clone())),
        Op::Range(own) => Op::Range(first(&|| own.clone())),
        Op::Sort(axis, descending, _) => Op::Sort(*axis, *descending, first(&|| sources[0][*axis].clone())),
        Op::ArgSort(axis, descending, _) => Op::ArgSort(*axis, *descending, first(&|| sources[0][*axis].clone())),
        Op::Expand(own) => {
            let new = own.len() - sources[0].len();
            Op::Expand(shape(own, &|i| sources[0][i - new].clone()))
        }
        Op::Reshape(own) => {
            let groups = groups(old[0], own);
            let product = |i: usize| match groups.iter().find(|group| group.into[..] == [i]) {
                Some(group) => group.from.iter().map(|&d| &sources[0][d]).product(),
                None => own[i].clone(),
            };
            Op::Reshape(shape(own, &product))
        }
        Op::Shrink(_) => {
            let part = |(pair, n): (&[Option<Size>], &Size)| match pair {
                [Some(start), Some(length)] => (start.clone(), start + length),
                _ => (Size::ZERO, n.clone()),
            };
            Op::Shrink(sizes.chunks(2).zip(sources[0]).map(part).collect())
        }
        Op::Pad(_, fill) => {
            let part = |(pair, n): (&[Option<Size>], &Size)| match pair {
                [Some(start), Some(whole)] => (start.clone(), whole - n - start),
                _ => (Size::ZERO, Size::ZERO),
            };
            Op::Pad(sizes.chunks(2).zip(sources[0]).map(part).collect(), *fill)
        }
        Op::Window(axis, size, stride, dilation) => Op::Window(*axis, first(&|| size.clone()), *stride, *dilation),
        _ => op.clone(),
    }
}

/// Neighbouring dimensions of two shapes that hold the same elements; dimensions of one element are in none.
struct Group {
    from: SmallVec<[usize; 4]>,
    into: SmallVec<[usize; 4]>,
}

/// The smallest groups of a reshape; none where an extent is no number or 0.
fn groups(from: &[Size], into: &[Size]) -> SmallVec<[Group; 4]> {
    let long = |shape: &[Size]| -> Option<SmallVec<[(usize, i64); 4]>> {
        let numbers = shape.iter().enumerate().map(|(i, n)| Some((i, n.as_const().filter(|n| *n > 0)?)));
        let numbers: Option<SmallVec<[(usize, i64); 4]>> = numbers.collect();
        Some(numbers?.into_iter().filter(|(_, n)| *n > 1).collect())
    };
    let (Some(from), Some(into)) = (long(from), long(into)) else { return SmallVec::new() };
    let (mut a, mut b) = (from.iter(), into.iter());
    let mut found = SmallVec::new();
    while let (Some(&(i, mut left)), Some(&(j, mut right))) = (a.next(), b.next()) {
        let mut group = Group { from: SmallVec::from_slice(&[i]), into: SmallVec::from_slice(&[j]) };
        while left != right {
            let (side, product, dims) =
                if left < right { (&mut a, &mut left, &mut group.from) } else { (&mut b, &mut right, &mut group.into) };
            let Some(&(dim, n)) = side.next() else { return found };
            *product = product.saturating_mul(n);
            dims.push(dim);
        }
        found.push(group);
    }
    found
}

/// Whether a constant operand may be any value, and whether code is much better that knows it; none where the
/// structure depends on it.
fn role_of(op: &Op, operand: usize, value: Const, others: bool) -> Option<bool> {
    let may = match op {
        Op::Alu(Alu::Pow) => others && !SHORT_POWERS.contains(&value.as_f64()),
        Op::Alu(_) | Op::Take(_) | Op::Gather(_) | Op::Scatter(..) => others,
        // They may be all that there is.
        Op::Pad(..) | Op::Reduce(..) | Op::Scan(..) => true,
        _ => false,
    };
    let divides = matches!(op, Op::Alu(Alu::IDiv | Alu::Rem | Alu::FloorDiv | Alu::FloorMod));
    (may && value.as_f64().is_finite()).then_some(divides && operand == 1 && value.dtype().is_int())
}

/// What a pad adds, where that may be any value: 0 is what joins and derivatives add.
fn fill_of(op: &Op) -> Option<Const> {
    let Op::Pad(_, fill) = op else { return None };
    Some(*fill).filter(|fill| fill.as_f64().is_finite() && *fill != Const::zero(fill.dtype()))
}

/// A pad by what a 0-d value is.
fn padded(op: &Op, source: &UOp, fill: &UOp) -> Result<UOp, GraphError> {
    let Op::Pad(by, _) = op else { return UOp::new(op.clone(), std::slice::from_ref(source)) };
    let within = UOp::full(Const::bool(true), source.shape_arc())?.pad(by.clone(), Const::bool(false))?;
    let fill = fill.expand(within.shape_arc().clone())?;
    UOp::alu(Alu::Where, &[within, source.pad(by.clone(), Const::zero(source.dtype()))?, fill])
}

/// The constants that nodes are everywhere: constants, such under movement that adds nothing, and what is computed with
/// such alone.
pub fn uniform(graph: &Graph) -> Vec<Option<Const>> {
    let mut found: Vec<Option<Const>> = Vec::with_capacity(graph.len());
    for (node, sources) in graph.iter() {
        let below = || sources.iter().map(|s| found[*s as usize]).collect::<Option<SmallVec<[Const; 3]>>>();
        let value = match node.op() {
            Op::Const(value) => Some(*value),
            op if op.is_movement() && !matches!(op, Op::Pad(..)) => found[sources[0] as usize],
            op => op.fold(below),
        };
        found.push(value);
    }
    found
}

fn shapes<'a>(nodes: &'a [UOp], sources: &[NodeIndex]) -> Shapes<'a> {
    sources.iter().map(|s| nodes[*s as usize].shape()).collect()
}

impl Outline {
    /// The outline of a graph, in one walk.
    pub fn new(graph: &Graph) -> Outline {
        const CONSTANT: NodeIndex = NodeIndex::MAX;
        let uniform = uniform(graph);
        let mut bytes = Bytes::with_capacity(graph.len() * 32);
        let mut storages = Storages::default();
        let mut functions = Functions::default();
        let mut found = Outline::default();
        let mut numbers: Vec<NodeIndex> = Vec::with_capacity(graph.len());
        for (at, (node, sources)) in graph.iter().enumerate() {
            if uniform[at].is_some() {
                numbers.push(CONSTANT);
                continue;
            }
            numbers.push(found.nodes.len() as NodeIndex);
            found.nodes.push(at as NodeIndex);
            let own: SmallVec<[NodeIndex; 3]> = sources.iter().map(|s| numbers[*s as usize]).collect();
            match node.op() {
                Op::Leaf(leaf) => storages.hash_leaf(node, leaf, &mut bytes),
                // Their sizes follow.
                Op::Rand(_) | Op::Range(_) | Op::Expand(_) | Op::Reshape(_) | Op::Shrink(_) => {
                    (node.op().name(), &own).hash(&mut bytes);
                }
                Op::Pad(_, fill) => {
                    ("pad", fill_of(node.op()).is_none().then_some(fill), fill.dtype(), &own).hash(&mut bytes);
                }
                Op::Window(axis, _, stride, dilation) => ("window", axis, stride, dilation, &own).hash(&mut bytes),
                Op::Sort(axis, descending, _) => ("sort", axis, descending, &own).hash(&mut bytes),
                Op::ArgSort(axis, descending, _) => ("argsort", axis, descending, &own).hash(&mut bytes),
                op => {
                    let below = || -> Vec<UOp> { sources.iter().map(|s| graph.nodes()[*s as usize].clone()).collect() };
                    hash_node(op, &own, &below, &mut functions, &mut bytes);
                    // What a function of the host is called with stays as it is.
                    if matches!(op, Op::Host(..)) {
                        shapes(graph.nodes(), sources).hash(&mut bytes);
                    }
                }
            }
            let others = own.iter().any(|n| *n != CONSTANT);
            for (operand, source) in sources.iter().enumerate() {
                let Some(value) = uniform[*source as usize] else { continue };
                match role_of(node.op(), operand, value, others) {
                    Some(costly) => {
                        ("scalar", value.dtype()).hash(&mut bytes);
                        found.constants.push(ConstantAt { node: at as NodeIndex, operand, value, costly });
                    }
                    None => ("constant", value).hash(&mut bytes),
                }
                // Operands of scalar operations are of one shape.
                if !(others && matches!(node.op(), Op::Alu(_))) {
                    found.add(graph.nodes()[*source as usize].shape().iter().map(extent), &mut bytes);
                }
            }
            if let Some(value) = fill_of(node.op()) {
                found.constants.push(ConstantAt { node: at as NodeIndex, operand: 1, value, costly: false });
            }
            found.add(fields(node.op(), &shapes(graph.nodes(), sources)), &mut bytes);
        }
        for root in graph.roots() {
            (numbers[*root as usize], uniform[*root as usize]).hash(&mut bytes);
            if uniform[*root as usize].is_some() {
                graph.nodes()[*root as usize].shape().hash(&mut bytes);
            }
        }
        found.hash = bytes.digest();
        found
    }

    fn add(&mut self, fields: impl IntoIterator<Item = Field>, bytes: &mut Bytes) {
        for field in fields {
            match field {
                Field::Kept(size) => (0u8, size).hash(bytes),
                Field::Derived => 1u8.hash(bytes),
                Field::Free(role, value) => {
                    (2u8, role).hash(bytes);
                    self.sizes.push(SizeAt { role, value });
                }
            }
        }
    }

    /// The nodes of the graph, whose outline this is, with other numbers. A constant that nothing else reads stays
    /// as it is.
    ///
    /// # Errors
    /// Sizes that do not go together, or that are not known to.
    pub fn replace(&self, graph: &Graph, by: &Replacements<'_>) -> Result<Vec<UOp>, GraphError> {
        self.replace_telling(graph, by, &mut |_, _| {})
    }

    /// [`Outline::replace`], which tells of each operation that is made, and of its operands' shapes, before it is: the
    /// last one is that which fails.
    ///
    /// # Errors
    /// As [`Outline::replace`].
    pub fn replace_telling(
        &self,
        graph: &Graph,
        by: &Replacements<'_>,
        tell: &mut dyn FnMut(&Op, &[&[Size]]),
    ) -> Result<Vec<UOp>, GraphError> {
        let uniform = uniform(graph);
        let (mut constants, mut sizes) = (self.constants.iter().zip(by.constants).peekable(), by.sizes.iter());
        let mut nodes: Vec<UOp> = Vec::with_capacity(graph.len());
        let mut filled = |fields: &[Field]| -> SmallVec<[Option<Size>; 8]> {
            let one = |field: &Field| match field {
                Field::Kept(size) => Some(size.clone()),
                Field::Derived => None,
                Field::Free(_, value) => Some(sizes.next().cloned().flatten().unwrap_or_else(|| Size::from(*value))),
            };
            fields.iter().map(one).collect()
        };
        for (at, (node, sources)) in graph.iter().enumerate() {
            if uniform[at].is_some() {
                nodes.push(node.clone());
                continue;
            }
            let mut own: SmallVec<[UOp; 3]> = sources.iter().map(|s| nodes[*s as usize].clone()).collect();
            let other = (0..sources.len()).find(|i| uniform[sources[*i] as usize].is_none());
            let mut given = |operand: usize| -> Option<UOp> {
                let here = |(c, _): &(&ConstantAt, &Option<UOp>)| c.node as usize == at && c.operand == operand;
                constants.next_if(here).and_then(|(_, by)| by.clone())
            };
            for (operand, source) in sources.iter().enumerate() {
                let Some(value) = uniform[*source as usize] else { continue };
                let given = given(operand);
                let old = graph.nodes()[*source as usize].shape_arc();
                let shape: Shape = match (node.op(), other) {
                    (Op::Alu(_), Some(other)) => own[other].shape_arc().clone(),
                    _ => {
                        let fields: Fields = old.iter().map(extent).collect();
                        filled(&fields)
                            .into_iter()
                            .zip(old.iter())
                            .map(|(n, old)| n.unwrap_or_else(|| old.clone()))
                            .collect()
                    }
                };
                own[operand] = match given {
                    Some(given) => given.expand(shape)?,
                    None if shape == *old => continue,
                    None => UOp::full(value, &shape)?,
                };
            }
            let old = shapes(graph.nodes(), sources);
            let fields = fields(node.op(), &old);
            let sizes = filled(&fields);
            let new: Shapes<'_> = own.iter().map(UOp::shape).collect();
            let op = if fields.is_empty() { node.op().clone() } else { with_fields(node.op(), &old, &new, &sizes) };
            tell(&op, &new);
            let same = op == *node.op() && own.iter().zip(sources).all(|(own, s)| *own == graph.nodes()[*s as usize]);
            let fill = if fill_of(node.op()).is_some() { given(1) } else { None };
            let made = match fill {
                Some(fill) => padded(&op, &own[0], &fill)?,
                None if same => node.clone(),
                None => UOp::new(op, &own)?,
            };
            made.inherit_origin(node);
            nodes.push(made);
        }
        Ok(nodes)
    }
}
