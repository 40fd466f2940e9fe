//! Recognising phases that are matrix products, for devices that have kernels of these.
//!
//! A task is one element of the result: a temporary is 0, the product of an element of A and one of B is added at each step
//! of a loop, and what is made of the sum is stored.

use super::{LoopKind, Lowered, Phase, Stmt};
use crate::alu::Alu;
use crate::expr::{Expr, ExprId, ExprPool, Mem, ParamId, TempId};
use crate::size::{Atom, Size, Variable};
use svod_dtype::DType;

/// An operand: an argument, in elements from whose start element (0, 0) of its first matrix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductOperand {
    /// The argument.
    pub param: ParamId,
    /// Where element (0, 0) is.
    pub offset: i64,
    /// Elements between rows (of A and C) or columns (of B).
    pub outer: i64,
    /// Elements between steps of the depth, or columns of C.
    pub inner: i64,
    /// Elements between matrices of a group; 0 where all share one.
    pub batch: i64,
    /// Elements between groups of matrices.
    pub group: i64,
}

/// A phase that is a product: `c[b, m, n] = epilogue(sum over k of a[b, m, k] * b[b, n, k])`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// Type of A and B. Sums are f32, or i32 of int8 and uint8.
    pub dtype: DType,
    /// A, B and C. The columns of C are side by side.
    pub operands: [ProductOperand; 3],
    /// Numbers of matrices, rows, columns and steps of the depth, none of which is 0.
    pub sizes: [i64; 4],
    /// Matrices of a group; all of them, where those of each operand are at equal distances. Heads of a sentence are one.
    pub group: i64,
    /// The counter of rows.
    pub rows: Variable,
    /// The counter of columns.
    pub columns: Variable,
    /// Counters of the batch, outermost first, and their numbers of iterations.
    pub batch: Vec<(Variable, i64)>,
    /// Temporaries that are the sum.
    pub sums: Vec<TempId>,
    /// What is stored in C, in terms of these.
    pub value: ExprId,
}

impl Lowered {
    /// The product that this is, if it is one phase that is a product of known sizes.
    pub fn product(&self) -> Option<Product> {
        let [phase] = &self.phases[..] else { return None };
        (self.guards.is_empty() && self.vars.is_empty() && !self.strict).then_some(())?;
        let [first, middle @ .., last] = &phase.body[..] else { return None };
        let (sum, carried) = zeroed(phase, first)?;
        let (depth, copies) = middle.split_first()?;
        let mut sums = vec![sum];
        for copy in copies {
            sums.push(copied(phase, copy, &sums)?);
        }
        let (counter, k, factors) = summed(phase, depth, sum)?;
        let Stmt::Store { to: Mem::Param(c), index, value, valid: None } = last else { return None };
        if phase.temps.iter().any(|temp| temp.shape.iter().any(|n| n.as_const() != Some(1))) {
            return None;
        }

        let mut grid = Vec::new();
        for l in &phase.grid {
            grid.push((l.var.clone(), l.extent.as_const().filter(|n| *n > 0)?));
        }
        // Of each operand, where it starts and how far it is from one to the next of each counter and of the depth.
        let counters: Vec<Variable> = grid.iter().map(|(var, _)| var.clone()).chain([counter]).collect();
        let a = self.affine_of(&phase.exprs, factors[0], carried, &counters)?;
        let b = self.affine_of(&phase.exprs, factors[1], carried, &counters)?;
        let c = self.position(&phase.exprs, *c, index, &counters)?;
        let adds = if carried == DType::I32 { matches!(a.dtype, DType::I8 | DType::U8) } else { a.dtype.is_float() };
        (a.dtype == b.dtype && adds).then_some(())?;
        // Columns are what is side by side in C, and belong to one factor; rows belong to the other.
        let at_depth = grid.len();
        let own = |of: &Affine, other: &Affine, n: usize| of.strides[n] != 0 && other.strides[n] == 0;
        let candidates = |of: &Affine, other: &Affine| -> Vec<usize> {
            (0..grid.len()).filter(|n| own(of, other, *n) && grid[*n].1 > 1).collect()
        };
        let column = |of: &Affine, other: &Affine| candidates(of, other).into_iter().find(|n| c.strides[*n] == 1);
        let (a, b, column) = match (column(&b, &a), column(&a, &b)) {
            (Some(n), _) => (a, b, n),
            (None, Some(n)) => (b, a, n),
            (None, None) => return None,
        };
        let side_by_side = |n: &usize| a.strides[*n] == 1 || a.strides[at_depth] == 1;
        let row = candidates(&a, &b).into_iter().rfind(side_by_side)?;
        let others: Vec<usize> = (0..grid.len()).filter(|n| *n != row && *n != column).collect();
        let batch: Vec<(Variable, i64)> = others.iter().map(|n| grid[*n].clone()).collect();
        // Groups are counted by the first so many counters.
        let operand = |of: &Affine, (outer, inner): (usize, usize), groups: usize| -> Option<ProductOperand> {
            let strides: Vec<(i64, i64)> = others.iter().map(|n| (grid[*n].1, of.strides[*n])).collect();
            let (outer, inner) = (of.strides[outer], of.strides[inner]);
            let (group, batch) = (collapsed(&strides[..groups])?, collapsed(&strides[groups..])?);
            Some(ProductOperand { param: of.param, offset: of.offset, outer, inner, batch, group })
        };
        let (groups, operands) = (0..=others.len()).find_map(|groups| {
            let a = operand(&a, (row, at_depth), groups)?;
            let b = operand(&b, (column, at_depth), groups)?;
            Some((groups, [a, b, operand(&c, (row, column), groups)?]))
        })?;
        let matrices = |of: &[(Variable, i64)]| of.iter().map(|(_, n)| *n).product();
        Some(Product {
            dtype: a.dtype,
            operands,
            sizes: [matrices(&batch), grid[row].1, grid[column].1, k],
            group: matrices(&batch[groups..]),
            rows: grid[row].0.clone(),
            columns: grid[column].0.clone(),
            batch,
            sums,
            value: *value,
        })
    }

