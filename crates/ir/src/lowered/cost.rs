//! What a phase costs: instructions, floating-point operations and bytes, counted from its loops, and
//! the time that a machine takes for them. This is the only cost model: it decides what is worth
//! handing to another thread, and it is what `explain` tells.
//!
//! Extents that shrink or grow with an outer counter, such as those of a last block, and conditions on counters count
//! with what they are on average over all rounds, those of tasks included, where a cost is told; with what they are in the
//! middle round where schedules are chosen ([`Rounds`]). An expression is counted as often as
//! the innermost loop that it depends on runs, for whatever does not change is computed outside.
//!
//! A *slot* is the time of one vector addition, two of which begin in a cycle on most processors;
//! other instructions count as so many slots. Units of different kinds, for arithmetic of vectors and of scalars,
//! loads and stores, work side by side, in each loop on its own ([`ports`]). What a loop needs of values from
//! outside stays in registers as far as there are some. Rounds of a loop overlap as far as a processor looks ahead, so
//! that a body which is one long chain waits for its results. The time of a phase has a part for instructions, for the
//! longest chain of those that wait for one another in all rounds, and for memory; memory costs by the cache in
//! which what is touched fits, as in the roofline model (Williams et al. 2009).

mod count;
mod ops;
mod ports;

pub use ops::{LATENCY, instructions_of, slots_of};
pub use ports::AHEAD;

use super::Lowered;
use crate::expr::ParamId;
use crate::size::Variable;
use crate::target::Target;
use count::Counter;

/// What one phase does, at some values of its variables. Numbers are of all tasks, where nothing else
/// is said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// Number of tasks.
    pub tasks: f64,
    /// Slots of a task.
    pub slots: f64,
    /// Slots of a task in the longest chain of instructions that wait for one another.
    pub chain: f64,
    /// Operations on floats, as they are executed, but for choices among them: what lies in padding counts too.
    pub flops: f64,
    /// What is touched of buffer arguments.
    pub traffic: Vec<Traffic>,
    /// Vector registers that are in use at one time, as far as temporaries and tiles tell.
    pub registers: u32,
    /// Bytes of scratch memory of a task.
    pub scratch: u64,
    /// Bytes of operands that a task copies to where a contraction's tile reads them.
    pub packed: f64,
}

/// Which rounds of a loop are looked at, where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounds {
    /// The middle one, as if all were like it: what is full counts as full, which tells schedules apart.
    Middle,
    /// All, or some of many: operations are those that are executed, which is what is told.
    All,
}

/// What is touched of one argument, in one way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// The argument.
    pub param: ParamId,
    /// Whether it is written.
    pub written: bool,
    /// Bytes that are asked for.
    pub bytes: f64,
    /// Bytes of the lines that main memory moves for them.
    pub lines: f64,
    /// Bytes that are touched in turn before any is touched again: whichever cache holds as much serves
    /// the rest.
    pub footprint: f64,
    /// How often they are asked for, where what is touched meanwhile does not stay in a first-level cache.
    pub repeats: f64,
    /// Bytes that lie side by side; none where addresses depend on data.
    pub run: f64,
    /// Whether lines are read before they are written.
    pub allocates: bool,
}

/// A cache, or main memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Its size in bytes; infinite for main memory.
    pub bytes: f64,
    /// Bytes a second of one thread.
    pub single: f64,
    /// Bytes a second of all threads together, at most.
    pub all: f64,
}

/// The vector registers of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// Width of one in bytes.
    pub bytes: usize,
    /// How many there are.
    pub count: usize,
}

impl From<&Target> for Registers {
    fn from(target: &Target) -> Self {
        Registers { bytes: target.vector_bytes, count: target.vector_registers }
    }
}

/// How fast a machine is.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Threads.
    pub threads: usize,
    /// Slots a second of one thread.
    pub slots: f64,
    /// Its vector registers.
    pub registers: Registers,
    /// Caches, smallest first, and main memory.
    pub levels: Vec<Level>,
    /// Seconds to hand a phase to other threads.
    pub hand_over: f64,
    /// Seconds to call a kernel.
    pub call: f64,
}

