//! svod-codegen

mod error;
pub mod host;
pub mod load;
pub mod lower;
pub mod llvm;
mod machine;
pub mod math;
pub mod tile;

pub use error::CompileError;
