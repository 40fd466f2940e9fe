//! Plans: computing the same expression many times.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use svod_device::Buffer;
use svod_dtype::DType;
use svod_ir::graph::{Graph, Leaf, LeafClass, Op, UOp};
use svod_ir::size::{Size, Variable};
use svod_runtime::{Context, Donated, Donation, ExecutionPlan, Feed, PrepareConfig, Profile, ReadOutput};

use crate::constants;
use crate::devices::{joined, spread};
use crate::donate::Taken;
use crate::error::{Result, TensorError, show_operands, show_typed};
use crate::feeds::{Content, Input};
use crate::first_nan::{Computed, Failed};
use crate::lookups::Lookups;
use crate::memory::as_computed;
use crate::output;
use crate::realize::{check_leaves, seen, viewed, without_kernel};
use crate::sources;
use crate::step;
use crate::tensor::Tensor;
use crate::trace::SizeValues;

impl Tensor {
    /// Prepares the computation of this value: schedules, compiles and allocates, but does not run.
    /// The tensor then stands for the plan's output, which each [`Plan::execute`] writes; others
    /// that share the expression stay as they are. Where the plan is dropped before a run has succeeded, it stands for the
    /// expression again, unless that calls functions of the host. `inputs` are tensors in memory that runs may be
    /// given anew; all other memory is constant.
    ///
    /// ```
    /// # use svod_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
    /// let y = x.mul(&x)?;
    /// let plan = y.prepare(&[&x])?;
    /// plan.execute()?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 4.0]);
    /// plan.execute_on(&[&Tensor::from_slice(&[3.0f32, 4.0], &[2])?], &[])?;
    /// assert_eq!(y.to_vec::<f32>()?, [9.0, 16.0]);
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    pub fn prepare(&self, inputs: &[&Tensor]) -> Result<Plan> {
        self.prepare_with(inputs, &PrepareConfig::current())
    }

    /// [`Tensor::prepare`] by this configuration.
    pub fn prepare_with(&self, inputs: &[&Tensor], config: &PrepareConfig) -> Result<Plan> {
        prepare(&[self], inputs, false, &[], config)
    }

    /// [`Tensor::prepare_with`], where there may be inputs that nothing depends on.
    pub fn prepare_with_unused(&self, inputs: &[&Tensor], config: &PrepareConfig) -> Result<Plan> {
        prepare(&[self], inputs, true, &[], config)
    }

    /// Prepares several values as one plan, shared work once.
    ///
    /// # Errors
    /// Also where nothing is pending: all values are in memory, and none is that of an input; and where no output depends
    /// on an input.
    pub fn prepare_batch(tensors: &[&Tensor], inputs: &[&Tensor]) -> Result<Plan> {
        Tensor::prepare_batch_with(tensors, inputs, &PrepareConfig::current())
    }

    /// [`Tensor::prepare_batch`] by this configuration.
    pub fn prepare_batch_with(tensors: &[&Tensor], inputs: &[&Tensor], config: &PrepareConfig) -> Result<Plan> {
        check_pending(tensors, inputs)?;
        prepare(tensors, inputs, false, &[], config)
    }

    /// [`Tensor::prepare_batch_with`], where there may be inputs that no output depends on.
    pub fn prepare_batch_with_unused(tensors: &[&Tensor], inputs: &[&Tensor], config: &PrepareConfig) -> Result<Plan> {
        check_pending(tensors, inputs)?;
        prepare(tensors, inputs, true, &[], config)
    }

    /// [`Tensor::prepare_batch_with_unused`] of a plan whose calls may write results over inputs, given as the positions of
    /// the input and of the result ([`Plan::call_feeds_writing`]).
    pub fn prepare_batch_writing(
        tensors: &[&Tensor],
        inputs: &[&Tensor],
        written: &[(usize, usize)],
        config: &PrepareConfig,
    ) -> Result<Plan> {
        check_pending(tensors, inputs)?;
        let plan = prepare(tensors, inputs, true, written, config)?;
        // The tensors are those of a trace, which nobody reads.
        plan.plan.stands_for(Vec::new());
        Ok(plan)
    }
}

