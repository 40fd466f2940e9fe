//! The table of what is inline PTX (PTX ISA 8.3): LLVM 19 has no intrinsics for these.

use std::fmt::{Display, Write as _};
use svod_dtype::DType;

/// What instructions of PTX do, as a simulator is asked for it. Operands are numbers of 8 bytes each, of which smaller ones fill the
/// lower part; results are numbers of 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Operation {
    /// Makes an mbarrier of so many arrivals.
    BarrierInit,
    /// Makes new mbarriers known to the asynchronous proxy and to the cluster.
    BarrierFence,
    /// Arrives, and expects so many bytes.
    BarrierExpect,
    /// Arrives.
    BarrierArrive,
    /// Arrives at the mbarrier of a block of the cluster. A release to the cluster would cost a fence of the whole GPU; what
    /// is released here was read by products only, which are over.
    BarrierArriveRemote,
    /// Waits until the phase of this parity is over.
    BarrierWait,
    /// All threads of a block.
    Sync,
    /// Some threads of a block, by a barrier of their own: its number, and how many they are.
    SyncGroup,
    /// All threads of a cluster.
    SyncCluster,
    /// Which block of its cluster this is.
    ClusterRank,
    /// A number that is the same in all lanes, where the compiler does not see it.
    Uniform,
    /// Gives registers back.
    RegistersLess,
    /// Takes the registers of two warpgroups of 232.
    RegistersMore,
    /// Brings a tensor map into the cache.
    MapPrefetch,
    /// Copies a box to shared memory: destination, map, mbarrier, coordinates.
    TmaLoad,
    /// As [`Operation::TmaLoad`], to all blocks of a mask.
    TmaLoadMulticast,
    /// Copies a box from shared memory: map, source, coordinates.
    TmaStore,
    /// Ends a group of stores.
    TmaCommit,
    /// Waits until all groups but the last one have read their source.
    TmaWaitRead,
    /// Waits until all stores are done.
    TmaWait,
    /// Makes what was written to shared memory known to the asynchronous proxy.
    ProxyFence,
    /// Orders accesses to registers before products.
    WgmmaFence,
    /// Ends a group of products.
    WgmmaCommit,
    /// Waits for all groups but the last one.
    WgmmaWaitOne,
    /// Of bf16.
    MmaBf16,
    /// Of f16.
    MmaF16,
    /// Copies 16 bytes to shared memory, asynchronously: destination, source, how many are there; the others are 0.
    Copy16,
    /// Copies 8 bytes.
    Copy8,
    /// Copies 4 bytes.
    Copy4,
    /// Ends a group of copies.
    CopyCommit,
    /// Waits for all groups.
    CopyWait0,
    /// Waits for all groups but one.
    CopyWait1,
    /// Waits for all groups but two.
    CopyWait2,
    /// Waits for all groups but three.
    CopyWait3,
    /// Loads 16 bits where a number is not 0, and 0 elsewhere.
    LoadB16,
    /// Loads 16 bytes of shared memory.
    LoadShared,
    /// Loads 16 bytes of the shared memory of a block of the cluster.
    LoadRemote,
    /// Stores 16 bytes in shared memory.
    StoreShared,
    /// Two floats as bf16, the first one in the upper half.
    PackBf16,
    /// Two floats as f16, the first one in the upper half.
    PackF16,
    /// Loads four matrices of 8 x 8 elements of 16 bits: lanes give addresses of rows.
    LoadMatrices,
    /// As [`Operation::LoadMatrices`], transposed.
    LoadTransposed,
    /// Stores four matrices of 8 x 8 elements of 16 bits: lanes give addresses of rows.
    StoreMatrices,
    /// A float.
    StoreF32,
    /// The lower half of a word.
    StoreB16,
    /// A word.
    StoreB32,
    /// Two floats, aligned to 8 bytes.
    StoreF32Pair,
    /// A product of a warpgroup. Operands: how many sums, whether A and B are transposed, which [`Factor`] elements are, sums,
    /// descriptors of A and B, whether the sums count.
    Wgmma,
    /// Waits for all groups of products of a warpgroup but the last ones. Operands: how many sums, how many groups may be on their
    /// way, and the sums, which are the results.
    WgmmaWait,
    /// As [`Operation::TmaLoad`], of four dimensions.
    TmaLoad4,
    /// As [`Operation::TmaStore`], of four dimensions.
    TmaStore4,
    /// Waits until all groups have read their source.
    TmaWaitReadAll,
    /// Two warpgroups: waits for the other one.
    TurnWait,
    /// Two warpgroups: arrives where the other one waits.
    TurnGive,
    /// A power of two.
    Exp2,
    /// The number of the lane whose number differs by these bits.
    ShuffleXor,
    /// As [`Operation::Wgmma`], with A in registers. Operands: how many sums, whether B is transposed, which [`Factor`] elements are, sums,
    /// four registers of A, the descriptor of B, whether the sums count.
    WgmmaRegisters,
    /// The 32 threads of a warp.
    SyncWarp,
    /// Loads a word where a number is not 0, and 0 elsewhere.
    LoadB32,
    /// Loads a float.
    LoadF32,
    /// Loads two floats of shared memory.
    LoadSharedPair,
    /// Stores two floats in shared memory.
    StoreSharedPair,
    /// The lanes of the warp with the same byte: a bit each.
    Alike,
    /// A number, and that of the lane so many before, if there is one.
    ScanStep,
    /// Loads a word of shared memory.
    LoadSharedWord,
    /// Stores a word in shared memory.
    StoreSharedWord,
    /// Loads 8 bytes of shared memory.
    LoadSharedLong,
    /// Stores 8 bytes in shared memory.
    StoreSharedLong,
    /// Adds to a word of shared memory.
    AddShared,
    /// Adds to a word of the GPU's memory.
    AddGlobal,
    /// Adds to a word of the GPU's memory, and gives what it was.
    TakeGlobal,
    /// Loads a word that other blocks write meanwhile.
    LoadFlag,
    /// Stores a word that other blocks read meanwhile.
    StoreFlag,
    /// Of int8, with sums of int32.
    MmaI8,
    /// Of uint8.
    MmaU8,
    /// Some bytes of two words, which a number says.
    Permute,
    /// Loads a byte where a number is not 0, and 0 elsewhere.
    LoadB8,
    /// The lowest byte of a word.
    StoreB8,
}

