//! Convolutions as contractions: one padded plane in place of a window for each point.
//!
//! A convolution reads its operand at `stride * o + dilation * k`, where the operand alone has the
//! axis `o` and the *tap* `k` is summed over. With
//!
//! ```text
//! row(o, k) = o + dilation * k // stride        phase(k) = dilation * k % stride
//! stride * o + dilation * k = stride * row + phase
//! ```
//!
//! a copy of the operand by (phase, row), the *plane*, is read at places that move with `o` one by
//! one, whatever stride and dilation are. What lies outside the operand is 0 in the plane, as the
//! masks of the operand's expression say. The last two such axes then become one *flat* axis, row
//! after row of the plane's width: a step of `o` in the outer one is a step of that width, and a step
//! of a tap a constant distance. So the plane's flat axis is the column axis of a plain contraction
//! whose depth is channels and taps. The points that lie between rows (fewer than there are taps) are
//! computed and read by nobody.

use super::{Contraction, add_axis, axes_of, factors, recognise};
use crate::costs::limits::products;
use svod_dtype::Const;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, TempId};
use svod_ir::kernel::{AxisId, Body, Kernel, Out, Stage};
use svod_ir::size::{Size, Variable, gcd};

/// An axis that the operand alone has, and the tap that slides over it.
#[derive(Clone, Debug)]
pub(crate) struct Slide {
    pub kept: AxisId,
    pub tap: Option<AxisId>,
    pub stride: i64,
    pub dilation: i64,
    /// How far the rows of the plane lie from `kept` at most; the least is 0.
    reach: i64,
    /// Elements of the operand from one step of `kept` to the next.
    step: i64,
    /// `dilation * tap // stride` at least: below 0 for a tap that slides backwards.
    low: i64,
    /// `dilation * tap` of the last tap.
    last: i64,
}

/// The windows of a contraction stage.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    /// The operand that they slide over.
    pub value: ExprId,
    /// The other operand.
    weights: ExprId,
    /// In the order of the stage's axes.
    pub slides: Vec<Slide>,
}

/// The windows of a stage that is a convolution: a contraction of which one operand is read at sums
/// of kept axes and summed ones, or at more than one kept axis with a stride. Where windows do not
/// overlap, strides and taps may be dimensions of their own, which lie between the kept ones.
pub(crate) fn windows(kernel: &Kernel, stage: usize) -> Option<Windows> {
    let [a, b] = factors(kernel, stage)?;
    [(b, a), (a, b)].into_iter().find_map(|(value, weights)| windows_over(kernel, stage, value, weights))
}

/// Whether a stage is a convolution whose flat axis is mostly points of its own: so it is not where
/// the taps are the larger image, as in the gradient of a kernel, which is a product of channels for each of its points.
pub(crate) fn is_convolution(kernel: &Kernel, stage: usize) -> bool {
    let Some(found) = windows(kernel, stage) else { return false };
    let extent = |s: &Slide| kernel.axes[s.kept.index()].extent.upper_bound();
    let tapped: Vec<(&Slide, AxisId)> = found.slides.iter().filter_map(|s| Some((s, s.tap?))).collect();
    let by_channels = |c: Contraction| tapped.iter().all(|(s, _)| s.kept != c.m && s.kept != c.n);
    let few = |(s, tap): &(&Slide, AxisId)| extent(s) < kernel.axes[tap.index()].extent.upper_bound();
    if !tapped.is_empty() && tapped.iter().all(few) && recognise(kernel, stage).is_some_and(by_channels) {
        return false;
    }
    match &found.slides[..] {
        [.., rows, columns] => {
            let (Some(rows), Some(own)) = (extent(rows), extent(columns)) else { return true };
            let points = (rows - 1).saturating_mul(own + columns.reach) + own;
            points <= rows.saturating_mul(own).saturating_mul(products::MAX_WASTE)
        }
        _ => true,
    }
}

