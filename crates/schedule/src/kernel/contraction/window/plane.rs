//! The padded plane of a convolution: its layout, the stage that fills it, and the stage that reads it.

use super::{Slide, Windows, axis_name, point, windows};
use crate::kernel::contraction::{add_axis, axes_of};
use std::ops::Range;
use svod_dtype::Const;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, TempId};
use svod_ir::kernel::{AxisId, Body, Kernel, Out, Stage};
use svod_ir::size::{Size, Variable};

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
    /// Taps that go from phase to phase, and after how many steps each is in its first phase again: only from there on
    /// are its steps as far apart as from the first tap on.
    periods: Vec<(AxisId, i64)>,
}

impl Plane {
    /// The steps that blocks of an axis of the depth are a multiple of: those of taps that go from phase to phase begin in
    /// the first one.
    pub fn period(&self, axis: AxisId) -> i64 {
        self.periods.iter().find(|(tap, _)| *tap == axis).map_or(1, |(_, period)| *period)
    }
}

/// How the rows of a plane lie.
struct Lines<'w> {
    /// Windows of axes that keep their places, and those of the two that become one: rows, if there are any, and columns.
    outer: &'w [Slide],
    rows: Option<&'w Slide>,
    columns: &'w Slide,
    /// Columns that windows read, and from one row to the next.
    read: i64,
    width: Size,
    /// Whether the width is less, so that the zeros of the last row are those of one after it.
    shared: bool,
    /// Whether some columns only round up the width: nothing says that the operand has them.
    empty: bool,
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
    let lines = lines(kernel, &found, multiple)?;
    let (flat, along_plane) = flat_axes(kernel, &lines, multiple)?;
    let cells = cells(kernel, &found, &lines, flat, along_plane)?;
    let value = filled(kernel, found.value, &cells.places, &lines, &point(kernel, along_plane));
    let plane = TempId(kernel.stages.len() as u32);
    let index: Vec<ExprId> = cells.index.into_iter().map(|i| kernel.exprs.index(i)).collect();
    let read = kernel.exprs.load(kernel.exprs.dtype(found.value), Mem::Temp(plane, 0), &index);
    let element = kernel.exprs.alu(Alu::Mul, &[found.weights, read]);
    read_lines(kernel, stage, &found, &lines, flat, element)?;
    let name = format!("{}.plane", kernel.stages[stage].name);
    let Lines { rows, columns, width, .. } = lines;
    Ok(Plane {
        copy: Stage { name, over: cells.over, body: Body::map(value), outs: vec![Out::Temp] },
        rows: rows.map(|r| r.kept),
        columns: columns.kept,
        flat,
        outer: cells.outer,
        phase: cells.phase_of_columns,
        width: width.as_const().unwrap_or(0),
        reach: rows.unwrap_or(columns).reach,
        overhang: columns.reach,
        periods: found.slides.iter().filter_map(Slide::period).collect(),
    })
}

fn extent(kernel: &Kernel, s: &Slide) -> Size {
    kernel.axes[s.kept.index()].extent.clone()
}

/// How the rows of the plane of some windows lie.
fn lines<'w>(kernel: &Kernel, found: &'w Windows, multiple: i64) -> Result<Lines<'w>, String> {
    let width = |s: &Slide| kernel.axes[s.kept.index()].extent.as_const().map(|n| n + s.reach);
    let (rows, columns) = match &found.slides[..] {
        [.., rows, columns] if width(columns).is_some() => (Some(rows), columns),
        [.., columns] => (None, columns),
        [] => return Err("the stage has no windows".into()),
    };
    let outer = &found.slides[..found.slides.len() - 1 - usize::from(rows.is_some())];
    let read = rows.and(width(columns)).unwrap_or(0);
    // The zeros that the last row shares are those of a row after it, which must be outside as well.
    let shares = rows.is_some_and(|r| width(r).is_some_and(|after| is_zero(kernel, found.value, r, after..after + 1)));
    let shared = if shares { shared_zeros(kernel, found.value, columns, read) } else { 0 };
    let width = (read - shared + multiple - 1) / multiple * multiple;
    let empty = read < width && !is_zero(kernel, found.value, columns, read..width);
    Ok(Lines { outer, rows, columns, read, width: Size::from(width), shared: read > width, empty })
}

