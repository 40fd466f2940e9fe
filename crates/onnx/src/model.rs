//! Models: what is read from a file.

use std::path::Path;

use bytes::Bytes;
use prost::Message;
use svod_dtype::DType;
use svod_tensor::Plan;

use crate::constants::External;
use crate::error::{OnnxError, Result};
use crate::graph::{Graph, Library};
use crate::plan::{Plans, Prepared};
use crate::proto::{ModelProto, ValueInfoProto};
use crate::types;
use crate::value::Value;

/// A model: called with values, which are compiled for at first.
pub struct Model {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    graph: Graph,
    plans: Plans,
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
        // Constants of early versions are inputs as well.
        let is_given = |port: &&ValueInfoProto| !built.constants.iter().any(|(name, _)| *name == port.name);
        let inputs: Vec<Port> = graph.input.iter().filter(is_given).map(Port::of).collect();
        let outputs = graph.output.iter().map(Port::of).collect();
        let inner = Graph { inputs: inputs.iter().map(|port| port.name.clone()).collect(), ..built };
        Ok(Model { inputs, outputs, graph: inner, plans: Plans::default() })
    }

    /// What it is called with.
    pub fn inputs(&self) -> &[Port] {
        &self.inputs
    }

    /// What it gives.
    pub fn outputs(&self) -> &[Port] {
        &self.outputs
    }

    /// The graph that is computed.
    pub(crate) fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The results for these inputs, in the order of [`Model::inputs`]; none stands for an optional one that is left out.
    /// What is compiled for a call serves all that have the same types and sizes, or sizes that the model names.
    ///
    /// # Errors
    /// Inputs that do not fit, and a node that cannot be computed with them, which is named.
    pub fn run(&self, inputs: &[Option<Value>]) -> Result<Vec<Value>> {
        if inputs.len() != self.inputs.len() {
            let names: Vec<&str> = self.inputs.iter().map(|port| port.name.as_str()).collect();
            let message = format!("the model has {} inputs {names:?}, but {} are given", names.len(), inputs.len());
            return Err(OnnxError::Argument(message));
        }
        let mut given = Vec::with_capacity(inputs.len());
        for (port, value) in self.inputs.iter().zip(inputs) {
            let value = value.clone().unwrap_or(Value::Nothing);
            port.check(&value)?;
            given.push(value);
        }
        self.plans.run(self, given)
    }

    /// What is compiled for inputs of these types and extents, with its inputs in the order of [`Model::inputs`].
    ///
    /// # Errors
    /// As [`Model::run`], and a model whose graph depends on the elements of inputs.
    pub fn prepare(&self, kinds: &[(DType, Vec<usize>)]) -> Result<Plan> {
        let prepared = Prepared::for_extents(self, kinds)?;
        prepared.into_plan()
    }

    /// Number of plans that were compiled and are kept.
    pub fn plans(&self) -> usize {
        self.plans.len()
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("inputs", &self.inputs).field("outputs", &self.outputs).finish_non_exhaustive()
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

    /// An error where a value is not what the model describes.
    fn check(&self, value: &Value) -> Result<()> {
        let Ok(shape) = value.shape() else { return Ok(()) };
        let (expected, given) = (self.dtype, value.dtype());
        if let (Some(expected), Some(given)) = (expected, given)
            && expected != given
        {
            return Err(OnnxError::Argument(format!("input '{}' is of {expected}, but {given} is given", self.name)));
        }
        let Some(own) = &self.shape else { return Ok(()) };
        let fits = |(own, given): (&Extent, &svod_tensor::Size)| match own {
            Extent::Known(n) => given.as_usize() == Some(*n),
            Extent::Named(_) | Extent::Any => true,
        };
        match own.len() == shape.len() && own.iter().zip(&shape).all(fits) {
            true => Ok(()),
            false => Err(OnnxError::Argument(format!(
                "input '{}' has extents {}, but {} is given",
                self.name,
                shown(own),
                value.tensor().map_or_else(|e| e.to_string(), |t| t.described())
            ))),
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
