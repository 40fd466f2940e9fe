//! The reference interpreter of the linear list: the oracle for compiled code.

use super::{BlockId, Inst, Linear, Place, Special, Tile, Val, VerifyError};
use crate::alu::Alu;
use crate::buffer::HostBuffer;
use crate::lowered::Micro;
use svod_dtype::{Const, DType};

/// Why the interpreter stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinearError {
    /// See [`VerifyError`].
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// Buffers or values of another number or type than declared.
    #[error("the arguments are not the {buffers} buffers and {vals} values declared")]
    Arguments {
        /// Number of buffers.
        buffers: usize,
        /// Number of values.
        vals: usize,
    },
    /// An access outside its memory.
    #[error("element {element} of {place} does not exist")]
    OutOfRange {
        /// The memory.
        place: Place,
        /// The position.
        element: i64,
    },
}

/// A value: one constant per lane.
type Lanes = Vec<Const>;

impl Linear {
    /// Runs one task. `vals` are the variables' values, in order, then the index of the task.
    /// Undefined content reads as 0.
    ///
    /// # Errors
    /// A list that is not well formed, arguments that do not fit, an access out of range.
    pub fn interpret(&self, vals: &[i64], buffers: &mut [HostBuffer]) -> Result<(), LinearError> {
        self.verify()?;
        let fit = buffers.iter().map(HostBuffer::dtype).eq(self.params.iter().map(|p| p.dtype));
        if !fit || vals.len() != self.vars.len() + 1 {
            return Err(LinearError::Arguments { buffers: self.params.len(), vals: self.vars.len() + 1 });
        }
        let scratch = self.scratch.iter().map(|s| HostBuffer::zeros(s.dtype, s.len as usize)).collect();
        let slots = self.slots.iter().map(|ty| vec![Const::zero(ty.dtype); ty.lanes as usize]).collect();
        let block = |b: &super::Block| HostBuffer::zeros(b.dtype, b.rows as usize * b.columns as usize);
        let blocks = self.blocks.iter().map(block).collect();
        let mut machine = Machine { linear: self, vals, buffers, scratch, blocks, slots, values: Vec::new(), at: 0 };
        machine.run()
    }
}

struct Machine<'a> {
    linear: &'a Linear,
    vals: &'a [i64],
    buffers: &'a mut [HostBuffer],
    scratch: Vec<HostBuffer>,
    blocks: Vec<HostBuffer>,
    slots: Vec<Lanes>,
    values: Vec<Lanes>,
    at: usize,
}

/// An open range or conditional: its first instruction, its counter and how often it still runs.
struct Open {
    start: usize,
    counter: Val,
    left: i64,
}

