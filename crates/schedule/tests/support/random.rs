//! Random kernels, and random schedules of them, for tests of what the language promises: a
//! schedule is refused by name, or gives what the kernel says.
#![allow(dead_code, clippy::unwrap_used)]

use super::values::{count, values};
use crate::samples;
use svod_ir::alu::Alu;
use svod_ir::buffer::HostBuffer;
use svod_ir::expr::Expr;
use svod_ir::kernel::{Body, Carry, Kernel};
use svod_ir::size::{BoundVariable, Size, Variable};
use svod_ir::target::Target;
use svod_schedule::{LowerError, Schedule, heuristic, lower};

/// A generator of numbers (xorshift64*).
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % n.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// The cases to try: as many as `SVOD_SEEDS` says, or the one that `SVOD_SEED` names; from that one
/// on where both are there.
pub fn cases(default: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let first = number("SVOD_SEED");
    let count = number("SVOD_SEEDS").unwrap_or(if first.is_some() { 1 } else { default });
    first.unwrap_or(0)..first.unwrap_or(0) + count
}

/// Names the case on stderr when a test fails, however it does.
pub struct Case(pub u64);

impl Drop for Case {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in case {}", self.0);
        }
    }
}

/// Kernels of integers, with I, J and K for extents: results are equal bit for bit.
const INTEGERS: &[&str] = &[
    "kernel map
param p0: i32[I, J]
param p1: i32[J]
param p2: i32[I, J]
axis i < I
axis j < J

stage out[i, j] = map
  p2[i, j] = p0[i, j] * p1[j] + cast(i32, {i*7})
",
    "kernel transpose
param p0: i32[J, I]
param p1: i32[I, J]
axis i < I
axis j < J

stage out[i, j] = map
  p1[i, j] = max(p0[j, i], p0[J - 1 - j, i if {0} < {j} else i32(3)])
",
    "kernel sum
param p0: i32[I, J, K]
param p1: i32[J]
axis j < J
axis i < I
axis k < K

stage out[j] = reduce i, k
  carry.0: i32 = sum(p0[i, j, k])
  p1[j] = carry.0
",
    "kernel stages
param p0: i32[I, J]
param p1: i32[I]
axis i < I
axis j < J

stage scaled[i, j] = map
  scaled = p0[i, j] * i32(3)

stage total[i] = reduce j
  carry.0: i32 = sum(scaled[i, j])
  total = carry.0

stage out[i] = reduce j
  carry.0: i32 = max(scaled[i, j] - total[i])
  p1[i] = carry.0
",
    "kernel product
param p0: i32[I, K]
param p1: i32[K, J] constant
param p2: i32[I, J]
axis i < I
axis j < J
axis k < K

stage mm[i, j] = reduce k
  carry.0: i32 = sum(p0[i, k] * p1[k, j])
  mm = carry.0

stage out[i, j] = map
  p2[i, j] = mm[i, j] + i32(1)
",
    "kernel window
param p0: i32[I + 2, J + 2]
param p1: i32[3, 3]
param p2: i32[I, J]
axis i < I
axis j < J
axis a < 3
axis b < 3

stage out[i, j] = reduce a, b
  carry.0: i32 = sum(p0[i + a, j + b] * p1[a, b])
  p2[i, j] = carry.0
",
    "kernel scan
param p0: i32[I, J]
param p1: i32[I, J]
axis i < I
axis j < J

stage out[i] = scan j
  carry.0: i32 = sum(p0[i, j])
  p1[i, j] = carry.0
",
];

/// A product of widened floats, whose depth can go in pairs.
const NARROW: &str = "kernel narrow
param p0: T[I, K]
param p1: T[K, J] constant
param p2: f32[I, J]
axis i < I
axis j < J
axis k < K

stage mm[i, j] = reduce k
  carry.0: f32 = sum(cast(f32, p0[i, k]) * cast(f32, p1[k, j]))
  mm = carry.0

stage out[i, j] = map
  p2[i, j] = mm[i, j]
";

