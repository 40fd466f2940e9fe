//! Kernels of matrix products: PTX as recorded (`SVOD_BLESS=1` rewrites it), counts of the instructions that matter,
//! what is refused. Where `PTXAS` names that program, it assembles all of them: no spills, no warnings.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;
use svod_codegen::CompileError;
use svod_codegen::gpu::product::{
    Body, Element, Epilogue, FmaTile, Kernel, Layout, MmaTile, Operand, Parameter, Plain, Product, Size, Tile,
    WgmmaTile, render,
};
use svod_dtype::DType;

const BF16: Product =
    Product { dtype: DType::BF16, out: DType::BF16, a: Layout::Depth, b: Layout::Outer, align: 16, align_out: 16 };

const NARROW: WgmmaTile = WgmmaTile { columns: 64, stages: 6, cluster: 1, rows_together: 16, ..WgmmaTile::LARGE };

fn wgmma(product: Product, tile: WgmmaTile) -> Kernel {
    render(&product, &Tile::Wgmma(tile), &Plain).unwrap()
}

/// Layouts of A and B.
const LAYOUTS: [[Layout; 2]; 4] = [
    [Layout::Depth, Layout::Outer],
    [Layout::Depth, Layout::Depth],
    [Layout::Outer, Layout::Outer],
    [Layout::Outer, Layout::Depth],
];

/// Assembles a kernel, where there is an assembler.
fn assemble(kernel: &Kernel) {
    let Some(ptxas) = std::env::var_os("PTXAS") else { return };
    let name = format!("{}-{}-{}.ptx", kernel.launch.entry, kernel.processor, std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, kernel.ptx().unwrap()).unwrap();
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
    check("product_wgmma.ptx.txt", &wgmma(BF16, NARROW).ptx().unwrap());
}

#[test]
fn warpgroups_have_the_instructions_that_are_meant() {
    for cluster in [1, 2] {
        for [a, b] in LAYOUTS {
            let kernel = wgmma(Product { a, b, ..BF16 }, WgmmaTile { cluster, ..WgmmaTile::LARGE });
            let ptx = kernel.ptx().unwrap();
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

#[test]
fn warps_as_recorded() {
    let small = MmaTile { tile: [64, 64], warp: [32, 32], ..MmaTile::LARGE };
    check("product_mma.ptx.txt", &render(&BF16, &Tile::Mma(small), &Plain).unwrap().ptx().unwrap());
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
            let kernel = render(&Product { a, b, align, ..BF16 }, &Tile::Mma(tile), &Plain).unwrap();
            let ptx = kernel.ptx().unwrap();
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
    for (align, vectors) in [(16, true), (4, false)] {
        for [a, b] in LAYOUTS {
            let kernel = render(&Product { a, b, align, ..product }, &Tile::Fma(FmaTile::LARGE), &Plain).unwrap();
            let ptx = kernel.ptx().unwrap();
            assert_eq!(count(&ptx, "fma.rn.f32"), 16 * 64);
            let wide = [a, b].iter().filter(|l| vectors && **l == Layout::Outer).count();
            assert_eq!(count(&ptx, "cp.async.cg.shared.global"), 2 * wide * 3);
            assert_eq!(count(&ptx, "cp.async.ca.shared.global"), 8 * (2 - wide) * 3);
            assemble(&kernel);
        }
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
        let ptx = kernel.ptx().unwrap();
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
        let kernel = render(&BF16, &Tile::Wgmma(NARROW), &bias).unwrap();
        let ptx = kernel.ptx().unwrap();
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
            assert_eq!(count(&kernel.ptx().unwrap(), &products), 4 * tile.blocks as usize);
            assert_eq!(kernel.launch.threads, 128 * (tile.groups + 1));
            assemble(&kernel);
        }
    }
}

#[test]
fn a_launch_covers_the_result_with_no_more_blocks_than_run_at_once() {
    let launch = wgmma(BF16, WgmmaTile::LARGE).launch;
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
    let refused = |product: Product, tile: WgmmaTile| match render(&product, &Tile::Wgmma(tile), &Plain) {
        Err(CompileError::Unsupported(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(refused(Product { dtype: DType::F32, ..BF16 }, NARROW).contains("float32"));
    assert!(refused(Product { out: DType::I32, ..BF16 }, NARROW).contains("int32"));
    assert!(refused(Product { align: 8, ..BF16 }, NARROW).contains("8 bytes"));
    assert!(refused(BF16, WgmmaTile { columns: 100, ..NARROW }).contains("columns: 100"));
    assert!(refused(BF16, WgmmaTile { stages: 8, ..WgmmaTile::LARGE }).contains("bytes of shared memory"));
    assert!(refused(BF16, WgmmaTile { blocks: 2, ..WgmmaTile::LARGE }).contains("blocks: 2"));
    let refused = |product: Product, tile: Tile| match render(&product, &tile, &Plain) {
        Err(CompileError::Unsupported(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(refused(Product { dtype: DType::F32, ..BF16 }, Tile::Mma(MmaTile::LARGE)).contains("float32"));
    assert!(refused(BF16, Tile::Mma(MmaTile { depth: 16, ..MmaTile::LARGE })).contains("depth: 16"));
    assert!(refused(BF16, Tile::Mma(MmaTile { stages: 5, depth: 64, ..MmaTile::LARGE })).contains("163840 bytes"));
    assert!(refused(BF16, Tile::Fma(FmaTile::LARGE)).contains("bfloat16"));
}
