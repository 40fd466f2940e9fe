//! Parts of kernels that are written as wholes: values that are computed by functions of their own, which LLVM inlines.

use super::body::Body;
use super::{Alignment, Runner};
use crate::llvm::{self, Entry, Form};
use crate::lower;
use crate::{CompileError, host};
use svod_dtype::DType;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, ParamId, TempId};
use svod_ir::kernel::Param;
use svod_ir::lowered::{Lowered, Phase, Stmt};
use svod_ir::size::Variable;
use svod_ir::target::Target;

/// A value or what is stored, in terms of temporaries that the kernel gives, arguments and counters.
pub(super) struct Wanted<'a> {
    /// What it is called.
    pub name: &'static str,
    pub exprs: &'a ExprPool,
    pub gives: Gives<'a>,
    /// By their positions among what is given, the temporaries, of which several may be the same, and their type.
    pub given: &'a [(&'a [TempId], DType)],
    pub counters: Vec<Variable>,
}

/// What a part does.
#[derive(Clone, Copy)]
pub(super) enum Gives<'a> {
    /// A value of a type.
    Value(ExprId, DType),
    /// Nothing: it stores in arguments.
    Stores(&'a [Stmt]),
}

/// The function of a part.
pub(super) struct Part {
    function: String,
    /// What its arguments are called in the kernel, before their numbers.
    name: &'static str,
    /// Types of what it is given, and of the value, if it gives one.
    given: Vec<DType>,
    result: Option<DType>,
    /// Arguments of the loop tree, which of these it reads or writes, and which it writes.
    params: usize,
    pub used: Vec<usize>,
    written: Vec<usize>,
}

/// Functions for values, and a module of them; nothing where one of them needs memory of its own.
pub(super) fn parts(
    lowered: &Lowered,
    wanted: &[Wanted],
    target: &Target,
    runner: Runner,
) -> Result<Option<(Vec<Part>, String)>, CompileError> {
    let (mut parts, mut lists) = (Vec::new(), Vec::new());
    for Wanted { name, exprs, gives, given, counters } in wanted {
        // More arguments: what is given, and the value.
        let first = lowered.params.len();
        let param = |n: usize| Mem::Param(ParamId((first + n) as u32));
        let result = if let Gives::Value(_, dtype) = gives { Some(*dtype) } else { None };
        let more = given.iter().map(|(_, dtype)| *dtype).chain(result);
        let one = |dtype: DType| Param { dtype, shape: vec![1.into()], constant: false };
        let params: Vec<Param> = lowered.params.iter().cloned().chain(more.map(one)).collect();
        let mut pool = ExprPool::new();
        let zero = pool.index(0);
        let mut resolved = |roots: &[ExprId]| {
            pool.copy_with(exprs, roots, &|_| None, |pool, node, dtype| match &node {
                Expr::Load { from: Mem::Temp(t, 0), .. } => match given.iter().position(|(of, _)| of.contains(t)) {
                    Some(n) => pool.load(dtype, param(n), &[zero]),
                    None => pool.add(node, dtype),
                },
                _ => pool.add(node, dtype),
            })
        };
        let body: Vec<Stmt> = match gives {
            Gives::Value(value, dtype) => {
                let value = resolved(&[*value])[0];
                let value = pool.cast(*dtype, value);
                vec![Stmt::Store { to: param(given.len()), index: vec![zero], value, valid: None }]
            }
            Gives::Stores(all) => {
                let store = |stmt: &Stmt| {
                    let Stmt::Store { to, valid, .. } = stmt else { return None };
                    let mut made = resolved(&stmt.roots());
                    let valid = valid.and_then(|_| made.pop());
                    let (value, index) = (made.pop()?, made);
                    Some(Stmt::Store { to: *to, index, value, valid })
                };
                let Some(all) = all.iter().map(store).collect() else { return Ok(None) };
                all
            }
        };
        let roots: Vec<ExprId> = body.iter().flat_map(Stmt::roots).collect();
        if !pool.variables_used(&roots).iter().all(|v| counters.contains(v)) {
            return Ok(None);
        }
        let writes = |n: &usize| {
            body.iter().any(|stmt| matches!(stmt, Stmt::Store { to: Mem::Param(p), .. } if p.index() == *n))
        };
        let reads = |n: &usize| {
            let is_read =
                |e: &ExprId| matches!(pool.get(*e), Expr::Load { from: Mem::Param(p), .. } if p.index() == *n);
            pool.loads(&roots).iter().any(is_read)
        };
        let written: Vec<usize> = (0..first).filter(writes).collect();
        let used: Vec<usize> = (0..first).filter(|n| reads(n) || writes(n)).collect();
        let function = format!("{}.{name}", lowered.name);
        let part = Lowered {
            name: function.clone(),
            params,
            vars: counters.clone(),
            strict: lowered.strict,
            guards: Vec::new(),
            phases: vec![Phase { exprs: pool, body, ..Phase::default() }],
        };
        let list = <[_; 1]>::try_from(lower::linearize(&part, target)?);
        let Ok([list]) = list else { return Ok(None) };
        if !list.scratch.is_empty() {
            return Ok(None);
        }
        lists.push(list);
        let given = given.iter().map(|(_, dtype)| *dtype).collect();
        parts.push(Part { function, name, given, result, params: first, used, written });
    }
    let machine = if runner == Runner::Driver { target.clone() } else { host::native() };
    let entry = Entry { form: Form::Part, machine: &machine, align: Alignment::Element.bytes() };
    let text = if lists.is_empty() { String::new() } else { llvm::module(&lists, target, entry) };
    Ok(Some((parts, text)))
}

