//! Every operation and conversion on every type, on values where they are easily wrong.
#![allow(clippy::unwrap_used)]

mod common;

use common::check;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::buffer::HostBuffer;

/// Values to combine in all pairs.
fn special(dtype: DType) -> Vec<Const> {
    let mut values: Vec<Const> = if dtype.is_float() {
        let floats =
            [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.0, 7.0, 1e-3, 100.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        floats.map(|v| Const::f64(dtype, v)).to_vec()
    } else {
        [0, 1, -1, 2, -2, 3, 7, -7, 31, 64, 100].map(|v| Const::i64(dtype, v)).to_vec()
    };
    values.extend([Const::min_value(dtype), Const::max_value(dtype)]);
    while !values.len().is_multiple_of(8) {
        values.push(values[values.len() / 2]);
    }
    values
}

/// Floats beside the bounds of integer types, where a conversion begins to saturate, a multiple of 8; none of integers.
fn edges(dtype: DType) -> Vec<Const> {
    if !dtype.is_float() {
        return Vec::new();
    }
    let bounds = [0.0, 7.0, 8.0, 15.0, 16.0, 31.0, 32.0, 63.0, 64.0].map(f64::exp2);
    let beside = |x: f64| {
        let steps = [
            0.5,
            0.9,
            1.0,
            1.1,
            x.abs() * f64::EPSILON,
            x.abs() * f64::from(f32::EPSILON) / 2.0,
            x.abs() * f64::from(f32::EPSILON),
        ];
        [vec![x], steps.iter().flat_map(|d| [x - d, x + d]).collect()].concat()
    };
    let all = bounds.into_iter().flat_map(|b| [b, -b]).chain([0.0, -0.0]).flat_map(beside);
    let mut values: Vec<Const> = all.map(|v| Const::f64(dtype, v)).collect();
    values.truncate(values.len() / 8 * 8);
    values
}

/// Numbers in the middle between two of a narrow float, and beside these, a multiple of 8: where rounding twice is not as
/// good as rounding once.
fn ties(dtype: DType) -> Vec<Const> {
    const MIDDLES: [i64; 11] = [0x9, 0xb, 0x11, 0x13, 0x1d, 0x101, 0x103, 0x1ff, 0x801, 0x803, 0xfff];
    let mut values = Vec::new();
    for middle in MIDDLES {
        if dtype.is_float() {
            for exponent in [-160, -145, -142, -137, -134, -130, -126, -30, -27, -20, -14, -9, 0, 5, 20, 60, 119] {
                let tie = middle as f64 * f64::from(exponent).exp2();
                let beside = [1e-16, 1e-12, 1e-8, 1e-5].iter().flat_map(|by| [tie * (1.0 + by), tie * (1.0 - by)]);
                values.extend(beside.chain([tie]).flat_map(|v| [v, -v]).map(|v| Const::f64(dtype, v)));
            }
        } else {
            let shifts = 0..dtype.bits().saturating_sub(64 - middle.leading_zeros());
            let all = shifts.flat_map(|by| (-1..=1).map(move |beside| (middle << by).wrapping_add(beside)));
            values.extend(all.flat_map(|v| [v, v.wrapping_neg()]).map(|v| Const::i64(dtype, v)));
        }
    }
    values.truncate(values.len() / 8 * 8);
    values
}

fn buffer(values: &[Const]) -> HostBuffer {
    let dtype = values[0].dtype();
    let mut buffer = HostBuffer::zeros(dtype, values.len());
    values.iter().enumerate().for_each(|(i, v)| buffer.set(i, *v));
    buffer
}

/// Relative to the value, or absolute below 1.
fn tolerance(op: Option<Alu>, dtype: DType) -> f64 {
    let unit = match dtype {
        DType::F64 => 1e-15,
        DType::F32 => 2e-7,
        DType::F16 => 1e-3,
        DType::BF16 => 8e-3,
        DType::F8E4M3 => 0.13,
        DType::F8E5M2 => 0.26,
        _ => return 0.0,
    };
    match op {
        Some(op) if op.is_transcendental() => 4.0 * unit,
        Some(Alu::MulAdd | Alu::FloorDiv | Alu::FloorMod) => unit,
        _ => 0.0,
    }
}

fn run(op: Alu, dtype: DType) {
    let values = special(dtype);
    let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
    for (i, x) in values.iter().enumerate() {
        for y in &values {
            a.push(*x);
            b.push(*y);
            c.push(values[(i * 5 + 3) % values.len()]);
        }
    }
    if dtype.is_float() && matches!(op, Alu::FloorDiv | Alu::FloorMod) {
        // Exact while the quotient has few digits.
        let fits = |n: &usize| !((a[*n].as_f64() / b[*n].as_f64()).abs() > 1e5 && b[*n].as_f64() != 0.0);
        let fits = |n: &usize| fits(n) && !a[*n].as_f64().is_infinite();
        let kept: Vec<usize> = (0..a.len()).map(|n| if fits(&n) { n } else { 0 }).collect();
        a = kept.iter().map(|n| a[*n]).collect();
        b = kept.iter().map(|n| b[*n]).collect();
    }
    let n = a.len();
    let args = [["p0[AT]"].as_slice(), &["p0[AT]", "p1[AT]"], &["p0[AT]", "p1[AT]", "p2[AT]"]][op.arity() - 1];
    let mut inputs = vec![buffer(&a), buffer(&b), buffer(&c)];
    if op == Alu::Where {
        inputs[0] = buffer(&a.iter().map(|v| Const::bool(v.as_bool())).collect::<Vec<_>>());
    }
    let types: Vec<DType> = (0..op.arity()).map(|n| inputs[n].dtype()).collect();
    let out = op.result(&types).unwrap();
    inputs.push(HostBuffer::zeros(out, n));
    inputs.push(HostBuffer::zeros(out, n));
    let mut text = "lowered op\n".to_owned();
    for (i, input) in inputs.iter().enumerate() {
        text += &format!("param p{i}: {}[{n}]\n", input.dtype().short());
    }
    let call = format!("{}({})", op.name(), args.join(", "));
    text += &format!(
        "\nphase\n{{\n  serial i < {n}//8 {{\n    vector j < 8 {{\n      p3[i*8 + j] = {}\n    }}\n  }}\n  serial k < {n} {{\n    p4[k] = {}\n  }}\n}}\n",
        call.replace("AT", "i*8 + j"),
        call.replace("AT", "k"),
    )
    .replace(&format!("{n}//8"), &(n / 8).to_string());
    check(&text, &[], inputs, tolerance(Some(op), dtype));
}

fn run_all(dtypes: &[DType]) {
    for &dtype in dtypes {
        for &op in Alu::ALL {
            let types = vec![dtype; op.arity()];
            if op.result(&types).is_some() || (op == Alu::Where) {
                run(op, dtype);
            }
        }
    }
}

#[test]
fn floats() {
    run_all(&[DType::F32, DType::F64]);
}

#[test]
fn narrow_floats() {
    run_all(&[DType::F16, DType::BF16, DType::F8E4M3, DType::F8E5M2]);
}

#[test]
fn signed_integers() {
    run_all(&[DType::I8, DType::I16, DType::I32, DType::I64]);
}

#[test]
fn unsigned_integers_and_bool() {
    run_all(&[DType::U8, DType::U16, DType::U32, DType::U64, DType::Bool]);
}

#[test]
fn conversions() {
    let dtypes: Vec<DType> = DType::ALL.iter().copied().filter(|d| d.is_real()).collect();
    for &from in &dtypes {
        for &to in &dtypes {
            let values = [special(from), edges(from), ties(from)].concat();
            let n = values.len();
            let text = format!(
                "lowered op\nparam p0: {}[{n}]\nparam p1: {}[{n}]\nparam p2: {}[{n}]\n\nphase\n{{\n  serial i < {} {{\n    vector j < 8 {{\n      \
                 p1[i*8 + j] = cast({2}, p0[i*8 + j])\n    }}\n  }}\n  serial k < {n} {{\n    p2[k] = cast({2}, p0[k])\n  }}\n}}\n",
                from.short(),
                to.short(),
                to.short(),
                n / 8
            );
            if from != to {
                check(&text, &[], vec![buffer(&values), HostBuffer::zeros(to, n), HostBuffer::zeros(to, n)], 0.0);
            }
        }
    }
}
