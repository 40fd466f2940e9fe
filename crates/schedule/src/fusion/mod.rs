//! What shares a kernel: [`fuse`] decides for nodes of a graph, [`merge`] for kernels.

pub(crate) mod fuse;
pub(crate) mod merge;
mod purpose;

pub use purpose::Purpose;
