//! Looking at plans.

use super::{ExecutionPlan, OpKind, Role};
use crate::code::KernelCode;
use crate::error::Result;
use crate::memory::Memory;
use std::fmt::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use svod_device::program::ProgramSpec;
use svod_device::{DeviceSpec, LaunchSizes, Listing};
use svod_ir::graph::{HeldFunctions, Origin};

/// One compiled kernel of a plan.
#[derive(Clone, Debug)]
pub struct PlanKernel {
    /// Position of its op.
    pub op: usize,
    /// The name.
    pub name: String,
    /// Where it runs.
    pub device: DeviceSpec,
    /// Its arguments, by position in [`ExecutionPlan::buffers`].
    pub buffers: Vec<usize>,
    /// Those of them that it writes.
    pub outputs: Vec<usize>,
    /// The code.
    pub code: Arc<KernelCode>,
    /// The lines of the user's program that it computes, as far as they are known, first the one that it is for.
    pub origins: Arc<[Origin]>,
}

/// The time of one op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Its position.
    pub op: usize,
    /// The kernel's name, or what it is.
    pub name: String,
    /// Where it ran.
    pub device: DeviceSpec,
    /// How long it took.
    pub time: Duration,
    /// Its arguments, by position in [`ExecutionPlan::buffers`].
    pub buffers: Vec<usize>,
}

/// The times of a run, in the order of execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Compiled kernels.
    pub kernels: Vec<Timing>,
    /// Copies, views and custom functions.
    pub others: Vec<Timing>,
    /// The whole run.
    pub total: Duration,
}

impl PlanKernel {
    /// The source that the compiler got, LLVM IR on the CPU.
    pub fn source(&self) -> Result<String> {
        Ok(self.code.listing(Listing::Source)?.unwrap_or_else(|| self.spec().source.clone()))
    }

    /// The text of the linear IR, where there is one.
    pub fn linear(&self) -> Result<Option<String>> {
        self.code.listing(Listing::Linear)
    }

    /// The machine's instructions, where the device can show them.
    pub fn assembly(&self) -> Result<Option<String>> {
        self.code.listing(Listing::Assembly)
    }

    /// The text of the loop tree.
    pub fn lowered(&self) -> String {
        self.spec().ast.to_string()
    }

    /// The text of the schedules that made the loop tree, each with its condition if there are several.
    pub fn schedule(&self) -> String {
        self.code.variants().map(ToString::to_string).unwrap_or_default()
    }

    /// Launch sizes of each phase.
    pub fn launches(&self) -> &[LaunchSizes] {
        &self.spec().launches
    }

    fn spec(&self) -> &ProgramSpec {
        self.code.spec()
    }
}

impl ExecutionPlan {
    /// Notes the functions of the host that this plan holds, if no other instance does.
    pub fn hold_functions(&self, held: &mut HeldFunctions) {
        if Arc::strong_count(&self.shared) > 1 {
            return;
        }
        for op in &self.shared.ops {
            if let OpKind::Custom(function) = &op.kind
                && Arc::strong_count(function) == 1
                && let Some(call) = function.host()
            {
                held.hold(call);
            }
        }
    }

    /// The compiled kernels, in the order in which they run.
    pub fn kernels(&self) -> Vec<PlanKernel> {
        let kernel = |&at: &usize| {
            let op = &self.ops()[at];
            let code = op.code()?.clone();
            Some(PlanKernel {
                op: at,
                name: code.name().to_owned(),
                device: code.device().spec().clone(),
                buffers: op.buffers.clone(),
                outputs: op.outputs.iter().map(|o| op.buffers[*o]).collect(),
                code,
                origins: op.origins.clone(),
            })
        };
        self.order().iter().filter_map(kernel).collect()
    }

    /// The times of the last profiled run.
    pub fn last_profile(&self) -> Option<Profile> {
        self.profile.lock().clone()
    }
}

/// Columns of a plan's table, beyond which its legend goes on in another line.
const WIDTH: usize = 100;

