//! Random graphs: elementwise operations, movements, reductions and products of what a graph has already.

use crate::check;
use crate::layers::{dims, float, keep, matmul, op, random, softmax};
use crate::support::shape;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Graph, UOp};
use svod_ir::kernel::Monoid;

/// A generator of graphs: xorshift64 numbers choose operations on earlier values.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    fn pick<'v>(&mut self, values: &'v [UOp]) -> &'v UOp {
        // Later values more often, so that graphs grow deep.
        let n = values.len();
        &values[n - 1 - self.roll(n).min(self.roll(n))]
    }

    fn extents(&mut self, elements: i64) -> Vec<i64> {
        let mut left = elements;
        let mut extents = Vec::new();
        for factor in [2, 3, 2, 5, 7, 11] {
            if left % factor == 0 && self.roll(2) == 0 {
                extents.push(factor);
                left /= factor;
            }
        }
        extents.push(left);
        let n = extents.len();
        extents.swap(0, self.roll(n));
        extents
    }

    /// One more value.
    fn grow(&mut self, values: &[UOp]) -> Option<UOp> {
        let x = self.pick(values).clone();
        let d = dims(&x);
        let count: i64 = d.iter().product();
        let axis = if d.is_empty() { 0 } else { self.roll(d.len()) };
        Some(match self.roll(16) {
            0 => op(Alu::Neg, &[&x]),
            1 => op(Alu::Exp, &[&op(Alu::Min, &[&x, &float(2.0)])]),
            2 | 3 => {
                let y = self.pick(values).clone();
                let both = [Alu::Add, Alu::Sub, Alu::Mul, Alu::Max][self.roll(4)];
                let same = dims(&y) == d;
                let y = if same { y } else { y.reduce(Monoid::Max, &(0..y.rank()).collect::<Vec<_>>()).ok()? };
                op(both, &[&x, &y])
            }
            4 if !d.is_empty() => {
                let mut order: Vec<usize> = (0..d.len()).collect();
                order.swap(axis, 0);
                x.permute(&order).unwrap()
            }
            5 | 6 => {
                let extents = self.extents(count);
                x.reshape(shape(&extents)).unwrap()
            }
            7 if !d.is_empty() => x.flip(&[axis]).unwrap(),
            8 if !d.is_empty() && count < 400 => {
                let mut by = vec![(0i64.into(), 0i64.into()); d.len()];
                by[axis] = ((self.roll(3) as i64).into(), (self.roll(2) as i64).into());
                x.pad(by, Const::f64(DType::F32, 0.5)).unwrap()
            }
            9 if !d.is_empty() && d[axis] > 1 => {
                let mut to: Vec<_> = d.iter().map(|n| (0i64.into(), (*n).into())).collect();
                to[axis] = ((self.roll(2) as i64).into(), d[axis].into());
                x.shrink(to).unwrap()
            }
            10 if !d.is_empty() => {
                let by = [Monoid::Sum, Monoid::Max][self.roll(2)];
                op([Alu::Sub, Alu::Add][self.roll(2)], &[&x, &keep(&x, by, axis)])
            }
            11 if !d.is_empty() => x.reduce([Monoid::Sum, Monoid::Min][self.roll(2)], &[axis]).unwrap(),
            12 if d.len() >= 2 && count < 600 => {
                let n = [3, 8, 17][self.roll(3)];
                let mut w = d[..d.len() - 2].to_vec();
                w.extend([d[d.len() - 1], n]);
                let w = random(&[d[d.len() - 1], n], self.roll(1000) as u64).expand(shape(&w)).unwrap();
                op(Alu::Mul, &[&matmul(&x, &w), &float(0.2)])
            }
            13 if !d.is_empty() && count < 400 => softmax(&x),
            14 if !d.is_empty() && count < 400 && d[axis] > 2 => {
                x.window(axis, 2i64, 1 + self.roll(2), 1 + self.roll(2)).unwrap()
            }
            _ => op(Alu::Tanh, &[&x]),
        })
    }
}

#[test]
fn random_graphs() {
    let seeds = std::env::var("SVOD_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150u64);
    for seed in 1..=seeds {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let first = dice.extents([24, 60, 66, 35][dice.0 as usize % 4]);
        let mut values = vec![random(&first, seed)];
        for _ in 0..4 + dice.roll(12) {
            values.extend(dice.grow(&values));
        }
        let last = values.len() - 1;
        let several = if dice.roll(3) == 0 { 1 + dice.roll(4) } else { 0 };
        let mut roots = vec![values[last].clone()];
        roots.extend((0..several).map(|_| values[1 + dice.roll(last)].clone()));
        if roots.iter().all(|r| r.sources().is_empty()) {
            continue;
        }
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(&roots)));
        assert!(result.is_ok(), "seed {seed}:\n{}", Graph::new(&roots));
    }
}
