//! The linear list from its text form; see [`super::text`].

use super::{
    Block, BlockId, Inst, Linear, Param, Place, Scratch, ScratchId, Slot, Special, Tile, TileFetch, TileOperand,
    TileSpec, Ty, Val,
};
use crate::alu::Alu;
use crate::expr::ParamId;
use crate::size::Variable;
use crate::text::{Lexer, ParseError, Token};
use smallvec::SmallVec;
use svod_dtype::{Const, DType};

type Result<T> = std::result::Result<T, ParseError>;

impl Linear {
    /// Reads the form that `Display` writes. The result may still break the rules that
    /// [`Linear::verify`] checks.
    ///
    /// # Errors
    /// Where the text is not of that form.
    pub fn parse(text: &str) -> Result<Linear> {
        let mut parser = Parser { lexer: Lexer::new(text)?, linear: Linear::default(), open: Vec::new() };
        parser.lexer.expect_word("linear")?;
        parser.linear.name = parser.lexer.word()?.to_owned();
        while parser.declaration()? {}
        while parser.lexer.peek() != Token::End {
            parser.line()?;
        }
        Ok(parser.linear)
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    linear: Linear,
    /// What the next closing brace ends.
    open: Vec<Inst>,
}

impl Parser<'_> {
    fn declaration(&mut self) -> Result<bool> {
        let Token::Word(word) = self.lexer.peek() else { return Ok(false) };
        if !["param", "var", "scratch", "block", "slot"].contains(&word) {
            return Ok(false);
        }
        self.lexer.next();
        let name = self.lexer.word()?;
        if word == "var" {
            self.lexer.expect("=")?;
            let min = self.lexer.int()?;
            self.lexer.expect("..=")?;
            let max = self.lexer.int()?;
            let variable = Variable::internal(name, min, max).or_else(|e| self.lexer.error(e.to_string()))?;
            self.linear.vars.push(variable);
            return Ok(true);
        }
        self.lexer.expect(":")?;
        match word {
            "param" => {
                let dtype = self.lexer.dtype()?;
                let written = self.lexer.eat_word("written");
                let stream = self.lexer.eat_word("stream");
                self.linear.params.push(Param { dtype, written, stream });
            }
            "slot" => {
                let ty = self.ty()?;
                self.linear.slots.push(ty);
            }
            "block" => {
                let dtype = self.lexer.dtype()?;
                self.lexer.expect("[")?;
                let rows = self.number()?;
                self.lexer.expect(",")?;
                let columns = self.number()?;
                self.lexer.expect("]")?;
                self.linear.blocks.push(Block { dtype, rows, columns });
            }
            _ => {
                let dtype = self.lexer.dtype()?;
                self.lexer.expect("[")?;
                let len = self.unsigned()?;
                self.lexer.expect("]")?;
                self.lexer.expect_word("at")?;
                let offset = self.unsigned()?;
                self.linear.scratch.push(Scratch { dtype, len, offset });
            }
        }
        Ok(true)
    }

    fn line(&mut self) -> Result<()> {
        if self.lexer.eat("}") {
            let Some(end) = self.open.pop() else { return self.lexer.error("nothing is open") };
            self.linear.insts.push(end);
            return Ok(());
        }
        let ty = match self.lexer.peek_second() {
            Token::Sign(":") => {
                let val = self.val()?;
                if val.index() != self.linear.values.len() {
                    return self.lexer.error(format!("values are numbered in order, and {val} is not next"));
                }
                self.lexer.expect(":")?;
                let ty = self.ty()?;
                self.lexer.expect("=")?;
                Some(ty)
            }
            _ => None,
        };
        let inst = self.inst()?;
        if inst.has_value() != ty.is_some() {
            return self.lexer.error("a value where there is none, or none where there is one");
        }
        self.linear.values.extend(ty);
        match inst {
            Inst::Range(_) => self.open.push(Inst::EndRange),
            Inst::If(_) => self.open.push(Inst::EndIf),
            _ => {}
        }
        self.linear.insts.push(inst);
        Ok(())
    }

