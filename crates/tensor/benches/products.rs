//! Matrix products of many shapes, prepared once: time, rate, and the share of this core's peak.
//!
//! `cargo bench -p svod-tensor --bench products -- [part of a name] …`, with `SVOD_THREADS` (1 unless
//! set). Each result is checked against sums in binary64 at some of its elements.

#[path = "../../codegen/benches/peak/mod.rs"]
mod peak;

use peak::{now, peak};
use std::time::{Duration, Instant};
use svod_dtype::DType;
use svod_runtime::PrepareConfig;
use svod_tensor::{Tensor, TensorError};

type Result<T> = std::result::Result<T, TensorError>;

/// A product whose operands are inputs or, where `constant`, the second one is a weight.
struct Case {
    name: &'static str,
    /// Shapes as stored in memory.
    a: Vec<i64>,
    b: Vec<i64>,
    dtype: DType,
    /// Whether the last two dimensions are swapped before the product.
    swap: (bool, bool),
    constant: bool,
    gelu: bool,
}

fn case(name: &'static str, a: &[i64], b: &[i64]) -> Case {
    let (a, b) = (a.to_vec(), b.to_vec());
    Case { name, a, b, dtype: DType::F32, swap: (false, false), constant: false, gelu: false }
}

impl Case {
    fn at(self) -> Case {
        Case { swap: (true, self.swap.1), ..self }
    }
    fn bt(self) -> Case {
        Case { swap: (self.swap.0, true), ..self }
    }
    fn weight(self) -> Case {
        Case { constant: true, ..self }
    }
    fn gelu(self) -> Case {
        Case { gelu: true, ..self }
    }
    fn of(self, dtype: DType) -> Case {
        Case { dtype, ..self }
    }
}

fn cases() -> Vec<Case> {
    let d = DType::F32;
    vec![
        case("64", &[64, 64], &[64, 64]),
        case("64 a.T", &[64, 64], &[64, 64]).at(),
        case("64 b.T", &[64, 64], &[64, 64]).bt(),
        case("128", &[128, 128], &[128, 128]),
        case("128 a.T", &[128, 128], &[128, 128]).at(),
        case("128 b.T", &[128, 128], &[128, 128]).bt(),
        case("512", &[512, 512], &[512, 512]),
        case("512 a.T", &[512, 512], &[512, 512]).at(),
        case("512 b.T", &[512, 512], &[512, 512]).bt(),
        case("512 weight", &[512, 512], &[512, 512]).weight(),
        case("1024", &[1024, 1024], &[1024, 1024]),
        case("1024 a.T", &[1024, 1024], &[1024, 1024]).at(),
        case("1024 b.T", &[1024, 1024], &[1024, 1024]).bt(),
        case("2048", &[2048, 2048], &[2048, 2048]),
        case("2048 a.T", &[2048, 2048], &[2048, 2048]).at(),
        case("2048 b.T", &[2048, 2048], &[2048, 2048]).bt(),
        case("1023x777x513", &[1023, 777], &[777, 513]),
        case("1023x777x513 a.T", &[777, 1023], &[777, 513]).at(),
        case("1023x777x513 b.T", &[1023, 777], &[513, 777]).bt(),
        case("1x4096x4096", &[1, 4096], &[4096, 4096]),
        case("1x4096x4096 b.T", &[1, 4096], &[4096, 4096]).bt(),
        case("4096x4096x1", &[4096, 4096], &[4096, 1]),
        case("1x4096x4096 weight", &[1, 4096], &[4096, 4096]).weight(),
        case("1x384x384 weight", &[1, 384], &[384, 384]).weight(),
        case("4096x32x4096", &[4096, 32], &[32, 4096]),
        case("17x4096x33", &[17, 4096], &[4096, 33]),
        case("8x1024x1024", &[8, 1024], &[1024, 1024]),
        case("8x1024x1024 weight", &[8, 1024], &[1024, 1024]).weight(),
        case("5x300x700", &[5, 300], &[300, 700]),
        case("4096x1024x3", &[4096, 1024], &[1024, 3]),
        case("4096x3x64", &[4096, 3], &[3, 64]),
        case("3x1024x1024", &[3, 1024], &[1024, 1024]),
        case("3x1024x1024 weight", &[3, 1024], &[1024, 1024]).weight(),
        case("1024x1024x5", &[1024, 1024], &[1024, 5]),
        case("96x(128x64x128)", &[96, 128, 64], &[96, 64, 128]),
        case("96x(128x64x128) b.T", &[96, 128, 64], &[96, 128, 64]).bt(),
        case("16x(256x256)x256x256", &[16, 256, 256], &[256, 256]),
        case("512x768x3072 gelu", &[512, 768], &[768, 3072]).weight().gelu(),
        case("512x768x3072 gelu b.T", &[512, 768], &[3072, 768]).bt().weight().gelu(),
        case("f64 1024", &[1024, 1024], &[1024, 1024]).of(DType::F64),
        case("bf16 1024", &[1024, 1024], &[1024, 1024]).of(DType::BF16),
        case("f16 1024", &[1024, 1024], &[1024, 1024]).of(DType::F16),
        case("bf16 1024 b.T weight", &[1024, 1024], &[1024, 1024]).bt().weight().of(DType::BF16),
        case("16x384x384 weight b.T", &[16, 384], &[384, 384]).bt().weight(),
        case("16x384x1536 weight b.T", &[16, 384], &[1536, 384]).bt().weight(),
        case("16x1536x384 weight b.T", &[16, 1536], &[384, 1536]).bt().weight(),
        case("1024x384x384 weight b.T", &[1024, 384], &[384, 384]).bt().weight(),
        case("1024x384x1536 weight b.T", &[1024, 384], &[1536, 384]).bt().weight(),
        case("1024x1536x384 weight b.T", &[1024, 1536], &[384, 1536]).bt().weight().of(d),
    ]
}