impl Operation {
    /// All of them, by number.
    pub const ALL: &[Operation] = &[
        Operation::BarrierInit,
        Operation::BarrierFence,
        Operation::BarrierExpect,
        Operation::BarrierArrive,
        Operation::BarrierArriveRemote,
        Operation::BarrierWait,
        Operation::Sync,
        Operation::SyncGroup,
        Operation::SyncCluster,
        Operation::ClusterRank,
        Operation::Uniform,
        Operation::RegistersLess,
        Operation::RegistersMore,
        Operation::MapPrefetch,
        Operation::TmaLoad,
        Operation::TmaLoadMulticast,
        Operation::TmaStore,
        Operation::TmaCommit,
        Operation::TmaWaitRead,
        Operation::TmaWait,
        Operation::ProxyFence,
        Operation::WgmmaFence,
        Operation::WgmmaCommit,
        Operation::WgmmaWaitOne,
        Operation::MmaBf16,
        Operation::MmaF16,
        Operation::Copy16,
        Operation::Copy8,
        Operation::Copy4,
        Operation::CopyCommit,
        Operation::CopyWait0,
        Operation::CopyWait1,
        Operation::CopyWait2,
        Operation::CopyWait3,
        Operation::LoadB16,
        Operation::LoadShared,
        Operation::LoadRemote,
        Operation::StoreShared,
        Operation::PackBf16,
        Operation::PackF16,
        Operation::LoadMatrices,
        Operation::LoadTransposed,
        Operation::StoreMatrices,
        Operation::StoreF32,
        Operation::StoreB16,
        Operation::StoreB32,
        Operation::StoreF32Pair,
        Operation::Wgmma,
        Operation::WgmmaWait,
        Operation::TmaLoad4,
        Operation::TmaStore4,
        Operation::TmaWaitReadAll,
        Operation::TurnWait,
        Operation::TurnGive,
        Operation::Exp2,
        Operation::ShuffleXor,
        Operation::WgmmaRegisters,
        Operation::SyncWarp,
        Operation::LoadB32,
        Operation::LoadF32,
        Operation::LoadSharedPair,
        Operation::StoreSharedPair,
        Operation::Alike,
        Operation::ScanStep,
        Operation::LoadSharedWord,
        Operation::StoreSharedWord,
        Operation::LoadSharedLong,
        Operation::StoreSharedLong,
        Operation::AddShared,
        Operation::AddGlobal,
        Operation::TakeGlobal,
        Operation::LoadFlag,
        Operation::StoreFlag,
        Operation::MmaI8,
        Operation::MmaU8,
        Operation::Permute,
        Operation::LoadB8,
        Operation::StoreB8,
    ];
}

/// Elements that tensor cores multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Factor {
    /// `float16`.
    F16,
    /// `bfloat16`.
    Bf16,
    /// `int8`.
    I8,
    /// `uint8`.
    U8,
    /// `float8_e4m3fn`.
    E4m3,
    /// `float8_e5m2`.
    E5m2,
}

