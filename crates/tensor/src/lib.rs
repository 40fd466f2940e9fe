//! Lazy tensors.
//!
//! A [`Tensor`] is a handle to an expression; methods build larger expressions, and
//! [`Tensor::realize`] or a plan from [`Tensor::prepare`] computes them. Values never alias: an
//! assignment rebinds its handle, and what was built on the earlier value keeps it.
//!
//! ```
//! use svod_tensor::{Result, Tensor};
//!
//! fn main() -> Result<()> {
//!     let w = Tensor::rand(&[64, 32], None)?;
//!     let x = Tensor::from_slice(&[0.5f32; 8 * 64], &[8, 64])?;
//!     let y = x.matmul(&w)?.softmax(-1)?; // a graph: nothing has run yet
//!     let plan = y.prepare(&[&x])?; // compiled once …
//!     plan.execute()?;
//!     let other = Tensor::from_slice(&[1.0f32; 8 * 64], &[8, 64])?;
//!     plan.execute_on(&[&other], &[])?; // … run again and again with other data
//!     let first_row: f32 = y.to_vec::<f32>()?[..32].iter().sum();
//!     assert!((first_row - 1.0).abs() < 1e-5);
//!     Ok(())
//! }
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `create` | from memory, constants, ranges, files |
//! | `elementwise`, `operand` | scalar functions; broadcasting and promotion |
//! | `movement`, `combine` | shapes; joining and splitting |
//! | `index`, `assign`, `view`, `gather` | basic and integer-array indexing; `t[i] = v`, and where it is an error; lookups |
//! | `reduce`, `masked`, `nn`, `norm` | folds and scans, and folds of some elements; layers |
//! | `complex` | complex numbers, as pairs of real ones |
//! | `matmul`, `attention`, `einsum` | contractions |
//! | `fft`, `linalg`, `host` | Fourier transforms and factors of matrices, by functions of the host |
//! | `window`, `conv`, `pool` | windows over dimensions, convolved and pooled |
//! | `devices` | values on devices, one or several |
//! | `iterate` | loops, and functions of the host |
//! | `derivative` | gradients of graphs, as graphs |
//! | `trace` | functions that are called once to learn their graph |
//! | `random` | values drawn from the counter-based generator |
//! | `memory`, `realize`, `plan`, `constants`, `lookups`, `read` | what is in memory: running, and taking values out |
//! | `step` | a step of training: all of its values or none, and what depends on those before |
//! | `first_nan` | which operation made the NaN that a run failed by |
//! | `pieces`, `joins`, `single`, `folded`, `staged` | reads that need no kernel, or several graphs one after the other |

mod assign;
mod attention;
mod batch;
mod combine;
mod complex;
mod constants;
mod control;
mod conv;
mod create;
pub mod derivative;
mod devices;
mod donate;
mod einsum;
mod elementwise;
mod error;
mod extremes;
mod feeds;
mod fft;
mod first_nan;
mod folded;
mod gather;
mod host;
mod in_place;
mod index;
mod iterate;
mod joins;
mod kept;
mod linalg;
mod lookups;
mod masked;
mod matmul;
mod memory;
mod movement;
mod named;
mod nn;
mod norm;
mod operand;
mod order;
mod output;
mod pieces;
mod plan;
mod pool;
mod random;
mod read;
mod realize;
mod reduce;
mod scatter;
mod single;
mod sources;
mod staged;
mod steady;
mod step;
pub mod template;
mod tensor;
mod total;
mod trace;
mod view;
mod window;

pub use attention::Attention;
pub use batch::batched;
pub use conv::Conv;
pub use create::Element;
pub use devices::with_default_device;
pub use error::{ErrorKind, Result, TensorError};
pub use feeds::{Content, Input, KeptInputs};
pub use index::Index;
pub use linalg::Factor;
pub use masked::Masked;
pub use operand::Operand;
pub use plan::{Given, Plan, misfit, named};
pub use pool::Pool;
pub use random::{Draws, Generator, State as GeneratorState, Taken, manual_seed};
pub use reduce::Running;
pub use scatter::Reduction;
pub use steady::{with_constants, with_values};
pub use step::Before;
pub use svod_dtype::DType;
pub use svod_ir::graph::{Device, Origin, UOp};
pub use svod_ir::size::{BoundVariable, Size, Variable};
pub use svod_numeric::linalg::Failure as MatrixFailure;
pub use svod_runtime::beam::serve_if_worker;
pub use svod_runtime::{Feed, Function, Memory, PrepareConfig};
pub use tensor::Tensor;
pub use trace::{Comparison, Decision, Facts, Found, Gathered, SizeValues, Trace, Traced};
pub use view::before_refusals;
pub use window::Padding;

/// The program of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Documentation;
