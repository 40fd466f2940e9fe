//! A loop tree from its text form; see [`super::text`].

use super::{Fetch, Guard, Home, Loop, LoopKind, Lowered, Micro, Phase, Stmt, Temp, TileOperand};
use crate::expr::{ExprPool, Mem, ParamId, TempId};
use crate::size::Size;
use crate::text::{ParseError, Parser, Token, is_name};

impl Lowered {
    /// Reads the form that `Display` writes. The result may still break the rules that
    /// [`Lowered::verify`] checks.
    ///
    /// # Errors
    /// Where the text is not of that form, or names something that was not declared before.
    pub fn parse(text: &str) -> Result<Lowered, ParseError> {
        let mut p = Parser::new(text)?;
        p.lex.expect_word("lowered")?;
        let mut lowered = Lowered { name: p.lex.word()?.to_owned(), ..Lowered::default() };
        lowered.strict = p.lex.eat_word("strict");
        (lowered.vars, lowered.params) = p.header()?;
        let globals = p.vars.clone();
        let mut more = p.lex.eat_word("variant");
        loop {
            p.vars.clone_from(&globals);
            let variant = lowered.guards.len();
            if more && p.lex.peek() != Token::Word("phase") {
                lowered.guards.push(Guard::read(&mut p)?);
            } else {
                more = false;
            }
            while p.lex.eat_word("phase") {
                p.vars.clone_from(&globals);
                p.temps.clear();
                lowered.phases.push(Phase { variant, ..phase(&mut p)? });
            }
            if !more {
                break;
            }
            p.lex.expect_word("variant")?;
        }
        if p.lex.peek() == Token::End { Ok(lowered) } else { p.lex.error("expected a phase") }
    }
}

fn phase(p: &mut Parser<'_>) -> Result<Phase, ParseError> {
    let mut phase = Phase::default();
    if p.lex.eat_word("grid") {
        loop {
            let (var, extent) = p.range()?;
            phase.grid.push(Loop { var, extent, kind: LoopKind::Serial });
            if !p.lex.eat(",") {
                break;
            }
        }
    }
    if p.lex.eat_word("stream") {
        loop {
            phase.streams.push(param(p)?);
            if !p.lex.eat(",") {
                break;
            }
        }
    }
    while p.lex.eat_word("temp") {
        let name = p.lex.word()?;
        if !is_name(name) || p.temps.contains_key(name) {
            return p.lex.error(format!("'{name}' cannot name a temporary, or names one already"));
        }
        p.lex.expect(":")?;
        let (dtype, shape) = p.array()?;
        let home = match p.lex.word()? {
            "register" => Home::Register,
            "scratch" => Home::Scratch,
            _ => return p.lex.error("expected register or scratch before this"),
        };
        p.temps.insert(name.to_owned(), (TempId(phase.temps.len() as u32), vec![dtype]));
        phase.temps.push(Temp { name: name.to_owned(), dtype, shape, home });
    }
    phase.body = block(p, &mut phase.exprs)?;
    Ok(phase)
}

/// Reads statements between braces.
fn block(p: &mut Parser<'_>, exprs: &mut ExprPool) -> Result<Vec<Stmt>, ParseError> {
    p.lex.expect("{")?;
    let mut body = Vec::new();
    while !p.lex.eat("}") {
        body.push(p.nested(|p| stmt(p, exprs))?);
    }
    Ok(body)
}