fn check_pending(tensors: &[&Tensor], inputs: &[&Tensor]) -> Result<()> {
    let leaves = |t: &Tensor| Ok::<_, TensorError>(t.uop().parts()?.iter().filter_map(viewed).collect::<Vec<_>>());
    let given: Vec<Leaf> = inputs.iter().map(|t| leaves(t)).collect::<Result<Vec<_>>>()?.concat();
    let pending =
        |t: &&Tensor| -> Result<bool> { Ok(!t.is_realized() || leaves(t)?.iter().any(|leaf| given.contains(leaf))) };
    match tensors.iter().map(pending).collect::<Result<Vec<bool>>>()?.contains(&true) {
        true => Ok(()),
        false => Err(TensorError::NothingPending),
    }
}

/// A prepared computation. See [`ExecutionPlan`] for what it is made of.
#[derive(Debug)]
pub struct Plan {
    plan: ExecutionPlan,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    lookups: Lookups,
    /// Where among the plan's outputs those of `lookups` are.
    flags: Vec<usize>,
    /// What it computes, where runs look for NaN.
    computed: Option<Arc<Computed>>,
}

/// What a tensor that was prepared stands for.
#[derive(Clone, Debug)]
struct Output {
    /// The node of handles that follow it.
    node: UOp,
    /// Where among the plan's outputs its parts are.
    parts: Range<usize>,
}

/// What an input is given: its type and extents.
#[derive(Clone, Debug)]
pub struct Given<'a> {
    /// Position of the input.
    pub input: usize,
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub extents: &'a [usize],
}

/// That an input of this type and shape was given another one.
pub fn misfit(input: usize, (dtype, shape): (DType, &[Size]), (given, extents): (DType, &[usize])) -> String {
    let extents: Vec<Size> = extents.iter().map(|n| Size::from(*n)).collect();
    format!("input {input} is {}, but {} was given", show_typed(dtype, shape), show_typed(given, &extents))
}

/// Names and values, borrowed.
pub fn named(variables: &[(String, i64)]) -> Vec<(&str, i64)> {
    variables.iter().map(|(name, value)| (name.as_str(), *value)).collect()
}

