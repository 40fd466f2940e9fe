//! Plans built op by op. Contract rows C8, D2, D3, D4, D7.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use svod_device::{Buffer, DeviceSpec};
use svod_dtype::DType;
use svod_ir::size::{Size, Variable};
use svod_runtime::plan::{BuildError, CustomArgs, CustomError, CustomFunction, ExecutionPlanBuilder, PlanOp, Role};
use svod_runtime::{Context, Error, ExecutionPlan, KernelCode, VariableError};

/// out = 2 out + a + 1, elementwise over 4 elements.
unsafe extern "C" fn mix(buffers: *const *mut u8, _: *const i64) {
    // SAFETY: two pointers to 4 floats.
    unsafe {
        let (out, a) = ((*buffers).cast::<f32>(), (*buffers.add(1)).cast::<f32>());
        for i in 0..4 {
            *out.add(i) = (2.0 * *out.add(i) + *a.add(i) + 1.0) % 1009.0;
        }
    }
}

/// out[task] = the value of the first variable, through scratch memory.
unsafe extern "C" fn value(buffers: *const *mut u8, vals: *const i64) {
    // SAFETY: a pointer to floats, one to 8 bytes of scratch; a variable and the task.
    unsafe {
        let scratch = (*buffers.add(1)).cast::<i64>();
        assert!(scratch.is_aligned());
        *scratch = *vals;
        *(*buffers).cast::<f32>().add(*vals.add(1) as usize) = *scratch as f32;
    }
}

fn mix_code(context: &Context) -> Arc<KernelCode> {
    let kernel = Kernel::new("mix", mix, 2, 4);
    Kernel { ins: vec![0, 1], ..kernel }.code(context)
}

fn context() -> Arc<Context> {
    interpreting().0
}

/// A builder with `buffers` buffers of 4 floats.
fn builder(context: &Arc<Context>, buffers: usize) -> ExecutionPlanBuilder {
    let mut builder = ExecutionPlanBuilder::new(context);
    let all = (0..buffers).map(|_| builder.buffer(buffer(context, 4), Role::Output)).collect();
    builder.outputs(all);
    builder
}

fn refused(ops: Vec<PlanOp>, context: &Arc<Context>) -> String {
    let mut builder = builder(context, 3);
    for op in ops {
        builder.op(op);
    }
    builder.build().unwrap_err().to_string()
}

#[test]
fn d2_an_empty_plan_does_nothing() {
    let plan = ExecutionPlanBuilder::new(&context()).build().unwrap();
    plan.execute().unwrap();
    assert_eq!((plan.output_count(), plan.ops().len()), (0, 0));
}

#[test]
fn d2_what_the_builder_refuses() {
    let context = context();
    let code = mix_code(&context);
    let mix = |buffers: &[usize]| PlanOp::kernel(code.clone(), buffers.to_vec());
    let refuse = |ops| refused(ops, &context);

    let silent = PlanOp { outputs: vec![], ..mix(&[0, 1]) };
    assert_eq!(refuse(vec![silent]), "op 0 (mix) has no outputs");
    let beyond = PlanOp { outputs: vec![2], ..mix(&[0, 1]) };
    assert_eq!(refuse(vec![beyond]), "op 0: output 2 is out of range of its 2 buffers");
    assert_eq!(refuse(vec![mix(&[0, 3])]), "op 0: buffer 3 is out of range of the plan's 3");
    assert_eq!(refuse(vec![mix(&[0])]), "op 0 (mix) has 1 buffers where 2 are expected");
    let unknown = PlanOp { dependencies: vec![9], ..mix(&[0, 1]) };
    assert_eq!(refuse(vec![unknown]), "op 0 depends on 9, which is unknown");
    let own = PlanOp { id: Some(5), dependencies: vec![5], ..mix(&[0, 1]) };
    assert_eq!(refuse(vec![own]), "op 0 depends on itself");
    let after_itself = PlanOp { after: vec![0], ..mix(&[0, 1]) };
    assert_eq!(refuse(vec![after_itself]), "op 0 depends on itself");
    let after_unknown = PlanOp { after: vec![7], ..mix(&[0, 1]) };
    assert_eq!(refuse(vec![after_unknown]), "op 0 depends on 7, which is unknown");
    let cycle = vec![PlanOp { after: vec![1], ..mix(&[0, 1]) }, mix(&[1, 0]), mix(&[2, 1])];
    assert_eq!(refuse(cycle), "a cycle blocks op 0 (mix), op 1 (mix), op 2 (mix)");

    let mut small = ExecutionPlanBuilder::new(&context);
    let (a, b) = (small.buffer(buffer(&context, 3), Role::Output), small.buffer(buffer(&context, 4), Role::Given));
    small.op(mix(&[a, b]));
    small.outputs(vec![a]);
    let refusal = small.build().unwrap_err().to_string();
    assert_eq!(refusal, "op 0 (mix) has 12 bytes in a buffer where 16 are expected");

    let mut none = ExecutionPlanBuilder::new(&context);
    none.buffer(buffer(&context, 4), Role::Given);
    assert_eq!(none.build().unwrap_err().to_string(), "the plan has 1 buffers but no outputs");
    let mut far = builder(&context, 2);
    far.outputs(vec![2]);
    assert_eq!(far.build().unwrap_err().to_string(), "plan output 2 is out of range of the plan's 2 buffers");
}

