#![allow(clippy::unwrap_used)]

use super::bench::{Bench, Native};
use super::crew::{Crew, Folder};
use super::measure::{Rules, Timed, paired, score};
use super::message::{self, Compiled, Dropped, Reason, Reply, Request, Subject};
use super::report::{Report, dropped};
use super::worker::{ASKED, serve, set_worker_command};
use super::{Deadline, Search, kernel};
use crate::code::{Job, Optimizer};
use crate::context::Context;
use crate::error::Error;
use crate::interrupt::Watch;
use crate::mutate::fuzz_bytes;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use svod_device::DeviceSpec;
use svod_ir::kernel::Kernel;
use svod_ir::size::Variable;
use svod_ir::target::Target;
use svod_schedule::language::Opt;
use svod_schedule::{Schedule, heuristic, lower};

/// The first split's factor says what goes wrong.
const HANGS: u64 = 777;
const CRASHES: u64 = 778;
const PANICS: u64 = 779;
const CRASHES_LATE: u64 = 780;

struct Planted(Native);

fn plant(schedule: &Schedule) -> u64 {
    let by = |o: &Opt| if let Opt::Split { by, .. } = o { Some(*by) } else { None };
    schedule.0.iter().find_map(by).unwrap_or(0)
}

impl Bench for Planted {
    fn compile(&mut self, subject: &Subject, schedule: &Schedule) -> Result<Compiled, Dropped> {
        match plant(schedule) {
            HANGS => loop {
                std::thread::sleep(Duration::from_secs(1));
            },
            CRASHES => std::process::abort(),
            PANICS => panic!("planted"),
            _ => self.0.compile(subject, schedule),
        }
    }

    fn time(
        &mut self,
        subject: &Subject,
        schedules: &[Schedule],
        best: Option<Duration>,
    ) -> Result<Vec<Duration>, Dropped> {
        match plant(&schedules[0]) {
            CRASHES_LATE => std::process::abort(),
            _ => self.0.time(subject, schedules, best),
        }
    }
}

/// Not a test: what the workers of these tests run.
#[test]
fn worker_of_these_tests() {
    if std::env::var_os(ASKED).is_some() {
        serve(&mut Planted(Native::default()));
    }
}

fn crew(timeout: u64) -> Crew {
    let args = ["beam::tests::worker_of_these_tests", "--exact"].map(Into::into).to_vec();
    set_worker_command(std::env::current_exe().unwrap().into(), args, Vec::new());
    Crew::start(2, Duration::from_secs(timeout), &Watch::new(None)).unwrap()
}

fn schedule(text: &str) -> Schedule {
    text.parse().unwrap()
}

fn split(by: u64) -> Schedule {
    schedule(&format!("split out.i.0 by {by} rest"))
}

/// Doubles 4096 numbers, or as many as a variable says.
fn doubled(symbolic: bool) -> Kernel {
    let (header, size) = if symbolic { ("var n = 1..=64\n", "n") } else { ("", "4096") };
    let text = format!(
        "kernel doubled\n{header}param p0: f32[{size}]\nparam p1: f32[{size}]\naxis i < {size}\n\n\
         stage out[i] = map\n  p1[i] = p0[i] + p0[i]\n"
    );
    Kernel::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn subject(kernel: &Kernel) -> Subject {
    Subject {
        kernel: kernel.to_string(),
        device: "CPU".into(),
        target: Context::global().target().to_string(),
        threads: 1,
        max_uops: 30_000,
        most_work: u64::MAX,
    }
}

fn reason(reply: &Reply) -> Option<Reason> {
    if let Reply::Dropped(why) = reply { Some(why.reason) } else { None }
}

#[test]
fn c9_a_candidate_that_hangs_crashes_or_panics_costs_itself() {
    static PANICKED: AtomicUsize = AtomicUsize::new(0);
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| match info.payload().downcast_ref::<&str>() {
        Some(&"planted") => drop(PANICKED.fetch_add(1, Ordering::Relaxed)),
        _ => before(info),
    }));
    let (mut crew, watch, subject) = (crew(4), Watch::new(None), subject(&doubled(false)));
    assert_eq!(crew.running(), 2, "warm before the first timing");
    let all = [split(8), split(HANGS), split(CRASHES), split(PANICS), split(16), schedule("bind out.k.0 task")];
    let mut done = 0;
    let replies = crew.compile(&subject, &all, &watch, &|| false, &mut |n| done = n).unwrap();
    let reasons: Vec<Option<Reason>> = replies.iter().flatten().map(reason).collect();
    use Reason::{Crash, Linearize, Panic, TimeOut};
    assert_eq!(reasons, [None, Some(TimeOut), Some(Crash), Some(Panic), None, Some(Linearize)], "{replies:?}");
    assert_eq!(done, all.len());
    let time = |s: u64| Request::Time { schedules: vec![split(s)], best: None };
    let late = crew.ask(&subject, &time(CRASHES_LATE), &watch).unwrap();
    assert_eq!(reason(&late), Some(Crash), "{late:?}");
    assert!(matches!(crew.ask(&subject, &time(8), &watch), Ok(Reply::Times(_))), "the next one is timed");
    assert_eq!(PANICKED.load(Ordering::Relaxed), 0, "a panic elsewhere is none here");
}

