//! Loop trees that are attention, as kernels of their own: what these are given, and results in a simulator, beside those of
//! the loops.
#![allow(clippy::unwrap_used)]

mod simulator;

use svod_codegen::gpu::attention::whole;
use svod_codegen::gpu::{self, Alignment, Argument, Call, Runner};
use svod_ir::lowered::Lowered;
use svod_ir::target::Target;

/// Attention of views of one argument, `[sentence, row, 3 × 2 heads, 8]`, written so; with what becomes of scores and results.
fn loops(rows: i64, score: &str, value: &str) -> Lowered {
    let score = |j: &str| score.replace('J', j);
    let text = format!(
        "lowered attention
param p0: bf16[2, {rows}, 6, 8]
param p1: f32[2, {rows}]
param p2: bf16[8]
param p3: bf16[2, {rows}, 2, 8]

phase
grid b < 2, h < 2, i < {rows}
temp s: f32[{rows}] scratch
temp s_acc: f32[1] register
temp m: f32[1] register
temp w: f32[{rows}] scratch
temp t: f32[1] register
temp o: f32[8] scratch
temp o_acc: f32[1] register
{{
  serial j0 < {rows} {{
    s_acc[0] = f32(0.0)
    serial d < 8 {{
      s_acc[0] = s_acc[0] + cast(f32, p0[b, i, h, d]) * cast(f32, p0[b, j0, h + 2, d])
    }}
    s[j0] = s_acc[0]
  }}
  m[0] = f32(-inf)
  serial j1 < {rows} {{
    m[0] = max(m[0], {})
  }}
  serial j2 < {rows} {{
    w[j2] = exp({} - m[0])
  }}
  t[0] = f32(0.0)
  serial j3 < {rows} {{
    t[0] = t[0] + w[j3]
  }}
  serial c < 8 {{
    o_acc[0] = f32(0.0)
    serial j4 < {rows} {{
      o_acc[0] = o_acc[0] + w[j4] * cast(f32, p0[b, j4, h + 4, c])
    }}
    o[c] = o_acc[0]
  }}
  serial e < 8 {{
    p3[b, i, h, e] = cast(bf16, {value})
  }}
}}
",
        score("j1"),
        score("j2"),
    );
    Lowered::parse(&text).unwrap()
}

fn check(lowered: &Lowered, target: &Target, alignment: Alignment) {
    let found = lowered.attention().unwrap_or_else(|| panic!("{lowered}"));
    let kernels = whole(lowered, &found, target, alignment, Runner::Simulator).unwrap().unwrap();
    let program = |kernel| -> simulator::Program {
        let kernel: &svod_codegen::gpu::attention::Kernel = kernel;
        let (entry, threads) = (kernel.launch.entry.as_str(), kernel.launch.threads as usize);
        simulator::Program { entry, object: kernel.code().unwrap(), threads, cluster: 1 }
    };
    let launched: Vec<_> = kernels.iter().map(|(kernel, call)| (program(kernel), call)).collect();
    simulator::loops::check(lowered, &launched);
}

#[test]
fn kernels_of_loops_give_what_the_loops_give() {
    let (new, old) = (Target::named("cuda-sm90").unwrap(), Target::named("cuda-sm80").unwrap());
    let plain = "s[J] * f32(0.4)";
    let causal = "where(J <= i, s[J] * f32(0.4), f32(-inf))";
    let masked = "s[J] * f32(0.4) + p1[b, J]";
    let mean = "o[e] / t[0]";
    let shifted = "o[e] / t[0] * f32(2.0) + cast(f32, p2[e])";
    for (rows, score, value) in
        [(80, plain, mean), (70, causal, shifted), (90, masked, mean), (3, masked, shifted), (17, causal, mean)]
    {
        let lowered = loops(rows, score, value);
        check(&lowered, &new, Alignment::Widest);
        check(&lowered, &old, Alignment::Widest);
        check(&lowered, &new, Alignment::Element);
    }
}

#[test]
fn plans_have_the_kernels() {
    let lowered = loops(256, "where(J <= i, s[J] * f32(0.4) + p1[b, J], f32(-inf))", "o[e] / t[0]");
    let target = Target::named("cuda-sm90").unwrap();
    let object = gpu::compile(&lowered, &target, Runner::Driver, Alignment::Widest).unwrap();
    let ptx = String::from_utf8(object.bytes).unwrap();
    assert!(ptx.contains("wgmma.mma_async") && !ptx.contains("call.uni"), "{ptx}");
    let [phase] = &object.phases[..] else { panic!("{:?}", object.phases) };
    let maps = |call: &Call| call.arguments.iter().filter(|a| matches!(a, Argument::Map(_))).count();
    assert!(phase.whole.as_ref().is_some_and(|call| maps(call) >= 3));
    // Few rows: keys in parts, and what puts these together.
    let text = loops(8192, "s[J]", "o[e] / t[0]").to_string();
    let text = text.replace("i < 8192", "i < 2").replace("p3: bf16[2, 8192,", "p3: bf16[2, 2,");
    let few = Lowered::parse(&text).unwrap();
    let object = gpu::compile(&few, &target, Runner::Driver, Alignment::Widest).unwrap();
    let calls: Vec<&Call> = object.phases.iter().filter_map(|phase| phase.whole.as_ref()).collect();
    assert_eq!(calls.iter().map(|call| call.follows).collect::<Vec<_>>(), [false, true]);
    assert!(calls[0].scratch > 0 && calls[1].scratch == 0);
    assert_eq!(object.bytes.iter().filter(|byte| **byte == 0).count(), 1);
}
