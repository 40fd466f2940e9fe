//! The handle.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use svod_dtype::DType;
use svod_ir::graph::{HeldFunctions, Leaf, Named, Op, Origin, Shape, UOp, identity, print};
use svod_ir::size::{BoundVariable, Size};

use crate::derivative::{Variable, grad_enabled};
use crate::error::{Result, TensorError, show_operands};
use crate::named;
use crate::output;
use crate::read::is_known;
use crate::realize::viewed;
use crate::step;
use crate::trace;
use crate::view::View;

/// A tensor: a handle to a lazy expression, which realizing and assigning rebind.
///
/// A clone is the same handle, as a second name for an object is: what rebinds one rebinds both.
/// [`Tensor::detach`] and any other operation give a handle of its own.
///
/// ```
/// use svod_tensor::Tensor;
/// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?;
/// let y = (&x * 2.0)?.add(&x)?;
/// assert_eq!(y.shape(), [3.into()]);
/// assert!(y.add(&Tensor::from_slice(&[1.0f32; 2], &[2])?).is_err());
/// # Ok::<(), svod_tensor::TensorError>(())
/// ```
#[derive(Clone)]
pub struct Tensor(Arc<Handle>);

pub(crate) struct Handle {
    node: RwLock<Named>,
    /// The number of the trace in which the handle was made; 0 outside of any.
    trace: u64,
    /// Writes at positions of a value that is not in memory.
    writes: AtomicU32,
    /// What the handle was taken from, where that makes it a view.
    view: Option<Arc<View>>,
    /// What derivatives are taken by, of a tensor that requires a gradient.
    variable: RwLock<Option<Arc<Variable>>>,
    /// Whether the program has said that none are.
    is_fixed: AtomicBool,
    /// The memory that it stood for before writes of a parameter that are not computed yet.
    before: Mutex<Option<UOp>>,
}

impl Handle {
    fn new(node: UOp, trace: u64, view: Option<Arc<View>>) -> Handle {
        Handle {
            node: RwLock::new(Named::new(node)),
            trace,
            writes: AtomicU32::new(0),
            view,
            variable: RwLock::new(None),
            is_fixed: AtomicBool::new(false),
            before: Mutex::new(None),
        }
    }

    /// Forgets what it stood for before, once that has a value which it stands for now.
    fn settle(&self, node: &UOp) {
        if node.is_value() {
            let before = self.before.lock().take();
            drop(before);
        }
    }

    pub(crate) fn view(&self) -> Option<&Arc<View>> {
        self.view.as_ref()
    }
}

impl Tensor {
    /// The tensor of a graph node; where gradients are off, without remembering what it follows from.
    pub fn from_uop(node: UOp) -> Tensor {
        let node = match node.is_watched() && !grad_enabled() {
            true => node.detach().unwrap_or(node),
            false => node,
        };
        named::note(&node);
        Tensor(Arc::new(Handle::new(node, trace::current(), None)))
    }

