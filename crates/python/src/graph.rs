//! The class `Graph`: pending expressions as something to print, to read back and to compare.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use pyo3::{PyTraverseError, PyVisit};
use svod_ir::graph::walk::NodeIndex;
use svod_ir::graph::{Declared, Given, Graph, HostCall, HostFunction, HostText, Known, Leaf, LeafText, Op, UOp};
use svod_tensor::Tensor;

use crate::collect;
use crate::convert::{Tensors, one_by_one};
use crate::error::{Class, Result};
use crate::scalar::{Text, expected};
use crate::step::declared_call;
use crate::tensor::PyTensor;

/// What some tensors are computed by: operations, operands before users, down to memory.
///
/// `str(graph)` is its text, and `Graph.parse` reads that back: with the leaves of the graph that was
/// printed, to the same nodes; without, to a graph that can be looked at but not run. Functions of
/// `svod.custom` go by name: `graph.functions` has those of a graph, and any callable can be given
/// for one. Two graphs are equal where their roots are the same nodes.
///
/// >>> import svod
/// >>> x = svod.Tensor([1.0, 2.0])
/// >>> graph = svod.Graph(x * x)
/// >>> again = svod.Graph.parse(str(graph), graph.leaves)
/// >>> again == graph, again.roots[0].tolist()
/// (True, [1.0, 4.0])
#[pyclass(name = "Graph", module = "svod", frozen, eq, hash)]
pub struct PyGraph(Graph);

impl PyGraph {
    /// The graph itself.
    pub fn graph(&self) -> &Graph {
        &self.0
    }

    /// Operations and operands of all nodes in their order, by which graphs are equal: equal nodes are one, but for those that are
    /// told apart.
    fn structure(&self) -> impl Iterator<Item = (&Op, &[NodeIndex])> {
        self.0.iter().map(|(node, sources)| (node.op(), sources))
    }
}

impl PartialEq for PyGraph {
    fn eq(&self, other: &Self) -> bool {
        self.0.roots() == other.0.roots() && self.structure().eq(other.structure())
    }
}

impl Hash for PyGraph {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.roots().hash(state);
        self.structure().for_each(|node| node.hash(state));
    }
}

#[explained]
#[pymethods]
impl PyGraph {
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        collect::tell(&visit, |held| held.hold_graph(&self.0))
    }

    #[new]
    #[pyo3(signature = (*tensors))]
    fn new(tensors: &Bound<'_, PyTuple>) -> Result<Self> {
        let tensors = one_by_one("Graph", tensors)?;
        Ok(PyGraph(Graph::new(&tensors.iter().map(|t| t.get().0.uop()).collect::<Vec<UOp>>())))
    }

    /// Reads the text of a graph. `leaves` are tensors in memory, one for each leaf of the text, in
    /// order; `functions` are what the text calls by name: callables, or what `graph.functions` gives.
    #[staticmethod]
    #[pyo3(signature = (text, leaves=None, functions=None))]
    fn parse(text: Text, leaves: Option<Tensors>, functions: Option<&Bound<'_, PyAny>>) -> Result<Self> {
        let leaf = |(i, t): (usize, &Py<PyTensor>)| match t.get().0.in_memory()?.op() {
            Op::Leaf(leaf) => Ok(leaf.clone()),
            _ => Err(Class::Argument.raise(format!("Graph.parse: leaf {i} is not in memory: realize it"))),
        };
        let leaves = leaves.map(|given| given.0.iter().enumerate().map(leaf).collect::<Result<Vec<Leaf>>>());
        let functions = functions
            .map(|given| given.extract().map_err(|error| expected("a dict of functions by name", given, error)));
        let functions = functions.transpose()?;
        let declared = Declared::default();
        let mut names = Names { leaves: leaves.transpose()?, read: 0, functions, made: HashMap::new(), declared };
        let graph = Graph::parse(&text, &mut names);
        let graph = graph.map_err(|error| Class::Argument.raise(format!("Graph.parse: {error}")))?;
        match names.leaves.as_ref().map(Vec::len) {
            Some(given) if given > names.read => {
                let message = format!("Graph.parse: {given} leaves are given, and the text reads {}", names.read);
                Err(Class::Argument.raise(message))
            }
            _ => Ok(PyGraph(graph)),
        }
    }

    /// The tensors that it computes.
    #[getter]
    fn roots(&self) -> Vec<PyTensor> {
        self.0.roots().iter().map(|r| Tensor::from_uop(self.0.nodes()[*r as usize].clone()).into()).collect()
    }

    /// The tensors in memory that it reads, in the order of the text.
    #[getter]
    fn leaves(&self) -> Vec<PyTensor> {
        let leaves = self.0.nodes().iter().filter(|node| matches!(node.op(), Op::Leaf(_)));
        leaves.map(|node| Tensor::from_uop(node.clone()).into()).collect()
    }

    /// The functions that it calls, by the names that its text has for them.
    #[getter]
    fn functions(&self) -> HashMap<String, PyHostFunction> {
        self.0.functions().into_iter().map(|(name, call)| (name, PyHostFunction(call))).collect()
    }

    /// Number of nodes.
    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __str__(&self) -> String {
        self.0.to_string().trim_end().to_owned()
    }

    fn __repr__(&self) -> String {
        format!("Graph({} nodes, {} roots)", self.0.len(), self.0.roots().len())
    }
}

/// A function that a graph calls, for `Graph.parse`.
#[pyclass(name = "HostFunction", module = "svod", frozen)]
pub struct PyHostFunction(HostCall);

#[explained]
#[pymethods]
impl PyHostFunction {
    /// Its name.
    #[getter]
    fn name(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("HostFunction({:?})", self.name())
    }
}

/// What a text of a graph names, as it was given.
struct Names {
    leaves: Option<Vec<Leaf>>,
    /// How many of them the text reads.
    read: usize,
    functions: Option<HashMap<String, Py<PyAny>>>,
    /// Callables as functions of graphs, by how they are called.
    made: HashMap<HostText, Arc<dyn HostFunction>>,
    declared: Declared,
}

impl Known for Names {
    fn leaf(&mut self, text: &LeafText) -> std::result::Result<Leaf, String> {
        self.read = self.read.max(text.number + 1);
        match &self.leaves {
            Some(leaves) => Given { leaves, ..Given::default() }.leaf(text),
            None => self.declared.leaf(text),
        }
    }

    fn function(&mut self, text: &HostText) -> std::result::Result<Arc<dyn HostFunction>, String> {
        let Some(functions) = &self.functions else { return self.declared.function(text) };
        let Some(given) = functions.get(&text.name) else {
            return Err(format!("no function is given for '{}'", text.name));
        };
        Python::attach(|py| {
            let given = given.bind(py);
            if let Ok(known) = given.cast::<PyHostFunction>() {
                return Ok(known.get().0.function().clone());
            }
            if !given.is_callable() {
                return Err(format!("what is given for '{}' cannot be called", text.name));
            }
            let call = || declared_call(given.clone().unbind(), text.name.clone(), text.results.clone());
            Ok(self.made.entry(text.clone()).or_insert_with(|| call()).clone())
        })
    }
}
