//! The text form of kernels, their key, and their verifier.
#![allow(clippy::unwrap_used)]

#[path = "support/samples.rs"]
mod samples;

use svod_ir::Key;
use svod_ir::kernel::Kernel;
use svod_ir::size::{Size, Variable};

fn check(kernel: &Kernel, want: &str) {
    assert_eq!(kernel.to_string().trim(), want.trim());
}

fn n() -> Size {
    Variable::new("n", 1, 4096).unwrap().into()
}

#[test]
fn softmax_prints() {
    check(
        &samples::online_softmax(&n(), &64.into()),
        "
kernel online_softmax
var n = 1..=4096
param p0: f32[n, 64]
param p1: f32[n, 64]
axis i < n
axis j < 64

stage stats[i] = reduce j
  carry.0: f32 = max(p0[i, j])
  carry.1: f32 = sum(where(p0[i, j] == f32(-inf), f32(0.0), exp(p0[i, j] - new.0)), fix exp(old.0 - new.0))
  stats = carry.0
  stats.1 = carry.1

stage out[i, j] = map
  p1[i, j] = exp(p0[i, j] - stats[i]) / stats.1[i]
",
    );
}

#[test]
fn attention_prints() {
    check(
        &samples::attention(&12.into(), &n(), &n(), &64.into(), true),
        "
kernel attention
var n = 1..=4096
param p0: f32[12, n, 64]
param p1: f32[12, n, 64]
param p2: f32[12, n, 64]
param p3: f32[12, n, 64]
axis h < 12
axis i < n
axis j < n
axis d < 64
axis c < 64

stage scores[h, i, j] = reduce d
  carry.0: f32 = sum(p0[h, i, d] * p1[h, j, d])
  scores = where(j <= i, carry.0 / sqrt(cast(f32, 64)), f32(-inf))

stage out[h, i, c] = reduce j
  carry.0: f32 = max(scores[h, i, j])
  e0 = where(scores[h, i, j] == f32(-inf), f32(0.0), exp(scores[h, i, j] - new.0))
  e1 = exp(old.0 - new.0)
  carry.1: f32 = sum(e0, fix e1)
  carry.2: f32 = sum(e0 * p2[h, j, c], fix e1)
  p3[h, i, c] = carry.2 / carry.1
",
    );
}

#[test]
fn gather_prints() {
    check(
        &samples::embedding(&5.into(), &3.into(), &2.into()),
        "
kernel embedding
param p0: i64[5]
param p1: f32[3, 2]
param p2: f32[5, 2]
axis i < 5
axis r < 3
axis j < 2

stage out[i, j] = map
  e0 = cast(index, p0[i])
  p2[i, j] = p1[e0, j if 0 <= e0 & e0 < 3 else f32(0.0)]
",
    );
}

#[test]
fn samples_parse_back() {
    let mut keys = Vec::new();
    for kernel in samples::all_small() {
        kernel.verify().unwrap();
        let text = kernel.to_string();
        let parsed = Kernel::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        parsed.verify().unwrap();
        assert_eq!(parsed.to_string(), text);
        assert_eq!(parsed.key(), kernel.key());
        assert_eq!((&parsed.axes, &parsed.params, &parsed.vars), (&kernel.axes, &kernel.params, &kernel.vars));
        keys.push(kernel.key());
    }
    let count = keys.len();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), count);
}

#[test]
fn operators_and_constants_parse_back() {
    let value = "where(!(p0[i] < f32(nan:0xffc00001) | p0[i] == f32(-0.0)), -(p0[i] - (p0[i] - f32(1.5))) / --p0[i], \
                 cast(f32, {i + 1} - (i << 2)) + bitcast(f32, i32(-3)) * -f32(inf))";
    let text = format!(
        "kernel all\nparam p0: f32[9]\nparam p1: f32[9]\naxis i in 0..=20 < 9\n\nstage s[i] = map\n  p1[8 - i] = {value}\n"
    );
    let kernel = Kernel::parse(&text).unwrap();
    kernel.verify().unwrap();
    assert_eq!(Kernel::parse(&kernel.to_string()).unwrap().to_string(), kernel.to_string());
    assert!(kernel.to_string().contains("f32(nan:0xffc00001) | p0[i] == f32(-0.0)"), "{kernel}");
    assert!(kernel.to_string().contains("-(p0[i] - (p0[i] - f32(1.5))) / --p0[i]"), "{kernel}");
}

