//! Stands in for the code generator of GPUs.

use svod_codegen::CompileError;
use svod_ir::lowered::Lowered;
use svod_ir::target::Target;

/// What runs the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Runner {
    /// NVIDIA's driver: PTX.
    Driver,
    /// The simulator: an object of this machine.
    #[allow(dead_code)]
    Simulator,
}

#[derive(Debug)]
pub(crate) struct Object {
    pub bytes: Vec<u8>,
    pub phases: Vec<PhaseCode>,
}

#[derive(Debug)]
pub(crate) struct PhaseCode {
    pub entry: String,
    pub threads: u32,
    pub block_tasks: u32,
    pub scratch_bytes: u64,
}

pub(crate) fn compile(_: &Lowered, target: &Target, _: Runner) -> Result<Object, CompileError> {
    let why = "code for GPUs is not generated yet".into();
    Err(CompileError::Target { target: target.cpu.clone(), why })
}
