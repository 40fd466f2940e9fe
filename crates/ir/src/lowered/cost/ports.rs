//! Units that work side by side.

/// The part of the time of less busy units by which a loop takes longer than its busiest ones: no order of
/// instructions keeps all of them at work.
const APART: f64 = 0.25;

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
pub(super) struct Ports([f64; 4]);

impl Ports {
    pub fn add(&mut self, port: Port, slots: f64) {
        self.0[port as usize] += slots;
    }

    /// Slots until all units are done.
    pub fn slots(&self) -> f64 {
        let most = self.0.iter().copied().fold(0.0, f64::max);
        most + APART * (self.0.iter().sum::<f64>() - most)
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
}