    pub(crate) fn of_handle(handle: Arc<Handle>) -> Tensor {
        Tensor(handle)
    }

    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.0
    }

    /// A handle for the value that nobody else has, which says what it was taken from.
    pub(crate) fn with_view(mut self, view: Arc<View>) -> Tensor {
        if let Some(own) = Arc::get_mut(&mut self.0) {
            own.view = Some(view);
            return self;
        }
        let node = UOp::clone(&self.0.node.read());
        Tensor(Arc::new(Handle::new(node, self.0.trace, Some(view))))
    }

    /// The tensor's node: its leaf once it is realized. Of one that follows a plan, the memory of the latest run, which
    /// is owned by whoever has the node: see [`output`](crate::output). Of a tensor from outside of the function that this
    /// thread traces, what it stands for in that.
    pub fn uop(&self) -> UOp {
        identity::begin();
        self.watched(trace::stands_for(self, self.0.trace, self.present()))
    }

    /// A value of the handle as what derivatives are taken by, if the handle is that.
    fn watched(&self, node: UOp) -> UOp {
        if node.is_watched() {
            return node;
        }
        // An input in place of it is the same variable.
        match &*self.0.variable.read() {
            Some(variable) => variable.value(&node).unwrap_or(node),
            None => node,
        }
    }

    /// Looks at what derivatives are taken by.
    pub(crate) fn with_variable<T>(&self, get: impl FnOnce(Option<&Variable>) -> T) -> T {
        get(self.0.variable.read().as_deref())
    }

    /// Looks at the variable as one of those that are told apart by identity.
    pub(crate) fn with_variable_arc<T>(&self, get: impl FnOnce(Option<&Arc<Variable>>) -> T) -> T {
        get(self.0.variable.read().as_ref())
    }

    /// Whether the program has said that the tensor requires no gradient, rather than nothing.
    pub fn is_fixed(&self) -> bool {
        self.0.is_fixed.load(Ordering::Relaxed)
    }

    pub(crate) fn set_fixed(&self, is_fixed: bool) {
        self.0.is_fixed.store(is_fixed, Ordering::Relaxed);
    }

    /// Makes this what derivatives are taken by.
    pub(crate) fn set_variable(&self, variable: Option<Arc<Variable>>) {
        let old = std::mem::replace(&mut *self.0.variable.write(), variable);
        drop(old);
    }

    /// The node that the handle has, in traces as well.
    pub(crate) fn present(&self) -> UOp {
        let node = UOp::clone(&self.0.node.read());
        if let Some(now) = output::latest(&node) {
            return now;
        }
        let now = latest(&node);
        if now != node {
            self.rebind_from(&node, now.clone());
        }
        now
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.with_node(UOp::dtype)
    }

    /// Type and extents as errors show them: `float32[3, n]`.
    pub fn described(&self) -> String {
        show_operands(&[self.uop()])
    }

    /// Extents.
    pub fn shape(&self) -> Vec<Size> {
        self.uop().shape().to_vec()
    }

    /// Extents as numbers.
    ///
    /// # Errors
    /// Where one is symbolic.
    pub fn dims(&self) -> Result<Vec<usize>> {
        self.dims_for("shape")
    }

    /// [`Tensor::dims`] for an operation, which errors name.
    pub(crate) fn dims_for(&self, op: &'static str) -> Result<Vec<usize>> {
        let node = self.uop();
        let dims: Option<Vec<usize>> = node.shape().iter().map(Size::as_usize).collect();
        dims.ok_or_else(|| TensorError::shape(op, format!("{} is symbolic", crate::error::show(node.shape()))))
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.with_node(UOp::rank)
    }

    /// Number of elements.
    pub fn numel(&self) -> Size {
        self.uop().numel()
    }

    /// The same value, with values for this run of variables that shapes below mention.
    ///
    /// ```
    /// use svod_tensor::{Size, Tensor, Variable};
    /// let n = Variable::new("n", 1, 4)?;
    /// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[4])?;
    /// let part = x.narrow(0, 0, &n)?.with_values(&[n.bind(3)?])?;
    /// assert_eq!(part.shape(), [Size::from(&n)]);
    /// assert_eq!(part.to_vec::<f32>()?, [1.0, 2.0, 3.0]);
    /// assert_eq!(part.shape(), [Size::from(3)]);
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    pub fn with_values(&self, values: &[BoundVariable]) -> Result<Tensor> {
        match values {
            [] => Ok(self.clone()),
            _ => Ok(Tensor::from_uop(self.uop().with_values(values)?)),
        }
    }

    /// Whether the value is in memory.
    pub fn is_realized(&self) -> bool {
        self.uop().is_memory()
    }

    /// The text form of what is pending.
    pub fn graph(&self) -> String {
        print::print(&[self.uop()])
    }

    /// Notes the line of the user's program that made the tensor.
    pub fn set_origin(&self, origin: &Origin) {
        self.0.node.read().set_origin(origin);
    }

    /// Whether the tensor is pending and nobody has noted yet which line made it.
    pub fn wants_origin(&self) -> bool {
        let node = self.0.node.read();
        !node.is_value() && node.origin().is_none()
    }

    /// Notes the functions of the host that this handle holds, if it has no second name.
    pub fn hold_functions(&self, held: &mut HeldFunctions) {
        if Arc::strong_count(&self.0) == 1
            && let Some(node) = self.0.node.try_read()
        {
            held.hold_node(&node);
        }
    }

    /// Whether somebody else has the handle, such as the program's own tensor.
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Whether the two are one handle.
    pub fn same(&self, other: &Tensor) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What tells the handle from others as long as it lives.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// Whether the tensor follows a plan: it shows whatever its latest run has written.
    pub fn follows(&self) -> bool {
        output::follows(&self.0.node.read())
    }

    /// A tensor that follows what this one does; any other one of the same value.
    pub fn follower(&self) -> Tensor {
        let node = self.0.node.read().clone();
        if output::follows(&node) { Tensor::from_uop(node) } else { Tensor::from_uop(self.uop()) }
    }

    /// The tensor itself, or, where it follows a plan, one that has the value of this moment.
    pub fn now(&self) -> Tensor {
        if self.follows() { Tensor::from_uop(self.uop()) } else { self.clone() }
    }

    /// A handle of its own to the same value. It is the value of this moment: of one that follows a plan that of the
    /// latest run, and of an expression over memory that was borrowed the same expression over a copy.
    pub fn kept(&self) -> Result<Tensor> {
        output::kept(self.uop()).map(Tensor::from_uop)
    }

    /// Looks at the node, outside of traces without asking for the latest run.
    pub(crate) fn with_node<T>(&self, get: impl FnOnce(&UOp) -> T) -> T {
        if trace::is_outside(self.0.trace) { get(&self.uop()) } else { get(&self.0.node.read()) }
    }

    /// Makes the handle stand for another node.
    pub(crate) fn rebind(&self, node: UOp) {
        self.0.settle(&node);
        let old = std::mem::replace(&mut *self.0.node.write(), Named::new(node));
        // Outside of the lock: the last handle to a large graph takes a while.
        drop(old);
    }

    /// Makes the handle stand for what `op` assigns to it.
    ///
    /// # Errors
    /// Where the handle is an argument of a function that is traced, where the value belongs to a trace that has ended, where the handle is a view of another one, and where its memory is a file.
    pub(crate) fn write(&self, op: &'static str, node: UOp) -> Result<()> {
        self.check_writable(op)?;
        trace::check_write(op, self.0.trace, &self.present(), &node)?;
        let (node, is_parameter) = match &*self.0.variable.read() {
            Some(variable) if variable.is_leaf() && grad_enabled() => {
                return Err(TensorError::Required { op, tensor: show_operands(&[node]) });
            }
            Some(variable) if variable.is_leaf() => (variable.value(&node)?, true),
            _ => (node, false),
        };
        let present = self.present();
        if trace::write(self, self.0.trace, &present, &node) {
            return Ok(());
        }
        if is_parameter && viewed(&present).is_some() {
            *self.0.before.lock() = Some(present);
        }
        self.stand_for_written(node);
        Ok(())
    }

    /// Whether it is a parameter that was written, and its new value is not computed yet.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.0.before.lock().is_some() && !self.0.node.read().is_value()
    }

    /// Makes a parameter whose new value cannot be computed stand for what it was before it was written.
    pub(crate) fn undo_writes(&self) {
        let before = self.0.before.lock().take();
        if let Some(before) = before {
            self.rebind(before);
        }
    }

    /// Makes handles stand for the values that the plan of a function that assigns to them gave: all of them, or none.
    ///
    /// # Errors
    /// Where a handle is a view of another one, or its memory a file.
    pub fn take_written(written: &[(&Tensor, &Tensor)]) -> Result<()> {
        step::note_replaced(written.iter().flat_map(|(tensor, _)| step::leaves(&tensor.present())));
        let mut nodes = Vec::with_capacity(written.len());
        for (tensor, value) in written {
            tensor.check_writable("assign")?;
            nodes.push(tensor.as_variable(&value.uop())?);
        }
        written.iter().zip(nodes).for_each(|((tensor, _), node)| tensor.stand_for_written(node));
        Ok(())
    }

    /// A value as the variable that the handle is, if it is one of the program's own.
    pub(crate) fn as_variable(&self, node: &UOp) -> Result<UOp> {
        let own = self.with_variable(|variable| variable.filter(|v| v.is_leaf()).map(|v| v.value(node)));
        Ok(own.transpose()?.unwrap_or_else(|| node.clone()))
    }

    /// Keeps others from the value, unless somebody looks at it now.
    pub(crate) fn try_lock(&self) -> Option<RwLockWriteGuard<'_, Named>> {
        self.0.node.try_write()
    }

    fn stand_for_written(&self, node: UOp) {
        if self.with_variable(|variable| variable.is_some_and(|variable| !variable.is_leaf())) {
            self.set_variable(None);
        }
        self.rebind(node);
    }

    /// Makes the handle stand for another value, if `change` gives one, while nobody can take the present one from it.
    pub(crate) fn exchange(&self, change: impl FnOnce(&UOp) -> Result<Option<UOp>>) -> Result<bool> {
        let mut node = self.0.node.write();
        let old = change(&node)?.map(|new| std::mem::replace(&mut *node, Named::new(new)));
        drop(node);
        Ok(old.is_some())
    }

    /// How many writes at positions were counted.
    pub(crate) fn writes(&self) -> u32 {
        self.0.writes.load(Ordering::Relaxed)
    }

    /// Counts the writes at positions since the handle's value was last in memory; 0 begins anew.
    pub(crate) fn count_writes(&self, pending: bool) -> u32 {
        match pending {
            true => self.0.writes.fetch_add(1, Ordering::Relaxed) + 1,
            false => self.0.writes.swap(0, Ordering::Relaxed),
        }
    }

    /// Makes the handle stand for `to`, which is computed of the node `from` that it was found with, unless another thread
    /// has assigned to it since. One that follows a plan shows other memory after each run.
    pub(crate) fn rebind_from(&self, from: &UOp, to: UOp) {
        loop {
            let present = UOp::clone(&self.0.node.read());
            let is_same = present == *from || output::follows(&present);
            if !is_same && self.watched(latest(&present)).resolved() != from.resolved() {
                return;
            }
            let mut node = self.0.node.write();
            if **node != present {
                continue;
            }
            self.0.settle(&to);
            let old = std::mem::replace(&mut *node, Named::new(to));
            drop(node);
            // Outside of the lock: the last handle to a large graph takes a while.
            drop(old);
            return;
        }
    }

    pub(crate) fn shape_arc(&self) -> Shape {
        self.uop().shape_arc().clone()
    }
}