fn windows_over(kernel: &Kernel, stage: usize, value: ExprId, weights: ExprId) -> Option<Windows> {
    let Stage { over, body: Body::Reduce { axes: summed, .. }, .. } = &kernel.stages[stage] else { return None };
    let (own, others) = (axes_of(kernel, value), axes_of(kernel, weights));
    let alone = |a: &AxisId| own.contains(a) && !others.contains(a);
    let sizes = sizes(kernel, value);
    let rows = over.iter().rposition(|a| others.contains(a) && !own.contains(a));
    let slides: Vec<(usize, Option<Slide>)> = (over.iter().enumerate())
        .filter(|(_, a)| alone(a))
        .map(|(at, a)| (at, slide(kernel, &sizes, *a, summed)))
        .collect();
    let tapped = |s: &Option<Slide>| s.as_ref().is_some_and(|s| s.tap.is_some());
    let strided = |s: &Option<Slide>| s.as_ref().is_some_and(|s| s.step != 1);
    let first = match slides.iter().find(|(_, s)| tapped(s)) {
        Some((at, _)) => rows.map_or(*at, |r| (*at).min(r + 1)),
        None => {
            let after = |r: usize| slides.iter().filter(move |(at, _)| *at > r);
            let apart = || summed.len() > 1 && !runs_along(kernel, value, over[over.len() - 1]);
            rows.filter(|r| after(*r).count() > 1 && (after(*r).any(|(_, s)| strided(s)) || apart()))? + 1
        }
    };
    let slides: Vec<Slide> =
        slides.into_iter().filter(|(at, _)| *at >= first).map(|(_, s)| s).collect::<Option<_>>()?;
    let taps: Vec<AxisId> = slides.iter().filter_map(|s| s.tap).collect();
    let twice = taps.iter().enumerate().any(|(i, t)| taps[..i].contains(t));
    (!twice).then_some(Windows { value, weights, slides })
}

/// Whether some load below a value goes from element to element along an axis.
fn runs_along(kernel: &Kernel, value: ExprId, axis: AxisId) -> bool {
    let var = &kernel.axes[axis.index()].var;
    let last = |e: &ExprId| match kernel.exprs.get(*e) {
        Expr::Load { index, .. } => index.last().copied(),
        _ => None,
    };
    let along = |e: ExprId| matches!(kernel.exprs.get(e), Expr::Index(size) if slope(size, var) == Some(1));
    kernel.exprs.reachable(&[value]).iter().filter_map(last).any(along)
}

/// The integer expressions below a value.
fn sizes(kernel: &Kernel, value: ExprId) -> Vec<Size> {
    let all = kernel.exprs.reachable(&[value]);
    let size = |e: &ExprId| match kernel.exprs.get(*e) {
        Expr::Index(size) => Some(size.clone()),
        _ => None,
    };
    all.iter().filter_map(size).collect()
}

/// How a size grows with a variable, where that is the same everywhere.
fn slope(size: &Size, v: &Variable) -> Option<i64> {
    (size.substitute(&|x| (x == v).then(|| Size::from(v) + 1)) - size).as_const()
}

fn slide(kernel: &Kernel, sizes: &[Size], kept: AxisId, summed: &[AxisId]) -> Option<Slide> {
    let var = |a: AxisId| &kernel.axes[a.index()].var;
    let o = var(kept);
    let with: Vec<&Size> = sizes.iter().filter(|s| s.variables().contains(o)).collect();
    let taps: Vec<AxisId> =
        summed.iter().copied().filter(|k| with.iter().any(|s| s.variables().contains(var(*k)))).collect();
    let named = |s: &&Size| taps.iter().chain([&kept]).any(|a| s.variables().contains(var(*a)));
    let mut steps = Vec::new();
    for size in sizes.iter().filter(named) {
        let tap = taps.first().map_or(Some(0), |k| slope(size, var(*k)))?;
        steps.push((slope(size, o)?, tap));
    }
    let (tap, &(per_kept, per_tap)) = match taps[..] {
        [] => (None, steps.first()?),
        [tap] => (Some(tap), steps.first()?),
        _ => return None,
    };
    let common = |of: &[(i64, i64)]| of.iter().fold(0, |g, (a, b)| gcd(g, gcd(a.unsigned_abs(), b.unsigned_abs())));
    let unit = common(if tap.is_some() { &steps[..1] } else { &steps }) as i64;
    if per_kept == 0 || steps.iter().any(|(a, b)| *a == 0 || a * per_tap != b * per_kept) {
        return None;
    }
    let (stride, dilation) = (per_kept.abs() / unit, per_tap / unit * per_kept.signum());
    if steps.iter().any(|(a, _)| a % stride != 0) {
        return None;
    }
    let last = tap.map_or(Some(0), |k| kernel.axes[k.index()].extent.as_const().map(|n| dilation * (n - 1).max(0)))?;
    let low = last.min(0).div_euclid(stride);
    let reach = last.max(0).div_euclid(stride) - low;
    Some(Slide { kept, tap, stride, dilation, reach, step: per_kept, low, last })
}

