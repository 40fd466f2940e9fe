//! From a phase that is attention of known sizes to kernels, and to all that their launches are given.

use super::{
    Attention, Dimension, Element, Epilogue, Kernel, Operand, Parameter, Plain, Score, Scores, Size, Sizes, choose,
    render,
};
use crate::CompileError;
use crate::gpu::body::Body;
use crate::gpu::part::{self, Gives, Part, Wanted};
use crate::gpu::{Alignment, Argument, Call, MapArgument, Runner};
use svod_dtype::DType;
use svod_ir::lowered::{self, AttentionOperand, Lowered};
use svod_ir::size::Variable;
use svod_ir::target::Target;

/// The kernels of a whole loop tree that is this attention, and their launches; nothing where there are none of its types.
///
/// # Errors
/// See [`CompileError`].
pub fn whole(
    lowered: &Lowered,
    found: &lowered::Attention,
    target: &Target,
    alignment: Alignment,
    runner: Runner,
) -> Result<Option<Vec<(Kernel, Call)>>, CompileError> {
    let [batch, heads, group, rows, keys, depth, columns] = found.sizes;
    let [dtype, out] = found.dtype;
    // Products of sizes are counted in 32 bits.
    let most = [batch, heads, rows.max(keys)].iter().fold(1i64, |n, size| n.saturating_mul(*size));
    let narrow = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
    let supported = Attention::supported(dtype, out, narrow(depth), narrow(columns));
    if target.matrix.warp.is_none() || !supported || most >= i64::from(i32::MAX / 2) {
        return Ok(None);
    }
    let [q, k, v, o] = found.operands;
    let attention = Attention {
        dtype,
        out,
        depth: narrow(depth),
        columns: narrow(columns),
        causal: found.diagonal.is_some(),
        align: [q, k, v].iter().map(|of| align(of, dtype, alignment)).min().unwrap_or(1),
        align_out: align(&o, out, alignment),
    };
    let [batch, heads, group, rows, keys] = [batch, heads, group, rows, keys].map(narrow);
    let sizes = Sizes { batch, heads, group, rows, keys };
    // Tensor maps have no strides of nothing.
    let spread =
        |of: &AttentionOperand, counts: [u32; 3]| counts.iter().zip(of.strides).all(|(n, by)| *n <= 1 || by > 0);
    let others = [batch, heads / group, keys];
    let maps = spread(&q, [batch, heads, rows]) && spread(&k, others) && spread(&v, others);
    let cores = narrow(target.cores as i64);
    let tile = choose(&attention, &sizes, cores, target.cpu == "sm_90" && maps);
    let Some((parts, text)) = Parts::of(lowered, found, target, runner)? else { return Ok(None) };
    let scores: &dyn Scores = if parts.score.is_some() { &parts } else { &Plain };
    let epilogue: &dyn Epilogue = if parts.value.is_some() { &parts } else { &Plain };
    let mut kernels = render(&attention, &tile, scores, epilogue, runner)?;
    let plan = tile.plan(&attention, &sizes, cores);
    let mut calls = Vec::new();
    for (n, kernel) in kernels.iter_mut().enumerate() {
        part::append(&mut kernel.text, &text);
        let argument = |parameter: &Parameter| argument(parameter, kernel, found, &parts, plan.splits);
        let arguments = kernel.launch.parameters.iter().map(argument).collect();
        let (scratch, follows) = (if n == 0 { plan.scratch } else { 0 }, n > 0);
        calls.push(Call {
            blocks: plan.blocks[n],
            cluster: 1,
            shared: kernel.launch.shared,
            scratch,
            follows,
            arguments,
        });
    }
    Ok(Some(kernels.into_iter().zip(calls).collect()))
}

/// Bytes that divide where an operand starts and all of its strides.
fn align(of: &AttentionOperand, dtype: DType, alignment: Alignment) -> u32 {
    let start = match alignment {
        Alignment::Widest => Alignment::BYTES as i64,
        Alignment::Element => dtype.bytes() as i64,
    };
    let [a, b, c] = of.strides;
    let bytes = [of.offset, a, b, c].map(|n| n * dtype.bytes() as i64);
    let divides = |by: &i64| start % by == 0 && bytes.iter().all(|n| n % by == 0);
    [16, 8, 4, 2].into_iter().find(divides).unwrap_or(1) as u32
}

