//! Expressions as text.

use crate::alu::Alu;
use crate::expr::{Expr, ExprId, ExprPool, Mem};
use crate::kernel::Param;
use crate::size::{Size, Variable};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt::Write;

/// The deepest expression written on one line; what is deeper gets a name.
const MAX_HEIGHT: u8 = 6;

/// Binding strength of a prefix operator, above all infix ones.
const PREFIX: u8 = 9;

/// The infix operators, with how strongly they bind; all associate to the left.
pub(super) const INFIX: &[(&str, Alu, u8)] = &[
    ("|", Alu::Or, 1),
    ("^", Alu::Xor, 2),
    ("&", Alu::And, 3),
    ("==", Alu::Eq, 4),
    ("!=", Alu::Ne, 4),
    ("<", Alu::Lt, 5),
    ("<=", Alu::Le, 5),
    ("<<", Alu::Shl, 6),
    (">>", Alu::Shr, 6),
    ("+", Alu::Add, 7),
    ("-", Alu::Sub, 7),
    ("*", Alu::Mul, 8),
    ("/", Alu::Div, 8),
];

/// Writes the expressions below some roots, in the order in which they are asked for.
pub(crate) struct Printer<'a> {
    pool: &'a ExprPool,
    temps: &'a [String],
    /// Expressions that are written once and have, then, a number.
    shared: FxHashMap<ExprId, Option<usize>>,
    named: usize,
}

/// The expressions that name the lanes of an [`Expr::Lanes`].
fn inside_lanes(pool: &ExprPool, reachable: &[ExprId]) -> FxHashSet<ExprId> {
    let mut inside = FxHashSet::default();
    let lanes = reachable.iter().filter_map(|id| match pool.get(*id) {
        Expr::Lanes { lanes, .. } => Some(lanes),
        _ => None,
    });
    let lanes: Vec<&Variable> = lanes.collect();
    for id in reachable.iter().filter(|_| !lanes.is_empty()) {
        let node = pool.get(*id);
        let names = matches!(node, Expr::Index(size) if lanes.iter().any(|v| size.variables().contains(v)));
        let reduced = matches!(node, Expr::Lanes { .. });
        if names || !reduced && node.operands().iter().any(|o| inside.contains(o)) {
            inside.insert(*id);
        }
    }
    inside
}

impl<'a> Printer<'a> {
    /// A printer of what is reachable from `roots`, of which `places` index what is written;
    /// `temps` are the names of stages or temporaries.
    pub fn new(pool: &'a ExprPool, temps: &'a [String], roots: &[ExprId], places: &[ExprId]) -> Self {
        let mut uses: FxHashMap<ExprId, (usize, bool)> = FxHashMap::default();
        let reachable = pool.reachable(roots);
        for root in roots {
            uses.entry(*root).or_default().0 += 1;
        }
        for index in places {
            uses.entry(*index).or_default().1 = true;
        }
        for id in &reachable {
            let node = pool.get(*id);
            for operand in node.operands() {
                uses.entry(operand).or_default().0 += 1;
            }
            if let Expr::Load { index, .. } = node {
                for i in index {
                    uses.entry(*i).or_default().1 = true;
                }
            }
        }
        let inside = inside_lanes(pool, &reachable);
        let mut shared = FxHashMap::default();
        let mut heights: FxHashMap<ExprId, u8> = FxHashMap::default();
        for id in reachable {
            let node = pool.get(id);
            let operands = node.operands();
            let height = operands.iter().map(|o| heights[o] + 1).max().unwrap_or(0);
            // Short enough to be repeated: a leaf, or an element of memory that any point reads.
            let short = match node {
                Expr::Load { index, valid, .. } => {
                    valid.is_none() && index.iter().all(|i| matches!(pool.get(*i), Expr::Index(_)))
                }
                _ => operands.is_empty(),
            };
            let (count, indexes) = uses[&id];
            let computed_index = indexes && !matches!(node, Expr::Index(_));
            let name = computed_index || !short && (count > 1 || height > MAX_HEIGHT);
            // A name would be outside of the lanes.
            let name = name && !inside.contains(&id);
            if name {
                shared.insert(id, None);
            }
            heights.insert(id, if name { 0 } else { height });
        }
        Printer { pool, temps, shared, named: 0 }
    }

    /// Writes a line `e0 = …` for each name that `root` needs and that has none yet.
    pub fn define(&mut self, out: &mut String, indent: &str, root: ExprId) {
        let mut stack = vec![(root, 0)];
        let mut seen = FxHashSet::default();
        while let Some((id, operand)) = stack.pop() {
            if self.shared.get(&id).is_some_and(Option::is_some) {
                continue;
            }
            if let Some(&next) = self.pool.get(id).operands().get(operand) {
                stack.push((id, operand + 1));
                if seen.insert(next) {
                    stack.push((next, 0));
                }
            } else if self.shared.contains_key(&id) {
                let _ = write!(out, "{indent}e{} = ", self.named);
                self.node(out, id, 0);
                out.push('\n');
                self.shared.insert(id, Some(self.named));
                self.named += 1;
            }
        }
    }

    /// The text of an expression whose names are defined.
    pub fn expr(&self, id: ExprId) -> String {
        let mut out = String::new();
        self.operand(&mut out, id, 0);
        out
    }

    /// The text of a place in memory: `p0[i, j + 1]`.
    pub fn place(&self, mem: Mem, index: &[ExprId]) -> String {
        let mut out = self.mem(mem);
        self.brackets(&mut out, index);
        out.push(']');
        out
    }

