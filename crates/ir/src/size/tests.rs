#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::pass::{Pass, visited};

fn var(name: &str) -> Variable {
    match name {
        "n" => Variable::new("n", 1, 1000),
        "m" => Variable::new("m", 0, 64),
        _ => Variable::new("z", -20, 20),
    }
    .unwrap()
}

fn lookup(name: &str) -> Option<Variable> {
    matches!(name, "n" | "m" | "z").then(|| var(name))
}

fn size(text: &str) -> Size {
    Size::parse(text, &lookup).unwrap()
}

/// `text` simplifies to `expected`, which is printed in canonical form.
fn check(text: &str, expected: &str) {
    assert_eq!(size(text).to_string(), expected, "{text}");
    assert_eq!(size(expected), size(text), "{text}");
}

#[test]
fn simplifies() {
    check("n + n", "n*2");
    check("3 + n*4", "n*4 + 3");
    check("n - n", "0");
    check("(n + 1)*(n - 1)", "n*n - 1");
    check("n*4//4", "n");
    check("(n*4 + 3)%4", "3");
    check("(n*4 + 3)//4", "n");
    check("(n*4 + 7)//4", "n + 1");
    check("(n*6 + 3)//4", "n + (n + 1)//2");
    check("n*8//4*2", "n*4");
    check("n*4//8", "n//2");
    check("n*4%8", "(n%2)*4");
    check("n//2//3", "n//6");
    check("(n//2 + 1)//3", "(n + 2)//6");
    check("n%8%4", "n%4");
    check("n//4*4 + n%4", "n");
    check("n//12%5*12 + n%12", "n%60");
    check("n//12//5*60 + n//12%5*12 + n%12", "n");
    check("(n*130 + m)//260", "n//2");
    check("(n*130 + m)%260", "m + (n%2)*130");
    check("(n*130 + m*2 + 1)//260", "n//2");
    check("(n//4)*8 + (n%4)*2 + 1", "n*2 + 1");
    check("n - (n//4)*4", "n%4");
    check("n//2 + (n + 1)//2", "n");
    check("(n//3)*m*2 + (n + 1)//3*m*2 + (n + 2)//3*m*2 + 5", "m*n*2 + 5");
    check("n//3 + (n + 2)//3", "(n + 2)//3 + n//3");
    check("z - z//2 - (z + 1)//2", "0");
    check("n - (n + 1)//2", "n//2");
    check("n*m*2 - (n//3)*m*2 - (n + 2)//3*m*2", "m*((n + 1)//3)*2");
    check("n - (n + 2)//3", "n - (n + 2)//3");
    check("(n + 3)//4*4 - n", "-((n + 3)%4) + 3");
    check("m//65", "0");
    check("m%65", "m");
    check("n*m//n", "m");
    check("(n*m + n*3)//n", "m + 3");
    check("(n*m + 1)%n", "1%n");
    check("(n + 1)*4//(n + 1)", "4");
    check("m//(n + 64)", "0");
    check("n//n + n%n", "1");
    check("n//-2", "-((n + 1)//2)");
    check("min(n, n + 1)", "n");
    check("max(n, 0)", "n");
    check("min(m, n)", "min(m, n)");
    check("min(n, m) - min(m, n)", "0");
    check("-7//2", "-4");
    check("-7%2", "1");
    check("7//-2", "-4");
    check("7%-2", "-1");
    check("-n//2", "-((n + 1)//2)");
    check("-(n//2)", "-(n//2)");
    check("m + z - n//2", "m + z - n//2");
}

#[test]
fn compares() {
    let le = |a: &str, b: &str| size(a).le(&size(b));
    assert_eq!(le("n", "n + 1"), Some(true));
    assert_eq!(le("n + 1", "n"), Some(false));
    assert_eq!(le("n", "1000"), Some(true));
    assert_eq!(le("n", "999"), None);
    assert_eq!(le("n", "(n + 3)//4*4"), Some(true));
    assert_eq!(le("n//4*4", "n"), Some(true));
    assert_eq!(size("n").lt(&size("1001")), Some(true));
    assert_eq!(size("n").gt(&size("0")), Some(true));
    assert_eq!(size("n").ge(&size("1001")), Some(false));
    let eq = |a: &str, b: &str| size(a).eq(&size(b));
    assert_eq!(eq("n", "n"), Some(true));
    assert_eq!(eq("n", "n + 1"), Some(false));
    assert_eq!(eq("n*2", "m*4 + 1"), Some(false));
    assert_eq!(eq("n", "m"), None);
    assert_eq!(eq("n", "1"), None);
    assert_eq!(eq("n", "0"), Some(false));
    assert_eq!(size("n*4").divisible_by(4), Some(true));
    assert_eq!(size("n*4 + 2").divisible_by(4), Some(false));
    assert_eq!(size("n*4 + 2").divisible_by(-2), Some(true));
    assert_eq!(size("n").divisible_by(4), None);
    assert_eq!(size("n").divisible_by(0), None);
    let divisors = ["0", "-12", "n", "n*4 + 6", "n*m*9 - 6*n", "(n//2)*8"].map(|s| size(s).divisor());
    assert_eq!(divisors, [0, 12, 1, 2, 3, 8]);
}

