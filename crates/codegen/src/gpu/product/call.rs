//! From a phase that is a product of known sizes to a kernel, and to all that its launch is given.

use super::{Body, Element, Epilogue, Kernel, Layout, Operand, Parameter, Plain, Product, Shape, Size, choose, render};
use crate::CompileError;
use crate::gpu::{Alignment, Runner};
use crate::llvm::{self, Entry, Form};
use crate::lower;
use std::fmt;
use svod_dtype::DType;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, ParamId, TempId};
use svod_ir::kernel::Param;
use svod_ir::lowered::{self, Lowered, Phase, ProductOperand, Stmt};
use svod_ir::size::Variable;
use svod_ir::target::Target;

/// Products and sums below which plain loops are as fast.
const WORTH: i64 = 1 << 15;

/// A tensor map of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapArgument {
    /// Position of the argument.
    pub param: usize,
    /// Bytes from its start.
    pub offset: u64,
    /// Type of elements.
    pub dtype: DType,
    /// Elements of each dimension, the one side by side first.
    pub sizes: [u64; 3],
    /// Bytes from one to the next of the second and the third one.
    pub strides: [u64; 2],
    /// Elements of a copy along each.
    pub region: [u32; 3],
}

/// What a kernel is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A tensor map of 128 bytes with 128-byte swizzle and zeros outside.
    Map(MapArgument),
    /// The address of an argument, and bytes from its start.
    Pointer(usize, u64),
    /// A number, of 4 or 8 bytes.
    Number(i64),
}

/// The launch of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Number of blocks.
    pub blocks: u32,
    /// Those of a cluster.
    pub cluster: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
    /// What the kernel is given, in order.
    pub arguments: Vec<Argument>,
}

/// Words: `blocks cluster shared`, then `map …`, `pointer …` and `number …`, separated by semicolons.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.blocks, self.cluster, self.shared)?;
        for argument in &self.arguments {
            match argument {
                Argument::Pointer(param, offset) => write!(f, ";pointer {param} {offset}")?,
                Argument::Number(number) => write!(f, ";number {number}")?,
                Argument::Map(MapArgument { param, offset, dtype, sizes, strides, region }) => {
                    write!(f, ";map {} {param} {offset}", dtype.short())?;
                    let region = region.iter().map(|n| u64::from(*n));
                    sizes.iter().chain(strides).copied().chain(region).try_for_each(|n| write!(f, " {n}"))?;
                }
            }
        }
        Ok(())
    }
}

