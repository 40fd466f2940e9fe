//! What can go wrong with a model.

use std::path::PathBuf;

use svod_tensor::{ErrorKind, TensorError};

/// The result of what works on models.
pub type Result<T, E = OnnxError> = std::result::Result<T, E>;

/// What can go wrong with a model. Each message names the node or value, and the reason.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnnxError {
    /// A file that cannot be read.
    #[error("{}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        message: String,
    },
    /// Bytes that are no model.
    #[error("not an ONNX model: {0}")]
    Format(String),
    /// A graph that cannot be computed, whatever it is given.
    #[error("{0}")]
    Graph(String),
    /// A tensor of constants that is not what it says it is.
    #[error("tensor '{name}': {message}")]
    Constant {
        /// Its name.
        name: String,
        /// What is wrong.
        message: String,
    },
    /// A node that cannot be computed.
    #[error("node {node}: {source}")]
    Node {
        /// The node, by name and operator.
        node: String,
        /// Why.
        source: Box<Fault>,
    },
    /// What a model is given that does not fit.
    #[error("{0}")]
    Argument(String),
    /// Planning and running.
    #[error(transparent)]
    Tensor(Box<TensorError>),
}

/// Why a node cannot be computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Operands or attributes that the operator does not take.
    #[error("{0}")]
    Invalid(String),
    /// What svod does not compute.
    #[error("{0}")]
    Unsupported(String),
    /// A tensor operation.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A node of a graph or a function inside of this node.
    #[error(transparent)]
    Inside(Box<OnnxError>),
}

impl From<TensorError> for OnnxError {
    fn from(error: TensorError) -> Self {
        OnnxError::Tensor(Box::new(error))
    }
}

impl From<OnnxError> for Fault {
    fn from(error: OnnxError) -> Self {
        Fault::Inside(Box::new(error))
    }
}

impl OnnxError {
    /// The sort of error, as of tensors.
    pub fn kind(&self) -> ErrorKind {
        match self {
            OnnxError::File { .. } => ErrorKind::File,
            OnnxError::Format(_) | OnnxError::Graph(_) | OnnxError::Constant { .. } => ErrorKind::Missing,
            OnnxError::Argument(_) => ErrorKind::Value,
            OnnxError::Node { source, .. } => match &**source {
                Fault::Invalid(_) => ErrorKind::Value,
                Fault::Unsupported(_) => ErrorKind::Unsupported,
                Fault::Tensor(error) => error.kind(),
                Fault::Inside(error) => error.kind(),
            },
            OnnxError::Tensor(error) => error.kind(),
        }
    }

    /// The tensor operation that failed, if one did.
    pub(crate) fn of_tensor(&self) -> Option<&TensorError> {
        match self {
            OnnxError::Tensor(error) => Some(error),
            OnnxError::Node { source, .. } => match &**source {
                Fault::Tensor(error) => Some(error),
                Fault::Inside(error) => error.of_tensor(),
                _ => None,
            },
            _ => None,
        }
    }
}
