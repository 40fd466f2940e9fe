//! Attention as whole kernels: `O[i, c] = epilogue(Σ_j w[i, j] · V[j, c], Σ_j w[i, j])` with
//! `w[i, j] = exp(x[i, j] - max_j x[i, j])` and `x[i, j] = scores(scale · Σ_d Q[i, d] · K[j, d])`, for each head of a batch.
//!
//! Scores are never in memory: a block goes over the keys tile by tile and keeps, for its rows, the maximum and the sum of
//! weights so far, and the weighted sum of values, which it scales as the maximum grows (Milakov and Gimelshein, "Online
//! normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022; Shah et al., "FlashAttention-3", 2024).
//!
//! A kernel is made for types and depths; sizes and strides are arguments. Some query heads (a group) share a key head. A row
//! none of whose keys it may see has a sum of 0.
//!
//! * [`wgmma`]: Hopper's tensor cores. A warpgroup produces tiles of K and V, by the tensor memory accelerator, what the others
//!   consume.
//! * [`mma`]: tensor cores from sm_80 on, and any alignment.
//! * [`decode`]: few rows. Keys are split among blocks; a second kernel puts the parts together.

mod call;
mod decode;
mod mma;
mod order;
mod rows;
mod warp;
mod wgmma;

pub use super::body::{Body, Slot};
pub use super::ptx::Operation;
pub use call::whole;
pub use decode::DecodeTile;
pub use mma::MmaTile;
pub use wgmma::WgmmaTile;

use super::Runner;
use crate::CompileError;
use svod_dtype::DType;

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// Queries: `[batch, heads, rows, depth]`.
    Q,
    /// Keys: `[batch, heads / group, keys, depth]`.
    K,
    /// Values: `[batch, heads / group, keys, columns]`.
    V,
    /// The result: `[batch, heads, rows, columns]`.
    O,
}

/// Attention. The last dimension of each operand is side by side in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attention {
    /// Elements of Q, K and V: f16 or bf16. Sums are f32, weights are rounded to this type.
    pub dtype: DType,
    /// Elements of O: f16, bf16 or f32.
    pub out: DType,
    /// Elements of a row of Q and K.
    pub depth: u32,
    /// Elements of a row of V and O.
    pub columns: u32,
    /// Whether row `i` sees the keys up to `i + diagonal` only ([`Parameter::Diagonal`]).
    pub causal: bool,
    /// Bytes by which the starts and all strides of Q, K and V, in bytes, can be divided.
    pub align: u32,
    /// The same of O.
    pub align_out: u32,
}

impl Attention {
    /// Most elements of a row.
    pub const DEPTH: u32 = 256;

    /// Whether there is a kernel of these types and depths, on sm_80 and newer.
    pub fn supported(dtype: DType, out: DType, depth: u32, columns: u32) -> bool {
        let fits = |n: u32| n > 0 && n.is_multiple_of(8) && n <= Self::DEPTH;
        matches!(dtype, DType::F16 | DType::BF16)
            && matches!(out, DType::F16 | DType::BF16 | DType::F32)
            && fits(depth)
            && fits(columns)
    }
}

/// One score, in [`Scores`].
#[derive(Clone, Copy, Debug)]
pub struct Score<'a> {
    /// Which of the batch: `i32`, as all indices.
    pub batch: &'a str,
    /// The query head.
    pub head: &'a str,
    /// The query's row, below rows.
    pub row: &'a str,
    /// The key, below keys.
    pub key: &'a str,
    /// The scaled product: `float`.
    pub value: &'a str,
}

/// What becomes of the scores. Keys beyond the diagonal are left out whatever it says.
pub trait Scores {
    /// A word for the kernel's name.
    fn name(&self) -> String;

    /// Further parameters of the kernel, with types and attributes: `ptr addrspace(1) noalias readonly %mask`.
    fn parameters(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether [`Self::apply`] gives what it is given, and is not asked.
    fn plain(&self) -> bool {
        false
    }

    /// Writes what is made of a score, and gives that as a `float`. It may be called for rows and keys past the edges; they
    /// are then those of the last element.
    fn apply(&self, body: &mut Body, score: Score) -> String;
}

/// One value of the result, in an [`Epilogue`].
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    /// Which of the batch: `i32`, as all indices.
    pub batch: &'a str,
    /// The query head.
    pub head: &'a str,
    /// Its row, below rows.
    pub row: &'a str,
    /// Its column, below columns.
    pub column: &'a str,
    /// The weighted sum of values: `float`.
    pub sum: &'a str,
    /// The sum of weights: `float`.
    pub total: &'a str,
}

/// What becomes of the sums.
pub trait Epilogue {
    /// A word for the kernel's name.
    fn name(&self) -> String;

    /// Further parameters of the kernel.
    fn parameters(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether the result is the weighted sum divided by the sum of weights, and [`Self::apply`] is not asked.
    fn plain(&self) -> bool {
        false
    }

    /// Writes what is made of the two sums, and gives that as a `float`. It may be called for rows past the edge; the row is
    /// then the last one.
    fn apply(&self, body: &mut Body, element: Element) -> String;
}

/// Scores and sums as they are.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Scores for Plain {
    fn name(&self) -> String {
        "plain".into()
    }

