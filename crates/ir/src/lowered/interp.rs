//! The reference interpreter of loop trees: the oracle for schedules.
//!
//! It runs phases and tasks in order, and fails where a right schedule never goes: an unmasked
//! access out of range, a task that writes or reads an element which another task of the phase
//! writes, lanes that write different values to one element, undefined content of a temporary in
//! an index, a condition or an output. Undefined content may be moved and computed with as long as
//! it reaches none of these, as it does in padded lanes.

use super::{Loop, LoopKind, Lowered, Micro, Phase, Stmt, TileOperand};
use crate::alu::Alu;
use crate::buffer::HostBuffer;
use crate::expr::{ExprId, Mem};
use crate::expr_eval::{Bindings, Evaluator, InterpError, Machine, Value, extents, flat, points, size};
use crate::kernel::param_shapes;
use crate::size::{BoundVariable, Size, Variable};
use std::cell::Cell;
use svod_dtype::Const;

impl Lowered {
    /// Runs the loops over the buffer arguments, in order. The tree must satisfy
    /// [`Lowered::verify`].
    ///
    /// # Errors
    /// Buffers that do not fit, unbound variables, an unmasked access out of range, tasks or lanes
    /// that disturb one another, an index, condition or output that is undefined.
    pub fn interpret(&self, vars: &[BoundVariable], buffers: &mut [HostBuffer]) -> Result<(), InterpError> {
        let vars: Bindings = vars.iter().map(|b| (b.variable().clone(), b.value())).collect();
        let shapes = param_shapes(&self.params, &vars, buffers)?;
        let value = |v: &Variable| vars.iter().find(|(known, _)| known == v).map(|(_, value)| *value);
        let variant = self.variant(&value).map_err(InterpError::Size)?;
        for phase in self.phases.iter().filter(|phase| phase.variant == variant) {
            run_phase(phase, &shapes, &vars, buffers)?;
        }
        Ok(())
    }
}

fn run_phase(
    phase: &Phase,
    shapes: &[Vec<i64>],
    vars: &Bindings,
    buffers: &mut [HostBuffer],
) -> Result<(), InterpError> {
    let grid =
        phase.grid.iter().map(|l| Ok(size(&l.extent, vars)?.max(0))).collect::<Result<Vec<i64>, InterpError>>()?;
    let owners = buffers.iter().map(|b| vec![0; b.len()]).collect();
    let readers = buffers.iter().map(|b| vec![Cell::new(0); b.len()]).collect();
    let mut run = Run {
        evaluator: Evaluator::new(&phase.exprs),
        memory: Memory { shapes, temps: Vec::new(), buffers, owners, readers, task: 0, vector: None },
        vars: vars.clone(),
    };
    for point in points(&grid) {
        run.memory.task += 1;
        run.memory.temps.clear();
        for temp in &phase.temps {
            let (shape, len) = extents(&temp.shape, vars)?;
            run.memory.temps.push(Temp { shape, values: vec![None; len] });
        }
        run.vars.extend(phase.grid.iter().map(|l| l.var.clone()).zip(point));
        run.body(&phase.body)?;
        run.vars.truncate(vars.len());
    }
    Ok(())
}

/// More than one task.
const MANY: u32 = u32::MAX;

struct Temp {
    shape: Vec<i64>,
    values: Vec<Value>,
}

/// What a task reads and writes.
struct Memory<'a> {
    shapes: &'a [Vec<i64>],
    temps: Vec<Temp>,
    buffers: &'a mut [HostBuffer],
    /// The task of this phase that has written each element, or 0.
    owners: Vec<Vec<u32>>,
    /// The task of this phase that has read each element, 0, or [`MANY`].
    readers: Vec<Vec<Cell<u32>>>,
    /// The task that runs, from 1.
    task: u32,
    /// The vector loop around the statement that runs.
    vector: Option<(Variable, i64)>,
}

impl Machine for Memory<'_> {
    fn load(&self, from: Mem, index: &[i64]) -> Result<Value, InterpError> {
        let element = flat(from, index, self.shape(from)?)?;
        self.read(from, element)
    }
}

impl Memory<'_> {
    fn shape(&self, mem: Mem) -> Result<&[i64], InterpError> {
        let shape = match mem {
            Mem::Param(p) => self.shapes.get(p.index()),
            Mem::Temp(t, _) => self.temps.get(t.index()).map(|t| &t.shape),
        };
        let missing = || InterpError::OutOfRange { mem, index: Vec::new(), shape: Vec::new() };
        shape.map(Vec::as_slice).ok_or_else(missing)
    }

    /// An element that exists.
    fn read(&self, mem: Mem, element: usize) -> Result<Value, InterpError> {
        match mem {
            Mem::Param(p) => match self.owners[p.index()][element] {
                owner if owner != 0 && owner != self.task => Err(InterpError::Race { mem, element }),
                _ => {
                    let reader = &self.readers[p.index()][element];
                    reader.set(if [0, self.task].contains(&reader.get()) { self.task } else { MANY });
                    Ok(Some(self.buffers[p.index()].get(element)))
                }
            },
            Mem::Temp(t, _) => Ok(self.temps[t.index()].values[element]),
        }
    }

    fn write(&mut self, mem: Mem, element: usize, value: Value) -> Result<(), InterpError> {
        match mem {
            Mem::Param(p) => {
                let owner = &mut self.owners[p.index()][element];
                if *owner != 0 && *owner != self.task {
                    return Err(InterpError::WrittenTwice { mem, element });
                }
                if ![0, self.task].contains(&self.readers[p.index()][element].get()) {
                    return Err(InterpError::Race { mem, element });
                }
                *owner = self.task;
                self.buffers[p.index()].set(element, value.ok_or(InterpError::Undefined)?);
            }
            Mem::Temp(t, _) => self.temps[t.index()].values[element] = value,
        }
        Ok(())
    }
}

