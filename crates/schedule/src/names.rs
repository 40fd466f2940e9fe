//! Names of kernels: what kind, over which extents.

use svod_ir::kernel::{Body, Kernel};

/// A short name such as `matmul_1024x384x384` or `rows_96x128_128`.
pub(crate) fn name(kernel: &Kernel) -> String {
    let last = kernel.stages.len() - 1;
    let folds = |s: usize| matches!(kernel.stages[s].body, Body::Fold { .. });
    let is_tiled = |s: &usize| crate::contraction::recognise(kernel, *s).is_some();
    let tiled: Vec<usize> = (0..kernel.stages.len()).filter(is_tiled).collect();
    let (kind, stage) = match tiled.first() {
        Some(stage) if tiled.len() > 1 => ("attention", *stage),
        Some(stage) => ("matmul", *stage),
        None if (0..last).any(folds) => ("rows", last),
        None if folds(last) => ("reduce", last),
        None if matches!(kernel.stages[last].body, Body::Scatter { .. }) => ("scatter", last),
        None if matches!(kernel.stages[last].body, Body::Sort { .. }) => ("sort", last),
        None => ("map", last),
    };
    let axes = crate::contraction::stage_axes(kernel, stage);
    let extents = axes.iter().map(|a| kernel.axes[a.index()].extent.to_string());
    let text: String = extents.collect::<Vec<_>>().join("x");
    let word: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(40).collect();
    if word.is_empty() { kind.into() } else { format!("{kind}_{word}") }
}