/// A kernel of small sizes, some of them symbolic, and its variables' values.
pub fn kernel(rng: &mut Rng) -> (Kernel, Vec<BoundVariable>) {
    let n = Variable::new("n", 1, 20).unwrap();
    let symbolic = rng.below(4) == 0;
    let bound = if symbolic { vec![n.bind(1 + rng.below(20) as i64).unwrap()] } else { Vec::new() };
    let extents = [1, 2, 3, 5, 8, 12, 17];
    let mut sizes: Vec<Size> = (0..3).map(|_| Size::from(*rng.pick(&extents))).collect();
    if symbolic {
        let at = rng.below(2);
        sizes[at] = Size::from(&n);
    }
    let [i, j, k] = [&sizes[0], &sizes[1], &sizes[2]];
    let which = rng.below(2 * INTEGERS.len() + 1);
    let narrow = NARROW.replace("T[", ["bf16[", "f16["][rng.below(2)]);
    let text = if which == 2 * INTEGERS.len() { Some(narrow.as_str()) } else { INTEGERS.get(which).copied() };
    if let Some(text) = text {
        let text = text.replace("[I + 2, J + 2]", &format!("[{i} + 2, {j} + 2]"));
        let words = [("I", i), ("J", j), ("K", k)];
        let text = words.iter().fold(text, |text, (word, size)| replace_word(&text, word, &size.to_string()));
        let header = if symbolic { "var n = 1..=20\nparam p0" } else { "param p0" };
        let kernel = Kernel::parse(&text.replacen("param p0", header, 1)).unwrap_or_else(|e| panic!("{e}\n{text}"));
        return (kernel, bound);
    }
    let mut kernel = match which - INTEGERS.len() {
        0 => samples::softmax(i, j),
        1 => samples::online_softmax(i, j),
        2 => samples::layernorm(i, j),
        3 => samples::matmul_bias(i, j, k, false),
        4 => samples::attention(&Size::from(2), i, j, &Size::from(4), true),
        5 => samples::argmax(i, j),
        _ => samples::embedding(i, &Size::from(9), j),
    };
    if kernel.name.starts_with("matmul") && rng.below(2) == 0 {
        kernel.params[1].constant = true;
    }
    let bound = bound.into_iter().filter(|b| kernel.vars.contains(b.variable())).collect();
    (kernel, bound)
}

fn replace_word(text: &str, word: &str, by: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let alone = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let (before, after) = (rest[..at].chars().next_back(), rest[at + word.len()..].chars().next());
        out += &rest[..at];
        out += if alone(before) && alone(after) { by } else { word };
        rest = &rest[at + word.len()..];
    }
    out + rest
}

/// The values of a kernel's arguments.
pub fn arguments(kernel: &Kernel, vars: &[BoundVariable]) -> Vec<HostBuffer> {
    kernel.params.iter().enumerate().map(|(i, p)| values(p.dtype, count(&p.shape, vars), i as u64 + 1)).collect()
}

/// A schedule that lowers, of steps that are likely to be legal, and how many of them were not.
pub fn schedule(rng: &mut Rng, kernel: &Kernel) -> (Schedule, usize) {
    let mut text = String::new();
    if rng.below(3) == 0 {
        let mut target = Target::named(["x86-64-v2", "x86-64-v3", "x86-64-v4"][rng.below(3)]).unwrap();
        (target.matrix.bf16_dot, target.matrix.tiles) = (rng.below(2) == 0, rng.below(4) == 0);
        text = heuristic(kernel, &target).to_string();
    } else if rng.below(6) == 0 {
        text = "strict\n".into();
    }
    // Stages by name, with their axes: staged copies have those of their reader.
    let axes = |s: &svod_ir::kernel::Stage| -> Vec<String> {
        let mut all = s.over.clone();
        if let Body::Reduce { axes, .. } = &s.body {
            all.extend(axes.iter().filter(|a| !s.over.contains(a)));
        }
        all.iter().map(|a| kernel.axes[a.index()].var.name().to_owned()).collect()
    };
    let mut stages: Vec<(String, Vec<String>)> = kernel.stages.iter().map(|s| (s.name.clone(), axes(s))).collect();
    let mut refused = 0;
    for _ in 0..rng.below(14) {
        let (line, new) = step(rng, kernel, &stages, &text);
        let longer = format!("{text}{line}\n");
        let parsed: Schedule = longer.parse().unwrap_or_else(|e| panic!("{e}"));
        match lower(kernel, &parsed) {
            Ok(_) => {
                text = longer;
                stages.extend(new);
            }
            Err(LowerError::Schedule(error)) => {
                assert!(error.step >= 1 && error.step <= parsed.0.len() && !error.why.is_empty(), "{error}");
                refused += 1;
            }
            Err(error @ (LowerError::Variant { .. } | LowerError::TooMany { .. })) => panic!("one was given: {error}"),
            Err(error @ LowerError::Loops { .. }) => panic!("no step was refused: {error}\n{kernel}\n{longer}"),
            Err(error @ LowerError::Stage { .. }) => panic!("no step was named: {error}\n{kernel}\n{longer}"),
        }
    }
    let schedule: Schedule = text.parse().unwrap();
    let mut printed = schedule.to_string();
    assert_eq!(printed.parse::<Schedule>().unwrap(), schedule);
    // A line in the middle taken out: it may have been needed by what follows.
    if rng.below(4) == 0 && schedule.0.len() > 1 {
        let mut fewer = schedule.clone();
        fewer.0.remove(rng.below(schedule.0.len()));
        if lower(kernel, &fewer).is_ok() {
            printed = fewer.to_string();
        }
    }
    (printed.parse().unwrap(), refused)
}

