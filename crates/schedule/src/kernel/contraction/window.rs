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

mod plane;

use super::{Contraction, axes_of, factors, recognise, worth_a_tile};
use crate::costs::limits::{products, registers};
pub(crate) use plane::{Plane, flatten};
use svod_ir::expr::{Expr, ExprId};
use svod_ir::kernel::{AxisId, Body, Kernel, Stage};
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
    pub weights: ExprId,
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
    if found.kernel_gradient(kernel, stage).is_some() {
        return false;
    }
    // Without taps windows have nothing in common: where they fill no vector, there is a product for each, of images.
    let points = || found.slides.iter().filter_map(extent).fold(1, i64::saturating_mul);
    let is_product =
        || recognise(kernel, stage).is_some_and(|c| found.are_apart_from_all(&c) && worth_a_tile(kernel, &c));
    if found.slides.iter().all(|s| s.tap.is_none()) && points() < registers::FEWEST_LANES && is_product() {
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

/// The contraction of channels that the gradient of a convolution's kernel is for each tap, and the axes that are slid along.
pub(crate) fn kernel_gradient(kernel: &Kernel, stage: usize) -> Option<(Contraction, Vec<Slide>)> {
    let found = windows(kernel, stage)?;
    let product = found.kernel_gradient(kernel, stage)?;
    Some((product, found.slides.into_iter().filter(|s| s.tap.is_some()).collect()))
}

impl Windows {
    fn tapped(&self) -> impl Iterator<Item = (AxisId, AxisId)> {
        self.slides.iter().filter_map(|s| Some((s.kept, s.tap?)))
    }

    /// Whether they are larger than what they slide over, as those of the gradient of a convolution's kernel are: the image is
    /// summed over, and the taps are kept.
    pub fn slide_over_few(&self, kernel: &Kernel) -> bool {
        let extent = |a: AxisId| kernel.axes[a.index()].extent.upper_bound();
        self.tapped().next().is_some() && self.tapped().all(|(kept, tap)| extent(kept) < extent(tap))
    }

    /// Whether a contraction's rows and columns are others than what they slide over.
    pub fn are_apart_from(&self, c: &Contraction) -> bool {
        self.tapped().all(|(kept, _)| kept != c.m && kept != c.n)
    }

    fn are_apart_from_all(&self, c: &Contraction) -> bool {
        self.slides.iter().all(|s| s.kept != c.m && s.kept != c.n)
    }

    fn kernel_gradient(&self, kernel: &Kernel, stage: usize) -> Option<Contraction> {
        let of_kernel = self.slide_over_few(kernel).then(|| recognise(kernel, stage))?;
        of_kernel.filter(|c| self.are_apart_from(c))
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
        let (tap, _) = self.period()?;
        Some((Size::from(&kernel.axes[tap.index()].var) * self.dilation).modulo(self.stride))
    }

    /// The tap that goes from phase to phase, if it does, and after how many steps it is in its first phase again.
    fn period(&self) -> Option<(AxisId, i64)> {
        let (stride, dilation) = (self.stride, self.dilation.rem_euclid(self.stride));
        let tap = self.tap.filter(|_| dilation != 0)?;
        Some((tap, stride / gcd(stride.unsigned_abs(), dilation.unsigned_abs()) as i64))
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

fn point(kernel: &Kernel, axis: AxisId) -> Size {
    Size::from(&kernel.axes[axis.index()].var)
}

fn axis_name(kernel: &Kernel, axis: AxisId) -> &str {
    kernel.axes[axis.index()].var.name()
}
