//! Constant operands in the layout that a kernel reads, packed once and shared by plans.

use crate::code::Pack;
use crate::context::{Context, max_count};
use crate::error::{Error, Result};
use crate::plan::{ExecutionPlanBuilder, PlanOp, Role};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::{Arc, Weak};
use svod_device::Buffer;
use svod_ir::Key;
use svod_ir::graph::Leaf;
use svod_ir::size::{BoundVariable, Variable};

/// Packed buffers that some plan holds.
#[derive(Default)]
pub(crate) struct PackCache(Mutex<FxHashMap<PackKey, Weak<Buffer>>>);

/// What a packed buffer is made of: storage, version and offset of each operand, and the layout.
type PackKey = (SmallVec<[(u64, u64, u64); 2]>, Key);

impl PackCache {
    /// Number of packed buffers that are in use.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().values().filter(|b| b.strong_count() > 0).count()
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}

/// The packed operand that `pack` makes of a kernel's arguments; `leaves` are those that are
/// leaves, and `fixed` the variables whose values they are sized for. Packed now, unless a plan holds it already.
pub(crate) fn packed(
    context: &Arc<Context>,
    pack: &Pack,
    args: &[Arc<Buffer>],
    leaves: &[Option<&Leaf>],
    fixed: &[BoundVariable],
) -> Result<Arc<Buffer>> {
    let spec = pack.code.spec();
    let of = |slot: &usize| {
        let leaf = leaves.get(*slot).copied().flatten();
        leaf.map(|l| (l.storage(), l.version(), l.offset()))
            .ok_or_else(|| Error::Unsupported(format!("packing argument {slot}, which is no constant leaf")))
    };
    let key = (spec.ins.iter().map(of).collect::<Result<_>>()?, pack.key);
    if let Some(known) = context.packs.0.lock().get(&key).and_then(Weak::upgrade) {
        return Ok(known);
    }
    let buffer = self::pack(context, pack, args, fixed)?;
    let cache = &mut *context.packs.0.lock();
    cache.retain(|_, buffer| buffer.strong_count() > 0);
    // Another thread may have packed the same meanwhile: either copy will do.
    cache.insert(key, Arc::downgrade(&buffer));
    Ok(buffer)
}

/// What `pack` makes of a kernel's arguments, sized for these variables' values, now.
pub(crate) fn pack(
    context: &Arc<Context>,
    pack: &Pack,
    args: &[Arc<Buffer>],
    fixed: &[BoundVariable],
) -> Result<Arc<Buffer>> {
    let spec = pack.code.spec();
    let Some(param) = spec.ast.params.last() else {
        return Err(Error::Unsupported("a pack kernel without parameters".into()));
    };
    let buffer = Arc::new(context.buffer(pack.code.device().spec(), param.dtype, max_count(&param.shape)?)?);
    let mut builder = ExecutionPlanBuilder::new(context);
    let mut buffers: Vec<usize> = args.iter().map(|b| builder.buffer(b.clone(), Role::Given)).collect();
    let out = builder.buffer(buffer.clone(), Role::Output);
    buffers.push(out);
    builder.op(PlanOp::kernel(pack.code.clone(), buffers));
    builder.outputs(vec![out]);
    // The kernel's variables size operands that are not packed: any value will do.
    let known = |v: &Variable| fixed.iter().find(|b| b.variable() == v).cloned();
    let value = |v: &Variable| known(v).or_else(|| v.bind(Variable::min(v)).ok());
    builder.bind(&spec.vars.iter().filter_map(value).collect::<Vec<_>>()).fix(fixed);
    // Arguments that packing does not read are allocated for it all the same: the plan that they
    // belong to decides later where they lie.
    let unused: Vec<&Arc<Buffer>> = args.iter().filter(|b| !b.is_allocated()).collect();
    builder.build()?.execute()?;
    for buffer in unused {
        buffer.storage().release();
    }
    // What is read from now on is the packed operand.
    for buffer in args {
        buffer.evict();
    }
    Ok(buffer)
}
