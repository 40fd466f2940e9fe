//! Object code to callable memory.
//!
//! The sections of an ELF object that are needed at run time are laid out in one anonymous mapping,
//! its relocations are applied, and the mapping is made executable and never writable again. Calls
//! to functions elsewhere go through jump thunks at its end, since they may be out of reach.
//!
//! The bytes may come from a damaged file: whatever they say is checked against the sizes of what
//! they speak of.

use crate::error::CompileError;
use object::elf::{
    R_X86_64_64, R_X86_64_GOTPCREL, R_X86_64_GOTPCRELX, R_X86_64_PC32, R_X86_64_PLT32, R_X86_64_REX_GOTPCRELX,
};
use object::read::elf::ElfFile64;
use object::{
    Architecture, Object, ObjectSection, ObjectSymbol, Relocation, RelocationTarget, SectionIndex, SymbolSection,
};
use rustc_hash::FxHashMap;
use std::ffi::c_void;
use std::ptr::NonNull;

/// A kernel's entry point: pointers to the arguments' memory and, last, to the scratch block; the
/// variables' values and, last, the index of the task.
pub type Entry = unsafe extern "C" fn(buffers: *const *mut u8, vals: *const i64);

/// The address of a function that generated code calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub usize);

/// Executable memory. It is unmapped when dropped.
#[derive(Debug)]
pub struct Code {
    base: NonNull<c_void>,
    len: usize,
    symbols: FxHashMap<String, usize>,
}

// SAFETY: the mapping is never written after construction, and unmapped only by Drop.
unsafe impl Send for Code {}
// SAFETY: as above; shared access only reads or executes.
unsafe impl Sync for Code {}

const THUNK: usize = 16;
const SLOT: usize = 8;
const PAGE: usize = 4096;
/// More than any kernel has, and within reach of a relative jump.
const MAX_LEN: usize = 1 << 30;

impl Code {
    /// Loads an object. `resolve` gives the addresses of functions that it calls and does not hold.
    ///
    /// # Errors
    /// [`CompileError::Load`] where the object is damaged, holds a relocation of an unknown kind, or
    /// needs a symbol that `resolve` does not know; or where memory cannot be mapped.
    pub fn load(name: &str, bytes: &[u8], resolve: &dyn Fn(&str) -> Option<Address>) -> Result<Code, CompileError> {
        Image::load(bytes, resolve).map_err(|why| CompileError::Load { name: name.into(), why })
    }

    /// The address of a function of the object.
    pub fn address(&self, symbol: &str) -> Option<Address> {
        self.symbols.get(symbol).map(|at| Address(self.base.as_ptr() as usize + at))
    }

    /// A kernel's entry point. It may be called while this code is alive.
    pub fn entry(&self, symbol: &str) -> Option<Entry> {
        let Address(address) = self.address(symbol)?;
        // SAFETY: the address is that of a function that the code generator gave this signature.
        Some(unsafe { std::mem::transmute::<usize, Entry>(address) })
    }

    fn map(len: usize) -> Result<Code, String> {
        let (write, private) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: an anonymous private mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), len, write, private, -1, 0) };
        match NonNull::new(base) {
            Some(base) if base.as_ptr() != libc::MAP_FAILED => Ok(Code { base, len, symbols: FxHashMap::default() }),
            _ => Err("out of memory for code".into()),
        }
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and entries borrow from `self`.
        unsafe {
            libc::munmap(self.base.as_ptr(), self.len);
        }
    }
}

/// An object that is being laid out.
struct Image<'d> {
    file: ElfFile64<'d>,
    /// Where each loaded section is, and its size.
    sections: FxHashMap<SectionIndex, (usize, usize)>,
    /// The functions that it calls and does not hold.
    externs: Vec<String>,
    /// Where their jump thunks and the slots with their addresses are.
    thunks: usize,
    slots: usize,
    /// Its address in memory.
    base: usize,
    bytes: Vec<u8>,
}

impl<'d> Image<'d> {
    fn load(bytes: &'d [u8], resolve: &dyn Fn(&str) -> Option<Address>) -> Result<Code, String> {
        let file: ElfFile64<'d> = ElfFile64::parse(bytes).map_err(|e| e.to_string())?;
        if file.architecture() != Architecture::X86_64 || !cfg!(target_arch = "x86_64") {
            return Err("the code is for another machine".into());
        }
        let (sections, externs) = (FxHashMap::default(), Vec::new());
        let mut image = Image { file, sections, externs, thunks: 0, slots: 0, base: 0, bytes: Vec::new() };
        image.lay_out()?;
        let mut code = Code::map(image.bytes.len())?;
        image.base = code.base.as_ptr() as usize;
        image.link(resolve)?;
        image.relocate()?;
        code.symbols = image.symbols();
        // SAFETY: the mapping is as long as the image, writable, and nobody else knows it yet.
        unsafe { std::ptr::copy_nonoverlapping(image.bytes.as_ptr(), code.base.as_ptr().cast(), image.bytes.len()) };
        // SAFETY: the mapping is ours and of this length.
        match unsafe { libc::mprotect(code.base.as_ptr(), code.len, libc::PROT_READ | libc::PROT_EXEC) } {
            0 => Ok(code),
            _ => Err("the memory cannot be made executable".into()),
        }
    }