impl Factor {
    /// All of them, by number.
    pub const ALL: [Factor; 6] = [Factor::F16, Factor::Bf16, Factor::I8, Factor::U8, Factor::E4m3, Factor::E5m2];

    /// Elements of a type, where tensor cores have these.
    pub fn of(dtype: DType) -> Option<Factor> {
        Some(match dtype {
            DType::F16 => Factor::F16,
            DType::BF16 => Factor::Bf16,
            DType::I8 => Factor::I8,
            DType::U8 => Factor::U8,
            DType::F8E4M3 => Factor::E4m3,
            DType::F8E5M2 => Factor::E5m2,
            _ => return None,
        })
    }

    /// Depth of a product of a warpgroup: 32 bytes.
    pub fn depth(self) -> u32 {
        if matches!(self, Factor::F16 | Factor::Bf16) { 16 } else { 32 }
    }

    /// Whether sums are of int32; else they are of f32.
    pub fn is_integer(self) -> bool {
        matches!(self, Factor::I8 | Factor::U8)
    }

    /// LLVM's type of a sum, and PTX's constraint.
    pub(super) fn sum(self) -> (&'static str, &'static str) {
        if self.is_integer() { ("i32", "r") } else { ("float", "f") }
    }

    /// PTX's name.
    fn name(self) -> &'static str {
        match self {
            Factor::F16 => "f16",
            Factor::Bf16 => "bf16",
            Factor::I8 => "s8",
            Factor::U8 => "u8",
            Factor::E4m3 => "e4m3",
            Factor::E5m2 => "e5m2",
        }
    }
}

/// An instruction of PTX.
#[derive(Debug)]
pub struct Ptx {
    /// What it is to a simulator.
    pub(super) operation: Operation,
    /// Its text; operands are `$0`, `$1` …, a result first.
    text: &'static str,
    /// Types of operands: `r` i32, `h` i16, `l` i64, `f` float, `p` pointer, `g` pointer to global memory.
    operands: &'static str,
    /// Types of results, as of operands. Several are a struct.
    result: &'static str,
    /// Whether it does more than compute a value.
    effect: bool,
}

/// LLVM's type and PTX's constraint of an operand.
fn kind(letter: char) -> (&'static str, char) {
    match letter {
        'r' => ("i32", 'r'),
        'h' => ("i16", 'h'),
        'l' => ("i64", 'l'),
        'f' => ("float", 'f'),
        'p' => ("ptr", 'l'),
        'g' => ("ptr addrspace(1)", 'l'),
        _ => unreachable!("the table has no other letter"),
    }
}

/// The text of a product of a warp.
macro_rules! mma {
    ($shape:literal, $sum:literal, $ty:literal) => {
        concat!(
            "mma.sync.aligned.",
            $shape,
            ".row.col.",
            $sum,
            ".",
            $ty,
            ".",
            $ty,
            ".",
            $sum,
            " {$0, $1, $2, $3}, {$8, $9, $10, $11}, {$12, $13}, {$4, $5, $6, $7};"
        )
    };
}

impl Ptx {
    const fn effect(operation: Operation, operands: &'static str, text: &'static str) -> Ptx {
        Ptx { operation, text, operands, result: "", effect: true }
    }

    const fn shared_load(operation: Operation, result: &'static str, text: &'static str) -> Ptx {
        Ptx { operation, text, operands: "r", result, effect: true }
    }

    const fn value(operation: Operation, operands: &'static str, result: &'static str, text: &'static str) -> Ptx {
        Ptx { operation, text, operands, result, effect: false }
    }

    /// LLVM's types of operands.
    pub(super) fn operands(&self) -> impl Iterator<Item = &'static str> {
        self.operands.chars().map(|c| kind(c).0)
    }

    /// LLVM's types of results.
    pub(super) fn results(&self) -> Vec<&'static str> {
        self.result.chars().map(|c| kind(c).0).collect()
    }

    /// The call with these operands.
    pub(super) fn call(&self, operands: &[&dyn Display]) -> String {
        debug_assert_eq!(operands.len(), self.operands.len(), "{}", self.text);
        let mut constraints: Vec<String> = self.result.chars().map(|c| format!("={}", kind(c).1)).collect();
        constraints.extend(self.operands.chars().map(|c| kind(c).1.to_string()));
        if self.effect {
            constraints.push("~{memory}".into());
        }
        let results: Vec<&str> = self.result.chars().map(|c| kind(c).0).collect();
        let result = match results[..] {
            [] => "void".into(),
            [one] => one.into(),
            _ => format!("{{{}}}", results.join(", ")),
        };
        let arguments: Vec<String> =
            self.operands.chars().zip(operands).map(|(c, operand)| format!("{} {operand}", kind(c).0)).collect();
        let effect = if self.effect { "sideeffect " } else { "" };
        let (text, constraints, arguments) = (self.text, constraints.join(","), arguments.join(", "));
        format!("call {result} asm {effect}\"{text}\", \"{constraints}\"({arguments}) #9")
    }
}

