//! How plans are prepared, by argument or environment.

use std::cell::RefCell;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::{Mutex, OnceLock, PoisonError};
use svod_ir::target::Target;
use svod_schedule::Schedule;

/// Kernels that are kept compiled, unless `SVOD_OPT_CACHE_MAX` says otherwise.
pub const KERNEL_CACHE: usize = 4096;

/// How intermediates share memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Planner {
    /// Each has memory of its own and can be read after a run.
    Disabled,
    /// Whole buffers are used again once nothing needs their content.
    #[default]
    Remap,
}

/// How a plan is prepared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrepareConfig {
    /// Whether constant leaves may be packed once: it pays for plans that run often.
    pub prepared: bool,
    /// Whether every graph is scheduled anew.
    pub disable_schedule_cache: bool,
    /// Threads of the plan's runs; those of the context where absent.
    pub threads: Option<usize>,
    /// How intermediates share memory.
    pub planner: Planner,
    /// Whether folds go from left to right and every operation is rounded on its own.
    pub strict: bool,
    /// The machine that kernels are made for; the context's where absent.
    pub target: Option<Target>,
    /// Schedules in place of the chosen ones.
    pub schedules: Vec<(KernelRef, Schedule)>,
}

/// Names kernels of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KernelRef {
    /// All of this name.
    Name(String),
    /// The one at this position in [`crate::ExecutionPlan::kernels`], of the plan made without.
    Index(usize),
}

/// What a thread's plans are prepared by unless their [`PrepareConfig`] says else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// See [`PrepareConfig::strict`].
    pub strict: bool,
    /// See [`PrepareConfig::target`].
    pub target: Option<Target>,
}

thread_local! {
    static SETTINGS: RefCell<Settings> = RefCell::default();
}

impl Settings {
    /// This thread's.
    pub fn current() -> Settings {
        SETTINGS.with_borrow(Settings::clone)
    }

    /// Makes these this thread's, and gives those before.
    pub fn install(self) -> Settings {
        SETTINGS.replace(self)
    }
}

impl PrepareConfig {
    /// The default, changed by `SVOD_DISABLE_SCHEDULE_CACHE` (exactly `1`), `SVOD_MEMORY_PLANNER`
    /// and the thread's [`Settings`].
    pub fn from_env() -> Self {
        let Settings { strict, target } = Settings::current();
        PrepareConfig {
            strict,
            target,
            disable_schedule_cache: std::env::var_os("SVOD_DISABLE_SCHEDULE_CACHE").is_some_and(|v| v == "1"),
            planner: read_env("SVOD_MEMORY_PLANNER", Planner::default(), |_| true),
            ..PrepareConfig::default()
        }
    }

    /// This, for a plan that runs often.
    pub fn for_plan(self) -> Self {
        PrepareConfig { prepared: true, ..self }
    }
}

impl FromStr for Planner {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.to_ascii_lowercase().as_str() {
            "disabled" | "none" | "0" => Ok(Planner::Disabled),
            "remap" => Ok(Planner::Remap),
            _ => Err(()),
        }
    }
}

impl Display for Planner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Planner::Disabled => "disabled",
            Planner::Remap => "remap",
        })
    }
}

/// How much is told on stderr, from `SVOD_DEBUG`: 1 timings, 2 schedules, 3 loop trees, 4 linear
/// and LLVM IR, 5 assembly.
pub fn debug_level() -> u8 {
    static LEVEL: OnceLock<u8> = OnceLock::new();
    *LEVEL.get_or_init(|| read_env("SVOD_DEBUG", 0, |_| true))
}

/// Kernels that are kept compiled; `SVOD_OPT_CACHE_MAX`, where 0 means the default.
pub(crate) fn kernel_cache_size() -> usize {
    read_env("SVOD_OPT_CACHE_MAX", KERNEL_CACHE, |n| *n > 0)
}

/// The value of an environment variable; the default, with one warning, where it is not of its type
/// or not allowed.
fn read_env<T: FromStr + Display>(name: &str, default: T, allowed: fn(&T) -> bool) -> T {
    let Some(text) = std::env::var_os(name) else { return default };
    let text = text.to_string_lossy();
    match text.trim().parse().ok().filter(allowed) {
        Some(value) => value,
        None => {
            warn_once(name, &format!("{name}={text:?} is not understood; using {default}"));
            default
        }
    }
}

/// Says something on stderr, the first time only for each `about`.
pub(crate) fn warn_once(about: &str, message: &str) {
    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if !said.iter().any(|s| s == about) {
        said.push(about.to_owned());
        eprintln!("svod: {message}");
    }
}
