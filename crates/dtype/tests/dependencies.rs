//! The crates depend on each other in one direction only.
#![allow(clippy::unwrap_used)]

use std::process::Command;

/// What each crate may depend on, among svod's own.
const ALLOWED: &[(&str, &[&str])] = &[
    ("dtype", &[]),
    ("ir", &["dtype"]),
    ("device", &["dtype", "ir"]),
    ("schedule", &["dtype", "ir"]),
    ("codegen", &["dtype", "ir", "device"]),
    ("cuda", &["dtype", "ir", "device", "codegen"]),
    ("runtime", &["dtype", "ir", "device", "schedule", "codegen", "cuda"]),
    ("numeric", &[]),
    ("tensor", &["dtype", "ir", "device", "schedule", "runtime", "numeric"]),
    ("onnx", &["dtype", "ir", "device", "runtime", "tensor"]),
    ("python-macros", &[]),
    ("python", &["dtype", "ir", "device", "runtime", "tensor", "onnx", "python-macros"]),
];

#[test]
fn dependencies_point_one_way() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert_eq!(packages.len(), ALLOWED.len());
    for package in packages {
        let name = package["name"].as_str().unwrap().trim_start_matches("svod-");
        let (_, allowed) = ALLOWED.iter().find(|(crate_name, _)| *crate_name == name).unwrap();
        for dependency in package["dependencies"].as_array().unwrap() {
            let Some(on) = dependency["name"].as_str().unwrap().strip_prefix("svod-") else { continue };
            let dev = dependency["kind"].as_str() == Some("dev");
            assert!(dev || allowed.contains(&on), "{name} must not depend on {on}");
        }
    }
}