#[test]
fn c9_the_time_out_bounds_compilations_and_runs_have_a_limit_of_their_own() {
    let crew = crew(4);
    let time = |best: Option<Duration>| Request::Time { schedules: vec![split(8), split(16)], best };
    let seconds = Duration::from_secs;
    assert_eq!(crew.limit(&Request::Compile(split(8))), seconds(4));
    assert_eq!(crew.limit(&time(None)), seconds(2 * (4 + 600)), "a kernel may run longer than it compiles");
    assert_eq!(crew.limit(&time(Some(Duration::from_micros(50)))), seconds(2 * (4 + 2)));
    assert_eq!(crew.limit(&time(Some(Duration::from_millis(20)))), seconds(2 * (4 + 20)));
}

#[test]
fn c9_folders_that_were_left_behind_are_stepped_over() {
    let left: Vec<_> = (0..200).map(Folder::path).filter(|path| std::fs::create_dir(path).is_ok()).collect();
    assert!(left.len() > 100, "other tests make a few");
    drop(crew(4));
    left.iter().for_each(|path| std::fs::remove_dir(path).unwrap());
}

#[test]
fn c9_ctrl_c_ends_a_search_and_its_workers() {
    let (mut crew, subject) = (crew(600), subject(&doubled(false)));
    let watch = Watch::new(Some(|| true));
    let start = Instant::now();
    let stopped = crew.ask(&subject, &Request::Compile(split(HANGS)), &watch);
    assert!(matches!(stopped, Err(Error::Interrupted)));
    let stopped = crew.compile(&subject, &[split(HANGS), split(HANGS), split(8)], &watch, &|| false, &mut |_| {});
    assert!(matches!(stopped, Err(Error::Interrupted)));
    assert!(start.elapsed() < Duration::from_secs(300), "long before the time is out");
}

#[test]
fn c9_what_is_too_long_or_computes_too_much_is_dropped_with_numbers() {
    let mut native = Native::default();
    let kernel = doubled(false);
    let few = Subject { max_uops: 3, ..subject(&kernel) };
    let long = native.compile(&few, &schedule("UNROLL out.i.0 64")).unwrap_err();
    assert_eq!(long.reason, Reason::TooManyUops);
    assert!(long.detail.contains(" of at most 3; most are ") && long.detail.contains("load 64"), "{long}");
    let little = Subject { most_work: 10, ..subject(&kernel) };
    let grown = native.compile(&little, &Schedule::default()).unwrap_err();
    assert_eq!((grown.reason, grown.to_string().contains("of at most 10")), (Reason::Compute, true), "{grown}");
    let wrong = native.compile(&subject(&kernel), &schedule("bind out.i.0 lane")).unwrap_err();
    assert_eq!(
        (wrong.reason, wrong.to_string().starts_with("linearize: step 1")),
        (Reason::Linearize, true),
        "{wrong}"
    );
}

#[test]
fn c9_every_drop_is_logged_with_reason_and_schedule() {
    use Reason::{Compile, Compute, Crash, Linearize, Panic, Run, TimeOut, TooManyUops};
    let two = schedule("split out.i.0 by 8 rest\nbind out.i.1 vector");
    let line = |reason| dropped(&two, &Dropped::new(reason, "because\nof this"));
    let lines = [Linearize, TooManyUops, Compute, Compile, Run, Panic, TimeOut, Crash].map(line);
    assert_eq!(lines[0], "dropped, linearize: because of this [split out.i.0 by 8 rest; bind out.i.1 vector]");
    let kinds = ["linearize", "too many uops", "compute grew", "compile", "run", "panic", "time-out", "crash"];
    for (line, kind) in lines.iter().zip(kinds) {
        assert!(line.starts_with(&format!("dropped, {kind}: ")), "{line}");
    }
}

