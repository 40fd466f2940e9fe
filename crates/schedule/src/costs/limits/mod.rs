//! The numbers that decisions of this crate go by: all that have a name, and nowhere else.
//!
//! A file is a table of one subject, a row a constant: what it counts (its unit), and why it is what it is. What a
//! target's description says, such as lanes, registers, caches, warps, is taken from there. What differs between CPUs
//! and GPUs is one struct of both, [`tasks::Division`]. Where a bench set a number, `make bench-compare` of the family that
//! the file names is to be run, before and after, for another one.

pub(crate) mod code;
pub(crate) mod groups;
pub(crate) mod kernels;
pub(crate) mod memory;
pub(crate) mod products;
pub(crate) mod registers;
pub(crate) mod report;
pub(crate) mod sorts;
pub(crate) mod steps;
pub(crate) mod sums;
pub(crate) mod tasks;
pub(crate) mod variants;
