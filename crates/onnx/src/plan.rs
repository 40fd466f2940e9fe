//! What is compiled of a model: plans for types and sizes of inputs.
//!
//! A graph is traced with placeholders for its inputs. Where the model names extents, they are variables, and a plan serves
//! all sizes up to a power of two; if that cannot be, it serves the sizes of a call. Where a rule asks for the elements of an
//! input, such as a shape that is given, the graph is traced again with that input as a constant, and the plan
//! serves calls with the same elements. If that is too much, or does not help, the graph is run step by step.

use std::sync::Arc;

use parking_lot::Mutex;
use svod_device::{DeviceError, DeviceSpec};
use svod_dtype::DType;
use svod_ir::graph::Graph;
use svod_tensor::{
    Content, Draws, Facts, Feed, Plan, PrepareConfig, Size, SizeValues, Tensor, TensorError, Trace, UOp, Variable,
};

use crate::error::{Fault, OnnxError, Result};
use crate::interpret;
use crate::model::{Extent, Model, Port};
use crate::value::Value;

/// The plans of a model, the one used last in front.
#[derive(Default)]
pub(crate) struct Plans(Mutex<Vec<Arc<Prepared>>>);

/// The most plans that a model keeps.
pub(crate) const MOST_PLANS: usize = 32;

/// The most bytes of an input that is made a constant because its elements decide on the graph.
const MOST_FIXED: usize = 4096;

/// Up to which size a plan serves an extent that the model names, where none is given.
pub const OPEN: usize = 64;

/// The most times that a graph is traced for one call: it is traced again for what a trace was told of sizes.
const MOST_TRACES: usize = 16;

/// Element type and extents, numbers or sizes.
type Kind<N> = (DType, Vec<N>);

/// A value of a call, told apart by what decides on a graph.
struct Given {
    value: Value,
    /// Type and extents of a tensor.
    kind: Option<Kind<usize>>,
}

/// What is compiled for a kind of calls.
pub(crate) struct Prepared {
    /// Type and extents of each input, by number or by variable.
    kinds: Vec<Kind<Size>>,
    /// The elements of inputs that are constants.
    fixed: Vec<Option<Vec<u8>>>,
    /// What was taken for granted of variables.
    facts: Facts,
    draws: Draws,
    /// None of a graph that depends on nothing.
    plan: Option<Plan>,
    /// What the plan computes, as the graph has it.
    roots: Vec<UOp>,
    results: Vec<Found>,
}

/// A graph with placeholders for those inputs that are not constants.
struct Traced {
    placeholders: Vec<Tensor>,
    /// Type and extents of each input, by number or by variable.
    kinds: Vec<Kind<Size>>,
    results: Vec<Value>,
}

/// Where a result is.
enum Found {
    /// Known already.
    Constant(Value),
    /// An output of the plan.
    Output(usize),
    /// A list of them.
    List(Vec<Found>),
}

impl Plans {
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// The results of a call.
    pub fn run(&self, model: &Model, values: Vec<Value>) -> Result<Vec<Value>> {
        let given: Vec<Given> = values.into_iter().map(Given::new).collect::<Result<_>>()?;
        let Some(kinds) = given.iter().map(|g| g.kind.clone()).collect::<Option<Vec<_>>>() else {
            return stepwise(model, &given);
        };
        let known = self.0.lock().clone();
        for prepared in known {
            if prepared.serves(&kinds, &given)? {
                return prepared.run(&given);
            }
        }
        match Prepared::new(model, &kinds, |at| given[at].bytes()) {
            Ok(prepared) => {
                let prepared = Arc::new(prepared);
                let mut plans = self.0.lock();
                plans.insert(0, prepared.clone());
                plans.truncate(MOST_PLANS);
                drop(plans);
                prepared.run(&given)
            }
            Err(error) if asks_for_elements(&error) => stepwise(model, &given),
            Err(error) => Err(error),
        }
    }
}

/// Whether a graph could not be traced because a rule asks for elements.
fn asks_for_elements(error: &OnnxError) -> bool {
    matches!(error.of_tensor(), Some(TensorError::Traced { .. }))
}

