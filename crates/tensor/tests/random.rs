//! Random programs of tensors: compiled code gives what the reference interpreter gives.
//!
//! `SVOD_SEEDS` sets how many.
#![allow(clippy::unwrap_used)]

mod support;

use support::{compiled, interpreted};
use svod_tensor::{DType, Tensor};

/// Numbers of a xorshift64 generator.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn tensor(&mut self, dtype: DType, shape: &[usize]) -> Tensor {
        let n: usize = shape.iter().product();
        let values: Vec<f32> = (0..n).map(|_| (self.roll(401) as f32 - 200.0) / 100.0).collect();
        let t = Tensor::from_slice(&values, shape).unwrap();
        if dtype == DType::F32 { t } else { t.mul(3.0).unwrap().cast(dtype).unwrap() }
    }

    fn extents(&mut self, elements: usize) -> Vec<i64> {
        let mut left = elements;
        let mut extents = Vec::new();
        for factor in [2, 3, 2, 5, 7, 11] {
            if left.is_multiple_of(factor) && self.roll(2) == 0 {
                extents.push(factor as i64);
                left /= factor;
            }
        }
        extents.insert(0, left as i64);
        let (n, first) = (extents.len(), 0);
        extents.swap(first, self.roll(n));
        extents
    }

    /// One more value made of `x` and perhaps `y`; nothing where the choice does not fit.
    fn grow(&mut self, x: &Tensor, y: &Tensor) -> Option<Tensor> {
        let d = x.dims().unwrap();
        let n: usize = d.iter().product();
        let axis = if d.is_empty() { 0 } else { self.roll(d.len()) as i64 };
        let float = x.dtype().is_float();
        match self.roll(26) {
            0 => x.neg().ok(),
            1 => x.clamp(Some((-2.0).into()), Some(2.0.into())).ok()?.exp().ok(),
            2 => x.tanh().ok(),
            3 => x.gelu().ok(),
            4 => x.abs().ok()?.add(0.5).ok()?.log().ok(),
            5 => x.add(y).ok(),
            6 => x.mul(y).ok(),
            7 => x.sub(y).ok(),
            8 => x.maximum(y).ok(),
            9 => Tensor::select(&x.lt(y).ok()?, x, y).ok(),
            10 => x.cast([DType::I32, DType::I8, DType::F64, DType::F32, DType::F16, DType::U8][self.roll(6)]).ok(),
            11 => x.floor_div(3i64).ok(),
            12 => x.modulo(3i64).ok(),
            13 if d.len() > 1 => x.transpose(0, axis).ok(),
            14 | 15 => x.reshape(&self.extents(n)).ok(),
            16 if !d.is_empty() => x.flip(Some(&[axis])).ok(),
            17 if !d.is_empty() && n < 500 => {
                let mut by = vec![(0i64, 0i64); d.len()];
                by[axis as usize] = (self.roll(3) as i64, self.roll(2) as i64);
                x.pad(&by, 1i64).ok()
            }
            18 if !d.is_empty() && d[axis as usize] > 1 => x.narrow(axis, 1i64, d[axis as usize] as i64 - 1).ok(),
            19 if !d.is_empty() => x.sum(Some(&[axis]), self.roll(2) == 0).ok(),
            20 if !d.is_empty() => x.max(Some(&[axis]), true).ok()?.sub(x).ok(),
            21 if !d.is_empty() && float => x.softmax(axis).ok(),
            22 if !d.is_empty() && float => x.sub(&x.mean(Some(&[axis]), true).ok()?).ok(),
            23 if !d.is_empty() => x.argmax(Some(axis), false).ok(),
            24 if !d.is_empty() => x.cumsum(axis).ok(),
            25 if d.len() > 1 && n < 600 && float => {
                let columns = [3, 8, 17][self.roll(3)];
                let w = self.tensor(x.dtype(), &[d[d.len() - 1], columns]);
                x.matmul(&w).ok()?.mul(0.2).ok()
            }
            _ => None,
        }
    }
}

/// Tolerance by the least precise type on the way.
fn close(a: f64, b: f64, epsilon: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= epsilon * (1.0 + a.abs().max(b.abs()))
}

#[test]
fn compiled_is_interpreted() {
    let seeds = std::env::var("SVOD_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(60u64);
    for seed in 1..=seeds {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let extents = dice.extents([24, 60, 66, 35, 1, 128][seed as usize % 6]);
        let shape: Vec<usize> = extents.iter().map(|n| *n as usize).collect();
        let first = [DType::F32, DType::F32, DType::F32, DType::F64, DType::I32, DType::I64][dice.roll(6)];
        let mut values = vec![dice.tensor(first, &shape)];
        // Rounding may flip a comparison or an integer: those programs are compared up to there.
        for _ in 0..3 + dice.roll(9) {
            let n = values.len();
            let (x, y) = (n - 1 - dice.roll(n).min(dice.roll(n)), n - 1 - dice.roll(n).min(dice.roll(n)));
            let (x, y) = (values[x].clone(), values[y].clone());
            let Some(new) = dice.grow(&x, &y) else { continue };
            let (want, got) = (interpreted(&new), compiled(&new));
            let epsilon = if [x.dtype(), y.dtype(), new.dtype(), first].contains(&DType::F16) { 0.02 } else { 1e-3 };
            for (at, (a, b)) in want.to_f64().iter().zip(got.to_f64()).enumerate() {
                assert!(
                    close(*a, b, epsilon),
                    "seed {seed}, element {at}: {a} interpreted, {b} compiled\n{}",
                    new.graph()
                );
            }
            // Go on from the same numbers on both sides.
            if !new.dtype().is_float() || dice.roll(3) == 0 {
                new.realize().unwrap();
            }
            values.push(new);
        }
    }
}