impl Slide {
    /// Which phase of the plane a tap reads, where there are several.
    fn phase(&self, kernel: &Kernel) -> Option<Size> {
        let tap = self.tap.filter(|_| self.stride > 1 && self.dilation % self.stride != 0)?;
        Some((Size::from(&kernel.axes[tap.index()].var) * self.dilation).modulo(self.stride))
    }

    /// A size of the operand's expression at a row and phase of the plane.
    fn at(&self, kernel: &Kernel, size: &Size, row: &Size, phase: &Size) -> Size {
        let var = |a: AxisId| &kernel.axes[a.index()].var;
        let per_row = slope(size, var(self.kept)).unwrap_or(0) / self.stride;
        let whole = size.substitute(&|v| match v {
            v if v == var(self.kept) => Some(row + self.low),
            v if self.tap.is_some_and(|t| var(t) == v) => Some(Size::ZERO),
            _ => None,
        });
        whole + phase * per_row
    }

    /// How many rows further on than `kept` a tap reads.
    fn offset(&self, kernel: &Kernel) -> Size {
        let Some(tap) = self.tap else { return Size::ZERO };
        (Size::from(&kernel.axes[tap.index()].var) * self.dilation).floordiv(self.stride) - self.low
    }
}

/// Where whole rows of the plane, in all phases, begin before the first place that a window reads or go on behind
/// the last one, and the operand's mask does not say that it has nothing there: conditions on the place
/// `stride * row + phase`, of which both sides are given, the smaller first.
fn within(kernel: &Kernel, value: ExprId, s: &Slide, row: &Size, phase: &Size) -> Vec<(Size, Size)> {
    let phases = if s.phase(kernel).is_some() { s.stride } else { 1 };
    let extent = &kernel.axes[s.kept.index()].extent;
    let place = (row + s.low) * s.stride + phase;
    let masked =
        |row: &Size, phases: std::ops::Range<i64>| phases.into_iter().all(|p| is_masked(kernel, value, s, row, p));
    let mut found = Vec::new();
    let first = s.last.min(0);
    if !masked(&Size::ZERO, 0..first - s.low * s.stride) {
        found.push((Size::from(first), place.clone()));
    }
    let after = s.last.max(0);
    if !masked(&(extent + (s.reach - 1)), after % s.stride + 1..phases) {
        found.push((place, (extent - 1) * s.stride + after));
    }
    found
}

/// How many columns at both ends of a plane's rows are 0 in all rows.
fn shared_zeros(kernel: &Kernel, value: ExprId, columns: &Slide, width: i64) -> i64 {
    let zero = |column: i64| is_zero(kernel, value, columns, column);
    let side = columns.reach.min(width / 2);
    (0..side).take_while(|c| zero(*c) && zero(width - 1 - *c)).count() as i64
}

/// Whether an operand's mask says that a row of the plane along a window's axis lies outside of it, in
/// all phases.
fn is_zero(kernel: &Kernel, value: ExprId, slide: &Slide, row: i64) -> bool {
    let phases = if slide.phase(kernel).is_some() { slide.stride } else { 1 };
    (0..phases).all(|phase| is_masked(kernel, value, slide, &Size::from(row), phase))
}

