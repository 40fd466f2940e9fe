//! The text of schedules.

use super::{Layout, Lines, LoopRef, Opt, Read, Schedule, StageHome, Tail, To};
use std::fmt;
use std::str::FromStr;

const TAILS: &[(&str, Tail)] =
    &[("exact", Tail::Exact), ("rest", Tail::Rest), ("mask", Tail::Mask), ("pad", Tail::PadScratch)];
const TARGETS: &[(&str, To)] = &[
    ("unroll", To::Unroll),
    ("vector", To::Vector),
    ("task", To::Task),
    ("block", To::Block),
    ("warp", To::Warp),
    ("lane", To::Lane),
];
const HOMES: &[(&str, StageHome)] =
    &[("task", StageHome::Task), ("shared", StageHome::Shared), ("prepared", StageHome::Prepared)];

impl fmt::Display for LoopRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.stage, self.axis, self.part)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layout::Rows => f.write_str("rows"),
            Layout::Panels(width) => write!(f, "panels:{width}"),
            Layout::Plane { slack, multiple: 1 } => write!(f, "plane:{slack}"),
            Layout::Plane { slack, multiple } => write!(f, "plane:{slack}:{multiple}"),
        }
    }
}

impl fmt::Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Read::Operand(n) => write!(f, "{n}"),
            Read::Load { from, nth: 0 } => f.write_str(from),
            Read::Load { from, nth } => write!(f, "{from}:{nth}"),
        }
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
            Opt::Stage { stage, read, layout, home } => {
                write!(f, "stage {stage} {read} {layout} {}", word(HOMES, home))
            }
            Opt::Rfactor { at } => write!(f, "rfactor {at}"),
            Opt::SplitReduction { at, by } => write!(f, "split_reduction {at} by {by}"),
            Opt::Pairs { stage } => write!(f, "pairs {stage}"),
            Opt::Turn { stage } => write!(f, "turn {stage}"),
            Opt::Micro { stage, rows, cols } => write!(f, "micro {stage} {rows} {cols}"),
            Opt::DirectStore { stage, output } => write!(f, "direct_store {stage} {output}"),
            Opt::Stream { stage } => write!(f, "stream {stage}"),
            Opt::Prefetch { at, read, ahead } => write!(f, "prefetch {at} {read} {ahead}"),
            Opt::Whole => f.write_str("whole"),
            Opt::Strict => f.write_str("strict"),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|opt| writeln!(f, "{opt}"))
    }
}

fn word<T: PartialEq>(table: &'static [(&'static str, T)], value: &T) -> &'static str {
    table.iter().find(|(_, v)| v == value).map_or("?", |(w, _)| *w)
}

/// The steps, and their arguments.
const STEPS: &[(&str, &str)] = &[
    ("split", "l by n exact|rest|mask|pad"),
    ("reorder", "stage l …"),
    ("bind", "l unroll|vector|task|block|warp|lane"),
    ("at", "stage l"),
    ("stage", "stage read rows|panels:n|plane:n task|shared|prepared"),
    ("rfactor", "l"),
    ("split_reduction", "l by n"),
    ("pairs", "stage"),
    ("turn", "stage"),
    ("micro", "stage rows cols"),
    ("direct_store", "stage output"),
    ("stream", "stage"),
    ("prefetch", "l read ahead"),
    ("whole", ""),
    ("strict", ""),
];

/// What is expected of a line that is none of the steps and spellings.
const UNKNOWN: &str = "expected split, reorder, bind, at, stage, rfactor, split_reduction, pairs, turn, micro, direct_store, \
                       stream, prefetch, whole, \
                       strict, UPCAST, UNROLL, VECTORIZE, LOCAL, GROUP, THREAD, SWAP, PADTO, TC, TILE, STAGE, \
                       STREAM or PREFETCH with its arguments";

