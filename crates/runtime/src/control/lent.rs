//! Loops on memory that the host sees: the body's plan runs on other pointers in each trip.

use super::memory::Own;
use super::step::{Call, Counted, From, Instance, Stop};
use crate::error::{Error, Result};
use crate::plan::ExecutionPlan;
use std::ptr::{NonNull, copy_nonoverlapping, null_mut};
use svod_device::{Block, Buffer};
use svod_ir::size::Variable;

/// How many of a loop's parameters and results are of which kind.
pub(super) struct Parts {
    pub carried: usize,
    pub sliced: usize,
    pub results: usize,
}

/// A carried value: where it is, and the two places that take turns.
struct Carried {
    now: NonNull<u8>,
    turns: [NonNull<u8>; 2],
}

impl Carried {
    fn new(own: &mut Own<'_>, param: &Buffer, result: &Buffer) -> Result<Carried> {
        let (begin, end, spare) = (param.allocate()?, result.allocate()?, own.place(result.bytes())?);
        let end = own.place_if(!is_aligned(end), result.bytes())?.unwrap_or(end);
        if is_aligned(begin) {
            return Ok(Carried { now: begin, turns: [end, spare] });
        }
        // SAFETY: both have as many bytes as the value, and are apart: one is the loop's own.
        unsafe { copy_nonoverlapping(begin.as_ptr(), spare.as_ptr(), param.bytes()) };
        Ok(Carried { now: spare, turns: [end, spare] })
    }

    /// Where the next value goes.
    fn next(&self) -> NonNull<u8> {
        let [end, spare] = self.turns;
        if self.now == end { spare } else { end }
    }
}

/// Elements in memory, of which each iteration reads or writes a row.
struct Rows {
    start: NonNull<u8>,
    /// Bytes of a row.
    each: usize,
    /// Where a row is put whose address is not aligned as kernels expect it.
    staged: Option<NonNull<u8>>,
}

impl Rows {
    fn new(own: &mut Own<'_>, buffer: &Buffer, trips: &Counted) -> Result<Rows> {
        let each = match trips.count {
            Some(count @ 1..) => buffer.bytes() / count as usize,
            _ => 0,
        };
        let start = buffer.allocate()?;
        let aligned = is_aligned(start) && each.is_multiple_of(Block::ALIGN);
        Ok(Rows { start, each, staged: own.place_if(!aligned, each)? })
    }

    /// # Safety
    /// There are more rows than this.
    unsafe fn row(&self, at: i64) -> *mut u8 {
        // SAFETY: the row is inside of the memory, as the caller promises.
        unsafe { self.start.as_ptr().add(at as usize * self.each) }
    }

    /// Where kernels find a row, or are to put it.
    ///
    /// # Safety
    /// There are more rows than this.
    unsafe fn place(&self, at: i64) -> *mut u8 {
        // SAFETY: as the caller promises.
        self.staged.map_or_else(|| unsafe { self.row(at) }, NonNull::as_ptr)
    }
}

fn is_aligned(start: NonNull<u8>) -> bool {
    (start.as_ptr() as usize).is_multiple_of(Block::ALIGN)
}

/// Where a buffer's elements are, or a copy of them that is aligned.
fn aligned(own: &mut Own<'_>, buffer: &Buffer) -> Result<NonNull<u8>> {
    let start = buffer.allocate()?;
    let Some(copy) = own.place_if(!is_aligned(start), buffer.bytes())? else { return Ok(start) };
    // SAFETY: both have as many bytes, and are apart: one is the loop's own.
    unsafe { copy_nonoverlapping(start.as_ptr(), copy.as_ptr(), buffer.bytes()) };
    Ok(copy)
}

/// A loop's values in memory: those it reads, and those it writes.
struct Lent<'a> {
    from: &'a [From],
    carried: Vec<Carried>,
    read: Vec<Rows>,
    written: Vec<Rows>,
    /// Whether a condition follows the carried values.
    is_while: bool,
    /// Bytes of each result of an iteration: next values, the condition, rows, flags.
    bytes: Vec<usize>,
    /// Where each is in this iteration.
    places: Vec<*mut u8>,
    /// Where the plan finds its inputs, and puts its outputs.
    inputs: Vec<*mut u8>,
    outputs: Vec<*mut u8>,
}

