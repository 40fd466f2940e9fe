//! Processes that compile and time the candidates of a search: the interpreter with `svod._worker`.

use std::ffi::OsString;

use pyo3::prelude::*;
use svod_runtime::beam::{serve_if_worker, set_worker_command};

/// Answers the requests of the process that started this one, until that ends.
#[explained]
#[pyfunction]
pub fn _serve(py: Python<'_>) {
    py.detach(serve_if_worker);
}

/// Says how workers of this process are started, where it is an interpreter and not embedded in
/// another program. They find modules where it does, but not in the working directory.
pub fn register(py: Python<'_>) -> PyResult<()> {
    let sys = py.import("sys")?;
    let executable: Option<OsString> = sys.getattr("executable")?.extract()?;
    let path: Vec<OsString> = sys.getattr("path")?.extract()?;
    let path = std::env::join_paths(path.iter().filter(|p| !p.is_empty()));
    if let (Some(executable), Ok(path)) = (executable.filter(|e| !e.is_empty()), path) {
        let args = ["-P", "-m", "svod._worker"].map(Into::into).to_vec();
        set_worker_command(executable, args, vec![("PYTHONPATH".into(), path)]);
    }
    Ok(())
}
