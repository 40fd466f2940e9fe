//! How plans are prepared, by argument or environment.

use crate::beam::Search;
use crate::context::Context;
use crate::error::{Error, Result};
use parking_lot::RwLock;
use std::cell::RefCell;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};
use std::time::Duration;
use svod_codegen::host::named as target_named;
use svod_device::DeviceSpec;
use svod_ir::kernel::Kernel;
use svod_ir::lowered::Guard;
use svod_ir::pass::PassSet;
use svod_ir::target::{MatrixUnits, Target};
use svod_schedule::{Purpose, Schedule, Variants};

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
    /// The fastest that a search beginning at the heuristic's finds by timing ([`crate::beam`]).
    Beam {
        /// Schedules that each round of the search goes on from.
        width: u32,
    },
}

/// Width of a search that is asked for without one.
const WIDTH: u32 = 4;
/// The widest search.
const WIDEST: u32 = 1024;

/// How a plan is prepared.
///
/// Prints as `strategy=heuristic planner=arena schedule_cache=on threads=default device=default`,
/// followed by those of `timeout_secs`, `max_uops`, `search_secs`, `memory_budget`, `strict`, `skip` and `target` that differ from the default;
/// each part parses back as value of the option of its name ([`PrepareConfig::set`]).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PrepareConfig {
    /// Whether constant leaves may be packed once: it pays for plans that run often.
    pub prepared: bool,
    /// Whether every graph is scheduled anew.
    pub disable_schedule_cache: bool,
    /// How kernels are scheduled.
    pub strategy: Strategy,
    /// Seconds that a search gives a candidate to compile, and to run.
    pub timeout_secs: u32,
    /// Linear instructions of a search's candidate at most.
    pub max_uops: usize,
    /// Seconds that a plan's search takes at most: kernels that it does not come to keep the heuristic's schedule.
    pub search_secs: Option<u32>,
    /// Threads of the plan's runs; those of the context where absent.
    pub threads: Option<usize>,
    /// Where values are computed that no argument places; the CPU where absent.
    pub device: Option<DeviceSpec>,
    /// How intermediates share memory.
    pub planner: Planner,
    /// Bytes of intermediates that a plan should have in memory at a time; any number where absent.
    pub memory_budget: Option<usize>,
    /// Whether folds go from left to right and every operation is rounded on its own.
    pub strict: bool,
    /// Whether runs look for NaN in what each step writes, and fail at the first.
    pub detect_nan: bool,
    /// The machine that kernels are made for; the context's where absent.
    pub target: Option<Target>,
    /// Optional passes that are left out.
    pub skip: PassSet,
    /// Schedules in place of the chosen ones.
    pub schedules: Vec<(KernelRef, GivenSchedules)>,
}

impl Default for PrepareConfig {
    fn default() -> Self {
        PrepareConfig {
            prepared: false,
            disable_schedule_cache: false,
            strategy: Strategy::default(),
            timeout_secs: 10,
            max_uops: 30_000,
            search_secs: None,
            threads: None,
            device: None,
            planner: Planner::default(),
            memory_budget: None,
            strict: false,
            detect_nan: false,
            target: None,
            skip: PassSet::default(),
            schedules: Vec::new(),
        }
    }
}

/// The part of a configuration that decides what schedules are chosen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fingerprint {
    strategy: Strategy,
    strict: bool,
    /// Decides no schedule, but what runs do, and these are kept together.
    detect_nan: bool,
    /// As `detect_nan`.
    memory_budget: Option<usize>,
    target: Option<Target>,
    skip: PassSet,
    /// Limits and threads of a search.
    search: Option<(u32, usize, Option<u32>, Option<usize>)>,
}

/// Schedules for one kernel, in the order in which they are tried: each with a condition on its variables
/// (`batch <= 4`), the last one with none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GivenSchedules(pub Vec<(Option<String>, Schedule)>);

impl From<Schedule> for GivenSchedules {
    fn from(schedule: Schedule) -> Self {
        GivenSchedules(vec![(None, schedule)])
    }
}

