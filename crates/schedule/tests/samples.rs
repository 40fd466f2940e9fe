//! Kernels written by hand, under the heuristic's schedule, give what the kernel interpreter gives.
#![allow(clippy::unwrap_used)]

#[path = "../../ir/tests/support/convolutions.rs"]
mod convolutions;
#[path = "support/random.rs"]
mod random;
#[path = "../../ir/tests/support/samples.rs"]
mod samples;
#[path = "../../ir/tests/support/values.rs"]
mod values;

use random::{arguments, compare};
use std::collections::BTreeMap;
use svod_ir::buffer::HostBuffer;
use svod_ir::kernel::Kernel;
use svod_ir::lowered::{Guard, Lowered};
use svod_ir::size::{BoundVariable, Size, Variable};
use svod_ir::target::Target;
use svod_schedule::{Schedule, Variants, heuristic, heuristic_variants, lower, lower_variants, strict_heuristic};
use values::count;

fn check(kernel: &Kernel, schedule: &Schedule, vars: &[BoundVariable]) {
    check_within(kernel, schedule, vars, 1e-4);
}

/// Runs both interpreters and compares every buffer.
fn check_within(kernel: &Kernel, schedule: &Schedule, vars: &[BoundVariable], tolerance: f64) {
    check_variants(kernel, &schedule.clone().into(), vars, tolerance);
}

/// As [`check_within`], for several schedules by size.
fn check_variants(kernel: &Kernel, variants: &Variants, vars: &[BoundVariable], tolerance: f64) {
    let mut want = arguments(kernel, vars);
    kernel.interpret(vars, &mut want).unwrap();
    let program = lower_variants(kernel, variants).unwrap_or_else(|e| panic!("{e}\n{kernel}\n{variants}"));
    let about = || format!("{kernel}\n{variants}\n{}", program.lowered);
    program.lowered.verify().unwrap_or_else(|e| panic!("{e}\n{}", about()));
    let parsed = Lowered::parse(&program.lowered.to_string()).unwrap_or_else(|e| panic!("{e}\n{}", about()));
    assert_eq!(parsed.to_string(), program.lowered.to_string());
    let mut got = arguments(kernel, vars);
    for (at, param) in program.lowered.params.iter().enumerate().skip(kernel.params.len()) {
        let mut all = got[..kernel.params.len()].to_vec();
        // A copy of a copy reads the earlier one, which comes before it.
        all.extend_from_slice(&got[kernel.params.len()..]);
        let pack = program.packs.iter().find(|p| p.packed.index() == at);
        // It does not know what other variants add.
        all.truncate(pack.map_or(at, |pack| pack.kernel.params.len() - 1));
        all.push(HostBuffer::zeros(param.dtype, count(&param.shape, vars)));
        if let Some(pack) = pack {
            let packed = lower(&pack.kernel, &Schedule::default()).unwrap();
            packed.lowered.interpret(vars, &mut all).unwrap_or_else(|e| panic!("{e}\n{}", about()));
        }
        got.push(all.pop().unwrap());
    }
    program.lowered.interpret(vars, &mut got).unwrap_or_else(|e| panic!("{e}\n{}", about()));
    compare(&want, &got, tolerance, &about);
}

fn targets() -> Vec<Target> {
    ["x86-64-v2", "x86-64-v3", "x86-64-v4"].iter().map(|n| Target::named(n).unwrap()).collect()
}

fn check_all(kernel: &Kernel, vars: &[BoundVariable]) {
    check(kernel, &Schedule::default(), vars);
    for target in targets() {
        check_variants(kernel, &heuristic_variants(kernel, &target), vars, 1e-4);
    }
}

fn sizes(pairs: &[i64]) -> Vec<Size> {
    pairs.iter().map(|n| Size::from(*n)).collect()
}

#[test]
fn blocks_with_tails() {
    let s = sizes(&[75, 6, 300, 307]);
    check_all(&samples::softmax_columns(&s[0], &s[1]), &[]);
    check_all(&samples::add_transposed(&s[0], &s[2]), &[]);
    check_all(&samples::add_transposed(&s[3], &s[2]), &[]);
}

