//! What runs of a plan are given: contents of its inputs, in the parts that devices have of them.

use std::ops::Range;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use svod_device::Buffer;
use svod_dtype::DType;
use svod_ir::graph::{Shape, Sharding, Split};
use svod_ir::size::{Size, Variable};
use svod_runtime::Feed;

use crate::devices::is_cut_alike;
use crate::error::{Result, TensorError};
use crate::memory::host;
use crate::plan::{Given, Plan, named};
use crate::tensor::Tensor;

/// An input of a plan.
#[derive(Clone, Debug)]
pub struct Input {
    /// Element type.
    pub dtype: DType,
    /// Extents.
    pub shape: Shape,
    /// How it is spread over devices, if it is.
    pub sharding: Option<Arc<Sharding>>,
    /// Which inputs of the execution plan are its parts.
    pub parts: Range<usize>,
}

/// New content of an input.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// Elements in the host's memory, row-major, of this type and these extents.
    Bytes(&'a [u8], DType, &'a [usize]),
    /// The value of a tensor.
    Tensor(&'a Tensor),
}

/// Contents of some of a plan's inputs that were looked at once, for runs in which they stay: by input, the memory, which is
/// read as it is in each run. Made by [`Plan::keep`].
#[derive(Debug)]
pub struct KeptInputs(Vec<Option<Arc<Buffer>>>);

/// A content at one moment.
struct Taken<'a> {
    memory: SmallVec<[Held<'a>; 1]>,
    dtype: DType,
    extents: Vec<usize>,
    /// Whether it is the parts of an input that is spread, rather than the whole.
    in_parts: bool,
}

/// Memory with elements, row-major.
#[derive(Clone)]
enum Held<'a> {
    Bytes(&'a [u8]),
    Copy(Vec<u8>),
    Buffer(Arc<Buffer>),
}

impl Held<'_> {
    fn feed(&self) -> Feed<'_> {
        match self {
            Held::Bytes(bytes) => Feed::Bytes(bytes),
            Held::Copy(bytes) => Feed::Bytes(bytes),
            Held::Buffer(buffer) => Feed::Buffer(buffer),
        }
    }
}