#[test]
fn d2_repeated_ops_resolve_to_the_latest_earlier_one() {
    let context = context();
    let code = mix_code(&context);
    let instance = |id, buffers: [usize; 2], dependencies: &[u64]| PlanOp {
        id: Some(id),
        dependencies: dependencies.to_vec(),
        ..PlanOp::kernel(code.clone(), buffers.to_vec())
    };
    let mut builder = builder(&context, 6);
    // Kernel 10 comes twice; each kernel 20 follows the one just before it.
    for op in [
        instance(10, [0, 5], &[]),
        instance(20, [1, 5], &[10]),
        instance(10, [2, 5], &[20]),
        instance(20, [3, 5], &[10]),
    ] {
        builder.op(op);
    }
    let plan = builder.build().unwrap();
    assert_eq!(plan.levels(), [0, 1, 2, 3]);

    let forward = vec![instance(1, [0, 1], &[2]), instance(2, [1, 2], &[]), instance(2, [2, 1], &[])];
    assert_eq!(refused(forward, &context), "op 0 depends on 2, which is repeated and comes only later");
}

#[test]
fn d2_order_is_by_level_and_then_as_added() {
    let context = context();
    let code = mix_code(&context);
    let mut builder = builder(&context, 6);
    for buffers in [[0, 5], [1, 0], [2, 5], [3, 2], [4, 5]] {
        builder.op(PlanOp::kernel(code.clone(), buffers.to_vec()));
    }
    let plan = builder.build().unwrap();
    assert_eq!(plan.levels(), [0, 1, 0, 1, 0]);
    assert_eq!(plan.order(), [0, 2, 4, 1, 3]);
}

/// Adds its number to a list, and 1 to its first argument.
struct Note {
    number: usize,
    list: Arc<Mutex<Vec<usize>>>,
    result: Result<(), CustomError>,
}

impl CustomFunction for Note {
    fn kind(&self) -> &str {
        "note"
    }

    fn call(&self, args: &CustomArgs) -> Result<(), CustomError> {
        self.list.lock().unwrap().push(self.number);
        self.result.clone()?;
        if let Some(buffer) = args.buffer(0) {
            let plus: Vec<f32> = floats(&buffer.to_vec().unwrap()).iter().map(|v| (v + 1.0) % 1009.0).collect();
            buffer.copy_in(&bytes(&plus)).unwrap();
        }
        Ok(())
    }
}