    fn inst(&mut self) -> Result<Inst> {
        let word = self.lexer.word()?;
        Ok(match word {
            "const" => Inst::Const(self.constant()?),
            "var" => {
                let name = self.lexer.word()?;
                let Some(n) = self.linear.vars.iter().position(|v| v.name() == name) else {
                    return self.lexer.error(format!("no variable {name}"));
                };
                Inst::Var(n as u32)
            }
            "block" => Inst::Special(Special::Block, self.number()?),
            "local" => Inst::Special(Special::Local, self.number()?),
            "workgroup" => Inst::Special(Special::Workgroup, self.number()?),
            "iota" => Inst::Iota,
            "cast" => Inst::Cast(self.val()?),
            "bitcast" => Inst::Bitcast(self.val()?),
            "splat" => Inst::Splat(self.val()?),
            "vector" => Inst::Vector(self.list()?),
            "shuffle" => {
                let a = self.val()?;
                self.lexer.expect(",")?;
                let b = self.val()?;
                let mut lanes = SmallVec::new();
                while self.lexer.eat(",") {
                    lanes.push(self.number()?);
                }
                Inst::Shuffle(a, b, lanes)
            }
            "extract" => {
                let vector = self.val()?;
                self.lexer.expect(",")?;
                Inst::Extract(vector, self.number()?)
            }
            "insert" => {
                let vector = self.val()?;
                self.lexer.expect(",")?;
                let lane = self.number()?;
                self.lexer.expect(",")?;
                Inst::Insert(vector, lane, self.val()?)
            }
            "reduce" => {
                let op = self.lexer.word()?;
                Inst::Reduce(self.alu(op)?, self.val()?)
            }
            "scan" => {
                let op = self.lexer.word()?;
                Inst::Scan(self.alu(op)?, self.val()?)
            }
            "alike" => Inst::Alike(self.val()?, false),
            "alike_before" => Inst::Alike(self.val()?, true),
            "read" => Inst::Read(self.slot()?),
            "load" => {
                let (from, at) = self.element()?;
                let dtype = match from {
                    Place::Param(p) => self.linear.params.get(p.index()).map(|p| p.dtype),
                    Place::Scratch(s) => self.linear.scratch.get(s.index()).map(|s| s.dtype),
                };
                let (mut mask, mut other) = (None, Const::zero(dtype.unwrap_or(DType::Void)));
                if self.lexer.eat_word("if") {
                    mask = Some(self.val()?);
                    self.lexer.expect_word("else")?;
                    other = self.constant()?;
                }
                Inst::Load { from, at, mask, other }
            }
            "store" => {
                let (to, at) = self.element()?;
                self.lexer.expect("=")?;
                let value = self.val()?;
                let mask = if self.lexer.eat_word("if") { Some(self.val()?) } else { None };
                Inst::Store { to, at, value, mask }
            }
            "copy" => {
                let to = BlockId(self.id("b")?);
                self.lexer.expect("=")?;
                let (from, at) = self.element()?;
                self.lexer.expect_word("step")?;
                let (step, mut within) = (self.val()?, None);
                if self.lexer.eat_word("within") {
                    let rows = self.val()?;
                    self.lexer.expect(",")?;
                    within = Some([rows, self.val()?]);
                }
                Inst::Copy { to, from, at, step, within }
            }
            "column" => {
                let block = BlockId(self.id("b")?);
                self.lexer.expect(",")?;
                Inst::Column(block, self.number()?)
            }
            "write" => {
                let slot = self.slot()?;
                self.lexer.expect("=")?;
                Inst::Write(slot, self.val()?)
            }
            "range" | "if" => {
                let val = self.val()?;
                self.lexer.expect("{")?;
                if word == "if" { Inst::If(val) } else { Inst::Range(val) }
            }
            "prefetch" => {
                let (from, at) = self.element()?;
                Inst::Prefetch(from, at)
            }
            "barrier" => Inst::Barrier,
            "tile" => Inst::Tile(Box::new(self.tile()?)),
            op => Inst::Alu(self.alu(op)?, self.list()?.into()),
        })
    }

