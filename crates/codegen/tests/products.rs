//! Kernels of matrix products: PTX as recorded (`SVOD_BLESS=1` rewrites it), counts of the instructions that matter,
//! what is refused. Where `PTXAS` names that program, it assembles all of them: no spills, no warnings.
#![allow(clippy::unwrap_used)]

mod simulator;

use std::path::Path;
use std::process::Command;
use svod_codegen::CompileError;
use svod_codegen::gpu::product::{
    Body, Element, Epilogue, FmaTile, Kernel, Layout, MmaTile, Operand, Operation, Parameter, Plain, Product, Size,
    Tile, WgmmaTile, render, whole,
};
use svod_codegen::gpu::{self, Alignment, Argument, Call, MapArgument, Runner};
use svod_dtype::{Const, DType};
use svod_ir::lowered::Lowered;
use svod_ir::target::Target;

const BF16: Product = Product {
    dtype: DType::BF16,
    out: DType::BF16,
    a: Layout::Depth,
    b: Layout::Outer,
    groups: false,
    align: 16,
    align_out: 16,
};

const NARROW: WgmmaTile = WgmmaTile { columns: 64, stages: 6, ..WgmmaTile::LARGE };

/// Two blocks share columns.
const CLUSTER: WgmmaTile = WgmmaTile { cluster: 2, rows_together: 8, ..WgmmaTile::LARGE };

/// Tiles for f32.
const FMA: [FmaTile; 4] = [FmaTile::LARGE, FmaTile::MEDIUM, FmaTile::SMALL, FmaTile::NARROW];

/// Three blocks divide the depth, of one warpgroup each.
const DIVIDED: WgmmaTile =
    WgmmaTile { groups: 1, registers: false, persistent: false, columns: 64, stages: 3, split: 3, ..WgmmaTile::LARGE };

fn wgmma(product: Product, tile: WgmmaTile) -> Kernel {
    render(&product, &Tile::Wgmma(tile), &Plain, Runner::Driver).unwrap()
}

/// Layouts of A and B.
const LAYOUTS: [[Layout; 2]; 4] = [
    [Layout::Depth, Layout::Outer],
    [Layout::Depth, Layout::Depth],
    [Layout::Outer, Layout::Outer],
    [Layout::Outer, Layout::Depth],
];

/// Its PTX.
fn ptx(kernel: &Kernel) -> String {
    String::from_utf8(kernel.code().unwrap()).unwrap()
}

/// Assembles a kernel, where there is an assembler.
fn assemble(kernel: &Kernel) {
    let Some(ptxas) = std::env::var_os("PTXAS") else { return };
    let name = format!("{}-{}-{}.ptx", kernel.launch.entry, kernel.processor, std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, ptx(kernel)).unwrap();
    let arch = format!("-arch={}", kernel.processor);
    let run = Command::new(ptxas).args([&arch, "-v", "-o", "/dev/null"]).arg(&file).output().unwrap();
    let words = String::from_utf8_lossy(&run.stderr).into_owned() + &String::from_utf8_lossy(&run.stdout);
    std::fs::remove_file(&file).unwrap();
    assert!(run.status.success(), "{words}");
    assert!(words.contains(" 0 bytes spill stores") && !words.contains("warning"), "{words}");
}

fn count(text: &str, word: &str) -> usize {
    text.matches(word).count()
}

fn check(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("SVOD_BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{name} has changed; SVOD_BLESS=1 accepts\n{found}");
}

#[test]
fn warpgroups_as_recorded() {
    check("product_wgmma.ptx.txt", &ptx(&wgmma(BF16, NARROW)));
}

#[test]
fn warpgroups_have_the_instructions_that_are_meant() {
    for cluster in [1, 2] {
        for [a, b] in LAYOUTS {
            let kernel = wgmma(Product { a, b, ..BF16 }, WgmmaTile { cluster, ..WgmmaTile::LARGE });
            let ptx = ptx(&kernel);
            assert_eq!(count(&ptx, "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"), 4);
            // A layout with the depth outside is copied in panels of 64; all but A's are for the whole cluster.
            let copies_a = if a == Layout::Depth { 1 } else { 2 };
            let copies_b = if b == Layout::Depth { 1 } else { 4 / cluster as usize };
            assert_eq!(count(&ptx, "complete_tx::bytes.multicast"), if cluster == 1 { 0 } else { copies_b });
            assert_eq!(count(&ptx, "cp.async.bulk.tensor.3d.shared::cluster"), copies_a + copies_b);
            assert_eq!(count(&ptx, "cp.async.bulk.tensor.3d.global"), 4);
            assert_eq!(count(&ptx, "stmatrix"), 16);
            assert!(kernel.launch.shared <= 232_448);
            assemble(&kernel);
        }
    }
}

/// Products of bytes: of integers, and of floats.
const BYTES: [Product; 4] = {
    let i8s = Product { dtype: DType::I8, out: DType::I32, b: Layout::Depth, ..BF16 };
    let f8s = Product { dtype: DType::F8E4M3, out: DType::F32, ..i8s };
    [i8s, Product { dtype: DType::U8, ..i8s }, f8s, Product { dtype: DType::F8E5M2, out: DType::BF16, ..i8s }]
};

