//! Matrix products as whole kernels: `C[m, n] = epilogue(A[m, k] · B[k, n])`, one for each of a batch.
//!
//! A kernel is made for types and layouts; sizes and strides are arguments, so that one kernel serves all
//! shapes. Edges need no other code: copies put zeros where an operand ends, and stores are bounded.
//!
//! Elements of 16 bits may have the depth side by side or not; those of 8 bits have to, which [`turned`] sees to.
//!
//! * [`wgmma`]: Hopper's tensor cores. A warpgroup produces, by the tensor memory accelerator, what the others
//!   consume; blocks stay and go over tiles in an order that suits the L2 cache.
//! * [`mma`]: tensor cores from sm_80 on. Threads copy, asynchronously where alignment lets them, and multiply. This is
//!   also for operands that no tensor map can have.
//! * [`fma`]: f32 as it is, by multiply-add.

mod aligned;
mod call;
mod choose;
mod fma;
mod mma;
mod order;
mod result;
mod turned;
mod wgmma;

pub use super::body::{Body, Slot};
pub use super::ptx::{Factor, Operation};
pub use call::whole;
pub use choose::{Shape, choose, estimate};
pub use fma::FmaTile;
pub use mma::MmaTile;
pub use wgmma::WgmmaTile;

use super::body::element_of;
use super::ptx;
use crate::CompileError;
use crate::gpu::Runner;
use order::Place;
use svod_dtype::DType;

/// Which dimension of an operand is side by side in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// The depth: A is `[m, k]`, B is `[n, k]`.
    Depth,
    /// Rows or columns of the result: A is `[k, m]`, B is `[k, n]`.
    Outer,
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The left factor.
    A,
    /// The right factor.
    B,
    /// The result.
    C,
}

/// A product of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// Elements of A and B. Sums are f32, or i32 of integers.
    pub dtype: DType,
    /// Elements of C, whose rows are `n` elements side by side.
    pub out: DType,
    /// How A lies in memory.
    pub a: Layout,
    /// How B lies in memory.
    pub b: Layout,
    /// Whether matrices of the batch are in groups, which are as far from one another as one says.
    pub groups: bool,
    /// Bytes by which the start and every stride of A and B, in bytes, can be divided.
    pub align: u32,
    /// The same of C.
    pub align_out: u32,
}

impl Product {
    /// What its elements are to tensor cores.
    fn factor(&self) -> Option<Factor> {
        Factor::of(self.dtype)
    }

    /// The type of sums.
    fn sums(&self) -> DType {
        if self.dtype.is_int() { DType::I32 } else { DType::F32 }
    }

    /// Whether sums of tensor cores are added to others after some steps of the depth. Those of 8-bit floats are kept with some 14
    /// bits only, see Zhao et al. (2025), "Insights into DeepSeek-V3".
    fn adds_sums(&self) -> bool {
        matches!(self.dtype, DType::F8E4M3 | DType::F8E5M2)
    }
}

/// One value of the result, in an [`Epilogue`].
#[derive(Clone, Copy, Debug)]
pub struct Element<'a> {
    /// Which of the batch: `i32`.
    pub batch: &'a str,
    /// Its row: `i32`, below m.
    pub row: &'a str,
    /// Its column: `i32`, below n.
    pub column: &'a str,
    /// The sum: `float`, of integers the bits of an `i32` as one.
    pub value: &'a str,
}

/// What becomes of the sums.
pub trait Epilogue {
    /// A word for the kernel's name.
    fn name(&self) -> String;

    /// Further parameters of the kernel, with types and attributes: `ptr addrspace(1) noalias readonly %bias`.
    fn parameters(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether [`Self::apply`] stores; otherwise the kernel stores what it gives in C.
    fn stores(&self) -> bool {
        false
    }

    /// Writes what is made of a sum, and gives that as a `float`; where C is of i32 or bytes, their bits. Of an epilogue that does not
    /// store, it may be called for elements past the edges; row and column are then those of the last element.
    fn apply(&self, body: &mut Body, element: Element) -> String;
}

/// The sums as they are.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Epilogue for Plain {
    fn name(&self) -> String {
        "plain".into()
    }

