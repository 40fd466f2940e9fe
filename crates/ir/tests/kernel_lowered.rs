//! Loop trees: text form, key, verifier and interpreter.
#![allow(clippy::unwrap_used)]

use svod_dtype::DType;
use svod_ir::buffer::HostBuffer;
use svod_ir::lowered::Lowered;
use svod_ir::size::Variable;

const F32: DType = DType::F32;

const MATMUL: &str = "\
lowered matmul
var n = 1..=16
param p0: f32[n, 3]
param p1: f32[3, 8] constant
param p2: f32[n, 8]

phase
grid t < (n + 1)//2
temp acc: f32[2, 8] register
{
  unroll r < 2 {
    vector a < 8 {
      acc[r, a] = f32(0.0)
    }
  }
  serial k < 3 {
    unroll s < 2 {
      vector b < 8 {
        acc[s, b] = muladd(p0[s + t*2, k if {s + t*2} < n else f32(0.0)], p1[k, b], acc[s, b])
      }
    }
  }
  unroll u < 2 {
    vector c < 8 {
      p2[t*2 + u, c] = acc[u, c] if {t*2 + u} < n
    }
  }
}
";

/// Row sums by four lanes, through scratch, in two phases.
const SUMS: &str = "\
lowered sums
param p0: f32[3, 8]
param p1: f32[3]

phase
grid i < 3
temp row: f32[8] scratch
temp acc: f32[4] register
temp total: f32[] register
{
  serial j < 8 {
    row[j] = p0[i, j]
  }
  vector a < 4 {
    acc[a] = row[a]
  }
  vector b < 4 {
    acc[b] = acc[b] + row[b + 4]
  }
  total[] = lanes(add, l < 4, acc[l])
  p1[i] = total[]
}

phase
{
  serial x < 3 {
    e0 = p1[x]
    if f32(100.0) < p1[x] {
      p1[x] = f32(100.0)
    }
  }
}
";

const MICRO: &str = "\
lowered tile
param p0: f32[4, 5]
param p1: f32[5, 6]
param p2: f32[4, 6]

phase
temp panel: f32[5, 4] scratch
{
  serial k < 5 {
    serial r < 4 {
      panel[k, r] = p0[r, k]
    }
  }
  serial s < 5 {
    micro 4 x 6 f32 -> f32 depth 1 start s (p2[0, 0] stride 6) (panel[s, 0] stride 4 panel) (p1[s, 0] stride 6) fetch p1[s + 1, 0] by 24
  }
}
";

fn f32s(values: impl IntoIterator<Item = i64>) -> HostBuffer {
    HostBuffer::from_f64(F32, values.into_iter().map(|v| v as f64))
}

fn run(text: &str, buffers: &mut [HostBuffer]) -> Result<(), String> {
    let lowered = Lowered::parse(text).unwrap();
    lowered.verify().map_err(|e| e.to_string())?;
    lowered.interpret(&[], buffers).map_err(|e| e.to_string())
}

#[test]
fn texts_parse_back() {
    for text in [MATMUL, MICRO] {
        let lowered = Lowered::parse(text).unwrap();
        lowered.verify().unwrap();
        assert_eq!(lowered.to_string(), text);
    }
    // A name for what needs none is dropped.
    let once = Lowered::parse(SUMS).unwrap();
    assert_eq!(once.to_string(), SUMS.replace("    e0 = p1[x]\n", ""));
}

#[test]
fn the_key_ignores_names_only() {
    let key = |text: &str| Lowered::parse(text).unwrap().key();
    let renamed = MATMUL.replace("acc", "sum").replace("lowered matmul", "lowered k").replace("k < 3", "m < 3");
    let renamed = renamed.replace(", k if", ", m if").replace("p1[k", "p1[m");
    assert_eq!(key(&renamed), key(MATMUL));
    let changed = MATMUL.replace("s + t*2, k if", "s + t*2, k + 1 if");
    assert_ne!(key(&changed), key(MATMUL));
    assert_ne!(key(&MATMUL.replace("serial k", "unroll k")), key(MATMUL));
}

#[test]
fn a_matmul_with_a_masked_tail() {
    let n = Variable::new("n", 1, 16).unwrap();
    let lowered = Lowered::parse(MATMUL).unwrap();
    for rows in [1, 2, 5] {
        let (a, b) = (f32s(0..rows * 3), f32s((0..24).map(|v| v % 5 - 2)));
        let want: Vec<f64> = (0..rows as usize * 8)
            .map(|at| (0..3).map(|k| a.to_f64()[at / 8 * 3 + k] * b.to_f64()[k * 8 + at % 8]).sum())
            .collect();
        let mut buffers = [a, b, HostBuffer::zeros(F32, want.len())];
        lowered.interpret(&[n.bind(rows).unwrap()], &mut buffers).unwrap();
        assert_eq!(buffers[2].to_f64(), want);
    }
}

#[test]
fn lanes_phases_and_conditions() {
    let mut buffers = [f32s(0..24), f32s([0; 3])];
    run(SUMS, &mut buffers).unwrap();
    assert_eq!(buffers[1].to_f64(), [28.0, 92.0, 100.0]);
}

