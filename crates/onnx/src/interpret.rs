//! Graphs become expressions: nodes in order, each by its rule.

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use svod_device::{DeviceError, DeviceSpec};
use svod_tensor::{Origin, Size};

use crate::call::{Call, Outcome};
use crate::error::{Fault, OnnxError, Result};
use crate::graph::{Attribute, Attributes, Function, Graph, Node, Target};
use crate::operators::known;
use crate::value::Value;

/// The values of a graph by name, and those around it.
pub(crate) struct Scope<'a> {
    values: RefCell<FxHashMap<String, Value>>,
    around: Option<&'a Scope<'a>>,
    /// The attributes with which a function was called, and its defaults.
    attributes: Option<(&'a Attributes, &'a Attributes, &'a Scope<'a>)>,
}

impl<'a> Scope<'a> {
    /// One with nothing around it.
    fn new(around: Option<&'a Scope<'a>>) -> Scope<'a> {
        Scope { values: RefCell::default(), around, attributes: None }
    }

    fn get(&self, name: &str) -> Option<Value> {
        let own = self.values.borrow().get(name).cloned();
        own.or_else(|| self.around.and_then(|around| around.get(name)))
    }

    /// The value of an attribute of the function that this is in.
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        let Some((given, defaults, outside)) = self.attributes else {
            return self.around.and_then(|around| around.attribute(name));
        };
        match given.get(name) {
            Some(Attribute::Reference(other)) => outside.attribute(other),
            Some(own) => Some(own),
            None => defaults.get(name),
        }
    }
}

/// The results of a model's graph on these inputs.
///
/// # Errors
/// Those of a node, which they name.
pub(crate) fn run(graph: &Graph, inputs: Vec<Value>) -> Result<Vec<Value>> {
    compute(graph, inputs, &Scope::new(None))
}

/// The results of a graph inside of another one: a branch, or the body of a loop.
///
/// # Errors
/// Those of a node, which they name.
pub(crate) fn inside(graph: &Graph, inputs: Vec<Value>, scope: &Scope<'_>) -> Result<Vec<Value>> {
    compute(graph, inputs, &Scope::new(Some(scope)))
}

fn compute(graph: &Graph, inputs: Vec<Value>, scope: &Scope<'_>) -> Result<Vec<Value>> {
    {
        let mut values = scope.values.borrow_mut();
        values.extend(graph.constants.iter().cloned());
        values.extend(graph.inputs.iter().cloned().zip(inputs));
    }
    steps(&graph.nodes, scope)?;
    let output = |name: &String| {
        scope.get(name).ok_or_else(|| OnnxError::Graph(format!("nothing gives the output '{name}', which is optional")))
    };
    graph.outputs.iter().map(output).collect()
}

/// Computes nodes, in order.
fn steps(nodes: &[Node], scope: &Scope<'_>) -> Result<()> {
    for node in nodes {
        let results = apply(node, scope).map_err(|source| match source {
            Fault::Inside(error) => *error,
            source => OnnxError::Node { node: node.title.clone(), source: Box::new(source) },
        })?;
        if let Some(value) = results.iter().find(|value| !is_addressable(value)) {
            let (bytes, device) = (usize::MAX, DeviceSpec::CPU);
            let error = DeviceError::OutOfMemory { bytes, device, held: String::new() };
            let shape = value.tensor().map_or_else(|e| e.to_string(), |t| t.described());
            return Err(OnnxError::Node {
                node: format!("{}, which gives {shape}", node.title),
                source: Box::new(Fault::Tensor(error.into())),
            });
        }
        // What is said of these later names the node.
        let origin = Origin::of_node(&format!("node {}", node.title));
        for tensor in results.iter().filter_map(Value::as_tensor).filter(|tensor| tensor.wants_origin()) {
            tensor.set_origin(&origin);
        }
        let named = node.outputs.iter().cloned().zip(results).filter(|(name, _)| !name.is_empty());
        scope.values.borrow_mut().extend(named);
    }
    Ok(())
}

/// Whether there are addresses for a value's bytes: no machine has more than 47 bits of them.
fn is_addressable(value: &Value) -> bool {
    let Value::Tensor(tensor) = value else { return true };
    let extents = tensor.shape();
    let known = extents.iter().filter_map(Size::as_const);
    let bytes = known.fold(tensor.dtype().bytes() as i64, i64::saturating_mul);
    bytes < 1 << 47
}

fn apply(node: &Node, scope: &Scope<'_>) -> Outcome {
    let inputs = node.inputs.iter().map(|name| if name.is_empty() { None } else { scope.get(name) }).collect();
    let call = Call { node, scope, inputs };
    let results = match &node.target {
        Target::Rule(rule) => match known::apply(&call)? {
            Some(sizes) => vec![sizes.into()],
            None => rule(&call)?,
        },
        Target::Function(function) => function_of(function, &call)?,
    };
    Ok(results)
}

/// A call of a function: its body in the place of the node.
fn function_of(function: &Function, call: &Call<'_>) -> Outcome {
    let inner = Scope {
        values: RefCell::default(),
        around: None,
        attributes: Some((&call.node.attributes, &function.defaults, call.scope)),
    };
    let graph = &function.graph;
    // What the node leaves out is nowhere.
    for (name, value) in graph.inputs.iter().zip(&call.inputs) {
        if let Some(value) = value {
            inner.values.borrow_mut().insert(name.clone(), value.clone());
        }
    }
    steps(&graph.nodes, &inner)?;
    let wanted = graph.outputs.iter().zip(&call.node.outputs);
    let output = |(name, wanted): (&String, &String)| match inner.get(name) {
        Some(value) => Ok(value),
        None if wanted.is_empty() => Ok(Value::Nothing),
        None => Err(Fault::Invalid(format!("nothing gives its result '{name}'"))),
    };
    wanted.map(output).collect()
}