impl<'a> Lent<'a> {
    fn new(
        call: &Call,
        own: &mut Own<'_>,
        from: &'a [From],
        outputs: usize,
        parts: &Parts,
        trips: &Counted,
    ) -> Result<Lent<'a>> {
        let Parts { carried, sliced, results } = *parts;
        let both = call.params.iter().zip(call.results).take(carried);
        let values = both.map(|(param, result)| Carried::new(own, param, result)).collect::<Result<Vec<_>>>()?;
        let mut rows = |of: &[Buffer]| of.iter().map(|b| Rows::new(own, b, trips)).collect::<Result<Vec<_>>>();
        let (read, written) = (rows(&call.params[carried..carried + sliced])?, rows(&call.results[carried..results])?);
        let mut inputs = vec![null_mut(); call.params.len()];
        for (input, param) in inputs.iter_mut().zip(call.params).skip(carried + sliced) {
            *input = aligned(own, param)?.as_ptr();
        }
        let is_while = trips.count.is_none();
        let condition = carried..carried + usize::from(is_while);
        let (mut places, mut bytes) = (vec![null_mut(); from.len()], vec![1; from.len()]);
        let flags = own.flags(from.len() - results)?;
        let of_flags = condition.clone().chain(results + condition.len()..from.len());
        of_flags.zip(flags).for_each(|(at, flag)| places[at] = flag);
        bytes.iter_mut().zip(call.results).take(carried).for_each(|(bytes, result)| *bytes = result.bytes());
        bytes.iter_mut().skip(condition.end).zip(&written).for_each(|(bytes, rows)| *bytes = rows.each);
        let outputs = vec![null_mut(); outputs];
        Ok(Lent { from, carried: values, read, written, is_while, bytes, places, inputs, outputs })
    }

    /// The position of the first row among the results of an iteration, and of the first flag.
    fn rows_and_flags(&self) -> (usize, usize) {
        let rows = self.carried.len() + usize::from(self.is_while);
        (rows, rows + self.written.len())
    }

    /// Lays out where an iteration reads and writes.
    ///
    /// # Safety
    /// What is read and written by rows has more of them than this.
    unsafe fn enter(&mut self, row: i64) {
        let (first, _) = self.rows_and_flags();
        let (of_carried, others) = self.inputs.split_at_mut(self.carried.len());
        for ((input, place), value) in of_carried.iter_mut().zip(&mut self.places).zip(&self.carried) {
            (*input, *place) = (value.now.as_ptr(), value.next().as_ptr());
        }
        for (input, rows) in others.iter_mut().zip(&self.read) {
            // SAFETY: there is such a row, as the caller promises, and staging memory has the size of one.
            unsafe {
                *input = rows.place(row);
                if rows.staged.is_some() {
                    copy_nonoverlapping(rows.row(row), *input, rows.each);
                }
            }
        }
        for (place, rows) in self.places[first..].iter_mut().zip(&self.written) {
            // SAFETY: as the caller promises.
            *place = unsafe { rows.place(row) };
        }
        // Of equal results the first has the output.
        for (from, place) in self.from.iter().zip(&self.places).rev() {
            if let From::Output(n) = from {
                self.outputs[*n] = *place;
            }
        }
    }

    /// The first flag that is set.
    fn raised(&self) -> Option<usize> {
        let (_, first) = self.rows_and_flags();
        // SAFETY: a flag is a byte that the run has written where the output is, which equal flags share.
        let is_set = |from: &From| matches!(from, From::Output(n) if unsafe { *self.outputs[*n] } != 0);
        self.from[first..].iter().position(is_set)
    }

    /// Brings results to where they belong that the plan has not put there; whether the condition holds.
    ///
    /// # Safety
    /// The plan has run, and rows are as in [`Lent::enter`].
    unsafe fn leave(&mut self, row: i64) -> bool {
        let (first, _) = self.rows_and_flags();
        for (at, (from, place)) in self.from.iter().zip(&self.places).enumerate() {
            let begin = match from {
                From::Output(n) if self.outputs[*n] == *place => continue,
                From::Param(n) if *n == at && at < self.carried.len() => continue,
                From::Output(n) => self.outputs[*n],
                From::Param(n) => self.inputs[*n],
            };
            // SAFETY: both have as many bytes as the result, and are apart: a next value is in the other of its two
            // places, a row where no operand is.
            unsafe { copy_nonoverlapping(begin, *place, self.bytes[at]) };
        }
        for (rows, place) in self.written.iter().zip(&self.places[first..]) {
            if rows.staged.is_some() {
                // SAFETY: there is such a row, and the place has the size of one.
                unsafe { copy_nonoverlapping(*place, rows.row(row), rows.each) };
            }
        }
        for (at, (value, place)) in self.carried.iter_mut().zip(&self.places).enumerate() {
            if self.from[at] != From::Param(at) {
                value.now = NonNull::new(*place).unwrap_or(value.now);
            }
        }
        // SAFETY: the condition is a byte that was written above, or by the run.
        !self.is_while || unsafe { *self.places[self.carried.len()] } != 0
    }
}