impl Call {
    /// Reads what is printed.
    pub fn parse(text: &str) -> Option<Call> {
        let mut parts = text.split(';');
        let numbers = |words: &[&str]| words.iter().map(|w| w.parse().ok()).collect::<Option<Vec<u64>>>();
        let head = numbers(&parts.next()?.split(' ').collect::<Vec<_>>())?;
        let [blocks, cluster, shared] = <[u64; 3]>::try_from(head).ok()?.map(|n| u32::try_from(n).ok());
        let argument = |part: &str| {
            let words: Vec<&str> = part.split(' ').collect();
            match words[..] {
                ["pointer", param, offset] => Some(Argument::Pointer(param.parse().ok()?, offset.parse().ok()?)),
                ["number", number] => Some(Argument::Number(number.parse().ok()?)),
                ["map", dtype, ref rest @ ..] => {
                    let dtype = *DType::ALL.iter().find(|d| d.short() == dtype)?;
                    let [param, offset, x, y, z, s, t, a, b, c] = <[u64; 10]>::try_from(numbers(rest)?).ok()?;
                    let narrow = |n: u64| u32::try_from(n).ok();
                    let region = [narrow(a)?, narrow(b)?, narrow(c)?];
                    let (param, sizes, strides) = (usize::try_from(param).ok()?, [x, y, z], [s, t]);
                    Some(Argument::Map(MapArgument { param, offset, dtype, sizes, strides, region }))
                }
                _ => None,
            }
        };
        let arguments = parts.map(argument).collect::<Option<Vec<_>>>()?;
        Some(Call { blocks: blocks?, cluster: cluster.filter(|n| *n > 0)?, shared: shared?, arguments })
    }
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

/// The kernel of a whole loop tree that is this product, and its launch; nothing where there is none of its types.
pub(crate) fn whole(
    lowered: &Lowered,
    found: &lowered::Product,
    target: &Target,
    alignment: Alignment,
) -> Result<Option<(Kernel, Call)>, CompileError> {
    let [batch, m, n, k] = found.sizes;
    let [a, b, c] = &found.operands;
    let out = lowered.params[c.param.index()].dtype;
    let (Some((a_layout, a_stride)), Some((b_layout, b_stride))) = (layout(a), layout(b)) else { return Ok(None) };
    let types = matches!(found.dtype, DType::BF16 | DType::F16 | DType::F32)
        && matches!(out, DType::BF16 | DType::F16 | DType::F32)
        && c.inner == 1;
    let small = [batch, m, n, k].iter().all(|n| *n < i64::from(i32::MAX / 2));
    let work = m.saturating_mul(n).saturating_mul(k).saturating_mul(batch);
    if !types || !small || work < WORTH {
        return Ok(None);
    }
    let of = |operand, stride, dtype| align(operand, stride, dtype, alignment);
    let product = Product {
        dtype: found.dtype,
        out,
        a: a_layout,
        b: b_layout,
        groups: found.group < batch,
        align: of(a, a_stride, found.dtype).min(of(b, b_stride, found.dtype)),
        align_out: of(c, c.outer, out),
    };
    let shape = Shape { m: m as u64, n: n as u64, k: k as u64, batch: batch as u64 };
    let tile = choose(&product, shape, target.cores as u64, target.cpu == "sm_90");
    let Some(epilogue) = Values::of(lowered, found, target)? else { return Ok(None) };
    let mut kernel = match &epilogue {
        None => render(&product, &tile, &Plain, Runner::Driver)?,
        Some(values) => render(&product, &tile, values, Runner::Driver)?,
    };
    if let Some(values) = &epilogue {
        // What both declare is declared once.
        let function = |line: &str| line.split('(').next().and_then(|head| head.split('@').nth(1).map(str::to_owned));
        let declares = |line: &&str| line.starts_with("declare ");
        let known: Vec<String> = kernel.text.lines().filter(declares).filter_map(function).collect();
        let again = |line: &str| declares(&line) && function(line).is_some_and(|name| known.contains(&name));
        let more: Vec<&str> = values.text.lines().filter(|line| !again(line)).collect();
        kernel.text.push_str(&more.join("\n"));
        kernel.text.push('\n');
    }
    let strides = [a_stride, b_stride, c.outer];
    let call = call(&kernel, found, strides, epilogue.as_ref(), target);
    Ok(Some((kernel, call)))
}

fn call(
    kernel: &Kernel,
    found: &lowered::Product,
    strides: [i64; 3],
    epilogue: Option<&Values>,
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
    let of = |operand: Operand| (&found.operands[operand as usize], strides[operand as usize]);
    let bytes = |dtype: DType, n: i64| n as u64 * dtype.bytes() as u64;
    let own = |operand: Operand| size(Size::Batch) == 1 || of(operand).0.batch != 0;
    let argument = |parameter: &Parameter| match *parameter {
        Parameter::Map(i) => {
            let map = &launch.maps[i];
            let (operand, stride) = of(map.operand);
            let matrices = if own(map.operand) { size(Size::Batch) } else { 1 };
            // A stride of nothing is none; any other will do for one matrix.
            let batch = if matrices > 1 { bytes(map.dtype, operand.batch) } else { 16 };
            Argument::Map(MapArgument {
                param: operand.param.index(),
                offset: bytes(map.dtype, operand.offset),
                dtype: map.dtype,
                sizes: [size(map.sizes[0]) as u64, size(map.sizes[1]) as u64, matrices as u64],
                strides: [bytes(map.dtype, stride), batch],
                region: [map.region[0], map.region[1], 1],
            })
        }
        Parameter::Pointer(Operand::C) => {
            let c = of(Operand::C).0;
            Argument::Pointer(c.param.index(), bytes(kernel.out, c.offset))
        }
        Parameter::Pointer(operand) => {
            let operand = of(operand).0;
            Argument::Pointer(operand.param.index(), bytes(found.dtype, operand.offset))
        }
        Parameter::Size(of) => Argument::Number(size(of)),
        Parameter::Stride(operand) => Argument::Number(of(operand).1),
        Parameter::BatchStride(operand) => Argument::Number(of(operand).0.batch),
        Parameter::GroupStep(operand) => {
            let of = of(operand).0;
            Argument::Number(of.group - of.batch * found.group)
        }
        Parameter::Batched(operand) => Argument::Number(i64::from(own(operand))),
        Parameter::Epilogue(i) => Argument::Pointer(epilogue.map_or(0, |values| values.read[i]), 0),
    };
    let [batch, m, n, _] = found.sizes.map(|n| n as u32);
    Call {
        blocks: launch.blocks(m, n, batch, target.cores as u32),
        cluster: launch.cluster,
        shared: launch.shared,
        arguments: launch.parameters.iter().map(argument).collect(),
    }
}

/// An epilogue that computes a value by a function of its own.
struct Values {
    /// The function's name, and a module of it.
    name: String,
    text: String,
    /// Arguments of the loop tree, and which of these the function reads.
    params: usize,
    read: Vec<usize>,
    /// Numbers of iterations of the counters of a batch.
    batch: Vec<i64>,
}

impl Values {
    /// What becomes of the sums of a product: nothing, or a value. Nothing at all where it cannot be said.
    fn of(
        lowered: &Lowered,
        found: &lowered::Product,
        target: &Target,
    ) -> Result<Option<Option<Values>>, CompileError> {
        let phase = &lowered.phases[0];
        let out = lowered.params[found.operands[2].param.index()].dtype;
        let is_sum = |e: ExprId| matches!(phase.exprs.get(e), Expr::Load { from: Mem::Temp(t, 0), valid: None, .. } if found.sums.contains(t));
        // The kernel rounds what it is given.
        let value = match phase.exprs.get(found.value) {
            Expr::Cast(to, value) if *to == out && phase.exprs.dtype(*value) == DType::F32 => *value,
            _ => found.value,
        };
        if is_sum(value) {
            return Ok(Some(None));
        }
        // Two more arguments: the sum, and the value.
        let mut params = lowered.params.clone();
        let (sum, result) = (ParamId(params.len() as u32), ParamId(params.len() as u32 + 1));
        let one = Param { dtype: DType::F32, shape: vec![1.into()], constant: false };
        params.extend([one.clone(), one]);
        let (mut exprs, value) = copied(phase, value, &found.sums, sum);
        let value = exprs.cast(DType::F32, value);
        let zero = exprs.index(0);
        let store = Stmt::Store { to: Mem::Param(result), index: vec![zero], value, valid: None };
        let counters = found.batch.iter().map(|(var, _)| var).chain([&found.rows, &found.columns]);
        let vars: Vec<Variable> = counters.cloned().collect();
        let name = format!("{}.value", lowered.name);
        let part = Lowered {
            name: name.clone(),
            params,
            vars,
            strict: lowered.strict,
            guards: Vec::new(),
            phases: vec![Phase { exprs, body: vec![store], ..Phase::default() }],
        };
        let lists = lower::linearize(&part, target)?;
        let [list] = &lists[..] else { return Ok(None) };
        if !list.scratch.is_empty() {
            return Ok(None);
        }
        let entry = Entry { form: Form::Part, machine: target, align: Alignment::Element.bytes() };
        let text = llvm::module(&lists, target, entry);
        let count = lowered.params.len();
        // Once where it is declared.
        let read = (0..count).filter(|n| text.matches(&format!("ptr %p{n},")).count() > 1).collect();
        Ok(Some(Some(Values { name, text, params: count, read, batch: found.batch.iter().map(|(_, n)| *n).collect() })))
    }
}

/// A value in a pool of its own, which loads an argument in place of the temporaries that are the sum.
fn copied(phase: &Phase, value: ExprId, sums: &[TempId], sum: ParamId) -> (ExprPool, ExprId) {
    let mut wanted = vec![false; phase.exprs.len()];
    let mut open = vec![value];
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut wanted[id.index()], true) {
            open.extend(phase.exprs.get(id).operands());
        }
    }
    let mut pool = ExprPool::new();
    let mut made = vec![None; phase.exprs.len()];
    for (id, expr) in phase.exprs.iter().filter(|(id, _)| wanted[id.index()]) {
        let dtype = phase.exprs.dtype(id);
        made[id.index()] = Some(match expr {
            Expr::Load { from: Mem::Temp(t, 0), .. } if sums.contains(t) => {
                let zero = pool.index(0);
                pool.load(dtype, Mem::Param(sum), &[zero])
            }
            _ => {
                let operands: Vec<ExprId> = expr.operands().iter().filter_map(|o| made[o.index()]).collect();
                pool.add(expr.with_operands(&operands), dtype)
            }
        });
    }
    let value = made[value.index()].expect("operands come before their users");
    (pool, value)
}