    /// The text of a memory.
    pub fn mem(&self, mem: Mem) -> String {
        let name = |t: usize| self.temps.get(t).cloned().unwrap_or_else(|| format!("t{t}"));
        match mem {
            Mem::Param(p) => p.to_string(),
            Mem::Temp(t, 0) => name(t.index()),
            Mem::Temp(t, field) => format!("{}.{field}", name(t.index())),
        }
    }

    fn brackets(&self, out: &mut String, index: &[ExprId]) {
        out.push('[');
        for (n, i) in index.iter().enumerate() {
            out.push_str(if n > 0 { ", " } else { "" });
            match self.pool.get(*i) {
                Expr::Index(size) => {
                    let _ = write!(out, "{size}");
                }
                _ => self.operand(out, *i, 0),
            }
        }
    }

    fn operand(&self, out: &mut String, id: ExprId, strength: u8) {
        match self.shared.get(&id) {
            Some(Some(name)) => {
                let _ = write!(out, "e{name}");
            }
            // A name is always defined before its use; without one the node is written in full.
            Some(None) | None => self.node(out, id, strength),
        }
    }

    /// Writes a node, in parentheses where it binds less than `strength`.
    fn node(&self, out: &mut String, id: ExprId, strength: u8) {
        let _ = match self.pool.get(id) {
            Expr::Const(c) => write!(out, "{c}"),
            Expr::Index(size) => {
                let text = size.to_string();
                let bare = text.chars().all(|c| c.is_alphanumeric() || c == '_');
                if bare { write!(out, "{text}") } else { write!(out, "{{{text}}}") }
            }
            Expr::Carry(n, _) => write!(out, "carry.{n}"),
            Expr::Old(n, _) => write!(out, "old.{n}"),
            Expr::New(n, _) => write!(out, "new.{n}"),
            Expr::Alu(op, args) => return self.alu(out, *op, args, strength),
            Expr::Cast(to, value) => return self.call(out, &format!("cast({}, ", to.short()), &[*value]),
            Expr::Bitcast(to, value) => return self.call(out, &format!("bitcast({}, ", to.short()), &[*value]),
            Expr::Lanes { op, lanes, value } => {
                return self.call(
                    out,
                    &format!("lanes({}, {lanes} < {}, ", op.name(), Variable::max(lanes).saturating_add(1)),
                    &[*value],
                );
            }
            Expr::Alike { over, value, before } => {
                let name = if *before { "alike_before" } else { "alike" };
                return self.call(out, &format!("{name}({over}, "), &[*value]);
            }
            Expr::Running { op, over, value } => {
                return self.call(out, &format!("running({}, {over}, ", op.name()), &[*value]);
            }
            Expr::Load { from, index, valid, other } => {
                out.push_str(&self.mem(*from));
                self.brackets(out, index);
                if let Some(valid) = valid {
                    out.push_str(" if ");
                    self.operand(out, *valid, 0);
                }
                if valid.is_some() || other.bits() != 0 {
                    let _ = write!(out, " else {other}");
                }
                out.push(']');
                Ok(())
            }
        };
    }

    fn call(&self, out: &mut String, head: &str, args: &[ExprId]) {
        out.push_str(head);
        for (n, arg) in args.iter().enumerate() {
            out.push_str(if n > 0 { ", " } else { "" });
            self.operand(out, *arg, 0);
        }
        out.push(')');
    }

    fn alu(&self, out: &mut String, op: Alu, args: &[ExprId], strength: u8) {
        if let (Some((sign, _, own)), [a, b]) = (INFIX.iter().find(|(_, alu, _)| *alu == op), args) {
            let parentheses = *own < strength;
            out.push_str(if parentheses { "(" } else { "" });
            self.operand(out, *a, *own);
            let _ = write!(out, " {sign} ");
            self.operand(out, *b, own + 1);
            out.push_str(if parentheses { ")" } else { "" });
            return;
        }
        match (op, args) {
            (Alu::Neg, [a]) => {
                out.push('-');
                self.operand(out, *a, PREFIX);
            }
            (Alu::Not, [a]) => {
                out.push('!');
                self.operand(out, *a, PREFIX);
            }
            _ => self.call(out, &format!("{}(", op.name()), args),
        }
    }
}

/// The largest value of the counter of a range.
pub(super) fn largest(extent: &Size) -> i64 {
    extent.bounds().1.saturating_sub(1).max(0)
}

/// `i < n`, with the counter's bounds where they do not follow from the extent.
pub(crate) fn range(var: &Variable, extent: &Size) -> String {
    if (var.min(), var.max()) == (0, largest(extent)) {
        format!("{var} < {extent}")
    } else {
        format!("{var} in {}..={} < {extent}", var.min(), var.max())
    }
}

/// `f32[n, 4]`.
pub(crate) fn array(dtype: svod_dtype::DType, shape: &[Size]) -> String {
    let shape: Vec<String> = shape.iter().map(Size::to_string).collect();
    format!("{}[{}]", dtype.short(), shape.join(", "))
}

/// The lines that declare variables and buffer arguments.
pub(crate) fn header(out: &mut String, vars: &[Variable], params: &[Param]) {
    for v in vars {
        let _ = writeln!(out, "var {v} = {}..={}", v.min(), v.max());
    }
    for (n, p) in params.iter().enumerate() {
        let constant = if p.constant { " constant" } else { "" };
        let _ = writeln!(out, "param p{n}: {}{constant}", array(p.dtype, &p.shape));
    }
}
