//! Where values are: on one device, or spread over several.

use super::leaf::Device;
use super::op::{Shape, ShowShape};
use super::uop::UOp;
use crate::size::Size;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Where a value is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// On one device.
    One(Device),
    /// On several, in parts or in copies.
    Many(Arc<Sharding>),
}

/// How a value is spread over devices: each has a part along one axis, or all have the whole.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Sharding {
    devices: Vec<Device>,
    split: Option<Split>,
}

/// The cut of an axis into one part per device, which may be of different extents, 0 included.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Split {
    /// The axis.
    pub axis: usize,
    /// The extent of each device's part, in order.
    pub extents: Vec<Size>,
}

/// Devices and parts that are no sharding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShardingError {
    /// No device.
    #[error("no device is named")]
    NoDevice,
    /// A device twice.
    #[error("{0} is named twice")]
    Twice(Device),
    /// Another number of parts than devices.
    #[error("{parts} parts for {devices} devices")]
    Parts {
        /// The number of parts.
        parts: usize,
        /// The number of devices.
        devices: usize,
    },
}

impl Split {
    /// Parts of an axis whose extents differ by at most 1, the larger ones first.
    pub fn even(axis: usize, extent: impl Into<Size>, parts: usize) -> Split {
        let (extent, count) = (extent.into(), parts.max(1));
        let share = |i: usize| (&extent + Size::from(count - 1 - i)).floordiv(count);
        Split { axis, extents: (0..parts).map(share).collect() }
    }

    /// The extent of the axis.
    pub fn extent(&self) -> Size {
        self.extents.iter().sum()
    }

    /// The positions that part `i` covers.
    pub fn range(&self, i: usize) -> Range<Size> {
        let start: Size = self.extents[..i].iter().sum();
        start.clone()..start + &self.extents[i]
    }

    /// The extents where they are numbers.
    pub fn counts(&self) -> Option<Vec<usize>> {
        self.extents.iter().map(Size::as_usize).collect()
    }

    /// The same parts of another axis.
    pub fn along(&self, axis: usize) -> Split {
        Split { axis, extents: self.extents.clone() }
    }
}

impl Sharding {
    /// Parts along an axis, or copies where there is no split, on these devices.
    pub fn new(devices: Vec<Device>, split: Option<Split>) -> Result<Arc<Sharding>, ShardingError> {
        if devices.is_empty() {
            return Err(ShardingError::NoDevice);
        }
        if let Some((_, twice)) = devices.iter().enumerate().find(|(i, d)| devices[..*i].contains(d)) {
            return Err(ShardingError::Twice(twice.clone()));
        }
        match split.as_ref().map(|s| s.extents.len()).filter(|parts| *parts != devices.len()) {
            Some(parts) => Err(ShardingError::Parts { parts, devices: devices.len() }),
            None => Ok(Arc::new(Sharding { devices, split })),
        }
    }

    /// The devices, in the order of the parts.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// The cut; none where each device has the whole.
    pub fn split(&self) -> Option<&Split> {
        self.split.as_ref()
    }

    /// Whether each part has elements: those that have none are there for the devices' sake.
    pub fn real(&self) -> Vec<bool> {
        match &self.split {
            Some(split) => split.extents.iter().map(|n| *n != Size::ZERO).collect(),
            None => vec![true; self.devices.len()],
        }
    }

    /// The shape of part `i` of a value of this shape.
    pub fn part_shape(&self, shape: &[Size], i: usize) -> Shape {
        let mut part = shape.to_vec();
        if let Some(split) = &self.split {
            part[split.axis].clone_from(&split.extents[i]);
        }
        part.into()
    }

    /// The same devices, where their parts have these extents along the axis that is cut.
    pub fn with_parts(self: &Arc<Self>, parts: &[UOp]) -> Arc<Sharding> {
        let Some(Split { axis, .. }) = self.split else { return self.clone() };
        let extents = parts.iter().map(|part| part.shape().get(axis).cloned().unwrap_or(Size::ONE)).collect();
        self.with_split(Some(Split { axis, extents }))
    }

    /// The same devices with another cut into as many parts.
    pub(super) fn with_split(&self, split: Option<Split>) -> Arc<Sharding> {
        Arc::new(Sharding { devices: self.devices.clone(), split })
    }
}

impl fmt::Display for Sharding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, device) in self.devices.iter().enumerate() {
            write!(f, "{}{device}", if i == 0 { "[" } else { ", " })?;
        }
        match &self.split {
            Some(Split { axis, extents }) => write!(f, "] along axis {axis} as {}", ShowShape(extents)),
            None => f.write_str("] each whole"),
        }
    }
}

impl fmt::Debug for Sharding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::One(device) => fmt::Display::fmt(device, f),
            Place::Many(sharding) => fmt::Display::fmt(sharding, f),
        }
    }
}