impl Part {
    /// Its parameters of the kernel.
    pub fn parameters(&self) -> Vec<String> {
        let access = |n: &usize| if self.written.contains(n) { "" } else { "readonly " };
        self.used.iter().map(|n| format!("ptr noalias {}%{}{n}", access(n), self.name)).collect()
    }

    /// Writes the call, which is given these values and counters; what it gives, if it gives anything.
    pub fn call(&self, body: &mut Body, given: &[&str], counters: &[String]) -> Option<String> {
        let given: Vec<_> =
            given.iter().zip(&self.given).map(|(value, dtype)| body.slot(value_type(*dtype), value)).collect();
        let result = self.result.map(|dtype| body.slot(value_type(dtype), "zeroinitializer"));
        let own = |n: usize| if self.used.contains(&n) { format!("ptr %{}{n}", self.name) } else { "ptr null".into() };
        let mut arguments: Vec<String> = (0..self.params).map(own).collect();
        arguments.extend(given.iter().chain(&result).map(|slot| format!("ptr {}", Body::pointer(slot))));
        for counter in counters {
            let wide = body.wide(counter);
            arguments.push(format!("i64 {wide}"));
        }
        body.line(format_args!("call void @\"{}\"({})", self.function, arguments.join(", ")));
        result.map(|slot| body.get(&slot))
    }
}

/// LLVM's type of a value.
fn value_type(dtype: DType) -> &'static str {
    match (dtype, dtype.bytes()) {
        (DType::F32, _) => "float",
        (_, 1) => "i8",
        (_, 2) => "i16",
        (_, 4) => "i32",
        _ => "i64",
    }
}

/// The counters that a number stands for, of which each has so many iterations, outermost first.
pub(super) fn counters(body: &mut Body, number: &str, counts: &[i64]) -> Vec<String> {
    let mut rest = number.to_owned();
    let mut counters = Vec::new();
    for (i, count) in counts.iter().enumerate().rev() {
        counters.push(if i == 0 { rest.clone() } else { body.rem(&rest, count) });
        rest = if i == 0 { rest } else { body.div(&rest, count) };
    }
    counters.reverse();
    counters
}

/// Adds the text of parts to that of a kernel. What both declare is declared once.
pub(super) fn append(kernel: &mut String, parts: &str) {
    let function = |line: &str| line.split('(').next().and_then(|head| head.split('@').nth(1).map(str::to_owned));
    let declares = |line: &&str| line.starts_with("declare ");
    let known: Vec<String> = kernel.lines().filter(declares).filter_map(function).collect();
    let again = |line: &str| declares(&line) && function(line).is_some_and(|name| known.contains(&name));
    let more: Vec<&str> = parts.lines().filter(|line| !again(line)).collect();
    kernel.push_str(&more.join("\n"));
    kernel.push('\n');
}