fn prepare(
    tensors: &[&Tensor],
    inputs: &[&Tensor],
    unused: bool,
    written: &[(usize, usize)],
    config: &PrepareConfig,
) -> Result<Plan> {
    // What follows another plan is its value of this moment.
    let inputs: Vec<Tensor> = inputs.iter().map(|t| t.now()).collect();
    let inputs: &[&Tensor] = &inputs.iter().collect::<Vec<_>>();
    let (mut given, mut leaves) = (Vec::with_capacity(inputs.len()), Vec::new());
    // Asked before they are realized.
    let uniform: Vec<bool> = inputs.iter().map(|t| t.uop().uniform().is_some()).collect();
    for (i, (tensor, node)) in inputs.iter().zip(read_inputs(tensors, inputs)?).enumerate() {
        let start = leaves.len();
        leaves.extend(input_leaves(i, &node)?);
        let (dtype, shape) = (tensor.dtype(), node.shape_arc().clone());
        given.push(Input { dtype, shape, sharding: tensor.sharding(), parts: start..leaves.len() });
    }
    let mut roots = Vec::with_capacity(tensors.len());
    for (i, tensor) in tensors.iter().enumerate() {
        if tensor.follows() && output::is_awaited(&tensor.uop()) {
            let message = format!(
                "output {i}, {}, is that of a plan which was prepared before and has not run: run or drop that plan, or build \
                 the expression anew",
                tensor.described()
            );
            return Err(TensorError::value("prepare", message));
        }
        output::await_run(&tensor.uop())?;
        let node = tensor.uop();
        // Complex numbers and their pairs are one memory, so that it is asked of what is seen, whatever it is seen as.
        let is_input = |part: UOp| part.op().leaf().is_some_and(|leaf| input_of_elements(leaf, &leaves).is_some());
        let of_input = node.parts()?.iter().filter_map(seen).any(is_input);
        let value = if of_input { None } else { without_kernel(&node)? };
        if let Some(value) = value.as_ref().filter(|value| **value != node) {
            tensor.rebind_from(&node, value.clone());
        }
        roots.push(value.unwrap_or(node));
    }
    let asked = roots.clone();
    let mut graph = Graph::new(&roots);
    if output::await_runs(&graph)? {
        graph = Graph::new(&roots);
    }
    if let Some(read) = over_inputs(&graph, &leaves)? {
        roots = read;
        graph = Graph::new(&roots);
    }
    if constants::compute(&graph, &leaves, config)? {
        graph = Graph::new(&roots);
    }
    check_leaves("prepare", &graph, &leaves)?;
    if !unused {
        check_read(&graph, tensors, &given, &leaves, &uniform)?;
    }
    let input_of = |leaf: usize| given.iter().position(|input: &Input| input.parts.contains(&leaf)).unwrap_or(leaf);
    sources::check_followed(&graph, &leaves, input_of)?;
    let (lookups, flags) = Lookups::of(&graph, &leaves)?;
    let (distinct, of_root) = distinct(&roots);
    let nodes: Vec<UOp> = distinct.iter().cloned().chain(flags).collect();
    let (all, mut places) = spread(&nodes)?;
    let one = |range: &Range<usize>| (range.len() == 1).then_some(range.start);
    let pair = |(input, output): &(usize, usize)| {
        let of = *of_root.get(*output)?;
        // What stands for several results is written over nothing.
        let is_sole = of_root.iter().filter(|other| **other == of).count() == 1;
        let (input, output) = (one(&given.get(*input)?.parts)?, one(places.get(of)?)?);
        is_sole.then_some(Donation { input, output })
    };
    let checks = places.get(distinct.len()).map(|first| first.start);
    let donated = Donated { pairs: written.iter().filter_map(pair).collect(), checks };
    let plan = Context::global().plan_writing(&all, &leaves, &donated, &config.clone().for_plan())?;
    let computed = Computed::new(&roots, &leaves, config).map(Arc::new);
    if plan.output_count() != all.len() {
        let (tensors, outputs) = (tensors.len(), plan.output_count().saturating_sub(lookups.flags()));
        return Err(svod_runtime::Error::BatchMismatch { tensors, outputs }.into());
    }
    // A function of the host may refer to the plan, which nobody could collect if it held the function that long.
    if !all.iter().any(UOp::calls) {
        plan.stands_for(all.clone());
    }
    let flags = places.drain(distinct.len()..).map(|place| place.start).collect();
    let places = of_root.iter().map(|of| places[*of].clone());
    let follower = |node: &UOp, parts: Range<usize>| -> Result<Output> {
        Ok(Output { node: output::handle(node, &plan.output_cells()[parts.clone()])?, parts })
    };
    let outputs = roots.iter().zip(places).map(|(r, p)| follower(r, p)).collect::<Result<Vec<_>>>()?;
    for (((tensor, asked), root), output) in tensors.iter().zip(&asked).zip(&roots).zip(&outputs) {
        if !root.is_memory() {
            output.node.inherit_origin(root);
            tensor.rebind_from(asked, output.node.clone());
        }
    }
    Ok(Plan { plan, inputs: given, outputs, lookups, flags, computed })
}

/// The nodes, those that are there several times once, and for each its position among these.
fn distinct(nodes: &[UOp]) -> (Vec<UOp>, Vec<usize>) {
    let (mut all, mut known) = (Vec::with_capacity(nodes.len()), HashMap::with_capacity(nodes.len()));
    let at = |node: &UOp| {
        *known.entry(node.id()).or_insert_with(|| {
            all.push(node.clone());
            all.len() - 1
        })
    };
    let at = nodes.iter().map(at).collect();
    (all, at)
}

