//! The table of graph operations.
//!
//! One row declares an operation: its data, text name, number of operands, the rules for the
//! result's type and shape, and its doc line. The enum, [`Op::infer`], the verifier and the text
//! form come from the table. The rules themselves are in `infer.rs`.
//!
//! Later operations take their place by subject: custom operations after the moves between devices.

use super::data::Datum;
use super::host::HostCall;
use super::infer;
use super::iterate::{self, LoopBody};
use super::leaf::{Device, Leaf};
use super::sharding::Sharding;
use super::uop::UOp;
use super::watch::{Pullback, Watch};
use super::{GraphError, Reason};
use crate::alu::Alu;
use crate::kernel::Monoid;
use crate::size::{BoundVariable, Size};
use crate::text::{ParseError, Parser};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;
use svod_dtype::{Const, DType};

/// Extents of a value, outermost first.
pub type Shape = Arc<[Size]>;

/// Dimensions, counted from 0.
pub type Axes = SmallVec<[usize; 4]>;

/// A pair of sizes per dimension.
pub type Pairs = Arc<[(Size, Size)]>;

macro_rules! graph_ops {
    (|$op:ident, $s:ident| $(
        $name:ident $(($($data:ident : $ty:ty),+))? $text:literal [$arity:expr] [$dtype:expr] [$shape:expr] $doc:literal;
    )*) => {
        /// An operation of the graph, with its data but without its operands.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Op { $(#[doc = $doc] $name $(($($ty),+))?,)* }

        impl Op {
            /// The name in the text form; that of the scalar operation for [`Op::Alu`].
            pub fn name(&self) -> &'static str {
                match self {
                    Op::Alu(alu) => alu.name(),
                    $(#[allow(unreachable_patterns)] Op::$name { .. } => $text,)*
                }
            }

            /// Number of operands.
            #[allow(unused_variables)]
            pub fn arity(&self) -> usize {
                match self { $(Op::$name $(($($data),+))? => $arity,)* }
            }

            /// Type and shape of the result over these operands.
            #[allow(unused_variables)]
            pub fn infer(&self, sources: &[UOp]) -> Result<(DType, Shape), GraphError> {
                let ($op, $s) = (self, sources);
                let infer = || -> Result<(DType, Shape), Reason> {
                    if sources.len() != self.arity() {
                        return Err(Reason::Arity { expected: self.arity() });
                    }
                    match self { $(Op::$name $(($($data),+))? => Ok(($dtype, $shape)),)* }
                };
                infer().map_err(|reason| GraphError::new(self, sources, reason))
            }

            /// Writes the data, each with its name, after the operands in the text form.
            fn write_data(&self, f: &mut dyn fmt::Write) -> fmt::Result {
                match self {
                    Op::Alu(_) => Ok(()),
                    $(#[allow(unreachable_patterns)] Op::$name $(($($data),+))? => {
                        $($(write!(f, concat!(" ", stringify!($data), "="))?; $data.write(f)?;)+)?
                        Ok(())
                    })*
                }
            }

            /// Reads the data of the operation of this text name; none where there is no such one.
            pub(super) fn read_data(name: &str, p: &mut Parser<'_>) -> Result<Option<Op>, ParseError> {
                if let Some(alu) = Alu::parse(name) {
                    return Ok(Some(Op::Alu(alu)));
                }
                $(if name == $text {
                    return Ok(Some(Op::$name $(($(<$ty as Datum>::labelled(stringify!($data), p)?),+))?));
                })*
                Ok(None)
            }
        }
    };
}

