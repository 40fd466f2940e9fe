//! The folders of `src` are layers: code uses its own and those below, never one above.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

/// From the bottom to the top, as `lib.rs` lists them.
const FOLDERS: [&str; 13] = [
    "costs",
    "language",
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

/// Numbers that are no decisions: bits of a type, what others have defined, numbers of parameters that no kernel has, infinity, columns of words,
/// and names of numbers.
const NO_DECISIONS: [&str; 6] = ["HALF", "ROTATIONS", "PARITY", "NONE", "LEFT", "COMMON"];

#[test]
fn numbers_that_decide_are_in_the_tables() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&src, &mut all);
    let mut rows = 0;
    for file in all {
        let text = std::fs::read_to_string(&file).unwrap();
        let tables = file.starts_with(src.join("costs/limits"));
        for line in text.lines().filter_map(|line| line.split_once("const ")) {
            let Some((name, of)) = line.1.split_once(": ") else { continue };
            let kind = of.trim_start_matches(['[', '(', '&']);
            let number = ["i64", "u64", "i32", "u32", "usize", "f64"].iter().any(|t| kind.starts_with(t));
            let counts = number && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
            rows += usize::from(counts && tables);
            let allowed = tables || NO_DECISIONS.contains(&name);
            assert!(!counts || allowed, "{}: `{name}` belongs into a table of `costs/limits`", file.display());
        }
    }
    assert!((100..=167).contains(&rows), "tables have {rows} rows: a number that another says already is not one more");
}

/// Lines of a function at most: one that does several things is several.
const LONGEST: usize = 80;

#[test]
fn functions_are_short() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&src, &mut all);
    let mut functions = 0;
    for file in all.into_iter().filter(|file| !file.ends_with("tests.rs")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let code = line.trim_start();
            let words = code.split_once("fn ").map(|(words, _)| words.trim_end_matches("const "));
            let begins = words.is_some_and(|words| ["", "pub ", "pub(crate) ", "pub(super) "].contains(&words));
            if line.ends_with(';') || !begins {
                continue;
            }
            // Formatted code ends a function by a brace below its first word.
            let end = format!("{}}}", &line[..line.len() - code.len()]);
            let length = lines[at..].iter().position(|l| **l == end).map_or(1, |last| last + 1);
            assert!(length <= LONGEST, "{}: {length} lines: {code}", file.display());
            functions += 1;
        }
    }
    assert!(functions > 500, "functions are found at all: {functions}");
}

#[test]
fn paths_are_found_in_code_alone() {
    let text = "use crate::lower::{a, b};\n// crate::choose\nuse crate::{apply::x, costs};\n/// [`crate::calls`]\nlet x = crate::kernel::y;";
    assert_eq!(folders_used(text), ["lower", "apply", "costs", "kernel"]);
}
