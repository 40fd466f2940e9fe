//! What can go wrong on a device.

use svod_dtype::DType;

use crate::launch::LaunchError;
use crate::program::ProgramError;
use crate::safetensors::SafetensorsError;
use crate::spec::DeviceSpec;

/// The result of a device operation.
pub type Result<T, E = DeviceError> = std::result::Result<T, E>;

/// What can go wrong on a device. Each message names what was given and what was expected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// No device has this name, or none is open under it.
    #[error("unknown device '{given}': expected {expected}")]
    UnknownDevice {
        /// The name asked for.
        given: String,
        /// The names there are.
        expected: String,
    },
    /// The allocation cannot be had.
    #[error("out of memory on {device}: cannot allocate {text}{}", held_text(held), text = bytes_text(*bytes))]
    OutOfMemory {
        /// Size of the allocation; `usize::MAX` where it overflows.
        bytes: usize,
        /// Where.
        device: DeviceSpec,
        /// Who holds how much of the memory, in words; empty where that is not known.
        held: String,
    },
    /// The driver of a kind of device is not there, or does not work.
    #[error("{kind} cannot be used: {why}")]
    NoDriver {
        /// The kind.
        kind: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The driver of a kind of device is too old.
    #[error("{kind} cannot be used: its driver is {found}, where {needed} is needed")]
    OldDriver {
        /// The kind.
        kind: &'static str,
        /// The driver's version.
        found: String,
        /// The oldest that would do.
        needed: String,
    },
    /// A device for which no code can be made.
    #[error("{device} ({name}) has {found}, where {needed} is needed")]
    UnsupportedArchitecture {
        /// The device.
        device: DeviceSpec,
        /// Its product name.
        name: String,
        /// What it is.
        found: String,
        /// What it had to be.
        needed: String,
    },
    /// A kernel did what its device does not survive: of this process, nobody can use it any more.
    #[error("{device} failed ({message}) in {}, and is lost to this process", kernels_text(kernels))]
    Trapped {
        /// The device.
        device: DeviceSpec,
        /// The kernels of which one did it: the latest that were handed over, as many as are remembered.
        kernels: Vec<String>,
        /// What the driver says.
        message: String,
    },
    /// A kind of device that cannot be used by a process forked from one that has used it.
    #[error(
        "{kind} was used before this process was forked: start the process anew ('spawn'), or use {kind} in it only"
    )]
    Forked {
        /// The kind.
        kind: &'static str,
    },
    /// A renderer failed.
    #[error("render for {device}: {message}")]
    Render {
        /// The renderer's device.
        device: DeviceSpec,
        /// What it says.
        message: String,
    },
    /// A compiler failed.
    #[error("compile '{name}' for {device}: {message}")]
    Compile {
        /// The compiler's device.
        device: DeviceSpec,
        /// Name of the program.
        name: String,
        /// What it says.
        message: String,
    },
    /// Compiled code cannot be loaded.
    #[error("load '{name}' on {device}: {message}")]
    Load {
        /// The device.
        device: DeviceSpec,
        /// Name of the program.
        name: String,
        /// Why.
        message: String,
    },
    /// A program failed while it ran.
    #[error("execute '{name}' on {device}: {message}")]
    Execute {
        /// The device.
        device: DeviceSpec,
        /// Name of the program.
        name: String,
        /// Why.
        message: String,
    },
    /// The device cannot do this.
    #[error("{device} does not support {what}")]
    Unsupported {
        /// The device.
        device: DeviceSpec,
        /// What was asked for.
        what: String,
    },
    /// A read of memory that nothing has written.
    #[error("a buffer of {bytes} bytes on {device} is read before it is allocated")]
    NotAllocated {
        /// Size of its storage.
        bytes: usize,
        /// Where.
        device: DeviceSpec,
    },
    /// A write to read-only memory.
    #[error("memory on {device} is read-only")]
    ReadOnly {
        /// The device.
        device: DeviceSpec,
    },
    /// A view past the end of its base.
    #[error("a view of {bytes} bytes at byte {offset} does not fit its base of {base_bytes} bytes")]
    ViewOutOfRange {
        /// Start of the view in its base.
        offset: usize,
        /// Size of the view; `usize::MAX` where it overflows.
        bytes: usize,
        /// Size of the base.
        base_bytes: usize,
    },
    /// Elements that do not start at a multiple of their size.
    #[error("{dtype} elements must start at a multiple of {} bytes, not at byte {offset}", dtype.bytes())]
    Misaligned {
        /// The byte offset, or address.
        offset: usize,
        /// The element type.
        dtype: DType,
    },
    /// A buffer of a type that has no elements in memory.
    #[error("a buffer cannot hold elements of type {0}")]
    NoElements(DType),
    /// A copy between different sizes.
    #[error("cannot copy {given} bytes to or from a buffer of {expected} bytes")]
    SizeMismatch {
        /// Size of the buffer.
        expected: usize,
        /// Size of the other side.
        given: usize,
    },
    /// A file cannot be read or mapped.
    #[error("{path}: {message}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        message: String,
    },
    /// A program's metadata is wrong.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A launch size cannot be evaluated.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// A file is not what the safetensors format allows.
    #[error(transparent)]
    Safetensors(#[from] SafetensorsError),
}

/// `; who holds how much`, as a message goes on.
pub fn held_text(held: &str) -> String {
    if held.is_empty() { String::new() } else { format!("; {held}") }
}

/// `kernel 'a'`, or `one of the kernels 'a', 'b'`.
fn kernels_text(kernels: &[String]) -> String {
    match kernels {
        [] => "what it was doing".into(),
        [one] => format!("kernel '{one}'"),
        several => {
            let names: Vec<String> = several.iter().map(|name| format!("'{name}'")).collect();
            format!("one of the kernels {} (CUDA_LAUNCH_BLOCKING=1 tells which)", names.join(", "))
        }
    }
}

/// A size of memory in messages, where the greatest number stands for more than numbers of bytes go.
pub fn bytes_text(bytes: usize) -> String {
    if bytes == usize::MAX { "more bytes than can be addressed".to_owned() } else { format!("{bytes} bytes") }
}
