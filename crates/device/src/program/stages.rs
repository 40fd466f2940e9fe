//! The stages of a program, from kernel to code.

use std::fmt;
use std::sync::Arc;

use svod_ir::lowered::Lowered;

use super::{Code, CompiledSpec, Metadata, ProgramError, ProgramSpec};
use crate::spec::DeviceSpec;

/// What a stage of a program is; prints in capitals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StageKind {
    /// The kernel with its schedule applied.
    Sink,
    /// The linear list of instructions.
    Linear,
    /// Source code.
    Source,
    /// Machine code.
    Binary,
}

/// One stage of a program. A complete program is SINK, LINEAR, SOURCE and perhaps BINARY.
#[derive(Clone, Debug)]
pub enum Stage {
    /// The kernel with its schedule applied.
    Sink(Arc<Lowered>),
    /// The text of its linear IR.
    Linear(String),
    /// Source code.
    Source(String),
    /// Machine code.
    Binary(Vec<u8>),
}

impl Stage {
    /// What it is.
    pub fn kind(&self) -> StageKind {
        match self {
            Stage::Sink(_) => StageKind::Sink,
            Stage::Linear(_) => StageKind::Linear,
            Stage::Source(_) => StageKind::Source,
            Stage::Binary(_) => StageKind::Binary,
        }
    }
}

impl StageKind {
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            StageKind::Sink => "SINK",
            StageKind::Linear => "LINEAR",
            StageKind::Source => "SOURCE",
            StageKind::Binary => "BINARY",
        }
    }
}

impl fmt::Display for StageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ProgramSpec {
    /// The spec of a program that has come as far as its source, and its code where it has come
    /// further. Metadata that is given and not empty wins over what the kernel says.
    pub fn from_program(
        stages: &[Stage],
        device: DeviceSpec,
        metadata: Metadata,
    ) -> Result<(ProgramSpec, Option<CompiledSpec>), ProgramError> {
        if stages.is_empty() {
            return Err(ProgramError::NotAProgram);
        }
        let order = [StageKind::Sink, StageKind::Linear, StageKind::Source, StageKind::Binary];
        for (index, stage) in stages.iter().enumerate() {
            let expected = order.get(index).map_or("nothing", |kind| kind.name());
            if stage.kind().name() != expected {
                return Err(ProgramError::WrongStage { index, expected, found: stage.kind() });
            }
        }
        match stages {
            [Stage::Sink(ast), Stage::Linear(_), Stage::Source(source), binary @ ..] => {
                let spec = ProgramSpec::derive(ast, source.clone(), device, metadata)?;
                let code = binary.iter().find_map(|stage| match stage {
                    Stage::Binary(bytes) => Some(Code::Bytes(bytes.clone().into())),
                    _ => None,
                });
                let compiled = code.map(|code| spec.compiled(code));
                Ok((spec, compiled))
            }
            _ => Err(ProgramError::MissingStage(order[stages.len().min(2)])),
        }
    }
}
