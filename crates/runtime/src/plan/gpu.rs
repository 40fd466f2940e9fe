//! What kernels cost on GPUs: the roofline of what their drivers and their generations tell.

use svod_cuda::Info;
use svod_device::DeviceSpec;
use svod_dtype::DType;
use svod_ir::lowered::cost::{Cost, Registers, total};
use svod_ir::lowered::{Attention, LoopKind, Lowered, Phase, Product, Sort, Stmt};
use svod_ir::target::Target;
use svod_schedule::analysis::{GpuCycles, GpuInfo, ItemAnalysis};

/// What a multiprocessor of a generation does in a cycle.
struct Generation {
    target: &'static str,
    /// Multiply-adds of f32, one a lane.
    lanes: f64,
    /// Multiply-adds of its tensor cores, of f16.
    tensor: f64,
    /// Bytes of shared memory.
    shared: f64,
    /// Bytes of the second-level cache.
    l2: f64,
    /// Cycles a second, and bytes of memory, where the driver does not tell.
    clock: f64,
    bandwidth: f64,
}

/// A100 and H100: NVIDIA's papers on their architectures; the rate of the second-level cache is what programs reach.
#[rustfmt::skip]
const GENERATIONS: [Generation; 2] = [
    Generation { target: "cuda-sm80", lanes: 64.0, tensor: 1024.0, shared: 128.0, l2: 48.0, clock: 1.41e9, bandwidth: 1.555e12 },
    Generation { target: "cuda-sm90", lanes: 128.0, tensor: 2048.0, shared: 128.0, l2: 48.0, clock: 1.83e9, bandwidth: 3.35e12 },
];

/// Seconds from one kernel of a plan to the next.
const LAUNCH: f64 = 2e-6;

/// The part of its memory's rate that a GPU reaches.
const REACHED: f64 = 0.92;

/// Warps of a multiprocessor that hide its latencies.
const WARPS: f64 = 16.0;

/// Rows and columns of a product that a block has, and rows of a warpgroup, which reads the columns' operand once for them.
const TILE: (f64, f64) = (128.0, 256.0);
const ROWS: f64 = 64.0;

/// Slots that a score takes: its exponential, for which there is a unit for eight lanes, the greatest, the sum, a conversion.
const SCORE: f64 = 13.0;
/// Rows at which is looked at most for how many keys they see.
const SAMPLED: i64 = 64;

/// Points of a block of a sort; slots and bytes of counters that a point takes in a pass: votes of its warp on each bit of its digit.
const POINTS: f64 = 4096.0;
const RANKED: f64 = 64.0;
const COUNTED: f64 = 16.0;

/// A GPU, and how fast it is at most.
pub(super) struct Gpu {
    /// What a warp has of each vector.
    pub registers: Registers,
    generation: &'static Generation,
    pub info: GpuInfo,
}

impl Gpu {
    /// A GPU of which this is known; none for one of a generation that is not.
    pub fn new(device: &DeviceSpec, target: &Target, told: Option<&Info>) -> Option<Gpu> {
        let generation = GENERATIONS.iter().find(|one| one.target == target.name)?;
        let told = |of: fn(&Info) -> usize, otherwise: f64| match told.map_or(0, of) {
            0 => otherwise,
            known => known as f64,
        };
        let clock = told(|info| info.clock, generation.clock);
        let multiprocessors = target.cores.max(1);
        let all = clock * multiprocessors as f64;
        let info = GpuInfo {
            device: device.to_string(),
            multiprocessors,
            clock,
            flops: 2.0 * generation.lanes * all,
            tensor_flops: 2.0 * generation.tensor * all,
            bandwidth: told(|info| info.bandwidth, generation.bandwidth),
        };
        Some(Gpu { registers: target.into(), generation, info })
    }

    fn all(&self) -> f64 {
        self.info.multiprocessors as f64
    }

    /// Cycles in which so many bytes of memory are moved.
    fn memory(&self, bytes: f64) -> f64 {
        bytes / self.info.bandwidth * self.info.clock
    }