#[test]
fn bytes_are_multiplied_32_deep() {
    for (product, columns, instruction) in [
        (BYTES[0], 256, "m64n256k32.s32.s8.s8"),
        (BYTES[1], 128, "m64n128k32.s32.u8.u8"),
        (BYTES[2], 192, "m64n192k32.f32.e4m3.e4m3"),
        (BYTES[3], 128, "m64n128k32.f32.e5m2.e5m2"),
    ] {
        let kernel = wgmma(product, WgmmaTile { columns, ..WgmmaTile::LARGE });
        let ptx = ptx(&kernel);
        assert_eq!(count(&ptx, &format!("wgmma.mma_async.sync.aligned.{instruction}")), 4);
        let floats = product.dtype.is_float();
        // What tensor cores have of a slice is added to sums that keep all bits.
        assert_eq!(count(&ptx, "add.rn.f32"), if floats { columns as usize / 2 } else { 0 });
        assert!(kernel.launch.maps[..2].iter().all(|map| map.region[0] == 128));
        assemble(&kernel);
        let few = WgmmaTile { columns: columns.min(192), stages: 5, split: 2, ..DIVIDED };
        assemble(&wgmma(product, few));
        if product.dtype.is_int() {
            let kernel = render(&product, &Tile::Mma(MmaTile::LARGE), &Plain, Runner::Driver).unwrap();
            assert_eq!(count(&self::ptx(&kernel), "mma.sync.aligned.m16n8k32.row.col.s32."), 4 * 8 * 2);
            assemble(&kernel);
        }
    }
}

#[test]
fn blocks_that_divide_the_depth_add_what_the_others_have() {
    for (tile, threads) in [
        (DIVIDED, 256),
        (WgmmaTile { split: 2, persistent: false, ..WgmmaTile::LARGE }, 384),
        (WgmmaTile { columns: 256, stages: 5, split: 8, ..DIVIDED }, 256),
    ] {
        for [a, b] in LAYOUTS {
            let kernel = wgmma(Product { a, b, ..BF16 }, tile);
            let ptx = ptx(&kernel);
            let share = (tile.columns / 8).div_ceil(tile.split);
            assert_eq!(count(&ptx, "st.shared.v4.b32"), tile.columns as usize / 8);
            assert_eq!(count(&ptx, "ld.shared::cluster.v4.f32"), (share * tile.split) as usize);
            // One for the producer, one before sums are read, and two at the beginning and the end.
            assert_eq!(count(&ptx, "barrier.cluster.wait"), 4);
            assert_eq!(
                (kernel.launch.threads, kernel.launch.cluster, kernel.launch.maps.len()),
                (threads, tile.split, 2)
            );
            assert_eq!(kernel.launch.blocks(16, 4096, 1, 132), 4096 / tile.columns * tile.split);
            assemble(&kernel);
        }
    }
}

#[test]
fn warps_as_recorded() {
    let small = MmaTile { tile: [64, 64], warp: [32, 32], ..MmaTile::LARGE };
    check("product_mma.ptx.txt", &ptx(&render(&BF16, &Tile::Mma(small), &Plain, Runner::Driver).unwrap()));
}