#[test]
fn bounds_are_tight_where_easy() {
    assert_eq!(size("n*4 + 3").bounds(), (7, 4003));
    assert_eq!(size("n%8").bounds(), (0, 7));
    assert_eq!(size("(n + 7)//8*8").upper_bound(), Some(1000));
    assert_eq!(size("min(n, m)").bounds(), (0, 64));
    assert_eq!(size("z*z").bounds(), (-400, 400));
    let wide: Size = Variable::new("w", i64::MIN, i64::MAX).unwrap().into();
    assert_eq!(wide.upper_bound(), None);
    assert_eq!((&wide * &wide * &wide).bounds(), (i64::MIN, i64::MAX));
}

#[test]
fn faults_absorb_and_never_panic() {
    let n = size("n");
    let overflow = &n + Size::from(i64::MAX) + 1;
    assert_eq!(overflow.fault(), Some(Fault::Overflow));
    assert_eq!((&overflow * Size::ZERO).fault(), Some(Fault::Overflow));
    assert_eq!(overflow.le(&n), None);
    assert_eq!(Size::eq(&overflow, &overflow), None);
    assert_eq!(overflow.eval(&|_| Some(1)), Err(Fault::Overflow.into()));
    assert_eq!(n.floordiv(0).fault(), Some(Fault::DivisionByZero));
    assert_eq!(n.modulo(overflow.clone()).fault(), Some(Fault::Overflow));
    assert_eq!(Size::from(i64::MIN).floordiv(-1).fault(), Some(Fault::Overflow));
    assert_eq!(Size::from(i64::MIN).modulo(-1), Size::ZERO);
    assert_eq!(n.floordiv(i64::MIN).fault(), Some(Fault::Overflow));
    assert_eq!((-Size::from(i64::MIN)).fault(), Some(Fault::Overflow));
    assert_eq!(Size::from(usize::MAX).fault(), Some(Fault::Overflow));
    assert_eq!(size("n//m").eval(&|v| Some(v.min())), Err(Fault::DivisionByZero.into()));
    let deep = (0..1000).fold(n.clone(), |s, _| s.min(size("m")).max(size("z")) * 3 - 1);
    assert_eq!(deep.fault(), Some(Fault::TooComplex));
    let tangled = (0..1000).fold(n.clone(), |s, i| s.modulo(90 - i % 7) * 3 + s.floordiv(7) + i % 5);
    assert_eq!(tangled.fault(), Some(Fault::TooComplex));
    let wide = (0..1000).fold(n, |s, _| &s * &s + &s);
    assert!(wide.fault().is_some());
}

#[test]
fn what_slices_make_is_compared_through_minima_maxima_and_quotients() {
    let yes = |a: &str, b: &str| assert!(size(a).surely_le(&size(b)), "{a} <= {b}");
    let no = |a: &str, b: &str| assert!(!size(a).surely_le(&size(b)), "{a} <= {b}");
    yes("max(min(n, max(0, n - 5)), min(n, max(0, n - 2)))", "n");
    yes("min(n, max(0, n - 5))", "min(n, max(0, n - 2))");
    yes("min(2, m)", "max(min(2, m), min(5, m))");
    yes("m//3*3", "m");
    yes("m", "(m + 2)//3*3");
    yes("m//3 + m//4", "m");
    no("min(n, 5)", "4");
    no("m", "(m + 1)//3*3");
    no("max(m, 3)", "m");
}

