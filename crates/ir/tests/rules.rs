//! Every rewrite rule gives the value of what it replaces, and rewriting takes linear work.
#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;
use support::{leaf, numbers, same, shape, value};
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::buffer::HostBuffer;
use svod_ir::graph::verify::{Phase, verify};
use svod_ir::graph::{Graph, UOp, walk};
use svod_ir::kernel::Monoid;
use svod_ir::rewrite::*;
use svod_ir::size::Size;

/// A small generator (Marsaglia's xorshift), so that a failure repeats.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        ((self.next() >> 16) % n as u64) as usize
    }

    /// Special values as often as ordinary ones.
    fn constant(&mut self, dtype: DType, exact: bool) -> Const {
        let small = self.below(17) as f64 - 8.0;
        if exact {
            return Const::f64(dtype, small);
        }
        match self.below(8) {
            0 => Const::from_bits(dtype, self.next()),
            1 => Const::min_value(dtype),
            2 => Const::max_value(dtype),
            3 => Const::f64(dtype, f64::NAN),
            4 => Const::f64(dtype, -0.0),
            5 => Const::zero(dtype),
            6 => Const::one(dtype),
            _ => Const::f64(dtype, small),
        }
    }
}

const COUNT: i64 = 24;

fn elements(dice: &mut Dice, dtype: DType, exact: bool) -> UOp {
    let mut data = HostBuffer::zeros(dtype, COUNT as usize);
    (0..COUNT as usize).for_each(|i| data.set(i, dice.constant(dtype, exact)));
    leaf(data, &[COUNT])
}

/// Letters of every type that the equation takes, by trial: each is of type `dtype` or a bool.
fn instances(equation: &Equation, dtype: DType, exact: bool, dice: &mut Dice) -> Vec<(UOp, UOp)> {
    let shape = shape(&[COUNT]);
    let mut found = Vec::new();
    for bools in 0..16 {
        let mut bindings = Bindings::default();
        for slot in 0..7 {
            let dtype = if bools >> slot & 1 == 1 { DType::Bool } else { dtype };
            let node = match slot {
                0..4 => elements(dice, dtype, exact),
                _ => UOp::full(dice.constant(dtype, exact), &shape).unwrap(),
            };
            bindings.set(slot, node);
        }
        let Ok(Some(lhs)) = equation.lhs.build(&bindings, &shape, dtype) else { continue };
        if lhs.sources().last().unwrap().dtype() == dtype {
            let rhs = equation.rhs.build(&bindings, &shape, lhs.dtype());
            found.push((lhs, rhs.unwrap().unwrap_or_else(|| panic!("{} has no right side", equation.name))));
        }
    }
    found
}

fn check_family(family: Family, types: &[DType], exact: bool) {
    let mut names = BTreeSet::new();
    assert_eq!(family.lines().count(), family.read().count(), "{}: a line is no equation", family.name);
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for equation in family.read() {
        assert!(names.insert(equation.name), "{} is there twice", equation.name);
        let mut tested = 0;
        for &dtype in types.iter().filter(|t| (family.holds_for)(**t)) {
            for (lhs, rhs) in (0..6).flat_map(|_| instances(&equation, dtype, exact, &mut dice)) {
                let (a, b) = (value(&lhs, &[]), value(&rhs, &[]));
                assert!(same(&a, &b), "{} on {dtype}: {:?} became {:?}", equation.name, a.data, b.data);
                let applied = equation.apply(&lhs).unwrap().unwrap();
                assert!(same(&value(&applied, &[]), &a), "{} on {dtype}, applied", equation.name);
                tested += 1;
            }
        }
        assert!(tested > 0, "{}: no instance", equation.name);
    }
}

fn element_types() -> Vec<DType> {
    DType::ALL.iter().copied().filter(|t| t.is_real()).collect()
}

#[test]
fn equations_hold() {
    for family in [ANY, SIGNED, BITS, INTEGERS] {
        check_family(family, &element_types(), false);
    }
    // Numbers small enough for sums and products to be exact in any order.
    check_family(FLOATS_REASSOCIATED, &[DType::F32, DType::F64], true);
}

/// How many floats of their type lie between two, NaN with any NaN being none.
fn distance(dtype: DType, a: Const, b: Const) -> u64 {
    if a.as_f64().is_nan() || b.as_f64().is_nan() {
        return if a.as_f64().is_nan() == b.as_f64().is_nan() { 0 } else { u64::MAX };
    }
    // Floats of one sign are ordered as their bits are; the zeros are two.
    let sign = 1u64 << (dtype.bits() - 1);
    let (a, b) = (a.bits(), b.bits());
    if (a ^ b) & sign == 0 { a.abs_diff(b) } else { u64::MAX }
}

