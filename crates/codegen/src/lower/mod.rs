//! From loop trees to linear lists.
//!
//! Indices become positions, unrolled loops are laid out, a vector loop becomes vectors of as many
//! lanes as it has iterations: what depends on its counter is a vector, all else stays scalar. What
//! the targets have no instruction for becomes arithmetic: transcendental functions, powers, narrow
//! floats.

mod alu;
mod block;
mod builder;
mod error;
mod expr;
mod math_ops;
mod memory;
mod micro;
mod narrow;
mod remainder;
mod size;
mod window;

pub use error::LowerError;

use crate::host::has_half;
use builder::Builder;
use memory::Memory;
use rustc_hash::FxHashMap;
use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::expr::{ExprId, Mem, ParamId};
use svod_ir::linear::{Inst, Linear, Param, Place, Slot, Special, Ty, Val};
use svod_ir::lowered::{Loop, LoopKind, Lowered, Phase, Stmt};
use svod_ir::size::{Size, Variable};
use svod_ir::target::Target;

/// The linear lists of a loop tree, one per phase, for a target. They are verified.
///
/// # Errors
/// A loop tree that is not well formed, or a temporary without a largest size.
pub fn linearize(lowered: &Lowered, target: &Target) -> Result<Vec<Linear>, LowerError> {
    lowered.verify()?;
    let names = entry_names(lowered);
    let phases = lowered.phases.iter().zip(names);
    phases.map(|(phase, name)| Lowering::phase(lowered, phase, name, target)).collect()
}

/// Linear lists as text.
pub fn listing(lists: &[Linear]) -> String {
    lists.iter().map(|list| format!("{list}\n")).collect()
}

/// The entry points' names: the tree's, or with a number where there are several phases.
pub fn entry_names(lowered: &Lowered) -> Vec<String> {
    match lowered.phases.len() {
        1 => vec![lowered.name.clone()],
        n => (0..n).map(|i| format!("{}_{i}", lowered.name)).collect(),
    }
}

/// The phase that is being lowered.
struct Lowering<'a> {
    b: Builder,
    phase: &'a Phase,
    /// Shapes of the parameters.
    shapes: Vec<&'a [Size]>,
    params: Vec<Memory>,
    temps: Vec<Memory>,
    /// Values of variables, of the grid's and of open loops' counters.
    env: FxHashMap<Variable, Val>,
    /// The vector loop, or the lanes, that is open, and its number of iterations.
    vector: Option<(Variable, u32)>,
    /// The open loops that are laid out: their numbers of iterations, and which one this is.
    laid_out: Vec<(Variable, i64, i64)>,
    /// How many loops and conditionals were open where the innermost of them was opened.
    depth_of_laid_out: usize,
    /// Blocks that have been copied.
    blocks: Vec<block::Copied>,
    /// The memories that the phase writes.
    written: Vec<Mem>,
    target: &'a Target,
    /// Whether binary16 converts to binary32 in one instruction.
    half: bool,
    /// Whether a product and a sum become one multiply-add.
    fuse: bool,
}

impl<'a> Lowering<'a> {
    fn phase(lowered: &'a Lowered, phase: &'a Phase, name: String, target: &'a Target) -> Result<Linear, LowerError> {
        let mut b = Builder::new();
        let mut linear = Linear { name, vars: lowered.vars.clone(), ..Linear::default() };
        let mut written = Vec::new();
        writes(&phase.body, &mut written);
        for (n, param) in lowered.params.iter().enumerate() {
            let id = ParamId(n as u32);
            let (written, stream) = (written.contains(&Mem::Param(id)), phase.streams.contains(&id));
            linear.params.push(Param { dtype: param.dtype, written, stream });
        }
        let params = Memory::params(lowered);
        let temps = Memory::temps(phase, &mut b, &mut linear, target)?;
        let env = FxHashMap::default();
        let half = has_half(target);
        let fuse = target.fma && !lowered.strict;
        let (laid_out, blocks) = (Vec::new(), Vec::new());
        let shapes = lowered.params.iter().map(|p| p.shape.as_slice()).collect();
        let mut lowering = Lowering {
            b,
            phase,
            shapes,
            params,
            temps,
            env,
            vector: None,
            laid_out,
            depth_of_laid_out: 0,
            blocks,
            written,
            target,
            half,
            fuse,
        };
        lowering.enter(lowered)?;
        lowering.body(&phase.body)?;
        let linear = lowering.b.finish(linear);
        linear.verify()?;
        Ok(linear)
    }

    /// Defines the variables, and the grid's counters from the index of the task.
    fn enter(&mut self, lowered: &Lowered) -> Result<(), LowerError> {
        let index = Ty::scalar(DType::Index);
        for (n, var) in lowered.vars.iter().enumerate() {
            let value = self.b.pure(index, Inst::Var(n as u32));
            self.env.insert(var.clone(), value);
        }
        let mut rest = self.b.pure(index, Inst::Special(Special::Block, 0));
        for (n, l) in self.phase.grid.iter().enumerate().rev() {
            let extent = self.size(&l.extent)?;
            let counter = match n {
                0 => rest,
                _ => self.unsigned(Alu::Rem, rest, extent),
            };
            rest = self.unsigned(Alu::IDiv, rest, extent);
            self.env.insert(l.var.clone(), counter);
        }
        Ok(())
    }

