//! What operators take, by ONNX's own tables: how many operands and results of which types, and which attributes.
//!
//! `schemas.tsv` is written by `scripts/onnx_schemas.py`. What a rule would pass over, or would fail at when it is called, is an error
//! when a model is read.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::error::Fault;
use crate::proto::{AttributeProto, NodeProto, attribute};
use crate::types;

/// The number of an element type, where it is known.
pub(crate) type ElementType = Option<i32>;

/// A version of an operator.
struct Schema {
    since: i64,
    inputs: Formals,
    outputs: Formals,
    /// Name, the letter of its kind, and whether it has to be given.
    attributes: Vec<(&'static str, char, bool)>,
}

/// Operands or results.
struct Formals {
    least: usize,
    /// Types: of ONNX, or variables.
    types: Vec<&'static str>,
    /// Whether the last one stands for any number, and whether these are of one type.
    is_open: bool,
    is_uniform: bool,
}

/// The texts that an attribute may be: operator, or nothing for any, name, and the texts.
const TEXTS: &[(&str, &str, &[&str])] = &[
    ("", "auto_pad", &["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]),
    ("BitShift", "direction", &["LEFT", "RIGHT"]),
    ("Cast", "round_mode", &["up", "down", "nearest"]),
    ("CastLike", "round_mode", &["up", "down", "nearest"]),
    ("DepthToSpace", "mode", &["DCR", "CRD"]),
    ("GRU", "direction", &["forward", "reverse", "bidirectional"]),
    ("Gelu", "approximate", &["none", "tanh"]),
    ("GridSample", "mode", &["bilinear", "linear", "nearest", "bicubic", "cubic"]),
    ("GridSample", "padding_mode", &["zeros", "border", "reflection"]),
    ("LSTM", "direction", &["forward", "reverse", "bidirectional"]),
    ("NegativeLogLikelihoodLoss", "reduction", &["none", "sum", "mean"]),
    ("Pad", "mode", &["constant", "reflect", "edge", "wrap"]),
    ("RNN", "direction", &["forward", "reverse", "bidirectional"]),
    (
        "Resize",
        "coordinate_transformation_mode",
        &[
            "half_pixel",
            "half_pixel_symmetric",
            "pytorch_half_pixel",
            "align_corners",
            "asymmetric",
            "tf_half_pixel_for_nn",
            "tf_crop_and_resize",
        ],
    ),
    ("Resize", "keep_aspect_ratio_policy", &["stretch", "not_larger", "not_smaller"]),
    ("Resize", "mode", &["nearest", "linear", "cubic"]),
    ("Resize", "nearest_mode", &["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]),
    ("RoiAlign", "coordinate_transformation_mode", &["half_pixel", "output_half_pixel"]),
    ("RoiAlign", "mode", &["avg", "max"]),
    ("ScatterElements", "reduction", &["none", "add", "mul", "max", "min"]),
    ("ScatterND", "reduction", &["none", "add", "mul", "max", "min"]),
    ("SoftmaxCrossEntropyLoss", "reduction", &["none", "sum", "mean"]),
    ("TensorScatter", "mode", &["linear", "circular"]),
];

/// The versions of operators, by set and name.
static SCHEMAS: LazyLock<FxHashMap<(&str, &str), Vec<Schema>>> = LazyLock::new(|| {
    let mut all: FxHashMap<_, Vec<Schema>> = FxHashMap::default();
    for line in include_str!("schemas.tsv").lines() {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or_default();
        let key = (next(), next());
        let since = next().parse().unwrap_or_default();
        let (inputs, outputs) = (Formals::parsed(next()), Formals::parsed(next()));
        let attributes = next().split_whitespace().filter_map(|text| {
            let (name, kind) = text.split_once(':')?;
            Some((name, kind.chars().next()?, kind.ends_with('!')))
        });
        all.entry(key).or_default().push(Schema { since, inputs, outputs, attributes: attributes.collect() });
    }
    all
});

impl Formals {
    fn parsed(text: &'static str) -> Formals {
        let mut words = text.split_whitespace();
        let least = words.next().and_then(|n| n.parse().ok()).unwrap_or_default();
        let all: Vec<&str> = words.collect();
        let last = all.last().copied().unwrap_or_default();
        Formals {
            least,
            is_open: last.starts_with(['*', '~']),
            is_uniform: last.starts_with('*'),
            types: all.iter().map(|word| word.trim_start_matches(['?', '*', '~'])).collect(),
        }
    }

    /// An error where these are not as many as may be.
    fn check_count(&self, names: &[String], word: &str) -> Result<(), Fault> {
        let given = names.len();
        let most = if self.is_open { usize::MAX } else { self.types.len() };
        if (self.least..=most).contains(&given) {
            return Ok(());
        }
        let expected = match (self.least, most) {
            (least, usize::MAX) => format!("at least {least}"),
            (least, most) if least == most => most.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        Err(Fault::Invalid(format!("it has {given} {word}, but the operator takes {expected}")))
    }

    /// The type at a place: of ONNX, or a variable.
    fn at(&self, place: usize) -> Option<&'static str> {
        match self.types.get(place) {
            Some(word) if place + 1 < self.types.len() || !self.is_open || self.is_uniform => Some(word),
            None if self.is_uniform => self.types.last().copied(),
            _ => None,
        }
    }
}

/// The element types of a node's results, where they are known, of a version of an operator and those of its operands.
///
/// # Errors
/// Operands, results or attributes that the operator does not take.
pub(crate) fn check(
    set: &str,
    version: i64,
    node: &NodeProto,
    operands: &[ElementType],
) -> Result<Vec<ElementType>, Fault> {
    let unknown = || vec![None; node.output.len()];
    let versions = SCHEMAS.get(&(set, node.op_type.as_str()));
    let Some(schema) = versions.and_then(|all| all.iter().rev().find(|schema| schema.since <= version)) else {
        return Ok(unknown());
    };
    schema.inputs.check_count(&node.input, "operands")?;
    schema.outputs.check_count(&node.output, "results")?;
    for given in &node.attribute {
        schema.check_attribute(node, given, version)?;
    }
    let is_given = |name: &str| node.attribute.iter().any(|given| given.name == name);
    if let Some((name, ..)) = schema.attributes.iter().find(|(name, _, needed)| *needed && !is_given(name)) {
        return Err(Fault::Invalid(format!("attribute '{name}' is missing")));
    }
    let bound = schema.variables(operands)?;
    let number = |name: &str| node.attribute.iter().find(|given| given.name == name && given.ref_attr_name.is_empty());
    let of_attribute = || number("to").or_else(|| number("dtype")).and_then(|given| i32::try_from(given.i).ok());
    let result = |at: usize| {
        let word = schema.outputs.at(at)?;
        types::number(word).or_else(|| bound.get(word).map(|(_, number)| *number)).or_else(of_attribute)
    };
    Ok((0..node.output.len()).map(result).collect())
}

impl Schema {
    fn check_attribute(&self, node: &NodeProto, given: &AttributeProto, version: i64) -> Result<(), Fault> {
        let name = given.name.as_str();
        let Some((_, kind, _)) = self.attributes.iter().find(|(own, ..)| *own == name) else {
            let message = format!("there is no attribute '{name}' in version {version} of the operator set");
            return Err(Fault::Invalid(message));
        };
        if !given.ref_attr_name.is_empty() {
            return Ok(());
        }
        let (number, expected) = kind_of(*kind);
        if given.r#type != number {
            return Err(Fault::Invalid(format!("attribute '{name}' should be {expected}")));
        }
        let texts = TEXTS.iter().find(|(op, own, _)| *own == name && (op.is_empty() || *op == node.op_type));
        match (texts, std::str::from_utf8(&given.s)) {
            (Some((.., allowed)), text) if *kind == 's' && !text.is_ok_and(|text| allowed.contains(&text)) => {
                let text = String::from_utf8_lossy(&given.s);
                Err(Fault::Invalid(format!("attribute '{name}' is '{text}', which is none of {}", allowed.join(", "))))
            }
            _ => Ok(()),
        }
    }

    /// The types that variables stand for, each with the first operand of it.
    fn variables(&self, operands: &[ElementType]) -> Result<FxHashMap<&'static str, (usize, i32)>, Fault> {
        let mut bound: FxHashMap<_, (usize, i32)> = FxHashMap::default();
        for (at, given) in operands.iter().enumerate() {
            let (Some(given), Some(word)) = (*given, self.inputs.at(at)) else { continue };
            let own = types::name(given);
            if let Some(expected) = types::number(word) {
                if expected != given {
                    return Err(Fault::Invalid(format!("operand {at} should be of {word}, but is of {own}")));
                }
                continue;
            }
            let (first, other) = *bound.entry(word).or_insert((at, given));
            if word != "-" && other != given {
                return Err(Fault::Invalid(format!(
                    "operands {first} and {at} should be of one type, but are of {} and {own}",
                    types::name(other)
                )));
            }
        }
        bound.remove("-");
        Ok(bound)
    }
}

/// The number of a kind of attributes, and what it is.
fn kind_of(letter: char) -> (i32, &'static str) {
    match letter {
        'f' => (attribute::FLOAT, "a float"),
        'i' => (attribute::INT, "an integer"),
        's' => (attribute::STRING, "a text"),
        't' => (attribute::TENSOR, "a tensor"),
        'g' => (attribute::GRAPH, "a graph"),
        'F' => (attribute::FLOATS, "a list of floats"),
        'I' => (attribute::INTS, "a list of integers"),
        'S' => (attribute::STRINGS, "a list of texts"),
        'p' => (attribute::SPARSE_TENSOR, "a sparse tensor"),
        _ => (attribute::TYPE_PROTO, "a type"),
    }
}
