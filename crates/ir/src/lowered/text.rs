//! The text form of a loop tree, and the key that is a hash of it.
//!
//! ```text
//! lowered matmul
//! var n = 1..=4096
//! param p0: f32[n, 64]
//! param p1: f32[64, 8]
//! param p2: f32[n, 8]
//!
//! phase
//! grid i < n
//! temp acc: f32[8] register
//! {
//!   vector j < 8 {
//!     acc[j] = f32(0.0)
//!   }
//!   serial k < 64 {
//!     vector l < 8 {
//!       acc[l] = muladd(p0[i, k], p1[k, l], acc[l])
//!     }
//!   }
//!   vector s < 8 {
//!     p2[i, s] = acc[s] if i < n
//!   }
//! }
//! ```
//!
//! A conditional is `if cond { … }`; a contraction tile is
//! `micro 6 x 16 f32 -> f32 depth 64 start k (c[0, 0] stride 16) (a[0, 0] stride 64 panel) (b[0, 0] stride 16)`,
//! naming C, A and B in this order; `micro 6 x 16 pairs bf16 -> f32` has words of pairs; `fetch p3[0, k] by 24` at the
//! end brings 24 bytes from there on into the caches at each step of the depth. `prefetch p0[i, 0]` fetches
//! ahead. `lowered matmul strict` is a strict tree; lines `variant n <= 8` and, for what runs when no condition
//! holds, `variant` stand before the phases of a variant; a line `stream p2` after the grid names arguments that are
//! written past the caches.

use super::{Fetch, Home, Loop, LoopKind, Lowered, Micro, Phase, Stmt, TileOperand};
use crate::expr::{Expr, ExprId, ExprPool, Mem};
use crate::kernel::text::{fresh_prefix, renamed};
use crate::size::{Size, Variable};
use crate::text::{Key, Printer, array, header, range};
use rustc_hash::FxHashMap;
use std::fmt::{self, Write};

impl fmt::Display for LoopKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LoopKind::Serial => "serial",
            LoopKind::Unroll => "unroll",
            LoopKind::Vector => "vector",
        })
    }
}

impl fmt::Display for Home {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Home::Register => "register",
            Home::Scratch => "scratch",
        })
    }
}

impl fmt::Display for Lowered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = format!("lowered {}{}\n", self.name, if self.strict { " strict" } else { "" });
        header(&mut out, &self.vars, &self.params);
        let mut variants = self.guards.iter().map(|guard| format!(" {guard}")).chain([String::new()]);
        let mut open = 0;
        for phase in &self.phases {
            if !self.guards.is_empty() && open <= phase.variant {
                let _ = writeln!(out, "\nvariant{}", variants.next().unwrap_or_default());
                open += 1;
            }
            out.push_str("\nphase\n");
            let grid: Vec<String> = phase.grid.iter().map(|l| range(&l.var, &l.extent)).collect();
            if !grid.is_empty() {
                let _ = writeln!(out, "grid {}", grid.join(", "));
            }
            if !phase.streams.is_empty() {
                let streams: Vec<String> = phase.streams.iter().map(ToString::to_string).collect();
                let _ = writeln!(out, "stream {}", streams.join(", "));
            }
            for temp in &phase.temps {
                let _ = writeln!(out, "temp {}: {} {}", temp.name, array(temp.dtype, &temp.shape), temp.home);
            }
            let names: Vec<String> = phase.temps.iter().map(|t| t.name.clone()).collect();
            out.push_str("{\n");
            write_body(&mut out, phase, &names, &phase.body, 1);
            out.push_str("}\n");
        }
        f.write_str(&out)
    }
}

fn write_body(out: &mut String, phase: &Phase, names: &[String], body: &[Stmt], depth: usize) {
    let indent = "  ".repeat(depth);
    for stmt in body {
        let roots = stmt.roots();
        let places = if let Stmt::Store { index, .. } = stmt { index.as_slice() } else { &[] };
        let mut printer = Printer::new(&phase.exprs, names, &roots, places);
        roots.iter().for_each(|root| printer.define(out, &indent, *root));
        match stmt {
            Stmt::Loop(l, inner) => {
                let _ = writeln!(out, "{indent}{} {} {{", l.kind, range(&l.var, &l.extent));
                write_body(out, phase, names, inner, depth + 1);
                let _ = writeln!(out, "{indent}}}");
            }
            Stmt::If(cond, inner) => {
                let _ = writeln!(out, "{indent}if {} {{", printer.expr(*cond));
                write_body(out, phase, names, inner, depth + 1);
                let _ = writeln!(out, "{indent}}}");
            }
            Stmt::Store { to, index, value, valid } => {
                let valid = valid.map_or(String::new(), |v| format!(" if {}", printer.expr(v)));
                let _ = writeln!(out, "{indent}{} = {}{valid}", printer.place(*to, index), printer.expr(*value));
            }
            Stmt::Prefetch { from, index } => {
                let _ = writeln!(out, "{indent}prefetch {from}{}", element(index));
            }
            Stmt::Micro(m) => {
                let (a_panel, operand) = (if m.a_panel { " panel" } else { "" }, |t| tile(&printer, t));
                let pairs = if m.pairs { "pairs " } else { "" };
                let _ = write!(out, "{indent}micro {} x {} {pairs}", m.rows, m.cols);
                let _ = write!(out, "{} -> {}", m.dtype.short(), m.acc.short());
                let _ = write!(out, " depth {} start {}", m.depth, m.start);
                let offsets = m.b_offsets.map_or(String::new(), |t| format!(" at {}", printer.mem(Mem::Temp(t, 0))));
                let _ = write!(out, " ({}) ({}{a_panel}) ({}{offsets})", operand(&m.c), operand(&m.a), operand(&m.b));
                let fetch = m.fetch.as_ref().map(|f| format!(" fetch {}{} by {}", f.from, element(&f.index), f.step));
                let _ = writeln!(out, "{}", fetch.unwrap_or_default());
            }
        }
    }
}

