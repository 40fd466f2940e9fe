//! Plans: computing the same expression many times.

use std::sync::Arc;

use svod_device::Buffer;
use svod_dtype::DType;
use svod_ir::graph::{Graph, Leaf, Op, Shape, UOp};
use svod_runtime::{Context, ExecutionPlan, Feed, Memory, PrepareConfig, Profile};

use crate::error::{Result, TensorError, show_typed};
use crate::lookups::Lookups;
use crate::realize::{check_leaves, viewed, without_kernel};
use crate::tensor::Tensor;

impl Tensor {
    /// Prepares the computation of this value: schedules, compiles and allocates, but does not run.
    /// The tensor then stands for the plan's output, which each [`Plan::execute`] writes; others
    /// that share the expression stay as they are. `inputs` are tensors in memory that runs may be
    /// given anew; all other memory is constant.
    ///
    /// ```
    /// # use svod_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
    /// let y = x.mul(&x)?;
    /// let plan = y.prepare(&[&x])?;
    /// plan.execute()?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 4.0]);
    /// plan.execute_on(&[&Tensor::from_slice(&[3.0f32, 4.0], &[2])?], &[])?;
    /// assert_eq!(y.to_vec::<f32>()?, [9.0, 16.0]);
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    pub fn prepare(&self, inputs: &[&Tensor]) -> Result<Plan> {
        self.prepare_with(inputs, &PrepareConfig::from_env())
    }

    /// [`Tensor::prepare`] by this configuration.
    pub fn prepare_with(&self, inputs: &[&Tensor], config: &PrepareConfig) -> Result<Plan> {
        prepare(&[self], inputs, config)
    }

    /// Prepares several values as one plan, shared work once.
    ///
    /// # Errors
    /// Also where nothing is pending.
    pub fn prepare_batch(tensors: &[&Tensor], inputs: &[&Tensor]) -> Result<Plan> {
        Tensor::prepare_batch_with(tensors, inputs, &PrepareConfig::from_env())
    }

    /// [`Tensor::prepare_batch`] by this configuration.
    pub fn prepare_batch_with(tensors: &[&Tensor], inputs: &[&Tensor], config: &PrepareConfig) -> Result<Plan> {
        if tensors.iter().all(|t| t.is_realized()) {
            return Err(TensorError::value("prepare", "nothing is pending: all tensors are in memory"));
        }
        prepare(tensors, inputs, config)
    }
}

/// A prepared computation. See [`ExecutionPlan`] for what it is made of.
#[derive(Debug)]
pub struct Plan {
    plan: ExecutionPlan,
    inputs: Vec<(DType, Shape)>,
    outputs: Vec<Shape>,
    lookups: Lookups,
}

fn prepare(tensors: &[&Tensor], inputs: &[&Tensor], config: &PrepareConfig) -> Result<Plan> {
    let given = inputs.iter().enumerate().map(|(i, t)| input_leaf(i, t)).collect::<Result<Vec<_>>>()?;
    let constant: Vec<usize> = (0..given.len()).filter(|&i| given[i].1).collect();
    let leaves: Vec<Leaf> = given.into_iter().map(|(leaf, _)| leaf).collect();
    let mut roots = Vec::with_capacity(tensors.len());
    for tensor in tensors {
        let node = tensor.uop();
        let of_input = viewed(&node).is_some_and(|leaf| leaves.contains(&leaf));
        let value = if of_input { None } else { without_kernel(&node)? };
        if let Some(value) = &value {
            tensor.rebind(value.clone());
        }
        roots.push(value.unwrap_or(node));
    }
    let graph = Graph::new(&roots);
    check_leaves(&graph)?;
    let reads = |leaf: &Leaf| graph.nodes().iter().any(|n| matches!(n.op(), Op::Leaf(l) if l == leaf));
    if let Some(&i) = constant.iter().find(|&&i| !reads(&leaves[i])) {
        let message = format!("input {i} was a constant when the expression was built; realize it before that");
        return Err(TensorError::value("prepare", message));
    }
    let (lookups, flags) = Lookups::of(&graph, &leaves)?;
    let all: Vec<UOp> = roots.iter().cloned().chain(flags).collect();
    let plan = Context::global().plan(&all, &leaves, &config.clone().for_plan())?;
    if plan.output_count() != all.len() {
        let (tensors, outputs) = (tensors.len(), plan.output_count().saturating_sub(lookups.flags()));
        return Err(svod_runtime::Error::BatchMismatch { tensors, outputs }.into());
    }
    for ((tensor, root), memory) in tensors.iter().zip(&roots).zip(plan.output_memory()) {
        if !matches!(root.op(), Op::Leaf(_)) {
            tensor.rebind(output_leaf(memory, root.shape_arc())?);
        }
    }
    Ok(Plan {
        plan,
        inputs: leaves.iter().map(|l| (l.dtype(), l.shape().clone())).collect(),
        outputs: roots.iter().map(|r| r.shape_arc().clone()).collect(),
        lookups,
    })
}

