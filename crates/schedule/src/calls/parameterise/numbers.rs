//! The numbers of a kernel that could be arguments, and the kernel with arguments in their places.

use crate::kernel::contraction::{recognise, window};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::expr::{Expr, ExprId, ExprPool, Mem, ParamId};
use svod_ir::kernel::{Kernel, Out, Param, Stage};
use svod_ir::size::{Size, Variable};

/// A number in a kernel that could be an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// An operand of a scalar operation.
    Scalar(Const),
    /// What is added to the other terms of a position: of an index at which a parameter is read, of what is compared
    /// with another position, of a position that becomes a value. Also a parameter's first extent, on which no address in
    /// it depends.
    Offset(i64),
}

/// Where a number is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Which node reads it, among those that are reachable, and as which operand.
    Operand(usize, usize),
    Extent(ParamId),
}

/// What takes the place of a number.
#[derive(Clone, Debug)]
pub(super) enum Argument {
    /// The next element of the parameter of its type.
    Element,
    /// A variable, and what is added to it.
    Variable(Variable, i64),
}

/// A number, and where it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    place: Place,
    pub number: Number,
    /// Whether code that knows the number is much better: a divisor, a count of bits, what instructions know, where a
    /// condition changes.
    pub preferred: bool,
}

/// Values that code generation knows more of than that they are numbers.
fn is_common(value: f64) -> bool {
    const COMMON: [f64; 6] = [0.0, 1.0, -1.0, 2.0, -2.0, 0.5];
    COMMON.contains(&value)
}

/// Operations that are several times as fast where this operand is known.
fn is_costly(op: Alu, operand: usize, dtype: DType) -> bool {
    let by = matches!(op, Alu::IDiv | Alu::Rem | Alu::FloorDiv | Alu::FloorMod | Alu::Shl | Alu::Shr);
    by && operand == 1 && dtype.is_int()
}

/// What a polynomial is where all its variables are 0.
fn constant_term(size: &Size) -> Option<i64> {
    let terms = size.terms()?;
    Some(terms.iter().find(|t| t.factors().is_empty()).map_or(0, |t| t.coefficient()))
}

fn roots(kernel: &Kernel) -> Vec<ExprId> {
    kernel.stages.iter().flat_map(Stage::roots).collect()
}

/// What may be an argument in a kernel.
struct Allowed<'k> {
    kernel: &'k Kernel,
    /// Whether it is a product whose loops follow from its structure: then float constants are arguments, and where
    /// operands are read that are not packed.
    packs: bool,
    /// What positions follow from that are computed from values: they may prove that these are inside of memory.
    positions: Vec<bool>,
}

impl<'k> Allowed<'k> {
    fn new(kernel: &'k Kernel, reachable: &[ExprId], roots: &[ExprId]) -> Self {
        let packs = |s: usize| recognise(kernel, s).is_some() || window::is_convolution(kernel, s);
        let mut positions = vec![false; kernel.exprs.len()];
        let computed = |e: &ExprId| !matches!(kernel.exprs.get(*e), Expr::Index(_));
        roots
            .iter()
            .filter(|e| kernel.exprs.dtype(**e) == DType::Index && computed(e))
            .for_each(|e| positions[e.index()] = true);
        for id in reachable.iter().rev() {
            let within: SmallVec<[ExprId; 4]> = match kernel.exprs.get(*id) {
                Expr::Load { index, .. } => index.iter().copied().filter(computed).collect(),
                node if positions[id.index()] => node.operands(),
                _ => SmallVec::new(),
            };
            within.iter().for_each(|e| positions[e.index()] = true);
        }
        Allowed { kernel, packs: (0..kernel.stages.len()).any(packs), positions }
    }

    /// The numbers among the operands of an expression, which is the `node`-th.
    fn of(&self, node: usize, id: ExprId) -> SmallVec<[Found; 4]> {
        let pool = &self.kernel.exprs;
        let offset = |operand: usize, e: ExprId, preferred: bool| match pool.get(e) {
            Expr::Index(size) => {
                let number = Number::Offset(constant_term(size)?);
                Some(Found { place: Place::Operand(node, operand), number, preferred })
            }
            _ => None,
        };
        let scalar = |op: Alu, operand: usize, e: ExprId| match pool.get(e) {
            Expr::Const(value) if value.dtype().is_float() || value.dtype().is_int() && !self.packs => {
                let preferred = is_common(value.as_f64()) || is_costly(op, operand, value.dtype());
                let (place, number) = (Place::Operand(node, operand), Number::Scalar(*value));
                value.as_f64().is_finite().then_some(Found { place, number, preferred })
            }
            // Loops are cut best where a condition is known to change.
            Expr::Index(_) if !self.packs => offset(operand, e, true),
            _ => None,
        };
        match pool.get(id) {
            // What is a power of a constant is computed in other ways.
            Expr::Alu(Alu::Pow, _) => SmallVec::new(),
            Expr::Alu(..) | Expr::Cast(..) if self.positions[id.index()] => SmallVec::new(),
            Expr::Alu(op, of) => of.iter().enumerate().filter_map(|(n, e)| scalar(*op, n, *e)).collect(),
            Expr::Cast(_, value) if !self.packs => offset(0, *value, false).into_iter().collect(),
            // Of constant operands of a product each part is packed, once.
            Expr::Load { from: Mem::Param(p), index, valid, .. }
                if !self.packs || valid.is_none() && !self.kernel.params[p.index()].constant =>
            {
                index.iter().enumerate().filter_map(|(n, e)| offset(n, *e, false)).collect()
            }
            _ => SmallVec::new(),
        }
    }
}