struct Run<'a> {
    evaluator: Evaluator<'a>,
    memory: Memory<'a>,
    vars: Bindings,
}

impl Run<'_> {
    fn size(&self, s: &Size) -> Result<i64, InterpError> {
        Ok(size(s, &self.vars)?)
    }

    fn body(&mut self, body: &[Stmt]) -> Result<(), InterpError> {
        for stmt in body {
            match stmt {
                Stmt::Loop(l, inner) => self.run_loop(l, inner)?,
                Stmt::If(cond, inner) => {
                    if self.evaluator.holds(*cond, &mut self.vars, &self.memory)? {
                        self.body(inner)?;
                    }
                }
                Stmt::Store { to, index, value, valid } => self.store(*to, index, *value, *valid)?,
                Stmt::Micro(m) => self.micro(m)?,
                Stmt::Prefetch { .. } => {}
            }
        }
        Ok(())
    }

    fn run_loop(&mut self, l: &Loop, inner: &[Stmt]) -> Result<(), InterpError> {
        let extent = self.size(&l.extent)?;
        if l.kind == LoopKind::Vector {
            self.memory.vector = Some((l.var.clone(), extent));
            self.body(inner)?;
            self.memory.vector = None;
            return Ok(());
        }
        for i in 0..extent {
            self.vars.push((l.var.clone(), i));
            self.body(inner)?;
            self.vars.pop();
        }
        Ok(())
    }

    /// Evaluates the statement in every lane, then writes.
    fn store(&mut self, to: Mem, index: &[ExprId], value: ExprId, valid: Option<ExprId>) -> Result<(), InterpError> {
        let vector = self.memory.vector.clone();
        let lanes = vector.as_ref().map_or(1, |(_, lanes)| *lanes);
        let mut writes: Vec<(usize, Value)> = Vec::new();
        for lane in 0..lanes {
            self.vars.extend(vector.iter().map(|(var, _)| (var.clone(), lane)));
            let masked = match valid {
                Some(valid) => !self.evaluator.holds(valid, &mut self.vars, &self.memory)?,
                None => false,
            };
            if !masked {
                let index = self.evaluator.index(index, &mut self.vars, &self.memory)?;
                let element = flat(to, &index, self.memory.shape(to)?)?;
                let value = self.evaluator.eval(value, &mut self.vars, &self.memory)?;
                match writes.iter().find(|(at, _)| *at == element) {
                    Some((_, other)) if *other != value => {
                        return Err(InterpError::WrittenTwice { mem: to, element });
                    }
                    _ => writes.push((element, value)),
                }
            }
            self.vars.truncate(self.vars.len() - usize::from(vector.is_some()));
        }
        writes.into_iter().try_for_each(|(element, value)| self.memory.write(to, element, value))
    }

    fn micro(&mut self, m: &Micro) -> Result<(), InterpError> {
        let (depth, start) = (self.size(&m.depth)?, self.size(&m.start)?);
        let (a, b, c) = (self.tile(&m.a)?, self.tile(&m.b)?, self.tile(&m.c)?);
        let rows_of_b = (0..depth).map(|k| match m.b_offsets {
            None => Ok(b.0 + k * b.1),
            Some(t) => {
                let offset = self.memory.load(Mem::Temp(t, 0), &[k])?.ok_or(InterpError::Undefined)?;
                Ok(b.0 + offset.as_i64())
            }
        });
        let rows_of_b = rows_of_b.collect::<Result<Vec<i64>, InterpError>>()?;
        for r in 0..i64::from(m.rows) {
            for j in 0..i64::from(m.cols) {
                let to = self.position(&m.c, c.0 + r * c.1 + j)?;
                let mut sum = match start {
                    0 => Some(Const::zero(m.acc)),
                    _ => self.memory.read(m.c.mem, to)?,
                };
                for (k, row) in (0..depth).zip(&rows_of_b) {
                    let at = if m.a_panel { a.0 + k * a.1 + r } else { a.0 + r * a.1 + k };
                    let left = self.memory.read(m.a.mem, self.position(&m.a, at)?)?;
                    let right = self.memory.read(m.b.mem, self.position(&m.b, row + j)?)?;
                    sum = match (sum, left, right) {
                        (Some(sum), Some(l), Some(r)) => {
                            let (l, r) = (Micro::factors(m.pairs, m.dtype, l), Micro::factors(m.pairs, m.dtype, r));
                            let add =
                                |s: Const, (l, r): (Const, Const)| Alu::MulAdd.eval(&[l.cast(m.acc), r.cast(m.acc), s]);
                            l.zip(r).try_fold(sum, add)
                        }
                        _ => None,
                    };
                }
                self.memory.write(m.c.mem, to, sum)?;
            }
        }
        Ok(())
    }

    /// The flat position of a tile's first element, and its stride.
    fn tile(&self, t: &TileOperand) -> Result<(i64, i64), InterpError> {
        let index = t.index.iter().map(|i| self.size(i)).collect::<Result<Vec<i64>, _>>()?;
        let shape = self.memory.shape(t.mem)?;
        let first = index.iter().zip(shape).fold(0, |at, (i, n)| at * n + i);
        Ok((first, self.size(&t.stride)?))
    }

    fn position(&self, t: &TileOperand, element: i64) -> Result<usize, InterpError> {
        let len = self.memory.shape(t.mem)?.iter().product::<i64>();
        flat(t.mem, &[element], &[len])
    }
}
