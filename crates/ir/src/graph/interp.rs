//! The reference interpreter of graphs: obvious and slow, the oracle for the compiler.
//!
//! Folds of floats by sum and product are computed in binary64 and rounded once, because targets
//! associate them as they like; compare with a tolerance.

use super::complex::without_complex;
use super::iterate::LoopBody;
use super::leaf::Leaf;
use super::op::Op;
use super::random::random_bits;
use super::sharding::Split;
use super::uop::UOp;
use super::walk::Graph;
use crate::alu::Alu;
use crate::buffer::HostBuffer;
use crate::kernel::Monoid;
use crate::size::{BoundVariable, Size, SizeError};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use svod_dtype::{Const, DType};

/// A value: elements in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Extents.
    pub shape: Vec<usize>,
    /// Elements.
    pub data: HostBuffer,
}

/// Why a graph has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterpError {
    /// A size has no value.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// An extent turned out negative.
    #[error("extent {0} is negative")]
    Negative(Size),
    /// There is no memory for a leaf, or not of its type and number of elements.
    #[error("no data of the right size and type for leaf {0}")]
    Leaf(String),
    /// Sizes that must agree do not under these bindings, or a type rule is broken.
    #[error("{0} does not fit its operands under these bindings")]
    Mismatch(&'static str),
    /// A function of the host, which only the runtime can call.
    #[error("host function {0} cannot be interpreted")]
    Host(String),
}

/// The values of the graph's roots, of complex ones the pairs. `leaf` gives the memory of each leaf. Variables have the
/// values in `bindings`, else those of the graph's own binds.
pub fn evaluate(
    graph: &Graph,
    leaf: &dyn Fn(&Leaf) -> Option<HostBuffer>,
    bindings: &[BoundVariable],
) -> Result<Vec<Value>, InterpError> {
    if let Ok(Some(real)) = without_complex(graph) {
        let roots: Vec<UOp> = graph.roots().iter().map(|r| real[*r as usize].clone()).collect();
        return evaluate(&Graph::new(&roots), leaf, bindings);
    }
    let mut bindings = bindings.to_vec();
    for node in graph.nodes() {
        if let Op::Bind(bound) = node.op()
            && !bindings.iter().any(|b| b.variable() == bound.variable())
        {
            bindings.push(bound.clone());
        }
    }
    let context = Context { leaf, bindings };
    let mut loops: FxHashMap<([u8; 32], Vec<u32>), Vec<HostBuffer>> = FxHashMap::default();
    let mut values: Vec<Value> = Vec::with_capacity(graph.len());
    for (node, sources) in graph.iter() {
        let below = sources;
        let sources: Vec<&Value> = sources.iter().map(|&s| &values[s as usize]).collect();
        let shape = context.extents(node.shape())?;
        let data = match node.op() {
            // The results of one loop are computed together.
            Op::Loop(body, output) => match loops.entry((*body.structure(), below.to_vec())) {
                Entry::Occupied(known) => known.get()[*output].clone(),
                Entry::Vacant(new) => new.insert(context.repeat(body, &sources)?)[*output].clone(),
            },
            op => context.node(op, node.dtype(), &shape, &sources)?,
        };
        if data.len() != shape.iter().product::<usize>() {
            return Err(InterpError::Mismatch(node.op().name()));
        }
        values.push(Value { shape, data });
    }
    Ok(graph.roots().iter().map(|&r| values[r as usize].clone()).collect())
}

struct Context<'a> {
    leaf: &'a dyn Fn(&Leaf) -> Option<HostBuffer>,
    bindings: Vec<BoundVariable>,
}

