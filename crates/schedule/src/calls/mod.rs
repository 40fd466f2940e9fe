//! Calls of kernels: their graph, their order, and which memory they read and write.

pub(crate) mod buffer_rotation;
pub(crate) mod in_place;
pub(crate) mod joined;
pub(crate) mod parameterise;
pub(crate) mod preschedule;
pub mod schedule_graph;
mod text;
