//! Recognising contractions, and copying their operands into the layout that the tile wants.
//!
//! A contraction is a stage that sums products of two operands, with at least one axis that only
//! the first operand has (rows, m), one that only the second has (columns, n) and one that is
//! summed over and that both have (depth, k): a matrix product, plain, batched or transposed. The
//! operands may be any expressions. See Goto and van de Geijn (2008) for why they are packed.
//! A convolution becomes one by [`window`], the gradient of one's kernel by [`columns`], one of pairs by [`pairs`]; [`turn`] has the operands change places; [`order`] and [`widen`] are of two that are chained.

pub(crate) mod columns;
pub(crate) mod order;
pub(crate) mod pairs;
pub(crate) mod turn;
pub(crate) mod widen;
pub(crate) mod window;

use super::access::extent;
use crate::costs::limits::{products, registers};
use crate::language::Layout;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, ParamId};
use svod_ir::kernel::{Axis, AxisId, Body, Emit, Kernel, Monoid, Out, Param, Stage};
use svod_ir::size::{Size, Variable};

/// The roles of a contraction stage's operands and axes. Axes with no role here are outer loops.
#[derive(Clone, Debug)]
pub(crate) struct Contraction {
    /// The operand with the rows.
    pub a: ExprId,
    /// The operand with the columns, which come after the rows.
    pub b: ExprId,
    /// The innermost axis that only `a` has, of those that fill a tile if any does.
    pub m: AxisId,
    /// The innermost axis that only `b` has, likewise.
    pub n: AxisId,
    /// The innermost summed axis that both have.
    pub k: AxisId,
    /// All summed axes that both have, outermost first.
    pub depth: Vec<AxisId>,
    /// Type of the sum.
    pub acc: DType,
    /// The type of the halves, where the operands are words of pairs.
    pub pairs: Option<DType>,
    a_axes: Vec<AxisId>,
    b_axes: Vec<AxisId>,
}

/// Whether one of a kernel's stages is a contraction.
pub fn has_product(kernel: &Kernel) -> bool {
    (0..kernel.stages.len()).any(|stage| recognise(kernel, stage).or_else(|| of_bytes(kernel, stage)).is_some())
}

/// The contraction that a stage is, if it is one.
pub(crate) fn recognise(kernel: &Kernel, stage: usize) -> Option<Contraction> {
    let ([a, b], pairs) = match pairs::words(kernel, stage) {
        Some(words) => (words.operands, Some(words.of)),
        None => (factors(kernel, stage)?, None),
    };
    contraction(kernel, stage, [a, b], pairs)
}

/// The contraction that a stage is, if it is one of int8 or uint8 with sums of int32, which tensor cores have and tiles do not.
pub(crate) fn of_bytes(kernel: &Kernel, stage: usize) -> Option<Contraction> {
    let operands = multiplied(kernel, summed_in(kernel, stage, |carried| carried == DType::I32)?)?;
    let narrow = operands.iter().all(|e| match kernel.exprs.get(*e) {
        Expr::Cast(_, from) => matches!(kernel.exprs.dtype(*from), DType::I8 | DType::U8),
        _ => false,
    });
    contraction(kernel, stage, operands, None).filter(|_| narrow)
}

/// The contraction of two operands that a stage is, if each has axes of its own.
fn contraction(
    kernel: &Kernel,
    stage: usize,
    [mut a, mut b]: [ExprId; 2],
    pairs: Option<DType>,
) -> Option<Contraction> {
    let stage = &kernel.stages[stage];
    let Body::Reduce { axes, carries, .. } = &stage.body else { return None };
    let (mut a_axes, mut b_axes) = (axes_of(kernel, a), axes_of(kernel, b));
    // Taps of a kernel's gradient, or a few heads, fill no tile: the channels beside them may.
    let wide = |x: &AxisId| kernel.axes[x.index()].extent.upper_bound() >= Some(registers::FEWEST_LANES);
    let innermost = |of: &[AxisId], other: &[AxisId]| {
        let own = |x: &AxisId| of.contains(x) && !other.contains(x);
        stage.over.iter().rposition(|x| own(x) && wide(x)).or_else(|| stage.over.iter().rposition(own))
    };
    let (mut m, mut n) = (innermost(&a_axes, &b_axes)?, innermost(&b_axes, &a_axes)?);
    if m > n {
        std::mem::swap(&mut a, &mut b);
        std::mem::swap(&mut a_axes, &mut b_axes);
        std::mem::swap(&mut m, &mut n);
    }
    let (m, n) = (stage.over[m], stage.over[n]);
    let depth: Vec<AxisId> = axes.iter().copied().filter(|x| a_axes.contains(x) && b_axes.contains(x)).collect();
    let k = *depth.last()?;
    Some(Contraction { a, b, m, n, k, depth, acc: carries[0].dtype, pairs, a_axes, b_axes })
}

