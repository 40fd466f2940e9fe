//! Search: schedules found by timing candidates.
//!
//! [`choose`] goes, for each kernel, from the heuristic's schedule, and what it would choose for
//! somewhat different machines, to its neighbours ([`svod_schedule::neighbours`]), times them, goes on from the fastest few (the beam), and ends
//! when a round brings nothing. What it found replaces the heuristic's schedule if a second
//! measurement, of the two in turn, shows it to be faster by [`WORTH`]. Results are kept on disk.
//!
//! Candidates run elsewhere: a candidate may hang, crash or panic, and then costs itself.
//!
//! | file | subject |
//! |---|---|
//! | `crew` | the worker processes, as their parent sees them: what is late is killed |
//! | `worker` | such a process, as it sees itself |
//! | `message` | what the two say to each other |
//! | `bench` | what a worker does: compile, and time on memory of its own |
//! | `measure` | how time is taken, and what differs on a GPU |
//! | `report` | the progress bar, and the log of candidates that were dropped |
//!
//! **Invariants.** No memory of the user's is touched: workers have none of it. Compiling is never
//! part of a time. The process that searches never runs a candidate, nor loads its code.

mod bench;
mod crew;
mod measure;
mod message;
mod report;
#[cfg(test)]
mod tests;
mod worker;

pub use bench::Bench;
pub use measure::{Rules, Timed, paired, score};
pub use message::{Compiled, Dropped, Reason, Subject};
pub use worker::{serve, serve_if_worker, set_worker_command};

use crate::code::{Job, Optimizer};
use crate::config::warn_once;
use crate::context::Context;
use crate::disk_cache::{DiskCache, DiskKey};
use crate::error::{Error, Result};
use crate::interrupt::{INTERVAL, Watch};
use crew::Crew;
use message::{Reply, Request};
use parking_lot::Mutex;
use report::Report;
use rustc_hash::FxHashSet;
use std::time::{Duration, Instant};
use svod_ir::target::Target;
use svod_schedule::{Schedule, Variants, heuristic, lower, neighbours, strict_heuristic};

/// What the found schedule's time is, of the heuristic's, at most.
pub const WORTH: f64 = 0.97;
/// A round that is not faster by this is the last one.
const PROGRESS: f64 = 0.99;
/// Rounds at most.
const ROUNDS: usize = 12;
/// Candidates of a round at most.
const CANDIDATES: usize = 192;
/// A candidate that computes as many times what the heuristic's computes is dropped.
const GROWTH: u64 = 1000;

/// How a search is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    pub width: usize,
    pub timeout: Duration,
    pub max_uops: usize,
    /// Of the whole search.
    pub limit: Option<Duration>,
    pub threads: usize,
    pub strict: bool,
}

/// When a search ends, whatever it has found.
#[derive(Clone, Copy)]
struct Deadline(Option<Instant>);

impl Deadline {
    fn is_over(self) -> bool {
        self.0.is_some_and(|end| Instant::now() >= end)
    }
}