impl Context<'_> {
    fn extents(&self, shape: &[Size]) -> Result<Vec<usize>, InterpError> {
        shape.iter().map(|s| self.size(s)?.try_into().map_err(|_| InterpError::Negative(s.clone()))).collect()
    }

    /// The first position of each part.
    fn starts(&self, split: &Split) -> Result<Vec<usize>, InterpError> {
        self.extents(&(0..split.extents.len()).map(|i| split.range(i).start).collect::<Vec<_>>())
    }

    fn size(&self, size: &Size) -> Result<i64, InterpError> {
        Ok(size.eval_bound(&self.bindings)?)
    }

    /// The carried values of a loop after its last iteration.
    fn repeat(&self, body: &LoopBody, sources: &[&Value]) -> Result<Vec<HostBuffer>, InterpError> {
        let (graph, params) = (Graph::new(body.results()), body.params());
        let mut data: Vec<HostBuffer> = sources.iter().map(|s| s.data.clone()).collect();
        let carried = body.carried();
        let mut rows: Vec<Vec<u8>> = vec![Vec::new(); body.results().len() - carried];
        for value in body.var().min()..=body.var().max() {
            let mut bindings = self.bindings.clone();
            bindings.retain(|b| b.variable().name() != body.var().name());
            bindings.push(body.var().bind(value)?);
            let leaf = |leaf: &Leaf| params.iter().position(|p| p == leaf).map(|at| data[at].clone());
            let next = evaluate(&graph, &leaf, &bindings)?;
            for (at, value) in next.into_iter().enumerate() {
                match at.checked_sub(carried) {
                    None => data[at] = value.data,
                    Some(row) => rows[row].extend(value.data.bytes()),
                }
            }
        }
        data.truncate(carried);
        for (row, bytes) in body.results()[carried..].iter().zip(rows) {
            data.push(HostBuffer::from_bytes(row.dtype(), bytes).ok_or(InterpError::Mismatch("loop"))?);
        }
        Ok(data)
    }

    fn node(&self, op: &Op, dtype: DType, shape: &[usize], s: &[&Value]) -> Result<HostBuffer, InterpError> {
        let mismatch = || InterpError::Mismatch(op.name());
        // Element `i` of the result from its coordinates.
        let build = |f: &mut dyn FnMut(&[usize]) -> Option<Const>| fill(dtype, shape, f).ok_or_else(mismatch);
        match op {
            Op::Const(value) => build(&mut |_| Some(*value)),
            Op::Leaf(leaf) => {
                let count = shape.iter().product::<usize>();
                (self.leaf)(leaf)
                    .filter(|b| b.dtype() == dtype && b.len() == count)
                    .ok_or_else(|| InterpError::Leaf(leaf.to_string()))
            }
            Op::Size(size) => {
                let value = self.size(size)?;
                build(&mut |_| Some(Const::i64(dtype, value)))
            }
            Op::Bind(bound) => {
                let value = self.size(&bound.variable().into())?;
                build(&mut |_| Some(Const::i64(dtype, value)))
            }
            Op::Range(_) => build(&mut |at| Some(Const::i64(dtype, at[0] as i64))),
            Op::Rand(_) => {
                let (key, offset) = (s[0].data.get(0).bits(), s[1].data.get(0).bits());
                let bits = |i: usize| random_bits(key, offset.wrapping_add(i as u64));
                build(&mut |at| Some(Const::from_bits(dtype, bits(flat(shape, at)).into())))
            }
            Op::Alu(alu) => build(&mut |at| {
                let operands: Vec<Const> = s.iter().map(|v| v.at(at)).collect::<Option<_>>()?;
                alu.eval(&operands)
            }),
            Op::Cast(to) => build(&mut |at| Some(s[0].at(at)?.cast(*to))),
            Op::Bitcast(to) => build(&mut |at| s[0].at(at)?.bitcast(*to)),
            Op::Reshape(_) => build(&mut |at| s[0].element(flat(shape, at))),
            Op::Permute(axes) => build(&mut |at| {
                let mut from = vec![0; at.len()];
                axes.iter().zip(at).for_each(|(&a, &i)| from[a] = i);
                s[0].at(&from)
            }),
            Op::Expand(_) => build(&mut |at| {
                let aligned = &at[shape.len() - s[0].shape.len()..];
                let from: Vec<usize> =
                    aligned.iter().zip(&s[0].shape).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
                s[0].at(&from)
            }),
            Op::Pad(by, value) => {
                let before = self.extents(&by.iter().map(|(a, _)| a.clone()).collect::<Vec<_>>())?;
                build(&mut |at| {
                    let from: Option<Vec<usize>> = at.iter().zip(&before).map(|(i, b)| i.checked_sub(*b)).collect();
                    Some(from.and_then(|from| s[0].at(&from)).unwrap_or(*value))
                })
            }
            Op::Shrink(to) => {
                let first = self.extents(&to.iter().map(|(a, _)| a.clone()).collect::<Vec<_>>())?;
                build(&mut |at| s[0].at(&at.iter().zip(&first).map(|(i, f)| i + f).collect::<Vec<_>>()))
            }
            Op::Flip(axes) => build(&mut |at| {
                let from = |a| if axes.contains(&a) { shape[a] - 1 - at[a] } else { at[a] };
                s[0].at(&(0..at.len()).map(from).collect::<Vec<_>>())
            }),
            Op::Window(axis, _, stride, dilation) => build(&mut |at| {
                let (tap, at) = at.split_last()?;
                s[0].at(&with(at, *axis, at[*axis] * stride + tap * dilation))
            }),
            Op::Stack(axis, _) => build(&mut |at| s[at[*axis]].at(&[&at[..*axis], &at[axis + 1..]].concat())),
            Op::Concat(axis, _) => build(&mut |at| {
                let mut i = at[*axis];
                for part in s {
                    let extent = part.shape[*axis];
                    if i < extent {
                        return part.at(&with(at, *axis, i));
                    }
                    i -= extent;
                }
                None
            }),
            Op::Reduce(by, axes) => {
                let inner: Vec<usize> = axes.iter().map(|&a| s[0].shape[a]).collect();
                build(&mut |at| {
                    let mut elements = Vec::new();
                    each(&inner, |reduced| {
                        let (mut outer, mut reduced) = (at.iter(), reduced.iter());
                        let from = (0..s[0].shape.len()).map(|a| {
                            let part = if axes.contains(&a) { &mut reduced } else { &mut outer };
                            part.next().copied()
                        });
                        elements.push(s[0].at(&from.collect::<Option<Vec<_>>>()?)?);
                        Some(())
                    })?;
                    fold(*by, dtype, &elements)
                })
            }
            Op::Scan(by, axis, inclusive) => build(&mut |at| {
                let count = at[*axis] + usize::from(*inclusive);
                let elements: Option<Vec<Const>> = (0..count).map(|i| s[0].at(&with(at, *axis, i))).collect();
                fold(*by, dtype, &elements?)
            }),
            Op::Take(axis) => build(&mut |at| {
                let rank = s[1].shape.len();
                let index = s[1].at(&at[*axis..axis + rank])?;
                let i = inside(index, s[0].shape[*axis]);
                let from = |i: usize| [&at[..*axis], &[i], &at[axis + rank..]].concat();
                i.map_or(Some(Const::zero(dtype)), |i| s[0].at(&from(i)))
            }),
            Op::Gather(axis) => build(&mut |at| {
                let i = inside(s[1].at(at)?, s[0].shape[*axis]);
                i.map_or(Some(Const::zero(dtype)), |i| s[0].at(&with(at, *axis, i)))
            }),
            Op::Scatter(axis, by) => {
                let mut out = s[0].data.clone();
                each(&s[1].shape, |at| {
                    let value = s[2].at(at)?;
                    if let Some(i) = inside(s[1].at(at)?, shape[*axis]) {
                        let to = flat(shape, &with(at, *axis, i));
                        let combined = match by {
                            Some(by) => by.alu()?.eval(&[out.get(to), value])?,
                            None => value,
                        };
                        out.set(to, combined);
                    }
                    Some(())
                })
                .ok_or_else(mismatch)?;
                Ok(out)
            }
            Op::Sort(axis, descending, _) | Op::ArgSort(axis, descending, _) => {
                // Rows in order, by the coordinates of their first element: each is sorted once.
                let mut rows: FxHashMap<Vec<usize>, Vec<(usize, Const)>> = FxHashMap::default();
                build(&mut |at| {
                    let row = rows.entry(with(at, *axis, 0)).or_insert_with_key(|first| {
                        let element = |i| Some((i, s[0].at(&with(first, *axis, i))?));
                        let mut row: Vec<_> = (0..s[0].shape[*axis]).filter_map(element).collect();
                        row.sort_by(|a, b| {
                            let (a, b) = if *descending { (b.1, a.1) } else { (a.1, b.1) };
                            before(b, a).cmp(&before(a, b))
                        });
                        row
                    });
                    let (position, value) = *row.get(at[*axis])?;
                    Some(if matches!(op, Op::Sort(..)) { value } else { Const::i64(dtype, position as i64) })
                })
            }
            Op::Loop(..) | Op::AsReal | Op::AsComplex => Err(mismatch()),
            Op::Host(function, ..) => Err(InterpError::Host(function.to_string())),
            Op::Detach | Op::Watch(_) | Op::Derived(..) => Ok(s[0].data.clone()),
            Op::After | Op::ContiguousBackward | Op::Let(_) | Op::NonEmpty(..) => Ok(s[0].data.clone()),
            Op::Contiguous | Op::Copy(_) | Op::Shard(_) => Ok(s[0].data.clone()),
            Op::Multi(of) => match of.split() {
                None => Ok(s[0].data.clone()),
                Some(split) => {
                    let starts = self.starts(split)?;
                    build(&mut |at| {
                        let i = starts.iter().rposition(|start| *start <= at[split.axis])?;
                        s[i].at(&with(at, split.axis, at[split.axis] - starts[i]))
                    })
                }
            },
            Op::Part(of, i) => match of.split() {
                None => Ok(s[0].data.clone()),
                Some(split) => {
                    let start = self.starts(split)?[*i];
                    build(&mut |at| s[0].at(&with(at, split.axis, at[split.axis] + start)))
                }
            },
        }
    }
}

