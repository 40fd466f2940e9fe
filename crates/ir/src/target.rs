//! Descriptions of the machines that code is generated for.
//!
//! Schedules and cost estimates read these numbers and nothing else about a target: adding a target
//! is adding a row to [`DESCRIPTIONS`]. A description prints as one line and parses back.

use std::fmt;
use std::str::FromStr;
use svod_dtype::DType;

/// Instruction set family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
    /// NVIDIA's GPUs, by PTX.
    Nvptx,
    /// Apple's GPUs.
    Metal,
}

/// A machine as the compiler sees it. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// What it is called: one of [`Target::NAMES`], or `native`.
    pub name: String,
    /// Instruction set family.
    pub arch: Arch,
    /// LLVM's name of the processor: `x86-64-v3`, `znver3` …
    pub cpu: String,
    /// LLVM's feature string: `+avx2,+fma …`.
    pub features: String,
    /// Width of a vector register; on a GPU, of what a warp loads at once: its threads share a vector.
    pub vector_bytes: usize,
    /// Number of vector registers; on a GPU, of those that leave a multiprocessor warps enough to hide latencies.
    pub vector_registers: usize,
    /// Whether multiply-add is one instruction with one rounding.
    pub fma: bool,
    /// Whether loads and stores can be masked per lane at no cost.
    pub masks: bool,
    /// First-level data cache.
    pub l1: usize,
    /// Second-level cache: of a core, or of a GPU.
    pub l2: usize,
    /// Last-level cache.
    pub l3: usize,
    /// Processors; on a GPU, multiprocessors. No choice that changes a result may depend on it.
    pub cores: usize,
    /// Units that multiply small matrices.
    pub matrix: MatrixUnits,
    /// Groups of threads that run together; none on a CPU.
    pub groups: Option<Groups>,
}

/// What a machine has to multiply small matrices, or dot products of narrow floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MatrixUnits {
    /// Dot products of pairs of bf16 in vector registers.
    pub bf16_dot: bool,
    /// Tiles of bf16 and int8 in registers of their own (x86's AMX), and leave to use them.
    pub tiles: bool,
    /// Rows, columns and depth of a product of f16 that a warp makes at once (tensor cores).
    pub warp: Option<(u32, u32, u32)>,
}

/// Depth and columns of attention by tensor cores are multiples of this, and at most as many.
const ATTENTION_STEP: i64 = 8;
const MOST_ATTENTION: i64 = 256;

impl MatrixUnits {
    /// Whether code generation has whole kernels of attention for these units: queries and keys of `depth` elements,
    /// values of `columns`, all of this type.
    pub fn have_attention(&self, dtype: DType, depth: i64, columns: i64) -> bool {
        let narrow = matches!(dtype, DType::BF16 | DType::F16);
        let fits = |n: i64| (1..=MOST_ATTENTION).contains(&n) && n % ATTENTION_STEP == 0;
        self.warp == Some((16, 8, 16)) && narrow && fits(depth) && fits(columns)
    }
}

/// How threads of a GPU come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Groups {
    /// Threads in lockstep.
    pub warp: usize,
    /// Threads of a group at most.
    pub threads: usize,
    /// Memory that a group shares.
    pub shared: usize,
}

impl Groups {
    /// Warps of a group at most.
    pub fn warps(&self) -> usize {
        self.threads / self.warp.max(1)
    }
}

