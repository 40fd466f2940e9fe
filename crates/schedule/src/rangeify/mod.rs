//! From the nodes of one kernel to the kernel: movement becomes index arithmetic.
//!
//! A node is evaluated at an index, one expression per dimension ([`Context`]). Elementwise
//! operations pass it on; movement operations change it and vanish; a reduction or staged value
//! becomes a stage of its own that the index then reads; memory becomes a load. Depth is bounded by
//! `MAX_MOVED` of `costs::limits`, so the walk recurses.

mod chains;
mod index;
mod operation;
mod order_key;
mod stages;
mod threefry;

use crate::kernel::Ranged;
use stages::Staged;

use crate::fusion::fuse::{Cut, Fate, merged};
use crate::kernel::contraction::{recognise, window, worth_a_tile};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, Mem, ParamId, TempId};
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Graph, Op};
use svod_ir::kernel::{Axis, AxisId, Body, Carry, Emit, Kernel, Monoid, Out, Param, Stage};
use svod_ir::size::{Size, Variable};

/// A graph that cannot become kernels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeifyError {
    /// An operation that has no kernel form yet.
    #[error("the operation `{0}` cannot be compiled yet")]
    Unsupported(&'static str),
    /// A size without an upper bound.
    #[error("the extent {0} has no upper bound")]
    Unbounded(Size),
}

type Evaluated<T = ExprId> = Result<T, RangeifyError>;

/// An index, an expression for each dimension.
type Index = SmallVec<[ExprId; 6]>;

/// Where a node is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Context {
    index: Index,
    /// Loads happen only where this holds.
    valid: Option<ExprId>,
}

/// The kernel that computes `root`; with `elements`, the positions of an order, and these, what is sorted by it.
///
/// # Errors
/// Also where the elements in that order cannot be told from the positions: each is a kernel of its own then.
pub(crate) fn rangeify(
    graph: &Graph,
    cut: &Cut,
    constant: &dyn Fn(NodeIndex) -> bool,
    root: NodeIndex,
    elements: Option<NodeIndex>,
) -> Evaluated<Ranged> {
    let mut build = Build {
        graph,
        cut,
        rows: Vec::new(),
        constant,
        root,
        with_elements: elements.is_some(),
        kernel: Kernel::default(),
        params: FxHashMap::default(),
        order: Vec::new(),
        memo: FxHashMap::default(),
        stages: FxHashMap::default(),
    };
    build.root()?;
    let Build { mut kernel, mut order, .. } = build;
    let first = order.len() as u32;
    let outputs: Vec<NodeIndex> = std::iter::once(root).chain(elements).collect();
    for output in &outputs {
        let value = &graph.nodes()[*output as usize];
        kernel.params.push(Param { dtype: value.dtype(), shape: value.shape().to_vec(), constant: false });
        order.push(*output);
    }
    name_variables(&mut kernel);
    for out in kernel.stages.iter_mut().flat_map(|stage| &mut stage.outs) {
        match out {
            Out::Param { param, .. } if *param == OUTPUT => *param = ParamId(first),
            Out::Param { param, .. } if *param == ELEMENTS => *param = ParamId(first + 1),
            _ => {}
        }
    }
    Ok(Ranged { kernel, params: order, outputs })
}

/// Adds the variables that indices and arguments' extents mention to those of the kernel.
fn name_variables(kernel: &mut Kernel) {
    let in_exprs = kernel.exprs.iter().filter_map(|(_, e)| if let Expr::Index(size) = e { Some(size) } else { None });
    let sizes = in_exprs.chain(kernel.params.iter().flat_map(|p| &p.shape));
    let mut named: Vec<Variable> = sizes.flat_map(Size::variables).collect();
    named.retain(|v| kernel.axes.iter().all(|a| a.var != *v));
    for v in named {
        if !kernel.vars.contains(&v) {
            kernel.vars.push(v);
        }
    }
}

