//! How plans are prepared, by argument or environment.

use std::cell::RefCell;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::{Mutex, OnceLock, PoisonError};
use svod_device::DeviceSpec;
use svod_ir::target::Target;
use svod_schedule::{Purpose, Schedule};

/// Kernels that are kept compiled, unless `SVOD_OPT_CACHE_MAX` says otherwise.
pub const KERNEL_CACHE: usize = 4096;

/// How intermediates share memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Planner {
    /// Each has memory of its own and can be read after a run.
    Disabled,
    /// Whole buffers are used again once nothing needs their content.
    Remap,
    /// All are packed into one allocation.
    #[default]
    Arena,
}

/// How kernels are scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Loops as they are written.
    None,
    /// One schedule, by rules over the kernel and the target's description.
    #[default]
    Heuristic,
}

/// How a plan is prepared.
///
/// Prints as `strategy=heuristic planner=arena schedule_cache=on threads=default device=default`,
/// and each part parses back as value of the option of its name ([`PrepareConfig::set`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrepareConfig {
    /// Whether constant leaves may be packed once: it pays for plans that run often.
    pub prepared: bool,
    /// Whether every graph is scheduled anew.
    pub disable_schedule_cache: bool,
    /// How kernels are scheduled.
    pub strategy: Strategy,
    /// Threads of the plan's runs; those of the context where absent.
    pub threads: Option<usize>,
    /// Where values are computed that no argument places; the CPU where absent.
    pub device: Option<DeviceSpec>,
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

/// An option of [`PrepareConfig`] that there is not, or a value that it does not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option}={value:?}: expected {expected}")]
pub struct ConfigError {
    /// The option.
    pub option: String,
    /// The value given.
    pub value: String,
    /// What it could be.
    pub expected: &'static str,
}

/// The options: name, environment variable, what it takes.
const OPTIONS: [(&str, &str, &str); 5] = [
    ("strategy", "SVOD_STRATEGY", "none or heuristic"),
    ("planner", "SVOD_MEMORY_PLANNER", "arena, remap or disabled"),
    ("schedule_cache", "", "on or off"),
    ("threads", "SVOD_PLAN_THREADS", "a number from 1 to 1024, or default"),
    ("device", "SVOD_DEVICE", "a device's name, or default"),
];

impl PrepareConfig {
    /// The default, changed by the environment: `SVOD_STRATEGY`, `SVOD_MEMORY_PLANNER`,
    /// `SVOD_PLAN_THREADS`, `SVOD_DEVICE`, and `SVOD_DISABLE_SCHEDULE_CACHE`, exactly `1`. A value
    /// that cannot be parsed leaves the default, with one warning.
    pub fn from_env() -> Self {
        let mut config = PrepareConfig {
            disable_schedule_cache: std::env::var_os("SVOD_DISABLE_SCHEDULE_CACHE").is_some_and(|v| v == "1"),
            ..PrepareConfig::default()
        };
        for (option, variable, _) in OPTIONS {
            let Some(text) = std::env::var_os(variable).filter(|_| !variable.is_empty()) else { continue };
            let text = text.to_string_lossy();
            if let Err(error) = config.set(option, &text) {
                let expected = error.expected;
                warn_once(
                    variable,
                    &format!("{variable}={text:?} is not understood, expected {expected}; using the default"),
                );
            }
        }
        config
    }

    /// The configuration of the scope that this thread is in, else that of the environment, with the
    /// thread's [`Settings`].
    pub fn current() -> Self {
        let scope = SCOPES.with_borrow(|scopes| scopes.last().cloned());
        let Settings { strict, target } = Settings::current();
        PrepareConfig { strict, target, ..scope.unwrap_or_else(PrepareConfig::from_env) }
    }

    /// Makes this the configuration of what this thread prepares until [`PrepareConfig::leave`].
    pub fn enter(self) {
        SCOPES.with_borrow_mut(|scopes| scopes.push(self));
    }

    /// Ends the scope of this thread that was entered last.
    pub fn leave() {
        SCOPES.with_borrow_mut(Vec::pop);
    }

    /// This, for a plan that runs often.
    pub fn for_plan(self) -> Self {
        PrepareConfig { prepared: true, ..self }
    }

    /// What graphs are scheduled for.
    pub(crate) fn purpose(&self) -> Purpose {
        Purpose { prepared: self.prepared, strict: self.strict }
    }

    /// Sets an option by name, from text.
    ///
    /// # Errors
    /// An option that there is not, or a value that it does not take; nothing has changed then.
    pub fn set(&mut self, option: &str, value: &str) -> Result<(), ConfigError> {
        let known = OPTIONS.iter().find(|(name, ..)| *name == option);
        let expected = known.map_or("one of strategy, planner, schedule_cache, threads, device", |(.., e)| e);
        let text = value.trim().to_ascii_lowercase();
        let done = match option {
            "strategy" => text.parse().map(|s| self.strategy = s).is_ok(),
            "planner" => text.parse().map(|p| self.planner = p).is_ok(),
            "schedule_cache" => match text.as_str() {
                "on" | "1" | "true" => Some(false),
                "off" | "0" | "false" => Some(true),
                _ => None,
            }
            .map(|off| self.disable_schedule_cache = off)
            .is_some(),
            "threads" if text == "default" => {
                self.threads = None;
                true
            }
            "threads" => text.parse().ok().filter(|n| (1..=1024).contains(n)).map(|n| self.threads = Some(n)).is_some(),
            "device" if text == "default" => {
                self.device = None;
                true
            }
            "device" => value.trim().parse().map(|d| self.device = Some(d)).is_ok(),
            _ => false,
        };
        let error = || ConfigError { option: option.to_owned(), value: value.to_owned(), expected };
        if done { Ok(()) } else { Err(error()) }
    }
}

thread_local! {
    static SCOPES: RefCell<Vec<PrepareConfig>> = const { RefCell::new(Vec::new()) };
}

impl Display for PrepareConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cache = if self.disable_schedule_cache { "off" } else { "on" };
        write!(f, "strategy={} planner={} schedule_cache={cache}", self.strategy, self.planner)?;
        match self.threads {
            Some(threads) => write!(f, " threads={threads}")?,
            None => f.write_str(" threads=default")?,
        }
        match &self.device {
            Some(device) => write!(f, " device={device}"),
            None => f.write_str(" device=default"),
        }
    }
}

/// Gives an enum its names in text.
macro_rules! named {
    ($ty:ident: $($variant:ident $name:literal $(| $alias:literal)*),*) => {
        impl FromStr for $ty {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                match text.to_ascii_lowercase().as_str() {
                    $($name $(| $alias)* => Ok($ty::$variant),)*
                    _ => Err(()),
                }
            }
        }

        impl Display for $ty {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $($ty::$variant => $name,)* })
            }
        }
    };
}
named!(Planner: Disabled "disabled" | "none" | "0", Remap "remap", Arena "arena");
named!(Strategy: None "none" | "0", Heuristic "heuristic");

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