fn is_masked(kernel: &Kernel, value: ExprId, slide: &Slide, row: &Size, phase: i64) -> bool {
    let pool = &kernel.exprs;
    let zero = |c: &Const| *c == Const::zero(c.dtype());
    let mut value = value;
    while let Expr::Cast(_, v) = pool.get(value) {
        value = *v;
    }
    let mask = match pool.get(value) {
        Expr::Load { valid: Some(mask), other, .. } if zero(other) => *mask,
        Expr::Alu(Alu::Where, args) if matches!(pool.get(args[2]), Expr::Const(c) if zero(c)) => args[0],
        _ => return false,
    };
    let at = |id: ExprId| match pool.get(id) {
        Expr::Index(size) => Some(slide.at(kernel, size, row, &Size::from(phase))),
        _ => None,
    };
    let mut all = vec![mask];
    while let Some(condition) = all.pop() {
        let Expr::Alu(op, args) = pool.get(condition) else { continue };
        let least = match op {
            Alu::And => {
                all.extend_from_slice(args);
                continue;
            }
            Alu::Le => 0,
            Alu::Lt => 1,
            _ => continue,
        };
        if let (Some(a), Some(b)) = (at(args[0]), at(args[1]))
            && (b - a).bounds().1 < least
        {
            return true;
        }
    }
    false
}

/// The plane of a convolution stage.
#[derive(Clone, Debug)]
pub(crate) struct Plane {
    /// The stage that fills it, yet to be added: its reader reads it as the kernel's next one.
    pub copy: Stage,
    /// The axis of the reader whose steps are steps from row to row, if two axes are flat.
    pub rows: Option<AxisId>,
    /// The other flat axis.
    pub columns: AxisId,
    /// The stage's flat axis.
    pub flat: AxisId,
    /// The plane's axes of rows further out, and how many of each one point of the reader needs.
    pub outer: Vec<(AxisId, i64)>,
    /// The axis of the columns' phases, where there are several.
    pub phase: Option<AxisId>,
    /// Elements of a row.
    pub width: i64,
    /// Rows that are read beyond the reader's own.
    pub reach: i64,
    /// Elements that are read beyond a row of the reader's own: beyond the plane where whole rows are.
    pub overhang: i64,
}