#[test]
fn rows() {
    for shape in [[1, 1], [3, 7], [5, 33], [4, 128], [9, 70]] {
        let s = sizes(&shape);
        for kernel in [
            samples::softmax(&s[0], &s[1]),
            samples::softmax_columns(&s[1], &s[0]),
            samples::add_transposed(&s[0], &s[1]),
            samples::online_softmax(&s[0], &s[1]),
            samples::layernorm(&s[0], &s[1]),
            samples::mean_variance(&s[0], &s[1]),
            samples::cumsum(&s[0], &s[1], false),
            samples::cumsum(&s[0], &s[1], true),
            samples::argmax(&s[0], &s[1]),
        ] {
            check_all(&kernel, &[]);
        }
    }
}

#[test]
fn contractions() {
    for [m, n, k] in
        [[1, 1, 1], [7, 19, 5], [13, 64, 33], [48, 40, 96], [64, 17, 9], [2, 40, 9], [37, 66, 3], [70, 3, 300]]
    {
        for gelu in [false, true] {
            let mut kernel = samples::matmul_bias(&Size::from(m), &Size::from(n), &Size::from(k), gelu);
            check_all(&kernel, &[]);
            kernel.params[1].constant = true;
            check_all(&kernel, &[]);
        }
    }
}

/// Products of `batch` pairs of matrices, whose output only copies them, so that tiles may write it.
fn products(batch: i64, [m, n, k]: [i64; 3], symbolic: bool) -> (Kernel, Vec<BoundVariable>) {
    let var = Variable::new("rows", 1, 40).unwrap();
    let (head, rows, vars) = match symbolic {
        true => ("var rows = 1..=40\n", "rows".to_owned(), vec![var.bind(m).unwrap()]),
        false => ("", m.to_string(), Vec::new()),
    };
    let text = format!(
        "kernel products\n{head}param p0: f32[{batch}, {rows}, {k}]\nparam p1: f32[{batch}, {k}, {n}]\n\
         param p2: f32[{batch}, {rows}, {n}]\naxis b < {batch}\naxis i < {rows}\naxis j < {n}\naxis k < {k}\n\
         stage s[b, i, j] = reduce k\n  carry.0: f32 = sum(p0[b, i, k] * p1[b, k, j])\n  s = carry.0\n\
         stage out[b, i, j] = map\n  p2[b, i, j] = s[b, i, j]\n"
    );
    (Kernel::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}")), vars)
}

#[test]
fn tiles_write_an_output_that_only_copies_them() {
    for ([m, n, k], symbolic) in [
        ([8, 48, 16], false),
        ([7, 19, 5], false),
        ([13, 65, 300], false),
        ([2, 40, 9], true),
        ([17, 33, 70], true),
        ([40, 24, 70], true),
    ] {
        let (kernel, vars) = products(2, [m, n, k], symbolic);
        for target in targets() {
            let schedule = heuristic(&kernel, &target);
            let text = schedule.to_string();
            // Few rows may do without tiles.
            assert!(text.contains("direct_store s out") || m <= 16 && !text.contains("micro"), "{schedule}");
            check(&kernel, &schedule, &vars);
        }
        // The depth in blocks, which add to what the earlier ones have stored; at every loop of the output.
        for at in ["out.b.0", "out.i.0", "out.j.0"] {
            let text = format!(
                "split out.i.0 by 12 rest\nsplit out.j.0 by 48 rest\nreorder out out.b.0 out.i.0 out.j.0 out.i.1 out.j.1\n\
                 bind out.b.0 task\nat s {at}\nsplit s.i.0 by 4 pad\nsplit s.j.0 by 24 pad\nsplit s.k.0 by 8 rest\n\
                 reorder s s.k.0 s.j.0 s.i.0 s.i.1 s.j.1 s.k.1\nstage s 0 rows task\nstage s 1 panels:24 task\n\
                 at s.a s.k.0\nat s.b s.k.0\nmicro s 4 24\ninto s out\n"
            );
            let error = lower(&kernel, &text.parse().unwrap()).map(|_| ()).err().map(|e| e.to_string());
            let uneven = at == "out.b.0" && m % 4 > 0 && !symbolic;
            assert!(!uneven || error.is_some_and(|e| e.contains("run over the end of a copy")));
            let text = format!("{text}split s.a.i.0 by 4 pad\n");
            check(&kernel, &text.parse().unwrap(), &vars);
            // Full rounds of a batch: what is beyond its end is neither read nor written.
            for tail in ["mask", "pad"] {
                check(&kernel, &format!("{text}split s.b.0 by 3 {tail}\n").parse().unwrap(), &vars);
            }
        }
    }
    let (kernel, _) = products(1, [8, 48, 16], false);
    let why = |text: &str| lower(&kernel, &text.parse().unwrap()).unwrap_err().to_string();
    assert!(why("at s out.i.0\ninto s out").contains("`s` has no tile"));
    let tile = "split s.i.0 by 4 pad\nsplit s.j.0 by 24 pad\nreorder s s.i.0 s.j.0 s.i.1 s.j.1 s.k.0\n\
                stage s 0 rows task\nstage s 1 panels:24 task\nmicro s 4 24\n";
    assert!(why(&format!("{tile}into s out")).contains("`s` is not computed inside a loop of `out`"));
    assert!(why(&format!("{tile}at s out.i.0\ninto s out\nstream out")).contains("does more than to copy `s`"));
    let bias = samples::matmul_bias(&Size::from(8), &Size::from(48), &Size::from(16), false);
    let text = tile.replace("s.", "product.").replace(" s ", " product ");
    let error = lower(&bias, &format!("{text}at product out.i.0\ninto product out").parse().unwrap());
    assert!(error.unwrap_err().to_string().contains("is not just a copy"));
}