graph_ops! { |op, s|
    // name and data                                   text            arity          type of the result          shape of the result
    // Leaves.
    Const(value: Const)                                "const"         [0]            [infer::value(*value)?]     [infer::scalar()]
        "A constant, 0-d; `Expand` gives it a shape.";
    Leaf(leaf: Leaf)                                   "leaf"          [0]            [infer::element(leaf.dtype())?] [infer::extents(leaf.shape())?]
        "Memory; see [`Leaf`].";
    Size(size: Size)                                   "size"          [0]            [DType::I64]                [infer::scalar()]
        "An integer expression over variables as a value: 0-d, `i64`. A variable's definition is the size that it is.";
    Bind(var: BoundVariable)                           "bind"          [0]            [DType::I64]                [infer::scalar()]
        "A variable with its value for this run: 0-d, `i64`. The value is no part of the structure.";
    Range(count: Size)                                 "range"         [0]            [DType::I64]                [infer::extents(std::slice::from_ref(count))?]
        "The numbers `0 .. count`, 1-d, `i64`.";
    Rand(shape: Shape)                                 "rand"          [2]            [infer::random(s)?]         [infer::extents(shape)?]
        "Random bits, `u32`, of the counter-based generator Threefry-2x32-20 (Salmon et al. 2011). Operands: the key and the offset of the first element, 0-d, `u64`. Element `i` in row-major order depends on the key and `offset + i` only.";
    // Elementwise.
    Alu(alu: Alu)                                      "alu"           [alu.arity()]  [infer::alu(*alu, s)?]      [infer::equal_shapes(s)?]
        "A scalar operation on each element; operands have equal shapes.";
    Cast(to: DType)                                    "cast"          [1]            [infer::converted(s, *to)?] [infer::same_shape(s)]
        "Conversion of each value.";
    Bitcast(to: DType)                                 "bitcast"       [1]            [infer::bitcast(s, *to)?]   [infer::same_shape(s)]
        "The bits of each value read as another type of the same width.";
    // Complex values, of which see [`complex`](super::complex).
    AsReal                                             "as_real"       [1]            [infer::as_real(s)?]        [super::complex::with_pair(s[0].shape())]
        "The real and the imaginary part of each number, along a new last dimension of 2.";
    AsComplex                                          "as_complex"    [1]            [infer::as_complex(s)?]     [infer::without_pair(s)?]
        "The complex numbers whose parts are the last dimension.";
    // Movement: each element of the result is one of the source's, or the fill of a pad.
    Reshape(shape: Shape)                              "reshape"       [1]            [s[0].dtype()]              [infer::reshape(s, shape)?]
        "The same elements in row-major order under other extents.";
    Permute(axes: Axes)                                "permute"       [1]            [s[0].dtype()]              [infer::permute(s, axes)?]
        "Dimension `i` of the result is dimension `axes[i]` of the source.";
    Expand(shape: Shape)                               "expand"        [1]            [s[0].dtype()]              [infer::expand(s, shape)?]
        "Repetition: aligned at the last dimension, each dimension of the source is that of the result or 1; leading ones may be new.";
    Pad(by: Pairs, fill: Const)                        "pad"           [1]            [infer::filled(s, *fill)?]  [infer::pad(s, by)?]
        "`fill` before and after each dimension, by these numbers of elements.";
    Shrink(to: Pairs)                                  "shrink"        [1]            [s[0].dtype()]              [infer::shrink(s, to)?]
        "The part from a first index (inclusive) to a last one (exclusive) of each dimension.";
    Flip(axes: Axes)                                   "flip"          [1]            [s[0].dtype()]              [infer::flip(s, axes)?]
        "These dimensions in reverse order.";
    Window(axis: usize, size: Size, stride: usize, dilation: usize) "window" [1]      [s[0].dtype()]              [infer::window(s, *axis, size, *stride, *dilation)?]
        "Windows of `size` elements that lie `dilation` apart, one every `stride` elements: `axis` becomes the position of the window and a new last dimension the element in it, so that `[.., p, .., t]` is the source's `[.., p * stride + t * dilation, ..]`.";
    Concat(axis: usize, operands: usize)               "concat"        [*operands]    [infer::one_type(s)?]       [infer::concat(s, *axis)?]
        "The operands one after the other along `axis`; their other extents are equal. There is at least one.";
    Stack(axis: usize, operands: usize)                "stack"         [*operands]    [infer::one_type(s)?]       [infer::stack(s, *axis)?]
        "The operands, of equal extents, along a new dimension `axis`. There is at least one.";
    // Folds.
    Reduce(by: Monoid, axes: Axes)                     "reduce"        [1]            [infer::fold(*by, s)?]      [infer::reduce(s, *by, axes)?]
        "All elements along `axes` (ascending) combined; the axes vanish. `ArgMax` and `ArgMin` give the first index, `i64`, along their single axis. Nothing combined gives the identity.";
    Scan(by: Monoid, axis: usize, inclusive: bool)     "scan"          [1]            [infer::scan(*by, s)?]      [infer::along(s, *axis)?]
        "The elements along `axis` up to each one combined, with or without that one.";
    // Indexing: an index outside of its dimension reads 0 and writes nothing.
    Take(axis: usize)                                  "take"          [2]            [infer::indexed(s)?]        [infer::take(s, *axis)?]
        "`axis` of the first operand indexed by the second: shapes S and I give S[..axis] + I + S[axis+1..].";
    Gather(axis: usize)                                "gather"        [2]            [infer::indexed(s)?]        [infer::gather(s, *axis)?]
        "Elements of the first operand, each at its own position but, along `axis`, at the second operand's value there. Off `axis`, the index may be smaller than the source.";
    Scatter(axis: usize, by: Option<Monoid>)           "scatter"       [3]            [infer::scattered(s, *by)?] [infer::scatter(s, *axis)?]
        "The first operand with the elements of the third combined in (written over it, when `by` is none; destinations then must be unique), each at its own position but, along `axis`, at the second operand's value there.";
    // Orders: stable; NaN is the greatest, and comes last, or first where the order descends.
    Sort(axis: usize, descending: bool, count: Size)   "sort"          [1]            [infer::ordered(s)?]        [infer::first(s, *axis, count)?]
        "The first `count` elements along `axis` when sorted.";
    ArgSort(axis: usize, descending: bool, count: Size) "argsort"      [1]            [infer::positions(s)?]      [infer::first(s, *axis, count)?]
        "Where along `axis` the first `count` elements are, when sorted; `i64`. Equal elements, zeros of both signs among them, keep their order.";
    // Marks and moves between devices: the value is the source's.
    Contiguous                                         "contiguous"    [1]            [s[0].dtype()]              [infer::same_shape(s)]
        "Asks for the value in memory of its own, dense and row-major.";
    Detach                                             "detach"        [1]            [s[0].dtype()]              [infer::same_shape(s)]
        "No gradient passes.";
    Watch(of: Watch)                                   "watch"         [1]            [s[0].dtype()]              [infer::same_shape(s)]
        "The source as a variable that derivatives may be taken by, told from equal values. Which one is no part of the structure.";
    Derived(by: Pullback, operands: usize)             "derived"       [operands + 1] [s[0].dtype()]              [infer::same_shape(s)]
        "The first operand, whose derivative by the others is given; see [`Pullback`].";
    ContiguousBackward                                 "contiguous_backward" [1]      [s[0].dtype()]              [infer::same_shape(s)]
        "Asks for a contiguous gradient.";
    After                                              "after"         [2]            [s[0].dtype()]              [infer::same_shape(s)]
        "The first operand, in the same memory; what reads it runs once the second one is computed. An expression over it is not the one over the operand, so that it is computed again.";
    Let(var: BoundVariable)                            "let"           [1]            [s[0].dtype()]              [infer::same_shape(s)]
        "The source, of whose variables one has this value for this run. The value is no part of the structure.";
    NonEmpty(by: Monoid, axes: Axes)                   "nonempty"      [1]            [s[0].dtype()]              [infer::same_shape(s)]
        "The source, of which `by` folds `axes`: a run at sizes at which they have no element is refused, for the fold has no value then.";
    Copy(to: Device)                                   "copy"          [1]            [s[0].dtype()]              [infer::same_shape(s)]
        "The value on another device.";
    // Values that are spread over devices.
    Shard(to: Arc<Sharding>)                           "shard"         [1]            [s[0].dtype()]              [infer::same_shape(s)]
        "The value spread over devices: in parts along an axis, or whole on each of them.";
    Multi(of: Arc<Sharding>)                           "multi"         [of.devices().len()] [infer::one_type(s)?] [infer::joined(s, of)?]
        "The value whose parts these are, one on each device.";
    Part(of: Arc<Sharding>, index: usize)              "part"          [1]            [s[0].dtype()]              [infer::part(s, of, *index)?]
        "What one device has of a value that is spread over several.";
    // What is computed step by step, or elsewhere. A node is one of several results.
    Loop(body: LoopBody, output: usize)                "loop"          [body.params().len()] [iterate::output(body, *output, s)?.0] [iterate::output(body, *output, s)?.1]
        "What a carried value is after a loop, or what is stacked by it; see [`LoopBody`]. Operands: what the carried values begin with, then what the body reads from outside.";
    Host(function: HostCall, operands: usize, output: usize) "host"    [*operands]    [function.output(*output, s)?.0] [function.output(*output, s)?.1]
        "A result of a function of the host; see [`HostFunction`](super::HostFunction).";
}

