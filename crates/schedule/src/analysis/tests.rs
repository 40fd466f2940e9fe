#![allow(clippy::unwrap_used)]
use super::*;
use crate::language::Schedule;
use svod_ir::kernel::Kernel;
use svod_ir::size::{Size, Variable};

fn item(data: &[usize], control: &[usize], ns: Option<f64>) -> Item {
    let analysis = ns.map(|estimated_ns| ItemAnalysis { estimated_ns, ..ItemAnalysis::default() });
    Item {
        op: None,
        name: "item".into(),
        what: What::HostCallback,
        context: ItemContext { device: "CPU".into(), stream: 0, dims: 0, upcasted: 0 },
        reads: vec![],
        writes: vec![],
        data: data.to_vec(),
        control: control.to_vec(),
        origins: vec![],
        analysis,
    }
}

fn buffer(lifetime: Option<(usize, usize)>, alias_group: usize, offset: u64, bytes: u64) -> BufferInfo {
    BufferInfo {
        dtype: "float32".into(),
        layout: Layout::row_major(&[Size::from(bytes as i64 / 4)]),
        scope: MemoryScope::Global,
        device: "CPU".into(),
        bytes,
        input: false,
        output: false,
        lifetime,
        alias_group,
        offset,
    }
}

/// An analysis of these items, with its critical path.
fn analysis(items: Vec<Item>) -> Analysis {
    let (critical_path, estimated_total_ns) = Analysis::longest(&items).unwrap();
    Analysis { items, critical_path, estimated_total_ns, ..Analysis::default() }
}

const MATMUL: &str = "kernel mm\nparam p0: f32[64, 32]\nparam p1: f32[64]\naxis i < 64\naxis k < 32\nstage out[i] = reduce k\n  \
                      carry.0: f32 = sum(p0[i, k])\n  p1[i] = carry.0\n";

#[test]
fn e4_the_critical_path_has_the_largest_sum_of_costs() {
    // 0 -> 1 -> 3 and 0 -> 2 -> 3, where 2 takes longer; what is unknown or shorter counts as 1.
    let items = vec![
        item(&[], &[], Some(10.0)),
        item(&[0], &[], Some(5.0)),
        item(&[], &[0], Some(7.5)),
        item(&[1, 2], &[], Some(0.25)),
        item(&[], &[], None),
    ];
    assert_eq!(Analysis::longest(&items).unwrap(), (vec![0, 2, 3], 18.5));
    assert_eq!(Analysis::longest(&items[4..]).unwrap(), (vec![0], 1.0));
    assert_eq!(Analysis::longest(&[]).unwrap(), (vec![], 0.0));
}

#[test]
fn e4_cycles_and_unknown_predecessors_are_errors() {
    let cycle = [item(&[1], &[], None), item(&[], &[0], None), item(&[], &[], None)];
    assert_eq!(Analysis::longest(&cycle).unwrap_err(), AnalysisError::Cycle(vec![0, 1]));
    let unknown = [item(&[7], &[], None)];
    let error = Analysis::longest(&unknown).unwrap_err();
    assert_eq!(error.to_string(), "item 0 waits for item 7, but there are 1");
}

#[test]
fn e4_the_peak_counts_shared_bytes_once() {
    let buffers = [
        buffer(Some((0, 1)), 0, 0, 100),
        buffer(Some((1, 2)), 0, 100, 50),
        // A view of the second.
        buffer(Some((2, 2)), 0, 120, 20),
        buffer(Some((0, 0)), 1, 0, 30),
        buffer(None, 2, 0, 1000),
    ];
    assert_eq!(Analysis::peak(&buffers, 3), 150);
    assert_eq!(Analysis::peak(&buffers, 0), 0);
}

#[test]
fn e3_strides_are_row_major_and_an_extent_of_0_counts_as_1() {
    let n: Size = (&Variable::new("n", 1, 8).unwrap()).into();
    let layout = Layout::row_major(&[2.into(), n.clone(), 0.into(), 3.into()]);
    assert_eq!(layout.strides, [n * 3, 3.into(), 3.into(), 1.into()]);
    assert_eq!((layout.alignment, layout.vector_width), (16, 1));
    assert!(Layout::row_major(&[]).strides.is_empty());
}

