//! Writes kernels of matrix products to a folder, as LLVM text and PTX, each with a line of JSON that says how it is
//! launched, to be tried on hardware: `cargo run -p svod-codegen --example products FOLDER`.

use std::path::Path;
use svod_codegen::gpu::Runner;
use svod_codegen::gpu::product::{
    Body, Element, Epilogue, FmaTile, Kernel, Layout, MmaTile, Parameter, Plain, Product, Tile, WgmmaTile, render,
};
use svod_dtype::DType;

/// Adds a bias to each column, then rectifies.
struct BiasRelu;

impl Epilogue for BiasRelu {
    fn name(&self) -> String {
        "bias_relu".into()
    }

    fn parameters(&self) -> Vec<String> {
        vec!["ptr addrspace(1) noalias readonly %bias".into()]
    }

    fn apply(&self, body: &mut Body, element: Element) -> String {
        let column = body.wide(element.column);
        let at = body.value(format_args!("getelementptr float, ptr addrspace(1) %bias, i64 {column}"));
        let bias = body.value(format_args!("load float, ptr addrspace(1) {at}, align 4"));
        let sum = body.value(format_args!("fadd float {}, {bias}", element.value));
        body.declare("declare float @llvm.maxnum.f32(float, float)");
        body.value(format_args!("call float @llvm.maxnum.f32(float {sum}, float 0.0)"))
    }
}

fn parameter(parameter: &Parameter) -> String {
    match parameter {
        Parameter::Map(i) => format!("map {i}"),
        Parameter::Pointer(of) => format!("pointer {of:?}"),
        Parameter::Size(size) => format!("size {size:?}"),
        Parameter::Stride(of) => format!("stride {of:?}"),
        Parameter::BatchStride(of) => format!("batch_stride {of:?}"),
        Parameter::GroupStep(of) => format!("group_step {of:?}"),
        Parameter::Batched(of) => format!("batched {of:?}"),
        Parameter::Epilogue(i) => format!("epilogue {i}"),
    }
}

