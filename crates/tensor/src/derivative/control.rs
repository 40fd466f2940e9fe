//! Branches and loops that are steps of plans: their derivatives are such steps.
//!
//! That of a branch is a branch, of which each computes the pullback of its own. That of a counted loop is a loop that goes the
//! other way, over what each iteration began with: the loop stacks that where something is differentiated, else it is
//! run once more. Cotangents of carried values are carried, those of rows are rows, those of values from outside are sums.

use rustc_hash::{FxHashMap, FxHashSet};
use svod_ir::graph::{HostCall, HostFunction, Op, UOp};
use svod_ir::size::{Size, Variable};
use svod_runtime::control::{Control, Kind, Region, Trips};

use super::backwards::{begin, further, marked, walked, zeros_there};
use super::iteration::Iteration;
use super::loops::Names;
use super::walk::Target;
use crate::control::{Looped, Next, branch, looped};
use crate::error::{Result, TensorError};

/// The cotangents of what a step reads, where that is `active`, given those of its outputs.
///
/// # Errors
/// Operations without a derivative; loops whose trips a condition decides.
pub fn pulled(call: &HostCall, sources: &[UOp], given: &[Option<UOp>], active: &[bool]) -> Result<Vec<Option<UOp>>> {
    let Some(control) = call.downcast::<Control>() else { return Ok(vec![None; sources.len()]) };
    let wanted: Vec<bool> = active.iter().zip(sources).map(|(active, s)| *active && s.dtype().is_inexact()).collect();
    match control.kind() {
        Kind::Branch => of_branch(control, sources, given, &wanted),
        Kind::Loop { trips: Trips::Count(trips), number, carried, sliced, backwards } => {
            let back = Back {
                call,
                region: &control.regions()[0],
                number: number.as_ref(),
                trips,
                carried: *carried,
                sliced: *sliced,
                backwards: *backwards,
                sources,
            };
            back.pulled(given, &wanted)
        }
        Kind::Loop { .. } => {
            let message = format!(
                "the derivative of `{}` goes back through as many iterations as there were, which its condition decides: use \
                 `scan` or `iterate`, whose number is known when a run begins",
                control.name()
            );
            Err(TensorError::unsupported("gradient", message))
        }
    }
}

/// The values of a region for these of its parameters.
fn at(region: &Region, number: Option<&Variable>, at: &Size, values: &[UOp]) -> Result<Vec<UOp>> {
    Iteration::over(number, &region.params, &region.results).at(at, values, &FxHashMap::default())
}

fn of_branch(control: &Control, sources: &[UOp], given: &[Option<UOp>], wanted: &[bool]) -> Result<Vec<Option<UOp>>> {
    let lead = control.leading();
    let params = &sources[lead..];
    let by: Vec<usize> = (0..params.len()).filter(|i| wanted[lead + i]).collect();
    let seeds: Vec<usize> = (0..given.len()).filter(|i| given[*i].is_some()).collect();
    let cotangents: Vec<UOp> = given.iter().flatten().cloned().collect();
    if by.is_empty() || seeds.is_empty() {
        return Ok(vec![None; sources.len()]);
    }
    let pull = |region: &Region, values: Vec<UOp>| -> Result<Vec<UOp>> {
        let (values, cotangents) = values.split_at(params.len());
        let mut values = values.to_vec();
        let mut targets = Vec::new();
        for i in &by {
            values[*i] = marked(&values[*i], &mut targets)?;
        }
        let results = at(region, None, &Size::ZERO, &values)?;
        let given: Vec<(UOp, UOp)> =
            seeds.iter().map(|i| results[*i].clone()).zip(cotangents.iter().cloned()).collect();
        let found = walked(&given, &values, &targets)?;
        let or_zeros = |(found, i): (Option<UOp>, &usize)| found.map_or_else(|| zeros_there(&params[*i]), Ok);
        found.into_iter().zip(&by).map(or_zeros).collect()
    };
    let operands = [params, &cotangents].concat();
    let [taken, other] = control.regions() else { return Ok(vec![None; sources.len()]) };
    let found: Vec<UOp> =
        branch("cond", &sources[0], &operands, |values| pull(taken, values), |values| pull(other, values))?;
    let mut all = vec![None; sources.len()];
    for (i, found) in by.into_iter().zip(found) {
        all[lead + i] = Some(found);
    }
    Ok(all)
}

/// A counted loop in reverse.
struct Back<'a> {
    call: &'a HostCall,
    region: &'a Region,
    number: Option<&'a Variable>,
    trips: &'a Size,
    carried: usize,
    sliced: usize,
    backwards: bool,
    sources: &'a [UOp],
}

