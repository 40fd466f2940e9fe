//! Eigenvectors of what has too few of them.
#![allow(clippy::unwrap_used)]

use faer::c32;
use svod_numeric::linalg::eig;

#[test]
fn vectors_of_a_long_chain_are_its_first_one() {
    for n in [2usize, 8, 60] {
        for value in [0f32, 1.0, -2.0, 1e-3] {
            let a: Vec<f32> = (0..n * n)
                .map(|at| if at / n == at % n { value } else { f32::from(u8::from(at % n == at / n + 1)) })
                .collect();
            let zero = c32::new(0.0, 0.0);
            let (mut w, mut v) = (vec![zero; n], vec![zero; n * n]);
            eig(n, &a, &mut w, Some(&mut v)).unwrap();
            assert!(w.iter().all(|w| *w == c32::new(value, 0.0)));
            for j in 0..n {
                assert!((v[j].norm() - 1.0).abs() < 1e-5, "column {j} of {n}");
                assert!((1..n).all(|i| v[i * n + j].norm() < 1e-3), "column {j} of {n}");
            }
        }
    }
}