    fn body(&mut self, body: &[Stmt]) -> Result<(), LowerError> {
        let streamed =
            |stmt: &Stmt| matches!(stmt, Stmt::Store { to: Mem::Param(p), .. } if self.phase.streams.contains(p));
        let together: Vec<&[Stmt]> = body.chunk_by(|a, b| streamed(a) && streamed(b)).collect();
        for run in together {
            if run.len() > 1 {
                self.compute(run)?;
            }
            for stmt in run {
                match stmt {
                    Stmt::Loop(l, inner) => self.run(l, inner)?,
                    Stmt::If(cond, inner) => self.conditional(*cond, inner)?,
                    Stmt::Store { to, index, value, valid } => self.assign(*to, index, *value, *valid)?,
                    Stmt::Micro(m) => self.micro(m)?,
                    Stmt::Prefetch { from, index } => self.prefetch(*from, index)?,
                }
            }
        }
        Ok(())
    }

    /// Computes what some statements store, before the first of them does: a load that misses the caches between stores
    /// past them makes processors give up the lines that these have begun, and several outputs take three times as long.
    /// What reads memory that one of them writes is computed anew after that.
    fn compute(&mut self, stores: &[Stmt]) -> Result<(), LowerError> {
        for stmt in stores {
            if let Stmt::Store { value, .. } = stmt {
                self.eval(&[*value])?;
            }
        }
        Ok(())
    }

    fn run(&mut self, l: &Loop, inner: &[Stmt]) -> Result<(), LowerError> {
        match (l.kind, l.extent.as_const()) {
            (_, Some(..=0)) => Ok(()),
            (LoopKind::Vector, Some(2..)) => {
                let lanes = l.extent.as_usize().unwrap_or(1) as u32;
                let outer = self.vector.replace((l.var.clone(), lanes));
                self.body(inner)?;
                self.vector = outer;
                Ok(())
            }
            (LoopKind::Serial, extent) if extent != Some(1) => {
                let extent = self.size(&l.extent)?;
                let (places, slots) = self.writes(inner);
                let counter = self.b.range(extent, places, slots, l.extent.bounds().0 >= 1);
                self.env.insert(l.var.clone(), counter);
                self.body(inner)?;
                self.b.close();
                Ok(())
            }
            (_, extent) => {
                let depth = self.b.depth();
                let outer = std::mem::replace(&mut self.depth_of_laid_out, depth);
                for i in 0..extent.unwrap_or(0) {
                    let counter = self.b.index(i);
                    self.env.insert(l.var.clone(), counter);
                    self.laid_out.push((l.var.clone(), extent.unwrap_or(0), i));
                    self.body(inner)?;
                    self.laid_out.pop();
                }
                self.blocks.retain(|copied| copied.depth != depth);
                self.depth_of_laid_out = outer;
                Ok(())
            }
        }
    }

    fn conditional(&mut self, cond: ExprId, inner: &[Stmt]) -> Result<(), LowerError> {
        let cond = self.eval(&[cond])?[0];
        let cond = self.b.any(cond);
        match self.b.as_const(cond).map(|c| c.as_bool()) {
            Some(true) => self.body(inner),
            Some(false) => Ok(()),
            None => {
                let (places, slots) = self.writes(inner);
                self.b.condition(cond, places, slots);
                self.body(inner)?;
                self.b.close();
                Ok(())
            }
        }
    }

    /// The memories and accumulators that some statements write.
    fn writes(&self, body: &[Stmt]) -> (Vec<Place>, Vec<Slot>) {
        let mut written = Vec::new();
        writes(body, &mut written);
        let (mut places, mut slots) = (Vec::new(), Vec::new());
        for mem in written {
            match self.memory(mem) {
                Memory::Register { slots: s, .. } => slots.extend(s),
                Memory::Flat { place, .. } => places.push(*place),
            }
        }
        (places, slots)
    }

    fn memory(&self, mem: Mem) -> &Memory {
        match mem {
            Mem::Param(p) => &self.params[p.index()],
            Mem::Temp(t, _) => &self.temps[t.index()],
        }
    }
}

/// The memories that some statements write.
fn writes(body: &[Stmt], written: &mut Vec<Mem>) {
    let mut open: Vec<&Stmt> = body.iter().collect();
    while let Some(stmt) = open.pop() {
        match stmt {
            Stmt::Loop(_, inner) | Stmt::If(_, inner) => open.extend(inner),
            Stmt::Store { to: mem, .. } => written.push(*mem),
            Stmt::Micro(m) => written.push(m.c.mem),
            Stmt::Prefetch { .. } => {}
        }
    }
    written.sort();
    written.dedup();
}
