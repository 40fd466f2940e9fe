//! How fast the machine is: measured once by kernels of its own, and kept on disk; until then, as the
//! target's description tells.

use crate::config::PrepareConfig;
use crate::context::Context;
use crate::disk_cache::{DiskCache, DiskKey};
use crate::error::Result;
use crate::memory::Memory;
use std::sync::Arc;
use std::time::{Duration, Instant};
use svod_device::DeviceSpec;
use svod_dtype::{Const, DType};
use svod_ir::alu::Alu;
use svod_ir::graph::{Leaf, LeafClass, Shape, UOp};
use svod_ir::kernel::Monoid;
use svod_ir::lowered::cost::{Level, Machine};
use svod_ir::size::Size;

/// A machine, and whether its rates were measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineSpeed {
    /// The rates.
    pub machine: Machine,
    /// Whether they were measured here.
    pub measured: bool,
}

/// The share of the peak at which a large matrix product runs.
const PRODUCT: f64 = 0.92;

/// How often the shortest kernel is called.
const CALLS: usize = 1000;

/// How long each kernel runs.
const EACH: Duration = Duration::from_millis(60);

impl Context {
    /// How fast the machine is with so many threads: as it was measured, else as it is described.
    pub fn machine(&self, threads: usize) -> MachineSpeed {
        let known = self.speeds.lock().get(&threads).cloned();
        known.unwrap_or_else(|| {
            let described = Machine::described(self.target(), threads);
            let stored = DiskCache::user("machine").and_then(|cache| cache.get(self.speed_key(threads)));
            let speed = match stored.and_then(|text| read(&String::from_utf8(text).ok()?, &described)) {
                Some(machine) => MachineSpeed { machine, measured: true },
                None => MachineSpeed { machine: described, measured: false },
            };
            self.speeds.lock().insert(threads, speed.clone());
            speed
        })
    }

    /// Measures how fast the machine is with so many threads, by a matrix product, by additions in
    /// each cache and in memory, and by a kernel of one element: about a second. Later analyses know it, in other processes too.
    ///
    /// # Errors
    /// Those of preparing and running.
    pub fn measure_machine(self: &Arc<Self>, threads: usize) -> Result<MachineSpeed> {
        let mut machine = Machine::described(self.target(), threads);
        let lanes = self.target().lanes(4) as f64;
        let size = 640;
        let product = self.product(size)?;
        let flops = 2.0 * (size as f64).powi(3) / self.fastest(&product, threads)?;
        machine.slots = flops / PRODUCT / (2.0 * lanes * threads as f64);
        for level in 0..machine.levels.len() {
            let bytes = match machine.levels[level].bytes {
                bytes if bytes.is_finite() => bytes / 2.0,
                _ => (8.0 * machine.last_cache()).clamp(64e6, 512e6),
            };
            // As many bytes are written as are read.
            let sum = self.stream((bytes / 8.0) as usize)?;
            let rate = |threads: usize| Ok::<f64, crate::Error>(bytes / self.fastest(&sum, threads)?);
            let single = rate(1)?;
            machine.levels[level].single = single;
            machine.levels[level].all = match level {
                // Each thread has one of its own; what fits is too little to be shared out.
                0 if machine.levels.len() > 1 => single * threads as f64,
                _ => rate(threads)?.max(single),
            };
        }
        machine.call = self.shortest_call()?;
        if let Some(cache) = DiskCache::user("machine") {
            cache.put(self.speed_key(threads), written(&machine).as_bytes());
        }
        let speed = MachineSpeed { machine, measured: true };
        self.speeds.lock().insert(threads, speed.clone());
        Ok(speed)
    }

    fn speed_key(&self, threads: usize) -> DiskKey {
        DiskKey::new(&["machine", &format!("{:?}", self.target()), &threads.to_string()])
    }

    /// Seconds of a kernel that does nearly nothing.
    fn shortest_call(self: &Arc<Self>) -> Result<f64> {
        let (root, inputs) = self.stream(1)?;
        let plan = self.plan(&[root], &inputs, &PrepareConfig::default())?;
        let mut best = f64::INFINITY;
        for _ in 0..CALLS {
            best = plan.execute_profiled()?.kernels.iter().map(|k| k.time.as_secs_f64()).fold(best, f64::min);
        }
        Ok(best.clamp(1e-9, 1e-6))
    }

