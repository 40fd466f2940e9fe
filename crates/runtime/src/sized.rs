//! Code of a kernel for certain sizes, made when these come up.
//!
//! Devices that have whole kernels of products and attention make them for sizes that are numbers: these are arguments of their
//! launches, and decide the tile. Where a kernel's sizes are variables, a plan compiles it for any, and once more for the
//! values at hand where the device has such a kernel for them. Texts are alike for most sizes, and loaded once.

use crate::code::{Job, KernelCode, Optimizer, compile};
use crate::context::Context;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use svod_ir::kernel::Kernel;
use svod_ir::lowered::Lowered;
use svod_ir::size::Variable;
use svod_schedule::{at_values, has_product};

/// Sets of values that are remembered.
const MOST: usize = 256;

/// Code by the values of a kernel's variables.
pub(crate) struct Sized {
    job: Job,
    known: Mutex<VecDeque<Known>>,
}

/// Values, and the code for these, if there is any of its own.
type Known = (Vec<i64>, Option<Arc<KernelCode>>);

impl Sized {
    /// Of a kernel whose variables may decide whether a device has a whole kernel.
    pub fn of(job: &Job) -> Option<Sized> {
        let Job { kernel, target, optimizer, .. } = job;
        let may = target.groups.is_some()
            && target.matrix.warp.is_some()
            && *optimizer == Optimizer::Heuristic
            && !kernel.vars.is_empty()
            && has_product(kernel);
        may.then(|| Sized { job: job.clone(), known: Mutex::default() })
    }

    /// The code for these values of these variables; nothing where that for any will do.
    pub fn at(&self, context: &Context, vars: &[Variable], values: &[i64]) -> Option<Arc<KernelCode>> {
        let mut known = self.known.lock();
        if let Some((_, code)) = known.iter().find(|(of, _)| of == values) {
            return code.clone();
        }
        let bound: Vec<(Variable, i64)> = vars.iter().cloned().zip(values.iter().copied()).collect();
        // What does not compile for a size is what the code for any is for.
        let code = self.made(context, &bound);
        if known.len() == MOST {
            known.pop_front();
        }
        known.push_back((values.to_vec(), code.clone()));
        code
    }

    fn made(&self, context: &Context, values: &[(Variable, i64)]) -> Option<Arc<KernelCode>> {
        let named =
            |v: &Variable| values.iter().find(|(known, _)| known.name() == v.name()).map(|(_, n)| (v.clone(), *n));
        let values = self.job.kernel.vars.iter().map(named).collect::<Option<Vec<_>>>()?;
        let kernel = at_values(&self.job.kernel, &values);
        let is_whole = |made: &Lowered| made.product().is_some() || made.attention().is_some();
        let made = self.job.lowered(&kernel)?;
        (kernel.vars.is_empty() && is_whole(&made)).then_some(())?;
        let code = compile(context, &Job { kernel: Arc::new(kernel), ..self.job.clone() }).ok()?;
        let same = |kernel: &Kernel| code.spec().globals.iter().copied().eq(0..kernel.params.len());
        (code.programs().len() == 1 && code.spec().vars.is_empty() && same(&self.job.kernel)).then_some(code)
    }
}

impl fmt::Debug for Sized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} for {} sizes", self.job.kernel.name, self.known.lock().len())
    }
}
