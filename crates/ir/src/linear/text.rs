//! The text form of the linear list.
//!
//! ```text
//! linear scale
//! param p0: f32
//! param p1: f32 written
//! var n = 1..=64
//! scratch s0: f32[256] at 0
//! slot a0: f32x8
//!
//! v0: index = var n
//! v1: index = range v0 {
//!   v2: f32x8 = load p0[v1]
//!   v3: f32x8 = const f32(2.0)
//!   v4: f32x8 = mul v2, v3
//!   store p1[v1] = v4
//! }
//! ```
//!
//! `block b0: f32[128, 32]` declares a block of rows and columns, `copy b0 = p0[v1] step v2 within v3, v4` copies what there is
//! of it, and `column b0, 5` is a column. `load p0[v1] if v5 else f32(0.0)` and `store p1[v1] = v4 if v5` have a mask. A
//! parameter that is `written stream` is written past the caches. A `#` starts a comment.

use super::{Inst, Linear, Special, Tile, TileFetch};
use std::fmt::{self, Write};

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Special::Block => "block",
            Special::Local => "local",
            Special::Workgroup => "workgroup",
        })
    }
}

impl fmt::Display for Linear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "linear {}", self.name)?;
        for (n, p) in self.params.iter().enumerate() {
            let (written, stream) = (if p.written { " written" } else { "" }, if p.stream { " stream" } else { "" });
            writeln!(f, "param p{n}: {}{written}{stream}", p.dtype.short())?;
        }
        for v in &self.vars {
            writeln!(f, "var {v} = {}..={}", v.min(), v.max())?;
        }
        for (n, s) in self.scratch.iter().enumerate() {
            writeln!(f, "scratch s{n}: {}[{}] at {}", s.dtype.short(), s.len, s.offset)?;
        }
        for (n, b) in self.blocks.iter().enumerate() {
            writeln!(f, "block b{n}: {}[{}, {}]", b.dtype.short(), b.rows, b.columns)?;
        }
        for (n, ty) in self.slots.iter().enumerate() {
            writeln!(f, "slot a{n}: {ty}")?;
        }
        writeln!(f)?;
        let (mut depth, mut values) = (0usize, self.values.iter().enumerate());
        for inst in &self.insts {
            if matches!(inst, Inst::EndRange | Inst::EndIf) {
                depth = depth.saturating_sub(1);
            }
            for _ in 0..depth {
                f.write_str("  ")?;
            }
            if inst.has_value()
                && let Some((n, ty)) = values.next()
            {
                write!(f, "v{n}: {ty} = ")?;
            }
            self.write_inst(f, inst)?;
            f.write_char('\n')?;
            if matches!(inst, Inst::Range(_) | Inst::If(_)) {
                depth += 1;
            }
        }
        Ok(())
    }
}

impl Linear {
    fn write_inst(&self, f: &mut fmt::Formatter<'_>, inst: &Inst) -> fmt::Result {
        match inst {
            Inst::Const(c) => write!(f, "const {c}"),
            Inst::Var(n) => match self.vars.get(*n as usize) {
                Some(v) => write!(f, "var {v}"),
                None => write!(f, "var <{n}>"),
            },
            Inst::Special(special, axis) => write!(f, "{special} {axis}"),
            Inst::Iota => f.write_str("iota"),
            Inst::Alu(op, args) => write!(f, "{} {}", op.name(), List(args)),
            Inst::Cast(v) => write!(f, "cast {v}"),
            Inst::Bitcast(v) => write!(f, "bitcast {v}"),
            Inst::Splat(v) => write!(f, "splat {v}"),
            Inst::Vector(args) => write!(f, "vector {}", List(args)),
            Inst::Shuffle(a, b, lanes) => write!(f, "shuffle {a}, {b}, {}", List(lanes)),
            Inst::Extract(v, lane) => write!(f, "extract {v}, {lane}"),
            Inst::Insert(vector, lane, v) => write!(f, "insert {vector}, {lane}, {v}"),
            Inst::Reduce(op, v) => write!(f, "reduce {} {v}", op.name()),
            Inst::Scan(op, v) => write!(f, "scan {} {v}", op.name()),
            Inst::Alike(v, before) => write!(f, "{} {v}", if *before { "alike_before" } else { "alike" }),
            Inst::Read(slot) => write!(f, "read {slot}"),
            Inst::Load { from, at, mask: None, .. } => write!(f, "load {from}[{at}]"),
            Inst::Load { from, at, mask: Some(mask), other } => write!(f, "load {from}[{at}] if {mask} else {other}"),
            Inst::Store { to, at, value, mask } => {
                write!(f, "store {to}[{at}] = {value}")?;
                mask.map_or(Ok(()), |mask| write!(f, " if {mask}"))
            }
            Inst::Copy { to, from, at, step, within } => {
                write!(f, "copy {to} = {from}[{at}] step {step}")?;
                within.map_or(Ok(()), |[rows, columns]| write!(f, " within {rows}, {columns}"))
            }
            Inst::Column(block, n) => write!(f, "column {block}, {n}"),
            Inst::Write(slot, v) => write!(f, "write {slot} = {v}"),
            Inst::Range(extent) => write!(f, "range {extent} {{"),
            Inst::If(cond) => write!(f, "if {cond} {{"),
            Inst::EndRange | Inst::EndIf => f.write_char('}'),
            Inst::Barrier => f.write_str("barrier"),
            Inst::Tile(tile) => write_tile(f, tile),
            Inst::Prefetch(from, at) => write!(f, "prefetch {from}[{at}]"),
        }
    }
}

fn write_tile(f: &mut fmt::Formatter<'_>, tile: &Tile) -> fmt::Result {
    let s = tile.spec;
    let pairs = if s.pairs { "pairs " } else { "" };
    write!(f, "tile {} * {} {pairs}{} -> {}", s.rows, s.cols, s.dtype.short(), s.acc.short())?;
    f.write_str(if s.a_panel { " panel" } else { "" })?;
    write!(f, " depth {} start {}", tile.depth, tile.start)?;
    tile.operands.iter().try_for_each(|o| write!(f, ", {}[{}] stride {}", o.place, o.at, o.stride))?;
    tile.offsets.map_or(Ok(()), |table| write!(f, " at {table}"))?;
    tile.fetch.map_or(Ok(()), |TileFetch { place, at, step }| {
        write!(f, " fetch {}: {place}[{at}] by {step}", tile.spec.fetches)
    })
}

struct List<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if n == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
