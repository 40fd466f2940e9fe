//! Numbers that differ from one graph to the next become arguments: learning rates, offsets, extents.
//!
//! Numbers are part of a graph's structure, since code that has them is the best code. Graphs that are alike
//! but for numbers, such as those of a loop over batches, would be compiled as often, though. So a context keeps, by
//! [`Outline`], what numbers graphs had ([`Record`]). A graph that has no schedule yet looks there:
//!
//! * the first graph of an outline is compiled as it is;
//! * *constants* in which graphs of the same extents differ become 0-d leaves, from the second value on; one that
//!   rules of rewriting know (0, 1, 2), or by which integers are divided, from the third; all that are an operand of
//!   the same operation from the second graph on, where most of these differ;
//! * *positions* in which graphs differ become variables, from the second value on;
//! * so do *extents*, from the third graph on, where all that differs follows from few of them ([`sizes`]), and where
//!   extents are far from one another, from the fifth.
//!
//! The graph with arguments has a key of its own, which is that of all others that differ in these numbers only: its schedule
//! is the cache's from then on. At the variables' values it is the given graph, so that what is computed stays the
//! same; folds over extents that vary may associate in another order, as for any symbolic size.
//!
//! What was made of numbers once is known as a [`Form`]: the next graph of it is neither built anew nor looked up.
//!
//! The variables are those of this run only: nothing sees them, neither the shapes of results nor
//! the memory, which is as large as it has to be at their values.

mod bounds;
mod classes;
mod counted;
mod form;
mod law;
mod sizes;

use crate::error::Result;
use crate::memory::Memory;
use counted::{Counted, bytes_of};
use form::{Constant, Form, Made, Number, Numbers};
pub(crate) use form::{Formed, Source};
use law::{Linear, Variables};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use sizes::Model;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use svod_device::{Buffer, Device};
use svod_dtype::{Const, DType};
use svod_ir::graph::key::GraphKey;
use svod_ir::graph::outline::{ConstantAt, Outline, Replacements};
use svod_ir::graph::{Graph, Leaf, LeafClass, UOp};

/// Different sizes that are remembered of an outline.
const ENTRIES: usize = 8;
/// Ways in which the sizes of an outline vary.
const MODELS: usize = 4;
/// Graphs with arguments of an outline that have a schedule.
const FORMS: usize = 8;
/// Classes of numbers of a model at most.
const MOST_CLASSES: usize = 32;
/// Variables of a model at most.
const MOST_VARIABLES: usize = 16;
/// Of these, such as extents follow from: more are other problems, too.
const MOST_EXTENTS: usize = 8;
/// Graphs with other taps from which on these vary: code that knows them is up to several times as fast.
const TAPS: usize = 4;
/// Extents that are so many times others are different problems, for which different code is best.
const FACTOR: i64 = 4;
/// Graphs of other sizes from which on all of these are taken to be one problem.
const MANY: usize = 4;
/// Fits of an outline's sizes, until its graphs are taken to have nothing in common.
const MOST_FITS: usize = 24;

/// What numbers the graphs of an outline had.
#[derive(Default)]
pub(crate) struct Record {
    /// By sizes, the latest first.
    entries: VecDeque<Entry>,
    /// The latest first.
    models: VecDeque<Model>,
    /// Fits so far, less the graphs that were of a known form.
    fits: usize,
    /// The latest first.
    forms: VecDeque<Form>,
    /// Whether sizes of some of its graphs had nothing in common with those before.
    unfit: bool,
    /// Whether a graph with arguments could not be compiled.
    refused: bool,
    counted: Counted,
}

impl Record {
    /// Compiles graphs of the outline as they are from now on.
    pub(crate) fn refuse(&mut self) {
        *self = Record { refused: true, ..Record::default() };
    }
}

/// The record of an outline, shared.
pub(crate) type Seen = Arc<Mutex<Record>>;

/// Graphs of the same sizes.
#[derive(Clone)]
struct Entry {
    sizes: Vec<i64>,
    /// The constants of the latest one.
    latest: Vec<Const>,
    constants: Vec<Values>,
}

/// The values that a constant had.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Values {
    One(Const),
    Two(Const, Const),
    Many,
}

impl Values {
    fn add(&mut self, value: Const) {
        *self = match *self {
            Values::One(a) if a != value => Values::Two(a, value),
            Values::Two(a, b) if value != a && value != b => Values::Many,
            same => same,
        };
    }

