//! How reductions are computed: rewritings of graphs and of kernels that choose nothing about loops.

pub(crate) mod accumulator;
mod apart;
pub(crate) mod blocks;
pub(crate) mod corrected_variance;
mod depth;
pub(crate) mod hoist;
mod order;
pub(crate) mod postponed_division;
pub(crate) mod rebase;
pub(crate) mod two_stage;