/// What a parameter of a kernel is given.
fn argument(
    parameter: &Parameter,
    kernel: &Kernel,
    found: &lowered::Attention,
    parts: &Parts,
    splits: u32,
) -> Argument {
    let [batch, heads, group, rows, keys, depth, columns] = found.sizes;
    let of = |operand: Operand| found.operands[operand as usize];
    let bytes = |dtype: DType, n: i64| n as u64 * dtype.bytes() as u64;
    match *parameter {
        Parameter::Map(i) => {
            let map = &kernel.launch.maps[i];
            let operand = of(map.operand);
            let sizes = match map.operand {
                Operand::Q => [depth, rows, heads, batch],
                Operand::O => [columns, rows, heads, batch],
                Operand::K => [depth, keys, heads / group, batch],
                Operand::V => [columns, keys, heads / group, batch],
            };
            let [outer, head, row] = operand.strides;
            // A stride of nothing is none; any other will do for one element.
            let stride = |n: i64, count: i64| if count > 1 { bytes(map.dtype, n) } else { 16 };
            Argument::Map(MapArgument {
                param: Some(operand.param.index()),
                offset: bytes(map.dtype, operand.offset),
                dtype: map.dtype,
                sizes: sizes.map(|n| n as u64).to_vec(),
                strides: vec![stride(row, sizes[1]), stride(head, sizes[2]), stride(outer, sizes[3])],
                region: map.region.to_vec(),
            })
        }
        Parameter::Pointer(operand) => {
            let dtype = found.dtype[usize::from(operand == Operand::O)];
            Argument::Pointer(of(operand).param.index(), bytes(dtype, of(operand).offset))
        }
        Parameter::Stride(operand, Dimension::Batch) => Argument::Number(of(operand).strides[0]),
        Parameter::Stride(operand, Dimension::Head) => Argument::Number(of(operand).strides[1]),
        Parameter::Stride(operand, Dimension::Row) => Argument::Number(of(operand).strides[2]),
        Parameter::Size(Size::Batch) => Argument::Number(batch),
        Parameter::Size(Size::Heads) => Argument::Number(heads),
        Parameter::Size(Size::Group) => Argument::Number(group),
        Parameter::Size(Size::Rows) => Argument::Number(rows),
        Parameter::Size(Size::Keys) => Argument::Number(keys),
        Parameter::Scale => Argument::Number(i64::from(found.scale.to_bits())),
        Parameter::Diagonal => Argument::Number(found.diagonal.unwrap_or(0)),
        Parameter::Splits => Argument::Number(i64::from(splits)),
        Parameter::Scratch => Argument::Scratch(0),
        Parameter::Scores(i) => Argument::Pointer(parts.score.as_ref().map_or(0, |part| part.used[i]), 0),
        Parameter::Epilogue(i) => Argument::Pointer(parts.value.as_ref().map_or(0, |part| part.used[i]), 0),
    }
}

/// What becomes of scores and of sums, by functions of their own.
struct Parts {
    score: Option<Part>,
    value: Option<Part>,
    /// Numbers of iterations of the counters of the batch and of heads.
    batch: Vec<i64>,
    heads: Vec<i64>,
    /// Whether rows, and keys or columns, are counted.
    counted: [bool; 3],
}

impl Parts {
    /// Both, and the text of their functions.
    fn of(
        lowered: &Lowered,
        found: &lowered::Attention,
        target: &Target,
        runner: Runner,
    ) -> Result<Option<(Parts, String)>, CompileError> {
        use lowered::Attention as Of;
        let outer: Vec<Variable> = found.batch.iter().chain(&found.heads).map(|(var, _)| var.clone()).collect();
        let counters = |last: usize| {
            let own = [&found.counters[0], &found.counters[last]].into_iter().flatten();
            outer.iter().chain(own).cloned().collect()
        };
        let (of_score, of_value): (&[_], &[_]) =
            (&[(&[Of::SCORE][..], DType::F32)], &[(&[Of::SUM][..], DType::F32), (&[Of::TOTAL][..], DType::F32)]);
        let score = found.score.as_ref().map(|p| ("score", p, of_score, counters(1)));
        let value = found.value.as_ref().map(|p| ("value", p, of_value, counters(2)));
        let (has_score, has_value) = (score.is_some(), value.is_some());
        let wanted: Vec<Wanted> = [score, value]
            .into_iter()
            .flatten()
            .map(|(name, p, given, counters)| {
                let gives = Gives::Value(p.value, DType::F32);
                Wanted { name, exprs: &p.exprs, gives, given, counters }
            })
            .collect();
        let Some((made, text)) = part::parts(lowered, &wanted, target, runner)? else { return Ok(None) };
        let mut made = made.into_iter();
        let mut next = |is: bool| if is { made.next() } else { None };
        let counts = |of: &[(Variable, i64)]| of.iter().map(|(_, n)| *n).collect();
        let parts = Parts {
            score: next(has_score),
            value: next(has_value),
            batch: counts(&found.batch),
            heads: counts(&found.heads),
            counted: found.counters.each_ref().map(Option::is_some),
        };
        Ok(Some((parts, text)))
    }

    /// The counters of a part, in order: those of the batch, of heads, the row, and the last one.
    fn counters(&self, body: &mut Body, [batch, head, row, last]: [&str; 4], which: usize) -> Vec<String> {
        let mut all = part::counters(body, batch, &self.batch);
        all.extend(part::counters(body, head, &self.heads));
        all.extend(self.counted[0].then(|| row.to_owned()));
        all.extend(self.counted[which].then(|| last.to_owned()));
        all
    }
}

impl Scores for Parts {
    fn name(&self) -> String {
        "score".into()
    }

    fn parameters(&self) -> Vec<String> {
        self.score.as_ref().map(Part::parameters).unwrap_or_default()
    }

    fn apply(&self, body: &mut Body, score: Score) -> String {
        let Score { batch, head, row, key, value } = score;
        let counters = self.counters(body, [batch, head, row, key], 1);
        self.score.as_ref().and_then(|part| part.call(body, &[value], &counters)).unwrap_or_else(|| value.to_owned())
    }
}

impl Epilogue for Parts {
    fn name(&self) -> String {
        "value".into()
    }

    fn parameters(&self) -> Vec<String> {
        self.value.as_ref().map(Part::parameters).unwrap_or_default()
    }

    fn apply(&self, body: &mut Body, element: Element) -> String {
        let Element { batch, head, row, column, sum, total } = element;
        let counters = self.counters(body, [batch, head, row, column], 2);
        self.value.as_ref().and_then(|part| part.call(body, &[sum, total], &counters)).unwrap_or_else(|| sum.to_owned())
    }
}
