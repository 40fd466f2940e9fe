"""The table of operations: which element types each takes, whether it has a derivative, and what computes it.

Nothing of it is written by hand: each operation is built on a small tensor of every type, and its plan is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import svod
from svod import fft, linalg

Call = Callable[[svod.Tensor], Any]

# Element types by the column that tells of them.
COLUMNS = {
    "bool": ("bool",),
    "integers": ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    "float8": ("float8_e4m3fn", "float8_e5m2"),
    "float16, bfloat16": ("float16", "bfloat16"),
    "float32, float64": ("float32", "float64"),
    "complex": ("complex64", "complex128"),
}

INDICES = [[0, 1], [1, 0]]


def of_space(space: object, listed: str, *arguments: object, **named: object) -> dict[str, Call]:
    """Calls of functions with a tensor and then these arguments."""

    def call(name: str) -> Call:
        return lambda x: getattr(space, name)(x, *arguments, **named)

    return {name: call(name) for name in listed.split()}


def of_two(listed: str) -> dict[str, Call]:
    """Calls of functions of two operands."""

    def call(name: str) -> Call:
        return lambda x: getattr(svod, name)(x, x)

    return {name: call(name) for name in listed.split()}


# Operations by the heading under which they are told of.
OPERATIONS: dict[str, dict[str, Call]] = {
    "Elementwise, of one operand": of_space(
        svod,
        "abs acos acosh angle asin asinh atan atanh bitwise_invert ceil conj cos cosh digamma erf erfc erfinv exp exp2 "
        "expm1 floor i0 imag isfinite isinf isnan lgamma log log10 log1p log2 logical_not logit negative real "
        "reciprocal relu round rsqrt sigmoid sign signbit silu sin sinc sinh softplus sqrt square tan tanh trunc",
    ),
    "Elementwise, of two operands": of_two(
        "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign div equal "
        "floor_divide fmod gcd greater greater_equal heaviside hypot lcm less less_equal logaddexp logical_and "
        "logical_or logical_xor maximum minimum mul nextafter not_equal pow remainder sub xlogy"
    )
    | {
        "where": lambda x: svod.where(x != 0, x, x),
        "lerp": lambda x: svod.lerp(x, x, 0.5),
        "clip": lambda x: svod.clip(x, 0, 1),
    },
    "Reductions": of_space(
        svod,
        "all amax amin any argmax argmin count_nonzero logsumexp max mean median min norm prod std sum var",
    ),
    "Running reductions": of_space(svod, "cummax cummin cumprod cumsum logcumsumexp", 0),
    "Sorting and searching": of_space(svod, "argsort nonzero sort")
    | {"topk": lambda x: svod.topk(x, 1), "searchsorted": lambda x: svod.searchsorted(x[0], x[1])},
    "Movement": of_space(svod, "contiguous flip ravel tril triu")
    | {
        "cat": lambda x: svod.cat([x, x]),
        "expand": lambda x: x.reshape(2, 1, 2).expand(2, 3, 2),
        "pad": lambda x: x.pad([(1, 1), (0, 0)]),
        "permute": lambda x: x.permute(1, 0),
        "reshape": lambda x: x.reshape(4),
        "roll": lambda x: svod.roll(x, 1),
        "slice": lambda x: x[:, ::-1],
        "stack": lambda x: svod.stack([x, x]),
    },
    "Indexing": {
        "gather": lambda x: x.gather(0, svod.Tensor(INDICES)),
        "scatter": lambda x: x.scatter(0, svod.Tensor(INDICES), x),
        "scatter_add": lambda x: x.scatter_add(0, svod.Tensor(INDICES), x),
        "take": lambda x: svod.take(x, svod.Tensor([1, 0]), axis=0),
        "x[tensor]": lambda x: x[svod.Tensor([1, 0])],
        "x[mask]": lambda x: x[svod.Tensor([True, False])],
    },
    "Products": of_two("matmul")
    | {
        "outer": lambda x: svod.outer(x[0], x[0]),
        "einsum": lambda x: svod.einsum("ij,jk->ik", x, x),
        "conv1d": lambda x: svod.conv1d(x.reshape(1, 2, 2), x.reshape(1, 2, 2)),
        "scaled_dot_product_attention": lambda x: svod.nn.functional.scaled_dot_product_attention(x, x, x),
    },
    "Layers": {
        "softmax": lambda x: x.softmax(-1),
        "log_softmax": lambda x: x.log_softmax(-1),
        "layer_norm": lambda x: svod.layer_norm(x, (2,)),
        "rms_norm": lambda x: svod.rms_norm(x, (2,)),
        "max_pool1d": lambda x: svod.max_pool1d(x, 2),
        "avg_pool1d": lambda x: svod.avg_pool1d(x, 2),
    },
    "Linear algebra": of_space(
        linalg, "cholesky det eig eigh eigvals eigvalsh inv lu matrix_rank pinv qr slogdet svd svdvals"
    )
    | {
        "lstsq": lambda x: linalg.lstsq(x, x),
        "matrix_exp": lambda x: linalg.matrix_exp(x),
        "matrix_power": lambda x: linalg.matrix_power(x, 3),
        "solve": lambda x: linalg.solve(x, x),
    },
    "Fourier transforms": of_space(fft, "fft fft2 fftn hfft ifft ifft2 ifftn ihfft irfft irfftn rfft rfftn"),
}


def pages() -> dict[str, str]:
    return {"operations.md": page()}


def page() -> str:
    parts = [
        "# Operations, types and derivatives",
        "",
        "Made by building each operation on tensors of every element type when this site was built. ● is all types of "
        "the column, ◐ some of them; those that an operation takes by first converting them, as `exp` does integers, "
        "count. *Derivative*: reverse mode, and by it forward mode and higher orders. *Computed by*: generated kernels "
        "alone, or a library's function that is a step of the plan and runs on the CPU. "
        f"Devices: {', '.join(sorted(svod.memory()))}.",
        "",
    ]
    for heading, calls in OPERATIONS.items():
        parts += [f"## {heading}", ""]
        parts.append("| operation | " + " | ".join(COLUMNS) + " | derivative | computed by |")
        parts.append("|---" * (len(COLUMNS) + 3) + "|")
        parts += [row(name, call) for name, call in calls.items()]
        parts.append("")
    return "\n".join(parts)


def row(name: str, call: Call) -> str:
    cells = []
    for types in COLUMNS.values():
        taken = sum(is_taken(call, dtype) for dtype in types)
        cells.append("●" if taken == len(types) else "◐" if taken else "")
    return f"| `{name}` | " + " | ".join(cells) + f" | {'●' if has_derivative(call) else ''} | {computed_by(call)} |"


def sample(dtype: str) -> svod.Tensor:
    """A symmetric positive definite matrix, which all operations have a value for, but for those of small numbers."""
    return svod.Tensor([[2.0, 1.0], [1.0, 2.0]]).cast(dtype)


def is_taken(call: Call, dtype: str) -> bool:
    try:
        call(sample(dtype))
    except svod.Error:
        return False
    return True


def results(call: Call, x: svod.Tensor) -> list[svod.Tensor]:
    """The tensors that a call gives."""
    given = call(x)
    return [t for t in (given if isinstance(given, tuple) else (given,)) if isinstance(t, svod.Tensor)]


def has_derivative(call: Call) -> bool:
    for dtype in ("float32", "complex64"):
        x = sample(dtype).requires_grad_()
        try:
            differentiable = [t for t in results(call, x) if t.requires_grad]
            if differentiable:
                svod.real(differentiable[0]).sum().gradient(x)
                return True
        except svod.Error:
            continue
    return False


def computed_by(call: Call) -> str:
    """What the steps of a plan of it are."""
    for dtype in ("float32", "int32"):
        try:
            given = results(call, sample(dtype) * sample(dtype))
        except svod.Error:
            continue
        # Where the elements decide a shape, they are computed when the function is called.
        if all(tensor.is_realized for tensor in given):
            return "kernels, at the call"
        items = svod.prepare(*given).analysis()["items"]
        return "a library's function" if any("host_callback" in item["what"] for item in items) else "kernels"
    raise AssertionError("an operation that takes no type")