    fn plain(&self) -> bool {
        true
    }

    fn apply(&self, _: &mut Body, score: Score) -> String {
        score.value.into()
    }
}

impl Epilogue for Plain {
    fn name(&self) -> String {
        "plain".into()
    }

    fn plain(&self) -> bool {
        true
    }

    fn apply(&self, body: &mut Body, element: Element) -> String {
        body.value(format_args!("fdiv float {}, {}", element.sum, element.total))
    }
}

/// A size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// The outer dimension of the batch.
    Batch,
    /// Query heads.
    Heads,
    /// Query heads of a key head.
    Group,
    /// Queries of a head.
    Rows,
    /// Keys of a head.
    Keys,
}

/// A dimension of an operand that has a stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// The outer one.
    Batch,
    /// Heads: of queries or of keys.
    Head,
    /// Rows: queries or keys.
    Row,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// A tensor map, by value: one of [`Launch::maps`].
    Map(usize),
    /// Where an operand starts.
    Pointer(Operand),
    /// Elements from one to the next along a dimension of an operand: `i64`.
    Stride(Operand, Dimension),
    /// A size: `i32`.
    Size(Size),
    /// What products are multiplied by: the bits of an f32, `i32`.
    Scale,
    /// Row `i` sees keys up to `i + diagonal`: `i32`, with a sign. Of causal attention only.
    Diagonal,
    /// How many parts the keys are split into: `i32`, [`Plan::splits`].
    Splits,
    /// Scratch memory of [`Plan::scratch`] bytes, aligned to 16, that all kernels of an attention share.
    Scratch,
    /// A parameter of the scores.
    Scores(usize),
    /// A parameter of the epilogue.
    Epilogue(usize),
}

/// A tensor map that the host makes: four dimensions, in elements, with 128-byte swizzle and zeros where the tensor ends. They are
/// depth or columns, rows or keys, heads of the operand, batch; strides are those of the operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorMap {
    /// What it is of.
    pub operand: Operand,
    /// The type of its elements.
    pub dtype: DType,
    /// Elements of a copy along each.
    pub region: [u32; 4],
}

/// Sizes of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sizes {
    /// The outer dimension of the batch.
    pub batch: u32,
    /// Query heads.
    pub heads: u32,
    /// Query heads of a key head.
    pub group: u32,
    /// Queries of a head.
    pub rows: u32,
    /// Keys of a head.
    pub keys: u32,
}

/// What a launch on some GPU is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// Blocks of each kernel.
    pub blocks: [u32; 2],
    /// Parts that keys are split into.
    pub splits: u32,
    /// Bytes of scratch memory.
    pub scratch: u64,
}

/// How a kernel is launched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Launch {
    /// The kernel's name.
    pub entry: String,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
    /// The kernel's parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The tensor maps it takes.
    pub maps: Vec<TensorMap>,
}

/// The text of a kernel, and how it is launched.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The LLVM text of its module.
    pub text: String,
    /// The processor it is for, as LLVM names it.
    pub processor: &'static str,
    /// What runs it.
    pub runner: Runner,
    /// How it is launched.
    pub launch: Launch,
}

impl Kernel {
    /// Its code: PTX, or an object for a simulator, see [`super::product::Kernel::code`].
    ///
    /// # Errors
    /// See [`CompileError`].
    pub fn code(&self) -> Result<Vec<u8>, CompileError> {
        super::assembled(&self.launch.entry, &self.text, self.processor, self.runner)
    }
}

/// How attention is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tile {
    /// By warpgroups, on sm_90a.
    Wgmma(WgmmaTile),
    /// By warps, from sm_80 on.
    Mma(MmaTile),
    /// Few rows, with keys split among blocks, from sm_80 on.
    Decode(DecodeTile),
}

impl Tile {
    /// Blocks, splits and scratch memory on a GPU with so many multiprocessors.
    pub fn plan(&self, attention: &Attention, sizes: &Sizes, multiprocessors: u32) -> Plan {
        match self {
            Tile::Wgmma(tile) => tile.plan(sizes, multiprocessors),
            Tile::Mma(tile) => tile.plan(sizes),
            Tile::Decode(tile) => tile.plan(attention, sizes, multiprocessors),
        }
    }
}

/// The tile of an attention on a GPU with so many multiprocessors, which has warpgroups or not (sm_90a).
pub fn choose(attention: &Attention, sizes: &Sizes, multiprocessors: u32, warpgroups: bool) -> Tile {
    let tiles = |rows| order::tiles(sizes, rows);
    // Few rows, or so few tiles of rows that keys have to be split to keep the GPU busy.
    if sizes.rows <= DecodeTile::ROWS || sizes.rows <= 64 && tiles(64) < multiprocessors / 2 {
        let tile = DecodeTile::of(attention);
        // What a second kernel costs is more than what a block takes for some hundred keys.
        let split = sizes.keys > 512 && tiles(DecodeTile::ROWS) < multiprocessors;
        return Tile::Decode(DecodeTile { split, ..tile });
    }
    if warpgroups && attention.align.is_multiple_of(16) {
        return Tile::Wgmma(WgmmaTile::of(attention, sizes.rows));
    }
    Tile::Mma(MmaTile::of(attention))
}

