//! What sums are added up in: the type of a total, and how many additions one accumulator takes.
//!
//! See [`crate::lower`]'s cascade for why long sums go block by block.

use crate::costs::limits::sums;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprPool};
use svod_ir::kernel::{Carry, Monoid};

/// Whether the order of additions matters, and is free.
pub(crate) fn cascades(carries: &[Carry]) -> bool {
    let long = |c: &Carry| c.op == Monoid::Sum && c.dtype.is_float();
    carries.iter().any(long) && carries.iter().all(Carry::is_plain)
}

/// The types in which long sums, or sums of parts, of carries are added up. Products of two operands differ, so that
/// those stay.
pub(crate) fn totalled_in(exprs: &ExprPool, carries: &[Carry]) -> Vec<DType> {
    let products = are_products(exprs, carries);
    let wide = |c: &Carry| !products && c.op == Monoid::Sum && c.dtype == DType::F32;
    carries.iter().map(|c| if wide(c) { DType::F64 } else { c.dtype }).collect()
}

/// Whether some totals are wider than what is added to them.
pub(crate) fn totals_are_wider(exprs: &ExprPool, carries: &[Carry]) -> bool {
    carries.iter().zip(totalled_in(exprs, carries)).any(|(carry, total)| carry.dtype != total)
}

/// Additions that one accumulator of such carries takes at most, where nothing is in the way of a cascade.
pub(crate) fn longest_sum(exprs: &ExprPool, carries: &[Carry]) -> i64 {
    match are_products(exprs, carries) {
        true => sums::LONGEST_OF_PRODUCTS,
        false if totals_are_wider(exprs, carries) => sums::LONGEST_PART,
        false => sums::LONGEST,
    }
}

fn are_products(exprs: &ExprPool, carries: &[Carry]) -> bool {
    carries.iter().all(|c| matches!(exprs.get(c.element), Expr::Alu(Alu::Mul, _)))
}