/// Slots that take less time than waking another thread. What is smaller stays on the calling one.
pub const WORTH_A_THREAD: f64 = 20_000.0;

impl Lowered {
    /// The cost of each phase at these values; a variable without one counts with its upper bound.
    pub fn costs(&self, values: &dyn Fn(&Variable) -> Option<i64>, registers: Registers, rounds: Rounds) -> Vec<Cost> {
        let cost = |phase| Counter::new(self, phase, values, registers, rounds).count();
        self.phases.iter().map(cost).collect()
    }
}

/// The sum, which of nothing is 0; that of the standard library is -0.
pub fn total(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |sum, number| sum + number)
}

impl Cost {
    /// Bytes read from, or written to, arguments.
    pub fn bytes(&self, written: bool) -> f64 {
        total(self.traffic.iter().filter(|t| t.written == written).map(|t| t.bytes))
    }

    /// Slots of a task in time: of its instructions, or of its longest chain if that takes longer.
    pub fn task(&self) -> f64 {
        self.slots.max(self.chain)
    }

    /// Threads that such a phase is handed to.
    pub fn threads(&self, machine: &Machine) -> f64 {
        if self.tasks * self.task() < WORTH_A_THREAD { 1.0 } else { self.tasks.clamp(1.0, machine.threads as f64) }
    }

    /// Bytes of operands that one core copies where so many cores share the tasks.
    pub fn packed_per_core(&self, cores: usize) -> f64 {
        let rounds = (self.tasks / self.tasks.clamp(1.0, cores.max(1) as f64)).ceil();
        rounds * self.packed
    }

    /// The share of the machine's threads that have a task, on average over the rounds of handing out.
    pub fn occupancy(&self, machine: &Machine) -> f64 {
        if self.tasks < 1.0 {
            return 0.0;
        }
        let threads = self.threads(machine);
        self.tasks / (self.tasks / threads).ceil() / machine.threads as f64
    }

    /// Seconds that the machine takes. What is computed and what is moved overlap, but not fully.
    pub fn seconds(&self, machine: &Machine) -> f64 {
        if self.tasks < 1.0 {
            return 0.0;
        }
        let threads = self.threads(machine);
        let rounds = (self.tasks / threads).ceil();
        let compute = rounds * self.task() / machine.slots;
        let held: f64 = self.traffic.iter().map(|t| t.footprint).sum();
        let moved = self.traffic.iter().map(|t| machine.moves(t, t.footprint.max(held), threads));
        let hand_over = if threads > 1.0 { machine.hand_over } else { 0.0 };
        hand_over + compute.hypot(moved.sum())
    }
}

impl Machine {
    /// A machine as its description tells: three billion cycles a second, and caches and memory as they
    /// are on most servers.
    pub fn described(target: &Target, threads: usize) -> Machine {
        let level = |bytes: usize, single: f64, all: f64| Level { bytes: bytes as f64, single, all };
        let each = threads.max(1) as f64;
        let width = target.vector_bytes as f64;
        Machine {
            threads: threads.max(1),
            slots: 6e9,
            registers: target.into(),
            levels: vec![
                level(target.l2 * 3 / 4, width * 2e9, width * 2e9 * each),
                level(target.l3, 40e9, 32e9 * each),
                Level { bytes: f64::INFINITY, single: 20e9, all: 20e9 * each.sqrt() },
            ],
            hand_over: 2e-6,
            call: 1e-7,
        }
    }

    /// This machine with caches so many times as fast.
    pub fn with_caches(mut self, times: f64) -> Machine {
        for level in self.levels.iter_mut().filter(|level| level.bytes.is_finite()) {
            level.single *= times;
            level.all *= times;
        }
        self
    }

