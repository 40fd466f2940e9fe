//! Contract A9: symbolic launch sizes.
#![allow(clippy::unwrap_used)]

use svod_device::launch::{LaunchError, LaunchErrorKind as Kind};
use svod_device::*;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::size::Size;

fn n() -> Variable {
    Variable::new("n", -100, 100).unwrap()
}

fn op(op: Alu, a: i64, b: i64) -> LaunchExpr {
    LaunchExpr::alu(op, &[a.into(), b.into()])
}

fn eval(expr: &LaunchExpr) -> Result<i64, Kind> {
    expr.eval(&|_| None)
}

#[test]
fn a9_expressions_are_evaluated() {
    for (expr, value) in [
        (op(Alu::Add, 2, 3), 5),
        (op(Alu::Sub, 2, 3), -1),
        (op(Alu::Mul, -2, 3), -6),
        (op(Alu::IDiv, -7, 2), -3),
        (op(Alu::Rem, -7, 2), -1),
        (op(Alu::Max, -7, 2), 2),
        (LaunchExpr::alu(Alu::Neg, &[7.into()]), -7),
        (LaunchExpr::alu(Alu::Abs, &[op(Alu::Sub, 2, 3)]), 1),
        (LaunchExpr::constant(Const::bool(true)), 1),
        (
            LaunchExpr::alu(
                Alu::Add,
                &[LaunchExpr::constant(Const::bool(true)), LaunchExpr::constant(Const::bool(true))],
            ),
            2,
        ),
        (LaunchExpr::from(-3).cast(DType::Bool), 1),
        (LaunchExpr::from(200).cast(DType::U8), 200),
        (LaunchExpr::from(200).cast(DType::U8).bitcast(DType::I8), -56),
        (LaunchExpr::from(9).after(), 9),
        (LaunchExpr::bind(n(), 33), 33),
    ] {
        assert_eq!(eval(&expr), Ok(value), "{expr}");
    }
    let sum = LaunchExpr::alu(Alu::Add, &[LaunchExpr::var(n()), 1.into()]);
    assert_eq!(sum.eval(&|name| (name == "n").then_some(41)), Ok(42));
    // As sizes are written, where the value is that of one.
    assert_eq!(sum.to_string(), "n + 1");
    let tasks = Size::from(&Variable::new("m", 1, 9).unwrap()).ceil_div(4) * 3;
    let launch = LaunchExpr::from_size(&tasks).unwrap();
    assert_eq!((launch.to_string(), launch.to_size()), (tasks.to_string(), Some(tasks)));
    for (expr, text) in [
        (LaunchExpr::alu(Alu::IDiv, &[LaunchExpr::var(n()), 2.into()]), "idiv(n, 2)"),
        (LaunchExpr::alu(Alu::Abs, &[LaunchExpr::var(n())]), "abs(n)"),
        (LaunchExpr::bind(n(), 3), "n=3"),
    ] {
        assert_eq!((expr.to_string().as_str(), expr.to_size()), (text, None));
    }
}

#[test]
fn a9_every_error_says_why() {
    let int = |dtype, bits| LaunchExpr::constant(Const::from_bits(dtype, bits));
    for (expr, message) in [
        (LaunchExpr::constant(Const::f64(DType::F32, 1.5)), "f32(1.5) is not an integer"),
        (op(Alu::Xor, 1, 2), "a launch size cannot use xor"),
        (LaunchExpr::alu(Alu::Add, &[1.into()]), "a launch size cannot use add"),
        (LaunchExpr::alu(Alu::Add, &[]), "a launch size cannot use add"),
        (LaunchExpr::from(1).cast(DType::F32), "a launch size cannot use a cast to float32"),
        (LaunchExpr::from(1).bitcast(DType::I32), "a launch size cannot use a bitcast from index to int32"),
        (LaunchExpr::var(n()), "variable n has no value"),
        (LaunchExpr::bind(n(), 101), "variable n: 101 is outside [-100, 100]"),
        (op(Alu::IDiv, 1, 0), "division by zero"),
        (op(Alu::Rem, 1, 0), "division by zero"),
        (op(Alu::Mul, i64::MAX, 2), "mul of 9223372036854775807 and 2 overflows"),
        (op(Alu::IDiv, i64::MIN, -1), "idiv of -9223372036854775808 and -1 overflows"),
        (LaunchExpr::alu(Alu::Abs, &[i64::MIN.into()]), "abs of -9223372036854775808 overflows"),
        (int(DType::U64, u64::MAX), "u64(18446744073709551615) overflows"),
        (LaunchExpr::from(256).cast(DType::U8), "256 as uint8 overflows"),
        (LaunchExpr::alu(Alu::Add, &[int(DType::I8, 100), int(DType::I8, 100)]), "add of 100 and 100 overflows"),
    ] {
        assert_eq!(eval(&expr).unwrap_err().to_string(), message, "{expr}");
    }
}