/// Makes a plain contraction of a convolution stage whose value is a temporary: gives it a flat axis,
/// and an operand that is read from the plane. Taps become the innermost summed axes. The plane's rows
/// share the zeros between them, as far as its masks tell, and are a multiple of `multiple` wide.
///
/// # Errors
/// What keeps the stage from having a plane.
pub(crate) fn flatten(kernel: &mut Kernel, stage: usize, multiple: i64) -> Result<Plane, String> {
    let found = windows(kernel, stage).ok_or("the stage has no windows that slide over one operand")?;
    if kernel.stages[stage].outs != [Out::Temp] {
        return Err("a stage that writes an output has no scratch to hold what lies between rows".into());
    }
    if multiple < 1 {
        return Err("rows of a plane are a multiple of at least 1 wide".into());
    }
    let width = |s: &Slide| kernel.axes[s.kept.index()].extent.as_const().map(|n| n + s.reach);
    let (rows, columns) = match &found.slides[..] {
        [.., rows, columns] if width(columns).is_some() => (Some(rows), columns),
        [.., columns] => (None, columns),
        [] => return Err("the stage has no windows".into()),
    };
    let outer = &found.slides[..found.slides.len() - 1 - usize::from(rows.is_some())];

    // The flat axis, of the stage and of the plane; for one axis alone, the stage keeps its own.
    let read = rows.and(width(columns)).unwrap_or(0);
    // The zeros that the last row shares are those of a row after it, which must be outside as well.
    let shares = rows.is_some_and(|r| width(r).is_some_and(|after| is_zero(kernel, found.value, r, after)));
    let shared = if shares { shared_zeros(kernel, found.value, columns, read) } else { 0 };
    let width = (read - shared + multiple - 1) / multiple * multiple;
    let beyond = i64::from(read > width);
    // Columns that only round up the width: nothing says that the operand has them.
    let empty = (read..width).any(|column| !is_zero(kernel, found.value, columns, column));
    let width = Size::from(width);
    let extent = |kernel: &Kernel, s: &Slide| kernel.axes[s.kept.index()].extent.clone();
    let flat = match rows {
        Some(rows) => {
            let name = format!("{}_{}", axis_name(kernel, rows.kept), axis_name(kernel, columns.kept));
            let points = match multiple {
                1 => (extent(kernel, rows) - 1) * &width + extent(kernel, columns),
                _ => extent(kernel, rows) * &width,
            };
            add_axis(kernel, &name, &points)?
        }
        None => columns.kept,
    };
    let plane = match rows {
        Some(rows) => (extent(kernel, rows) + rows.reach + beyond) * &width,
        None => extent(kernel, columns) + columns.reach,
    };
    let plane_flat = add_axis(kernel, &format!("{}_plane", axis_name(kernel, flat)), &plane)?;

    // Where each window's row and phase are found: in the copy, and by the stage that reads it.
    let mut over = Vec::new();
    let mut index = Vec::new();
    let taken: Vec<AxisId> = found.slides.iter().flat_map(|s| s.tap.into_iter().chain([s.kept])).collect();
    for axis in axes_of(kernel, found.value).into_iter().filter(|a| !taken.contains(a)) {
        over.push(axis);
        index.push(point(kernel, axis));
    }
    let mut places: Vec<(Slide, Size, Size)> = Vec::new();
    let mut phase_of_columns = None;
    for s in &found.slides {
        let name = format!("{}_phase", axis_name(kernel, s.kept));
        let phase = match s.phase(kernel) {
            Some(phase) => Some((phase, add_axis(kernel, &name, &Size::from(s.stride))?)),
            None => None,
        };
        phase_of_columns = phase.as_ref().map(|(_, axis)| *axis);
        let place = phase_of_columns.map_or(Size::ZERO, |axis| point(kernel, axis));
        places.push((s.clone(), Size::ZERO, place));
        if let Some((phase, axis)) = phase {
            over.push(axis);
            index.push(phase);
        }
    }
    let mut further = Vec::new();
    for (s, place) in outer.iter().zip(&mut places) {
        let extent = extent(kernel, s) + s.reach;
        let axis = add_axis(kernel, &format!("{}_plane", axis_name(kernel, s.kept)), &extent)?;
        further.push((axis, s.reach + 1));
        over.push(axis);
        index.push(point(kernel, s.kept) + s.offset(kernel));
        place.1 = point(kernel, axis);
    }
    let at = point(kernel, plane_flat);
    over.push(plane_flat);
    let (last, before) = (places.len() - 1, places.len().wrapping_sub(2));
    match rows {
        Some(rows) => {
            index.push(point(kernel, flat) + rows.offset(kernel) * &width + columns.offset(kernel));
            (places[before].1, places[last].1) = (at.floordiv(&width), at.modulo(&width));
        }
        None => {
            index.push(point(kernel, flat) + columns.offset(kernel));
            places[last].1 = at.clone();
        }
    }

    let old = kernel.exprs.clone();
    let plane = TempId(kernel.stages.len() as u32);
    let value = {
        let moved = |kernel: &Kernel, size: &Size| {
            places.iter().fold(size.clone(), |size, (s, row, phase)| s.at(kernel, &size, row, phase))
        };
        let sides: Vec<(Size, Size)> =
            places.iter().flat_map(|(s, row, phase)| within(kernel, found.value, s, row, phase)).collect();
        let mut pool = std::mem::take(&mut kernel.exprs);
        let mut inside: Vec<ExprId> = Vec::new();
        if empty {
            let (column, end) = (pool.index(at.modulo(&width)), pool.index(read));
            inside.push(pool.alu(Alu::Lt, &[column, end]));
        }
        for (least, most) in sides {
            let (least, most) = (pool.index(least), pool.index(most));
            inside.push(pool.alu(Alu::Le, &[least, most]));
        }
        let inside = pool.all_of(inside);
        let value =
            pool.copy_with(&old, &[found.value], &|_| None, |to: &mut ExprPool, node, dtype| match (node, inside) {
                (Expr::Index(size), _) => to.index(moved(kernel, &size)),
                (Expr::Load { from, index, valid, other }, Some(inside)) => {
                    let valid = to.all_of([inside].into_iter().chain(valid));
                    to.load_valid(dtype, from, &index, valid, other)
                }
                (node, _) => to.add(node, dtype),
            })[0];
        kernel.exprs = pool;
        value
    };
    let index: Vec<ExprId> = index.into_iter().map(|i| kernel.exprs.index(i)).collect();
    let read = kernel.exprs.load(old.dtype(found.value), Mem::Temp(plane, 0), &index);
    let element = kernel.exprs.alu(svod_ir::alu::Alu::Mul, &[found.weights, read]);

    let dims = kernel.stages[stage].over.clone();
    let gone = |a: &AxisId| *a == columns.kept || rows.is_some_and(|r| r.kept == *a);
    let kept: Vec<usize> = (0..dims.len()).filter(|d| !gone(&dims[*d])).collect();
    let this = &mut kernel.stages[stage];
    this.over = kept.iter().map(|d| dims[*d]).chain([flat]).collect();
    if let Body::Reduce { axes, carries, .. } = &mut this.body {
        carries[0].element = element;
        axes.sort_by_key(|a| found.slides.iter().any(|s| s.tap == Some(*a)));
    }
    let name = format!("{}.plane", this.name);
    let position = |a: AxisId| dims.iter().position(|d| *d == a).ok_or("a window over an axis that is not kept");
    let (row_at, column_at) = (rows.map(|r| position(r.kept)).transpose()?, position(columns.kept)?);
    reread(kernel, stage, &|index| {
        let mut flat = index[column_at].clone();
        if let Some(row) = row_at {
            flat = &index[row] * &width + flat;
        }
        kept.iter().map(|d| index[*d].clone()).chain([flat]).collect()
    })?;
    let copy = Stage { name, over, body: Body::map(value), outs: vec![Out::Temp] };
    let (rows, reach) = rows.map_or((None, columns.reach), |r| (Some(r.kept), r.reach));
    let (overhang, width) = (columns.reach, width.as_const().unwrap_or(0));
    let (columns, outer, phase) = (columns.kept, further, phase_of_columns);
    Ok(Plane { copy, rows, columns, flat, outer, phase, width, reach, overhang })
}

