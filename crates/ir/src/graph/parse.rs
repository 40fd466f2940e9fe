//! A graph from its text form; see [`super::print`].

use super::data::{Datum, read_quoted};
use super::host::HostCall;
use super::iterate::LoopBody;
use super::known::{HostText, Known, LeafText, declared_leaf};
use super::leaf::{Device, Leaf, LeafClass};
use super::op::{Op, Shape, ShowShape};
use super::uop::UOp;
use super::walk::Graph;
use crate::size::Variable;
use crate::text::{ParseError, Parser, Token};
use svod_dtype::DType;

impl Graph {
    /// Reads the form that `Display` writes; comments are left out. What a text only names, memory and
    /// functions of the host, `known` gives, or says why there is none: with the leaves and functions of the
    /// graph that was printed, the nodes are that graph's own.
    ///
    /// # Errors
    /// Where the text is not of that form, names what was not declared before, or states a type or
    /// extents that a node does not have.
    ///
    /// ```
    /// use svod_ir::graph::{Declared, Graph};
    /// let text = "%0: f32[4] = leaf data storage=0 offset=0 device=\"CPU\"\n%1: f32[4] = exp %0\nreturn %1\n";
    /// let graph = Graph::parse(text, &mut Declared::default())?;
    /// assert_eq!(graph.to_string(), text);
    /// # Ok::<(), svod_ir::ParseError>(())
    /// ```
    pub fn parse(text: &str, known: &mut dyn Known) -> Result<Graph, ParseError> {
        let mut reader = Reader { p: Parser::new(text)?, known, leaves: 0, bodies: Vec::new(), loops: Vec::new() };
        let roots = reader.block(None)?;
        match reader.p.lex.peek() {
            Token::End => Ok(Graph::new(&roots)),
            _ => reader.p.lex.error("expected the end"),
        }
    }
}

struct Reader<'a> {
    p: Parser<'a>,
    known: &'a mut dyn Known,
    /// Leaves so far.
    leaves: usize,
    /// Bodies of loops so far, by number; none where one is being read.
    bodies: Vec<Option<LoopBody>>,
    /// The variables of the loops around.
    loops: Vec<Variable>,
}

