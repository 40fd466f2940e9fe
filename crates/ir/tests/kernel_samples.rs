//! The sample kernels, run by the interpreter, against plain loops in binary64.
#![allow(clippy::unwrap_used)]

#[path = "support/samples.rs"]
mod samples;

use svod_dtype::DType;
use svod_ir::buffer::HostBuffer;
use svod_ir::kernel::Kernel;
use svod_ir::size::{Size, Variable};

const F32: DType = DType::F32;

/// Numbers between -2 and 2 that look random and are the same at each run.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        f64::from(((state >> 40) as f32 / (1u64 << 22) as f32) - 2.0)
    };
    (0..count).map(|_| next()).collect()
}

fn f32s(values: &[f64]) -> HostBuffer {
    HostBuffer::from_f64(F32, values.iter().copied())
}

fn size(n: usize) -> Size {
    Size::from(n)
}

/// Runs a kernel and gives what its last `outputs` buffers hold.
fn run<const N: usize>(kernel: &Kernel, inputs: &[HostBuffer], outputs: [(DType, usize); N]) -> [Vec<f64>; N] {
    kernel.verify().unwrap();
    let mut buffers = inputs.to_vec();
    buffers.extend(outputs.map(|(dtype, len)| HostBuffer::zeros(dtype, len)));
    kernel.interpret(&[], &mut buffers).unwrap();
    std::array::from_fn(|n| buffers[inputs.len() + n].to_f64())
}

fn assert_close(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        let close = (g - w).abs() <= 1e-5 * (1.0 + w.abs()) || g.is_nan() && w.is_nan() || g == w;
        assert!(close, "element {i}: {g} instead of {w}");
    }
}

fn softmax_row(row: &[f64]) -> Vec<f64> {
    let peak = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = row.iter().map(|x| (x - peak).exp()).collect();
    let total: f64 = powers.iter().sum();
    powers.iter().map(|p| p / total).collect()
}

#[test]
fn softmax_in_three_stages_and_online() {
    let (rows, cols) = (5, 9);
    let mut x = numbers(rows * cols, 1);
    x[0] = f64::NEG_INFINITY;
    x[cols..2 * cols].fill(f64::NEG_INFINITY);
    x[2 * cols + 3] = f64::NAN;
    x[3 * cols + 4] = f64::INFINITY;
    let want: Vec<f64> = x.chunks(cols).flat_map(softmax_row).collect();
    for kernel in [samples::softmax, samples::online_softmax] {
        let [got] = run(&kernel(&size(rows), &size(cols)), &[f32s(&x)], [(F32, rows * cols)]);
        assert_close(&got[..2 * cols], &want[..2 * cols]);
        assert!(got[2 * cols..4 * cols].iter().any(|v| v.is_nan()));
        assert_close(&got[4 * cols..], &want[4 * cols..]);
    }
}

#[test]
fn softmax_with_symbolic_rows() {
    let n = Variable::new("n", 0, 8).unwrap();
    let kernel = samples::softmax(&Size::from(&n), &size(4));
    kernel.verify().unwrap();
    for rows in [0, 1, 3] {
        let x = numbers(rows * 4, 2);
        let mut buffers = [f32s(&x), HostBuffer::zeros(F32, 8 * 4)];
        kernel.interpret(&[n.bind(rows as i64).unwrap()], &mut buffers).unwrap();
        let want: Vec<f64> = x.chunks(4).flat_map(softmax_row).collect();
        assert_close(&buffers[1].to_f64()[..rows * 4], &want);
    }
    let unbound = kernel.interpret(&[], &mut [f32s(&[0.0; 4]), f32s(&[0.0; 4])]).unwrap_err();
    assert_eq!(unbound.to_string(), "variable n is not bound");
}

fn moments(row: &[f64]) -> (f64, f64) {
    let mean = row.iter().sum::<f64>() / row.len() as f64;
    (mean, row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64)
}

#[test]
fn layernorm() {
    let (rows, cols) = (4, 11);
    let (x, gain, bias) = (numbers(rows * cols, 3), numbers(cols, 4), numbers(cols, 5));
    let [got] =
        run(&samples::layernorm(&size(rows), &size(cols)), &[f32s(&x), f32s(&gain), f32s(&bias)], [(F32, rows * cols)]);
    let want: Vec<f64> = x
        .chunks(cols)
        .flat_map(|row| {
            let (mean, variance) = moments(row);
            let scaled = row.iter().zip(&gain).zip(&bias);
            scaled.map(|((x, g), b)| (x - mean) / (variance + 1e-5).sqrt() * g + b).collect::<Vec<_>>()
        })
        .collect();
    assert_close(&got, &want);
}

#[test]
fn mean_and_variance_by_welford() {
    let (rows, cols) = (3, 17);
    let x: Vec<f64> = numbers(rows * cols, 6).iter().map(|v| f64::from((v + 100.0) as f32)).collect();
    let [mean, variance] =
        run(&samples::mean_variance(&size(rows), &size(cols)), &[f32s(&x)], [(F32, rows), (F32, rows)]);
    let (want_mean, want_variance): (Vec<f64>, Vec<f64>) = x.chunks(cols).map(moments).unzip();
    assert_close(&mean, &want_mean);
    assert!(variance.iter().zip(&want_variance).all(|(g, w)| (g - w).abs() < 1e-4 * w));
}