/// The powers of constant exponents, as they are rewritten, are those that the reference gives within three steps
/// of their type, over all magnitudes and signs.
#[test]
fn powers_hold_up_to_rounding() {
    assert_eq!(POWERS.lines().count(), POWERS.read().count());
    let mut dice = Dice(77);
    for dtype in element_types().into_iter().filter(|t| t.is_float()) {
        for exponent in [3.0, 4.0, -1.0, -2.0, 0.5, -0.5, 1.5] {
            let mut data = HostBuffer::zeros(dtype, 500);
            let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 2.0, -8.0];
            for i in 0..500 {
                let any = Const::from_bits(dtype, dice.next());
                data.set(i, special.get(i).map_or(any, |v| Const::f64(dtype, *v)));
            }
            let c = UOp::full(Const::f64(dtype, exponent), &shape(&[500])).unwrap();
            let node = UOp::alu(Alu::Pow, &[leaf(data, &[500]), c]).unwrap();
            let simple = simplify(&node);
            let text = Graph::new(std::slice::from_ref(&simple)).to_string();
            assert!(!text.contains("pow"), "{dtype} {exponent}");
            let (a, b) = (value(&node, &[]), value(&simple, &[]));
            for i in 0..500 {
                let (a, b) = (a.data.get(i), b.data.get(i));
                assert!(distance(dtype, a, b) <= 3, "{dtype} ** {exponent}: {a:?} became {b:?}");
            }
        }
    }
}

#[test]
fn constants_fold() {
    let mut dice = Dice(7);
    for &op in Alu::ALL {
        for dtype in element_types() {
            let sources: Vec<UOp> = (0..op.arity())
                .map(|i| {
                    let dtype = if op == Alu::Where && i == 0 { DType::Bool } else { dtype };
                    UOp::full(dice.constant(dtype, false), &shape(&[2, 3])).unwrap()
                })
                .collect();
            let Ok(node) = UOp::alu(op, &sources) else { continue };
            let folded = simplify(&node);
            assert!(folded.uniform().is_some(), "{node:?}");
            assert!(same(&value(&node, &[]), &value(&folded, &[])), "{node:?}");
        }
    }
}

fn simplify(node: &UOp) -> UOp {
    let roots = rewrite(std::slice::from_ref(node), &SIMPLIFY).unwrap().roots;
    verify(&Graph::new(&roots), Phase::Simplified).unwrap();
    let again = rewrite(&roots, &SIMPLIFY).unwrap();
    assert_eq!((&again.roots, again.applied.len()), (&roots, 0), "nothing is left to do");
    roots.into_iter().next().unwrap()
}

fn random_step(x: &UOp, dice: &mut Dice) -> UOp {
    let extents: Vec<i64> = x.shape().iter().map(|s| s.as_const().unwrap()).collect();
    let rank = extents.len();
    let axis = dice.below(rank.max(1));
    let pairs = |f: &mut dyn FnMut(i64) -> (i64, i64)| -> Vec<(Size, Size)> {
        extents.iter().map(|&n| f(n)).map(|(a, b)| (a.into(), b.into())).collect()
    };
    let built = match dice.below(14) {
        0 if rank > 0 => {
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.rotate_left(axis);
            axes.swap(0, rank - 1);
            x.permute(&axes)
        }
        1 => {
            let total = extents.iter().product::<i64>();
            let by = [3, 2, 1].into_iter().find(|b| total % b == 0).unwrap();
            x.reshape(shape(&[by, total / by, 1][..2 + dice.below(2)]))
        }
        2 if rank < 4 => {
            let mut to = extents.clone();
            to.iter_mut().filter(|n| **n == 1).for_each(|n| *n = 2);
            to.insert(0, 1 + dice.below(2) as i64);
            x.expand(shape(&to))
        }
        3 | 4 if rank > 0 => x.flip(&[axis]),
        5 | 6 => {
            let fill = Const::f64(x.dtype(), [0.0, -1.0][dice.below(2)]);
            x.pad(pairs(&mut |n| if n < 6 { (dice.below(2) as i64, dice.below(2) as i64) } else { (0, 0) }), fill)
        }
        7 | 8 => x.shrink(pairs(&mut |n| if n > 1 { (dice.below(2) as i64, n) } else { (0, n) })),
        9 if rank > 1 => {
            let by = [Monoid::Max, Monoid::Sum, Monoid::Min][dice.below(3)];
            x.reduce(by, &[axis])
        }
        10 => x.cast([DType::F64, DType::I32, DType::F32, DType::I8, DType::U64][dice.below(5)]),
        11 => x.detach().and_then(|x| x.contiguous()),
        13 if rank > 0 && rank < 4 && extents[axis] > 2 => x.window(axis, 1 + dice.below(2), 1 + dice.below(2), 2),
        12 => UOp::alu(Alu::Max, &[x.clone(), x.clone()]),
        _ => return x.clone(),
    };
    built.unwrap()
}