/// The form of a step or spelling.
fn usage(word: &str) -> Option<String> {
    let all = STEPS.iter().copied().chain(super::SPELLINGS.iter().map(|(name, arguments, _)| (*name, *arguments)));
    let (name, arguments) = all.into_iter().find(|(name, _)| *name == word)?;
    Some(format!("expected `{}`", format!("{name} {arguments}").trim_end()))
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
    pub expected: String,
}

impl FromStr for Schedule {
    type Err = ParseScheduleError;

    /// Reads one step, or one of [`super::SPELLINGS`], a line. Empty lines, and what follows a `#`,
    /// mean nothing.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mut opts, mut lines) = (Vec::new(), Lines::default());
        for (i, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some(first) = words.first() else { continue };
            let steps = match first.chars().all(|c| c.is_ascii_uppercase()) {
                true => spelling(&words, &opts),
                false => step(&words).map(|opt| vec![opt]),
            };
            let steps = steps.map_err(|expected| {
                let expected = usage(first).filter(|_| expected == UNKNOWN).unwrap_or(expected);
                ParseScheduleError { line: i + 1, text: line.into(), expected }
            })?;
            lines.push(line, steps.len());
            opts.extend(steps);
        }
        Ok(Schedule(opts, lines))
    }
}

/// What was read, or what was expected instead.
type Parsed<T> = Result<T, String>;

/// What steps were called in earlier versions, whose schedules still parse.
const FORMER: &[(&str, &str)] = &[("parts", "split_reduction"), ("into", "direct_store")];

fn step(words: &[&str]) -> Parsed<Opt> {
    let mut words = words.to_vec();
    if let Some((_, now)) = words.first().and_then(|word| FORMER.iter().find(|(former, _)| former == word)) {
        words[0] = now;
    }
    match words[..] {
        ["split", at, "by", by, tail] => {
            Ok(Opt::Split { at: parse_loop(at)?, by: number(by)?, tail: lookup(TAILS, tail)? })
        }
        ["reorder", stage, ref order @ ..] => Ok(Opt::Reorder {
            stage: stage.into(),
            order: order.iter().map(|l| parse_loop(l)).collect::<Result<_, _>>()?,
        }),
        ["bind", at, to] => Ok(Opt::Bind { at: parse_loop(at)?, to: lookup(TARGETS, to)? }),
        ["at", stage, at] => Ok(Opt::At { stage: stage.into(), at: parse_loop(at)? }),
        ["stage", stage, read, layout, home] => {
            let layout = match layout.split_once(':') {
                None if layout == "rows" => Layout::Rows,
                Some(("panels", width)) => Layout::Panels(number(width)?),
                Some(("plane", sizes)) => {
                    let (slack, multiple) = sizes.split_once(':').unwrap_or((sizes, "1"));
                    Layout::Plane { slack: number(slack)?, multiple: number(multiple)? }
                }
                _ => return Err("expected the layout `rows`, `panels:<width>` or `plane:<slack>:<multiple>`".into()),
            };
            Ok(Opt::Stage { stage: stage.into(), read: parse_read(read)?, layout, home: lookup(HOMES, home)? })
        }
        ["rfactor", at] => Ok(Opt::Rfactor { at: parse_loop(at)? }),
        ["split_reduction", at, "by", by] => Ok(Opt::SplitReduction { at: parse_loop(at)?, by: number(by)? }),
        ["pairs", stage] => Ok(Opt::Pairs { stage: stage.into() }),
        ["turn", stage] => Ok(Opt::Turn { stage: stage.into() }),
        ["micro", stage, rows, cols] => {
            Ok(Opt::Micro { stage: stage.into(), rows: number(rows)?, cols: number(cols)? })
        }
        ["direct_store", stage, output] => Ok(Opt::DirectStore { stage: stage.into(), output: output.into() }),
        ["stream", stage] => Ok(Opt::Stream { stage: stage.into() }),
        ["prefetch", at, read, ahead] => {
            Ok(Opt::Prefetch { at: parse_loop(at)?, read: parse_read(read)?, ahead: number(ahead)? })
        }
        ["whole"] => Ok(Opt::Whole),
        ["strict"] => Ok(Opt::Strict),
        _ => Err(UNKNOWN.into()),
    }
}

