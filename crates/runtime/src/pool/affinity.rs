//! Which core a thread runs on.

/// The core that this thread runs on now, if the system tells.
pub(super) fn current_core() -> Option<usize> {
    #[cfg(target_os = "linux")]
    // SAFETY: no arguments, no effects.
    return usize::try_from(unsafe { libc::sched_getcpu() }).ok();
    #[cfg(not(target_os = "linux"))]
    None
}

/// Moves this thread to another core if it runs on `core` and may run elsewhere.
///
/// A system may put a thread that it wakes on the core of its waker although others are idle, and
/// balance them only after milliseconds.
pub(super) fn leave_core(core: usize) {
    #[cfg(target_os = "linux")]
    if current_core() == Some(core) && core < libc::CPU_SETSIZE as usize {
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: all zero is the empty set, `size` is the size of each set that is passed, and
        // `core` is below the capacity. The thread's own set is put back unchanged.
        unsafe {
            let mut allowed: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, size, &mut allowed) == 0 {
                let mut others = allowed;
                libc::CPU_CLR(core, &mut others);
                // Fails, without effect, if the set is empty.
                if libc::sched_setaffinity(0, size, &others) == 0 {
                    libc::sched_setaffinity(0, size, &allowed);
                }
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = core;
}
