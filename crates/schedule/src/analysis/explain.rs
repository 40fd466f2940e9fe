//! An analysis as a table.

use super::model::{Analysis, Fusion, GpuInfo, Item, MachineInfo};
use crate::costs::limits::report;
use std::fmt::{self, Write};
use svod_ir::graph::Origin;
use svod_ir::lowered::cost::total;

/// A line per item but the barriers between levels: its origin, tasks, work and time; then totals, memory,
/// critical path and what might be fused.
impl fmt::Display for Analysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows: Vec<Row> = vec![HEAD.map(str::to_owned)];
        let shown = self.items.iter().enumerate().filter(|(_, item)| !item.is_synchronization());
        rows.extend(shown.map(|(at, item)| self.row(at, item)));
        let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
        for row in &rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let width = widths[column];
                match LEFT.contains(&column) {
                    true => write!(line, "{cell:width$}  ")?,
                    false => write!(line, "{cell:>width$}  ")?,
                }
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        writeln!(f)?;
        self.totals(f)
    }
}

/// The cells of a line.
type Row = [String; HEAD.len()];

const HEAD: [&str; 13] = [
    "op",
    "name",
    "from",
    "device",
    "tasks",
    "threads",
    "registers",
    "flops",
    "read",
    "written",
    "estimate",
    "measured",
    "roofline",
];

/// The columns of words.
const LEFT: [usize; 3] = [1, 2, 3];

impl Analysis {
    fn row(&self, at: usize, item: &Item) -> Row {
        let critical = if self.critical_path.contains(&at) { "*" } else { "" };
        let mut row = Row::default();
        row[0] = format!("{critical}{}", self.number(at));
        row[1] = clipped(&item.name);
        row[2] = origins(item);
        row[3].clone_from(&item.context.device);
        row[4] = item.kernel().map(tasks).unwrap_or_default();
        if let Some(a) = &item.analysis {
            row[5] = format!("{:.0}%", a.occupancy * 100.0);
            row[6] = if item.kernel().is_some() { a.registers.to_string() } else { String::new() };
            row[7] = count(a.flops);
            row[8] = bytes(a.bytes_read);
            row[9] = bytes(a.bytes_written);
            row[10] = time(a.estimated_ns);
            row[11] = a.measured_ns.map(time).unwrap_or_default();
            row[12] = format!("{:.0}%", a.roofline() * 100.0);
        }
        row
    }

    /// The number of an item in the table, which is its operation's where it has one.
    fn number(&self, at: usize) -> usize {
        self.items[at].op.unwrap_or(at)
    }

