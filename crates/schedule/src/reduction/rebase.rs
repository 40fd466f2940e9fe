//! Values that are told in terms of a statistic, and what they are in terms of another one.
//!
//! Sums of deviations are told in terms of a mean, sums of exponentials in terms of a maximum, the position of an extremum
//! in terms of the extremum. Each is a monoid over a tuple of state, statistic and value: the statistics of two parts are
//! combined by themselves; each part's value is *rebased* to the statistic of the whole, and rebased values are combined
//! by a plain operation `+`. With `v[b]` for a value in terms of the statistic `b` and `v[b -> m]` for what it is in
//! terms of `m`:
//!
//! | state | statistic | value | `+` | `v[b -> m]` |
//! |---|---|---|---|---|
//! | exponentials (Milakov and Gimelshein 2018) | maximum | `s = sum g exp(x - b)` | sum | `exp(b - m) s` |
//! | deviations | any centre | `r = sum (x - b)`, of n points | sum | `r + n (b - m)` |
//! | moments (Chan, Golub and LeVeque 1979) | any centre | `q = sum (x - b)^2` beside `r` | sum | `q + (b - m) (2 r + n (b - m))` |
//! | first position | extremum | least `p` with `x(p) = b` | min | `p` if `b = m`, else none |
//!
//! Three equations make that right for any number of parts, in any order of combining, as the tests check for each row:
//!
//! ```text
//! v[b -> b]         = v
//! v[a -> b][b -> c] = v[a -> c]
//! (v + w)[b -> m]   = v[b -> m] + w[b -> m]
//! ```
//!
//! and a fourth says that it is the right value: the value of one point, rebased, is that of the point in terms of `m`.

use svod_dtype::Const;
use svod_ir::alu::Alu;
use svod_ir::expr::{ExprId, ExprPool};
use svod_ir::kernel::Monoid;

/// How a part's value becomes what it is in terms of the whole's statistic: a row of the [table](self).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rebase {
    /// It does not depend on them.
    Same,
    /// A sum of exponentials: the maximum of a part and of the whole, and what is subtracted for each.
    Exponentials { maxima: [ExprId; 2], subtracted: [ExprId; 2], exp: Alu },
    /// A sum of deviations.
    Deviations(Moved),
    /// A sum of squared deviations, and which running value of the reduction sums the deviations.
    Squares(Moved, usize),
    /// A first position: the extremum of a part and of the whole.
    Position([ExprId; 2]),
}

/// By how much a point deviates more from the whole's centre than from the part's, as a difference of two; and the
/// part's points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    pub by: [ExprId; 2],
    pub points: ExprId,
}

