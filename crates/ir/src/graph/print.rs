//! The text form of a graph: the variables, then one line per node, operands before users.
//!
//! ```text
//! var n = 1..=8
//! %0: f32[4, n] = leaf data storage=0 offset=0 device="CPU"
//! %1: f32[4] = reduce %0 by=sum axes=[1]  # model.py:3 (Net.head)
//! %2: f32[4] = host %1 function="sort" results=[f32[4]] output=0
//! %3: f32[4] = loop %2 output=0 body=b0 for i = 0..=9 {
//!   %0: f32[4] = parameter device="CPU"
//!   %1: f32[4] = mul %0, %0
//!   return %1
//! }
//! return %3
//! ```
//!
//! The body of a loop, a graph of its own, follows the first of its results. Numbers of nodes, storages and
//! bodies follow the order of the walk, so equal structures print equally.
//! [`Graph::parse`](Graph::parse) reads it back.

use super::data::{Datum, write_quoted};
use super::host::HostCall;
use super::iterate::LoopBody;
use super::op::{Op, ShowShape, bracketed};
use super::uop::UOp;
use super::walk::Graph;
use crate::size::Variable;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;

/// The text form of what the roots reach.
pub fn print(roots: &[UOp]) -> String {
    Graph::new(roots).to_string()
}

impl fmt::Display for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.functions().into_iter().map(|(name, call)| (call, name)).collect();
        let mut writer = Writer { f, names, storages: FxHashMap::default(), bodies: FxHashMap::default(), indent: 0 };
        writer.block(self, None)
    }
}

impl Graph {
    /// The functions of the host that it calls, in loops too, each with a name of its own: functions of
    /// one name are told apart by a number.
    pub fn functions(&self) -> Vec<(String, HostCall)> {
        let (mut known, mut bodies) = (FxHashSet::default(), FxHashSet::default());
        let mut found: Vec<(String, HostCall)> = Vec::new();
        let mut graphs = vec![self.clone()];
        while let Some(graph) = graphs.pop() {
            for node in graph.nodes() {
                match node.op() {
                    Op::Host(call, ..) if known.insert(call.clone()) => {
                        let name = call.function().name();
                        let several = (2..).map(|n| format!("{name}#{n}"));
                        let taken = |name: &String| found.iter().any(|(other, _)| other == name);
                        let own = std::iter::once(name.to_owned()).chain(several).find(|name| !taken(name));
                        found.extend(own.map(|own| (own, call.clone())));
                    }
                    Op::Loop(body, _) if bodies.insert(body.clone()) => graphs.push(Graph::new(body.results())),
                    _ => {}
                }
            }
        }
        found
    }
}

struct Writer<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    /// Names of functions of the host.
    names: FxHashMap<HostCall, String>,
    /// Numbers of storages.
    storages: FxHashMap<u64, usize>,
    /// Numbers of bodies of loops.
    bodies: FxHashMap<LoopBody, usize>,
    indent: usize,
}

impl Writer<'_, '_> {
    /// Writes a graph, or what the body of a loop computes, whose parameters are its first roots. Recursion is
    /// as deep as loops are in loops.
    fn block(&mut self, graph: &Graph, body: Option<&LoopBody>) -> fmt::Result {
        let indent = "  ".repeat(self.indent);
        for var in graph.variables().iter().filter(|var| body.is_none_or(|body| body.var() != *var)) {
            writeln!(self.f, "{indent}var {var} = {}..={}", Variable::min(var), Variable::max(var))?;
        }
        for (i, (node, sources)) in graph.iter().enumerate() {
            let (dtype, shape) = (node.dtype().short(), ShowShape(node.shape()));
            write!(self.f, "{indent}%{i}: {dtype}{shape} = ")?;
            let opened = self.node(graph, node, sources, body)?;
            match node.origin() {
                Some(origin) => writeln!(self.f, "  # {origin}")?,
                None => writeln!(self.f)?,
            }
            if let Some(body) = opened {
                self.indent += 1;
                self.block(&body.graph().map_err(|_| fmt::Error)?, Some(&body))?;
                self.indent -= 1;
                writeln!(self.f, "{indent}}}")?;
            }
        }
        write!(self.f, "{indent}return")?;
        self.list(&graph.roots()[body.map_or(0, |body| body.params().len())..])?;
        writeln!(self.f)
    }

    /// Writes what a node is; gives the body of a loop that is to follow.
    fn node(
        &mut self,
        graph: &Graph,
        node: &UOp,
        sources: &[u32],
        body: Option<&LoopBody>,
    ) -> Result<Option<LoopBody>, fmt::Error> {
        if let (Op::Leaf(leaf), Some(body)) = (node.op(), body)
            && body.params().contains(leaf)
        {
            self.f.write_str("parameter device=")?;
            leaf.data().device().write(self.f)?;
            return Ok(None);
        }
        self.f.write_str(node.op().name())?;
        self.list(sources)?;
        match node.op() {
            Op::Leaf(leaf) => {
                let fresh = self.storages.len();
                let storage = *self.storages.entry(leaf.storage()).or_insert(fresh);
                write!(self.f, " {} storage={storage} offset={} device=", leaf.class(), leaf.offset())?;
                leaf.data().device().write(self.f)?;
            }
            Op::Host(call, _, output) => {
                self.f.write_str(" function=")?;
                write_quoted(self.f, self.names.get(call).map_or("", String::as_str))?;
                self.f.write_str(" results=")?;
                let operands: Vec<UOp> = sources.iter().map(|s| graph.nodes()[*s as usize].clone()).collect();
                let results = call.outputs(&operands).map_err(|_| fmt::Error)?;
                let shown = results.iter().map(|(dtype, shape)| format!("{}{}", dtype.short(), ShowShape(shape)));
                bracketed(self.f, shown)?;
                write!(self.f, " output={output}")?;
            }
            Op::Loop(body, output) => {
                let fresh = self.bodies.len();
                let number = *self.bodies.entry(body.clone()).or_insert(fresh);
                write!(self.f, " output={output} body=b{number}")?;
                if number == fresh {
                    let var = body.var();
                    write!(self.f, " for {var} = {}..={}", Variable::min(var), Variable::max(var))?;
                    if body.carried() < body.results().len() {
                        write!(self.f, " carried={}", body.carried())?;
                    }
                    self.f.write_str(" {")?;
                    return Ok(Some(body.clone()));
                }
            }
            op => self.f.write_str(&op.data_text())?,
        }
        Ok(None)
    }

    fn list(&mut self, nodes: &[u32]) -> fmt::Result {
        for (i, n) in nodes.iter().enumerate() {
            write!(self.f, "{} %{n}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}