/// Whether contractions are one, or several of the same first operand with the same rows, columns and depth.
pub(crate) fn are_siblings(kernel: &Kernel, found: &[(usize, Contraction)]) -> bool {
    found.windows(2).all(|pair| {
        let [(s, a), (t, b)] = pair else { return false };
        let over = kernel.stages[*s].over == kernel.stages[*t].over;
        over && (a.a, a.m, a.n, &a.depth) == (b.a, b.m, b.n, &b.depth) && a.acc == b.acc
    })
}

/// The two operands of a stage that sums their products, and does nothing else.
fn factors(kernel: &Kernel, stage: usize) -> Option<[ExprId; 2]> {
    multiplied(kernel, summed(kernel, stage)?)
}

fn multiplied(kernel: &Kernel, product: ExprId) -> Option<[ExprId; 2]> {
    match kernel.exprs.get(product) {
        Expr::Alu(Alu::Mul, factors) => Some([factors[0], factors[1]]),
        _ => None,
    }
}

/// What a stage sums, if it sums floats and does nothing else.
fn summed(kernel: &Kernel, stage: usize) -> Option<ExprId> {
    summed_in(kernel, stage, DType::is_float)
}

/// As [`summed`], in such types.
fn summed_in(kernel: &Kernel, stage: usize, carried: impl Fn(DType) -> bool) -> Option<ExprId> {
    let Body::Reduce { carries, emit: Emit::Last, results, .. } = &kernel.stages[stage].body else { return None };
    let [carry] = &carries[..] else { return None };
    let plain = matches!(results[..], [r] if *kernel.exprs.get(r) == Expr::Carry(0, carry.dtype));
    let sums = carry.op == Monoid::Sum && carry.fix.is_none() && plain && carried(carry.dtype);
    sums.then_some(carry.element)
}

impl Contraction {
    /// The axes of an operand's copy: outer ones first, then rows and depth of operand 0, depth
    /// and columns of operand 1. Operand 0 in panels has its rows last.
    pub fn operand_axes(&self, kernel: &Kernel, operand: u8, layout: Layout) -> Vec<AxisId> {
        let depth = self.depth.iter().copied();
        let (axes, last): (_, Vec<AxisId>) = match (operand, layout) {
            (0, Layout::Panels(_)) => (&self.a_axes, depth.chain([self.m]).collect()),
            (0, _) => (&self.a_axes, [self.m].into_iter().chain(depth).collect()),
            _ => (&self.b_axes, depth.chain([self.n]).collect()),
        };
        let order = (0..kernel.axes.len() as u32).map(AxisId);
        order.filter(|a| axes.contains(a) && !last.contains(a)).chain(last.iter().copied()).collect()
    }
}

/// A new axis. Several may have the same name: of the second, it has a number.
pub(crate) fn add_axis(kernel: &mut Kernel, name: &str, extent: &Size) -> Result<AxisId, String> {
    let numbered = (1..).map(|n| format!("{name}_{n}"));
    let name = std::iter::once(name.to_owned()).chain(numbered).find(|n| !kernel.has_counter(n)).unwrap_or_default();
    extent.upper_bound().ok_or("an axis without an upper bound")?;
    let var = Variable::counter(&name, extent).map_err(|e| e.to_string())?;
    kernel.axes.push(Axis { var, extent: extent.clone() });
    Ok(AxisId(kernel.axes.len() as u32 - 1))
}

