//! Object code to callable memory.
//!
//! The sections of an ELF object that are needed at run time are laid out in one anonymous mapping,
//! its relocations are applied, and the mapping is made executable and never writable again. Calls
//! to functions elsewhere go through jump thunks at its end, since they may be out of reach.

use crate::error::CompileError;
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex, SymbolSection};
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

impl Code {
    /// Loads an object. `resolve` gives the addresses of functions that it calls and does not hold.
    ///
    /// # Errors
    /// [`CompileError::Load`] where the object is damaged, holds a relocation of an unknown kind, or
    /// needs a symbol that `resolve` does not know; or where memory cannot be mapped.
    pub fn load(name: &str, bytes: &[u8], resolve: &dyn Fn(&str) -> Option<Address>) -> Result<Code, CompileError> {
        let fail = |why: String| CompileError::Load { name: name.into(), why };
        let file: ElfFile64 = ElfFile64::parse(bytes).map_err(|e| fail(e.to_string()))?;
        let mut offsets: FxHashMap<SectionIndex, usize> = FxHashMap::default();
        let mut len = 0usize;
        for section in file.sections().filter(|s| is_loaded(s)) {
            len = len.next_multiple_of((section.align() as usize).clamp(16, 4096));
            offsets.insert(section.index(), len);
            len += section.size() as usize;
        }
        let mut externs: Vec<String> = Vec::new();
        for symbol in file.symbols().filter(|s| s.is_undefined()) {
            let symbol = symbol.name().map_err(|e| fail(e.to_string()))?;
            if !symbol.is_empty() {
                externs.push(symbol.to_string());
            }
        }
        let thunks = len.next_multiple_of(16);
        let slots = thunks + externs.len() * THUNK;
        let total = (slots + externs.len() * SLOT).max(1).next_multiple_of(4096);
        // SAFETY: an anonymous private mapping at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                total,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(fail("out of memory for code".into()));
        }
        let base = NonNull::new(base).ok_or_else(|| fail("a mapping at address 0".into()))?;
        let mut code = Code { base, len: total, symbols: FxHashMap::default() };
        // SAFETY: the mapping is `total` bytes long, writable, and nobody else knows it yet.
        let image = unsafe { std::slice::from_raw_parts_mut(base.as_ptr().cast::<u8>(), total) };
        for section in file.sections().filter(|s| is_loaded(s)) {
            let data = section.data().map_err(|e| fail(e.to_string()))?;
            let at = offsets[&section.index()];
            image[at..at + data.len()].copy_from_slice(data);
        }
        let mut places: FxHashMap<&str, usize> = FxHashMap::default();
        for (i, symbol) in externs.iter().enumerate() {
            let Address(address) = resolve(symbol).ok_or_else(|| fail(format!("the symbol `{symbol}` is not known")))?;
            let (thunk, slot) = (thunks + i * THUNK, slots + i * SLOT);
            // jmp *[rip + distance]
            let distance = (slot - (thunk + 6)) as u32;
            image[thunk..thunk + 2].copy_from_slice(&[0xFF, 0x25]);
            image[thunk + 2..thunk + 6].copy_from_slice(&distance.to_le_bytes());
            image[slot..slot + SLOT].copy_from_slice(&(address as u64).to_le_bytes());
            places.insert(symbol, i);
        }
        for section in file.sections().filter(|s| is_loaded(s)) {
            let at = offsets[&section.index()];
            for (offset, relocation) in section.relocations() {
                let RelocationTarget::Symbol(index) = relocation.target() else {
                    return Err(fail("a relocation without a symbol".into()));
                };
                let symbol = file.symbol_by_index(index).map_err(|e| fail(e.to_string()))?;
                let place = at + offset as usize;
                let object::RelocationFlags::Elf { r_type } = relocation.flags() else {
                    return Err(fail("a relocation of another format".into()));
                };
                use object::elf::{R_X86_64_64, R_X86_64_GOTPCREL, R_X86_64_GOTPCRELX, R_X86_64_PC32, R_X86_64_PLT32, R_X86_64_REX_GOTPCRELX};
                let through_slot = matches!(r_type, R_X86_64_GOTPCREL | R_X86_64_GOTPCRELX | R_X86_64_REX_GOTPCRELX);
                let target = match symbol.section() {
                    SymbolSection::Section(section) if !through_slot => {
                        offsets.get(&section).ok_or_else(|| fail("a relocation to a section that is not loaded".into()))?
                            + symbol.address() as usize
                    }
                    SymbolSection::Undefined => {
                        let name = symbol.name().map_err(|e| fail(e.to_string()))?;
                        let i = *places.get(name).ok_or_else(|| fail("a relocation to a nameless symbol".into()))?;
                        if through_slot { slots + i * SLOT } else { thunks + i * THUNK }
                    }
                    _ => return Err(fail("a relocation to a symbol of an unknown kind".into())),
                };
                let value = target as i64 + relocation.addend();
                match r_type {
                    R_X86_64_64 => {
                        let absolute = (base.as_ptr() as i64 + value).to_le_bytes();
                        image[place..place + 8].copy_from_slice(&absolute);
                    }
                    R_X86_64_PC32 | R_X86_64_PLT32 | R_X86_64_GOTPCREL | R_X86_64_GOTPCRELX | R_X86_64_REX_GOTPCRELX => {
                        let relative = i32::try_from(value - place as i64).map_err(|_| fail("code of over 2 GiB".into()))?;
                        image[place..place + 4].copy_from_slice(&relative.to_le_bytes());
                    }
                    other => return Err(fail(format!("a relocation of type {other}"))),
                }
            }
        }
        for symbol in file.symbols() {
            if let (SymbolSection::Section(section), Ok(name)) = (symbol.section(), symbol.name())
                && let Some(at) = offsets.get(&section)
                && symbol.is_definition()
            {
                code.symbols.insert(name.to_string(), at + symbol.address() as usize);
            }
        }
        // SAFETY: the mapping is ours and `total` bytes long.
        if unsafe { libc::mprotect(base.as_ptr(), total, libc::PROT_READ | libc::PROT_EXEC) } != 0 {
            return Err(fail("the memory cannot be made executable".into()));
        }
        Ok(code)
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
}

impl Drop for Code {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `load` with this length, and entries borrow from `self`.
        unsafe {
            libc::munmap(self.base.as_ptr(), self.len);
        }
    }
}

fn is_loaded<'d>(section: &impl ObjectSection<'d>) -> bool {
    use object::SectionKind::{Data, ReadOnlyData, ReadOnlyDataWithRel, ReadOnlyString, Text};
    matches!(section.kind(), Text | Data | ReadOnlyData | ReadOnlyDataWithRel | ReadOnlyString)
        && !section.name().is_ok_and(|n| n.starts_with(".eh_frame"))
}
