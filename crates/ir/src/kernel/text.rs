//! The text form of a kernel, and the key that is a hash of it.
//!
//! ```text
//! kernel softmax
//! var n = 1..=4096
//! param p0: f32[n, 64]
//! param p1: f32[n, 64]
//! axis i < n
//! axis j < 64
//!
//! stage stats[i] = reduce j
//!   carry.0: f32 = max(p0[i, j])
//!   carry.1: f32 = sum(exp(p0[i, j] - new.0), fix exp(old.0 - new.0))
//!   stats = carry.0
//!   stats.1 = carry.1
//!
//! stage out[i, j] = map
//!   p1[i, j] = exp(p0[i, j] - stats[i]) / stats.1[i]
//! ```
//!
//! A sort of axis `j` with places `k` is written `sort j to k`, its first line naming the key.
//! A scan is written `scan j` (inclusive) or `prescan j` (exclusive), and a scatter
//! `scatter sum`, or `scatter set` where it overwrites.

use super::{AxisId, Body, Emit, Kernel, Out, Stage};
use crate::expr::{ExprId, ExprPool, Mem, TempId};
use crate::size::{Size, Variable};
use crate::text::{Key, Printer, header, range};
use std::fmt::{self, Write};

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = format!("kernel {}\n", self.name);
        header(&mut out, &self.vars, &self.params);
        for axis in &self.axes {
            let _ = writeln!(out, "axis {}", range(&axis.var, &axis.extent));
        }
        let names: Vec<String> = self.stages.iter().map(|s| s.name.clone()).collect();
        for (n, stage) in self.stages.iter().enumerate() {
            self.write_stage(&mut out, &names, TempId(n as u32), stage);
        }
        f.write_str(&out)
    }
}

impl Kernel {
    /// The structural hash: equal for kernels that differ only in the names of the kernel, its
    /// axes and its stages, in unreachable expressions and in the order of expressions.
    pub fn key(&self) -> Key {
        Key::of(&self.canonical().to_string())
    }

    /// The same kernel with numbers for names.
    fn canonical(&self) -> Kernel {
        let prefix = fresh_prefix(&self.vars);
        let mut kernel = Kernel {
            name: "_".to_owned(),
            axes: self.axes.clone(),
            params: self.params.clone(),
            vars: self.vars.clone(),
            exprs: ExprPool::new(),
            stages: self.stages.clone(),
        };
        for (n, axis) in kernel.axes.iter_mut().enumerate() {
            axis.var = renamed(&axis.var, &format!("{prefix}{n}"));
        }
        let replace = |v: &Variable| {
            let n = self.axes.iter().position(|a| a.var == *v)?;
            Some(Size::from(&kernel.axes[n].var))
        };
        let roots: Vec<ExprId> = self.stages.iter().flat_map(Stage::roots).collect();
        let mut copies = kernel.exprs.copy(&self.exprs, &roots, &replace).into_iter();
        for (n, stage) in kernel.stages.iter_mut().enumerate() {
            stage.name = format!("t{n}");
            // `for_each_root` and `roots` agree on the order.
            stage.for_each_root(&mut |root| *root = copies.next().unwrap_or(*root));
        }
        kernel
    }