/// The frozen descriptions, the same on every machine.
#[rustfmt::skip]
const DESCRIPTIONS: [&str; 7] = [
    "name=x86-64-v2 arch=x86_64 cpu=x86-64-v2 vector_bytes=16 vector_registers=16 fma=no masks=no l1=32768 l2=524288 l3=16777216 cores=1",
    "name=x86-64-v3 arch=x86_64 cpu=x86-64-v3 vector_bytes=32 vector_registers=16 fma=yes masks=no l1=32768 l2=524288 l3=16777216 cores=1",
    "name=x86-64-v4 arch=x86_64 cpu=x86-64-v4 vector_bytes=64 vector_registers=32 fma=yes masks=yes l1=32768 l2=524288 l3=16777216 cores=1",
    "name=aarch64 arch=aarch64 cpu=generic vector_bytes=16 vector_registers=32 fma=yes masks=no l1=32768 l2=524288 l3=16777216 cores=1",
    // Compute capability 8.0 (A100) and 9.0 (H100): CUDA C++ Programming Guide, technical specifications.
    "name=cuda-sm80 arch=nvptx cpu=sm_80 vector_bytes=512 vector_registers=24 fma=yes masks=yes l1=196608 l2=41943040 l3=41943040 cores=108 \
     warp=32 threads=1024 shared=166912 mma=16x8x16",
    "name=cuda-sm90 arch=nvptx cpu=sm_90 vector_bytes=512 vector_registers=24 fma=yes masks=yes l1=262144 l2=52428800 l3=52428800 cores=132 \
     warp=32 threads=1024 shared=232448 mma=16x8x16",
    // Metal Feature Set Tables, Apple7 (M1): `simdgroup_matrix` is 8 x 8.
    "name=metal-apple7 arch=metal cpu=apple7 vector_bytes=16 vector_registers=128 fma=yes masks=yes l1=8192 l2=786432 l3=8388608 cores=8 \
     warp=32 threads=1024 shared=32768 mma=8x8x8",
];

impl Target {
    /// The names that [`Target::named`] knows.
    pub const NAMES: [&'static str; 7] =
        ["x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64", "cuda-sm80", "cuda-sm90", "metal-apple7"];

    /// Lanes of a vector of elements of `bytes` bytes.
    pub fn lanes(&self, bytes: usize) -> usize {
        (self.vector_bytes / bytes.max(1)).max(1)
    }

    /// Whether whole kernels of products are made of elements of a type, with sums of another, and results of a third one: int8 and uint8
    /// are summed in int32, and floats in f32, of which those of 8 bits are multiplied from compute capability 9.0 on.
    pub fn multiplies(&self, dtype: DType, carried: DType, out: DType) -> bool {
        let units = self.matrix.warp.is_some();
        let stored = match out {
            DType::BF16 | DType::F16 | DType::F32 => true,
            DType::I32 => carried == DType::I32,
            DType::I8 | DType::U8 | DType::F8E4M3 | DType::F8E5M2 => dtype != DType::F32,
            _ => false,
        };
        if !stored {
            return false;
        }
        match (dtype, carried) {
            (DType::BF16 | DType::F16 | DType::F32, DType::F32) => units,
            (DType::F8E4M3 | DType::F8E5M2, DType::F32) => units && self.cpu == "sm_90",
            (DType::I8 | DType::U8, DType::I32) => self.matrix.warp == Some((16, 8, 16)),
            _ => false,
        }
    }

    /// A frozen description, the same on every machine: `x86-64-v2` (SSE4), `x86-64-v3` (AVX2),
    /// `x86-64-v4` (AVX-512), `aarch64` (NEON), or a GPU: `cuda-sm80`, `cuda-sm90`, `metal-apple7`.
    pub fn named(name: &str) -> Option<Target> {
        let text = Target::NAMES.iter().position(|known| *known == name).map(|i| DESCRIPTIONS[i])?;
        text.parse().ok()
    }
}

/// A text that describes no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` in the description of a target: expected {expected}")]
pub struct ParseTargetError {
    /// The part that is wrong or missing.
    pub word: String,
    /// What was expected.
    pub expected: &'static str,
}

const ARCHS: [(&str, Arch); 4] =
    [("x86_64", Arch::X86_64), ("aarch64", Arch::Aarch64), ("nvptx", Arch::Nvptx), ("metal", Arch::Metal)];

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let yes = |flag: bool| if flag { "yes" } else { "no" };
        let arch = ARCHS.iter().find(|(_, a)| *a == self.arch).map_or("?", |(name, _)| name);
        write!(f, "name={} arch={arch} cpu={}", self.name, self.cpu)?;
        if !self.features.is_empty() {
            write!(f, " features={}", self.features)?;
        }
        write!(f, " vector_bytes={} vector_registers={}", self.vector_bytes, self.vector_registers)?;
        write!(f, " fma={} masks={}", yes(self.fma), yes(self.masks))?;
        write!(f, " l1={} l2={} l3={} cores={}", self.l1, self.l2, self.l3, self.cores)?;
        let MatrixUnits { bf16_dot, tiles, warp } = self.matrix;
        for (word, has) in [(" bf16_dot=yes", bf16_dot), (" tiles=yes", tiles)] {
            f.write_str(if has { word } else { "" })?;
        }
        if let Some(Groups { warp, threads, shared }) = self.groups {
            write!(f, " warp={warp} threads={threads} shared={shared}")?;
        }
        warp.map_or(Ok(()), |(m, n, k)| write!(f, " mma={m}x{n}x{k}"))
    }
}

