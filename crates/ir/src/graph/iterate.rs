//! Loops around a part of a graph: values that are computed from themselves, several times over.
//!
//! The body is a graph of its own over *parameters*, leaves of class `Input` without data. The first
//! parameters stand for the carried values, whose next values are the body's results; the others for
//! what the body reads from outside. The latter is computed once: nothing in a body that depends
//! neither on a carried value nor on the loop's variable is part of the body, unless it costs nothing. What is on
//! no device is computed on each of those where the body reads it.
//!
//! Results beyond those are *stacked*: what each iteration makes is a row of a value that has one for each of them.

use super::error::{GraphError, Reason};
use super::key::{BindMismatch, GraphKey};
use super::leaf::{Leaf, LeafClass};
use super::op::{Op, Shape};
use super::sharding::Place;
use super::uop::{Sources, UOp};
use super::walk::{Graph, NodeIndex};
use crate::size::{Size, Variable};
use smallvec::SmallVec;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use svod_dtype::DType;

/// What each iteration of a loop computes, and how often. Equal where structure, variable and the
/// functions of the host are that it calls.
#[derive(Clone, Debug)]
pub struct LoopBody(Arc<Body>);

#[derive(Debug)]
struct Body {
    var: Variable,
    params: Vec<Leaf>,
    results: Vec<UOp>,
    /// How many of the results are next values of what is carried.
    carried: usize,
    key: GraphKey,
    pattern: [u8; 32],
    structure: [u8; 32],
}

impl LoopBody {
    /// A body that is run for each value of `var`. Parameter `i` is a leaf of class `Input(i)`; the
    /// first `carried` ones are those that the first results are the next values of. The others are stacked.
    ///
    /// # Errors
    /// A variable with two values.
    pub fn new(var: Variable, params: Vec<Leaf>, results: Vec<UOp>, carried: usize) -> Result<LoopBody, BindMismatch> {
        let key = GraphKey::new(&Graph::new(&results))?;
        // Parameters that no result reads are operands as well.
        let about = format!("{var} {} {} {} {carried}", Variable::min(&var), Variable::max(&var), params.len());
        let mut hasher = blake3::Hasher::new();
        let pattern = *hasher.update(&key.hash).update(about.as_bytes()).finalize().as_bytes();
        for function in &key.functions {
            hasher.update(&function.address().to_ne_bytes());
        }
        let structure = *hasher.finalize().as_bytes();
        Ok(LoopBody(Arc::new(Body { var, params, results, carried, key, pattern, structure })))
    }

    /// The loop's variable: from its least to its greatest value, both inclusive.
    pub fn var(&self) -> &Variable {
        &self.0.var
    }

    /// What the body reads: carried values, then values from outside.
    pub fn params(&self) -> &[Leaf] {
        &self.0.params
    }

    /// The next values of what is carried, then the rows of what is stacked.
    pub fn results(&self) -> &[UOp] {
        &self.0.results
    }

    /// How many values are carried.
    pub fn carried(&self) -> usize {
        self.0.carried
    }

    /// How often it is run.
    pub fn trips(&self) -> i64 {
        Variable::max(self.var()) - Variable::min(self.var()) + 1
    }

    /// What it computes: the roots are the parameters, then the results.
    ///
    /// # Errors
    /// A parameter of a type that no value has.
    pub fn graph(&self) -> Result<Graph, GraphError> {
        let params = self.params().iter().map(|param| UOp::leaf(param.clone()));
        let mut roots = params.collect::<Result<Vec<UOp>, GraphError>>()?;
        roots.extend_from_slice(self.results());
        Ok(Graph::new(&roots))
    }

    /// Where it is: its identity, as long as it lives.
    pub(super) fn address(&self) -> usize {
        Arc::as_ptr(&self.0).cast::<()>() as usize
    }

    /// How many handles there are to this one.
    pub(super) fn owners(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// The structure of the graph of the results.
    pub fn key(&self) -> &GraphKey {
        &self.0.key
    }

    /// What tells this loop from those of another structure, whichever functions of the host they call.
    pub fn pattern(&self) -> &[u8; 32] {
        &self.0.pattern
    }

    /// What tells this loop from others.
    pub fn structure(&self) -> &[u8; 32] {
        &self.0.structure
    }
}

impl PartialEq for LoopBody {
    fn eq(&self, other: &Self) -> bool {
        self.0.structure == other.0.structure
    }
}

impl Eq for LoopBody {}

impl Hash for LoopBody {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.structure.hash(state);
    }
}