/// The kernels of an attention, for the driver or for a simulator: one, or two that are launched one after the other.
///
/// # Errors
/// [`CompileError::Unsupported`] for types, alignments or tiles that such a kernel cannot have.
pub fn render(
    attention: &Attention,
    tile: &Tile,
    scores: &dyn Scores,
    epilogue: &dyn Epilogue,
    runner: Runner,
) -> Result<Vec<Kernel>, CompileError> {
    let Attention { dtype, out, depth, columns, .. } = *attention;
    if !Attention::supported(dtype, out, depth, columns) {
        return Err(unsupported(format_args!("{depth} and {columns} elements of {dtype}, and a result of {out}")));
    }
    let inner = Inner { scores, epilogue };
    match tile {
        Tile::Wgmma(tile) => Ok(vec![wgmma::render(attention, tile, &inner, runner)?]),
        Tile::Mma(tile) => Ok(vec![mma::render(attention, tile, &inner, runner)?]),
        Tile::Decode(tile) => decode::render(attention, tile, &inner, runner),
    }
}

/// What is inlined.
struct Inner<'a> {
    scores: &'a dyn Scores,
    epilogue: &'a dyn Epilogue,
}

fn unsupported(what: impl std::fmt::Display) -> CompileError {
    CompileError::Unsupported(format!("attention with {what}"))
}

/// The name of a kernel: what decides its text.
fn name(attention: &Attention, tile: &str, inner: &Inner) -> String {
    let Attention { dtype, out, depth, columns, causal, .. } = *attention;
    format!(
        "svod_attention_{}_{}_{depth}x{columns}{}_{tile}_{}_{}",
        dtype.short(),
        out.short(),
        if causal { "_causal" } else { "" },
        inner.scores.name(),
        inner.epilogue.name()
    )
}

/// The largest number of bytes of a copy that divides this.
fn alignment(align: u32) -> u32 {
    [16, 8, 4, 2].into_iter().find(|n| align.is_multiple_of(*n)).unwrap_or(1)
}

/// Parameters as the kernel declares them.
fn declarations(parameters: &[Parameter], inner: &Inner) -> Vec<String> {
    let operand = |operand| match operand {
        Operand::Q => "q",
        Operand::K => "k",
        Operand::V => "v",
        Operand::O => "o",
    };
    let declare = |parameter: &Parameter| match *parameter {
        Parameter::Map(i) => format!("ptr byval([128 x i8]) align 64 %map{i}"),
        Parameter::Pointer(Operand::O) => "ptr addrspace(1) noalias %o".into(),
        Parameter::Pointer(of) => format!("ptr addrspace(1) noalias readonly %{}", operand(of)),
        Parameter::Stride(of, Dimension::Batch) => format!("i64 %{}_batch", operand(of)),
        Parameter::Stride(of, Dimension::Head) => format!("i64 %{}_head", operand(of)),
        Parameter::Stride(of, Dimension::Row) => format!("i64 %{}_row", operand(of)),
        Parameter::Size(Size::Batch) => "i32 %batch".into(),
        Parameter::Size(Size::Heads) => "i32 %heads".into(),
        Parameter::Size(Size::Group) => "i32 %group".into(),
        Parameter::Size(Size::Rows) => "i32 %rows".into(),
        Parameter::Size(Size::Keys) => "i32 %keys".into(),
        Parameter::Scale => "i32 %scale_bits".into(),
        Parameter::Diagonal => "i32 %diagonal".into(),
        Parameter::Splits => "i32 %splits".into(),
        Parameter::Scratch => "ptr addrspace(1) %scratch".into(),
        Parameter::Scores(i) => inner.scores.parameters()[i].clone(),
        Parameter::Epilogue(i) => inner.epilogue.parameters()[i].clone(),
    };
    parameters.iter().map(declare).collect()
}

/// A pointer and its strides.
fn pointer(operand: Operand) -> [Parameter; 4] {
    let [batch, head, row] =
        [Dimension::Batch, Dimension::Head, Dimension::Row].map(|dimension| Parameter::Stride(operand, dimension));
    [Parameter::Pointer(operand), batch, head, row]
}

/// Sizes and all that follows.
fn numbers(attention: &Attention, inner: &Inner) -> Vec<Parameter> {
    let sizes = [Size::Batch, Size::Heads, Size::Group, Size::Rows, Size::Keys];
    let mut parameters: Vec<Parameter> = sizes.map(Parameter::Size).to_vec();
    parameters.push(Parameter::Scale);
    if attention.causal {
        parameters.push(Parameter::Diagonal);
    }
    parameters.extend((0..inner.scores.parameters().len()).map(Parameter::Scores));
    parameters.extend((0..inner.epilogue.parameters().len()).map(Parameter::Epilogue));
    parameters
}
