//! Equations between elementwise expressions: their text, matching and building.
//!
//! `name: lhs => rhs`, one a line. `x y z w` stand for any operand, `c0 c1 c2` for a constant that
//! fills the whole shape, a number or `true`/`false` for that constant in the operand's type, bit
//! for bit (`0.0` is not `-0.0`). Operations are written with the usual signs or by their text
//! names; operands of commutative ones match in both orders. The same letter twice means the same
//! node twice.

use crate::alu::{Alu, DTypeRule};
use crate::graph::{GraphError, Op, Shape, UOp};
use smallvec::SmallVec;
use svod_dtype::{Const, DType};

/// One side of an equation.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Any operand, `x`: a slot of [`Bindings`].
    Any(usize),
    /// A constant, `c0`: a slot of [`Bindings`].
    Constant(usize),
    /// This integer.
    Int(i64),
    /// This float.
    Float(f64),
    /// An operation.
    Alu(Alu, Vec<Pattern>),
}

/// Number of slots: four letters, three constants.
const SLOTS: usize = 7;
const LETTERS: [&str; SLOTS] = ["x", "y", "z", "w", "c0", "c1", "c2"];
const FIRST_CONSTANT: usize = 4;

/// What the letters of an equation stand for.
#[derive(Clone, Debug, Default)]
pub struct Bindings([Option<UOp>; SLOTS]);

impl Bindings {
    /// The node that a slot stands for.
    pub fn get(&self, slot: usize) -> Option<&UOp> {
        self.0[slot].as_ref()
    }

    /// Lets a slot stand for a node.
    pub fn set(&mut self, slot: usize, node: UOp) {
        self.0[slot] = Some(node);
    }

    fn unify(&mut self, slot: usize, node: &UOp) -> bool {
        match &self.0[slot] {
            Some(bound) => bound == node,
            None => {
                self.set(slot, node.clone());
                true
            }
        }
    }
}

/// `lhs => rhs`.
#[derive(Clone, Debug, PartialEq)]
pub struct Equation {
    /// Name, unique in its family.
    pub name: &'static str,
    /// What is replaced.
    pub lhs: Pattern,
    /// By what.
    pub rhs: Pattern,
}

impl Equation {
    /// Reads `name: lhs => rhs`; `None` where the text is not of that form.
    pub fn parse(line: &'static str) -> Option<Equation> {
        let (name, sides) = line.split_once(": ")?;
        let (lhs, rhs) = sides.split_once("=>")?;
        Some(Equation { name: name.trim(), lhs: parse(lhs)?, rhs: parse(rhs)? })
    }

    /// The replacement for `node`, where the left side matches it.
    pub fn apply(&self, node: &UOp) -> Result<Option<UOp>, GraphError> {
        let mut bindings = Bindings::default();
        if !self.lhs.matches(node, &mut bindings) {
            return Ok(None);
        }
        self.rhs.build(&bindings, node.shape_arc(), node.dtype())
    }
}

impl Pattern {
    /// Whether this is `node`, given, and adding to, what the letters stand for.
    pub fn matches(&self, node: &UOp, bindings: &mut Bindings) -> bool {
        match self {
            Pattern::Any(slot) => bindings.unify(*slot, node),
            Pattern::Constant(slot) => node.uniform().is_some() && bindings.unify(*slot, node),
            Pattern::Int(_) | Pattern::Float(_) => node.uniform().is_some_and(|c| self.literal(c.dtype()) == Some(c)),
            Pattern::Alu(op, patterns) => {
                if *node.op() != Op::Alu(*op) {
                    return false;
                }
                let mut sources = node.sources();
                if sources.len() != patterns.len() {
                    return false; // forced by another thread meanwhile
                }
                let before = bindings.clone();
                if patterns.iter().zip(&sources).all(|(p, s)| p.matches(s, bindings)) {
                    return true;
                }
                *bindings = before;
                sources.reverse();
                op.commutes() && patterns.iter().zip(&sources).all(|(p, s)| p.matches(s, bindings))
            }
        }
    }

    /// The expression with the letters replaced. `dtype` is the type of the whole, for a literal
    /// that no neighbour gives a type. `None` where a letter stands for nothing, or a literal does
    /// not fit its type.
    pub fn build(&self, bindings: &Bindings, shape: &Shape, dtype: DType) -> Result<Option<UOp>, GraphError> {
        match self {
            Pattern::Any(slot) | Pattern::Constant(slot) => Ok(bindings.get(*slot).cloned()),
            Pattern::Int(_) | Pattern::Float(_) => self.literal(dtype).map(|value| UOp::full(value, shape)).transpose(),
            Pattern::Alu(op, patterns) => {
                let select = op.rule() == DTypeRule::Select;
                let operands = patterns.iter().skip(usize::from(select));
                let of_operands = operands.clone().find_map(|p| p.dtype(bindings)).unwrap_or(dtype);
                let mut sources = SmallVec::<[UOp; 3]>::new();
                for (i, pattern) in patterns.iter().enumerate() {
                    let dtype = if select && i == 0 { DType::Bool } else { of_operands };
                    let Some(source) = pattern.build(bindings, shape, dtype)? else { return Ok(None) };
                    sources.push(source);
                }
                UOp::alu(*op, &sources).map(Some)
            }
        }
    }

