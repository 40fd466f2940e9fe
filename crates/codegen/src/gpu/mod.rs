//! Code for NVIDIA's GPUs: LLVM text for its NVPTX back end, which makes PTX of it.

pub mod product;