    /// Whether a constant that had these values is an argument now.
    fn vary(self, at: &ConstantAt) -> bool {
        match self {
            Values::One(_) => false,
            Values::Two(..) => !at.costly && !is_common(at.value),
            Values::Many => true,
        }
    }
}

/// Values that rules of rewriting and instructions know.
fn is_common(value: Const) -> bool {
    const COMMON: [f64; 6] = [0.0, 1.0, -1.0, 2.0, -2.0, 0.5];
    COMMON.contains(&value.as_f64())
}

impl Entry {
    fn new(outline: &Outline) -> Entry {
        let latest: Vec<Const> = outline.constants.iter().map(|c| c.value).collect();
        let constants = latest.iter().copied().map(Values::One).collect();
        Entry { sizes: outline.sizes.iter().map(|s| s.value).collect(), latest, constants }
    }

    /// Whether an outline has these sizes.
    fn is_of(&self, outline: &Outline) -> bool {
        self.sizes.iter().copied().eq(outline.sizes.iter().map(|size| size.value))
    }

    fn bytes(&self) -> usize {
        bytes_of(&self.sizes) + bytes_of(&self.latest) + bytes_of(&self.constants)
    }
}

/// Counts the graph's constants, and tells which are to be leaves. Where most of those differ that are an operand of one
/// operation, as in a loop over a list of numbers, the others only happen to be what they were, and vary as well.
fn varying(graph: &Graph, outline: &Outline, constants: &mut [Values]) -> Vec<bool> {
    #[derive(Default)]
    struct Kind {
        count: usize,
        differ: usize,
    }
    let kind = |at: &ConstantAt| {
        let node = &graph.nodes()[at.node as usize];
        (node.op().name(), at.operand, at.value.dtype())
    };
    let mut kinds: FxHashMap<(&str, usize, DType), Kind> = FxHashMap::default();
    for (at, values) in outline.constants.iter().zip(constants.iter_mut()) {
        values.add(at.value);
        let kind = kinds.entry(kind(at)).or_default();
        kind.count += 1;
        kind.differ += usize::from(!matches!(values, Values::One(_)));
    }
    let vary = |(at, values): (&ConstantAt, &mut Values)| {
        let kind = &kinds[&kind(at)];
        if kind.differ > 1 && kind.differ * 2 > kind.count {
            *values = Values::Many;
        }
        values.vary(at)
    };
    outline.constants.iter().zip(constants).map(vary).collect()
}

/// A graph with arguments.
pub(crate) enum WithArguments {
    /// It has a schedule.
    Formed(Box<Formed>),
    /// It is the first of its form.
    Made(Box<Made>),
}

impl Record {
    /// Whether the graph of this outline would be compiled as it is, as others like it were whose sizes had nothing in common.
    pub(crate) fn is_unfit(&self, outline: &Outline) -> bool {
        let formed = || self.forms.iter().any(|form| form.fits(outline));
        let modelled = || self.models.iter().any(|model| model.read(outline).is_some());
        self.unfit && !formed() && !modelled() && !self.entries.iter().any(|entry| entry.is_of(outline))
    }

    /// Whether [`Record::is_unfit`] may hold of any graph.
    pub(crate) fn has_unfit(&self) -> bool {
        self.unfit
    }

    /// Counts the record's bytes as part of a total, of which they are until the record is dropped. Gives the total.
    pub(crate) fn count(&mut self, total: &Arc<AtomicUsize>) -> usize {
        let entries = self.entries.iter().map(Entry::bytes).sum::<usize>();
        let models = self.models.iter().map(Model::bytes).sum::<usize>();
        let forms = self.forms.iter().map(Form::bytes).sum::<usize>();
        self.counted.set(entries + models + forms, total)
    }

    /// Remembers what graphs have this schedule.
    pub(crate) fn add(&mut self, form: Form) {
        self.forms.retain(Form::is_known);
        self.forms.push_front(form);
        self.forms.truncate(FORMS);
    }

    /// The graph of this key and outline, if it is of a known form.
    ///
    /// # Errors
    /// Memory that is not to be had.
    pub(crate) fn formed(&mut self, key: &GraphKey, outline: &Outline, device: &Device) -> Result<Option<Formed>> {
        for form in &self.forms {
            if let Some(formed) = form.read(key, outline, device)? {
                // Fits that serve cost nothing.
                self.fits = self.fits.saturating_sub(1);
                return Ok(Some(formed));
            }
        }
        Ok(None)
    }