    fn tile(&mut self) -> Result<Tile> {
        let rows = self.number()?;
        self.lexer.expect("*")?;
        let cols = self.number()?;
        let pairs = self.lexer.eat_word("pairs");
        let dtype = self.lexer.dtype()?;
        self.lexer.expect("->")?;
        let acc = self.lexer.dtype()?;
        let a_panel = self.lexer.eat_word("panel");
        self.lexer.expect_word("depth")?;
        let depth = self.val()?;
        self.lexer.expect_word("start")?;
        let start = self.val()?;
        let operands = [self.operand()?, self.operand()?, self.operand()?];
        let offsets = if self.lexer.eat_word("at") { Some(self.place()?) } else { None };
        let fetch = if self.lexer.eat_word("fetch") { Some(self.fetch()?) } else { None };
        let (fetches, fetch) = fetch.map_or((0, None), |(lines, fetch)| (lines, Some(fetch)));
        let spec = TileSpec { rows, cols, dtype, pairs, acc, a_panel, b_offsets: offsets.is_some(), fetches };
        Ok(Tile { spec, depth, start, operands, offsets, fetch })
    }

    /// Lines of a step, and where they are.
    fn fetch(&mut self) -> Result<(u32, TileFetch)> {
        let lines = self.number()?;
        self.lexer.expect(":")?;
        let (place, at) = self.element()?;
        self.lexer.expect_word("by")?;
        Ok((lines, TileFetch { place, at, step: self.val()? }))
    }

    fn operand(&mut self) -> Result<TileOperand> {
        self.lexer.expect(",")?;
        let (place, at) = self.element()?;
        self.lexer.expect_word("stride")?;
        Ok(TileOperand { place, at, stride: self.val()? })
    }

    fn place(&mut self) -> Result<Place> {
        let word = self.lexer.word()?;
        let number = |prefix| word.strip_prefix(prefix).and_then(|n: &str| n.parse().ok());
        match (number("p"), number("s")) {
            (Some(p), _) => Ok(Place::Param(ParamId(p))),
            (_, Some(s)) => Ok(Place::Scratch(ScratchId(s))),
            _ => self.lexer.error("expected a memory such as p0 or s0"),
        }
    }

    fn element(&mut self) -> Result<(Place, Val)> {
        let place = self.place()?;
        self.lexer.expect("[")?;
        let at = self.val()?;
        self.lexer.expect("]")?;
        Ok((place, at))
    }

    fn list(&mut self) -> Result<Vec<Val>> {
        let mut list = vec![self.val()?];
        while self.lexer.eat(",") {
            list.push(self.val()?);
        }
        Ok(list)
    }

    fn id(&mut self, prefix: &str) -> Result<u32> {
        let word = self.lexer.word()?;
        match word.strip_prefix(prefix).and_then(|n| n.parse().ok()) {
            Some(n) => Ok(n),
            None => self.lexer.error(format!("expected {prefix}0, {prefix}1 …")),
        }
    }

    fn val(&mut self) -> Result<Val> {
        self.id("v").map(Val)
    }

    fn slot(&mut self) -> Result<Slot> {
        self.id("a").map(Slot)
    }

    fn alu(&mut self, name: &str) -> Result<Alu> {
        Alu::parse(name).map_or_else(|| self.lexer.error(format!("no operation {name}")), Ok)
    }

    fn constant(&mut self) -> Result<Const> {
        let Token::Const(value) = self.lexer.peek() else { return self.lexer.error("expected a constant") };
        self.lexer.next();
        Ok(value)
    }

    fn ty(&mut self) -> Result<Ty> {
        let word = self.lexer.word()?;
        let vector = word.rsplit_once('x').and_then(|(name, lanes)| Some((name.parse().ok()?, lanes.parse().ok()?)));
        match (word.parse(), vector) {
            (Ok(dtype), _) => Ok(Ty::scalar(dtype)),
            (_, Some((dtype, lanes))) => Ok(Ty { dtype, lanes }),
            _ => self.lexer.error("expected a type such as f32 or f32x8"),
        }
    }

    fn unsigned(&mut self) -> Result<u64> {
        let value = self.lexer.int()?;
        value.try_into().or_else(|_| self.lexer.error("expected a number that is not negative"))
    }

    fn number<T: TryFrom<i64>>(&mut self) -> Result<T> {
        let value = self.lexer.int()?;
        value.try_into().or_else(|_| self.lexer.error("the number is out of range"))
    }
}