#[test]
fn convolutions() {
    convolutions::each(&check_all);
}

#[test]
fn attention() {
    for causal in [false, true] {
        let kernel = samples::attention(&Size::from(2), &Size::from(5), &Size::from(9), &Size::from(16), causal);
        check_all(&kernel, &[]);
    }
}

#[test]
fn indexed() {
    check_all(&samples::embedding(&Size::from(5), &Size::from(9), &Size::from(12)), &[]);
    check_all(&samples::scatter_add(&Size::from(20), &Size::from(6)), &[]);
}

#[test]
fn symbolic_rows() {
    let n = Variable::new("n", 1, 40).unwrap();
    for value in [1, 2, 17, 40] {
        let bound = [n.bind(value).unwrap()];
        check_all(&samples::softmax(&Size::from(&n), &Size::from(37)), &bound);
        check_all(&samples::softmax(&Size::from(6), &Size::from(&n)), &bound);
        check_all(&samples::matmul_bias(&Size::from(&n), &Size::from(33), &Size::from(20), true), &bound);
        check_all(&samples::matmul_bias(&Size::from(17), &Size::from(&n), &Size::from(20), true), &bound);
        check_all(&samples::matmul_bias(&Size::from(17), &Size::from(20), &Size::from(&n), true), &bound);
    }
}

