//! This machine's description.

use inkwell::targets::TargetMachine;
use std::fs;
use svod_ir::target::{Arch, MatrixUnits, Target};

/// A name that is no target of this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// A name that means nothing.
    #[error("unknown target '{0}': expected native, {names}", names = Target::NAMES.join(", "))]
    Unknown(String),
    /// A target whose instructions this machine does not have.
    #[error("target '{given}' needs instructions that this machine, {machine}, does not have")]
    Missing {
        /// The target.
        given: String,
        /// What the machine is.
        machine: String,
    },
}

/// The target named by `SVOD_TARGET`, as [`named`] knows it, else this machine. A name that is no
/// target of this machine gets one warning and counts as `native`.
pub fn target() -> Target {
    match std::env::var("SVOD_TARGET") {
        Ok(name) if !name.is_empty() => named(&name).unwrap_or_else(|error| {
            eprintln!("svod: SVOD_TARGET: {error}; using native");
            native()
        }),
        _ => native(),
    }
}

/// This machine restricted to the instructions of `x86-64-v2` (SSE4), `x86-64-v3` (AVX2),
/// `x86-64-v4` (AVX-512) or `aarch64` (NEON); or as it is, `native`.
///
/// # Errors
/// A name that means nothing, or instructions that this machine does not have.
pub fn named(name: &str) -> Result<Target, TargetError> {
    let native = native();
    if name == "native" {
        return Ok(native);
    }
    let named = Target::named(name).ok_or_else(|| TargetError::Unknown(name.to_owned()))?;
    if named.arch != native.arch || named.vector_bytes > native.vector_bytes || (named.fma && !native.fma) {
        return Err(TargetError::Missing { given: name.to_owned(), machine: native.cpu });
    }
    Ok(Target { l1: native.l1, l2: native.l2, l3: native.l3, cores: native.cores, ..named })
}

/// Bytes of a last-level cache for each core that uses it, at most: no processor has more. A virtual machine of a few
/// cores is told all of what it shares with others.
const SHARE: usize = 1 << 24;

/// What `x86-64-v4` has of AVX-512.
const AVX512: [&str; 4] = ["avx512f", "avx512vl", "avx512bw", "avx512dq"];

/// This machine, as LLVM and the operating system describe it. AMX counts where the system lets the process use it,
/// unless `SVOD_AMX` is `0`.
pub fn native() -> Target {
    let features = TargetMachine::get_host_cpu_features().to_string();
    let has = |f: &str| has_feature(&features, f);
    let level = if cfg!(target_arch = "aarch64") {
        "aarch64"
    } else if AVX512.iter().all(|f| has(f)) {
        "x86-64-v4"
    } else if has("avx2") && has("fma") {
        "x86-64-v3"
    } else {
        "x86-64-v2"
    };
    let base = Target::named(level).expect("the levels are those of `Target::named`");
    let cpu = TargetMachine::get_host_cpu_name().to_string();
    let cache = |index: usize, other: usize| cache_bytes(index).unwrap_or(other);
    let tiles = std::env::var_os("SVOD_AMX").is_none_or(|v| v.is_empty() || v == "1") && grants_tiles();
    // Processors with AMX take four times as long for a dot product in vectors as for a multiply-add.
    let bf16_dot = has_bf16_dot() && !has("amx-bf16");
    let matrix = MatrixUnits { bf16_dot, tiles, ..MatrixUnits::default() };
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let (l1, l2, l3) = (cache(0, base.l1), cache(2, base.l2), cache(3, base.l3).min(cores * SHARE));
    Target { name: "native".into(), cpu, features, cores, matrix, l1, l2, l3, ..base }
}

/// Whether this machine has dot products of pairs of bf16 in vectors of all lengths that it has.
pub fn has_bf16_dot() -> bool {
    let features = TargetMachine::get_host_cpu_features().to_string();
    let has = |name: &str| has_feature(&features, name);
    match cfg!(target_arch = "aarch64") {
        true => has("bf16"),
        false => has("avx512bf16") && AVX512.iter().all(|name| has(name)),
    }
}

/// Whether this machine multiplies tiles of bf16 (AMX) and the system lets this process do so, which is asked
/// for: Linux keeps the registers' state, 8 KiB a thread, for processes that want it only. The leave is for
/// all threads, now and later, and for what is forked.
pub fn grants_tiles() -> bool {
    let features = TargetMachine::get_host_cpu_features().to_string();
    has_feature(&features, "amx-bf16") && has_feature(&features, "amx-tile") && request_tiles()
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
fn request_tiles() -> bool {
    /// `ARCH_REQ_XCOMP_PERM` and the state component of the tiles' data (Linux, `x86/xstate.rst`).
    const REQUEST: libc::c_ulong = 0x1023;
    const TILE_DATA: libc::c_ulong = 18;
    // SAFETY: the call takes two numbers and touches no memory of the process.
    unsafe { libc::syscall(libc::SYS_arch_prctl, REQUEST, TILE_DATA) == 0 }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
fn request_tiles() -> bool {
    false
}

fn has_feature(features: &str, name: &str) -> bool {
    features.split(',').any(|f| f.strip_prefix('+') == Some(name))
}

/// Major, minor and patch number of the LLVM that is linked.
pub fn llvm_version() -> (u32, u32, u32) {
    inkwell::support::get_llvm_version()
}

/// Whether the target converts between f16 and f32 in hardware.
pub fn has_half(target: &Target) -> bool {
    let named = matches!(target.cpu.as_str(), "x86-64-v3" | "x86-64-v4");
    matches!(target.arch, Arch::Aarch64 | Arch::Nvptx) || named || target.features.contains("+f16c")
}

/// The size of the first processor's cache, as Linux numbers them: 0 is first-level data.
fn cache_bytes(index: usize) -> Option<usize> {
    let text = fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size")).ok()?;
    let text = text.trim();
    let (number, unit) = match text.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => (text.strip_suffix('M')?, 1 << 20),
    };
    number.parse::<usize>().ok().map(|n| n * unit)
}