fn line(label: &str, product: &Product, kernel: &Kernel, epilogue: &str) -> String {
    let launch = &kernel.launch;
    let parameters: Vec<String> = launch.parameters.iter().map(|p| format!("\"{}\"", parameter(p))).collect();
    let maps: Vec<String> = launch
        .maps
        .iter()
        .map(|map| {
            format!(
                "{{\"operand\":\"{:?}\",\"dtype\":\"{}\",\"sizes\":[\"{:?}\",\"{:?}\"],\"region\":{:?}}}",
                map.operand,
                map.dtype.short(),
                map.sizes[0],
                map.sizes[1],
                map.region
            )
        })
        .collect();
    format!(
        "{{\"label\":\"{label}\",\"entry\":\"{}\",\"processor\":\"{}\",\"threads\":{},\"shared\":{},\"cluster\":{},\
         \"tile\":{:?},\"persistent\":{},\"a\":\"{:?}\",\"b\":\"{:?}\",\"dtype\":\"{}\",\"out\":\"{}\",\"align\":{},\
         \"align_out\":{},\"epilogue\":\"{epilogue}\",\"parameters\":[{}],\"maps\":[{}]}}\n",
        launch.entry,
        kernel.processor,
        launch.threads,
        launch.shared,
        launch.cluster,
        launch.tile,
        launch.persistent,
        product.a,
        product.b,
        product.dtype.short(),
        product.out.short(),
        product.align,
        product.align_out,
        parameters.join(","),
        maps.join(",")
    )
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let base = Product {
        dtype: DType::BF16,
        out: DType::BF16,
        a: Layout::Depth,
        b: Layout::Outer,
        groups: false,
        align: 16,
        align_out: 16,
    };
    let large = WgmmaTile::LARGE;
    let simple = WgmmaTile {
        groups: 1,
        columns: 128,
        cluster: 1,
        persistent: false,
        registers: false,
        stores: false,
        rows_together: 16,
        ..large
    };
    let mut variants: Vec<(String, Product, Tile)> = Vec::new();
    let mut add = |label: &str, product: Product, tile: WgmmaTile| {
        variants.push((label.to_owned(), product, Tile::Wgmma(tile)));
    };
    // From what risks least to what is meant.
    add("one_group", base, simple);
    add("one_group_f32", Product { out: DType::F32, ..base }, simple);
    add("two_groups", base, WgmmaTile { groups: 2, ..simple });
    add("wide", base, WgmmaTile { groups: 2, columns: 256, registers: true, ..simple });
    add("persistent", base, WgmmaTile { cluster: 1, stores: false, rows_together: 16, ..large });
    add("stores", base, WgmmaTile { cluster: 1, rows_together: 16, ..large });
    add("cluster", base, WgmmaTile { stores: false, ..large });
    add("large", base, large);
    for (a, b, label) in [
        (Layout::Depth, Layout::Depth, "large_nk"),
        (Layout::Outer, Layout::Outer, "large_km"),
        (Layout::Outer, Layout::Depth, "large_km_nk"),
    ] {
        add(label, Product { a, b, ..base }, large);
    }
    add("large_f32", Product { out: DType::F32, ..base }, large);
    add("large_f16", Product { dtype: DType::F16, out: DType::F16, ..base }, large);
    add("large_c4", base, WgmmaTile { cluster: 4, rows_together: 4, ..large });
    add("large_g4", base, WgmmaTile { rows_together: 4, ..large });
    add("large_g6", base, WgmmaTile { rows_together: 6, ..large });
    add("large_g16", base, WgmmaTile { rows_together: 16, ..large });
    add("stages3", base, WgmmaTile { stages: 3, ..large });
    add("grid", base, WgmmaTile { persistent: false, ..large });
    let half = WgmmaTile { columns: 128, stages: 6, cluster: 1, rows_together: 16, ..large };
    add("half", base, half);
    add("half_c2", base, WgmmaTile { cluster: 2, rows_together: 8, ..half });
    add("quarter", base, WgmmaTile { columns: 64, stages: 8, ..half });
    add("tall", base, WgmmaTile { blocks: 2, columns: 128, stages: 4, ..half });
    add("tall_c2", base, WgmmaTile { blocks: 2, columns: 128, stages: 4, cluster: 2, rows_together: 4, ..half });
    add("wide192", base, WgmmaTile { columns: 192, stages: 4, ..half });
    add("small", base, WgmmaTile { columns: 64, stages: 8, stores: true, ..simple });
    add("unaligned", Product { align_out: 2, ..base }, large);
    // Blocks that divide the depth: of one warpgroup for few rows, of two where tiles are few.
    let one = WgmmaTile { groups: 1, registers: false, persistent: false, ..large };
    for (columns, stages) in [(64, 8), (128, 4), (128, 6), (128, 8), (192, 6), (256, 3), (256, 5)] {
        for split in [1, 2, 3, 4, 8] {
            add(&format!("few{columns}_s{stages}_d{split}"), base, WgmmaTile { columns, stages, split, ..one });
        }
    }
    for (columns, stages) in [(64, 8), (128, 6), (192, 4), (256, 4)] {
        for split in [2, 4, 8] {
            let tile = WgmmaTile { columns, stages, split, persistent: false, ..large };
            add(&format!("two{columns}_d{split}"), base, tile);
        }
    }
    for split in [1, 4] {
        let product = Product { b: Layout::Depth, ..base };
        add(&format!("few256_nk_d{split}"), product, WgmmaTile { columns: 256, stages: 5, split, ..one });
    }
    let warps = MmaTile::LARGE;
    let mut add = |label: &str, product: Product, tile: MmaTile| {
        variants.push((label.to_owned(), product, Tile::Mma(tile)));
    };
    for (a, b, label) in [
        (Layout::Depth, Layout::Outer, "mma"),
        (Layout::Depth, Layout::Depth, "mma_nk"),
        (Layout::Outer, Layout::Outer, "mma_km"),
        (Layout::Outer, Layout::Depth, "mma_km_nk"),
    ] {
        add(label, Product { a, b, ..base }, warps);
    }
    for (align, label) in [(8, "mma_a8"), (4, "mma_a4"), (2, "mma_a2")] {
        add(label, Product { align, align_out: 2, ..base }, warps);
    }
    add("mma_a2_km_nk", Product { a: Layout::Outer, b: Layout::Depth, align: 2, align_out: 2, ..base }, warps);
    add("mma_eight", base, MmaTile { warp: [64, 32], ..warps });
    add("mma_deep", base, MmaTile { warp: [64, 32], depth: 64, stages: 3, ..warps });
    add("mma_wide", base, MmaTile { tile: [128, 256], stages: 4, ..warps });
    add("mma_small", base, MmaTile { tile: [64, 64], warp: [32, 32], stages: 5, ..warps });
    add("mma_f32", Product { dtype: DType::F16, out: DType::F32, ..base }, warps);
    let f32s = Product { dtype: DType::F32, out: DType::F32, ..base };
    let mut add = |label: &str, product: Product, tile: FmaTile| {
        variants.push((label.to_owned(), product, Tile::Fma(tile)));
    };
    let [depth, outer] = [Layout::Depth, Layout::Outer];
    let layouts = [(depth, outer, ""), (depth, depth, "_nk"), (outer, outer, "_km"), (outer, depth, "_km_nk")];
    let large = FmaTile::LARGE;
    for (name, tile) in [
        ("large", large),
        ("large_r3", FmaTile { resident: 3, stages: 3, ..large }),
        ("large_s3", FmaTile { stages: 3, ..large }),
        ("large_d16", FmaTile { depth: 16, stages: 3, ..large }),
        ("medium", FmaTile::MEDIUM),
        ("medium_d16", FmaTile { depth: 16, stages: 3, ..FmaTile::MEDIUM }),
        ("medium_r3", FmaTile { resident: 3, ..FmaTile::MEDIUM }),
        ("small", FmaTile::SMALL),
        ("small_d8", FmaTile { depth: 8, ..FmaTile::SMALL }),
        ("narrow", FmaTile::NARROW),
    ] {
        for (a, b, layout) in layouts {
            add(&format!("fma_{name}{layout}"), Product { a, b, ..f32s }, tile);
        }
        add(&format!("fma_{name}_a4"), Product { align: 4, align_out: 4, ..f32s }, tile);
    }
    let mut manifest = String::new();
    for (label, product, tile) in &variants {
        for (epilogue, word) in [(&Plain as &dyn Epilogue, "plain"), (&BiasRelu, "bias_relu")] {
            if word != "plain" && !matches!(label.as_str(), "one_group" | "large" | "large_f32" | "fma_large_nk") {
                continue;
            }
            let kernel = render(product, tile, epilogue, Runner::Driver)?;
            let label = if word == "plain" { label.clone() } else { format!("{label}_{word}") };
            manifest += &line(&label, product, &kernel, word);
            std::fs::write(folder.join(format!("{label}.ll")), &kernel.text)?;
            std::fs::write(folder.join(format!("{label}.ptx")), kernel.code()?)?;
        }
    }
    std::fs::write(folder.join("manifest.jsonl"), manifest)?;
    Ok(())
}
