//! One item of an analysis in full.

use super::explain::{bytes, count, origin, time};
use super::model::{
    Across, Analysis, BufferInfo, Hint, Item, ItemAnalysis, IterationSpace, KernelInfo, Mapping, Reduction, Role,
    Strided, What, Within,
};
use std::fmt::{self, Write};

impl Analysis {
    /// What is known of an item, by its position among [`Analysis::items`]: a line for each kind of thing that
    /// it has, such as axes with the loops over them, reductions, resources and buffers.
    pub fn detail(&self, at: usize) -> String {
        let mut text = String::new();
        let written = self.items.get(at).map_or(Ok(()), |item| self.write_detail(&mut text, item));
        debug_assert!(written.is_ok(), "a text takes whatever is written to it");
        text
    }

    fn write_detail(&self, f: &mut String, item: &Item) -> fmt::Result {
        let number = item.op.map(|op| format!("op {op} ")).unwrap_or_default();
        writeln!(f, "{number}{} on {}, level {}", item.name, item.context.device, item.context.stream)?;
        for one in &item.origins {
            field(f, "from", &origin(one))?;
        }
        match &item.what {
            What::Kernel(kernel) => kernel_lines(f, kernel)?,
            What::View { offset } => field(f, "view", &format!("from byte {offset}"))?,
            What::Transfer { asynchronous, strided } => {
                let how = if *asynchronous { "while the host goes on" } else { "while the host waits" };
                let lies = |s: &Strided| format!(", {:?} at distances {:?} to {:?}", s.shape, s.from, s.to);
                field(f, "copy", &format!("{how}{}", strided.as_ref().map(lies).unwrap_or_default()))?;
            }
            What::HostCallback => field(f, "calls", "a function of the host")?,
            What::Synchronization { .. } => {}
        }
        if let Some(a) = &item.analysis {
            resources(f, a)?;
        }
        for (label, list) in [("reads", &item.reads), ("writes", &item.writes)] {
            for at in list {
                let what = self.buffers.get(*at).map(layout).unwrap_or_default();
                field(f, label, &format!("buffer {at}{what}"))?;
            }
        }
        if let Some(kernel) = item.kernel().filter(|kernel| !kernel.schedule.is_empty()) {
            kernel.schedule.lines().try_for_each(|line| field(f, "schedule", line))?;
        }
        Ok(())
    }
}

fn field(f: &mut String, label: &str, text: &str) -> fmt::Result {
    writeln!(f, "  {label:10}{text}")
}

fn kernel_lines(f: &mut String, kernel: &KernelInfo) -> fmt::Result {
    let space = &kernel.space;
    (0..space.axes.len()).try_for_each(|at| field(f, "axis", &axis(space, at)))?;
    for launch in &kernel.launches {
        field(f, "tasks", &launch.join(" x "))?;
    }
    kernel.reductions.iter().try_for_each(|one| field(f, "reduces", &reduction(one)))?;
    let hints: Vec<String> = kernel.hints.iter().map(hint).collect();
    if hints.is_empty() { Ok(()) } else { field(f, "hints", &hints.join(", ")) }
}

/// `out.k = 64, combined: serial, vector of 16`.
fn axis(space: &IterationSpace, at: usize) -> String {
    let axis = &space.axes[at];
    let role = if axis.role == Role::Reduction { ", combined" } else { "" };
    let loops: Vec<Mapping> = space.mapping.iter().filter(|l| l.axis == at).map(|l| l.to).collect();
    // The first loop has what the inner ones leave.
    let points = space.tiles.get(at).map_or(&[][..], |tiles| tiles);
    let outer = loops.len().saturating_sub(points.len());
    let texts = loops.iter().enumerate().map(|(i, to)| {
        let to = match to {
            Mapping::Block => "tasks",
            Mapping::Thread => "threads",
            Mapping::Vector => "vector",
            Mapping::Serial => "serial",
        };
        match i.checked_sub(outer).and_then(|i| points.get(i)) {
            Some(points) => format!("{to} of {points}"),
            None => to.to_owned(),
        }
    });
    format!("{} = {}{role}: {}", axis.name, axis.extent, texts.collect::<Vec<_>>().join(", "))
}

fn reduction(one: &Reduction) -> String {
    let within = match one.within {
        Within::Sequential => "one after the other",
        Within::Tree => "several running values, then a tree",
        Within::Welford => "mean and deviations in one pass",
        Within::Shuffle => "between the lanes of a warp",
    };
    let across = match one.across {
        None => "",
        Some(Across::SharedTree) => ", among threads in the memory of their group",
        Some(Across::Atomic) => ", among threads by atomic operations",
        Some(Across::Grid) => ", among tasks by another phase",
    };
    format!("{} by {}: {within}{across}", one.stage, one.by)
}

fn hint(one: &Hint) -> String {
    match one {
        Hint::Vectorize(n) => format!("vectors of {n}"),
        Hint::Unroll(n) => format!("{n} rounds laid out"),
        Hint::Prefetch { read, ahead } => format!("fetch {read} {ahead} ahead"),
        Hint::Pipeline(n) => format!("{n} stages at a time"),
    }
}

fn resources(f: &mut String, a: &ItemAnalysis) -> fmt::Result {
    let scratch = bytes(a.scratch_bytes as f64);
    let mut uses = format!("{} registers, {scratch} of scratch a task, ", a.registers);
    write!(uses, "{:.0}% of the threads", a.occupancy * 100.0)?;
    field(f, "uses", &uses)?;
    let (read, written) = (bytes(a.bytes_read), bytes(a.bytes_written));
    field(f, "work", &format!("{} flops, {read} read, {written} written", count(a.flops)))?;
    if let Some(cycles) = &a.gpu {
        let parts = cycles.parts().into_iter().filter(|(_, n)| *n > 0.0);
        let texts: Vec<String> = parts.map(|(part, n)| format!("{part} {}", count(n))).collect();
        field(f, "cycles", &texts.join(", "))?;
    }
    let measured = a.measured_ns.map(|ns| format!(", {} measured", time(ns))).unwrap_or_default();
    let least = format!("{} by the roofline ({:.0}%)", time(a.least_ns), a.roofline() * 100.0);
    field(f, "time", &format!("{} estimated{measured}, at least {least}", time(a.estimated_ns)))
}

/// `: float32[n, 64], strides [64, 1], in 128 KiB on CPU`.
fn layout(buffer: &BufferInfo) -> String {
    let list = |sizes: &[svod_ir::size::Size]| {
        let texts: Vec<String> = sizes.iter().map(ToString::to_string).collect();
        texts.join(", ")
    };
    let (shape, strides) = (list(&buffer.layout.shape), list(&buffer.layout.strides));
    let held = bytes(buffer.bytes as f64);
    format!(": {}[{shape}], strides [{strides}], in {held} on {}", buffer.dtype, buffer.device)
}
