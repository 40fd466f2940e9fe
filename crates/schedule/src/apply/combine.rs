//! Parts of a reduction computed with a part's own statistics, and combined once the whole's are known.
//!
//! What a part's values are in terms of the whole's statistics is said by [`crate::reduction::rebase`]; here is found
//! which of its rows a running value is. Of a sum of squares, the deviations have to be summed as well. With their sum
//! taken for the 0 that it nearly is (Chan, Golub and LeVeque 1979), the rounding of each part's mean would be multiplied
//! by how far the means are apart: far from zero that is many units in the last place.

use super::split_reduction::{Split, indices};
use crate::reduction::rebase::{Moved, Rebase};
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, TempId};
use svod_ir::kernel::{AxisId, Body, Carry, Kernel, Monoid};
use svod_ir::size::{Size, Variable};

/// A running value that is computed by parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local {
    /// What is combined, in terms of the part's own statistics.
    pub element: ExprId,
    pub rebase: Rebase,
}

/// The running values of the reduction `stage` with the statistics that `cut`, of the same points, gives for
/// each part; nothing, where one of them cannot be combined.
pub(super) fn local(kernel: &mut Kernel, stage: usize, cut: &Split) -> Option<Vec<Local>> {
    let (Body::Reduce { axes, carries, .. }, Body::Reduce { axes: known, carries: of, results, .. }) =
        (kernel.stages[stage].body.clone(), &cut.before.body)
    else {
        return None;
    };
    let var = |k: &Kernel, a: &AxisId| k.axes[a.index()].var.clone();
    let renamed: Vec<(Variable, Size)> =
        known.iter().zip(&axes).map(|(b, a)| (var(kernel, b), Size::from(&var(kernel, a)))).collect();
    let rename = |v: &Variable| renamed.iter().find(|(b, _)| b == v).map(|(_, a)| a.clone());
    let elements: Vec<ExprId> = of.iter().map(|c| c.element).collect();
    let old = kernel.exprs.clone();
    let elements = kernel.exprs.copy(&old, &elements, &rename);
    let statistic = |(field, result): (usize, &ExprId)| match kernel.exprs.get(*result) {
        Expr::Carry(i, _) => {
            let carry = usize::from(*i);
            Some(Statistic { field, carry, op: of[carry].op, of: elements[carry] })
        }
        _ => None,
    };
    let statistics = results.iter().enumerate().filter_map(statistic).collect();
    let reduced = axes.iter().map(|a| var(kernel, a)).collect();
    let sums = carries.iter().map(|c| (c.op == Monoid::Sum && c.dtype.is_float()).then_some(c.element)).collect();
    let mut reduction = Reduction { kernel, cut, statistics, reduced, sums };
    carries.iter().map(|carry| reduction.local(carry)).collect()
}

/// A value of the earlier reduction: a running value of what.
#[derive(Clone, Copy)]
struct Statistic {
    field: usize,
    carry: usize,
    op: Monoid,
    /// In terms of the later reduction's axes.
    of: ExprId,
}

/// The later reduction.
struct Reduction<'k> {
    kernel: &'k mut Kernel,
    cut: &'k Split,
    statistics: Vec<Statistic>,
    /// The axes that it reduces.
    reduced: Vec<Variable>,
    /// What each of its running values sums, if it does.
    sums: Vec<Option<ExprId>>,
}

/// Where the statistics of a part are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    /// Where the part is computed.
    Part,
    /// Where parts are reduced.
    Workspace,
}

