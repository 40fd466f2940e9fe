//! Kernels of attention: counts of the instructions that matter, what is refused, and results in a simulator. Where `PTXAS` names
//! that program, it assembles all of them: no spills, no warnings.
#![allow(clippy::unwrap_used)]

mod simulator;

use std::ops::Range;
use std::process::Command;
use svod_codegen::CompileError;
use svod_codegen::gpu::Runner;
use svod_codegen::gpu::attention::{
    Attention, Body, DecodeTile, Dimension, Element, Epilogue, Kernel, MmaTile, Operand, Operation, Parameter, Plain,
    Score, Scores, Size, Sizes, Tile, WgmmaTile, choose, render,
};
use svod_dtype::DType;

const BF16: Attention = Attention {
    dtype: DType::BF16,
    out: DType::BF16,
    depth: 128,
    columns: 128,
    causal: true,
    align: 16,
    align_out: 16,
};

const LARGE: WgmmaTile = WgmmaTile::LARGE;

fn kernels(attention: &Attention, tile: Tile) -> Vec<Kernel> {
    render(attention, &tile, &Plain, &Plain, Runner::Driver).unwrap()
}

fn ptx(kernel: &Kernel) -> String {
    String::from_utf8(kernel.code().unwrap()).unwrap()
}

fn count(text: &str, word: &str) -> usize {
    text.matches(word).count()
}

/// Assembles a kernel, where there is an assembler.
fn assemble(kernel: &Kernel) {
    let Some(ptxas) = std::env::var_os("PTXAS") else { return };
    let file = std::env::temp_dir().join(format!("{}-{}.ptx", kernel.launch.entry, std::process::id()));
    std::fs::write(&file, ptx(kernel)).unwrap();
    let arch = format!("-arch={}", kernel.processor);
    let run = Command::new(ptxas).args([&arch, "-v", "-o", "/dev/null"]).arg(&file).output().unwrap();
    let words = String::from_utf8_lossy(&run.stderr).into_owned() + &String::from_utf8_lossy(&run.stdout);
    std::fs::remove_file(&file).unwrap();
    assert!(run.status.success(), "{words}");
    assert!(words.contains(" 0 bytes spill stores") && !words.contains("warning"), "{words}");
}

#[test]
fn warpgroups_have_the_instructions_that_are_meant() {
    for causal in [false, true] {
        let kernel = &kernels(&Attention { causal, ..BF16 }, Tile::Wgmma(LARGE))[0];
        let ptx = ptx(kernel);
        // Scores of the first tile, and of tiles without a mask and, of a triangle, with one; 8 steps of the depth. Sums are
        // one tile behind.
        let tiles = if causal { 3 } else { 2 };
        assert_eq!(count(&ptx, "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"), 2 * tiles * 8);
        assert_eq!(count(&ptx, "ex2.approx.ftz.f32"), tiles * 64 + 2 * (tiles - 1));
        assert_eq!(count(&ptx, "cp.async.bulk.tensor.4d.shared::cluster"), 2 * 5);
        assert_eq!(count(&ptx, "cp.async.bulk.tensor.4d.global"), 2);
        assert_eq!(count(&ptx, "stmatrix"), 8);
        assemble(kernel);
    }
}

#[test]
fn tiles_of_all_shapes_are_made() {
    let deep = WgmmaTile { keys: 64, ..LARGE };
    for (depth, columns, tile) in [
        (64, 64, WgmmaTile { groups: 3, ..LARGE }),
        (64, 64, WgmmaTile { keys: 192, ..LARGE }),
        (128, 128, WgmmaTile { groups: 1, turns: false, persistent: false, ..LARGE }),
        (128, 64, WgmmaTile { keys: 176, ..LARGE }),
        (40, 72, LARGE),
        (192, 128, WgmmaTile { keys: 96, ..deep }),
        (256, 256, WgmmaTile { stages: 3, ..deep }),
    ] {
        for (dtype, out) in [(DType::F16, DType::F16), (DType::BF16, DType::F32)] {
            let attention = Attention { dtype, out, depth, columns, ..BF16 };
            let kernel = &kernels(&attention, Tile::Wgmma(tile))[0];
            let text = ptx(kernel);
            let products = |n: u32| count(&text, &format!("m64n{n}k16.f32.{}", dtype.short())) as u32;
            let (scores, sums) = (3 * depth.div_ceil(16), 3 * tile.keys / 16);
            if tile.keys == columns {
                assert_eq!(products(columns), scores + sums);
            } else {
                assert_eq!((products(tile.keys), products(columns)), (scores, sums));
            }
            assert_eq!(kernel.launch.maps.len(), if out == DType::F32 { 3 } else { 4 });
            assemble(kernel);
        }
    }
}

