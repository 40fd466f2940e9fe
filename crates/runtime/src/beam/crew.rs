//! Worker processes, as the search sees them.
//!
//! One request is open at a worker at a time. A worker that does not answer in time is killed, one
//! that ended is started again for the next request: a candidate costs itself at most.

use super::message::{self, Dropped, Reason, Reply, Request, Subject};
use super::worker::{ASKED, Launch, launch};
use crate::error::{Error, Result};
use crate::interrupt::{INTERVAL, Watch};
use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use svod_schedule::Schedule;

/// Workers at most.
const MOST: usize = 8;
/// What a process may take to start: an interpreter and its modules.
const START: Duration = Duration::from_secs(60);

/// How long runs of a candidate may take where there is no best one yet.
const FIRST_RUNS: Duration = Duration::from_secs(600);

/// Runs of a candidate may take as many times the best one's time, and at least [`SHORTEST_RUNS`]: what is still at it
/// then hangs, for one that is much slower is given up after its first run.
const HANGS: u32 = 1000;
const SHORTEST_RUNS: Duration = Duration::from_secs(2);

/// How often it is asked whether they have started.
const STARTING: Duration = Duration::from_millis(2);

/// The workers of a search.
pub(super) struct Crew {
    workers: Vec<Worker>,
    /// Of a compilation.
    timeout: Duration,
    _folder: Folder,
}