/// The results with all inputs known: what a rule asks for is computed there and then.
fn stepwise(model: &Model, given: &[Given]) -> Result<Vec<Value>> {
    let results = interpret::run(model.graph(), given.iter().map(|g| g.value.clone()).collect())?;
    let mut tensors = Vec::new();
    results.iter().for_each(|value| collect(value, &mut tensors));
    let roots: Vec<UOp> = tensors.iter().map(Tensor::uop).collect();
    let computed = Tensor::realize_batch(&tensors.iter().collect::<Vec<_>>());
    computed.map_err(|error| at_largest(error.into(), &roots))?;
    Ok(results)
}

/// An error of memory that cannot be had, with the node whose result is the largest that is part of it: memory is had for
/// a whole plan, whose kernels have no nodes.
fn at_largest(error: OnnxError, roots: &[UOp]) -> OnnxError {
    let OnnxError::Tensor(source) = error else { return error };
    let (TensorError::Runtime(svod_runtime::Error::OutOfMemory { bytes, .. })
    | TensorError::Device(DeviceError::OutOfMemory { bytes, .. })) = &*source
    else {
        return OnnxError::Tensor(source);
    };
    let graph = Graph::new(roots);
    let size = |node: &UOp| {
        let extents = node.shape().iter().map(|n| n.upper_bound().unwrap_or(i64::MAX));
        usize::try_from(extents.fold(node.dtype().bytes() as i64, i64::saturating_mul)).ok()
    };
    let fitting = graph.nodes().iter().filter_map(|node| Some((size(node).filter(|own| own <= bytes)?, node)));
    let largest = fitting.filter(|(_, node)| node.origin().is_some()).rev().max_by_key(|(own, _)| *own);
    match largest.and_then(|(_, node)| Some((node.origin()?.to_string(), node))) {
        Some((origin, node)) => OnnxError::Node {
            node: format!(
                "{}, which gives {}",
                origin.trim_start_matches("node "),
                Tensor::from_uop(node.clone()).described()
            ),
            source: Box::new(Fault::Tensor(*source)),
        },
        None => OnnxError::Tensor(source),
    }
}

fn collect(value: &Value, tensors: &mut Vec<Tensor>) {
    match value {
        Value::Tensor(tensor) => tensors.push(tensor.clone()),
        Value::Sequence(all) => all.iter().for_each(|value| collect(value, tensors)),
        Value::Constant(_) | Value::Sizes(_) | Value::Nothing => {}
    }
}

impl Given {
    fn new(value: Value) -> Result<Given> {
        let kind = match &value {
            Value::Sequence(_) | Value::Nothing => None,
            tensor => {
                let failed = |e: crate::error::Fault| OnnxError::Argument(e.to_string());
                let tensor = tensor.tensor().map_err(failed)?;
                let kind = (tensor.dtype(), tensor.extents()?);
                // The value of this moment, under a handle that the caller has not.
                return Ok(Given { value: Value::Tensor(Tensor::from_uop(tensor.uop())), kind: Some(kind) });
            }
        };
        Ok(Given { value, kind })
    }

    fn tensor(&self) -> Result<Tensor> {
        self.value.tensor().map_err(|e| OnnxError::Argument(e.to_string()))
    }

    /// The elements, unless they are many.
    fn bytes(&self) -> Result<Option<Vec<u8>>> {
        let Some((dtype, extents)) = &self.kind else { return Ok(None) };
        let count = extents.iter().product::<usize>();
        if count.saturating_mul(dtype.bytes()) > MOST_FIXED { Ok(None) } else { Ok(Some(self.tensor()?.to_bytes()?)) }
    }
}

