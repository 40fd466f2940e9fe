//! Loop trees to code for GPUs: PTX for the driver, or an object for a simulator of one on the host.
//!
//! A kernel is called with a pointer for each parameter, an `i64` for each variable, the number of its tasks and scratch
//! memory. Any number of blocks does all tasks; see [`crate::llvm::Form`].
//!
//! Matrix products, attention by tensor cores and sorts of long rows are kernels of their own: [`product`], [`attention`], [`sort`].

pub mod attention;
mod body;
mod call;
mod copies;
mod part;
pub mod product;
mod ptx;
pub mod sort;
mod subtractions;
mod texts;
mod warpgroup;

pub use call::{Argument, Call, MapArgument};
pub use texts::Texts;

use crate::compile::Timings;
use crate::llvm::{Entry, Form, Share};
use crate::{CompileError, host, llvm, lower, machine};
use std::time::Instant;
use svod_ir::linear::Linear;
use svod_ir::lowered::Lowered;
use svod_ir::pass::Pass;
use svod_ir::target::Target;

/// What runs a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Runner {
    /// The driver, which is given PTX.
    Driver,
    /// A simulator on this machine, which is given an ELF object. It calls functions of the simulator, all named
    /// `svod_sim_…`.
    Simulator,
}

/// What arguments are multiples of, in bytes: kernels may be compiled for either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alignment {
    /// The widest load of a thread, 16 bytes, as all memory of allocators is.
    Widest,
    /// The size of an element.
    Element,
}

impl Alignment {
    /// Bytes of the widest load of a thread.
    pub const BYTES: usize = 16;

    fn bytes(self) -> usize {
        match self {
            Alignment::Widest => Self::BYTES,
            Alignment::Element => 1,
        }
    }
}

/// Code of a kernel, and what it was made from.
#[derive(Clone, Debug)]
pub struct Object {
    /// Text of PTX, or an ELF object. Kernels that are written as wholes have a text each, with a zero byte between.
    pub bytes: Vec<u8>,
    /// The phases, in order; several for one where a launch follows another.
    pub phases: Vec<PhaseCode>,
    /// The LLVM module.
    pub source: String,
    /// The linear lists.
    pub linear: String,
    /// How long it took.
    pub timings: Timings,
}

/// One phase of a kernel, and how it is launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseCode {
    /// The entry point.
    pub entry: String,
    /// Threads of a block.
    pub threads: u32,
    /// Tasks that a block does at one time.
    pub block_tasks: u32,
    /// Scratch memory of each of these, a multiple of 64; 0 for none.
    pub scratch_bytes: u64,
    /// How it is launched, where it is a kernel that is written as a whole.
    pub whole: Option<Call>,
}

/// Compiles a kernel for a GPU.
///
/// # Errors
/// See [`CompileError`].
pub fn compile(
    lowered: &Lowered,
    target: &Target,
    runner: Runner,
    alignment: Alignment,
) -> Result<Object, CompileError> {
    compile_with(lowered, target, runner, alignment, &Texts::default())
}

/// As [`compile`]; what was made of the same texts before is not made again.
///
/// # Errors
/// See [`CompileError`].
pub fn compile_with(
    lowered: &Lowered,
    target: &Target,
    runner: Runner,
    alignment: Alignment,
    known: &Texts,
) -> Result<Object, CompileError> {
    let start = Instant::now();
    if runner == Runner::Driver
        && let Some(object) = whole(lowered, target, alignment, known)?
    {
        return Ok(object);
    }
    let lists = Pass::Linear.run(lowered, || lower::linearize(lowered, target))?;
    let (form, machine) = match runner {
        Runner::Driver => (Form::Kernel, target.clone()),
        Runner::Simulator => (Form::Simulated, host::native()),
    };
    let entry = Entry { form, machine: &machine, align: alignment.bytes() };
    let source = Pass::Text.run(&lists, || llvm::module(&lists, target, entry));
    let lower = start.elapsed();
    let name = lists.first().map_or("empty", |l| l.name.as_str());
    let bytes = match runner {
        Runner::Driver => subtractions::mended(&machine::assembly(name, &source, &machine)?).into_bytes(),
        Runner::Simulator => machine::object(name, &source, &machine)?,
    };
    let timings = Timings { lower, llvm: start.elapsed() - lower };
    let phases = lists.iter().map(phase).collect();
    Ok(Object { bytes, phases, source, linear: lower::listing(&lists), timings })
}