#[test]
fn e3_a_schedule_maps_axes_to_loops() {
    let kernel = Kernel::parse(MATMUL).unwrap();
    let steps =
        "split out.i.0 by 16 rest\nbind out.i.0 task\nsplit out.k.0 by 8 rest\nbind out.k.1 vector\nrfactor out.k.1";
    let schedule: Schedule = steps.parse().unwrap();
    let space = iteration_space(&kernel, &schedule);
    let axes: Vec<(&str, Role)> = space.axes.iter().map(|a| (a.name.as_str(), a.role)).collect();
    assert_eq!(axes, [("out.i", Role::Normal), ("out.k", Role::Reduction)]);
    assert_eq!(space.tiles, [vec![16], vec![8]]);
    let mapping = [(0, Mapping::Block), (0, Mapping::Serial), (1, Mapping::Serial), (1, Mapping::Vector)];
    assert_eq!(space.mapping, mapping.map(|(axis, to)| LoopInfo { axis, to }));
    assert_eq!(hints(&kernel, &schedule), [Hint::Vectorize(8)]);
    let found = reductions(&kernel, &schedule);
    assert_eq!((found[0].by.as_str(), found[0].within, found[0].across), ("sum", Within::Tree, None));
    assert_eq!(reductions(&kernel, &Schedule::default())[0].within, Within::Sequential);
}

#[test]
fn e4_every_invariant_is_checked() {
    let sound = || {
        let mut a = analysis(vec![item(&[], &[], Some(2.0)), item(&[0], &[], None)]);
        a.buffers = vec![buffer(Some((0, 1)), 0, 0, 64)];
        a.items[0].writes = vec![0];
        a.items[1].reads = vec![0];
        let kernel = Kernel::parse(MATMUL).unwrap();
        let space = iteration_space(&kernel, &Schedule::default());
        a.items[0].what = What::Kernel(Box::new(KernelInfo { space, ..KernelInfo::default() }));
        a
    };
    sound().validate().unwrap();
    fn space(a: &mut Analysis) -> &mut IterationSpace {
        let What::Kernel(kernel) = &mut a.items[0].what else { panic!("a kernel") };
        &mut kernel.space
    }
    fn hint(a: &mut Analysis, hint: Hint) {
        let What::Kernel(kernel) = &mut a.items[0].what else { panic!("a kernel") };
        kernel.hints.push(hint);
    }
    type Break = fn(&mut Analysis);
    let breaks: &[(Break, &str)] = &[
        (|a| a.items[0].control.push(9), "item 0 waits for item 9, but there are 2"),
        (|a| a.items[0].data.push(1), "a cycle"),
        (|a| a.items[1].reads.push(4), "item 1: buffer 4 of 1"),
        (|a| a.buffers[0].lifetime = Some((0, 0)), "item 1: buffer 0 is not alive"),
        (|a| a.buffers[0].lifetime = Some((0, 5)), "buffer 0: lifetime 0..=5 of 2 items"),
        (|a| a.buffers[0].layout.strides.clear(), "buffer 0: 0 strides for 1 extents"),
        (|a| a.buffers[0].layout.alignment = 12, "buffer 0: alignment 12 is no power of two"),
        (|a| a.buffers[0].layout.vector_width = 0, "buffer 0: vectors of no elements"),
        (|a| space(a).mapping.push(LoopInfo { axis: 5, to: Mapping::Serial }), "item 0: a loop over axis 5 of 2"),
        (|a| drop(space(a).tiles.pop()), "item 0: tiles of 1 axes, but there are 2"),
        (|a| space(a).tiles[0].push(4), "item 0: axis 0 has 1 loops and tiles [4]"),
        (|a| hint(a, Hint::Unroll(0)), "item 0: Unroll(0) says nothing"),
        (|a| a.items[0].analysis.as_mut().unwrap().occupancy = 1.5, "item 0: occupancy 1.5 is not from 0 to 1"),
        (|a| a.items[0].analysis.as_mut().unwrap().flops = f64::NAN, "item 0: NaN is not an amount"),
        (|a| a.items[0].analysis.as_mut().unwrap().packed_bytes[1] = -1.0, "item 0: -1 is not an amount"),
        (|a| a.items[0].analysis.as_mut().unwrap().measured_ns = Some(f64::INFINITY), "item 0: inf is not an amount"),
        (|a| a.items[0].data.push(0), "a cycle: items [0, 1] wait"),
        (|a| hint(a, Hint::Vectorize(0)), "item 0: Vectorize(0) says nothing"),
        (
            |a| hint(a, Hint::Prefetch { read: "p0".into(), ahead: 0 }),
            "item 0: Prefetch { read: \"p0\", ahead: 0 } says nothing",
        ),
        (
            |a| {
                let strided = Strided { shape: vec![4, 8], from: vec![8, 1], to: vec![1] };
                a.items[0].what = What::Transfer { asynchronous: false, strided: Some(strided) };
            },
            "item 0: 2 and 1 distances for 2 extents",
        ),
        (|a| hint(a, Hint::Pipeline(0)), "item 0: Pipeline(0) says nothing"),
        (|a| space(a).tiles[0] = vec![0], "item 0: axis 0 has 1 loops and tiles [0]"),
        (|a| a.buffers[0].lifetime = None, "buffer 0 is not alive: None"),
        (|a| a.buffers[0].lifetime = Some((1, 0)), "item 0: buffer 0 is not alive"),
        (|a| a.critical_path = vec![7], "step of the critical path 0: item 7 of 2"),
        (
            |a| {
                let found =
                    Opportunity { producer: 0, consumer: 1, kind: Fusion::Mixed, benefit: 1.5, bytes_saved: 1.0 };
                a.opportunities.push(found);
            },
            "opportunity 0: items 0 and 1 of 2, benefit 1.5",
        ),
        (|a| a.critical_path = vec![1, 0], "step of the critical path 1: item 0 does not wait"),
        (|a| a.estimated_total_ns = 7.0, "costs add up to 3, not 7"),
        (
            |a| {
                let found =
                    Opportunity { producer: 1, consumer: 1, kind: Fusion::Mixed, benefit: 0.5, bytes_saved: 1.0 };
                a.opportunities.push(found);
            },
            "opportunity 0: items 1 and 1 of 2",
        ),
    ];
    for (break_it, message) in breaks {
        let mut broken = sound();
        break_it(&mut broken);
        let error = broken.validate().expect_err(message).to_string();
        assert!(error.contains(message), "{error:?} instead of {message:?}");
    }
}

