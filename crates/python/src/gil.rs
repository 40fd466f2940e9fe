//! The interpreter's lock: given back while svod computes, so that other Python threads run, and
//! taken a few times a second to ask for signals, so that Ctrl-C is answered.

use std::sync::Once;

use pyo3::prelude::*;
use svod_runtime::Context;

use crate::error::{Raised, Result, interrupted};
use crate::fork;

/// Does work that may take long, or wait for a lock that another thread holds while it works.
pub fn allow<T: Send, E: Into<Raised> + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> std::result::Result<T, E> + Send,
) -> Result<T> {
    static ASK: Once = Once::new();
    ASK.call_once(|| Context::global().set_stop_check(Some(interrupted)));
    let section = fork::enter(py);
    let done = py.detach(work);
    drop(section);
    done.map_err(Into::into)
}