/// The flat axis of the stage, which of one axis alone is its own, and that of the plane.
fn flat_axes(kernel: &mut Kernel, lines: &Lines, multiple: i64) -> Result<(AxisId, AxisId), String> {
    let (columns, width) = (lines.columns, &lines.width);
    let (flat, plane) = match lines.rows {
        Some(rows) => {
            let name = format!("{}_{}", axis_name(kernel, rows.kept), axis_name(kernel, columns.kept));
            let points = match multiple {
                1 => (extent(kernel, rows) - 1) * width + extent(kernel, columns),
                _ => extent(kernel, rows) * width,
            };
            let plane = (extent(kernel, rows) + rows.reach + i64::from(lines.shared)) * width;
            (add_axis(kernel, &name, &points)?, plane)
        }
        None => (columns.kept, extent(kernel, columns) + columns.reach),
    };
    let name = format!("{}_plane", axis_name(kernel, flat));
    Ok((flat, add_axis(kernel, &name, &plane)?))
}

/// What is where in a plane.
struct Cells {
    /// The axes of the plane's copy, and at which index a point of the reader finds its element.
    over: Vec<AxisId>,
    index: Vec<Size>,
    /// Of each window, the row and the phase that a point of the copy has.
    places: Vec<(Slide, Size, Size)>,
    /// The axes of rows further out, and how many of each one point of the reader needs.
    outer: Vec<(AxisId, i64)>,
    phase_of_columns: Option<AxisId>,
}

/// Where each window's row and phase are found: in the copy, and by the stage that reads it.
fn cells(
    kernel: &mut Kernel,
    found: &Windows,
    lines: &Lines,
    flat: AxisId,
    along_plane: AxisId,
) -> Result<Cells, String> {
    let taken: Vec<AxisId> = found.slides.iter().flat_map(|s| s.tap.into_iter().chain([s.kept])).collect();
    let mut over = axes_of(kernel, found.value);
    over.retain(|a| !taken.contains(a));
    let mut index: Vec<Size> = over.iter().map(|a| point(kernel, *a)).collect();
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
    let mut outer = Vec::new();
    for (s, place) in lines.outer.iter().zip(&mut places) {
        let extent = extent(kernel, s) + s.reach;
        let axis = add_axis(kernel, &format!("{}_plane", axis_name(kernel, s.kept)), &extent)?;
        outer.push((axis, s.reach + 1));
        over.push(axis);
        index.push(point(kernel, s.kept) + s.offset(kernel));
        place.1 = point(kernel, axis);
    }
    let at = point(kernel, along_plane);
    over.push(along_plane);
    let (last, before) = (places.len() - 1, places.len().wrapping_sub(2));
    let (columns, width) = (lines.columns, &lines.width);
    match lines.rows {
        Some(rows) => {
            index.push(point(kernel, flat) + rows.offset(kernel) * width + columns.offset(kernel));
            (places[before].1, places[last].1) = (at.floordiv(width), at.modulo(width));
        }
        None => {
            index.push(point(kernel, flat) + columns.offset(kernel));
            places[last].1 = at;
        }
    }
    Ok(Cells { over, index, places, outer, phase_of_columns })
}