type NamedStage = (String, Vec<String>);

/// One more line, and the stages that it adds, or whose axes it renames.
fn step(rng: &mut Rng, kernel: &Kernel, stages: &[NamedStage], before: &str) -> (String, Vec<NamedStage>) {
    let (stage, axes) = rng.pick(stages).clone();
    let named = |rng: &mut Rng| -> String {
        let axis = if axes.is_empty() { "i" } else { rng.pick(&axes) };
        let splits = before.lines().filter(|l| l.starts_with(&format!("split {stage}.{axis}."))).count();
        format!("{stage}.{axis}.{}", rng.below(splits + 1))
    };
    let at = named(rng);
    let by = *rng.pick(&[1, 2, 3, 4, 8, 16]);
    let read = |rng: &mut Rng| -> String {
        match rng.below(4) {
            0 => rng.below(2).to_string(),
            1 => rng.pick(stages).0.clone(),
            _ => format!("p{}:{}", rng.below(kernel.params.len()), rng.below(2)),
        }
    };
    let line = match rng.below(31) {
        0..=5 => format!("split {at} by {by} {}", rng.pick(&["exact", "rest", "rest", "mask", "pad"])),
        6 => format!("reorder {stage} {at} {}", named(rng)),
        7 => format!("SWAP {at} {}", named(rng)),
        8 => format!("bind {at} unroll"),
        9 | 10 => format!("VECTORIZE {at} {by}"),
        11 => format!("bind {at} {}", rng.pick(&["task", "task", "vector", "block", "lane", "warp"])),
        12 | 13 => format!("at {} {at}", rng.pick(stages).0),
        14 => format!("rfactor {at}"),
        15 => format!("UPCAST {at} {by}"),
        16 | 17 => {
            let (read, home) = (read(rng), rng.pick(&["task", "task", "shared", "prepared"]));
            let layout = if rng.below(2) == 0 { "rows".to_owned() } else { format!("panels:{by}") };
            let suffix = match read.split_once(':') {
                Some((from, "0")) => from.to_owned(),
                Some((from, nth)) => format!("{from}_{nth}"),
                None => ["a", "b"].get(read.parse::<usize>().unwrap_or(9)).map_or(read.clone(), |s| (*s).to_owned()),
            };
            let new = (*home == "task").then(|| (format!("{stage}.{suffix}"), axes.clone()));
            return (format!("stage {stage} {read} {layout} {home}"), new.into_iter().collect());
        }
        18 => format!("stream {stage}"),
        19 | 20 if !axes.is_empty() => {
            let axis = rng.pick(&axes).clone();
            let others = axes.iter().filter(|a| **a != axis).cloned();
            let block = [format!("{axis}_block")].into_iter().chain(others).collect::<Vec<_>>();
            let point = [format!("{axis}_point")].into_iter().chain(block.iter().cloned()).collect();
            let new = vec![(stage.clone(), block), (format!("{stage}.parts"), point)];
            return (format!("parts {stage}.{axis}.0 by {by}"), new);
        }
        22 | 23 => {
            let pair = |a: &String| if a == "k" { "k_pair".to_owned() } else { a.clone() };
            return (format!("pairs {stage}"), vec![(stage.clone(), axes.iter().map(pair).collect())]);
        }
        21 if axes.len() >= 3 => {
            let mut turned = axes.clone();
            turned.swap(axes.len() - 3, axes.len() - 2);
            return (format!("turn {stage}"), vec![(stage, turned)]);
        }
        24 => format!("LOCAL {at} {by}"),
        25 => format!("GROUP {at} {by}"),
        26 => format!("THREAD {at} {by}"),
        27 if axes.len() > 1 => {
            let first = rng.below(axes.len());
            let second = (first + 1 + rng.below(axes.len() - 1)) % axes.len();
            format!("TILE {stage}.{}.0 {stage}.{}.0 {by} {}", axes[first], axes[second], rng.pick(&[1, 2, 4]))
        }
        28 => format!("PADTO {at} {by}"),
        29 | 30 if axes.len() >= 3 => return (tile(rng, &stage, &axes), Vec::new()),
        _ => format!("prefetch {at} {} {}", read(rng), rng.below(5)),
    };
    (line, Vec::new())
}

