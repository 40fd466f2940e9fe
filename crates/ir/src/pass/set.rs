//! Sets of passes, by name.

use super::{PIPELINE, Pass, Row};
use std::fmt;

/// Some passes, in the order of the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PassSet(u64);

const _: () = assert!(PIPELINE.len() <= u64::BITS as usize);

/// What passes were called in earlier versions.
const FORMER: [(&str, Pass); 5] = [
    ("totals", Pass::TwoStage),
    ("quotient", Pass::PostponeDivision),
    ("recentre", Pass::CorrectVariance),
    ("settle", Pass::Hoist),
    ("unify", Pass::Parameterise),
];

/// A name that is none of the passes that can be named here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is none of {known}")]
pub struct UnknownPass {
    /// What was given.
    pub name: String,
    /// What could be.
    pub known: String,
}

impl PassSet {
    /// The passes of these names, separated by commas, among those that `allowed` lets through; `all` are
    /// all of those, `none` and nothing are none.
    ///
    /// # Errors
    /// A name of no such pass.
    pub fn named(names: &str, allowed: impl Fn(&Row) -> bool) -> Result<PassSet, UnknownPass> {
        let known = || PIPELINE.iter().filter(|row| allowed(row));
        let mut set = PassSet::default();
        for name in names.split(',').map(str::trim).filter(|name| !matches!(*name, "" | "none")) {
            let former = FORMER.iter().find(|(former, _)| *former == name).map(|(_, pass)| *pass);
            let is_named = |row: &&Row| matches!(name, "all") || row.name == name || Some(row.pass) == former;
            let found: Vec<Pass> = known().filter(is_named).map(|row| row.pass).collect();
            if found.is_empty() {
                let known = known().map(|row| row.name).collect::<Vec<_>>().join(", ");
                return Err(UnknownPass { name: name.to_owned(), known });
            }
            found.into_iter().for_each(|pass| set.insert(pass));
        }
        Ok(set)
    }

    /// Adds a pass.
    pub fn insert(&mut self, pass: Pass) {
        self.0 |= 1 << pass as u64;
    }

    /// Whether a pass is one of them.
    pub fn contains(self, pass: Pass) -> bool {
        self.0 & (1 << pass as u64) != 0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for PassSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = PIPELINE.iter().filter(|row| self.contains(row.pass)).map(|row| row.name).collect();
        f.write_str(if names.is_empty() { "none" } else { "" })?;
        f.write_str(&names.join(","))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn sets_parse_as_they_print() {
        let set = PassSet::named("merge, algebra", |_| true).unwrap();
        assert!(set.contains(Pass::Merge) && set.contains(Pass::Algebra) && !set.contains(Pass::Fuse));
        assert_eq!(set.to_string(), "algebra,merge");
        assert_eq!(PassSet::named(&set.to_string(), |row| row.optional).unwrap(), set);
        let former = PassSet::named("totals, quotient, recentre, settle, unify", |_| true).unwrap();
        assert_eq!(former.to_string(), "two-stage,postpone-division,correct-variance,hoist,parameterise");
        for nothing in ["", "none", " , "] {
            assert!(PassSet::named(nothing, |_| true).unwrap().is_empty());
        }
        assert_eq!(PassSet::default().to_string(), "none");
        let error = PassSet::named("fuse", |row| row.optional).unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"fuse\" is none of arguments, share, join, algebra, blocks, two-stage, merge, \
             postpone-division, correct-variance, hoist, parameterise"
        );
    }
}