#[test]
fn warps_have_the_instructions_that_are_meant() {
    for (align, copy, copies) in [
        (16, "cp.async.cg.shared.global", 1),
        (8, "cp.async.ca.shared.global", 2),
        (4, "cp.async.ca.shared.global", 4),
        (2, "ld.global.nc.b16", 8),
    ] {
        let attention = Attention { align, ..BF16 };
        // Of 16 keys: products of each 8 with 8 steps of the depth, and with each 8 columns.
        let (tile, of_16) = (MmaTile::of(&attention), 2 * 8 + 16);
        let sixteens = tile.keys as usize / 16;
        for (tile, products, chunks) in [
            (Tile::Mma(tile), sixteens * of_16, 2 * 4 * sixteens),
            (Tile::Decode(DecodeTile::of(&attention)), of_16, 3 * 16),
        ] {
            let all = kernels(&attention, tile);
            let text = ptx(&all[0]);
            assert_eq!(count(&text, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"), products);
            // Two for each product of 16 keys and 16 of the depth or columns.
            assert_eq!(count(&text, "ldmatrix.sync.aligned.m8n8.x4"), products / 2);
            // Queries are loaded by halves where they are not aligned to words.
            let queries = if align == 2 { 64 } else { 0 };
            assert_eq!(count(&text, copy), chunks * copies + queries, "{tile:?} {align}");
            // Addresses of narrow copies are more than there are registers.
            if align >= 8 {
                all.iter().for_each(assemble);
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let refused = |attention: Attention, tile: Tile| match render(&attention, &tile, &Plain, &Plain, Runner::Driver) {
        Err(CompileError::Unsupported(why)) => why,
        other => panic!("{other:?}"),
    };
    let large = Tile::Wgmma(LARGE);
    assert!(refused(Attention { dtype: DType::F32, ..BF16 }, large).contains("float32"));
    assert!(refused(Attention { depth: 60, ..BF16 }, large).contains("60"));
    assert!(refused(Attention { columns: 264, ..BF16 }, large).contains("264"));
    assert!(refused(Attention { align: 8, ..BF16 }, large).contains("8 bytes"));
    assert!(refused(BF16, Tile::Wgmma(WgmmaTile { keys: 100, ..LARGE })).contains("keys: 100"));
    assert!(refused(BF16, Tile::Wgmma(WgmmaTile { stages: 8, ..LARGE })).contains("bytes of shared memory"));
    assert!(refused(BF16, Tile::Wgmma(WgmmaTile { groups: 3, ..LARGE })).contains("160 registers"));
}

#[test]
fn few_rows_split_keys_and_many_fill_the_gpu() {
    let many = sizes(1, 16, 1, 4096, 4096);
    let large = choose(&BF16, &many, 132, true);
    assert!(matches!(large, Tile::Wgmma(_)));
    // Blocks stay, but where tiles are of very different lengths.
    assert_eq!(large.plan(&BF16, &many, 132).blocks[0], 16 * 32);
    let whole = Attention { causal: false, ..BF16 };
    assert_eq!(choose(&whole, &many, 132, true).plan(&whole, &many, 132).blocks[0], 132);
    assert!(matches!(choose(&BF16, &many, 132, false), Tile::Mma(_)));
    assert!(matches!(choose(&Attention { align: 2, ..BF16 }, &many, 132, true), Tile::Mma(_)));
    let few = sizes(1, 32, 1, 1, 8192);
    let decode = choose(&BF16, &few, 132, true);
    let plan = decode.plan(&BF16, &few, 132);
    assert!(plan.splits >= 4 && plan.blocks == [32 * plan.splits, 32], "{plan:?}");
    assert_eq!(plan.scratch, u64::from(32 * plan.splits) * 130 * 4);
    // A few keys, or enough heads: no second kernel.
    for sizes in [sizes(1, 12, 1, 1, 300), sizes(64, 32, 4, 1, 4096)] {
        let tile = choose(&BF16, &sizes, 132, true);
        assert_eq!(tile.plan(&BF16, &sizes, 132).blocks, [sizes.batch * sizes.heads, 0]);
        assert_eq!(kernels(&BF16, tile).len(), 1);
    }
}

/// How rows of an operand lie in memory.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// `[batch, heads, rows, depth]`.
    Heads,
    /// `[batch, rows, heads, depth]`.
    Rows,
}

/// An attention's operands and result in memory.
struct Case {
    attention: Attention,
    sizes: Sizes,
    diagonal: i32,
    scale: f32,
    values: [Vec<f32>; 4],
    bytes: [Vec<u8>; 4],
    strides: [[usize; 3]; 4],
}

fn encoded(dtype: DType, value: f32) -> Vec<u8> {
    match dtype {
        DType::F32 => value.to_le_bytes().to_vec(),
        DType::F16 => half::f16::from_f32(value).to_le_bytes().to_vec(),
        _ => half::bf16::from_f32(value).to_le_bytes().to_vec(),
    }
}

fn decoded(dtype: DType, bytes: &[u8]) -> f32 {
    match dtype {
        DType::F32 => f32::from_le_bytes(bytes.try_into().unwrap()),
        DType::F16 => half::f16::from_le_bytes(bytes.try_into().unwrap()).to_f32(),
        _ => half::bf16::from_le_bytes(bytes.try_into().unwrap()).to_f32(),
    }
}

impl Case {
    fn new(attention: Attention, sizes: Sizes, order: Order, diagonal: i32) -> Case {
        let heads =
            [sizes.heads, sizes.heads / sizes.group, sizes.heads / sizes.group, sizes.heads].map(|n| n as usize);
        let rows = [sizes.rows, sizes.keys, sizes.keys, sizes.rows].map(|n| n as usize);
        let elements = [attention.depth, attention.depth, attention.columns, attention.columns].map(|n| n as usize);
        let mut case = Case {
            attention,
            sizes,
            diagonal,
            scale: 0.3,
            values: Default::default(),
            bytes: Default::default(),
            strides: [[0; 3]; 4],
        };
        for i in 0..4 {
            let align = if i == 3 { attention.align_out } else { attention.align };
            // Rows are padded by what nobody may touch.
            let row = elements[i] + (align as usize / case.dtype(i).bytes()).max(1);
            let [head, next] = match order {
                Order::Heads => [rows[i] * row, row],
                Order::Rows => [row, heads[i] * row],
            };
            case.strides[i] = [heads[i] * rows[i] * row, head, next];
            let mut random = 77 + i as u32;
            let values: Vec<f32> = (0..sizes.batch as usize * heads[i] * rows[i] * row)
                .map(|at| {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    match at % row {
                        _ if i == 3 => -77.0,
                        column if column < elements[i] => ((random >> 16) % 33) as f32 / 16.0 - 1.0,
                        _ => f32::NAN,
                    }
                })
                .collect();
            let bytes = values.iter().flat_map(|value| encoded(case.dtype(i), *value));
            case.bytes[i] = std::iter::repeat_n(0, 64).chain(bytes).collect();
            case.values[i] = values;
        }
        case
    }

    fn dtype(&self, i: usize) -> DType {
        if i == 3 { self.attention.out } else { self.attention.dtype }
    }

    /// Where an operand starts: as aligned as it says.
    fn start(&mut self, i: usize) -> *mut u8 {
        let align = if i == 3 { self.attention.align_out } else { self.attention.align } as usize;
        let from = self.bytes[i].as_mut_ptr();
        let skipped = from.align_offset(16) + if align < 16 { align } else { 0 };
        self.bytes[i].copy_within(64.., skipped);
        from.wrapping_add(skipped)
    }

    fn run(self, tile: Tile, seed: u64) -> Result<(), String> {
        let kernels = render(&self.attention, &tile, &Plain, &Plain, Runner::Simulator).unwrap();
        self.run_kernels(tile, &kernels, seed, |_, score| score, |sum, total| sum / total)
    }

    fn run_kernels(
        mut self,
        tile: Tile,
        kernels: &[Kernel],
        seed: u64,
        score: impl Fn([usize; 4], f64) -> f64,
        value: impl Fn(f64, f64) -> f64,
    ) -> Result<(), String> {
        let starts = [0, 1, 2, 3].map(|i| self.start(i));
        let sizes = self.sizes;
        let plan = tile.plan(&self.attention, &sizes, 3);
        let mut scratch = vec![f32::NAN; plan.scratch as usize / 4 + 4];
        let scratch_at = scratch.as_mut_ptr() as usize;
        let scratch_at = scratch_at.next_multiple_of(16);
        let size = |size: Size| match size {
            Size::Batch => sizes.batch,
            Size::Heads => sizes.heads,
            Size::Group => sizes.group,
            Size::Rows => sizes.rows,
            Size::Keys => sizes.keys,
        };
        let at = |operand: Operand| operand as usize;
        let mut memory: Vec<Range<usize>> = (0..4)
            .map(|i| starts[i] as usize..starts[i] as usize + self.values[i].len() * self.dtype(i).bytes())
            .collect();
        memory.push(scratch_at..scratch_at + plan.scratch as usize);
        for (kernel, blocks) in kernels.iter().zip(plan.blocks) {
            let launch = &kernel.launch;
            let maps: Vec<simulator::Map> = launch
                .maps
                .iter()
                .map(|map| {
                    let i = at(map.operand);
                    let rows = if matches!(map.operand, Operand::Q | Operand::O) { sizes.rows } else { sizes.keys };
                    let heads = if rows == sizes.rows && matches!(map.operand, Operand::Q | Operand::O) {
                        sizes.heads
                    } else {
                        sizes.heads / sizes.group
                    };
                    let row = if i < 2 { self.attention.depth } else { self.attention.columns };
                    let [batch, head, next] = self.strides[i];
                    simulator::Map {
                        start: starts[i],
                        bytes: map.dtype.bytes(),
                        sizes: [row, rows, heads, sizes.batch].map(|n| n as usize),
                        strides: [next, head, batch],
                        region: [map.region[0] as usize, map.region[1] as usize],
                    }
                })
                .collect();
            let argument = |parameter: &Parameter| match *parameter {
                Parameter::Map(i) => &raw const maps[i] as u64,
                Parameter::Pointer(operand) => starts[at(operand)] as u64,
                Parameter::Stride(operand, dimension) => {
                    let which = [Dimension::Batch, Dimension::Head, Dimension::Row];
                    self.strides[at(operand)][which.iter().position(|d| *d == dimension).unwrap()] as u64
                }
                Parameter::Size(of) => size(of).into(),
                Parameter::Scale => self.scale.to_bits().into(),
                Parameter::Diagonal => self.diagonal as u32 as u64,
                Parameter::Splits => plan.splits.into(),
                Parameter::Scratch => scratch_at as u64,
                Parameter::Scores(_) | Parameter::Epilogue(_) => unreachable!("no test has any"),
            };
            let parameters: Vec<u64> = launch.parameters.iter().map(argument).collect();
            let program = simulator::Program {
                entry: &launch.entry,
                object: kernel.code().map_err(|e| e.to_string())?,
                threads: launch.threads as usize,
                cluster: 1,
            };
            simulator::run(&program, &parameters, blocks as usize, &memory, seed)?;
        }
        self.compare(starts[3], score, value)
    }

    fn element(&self, i: usize, [batch, head, row]: [usize; 3]) -> usize {
        batch * self.strides[i][0] + head * self.strides[i][1] + row * self.strides[i][2]
    }

    /// The result, and how far it may be off, from sums in f64.
    fn expected(
        &self,
        [batch, head, row]: [usize; 3],
        score: &impl Fn([usize; 4], f64) -> f64,
        value: &impl Fn(f64, f64) -> f64,
    ) -> Vec<(f64, f64)> {
        let (depth, columns) = (self.attention.depth as usize, self.attention.columns as usize);
        let key_head = head / self.sizes.group as usize;
        let of = |i: usize, at: usize| f64::from(self.values[i][at]);
        let q = self.element(0, [batch, head, row]);
        let seen = |key: usize| !self.attention.causal || key as i64 <= row as i64 + i64::from(self.diagonal);
        let scores: Vec<f64> = (0..self.sizes.keys as usize)
            .map(|key| {
                let k = self.element(1, [batch, key_head, key]);
                let product: f64 = (0..depth).map(|d| of(0, q + d) * of(1, k + d)).sum();
                let made = score([batch, head, row, key], product * f64::from(self.scale));
                if seen(key) { made } else { f64::NEG_INFINITY }
            })
            .collect();
        let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let max = if max == f64::NEG_INFINITY { 0.0 } else { max };
        let weights: Vec<f64> = scores.iter().map(|score| (score - max).exp()).collect();
        let total: f64 = weights.iter().sum();
        (0..columns)
            .map(|column| {
                let at = |key: usize| of(2, self.element(2, [batch, key_head, key]) + column);
                let sum: f64 = weights.iter().enumerate().map(|(key, w)| w * at(key)).sum();
                let large: f64 = weights.iter().enumerate().map(|(key, w)| w * at(key).abs()).sum();
                (value(sum, total), large / total)
            })
            .collect()
    }

    fn compare(
        &self,
        result: *mut u8,
        score: impl Fn([usize; 4], f64) -> f64,
        value: impl Fn(f64, f64) -> f64,
    ) -> Result<(), String> {
        let out = self.attention.out;
        let found: Vec<f64> = (0..self.values[3].len())
            .map(|at| {
                // SAFETY: the result has so many elements.
                let bytes = unsafe { std::slice::from_raw_parts(result.add(at * out.bytes()), out.bytes()) };
                f64::from(decoded(out, bytes))
            })
            .collect();
        let mut touched = vec![false; found.len()];
        let Sizes { batch, heads, rows, .. } = self.sizes;
        let rounding = if self.attention.dtype == DType::F16 { 1e-3 } else { 8e-3 };
        for b in 0..batch as usize {
            for h in 0..heads as usize {
                for row in 0..rows as usize {
                    let start = self.element(3, [b, h, row]);
                    for (column, (expected, large)) in
                        self.expected([b, h, row], &score, &value).into_iter().enumerate()
                    {
                        let found = found[start + column];
                        touched[start + column] = true;
                        let near = (found - expected).abs() <= large * rounding + expected.abs() * 4e-3 + 1e-5;
                        if !(near || found.is_nan() && expected.is_nan()) {
                            return Err(format!("{found} in place of {expected} at {b}, {h}, {row}, {column}"));
                        }
                    }
                }
            }
        }
        match found.iter().zip(touched).position(|(found, touched)| !touched && *found != -77.0) {
            Some(at) => Err(format!("{} was stored between rows, at {at}", found[at])),
            None => Ok(()),
        }
    }
}

fn sizes(batch: u32, heads: u32, group: u32, rows: u32, keys: u32) -> Sizes {
    Sizes { batch, heads, group, rows, keys }
}

#[test]
fn attention_by_warpgroups_is_right_in_a_simulator() {
    let narrow = Attention { depth: 64, columns: 64, ..BF16 };
    let one = WgmmaTile { groups: 1, keys: 64, stages: 2, persistent: false, turns: false, ..LARGE };
    let two = WgmmaTile { keys: 32, stages: 3, ..LARGE };
    // Of one key head, then of two.
    let (small, pairs) = (WgmmaTile { together: 1, ..two }, WgmmaTile { together: 2 * 4 * 64 * 140, ..two });
    let three = WgmmaTile { groups: 3, ..two };
    let mut seed = 0;
    for (attention, tile, sizes, diagonal) in [
        (narrow, one, sizes(1, 2, 1, 72, 200), 128),
        (narrow, two, sizes(2, 4, 2, 150, 150), 0),
        (narrow, small, sizes(2, 4, 2, 300, 300), 0),
        (narrow, pairs, sizes(1, 5, 1, 260, 140), 20),
        (Attention { causal: false, ..narrow }, pairs, sizes(1, 5, 1, 260, 140), 0),
        (narrow, three, sizes(1, 1, 1, 200, 100), -30),
        (Attention { causal: false, ..narrow }, two, sizes(2, 2, 2, 131, 75), 0),
        (Attention { causal: false, out: DType::F32, ..narrow }, one, sizes(1, 3, 3, 5, 1), 0),
        (
            Attention { dtype: DType::F16, out: DType::F16, depth: 40, columns: 72, ..BF16 },
            two,
            sizes(1, 2, 1, 67, 130),
            63,
        ),
        (Attention { depth: 136, columns: 24, align_out: 2, ..BF16 }, two, sizes(1, 1, 1, 130, 65), 1),
    ] {
        for order in [Order::Heads, Order::Rows] {
            seed += 1;
            let run = Case::new(attention, sizes, order, diagonal).run(Tile::Wgmma(tile), seed);
            assert_eq!(run, Ok(()), "{attention:?} {tile:?} {sizes:?} {order:?}");
        }
    }
}

#[test]
fn attention_by_warps_is_right_in_a_simulator() {
    let narrow = Attention { depth: 64, columns: 64, ..BF16 };
    let mut seed = 0;
    for (attention, tile, sizes, diagonal) in [
        (narrow, MmaTile { warps: 4, keys: 32, stages: 2 }, sizes(1, 4, 2, 70, 150), 80),
        (Attention { causal: false, align: 8, ..narrow }, MmaTile::of(&narrow), sizes(2, 2, 1, 33, 75), 0),
        (Attention { depth: 40, columns: 72, align: 4, ..BF16 }, MmaTile::of(&narrow), sizes(1, 2, 1, 67, 67), 0),
        (
            Attention { dtype: DType::F16, out: DType::F16, align: 2, align_out: 2, ..narrow },
            MmaTile { warps: 2, keys: 16, stages: 3 },
            sizes(1, 1, 1, 40, 60),
            -5,
        ),
        (
            Attention { depth: 256, columns: 136, ..BF16 },
            MmaTile { keys: 32, ..MmaTile::of(&BF16) },
            sizes(1, 1, 1, 20, 40),
            25,
        ),
    ] {
        for order in [Order::Heads, Order::Rows] {
            seed += 1;
            let run = Case::new(attention, sizes, order, diagonal).run(Tile::Mma(tile), seed);
            assert_eq!(run, Ok(()), "{attention:?} {tile:?} {sizes:?} {order:?}");
        }
    }
}

#[test]
fn few_rows_are_right_in_a_simulator() {
    let narrow = Attention { depth: 64, columns: 64, causal: false, ..BF16 };
    let mut seed = 0;
    for (attention, tile, sizes, diagonal) in [
        (narrow, DecodeTile::of(&narrow), sizes(2, 2, 1, 1, 1000), 0),
        (narrow, DecodeTile { split: false, ..DecodeTile::of(&narrow) }, sizes(1, 4, 2, 3, 130), 0),
        (narrow, DecodeTile { warps: 2, keys: 32, stages: 2, split: true }, sizes(1, 4, 4, 16, 333), 0),
        (
            Attention { causal: true, ..narrow },
            DecodeTile { warps: 1, keys: 16, stages: 4, split: true },
            sizes(1, 2, 2, 20, 500),
            300,
        ),
        (Attention { causal: true, align: 2, ..narrow }, DecodeTile::of(&narrow), sizes(1, 1, 1, 3, 40), -1),
        (
            Attention { depth: 40, columns: 136, dtype: DType::F16, out: DType::F32, ..narrow },
            DecodeTile::of(&BF16),
            sizes(1, 3, 1, 5, 700),
            0,
        ),
    ] {
        for order in [Order::Heads, Order::Rows] {
            seed += 1;
            let run = Case::new(attention, sizes, order, diagonal).run(Tile::Decode(tile), seed);
            assert_eq!(run, Ok(()), "{attention:?} {tile:?} {sizes:?} {order:?}");
        }
    }
}

#[test]
fn a_large_tile_is_right_in_a_simulator() {
    let attention = Attention { out: DType::F32, align_out: 4, ..BF16 };
    Case::new(attention, sizes(1, 1, 1, 300, 300), Order::Rows, 0).run(Tile::Wgmma(LARGE), 5).unwrap();
}

/// The kernel without what an operation does.
fn without(kernel: &mut Kernel, operation: Operation) {
    let call = format!("call void @svod_sim_ptx(i32 {}, ptr %operands, ptr %results)", operation as u32);
    assert!(kernel.text.contains(&call), "{operation:?}");
    kernel.text = kernel.text.replace(&call, "");
}

#[test]
fn the_simulator_finds_what_is_missing() {
    let attention = Attention { depth: 64, columns: 64, ..BF16 };
    let ring = WgmmaTile { keys: 32, stages: 2, ..LARGE };
    for (tile, operation) in [
        (Tile::Wgmma(ring), Operation::BarrierWait),
        (Tile::Wgmma(ring), Operation::BarrierArrive),
        (Tile::Wgmma(ring), Operation::BarrierExpect),
        (Tile::Wgmma(ring), Operation::TurnGive),
        (Tile::Wgmma(ring), Operation::SyncGroup),
        (Tile::Wgmma(ring), Operation::WgmmaWait),
        (Tile::Wgmma(ring), Operation::TmaStore4),
        (Tile::Wgmma(ring), Operation::ShuffleXor),
        (Tile::Mma(MmaTile { warps: 4, keys: 32, stages: 2 }), Operation::CopyWait0),
        (Tile::Mma(MmaTile { warps: 4, keys: 32, stages: 2 }), Operation::Sync),
        (Tile::Decode(DecodeTile::of(&attention)), Operation::CopyWait1),
        (Tile::Decode(DecodeTile::of(&attention)), Operation::Sync),
    ] {
        let mut kernels = render(&attention, &tile, &Plain, &Plain, Runner::Simulator).unwrap();
        without(&mut kernels[0], operation);
        let found = (0..4).any(|seed| {
            let case = Case::new(attention, sizes(1, 5, 1, 200, 200), Order::Heads, 0);
            case.run_kernels(tile, &kernels, seed, |_, score| score, |sum, total| sum / total).is_err()
        });
        assert!(found, "{operation:?}");
    }
}

/// Distances from the diagonal, and a sum that is not divided.
struct Distance;

impl Scores for Distance {
    fn name(&self) -> String {
        "distance".into()
    }

    fn apply(&self, body: &mut Body, score: Score) -> String {
        let apart = body.sub(score.key, score.row);
        let head = body.add(score.head, score.batch);
        let apart = body.mul(apart, head);
        let apart = body.value(format_args!("sitofp i32 {apart} to float"));
        let less = body.value(format_args!("fmul float {apart}, 0.125"));
        body.value(format_args!("fadd float {}, {less}", score.value))
    }
}

impl Epilogue for Distance {
    fn name(&self) -> String {
        "sum".into()
    }

    fn apply(&self, body: &mut Body, element: Element) -> String {
        let more = body.value(format_args!("fadd float {}, 1.0", element.total));
        body.value(format_args!("fdiv float {}, {more}", element.sum))
    }
}

#[test]
fn scores_and_sums_are_what_is_made_of_them() {
    let attention = Attention { depth: 64, columns: 64, out: DType::F32, ..BF16 };
    let tile = Tile::Wgmma(WgmmaTile { groups: 1, keys: 64, stages: 2, persistent: false, turns: false, ..LARGE });
    let kernels = render(&attention, &tile, &Distance, &Distance, Runner::Simulator).unwrap();
    let score = |[batch, head, row, key]: [usize; 4], score: f64| {
        score + (key as f64 - row as f64) * (head + batch) as f64 / 8.0
    };
    Case::new(attention, sizes(2, 2, 1, 70, 90), Order::Heads, 10)
        .run_kernels(tile, &kernels, 3, score, |sum, total| sum / (total + 1.0))
        .unwrap();
}
