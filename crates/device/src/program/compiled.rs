//! Compiled code and how to call it.

use std::sync::Arc;

use svod_ir::lowered::Lowered;

use crate::launch::LaunchSizes;

/// What a runtime loads: source that it compiles itself, or code, never both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// For a runtime that compiles.
    Source(Arc<str>),
    /// Ready to load.
    Bytes(Arc<[u8]>),
}

/// Code and what is needed to call it.
#[derive(Clone, Debug)]
pub struct CompiledSpec {
    /// Name of the entry point of the first phase.
    pub name: String,
    /// The code of all phases.
    pub code: Code,
    /// The kernel.
    pub ast: Arc<Lowered>,
    /// Names of the variables, in the order of their values.
    pub var_names: Vec<String>,
    /// Launch sizes of each phase.
    pub launches: Vec<LaunchSizes>,
    /// Number of pointers that are passed.
    pub buffer_count: usize,
}

impl CompiledSpec {
    /// Source for a runtime that compiles itself; all sizes are 1.
    pub fn from_source(name: &str, source: &str, ast: Arc<Lowered>) -> Self {
        Self::new(name, Code::Source(source.into()), ast)
    }

    /// Source with launch sizes, one per phase.
    pub fn from_source_with_sizes(name: &str, source: &str, ast: Arc<Lowered>, launches: Vec<LaunchSizes>) -> Self {
        CompiledSpec { launches, ..Self::from_source(name, source, ast) }
    }

    /// Code that is ready to load; all sizes are 1.
    pub fn from_bytes(name: &str, bytes: Vec<u8>, ast: Arc<Lowered>) -> Self {
        Self::new(name, Code::Bytes(bytes.into()), ast)
    }

    /// Source, if that is what this is.
    pub fn source(&self) -> Option<&str> {
        match &self.code {
            Code::Source(source) => Some(source),
            Code::Bytes(_) => None,
        }
    }

    /// Code, if that is what this is.
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.code {
            Code::Source(_) => None,
            Code::Bytes(bytes) => Some(bytes),
        }
    }

    fn new(name: &str, code: Code, ast: Arc<Lowered>) -> Self {
        CompiledSpec {
            name: name.into(),
            code,
            var_names: ast.vars.iter().map(|v| v.name().to_owned()).collect(),
            launches: vec![LaunchSizes::default(); ast.phases.len().max(1)],
            buffer_count: ast.params.len(),
            ast,
        }
    }
}
