//! The tensor graph: what the user wrote, as shared, hash-consed nodes.
//!
//! * [`op`] is the one table of graph operations: name, arity, rules, text name, doc;
//! * [`UOp`] is a handle to a node, and a thunk: an expression until it is forced to a leaf;
//! * [`leaf`] holds the classes of memory that a graph reads;
//! * [`walk`], [`mod@print`], [`key`], [`outline`], [`verify`] and [`interp`] are what one can do with a graph.
//!
//! Invariants:
//! * structurally equal expressions over identical sources are one node, so equality is identity, but for those that are told
//!   apart ([`identity`]);
//! * shape, type and device of a node follow from its op and sources, and are known when it is built;
//! * operands of an elementwise operation have equal shapes: broadcasting is an explicit `Expand`;
//! * scalar operations take no complex values, only their pairs ([`complex`]);
//! * operands are on one device, or spread over the same devices in ways that go together;
//! * a forced node holds no sources, is in no table, and new nodes are built on its leaf instead;
//! * nothing recurses over the depth of a graph, neither a walk nor `Drop`.

mod builder;
mod claim;
pub mod complex;
mod data;
mod error;
mod host;
pub mod identity;
mod infer;
mod intern;
pub mod interp;
mod iterate;
pub mod key;
mod known;
pub mod leaf;
mod named;
pub mod op;
mod origin;
pub mod outline;
mod parse;
mod place;
pub mod print;
mod random;
mod relay;
pub mod shape;
pub mod sharding;
mod structure;
pub mod unshare;
mod uop;
pub mod verify;
pub mod walk;
mod watch;

pub use claim::{Claim, Claimed};
pub use error::{GraphError, Reason};
pub use host::{HeldFunctions, HostCall, HostFunction};
pub use iterate::{Captured, LoopBody, varying};
pub use known::{Declared, Given, HostText, Known, LeafText};
pub use leaf::{Device, Leaf, LeafClass, LeafData};
pub use named::Named;
pub use op::{Axes, Op, Pairs, Shape};
pub use origin::Origin;
pub use random::random_bits;
pub use sharding::{Place, Sharding, ShardingError, Split};
pub use structure::Structure;
pub use uop::{Sources, Thunk, UOp};
pub use walk::{Graph, topo};
pub use watch::{Pullback, PullbackRule, Watch};
