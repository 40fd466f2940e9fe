//! The invariants of an analysis that its types leave open.

use super::model::{Analysis, BufferInfo, Hint, Item, KernelInfo, LoopInfo, Strided, What};

/// An analysis that is not one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AnalysisError {
    /// An item that waits for one that is not there.
    #[error("item {item} waits for item {dependency}, but there are {count}")]
    UnknownItem {
        /// Which.
        item: usize,
        /// For which.
        dependency: usize,
        /// Number of items.
        count: usize,
    },
    /// Items that wait for one another.
    #[error("a cycle: items {0:?} wait for one another")]
    Cycle(Vec<usize>),
    /// Something with a number of its own that breaks a rule.
    #[error("{what} {at}: {why}")]
    Invalid {
        /// What.
        what: &'static str,
        /// Its position.
        at: usize,
        /// The rule and the numbers.
        why: String,
    },
}

impl Analysis {
    /// Checks every invariant:
    ///
    /// * items name buffers and items that are there, and wait for earlier ones only;
    /// * a loop names an axis that is there, each axis has a list of tiles, whose points are at least 1,
    ///   and as many loops as tiles and one; parameters of hints are at least 1;
    /// * occupancy is from 0 to 1, flops, bytes and times are not negative and finite;
    /// * a layout has a stride for each extent, an alignment that is a power of two, a width of at least 1;
    /// * lifetimes are ranges of items; who reads or writes a buffer does so in its lifetime;
    /// * the critical path goes from item to item along dependencies, and its costs add up.
    ///
    /// # Errors
    /// The first that does not hold.
    pub fn validate(&self) -> Result<(), AnalysisError> {
        Analysis::order(&self.items)?;
        for (at, item) in self.items.iter().enumerate() {
            self.item(at, item).map_err(|why| AnalysisError::Invalid { what: "item", at, why })?;
        }
        for (at, buffer) in self.buffers.iter().enumerate() {
            self.buffer(buffer).map_err(|why| AnalysisError::Invalid { what: "buffer", at, why })?;
        }
        for (at, found) in self.opportunities.iter().enumerate() {
            let count = self.items.len();
            let known = found.producer < found.consumer && found.consumer < count;
            let why = format!("items {} and {} of {count}, benefit {}", found.producer, found.consumer, found.benefit);
            if !known || !(0.0..=1.0).contains(&found.benefit) || !is_amount(found.bytes_saved) {
                return Err(AnalysisError::Invalid { what: "opportunity", at, why });
            }
        }
        self.path()
    }

    fn item(&self, at: usize, item: &Item) -> Result<(), String> {
        if let Some(later) = item.dependencies().find(|d| *d >= at) {
            return Err(format!("it waits for item {later}, which runs no earlier"));
        }
        for &buffer in item.reads.iter().chain(&item.writes) {
            let Some(known) = self.buffers.get(buffer) else {
                return Err(format!("buffer {buffer} of {}", self.buffers.len()));
            };
            if known.lifetime.is_none_or(|(first, last)| at < first || last < at) {
                return Err(format!("buffer {buffer} is not alive: {:?}", known.lifetime));
            }
        }
        item.kernel().map_or(Ok(()), kernel)?;
        if let What::Transfer { strided: Some(Strided { shape, from, to }), .. } = &item.what
            && (shape.len() != from.len() || shape.len() != to.len())
        {
            return Err(format!("{} and {} distances for {} extents", from.len(), to.len(), shape.len()));
        }
        if let Some(a) = &item.analysis {
            if !(0.0..=1.0).contains(&a.occupancy) {
                return Err(format!("occupancy {} is not from 0 to 1", a.occupancy));
            }
            let amounts = [a.flops, a.bytes_read, a.bytes_written, a.estimated_ns, a.least_ns];
            let cycles = a.gpu.iter().flat_map(|gpu| gpu.parts()).map(|(_, n)| n);
            let mut amounts = amounts.into_iter().chain(cycles).chain(a.packed_bytes).chain(a.measured_ns);
            if let Some(n) = amounts.find(|n| !is_amount(*n)) {
                return Err(format!("{n} is not an amount"));
            }
        }
        Ok(())
    }

    fn buffer(&self, buffer: &BufferInfo) -> Result<(), String> {
        let layout = &buffer.layout;
        let (extents, strides) = (layout.shape.len(), layout.strides.len());
        if extents != strides {
            return Err(format!("{strides} strides for {extents} extents"));
        }
        if !layout.alignment.is_power_of_two() {
            return Err(format!("alignment {} is no power of two", layout.alignment));
        }
        if layout.vector_width == 0 {
            return Err("vectors of no elements".into());
        }
        match buffer.lifetime {
            Some((first, last)) if first > last || last >= self.items.len() => {
                Err(format!("lifetime {first}..={last} of {} items", self.items.len()))
            }
            _ => Ok(()),
        }
    }

    fn path(&self) -> Result<(), AnalysisError> {
        let wrong = |at, why| AnalysisError::Invalid { what: "step of the critical path", at, why };
        for (at, item) in self.critical_path.iter().enumerate() {
            let Some(known) = self.items.get(*item) else {
                return Err(wrong(at, format!("item {item} of {}", self.items.len())));
            };
            let before = at.checked_sub(1).map(|b| self.critical_path[b]);
            if before.is_some_and(|b| !known.dependencies().any(|d| d == b)) {
                return Err(wrong(at, format!("item {item} does not wait for the one before")));
            }
        }
        let sum: f64 = self.critical_path.iter().map(|i| self.items[*i].cost()).sum();
        if (sum - self.estimated_total_ns).abs() > 1e-6 * sum.max(1.0) {
            return Err(wrong(0, format!("costs add up to {sum}, not {}", self.estimated_total_ns)));
        }
        Ok(())
    }
}

fn kernel(kernel: &KernelInfo) -> Result<(), String> {
    let space = &kernel.space;
    if space.tiles.len() != space.axes.len() {
        return Err(format!("tiles of {} axes, but there are {}", space.tiles.len(), space.axes.len()));
    }
    if let Some(LoopInfo { axis, .. }) = space.mapping.iter().find(|l| l.axis >= space.axes.len()) {
        return Err(format!("a loop over axis {axis} of {}", space.axes.len()));
    }
    for (axis, tiles) in space.tiles.iter().enumerate() {
        let loops = space.mapping.iter().filter(|l| l.axis == axis).count();
        if loops != tiles.len() + 1 || tiles.contains(&0) {
            return Err(format!("axis {axis} has {loops} loops and tiles {tiles:?}"));
        }
    }
    let empty = |h: &&Hint| {
        matches!(h, Hint::Vectorize(0) | Hint::Unroll(0) | Hint::Prefetch { ahead: 0, .. } | Hint::Pipeline(0))
    };
    match kernel.hints.iter().find(empty) {
        Some(hint) => Err(format!("{hint:?} says nothing")),
        None => Ok(()),
    }
}

fn is_amount(n: f64) -> bool {
    n.is_finite() && n >= 0.0
}
