//! Passes over graphs: values of several devices become values of single ones.

mod collective;
pub(crate) mod place;
pub(crate) mod rewritten;
pub(crate) mod shard;