/// A run takes the first variant whose guard holds, and computes the same; what variants allocate suits their
/// sizes, and is one memory where it is alike.
#[test]
fn variants_are_taken_by_size() {
    let n = Variable::new("n", 1, 64).unwrap();
    let kernel = samples::matmul_bias(&Size::from(&n), &Size::from(48), &Size::from(96), false);
    let guard = |text: &str| Guard::parse(text, &kernel.vars).unwrap();
    let tile = "split product.i.0 by 4 pad\nsplit product.j.0 by 24 pad\n\
                reorder product product.i.0 product.j.0 product.i.1 product.j.1 product.k.0\n\
                stage product 0 rows task\nstage product 1 panels:24 shared\nmicro product 4 24\n\
                at product out.i.0\nsplit product.a.i.0 by 4 pad\n";
    let variants = Variants {
        guarded: vec![
            (guard("n <= 1"), "parts product.k.0 by 32\nbind out.i.0 task".parse().unwrap()),
            (guard("n*2 <= 33"), format!("split out.i.0 by 4 rest\nbind out.i.0 task\n{tile}").parse().unwrap()),
        ],
        rest: format!("split out.i.0 by 8 rest\nbind out.i.0 task\n{tile}").parse().unwrap(),
    };
    for value in [1, 2, 16, 17, 63, 64] {
        check_variants(&kernel, &variants, &[n.bind(value).unwrap()], 1e-4);
    }
    let program = lower_variants(&kernel, &variants).unwrap();
    let lowered = &program.lowered;
    let of_variant = |variant| lowered.phases.iter().filter(|phase| phase.variant == variant).count();
    assert_eq!((lowered.guards.len(), [0, 1, 2].map(of_variant)), (2, [2, 2, 2]));
    let shapes: Vec<&[Size]> = program.workspaces.iter().map(|p| &lowered.params[p.index()].shape[..]).collect();
    assert_eq!(shapes.len(), 2, "{lowered}");
    assert!(shapes.iter().all(|shape| shape.iter().all(|n| n.as_const().is_some())), "{lowered}");
    let mut text = lowered.to_string();
    assert!(text.contains("\nvariant 2*n <= 33\n") || text.contains("\nvariant n*2 <= 33\n"), "{text}");
    assert_eq!(Lowered::parse(&text).unwrap().key(), lowered.key());
    text = text.replacen("\nvariant n <= 1\n", "\nvariant j <= 1\n", 1);
    assert!(Lowered::parse(&text).is_err());
    let wrong = Variants { rest: "bind out.zz.0 task".parse().unwrap(), ..variants.clone() };
    let why = lower_variants(&kernel, &wrong).unwrap_err().to_string();
    assert!(why.starts_with("otherwise: step 1 of the schedule"), "{why}");
    let many = Variants { guarded: [&variants.guarded[..], &variants.guarded[..1]].concat(), ..variants };
    assert!(lower_variants(&kernel, &many).unwrap_err().to_string().contains("at most 3"));
}

/// Each way in which a split may treat its tail, on extents that the factor divides and on others.
#[test]
fn every_tail_gives_the_same() {
    for cols in [24, 32, 37, 5] {
        let kernel = samples::softmax(&Size::from(6), &Size::from(cols));
        for tail in ["exact", "rest", "mask"] {
            if tail == "exact" && cols % 8 != 0 {
                continue;
            }
            let text = format!(
                "split out.i.0 by 4 rest\nbind out.i.0 task\nat peak out.i.1\nat total out.i.1\n\
                 split out.j.0 by 8 {tail}\nbind out.j.1 vector\nsplit peak.j.0 by 8 {tail}\nbind peak.j.1 unroll\n\
                 split total.j.0 by 8 {tail}\nbind total.j.1 vector\nrfactor total.j.1\n"
            );
            check(&kernel, &text.parse().unwrap(), &[]);
        }
        // A staged row that is rounded up, and read across its padding.
        let kernel = samples::layernorm(&Size::from(5), &Size::from(cols));
        for tail in ["pad", "mask"] {
            let text = format!(
                "at mean out.i.0\nat variance out.i.0\nsplit variance.j.0 by 8 {tail}\nbind variance.j.1 vector\n\
                 rfactor variance.j.1\nsplit out.j.0 by 16 mask\nsplit out.j.1 by 8 exact\nbind out.j.2 vector\n"
            );
            check(&kernel, &text.parse().unwrap(), &[]);
        }
    }
}

#[test]
fn an_illegal_step_is_named_with_its_reason() {
    let kernel = samples::softmax(&Size::from(6), &Size::from(37));
    let why = |text: &str| lower(&kernel, &text.parse().unwrap()).unwrap_err().to_string();
    assert!(why("split out.j.0 by 8 exact").contains("8 does not provably divide the extent 37"));
    assert!(why("bind out.k.0 vector").contains("stage `out` has no loop `out.k.0`"));
    assert!(why("at total peak.i.0").contains("stage `total` is not computed before `peak`"));
    assert!(why("split out.i.0 by 2 rest\nreorder out out.i.1 out.i.0 out.j.0").starts_with("step 2 of the schedule"));
    assert!(why("micro out 4 8").contains("not a contraction"));
    let full = why("split out.j.0 by 1 exact\nsplit out.j.1 by 8 rest\nsplit out.j.2 by 8 pad");
    assert!(full.contains("full rounds of 8 points would run over the end of the outer loop's 1"), "{full}");
    let grid = why("split out.i.0 by 4 rest\nsplit out.i.1 by 3 rest\nbind out.i.0 task\nbind out.i.1 task");
    assert!(grid.contains("a grid of tasks is the same everywhere"), "{grid}");
    assert!(why("parts out.i.0 by 2").contains("not reduce") || why("parts out.i.0 by 2").contains("no reduction"));
    assert!(why("strict\nparts total.j.0 by 2").contains("keeps the order of additions"));
    assert!(why("parts total.j.0 by 2").contains("reads another stage"));
}