#[test]
fn variables_bind_within_their_bounds() {
    let n = var("n");
    assert_eq!(n.bind(7).unwrap().value(), 7);
    assert_eq!(n.bind(1001).unwrap_err().to_string(), "variable n: 1001 is outside [1, 1000]");
    assert!(matches!(Variable::new("a", 2, 1), Err(SizeError::EmptyRange { .. })));
    for bad in ["", "1a", "a b", "min", "a-b"] {
        assert!(matches!(Variable::new(bad, 0, 1), Err(SizeError::BadName(_))), "{bad}");
    }
    for taken in ["core_id", "a0", "e12", "p3", "if", "else"] {
        assert!(matches!(Variable::new(taken, 0, 1), Err(SizeError::Reserved(_))), "{taken}");
    }
    for own in ["core_id", "a0", "loop.0"] {
        assert_eq!(Variable::internal(own, 0, 1).unwrap().name(), own);
    }
    let (s, three) = (size("n*2 + m"), n.bind(3).unwrap());
    assert_eq!(s.variables(), [var("m"), var("n")]);
    assert_eq!(s.eval_bound(&[three.clone(), var("m").bind(1).unwrap()]), Ok(7));
    assert_eq!(s.eval_bound(std::slice::from_ref(&three)), Err(SizeError::Unbound("m".into())));
    assert!(matches!(s.eval(&|_| Some(65)), Err(SizeError::OutOfRange { .. })));
    let half = |v: &Variable| (v.name() == "n").then(|| size("m//2"));
    assert_eq!(size("n*4 + n%2").substitute(&half), size("m//2*4 + m//2%2"));
}

#[test]
fn operators_take_values_references_and_numbers() {
    let (n, v) = (size("n"), var("m"));
    assert_eq!((&n + &n, n.clone() * 2, n.clone() - &v), (size("n*2"), size("2*n"), size("n - m")));
    assert_eq!([3usize, 4].iter().map(|&d| Size::from(d)).product::<Size>(), Size::from(12));
    assert_eq!(size("n").ceil_div(4), size("(n + 3)//4"));
    assert_eq!(Size::from(10).round_up(4).as_usize(), Some(12));
    assert_eq!(Size::from(-10).ceil_div(-4).as_const(), Some(3));
    assert_eq!(size("n*m + 3").terms().unwrap().len(), 2);
}

#[test]
fn bad_text_is_an_error() {
    for bad in ["", "n +", "q", "n n", "(n", "min(n)", "99999999999999999999", "n/2", "n//0"] {
        assert!(Size::parse(bad, &lookup).is_err(), "{bad}");
    }
    assert!(Size::parse(&"(".repeat(100_000), &lookup).is_err());
    assert!(Size::parse(&"-".repeat(100_000), &lookup).is_err());
}

/// An expression as a tree, whose value is computed without `Size`.
#[derive(Clone, Debug)]
enum Tree {
    Number(i64),
    Var(&'static str),
    Op(char, Box<(Tree, Tree)>),
}

impl Tree {
    fn size(&self) -> Size {
        match self {
            Tree::Number(v) => (*v).into(),
            Tree::Var(name) => var(name).into(),
            Tree::Op(op, operands) => {
                let (a, b) = (operands.0.size(), operands.1.size());
                match op {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    '/' => a.floordiv(b),
                    '%' => a.modulo(b),
                    '<' => a.min(b),
                    _ => a.max(b),
                }
            }
        }
    }

    /// The value; `None` where an operation divides by zero or leaves 64 bits.
    fn value(&self, at: &dyn Fn(&str) -> i64) -> Option<i64> {
        let (op, a, b) = match self {
            Tree::Number(v) => return Some(*v),
            Tree::Var(name) => return Some(at(name)),
            Tree::Op(op, operands) => (op, operands.0.value(at)?, operands.1.value(at)?),
        };
        let floor = || Some(a.checked_div(b)? - i64::from(a % b != 0 && (a < 0) != (b < 0)));
        match op {
            '+' => a.checked_add(b),
            '-' => a.checked_sub(b),
            '*' => a.checked_mul(b),
            '/' => floor(),
            '%' => floor().map(|q| a - b * q),
            '<' => Some(a.min(b)),
            _ => Some(a.max(b)),
        }
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let number = prop_oneof![-9i64..10, prop::sample::select(vec![12i64, 16, 64, 1000, -32])];
    let leaf =
        prop_oneof![number.prop_map(Tree::Number), prop::sample::select(vec!["n", "m", "z"]).prop_map(Tree::Var),];
    leaf.prop_recursive(5, 24, 2, |inner| {
        let op = prop::sample::select(vec!['+', '-', '*', '/', '/', '%', '%', '<', '>']);
        (op, inner.clone(), inner).prop_map(|(op, a, b)| Tree::Op(op, Box::new((a, b))))
    })
}

fn binding() -> impl Strategy<Value = [i64; 3]> {
    (1i64..=1000, 0i64..=64, -20i64..=20).prop_map(|(n, m, z)| [n, m, z])
}

fn at([n, m, z]: [i64; 3]) -> impl Fn(&str) -> i64 {
    move |name| match name {
        "n" => n,
        "m" => m,
        _ => z,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024.max(ProptestConfig::default().cases), ..Default::default() })]

