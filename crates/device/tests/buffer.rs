//! Contract A11 and C8: buffers, views, copies and allocators.
#![allow(clippy::unwrap_used)]

mod common;

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::*;
use svod_device::*;
use svod_dtype::DType;

fn caching(cap: usize) -> Arc<dyn Allocator> {
    Arc::new(CachingAllocator::new(cpu(), cap))
}

#[test]
fn a11_buffers_are_allocated_at_first_use() {
    let memory = cpu();
    let buffer = Buffer::new(&memory, DType::I32, 10).unwrap();
    assert!(!buffer.is_allocated() && buffer.as_ptr().is_none());
    assert_eq!(memory.stats().live, 0);
    assert!(matches!(buffer.to_vec(), Err(DeviceError::NotAllocated { bytes: 40, .. })));

    let pointer = buffer.allocate().unwrap();
    assert_eq!((buffer.as_ptr(), pointer.as_ptr() as usize % 64), (Some(pointer), 0));
    assert_eq!(memory.stats(), MemoryStats { live: 40, cached: 0, peak: 40 });
    assert!(buffer.storage().release() && !buffer.is_allocated());
    buffer.copy_in(&[1; 40]).unwrap();
    drop(buffer);
    assert_eq!(memory.stats().live, 0);
}

#[test]
fn a11_c8_views_share_the_memory_of_their_base() {
    let base = Buffer::new(&cpu(), DType::F32, 8).unwrap();
    let tail = base.view(16, DType::F32, 4).unwrap();
    let halves = tail.view(8, DType::F16, 2).unwrap();
    assert_eq!((halves.offset(), halves.byte_range()), (24, 24..28));
    assert!(base.id() != tail.id() && base.storage_id() == halves.storage_id());
    assert!(base.overlaps(&halves) && !halves.overlaps(&base.view(0, DType::U8, 24).unwrap()));
    assert!(!base.overlaps(&base.view(4, DType::F32, 0).unwrap()));
    assert!(tail.is_view() && !base.is_view());

    // Allocating one allocates all.
    base.copy_in(&[0; 32]).unwrap();
    halves.copy_in(&[9; 4]).unwrap();
    assert_eq!(base.to_vec().unwrap()[22..30], [0, 0, 9, 9, 9, 9, 0, 0]);
    tail.copy_in_parts(|put| [(8, 5u8), (11, 7)].iter().for_each(|(at, byte)| put(*at, &[*byte]))).unwrap();
    assert_eq!(base.to_vec().unwrap()[22..30], [0, 0, 5, 9, 9, 7, 0, 0]);
    let beyond = tail.copy_in_parts(|put| [0, 15, 3].iter().for_each(|at| put(*at, &[1, 1])));
    assert_eq!(beyond.unwrap_err(), DeviceError::ViewOutOfRange { offset: 15, bytes: 2, base_bytes: 16 });
    assert_eq!(base.to_vec().unwrap()[16..20], [1, 1, 0, 0]);
    // SAFETY: offset 16 lies in the 32 bytes of the base.
    assert_eq!(tail.as_ptr(), base.as_ptr().map(|p| unsafe { p.add(16) }));

    let error = base.view(16, DType::F32, 5).unwrap_err();
    assert_eq!(error, DeviceError::ViewOutOfRange { offset: 16, bytes: 20, base_bytes: 32 });
    assert!(matches!(tail.view(12, DType::F32, 2), Err(DeviceError::ViewOutOfRange { .. })));
    assert!(matches!(base.view(usize::MAX, DType::U8, 1), Err(DeviceError::ViewOutOfRange { .. })));
    assert!(matches!(base.view(0, DType::F64, usize::MAX), Err(DeviceError::ViewOutOfRange { .. })));
    assert_eq!(base.view(2, DType::F32, 1).unwrap_err(), DeviceError::Misaligned { offset: 2, dtype: DType::F32 });
}

