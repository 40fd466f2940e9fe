//! What passes read and give, as the runner sees it.

use crate::graph::verify::{Phase, faults};
use crate::graph::{Graph, UOp};
use crate::kernel::Kernel;
use crate::linear::Linear;
use crate::lowered::Lowered;
use std::sync::Arc;

/// Something that a pass reads or gives: it may have rules, and a text form.
pub trait Artifact {
    /// Whether it keeps the rules of its representation.
    ///
    /// # Errors
    /// The rules that it breaks, one a line.
    fn verify(&self) -> Result<(), String> {
        Ok(())
    }

    /// Its text form, if it has one.
    fn text(&self) -> Option<String> {
        None
    }
}

macro_rules! artifacts {
    ($($(#[$about:meta])* $ty:ty: $it:ident => $faults:expr;)*) => {
        $(impl Artifact for $ty {
            fn verify(&self) -> Result<(), String> {
                let $it = self;
                let faults: Vec<String> = $faults.into_iter().map(|fault| fault.to_string()).collect();
                if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
            }

            fn text(&self) -> Option<String> {
                Some(self.to_string())
            }
        })*
    };
}

artifacts! {
    Graph: it => faults(it, Phase::Built);
    Kernel: it => it.faults();
    Lowered: it => it.faults();
    Linear: it => it.verify().err();
    String: _it => None::<String>;
}

impl Artifact for () {}

/// Machine code.
impl Artifact for Vec<u8> {}

/// What the user built.
impl Artifact for [UOp] {}

macro_rules! through {
    ($(($($generic:tt)*) $ty:ty: $it:ident => $inner:expr;)*) => {
        $(impl<$($generic)*> Artifact for $ty {
            fn verify(&self) -> Result<(), String> {
                let $it = self;
                $inner.into_iter().try_for_each(|inner| inner.verify())
            }

            fn text(&self) -> Option<String> {
                let $it = self;
                let texts: Vec<String> = $inner.into_iter().filter_map(|inner| inner.text()).collect();
                (!texts.is_empty()).then(|| texts.join("\n"))
            }
        })*
    };
}

through! {
    (T: Artifact) Option<T>: it => it;
    (T: Artifact, E) Result<T, E>: it => it;
    (T: Artifact) [T]: it => it;
    (T: Artifact) Arc<T>: it => [&**it];
    (T: Artifact) Vec<T>: it => it;
}
