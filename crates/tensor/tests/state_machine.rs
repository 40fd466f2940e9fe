#![allow(clippy::unwrap_used)]
//! Tensors under random histories against values computed at once: no result is stale or aliased.

mod support;
use support::t;
use svod_tensor::{Index, Tensor, manual_seed};

const LEN: usize = 4;

struct State {
    tensors: Vec<(Tensor, [f32; LEN])>,
    random: u64,
}

impl State {
    /// A number below `n` (Knuth's MMIX generator).
    fn pick(&mut self, n: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % n
    }

    fn any(&mut self) -> usize {
        self.pick(self.tensors.len())
    }

    fn step(&mut self) -> String {
        let (a, b) = (self.any(), self.any());
        let ((x, xs), (y, ys)) = (self.tensors[a].clone(), self.tensors[b].clone());
        let action = self.pick(12);
        match action {
            0 | 1 => {
                let difference = x.sub(&y).unwrap().mul(0.5).unwrap();
                self.tensors.push((difference, std::array::from_fn(|i| (xs[i] - ys[i]) * 0.5)));
            }
            2 => {
                let mut reversed = xs;
                reversed.reverse();
                self.tensors.push((x.flip(None).unwrap(), reversed));
            }
            3 => x.realize().unwrap(),
            4 => Tensor::realize_batch(&[&x, &y]).unwrap(),
            5 => {
                x.assign(&y).unwrap();
                self.tensors[a].1 = ys;
            }
            6 => {
                let (from, value) = (self.pick(LEN), self.pick(9) as f32);
                x.set(&[Index::Slice { start: Some(from.into()), stop: None, step: 2 }], value).unwrap();
                (from..LEN).step_by(2).for_each(|i| self.tensors[a].1[i] = value);
            }
            7 => {
                let bytes: Vec<u8> = ys.iter().flat_map(|v| v.to_le_bytes()).collect();
                x.copy_in(&bytes).unwrap();
                self.tensors[a].1 = ys;
            }
            8 => {
                let plan = x.prepare(&[]).unwrap();
                (0..=self.pick(2)).for_each(|_| plan.execute().unwrap());
            }
            9 => std::thread::scope(|scope| {
                scope.spawn(|| x.realize().unwrap());
                scope.spawn(|| y.realize().unwrap());
            }),
            10 => {
                let drawn = Tensor::rand(&[LEN], None).unwrap();
                drawn.realize().unwrap();
                let values = drawn.to_vec::<f32>().unwrap().try_into().unwrap();
                self.tensors.push((drawn, values));
            }
            _ => assert_eq!(x.to_vec::<f32>().unwrap(), xs),
        }
        if self.tensors.len() > 12 {
            let gone = self.any();
            self.tensors.swap_remove(gone);
        }
        format!("{action} on {a}, {b}")
    }
}

#[test]
fn histories() {
    manual_seed(1);
    for seed in 0..12 {
        let mut state = State { tensors: Vec::new(), random: seed };
        for _ in 0..3 {
            let values: [f32; LEN] = std::array::from_fn(|_| state.pick(100) as f32);
            state.tensors.push((t(&values, &[LEN]), values));
        }
        let history: Vec<String> = (0..60).map(|_| state.step()).collect();
        for (tensor, values) in &state.tensors {
            assert_eq!(tensor.to_vec::<f32>().unwrap(), values, "seed {seed}: {history:?}");
        }
    }
}