    /// What a kernel costs, whose phases cost this and whose arguments have so many bytes. `analysis` has what is counted.
    pub fn kernel(
        &self,
        lowered: &Lowered,
        phases: &[(&Phase, Cost)],
        sizes: &[f64],
        analysis: ItemAnalysis,
    ) -> ItemAnalysis {
        let (product, attention, sort) = (lowered.product(), lowered.attention(), lowered.sort());
        let cycles = match (&product, &attention, &sort) {
            (Some(product), ..) => self.product(product),
            (None, Some(attention), _) => self.attention(attention),
            (None, None, Some(sort)) => self.sort(sort),
            (None, None, None) => self.loops(phases, sizes),
        };
        let computed = cycles.tensor_cores.max(cycles.arithmetic).max(cycles.shared_memory);
        let moved = cycles.l2.max(cycles.memory / REACHED);
        let warps = |(phase, cost): &(&Phase, Cost)| if has_vectors(phase) { cost.tasks } else { cost.tasks / 32.0 };
        let warps = phases.iter().map(warps).fold(0.0, f64::max);
        let tiles = product.as_ref().map(tiles).or(attention.as_ref().map(tiles_of_rows));
        let tiles = tiles.or(sort.as_ref().map(|sort| (points(sort) / POINTS).ceil().max(1.0)));
        let occupancy = match tiles {
            Some(tiles) => tiles / (tiles / self.all()).ceil() / self.all(),
            None => (warps / (self.all() * WARPS)).min(1.0),
        };
        // Multiprocessors without work do none.
        let seconds = LAUNCH + computed.hypot(moved) / self.info.clock / occupancy.clamp(0.01, 1.0).sqrt();
        ItemAnalysis {
            occupancy,
            estimated_ns: seconds * 1e9,
            least_ns: cycles.most() / self.info.clock * 1e9,
            gpu: Some(cycles),
            ..analysis
        }
    }

    /// What a copy within its memory costs.
    pub fn copy(&self, bytes: f64) -> ItemAnalysis {
        let moved = 2.0 * bytes;
        let l2 = moved / (self.generation.l2 * self.all());
        let cycles = GpuCycles { l2, memory: self.memory(moved), ..GpuCycles::default() };
        let seconds = |cycles: f64| cycles / self.info.clock;
        ItemAnalysis {
            bytes_read: bytes,
            bytes_written: bytes,
            occupancy: 1.0,
            estimated_ns: (LAUNCH + seconds(cycles.most() / REACHED)) * 1e9,
            least_ns: seconds(cycles.most()) * 1e9,
            gpu: Some(cycles),
            ..ItemAnalysis::default()
        }
    }

    /// A product by tiles: each operand is read once for each tile that it is of.
    fn product(&self, product: &Product) -> GpuCycles {
        let [b, m, n, k] = product.sizes.map(|n| n as f64);
        let (width, steps) = (product.dtype.bytes() as f64, b * m * n * k);
        let result = b * m * n * 4.0;
        let (rows, columns) = (TILE.0.min(m), TILE.1.min(n));
        let loaded = steps * width * (1.0 / rows + 1.0 / columns);
        // The rate of tensor cores goes with the width.
        let by_threads = matches!(product.dtype, DType::F32 | DType::F64);
        let tensor = if by_threads { 0.0 } else { steps / (self.generation.tensor * 2.0 / width) };
        let read = steps * width * (1.0 / ROWS + 1.0 / columns);
        GpuCycles {
            tensor_cores: tensor / self.all(),
            arithmetic: (if by_threads { steps * width / 4.0 } else { 2.0 * b * m * n })
                / (self.generation.lanes * self.all()),
            shared_memory: (loaded + read) / (self.generation.shared * self.all()),
            l2: (loaded + result) / (self.generation.l2 * self.all()),
            memory: self.memory((b * m * k + b * k * n) * width + result),
        }
    }

