//! The table of scalar operations, shared by the graph, the kernel and the linear IR.
//!
//! Semantics are the same in every target and in the interpreters: integer division by zero gives
//! 0, `MIN / -1` wraps, shifts by the width or more give 0, a float converted to an integer
//! saturates with NaN giving 0, and `max`/`min` propagate NaN.

use svod_dtype::DType;

/// How an operation's result type follows from its operands' common type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DTypeRule {
    /// The result has the operands' type.
    Same,
    /// The result is `Bool`.
    Compare,
    /// `where(cond, a, b)`: the first operand is `Bool`, the result has the type of the others.
    Select,
}

/// The operand types that an operation accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// Any scalar type.
    Any,
    /// Numbers, not `Bool`.
    Number,
    /// Floating point only.
    Float,
    /// Integers only.
    Int,
    /// Integers and `Bool`.
    Bits,
}

macro_rules! alu_table {
    ($($name:ident $text:literal $arity:literal $accepts:ident $rule:ident $doc:literal;)*) => {
        /// A scalar operation.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Alu { $(#[doc = $doc] $name),* }

        impl Alu {
            /// Every operation, in the order of the table.
            pub const ALL: &'static [Alu] = &[$(Alu::$name),*];

            /// The name in the text forms.
            pub fn name(self) -> &'static str {
                match self { $(Alu::$name => $text),* }
            }

            /// Number of operands.
            pub fn arity(self) -> usize {
                match self { $(Alu::$name => $arity),* }
            }

            /// The operand types accepted.
            pub fn accepts(self) -> Accepts {
                match self { $(Alu::$name => Accepts::$accepts),* }
            }

            /// How the result type follows from the operands.
            pub fn rule(self) -> DTypeRule {
                match self { $(Alu::$name => DTypeRule::$rule),* }
            }

            /// The operation with this name in the text forms.
            pub fn parse(name: &str) -> Option<Alu> {
                match name { $($text => Some(Alu::$name),)* _ => None }
            }
        }
    };
}

alu_table! {
    //  name      text        arity accepts  result
    Neg       "neg"       1 Number Same    "Negation; wraps on integers.";
    Abs       "abs"       1 Number Same    "Absolute value; wraps on integers.";
    Not       "not"       1 Bits   Same    "Bitwise complement; logical on `Bool`.";
    Sqrt      "sqrt"      1 Float  Same    "Square root, correctly rounded.";
    Recip     "recip"     1 Float  Same    "Reciprocal `1 / x`.";
    Exp       "exp"       1 Float  Same    "Natural exponential.";
    Exp2      "exp2"      1 Float  Same    "Exponential with base 2.";
    Expm1     "expm1"     1 Float  Same    "`exp(x) - 1`, of small `x` too.";
    Log       "log"       1 Float  Same    "Natural logarithm.";
    Log2      "log2"      1 Float  Same    "Logarithm to base 2.";
    Log10     "log10"     1 Float  Same    "Logarithm to base 10.";
    Log1p     "log1p"     1 Float  Same    "`log(1 + x)`, of small `x` too.";
    Sin       "sin"       1 Float  Same    "Sine of an angle in radians.";
    Cos       "cos"       1 Float  Same    "Cosine of an angle in radians.";
    Tan       "tan"       1 Float  Same    "Tangent of an angle in radians.";
    Atan      "atan"      1 Float  Same    "Arc tangent, in radians.";
    Tanh      "tanh"      1 Float  Same    "Hyperbolic tangent.";
    Erf       "erf"       1 Float  Same    "The error function.";
    Floor     "floor"     1 Float  Same    "Largest integer not above.";
    Ceil      "ceil"      1 Float  Same    "Smallest integer not below.";
    Round     "round"     1 Float  Same    "Nearest integer, ties to even.";
    Trunc     "trunc"     1 Float  Same    "Integer part.";
    Add       "add"       2 Any    Same    "Sum; logical or on `Bool`.";
    Sub       "sub"       2 Number Same    "Difference.";
    Mul       "mul"       2 Any    Same    "Product; logical and on `Bool`.";
    Div       "div"       2 Float  Same    "Floating-point quotient.";
    IDiv      "idiv"      2 Int    Same    "Integer quotient, truncated; 0 when dividing by 0.";
    Rem       "rem"       2 Int    Same    "Integer remainder of `idiv`; 0 when dividing by 0.";
    FloorDiv  "floordiv"  2 Number Same    "Quotient rounded down; 0 when an integer is divided by 0.";
    FloorMod  "floormod"  2 Number Same    "Remainder of `floordiv`; 0 when an integer is divided by 0.";
    Pow       "pow"       2 Number Same    "Power; a negative integer exponent gives 0 unless the base is 1 or -1.";
    Max       "max"       2 Any    Same    "Maximum; propagates NaN.";
    Min       "min"       2 Any    Same    "Minimum; propagates NaN.";
    And       "and"       2 Bits   Same    "Bitwise and.";
    Or        "or"        2 Bits   Same    "Bitwise or.";
    Xor       "xor"       2 Bits   Same    "Bitwise exclusive or.";
    Shl       "shl"       2 Int    Same    "Left shift; 0 when shifted by the width or more.";
    Shr       "shr"       2 Int    Same    "Right shift, arithmetic on signed types; 0 when shifted by the width or more.";
    Lt        "lt"        2 Any    Compare "Less than; false with NaN.";
    Le        "le"        2 Any    Compare "Less than or equal; false with NaN.";
    Eq        "eq"        2 Any    Compare "Equal; false with NaN.";
    Ne        "ne"        2 Any    Compare "Not equal; true with NaN.";
    Where     "where"     3 Any    Select  "`where(cond, a, b)`: `a` where the condition holds, else `b`.";
    MulAdd    "muladd"    3 Number Same    "`a * b + c`, rounded once where the target can.";
}

impl Alu {
    /// The type of the result, given the operand types; `None` where the table does not allow them.
    pub fn result(self, operands: &[DType]) -> Option<DType> {
        if operands.len() != self.arity() {
            return None;
        }
        let (cond, values) = match self.rule() {
            DTypeRule::Select => (Some(operands[0]), &operands[1..]),
            DTypeRule::Same | DTypeRule::Compare => (None, operands),
        };
        let ty = values[0];
        let same = values.iter().all(|v| *v == ty) && cond.is_none_or(|c| c == DType::Bool);
        let index = ty == DType::Index;
        let accepted = match self.accepts() {
            Accepts::Any => ty != DType::Void,
            Accepts::Number => ty.is_int() || ty.is_float() || index,
            Accepts::Float => ty.is_float(),
            Accepts::Int => ty.is_int() || index,
            Accepts::Bits => ty.is_int() || ty == DType::Bool || index,
        };
        (same && accepted).then_some(if self.rule() == DTypeRule::Compare { DType::Bool } else { ty })
    }

    /// Whether the operands may be exchanged.
    pub fn commutes(self) -> bool {
        use Alu::{Add, And, Eq, Max, Min, Mul, Ne, Or, Xor};
        matches!(self, Add | Mul | Max | Min | And | Or | Xor | Eq | Ne)
    }

    /// Whether this is computed by a polynomial of some tens of operations.
    pub fn is_transcendental(self) -> bool {
        use Alu::{Atan, Cos, Erf, Exp, Exp2, Expm1, Log, Log1p, Log2, Log10, Pow, Sin, Tan, Tanh};
        let logarithm = matches!(self, Log | Log2 | Log10 | Log1p);
        logarithm || matches!(self, Exp | Exp2 | Expm1 | Sin | Cos | Tan | Atan | Tanh | Erf | Pow)
    }
}