#[test]
fn d3_the_first_error_stops_the_run_and_names_the_op() {
    let context = context();
    let list = Arc::new(Mutex::new(Vec::new()));
    let run = |result: CustomError| {
        let mut builder = builder(&context, 1);
        for (number, result) in [Ok(()), Err(result), Ok(())].into_iter().enumerate() {
            builder.op(PlanOp::custom(Arc::new(Note { number, list: list.clone(), result }), vec![0], vec![0]));
        }
        let plan = builder.build().unwrap();
        plan.output(0).unwrap().copy_in(&[0; 16]).unwrap();
        let error = plan.execute().unwrap_err();
        assert!(!plan.valid());
        error
    };
    let failed = run(CustomError::Failed("no luck".into()));
    assert_eq!(failed.to_string(), "op 1 (note): no luck");
    assert!(matches!(failed, Error::Execute { op: 1, .. }));
    let unsupported = run(CustomError::Unsupported);
    assert!(matches!(unsupported, Error::Unsupported(_)), "{unsupported}");
    assert_eq!(*list.lock().unwrap(), [0, 1, 0, 1]);
}

#[test]
fn c8_views_must_be_where_they_say() {
    let context = context();
    let build = |offset, view: &dyn Fn(&Buffer) -> Arc<Buffer>| {
        let mut builder = ExecutionPlanBuilder::new(&context);
        let base = buffer(&context, 8);
        let view = view(&base);
        let (base, view) = (builder.buffer(base, Role::Given), builder.buffer(view, Role::Output));
        builder.op(PlanOp::view(view, base, offset));
        builder.outputs(vec![view]);
        builder.build()
    };
    let tail = |base: &Buffer| Arc::new(base.view(16, DType::F32, 4).unwrap());
    build(4, &tail).unwrap().execute().unwrap();
    let wrong = build(3, &tail).unwrap_err();
    assert!(matches!(wrong, BuildError::View { offset: 12, bytes: 16, base_bytes: 32, .. }), "{wrong}");
    // The offset counts elements of the base, the size those of the view.
    let narrow = |base: &Buffer| Arc::new(base.view(12, DType::U8, 5).unwrap());
    build(3, &narrow).unwrap().execute().unwrap();
    let wrong = build(12, &narrow).unwrap_err();
    assert!(matches!(wrong, BuildError::View { offset: 48, bytes: 5, base_bytes: 32, .. }), "{wrong}");
    let past = build(usize::MAX, &tail).unwrap_err();
    assert!(matches!(past, BuildError::View { .. }), "{past}");
    let other = build(0, &|_| buffer(&context, 4)).unwrap_err();
    assert!(matches!(other, BuildError::View { .. }), "{other}");
}

#[test]
fn c8_copies_need_two_buffers_of_one_size() {
    let context = context();
    let mut builder = ExecutionPlanBuilder::new(&context);
    let (a, b) = (builder.buffer(buffer(&context, 4), Role::Output), builder.buffer(buffer(&context, 5), Role::Given));
    builder.op(PlanOp::copy(a, b));
    builder.outputs(vec![a]);
    assert_eq!(builder.build().unwrap_err().to_string(), "op 0 (copy) has 16 bytes where 20 are expected");
    let alone = PlanOp { buffers: vec![0], ..PlanOp::copy(0, 0) };
    assert_eq!(refused(vec![alone], &context), "op 0 (copy) has 1 buffers where 2 are expected");
}

/// A plan of one kernel, whose tasks write the value of `n`.
fn plan_with_n(context: &Arc<Context>, fixed: Vec<(String, i64)>) -> ExecutionPlan {
    let n = Variable::new("n", 0, 8).unwrap();
    let kernel = Kernel::new("value", value, 1, 8);
    let code = Kernel { tasks: Size::from(&n), vars: vec![n], scratch: 8, ..kernel }.code(context);
    let mut builder = ExecutionPlanBuilder::new(context);
    let out = builder.buffer(buffer(context, 8), Role::Output);
    builder.op(PlanOp { fixed, ..PlanOp::kernel(code.clone(), vec![out]) });
    builder.op(PlanOp { fixed: vec![("m".into(), 3)], ..PlanOp::kernel(code, vec![out]) });
    builder.outputs(vec![out]);
    builder.build().unwrap()
}