impl Reduction<'_> {
    fn local(&mut self, carry: &Carry) -> Option<Local> {
        if self.statistics_read(carry.element).is_empty() {
            return Some(Local { element: carry.element, rebase: Rebase::Same });
        }
        let float = carry.dtype.is_float();
        match carry.op {
            Monoid::Sum if float => {
                let deviations = self.squares(carry.element).or_else(|| self.deviations(carry.element));
                deviations.or_else(|| self.exponentials(carry.element))
            }
            Monoid::Min => self.position(carry.element),
            _ => None,
        }
    }

    /// The loads below a value of what stages give.
    fn statistics_read(&self, e: ExprId) -> Vec<ExprId> {
        let exprs = &self.kernel.exprs;
        let of_stage = |e: &ExprId| matches!(exprs.get(*e), Expr::Load { from: Mem::Temp(..), .. });
        exprs.loads(&[e]).into_iter().filter(of_stage).collect()
    }

    /// The statistic that a load reads, if it is one of the earlier reduction's.
    fn statistic(&self, load: ExprId) -> Option<Statistic> {
        let Expr::Load { from: Mem::Temp(of, field), index, valid: None, .. } = self.kernel.exprs.get(load) else {
            return None;
        };
        let at = |(e, a): (&ExprId, &AxisId)| {
            *self.kernel.exprs.get(*e) == Expr::Index(Size::from(&self.kernel.axes[a.index()].var))
        };
        let here = of.index() == self.cut.stage && index.iter().zip(&self.cut.before.over).all(at);
        self.statistics.iter().copied().find(|s| here && s.field == usize::from(*field))
    }

    fn varies(&self, e: ExprId) -> bool {
        self.kernel.exprs.variables_used(&[e]).iter().any(|v| self.reduced.contains(v))
    }

    fn uncast(&self, mut e: ExprId) -> ExprId {
        while let Expr::Cast(_, of) = self.kernel.exprs.get(e) {
            e = *of;
        }
        e
    }

    /// The operands of an operation of two.
    fn binary(&self, op: Alu, e: ExprId) -> Option<[ExprId; 2]> {
        match self.kernel.exprs.get(e) {
            Expr::Alu(found, operands) if *found == op => operands[..].try_into().ok(),
            _ => None,
        }
    }

    /// A statistic of a part.
    fn of_part(&mut self, statistic: Statistic, of: Of) -> ExprId {
        let done = &self.cut.done;
        let kept: Vec<AxisId> = [done.block].into_iter().chain(self.cut.before.over.iter().copied()).collect();
        let index = indices(self.kernel, &kept);
        let workspace = done.workspaces[statistic.carry];
        let dtype = self.kernel.params[workspace.index()].dtype;
        let from = match of {
            // Its values in memory come before those that are read.
            Of::Part => Mem::Temp(TempId(self.cut.parts as u32), (done.workspaces.len() + statistic.field) as u8),
            Of::Workspace => Mem::Param(workspace),
        };
        self.kernel.exprs.load(dtype, from, &index)
    }

    /// A value with the statistics of a part in place of the whole's.
    fn at_part(&mut self, e: ExprId, of: Of) -> Option<ExprId> {
        let mut places = Vec::new();
        for load in self.statistics_read(e) {
            let statistic = self.statistic(load)?;
            places.push((load, self.of_part(statistic, of)));
        }
        let old = self.kernel.exprs.clone();
        let swap = |pool: &mut ExprPool, node: Expr, dtype: DType| {
            let same = pool.add(node, dtype);
            places.iter().find(|(load, _)| *load == same).map_or(same, |(_, part)| *part)
        };
        Some(self.kernel.exprs.copy_with(&old, &[e], &|_| None, swap)[0])
    }

    /// `sum g exp(x - m)`.
    fn exponentials(&mut self, element: ExprId) -> Option<Local> {
        let mut factors = vec![element];
        let mut found = None;
        while let Some(factor) = factors.pop() {
            let factor = self.uncast(factor);
            match self.kernel.exprs.get(factor) {
                Expr::Alu(Alu::Mul, of) => factors.extend(of.iter().copied()),
                _ if self.statistics_read(factor).is_empty() => {}
                Expr::Alu(exp @ (Alu::Exp | Alu::Exp2), of) if found.is_none() => found = Some((*exp, of[0])),
                _ => return None,
            }
        }
        let (exp, exponent) = found?;
        let [x, subtracted] = self.binary(Alu::Sub, exponent)?;
        let shift = self.uncast(subtracted);
        let maximum = match self.kernel.exprs.get(shift) {
            // Of infinities something else may be subtracted.
            Expr::Alu(Alu::Where, operands) => self.uncast(operands[1]),
            _ => shift,
        };
        let maxima = self.statistic(maximum).filter(|s| s.op == Monoid::Max)?;
        if self.uncast(maxima.of) != self.uncast(x) || !self.statistics_read(subtracted).iter().all(|l| *l == maximum) {
            return None;
        }
        let part = self.of_part(maxima, Of::Workspace);
        Some(Local {
            element: self.at_part(element, Of::Part)?,
            rebase: Rebase::Exponentials {
                maxima: [part, maximum],
                subtracted: [self.at_part(subtracted, Of::Workspace)?, subtracted],
                exp,
            },
        })
    }

    /// `sum (x - m)^2`.
    fn squares(&mut self, element: ExprId) -> Option<Local> {
        let [deviation, same] = self.binary(Alu::Mul, element)?;
        if deviation != same {
            return None;
        }
        let of_them = self.sums.iter().position(|sum| *sum == Some(deviation))?;
        let (own, moved) = self.centred(deviation)?;
        let element = self.kernel.exprs.alu(Alu::Mul, &[own, own]);
        Some(Local { element, rebase: Rebase::Squares(moved, of_them) })
    }

    /// `sum (x - m)`.
    fn deviations(&mut self, element: ExprId) -> Option<Local> {
        let (element, moved) = self.centred(element)?;
        Some(Local { element, rebase: Rebase::Deviations(moved) })
    }

    /// The deviation from the part's mean in place of one from something else.
    fn centred(&mut self, deviation: ExprId) -> Option<(ExprId, Moved)> {
        let [x, from] = self.binary(Alu::Sub, deviation)?;
        let reversed = self.varies(from);
        let (x, from) = if reversed { (from, x) } else { (x, from) };
        let dtype = self.kernel.exprs.dtype(deviation);
        let of_x = |s: &&Statistic| s.op == Monoid::Sum && s.of == x;
        let sum = *self.statistics.iter().find(of_x)?;
        if self.varies(from) || !self.statistics_read(x).is_empty() {
            return None;
        }
        let points = self.cut.done.points.clone();
        let points = self.kernel.exprs.index(points);
        let points = self.kernel.exprs.cast(dtype, points);
        let [mean, stored] = [Of::Part, Of::Workspace].map(|of| {
            let sum = self.of_part(sum, of);
            self.kernel.exprs.alu(Alu::Div, &[sum, points])
        });
        let (own, by) = if reversed { ([mean, x], [from, stored]) } else { ([x, mean], [stored, from]) };
        let own = self.kernel.exprs.alu(Alu::Sub, &own);
        Some((own, Moved { by, points }))
    }

    /// The least `p` at which `x = m`, or `x` is NaN.
    fn position(&mut self, element: ExprId) -> Option<Local> {
        let Expr::Alu(Alu::Where, operands) = self.kernel.exprs.get(element) else { return None };
        let [found, at, none] = operands[..].try_into().ok()?;
        let equal = self.binary(Alu::Or, found).map_or(found, |[equal, _]| equal);
        let [x, extremum] = self.binary(Alu::Eq, equal)?;
        let is_nan = |e: ExprId| self.binary(Alu::Ne, e) == Some([x, x]);
        if self.binary(Alu::Or, found).is_some_and(|[_, other]| !is_nan(other)) {
            return None;
        }
        let known = self.statistic(extremum).filter(|s| matches!(s.op, Monoid::Max | Monoid::Min) && s.of == x)?;
        if !self.statistics_read(at).is_empty() || !matches!(self.kernel.exprs.get(none), Expr::Const(_)) {
            return None;
        }
        let part = self.of_part(known, Of::Workspace);
        Some(Local { element: self.at_part(element, Of::Part)?, rebase: Rebase::Position([part, extremum]) })
    }
}
