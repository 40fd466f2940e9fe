//! Prepares a matrix product once, executes it many times, prints what was compiled.
//!
//! `cargo run --release --example matmul`

use std::time::Instant;
use svod_tensor::{Tensor, TensorError};

fn main() -> Result<(), TensorError> {
    // With SVOD_BEAM=4 schedules are searched for by timing candidates, in processes that stay here.
    svod_tensor::serve_if_worker();
    let n = 1024i64;
    let x = Tensor::rand(&[n, n], None)?;
    let w = Tensor::rand(&[n, n], None)?;
    let bias = Tensor::rand(&[n], None)?;
    Tensor::realize_batch(&[&x, &w, &bias])?;

    // Nothing is computed yet: `y` is an expression.
    let y = x.matmul(&w)?.add(&bias)?.gelu()?;
    println!("{}", y.graph());

    let start = Instant::now();
    let plan = y.prepare(&[&x])?;
    println!("prepared in {:.1?}", start.elapsed());
    let mut best = f64::INFINITY;
    for _ in 0..10 {
        let start = Instant::now();
        plan.execute()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{}", plan.execution());
    let flops = 2.0 * (n as f64).powi(3);
    println!("{n} x {n} x {n}, bias and gelu: {:.2} ms, {:.0} GFLOP/s", best * 1e3, flops / best / 1e9);
    println!("first elements: {:?}", &y.to_vec::<f32>()?[..4]);
    Ok(())
}
