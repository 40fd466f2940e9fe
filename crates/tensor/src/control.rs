//! Branches, loops while a condition holds, and scans: regions of a graph, each a plan of its own, as one step of a plan
//! ([`svod_runtime::control`]).
//!
//! A function is called once, with placeholders for the values that it is given. What it reads besides becomes an operand of
//! the step: what a loop's body computes of nothing but values from outside is computed once, and what was there before
//! a branch was built is computed whichever branch is taken; all else that a branch computes it computes if it is taken.

use std::sync::Arc;

use svod_ir::graph::key::BindMismatch;
use svod_ir::graph::{Captured, Device, Graph, Leaf, Place, UOp, varying};
use svod_ir::size::{Size, Variable};
use svod_runtime::control::{Control, FlagError, Kind, Region, Trips};

use crate::derivative::backwards::there;
use crate::error::{Result, TensorError, show_operands, show_typed};
use crate::iterate::parameter;
use crate::lookups::Lookups;
use crate::tensor::Tensor;
use crate::trace::Trace;

/// What a loop's body gives.
pub(crate) struct Next {
    /// The next values of what is carried.
    pub carried: Vec<UOp>,
    /// Whether there is another iteration, where that decides.
    pub condition: Option<UOp>,
    /// A row of each value that is stacked.
    pub rows: Vec<UOp>,
}

/// A loop as a step.
pub(crate) struct Looped<'a> {
    /// What messages call it.
    pub name: &'static str,
    /// How often it is run, where that is known when a run begins.
    pub trips: Option<Size>,
    /// Whether there is a first iteration, where conditions decide.
    pub begins: Option<&'a UOp>,
    /// Whether the body reads the iteration's number.
    pub numbered: bool,
    /// Whether it goes from the last row, and number, to the first.
    pub backwards: bool,
    pub carried: &'a [UOp],
    pub sliced: &'a [UOp],
    /// What a program calls the carried values.
    pub names: &'a [String],
    /// Whether it stacks what each iteration begins with, if derivatives may be taken of it.
    pub keeps: bool,
    /// The number in the name of its variable, which no loop around or inside of it has.
    pub depth: usize,
}

impl Tensor {
    /// What one of two functions gives for these values: the first where the condition, of one element, is true, else the
    /// second. Only that one is computed. Each is called once, to learn what it computes.
    ///
    /// ```
    /// use svod_tensor::{Tensor, TensorError};
    /// let x = Tensor::from_slice(&[1.0f32, -2.0], &[2])?;
    /// let y = Tensor::cond(
    ///     &x.sum(None, false)?.gt(0.0)?,
    ///     &[&x],
    ///     |x| Ok::<_, TensorError>(vec![x[0].mul(2.0)?]),
    ///     |x| Ok(vec![x[0].neg()?]),
    /// )?;
    /// assert_eq!(y[0].to_vec::<f32>()?, [-1.0, 2.0]);
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// A condition of more than one element, results of other types or shapes than those of the other branch, and errors of
    /// the functions.
    pub fn cond<E: From<TensorError>>(
        condition: &Tensor,
        operands: &[&Tensor],
        taken: impl FnOnce(Vec<Tensor>) -> Result<Vec<Tensor>, E>,
        other: impl FnOnce(Vec<Tensor>) -> Result<Vec<Tensor>, E>,
    ) -> Result<Vec<Tensor>, E> {
        let condition = flag("cond", condition)?;
        let operands: Vec<UOp> = operands.iter().map(|t| t.uop()).collect();
        let over = |values: Vec<UOp>| values.into_iter().map(Tensor::from_uop).collect::<Vec<_>>();
        let nodes = |values: Vec<Tensor>| values.iter().map(Tensor::uop).collect::<Vec<_>>();
        let results =
            branch("cond", &condition, &operands, |v| taken(over(v)).map(nodes), |v| other(over(v)).map(nodes))?;
        Ok(over(results))
    }