#[test]
fn d4_variables_change_without_compiling() {
    let plan = plan_with_n(&context(), vec![]);
    assert!(matches!(plan.execute(), Err(Error::Variable(VariableError::Unbound(name))) if name == "n"));
    plan.execute_with_vars(&[("n", 8)]).unwrap();
    assert_eq!(output(&plan, 0), [8.; 8]);
    plan.execute_with_vars(&[("n", 2)]).unwrap();
    assert_eq!(output(&plan, 0), [2., 2., 8., 8., 8., 8., 8., 8.]);
    plan.output(0).unwrap().copy_in(&[0; 32]).unwrap();
    plan.execute().unwrap();
    assert_eq!(output(&plan, 0)[..3], [2., 2., 0.]);
    plan.execute_with_vars(&[("n", 0)]).unwrap();
    assert_eq!(output(&plan, 0)[..3], [2., 2., 0.]);

    let message = |vars: &[(&str, i64)]| plan.execute_with_vars(vars).unwrap_err().to_string();
    assert_eq!(message(&[("n", 9)]), "variable n: 9 is outside [0, 8]");
    assert_eq!(message(&[("n", 5), ("k", 1)]), "unknown variable 'k': the plan has n");
    assert_eq!(message(&[("m", 1)]), "variable 'm' is fixed by the plan");
    assert_eq!(message(&[("core_id", 1)]), "variable 'core_id' is fixed by the plan");
    plan.execute().unwrap();
    assert_eq!(output(&plan, 0)[..3], [2., 2., 0.], "errors changed nothing");

    // Fixed in one kernel and free in the other.
    let plan = plan_with_n(&context(), vec![("n".into(), 8)]);
    plan.execute_with_vars(&[("n", 1)]).unwrap();
    assert_eq!(output(&plan, 0), [1., 8., 8., 8., 8., 8., 8., 8.]);
}

static STOP: AtomicBool = AtomicBool::new(false);
static SLEEPS: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn slow(_: *const *mut u8, _: *const i64) {
    std::thread::sleep(std::time::Duration::from_millis(2));
    if SLEEPS.fetch_add(1, Ordering::Relaxed) == 10 {
        STOP.store(true, Ordering::Relaxed);
    }
}

#[test]
fn an_interrupt_stops_a_run_between_tasks() {
    let context = context();
    context.set_stop_check(Some(|| STOP.load(Ordering::Relaxed)));
    let kernel = Kernel::new("slow", slow, 1, 4);
    let code = Kernel { tasks: Size::from(1_000_000), ..kernel }.code(&context);
    let mut builder = builder(&context, 1);
    builder.op(PlanOp::kernel(code, vec![0]));
    let plan = builder.build().unwrap();
    assert!(matches!(plan.execute(), Err(Error::Interrupted)));
    assert!(!plan.valid());
    STOP.store(false, Ordering::Relaxed);
}

static MET: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Waits a while for another kernel to run at the same time.
unsafe extern "C" fn meet(_: *const *mut u8, _: *const i64) {
    let start = std::time::Instant::now();
    MET.fetch_add(1, Ordering::SeqCst);
    while MOST.fetch_max(MET.load(Ordering::SeqCst), Ordering::SeqCst) < 2 && start.elapsed().as_secs() < 20 {
        std::thread::yield_now();
    }
    MET.fetch_sub(1, Ordering::SeqCst);
}

/// Notes how many kernels run meanwhile.
struct Alone(Arc<Mutex<Vec<usize>>>);

impl CustomFunction for Alone {
    fn kind(&self) -> &str {
        "alone"
    }

    fn call(&self, _: &CustomArgs) -> Result<(), CustomError> {
        self.0.lock().unwrap().push(MET.load(Ordering::SeqCst));
        Ok(())
    }
}

#[test]
fn d3_kernels_of_one_level_run_side_by_side_and_others_are_barriers() {
    let context = context();
    context.set_threads(2);
    let code = Kernel::new("meet", meet, 1, 4).code(&context);
    let mut builder = builder(&context, 4);
    let seen = Arc::new(Mutex::new(Vec::new()));
    builder.op(PlanOp::kernel(code.clone(), vec![0]));
    builder.op(PlanOp::custom(Arc::new(Alone(seen.clone())), vec![2], vec![0]));
    builder.op(PlanOp::custom(Arc::new(Alone(seen.clone())), vec![3], vec![0]));
    builder.op(PlanOp::kernel(code, vec![1]));
    let plan = builder.build().unwrap();
    assert_eq!(plan.levels(), [0; 4]);
    plan.execute().unwrap();
    assert_eq!(MOST.load(Ordering::SeqCst), 2, "both kernels at one time");
    assert_eq!(*seen.lock().unwrap(), [0, 0], "nothing beside a function");
}