impl GivenSchedules {
    /// The schedules of `kernel`, strict ones if that is asked for.
    pub(crate) fn variants(&self, kernel: &Kernel, strict: bool) -> Result<Variants> {
        let failed = |when: &Option<String>, why: String| Error::Guard {
            kernel: kernel.name.clone(),
            when: when.clone().unwrap_or_default(),
            why,
        };
        let mut schedules = self.0.iter().map(|(when, schedule)| {
            let schedule = schedule.clone();
            (when, if strict { schedule.strictly() } else { schedule })
        });
        let Some((when, rest)) = schedules.next_back() else {
            return Err(failed(&None, "a kernel needs one schedule at least".into()));
        };
        if when.is_some() {
            return Err(failed(when, "the last schedule has no condition, for all other sizes".into()));
        }
        let guarded = schedules.map(|(when, schedule)| {
            let Some(text) = when else { return Err(failed(when, "only the last schedule has no condition".into())) };
            let guard = Guard::parse(text, &kernel.vars).map_err(|why| failed(when, why.to_string()))?;
            Ok((guard, schedule))
        });
        Ok(Variants { guarded: guarded.collect::<Result<_>>()?, rest })
    }
}

/// Names kernels of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KernelRef {
    /// All of this name.
    Name(String),
    /// The one at this position in [`crate::ExecutionPlan::kernels`], of the plan made without.
    Index(usize),
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
    pub expected: String,
}

/// An option: its name, its environment variable, what it takes, and how it is set.
struct Named {
    name: &'static str,
    variable: &'static str,
    expected: &'static str,
    set: fn(&mut PrepareConfig, &str) -> Option<()>,
}

macro_rules! options {
    ($($name:literal $variable:literal $expected:literal $set:expr;)*) => {
        /// The options. `SVOD_TARGET` is read where the context describes the machine.
        const OPTIONS: &[Named] = &[
            $(Named { name: $name, variable: $variable, expected: $expected, set: $set },)*
        ];
    };
}

options! {
    "strategy"       "SVOD_STRATEGY"       "none, heuristic, beam or beam:<width up to 1024>"  |c, v| v.parse().map(|s| c.strategy = s).ok();
    "beam"           "SVOD_BEAM"           "a width up to 1024, or 0 for the heuristic"        |c, v| width(v).map(|s| c.strategy = s);
    "timeout_secs"   "BEAM_TIMEOUT_SEC"    "a number of seconds from 1 to 86400"               |c, v| number(v, 1..=86400).map(|n| c.timeout_secs = n);
    "max_uops"       "BEAM_UOPS_MAX"       "a number of instructions, at least 1"              |c, v| number(v, 1..=usize::MAX).map(|n| c.max_uops = n);
    "search_secs"    "SVOD_SEARCH_SECS"    "a number of seconds from 1 to 86400, or default"   |c, v| or_default(v, |v| number(v, 1..=86400)).map(|n| c.search_secs = n);
    "planner"        "SVOD_MEMORY_PLANNER" "arena, remap or disabled"                          |c, v| v.parse().map(|p| c.planner = p).ok();
    "memory_budget"  "SVOD_MEMORY_BUDGET"  "a number of bytes, or default"                     |c, v| or_default(v, |v| number(v, 0..=usize::MAX)).map(|n| c.memory_budget = n);
    "schedule_cache" ""                    "on or off"                                         |c, v| on_off(v).map(|on| c.disable_schedule_cache = !on);
    "threads"        "SVOD_PLAN_THREADS"   "a number from 1 to 1024, or default"               |c, v| or_default(v, |v| number(v, 1..=1024)).map(|n| c.threads = n);
    "device"         "SVOD_DEVICE"         "the name of a device that there is, or default"    |c, v| or_default(v, existing_device).map(|d| c.device = d);
    "strict"         "SVOD_STRICT"         "on or off"                                         |c, v| on_off(v).map(|on| c.strict = on);
    "detect_nan"     "SVOD_DETECT_NAN"     "on or off"                                         |c, v| on_off(v).map(|on| c.detect_nan = on);
    "skip"           "SVOD_SKIP"           "optional passes, separated by commas: arguments, join, algebra, blocks, two-stage, merge, postpone-division, correct-variance, hoist, parameterise; or none, or all" |c, v| PassSet::named(v, |p| p.optional).map(|s| c.skip = s).ok();
    "target"         ""                    "native, the name of a target, or default"          |c, v| or_default(v, |v| target_named(v).ok()).map(|t| c.target = t);
}

/// Variables that are on where they are exactly `1`.
const SWITCHES: [&str; 3] = ["SVOD_DISABLE_SCHEDULE_CACHE", "SVOD_AMX", "SVOD_PROGRESS"];