#[test]
fn random_graphs_keep_their_value() {
    for seed in 1..10_000u64 {
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let mut x = if seed % 5 == 0 {
            UOp::full(dice.constant(DType::F32, true), &shape(&[2, 3])).unwrap()
        } else {
            numbers(&[2, 3])
        };
        for _ in 0..10 {
            x = random_step(&x, &mut dice);
            let count = x.numel().as_const().unwrap();
            if count > 200 {
                break;
            }
        }
        let simple = simplify(&x);
        assert!(same(&value(&x, &[]), &value(&simple, &[])), "seed {seed}\n{}", Graph::new(&[x.clone(), simple]));
    }
}

#[test]
fn rules_that_fight_are_named() {
    let fighting = Family {
        name: "fighting",
        holds_for: |_| true,
        equations: "
            out: x - y   => -(y - x)
            in:  -(x - y) => y - x
        ",
        function: None,
    };
    let (x, y) = (numbers(&[2]), numbers(&[2]));
    let node = UOp::alu(Alu::Sub, &[x, y]).unwrap();
    let error = rewrite(&[node], &RuleSet::new(&[fighting])).unwrap_err().to_string();
    assert!(error.contains("these rules fight: ") && error.contains("out"), "{error}");
}

/// Visits at most 2.2 nodes for each of the graph; gives the number of nodes before and after.
fn sizes(root: &UOp) -> (usize, usize) {
    let before = walk::count(std::slice::from_ref(root));
    let rewritten = rewrite(std::slice::from_ref(root), &SIMPLIFY).unwrap();
    assert!(rewritten.visited * 10 <= before * 22, "{} visits of {before} nodes", rewritten.visited);
    (before, walk::count(&rewritten.roots))
}

#[test]
fn work_is_linear_in_the_graph() {
    let x = numbers(&[2, 3]);
    let step = |op: Alu, a: &UOp, b: &UOp| UOp::alu(op, &[a.clone(), b.clone()]).unwrap();
    let repeat = |n: usize, f: &dyn Fn(UOp, usize) -> UOp| (0..n).fold(x.clone(), f);

    let ops = [Alu::Add, Alu::Mul, Alu::Max, Alu::Sub];
    assert_eq!(sizes(&repeat(10_000, &|y, i| step(ops[i % 4], &y, &x))), (10_001, 10_001));
    assert_eq!(sizes(&repeat(30, &|y, _| step(Alu::Add, &y, &y.flip(&[0, 1]).unwrap()))), (61, 61));
    assert_eq!(sizes(&repeat(30, &|y, _| step(Alu::Add, &y, &y))), (31, 31));
    // What shrinks does so once: 10,000 times + 1 - 1 on integers.
    let n = x.cast(DType::I32).unwrap();
    let c = |v| UOp::full(Const::i64(DType::I32, v), n.shape_arc()).unwrap();
    let sums = (0..10_000).fold(n.clone(), |y, i| step(Alu::Add, &y, &c(if i % 2 == 0 { 1 } else { -1 })));
    let rewritten = rewrite(&[sums], &SIMPLIFY).unwrap();
    assert_eq!(rewritten.roots, [n]);
    assert!(rewritten.visited < 50_000, "{}", rewritten.visited);

    let deep = numbers(&[2; 10]);
    let mut dice = Dice(11);
    let permuted = (0..1000).fold(deep.clone(), |y, _| {
        let mut axes: Vec<usize> = (0..10).collect();
        (1..10).rev().for_each(|i| axes.swap(i, dice.below(i + 1)));
        y.permute(&axes).unwrap()
    });
    let (before, after) = sizes(&permuted);
    assert!(before > 900 && after == 2, "{before} {after}");
}

