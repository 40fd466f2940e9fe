//! A kernel from its text form; see [`super::text`].

use super::{Axis, AxisId, Body, Carry, Emit, Kernel, Monoid, Out, Stage};
use crate::expr::{ExprId, ExprPool, Mem, TempId};
use crate::text::{ParseError, Parser, Token, is_name};
use svod_dtype::DType;

impl Kernel {
    /// Reads the form that `Display` writes. The result may still break the rules that
    /// [`Kernel::verify`] checks.
    ///
    /// # Errors
    /// Where the text is not of that form, or names something that was not declared before.
    pub fn parse(text: &str) -> Result<Kernel, ParseError> {
        let mut p = Parser::new(text)?;
        p.lex.expect_word("kernel")?;
        let mut kernel = Kernel { name: p.lex.word()?.to_owned(), ..Kernel::default() };
        (kernel.vars, kernel.params) = p.header()?;
        while p.lex.eat_word("axis") {
            let (var, extent) = p.range()?;
            kernel.axes.push(Axis { var, extent });
        }
        while p.lex.eat_word("stage") {
            let (stage, types) = stage(&mut p, &mut kernel)?;
            p.temps.insert(stage.name.clone(), (TempId(kernel.stages.len() as u32), types));
            kernel.stages.push(stage);
        }
        if p.lex.peek() == Token::End { Ok(kernel) } else { p.lex.error("expected a stage") }
    }
}

fn axis(p: &mut Parser<'_>, kernel: &Kernel) -> Result<AxisId, ParseError> {
    let Token::Word(name) = p.lex.peek() else { return p.lex.error("expected an axis") };
    match kernel.axes.iter().position(|a| a.var.name() == name) {
        Some(n) => {
            p.lex.next();
            Ok(AxisId(n as u32))
        }
        None => p.lex.error(format!("no axis is named '{name}'")),
    }
}

fn monoid(p: &mut Parser<'_>) -> Result<Option<Monoid>, ParseError> {
    let Token::Word(name) = p.lex.peek() else { return p.lex.error("expected a monoid") };
    let op = Monoid::parse(name);
    if op.is_none() && name != "set" {
        return p.lex.error(format!("no monoid is named '{name}'"));
    }
    p.lex.next();
    Ok(op)
}

/// Reads a stage, and the types of its values.
fn stage(p: &mut Parser<'_>, kernel: &mut Kernel) -> Result<(Stage, Vec<DType>), ParseError> {
    let Token::Word(name) = p.lex.peek() else { return p.lex.error("expected a name") };
    if !is_name(name) || p.temps.contains_key(name) {
        return p.lex.error(format!("'{name}' cannot name a stage, or names one already"));
    }
    p.lex.next();
    p.lex.expect("[")?;
    let over = p.list("]", |p| axis(p, kernel))?;
    p.lex.expect("=")?;
    p.lets.clear();
    p.carries.clear();
    let Token::Word(kind) = p.lex.peek() else { return p.lex.error("expected a stage's body") };
    p.lex.next();
    let (body, outs) = match kind {
        "map" => {
            let (values, outs) = outs(p, &mut kernel.exprs, name)?.into_iter().unzip();
            (Body::Map(values), outs)
        }
        "reduce" | "scan" | "prescan" => {
            let emit = match kind {
                "reduce" => Emit::Last,
                "scan" => Emit::Inclusive,
                _ => Emit::Exclusive,
            };
            let mut axes = vec![axis(p, kernel)?];
            while p.lex.eat(",") {
                axes.push(axis(p, kernel)?);
            }
            let carries = carries(p, &mut kernel.exprs)?;
            let (results, outs) = outs(p, &mut kernel.exprs, name)?.into_iter().unzip();
            (Body::Reduce { axes, carries, emit, results }, outs)
        }
        "sort" => {
            let along = axis(p, kernel)?;
            p.lex.expect_word("to")?;
            let to = axis(p, kernel)?;
            p.lets(&mut kernel.exprs)?;
            p.lex.expect_word("carry.0")?;
            p.lex.expect(":")?;
            let dtype = p.lex.dtype()?;
            p.lex.expect("=")?;
            p.lex.expect_word("key")?;
            p.lex.expect("(")?;
            let key = p.expr(&mut kernel.exprs)?;
            p.lex.expect(")")?;
            p.carries.extend([dtype, DType::I64]);
            let (results, outs) = outs(p, &mut kernel.exprs, name)?.into_iter().unzip();
            (Body::Sort { along, to, key, results }, outs)
        }
        "scatter" => {
            let combine = monoid(p)?;
            let mut values = outs(p, &mut kernel.exprs, name)?;
            let Some((value, out)) = values.pop().filter(|_| values.is_empty()) else {
                return p.lex.error("a scatter has one value");
            };
            (Body::Scatter { value, combine }, vec![out])
        }
        _ => return p.lex.error("expected map, reduce, scan, prescan, scatter or sort before this"),
    };
    let types = body.values().iter().map(|v| kernel.exprs.dtype(*v)).collect();
    Ok((Stage { name: name.to_owned(), over, body, outs }, types))
}

fn carries(p: &mut Parser<'_>, exprs: &mut ExprPool) -> Result<Vec<Carry>, ParseError> {
    let mut carries = Vec::new();
    loop {
        p.lets(exprs)?;
        if !p.lex.eat_word(&format!("carry.{}", carries.len())) {
            return Ok(carries);
        }
        p.lex.expect(":")?;
        let dtype = p.lex.dtype()?;
        p.lex.expect("=")?;
        let Some(op) = monoid(p)? else { return p.lex.error("a carry needs a monoid") };
        p.lex.expect("(")?;
        let element = p.expr(exprs)?;
        let mut fix = None;
        if p.lex.eat(",") {
            p.lex.expect_word("fix")?;
            fix = Some(p.expr(exprs)?);
        }
        p.lex.expect(")")?;
        carries.push(Carry { dtype, element, op, fix });
        p.carries.push(dtype);
    }
}

/// Reads the lines that say where each value goes.
fn outs(p: &mut Parser<'_>, exprs: &mut ExprPool, stage: &str) -> Result<Vec<(ExprId, Out)>, ParseError> {
    let mut outs = Vec::new();
    loop {
        p.lets(exprs)?;
        let Token::Word(word) = p.lex.peek() else { return Ok(outs) };
        let temp = if outs.is_empty() { stage.to_owned() } else { format!("{stage}.{}", outs.len()) };
        let out = if word == temp && p.lex.peek_second() == Token::Sign("=") {
            p.lex.next();
            Out::Temp
        } else if p.lex.peek_second() == Token::Sign("[") {
            let (Mem::Param(param), _, index) = p.place(exprs)? else {
                return p.lex.error("only buffer arguments are written by index");
            };
            p.lex.expect("]")?;
            Out::Param { param, index: index.to_vec() }
        } else {
            return Ok(outs);
        };
        p.lex.expect("=")?;
        outs.push((p.expr(exprs)?, out));
    }
}
