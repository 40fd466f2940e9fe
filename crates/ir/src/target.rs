//! Descriptions of the machines that code is generated for.
//!
//! Schedules and cost estimates read these numbers and nothing else about a target.

/// Instruction set family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

/// A CPU as the compiler sees it. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Instruction set family.
    pub arch: Arch,
    /// LLVM's name of the processor: `x86-64-v3`, `znver3` …
    pub cpu: String,
    /// LLVM's feature string: `+avx2,+fma …`.
    pub features: String,
    /// Width of a vector register.
    pub vector_bytes: usize,
    /// Number of vector registers.
    pub vector_registers: usize,
    /// Whether multiply-add is one instruction with one rounding.
    pub fma: bool,
    /// Whether loads and stores can be masked per lane at no cost.
    pub masks: bool,
    /// First-level data cache.
    pub l1: usize,
    /// Second-level cache of a core.
    pub l2: usize,
    /// Last-level cache.
    pub l3: usize,
    /// Processors. No choice that changes a result may depend on it.
    pub cores: usize,
    /// Units that multiply small matrices.
    pub matrix: MatrixUnits,
}

/// What a CPU has to multiply small matrices, or dot products of narrow floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MatrixUnits {
    /// Dot products of pairs of bf16 in vector registers.
    pub bf16_dot: bool,
    /// Tiles of bf16 and int8 in registers of their own (x86's AMX).
    pub tiles: bool,
}

impl Target {
    /// The names that [`Target::named`] knows.
    pub const NAMES: [&'static str; 4] = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"];

    /// Lanes of a vector of elements of `bytes` bytes.
    pub fn lanes(&self, bytes: usize) -> usize {
        (self.vector_bytes / bytes.max(1)).max(1)
    }

    /// A frozen description, the same on every machine: `x86-64-v2` (SSE4), `x86-64-v3` (AVX2),
    /// `x86-64-v4` (AVX-512) or `aarch64` (NEON).
    pub fn named(name: &str) -> Option<Target> {
        let (arch, vector_bytes, vector_registers, fma, masks) = match name {
            "x86-64-v2" => (Arch::X86_64, 16, 16, false, false),
            "x86-64-v3" => (Arch::X86_64, 32, 16, true, false),
            "x86-64-v4" => (Arch::X86_64, 64, 32, true, true),
            "aarch64" => (Arch::Aarch64, 16, 32, true, false),
            _ => return None,
        };
        let cpu = if arch == Arch::Aarch64 { "generic" } else { name };
        Some(Target {
            arch,
            cpu: cpu.into(),
            features: String::new(),
            vector_bytes,
            vector_registers,
            fma,
            masks,
            l1: 32 << 10,
            l2: 512 << 10,
            l3: 16 << 20,
            cores: 1,
            matrix: MatrixUnits::default(),
        })
    }
}