#[test]
fn warps_have_the_instructions_that_are_meant() {
    let tile = MmaTile::LARGE;
    for (align, copy, copies) in [
        (16, "cp.async.cg.shared.global", 1),
        (8, "cp.async.ca.shared.global", 2),
        (4, "cp.async.ca.shared.global", 4),
        (2, "ld.global.nc.b16", 8),
    ] {
        for [a, b] in LAYOUTS {
            let kernel = render(&Product { a, b, align, ..BF16 }, &Tile::Mma(tile), &Plain, Runner::Driver).unwrap();
            let ptx = ptx(&kernel);
            // A warp makes 64 x 64 from two steps of the depth; a thread copies 4 chunks of each operand, in each stage
            // but the last before the loop, and in the loop.
            assert_eq!(count(&ptx, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"), 4 * 8 * 2);
            assert_eq!(count(&ptx, copy), 8 * copies * tile.stages as usize, "{align}");
            let transposed = usize::from(a == Layout::Outer) + usize::from(b == Layout::Outer);
            assert_eq!(count(&ptx, "ldmatrix.sync.aligned.m8n8.x4.trans"), 8 * transposed);
            assert_eq!(count(&ptx, "ldmatrix.sync.aligned.m8n8.x4"), 16);
            assert_eq!((kernel.processor, kernel.launch.maps.len()), ("sm_80", 0));
            assemble(&kernel);
        }
    }
}

#[test]
fn f32_is_multiplied_and_added_as_it_is() {
    let product = Product { dtype: DType::F32, out: DType::F32, ..BF16 };
    for (align, store) in [(16, "st.global.v4.f32"), (4, "st.global.f32")] {
        for [a, b] in LAYOUTS {
            for tile in FMA {
                let product = Product { a, b, align, align_out: align, ..product };
                let kernel = render(&product, &Tile::Fma(tile), &Plain, Runner::Driver).unwrap();
                let ptx = ptx(&kernel);
                let ([rows, columns], depth) = (tile.thread.map(|n| n as usize), tile.depth as usize);
                assert_eq!(count(&ptx, "fma.rn.f32"), rows * columns * depth);
                // Factors of a depth, and sums that have been laid out, are read by fours, which these are stored as.
                assert_eq!(count(&ptx, "ld.shared.v4.f32"), (rows + columns) / 4 * depth + 4);
                assert_eq!(count(&ptx, "st.shared.v4.b32"), rows * columns / 4);
                // Copies of a slice that is inside, and of one that is not, in the code once.
                let each = |layout, side: u32| {
                    let values = (side * tile.depth / tile.threads()) as usize;
                    if layout == Layout::Outer && align == 16 { [values / 4, 0] } else { [0, values] }
                };
                let [of_a, of_b] = [each(a, tile.tile[0]), each(b, tile.tile[1])];
                assert_eq!(count(&ptx, "cp.async.cg.shared.global"), 2 * (of_a[0] + of_b[0]));
                assert_eq!(count(&ptx, "cp.async.ca.shared.global"), 2 * (of_a[1] + of_b[1]));
                assert!(count(&ptx, store) >= 4);
                assert!(kernel.launch.shared * tile.resident <= 227 << 10);
                assemble(&kernel);
            }
        }
    }
}

#[test]
fn an_epilogue_of_f32_is_in_the_code_a_few_times() {
    let product = Product { dtype: DType::F32, out: DType::F32, ..BF16 };
    for tile in FMA {
        let kernel = render(&product, &Tile::Fma(tile), &Bias { stores: false }, Runner::Driver).unwrap();
        assert_eq!(count(&ptx(&kernel), "add.rn.f32"), 16);
        assemble(&kernel);
    }
}

#[test]
fn results_that_no_tensor_map_can_have_are_stored_from_registers() {
    for (out, align_out, word) in [
        (DType::F32, 16, "st.global.v2.f32"),
        (DType::F32, 4, "st.global.f32"),
        (DType::BF16, 4, "st.global.b32"),
        (DType::F16, 2, "st.global.b16"),
    ] {
        let kernel = wgmma(Product { out, align_out, ..BF16 }, WgmmaTile::LARGE);
        let ptx = ptx(&kernel);
        assert!(count(&ptx, word) >= 128 / 2, "{out}");
        assert_eq!((count(&ptx, "stmatrix"), kernel.launch.maps.len()), (0, 2));
        assert!(kernel.launch.parameters.contains(&Parameter::Pointer(Operand::C)));
        assemble(&kernel);
    }
}

/// Adds a bias to each column.
struct Bias {
    stores: bool,
}

impl Epilogue for Bias {
    fn name(&self) -> String {
        "bias".into()
    }

    fn parameters(&self) -> Vec<String> {
        let mut parameters = vec!["ptr addrspace(1) noalias readonly %bias".into()];
        if self.stores {
            parameters.push("ptr addrspace(1) noalias %result".into());
        }
        parameters
    }

    fn stores(&self) -> bool {
        self.stores
    }

    fn apply(&self, body: &mut Body, element: Element) -> String {
        let column = body.wide(element.column);
        let at = body.value(format_args!("getelementptr float, ptr addrspace(1) %bias, i64 {column}"));
        let bias = body.value(format_args!("load float, ptr addrspace(1) {at}, align 4"));
        let sum = body.value(format_args!("fadd float {}, {bias}", element.value));
        if self.stores {
            let at = body.value(format_args!("getelementptr float, ptr addrspace(1) %result, i64 {column}"));
            body.line(format_args!("store float {sum}, ptr addrspace(1) {at}, align 4"));
        }
        sum
    }
}

#[test]
fn an_epilogue_is_given_every_value() {
    for stores in [false, true] {
        let bias = Bias { stores };
        let kernel = render(&BF16, &Tile::Wgmma(NARROW), &bias, Runner::Driver).unwrap();
        let ptx = ptx(&kernel);
        // 64 columns, two of each 8 to a thread, in two rows.
        assert!(count(&ptx, "ld.global.nc.f32") >= 16, "{ptx}");
        assert_eq!(count(&ptx, "add.rn.f32"), 32);
        assert_eq!(count(&ptx, "stmatrix"), if stores { 0 } else { 4 });
        let epilogues = kernel.launch.parameters.iter().filter(|p| matches!(p, Parameter::Epilogue(_))).count();
        assert_eq!(epilogues, bias.parameters().len());
        assemble(&kernel);
    }
}

#[test]
fn tiles_of_all_shapes_are_made() {
    let one = WgmmaTile { groups: 1, registers: false, persistent: false, ..NARROW };
    for tile in [
        one,
        WgmmaTile { columns: 128, ..one },
        WgmmaTile { blocks: 2, columns: 128, stages: 4, ..NARROW },
        WgmmaTile { columns: 192, stages: 4, ..NARROW },
        WgmmaTile { columns: 128, cluster: 2, ..NARROW },
        WgmmaTile { columns: 256, cluster: 4, stages: 4, ..NARROW },
    ] {
        for dtype in [DType::BF16, DType::F16] {
            let kernel = wgmma(Product { dtype, out: dtype, ..BF16 }, tile);
            let products = format!("m64n{}k16.f32.{}", tile.columns, dtype.short());
            assert_eq!(count(&ptx(&kernel), &products), 4 * tile.blocks as usize);
            assert_eq!(kernel.launch.threads, 128 * (tile.groups + 1));
            assemble(&kernel);
        }
    }
}

#[test]
fn a_launch_covers_the_result_with_no_more_blocks_than_run_at_once() {
    let launch = wgmma(BF16, CLUSTER).launch;
    assert_eq!(launch.tile, [256, 256]);
    assert_eq!(launch.blocks(4096, 4096, 1, 132), 132);
    assert_eq!(launch.blocks(300, 256, 3, 132), 12);
    assert_eq!(launch.blocks(0, 256, 1, 132), 2);
    let sizes = launch.maps.iter().map(|map| (map.operand, map.sizes, map.region)).collect::<Vec<_>>();
    assert_eq!(
        sizes,
        [
            (Operand::A, [Size::K, Size::M], [64, 128]),
            (Operand::B, [Size::N, Size::K], [64, 64]),
            (Operand::C, [Size::N, Size::M], [64, 64]),
        ]
    );
    let launch = wgmma(BF16, WgmmaTile { persistent: false, ..NARROW }).launch;
    assert_eq!(launch.blocks(4096, 4096, 1, 132), 32 * 64);
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let refused = |product: Product, tile: WgmmaTile| match render(&product, &Tile::Wgmma(tile), &Plain, Runner::Driver)
    {
        Err(CompileError::Unsupported(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(refused(Product { dtype: DType::F32, ..BF16 }, NARROW).contains("float32"));
    assert!(refused(Product { out: DType::I32, ..BF16 }, NARROW).contains("int32"));
    assert!(refused(Product { align: 8, ..BF16 }, NARROW).contains("8 bytes"));
    assert!(refused(Product { groups: true, ..BF16 }, NARROW).contains("groups"));
    assert!(refused(BF16, WgmmaTile { columns: 100, ..NARROW }).contains("columns: 100"));
    assert!(refused(BF16, WgmmaTile { stages: 8, ..WgmmaTile::LARGE }).contains("bytes of shared memory"));
    assert!(refused(BF16, WgmmaTile { blocks: 2, ..WgmmaTile::LARGE }).contains("blocks: 2"));
    assert!(refused(BF16, WgmmaTile { split: 2, ..WgmmaTile::LARGE }).contains("split: 2"));
    assert!(refused(BF16, WgmmaTile { split: 9, ..DIVIDED }).contains("split: 9"));
    let small = WgmmaTile { split: 2, persistent: false, stages: 2, ..WgmmaTile::LARGE };
    assert!(refused(BF16, small).contains("no room for the sums"));
    let refused = |product: Product, tile: Tile| match render(&product, &tile, &Plain, Runner::Driver) {
        Err(CompileError::Unsupported(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(refused(Product { dtype: DType::F32, ..BF16 }, Tile::Mma(MmaTile::LARGE)).contains("float32"));
    assert!(refused(BF16, Tile::Mma(MmaTile { depth: 16, ..MmaTile::LARGE })).contains("depth: 16"));
    assert!(refused(BF16, Tile::Mma(MmaTile { stages: 5, depth: 64, ..MmaTile::LARGE })).contains("163840 bytes"));
    assert!(refused(BF16, Tile::Fma(FmaTile::LARGE)).contains("bfloat16"));
    let outer = Product { b: Layout::Outer, ..BYTES[0] };
    assert!(refused(outer, Tile::Mma(MmaTile::LARGE)).contains("whose depth is not side by side"));
    assert!(refused(outer, Tile::Wgmma(NARROW)).contains("whose depth is not side by side"));
    assert!(refused(BYTES[2], Tile::Mma(MmaTile::LARGE)).contains("float8_e4m3fn by warps"));
    assert!(refused(BYTES[2], Tile::Wgmma(WgmmaTile::LARGE)).contains("columns: 256"));
}

/// A product's operands and result in memory, and what the result should be.
struct Case {
    product: Product,
    shape: [usize; 4],
    /// Whether A and B are of the batch; else all share one.
    batched: [bool; 2],
    memory: [Vec<f32>; 3],
    bytes: [Vec<u8>; 3],
    strides: [[usize; 2]; 3],
}

impl Case {
    fn new(product: Product, shape: [usize; 4], batched: [bool; 2]) -> Case {
        let [m, n, k, batch] = shape;
        let rows = |layout, outer| if layout == Layout::Depth { [outer, k] } else { [k, outer] };
        let sizes = [rows(product.a, m), rows(product.b, n), [m, n]];
        let mut case = Case {
            product,
            shape,
            batched,
            memory: Default::default(),
            bytes: Default::default(),
            strides: [[0; 2]; 3],
        };
        for (i, [rows, columns]) in sizes.into_iter().enumerate() {
            let (dtype, align) = if i == 2 { (product.out, product.align_out) } else { (product.dtype, product.align) };
            let per = (align as usize / dtype.bytes()).max(1);
            // Rows are padded by what nobody may touch.
            let stride = columns.next_multiple_of(per) + per;
            let count = if i == 2 || batched[i] { batch } else { 1 };
            let least = if dtype == DType::U8 { 0.0 } else { -127.0 };
            let values: Vec<f32> = (0..count * rows * stride)
                .map(|at| match at % stride {
                    _ if i == 2 => -77.0,
                    _ if dtype.is_int() => ((at * 7919 + i * 13) % 255) as f32 + least,
                    column if column < columns => ((at * 7919 + i * 13) % 17) as f32 / 8.0 - 1.0,
                    _ => f32::NAN,
                })
                .collect();
            case.strides[i] = [stride, if i == 2 || batched[i] { rows * stride } else { 0 }];
            let bytes = values.iter().flat_map(|value| encoded(dtype, *value));
            case.bytes[i] = std::iter::repeat_n(0, 64).chain(bytes).collect();
            case.memory[i] = values;
        }
        case
    }

    /// Where an operand starts: the first multiple of 16 bytes.
    fn start(&mut self, i: usize) -> *mut u8 {
        let from = self.bytes[i].as_mut_ptr();
        let skipped = from.align_offset(16);
        self.bytes[i].copy_within(64.., skipped);
        from.wrapping_add(skipped)
    }

    fn run(self, tile: Tile, seed: u64) -> Result<(), String> {
        let kernel = render(&self.product, &tile, &Plain, Runner::Simulator).unwrap();
        self.run_kernel(&kernel, seed)
    }

    fn run_kernel(mut self, kernel: &Kernel, seed: u64) -> Result<(), String> {
        let [m, n, k, batch] = self.shape;
        let starts = [0, 1, 2].map(|i| self.start(i));
        let size = |size: Size| match size {
            Size::M => m,
            Size::N => n,
            Size::K => k,
            Size::Batch => batch,
            Size::Group => 1,
        };
        let at = |operand: Operand| operand as usize;
        let maps: Vec<simulator::Map> = kernel
            .launch
            .maps
            .iter()
            .map(|map| simulator::Map {
                start: starts[at(map.operand)],
                bytes: map.dtype.bytes(),
                sizes: [
                    size(map.sizes[0]),
                    size(map.sizes[1]),
                    if self.strides[at(map.operand)][1] == 0 { 1 } else { batch },
                    1,
                ],
                strides: [self.strides[at(map.operand)][0], self.strides[at(map.operand)][1], 0],
                region: map.region.map(|n| n as usize),
            })
            .collect();
        let parameters: Vec<u64> = kernel
            .launch
            .parameters
            .iter()
            .map(|parameter| match *parameter {
                Parameter::Map(i) => &raw const maps[i] as u64,
                Parameter::Pointer(operand) => starts[at(operand)] as u64,
                Parameter::Size(of) => size(of) as u64,
                Parameter::Stride(operand) => self.strides[at(operand)][0] as u64,
                // With one matrix a group, a step more for each group is as many elements less for each matrix.
                Parameter::BatchStride(operand) => (self.strides[at(operand)][1] - self.step()) as u64,
                Parameter::GroupStep(_) => self.step() as u64,
                Parameter::Batched(operand) => self.batched[at(operand)].into(),
                Parameter::Epilogue(_) => unreachable!("the sums are stored as they are"),
            })
            .collect();
        let memory = [0, 1, 2].map(|i| {
            let bytes = if i == 2 { self.product.out } else { self.product.dtype }.bytes();
            starts[i] as usize..starts[i] as usize + self.memory[i].len() * bytes
        });
        let blocks = kernel.launch.blocks(m as u32, n as u32, batch as u32, 4);
        let program = simulator::Program {
            entry: &kernel.launch.entry,
            object: kernel.code().map_err(|e| e.to_string())?,
            threads: kernel.launch.threads as usize,
            cluster: kernel.launch.cluster as usize,
        };
        simulator::run(&program, &parameters, blocks as usize, &memory, seed)?;
        self.compare(starts[2])
    }

    /// Elements between groups of matrices, beyond the stride of matrices.
    fn step(&self) -> usize {
        if self.product.groups { 24 } else { 0 }
    }

    fn compare(&self, result: *mut u8) -> Result<(), String> {
        let [m, n, k, batch] = self.shape;
        let value = |i: usize, layout: Layout, b: usize, outer: usize, depth: usize| {
            let (row, column) = if layout == Layout::Depth { (outer, depth) } else { (depth, outer) };
            f64::from(self.memory[i][b * self.strides[i][1] + row * self.strides[i][0] + column])
        };
        let out = self.product.out;
        for at in 0..self.memory[2].len() {
            let (b, row, column) = (
                at / self.strides[2][1].max(1),
                at % self.strides[2][1].max(1) / self.strides[2][0],
                at % self.strides[2][0],
            );
            // SAFETY: the result has so many elements.
            let bytes = unsafe { std::slice::from_raw_parts(result.add(at * out.bytes()), out.bytes()) };
            let found = decoded(out, bytes);
            let expected = if row < m && column < n && b < batch {
                (0..k).map(|d| value(0, self.product.a, b, row, d) * value(1, self.product.b, b, column, d)).sum()
            } else {
                -77.0
            };
            let bound = match out {
                DType::I32 => 0.0,
                DType::F32 => expected.abs() * 1e-6 + 1e-6,
                _ => expected.abs() * 4e-3 + 1e-6,
            };
            // A NaN is not near either.
            let near = (found - expected).abs() <= bound;
            if !near {
                return Err(format!("{found} in place of {expected} at {b}, {row}, {column}"));
            }
        }
        Ok(())
    }
}

fn encoded(dtype: DType, value: f32) -> Vec<u8> {
    Const::f64(dtype, value.into()).to_le_bytes()[..dtype.bytes()].to_vec()
}

fn decoded(dtype: DType, bytes: &[u8]) -> f64 {
    let bits = bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    Const::from_bits(dtype, bits).as_f64()
}

#[test]
fn products_by_warpgroups_are_right_in_a_simulator() {
    let small = WgmmaTile { groups: 1, registers: false, persistent: false, stages: 2, ..NARROW };
    let tall = WgmmaTile { blocks: 2, columns: 128, stages: 3, ..NARROW };
    let mut seed = 0;
    for tile in [small, NARROW, tall, WgmmaTile { stages: 3, ..CLUSTER }] {
        for [a, b] in LAYOUTS {
            seed += 1;
            let product = Product { a, b, ..BF16 };
            Case::new(product, [72, 88, 200, 2], [true, false]).run(Tile::Wgmma(tile), seed).unwrap();
        }
        for (dtype, out, align_out) in
            [(DType::F16, DType::F32, 4), (DType::BF16, DType::BF16, 2), (DType::F16, DType::F16, 16)]
        {
            seed += 1;
            let product = Product { dtype, out, align_out, ..BF16 };
            Case::new(product, [131, 67, 72, 1], [true; 2]).run(Tile::Wgmma(tile), seed).unwrap();
        }
    }
}

#[test]
fn products_of_bytes_are_right_in_a_simulator() {
    let warps = Tile::Mma(MmaTile { tile: [64, 64], warp: [32, 32], stages: 3, ..MmaTile::LARGE });
    let small = WgmmaTile { groups: 1, registers: false, persistent: false, stages: 2, ..NARROW };
    let mut seed = 200;
    for product in BYTES {
        for tile in [small, NARROW, DIVIDED, WgmmaTile { columns: 128, stages: 3, ..CLUSTER }] {
            for k in [40, 144, 656] {
                seed += 1;
                Case::new(product, [72, 88, k, 2], [true, false]).run(Tile::Wgmma(tile), seed).unwrap();
            }
        }
        if product.dtype.is_int() {
            for (align, k) in [(16, 16), (8, 77), (4, 300)] {
                let product = Product { align, align_out: 4, ..product };
                Case::new(product, [67, 75, k, 2], [false, true]).run(warps, seed).unwrap();
            }
            Case::new(Product { groups: true, ..product }, [67, 75, 48, 4], [true; 2]).run(warps, seed).unwrap();
        }
    }
}

#[test]
fn divided_depths_are_right_in_a_simulator() {
    let two = WgmmaTile { groups: 2, registers: true, columns: 128, split: 2, ..DIVIDED };
    let mut seed = 100;
    for tile in [DIVIDED, two, WgmmaTile { columns: 192, stages: 2, split: 5, ..DIVIDED }] {
        for [a, b] in LAYOUTS {
            // Two slices for three blocks, four, and eleven.
            for k in [72, 200, 650] {
                seed += 1;
                let product = Product { a, b, ..BF16 };
                Case::new(product, [72, 88, k, 2], [true, false]).run(Tile::Wgmma(tile), seed).unwrap();
            }
        }
        for (dtype, out, align_out) in
            [(DType::F16, DType::F32, 4), (DType::BF16, DType::BF16, 2), (DType::F16, DType::F16, 16)]
        {
            seed += 1;
            let product = Product { dtype, out, align_out, ..BF16 };
            Case::new(product, [16, 131, 328, 1], [true; 2]).run(Tile::Wgmma(tile), seed).unwrap();
        }
    }
}

#[test]
fn products_by_warps_and_of_f32_are_right_in_a_simulator() {
    let warps = Tile::Mma(MmaTile { tile: [64, 64], warp: [32, 32], stages: 3, ..MmaTile::LARGE });
    let f32s = Product { dtype: DType::F32, out: DType::F32, ..BF16 };
    let mut seed = 0;
    let fma = FMA.map(|tile| (f32s, Tile::Fma(tile), [16, 8, 4, 4]));
    for (product, tile, aligns) in [(BF16, warps, [16, 8, 4, 2])].into_iter().chain(fma) {
        for align in aligns {
            for [a, b] in LAYOUTS {
                seed += 1;
                let product = Product { a, b, align, align_out: align, ..product };
                Case::new(product, [67, 75, 77, 2], [seed % 2 == 0, true]).run(tile, seed).unwrap();
                // With tiles all of which is inside, and slices.
                if matches!(tile, Tile::Fma(_)) {
                    Case::new(product, [130, 133, 36, 2], [true, seed % 2 == 0]).run(tile, seed).unwrap();
                }
            }
        }
        for out in [DType::F32, DType::F16, DType::BF16] {
            for align_out in [16, 2] {
                let align_out = if out == DType::F32 { align_out.max(4) } else { align_out };
                let product = Product { out, align_out, ..product };
                Case::new(product, [70, 62, 24, 1], [true; 2]).run(tile, 1).unwrap();
            }
        }
        Case::new(product, [5, 3, 0, 1], [true; 2]).run(tile, 1).unwrap();
        Case::new(Product { groups: true, ..product }, [67, 75, 40, 4], [true; 2]).run(tile, 2).unwrap();
    }
}

/// The kernel without what an operation does.
fn without(kernel: &mut Kernel, operation: Operation) {
    let call = format!("call void @svod_sim_ptx(i32 {}, ptr %operands, ptr %results)", operation as u32);
    assert!(kernel.text.contains(&call), "{operation:?}");
    kernel.text = kernel.text.replace(&call, "");
}

#[test]
fn the_simulator_finds_what_is_missing() {
    let ring = WgmmaTile { stages: 2, ..NARROW };
    let warps = MmaTile { tile: [64, 64], warp: [32, 32], stages: 2, ..MmaTile::LARGE };
    for (tile, operation) in [
        (Tile::Wgmma(ring), Operation::BarrierWait),
        (Tile::Wgmma(ring), Operation::BarrierArrive),
        (Tile::Wgmma(ring), Operation::BarrierExpect),
        (Tile::Wgmma(ring), Operation::SyncGroup),
        (Tile::Wgmma(ring), Operation::TmaStore),
        (Tile::Wgmma(WgmmaTile { stages: 3, ..CLUSTER }), Operation::SyncCluster),
        (Tile::Wgmma(DIVIDED), Operation::SyncCluster),
        (Tile::Wgmma(DIVIDED), Operation::StoreShared),
        (Tile::Wgmma(DIVIDED), Operation::LoadRemote),
        (Tile::Mma(warps), Operation::CopyWait0),
        (Tile::Mma(warps), Operation::Sync),
        (Tile::Fma(FmaTile::LARGE), Operation::CopyWait2),
        (Tile::Fma(FmaTile::MEDIUM), Operation::Sync),
        (Tile::Fma(FmaTile::SMALL), Operation::SyncWarp),
        (Tile::Fma(FmaTile::NARROW), Operation::StoreShared),
    ] {
        let product =
            if matches!(tile, Tile::Fma(_)) { Product { dtype: DType::F32, out: DType::F32, ..BF16 } } else { BF16 };
        let mut kernel = render(&product, &tile, &Plain, Runner::Simulator).unwrap();
        without(&mut kernel, operation);
        let found =
            (0..4).any(|seed| Case::new(product, [200, 72, 600, 1], [true; 2]).run_kernel(&kernel, seed).is_err());
        assert!(found, "{operation:?}");
    }
}

/// A loop tree of a product, an element a task.
fn phase(dtype: &str, value: &str) -> Lowered {
    let text = format!(
        "lowered matmul
param p0: {dtype}[3, 300, 200]
param p1: {dtype}[200, 136]
param p2: {dtype}[136]
param p3: {dtype}[3, 300, 136]

phase
grid b < 3, i < 300, j < 136
temp s0: f32[1, 1, 1] scratch
temp s0_acc: f32[1, 1, 1, 1] register
{{
  s0_acc[0, 0, 0, 0] = f32(0.0)
  serial k < 200 {{
    s0_acc[0, 0, 0, 0] = s0_acc[0, 0, 0, 0] + {} * {}
  }}
  s0[0, 0, 0] = s0_acc[0, 0, 0, 0]
  p3[b, i, j] = {value}
}}
",
        if dtype == "f32" { "p0[b, i, k]" } else { "cast(f32, p0[b, i, k])" },
        if dtype == "f32" { "p1[k, j]" } else { "cast(f32, p1[k, j])" },
    );
    Lowered::parse(&text).unwrap()
}

#[test]
fn a_phase_that_is_a_product_is_a_kernel_of_its_own() {
    let target = Target::named("cuda-sm90").unwrap();
    let object = |text: &Lowered, target: &Target, alignment| {
        let object = gpu::compile(text, target, Runner::Driver, alignment).unwrap();
        let ptx = String::from_utf8(object.bytes).unwrap();
        (object.phases[0].clone(), ptx)
    };
    let gelu = "cast(bf16, max(s0[0, 0, 0], f32(0.0)) * exp(s0[0, 0, 0] * f32(0.5)) + cast(f32, p2[j]))";
    for value in ["cast(bf16, s0[0, 0, 0])", gelu] {
        let kernel = phase("bf16", value);
        let (found, ptx) = object(&kernel, &target, Alignment::Widest);
        let call = found.whole.unwrap();
        assert!(ptx.contains("wgmma.mma_async") && !ptx.contains("call.uni"), "{ptx}");
        assert_eq!(ptx.contains("ld.global"), value == gelu);
        let map = |param, outer, inner, batch: u64, strides, region| {
            let (sizes, strides, region) = (vec![inner, outer, batch], Vec::from(strides), Vec::from(region));
            Argument::Map(MapArgument { param: Some(param), offset: 0, dtype: DType::BF16, sizes, strides, region })
        };
        assert_eq!(call.arguments[1], map(1, 200, 136, 1, [272, 16], [64, 64, 1]));
        assert!(matches!(&call.arguments[2], Argument::Map(m) if m.param == Some(3) && m.strides == [272, 81600]));
        assert_eq!(Call::parse(&call.to_string()), Some(call));
        // Arguments of which nothing is known, and GPUs without warpgroups: warps.
        let old = Target::named("cuda-sm80").unwrap();
        for (target, alignment) in [(&target, Alignment::Element), (&old, Alignment::Widest)] {
            let (found, ptx) = object(&kernel, target, alignment);
            assert!(ptx.contains("mma.sync") && found.whole.is_some());
        }
    }
    let (found, ptx) = object(&phase("f32", "s0[0, 0, 0] + p2[j]"), &target, Alignment::Widest);
    assert!(ptx.contains("fma.rn.f32") && found.whole.is_some());
    // Otherwise it is loops: in a simulator, and of types that no kernel is of.
    let loops = gpu::compile(&phase("bf16", gelu), &target, Runner::Simulator, Alignment::Widest).unwrap();
    assert_eq!(loops.phases[0].whole, None);
}

/// A loop tree of a product of bf16 with these numbers of rows, columns and depths.
fn odd([m, n, k]: [usize; 3], [a, b]: [&str; 2], [index_a, index_b]: [&str; 2], value: &str) -> Lowered {
    let text = format!(
        "lowered matmul
param p0: bf16[2, {a}]
param p1: bf16[{b}]
param p2: bf16[{n}]
param p3: bf16[2, {m}, {n}]

phase
grid b < 2, i < {m}, j < {n}
temp s0_acc: f32[1] register
{{
  s0_acc[0] = f32(0.0)
  serial k < {k} {{
    s0_acc[0] = s0_acc[0] + cast(f32, p0[b, {index_a}]) * cast(f32, p1[{index_b}])
  }}
  p3[b, i, j] = cast(bf16, {value})
}}
"
    );
    Lowered::parse(&text).unwrap()
}

#[test]
fn operands_whose_rows_begin_anywhere_are_copied_first() {
    let (new, old) = (Target::named("cuda-sm90").unwrap(), Target::named("cuda-sm80").unwrap());
    let [m, n, k] = [21, 35, 801];
    let [mk, km, kn, nk] = [[m, k], [k, m], [k, n], [n, k]].map(|[a, b]| format!("{a}, {b}"));
    let value = "s0_acc[0] * f32(0.5) + cast(f32, p2[j])";
    for (sizes, indices) in
        [([&mk, &kn], ["i, k", "k, j"]), ([&mk, &nk], ["i, k", "j, k"]), ([&km, &kn], ["k, i", "k, j"])]
    {
        let lowered = odd([m, n, k], sizes.map(|s| s.as_str()), indices, value);
        let found = lowered.product().unwrap();
        let others = [(&old, Alignment::Widest), (&new, Alignment::Element)];
        let others = others.into_iter().filter(|_| indices == ["i, k", "k, j"]);
        for (target, alignment) in others.chain([(&new, Alignment::Widest)]) {
            let kernels = whole(&lowered, &found, target, alignment, Runner::Simulator).unwrap().unwrap();
            // Two copies, one after the other, and the product.
            let calls: Vec<_> = kernels.iter().map(|(_, call)| (call.scratch > 0, call.follows)).collect();
            assert_eq!(calls, [(true, false), (false, true), (false, true)], "{found:?}");
            let program = |kernel| -> simulator::Program {
                let kernel: &Kernel = kernel;
                let (launch, object) = (&kernel.launch, kernel.code().unwrap());
                let (threads, cluster) = (launch.threads as usize, launch.cluster as usize);
                simulator::Program { entry: &launch.entry, object, threads, cluster }
            };
            let launched: Vec<_> = kernels.iter().map(|(kernel, call)| (program(kernel), call)).collect();
            simulator::loops::check(&lowered, &launched);
        }
    }
    // One of them is aligned, and few products are not worth the copies.
    let aligned = odd([128, n, 800], ["128, 800", "800, 35"], ["i, k", "k, j"], "s0_acc[0]");
    let call = |lowered: &Lowered, target| {
        let object = gpu::compile(lowered, target, Runner::Driver, Alignment::Widest).unwrap();
        object.phases.iter().map(|phase| phase.whole.clone().unwrap().follows).collect::<Vec<_>>()
    };
    assert_eq!(call(&aligned, &new), [false, true]);
    let few = odd([35, 33, 37], ["35, 37", "37, 33"], ["i, k", "k, j"], "s0_acc[0]");
    assert_eq!(call(&few, &new), [false]);
    let found = aligned.product().unwrap();
    let kernels = whole(&aligned, &found, &new, Alignment::Widest, Runner::Driver).unwrap().unwrap();
    kernels.iter().for_each(|(kernel, _)| assemble(kernel));
}

/// A loop tree of a product of bytes.
fn of_bytes(dtype: &str, sums: &str, [a, b]: [[&str; 2]; 2], out: &str, value: &str) -> Lowered {
    let text = format!(
        "lowered matmul
param p0: {dtype}[2, {}]
param p1: {dtype}[{}]
param p2: f32[40]
param p3: {out}[2, 72, 40]

phase
grid b < 2, i < 72, j < 40
temp s0_acc: {sums}[1] register
{{
  s0_acc[0] = {sums}({})
  serial k < 90 {{
    s0_acc[0] = s0_acc[0] + cast({sums}, p0[b, {}]) * cast({sums}, p1[{}])
  }}
  p3[b, i, j] = {value}
}}
",
        a[0],
        b[0],
        if sums == "i32" { "0" } else { "0.0" },
        a[1],
        b[1],
    );
    Lowered::parse(&text).unwrap()
}

#[test]
fn bytes_whose_depth_is_not_side_by_side_are_turned_first() {
    let (new, old) = (Target::named("cuda-sm90").unwrap(), Target::named("cuda-sm80").unwrap());
    // Depth side by side or not, at multiples of 16 bytes or not, in words or not.
    let of_a = [["72, 96", "i, k"], ["72, 90", "i, k"], ["96, 72", "k, i"], ["93, 77", "k, i"]];
    let of_b = [["40, 112", "j, k"], ["40, 93", "j, k"], ["90, 40", "k, j"], ["90, 45", "k, j + 3"]];
    let scaled = "cast(bf16, cast(f32, s0_acc[0]) * p2[j])";
    let types = [("i8", "i32"), ("u8", "i32"), ("f8e4m3", "f32"), ("f8e5m2", "f32")];
    let mut copied = 0;
    for (n, (a, b)) in of_a.iter().flat_map(|a| of_b.iter().map(move |b| (*a, *b))).enumerate() {
        let (dtype, sums) = types[(n + n / 4) % 4];
        let (out, value) = match n % 3 {
            0 => (sums, "s0_acc[0]"),
            1 if n == 1 => ("i32", "s0_acc[0] + i32(7)"),
            1 if sums == "i32" => ("i8", "cast(i8, cast(f32, s0_acc[0]) * p2[j] * f32(0.01))"),
            1 => ("f8e4m3", "cast(f8e4m3, s0_acc[0] * p2[j])"),
            _ => ("bf16", scaled),
        };
        let lowered = of_bytes(dtype, sums, [a, b], out, value);
        let found = lowered.product().unwrap();
        for target in [&new, &old] {
            let made = |runner| whole(&lowered, &found, target, Alignment::Widest, runner).unwrap();
            let Some(kernels) = made(Runner::Simulator) else {
                assert!(sums == "f32" && target.name == "cuda-sm80");
                continue;
            };
            copied += kernels.len() - 1;
            let program = |kernel: &Kernel| simulator::Program {
                entry: kernel.launch.entry.clone().leak(),
                object: kernel.code().unwrap(),
                threads: kernel.launch.threads as usize,
                cluster: kernel.launch.cluster as usize,
            };
            let launched: Vec<_> = kernels.iter().map(|(kernel, call)| (program(kernel), call)).collect();
            simulator::loops::check(&lowered, &launched);
            made(Runner::Driver).unwrap().iter().for_each(|(kernel, _)| assemble(kernel));
        }
    }
    // Three of four of each operand, of half of them on both GPUs.
    assert_eq!(copied, 16 * 2 * 3 / 4 * 3 / 2);
}