/// The input whose elements a leaf has, be it as the value of a variable that derivatives are taken by.
fn input_of_elements<'a>(leaf: &Leaf, inputs: &'a [Leaf]) -> Option<&'a Leaf> {
    inputs.iter().find(|input| input.watched(0) == leaf.watched(0))
}

/// The roots of a graph with the inputs in place of the same elements as the values of variables, or as those of none: what
/// is built on `x` before or after it requires a gradient, and a derivative by `x`, follow it. None where nothing is to be
/// replaced.
fn over_inputs(graph: &Graph, inputs: &[Leaf]) -> Result<Option<Vec<UOp>>> {
    let own: HashSet<&Leaf> = inputs.iter().collect();
    let any_watched = inputs.iter().any(|input| input.watch() != 0);
    let input = |leaf: &Leaf| match !own.contains(leaf) && (any_watched || leaf.watch() != 0) {
        true => input_of_elements(leaf, inputs),
        false => None,
    };
    if !graph.nodes().iter().filter_map(|node| node.op().leaf()).any(|leaf| input(leaf).is_some()) {
        return Ok(None);
    }
    let nodes = output::with_leaves(graph, |_, leaf| Ok(input(leaf).cloned().map(UOp::leaf).transpose()?))?;
    Ok(Some(graph.roots().iter().map(|root| nodes[*root as usize].clone()).collect()))
}

/// Checks that some output depends on each input.
fn check_read(graph: &Graph, tensors: &[&Tensor], inputs: &[Input], leaves: &[Leaf], uniform: &[bool]) -> Result<()> {
    // What has no elements depends on nothing.
    if tensors.iter().any(|tensor| tensor.numel() == Size::ZERO) {
        return Ok(());
    }
    let read: HashSet<&Leaf> = graph.nodes().iter().filter_map(|node| node.op().leaf()).collect();
    // One of symbolic extents tells sizes, whatever reads its elements.
    let sizes = |input: &Input| input.shape.iter().any(|n| n.as_const().is_none());
    let unread = |input: &Input| !sizes(input) && !leaves[input.parts.clone()].iter().any(|leaf| read.contains(leaf));
    let Some(i) = inputs.iter().position(unread) else { return Ok(()) };
    let why = match tensors.iter().position(|tensor| tensor.is_realized()) {
        _ if uniform[i] => "it was a constant when the expression was built: realize it before that".to_owned(),
        Some(at) if tensors[at].follows() => format!(
            "output {at} is that of a plan which was prepared before, and has the value of its latest run: build its expression \
             anew"
        ),
        Some(at) => format!(
            "output {at} was computed before, so that its expression is gone: build it anew and prepare it before it is read"
        ),
        None => "the outputs were built of an earlier value of it, or of another tensor".to_owned(),
    };
    let given = show_typed(inputs[i].dtype, &inputs[i].shape);
    let message =
        format!("input {i}, {given}, is one that no output depends on; {why}, or allow it by `unused_inputs`");
    Err(TensorError::value("prepare", message))
}

/// The nodes of inputs, in memory: of symbolic extents where these are what the expressions read.
fn read_inputs(tensors: &[&Tensor], inputs: &[&Tensor]) -> Result<Vec<UOp>> {
    for (i, input) in inputs.iter().enumerate() {
        input.realize().map_err(|error| without_size(i, input, error))?;
    }
    let nodes: Vec<UOp> = inputs.iter().map(|input| input.uop()).collect();
    let Some(symbolic) = as_computed(&nodes) else { return Ok(nodes) };
    let graph = Graph::new(&tensors.iter().map(|t| t.uop()).collect::<Vec<_>>());
    let read: Vec<Leaf> = graph.nodes().iter().filter_map(|node| Some(node.op().leaf()?.watched(0))).collect();
    let reads = |node: &UOp| node.op().leaf().is_some_and(|leaf| read.contains(&leaf.watched(0)));
    Ok(nodes.into_iter().zip(symbolic).map(|(node, other)| if reads(&other) { other } else { node }).collect())
}