fn run(case: &Case, peak: f64, threads: usize) -> Result<()> {
    let f64s = |t: &Tensor| t.cast(DType::F64)?.to_vec::<f64>();
    let stored = |shape: &[i64]| Tensor::randn(shape, None)?.cast(case.dtype);
    let (a, b) = (stored(&case.a)?, stored(&case.b)?);
    Tensor::realize_batch(&[&a, &b])?;
    let left = if case.swap.0 { a.transpose(-1, -2)? } else { a.clone() };
    let right = if case.swap.1 { b.transpose(-1, -2)? } else { b.clone() };
    let (lv, rv) = (f64s(&left)?, f64s(&right)?);
    let (ls, rs) = (left.dims()?, right.dims()?);
    let (m, k, n) = (ls[ls.len() - 2], ls[ls.len() - 1], rs[rs.len() - 1]);
    let mut y = left.matmul(&right)?;
    let bias = Tensor::randn(&[n as i64], None)?;
    bias.realize()?;
    if case.gelu {
        y = y.add(&bias)?.gelu()?;
    }
    let config = PrepareConfig { threads: Some(threads), ..PrepareConfig::from_env().for_plan() };
    let inputs = if case.constant { vec![&a] } else { vec![&a, &b] };
    let plan = y.prepare_with(&inputs, &config)?;
    let batch = ls[..ls.len() - 2].iter().product::<usize>();
    let flops = 2.0 * (batch * m * k * n) as f64;
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    let mut rounds = 0;
    while rounds < 5 || (begin.elapsed() < Duration::from_millis(400) && rounds < 2000) {
        let start = now(threads);
        plan.execute()?;
        best = best.min((now(threads) - start).as_secs_f64());
        rounds += 1;
    }
    if !case.gelu {
        let out = f64s(&plan.outputs()[0])?;
        let unit = match case.dtype {
            DType::F64 => 1e-13,
            DType::BF16 => 1e-2,
            DType::F16 => 2e-3,
            _ => 2e-6,
        };
        for i in 0..97 {
            let at = (i * 7919 * 31) % out.len();
            let (row, column) = (at / n, at % n);
            let own = if rs.len() > 2 { row / m * k * n } else { 0 };
            let sum: f64 = (0..k).map(|d| lv[row * k + d] * rv[own + d * n + column]).sum();
            let error = (out[at] - sum).abs() / (k as f64).sqrt();
            assert!(error < unit, "{}: element {at} is {}, not {sum}", case.name, out[at]);
        }
    }
    let bytes = ((a.dims()?.iter().product::<usize>() + b.dims()?.iter().product::<usize>()) * case.dtype.bytes()
        + batch * m * n * case.dtype.bytes()) as f64;
    let (rate, width) = (flops / best / 1e9, bytes / best / 1e9);
    let share = if case.dtype == DType::F64 { 2.0 } else { 1.0 } * rate / peak * 100.0;
    println!("{:<26} {:>9.4} ms {rate:>7.1} GFLOP/s {share:>5.1} % {width:>6.1} GB/s", case.name, best * 1e3);
    Ok(())
}

fn main() -> Result<()> {
    let threads = std::env::var("SVOD_THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let peak = peak();
    println!("peak of this core in this run: {peak:.1} GFLOP/s; {threads} threads");
    let wants = |c: &&Case| wanted.is_empty() || wanted.iter().any(|w| c.name.contains(w.as_str()));
    cases().iter().filter(wants).try_for_each(|c| run(c, peak, threads))
}
