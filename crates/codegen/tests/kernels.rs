//! Hand-written loop trees: compiled code, the linear interpreter and the reference agree.
#![allow(clippy::unwrap_used)]

mod common;

use common::check;
use svod_dtype::DType;
use svod_ir::buffer::HostBuffer;

fn ramp(dtype: DType, len: usize) -> HostBuffer {
    HostBuffer::from_f64(dtype, (0..len).map(|i| ((i * 37) % 23) as f64 * 0.25 - 2.0))
}

fn zeros(len: usize) -> HostBuffer {
    HostBuffer::zeros(DType::F32, len)
}

#[test]
fn elementwise_with_a_rest_loop() {
    let text = "lowered add
var n = 1..=4096
param p0: f32[n]
param p1: f32[n]
param p2: f32[n]

phase
{
  serial i < n//8 {
    vector j < 8 {
      p2[i*8 + j] = p0[i*8 + j] + p1[i*8 + j] * f32(2.0)
    }
  }
  serial k < n%8 {
    p2[(n//8)*8 + k] = p0[(n//8)*8 + k] + p1[(n//8)*8 + k] * f32(2.0)
  }
}
";
    for n in [1, 7, 8, 61] {
        check(text, &[n as i64], vec![ramp(DType::F32, n), ramp(DType::F32, n), zeros(n)], 0.0);
    }
}

#[test]
fn sum_of_rows_in_register_lanes() {
    let text = "lowered sum
var n = 1..=64
param p0: f32[n, 37]
param p1: f32[n]

phase
grid r < n
temp acc: f32[2, 8] register
temp total: f32[] register
{
  unroll u < 2 {
    vector j < 8 {
      acc[u, j] = f32(0.0)
    }
  }
  serial k < 2 {
    unroll u1 < 2 {
      vector j1 < 8 {
        acc[u1, j1] = acc[u1, j1] + p0[r, k*16 + u1*8 + j1]
      }
    }
  }
  vector l < 8 {
    acc[0, l] = acc[0, l] + acc[1, l]
  }
  total[] = lanes(add, m < 8, acc[0, m])
  serial t < 5 {
    total[] = total[] + p0[r, t + 32]
  }
  p1[r] = total[]
}
";
    check(text, &[3], vec![ramp(DType::F32, 3 * 37), zeros(3)], 1e-6);
}

#[test]
fn masked_tail_and_padding() {
    let text = "lowered pad
var n = 1..=4096
param p0: f32[n]
param p1: f32[n + 4]

phase
grid i < (n + 11)//8
{
  vector j < 8 {
    p1[i*8 + j] = p0[i*8 + j - 2 if ({i*8 + j} < {n + 2}) & ({1} < {i*8 + j}) else f32(7.0)] if {i*8 + j} < {n + 4}
  }
}
";
    for n in [1, 5, 8, 30] {
        check(text, &[n as i64], vec![ramp(DType::F32, n), zeros(n + 4)], 0.0);
    }
}

#[test]
fn gather_transpose_and_flip() {
    let text = "lowered gather
param p0: f32[16, 16]
param p1: i32[16]
param p2: f32[16, 16]
param p3: f32[16, 16]
param p4: f32[16, 16]

phase
grid i < 16
{
  serial b < 2 {
    vector j < 8 {
      p2[i, b*8 + j] = p0[b*8 + j, i]
      p3[i, b*8 + j] = p0[i, 15 - b*8 - j]
      e0 = cast(index, p1[b*8 + j])
      p4[i, b*8 + j] = p0[e0, i]
    }
  }
}
";
    let index = HostBuffer::from_i64(DType::I32, (0..16).map(|i| (i * 5) % 16));
    check(text, &[], vec![ramp(DType::F32, 256), index, zeros(256), zeros(256), zeros(256)], 0.0);
}

#[test]
fn lanes_that_lie_close_together() {
    // Two arrays interleaved; what repeats; three lanes for each element; positions that only
    // some lanes visit in the last round; and a mask that is the same in all lanes.
    let text = "lowered close
var n = 1..=16
param p0: f32[n, 8]
param p1: u8[n, 8]
param p2: f32[n, 16]
param p3: f32[n, 16]
param p4: f32[n, 12]
param p5: f32[n, 16]

phase
grid r < n
{
  serial i < 2 {
    vector j < 8 {
      e0 = {j%2} < 1
      e1 = 0 <= {j%2 - 1}
      p2[r, i*8 + j] = where(e0, p0[r, i*4 + j//2 if e0 else f32(0.0)], where(e1, cast(f32, p1[r, i*4 + j//2 if e1 else u8(0)]), f32(7.0)))
      p3[r, i*8 + j] = p0[r, i*4 + j%4]
      p5[r, i*8 + j] = p0[r, i*4 + j//4 + (j//4)*2 if {i + j%2} < 2 else f32(9.0)] + p0[r, i*4 + j//2 if {r} < 2 else f32(5.0)]
    }
  }
  serial k < 2 {
    vector l < 6 {
      p4[r, k*6 + l] = p0[r, k*2 + l//3]
    }
  }
}
";
    for n in [1, 3] {
        let given = [ramp(DType::F32, n * 8), ramp(DType::U8, n * 8)];
        let results = [16, 16, 12, 16].map(|width| zeros(n * width));
        check(text, &[n as i64], given.into_iter().chain(results).collect(), 0.0);
    }
}

#[test]
fn scratch_and_phases() {
    let text = "lowered softmax
var n = 1..=16
param p0: f32[n, 24]
param p1: f32[n, 24]
param p2: f32[n]

phase
grid r < n
temp row: f32[24] scratch
temp m: f32[8] register
temp s: f32[8] register
temp top: f32[] register
{
  vector j < 8 {
    m[j] = f32(-inf)
    s[j] = f32(0.0)
  }
  serial k < 3 {
    vector j1 < 8 {
      m[j1] = max(m[j1], p0[r, k*8 + j1])
    }
  }
  top[] = lanes(max, q < 8, m[q])
  serial k2 < 3 {
    vector j2 < 8 {
      row[k2*8 + j2] = exp(p0[r, k2*8 + j2] - top[])
      s[j2] = s[j2] + row[k2*8 + j2]
    }
  }
  top[] = lanes(add, w < 8, s[w])
  serial k3 < 3 {
    vector j3 < 8 {
      p1[r, k3*8 + j3] = row[k3*8 + j3] / top[]
    }
  }
}

phase
grid r < n
{
  if p1[r, 0] < f32(0.1) {
    p2[r] = p1[r, 0] * f32(2.0)
  }
}
";
    check(text, &[5], vec![ramp(DType::F32, 5 * 24), zeros(5 * 24), zeros(5)], 1e-6);
}

#[test]
fn contraction_tiles() {
    let fetches = [String::new()]
        .into_iter()
        .chain(["24", "64", "100", "100//(r + 1)"].map(|step| format!(" fetch p1[r*16, 0] by {step}")));
    let operands = [("", "12, 19", "r*6, 0", 19), (" panel", "19, 12", "0, r*6", 12)];
    for (fetch, (panel, a_shape, a_at, a_stride)) in fetches.flat_map(|f| operands.map(|o| (f.clone(), o))) {
        let text = format!(
            "lowered matmul
param p0: f32[{a_shape}]
param p1: f32[19, 16]
param p2: f32[12, 16]

phase
grid r < 2
{{
  micro 6 x 16 f32 -> f32 depth 10 start 0 (p2[r*6, 0] stride 16) (p0[{a_at}] stride {a_stride}{panel}) (p1[0, 0] stride 16){fetch}
  micro 6 x 16 f32 -> f32 depth 9 start 1 (p2[r*6, 0] stride 16) (p0[{}] stride {a_stride}{panel}) (p1[10, 0] stride 16){fetch}
}}
",
            if panel.is_empty() { "r*6, 10" } else { "10, r*6" }
        );
        check(&text, &[], vec![ramp(DType::F32, 228), ramp(DType::F32, 19 * 16), zeros(192)], 1e-5);
    }
}

#[test]
fn contraction_tiles_of_other_types_and_widths() {
    let types = [
        (DType::F64, DType::F64),
        (DType::BF16, DType::F32),
        (DType::F16, DType::F32),
        (DType::F16, DType::F16),
        (DType::F8E4M3, DType::F32),
        (DType::I32, DType::I32),
        (DType::U8, DType::I32),
    ];
    for (dtype, acc) in types {
        for cols in [3, 8, 12] {
            let text = format!(
                "lowered matmul
param p0: {0}[4, 9]
param p1: {0}[9, {cols}]
param p2: {1}[4, {cols}]

phase
{{
  micro 4 x {cols} {0} -> {1} depth 6 start 0 (p2[0, 0] stride {cols}) (p0[0, 0] stride 9) (p1[0, 0] stride {cols})
  micro 4 x {cols} {0} -> {1} depth 3 start 1 (p2[0, 0] stride {cols}) (p0[0, 6] stride 9) (p1[6, 0] stride {cols})
}}
",
                dtype.short(),
                acc.short()
            );
            let buffers = vec![ramp(dtype, 36), ramp(dtype, 9 * cols), HostBuffer::zeros(acc, 4 * cols)];
            check(&text, &[], buffers, if acc.bytes() == 2 { 0.02 } else { 1e-5 });
        }
    }
}

/// Words of pairs, of which every sum is exact: whatever multiplies them, the result is the same bit for bit.
/// Where this machine has instructions for pairs of bf16 that pay it is these: AMX's, or dot products.
#[test]
fn contraction_tiles_of_pairs() {
    let words =
        |dtype: DType, len: usize| HostBuffer::from_bytes(DType::U32, ramp(dtype, 2 * len).bytes().to_vec()).unwrap();
    for dtype in [DType::BF16, DType::F16] {
        for (rows, cols) in [(1, 16), (4, 3), (5, 8), (6, 12), (18, 32), (32, 16), (3, 48)] {
            for (panel, a_at, a_stride) in [("", "0, 17", 40), (" panel", "17, 0", rows)] {
                let a_shape = if panel.is_empty() { format!("{rows}, 40") } else { format!("40, {rows}") };
                let start = a_at.replace("17", "0");
                let text = format!(
                    "lowered matmul
param p0: u32[{a_shape}]
param p1: u32[40, {cols}]
param p2: f32[{rows}, {cols}]

phase
{{
  micro {rows} x {cols} pairs {0} -> f32 depth 17 start 0 (p2[0, 0] stride {cols}) (p0[{start}] stride {a_stride}{panel}) (p1[0, 0] stride {cols})
  micro {rows} x {cols} pairs {0} -> f32 depth 23 start 1 (p2[0, 0] stride {cols}) (p0[{a_at}] stride {a_stride}{panel}) (p1[17, 0] stride {cols})
}}
",
                    dtype.short(),
                );
                let buffers = vec![words(dtype, rows * 40), words(dtype, 40 * cols), zeros(rows * cols)];
                check(&text, &[], buffers, 0.0);
            }
        }
    }
}

#[test]
fn running_values_over_lanes() {
    for (dtype, op, lanes) in
        [("f32", "add", 8), ("f32", "max", 4), ("i64", "mul", 16), ("bf16", "max", 8), ("u8", "add", 64)]
    {
        let text = format!(
            "lowered scan
param p0: {dtype}[3, 128]
param p1: {dtype}[3, 128]

phase
grid r < 3
temp total: {dtype}[1] register
temp run: {dtype}[{lanes}] register
{{
  total[0] = p0[r, 0]
  serial k < {} {{
    vector l < {lanes} {{
      run[l] = {op}(total[0], running({op}, l, p0[r, k*{lanes} + l]))
      p1[r, k*{lanes} + l] = run[l]
    }}
    total[0] = run[{}]
  }}
}}
",
            128 / lanes,
            lanes - 1
        );
        let dtype = DType::ALL.iter().copied().find(|d| d.short() == dtype).unwrap();
        check(&text, &[], vec![ramp(dtype, 3 * 128), HostBuffer::zeros(dtype, 3 * 128)], 1e-5);
    }
}

#[test]
fn lanes_that_are_alike() {
    let text = "lowered alike
param p0: u32[4, 32]
param p1: u32[4, 32]
param p2: u32[4, 32]

phase
grid r < 4
{
  vector l < 32 {
    p1[r, l] = alike(l, p0[r, l])
    p2[r, l] = alike_before(l, p0[r, l])
  }
}
";
    let numbers = HostBuffer::from_f64(DType::U32, (0..128).map(|i| f64::from(i * 7 % 11 / (1 + i / 40))));
    let none = || HostBuffer::zeros(DType::U32, 128);
    check(text, &[], vec![numbers, none(), none()], 0.0);
}
