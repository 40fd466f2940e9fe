//! Loop trees to object code, and object code to callable code.

use crate::load::{Address, Code};
use crate::{CompileError, llvm, lower, machine, tile};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};
use svod_ir::linear::{Linear, TileSpec};
use svod_ir::lowered::Lowered;
use svod_ir::pass::Pass;
use svod_ir::target::Target;

/// Object code of some kernels, and what it was made from.
#[derive(Clone, Debug)]
pub struct Object {
    /// An ELF object.
    pub bytes: Vec<u8>,
    /// The phases, in order; of each kernel one after the other.
    pub phases: Vec<PhaseCode>,
    /// The contraction tiles that are called, each once.
    pub tiles: Vec<TileSpec>,
    /// The LLVM module.
    pub source: String,
    /// The linear lists.
    pub linear: String,
    /// How long it took.
    pub timings: Timings,
}

/// One phase of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseCode {
    /// The entry point, an [`crate::load::Entry`].
    pub entry: String,
    /// Size of a task's scratch block, which is 64-byte aligned; 0 for none.
    pub scratch_bytes: u64,
}

/// How long the parts of a compilation took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// To linear lists, and to the text of a module.
    pub lower: Duration,
    /// LLVM.
    pub llvm: Duration,
}

/// Compiles a kernel.
///
/// # Errors
/// See [`CompileError`].
pub fn compile(lowered: &Lowered, target: &Target) -> Result<Object, CompileError> {
    compile_many(&[lowered], target)
}

/// Compiles several kernels, whose names differ, to one object.
///
/// # Errors
/// See [`CompileError`].
pub fn compile_many(kernels: &[&Lowered], target: &Target) -> Result<Object, CompileError> {
    let start = Instant::now();
    let mut lists: Vec<Linear> = Vec::new();
    for kernel in kernels {
        lists.extend(Pass::Linear.run(*kernel, || lower::linearize(kernel, target))?);
    }
    let source = Pass::Text.run(&lists, || llvm::module(&lists, target, llvm::Entry::task(target)));
    let lowered = Instant::now();
    let name = lists.first().map_or("empty", |l| l.name.as_str());
    let bytes = machine::object(name, &source, target)?;
    let timings = Timings { lower: lowered - start, llvm: lowered.elapsed() };
    let mut tiles: Vec<TileSpec> = lists.iter().flat_map(Linear::tiles).collect();
    tiles.sort();
    tiles.dedup();
    let linear = lower::listing(&lists);
    let phase = |l: &Linear| PhaseCode { entry: l.name.clone(), scratch_bytes: l.scratch_bytes() };
    let phases = lists.iter().map(phase).collect();
    Ok(Object { bytes, phases, tiles, source, linear, timings })
}

/// The assembly of a module that [`compile`] made.
///
/// # Errors
/// See [`CompileError`].
pub fn assembly(source: &str, target: &Target) -> Result<String, CompileError> {
    machine::assembly("listing", source, target)
}

/// Loads the bytes of an [`Object`] together with the contraction tiles that it calls.
///
/// # Errors
/// [`CompileError::Load`], and what compiling a tile can give.
pub fn load(name: &str, bytes: &[u8], tiles: &[TileSpec], target: &Target) -> Result<Code, CompileError> {
    let mut symbols: FxHashMap<String, Address> = FxHashMap::default();
    for spec in tiles {
        symbols.insert(tile::symbol(spec), tile_address(spec, target)?);
    }
    Code::load(name, bytes, &|symbol| symbols.get(symbol).copied().or_else(|| runtime_symbol(symbol)))
}

/// What LLVM may call for a copy or a fill.
fn runtime_symbol(symbol: &str) -> Option<Address> {
    match symbol {
        "memcpy" => Some(Address(libc::memcpy as *const () as usize)),
        "memmove" => Some(Address(libc::memmove as *const () as usize)),
        "memset" => Some(Address(libc::memset as *const () as usize)),
        _ => None,
    }
}

/// The object code of a contraction tile.
///
/// # Errors
/// See [`CompileError`].
pub fn tile_object(spec: &TileSpec, target: &Target) -> Result<Vec<u8>, CompileError> {
    machine::object(&tile::symbol(spec), &tile::render(spec, target), target)
}

type Tiles = FxHashMap<(TileSpec, Target), Arc<Code>>;

/// The tiles of this process. There are few, kernels call them by address, and none is unloaded.
static TILES: LazyLock<Mutex<Tiles>> = LazyLock::new(Mutex::default);

/// The address of a contraction tile, which is compiled when first asked for.
///
/// # Errors
/// See [`CompileError`].
pub fn tile_address(spec: &TileSpec, target: &Target) -> Result<Address, CompileError> {
    let (key, symbol) = ((*spec, target.clone()), tile::symbol(spec));
    let known = TILES.lock().get(&key).cloned();
    let code = match known {
        Some(code) => code,
        None => install_tile(spec, target, &tile_object(spec, target)?)?,
    };
    let missing = || CompileError::Load { name: symbol.clone(), why: "no entry point".into() };
    code.address(&symbol).ok_or_else(missing)
}

/// Loads the object code of a tile, from a cache for example, for all kernels of this process.
///
/// # Errors
/// [`CompileError::Load`].
pub fn install_tile(spec: &TileSpec, target: &Target, bytes: &[u8]) -> Result<Arc<Code>, CompileError> {
    let code = Arc::new(Code::load(&tile::symbol(spec), bytes, &runtime_symbol)?);
    Ok(TILES.lock().entry((*spec, target.clone())).or_insert(code).clone())
}