    /// A factor: an element of an argument, converted to the type of sums.
    pub(super) fn affine_of(
        &self,
        exprs: &ExprPool,
        factor: ExprId,
        carried: DType,
        counters: &[Variable],
    ) -> Option<Affine> {
        let load = match exprs.get(factor) {
            Expr::Cast(to, load) if *to == carried => *load,
            _ => factor,
        };
        match exprs.get(load) {
            Expr::Load { from: Mem::Param(param), index, valid: None, .. } => {
                self.position(exprs, *param, index, counters)
            }
            _ => None,
        }
    }

    /// Where an element of an argument is.
    pub(super) fn position(
        &self,
        exprs: &ExprPool,
        param: ParamId,
        index: &[ExprId],
        counters: &[Variable],
    ) -> Option<Affine> {
        let of = &self.params[param.0 as usize];
        let mut position = Size::from(0);
        for (index, extent) in index.iter().zip(&of.shape) {
            let Expr::Index(index) = exprs.get(*index) else { return None };
            position = position * Size::from(extent.as_const()?) + index.clone();
        }
        let (mut offset, mut strides) = (0, vec![0; counters.len()]);
        match position.as_const() {
            Some(n) => offset = n,
            None => {
                for term in position.terms()? {
                    match term.factors() {
                        [] => offset += term.coefficient(),
                        [Atom::Var(var)] => strides[counters.iter().position(|c| c == var)?] += term.coefficient(),
                        _ => return None,
                    }
                }
            }
        }
        (offset >= 0 && strides.iter().all(|n| *n >= 0)).then_some(Affine { param, dtype: of.dtype, offset, strides })
    }
}

/// Where an operand's element is: so far from the start, and for each counter.
pub(super) struct Affine {
    pub param: ParamId,
    pub dtype: DType,
    pub offset: i64,
    pub strides: Vec<i64>,
}

/// The stride of several counters together, of which each has a number of iterations and a stride.
pub(super) fn collapsed(counters: &[(i64, i64)]) -> Option<i64> {
    let counters: Vec<_> = counters.iter().filter(|(n, _)| *n > 1).collect();
    let together = counters.windows(2).all(|pair| pair[0].1 == pair[1].0 * pair[1].1);
    together.then(|| counters.last().map_or(0, |(_, stride)| *stride))
}

/// The temporary that a statement makes 0, and its type: that of sums of tensor cores.
fn zeroed(phase: &Phase, stmt: &Stmt) -> Option<(TempId, DType)> {
    let Stmt::Store { to: Mem::Temp(sum, 0), value, valid: None, .. } = stmt else { return None };
    let Expr::Const(c) = phase.exprs.get(*value) else { return None };
    (matches!(c.dtype(), DType::F32 | DType::I32) && c.as_f64() == 0.0).then_some((*sum, c.dtype()))
}

/// The temporary that a statement makes equal to one of these.
fn copied(phase: &Phase, stmt: &Stmt, of: &[TempId]) -> Option<TempId> {
    let Stmt::Store { to: Mem::Temp(copy, 0), value, valid: None, .. } = stmt else { return None };
    let Expr::Load { from: Mem::Temp(sum, 0), valid: None, .. } = phase.exprs.get(*value) else { return None };
    of.contains(sum).then_some(*copy)
}

