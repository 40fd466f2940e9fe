//! Sums of squares of deviations, without what the rounding of the mean adds to them.
//!
//! For any `m` near the mean of n values `x`, `sum (x - mean)^2 = sum (x - m)^2 - (sum (x - m))^2 / n`: the corrected
//! two-pass algorithm (Chan, Golub and LeVeque 1983). A mean is rounded, and off by more after a long sum; far from
//! zero that is as much as the values differ. The second sum is one running value more, which hides behind memory, and
//! is left out where points are in a cache: the mean is then right to its last places, and so is what it adds. Reductions in
//! parts have it wherever their points are: it is with what parts that have means of their own are put together.

use crate::costs::Caches;
use crate::costs::limits::kernels;
use svod_dtype::Const;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, ParamId};
use svod_ir::kernel::{AxisId, Body, Carry, Emit, Kernel, Monoid, Param};
use svod_ir::size::{Size, Variable};

/// A running value that sums squares of deviations from a mean of the same points.
struct Squares {
    carry: usize,
    deviation: ExprId,
}

/// Corrects every such sum of a kernel whose points come from memory.
pub(crate) fn correct_variances(mut kernel: Kernel, caches: Caches) -> Kernel {
    for stage in (1..kernel.stages.len()).filter(|s| caches.stream(read_by(&kernel, *s))).collect::<Vec<usize>>() {
        for found in squares(&kernel, stage) {
            correct(&mut kernel, stage, &found);
        }
    }
    kernel
}

/// Corrects such sums of a stage that is going to be in parts, but those whose deviations it sums already.
pub(crate) fn correct_variances_of_parts(kernel: &mut Kernel, stage: usize) {
    for found in squares(kernel, stage) {
        let Body::Reduce { carries, .. } = &kernel.stages[stage].body else { continue };
        if !carries.iter().any(|c| c.op == Monoid::Sum && c.element == found.deviation) {
            correct(kernel, stage, &found);
        }
    }
}

/// Bytes of the arguments that a stage reads.
fn read_by(kernel: &Kernel, stage: usize) -> i64 {
    let roots = kernel.stages[stage].roots();
    let param = |e: ExprId| match kernel.exprs.get(e) {
        Expr::Load { from: Mem::Param(p), .. } => Some(*p),
        _ => None,
    };
    let mut params: Vec<ParamId> = kernel.exprs.reachable(&roots).into_iter().filter_map(param).collect();
    params.sort_unstable();
    params.dedup();
    let bytes = |p: ParamId| {
        let Param { shape, dtype, .. } = &kernel.params[p.index()];
        let extents = shape.iter().map(|n| n.upper_bound().unwrap_or(i64::MAX));
        extents.fold(dtype.bytes() as i64, i64::saturating_mul)
    };
    params.into_iter().map(bytes).fold(0, i64::saturating_add)
}

/// The sums of squares among the running values of a stage.
fn squares(kernel: &Kernel, stage: usize) -> Vec<Squares> {
    let Body::Reduce { carries, emit: Emit::Last, .. } = &kernel.stages[stage].body else { return Vec::new() };
    if !carries.iter().all(Carry::is_plain) {
        return Vec::new();
    }
    let found = |(carry, of): (usize, &Carry)| {
        let Expr::Alu(Alu::Mul, factors) = kernel.exprs.get(of.element) else { return None };
        let [deviation, same] = factors[..].try_into().ok()?;
        let Expr::Alu(Alu::Sub, of_two) = kernel.exprs.get(deviation) else { return None };
        let sum = of.op == Monoid::Sum && of.dtype.is_float() && deviation == same;
        let mean =
            sum && (is_mean(kernel, stage, of_two[1], of_two[0]) || is_mean(kernel, stage, of_two[0], of_two[1]));
        mean.then_some(Squares { carry, deviation })
    };
    carries.iter().enumerate().filter_map(found).collect()
}

/// Whether `e` is the mean of `x` over the points that a stage reduces.
fn is_mean(kernel: &Kernel, stage: usize, e: ExprId, x: ExprId) -> bool {
    let exprs = &kernel.exprs;
    let Some((sum, divided)) = quotient(kernel, stage, e) else { return false };
    let (reader, read) = (&kernel.stages[stage], &kernel.stages[sum.stage]);
    let (Body::Reduce { axes, .. }, Body::Reduce { axes: of, carries, emit: Emit::Last, .. }) =
        (&reader.body, &read.body)
    else {
        return false;
    };
    let extents =
        |axes: &[AxisId]| -> Vec<Size> { axes.iter().map(|a| kernel.axes[a.index()].extent.clone()).collect() };
    let own = &carries[usize::from(sum.carry)];
    if own.op != Monoid::Sum || extents(axes) != extents(of) || extents(&reader.over) != extents(&read.over) {
        return false;
    }
    let var = |a: &AxisId| kernel.axes[a.index()].var.clone();
    let pairs = read.over.iter().chain(of).zip(reader.over.iter().chain(axes));
    let renamed: Vec<(Variable, Size)> = pairs.map(|(from, to)| (var(from), Size::from(&var(to)))).collect();
    let rename = |v: &Variable| renamed.iter().find(|(from, _)| from == v).map(|(_, to)| to.clone());
    let mut pool = exprs.clone();
    divided.is_by(exprs, &points(kernel, axes)) && pool.copy(exprs, &[own.element], &rename)[0] == x
}