#[test]
fn a11_c8_copies_go_between_any_two_devices() {
    let (host, one, two) = (cpu(), hidden(0), hidden(1));
    let memories: [Arc<dyn Allocator>; 3] = [host, one, two];
    let content: Vec<u8> = (0..100).collect();
    for from in &memories {
        for to in &memories {
            let src = Buffer::from_bytes(from, DType::U8, &content).unwrap();
            let dst = src.to_device(to).unwrap();
            assert_eq!((dst.to_vec().unwrap(), dst.device()), (content.clone(), to.device()));
        }
    }
    // More than is staged at a time, within one storage, in both directions.
    for memory in &memories {
        let size = (9 << 20) + 13;
        let shift = 100;
        let pattern: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
        for (to, from) in [(0, shift), (shift, 0)] {
            let all = Buffer::from_bytes(memory, DType::U8, &pattern).unwrap();
            let part = |at| all.view(at, DType::U8, size - shift).unwrap();
            part(to).copy_from(&part(from)).unwrap();
            assert!(part(to).to_vec().unwrap() == pattern[from..][..size - shift]);
        }
    }
    let (a, b) = (Buffer::new(&memories[0], DType::U8, 3).unwrap(), Buffer::new(&memories[0], DType::U8, 4).unwrap());
    assert_eq!(a.copy_from(&b).unwrap_err(), DeviceError::SizeMismatch { expected: 3, given: 4 });
    assert_eq!(a.copy_in(&[0; 2]).unwrap_err(), DeviceError::SizeMismatch { expected: 3, given: 2 });
    assert!(matches!(
        b.copy_from(&Buffer::new(&memories[1], DType::U8, 4).unwrap()),
        Err(DeviceError::NotAllocated { .. })
    ));
}

#[test]
fn a11_opposite_copies_do_not_wait_for_each_other() {
    let memory = cpu();
    let make = || Arc::new(Buffer::from_bytes(&memory, DType::U8, &[7; 4096]).unwrap());
    let (a, b) = (make(), make());
    std::thread::scope(|scope| {
        for (to, from) in [(&a, &b), (&b, &a)] {
            scope.spawn(move || (0..2000).for_each(|_| to.copy_from(from).unwrap()));
        }
    });
    assert_eq!(a.to_vec().unwrap(), [7; 4096]);
}

#[test]
fn a11_empty_buffers_work_and_impossible_ones_are_errors() {
    let memory = caching(1 << 20);
    let empty = Buffer::new(&memory, DType::F64, 0).unwrap();
    assert!(empty.to_vec().unwrap().is_empty());
    empty.copy_in(&[]).unwrap();
    empty.copy_from(&empty.view(0, DType::U8, 0).unwrap()).unwrap();
    assert!(empty.is_allocated());

    for count in [usize::MAX, usize::MAX / 8, isize::MAX as usize / 8] {
        let error = Buffer::new(&memory, DType::F64, count).and_then(|b| b.allocate()).unwrap_err();
        assert!(matches!(error, DeviceError::OutOfMemory { .. }), "{error}");
    }
    assert!(matches!(Buffer::new(&memory, DType::Void, 1), Err(DeviceError::NoElements(DType::Void))));

    let small: Arc<dyn Allocator> = Arc::new(CpuAllocator::with_limit(DeviceSpec::CPU, 1000));
    let held = small.alloc(900).unwrap();
    let error = small.alloc(101).unwrap_err();
    assert_eq!(error, DeviceError::OutOfMemory { bytes: 101, device: DeviceSpec::CPU, held: String::new() });
    // SAFETY: the block comes from this allocator, and nobody uses it.
    unsafe { small.free(held) };
}

#[test]
fn a11_the_caching_allocator_reuses_and_forgets_the_oldest() {
    let memory = caching(3000);
    let addresses: Vec<_> = (0..3)
        .map(|_| Buffer::new(&memory, DType::U8, 1000).unwrap())
        .collect::<Vec<_>>()
        .iter()
        .map(|b| b.allocate().unwrap())
        .collect();
    // Three classes of 1024 exceed the cap: the one that was freed first is gone.
    assert_eq!(memory.stats(), MemoryStats { live: 0, cached: 2048, peak: 3072 });
    let again = Buffer::new(&memory, DType::U8, 1010).unwrap();
    assert_eq!(again.allocate().unwrap(), addresses[2]);
    assert_eq!(memory.stats(), MemoryStats { live: 1024, cached: 1024, peak: 3072 });
    memory.trim();
    assert_eq!(memory.stats().cached, 0);

    // What is cached does not stand in the way of what is needed.
    let tight: Arc<dyn Allocator> = Arc::new(CpuAllocator::with_limit(DeviceSpec::CPU, 4096));
    let tight: Arc<dyn Allocator> = Arc::new(CachingAllocator::new(tight, 1 << 20));
    drop(Buffer::from_bytes(&tight, DType::U8, &[0; 3000]).unwrap());
    assert_eq!(tight.stats().cached, 3072);
    Buffer::from_bytes(&tight, DType::U8, &[0; 4000]).unwrap();
}

#[test]
fn a11_threads_allocate_once() {
    let memory = cpu();
    let buffer = Arc::new(Buffer::new(&memory, DType::U8, 2 << 20).unwrap());
    let pointers: Vec<usize> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| buffer.allocate().unwrap().as_ptr() as usize)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(pointers.iter().all(|p| *p == pointers[0]));
    assert_eq!(memory.stats().peak, 2 << 20);
}

