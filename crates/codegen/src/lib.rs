//! svod-codegen

pub mod math;