/// Gives each job, unless its schedule was given, the fastest schedule that a search finds.
///
/// # Errors
/// [`Error::Interrupted`]. Where no worker can be started, jobs stay as they are, with one warning.
pub(crate) fn choose(context: &Context, jobs: &mut [Job], search: &Search, watch: &Watch) -> Result<()> {
    /// Two searches at a time would time each other.
    static SEARCHING: Mutex<()> = Mutex::new(());
    let mut open: Vec<&mut Job> = jobs.iter_mut().filter(|j| !matches!(j.optimizer, Optimizer::Given(_))).collect();
    let cache = DiskCache::user("beam");
    for job in &mut open {
        if let Some(known) = cache.as_ref().and_then(|c| known(c, search, job)) {
            job.optimizer = with_variants(job, known);
        }
    }
    open.retain(|j| !matches!(j.optimizer, Optimizer::Given(_)));
    if open.is_empty() {
        return Ok(());
    }
    let _alone = loop {
        match SEARCHING.try_lock_for(INTERVAL) {
            Some(guard) => break guard,
            None if watch.poll() => return Err(Error::Interrupted),
            None => {}
        }
    };
    let mut crew = match Crew::start(context.target().cores, search.timeout, watch) {
        Ok(crew) => crew,
        Err(_) if watch.poll() => return Err(Error::Interrupted),
        Err(why) => {
            warn_once("beam", &format!("no search: {why}; schedules are the heuristic's"));
            return Ok(());
        }
    };
    let count = open.len();
    let end = Deadline(search.limit.map(|limit| Instant::now() + limit));
    for (i, job) in open.into_iter().enumerate() {
        // Another thread may have searched while this one waited.
        if let Some(known) = cache.as_ref().and_then(|c| known(c, search, job)) {
            job.optimizer = with_variants(job, known);
            continue;
        }
        if end.is_over() {
            continue;
        }
        let mut report = Report::new(&job.kernel.name, i, count);
        if let Some(found) = kernel(&mut crew, job, search, end, watch, &mut report)? {
            // What the end cut off is no result to keep.
            if let Some(cache) = cache.as_ref().filter(|_| !end.is_over()) {
                cache.put(key(search, job), found.to_string().as_bytes());
            }
            job.optimizer = with_variants(job, found);
        }
    }
    Ok(())
}

/// What was found is for the largest sizes; for others it leaves what the job has.
fn with_variants(job: &Job, found: Schedule) -> Optimizer {
    let chosen = job.optimizer.variants(&job.kernel, &job.target);
    Optimizer::Given(Variants { rest: found, ..chosen })
}

/// The name of a result: all that it depends on, svod's build included.
fn key(search: &Search, job: &Job) -> DiskKey {
    let Search { width, max_uops, threads, strict, .. } = search;
    let how = format!("{width} {max_uops} {threads} {strict}");
    DiskKey::new(&["beam", &job.kernel.to_string(), &job.target.to_string(), job.device.base(), &how])
}

/// A result of an earlier search, unless it no longer is a schedule of the kernel.
fn known(cache: &DiskCache, search: &Search, job: &Job) -> Option<Schedule> {
    let text = String::from_utf8(cache.get(key(search, job))?).ok()?;
    text.parse().ok().filter(|schedule| lower(&job.kernel, schedule).is_ok())
}

/// The fastest schedule of one kernel; none where not even the heuristic's can be timed.
fn kernel(
    crew: &mut Crew,
    job: &Job,
    search: &Search,
    end: Deadline,
    watch: &Watch,
    report: &mut Report,
) -> Result<Option<Schedule>> {
    let chosen = |target: &Target| match search.strict {
        true => strict_heuristic(&job.kernel, target),
        false => heuristic(&job.kernel, target),
    };
    let base = chosen(&job.target);
    let mut subject = Subject {
        kernel: job.kernel.to_string(),
        device: job.device.spec().to_string(),
        target: job.target.to_string(),
        threads: search.threads,
        max_uops: search.max_uops,
        most_work: u64::MAX,
    };
    // The first requests also warm the workers up.
    let Some(compiled) = compile(crew, &subject, std::slice::from_ref(&base), end, watch, report)?.pop() else {
        return Ok(None);
    };
    subject.most_work = compiled.1.work.saturating_mul(GROWTH);
    let Some(time) = time(crew, &subject, &base, None, watch, report)? else { return Ok(None) };
    let mut codes: FxHashSet<String> = [compiled.1.digest].into_iter().collect();
    let mut seen: FxHashSet<Schedule> = [base.clone()].into_iter().collect();
    let mut beam: Vec<(Duration, Schedule)> = vec![(time, base.clone())];
    for round in 0..ROUNDS {
        let best = beam[0].0;
        let mut fresh: Vec<Schedule> = match round {
            0 => variants(&job.target).iter().map(chosen).filter(|s| seen.insert(s.clone())).collect(),
            _ => Vec::new(),
        };
        for (_, schedule) in &beam {
            let new = neighbours(&job.kernel, &job.target, schedule).into_iter();
            fresh.extend(new.filter(|s| seen.insert(s.clone())));
        }
        let fresh = spread(fresh, CANDIDATES);
        report.round(round, fresh.len(), best, time);
        let mut timed = 0;
        for (schedule, code) in compile(crew, &subject, &fresh, end, watch, report)? {
            timed += 1;
            report.timing(timed);
            // What compiles to the same code takes the same time.
            if !end.is_over()
                && codes.insert(code.digest)
                && let Some(time) = self::time(crew, &subject, &schedule, Some(beam[0].0), watch, report)?
            {
                beam.push((time, schedule));
                beam.sort_by_key(|(time, _)| *time);
                beam.truncate(search.width);
            }
        }
        if timed == 0 || end.is_over() || beam[0].0.as_secs_f64() > best.as_secs_f64() * PROGRESS {
            break;
        }
    }
    let (_, found) = beam.swap_remove(0);
    if found == base {
        return Ok(Some(base));
    }
    let request = Request::Time { schedules: vec![base.clone(), found.clone()], best: None };
    let pair = match crew.ask(&subject, &request, watch)? {
        Reply::Times(times) => <[Duration; 2]>::try_from(times).ok(),
        _ => None,
    };
    let faster = |[base, found]: &[Duration; 2]| found.as_secs_f64() <= base.as_secs_f64() * WORTH;
    report.result(pair, pair.as_ref().is_some_and(faster));
    Ok(Some(if pair.as_ref().is_some_and(faster) { found } else { base }))
}