    /// What `init` becomes when `body` computes it anew for as long as `condition` holds. Both are called once or twice, to
    /// learn what they compute; how often the body is run is decided in the run, without a call of either.
    ///
    /// ```
    /// use svod_tensor::{Tensor, TensorError};
    /// let n = Tensor::scalar(27i64, None)?;
    /// let steps = Tensor::scalar(0i64, None)?;
    /// let found = Tensor::while_loop(
    ///     &[&n, &steps],
    ///     &[],
    ///     |v| Ok::<_, TensorError>(v[0].ne(1)?),
    ///     |v| {
    ///         let next = Tensor::select(&v[0].modulo(2)?.eq(0)?, v[0].floor_div(2)?, v[0].mul(3)?.add(1)?)?;
    ///         Ok(vec![next, v[1].add(1)?])
    ///     },
    /// )?;
    /// assert_eq!(found[1].to_vec::<i64>()?, [111]);
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// A condition of more than one element, next values of other types or shapes than those that they replace, which
    /// `names` says what to call, and errors of the functions.
    pub fn while_loop<E: From<TensorError>>(
        init: &[&Tensor],
        names: &[String],
        mut condition: impl FnMut(Vec<Tensor>) -> Result<Tensor, E>,
        body: impl FnOnce(Vec<Tensor>) -> Result<Vec<Tensor>, E>,
    ) -> Result<Vec<Tensor>, E> {
        let carried: Vec<UOp> = init.iter().map(|t| t.uop()).collect();
        let over = |values: &[UOp]| values.iter().cloned().map(Tensor::from_uop).collect::<Vec<_>>();
        let begins = flag("while_loop", &condition(over(&carried))?)?;
        let of = Looped {
            name: "while_loop",
            trips: None,
            begins: Some(&begins),
            numbered: false,
            backwards: false,
            carried: &carried,
            sliced: &[],
            names,
            keeps: true,
            depth: Trace::depth(),
        };
        let found = looped(&of, |_, values, _| {
            let next: Vec<UOp> = body(over(&values))?.iter().map(Tensor::uop).collect();
            let condition = flag("while_loop", &condition(over(&next))?)?;
            Ok::<_, E>(Next { carried: next, condition: Some(condition), rows: Vec::new() })
        })?;
        Ok(over(&found))
    }

