//! When a variant of a kernel runs.

use super::Lowered;
use crate::size::{Size, SizeError, Variable};
use crate::text::{ParseError, Parser, Token};
use std::fmt;

/// A condition on the variables of a run, `left <= right`; prints and parses so.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    /// What is compared.
    pub left: Size,
    /// The most that it may be.
    pub right: Size,
}

impl Guard {
    /// Reads what `Display` writes, over these variables.
    ///
    /// # Errors
    /// Where the text is not of that form, or names another variable.
    pub fn parse(text: &str, vars: &[Variable]) -> Result<Guard, ParseError> {
        let mut parser = Parser::new(text)?;
        parser.vars = vars.iter().map(|v| (v.name().to_owned(), v.clone())).collect();
        let guard = Guard::read(&mut parser)?;
        if parser.lex.peek() == Token::End { Ok(guard) } else { parser.lex.error("expected nothing after a condition") }
    }

    pub(super) fn read(parser: &mut Parser<'_>) -> Result<Guard, ParseError> {
        let left = parser.size()?;
        parser.lex.expect("<=")?;
        Ok(Guard { left, right: parser.size()? })
    }

    /// Whether it holds at these values.
    ///
    /// # Errors
    /// As [`Size::eval`].
    pub fn holds(&self, values: &dyn Fn(&Variable) -> Option<i64>) -> Result<bool, SizeError> {
        Ok(self.left.eval(values)? <= self.right.eval(values)?)
    }
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <= {}", self.left, self.right)
    }
}

impl Lowered {
    /// The variant that runs at these values: the first whose guard holds, else the last, which has none.
    ///
    /// # Errors
    /// As [`Size::eval`].
    pub fn variant(&self, values: &dyn Fn(&Variable) -> Option<i64>) -> Result<usize, SizeError> {
        for (variant, guard) in self.guards.iter().enumerate() {
            if guard.holds(values)? {
                return Ok(variant);
            }
        }
        Ok(self.guards.len())
    }
}
