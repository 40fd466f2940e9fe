//! What a search says while it runs, on stderr: a progress bar where that is a terminal or
//! `SVOD_PROGRESS=1` asks for it, a line for each candidate dropped where `BEAM_LOG_SURPASS_MAX` is
//! set, and its result with `SVOD_DEBUG=1`.

use super::message::Dropped;
use crate::config::debug_level;
use std::io::{IsTerminal, Write};
use std::time::Duration;
use svod_schedule::Schedule;

/// Characters of the bar.
const BAR: usize = 24;

/// Of one kernel.
pub(super) struct Report {
    title: String,
    bar: bool,
    log: bool,
    round: usize,
    candidates: usize,
    best: Duration,
    first: Duration,
}

impl Report {
    pub(super) fn new(kernel: &str, number: usize, count: usize) -> Report {
        let asked = std::env::var_os("SVOD_PROGRESS").map(|v| v == "1");
        Report {
            title: format!("beam {}/{count} {kernel}", number + 1),
            bar: asked.unwrap_or_else(|| std::io::stderr().is_terminal()),
            log: std::env::var_os("BEAM_LOG_SURPASS_MAX").is_some_and(|v| !v.is_empty()),
            round: 0,
            candidates: 1,
            best: Duration::ZERO,
            first: Duration::ZERO,
        }
    }

    /// A round begins.
    pub(super) fn round(&mut self, round: usize, candidates: usize, best: Duration, first: Duration) {
        (self.round, self.candidates, self.best, self.first) = (round + 1, candidates.max(1), best, first);
        self.compiling(0);
    }

    /// So many candidates of the round were compiled.
    pub(super) fn compiling(&self, done: usize) {
        self.draw("compiled", done);
    }

    /// So many candidates of the round were timed.
    pub(super) fn timing(&self, done: usize) {
        self.draw("timed", done);
    }

    fn draw(&self, what: &str, done: usize) {
        if self.bar && self.round > 0 {
            let Report { title, round, candidates, best, first, .. } = self;
            let full = (done * BAR / candidates).min(BAR);
            let bar: String = (0..BAR).map(|i| if i < full { '#' } else { '.' }).collect();
            let gain = first.as_secs_f64() / best.as_secs_f64().max(1e-12);
            let line = format!("{title} [{bar}] round {round}: {done}/{candidates} {what}, {best:.3?} ({gain:.2}x)");
            // Nobody is told where stderr is closed.
            let _ = write!(std::io::stderr(), "\r\x1b[2K{line}");
        }
    }

    fn clear(&self) {
        if self.bar {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }

    /// A candidate is out.
    pub(super) fn dropped(&self, schedule: &Schedule, why: &Dropped) {
        if self.log {
            self.clear();
            let _ = writeln!(std::io::stderr(), "svod: {}: {}", self.title, dropped(schedule, why));
        }
    }

    /// What the second measurement of the heuristic's and the found one said.
    pub(super) fn result(&self, pair: Option<[Duration; 2]>, taken: bool) {
        if debug_level() >= 1 {
            self.clear();
            let verdict = if taken { "taken" } else { "not taken" };
            let times = pair.map_or_else(|| "no time".into(), |[base, found]| format!("{base:.3?} to {found:.3?}"));
            let _ = writeln!(std::io::stderr(), "svod: {}: {times}, {verdict}", self.title);
        }
    }
}

/// What the log says of a candidate that is out.
pub(super) fn dropped(schedule: &Schedule, why: &Dropped) -> String {
    let steps: Vec<String> = schedule.0.iter().map(ToString::to_string).collect();
    format!("dropped, {} [{}]", why.to_string().replace('\n', " "), steps.join("; "))
}

impl Drop for Report {
    fn drop(&mut self) {
        self.clear();
    }
}
