//! Symbolic variables and their bindings.

use std::fmt;
use std::sync::Arc;

use super::{Size, SizeError};
use crate::text::is_name;

/// The variable whose value is the index of a task.
pub const CORE_ID: &str = "core_id";

/// A named integer that is given anew at each run, within inclusive bounds.
///
/// Variables are equal where name and bounds are. Buffers are sized for the maximum.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Variable {
    name: Arc<str>,
    min: i64,
    max: i64,
}

impl Variable {
    /// A user's variable `name` in `min..=max`.
    ///
    /// # Errors
    /// [`SizeError::BadName`] where `name` is not an identifier, [`SizeError::Reserved`] where it is one that
    /// svod gives itself, [`SizeError::EmptyRange`] where `min > max`.
    pub fn new(name: &str, min: i64, max: i64) -> Result<Self, SizeError> {
        let letter = |c: char| c.is_alphabetic() || c == '_';
        let identifier = name.starts_with(letter)
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
            && !matches!(name, "min" | "max");
        if !identifier {
            return Err(SizeError::BadName(name.to_owned()));
        }
        if is_reserved(name) {
            return Err(SizeError::Reserved(name.to_owned()));
        }
        Variable::internal(name, min, max)
    }

    /// A variable of svod's own, such as an axis of a kernel or the number of a loop's iteration. Its name is a
    /// word of the text forms, which may be one that [`Variable::new`] refuses, so that no user's variable
    /// is taken for it.
    ///
    /// # Errors
    /// [`SizeError::BadName`] where `name` is no word, [`SizeError::EmptyRange`] where `min > max`.
    pub fn internal(name: &str, min: i64, max: i64) -> Result<Self, SizeError> {
        if !is_name(name) {
            return Err(SizeError::BadName(name.to_owned()));
        }
        if min > max {
            return Err(SizeError::EmptyRange { name: name.to_owned(), min, max });
        }
        Ok(Variable { name: name.into(), min, max })
    }

    /// The counter of so many points, from 0 on: its bounds hold each of them.
    ///
    /// # Errors
    /// [`SizeError::BadName`] where `name` is no word.
    pub fn counter(name: &str, points: &Size) -> Result<Self, SizeError> {
        Variable::internal(name, 0, points.bounds().1.saturating_sub(1).max(0))
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The least value it may take.
    pub fn min(&self) -> i64 {
        self.min
    }

    /// The greatest value it may take.
    pub fn max(&self) -> i64 {
        self.max
    }

    /// Whether it is one of svod's own, such as the number of a loop's iteration, whose name no user's variable can have.
    pub fn is_internal(&self) -> bool {
        self.name.contains('.')
    }

    /// The variable with a value.
    ///
    /// # Errors
    /// [`SizeError::OutOfRange`] where `value` is outside the bounds.
    pub fn bind(&self, value: i64) -> Result<BoundVariable, SizeError> {
        self.check(value)?;
        Ok(BoundVariable { variable: self.clone(), value })
    }

    /// An error where `value` is outside the bounds.
    pub fn check(&self, value: i64) -> Result<(), SizeError> {
        if (self.min..=self.max).contains(&value) {
            return Ok(());
        }
        Err(SizeError::OutOfRange { name: self.name.to_string(), value, min: self.min, max: self.max })
    }
}

/// Whether kernels call something else so: an axis, the index of a task, or what text forms have words for.
fn is_reserved(name: &str) -> bool {
    let numbered = |rest: &str| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    name == CORE_ID || name.strip_prefix('a').is_some_and(numbered) || !is_name(name)
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

/// A [`Variable`] with a value inside its bounds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BoundVariable {
    variable: Variable,
    value: i64,
}

impl BoundVariable {
    /// The variable.
    pub fn variable(&self) -> &Variable {
        &self.variable
    }

    /// Its value.
    pub fn value(&self) -> i64 {
        self.value
    }
}

impl fmt::Display for BoundVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.variable, self.value)
    }
}
