//! From a phase that is a product of known sizes to a kernel, and to all that its launch is given.

use super::aligned::{self, Rows};
use super::choose::{self, Shape, choose};
use super::turned::Matrices;
use super::{Body, Element, Epilogue, Kernel, Layout, Operand, Parameter, Plain, Product, Size, render};
use crate::CompileError;
use crate::gpu::part::{self, Gives, Part, Wanted};
use crate::gpu::{Alignment, Argument, Call, MapArgument, Runner};
use svod_dtype::DType;
use svod_ir::expr::{Expr, ExprId, Mem};
use svod_ir::lowered::{self, Lowered, ProductOperand};
use svod_ir::target::Target;

/// Products and sums below which plain loops are as fast.
const WORTH: i64 = 1 << 15;

/// Bytes that operands are copied to at most, and by which their places are multiples of.
const MOST_COPIED: u64 = 1 << 32;
const PLACES: u64 = 256;

/// Whether no kernel for warps multiplies elements of a type.
fn has_warpgroups_only(dtype: DType) -> bool {
    matches!(dtype, DType::F8E4M3 | DType::F8E5M2)
}

/// The layout of a factor, and elements between its rows in memory.
fn layout(of: &ProductOperand) -> Option<(Layout, i64)> {
    match (of.outer, of.inner) {
        (outer, 1) if outer > 0 => Some((Layout::Depth, outer)),
        (1, inner) if inner > 0 => Some((Layout::Outer, inner)),
        _ => None,
    }
}

/// Bytes that divide where an operand starts and all of its strides.
fn align(of: &ProductOperand, stride: i64, dtype: DType, alignment: Alignment) -> u32 {
    let start = match alignment {
        Alignment::Widest => Alignment::BYTES as i64,
        Alignment::Element => dtype.bytes() as i64,
    };
    let bytes = [of.offset, stride, of.batch, of.group].map(|n| n * dtype.bytes() as i64);
    let divides = |by: &i64| start % by == 0 && bytes.iter().all(|n| n % by == 0);
    [16, 8, 4, 2].into_iter().find(divides).unwrap_or(1) as u32
}

/// Where a kernel finds an operand: an argument, or scratch memory, and bytes from its start; elements from row to row, from matrix to
/// matrix, and from group to group.
struct Place {
    param: Option<usize>,
    offset: u64,
    stride: i64,
    batch: i64,
    group: i64,
}

impl Place {
    fn of(operand: &ProductOperand, stride: i64, dtype: DType) -> Place {
        let offset = operand.offset as u64 * dtype.bytes() as u64;
        Place { param: Some(operand.param.index()), offset, stride, batch: operand.batch, group: operand.group }
    }

    /// Where it starts, as a kernel is given it.
    fn pointer(&self) -> Argument {
        self.param.map_or(Argument::Scratch(self.offset), |param| Argument::Pointer(param, self.offset))
    }
}

/// A copy of an operand that comes first.
enum Copied {
    /// Of 16-bit elements, to rows that are aligned.
    Rows(Rows),
    /// Of 8-bit elements, to such rows, with the depth side by side.
    Turned(Matrices),
}

impl Copied {
    /// The copy of so many matrices with so many rows or columns and such a depth, which are so far apart; none where these are as kernels
    /// want them.
    fn of(dtype: DType, align: u32, layout: Layout, sizes: [u64; 3], strides: [i64; 2]) -> Option<Copied> {
        let [matrices, outer, depth] = sizes;
        if dtype.bytes() == 1 {
            let is_turned = layout == Layout::Outer || align < 16;
            return is_turned.then_some(Copied::Turned(Matrices { layout, sizes, strides, align }));
        }
        let sizes = if layout == Layout::Depth { sizes } else { [matrices, depth, outer] };
        (align < 16).then_some(Copied::Rows(Rows { sizes, strides }))
    }

    fn bytes(&self) -> u64 {
        match self {
            Copied::Rows(rows) => rows.bytes(),
            Copied::Turned(matrices) => matrices.bytes(),
        }
    }

    /// Rows of a matrix, and elements from one to the next.
    fn rows(&self) -> (i64, i64) {
        let (rows, stride) = match self {
            Copied::Rows(rows) => (rows.sizes[1], rows.stride()),
            Copied::Turned(matrices) => (matrices.sizes[1], matrices.stride()),
        };
        (rows as i64, stride as i64)
    }

    fn kernel(&self, runner: Runner) -> Kernel {
        match self {
            Copied::Rows(_) => aligned::kernel(runner),
            Copied::Turned(matrices) => matrices.kernel(runner),
        }
    }

    fn call(&self, from: (usize, u64), to: u64) -> Call {
        match self {
            Copied::Rows(rows) => rows.call(from, to),
            Copied::Turned(matrices) => matrices.call(from, to),
        }
    }
}

