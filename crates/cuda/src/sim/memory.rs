//! The memory of a simulated GPU.
//!
//! It is mapped at addresses that the simulator uses; those that programs see are others, at which nothing can be read or
//! written. Fresh memory is filled with a pattern that is NaN in every type of float; after each block comes a margin,
//! which has another one, and shows who wrote past the block once that is freed.

use std::collections::BTreeMap;

/// What fresh memory is full of.
const FRESH: u8 = 0xFF;

/// Bytes after each block, and what they are.
const MARGIN: usize = 256;
const UNTOUCHED: u8 = 0xA5;

/// What addresses of blocks are multiples of.
const ALIGN: usize = 256;

#[derive(Debug)]
pub(super) struct Memory {
    /// The first address that programs see.
    seen: usize,
    /// The first byte.
    own: usize,
    bytes: usize,
    /// Blocks by offset, with their sizes.
    blocks: BTreeMap<usize, usize>,
    /// Free ranges by offset, with their sizes; no two of them touch.
    free: BTreeMap<usize, usize>,
}

impl Memory {
    /// So many bytes, none of which are there before they are used; `None` where there are no addresses for them.
    pub fn new(bytes: usize) -> Option<Memory> {
        let map = |protection| {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            // SAFETY: an anonymous mapping at an address of the system's choice touches no other memory.
            let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
            (start != libc::MAP_FAILED).then_some(start as usize)
        };
        let seen = map(libc::PROT_NONE)?;
        let Some(own) = map(libc::PROT_READ | libc::PROT_WRITE) else {
            // SAFETY: the mapping made just above.
            unsafe { libc::munmap(seen as *mut _, bytes) };
            return None;
        };
        Some(Memory { seen, own, bytes, blocks: BTreeMap::new(), free: [(0, bytes)].into() })
    }

    pub fn free_bytes(&self) -> usize {
        self.free.values().sum()
    }

    /// The address of a block; `None` where there is no place for it.
    pub fn alloc(&mut self, bytes: usize) -> Option<u64> {
        let needed = bytes.checked_next_multiple_of(ALIGN)?.checked_add(MARGIN)?;
        let (&at, &size) = self.free.iter().find(|(_, size)| **size >= needed)?;
        self.free.remove(&at);
        if size > needed {
            self.free.insert(at + needed, size - needed);
        }
        self.blocks.insert(at, bytes);
        let start = (self.own + at) as *mut u8;
        // SAFETY: the range lies in the mapping, and no block has it.
        unsafe {
            start.write_bytes(FRESH, bytes);
            start.add(bytes).write_bytes(UNTOUCHED, needed - bytes);
        }
        Some((self.seen + at) as u64)
    }

    /// Takes a block back; says what is wrong with it.
    pub fn free(&mut self, address: u64) -> Result<(), String> {
        let at = (address as usize).wrapping_sub(self.seen);
        let bytes = self.blocks.remove(&at).ok_or_else(|| format!("there is no block at {address:#x}"))?;
        let size = bytes.next_multiple_of(ALIGN) + MARGIN;
        // SAFETY: the margin lies in the mapping, behind a block that was there until now.
        let margin = unsafe { std::slice::from_raw_parts((self.own + at + bytes) as *const u8, size - bytes) };
        let written = margin.iter().position(|byte| *byte != UNTOUCHED);
        // SAFETY: whole pages of the mapping that are the block's alone; they are fresh when they are used next.
        unsafe {
            let (start, end) = ((self.own + at).next_multiple_of(4096), (self.own + at + size) / 4096 * 4096);
            if start < end {
                libc::madvise(start as *mut _, end - start, libc::MADV_DONTNEED);
            }
        }
        self.give_back(at, size);
        match written {
            None => Ok(()),
            Some(past) => Err(format!("byte {past} after a block of {bytes} bytes was written")),
        }
    }

    /// Makes a range free, one with those that touch it.
    fn give_back(&mut self, at: usize, size: usize) {
        let (mut at, mut size) = (at, size);
        if let Some((&before, &length)) = self.free.range(..at).next_back()
            && before + length == at
        {
            self.free.remove(&before);
            (at, size) = (before, size + length);
        }
        if let Some(length) = self.free.remove(&(at + size)) {
            size += length;
        }
        self.free.insert(at, size);
    }

    /// Where the bytes at an address are, all of which are of one block.
    pub fn host(&self, address: u64, bytes: usize) -> Option<*mut u8> {
        let at = (address as usize).checked_sub(self.seen)?;
        let (start, size) = self.blocks.range(..=at).next_back()?;
        (at.checked_add(bytes)? <= start + size).then_some((self.own + at) as *mut u8)
    }

    /// The simulator's address for one that programs see. Others, which are those of nothing, stay as they are.
    pub fn shifted(&self, address: u64) -> u64 {
        match (address as usize).checked_sub(self.seen) {
            Some(at) if at <= self.bytes => (self.own + at) as u64,
            _ => address,
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        for start in [self.seen, self.own] {
            // SAFETY: the mappings made by `new`, which nobody uses any more.
            unsafe { libc::munmap(start as *mut _, self.bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn blocks_are_apart_and_come_back() {
        let mut memory = Memory::new(1 << 20).unwrap();
        let blocks: Vec<u64> = [1, 256, 1000].map(|n| memory.alloc(n).unwrap()).into();
        assert!(blocks.iter().all(|b| b.is_multiple_of(256)));
        assert_eq!(memory.alloc(1 << 20), None);
        assert!(memory.host(blocks[1], 256).is_some() && memory.host(blocks[1], 257).is_none());
        assert!(memory.host(blocks[0] - 1, 1).is_none());
        for block in [1, 0, 2] {
            memory.free(blocks[block]).unwrap();
        }
        assert_eq!((memory.free.len(), memory.free_bytes()), (1, 1 << 20));
        assert!(memory.free(blocks[0]).is_err());
    }

    #[test]
    fn writes_past_a_block_are_found() {
        let mut memory = Memory::new(1 << 20).unwrap();
        let block = memory.alloc(10).unwrap();
        let start = memory.host(block, 10).unwrap();
        // SAFETY: within the mapping: the block, which is fresh, and its margin.
        unsafe {
            assert_eq!(start.read(), FRESH);
            start.add(12).write(1);
        }
        assert_eq!(memory.free(block).unwrap_err(), "byte 2 after a block of 10 bytes was written");
    }
}
