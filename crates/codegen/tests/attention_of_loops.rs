//! Loop trees that are attention, as kernels of their own: what these are given, and results in a simulator, beside those of
//! the loops.
#![allow(clippy::unwrap_used)]

mod simulator;

use std::ops::Range;
use svod_codegen::gpu::attention::whole;
use svod_codegen::gpu::{self, Alignment, Argument, Call, MapArgument, Runner};
use svod_dtype::DType;
use svod_ir::buffer::HostBuffer;
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

/// Numbers from -2 to 2.
fn drawn(dtype: DType, count: usize, seed: u64) -> HostBuffer {
    let number = |i: u64| ((i + 1).wrapping_mul((2 * seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)) >> 52) as f64;
    HostBuffer::from_f64(dtype, (0..count as u64).map(|i| number(i) / 1024.0 - 2.0))
}

/// The bytes of numbers, whose start is aligned to 16.
struct Aligned(Vec<u8>, usize);

impl Aligned {
    fn new(data: &HostBuffer) -> Aligned {
        let encoded = |x: f64| match data.dtype() {
            DType::F32 => (x as f32).to_le_bytes().to_vec(),
            _ => half::bf16::from_f64(x).to_le_bytes().to_vec(),
        };
        let numbers: Vec<u8> = data.to_f64().into_iter().flat_map(encoded).collect();
        let mut bytes = vec![0; numbers.len() + 16];
        let start = bytes.as_ptr().align_offset(16);
        bytes[start..start + numbers.len()].copy_from_slice(&numbers);
        Aligned(bytes, start)
    }

    fn at(&mut self) -> *mut u8 {
        self.0[self.1..].as_mut_ptr()
    }

    fn range(&mut self) -> Range<usize> {
        let (at, count) = (self.at() as usize, self.0.len() - 16);
        at..at + count
    }

    fn numbers(&self) -> Vec<f64> {
        let all = self.0[self.1..self.1 + self.0.len() - 16].chunks_exact(2);
        all.map(|b| half::bf16::from_le_bytes([b[0], b[1]]).to_f64()).collect()
    }
}

fn check(lowered: &Lowered, target: &Target, alignment: Alignment) {
    let found = lowered.attention().unwrap_or_else(|| panic!("{lowered}"));
    let count = |n: usize| lowered.params[n].shape.iter().map(|e| e.as_const().unwrap() as usize).product();
    let mut arguments: Vec<HostBuffer> = (0..4).map(|n| drawn(lowered.params[n].dtype, count(n), n as u64)).collect();
    let mut memory: Vec<Aligned> = arguments.iter().map(Aligned::new).collect();
    lowered.interpret(&[], &mut arguments).unwrap();
    let kernels = whole(lowered, &found, target, alignment, Runner::Simulator).unwrap().unwrap();
    let mut scratch = vec![0u128; kernels[0].1.scratch as usize / 16 + 1];
    let scratch_at = scratch.as_mut_ptr() as u64;
    for (kernel, call) in &kernels {
        assert_eq!(Call::parse(&call.to_string()).as_ref(), Some(call));
        let starts: Vec<*mut u8> = memory.iter_mut().map(Aligned::at).collect();
        let mut ranges: Vec<Range<usize>> = memory.iter_mut().map(Aligned::range).collect();
        ranges.push(scratch_at as usize..scratch_at as usize + 16 * scratch.len());
        let map = |of: &MapArgument| {
            let sizes: Vec<usize> = of.sizes.iter().map(|n| *n as usize).collect();
            let strides: Vec<usize> = of.strides.iter().map(|n| *n as usize / of.dtype.bytes()).collect();
            simulator::Map {
                start: starts[of.param].wrapping_add(of.offset as usize),
                sizes: sizes.try_into().unwrap(),
                strides: strides.try_into().unwrap(),
                region: [of.region[0] as usize, of.region[1] as usize],
            }
        };
        let maps: Vec<simulator::Map> = call
            .arguments
            .iter()
            .filter_map(|argument| if let Argument::Map(of) = argument { Some(map(of)) } else { None })
            .collect();
        let mut next = maps.iter();
        let parameters: Vec<u64> = call
            .arguments
            .iter()
            .map(|argument| match argument {
                Argument::Map(_) => std::ptr::from_ref(next.next().unwrap()) as u64,
                Argument::Pointer(param, offset) => starts[*param] as u64 + offset,
                Argument::Number(number) => *number as u64,
                Argument::Scratch => scratch_at,
            })
            .collect();
        let program = simulator::Program {
            entry: &kernel.launch.entry,
            object: kernel.code().unwrap(),
            threads: kernel.launch.threads as usize,
            cluster: 1,
        };
        simulator::run(&program, &parameters, call.blocks as usize, &ranges, 3).unwrap();
    }
    for (at, (a, b)) in memory[3].numbers().iter().zip(arguments[3].to_f64()).enumerate() {
        assert!((a - b).abs() <= 0.02 * b.abs().max(1.0), "{at}: {a} {b}\n{found}");
    }
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