/// The kernels of a whole loop tree that is this product, and their launches, one after the other; nothing where there are none of its
/// types.
///
/// # Errors
/// See [`CompileError`].
pub fn whole(
    lowered: &Lowered,
    found: &lowered::Product,
    target: &Target,
    alignment: Alignment,
    runner: Runner,
) -> Result<Option<Vec<(Kernel, Call)>>, CompileError> {
    let [batch, m, n, k] = found.sizes;
    let [a, b, c] = &found.operands;
    let out = lowered.params[c.param.index()].dtype;
    let (Some((a_layout, a_stride)), Some((b_layout, b_stride))) = (layout(a), layout(b)) else { return Ok(None) };
    let (cores, warpgroups) = (target.cores as u64, target.cpu == "sm_90");
    let groups = found.group < batch;
    let sums = if found.dtype.is_int() { DType::I32 } else { DType::F32 };
    let types = target.multiplies(found.dtype, sums, out) && !(groups && has_warpgroups_only(found.dtype));
    let small = [batch, m, n, k].iter().all(|n| *n < i64::from(i32::MAX / 2));
    let work = m.saturating_mul(n).saturating_mul(k).saturating_mul(batch);
    if !types || c.inner != 1 || !small || work < WORTH {
        return Ok(None);
    }
    let of = |operand, stride, dtype| align(operand, stride, dtype, alignment);
    let aligns = [of(a, a_stride, found.dtype), of(b, b_stride, found.dtype)];
    let product = Product {
        dtype: found.dtype,
        out,
        a: a_layout,
        b: b_layout,
        groups,
        align: aligns[0].min(aligns[1]),
        align_out: of(c, c.outer, out),
    };
    let shape = Shape { m: m as u64, n: n as u64, k: k as u64, batch: batch as u64 };
    let places = [(a, a_stride, a_layout, m), (b, b_stride, b_layout, n)];
    let copies = [0, 1].map(|i| {
        let (operand, stride, layout, outer) = places[i];
        let matrices = if operand.batch == 0 { 1 } else { batch };
        Copied::of(found.dtype, aligns[i], layout, [matrices, outer, k].map(|n| n as u64), [operand.batch, stride])
    });
    let bytes = copies.iter().flatten().map(Copied::bytes).fold(0, u64::saturating_add);
    let narrow = found.dtype.bytes() == 1;
    // Elements of 8 bits have no kernel without; of others, these are worth it or not.
    let copied = match copies {
        [None, None] => false,
        _ if narrow && (groups || bytes >= MOST_COPIED) => return Ok(None),
        _ => narrow || bytes < MOST_COPIED && choose::copies_pay(&product, shape, bytes, cores, warpgroups),
    };
    let product = match (copied, narrow) {
        (true, true) => Product { align: 16, a: Layout::Depth, b: Layout::Depth, ..product },
        (true, false) => Product { align: 16, ..product },
        (false, _) => product,
    };
    let tile = choose(&product, shape, cores, warpgroups);
    let Some(epilogue) = Value::of(lowered, found, target, runner)? else { return Ok(None) };
    let mut kernel = match &epilogue {
        None => render(&product, &tile, &Plain, runner)?,
        Some((value, _)) => render(&product, &tile, value, runner)?,
    };
    if let Some((_, text)) = &epilogue {
        part::append(&mut kernel.text, text);
    }
    let strides = [a_stride, b_stride, c.outer];
    let mut places = [0, 1, 2].map(|i| {
        let dtype = if i == 2 { out } else { found.dtype };
        Place::of(&found.operands[i], strides[i], dtype)
    });
    let (mut kernels, mut scratch) = (Vec::new(), 0);
    for (place, copy) in places.iter_mut().zip(&copies).filter(|_| copied) {
        let (Some(copy), Some(param)) = (copy, place.param) else { continue };
        kernels.push((copy.kernel(runner), copy.call((param, place.offset), scratch)));
        let (rows, stride) = copy.rows();
        let batch = if place.batch == 0 { 0 } else { rows * stride };
        *place = Place { param: None, offset: scratch, stride, batch, group: batch * found.group };
        scratch += copy.bytes().next_multiple_of(PLACES);
    }
    let value = epilogue.as_ref().map(|(value, _)| value);
    let call = call(&kernel, found, &places, value, target);
    kernels.push((kernel, call));
    for (n, (_, call)) in kernels.iter_mut().enumerate() {
        (call.scratch, call.follows) = (if n == 0 { scratch } else { 0 }, n > 0);
    }
    Ok(Some(kernels))
}

