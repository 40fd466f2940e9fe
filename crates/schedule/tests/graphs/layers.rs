//! Values, and layers of networks as tensors build them.

use crate::support::{leaf, shape};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::buffer::HostBuffer;
use svod_ir::graph::UOp;
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

pub fn random(extents: &[i64], seed: u64) -> UOp {
    let n = extents.iter().product::<i64>();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = (0..n).map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % 4001) as f64 / 1000.0 - 2.0
    });
    leaf(HostBuffer::from_f64(DType::F32, next), extents)
}

pub fn ints(extents: &[i64], below: i64, seed: u64) -> UOp {
    let n = extents.iter().product::<i64>() as u64;
    let value = |i: u64| (i.wrapping_mul(seed.wrapping_mul(2) + 0x9E37_79B9_7F4A_7C15) >> 40) as i64 % below;
    leaf(HostBuffer::from_f64(DType::I64, (0..n).map(|i| value(i) as f64)), extents)
}

pub fn op(op: Alu, args: &[&UOp]) -> UOp {
    let to = args
        .iter()
        .map(|a| a.shape_arc().clone())
        .max_by_key(|s| (s.len(), s.iter().map(|e| e.as_const().unwrap()).product::<i64>()))
        .unwrap();
    let args: Vec<UOp> = args.iter().map(|a| a.expand(to.clone()).unwrap()).collect();
    UOp::alu(op, &args).unwrap()
}

pub fn float(v: f64) -> UOp {
    UOp::constant(Const::f64(DType::F32, v)).unwrap()
}

/// A reduction that keeps its axis, with extent 1.
pub fn keep(x: &UOp, by: Monoid, axis: usize) -> UOp {
    let mut kept: Vec<i64> = x.shape().iter().map(|e| e.as_const().unwrap()).collect();
    kept[axis] = 1;
    x.reduce(by, &[axis]).unwrap().reshape(shape(&kept)).unwrap()
}

pub fn softmax(x: &UOp) -> UOp {
    let last = x.rank() - 1;
    let e = op(Alu::Exp, &[&op(Alu::Sub, &[x, &keep(x, Monoid::Max, last)])]);
    op(Alu::Div, &[&e, &keep(&e, Monoid::Sum, last)])
}

pub fn layer_norm(x: &UOp, gain: &UOp, bias: &UOp) -> UOp {
    let last = x.rank() - 1;
    let n = float(x.shape()[last].as_const().unwrap() as f64);
    let mean = op(Alu::Div, &[&keep(x, Monoid::Sum, last), &n]);
    let centred = op(Alu::Sub, &[x, &mean]);
    let var = op(Alu::Div, &[&keep(&op(Alu::Mul, &[&centred, &centred]), Monoid::Sum, last), &n]);
    let scale = op(Alu::Recip, &[&op(Alu::Sqrt, &[&op(Alu::Add, &[&var, &float(1e-5)])])]);
    op(Alu::Add, &[&op(Alu::Mul, &[&op(Alu::Mul, &[&centred, &scale]), gain]), bias])
}

pub fn dims(x: &UOp) -> Vec<i64> {
    x.shape().iter().map(|e| e.as_const().unwrap()).collect()
}

/// `[.., m, k] @ [.., k, n]` with equal batch dimensions.
pub fn matmul(a: &UOp, b: &UOp) -> UOp {
    let (da, db) = (dims(a), dims(b));
    let r = da.len();
    let (m, k, n) = (da[r - 2], da[r - 1], db[db.len() - 1]);
    let mut one = da[..r - 2].to_vec();
    let full: Vec<i64> = one.iter().copied().chain([m, n, k]).collect();
    one.extend([m, 1, k]);
    let wide_a = a.reshape(shape(&one)).unwrap().expand(shape(&full)).unwrap();
    let rb = db.len();
    let mut order: Vec<usize> = (0..rb).collect();
    order.swap(rb - 1, rb - 2);
    let mut bt: Vec<i64> = db[..rb - 2].to_vec();
    bt.extend([1, n, k]);
    let wide_b = b.permute(&order).unwrap().reshape(shape(&bt)).unwrap().expand(shape(&full)).unwrap();
    UOp::alu(Alu::Mul, &[wide_a, wide_b]).unwrap().reduce(Monoid::Sum, &[r]).unwrap()
}

/// A convolution as tensors build it: `[n, c, ..]` with weights `[out, c / groups, ..]`.
pub fn conv(x: &UOp, w: &UOp, groups: i64, stride: usize, pad: i64, dilation: usize) -> UOp {
    let (dx, dw) = (dims(x), dims(w));
    let spatial = dx.len() - 2;
    let by: Vec<(Size, Size)> =
        (0..dx.len()).map(|d| if d < 2 { 0 } else { pad }).map(|p| (p.into(), p.into())).collect();
    let mut windows = x.pad(by, Const::f64(DType::F32, 0.0)).unwrap();
    for d in 0..spatial {
        windows = windows.window(2 + d, dw[2 + d], stride, dilation).unwrap();
    }
    let positions = dims(&windows)[2..2 + spatial].to_vec();
    let taps = &dw[2..];
    let (batch, outs, ins) = (dx[0], dw[0] / groups, dx[1] / groups);
    let split = [&[batch, groups, ins], &positions[..], taps].concat();
    let order: Vec<usize> =
        [0, 1].into_iter().chain(3..3 + spatial).chain([2]).chain(3 + spatial..3 + 2 * spatial).collect();
    let one = [&[batch, groups, 1], &positions[..], &[ins], taps].concat();
    let full = [&[batch, groups, outs], &positions[..], &[ins], taps].concat();
    let x = windows.reshape(shape(&split)).unwrap().permute(&order).unwrap();
    let x = x.reshape(shape(&one)).unwrap().expand(shape(&full)).unwrap();
    let w = w.reshape(shape(&[&[1, groups, outs], &vec![1; spatial][..], &[ins], taps].concat())).unwrap();
    let product = UOp::alu(Alu::Mul, &[x, w.expand(shape(&full)).unwrap()]).unwrap();
    let axes: Vec<usize> = (3 + spatial..4 + 2 * spatial).collect();
    let sum = product.reduce(Monoid::Sum, &axes).unwrap();
    sum.reshape(shape(&[&[batch, groups * outs], &positions[..]].concat())).unwrap()
}

/// `relu(conv + bias)`.
pub fn conv_layer(x: &UOp, w: &UOp, groups: i64, stride: usize, pad: i64, dilation: usize) -> UOp {
    let y = conv(x, w, groups, stride, pad, dilation);
    let channels = dims(w)[0];
    let bias = random(&[channels], 9).reshape(shape(&[&[channels], &vec![1; y.rank() - 2][..]].concat())).unwrap();
    op(Alu::Max, &[&op(Alu::Add, &[&y, &bias]), &float(0.0)])
}
