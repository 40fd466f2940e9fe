//! ONNX models as svod's expressions.
//!
//! A [`Model`] is read from a file, checked, and called with tensors: what is computed is compiled once for the sizes,
//! or for all sizes up to a bound where the model names them.
//!
//! ```no_run
//! use svod_onnx::Model;
//! use svod_tensor::Tensor;
//!
//! let model = Model::open("model.onnx")?;
//! let image = Tensor::zeros(&[1, 3, 224, 224], svod_tensor::DType::F32)?;
//! let results = model.run(&[Some(image.into())])?;
//! println!("{:?}", results[0].tensor()?.to_vec::<f32>()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `proto` | the messages of the format |
//! | `graph`, `constants`, `types` | a checked graph, and its constants |
//! | `schema` | what operators take |
//! | `value`, `call`, `interpret` | values, and nodes that become expressions |
//! | `operators` | the table of operators |
//! | `model`, `plan` | models, and what is compiled of them |

mod call;
mod constants;
mod error;
mod graph;
mod interpret;
mod model;
mod operators;
mod plan;
pub mod proto;
mod schema;
mod types;
mod value;

pub use error::{Fault, OnnxError, Result};
pub use model::{Extent, Model, Port};
pub use operators::supported;
pub use plan::OPEN;
pub use value::{Sizes, Value};