/// The steps that a spelling stands for, after the steps before it.
fn spelling(words: &[&str], before: &[Opt]) -> Parsed<Vec<Opt>> {
    let cut = |at: &str, by: &str, tail| {
        let at = parse_loop(at)?;
        let split = |o: &&Opt| matches!(o, Opt::Split { at: l, .. } if (&l.stage, &l.axis) == (&at.stage, &at.axis));
        let inner = LoopRef { part: 1 + before.iter().filter(split).count() as u32, ..at.clone() };
        Ok::<_, String>((Opt::Split { at: at.clone(), by: number(by)?, tail }, at, inner))
    };
    let bind = |at: &LoopRef, to| Opt::Bind { at: at.clone(), to };
    Ok(match *words {
        ["UPCAST" | "UNROLL", at, by] => {
            let (split, _, inner) = cut(at, by, Tail::Rest)?;
            vec![split, bind(&inner, To::Unroll)]
        }
        ["VECTORIZE", at, by] => {
            let (split, _, inner) = cut(at, by, Tail::Rest)?;
            vec![split, bind(&inner, To::Vector)]
        }
        ["LOCAL", at, by] => {
            let (split, _, inner) = cut(at, by, Tail::Rest)?;
            vec![split, bind(&inner, To::Lane)]
        }
        ["GROUP", at, by] => {
            let (split, _, inner) = cut(at, by, Tail::Rest)?;
            vec![split, bind(&inner, To::Lane), Opt::Rfactor { at: inner }]
        }
        ["THREAD", at, by] => {
            let (split, outer, _) = cut(at, by, Tail::Rest)?;
            vec![split, bind(&outer, To::Task)]
        }
        ["SWAP", outer, inner] => {
            let (outer, inner) = (parse_loop(outer)?, parse_loop(inner)?);
            vec![Opt::Reorder { stage: outer.stage.clone(), order: vec![inner, outer] }]
        }
        ["PADTO", at, by] => vec![cut(at, by, Tail::PadScratch)?.0],
        ["TILE", l, m, by_l, by_m] => {
            let (split_l, l, inner_l) = cut(l, by_l, Tail::Rest)?;
            let (split_m, m, inner_m) = cut(m, by_m, Tail::Rest)?;
            if l.axis == m.axis {
                return Err("expected loops of two axes".into());
            }
            let stage = l.stage.clone();
            vec![split_l, split_m, Opt::Reorder { stage, order: vec![l, m, inner_l, inner_m] }]
        }
        ["TC", ref rest @ ..] => vec![step(&[&["micro"], rest].concat())?],
        ["STAGE", ref rest @ ..] => vec![step(&[&["stage"], rest].concat())?],
        ["STREAM", ref rest @ ..] => vec![step(&[&["stream"], rest].concat())?],
        ["PREFETCH", ref rest @ ..] => vec![step(&[&["prefetch"], rest].concat())?],
        _ => return Err(UNKNOWN.into()),
    })
}

fn number<T: FromStr>(word: &str) -> Parsed<T> {
    word.parse().map_err(|_| "expected a number".into())
}

fn lookup<T: Copy>(table: &[(&str, T)], word: &str) -> Parsed<T> {
    let found = table.iter().find(|(w, _)| *w == word).map(|(_, v)| *v);
    found.ok_or_else(|| {
        let words: Vec<&str> = table.iter().map(|(w, _)| *w).collect();
        format!("unknown word `{word}`, expected one of {}", words.join(", "))
    })
}

fn parse_loop(word: &str) -> Parsed<LoopRef> {
    const EXPECTED: &str = "expected a loop, <stage>.<axis>.<part>";
    let (rest, part) = word.rsplit_once('.').ok_or(EXPECTED)?;
    let (stage, axis) = rest.rsplit_once('.').ok_or(EXPECTED)?;
    Ok(LoopRef::new(stage, axis, number(part).map_err(|_| EXPECTED)?))
}

