//! What instructions for pairs of bf16 do, after the Intel 64 and IA-32 Architectures Software Developer's Manual.

use std::cell::RefCell;
use svod_codegen::load::Address;

/// The number whose bits are those of a bf16.
pub fn bf16(word: u32, upper: bool) -> f32 {
    f32::from_bits(if upper { word & 0xFFFF_0000 } else { word << 16 })
}

/// A subnormal number counts as 0.
fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0.0f32.copysign(x) } else { x }
}

fn add_product(sum: f32, a: f32, b: f32) -> f32 {
    flushed(flushed(a).mul_add(flushed(b), flushed(sum)))
}

/// What `vdpbf16ps` makes of one lane.
pub fn vdpbf16ps(sum: f32, a: u32, b: u32) -> f32 {
    [true, false].into_iter().fold(sum, |sum, upper| add_product(sum, bf16(a, upper), bf16(b, upper)))
}

/// What `tdpbf16ps` makes of one sum.
pub fn tdpbf16ps(sum: f32, a: &[u32], b: &[u32]) -> f32 {
    let [lower, upper] = [false, true].map(|upper| {
        let products = a.iter().zip(b).map(|(a, b)| (bf16(*a, upper), bf16(*b, upper)));
        products.fold(0.0, |sum, (a, b)| add_product(sum, a, b))
    });
    flushed(sum + flushed(lower + upper))
}

/// The registers of a thread: how many lines and bytes of a line there are of each, and what is in them.
#[derive(Default)]
struct Registers {
    configured: bool,
    shapes: [(usize, usize); 8],
    words: [[[u32; 16]; 16]; 8],
}

thread_local! {
    static REGISTERS: RefCell<Registers> = RefCell::default();
}

fn with(register: u8, what: impl FnOnce(&mut Registers, usize, (usize, usize))) {
    REGISTERS.with_borrow_mut(|r| {
        let n = usize::from(register);
        let shape = r.shapes[n];
        assert!(r.configured && shape.0 > 0 && shape.1 > 0, "register {n} is not configured");
        what(r, n, shape);
    });
}

/// # Safety
/// The configuration has 64 bytes.
unsafe extern "C" fn ldtilecfg(config: *const u8) {
    // SAFETY: the caller's promise.
    let bytes = unsafe { std::slice::from_raw_parts(config, 64) };
    let zeros = [&bytes[1..16], &bytes[32..48], &bytes[56..64]].concat();
    assert!(bytes[0] == 1 && zeros.iter().all(|b| *b == 0), "{bytes:?}");
    REGISTERS.with_borrow_mut(|r| {
        *r = Registers { configured: true, ..Registers::default() };
        for (n, shape) in r.shapes.iter_mut().enumerate() {
            *shape =
                (usize::from(bytes[48 + n]), usize::from(bytes[16 + 2 * n]) + 256 * usize::from(bytes[17 + 2 * n]));
            assert!(
                shape.0 <= 16 && shape.1 <= 64 && shape.1 % 4 == 0 && (shape.0 == 0) == (shape.1 == 0),
                "{bytes:?}"
            );
        }
    });
}

extern "C" fn tilerelease() {
    REGISTERS.take();
}

extern "C" fn tilezero(register: u8) {
    with(register, |r, n, _| r.words[n] = Default::default());
}

/// # Safety
/// What the register's shape covers, in lines `stride` bytes apart, is there.
unsafe extern "C" fn tileloadd64(register: u8, from: *const u8, stride: i64) {
    with(register, |r, n, (lines, bytes)| {
        r.words[n] = Default::default();
        for (l, line) in r.words[n].iter_mut().enumerate().take(lines) {
            let at = from.wrapping_offset(l as isize * stride as isize).cast::<u32>();
            // SAFETY: the caller's promise.
            line.iter_mut().take(bytes / 4).enumerate().for_each(|(w, word)| *word = unsafe { at.add(w).read() });
        }
    });
}

/// # Safety
/// As [`tileloadd64`], and nobody else uses it.
unsafe extern "C" fn tilestored64(register: u8, to: *mut u8, stride: i64) {
    with(register, |r, n, (lines, bytes)| {
        for (l, line) in r.words[n].iter().enumerate().take(lines) {
            let at = to.wrapping_offset(l as isize * stride as isize).cast::<u32>();
            // SAFETY: the caller's promise.
            line.iter().take(bytes / 4).enumerate().for_each(|(w, word)| unsafe { at.add(w).write(*word) });
        }
    });
}

extern "C" fn add_products(c: u8, a: u8, b: u8) {
    let mut operands = Vec::new();
    for register in [a, b] {
        with(register, |r, n, shape| operands.push((r.words[n], shape)));
    }
    let [(a, (rows, depth)), (b, (steps, width))] = operands[..] else { return };
    with(c, |r, n, shape| {
        assert!(shape == (rows, width) && steps * 4 == depth, "{shape:?} of {rows} x {depth} and {steps} x {width}");
        for (row, line) in a.iter().enumerate().take(rows) {
            for column in 0..width / 4 {
                let of_b: Vec<u32> = b.iter().take(steps).map(|line| line[column]).collect();
                let sum = &mut r.words[n][row][column];
                *sum = tdpbf16ps(f32::from_bits(*sum), &line[..steps], &of_b).to_bits();
            }
        }
    });
}

/// What stands for an instruction of AMX.
pub fn address(name: &str) -> Option<Address> {
    let address = match name {
        "ldtilecfg" => ldtilecfg as *const () as usize,
        "tilerelease" => tilerelease as *const () as usize,
        "tilezero" => tilezero as *const () as usize,
        "tileloadd64" => tileloadd64 as *const () as usize,
        "tilestored64" => tilestored64 as *const () as usize,
        "tdpbf16ps" => add_products as *const () as usize,
        _ => return None,
    };
    Some(Address(address))
}