impl Value {
    /// The element at these coordinates; `None` outside.
    pub fn at(&self, at: &[usize]) -> Option<Const> {
        let inside = at.len() == self.shape.len() && at.iter().zip(&self.shape).all(|(i, n)| i < n);
        inside.then(|| self.data.get(flat(&self.shape, at)))
    }

    fn element(&self, i: usize) -> Option<Const> {
        (i < self.data.len()).then(|| self.data.get(i))
    }
}

fn flat(shape: &[usize], at: &[usize]) -> usize {
    shape.iter().zip(at).fold(0, |sum, (n, i)| sum * n + i)
}

fn with(at: &[usize], axis: usize, i: usize) -> Vec<usize> {
    let mut at = at.to_vec();
    at[axis] = i;
    at
}

fn inside(index: Const, extent: usize) -> Option<usize> {
    usize::try_from(index.as_i128()).ok().filter(|&i| i < extent)
}

/// Visits all coordinates in row-major order; stops at `None`.
fn each(shape: &[usize], mut visit: impl FnMut(&[usize]) -> Option<()>) -> Option<()> {
    let mut at = vec![0; shape.len()];
    for _ in 0..shape.iter().product::<usize>() {
        visit(&at)?;
        for (i, n) in at.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < *n {
                break;
            }
            *i = 0;
        }
    }
    Some(())
}