/// Warns of switches that are neither on nor off.
fn check_switches(variable: impl Fn(&str) -> Option<String>) -> Vec<&'static str> {
    let wrong = |name: &&str| variable(name).is_some_and(|v| !matches!(v.as_str(), "" | "0" | "1"));
    let wrong: Vec<&str> = SWITCHES.into_iter().filter(wrong).collect();
    for name in &wrong {
        let text = variable(name).unwrap_or_default();
        warn_once(name, &format!("{name}={text:?} is not understood, expected 1 or 0; it counts as 0"));
    }
    wrong
}

/// The target that `SVOD_TARGET` names, which is the context's: it warns of a name that is none.
fn env_target() -> Option<Target> {
    static TARGET: OnceLock<Option<Target>> = OnceLock::new();
    let read = || target_named(&std::env::var("SVOD_TARGET").ok().filter(|v| !v.is_empty())?).ok();
    TARGET.get_or_init(read).clone()
}

fn number<T: FromStr + PartialOrd>(text: &str, range: RangeInclusive<T>) -> Option<T> {
    text.parse().ok().filter(|n| range.contains(n))
}

fn width(text: &str) -> Option<Strategy> {
    let width = number(text, 0..=WIDEST)?;
    Some(if width == 0 { Strategy::Heuristic } else { Strategy::Beam { width } })
}

fn on_off(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" => Some(true),
        "off" | "0" | "false" => Some(false),
        _ => None,
    }
}

/// The device of this name, if there is one of which programs make values.
fn existing_device(name: &str) -> Option<DeviceSpec> {
    let spec: DeviceSpec = name.parse().ok()?;
    (!spec.is_disk() && Context::global().devices().get(&spec).is_ok()).then_some(spec)
}

fn or_default<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text.eq_ignore_ascii_case("default") { Some(None) } else { parse(text).map(Some) }
}

impl PrepareConfig {
    /// The default, changed by the environment: `SVOD_STRATEGY` or `SVOD_BEAM`, `BEAM_TIMEOUT_SEC`,
    /// `BEAM_UOPS_MAX`, `SVOD_SEARCH_SECS`, `SVOD_MEMORY_PLANNER`, `SVOD_MEMORY_BUDGET`, `SVOD_PLAN_THREADS`, `SVOD_DEVICE`, `SVOD_STRICT`, `SVOD_DETECT_NAN`, `SVOD_SKIP`, and
    /// `SVOD_DISABLE_SCHEDULE_CACHE`, exactly `1`; the target is that of `SVOD_TARGET`. A value that cannot be parsed leaves the default, with
    /// one warning.
    pub fn from_env() -> Self {
        static CHECKED: Once = Once::new();
        let variable = |name: &str| std::env::var_os(name).map(|v| v.to_string_lossy().into_owned());
        CHECKED.call_once(|| drop(check_switches(variable)));
        let read = PrepareConfig::from_variables(variable);
        let device = DEFAULT_DEVICE.read().clone().or(read.device);
        PrepareConfig { target: env_target(), device, ..read }
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let mut config = PrepareConfig {
            disable_schedule_cache: variable("SVOD_DISABLE_SCHEDULE_CACHE").is_some_and(|v| v == "1"),
            ..PrepareConfig::default()
        };
        for Named { name, variable: from, .. } in OPTIONS.iter().filter(|o| !o.variable.is_empty()) {
            let Some(text) = variable(from).filter(|v| !v.is_empty()) else { continue };
            if let Err(error) = config.set(name, &text) {
                let expected = error.expected;
                warn_once(from, &format!("{from}={text:?} is not understood, expected {expected}; using the default"));
            }
        }
        config
    }

    /// Makes a device the one of values that nothing places, in all threads, where no scope says another one: that of
    /// the environment again where none is named.
    pub fn set_default_device(device: Option<DeviceSpec>) {
        *DEFAULT_DEVICE.write() = device;
        PrepareConfig::forget_environment();
    }

    /// The configuration of the scope that this thread is in, else that of the environment, as it was when it was first
    /// asked for since it was last [forgotten](PrepareConfig::forget_environment).
    pub fn current() -> Self {
        Arc::unwrap_or_clone(PrepareConfig::of_reads())
    }

    /// [`PrepareConfig::current`], which reads look at without a copy of their own.
    pub fn of_reads() -> Arc<Self> {
        if let Some(entered) = PrepareConfig::entered() {
            return Arc::new(entered);
        }
        let known = READ.read().clone();
        known.unwrap_or_else(|| {
            let read = Arc::new(PrepareConfig::from_env());
            READ.write().get_or_insert(read).clone()
        })
    }