impl Rebase {
    /// What the value `own` of `values`, which are all of a part, is in terms of the whole's statistic.
    pub(crate) fn rebased(&self, pool: &mut ExprPool, own: usize, values: &[ExprId]) -> ExprId {
        let value = values[own];
        let dtype = pool.dtype(value);
        match *self {
            Rebase::Same => value,
            Rebase::Exponentials { maxima: [of_part, of_whole], subtracted: [before, after], exp } => {
                let moved = pool.alu(Alu::Sub, &[before, after]);
                let factor = pool.alu(exp, &[moved]);
                let factor = if pool.dtype(factor) == dtype { factor } else { pool.cast(dtype, factor) };
                let scaled = pool.alu(Alu::Mul, &[value, factor]);
                // A part of nothing but -inf adds 0, whatever it gave, unless that is all there is.
                let least = Const::min_value(pool.dtype(of_part));
                let (least, zero) = (pool.constant(least), pool.constant(Const::zero(dtype)));
                let nothing = pool.alu(Alu::Eq, &[of_part, least]);
                let scaled = pool.alu(Alu::Where, &[nothing, zero, scaled]);
                let same = pool.alu(Alu::Eq, &[of_part, of_whole]);
                pool.alu(Alu::Where, &[same, value, scaled])
            }
            Rebase::Deviations(Moved { by, points }) => {
                let by = pool.alu(Alu::Sub, &by);
                let moved = pool.alu(Alu::Mul, &[points, by]);
                pool.alu(Alu::Add, &[value, moved])
            }
            Rebase::Squares(Moved { by, points }, deviations) => {
                let by = pool.alu(Alu::Sub, &by);
                let moved = pool.alu(Alu::Mul, &[points, by]);
                let twice = pool.alu(Alu::Add, &[values[deviations], values[deviations]]);
                let moved = pool.alu(Alu::Add, &[twice, moved]);
                let moved = pool.alu(Alu::Mul, &[by, moved]);
                pool.alu(Alu::Add, &[value, moved])
            }
            Rebase::Position([of_part, of_whole]) => {
                let mut here = pool.alu(Alu::Eq, &[of_part, of_whole]);
                if pool.dtype(of_part).is_float() {
                    let nan = pool.alu(Alu::Ne, &[of_part, of_part]);
                    here = pool.alu(Alu::Or, &[here, nan]);
                }
                let none = pool.constant(Monoid::Min.identity(dtype));
                pool.alu(Alu::Where, &[here, value, none])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use svod_dtype::DType;
    use svod_ir::buffer::HostBuffer;
    use svod_ir::expr::{Mem, ParamId};
    use svod_ir::kernel::{Axis, AxisId, Body, Kernel, Out, Param, Stage};
    use svod_ir::size::{Size, Variable};

    const F64: DType = DType::F64;
    /// The position of nothing.
    const NONE: f64 = f64::INFINITY;

    /// A row of the table, as equations to compare with.
    struct Row {
        name: &'static str,
        /// The statistic of some points.
        statistic: fn(&[f64]) -> f64,
        /// Their values in terms of any statistic; the first point has this position.
        values: fn(&[f64], usize, f64) -> Vec<f64>,
        /// Of two values, that of both.
        plus: fn(f64, f64) -> f64,
        /// The values' rebasing, from a statistic to another, for so many points.
        rebases: fn([ExprId; 2], ExprId) -> Vec<Rebase>,
    }

    fn greatest(x: &[f64]) -> f64 {
        x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    fn mean(x: &[f64]) -> f64 {
        x.iter().sum::<f64>() / x.len() as f64
    }

    fn first(x: &[f64], position: usize, m: f64) -> Vec<f64> {
        vec![x.iter().position(|x| *x == m).map_or(NONE, |at| (position + at) as f64)]
    }

    const ROWS: [Row; 3] = [
        Row {
            name: "exponentials",
            statistic: greatest,
            values: |x, _, m| vec![x.iter().map(|x| (x - m).exp()).sum()],
            plus: |a, b| a + b,
            rebases: |between, _| vec![Rebase::Exponentials { maxima: between, subtracted: between, exp: Alu::Exp }],
        },
        Row {
            name: "moments",
            statistic: mean,
            values: |x, _, m| vec![x.iter().map(|x| x - m).sum(), x.iter().map(|x| (x - m) * (x - m)).sum()],
            plus: |a, b| a + b,
            rebases: |by, points| {
                vec![Rebase::Deviations(Moved { by, points }), Rebase::Squares(Moved { by, points }, 0)]
            },
        },
        Row {
            name: "first position",
            statistic: greatest,
            values: first,
            plus: f64::min,
            rebases: |between, _| vec![Rebase::Position(between)],
        },
    ];

    /// Values in terms of `from`, in terms of `to`: computed as a kernel does.
    fn rebased(row: &Row, values: &[f64], [from, to]: [f64; 2], points: usize) -> Vec<f64> {
        let inputs = [values, &[from, to, points as f64]].concat();
        let mut kernel = Kernel { name: "rebase".into(), ..Kernel::default() };
        kernel.axes.push(Axis { var: Variable::internal("i", 0, 0).unwrap(), extent: Size::from(1) });
        let index = [kernel.exprs.index(&kernel.axes[0].var)];
        let param = || Param { dtype: F64, shape: vec![Size::from(1)], constant: false };
        let loads: Vec<ExprId> = (0..inputs.len())
            .map(|p| {
                kernel.params.push(param());
                kernel.exprs.load(F64, Mem::Param(ParamId(p as u32)), &index)
            })
            .collect();
        let (own, about) = loads.split_at(values.len());
        let all = (row.rebases)([about[0], about[1]], about[2]);
        let results: Vec<ExprId> =
            all.iter().enumerate().map(|(n, rebase)| rebase.rebased(&mut kernel.exprs, n, own)).collect();
        let outs = (inputs.len()..inputs.len() + results.len()).map(|p| {
            kernel.params.push(param());
            Out::Param { param: ParamId(p as u32), index: index.to_vec() }
        });
        let outs = outs.collect();
        kernel.stages.push(Stage { name: "out".into(), over: vec![AxisId(0)], body: Body::Map(results), outs });
        kernel.verify().unwrap();
        let zeros = std::iter::repeat_n(0.0, all.len());
        let mut buffers: Vec<HostBuffer> =
            inputs.iter().copied().chain(zeros).map(|x| HostBuffer::from_f64(F64, [x])).collect();
        kernel.interpret(&[], &mut buffers).unwrap();
        buffers[inputs.len()..].iter().map(|buffer| buffer.to_f64()[0]).collect()
    }

    fn close(row: &Row, got: &[f64], want: &[f64]) -> Result<(), TestCaseError> {
        for (a, b) in got.iter().zip(want) {
            let equal = a == b || (a - b).abs() <= 1e-9 * (1.0 + b.abs());
            prop_assert!(equal, "{}: {got:?}, not {want:?}", row.name);
        }
        Ok(())
    }

    /// Few different numbers, so that extrema are met several times.
    fn points() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((-6i32..6).prop_map(|x| f64::from(x) / 2.0), 1..6)
    }

    proptest! {
        #[test]
        fn the_equations_of_the_table_hold(x in points(), y in points(), z in points()) {
            for row in &ROWS {
                // Statistics of more and more points, as combining meets them.
                let all = [&x[..], &y, &z];
                let upto = |n: usize| (row.statistic)(&all[..n].concat());
                let [a, b, c] = [1, 2, 3].map(upto);
                let of = |x: &[f64], at| (row.values)(x, 0, at);
                let v = of(&x, a);
                close(row, &rebased(row, &v, [a, a], x.len()), &v)?;
                let by_way = rebased(row, &rebased(row, &v, [a, b], x.len()), [b, c], x.len());
                close(row, &by_way, &rebased(row, &v, [a, c], x.len()))?;
                close(row, &rebased(row, &v, [a, c], x.len()), &of(&x, c))?;
                let plus = |v: &[f64], w: &[f64]| -> Vec<f64> {
                    v.iter().zip(w).map(|(v, w)| (row.plus)(*v, *w)).collect()
                };
                let w = of(&y, a);
                let sum = rebased(row, &plus(&v, &w), [a, c], x.len() + y.len());
                close(row, &sum, &plus(&rebased(row, &v, [a, c], x.len()), &rebased(row, &w, [a, c], y.len())))?;
            }
        }

        #[test]
        fn parts_give_what_the_whole_gives(parts in prop::collection::vec(points(), 1..5), order in any::<u64>()) {
            for row in &ROWS {
                let whole = parts.concat();
                let m = (row.statistic)(&whole);
                let mut position = 0;
                let mut values = Vec::new();
                for part in &parts {
                    let own = (row.statistic)(part);
                    values.push(rebased(row, &(row.values)(part, position, own), [own, m], part.len()));
                    position += part.len();
                }
                // In any order.
                let turn = order as usize % values.len();
                values.rotate_left(turn);
                let combined = values.into_iter().reduce(|v, w| {
                    v.iter().zip(&w).map(|(v, w)| (row.plus)(*v, *w)).collect()
                });
                close(row, &combined.unwrap(), &(row.values)(&whole, 0, m))?;
            }
        }
    }

    #[test]
    fn a_part_of_nothing_but_infinities_adds_nothing() {
        let nothing = [f64::NEG_INFINITY; 2];
        let own: Vec<f64> = (ROWS[0].values)(&nothing, 0, f64::NEG_INFINITY);
        assert!(own[0].is_nan());
        assert_eq!(rebased(&ROWS[0], &own, [f64::NEG_INFINITY, 1.0], 2), [0.0]);
    }

    #[test]
    fn where_an_extremum_is_nan_each_part_has_its_first() {
        assert_eq!(rebased(&ROWS[2], &[3.0], [f64::NAN, f64::NAN], 2), [3.0]);
        assert_eq!(rebased(&ROWS[2], &[3.0], [1.0, f64::NAN], 2), [NONE]);
    }
}
