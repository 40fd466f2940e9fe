//! Kernels written by hand, scheduled and compiled, give what the kernel interpreter gives.
#![allow(clippy::unwrap_used)]

#[path = "../../ir/tests/support/convolutions.rs"]
mod convolutions;
#[path = "../../schedule/tests/support/random.rs"]
mod random;
#[path = "../../ir/tests/support/samples.rs"]
mod samples;
#[path = "../../ir/tests/support/values.rs"]
mod values;

use random::{arguments, compare};
use svod_codegen::load::{Address, Code};
use svod_codegen::{host, llvm, lower, machine, tile};
use svod_ir::buffer::HostBuffer;
use svod_ir::kernel::Kernel;
use svod_ir::lowered::Lowered;
use svod_ir::size::{BoundVariable, Size, Variable};
use svod_ir::target::{MatrixUnits, Target};
use svod_schedule::{Schedule, heuristic, lower as loops, strict_heuristic};
use values::count;

/// Compiles a loop tree and runs it on the buffers.
fn run(lowered: &Lowered, target: &Target, vars: &[BoundVariable], buffers: &mut [HostBuffer]) {
    let lists = lower::linearize(lowered, target).unwrap_or_else(|e| panic!("{e}\n{lowered}"));
    let text = llvm::module(&lists, target, llvm::Entry::task(target));
    let object = machine::object(&lowered.name, &text, target).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let tiles: Vec<(String, Code)> = lists
        .iter()
        .flat_map(|l| l.tiles())
        .map(|spec| {
            let object = machine::object("tile", &tile::render(&spec, target), target).unwrap();
            (tile::symbol(&spec), Code::load("tile", &object, &|_| None).unwrap())
        })
        .collect();
    let resolve =
        |name: &str| -> Option<Address> { tiles.iter().find(|(n, _)| n == name).and_then(|(n, c)| c.address(n)) };
    let code = Code::load(&lowered.name, &object, &resolve).unwrap();
    for (list, phase) in lists.iter().zip(&lowered.phases) {
        let mut scratch = vec![0u8; list.scratch_bytes() as usize + 64];
        let at = scratch.as_mut_ptr();
        let mut pointers: Vec<*mut u8> = buffers.iter_mut().map(|b| b.bytes_mut().as_mut_ptr()).collect();
        pointers.push(at.wrapping_add(at.align_offset(64)));
        let tasks: i64 = phase.grid.iter().map(|l| l.extent.eval_bound(vars).unwrap()).product();
        let entry = code.entry(&list.name).unwrap();
        for task in 0..tasks {
            let value = |v: &Variable| vars.iter().find(|b| b.variable() == v).unwrap().value();
            let vals: Vec<i64> = lowered.vars.iter().map(value).chain([task]).collect();
            // SAFETY: buffers have the parameters' sizes, the scratch block the list's.
            unsafe { entry(pointers.as_ptr(), vals.as_ptr()) };
        }
    }
}

fn check(kernel: &Kernel, target: &Target, vars: &[BoundVariable]) {
    check_within(kernel, &heuristic(kernel, target), target, vars, 1e-4);
}

fn check_within(kernel: &Kernel, schedule: &Schedule, target: &Target, vars: &[BoundVariable], tolerance: f64) {
    let inputs = arguments(kernel, vars);
    let mut want = inputs.clone();
    kernel.interpret(vars, &mut want).unwrap();
    let program = loops(kernel, schedule).unwrap_or_else(|e| panic!("{e}\n{kernel}\n{schedule}"));
    let mut got = inputs.clone();
    for (at, param) in program.lowered.params.iter().enumerate().skip(kernel.params.len()) {
        let mut all = got.clone();
        all.push(HostBuffer::zeros(param.dtype, count(&param.shape, vars)));
        if let Some(pack) = program.packs.iter().find(|p| p.packed.index() == at) {
            let packed = loops(&pack.kernel, &heuristic(&pack.kernel, target)).unwrap();
            run(&packed.lowered, target, vars, &mut all);
        }
        got.push(all.pop().unwrap());
    }
    run(&program.lowered, target, vars, &mut got);
    compare(&want, &got, tolerance, &|| format!("compiled\n{kernel}\n{schedule}\n{}", program.lowered));
}

