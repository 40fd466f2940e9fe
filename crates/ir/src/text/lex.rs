//! Tokens, with the position of each for messages.

use super::ParseError;
use svod_dtype::{Const, DType};

/// A token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'a> {
    /// A name or keyword; may contain dots.
    Word(&'a str),
    /// A nonnegative integer.
    Int(i64),
    /// A constant such as `f32(1.5)`.
    Const(Const),
    /// What stands between double quotes, with its escapes.
    Text(&'a str),
    /// An operator or bracket.
    Sign(&'static str),
    /// After the last token.
    End,
}

/// Operators and brackets, each before its own prefixes.
const SIGNS: &[&str] = &[
    "..=", "<<", "<=", ">>", "==", "!=", "->", "//", "<", ">", "=", "+", "-", "*", "/", "%", "&", "|", "^", "!", "(",
    ")", "[", "]", "{", "}", ",", ":",
];

/// A cursor over the tokens of a text.
pub(crate) struct Lexer<'a> {
    text: &'a str,
    /// Start, end, token.
    tokens: Vec<(usize, usize, Token<'a>)>,
    at: usize,
}

fn starts_word(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '$'
}

/// Whether a word goes on with this.
pub(crate) fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '\'')
}

/// Whether `name` may name an axis, a variable, a stage or a temporary: it is a word, and none of
/// those with a meaning of their own, such as `e0`.
pub(crate) fn is_name(name: &str) -> bool {
    let numbered = |prefix| name.strip_prefix(prefix).is_some_and(|n: &str| n.parse::<u32>().is_ok());
    name.starts_with(starts_word)
        && name.chars().all(in_word)
        && !name.ends_with('.')
        && !["e", "p", "carry.", "old.", "new."].into_iter().any(numbered)
        && !["if", "else"].contains(&name)
}

