//! Contract A2 and A8: what is known about a program, and where it comes from.
#![allow(clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use common::map_kernel;
use svod_device::program::{Metadata, ProgramError, Stage, StageKind, entry_name, sizes_from_specials};
use svod_device::*;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{ExprPool, Mem, ParamId};
use svod_ir::kernel::Param;
use svod_ir::lowered::{Loop, LoopKind, Lowered, Micro, Phase, Stmt, TileOperand};
use svod_ir::size::{CORE_ID, Size};

fn var(name: &str, min: i64, max: i64) -> Variable {
    Variable::new(name, min, max).unwrap()
}

fn core_id(max: i64) -> Variable {
    Variable::internal(CORE_ID, 0, max).unwrap()
}

fn param() -> Param {
    Param { dtype: DType::F32, shape: vec![Size::from(8)], constant: false }
}

/// A phase that stores, in a loop under a condition, the sum of some slots to others.
fn phase(grid: &[Size], outs: &[u32], ins: &[u32]) -> Phase {
    let mut exprs = ExprPool::new();
    let zero = exprs.index(0);
    // Nothing reaches this load: slot 9 is not used.
    exprs.load(DType::F32, Mem::Param(ParamId(9)), &[zero]);
    let mut value = exprs.constant(Const::zero(DType::F32));
    for slot in ins {
        let x = exprs.load(DType::F32, Mem::Param(ParamId(*slot)), &[zero]);
        value = exprs.alu(Alu::Add, &[value, x]);
    }
    let stores =
        outs.iter().map(|slot| Stmt::Store { to: Mem::Param(ParamId(*slot)), index: vec![zero], value, valid: None });
    let stores = stores.collect();
    let condition = exprs.constant(Const::bool(true));
    let inner = Loop { var: var("k", 0, 0), extent: Size::ONE, kind: LoopKind::Serial };
    let grid = grid.iter().enumerate().map(|(i, extent)| Loop {
        var: var(&format!("g{i}"), 0, 1000),
        extent: extent.clone(),
        kind: LoopKind::Serial,
    });
    let body = vec![Stmt::Loop(inner, vec![Stmt::If(condition, stores)])];
    Phase { grid: grid.collect(), exprs, body, ..Phase::default() }
}

fn kernel(vars: &[Variable], phases: Vec<Phase>) -> Arc<Lowered> {
    Arc::new(Lowered {
        name: "k".into(),
        params: vec![param(); 10],
        vars: vars.into(),
        strict: false,
        guards: Vec::new(),
        phases,
    })
}

fn derive(ast: &Arc<Lowered>, metadata: Metadata) -> Result<ProgramSpec, ProgramError> {
    ProgramSpec::derive(ast, "source".into(), DeviceSpec::CPU, metadata)
}

#[test]
fn a2_compiled_code_is_source_or_bytes_with_sizes_of_one_by_default() {
    let ast = Arc::new(map_kernel(Size::from(var("n", 1, 9)), Alu::Neg));
    let source = CompiledSpec::from_source("f", "text", ast.clone());
    assert_eq!((source.source(), source.bytes(), source.name.as_str()), (Some("text"), None, "f"));
    assert_eq!((source.var_names.as_slice(), source.buffer_count), (["n".to_owned()].as_slice(), 2));
    assert_eq!(source.launches, [LaunchSizes::default()]);
    assert!(source.launches[0].local.is_some());

    let sizes = vec![LaunchSizes::tasks(LaunchExpr::var(var("n", 1, 9)))];
    let sized = CompiledSpec::from_source_with_sizes("f", "text", ast.clone(), sizes.clone());
    assert_eq!(sized.launches, sizes);
    let code = CompiledSpec::from_bytes("f", vec![1, 2], ast);
    assert_eq!((code.source(), code.bytes()), (None, Some(&[1u8, 2][..])));
}