#[test]
fn c9_equal_code_has_one_name() {
    let mut native = Native::default();
    let subject = subject(&doubled(false));
    let mut digest = |text: &str| native.compile(&subject, &schedule(text)).unwrap().digest;
    let rest = digest("split out.i.0 by 8 rest\nbind out.i.1 vector");
    assert_eq!(rest, digest("split out.i.0 by 8 exact\nbind out.i.1 vector"));
    assert_ne!(rest, digest("split out.i.0 by 4 exact\nbind out.i.1 vector"));
}

#[test]
fn c9_variables_are_in_the_middle_and_memory_is_the_workers_own() {
    let mut native = Native::default();
    let symbolic = subject(&doubled(true));
    assert!(native.time(&symbolic, &[Schedule::default()], None).is_ok());
    assert_eq!(native.bindings(), [Variable::new("n", 1, 64).unwrap().bind(32).unwrap()]);
    // What is read and written is as it was before each run.
    let text = "kernel more\nparam p0: f32[64]\naxis i < 64\n\nstage out[i] = map\n  p0[i] = p0[i] + f32(1.0)\n";
    let more = subject(&Kernel::parse(text).unwrap());
    native.time(&more, &[Schedule::default()], None).unwrap();
    assert!(native.is_restored(&more).unwrap());
}

#[test]
fn c9_a_search_ends_with_a_legal_schedule_that_is_no_slower() {
    let target = Context::global().target().clone();
    let kernel_ = doubled(false);
    let device = Context::global().devices().get(&DeviceSpec::CPU).unwrap();
    let job =
        Job { kernel: Arc::new(kernel_.clone()), device, target: target.clone(), optimizer: Optimizer::Heuristic };
    let timeout = Duration::from_secs(60);
    let search = Search { width: 1, timeout, max_uops: 2000, limit: None, threads: 1, strict: false };
    let mut report = Report::new("doubled", 0, 1);
    let end = Deadline(None);
    let found = kernel(&mut crew(60), &job, &search, end, &Watch::new(None), &mut report).unwrap().unwrap();
    assert!(lower(&kernel_, &found).is_ok());
    // Planted candidates are not among neighbours; nothing of them is found.
    assert!(!(HANGS..=CRASHES_LATE).contains(&plant(&found)));
    let base = heuristic(&kernel_, &target);
    assert!(!base.0.is_empty());
    // At its end a search has what it began with.
    let end = Deadline(Some(Instant::now()));
    let found = kernel(&mut crew(60), &job, &search, end, &Watch::new(None), &mut report).unwrap().unwrap();
    assert_eq!(found, base);
}

/// Takes the times of a list, one a run, and counts what is asked of it.
#[derive(Default)]
struct Scripted {
    times: Vec<u64>,
    runs: usize,
    restored: usize,
    flushed: usize,
    grid: Option<[usize; 3]>,
    ran: Option<[usize; 3]>,
}

impl Timed for Scripted {
    type Error = ();