impl<'a> Lexer<'a> {
    /// Reads all tokens of a text.
    pub fn new(text: &'a str) -> Result<Self, ParseError> {
        let mut lexer = Lexer { text, tokens: Vec::new(), at: 0 };
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let (token, bytes) = if c == '#' {
                (None, rest.find('\n').unwrap_or(rest.len()))
            } else if c.is_whitespace() {
                (None, c.len_utf8())
            } else {
                let (token, bytes) = token(rest).map_err(|m| lexer.error_at(text.len() - rest.len(), m))?;
                (Some(token), bytes)
            };
            let start = text.len() - rest.len();
            lexer.tokens.extend(token.map(|t| (start, start + bytes, t)));
            rest = &rest[bytes..];
        }
        lexer.tokens.push((text.len(), text.len(), Token::End));
        Ok(lexer)
    }

    fn error_at(&self, offset: usize, message: String) -> ParseError {
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |n| n + 1);
        ParseError { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1, message }
    }

    /// An error at the next token.
    pub fn error<T>(&self, message: impl Into<String>) -> Result<T, ParseError> {
        Err(self.error_at(self.tokens[self.at].0, message.into()))
    }

    /// The next token.
    pub fn peek(&self) -> Token<'a> {
        self.tokens[self.at].2
    }

    /// Whether the next token is the first of its line.
    pub fn starts_line(&self) -> bool {
        let end = self.at.checked_sub(1).map_or(0, |before| self.tokens[before].1);
        self.text[end..self.tokens[self.at].0].contains('\n')
    }

    /// The token after the next one.
    pub fn peek_second(&self) -> Token<'a> {
        self.tokens[(self.at + 1).min(self.tokens.len() - 1)].2
    }

    /// Takes the next token.
    pub fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// Takes the next token if it is this operator.
    pub fn eat(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(s) if s == sign);
        if found {
            self.next();
        }
        found
    }

    /// Takes this operator.
    pub fn expect(&mut self, sign: &str) -> Result<(), ParseError> {
        if self.eat(sign) { Ok(()) } else { self.error(format!("expected '{sign}'")) }
    }

    /// Takes the next token if it is this word.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.peek() == Token::Word(word);
        if found {
            self.next();
        }
        found
    }

    /// Takes this word.
    pub fn expect_word(&mut self, word: &str) -> Result<(), ParseError> {
        if self.eat_word(word) { Ok(()) } else { self.error(format!("expected '{word}'")) }
    }

    /// Takes a word.
    pub fn word(&mut self) -> Result<&'a str, ParseError> {
        let Token::Word(word) = self.peek() else { return self.error("expected a name") };
        self.next();
        Ok(word)
    }

    /// Takes an integer, which may have a sign.
    pub fn int(&mut self) -> Result<i64, ParseError> {
        let negative = self.eat("-");
        let Token::Int(value) = self.peek() else { return self.error("expected an integer") };
        self.next();
        Ok(if negative { value.wrapping_neg() } else { value })
    }

    /// Takes the tokens of an integer expression: its text, and where it starts.
    pub fn take_size(&mut self) -> (&'a str, usize) {
        let start = self.tokens[self.at].0;
        let (mut depth, mut operand, mut end) = (0, false, start);
        loop {
            match self.peek() {
                Token::Word("min" | "max") if !operand && self.peek_second() == Token::Sign("(") => {}
                Token::Word(_) | Token::Int(_) if !operand => operand = true,
                // At the start of a line it is the number of a node.
                Token::Sign("%") if self.starts_line() => break,
                Token::Sign("+" | "-" | "*" | "//" | "%") => operand = false,
                Token::Sign("(") if !operand => depth += 1,
                Token::Sign(")") if depth > 0 => depth -= 1,
                Token::Sign(",") if depth > 0 => operand = false,
                _ => break,
            }
            end = self.tokens[self.at].1;
            self.next();
        }
        (&self.text[start..end], start)
    }

    /// Where the next token starts, for [`Lexer::error_before`].
    pub fn place(&self) -> usize {
        self.tokens[self.at].0
    }

    /// An error at an earlier place.
    pub fn error_before<T>(&self, offset: usize, message: String) -> Result<T, ParseError> {
        Err(self.error_at(offset, message))
    }

    /// Takes the name of an element type.
    pub fn dtype(&mut self) -> Result<DType, ParseError> {
        match self.peek() {
            Token::Word(word) if word.parse::<DType>().is_ok() => {
                self.next();
                word.parse().or_else(|_| self.error("expected a dtype"))
            }
            _ => self.error("expected a dtype"),
        }
    }
}

/// The token at the start of `rest`, and its length.
fn token(rest: &str) -> Result<(Token<'_>, usize), String> {
    let span = |in_span: fn(char) -> bool| rest.find(|c| !in_span(c)).unwrap_or(rest.len());
    if rest.starts_with(starts_word) {
        let word = &rest[..span(in_word)];
        if word.parse::<DType>().is_ok() && rest[word.len()..].starts_with('(') {
            let end = rest.find(')').ok_or("a constant has no ')'")? + 1;
            let value = rest[..end].parse().map_err(|e: svod_dtype::ParseConstError| e.to_string())?;
            return Ok((Token::Const(value), end));
        }
        return Ok((Token::Word(word), word.len()));
    }
    if rest.starts_with(|c: char| c.is_ascii_digit()) {
        let digits = &rest[..span(|c| c.is_ascii_digit())];
        // The magnitude of the least integer is its own negative.
        let value = if digits == "9223372036854775808" { Ok(i64::MIN) } else { digits.parse() };
        return Ok((Token::Int(value.map_err(|_| format!("{digits} is too large"))?), digits.len()));
    }
    if let Some(text) = rest.strip_prefix('"') {
        let mut escaped = false;
        let end = text.find(|c| {
            let end = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            end
        });
        let end = end.ok_or("a text has no closing quote")?;
        return Ok((Token::Text(&text[..end]), end + 2));
    }
    match SIGNS.iter().find(|s| rest.starts_with(**s)) {
        Some(sign) => Ok((Token::Sign(sign), sign.len())),
        None => Err(format!("unexpected '{}'", rest.chars().next().unwrap_or(' '))),
    }
}