/// The axes that an expression names, loads' indices included.
pub(crate) fn axes_of(kernel: &Kernel, root: ExprId) -> Vec<AxisId> {
    let names = kernel.exprs.variables_used(&[root]);
    let all = (0..kernel.axes.len() as u32).map(AxisId);
    all.filter(|a| names.contains(&kernel.axes[a.index()].var)).collect()
}

/// Whether a stage gives a value at each step along an axis that it reduces.
pub(crate) fn scans(kernel: &Kernel, stage: usize, axis: AxisId) -> bool {
    matches!(&kernel.stages[stage].body, Body::Reduce { axes, emit, .. } if *emit != Emit::Last && axes.contains(&axis))
}

/// The axes of a scatter: those at whose points different elements are written, because each is an
/// index of the destination by itself; and the others, along which points may meet.
pub(crate) fn scattered_axes(kernel: &Kernel, stage: usize) -> (Vec<AxisId>, Vec<AxisId>) {
    let stage = &kernel.stages[stage];
    let index = stage.outs.iter().flat_map(|out| match out {
        Out::Param { index, .. } => index.as_slice(),
        Out::Temp => &[],
    });
    let index: Vec<&Expr> = index.map(|i| kernel.exprs.get(*i)).collect();
    let apart = |a: &AxisId| index.contains(&&Expr::Index(Size::from(&kernel.axes[a.index()].var)));
    stage.over.iter().copied().partition(apart)
}

/// The axes of a stage, kept ones first.
pub(crate) fn axes_of_stage(stage: &Stage) -> Vec<AxisId> {
    let mut all = stage.over.clone();
    all.extend(stage.body.inner().iter().filter(|a| !stage.over.contains(a)));
    all
}

/// The axes of a kernel's stage, kept ones first.
pub(crate) fn stage_axes(kernel: &Kernel, stage: usize) -> Vec<AxisId> {
    axes_of_stage(&kernel.stages[stage])
}

/// Gives operand 0 (`a`) or 1 (`b`) of a contraction stage another value.
pub(crate) fn replace_operand(kernel: &mut Kernel, stage: usize, operand: u8, value: ExprId) {
    let Some(found) = recognise(kernel, stage) else { return };
    let pair = if operand == 0 { [value, found.b] } else { [found.a, value] };
    let element = match found.pairs {
        Some(of) => pairs::products(&mut kernel.exprs, pair, of),
        None => kernel.exprs.alu(Alu::Mul, &pair),
    };
    if let Body::Reduce { carries, .. } = &mut kernel.stages[stage].body {
        carries[0].element = element;
    }
}

/// The index of element (`over`) in a copy with this layout.
pub(crate) fn packed_index(kernel: &mut Kernel, over: &[AxisId], layout: Layout) -> Vec<ExprId> {
    let points: Vec<Size> = over.iter().map(|a| Size::from(&kernel.axes[a.index()].var)).collect();
    layout_index(&points, layout).into_iter().map(|size| kernel.exprs.index(size)).collect()
}

/// Where a point of a copy's axes lies in its storage.
pub(crate) fn layout_index(points: &[Size], layout: Layout) -> Vec<Size> {
    match (layout, points) {
        (Layout::Panels(width), [others @ .., last]) => {
            let width = Size::from(i64::from(width));
            let panel = [last.floordiv(&width)];
            panel.iter().chain(others).cloned().chain([last.modulo(&width)]).collect()
        }
        _ => points.to_vec(),
    }
}

/// The storage's shape of a copy whose axes have these extents.
pub(crate) fn layout_shape(extents: &[Size], layout: Layout) -> Vec<Size> {
    match (layout, extents) {
        (Layout::Panels(width), [others @ .., last]) => {
            let width = Size::from(i64::from(width));
            let panels = [last.ceil_div(&width)];
            panels.iter().chain(others).cloned().chain([width]).collect()
        }
        (Layout::Plane { slack, .. }, [others @ .., last]) => {
            others.iter().cloned().chain([last + i64::from(slack)]).collect()
        }
        _ => extents.to_vec(),
    }
}