// Barriers.

/// Makes an mbarrier of so many arrivals.
pub const BARRIER_INIT: Ptx = Ptx::effect(Operation::BarrierInit, "rr", "mbarrier.init.shared::cta.b64 [$0], $1;");
/// Makes new mbarriers known to the asynchronous proxy and to the cluster.
pub const BARRIER_FENCE: Ptx = Ptx::effect(Operation::BarrierFence, "", "fence.mbarrier_init.release.cluster;");
/// Arrives, and expects so many bytes.
pub const BARRIER_EXPECT: Ptx =
    Ptx::effect(Operation::BarrierExpect, "rr", "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;");
/// Arrives.
pub const BARRIER_ARRIVE: Ptx = Ptx::effect(Operation::BarrierArrive, "r", "mbarrier.arrive.shared::cta.b64 _, [$0];");
/// Arrives at the mbarrier of a block of the cluster. A release to the cluster would cost a fence of the whole GPU; what
/// is released here was read by products only, which are over.
pub const BARRIER_ARRIVE_REMOTE: Ptx = Ptx::effect(
    Operation::BarrierArriveRemote,
    "rr",
    "{ .reg .b32 a; mapa.shared::cluster.u32 a, $0, $1; mbarrier.arrive.shared::cluster.b64 _, [a]; }",
);
/// Waits until the phase of this parity is over.
pub const BARRIER_WAIT: Ptx = Ptx::effect(
    Operation::BarrierWait,
    "rr",
    "{ .reg .pred p; WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @!p bra WAIT; }",
);
/// All threads of a block.
pub const SYNC: Ptx = Ptx::effect(Operation::Sync, "", "bar.sync 0;");
/// The 32 threads of a warp.
pub const SYNC_WARP: Ptx = Ptx::effect(Operation::SyncWarp, "", "bar.warp.sync -1;");
/// Some threads of a block, by a barrier of their own: its number, and how many they are.
pub const SYNC_GROUP: Ptx = Ptx::effect(Operation::SyncGroup, "rr", "bar.sync $0, $1;");
/// Two warpgroups: waits for the other one.
pub const TURN_WAIT: Ptx = Ptx::effect(Operation::TurnWait, "r", "bar.sync $0, 256;");
/// Two warpgroups: arrives where the other one waits.
pub const TURN_GIVE: Ptx = Ptx::effect(Operation::TurnGive, "r", "bar.arrive $0, 256;");
/// All threads of a cluster.
pub const SYNC_CLUSTER: Ptx =
    Ptx::effect(Operation::SyncCluster, "", "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;");
/// Which block of its cluster this is.
pub const CLUSTER_RANK: Ptx = Ptx::value(Operation::ClusterRank, "", "r", "mov.u32 $0, %cluster_ctarank;");
/// A number that is the same in all lanes, where the compiler does not see it.
pub const UNIFORM: Ptx = Ptx::value(Operation::Uniform, "r", "r", "shfl.sync.idx.b32 $0, $1, 0, 31, -1;");

// Registers.

/// Gives registers back.
pub const REGISTERS_LESS: Ptx = Ptx::effect(Operation::RegistersLess, "", "setmaxnreg.dec.sync.aligned.u32 40;");
/// Takes the registers of two warpgroups of 232.
pub const REGISTERS_MORE: Ptx = Ptx::effect(Operation::RegistersMore, "", "setmaxnreg.inc.sync.aligned.u32 232;");

/// Gives more registers back.
pub const REGISTERS_24: Ptx = Ptx::effect(Operation::RegistersLess, "", "setmaxnreg.dec.sync.aligned.u32 24;");
/// Takes these.
pub const REGISTERS_240: Ptx = Ptx::effect(Operation::RegistersMore, "", "setmaxnreg.inc.sync.aligned.u32 240;");
/// Gives registers back where three warpgroups take them.
pub const REGISTERS_32: Ptx = Ptx::effect(Operation::RegistersLess, "", "setmaxnreg.dec.sync.aligned.u32 32;");
/// Takes these.
pub const REGISTERS_160: Ptx = Ptx::effect(Operation::RegistersMore, "", "setmaxnreg.inc.sync.aligned.u32 160;");

// Copies by the tensor memory accelerator.

