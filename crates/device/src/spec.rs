//! Names of devices.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::DeviceError;

/// Which device: the text form is `CPU`, `CPU:n`, `CUDA:n`, `Metal:n` or `DISK:path`.
///
/// A kind is read in any case and under its usual aliases (`gpu`, `nv`, `mps`, `host`); a missing
/// number is 0. `CPU:0` prints as `CPU`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeviceSpec {
    /// The host's processors; a number tells apart memory domains or pretended devices.
    Cpu(u32),
    /// An NVIDIA GPU.
    Cuda(u32),
    /// An Apple GPU.
    Metal(u32),
    /// A file, mapped into memory and read-only.
    Disk(PathBuf),
}

impl DeviceSpec {
    /// The default CPU.
    pub const CPU: DeviceSpec = DeviceSpec::Cpu(0);

    /// The spellings that [`DeviceSpec::from_str`] accepts, for messages.
    pub const EXPECTED: &str = "CPU, CPU:n, CUDA:n, Metal:n or DISK:path";

    /// The kind without number or path: code compiled for `CUDA:0` serves `CUDA:1`.
    pub fn base(&self) -> &'static str {
        match self {
            DeviceSpec::Cpu(_) => "CPU",
            DeviceSpec::Cuda(_) => "CUDA",
            DeviceSpec::Metal(_) => "Metal",
            DeviceSpec::Disk(_) => "DISK",
        }
    }

    /// The file of a DISK device.
    pub fn path(&self) -> Option<&Path> {
        match self {
            DeviceSpec::Disk(path) => Some(path),
            _ => None,
        }
    }

    /// Whether this is a file.
    pub fn is_disk(&self) -> bool {
        self.path().is_some()
    }
}

impl Default for DeviceSpec {
    fn default() -> Self {
        DeviceSpec::CPU
    }
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceSpec::Cpu(0) => f.write_str("CPU"),
            DeviceSpec::Cpu(n) | DeviceSpec::Cuda(n) | DeviceSpec::Metal(n) => write!(f, "{}:{n}", self.base()),
            DeviceSpec::Disk(path) => write!(f, "DISK:{}", path.display()),
        }
    }
}

impl FromStr for DeviceSpec {
    type Err = DeviceError;

    fn from_str(text: &str) -> Result<Self, DeviceError> {
        let unknown = || DeviceError::UnknownDevice { given: text.into(), expected: DeviceSpec::EXPECTED.into() };
        let (kind, rest) = match text.trim().split_once(':') {
            Some((kind, rest)) => (kind, Some(rest)),
            None => (text.trim(), None),
        };
        let kind = kind.to_ascii_lowercase();
        if kind == "disk" {
            let path = rest.filter(|p| !p.is_empty()).ok_or_else(unknown)?;
            return Ok(DeviceSpec::Disk(path.into()));
        }
        let number = match rest {
            // `u32::from_str` would take a sign.
            Some(n) if n.bytes().all(|b| b.is_ascii_digit()) => n.parse().map_err(|_| unknown())?,
            Some(_) => return Err(unknown()),
            None => 0,
        };
        match kind.as_str() {
            "cpu" | "host" => Ok(DeviceSpec::Cpu(number)),
            "cuda" | "gpu" | "nv" => Ok(DeviceSpec::Cuda(number)),
            "metal" | "mps" => Ok(DeviceSpec::Metal(number)),
            _ => Err(unknown()),
        }
    }
}