#[test]
fn a11_borrowed_memory_is_given_back() {
    struct Owner(Vec<u32>, Arc<AtomicBool>);
    impl Drop for Owner {
        fn drop(&mut self) {
            self.1.store(true, Ordering::Relaxed);
        }
    }
    let freed = Arc::new(AtomicBool::new(false));
    let mut owner = Box::new(Owner(vec![1, 2, 3], freed.clone()));
    let pointer = NonNull::new(owner.0.as_mut_ptr().cast::<u8>()).unwrap();
    // SAFETY: the vector lives in `owner`, and nobody else writes it.
    let storage = unsafe { Storage::borrowed(&cpu(), pointer, 12, true, owner) };
    let buffer = Buffer::over(storage.clone(), 4, DType::U32, 2).unwrap();
    assert!(storage.is_borrowed() && !storage.release());
    assert_eq!(buffer.to_vec().unwrap()[..4], 2u32.to_le_bytes());
    assert_eq!(buffer.copy_in(&[0; 8]).unwrap_err(), DeviceError::ReadOnly { device: DeviceSpec::CPU });
    drop(storage);
    assert!(!freed.load(Ordering::Relaxed));
    drop(buffer);
    assert!(freed.load(Ordering::Relaxed));

    // An address that is not aligned to the element type.
    let mut odd = vec![0u64; 2];
    // SAFETY: byte 1 lies in the vector.
    let pointer = unsafe { NonNull::new(odd.as_mut_ptr().cast::<u8>()).unwrap().add(1) };
    // SAFETY: the vector outlives the storage.
    let storage = unsafe { Storage::borrowed(&cpu(), pointer, 15, false, Box::new(())) };
    assert!(matches!(Buffer::over(storage.clone(), 0, DType::F32, 2), Err(DeviceError::Misaligned { .. })));
    Buffer::over(storage, 3, DType::F32, 3).unwrap();
}

#[test]
fn a_shared_content_stays_what_it_was() {
    let cpu: Arc<dyn Allocator> = Arc::new(CpuAllocator::new(DeviceSpec::CPU));
    let buffer = Buffer::from_bytes(&cpu, DType::U8, &[1, 2, 3, 4]).unwrap();
    let shared = Buffer::over(buffer.storage().share().unwrap(), 0, DType::U8, 4).unwrap();
    assert_eq!(shared.as_ptr(), buffer.as_ptr());
    // In part, then whole: neither reaches the other.
    buffer.view(1, DType::U8, 1).unwrap().copy_in(&[9]).unwrap();
    assert_eq!((buffer.to_vec().unwrap(), shared.to_vec().unwrap()), (vec![1, 9, 3, 4], vec![1, 2, 3, 4]));
    let again = Buffer::over(shared.storage().share().unwrap(), 0, DType::U8, 4).unwrap();
    again.copy_in(&[7; 4]).unwrap();
    assert_eq!(shared.to_vec().unwrap(), [1, 2, 3, 4]);
    assert!(buffer.storage().release() && !buffer.is_allocated());
    assert_eq!(shared.to_vec().unwrap(), [1, 2, 3, 4]);
}

#[test]
fn who_writes_through_a_pointer_owns_the_memory_first() {
    let cpu: Arc<dyn Allocator> = Arc::new(CpuAllocator::new(DeviceSpec::CPU));
    let buffer = Buffer::from_bytes(&cpu, DType::U8, &[1, 2]).unwrap();
    let alone = buffer.as_ptr();
    assert!(!buffer.storage().own(false).unwrap());
    assert_eq!(buffer.as_ptr(), alone);
    let shared = buffer.storage().share().unwrap();
    assert!(buffer.storage().own(true).unwrap());
    assert_eq!((shared.as_ptr(), buffer.to_vec().unwrap()), (alone, vec![1, 2]));
    assert_ne!(buffer.as_ptr(), alone);
    drop(shared);
    assert!(!buffer.storage().own(false).unwrap());
    // Memory that is not there has nothing to share.
    assert!(matches!(Storage::new(&cpu, 2).share(), Err(DeviceError::NotAllocated { .. })));
}

#[test]
fn a_swap_exchanges_contents() {
    let cpu: Arc<dyn Allocator> = Arc::new(CpuAllocator::new(DeviceSpec::CPU));
    let [a, b] = [[1, 2], [3, 4]].map(|bytes| Buffer::from_bytes(&cpu, DType::U8, &bytes).unwrap());
    a.storage().swap(b.storage()).unwrap();
    a.storage().swap(a.storage()).unwrap();
    assert_eq!((a.to_vec().unwrap(), b.to_vec().unwrap()), (vec![3, 4], vec![1, 2]));
    assert!(a.storage().swap(&Storage::new(&cpu, 3)).is_err());
}
