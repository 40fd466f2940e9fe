//! How fast the machine is: measured once by kernels of its own, and kept on disk; until then, as the
//! target's description tells.

use crate::config::PrepareConfig;
use crate::context::Context;
use crate::disk_cache::{DiskCache, DiskKey};
use crate::error::{Error, Result};
use crate::interrupt::Watch;
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
    /// By what share of the least time half of the runs took longer, where that varied most: much where the machine
    /// did other things meanwhile.
    pub noise: f64,
}

/// The share of the peak at which a large matrix product runs.
const PRODUCT: f64 = 0.92;

/// How often the shortest kernel is called.
const CALLS: usize = 1000;

/// How long each kernel runs.
const EACH: Duration = Duration::from_millis(60);

/// How long it runs where the least time is not found again.
const LONGEST: Duration = Duration::from_millis(300);

/// Times of which one is at most so many times the other agree.
const AGREES: f64 = 1.03;

impl Context {
    /// How fast the machine is with so many threads: as it was measured, else as it is described.
    pub fn machine(&self, threads: usize) -> MachineSpeed {
        let known = self.speeds.lock().get(&threads).cloned();
        known.unwrap_or_else(|| {
            let described = Machine::described(self.target(), threads);
            let stored = DiskCache::user("machine").and_then(|cache| cache.get(self.speed_key(threads)));
            let speed = match stored.and_then(|text| read(&String::from_utf8(text).ok()?, &described)) {
                Some((machine, noise)) => MachineSpeed { machine, measured: true, noise },
                None => MachineSpeed { machine: described, measured: false, noise: 0.0 },
            };
            self.speeds.lock().insert(threads, speed.clone());
            speed
        })
    }

    /// Measures how fast the machine is with so many threads, by a matrix product, by additions in
    /// each cache and in memory, and by a kernel of one element: a second or two where nothing else runs. Later
    /// analyses know it, in other processes too, until it is measured again or forgotten.
    ///
    /// # Errors
    /// Those of preparing and running, and a request to stop.
    pub fn measure_machine(self: &Arc<Self>, threads: usize) -> Result<MachineSpeed> {
        let mut machine = Machine::described(self.target(), threads);
        let lanes = self.target().lanes(4) as f64;
        let size = 640;
        let product = self.product(size)?;
        let mut noise = 0.0;
        let flops = 2.0 * (size as f64).powi(3) / self.fastest(&product, threads, &mut noise)?;
        machine.slots = flops / PRODUCT / (2.0 * lanes * threads as f64);
        for level in 0..machine.levels.len() {
            let bytes = match machine.levels[level].bytes {
                bytes if bytes.is_finite() => bytes / 2.0,
                _ => (8.0 * machine.last_cache()).clamp(64e6, 512e6),
            };
            // As many bytes are written as are read.
            let sum = self.stream((bytes / 8.0) as usize)?;
            let mut rate = |threads: usize| Ok::<f64, Error>(bytes / self.fastest(&sum, threads, &mut noise)?);
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
            cache.put(self.speed_key(threads), written(&machine, noise).as_bytes());
        }
        let speed = MachineSpeed { machine, measured: true, noise };
        self.speeds.lock().insert(threads, speed.clone());
        Ok(speed)
    }

    /// Forgets what was measured, here and for other processes: analyses go by the description again.
    pub fn forget_machine(&self, threads: usize) -> MachineSpeed {
        if let Some(cache) = DiskCache::user("machine") {
            // What cannot be read is not there.
            cache.put(self.speed_key(threads), b"");
        }
        self.speeds.lock().remove(&threads);
        self.machine(threads)
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

    /// The least time of a run of a plan for `root`. How much the others vary may raise the noise.
    fn fastest(self: &Arc<Self>, (root, inputs): &(UOp, Vec<Leaf>), threads: usize, noise: &mut f64) -> Result<f64> {
        let config = PrepareConfig { threads: Some(threads), ..PrepareConfig::default() };
        let plan = self.plan(std::slice::from_ref(root), inputs, &config)?;
        plan.execute()?;
        let watch = Watch::new(self.stop_check());
        let (begin, mut times) = (Instant::now(), Vec::new());
        // The least time is found again, unless the machine has no quiet moment.
        let found = |times: &[f64]| {
            let least = times.iter().copied().fold(f64::INFINITY, f64::min);
            times.iter().filter(|time| **time <= least * AGREES).count() >= 3
        };
        while begin.elapsed() < EACH || (begin.elapsed() < LONGEST && !found(&times)) {
            let start = Instant::now();
            plan.execute()?;
            times.push(start.elapsed().as_secs_f64());
            if watch.poll() {
                return Err(Error::Interrupted);
            }
        }
        times.sort_unstable_by(f64::total_cmp);
        let best = times.first().map_or(1e-9, |least| least.max(1e-9));
        let middle = times.get(times.len() / 2).copied().unwrap_or(best);
        *noise = noise.max(middle / best - 1.0);
        Ok(best)
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

/// The rates and the noise as text.
fn written(machine: &Machine, noise: f64) -> String {
    let levels = machine.levels.iter().flat_map(|l| [l.single, l.all]);
    let rates: Vec<String> =
        [machine.slots, machine.call].into_iter().chain(levels).chain([noise]).map(|rate| rate.to_string()).collect();
    rates.join(" ")
}

/// A machine with the rates of a text, and the noise.
fn read(text: &str, described: &Machine) -> Option<(Machine, f64)> {
    let mut rates: Vec<f64> = text.split(' ').map(|rate| rate.parse().ok()).collect::<Option<_>>()?;
    let noise = rates.pop().filter(|noise| noise.is_finite() && *noise >= 0.0)?;
    let mut machine = described.clone();
    if rates.len() != 2 + 2 * machine.levels.len() || rates.iter().any(|r| !r.is_finite() || *r <= 0.0) {
        return None;
    }
    (machine.slots, machine.call) = (rates[0], rates[1]);
    for (level, rates) in machine.levels.iter_mut().zip(rates[2..].chunks_exact(2)) {
        *level = Level { single: rates[0], all: rates[1], ..*level };
    }
    Some((machine, noise))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::mutate::fuzz_text;
    use svod_ir::target::Target;

    #[test]
    fn fuzzed_rates_are_refused_or_come_back_as_they_were() {
        let described = Machine::described(&Target::named("x86-64-v3").unwrap(), 3);
        fuzz_text("rates", &[0.0, 0.25].map(|noise| written(&described, noise)), |text| {
            if let Some((machine, noise)) = read(text, &described) {
                assert_eq!(read(&written(&machine, noise), &described), Some((machine, noise)));
            }
        });
    }

    #[test]
    fn e4_rates_are_written_and_read() {
        let mut machine = Machine::described(&Target::named("x86-64-v3").unwrap(), 3);
        machine.slots = 5.25e9;
        machine.levels[1].all = 1.5e10;
        let described = Machine::described(&Target::named("x86-64-v3").unwrap(), 3);
        assert_eq!(read(&written(&machine, 0.0), &described), Some((machine.clone(), 0.0)));
        assert_eq!(read(&written(&machine, 0.25), &described), Some((machine, 0.25)));
        for damaged in ["", "1 2", "1e9 1e-7 1 1 1 1 1 NaN", "1e9 1e-7 1 1 1 1 1 -1"] {
            assert_eq!(read(damaged, &described), None);
        }
    }
}