/// Changes the index at which every stage reads the value of stage `of`.
fn reread(kernel: &mut Kernel, of: usize, change: &dyn Fn(&[Size]) -> Vec<Size>) -> Result<(), &'static str> {
    let old = kernel.exprs.clone();
    let roots: Vec<ExprId> = kernel.stages.iter().flat_map(Stage::roots).collect();
    let mut whole = true;
    let new = kernel.exprs.copy_with(&old, &roots, &|_| None, |to, node, dtype| match &node {
        Expr::Load { from: from @ Mem::Temp(t, _), index, valid, other } if t.index() == of => {
            let size = |i: &ExprId| match to.get(*i) {
                Expr::Index(size) => Some(size.clone()),
                _ => None,
            };
            let Some(point) = index.iter().map(size).collect::<Option<Vec<Size>>>() else {
                whole = false;
                return to.add(node, dtype);
            };
            let index: Vec<ExprId> = change(&point).into_iter().map(|i| to.index(i)).collect();
            to.load_valid(dtype, *from, &index, *valid, *other)
        }
        _ => to.add(node, dtype),
    });
    let mut new = new.into_iter();
    for stage in &mut kernel.stages {
        stage.for_each_root(&mut |root| *root = new.next().unwrap_or(*root));
    }
    if whole { Ok(()) } else { Err("the stage is read at an index that depends on data") }
}

fn point(kernel: &Kernel, axis: AxisId) -> Size {
    Size::from(&kernel.axes[axis.index()].var)
}

fn axis_name(kernel: &Kernel, axis: AxisId) -> &str {
    kernel.axes[axis.index()].var.name()
}