/// Brings a tensor map into the cache.
pub const MAP_PREFETCH: Ptx = Ptx::effect(Operation::MapPrefetch, "p", "prefetch.tensormap [$0];");
/// Copies a box to shared memory: destination, map, mbarrier, coordinates.
pub const TMA_LOAD: Ptx = Ptx::effect(
    Operation::TmaLoad,
    "rprrrr",
    "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4, $5}], [$2];",
);
/// As [`TMA_LOAD`], to all blocks of a mask.
pub const TMA_LOAD_MULTICAST: Ptx = Ptx::effect(
    Operation::TmaLoadMulticast,
    "rprrrrh",
    "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
     [$0], [$1, {$3, $4, $5}], [$2], $6;",
);
/// Copies a box from shared memory: map, source, coordinates.
pub const TMA_STORE: Ptx = Ptx::effect(
    Operation::TmaStore,
    "prrrr",
    "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [$0, {$2, $3, $4}], [$1];",
);
/// As [`TMA_LOAD`], of four dimensions.
pub const TMA_LOAD_4: Ptx = Ptx::effect(
    Operation::TmaLoad4,
    "rprrrrr",
    "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$3, $4, $5, $6}], [$2];",
);
/// As [`TMA_STORE`], of four dimensions.
pub const TMA_STORE_4: Ptx = Ptx::effect(
    Operation::TmaStore4,
    "prrrrr",
    "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [$0, {$2, $3, $4, $5}], [$1];",
);
/// Ends a group of stores.
pub const TMA_COMMIT: Ptx = Ptx::effect(Operation::TmaCommit, "", "cp.async.bulk.commit_group;");
/// Waits until all groups but the last one have read their source.
pub const TMA_WAIT_READ: Ptx = Ptx::effect(Operation::TmaWaitRead, "", "cp.async.bulk.wait_group.read 1;");
/// Waits until all groups have read their source.
pub const TMA_WAIT_READ_ALL: Ptx = Ptx::effect(Operation::TmaWaitReadAll, "", "cp.async.bulk.wait_group.read 0;");
/// Waits until all stores are done.
pub const TMA_WAIT: Ptx = Ptx::effect(Operation::TmaWait, "", "cp.async.bulk.wait_group 0;");
/// Makes what was written to shared memory known to the asynchronous proxy.
pub const PROXY_FENCE: Ptx = Ptx::effect(Operation::ProxyFence, "", "fence.proxy.async.shared::cta;");

// Products of a warpgroup.

/// Orders accesses to registers before products.
pub const WGMMA_FENCE: Ptx = Ptx::effect(Operation::WgmmaFence, "", "wgmma.fence.sync.aligned;");
/// Ends a group of products.
pub const WGMMA_COMMIT: Ptx = Ptx::effect(Operation::WgmmaCommit, "", "wgmma.commit_group.sync.aligned;");
/// Waits for all groups but the last one.
pub const WGMMA_WAIT_ONE: Ptx = Ptx::effect(Operation::WgmmaWaitOne, "", "wgmma.wait_group.sync.aligned 1;");

/// The type of a struct of so many.
pub fn several(ty: &str, count: usize) -> String {
    format!("{{{}}}", vec![ty; count].join(", "))
}

fn arguments(ty: &str, sums: &[String]) -> String {
    let sums: Vec<String> = sums.iter().map(|sum| format!("{ty} {sum}")).collect();
    sums.join(", ")
}

fn tied(constraint: &str, count: usize) -> String {
    let mut text = vec![format!("={constraint}"); count].join(",");
    for i in 0..count {
        let _ = write!(text, ",{i}");
    }
    text
}

