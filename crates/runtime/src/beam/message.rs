//! What a search and its workers say to each other: lists of texts, each with its length in front.

use std::fmt;
use std::io::{self, Read, Write};
use std::str::FromStr;
use std::time::Duration;
use svod_schedule::Schedule;

/// What the candidates of a search have in common, as text that another process understands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The kernel.
    pub kernel: String,
    /// The device.
    pub device: String,
    /// Its description.
    pub target: String,
    /// Threads of a run.
    pub threads: usize,
    /// Linear instructions of a candidate at most.
    pub max_uops: usize,
    /// Scalar operations of a candidate at most.
    pub most_work: u64,
}

/// What is to be done with candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Compiles one.
    Compile(Schedule),
    /// Times one, or several in turn.
    Time { schedules: Vec<Schedule>, best: Option<Duration> },
}

/// A candidate that compiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// Names its code: equal for equal code.
    pub digest: String,
    /// Its scalar operations.
    pub work: u64,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Compiled(Compiled),
    Times(Vec<Duration>),
    Dropped(Dropped),
}

/// A candidate that is out of the search.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {detail}")]
pub struct Dropped {
    /// Why.
    pub reason: Reason,
    /// Numbers, or a message.
    pub detail: String,
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $text:literal;)*) => {
        /// Why a candidate is out of the search.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason {
            $($(#[$doc])* $name,)*
        }

        impl fmt::Display for Reason {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Reason::$name => $text,)* })
            }
        }

        impl FromStr for Reason {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                match text {
                    $($text => Ok(Reason::$name),)*
                    _ => Err(()),
                }
            }
        }
    };
}

reasons! {
    /// The kernel has no loops, or no linear list, under this schedule.
    Linearize "linearize";
    /// The linear list is too long.
    TooManyUops "too many uops";
    /// It computes very much more than the heuristic's.
    Compute "compute grew";
    /// The compiler fails.
    Compile "compile";
    /// It cannot be run.
    Run "run";
    /// svod panics over it.
    Panic "panic";
    /// It takes too long to compile, or does not end.
    TimeOut "time-out";
    /// It ends the process.
    Crash "crash";
}

/// Texts of a message at most, and bytes of one: beyond, the peer is none of ours.
const MOST_PARTS: u32 = 64;
const MOST_BYTES: u32 = 64 << 20;

/// Sends a message.
pub(crate) fn write(to: &mut dyn Write, parts: &[String]) -> io::Result<()> {
    let mut bytes = (parts.len() as u32).to_le_bytes().to_vec();
    for part in parts {
        bytes.extend((part.len() as u32).to_le_bytes());
        bytes.extend(part.as_bytes());
    }
    to.write_all(&bytes)?;
    to.flush()
}

/// Receives a message.
pub(crate) fn read(from: &mut dyn Read) -> io::Result<Vec<String>> {
    let number = |most: u32, from: &mut dyn Read| -> io::Result<u32> {
        let mut bytes = [0; 4];
        from.read_exact(&mut bytes)?;
        Some(u32::from_le_bytes(bytes)).filter(|n| *n <= most).ok_or_else(|| io::ErrorKind::InvalidData.into())
    };
    let count = number(MOST_PARTS, from)?;
    let part = |_| {
        let length = number(MOST_BYTES, from)?;
        // Memory for what comes, not for what is announced.
        let mut bytes = Vec::new();
        if Read::take(&mut *from, length.into()).read_to_end(&mut bytes)? < length as usize {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
    };
    (0..count).map(part).collect()
}

impl Request {
    pub(crate) fn parts(&self, subject: &Subject) -> Vec<String> {
        let Subject { kernel, device, target, threads, max_uops, most_work } = subject;
        let texts = [kernel, device, target].into_iter().cloned();
        let mut parts: Vec<String> = texts.collect();
        parts.extend([threads.to_string(), max_uops.to_string(), most_work.to_string()]);
        match self {
            Request::Compile(schedule) => parts.extend(["compile".to_owned(), schedule.to_string()]),
            Request::Time { schedules, best } => {
                let best = best.map_or_else(String::new, |b| b.as_nanos().to_string());
                parts.extend(["time".to_owned(), best]);
                parts.extend(schedules.iter().map(ToString::to_string));
            }
        }
        parts
    }

    pub(crate) fn parse(parts: &[String]) -> Option<(Subject, Request)> {
        let [kernel, device, target, threads, max_uops, most_work, what, rest @ ..] = parts else { return None };
        let subject = Subject {
            kernel: kernel.clone(),
            device: device.clone(),
            target: target.clone(),
            threads: threads.parse().ok()?,
            max_uops: max_uops.parse().ok()?,
            most_work: most_work.parse().ok()?,
        };
        let request = match (what.as_str(), rest) {
            ("compile", [schedule]) => Request::Compile(schedule.parse().ok()?),
            ("time", [best, schedules @ ..]) => {
                let best = if best.is_empty() { None } else { Some(Duration::from_nanos(best.parse().ok()?)) };
                let schedules = schedules.iter().map(|s| s.parse().ok()).collect::<Option<_>>()?;
                Request::Time { schedules, best }
            }
            _ => return None,
        };
        Some((subject, request))
    }
}

impl Reply {
    pub(crate) fn parts(&self) -> Vec<String> {
        match self {
            Reply::Compiled(Compiled { digest, work }) => vec!["compiled".into(), digest.clone(), work.to_string()],
            Reply::Times(times) => {
                let times = times.iter().map(|t| t.as_nanos().to_string());
                std::iter::once("times".to_owned()).chain(times).collect()
            }
            Reply::Dropped(Dropped { reason, detail }) => vec!["dropped".into(), reason.to_string(), detail.clone()],
        }
    }

    pub(crate) fn parse(parts: &[String]) -> Option<Reply> {
        let (what, rest) = parts.split_first()?;
        match (what.as_str(), rest) {
            ("compiled", [digest, work]) => {
                Some(Reply::Compiled(Compiled { digest: digest.clone(), work: work.parse().ok()? }))
            }
            ("times", times) => {
                let times = times.iter().map(|t| t.parse().ok().map(Duration::from_nanos));
                times.collect::<Option<_>>().map(Reply::Times)
            }
            ("dropped", [reason, detail]) => {
                Some(Reply::Dropped(Dropped { reason: reason.parse().ok()?, detail: detail.clone() }))
            }
            _ => None,
        }
    }
}

impl Dropped {
    pub(crate) fn new(reason: Reason, detail: impl fmt::Display) -> Dropped {
        Dropped { reason, detail: detail.to_string() }
    }
}
