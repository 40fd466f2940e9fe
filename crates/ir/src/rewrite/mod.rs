//! The rewrite engine of the graph, and the rules by family.
//!
//! A family holds rules that are sound for the same reason: `any` type, types with a
//! sign, bits, integers, floats when re-association is allowed. Elementwise rules are [equations](pattern), read once and
//! indexed by the operation at the top; rules about shapes and marks are functions that match on
//! the operation. The law of rule-writing: a rule never makes an expression slower, nor larger but for what is much
//! faster, and no two rules undo each other.
//!
//! The engine works bottom-up with a memo. A node is visited once; what a rule puts in its place
//! is visited too, but of that only the nodes that are new.

pub mod elementwise;
pub mod folding;
pub mod joined;
pub mod movement;
pub mod pattern;
pub mod selection;
pub mod weights;

use crate::alu::Alu;
use crate::graph::{GraphError, Op, Sources, Thunk, UOp};
use crate::pass::visit;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use svod_dtype::DType;

pub use elementwise::{ANY, BITS, FLOATS_REASSOCIATED, INTEGERS, POWERS, SHORT_POWERS, SIGNED};
pub use folding::FOLDING;
pub use joined::{JOINED, join_at_once};
pub use movement::MOVEMENT;
pub use pattern::{Bindings, Equation, Pattern};
pub use selection::SELECTION;
pub use selection::coordinates::own_dimensions;
pub use weights::{WEIGHTS, may_be_weights};

/// A rule written as a function: the name of what applied, and the replacement.
pub type RuleFn = fn(&UOp) -> Result<Option<(&'static str, UOp)>, GraphError>;

/// Rules with one reason to be sound.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Name, for switching off and for messages.
    pub name: &'static str,
    /// The operand types for which the equations hold.
    pub holds_for: fn(DType) -> bool,
    /// Equations, one a line; see [`pattern`].
    pub equations: &'static str,
    /// Rules that are no equations.
    pub function: Option<RuleFn>,
}

impl Family {
    /// The equations, read. A line that is not one is left out; a test finds it.
    pub fn read(&self) -> impl Iterator<Item = Equation> {
        self.lines().filter_map(Equation::parse)
    }

    /// The lines that should be equations.
    pub fn lines(&self) -> impl Iterator<Item = &'static str> {
        self.equations.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//"))
    }
}

/// An equation with the operand types for which it holds.
type Conditional = (fn(DType) -> bool, Equation);

/// Families, compiled for lookup by operation.
#[derive(Debug)]
pub struct RuleSet {
    equations: FxHashMap<Alu, Vec<Conditional>>,
    functions: Vec<RuleFn>,
}

/// What every graph goes through: exact for every type, NaN, infinities and -0 included; but for [`POWERS`], which
/// no arithmetic gives exactly.
pub static SIMPLIFY: LazyLock<RuleSet> =
    LazyLock::new(|| RuleSet::new(&[FOLDING, MOVEMENT, JOINED, ANY, SIGNED, BITS, INTEGERS, POWERS]));

/// As [`SIMPLIFY`], and what takes factors of zeros for finite, or holds up to rounding.
pub static SIMPLIFY_FINITE: LazyLock<RuleSet> = LazyLock::new(|| {
    RuleSet::new(&[FOLDING, MOVEMENT, JOINED, SELECTION, WEIGHTS, ANY, SIGNED, BITS, INTEGERS, POWERS])
});

impl RuleSet {
    /// The rules of these families. Functions are tried first, then equations, in this order.
    pub fn new(families: &[Family]) -> RuleSet {
        let mut set = RuleSet { equations: FxHashMap::default(), functions: Vec::new() };
        for family in families {
            set.functions.extend(family.function);
            for equation in family.read() {
                if let Some(head) = equation.lhs.head() {
                    set.equations.entry(head).or_default().push((family.holds_for, equation));
                }
            }
        }
        set
    }

    /// The first rule that applies at the top of `node`, with the replacement.
    pub fn apply(&self, node: &UOp) -> Result<Option<(&'static str, UOp)>, RewriteError> {
        for function in &self.functions {
            let found = function(node).map_err(|error| RewriteError::Rule { rule: "a function", error })?;
            if let Some((name, to)) = found.filter(|(_, to)| to != node) {
                return Ok(Some((name, to)));
            }
        }
        let Op::Alu(op) = node.op() else { return Ok(None) };
        let (Some(equations), Some(operand)) = (self.equations.get(op), node.sources().pop()) else {
            return Ok(None);
        };
        for (holds_for, equation) in equations {
            if !holds_for(operand.dtype()) {
                continue;
            }
            let found = equation.apply(node).map_err(|error| RewriteError::Rule { rule: equation.name, error })?;
            if let Some(to) = found.filter(|to| to != node) {
                return Ok(Some((equation.name, to)));
            }
        }
        Ok(None)
    }
}

