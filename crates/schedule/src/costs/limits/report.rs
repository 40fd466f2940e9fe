//! How plans are told.

/// Characters of the longest name and list of lines that a table shows in full.
pub(crate) const WIDTH: usize = 36;
/// The share by which times vary on a machine that does other things as well.
pub(crate) const NOISY: f64 = 0.25;
/// Opportunities that are listed.
pub(crate) const SHOWN: usize = 5;
/// Numbers of cores for which is told what all of them copy into panels.
pub const PACKING_CORES: [usize; 3] = [1, 8, 64];