    fn totals(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all =
            |of: fn(&super::ItemAnalysis) -> f64| total(self.items.iter().filter_map(|i| i.analysis.as_ref()).map(of));
        let kernels = self.items.iter().filter(|i| i.kernel().is_some()).count();
        let barriers = self.items.iter().filter(|i| i.is_synchronization()).count();
        let others = self.items.len() - kernels - barriers;
        write!(f, "{kernels} kernel{}", if kernels == 1 { "" } else { "s" })?;
        if others > 0 {
            write!(f, ", {others} other item{}", if others == 1 { "" } else { "s" })?;
        }
        if barriers > 0 {
            write!(f, " in {} levels", barriers + 1)?;
        }
        let moved = all(|a| a.bytes_read + a.bytes_written);
        write!(f, ": {} flops, {} moved, ", count(all(|a| a.flops)), bytes(moved))?;
        write!(f, "{} estimated", time(self.estimated_total_ns))?;
        match self.measured_total_ns {
            Some(ns) => writeln!(f, ", {} measured", time(ns))?,
            None => writeln!(f)?,
        }
        let MachineInfo { threads, flops, bandwidth, measured, noise, .. } = self.machine;
        let source = match measured {
            true if noise > report::NOISY => {
                format!("measured while it was busy (times varied by {:.0}%)", noise * 100.0)
            }
            true => "measured".to_owned(),
            false => "assumed (svod.measure_machine() measures it)".to_owned(),
        };
        writeln!(f, "machine, {source}: {threads} threads, {}flop/s, {}/s", count(flops), bytes(bandwidth))?;
        for GpuInfo { device, multiprocessors, clock, flops, tensor_flops, bandwidth } in &self.machine.gpus {
            writeln!(
                f,
                "{device}, as described: {multiprocessors} multiprocessors at {}Hz, {}flop/s, {}flop/s by tensor cores, {}/s",
                count(*clock),
                count(*flops),
                count(*tensor_flops),
                bytes(*bandwidth)
            )?;
        }
        writeln!(f, "memory: {} held, {} at the peak", bytes(self.held_bytes as f64), bytes(self.peak_bytes as f64))?;
        let packed: [f64; 3] = std::array::from_fn(|i| {
            self.items.iter().filter_map(|item| item.analysis.as_ref()).map(|a| a.packed_bytes[i]).sum()
        });
        if packed[0] > 0.0 {
            let one = |(cores, n): (usize, &f64)| format!("{} on {cores}", bytes(*n));
            let each: Vec<String> = report::PACKING_CORES.into_iter().zip(&packed).map(one).collect();
            writeln!(f, "packed by each core: {} cores", each.join(", "))?;
        }
        let path = self.critical_path.iter().filter(|at| !self.items[**at].is_synchronization());
        let path: Vec<String> = path.map(|at| self.number(*at).to_string()).collect();
        if path.len() + barriers < self.items.len() {
            writeln!(f, "critical path (*): {}", path.join(" > "))?;
        }
        if !self.opportunities.is_empty() {
            writeln!(f, "might be fused:")?;
        }
        for found in self.opportunities.iter().take(report::SHOWN) {
            let kind = match found.kind {
                Fusion::Elementwise => "elementwise",
                Fusion::Reduction => "reduction",
                Fusion::Mixed => "mixed",
            };
            let (saved, benefit) = (bytes(found.bytes_saved), found.benefit * 100.0);
            writeln!(
                f,
                "  {} into {}: {kind}, saves {saved}, {benefit:.0}% of the time",
                self.number(found.producer),
                self.number(found.consumer)
            )?;
        }
        match self.opportunities.len().saturating_sub(report::SHOWN) {
            0 => Ok(()),
            more => writeln!(f, "  and {more} more"),
        }
    }
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(report::WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The line that the item is for, and how many others: `model.py:12 (Net.head) +2`.
fn origins(item: &Item) -> String {
    let Some(first) = item.origins.first() else { return String::new() };
    let others = item.origins.len() - 1;
    let more = if others > 0 { format!(" +{others}") } else { String::new() };
    format!("{}{more}", origin(first))
}

/// A line of the program, `model.py:12 (Net.head)`, or the node of a model.
pub(super) fn origin(origin: &Origin) -> String {
    if origin.line == 0 {
        return origin.to_string();
    }
    let file = origin.file.rsplit(['/', '\\']).next().unwrap_or_default();
    let module = origin.module.as_ref().map(|m| format!(" ({m})")).unwrap_or_default();
    format!("{file}:{}{module}", origin.line)
}

fn tasks(kernel: &super::KernelInfo) -> String {
    let one = |sizes: &[String; 3]| {
        let counted: Vec<&str> = sizes.iter().map(String::as_str).filter(|n| *n != "1").collect();
        if counted.is_empty() { "1".to_owned() } else { counted.join("x") }
    };
    kernel.launches.iter().map(one).collect::<Vec<_>>().join("+")
}

/// A number with three digits and its thousands as a letter: `1.23 M`.
pub(super) fn count(n: f64) -> String {
    let (scale, unit) = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")]
        .into_iter()
        .find(|(scale, _)| n >= *scale)
        .unwrap_or((1.0, ""));
    format!("{} {unit}", digits(n / scale)).trim_end().to_owned()
}

pub(super) fn bytes(n: f64) -> String {
    let units = [(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| n >= *scale).unwrap_or((1.0, "B"));
    format!("{} {unit}", digits(n / scale))
}

pub(super) fn time(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| ns >= *scale).unwrap_or((1.0, "ns"));
    format!("{} {unit}", digits(ns / scale))
}

/// Three digits.
fn digits(n: f64) -> String {
    match n {
        n if n >= 100.0 || n == n.trunc() => format!("{n:.0}"),
        n if n >= 10.0 => format!("{n:.1}"),
        n => format!("{n:.2}"),
    }
}
