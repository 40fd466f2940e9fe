//! Golden texts of what loops are cut into: calls, in order, and where carried values, rows and results are.
//! `SVOD_BLESS=1` rewrites them.

use super::support::{Memory, memory, numbers, shape};
use super::{float, op};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::buffer::HostBuffer;
use svod_ir::graph::key::GraphKey;
use svod_ir::graph::{Graph, Leaf, LeafClass, UOp};
use svod_ir::size::{Size, Variable};
use svod_schedule::{Item, PreSchedule, Purpose, Slot, create_pre_schedule};

type Refused = Box<dyn std::error::Error>;

/// A parameter like a value.
fn param(like: &UOp, slot: u32) -> Leaf {
    let own = Memory { class: LeafClass::Input(slot), ..memory(HostBuffer::from_i64(DType::F32, [])) };
    Leaf::new(Arc::new(own), 0, DType::F32, like.shape().into())
}

/// The values after so many iterations of `body`, which gives what is carried on, then rows.
fn repeated(name: &str, trips: i64, carried: &[UOp], body: impl FnOnce(&Size, &[UOp]) -> Vec<UOp>) -> Vec<UOp> {
    let var = Variable::internal(name, 0, trips - 1).unwrap();
    let params: Vec<Leaf> = carried.iter().zip(0..).map(|(value, slot)| param(value, slot)).collect();
    let inside: Vec<UOp> = params.iter().map(|param| UOp::leaf(param.clone()).unwrap()).collect();
    let results = body(&Size::from(&var), &inside);
    let mut outside = |node: &UOp, slot: u32| Ok::<_, Refused>(param(node, slot));
    UOp::iterate(&var, carried, params, &results, &mut outside).unwrap()
}

/// What a schedule does, a line a call.
fn text(schedule: &PreSchedule) -> String {
    let slot = |slot: &Slot| match slot {
        Slot::Leaf(n) => format!("leaf {n}"),
        Slot::Buffer(n) => format!("buffer {n}"),
        Slot::Numbers(n) => format!("numbers {n}"),
    };
    let slots = |of: &[Slot]| of.iter().map(slot).collect::<Vec<_>>().join(", ");
    let mut text = String::new();
    for (n, buffer) in schedule.buffers.iter().enumerate() {
        let extents: Vec<String> = buffer.shape.iter().map(Size::to_string).collect();
        writeln!(text, "buffer {n}: {}[{}]", buffer.dtype, extents.join(", ")).unwrap();
    }
    for (n, call) in schedule.invocations.iter().enumerate() {
        let item = match &call.item {
            Item::Kernel(k) => format!("kernel {k}"),
            Item::Copy => "copy".to_owned(),
            Item::View { offset } => format!("view from {offset}"),
            Item::Row { var, each } => format!("row {} of {each}", var.name()),
            Item::Host { function, .. } => format!("host {function}"),
        };
        let written = schedule.written(call);
        let read: Vec<Slot> = call.args.iter().copied().filter(|arg| !written.contains(arg)).collect();
        let fixed: Vec<String> = call.fixed.iter().map(|(name, value)| format!(" {name}={value}")).collect();
        let line = format!("{n}: {} = {item}({}){}", slots(written), slots(&read), fixed.concat());
        writeln!(text, "{line}, reads {:?}, after {:?}", call.dependencies, call.after).unwrap();
    }
    writeln!(text, "outputs: {}", slots(&schedule.outputs)).unwrap();
    for (n, kernel) in schedule.kernels.iter().enumerate() {
        write!(text, "\nkernel {n}: {kernel}").unwrap();
    }
    text
}

fn check(name: &str, roots: &[UOp]) {
    let graph = Graph::new(roots);
    let key = GraphKey::new(&graph).unwrap();
    let text = text(&create_pre_schedule(&graph, &key, Purpose::default()).unwrap());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cut").join(format!("{name}.txt"));
    if std::env::var_os("SVOD_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(known, text, "{} differs; `make bless` rewrites it", path.display());
}

fn row_of(table: &UOp, at: &Size) -> UOp {
    let rest = table.shape()[1..].iter().map(|n| (Size::ZERO, n.clone()));
    let one: Vec<(Size, Size)> = [(at.clone(), at + 1)].into_iter().chain(rest).collect();
    table.shrink(one).unwrap().reshape(table.shape()[1..].to_vec()).unwrap()
}

#[test]
fn a_carried_value() {
    let x = numbers(&[4]);
    check("carried", &repeated("loop.0", 3, &[x], |_, v| vec![op(Alu::Mul, &[&v[0], &float(2.0)])]));
}

#[test]
fn a_carried_value_of_the_loops_own() {
    // What nobody else wants is written in its place, without a copy.
    let x = numbers(&[4]);
    let begin = op(Alu::Exp2, &[&x]).contiguous().unwrap();
    check("carried_in_place", &repeated("loop.0", 3, &[begin], |_, v| vec![op(Alu::Sin, &[&v[0]])]));
}

#[test]
fn values_that_trade_places() {
    let [x, y] = [numbers(&[4]), numbers(&[4])];
    check("traded", &repeated("loop.0", 3, &[x, y], |_, v| vec![v[1].clone(), op(Alu::Sin, &[&v[0]])]));
}

#[test]
fn rows_of_a_table_that_are_stacked() {
    let [x, table] = [numbers(&[4]), numbers(&[3, 4])];
    let body = |at: &Size, v: &[UOp]| {
        let next = op(Alu::Add, &[&v[0], &row_of(&table, at)]);
        vec![next.clone(), v[0].clone(), op(Alu::Sin, &[&next])]
    };
    check("rows", &repeated("loop.0", 3, &[x], body));
}

#[test]
fn a_loop_in_a_loop() {
    let x = numbers(&[4]);
    let body = |_: &Size, v: &[UOp]| {
        let inner = repeated("loop.1", 2, &v[..1], |_, w| vec![op(Alu::Sin, &[&w[0]]), w[0].clone()]);
        let rows = inner[1].reshape(shape(&[8]).to_vec()).unwrap();
        vec![op(Alu::Exp2, &[&inner[0]]), rows]
    };
    check("nested", &repeated("loop.0", 2, &[x], body));
}

#[test]
fn loops_that_compute_nothing() {
    let [x, y] = [numbers(&[4]), numbers(&[4])];
    check("nothing", &repeated("loop.0", 3, &[x, y], |_, v| v.to_vec()));
}