    /// Seconds that so many threads need to move what is touched, where so many bytes are touched in turn.
    fn moves(&self, traffic: &Traffic, footprint: f64, threads: f64) -> f64 {
        let last = self.levels.len().max(1) - 1;
        let at = self.levels.iter().position(|l| footprint <= l.bytes).unwrap_or(last);
        let Some(level) = self.levels.get(at) else { return 0.0 };
        let rate = (level.single * threads).min(level.all);
        let share = if at > 0 { (traffic.run / (traffic.run + RUN_UP)).max(SCATTERED) } else { 1.0 };
        let bytes = match at == last {
            true if traffic.allocates => 2.0 * traffic.lines,
            true => traffic.lines,
            false => traffic.bytes,
        };
        bytes * traffic.repeats / (rate * share)
    }

    /// Floating-point operations a second, two for each multiply-add of `bytes` wide floats.
    pub fn peak(&self, bytes: usize) -> f64 {
        self.slots * self.threads as f64 * 2.0 * (self.registers.bytes / bytes.max(1)) as f64
    }

    /// Seconds that the machine needs at least for a phase: the higher of its two roofs.
    pub fn least(&self, cost: &Cost) -> f64 {
        let memory = self.levels.last().map_or(f64::INFINITY, |l| l.all);
        let held: f64 = cost.traffic.iter().map(|t| t.footprint).sum();
        let moved = cost.bytes(false) + cost.bytes(true);
        let in_cache =
            self.levels.first().is_some_and(|l| held <= l.bytes) || self.levels.len() > 1 && held <= self.last_cache();
        (cost.flops / self.peak(4)).max(if in_cache { 0.0 } else { moved / memory })
    }

    /// Bytes of the largest cache.
    pub fn last_cache(&self) -> f64 {
        self.levels.iter().map(|l| l.bytes).filter(|b| b.is_finite()).fold(0.0, f64::max)
    }
}

/// The share of a stream's rate at which lines that do not follow one another are moved.
const SCATTERED: f64 = 0.5;