/// Rules that take factors of zeros for finite keep the value of finite data; gives the elements of the
/// largest node that is computed: in no leaf, and no repetition.
fn selected(node: &UOp) -> i64 {
    let roots = rewrite(std::slice::from_ref(node), &SIMPLIFY_FINITE).unwrap().roots;
    verify(&Graph::new(&roots), Phase::Simplified).unwrap();
    assert!(same(&value(node, &[]), &value(&roots[0], &[])), "{}", Graph::new(&[node.clone(), roots[0].clone()]));
    let graph = Graph::new(&roots);
    let computed = graph.nodes().iter().filter(|n| n.op().is_elementwise());
    computed.map(|n| n.numel().as_const().unwrap()).max().unwrap_or(0)
}

/// A value in dimensions of `shape`: those of `dims`, repeated along the others.
fn spread(x: &UOp, dims: &[usize], to: &[i64]) -> UOp {
    let mut extents = vec![1; to.len()];
    dims.iter().zip(x.shape()).for_each(|(d, n)| extents[*d] = n.as_const().unwrap());
    x.reshape(shape(&extents)).unwrap().expand(shape(to)).unwrap()
}

#[test]
fn parts_of_what_was_joined_are_read_from_what_it_was_joined_from() {
    let part = |x: &UOp, axis: usize, begin: i64, end: i64| {
        let mut to: Vec<(Size, Size)> = x.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
        to[axis] = (Size::from(begin), Size::from(end));
        x.shrink(to).unwrap()
    };
    let join = |parts: &[UOp], axis| UOp::concat(parts, axis).unwrap();
    let (x, y) = (numbers(&[6, 10]), UOp::alu(Alu::Neg, &[numbers(&[6, 4])]).unwrap());
    let both = join(&[x.clone(), y.clone()], 1);
    for (of, is) in [
        // Cut out of one, of the other, and all of both.
        (part(&both, 1, 2, 7), part(&x, 1, 2, 7)),
        (part(&part(&both, 1, 11, 14), 0, 1, 3), part(&part(&y, 1, 1, 4), 0, 1, 3)),
        (join(&[part(&both, 1, 0, 3), part(&both, 1, 3, 14)], 1), both.clone()),
        // The other way round.
        (join(&[part(&both, 1, 10, 14), part(&both, 1, 0, 10)], 1), join(&[y.clone(), x.clone()], 1)),
        (join(&[part(&x, 0, 0, 2), part(&x, 0, 2, 6)], 0), x.clone()),
    ] {
        let simple = simplify(&of);
        assert_eq!(simple, simplify(&is));
        assert!(same(&value(&simple, &[]), &value(&of, &[])));
    }
    // A roll of a roll is a roll, and a long chain of them takes linear work.
    let roll = |x: &UOp, axis: usize, by: i64| {
        let n = x.shape()[axis].as_const().unwrap();
        join(&[part(x, axis, n - by, n), part(x, axis, 0, n - by)], axis)
    };
    let rolls = |n: usize| (0..n).fold(x.clone(), |x, _| roll(&x, 1, 3));
    assert!(same(&value(&simplify(&rolls(7)), &[]), &value(&rolls(7), &[])));
    assert_eq!(simplify(&rolls(7)), simplify(&roll(&x, 1, 1)));
    let work = |n: usize| rewrite(&[rolls(n)], &SIMPLIFY).unwrap().visited;
    assert!(work(400) < 3 * work(200));
    // What is joined along another axis stays.
    let crossed = join(&[part(&both, 0, 3, 6), part(&both, 0, 0, 3)], 0);
    assert!(same(&value(&simplify(&crossed), &[]), &value(&crossed, &[])));
}

