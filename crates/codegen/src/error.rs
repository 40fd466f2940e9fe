//! Why code cannot be generated.

use crate::lower::LowerError;

/// A failure of code generation. Except for [`CompileError::Unsupported`] it is a fault of the
/// compiler, not of the kernel; the message says how to report it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The loop tree has no linear list.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// LLVM has no back end for this target in this build, or rejects its description.
    #[error("no code generator for {target}: {why}")]
    Target {
        /// The target's processor.
        target: String,
        /// LLVM's message.
        why: String,
    },
    /// The generated module is not valid.
    #[error("the generated code of `{name}` is invalid (a fault of the compiler; SVOD_DEBUG=4 prints it): {why}")]
    Invalid {
        /// The module's name.
        name: String,
        /// LLVM's message.
        why: String,
    },
    /// The object code cannot be loaded.
    #[error("the object code of `{name}` cannot be loaded: {why}")]
    Load {
        /// The module's name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// Something that this target cannot do.
    #[error("{0} is not supported on this target")]
    Unsupported(String),
}