/// Machines that are somewhat different: what the heuristic would choose for them differs in all that
/// hangs together, which no single action does.
fn variants(target: &Target) -> Vec<Target> {
    let Target { vector_bytes, vector_registers, l1, l2, .. } = *target;
    vec![
        Target { vector_bytes: (vector_bytes / 2).max(16), ..target.clone() },
        Target { vector_registers: vector_registers / 2, ..target.clone() },
        Target { l1: l1 / 2, ..target.clone() },
        Target { l1: l1 * 2, ..target.clone() },
        Target { l2: l2 / 2, ..target.clone() },
        Target { l2: l2 * 2, ..target.clone() },
    ]
}

/// Compiles candidates; those that cannot be are reported.
fn compile(
    crew: &mut Crew,
    subject: &Subject,
    schedules: &[Schedule],
    end: Deadline,
    watch: &Watch,
    report: &mut Report,
) -> Result<Vec<(Schedule, Compiled)>> {
    let replies = crew.compile(subject, schedules, watch, &|| end.is_over(), &mut |done| report.compiling(done))?;
    let mut compiled = Vec::new();
    for (schedule, reply) in schedules.iter().zip(replies) {
        match reply {
            Some(Reply::Compiled(code)) => compiled.push((schedule.clone(), code)),
            Some(Reply::Dropped(why)) => report.dropped(schedule, &why),
            Some(Reply::Times(_)) | None => {}
        }
    }
    Ok(compiled)
}

/// The time of a candidate, unless it fails.
fn time(
    crew: &mut Crew,
    subject: &Subject,
    schedule: &Schedule,
    best: Option<Duration>,
    watch: &Watch,
    report: &mut Report,
) -> Result<Option<Duration>> {
    let request = Request::Time { schedules: vec![schedule.clone()], best };
    Ok(match crew.ask(subject, &request, watch)? {
        Reply::Times(times) => times.first().copied(),
        Reply::Dropped(why) => {
            report.dropped(schedule, &why);
            None
        }
        Reply::Compiled(_) => None,
    })
}

/// At most `most` of the items, from all over.
fn spread<T>(items: Vec<T>, most: usize) -> Vec<T> {
    let count = items.len();
    let keep = |i: &usize| count <= most || i * most / count != (i + 1) * most / count;
    items.into_iter().enumerate().filter(|(i, _)| keep(i)).map(|(_, item)| item).collect()
}