#[test]
fn what_is_joined_step_by_step_is_joined_at_once() {
    let full = |extents: &[i64]| UOp::full(Const::bool(true), &shape(extents)).unwrap();
    let set = |x: &UOp, begin: i64, part: &UOp| {
        let (n, count) = (x.shape()[0].as_const().unwrap(), part.shape()[0].as_const().unwrap());
        let by = vec![(Size::from(begin), Size::from(n - begin - count)), (Size::ZERO, Size::ZERO)];
        let mask = full(&[count, 2]).pad(by.clone(), Const::bool(false)).unwrap();
        UOp::alu(Alu::Where, &[mask, part.pad(by, Const::zero(DType::F32)).unwrap(), x.clone()]).unwrap()
    };
    let part = |count: i64, k: i64| {
        UOp::alu(
            Alu::Add,
            &[numbers(&[count, 2]), UOp::full(Const::f64(DType::F32, k as f64 / 4.0), &shape(&[count, 2])).unwrap()],
        )
        .unwrap()
    };
    let at_once = |x: &UOp| {
        let graph = Graph::new(std::slice::from_ref(x));
        let (roots, _) = join_at_once(&graph).unwrap()?;
        assert!(same(&value(&roots[0], &[]), &value(x, &[])));
        Some((walk::count(&roots), graph.len()))
    };
    let mut dice = Dice(7);
    for steps in [5, 12, 60] {
        // Of unequal lengths, and over each other; later ones stay.
        let sets = (0..steps).fold(part(40, 0), |x, k| {
            let count = 1 + dice.below(7) as i64;
            set(&x, dice.below(41 - count as usize) as i64, &part(count, k))
        });
        // On both sides, and some set in between.
        let cats = (0..steps).fold(part(3, 0), |x, k| match dice.below(3) {
            0 => UOp::concat(&[part(1 + dice.below(4) as i64, k), x], 0).unwrap(),
            1 => UOp::concat(&[x, part(1 + dice.below(4) as i64, k), part(1, k)], 0).unwrap(),
            _ => set(&x, dice.below(2) as i64, &part(2, k)),
        });
        assert_eq!(at_once(&sets).is_some(), steps > 8);
        assert!(at_once(&cats).is_some() || steps < 12);
    }
    // One concatenation stays, and so does what something else reads.
    assert!(at_once(&UOp::concat(&(0..20).map(|k| part(2, k)).collect::<Vec<_>>(), 0).unwrap()).is_none());
    let read = (0..20).fold(part(40, 0), |x, k| {
        let first = x.shrink(vec![(Size::ZERO, Size::ONE), (Size::ZERO, Size::from(2))]).unwrap();
        set(&x, k, &first)
    });
    assert!(at_once(&read).is_none());
    // As many nodes as steps, whichever the order.
    let spread = |n: i64| (0..n).fold(part(2 * n, 0), |x, k| set(&x, (5 * k) % n * 2, &part(1, k)));
    let ((small, before), (large, _)) = (at_once(&spread(64)).unwrap(), at_once(&spread(128)).unwrap());
    assert!(large < small * 22 / 10 && small < 2 * before, "{before} nodes were {small}, {large} of twice as many");
}