/// The counter, the number of steps and the factors of a loop that adds products to a temporary.
fn summed(phase: &Phase, stmt: &Stmt, sum: TempId) -> Option<(Variable, i64, [ExprId; 2])> {
    let Stmt::Loop(depth, body) = stmt else { return None };
    let [Stmt::Store { to: Mem::Temp(to, 0), value, valid: None, .. }] = &body[..] else { return None };
    let Expr::Alu(Alu::Add, terms) = phase.exprs.get(*value) else { return None };
    let is_sum = |e: &ExprId| matches!(phase.exprs.get(*e), Expr::Load { from: Mem::Temp(t, 0), .. } if *t == sum);
    let product = match &terms[..] {
        [a, b] if is_sum(a) => *b,
        [a, b] if is_sum(b) => *a,
        _ => return None,
    };
    let Expr::Alu(Alu::Mul, factors) = phase.exprs.get(product) else { return None };
    let k = depth.extent.as_const().filter(|k| *k > 0)?;
    (*to == sum && depth.kind == LoopKind::Serial).then(|| (depth.var.clone(), k, [factors[0], factors[1]]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn product(text: &str) -> Option<Product> {
        Lowered::parse(text).unwrap().product()
    }

    const PLAIN: &str = "lowered matmul
param p0: bf16[3, 64, 96]
param p1: bf16[96, 128]
param p2: bf16[3, 64, 128]

phase
grid b < 3, i < 64, j < 128
temp s0: f32[1] scratch
temp s0_acc: f32[1] register
{
  s0_acc[0] = f32(0.0)
  serial k < 96 {
    s0_acc[0] = s0_acc[0] + cast(f32, p0[b, i, k]) * cast(f32, p1[k, j])
  }
  s0[0] = s0_acc[0]
  p2[b, i, j] = cast(bf16, s0[0])
}
";

    #[test]
    fn a_product_is_found_with_its_strides() {
        let found = product(PLAIN).unwrap();
        let operand = |param, outer, inner, batch| ProductOperand {
            param: ParamId(param),
            offset: 0,
            outer,
            inner,
            batch,
            group: 0,
        };
        assert_eq!(found.operands, [operand(0, 96, 1, 6144), operand(1, 1, 128, 0), operand(2, 128, 1, 8192)]);
        assert_eq!((found.dtype, found.sizes, found.sums.len()), (DType::BF16, [3, 64, 128, 96], 2));
        // A transposed result: the factors change places.
        let swapped = PLAIN.replace("p2[b, i, j]", "p2[b, j, i]").replace("bf16[3, 64, 128]", "bf16[3, 128, 64]");
        let found = product(&swapped).unwrap();
        assert_eq!(found.operands[0], operand(1, 1, 128, 0));
        assert_eq!((found.operands[2], found.sizes), (operand(2, 64, 1, 8192), [3, 128, 64, 96]));
    }

    #[test]
    fn bytes_are_summed_in_integers_or_floats_that_hold_their_products() {
        let integers = PLAIN.replace("bf16[3, 64, 96]", "i8[3, 64, 96]").replace("bf16[96, 128]", "i8[96, 128]");
        let integers = integers.replace("f32(0.0)", "i32(0)").replace("f32", "i32");
        assert_eq!(product(&integers).map(|found| found.dtype), Some(DType::I8));
        assert_eq!(product(&integers.replace("i8[", "u8[")).map(|found| found.dtype), Some(DType::U8));
        let floats = PLAIN.replace("bf16[3, 64, 96]", "f8e4m3[3, 64, 96]").replace("bf16[96, 128]", "f8e4m3[96, 128]");
        assert_eq!(product(&floats).map(|found| found.dtype), Some(DType::F8E4M3));
        // Sums of f32 round where integers do not; integers of 32 bits have no tensor cores.
        assert_eq!(
            product(&PLAIN.replace("bf16[3, 64, 96]", "i8[3, 64, 96]").replace("bf16[96, 128]", "i8[96, 128]")),
            None
        );
        let wide = integers
            .replace("i8[3", "i32[3")
            .replace("i8[96", "i32[96")
            .replace("cast(i32, p0[b, i, k])", "p0[b, i, k]");
        assert_eq!(product(&wide.replace("cast(i32, p1[k, j])", "p1[k, j]")), None);
    }

    #[test]
    fn matrices_may_be_in_groups() {
        // Heads side by side in the rows of B and C.
        let text = PLAIN
            .replace("grid b < 3", "grid s < 2, b < 3")
            .replace("p0: bf16[3,", "p0: bf16[2, 3,")
            .replace("p0[b,", "p0[s, b,")
            .replace("p1: bf16[96, 128]", "p1: bf16[2, 96, 3, 128]")
            .replace("p1[k, j]", "p1[s, k, b, j]")
            .replace("p2: bf16[3, 64, 128]", "p2: bf16[2, 64, 3, 128]")
            .replace("p2[b, i, j]", "p2[s, i, b, j]");
        let found = product(&text).unwrap();
        let strides = found.operands.map(|o| [o.outer, o.inner, o.batch, o.group]);
        assert_eq!(strides, [[96, 1, 6144, 18432], [1, 384, 128, 36864], [384, 1, 128, 24576]]);
        assert_eq!((found.sizes, found.group), ([6, 64, 128, 96], 3));
        assert_eq!(product(PLAIN).unwrap().group, 3);
    }

    #[test]
    fn other_phases_are_none() {
        for (from, to) in [
            ("f32(0.0)", "f32(1.0)"),
            ("serial k < 96", "serial k < 48 + i"),
            ("p0[b, i, k]", "p0[b, i, k//2]"),
            ("* cast(f32, p1[k, j])", "+ cast(f32, p1[k, j])"),
            ("s0[0] = s0_acc[0]", "s0[0] = s0_acc[0] + f32(1.0)"),
            ("p1[k, j]", "p1[k, 0]"),
        ] {
            assert!(PLAIN.contains(from));
            assert_eq!(product(&PLAIN.replace(from, to)), None, "{to}");
        }
    }
}
