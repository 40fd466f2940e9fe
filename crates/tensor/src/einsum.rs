//! Einstein summation: `"ij,jk->ik"`.
//!
//! Operands are contracted two at a time, the pair first whose product is smallest for what it uses
//! up, as is usual where the best order would take too long to find (Smith and Gray 2018). A label
//! that nothing else needs is summed over as soon as that is so.

use svod_dtype::DType;
use svod_ir::alu::Alu;
use svod_ir::graph::UOp;
use svod_ir::kernel::Monoid;
use svod_ir::size::Size;

use crate::complex;
use crate::error::{Result, TensorError, show_operands};
use crate::operand::{Operand, common_dtype};
use crate::reduce::carried_in;
use crate::tensor::Tensor;

const OP: &str = "einsum";

/// The name of a dimension: a letter, or a dimension that `...` stands for, counted from the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Letter(char),
    Ellipsis(usize),
}

/// A value and the names of its dimensions.
struct Named {
    node: UOp,
    labels: Vec<Label>,
}

impl Tensor {
    /// Sums of products over named dimensions, in NumPy's notation: each operand's dimensions have
    /// letters, equal letters have equal extents (or 1, which repeats), and letters that the result
    /// lacks are summed over. A letter twice in an operand is its diagonal; `...` stands for
    /// the dimensions that have no letter, and broadcasts. Without `->`, the result has the letters
    /// that occur once, in the order of the alphabet, after those of `...`. Narrow floats are
    /// summed in `float32`.
    ///
    /// # Errors
    /// Subscripts that cannot be read or do not fit the operands, a letter with two extents, and
    /// types without a common one.
    ///
    /// ```
    /// use svod_tensor::Tensor;
    /// let (a, b) = (Tensor::ones(&[2, 3], svod_tensor::DType::F32)?, Tensor::ones(&[3, 4], svod_tensor::DType::F32)?);
    /// assert_eq!(Tensor::einsum("ij,jk->ik", &[&a, &b])?.dims()?, [2, 4]);
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    pub fn einsum(subscripts: &str, operands: &[&Tensor]) -> Result<Tensor> {
        let dtype = common_dtype(OP, &operands.iter().map(|t| Operand::from(*t)).collect::<Vec<_>>())?;
        if dtype.is_complex() {
            return complex::multilinear(operands, dtype, &|parts| Tensor::einsum(subscripts, parts));
        }
        let nodes: Vec<UOp> = operands.iter().map(|t| t.uop()).collect();
        let misfit =
            |why: String| TensorError::value(OP, format!("{subscripts:?} of {}: {why}", show_operands(&nodes)));
        let (named, result) = read(subscripts, &nodes).map_err(misfit)?;
        let extents = extents(&named).map_err(|why| match misfit(why) {
            TensorError::Value { op, message } => TensorError::shape(op, message),
            other => other,
        })?;
        let carried = if dtype.is_float() { carried_in(dtype) } else { dtype };
        let mut values = Vec::with_capacity(named.len());
        for value in named {
            let mut value = diagonals(value)?;
            value.node = value.node.cast(carried)?;
            values.push(value);
        }
        let product = Contraction { extents, result: &result, dtype: carried }.all(values)?;
        let order: Vec<usize> = result.iter().filter_map(|l| product.labels.iter().position(|own| own == l)).collect();
        Ok(Tensor::from_uop(product.node.permute(&order)?.cast(dtype)?))
    }
}

/// The operands with their dimensions named, and the names of the result's.
fn read(subscripts: &str, nodes: &[UOp]) -> std::result::Result<(Vec<Named>, Vec<Label>), String> {
    let text: String = subscripts.chars().filter(|c| !c.is_whitespace()).collect();
    let (inputs, output) = match text.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output)),
        None => (&*text, None),
    };
    let terms: Vec<&str> = inputs.split(',').collect();
    if terms.len() != nodes.len() {
        return Err(format!("{} subscripts for {} operands", terms.len(), nodes.len()));
    }
    let mut named = Vec::with_capacity(nodes.len());
    for (term, node) in terms.iter().zip(nodes) {
        let letters = term.chars().filter(|c| *c != '.').count();
        let dots = term.contains("...");
        let rest = node.rank().checked_sub(letters).filter(|rest| dots || *rest == 0);
        let Some(rest) = rest else {
            return Err(format!("{term:?} does not name {} dimensions", node.rank()));
        };
        named.push(Named { node: node.clone(), labels: labels(term, rest)? });
    }
    let all: Vec<Label> = named.iter().flat_map(|n| n.labels.iter().copied()).collect();
    let dots = all.iter().map(|l| if let Label::Ellipsis(i) = l { i + 1 } else { 0 }).max().unwrap_or(0);
    let result = match output {
        Some(output) => labels(output, dots)?,
        None => {
            let mut once: Vec<char> = all
                .iter()
                .filter(|l| all.iter().filter(|other| other == l).count() == 1)
                .filter_map(|l| if let Label::Letter(c) = l { Some(*c) } else { None })
                .collect();
            once.sort_unstable();
            (0..dots).rev().map(Label::Ellipsis).chain(once.into_iter().map(Label::Letter)).collect()
        }
    };
    for (i, label) in result.iter().enumerate() {
        if result[..i].contains(label) {
            return Err(format!("the result names {} twice", show(*label)));
        }
        if !all.contains(label) {
            return Err(format!("the result names {}, which no operand has", show(*label)));
        }
    }
    Ok((named, result))
}