    fn apply(&self, _: &mut Body, element: Element) -> String {
        element.value.into()
    }
}

/// A size of the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// Rows of C.
    M,
    /// Columns of C.
    N,
    /// The depth.
    K,
    /// Products.
    Batch,
    /// Products of a group.
    Group,
}

/// A parameter of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// A tensor map, by value: one of [`Launch::maps`].
    Map(usize),
    /// Where an operand starts.
    Pointer(Operand),
    /// A size: `i32`.
    Size(Size),
    /// Elements from one row of memory to the next: `i64`.
    Stride(Operand),
    /// Elements from one matrix of the batch, or of a group, to the next: `i64`.
    BatchStride(Operand),
    /// Elements from the last matrix of a group to the first one of the next, less one such stride: `i64`.
    GroupStep(Operand),
    /// Whether each product has its own matrix, 1, or all share one, 0: `i32`.
    Batched(Operand),
    /// A parameter of the epilogue.
    Epilogue(usize),
}

/// A tensor map that the host makes: three dimensions, in elements, with 128-byte swizzle and zeros where the
/// tensor ends. Strides are those of the operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorMap {
    /// What it is of.
    pub operand: Operand,
    /// The type of its elements.
    pub dtype: DType,
    /// The dimension side by side, then that of rows in memory. The third one is the batch, or 1.
    pub sizes: [Size; 2],
    /// Elements of a copy along these; 1 along the batch.
    pub region: [u32; 2],
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
    /// Blocks of a cluster along x, an attribute of the launch.
    pub cluster: u32,
    /// Rows and columns of what a cluster makes at a time.
    pub tile: [u32; 2],
    /// Whether a block goes from tile to tile, so that no more are wanted than run at once.
    pub persistent: bool,
    /// The kernel's parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The tensor maps it takes.
    pub maps: Vec<TensorMap>,
}

impl Launch {
    /// Of a kernel that copies an operand: blocks of so many threads, and nothing else.
    fn of_copies(entry: String, threads: u32) -> Launch {
        let (parameters, maps) = (Vec::new(), Vec::new());
        Launch { entry, threads, shared: 0, cluster: 1, tile: [1, 1], persistent: false, parameters, maps }
    }

    /// Blocks of a launch on a GPU with so many multiprocessors: of a persistent kernel, any multiple of the cluster is
    /// right.
    pub fn blocks(&self, m: u32, n: u32, batch: u32, multiprocessors: u32) -> u32 {
        let tiles = u64::from(m.div_ceil(self.tile[0])) * u64::from(n.div_ceil(self.tile[1])) * u64::from(batch);
        let most = if self.persistent { multiprocessors / self.cluster } else { u32::MAX / self.cluster };
        (tiles.min(u64::from(most)).max(1) as u32) * self.cluster
    }
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
    /// Elements of C.
    pub out: DType,
    /// How it is launched.
    pub launch: Launch,
}

impl Kernel {
    /// Its code: PTX, or an object for a simulator, which the kernel calls by `svod_sim_ptx(operation, operands, results)`, see
    /// [`Operation`], and by `svod_sim_tid`, `svod_sim_ctaid`, `svod_sim_nctaid`. Shared memory is at addresses of its own.
    ///
    /// # Errors
    /// See [`CompileError`].
    pub fn code(&self) -> Result<Vec<u8>, CompileError> {
        super::assembled(&self.launch.entry, &self.text, self.processor, self.runner)
    }
}

/// How a product is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tile {
    /// By warpgroups, on sm_90a.
    Wgmma(WgmmaTile),
    /// By warps, from sm_80 on.
    Mma(MmaTile),
    /// By multiply-add of f32.
    Fma(FmaTile),
}

/// The kernel of a product, for the driver or for a simulator.
///
/// # Errors
/// [`CompileError::Unsupported`] for types, alignments or tiles that such a kernel cannot have.
pub fn render(product: &Product, tile: &Tile, epilogue: &dyn Epilogue, runner: Runner) -> Result<Kernel, CompileError> {
    match tile {
        Tile::Wgmma(tile) => wgmma::render(product, tile, epilogue, runner),
        Tile::Mma(tile) => mma::render(product, tile, epilogue, runner),
        Tile::Fma(tile) => fma::render(product, tile, epilogue, runner),
    }
}