impl fmt::Display for LoopBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Body { var, structure, .. } = &*self.0;
        write!(f, "{var}:{}..={} ", var.min(), var.max())?;
        structure[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Graph {
    /// The graphs that bodies of its loops compute, and those of theirs, each once. In listings of all nodes
    /// those of bodies follow its own: each comes with the number of its first node there.
    pub fn bodies(&self) -> Vec<(LoopBody, Graph, NodeIndex)> {
        let mut found: Vec<(LoopBody, Graph, NodeIndex)> = Vec::new();
        let (mut next, mut at) = (self.len() as NodeIndex, 0);
        loop {
            let fresh = |body: &LoopBody| found.iter().all(|(known, ..)| known != body);
            let graph = if at == 0 { self } else { &found[at - 1].1 };
            let mut bodies: Vec<LoopBody> = Vec::new();
            for node in graph.nodes() {
                if let Op::Loop(body, _) = node.op()
                    && fresh(body)
                    && !bodies.contains(body)
                {
                    bodies.push(body.clone());
                }
            }
            for body in bodies {
                let graph = Graph::new(body.results());
                let first = next;
                next += graph.len() as NodeIndex;
                found.push((body, graph, first));
            }
            at += 1;
            if at > found.len() {
                return found;
            }
        }
    }
}

impl UOp {
    /// The values of `carried` after the first of `results`, which are built on `params`, have taken their place for
    /// each value of `var`, and the other results stacked. Each is on one device; of what is spread over several, the parts
    /// are carried, and read from outside. `outside` makes a parameter for a value from outside, of class `Input` with
    /// the number that it is given.
    ///
    /// # Errors
    /// A result whose type or shape is not that of what it is the next value of, and a shape of a
    /// carried value that depends on the variable.
    pub fn iterate<E: From<GraphError> + From<BindMismatch>>(
        var: &Variable,
        carried: &[UOp],
        params: Vec<Leaf>,
        results: &[UOp],
        outside: &mut dyn FnMut(&UOp, u32) -> Result<Leaf, E>,
    ) -> Result<Vec<UOp>, E> {
        let at: Vec<Option<Place>> = (0..results.len()).map(|i| place_of(carried, i)).collect();
        let inside = |graph: &Graph, params: &[Leaf]| varying(graph, Some(var), params);
        let Captured { params, results, outside } = UOp::captured(params, results, &at, &inside, outside)?;
        let sources = [carried, &outside].concat();
        let count = results.len();
        let body = LoopBody::new(var.clone(), params, results, carried.len())?;
        let output = |i| Ok(UOp::new(Op::Loop(body.clone(), i), &sources)?);
        (0..count).map(output).collect()
    }

    /// These results, built on `params`, over more parameters in the places of what they read from outside. What is not
    /// `inside`, which says so of each node, is outside, unless it costs nothing. `at` says where results are that are on no
    /// device; `outside` is that of [`UOp::iterate`].
    ///
    /// # Errors
    /// Those of `outside`.
    pub fn captured<E: From<GraphError>>(
        params: Vec<Leaf>,
        results: &[UOp],
        at: &[Option<Place>],
        inside: &dyn Fn(&Graph, &[Leaf]) -> Vec<bool>,
        outside: &mut dyn FnMut(&UOp, u32) -> Result<Leaf, E>,
    ) -> Result<Captured, E> {
        let (mut params, graph) = (params, Graph::new(results));
        let mut read = Vec::new();
        let wanted = wanted(&graph, &inside(&graph, &params));
        let places = places(&graph, &wanted, at);
        // Each value where it is read, one after the other as `places` has them.
        let mut nodes: Vec<Sources> = Vec::with_capacity(graph.len());
        let made_at = |nodes: &[Sources], n: NodeIndex, place: &Option<Place>| -> UOp {
            let which = places[n as usize].iter().position(|p| p == place).unwrap_or(0);
            nodes[n as usize][which].clone()
        };
        for (n, (node, below)) in graph.iter().enumerate() {
            let mut made = Sources::new();
            for place in &places[n] {
                made.push(match wanted[n] {
                    Wanted::Inside if below.is_empty() => node.clone(),
                    Wanted::Inside => {
                        let source =
                            |(i, s): (usize, &NodeIndex)| made_at(&nodes, *s, &read_at(node, i, place.as_ref()));
                        let below: Sources = below.iter().enumerate().map(source).collect();
                        let inside = UOp::new(node.op().clone(), &below)?;
                        inside.inherit_origin(node);
                        inside
                    }
                    Wanted::Outside => {
                        let there = placed(node, place.as_ref())?;
                        let mut leaves = Sources::new();
                        for part in there.parts()? {
                            let param = outside(&part, params.len() as u32)?;
                            read.push(part);
                            params.push(param.clone());
                            leaves.push(UOp::leaf(param)?);
                        }
                        match there.sharding() {
                            Some(of) => UOp::multi(&leaves, of)?,
                            None => leaves.swap_remove(0),
                        }
                    }
                    Wanted::Nowhere => node.clone(),
                });
            }
            nodes.push(made);
        }
        let result = |(r, at): (&NodeIndex, &Option<Place>)| made_at(&nodes, *r, at);
        let results = graph.roots().iter().zip(at).map(result).collect();
        Ok(Captured { params, results, outside: read })
    }
}

/// Values over parameters, with what the last of these stand for.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The parameters that were given, then one for each value from outside.
    pub params: Vec<Leaf>,
    /// The values.
    pub results: Vec<UOp>,
    /// The values from outside.
    pub outside: Vec<UOp>,
}