impl FromStr for Target {
    type Err = ParseTargetError;

    /// Reads `key=value` words in any order. `features`, `bf16_dot`, `tiles` and, together, `warp`,
    /// `threads` and `shared` may be absent, as may `mma`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: Vec<(&str, &str)> = text.split_whitespace().filter_map(|w| w.split_once('=')).collect();
        let find = |key: &str| words.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
        let error = |key: &str, expected| {
            let word = find(key).map_or_else(|| key.to_owned(), |v| format!("{key}={v}"));
            ParseTargetError { word, expected }
        };
        let word = |key: &str| find(key).map(str::to_owned).ok_or_else(|| error(key, "a word"));
        let number = |key: &str| find(key).and_then(|v| v.parse().ok()).ok_or_else(|| error(key, "a number"));
        let flag = |key: &str| match find(key) {
            Some("yes") => Ok(true),
            Some("no") | None => Ok(false),
            Some(_) => Err(error(key, "yes or no")),
        };
        let arch = ARCHS.iter().find(|(name, _)| Some(*name) == find("arch"));
        let product = |text: &str| {
            let parts: Vec<u32> = text.split('x').map_while(|n| n.parse().ok()).collect();
            <[u32; 3]>::try_from(parts).map(|[m, n, k]| (m, n, k)).map_err(|_| error("mma", "rows x columns x depth"))
        };
        let groups = || Ok(Groups { warp: number("warp")?, threads: number("threads")?, shared: number("shared")? });
        Ok(Target {
            name: word("name")?,
            arch: arch.map(|(_, a)| *a).ok_or_else(|| error("arch", "x86_64, aarch64, nvptx or metal"))?,
            cpu: word("cpu")?,
            features: find("features").unwrap_or_default().to_owned(),
            vector_bytes: number("vector_bytes")?,
            vector_registers: number("vector_registers")?,
            fma: flag("fma")?,
            masks: flag("masks")?,
            l1: number("l1")?,
            l2: number("l2")?,
            l3: number("l3")?,
            cores: number("cores")?,
            matrix: MatrixUnits {
                bf16_dot: flag("bf16_dot")?,
                tiles: flag("tiles")?,
                warp: find("mma").map(product).transpose()?,
            },
            groups: find("warp").map(|_| groups()).transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn c10_descriptions_have_their_names_and_come_back() {
        for name in Target::NAMES {
            let target = Target::named(name).unwrap();
            assert_eq!(target.name, name);
            assert_eq!(target.to_string().parse::<Target>().unwrap(), target);
            let gpu = matches!(target.arch, Arch::Nvptx | Arch::Metal);
            assert_eq!((target.groups.is_some(), target.matrix.warp.is_some()), (gpu, gpu), "{name}");
        }
        assert_eq!(Target::named("cuda-sm90").unwrap().groups.unwrap().warps(), 32);
        assert_eq!(Target::named("pdp-11"), None);
    }

    #[test]
    fn c10_a_wrong_description_is_refused_by_its_word() {
        let whole = Target::named("cuda-sm80").unwrap().to_string();
        for (from, to, word) in [
            ("cores=108", "", "cores"),
            ("fma=yes", "fma=maybe", "fma=maybe"),
            ("arch=nvptx", "arch=vax", "arch=vax"),
            ("mma=16x8x16", "mma=16x8", "mma=16x8"),
            ("shared=166912", "", "shared"),
        ] {
            let error = whole.replace(from, to).parse::<Target>().unwrap_err();
            assert_eq!(error.word, word);
        }
    }
}
