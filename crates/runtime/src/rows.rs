//! What iterations of a loop make, each in its row of one buffer.

use crate::plan::{CustomArgs, CustomError, CustomFunction};
use svod_ir::size::{Size, Variable};

/// Copies argument 1 to a row of argument 0: that of the value which a loop's variable has.
pub(crate) struct Row {
    /// The variable; row 0 is that of its least value.
    pub var: Variable,
    /// Elements of a row.
    pub each: Size,
}

impl CustomFunction for Row {
    fn kind(&self) -> &str {
        "row"
    }

    fn variables(&self) -> Vec<Variable> {
        self.each.variables().into_iter().filter(|var| *var != self.var).collect()
    }

    fn call(&self, args: &CustomArgs) -> Result<(), CustomError> {
        let failed = |error: &dyn std::fmt::Display| CustomError::Failed(error.to_string());
        let (Some(to), Some(from)) = (args.buffer(0), args.buffer(1)) else { return Err(CustomError::Unsupported) };
        let each = self.each.eval(&|v: &Variable| args.var(v.name())).map_err(|e| failed(&e))?;
        let at = args.var(self.var.name()).ok_or(CustomError::Unsupported)? - Variable::min(&self.var);
        let (Ok(each), Ok(at)) = (usize::try_from(each), usize::try_from(at)) else {
            return Err(failed(&format!("row {at} of {each} elements")));
        };
        let row = to.view(at * each * to.dtype().bytes(), to.dtype(), each).map_err(|e| failed(&e))?;
        let value = from.view(0, from.dtype(), each).map_err(|e| failed(&e))?;
        row.copy_from(&value).map_err(|e| failed(&e))
    }
}
