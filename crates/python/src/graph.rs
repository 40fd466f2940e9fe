//! The class `Graph`: pending expressions as something to print, to read back and to compare.

use std::hash::{Hash, Hasher};

use pyo3::prelude::*;
use svod_ir::graph::{Graph, Leaf, Op, UOp, declared, given};
use svod_tensor::Tensor;

use crate::error::{Class, Result};
use crate::tensor::PyTensor;

/// What some tensors are computed by: operations, operands before users, down to memory.
///
/// `str(graph)` is its text, and `Graph.parse` reads that back: with the leaves of the graph that was
/// printed, to the same nodes; without, to a graph that can be looked at but not run. Two graphs are
/// equal where their roots are the same nodes.
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
    fn root_ids(&self) -> impl Iterator<Item = u64> {
        self.0.roots().iter().map(|r| self.0.nodes()[*r as usize].id())
    }
}

impl PartialEq for PyGraph {
    fn eq(&self, other: &Self) -> bool {
        self.root_ids().eq(other.root_ids())
    }
}

impl Hash for PyGraph {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.root_ids().for_each(|id| id.hash(state));
    }
}

#[pymethods]
impl PyGraph {
    #[new]
    #[pyo3(signature = (*tensors))]
    fn new(tensors: Vec<Py<PyTensor>>) -> Self {
        PyGraph(Graph::new(&tensors.iter().map(|t| t.get().0.uop()).collect::<Vec<UOp>>()))
    }

    /// Reads the text of a graph. `leaves` are tensors in memory, one for each leaf of the text, in
    /// order.
    #[staticmethod]
    #[pyo3(signature = (text, leaves=None))]
    fn parse(text: &str, leaves: Option<Vec<Py<PyTensor>>>) -> Result<Self> {
        let graph = match leaves {
            None => Graph::parse(text, &mut declared()),
            Some(tensors) => {
                let leaf = |(i, t): (usize, &Py<PyTensor>)| match t.get().0.uop().op() {
                    Op::Leaf(leaf) => Ok(leaf.clone()),
                    _ => Err(Class::Argument.raise(format!("Graph.parse: leaf {i} is not in memory: realize it"))),
                };
                let leaves: Vec<Leaf> = tensors.iter().enumerate().map(leaf).collect::<Result<_>>()?;
                Graph::parse(text, &mut given(&leaves))
            }
        };
        Ok(PyGraph(graph.map_err(|error| Class::Argument.raise(format!("Graph.parse: {error}")))?))
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