    /// Attention by tiles of rows: keys and values are read once for each tile, and each score has its exponential.
    fn attention(&self, attention: &Attention) -> GpuCycles {
        let [batch, heads, group, rows, keys, depth, columns] = attention.sizes.map(|n| n as f64);
        let heads = batch * heads;
        let scores = heads * rows * seen(attention);
        let width = attention.dtype[0].bytes() as f64;
        let steps = scores * (depth + columns);
        let result = heads * rows * columns * attention.dtype[1].bytes() as f64;
        let loaded = steps * width / TILE.0.min(rows);
        GpuCycles {
            tensor_cores: steps / (self.generation.tensor * 2.0 / width) / self.all(),
            arithmetic: scores * SCORE / (self.generation.lanes * self.all()),
            shared_memory: 2.0 * loaded / (self.generation.shared * self.all()),
            l2: (loaded + result) / (self.generation.l2 * self.all()),
            memory: self.memory((heads * rows * depth + heads / group * keys * (depth + columns)) * width + result),
        }
    }

    /// A sort by passes, each of which reads and writes every point once, after all digits were counted; or of rows that are read and
    /// written once.
    fn sort(&self, sort: &Sort) -> GpuCycles {
        let (points, passes) = (points(sort), f64::from(sort.dtype.bits().div_ceil(8)));
        let key = sort.dtype.bytes() as f64;
        let point = if sort.has_positions { key + 4.0 } else { key };
        let moved = points * if sort.copies.is_some() { key + 2.0 * passes * point } else { 2.0 * point };
        GpuCycles {
            arithmetic: points * passes * RANKED / (self.generation.lanes * self.all()),
            shared_memory: points * passes * (2.0 * point + COUNTED) / (self.generation.shared * self.all()),
            l2: moved / (self.generation.l2 * self.all()),
            memory: self.memory(moved),
            ..GpuCycles::default()
        }
    }

    fn loops(&self, phases: &[(&Phase, Cost)], sizes: &[f64]) -> GpuCycles {
        let lanes = |phase: &Phase| if has_vectors(phase) { 128.0 } else { 1.0 };
        let slots = total(phases.iter().map(|(phase, cost)| cost.tasks * cost.slots * lanes(phase)));
        let asked = total(phases.iter().map(|(_, cost)| cost.bytes(false) + cost.bytes(true)));
        // What is asked for again comes from the cache.
        let moved = |(_, cost): &(&Phase, Cost)| {
            total(cost.traffic.iter().map(|t| t.bytes.min(sizes.get(t.param.index()).copied().unwrap_or(t.bytes))))
        };
        GpuCycles {
            arithmetic: slots / (self.generation.lanes * self.all()),
            l2: asked / (self.generation.l2 * self.all()),
            memory: self.memory(total(phases.iter().map(moved))),
            ..GpuCycles::default()
        }
    }
}

/// Keys that a row of attention sees, on average.
fn seen(attention: &Attention) -> f64 {
    let [_, _, _, rows, keys, ..] = attention.sizes;
    let Some(diagonal) = attention.diagonal else { return keys as f64 };
    // Of a few rows, all over them.
    let (step, sampled) = ((rows + SAMPLED - 1) / SAMPLED, rows.min(SAMPLED));
    let of = |row: i64| (row * step).min(rows - 1).saturating_add(diagonal).saturating_add(1).clamp(0, keys) as f64;
    (0..sampled).map(of).sum::<f64>() / sampled as f64
}

/// Points of all rows.
fn points(sort: &Sort) -> f64 {
    sort.rows.iter().fold(sort.points as f64, |all, (_, n)| all * *n as f64)
}

/// Tiles of rows of attention.
fn tiles_of_rows(attention: &Attention) -> f64 {
    let [batch, heads, _, rows, ..] = attention.sizes.map(|n| n as f64);
    (batch * heads * (rows / TILE.0).ceil()).max(1.0)
}

/// Tiles of a product.
fn tiles(product: &Product) -> f64 {
    let [b, m, n, _] = product.sizes.map(|n| n as f64);
    (b * (m / TILE.0).ceil() * (n / TILE.1).ceil()).max(1.0)
}

