//! What was decided about kernels, and on which grounds.

use std::fmt;

/// What becomes of a proposal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Two kernels become one.
    #[default]
    Merge,
    /// They stay apart, for a reason.
    Apart(&'static str),
}

/// One proposal, and its estimate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// What it is about: kernels by name.
    pub what: String,
    /// Bytes that are read and written without it.
    pub bytes: i64,
    /// Bytes that it spares.
    pub spared: i64,
    /// Bytes that have to stay in a cache meanwhile.
    pub scratch: i64,
    /// What came of it.
    pub verdict: Verdict,
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Decision { what, bytes, spared, scratch, verdict } = self;
        write!(f, "{what}: {bytes} bytes, spares {spared}, {scratch} in cache: ")?;
        match verdict {
            Verdict::Merge => f.write_str("one kernel"),
            Verdict::Apart(why) => write!(f, "apart, {why}"),
        }
    }
}