/// A tile is refused where it would not be what the loops around it leave, or would run over the end of
/// what it reads.
#[test]
fn a_tile_that_runs_over_an_end_is_refused() {
    let [m, n, k] = [17, 24, 12].map(Size::from);
    let kernel = samples::matmul_bias(&m, &n, &k, false);
    let tile = "split product.i.0 by 4 pad\nsplit product.j.0 by 24 pad\n\
                reorder product product.i.0 product.j.0 product.i.1 product.j.1 product.k.0\n\
                stage product 0 rows task\nstage product 1 panels:24 prepared\nmicro product 4 24\n";
    check(&kernel, &format!("{tile}at product out.i.0\nat product.a product.i.0\n").parse().unwrap(), &[]);
    let why = |text: &str| lower(&kernel, &text.parse().unwrap()).unwrap_err().to_string();
    let parts = format!("split out.j.0 by 8 rest\nreorder out out.j.0 out.i.0 out.j.1\n{tile}at product out.j.0");
    assert!(why(&parts).contains("at no multiple of 24"));
    let rows = "rows and columns must be split by 4 and 24";
    assert!(why(&format!("{tile}split product.i.1 by 2 exact")).contains(rows));
    assert!(why(&format!("{tile}split product.i.1 by 1 pad")).contains(rows));
    let fetched = format!("{tile}prefetch product.j.0 1 1\nat product out.i.0\nat product.a product.i.0\n");
    check(&samples::matmul_bias(&m, &Size::from(40), &k, false), &fetched.parse().unwrap(), &[]);
    assert!(why(&fetched).contains("of 1 rounds none is 1 ahead of another"));
    assert!(why(&format!("{tile}prefetch product.i.0 1 1")).contains("by a tile's loop over panels"));
    assert!(why("prefetch product.j.0 1 1").contains("by a tile's loop over panels"));
    let depth =
        tile.replace("reorder product", "reorder product product.k.0").replace("product.k.0\n", "product.k.1\n");
    assert!(why(&format!("split product.k.0 by 8 pad\n{depth}")).contains("full rounds of the depth"));
    let long = tile.replace("prepared", "task").replace("micro", "split product.j.0 by 48 mask\nmicro");
    assert!(why(&long).contains("full rounds of more than a tile run over the end of operand 1"));
}

/// A prepared copy serves every run, whatever sizes these have.
#[test]
fn a_prepared_copy_has_known_sizes() {
    let n = Variable::new("n", 1, 64).unwrap();
    let mut kernel = samples::matmul_bias(&Size::from(17), &Size::from(&n), &Size::from(12), false);
    kernel.params[1].constant = true;
    let error = lower(&kernel, &"stage product 1 panels:8 prepared".parse().unwrap()).unwrap_err().to_string();
    assert!(error.contains("step 1") && error.contains("a variable changes the size"), "{error}");
}

/// Rounds of a reader that always run in full go beyond what was computed for it: what lies there is
/// not read.
#[test]
fn full_rounds_read_nothing_beyond_a_region() {
    let kernel = samples::layernorm(&Size::from(17), &Size::from(5));
    let text = "reorder out out.i.0 out.j.0\nat mean out.i.0\nsplit out.i.0 by 16 mask\nsplit out.i.0 by 4 rest\n\
                split variance.i.0 by 2 pad\nat variance out.i.1\n";
    check(&kernel, &text.parse().unwrap(), &[]);
}

/// What is computed inside a loop is not read after it.
#[test]
fn what_is_read_outside_a_loop_is_not_computed_inside() {
    let kernel = samples::softmax(&Size::from(8), &Size::from(5));
    let error = lower(&kernel, &"at peak total.i.0".parse().unwrap()).unwrap_err().to_string();
    assert!(error.contains("step 1") && error.contains("stage `out` reads it outside of the loop"), "{error}");
    check(&kernel, &"at total out.i.0\nat peak out.i.0".parse().unwrap(), &[]);
}