/// A contraction's loops, its operands' copies and its tile, and what may follow that.
fn tile(rng: &mut Rng, stage: &str, axes: &[String]) -> String {
    let [.., i, j, k] = axes else { return String::new() };
    let (rows, cols) = (*rng.pick(&[1, 2, 4]), *rng.pick(&[4, 8]));
    let home = rng.pick(&["task", "shared"]);
    let mut lines = vec![
        format!("split {stage}.{i}.0 by {rows} pad"),
        format!("split {stage}.{j}.0 by {cols} pad"),
        format!("reorder {stage} {stage}.{j}.0 {stage}.{i}.0 {stage}.{i}.1 {stage}.{j}.1 {stage}.{k}.0"),
        format!("stage {stage} 0 {} task", rng.pick(&["rows".to_owned(), format!("panels:{rows}")])),
        format!("split {stage}.a.{i}.0 by {rows} pad"),
        format!("stage {stage} 1 panels:{cols} {home}"),
        format!("TC {stage} {rows} {cols}"),
    ];
    if *home == "shared" && rng.below(2) == 0 {
        lines.push(format!("prefetch {stage}.{j}.0 1 1"));
    }
    lines.join("\n")
}

/// By how much a result may differ from the kernel's own, relative to 1 and to the value: 0 where
/// the schedule keeps the order of every reduction, which all but six steps do. A sum of products whose loop is split
/// cascades: it is added up by blocks.
pub fn tolerance(kernel: &Kernel, schedule: &Schedule) -> f64 {
    let text = schedule.to_string();
    let product = |c: &Carry| matches!(kernel.exprs.get(c.element), Expr::Alu(Alu::Mul, _));
    let products =
        kernel.stages.iter().any(|s| matches!(&s.body, Body::Reduce { carries, .. } if carries.iter().all(product)));
    let cascades = products && text.contains("split");
    let reorders =
        ["rfactor", "micro", "reorder", "parts", "pairs", "turn"].iter().any(|word| text.contains(word)) || cascades;
    let floats = kernel.params.iter().any(|p| p.dtype.is_float());
    if floats && reorders { 1e-5 } else { 0.0 }
}

/// Fails unless the buffers agree.
pub fn compare(want: &[HostBuffer], got: &[HostBuffer], tolerance: f64, about: &dyn Fn() -> String) {
    for (i, (w, g)) in want.iter().zip(got).enumerate() {
        for (j, (a, b)) in w.to_f64().iter().zip(g.to_f64()).enumerate() {
            let close = (a - b).abs() <= tolerance * (1.0 + a.abs()) || a == &b || (a.is_nan() && b.is_nan());
            assert!(close, "buffer {i}, element {j}: {a} of the kernel, {b} of the loops\n{}", about());
        }
    }
}
