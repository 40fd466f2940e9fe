//! The data of operations as text: how each type of datum is written and read.

use super::host::HostCall;
use super::iterate::LoopBody;
use super::leaf::{Device, Leaf};
use super::op::{Axes, Pairs, Shape, ShowShape, bracketed};
use super::sharding::{Sharding, Split};
use super::watch::{Pullback, Watch};
use crate::alu::Alu;
use crate::kernel::Monoid;
use crate::size::{BoundVariable, Size};
use crate::text::{ParseError, Parser, Token};
use std::fmt::{self, Write};
use std::sync::Arc;
use svod_dtype::{Const, DType};

/// A datum of an operation.
pub(super) trait Datum: Sized {
    /// Writes it.
    fn write(&self, f: &mut dyn Write) -> fmt::Result;

    /// Reads what [`Datum::write`] writes.
    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError>;

    /// Reads `label=datum`.
    fn labelled(label: &str, p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.lex.expect_word(label)?;
        p.lex.expect("=")?;
        Self::read(p)
    }
}

impl Datum for Const {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        write!(f, "{self}")
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let Token::Const(value) = p.lex.peek() else { return p.lex.error("expected a constant such as f32(1.5)") };
        p.lex.next();
        Ok(value)
    }
}

impl Datum for Size {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        write!(f, "{self}")
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.size()
    }
}

impl Datum for BoundVariable {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        write!(f, "{self}")
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let Token::Word(name) = p.lex.peek() else { return p.lex.error("expected a variable") };
        let Some(var) = p.vars.get(name).cloned() else {
            return p.lex.error(format!("no variable is named '{name}'"));
        };
        p.lex.next();
        p.lex.expect("=")?;
        let value = p.lex.int()?;
        var.bind(value).or_else(|e| p.lex.error(e.to_string()))
    }
}

impl Datum for usize {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        write!(f, "{self}")
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        match p.lex.peek() {
            Token::Int(value) if usize::try_from(value).is_ok() => {
                p.lex.next();
                Ok(value as usize)
            }
            _ => p.lex.error("expected a number, 0 or more"),
        }
    }
}

impl Datum for bool {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        write!(f, "{self}")
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        match p.lex.peek() {
            Token::Word(word @ ("true" | "false")) => {
                p.lex.next();
                Ok(word == "true")
            }
            _ => p.lex.error("expected true or false"),
        }
    }
}

impl Datum for DType {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        f.write_str(self.short())
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.lex.dtype()
    }
}

impl Datum for Option<Monoid> {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        match self {
            Some(by) => by.write(f),
            None => f.write_str("none"),
        }
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        if p.lex.eat_word("none") { Ok(None) } else { Monoid::read(p).map(Some) }
    }
}

impl Datum for Monoid {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        write!(f, "{self}")
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        let Token::Word(name) = p.lex.peek() else { return p.lex.error("expected a monoid such as sum") };
        let Some(by) = Monoid::parse(name) else { return p.lex.error(format!("no monoid is named '{name}'")) };
        p.lex.next();
        Ok(by)
    }
}

/// The name, in quotes.
impl Datum for Device {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        write_quoted(f, self.name())
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        Ok(Device::new(&read_quoted(p, "a device")?))
    }
}

/// `["CPU", "CPU:1"] along 0 as [2, 1]`, or `["CPU", "CPU:1"] whole`.
impl Datum for Arc<Sharding> {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        for (i, device) in self.devices().iter().enumerate() {
            f.write_str(if i == 0 { "[" } else { ", " })?;
            device.write(f)?;
        }
        match self.split() {
            Some(Split { axis, extents }) => write!(f, "] along {axis} as {}", ShowShape(extents)),
            None => f.write_str("] whole"),
        }
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.lex.expect("[")?;
        let devices = p.list("]", Device::read)?;
        let split = match p.lex.eat_word("whole") {
            true => None,
            false => {
                p.lex.expect_word("along")?;
                let axis = usize::read(p)?;
                p.lex.expect_word("as")?;
                p.lex.expect("[")?;
                Some(Split { axis, extents: p.list("]", |p| p.size())? })
            }
        };
        Sharding::new(devices, split).or_else(|e| p.lex.error(e.to_string()))
    }
}

impl Datum for Shape {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        write!(f, "{}", ShowShape(self))
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.lex.expect("[")?;
        Ok(p.list("]", |p| p.size())?.into())
    }
}

impl Datum for Axes {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        write!(f, "{:?}", self.as_slice())
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.lex.expect("[")?;
        Ok(p.list("]", usize::read)?.into())
    }
}

impl Datum for Pairs {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        struct Pair<'a>(&'a (Size, Size));
        impl fmt::Display for Pair<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}:{}", self.0.0, self.0.1)
            }
        }
        bracketed(f, self.iter().map(Pair))
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.lex.expect("[")?;
        let pair = |p: &mut Parser<'_>| {
            let first = p.size()?;
            p.lex.expect(":")?;
            Ok((first, p.size()?))
        };
        Ok(p.list("]", pair)?.into())
    }
}

/// The scalar operation is the name of the node itself.
impl Datum for Alu {
    fn write(&self, _: &mut dyn Write) -> fmt::Result {
        Ok(())
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.lex.error("a scalar operation goes by its own name")
    }
}

/// Memory is written and read with the graph, whose storages it numbers.
impl Datum for Leaf {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        write!(f, "{self}")
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.lex.error("memory is read with its graph")
    }
}

/// A body is a graph of its own, which is written and read with the graph that it is part of.
impl Datum for LoopBody {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        write!(f, "{self}")
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.lex.error("the body of a loop is read with its graph")
    }
}

/// What a function gives is written and read with its node.
impl Datum for HostCall {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        write!(f, "{self}")
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.lex.error("a function of the host is read with its graph")
    }
}

/// Writes a text in quotes.
pub(super) fn write_quoted(f: &mut dyn Write, text: &str) -> fmt::Result {
    write!(f, "\"{}\"", text.escape_default())
}

/// Reads what [`write_quoted`] writes.
pub(super) fn read_quoted(p: &mut Parser<'_>, what: &str) -> Result<String, ParseError> {
    let Token::Text(text) = p.lex.peek() else { return p.lex.error(format!("expected {what} in quotes")) };
    let Some(text) = unescaped(text) else { return p.lex.error("a backslash that escapes nothing") };
    p.lex.next();
    Ok(text)
}

/// The text that `escape_default` made of something.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        out.push(match (c, if c == '\\' { rest.next()? } else { c }) {
            ('\\', 'n') => '\n',
            ('\\', 't') => '\t',
            ('\\', 'r') => '\r',
            ('\\', 'u') => {
                let digits: String = rest.by_ref().skip(1).take_while(|c| *c != '}').collect();
                char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
            }
            (_, c) => c,
        });
    }
    Some(out)
}

impl Datum for Watch {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        write!(f, "{}", self.number())
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        usize::read(p).map(|number| Watch::numbered(number as u64))
    }
}

impl Datum for Pullback {
    fn write(&self, f: &mut dyn Write) -> fmt::Result {
        write!(f, "{}", self.rule().name())
    }

    fn read(p: &mut Parser<'_>) -> Result<Self, ParseError> {
        p.lex.error("a rule of differentiation is a function, and has no text")
    }
}