    fn axis_names(&self, axes: &[AxisId]) -> String {
        let name = |a: &AxisId| self.axes.get(a.index()).map_or_else(|| format!("a{}", a.0), |a| a.var.to_string());
        axes.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    fn write_stage(&self, out: &mut String, names: &[String], id: TempId, stage: &Stage) {
        let _ = write!(out, "\nstage {}[{}] = ", stage.name, self.axis_names(&stage.over));
        let mut printer = Printer::new(&self.exprs, names, &stage.roots(), &stage.places());
        match &stage.body {
            Body::Map(values) => {
                out.push_str("map\n");
                write_outs(out, &mut printer, id, values, &stage.outs);
            }
            Body::Reduce { axes, carries, emit, results } => {
                let kind = match emit {
                    Emit::Last => "reduce",
                    Emit::Inclusive => "scan",
                    Emit::Exclusive => "prescan",
                };
                let _ = writeln!(out, "{kind} {}", self.axis_names(axes));
                for (n, carry) in carries.iter().enumerate() {
                    printer.define(out, "  ", carry.element);
                    carry.fix.iter().for_each(|fix| printer.define(out, "  ", *fix));
                    let fix = carry.fix.map_or(String::new(), |fix| format!(", fix {}", printer.expr(fix)));
                    let (ty, op, element) = (carry.dtype.short(), carry.op, printer.expr(carry.element));
                    let _ = writeln!(out, "  carry.{n}: {ty} = {op}({element}{fix})");
                }
                write_outs(out, &mut printer, id, results, &stage.outs);
            }
            Body::Sort { along, to, key, results } => {
                let (along, to) = (self.axis_names(&[*along]), self.axis_names(&[*to]));
                let _ = writeln!(out, "sort {along} to {to}");
                printer.define(out, "  ", *key);
                let _ = writeln!(out, "  carry.0: {} = key({})", self.exprs.dtype(*key).short(), printer.expr(*key));
                write_outs(out, &mut printer, id, results, &stage.outs);
            }
            Body::Scatter { value, combine } => {
                let op = combine.map_or("set".to_owned(), |c| c.to_string());
                let _ = writeln!(out, "scatter {op}");
                write_outs(out, &mut printer, id, &[*value], &stage.outs);
            }
        }
    }
}

/// The lines that say where each value goes.
fn write_outs(out: &mut String, printer: &mut Printer<'_>, id: TempId, values: &[ExprId], outs: &[Out]) {
    for (field, (value, to)) in values.iter().zip(outs).enumerate() {
        if let Out::Param { index, .. } = to {
            index.iter().for_each(|i| printer.define(out, "  ", *i));
        }
        printer.define(out, "  ", *value);
        let place = match to {
            Out::Temp => printer.mem(Mem::Temp(id, field as u8)),
            Out::Param { param, index } => printer.place(Mem::Param(*param), index),
        };
        let _ = writeln!(out, "  {place} = {}", printer.expr(*value));
    }
}

/// A prefix for numbered names that begins no variable's name.
pub(crate) fn fresh_prefix(vars: &[Variable]) -> String {
    let mut prefix = "_".to_owned();
    while vars.iter().any(|v| v.name().starts_with(&prefix)) {
        prefix.push('_');
    }
    prefix
}

/// The variable under another name, which must be an identifier.
pub(crate) fn renamed(var: &Variable, name: &str) -> Variable {
    Variable::internal(name, var.min(), var.max()).expect("an underscore and digits name a variable")
}

impl Stage {
    /// Its expressions, in the order of the text.
    pub fn roots(&self) -> Vec<ExprId> {
        let mut roots = Vec::new();
        self.clone().for_each_root(&mut |root| roots.push(*root));
        roots
    }

    /// The indices of what it writes.
    fn places(&self) -> Vec<ExprId> {
        let index = |out: &Out| match out {
            Out::Param { index, .. } => index.clone(),
            Out::Temp => Vec::new(),
        };
        self.outs.iter().flat_map(index).collect()
    }

    /// Calls `f` with each of its expressions, in the order of [`Stage::roots`].
    pub fn for_each_root(&mut self, f: &mut dyn FnMut(&mut ExprId)) {
        match &mut self.body {
            Body::Map(values) => values.iter_mut().for_each(&mut *f),
            Body::Scatter { value, .. } => f(value),
            Body::Sort { key, results, .. } => {
                f(key);
                results.iter_mut().for_each(&mut *f);
            }
            Body::Reduce { carries, results, .. } => {
                for carry in carries {
                    f(&mut carry.element);
                    carry.fix.iter_mut().for_each(&mut *f);
                }
                results.iter_mut().for_each(&mut *f);
            }
        }
        for out in &mut self.outs {
            if let Out::Param { index, .. } = out {
                index.iter_mut().for_each(&mut *f);
            }
        }
    }
}
