//! Values on devices: moved there, placed, or spread over several.

use std::ops::Range;
use std::sync::Arc;

use svod_device::DeviceSpec;
use svod_ir::graph::{Device, Place, Sharding, Split, UOp};
use svod_ir::size::Size;
use svod_runtime::{Context, PrepareConfig};

use crate::error::{Result, TensorError};
use crate::operand::axis_of;
use crate::tensor::Tensor;

/// Whether parts of an axis are those that [`Tensor::shard`] makes.
fn is_even(split: &Split) -> bool {
    *split == Split::even(split.axis, split.extent(), split.extents.len())
}

/// The same devices, for a value of this extent along the axis that is cut, if they have even parts of it.
pub(crate) fn even_cut(of: &Sharding, extent: Option<&Size>) -> Option<Arc<Sharding>> {
    let split = of.split().filter(|split| is_even(split))?;
    let split = Split::even(split.axis, extent?.clone(), split.extents.len());
    Sharding::new(of.devices().to_vec(), Some(split)).ok()
}

/// Whether two values whose extents are the same are cut at the same positions for the same devices.
pub(crate) fn is_cut_alike(a: &Sharding, b: &Sharding) -> bool {
    let even = |split: Option<&Split>| split.filter(|split| is_even(split)).map(|split| split.axis);
    a == b || a.devices() == b.devices() && even(a.split()).is_some() && even(a.split()) == even(b.split())
}

impl Tensor {
    /// The value on a device, by its name: a copy where it is on another one; what is on none, such as
    /// constants and what follows from them, is computed there. Lazy, as everything.
    ///
    /// ```
    /// use svod_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
    /// let there = x.to("CPU:1")?;
    /// assert_eq!(there.device().name(), "CPU:1");
    /// assert!(x.add(&there).is_err());
    /// assert_eq!(x.add(&there.to("CPU")?)?.to_vec::<f32>()?, [2.0, 4.0]);
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// A device that there is not, or another one that cannot be written.
    pub fn to(&self, device: &str) -> Result<Tensor> {
        let node = self.uop();
        let spec: DeviceSpec = device.parse()?;
        // Also where nothing can be written.
        if node.device().is_some_and(|own| own.name() == spec.to_string()) {
            return Ok(Tensor::from_uop(node));
        }
        Ok(Tensor::from_uop(node.copy_to(&device_named("to", device)?)?))
    }

    /// The value spread over devices: cut along an axis into one part for each, or whole on each of them
    /// where no axis is named. Where the extent is no multiple of the number of devices, the first parts
    /// are larger by one. What was spread already is laid out anew; over other devices, by way of the first of them.
    ///
    /// Operations on tensors that are spread run on each device, without moving an element where they can. A
    /// fold along the split axis, such as the sum of a matrix product, leaves each device with the whole
    /// result. What needs other devices' elements, such as a sort along that axis, has them gathered before, as a
    /// node of the graph that one sees (`shard`), and gives the whole result on each device. `to` and reading gather.
    ///
    /// ```
    /// use svod_tensor::Tensor;
    /// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], &[3])?.shard(&["CPU", "CPU:1"], Some(0))?;
    /// assert_eq!(x.mul(2.0)?.to_vec::<f32>()?, [2.0, 4.0, 6.0]);
    /// assert_eq!(x.sum(None, false)?.to("CPU:1")?.item::<f32>()?, 6.0);
    /// # Ok::<(), svod_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// Unknown devices, one twice, none.
    pub fn shard(&self, devices: &[&str], axis: Option<i64>) -> Result<Tensor> {
        let (op, node) = ("shard", self.uop());
        let devices: Vec<Device> = devices.iter().map(|name| device_named(op, name)).collect::<Result<_>>()?;
        let split = match axis {
            None => None,
            Some(axis) => {
                let axis = axis_of(op, axis, node.rank())?;
                Some(Split::even(axis, node.shape()[axis].clone(), devices.len()))
            }
        };
        let to = Sharding::new(devices, split).map_err(|e| TensorError::value(op, e.to_string()))?;
        // From other devices it goes by way of one.
        let node = match node.sharding() {
            Some(from) if from.devices() != to.devices() => node.copy_to(&to.devices()[0])?,
            _ => node,
        };
        Ok(Tensor::from_uop(node.shard(&to)?))
    }