/// Where a result is, if it is on no device: with the value that it takes the place of; what is stacked with the first one.
fn place_of(carried: &[UOp], result: usize) -> Option<Place> {
    carried.get(result).or(carried.first()).and_then(|c| c.place().cloned())
}

/// Which nodes depend on a loop with this variable, if it has one, and these parameters.
pub fn varying(graph: &Graph, var: Option<&Variable>, params: &[Leaf]) -> Vec<bool> {
    let mut varies: Vec<bool> = Vec::with_capacity(graph.len());
    for (node, sources) in graph.iter() {
        let own =
            matches!(node.op(), Op::Leaf(leaf) if params.contains(leaf)) || var.is_some_and(|v| mentions(node, v));
        varies.push(own || sources.iter().any(|s| varies[*s as usize]));
    }
    varies
}

/// Whether a node's own data depends on a variable.
fn mentions(node: &UOp, var: &Variable) -> bool {
    let named = |size: &Size| size.variables().contains(var);
    let pairs = |pairs: &[(Size, Size)]| pairs.iter().any(|(a, b)| named(a) || named(b));
    let own = match node.op() {
        Op::Size(size) => named(size),
        Op::Bind(bound) => bound.variable() == var,
        Op::Pad(by, _) => pairs(by),
        Op::Shrink(to) => pairs(to),
        // A loop inside of it; one of the same name is another loop.
        Op::Loop(body, _) => body.var() != var && body.key().variables.contains(var),
        Op::Host(call, ..) => call.function().variables().contains(var),
        _ => false,
    };
    own || node.shape().iter().any(named)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// By nothing in the body.
    Nowhere,
    /// Computed in the body.
    Inside,
    /// Computed once, and read by the body.
    Outside,
}

/// Where each node is computed: what depends on the loop, and what costs nothing, inside.
fn wanted(graph: &Graph, varies: &[bool]) -> Vec<Wanted> {
    let mut wanted = vec![Wanted::Nowhere; graph.len()];
    graph.roots().iter().for_each(|r| wanted[*r as usize] = Wanted::Inside);
    for at in (0..graph.len()).rev() {
        if wanted[at] == Wanted::Nowhere {
            continue;
        }
        let op = graph.nodes()[at].op();
        let free =
            matches!(op, Op::Const(_) | Op::Size(_) | Op::Bind(_) | Op::Range(_) | Op::Let(_)) || op.is_movement();
        wanted[at] = if varies[at] || free { Wanted::Inside } else { Wanted::Outside };
        if wanted[at] == Wanted::Inside {
            graph.sources(at as u32).iter().for_each(|s| wanted[*s as usize] = Wanted::Inside);
        }
    }
    wanted
}

/// The places where the body reads a value; none of a place for what no reader places.
type Places = SmallVec<[Option<Place>; 1]>;