    /// Copies the sections, and makes room for thunks and slots.
    fn lay_out(&mut self) -> Result<(), String> {
        for section in self.file.sections().filter(is_loaded) {
            let data = section.data().map_err(|e| e.to_string())?;
            let align = (section.align() as usize).clamp(16, PAGE).next_power_of_two();
            self.bytes.resize(self.bytes.len().next_multiple_of(align), 0);
            self.sections.insert(section.index(), (self.bytes.len(), data.len()));
            self.bytes.extend_from_slice(data);
        }
        for symbol in self.file.symbols().filter(|s| s.is_undefined()) {
            let name = symbol.name().map_err(|e| e.to_string())?;
            if !name.is_empty() {
                self.externs.push(name.to_owned());
            }
        }
        self.thunks = self.bytes.len().next_multiple_of(THUNK);
        self.slots = self.thunks + self.externs.len() * THUNK;
        let len = (self.slots + self.externs.len() * SLOT).max(1).next_multiple_of(PAGE);
        if len > MAX_LEN {
            return Err(format!("{len} bytes of code"));
        }
        self.bytes.resize(len, 0);
        Ok(())
    }

    /// Writes the thunks: `jmp *slot`, relative to the next instruction.
    fn link(&mut self, resolve: &dyn Fn(&str) -> Option<Address>) -> Result<(), String> {
        for (i, symbol) in self.externs.iter().enumerate() {
            let Address(address) = resolve(symbol).ok_or_else(|| format!("the symbol `{symbol}` is not known"))?;
            let (thunk, slot) = (self.thunks + i * THUNK, self.slots + i * SLOT);
            let distance = (slot - (thunk + 6)) as u32;
            self.bytes[thunk..thunk + 2].copy_from_slice(&[0xFF, 0x25]);
            self.bytes[thunk + 2..thunk + 6].copy_from_slice(&distance.to_le_bytes());
            self.bytes[slot..slot + SLOT].copy_from_slice(&(address as u64).to_le_bytes());
        }
        Ok(())
    }

    fn relocate(&mut self) -> Result<(), String> {
        let mut patches: Vec<(usize, Vec<u8>)> = Vec::new();
        for section in self.file.sections().filter(is_loaded) {
            let (start, len) = self.sections[&section.index()];
            for (offset, relocation) in section.relocations() {
                let offset = usize::try_from(offset).unwrap_or(usize::MAX);
                let patch = self.patch(start.saturating_add(offset), &relocation)?;
                if offset.saturating_add(patch.len()) > len {
                    return Err("a relocation outside its section".into());
                }
                patches.push((start + offset, patch));
            }
        }
        for (at, patch) in patches {
            self.bytes[at..at + patch.len()].copy_from_slice(&patch);
        }
        Ok(())
    }

    /// What a relocation writes at `place`.
    fn patch(&self, place: usize, relocation: &Relocation) -> Result<Vec<u8>, String> {
        let object::RelocationFlags::Elf { r_type } = relocation.flags() else {
            return Err("a relocation of another format".into());
        };
        let through_slot = matches!(r_type, R_X86_64_GOTPCREL | R_X86_64_GOTPCRELX | R_X86_64_REX_GOTPCRELX);
        let target = self.target(relocation, through_slot)? as i64;
        let value = target.wrapping_add(relocation.addend());
        match r_type {
            R_X86_64_64 => Ok((self.base as i64).wrapping_add(value).to_le_bytes().to_vec()),
            _ if through_slot || matches!(r_type, R_X86_64_PC32 | R_X86_64_PLT32) => {
                let relative = i32::try_from(value.wrapping_sub(place as i64));
                Ok(relative.map_err(|_| "a relocation that does not reach")?.to_le_bytes().to_vec())
            }
            other => Err(format!("a relocation of type {other}")),
        }
    }

    /// The place in the image that a relocation refers to.
    fn target(&self, relocation: &Relocation, through_slot: bool) -> Result<usize, String> {
        let RelocationTarget::Symbol(index) = relocation.target() else {
            return Err("a relocation without a symbol".into());
        };
        let symbol = self.file.symbol_by_index(index).map_err(|e| e.to_string())?;
        match symbol.section() {
            SymbolSection::Section(section) if !through_slot => {
                let missing = || "a relocation outside what is loaded".to_owned();
                let (start, len) = self.sections.get(&section).ok_or_else(missing)?;
                let at = usize::try_from(symbol.address()).ok().filter(|at| at <= len).ok_or_else(missing)?;
                Ok(start + at)
            }
            SymbolSection::Undefined => {
                let name = symbol.name().map_err(|e| e.to_string())?;
                let i = self.externs.iter().position(|n| n == name).ok_or("a relocation to a nameless symbol")?;
                Ok(if through_slot { self.slots + i * SLOT } else { self.thunks + i * THUNK })
            }
            _ => Err("a relocation to a symbol of an unknown kind".into()),
        }
    }

    /// The functions of the object.
    fn symbols(&self) -> FxHashMap<String, usize> {
        let mut symbols = FxHashMap::default();
        for symbol in self.file.symbols().filter(|s| s.is_definition()) {
            if let (SymbolSection::Section(section), Ok(name)) = (symbol.section(), symbol.name())
                && let Some((start, len)) = self.sections.get(&section)
                && let Some(at) = usize::try_from(symbol.address()).ok().filter(|at| at < len)
            {
                symbols.insert(name.to_owned(), start + at);
            }
        }
        symbols
    }
}

fn is_loaded<'d>(section: &impl ObjectSection<'d>) -> bool {
    use object::SectionKind::{Data, ReadOnlyData, ReadOnlyDataWithRel, ReadOnlyString, Text};
    matches!(section.kind(), Text | Data | ReadOnlyData | ReadOnlyDataWithRel | ReadOnlyString)
        && !section.name().is_ok_and(|n| n.starts_with(".eh_frame"))
}