/// Whether elements of C are bytes, which epilogues make: the kernel rounds to floats of 16 bits only.
fn is_byte(out: DType) -> bool {
    matches!(out, DType::I8 | DType::U8 | DType::F8E4M3 | DType::F8E5M2)
}

/// Whether sums can become elements of C: of integers as they are, or by an epilogue.
fn has_result(product: &Product) -> bool {
    matches!(product.out, DType::BF16 | DType::F16 | DType::F32)
        || product.out == product.sums()
        || is_byte(product.out)
}

/// A sum as what an epilogue is given.
fn bits(body: &mut Body, product: &Product, sum: String) -> String {
    if product.sums() == DType::F32 { sum } else { body.value(format_args!("bitcast i32 {sum} to float")) }
}

fn unsupported(what: impl std::fmt::Display) -> CompileError {
    CompileError::Unsupported(format!("a matrix product with {what}"))
}

/// The name of a kernel: what decides its text.
fn name(product: &Product, tile: &str, epilogue: &dyn Epilogue) -> String {
    let letter = |layout: Layout, depth, outer| if layout == Layout::Depth { depth } else { outer };
    format!(
        "svod_product_{}_{}_{}{}_{tile}_{}",
        product.dtype.short(),
        product.out.short(),
        letter(product.a, "mk", "km"),
        letter(product.b, "nk", "kn"),
        epilogue.name()
    )
}

/// Parameters as the kernel declares them.
fn declarations(parameters: &[Parameter], epilogue: &dyn Epilogue) -> Vec<String> {
    let operand = |operand| match operand {
        Operand::A => "a",
        Operand::B => "b",
        Operand::C => "c",
    };
    let declare = |parameter: &Parameter| match *parameter {
        Parameter::Map(i) => format!("ptr byval([128 x i8]) align 64 %map{i}"),
        Parameter::Pointer(Operand::C) => "ptr addrspace(1) noalias %c".into(),
        Parameter::Pointer(of) => format!("ptr addrspace(1) noalias readonly %{}", operand(of)),
        Parameter::Stride(of) => format!("i64 %{}_stride", operand(of)),
        Parameter::BatchStride(of) => format!("i64 %{}_batch", operand(of)),
        Parameter::GroupStep(of) => format!("i64 %{}_group", operand(of)),
        Parameter::Batched(of) => format!("i32 %batched_{}", operand(of)),
        Parameter::Size(Size::M) => "i32 %m".into(),
        Parameter::Size(Size::N) => "i32 %n".into(),
        Parameter::Size(Size::K) => "i32 %k".into(),
        Parameter::Size(Size::Batch) => "i32 %batch".into(),
        Parameter::Size(Size::Group) => "i32 %group".into(),
        Parameter::Epilogue(i) => epilogue.parameters()[i].clone(),
    };
    parameters.iter().map(declare).collect()
}

/// The parameters of kernels without tensor maps.
fn plain_parameters(product: &Product, epilogue: &dyn Epilogue) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    for operand in [Operand::A, Operand::B, Operand::C] {
        if operand == Operand::C && epilogue.stores() {
            continue;
        }
        parameters.push(Parameter::Pointer(operand));
        parameters.push(Parameter::Stride(operand));
        parameters.push(Parameter::BatchStride(operand));
        parameters.extend(product.groups.then_some(Parameter::GroupStep(operand)));
    }
    parameters.extend([Size::M, Size::N, Size::K, Size::Batch].map(Parameter::Size));
    parameters.extend(product.groups.then_some(Parameter::Size(Size::Group)));
    parameters.extend((0..epilogue.parameters().len()).map(Parameter::Epilogue));
    parameters
}

