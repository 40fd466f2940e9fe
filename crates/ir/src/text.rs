//! The text forms: one lexer and one expression syntax for the kernel and the loop tree.
//!
//! ```text
//! expr  = expr ('|' | '^' | '&' | '==' | '!=' | '<' | '<=' | '<<' | '>>' | '+' | '-' | '*' | '/') expr
//!       | '-' expr | '!' expr | alu '(' expr, … ')' | 'cast' '(' dtype, expr ')' | '(' expr ')'
//!       | 'bitcast' '(' dtype, expr ')' | 'lanes' '(' alu, name '<' count, expr ')'
//!       | memory '[' index, … ('if' expr)? ('else' const)? ']'
//!       | 'carry.0' | 'old.0' | 'new.0' | e0 | const | axis | integer | '{' size '}'
//! index = size | e0
//! const = dtype '(' value ')'
//! ```
//!
//! Operators bind as in C and associate to the left. An expression that is
//! used twice, or is deep, is written once as `e0 = …` in front of the line that first needs it.
//! The text depends on the structure only, not on the ids in the arena: printing what was parsed
//! from a text gives that text again, and a hash of the text, after names have been replaced by
//! numbers, is the structural [`Key`]. A `#` starts a comment.

mod lex;
mod parse;
mod print;

pub(crate) use lex::{Lexer, Token, in_word, is_name};
pub(crate) use parse::Parser;
pub(crate) use print::{Printer, array, header, range};

use std::fmt;

/// Text that does not parse, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// What was expected.
    pub message: String,
}

/// A structural hash, the same in every process: equal for kernels that differ only in names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(pub [u8; 16]);

impl Key {
    /// The key of a canonical text.
    pub fn of(text: &str) -> Self {
        let mut key = [0; 16];
        key.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
        Key(key)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
