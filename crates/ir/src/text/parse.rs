//! Expressions from text.

use super::lex::{Lexer, Token};
use super::print::{INFIX, largest};
use super::{ParseError, is_name};
use crate::alu::Alu;
use crate::expr::{Expr, ExprId, ExprPool, Mem, ParamId, TempId};
use crate::kernel::Param;
use crate::size::{Size, Variable};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use svod_dtype::{Const, DType};

/// The deepest nesting read, so that no text exhausts the stack.
const MAX_DEPTH: usize = 128;

/// Reads expressions, given what their names mean.
pub(crate) struct Parser<'a> {
    /// The tokens.
    pub lex: Lexer<'a>,
    /// Axes, loops and variables in scope.
    pub vars: FxHashMap<String, Variable>,
    /// Types of the buffer arguments.
    pub params: Vec<DType>,
    /// Stages or temporaries by name, with the type of each value.
    pub temps: FxHashMap<String, (TempId, Vec<DType>)>,
    /// Types of the fold's carries so far.
    pub carries: Vec<DType>,
    /// The expressions `e0 …` in scope.
    pub lets: FxHashMap<String, ExprId>,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// A parser at the start of `text`, with nothing in scope.
    pub fn new(text: &'a str) -> Result<Self, ParseError> {
        Ok(Parser {
            lex: Lexer::new(text)?,
            vars: FxHashMap::default(),
            params: Vec::new(),
            temps: FxHashMap::default(),
            carries: Vec::new(),
            lets: FxHashMap::default(),
            depth: 0,
        })
    }

    /// Takes the next thing one level deeper.
    pub fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, ParseError>) -> Result<T, ParseError> {
        self.enter()?;
        let result = read(self);
        self.leave();
        result
    }

    /// Goes one level deeper, until [`Parser::leave`].
    pub fn enter(&mut self) -> Result<(), ParseError> {
        if self.depth == MAX_DEPTH {
            return self.lex.error("nested too deeply");
        }
        self.depth += 1;
        Ok(())
    }

    /// Ends what [`Parser::enter`] began.
    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Reads the variables and buffer arguments.
    pub fn header(&mut self) -> Result<(Vec<Variable>, Vec<Param>), ParseError> {
        let (mut vars, mut params) = (Vec::new(), Vec::new());
        while self.lex.eat_word("var") {
            vars.push(self.definition()?);
        }
        while self.lex.eat_word("param") {
            if self.lex.word()? != ParamId(params.len() as u32).to_string() {
                return self.lex.error("buffer arguments are numbered p0, p1 … in order");
            }
            self.lex.expect(":")?;
            let (dtype, shape) = self.array()?;
            params.push(Param { dtype, shape, constant: self.lex.eat_word("constant") });
            self.params.push(dtype);
        }
        Ok((vars, params))
    }

    /// Reads `n = 1..=8`: a variable, in scope from here on.
    pub fn definition(&mut self) -> Result<Variable, ParseError> {
        let name = self.lex.word()?;
        self.lex.expect("=")?;
        let (min, max) = self.bounds()?;
        self.variable(name, min, max)
    }

    fn bounds(&mut self) -> Result<(i64, i64), ParseError> {
        let min = self.lex.int()?;
        self.lex.expect("..=")?;
        Ok((min, self.lex.int()?))
    }

    /// A new variable, in scope from here on.
    fn variable(&mut self, name: &str, min: i64, max: i64) -> Result<Variable, ParseError> {
        if !is_name(name) {
            return self.lex.error(format!("'{name}' cannot name a variable"));
        }
        let var = Variable::internal(name, min, max).or_else(|e| self.lex.error(e.to_string()))?;
        self.vars.insert(name.to_owned(), var.clone());
        Ok(var)
    }

    /// Reads `i < n` or `i in 0..=7 < n`.
    pub fn range(&mut self) -> Result<(Variable, Size), ParseError> {
        let name = self.lex.word()?;
        let bounds = if self.lex.eat_word("in") { Some(self.bounds()?) } else { None };
        self.lex.expect("<")?;
        let extent = self.size()?;
        let (min, max) = bounds.unwrap_or((0, largest(&extent)));
        Ok((self.variable(name, min, max)?, extent))
    }

    /// Reads `f32[n, 4]`.
    pub fn array(&mut self) -> Result<(DType, Vec<Size>), ParseError> {
        let dtype = self.lex.dtype()?;
        self.lex.expect("[")?;
        let shape = self.list("]", |p| p.size())?;
        Ok((dtype, shape))
    }

    /// Reads items with commas between them, and what ends the list.
    pub fn list<T>(
        &mut self,
        end: &str,
        mut item: impl FnMut(&mut Self) -> Result<T, ParseError>,
    ) -> Result<Vec<T>, ParseError> {
        let mut items = Vec::new();
        if !self.lex.eat(end) {
            loop {
                items.push(item(self)?);
                if !self.lex.eat(",") {
                    break;
                }
            }
            self.lex.expect(end)?;
        }
        Ok(items)
    }

    /// Reads an integer expression.
    pub fn size(&mut self) -> Result<Size, ParseError> {
        let (text, at) = self.lex.take_size();
        Size::parse(text, &|name| self.vars.get(name).cloned()).or_else(|e| self.lex.error_before(at, e.to_string()))
    }

    /// Reads `name[`, then the indices and, if there, ` if valid` and ` else other`; up to the `]`.
    pub fn place(&mut self, pool: &mut ExprPool) -> Result<(Mem, DType, SmallVec<[ExprId; 4]>), ParseError> {
        let (mem, dtype) = self.mem()?;
        self.lex.expect("[")?;
        let mut index = SmallVec::new();
        if !matches!(self.lex.peek(), Token::Sign("]") | Token::Word("if" | "else")) {
            loop {
                index.push(self.index(pool)?);
                if !self.lex.eat(",") {
                    break;
                }
            }
        }
        Ok((mem, dtype, index))
    }

    fn index(&mut self, pool: &mut ExprPool) -> Result<ExprId, ParseError> {
        if let Token::Word(word) = self.lex.peek()
            && let Some(&id) = self.lets.get(word)
        {
            self.lex.next();
            return Ok(id);
        }
        Ok(pool.index(self.size()?))
    }

    /// Reads the name of a buffer argument, of a stage, or of one value of it.
    pub fn mem(&mut self) -> Result<(Mem, DType), ParseError> {
        let Token::Word(word) = self.lex.peek() else { return self.lex.error("expected a memory") };
        let found = self.find(word);
        let Some(found) = found else { return self.lex.error(format!("no memory is named '{word}'")) };
        self.lex.next();
        Ok(found)
    }

    fn find(&self, word: &str) -> Option<(Mem, DType)> {
        if let Some(n) = word.strip_prefix('p').and_then(|n| n.parse::<u32>().ok()) {
            return Some((Mem::Param(ParamId(n)), *self.params.get(n as usize)?));
        }
        if let Some((id, types)) = self.temps.get(word) {
            return Some((Mem::Temp(*id, 0), *types.first()?));
        }
        let (name, field) = word.rsplit_once('.')?;
        let (id, types) = self.temps.get(name)?;
        let field = field.parse::<u8>().ok()?;
        Some((Mem::Temp(*id, field), *types.get(usize::from(field))?))
    }

    /// Reads any lines `e0 = …` that come next.
    pub fn lets(&mut self, pool: &mut ExprPool) -> Result<(), ParseError> {
        while let (Token::Word(name), Token::Sign("=")) = (self.lex.peek(), self.lex.peek_second()) {
            if name.strip_prefix('e').is_none_or(|n| n.parse::<u32>().is_err()) {
                break;
            }
            self.lex.next();
            self.lex.next();
            let value = self.expr(pool)?;
            self.lets.insert(name.to_owned(), value);
        }
        Ok(())
    }

    /// Reads an expression.
    pub fn expr(&mut self, pool: &mut ExprPool) -> Result<ExprId, ParseError> {
        self.nested(|p| p.infix(pool, 1))
    }

    /// Reads operands and operators that bind at least as much as `strength`.
    fn infix(&mut self, pool: &mut ExprPool, strength: u8) -> Result<ExprId, ParseError> {
        let mut left = self.prefix(pool)?;
        while let Token::Sign(sign) = self.lex.peek()
            && let Some(&(_, op, own)) = INFIX.iter().find(|(s, _, own)| *s == sign && *own >= strength)
        {
            self.lex.next();
            let right = self.infix(pool, own + 1)?;
            left = self.alu(pool, op, &[left, right])?;
        }
        Ok(left)
    }

    fn prefix(&mut self, pool: &mut ExprPool) -> Result<ExprId, ParseError> {
        let op = match self.lex.peek() {
            Token::Sign("-") => Alu::Neg,
            Token::Sign("!") => Alu::Not,
            _ => return self.atom(pool),
        };
        self.lex.next();
        let value = self.nested(|p| p.prefix(pool))?;
        self.alu(pool, op, &[value])
    }

    fn alu(&self, pool: &mut ExprPool, op: Alu, args: &[ExprId]) -> Result<ExprId, ParseError> {
        let types: Vec<DType> = args.iter().map(|a| pool.dtype(*a)).collect();
        match op.result(&types) {
            Some(_) => Ok(pool.alu(op, args)),
            None => {
                let types: Vec<&str> = types.iter().map(|t| t.short()).collect();
                self.lex.error(format!("{} does not take ({})", op.name(), types.join(", ")))
            }
        }
    }

    fn atom(&mut self, pool: &mut ExprPool) -> Result<ExprId, ParseError> {
        match self.lex.peek() {
            Token::Const(value) => {
                self.lex.next();
                Ok(pool.constant(value))
            }
            Token::Int(value) => {
                self.lex.next();
                Ok(pool.index(value))
            }
            Token::Sign("{") => {
                self.lex.next();
                let size = self.size()?;
                self.lex.expect("}")?;
                Ok(pool.index(size))
            }
            Token::Sign("(") => {
                self.lex.next();
                let value = self.expr(pool)?;
                self.lex.expect(")")?;
                Ok(value)
            }
            Token::Word(word) => match self.lex.peek_second() {
                Token::Sign("[") => self.load(pool),
                Token::Sign("(") => self.call(pool),
                _ => self.name(pool, word),
            },
            Token::Sign(_) | Token::Text(_) | Token::End => self.lex.error("expected an expression"),
        }
    }

    fn name(&mut self, pool: &mut ExprPool, word: &str) -> Result<ExprId, ParseError> {
        let id = if let Some(&id) = self.lets.get(word) {
            id
        } else if let Some(var) = self.vars.get(word) {
            pool.index(var)
        } else if let Some((node, dtype)) = self.carry(word) {
            pool.add(node, dtype)
        } else {
            return self.lex.error(format!("nothing is named '{word}'"));
        };
        self.lex.next();
        Ok(id)
    }

    fn carry(&self, word: &str) -> Option<(Expr, DType)> {
        let (kind, n) = word.split_once('.')?;
        let n = n.parse::<u8>().ok()?;
        let dtype = *self.carries.get(usize::from(n))?;
        let node = match kind {
            "carry" => Expr::Carry,
            "old" => Expr::Old,
            "new" => Expr::New,
            _ => return None,
        };
        Some((node(n, dtype), dtype))
    }

    fn load(&mut self, pool: &mut ExprPool) -> Result<ExprId, ParseError> {
        let (from, dtype, index) = self.place(pool)?;
        let valid = if self.lex.eat_word("if") { Some(self.expr(pool)?) } else { None };
        let mut other = Const::zero(dtype);
        if self.lex.eat_word("else") {
            let Token::Const(value) = self.lex.peek() else { return self.lex.error("expected a constant") };
            self.lex.next();
            other = value;
        }
        self.lex.expect("]")?;
        Ok(pool.add(Expr::Load { from, index, valid, other }, dtype))
    }

    fn call(&mut self, pool: &mut ExprPool) -> Result<ExprId, ParseError> {
        let word = self.lex.word()?;
        self.lex.expect("(")?;
        if let "cast" | "bitcast" = word {
            let to = self.lex.dtype()?;
            self.lex.expect(",")?;
            let value = self.expr(pool)?;
            self.lex.expect(")")?;
            let node = if word == "cast" { Expr::Cast(to, value) } else { Expr::Bitcast(to, value) };
            return Ok(pool.add(node, to));
        }
        if word == "lanes" {
            let op = self.lex.word()?;
            let Some(op) = Alu::parse(op) else { return self.lex.error(format!("no operation is named '{op}'")) };
            self.lex.expect(",")?;
            let name = self.lex.word()?;
            self.lex.expect("<")?;
            let count = self.lex.int()?;
            let lanes =
                Variable::internal(name, 0, count.saturating_sub(1)).or_else(|e| self.lex.error(e.to_string()))?;
            self.lex.expect(",")?;
            let outer = self.vars.insert(name.to_owned(), lanes.clone());
            let value = self.expr(pool);
            match outer {
                Some(outer) => self.vars.insert(name.to_owned(), outer),
                None => self.vars.remove(name),
            };
            let value = value?;
            self.lex.expect(")")?;
            let dtype = pool.dtype(value);
            return Ok(pool.add(Expr::Lanes { op, lanes, value }, dtype));
        }
        if matches!(word, "running" | "alike" | "alike_before") {
            let mut op = Alu::Add;
            if word == "running" {
                let name = self.lex.word()?;
                let Some(known) = Alu::parse(name) else {
                    return self.lex.error(format!("no operation is named '{name}'"));
                };
                op = known;
                self.lex.expect(",")?;
            }
            let name = self.lex.word()?;
            let Some(over) = self.vars.get(name).cloned() else {
                return self.lex.error(format!("no loop is named '{name}'"));
            };
            self.lex.expect(",")?;
            let value = self.expr(pool)?;
            self.lex.expect(")")?;
            let dtype = pool.dtype(value);
            return Ok(match word {
                "running" => pool.add(Expr::Running { op, over, value }, dtype),
                _ => pool.add(Expr::Alike { over, value, before: word == "alike_before" }, DType::U32),
            });
        }
        let Some(op) = Alu::parse(word) else { return self.lex.error(format!("no operation is named '{word}'")) };
        let args = self.list(")", |p| p.expr(pool))?;
        self.alu(pool, op, &args)
    }
}
