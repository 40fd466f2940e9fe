//! What it costs to compute values where they are read, or to pass them through memory.
//!
//! One estimate decides whether a value is inlined, staged or realized and whether kernels become one
//! ([`crate::fusion`]): bytes that need not be moved, operations that are done again, and
//! bytes that have to stay in a cache meanwhile. What bounds the size of a kernel, and the work of deciding,
//! is in [`super::limits`].

use super::limits::kernels::MAX_REPEATED;
use super::limits::memory;
use std::fmt;
use svod_dtype::DType;
use svod_ir::target::Target;

/// The caches that decisions go by, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caches {
    /// The second level: rows stay in half of it from one reading to the next.
    pub l2: usize,
    /// The last level: more is waited for from memory, and some operations hide behind that.
    pub l3: usize,
}

impl From<&Target> for Caches {
    fn from(target: &Target) -> Self {
        Caches { l2: target.l2, l3: target.l3 }
    }
}

impl Default for Caches {
    /// Those of the frozen descriptions of CPUs.
    fn default() -> Self {
        Caches { l2: 1 << 19, l3: 1 << 24 }
    }
}

impl Caches {
    /// Whether a row stays in a cache beside what is written meanwhile.
    pub(crate) fn holds(self, row_bytes: i64) -> bool {
        row_bytes <= self.l2 as i64 / 2
    }

    /// Whether what reduces so many rows of memory, so many bytes apart, shares a kernel with what reads these again. Both
    /// then go through strips of a few columns, of which a cache has to hold the rows, or the pages where these are
    /// longer. Strips that are written, and are not whole rows, have to be in so few pages that a core has their
    /// addresses at hand.
    pub(crate) fn hold_strips(self, rows: i64, row_bytes: i64, written: bool) -> bool {
        let bytes = rows.saturating_mul(row_bytes.min(memory::PAGE));
        if written && row_bytes > memory::PIECE { bytes <= memory::PAGES * memory::PAGE } else { self.holds(bytes) }
    }

    /// Whether so much is read from memory each time.
    pub(crate) fn stream(self, bytes: i64) -> bool {
        bytes > self.l3 as i64
    }
}

/// A proposal to compute values in the kernel that reads them, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Bytes that are read and written if they go through memory.
    pub bytes: i64,
    /// Bytes that are not moved if they do not; negative, if more are.
    pub spared: i64,
    /// Operations that are then done again.
    pub repeated: i64,
    /// Bytes that have to stay in a cache.
    pub scratch: i64,
}

/// A value that is wanted several times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeated {
    /// Its elements, and their type.
    pub elements: i64,
    pub dtype: DType,
    /// Bytes of memory that it is made of.
    pub operands: i64,
    /// Operations that an element takes, counted as a tree.
    pub operations: u32,
    /// How often all of it is read, by several kernels or in several places of one.
    pub reads: f64,
    /// How often all of it would be computed.
    pub times: f64,
    /// Whether what reads it waits for memory meanwhile.
    pub waits: bool,
}

impl Repeated {
    /// The estimate of computing it each time.
    pub fn estimate(&self) -> Estimate {
        // Conversions from floats saturate.
        let own = self.elements as f64 * self.dtype.bytes() as f64;
        let kept = own * (self.reads + 1.0);
        let bytes = (kept + self.operands as f64) as i64;
        let spared = (kept - self.operands as f64 * (self.reads - 1.0).max(0.0)) as i64;
        let repeated = (self.elements as f64 * f64::from(self.operations) * self.again()) as i64;
        Estimate { bytes, spared, repeated, scratch: 0 }
    }

    /// Why it is better computed once, if it is.
    pub fn why_once(&self) -> Option<&'static str> {
        if self.is_hidden() {
            return None;
        }
        if self.operations > MAX_REPEATED {
            return Some("it takes too many operations");
        }
        // Saturated counts of what is huge do not compare: floats do.
        let slow = f64::from(self.operations - self.hidden()) * self.elements as f64;
        let room = self.estimate().spared as f64 * memory::OPERATIONS_PER_BYTE;
        (room < slow * self.again()).then_some("computing it again takes longer than moving it")
    }

    /// How often all of it would be computed beyond once.
    fn again(&self) -> f64 {
        (self.times - 1.0).max(0.0)
    }

    /// Whether it is cheap: computed while memory is waited for.
    pub fn is_hidden(&self) -> bool {
        self.operations <= self.hidden()
    }

    /// Operations that an element takes while memory is waited for.
    fn hidden(&self) -> u32 {
        if !self.waits {
            return 0;
        }
        (self.dtype.bytes().max(4) as f64 * memory::OPERATIONS_PER_BYTE) as u32
    }
}