/// Where a tile of an operand starts in memory, and some rows and elements on from there.
fn first_address(
    body: &mut Body,
    product: &Product,
    operand: Operand,
    layout: Layout,
    place: &Place,
    (row, element): (&str, &str),
) -> String {
    let (pointer, outer) = if operand == Operand::A { ("a", &place.row) } else { ("b", &place.column) };
    let start = matrix(body, product, pointer, place);
    let (row, element) = match layout {
        Layout::Depth => (body.add(outer, row), element.to_owned()),
        Layout::Outer => (row.to_owned(), body.add(outer, element)),
    };
    let (row, element) = (body.wide(row), body.wide(element));
    let start = body.offset(start, row, format_args!("%{pointer}_stride"));
    let start = body.value(format_args!("add i64 {start}, {element}"));
    element_of(body, product.dtype, &format!("%{pointer}"), &start)
}

/// Elements from the start of an operand to its matrix of a product.
fn matrix(body: &mut Body, product: &Product, operand: &str, place: &Place) -> String {
    let batch = body.wide(&place.batch);
    let start = body.value(format_args!("mul i64 {batch}, %{operand}_batch"));
    if !product.groups {
        return start;
    }
    let group = body.div(&place.batch, "%group");
    let group = body.wide(group);
    body.offset(start, group, format_args!("%{operand}_group"))
}

/// How a thread copies its part of an operand's slice to a stage of shared memory: pieces of some elements, rows apart.
struct SliceCopies<'a> {
    operand: Operand,
    layout: Layout,
    /// The first piece's row and first element in memory, from the slice's.
    row: &'a str,
    element: &'a str,
    /// Elements of a piece at most, and what `left` is counted in: so many bytes of each, or elements.
    width: u32,
    unit: u32,
    /// Depth of a slice.
    depth: u32,
    /// Bytes of a stage, where the operand's stages start, and where the first piece goes in one.
    stage: u32,
    start: u32,
    at: &'a str,
    /// Rows from piece to piece, bytes from where one goes to where the next does, and pieces.
    step: u32,
    next: u32,
    count: u32,
    /// Whether all of them are known to be inside.
    whole: bool,
}

impl SliceCopies<'_> {
    /// Starts the copies; `piece` is given an address in memory, one in shared memory, and how much is left there to copy.
    fn run(
        &self,
        body: &mut Body,
        dtype: DType,
        (from, outer): (&str, &str),
        (slice, stage): (&str, &str),
        piece: impl Fn(&mut Body, &str, &str, &str),
    ) {
        let (stride, end) = if self.operand == Operand::A { ("%a_stride", "%m") } else { ("%b_stride", "%n") };
        let depth = body.mul(slice, self.depth);
        // First row and element, and where rows and elements end.
        let (row, element, rows, elements) = match self.layout {
            Layout::Depth => (body.add(outer, self.row), body.add(&depth, self.element), end, "%k"),
            Layout::Outer => (body.add(&depth, self.row), body.add(outer, self.element), "%k", end),
        };
        let all = (self.width * self.unit).to_string();
        let left = if self.whole {
            all
        } else {
            let some = body.compare("ult", &element, elements);
            let left = body.sub(elements, &element);
            let left = body.select(some, left, 0);
            let left = body.min(left, self.width);
            body.mul(left, self.unit)
        };
        let wide = body.wide(&depth);
        let skipped = match self.layout {
            Layout::Depth => wide,
            Layout::Outer => body.value(format_args!("mul i64 {wide}, {stride}")),
        };
        let mut source = element_of(body, dtype, from, &skipped);
        let step = body.value(format_args!("mul i64 {stride}, {}", self.step));
        let to = body.mul(stage, self.stage);
        let to = body.add(to, self.start);
        let to = body.add(to, "%base");
        let to = body.add(to, self.at);
        for i in 0..self.count {
            if i > 0 {
                source = element_of(body, dtype, &source, &step);
            }
            let to = body.add(&to, i * self.next);
            if self.whole {
                piece(body, &source, &to, &left);
                continue;
            }
            let row = body.add(&row, i * self.step);
            let inside = body.compare("ult", row, rows);
            let left = body.select(inside, &left, 0);
            piece(body, &source, &to, &left);
        }
    }
}
