//! Code generation: loop trees to callable machine code.
//!
//! ```text
//! Lowered ──► Linear ──► LLVM text ──► object code ──► memory
//!      lower        llvm        machine          load
//! ```
//!
//! [`compile()`] goes all the way to object code, [`load()`] on to an entry point per phase. Contraction
//! tiles ([`tile`]) are compiled once per target and called; transcendental functions ([`math`]) are
//! straight-line arithmetic. Nothing else is called: no library of the system.

mod compile;
mod error;
pub mod gpu;
pub mod host;
pub mod llvm;
pub mod load;
pub mod lower;
pub mod machine;
pub mod math;
pub mod tile;

pub use compile::{
    Object, PhaseCode, Timings, assembly, compile, compile_many, install_tile, load, tile_address, tile_object,
};
pub use error::CompileError;