/// What an op of a random plan does to two of 4 overlapping windows of a storage, or of another.
#[derive(Clone, Debug)]
enum Act {
    Mix(usize, usize),
    Copy(usize, usize),
    Note(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        6 => (0..8usize, 0..8usize).prop_map(|(a, b)| Act::Mix(a, b)),
        2 => (0..8usize, 0..8usize).prop_map(|(a, b)| Act::Copy(a, b)),
        1 => (0..8usize).prop_map(Act::Note),
    ];
    prop::collection::vec(act, 0..24)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn d3_any_run_equals_running_in_order(acts in acts()) {
        let context = context();
        context.set_threads(3);
        let code = mix_code(&context);
        let bases = [buffer(&context, 10), buffer(&context, 10)];
        let window = |i: usize| Arc::new(bases[i / 4].view(i % 4 * 8, DType::F32, 4).unwrap());
        let mut builder = ExecutionPlanBuilder::new(&context);
        let windows: Vec<Arc<Buffer>> = (0..8).map(window).collect();
        let all = windows.iter().map(|w| builder.buffer(w.clone(), Role::Output)).collect();
        builder.outputs(all);
        let list = Arc::new(Mutex::new(Vec::new()));
        let mut expected = [[0f32; 10]; 2];
        let mut notes = Vec::new();
        for (number, act) in acts.iter().enumerate() {
            let element = |w: usize, i: usize| (w / 4, w % 4 * 2 + i);
            match *act {
                Act::Mix(to, from) => {
                    builder.op(PlanOp::kernel(code.clone(), vec![to, from]));
                    for i in 0..4 {
                        let ((a, b), (c, d)) = (element(to, i), element(from, i));
                        expected[a][b] = (2.0 * expected[a][b] + expected[c][d] + 1.0) % 1009.0;
                    }
                }
                Act::Copy(to, from) => {
                    builder.op(PlanOp::copy(to, from));
                    let source: Vec<f32> = (0..4).map(|i| expected[element(from, i).0][element(from, i).1]).collect();
                    (0..4).for_each(|i| expected[element(to, i).0][element(to, i).1] = source[i]);
                }
                Act::Note(to) => {
                    let note = Note { number, list: list.clone(), result: Ok(()) };
                    builder.op(PlanOp::custom(Arc::new(note), vec![to], vec![0]));
                    notes.push(number);
                    for i in 0..4 {
                        let (a, b) = element(to, i);
                        expected[a][b] = (expected[a][b] + 1.0) % 1009.0;
                    }
                }
            }
        }
        let plan = builder.build().unwrap();
        bases.iter().for_each(|b| b.copy_in(&[0; 40]).unwrap());
        plan.execute().unwrap();
        for (base, expected) in bases.iter().zip(expected) {
            prop_assert_eq!(floats(&base.to_vec().unwrap()), expected);
        }
        let mut ran = list.lock().unwrap().clone();
        ran.sort_unstable();
        prop_assert_eq!(ran, notes);
        // Another instance, with one thread, does the same.
        let other = plan.instance().unwrap();
        context.set_threads(1);
        (0..8).for_each(|i| other.output(i).unwrap().copy_in(&[0; 16]).unwrap());
        other.execute().unwrap();
        for i in 0..8 {
            let at = i % 4 * 2;
            prop_assert_eq!(output(&other, i), &expected[i / 4][at..at + 4]);
        }
    }
}

#[test]
fn a_device_without_memory_is_an_error_and_no_abort() {
    let context = context();
    let huge = context.buffer(&DeviceSpec::CPU, DType::F32, 1 << 50).unwrap();
    let mut builder = ExecutionPlanBuilder::new(&context);
    let out = builder.buffer(Arc::new(huge), Role::Output);
    builder.outputs(vec![out]);
    let error: Error = builder.build().unwrap_err().into();
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
}