impl Op {
    /// The leaf that it is.
    pub fn leaf(&self) -> Option<&Leaf> {
        if let Op::Leaf(leaf) = self { Some(leaf) } else { None }
    }

    /// Whether every element of the result is one of the source's, or a fill.
    pub fn is_movement(&self) -> bool {
        matches!(
            self,
            Op::Reshape(_)
                | Op::Permute(_)
                | Op::Expand(_)
                | Op::Pad(..)
                | Op::Shrink(_)
                | Op::Flip(_)
                | Op::Window(..)
        )
    }

    /// Whether every element of the result is one of one of several operands', which lie one after the other.
    pub fn is_join(&self) -> bool {
        matches!(self, Op::Concat(..) | Op::Stack(..))
    }

    /// Whether element `i` of the result depends on elements `i` of the sources only.
    pub fn is_elementwise(&self) -> bool {
        matches!(self, Op::Alu(_) | Op::Cast(_) | Op::Bitcast(_))
    }

    /// Whether it only says something of its first source, which tensor algebra drops.
    pub fn is_mark(&self) -> bool {
        matches!(
            self,
            Op::Detach | Op::Watch(_) | Op::Derived(..) | Op::ContiguousBackward | Op::Let(_) | Op::NonEmpty(..)
        )
    }

    /// The data in the text form: ` axes=[0] by=sum`.
    pub fn data_text(&self) -> String {
        let mut text = String::new();
        self.write_data(&mut text).expect("writing to a String cannot fail");
        text
    }
}

/// A shape as `[4, n]`.
pub(super) struct ShowShape<'a>(pub &'a [Size]);

impl fmt::Display for ShowShape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        bracketed(f, self.0)
    }
}

/// Writes items as `[a, b]`.
pub(super) fn bracketed(f: &mut dyn fmt::Write, items: impl IntoIterator<Item = impl fmt::Display>) -> fmt::Result {
    f.write_str("[")?;
    for (i, item) in items.into_iter().enumerate() {
        write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
    }
    f.write_str("]")
}