/// The error of an input that is an expression of which nobody says how large it is.
fn without_size(i: usize, input: &Tensor, error: TensorError) -> TensorError {
    use svod_runtime::{Error, VariableError};
    match error {
        TensorError::Runtime(Error::Variable(VariableError::Unbound(name))) => {
            let given = show_operands(&[input.uop()]);
            let message = format!(
                "input {i}, {given}, is no memory but an expression, which cannot be computed, for variable {name} has \
                 no value: name what it is made of as the input, or bind {name}"
            );
            TensorError::value("prepare", message)
        }
        error => error,
    }
}

/// The leaves of an input, one for each device that has some of it.
fn input_leaves(i: usize, node: &UOp) -> Result<Vec<Leaf>> {
    let leaf = |part: &UOp| match part.op() {
        Op::Leaf(leaf) => Ok(leaf.clone()),
        _ => Err(TensorError::value("prepare", format!("input {i} is not in memory"))),
    };
    node.parts()?.iter().map(leaf).collect()
}

impl Plan {
    /// Runs the plan; the tensors that it was prepared for then have the results.
    ///
    /// # Errors
    /// Also, after the run, where an index that the plan computed was outside of its dimension.
    pub fn execute(&self) -> Result<()> {
        self.execute_feeds(&[], &[])
    }

    /// Runs the plan on new inputs, in order, those not given as they were, and with new values
    /// for variables.
    ///
    /// Symbolic extents of inputs that are given follow from what is given.
    pub fn execute_on(&self, inputs: &[&Tensor], variables: &[(&str, i64)]) -> Result<()> {
        let contents: Vec<Content> = inputs.iter().map(|t| Content::Tensor(t)).collect();
        self.feeding("execute", 0, &contents, variables, |feeds, variables| self.execute_feeds(feeds, variables))
    }

    /// [`Plan::execute_on`] with inputs given as memory, in their parts, and all variables of their extents.
    pub fn execute_feeds(&self, inputs: &[Feed], variables: &[(&str, i64)]) -> Result<()> {
        self.check_feeds(inputs)?;
        if self.flags.is_empty() {
            let done = self.plan.execute_with(inputs, variables);
            return done.map_err(|error| self.explained(error.into(), inputs, variables));
        }
        let done = self.plan.execute_accepted(inputs, variables, |read| self.check_flags(inputs, read));
        done.map_err(|error| self.explained(error, inputs, variables))
    }

    /// Runs the plan on these inputs, and gives the outputs as tensors of their own, which no later
    /// run overwrites. The inputs are those of this run alone, and are read where they are if
    /// possible; see [`ExecutionPlan::call`].
    pub fn call_feeds(&self, inputs: &[Feed], variables: &[(&str, i64)]) -> Result<Vec<Tensor>> {
        self.check_feeds(inputs)?;
        let fresh = self.plan.call_accepted(inputs, variables, |read| self.check_flags(inputs, read));
        let fresh = fresh.map_err(|error| self.explained(error, inputs, variables))?;
        self.joined(fresh.into_iter().map(|(buffer, extents)| {
            Tensor::from_buffer(Arc::new(buffer), LeafClass::Data, &extents).map(|leaf| leaf.uop())
        }))
    }

