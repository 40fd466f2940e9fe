//! Operations and conversions.

use super::{Form, Function, constant, lanes_of, scalar, suffix, ty};
use svod_dtype::{Const, DType, Kind};
use svod_ir::alu::Alu;
use svod_ir::linear::{Ty, Val};

impl Function<'_> {
    /// The value of an operation.
    pub(super) fn alu(&mut self, op: Alu, args: &[Val]) -> String {
        if let (Alu::Where, [cond, a, b]) = (op, args) {
            let [cond, a, b] = [cond, a, b].map(|v| self.typed(*v));
            return self.temporary(format_args!("select {cond}, {a}, {b}"));
        }
        let constants: Vec<Option<Const>> = args.iter().map(|v| self.constants[v.index()]).collect();
        let of = self.linear.ty(args[0]);
        let texts: Vec<String> = args.iter().map(|v| self.operand(*v)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.operation(op, of, &texts, &constants)
    }

    /// An operation on operands of one type; the result's name.
    pub(super) fn operation(&mut self, op: Alu, of: Ty, args: &[&str], constants: &[Option<Const>]) -> String {
        let whole = ty(of);
        let kind = of.dtype.kind();
        let (a, b) = (args[0], args.get(1).copied().unwrap_or_default());
        let simple = match (op, kind) {
            (Alu::Neg, Kind::Float) => format!("fneg {whole} {a}"),
            (Alu::Neg, _) => format!("sub {whole} {}, {a}", constant(of, Const::zero(of.dtype))),
            (Alu::Not, Kind::Bool) => format!("xor {whole} {a}, {}", constant(of, Const::bool(true))),
            (Alu::Not, _) => format!("xor {whole} {a}, {}", constant(of, Const::from_bits(of.dtype, u64::MAX))),
            (Alu::Add, Kind::Bool) | (Alu::Max, Kind::Bool) | (Alu::Or, _) => format!("or {whole} {a}, {b}"),
            (Alu::Mul, Kind::Bool) | (Alu::Min, Kind::Bool) | (Alu::And, _) => format!("and {whole} {a}, {b}"),
            (Alu::Xor, _) => format!("xor {whole} {a}, {b}"),
            (Alu::Add, Kind::Float) => format!("fadd {whole} {a}, {b}"),
            (Alu::Sub, Kind::Float) => format!("fsub {whole} {a}, {b}"),
            (Alu::Mul, Kind::Float) => format!("fmul {whole} {a}, {b}"),
            (Alu::Div, _) => format!("fdiv {whole} {a}, {b}"),
            // Index arithmetic stays far from overflow, and addresses fold better if LLVM knows.
            (Alu::Add, _) if of.dtype == DType::Index => format!("add nsw {whole} {a}, {b}"),
            (Alu::Sub, _) if of.dtype == DType::Index => format!("sub nsw {whole} {a}, {b}"),
            (Alu::Mul, _) if of.dtype == DType::Index => format!("mul nsw {whole} {a}, {b}"),
            (Alu::Add, _) => format!("add {whole} {a}, {b}"),
            (Alu::Sub, _) => format!("sub {whole} {a}, {b}"),
            (Alu::Mul, _) => format!("mul {whole} {a}, {b}"),
            (Alu::Lt | Alu::Le | Alu::Eq | Alu::Ne, Kind::Float) => {
                let predicate = [(Alu::Lt, "olt"), (Alu::Le, "ole"), (Alu::Eq, "oeq"), (Alu::Ne, "une")];
                let predicate = predicate.iter().find(|(p, _)| *p == op).map_or("", |(_, text)| *text);
                format!("fcmp {predicate} {whole} {a}, {b}")
            }
            (Alu::Eq, _) => format!("icmp eq {whole} {a}, {b}"),
            (Alu::Ne, _) => format!("icmp ne {whole} {a}, {b}"),
            (Alu::Lt, Kind::Signed) => format!("icmp slt {whole} {a}, {b}"),
            (Alu::Le, Kind::Signed) => format!("icmp sle {whole} {a}, {b}"),
            (Alu::Lt, _) => format!("icmp ult {whole} {a}, {b}"),
            (Alu::Le, _) => format!("icmp ule {whole} {a}, {b}"),
            (Alu::Abs, Kind::Float) => return self.intrinsic("fabs", of, args),
            (Alu::Abs, Kind::Signed) => {
                let name = format!("llvm.abs.{}", suffix(of));
                self.declare(format!("{whole} @{name}({whole}, i1)"));
                format!("call {whole} @{name}({whole} {a}, i1 false)")
            }
            (Alu::Abs, _) => return a.to_owned(),
            (Alu::Exp2, _) => return self.power_of_two(of, a),
            (Alu::Sqrt, _) => return self.intrinsic("sqrt", of, args),
            (Alu::Floor, _) => return self.intrinsic("floor", of, args),
            (Alu::Ceil, _) => return self.intrinsic("ceil", of, args),
            (Alu::Round, _) => return self.intrinsic("roundeven", of, args),
            (Alu::Trunc, _) => return self.intrinsic("trunc", of, args),
            (Alu::Max | Alu::Min, Kind::Float) => return self.float_extremum(op, of, args, constants),
            (Alu::Max, Kind::Signed) => return self.intrinsic("smax", of, args),
            (Alu::Min, Kind::Signed) => return self.intrinsic("smin", of, args),
            (Alu::Max, _) => return self.intrinsic("umax", of, args),
            (Alu::Min, _) => return self.intrinsic("umin", of, args),
            (Alu::Shl | Alu::Shr, _) => return self.shift(op, of, a, b, constants[1]),
            (Alu::IDiv | Alu::Rem | Alu::FloorDiv | Alu::FloorMod, _) => {
                return self.division(op, of, a, b, constants[1]);
            }
            (Alu::MulAdd, Kind::Float) if self.target.fma => return self.intrinsic("fma", of, args),
            (Alu::MulAdd, _) => {
                let product = self.operation(Alu::Mul, of, &args[..2], constants);
                return self.operation(Alu::Add, of, &[&product, args[2]], constants);
            }
            // Lowering leaves none of these: the verifier rejects them.
            (op, _) => unreachable!("{} is lowered to other operations", op.name()),
        };
        self.temporary(format_args!("{simple}"))
    }

    fn intrinsic(&mut self, name: &str, of: Ty, args: &[&str]) -> String {
        let (whole, name) = (ty(of), format!("llvm.{name}.{}", suffix(of)));
        let types = vec![whole.as_str(); args.len()].join(", ");
        self.declare(format!("{whole} @{name}({types})"));
        let args: Vec<String> = args.iter().map(|a| format!("{whole} {a}")).collect();
        self.temporary(format_args!("call {whole} @{name}({})", args.join(", ")))
    }

    /// 2^x by a GPU's instruction, lane by lane.
    fn power_of_two(&mut self, of: Ty, x: &str) -> String {
        let name = if self.form == Form::Simulated { "svod_sim_exp2" } else { "llvm.nvvm.ex2.approx.f" };
        self.declare(format!("float @{name}(float)"));
        if of.lanes == 1 {
            return self.temporary(format_args!("call float @{name}(float {x})"));
        }
        let whole = ty(of);
        (0..of.lanes).fold("poison".to_owned(), |made, lane| {
            let one = self.temporary(format_args!("extractelement {whole} {x}, i32 {lane}"));
            let power = self.temporary(format_args!("call float @{name}(float {one})"));
            self.temporary(format_args!("insertelement {whole} {made}, float {power}, i32 {lane}"))
        })
    }

    /// As x86's `max`, whose result is the second operand where one is NaN; one more select where
    /// the first may be.
    fn float_extremum(&mut self, op: Alu, of: Ty, args: &[&str], constants: &[Option<Const>]) -> String {
        if self.target.groups.is_some() && of.dtype == DType::F32 && self.form != Form::Simulated {
            // One instruction, `max.NaN`.
            return self.intrinsic(if op == Alu::Max { "maximum" } else { "minimum" }, of, args);
        }
        let (whole, mask) = (ty(of), lanes_of("i1", of.lanes));
        let number = |n: usize| constants[n].is_some_and(|c| !c.is_nan());
        let (a, b) = if number(1) { (args[1], args[0]) } else { (args[0], args[1]) };
        let predicate = if op == Alu::Max { "ogt" } else { "olt" };
        let takes = self.temporary(format_args!("fcmp {predicate} {whole} {a}, {b}"));
        let value = self.temporary(format_args!("select {mask} {takes}, {whole} {a}, {whole} {b}"));
        if number(0) || number(1) {
            return value;
        }
        let nan = self.temporary(format_args!("fcmp uno {whole} {a}, zeroinitializer"));
        self.temporary(format_args!("select {mask} {nan}, {whole} {a}, {whole} {value}"))
    }

    fn shift(&mut self, op: Alu, of: Ty, a: &str, b: &str, amount: Option<Const>) -> String {
        let whole = ty(of);
        let verb = match (op, of.dtype.is_signed()) {
            (Alu::Shl, _) => "shl",
            (_, true) => "ashr",
            (_, false) => "lshr",
        };
        let bits = of.dtype.bits();
        if amount.is_some_and(|n| (0..i128::from(bits)).contains(&n.as_i128())) {
            return self.temporary(format_args!("{verb} {whole} {a}, {b}"));
        }
        // Shifting by the width or more gives poison, which the select does not choose.
        let limit = constant(of, Const::i64(of.dtype, bits.into()));
        let inside = self.temporary(format_args!("icmp ult {whole} {b}, {limit}"));
        let shifted = self.temporary(format_args!("{verb} {whole} {a}, {b}"));
        let zero = constant(of, Const::zero(of.dtype));
        let mask = lanes_of("i1", of.lanes);
        self.temporary(format_args!("select {mask} {inside}, {whole} {shifted}, {whole} {zero}"))
    }

    /// Division by 0 gives 0, and `MIN / -1` wraps: neither reaches an instruction that traps.
    fn division(&mut self, op: Alu, of: Ty, a: &str, b: &str, divisor: Option<Const>) -> String {
        let (whole, mask) = (ty(of), lanes_of("i1", of.lanes));
        let signed = of.dtype.is_signed();
        let [zero, one, minus_one] = [0, 1, -1].map(|n| constant(of, Const::i64(of.dtype, n)));
        let known = |n: i64| divisor.map(|c| c == Const::i64(of.dtype, n));
        let safe = known(0) == Some(false) && (!signed || known(-1) == Some(false));
        let (mut by, mut is_zero, mut is_minus) = (b.to_owned(), None, None);
        if !safe {
            let none = self.temporary(format_args!("icmp eq {whole} {b}, {zero}"));
            by = self.temporary(format_args!("select {mask} {none}, {whole} {one}, {whole} {by}"));
            is_zero = Some(none);
        }
        if !safe && signed {
            let minus = self.temporary(format_args!("icmp eq {whole} {b}, {minus_one}"));
            by = self.temporary(format_args!("select {mask} {minus}, {whole} {one}, {whole} {by}"));
            is_minus = Some(minus);
        }
        let (divide, rest) = if signed { ("sdiv", "srem") } else { ("udiv", "urem") };
        // The remainder by 1 is what the remainder by 0 and by -1 shall be.
        let floors = signed && matches!(op, Alu::FloorDiv | Alu::FloorMod);
        if matches!(op, Alu::Rem | Alu::FloorMod) && !floors {
            return self.temporary(format_args!("{rest} {whole} {a}, {by}"));
        }
        let mut short = None;
        let mut remainder = String::new();
        if floors {
            remainder = self.temporary(format_args!("{rest} {whole} {a}, {by}"));
            let signs = self.temporary(format_args!("xor {whole} {remainder}, {by}"));
            let differs = self.temporary(format_args!("icmp slt {whole} {signs}, {zero}"));
            let some = self.temporary(format_args!("icmp ne {whole} {remainder}, {zero}"));
            short = Some(self.temporary(format_args!("and {mask} {differs}, {some}")));
        }
        if let (Alu::FloorMod, Some(short)) = (op, &short) {
            let more = self.temporary(format_args!("select {mask} {short}, {whole} {by}, {whole} {zero}"));
            return self.temporary(format_args!("add {whole} {remainder}, {more}"));
        }
        let mut quotient = self.temporary(format_args!("{divide} {whole} {a}, {by}"));
        if let Some(short) = short {
            let less = self.temporary(format_args!("sext {mask} {short} to {whole}"));
            quotient = self.temporary(format_args!("add {whole} {quotient}, {less}"));
        }
        if let Some(minus) = is_minus {
            let opposite = self.temporary(format_args!("sub {whole} {zero}, {a}"));
            quotient = self.temporary(format_args!("select {mask} {minus}, {whole} {opposite}, {whole} {quotient}"));
        }
        if let Some(none) = is_zero {
            quotient = self.temporary(format_args!("select {mask} {none}, {whole} {zero}, {whole} {quotient}"));
        }
        quotient
    }

    /// All lanes combined, halves first.
    pub(super) fn reduce(&mut self, op: Alu, v: Val) -> String {
        if self.is_spread(self.whole(v)) {
            return self.reduce_spread(op, v);
        }
        let (of, value) = (self.linear.ty(v), self.operand(v));
        self.combine_lanes(op, of, value)
    }

    /// All lanes of an operand combined, halves first.
    pub(super) fn combine_lanes(&mut self, op: Alu, mut of: Ty, mut value: String) -> String {
        let on_masks = !self.form.is_for_threads() && of.dtype == DType::Bool && of.lanes > 1;
        if on_masks && matches!(op, Alu::Or | Alu::And | Alu::Add | Alu::Mul) {
            let bits = format!("i{}", of.lanes);
            let mask = self.temporary(format_args!("bitcast {} {value} to {bits}", ty(of)));
            return match op {
                Alu::Or | Alu::Add => self.temporary(format_args!("icmp ne {bits} {mask}, 0")),
                _ => self.temporary(format_args!("icmp eq {bits} {mask}, -1")),
            };
        }
        while of.lanes > 1 {
            let (whole, half) = (ty(of), Ty { lanes: of.lanes / 2, ..of });
            let mut halves = Vec::new();
            for first in [0, half.lanes] {
                let lanes: Vec<String> = (first..first + half.lanes).map(|i| format!("i32 {i}")).collect();
                let lanes = format!("<{} x i32> <{}>", half.lanes, lanes.join(", "));
                let part = self.temporary(format_args!("shufflevector {whole} {value}, {whole} poison, {lanes}"));
                // LLVM's vector of one lane is not a scalar.
                halves.push(match half.lanes {
                    1 => self.temporary(format_args!("extractelement <1 x {}> {part}, i64 0", scalar(of.dtype))),
                    _ => part,
                });
            }
            value = self.operation(op, half, &[&halves[0], &halves[1]], &[None, None]);
            of = half;
        }
        value
    }

    /// A converted value.
    pub(super) fn cast(&mut self, from: Val, to: Ty) -> String {
        let of = self.linear.ty(from);
        let (value, source, target) = (self.operand(from), ty(of), ty(to));
        let half = lanes_of("half", to.lanes);
        let zero = constant(of, Const::zero(of.dtype));
        let text = match (of.dtype.kind(), to.dtype.kind()) {
            (Kind::Float, Kind::Bool) => format!("fcmp une {source} {value}, {zero}"),
            (_, Kind::Bool) => format!("icmp ne {source} {value}, {zero}"),
            (Kind::Float, Kind::Float) if of.dtype == DType::F16 => {
                let value = self.temporary(format_args!("bitcast {source} {value} to {half}"));
                format!("fpext {half} {value} to {target}")
            }
            (Kind::Float, Kind::Float) if to.dtype == DType::F16 => {
                let value = self.temporary(format_args!("fptrunc {source} {value} to {half}"));
                format!("bitcast {half} {value} to {target}")
            }
            (Kind::Float, Kind::Float) if to.dtype == DType::BF16 => return self.round_to_bf16(&value, of),
            (Kind::Float, Kind::Float) if to.dtype == DType::F64 => format!("fpext {source} {value} to {target}"),
            (Kind::Float, Kind::Float) => format!("fptrunc {source} {value} to {target}"),
            (Kind::Float, _) => return self.float_to_int(&value, of, to),
            (Kind::Signed, Kind::Float) => format!("sitofp {source} {value} to {target}"),
            (_, Kind::Float) => format!("uitofp {source} {value} to {target}"),
            _ if source == target => return value,
            (Kind::Bool, _) => format!("zext {source} {value} to {target}"),
            _ if of.dtype.bytes() > to.dtype.bytes() => format!("trunc {source} {value} to {target}"),
            (Kind::Signed, _) => format!("sext {source} {value} to {target}"),
            _ => format!("zext {source} {value} to {target}"),
        };
        self.temporary(format_args!("{text}"))
    }

    /// A binary32 to bf16, to nearest even, NaN as a GPU gives it. Hosts have an instruction that takes subnormal numbers
    /// for 0, or none: a simulator computes with integers.
    fn round_to_bf16(&mut self, value: &str, of: Ty) -> String {
        let (source, lanes) = (ty(of), of.lanes);
        let (short, half) = (lanes_of("i16", lanes), lanes_of("bfloat", lanes));
        if self.form != Form::Simulated {
            let rounded = self.temporary(format_args!("fptrunc {source} {value} to {half}"));
            return self.temporary(format_args!("bitcast {half} {rounded} to {short}"));
        }
        let words = of.with(DType::U32);
        let (word, mask) = (ty(words), lanes_of("i1", lanes));
        let number = |n: i64| constant(words, Const::i64(DType::U32, n));
        let bits = self.temporary(format_args!("bitcast {source} {value} to {word}"));
        let upper = self.temporary(format_args!("lshr {word} {bits}, {}", number(16)));
        let odd = self.temporary(format_args!("and {word} {upper}, {}", number(1)));
        let sum = self.temporary(format_args!("add {word} {bits}, {}", number(0x7FFF)));
        let sum = self.temporary(format_args!("add {word} {sum}, {odd}"));
        let sum = self.temporary(format_args!("lshr {word} {sum}, {}", number(16)));
        let nan = self.temporary(format_args!("fcmp uno {source} {value}, {value}"));
        let sum = self.temporary(format_args!("select {mask} {nan}, {word} {}, {word} {sum}", number(0x7FFF)));
        self.temporary(format_args!("trunc {word} {sum} to {short}"))
    }

    /// A float to an integer: towards zero, saturated, NaN gives 0.
    ///
    /// Selects around the plain conversion: LLVM's saturating one is done lane by lane on x86. A lane that the plain
    /// one cannot convert is poison, and not chosen.
    fn float_to_int(&mut self, value: &str, of: Ty, to: Ty) -> String {
        let wide = if to.dtype.bytes() < 4 { to.with(DType::I32) } else { to };
        let (source, whole, mask) = (ty(of), ty(wide), lanes_of("i1", of.lanes));
        let (least, most) = to.dtype.int_range().unwrap_or((0, 1));
        let float = |n: i128| Const::f64(of.dtype, n as f64);
        let low = constant(of, float(least));
        // NaN becomes the least number.
        let above = self.temporary(format_args!("fcmp ogt {source} {value}, {low}"));
        let mut inside = self.temporary(format_args!("select {mask} {above}, {source} {value}, {source} {low}"));
        let exact = float(most).as_f64() as i128 == most;
        if exact {
            let high = constant(of, float(most));
            let below = self.temporary(format_args!("fcmp olt {source} {inside}, {high}"));
            inside = self.temporary(format_args!("select {mask} {below}, {source} {inside}, {source} {high}"));
        }
        let verb = if wide.dtype.is_signed() { "fptosi" } else { "fptoui" };
        let mut number = self.temporary(format_args!("{verb} {source} {inside} to {whole}"));
        if !exact {
            let beyond = constant(of, float(most + 1));
            let over = self.temporary(format_args!("fcmp oge {source} {value}, {beyond}"));
            let greatest = constant(wide, Const::max_value(wide.dtype));
            number = self.temporary(format_args!("select {mask} {over}, {whole} {greatest}, {whole} {number}"));
        }
        if least != 0 {
            let known = self.temporary(format_args!("fcmp ord {source} {value}, {value}"));
            let zero = constant(wide, Const::zero(wide.dtype));
            number = self.temporary(format_args!("select {mask} {known}, {whole} {number}, {whole} {zero}"));
        }
        match wide == to {
            true => number,
            false => self.temporary(format_args!("trunc {whole} {number} to {}", ty(to))),
        }
    }
}
