//! Models: what is read from a file.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use prost::Message;
use rustc_hash::FxHashMap;
use svod_dtype::DType;
use svod_tensor::Plan;

use crate::constants::External;
use crate::error::{OnnxError, Result};
use crate::graph::{Graph, Library};
use crate::plan::{MOST_PLANS, Plans, Prepared};
use crate::proto::{ModelProto, ValueInfoProto};
use crate::types;
use crate::value::Value;

/// The version of the format from which on an input that is a constant as well is one with a default.
const DEFAULTS_SINCE: i64 = 4;

/// A model: called with values, which are compiled for at first.
pub struct Model {
    /// What has to be given, then what need not be.
    ports: Vec<Port>,
    /// How many have to be given.
    required: usize,
    outputs: Vec<Port>,
    graph: Graph,
    plans: Plans,
    /// The models in which some of what need not be given is, by its places.
    variants: Mutex<Vec<(Vec<usize>, Arc<Model>)>>,
}

/// An input or an output, as a model describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// Its element type; none of what is no tensor, or of a type that svod does not have.
    pub dtype: Option<DType>,
    /// Its extents; none where even their number is not known.
    pub shape: Option<Vec<Extent>>,
}

/// An extent, as a model describes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Extent {
    /// A number.
    Known(usize),
    /// A number of this name.
    Named(String),
    /// Any number.
    Any,
}

impl Model {
    /// Reads a model from a file. Tensors that it has in other files of its folder are mapped.
    ///
    /// # Errors
    /// A file that cannot be read, is no model, or has a graph that cannot be computed.
    pub fn open(path: impl AsRef<Path>) -> Result<Model> {
        let path = path.as_ref();
        let failed = |e: std::io::Error| OnnxError::File { path: path.into(), message: e.to_string() };
        let bytes = std::fs::read(path).map_err(failed)?;
        let folder = path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        Model::read(bytes.into(), folder)
    }

    /// Reads a model from the bytes of a file.
    ///
    /// # Errors
    /// As [`Model::open`], and of a model with tensors in other files.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Model> {
        Model::read(Bytes::from(bytes.into()), None)
    }

    fn read(bytes: Bytes, folder: Option<&Path>) -> Result<Model> {
        let proto = ModelProto::decode(bytes).map_err(|e| OnnxError::Format(e.to_string()))?;
        let Some(graph) = &proto.graph else { return Err(OnnxError::Format("there is no graph in it".into())) };
        let external = External::new(folder);
        let built = Library::new(&proto.functions, &external).graph(graph, &proto.opset_import)?;
        let constants: FxHashMap<&str, &Value> = built.constants.iter().map(|(name, v)| (name.as_str(), v)).collect();
        let (mut ports, mut defaults) = (Vec::new(), Vec::new());
        for port in graph.input.iter().map(Port::of) {
            match constants.get(port.name.as_str()) {
                None => ports.push(port),
                Some(value) => {
                    port.is_of(value).map_err(|message| OnnxError::Constant { name: port.name.clone(), message })?;
                    defaults.push(port);
                }
            }
        }
        let required = ports.len();
        // All constants of early versions are inputs as well.
        if proto.ir_version >= DEFAULTS_SINCE {
            ports.append(&mut defaults);
        }
        let outputs = graph.output.iter().map(Port::of).collect();
        let model = Model::of(ports, required, outputs, built);
        Prepared::check(&model)?;
        Ok(model)
    }

    fn of(ports: Vec<Port>, required: usize, outputs: Vec<Port>, graph: Graph) -> Model {
        let inputs = ports[..required].iter().map(|port| port.name.clone()).collect();
        let graph = Graph { inputs, ..graph };
        Model { ports, required, outputs, graph, plans: Plans::default(), variants: Mutex::default() }
    }

    /// What it is called with.
    pub fn inputs(&self) -> &[Port] {
        &self.ports[..self.required]
    }

    /// What it may be called with, behind [`Model::inputs`]: inputs of which the model has values.
    pub fn defaults(&self) -> &[Port] {
        &self.ports[self.required..]
    }

    /// What it gives.
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// The graph that is computed.
    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The results for these inputs, in the order of [`Model::inputs`] and then of [`Model::defaults`], of which the last
    /// ones may be left out; none stands for an optional one that is left out, and for a default.
    /// What is compiled for a call serves all that have the same types and sizes, or sizes that the model names.
    ///
    /// # Errors
    /// Inputs that do not fit, and a node that cannot be computed with them, which is named.
    pub fn run(&self, inputs: &[Option<Value>]) -> Result<Vec<Value>> {
        if inputs.len() < self.required || inputs.len() > self.ports.len() {
            let names: Vec<&str> = self.ports.iter().map(|port| port.name.as_str()).collect();
            let word = if names.len() == 1 { "input" } else { "inputs" };
            let message = format!("the model has {} {word} {names:?}, but {} are given", names.len(), inputs.len());
            return Err(OnnxError::Argument(message));
        }
        let more: Vec<usize> = (self.required..inputs.len()).filter(|at| inputs[*at].is_some()).collect();
        if !more.is_empty() {
            let own = &inputs[..self.required];
            let all: Vec<_> = own.iter().cloned().chain(more.iter().map(|at| inputs[*at].clone())).collect();
            return self.taking(more).run(&all);
        }
        let mut given = Vec::with_capacity(inputs.len());
        for (port, value) in self.inputs().iter().zip(inputs) {
            let value = value.clone().unwrap_or(Value::Nothing);
            port.check(&value)?;
            given.push(value);
        }
        self.plans.run(self, given)
    }

    /// An error where results are not what the model declares, of one whose inputs are declared in numbers alone.
    pub(crate) fn check_results(&self, results: &[Value]) -> Result<()> {
        let is_number = |extent: &Extent| matches!(extent, Extent::Known(_));
        if !self.inputs().iter().all(|port| port.shape.as_ref().is_some_and(|shape| shape.iter().all(is_number))) {
            return Ok(());
        }
        let pairs = self.outputs.iter().zip(results);
        pairs.into_iter().try_for_each(|(port, value)| {
            port.fit(value).map_err(|(own, given)| {
                OnnxError::Graph(format!("output '{}' is declared as what {own}, but is {given}", port.name))
            })
        })
    }

    /// The model whose inputs are those that have to be given, and some of those that need not be.
    fn taking(&self, more: Vec<usize>) -> Arc<Model> {
        let mut variants = self.variants.lock();
        if let Some((_, known)) = variants.iter().find(|(own, _)| *own == more) {
            return known.clone();
        }
        let ports: Vec<Port> = self.inputs().iter().chain(more.iter().map(|at| &self.ports[*at])).cloned().collect();
        let required = ports.len();
        let made = Arc::new(Model::of(ports, required, self.outputs.clone(), self.graph.clone()));
        variants.insert(0, (more, made.clone()));
        variants.truncate(MOST_PLANS);
        made
    }

    /// What is compiled for inputs of these types and extents, with its inputs in the order of [`Model::inputs`]. A plan serves
    /// extents that the model names up to the next power of two; where none is given, up to [`OPEN`].
    ///
    /// # Errors
    /// As [`Model::run`], and a model whose graph depends on the elements of inputs, or on extents that are not given.
    pub fn prepare(&self, kinds: &[(DType, Vec<Option<usize>>)]) -> Result<Plan> {
        let prepared = Prepared::for_extents(self, kinds)?;
        prepared.into_plan()
    }

    /// Number of plans that were compiled and are kept.
    pub fn plans(&self) -> usize {
        self.plans.len() + self.variants.lock().iter().map(|(_, model)| model.plans()).sum::<usize>()
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("inputs", &self.inputs()).field("outputs", &self.outputs).finish_non_exhaustive()
    }
}