fn parse_read(word: &str) -> Parsed<Read> {
    if word.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(Read::Operand(number(word)?));
    }
    Ok(match word.split_once(':') {
        Some((from, nth)) => Read::Load { from: from.into(), nth: number(nth)? },
        None => Read::Load { from: word.into(), nth: 0 },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::SPELLINGS;
    use super::*;

    #[test]
    fn a_schedule_prints_and_parses_back() {
        let text = "strict\nsplit out.a0.0 by 64 rest\nsplit mm.a.k.0 by 8 pad\nreorder out out.a1.0 out.a0.0\n\
                    bind out.a0.0 task\nbind out.a1.0 warp\nat mm out.a0.0\nstage mm 1 panels:16 prepared\n\
                    stage mm 0 rows task\nstage out p0:1 rows shared\nstage out peak rows task\nrfactor out.r0.1\n\
                    split_reduction out.a1.0 by 128\npairs mm\n\
                    micro mm 6 16\ndirect_store mm out\nstream out\nprefetch mm.k.0 p1 8\n";
        assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
    }

    #[test]
    fn former_names_of_steps_still_parse() {
        let former: Schedule = "parts out.k.0 by 128\ninto mm out\n".parse().unwrap();
        assert_eq!(former.to_string(), "split_reduction out.k.0 by 128\ndirect_store mm out\n");
    }

    #[test]
    fn a_line_that_is_no_step_is_named() {
        let error = "bind out.a0.0 task\n\n# a remark\nsplit out by".parse::<Schedule>().unwrap_err();
        assert_eq!((error.line, error.text.as_str()), (4, "split out by"));
        let why = |text: &str| text.parse::<Schedule>().unwrap_err().expected;
        assert_eq!(why("UPCAST out.i.0"), "expected `UPCAST l n`");
        assert_eq!(why("strict 4"), "expected `strict`");
        assert!(why("FOO out.i.0").starts_with("expected split, "));
        let targets = "unknown word `banana`, expected one of unroll, vector, task, block, warp, lane";
        assert_eq!(why("bind out.a0.0 banana"), targets);
        assert_eq!(why("split out.a0.0 by 4 tail"), "unknown word `tail`, expected one of exact, rest, mask, pad");
        let homes = "unknown word `heap`, expected one of task, shared, prepared";
        assert_eq!((why("stage out p0 rows heap"), why("STAGE out p0 rows heap")), (homes.into(), homes.into()));
    }

    /// What the table says is what the parser does.
    #[test]
    fn spellings_stand_for_their_steps() {
        for (name, arguments, steps) in SPELLINGS {
            let value = |word: &str| match word {
                "l" | "outer" => "s.i.0".to_owned(),
                "m" | "inner" => "s.j.0".to_owned(),
                "l'" => "s.i.1".to_owned(),
                "m'" => "s.j.1".to_owned(),
                "n" | "n1" | "n2" | "rows" | "cols" | "ahead" => "8".to_owned(),
                "read" => "p0".to_owned(),
                "layout" => "rows".to_owned(),
                "home" => "task".to_owned(),
                "stage" => "s".to_owned(),
                word => word.to_owned(),
            };
            // The first word of a step is its own name, whatever else it may stand for.
            let step = |s: &&str| {
                let mut words = s.split(' ');
                let first = words.next().unwrap_or_default().to_owned();
                let rest: Vec<String> = words.map(value).collect();
                format!("{first} {}", rest.join(" "))
            };
            let given: Vec<String> = arguments.split(' ').map(value).collect();
            let found: Schedule = format!("{name} {}", given.join(" ")).parse().unwrap();
            let want: Vec<String> = steps.iter().map(step).collect();
            assert_eq!(found.to_string().lines().collect::<Vec<_>>(), want, "{name}");
        }
        let parts: Schedule = "UPCAST s.i.0 8\nVECTORIZE s.i.0 4".parse().unwrap();
        assert!(parts.to_string().ends_with("bind s.i.2 vector\n"));
    }
}
