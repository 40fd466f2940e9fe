//! The GPUs that there are, and how they become devices.

use std::fmt::Debug;
use std::sync::Arc;

use svod_device::{CachingAllocator, Device, DeviceError, DeviceSpec, Result};
use svod_ir::target::Target;

use crate::driver::{Driver, Info};
use crate::memory::GpuMemory;
use crate::program::{Compute, Cuda, Made};
use crate::real;
use crate::sim::Simulator;

/// Code that was compiled before, by what it was made from.
pub trait CodeCache: Debug + Send + Sync {
    /// The code that was made of these texts.
    fn get(&self, parts: &[&str]) -> Option<Vec<u8>>;

    /// Remembers code.
    fn put(&self, parts: &[&str], code: &[u8]);
}

/// Remembers nothing.
#[derive(Debug)]
pub struct NoCache;

impl CodeCache for NoCache {
    fn get(&self, _parts: &[&str]) -> Option<Vec<u8>> {
        None
    }

    fn put(&self, _parts: &[&str], _code: &[u8]) {}
}

/// The GPUs of a driver.
#[derive(Clone, Debug)]
pub struct Machine {
    driver: Arc<dyn Driver>,
}

/// Part of a GPU's memory that is kept for reuse once it is freed: other programs want some as well.
const KEPT: usize = 2;

/// Names simulated GPUs.
const VARIABLE: &str = "SVOD_CUDA";

impl Machine {
    /// The GPUs of this machine, or simulated ones where `SVOD_CUDA` says so.
    ///
    /// # Errors
    /// [`DeviceError::NoDriver`] and [`DeviceError::OldDriver`]. A machine with a driver and no GPU is none.
    pub fn find() -> Result<Machine> {
        let Some(text) = std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) else {
            return Ok(Machine { driver: real::driver()? });
        };
        let text = text.to_string_lossy();
        let simulator = Simulator::parse(&text).ok_or_else(|| DeviceError::NoDriver {
            kind: "CUDA",
            why: format!("{VARIABLE}={text:?} is not understood, expected sim:sm_80 or sim:sm_90"),
        })?;
        Ok(Machine { driver: Arc::new(simulator) })
    }

    /// The GPUs of another driver.
    pub fn of(driver: Arc<dyn Driver>) -> Machine {
        Machine { driver }
    }

    /// What there is, without opening it.
    ///
    /// # Errors
    /// What the driver says.
    pub fn list(&self) -> Result<Vec<(DeviceSpec, Info)>> {
        (0..self.driver.count()?).map(|n| Ok((DeviceSpec::Cuda(n), self.driver.info(n)?))).collect()
    }

    /// A GPU as a device that computes.
    ///
    /// # Errors
    /// One that there is not, or that is too old, and what the driver says.
    pub fn open(&self, spec: &DeviceSpec, cache: Arc<dyn CodeCache>) -> Result<Device> {
        let DeviceSpec::Cuda(number) = spec else {
            let expected = "CUDA:n".into();
            return Err(DeviceError::UnknownDevice { given: spec.to_string(), expected });
        };
        let info = self.driver.info(*number)?;
        let target = target(spec, &info)?;
        let gpu = self.driver.open(*number)?;
        let memory = GpuMemory::new(spec.clone(), gpu.clone());
        let memory = Arc::new(CachingAllocator::new(Arc::new(memory), info.memory / KEPT));
        let runner = self.driver.runner();
        let (device, of) = (spec.clone(), target.clone());
        let compute = Compute { device, target: of, gpu, runner, memory: memory.clone(), cache, made: Made::default() };
        let cuda = Arc::new(Cuda(Arc::new(compute)));
        let device = Device::new(memory).with_target(target);
        Ok(device.with_backend(cuda.clone(), cuda.clone()).with_runtime(cuda))
    }
}

/// What kernels for a GPU are scheduled for: the description of its generation, with its own sizes.
///
/// Code of compute capability 9.0 may be specific to it, so that later ones run that of 8.0.
fn target(spec: &DeviceSpec, info: &Info) -> Result<Target> {
    let name = match info.capability {
        (9, 0) => "cuda-sm90",
        (8.., _) => "cuda-sm80",
        (major, minor) => {
            return Err(DeviceError::UnsupportedArchitecture {
                device: spec.clone(),
                name: info.name.clone(),
                found: format!("compute capability {major}.{minor}"),
                needed: "8.0 or newer".into(),
            });
        }
    };
    let mut target = Target::named(name)
        .ok_or_else(|| DeviceError::Unsupported { device: spec.clone(), what: format!("the target {name}") })?;
    let known = |found: usize, otherwise: usize| if found == 0 { otherwise } else { found };
    target.cores = known(info.multiprocessors, target.cores);
    target.l2 = known(info.l2, target.l2);
    target.l3 = target.l2;
    if let Some(groups) = &mut target.groups {
        groups.shared = known(info.shared, groups.shared).min(groups.shared);
    }
    Ok(target)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn info(capability: (u32, u32)) -> Info {
        Info {
            name: "some GPU".into(),
            memory: 1 << 30,
            capability,
            multiprocessors: 7,
            l2: 0,
            shared: 101_376,
            clock: 0,
            bandwidth: 0,
        }
    }

    #[test]
    fn targets_follow_the_compute_capability() {
        let of = |capability| target(&DeviceSpec::Cuda(0), &info(capability));
        for (capability, name) in
            [((8, 0), "cuda-sm80"), ((8, 9), "cuda-sm80"), ((9, 0), "cuda-sm90"), ((12, 0), "cuda-sm80")]
        {
            let target = of(capability).unwrap();
            assert_eq!((target.name.as_str(), target.cores), (name, 7));
            assert_eq!(target.groups.unwrap().shared, 101_376);
            assert_eq!(target.l2, Target::named(name).unwrap().l2);
        }
        let error = of((7, 5)).unwrap_err();
        assert!(matches!(error, DeviceError::UnsupportedArchitecture { .. }));
        assert_eq!(error.to_string(), "CUDA:0 (some GPU) has compute capability 7.5, where 8.0 or newer is needed");
    }
}
