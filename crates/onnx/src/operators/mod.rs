//! The operators: one row for each, with the version of its set from which on the rule holds.
//!
//! A rule is a function of a [`Call`]: it builds expressions of svod's tensors, nothing is computed, unless it asks for
//! the elements of an operand. Where these depend on what a graph is traced with, that is an error, which
//! [`crate::plan`] answers: the input becomes a constant, or the graph is run step by step.

mod activation;
mod attention;
mod control;
mod conv;
mod creation;
mod elementwise;
mod image;
mod indexing;
pub(crate) mod known;
mod logic;
mod loss;
mod matmul;
mod ml;
mod movement;
mod norm;
mod pool;
mod quantize;
mod random;
mod recurrent;
mod reduce;
mod resize;
mod sequence;
mod signal;
mod training;

use crate::call::{Call, Outcome};
use crate::error::Fault;

/// What computes a node.
pub(crate) type Rule = fn(&Call<'_>) -> Outcome;

/// An operator.
pub(crate) struct Row {
    /// The operator set; empty for ONNX's own.
    pub domain: &'static str,
    /// The operator.
    pub op: &'static str,
    /// The first version of the set for which the rule holds.
    pub since: i64,
    /// The rule.
    pub rule: Rule,
}

/// A row of ONNX's own operator set.
const fn row(op: &'static str, since: i64, rule: Rule) -> Row {
    Row { domain: "", op, since, rule }
}

/// All rows, by subject.
const TABLE: &[&[Row]] = &[
    activation::ROWS,
    attention::ROWS,
    control::ROWS,
    conv::ROWS,
    creation::ROWS,
    elementwise::ROWS,
    image::ROWS,
    indexing::ROWS,
    logic::ROWS,
    loss::ROWS,
    matmul::ROWS,
    ml::ROWS,
    movement::ROWS,
    norm::ROWS,
    pool::ROWS,
    quantize::ROWS,
    random::ROWS,
    recurrent::ROWS,
    reduce::ROWS,
    resize::ROWS,
    sequence::ROWS,
    signal::ROWS,
    training::ROWS,
];

/// The newest version of ONNX's own operator set that the rules are for.
pub(crate) const NEWEST: i64 = 28;

/// The rule of an operator in a version of its set: that of the latest row up to it.
///
/// # Errors
/// An operator that there is no row of, and a version before or after all rows.
pub(crate) fn find(domain: &str, op: &str, version: i64) -> Result<Rule, Fault> {
    let set = if domain.is_empty() { "ai.onnx" } else { domain };
    let of_name = || TABLE.iter().copied().flatten().filter(|row| row.domain == domain && row.op == op);
    let best = of_name().filter(|row| row.since <= version).max_by_key(|row| row.since);
    match (best, of_name().map(|row| row.since).min()) {
        _ if domain.is_empty() && version > NEWEST => Err(Fault::Unsupported(format!(
            "version {version} of the operator set {set} is not supported, only those up to {NEWEST}"
        ))),
        (Some(row), _) => Ok(row.rule),
        (None, Some(first)) => Err(Fault::Unsupported(format!(
            "{op} of version {version} of the operator set {set} is not supported, only from version {first} on"
        ))),
        (None, None) => Err(Fault::Unsupported(format!("operator {op} of {set} is not supported"))),
    }
}

/// The operators that there are rules for: set, name, first version.
pub fn supported() -> Vec<(&'static str, &'static str, i64)> {
    let mut all: Vec<_> = TABLE.iter().copied().flatten().map(|row| (row.domain, row.op, row.since)).collect();
    all.sort_unstable();
    all
}