impl Call<'_> {
    /// Whether a region runs on other pointers.
    pub(super) fn is_lent(&self, instance: &Instance) -> bool {
        let visible = |buffer: &Buffer| buffer.storage().allocator().host_visible();
        let plan = instance.plan.as_ref().is_some_and(ExecutionPlan::is_lent_whole);
        plan && self.params.iter().chain(self.results).all(visible)
    }

    /// A loop on the memory of parameters and results.
    pub(super) fn looped_lent(
        &self,
        from: &[From],
        instance: &mut Instance,
        parts: &Parts,
        trips: &Counted,
    ) -> Result<(), Stop> {
        let Instance { plan, memory } = instance;
        let Some(plan) = plan else { return Ok(()) };
        let mut own = memory.of_run(self.a_value()?);
        let mut lent = Lent::new(self, &mut own, from, plan.output_count(), parts, trips)?;
        let mut variables = self.variables(plan);
        let number = trips.number.filter(|var| plan.all_variables().contains(var));
        variables.extend(number.map(|var| (var.name(), Variable::min(var))));
        let mut run = plan.begin()?;
        let (mut trip, mut condition) = (0, trips.begins);
        while trips.goes_on(trip, condition) {
            let row = trips.row(trip);
            if let (Some(var), Some(last)) = (number, variables.last_mut()) {
                last.1 = Variable::min(var) + row;
            }
            if number.is_some() || trip == 0 {
                run.set(&variables)?;
            }
            // SAFETY: what has rows has one for each iteration. Inputs and outputs have the elements that the plan's have at
            // these values of its variables, are aligned, and apart: a carried value's next one is in the other of its
            // two places.
            unsafe {
                lent.enter(row);
                run.run(&lent.inputs, &lent.outputs, self.watch)?;
            }
            if let Some(flag) = lent.raised() {
                return Err(Stop::Flag(flag));
            }
            // SAFETY: the plan has run on what was laid out for this row.
            condition = unsafe { lent.leave(row) };
            trip += 1;
        }
        for (value, result) in lent.carried.iter().zip(self.results) {
            let end = result.allocate()?;
            if value.now != end {
                // SAFETY: the value is in the loop's own memory or in an operand's, both apart from the result.
                unsafe { copy_nonoverlapping(value.now.as_ptr(), end.as_ptr(), result.bytes()) };
            }
        }
        Ok(())
    }

    /// A parameter or a result, beside which a loop's own memory is.
    pub(super) fn a_value(&self) -> Result<&Buffer> {
        let value = self.params.first().or(self.results.first());
        value.ok_or_else(|| Error::Unsupported("a loop without values".into()))
    }
}
