//! The folders of `src` are layers: code uses its own and those below, never one above.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

/// From the bottom to the top, as `lib.rs` lists them.
const FOLDERS: [&str; 13] = [
    "language",
    "costs",
    "kernel",
    "reduction",
    "graph",
    "fusion",
    "rangeify",
    "calls",
    "pipeline",
    "apply",
    "lower",
    "choose",
    "analysis",
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// The first name of each path that begins with `crate::`, comments left out; of `crate::{a::b, c}` each.
fn folders_used(text: &str) -> Vec<String> {
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    code.split("crate::")
        .skip(1)
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(group) => {
                group.split('}').next().unwrap_or_default().split(',').map(|path| word(path.trim())).collect()
            }
            None => vec![word(rest)],
        })
        .collect()
}

#[test]
fn no_folder_uses_one_above_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found: Vec<String> = std::fs::read_dir(&src)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    found.sort();
    let mut known = FOLDERS.map(str::to_owned).to_vec();
    known.sort();
    assert_eq!(found, known, "each folder has its place in the order");

    let mut uses = 0;
    for (at, folder) in FOLDERS.iter().enumerate() {
        let mut own = Vec::new();
        files(&src.join(folder), &mut own);
        for file in own {
            for used in folders_used(&std::fs::read_to_string(&file).unwrap()) {
                let place = FOLDERS.iter().position(|known| *known == used);
                let place = place.unwrap_or_else(|| panic!("{}: `crate::{used}` is no folder", file.display()));
                assert!(place <= at, "{}: `{folder}` uses `{used}`, which is above it", file.display());
                uses += usize::from(place < at);
            }
        }
    }
    assert!(uses > 100, "the paths of uses are found at all: {uses}");
}

#[test]
fn paths_are_found_in_code_alone() {
    let text = "use crate::lower::{a, b};\n// crate::choose\nuse crate::{apply::x, costs};\n/// [`crate::calls`]\nlet x = crate::kernel::y;";
    assert_eq!(folders_used(text), ["lower", "apply", "costs", "kernel"]);
}