    #[test]
    fn the_canonical_form_keeps_the_value(t in tree(), b in binding()) {
        let (s, at) = (t.size(), at(b));
        if let (Some(expected), None) = (t.value(&at), s.fault()) {
            match s.eval(&|v| Some(at(v.name()))) {
                Ok(value) => prop_assert_eq!(value, expected, "{}", s),
                Err(e) => prop_assert_eq!(e, SizeError::Fault(Fault::Overflow), "{}", s),
            }
            let (low, high) = s.bounds();
            prop_assert!(low <= expected && expected <= high, "{} in {:?}", s, s.bounds());
        }
    }

    #[test]
    fn comparisons_never_lie(t in tree(), u in tree(), b in binding()) {
        let (x, y, at) = (t.size(), u.size(), at(b));
        if let (Some(v), Some(w)) = (t.value(&at), u.value(&at)) {
            prop_assert!(x.le(&y).is_none_or(|yes| yes == (v <= w)), "{} <= {}", x, y);
            prop_assert!(x.lt(&y).is_none_or(|yes| yes == (v < w)), "{} < {}", x, y);
            prop_assert!(x.eq(&y).is_none_or(|yes| yes == (v == w)), "{} == {}", x, y);
            let divides = w != 0 && v % w == 0;
            prop_assert!(x.divisible_by(w).is_none_or(|yes| yes == divides), "{} | {}", w, x);
            prop_assert!(if x.divisor() == 0 { v == 0 } else { v % x.divisor() == 0 }, "{} | {}", x.divisor(), x);
            if x == y && x.fault().is_none() {
                prop_assert_eq!(v, w);
            }
        }
    }

    #[test]
    fn quotient_and_remainder_join(t in tree(), c in prop_oneof![1i64..20, -5i64..0]) {
        let a = t.size();
        let joined = a.floordiv(c) * c + a.modulo(c);
        let polynomial = a.terms().is_some_and(|terms| {
            terms.iter().flat_map(Term::factors).all(|f| matches!(f, Atom::Var(_)))
        });
        if polynomial && joined.fault().is_none() {
            prop_assert_eq!(joined, a);
        }
    }

    #[test]
    fn text_reads_back(t in tree()) {
        let s = t.size();
        if s.fault().is_none() {
            prop_assert_eq!(Size::parse(&s.to_string(), &lookup), Ok(s));
        }
    }

    #[test]
    fn substitution_is_evaluation(t in tree(), b in binding()) {
        let (s, at) = (t.size(), at(b));
        let replaced = s.substitute(&|v| Some(at(v.name()).into()));
        if let Ok(value) = s.eval(&|v| Some(at(v.name()))) {
            prop_assert!(replaced.as_const() == Some(value) || replaced.fault() == Some(Fault::Overflow));
        }
    }
}

#[test]
fn shares_of_a_whole_are_within_it() {
    for parts in 2..9i64 {
        let share = |i: i64| (size("m") + (parts - 1 - i)).floordiv(parts);
        let mut start = Size::ZERO;
        for i in 0..parts {
            assert!(share(i).bounds().0 >= 0 && start.surely_le(&size("m")), "{start} of m");
            start = start + share(i);
        }
        assert_eq!(start, size("m"));
    }
    assert!(!(size("z//2") + 1).surely_le(&size("z")));
}

#[test]
fn shares_of_what_is_a_share_make_it_whole() {
    let wholes = ["n//2", "(n + 1)//2", "(n + 2)//3", "min(n, m)", "n*2", "max(n - 3, 0)//2"];
    for whole in wholes.map(size) {
        for parts in 2..7i64 {
            let share = |i: i64| (&whole + (parts - 1 - i)).floordiv(parts);
            assert_eq!((0..parts).map(share).sum::<Size>(), whole, "{parts} parts of {whole}");
        }
    }
    check("n*2 - (n + 1)//2", "n + n//2");
    assert_eq!(size("(n + 1)//2").until(&size("n*2")), size("n + n//2"));
}

