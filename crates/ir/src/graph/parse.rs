//! A graph from its text form; see [`super::print`].

use super::data::Datum;
use super::leaf::{Device, Leaf, LeafClass, LeafData};
use super::op::{Op, Shape, ShowShape};
use super::uop::UOp;
use super::walk::Graph;
use crate::text::{ParseError, Parser, Token};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use svod_dtype::DType;

/// What the text says of a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafText {
    /// Its place among the leaves, from 0.
    pub number: usize,
    /// What may be assumed of the memory.
    pub class: LeafClass,
    /// The number of its storage.
    pub storage: usize,
    /// First byte.
    pub offset: u64,
    /// Where it is.
    pub device: Device,
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Shape,
}

impl Graph {
    /// Reads the form that `Display` writes; comments are left out. `leaf` gives the memory of each
    /// leaf, or says why there is none: with the leaves of the graph that was printed, the nodes are
    /// that graph's own.
    ///
    /// # Errors
    /// Where the text is not of that form, names what was not declared before, or states a type or
    /// extents that a node does not have.
    ///
    /// ```
    /// use svod_ir::graph::{Graph, declared};
    /// let text = "%0: f32[4] = leaf data storage=0 offset=0 device=\"CPU\"\n%1: f32[4] = exp %0\nreturn %1\n";
    /// let graph = Graph::parse(text, &mut declared())?;
    /// assert_eq!(graph.to_string(), text);
    /// # Ok::<(), svod_ir::ParseError>(())
    /// ```
    pub fn parse(text: &str, leaf: &mut LeafOf<'_>) -> Result<Graph, ParseError> {
        let mut p = Parser::new(text)?;
        let (_, params) = p.header()?;
        if !params.is_empty() {
            return p.lex.error("a graph has leaves, no parameters");
        }
        let mut nodes: Vec<UOp> = Vec::new();
        let mut leaves = 0;
        while p.lex.eat("%") {
            if p.lex.peek() != Token::Int(nodes.len() as i64) {
                return p.lex.error(format!("nodes are numbered in order: expected %{}", nodes.len()));
            }
            p.lex.next();
            p.lex.expect(":")?;
            let (dtype, shape) = p.array()?;
            p.lex.expect("=")?;
            let at = p.lex.place();
            let node = match p.lex.eat_word("leaf") {
                true => {
                    let text = leaf_text(&mut p, leaves, dtype, shape.clone().into())?;
                    leaves += 1;
                    leaf(&text).and_then(|leaf| UOp::leaf(leaf).map_err(|e| e.to_string()))
                }
                false => {
                    let name = p.lex.word()?;
                    let operands = if p.lex.peek() == Token::Sign("%") { operands(&mut p, &nodes)? } else { vec![] };
                    match Op::read_data(name, &mut p)? {
                        Some(op) => UOp::new(op, &operands).map_err(|e| e.to_string()),
                        None => Err(format!("no operation is named '{name}'")),
                    }
                }
            };
            let node = node.or_else(|message| p.lex.error_before(at, message))?;
            if (node.dtype(), node.shape()) != (dtype, &shape[..]) {
                let (is, stated) = (ShowShape(node.shape()), ShowShape(&shape));
                let is = format!("it is {}{is}, not {}{stated}", node.dtype().short(), dtype.short());
                return p.lex.error_before(at, is);
            }
            nodes.push(node);
        }
        p.lex.expect_word("return")?;
        let roots = if p.lex.peek() == Token::End { vec![] } else { operands(&mut p, &nodes)? };
        if p.lex.peek() == Token::End { Ok(Graph::new(&roots)) } else { p.lex.error("expected the end") }
    }
}

/// Gives the memory of a leaf, or says why there is none.
pub type LeafOf<'a> = dyn FnMut(&LeafText) -> Result<Leaf, String> + 'a;

/// Leaves without memory: the graph can be printed, rewritten and scheduled, but not run.
pub fn declared() -> impl FnMut(&LeafText) -> Result<Leaf, String> {
    let mut storages: FxHashMap<usize, Arc<dyn LeafData>> = FxHashMap::default();
    move |text: &LeafText| {
        let fresh = || -> Arc<dyn LeafData> { Arc::new(Declared::new(text)) };
        let data = storages.entry(text.storage).or_insert_with(fresh).clone();
        if (data.class(), data.device()) != (text.class, text.device.clone()) {
            return Err(format!("storage {} is of another class or on another device", text.storage));
        }
        Ok(Leaf::new(data, text.offset, text.dtype, text.shape.clone()))
    }
}

/// These leaves, in the order of the text.
pub fn given(leaves: &[Leaf]) -> impl FnMut(&LeafText) -> Result<Leaf, String> {
    move |text: &LeafText| {
        let Some(leaf) = leaves.get(text.number) else {
            return Err(format!("there are only {} leaves", leaves.len()));
        };
        if (leaf.dtype(), leaf.shape()) != (text.dtype, &text.shape) {
            let (is, stated) = (ShowShape(leaf.shape()), ShowShape(&text.shape));
            let (dtype, expected) = (leaf.dtype().short(), text.dtype.short());
            return Err(format!("leaf {} is {dtype}{is}, not {expected}{stated}", text.number));
        }
        Ok(leaf.clone())
    }
}

fn leaf_text(p: &mut Parser<'_>, number: usize, dtype: DType, shape: Shape) -> Result<LeafText, ParseError> {
    let Token::Word(word) = p.lex.peek() else { return p.lex.error("expected a leaf's class") };
    let class = match word {
        "data" => Some(LeafClass::Data),
        "borrowed" => Some(LeafClass::Borrowed),
        "output" => Some(LeafClass::Output),
        _ => word.strip_prefix("input").and_then(|slot| slot.parse().ok()).map(LeafClass::Input),
    };
    let Some(class) = class else { return p.lex.error("expected data, borrowed, output or input with its number") };
    p.lex.next();
    let storage = usize::labelled("storage", p)?;
    let offset = usize::labelled("offset", p)? as u64;
    let device = Device::labelled("device", p)?;
    Ok(LeafText { number, class, storage, offset, device, dtype, shape })
}

/// Reads `%0, %3`.
fn operands(p: &mut Parser<'_>, nodes: &[UOp]) -> Result<Vec<UOp>, ParseError> {
    let mut found = Vec::new();
    loop {
        p.lex.expect("%")?;
        let Token::Int(n) = p.lex.peek() else { return p.lex.error("expected the number of a node") };
        let Some(node) = usize::try_from(n).ok().and_then(|n| nodes.get(n)) else {
            return p.lex.error(format!("%{n} is not defined before"));
        };
        p.lex.next();
        found.push(node.clone());
        if !p.lex.eat(",") {
            return Ok(found);
        }
    }
}

/// A storage that is only declared.
#[derive(Debug)]
struct Declared {
    id: u64,
    class: LeafClass,
    device: Device,
}

impl Declared {
    fn new(text: &LeafText) -> Declared {
        // Storages that exist count up from 0, these down from the greatest number.
        static NEXT: AtomicU64 = AtomicU64::new(u64::MAX);
        Declared { id: NEXT.fetch_sub(1, Ordering::Relaxed), class: text.class, device: text.device.clone() }
    }
}

impl LeafData for Declared {
    fn storage_id(&self) -> u64 {
        self.id
    }

    fn version(&self) -> u64 {
        0
    }

    fn class(&self) -> LeafClass {
        self.class
    }

    fn device(&self) -> Device {
        self.device.clone()
    }

    fn alignment(&self) -> u64 {
        64
    }
}
