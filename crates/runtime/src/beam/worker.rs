//! The process that runs candidates, as it sees itself.
//!
//! It is the program itself, or Python with svod's module, started by [`super::crew`] with a socket
//! as its standard input: requests come in and replies go out there. It ends when the socket does,
//! whatever it is doing.

use super::bench::{Bench, Native};
use super::message::{self, Dropped, Reason, Reply, Request};
use parking_lot::Mutex;
use std::any::Any;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;

/// Set, to `1`, for a process that is to be a worker.
pub(super) const ASKED: &str = "SVOD_WORKER";

/// How a worker is started: a program, its arguments, and what its environment has besides.
#[derive(Clone, Debug)]
pub(super) struct Launch {
    pub program: OsString,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
}

static LAUNCH: Mutex<Option<Launch>> = Mutex::new(None);

/// How workers of this process are started, if it said so.
pub(super) fn launch() -> Option<Launch> {
    LAUNCH.lock().clone()
}

/// Says how workers are started: a program that calls [`serve_if_worker`], its arguments, and what its
/// environment has besides this one's.
pub fn set_worker_command(program: OsString, args: Vec<OsString>, env: Vec<(OsString, OsString)>) {
    *LAUNCH.lock() = Some(Launch { program, args, env });
}

/// To be called first in `main` by programs that search for schedules (`SVOD_BEAM`): candidates run
/// in processes that are this program again, and stay in this call.
pub fn serve_if_worker() {
    if std::env::var_os(ASKED).is_some_and(|v| v == "1") {
        serve(&mut Native::default());
    } else if let Ok(program) = std::env::current_exe() {
        LAUNCH.lock().get_or_insert(Launch { program: program.into(), args: Vec::new(), env: Vec::new() });
    }
}

/// Answers the requests of the process that started this one, until it ends.
pub fn serve(bench: &mut dyn Bench) {
    let Ok(socket) = std::io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return };
    let Ok(mut requests) = socket.try_clone() else { return };
    let (send, receive) = channel();
    std::thread::spawn(move || {
        while let Ok(request) = message::read(&mut requests) {
            if send.send(request).is_err() {
                break;
            }
        }
        // SAFETY: `_exit` has no preconditions. A candidate may be in an endless loop: nothing else
        // would end the process.
        unsafe { libc::_exit(0) };
    });
    // What panics is said in the reply.
    std::panic::set_hook(Box::new(|_| {}));
    let mut replies = socket;
    let hello = message::write(&mut replies, &[]);
    if hello.is_err() {
        return;
    }
    for request in receive {
        if message::write(&mut replies, &answer(bench, &request).parts()).is_err() {
            return;
        }
    }
}

fn answer(bench: &mut dyn Bench, request: &[String]) -> Reply {
    let Some((subject, request)) = Request::parse(request) else {
        return Reply::Dropped(Dropped::new(Reason::Run, "a request that is none"));
    };
    let work = || match request {
        Request::Compile(schedule) => bench.compile(&subject, &schedule).map(Reply::Compiled),
        Request::Time { schedules, best } => bench.time(&subject, &schedules, best).map(Reply::Times),
    };
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(reply) => reply.unwrap_or_else(Reply::Dropped),
        Err(panic) => Reply::Dropped(Dropped::new(Reason::Panic, message_of(&*panic))),
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}