/// The labels of one term, in which `...` stands for `rest` dimensions.
fn labels(term: &str, rest: usize) -> std::result::Result<Vec<Label>, String> {
    let mut labels = Vec::new();
    let (before, after) = term.split_once("...").unwrap_or((term, ""));
    for (part, is_last) in [(before, false), (after, true)] {
        if is_last && term.contains("...") {
            labels.extend((0..rest).rev().map(Label::Ellipsis));
        }
        for c in part.chars() {
            if !c.is_ascii_alphabetic() {
                return Err(format!("{c:?} in {term:?} is neither a letter nor part of one `...`"));
            }
            labels.push(Label::Letter(c));
        }
    }
    Ok(labels)
}

fn show(label: Label) -> String {
    match label {
        Label::Letter(c) => format!("{c:?}"),
        Label::Ellipsis(_) => "`...`".into(),
    }
}

/// The extent of each label: that of its dimensions that are not 1.
fn extents(named: &[Named]) -> std::result::Result<Vec<(Label, Size)>, String> {
    let mut extents: Vec<(Label, Size)> = Vec::new();
    for value in named {
        for (label, extent) in value.labels.iter().zip(value.node.shape()) {
            let Some((_, known)) = extents.iter_mut().find(|(l, _)| l == label) else {
                extents.push((*label, extent.clone()));
                continue;
            };
            if *known == Size::ONE {
                *known = extent.clone();
            } else if *extent != Size::ONE && Size::eq(known, extent) != Some(true) {
                return Err(format!("{} has the extents {known} and {extent}", show(*label)));
            }
        }
    }
    Ok(extents)
}

/// The value with each label once: a repeated one goes along the diagonal.
fn diagonals(mut value: Named) -> Result<Named> {
    while let Some((a, b)) = repeated(&value.labels) {
        let rank = value.labels.len();
        let (na, nb) = (value.node.shape()[a].clone(), value.node.shape()[b].clone());
        let mut order: Vec<usize> = (0..rank).filter(|d| *d != a && *d != b).collect();
        let mut shape: Vec<Size> = order.iter().map(|d| value.node.shape()[*d].clone()).collect();
        order.extend([a, b]);
        let moved = value.node.permute(&order)?;
        let label = value.labels[a];
        value.labels = order[..rank - 2].iter().map(|d| value.labels[*d]).chain([label]).collect();
        if na == Size::ONE || nb == Size::ONE {
            // A diagonal of one row or column is all of it, by broadcasting.
            shape.push(if na == Size::ONE { nb } else { na });
            value.node = moved.reshape(shape)?;
            continue;
        }
        // Element `i` of the diagonal is element `i * (n + 1)` of the flat square: with `n` elements put
        // after it, the first column of `n` rows of `n + 1`.
        let n = na;
        let flat = [&shape[..], &[&n * &n]].concat();
        let padded = crate::movement::padded(
            &moved.reshape(flat)?,
            rank - 2,
            Size::ZERO,
            n.clone(),
            svod_dtype::Const::zero(value.node.dtype()),
        )?;
        let rows = padded.reshape([&shape[..], &[n.clone(), &n + 1]].concat())?;
        shape.push(n);
        let column = crate::movement::part(&rows, rank - 1, Size::ZERO, Size::ONE)?;
        value.node = column.reshape(shape)?;
    }
    Ok(value)
}

fn repeated(labels: &[Label]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|b| labels[..b].iter().position(|l| *l == labels[b]).map(|a| (a, b)))
}

struct Contraction<'r> {
    extents: Vec<(Label, Size)>,
    result: &'r [Label],
    dtype: DType,
}