    /// [`Plan::call_feeds`], which writes results where the tensors lie that are to stand for them, of those that the plan was
    /// prepared to write over inputs, and as far as nobody else has a hold on the memory. `written` are positions of results
    /// with these tensors, which stand for them once this returns, if they do not lie elsewhere.
    pub fn call_feeds_writing(
        &self,
        inputs: &[Feed],
        variables: &[(&str, i64)],
        written: &[(usize, &Tensor)],
    ) -> Result<Vec<Tensor>> {
        self.check_feeds(inputs)?;
        step::let_go(written.iter().map(|(_, tensor)| *tensor));
        let mut taken: FxHashMap<usize, Taken> = FxHashMap::default();
        let by_part: FxHashMap<usize, &Tensor> =
            written.iter().filter_map(|&(at, tensor)| Some((self.outputs.get(at)?.parts.start, tensor))).collect();
        let take = |output: usize, given: &Buffer| {
            let Some(found) = by_part.get(&output).and_then(|tensor| Taken::new(tensor, given)) else { return false };
            taken.insert(output, found);
            true
        };
        // SAFETY: what is taken is locked until after the call, and no other handle, node or buffer leads to its memory.
        let fresh = unsafe { self.plan.call_writing(inputs, variables, |read| self.check_flags(inputs, read), take) };
        let fresh = fresh.map_err(|error| self.explained(error, inputs, variables))?;
        self.joined(fresh.into_iter().enumerate().map(|(output, fresh)| match fresh {
            Some((buffer, extents)) => Ok(Tensor::from_buffer(Arc::new(buffer), LeafClass::Data, &extents)?.uop()),
            None => match taken.remove(&output) {
                Some(taken) => Ok(taken.written()?.uop()),
                None => Err(TensorError::NotExecuted),
            },
        }))
    }

    /// The outputs as tensors of their own, of the nodes of all parts in their order.
    fn joined(&self, leaves: impl Iterator<Item = Result<UOp>>) -> Result<Vec<Tensor>> {
        // The outputs are the first ones.
        let count = self.outputs.iter().map(|output| output.parts.end).max().unwrap_or(0);
        let leaves: Vec<UOp> = leaves.take(count).collect::<Result<_>>()?;
        let own = |output: &Output| Ok(Tensor::from_uop(joined(&output.node, leaves[output.parts.clone()].to_vec())?));
        self.outputs.iter().map(own).collect()
    }

    /// Runs the kernels one by one and takes the time of each.
    pub fn execute_profiled(&self) -> Result<Profile> {
        self.execute_feeds_profiled(&[], &[])
    }

    /// [`Plan::execute_feeds`], one kernel at a time.
    pub fn execute_feeds_profiled(&self, inputs: &[Feed], variables: &[(&str, i64)]) -> Result<Profile> {
        self.check_feeds(inputs)?;
        self.plan.profiled(inputs, variables, |read| self.check_flags(inputs, read))
    }

    /// [`Plan::set_input`] with memory, of one of the inputs' parts, and all variables of its extents.
    pub fn set_feed(&self, i: usize, feed: Feed, variables: &[(&str, i64)]) -> Result<()> {
        self.check_feed(i, feed)?;
        Ok(self.plan.set_input(i, feed, variables)?)
    }

    /// The values of variables that inputs of these extents have, with those that are given.
    ///
    /// # Errors
    /// A type or extents that do not fit the input. What does not follow from the extents keeps
    /// its present value.
    pub fn variables_of(
        &self,
        op: &'static str,
        given: &[Given],
        variables: &[(&str, i64)],
    ) -> Result<Vec<(String, i64)>> {
        let mut found = SizeValues::new(variables.iter().map(|(name, value)| ((*name).to_owned(), *value)));
        let mut open: Vec<(&Given, Size, i64)> = Vec::new();
        for one in given {
            let Some(Input { dtype, shape, .. }) = self.inputs.get(one.input) else {
                let message = format!("input {} was given, but the plan has {}", one.input, self.inputs.len());
                return Err(TensorError::value(op, message));
            };
            let fits = |(n, given): (&Size, &usize)| n.as_usize().is_none_or(|n| n == *given);
            if *dtype != one.dtype {
                return Err(TensorError::dtype(op, self.misfit(one)));
            }
            if shape.len() != one.extents.len() || !shape.iter().zip(one.extents).all(fits) {
                return Err(TensorError::shape(op, self.misfit(one)));
            }
            let symbolic = shape.iter().zip(one.extents).filter(|(n, _)| n.as_const().is_none());
            open.extend(symbolic.map(|(n, extent)| (one, n.clone(), *extent as i64)));
        }
        if open.is_empty() {
            return Ok(found.into_pairs());
        }
        found.solve(open.iter().map(|(_, extent, number)| (extent, *number)));
        for (one, extent, _) in &open {
            if let Err(why) = found.check(extent) {
                return Err(TensorError::Bounds { op, message: format!("{}; {why}", self.misfit(one)) });
            }
        }
        let mut present = found.clone();
        for bound in self.plan.values()? {
            present.add(bound.variable().name(), bound.value());
        }
        for (one, extent, value) in open {
            let now = present.apply(&extent);
            if now.as_const() != Some(value) {
                let why = match &now.variables()[..] {
                    [] => format!("{}; extent {extent} is {now}, not {value}", self.misfit(one)),
                    open => {
                        let names: Vec<&str> = open.iter().map(Variable::name).collect();
                        let given: Vec<String> = names.iter().map(|name| format!("{name}=...")).collect();
                        let (names, given) = (names.join(" and "), given.join(", "));
                        let input = one.input;
                        format!("input {input}: {value} for {extent} does not tell {names}; give {given}")
                    }
                };
                return Err(TensorError::shape(op, why));
            }
        }
        Ok(found.into_pairs())
    }

