//! Units that work side by side.

/// The part of the time of less busy units by which a loop takes longer than its busiest ones: no order of
/// instructions keeps all of them at work.
const APART: f64 = 0.25;

/// Instructions that a processor has in flight.
pub const AHEAD: f64 = 256.0;

/// A kind of unit of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Port {
    /// Arithmetic on floats and vectors.
    Vector,
    /// Arithmetic on integers that are in no vector, and jumps.
    Scalar,
    Load,
    Store,
}

/// Slots of the units of each kind, in the rounds of one loop.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ports {
    units: [f64; 4],
    /// Slots of the longest chain of a round, and of those of all rounds one after the other.
    longest: f64,
    chained: f64,
}

impl Ports {
    pub fn add(&mut self, port: Port, slots: f64) {
        self.units[port as usize] += slots;
    }

    /// A chain of a round, of so many, whose instructions wait for one another.
    pub fn wait(&mut self, chain: f64, rounds: f64) {
        self.longest = self.longest.max(chain);
        self.chained = self.chained.max(chain * rounds);
    }

    /// Slots until all units are done.
    pub fn slots(&self) -> f64 {
        let most = self.units.iter().copied().fold(0.0, f64::max);
        let busy = most + APART * (self.units.iter().sum::<f64>() - most);
        busy.max(self.waited())
    }

    /// Slots of the chains, of which those of as many rounds overlap as a processor sees at a time: also of the next
    /// task, or of what follows a loop.
    fn waited(&self) -> f64 {
        if self.chained <= 0.0 {
            return 0.0;
        }
        let rounds = self.chained / self.longest;
        self.chained / (1.0 + AHEAD * rounds / self.units.iter().sum::<f64>().max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e4_units_of_different_kinds_work_side_by_side() {
        let mut ports = Ports::default();
        assert_eq!(ports.slots(), 0.0);
        for (port, slots) in [(Port::Vector, 5.0), (Port::Load, 3.0), (Port::Vector, 3.0), (Port::Store, 1.0)] {
            ports.add(port, slots);
        }
        assert_eq!(ports.slots(), 8.0 + 0.25 * 4.0);
    }

    #[test]
    fn e4_rounds_of_a_long_chain_wait_as_far_as_they_are_not_seen_together() {
        let of = |instructions: f64, chain: f64, rounds: f64| {
            let mut ports = Ports::default();
            ports.add(Port::Vector, instructions * rounds);
            ports.wait(chain, rounds);
            ports.slots() / rounds
        };
        assert_eq!(of(256.0, 2048.0, 100.0), 1024.0, "two rounds are in flight");
        assert_eq!(of(16.0, 128.0, 1000.0), 16.0, "short bodies hide what they wait for");
    }
}