#[test]
fn depth_is_no_danger() {
    let mut kernel = Kernel::parse("kernel deep\nparam p0: f32[1]\nstage s[] = map\n  p0[0] = f32(1.0)\n").unwrap();
    let mut value = *kernel.stages[0].body.values().first().unwrap();
    for _ in 0..100_000 {
        value = kernel.exprs.alu(svod_ir::alu::Alu::Exp, &[value]);
    }
    kernel.stages[0].body = svod_ir::kernel::Body::map(value);
    kernel.verify().unwrap();
    assert_eq!(Kernel::parse(&kernel.to_string()).unwrap().key(), kernel.key());
    let nested = format!("kernel k\nparam p0: f32[1]\nstage s[] = map\n  p0[0] = {}", "-(".repeat(1_000_000));
    assert!(Kernel::parse(&nested).unwrap_err().to_string().contains("nested too deeply"));
}

#[test]
fn the_key_ignores_names_only() {
    let text = samples::online_softmax(&n(), &64.into()).to_string();
    let key = |text: &str| -> Key { Kernel::parse(text).unwrap().key() };
    let renamed = text
        .replace("online_softmax", "k")
        .replace("stats", "rows")
        .replace("axis j", "axis column")
        .replace("reduce j", "reduce column")
        .replace("[i, j]", "[i, column]");
    assert_eq!(key(&renamed), key(&text));
    for (from, to) in
        [("64", "65"), ("n]", "n + 1]"), ("max(p0", "min(p0"), ("4096", "4095"), ("f32(0.0)", "f32(-0.0)")]
    {
        let changed = text.replace(from, to);
        assert!(changed == text || key(&changed) != key(&text), "{from}");
    }
    // Frozen: the key names files of a cache that other processes read.
    assert_eq!(key("kernel k\nparam p0: f32[1]\nstage s[] = map\n  p0[0] = f32(1.0)\n").to_string(), KEY);
}

const KEY: &str = "af8bdaf7b0aaece1535b5ed7d4a7fd73";

#[test]
fn faults_of_the_text_are_located() {
    let error = |text: &str| Kernel::parse(text).unwrap_err().to_string();
    assert_eq!(error("kernel k\nstage s[i] = map"), "2:9: no axis is named 'i'");
    assert_eq!(error("kernel k\nparam p0: f32[m]"), "2:15: cannot read size 'm': unknown variable 'm'");
    let body = |line: &str| error(&format!("kernel k\nparam p0: f32[4]\naxis i < 4\nstage s[i] = map\n  {line}"));
    assert_eq!(body("p0[i] = p1[i]"), "5:11: no memory is named 'p1'");
    assert_eq!(body("p0[i] = p0[i] + i"), "5:20: add does not take (f32, index)");
    assert_eq!(body("p0[i] = sine(p0[i])"), "5:16: no operation is named 'sine'");
    assert_eq!(body("p0[i] = f32(x)"), "5:11: 'f32(x)' is not a constant such as f32(1.5), or does not fit its dtype");
    assert_eq!(body("p0[i] = new.0"), "5:11: nothing is named 'new.0'");
}

/// The verifier's message for a kernel of one or more stages over axes i < 4 and j < n.
fn fault(stages: &str) -> String {
    let head = "kernel k\nvar n = 1..=9\nparam p0: f32[4]\nparam p1: i64[4]\nparam p2: f32[4] constant\n\
                axis i < 4\naxis j < n\n";
    let kernel = Kernel::parse(&format!("{head}{stages}")).unwrap();
    kernel.verify().map_or_else(|e| e.to_string(), |()| "fine".to_owned())
}

