//! A reduction as two.

use svod_ir::alu::Alu;
use svod_ir::graph::{GraphError, Op, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

/// A reduction in two: of the inner dimensions of a shape, and of what is left of the outer ones.
#[derive(Clone, Debug)]
pub(super) struct InTwo {
    pub over: Vec<Size>,
    pub inner: Vec<usize>,
    pub outer: Vec<usize>,
    /// Whether it sums squared deviations from what is not known while rows are read.
    pub centred: bool,
}

impl InTwo {
    /// The reduction of a value.
    pub fn of(&self, source: &UOp, by: Monoid) -> Result<UOp, GraphError> {
        let mut source = source.clone();
        let is_total = self.inner.len() + self.outer.len() == self.over.len();
        while is_total
            && (is_order(source.op()) || (self.centred && is_reordered(source.op())))
            && let Some(below) = source.source()
        {
            source = below;
        }
        if let Some((x, centre)) = deviations(&source).filter(|_| self.centred) {
            return self.squares(&x, &centre);
        }
        source.reshape(&self.over[..])?.reduce(by, &self.inner)?.reduce(by, &self.left())
    }

    /// The outer dimensions as they are numbered once the inner ones have gone.
    fn left(&self) -> Vec<usize> {
        self.outer.iter().map(|a| a - self.inner.iter().filter(|i| *i < a).count()).collect()
    }

    /// The sum of squared deviations from a centre: of deviations from each row's
    /// mean `m_r`, mended by how far that is from the centre `c` (Chan, Golub and LeVeque 1979). With `d = x - m_r` for
    /// the n points of a row it is `sum_r (sum d^2 + (m_r - c) (2 sum d + n (m_r - c)))`, whatever `m_r` was rounded to.
    fn squares(&self, x: &UOp, centre: &UOp) -> Result<UOp, GraphError> {
        let x = x.reshape(&self.over[..])?;
        let points: Size = self.inner.iter().map(|a| &self.over[*a]).product();
        let kept: Vec<Size> =
            (0..self.over.len()).filter(|a| !self.inner.contains(a)).map(|a| self.over[a].clone()).collect();
        let number = |n: &Size| UOp::size(n.clone())?.cast(x.dtype())?.expand(&kept[..]);
        let (points, two) = (number(&points)?, number(&Size::from(2))?);
        let mean = UOp::alu(Alu::Div, &[x.reduce(Monoid::Sum, &self.inner)?, points.clone()])?;
        let rows: Vec<Size> = (0..self.over.len())
            .map(|a| if self.inner.contains(&a) { Size::ONE } else { self.over[a].clone() })
            .collect();
        let deviation = UOp::alu(Alu::Sub, &[x.clone(), mean.reshape(rows)?.expand(&self.over[..])?])?;
        let sum = deviation.reduce(Monoid::Sum, &self.inner)?;
        let squares = UOp::alu(Alu::Mul, &[deviation.clone(), deviation])?.reduce(Monoid::Sum, &self.inner)?;
        let centre = centre.reshape(vec![Size::ONE; kept.len()])?.expand(&kept[..])?;
        let off = UOp::alu(Alu::Sub, &[mean, centre])?;
        let twice = UOp::alu(Alu::Mul, &[sum, two])?;
        let moved = UOp::alu(Alu::Add, &[twice, UOp::alu(Alu::Mul, &[points, off.clone()])?])?;
        let mended = UOp::alu(Alu::Add, &[squares, UOp::alu(Alu::Mul, &[off, moved])?])?;
        mended.reduce(Monoid::Sum, &self.left())
    }
}

/// Whether an operation changes only the order of elements, which a total has not.
pub(super) fn is_order(op: &Op) -> bool {
    matches!(op, Op::Permute(_) | Op::Flip(_))
}

/// Whether an operation changes only the order or the shape of what has as many elements.
pub(super) fn is_reordered(op: &Op) -> bool {
    is_order(op) || matches!(op, Op::Reshape(_))
}

/// The values, and the centre, of which the squared deviations are.
pub(super) fn deviations(square: &UOp) -> Option<(UOp, UOp)> {
    let [a, b] = &square.sources()[..] else { return None };
    let [x, centre] = &a.sources()[..] else { return None };
    let squared = *square.op() == Op::Alu(Alu::Mul) && a == b;
    if !squared || *a.op() != Op::Alu(Alu::Sub) || !x.dtype().is_float() {
        return None;
    }
    let mut centre = centre.clone();
    while let Op::Reshape(_) | Op::Expand(_) = centre.op()
        && let Some(below) = centre.source()
    {
        centre = below;
    }
    (centre.numel() == Size::ONE && x.numel() != Size::ONE).then(|| (x.clone(), centre))
}
