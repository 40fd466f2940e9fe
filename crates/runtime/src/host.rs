//! Functions of the host as steps of plans: what a graph's [`HostFunction`] is made of.

use crate::control::Control;
use crate::error::{Error, Result};
use crate::plan::{CustomArgs, CustomError, CustomFunction};
use std::any::Any;
use std::sync::{Arc, LazyLock};
use svod_device::{Allocator, Buffer, CpuAllocator, DeviceSpec};
use svod_dtype::DType;
use svod_ir::graph::{HostCall, HostFunction, Shape};
use svod_ir::size::{Size, Variable};

/// Types and shapes of the results over types and shapes of the operands.
pub type HostRule = dyn Fn(&[(DType, &[Size])]) -> std::result::Result<Vec<(DType, Shape)>, String> + Send + Sync;

/// What a function does with what it holds and its arguments.
type HostWork = dyn Fn(&dyn Any, &HostArgs) -> std::result::Result<(), CustomError> + Send + Sync;

/// What a function holds.
trait State: Any + Send + Sync {
    /// The same, held once more.
    fn another(&self) -> Box<dyn State>;
}

impl<T: Any + Clone + Send + Sync> State for T {
    fn another(&self) -> Box<dyn State> {
        Box::new(self.clone())
    }
}

/// What a function is called with: an operand or a result, dense and row-major.
#[derive(Debug)]
pub struct HostValue {
    /// The elements.
    pub buffer: Buffer,
    /// Extents in this run.
    pub extents: Vec<usize>,
}

/// A call of a function.
pub struct HostArgs<'a> {
    /// What it reads.
    pub operands: Vec<HostValue>,
    /// What it writes.
    pub results: Vec<HostValue>,
    var: &'a dyn Fn(&str) -> Option<i64>,
}

impl HostArgs<'_> {
    /// The value of a variable: that of a loop that the call is in, else that of the run.
    pub fn var(&self, name: &str) -> Option<i64> {
        (self.var)(name)
    }
}

/// A function that graphs may name: a rule for what it makes, and what it does.
///
/// It runs on the thread that executes the plan, alone, and may use svod itself, the plan that is
/// executing excepted.
pub struct Function {
    name: String,
    rule: Arc<HostRule>,
    call: Arc<HostWork>,
    state: Box<dyn State>,
    takes_batches: bool,
}

impl Function {
    /// A function of this name.
    pub fn new(
        name: impl Into<String>,
        rule: impl Fn(&[(DType, &[Size])]) -> std::result::Result<Vec<(DType, Shape)>, String> + Send + Sync + 'static,
        call: impl Fn(&HostArgs) -> std::result::Result<(), CustomError> + Send + Sync + 'static,
    ) -> Arc<Function> {
        Function::holding(name, (), rule, move |(), args| call(args))
    }

    /// A function of this name of the last dimensions: those before them are of examples, computed each by itself.
    pub fn of_last_dimensions(
        name: impl Into<String>,
        rule: impl Fn(&[(DType, &[Size])]) -> std::result::Result<Vec<(DType, Shape)>, String> + Send + Sync + 'static,
        call: impl Fn(&HostArgs) -> std::result::Result<(), CustomError> + Send + Sync + 'static,
    ) -> Arc<Function> {
        let (rule, call) = (Arc::new(rule), Arc::new(move |_: &dyn Any, args: &HostArgs| call(args)));
        Arc::new(Function { name: name.into(), rule, call, state: Box::new(()), takes_batches: true })
    }

    /// A function that is called with what it holds. A plan holds it once more, as a clone.
    pub fn holding<T: Any + Clone + Send + Sync>(
        name: impl Into<String>,
        state: T,
        rule: impl Fn(&[(DType, &[Size])]) -> std::result::Result<Vec<(DType, Shape)>, String> + Send + Sync + 'static,
        call: impl Fn(&T, &HostArgs) -> std::result::Result<(), CustomError> + Send + Sync + 'static,
    ) -> Arc<Function> {
        let call = move |state: &dyn Any, args: &HostArgs| {
            call(state.downcast_ref().expect("a function is called with a clone of the state it was made with"), args)
        };
        let (rule, call) = (Arc::new(rule), Arc::new(call));
        Arc::new(Function { name: name.into(), rule, call, state: Box::new(state), takes_batches: false })
    }

    /// What it holds, if that is of this type.
    pub fn state<T: Any>(&self) -> Option<&T> {
        (&*self.state as &dyn Any).downcast_ref()
    }

    /// The same function under another identity, with a clone of what it holds.
    fn another(&self) -> Function {
        let (rule, call, state) = (self.rule.clone(), self.call.clone(), self.state.another());
        Function { name: self.name.clone(), rule, call, state, takes_batches: self.takes_batches }
    }
}

