//! Code that was made, by its text.

use crate::CompileError;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Texts that are remembered: more than a model has kernels that are written as wholes.
const MOST: usize = 32;

/// The code of the last kernels that are written as wholes, by their LLVM text. That has no sizes in it, so that for sizes which
/// come up one by one it is most often known.
#[derive(Debug, Default)]
pub struct Texts(Mutex<VecDeque<(String, Vec<u8>)>>);

impl Texts {
    /// The code of a text, which is made unless it is known.
    pub(super) fn code(
        &self,
        text: &str,
        make: impl FnOnce() -> Result<Vec<u8>, CompileError>,
    ) -> Result<Vec<u8>, CompileError> {
        let all = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, code)) = all().iter().find(|(known, _)| known == text) {
            return Ok(code.clone());
        }
        let code = make()?;
        let mut known = all();
        if known.len() == MOST {
            known.pop_front();
        }
        known.push_back((text.to_owned(), code.clone()));
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_text_is_made_once_and_few_are_kept() {
        let texts = Texts::default();
        let of = |n: usize| texts.code(&format!("text {n}"), || Ok(vec![n as u8])).unwrap();
        assert_eq!((of(1), of(1)), (vec![1], vec![1]));
        assert_eq!(texts.code("text 1", || panic!("it is known")).unwrap(), [1]);
        (0..100).for_each(|n| assert_eq!(of(n), [n as u8]));
        assert_eq!(texts.0.lock().unwrap().len(), MOST);
        assert!(texts.code("text 3", || Err(CompileError::Unsupported("so".into()))).is_err());
    }
}
