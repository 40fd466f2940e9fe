//! Noticing `fork`: a counter that goes up in every forked child.

use std::sync::Once;
use svod_ir::waiting;

/// The number of forks between the first process and this one, plus 1. Valid after [`watch`].
pub(crate) fn generation() -> u64 {
    waiting::process()
}

/// Starts counting. Costs nothing per call of [`generation`], unlike asking for the process id.
pub(super) fn watch() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        #[cfg(unix)]
        {
            extern "C" fn in_child() {
                waiting::forked();
            }
            // SAFETY: the handler is async-signal-safe and lives as long as the program. The only
            // failure is lack of memory, after which a forked child would wait for workers that
            // it does not have; nothing is undefined.
            let status = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
            assert_eq!(status, 0, "no memory to register a fork handler");
        }
    });
}