impl<'a> Taken<'a> {
    fn new(content: Content<'a>, sharding: Option<&Arc<Sharding>>) -> Result<Taken<'a>> {
        let tensor = match content {
            Content::Bytes(bytes, dtype, extents) => {
                let memory = smallvec![Held::Bytes(bytes)];
                return Ok(Taken { memory, dtype, extents: extents.to_vec(), in_parts: false });
            }
            Content::Tensor(tensor) => tensor,
        };
        let dtype = tensor.dtype();
        let is_alike = |of: &&Arc<Sharding>| tensor.sharding().is_some_and(|own| is_cut_alike(&own, of));
        let Some(of) = sharding.filter(is_alike) else {
            let (buffer, extents) = tensor.snapshot()?;
            return Ok(Taken { memory: smallvec![Held::Buffer(buffer)], dtype, extents, in_parts: false });
        };
        tensor.realize()?;
        let mut taken = Taken { memory: SmallVec::new(), dtype, extents: Vec::new(), in_parts: true };
        let mut along = 0;
        for part in tensor.uop().parts()? {
            let (buffer, extents) = Tensor::from_uop(part).snapshot()?;
            taken.memory.push(Held::Buffer(buffer));
            along += of.split().map_or(0, |split| extents[split.axis]);
            taken.extents = extents;
        }
        if let Some(split) = of.split() {
            taken.extents[split.axis] = along;
        }
        Ok(taken)
    }

    /// The memory for the parts of an input, where variables have these values.
    fn spread(self, sharding: Option<&Arc<Sharding>>, values: &[(String, i64)]) -> Result<SmallVec<[Held<'a>; 1]>> {
        let Some(of) = sharding.filter(|_| !self.in_parts) else { return Ok(self.memory) };
        let devices = of.devices().len();
        let mut parts = SmallVec::with_capacity(devices);
        for whole in self.memory {
            let Some(split) = of.split() else {
                parts.extend(std::iter::repeat_n(whole, devices));
                continue;
            };
            let cuts = Cuts::new(split.axis, &counts(split, values)?);
            let part = |bytes: &[u8], i| Held::Copy(cut(bytes, self.dtype, &self.extents, &cuts, i));
            let all = |bytes: &[u8]| (0..devices).map(|i| part(bytes, i)).collect::<Vec<_>>();
            parts.extend(match &whole {
                Held::Bytes(bytes) => all(bytes),
                Held::Copy(bytes) => all(bytes),
                Held::Buffer(buffer) => buffer.with_bytes(all)?,
            });
        }
        Ok(parts)
    }
}

impl Plan {
    /// Does something with contents as feeds, each in its input's parts, and with these variables and those
    /// of the contents' extents. The contents are those of the inputs from number `first` on.
    ///
    /// # Errors
    /// A type or extents that do not fit the input, which name `op`, and those of `work`.
    pub fn feeding<T>(
        &self,
        op: &'static str,
        first: usize,
        contents: &[Content],
        variables: &[(&str, i64)],
        work: impl FnOnce(&[Feed], &[(&str, i64)]) -> Result<T>,
    ) -> Result<T> {
        if contents.is_empty() && variables.is_empty() {
            return work(&[], &[]);
        }
        let sharding = |i: usize| self.inputs().get(first + i).and_then(|input| input.sharding.as_ref());
        // Values of variables that no content tells, where a cut needs them.
        let with_present = |variables: &[(String, i64)]| -> Result<Vec<(String, i64)>> {
            let present = self.execution().values()?;
            let other =
                present.iter().filter(|bound| !variables.iter().any(|(name, _)| name == bound.variable().name()));
            let other = other.map(|bound| (bound.variable().name().to_owned(), bound.value()));
            Ok(variables.iter().cloned().chain(other).collect())
        };
        let all = contents.iter().enumerate();
        let taken = all.map(|(i, content)| Taken::new(*content, sharding(i))).collect::<Result<Vec<_>>>()?;
        let all = taken.iter().enumerate();
        let given = all.map(|(i, t)| Given { input: first + i, dtype: t.dtype, extents: &t.extents });
        let variables = self.variables_of(op, &given.collect::<Vec<_>>(), variables)?;
        let mut held = Vec::with_capacity(contents.len());
        let is_cut = |i: usize| sharding(i).is_some_and(|of| of.split().is_some_and(|split| split.counts().is_none()));
        let values = match (0..contents.len()).any(is_cut) {
            true => with_present(&variables)?,
            false => Vec::new(),
        };
        for (i, taken) in taken.into_iter().enumerate() {
            held.extend(taken.spread(sharding(i), &values)?);
        }
        work(&held.iter().map(Held::feed).collect::<Vec<_>>(), &named(&variables))
    }

    /// The memory of tensors, by input, which many runs are to be given beside other contents of the other inputs.
    ///
    /// # Errors
    /// A type or extents that do not fit the input, and inputs that are spread over devices or have symbolic extents.
    pub fn keep(&self, tensors: &[Option<&Tensor>]) -> Result<KeptInputs> {
        let keep = |(input, tensor): (usize, &Option<&Tensor>)| {
            let Some(tensor) = tensor else { return Ok(None) };
            let own = self.inputs().get(input);
            if own.is_some_and(|own| own.sharding.is_some() || own.shape.iter().any(|n| n.as_const().is_none())) {
                let message = format!("input {input}, which is spread over devices or has symbolic extents");
                return Err(TensorError::unsupported("execute", message));
            }
            let (buffer, extents) = tensor.snapshot()?;
            self.variables_of("execute", &[Given { input, dtype: tensor.dtype(), extents: &extents }], &[])?;
            Ok(Some(buffer))
        };
        tensors.iter().enumerate().map(keep).collect::<Result<_>>().map(KeptInputs)
    }

    /// [`Plan::feeding`] with kept inputs, and contents of the others in their order.
    ///
    /// # Errors
    /// Those of [`Plan::feeding`]; also contents that are not as many as there are other inputs.
    pub fn feeding_beside<T>(
        &self,
        kept: &KeptInputs,
        others: &[Content],
        variables: &[(&str, i64)],
        work: impl FnOnce(&[Feed], &[(&str, i64)]) -> Result<T>,
    ) -> Result<T> {
        let open: Vec<usize> = (0..kept.0.len()).filter(|i| kept.0[*i].is_none()).collect();
        if open.len() != others.len() || kept.0.len() != self.inputs().len() {
            let message = format!("{} inputs are open, but {} are given", open.len(), others.len());
            return Err(TensorError::value("execute", message));
        }
        let taken = others.iter().map(|content| Taken::new(*content, None)).collect::<Result<Vec<_>>>()?;
        let given = open.iter().zip(&taken);
        let given: Vec<Given> =
            given.map(|(input, t)| Given { input: *input, dtype: t.dtype, extents: &t.extents }).collect();
        let variables = self.variables_of("execute", &given, variables)?;
        let mut taken = taken.iter().flat_map(|taken| &taken.memory);
        let mut feeds: Vec<Feed> = Vec::with_capacity(kept.0.len());
        for own in &kept.0 {
            feeds.extend(own.as_deref().map(Feed::Buffer).or_else(|| taken.next().map(Held::feed)));
        }
        work(&feeds, &named(&variables))
    }