    fn restore(&mut self) -> Result<(), ()> {
        self.restored += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ()> {
        self.flushed += 1;
        Ok(())
    }

    fn grid(&self) -> Option<[usize; 3]> {
        self.grid
    }

    fn run(&mut self, grid: Option<[usize; 3]>) -> Result<Duration, ()> {
        self.ran = grid;
        self.runs += 1;
        Ok(Duration::from_micros(self.times[(self.runs - 1).min(self.times.len() - 1)]))
    }
}

#[test]
fn c9_the_score_is_the_least_time_and_slow_ones_are_given_up() {
    let us = Duration::from_micros;
    let cpu = Rules::of(&Target::named("x86-64-v3").unwrap());
    let mut steady = Scripted { times: vec![900, 50, 40, 45], ..Scripted::default() };
    assert_eq!(score(&mut steady, &cpu, None), Ok(us(40)));
    assert!(steady.runs > 10 && steady.flushed == 0 && steady.restored == steady.runs);
    let mut slow = Scripted { times: vec![140], ..Scripted::default() };
    assert_eq!((score(&mut slow, &cpu, Some(us(100))), slow.runs), (Ok(us(140)), 3));
    let mut hopeless = Scripted { times: vec![2000], ..Scripted::default() };
    assert_eq!((score(&mut hopeless, &cpu, Some(us(100))), hopeless.runs), (Ok(us(2000)), 1));
    let mut near = Scripted { times: vec![500, 120, 110, 90], ..Scripted::default() };
    assert_eq!(score(&mut near, &cpu, Some(us(100))), Ok(us(90)));
    let mut pair = [
        Scripted { times: vec![30, 20, 10], ..Scripted::default() },
        Scripted { times: vec![9], ..Scripted::default() },
    ];
    assert_eq!(paired(&mut pair, &cpu), Ok(vec![us(10), us(9)]));
    assert_eq!(pair[0].runs, pair[1].runs);
}

#[test]
fn c9_large_grids_of_a_gpu_are_cut_and_times_scaled() {
    let gpu = Rules::of(&Target::named("cuda-sm90").unwrap());
    assert_eq!(gpu.cut([65_536, 1, 1]), ([65_536, 1, 1], 1.0));
    assert_eq!(gpu.cut([70_000, 1, 1]), ([35_000, 1, 1], 2.0));
    assert_eq!(gpu.cut([1024, 1024, 16]), ([64, 64, 16], 256.0));
    assert_eq!(gpu.cut([16, 16, 1024]), ([16, 16, 256], 4.0));
    assert_eq!(Rules::default().cut([1 << 20, 1, 1]), ([1 << 20, 1, 1], 1.0));
    let mut timed = Scripted { times: vec![10], grid: Some([1 << 20, 1, 1]), ..Scripted::default() };
    assert_eq!(score(&mut timed, &gpu, None), Ok(Duration::from_micros(160)));
    assert_eq!((timed.ran, timed.flushed), (Some([65_536, 1, 1]), timed.runs));
}

/// A request of each kind.
fn requests() -> [Request; 3] {
    let schedules = vec![split(8), Schedule::default()];
    [
        Request::Compile(split(4)),
        Request::Time { schedules: schedules.clone(), best: None },
        Request::Time { schedules, best: Some(Duration::from_nanos(17)) },
    ]
}

/// A reply of each kind.
fn replies() -> [Reply; 3] {
    [
        Reply::Compiled(Compiled { digest: "ab".into(), work: 3 }),
        Reply::Times(vec![Duration::from_nanos(5)]),
        Reply::Dropped(Dropped::new(Reason::TooManyUops, "9 of at most 3")),
    ]
}

#[test]
fn c9_fuzzed_messages_are_refused_or_come_back_as_they_were() {
    let subject = subject(&doubled(true));
    let requests = requests().map(|request| request.parts(&subject));
    let samples: Vec<Vec<u8>> = requests.into_iter().chain(replies().map(|reply| reply.parts())).map(sent).collect();
    fuzz_bytes("message", &samples, |bytes| {
        let Ok(parts) = message::read(&mut &*bytes) else { return };
        assert_eq!(message::read(&mut &sent(parts.clone())[..]).unwrap(), parts);
        if let Some((subject, request)) = Request::parse(&parts) {
            assert_eq!(Request::parse(&request.parts(&subject)), Some((subject, request)));
        }
        if let Some(reply) = Reply::parse(&parts) {
            assert_eq!(Reply::parse(&reply.parts()), Some(reply));
        }
    });
}

/// The bytes of a message.
fn sent(parts: Vec<String>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message::write(&mut bytes, &parts).unwrap();
    bytes
}

#[test]
fn c9_messages_come_back_as_they_were() {
    let subject = subject(&doubled(true));
    for request in requests() {
        let bytes = sent(request.parts(&subject));
        let parts = message::read(&mut &bytes[..]).unwrap();
        assert_eq!(Request::parse(&parts), Some((subject.clone(), request)));
        assert!(message::read(&mut &bytes[..bytes.len() - 1]).is_err());
    }
    for reply in replies() {
        assert_eq!(Reply::parse(&reply.parts()), Some(reply));
    }
    assert_eq!(Request::parse(&["hello".into()]), None);
}