impl Machine<'_> {
    fn run(&mut self) -> Result<(), LinearError> {
        let linear = self.linear;
        // The value that each instruction defines, and the end that belongs to each opening.
        let (mut names, mut ends, mut stack, mut next) = (Vec::new(), vec![0; linear.insts.len()], Vec::new(), 0);
        for (n, inst) in linear.insts.iter().enumerate() {
            names.push(Val(next));
            next += u32::from(inst.has_value());
            match inst {
                Inst::Range(_) | Inst::If(_) => stack.push(n),
                Inst::EndRange | Inst::EndIf => ends[stack.pop().unwrap_or(0)] = n,
                _ => {}
            }
        }
        self.values = linear.values.iter().map(|ty| vec![Const::zero(ty.dtype); ty.lanes as usize]).collect();
        let mut open: Vec<Open> = Vec::new();
        while let Some(inst) = linear.insts.get(self.at) {
            let (here, name) = (self.at, names[self.at]);
            self.at += 1;
            match inst {
                Inst::Range(extent) => match self.int(*extent) {
                    ..=0 => self.at = ends[here] + 1,
                    left => {
                        self.values[name.index()] = vec![Const::zero(DType::Index)];
                        open.push(Open { start: here, counter: name, left });
                    }
                },
                Inst::EndRange => {
                    let Some(range) = open.last_mut() else { continue };
                    range.left -= 1;
                    if range.left > 0 {
                        let (counter, start) = (range.counter, range.start);
                        self.values[counter.index()] = vec![Const::i64(DType::Index, self.int(counter) + 1)];
                        self.at = start + 1;
                    } else {
                        open.pop();
                    }
                }
                Inst::If(cond) if !self.values[cond.index()][0].as_bool() => self.at = ends[here] + 1,
                Inst::If(_) | Inst::EndIf | Inst::Barrier | Inst::Prefetch(..) => {}
                Inst::Write(slot, v) => self.slots[slot.index()] = self.values[v.index()].clone(),
                Inst::Store { to, at, value, mask } => self.store(*to, *at, *value, *mask)?,
                Inst::Copy { to, from, at, step, within } => {
                    let within = within.map(|of| of.map(|v| self.int(v)));
                    self.copy(*to, *from, [self.int(*at), self.int(*step)], within)?;
                }
                Inst::Tile(tile) => self.tile(tile)?,
                inst => self.values[name.index()] = self.value(inst, name)?,
            }
        }
        Ok(())
    }

    fn int(&self, v: Val) -> i64 {
        self.values[v.index()][0].as_i64()
    }

    /// Lane `lane` of a value; of a scalar, the scalar.
    fn lane(&self, v: Val, lane: usize) -> Const {
        let lanes = &self.values[v.index()];
        lanes[if lanes.len() == 1 { 0 } else { lane }]
    }

    fn value(&self, inst: &Inst, name: Val) -> Result<Lanes, LinearError> {
        let ty = self.linear.ty(name);
        let lanes = 0..ty.lanes as usize;
        let all = |v: &Val| self.values[v.index()].iter();
        Ok(match inst {
            Inst::Const(c) => vec![*c; lanes.len()],
            Inst::Var(n) => vec![Const::i64(DType::Index, self.vals[*n as usize])],
            Inst::Special(Special::Block, 0) => vec![Const::i64(DType::Index, self.vals[self.linear.vars.len()])],
            Inst::Special(..) => vec![Const::zero(DType::Index)],
            Inst::Iota => lanes.map(|i| Const::i64(ty.dtype, i as i64)).collect(),
            Inst::Alu(op, args) => lanes
                .map(|lane| {
                    let args: Vec<Const> = args.iter().map(|v| self.lane(*v, lane)).collect();
                    op.eval(&args).unwrap_or(Const::zero(ty.dtype))
                })
                .collect(),
            Inst::Cast(v) => all(v).map(|c| c.cast(ty.dtype)).collect(),
            Inst::Bitcast(v) => all(v).map(|c| Const::from_bits(ty.dtype, c.bits())).collect(),
            Inst::Splat(v) => vec![self.lane(*v, 0); lanes.len()],
            Inst::Vector(args) => args.iter().map(|v| self.lane(*v, 0)).collect(),
            Inst::Shuffle(a, b, lanes) => {
                let both: Vec<Const> = all(a).chain(all(b)).copied().collect();
                lanes.iter().map(|l| both[*l as usize]).collect()
            }
            Inst::Extract(v, lane) => vec![self.lane(*v, *lane as usize)],
            Inst::Insert(vector, lane, v) => {
                let mut lanes = self.values[vector.index()].clone();
                lanes[*lane as usize] = self.lane(*v, 0);
                lanes
            }
            Inst::Reduce(op, v) => vec![reduce(*op, self.values[v.index()].clone())],
            Inst::Scan(op, v) => {
                let mut lanes = self.values[v.index()].clone();
                for lane in 1..lanes.len() {
                    lanes[lane] = op.eval(&[lanes[lane - 1], lanes[lane]]).unwrap_or(lanes[lane]);
                }
                lanes
            }
            Inst::Alike(v, before) => {
                let of = &self.values[v.index()];
                let like = |lane: usize, end: usize| of[..end].iter().filter(|other| **other == of[lane]).count();
                let count = |lane: usize| like(lane, if *before { lane } else { of.len() });
                lanes.map(|lane| Const::i64(DType::U32, count(lane) as i64)).collect()
            }
            Inst::Read(slot) => self.slots[slot.index()].clone(),
            Inst::Column(block, n) => {
                let columns = self.linear.blocks[block.index()].columns;
                lanes.map(|row| self.blocks[block.index()].get(row * columns as usize + *n as usize)).collect()
            }
            Inst::Load { from, at, mask, other } => lanes
                .map(|lane| match self.masked_in(*mask, lane) {
                    true => self.read(*from, self.position(*at, lane)),
                    false => Ok(*other),
                })
                .collect::<Result<_, _>>()?,
            _ => Vec::new(),
        })
    }

    fn masked_in(&self, mask: Option<Val>, lane: usize) -> bool {
        mask.is_none_or(|m| self.lane(m, lane).as_bool())
    }

    fn position(&self, at: Val, lane: usize) -> i64 {
        let lanes = &self.values[at.index()];
        if lanes.len() == 1 { lanes[0].as_i64() + lane as i64 } else { lanes[lane].as_i64() }
    }

    fn buffer(&self, place: Place) -> &HostBuffer {
        match place {
            Place::Param(p) => &self.buffers[p.index()],
            Place::Scratch(s) => &self.scratch[s.index()],
        }
    }

    fn element(&self, place: Place, element: i64) -> Result<usize, LinearError> {
        let position = usize::try_from(element).ok().filter(|e| *e < self.buffer(place).len());
        position.ok_or(LinearError::OutOfRange { place, element })
    }

    fn read(&self, place: Place, element: i64) -> Result<Const, LinearError> {
        Ok(self.buffer(place).get(self.element(place, element)?))
    }

    fn write(&mut self, place: Place, element: i64, value: Const) -> Result<(), LinearError> {
        let element = self.element(place, element)?;
        match place {
            Place::Param(p) => self.buffers[p.index()].set(element, value),
            Place::Scratch(s) => self.scratch[s.index()].set(element, value),
        }
        Ok(())
    }

    fn store(&mut self, to: Place, at: Val, value: Val, mask: Option<Val>) -> Result<(), LinearError> {
        for lane in 0..self.values[value.index()].len() {
            if self.masked_in(mask, lane) {
                self.write(to, self.position(at, lane), self.lane(value, lane))?;
            }
        }
        Ok(())
    }

    /// Copies the rows and columns of a block that there are.
    fn copy(
        &mut self,
        to: BlockId,
        from: Place,
        [at, step]: [i64; 2],
        within: Option<[i64; 2]>,
    ) -> Result<(), LinearError> {
        let block = self.linear.blocks[to.index()];
        let [rows, columns] = [block.rows, block.columns].map(i64::from);
        let [some_rows, some_columns] = within.unwrap_or([rows, columns]);
        for r in 0..rows.min(if some_columns > 0 { some_rows } else { 0 }) {
            for c in 0..columns {
                let value = self.read(from, at + r * step + c.min(some_columns - 1))?;
                self.blocks[to.index()].set((r * columns + c) as usize, value);
            }
        }
        Ok(())
    }

    fn tile(&mut self, tile: &Tile) -> Result<(), LinearError> {
        let spec = tile.spec;
        let [c, a, b] = tile.operands.map(|o| (o.place, self.int(o.at), self.int(o.stride)));
        let (depth, start) = (self.int(tile.depth), self.int(tile.start));
        for r in 0..i64::from(spec.rows) {
            for j in 0..i64::from(spec.cols) {
                let to = c.1 + r * c.2 + j;
                let mut sum = if start == 0 { Const::zero(spec.acc) } else { self.read(c.0, to)? };
                for k in 0..depth {
                    let left = if spec.a_panel { a.1 + k * a.2 + r } else { a.1 + r * a.2 + k };
                    let left = self.read(a.0, left)?;
                    let row = match tile.offsets {
                        Some(table) => self.read(table, k)?.as_i64(),
                        None => k * b.2,
                    };
                    let right = self.read(b.0, b.1 + row + j)?;
                    let [left, right] = [left, right].map(|x| Micro::factors(spec.pairs, spec.dtype, x));
                    for (left, right) in left.zip(right) {
                        let factors = [left.cast(spec.acc), right.cast(spec.acc), sum];
                        sum = Alu::MulAdd.eval(&factors).unwrap_or(sum);
                    }
                }
                self.write(c.0, to, sum)?;
            }
        }
        Ok(())
    }
}

fn reduce(op: Alu, mut lanes: Lanes) -> Const {
    while lanes.len() > 1 {
        let upper = lanes.split_off(lanes.len() / 2);
        lanes = lanes.iter().zip(upper).map(|(a, b)| op.eval(&[*a, b]).unwrap_or(*a)).collect();
    }
    lanes[0]
}