    /// The least time of a run of a plan for `root`.
    fn fastest(self: &Arc<Self>, (root, inputs): &(UOp, Vec<Leaf>), threads: usize) -> Result<f64> {
        let config = PrepareConfig { threads: Some(threads), ..PrepareConfig::default() };
        let plan = self.plan(std::slice::from_ref(root), inputs, &config)?;
        plan.execute()?;
        let (begin, mut best) = (Instant::now(), f64::INFINITY);
        while begin.elapsed() < EACH {
            let start = Instant::now();
            plan.execute()?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        Ok(best.max(1e-9))
    }

    /// The product of two square matrices.
    fn product(&self, n: usize) -> Result<(UOp, Vec<Leaf>)> {
        let (a, b) = (self.ones(&[n, n])?, self.ones(&[n, n])?);
        let wide = |x: &UOp, shape: &[usize]| x.reshape(extents(shape))?.expand(extents(&[n, n, n]));
        let product = UOp::alu(Alu::Mul, &[wide(&a.0, &[n, n, 1])?, wide(&b.0, &[1, n, n])?])?;
        Ok((product.reduce(Monoid::Sum, &[1])?, vec![a.1, b.1]))
    }

    /// The sum of so many floats and 1.
    fn stream(&self, count: usize) -> Result<(UOp, Vec<Leaf>)> {
        let x = self.ones(&[count])?;
        let one = UOp::full(Const::one(DType::F32), &extents(&[count]))?;
        Ok((UOp::alu(Alu::Add, &[x.0, one])?, vec![x.1]))
    }

    fn ones(&self, shape: &[usize]) -> Result<(UOp, Leaf)> {
        let count = shape.iter().product();
        let buffer = self.buffer(&DeviceSpec::CPU, DType::F32, count)?;
        buffer.copy_in(&1f32.to_le_bytes().repeat(count))?;
        let memory = Arc::new(Memory::new(Arc::new(buffer), LeafClass::Data));
        let leaf = Leaf::new(memory, 0, DType::F32, extents(shape));
        Ok((UOp::leaf(leaf.clone())?, leaf))
    }
}

fn extents(shape: &[usize]) -> Shape {
    shape.iter().map(|n| Size::from(*n)).collect()
}

/// The rates as text.
fn written(machine: &Machine) -> String {
    let levels = machine.levels.iter().flat_map(|l| [l.single, l.all]);
    let rates: Vec<String> =
        [machine.slots, machine.call].into_iter().chain(levels).map(|rate| rate.to_string()).collect();
    rates.join(" ")
}

/// A machine with the rates of a text.
fn read(text: &str, described: &Machine) -> Option<Machine> {
    let rates: Vec<f64> = text.split(' ').map(|rate| rate.parse().ok()).collect::<Option<_>>()?;
    let mut machine = described.clone();
    if rates.len() != 2 + 2 * machine.levels.len() || rates.iter().any(|r| !r.is_finite() || *r <= 0.0) {
        return None;
    }
    (machine.slots, machine.call) = (rates[0], rates[1]);
    for (level, rates) in machine.levels.iter_mut().zip(rates[2..].chunks_exact(2)) {
        *level = Level { single: rates[0], all: rates[1], ..*level };
    }
    Some(machine)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use svod_ir::target::Target;

    #[test]
    fn e4_rates_are_written_and_read() {
        let mut machine = Machine::described(&Target::named("x86-64-v3").unwrap(), 3);
        machine.slots = 5.25e9;
        machine.levels[1].all = 1.5e10;
        let described = Machine::described(&Target::named("x86-64-v3").unwrap(), 3);
        assert_eq!(read(&written(&machine), &described), Some(machine));
        for damaged in ["", "1 2", "1e9 1e-7 1 1 1 1 1 NaN", "1e9 1e-7 1 1 1 1 1 -1"] {
            assert_eq!(read(damaged, &described), None);
        }
    }
}
