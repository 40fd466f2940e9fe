//! Graphs as they are computed: checked, with their constants as values and their operators looked up.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::constants::{self, External};
use crate::error::{Fault, OnnxError, Result};
use crate::operators::{self, Rule};
use crate::proto::{
    AttributeProto, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, ValueInfoProto, attribute,
};
use crate::schema::{self, ElementType};
use crate::types;
use crate::value::Value;

/// Nodes in an order in which they can be computed.
#[derive(Clone)]
pub(crate) struct Graph {
    /// Names of what is given.
    pub inputs: Vec<String>,
    /// Names of what is computed.
    pub outputs: Vec<String>,
    /// Values of the model. An input of the same name comes before.
    pub constants: Vec<(String, Value)>,
    /// The nodes.
    pub nodes: Arc<[Node]>,
}

/// One operation.
pub(crate) struct Node {
    /// Name and operator, for messages.
    pub title: String,
    /// The operator.
    pub op: String,
    /// Names of operands; empty for one that is left out.
    pub inputs: Vec<String>,
    /// Names of results; empty for one that nobody wants.
    pub outputs: Vec<String>,
    pub attributes: Attributes,
    pub target: Target,
}

/// Arguments that are part of a model, by name.
pub(crate) type Attributes = FxHashMap<String, Attribute>;

/// What computes a node.
pub(crate) enum Target {
    /// A row of the table of operators.
    Rule(Rule),
    /// A function of the model.
    Function(Arc<Function>),
}

/// A function of a model.
pub(crate) struct Function {
    pub graph: Graph,
    /// Attributes that calls need not have.
    pub defaults: Attributes,
}

/// An argument that is part of a model.
#[derive(Clone)]
pub(crate) enum Attribute {
    Float(f64),
    Int(i64),
    Text(String),
    Value(Value),
    Graph(Arc<Graph>),
    Floats(Vec<f64>),
    Ints(Vec<i64>),
    Texts(Vec<String>),
    /// The attribute of this name of the node that calls the function.
    Reference(String),
    /// One of a kind that no operator here takes.
    Other,
}

/// How deep graphs and functions may be inside of each other.
const DEEPEST: usize = 64;

/// What the nodes of a graph may refer to.
pub(crate) struct Library<'a> {
    external: &'a External,
    /// The functions of the model, by domain, name and overload.
    functions: FxHashMap<(&'a str, &'a str, &'a str), &'a FunctionProto>,
}

/// Where a graph is.
#[derive(Clone)]
struct Place<'a> {
    /// Versions of operator sets.
    opsets: &'a [OperatorSetIdProto],
    /// Names that are known, here and from around, with their element types where these are known.
    names: FxHashMap<String, ElementType>,
    depth: usize,
}