#[test]
fn the_verifier_names_what_is_wrong() {
    assert_eq!(fault("stage s[i] = map\n p0[i] = f32(1.0)"), "fine");
    assert!(fault("stage s[i] = map\n p0[j] = f32(1.0)").contains("names 'j', which is not in scope"));
    assert!(fault("stage s[i] = map\n p0[i] = p2[i, i]").contains("reads Param(p2) with 2 indices"));
    assert!(fault("stage s[i] = map\n p1[i] = f32(1.0)").contains("cannot write p1"));
    assert!(fault("stage s[i] = map\n p2[i] = f32(1.0)").contains("cannot write p2"));
    assert!(fault("stage s[i, i] = map\n p0[i] = f32(1.0)").contains("axis 0 does not exist, or is named twice"));
    assert!(fault("stage s[i] = scan i\n p0[i] = f32(1.0)").contains("named twice"));
    assert!(fault("stage s[] = scan i, j\n p0[i] = f32(1.0)").contains("one axis, not 2"));
    let fold = |carries: &str| fault(&format!("stage s[i] = reduce j\n {carries}\n p0[i] = f32(1.0)"));
    assert_eq!(fold("carry.0: f32 = sum(p0[i])"), "fine");
    assert!(fold("carry.0: i64 = sum(p0[i])").contains("another type"));
    assert!(fold("carry.0: i64 = argmax(p1[i])").contains("must follow a max"));
    assert!(fold("carry.0: f32 = welford(p0[i])").contains("three carries"));
    assert!(fold("carry.0: f32 = any(p0[i])").contains("takes bools"));
    assert!(fold("carry.0: f32 = max(p0[i])\n carry.1: f32 = max(p0[i], fix new.0)").contains("only a sum"));
    assert!(fold("carry.0: f32 = max(p0[i])\n carry.1: f32 = sum(old.0)").contains("Old(0, F32) may not be used here"));
    assert!(fold("carry.0: f32 = max(p0[i])\n carry.1: f32 = sum(carry.0)").contains("Carry(0, F32) may not"));
    assert!(fault("stage s[i] = map\n p0[i] = f32(1.0)\nstage s2[i] = map\n p0[i] = s[i]").contains("does not exist"));

    let mut kernel = samples::softmax(&n(), &64.into());
    kernel.stages.swap(0, 2);
    assert!(kernel.verify().unwrap_err().to_string().contains("stage out: "));
    let mut kernel = samples::softmax(&n(), &64.into());
    kernel.stages[1].name = "peak".into();
    assert!(kernel.verify().unwrap_err().to_string().contains("'peak' is taken"));
    let mut kernel = samples::softmax(&n(), &64.into());
    kernel.axes[0].extent = n() - 2;
    assert!(kernel.verify().unwrap_err().to_string().contains("may be negative"));
    let mut kernel = samples::softmax(&n(), &64.into());
    kernel.axes[1].extent = 65.into();
    assert_eq!(kernel.verify().unwrap_err().to_string(), "axis j: the counter's bounds do not hold every point");
    let mut kernel = samples::softmax(&n(), &64.into());
    kernel.stages[0].outs.clear();
    assert!(kernel.verify().unwrap_err().to_string().contains("1 values go to 0 places"));
}

#[test]
fn all_faults_are_told_each_with_what_it_is_about() {
    let mut kernel = samples::softmax(&n(), &64.into());
    kernel.stages[1].outs.clear();
    kernel.stages[2].name = "a b".into();
    let told: Vec<String> = kernel.faults().iter().map(ToString::to_string).collect();
    assert!(told.len() >= 3, "{told:?}");
    assert!(told[0].contains("'a b'") && told[1].starts_with("stage ") && told[2].starts_with("stage a b"), "{told:?}");
    assert_eq!(kernel.verify().unwrap_err().to_string(), told[0]);
    assert!(samples::softmax(&n(), &64.into()).faults().is_empty());
}