fn stmt(p: &mut Parser<'_>, exprs: &mut ExprPool) -> Result<Stmt, ParseError> {
    p.lets.clear();
    p.lets(exprs)?;
    let Token::Word(word) = p.lex.peek() else { return p.lex.error("expected a statement") };
    if p.lex.peek_second() == Token::Sign("[") {
        let (to, _, index) = p.place(exprs)?;
        p.lex.expect("]")?;
        p.lex.expect("=")?;
        let value = p.expr(exprs)?;
        // A conditional statement on the next line has a block; a condition of a store has none.
        let mut valid = None;
        if p.lex.peek() == Token::Word("if") && !p.lex.starts_line() {
            p.lex.next();
            valid = Some(p.expr(exprs)?);
        }
        return Ok(Stmt::Store { to, index: index.to_vec(), value, valid });
    }
    p.lex.next();
    let kind = match word {
        "serial" => LoopKind::Serial,
        "unroll" => LoopKind::Unroll,
        "vector" => LoopKind::Vector,
        "if" => {
            let cond = p.expr(exprs)?;
            return Ok(Stmt::If(cond, block(p, exprs)?));
        }
        "micro" => return micro(p),
        "prefetch" => {
            let (from, index) = element(p)?;
            return Ok(Stmt::Prefetch { from, index });
        }
        _ => return p.lex.error(format!("expected a statement, not '{word}', before this")),
    };
    let (var, extent) = p.range()?;
    let body = block(p, exprs)?;
    Ok(Stmt::Loop(Loop { var, extent, kind }, body))
}

/// Reads the place of an element of a buffer argument.
fn element(p: &mut Parser<'_>) -> Result<(ParamId, Vec<Size>), ParseError> {
    let from = param(p)?;
    p.lex.expect("[")?;
    Ok((from, p.list("]", |p| p.size())?))
}

/// Reads the name of a buffer argument.
fn param(p: &mut Parser<'_>) -> Result<ParamId, ParseError> {
    match p.mem()?.0 {
        Mem::Param(param) => Ok(param),
        Mem::Temp(..) => p.lex.error("expected a buffer argument before this"),
    }
}

fn micro(p: &mut Parser<'_>) -> Result<Stmt, ParseError> {
    let rows = count(p)?;
    p.lex.expect_word("x")?;
    let cols = count(p)?;
    let pairs = p.lex.eat_word("pairs");
    let dtype = p.lex.dtype()?;
    p.lex.expect("->")?;
    let acc = p.lex.dtype()?;
    p.lex.expect_word("depth")?;
    let depth = p.size()?;
    p.lex.expect_word("start")?;
    let start = p.size()?;
    let (c, _) = tile(p, &mut |_| Ok(()))?;
    let (a, a_panel) = tile(p, &mut |p| Ok(p.lex.eat_word("panel")))?;
    let (b, b_offsets) = tile(p, &mut |p| {
        if !p.lex.eat_word("at") {
            return Ok(None);
        }
        match p.mem()?.0 {
            Mem::Temp(t, _) => Ok(Some(t)),
            Mem::Param(_) => p.lex.error("offsets are a temporary"),
        }
    })?;
    let mut fetch = None;
    if p.lex.peek() == Token::Word("fetch") && !p.lex.starts_line() {
        p.lex.next();
        let (from, index) = element(p)?;
        p.lex.expect_word("by")?;
        fetch = Some(Fetch { from, index, step: p.size()? });
    }
    Ok(Stmt::Micro(Micro { rows, cols, dtype, pairs, acc, depth, start, a_panel, a, b, c, b_offsets, fetch }))
}

fn count(p: &mut Parser<'_>) -> Result<u32, ParseError> {
    u32::try_from(p.lex.int()?).or_else(|_| p.lex.error("what a tile counts are 32-bit numbers"))
}

/// Reads an operand, and what `more` reads at its end.
fn tile<T>(
    p: &mut Parser<'_>,
    more: &mut dyn FnMut(&mut Parser<'_>) -> Result<T, ParseError>,
) -> Result<(TileOperand, T), ParseError> {
    p.lex.expect("(")?;
    let (mem, _) = p.mem()?;
    p.lex.expect("[")?;
    let index = p.list("]", |p| p.size())?;
    p.lex.expect_word("stride")?;
    let stride = p.size()?;
    let more = more(p)?;
    p.lex.expect(")")?;
    Ok((TileOperand { mem, index, stride }, more))
}