#[test]
fn a9_dimensions_are_named_in_errors() {
    let sizes =
        LaunchSizes { global: [4.into(), LaunchExpr::var(n()), 1.into()], local: Some([1.into(), 1.into(), 0.into()]) };
    let dims = |vals: &[i64]| resolve_launch_dims(&sizes, &["m", "n"], vals).map_err(|e: LaunchError| e.to_string());
    assert_eq!(dims(&[1]).unwrap_err(), "global size 1: variable n has no value");
    assert_eq!(dims(&[1, 0]).unwrap_err(), "global size 1: a size must be positive, not 0");
    assert_eq!(dims(&[1, -5]).unwrap_err(), "global size 1: a size must be positive, not -5");
    assert_eq!(dims(&[1, 500]).unwrap_err(), "global size 1: variable n: 500 is outside [-100, 100]");
    assert_eq!(dims(&[1, 5]).unwrap_err(), "local size 2: a size must be positive, not 0");
}

#[test]
fn a9_an_absent_local_size_stays_absent() {
    let direct = launch_dims(&LaunchSizes::tasks(6.into()), &|_| None).unwrap();
    assert_eq!(direct, ConcreteLaunchDims { global: [6, 1, 1], local: None });
    let default = launch_dims(&LaunchSizes::default(), &|_| None).unwrap();
    assert_eq!(default, ConcreteLaunchDims { global: [1; 3], local: Some([1; 3]) });
    assert_eq!(direct.tasks(), 6);
}

#[test]
fn a9_sizes_become_launch_expressions_with_equal_values() {
    let n = Variable::new("n", 1, 50).unwrap();
    let s = Size::from(&n);
    let sizes = [
        Size::from(7),
        s.clone(),
        &s * &s * 3 - &s * 2 + 5,
        (&s + 15).floordiv(16),
        (&s * 7).modulo(5) + 1,
        s.min(9) + s.max(9) * 2,
        s.ceil_div(4) * s.round_up(8),
    ];
    for size in &sizes {
        let expr = LaunchExpr::from_size(size).unwrap();
        for value in 1..=50 {
            let bound = n.bind(value).unwrap();
            assert_eq!(expr.eval(&|_| Some(value)), Ok(size.eval_bound(&[bound]).unwrap()), "{size}");
        }
    }
}

#[test]
fn a9_a_floored_division_of_what_may_be_negative_is_refused() {
    let n = Size::from(n());
    for size in [n.floordiv(3), n.modulo(3), Size::from(7).floordiv(&n)] {
        let error = LaunchExpr::from_size(&size).unwrap_err();
        assert!(matches!(error, Kind::MayBeNegative(_)), "{size}: {error}");
    }
    let huge = Size::from(i64::MAX) * 2;
    assert!(matches!(LaunchExpr::from_size(&huge), Err(Kind::Overflow(_))));
}

#[test]
fn a9_deep_expressions_do_not_recurse() {
    let deep = (0..100_000).fold(LaunchExpr::from(1), |e, _| e.after());
    assert_eq!(eval(&deep), Ok(1));
}
