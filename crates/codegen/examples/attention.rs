//! Writes kernels of attention to a folder, as LLVM text and PTX, each with a line of JSON that says how it is launched, to be tried
//! on hardware: `cargo run -p svod-codegen --example attention FOLDER`.

use std::path::Path;
use svod_codegen::gpu::Runner;
use svod_codegen::gpu::attention::{
    Attention, DecodeTile, Kernel, MmaTile, Parameter, Plain, TensorMap, Tile, WgmmaTile, render,
};
use svod_dtype::DType;

fn parameter(parameter: &Parameter) -> String {
    match parameter {
        Parameter::Map(i) => format!("map {i}"),
        Parameter::Pointer(of) => format!("pointer {of:?}"),
        Parameter::Size(size) => format!("size {size:?}"),
        Parameter::Stride(of, dimension) => format!("stride {of:?} {dimension:?}"),
        Parameter::Scale => "scale".into(),
        Parameter::Diagonal => "diagonal".into(),
        Parameter::Splits => "splits".into(),
        Parameter::Scratch => "scratch".into(),
        Parameter::Scores(i) => format!("scores {i}"),
        Parameter::Epilogue(i) => format!("epilogue {i}"),
    }
}

fn list(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(",")
}

fn line(label: &str, attention: &Attention, tile: &Tile, kernels: &[Kernel]) -> String {
    let map = |map: &TensorMap| {
        format!("{{\"operand\":\"{:?}\",\"dtype\":\"{}\",\"region\":{:?}}}", map.operand, map.dtype.short(), map.region)
    };
    let launch = |(i, kernel): (usize, &Kernel)| {
        let launch = &kernel.launch;
        format!(
            "{{\"file\":\"{label}_{i}.ptx\",\"entry\":\"{}\",\"processor\":\"{}\",\"threads\":{},\"shared\":{},\
             \"parameters\":[{}],\"maps\":[{}]}}",
            launch.entry,
            kernel.processor,
            launch.threads,
            launch.shared,
            list(launch.parameters.iter().map(|p| format!("\"{}\"", parameter(p)))),
            list(launch.maps.iter().map(map)),
        )
    };
    let (kind, rows, persistent, keys, warps) = match tile {
        Tile::Wgmma(tile) => ("wgmma", tile.groups * 64, tile.persistent, tile.keys, 0),
        Tile::Mma(tile) => ("mma", tile.warps * 16, false, tile.keys, tile.warps),
        Tile::Decode(tile) => ("decode", DecodeTile::ROWS, false, tile.keys, tile.warps),
    };
    format!(
        "{{\"label\":\"{label}\",\"kind\":\"{kind}\",\"rows\":{rows},\"keys\":{keys},\"warps\":{warps},\
         \"persistent\":{persistent},\"depth\":{},\"columns\":{},\"causal\":{},\"dtype\":\"{}\",\"out\":\"{}\",\
         \"kernels\":[{}]}}\n",
        attention.depth,
        attention.columns,
        attention.causal,
        attention.dtype.short(),
        attention.out.short(),
        list(kernels.iter().enumerate().map(launch)),
    )
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    let base = Attention {
        dtype: DType::BF16,
        out: DType::BF16,
        depth: 128,
        columns: 128,
        causal: true,
        align: 16,
        align_out: 16,
    };
    let (full, narrow) = (Attention { causal: false, ..base }, Attention { depth: 64, columns: 64, ..base });
    let large = WgmmaTile::LARGE;
    let variants = [
        // From what risks least to what is meant.
        ("one", base, Tile::Wgmma(WgmmaTile { groups: 1, persistent: false, turns: false, ..large })),
        ("two", base, Tile::Wgmma(WgmmaTile { persistent: false, turns: false, ..large })),
        ("persistent", base, Tile::Wgmma(WgmmaTile { turns: false, ..large })),
        ("turns", base, Tile::Wgmma(WgmmaTile { persistent: false, ..large })),
        ("large", base, Tile::Wgmma(large)),
        ("large_l16", base, Tile::Wgmma(WgmmaTile { together: 16 << 20, ..large })),
        ("large_l64", base, Tile::Wgmma(WgmmaTile { together: 64 << 20, ..large })),
        ("stages5", base, Tile::Wgmma(WgmmaTile { stages: 5, ..large })),
        ("keys64", base, Tile::Wgmma(WgmmaTile { keys: 64, stages: 8, ..large })),
        ("keys96", base, Tile::Wgmma(WgmmaTile { keys: 96, stages: 6, ..large })),
        ("keys112", base, Tile::Wgmma(WgmmaTile { keys: 112, stages: 5, ..large })),
        ("keys144", base, Tile::Wgmma(WgmmaTile { keys: 144, stages: 4, ..large })),
        ("full", full, Tile::Wgmma(large)),
        ("full_turns", full, Tile::Wgmma(WgmmaTile { persistent: false, ..large })),
        ("full_persistent", full, Tile::Wgmma(WgmmaTile { turns: false, ..large })),
        ("full_keys144", full, Tile::Wgmma(WgmmaTile { keys: 144, ..large })),
        ("full_keys160", full, Tile::Wgmma(WgmmaTile { keys: 160, ..large })),
        ("full_keys176", full, Tile::Wgmma(WgmmaTile { keys: 176, stages: 3, ..large })),
        ("f16_f32", Attention { dtype: DType::F16, out: DType::F32, ..base }, Tile::Wgmma(large)),
        ("narrow", narrow, Tile::Wgmma(WgmmaTile { stages: 6, ..large })),
        ("narrow3", narrow, Tile::Wgmma(WgmmaTile { groups: 3, stages: 6, ..large })),
        ("narrow3_free", narrow, Tile::Wgmma(WgmmaTile { groups: 3, stages: 6, turns: false, ..large })),
        ("narrow_full", Attention { causal: false, ..narrow }, Tile::Wgmma(WgmmaTile { stages: 6, ..large })),
        (
            "narrow_full192",
            Attention { causal: false, ..narrow },
            Tile::Wgmma(WgmmaTile { keys: 192, stages: 6, ..large }),
        ),
        (
            "narrow3_full",
            Attention { causal: false, ..narrow },
            Tile::Wgmma(WgmmaTile { groups: 3, stages: 6, ..large }),
        ),
        ("odd96", Attention { depth: 96, columns: 96, ..base }, Tile::Wgmma(large)),
        ("deep192", Attention { depth: 192, columns: 192, ..base }, Tile::Wgmma(WgmmaTile { keys: 64, ..large })),
        (
            "deep256",
            Attention { depth: 256, columns: 256, ..base },
            Tile::Wgmma(WgmmaTile { keys: 64, stages: 3, ..large }),
        ),
        ("mma", base, Tile::Mma(MmaTile::of(&base))),
        ("mma_eight", base, Tile::Mma(MmaTile { warps: 8, ..MmaTile::of(&base) })),
        ("mma_keys32", base, Tile::Mma(MmaTile { keys: 32, stages: 3, ..MmaTile::of(&base) })),
        ("mma_narrow", narrow, Tile::Mma(MmaTile::of(&narrow))),
        ("mma_full", full, Tile::Mma(MmaTile::of(&full))),
        ("decode", full, Tile::Decode(DecodeTile::of(&full))),
        ("decode8", full, Tile::Decode(DecodeTile { warps: 8, keys: 16, stages: 3, split: true })),
        ("decode8_s2", full, Tile::Decode(DecodeTile { warps: 8, keys: 16, stages: 2, split: true })),
        ("decode4_k32", full, Tile::Decode(DecodeTile { warps: 4, keys: 32, stages: 3, split: true })),
        ("decode4_k32_s2", full, Tile::Decode(DecodeTile { warps: 4, keys: 32, stages: 2, split: true })),
        ("decode4_s5", full, Tile::Decode(DecodeTile { warps: 4, keys: 16, stages: 5, split: true })),
        ("decode2_k32", full, Tile::Decode(DecodeTile { warps: 2, keys: 32, stages: 3, split: true })),
        ("decode_whole", full, Tile::Decode(DecodeTile { split: false, ..DecodeTile::of(&full) })),
        ("decode_causal", base, Tile::Decode(DecodeTile::of(&base))),
    ];
    let mut manifest = String::new();
    for (label, attention, tile) in &variants {
        let kernels = match render(attention, tile, &Plain, &Plain, Runner::Driver) {
            Ok(kernels) => kernels,
            Err(error) => {
                eprintln!("{label}: {error}");
                continue;
            }
        };
        manifest += &line(label, attention, tile, &kernels);
        for (i, kernel) in kernels.iter().enumerate() {
            std::fs::write(folder.join(format!("{label}_{i}.ll")), &kernel.text)?;
            std::fs::write(folder.join(format!("{label}_{i}.ptx")), kernel.code()?)?;
        }
    }
    std::fs::write(folder.join("manifest.jsonl"), manifest)?;
    Ok(())
}
