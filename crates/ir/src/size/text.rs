//! The text form of sizes: `n*4 + 3`, `(n + 3)//4`, `min(n, m)%8`.
//!
//! Operators and precedence are Python's: unary minus binds tighter than `*`, `//` and `%`, which
//! bind tighter than `+` and `-`, all from the left.

use std::fmt;

use super::poly::{Atom, Repr, Term};
use super::{Size, SizeError, Variable};
use crate::text::in_word;

/// The deepest nesting that the parser follows.
const MAX_NESTING: u32 = 200;

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Const(value) => write!(f, "{value}"),
            Repr::Fault(fault) => write!(f, "<{fault}>"),
            Repr::Expr(poly) => write_sum(f, poly.terms()),
        }
    }
}

impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn write_sum(f: &mut fmt::Formatter<'_>, terms: &[Term]) -> fmt::Result {
    let (constants, others): (Vec<_>, Vec<_>) = terms.iter().partition(|t| t.factors.is_empty());
    for (i, term) in others.into_iter().chain(constants).enumerate() {
        // The least number has no positive counterpart, so it keeps its sign.
        let least = term.coefficient == i64::MIN;
        let negative = term.coefficient < 0 && !least;
        f.write_str(match (i, negative) {
            (0, false) => "",
            (0, true) => "-",
            (_, false) => " + ",
            (_, true) => " - ",
        })?;
        let magnitude = if least { term.coefficient } else { term.coefficient.abs() };
        if term.factors.is_empty() {
            write!(f, "{magnitude}")?;
            continue;
        }
        let alone = term.factors.len() == 1 && magnitude == 1 && !(i == 0 && negative);
        for (j, factor) in term.factors.iter().enumerate() {
            f.write_str(if j == 0 { "" } else { "*" })?;
            write_atom(f, factor, alone)?;
        }
        if magnitude != 1 {
            write!(f, "*{magnitude}")?;
        }
    }
    Ok(())
}

fn write_atom(f: &mut fmt::Formatter<'_>, atom: &Atom, alone: bool) -> fmt::Result {
    let (open, close) = if alone { ("", "") } else { ("(", ")") };
    match atom {
        Atom::Var(v) => write!(f, "{v}"),
        Atom::Min(a, b) => write!(f, "min({a}, {b})"),
        Atom::Max(a, b) => write!(f, "max({a}, {b})"),
        Atom::FloorDiv(a, b) => write!(f, "{open}{}//{}{close}", Operand(a), Operand(b)),
        Atom::Mod(a, b) => write!(f, "{open}{}%{}{close}", Operand(a), Operand(b)),
    }
}

/// A size in parentheses unless it is a single word.
struct Operand<'a>(&'a Size);

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.0.expr_terms() {
            [] => self.0.as_const().is_some_and(|v| v >= 0),
            [t] => {
                let named = |a: &Atom| !matches!(a, Atom::FloorDiv(..) | Atom::Mod(..));
                t.coefficient == 1 && t.factors.len() == 1 && t.factors.iter().all(named)
            }
            _ => false,
        };
        match word {
            true => write!(f, "{}", self.0),
            false => write!(f, "({})", self.0),
        }
    }
}

pub(super) fn parse(text: &str, lookup: &dyn Fn(&str) -> Option<Variable>) -> Result<Size, SizeError> {
    let mut parser = Parser { rest: text.trim_start(), lookup, nesting: 0 };
    let size = parser.sum().and_then(|size| match parser.rest {
        "" => Ok(size),
        rest => Err(format!("unexpected '{rest}'")),
    });
    let size = size.map_err(|reason| SizeError::Parse { text: text.to_owned(), reason })?;
    match size.fault() {
        Some(fault) => Err(fault.into()),
        None => Ok(size),
    }
}

struct Parser<'a> {
    rest: &'a str,
    lookup: &'a dyn Fn(&str) -> Option<Variable>,
    nesting: u32,
}

impl<'a> Parser<'a> {
    fn sum(&mut self) -> Result<Size, String> {
        let mut total = self.product()?;
        loop {
            if self.eat("+") {
                total = total + self.product()?;
            } else if self.eat("-") {
                total = total - self.product()?;
            } else {
                return Ok(total);
            }
        }
    }

    fn product(&mut self) -> Result<Size, String> {
        let mut product = self.unary()?;
        loop {
            if self.eat("*") {
                product = product * self.unary()?;
            } else if self.eat("//") {
                product = product.floordiv(self.unary()?);
            } else if self.eat("%") {
                product = product.modulo(self.unary()?);
            } else {
                return Ok(product);
            }
        }
    }

    fn unary(&mut self) -> Result<Size, String> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err("nested too deep".to_owned());
        }
        let size = if self.eat("-") {
            // The least number has no positive counterpart, so it is read with its sign.
            match self.take(|c| c.is_ascii_digit()) {
                "" => -self.unary()?,
                digits => number(&format!("-{digits}"))?,
            }
        } else {
            self.primary()?
        };
        self.nesting -= 1;
        Ok(size)
    }

    fn primary(&mut self) -> Result<Size, String> {
        if self.eat("(") {
            let size = self.sum()?;
            self.expect(")")?;
            return Ok(size);
        }
        match self.take(in_word) {
            "" => match self.rest {
                "" => Err("it ends too early".to_owned()),
                rest => Err(format!("unexpected '{rest}'")),
            },
            word @ ("min" | "max") => {
                self.expect("(")?;
                let a = self.sum()?;
                self.expect(",")?;
                let b = self.sum()?;
                self.expect(")")?;
                Ok(if word == "min" { a.min(b) } else { a.max(b) })
            }
            word if word.starts_with(|c: char| c.is_ascii_digit()) => number(word),
            word => match (self.lookup)(word) {
                Some(variable) => Ok(variable.into()),
                None => Err(format!("unknown variable '{word}'")),
            },
        }
    }

    fn eat(&mut self, token: &str) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        match self.eat(token) {
            true => Ok(()),
            false => Err(format!("expected '{token}' before '{}'", self.rest)),
        }
    }

    fn take(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        word
    }
}

fn number(digits: &str) -> Result<Size, String> {
    let value = digits.parse::<i64>().map_err(|_| format!("'{digits}' is not a 64-bit number"))?;
    Ok(value.into())
}