fn tile(printer: &Printer<'_>, operand: &TileOperand) -> String {
    format!("{}{} stride {}", printer.mem(operand.mem), element(&operand.index), operand.stride)
}

/// The place of an element in its memory.
fn element(index: &[Size]) -> String {
    let index: Vec<String> = index.iter().map(Size::to_string).collect();
    format!("[{}]", index.join(", "))
}

impl Stmt {
    /// Its own expressions, those of inner statements not included, in the order of the text.
    pub fn roots(&self) -> Vec<ExprId> {
        match self {
            Stmt::Loop(..) | Stmt::Micro(_) | Stmt::Prefetch { .. } => Vec::new(),
            Stmt::If(cond, _) => vec![*cond],
            Stmt::Store { index, value, valid, .. } => index.iter().copied().chain([*value]).chain(*valid).collect(),
        }
    }
}

impl Lowered {
    /// The structural hash: equal for loop trees that differ only in the names of the tree, its
    /// loops and its temporaries, in unreachable expressions and in the order of expressions.
    pub fn key(&self) -> Key {
        let prefix = fresh_prefix(&self.vars);
        let phases = self.phases.iter().map(|p| Canonical::default().phase(p, &prefix)).collect();
        let (params, vars) = (self.params.clone(), self.vars.clone());
        Key::of(
            &Lowered { name: "_".to_owned(), params, vars, strict: self.strict, guards: self.guards.clone(), phases }
                .to_string(),
        )
    }
}

/// Numbers for the names of loops, in the order of the text.
#[derive(Default)]
struct Canonical {
    loops: FxHashMap<Variable, Variable>,
    exprs: ExprPool,
}

impl Canonical {
    fn phase(mut self, phase: &Phase, prefix: &str) -> Phase {
        let grid = phase.grid.iter().map(|l| self.header(l, prefix)).collect();
        let mut temps = phase.temps.clone();
        for (n, temp) in temps.iter_mut().enumerate() {
            temp.name = format!("t{n}");
        }
        let body = self.body(phase, &phase.body, prefix);
        Phase { variant: phase.variant, grid, streams: phase.streams.clone(), temps, exprs: self.exprs, body }
    }

    fn header(&mut self, l: &Loop, prefix: &str) -> Loop {
        let extent = self.size(&l.extent);
        let var = renamed(&l.var, &format!("{prefix}{}", self.loops.len()));
        self.loops.insert(l.var.clone(), var.clone());
        Loop { var, extent, kind: l.kind }
    }

    fn size(&self, size: &Size) -> Size {
        size.substitute(&|v| self.loops.get(v).map(Size::from))
    }

    fn exprs(&mut self, phase: &Phase, roots: &[ExprId], prefix: &str) -> Vec<ExprId> {
        for id in phase.exprs.reachable(roots) {
            if let Expr::Lanes { lanes, .. } = phase.exprs.get(id)
                && !self.loops.contains_key(lanes)
            {
                let var = renamed(lanes, &format!("{prefix}{}", self.loops.len()));
                self.loops.insert(lanes.clone(), var);
            }
        }
        let loops = &self.loops;
        self.exprs.copy(&phase.exprs, roots, &|v| loops.get(v).map(Size::from))
    }

    fn body(&mut self, phase: &Phase, body: &[Stmt], prefix: &str) -> Vec<Stmt> {
        let mut canonical = Vec::new();
        for stmt in body {
            canonical.push(match stmt {
                Stmt::Loop(l, inner) => Stmt::Loop(self.header(l, prefix), self.body(phase, inner, prefix)),
                Stmt::If(cond, inner) => {
                    Stmt::If(self.exprs(phase, &[*cond], prefix)[0], self.body(phase, inner, prefix))
                }
                Stmt::Store { to, index, value, valid } => Stmt::Store {
                    to: *to,
                    index: self.exprs(phase, index, prefix),
                    value: self.exprs(phase, &[*value], prefix)[0],
                    valid: valid.map(|v| self.exprs(phase, &[v], prefix)[0]),
                },
                Stmt::Prefetch { from, index } => Stmt::Prefetch { from: *from, index: self.sizes(index) },
                Stmt::Micro(m) => Stmt::Micro(Micro {
                    depth: self.size(&m.depth),
                    start: self.size(&m.start),
                    a: self.tile(&m.a),
                    b: self.tile(&m.b),
                    c: self.tile(&m.c),
                    fetch: m.fetch.as_ref().map(|f| Fetch {
                        from: f.from,
                        index: self.sizes(&f.index),
                        step: self.size(&f.step),
                    }),
                    ..*m
                }),
            });
        }
        canonical
    }

    fn tile(&self, t: &TileOperand) -> TileOperand {
        TileOperand { mem: t.mem, index: self.sizes(&t.index), stride: self.size(&t.stride) }
    }

    fn sizes(&self, sizes: &[Size]) -> Vec<Size> {
        sizes.iter().map(|s| self.size(s)).collect()
    }
}
