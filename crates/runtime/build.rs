//! Names this build of the code generator, for the keys of the on-disk cache.

use std::path::PathBuf;

/// The crates whose source decides what code a kernel becomes.
const GENERATORS: [&str; 4] = ["dtype", "ir", "schedule", "codegen"];

fn main() {
    // Where this build is, which the place where the script was compiled need not be: build folders are copied.
    let crates = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("..");
    let mut hasher = blake3::Hasher::new();
    for name in GENERATORS {
        // A packaged crate has no neighbours: then the version number tells builds apart.
        let root = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", root.display());
        for file in sources(root) {
            hasher.update(&std::fs::read(file).unwrap_or_default());
        }
    }
    println!("cargo::rustc-env=SVOD_BUILD_ID={}", hasher.finalize().to_hex());
}

/// The files below a folder, in order of their names.
fn sources(root: PathBuf) -> Vec<PathBuf> {
    let (mut folders, mut files) = (vec![root], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { &mut folders } else { &mut files }.push(path);
        }
    }
    files.sort();
    files
}