#[test]
fn folds_with_one_term_are_lookups() {
    let alu = |op, operands: &[&UOp]| UOp::alu(op, &operands.iter().map(|x| (*x).clone()).collect::<Vec<_>>()).unwrap();
    let ids = |count: i64| {
        let values = [3, 0, 19, -1, 20, 7, 7, 500];
        leaf(HostBuffer::from_i64(DType::I32, (0..count).map(|i| values[i as usize % values.len()])), &[count])
    };
    // 8 indices, 20 classes, rows of 3.
    let whole = [8, 20, 3];
    let index = spread(&ids(8), &[0], &whole).cast(DType::I64).unwrap();
    let class = spread(&UOp::range(20).unwrap(), &[1], &whole);
    let hot = alu(Alu::Eq, &[&index, &class]);
    let table = spread(&numbers(&[20, 3]), &[1, 2], &whole);
    let by_index = spread(&numbers(&[8, 3]), &[0, 2], &whole);
    let zero = UOp::full(Const::zero(DType::F32), &shape(&whole)).unwrap();
    let least = UOp::full(Const::min_value(DType::F32), &shape(&whole)).unwrap();
    let number = hot.cast(DType::F32).unwrap();
    let cold = alu(Alu::Ne, &[&class, &index]);
    let picked = alu(Alu::Where, &[&hot, &table, &zero]);

    // Rows of a table, in several spellings, and with what depends on the index besides.
    for element in [
        alu(Alu::Mul, &[&number, &table]),
        alu(Alu::Mul, &[&table, &alu(Alu::Neg, &[&number])]),
        picked.clone(),
        alu(Alu::Where, &[&cold, &zero, &table]),
        alu(Alu::Mul, &[&alu(Alu::Mul, &[&number, &by_index]), &table]),
        alu(Alu::Mul, &[&number, &alu(Alu::Exp, &[&alu(Alu::Sub, &[&by_index, &table])])]),
        hot.cast(DType::I64).unwrap(),
    ] {
        assert!(selected(&element.reduce(Monoid::Sum, &[1]).unwrap()) <= 24);
        assert!(selected(&element.reduce(Monoid::Sum, &[1, 2]).unwrap()) <= 24);
        assert!(selected(&element.reduce(Monoid::Sum, &[0, 1, 2]).unwrap()) <= 24);
    }
    let masked = alu(Alu::Where, &[&hot, &table, &least]);
    assert!(selected(&masked.reduce(Monoid::Max, &[1]).unwrap()) <= 24);
    assert!(selected(&hot.reduce(Monoid::Any, &[1]).unwrap()) <= 24);
    assert!(selected(&cold.reduce(Monoid::All, &[1]).unwrap()) <= 24);
    // The table depends on the index's dimension.
    let own = alu(Alu::Mul, &[&number, &numbers(&whole)]);
    assert!(selected(&own.reduce(Monoid::Sum, &[1]).unwrap()) <= 24);
    // Other ranges: a part, from another number, downwards, of a narrow type.
    let counted = |class: UOp| {
        let class = spread(&class, &[1], &whole).cast(DType::I64).unwrap();
        let hot = alu(Alu::Eq, &[&index, &class]).cast(DType::F32).unwrap();
        alu(Alu::Mul, &[&hot, &table]).reduce(Monoid::Sum, &[1]).unwrap()
    };
    let full = |v| UOp::full(Const::i64(DType::I64, v), &shape(&[20])).unwrap();
    let range = UOp::range(20).unwrap();
    let part = UOp::range(30).unwrap().shrink(vec![(Size::from(4), Size::from(24))]).unwrap();
    for class in [
        part.clone(),
        alu(Alu::Neg, &[&part]),
        alu(Alu::Sub, &[&full(19), &range]),
        alu(Alu::Add, &[&full(-7), &range.cast(DType::I8).unwrap().cast(DType::I64).unwrap()]),
        alu(Alu::Sub, &[&range, &full(3)]),
    ] {
        assert!(selected(&counted(class)) <= 24);
    }
    // Numbers that the narrow type cannot hold wrap, and a triangle is no equation.
    let wrapping = UOp::range(300).unwrap().cast(DType::I8).unwrap().cast(DType::I64).unwrap();
    let wide = [8, 300];
    let hot = alu(Alu::Eq, &[&spread(&ids(8), &[0], &wide).cast(DType::I64).unwrap(), &spread(&wrapping, &[1], &wide)]);
    assert_eq!(selected(&hot.cast(DType::I64).unwrap().reduce(Monoid::Sum, &[1]).unwrap()), 2400);
    let triangle = alu(Alu::Where, &[&alu(Alu::Lt, &[&class, &index]), &table, &zero]);
    assert_eq!(selected(&triangle.reduce(Monoid::Sum, &[1]).unwrap()), 480);
    // A diagonal.
    let square = [20, 20];
    let (row, column) = (spread(&range, &[0], &square), spread(&range, &[1], &square));
    let hot = alu(Alu::Eq, &[&row, &column]).cast(DType::F32).unwrap();
    let trace = alu(Alu::Mul, &[&hot, &numbers(&square)]);
    assert!(selected(&trace.reduce(Monoid::Sum, &[0, 1]).unwrap()) <= 20);
}

#[test]
fn folds_with_one_place_for_each_term_are_scatters() {
    let alu = |op, operands: &[&UOp]| UOp::alu(op, &operands.iter().map(|x| (*x).clone()).collect::<Vec<_>>()).unwrap();
    // 6 by 5 indices, 40 places, rows of 3.
    let whole = [6, 40, 5, 3];
    let ids = leaf(HostBuffer::from_i64(DType::I64, (0..30).map(|i| i * i % 43 - 1)), &[6, 5]);
    let index = spread(&ids, &[0, 2], &whole);
    let place = spread(&UOp::range(40).unwrap(), &[1], &whole);
    let hot = alu(Alu::Eq, &[&place, &index]);
    let number = hot.cast(DType::F32).unwrap();
    let values = spread(&numbers(&[6, 5, 3]), &[0, 2, 3], &whole);
    let table = spread(&numbers(&[40, 3]), &[1, 3], &whole);
    for (element, axes, most) in [
        (alu(Alu::Mul, &[&number, &values]), &[0, 2][..], 90),
        (alu(Alu::Mul, &[&number, &values]), &[0], 90),
        (alu(Alu::Mul, &[&number, &values]), &[0, 2, 3], 90),
        (alu(Alu::Mul, &[&alu(Alu::Mul, &[&number, &values]), &table]), &[2], 90),
        (hot.cast(DType::I64).unwrap(), &[0, 2, 3], 30),
    ] {
        assert!(selected(&element.reduce(Monoid::Sum, axes).unwrap()) <= most);
    }
}