    /// Sets an input for later runs, and the variables of its extents.
    pub fn set_input(&self, i: usize, value: Content) -> Result<()> {
        self.feeding("copy_", i, &[value], &[], |feeds, variables| {
            let first = self.inputs().get(i).map_or(i, |input| input.parts.start);
            feeds.iter().enumerate().try_for_each(|(part, feed)| self.set_feed(first + part, *feed, variables))
        })
    }

    /// A copy of an input in the host's memory, row-major, and its extents.
    ///
    /// # Errors
    /// An input that there is not.
    pub fn read_input(&self, i: usize) -> Result<(Buffer, Vec<usize>)> {
        let read = |part| self.execution().read_input(part);
        let Some(input) = self.inputs().get(i) else { return Ok(read(usize::MAX)?) };
        let Some(split) = input.sharding.as_ref().and_then(|of| of.split()) else {
            return Ok(read(input.parts.start)?);
        };
        let (mut parts, mut extents) = (Vec::with_capacity(input.parts.len()), Vec::new());
        let mut counts = Vec::with_capacity(input.parts.len());
        for part in input.parts.clone() {
            let (buffer, own) = read(part)?;
            parts.push(buffer.to_vec()?);
            counts.push(own[split.axis]);
            extents = own;
        }
        extents[split.axis] = counts.iter().sum();
        let whole = Buffer::new(host()?.allocator(), input.dtype, extents.iter().product())?;
        whole.copy_in(&join(&parts, input.dtype, &extents, &Cuts::new(split.axis, &counts)))?;
        Ok((whole, extents))
    }
}

/// The positions along an axis that each part has.
struct Cuts {
    axis: usize,
    parts: Vec<Range<usize>>,
}

impl Cuts {
    fn new(axis: usize, counts: &[usize]) -> Cuts {
        let mut start = 0;
        let part = |count: &usize| {
            start += count;
            start - count..start
        };
        Cuts { axis, parts: counts.iter().map(part).collect() }
    }
}

/// The extents of parts where variables have these values.
fn counts(split: &Split, values: &[(String, i64)]) -> Result<Vec<usize>> {
    let value = |v: &Variable| values.iter().find(|(name, _)| name == v.name()).map(|(_, value)| *value);
    let count = |n: &Size| {
        let count = n.eval(&value)?;
        usize::try_from(count).map_err(|_| TensorError::shape("execute", format!("extent {n} of a part is {count}")))
    };
    split.extents.iter().map(count).collect()
}

/// Bytes that lie side by side of part `i`, in the whole, in the order in which the part has them.
fn runs(dtype: DType, extents: &[usize], cuts: &Cuts, i: usize) -> impl Iterator<Item = Range<usize>> {
    let rows = extents[..cuts.axis].iter().product();
    let inner = extents[cuts.axis + 1..].iter().product::<usize>() * dtype.bytes();
    let (row, part) = (extents[cuts.axis] * inner, cuts.parts[i].clone());
    (0..rows).map(move |at| at * row + part.start * inner..at * row + part.end * inner)
}

/// Part `i` of elements in row-major order.
fn cut(whole: &[u8], dtype: DType, extents: &[usize], cuts: &Cuts, i: usize) -> Vec<u8> {
    runs(dtype, extents, cuts, i).flat_map(|run| &whole[run]).copied().collect()
}

/// The whole, in row-major order, of which these are the parts.
fn join(parts: &[Vec<u8>], dtype: DType, extents: &[usize], cuts: &Cuts) -> Vec<u8> {
    let mut whole = vec![0; extents.iter().product::<usize>() * dtype.bytes()];
    for (i, part) in parts.iter().enumerate() {
        let mut rest = &part[..];
        for run in runs(dtype, extents, cuts, i) {
            let (own, next) = rest.split_at(run.len());
            whole[run].copy_from_slice(own);
            rest = next;
        }
    }
    whole
}