    /// The graph of this key and outline with arguments, if it is to have any; `sizes` says whether extents and positions
    /// may be some, and `device` is the host, on which constants are.
    ///
    /// # Errors
    /// Memory that is not to be had, and numbers that do not go together.
    pub(crate) fn with_arguments(
        &mut self,
        graph: &Graph,
        key: &GraphKey,
        outline: &Outline,
        sizes: bool,
        device: &Device,
    ) -> Result<Option<WithArguments>> {
        if self.refused || outline.constants.is_empty() && outline.sizes.is_empty() {
            return Ok(None);
        }
        if let Some(formed) = self.formed(key, outline, device)? {
            return Ok(Some(WithArguments::Formed(Box::new(formed))));
        }
        let made = |made| Ok(Some(WithArguments::Made(Box::new(made))));
        if let Some((at, values)) = self.models.iter().enumerate().find_map(|(i, m)| Some((i, m.read(outline)?))) {
            return made(self.models[at].apply(graph, outline, values, device)?);
        }
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.is_of(outline)) {
            let leaves = varying(graph, outline, &mut entry.constants);
            entry.latest = outline.constants.iter().map(|c| c.value).collect();
            if !leaves.contains(&true) {
                return Ok(None);
            }
            let constants = leaves_of(outline, &leaves, device)?;
            let none = vec![None; outline.sizes.len()];
            let nodes = outline.replace(graph, &Replacements { constants: &constants, sizes: &none })?;
            let numbers = Numbers {
                variables: Variables::default(),
                sizes: outline.sizes.iter().map(|size| Number::Kept(size.value)).collect(),
                constants: constants_of(outline, &leaves, &vec![None; leaves.len()]),
            };
            return made(Made::new(graph, outline, nodes, constants, numbers, Vec::new())?);
        }
        let others: Vec<&Entry> = self.models.iter().map(Model::latest).chain(&self.entries).collect();
        let fits = sizes && self.fits < MOST_FITS;
        let fitted = if fits { sizes::fit(graph, outline, &others) } else { None };
        let Some((mut model, values)) = fitted.and_then(|model| model.read(outline).map(|values| (model, values)))
        else {
            self.unfit |= others.len() > 1;
            self.entries.push_front(Entry::new(outline));
            self.entries.truncate(ENTRIES);
            return Ok(None);
        };
        self.fits += 1;
        let result = model.apply(graph, outline, values, device)?;
        self.models.push_front(model);
        self.models.truncate(MODELS);
        made(result)
    }
}

/// What becomes of each constant.
fn constants_of(outline: &Outline, leaves: &[bool], positions: &[Option<Linear>]) -> Vec<Constant> {
    let one = |((at, leaf), position): ((&ConstantAt, &bool), &Option<Linear>)| match position {
        Some(linear) => Constant::Position(linear.clone()),
        None if *leaf => Constant::Leaf,
        None => Constant::Kept(at.value),
    };
    outline.constants.iter().zip(leaves).zip(positions).map(one).collect()
}

/// 0-d leaves in place of some constants, in memory side by side.
fn leaves_of(outline: &Outline, which: &[bool], device: &Device) -> Result<Vec<Option<UOp>>> {
    const EACH: usize = 8;
    let chosen = || outline.constants.iter().zip(which).filter(|(_, chosen)| **chosen);
    let bytes: Vec<u8> = chosen().flat_map(|(at, _)| at.value.bits().to_le_bytes()).collect();
    if bytes.is_empty() {
        return Ok(vec![None; which.len()]);
    }
    let buffer = Arc::new(Buffer::from_bytes(device.allocator(), DType::U8, &bytes)?);
    let mut offset = buffer.offset();
    let memory = Arc::new(Memory::new(buffer, LeafClass::Literal));
    let leaf = |(at, chosen): (&ConstantAt, &bool)| {
        if !chosen {
            return Ok(None);
        }
        let leaf = Leaf::new(memory.clone(), offset as u64, at.value.dtype(), Vec::new().into());
        offset += EACH;
        Ok(Some(UOp::leaf(leaf)?))
    };
    outline.constants.iter().zip(which).map(leaf).collect()
}
