//! One kernel: what it reads and computes, what kind it is, and its normal form.

pub(crate) mod access;
pub(crate) mod contraction;
pub(crate) mod names;
pub(crate) mod normalize;
mod ranged;
pub(crate) mod rewrite;
pub(crate) mod sized;
pub(crate) mod views;

pub(crate) use ranged::Ranged;