impl Prepared {
    /// For inputs of these types and extents, of which no elements are known. An extent of which no number is given has to be one
    /// that the model names.
    pub fn for_extents(model: &Model, kinds: &[Kind<Option<usize>>]) -> Result<Prepared> {
        if kinds.len() != model.inputs().len() {
            let message = format!("{} inputs are given, of {}", kinds.len(), model.inputs().len());
            return Err(OnnxError::Argument(message));
        }
        // Name, input, dimension, and the number that stands for it in a trace.
        let mut open: Vec<(&str, usize, usize, usize)> = Vec::new();
        let mut known = Vec::with_capacity(kinds.len());
        for (at, (port, (dtype, extents))) in model.inputs().iter().zip(kinds).enumerate() {
            let mut numbers = Vec::with_capacity(extents.len());
            for (dim, extent) in extents.iter().enumerate() {
                let own = port.shape.as_ref().and_then(|shape| shape.get(dim));
                numbers.push(match (extent, own) {
                    (Some(extent), _) => *extent,
                    (None, Some(Extent::Named(name))) => {
                        // Sizes of several names differ, so that no trace takes them for equal.
                        let least = open.iter().map(|(.., number)| *number).min().unwrap_or(OPEN + 1);
                        let same = open.iter().find(|(other, ..)| other == name);
                        let number = same.map_or((least - 1).max(OPEN / 2 + 1), |(.., number)| *number);
                        open.push((name, at, dim, number));
                        number
                    }
                    (None, _) => {
                        let message = format!("how large dimension {dim} of input '{}' is, is not given", port.name);
                        return Err(OnnxError::Argument(message));
                    }
                });
            }
            known.push((*dtype, numbers));
        }
        let prepared = Prepared::new(model, &known, |_| Ok(None))?;
        let is_fixed =
            |(_, at, dim, _): &&(&str, usize, usize, usize)| prepared.kinds[*at].1[*dim].as_const().is_some();
        match open.iter().find(is_fixed) {
            None => Ok(prepared),
            Some((name, at, ..)) => Err(OnnxError::Argument(format!(
                "how large '{name}' of input '{}' is, is not given, and no plan is for all sizes",
                model.inputs()[*at].name
            ))),
        }
    }

    /// The plan, of one that depends on its inputs' types and extents alone.
    pub fn into_plan(self) -> Result<Plan> {
        match self.plan {
            Some(plan) if self.draws.is_empty() => Ok(plan),
            Some(_) => Err(OnnxError::Argument("a plan of random numbers is run by the model's calls only".into())),
            None => Err(OnnxError::Argument("the model computes nothing of its inputs".into())),
        }
    }

    fn new(model: &Model, kinds: &[Kind<usize>], bytes: impl Fn(usize) -> Result<Option<Vec<u8>>>) -> Result<Prepared> {
        let mut fixed: Vec<Option<Vec<u8>>> = vec![None; kinds.len()];
        let mut symbols = Symbols::of(model, kinds);
        let mut facts = Facts::default();
        for _ in 0..MOST_TRACES.max(kinds.len() + 2) {
            let trace = Trace::of_function(symbols.values(), facts.clone(), Vec::new());
            let traced = Prepared::traced(model, kinds, &fixed, &symbols, &trace);
            let error = match traced.and_then(|traced| Prepared::of(traced, &fixed, &trace)) {
                Ok(prepared) => return Ok(prepared),
                Err(error) => error,
            };
            if let Some(TensorError::Traced { from, .. }) = error.of_tensor() {
                let names = from.clone();
                let mut more = false;
                for (at, port) in model.inputs().iter().enumerate() {
                    if fixed[at].is_none() && names.contains(&port.name) {
                        fixed[at] = bytes(at)?;
                        more |= fixed[at].is_some();
                    }
                }
                match more {
                    true => continue,
                    false => return Err(error),
                }
            }
            let told = trace.told();
            if symbols.is_empty() {
                return Err(error);
            }
            if told.decisions().is_empty() || told.agree(&facts) {
                symbols = Symbols::default();
                facts = Facts::default();
            } else {
                facts = told;
            }
        }
        Err(OnnxError::Argument("what is known of the inputs' sizes does not suffice".into()))
    }

