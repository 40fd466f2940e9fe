//! Loops on memory that the host sees: the body's plan runs on other pointers in each trip.

use super::step::{Call, Counted, From, Instance, Stop};
use crate::error::{Error, Result};
use crate::plan::ExecutionPlan;
use std::ptr::{NonNull, copy_nonoverlapping};
use svod_device::{Block, Buffer};
use svod_dtype::DType;

/// How many of a loop's parameters and results are of which kind.
pub(super) struct Parts {
    pub carried: usize,
    pub sliced: usize,
    pub results: usize,
}

/// Buffers of a loop's own, which it keeps from run to run.
#[derive(Default)]
pub(super) struct Memory {
    /// By what they are for; each as large as was ever needed.
    buffers: Vec<Option<Buffer>>,
}

impl Memory {
    /// As many bytes, for this purpose.
    fn get(&mut self, purpose: usize, like: &Buffer, bytes: usize) -> Result<NonNull<u8>> {
        if self.buffers.len() <= purpose {
            self.buffers.resize_with(purpose + 1, || None);
        }
        let slot = &mut self.buffers[purpose];
        match slot {
            Some(buffer) if buffer.bytes() >= bytes => {}
            _ => *slot = Some(Buffer::new(like.storage().allocator(), DType::U8, bytes.max(1))?),
        }
        match slot {
            Some(buffer) => Ok(buffer.allocate()?),
            None => Err(Error::Stale),
        }
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
    /// # Safety
    /// There are more rows than this.
    unsafe fn row(&self, at: i64) -> *mut u8 {
        // SAFETY: the row is inside of the memory, as the caller promises.
        unsafe { self.start.as_ptr().add(at as usize * self.each) }
    }
}

fn is_aligned(start: NonNull<u8>) -> bool {
    (start.as_ptr() as usize).is_multiple_of(Block::ALIGN)
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
        let Parts { carried, sliced, results } = *parts;
        let Instance { plan, memory } = instance;
        let Some(plan) = plan else { return Ok(()) };
        let like = self.params.first().or(self.results.first());
        let like = like.ok_or_else(|| Error::Unsupported("a loop without values".into()))?;
        let rows_of = |buffer: &Buffer| match trips.count {
            Some(count @ 1..) => buffer.bytes() / count as usize,
            _ => 0,
        };
        let mut purpose = 0..;
        let mut own = |memory: &mut Memory, bytes: usize| memory.get(purpose.next().unwrap_or(0), like, bytes);

        // Carried values: where they are, and the two places that take turns.
        let mut now: Vec<NonNull<u8>> = Vec::with_capacity(carried);
        let mut turns: Vec<[NonNull<u8>; 2]> = Vec::with_capacity(carried);
        for (param, result) in self.params.iter().zip(self.results).take(carried) {
            let (begin, end, spare) = (param.allocate()?, result.allocate()?, own(memory, result.bytes())?);
            let staged = own(memory, if is_aligned(end) { 0 } else { result.bytes() })?;
            let end = if is_aligned(end) { end } else { staged };
            turns.push([end, spare]);
            now.push(match is_aligned(begin) {
                true => begin,
                false => {
                    // SAFETY: both have as many bytes as the value, and are apart: one is the loop's own.
                    unsafe { copy_nonoverlapping(begin.as_ptr(), spare.as_ptr(), param.bytes()) };
                    spare
                }
            });
        }
        let rows = |buffers: &[Buffer],
                    memory: &mut Memory,
                    own: &mut dyn FnMut(&mut Memory, usize) -> Result<NonNull<u8>>| {
            let one = |buffer: &Buffer| {
                let (start, each) = (buffer.allocate()?, rows_of(buffer));
                let aligned = is_aligned(start) && each.is_multiple_of(Block::ALIGN);
                let place = own(memory, if aligned { 0 } else { each })?;
                Ok(Rows { start, each, staged: (!aligned).then_some(place) })
            };
            buffers.iter().map(one).collect::<Result<Vec<Rows>>>()
        };
        let read = rows(&self.params[carried..carried + sliced], memory, &mut own)?;
        let written = rows(&self.results[carried..results], memory, &mut own)?;
        let mut outside = Vec::new();
        for param in &self.params[carried + sliced..] {
            let start = param.allocate()?;
            let place = own(memory, if is_aligned(start) { 0 } else { param.bytes() })?;
            if !is_aligned(start) {
                // SAFETY: as above.
                unsafe { copy_nonoverlapping(start.as_ptr(), place.as_ptr(), param.bytes()) };
            }
            outside.push(if is_aligned(start) { start } else { place });
        }
        // The condition and flags, a byte each, apart from one another.
        let bytes = from.len() - results;
        let flags = (0..bytes).map(|_| own(memory, 1)).collect::<Result<Vec<_>>>()?;
        let is_while = trips.count.is_none();

        let mut variables = self.variables(plan);
        let own_number = trips.number.filter(|var| plan.all_variables().contains(var));
        if let Some(var) = own_number {
            variables.push((var.name(), 0));
        }
        let outputs = plan.output_count();
        let mut run = plan.begin()?;
        let mut inputs = vec![std::ptr::null_mut(); self.params.len()];
        for (at, place) in (carried + sliced..).zip(&outside) {
            inputs[at] = place.as_ptr();
        }
        let (mut targets, mut trip, mut condition) = (vec![std::ptr::null_mut(); outputs], 0, trips.begins);
        let mut is_set = false;
        let mut places: Vec<*mut u8> = vec![std::ptr::null_mut(); from.len()];
        while trips.goes_on(trip, condition) {
            let row = trips.row(trip);
            if own_number.is_some() || !is_set {
                if let (Some(_), Some(last)) = (own_number, variables.last_mut()) {
                    last.1 = row;
                }
                run.set(&variables)?;
                is_set = true;
            }
            for (input, now) in inputs.iter_mut().zip(&now) {
                *input = now.as_ptr();
            }
            for (at, rows) in (carried..).zip(&read) {
                // SAFETY: the operand has as many rows as there are iterations, and staging memory the size of one.
                inputs[at] = unsafe {
                    let place = rows.row(row);
                    match rows.staged {
                        Some(staged) => {
                            copy_nonoverlapping(place, staged.as_ptr(), rows.each);
                            staged.as_ptr()
                        }
                        None => place,
                    }
                };
            }
            for (at, place) in places.iter_mut().enumerate() {
                // Next values, the condition, rows, flags.
                let after = at.wrapping_sub(carried + usize::from(is_while));
                *place = if at < carried {
                    let [end, spare] = turns[at];
                    if now[at] == end { spare.as_ptr() } else { end.as_ptr() }
                } else if is_while && at == carried {
                    flags[0].as_ptr()
                } else if let Some(rows) = written.get(after) {
                    match rows.staged {
                        Some(staged) => staged.as_ptr(),
                        // SAFETY: the result has as many rows as there are iterations.
                        None => unsafe { rows.row(row) },
                    }
                } else {
                    flags[after - written.len() + usize::from(is_while)].as_ptr()
                };
            }
            for (from, place) in from.iter().zip(&places).rev() {
                if let From::Output(n) = from {
                    targets[*n] = *place;
                }
            }
            // SAFETY: inputs and outputs have the elements that the plan's have at these values of its variables, are
            // aligned, and apart: a carried value's next one is in the other of its two places.
            unsafe { run.run(&inputs, &targets, self.watch)? };
            for (at, from) in from.iter().enumerate().skip(results + usize::from(is_while)) {
                let From::Output(n) = from else { continue };
                // SAFETY: a flag is a byte that the run has written where the output is, which equal flags share.
                if unsafe { *targets[*n] } != 0 {
                    return Err(Stop::Flag(at - results - usize::from(is_while)));
                }
            }
            for (at, (from, place)) in from.iter().zip(&places).enumerate() {
                let (begin, bytes) = match from {
                    From::Output(n) if targets[*n] == *place => continue,
                    From::Param(n) if *n == at && at < carried => continue,
                    From::Output(n) => (targets[*n], self.bytes(at, parts, is_while, &rows_of)),
                    From::Param(n) => (inputs[*n], self.bytes(at, parts, is_while, &rows_of)),
                };
                // SAFETY: both have as many bytes as the result, and are apart, as above.
                unsafe { copy_nonoverlapping(begin, *place, bytes) };
            }
            for (rows, at) in written.iter().zip(carried + usize::from(is_while)..) {
                if let Some(staged) = rows.staged {
                    debug_assert_eq!(staged.as_ptr(), places[at]);
                    // SAFETY: as above.
                    unsafe { copy_nonoverlapping(staged.as_ptr(), rows.row(row), rows.each) };
                }
            }
            for at in 0..carried {
                if from[at] != From::Param(at) {
                    now[at] = NonNull::new(places[at]).unwrap_or(now[at]);
                }
            }
            if is_while {
                // SAFETY: the condition is a byte that the run has written.
                condition = unsafe { *places[carried] } != 0;
            }
            trip += 1;
        }
        for (now, result) in now.iter().zip(self.results) {
            let end = result.allocate()?;
            if *now != end {
                // SAFETY: the value is in the loop's own memory or in an operand's, both apart from the result.
                unsafe { copy_nonoverlapping(now.as_ptr(), end.as_ptr(), result.bytes()) };
            }
        }
        Ok(())
    }

    /// Bytes of a result of one iteration.
    fn bytes(&self, at: usize, parts: &Parts, is_while: bool, rows_of: &dyn Fn(&Buffer) -> usize) -> usize {
        let after = at.wrapping_sub(usize::from(is_while));
        match (self.results.get(at), self.results.get(after)) {
            (Some(result), _) if at < parts.carried => result.bytes(),
            (_, Some(result)) if after >= parts.carried => rows_of(result),
            _ => 1,
        }
    }
}