/// A kernel that is a matrix product, attention or a sort, if there is one of its types.
fn whole(
    lowered: &Lowered,
    target: &Target,
    alignment: Alignment,
    known: &Texts,
) -> Result<Option<Object>, CompileError> {
    let start = Instant::now();
    let mut texts: Vec<(String, Vec<u8>, PhaseCode)> = Vec::new();
    let mut add = |text: String, code: Vec<u8>, entry: &str, threads: u32, call: Call| {
        let entry = entry.to_owned();
        let phase = PhaseCode { entry, threads, block_tasks: 1, scratch_bytes: 0, whole: Some(call) };
        texts.push((text, code, phase));
    };
    let (linear, lower);
    if let Some(found) = lowered.product() {
        let kernels = product::whole(lowered, &found, target, alignment, Runner::Driver)?;
        let Some(kernels) = kernels else { return Ok(None) };
        lower = start.elapsed();
        linear = format!("product {found:?}\n");
        for (kernel, call) in kernels {
            let (code, launch) = (known.code(&kernel.text, || kernel.code())?, &kernel.launch);
            add(kernel.text, code, &launch.entry, launch.threads, call);
        }
    } else if let Some(found) = lowered.attention() {
        let kernels = attention::whole(lowered, &found, target, alignment, Runner::Driver)?;
        let Some(kernels) = kernels else { return Ok(None) };
        lower = start.elapsed();
        linear = format!("{found}\n");
        for (kernel, call) in kernels {
            let (code, launch) = (known.code(&kernel.text, || kernel.code())?, &kernel.launch);
            add(kernel.text, code, &launch.entry, launch.threads, call);
        }
    } else if let Some(found) = lowered.sort() {
        let Some(kernels) = sort::whole(lowered, &found, target, Runner::Driver)? else { return Ok(None) };
        lower = start.elapsed();
        linear = format!("sort {found:?}\n");
        let entry = kernels[0].0.entry.clone();
        for (kernel, call) in kernels {
            let code = known.code(&kernel.text, || kernel.code())?;
            add(kernel.text, code, &kernel.entry, kernel.threads, call);
        }
        // The first phase is all of them, and the others have nothing left to do.
        for _ in 1..lowered.phases.len() {
            add(String::new(), Vec::new(), &entry, 1, Call::nothing());
        }
    } else {
        return Ok(None);
    }
    let timings = Timings { lower, llvm: start.elapsed() - lower };
    let source = texts.iter().map(|(text, ..)| text.as_str()).collect::<Vec<_>>().join("\n");
    let bytes = texts.iter().map(|(_, code, _)| code.as_slice()).collect::<Vec<_>>().join(&0);
    let phases = texts.into_iter().map(|(.., phase)| phase).collect();
    Ok(Some(Object { bytes, phases, source, linear, timings }))
}

/// The code of a kernel that is written as a whole: PTX for a processor that LLVM knows by this name, or an object for a simulator.
fn assembled(name: &str, text: &str, processor: &str, runner: Runner) -> Result<Vec<u8>, CompileError> {
    match runner {
        Runner::Simulator => machine::object(name, text, &host::native()),
        Runner::Driver => {
            let target = Target::named("cuda-sm90").expect("it is among the targets' names");
            let features = if processor == "sm_90a" { "+ptx83" } else { "" };
            let target = Target { cpu: processor.into(), features: features.into(), ..target };
            Ok(subtractions::mended(&machine::assembly(name, text, &target)?).into_bytes())
        }
    }
}

/// The linear lists of a kernel as text.
///
/// # Errors
/// See [`CompileError`].
pub fn linear(lowered: &Lowered, target: &Target) -> Result<String, CompileError> {
    Ok(lower::listing(&lower::linearize(lowered, target)?))
}

fn phase(list: &Linear) -> PhaseCode {
    let scratch_bytes = list.scratch_bytes().next_multiple_of(64);
    let share = Share::of(list);
    PhaseCode {
        entry: list.name.clone(),
        threads: share.block(),
        block_tasks: share.tasks(),
        scratch_bytes,
        whole: None,
    }
}