/// The left factor of a product of a warpgroup.
#[derive(Clone, Copy, Debug)]
pub(super) enum Left<'a> {
    /// In shared memory: its descriptor, and whether it is transposed.
    Shared(&'a str, bool),
    /// In registers, two elements each: of rows 8 apart, then 8 further along the depth.
    Registers([&'a str; 4]),
}

/// A product of 64 rows, `2 · sums` columns and a depth of 32 bytes, added to `sums` if `add` is not 0. An operand is transposed if
/// its rows or columns, not its depth, are side by side: one of elements of 16 bits may be.
pub(super) fn wgmma(factor: Factor, sums: &[String], a: Left, (b, transposed): (&str, bool), add: &str) -> String {
    let count = sums.len();
    let registers: Vec<String> = (0..count).map(|i| format!("${i}")).collect();
    let tb = u8::from(transposed);
    let at = 2 * count;
    let (left, flags, constraints, operands, after) = match a {
        Left::Shared(a, ta) => (format!("${at}"), format!("{}, {tb}", u8::from(ta)), "l", format!("i64 {a}"), at + 1),
        Left::Registers(a) => (
            format!("{{${at}, ${}, ${}, ${}}}", at + 1, at + 2, at + 3),
            tb.to_string(),
            "r,r,r,r",
            a.map(|word| format!("i32 {word}")).join(", "),
            at + 4,
        ),
    };
    let ((llvm, constraint), ty, depth) = (factor.sum(), factor.name(), factor.depth());
    // Factors by which operands are multiplied, where those are floats, and which are transposed, where these may be.
    let (sum, flags) = match (factor.is_integer(), depth) {
        (true, _) => ("s32", String::new()),
        (false, 16) => ("f32", format!(", 1, 1, {flags}")),
        (false, _) => ("f32", ", 1, 1".to_owned()),
    };
    format!(
        "call {} asm sideeffect \"{{ .reg .pred p; setp.ne.b32 p, ${}, 0; \
         wgmma.mma_async.sync.aligned.m64n{}k{depth}.{sum}.{ty}.{ty} {{{}}}, {left}, ${after}, p{flags}; }}\", \
         \"{},{constraints},l,r\"({}, {operands}, i64 {b}, i32 {add}) #9",
        several(llvm, count),
        after + 1,
        2 * count,
        registers.join(", "),
        tied(constraint, count),
        arguments(llvm, sums),
    )
}

/// Waits for all groups of products but the last ones. The sums pass through, so that nothing reads them before.
pub(super) fn wgmma_wait(factor: Factor, pending: u32, sums: &[String]) -> String {
    let (llvm, constraint) = factor.sum();
    format!(
        "call {} asm sideeffect \"wgmma.wait_group.sync.aligned {pending};\", \"{},~{{memory}}\"({}) #9",
        several(llvm, sums.len()),
        tied(constraint, sums.len()),
        arguments(llvm, sums),
    )
}

/// Orders accesses to sums and to words of A before products: they pass through.
pub(super) fn wgmma_fence(sums: &[String], words: &[String]) -> String {
    let outputs = [vec!["=f"; sums.len()], vec!["=r"; words.len()]].concat();
    let inputs: Vec<String> = (0..outputs.len()).map(|i| i.to_string()).collect();
    let types = [vec!["float"; sums.len()], vec!["i32"; words.len()]].concat();
    let operands: Vec<String> =
        types.iter().zip(sums.iter().chain(words)).map(|(ty, operand)| format!("{ty} {operand}")).collect();
    format!(
        "call {{{}}} asm sideeffect \"wgmma.fence.sync.aligned;\", \"{},{},~{{memory}}\"({}) #9",
        types.join(", "),
        outputs.join(","),
        inputs.join(","),
        operands.join(", "),
    )
}

// Products of a warp: 16 rows, 8 columns, a depth of 32 bytes. Sums are 0 to 3, then come A and B.

/// Of bf16.
pub const MMA_BF16: Ptx = Ptx::value(Operation::MmaBf16, "ffffrrrrrr", "ffff", mma!("m16n8k16", "f32", "bf16"));
/// Of f16.
pub const MMA_F16: Ptx = Ptx::value(Operation::MmaF16, "ffffrrrrrr", "ffff", mma!("m16n8k16", "f32", "f16"));
/// Of int8, with sums of int32.
pub const MMA_I8: Ptx = Ptx::value(Operation::MmaI8, "rrrrrrrrrr", "rrrr", mma!("m16n8k32", "s32", "s8"));
/// Of uint8.
pub const MMA_U8: Ptx = Ptx::value(Operation::MmaU8, "rrrrrrrrrr", "rrrr", mma!("m16n8k32", "s32", "u8"));

// Copies by threads.

/// Copies 16 bytes to shared memory, asynchronously: destination, source, how many are there; the others are 0.
pub const COPY_16: Ptx = Ptx::effect(Operation::Copy16, "rgr", "cp.async.cg.shared.global [$0], [$1], 16, $2;");
/// Copies 8 bytes.
pub const COPY_8: Ptx = Ptx::effect(Operation::Copy8, "rgr", "cp.async.ca.shared.global [$0], [$1], 8, $2;");
/// Copies 4 bytes.
pub const COPY_4: Ptx = Ptx::effect(Operation::Copy4, "rgr", "cp.async.ca.shared.global [$0], [$1], 4, $2;");
/// Ends a group of copies.
pub const COPY_COMMIT: Ptx = Ptx::effect(Operation::CopyCommit, "", "cp.async.commit_group;");
/// Waits for all groups.
pub const COPY_WAIT_0: Ptx = Ptx::effect(Operation::CopyWait0, "", "cp.async.wait_group 0;");
/// Waits for all groups but one.
pub const COPY_WAIT_1: Ptx = Ptx::effect(Operation::CopyWait1, "", "cp.async.wait_group 1;");
/// Waits for all groups but two.
pub const COPY_WAIT_2: Ptx = Ptx::effect(Operation::CopyWait2, "", "cp.async.wait_group 2;");
/// Waits for all groups but three.
pub const COPY_WAIT_3: Ptx = Ptx::effect(Operation::CopyWait3, "", "cp.async.wait_group 3;");
/// Loads 16 bits where a number is not 0, and 0 elsewhere.
pub const LOAD_B16: Ptx = Ptx::value(
    Operation::LoadB16,
    "gr",
    "r",
    "{ .reg .pred p; .reg .b16 h; mov.b16 h, 0; setp.ne.b32 p, $2, 0; @p ld.global.nc.b16 h, [$1]; cvt.u32.u16 $0, h; }",
);
/// Loads a byte where a number is not 0, and 0 elsewhere.
pub const LOAD_B8: Ptx = Ptx::value(
    Operation::LoadB8,
    "gr",
    "r",
    "{ .reg .pred p; .reg .b16 h; mov.b16 h, 0; setp.ne.b32 p, $2, 0; @p ld.global.nc.b8 h, [$1]; cvt.u32.u16 $0, h; }",
);
/// Loads a word where a number is not 0, and 0 elsewhere.
pub const LOAD_B32: Ptx = Ptx::value(
    Operation::LoadB32,
    "gr",
    "r",
    "{ .reg .pred p; mov.b32 $0, 0; setp.ne.b32 p, $2, 0; @p ld.global.nc.b32 $0, [$1]; }",
);
/// Loads a float.
pub const LOAD_F32: Ptx = Ptx::value(Operation::LoadF32, "g", "f", "ld.global.f32 $0, [$1];");
/// Loads two floats of shared memory.
pub const LOAD_SHARED_PAIR: Ptx = Ptx {
    operation: Operation::LoadSharedPair,
    text: "ld.shared.v2.f32 {$0, $1}, [$2];",
    operands: "r",
    result: "ff",
    effect: true,
};
/// Stores two floats in shared memory.
pub const STORE_SHARED_PAIR: Ptx = Ptx::effect(Operation::StoreSharedPair, "rff", "st.shared.v2.f32 [$0], {$1, $2};");
/// Loads 16 bytes of shared memory.
pub const LOAD_SHARED: Ptx = Ptx {
    operation: Operation::LoadShared,
    text: "ld.shared.v4.f32 {$0, $1, $2, $3}, [$4];",
    operands: "r",
    result: "ffff",
    effect: true,
};
/// Loads 16 bytes of the shared memory of a block of the cluster: address there, and which block.
pub const LOAD_REMOTE: Ptx = Ptx {
    operation: Operation::LoadRemote,
    text: "{ .reg .b32 a; mapa.shared::cluster.u32 a, $4, $5; ld.shared::cluster.v4.f32 {$0, $1, $2, $3}, [a]; }",
    operands: "rr",
    result: "ffff",
    effect: true,
};
/// Stores 16 bytes in shared memory.
pub const STORE_SHARED: Ptx = Ptx::effect(Operation::StoreShared, "rrrrr", "st.shared.v4.b32 [$0], {$1, $2, $3, $4};");

// Words of shared memory, and of the GPU's.

/// Loads a word of shared memory.
pub const LOAD_SHARED_WORD: Ptx = Ptx::shared_load(Operation::LoadSharedWord, "r", "ld.shared.b32 $0, [$1];");
/// Stores a word in shared memory.
pub const STORE_SHARED_WORD: Ptx = Ptx::effect(Operation::StoreSharedWord, "rr", "st.shared.b32 [$0], $1;");
/// Loads 8 bytes of shared memory.
pub const LOAD_SHARED_LONG: Ptx = Ptx::shared_load(Operation::LoadSharedLong, "l", "ld.shared.b64 $0, [$1];");
/// Stores 8 bytes in shared memory.
pub const STORE_SHARED_LONG: Ptx = Ptx::effect(Operation::StoreSharedLong, "rl", "st.shared.b64 [$0], $1;");
/// Adds to a word of shared memory.
pub const ADD_SHARED: Ptx = Ptx::effect(Operation::AddShared, "rr", "red.shared.add.u32 [$0], $1;");
/// Adds to a word of the GPU's memory.
pub const ADD_GLOBAL: Ptx = Ptx::effect(Operation::AddGlobal, "gr", "red.global.add.u32 [$0], $1;");
/// Adds to a word of the GPU's memory, and gives what it was.
pub const TAKE_GLOBAL: Ptx = Ptx {
    operation: Operation::TakeGlobal,
    text: "atom.global.add.u32 $0, [$1], $2;",
    operands: "gr",
    result: "r",
    effect: true,
};
/// Loads a word that other blocks write meanwhile.
pub const LOAD_FLAG: Ptx = Ptx {
    operation: Operation::LoadFlag,
    text: "ld.relaxed.gpu.global.b32 $0, [$1];",
    operands: "g",
    result: "r",
    effect: true,
};
/// Stores a word that other blocks read meanwhile.
pub const STORE_FLAG: Ptx = Ptx::effect(Operation::StoreFlag, "gr", "st.relaxed.gpu.global.b32 [$0], $1;");

/// The lanes that have a bit as this one has it, among those of `$0`.
macro_rules! alike {
    ($($bit:literal)*) => {
        concat!(
            "{ .reg .pred p; .reg .b32 b, v; mov.b32 $0, -1; ",
            $("and.b32 b, $1, ", $bit, "; setp.ne.b32 p, b, 0; vote.sync.ballot.b32 v, p, -1; @!p not.b32 v, v; and.b32 $0, $0, v; ",)*
            "}"
        )
    };
}

/// The lanes of the warp with the same byte, a bit each: by a vote for each bit of it.
pub const ALIKE: Ptx = Ptx::value(Operation::Alike, "r", "r", alike!("1" "2" "4" "8" "16" "32" "64" "128"));
/// A number, and that of the lane so many before, if there is one: a step of a scan of a warp.
pub const SCAN_STEP: Ptx = Ptx::value(
    Operation::ScanStep,
    "rr",
    "r",
    "{ .reg .pred p; .reg .b32 b; shfl.sync.up.b32 b|p, $1, $2, 0, -1; @!p mov.b32 b, 0; add.s32 $0, $1, b; }",
);

// Numbers.

/// A power of two.
pub const EXP2: Ptx = Ptx::value(Operation::Exp2, "f", "f", "ex2.approx.ftz.f32 $0, $1;");
/// The number of the lane whose number differs by these bits.
pub const SHUFFLE_XOR: Ptx = Ptx::value(Operation::ShuffleXor, "fr", "f", "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;");

// Conversions and matrices of 8 x 8.

/// Four bytes of two words, those of the first one being 0 to 3: which ones, four bits each, the lowest first.
pub const PERMUTE: Ptx = Ptx::value(Operation::Permute, "rrr", "r", "prmt.b32 $0, $1, $2, $3;");

/// Two floats as bf16, the first one in the upper half.
pub const PACK_BF16: Ptx = Ptx::value(Operation::PackBf16, "ff", "r", "cvt.rn.bf16x2.f32 $0, $1, $2;");
/// Two floats as f16, the first one in the upper half.
pub const PACK_F16: Ptx = Ptx::value(Operation::PackF16, "ff", "r", "cvt.rn.f16x2.f32 $0, $1, $2;");
/// Loads four matrices of 8 x 8 elements of 16 bits: lanes give addresses of rows.
pub const LOAD_MATRICES: Ptx = Ptx {
    operation: Operation::LoadMatrices,
    text: "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0, $1, $2, $3}, [$4];",
    operands: "r",
    result: "rrrr",
    effect: true,
};
/// As [`LOAD_MATRICES`], transposed.
pub const LOAD_TRANSPOSED: Ptx = Ptx {
    operation: Operation::LoadTransposed,
    text: "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {$0, $1, $2, $3}, [$4];",
    operands: "r",
    result: "rrrr",
    effect: true,
};
/// Stores four matrices of 8 x 8 elements of 16 bits: lanes give addresses of rows.
pub const STORE_MATRICES: Ptx =
    Ptx::effect(Operation::StoreMatrices, "rrrrr", "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1, $2, $3, $4};");

// Stores where a number is not 0.

/// A float.
pub const STORE_F32: Ptx =
    Ptx::effect(Operation::StoreF32, "gfr", "{ .reg .pred p; setp.ne.b32 p, $2, 0; @p st.global.f32 [$0], $1; }");
/// The lower half of a word.
pub const STORE_B16: Ptx = Ptx::effect(
    Operation::StoreB16,
    "grr",
    "{ .reg .pred p; .reg .b16 l, h; mov.b32 {l, h}, $1; setp.ne.b32 p, $2, 0; @p st.global.b16 [$0], l; }",
);
/// The lowest byte of a word.
pub const STORE_B8: Ptx =
    Ptx::effect(Operation::StoreB8, "grr", "{ .reg .pred p; setp.ne.b32 p, $2, 0; @p st.global.b8 [$0], $1; }");
/// A word.
pub const STORE_B32: Ptx =
    Ptx::effect(Operation::StoreB32, "grr", "{ .reg .pred p; setp.ne.b32 p, $2, 0; @p st.global.b32 [$0], $1; }");
/// Two floats, aligned to 8 bytes.
pub const STORE_F32_PAIR: Ptx = Ptx::effect(
    Operation::StoreF32Pair,
    "gffr",
    "{ .reg .pred p; setp.ne.b32 p, $3, 0; @p st.global.v2.f32 [$0], {$1, $2}; }",
);