/// The leaf of a forced node, with the extents that its elements have in memory.
fn latest(node: &UOp) -> UOp {
    let node = node.resolved();
    match node.op() {
        Op::Leaf(leaf) => {
            let Some(shape) = present_shape(leaf) else { return node };
            let leaf = Leaf::at(leaf.data().clone(), leaf.version(), leaf.offset(), leaf.dtype(), shape);
            UOp::leaf(leaf).expect("the type is that of a leaf that was accepted, the extents are those of a run")
        }
        Op::Multi(of) => {
            let parts = node.sources();
            let now: Vec<UOp> = parts.iter().map(latest).collect();
            if now[..] == parts[..] {
                return node;
            }
            UOp::multi(&now, &of.with_parts(&now)).expect("parts of a run differ along the axis that is cut only")
        }
        _ => node,
    }
}

/// The extents of a leaf's elements, where they are not those that it says. Memory that nothing was written to, such as
/// that which plans are given when they run, has none yet.
fn present_shape(leaf: &Leaf) -> Option<Shape> {
    let is_open = leaf.shape().iter().any(|n| n.as_const().is_none());
    if !leaf.class().is_constant() || !is_open || !is_known(leaf) {
        return None;
    }
    let values = leaf.bindings();
    leaf.shape().iter().map(|n| n.eval_bound(&values).ok().map(Size::from)).collect()
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let node = self.uop();
        let state = if node.is_memory() { "realized" } else { "lazy" };
        write!(f, "Tensor({}, {}, {state})", crate::error::show_typed(node.dtype(), node.shape()), self.device())
    }
}