fn fill(dtype: DType, shape: &[usize], f: &mut dyn FnMut(&[usize]) -> Option<Const>) -> Option<HostBuffer> {
    let mut out = HostBuffer::zeros(dtype, shape.iter().product());
    let mut i = 0;
    each(shape, |at| {
        out.set(i, f(at)?);
        i += 1;
        Some(())
    })?;
    Some(out)
}

/// All elements combined, in order, from the identity.
fn fold(by: Monoid, dtype: DType, elements: &[Const]) -> Option<Const> {
    if let Monoid::ArgMax | Monoid::ArgMin = by {
        let mut best = 0;
        for (i, e) in elements.iter().enumerate() {
            let (a, b) = if by == Monoid::ArgMax { (elements[best], *e) } else { (*e, elements[best]) };
            let moves = Alu::Lt.eval(&[a, b])?.as_bool() || (e.is_nan() && !elements[best].is_nan());
            if moves {
                best = i;
            }
        }
        return Some(Const::i64(dtype, best as i64));
    }
    let wide = dtype.is_float() && matches!(by, Monoid::Sum | Monoid::Prod);
    let inner = if wide { DType::F64 } else { dtype };
    let op = by.alu()?;
    let total = elements.iter().try_fold(by.identity(inner), |sum, e| op.eval(&[sum, e.cast(inner)]))?;
    Some(total.cast(dtype))
}

/// Whether a value is sorted in front of another; NaN is the greatest.
fn before(a: Const, b: Const) -> bool {
    (!a.is_nan() && b.is_nan()) || Alu::Lt.eval(&[a, b]).is_some_and(Const::as_bool)
}