/// Rules that are wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// A rule built a node that the table rejects.
    #[error("rule {rule}: {error}")]
    Rule {
        /// Name of the rule.
        rule: &'static str,
        /// Why.
        error: GraphError,
    },
    /// Rules undo each other's work, or grow an expression for ever.
    #[error("no end after {} rewrites of one node; these rules fight: {}", MAX_REWRITES, .0.join(", "))]
    Fight(Vec<&'static str>),
}

/// Rewrites in a row, starting from one node, that count as a fight.
pub const MAX_REWRITES: u32 = 64;

/// What a rewrite gave and took.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The roots, rewritten, in the order given.
    pub roots: Vec<UOp>,
    /// Number of nodes on which rules were tried.
    pub visited: usize,
    /// How often each rule applied.
    pub applied: BTreeMap<&'static str, usize>,
    /// What became of each node, by its id.
    pub became: FxHashMap<u64, UOp>,
}

enum Task {
    /// Rewrite what is below, then the node; the number counts rewrites that led to it.
    Visit(UOp, u32),
    /// What is below is rewritten.
    Rebuild(UOp, Sources, u32),
    /// The first node was replaced by the second, which is rewritten.
    Link(UOp, UOp),
}

/// Rewrites what the roots reach until no rule applies.
pub fn rewrite(roots: &[UOp], rules: &RuleSet) -> Result<Rewritten, RewriteError> {
    let mut applied: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut visited = 0;
    let mut recent: Vec<&'static str> = Vec::new();
    // Ids are never used again, so a memo by id outlives the nodes.
    let mut memo: FxHashMap<u64, UOp> = FxHashMap::default();
    let mut work: Vec<Task> = roots.iter().rev().map(|r| Task::Visit(r.clone(), 0)).collect();
    while let Some(task) = work.pop() {
        visit(1);
        match task {
            Task::Visit(node, rewrites) => {
                if memo.contains_key(&node.id()) {
                    continue;
                }
                match node.state() {
                    Thunk::Forced(leaf) => work.extend([Task::Link(node, leaf.clone()), Task::Visit(leaf, rewrites)]),
                    Thunk::Expr(sources) => {
                        work.push(Task::Rebuild(node, sources.clone(), rewrites));
                        work.extend(sources.into_iter().rev().map(|s| Task::Visit(s, rewrites)));
                    }
                }
            }
            Task::Rebuild(node, sources, rewrites) => {
                let new: Sources = sources.iter().map(|s| memo[&s.id()].clone()).collect();
                let rebuilt = if new == sources { node.clone() } else { rebuild(&node, &new)? };
                if let Some(done) = memo.get(&rebuilt.id()) {
                    memo.insert(node.id(), done.clone());
                    continue;
                }
                visited += 1;
                let Some((rule, to)) = rules.apply(&rebuilt)? else {
                    memo.insert(rebuilt.id(), rebuilt.clone());
                    memo.insert(node.id(), rebuilt);
                    continue;
                };
                *applied.entry(rule).or_default() += 1;
                recent.push(rule);
                if rewrites == MAX_REWRITES {
                    let mut rules = recent.split_off(recent.len().saturating_sub(MAX_REWRITES as usize / 2));
                    rules.sort_unstable();
                    rules.dedup();
                    return Err(RewriteError::Fight(rules));
                }
                to.inherit_origin(&node);
                work.push(Task::Link(rebuilt.clone(), to.clone()));
                work.push(Task::Link(node, to.clone()));
                work.push(Task::Visit(to, rewrites + 1));
            }
            Task::Link(from, to) => {
                let done = memo[&to.id()].clone();
                memo.insert(from.id(), done);
            }
        }
    }
    let roots = roots.iter().map(|r| memo[&r.id()].clone()).collect();
    Ok(Rewritten { roots, visited, applied, became: memo })
}

fn rebuild(node: &UOp, sources: &[UOp]) -> Result<UOp, RewriteError> {
    let rebuilt = UOp::new(node.op().clone(), sources);
    let rebuilt = rebuilt.map_err(|error| RewriteError::Rule { rule: "rebuild", error })?;
    rebuilt.inherit_origin(node);
    Ok(rebuilt)
}