impl Back<'_> {
    /// What each iteration begins with, stacked.
    fn states(&self, depth: usize) -> Result<Vec<UOp>> {
        let carried = self.carried;
        let is_state = |at: usize| {
            let rows = self.region.results.iter().enumerate().skip(carried);
            let param = |row: &UOp| row.op().leaf() == Some(&self.region.params[at]);
            rows.into_iter().find(|(_, row)| param(row)).map(|(output, _)| output)
        };
        let kept: Option<Vec<usize>> = (0..carried).map(is_state).collect();
        if let Some(kept) = kept {
            let output = |at| Ok(UOp::new(Op::Host(self.call.clone(), self.sources.len(), at), self.sources)?);
            return kept.into_iter().map(output).collect();
        }
        let outside = &self.sources[carried + self.sliced..];
        let again = Looped {
            name: "scan",
            trips: Some(self.trips.clone()),
            begins: None,
            numbered: true,
            backwards: self.backwards,
            carried: &self.sources[..carried],
            sliced: &self.sources[carried..carried + self.sliced],
            names: &[],
            keeps: false,
            depth,
        };
        let mut found = looped(&again, |number, states, rows| {
            let values = [&states[..], &rows, outside].concat();
            let mut next = at(self.region, self.number, &number, &values)?;
            next.truncate(carried);
            Ok::<_, TensorError>(Next { carried: next, condition: None, rows: states })
        })?;
        Ok(found.drain(carried..2 * carried).collect())
    }

    fn pulled(&self, given: &[Option<UOp>], wanted: &[bool]) -> Result<Vec<Option<UOp>>> {
        let Back { carried, sliced, sources, .. } = *self;
        let outside = &sources[carried + sliced..];
        let floats: Vec<usize> = (0..carried).filter(|i| sources[*i].dtype().is_inexact()).collect();
        let rows: Vec<usize> = (carried..carried + sliced).filter(|i| wanted[*i]).collect();
        // One value that is read twice has one cotangent.
        let mut known: FxHashSet<u64> = FxHashSet::default();
        let sums: Vec<usize> = (carried + sliced..sources.len())
            .filter(|i| wanted[*i] && known.insert(sources[*i].resolved().id()))
            .collect();
        let mut found: Vec<Option<UOp>> = vec![None; sources.len()];
        if rows.is_empty() && sums.is_empty() && !floats.iter().any(|i| wanted[*i]) {
            return Ok(found);
        }
        let names = Names::over(self.number, &self.region.results);
        let states = self.states(names.first)?;
        let begin = begin(given, sources, &floats, &sums)?;
        let (stacked, of_rows): (Vec<usize>, Vec<UOp>) =
            given.iter().enumerate().skip(carried).filter_map(|(i, g)| Some((i, g.clone()?))).unzip();
        let read = [&states[..], &sources[carried..carried + sliced], &of_rows].concat();
        let back = Looped {
            name: "scan",
            trips: Some(self.trips.clone()),
            begins: None,
            numbered: true,
            backwards: !self.backwards,
            carried: &begin,
            sliced: &read,
            names: &[],
            keeps: false,
            depth: names.first,
        };
        let mut all = looped(&back, |number, now, read| {
            let mut values = [&read[..carried + sliced], outside].concat();
            let mut targets = Vec::new();
            for i in &floats {
                values[*i] = marked(&values[*i], &mut targets)?;
            }
            targets.extend(sums.iter().map(|i| Target::of(&values[*i])));
            for i in &rows {
                values[*i] = marked(&values[*i], &mut targets)?;
            }
            let results = at(self.region, self.number, &number, &values)?;
            let seeds = floats.iter().zip(&now).map(|(i, g)| (results[*i].clone(), g.clone()));
            let given = stacked.iter().zip(&read[carried + sliced..]).map(|(i, g)| (results[*i].clone(), g.clone()));
            let mut found = walked(&seeds.chain(given).collect::<Vec<_>>(), &values, &targets)?.into_iter();
            let next = further(&mut found, &now, floats.len())?;
            let mut of_rows = Vec::with_capacity(rows.len());
            for i in &rows {
                of_rows.push(found.next().flatten().map_or_else(|| zeros_there(&values[*i]), Ok)?);
            }
            Ok::<_, TensorError>(Next { carried: next, condition: None, rows: of_rows })
        })?;
        let of_rows = all.split_off(begin.len());
        for (i, g) in floats.iter().chain(&sums).zip(all) {
            found[*i] = Some(g).filter(|_| wanted[*i]);
        }
        for (i, g) in rows.iter().zip(of_rows) {
            found[*i] = Some(g);
        }
        Ok(found)
    }
}