impl Contraction<'_> {
    /// All values as one over the result's labels, in some order.
    fn all(&self, mut values: Vec<Named>) -> Result<Named> {
        while values.len() > 1 {
            let (a, b) = self.cheapest(&values);
            let second = values.remove(b);
            let first = values.remove(a);
            let needed = |l: &Label| self.result.contains(l) || values.iter().any(|v| v.labels.contains(l));
            // What only one of the two has and nobody needs is summed before they meet.
            let first_alone = self.sum(first, |l| needed(l) || second.labels.contains(l))?;
            let second_alone = self.sum(second, |l| needed(l) || first_alone.labels.contains(l))?;
            let product = self.pair(first_alone, second_alone, &needed)?;
            values.push(product);
        }
        match values.pop() {
            Some(last) => self.sum(last, |l| self.result.contains(l)).and_then(|last| self.widen(last)),
            None => Err(TensorError::value(OP, "no operand was given")),
        }
    }

    fn extent(&self, label: Label) -> Size {
        self.extents.iter().find(|(l, _)| *l == label).map_or(Size::ONE, |(_, n)| n.clone())
    }

    /// The number of elements over these labels, as far as it is bounded.
    fn count(&self, labels: &[Label]) -> f64 {
        labels.iter().map(|l| self.extent(*l).upper_bound().unwrap_or(i64::MAX) as f64).product()
    }

    /// The pair whose product has the fewest elements, less those of the two.
    fn cheapest(&self, values: &[Named]) -> (usize, usize) {
        let mut best = (f64::INFINITY, (0, 1));
        for b in 1..values.len() {
            for a in 0..b {
                let others = |l: &Label| (0..values.len()).any(|v| v != a && v != b && values[v].labels.contains(l));
                let mut kept: Vec<Label> = values[a].labels.clone();
                kept.extend(values[b].labels.iter().filter(|l| !values[a].labels.contains(l)));
                kept.retain(|l| self.result.contains(l) || others(l));
                let cost = self.count(&kept) - self.count(&values[a].labels) - self.count(&values[b].labels);
                if cost < best.0 {
                    best = (cost, (a, b));
                }
            }
        }
        best.1
    }

    /// The value summed over the labels that are not kept.
    fn sum(&self, value: Named, kept: impl Fn(&Label) -> bool) -> Result<Named> {
        let axes: Vec<usize> = (0..value.labels.len()).filter(|d| !kept(&value.labels[*d])).collect();
        // What repeats is summed as often as it repeats.
        let node = self.widened(&value, |l| !kept(l))?;
        let labels = value.labels.into_iter().filter(|l| kept(l)).collect();
        Ok(Named { node: self.fold(node, &axes)?, labels })
    }

    fn fold(&self, node: UOp, axes: &[usize]) -> Result<UOp> {
        if axes.is_empty() {
            return Ok(node);
        }
        if axes.iter().any(|a| node.shape()[*a] == Size::ZERO) {
            let kept = (0..node.rank()).filter(|d| !axes.contains(d)).map(|d| node.shape()[d].clone());
            return Ok(UOp::full(svod_dtype::Const::zero(self.dtype), &kept.collect())?);
        }
        let by = if self.dtype.is_bool() { Monoid::Any } else { Monoid::Sum };
        Ok(node.reduce(by, axes)?)
    }

    /// The value with dimensions of extent 1 repeated to their labels' extents.
    fn widened(&self, value: &Named, which: impl Fn(&Label) -> bool) -> Result<UOp> {
        let extents = value.labels.iter().zip(value.node.shape());
        let shape = extents.map(|(l, n)| if which(l) { self.extent(*l) } else { n.clone() });
        Ok(value.node.expand(shape.collect::<Vec<_>>())?)
    }

    fn widen(&self, value: Named) -> Result<Named> {
        Ok(Named { node: self.widened(&value, |_| true)?, labels: value.labels })
    }

    /// The product of two values summed over the labels that nobody needs any more: those that both
    /// have. The rest of it is in the order of the result, as far as it has them.
    fn pair(&self, a: Named, b: Named, needed: &dyn Fn(&Label) -> bool) -> Result<Named> {
        let mut all: Vec<Label> = a.labels.clone();
        all.extend(b.labels.iter().filter(|l| !a.labels.contains(l)));
        let place = |l: &Label| self.result.iter().position(|r| r == l).unwrap_or(self.result.len());
        let (mut kept, summed): (Vec<Label>, Vec<Label>) = all.into_iter().partition(|l| needed(l));
        kept.sort_by_key(place);
        let order: Vec<Label> = kept.iter().chain(&summed).copied().collect();
        let shape: Vec<Size> = order.iter().map(|l| self.extent(*l)).collect();
        let factors = [aligned(&a, &order)?.expand(shape.clone())?, aligned(&b, &order)?.expand(shape)?];
        let by = if self.dtype.is_bool() { Alu::And } else { Alu::Mul };
        let product = UOp::alu(by, &factors)?;
        let axes: Vec<usize> = (kept.len()..order.len()).collect();
        Ok(Named { node: self.fold(product, &axes)?, labels: kept })
    }
}

/// The value with dimensions in this order, those that it lacks with extent 1.
fn aligned(value: &Named, order: &[Label]) -> Result<UOp> {
    let at = |l: &Label| value.labels.iter().position(|own| own == l);
    let own: Vec<usize> = order.iter().filter_map(at).collect();
    let shape: Vec<Size> = order.iter().map(|l| at(l).map_or(Size::ONE, |d| value.node.shape()[d].clone())).collect();
    Ok(value.node.permute(&own)?.reshape(shape)?)
}
