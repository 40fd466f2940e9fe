//! Kernels that are written as wholes in place of loop trees: what they give, beside what the loops give.

use super::{Map, Program, run};
use std::ops::Range;
use svod_codegen::gpu::{Argument, Call, MapArgument};
use svod_dtype::{Const, DType};
use svod_ir::buffer::HostBuffer;
use svod_ir::lowered::Lowered;

/// Numbers from -2 to 2, or all integers of 8 bits.
fn drawn(dtype: DType, count: usize, seed: u64) -> HostBuffer {
    let number = |i: u64| (i + 1).wrapping_mul((2 * seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)) >> 52;
    if dtype.is_int() {
        return HostBuffer::from_i64(dtype, (0..count as u64).map(|i| number(i) as i64 >> 2));
    }
    HostBuffer::from_f64(dtype, (0..count as u64).map(|i| number(i) as f64 / 1024.0 - 2.0))
}

/// The bytes of numbers, whose start is aligned to 16.
struct Aligned {
    dtype: DType,
    bytes: Vec<u8>,
    start: usize,
}

impl Aligned {
    fn new(data: &HostBuffer) -> Aligned {
        let dtype = data.dtype();
        let encoded = |x: Const| x.to_le_bytes().into_iter().take(dtype.bytes());
        let numbers: Vec<u8> = data.iter().flat_map(encoded).collect();
        let mut bytes = vec![0; numbers.len() + 16];
        let start = bytes.as_ptr().align_offset(16);
        bytes[start..start + numbers.len()].copy_from_slice(&numbers);
        Aligned { dtype, bytes, start }
    }

    fn at(&mut self) -> *mut u8 {
        self.bytes[self.start..].as_mut_ptr()
    }

    fn range(&mut self) -> Range<usize> {
        let (at, count) = (self.at() as usize, self.bytes.len() - 16);
        at..at + count
    }

    fn numbers(&self) -> Vec<f64> {
        let all = self.bytes[self.start..self.start + self.bytes.len() - 16].chunks_exact(self.dtype.bytes());
        let bits = |b: &[u8]| b.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        all.map(|b| Const::from_bits(self.dtype, bits(b)).as_f64()).collect()
    }
}

/// Runs kernels one after the other, and compares the last argument of the loops with what these give.
pub fn check(lowered: &Lowered, kernels: &[(Program, &Call)]) {
    let count = |n: usize| lowered.params[n].shape.iter().map(|e| e.as_const().unwrap() as usize).product();
    let params = 0..lowered.params.len();
    let mut arguments: Vec<HostBuffer> = params.map(|n| drawn(lowered.params[n].dtype, count(n), n as u64)).collect();
    let mut memory: Vec<Aligned> = arguments.iter().map(Aligned::new).collect();
    lowered.interpret(&[], &mut arguments).unwrap();
    // What is not written is no number.
    let mut scratch = vec![u128::MAX; kernels[0].1.scratch as usize / 16 + 1];
    let scratch_at = scratch.as_mut_ptr().cast::<u8>();
    for (program, call) in kernels {
        assert_eq!(Call::parse(&call.to_string()).as_ref(), Some(*call));
        let starts: Vec<*mut u8> = memory.iter_mut().map(Aligned::at).collect();
        let mut ranges: Vec<Range<usize>> = memory.iter_mut().map(Aligned::range).collect();
        ranges.push(scratch_at as usize..scratch_at as usize + 16 * scratch.len());
        let map = |of: &MapArgument| {
            let mut sizes = [1; 4];
            sizes.iter_mut().zip(&of.sizes).for_each(|(to, n)| *to = *n as usize);
            let mut strides = [0; 3];
            strides.iter_mut().zip(&of.strides).for_each(|(to, n)| *to = *n as usize / of.dtype.bytes());
            Map {
                start: of.param.map_or(scratch_at, |n| starts[n]).wrapping_add(of.offset as usize),
                bytes: of.dtype.bytes(),
                sizes,
                strides,
                region: [of.region[0] as usize, of.region[1] as usize],
            }
        };
        let maps: Vec<Map> = call
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
                Argument::Scratch(offset) => scratch_at as u64 + offset,
            })
            .collect();
        run(program, &parameters, call.blocks as usize, &ranges, 3).unwrap();
    }
    let (found, expected) = (memory.last().unwrap().numbers(), arguments.last().unwrap().to_f64());
    let rounds = match arguments.last().unwrap().dtype() {
        dtype if dtype.is_int() => 0.0,
        // A bit of three.
        DType::F8E4M3 => 0.125,
        _ => 0.02,
    };
    for (at, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= rounds * b.abs().max(1.0), "{at}: {a} {b}\n{lowered}");
    }
}

/// Runs kernels one after the other over arguments.
pub fn launch(kernels: &[(Program, &Call)], memory: &mut [HostBuffer], seed: u64) {
    let mut scratch = vec![u128::MAX; kernels[0].1.scratch as usize / 16 + 1];
    let scratch_at = scratch.as_mut_ptr().cast::<u8>() as usize;
    let starts: Vec<usize> = memory.iter_mut().map(|data| data.bytes_mut().as_mut_ptr() as usize).collect();
    let mut ranges: Vec<Range<usize>> =
        starts.iter().zip(memory.iter()).map(|(at, data)| *at..at + data.bytes().len()).collect();
    ranges.push(scratch_at..scratch_at + 16 * scratch.len());
    for (program, call) in kernels {
        assert_eq!(Call::parse(&call.to_string()).as_ref(), Some(*call));
        let parameter = |argument: &Argument| match argument {
            Argument::Map(_) => panic!("no tensor map is made here"),
            Argument::Pointer(param, offset) => starts[*param] as u64 + offset,
            Argument::Number(number) => *number as u64,
            Argument::Scratch(offset) => scratch_at as u64 + offset,
        };
        let parameters: Vec<u64> = call.arguments.iter().map(parameter).collect();
        run(program, &parameters, call.blocks as usize, &ranges, seed).unwrap();
    }
}
