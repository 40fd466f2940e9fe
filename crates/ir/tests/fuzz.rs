//! Every text form of this crate, fuzzed: see `support/mutate.rs`.
#![allow(clippy::unwrap_used)]

#[path = "support/mutate.rs"]
mod mutate;
#[path = "support/samples.rs"]
mod samples;

use mutate::{fuzz_text, reads_back};
use svod_ir::graph::{Declared, Graph, verify};
use svod_ir::kernel::Kernel;
use svod_ir::linear::Linear;
use svod_ir::lowered::Guard;
use svod_ir::size::{Size, Variable};
use svod_ir::target::Target;

fn texts(of: &[&str]) -> Vec<String> {
    of.iter().map(|text| (*text).to_owned()).collect()
}

/// The files of a folder whose names end so.
fn files(folder: &str, end: &str) -> Vec<String> {
    let mut found: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.to_string_lossy().ends_with(end));
    found.sort();
    found.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn graphs() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    fuzz_text("graph", &files(folder, ".graph"), |text| {
        if let Ok(graph) = Graph::parse(text, &mut Declared::default()) {
            let _ = verify::verify(&graph, verify::Phase::Built);
            reads_back(&graph, |text| Graph::parse(text, &mut Declared::default()));
        }
    });
}

#[test]
fn kernels() {
    let kernels: Vec<String> = samples::all_small().iter().map(ToString::to_string).collect();
    fuzz_text("kernel", &kernels, |text| {
        if let Ok(kernel) = Kernel::parse(text) {
            reads_back(&kernel, Kernel::parse);
            let _ = kernel.verify();
        }
    });
}

#[test]
fn linear_lists() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../codegen/tests/golden");
    fuzz_text("linear list", &files(folder, ".linear.txt"), |text| {
        if let Ok(linear) = Linear::parse(text) {
            reads_back(&linear, Linear::parse);
            let _ = linear.verify();
        }
    });
}

#[test]
fn sizes_and_guards() {
    let n = Variable::new("n", 1, 4096).unwrap();
    let m = Variable::new("m", 0, 7).unwrap();
    let vars = [n, m];
    let lookup = |name: &str| vars.iter().find(|v| v.name() == name).cloned();
    let samples = ["n", "3*n + 4", "(n + 15)//16*16", "max(n, m) - min(n, 4)", "n % 8 + m*m", "-n", "n*m//3 + 2"];
    fuzz_text("size", &texts(&samples), |text| {
        if let Ok(size) = Size::parse(text, &lookup) {
            reads_back(&size, |text| Size::parse(text, &lookup));
        }
    });
    fuzz_text("guard", &texts(&["n <= 4", "n < 2*m + 3", "n >= 4", "m == 0"]), |text| {
        if let Ok(guard) = Guard::parse(text, &vars) {
            reads_back(&guard, |text| Guard::parse(text, &vars));
        }
    });
}

#[test]
fn targets() {
    let samples: Vec<String> = Target::NAMES.iter().map(|name| Target::named(name).unwrap().to_string()).collect();
    fuzz_text("target", &samples, |text| {
        if let Ok(target) = text.parse::<Target>() {
            reads_back(&target, str::parse::<Target>);
        }
    });
}