impl ExecutionPlan {
    /// Whose the buffers are that ops name, with their types and most elements.
    fn write_legend(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut named = vec![false; self.buffers.len()];
        self.ops().iter().flat_map(|op| &op.buffers).for_each(|at| named[*at] = true);
        for (role, what) in [
            (Role::Input, "inputs"),
            (Role::Given, "constants"),
            (Role::Intermediate, "intermediates"),
            (Role::Output, "outputs"),
        ] {
            let mut line = format!("{what:13}");
            let (indent, mut any) = (line.len(), false);
            for (at, buffer) in self.buffers.iter().enumerate().filter(|(at, _)| named[*at]) {
                if self.shared.roles[at] != role {
                    continue;
                }
                let text = format!(" {at}: {} x {}", buffer.dtype(), buffer.count());
                if any {
                    line.push(',');
                }
                if line.len() + text.len() > WIDTH {
                    writeln!(f, "{line}")?;
                    line = " ".repeat(indent);
                }
                line.push_str(&text);
                any = true;
            }
            if role == Role::Input {
                let read = |memory: &Arc<Memory>| {
                    let mut buffers = self.buffers.iter().zip(&named).filter(|(_, named)| **named);
                    buffers.any(|(buffer, _)| buffer.storage_id() == memory.buffer().storage_id())
                };
                for (i, memory) in self.inputs.iter().enumerate().filter(|(_, memory)| !read(memory)) {
                    let buffer = memory.buffer();
                    let comma = if any { "," } else { "" };
                    write!(line, "{comma} unused input {i}: {} x {}", buffer.dtype(), buffer.count())?;
                    any = true;
                }
            }
            if any {
                writeln!(f, "{line}")?;
            }
        }
        Ok(())
    }
}

/// A table: one line per op, in the order in which they run, with times once profiled.
impl fmt::Display for ExecutionPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let profile = self.last_profile();
        let bytes = self.buffers.iter().zip(&self.shared.roles);
        let own: usize = bytes.filter(|(_, r)| **r != super::Role::Given).map(|(b, _)| b.bytes()).sum();
        write!(
            f,
            "plan: {} ops in {} levels, {} inputs, {} outputs, {} of buffers",
            self.ops().len(),
            self.shared.order.ranges.len(),
            self.inputs.len(),
            self.outputs.len(),
            show_bytes(own)
        )?;
        let report = self.memory_report();
        if report.buffers > 0 {
            write!(f, "; intermediates in {} instead of {}", show_bytes(report.after), show_bytes(report.before))?;
        }
        writeln!(f)?;
        let width = self.ops().iter().map(|op| op.name().len()).max().unwrap_or(0).max(2);
        write!(f, "{:>4} {:>5} {:width$} {:8}", "op", "level", "name", "device")?;
        writeln!(f, "{} buffers read, and =written", if profile.is_some() { "       time" } else { "" })?;
        for &at in self.order() {
            let op = &self.ops()[at];
            let device = op.buffers.first().map_or(DeviceSpec::CPU, |b| self.buffers[*b].device().clone());
            write!(f, "{at:>4} {:>5} {:width$} {:8}", self.levels()[at], op.name(), device.to_string())?;
            if let Some(profile) = &profile {
                let mut timings = profile.kernels.iter().chain(&profile.others);
                let time = timings.find(|t| t.op == at).map_or(Duration::ZERO, |t| t.time);
                write!(f, "{:>11}", show_time(time))?;
            }
            let mut args = String::new();
            for (slot, buffer) in op.buffers.iter().enumerate() {
                let written = if op.outputs.contains(&slot) { "=" } else { "" };
                write!(args, " {written}{buffer}")?;
            }
            match op.origins.first() {
                Some(origin) => writeln!(f, "{args}  # {origin}")?,
                None => writeln!(f, "{args}")?,
            }
        }
        if let Some(profile) = &profile {
            writeln!(f, "total {}", show_time(profile.total))?;
        }
        self.write_legend(f)?;
        for (at, op) in self.ops().iter().enumerate() {
            let OpKind::Custom(function) = &op.kind else { continue };
            let regions = function.regions();
            for (i, region) in regions.iter().enumerate() {
                let which = if regions.len() > 1 { format!("region {i} of ") } else { String::new() };
                writeln!(f, "{which}op {at}, {}, runs", op.name())?;
                region.to_string().lines().try_for_each(|line| writeln!(f, "  {line}"))?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ExecutionPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        for (i, (buffer, role)) in self.buffers.iter().zip(&self.shared.roles).enumerate() {
            writeln!(f, "buffer {i} {role:?} {buffer:?}")?;
        }
        Ok(())
    }
}

fn show_time(time: Duration) -> String {
    let us = time.as_secs_f64() * 1e6;
    if us < 1e3 { format!("{us:.1} us") } else { format!("{:.3} ms", us / 1e3) }
}

fn show_bytes(bytes: usize) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
