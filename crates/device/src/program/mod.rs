//! Programs: a kernel as source, as code, and as something to call.
//!
//! A kernel ([`Lowered`]) is rendered to a [`ProgramSpec`], compiled to a [`CompiledSpec`] and
//! loaded as one [`Program`] per phase; a barrier stands between phases.
//!
//! The calling convention is one for all devices. A program gets one pointer per entry of
//! [`ProgramSpec::globals`], in that order, and one value per entry of [`ProgramSpec::vars`]. The
//! variable [`CORE_ID`] is the task's index in the phase's grid, row-major.

mod compiled;
mod decompose;
mod derive;
mod stages;

use std::fmt::Debug;
use std::sync::Arc;

use svod_ir::alu::Alu;
use svod_ir::expr::{ExprId, ExprPool};
use svod_ir::lowered::Lowered;
use svod_ir::size::Variable;

use crate::error::Result;
use crate::launch::{LaunchErrorKind, LaunchSizes};
use crate::spec::DeviceSpec;

pub use compiled::{Code, CompiledSpec};
pub use decompose::decompose;
pub use derive::{Metadata, sizes_from_specials};
pub use stages::{Stage, StageKind};
pub use svod_ir::size::CORE_ID;

/// The name of a program that has none.
pub const DEFAULT_NAME: &str = "kernel";

/// The name of the entry point of a phase: the program's, numbered from the second phase on.
pub fn entry_name(program: &str, phase: usize) -> String {
    match phase {
        0 => program.into(),
        _ => format!("{program}_{phase}"),
    }
}

/// A compiled phase of a kernel, loaded on a device. It has no state: plans and threads share it.
pub trait Program: Debug + Send + Sync {
    /// Name of the entry point.
    fn name(&self) -> &str;

    /// Runs the program and returns when it is done, or, on a device that does its work in the order in which it is handed
    /// over, when it is: the device's copies, and what reads its memory, come after it.
    ///
    /// `vals` are the values of the spec's variables, in their order. Where `global` is given, all
    /// its tasks run, and [`CORE_ID`] in `vals` is ignored; where it is absent, one task does, the
    /// one that `vals` says.
    ///
    /// # Safety
    /// `buffers` are the pointers that the spec's `globals` ask for, each to memory of the program's
    /// device that is as large as the parameter under `vals`, aligned to its type, and accessed by
    /// nobody else while the program runs, save that reads may be shared. `vals` are as many as the
    /// spec's variables and within their bounds. The sizes are those that the spec gives.
    unsafe fn run(
        &self,
        buffers: &[*mut u8],
        vals: &[i64],
        global: Option<[usize; 3]>,
        local: Option<[usize; 3]>,
    ) -> Result<()>;

    /// The function itself, of a program that the host runs: whoever calls it maps tasks to threads
    /// and provides scratch memory.
    fn host_entry(&self) -> Option<HostEntry> {
        None
    }
}

/// A program as a function of the host; one call does one task.
#[derive(Clone, Copy, Debug)]
pub struct HostEntry {
    /// `call(buffers, vals)`: the pointers of [`Program::run`], and after them one to scratch memory
    /// that is the call's own and [`Block::ALIGN`](crate::Block::ALIGN)-aligned; the values of
    /// [`Program::run`].
    pub call: unsafe extern "C" fn(buffers: *const *mut u8, vals: *const i64),
    /// Bytes of scratch memory that a call needs at most.
    pub scratch: usize,
}

/// A text about generated code, for readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Listing {
    /// The linear IR.
    Linear,
    /// The source that the compiler gets in the end, such as LLVM IR.
    Source,
    /// The machine's instructions.
    Assembly,
}

/// Makes source code of a kernel.
pub trait Renderer: Debug + Send + Sync {
    /// The device that the code is for.
    fn device(&self) -> &DeviceSpec;

    /// Source code for every phase of a kernel, under a name; without one, under the kernel's own,
    /// or else [`DEFAULT_NAME`].
    fn render(&self, kernel: &Arc<Lowered>, name: Option<&str>) -> Result<ProgramSpec>;

    /// A text about the code of a kernel; `None` where this renderer has no such text.
    fn listing(&self, kernel: &Lowered, what: Listing) -> Result<Option<String>> {
        let _ = (kernel, what);
        Ok(None)
    }

    /// What to use for operations that the target lacks: kernels are rendered with these in their
    /// place ([`decompose`]). None, unless a renderer says so.
    fn decompositions(&self) -> &[Decomposition] {
        &[]
    }
}

/// How an operation that a target lacks is made from others.
#[derive(Clone, Copy, Debug)]
pub struct Decomposition {
    /// The operation.
    pub op: Alu,
    /// Its value, in terms of its operands.
    pub rewrite: fn(&mut ExprPool, &[ExprId]) -> ExprId,
}

/// Makes code of source.
pub trait Compiler: Debug + Send + Sync {
    /// Tells this compiler apart from others of the same device, and from itself with other
    /// options: equal keys give equal code for equal source.
    fn cache_key(&self) -> String;

    /// Compiles every entry point of a program.
    fn compile(&self, program: &ProgramSpec) -> Result<CompiledSpec>;
}

