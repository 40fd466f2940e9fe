//! Which lines of the user's program kernels compute, for failures that are told of when the program has gone on.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use svod_device::DeviceError;
use svod_ir::graph::Origin;

use crate::code::KernelCode;
use crate::error::from_lines;

/// Kernels that are remembered.
const MOST: usize = 1024;

/// Lines by the name of an entry point, the latest last.
#[derive(Debug, Default)]
pub(crate) struct Lines(Mutex<VecDeque<(String, Arc<[Origin]>)>>);

impl Lines {
    /// Notes which lines a kernel computes that a device runs by itself.
    pub fn note(&self, code: &KernelCode, origins: &Arc<[Origin]>) {
        if origins.is_empty() || code.hosts().is_some() {
            return;
        }
        let mut all = self.0.lock();
        for program in code.programs().iter() {
            all.retain(|(name, _)| name != program.name());
            all.push_back((program.name().to_owned(), origins.clone()));
        }
        let forgotten = all.len().saturating_sub(MOST);
        all.drain(..forgotten);
    }

    /// What is to be added to an error: the lines of the kernels that it names; nothing where it names none.
    pub fn of(&self, error: &DeviceError) -> String {
        let DeviceError::Trapped { kernels, .. } = error else { return String::new() };
        let all = self.0.lock();
        let mut told: Vec<String> = Vec::new();
        for kernel in kernels.iter().rev() {
            let Some((name, origins)) = all.iter().find(|(name, _)| name == kernel) else { continue };
            let line = format!("{name}{}", from_lines(origins));
            if !told.contains(&line) {
                told.push(line);
            }
        }
        if told.is_empty() { String::new() } else { format!("; {}", told.join(", ")) }
    }
}