/// A running value of a stage.
struct Sum {
    stage: usize,
    carry: u8,
}

/// What makes a mean of a sum.
enum Divided {
    By(ExprId),
    /// Multiplied by a constant.
    Times(Const),
}

/// The sum whose quotient an expression of `reader` is, at the reader's own points.
fn quotient(kernel: &Kernel, reader: usize, mut e: ExprId) -> Option<(Sum, Divided)> {
    let exprs = &kernel.exprs;
    let (mut read, mut divided) = (None, None);
    loop {
        match exprs.get(e) {
            Expr::Alu(Alu::Div, of) if divided.is_none() => {
                divided = Some(Divided::By(of[1]));
                e = of[0];
            }
            Expr::Alu(Alu::Mul, of) if divided.is_none() => {
                let constant = |e: ExprId| if let Expr::Const(c) = exprs.get(e) { Some(*c) } else { None };
                let (factor, rest) = constant(of[1]).map(|c| (c, of[0])).or_else(|| Some((constant(of[0])?, of[1])))?;
                divided = Some(Divided::Times(factor));
                e = rest;
            }
            Expr::Load { from: Mem::Temp(t, field), index, valid: None, .. } if read.is_none() => {
                let over = kernel.stages[reader].over.iter().map(|a| Size::from(&kernel.axes[a.index()].var));
                let at = |(i, a): (&ExprId, Size)| *exprs.get(*i) == Expr::Index(a);
                let Body::Reduce { results, .. } = &kernel.stages[t.index()].body else { return None };
                if index.len() != kernel.stages[reader].over.len() || !index.iter().zip(over).all(at) {
                    return None;
                }
                read = Some(t.index());
                e = results[usize::from(*field)];
            }
            Expr::Carry(carry, _) => return Some((Sum { stage: read?, carry: *carry }, divided?)),
            _ => return None,
        }
    }
}

impl Divided {
    /// Whether that divides by so many points.
    fn is_by(&self, exprs: &ExprPool, points: &Size) -> bool {
        let near = |value: f64, right: f64| (value - right).abs() <= kernels::ROUNDED * right;
        let known = points.as_const().map(|n| n as f64);
        match self {
            Divided::Times(factor) => known.is_some_and(|n| near(factor.as_f64() * n, 1.0)),
            Divided::By(number) => {
                let mut number = exprs.get(*number);
                while let Expr::Cast(_, of) = number {
                    number = exprs.get(*of);
                }
                match number {
                    Expr::Const(value) => known.is_some_and(|n| near(value.as_f64(), n)),
                    Expr::Index(size) => size == points,
                    _ => false,
                }
            }
        }
    }
}

fn points(kernel: &Kernel, axes: &[AxisId]) -> Size {
    axes.iter().fold(Size::ONE, |n, a| n * kernel.axes[a.index()].extent.clone())
}

/// Sums the deviations as well, and lessens the sum of their squares where it is read.
fn correct(kernel: &mut Kernel, stage: usize, found: &Squares) {
    let Body::Reduce { axes, carries, results, .. } = &kernel.stages[stage].body else { return };
    let (points, mut carries, results) = (points(kernel, axes), carries.clone(), results.clone());
    let dtype = carries[found.carry].dtype;
    let sum = Carry { element: found.deviation, ..carries[found.carry].clone() };
    let place = carries.iter().position(|c| *c == sum).unwrap_or_else(|| {
        carries.push(sum);
        carries.len() - 1
    });
    if carries.len() > kernels::MAX_CORRECTED {
        return;
    }
    let old = kernel.exprs.clone();
    let pool = &mut kernel.exprs;
    let [squares, sum] = [found.carry, place].map(|n| pool.add(Expr::Carry(n as u8, dtype), dtype));
    let points = match points.as_const() {
        Some(n) => pool.constant(Const::f64(dtype, n as f64)),
        None => {
            let points = pool.index(points);
            pool.cast(dtype, points)
        }
    };
    let mean = pool.alu(Alu::Div, &[sum, points]);
    let excess = pool.alu(Alu::Mul, &[sum, mean]);
    let (zero, most) = (pool.constant(Const::zero(dtype)), pool.constant(Const::max_value(dtype)));
    let less = pool.alu(Alu::Sub, &[squares, excess]);
    let less = pool.alu(Alu::Max, &[less, zero]);
    // A sum that is infinite stays so.
    let finite = pool.alu(Alu::Lt, &[excess, most]);
    let corrected = pool.alu(Alu::Where, &[finite, less, squares]);
    let swap = |pool: &mut ExprPool, node: Expr, dtype| match node {
        Expr::Carry(n, _) if usize::from(n) == found.carry => corrected,
        node => pool.add(node, dtype),
    };
    let new = pool.copy_with(&old, &results, &|_| None, swap);
    if let Body::Reduce { carries: own, results, .. } = &mut kernel.stages[stage].body {
        (*own, *results) = (carries, new);
    }
}