fn call(
    kernel: &Kernel,
    found: &lowered::Product,
    places: &[Place; 3],
    epilogue: Option<&Value>,
    target: &Target,
) -> Call {
    let launch = &kernel.launch;
    let size = |size: Size| match size {
        Size::Batch => found.sizes[0],
        Size::M => found.sizes[1],
        Size::N => found.sizes[2],
        Size::K => found.sizes[3],
        Size::Group => found.group,
    };
    let of = |operand: Operand| &places[operand as usize];
    let bytes = |dtype: DType, n: i64| n as u64 * dtype.bytes() as u64;
    let own = |operand: Operand| size(Size::Batch) == 1 || of(operand).batch != 0;
    let argument = |parameter: &Parameter| match *parameter {
        Parameter::Map(i) => {
            let map = &launch.maps[i];
            let place = of(map.operand);
            let matrices = if own(map.operand) { size(Size::Batch) } else { 1 };
            // A stride of nothing is none; any other will do for one matrix.
            let batch = if matrices > 1 { bytes(map.dtype, place.batch) } else { 16 };
            Argument::Map(MapArgument {
                param: place.param,
                offset: place.offset,
                dtype: map.dtype,
                sizes: vec![size(map.sizes[0]) as u64, size(map.sizes[1]) as u64, matrices as u64],
                strides: vec![bytes(map.dtype, place.stride), batch],
                region: vec![map.region[0], map.region[1], 1],
            })
        }
        Parameter::Pointer(operand) => of(operand).pointer(),
        Parameter::Size(of) => Argument::Number(size(of)),
        Parameter::Stride(operand) => Argument::Number(of(operand).stride),
        Parameter::BatchStride(operand) => Argument::Number(of(operand).batch),
        Parameter::GroupStep(operand) => Argument::Number(of(operand).group - of(operand).batch * found.group),
        Parameter::Batched(operand) => Argument::Number(i64::from(own(operand))),
        Parameter::Epilogue(i) => Argument::Pointer(epilogue.map_or(0, |value| value.part.used[i]), 0),
    };
    let [batch, m, n, _] = found.sizes.map(|n| n as u32);
    Call {
        blocks: launch.blocks(m, n, batch, target.cores as u32),
        cluster: launch.cluster,
        shared: launch.shared,
        scratch: 0,
        follows: false,
        arguments: launch.parameters.iter().map(argument).collect(),
    }
}

/// An epilogue that computes a value by a function of its own.
struct Value {
    part: Part,
    /// Types of sums, and of what is made of them: the kernel has the bits of both as floats.
    sums: DType,
    made: DType,
    /// Numbers of iterations of the counters of a batch.
    batch: Vec<i64>,
}

impl Value {
    /// What becomes of the sums of a product, and its text: nothing, or a value. Nothing at all where it cannot be said.
    fn of(
        lowered: &Lowered,
        found: &lowered::Product,
        target: &Target,
        runner: Runner,
    ) -> Result<Option<Option<(Value, String)>>, CompileError> {
        let phase = &lowered.phases[0];
        let out = lowered.params[found.operands[2].param.index()].dtype;
        let is_sum = |e: ExprId| matches!(phase.exprs.get(e), Expr::Load { from: Mem::Temp(t, 0), valid: None, .. } if found.sums.contains(t));
        // The kernel rounds what it is given, but for bytes.
        let value = match phase.exprs.get(found.value) {
            Expr::Cast(to, value) if *to == out && !super::is_byte(out) && phase.exprs.dtype(*value) == DType::F32 => {
                *value
            }
            _ => found.value,
        };
        if is_sum(value) {
            return Ok(Some(None));
        }
        let counters = found.batch.iter().map(|(var, _)| var).chain([&found.rows, &found.columns]).cloned().collect();
        let sums = if found.dtype.is_int() { DType::I32 } else { DType::F32 };
        let made = if out == DType::I32 || super::is_byte(out) { out } else { DType::F32 };
        let (gives, given) = (Gives::Value(value, made), &[(&found.sums[..], sums)]);
        let wanted = Wanted { name: "value", exprs: &phase.exprs, gives, given, counters };
        let Some((parts, text)) = part::parts(lowered, &[wanted], target, runner)? else { return Ok(None) };
        let batch = found.batch.iter().map(|(_, n)| *n).collect();
        Ok(parts.into_iter().next().map(|part| Some((Value { part, sums, made, batch }, text))))
    }
}

impl Epilogue for Value {
    fn name(&self) -> String {
        "value".into()
    }

    fn parameters(&self) -> Vec<String> {
        self.part.parameters()
    }

    fn apply(&self, body: &mut Body, element: Element) -> String {
        let mut counters = part::counters(body, element.batch, &self.batch);
        counters.extend([element.row.to_owned(), element.column.to_owned()]);
        let given = match self.sums {
            DType::F32 => element.value.to_owned(),
            _ => body.value(format_args!("bitcast float {} to i32", element.value)),
        };
        match (self.part.call(body, &[&given], &counters), self.made) {
            (None, _) => element.value.to_owned(),
            (Some(made), DType::F32) => made,
            (Some(made), dtype) => {
                let word = if dtype.bytes() == 4 { made } else { body.value(format_args!("zext i8 {made} to i32")) };
                body.value(format_args!("bitcast i32 {word} to float"))
            }
        }
    }
}
