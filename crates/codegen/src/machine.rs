//! LLVM: text of a module to object code or assembly.
//!
//! The text is parsed and verified, so that a mistake is an error and never an abort in instruction
//! selection. Passes are few and named: kernels arrive vectorized and unrolled.

use crate::error::CompileError;
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine, TargetTriple,
};
use std::cell::RefCell;
use std::sync::Once;
use svod_ir::pass::{Pass, visit};
use svod_ir::target::{Arch, Target};

/// `sroa` makes registers of accumulators, `early-cse` tidies what that leaves. Measured: more
/// passes (`instcombine`, `licm`) cost a tenth of the time and change nothing, since the linear list
/// comes with common expressions shared and invariants hoisted.
const PASSES: &str = "function(sroa,early-cse)";

/// The same for GPUs, where parts of kernels are inlined. They compute scalars: once addresses are, neighbours among them
/// are found and accessed together.
const PASSES_OF_GPUS: &str = "always-inline,function(sroa,scalarizer,early-cse)";

/// LLVM's name of a target's platform.
pub fn triple(target: &Target) -> &'static str {
    match target.arch {
        Arch::X86_64 => "x86_64-unknown-linux-gnu",
        Arch::Aarch64 => "aarch64-unknown-linux-gnu",
        Arch::Nvptx => "nvptx64-nvidia-cuda",
        Arch::Metal => "air64-apple-macosx",
    }
}

thread_local! {
    /// Making a target machine costs more than compiling a small kernel.
    static MACHINE: RefCell<Option<(Target, TargetMachine)>> = const { RefCell::new(None) };
}

fn with_machine<T>(
    target: &Target,
    run: impl FnOnce(&TargetMachine) -> Result<T, CompileError>,
) -> Result<T, CompileError> {
    MACHINE.with_borrow_mut(|slot| {
        if slot.as_ref().is_none_or(|(known, _)| known != target) {
            *slot = Some((target.clone(), machine(target)?));
        }
        let (_, machine) = slot.as_ref().expect("it was filled just above");
        run(machine)
    })
}

/// Measured roughly, over kernels of 50 to 4096 elements: without optimization about half the time is spent here, and kernels that take
/// longer than a call run about twice as long; the level between saves nothing.
const LEVEL: OptimizationLevel = OptimizationLevel::Default;

fn machine(target: &Target) -> Result<TargetMachine, CompileError> {
    static INIT: Once = Once::new();
    INIT.call_once(|| {
        LlvmTarget::initialize_x86(&InitializationConfig::default());
        LlvmTarget::initialize_aarch64(&InitializationConfig::default());
        LlvmTarget::initialize_nvptx(&InitializationConfig::default());
    });
    let fail = |why: String| CompileError::Target { target: target.cpu.clone(), why };
    let triple = TargetTriple::create(triple(target));
    let llvm = LlvmTarget::from_triple(&triple).map_err(|e| fail(e.to_string()))?;
    llvm.create_target_machine(&triple, &target.cpu, &target.features, LEVEL, RelocMode::PIC, CodeModel::Small)
        .ok_or_else(|| fail("LLVM does not know the processor".into()))
}

/// Counts the instructions of a module as visited, in debug builds: LLVM's own work is in proportion to them.
fn visit_instructions(module: &Module) {
    if cfg!(debug_assertions) {
        let blocks = module.get_functions().flat_map(|function| function.get_basic_block_iter());
        visit(blocks.map(|block| block.get_instructions().count()).sum());
    }
}

fn emit(name: &str, text: &str, target: &Target, kind: FileType) -> Result<Vec<u8>, CompileError> {
    with_machine(target, |machine| {
        let invalid = |why: String| CompileError::Invalid { name: name.into(), why };
        let context = Context::create();
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        let buffer = MemoryBuffer::create_from_memory_range_copy(&bytes, name);
        let parsed = Pass::Parse.time(|| {
            let module = context.create_module_from_ir(buffer)?;
            visit_instructions(&module);
            module.verify().map(|()| module)
        });
        let module = parsed.map_err(|e| invalid(e.to_string()))?;
        module.set_triple(&machine.get_triple());
        module.set_data_layout(&machine.get_target_data().get_data_layout());
        let options = PassBuilderOptions::create();
        let optimized = Pass::Optimize.time(|| {
            visit_instructions(&module);
            module.run_passes(if target.arch == Arch::Nvptx { PASSES_OF_GPUS } else { PASSES }, machine, options)
        });
        optimized.map_err(|e| invalid(e.to_string()))?;
        let code = Pass::Emit.time(|| {
            visit_instructions(&module);
            machine.write_to_memory_buffer(&module, kind)
        });
        let code = code.map_err(|e| invalid(e.to_string()))?;
        Ok(code.as_slice().to_vec())
    })
}

/// The object code of a module.
///
/// # Errors
/// [`CompileError::Invalid`] where LLVM rejects the text, [`CompileError::Target`] where it has no
/// such target.
pub fn object(name: &str, text: &str, target: &Target) -> Result<Vec<u8>, CompileError> {
    emit(name, text, target, FileType::Object)
}

/// The assembly of a module.
///
/// # Errors
/// As [`object()`].
pub fn assembly(name: &str, text: &str, target: &Target) -> Result<String, CompileError> {
    let bytes = emit(name, text, target, FileType::Assembly)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_string())
}