impl<'a> Library<'a> {
    pub fn new(functions: &'a [FunctionProto], external: &'a External) -> Library<'a> {
        let key = |f: &'a FunctionProto| (domain(&f.domain), f.name.as_str(), f.overload.as_str());
        Library { external, functions: functions.iter().map(|f| (key(f), f)).collect() }
    }

    /// The graph of a model.
    ///
    /// # Errors
    /// A graph that cannot be computed: names that nothing gives, or twice, nodes out of order, constants and operators
    /// that there are not.
    pub fn graph(&self, proto: &GraphProto, opsets: &[OperatorSetIdProto]) -> Result<Graph> {
        self.inside(proto, Place { opsets, names: FxHashMap::default(), depth: 0 })
    }

    fn inside(&self, proto: &GraphProto, mut place: Place<'_>) -> Result<Graph> {
        if place.depth > DEEPEST {
            return Err(OnnxError::Graph(format!("graphs are more than {DEEPEST} deep inside of each other")));
        }
        let mut constants = Vec::with_capacity(proto.initializer.len());
        for tensor in &proto.initializer {
            constants.push((tensor.name.clone(), constants::value_of(tensor, self.external)?));
        }
        for tensor in &proto.sparse_initializer {
            let name = tensor.values.as_ref().map(|values| values.name.clone()).unwrap_or_default();
            constants.push((name, constants::sparse(tensor, self.external)?));
        }
        let mut own = FxHashSet::default();
        for (name, _) in &constants {
            if !own.insert(name.clone()) {
                return Err(OnnxError::Graph(format!("there are two constants of the name '{name}'")));
            }
        }
        let inputs: Vec<String> = proto.input.iter().map(|input| input.name.clone()).collect();
        let unique: FxHashSet<&String> = inputs.iter().collect();
        if unique.len() != inputs.len() || inputs.iter().any(String::is_empty) {
            return Err(OnnxError::Graph("inputs need names, each one of its own".into()));
        }
        let of_constant = |value: &Value| value.dtype().and_then(types::number_of);
        place.names.extend(constants.iter().map(|(name, value)| (name.clone(), of_constant(value))));
        place.names.extend(proto.input.iter().map(|input| (input.name.clone(), declared(input))));
        let outputs: Vec<String> = proto.output.iter().map(|output| output.name.clone()).collect();
        let nodes = self.nodes(&proto.node, &outputs, &mut place)?;
        for output in &proto.output {
            let found = place.names.get(&output.name).copied().flatten();
            if let (Some(expected), Some(found)) = (declared(output), found)
                && expected != found
            {
                let (name, expected, found) = (&output.name, types::name(expected), types::name(found));
                return Err(OnnxError::Graph(format!("output '{name}' is declared as {expected}, but is of {found}")));
            }
        }
        Ok(Graph { inputs, outputs, constants, nodes: nodes.into() })
    }

    fn function(&self, proto: &FunctionProto, depth: usize) -> Result<Function> {
        if depth > DEEPEST {
            let message = format!("function {} is more than {DEEPEST} deep in others, or calls itself", proto.name);
            return Err(OnnxError::Graph(message));
        }
        let names = proto.input.iter().map(|name| (name.clone(), None)).collect();
        let mut place = Place { opsets: &proto.opset_import, names, depth };
        let nodes = self.nodes(&proto.node, &proto.output, &mut place)?;
        let defaults = self.attributes(&proto.attribute_proto, &place)?;
        let (inputs, outputs) = (proto.input.clone(), proto.output.clone());
        Ok(Function { graph: Graph { inputs, outputs, constants: Vec::new(), nodes: nodes.into() }, defaults })
    }

    fn nodes(&self, protos: &[NodeProto], outputs: &[String], place: &mut Place<'_>) -> Result<Vec<Node>> {
        let given_later: FxHashSet<&str> = protos.iter().flat_map(|n| &n.output).map(String::as_str).collect();
        let mut nodes = Vec::with_capacity(protos.len());
        for (at, proto) in protos.iter().enumerate() {
            let title = title(proto, at);
            for name in proto.input.iter().filter(|name| !name.is_empty()) {
                if place.names.contains_key(name) {
                    continue;
                }
                let why = match given_later.contains(name.as_str()) {
                    true => "which only a later node gives: nodes are not in order, or form a cycle",
                    false => "which is no input, no constant and the result of no node",
                };
                return Err(OnnxError::Graph(format!("node {title} reads '{name}', {why}")));
            }
            let (node, results) = self.node(proto, title, place)?;
            for (name, result) in node.outputs.iter().zip(results).filter(|(name, _)| !name.is_empty()) {
                if place.names.insert(name.clone(), result).is_some() && place.depth == 0 {
                    return Err(OnnxError::Graph(format!(
                        "node {} gives '{name}', which is there already",
                        node.title
                    )));
                }
            }
            nodes.push(node);
        }
        match outputs.iter().find(|name| !place.names.contains_key(*name)) {
            Some(name) => Err(OnnxError::Graph(format!("output '{name}' is the result of no node"))),
            None => Ok(nodes),
        }
    }

    /// A node, and the element types of its results where they are known.
    fn node(&self, proto: &NodeProto, title: String, place: &Place<'_>) -> Result<(Node, Vec<ElementType>)> {
        let set = domain(&proto.domain);
        let version = place.opsets.iter().find(|opset| domain(&opset.domain) == set).map(|opset| opset.version);
        let function = self.functions.get(&(set, proto.op_type.as_str(), proto.overload.as_str()));
        let failed = |why: Fault| OnnxError::Node { node: title.clone(), source: Box::new(why) };
        let (target, results) = match (function, version) {
            (Some(function), _) => {
                let function = Arc::new(self.function(function, place.depth + 1)?);
                (Target::Function(function), vec![None; proto.output.len()])
            }
            (None, Some(version)) => {
                let rule = operators::find(set, &proto.op_type, version).map_err(failed)?;
                let operands: Vec<_> =
                    proto.input.iter().map(|name| place.names.get(name).copied().flatten()).collect();
                (Target::Rule(rule), schema::check(set, version, proto, &operands).map_err(failed)?)
            }
            (None, None) => {
                return Err(OnnxError::Graph(format!("node {title}: the model imports no operator set '{set}'")));
            }
        };
        let node = Node {
            title,
            op: proto.op_type.clone(),
            inputs: proto.input.clone(),
            outputs: proto.output.clone(),
            attributes: self.attributes(&proto.attribute, place)?,
            target,
        };
        Ok((node, results))
    }

    fn attributes(&self, protos: &[AttributeProto], place: &Place<'_>) -> Result<Attributes> {
        protos.iter().map(|proto| Ok((proto.name.clone(), self.attribute(proto, place)?))).collect()
    }

    fn attribute(&self, proto: &AttributeProto, place: &Place<'_>) -> Result<Attribute> {
        if !proto.ref_attr_name.is_empty() {
            return Ok(Attribute::Reference(proto.ref_attr_name.clone()));
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let missing = || OnnxError::Graph(format!("attribute '{}' has no value", proto.name));
        Ok(match proto.r#type {
            attribute::FLOAT => Attribute::Float(proto.f.into()),
            attribute::INT => Attribute::Int(proto.i),
            attribute::STRING => Attribute::Text(text(&proto.s)),
            attribute::TENSOR => {
                Attribute::Value(constants::value_of(proto.t.as_ref().ok_or_else(missing)?, self.external)?)
            }
            attribute::SPARSE_TENSOR => {
                Attribute::Value(constants::sparse(proto.sparse_tensor.as_ref().ok_or_else(missing)?, self.external)?)
            }
            attribute::GRAPH => {
                let inner = Place { depth: place.depth + 1, ..place.clone() };
                Attribute::Graph(Arc::new(self.inside(proto.g.as_ref().ok_or_else(missing)?, inner)?))
            }
            attribute::FLOATS => Attribute::Floats(proto.floats.iter().map(|f| f64::from(*f)).collect()),
            attribute::INTS => Attribute::Ints(proto.ints.clone()),
            attribute::STRINGS => Attribute::Texts(proto.strings.iter().map(|s| text(s)).collect()),
            _ => Attribute::Other,
        })
    }
}

/// The element type that an input or an output is declared with.
fn declared(value: &ValueInfoProto) -> ElementType {
    let tensor = value.r#type.as_ref()?.tensor_type.as_ref()?;
    Some(tensor.elem_type).filter(|number| *number != 0)
}

/// The name of an operator set: ONNX's own has two.
fn domain(name: &str) -> &str {
    if name == "ai.onnx" { "" } else { name }
}

/// A node's name, or its place, and its operator.
fn title(proto: &NodeProto, at: usize) -> String {
    match proto.name.is_empty() {
        true => format!("{at} ({})", proto.op_type),
        false => format!("'{}' ({})", proto.name, proto.op_type),
    }
}