impl Epilogue for Values {
    fn name(&self) -> String {
        "value".into()
    }

    fn parameters(&self) -> Vec<String> {
        self.read.iter().map(|n| format!("ptr noalias readonly %p{n}")).collect()
    }

    fn apply(&self, body: &mut Body, element: Element) -> String {
        let sum = body.slot("float", element.value);
        let result = body.slot("float", "0.0");
        let mut arguments: Vec<String> = (0..self.params)
            .map(|n| if self.read.contains(&n) { format!("ptr %p{n}") } else { "ptr null".into() })
            .collect();
        arguments.extend([&sum, &result].map(|slot| format!("ptr {}", Body::pointer(slot))));
        let mut rest = element.batch.to_owned();
        let mut counters = Vec::new();
        for (i, count) in self.batch.iter().enumerate().rev() {
            counters.push(if i == 0 { rest.clone() } else { body.rem(&rest, count) });
            rest = if i == 0 { rest } else { body.div(&rest, count) };
        }
        counters.reverse();
        counters.extend([element.row.to_owned(), element.column.to_owned()]);
        for counter in counters {
            let wide = body.wide(counter);
            arguments.push(format!("i64 {wide}"));
        }
        body.line(format_args!("call void @\"{}\"({})", self.name, arguments.join(", ")));
        body.get(&result)
    }
}