struct Build<'g> {
    graph: &'g Graph,
    cut: &'g Cut,
    /// The output's axes that index fused reductions.
    rows: Vec<AxisId>,
    constant: &'g dyn Fn(NodeIndex) -> bool,
    root: NodeIndex,
    /// Whether the kernel writes what is sorted by the positions that it writes, too.
    with_elements: bool,
    kernel: Kernel,
    params: FxHashMap<NodeIndex, ParamId>,
    order: Vec<NodeIndex>,
    memo: FxHashMap<(NodeIndex, Context), ExprId>,
    /// The stages made of nodes: one, but for indices of which no stage has all.
    stages: FxHashMap<NodeIndex, Vec<Staged>>,
}

/// Replaced by the output's number once all inputs are known.
const OUTPUT: ParamId = ParamId(u32::MAX);

/// The same for the second output.
const ELEMENTS: ParamId = ParamId(u32::MAX - 1);

impl Build<'_> {
    fn root(&mut self) -> Evaluated<()> {
        let value = self.graph.nodes()[self.root as usize].clone();
        if let Op::Scan(by, axis, inclusive) = value.op() {
            return self.scan(*by, *axis, *inclusive);
        }
        if let Op::Scatter(axis, by) = value.op() {
            return self.scatter(*axis, *by);
        }
        if let Op::Sort(axis, descending, _) | Op::ArgSort(axis, descending, _) = value.op() {
            return self.sort(*axis, *descending);
        }
        let opened = &self.cut.over[self.root as usize];
        let (over, mut index) = self.open(opened)?;
        let rows = self.cut.rows[self.root as usize];
        let row = |(d, i): (usize, &ExprId)| if rows & (1 << d.min(63)) != 0 { self.own_axis(*i) } else { None };
        self.rows = index.iter().enumerate().filter_map(row).collect();
        if **opened != *value.shape() {
            let groups = merged(value.shape(), opened)
                .ok_or(RangeifyError::Unsupported("an output that does not merge its kernel's axes"))?;
            index = groups.into_iter().map(|g| self.flat(&index[g.clone()], &opened[g])).collect();
        }
        let out = Out::Param { param: OUTPUT, index: index.to_vec() };
        let context = Context { index, valid: None };
        let direct =
            matches!(value.op(), Op::Reduce(..)) && !crate::fusion::fuse::is_contraction(self.graph, self.root);
        let body = match value.op() {
            Op::Reduce(by, axes) if direct => self.reduce(self.root, *by, axes, &context)?,
            Op::Reduce(..) => Body::map(self.reduction(self.root, &context)?),
            _ => Body::map(self.operation(self.root, &context)?),
        };
        self.kernel.stages.push(Stage { name: "out".into(), over, body, outs: vec![out] });
        let last = self.kernel.stages.len() - 1;
        let tiled = || recognise(&self.kernel, last).is_some_and(|c| worth_a_tile(&self.kernel, &c));
        if direct && (window::is_convolution(&self.kernel, last) || tiled()) {
            self.keep(last);
        }
        Ok(())
    }

    /// Makes the output's stage a temporary, of which a map makes the output.
    fn keep(&mut self, stage: usize) {
        let kernel = &mut self.kernel;
        let name = format!("s{stage}");
        let reduction = &mut kernel.stages[stage];
        let outs = std::mem::replace(&mut reduction.outs, vec![Out::Temp]);
        let map = Stage {
            name: std::mem::replace(&mut reduction.name, name),
            over: reduction.over.clone(),
            body: reduction.body.clone(),
            outs,
        };
        let Body::Reduce { results, .. } = &reduction.body else { return };
        let dtype = kernel.exprs.dtype(results[0]);
        let index: Vec<ExprId> =
            map.over.iter().map(|a| kernel.exprs.index(Size::from(&kernel.axes[a.index()].var))).collect();
        let value = kernel.exprs.load(dtype, Mem::Temp(TempId(stage as u32), 0), &index);
        kernel.stages.push(Stage { body: Body::map(value), ..map });
    }

    /// New axes over a shape; dimensions of extent 1 get none.
    fn open(&mut self, shape: &[Size]) -> Evaluated<(Vec<AxisId>, Index)> {
        let mut over = Vec::new();
        let mut index = SmallVec::new();
        for extent in shape {
            if extent.as_const() == Some(1) {
                index.push(self.kernel.exprs.index(0i64));
                continue;
            }
            let (axis, at) = self.axis(extent)?;
            over.push(axis);
            index.push(at);
        }
        Ok((over, index))
    }

    fn axis(&mut self, extent: &Size) -> Evaluated<(AxisId, ExprId)> {
        if extent.upper_bound().is_none() {
            return Err(RangeifyError::Unbounded(extent.clone()));
        }
        let id = AxisId(self.kernel.axes.len() as u32);
        let var = Variable::counter(&format!("a{}", id.0), extent).expect("the name is an identifier");
        let at = self.kernel.exprs.index(&var);
        self.kernel.axes.push(Axis { var, extent: extent.clone() });
        for v in extent.variables() {
            if !self.kernel.vars.contains(&v) {
                self.kernel.vars.push(v);
            }
        }
        Ok((id, at))
    }

    /// The value of a node at an index.
    fn value(&mut self, node: NodeIndex, context: Context) -> Evaluated {
        let key = (node, context);
        if let Some(&known) = self.memo.get(&key) {
            return Ok(known);
        }
        let (node, context) = (key.0, &key.1);
        let value = &self.graph.nodes()[node as usize];
        let result = match (value.op(), self.cut.fates[node as usize]) {
            // Of no elements none is read.
            _ if value.shape().iter().any(|n| n.as_const() == Some(0)) => {
                self.kernel.exprs.constant(Const::zero(value.dtype()))
            }
            (Op::Leaf(_), _) => self.load(node, context),
            (_, Fate::Realize | Fate::Alias) if node != self.root => self.load(node, context),
            (Op::Reduce(..), _) => self.reduction(node, context)?,
            (_, Fate::Stage) => self.staged(node, context)?,
            _ => self.operation(node, context)?,
        };
        self.memo.insert(key, result);
        Ok(result)
    }

    fn load(&mut self, node: NodeIndex, context: &Context) -> ExprId {
        let value = &self.graph.nodes()[node as usize];
        let param = *self.params.entry(node).or_insert_with(|| {
            let shape = value.shape().to_vec();
            self.kernel.params.push(Param { dtype: value.dtype(), shape, constant: (self.constant)(node) });
            self.order.push(node);
            ParamId(self.order.len() as u32 - 1)
        });
        let dtype = value.dtype();
        self.kernel.exprs.load_valid(dtype, Mem::Param(param), &context.index, context.valid, Const::zero(dtype))
    }

    /// The reduction of a reduction whose kept dimensions are at an index.
    fn reduce(&mut self, node: NodeIndex, by: Monoid, axes: &[usize], context: &Context) -> Evaluated<Body> {
        let source = self.graph.sources(node)[0];
        let below = self.graph.nodes()[source as usize].shape_arc().clone();
        let mut kept = context.index.iter().copied();
        let mut index = SmallVec::new();
        let mut reduced = Vec::new();
        for (d, extent) in below.iter().enumerate() {
            if !axes.contains(&d) {
                index.extend(kept.next());
            } else if extent.as_const() == Some(1) {
                index.push(self.kernel.exprs.index(0i64));
            } else {
                let (axis, at) = self.axis(extent)?;
                reduced.push(axis);
                index.push(at);
            }
        }
        let position = index[axes[0]];
        let element = self.value(source, Context { index, valid: context.valid })?;
        let positions = matches!(by, Monoid::ArgMax | Monoid::ArgMin);
        if reduced.is_empty() {
            // Of a single element the reduction is that element, or its index.
            let only = if positions { self.kernel.exprs.cast(DType::I64, position) } else { element };
            return Ok(Body::map(only));
        }
        if positions && self.two_passes(element, &reduced, context) {
            return self.first_position(by, element, position, reduced, context);
        }
        let dtype = self.kernel.exprs.dtype(element);
        let carry = |dtype, element, op| Carry { dtype, element, op, fix: None };
        let (carries, result) = if positions {
            let order = if by == Monoid::ArgMax { Monoid::Max } else { Monoid::Min };
            let at = self.kernel.exprs.cast(DType::I64, position);
            (vec![carry(dtype, element, order), carry(DType::I64, at, by)], Expr::Carry(1, DType::I64))
        } else {
            (vec![carry(dtype, element, by)], Expr::Carry(0, dtype))
        };
        let last = &carries[carries.len() - 1];
        let of = last.dtype;
        let result = self.kernel.exprs.add(result, of);
        Ok(Body::Reduce { axes: reduced, carries, emit: Emit::Last, results: vec![result] })
    }

    /// Whether an arg reduction is better done as two reductions: where its elements are contiguous, each is as
    /// fast as memory, and the second finds the row in a cache; and where it has one result, so that it can
    /// be cut in parts.
    fn two_passes(&self, element: ExprId, reduced: &[AxisId], context: &Context) -> bool {
        let axis = crate::kernel::access::contiguous(&self.kernel, &[element], &[], 0);
        let inside = axis.is_some_and(|a| reduced.contains(&a)) || self.axes_of(context).is_empty();
        inside && self.kernel.exprs.dtype(element) != DType::Bool
    }

    /// The first index of an extremum: the extremum, and the least index at which the element is it.
    fn first_position(
        &mut self,
        by: Monoid,
        element: ExprId,
        position: ExprId,
        reduced: Vec<AxisId>,
        context: &Context,
    ) -> Evaluated<Body> {
        let over = self.axes_of(context);
        let dtype = self.kernel.exprs.dtype(element);
        let order = if by == Monoid::ArgMax { Monoid::Max } else { Monoid::Min };
        let reduction = |dtype, element, op, result| Body::Reduce {
            axes: reduced.clone(),
            carries: vec![Carry { dtype, element, op, fix: None }],
            emit: Emit::Last,
            results: vec![result],
        };
        let carry = self.kernel.exprs.add(Expr::Carry(0, dtype), dtype);
        let id = TempId(self.kernel.stages.len() as u32);
        let best = reduction(dtype, element, order, carry);
        let index: Vec<ExprId> = over
            .iter()
            .map(|a| Size::from(&self.kernel.axes[a.index()].var))
            .map(|s| self.kernel.exprs.index(s))
            .collect();
        self.kernel.stages.push(Stage { name: format!("s{}", id.0), over, body: best, outs: vec![Out::Temp] });
        let pool = &mut self.kernel.exprs;
        let best = pool.load(dtype, Mem::Temp(id, 0), &index);
        let mut found = pool.alu(Alu::Eq, &[element, best]);
        if dtype.is_float() {
            // The extremum is NaN where an element is: then the first of these.
            let nan = pool.alu(Alu::Ne, &[element, element]);
            found = pool.alu(Alu::Or, &[found, nan]);
        }
        let narrow = reduced.iter().all(|a| self.kernel.axes[a.index()].extent.upper_bound() <= Some(i32::MAX.into()));
        let counter = if narrow { DType::I32 } else { DType::I64 };
        let at = pool.cast(counter, position);
        let none = pool.constant(Monoid::Min.identity(counter));
        let at = pool.alu(Alu::Where, &[found, at, none]);
        let result = pool.add(Expr::Carry(0, counter), counter);
        let result = pool.cast(DType::I64, result);
        Ok(reduction(counter, at, Monoid::Min, result))
    }
}