#[test]
fn attention() {
    let (heads, queries, keys, depth) = (2, 3, 5, 4);
    let (q, k, v) =
        (numbers(heads * queries * depth, 7), numbers(heads * keys * depth, 8), numbers(heads * keys * depth, 9));
    for causal in [false, true] {
        let mut want = Vec::new();
        for (h, i) in (0..heads).flat_map(|h| (0..queries).map(move |i| (h, i))) {
            let query = &q[(h * queries + i) * depth..][..depth];
            let score = |j: usize| {
                let key = &k[(h * keys + j) * depth..][..depth];
                let dot: f64 = query.iter().zip(key).map(|(a, b)| a * b).sum();
                let seen = !causal || j <= i + keys - queries;
                if seen { dot / (depth as f64).sqrt() } else { f64::NEG_INFINITY }
            };
            let weights = softmax_row(&(0..keys).map(score).collect::<Vec<_>>());
            want.extend((0..depth).map(|c| (0..keys).map(|j| weights[j] * v[(h * keys + j) * depth + c]).sum::<f64>()));
        }
        let kernel = samples::attention(&size(heads), &size(queries), &size(keys), &size(depth), causal);
        let [got] = run(&kernel, &[f32s(&q), f32s(&k), f32s(&v)], [(F32, heads * queries * depth)]);
        assert_close(&got, &want);
    }
}

#[test]
fn running_sums() {
    let (rows, cols) = (2, 6);
    let x = numbers(rows * cols, 10);
    for exclusive in [false, true] {
        let kernel = samples::cumsum(&size(rows), &size(cols), exclusive);
        let [got] = run(&kernel, &[f32s(&x)], [(F32, rows * cols)]);
        let upto = |row: &[f64], j: usize| row[..j + usize::from(!exclusive)].iter().sum::<f64>();
        let want: Vec<f64> = x.chunks(cols).flat_map(|row| (0..cols).map(move |j| upto(row, j))).collect();
        assert_close(&got, &want);
    }
}

#[test]
fn matmul_with_bias_and_gelu() {
    let (m, n, k) = (3, 4, 7);
    let (a, b, bias) = (numbers(m * k, 11), numbers(k * n, 12), numbers(n, 13));
    let point = |i: usize, j: usize| (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum::<f64>() + bias[j];
    let plain: Vec<f64> = (0..m).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| point(i, j)).collect();
    let inputs = [f32s(&a), f32s(&b), f32s(&bias)];
    let [got] = run(&samples::matmul_bias(&size(m), &size(n), &size(k), false), &inputs, [(F32, m * n)]);
    assert_close(&got, &plain);
    let [got] = run(&samples::matmul_bias(&size(m), &size(n), &size(k), true), &inputs, [(F32, m * n)]);
    // erf by its integral.
    let erf = |x: f64| {
        let step = x / 10_000.0;
        let sum: f64 = (0..10_000).map(|n| (-(step * (f64::from(n) + 0.5)).powi(2)).exp()).sum();
        sum * step * 2.0 / std::f64::consts::PI.sqrt()
    };
    let want: Vec<f64> = plain.iter().map(|x| 0.5 * x * (1.0 + erf(x / 2f64.sqrt()))).collect();
    assert_close(&got, &want);
}

#[test]
fn argmax_finds_the_first() {
    let inf = f64::INFINITY;
    let x = [1.0, 3.0, 3.0, -1.0, -inf, -inf, -inf, -inf, 1.0, f64::NAN, inf, f64::NAN, -0.0, 0.0, -1.0, 0.0];
    let [got] = run(&samples::argmax(&size(4), &size(4)), &[f32s(&x)], [(DType::I64, 4)]);
    assert_eq!(got, [1.0, 0.0, 1.0, 0.0]);
}

#[test]
fn gather_and_scatter() {
    let ids = HostBuffer::from_i64(DType::I64, [2, 0, -1, 3, 2]);
    let table = numbers(3 * 2, 14);
    let [got] = run(&samples::embedding(&size(5), &size(3), &size(2)), &[ids.clone(), f32s(&table)], [(F32, 10)]);
    let want = [&table[4..6], &table[..2], &[0.0; 4], &table[4..6]].concat();
    assert_close(&got, &want);
    let [got] = run(&samples::scatter_add(&size(5), &size(3)), &[ids, f32s(&[1.0, 2.0, 4.0, 8.0, 16.0])], [(F32, 3)]);
    assert_eq!(got, [2.0, 0.0, 17.0]);
}

#[test]
fn what_is_wrong_at_run_time_is_said() {
    let kernel = samples::cumsum(&size(2), &size(2), false);
    let error = |buffers: &mut [HostBuffer]| kernel.interpret(&[], buffers).unwrap_err().to_string();
    assert_eq!(error(&mut [f32s(&[0.0; 4])]), "1 buffers for 2 buffer arguments");
    let small = error(&mut [f32s(&[0.0; 3]), f32s(&[0.0; 4])]);
    assert_eq!(small, "p0 is float32 of at least 4 elements; given float32 of 3");
    let text = "kernel twice\nparam p0: f32[2]\naxis i < 4\nstage s[i] = map\n  p0[i//2] = f32(1.0)\n";
    let twice = Kernel::parse(text).unwrap();
    twice.verify().unwrap();
    let error = twice.interpret(&[], &mut [f32s(&[0.0; 2])]).unwrap_err();
    assert_eq!(error.to_string(), "element 0 of Param(p0) is written twice");
    let outside = Kernel::parse(&text.replace("i//2", "i")).unwrap();
    let error = outside.interpret(&[], &mut [f32s(&[0.0; 2])]).unwrap_err();
    assert_eq!(error.to_string(), "index [2] is outside Param(p0) of shape [2]");
}