/// Whether the tasks of a phase are of warps, whose threads share vectors, and not of one thread.
fn has_vectors(phase: &Phase) -> bool {
    let mut open: Vec<&Stmt> = phase.body.iter().collect();
    while let Some(stmt) = open.pop() {
        match stmt {
            Stmt::Loop(l, body) => {
                if l.kind == LoopKind::Vector {
                    return true;
                }
                open.extend(body);
            }
            Stmt::If(_, body) => open.extend(body),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use svod_ir::expr::ParamId;
    use svod_ir::lowered::AttentionOperand;
    use svod_ir::lowered::cost::Rounds;

    fn gpu() -> Gpu {
        Gpu::new(&DeviceSpec::Cuda(0), &Target::named("cuda-sm90").unwrap(), None).unwrap()
    }

    fn analysis(text: &str, sizes: &[f64]) -> ItemAnalysis {
        let lowered = Lowered::parse(text).unwrap();
        let costs = lowered.costs(&|_| None, gpu().registers, Rounds::All);
        let phases: Vec<(&Phase, Cost)> = lowered.phases.iter().zip(costs).collect();
        gpu().kernel(&lowered, &phases, sizes, ItemAnalysis::default())
    }

    #[test]
    fn rates_are_those_of_the_papers() {
        let info = gpu().info;
        assert_eq!(info.device, "CUDA:0");
        assert!((info.tensor_flops / 989e12 - 1.0).abs() < 0.01 && (info.flops / 62e12 - 1.0).abs() < 0.01);
        assert!(Gpu::new(&DeviceSpec::CPU, &Target::named("x86-64-v3").unwrap(), None).is_none());
    }

    #[test]
    fn attention_is_of_tensor_cores() {
        let attention = |diagonal| Attention {
            dtype: [DType::BF16; 2],
            operands: [AttentionOperand { param: ParamId(0), offset: 0, strides: [0, 524288, 128] }; 4],
            sizes: [1, 16, 1, 4096, 4096, 128, 128],
            scale: 1.0,
            diagonal,
            batch: Vec::new(),
            heads: Vec::new(),
            counters: [None, None, None],
            score: None,
            value: None,
        };
        let gpu = gpu();
        let all = gpu.attention(&attention(None));
        // Two products of 4096 x 4096 x 128 for each head.
        let flops = all.tensor_cores / gpu.info.clock * gpu.info.tensor_flops;
        assert!((flops / (4.0 * 16.0 * 4096.0 * 4096.0 * 128.0) - 1.0).abs() < 1e-6);
        assert_eq!(all.most(), all.tensor_cores);
        let half = gpu.attention(&attention(Some(0)));
        assert!((half.tensor_cores / all.tensor_cores - 0.5).abs() < 0.02 && half.memory == all.memory);
        assert_eq!((seen(&attention(Some(-5000))), tiles_of_rows(&attention(None))), (0.0, 512.0));
    }

    #[test]
    fn what_streams_has_the_roof_of_memory() {
        let text = "lowered scale\nparam p0: f32[131072, 128]\nparam p1: f32[131072, 128]\n\nphase\ngrid i < 131072\n{\n  \
                    vector j < 128 {\n    p1[i, j] = p0[i, j] * f32(2.0)\n  }\n}\n";
        let bytes = 131072.0 * 128.0 * 4.0;
        let found = analysis(text, &[bytes; 2]);
        let cycles = found.gpu.unwrap();
        assert_eq!(cycles.most(), cycles.memory);
        assert!((found.least_ns - 2.0 * bytes / 3.35e12 * 1e9).abs() < 1.0);
        assert!(found.estimated_ns > found.least_ns && found.occupancy == 1.0);
        // A few instructions for each vector of 128 lanes, of which a multiprocessor does as many at once.
        assert!((1.0..8.0).contains(&(cycles.arithmetic * 132.0 / 131072.0)), "{cycles:?}");
    }
}