fn targets() -> Vec<Target> {
    let native = host::native();
    let named = ["x86-64-v2", "x86-64-v3", "x86-64-v4"].iter().filter_map(|n| Target::named(n));
    named.filter(|t| t.arch == native.arch && t.vector_bytes <= native.vector_bytes).chain([native.clone()]).collect()
}

fn check_all(kernel: &Kernel, vars: &[BoundVariable]) {
    targets().iter().for_each(|t| check(kernel, t, vars));
}

#[test]
fn rows() {
    for [rows, cols] in [[1, 1], [3, 7], [5, 33], [9, 70]] {
        let (r, c) = (Size::from(rows), Size::from(cols));
        for kernel in [
            samples::softmax(&r, &c),
            samples::softmax_columns(&c, &r),
            samples::add_transposed(&r, &c),
            samples::online_softmax(&r, &c),
            samples::layernorm(&r, &c),
            samples::mean_variance(&r, &c),
            samples::cumsum(&r, &c, false),
            samples::cumsum(&r, &c, true),
            samples::argmax(&r, &c),
        ] {
            check_all(&kernel, &[]);
        }
    }
}

#[test]
fn contractions() {
    for [m, n, k] in [[1, 1, 1], [13, 64, 33], [64, 17, 300]] {
        let mut kernel = samples::matmul_bias(&Size::from(m), &Size::from(n), &Size::from(k), true);
        check_all(&kernel, &[]);
        kernel.params[1].constant = false;
        check_all(&kernel, &[]);
    }
}

#[test]
fn convolutions() {
    convolutions::each(&check_all);
}

/// Operands that run along rows, columns or depth, with tails, and more rows than one task takes.
#[test]
fn transposed_contractions() {
    for (m, n, k) in [(13, 33, 21), (150, 26, 24)] {
        for (a, b) in [("k, i", "k, j"), ("i, k", "j, k"), ("k, i", "j, k")] {
            let shape = |index: &str| index.replace('i', &m.to_string()).replace('j', &n.to_string());
            let shape = |index: &str| shape(index).replace('k', &k.to_string());
            let text = format!(
                "kernel product\nparam p0: f32[{}]\nparam p1: f32[{}]\nparam p2: f32[{m}, {n}]\n\
                 axis i < {m}\naxis j < {n}\naxis k < {k}\n\n\
                 stage mm[i, j] = reduce k\n  carry.0: f32 = sum(p0[{a}] * p1[{b}])\n  mm = carry.0\n\n\
                 stage out[i, j] = map\n  p2[i, j] = mm[i, j]\n",
                shape(a),
                shape(b)
            );
            check_all(&Kernel::parse(&text).unwrap(), &[]);
        }
    }
}

/// Products of widened floats as they are chosen for machines that multiply pairs, whatever this one has:
/// operands that run along any axis, odd depths, blocks of the depth. All sums are exact.
#[test]
fn pairs() {
    let units = [(true, false), (true, true)].map(|(bf16_dot, tiles)| {
        let matrix = MatrixUnits { bf16_dot, tiles, ..MatrixUnits::default() };
        Target { matrix, ..Target::named("x86-64-v4").unwrap() }
    });
    for (m, n, k) in [(13, 33, 21), (2, 9, 1000)] {
        for (a, b) in [("i, k", "k, j"), ("k, i", "j, k")] {
            let shape = |index: &str| index.replace('i', &m.to_string()).replace('j', &n.to_string());
            let shape = |index: &str| shape(index).replace('k', &k.to_string());
            let text = format!(
                "kernel product\nparam p0: i8[{}]\nparam p1: i8[{}]\nparam p2: f32[{m}, {n}]\n\
                 axis i < {m}\naxis j < {n}\naxis k < {k}\n\n\
                 stage mm[i, j] = reduce k\n  carry.0: f32 = sum(cast(f32, cast(bf16, p0[{a}])) * cast(f32, cast(bf16, p1[{b}])))\n  \
                 mm = carry.0\n\nstage out[i, j] = map\n  p2[i, j] = mm[i, j]\n",
                shape(a),
                shape(b)
            );
            for constant in [false, true] {
                let mut kernel = Kernel::parse(&text).unwrap();
                kernel.params[1].constant = constant;
                for unit in &units {
                    let schedule = heuristic(&kernel, unit);
                    assert!(schedule.to_string().starts_with("pairs mm\n"), "{schedule}");
                    for target in targets() {
                        check_within(&kernel, &schedule, &target, &[], 0.0);
                    }
                }
            }
        }
    }
}