/// Bytes of a stream that could be moved until a processor fetches ahead in it.
const RUN_UP: f64 = 512.0;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const REGISTERS: Registers = Registers { bytes: 32, count: 16 };

    fn cost(text: &str) -> Cost {
        Lowered::parse(text).unwrap().costs(&|_| None, REGISTERS, Rounds::All).remove(0)
    }

    #[test]
    fn e4_loops_multiply_and_bytes_are_those_touched() {
        let text = "lowered scale\nparam p0: f32[6, 8]\nparam p1: f32[6, 8]\n\nphase\ngrid i < 6\n{\n  vector j < 8 {\n    \
                    p1[i, j] = p0[i, j] * f32(2.0)\n  }\n}\n";
        let cost = cost(text);
        // A store takes two slots, beside which a load and a product take a quarter of theirs.
        assert_eq!((cost.tasks, cost.slots, cost.chain), (6.0, 2.5, 0.0));
        assert_eq!((cost.flops, cost.bytes(false), cost.bytes(true)), (48.0, 192.0, 192.0));
    }

    #[test]
    fn e4_time_occupancy_and_registers_by_hand() {
        let text = "lowered scale\nparam p0: f32[6, 8]\nparam p1: f32[6, 8]\n\nphase\ngrid i < 6\ntemp r: f32[20] register\n\
                    temp s: f32[25] scratch\n{\n  vector j < 8 {\n    p1[i, j] = p0[i, j] * f32(2.0)\n  }\n}\n";
        let cost = cost(text);
        // 80 bytes of registers that hold 32 each; 25 elements.
        assert_eq!((cost.registers, cost.scratch, cost.packed), (3, 100, 0.0));
        let memory = Level { bytes: f64::INFINITY, single: 1e9, all: 1.5e9 };
        let machine =
            Machine { threads: 4, slots: 1e9, registers: REGISTERS, levels: vec![memory], hand_over: 1e-6, call: 0.0 };
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} instead of {b}");
        // Too little for another thread: 6 tasks of 2.5 slots on one. 192 bytes are read; 192 are written, whose
        // lines are read before.
        assert_eq!(cost.threads(&machine), 1.0);
        close(cost.seconds(&machine), 15e-9_f64.hypot(576e-9));
        close(cost.occupancy(&machine), 0.25);
        // What fits a cache, here one without end, has no roof of memory.
        close(machine.least(&cost), 48.0 / 64e9);
        close(machine.peak(4), 64e9);
        // Work for all 4 threads takes 2 rounds, in the first of which all have a task.
        let long = Cost { slots: 10_000.0, ..cost };
        close(long.seconds(&machine), 1e-6 + 20e-6_f64.hypot(576.0 / 1.5e9));
        close(long.occupancy(&machine), 0.75);
        close(Cost { tasks: 0.0, ..long }.seconds(&machine), 0.0);
    }

    #[test]
    fn e4_packed_bytes_are_those_of_copies_and_shared_by_cores() {
        let copy = "lowered pack\nparam p0: f32[96, 8]\nparam p1: f32[96, 8]\nparam p2: f32[96]\n\nphase\n\
                    grid i < 12\ntemp r: f32[8] register\n{\n  serial k < 8 {\n    vector j < 8 {\n      \
                    r[j] = p0[8*i + k, j]\n    }\n    vector j < 8 {\n      p1[8*i + k, j] = r[j]\n    }\n  }\n}\n\n\
                    phase\ngrid i < 96\ntemp row: f32[8] scratch\n{\n  vector j < 8 {\n    row[j] = p1[i, j]\n  }\n  \
                    p2[i] = row[0]\n}\n";
        let costs = Lowered::parse(copy).unwrap().costs(&|_| None, REGISTERS, Rounds::All);
        // Of the first phase 12 tasks copy 8 x 8 elements each to what the second one reads, 96 of which copy 8.
        assert_eq!(costs.iter().map(|c| c.packed).collect::<Vec<_>>(), [256.0, 32.0]);
        let per_core = |cores| costs.iter().map(|c| c.packed_per_core(cores)).collect::<Vec<_>>();
        assert_eq!(per_core(1), [3072.0, 3072.0]);
        assert_eq!(per_core(8), [512.0, 384.0]);
        assert_eq!(per_core(64), [256.0, 64.0]);
    }

    #[test]
    fn e4_choices_are_no_operations_on_floats() {
        let text = "lowered masked\nparam p0: f32[1000]\nparam p1: f32[1]\n\nphase\ntemp acc: f32[1] register\n{\n  \
                    acc[0] = f32(0.0)\n  serial k < 1000 {\n    \
                    acc[0] = acc[0] + where(k < 997, p0[k], f32(0.0))\n  }\n}\n";
        assert_eq!(cost(text).flops, 1000.0);
    }

    #[test]
    fn e4_sums_wait_for_one_another_and_what_does_not_change_is_computed_once() {
        let text = "lowered sum\nparam p0: f32[1000]\nparam p1: f32[1]\n\nphase\ntemp acc: f32[1] register\n{\n  \
                    acc[0] = f32(0.0)\n  serial k < 1000 {\n    acc[0] = acc[0] + p0[k] * exp(p1[0])\n  }\n}\n";
        let cost = cost(text);
        assert!(cost.chain >= 8000.0 && cost.slots < 5000.0, "{cost:?}");
        assert_eq!(cost.flops, 2001.0);
        assert_eq!(cost.bytes(false), 4004.0);
    }

    #[test]
    fn e4_what_unrolled_rounds_share_is_counted_once() {
        // Sums of two rows and eight columns, of four steps a round: each column is loaded once for both rows, and
        // sums are loaded and stored once a round.
        let text = "lowered few\nparam p0: f32[2, 400]\nparam p1: f32[400, 8]\nparam p2: f32[2, 8]\n\nphase\n\
                    temp acc: f32[2, 8] scratch\n{\n  serial k < 100 {\n    unroll i < 2 {\n      unroll u < 4 {\n        \
                    vector j < 8 {\n          acc[i, j] = acc[i, j] + p0[i, 4*k + u] * p1[4*k + u, j]\n        }\n      \
                    }\n    }\n  }\n}\n";
        let cost = cost(text);
        // A round loads 8 elements of rows, 4 columns and 2 sums; beside that it has 8 multiply-adds, two stores, and
        // what a loop takes.
        let round = 14.0 + 0.25 * (8.0 + 4.0 + 1.5);
        assert_eq!((cost.slots, cost.flops), (100.0 * round, 12_800.0));
    }

    /// Sums of some rows and of 512 vectors of columns, for whose 16 rows of memory elements are outside the loop.
    fn rows_of_columns(rows: u32) -> Cost {
        cost(&format!(
            "lowered few\nparam p0: f32[{rows}, 16]\nparam p1: f32[16, 4096]\nparam p2: f32[{rows}, 4096]\n\nphase\n\
             temp acc: f32[512, {rows}, 8] scratch\n{{\n  serial k < 4 {{\n    serial n < 512 {{\n      unroll i < {rows} {{\n        \
             unroll u < 4 {{\n          vector j < 8 {{\n            acc[n, i, j] = acc[n, i, j] + p0[i, 4*k + u] * \
             p1[4*k + u, 8*n + j]\n          }}\n        }}\n      }}\n    }}\n  }}\n}}\n"
        ))
    }

    #[test]
    fn e4_what_has_no_register_is_loaded_again() {
        // 12 elements of rows stay in registers, of 24 ten do not.
        let [few, many] = [3, 6].map(|rows| rows_of_columns(rows).slots / 2048.0);
        let near = |found: f64, want: f64| assert!((found - want).abs() < 0.1, "{found} instead of {want}");
        near(few, 12.0 + 0.25 * (4.0 + 3.0 + 6.0 + 1.5));
        near(many, 24.0 + 0.25 * (4.0 + 6.0 + 10.0 + 12.0 + 1.5));
    }

    #[test]
    fn e4_what_a_first_level_cache_does_not_hold_is_moved_again() {
        let text = |n: u32| {
            format!(
                "lowered again\nparam p0: f32[{n}]\nparam p1: f32[9, {n}]\n\nphase\n{{\n  serial i < 9 {{\n    \
                 serial j < {n} {{\n      p1[i, j] = p0[j]\n    }}\n  }}\n}}\n"
            )
        };
        let repeats = |n: u32| cost(&text(n)).traffic.iter().map(|t| t.repeats).collect::<Vec<_>>();
        assert_eq!(repeats(8000), [1.0, 1.0]);
        assert_eq!(repeats(9000), [9.0, 1.0]);
    }

    #[test]
    fn e4_the_branch_that_runs_is_the_one_that_moves_memory() {
        let cost = cost(
            "lowered either\nparam p0: f32[4096]\nparam p1: f32[4096]\n\nphase\n{\n  serial i < 2 {\n    if 8 <= {i} {\n      \
             vector j < 8 {\n        p1[8*i + j] = p0[8*i + j]\n      }\n    }\n    if !(8 <= {i}) {\n      vector j < 8 {\n        \
             p1[8*i + j] = p0[8*i + j]\n      }\n    }\n  }\n}\n",
        );
        assert_eq!(cost.traffic.iter().map(|t| (t.bytes, t.lines)).collect::<Vec<_>>(), [(64.0, 64.0); 2]);
    }

    #[test]
    fn e4_positions_of_a_scatter_are_mostly_inside() {
        let text = "lowered add\nparam p0: i64[800]\nparam p1: f32[800]\nparam p2: f32[100]\n\nphase\n{\n  \
                    serial k < 800 {\n    e0 = bitcast(u64, p0[k]) < u64(100)\n    if e0 {\n      \
                    e0 = cast(index, p0[k])\n      p2[e0] = p2[e0] + p1[k]\n    }\n  }\n}\n";
        let cost = cost(text);
        assert_eq!((cost.flops, cost.bytes(true)), (800.0, 3200.0));
        // A condition on data of another kind is one that rarely holds.
        let rare = text.replace("bitcast(u64, p0[k]) < u64(100)", "p0[k] < i64(100)");
        assert_eq!(self::cost(&rare).flops, 50.0);
    }

    #[test]
    fn e4_uneven_tasks_and_blocks_count_as_what_they_compute() {
        // 100 rows in three tasks of 48, 48 and 4; in each blocks of 12, of which the last one has 4 rows; and below a
        // condition that all but the last task meet, or the others.
        let text = |rows: &str, body: &str| {
            format!("lowered rows\nparam p0: f32[100]\n\nphase\ngrid i < {rows}\n{{\n{body}}}\n")
        };
        let add = |at: &str| format!("p0[{at}] = p0[{at}] + f32(1.0)");
        let plain = format!("  serial j < min(48, 100 - 48*i) {{\n    {}\n  }}\n", add("48*i + j"));
        let rows = cost(&text("3", &plain));
        assert_eq!((rows.tasks, rows.flops), (3.0, 100.0));
        let lowered = Lowered::parse(&text("3", &plain)).unwrap();
        let full = lowered.costs(&|_| None, REGISTERS, Rounds::Middle).remove(0);
        assert_eq!((full.tasks, full.flops), (3.0, 144.0));
        let blocks = format!(
            "  serial j < (min(48, 100 - 48*i) + 11)//12 {{\n    serial k < min(12, min(48, 100 - 48*i) - 12*j) {{\n      \
             {}\n    }}\n  }}\n",
            add("48*i + 12*j + k")
        );
        assert!((cost(&text("3", &blocks)).flops - 100.0).abs() < 1e-9);
        let either = format!(
            "  if {{i}} < 2 {{\n    serial j < 48 {{\n      {}\n    }}\n  }}\n  if 2 <= {{i}} {{\n    serial j < 100 - 48*i {{\n      \
             {}\n    }}\n  }}\n",
            add("48*i + j"),
            add("48*i + j")
        );
        assert!((cost(&text("3", &either)).flops - 100.0).abs() < 1e-9);
        // Of many tasks some are looked at.
        let many = format!("  serial j < min(7, 10000 - 7*i) {{\n    {}\n  }}\n", add("7*i + j"));
        assert!((cost(&text("1429", &many)).flops - 10_000.0).abs() < 1e-6);
    }

    #[test]
    fn e4_tiles_count_with_the_depth_that_each_round_has() {
        // 65 products in blocks of 40.
        let text = "lowered tile\nparam p0: f32[3, 65]\nparam p1: f32[65, 16]\nparam p2: f32[3, 16]\n\nphase\n{\n  \
                    serial k < 2 {\n    micro 3 x 16 f32 -> f32 depth min(40, -k*40 + 65) start k*40 (p2[0, 0] stride 16) \
                    (p0[0, k*40] stride 65) (p1[k*40, 0] stride 16)\n  }\n}\n";
        assert_eq!(cost(text).flops, 2.0 * 3.0 * 16.0 * 65.0);
    }

    #[test]
    fn e4_conditions_and_extents_count_as_on_average_over_outer_loops() {
        let text = "lowered rows\nparam p0: f32[64, 64]\n\nphase\n{\n  serial i < 64 {\n    serial j < i {\n      \
                    p0[i, j] = f32(0.0)\n    }\n    if i == 0 {\n      p0[0, 0] = f32(1.0)\n    }\n  }\n}\n";
        let bytes = cost(text).bytes(true);
        assert!((7000.0..9000.0).contains(&bytes), "half of 64 x 64 x 4: {bytes}");
    }
}