    /// Has the environment read again where it is asked for next.
    pub fn forget_environment() {
        *READ.write() = None;
    }

    /// The configuration of the scope that this thread is in.
    fn entered() -> Option<Self> {
        let entered = SCOPES.with_borrow(|scopes| scopes.last().cloned());
        entered.or_else(|| OUTER.get().and_then(|outer| outer()))
    }

    /// Makes `outer` say which configuration holds, if one does, where no scope of [`PrepareConfig::enter`] says:
    /// for programs whose scopes are not those of a thread. The first one stays.
    pub fn set_scopes(outer: fn() -> Option<PrepareConfig>) {
        OUTER.get_or_init(|| outer);
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

    /// What graphs are scheduled for, on a machine that is described so unless the configuration names one.
    /// Devices that are no hosts multiply matrices with such units.
    pub(crate) fn purpose(&self, target: &Target, matrix: MatrixUnits) -> Purpose {
        let caches = self.target.as_ref().unwrap_or(target).into();
        Purpose { prepared: self.prepared, strict: self.strict, skipped: self.skip, caches, matrix }
    }

    /// The search for schedules, if there is to be one.
    pub(crate) fn search(&self, context: &Context) -> Option<Search> {
        let Strategy::Beam { width } = self.strategy else { return None };
        Some(Search {
            width: width as usize,
            timeout: Duration::from_secs(self.timeout_secs.into()),
            max_uops: self.max_uops,
            limit: self.search_secs.map(|secs| Duration::from_secs(secs.into())),
            threads: self.threads.unwrap_or_else(|| context.threads()),
            strict: self.strict,
        })
    }

    /// What decides which schedules are chosen.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let searches = matches!(self.strategy, Strategy::Beam { .. });
        let search = searches.then_some((self.timeout_secs, self.max_uops, self.search_secs, self.threads));
        Fingerprint {
            strategy: self.strategy,
            strict: self.strict,
            detect_nan: self.detect_nan,
            memory_budget: self.memory_budget,
            target: self.target.clone(),
            skip: self.skip,
            search,
        }
    }

    /// Sets an option by name, from text.
    ///
    /// # Errors
    /// An option that there is not, or a value that it does not take; nothing has changed then.
    pub fn set(&mut self, option: &str, value: &str) -> Result<(), ConfigError> {
        let known = OPTIONS.iter().find(|o| o.name == option);
        if known.is_some_and(|o| (o.set)(self, value.trim()).is_some()) {
            return Ok(());
        }
        let names = || OPTIONS.iter().map(|o| o.name).collect::<Vec<_>>().join(", ");
        let expected = known.map_or_else(|| format!("one of {}", names()), |o| o.expected.to_owned());
        Err(ConfigError { option: option.to_owned(), value: value.to_owned(), expected })
    }
}

/// The configuration of the environment when it was last read.
static READ: RwLock<Option<Arc<PrepareConfig>>> = RwLock::new(None);

/// What [`PrepareConfig::set_default_device`] was told last.
static DEFAULT_DEVICE: RwLock<Option<DeviceSpec>> = RwLock::new(None);

static OUTER: OnceLock<fn() -> Option<PrepareConfig>> = OnceLock::new();

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
            Some(device) => write!(f, " device={device}")?,
            None => f.write_str(" device=default")?,
        }
        let default = PrepareConfig::default();
        if self.timeout_secs != default.timeout_secs {
            write!(f, " timeout_secs={}", self.timeout_secs)?;
        }
        if self.max_uops != default.max_uops {
            write!(f, " max_uops={}", self.max_uops)?;
        }
        self.search_secs.map_or(Ok(()), |secs| write!(f, " search_secs={secs}"))?;
        self.memory_budget.map_or(Ok(()), |bytes| write!(f, " memory_budget={bytes}"))?;
        f.write_str(if self.strict { " strict=on" } else { "" })?;
        f.write_str(if self.detect_nan { " detect_nan=on" } else { "" })?;
        if !self.skip.is_empty() {
            write!(f, " skip={}", self.skip)?;
        }
        self.target.as_ref().map_or(Ok(()), |target| write!(f, " target={}", target.name))
    }
}

impl FromStr for Strategy {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.to_ascii_lowercase();
        match text.split_once(':') {
            Some(("beam", given)) => width(given).filter(|s| *s != Strategy::Heuristic).ok_or(()),
            None if text == "beam" => Ok(Strategy::Beam { width: WIDTH }),
            None if text == "none" || text == "0" => Ok(Strategy::None),
            None if text == "heuristic" => Ok(Strategy::Heuristic),
            _ => Err(()),
        }
    }
}