impl Reader<'_> {
    /// Reads variables, nodes and what they are for. In the body of a loop, its parameters are added to `params`.
    fn block(&mut self, mut params: Option<&mut Vec<Leaf>>) -> Result<Vec<UOp>, ParseError> {
        let (vars, arguments) = self.p.header()?;
        for var in vars.iter().filter(|var| !self.loops.contains(var)) {
            Variable::new(var.name(), Variable::min(var), Variable::max(var))
                .or_else(|e| self.p.lex.error(e.to_string()))?;
        }
        if !arguments.is_empty() {
            return self.p.lex.error("a graph has leaves, no arguments");
        }
        let mut nodes: Vec<UOp> = Vec::new();
        while self.p.lex.eat("%") {
            if self.p.lex.peek() != Token::Int(nodes.len() as i64) {
                return self.p.lex.error(format!("nodes are numbered in order: expected %{}", nodes.len()));
            }
            self.p.lex.next();
            self.p.lex.expect(":")?;
            let (dtype, shape) = self.p.array()?;
            self.p.lex.expect("=")?;
            let at = self.p.lex.place();
            let node = self.node(&nodes, dtype, shape.clone().into(), params.as_deref_mut())?;
            let node = node.or_else(|message| self.p.lex.error_before(at, message))?;
            if (node.dtype(), node.shape()) != (dtype, &shape[..]) {
                let (is, stated) = (ShowShape(node.shape()), ShowShape(&shape));
                let is = format!("it is {}{is}, not {}{stated}", node.dtype().short(), dtype.short());
                return self.p.lex.error_before(at, is);
            }
            nodes.push(node);
        }
        self.p.lex.expect_word("return")?;
        self.operands(&nodes)
    }

    /// Reads what a node is, of this type and shape as stated. The inner error is about the node as a whole.
    fn node(
        &mut self,
        nodes: &[UOp],
        dtype: DType,
        shape: Shape,
        params: Option<&mut Vec<Leaf>>,
    ) -> Result<Result<UOp, String>, ParseError> {
        let name = self.p.lex.word()?;
        let built = |node: Result<UOp, super::GraphError>| node.map_err(|e| e.to_string());
        match (name, params) {
            ("parameter", Some(params)) => {
                let class = LeafClass::Input(params.len() as u32);
                let param = declared_leaf(class, Device::labelled("device", &mut self.p)?, dtype, shape);
                params.push(param.clone());
                return Ok(built(UOp::leaf(param)));
            }
            ("leaf", _) => {
                let text = leaf_text(&mut self.p, self.leaves, dtype, shape)?;
                self.leaves += 1;
                return Ok(self.known.leaf(&text).and_then(|leaf| built(UOp::leaf(leaf))));
            }
            _ => {}
        }
        let operands = self.operands(nodes)?;
        let op = match name {
            "loop" => {
                let output = usize::labelled("output", &mut self.p)?;
                Some(Op::Loop(self.body()?, output))
            }
            "host" => match self.host(&operands)? {
                Ok(function) => Some(Op::Host(function, operands.len(), usize::labelled("output", &mut self.p)?)),
                Err(message) => return Ok(Err(message)),
            },
            _ => Op::read_data(name, &mut self.p)?,
        };
        Ok(match op {
            Some(op) => built(UOp::new(op, &operands)),
            None => Err(format!("no operation is named '{name}'")),
        })
    }

    /// Reads `body=b0`, and, where it is the first of that number, the body itself.
    fn body(&mut self) -> Result<LoopBody, ParseError> {
        self.p.lex.expect_word("body")?;
        self.p.lex.expect("=")?;
        let place = self.p.lex.place();
        let name = self.p.lex.word()?;
        let known = self.bodies.len();
        let number = name.strip_prefix('b').and_then(|n| n.parse().ok()).filter(|n| *n <= known);
        let Some(number) = number else {
            return self.p.lex.error_before(place, format!("bodies of loops are numbered in order: expected b{known}"));
        };
        match self.bodies.get::<usize>(number) {
            Some(Some(body)) => return Ok(body.clone()),
            Some(None) => return self.p.lex.error_before(place, format!("the body of {name} is still open")),
            None => self.bodies.push(None),
        }
        self.p.lex.expect_word("for")?;
        let outer = self.p.vars.clone();
        let var = self.p.definition()?;
        let carried = if self.p.lex.eat_word("carried") {
            self.p.lex.expect("=")?;
            usize::try_from(self.p.lex.int()?).ok()
        } else {
            None
        };
        self.p.lex.expect("{")?;
        self.loops.push(var.clone());
        let mut params = Vec::new();
        let results = self.nested_block(&mut params)?;
        self.loops.pop();
        self.p.lex.expect("}")?;
        self.p.vars = outer;
        let carried = carried.unwrap_or(results.len());
        if carried > results.len() {
            return self.p.lex.error_before(place, format!("{carried} carried values of {} results", results.len()));
        }
        let body =
            LoopBody::new(var, params, results, carried).or_else(|e| self.p.lex.error_before(place, e.to_string()))?;
        self.bodies[number] = Some(body.clone());
        Ok(body)
    }

    fn nested_block(&mut self, params: &mut Vec<Leaf>) -> Result<Vec<UOp>, ParseError> {
        self.p.enter()?;
        let results = self.block(Some(params));
        self.p.leave();
        results
    }

    /// Reads `function="sort" results=[f32[4]]`. The inner error says why there is no such function.
    fn host(&mut self, operands: &[UOp]) -> Result<Result<HostCall, String>, ParseError> {
        self.p.lex.expect_word("function")?;
        self.p.lex.expect("=")?;
        let name = read_quoted(&mut self.p, "the name of a function")?;
        self.p.lex.expect_word("results")?;
        self.p.lex.expect("=")?;
        self.p.lex.expect("[")?;
        let results = self.p.list("]", |p| p.array())?;
        let results = results.into_iter().map(|(dtype, shape)| (dtype, shape.into())).collect();
        let operands = operands.iter().map(|o| (o.dtype(), o.shape_arc().clone())).collect();
        Ok(self.known.function(&HostText { name, operands, results }).map(HostCall::new))
    }

    /// Reads `%0, %3`, or nothing.
    fn operands(&mut self, nodes: &[UOp]) -> Result<Vec<UOp>, ParseError> {
        let lex = &mut self.p.lex;
        let mut found = Vec::new();
        if lex.starts_line() || lex.peek() != Token::Sign("%") {
            return Ok(found);
        }
        loop {
            lex.expect("%")?;
            let Token::Int(n) = lex.peek() else { return lex.error("expected the number of a node") };
            let Some(node) = usize::try_from(n).ok().and_then(|n| nodes.get(n)) else {
                return lex.error(format!("%{n} is not defined before"));
            };
            lex.next();
            found.push(node.clone());
            if !lex.eat(",") {
                return Ok(found);
            }
        }
    }
}

fn leaf_text(p: &mut Parser<'_>, number: usize, dtype: DType, shape: Shape) -> Result<LeafText, ParseError> {
    let Token::Word(word) = p.lex.peek() else { return p.lex.error("expected a leaf's class") };
    let class = match word {
        "data" => Some(LeafClass::Data),
        "literal" => Some(LeafClass::Literal),
        "borrowed" => Some(LeafClass::Borrowed),
        "file" => Some(LeafClass::File),
        "output" => Some(LeafClass::Output),
        "awaited" => Some(LeafClass::Awaited),
        _ => word.strip_prefix("input").and_then(|slot| slot.parse().ok()).map(LeafClass::Input),
    };
    let Some(class) = class else { return p.lex.error("expected data, borrowed, output or input with its number") };
    p.lex.next();
    let storage = usize::labelled("storage", p)?;
    let offset = usize::labelled("offset", p)? as u64;
    let device = Device::labelled("device", p)?;
    Ok(LeafText { number, class, storage, offset, device, dtype, shape })
}