impl Crew {
    /// As many workers as processors, started now: the first time that is taken finds all of them idle.
    ///
    /// # Errors
    /// Why there can be none; where `watch` ends the search meanwhile, they did not start.
    pub(super) fn start(processors: usize, timeout: Duration, watch: &Watch) -> Result<Crew, String> {
        let launch = launch().ok_or("the program does not call `serve_if_worker` first in `main`")?;
        let folder = Folder::new().map_err(|e| format!("no folder for workers: {e}"))?;
        let worker = |_| Worker { launch: launch.clone(), cache: folder.0.clone(), process: None };
        let mut workers: Vec<Worker> = (0..processors.clamp(1, MOST)).map(worker).collect();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let stopped = || stop.load(Ordering::Relaxed);
            let starts: Vec<_> = workers.iter_mut().map(|worker| scope.spawn(move || worker.start(&stopped))).collect();
            while starts.iter().any(|start| !start.is_finished()) {
                std::thread::sleep(STARTING);
                if watch.poll() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            let started = |start: std::thread::ScopedJoinHandle<'_, io::Result<()>>| {
                start.join().unwrap_or_else(|_| Err(io::Error::other("its thread panicked")))
            };
            // Those that could not be started now are when they are needed, as those that ended.
            starts.into_iter().map(started).reduce(io::Result::or).unwrap_or(Ok(()))
        })
        .map_err(|e| format!("no worker: {e}"))?;
        Ok(Crew { workers, timeout, _folder: folder })
    }

    /// Workers that are running.
    #[cfg(test)]
    pub(super) fn running(&self) -> usize {
        self.workers.iter().filter(|w| w.process.is_some()).count()
    }

    /// Compiles candidates on all workers. `progress` hears how many are done. Once `is_over` says so no other
    /// candidate is begun, save for the first; those that were not have no reply.
    pub(super) fn compile(
        &mut self,
        subject: &Subject,
        schedules: &[Schedule],
        watch: &Watch,
        is_over: &(dyn Fn() -> bool + Sync),
        progress: &mut dyn FnMut(usize),
    ) -> Result<Vec<Option<Reply>>> {
        let (next, stop, timeout) = (AtomicUsize::new(0), AtomicBool::new(false), self.timeout);
        let mut replies: Vec<Option<Reply>> = vec![None; schedules.len()];
        let (send, receive) = channel();
        std::thread::scope(|scope| {
            for worker in self.workers.iter_mut().take(schedules.len()) {
                let (next, stop, send) = (&next, &stop, send.clone());
                scope.spawn(move || {
                    while let i = next.fetch_add(1, Ordering::Relaxed)
                        && let Some(schedule) = schedules.get(i).filter(|_| i == 0 || !is_over())
                    {
                        let request = Request::Compile(schedule.clone()).parts(subject);
                        let reply = worker.ask(&request, timeout, &|| stop.load(Ordering::Relaxed));
                        // Who is told to stop takes no other candidate, for which a process would be started.
                        let stopped = reply.is_none();
                        if send.send((i, reply)).is_err() || stopped {
                            return;
                        }
                    }
                });
            }
            drop(send);
            let mut done = 0;
            loop {
                match receive.recv_timeout(INTERVAL) {
                    Ok((i, reply)) => {
                        done += 1;
                        progress(done);
                        match reply {
                            Some(reply) => replies[i] = Some(reply),
                            None => stop.store(true, Ordering::Relaxed),
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if watch.poll() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        });
        if stop.into_inner() { Err(Error::Interrupted) } else { Ok(replies) }
    }

    /// What the first worker makes of a request, while the others rest.
    pub(super) fn ask(&mut self, subject: &Subject, request: &Request, watch: &Watch) -> Result<Reply> {
        let limit = self.limit(request);
        let reply = self.workers[0].ask(&request.parts(subject), limit, &|| watch.poll());
        reply.ok_or(Error::Interrupted)
    }

    /// How long the reply to a request may take. The time-out is that of a compilation, which is part of timing where
    /// the worker is a new one; runs have a limit of their own, by which those that hang are told.
    pub(super) fn limit(&self, request: &Request) -> Duration {
        match request {
            Request::Compile(_) => self.timeout,
            Request::Time { schedules, best } => {
                let runs = best.map_or(FIRST_RUNS, |best| (best * HANGS).clamp(SHORTEST_RUNS, FIRST_RUNS));
                (self.timeout + runs) * schedules.len() as u32
            }
        }
    }
}

/// A place for one process.
struct Worker {
    launch: Launch,
    cache: PathBuf,
    process: Option<Process>,
}

impl Worker {
    fn start(&mut self, stop: &dyn Fn() -> bool) -> io::Result<()> {
        self.process = Some(Process::start(&self.launch, &self.cache, stop)?);
        Ok(())
    }

    /// The reply to a request; none if `stop` says so before there is one.
    fn ask(&mut self, request: &[String], timeout: Duration, stop: &dyn Fn() -> bool) -> Option<Reply> {
        if self.process.is_none()
            && let Err(e) = self.start(stop)
        {
            if stop() {
                return None;
            }
            return Some(Reply::Dropped(Dropped::new(Reason::Run, format!("no worker: {e}"))));
        }
        let process = self.process.as_mut()?;
        let deadline = Instant::now() + timeout;
        let stopped = AtomicBool::new(false);
        let give_up = || {
            if stop() {
                stopped.store(true, Ordering::Relaxed);
            }
            stopped.load(Ordering::Relaxed) || Instant::now() > deadline
        };
        let reply = message::write(&mut process.socket, request)
            .and_then(|()| message::read(&mut Patient { socket: &process.socket, give_up: &give_up }));
        let dropped = match reply {
            Ok(parts) => match Reply::parse(&parts) {
                Some(reply) => return Some(reply),
                None => Dropped::new(Reason::Run, "a reply that is none"),
            },
            Err(_) if stopped.load(Ordering::Relaxed) => {
                self.process = None;
                return None;
            }
            Err(e) if e.kind() == ErrorKind::TimedOut => {
                Dropped::new(Reason::TimeOut, format!("{} s", timeout.as_secs_f64()))
            }
            Err(_) => Dropped::new(Reason::Crash, process.end()),
        };
        self.process = None;
        Some(Reply::Dropped(dropped))
    }
}

/// A running worker, which ends with this.
struct Process {
    child: Child,
    socket: UnixStream,
}

impl Process {
    fn start(launch: &Launch, cache: &std::path::Path, stop: &dyn Fn() -> bool) -> io::Result<Process> {
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_read_timeout(Some(INTERVAL))?;
        let mut command = Command::new(&launch.program);
        command.args(&launch.args).env(ASKED, "1").env("SVOD_CACHE_DIR", cache);
        command.env_remove("SVOD_BEAM").env_remove("SVOD_STRATEGY").env_remove("SVOD_DEBUG").env_remove("SVOD_DUMP");
        command.envs(launch.env.iter().map(|(name, value)| (name, value)));
        // Ctrl-C is for the search, which ends its workers.
        command.process_group(0);
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn()?;
        // The parent's end of the child's socket is closed here: what is left says when the child ends.
        drop(command);
        let mut process = Process { child, socket };
        let deadline = Instant::now() + START;
        let give_up = || stop() || Instant::now() > deadline;
        if message::read(&mut Patient { socket: &process.socket, give_up: &give_up }).is_err() {
            // It may not have ended by itself.
            let _ = process.child.kill();
            return Err(io::Error::other(format!("{:?} did not start: {}", launch.program, process.end())));
        }
        Ok(process)
    }

    /// How the process ended.
    fn end(&mut self) -> String {
        match self.child.wait() {
            Ok(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("signal {signal}"),
                (None, code) => format!("exit status {}", code.unwrap_or_default()),
            },
            Err(e) => e.to_string(),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only for a process that is gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads until it is told to give up.
struct Patient<'a> {
    socket: &'a UnixStream,
    give_up: &'a dyn Fn() -> bool,
}

impl Read for Patient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match (&mut &*self.socket).read(buffer) {
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    if (self.give_up)() {
                        return Err(ErrorKind::TimedOut.into());
                    }
                }
                other => return other,
            }
        }
    }
}

/// A private folder, removed in the end, in which workers share what they compile.
pub(super) struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Folder> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let path = Folder::path(NEXT.fetch_add(1, Ordering::Relaxed));
            match DirBuilder::new().mode(0o700).create(&path) {
                // Left by a process of the same number that was killed, or put there by somebody else.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                created => return created.map(|()| Folder(path)),
            }
        }
    }

    /// The folder of this process's search of this number.
    pub(super) fn path(number: u64) -> PathBuf {
        std::env::temp_dir().join(format!("svod-search-{}-{number}", std::process::id()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is in a folder for what may be.
        let _ = fs::remove_dir_all(&self.0);
    }
}