    fn traced(
        model: &Model,
        kinds: &[Kind<usize>],
        fixed: &[Option<Vec<u8>>],
        symbols: &Symbols,
        trace: &Trace,
    ) -> Result<Traced> {
        let (mut placeholders, mut values, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
        for (at, port) in model.inputs().iter().enumerate() {
            let (dtype, extents) = &kinds[at];
            if let Some(bytes) = &fixed[at] {
                values.push(Value::constant(bytes, *dtype, extents)?);
                shapes.push((*dtype, extents.iter().map(|n| Size::from(*n)).collect()));
                continue;
            }
            let own: Vec<Size> = symbols.shape(at, extents).iter().map(|n| trace.facts().apply(n)).collect();
            let slot = trace.slots_for(1, port.name.clone());
            let placeholder = Tensor::placeholder(&DeviceSpec::CPU, &own, *dtype, slot, trace)?;
            values.push(Value::Tensor(placeholder.clone()));
            placeholders.push(placeholder);
            shapes.push((*dtype, own));
        }
        let results = trace.run(|| interpret::run(model.graph(), values))?;
        if fixed.iter().all(Option::is_none) {
            model.check_results(&results)?;
        }
        Ok(Traced { placeholders, kinds: shapes, results })
    }

    /// An error of a model that computes nothing of inputs as it declares them, or no results as it declares these: as far as
    /// all extents of its inputs are numbers, and their elements do not matter.
    pub fn check(model: &Model) -> Result<()> {
        let number = |extent: &Extent| if let Extent::Known(n) = extent { Some(*n) } else { None };
        let kind = |port: &Port| Some((port.dtype?, port.shape.as_ref()?.iter().map(number).collect::<Option<_>>()?));
        let Some(kinds) = model.inputs().iter().map(kind).collect::<Option<Vec<_>>>() else { return Ok(()) };
        let symbols = Symbols::default();
        let trace = Trace::of_function(symbols.values(), Facts::default(), Vec::new());
        match Prepared::traced(model, &kinds, &vec![None; kinds.len()], &symbols, &trace) {
            Err(error) if !asks_for_elements(&error) => Err(error),
            _ => Ok(()),
        }
    }

    fn of(traced: Traced, fixed: &[Option<Vec<u8>>], trace: &Trace) -> Result<Prepared> {
        let Traced { placeholders, kinds, results } = traced;
        let (draws, states) = trace.draws();
        let mut outputs = Vec::new();
        let results = results.iter().map(|value| found(value, &mut outputs)).collect::<Result<Vec<_>>>()?;
        let roots: Vec<UOp> = outputs.iter().map(Tensor::uop).collect();
        let plan = match outputs.is_empty() {
            true => None,
            false => {
                let states: Vec<Tensor> = states.into_iter().map(Tensor::from_uop).collect();
                let inputs: Vec<&Tensor> = placeholders.iter().chain(&states).collect();
                let outputs: Vec<&Tensor> = outputs.iter().collect();
                let plan = Tensor::prepare_batch_with_unused(&outputs, &inputs, &PrepareConfig::current());
                Some(plan.map_err(|error| at_largest(error.into(), &roots))?)
            }
        };
        Ok(Prepared { kinds, fixed: fixed.to_vec(), facts: trace.told(), draws, plan, roots, results })
    }

    /// Whether it computes a call with these inputs.
    fn serves(&self, kinds: &[Kind<usize>], given: &[Given]) -> Result<bool> {
        let fits = |(own, given): (&Kind<Size>, &Kind<usize>)| {
            let ((own, shape), (dtype, extents)) = (own, given);
            let fit = |(own, n): (&Size, &usize)| own.as_const().is_none_or(|own| own == *n as i64);
            own == dtype && shape.len() == extents.len() && shape.iter().zip(extents).all(fit)
        };
        if !self.kinds.iter().zip(kinds).all(fits) {
            return Ok(false);
        }
        let mut values = SizeValues::default();
        let pairs = || self.kinds.iter().zip(kinds).flat_map(|((_, own), (_, n))| own.iter().zip(n));
        values.solve(pairs().map(|(own, n)| (own, *n as i64)));
        let is_so = |(own, n): (&Size, &usize)| {
            values.check(own).is_ok() && values.apply(own).as_const().is_none_or(|own| own == *n as i64)
        };
        if !pairs().all(is_so) || !self.facts.hold(&values) {
            return Ok(false);
        }
        for (own, given) in self.fixed.iter().zip(given) {
            if own.is_some() && *own != given.bytes()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn run(&self, given: &[Given]) -> Result<Vec<Value>> {
        let outputs = match &self.plan {
            None => Vec::new(),
            Some(plan) => {
                let open = self.fixed.iter().zip(given).filter(|(fixed, _)| fixed.is_none());
                let mut inputs = open.map(|(_, given)| given.tensor()).collect::<Result<Vec<_>>>()?;
                let (states, drawn) = self.draws.take()?;
                inputs.extend(states);
                let contents: Vec<Content> = inputs.iter().map(Content::Tensor).collect();
                let call = |feeds: &[Feed], variables: &[(&str, i64)]| plan.call_feeds(feeds, variables);
                let done = plan.feeding("execute", 0, &contents, &[], call);
                done.map_err(|error| {
                    drawn.undo();
                    at_largest(error.into(), &self.roots)
                })?
            }
        };
        Ok(self.results.iter().map(|found| found.value(&outputs)).collect())
    }
}

/// Where a result is, which may be one more output of the plan.
fn found(value: &Value, outputs: &mut Vec<Tensor>) -> Result<Found> {
    Ok(match value {
        Value::Nothing => Found::Constant(Value::Nothing),
        Value::Sequence(all) => Found::List(all.iter().map(|value| found(value, outputs)).collect::<Result<_>>()?),
        tensor => {
            let tensor = tensor.tensor().map_err(|e| OnnxError::Argument(e.to_string()))?;
            let has_variables = tensor.shape().iter().any(|n| n.as_const().is_none());
            let is_open = tensor.traced_from().is_some() || has_variables || depends_on_sizes(value);
            match is_open {
                false => {
                    tensor.realize().map_err(|error| at_largest(error.into(), &[tensor.uop()]))?;
                    // A handle of its own for each call, whose results may be assigned to.
                    Found::Constant(Value::Constant(tensor.uop()))
                }
                true => {
                    outputs.push(tensor);
                    Found::Output(outputs.len() - 1)
                }
            }
        }
    })
}

/// Whether integers are known up to variables only.
fn depends_on_sizes(value: &Value) -> bool {
    matches!(value, Value::Sizes(sizes) if sizes.numbers().is_none())
}

impl Found {
    fn value(&self, outputs: &[Tensor]) -> Value {
        match self {
            Found::Constant(value) => value.clone(),
            Found::Output(at) => Value::Tensor(outputs[*at].clone()),
            Found::List(all) => Value::Sequence(all.iter().map(|found| found.value(outputs)).collect()),
        }
    }
}

/// Variables for the extents that a model names, with their values in a call.
#[derive(Default)]
struct Symbols {
    /// Input, dimension, variable and value.
    places: Vec<(usize, usize, Variable, i64)>,
}

impl Symbols {
    fn of(model: &Model, kinds: &[Kind<usize>]) -> Symbols {
        let mut found: Vec<(String, Variable, i64)> = Vec::new();
        let mut places = Vec::new();
        for (input, (port, (_, extents))) in model.inputs().iter().zip(kinds).enumerate() {
            for (dim, extent) in port.shape.iter().flatten().enumerate() {
                let (Extent::Named(name), Some(value)) = (extent, extents.get(dim)) else { continue };
                let known = found.iter().find(|(n, ..)| n == name).cloned();
                let Some((_, variable, first)) = known.or_else(|| {
                    let most = value.checked_next_power_of_two().filter(|n| *n > 0)? as i64;
                    let is_free = |made: &Variable| !found.iter().any(|(_, other, _)| other.name() == made.name());
                    let made = names(name).find_map(|name| Variable::new(&name, 1, most).ok().filter(is_free))?;
                    found.push((name.clone(), made, *value as i64));
                    found.last().cloned()
                }) else {
                    return Symbols::default();
                };
                // Names that mean several numbers are no names of numbers.
                if first != *value as i64 || *value == 0 {
                    return Symbols::default();
                }
                places.push((input, dim, variable, first));
            }
        }
        Symbols { places }
    }

    fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn values(&self) -> SizeValues {
        SizeValues::new(self.places.iter().map(|(_, _, variable, value)| (variable.name().to_owned(), *value)))
    }

    /// The extents of an input.
    fn shape(&self, input: usize, extents: &[usize]) -> Vec<Size> {
        let mut shape: Vec<Size> = extents.iter().map(|n| Size::from(*n)).collect();
        for (_, dim, variable, _) in self.places.iter().filter(|(at, ..)| *at == input) {
            shape[*dim] = Size::from(variable);
        }
        shape
    }
}

/// What a variable may be called: as the model names it, of letters, digits and underscores only, or else almost so.
fn names(name: &str) -> impl Iterator<Item = String> {
    let own: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let others = (1..=MOST_PLANS).map({
        let own = own.clone();
        move |at| format!("n{at}_{own}")
    });
    std::iter::once(own).chain(others)
}
