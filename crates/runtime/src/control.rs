//! Control flow as steps of plans: branches of which one is run, and loops whose bodies are plans of their own.
//!
//! A [`Control`] is a function that a graph names as it names those of the host ([`HostFunction`]); what it runs are plans,
//! made with the plan that it is a step of, for its device. Its bodies are *regions*, graphs over parameters:
//!
//! | kind | operands | results of a region | results of the step |
//! |---|---|---|---|
//! | branch | condition, parameters | values | those of the region taken |
//! | loop, counted | parameters | next values of what is carried, rows | carried values at the end, rows stacked |
//! | loop, while | condition, parameters | next values, next condition | carried values at the end |
//!
//! The parameters of a loop are carried values, then rows of what is *sliced*, one for each iteration, then what is read from
//! outside. A counted loop knows its trips when a run begins: they are a size, constant or not. It may go *backwards*, from
//! the last row to the first, and its bodies may read the number of the iteration as a variable. Long loops of a known number
//! of iterations become such steps when a plan is made (`long`); short ones are written out.
//!
//! A parameter that stands for a constant of the plan is that constant in the regions' plans, so that it is packed once.
//!
//! On memory that the host sees, a trip is a run of the body's plan on other pointers: rows are read and written where they
//! lie, and carried values are in two buffers that take turns. Elsewhere, and where a body does what kernels of the host do
//! not, values are copied from trip to trip. Each step of each trip asks whether to stop, and so does the loop itself.

mod lent;
mod long;
mod memory;
mod step;

pub(crate) use long::as_steps;
pub(crate) use step::ControlStep;

use std::fmt;
use std::sync::Arc;
use svod_dtype::DType;
use svod_ir::graph::key::{BindMismatch, GraphKey};
use svod_ir::graph::{Graph, HostFunction, Leaf, Shape, UOp};
use svod_ir::size::{Size, Variable};

/// Values over parameters.
#[derive(Clone)]
pub struct Region {
    /// Leaves of class `Input`, by their number.
    pub params: Vec<Leaf>,
    /// The values.
    pub results: Vec<UOp>,
    /// Flags of what must not be: where one is not 0, the step fails with what `failed` says of its position.
    pub flags: Vec<UOp>,
    /// What a flag says.
    pub failed: Arc<FlagError>,
}

/// The error of a flag, by its position.
pub type FlagError = dyn Fn(usize) -> Arc<dyn std::error::Error + Send + Sync> + Send + Sync;

/// How often a loop is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trips {
    /// So often.
    Count(Size),
    /// While a condition holds: the step's first operand, then what each iteration gives.
    While,
}

/// What a step does with its regions.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Runs the first region where the condition, a value of one element, is not 0, else the second.
    Branch,
    /// Runs its region again and again.
    Loop {
        /// How often.
        trips: Trips,
        /// The number of the iteration, from the variable's least value on, if the region reads it.
        number: Option<Variable>,
        /// How many values are carried.
        carried: usize,
        /// How many parameters are rows.
        sliced: usize,
        /// Whether it goes from the last row, and number, to the first.
        backwards: bool,
    },
}

/// A step of control flow. See the [module](self).
pub struct Control {
    name: &'static str,
    kind: Kind,
    regions: Vec<Region>,
    /// The variables of regions that a run gives values.
    variables: Vec<Variable>,
}

impl Control {
    /// A branch: regions with the same parameters, and results of the same types and shapes.
    ///
    /// # Errors
    /// A variable with two values.
    pub fn branch(name: &'static str, taken: Region, other: Region) -> Result<Arc<Control>, BindMismatch> {
        Control::new(name, Kind::Branch, vec![taken, other])
    }

    /// A loop; `kind` says which.
    ///
    /// # Errors
    /// A variable with two values.
    pub fn new(name: &'static str, kind: Kind, regions: Vec<Region>) -> Result<Arc<Control>, BindMismatch> {
        let number = match &kind {
            Kind::Loop { number, .. } => number.clone(),
            Kind::Branch => None,
        };
        let mut variables: Vec<Variable> = Vec::new();
        for region in &regions {
            let roots: Vec<UOp> = region.results.iter().chain(&region.flags).cloned().collect();
            let key = GraphKey::new(&Graph::new(&roots))?;
            let params = region.params.iter().flat_map(|param| param.shape().iter()).flat_map(Size::variables);
            for var in key.variables.iter().cloned().chain(params) {
                let bound = key.bindings.iter().any(|bound| *bound.variable() == var);
                if !bound && number.as_ref() != Some(&var) && !variables.contains(&var) {
                    variables.push(var);
                }
            }
        }
        if let Kind::Loop { trips: Trips::Count(count), .. } = &kind {
            let more = count.variables().into_iter().filter(|var| !variables.contains(var)).collect::<Vec<_>>();
            variables.extend(more);
        }
        Ok(Arc::new(Control { name, kind, regions, variables }))
    }

    /// What it does.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Its regions.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// How many operands come before those that are parameters.
    pub fn leading(&self) -> usize {
        match self.kind {
            Kind::Branch | Kind::Loop { trips: Trips::While, .. } => 1,
            Kind::Loop { .. } => 0,
        }
    }

    /// What a parameter stands for: its extents, without that of the iterations.
    fn of_param<'a>(&self, at: usize, shape: &'a [Size]) -> Result<&'a [Size], String> {
        match &self.kind {
            Kind::Loop { carried, sliced, trips: Trips::Count(trips), .. }
                if (*carried..carried + sliced).contains(&at) =>
            {
                match shape.split_first() {
                    Some((first, row)) if first == trips => Ok(row),
                    _ => Err(format!("operand {at} has not the {trips} rows that the loop goes through")),
                }
            }
            _ => Ok(shape),
        }
    }
}

impl HostFunction for Control {
    fn name(&self) -> &str {
        self.name
    }

    fn variables(&self) -> Vec<Variable> {
        self.variables.clone()
    }

    fn infer(&self, operands: &[(DType, &[Size])]) -> Result<Vec<(DType, Shape)>, String> {
        let region = &self.regions[0];
        let given = operands.get(self.leading()..).unwrap_or_default();
        if given.len() != region.params.len() {
            return Err(format!("{} operands for {} parameters", given.len(), region.params.len()));
        }
        for (at, ((dtype, shape), param)) in given.iter().zip(&region.params).enumerate() {
            if (*dtype, self.of_param(at, shape)?) != (param.dtype(), &**param.shape()) {
                return Err(format!("operand {at} is not of its parameter's type and shape"));
            }
        }
        let all = |results: &[UOp]| results.iter().map(|r| (r.dtype(), r.shape_arc().clone())).collect::<Vec<_>>();
        match &self.kind {
            Kind::Branch => {
                let (taken, other) = (all(&region.results), all(&self.regions[1].results));
                if taken == other { Ok(taken) } else { Err("the branches give values of other types or shapes".into()) }
            }
            Kind::Loop { trips, carried, .. } => {
                let mut results: Vec<(DType, Shape)> =
                    region.params[..*carried].iter().map(|param| (param.dtype(), param.shape().clone())).collect();
                if all(&region.results[..*carried]) != results {
                    return Err("a carried value changes its type or shape".into());
                }
                if let Trips::Count(trips) = trips {
                    results.extend(region.results[*carried..].iter().map(|row| {
                        let shape = [trips.clone()].into_iter().chain(row.shape().iter().cloned()).collect();
                        (row.dtype(), shape)
                    }));
                }
                Ok(results)
            }
        }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.name, self.kind)
    }
}