/// What all tasks read is there before any of them begins.
#[test]
fn what_tasks_share_is_computed_by_itself() {
    let kernel = samples::matmul_bias(&Size::from(8), &Size::from(5), &Size::from(5), false);
    for text in
        ["parts product.k.0 by 8\nat product.parts out.j.0", "stage product 1 rows shared\nat product.b out.i.0"]
    {
        let error = lower(&kernel, &text.parse().unwrap()).unwrap_err().to_string();
        assert!(error.contains("step 2") && error.contains("has a phase before them"), "{error}");
    }
}

/// Parts of a reduction, divided evenly or not, with tasks of their own.
#[test]
fn split_reductions_give_the_whole() {
    let wide = |k: i64| samples::matmul_bias(&Size::from(1), &Size::from(96), &Size::from(k), false);
    for k in [1, 7, 64, 300] {
        for by in [1, 7, 64, 3000] {
            let text = format!(
                "parts product.k.0 by {by}\nreorder product.parts product.parts.k_block.0 product.parts.k_point.0 \
                 product.parts.i.0 product.parts.j.0\nbind product.parts.k_block.0 task\nat product out.i.0\n"
            );
            check(&wide(k), &text.parse().unwrap(), &[]);
        }
        check_all(&wide(k), &[]);
    }
    let rows = Variable::new("rows", 1, 300).unwrap();
    let kernel = samples::matmul_bias(&Size::from(1), &Size::from(40), &Size::from(&rows), false);
    for value in [1, 100, 299] {
        check(&kernel, &"parts product.k.0 by 128\nat product out.i.0".parse().unwrap(), &[rows.bind(value).unwrap()]);
    }
    let schedule = heuristic(&wide(200), &Target::named("x86-64-v3").unwrap()).to_string();
    assert!(!schedule.contains("split_reduction"), "too little work to be divided:\n{schedule}");
    let schedule = heuristic(
        &samples::matmul_bias(&Size::from(1), &Size::from(4096), &Size::from(4096), false),
        &Target::named("x86-64-v3").unwrap(),
    );
    assert!(schedule.to_string().starts_with("split_reduction product.k.0 by 128\n"), "{schedule}");
}

/// A reduction that needs an earlier one takes the statistics of its own part, and is combined: or, where that
/// cannot be, each task reduces the earlier one's parts.
#[test]
fn reductions_that_need_one_another_take_the_same_parts() {
    let header = "kernel chain\nparam p0: f32[R, N]\nparam p1: T[R]\naxis i < R\naxis a < N\naxis b < N\n\n";
    let chain = |op: &str, element: &str, of: &str, ty: &str, r: i64, n: i64| {
        let text = format!(
            "{header}stage s[i] = reduce a\n  carry.0: f32 = {op}(p0[i, a])\n  s = carry.0\n\n\
             stage t[i] = reduce b\n  carry.0: {ty} = {of}({element})\n  t = carry.0\n\n\
             stage out[i] = map\n  p1[i] = t[i]\n"
        );
        let text = text.replace('R', &r.to_string()).replace('N', &n.to_string()).replace(": T[", &format!(": {ty}["));
        Kernel::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
    };
    let deviation = "(p0[i, b] - s[i] / f32(N)) * (p0[i, b] - s[i] / f32(N))";
    let guarded = "exp(p0[i, b] - where(abs(s[i]) < f32(inf), s[i], f32(0.0)))";
    let position = "where(p0[i, b] == s[i] | p0[i, b] != p0[i, b], cast(i32, b), i32(2147483647))";
    // The last ones cannot be mended.
    for (op, element, of, ty, mended) in [
        ("sum", deviation, "sum", "f32", true),
        ("max", "exp(p0[i, b] - s[i]) * p0[i, b]", "sum", "f32", true),
        ("max", guarded, "sum", "f32", true),
        ("min", position, "min", "i32", true),
        ("sum", "abs(p0[i, b] - s[i] / f32(N))", "sum", "f32", false),
        ("max", "exp(p0[i, b] - s[i] * f32(2.0))", "sum", "f32", false),
    ] {
        for (r, n) in [(1, 1), (1, 37), (3, 64)] {
            let element = element.replace("f32(N)", &format!("f32({n}.0)"));
            let kernel = chain(op, &element, of, ty, r, n);
            for by in [1, 16, 100] {
                let parts = format!("parts s.a.0 by {by}\nparts t.b.0 by {by}\n");
                let place = "at s.parts t.parts.a_block.0\nbind t.parts.a_block.0 task\n";
                let apart = "bind s.parts.a_block.0 task\nbind t.parts.b_block.0 task\n";
                let schedule = format!("{parts}{}", if mended { place } else { apart });
                check(&kernel, &schedule.parse().unwrap(), &[]);
            }
            // Both reductions over one axis.
            let text = kernel
                .to_string()
                .replace("reduce b", "reduce a")
                .replace(", b]", ", a]")
                .replace("(i32, b)", "(i32, a)");
            let schedule = format!(
                "parts s.a.0 by 16\nparts t.a.0 by 16\n{}",
                if mended { "at s.parts t.parts.a_block.0" } else { "" }
            );
            check(&Kernel::parse(&text).unwrap(), &schedule.parse().unwrap(), &[]);
            let other = "parts s.a.0 by 5\nparts t.b.0 by 7\nbind t.parts.b_block.0 task";
            check(&kernel, &other.parse().unwrap(), &[]);
        }
        let long = heuristic(
            &chain(op, &element.replace("f32(N)", "f32(600000.0)"), of, ty, 2, 600_000),
            &Target::named("x86-64-v3").unwrap(),
        )
        .to_string();
        assert_eq!(long.contains("at s.parts t.parts.i."), mended, "{long}");
        assert!(long.contains("\nsplit_reduction t.b.0 by "), "{long}");
    }
}