impl Display for Strategy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Strategy::None => f.write_str("none"),
            Strategy::Heuristic => f.write_str("heuristic"),
            Strategy::Beam { width } => write!(f, "beam:{width}"),
        }
    }
}

impl FromStr for Planner {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.to_ascii_lowercase().as_str() {
            "disabled" | "none" | "0" => Ok(Planner::Disabled),
            "remap" => Ok(Planner::Remap),
            "arena" => Ok(Planner::Arena),
            _ => Err(()),
        }
    }
}

impl Display for Planner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Planner::Disabled => "disabled",
            Planner::Remap => "remap",
            Planner::Arena => "arena",
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn c5_options_are_validated_and_print_as_they_parse() {
        let mut config = PrepareConfig::default();
        assert_eq!(
            config.to_string(),
            "strategy=heuristic planner=arena schedule_cache=on threads=default device=default"
        );
        for text in [
            "strategy=beam:4 planner=remap schedule_cache=off threads=3 device=CPU timeout_secs=2 max_uops=7 search_secs=60",
            "strategy=none planner=disabled schedule_cache=on threads=default device=default strict=on skip=algebra,merge target=native",
        ] {
            config = PrepareConfig::default();
            for part in text.split(' ') {
                let (option, value) = part.split_once('=').unwrap();
                config.set(option, value).unwrap();
            }
            assert_eq!(config.to_string(), text);
        }
        for (option, value, strategy) in [
            ("strategy", "beam", Strategy::Beam { width: 4 }),
            ("strategy", "Beam:7", Strategy::Beam { width: 7 }),
            ("beam", "0", Strategy::Heuristic),
            ("beam", "9", Strategy::Beam { width: 9 }),
        ] {
            config.set(option, value).unwrap();
            assert_eq!(config.strategy, strategy);
        }
        let before = config.clone();
        for (option, value) in [
            ("strategy", "beam:0"),
            ("strategy", "beam:2000"),
            ("strategy", "greedy:2"),
            ("beam", "-1"),
            ("timeout_secs", "0"),
            ("max_uops", "0"),
            ("search_secs", "0"),
            ("threads", "0"),
            ("device", "TPU"),
            ("device", "GPU:0"),
            ("device", "DISK:/tmp/x"),
            ("strict", "maybe"),
            ("skip", "fuse"),
            ("target", "pdp-11"),
        ] {
            let error = config.set(option, value).unwrap_err();
            assert_eq!((error.option.as_str(), error.value.as_str()), (option, value));
        }
        let unknown = config.set("speed", "11").unwrap_err();
        assert!(unknown.expected.contains("strategy, beam, timeout_secs"), "{}", unknown.expected);
        assert_eq!(config, before);
    }

    #[test]
    fn c5_variables_that_are_not_understood_leave_the_default() {
        let read = |pairs: &[(&str, &str)]| {
            let find = |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
            PrepareConfig::from_variables(find)
        };
        let config = read(&[("SVOD_BEAM", "3"), ("BEAM_TIMEOUT_SEC", "5"), ("BEAM_UOPS_MAX", "900")]);
        assert_eq!((config.strategy, config.timeout_secs, config.max_uops), (Strategy::Beam { width: 3 }, 5, 900));
        let config = read(&[("SVOD_STRICT", "1"), ("SVOD_DISABLE_SCHEDULE_CACHE", "1"), ("SVOD_DEVICE", "")]);
        assert_eq!((config.strict, config.disable_schedule_cache, config.device), (true, true, None));
        let wrong: Vec<(&str, &str)> =
            OPTIONS.iter().filter(|o| !o.variable.is_empty()).map(|o| (o.variable, "?")).collect();
        assert_eq!(read(&wrong), PrepareConfig::default());
        assert!(!read(&[("SVOD_DISABLE_SCHEDULE_CACHE", "true")]).disable_schedule_cache);
        let switches = |name: &str| match name {
            "SVOD_AMX" => Some("x".to_owned()),
            "SVOD_PROGRESS" => Some("0".to_owned()),
            _ => Some("true".to_owned()),
        };
        assert_eq!(check_switches(switches), ["SVOD_DISABLE_SCHEDULE_CACHE", "SVOD_AMX"]);
    }
}