    /// The operation at the top.
    pub fn head(&self) -> Option<Alu> {
        match self {
            Pattern::Alu(op, _) => Some(*op),
            _ => None,
        }
    }

    /// The type, as far as the letters tell.
    fn dtype(&self, bindings: &Bindings) -> Option<DType> {
        match self {
            Pattern::Any(slot) | Pattern::Constant(slot) => bindings.get(*slot).map(UOp::dtype),
            Pattern::Int(_) | Pattern::Float(_) => None,
            Pattern::Alu(op, _) if op.rule() == DTypeRule::Compare => Some(DType::Bool),
            Pattern::Alu(_, patterns) => patterns.iter().rev().find_map(|p| p.dtype(bindings)),
        }
    }

    fn literal(&self, dtype: DType) -> Option<Const> {
        match *self {
            Pattern::Int(value) => {
                let c = Const::i64(dtype, value);
                (c.as_f64() == value as f64).then_some(c)
            }
            Pattern::Float(value) => Some(Const::f64(dtype, value)),
            _ => None,
        }
    }
}

/// Infix signs, loosest first; those of one row associate to the left.
const INFIX: &[&[(&str, Alu)]] = &[
    &[("|", Alu::Or)],
    &[("^", Alu::Xor)],
    &[("&", Alu::And)],
    &[("==", Alu::Eq), ("!=", Alu::Ne), ("<=", Alu::Le), ("<", Alu::Lt)],
    &[("<<", Alu::Shl), (">>", Alu::Shr)],
    &[("+", Alu::Add), ("-", Alu::Sub)],
    &[("*", Alu::Mul), ("//", Alu::FloorDiv), ("/", Alu::Div), ("%", Alu::FloorMod)],
];

fn parse(text: &str) -> Option<Pattern> {
    let mut tokens = tokens(text);
    tokens.reverse();
    let pattern = infix(&mut tokens, 0)?;
    tokens.is_empty().then_some(pattern)
}

fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let len = match first {
            c if word(c) => rest.find(|c| !word(c)).unwrap_or(rest.len()),
            _ => {
                let two = ["==", "!=", "<=", "<<", ">>", "//"].iter().any(|sign| rest.starts_with(sign));
                if two { 2 } else { first.len_utf8() }
            }
        };
        found.push(&rest[..len]);
        rest = rest[len..].trim_start();
    }
    found
}

/// `tokens` is a stack: the next token is the last.
fn infix(tokens: &mut Vec<&str>, row: usize) -> Option<Pattern> {
    let Some(signs) = INFIX.get(row) else { return prefix(tokens) };
    let mut left = infix(tokens, row + 1)?;
    while let Some((_, op)) = tokens.last().and_then(|t| signs.iter().find(|(sign, _)| sign == t)) {
        tokens.pop();
        left = Pattern::Alu(*op, vec![left, infix(tokens, row + 1)?]);
    }
    Some(left)
}

fn prefix(tokens: &mut Vec<&str>) -> Option<Pattern> {
    match tokens.pop()? {
        "-" => Some(match prefix(tokens)? {
            Pattern::Int(value) => Pattern::Int(-value),
            Pattern::Float(value) => Pattern::Float(-value),
            operand => Pattern::Alu(Alu::Neg, vec![operand]),
        }),
        "!" => Some(Pattern::Alu(Alu::Not, vec![prefix(tokens)?])),
        "(" => {
            let inner = infix(tokens, 0)?;
            (tokens.pop()? == ")").then_some(inner)
        }
        "true" => Some(Pattern::Int(1)),
        "false" => Some(Pattern::Int(0)),
        word => {
            if let Some(slot) = LETTERS.iter().position(|l| *l == word) {
                return Some(if slot < FIRST_CONSTANT { Pattern::Any(slot) } else { Pattern::Constant(slot) });
            }
            if let Ok(value) = word.parse() {
                return Some(Pattern::Int(value));
            }
            if let Ok(value) = word.parse() {
                return Some(Pattern::Float(value));
            }
            let op = Alu::parse(word)?;
            let mut arguments = Vec::new();
            let mut sign = "(";
            for _ in 0..op.arity() {
                if tokens.pop()? != sign {
                    return None;
                }
                arguments.push(infix(tokens, 0)?);
                sign = ",";
            }
            (tokens.pop()? == ")").then_some(Pattern::Alu(op, arguments))
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn parses_by_precedence() {
        let (x, y) = (Pattern::Any(0), Pattern::Any(1));
        let product = Pattern::Alu(Alu::Mul, vec![y.clone(), Pattern::Constant(4)]);
        let sum = Pattern::Alu(Alu::Add, vec![x.clone(), product]);
        let less = Pattern::Alu(Alu::Lt, vec![sum, Pattern::Int(-2)]);
        assert_eq!(parse("x + y * c0 < -2"), Some(less));
        assert_eq!(parse("max(x, y)"), Some(Pattern::Alu(Alu::Max, vec![x.clone(), y])));
        assert_eq!(parse("!x"), Some(Pattern::Alu(Alu::Not, vec![x])));
        for bad in ["x +", "max(x)", "q", "(x", "x y", "max(x, y"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