/// Where each node's value is: the only place of what has one, and all those where it is read of what is on no device.
fn places(graph: &Graph, wanted: &[Wanted], at: &[Option<Place>]) -> Vec<Places> {
    let mut places: Vec<Places> =
        graph.nodes().iter().map(|n| n.place().cloned().map(Some).into_iter().collect()).collect();
    let want = |places: &mut Vec<Places>, n: NodeIndex, place: Option<Place>| {
        let list = &mut places[n as usize];
        if graph.nodes()[n as usize].place().is_none() && !list.contains(&place) {
            list.push(place);
        }
    };
    for (r, at) in graph.roots().iter().zip(at) {
        want(&mut places, *r, at.clone());
    }
    for n in (0..graph.len()).rev() {
        if wanted[n] != Wanted::Inside {
            continue;
        }
        for place in places[n].clone() {
            for (i, s) in graph.sources(n as NodeIndex).iter().enumerate() {
                want(&mut places, *s, read_at(&graph.nodes()[n], i, place.as_ref()));
            }
        }
    }
    places
}

/// Where a node at a place reads its operand `i` if that is on no device. Devices with parts have all of it each.
fn read_at(node: &UOp, i: usize, place: Option<&Place>) -> Option<Place> {
    match (node.op(), place) {
        (Op::Loop(body, _), _) => body.params().get(i).map(|param| Place::One(param.data().device())),
        (_, Some(Place::Many(of))) => Some(Place::Many(of.with_split(None))),
        (_, place) => place.cloned(),
    }
}

/// A value at a place, if it is on no device.
fn placed(node: &UOp, place: Option<&Place>) -> Result<UOp, GraphError> {
    match place {
        Some(Place::One(device)) if node.place().is_none() => node.copy_to(device),
        Some(Place::Many(of)) if node.place().is_none() => node.shard(of),
        _ => Ok(node.clone()),
    }
}

/// Checks the operands of a loop, and gives type and shape of an output.
pub(super) fn output(body: &LoopBody, output: usize, sources: &[UOp]) -> Result<(DType, Shape), Reason> {
    let params = body.params();
    for (i, (param, source)) in params.iter().zip(sources).enumerate() {
        if param.class() != LeafClass::Input(i as u32) {
            return Err(Reason::Node("a parameter of a loop without its number"));
        }
        if (param.dtype(), &**param.shape()) != (source.dtype(), source.shape()) {
            return Err(Reason::Shape(format!("operand {i} is not of its parameter's type and shape")));
        }
    }
    for (i, (param, result)) in params.iter().zip(body.results()).take(body.carried()).enumerate() {
        if let (Some(Place::One(_)), Some(spread)) = (sources[i].place(), result.sharding()) {
            let message = format!("carried value {i} is on one device and becomes spread over {spread}");
            return Err(Reason::Sharding(message));
        }
        let (was, is) = (param.data().device(), result.device());
        if let Some(is) = is.filter(|is| **is != was) {
            return Err(Reason::Sharding(format!("carried value {i} is on {was} and becomes one on {is}")));
        }
        let show = |dtype, shape| format!("{dtype}{}", super::op::ShowShape(shape));
        let (was, is) = (show(param.dtype(), param.shape()), show(result.dtype(), result.shape()));
        if was != is {
            return Err(Reason::Shape(format!("carried value {i} is {was} and becomes {is}")));
        }
        if param.shape().iter().any(|n| n.variables().contains(body.var())) {
            return Err(Reason::Shape(format!("carried value {i}, {was}, changes its shape with {}", body.var())));
        }
    }
    let Some(result) = body.results().get(output).filter(|_| body.carried() <= params.len()) else {
        return Err(Reason::Axis { axis: output, rank: body.results().len() });
    };
    if output < body.carried() {
        return Ok((params[output].dtype(), params[output].shape().clone()));
    }
    if result.shape().iter().any(|n| n.variables().contains(body.var())) {
        let row = format!("{}{}", result.dtype(), super::op::ShowShape(result.shape()));
        return Err(Reason::Shape(format!("row {output} of the loop, {row}, changes its shape with {}", body.var())));
    }
    let shape = [Size::from(body.trips())].into_iter().chain(result.shape().iter().cloned());
    Ok((result.dtype(), shape.collect()))
}
