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

/// A value, in terms of temporaries that the kernel gives, arguments and counters.
pub(super) struct Wanted<'a> {
    /// What it is called.
    pub name: &'static str,
    pub exprs: &'a ExprPool,
    pub value: ExprId,
    /// By their positions among what is given, the temporaries: several may be the same.
    pub given: &'a [&'a [TempId]],
    pub counters: Vec<Variable>,
}

/// The function of a value.
pub(super) struct Part {
    function: String,
    /// What its arguments are called in the kernel, before their numbers.
    name: &'static str,
    /// Arguments of the loop tree, and which of these it reads.
    params: usize,
    pub read: Vec<usize>,
}

/// Functions for values, and a module of them; nothing where one of them needs memory of its own.
pub(super) fn parts(
    lowered: &Lowered,
    wanted: &[Wanted],
    target: &Target,
    runner: Runner,
) -> Result<Option<(Vec<Part>, String)>, CompileError> {
    let (mut parts, mut lists) = (Vec::new(), Vec::new());
    for Wanted { name, exprs, value, given, counters } in wanted {
        // More arguments: what is given, and the value.
        let first = lowered.params.len();
        let param = |n: usize| Mem::Param(ParamId((first + n) as u32));
        let one = Param { dtype: DType::F32, shape: vec![1.into()], constant: false };
        let params: Vec<Param> = lowered.params.iter().cloned().chain(vec![one; given.len() + 1]).collect();
        let mut pool = ExprPool::new();
        let zero = pool.index(0);
        let value = pool.copy_with(exprs, &[*value], &|_| None, |pool, node, dtype| match &node {
            Expr::Load { from: Mem::Temp(t, 0), .. } => match given.iter().position(|known| known.contains(t)) {
                Some(n) => pool.load(dtype, param(n), &[zero]),
                None => pool.add(node, dtype),
            },
            _ => pool.add(node, dtype),
        })[0];
        let value = pool.cast(DType::F32, value);
        let reads = |n: &usize| {
            let is_read =
                |e: &ExprId| matches!(pool.get(*e), Expr::Load { from: Mem::Param(p), .. } if p.index() == *n);
            pool.loads(&[value]).iter().any(is_read)
        };
        let read: Vec<usize> = (0..first).filter(reads).collect();
        let store = Stmt::Store { to: param(given.len()), index: vec![zero], value, valid: None };
        let function = format!("{}.{name}", lowered.name);
        let part = Lowered {
            name: function.clone(),
            params,
            vars: counters.clone(),
            strict: lowered.strict,
            guards: Vec::new(),
            phases: vec![Phase { exprs: pool, body: vec![store], ..Phase::default() }],
        };
        let list = <[_; 1]>::try_from(lower::linearize(&part, target)?);
        let Ok([list]) = list else { return Ok(None) };
        if !list.scratch.is_empty() {
            return Ok(None);
        }
        lists.push(list);
        parts.push(Part { function, name, params: first, read });
    }
    let machine = if runner == Runner::Driver { target.clone() } else { host::native() };
    let entry = Entry { form: Form::Part, machine: &machine, align: Alignment::Element.bytes() };
    let text = if lists.is_empty() { String::new() } else { llvm::module(&lists, target, entry) };
    Ok(Some((parts, text)))
}

impl Part {
    /// Its parameters of the kernel.
    pub fn parameters(&self) -> Vec<String> {
        self.read.iter().map(|n| format!("ptr noalias readonly %{}{n}", self.name)).collect()
    }

    /// Writes the call, which is given these values and counters.
    pub fn call(&self, body: &mut Body, given: &[&str], counters: &[String]) -> String {
        let given: Vec<_> = given.iter().map(|value| body.slot("float", value)).collect();
        let result = body.slot("float", "0.0");
        let own = |n: usize| if self.read.contains(&n) { format!("ptr %{}{n}", self.name) } else { "ptr null".into() };
        let mut arguments: Vec<String> = (0..self.params).map(own).collect();
        arguments.extend(given.iter().chain([&result]).map(|slot| format!("ptr {}", Body::pointer(slot))));
        for counter in counters {
            let wide = body.wide(counter);
            arguments.push(format!("i64 {wide}"));
        }
        body.line(format_args!("call void @\"{}\"({})", self.function, arguments.join(", ")));
        body.get(&result)
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