#[test]
fn a_contraction_tile_continues_from_c() {
    let mut buffers = [f32s(0..20), f32s((0..30).map(|v| v % 7)), f32s([9; 24])];
    run(MICRO, &mut buffers).unwrap();
    let (a, b) = (buffers[0].to_f64(), buffers[1].to_f64());
    let want: Vec<f64> = (0..24).map(|at| (0..5).map(|k| a[at / 6 * 5 + k] * b[k * 6 + at % 6]).sum::<f64>()).collect();
    assert_eq!(buffers[2].to_f64(), want);
}

#[test]
fn vector_statements_read_before_they_write() {
    let text = "lowered shift\nparam p0: f32[5]\nphase\n{\n vector l < 4 {\n  p0[l + 1] = p0[l]\n }\n}\n";
    let mut buffers = [f32s(0..5)];
    run(text, &mut buffers).unwrap();
    assert_eq!(buffers[0].to_f64(), [0.0, 0.0, 1.0, 2.0, 3.0]);
    run(&text.replace("vector", "serial"), &mut buffers).unwrap();
    assert_eq!(buffers[0].to_f64(), [0.0; 5]);
}

/// What is wrong with a phase with buffers p0, p1: f32[4].
fn fault(phase: &str) -> String {
    let text = format!("lowered k\nparam p0: f32[4]\nparam p1: f32[4]\nphase\n{phase}");
    run(&text, &mut [f32s(0..4), f32s(0..4)]).map_or_else(|e| e, |()| "fine".to_owned())
}

#[test]
fn the_interpreter_is_an_oracle() {
    assert_eq!(fault("grid i < 4\n{ p1[i] = p0[i] }"), "fine");
    assert_eq!(fault("grid i < 5\n{ p1[i] = f32(1.0) }"), "index [4] is outside Param(p1) of shape [4]");
    assert_eq!(fault("grid i < 4\n{ p1[i//2] = f32(1.0) }"), "element 0 of Param(p1) is written twice");
    assert!(fault("grid i < 3\n{ p1[i + 1] = p1[i] }").contains("element 1 of Param(p1) is read by one task"));
    assert!(fault("grid i < 3\n{ p1[i] = p1[i + 1] }").contains("element 1 of Param(p1) is read by one task"));
    assert_eq!(fault("{ vector l < 4 { p1[l//2] = p0[l] } }"), "element 0 of Param(p1) is written twice");
    let undefined = |body: &str| fault(&format!("temp t: f32[4] scratch\n{{ t[0] = f32(1.0)\n {body} }}"));
    assert_eq!(undefined("p1[0] = t[0]"), "fine");
    assert_eq!(undefined("t[2] = t[1]"), "fine");
    assert_eq!(undefined("p1[0] = where(0 < 1, t[0], t[1])"), "fine");
    assert!(undefined("t[2] = t[1]\n p1[0] = t[2] + f32(1.0)").contains("undefined"));
    assert!(undefined("if t[1] < f32(1.0) { t[0] = f32(1.0) }").contains("undefined"));
}

#[test]
fn the_verifier_names_what_is_wrong() {
    assert!(fault("{ vector l < 4 { serial k < 2 { p1[l] = p0[l] } } }").contains("vector loop l contains more"));
    assert!(fault("{ serial k < 4 { p1[k] = p0[k] }\n serial k < 4 { p1[k] = p0[k] } }").contains("'k' is taken"));
    assert!(fault("{ serial k < 4 { p1[k] = p0[k] }\n p1[k] = p0[0] }").contains("names 'k', which is not in scope"));
    assert!(fault("{ serial k < 4 { unroll u < k { p1[u] = p0[k] } } }").contains("needs a constant extent"));
    assert!(fault("{ serial k in 0..=2 < 4 { p1[k] = p0[k] } }").contains("do not hold every iteration"));
    assert!(fault("grid i < 4, j < i\n{ p1[i] = p0[i] }").contains("grid j: i has no value"));
    assert!(fault("temp t: f32[4] register\n{ serial k < 4 { t[k] = p0[k] } }").contains("is in registers"));
    assert!(fault("temp t: f32[4, 4] register\n{ vector l < 4 { t[l, 0] = p0[l] } }").contains("is in registers"));
    assert!(fault("{ serial i < 4 { p1[0] = lanes(add, i < 4, p0[i]) } }").contains("reduces over 'i'"));
    assert!(fault("{ serial i < 4 { p1[i] = running(add, i, p0[i]) } }").contains("about the lanes of 'i'"));
    assert!(fault("{ vector i < 64 { p1[0] = cast(f32, alike(i, u32(1))) } }").contains("about the lanes of 'i'"));
    assert!(fault("{ p1[0] = lanes(add, l < 3, p0[l]) }").contains("power of two"));
    assert!(fault("{ p1[0] = i64(1) }").contains("cannot write e1 to Param(p1)"));
    assert!(
        fault("{ micro 2 x 2 f32 -> f64 depth 1 start 0 (p1[0] stride 2) (p0[0] stride 1) (p0[0] stride 2) }")
            .contains("tile")
    );
    let deep = format!("{{ {}{} }}", "if 0 < 1 { ".repeat(110), "}".repeat(110));
    assert!(fault(&deep).contains("nested more than 100 deep"));
}