#[test]
fn a8_metadata_is_derived_from_the_kernel() {
    let n = var("n", 1, 30);
    let vars = [n.clone(), var("m", 0, 3), n.clone()];
    let ast = kernel(&vars, vec![phase(&[Size::from(&n), Size::from(4)], &[5, 2], &[7, 2]), phase(&[], &[0], &[5])]);
    let spec = derive(&ast, Metadata::default()).unwrap();
    assert_eq!(spec.var_names(), ["n", "m", "core_id"]);
    assert_eq!((&spec.vars[2], spec.core_id()), (&core_id(119), Some(2)));
    // Slot 2 is updated in place; slot 9 is loaded by no statement.
    assert_eq!(spec.globals, [0, 2, 5, 7]);
    assert_eq!((spec.outs, spec.ins), (vec![0, 2, 5], vec![2, 5, 7]));
    let tasks = |phase: usize| launch_dims(&spec.launches[phase], &|_| Some(5)).unwrap();
    assert_eq!(tasks(0), ConcreteLaunchDims { global: [20, 1, 1], local: None });
    assert_eq!(tasks(1).global, [1, 1, 1]);
    assert_eq!((entry_name("k", 0), entry_name("k", 1)), ("k".into(), "k_1".into()));
}

#[test]
fn a8_a_declared_core_id_sets_the_global_size() {
    let ast = kernel(&[core_id(7), var("n", 0, 1)], vec![phase(&[], &[0], &[])]);
    let spec = derive(&ast, Metadata::default()).unwrap();
    assert_eq!((spec.var_names(), spec.core_id()), (vec!["core_id".into(), "n".into()], Some(0)));
    assert_eq!(spec.launches[0].global[0].as_const(), Some(8));
}

#[test]
fn a8_a_tile_reads_its_result_unless_it_starts_from_zero() {
    let operand = |slot| TileOperand { mem: Mem::Param(ParamId(slot)), index: vec![Size::ZERO], stride: Size::from(4) };
    let ins = |start: Size| {
        let micro = Micro {
            rows: 2,
            cols: 4,
            dtype: DType::F32,
            pairs: false,
            acc: DType::F32,
            depth: Size::from(4),
            start,
            a_panel: false,
            a: operand(1),
            b: operand(2),
            c: operand(0),
            b_offsets: None,
            fetch: None,
        };
        let ast = kernel(&[], vec![Phase { body: vec![Stmt::Micro(micro)], ..Phase::default() }]);
        derive(&ast, Metadata::default()).unwrap().ins
    };
    assert_eq!(ins(Size::ZERO), [1, 2]);
    assert_eq!(ins(Size::from(var("k", 0, 3))), [0, 1, 2]);
}

#[test]
fn a8_given_metadata_wins_where_it_is_not_empty() {
    let ast = kernel(&[], vec![phase(&[], &[0], &[1])]);
    let launches = vec![LaunchSizes::tasks(77.into())];
    let metadata = Metadata {
        name: "mine".into(),
        launches: launches.clone(),
        vars: vec![var("x", 0, 1)],
        globals: vec![3, 1, 0, 1],
        outs: vec![1],
        ins: vec![],
    };
    let spec = derive(&ast, metadata).unwrap();
    assert_eq!((spec.name.as_str(), &spec.launches), ("mine", &launches));
    assert_eq!(spec.var_names(), ["x"]);
    assert_eq!((spec.globals, spec.outs, spec.ins), (vec![0, 1, 3], vec![1], vec![1]));
}