#[test]
fn quotients_of_quotients_take_time_near_their_weight() {
    let growths = [(1, 15, 16), (-1, 7, 6), (3, 0, 60), (2, -5, 64)];
    for (factor, add, by) in growths {
        let mut whole = size("n");
        for _ in 0..40 {
            let before = visited();
            Pass::Algebra.time(|| whole = (&whole * (size("n") * factor + add) - &whole).floordiv(by));
            let seen = visited()[Pass::Algebra as usize] - before[Pass::Algebra as usize];
            assert!(seen < 1 << 18, "{seen} terms for {factor}, {add}, {by}");
        }
        assert_eq!(whole.fault(), Some(Fault::TooComplex));
    }
    let text = format!("{}1", "(n + 15)//16*".repeat(300));
    assert_eq!(Size::parse(&text, &lookup), Err(Fault::TooComplex.into()));
}

#[test]
fn what_makes_a_size_a_multiple_is_one() {
    for c in 2..9i64 {
        let m = size("m");
        let padding = (Size::from(c) - m.modulo(c)).modulo(c);
        let padded = &m + &padding;
        assert!(padding.bounds().0 >= 0 && padded.divisible_by(c) == Some(true), "{padded}");
        assert_eq!(padded.floordiv(c) * c, padded);
        assert_eq!(padded, m.round_up(c));
        assert_eq!((-&m).modulo(c) + &m, padded);
        // What is left of it when it is cut off.
        assert_eq!((&m - m.modulo(c)).floordiv(c), m.floordiv(c));
    }
    check("(m + (4 - m%4)%4)//4", "(m + 3)//4");
    check("n - n%4", "(n//4)*4");
}

#[test]
fn products_of_extents_are_extents() {
    let var = |name: &str, min: i64, max: i64| Size::from(Variable::new(name, min, max).unwrap());
    let (n, m) = (var("n", 2, 13), var("m", 3, 4));
    let part = Size::from(15) - &n;
    let side = Size::from(19) - &m * 4;
    for (factors, is_extent) in [
        (vec![part.clone(), n.clone(), Size::from(7)], true),
        (vec![side.clone(), side.clone(), m.clone(), n.clone()], true),
        (vec![&part + &m, &n - &m + 2, side.clone()], true),
        (vec![n.floordiv(3), n.modulo(2), part.clone()], true),
        (vec![&n - 3, part.clone()], false),
        (vec![Size::from(-1), n.clone(), n.clone()], false),
    ] {
        let product: Size = factors.iter().cloned().product();
        assert_eq!(product.is_extent(), is_extent, "{product}");
    }
    // What cannot be shown: squares of differences are factored nowhere.
    assert!(!((&n - &m) * (&n - &m)).is_extent());
    assert!(!(Size::from(i64::MAX) + &n + 1).is_extent() && Size::ZERO.is_extent());
}

#[test]
fn sums_that_are_shown_never_negative_are() {
    let mut seed = 7u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % below
    };
    let mut shown = 0;
    for _ in 0..3000 {
        let ranges: Vec<(i64, i64)> = (0..2).map(|_| (random(9) as i64 - 4, random(5) as i64)).collect();
        let vars: Vec<Variable> = ["x", "y"]
            .iter()
            .zip(&ranges)
            .map(|(name, (low, width))| Variable::new(name, *low, low + width).unwrap())
            .collect();
        let mut sum = Size::from(random(12) as i64 - 2);
        for _ in 0..1 + random(4) {
            let factors = (0..1 + random(3)).map(|_| Size::from(&vars[random(2) as usize]));
            sum = sum + factors.product::<Size>() * (random(9) as i64 - 4);
        }
        let mut least = i64::MAX;
        for x in Variable::min(&vars[0])..=Variable::max(&vars[0]) {
            for y in Variable::min(&vars[1])..=Variable::max(&vars[1]) {
                let value = sum.eval(&|v: &Variable| Some(if v.name() == "x" { x } else { y })).unwrap();
                least = least.min(value);
            }
        }
        shown += u32::from(sum.is_extent());
        assert!(least >= 0 || !sum.is_extent(), "{sum} over {ranges:?} is {least}");
    }
    assert!(shown > 500, "{shown}");
}

#[test]
fn counters_hold_each_point() {
    for points in [Size::ZERO, Size::ONE, Size::from(7), size("n"), size("n") * i64::MAX] {
        let counter = Variable::counter("i", &points).unwrap();
        assert_eq!((Variable::min(&counter), Variable::max(&counter)), (0, points.bounds().1.saturating_sub(1).max(0)));
    }
}