impl Port {
    fn of(proto: &ValueInfoProto) -> Port {
        let tensor = proto.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
        let extent = |dim: &crate::proto::DimensionProto| match (dim.dim_value, &dim.dim_param) {
            (Some(n), _) => usize::try_from(n).map_or(Extent::Any, Extent::Known),
            (None, Some(name)) if !name.is_empty() => Extent::Named(name.clone()),
            _ => Extent::Any,
        };
        Port {
            name: proto.name.clone(),
            dtype: tensor.and_then(|t| types::dtype(t.elem_type.into()).ok()),
            shape: tensor.and_then(|t| t.shape.as_ref()).map(|shape| shape.dim.iter().map(extent).collect()),
        }
    }

    /// An error where a value that is given is not what the model describes.
    fn check(&self, value: &Value) -> Result<()> {
        self.fit(value)
            .map_err(|(own, given)| OnnxError::Argument(format!("input '{}' {own}, but {given} is given", self.name)))
    }

    /// An error where a value of the model is not what it describes itself.
    pub(crate) fn is_of(&self, value: &Value) -> Result<(), String> {
        self.fit(value).map_err(|(own, given)| format!("it is declared as what {own}, but is {given}"))
    }

    /// What the model describes, and what a value is, where these differ.
    fn fit(&self, value: &Value) -> Result<(), (String, String)> {
        let Ok(shape) = value.shape() else { return Ok(()) };
        if let (Some(expected), Some(given)) = (self.dtype, value.dtype())
            && expected != given
        {
            return Err((format!("is of {expected}"), given.to_string()));
        }
        let Some(own) = &self.shape else { return Ok(()) };
        let fits = |(own, given): (&Extent, &svod_tensor::Size)| match own {
            Extent::Known(n) => given.as_usize() == Some(*n),
            Extent::Named(_) | Extent::Any => true,
        };
        match own.len() == shape.len() && own.iter().zip(&shape).all(fits) {
            true => Ok(()),
            false => Err((
                format!("has extents {}", shown(own)),
                value.tensor().map_or_else(|e| e.to_string(), |t| t.described()),
            )),
        }
    }
}

fn shown(extents: &[Extent]) -> String {
    let one = |extent: &Extent| match extent {
        Extent::Known(n) => n.to_string(),
        Extent::Named(name) => name.clone(),
        Extent::Any => "?".into(),
    };
    format!("[{}]", extents.iter().map(one).collect::<Vec<_>>().join(", "))
}
