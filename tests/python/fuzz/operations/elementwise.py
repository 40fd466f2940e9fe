"""Functions of elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzz.drawing import Draw
from fuzz.numbers import DTYPES, FLOATS, INTEGERS
from fuzz.program import Arguments, Operation

NUMBERS = INTEGERS + FLOATS
SCALARS = (0, 1, 2, 3, 7, -1, 0.5, 2.5, -1.5)


def unary(kinds: Sequence[str]) -> Callable[[Draw], Arguments | None]:
    def draw(d: Draw) -> Arguments | None:
        x = d.value(kinds)
        return None if x is None else ((x,), {})

    return draw


def binary(
    kinds: Sequence[str], others: Sequence[str] | None = None, low: float = -4.0, high: float = 4.0
) -> Callable[[Draw], Arguments | None]:
    """Two operands that are broadcast; often of one type, else of any of `others`."""

    def draw(d: Draw) -> Arguments | None:
        x = d.value(kinds)
        if x is None:
            return None
        same = d.rng.random() < 0.8 and low < 0
        y = d.other(x, (d.dtypes[x],) if same else tuple(others or kinds), low, high)
        return ((x, y), {}) if d.rng.random() < 0.7 or low >= 0 else ((y, x), {})

    return draw


def scalar(kinds: Sequence[str], choice: Sequence[float] = SCALARS) -> Callable[[Draw], Arguments | None]:
    """A tensor and a number of Python that its type can hold."""

    def draw(d: Draw) -> Arguments | None:
        x = d.value(kinds)
        if x is None:
            return None
        whole = [c for c in choice if isinstance(c, int) and (c >= 0 or not d.dtypes[x].startswith("u"))]
        return (x,), {"c": d.rng.choice(choice if d.dtypes[x] in FLOATS else whole)}

    return draw


def spelled(name: str, *more: str) -> tuple[str, ...]:
    """A method of one operand that is a function too."""
    return (f"{{0}}.{name}()", f"svod.{name}({{0}})", *more)


def paired(name: str, *more: str) -> tuple[str, ...]:
    """The same of two operands."""
    return (f"{{0}}.{name}({{1}})", f"svod.{name}({{0}}, {{1}})", *more)


def written(name: str, arguments: str = "") -> str:
    """A method that gives its handle the result."""
    return f"{{r}} = {{0}}.clone(); {{r}}.{name}({arguments})"


# Spellings, NumPy's, types of the operand, whether the result has no rounding, whether it has a derivative.
UNARY: list[tuple[tuple[str, ...], str, Sequence[str], bool, bool]] = [
    ((*spelled("abs", "abs({0})", written("abs_")), *spelled("absolute")), "np.abs({0})", DTYPES, True, True),
    ((*spelled("neg", "-{0}", written("neg_")), *spelled("negative")), "np.negative({0})", NUMBERS, True, True),
    (("+{0}",), "+{0}", NUMBERS, True, True),
    (spelled("sign"), "R.sign({0})", DTYPES, True, True),
    (spelled("square"), "R.square({0})", NUMBERS, False, True),
    (spelled("relu", written("relu_")), "np.maximum({0}, 0)", NUMBERS, True, True),
    # Where the operand changes fast, differences see the slope of what is rounded, and not that of the steps.
    (spelled("floor", written("floor_")), "np.floor({0})", NUMBERS, True, False),
    (spelled("ceil", written("ceil_")), "np.ceil({0})", NUMBERS, True, False),
    (spelled("round", written("round_")), "np.round({0})", NUMBERS, True, False),
    (spelled("trunc"), "np.trunc({0})", NUMBERS, True, False),
    (spelled("contiguous"), "{0}", DTYPES, True, True),
    (("{0}.clone()",), "{0}", DTYPES, True, True),
    (("{0}.detach()", "svod.stop_gradient({0})"), "{0}", DTYPES, True, False),
    (("{0}.zeros_like()", "svod.zeros_like({0})", written("zero_")), "np.zeros_like({0})", DTYPES, True, False),
    (("{0}.ones_like()", "svod.ones_like({0})"), "np.ones_like({0})", DTYPES, True, False),
]
# The same for functions whose result is a float.
TRANSCENDENTAL: list[tuple[tuple[str, ...], str]] = [
    (spelled("exp"), "np.exp({0})"),
    (spelled("exp2"), "np.exp2({0})"),
    (spelled("log"), "np.log({0})"),
    (spelled("log2"), "np.log2({0})"),
    (spelled("sqrt"), "np.sqrt({0})"),
    (spelled("rsqrt"), "1 / np.sqrt({0})"),
    (spelled("reciprocal"), "1 / {0}"),
    (spelled("sin"), "np.sin({0})"),
    (spelled("cos"), "np.cos({0})"),
    (spelled("tan"), "np.tan({0})"),
    (spelled("tanh"), "np.tanh({0})"),
    (spelled("erf"), "R.erf({0})"),
    (spelled("sigmoid"), "R.sigmoid({0})"),
    (spelled("silu"), "{0} * R.sigmoid({0})"),
    (spelled("softplus"), "np.logaddexp({0}, 0)"),
    (("{0}.gelu()", "F.gelu({0})"), "R.gelu({0})"),
    (('{0}.gelu("tanh")', 'F.gelu({0}, approximate="tanh")'), "R.gelu_tanh({0})"),
    (("{0}.leaky_relu()",), "np.where({0} > 0, {0}, 0.01 * {0})"),
    (("{0}.leaky_relu(0.3)",), "np.where({0} > 0, {0}, 0.3 * {0})"),
]
# Methods that keep their handle's type, so that it has to be a float's.
IN_PLACE = [("exp_", "np.exp"), ("log_", "np.log"), ("sqrt_", "np.sqrt"), ("reciprocal_", "1 /"), ("tanh_", "np.tanh")]

# Spellings of two operands, NumPy's, types, exactness.
BINARY: list[tuple[tuple[str, ...], str, Sequence[str], bool]] = [
    (paired("add", "{0} + {1}"), "np.add({0}, {1})", NUMBERS, False),
    ((*paired("sub", "{0} - {1}"), *paired("subtract")), "np.subtract({0}, {1})", NUMBERS, False),
    ((*paired("mul", "{0} * {1}"), *paired("multiply")), "np.multiply({0}, {1})", NUMBERS, False),
    (paired("maximum"), "np.maximum({0}, {1})", NUMBERS, True),
    (paired("minimum"), "np.minimum({0}, {1})", NUMBERS, True),
]
COMPARED: list[tuple[tuple[str, ...], str]] = [
    ((*paired("eq", "{0} == {1}"), *paired("equal")), "np.equal({0}, {1})"),
    ((*paired("ne", "{0} != {1}"), *paired("not_equal")), "np.not_equal({0}, {1})"),
    ((*paired("lt", "{0} < {1}"), *paired("less")), "np.less({0}, {1})"),
    ((*paired("le", "{0} <= {1}"), *paired("less_equal")), "np.less_equal({0}, {1})"),
    ((*paired("gt", "{0} > {1}"), *paired("greater")), "np.greater({0}, {1})"),
    ((*paired("ge", "{0} >= {1}"), *paired("greater_equal")), "np.greater_equal({0}, {1})"),
]
BITS = ("bool", *INTEGERS)


def conditional(d: Draw) -> Arguments | None:
    x = d.value(DTYPES)
    if x is None:
        return None
    y = d.other(x, (d.dtypes[x],))
    return (d.other(x, ("bool",)), x, y), {}


def lerped(d: Draw) -> Arguments | None:
    x = d.value(FLOATS)
    return None if x is None else ((x, d.other(x, (d.dtypes[x],)), d.other(x, (d.dtypes[x],))), {})


def clipped(d: Draw) -> Arguments | None:
    x = d.value(NUMBERS)
    low = d.rng.choice((0, 1, 2))
    return None if x is None else ((x,), {"low": low, "high": low + d.rng.choice((0, 1, 3))})


def converted(d: Draw) -> Arguments | None:
    """To another type: what floats are as integers is left to small numbers."""
    x = d.value(DTYPES)
    return None if x is None else ((x,), {"dtype": d.rng.choice(DTYPES)})


def table() -> list[Operation]:
    rows = [
        Operation(svod, numpy, unary(kinds), "0", exact=exact, smooth=smooth)
        for svod, numpy, kinds, exact, smooth in UNARY
    ]
    rows += [Operation(svod, numpy, unary(DTYPES), "float", smooth=True) for svod, numpy in TRANSCENDENTAL]
    rows += [
        Operation((written(name),), f"{numpy} {{0}}" if "/" in numpy else f"{numpy}({{0}})", unary(FLOATS), "0")
        for name, numpy in [*IN_PLACE, ("sigmoid_", "R.sigmoid")]
    ]
    rows += [
        Operation(svod, numpy, binary(kinds, NUMBERS), exact=exact, smooth=True) for svod, numpy, kinds, exact in BINARY
    ]
    rows += [Operation(svod, numpy, binary(DTYPES), "compared", exact=True) for svod, numpy in COMPARED]
    rows += [
        Operation((*paired("divide"), "{0} / {1}", "{0}.div({1})"), "{0} / {1}", binary(NUMBERS), "float", smooth=True),
        Operation(
            (*paired("floor_divide", "{0} // {1}"), '{0}.div({1}, rounding_mode="floor")'),
            "R.floor_divide({0}, {1})",
            binary(NUMBERS),
        ),
        Operation(paired("remainder", "{0} % {1}"), "R.remainder({0}, {1})", binary(NUMBERS)),
        Operation(paired("pow", "{0} ** {1}"), "np.power({0}, {1})", binary(FLOATS), smooth=True),
        Operation(
            ("{0} ** {c}", "{0}.pow({c})", written("pow_", "{c}")),
            "R.power({0}, {c})",
            scalar(NUMBERS, (0, 1, 2, 3)),
            "0",
            smooth=True,
        ),
        Operation(
            ("{0} + {c}", "{c} + {0}", "{0}.add({c})", written("add_", "{c}")),
            "{0} + {c}",
            scalar(NUMBERS),
            "0",
            smooth=True,
        ),
        Operation(
            ("{0} - {c}", "{0}.sub({c})", written("sub_", "{c}")), "{0} - {c}", scalar(NUMBERS), "0", smooth=True
        ),
        Operation(("{c} - {0}", "svod.subtract({c}, {0})"), "{c} - {0}", scalar(NUMBERS), "0", smooth=True),
        Operation(("{0} * {c}", "{c} * {0}", written("mul_", "{c}")), "{0} * {c}", scalar(NUMBERS), "0", smooth=True),
        Operation(("{0} / {c}", written("div_", "{c}")), "{0} / {c}", scalar(FLOATS), "0", smooth=True),
        Operation(
            ("{0} // {c}", written("floor_divide_", "{c}")),
            "R.floor_divide({0}, {c})",
            scalar(NUMBERS, (1, 2, 3, 7)),
            "0",
        ),
        Operation(
            ("{0} % {c}", written("remainder_", "{c}")), "R.remainder({0}, {c})", scalar(NUMBERS, (1, 2, 3, 7)), "0"
        ),
        Operation(("{c} / {0}",), "{c} / {0}", scalar(FLOATS), "0", smooth=True),
        Operation(
            ("svod.maximum({c}, {0})", "{0}.maximum({c})"),
            "np.maximum({0}, {c})",
            scalar(NUMBERS),
            "0",
            exact=True,
            smooth=True,
        ),
        Operation(
            ("{0}.full_like({c})", "svod.full_like({0}, {c})", written("fill_", "{c}")),
            "np.full_like({0}, {c})",
            scalar(NUMBERS),
            "0",
            exact=True,
        ),
        Operation(("{0} > {c}", "{0}.gt({c})"), "{0} > {c}", scalar(NUMBERS), "bool", exact=True),
        Operation(("{0} == {c}", "{0}.eq({c})"), "{0} == {c}", scalar(NUMBERS), "bool", exact=True),
        Operation(
            (
                "{0}.clip({low}, {high})",
                "svod.clip({0}, {low}, {high})",
                "{0}.clamp({low}, {high})",
                "{0}.clamp(min={low}, max={high})",
                written("clamp_", "{low}, {high}"),
            ),
            "np.clip({0}, {low}, {high})",
            clipped,
            "0",
            exact=True,
            smooth=True,
        ),
        Operation(
            ("svod.where({0}, {1}, {2})", "{1}.where({0}, {2})"),
            "np.where({0}, {1}, {2})",
            conditional,
            "1",
            exact=True,
            smooth=True,
        ),
        Operation(
            ("{1}.masked_fill({0}, {2}.sum().cast({2}.dtype))",),
            "np.where({0}, np.sum({2}).astype({2}.dtype), {1})",
            conditional,
            "1",
            smooth=True,
        ),
        Operation(
            ("{0}.lerp({1}, {2})",),
            "np.where({2} < 0.5, {0}, {1}) + np.where({2} < 0.5, {2}, {2} - 1) * ({1} - {0})",
            lerped,
            smooth=True,
        ),
        Operation(
            (
                "{0}.cast(svod.{dtype})",
                "{0}.astype(svod.{dtype})",
                '{0}.type("{dtype}")',
                "{0}.to(svod.{dtype})",
                "svod.astype({0}, svod.{dtype})",
            ),
            'R.cast({0}, "{dtype}")',
            converted,
            "argument",
            exact=True,
        ),
    ]
    for short, dtype in {
        "bool": "bool",
        "half": "float16",
        "float": "float32",
        "double": "float64",
        "short": "int16",
        "int": "int32",
        "long": "int64",
    }.items():
        rows.append(Operation((f"{{0}}.{short}()",), f'R.cast({{0}}, "{dtype}")', unary(DTYPES), dtype, exact=True))
    rows += [
        Operation(spelled(name), f"np.{name}({{0}})", unary(DTYPES), "bool", exact=True)
        for name in ("isnan", "isinf", "isfinite", "logical_not")
    ]
    rows += [
        Operation(paired(name), f"np.{name}({{0}}, {{1}})", binary(DTYPES), "bool", exact=True)
        for name in ("logical_and", "logical_or", "logical_xor")
    ]
    rows += [
        Operation(paired(f"bitwise_{name}", f"{{0}} {sign} {{1}}"), f"{{0}} {sign} {{1}}", binary(BITS), exact=True)
        for name, sign in (("and", "&"), ("or", "|"), ("xor", "^"))
    ]
    rows += [
        Operation(
            paired(f"bitwise_{name}_shift", f"{{0}} {sign} {{1}}"),
            f"R.shift_{name}({{0}}, {{1}})",
            binary(INTEGERS, low=0, high=9),
            exact=True,
        )
        for name, sign in (("left", "<<"), ("right", ">>"))
    ]
    rows.append(
        Operation(
            (*spelled("bitwise_invert", "~{0}"), *spelled("bitwise_not")),
            "np.invert({0})",
            unary(BITS),
            "0",
            exact=True,
        )
    )
    return rows