    fn misfit(&self, given: &Given) -> String {
        let Input { dtype, shape, .. } = &self.inputs[given.input];
        misfit(given.input, (*dtype, shape), (given.dtype, given.extents))
    }

    /// Another instance, which shares code and constants, for concurrent use.
    pub fn instance(&self) -> Result<Plan> {
        let plan = self.plan.instance()?;
        let (inputs, lookups, flags) = (self.inputs.clone(), self.lookups.clone(), self.flags.clone());
        let (outputs, computed) = (self.outputs.clone(), self.computed.clone());
        let mut own = Plan { plan, inputs, outputs, lookups, flags, computed };
        for Output { node, parts } in &mut own.outputs {
            *node = output::handle(node, &own.plan.output_cells()[parts.clone()])?;
        }
        Ok(own)
    }

    /// The inputs.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The outputs as tensors that follow the plan: they show its latest run, and own nothing.
    pub fn outputs(&self) -> Vec<Tensor> {
        self.outputs.iter().map(|output| Tensor::from_uop(output.node.clone())).collect()
    }

    /// The elements of an output.
    pub fn read_output(&self, i: usize) -> Result<Vec<u8>> {
        match self.outputs.get(i) {
            Some(output) => Tensor::from_uop(output.node.clone()).to_bytes(),
            None => Ok(self.plan.read_output(usize::MAX)?),
        }
    }

    /// What the plan is made of.
    pub fn execution(&self) -> &ExecutionPlan {
        &self.plan
    }

    fn check_feeds(&self, inputs: &[Feed]) -> Result<()> {
        inputs.iter().enumerate().try_for_each(|(i, feed)| self.check_feed(i, *feed))
    }

    fn check_feed(&self, i: usize, feed: Feed) -> Result<()> {
        // Their parts follow one another.
        let at = self.inputs.partition_point(|input| input.parts.end <= i);
        let Some(Input { dtype, .. }) = self.inputs.get(at) else {
            let message = format!("input {i} was given, but the plan has {}", self.inputs.len());
            return Err(TensorError::value("execute", message));
        };
        self.lookups.check_input(i, *dtype, feed)
    }

    /// The error of a run, which names the operation that made the first NaN, where it is about one.
    fn explained(&self, error: TensorError, feeds: &[Feed], variables: &[(&str, i64)]) -> TensorError {
        match &self.computed {
            Some(computed) => computed.explained(error, Some(Failed { plan: &self.plan, feeds, variables })),
            None => error,
        }
    }

    fn check_flags(&self, feeds: &[Feed], read: &ReadOutput) -> Result<()> {
        self.lookups.check_flags(feeds, |i| Ok(read(self.flags[i])?))
    }
}