impl Estimate {
    /// Why two kernels stay apart, if they do; `least` is the traffic of the lesser of them.
    pub(crate) fn why_apart(&self, least: i64) -> Option<&'static str> {
        (self.spared.saturating_mul(memory::WORTH) < least).then_some("that spares too little")
    }
}

/// What becomes of a proposal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Two kernels become one.
    #[default]
    Merge,
    /// They stay apart, for a reason.
    Apart(&'static str),
    /// A value is computed wherever it is read.
    Inline,
    /// It is computed once for each row of the kernel that reads it.
    Stage,
    /// It is computed by a kernel of its own, for a reason.
    Realize(&'static str),
    /// A reduction becomes two, the first of which reads what something else reads.
    InTwo,
}

/// One proposal, and its estimate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// What it is about: kernels by name, or an operation and its shape.
    pub what: String,
    /// What it would cost.
    pub estimate: Estimate,
    /// What came of it.
    pub verdict: Verdict,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Estimate { bytes, spared, repeated, scratch } = self.estimate;
        write!(f, "{}: {bytes} bytes, spares {spared}", self.what)?;
        if repeated != 0 {
            write!(f, ", {repeated} operations again")?;
        }
        write!(f, ", {scratch} in cache: ")?;
        match self.verdict {
            Verdict::Merge => f.write_str("one kernel"),
            Verdict::Apart(why) => write!(f, "apart, {why}"),
            Verdict::Inline => f.write_str("computed where it is read"),
            Verdict::Stage => f.write_str("computed once a row"),
            Verdict::Realize(why) => write!(f, "in memory, {why}"),
            Verdict::InTwo => f.write_str("reduced by rows that something else reads"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn twice(operations: u32, operands: i64) -> Repeated {
        let operands = operands * 4000;
        Repeated { elements: 1000, dtype: DType::F32, operands, operations, reads: 2.0, times: 2.0, waits: true }
    }

    #[test]
    fn what_memory_hides_is_computed_again() {
        assert_eq!(twice(10, 4).why_once(), None);
        assert_eq!(twice(20, 1).why_once(), None);
        assert!(twice(20, 3).why_once().unwrap().contains("longer than moving it"));
        assert!(twice(31, 1).why_once().unwrap().contains("longer than moving it"));
        assert!(twice(40, 0).why_once().unwrap().contains("too many operations"));
        // In a loop of many rounds it is moved once.
        let round = Repeated { reads: 1.0, times: f64::from(1 << 20), ..twice(12, 1) };
        assert!(round.why_once().is_some());
        // A few operations hide behind memory, but not in a loop over what lies in cache.
        let few = Repeated { operations: 3, ..round };
        assert_eq!(few.why_once(), None);
        assert!(Repeated { waits: false, ..few }.why_once().is_some());
        let estimate = twice(20, 1).estimate();
        assert_eq!((estimate.bytes, estimate.spared, estimate.repeated), (16_000, 8000, 20_000));
    }

    #[test]
    fn strips_are_few_pages_or_whole_rows_in_cache() {
        let caches = Caches { l2: 1 << 21, l3: 1 << 25 };
        // Of long rows, as many as there are addresses of pages; the rows of narrow matrices are read in order.
        assert!(caches.hold_strips(64, 1 << 20, true) && !caches.hold_strips(65, 1 << 20, true));
        assert!(caches.hold_strips(4096, 256, true) && !caches.hold_strips(4097, 256, true));
        // Reductions that write no strips need them in the cache.
        assert!(caches.hold_strips(256, 1 << 14, false) && !caches.hold_strips(257, 1 << 14, false));
        assert!(!caches.hold_strips(i64::MAX, i64::MAX, true));
    }

    #[test]
    fn estimates_of_huge_values_saturate() {
        let huge = Repeated {
            elements: i64::MAX,
            dtype: DType::F64,
            operands: i64::MAX,
            operations: 30,
            reads: 1.0,
            times: 1e12,
            waits: true,
        };
        assert!(huge.why_once().is_some());
    }

    #[test]
    fn decisions_tell_their_grounds() {
        let decision = Decision { what: "exp 8x9".into(), estimate: twice(20, 1).estimate(), verdict: Verdict::Inline };
        let text = "exp 8x9: 16000 bytes, spares 8000, 20000 operations again, 0 in cache: computed where it is read";
        assert_eq!(decision.to_string(), text);
    }
}