/// All numbers of a kernel that could be arguments: in the order of the nodes that read them, then extents.
pub(super) fn numbers(kernel: &Kernel) -> Vec<Found> {
    let roots = roots(kernel);
    let reachable = kernel.exprs.reachable(&roots);
    let allowed = Allowed::new(kernel, &reachable, &roots);
    let mut found: Vec<Found> = reachable.iter().enumerate().flat_map(|(node, id)| allowed.of(node, *id)).collect();
    let read = if allowed.packs { 0 } else { kernel.params.len() - kernel.written().len() };
    let extent = |(p, param): (u32, &Param)| {
        let number = Number::Offset(param.shape.first()?.as_const()?);
        Some(Found { place: Place::Extent(ParamId(p)), number, preferred: false })
    };
    found.extend((0..).zip(&kernel.params[..read]).filter_map(extent));
    found
}

/// The kernel with arguments in the places of some of its numbers: parameters before those that it writes,
/// and variables.
pub(super) fn lifted(kernel: &Kernel, numbers: &[Found], arguments: &[Option<Argument>]) -> Kernel {
    let mut elements: Vec<(DType, i64)> = Vec::new();
    let mut by_node: FxHashMap<usize, Vec<(usize, Number, &Argument)>> = FxHashMap::default();
    let mut params = kernel.params.clone();
    for (found, argument) in numbers.iter().zip(arguments) {
        let Some(argument) = argument else { continue };
        match (found.place, argument) {
            (Place::Operand(node, operand), _) => {
                by_node.entry(node).or_default().push((operand, found.number, argument));
            }
            (Place::Extent(param), Argument::Variable(variable, more)) => {
                params[param.index()].shape[0] = Size::from(variable) + *more;
            }
            (Place::Extent(_), Argument::Element) => {}
        }
        if let Number::Scalar(value) = found.number {
            match elements.iter_mut().find(|(dtype, _)| *dtype == value.dtype()) {
                Some((_, count)) => *count += 1,
                None => elements.push((value.dtype(), 1)),
            }
        }
    }
    let first = kernel.params.len() - kernel.written().len();
    let moved = |p: ParamId| if p.index() < first { p } else { ParamId(p.0 + elements.len() as u32) };
    let mut next: Vec<i64> = vec![0; elements.len()];
    let (mut pool, mut at) = (ExprPool::new(), 0..);
    let place = |pool: &mut ExprPool, mut node: Expr, dtype: DType| {
        let own = at.next().and_then(|at: usize| by_node.get(&at));
        for (operand, number, argument) in own.into_iter().flatten() {
            let mut operands = node.operands();
            operands[*operand] = match (number, argument) {
                (Number::Scalar(value), Argument::Element) => {
                    let of = elements.iter().position(|(dtype, _)| *dtype == value.dtype()).unwrap_or_default();
                    let index = pool.index(next[of]);
                    next[of] += 1;
                    pool.load(value.dtype(), Mem::Param(ParamId((first + of) as u32)), &[index])
                }
                (Number::Offset(offset), Argument::Variable(variable, more)) => {
                    let Expr::Index(size) = pool.get(operands[*operand]).clone() else { continue };
                    pool.index(size + (more - offset) + Size::from(variable))
                }
                _ => continue,
            };
            node = node.with_operands(&operands);
        }
        if let Expr::Load { from: Mem::Param(p), .. } = &mut node {
            *p = moved(*p);
        }
        pool.add(node, dtype)
    };
    let mut copies = pool.copy_with(&kernel.exprs, &roots(kernel), &|_| None, place).into_iter();
    let mut stages = kernel.stages.clone();
    for stage in &mut stages {
        stage.for_each_root(&mut |root| *root = copies.next().unwrap_or(*root));
        for out in &mut stage.outs {
            if let Out::Param { param, .. } = out {
                *param = moved(*param);
            }
        }
    }
    let own = |(dtype, count): &(DType, i64)| Param { dtype: *dtype, shape: vec![Size::from(*count)], constant: false };
    params.splice(first..first, elements.iter().map(own));
    let mut vars = kernel.vars.clone();
    for argument in arguments.iter().flatten() {
        if let Argument::Variable(variable, _) = argument
            && !vars.contains(variable)
        {
            vars.push(variable.clone());
        }
    }
    Kernel { name: kernel.name.clone(), axes: kernel.axes.clone(), params, vars, exprs: pool, stages }
}
