//! The schedule language: *how* a kernel is computed, as a value.
//!
//! A [`Schedule`] is a list of [`Opt`]s. Applying it is a fold over the kernel's loops in which
//! each step succeeds or says why not ([`crate::apply`]). It prints and parses one step a line:
//!
//! ```text
//! split out.a0.0 by 64 rest
//! bind out.a0.0 task
//! at mm out.a0.0
//! ```

use std::fmt;
use std::str::FromStr;

/// A loop: part `part` of axis `axis` of stage `stage`; prints as `out.k.1`.
///
/// Before any split an axis is one loop, part 0. A split keeps the number for the outer loop and
/// gives the inner one the axis's next unused number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopRef {
    /// The stage's name.
    pub stage: String,
    /// The axis's name.
    pub axis: String,
    /// Which part of the axis.
    pub part: u32,
}

impl LoopRef {
    /// Part `part` of an axis.
    pub fn new(stage: &str, axis: &str, part: u32) -> Self {
        LoopRef { stage: stage.into(), axis: axis.into(), part }
    }
}

/// What a split does where its factor does not divide the extent. Nothing ever tests for
/// divisibility: a split says this always.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tail {
    /// The factor divides the extent, provably: an error otherwise.
    Exact,
    /// What remains is covered exactly: by a shorter last round of a serial inner loop, or, where
    /// the inner loop is unrolled or a vector, by a copy of the body in narrower steps.
    Rest,
    /// The inner loop always runs in full; what lies outside is not stored, loads there are masked.
    Mask,
    /// The inner loop always runs in full and the stage's scratch is rounded up to hold the
    /// surplus, whose content nobody reads.
    PadScratch,
}

/// What a loop becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum To {
    /// Laid out in full.
    Unroll,
    /// Lanes of a vector.
    Vector,
    /// A dimension of the grid of tasks.
    Task,
}

/// How a staged copy of an operand is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Row-major over its axes.
    Rows,
    /// Panels of `width` points of the last axis: `[last / width][other axes][last % width]`.
    Panels(u32),
}

/// Where a staged copy of an operand lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StageHome {
    /// In the task's scratch, made anew by each task.
    Task,
    /// In a buffer that all tasks of the kernel read, made by a phase of its own before theirs.
    Shared,
    /// Made once, when the plan is prepared; only for operands that read constant leaves.
    Prepared,
}

/// One step of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Opt {
    /// Splits a loop in two, the inner one of `by` points.
    Split {
        /// The loop.
        at: LoopRef,
        /// Points of the inner loop.
        by: u64,
        /// What happens where it does not divide.
        tail: Tail,
    },
    /// Orders all loops of a stage, outermost first.
    Reorder {
        /// The stage.
        stage: String,
        /// Its loops.
        order: Vec<LoopRef>,
    },
    /// Changes how a loop runs.
    Bind {
        /// The loop.
        at: LoopRef,
        /// What it becomes.
        to: To,
    },
    /// Computes a stage inside a loop of a later stage, for just what is needed there.
    At {
        /// The stage.
        stage: String,
        /// Where it is computed.
        at: LoopRef,
    },
    /// Gives operand `operand` (0 or 1) of a contraction stage a copy of its own, as a new stage
    /// named `stage.a` or `stage.b`, to be placed with `At`.
    Stage {
        /// The contraction.
        stage: String,
        /// 0 has the rows, 1 the columns.
        operand: u8,
        /// The copy's layout.
        layout: Layout,
        /// Where the copy lives.
        home: StageHome,
    },
    /// Gives each lane of a reduction loop (unrolled or vector) an accumulator of its own.
    Rfactor {
        /// The loop.
        at: LoopRef,
    },
    /// Computes the innermost loops of a contraction stage by a generated tile of `rows` × `cols`.
    Micro {
        /// The contraction.
        stage: String,
        /// Rows of the tile.
        rows: u32,
        /// Columns of the tile.
        cols: u32,
    },
}

/// A list of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Schedule(pub Vec<Opt>);

impl fmt::Display for LoopRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.stage, self.axis, self.part)
    }
}

impl fmt::Display for Opt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Opt::Split { at, by, tail } => write!(f, "split {at} by {by} {}", word(TAILS, tail)),
            Opt::Reorder { stage, order } => {
                write!(f, "reorder {stage}")?;
                order.iter().try_for_each(|l| write!(f, " {l}"))
            }
            Opt::Bind { at, to } => write!(f, "bind {at} {}", word(TARGETS, to)),
            Opt::At { stage, at } => write!(f, "at {stage} {at}"),
            Opt::Stage { stage, operand, layout, home } => {
                write!(f, "stage {stage} {operand} ")?;
                match layout {
                    Layout::Rows => write!(f, "rows")?,
                    Layout::Panels(width) => write!(f, "panels:{width}")?,
                }
                write!(f, " {}", word(HOMES, home))
            }
            Opt::Rfactor { at } => write!(f, "rfactor {at}"),
            Opt::Micro { stage, rows, cols } => write!(f, "micro {stage} {rows} {cols}"),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|opt| writeln!(f, "{opt}"))
    }
}