/// The kernel that makes a prepared copy of `value` over the axes `over`: a map with one output,
/// its last parameter, after the first `own` of the kernel's; its surplus columns are 0.
pub(crate) fn pack_kernel(
    kernel: &Kernel,
    own: usize,
    value: ExprId,
    over: &[AxisId],
    layout: Layout,
) -> Result<Kernel, &'static str> {
    for id in kernel.exprs.reachable(&[value]) {
        match kernel.exprs.get(id) {
            Expr::Load { from: Mem::Param(p), .. } if kernel.params[p.index()].constant => {}
            Expr::Load { .. } => return Err("only operands that read constant leaves can be prepared"),
            _ => {}
        }
    }
    let extents: Vec<Size> = over.iter().map(|a| kernel.axes[a.index()].extent.clone()).collect();
    let own_axis = |v: &Variable| over.iter().any(|a| kernel.axes[a.index()].var == *v);
    let known = extents.iter().all(|n| n.as_const().is_some());
    if !known || !kernel.exprs.variables_used(&[value]).iter().all(own_axis) {
        return Err(
            "what is prepared is the same at every run; a variable changes the size or position of this operand",
        );
    }
    let shape = layout_shape(&extents, layout);
    let name = format!("{}_pack", kernel.name);
    let params = kernel.params[..own].to_vec();
    let mut pack = Kernel { name, params, vars: kernel.vars.clone(), ..Kernel::default() };
    let mut stored: Vec<Size> = Vec::new();
    for (i, extent) in shape.iter().enumerate() {
        extent.upper_bound().ok_or("an operand without an upper bound")?;
        let var = Variable::counter(&format!("a{i}"), extent).map_err(|_| "no name of an axis")?;
        stored.push(Size::from(&var));
        pack.axes.push(Axis { var, extent: extent.clone() });
    }
    let mut points: Vec<Size> = stored.clone();
    let mut valid = None;
    if let (Layout::Panels(width), [panel, others @ .., column], Some(extent)) = (layout, &stored[..], extents.last()) {
        let last = panel * i64::from(width) + column;
        points = others.iter().chain([&last]).cloned().collect();
        let (at, end) = (pack.exprs.index(last), pack.exprs.index(extent.clone()));
        if extent.divisible_by(i64::from(width)) != Some(true) {
            valid = Some(pack.exprs.alu(Alu::Lt, &[at, end]));
        }
    }
    let bind = |v: &Variable| over.iter().position(|a| kernel.axes[a.index()].var == *v).map(|i| points[i].clone());
    let rewrite = |to: &mut ExprPool, node: Expr, dtype: DType| match node {
        Expr::Load { from, ref index, valid: own, other } => {
            let valid = match (own, valid) {
                (Some(a), Some(b)) => Some(to.alu(Alu::And, &[a, b])),
                (a, b) => a.or(b),
            };
            to.load_valid(dtype, from, index, valid, other)
        }
        node => to.add(node, dtype),
    };
    let dtype = kernel.exprs.dtype(value);
    let mut value = pack.exprs.copy_with(&kernel.exprs, &[value], &bind, rewrite)[0];
    if let Some(valid) = valid {
        let zero = pack.exprs.constant(Const::zero(dtype));
        value = pack.exprs.alu(Alu::Where, &[valid, value, zero]);
    }
    let packed = ParamId(pack.params.len() as u32);
    pack.params.push(Param { dtype, shape, constant: false });
    let index = stored.into_iter().map(|s| pack.exprs.index(s)).collect();
    pack.stages.push(Stage {
        name: "out".into(),
        over: (0..pack.axes.len() as u32).map(AxisId).collect(),
        body: Body::map(value),
        outs: vec![Out::Param { param: packed, index }],
    });
    Ok(pack)
}

/// Whether a contraction is better computed in tiles of registers.
pub(crate) fn worth_a_tile(kernel: &Kernel, c: &Contraction) -> bool {
    let depth = c.depth.iter().fold(1, |n: i64, a| n.saturating_mul(extent(kernel, *a)));
    let (m, n) = (extent(kernel, c.m), extent(kernel, c.n));
    if m >= products::TALL && depth <= products::SHALLOW {
        n >= products::NARROW && depth >= 2
    } else {
        m >= 2 && n >= registers::FEWEST_LANES && depth >= 4
    }
}
