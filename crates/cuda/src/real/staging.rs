//! Copies between the host and a GPU, through pinned memory: the driver copies from and to that while the host goes on.
//!
//! A lane has two buffers, so that the host fills or empties one while the GPU is at the other. Large copies have several
//! lanes, each with a thread: one thread moves less than a GPU takes.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::thread::{Builder, scope};

use cudarc::driver::sys;
use svod_device::{DeviceError, Result};

use super::{DISABLE_TIMING, Open};
use crate::api::Api;

/// Bytes of each buffer.
const BYTES: usize = 2 << 20;

/// Lanes of a copy of at least `LARGE` bytes, which takes longer than threads to begin.
const LANES: usize = 4;
const LARGE: usize = 8 << 20;

/// The lanes that were made so far.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    made: Vec<Lane>,
    /// Whether there is no more pinned memory.
    ended: bool,
}

/// Two buffers, and for each an event that is recorded after what was last done with it.
#[derive(Debug)]
struct Lane {
    buffers: [*mut u8; 2],
    events: [sys::CUevent; 2],
    next: usize,
}

// SAFETY: whoever has the lane has the buffers, and the driver takes events from any thread.
unsafe impl Send for Lane {}

/// The first byte of the host's memory of a copy.
#[derive(Clone, Copy)]
struct Host(*mut u8);

// SAFETY: the lanes of a copy access different bytes of memory that is theirs until the copy ends.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

impl Host {
    fn at(self, offset: usize) -> *mut u8 {
        self.0.wrapping_add(offset)
    }
}

/// Where a part of a copy begins, and how many bytes it has.
fn part(index: usize, bytes: usize) -> (usize, usize) {
    (index * BYTES, (bytes - index * BYTES).min(BYTES))
}

impl Open {
    /// Copies to the GPU, where there is pinned memory; says whether there was. The source is read when this returns.
    ///
    /// # Safety
    /// As for [`crate::driver::Gpu::copy_in`].
    pub unsafe fn stage_in(&self, dst: u64, src: *const u8, bytes: usize) -> Result<bool> {
        let (src, parts) = (Host(src.cast_mut()), bytes.div_ceil(BYTES));
        self.share(bytes, |first, step, lane| {
            for index in (first..parts).step_by(step) {
                let (at, len) = part(index, bytes);
                let (event, buffer) = self.take(lane)?;
                // SAFETY: the caller's promise; the buffer is as large, and nothing uses it any more.
                unsafe { buffer.copy_from_nonoverlapping(src.at(at), len) };
                self.copy(event, |api| {
                    // SAFETY: as above, and the buffer stays as it is until its event is awaited.
                    unsafe { (api.copy_in)(dst + at as u64, buffer.cast(), len, self.stream) }
                })?;
            }
            Ok(())
        })
    }

    /// Copies to the host, where there is pinned memory; says whether there was. All is there when this returns.
    ///
    /// # Safety
    /// As for [`crate::driver::Gpu::copy_out`].
    pub unsafe fn stage_out(&self, dst: *mut u8, src: u64, bytes: usize) -> Result<bool> {
        let (dst, parts) = (Host(dst), bytes.div_ceil(BYTES));
        self.share(bytes, |first, step, lane| {
            let mut begun = None;
            for index in (first..parts).step_by(step).map(Some).chain([None]) {
                // The next part is on its way while the host has the one before.
                let next = index.map(|index| {
                    let (at, len) = part(index, bytes);
                    let (event, buffer) = self.take(lane)?;
                    self.copy(event, |api| {
                        // SAFETY: the caller's promise; the buffer is as large, and what it held has been read.
                        unsafe { (api.copy_out)(buffer.cast(), src + at as u64, len, self.stream) }
                    })?;
                    Ok::<_, DeviceError>((event, buffer, at, len))
                });
                let before = std::mem::replace(&mut begun, next.transpose()?);
                if let Some((event, buffer, at, len)) = before {
                    self.await_event(event)?;
                    // SAFETY: as above; the copy to the buffer is done.
                    unsafe { dst.at(at).copy_from_nonoverlapping(buffer, len) };
                }
            }
            Ok(())
        })
    }

    /// Has each lane do its share, given by its number and the number of lanes, of a copy of so many bytes. Says whether there
    /// was any lane.
    fn share(&self, bytes: usize, work: impl Fn(usize, usize, &mut Lane) -> Result<()> + Sync) -> Result<bool> {
        let mut lanes = self.staging.lock();
        let wanted = if bytes < LARGE { 1 } else { LANES };
        while lanes.made.len() < wanted && !lanes.ended {
            match self.make_lane()? {
                Some(lane) => lanes.made.push(lane),
                None => lanes.ended = true,
            }
        }
        let count = wanted.min(lanes.made.len());
        let Some((own, others)) = lanes.made[..count].split_first_mut() else { return Ok(false) };
        scope(|scope| {
            let work = &work;
            let begin = |(lane, at)| Builder::new().spawn_scoped(scope, move || work(at, count, lane));
            let begun: Vec<_> = others.iter_mut().zip(1..).map(begin).collect();
            let own = work(0, count, own);
            let joined = begun.into_iter().map(|thread| match thread.map(|thread| thread.join()) {
                Ok(Ok(done)) => done,
                Ok(Err(_)) | Err(_) => Err(self.failed_copy()),
            });
            joined.fold(own, |done, one| done.and(one))
        })?;
        Ok(true)
    }

    /// The error of a copy for which there is no thread.
    fn failed_copy(&self) -> DeviceError {
        let message = "a thread that a copy needs could not be had".into();
        DeviceError::Execute { device: self.spec.clone(), name: "copy".into(), message }
    }

    fn make_lane(&self) -> Result<Option<Lane>> {
        let (mut buffers, mut events) = ([null_mut(); 2], [null_mut(); 2]);
        for i in 0..2 {
            let (buffer, event): (&mut *mut c_void, &mut sys::CUevent) = (&mut buffers[i], &mut events[i]);
            // SAFETY: pointers to handles, which the driver writes. They live as long as the process.
            let made = self.try_call("cuMemAllocHost", |api| unsafe {
                match (api.alloc_host)(buffer, BYTES) {
                    0 => (api.event)(event, DISABLE_TIMING),
                    status => status,
                }
            })?;
            if made.is_err() {
                return Ok(None);
            }
        }
        Ok(Some(Lane { buffers: buffers.map(|b| b.cast()), events, next: 0 }))
    }

    /// The next buffer of a lane, with which nothing is done any more, and its event.
    fn take(&self, lane: &mut Lane) -> Result<(sys::CUevent, *mut u8)> {
        let at = lane.next;
        lane.next = 1 - at;
        self.await_event(lane.events[at])?;
        Ok((lane.events[at], lane.buffers[at]))
    }

    fn await_event(&self, event: sys::CUevent) -> Result<()> {
        // SAFETY: the event lives as long as the process; one that was never recorded is over.
        self.call("cuEventSynchronize", |api| unsafe { (api.await_event)(event) })
    }

    /// Hands over a copy, and the record of its end.
    fn copy(&self, event: sys::CUevent, copy: impl FnOnce(&Api) -> c_int) -> Result<()> {
        self.call("cuMemcpyAsync", |api| match copy(api) {
            // SAFETY: event and stream live as long as this.
            0 => unsafe { (api.record)(event, self.stream) },
            status => status,
        })
    }
}