/// Two products of the same rows share the rows' words.
#[test]
fn pairs_of_heads() {
    let product = |name: &str, weights: &str| {
        let factors = format!("cast(f32, cast(bf16, p0[i, k])) * cast(f32, cast(bf16, {weights}[k, j]))");
        format!("stage {name}[i, j] = reduce k\n  carry.0: f32 = sum({factors})\n  {name} = carry.0\n\n")
    };
    let text = format!(
        "kernel heads\nparam p0: i8[40, 37]\nparam p1: i8[37, 48]\nparam p2: i8[37, 48]\nparam p3: f32[40, 48]\n\
         axis i < 40\naxis j < 48\naxis k < 37\n\n{}{}stage out[i, j] = map\n  p3[i, j] = mm[i, j] * nn[i, j]\n",
        product("mm", "p1"),
        product("nn", "p2")
    );
    let kernel = Kernel::parse(&text).unwrap();
    let matrix = MatrixUnits { bf16_dot: true, ..MatrixUnits::default() };
    let schedule = heuristic(&kernel, &Target { matrix, ..Target::named("x86-64-v4").unwrap() });
    let text = schedule.to_string();
    assert!(text.starts_with("pairs mm\npairs nn\n") && !text.contains("split nn.a."), "{text}");
    targets().iter().for_each(|target| check_within(&kernel, &schedule, target, &[], 0.0));
}

/// Vector times matrix, and sums of columns, with an epilogue or none.
#[test]
fn columns() {
    for (n, k) in [(70, 9), (33, 1100), (600, 24)] {
        for epilogue in [false, true] {
            let stages = match epilogue {
                true => {
                    "stage s[j] = reduce k\n  carry.0: f32 = sum(p0[k] * p1[k, j])\n  s = carry.0\n\n\
                     stage out[j] = map\n  p2[j] = s[j] + f32(1.0)\n"
                }
                false => "stage out[j] = reduce k\n  carry.0: f32 = sum(p0[k] * p1[k, j])\n  p2[j] = carry.0\n",
            };
            let text = format!(
                "kernel columns\nparam p0: f32[{k}]\nparam p1: f32[{k}, {n}]\nparam p2: f32[{n}]\n\
                 axis j < {n}\naxis k < {k}\n\n{stages}"
            );
            check_all(&Kernel::parse(&text).unwrap(), &[]);
        }
    }
}

#[test]
fn attention() {
    for causal in [false, true] {
        check_all(&samples::attention(&Size::from(2), &Size::from(5), &Size::from(9), &Size::from(16), causal), &[]);
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
    for value in [1, 17, 40] {
        let bound = [n.bind(value).unwrap()];
        check_all(&samples::softmax(&Size::from(&n), &Size::from(37)), &bound);
        check_all(&samples::softmax(&Size::from(6), &Size::from(&n)), &bound);
        check_all(&samples::matmul_bias(&Size::from(&n), &Size::from(33), &Size::from(20), true), &bound);
    }
}

/// Strict code rounds every operation on its own, in order: it equals the kernel interpreter.
#[test]
fn strict_code_keeps_every_bit() {
    for kernel in [
        samples::mean_variance(&Size::from(9), &Size::from(70)),
        samples::cumsum(&Size::from(9), &Size::from(70), false),
        samples::matmul_bias(&Size::from(13), &Size::from(64), &Size::from(33), false),
    ] {
        for target in targets() {
            check_within(&kernel, &strict_heuristic(&kernel, &target), &target, &[], 0.0);
        }
    }
}

/// Random schedules, compiled: bit for bit for integers; for floats up to the rounding of fused
/// multiply-adds and of elementary functions.
#[test]
fn random_schedules_compile_right() {
    let targets = targets();
    for case in random::cases(40) {
        let _case = random::Case(case);
        let mut rng = random::Rng::new(case + 1);
        let (kernel, vars) = random::kernel(&mut rng);
        let (schedule, _) = random::schedule(&mut rng, &kernel);
        let floats = kernel.params.iter().any(|p| p.dtype.is_float());
        let target = &targets[rng.below(targets.len())];
        check_within(&kernel, &schedule, target, &vars, if floats { 1e-5 } else { 0.0 });
    }
}
