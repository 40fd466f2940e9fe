//! Collective operations as graphs: what devices exchange so that each has a share of all values.
//!
//! Everything is made of ordinary copies and additions, so that order, fusion and hazards are those of any
//! graph. The order of combination depends on the number of devices, the extents and the choice of
//! algorithm only, and all devices get equal bits.
//!
//! *Naive*: each device takes what it needs from every other one and combines it in the order of the
//! devices; `n - 1` steps of latency at once, `n (n - 1)` times the bytes. *Ring* (Patarasuk and Yuan 2009,
//! Bandwidth optimal all-reduce algorithms): chunks travel from neighbour to neighbour, `2 (n - 1)` steps
//! and `2 (n - 1)` times the bytes.

use crate::costs::limits::kernels;
use svod_ir::alu::Alu;
use svod_ir::graph::{Device, GraphError, Split, UOp};
use svod_ir::size::Size;

/// How values travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Naive,
    Ring,
}

impl Route {
    /// The better one for a value that each of these devices has.
    pub(crate) fn of(value: &UOp, devices: usize) -> Route {
        let bytes = value.numel().as_const().map(|n| n.saturating_mul(value.dtype().bytes() as i64));
        if devices > 2 && bytes.is_some_and(|b| b >= kernels::RING) { Route::Ring } else { Route::Naive }
    }
}

/// On each device all of its addends combined, element by element.
pub(crate) fn all_reduce(by: Alu, addends: &[UOp], on: &[Device], route: Route) -> Result<Vec<UOp>, GraphError> {
    if route == Route::Naive {
        return on.iter().map(|to| combined(by, addends, to)).collect();
    }
    let (shape, count) = (addends[0].shape_arc().clone(), addends[0].numel());
    let chunks = Split::even(0, count.clone(), on.len());
    let flat: Vec<UOp> = addends.iter().map(|a| a.contiguous()?.reshape([count.clone()])).collect::<Result<_, _>>()?;
    let scattered = reduce_scatter(by, &flat, on, &chunks, route)?;
    let gathered = all_gather(&scattered, on, 0, route)?;
    gathered.into_iter().map(|whole| whole.reshape(shape.clone())).collect()
}

/// On device `i`, part `i` of all addends combined.
pub(crate) fn reduce_scatter(
    by: Alu,
    addends: &[UOp],
    on: &[Device],
    into: &Split,
    route: Route,
) -> Result<Vec<UOp>, GraphError> {
    let part = |i: usize| -> Result<UOp, GraphError> {
        let parts: Vec<UOp> = addends.iter().map(|a| shrunk(a, into, i)).collect::<Result<_, _>>()?;
        match route {
            Route::Naive => combined(by, &parts, &on[i]),
            Route::Ring => {
                let hops = (1..=on.len()).map(|step| (i + step) % on.len());
                let mut sum: Option<UOp> = None;
                for at in hops {
                    sum = Some(match sum {
                        None => parts[at].clone(),
                        Some(sum) => UOp::alu(by, &[sum.copy_to(&on[at])?, parts[at].clone()])?,
                    });
                }
                Ok(sum.unwrap_or_else(|| parts[i].clone()))
            }
        }
    };
    (0..on.len()).map(part).collect()
}

/// On each device the whole, of which device `i` has part `i` along an axis.
pub(crate) fn all_gather(parts: &[UOp], on: &[Device], axis: usize, route: Route) -> Result<Vec<UOp>, GraphError> {
    let mut known: Vec<Vec<UOp>> = vec![Vec::new(); on.len()];
    for (from, part) in parts.iter().enumerate() {
        let mut copies: Vec<Option<UOp>> = vec![None; on.len()];
        let mut last = part.clone();
        for at in (0..on.len()).map(|step| (from + step) % on.len()) {
            let copy = if route == Route::Ring { &last } else { part }.copy_to(&on[at])?;
            last = copy.clone();
            copies[at] = Some(copy);
        }
        known.iter_mut().zip(copies).for_each(|(all, copy)| all.extend(copy));
    }
    known.iter().map(|parts| UOp::concat(parts, axis)).collect()
}

/// Part `i` of a value.
pub(crate) fn shrunk(value: &UOp, split: &Split, i: usize) -> Result<UOp, GraphError> {
    let mut to: Vec<(Size, Size)> = value.shape().iter().map(|n| (Size::ZERO, n.clone())).collect();
    let range = split.range(i);
    to[split.axis] = (range.start, range.end);
    value.shrink(to)
}

/// All addends on one device, combined in their order.
fn combined(by: Alu, addends: &[UOp], to: &Device) -> Result<UOp, GraphError> {
    let mut sum = addends[0].copy_to(to)?;
    for addend in &addends[1..] {
        sum = UOp::alu(by, &[sum, addend.copy_to(to)?])?;
    }
    Ok(sum)
}