#[test]
fn a8_wrong_metadata_is_an_error() {
    let good = || kernel(&[], vec![phase(&[], &[0], &[1])]);
    let error = |ast: &Arc<Lowered>, metadata| derive(ast, metadata).unwrap_err();
    let plain = |ast: &Arc<Lowered>| error(ast, Metadata::default());

    let none = Arc::new(Lowered { phases: vec![phase(&[], &[0], &[])], ..Lowered::default() });
    assert_eq!(plain(&none), ProgramError::NoBuffers("kernel".into()));
    assert_eq!(plain(&kernel(&[], vec![])), ProgramError::NoGlobals("k".into()));
    assert_eq!(
        error(&kernel(&[], vec![]), Metadata { ins: vec![1], ..Metadata::default() }),
        ProgramError::NoOuts("k".into())
    );
    let far = kernel(&[], vec![phase(&[], &[12], &[])]);
    assert_eq!(plain(&far), ProgramError::SlotOutOfRange { name: "k".into(), slot: 12, params: 10 });
    let missing = Metadata { globals: vec![1, 2], ..Metadata::default() };
    assert_eq!(error(&good(), missing), ProgramError::NotGlobal { name: "k".into(), slot: 0, globals: vec![1, 2] });
    let twice = kernel(&[var("n", 0, 1), var("n", 0, 2)], vec![phase(&[], &[0], &[])]);
    assert!(matches!(plain(&twice), ProgramError::VariableConflict { .. }));
    let launches = Metadata { launches: vec![LaunchSizes::default(); 2], ..Metadata::default() };
    assert!(matches!(error(&good(), launches), ProgramError::Launches { phases: 1, launches: 2, .. }));
    let n = Size::from(var("n", -9, 9));
    let negative = kernel(&n.variables(), vec![phase(&[n.floordiv(2)], &[0], &[])]);
    assert!(matches!(plain(&negative), ProgramError::Grid { phase: 0, .. }));
}

#[test]
fn a8_special_indices_give_launch_sizes() {
    let sizes = |specials: &[&str]| {
        let specials: Vec<_> = specials.iter().zip(2..).map(|(n, size)| (*n, LaunchExpr::from(size))).collect();
        sizes_from_specials(&specials).map(|s| launch_dims(&s, &|_| None).unwrap())
    };
    assert_eq!(sizes(&["g0", "l0", "g2"]).unwrap(), ConcreteLaunchDims { global: [2, 1, 4], local: Some([3, 1, 1]) });
    assert_eq!(sizes(&["i1", "i0"]).unwrap(), ConcreteLaunchDims { global: [3, 2, 1], local: None });
    assert_eq!(sizes(&["gidx1", "lidx2"]).unwrap(), ConcreteLaunchDims { global: [1, 2, 1], local: Some([1, 1, 3]) });
    assert_eq!(sizes(&["idx2", "lidx0"]).unwrap(), ConcreteLaunchDims { global: [1, 1, 2], local: None });
    for bad in [
        ["g3", "l0"],
        ["g0", "g0"],
        ["g0", "i0"],
        ["x0", "g0"],
        ["g", "l"],
        ["g00", "l"],
        ["gidx12", "l0"],
        ["gidx0", "g0"],
        ["gidx", "l0"],
    ] {
        assert!(matches!(sizes(&bad), Err(ProgramError::BadSpecial(_))), "{bad:?}");
    }
}

#[test]
fn a8_a_program_has_its_stages_in_order() {
    let sink = || Stage::Sink(kernel(&[], vec![phase(&[], &[0], &[1])]));
    let (linear, source, binary) = (Stage::Linear(String::new()), Stage::Source("s".into()), Stage::Binary(vec![1]));
    let spec = |stages: &[Stage]| ProgramSpec::from_program(stages, DeviceSpec::CPU, Metadata::default());

    let (program, code) = spec(&[sink(), linear.clone(), source.clone()]).unwrap();
    assert_eq!((program.source.as_str(), program.globals, code.is_none()), ("s", vec![0, 1], true));
    let (_, code) = spec(&[sink(), linear.clone(), source.clone(), binary.clone()]).unwrap();
    assert_eq!(code.unwrap().bytes(), Some(&[1u8][..]));

    let error = |stages: &[Stage]| spec(stages).unwrap_err();
    assert_eq!(error(&[]), ProgramError::NotAProgram);
    assert_eq!(error(&[sink()]), ProgramError::MissingStage(StageKind::Linear));
    assert_eq!(error(&[sink(), linear.clone()]), ProgramError::MissingStage(StageKind::Source));
    let wrong = error(&[sink(), source.clone()]);
    assert_eq!(wrong.to_string(), "not a program: stage 1 is SOURCE where LINEAR is expected");
    assert!(matches!(error(std::slice::from_ref(&linear)), ProgramError::WrongStage { index: 0, .. }));
    let long = [sink(), linear, source, binary.clone(), binary];
    assert!(matches!(error(&long), ProgramError::WrongStage { index: 4, .. }));
}