/// The operand's value at a point `at` of the plane, whose loads are masked where the operand has nothing.
fn filled(kernel: &mut Kernel, value: ExprId, places: &[(Slide, Size, Size)], lines: &Lines, at: &Size) -> ExprId {
    let old = kernel.exprs.clone();
    let moved = |kernel: &Kernel, size: &Size| {
        places.iter().fold(size.clone(), |size, (s, row, phase)| s.at(kernel, &size, row, phase))
    };
    let sides: Vec<(Size, Size)> =
        places.iter().flat_map(|(s, row, phase)| within(kernel, value, s, row, phase)).collect();
    let mut pool = std::mem::take(&mut kernel.exprs);
    let mut inside: Vec<ExprId> = Vec::new();
    if lines.empty {
        let (column, end) = (pool.index(at.modulo(&lines.width)), pool.index(lines.read));
        inside.push(pool.alu(Alu::Lt, &[column, end]));
    }
    for (least, most) in sides {
        let (least, most) = (pool.index(least), pool.index(most));
        inside.push(pool.alu(Alu::Le, &[least, most]));
    }
    let inside = pool.all_of(inside);
    let filled = pool.copy_with(&old, &[value], &|_| None, |to: &mut ExprPool, node, dtype| match (node, inside) {
        (Expr::Index(size), _) => to.index(moved(kernel, &size)),
        (Expr::Load { from, index, valid, other }, Some(inside)) => {
            let valid = to.all_of([inside].into_iter().chain(valid));
            to.load_valid(dtype, from, &index, valid, other)
        }
        (node, _) => to.add(node, dtype),
    })[0];
    kernel.exprs = pool;
    filled
}

/// Has the stage go along the flat axis, with this element, taps innermost, and all others read it there.
fn read_lines(
    kernel: &mut Kernel,
    stage: usize,
    found: &Windows,
    lines: &Lines,
    flat: AxisId,
    element: ExprId,
) -> Result<(), String> {
    let &Lines { rows, columns, ref width, .. } = lines;
    let dims = kernel.stages[stage].over.clone();
    let gone = |a: &AxisId| *a == columns.kept || rows.is_some_and(|r| r.kept == *a);
    let kept: Vec<usize> = (0..dims.len()).filter(|d| !gone(&dims[*d])).collect();
    let this = &mut kernel.stages[stage];
    this.over = kept.iter().map(|d| dims[*d]).chain([flat]).collect();
    if let Body::Reduce { axes, carries, .. } = &mut this.body {
        carries[0].element = element;
        axes.sort_by_key(|a| found.slides.iter().any(|s| s.tap == Some(*a)));
    }
    let position = |a: AxisId| dims.iter().position(|d| *d == a).ok_or("a window over an axis that is not kept");
    let (row_at, column_at) = (rows.map(|r| position(r.kept)).transpose()?, position(columns.kept)?);
    reread(kernel, stage, &|index| {
        let mut flat = index[column_at].clone();
        if let Some(row) = row_at {
            flat = &index[row] * width + flat;
        }
        kept.iter().map(|d| index[*d].clone()).chain([flat]).collect()
    })?;
    Ok(())
}

/// Where whole rows of the plane, in all phases, begin before the first place that a window reads or go on behind
/// the last one, and the operand's mask does not say that it has nothing there: conditions on the place
/// `stride * row + phase`, of which both sides are given, the smaller first.
fn within(kernel: &Kernel, value: ExprId, s: &Slide, row: &Size, phase: &Size) -> Vec<(Size, Size)> {
    let phases = if s.period().is_some() { s.stride } else { 1 };
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

/// How many columns at both ends of a plane's rows are 0 in all rows: found by halves, for there may be billions.
fn shared_zeros(kernel: &Kernel, value: ExprId, columns: &Slide, width: i64) -> i64 {
    let zero = |columns_of: Range<i64>| is_zero(kernel, value, columns, columns_of);
    let (mut known, mut limit) = (0, columns.reach.min(width / 2) + 1);
    while limit - known > 1 {
        let middle = known + (limit - known) / 2;
        match zero(0..middle) && zero(width - middle..width) {
            true => known = middle,
            false => limit = middle,
        }
    }
    known
}

/// Whether an operand's mask says that rows of the plane along a window's axis, one at least, lie outside of it, in all phases.
fn is_zero(kernel: &Kernel, value: ExprId, slide: &Slide, rows: Range<i64>) -> bool {
    let phases = if slide.period().is_some() { slide.stride } else { 1 };
    let Ok(row) = Variable::internal("row_of_plane", rows.start, rows.end - 1) else { return false };
    let row = Size::from(&row);
    (0..phases).all(|phase| is_masked(kernel, value, slide, &row, phase))
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
