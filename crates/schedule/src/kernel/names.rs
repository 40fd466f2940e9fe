//! Names of kernels: what kind, over which extents.

use crate::kernel::contraction::{are_siblings, recognise, window};
use svod_ir::kernel::{Body, Kernel};

/// A short name such as `matmul_1024x384x384`, `conv_4x64x56x56x64x3x3` or `rows_96x128_128`.
pub(crate) fn name(kernel: &Kernel) -> String {
    let last = kernel.stages.len() - 1;
    let reductions = |s: usize| matches!(kernel.stages[s].body, Body::Reduce { .. });
    let found: Vec<_> = (0..kernel.stages.len()).filter_map(|s| recognise(kernel, s).map(|c| (s, c))).collect();
    let tiled: Vec<usize> = found.iter().map(|(s, _)| *s).collect();
    let convolution = (0..last).find(|s| window::is_convolution(kernel, *s));
    let (kind, stage) = match (tiled.first(), convolution) {
        (Some(stage), _) if !are_siblings(kernel, &found) => ("attention", *stage),
        (Some(_), Some(stage)) => ("conv", stage),
        (None, Some(stage)) => ("depthwise", stage),
        (Some(stage), None) => ("matmul", *stage),
        _ if (0..last).any(reductions) => ("rows", last),
        _ if reductions(last) => ("reduce", last),
        _ if matches!(kernel.stages[last].body, Body::Scatter { .. }) => ("scatter", last),
        _ if matches!(kernel.stages[last].body, Body::Sort { .. }) => ("sort", last),
        _ => ("map", last),
    };
    let axes = crate::kernel::contraction::stage_axes(kernel, stage);
    let extents = axes.iter().map(|a| kernel.axes[a.index()].extent.to_string());
    let text: String = extents.collect::<Vec<_>>().join("x");
    let word: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(40).collect();
    if word.is_empty() { kind.into() } else { format!("{kind}_{word}") }
}