/// The leaf of an input, and whether the tensor was a constant until now.
fn input_leaf(i: usize, tensor: &Tensor) -> Result<(Leaf, bool)> {
    let constant = tensor.uop().uniform().is_some();
    tensor.realize()?;
    match tensor.uop().op() {
        Op::Leaf(leaf) => Ok((leaf.clone(), constant)),
        _ => Err(TensorError::value("prepare", format!("input {i} is not in memory"))),
    }
}

fn output_leaf(memory: &Arc<Memory>, shape: &Shape) -> Result<UOp> {
    let buffer = memory.buffer();
    Ok(UOp::leaf(Leaf::new(memory.clone(), buffer.offset() as u64, buffer.dtype(), shape.clone()))?)
}

impl Plan {
    /// Runs the plan; the tensors that it was prepared for then have the results.
    ///
    /// # Errors
    /// Also, after the run, where an index that the plan computed was outside of its dimension.
    pub fn execute(&self) -> Result<()> {
        self.execute_feeds(&[], &[])
    }

    /// Runs the plan on new inputs, in order, those not given as they were, and with new values
    /// for variables.
    pub fn execute_on(&self, inputs: &[&Tensor], variables: &[(&str, i64)]) -> Result<()> {
        let buffers = inputs.iter().enumerate().map(|(i, t)| self.fitting(i, t)).collect::<Result<Vec<_>>>()?;
        let feeds: Vec<Feed> = buffers.iter().map(|b| Feed::Buffer(b)).collect();
        self.execute_feeds(&feeds, variables)
    }

    /// [`Plan::execute_on`] with inputs given as memory.
    pub fn execute_feeds(&self, inputs: &[Feed], variables: &[(&str, i64)]) -> Result<()> {
        for (i, feed) in inputs.iter().enumerate() {
            self.check_feed(i, *feed)?;
        }
        self.plan.execute_with(inputs, variables)?;
        self.check_flags()
    }

    /// Runs the kernels one by one and takes the time of each.
    pub fn execute_profiled(&self) -> Result<Profile> {
        let profile = self.plan.execute_profiled()?;
        self.check_flags()?;
        Ok(profile)
    }

    /// Sets an input for later runs.
    pub fn set_input(&self, i: usize, value: &Tensor) -> Result<()> {
        let buffer = self.fitting(i, value)?;
        self.set_feed(i, Feed::Buffer(&buffer))
    }

    /// [`Plan::set_input`] with memory.
    pub fn set_feed(&self, i: usize, feed: Feed) -> Result<()> {
        self.check_feed(i, feed)?;
        Ok(self.plan.set_input(i, feed)?)
    }

    /// Another instance, which shares code and constants, for concurrent use.
    pub fn instance(&self) -> Result<Plan> {
        let plan = self.plan.instance()?;
        Ok(Plan { plan, inputs: self.inputs.clone(), outputs: self.outputs.clone(), lookups: self.lookups.clone() })
    }

    /// Types and shapes of the inputs.
    pub fn inputs(&self) -> &[(DType, Shape)] {
        &self.inputs
    }

    /// The outputs as tensors: each is at the latest run.
    pub fn outputs(&self) -> Result<Vec<Tensor>> {
        let outputs = self.plan.output_memory().iter().zip(&self.outputs);
        outputs.map(|(memory, shape)| output_leaf(memory, shape).map(Tensor::from_uop)).collect()
    }

    /// The elements of an output.
    pub fn read_output(&self, i: usize) -> Result<Vec<u8>> {
        Ok(self.plan.read_output(i)?)
    }

    /// What the plan is made of.
    pub fn execution(&self) -> &ExecutionPlan {
        &self.plan
    }

    /// The memory of a tensor that fits an input.
    fn fitting(&self, i: usize, value: &Tensor) -> Result<Arc<Buffer>> {
        if let Some((dtype, shape)) = self.inputs.get(i) {
            let (given, expected) = (show_typed(value.dtype(), &value.shape()), show_typed(*dtype, shape));
            let message = || format!("input {i} is {expected}, not {given}");
            if value.dtype() != *dtype {
                return Err(TensorError::dtype("execute", message()));
            }
            if value.shape() != **shape {
                return Err(TensorError::shape("execute", message()));
            }
        }
        value.buffer()
    }

    fn check_feed(&self, i: usize, feed: Feed) -> Result<()> {
        let Some((dtype, _)) = self.inputs.get(i) else {
            let message = format!("input {i} was given, but the plan has {}", self.inputs.len());
            return Err(TensorError::value("execute", message));
        };
        match feed {
            Feed::Keep => Ok(()),
            Feed::Bytes(bytes) => self.lookups.check_input(i, *dtype, || Ok(bytes.to_vec())),
            Feed::Buffer(buffer) => self.lookups.check_input(i, *dtype, || Ok(buffer.to_vec()?)),
        }
    }

    fn check_flags(&self) -> Result<()> {
        let checked = self.lookups.check_flags(|i| Ok(self.plan.read_output(self.outputs.len() + i)?));
        checked.inspect_err(|_| self.plan.invalidate())
    }
}