    /// What `init` becomes when `body` computes it anew for each row of `xs`, and what it gives for each of them, stacked:
    /// `length` rows, the first dimension of each of `xs`. `backwards` begins with the last. The number of a row is a size
    /// that the body may use in indices, shapes and arithmetic.
    ///
    /// ```
    /// use svod_tensor::{Tensor, TensorError};
    /// let (zero, xs) = (Tensor::scalar(0.0f32, None)?, Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?);
    /// let (last, sums) = Tensor::scan_over(&[&zero], &[&xs], 3.into(), false, &[], |_, carried, x| {
    ///     let sum = carried[0].add(&x[0])?;
    ///     Ok::<_, TensorError>((vec![sum.clone()], vec![sum]))
    /// })?;
    /// assert_eq!(last[0].item::<f32>()?, 6.0);
    /// assert_eq!(sums[0].to_vec::<f32>()?, [1.0, 3.0, 6.0]);
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::while_loop`], and `xs` of other lengths.
    pub fn scan_over<E: From<TensorError>>(
        init: &[&Tensor],
        xs: &[&Tensor],
        length: Size,
        backwards: bool,
        names: &[String],
        body: impl FnOnce(Size, Vec<Tensor>, Vec<Tensor>) -> Result<(Vec<Tensor>, Vec<Tensor>), E>,
    ) -> Result<(Vec<Tensor>, Vec<Tensor>), E> {
        let carried: Vec<UOp> = init.iter().map(|t| t.uop()).collect();
        let sliced: Vec<UOp> = xs.iter().map(|t| t.uop()).collect();
        let of = Looped {
            name: "scan",
            trips: Some(length),
            begins: None,
            numbered: true,
            backwards,
            carried: &carried,
            sliced: &sliced,
            names,
            keeps: true,
            depth: Trace::depth(),
        };
        let over = |values: Vec<UOp>| values.into_iter().map(Tensor::from_uop).collect::<Vec<_>>();
        let mut found = looped(&of, |at, values, rows| {
            let (next, rows) = body(at, over(values), over(rows))?;
            let nodes = |values: &[Tensor]| values.iter().map(Tensor::uop).collect();
            Ok::<_, E>(Next { carried: nodes(&next), condition: None, rows: nodes(&rows) })
        })?;
        let stacked = found.split_off(carried.len());
        Ok((over(found), over(stacked)))
    }
}

/// A condition: the one element of a value.
fn flag(op: &'static str, condition: &Tensor) -> Result<UOp> {
    if condition.numel() != Size::ONE {
        let given = show_operands(&[condition.uop()]);
        return Err(TensorError::shape(op, format!("a condition has one element, and this one is {given}")));
    }
    Ok(condition.ne(0)?.reshape::<i64>(&[])?.uop())
}

/// Where a step is whose operands are these: with the first that is on a device.
fn device_of_step(operands: &[&[UOp]]) -> Option<Device> {
    operands.iter().flat_map(|all| all.iter()).find_map(|value| value.device().cloned())
}

/// These values, those that are on no device on this one.
fn all_on(device: Option<&Device>, values: &[UOp]) -> Result<Vec<UOp>> {
    let one = |value: &UOp| match device {
        Some(device) if value.place().is_none() => Ok(value.copy_to(device)?),
        _ => Ok(value.clone()),
    };
    values.iter().map(one).collect()
}

/// Refuses what no step takes.
fn check_operands(op: &'static str, values: &[UOp]) -> Result<()> {
    if let Some(value) = values.iter().find(|value| value.dtype().is_complex() || value.sharding().is_some()) {
        let given = show_operands(std::slice::from_ref(value));
        let what = if value.dtype().is_complex() { "of complex numbers" } else { "spread over devices" };
        return Err(TensorError::unsupported(op, format!("{given}, which is {what}")));
    }
    Ok(())
}

/// The results of a region, with what else is to be looked at.
struct Made {
    results: Vec<UOp>,
    flags: Vec<UOp>,
    failed: Arc<FlagError>,
}

impl Made {
    fn of(op: &'static str, results: Vec<UOp>) -> Result<Made> {
        check_operands(op, &results)?;
        let (lookups, flags) = Lookups::of_body(&Graph::new(&results))?;
        let failed = move |flag: usize| -> Arc<dyn std::error::Error + Send + Sync> {
            let one = |at| Ok(vec![u8::from(at == flag)]);
            Arc::new(
                lookups.check_flags(&[], one).err().unwrap_or(TensorError::value(op, "an index that is out of range")),
            )
        };
        Ok(Made { results, flags, failed: Arc::new(failed) })
    }
}

/// Regions over parameters, and the values from outside that they read.
fn regions(
    made: Vec<Made>,
    params: Vec<Leaf>,
    device: Option<&Device>,
    trace: &Trace,
    inside: &dyn Fn(&Graph, &[Leaf]) -> Vec<bool>,
) -> Result<(Vec<Region>, Vec<UOp>)> {
    let all: Vec<UOp> = made.iter().flat_map(|one| one.results.iter().chain(&one.flags)).cloned().collect();
    let at = vec![device.map(|device| Place::One(device.clone())); all.len()];
    let mut outside = |node: &UOp, slot: u32| parameter(node, slot, trace);
    let Captured { params, results, outside } = UOp::captured(params, &all, &at, inside, &mut outside)?;
    let mut results = results.into_iter();
    let one = |made: &Made| Region {
        params: params.clone(),
        results: results.by_ref().take(made.results.len()).collect(),
        flags: results.by_ref().take(made.flags.len()).collect(),
        failed: made.failed.clone(),
    };
    let regions = made.iter().map(one).collect();
    Ok((regions, outside))
}

/// The results of a step.
fn step(name: &'static str, control: Result<Arc<Control>, BindMismatch>, operands: &[UOp]) -> Result<Vec<UOp>> {
    let control = control?;
    let lead = control.leading();
    let device = device_of_step(&[&operands[lead..]]);
    let mut operands = all_on(device.as_ref(), operands)?;
    // A condition that was computed elsewhere.
    if let (Some(device), true) = (&device, lead > 0)
        && operands[0].device() != Some(device)
    {
        operands[0] = operands[0].copy_to(device)?;
    }
    UOp::host(control, &operands).map_err(TensorError::of_step(name, operands.len()))
}

/// What one of two functions of these values gives, by a condition of one element.
pub(crate) fn branch<E: From<TensorError>>(
    name: &'static str,
    condition: &UOp,
    operands: &[UOp],
    taken: impl FnOnce(Vec<UOp>) -> Result<Vec<UOp>, E>,
    other: impl FnOnce(Vec<UOp>) -> Result<Vec<UOp>, E>,
) -> Result<Vec<UOp>, E> {
    check_operands(name, operands)?;
    let device = device_of_step(&[operands, std::slice::from_ref(condition)]);
    let operands = all_on(device.as_ref(), operands)?;
    let trace = Trace::of_branch();
    trace.slots_for(operands.len(), format!("an operand of `{name}`"));
    let (params, leaves) = placeholders(&operands, &trace)?;
    // Nodes that are made from here on have greater numbers.
    let mark = Tensor::placeholder(&svod_device::DeviceSpec::CPU, &[] as &[i64], svod_dtype::DType::Bool, 0, &trace)?;
    let mark = mark.uop().id();
    let taken = trace.run(|| taken(leaves.clone()))?;
    let other = trace.run(|| other(leaves))?;
    if taken.len() != other.len() {
        let message = format!("one branch gives {} values, the other {}", taken.len(), other.len());
        return Err(TensorError::value(name, message).into());
    }
    for (i, (a, b)) in taken.iter().zip(&other).enumerate() {
        let given = || {
            let (a, b) = (show_typed(a.dtype(), a.shape()), show_typed(b.dtype(), b.shape()));
            format!("result {i} is {a} if the condition holds, and {b} if not")
        };
        if a.shape() != b.shape() {
            return Err(TensorError::shape(name, given()).into());
        }
        if a.dtype() != b.dtype() {
            return Err(TensorError::dtype(name, given()).into());
        }
    }
    // What was there before is computed outside: others may want it too.
    let inside = |graph: &Graph, params: &[Leaf]| {
        let mut inside: Vec<bool> = Vec::with_capacity(graph.len());
        for (node, sources) in graph.iter() {
            let leaf = node.op().leaf();
            let new = leaf.is_none() && node.id() > mark || leaf.is_some_and(|leaf| params.contains(leaf));
            inside.push(new || sources.iter().any(|s| inside[*s as usize]));
        }
        inside
    };
    let made = vec![Made::of(name, taken)?, Made::of(name, other)?];
    let (mut regions, outside) = regions(made, params, device.as_ref(), &trace, &inside)?;
    let operands = [std::slice::from_ref(condition), &operands, &outside].concat();
    let (other, taken) = (regions.pop(), regions.pop());
    let (Some(taken), Some(other)) = (taken, other) else { return Ok(Vec::new()) };
    Ok(step(name, Control::branch(name, taken, other), &operands)?)
}

/// What stands for values in a function that is traced: parameters, and their nodes.
fn placeholders(values: &[UOp], trace: &Trace) -> Result<(Vec<Leaf>, Vec<UOp>)> {
    let mut params = Vec::with_capacity(values.len());
    for (slot, value) in (0u32..).zip(values) {
        params.push(parameter(value, slot, trace)?);
    }
    let leaves = params.iter().map(|param| Ok(UOp::leaf(param.clone())?)).collect::<Result<Vec<_>>>()?;
    Ok((params, leaves))
}

/// What a loop carries at its end, then what it stacks.
pub(crate) fn looped<E: From<TensorError>>(
    of: &Looped<'_>,
    body: impl FnOnce(Size, Vec<UOp>, Vec<UOp>) -> Result<Next, E>,
) -> Result<Vec<UOp>, E> {
    let name = of.name;
    check_operands(name, of.carried)?;
    check_operands(name, of.sliced)?;
    let device = device_of_step(&[of.carried, of.sliced]);
    let (carried, sliced) = (all_on(device.as_ref(), of.carried)?, all_on(device.as_ref(), of.sliced)?);
    let mut values = carried.clone();
    for (i, rows) in sliced.iter().enumerate() {
        if rows.shape().first() != of.trips.as_ref() {
            let given = show_operands(std::slice::from_ref(rows));
            let trips = of.trips.clone().unwrap_or(Size::ZERO);
            let message = format!("{given}, value {i} of `xs`, has not {trips} rows, one for each iteration");
            return Err(TensorError::shape(name, message).into());
        }
        values.push(like_a_row(rows)?);
    }
    let trace = Trace::of_body();
    for (i, _) in carried.iter().enumerate() {
        trace.slots_for(1, name_of(of, i));
    }
    trace.slots_for(sliced.len(), "a row of `xs`");
    let most = of.trips.as_ref().map_or(1, |trips| trips.upper_bound().unwrap_or(i64::MAX)).max(1);
    let var = Variable::internal(&format!("loop.{}", of.depth), 0, most - 1).map_err(TensorError::from)?;
    let (params, mut leaves) = placeholders(&values, &trace)?;
    let rows = leaves.split_off(carried.len());
    let states = leaves.clone();
    let number = if of.numbered { Size::from(&var) } else { Size::ZERO };
    let mut next = trace.run(|| body(number, leaves, rows))?;
    check_carried(of, &carried, &next.carried)?;
    let inside = |graph: &Graph, params: &[Leaf]| varying(graph, Some(&var), params);
    // What a derivative goes back through begins with what each iteration began with.
    let own = next.rows.len();
    let is_watched = |values: &[UOp]| values.iter().any(UOp::is_watched);
    let keeps = of.keeps
        && of.trips.is_some()
        && (is_watched(&carried) || is_watched(&sliced) || is_watched(&next.carried) || is_watched(&next.rows));
    if keeps {
        next.rows.extend(states);
    }
    let results = next.carried.into_iter().chain(next.condition).chain(next.rows).collect();
    let (regions, outside) = regions(vec![Made::of(name, results)?], params, device.as_ref(), &trace, &inside)?;
    let kind = Kind::Loop {
        trips: of.trips.clone().map_or(Trips::While, Trips::Count),
        number: of.numbered.then_some(var),
        carried: carried.len(),
        sliced: sliced.len(),
        backwards: of.backwards,
    };
    let begins: Vec<UOp> = of.begins.into_iter().cloned().collect();
    let operands = [&begins[..], &carried, &sliced, &outside].concat();
    let mut found = step(name, Control::new(name, kind, regions), &operands)?;
    found.truncate(carried.len() + own);
    Ok(found)
}

/// A value of the type, shape and place of what is stacked.
fn like_a_row(rows: &UOp) -> Result<UOp> {
    let shape = rows.shape()[1..].to_vec();
    there(UOp::full(svod_dtype::Const::zero(rows.dtype()), &shape.into())?, rows)
}

/// What a program calls a carried value.
fn name_of(of: &Looped<'_>, at: usize) -> String {
    match of.names.get(at) {
        Some(name) => format!("`{name}`"),
        None => format!("carried value {at}"),
    }
}

/// Checks that what takes the place of carried values is like them.
fn check_carried(of: &Looped<'_>, carried: &[UOp], next: &[UOp]) -> Result<()> {
    if carried.len() != next.len() {
        let message = format!("{} values are carried, but the body gives {}", carried.len(), next.len());
        return Err(TensorError::value(of.name, message));
    }
    for (i, (was, is)) in carried.iter().zip(next).enumerate() {
        let message = || {
            let (was, is) = (show_typed(was.dtype(), was.shape()), show_typed(is.dtype(), is.shape()));
            format!("{} is {was} and becomes {is}", name_of(of, i))
        };
        if was.shape() != is.shape() {
            return Err(TensorError::shape(of.name, message()));
        }
        if was.dtype() != is.dtype() {
            return Err(TensorError::dtype(of.name, message()));
        }
    }
    Ok(())
}