/// Loads code on a device.
pub trait RuntimeFactory: Debug + Send + Sync {
    /// The programs of all phases, in order.
    fn load(&self, device: &DeviceSpec, code: &CompiledSpec) -> Result<Vec<Arc<dyn Program>>>;

    /// Remembers what `runs` hands over by [`Program::run`] on this thread, without doing it, so that it can be handed over
    /// as one. None where the device has no such thing.
    ///
    /// # Errors
    /// Those of `runs`, and those of the device.
    fn record(&self, runs: &mut dyn FnMut() -> Result<()>) -> Result<Option<Box<dyn Recorded>>> {
        let _ = runs;
        Ok(None)
    }
}

/// Runs of programs, each with its arguments, as one.
pub trait Recorded: Debug + Send + Sync {
    /// Hands all of them over, in their order.
    ///
    /// # Safety
    /// What [`Program::run`] asks for holds for each of them, and the programs are loaded.
    unsafe fn run(&self) -> Result<()>;
}

/// A rendered kernel and all that is needed to call it.
///
/// Everything but name, source and device is derived from the kernel by [`ProgramSpec::derive`].
#[derive(Clone, Debug)]
pub struct ProgramSpec {
    /// Name of the entry point of the first phase; see [`entry_name`].
    pub name: String,
    /// Source code.
    pub source: String,
    /// The device that the code is for.
    pub device: DeviceSpec,
    /// The kernel.
    pub ast: Arc<Lowered>,
    /// Launch sizes of each phase.
    pub launches: Vec<LaunchSizes>,
    /// Variables, in the order of their values, each once; [`CORE_ID`] is one of them.
    pub vars: Vec<Variable>,
    /// Slots, of the call's buffer arguments, that are passed, in the order of the pointers;
    /// ascending, as are the next two.
    pub globals: Vec<usize>,
    /// Slots that are written.
    pub outs: Vec<usize>,
    /// Slots that are read.
    pub ins: Vec<usize>,
}

impl ProgramSpec {
    /// The names of [`ProgramSpec::vars`].
    pub fn var_names(&self) -> Vec<String> {
        self.vars.iter().map(|v| v.name().to_owned()).collect()
    }

    /// Number of pointers that are passed.
    pub fn buffer_count(&self) -> usize {
        self.globals.len()
    }

    /// Position of [`CORE_ID`] among the values.
    pub fn core_id(&self) -> Option<usize> {
        self.vars.iter().position(|v| v.name() == CORE_ID)
    }

    /// This program, compiled.
    pub fn compiled(&self, code: Code) -> CompiledSpec {
        CompiledSpec {
            name: self.name.clone(),
            code,
            ast: self.ast.clone(),
            var_names: self.var_names(),
            launches: self.launches.clone(),
            buffer_count: self.buffer_count(),
        }
    }
}

/// A program whose metadata, or whose stages, are wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// A kernel without parameters.
    #[error("program {0} has no buffers")]
    NoBuffers(String),
    /// No parameter is used.
    #[error("program {0} uses none of its buffers")]
    NoGlobals(String),
    /// Nothing is stored.
    #[error("program {0} stores to none of its buffers")]
    NoOuts(String),
    /// A slot that no parameter has.
    #[error("program {name}: slot {slot} is out of range of {params} buffers")]
    SlotOutOfRange {
        /// The program.
        name: String,
        /// The slot.
        slot: usize,
        /// Number of parameters.
        params: usize,
    },
    /// A slot that is stored to or loaded from, but not passed.
    #[error("program {name}: slot {slot} is accessed but is not among its buffers {globals:?}")]
    NotGlobal {
        /// The program.
        name: String,
        /// The slot.
        slot: usize,
        /// The slots that are passed.
        globals: Vec<usize>,
    },
    /// Two variables of one name.
    #[error("program {name}: variable {variable} is declared as [{}, {}] and as [{}, {}]", .bounds.0.0, .bounds.0.1, .bounds.1.0, .bounds.1.1)]
    VariableConflict {
        /// The program.
        name: String,
        /// The variable.
        variable: String,
        /// Least and greatest value of the one and of the other.
        bounds: ((i64, i64), (i64, i64)),
    },
    /// A phase whose number of tasks is no launch size.
    #[error("program {name}, phase {phase}: {kind}")]
    Grid {
        /// The program.
        name: String,
        /// The phase.
        phase: usize,
        /// Why.
        kind: LaunchErrorKind,
    },
    /// Not one launch per phase.
    #[error("program {name} has {phases} phases but {launches} launches")]
    Launches {
        /// The program.
        name: String,
        /// Number of phases.
        phases: usize,
        /// Number of launches.
        launches: usize,
    },
    /// A special index that does not begin with `g`, `l` or `i` and end with an axis from 0 to 2, or comes twice.
    #[error("special index '{0}': expected a name from g, l or i to an axis from 0 to 2, each once")]
    BadSpecial(String),
    /// Nothing to make a program of.
    #[error("not a program: it has no stages")]
    NotAProgram,
    /// A program that stops short.
    #[error("not a program: stage {0} is missing")]
    MissingStage(StageKind),
    /// A stage in a place where another one must stand.
    #[error("not a program: stage {index} is {found} where {expected} is expected")]
    WrongStage {
        /// Its position.
        index: usize,
        /// What must stand there.
        expected: &'static str,
        /// What does.
        found: StageKind,
    },
}