impl HostFunction for Function {
    fn name(&self) -> &str {
        &self.name
    }

    fn infer(&self, operands: &[(DType, &[Size])]) -> std::result::Result<Vec<(DType, Shape)>, String> {
        (self.rule)(operands)
    }

    fn takes_batches(&self) -> bool {
        self.takes_batches
    }
}

/// A function for a plan to hold, apart from the graph that it was made of: what both hold, each holds for itself.
pub(crate) fn owned(call: &HostCall) -> Result<HostCall> {
    match call.downcast::<Function>() {
        Some(function) => Ok(HostCall::new(Arc::new(function.another()))),
        None if call.downcast::<Control>().is_some() => Ok(call.clone()),
        None => Err(Error::Unsupported(format!("host function {call}, which is declared only"))),
    }
}

/// A function as a step of a plan, with the shapes of its arguments.
pub(crate) struct HostStep {
    call: HostCall,
    outputs: usize,
    shapes: Arc<[Shape]>,
}

impl HostStep {
    /// A call of a function that the plan [`owned`].
    pub(crate) fn new(call: HostCall, outputs: usize, shapes: Arc<[Shape]>) -> HostStep {
        HostStep { call, outputs, shapes }
    }
}

impl CustomFunction for HostStep {
    fn kind(&self) -> &str {
        self.call.function().name()
    }

    fn host(&self) -> Option<&HostCall> {
        Some(&self.call)
    }

    fn variables(&self) -> Vec<Variable> {
        self.shapes.iter().flat_map(|s| s.iter()).flat_map(Size::variables).collect()
    }

    fn call(&self, args: &CustomArgs) -> std::result::Result<(), CustomError> {
        let failed = |error: &dyn std::fmt::Display| CustomError::Failed(error.to_string());
        let function = self.call.downcast::<Function>().ok_or(CustomError::Unsupported)?;
        let mut values = values_of(args, &self.shapes)?;
        // Functions of the host read and write its memory: of other devices it has copies.
        let there = values.iter_mut().map(|value| on_host(&mut value.buffer)).collect::<svod_device::Result<Vec<_>>>();
        let there = there.map_err(|e| failed(&e))?;
        let copied = |done: svod_device::Result<()>| done.map_err(|e| failed(&e));
        for (value, there) in values.iter().zip(&there).skip(self.outputs) {
            if let Some(there) = there {
                copied(value.buffer.copy_from(there))?;
            }
        }
        let operands = values.split_off(self.outputs);
        let args = HostArgs { operands, results: values, var: &|name| args.var(name) };
        (function.call)(&*function.state as &dyn Any, &args)?;
        for (value, there) in args.results.iter().zip(&there) {
            if let Some(there) = there {
                copied(there.copy_from(&value.buffer))?;
            }
        }
        Ok(())
    }
}

/// The arguments of a step, of these extents in this run.
pub(crate) fn values_of(args: &CustomArgs, shapes: &[Shape]) -> std::result::Result<Vec<HostValue>, CustomError> {
    let failed = |error: &dyn std::fmt::Display| CustomError::Failed(error.to_string());
    let mut values = Vec::with_capacity(shapes.len());
    for (i, shape) in shapes.iter().enumerate() {
        let whole = args.buffer(i).ok_or_else(|| failed(&format!("argument {i} has no buffer")))?;
        let extent = |n: &Size| {
            let value = n.eval(&|v: &Variable| args.var(v.name())).map_err(|e| failed(&e))?;
            usize::try_from(value).map_err(|_| failed(&format!("extent {n} is {value}")))
        };
        let extents = shape.iter().map(extent).collect::<std::result::Result<Vec<usize>, _>>()?;
        // Functions know pairs of real numbers where a buffer is of complex ones.
        let buffer = whole.view(0, whole.dtype().real(), extents.iter().product()).map_err(|e| failed(&e))?;
        values.push(HostValue { buffer, extents });
    }
    Ok(values)
}

/// Puts memory of the host in the place of a buffer that the host does not see, and gives that.
fn on_host(buffer: &mut Buffer) -> svod_device::Result<Option<Buffer>> {
    if buffer.storage().allocator().host_visible() {
        return Ok(None);
    }
    static HOST: LazyLock<Arc<dyn Allocator>> = LazyLock::new(|| Arc::new(CpuAllocator::new(DeviceSpec::CPU)));
    let own = Buffer::new(&HOST, buffer.dtype(), buffer.count())?;
    Ok(Some(std::mem::replace(buffer, own)))
}