const TAILS: &[(&str, Tail)] =
    &[("exact", Tail::Exact), ("rest", Tail::Rest), ("mask", Tail::Mask), ("pad", Tail::PadScratch)];
const TARGETS: &[(&str, To)] = &[("unroll", To::Unroll), ("vector", To::Vector), ("task", To::Task)];
const HOMES: &[(&str, StageHome)] =
    &[("task", StageHome::Task), ("shared", StageHome::Shared), ("prepared", StageHome::Prepared)];

fn word<T: PartialEq>(table: &'static [(&'static str, T)], value: &T) -> &'static str {
    table.iter().find(|(_, v)| v == value).map_or("?", |(w, _)| *w)
}

/// A line of a schedule's text that is no step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the schedule, `{text}`: {expected}")]
pub struct ParseScheduleError {
    /// Counted from 1.
    pub line: usize,
    /// The line.
    pub text: String,
    /// What was expected.
    pub expected: &'static str,
}

impl FromStr for Schedule {
    type Err = ParseScheduleError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lines = text.lines().map(str::trim).enumerate().filter(|(_, l)| !l.is_empty());
        let step = |(i, line): (usize, &str)| {
            parse_opt(line).map_err(|expected| ParseScheduleError { line: i + 1, text: line.into(), expected })
        };
        lines.map(step).collect::<Result<_, _>>().map(Schedule)
    }
}

fn parse_opt(line: &str) -> Result<Opt, &'static str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let look = |table, w| lookup(table, w);
    match words[..] {
        ["split", at, "by", by, tail] => {
            Ok(Opt::Split { at: parse_loop(at)?, by: number(by)?, tail: look(TAILS, tail)? })
        }
        ["reorder", stage, ref order @ ..] => Ok(Opt::Reorder {
            stage: stage.into(),
            order: order.iter().map(|l| parse_loop(l)).collect::<Result<_, _>>()?,
        }),
        ["bind", at, to] => Ok(Opt::Bind { at: parse_loop(at)?, to: lookup(TARGETS, to)? }),
        ["at", stage, at] => Ok(Opt::At { stage: stage.into(), at: parse_loop(at)? }),
        ["stage", stage, operand, layout, home] => {
            let layout = match layout.split_once(':') {
                None if layout == "rows" => Layout::Rows,
                Some(("panels", width)) => Layout::Panels(number(width)?),
                _ => return Err("expected the layout `rows` or `panels:<width>`"),
            };
            Ok(Opt::Stage { stage: stage.into(), operand: number(operand)?, layout, home: lookup(HOMES, home)? })
        }
        ["rfactor", at] => Ok(Opt::Rfactor { at: parse_loop(at)? }),
        ["micro", stage, rows, cols] => {
            Ok(Opt::Micro { stage: stage.into(), rows: number(rows)?, cols: number(cols)? })
        }
        _ => Err("expected split, reorder, bind, at, stage, rfactor or micro with its arguments"),
    }
}

fn number<T: FromStr>(word: &str) -> Result<T, &'static str> {
    word.parse().map_err(|_| "expected a number")
}

fn lookup<T: Copy>(table: &[(&str, T)], word: &str) -> Result<T, &'static str> {
    table.iter().find(|(w, _)| *w == word).map(|(_, v)| *v).ok_or("unknown word")
}

fn parse_loop(word: &str) -> Result<LoopRef, &'static str> {
    const EXPECTED: &str = "expected a loop, <stage>.<axis>.<part>";
    let (rest, part) = word.rsplit_once('.').ok_or(EXPECTED)?;
    let (stage, axis) = rest.rsplit_once('.').ok_or(EXPECTED)?;
    Ok(LoopRef::new(stage, axis, number(part).map_err(|_| EXPECTED)?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_schedule_prints_and_parses_back() {
        let text = "split out.a0.0 by 64 rest\nsplit mm.a.k.0 by 8 pad\nreorder out out.a1.0 out.a0.0\n\
                    bind out.a0.0 task\nat mm out.a0.0\nstage mm 1 panels:16 prepared\nstage mm 0 rows task\n\
                    rfactor out.r0.1\nmicro mm 6 16\n";
        assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
    }

    #[test]
    fn a_line_that_is_no_step_is_named() {
        let error = "bind out.a0.0 task\nsplit out by".parse::<Schedule>().unwrap_err();
        assert_eq!((error.line, error.text.as_str()), (2, "split out by"));
    }
}
