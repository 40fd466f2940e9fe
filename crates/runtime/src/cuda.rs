//! NVIDIA GPUs as devices, opened when they are asked for.

use crate::disk_cache::{DiskCache, DiskKey};
use std::sync::{Arc, OnceLock};
use svod_cuda::{CodeCache, Info, Machine, NoCache};
use svod_device::{DeviceSpec, Devices, Result};

/// Lets `devices` open GPUs, with the user's on-disk cache. Nothing is asked of the driver before that.
pub(crate) fn register(devices: &Devices) {
    devices.register("CUDA", |spec| {
        static CACHE: OnceLock<Arc<dyn CodeCache>> = OnceLock::new();
        let cache = CACHE.get_or_init(|| match DiskCache::user("code") {
            Some(cache) => Arc::new(OnDisk(cache)),
            None => Arc::new(NoCache),
        });
        Machine::find()?.open(spec, cache.clone())
    });
}

/// The GPUs that there are.
pub(crate) fn list() -> Result<Vec<(DeviceSpec, Info)>> {
    Machine::find()?.list()
}

#[derive(Debug)]
struct OnDisk(DiskCache);

impl CodeCache for OnDisk {
    fn get(&self, parts: &[&str]) -> Option<Vec<u8>> {
        self.0.get(DiskKey::new(parts))
    }

    fn put(&self, parts: &[&str], code: &[u8]) {
        self.0.put(DiskKey::new(parts), code);
    }
}
