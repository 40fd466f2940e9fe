//! Schedules on disk, by the structure of their graphs: another process need not make them again.

use crate::config::{PrepareConfig, debug_level};
use crate::disk_cache::{DiskCache, DiskKey};
use crate::error::Result;
use crate::instantiate::Scheduled;
use std::ops::RangeInclusive;
use std::sync::{LazyLock, OnceLock};
use svod_ir::graph::Graph;
use svod_ir::graph::key::GraphKey;
use svod_ir::pass::Pass;
use svod_schedule::{PreSchedule, Purpose};

/// Numbers of nodes of graphs whose schedules are kept: of fewer, they are made before a file is read.
const KEPT: RangeInclusive<usize> = 150..=50_000;

/// Whether somebody wants to see the passes run.
static WATCHED: LazyLock<bool> = LazyLock::new(|| {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    debug_level() > 1 || is_set("SVOD_DUMP") || is_set("SVOD_BISECT")
});

/// The schedule of a graph, from disk if it is there. `about` tells what else it depends on.
pub(crate) fn scheduled(
    graph: &Graph,
    key: &GraphKey,
    how: Purpose,
    config: &PrepareConfig,
    about: &str,
) -> Result<Scheduled> {
    let make = || Scheduled::new(graph, key, how, config);
    if !KEPT.contains(&graph.len()) || *WATCHED {
        return make();
    }
    static CACHE: OnceLock<Option<DiskCache>> = OnceLock::new();
    let Some(cache) = CACHE.get_or_init(|| DiskCache::user("schedules")) else { return make() };
    let structure = blake3::Hash::from_bytes(key.hash).to_hex();
    let name = DiskKey::new(&["schedule", &structure, &format!("{how:?}"), about]);
    let found = Pass::Disk.time(|| {
        let entry = cache.get(name)?;
        PreSchedule::parse(std::str::from_utf8(&entry).ok()?)
    });
    if let Some(pre) = found {
        return Ok(Scheduled::of(pre, config));
    }
    let made = make()?;
    if let Some(text) = Pass::Disk.time(|| made.pre().to_text()) {
        cache.put(name, text.as_bytes());
    }
    Ok(made)
}