    /// Whether the value is spread in the parts that [`Tensor::shard`] makes of an axis, which follow from its extent.
    pub fn is_sharded_evenly(&self) -> bool {
        self.sharding().is_some_and(|of| of.split().is_some_and(is_even))
    }

    /// How the value is spread over devices, if it is.
    pub fn sharding(&self) -> Option<Arc<Sharding>> {
        self.with_node(|node| node.sharding().cloned())
    }

    /// The value where another one is: on its device, or spread as that is.
    pub(crate) fn placed_like(&self, other: &Tensor) -> Result<Tensor> {
        let node = self.uop();
        Ok(match other.with_node(|node| node.place().cloned()) {
            Some(Place::One(device)) if device != self.device() && !device.is_file() => {
                Tensor::from_uop(node.copy_to(&device)?)
            }
            Some(Place::Many(sharding)) => Tensor::from_uop(node.shard(&sharding)?),
            Some(Place::One(_)) | None => self.clone(),
        })
    }

    /// # Errors
    /// Where the value is a file's: that is only read.
    pub(crate) fn check_no_file(&self, op: &'static str) -> Result<()> {
        let file = |node: &UOp| node.device().filter(|device| device.is_file()).cloned();
        match self.with_node(file) {
            Some(device) => {
                let message =
                    format!("{} on {device} is read-only: assign to a copy, `.to(\"CPU\")`", self.described());
                Err(TensorError::unsupported(op, message))
            }
            None => Ok(()),
        }
    }

    /// The device of the value, the first of several; of what is on none, the one where its memory is or will be.
    pub fn device(&self) -> Device {
        let default = || Device::new(&PrepareConfig::of_reads().device.clone().unwrap_or_default().to_string());
        let first = |node: &UOp| match node.place() {
            Some(Place::One(device)) => Some(device.clone()),
            Some(Place::Many(sharding)) => sharding.devices().first().cloned(),
            None => node.op().leaf().map(|leaf| leaf.data().device()),
        };
        self.with_node(first).unwrap_or_else(default)
    }
}

/// What `make` makes, with a device as the one of values that no argument places.
pub fn with_default_device<T>(device: &str, make: impl FnOnce() -> Result<T>) -> Result<T> {
    struct Scope;
    impl Drop for Scope {
        fn drop(&mut self) {
            PrepareConfig::leave();
        }
    }
    let device = Some(device_named("device", device)?.name().parse()?);
    PrepareConfig { device, ..PrepareConfig::current() }.enter();
    let _scope = Scope;
    make()
}

/// Roots of which each is on one device: of what is spread over several, what each of them has. With
/// them, where the roots of each node are.
pub(crate) fn spread(nodes: &[UOp]) -> Result<(Vec<UOp>, Vec<Range<usize>>)> {
    let mut roots = Vec::with_capacity(nodes.len());
    let mut places = Vec::with_capacity(nodes.len());
    for node in nodes {
        let start = roots.len();
        roots.extend(node.parts()?);
        places.push(start..roots.len());
    }
    Ok((roots, places))
}

/// The value of `node`, of which these are the parts, or the only one; parts may have other extents than the node
/// says, those of a run.
pub(crate) fn joined(node: &UOp, parts: Vec<UOp>) -> Result<UOp> {
    match (node.sharding(), &parts[..]) {
        (None, [value]) => Ok(value.clone()),
        (Some(sharding), parts) => Ok(UOp::multi(parts, &sharding.with_parts(parts))?),
        (None, _) => Err(TensorError::NotExecuted),
    }
}

/// A device that values can be on, by its name.
pub(crate) fn device_named(op: &'static str, name: &str) -> Result<Device> {
    let spec: DeviceSpec = name.parse()?;
    if spec.is_disk() {
        return Err(TensorError::unsupported(op, format!("{spec} is read-only")));
    }
    Context::global().devices().get(&spec)?;
    Ok(Device::new(&spec.to_string()))
}