#[test]
fn e3_items_are_transfers_synchronizations_and_callbacks_too() {
    let mut a =
        analysis(vec![item(&[], &[], None), item(&[], &[0], None), item(&[], &[1], None), item(&[], &[2], None)]);
    let strided = Strided { shape: vec![2, 3, 4], from: vec![24, 8, 1], to: vec![12, 4, 1] };
    a.items[0].what = What::Transfer { asynchronous: true, strided: Some(strided) };
    a.items[1].what = What::Synchronization { what: Synchronization::Event(3), scope: Scope::System };
    a.items[2].what = What::View { offset: 16 };
    a.validate().unwrap();
    assert_eq!(a.critical_path, [0, 1, 2, 3]);
    assert!(a.to_string().contains("0 kernels, 3 other items in 2 levels"), "{a}");
    let text = a.detail(0);
    assert!(text.contains("while the host goes on, [2, 3, 4] at distances [24, 8, 1] to [12, 4, 1]"), "{text}");
    // What no plan makes, too.
    for what in [Synchronization::Barrier, Synchronization::Fence, Synchronization::Event(7)] {
        for scope in [Scope::Threadgroup, Scope::Device, Scope::System] {
            a.items[1].what = What::Synchronization { what, scope };
            a.validate().unwrap();
            assert!(a.items[1].is_synchronization() && a.items[1].cost() == 1.0);
        }
    }
    a.items[1].control = vec![4];
    assert_eq!(a.validate().unwrap_err().to_string(), "item 1 waits for item 4, but there are 4");
}