/// What is larger than the last cache is written past it, in rows of whole lines.
#[test]
fn large_maps_go_past_the_caches() {
    let target = Target::named("x86-64-v3").unwrap();
    for (rows, columns, index, streamed) in [
        (4096, 4096, "i, j", true),
        (512, 512, "i, j", false),
        (4_000_000, 4, "i, j", false),
        (1_000_000, 16, "i, j", true),
        (4096, 4099, "i, j", false),
        (4096, 4096, "j, i", true),
        (4104, 4104, "j, i", false),
    ] {
        let text = format!(
            "kernel copy\nparam p0: f32[{rows}, {columns}]\nparam p1: f32[{rows}, {columns}]\naxis i < {rows}\n\
             axis j < {columns}\n\nstage out[i, j] = map\n  p1[i, j] = p0[{index}]\n"
        );
        let schedule = heuristic(&Kernel::parse(&text).unwrap(), &target).to_string();
        assert_eq!(schedule.contains("stream out"), streamed, "{text}{schedule}");
    }
}

/// Transposed copies of some size go through registers in squares, whose rows are unrolled: of rows of whole lines, and of
/// others where a cache holds them.
#[test]
fn transposed_maps_go_in_squares() {
    let target = Target::named("x86-64-v3").unwrap();
    for (n, value, squares) in [
        (1024, "p0[j, i]", true),
        (500, "p0[j, i] + p0[i, j]", true),
        (2500, "p0[j, i]", false),
        (40, "p0[j, i]", false),
        (1024, "p0[i, j]", false),
        (1024, "pow(exp(p0[j, i]), p0[i, j])", false),
    ] {
        let text = format!(
            "kernel copy\nparam p0: f32[{n}, {n}]\nparam p1: f32[{n}, {n}]\naxis i < {n}\naxis j < {n}\n\n\
             stage out[i, j] = map\n  p1[i, j] = {value}\n"
        );
        let schedule = heuristic(&Kernel::parse(&text).unwrap(), &target).to_string();
        assert_eq!(schedule.contains("bind out.i.2 unroll"), squares, "{text}{schedule}");
    }
}

/// The number of tasks may not depend on which task it is.
#[test]
fn tasks_inside_an_uneven_split_are_refused() {
    let kernel = samples::softmax(&Size::from(10), &Size::from(8));
    let steps = |by: u32| format!("split out.i.0 by {by} rest\nbind out.i.0 task\nbind out.i.1 task");
    let uneven = lower(&kernel, &steps(3).parse().unwrap()).unwrap_err().to_string();
    assert!(uneven.contains("step 3") && uneven.contains("a grid of tasks is the same everywhere"), "{uneven}");
    check(&kernel, &steps(5).parse().unwrap(), &[]);
}

#[test]
fn strict_schedules_keep_every_bit() {
    let [r, c] = [9, 70].map(Size::from);
    for kernel in [
        samples::softmax(&r, &c),
        samples::layernorm(&r, &c),
        samples::mean_variance(&r, &Size::from(3000)),
        samples::cumsum(&r, &c, false),
        samples::argmax(&r, &c),
        samples::matmul_bias(&Size::from(13), &Size::from(64), &Size::from(33), true),
        samples::attention(&Size::from(2), &Size::from(5), &Size::from(9), &Size::from(16), true),
        samples::scatter_add(&Size::from(20), &Size::from(6)),
    ] {
        for target in targets() {
            let schedule = strict_heuristic(&kernel, &target);
            assert!(schedule.is_strict());
            check_within(&kernel, &schedule, &[], 0.0);
        }
    }
}

#[test]
fn a_strict_schedule_refuses_what_would_change_a_sum() {
    let kernel = samples::matmul_bias(&Size::from(8), &Size::from(8), &Size::from(8), false);
    let why = |text: &str| lower(&kernel, &text.parse().unwrap()).unwrap_err().to_string();
    assert!(
        why("strict\nsplit product.k.0 by 4 rest\nbind product.k.1 unroll\nrfactor product.k.1").contains("step 4")
    );
    assert!(why("strict\nmicro product 4 8").contains("keeps the order of additions"));
    assert!(why("bind out.i.0 task\nstrict").contains("step 2 of the schedule, `strict`: it is the first step"));
}

/// Adding a target is adding a description: nothing in scheduling asks which device it is for.
#[test]
fn c10_every_described_target_gets_a_schedule() {
    for name in Target::NAMES {
        let target = Target::named(name).unwrap();
        for kernel in [
            samples::softmax(&Size::from(6), &Size::from(40)),
            samples::matmul_bias(&Size::from(13), &Size::from(64), &Size::from(33), true),
            samples::attention(&Size::from(2), &Size::from(5), &Size::from(9), &Size::from(16), true),
        ] {
            check(&kernel, &heuristic(&kernel, &target), &[]);
        }
    }
}

/// Every random schedule that is accepted gives what the kernel says: bit for bit where it keeps
/// the order of reductions.
#[test]
fn random_schedules_are_refused_or_right() {
    let (mut steps, mut refused) = (0, 0);
    let mut taken = BTreeMap::<String, usize>::new();
    for case in random::cases(300) {
        let _case = random::Case(case);
        let mut rng = random::Rng::new(case + 1);
        let (kernel, vars) = random::kernel(&mut rng);
        kernel.verify().unwrap_or_else(|e| panic!("{e}\n{kernel}"));
        let (schedule, not) = random::schedule(&mut rng, &kernel);
        (steps, refused) = (steps + schedule.0.len(), refused + not);
        for line in schedule.to_string().lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let kind = if words[0] == "bind" { words[words.len() - 1] } else { words[0] };
            *taken.entry(kind.into()).or_default() += 1;
        }
        check_within(&kernel, &schedule, &vars, random::tolerance(&kernel, &schedule));
    }
    println!("{steps} steps accepted, {refused} refused: {taken:?}");
    for kind in EVERY_KIND.iter().filter(|_| std::env::var_os("SVOD_SEED").is_none()) {
        assert!(taken.contains_key(*kind), "no random schedule had a legal `{kind}`: {taken:?}");
    }
}

/// Every step of the language, a binding by what it binds to.
const EVERY_KIND: &[&str] = &[
    "split",
    "reorder",
    "unroll",
    "vector",
    "task",
    "block",
    "warp",
    "lane",
    "at",
    "stage",
    "rfactor",
    "split_reduction",
    "pairs",
    "turn",
    "micro",
    "direct_store",
    "stream",
    "prefetch",
    "strict",
];
