"""The classes and functions of the compiled core; the package `svod` re-exports them."""

import builtins
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple, Self, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from svod._count import Count
from svod._hooks import HookHandle
from svod.analysis import Analysis, Explanation
from svod.library.factorizations import SVD
from svod.library.packed import Reflections
from svod.library.reductions import MinMax
from svod.linalg import QRResult, SlogdetResult

_ArrayLike: TypeAlias = Tensor | npt.ArrayLike
_Operand: TypeAlias = Tensor | Size | Variable | npt.ArrayLike
_DTypeLike: TypeAlias = DType | npt.DTypeLike
_Numbers: TypeAlias = builtins.int | Sequence[builtins.int]
_Padding: TypeAlias = builtins.str | _Numbers | Sequence[tuple[builtins.int, builtins.int]]
_Extent: TypeAlias = builtins.int | Variable | Size
_Schedules: TypeAlias = Schedule | str | Sequence[Schedule | str | tuple[str | None, Schedule | str]]
_Axis: TypeAlias = builtins.int | Sequence[builtins.int] | None

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "CompileError",
    "DType",
    "DTypeError",
    "DeviceError",
    "Error",
    "ExecutionError",
    "ExecutionPlan",
    "FileError",
    "FormatError",
    "Generator",
    "Graph",
    "HostFunction",
    "IndexError",
    "Kernel",
    "OutOfMemoryError",
    "OverflowError",
    "PlanInput",
    "PrepareConfig",
    "Profile",
    "Schedule",
    "ScheduleError",
    "ShapeError",
    "Size",
    "StaleError",
    "Tensor",
    "Timing",
    "TraceError",
    "UnsupportedError",
    "ValuesAndIndices",
    "Variable",
    "_Backward",
    "_Before",
    "_Draws",
    "_Facts",
    "_Kept",
    "_Kinds",
    "_LinAlgError",
    "_OnnxModel",
    "_SymbolicCount",
    "_Taken",
    "_Trace",
    "__version__",
    "_after_fork",
    "_at_line",
    "_batched",
    "_before_fork",
    "_borrowed",
    "_call",
    "_changed",
    "_checkpointed",
    "_cond",
    "_constants",
    "_custom",
    "_enter_module",
    "_handed_over",
    "_is_tracing",
    "_iterate",
    "_leave_module",
    "_may_be_differentiated",
    "_onnx_operators",
    "_operands",
    "_order",
    "_positions",
    "_prepare_writing",
    "_pullback",
    "_pushforward",
    "_randint",
    "_reach",
    "_released",
    "_same",
    "_scan",
    "_serve",
    "_set_grad_enabled",
    "_signature",
    "_stand_ins",
    "_take_written",
    "_template",
    "_tensor",
    "_unchanged",
    "_unwatch",
    "_values_of",
    "_variables",
    "_watch",
    "_while_loop",
    "_with_constants",
    "_with_derivative",
    "_with_derivatives",
    "_with_values",
    "abs",
    "absolute",
    "add",
    "all",
    "amax",
    "amin",
    "angle",
    "any",
    "arange",
    "arctan",
    "argmax",
    "argmin",
    "atan",
    "bfloat16",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "bool",
    "caches",
    "cat",
    "ceil",
    "clear_caches",
    "compile_times",
    "complex",
    "complex64",
    "complex128",
    "conj",
    "contiguous",
    "contiguous_backward",
    "cos",
    "detect_nan",
    "devices",
    "einsum",
    "empty",
    "eq",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "eye",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "float32",
    "float64",
    "floor",
    "floor_divide",
    "from_dlpack",
    "from_numpy",
    "full",
    "ge",
    "get_default_device",
    "get_rng_state",
    "get_threads",
    "greater",
    "greater_equal",
    "gt",
    "imag",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_complex",
    "is_grad_enabled",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "less",
    "less_equal",
    "linspace",
    "load_safetensors",
    "log",
    "log1p",
    "log2",
    "log10",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logsumexp",
    "lt",
    "manual_seed",
    "max",
    "maximum",
    "mean",
    "measure_machine",
    "memory",
    "min",
    "minimum",
    "mul",
    "multiply",
    "ne",
    "neg",
    "negative",
    "not_equal",
    "ones",
    "polar",
    "pow",
    "prepare",
    "prod",
    "rand",
    "randn",
    "real",
    "realize",
    "reciprocal",
    "relu",
    "remainder",
    "round",
    "rsqrt",
    "set_default_device",
    "set_rng_state",
    "set_threads",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softplus",
    "sqrt",
    "square",
    "stack",
    "std",
    "strict",
    "sub",
    "subtract",
    "sum",
    "synchronize",
    "tan",
    "tanh",
    "target",
    "trunc",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "var",
    "view_as_complex",
    "view_as_real",
    "where",
    "zeros",
]

__version__: str

bool: DType
int8: DType
int16: DType
int32: DType
int64: DType
uint8: DType
uint16: DType
uint32: DType
uint64: DType
float16: DType
bfloat16: DType
float32: DType
float64: DType
float8_e4m3fn: DType
float8_e5m2: DType
complex64: DType
complex128: DType

class Error(builtins.Exception):
    """Base of every exception that svod raises.

    `kind` says in a few words, which stay, what went wrong, where one class has several sorts of failures:
    "no kernels", "empty schedule", "cycle", "buffer not found", "unsupported argument", "bind without variable",
    "unsized scratch", "build", "bind mismatch", "batch mismatch", "unknown shape", "unknown variable",
    "unbound variable", "variable out of range", "fixed variable", "input of another size", "nothing pending",
    "unknown device", "unknown kernel", "rangeify", "optimize", "render", "compile", "load", "not executed",
    "reentrant", "forked"; else it is that of the class, such as "shape", "execute", "out of memory" or
    "unsupported".
    """

    kind: str

class ArgumentError(Error, builtins.ValueError):
    """An argument that makes no sense."""

class ArgumentTypeError(ArgumentError, builtins.TypeError):
    """An argument of a wrong type."""

class CompileError(Error, builtins.RuntimeError):
    """A graph cannot be compiled: a bug of svod, unless it says else."""

class DTypeError(Error, builtins.TypeError):
    """An element type that does not fit."""

class DeviceError(Error, builtins.RuntimeError):
    """An unknown device, or one that failed."""

class ExecutionError(Error, builtins.RuntimeError):
    """A run failed, or its result is read too early."""

class FileError(Error, builtins.OSError):
    """A file that cannot be read."""

class FormatError(Error, builtins.ValueError):
    """A file whose content is not what its format allows."""

class OverflowError(ArgumentError, builtins.OverflowError):
    """A number that an element type, or 64 bits, do not hold."""

class _LinAlgError(ExecutionError, np.linalg.LinAlgError):
    """A matrix has no such factors, or no inverse: an `ExecutionError`, and NumPy's error of this name."""

class OutOfMemoryError(Error, builtins.MemoryError):
    """No memory is left."""

class ScheduleError(Error, builtins.ValueError):
    """A schedule with a step that is illegal, and why."""

class ShapeError(Error, builtins.ValueError, builtins.RuntimeError):
    """Shapes or axes that do not fit."""

class IndexError(Error, builtins.IndexError):
    """An index outside of its dimension."""

class TraceError(Error, builtins.TypeError):
    """A function that is traced by `jit` looks at the data of its arguments."""

class StaleError(ExecutionError):
    """A plan's output is read that no run has written, or whose last run failed."""

class UnsupportedError(Error, builtins.NotImplementedError):
    """Something that svod does not do."""

class ValuesAndIndices(NamedTuple):
    """Elements along an axis, and where they are: `values, indices = x.max(dim=1)`."""

    values: Tensor
    indices: Tensor

@final
class DType:
    """The type of a tensor's elements; equal to NumPy's dtype of the same name, and to the name.

    Called, it makes a tensor.

    >>> import svod
    >>> svod.float64(1.5).dtype
    svod.float64
    """

    def __call__(self, data: _ArrayLike, /) -> Tensor: ...
    def __hash__(self, /) -> builtins.int: ...
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __reduce__(self) -> str: ...
    @property
    def name(self) -> str:
        """The name, such as `float32`."""
    @property
    def itemsize(self) -> builtins.int:
        """Size of an element in bytes."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype; by this attribute NumPy takes the type as one of its own."""
    @property
    def is_complex(self) -> builtins.bool:
        """Whether it is a type of complex numbers."""

    @property
    def is_floating_point(self) -> builtins.bool:
        """Whether it is a floating-point type."""

@final
class Generator:
    """A source of random numbers: counter-based (Salmon et al. 2011), so that what it gives follows from the seed and
    how many numbers were drawn before, whatever the threads or devices that compute them.

    Functions that draw take one as `generator`; without, they draw from the one that `svod.manual_seed` starts anew. In
    a function of `jit` each call draws the numbers that it would draw if it were not traced. Without a seed nobody
    knows the numbers before.

    >>> import svod
    >>> g = svod.Generator(7)
    >>> state = g.get_state()
    >>> first = svod.rand(3, generator=g).tolist()
    >>> g.set_state(state)
    >>> svod.rand(3, generator=g).tolist() == first == svod.rand(3, generator=svod.Generator(7)).tolist()
    True

    Its `device` is what PyTorch's programs ask for: numbers are the same on all devices, and are drawn where the
    function that draws them says.
    """

    def __new__(cls, seed: builtins.int | str | None = None, device: str | None = None) -> Self: ...
    @property
    def device(self) -> str:
        """The device that it was made for."""
    def manual_seed(self, /, seed: builtins.int) -> Self:
        """Starts the generator anew, and gives it back."""
    def initial_seed(self, /) -> builtins.int:
        """The seed that its numbers follow from; without one, that which nobody knew before."""
    def get_state(self, /) -> Tensor:
        """What its later numbers follow from: the seed and how many numbers were drawn, as 2 numbers of `uint64`."""
    def set_state(self, /, state: _ArrayLike) -> None:
        """Goes on from a state of `get_state`, of this generator or another one."""
    def __reduce__(self, /) -> tuple[Any, tuple[builtins.int, builtins.int, str]]: ...
    @staticmethod
    def _restore(key: builtins.int, offset: builtins.int, device: str) -> Generator: ...

@final
class Graph:
    """What some tensors are computed by: operations, operands before users, down to memory.

    `str(graph)` is its text, and `Graph.parse` reads that back: with the leaves of the graph that was
    printed, to the same nodes; without, to a graph that can be looked at but not run. Functions of
    `svod.custom` go by name: `graph.functions` has those of a graph, and any callable can be given
    for one. Two graphs are equal where their roots are the same nodes.

    >>> import svod
    >>> x = svod.Tensor([1.0, 2.0])
    >>> graph = svod.Graph(x * x)
    >>> again = svod.Graph.parse(str(graph), graph.leaves)
    >>> again == graph, again.roots[0].tolist()
    (True, [1.0, 4.0])
    """

    def __new__(cls, *tensors: Tensor) -> Graph: ...
    @staticmethod
    def parse(
        text: str,
        leaves: Sequence[Tensor] | None = None,
        functions: Mapping[str, Callable[..., Any] | HostFunction] | None = None,
    ) -> Graph:
        """Reads the text of a graph. `leaves` are tensors in memory, one for each leaf of the text, in
        order; `functions` are what the text calls by name: callables, or what `graph.functions` gives."""
    @property
    def roots(self) -> list[Tensor]:
        """The tensors that it computes."""
    @property
    def leaves(self) -> list[Tensor]:
        """The tensors in memory that it reads, in the order of the text."""
    @property
    def functions(self) -> dict[str, HostFunction]:
        """The functions that it calls, by the names that its text has for them."""
    def __len__(self) -> builtins.int: ...
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> builtins.int: ...

@final
class HostFunction:
    """A function that a graph calls, for `Graph.parse`."""

    @property
    def name(self) -> str:
        """Its name."""

@final
class _Trace:
    def __new__(
        cls, values: dict[str, builtins.int], facts: _Facts | None = None, constants: Sequence[Tensor] = ...
    ) -> Self: ...
    def placeholder(
        self, shape: tuple[Any, ...], dtype: _DTypeLike, name: str, device: str | None = None
    ) -> Tensor: ...
    def placeholder_for(self, tensor: Tensor, shape: tuple[Any, ...], name: str) -> Tensor: ...
    def run(self, function: Callable[[], Any]) -> Any: ...
    def found(self, outputs: Sequence[Tensor]) -> list[tuple[Tensor, Tensor | None, builtins.bool]]: ...
    def has_made(self, tensor: Tensor) -> builtins.bool: ...
    def written(self) -> list[tuple[Tensor, Tensor]]: ...
    def gathered(self) -> list[tuple[Tensor, Tensor | None, Tensor | None, builtins.bool]]: ...
    def draws(self) -> tuple[_Draws, list[Tensor]]: ...
    def looked_at(self) -> list[Tensor]: ...
    def size(self, size: Size) -> builtins.int | Size: ...
    def refused(self) -> str | None: ...
    def told(self) -> _Facts | None: ...

@final
class _Facts:
    def hold(self, values: dict[str, builtins.int]) -> builtins.bool: ...
    def agree(self, other: _Facts | None) -> builtins.bool: ...
    def values(self, values: dict[str, builtins.int]) -> dict[str, builtins.int]: ...

@final
class _OnnxModel:
    def __new__(cls, path: str | None = None, content: bytes | None = None) -> Self: ...
    def inputs(self) -> list[tuple[str, DType | None, tuple[builtins.int | str | None, ...] | None]]: ...
    def outputs(self) -> list[tuple[str, DType | None, tuple[builtins.int | str | None, ...] | None]]: ...
    def defaults(self) -> list[tuple[str, DType | None, tuple[builtins.int | str | None, ...] | None]]: ...
    def plans(self) -> builtins.int: ...
    def run(self, inputs: Sequence[Any]) -> tuple[Any, ...]: ...
    def prepare(self, kinds: Sequence[tuple[_DTypeLike, Sequence[builtins.int | None]]]) -> ExecutionPlan: ...

@final
class _Kept:
    def run(self, /, *arrays: _ArrayLike, **variables: builtins.int) -> list[Tensor]:
        """As `ExecutionPlan.run`, of the other inputs in their order."""

def _borrowed(
    address: builtins.int, shape: Sequence[builtins.int], dtype: _DTypeLike, keep: Any, device: str | None = None
) -> Tensor: ...
def _handed_over(tensor: Tensor, stream: builtins.int | None = None) -> Any: ...
def _order(device: str, stream: builtins.int, stream_waits: builtins.bool) -> None: ...
def _onnx_operators() -> list[tuple[str, str, builtins.int]]: ...

@final
class _Before:
    def __new__(cls, tensors: Sequence[Tensor]) -> Self: ...
    def replace(self, written: Sequence[Tensor]) -> None: ...
    def restore(self) -> None: ...

@final
class _Backward:
    def __new__(cls, values: Sequence[Tensor], inputs: Sequence[Tensor]) -> Self: ...
    @property
    def seeds(self) -> list[Tensor]: ...
    @property
    def cotangents(self) -> list[Tensor | None]: ...
    def reads(self, inputs: Sequence[Tensor]) -> list[builtins.bool]: ...
    def kept(self, values: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor], list[Tensor]]: ...

@final
class _Draws:
    def __bool__(self) -> builtins.bool: ...
    def take(self) -> tuple[list[Tensor], _Taken]: ...

@final
class _Taken:
    def undo(self) -> None: ...

@final
class _Kinds:
    def __new__(cls, tensors: Sequence[Tensor]) -> Self: ...
    def fit(self, tensors: list[Tensor]) -> builtins.bool: ...

@final
class PlanInput:
    """An input of a plan: what its runs see until it is written again."""

    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def copy_(self, /, value: Any) -> None:
        """Sets the content, of the input's own shape and type, for later runs."""
    def numpy(self, /) -> np.ndarray[Any, Any]:
        """A copy of the content."""
    @property
    def shape(self) -> tuple[Any, ...]:
        """Extents."""
    @property
    def dtype(self) -> DType:
        """Element type."""

@final
class Kernel:
    """A compiled kernel of a plan."""

    @property
    def op(self) -> builtins.int:
        """The number of its operation in the plan."""
    @property
    def device(self) -> str:
        """Where it runs."""
    @property
    def ptx(self) -> str | None:
        """The instructions of PTX, of a kernel on a GPU; none of one on a CPU."""
    @property
    def assembly(self) -> str | None:
        """The machine's instructions; on a GPU those of PTX, of which its driver makes its own."""
    @property
    def name(self) -> str:
        """The name."""
    @property
    def linear(self) -> str | None:
        """The linear IR that the source is made of."""
    @property
    def source(self) -> str:
        """The generated source, LLVM IR on the CPU."""
    @property
    def loops(self) -> str:
        """The loops, and what they compute."""
    @property
    def launch_sizes(self) -> list[tuple[str, str, str]]:
        """Number of tasks in three dimensions, of each phase; symbolic sizes as text."""
    @property
    def schedule(self) -> Schedule:
        """How the loops were made: the steps of the schedule. Where there are several, by size, the one for sizes
        that no other is for."""
    @property
    def schedules(self) -> list[tuple[str | None, Schedule]]:
        """The schedules, each with the condition on the plan's variables under which it is used; a run takes the
        first whose condition holds, else the last, which has none. One, where no size is a variable."""
    @property
    def buffers(self) -> list[tuple[str, builtins.int]]:
        """Element type and number of elements of each argument."""
    @property
    def origins(self) -> list[tuple[str, builtins.int, str | None]]:
        """The lines of the program that it computes, first the one that it is for: file, line, and the path of the
        `nn.Module` that ran there, if one did."""

@final
class Schedule:
    """How a kernel is computed: a list of steps, as text one a line. See `docs/schedules.md`.

    >>> import svod
    >>> s = svod.Schedule("VECTORIZE out.a0.0 8")
    >>> print(s)
    split out.a0.0 by 8 rest
    bind out.a0.1 vector
    >>> s == svod.Schedule(str(s)), len(s)
    (True, 2)
    """

    def __new__(cls, text: str = "", /) -> Schedule: ...
    @property
    def steps(self) -> list[str]:
        """The steps, each as text."""
    def __len__(self) -> builtins.int: ...
    def __iter__(self) -> Iterator[str]: ...
    def __reduce__(self) -> tuple[type[Schedule], tuple[str]]: ...
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self) -> builtins.int: ...

@final
class detect_nan:
    """Within this, in this thread or task, what is prepared, realized and traced by `jit` fails at the first NaN:
    the `ExecutionError` names the kernel, where the NaN is, whether what the kernel reads has one already, and, if
    not, the operation among those that it computes that made it, with its line. Runs that fail change nothing.
    Without it a run pays nothing.

    >>> import svod
    >>> x = svod.Tensor([1.0, 0.0])
    >>> with svod.detect_nan():
    ...     try:
    ...         (x / x).tolist()
    ...     except svod.ExecutionError as error:
    ...         print(str(error).split("; ")[-1].split(", ")[0])
    the first is made by `/`
    """

    def __new__(cls, on: builtins.bool = True, /) -> detect_nan: ...
    def __enter__(self) -> detect_nan: ...
    def __exit__(self, *_error: object) -> None: ...

@final
class strict:
    """Within this, in this thread, what is prepared and realized folds from left to right and rounds
    every operation on its own: sums and products are those of a loop, bit for bit, at less speed.

    >>> import svod
    >>> x = svod.Tensor([1e8, 1.0, -1e8, 1.0])
    >>> with svod.strict():
    ...     x.sum().item()
    1.0
    """

    def __new__(cls, on: builtins.bool = True, /) -> strict: ...
    def __enter__(self) -> strict: ...
    def __exit__(self, *_error: object) -> None: ...

@final
class target:
    """A description of the machine that kernels are made for: this one (`native`), or restricted to
    the instructions of `x86-64-v2` (SSE4), `x86-64-v3` (AVX2) or `x86-64-v4` (AVX-512). Without a
    name, what is used now. As a context manager it is what this thread uses within.

    >>> import svod
    >>> with svod.target("native") as t:
    ...     svod.target().vector_bytes == t.vector_bytes
    True
    """

    def __new__(cls, name: str | None = None, /) -> target: ...
    @property
    def cpu(self) -> str:
        """LLVM's name of the processor."""
    @property
    def vector_bytes(self) -> builtins.int:
        """Width of a vector register in bytes."""
    @property
    def vector_registers(self) -> builtins.int:
        """Number of vector registers."""
    @property
    def fma(self) -> builtins.bool:
        """Whether multiply-add is one instruction."""
    @property
    def caches(self) -> tuple[builtins.int, builtins.int, builtins.int]:
        """Bytes of the caches, first to last level."""
    @property
    def cores(self) -> builtins.int:
        """Number of processors."""
    @property
    def matrix_units(self) -> list[str]:
        """Units for small matrix products: `bf16_dot`, `tiles`."""
    def __enter__(self) -> target: ...
    def __exit__(self, *_error: object) -> None: ...

@final
class Variable:
    """A named integer between two bounds, both included: a size that each run of a plan may choose.

    Used in shapes as numbers are. `bind` gives it a value until a run says otherwise. Memory is
    sized for the upper bound.

    >>> import svod
    >>> n = svod.Variable("n", 1, 512)
    >>> x = svod.arange(512)[:n.bind(3)] * 2
    >>> x.shape
    (n,)
    >>> plan = x.prepare()
    >>> plan.execute()
    >>> x.tolist()
    [0, 2, 4]
    >>> plan.execute(n=4)
    >>> x.tolist()
    [0, 2, 4, 6]
    """

    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: _Extent, /) -> Any: ...
    def __rfloordiv__(self, other: _Extent, /) -> Any: ...
    def __mod__(self, other: _Extent, /) -> Any: ...
    def __rmod__(self, other: _Extent, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __pow__(self, value: Any, mod: Any = None, /) -> Any: ...
    def __rpow__(self, value: Any, mod: Any = None, /) -> Any: ...
    def __neg__(self, /) -> Any: ...
    def __lt__(self, other: _Extent, /) -> builtins.bool: ...
    def __le__(self, other: _Extent, /) -> builtins.bool: ...
    def __gt__(self, other: _Extent, /) -> builtins.bool: ...
    def __ge__(self, other: _Extent, /) -> builtins.bool: ...
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    def __hash__(self, /) -> builtins.int: ...
    def __int__(self, /) -> builtins.int:
        """The value; raises unless every variable has one."""
    def __index__(self, /) -> builtins.int:
        """As `int`."""
    def __float__(self, /) -> builtins.float:
        """The value as a float; raises unless every variable has one."""
    def __format__(self, spec: str, /) -> str:
        """As an integer where it has a value, else as text."""
    def __new__(cls, name: str, min: builtins.int, max: builtins.int) -> Self: ...
    def __reduce__(self, /) -> tuple[type[Variable], tuple[str, builtins.int, builtins.int]]: ...
    def bind(self, /, value: builtins.int) -> Size:
        """The size that it is, with a value until a run says otherwise."""
    @property
    def name(self) -> str:
        """The name, by which runs give it a value."""
    @property
    def min(self) -> builtins.int:
        """The least value."""
    @property
    def max(self) -> builtins.int:
        """The greatest value."""

@disjoint_base
class Size:
    """An integer expression over variables: an extent of a tensor of symbolic shape.

    Arithmetic gives sizes, `//` and `%` floor; with floats, and where it divides by `/`, a 0-d tensor. A
    size whose variables have values is an integer to Python, and is compared as one. Else an order is known
    where the bounds of the variables decide it, and raises `ShapeError` where they do not; sizes that may differ
    are not equal.

    >>> import svod
    >>> n = svod.Variable("n", 1, 512)
    >>> n * 2 + 1
    n*2 + 1
    >>> n + 1 > 0
    True
    >>> n > 5
    Traceback (most recent call last):
        ...
    svod.ShapeError: n > 5 is true or false as n in 1..512 is chosen
    >>> n == 5, n.bind(5) == 5, n.bind(5) > 4, list(range(n.bind(2)))
    (False, True, True, [0, 1])
    """

    def __new__(cls, extents: Sequence[_Extent] = (), /) -> tuple[Any, ...]: ...  # type: ignore[misc]
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: _Extent, /) -> Any: ...
    def __rfloordiv__(self, other: _Extent, /) -> Any: ...
    def __mod__(self, other: _Extent, /) -> Any: ...
    def __rmod__(self, other: _Extent, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __pow__(self, value: Any, mod: Any = None, /) -> Any: ...
    def __rpow__(self, value: Any, mod: Any = None, /) -> Any: ...
    def __neg__(self, /) -> Any: ...
    def __lt__(self, other: _Extent, /) -> builtins.bool: ...
    def __le__(self, other: _Extent, /) -> builtins.bool: ...
    def __gt__(self, other: _Extent, /) -> builtins.bool: ...
    def __ge__(self, other: _Extent, /) -> builtins.bool: ...
    def __eq__(self, other: object, /) -> builtins.bool: ...
    def __ne__(self, other: object, /) -> builtins.bool: ...
    @staticmethod
    def _made(text: str, variables: Sequence[Variable], values: Sequence[tuple[Variable, builtins.int]]) -> Size:
        """The size of this text, over these variables, some of which have a value."""
    def __reduce__(self, /) -> tuple[Any, tuple[Any, ...]]: ...
    def _free(self) -> Size: ...
    def _values(self) -> dict[str, builtins.int]: ...
    def __hash__(self, /) -> builtins.int: ...
    def __int__(self, /) -> builtins.int:
        """The value; raises unless every variable has one."""
    def __index__(self, /) -> builtins.int:
        """As `int`."""
    def __float__(self, /) -> builtins.float:
        """The value as a float; raises unless every variable has one."""
    def __format__(self, spec: str, /) -> str:
        """As an integer where it has a value, else as text."""
    @property
    def min(self) -> builtins.int:
        """The least value that it may have, as far as that is known."""
    @property
    def max(self) -> builtins.int:
        """The greatest value that it may have, as far as that is known."""
    @property
    def variables(self) -> list[Variable]:
        """The variables that it mentions."""

@final
class _SymbolicCount(Size):
    """The number of a tensor's elements, where that is no number yet; called, the extents, as PyTorch's method."""

    def __call__(self, dim: Any = None, *, axis: Any = None) -> Any:
        """The extents, or that of one axis."""

@final
class PrepareConfig:
    """How tensors are prepared and realized.

    Made of the options given here, else of `config`, which is another one, else of the surrounding `with`, else of
    the environment (variables in brackets). As a context manager it holds for what is prepared within, in
    this thread or task of `asyncio`. `prepare`, `realize` and `jit` take the same options, and one made before
    as `config`.

    - `strategy`: how kernels are scheduled, "heuristic", "none", or the fastest found by timing
      candidates in another process, "beam" or "beam:8", whose results are kept on disk (`SVOD_STRATEGY`);
      `beam=8` is the same as the last (`SVOD_BEAM`);
    - `timeout_secs`: what a candidate may take to compile (`BEAM_TIMEOUT_SEC`);
    - `max_uops`: instructions of a candidate at most (`BEAM_UOPS_MAX`);
    - `search_secs`: what a plan's search may take; kernels that it does not come to keep the heuristic's
      schedule (`SVOD_SEARCH_SECS`);
    - `planner`: how intermediates share memory, "arena", "remap" or "disabled" (`SVOD_MEMORY_PLANNER`);
    - `memory_budget`: bytes of intermediates that a plan should have in memory at a time: beyond, what takes the
      least time per byte is let go and computed again where it is read later, as in a backward pass. A budget that
      no plan keeps is no error: `plan.memory` says what is needed (`SVOD_MEMORY_BUDGET`);
    - `schedule_cache`: whether schedules of equal graphs are shared (off with
      `SVOD_DISABLE_SCHEDULE_CACHE=1`);
    - `threads`: of a plan's runs, by default those of `set_threads` (`SVOD_PLAN_THREADS`);
    - `device`: of values that no argument places (`SVOD_DEVICE`);
    - `strict`: as `svod.strict` (`SVOD_STRICT`);
    - `detect_nan`: as `svod.detect_nan` (`SVOD_DETECT_NAN`);
    - `target`: the name of a target, as in `svod.target` (`SVOD_TARGET`).

    >>> import svod
    >>> with svod.PrepareConfig(planner="disabled", threads=1) as config:
    ...     svod.arange(3).sum().item()
    3
    >>> config
    PrepareConfig(strategy=heuristic planner=disabled schedule_cache=on threads=1 device=default)
    """

    def __new__(cls, **options: Any) -> Self: ...
    def __enter__(self, /) -> Self: ...
    def __exit__(self, /, *_error: Any) -> None: ...
    def __hash__(self, /) -> builtins.int: ...
    def __eq__(self, other: object, /) -> builtins.bool: ...
    @property
    def strategy(self) -> str:
        """How kernels are scheduled."""
    @property
    def width(self) -> builtins.int | None:
        """Schedules that each round of a search goes on from; none without one."""
    @property
    def timeout_secs(self) -> builtins.int:
        """Seconds that a search gives a candidate to compile."""
    @property
    def max_uops(self) -> builtins.int:
        """Instructions of a search's candidate at most."""
    @property
    def search_secs(self) -> builtins.int | None:
        """Seconds that a plan's search takes at most."""
    @property
    def planner(self) -> str:
        """How intermediates share memory."""
    @property
    def memory_budget(self) -> builtins.int | None:
        """Bytes of intermediates that a plan should have in memory at a time; none for any number."""
    @property
    def schedule_cache(self) -> builtins.bool:
        """Whether schedules of equal graphs are shared."""
    @property
    def threads(self) -> builtins.int | None:
        """Threads of a plan's runs; none for those of `set_threads`."""
    @property
    def device(self) -> str | None:
        """The device of values that no argument places; none for the CPU."""
    @property
    def strict(self) -> builtins.bool:
        """Whether folds keep their order."""
    @property
    def detect_nan(self) -> builtins.bool:
        """Whether runs fail at the first NaN."""

    @property
    def skip(self) -> str:
        """The optional passes that are left out, by name."""
    @property
    def target(self) -> str | None:
        """The name of the target; none for the machine's."""

@final
class ExecutionPlan:
    """A prepared computation, to be run many times; made by `prepare`.

    Inputs, outputs and intermediates are the plan's own memory: `outputs` show the latest run, and whatever was made of
    them keeps the value that it has seen. A run that fails leaves inputs and variables as they were.
    Runs of one plan take turns; `instance()` makes another for use at the same time.

    >>> import numpy as np, svod
    >>> x = svod.Tensor([1.0, 2.0])
    >>> plan = (x * x).prepare(inputs=[x])
    >>> plan.execute(np.float32([3.0, 4.0]))
    >>> plan.outputs[0].tolist()
    [9.0, 16.0]
    """

    def execute(self, /, *arrays: _ArrayLike, **variables: builtins.int) -> None:
        """Runs the plan. `arrays` are new contents of all inputs, in order, or none of them, when they
        stay as they are; `variables` are new values of symbolic sizes, which later runs keep. Those
        of inputs' shapes follow from the arrays.
        """
    def _run_writing(
        self,
        arrays: tuple[_ArrayLike, ...],
        written: Sequence[tuple[builtins.int, Tensor]],
        **variables: builtins.int,
    ) -> list[Tensor]: ...
    def _keep(self, tensors: Sequence[Tensor | None]) -> _Kept:
        """The plan with these tensors as inputs, none where an input is open."""

    def run(self, /, *arrays: _ArrayLike, **variables: builtins.int) -> list[Tensor]:
        """Runs the plan on `arrays` (without any, on its own inputs), and gives the outputs as tensors
        of their own, which no later run overwrites. The plan's own inputs, outputs and values of
        variables stay, where all of it is kernels of the CPU; another plan runs as by `execute`, and copies.

        >>> import svod
        >>> x = svod.empty(2)
        >>> plan = (x + 1).prepare(inputs=[x])
        >>> (first,) = plan.run(svod.Tensor([1.0, 2.0]))
        >>> (second,) = plan.run(svod.Tensor([5.0, 6.0]))
        >>> first.tolist(), second.tolist()
        ([2.0, 3.0], [6.0, 7.0])
        """
    def __call__(self, /, *arrays: _ArrayLike, **variables: builtins.int) -> list[Tensor]:
        """As `run`."""
    def execute_profiled(self, /, *arrays: _ArrayLike, **variables: builtins.int) -> Profile:
        """As `execute`, one kernel at a time, and gives the time of each."""
    @property
    def memory(self) -> dict[str, builtins.int]:
        """What the memory planner did with intermediates: buffers that share memory, and those of them that a
        kernel writes over what it reads; bytes saved, bytes before and after; the most that was needed at one
        time before, and after, which is the least that any plan needs."""
    @property
    def variables(self) -> dict[str, builtins.int | None]:
        """The variables that runs may give a value, and their present values; none where they have
        none yet.
        """
    def explain(self, op: builtins.int | None = None) -> Explanation:
        """What the plan is and costs at its present sizes, as a table: a line per operation with its number
        (as in `print(plan)`, `kernels` and profiles), origin, device, tasks, share of the threads that have work,
        registers, work, estimated and measured time (once `execute_profiled` has run) and share of the roofline;
        then totals, memory, the critical path (marked with `*`), and what might be fused.

        With the number of an operation, all of it: axes and the loops over them, tasks, reductions, hints,
        registers, scratch, buffers with their layouts, and the schedule."""
    def analysis(self) -> Analysis:
        """As `explain`, as data: dicts, lists, numbers and text, which `json.dumps` takes; see `svod.analysis`."""
    def instance(self, /) -> ExecutionPlan:
        """Another instance of the plan: it shares code and constants, and has memory of its own."""
    @property
    def device(self) -> str:
        """The device of the first output."""
    @property
    def buffers(self) -> list[tuple[str, builtins.int, str]]:
        """All buffers, as kernels and times name them by position: element type, number of elements at most, and
        whose it is, "given", "input", "intermediate" or "output"."""
    def read_buffer(self, /, at: builtins.int) -> np.ndarray[Any, Any]:
        """A copy of a buffer, as the last run left it, flat. Intermediates are there where the plan was prepared
        with `planner="disabled"`.

        >>> import svod
        >>> x = svod.Tensor([3.0, 2.0])
        >>> plan = (x.sort()[0] * 2).prepare(inputs=[x], planner="disabled")
        >>> plan.execute()
        >>> at = [role for _, _, role in plan.buffers].index("intermediate")
        >>> plan.read_buffer(at).tolist()
        [2.0, 3.0]
        """
    def release_intermediates(self, /) -> builtins.int:
        """Gives the memory of intermediates back; the next run allocates again. Says how many buffers
        were released.
        """
    def release_all(self, /) -> builtins.int:
        """Gives the memory of intermediates and outputs back."""
    @property
    def kernels(self) -> list[Kernel]:
        """The compiled kernels, in the order in which they run."""
    @property
    def outputs(self) -> list[Tensor]:
        """The outputs, in the order of the tensors that were prepared. They follow the plan: they show its
        latest run. What is made of one, an expression, a copy, an array, keeps the value that it has seen.

        >>> import svod
        >>> x = svod.empty(2)
        >>> plan = (x * 2).prepare(inputs=[x])
        >>> plan.execute(svod.Tensor([1.0, 2.0]))
        >>> first = plan.outputs[0].clone()
        >>> plan.execute(svod.Tensor([3.0, 4.0]))
        >>> first.tolist(), plan.outputs[0].tolist()
        ([2.0, 4.0], [6.0, 8.0])
        """
    @property
    def inputs(self) -> list[PlanInput]:
        """The inputs, to be read and written between runs."""

@final
class Profile:
    """The times of a run."""

    def __len__(self, /) -> builtins.int: ...
    @overload
    def __getitem__(self, key: builtins.int, /) -> Timing: ...
    @overload
    def __getitem__(self, key: slice, /) -> list[Timing]: ...
    @property
    def others(self) -> list[Timing]:
        """Copies, views and custom functions."""
    @property
    def total(self) -> builtins.float:
        """Seconds of the whole run."""
    @property
    def kernels(self) -> list[Timing]:
        """Compiled kernels, in the order in which they ran."""

@final
class Timing:
    """The time of one step of a run."""

    @property
    def op(self) -> builtins.int:
        """The number of the operation in the plan."""
    @property
    def device(self) -> str:
        """Where it ran."""
    @property
    def time(self) -> builtins.float:
        """How long it took, in seconds."""
    @property
    def buffers(self) -> list[builtins.int]:
        """Its arguments, by position among the plan's buffers."""
    @property
    def name(self) -> str:
        """The kernel's name, or what it is."""

@final
class Tensor:
    """An array whose value is computed when it is asked for.

    `Tensor(data)` copies NumPy arrays of any order, strides and byte order, nested sequences,
    scalars, and other tensors; `svod.from_numpy` borrows. Operations have PyTorch's names and
    NumPy's broadcasting; Python scalars take the type of the tensor they meet.

    A tensor is a value. Assignment (`x[i] = v`, `assign`, methods with `_` at the end) gives `x` a new one: what was
    built on the earlier one keeps it, parts and other shapes of `x` too. So assigning to one of these, as in
    `x[0][1] = 5`, is an error while `x` is in use: `x[0, 1] = 5` is what it should be. `y = x; x += 1` makes `x` the
    name of another tensor and leaves `y` as it was.

    >>> import svod
    >>> x = svod.Tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.sum(0)
    Tensor([4., 6.], shape=(2,), dtype=float32, device=CPU)
    >>> x.sum(0).tolist()
    [4.0, 6.0]
    """

    def __new__(cls, data: Any, dtype: _DTypeLike | None = None, device: str | None = None) -> Self: ...
    def __hash__(self, /) -> builtins.int: ...
    def __lt__(self, other: _Operand, /) -> Tensor: ...
    def __le__(self, other: _Operand, /) -> Tensor: ...
    def __eq__(self, other: Any, /) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Any, /) -> Tensor: ...  # type: ignore[override]
    def __gt__(self, other: _Operand, /) -> Tensor: ...
    def __ge__(self, other: _Operand, /) -> Tensor: ...
    def __iter__(self, /) -> Iterator[Tensor]: ...
    def __iadd__(self, other: _Operand, /) -> Tensor: ...
    def __isub__(self, other: _Operand, /) -> Tensor: ...
    def __imul__(self, other: _Operand, /) -> Tensor: ...
    def __itruediv__(self, other: _Operand, /) -> Tensor: ...
    def __ifloordiv__(self, other: _Operand, /) -> Tensor: ...
    def __imod__(self, other: _Operand, /) -> Tensor: ...
    def __ipow__(self, other: _Operand, /) -> Tensor: ...  # type: ignore[misc]
    def __ilshift__(self, other: _Operand, /) -> Tensor: ...
    def __irshift__(self, other: _Operand, /) -> Tensor: ...
    def __iand__(self, other: _Operand, /) -> Tensor: ...
    def __ior__(self, other: _Operand, /) -> Tensor: ...
    def __ixor__(self, other: _Operand, /) -> Tensor: ...
    def __add__(self, other: _Operand, /) -> Tensor: ...
    def __radd__(self, other: _Operand, /) -> Tensor: ...
    def __sub__(self, other: _Operand, /) -> Tensor: ...
    def __rsub__(self, other: _Operand, /) -> Tensor: ...
    def __mul__(self, other: _Operand, /) -> Tensor: ...
    def __rmul__(self, other: _Operand, /) -> Tensor: ...
    def __mod__(self, other: _Operand, /) -> Tensor: ...
    def __rmod__(self, other: _Operand, /) -> Tensor: ...
    def __pow__(self, other: _Operand, modulo: None = None, /) -> Tensor: ...
    def __rpow__(self, other: _Operand, modulo: None = None, /) -> Tensor: ...
    def __neg__(self, /) -> Tensor: ...
    def __pos__(self, /) -> Tensor: ...
    def __abs__(self, /) -> Tensor: ...
    def __round__(self, /, ndigits: builtins.int | None = None) -> Tensor: ...
    def __bool__(self, /) -> builtins.bool: ...
    def __contains__(self, one: Any, /) -> builtins.bool: ...
    def __invert__(self, /) -> Tensor: ...
    def __lshift__(self, other: _Operand, /) -> Tensor: ...
    def __rlshift__(self, other: _Operand, /) -> Tensor: ...
    def __rshift__(self, other: _Operand, /) -> Tensor: ...
    def __rrshift__(self, other: _Operand, /) -> Tensor: ...
    def __and__(self, other: _Operand, /) -> Tensor: ...
    def __rand__(self, other: _Operand, /) -> Tensor: ...
    def __xor__(self, other: _Operand, /) -> Tensor: ...
    def __rxor__(self, other: _Operand, /) -> Tensor: ...
    def __or__(self, other: _Operand, /) -> Tensor: ...
    def __ror__(self, other: _Operand, /) -> Tensor: ...
    def __int__(self, /) -> builtins.int: ...
    def __float__(self, /) -> builtins.float: ...
    def __format__(self, spec: str, /) -> str: ...
    def __floordiv__(self, other: _Operand, /) -> Tensor: ...
    def __rfloordiv__(self, other: _Operand, /) -> Tensor: ...
    def __truediv__(self, other: _Operand, /) -> Tensor: ...
    def __rtruediv__(self, other: _Operand, /) -> Tensor: ...
    def __index__(self, /) -> builtins.int: ...
    def __matmul__(self, other: _Operand, /) -> Tensor: ...
    def __rmatmul__(self, other: _Operand, /) -> Tensor: ...
    def __len__(self, /) -> builtins.int: ...
    def __getitem__(self, key: Any, /) -> Tensor: ...
    def __setitem__(self, key: Any, value: _Operand, /) -> None: ...
    def _become(self, name: str, value: Tensor) -> Self: ...
    def _become_moved(self, value: Tensor) -> builtins.bool: ...
    def _is_fixed(self) -> builtins.bool: ...
    def _snapshot(self) -> Tensor | builtins.int: ...
    def reshape(self, /, *shape: _Extent | Sequence[_Extent]) -> Tensor:
        """The same elements in row-major order under other extents; one -1 is inferred."""
    def view(self, /, *shape: _Extent | Sequence[_Extent] | DType) -> Tensor:
        """As `reshape`; of a type, as `bitcast`."""
    def permute(
        self, /, *axes: builtins.int | Sequence[builtins.int], dims: Sequence[builtins.int] | None = None
    ) -> Tensor:
        """Dimension `i` of the result is dimension `axes[i]`."""
    def t(self, /) -> Tensor:
        """Rows and columns exchanged, of at most 2 dimensions."""
    def movedim(self, /, source: builtins.int, destination: builtins.int) -> Tensor:
        """Dimension `source` moved to position `destination`."""
    def flatten(self, /, start_dim: builtins.int = 0, end_dim: builtins.int = -1) -> Tensor:
        """Dimensions `start_dim` to `end_dim` as one."""
    def expand(self, /, *shape: _Extent | Sequence[_Extent]) -> Tensor:
        """Dimensions of extent 1 repeated to these extents; -1 keeps one."""
    def broadcast_to(self, /, *shape: _Extent | Sequence[_Extent]) -> Tensor:
        """As `expand`, by NumPy's name."""
    def pad(self, /, padding: Sequence[tuple[_Extent, _Extent]], value: _Operand | None = None) -> Tensor:
        """`value` before and after each dimension, by pairs of numbers of elements."""
    def shrink(self, /, bounds: Sequence[tuple[_Extent, _Extent]]) -> Tensor:
        """The part from the first to before the second number, of each dimension."""
    def tril(self, /, diagonal: _Extent = 0) -> Tensor:
        """The elements on and below a diagonal, zeros above."""
    def triu(self, /, diagonal: _Extent = 0) -> Tensor:
        """The elements on and above a diagonal, zeros below."""
    def repeat(self, /, *repeats: _Extent | Sequence[_Extent]) -> Tensor:
        """The whole repeated along each dimension; new dimensions come first."""
    def masked_select(self, /, mask: _ArrayLike) -> Tensor:
        """The elements where a mask of the same shape holds, 1-d. Computed now, as `nonzero` is."""
    def _norm(
        self,
        /,
        p: builtins.float = 2.0,
        dim: _Axis = None,
        keepdim: builtins.bool = False,
        *,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
    ) -> Tensor: ...
    def _unique(self, /) -> Tensor:
        """The values, each once, sorted. Computed now, as `nonzero` is; every NaN counts."""
    def _bincount(self, /, weights: _ArrayLike | None = None, *, minlength: builtins.int) -> Tensor:
        """How often each integer below `minlength` occurs in this 1-d tensor, or the sum of its `weights`."""
    def searchsorted(self, /, values: _ArrayLike, *, right: builtins.bool = False) -> Tensor:
        """Where each value would be put into this sorted 1-d tensor: before the elements equal to it or,
        with `right`, behind them.
        """
    def one_hot(self, /, num_classes: _Extent) -> Tensor:
        """1 at each index along a new last dimension, else 0."""
    def embedding(self, /, ids: _ArrayLike) -> Tensor:
        """Rows of this table by index."""
    def clone(self, /) -> Tensor:
        """A tensor of its own with the same value: of one that follows a plan, or borrows an array, that of this
        moment.
        """
    def matmul(self, /, other: _Operand) -> Tensor:
        """The matrix product, by NumPy's rules."""
    def dot(self, /, other: _Operand) -> Tensor:
        """As `matmul`."""
    def outer(self, /, other: _Operand) -> Tensor:
        """The products of each element of one 1-d tensor with each of another."""
    def linear(self, /, weight: _ArrayLike, bias: _ArrayLike | None = None) -> Tensor:
        """`self @ weight.T + bias` with weights `[out, in]`."""
    def layer_norm(
        self, /, weight: _ArrayLike | None = None, bias: _ArrayLike | None = None, eps: builtins.float = 1e-05
    ) -> Tensor:
        """The last axes, as many as `weight` has and by default one, with mean 0 and variance 1, then
        scaled by `weight` and shifted by `bias`; `svod.nn.functional.layer_norm` takes a shape first.
        """
    def rms_norm(self, /, weight: _ArrayLike | None = None, eps: builtins.float = 1e-06) -> Tensor:
        """The last axes divided by the root of their mean square, then scaled by `weight`;
        `svod.nn.functional.rms_norm` takes a shape first.
        """
    def conv(
        self,
        /,
        weight: _ArrayLike,
        bias: _ArrayLike | None = None,
        stride: _Numbers = 1,
        padding: _Padding = 0,
        dilation: _Numbers = 1,
        groups: builtins.int = 1,
    ) -> Tensor:
        """The convolution over all axes behind the channels of `[batch, in, ..]` with weights `[out, in / groups, ..]`.

        `padding` is a number, one for each dimension, a pair for each, `"same"` or `"valid"`.
        """
    def conv_transpose(
        self,
        /,
        weight: _ArrayLike,
        bias: _ArrayLike | None = None,
        stride: _Numbers = 1,
        padding: _Padding = 0,
        output_padding: _Numbers = 0,
        groups: builtins.int = 1,
        dilation: _Numbers = 1,
    ) -> Tensor:
        """The transposed convolution over all axes behind the channels of `[batch, in, ..]` with weights
        `[in, out / groups, ..]`.

        `padding` is cut off the result, `output_padding` added at its end.
        """
    def max_pool(
        self,
        /,
        kernel_size: Sequence[builtins.int],
        stride: _Numbers | None = None,
        padding: _Padding = 0,
        dilation: _Numbers = 1,
        ceil_mode: builtins.bool = False,
    ) -> Tensor:
        """The maximum of each window over the last axes, as many as there are numbers; NaN where there is one."""
    def avg_pool(
        self,
        /,
        kernel_size: Sequence[builtins.int],
        stride: _Numbers | None = None,
        padding: _Padding = 0,
        ceil_mode: builtins.bool = False,
        count_include_pad: builtins.bool = True,
        dilation: _Numbers = 1,
    ) -> Tensor:
        """The mean of each window over the last axes, as many as there are numbers."""
    def adaptive_avg_pool(self, /, output_size: Sequence[builtins.int | None]) -> Tensor:
        """The means of so many parts of the last axes, as many as there are numbers, that cover them.

        None keeps an extent.
        """
    def conv1d(
        self,
        /,
        weight: _ArrayLike,
        bias: _ArrayLike | None = None,
        stride: _Numbers = 1,
        padding: _Padding = 0,
        dilation: _Numbers = 1,
        groups: builtins.int = 1,
    ) -> Tensor:
        """The convolution over the last 1 of `[batch, in, ..]` with weights `[out, in / groups, ..]`.

        `padding` is a number, one for each dimension, a pair for each, `"same"` or `"valid"`.
        """
    def conv_transpose1d(
        self,
        /,
        weight: _ArrayLike,
        bias: _ArrayLike | None = None,
        stride: _Numbers = 1,
        padding: _Padding = 0,
        output_padding: _Numbers = 0,
        groups: builtins.int = 1,
        dilation: _Numbers = 1,
    ) -> Tensor:
        """The transposed convolution over the last 1 of `[batch, in, ..]` with weights `[in, out / groups, ..]`.

        `padding` is cut off the result, `output_padding` added at its end.
        """
    def max_pool1d(
        self,
        /,
        kernel_size: _Numbers,
        stride: _Numbers | None = None,
        padding: _Padding = 0,
        dilation: _Numbers = 1,
        ceil_mode: builtins.bool = False,
    ) -> Tensor:
        """The maximum of each window over the last 1; NaN where there is one."""
    def avg_pool1d(
        self,
        /,
        kernel_size: _Numbers,
        stride: _Numbers | None = None,
        padding: _Padding = 0,
        ceil_mode: builtins.bool = False,
        count_include_pad: builtins.bool = True,
        dilation: _Numbers = 1,
    ) -> Tensor:
        """The mean of each window over the last 1."""
    def adaptive_avg_pool1d(self, /, output_size: builtins.int | Sequence[builtins.int | None]) -> Tensor:
        """The means of so many parts of the last 1 that cover them; None keeps an extent."""
    def conv2d(
        self,
        /,
        weight: _ArrayLike,
        bias: _ArrayLike | None = None,
        stride: _Numbers = 1,
        padding: _Padding = 0,
        dilation: _Numbers = 1,
        groups: builtins.int = 1,
    ) -> Tensor:
        """The convolution over the last 2 of `[batch, in, ..]` with weights `[out, in / groups, ..]`.

        `padding` is a number, one for each dimension, a pair for each, `"same"` or `"valid"`.
        """
    def conv_transpose2d(
        self,
        /,
        weight: _ArrayLike,
        bias: _ArrayLike | None = None,
        stride: _Numbers = 1,
        padding: _Padding = 0,
        output_padding: _Numbers = 0,
        groups: builtins.int = 1,
        dilation: _Numbers = 1,
    ) -> Tensor:
        """The transposed convolution over the last 2 of `[batch, in, ..]` with weights `[in, out / groups, ..]`.

        `padding` is cut off the result, `output_padding` added at its end.
        """
    def max_pool2d(
        self,
        /,
        kernel_size: _Numbers,
        stride: _Numbers | None = None,
        padding: _Padding = 0,
        dilation: _Numbers = 1,
        ceil_mode: builtins.bool = False,
    ) -> Tensor:
        """The maximum of each window over the last 2; NaN where there is one."""
    def avg_pool2d(
        self,
        /,
        kernel_size: _Numbers,
        stride: _Numbers | None = None,
        padding: _Padding = 0,
        ceil_mode: builtins.bool = False,
        count_include_pad: builtins.bool = True,
        dilation: _Numbers = 1,
    ) -> Tensor:
        """The mean of each window over the last 2."""
    def adaptive_avg_pool2d(self, /, output_size: builtins.int | Sequence[builtins.int | None]) -> Tensor:
        """The means of so many parts of the last 2 that cover them; None keeps an extent."""
    def conv3d(
        self,
        /,
        weight: _ArrayLike,
        bias: _ArrayLike | None = None,
        stride: _Numbers = 1,
        padding: _Padding = 0,
        dilation: _Numbers = 1,
        groups: builtins.int = 1,
    ) -> Tensor:
        """The convolution over the last 3 of `[batch, in, ..]` with weights `[out, in / groups, ..]`.

        `padding` is a number, one for each dimension, a pair for each, `"same"` or `"valid"`.
        """
    def conv_transpose3d(
        self,
        /,
        weight: _ArrayLike,
        bias: _ArrayLike | None = None,
        stride: _Numbers = 1,
        padding: _Padding = 0,
        output_padding: _Numbers = 0,
        groups: builtins.int = 1,
        dilation: _Numbers = 1,
    ) -> Tensor:
        """The transposed convolution over the last 3 of `[batch, in, ..]` with weights `[in, out / groups, ..]`.

        `padding` is cut off the result, `output_padding` added at its end.
        """
    def max_pool3d(
        self,
        /,
        kernel_size: _Numbers,
        stride: _Numbers | None = None,
        padding: _Padding = 0,
        dilation: _Numbers = 1,
        ceil_mode: builtins.bool = False,
    ) -> Tensor:
        """The maximum of each window over the last 3; NaN where there is one."""
    def avg_pool3d(
        self,
        /,
        kernel_size: _Numbers,
        stride: _Numbers | None = None,
        padding: _Padding = 0,
        ceil_mode: builtins.bool = False,
        count_include_pad: builtins.bool = True,
        dilation: _Numbers = 1,
    ) -> Tensor:
        """The mean of each window over the last 3."""
    def adaptive_avg_pool3d(self, /, output_size: builtins.int | Sequence[builtins.int | None]) -> Tensor:
        """The means of so many parts of the last 3 that cover them; None keeps an extent."""
    def im2col(
        self,
        /,
        kernel_size: Sequence[builtins.int],
        stride: _Numbers = 1,
        padding: _Padding = 0,
        dilation: _Numbers = 1,
    ) -> Tensor:
        """The windows of a convolution over `[batch, channels, ..]` as columns.

        The result is `[batch, channels * elements of a window, windows]`; `kernel_size` has a number for
        each spatial dimension.
        """
    def batch_norm(
        self,
        /,
        running_mean: _ArrayLike | None = None,
        running_var: _ArrayLike | None = None,
        weight: _ArrayLike | None = None,
        bias: _ArrayLike | None = None,
        eps: builtins.float = 1e-05,
    ) -> Tensor:
        """Each channel of `[batch, channels, ..]` less its mean and divided by the root of its variance,
        then scaled and shifted; without statistics, by those of this batch.
        """
    def group_norm(
        self,
        /,
        num_groups: builtins.int,
        weight: _ArrayLike | None = None,
        bias: _ArrayLike | None = None,
        eps: builtins.float = 1e-05,
    ) -> Tensor:
        """Groups of the channels of `[batch, channels, ..]`, each with mean 0 and variance 1, then scaled
        and shifted by channel.
        """
    def instance_norm(
        self, /, weight: _ArrayLike | None = None, bias: _ArrayLike | None = None, eps: builtins.float = 1e-05
    ) -> Tensor:
        """Each channel of each item of `[batch, channels, ..]` with mean 0 and variance 1, then scaled and
        shifted by channel.
        """
    def scaled_dot_product_attention(
        self,
        /,
        key: _ArrayLike,
        value: _ArrayLike,
        attn_mask: _ArrayLike | None = None,
        *,
        is_causal: builtins.bool = False,
        scale: builtins.float | None = None,
        enable_gqa: builtins.bool = False,
    ) -> Tensor:
        """Attention over `[.., length, depth]`: `softmax(self @ key.T * scale + mask) @ value`.

        A bool mask says which keys take part, a float one is added; `is_causal` lets no query see
        later keys; `scale` is `1 / sqrt(depth)` unless given. With `enable_gqa` each head of keys and
        values (axis -3) serves a group of heads of queries. One kernel; the scores are never in memory.
        """
    def bool(self, /) -> Tensor:
        """As `bool`: whether an element is not zero."""
    def half(self, /) -> Tensor:
        """As `float16`."""
    def bfloat16(self, /) -> Tensor:
        """As `bfloat16`."""
    def float(self, /) -> Tensor:
        """As `float32`."""
    def double(self, /) -> Tensor:
        """As `float64`."""
    def short(self, /) -> Tensor:
        """As `int16`."""
    def int(self, /) -> Tensor:
        """As `int32`."""
    def long(self, /) -> Tensor:
        """As `int64`."""
    def div(self, /, other: _Operand, *, rounding_mode: str | None = None) -> Tensor:
        """True quotient, a float; with `rounding_mode` "floor" or "trunc" rounded, of integers an integer."""
    def cast(self, /, dtype: _DTypeLike) -> Tensor:
        """Each value as another type: floats truncate and saturate to integers, integers wrap."""
    def astype(self, /, dtype: _DTypeLike) -> Tensor:
        """As `cast`, by NumPy's name."""
    def type(self, /, dtype: _DTypeLike) -> Tensor:
        """As `cast`, by PyTorch's name."""
    def bitcast(self, /, dtype: _DTypeLike) -> Tensor:
        """The bits of each value as another type of the same width."""
    def gelu(self, /, approximate: str = "none") -> Tensor:
        """`x * Φ(x)`, exactly, or with `approximate="tanh"` by its authors' approximation."""
    def leaky_relu(self, /, negative_slope: builtins.float = 0.01) -> Tensor:
        """`x` where it is positive, else `negative_slope * x`."""
    def clamp(self, /, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
        """Not below `min` and not above `max`; NaN stays."""
    def clip(self, /, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
        """As `clamp`, by NumPy's name."""
    def lerp(self, /, end: _Operand, weight: _Operand) -> Tensor:
        """`self + weight * (end - self)`."""
    def where(self, /, condition: _ArrayLike, other: _Operand) -> Tensor:
        """`self` where the condition holds, else `other`."""
    def masked_fill(self, /, mask: _ArrayLike, value: _Operand) -> Tensor:
        """`value` where the mask holds, else `self`."""
    def full_like(self, /, fill_value: _Operand) -> Tensor:
        """One value in this tensor's shape and type."""
    def zeros_like(self, /) -> Tensor:
        """Zeros in this tensor's shape and type."""
    def ones_like(self, /) -> Tensor:
        """Ones in this tensor's shape and type."""
    def detach(self, /) -> Tensor:
        """The same value without gradient."""
    @property
    def requires_grad(self) -> builtins.bool:
        """Whether derivatives may be taken by the tensor, or by something that it follows from."""
    @requires_grad.setter
    def requires_grad(self, value: builtins.bool, /) -> None: ...
    def requires_grad_(self, /, requires_grad: builtins.bool = True) -> Tensor:
        """Has `backward` gather the derivative by this tensor in its `grad`; gives the tensor itself."""
    @property
    def grad(self) -> Tensor | None:
        """The gradient that `backward` gathered; none before, and after `t.grad = None`."""
    @grad.setter
    def grad(self, value: Tensor | None, /) -> None: ...
    @property
    def is_leaf(self) -> builtins.bool:
        """Whether it follows from no other tensor that requires a gradient."""
    def retain_grad(self, /) -> None:
        """Has `backward` keep the gradient by this tensor, though it follows from others."""
    def backward(
        self,
        /,
        gradient: Any | None = None,
        *,
        retain_graph: builtins.bool = False,
        create_graph: builtins.bool = False,
    ) -> None:
        """Adds to the `grad` of each tensor that requires a gradient the derivative of this one by it."""
    def gradient(self, /, *by: Tensor, cotangent: Any | None = None) -> tuple[Tensor, ...]:
        """The derivatives of this tensor by others that it follows from."""
    def dim(self, /) -> builtins.int:
        """Number of dimensions."""
    def numel(self, /) -> Any:
        """Number of elements."""
    def graph(self, /) -> str:
        """The pending expression as text."""
    def realize(self, /, **options: Any) -> Self:
        """Computes the value, unless that is done, and gives the tensor itself.
        `options` are those of `PrepareConfig`.
        """
    def prepare(
        self,
        /,
        inputs: Sequence[Tensor] | Tensor | None = None,
        *,
        unused_inputs: builtins.bool = False,
        schedules: Mapping[builtins.int | str, _Schedules] | None = None,
        **options: Any,
    ) -> ExecutionPlan:
        """Prepares the computation to be run many times: schedules, compiles, allocates.

        The tensor then follows the plan: it shows the latest run. What is made of it keeps the value that it
        has seen; what is made of it before the first run has the value of that. `inputs` are tensors whose
        content runs may be given, of which the value has to be made, unless `unused_inputs` says otherwise;
        everything else is constant. `schedules` gives kernels, by their
        name or their position in the plan's `kernels`, a `Schedule` or its text in place of the chosen
        one; or a list of up to three, by size: pairs of a condition on variables, such as `"n <= 4"`, and a
        schedule, and last one without. `options` are those of `PrepareConfig`.
        """
    def numpy(self, /) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array; realizes the tensor.

        The memory of a realized tensor never changes, nor does what an array has seen of a plan's output: the
        array shares it, read-only. `copy()` what you want to write. Of a borrowed array it is a writable copy.
        """
    def item(self, /) -> Any:
        """The only element as a Python scalar; realizes the tensor."""
    def tolist(self, /) -> Any:
        """The elements as nested lists; realizes the tensor."""
    def __array__(self, dtype: Any = None, copy: builtins.bool | None = None) -> np.ndarray[Any, Any]: ...
    def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **options: Any) -> Any: ...
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any: ...
    def __jax_array__(self) -> Any: ...
    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[builtins.int, builtins.int]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def to(
        self,
        /,
        *target: _DTypeLike | str | Tensor | builtins.bool | None,
        dtype: _DTypeLike | None = None,
        device: str | None = None,
        non_blocking: builtins.bool = False,
        copy: builtins.bool = False,
    ) -> Tensor:
        """On another device, or as another type: whichever is named, or both, or those of another tensor. The copy is
        made where it is needed; `realize` the result to keep it. PyTorch's `non_blocking` and `copy`, by name or behind
        the others, change nothing: a tensor is a value."""
    def __reduce__(self) -> Any: ...
    @staticmethod
    def _restore(
        elements: Any, devices: list[str], axis: builtins.int | None, is_required: builtins.bool | None = None
    ) -> Tensor: ...
    def assign(self, /, value: _Operand) -> Self:
        """Makes the tensor stand for another value, broadcast and cast; gives the tensor itself."""
    def copy_(self, /, value: Any) -> Self:
        """As `assign`, by PyTorch's name."""
    @property
    def mT(self) -> Tensor:
        """The last two dimensions exchanged."""
    @property
    def H(self) -> Tensor:
        """The adjoint of a matrix."""
    @property
    def mH(self) -> Tensor:
        """The adjoints of matrices: the last two dimensions exchanged, and complex numbers conjugated."""
    @property
    def itemsize(self) -> builtins.int:
        """Number of bytes of an element."""
    @property
    def ndim(self) -> builtins.int:
        """Number of dimensions."""
    @property
    def size(self) -> Count:
        """Number of elements, an integer. Called, it gives the extents, or that of one axis, as PyTorch's method:
        `x.size(0)`.

        >>> import svod
        >>> x = svod.ones(2, 3)
        >>> x.size, x.size(), x.size(0)
        (6, (2, 3), 2)
        """
    @property
    def nbytes(self) -> Any:
        """Number of bytes of the elements."""
    @property
    def dtype(self) -> DType:
        """Element type."""
    @property
    def device(self) -> str | tuple[str, ...]:
        """Name of the device, such as `CPU`; a tuple of names where the value is spread over several."""
    @property
    def shard_axis(self) -> builtins.int | None:
        """The axis along which devices have parts of the value; none where each has the whole."""
    @property
    def shards(self) -> list[Tensor]:
        """What each device has of a value that is spread over several, on that device."""
    @property
    def is_realized(self) -> builtins.bool:
        """Whether the value is in memory."""
    @property
    def T(self) -> Tensor:
        """All dimensions in reverse order."""
    @property
    def real(self) -> Tensor:
        """The real parts; of real numbers themselves."""

    @property
    def imag(self) -> Tensor:
        """The imaginary parts; of real numbers 0."""

    def _complex_function(self, /, name: builtins.str) -> Tensor: ...
    def _factors(
        self, /, factors: builtins.str, other: _ArrayLike | None = None, *, name: builtins.str | None = None
    ) -> list[Tensor]: ...
    def _fft(self, /, axis: builtins.int, backward: builtins.bool) -> Tensor: ...
    def _transposed(self, /, axes: Sequence[builtins.int]) -> Tensor: ...
    def _rfft(self, /, axis: builtins.int) -> Tensor: ...
    def _view_of(self, /, base: Tensor, by: builtins.str) -> Tensor: ...
    def _irfft(self, /, axis: builtins.int, odd: builtins.bool) -> Tensor: ...
    def __complex__(self) -> builtins.complex: ...
    @property
    def shape(self) -> tuple[Any, ...]:
        """Extents."""
    __array_priority__: builtins.float
    # Written by scripts/stubs.py, from here to the end of the class.
    def __array_namespace__(x, /, *, api_version: builtins.str | None = None) -> ModuleType:
        """The module of a tensor's functions, by the array API standard: `svod`."""
    def __bytes__(x, /) -> bytes:
        """The bytes of the elements, as `tobytes` has them.

        >>> import svod
        >>> bytes(svod.Tensor([1], dtype="int16"))
        b'\x01\x00'
        """
    def __divmod__(x, other: Any, /) -> tuple[Tensor, Tensor]:
        """The quotient rounded down, and the remainder.

        >>> import svod
        >>> [part.tolist() for part in divmod(svod.Tensor([7, -7]), 3)]
        [[2, -3], [1, 2]]
        """
    def __rdivmod__(x, other: Any, /) -> tuple[Tensor, Tensor]:
        """The quotient of something else by the tensor, rounded down, and the remainder.

        >>> import svod
        >>> [part.tolist() for part in divmod(7, svod.Tensor([2, 3]))]
        [[3, 2], [1, 1]]
        """
    def abs(self, /) -> Tensor:
        """`|x|`; wraps on integers."""
    def abs_(self, /) -> Self:
        """Becomes `|x|`."""
    def absolute(self, /) -> Tensor:
        """`|x|`; wraps on integers."""
    def absolute_(self, /) -> Self:
        """Becomes what `absolute` makes of it."""
    def acos(x, /) -> Tensor:
        """Arc cosine, in radians; NaN outside of -1..1.

        >>> import svod
        >>> svod.acos(svod.Tensor([1.0, 0.0])).tolist()
        [0.0, 1.5707963705062866]
        """
    def acos_(self, /) -> Self:
        """Becomes what `acos` makes of it."""
    def acosh(x, /) -> Tensor:
        """Inverse hyperbolic cosine; NaN below 1.

        >>> import svod
        >>> svod.acosh(svod.Tensor([1.0])).tolist()
        [0.0]
        """
    def acosh_(self, /) -> Self:
        """Becomes what `acosh` makes of it."""
    def add(self, /, other: _Operand, *, alpha: _Operand | None = None) -> Tensor:
        """Sum, of `alpha` times the second; logical or on bools."""
    def add_(self, /, other: _Operand, *, alpha: _Operand | None = None) -> Self:
        """Becomes `x + alpha * other`."""
    def addbmm(x, batch1: _Operand, batch2: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """`beta * x + alpha * (batch1 @ batch2)`, the products of all matrices of the batch summed.

        >>> import svod
        >>> svod.addbmm(svod.ones(1, 1), svod.ones(2, 1, 3), svod.ones(2, 3, 1)).tolist()
        [[7.0]]
        """
    def addbmm_(self, batch1: _Operand, batch2: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """Becomes what `addbmm` makes of it."""
    def addcdiv(x, tensor1: Any, tensor2: Any, /, *, value: Any = 1) -> Tensor:
        """`x + value * tensor1 / tensor2`.

        >>> import svod
        >>> svod.addcdiv(svod.Tensor([1.0]), svod.Tensor([6.0]), svod.Tensor([3.0]), value=2).tolist()
        [5.0]
        """
    def addcdiv_(self, tensor1: Any, tensor2: Any, /, *, value: Any = 1) -> Self:
        """Becomes what `addcdiv` makes of it."""
    def addcmul(x, tensor1: Any, tensor2: Any, /, *, value: Any = 1) -> Tensor:
        """`x + value * tensor1 * tensor2`.

        >>> import svod
        >>> svod.addcmul(svod.Tensor([1.0]), svod.Tensor([6.0]), svod.Tensor([3.0]), value=2).tolist()
        [37.0]
        """
    def addcmul_(self, tensor1: Any, tensor2: Any, /, *, value: Any = 1) -> Self:
        """Becomes what `addcmul` makes of it."""
    def addmm(x, mat1: _Operand, mat2: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """`beta * x + alpha * (mat1 @ mat2)`; with a `beta` of 0, NaN in `x` is not seen.

        >>> import svod
        >>> svod.addmm(svod.ones(1), svod.ones(2, 3), svod.ones(3, 1)).tolist()
        [[4.0], [4.0]]
        """
    def addmm_(self, mat1: _Operand, mat2: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """Becomes what `addmm` makes of it."""
    def addmv(x, mat: _Operand, vec: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """`beta * x + alpha * (mat @ vec)`.

        >>> import svod
        >>> svod.addmv(svod.ones(2), svod.ones(2, 3), svod.ones(3)).tolist()
        [4.0, 4.0]
        """
    def addmv_(self, mat: _Operand, vec: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """Becomes what `addmv` makes of it."""
    def addr(x, vec1: _Operand, vec2: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """`beta * x + alpha * outer(vec1, vec2)`.

        >>> import svod
        >>> svod.addr(svod.zeros(2, 2), svod.Tensor([1.0, 2.0]), svod.Tensor([3.0, 4.0])).tolist()
        [[3.0, 4.0], [6.0, 8.0]]
        """
    def addr_(self, vec1: _Operand, vec2: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """Becomes what `addr` makes of it."""
    def adjoint(x, /) -> Tensor:
        """The last two dimensions exchanged, of complex conjugates.

        >>> import svod
        >>> svod.adjoint(svod.Tensor([[1, 2], [3, 4]])).tolist()
        [[1, 3], [2, 4]]
        """
    def all(
        self,
        /,
        dim: _Axis = None,
        keepdim: builtins.bool = False,
        *,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        where: _Operand | None = None,
    ) -> Tensor:
        """Whether all elements along axes are not zero, of those that `where` takes."""
    def allclose(
        x1, x2: Any, /, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False
    ) -> builtins.bool:
        """Whether all elements are close, as `isclose` has it; computed now.

        >>> import svod
        >>> svod.allclose(svod.Tensor([1.0]), 1.000001)
        True
        """
    def amax(
        self,
        /,
        dim: _Axis = None,
        keepdim: builtins.bool = False,
        *,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        initial: _Operand | None = None,
        where: _Operand | None = None,
    ) -> Tensor:
        """The maximum along axes, by default all: values, however the axes are named."""
    def amin(
        self,
        /,
        dim: _Axis = None,
        keepdim: builtins.bool = False,
        *,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        initial: _Operand | None = None,
        where: _Operand | None = None,
    ) -> Tensor:
        """The minimum along axes, by default all: values, however the axes are named."""
    def aminmax(
        x,
        /,
        *,
        axis: builtins.int | None = None,
        keepdims: builtins.bool = False,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
    ) -> MinMax:
        """The least and the greatest elements along an axis, or of all, as `min` and `max` of a pair.

        >>> import svod
        >>> [part.tolist() for part in svod.aminmax(svod.Tensor([[1, 5], [3, 2]]), axis=1)]
        [[1, 2], [5, 3]]
        """
    def angle(self, /) -> Tensor:
        """The angle of each complex number, from -π to π; of real ones 0 or π, by their sign."""
    def any(
        self,
        /,
        dim: _Axis = None,
        keepdim: builtins.bool = False,
        *,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        where: _Operand | None = None,
    ) -> Tensor:
        """Whether an element along axes is not zero, of those that `where` takes."""
    def apply_(self, callable: Callable[[Any], Any], /) -> Self:
        """Becomes what `apply` makes of it."""
    def arccos(x, /) -> Tensor:
        """Arc cosine, in radians; NaN outside of -1..1.

        >>> import svod
        >>> svod.acos(svod.Tensor([1.0, 0.0])).tolist()
        [0.0, 1.5707963705062866]
        """
    def arccos_(self, /) -> Self:
        """Becomes what `acos` makes of it."""
    def arccosh(x, /) -> Tensor:
        """Inverse hyperbolic cosine; NaN below 1.

        >>> import svod
        >>> svod.acosh(svod.Tensor([1.0])).tolist()
        [0.0]
        """
    def arccosh_(self, /) -> Self:
        """Becomes what `acosh` makes of it."""
    def arcsin(x, /) -> Tensor:
        """Arc sine, in radians; NaN outside of -1..1.

        >>> import svod
        >>> svod.asin(svod.Tensor([0.0, 1.0])).tolist()
        [0.0, 1.5707963705062866]
        """
    def arcsin_(self, /) -> Self:
        """Becomes what `asin` makes of it."""
    def arcsinh(x, /) -> Tensor:
        """Inverse hyperbolic sine.

        >>> import svod
        >>> svod.asinh(svod.Tensor([0.0])).tolist()
        [0.0]
        """
    def arcsinh_(self, /) -> Self:
        """Becomes what `asinh` makes of it."""
    def arctan(self, /) -> Tensor:
        """Arc tangent, in radians."""
    def arctan2(x1, x2: Any, /) -> Tensor:
        """The angle of the point `(x2, x1)`, in radians, from -π to π; signs of zeros say from which side.

        >>> import svod
        >>> svod.atan2(svod.Tensor([0.0, 1.0]), svod.Tensor([1.0, 0.0])).tolist()
        [0.0, 1.5707963705062866]
        """
    def arctan2_(self, x2: Any, /) -> Self:
        """Becomes what `atan2` makes of it."""
    def arctan_(self, /) -> Self:
        """Becomes what `arctan` makes of it."""
    def arctanh(x, /) -> Tensor:
        """Inverse hyperbolic tangent; infinite at -1 and 1, NaN outside.

        >>> import svod
        >>> svod.atanh(svod.Tensor([0.0, 1.0])).tolist()
        [0.0, inf]
        """
    def arctanh_(self, /) -> Self:
        """Becomes what `atanh` makes of it."""
    def argmax(
        self,
        /,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
        *,
        axis: builtins.int | None = None,
        keepdims: builtins.bool = False,
    ) -> Tensor:
        """The first position of the maximum along an axis, by default of the flat tensor."""
    def argmin(
        self,
        /,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
        *,
        axis: builtins.int | None = None,
        keepdims: builtins.bool = False,
    ) -> Tensor:
        """The first position of the minimum along an axis, by default of the flat tensor."""
    def argsort(
        self,
        /,
        dim: builtins.int | None = None,
        descending: builtins.bool = False,
        *,
        axis: builtins.int | None = None,
        stable: builtins.bool = True,
    ) -> Tensor:
        """Where the elements along an axis are, in order; see `sort`."""
    def argwhere(x, /) -> Tensor:
        """The indices of the elements that are not zero, as rows; computed now.

        >>> import svod
        >>> svod.argwhere(svod.Tensor([[0, 1], [2, 0]])).tolist()
        [[0, 1], [1, 0]]
        """
    def as_strided(
        x, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int = 0, /
    ) -> Tensor:
        """The elements at `storage_offset + sum(index * stride)` of the flat tensor.

        >>> import svod
        >>> svod.as_strided(svod.arange(4), (2, 2), (1, 1)).tolist()
        [[0, 1], [1, 2]]
        """
    def as_strided_scatter(
        x,
        src: _Operand,
        size: Sequence[builtins.int],
        stride: Sequence[builtins.int],
        storage_offset: builtins.int = 0,
        /,
    ) -> Tensor:
        """Other elements where `as_strided` would take some.

        >>> import svod
        >>> svod.as_strided_scatter(svod.zeros(4), svod.ones(2), (2,), (3,)).tolist()
        [1.0, 0.0, 0.0, 1.0]
        """
    def asin(x, /) -> Tensor:
        """Arc sine, in radians; NaN outside of -1..1.

        >>> import svod
        >>> svod.asin(svod.Tensor([0.0, 1.0])).tolist()
        [0.0, 1.5707963705062866]
        """
    def asin_(self, /) -> Self:
        """Becomes what `asin` makes of it."""
    def asinh(x, /) -> Tensor:
        """Inverse hyperbolic sine.

        >>> import svod
        >>> svod.asinh(svod.Tensor([0.0])).tolist()
        [0.0]
        """
    def asinh_(self, /) -> Self:
        """Becomes what `asinh` makes of it."""
    def atan(self, /) -> Tensor:
        """Arc tangent, in radians."""
    def atan2(x1, x2: Any, /) -> Tensor:
        """The angle of the point `(x2, x1)`, in radians, from -π to π; signs of zeros say from which side.

        >>> import svod
        >>> svod.atan2(svod.Tensor([0.0, 1.0]), svod.Tensor([1.0, 0.0])).tolist()
        [0.0, 1.5707963705062866]
        """
    def atan2_(self, x2: Any, /) -> Self:
        """Becomes what `atan2` makes of it."""
    def atan_(self, /) -> Self:
        """Becomes what `atan` makes of it."""
    def atanh(x, /) -> Tensor:
        """Inverse hyperbolic tangent; infinite at -1 and 1, NaN outside.

        >>> import svod
        >>> svod.atanh(svod.Tensor([0.0, 1.0])).tolist()
        [0.0, inf]
        """
    def atanh_(self, /) -> Self:
        """Becomes what `atanh` makes of it."""
    def baddbmm(x, batch1: _Operand, batch2: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
        """`beta * x + alpha * (batch1 @ batch2)`, for each matrix of the batch.

        >>> import svod
        >>> svod.baddbmm(svod.ones(1), svod.ones(2, 1, 3), svod.ones(2, 3, 1)).tolist()
        [[[4.0]], [[4.0]]]
        """
    def baddbmm_(self, batch1: _Operand, batch2: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Self:
        """Becomes what `baddbmm` makes of it."""
    def bernoulli(x, p: builtins.float | None = None, /, *, generator: Generator | None = None) -> Tensor:
        """1 with the probability that each element is, or `p` for all, else 0, in its type.

        >>> import svod
        >>> svod.bernoulli(svod.Tensor([0.0, 1.0])).tolist()
        [0.0, 1.0]
        >>> svod.bernoulli(svod.zeros(2), 1.0).tolist()
        [1.0, 1.0]
        """
    def bernoulli_(self, /, p: Tensor | builtins.float = 0.5, *, generator: Generator | None = None) -> Self:
        """Becomes what `bernoulli` makes of it."""
    def bincount(x, /, weights: _Operand | None = None, minlength: builtins.int = 0) -> Tensor:
        """How often each integer from 0 on occurs in a vector, or the sum of its weights, of integers in `float64`; the
        length is computed now.

        >>> import svod
        >>> svod.bincount(svod.Tensor([1, 3, 1])).tolist()
        [0, 2, 0, 1]
        """
    def bitwise_and(self, /, other: _Operand) -> Tensor:
        """Bitwise and; logical on bools."""
    def bitwise_and_(self, /, other: _Operand) -> Self:
        """Becomes what `bitwise_and` makes of it."""
    def bitwise_invert(self, /) -> Tensor:
        """Each bit inverted; logical on bools."""
    def bitwise_left_shift(self, /, other: _Operand) -> Tensor:
        """Left shift; 0 when shifted by the width or more."""
    def bitwise_left_shift_(self, /, other: _Operand) -> Self:
        """Becomes what `bitwise_left_shift` makes of it."""
    def bitwise_not(self, /) -> Tensor:
        """Each bit inverted; logical on bools."""
    def bitwise_not_(self, /) -> Self:
        """Becomes what `bitwise_not` makes of it."""
    def bitwise_or(self, /, other: _Operand) -> Tensor:
        """Bitwise or; logical on bools."""
    def bitwise_or_(self, /, other: _Operand) -> Self:
        """Becomes what `bitwise_or` makes of it."""
    def bitwise_right_shift(self, /, other: _Operand) -> Tensor:
        """Right shift, arithmetic on signed types."""
    def bitwise_right_shift_(self, /, other: _Operand) -> Self:
        """Becomes what `bitwise_right_shift` makes of it."""
    def bitwise_xor(self, /, other: _Operand) -> Tensor:
        """Bitwise exclusive or; logical on bools."""
    def bitwise_xor_(self, /, other: _Operand) -> Self:
        """Becomes what `bitwise_xor` makes of it."""
    def bmm(x, mat2: _Operand, /) -> Tensor:
        """The products of matrices, one for each of a batch.

        >>> import svod
        >>> svod.bmm(svod.ones(2, 1, 3), svod.ones(2, 3, 1)).tolist()
        [[[3.0]], [[3.0]]]
        """
    def byte(x, /) -> Tensor:
        """As `uint8`.

        >>> import svod
        >>> svod.Tensor([1.5]).byte().tolist()
        [1]
        """
    def cauchy_(
        self, /, median: builtins.float = 0, sigma: builtins.float = 1, *, generator: Generator | None = None
    ) -> Self:
        """Becomes what `cauchy` makes of it."""
    def cdouble(self, /) -> Tensor:
        """As `complex128`."""
    def ceil(self, /) -> Tensor:
        """The smallest integer not below, in the same type."""
    def ceil_(self, /) -> Self:
        """Becomes the smallest integers not below."""
    def cfloat(self, /) -> Tensor:
        """As `complex64`."""
    def char(x, /) -> Tensor:
        """As `int8`.

        >>> import svod
        >>> svod.Tensor([-1.5]).char().tolist()
        [-1]
        """
    def cholesky(x, /, upper: builtins.bool = False) -> Tensor:
        """As `svod.linalg.cholesky`.

        >>> import svod
        >>> svod.cholesky(svod.Tensor([[4.0, 2.0], [2.0, 2.0]])).tolist()
        [[2.0, 0.0], [1.0, 1.0]]
        """
    def cholesky_inverse(x, /, upper: builtins.bool = False) -> Tensor:
        """The inverses of the matrices whose Cholesky triangles these are.

        >>> import svod
        >>> svod.cholesky_inverse(svod.Tensor([[2.0, 0.0], [1.0, 1.0]])).tolist()
        [[0.5, -0.5], [-0.5, 1.0]]
        """
    def cholesky_solve(x, input2: _Operand, /, upper: builtins.bool = False) -> Tensor:
        """y with A y = x, where `input2` are the Cholesky triangles of A: lower ones, or upper ones.

        >>> import svod
        >>> svod.cholesky_solve(svod.Tensor([[2.0], [2.0]]), svod.Tensor([[2.0, 0.0], [1.0, 1.0]])).tolist()
        [[0.0], [1.0]]
        """
    def chunk(
        self, /, chunks: _Extent, dim: builtins.int | None = 0, *, axis: builtins.int | None = None
    ) -> list[Tensor]:
        """At most so many parts of equal extent along an axis, the last one maybe smaller."""
    def clamp_(self, /, min: _Operand | None = None, max: _Operand | None = None) -> Self:
        """Becomes not below `min` and not above `max`; NaN stays."""
    def clamp_max(x, max: Any, /) -> Tensor:
        """Not above `max`; NaN stays.

        >>> import svod
        >>> svod.clamp_max(svod.Tensor([1, 5]), 3).tolist()
        [1, 3]
        """
    def clamp_max_(self, max: Any, /) -> Self:
        """Becomes what `clamp_max` makes of it."""
    def clamp_min(x, min: Any, /) -> Tensor:
        """Not below `min`; NaN stays.

        >>> import svod
        >>> svod.clamp_min(svod.Tensor([1, 5]), 3).tolist()
        [3, 5]
        """
    def clamp_min_(self, min: Any, /) -> Self:
        """Becomes what `clamp_min` makes of it."""
    def clip_(self, /, min: _Operand | None = None, max: _Operand | None = None) -> Self:
        """Becomes what `clip` makes of it."""
    def conj(self, /) -> Tensor:
        """The numbers with imaginary parts of the opposite sign."""
    def conj_physical(x, /) -> Tensor:
        """The numbers with imaginary parts of the opposite sign.

        >>> import svod
        >>> svod.conj_physical(svod.Tensor([1 + 2j])).tolist()
        [(1-2j)]
        """
    def conj_physical_(self, /) -> Self:
        """Becomes what `conj_physical` makes of it."""
    def conjugate(x, /) -> Tensor:
        """As `svod.conj`: the imaginary part with the other sign.

        >>> import svod
        >>> svod.conjugate(svod.Tensor([1 + 2j])).tolist()
        [(1-2j)]
        """
    def contiguous(self, /) -> Tensor:
        """The same value, dense in memory of its own once it is realized. What is dense already can be assigned to once
        this
        tensor is no longer in use; `clone` it to assign to it before.
        """
    def contiguous_backward(self, /) -> Tensor:
        """The same value, whose gradient is made dense in memory of its own before it goes on."""
    def copy(x, /) -> Tensor:
        """The same elements in memory of their own. A tensor is a value: another name is as good.

        >>> import svod
        >>> svod.Tensor([1, 2]).copy().tolist()
        [1, 2]
        """
    def copysign(x1, x2: Any, /) -> Tensor:
        """The absolute value of `x1` with the sign of `x2`, that of zeros and NaN included.

        >>> import svod
        >>> svod.copysign(svod.Tensor([1.0, 2.0]), svod.Tensor([-0.0, 3.0])).tolist()
        [-1.0, 2.0]
        """
    def copysign_(self, x2: Any, /) -> Self:
        """Becomes what `copysign` makes of it."""
    def corrcoef(x, y: _Operand | None = None, /, *, rowvar: builtins.bool = True) -> Tensor:
        """The correlation coefficients of the rows of a matrix, and of `y`, which are behind them; without `rowvar`
        those
        of columns. Of one row 1.

        >>> import svod
        >>> svod.corrcoef(svod.Tensor([[1.0, 2.0], [4.0, 2.0]])).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
        """
    def cos(self, /) -> Tensor:
        """Cosine of an angle in radians."""
    def cos_(self, /) -> Self:
        """Becomes what `cos` makes of it."""
    def cosh(x, /) -> Tensor:
        """Hyperbolic cosine.

        >>> import svod
        >>> svod.cosh(svod.Tensor([0.0])).tolist()
        [1.0]
        """
    def cosh_(self, /) -> Self:
        """Becomes what `cosh` makes of it."""
    def count_nonzero(
        x, /, axis: Any = None, *, keepdims: builtins.bool = False, dim: Any = None, keepdim: builtins.bool = False
    ) -> Tensor:
        """The number of elements along axes, by default all, that are not zero.

        >>> import svod
        >>> svod.count_nonzero(svod.Tensor([[1, 0], [2, 3]]), axis=0).tolist()
        [2, 1]
        """
    def cov(
        x,
        y: _Operand | None = None,
        /,
        *,
        correction: builtins.float | None = None,
        fweights: Any = None,
        aweights: Any = None,
        rowvar: builtins.bool = True,
        bias: builtins.bool = False,
        ddof: builtins.float | None = None,
    ) -> Tensor:
        """The covariances of the rows of a matrix, whose columns are observations, and of `y`, which are behind them.

        There are so many of each, `fweights`, of this importance, `aweights`. The divisor is their number without
        `correction`, or `ddof`: 1, and 0 with `bias`. Without `rowvar` rows are observations. Of one row the
        variance.

        >>> import svod
        >>> svod.cov(svod.Tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
        """
    def cpu(x, /) -> Tensor:
        """On the first CPU.

        >>> import svod
        >>> svod.ones(1).cpu().device
        'CPU'
        """
    def cross(x1, x2: Any, /, axis: builtins.int | None = None, *, dim: builtins.int | None = None) -> Tensor:
        """The cross products of vectors of three numbers along an axis; the others broadcast.

        By default the last axis, or, where that has another extent, the first one of three, as PyTorch has it.

        >>> import svod
        >>> svod.cross(svod.Tensor([1, 0, 0]), svod.Tensor([0, 1, 0])).tolist()
        [0, 0, 1]
        """
    def cuda(x, number: builtins.int = 0, /) -> Tensor:
        """On a GPU, the first one or that of this number.

        >>> import svod
        >>> svod.ones(1).cuda(99)
        Traceback (most recent call last):
        ...
        svod.DeviceError: ...
        """
    def cummax(self, /, dim: builtins.int | None = None, *, axis: builtins.int | None = None) -> Any:
        """The maximum of the elements up to each one along an axis.

        With `dim`, by name or position, PyTorch's pair of values and the last positions at which they are; with
        `axis`, values.
        """
    def cummin(self, /, dim: builtins.int | None = None, *, axis: builtins.int | None = None) -> Any:
        """The minimum of the elements up to each one along an axis.

        With `dim`, by name or position, PyTorch's pair of values and the last positions at which they are; with
        `axis`, values.
        """
    def cumprod(
        self,
        /,
        dim: builtins.int | None = None,
        *,
        axis: builtins.int | None = None,
        dtype: _DTypeLike | None = None,
        exclusive: _Operand = False,
        reverse: _Operand = False,
    ) -> Tensor:
        """The products of the elements up to each one along an axis; of integers and bools in `int64`.
        Without the element itself where it is `exclusive`; in `reverse` of those behind it.
        """
    def cumprod_(
        self,
        /,
        dim: builtins.int | None = None,
        *,
        axis: builtins.int | None = None,
        dtype: _DTypeLike | None = None,
        exclusive: _Operand = False,
        reverse: _Operand = False,
    ) -> Self:
        """Becomes what `cumprod` makes of it."""
    def cumsum(
        self,
        /,
        dim: builtins.int | None = None,
        *,
        axis: builtins.int | None = None,
        dtype: _DTypeLike | None = None,
        exclusive: _Operand = False,
        reverse: _Operand = False,
    ) -> Tensor:
        """The sums of the elements up to each one along an axis; of integers and bools in `int64`.
        Without the element itself where it is `exclusive`; in `reverse` of those behind it.
        """
    def cumsum_(
        self,
        /,
        dim: builtins.int | None = None,
        *,
        axis: builtins.int | None = None,
        dtype: _DTypeLike | None = None,
        exclusive: _Operand = False,
        reverse: _Operand = False,
    ) -> Self:
        """Becomes what `cumsum` makes of it."""
    def deg2rad(x, /) -> Tensor:
        """Angles in degrees as radians.

        >>> import svod
        >>> svod.deg2rad(svod.Tensor([180.0])).tolist()
        [3.1415927410125732]
        """
    def deg2rad_(self, /) -> Self:
        """Becomes what `deg2rad` makes of it."""
    def det(x, /) -> Tensor:
        """As `svod.linalg.det`.

        >>> import svod
        >>> svod.det(svod.Tensor([[2.0, 1.0], [0.0, 3.0]])).item()
        6.0
        """
    def diag(x, /, diagonal: builtins.int = 0) -> Tensor:
        """The diagonal of a matrix, or the matrix that has a vector for its diagonal.

        >>> import svod
        >>> svod.diag(svod.Tensor([1, 2])).tolist()
        [[1, 0], [0, 2]]
        """
    def diag_embed(
        x,
        /,
        offset: builtins.int = 0,
        axis1: builtins.int = -2,
        axis2: builtins.int = -1,
        *,
        dim1: builtins.int = -2,
        dim2: builtins.int = -1,
    ) -> Tensor:
        """Matrices over two dimensions of the result that have the last dimension of `x` for their diagonals.

        `offset` diagonals to the right of the main one, or, negative, to the left.

        >>> import svod
        >>> svod.diag_embed(svod.Tensor([1, 2]), offset=1).tolist()
        [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
        """
    def diagflat(x, /, offset: builtins.int = 0) -> Tensor:
        """The matrix that has all elements on a diagonal.

        >>> import svod
        >>> svod.diagflat(svod.Tensor([[1], [2]])).tolist()
        [[1, 0], [0, 2]]
        """
    def diagonal(
        x,
        /,
        offset: builtins.int = 0,
        axis1: builtins.int = 0,
        axis2: builtins.int = 1,
        *,
        dim1: builtins.int = 0,
        dim2: builtins.int = 1,
    ) -> Tensor:
        """The diagonals over two dimensions, as the last dimension of the result.

        >>> import svod
        >>> svod.diagonal(svod.Tensor([[1, 2, 3], [4, 5, 6]]), offset=1).tolist()
        [2, 6]
        """
    def diagonal_scatter(
        x,
        src: _Operand,
        /,
        offset: builtins.int = 0,
        axis1: builtins.int = 0,
        axis2: builtins.int = 1,
        *,
        dim1: builtins.int = 0,
        dim2: builtins.int = 1,
    ) -> Tensor:
        """The tensor with other diagonals over two dimensions.

        >>> import svod
        >>> svod.diagonal_scatter(svod.zeros(2, 2), svod.ones(2)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
    def diff(
        x,
        /,
        n: builtins.int = 1,
        axis: builtins.int = -1,
        prepend: _Operand | None = None,
        append: _Operand | None = None,
        *,
        dim: builtins.int = -1,
    ) -> Tensor:
        """The `n`-th differences of neighbours along an axis, `n` fewer; of bools whether they differ.

        `prepend` and `append` go before and behind `x` along the axis first; NumPy's scalars are repeated.

        >>> import svod
        >>> svod.diff(svod.Tensor([1, 4, 9, 16])).tolist()
        [3, 5, 7]
        """
    def digamma(x, /) -> Tensor:
        """The derivative of `lgamma`; NaN at negative integers, -inf at 0.

        By recurrence, Stirling's series and reflection. Near zeros of the function the error is that of numbers near
        1.

        >>> import svod
        >>> svod.digamma(svod.Tensor([1.0]))
        Tensor([-0.5772157], shape=(1,), dtype=float32, device=CPU)
        """
    def digamma_(self, /) -> Self:
        """Becomes what `digamma` makes of it."""
    def dim_order(x, /) -> tuple[builtins.int, ...]:
        """The dimensions from the outermost in memory on: their order, as elements are always row-major.

        >>> import svod
        >>> svod.ones(2, 3).dim_order()
        (0, 1)
        """
    def dist(x, other: Any, /, p: builtins.float = 2) -> Tensor:
        """The `p`-norm of a difference.

        >>> import svod
        >>> svod.dist(svod.Tensor([0.0, 0.0]), svod.Tensor([3.0, 4.0])).item()
        5.0
        """
    def div_(self, /, other: _Operand) -> Self:
        """Becomes `x / other`."""
    def divide(self, /, other: _Operand) -> Tensor:
        """As `div`, by NumPy's names."""
    def divide_(self, /, other: _Operand) -> Self:
        """Becomes what `divide` makes of it."""
    def dsplit(x, indices_or_sections: builtins.int | Sequence[builtins.int], /) -> tuple[Tensor, ...]:
        """Split along the third dimension: into equal parts, or before indices.

        >>> import svod
        >>> [part.shape for part in svod.dsplit(svod.ones(1, 2, 4), 2)]
        [(1, 2, 2), (1, 2, 2)]
        """
    def element_size(x, /) -> builtins.int:
        """Bytes of an element.

        >>> import svod
        >>> svod.ones(1).element_size()
        4
        """
    def eq(self, /, other: _Operand) -> Tensor:
        """`x == y`, false with NaN."""
    def eq_(self, /, other: _Operand) -> Self:
        """Becomes what `eq` makes of it."""
    def equal(self, /, other: _Operand) -> Tensor:
        """`x == y`, false with NaN."""
    def erf(self, /) -> Tensor:
        """The error function."""
    def erf_(self, /) -> Self:
        """Becomes what `erf` makes of it."""
    def erfc(x, /) -> Tensor:
        """`1 - erf(x)`, also where that is small.

        >>> import svod
        >>> svod.erfc(svod.Tensor([0.0, 10.0])).tolist()
        [1.0, 1.401298464324817e-45]
        """
    def erfc_(self, /) -> Self:
        """Becomes what `erfc` makes of it."""
    def erfinv(x, /) -> Tensor:
        """The inverse of `erf`; infinite at -1 and 1, NaN outside.

        Two of Halley's steps from Winitzki's approximation (2008); of types narrower than `float64` by Giles'
        variable
        (2010).

        >>> import svod
        >>> svod.erfinv(svod.erf(svod.Tensor([0.5]))).tolist()
        [0.5]
        """
    def erfinv_(self, /) -> Self:
        """Becomes what `erfinv` makes of it."""
    def exp(self, /) -> Tensor:
        """Natural exponential."""
    def exp2(self, /) -> Tensor:
        """Exponential with base 2."""
    def exp2_(self, /) -> Self:
        """Becomes what `exp2` makes of it."""
    def exp_(self, /) -> Self:
        """Becomes `exp(x)`."""
    def expand_as(x, other: _Operand, /) -> Tensor:
        """Broadcast to the shape of another tensor.

        >>> import svod
        >>> svod.ones(3).expand_as(svod.ones(2, 3)).shape
        (2, 3)
        """
    def expm1(self, /) -> Tensor:
        """`exp(x) - 1`, exactly of small `x` too."""
    def expm1_(self, /) -> Self:
        """Becomes what `expm1` makes of it."""
    def exponential_(self, /, lambd: builtins.float = 1, *, generator: Generator | None = None) -> Self:
        """Becomes what `exponential` makes of it."""
    def fill_(self, /, value: _Operand) -> Self:
        """Becomes one value everywhere."""
    def fill_diagonal_(self, fill_value: Any, /, wrap: builtins.bool = False) -> Self:
        """Becomes what `fill_diagonal` makes of it."""
    def fix(x, /) -> Tensor:
        """The integer part, in the same type.

        >>> import svod
        >>> svod.fix(svod.Tensor([-1.5, 1.5])).tolist()
        [-1.0, 1.0]
        """
    def fix_(self, /) -> Self:
        """Becomes what `fix` makes of it."""
    def flip(
        self,
        /,
        *axes: builtins.int | Sequence[builtins.int],
        axis: _Axis = None,
        dim: _Axis = None,
        dims: builtins.int | Sequence[builtins.int] | None = None,
    ) -> Tensor:
        """These dimensions in reverse order, by default all: one by one, or together by a name."""
    def fliplr(x, /) -> Tensor:
        """The second dimension in reverse order.

        >>> import svod
        >>> svod.fliplr(svod.Tensor([[1, 2], [3, 4]])).tolist()
        [[2, 1], [4, 3]]
        """
    def flipud(x, /) -> Tensor:
        """The first dimension in reverse order.

        >>> import svod
        >>> svod.flipud(svod.Tensor([[1, 2], [3, 4]])).tolist()
        [[3, 4], [1, 2]]
        """
    def float_power(x1, x2: Any, /) -> Tensor:
        """Power in double precision, whatever the types.

        >>> import svod
        >>> svod.float_power(svod.Tensor([2]), -1).tolist()
        [0.5]
        """
    def float_power_(self, x2: Any, /) -> Self:
        """Becomes what `float_power` makes of it."""
    def floor(self, /) -> Tensor:
        """The largest integer not above, in the same type."""
    def floor_(self, /) -> Self:
        """Becomes the largest integers not above."""
    def floor_divide(self, /, other: _Operand) -> Tensor:
        """Quotient rounded down; an integer divided by 0 gives 0."""
    def floor_divide_(self, /, other: _Operand) -> Self:
        """Becomes `x // other`."""
    def fmax(x1, x2: Any, /) -> Tensor:
        """The greater; where one is NaN the other.

        >>> import svod
        >>> svod.fmax(svod.Tensor([1.0, svod.nan]), 0.5).tolist()
        [1.0, 0.5]
        """
    def fmin(x1, x2: Any, /) -> Tensor:
        """The lesser; where one is NaN the other.

        >>> import svod
        >>> svod.fmin(svod.Tensor([1.0, svod.nan]), 0.5).tolist()
        [0.5, 0.5]
        """
    def fmod(x1, x2: Any, /) -> Tensor:
        """What division leaves, of the dividend's sign, exactly; by an integer 0 it is 0.

        >>> import svod
        >>> svod.fmod(svod.Tensor([-7, 7]), svod.Tensor([3, -3])).tolist()
        [-1, 1]
        """
    def fmod_(self, x2: Any, /) -> Self:
        """Becomes what `fmod` makes of it."""
    def frac(x, /) -> Tensor:
        """What is behind the point, of the number's sign.

        >>> import svod
        >>> svod.frac(svod.Tensor([-1.5, 2.25])).tolist()
        [-0.5, 0.25]
        """
    def frac_(self, /) -> Self:
        """Becomes what `frac` makes of it."""
    def frexp(x, /) -> tuple[Tensor, Tensor]:
        """`mantissa` and `exponent` with `x = mantissa * 2**exponent`; the mantissa is from 0.5 to 1, or 0, inf or NaN.

        >>> import svod
        >>> [part.tolist() for part in svod.frexp(svod.Tensor([6.0]))]
        [[0.75], [3]]
        """
    def gather(self, /, dim: builtins.int | None, index: _ArrayLike, *, axis: builtins.int | None = None) -> Tensor:
        """For each element of `index` the element at its position but, along `dim`, at its value."""
    def gcd(x1, x2: Any, /) -> Tensor:
        """The greatest common divisor, by Euclid's algorithm; 0 of zeros.

        >>> import svod
        >>> svod.gcd(svod.Tensor([12, -8]), 18).tolist()
        [6, 2]
        """
    def gcd_(self, x2: Any, /) -> Self:
        """Becomes what `gcd` makes of it."""
    def ge(self, /, other: _Operand) -> Tensor:
        """`x >= y`, false with NaN."""
    def ge_(self, /, other: _Operand) -> Self:
        """Becomes what `ge` makes of it."""
    def geometric_(self, /, p: builtins.float, *, generator: Generator | None = None) -> Self:
        """Becomes what `geometric` makes of it."""
    def geqrf(x, /) -> Reflections:
        """The factors of `qr` as LAPACK leaves them: R, below it the vectors v of reflections `1 - tau v vᴴ`, and tau.

        `orgqr` makes Q of them, `ormqr` products with it. To ask for a derivative is an error; `qr` has one.

        >>> import svod
        >>> packed, tau = svod.geqrf(svod.Tensor([[3.0], [4.0]]))
        >>> f"{packed[0, 0].item():.3f}, {tau[0].item():.3f}"
        '-5.000, 1.600'
        """
    def ger(x, vec2: _Operand, /) -> Tensor:
        """As `outer`.

        >>> import svod
        >>> svod.ger(svod.Tensor([1, 2]), svod.Tensor([3, 4])).tolist()
        [[3, 4], [6, 8]]
        """
    def get_device(x, /) -> builtins.int:
        """The number of the device among those of its kind; -1 on a CPU.

        >>> import svod
        >>> svod.get_device(svod.ones(1))
        -1
        """
    def greater(self, /, other: _Operand) -> Tensor:
        """`x > y`, false with NaN."""
    def greater_(self, /, other: _Operand) -> Self:
        """Becomes what `greater` makes of it."""
    def greater_equal(self, /, other: _Operand) -> Tensor:
        """`x >= y`, false with NaN."""
    def greater_equal_(self, /, other: _Operand) -> Self:
        """Becomes what `greater_equal` makes of it."""
    def gt(self, /, other: _Operand) -> Tensor:
        """`x > y`, false with NaN."""
    def gt_(self, /, other: _Operand) -> Self:
        """Becomes what `gt` makes of it."""
    def hardshrink(input, lambd: builtins.float = 0.5) -> Tensor:
        """`x`, but 0 between `-lambd` and `lambd`."""
    def hash_tensor(
        x,
        /,
        axis: builtins.int | Sequence[builtins.int] | None = None,
        *,
        keepdims: builtins.bool = False,
        mode: builtins.int = 0,
        dim: builtins.int | Sequence[builtins.int] | None = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """The exclusive or of the elements' bits along axes, `uint64`: floats as `float64` has them, integers as
        `int64`.

        >>> import svod
        >>> svod.hash_tensor(svod.Tensor([1, 2, 4])).item()
        7
        """
    def heaviside(x1, x2: Any, /) -> Tensor:
        """0 below 0, 1 above, and `x2` at 0; NaN stays.

        >>> import svod
        >>> svod.heaviside(svod.Tensor([-1.0, 0.0, 2.0]), 0.5).tolist()
        [0.0, 0.5, 1.0]
        """
    def heaviside_(self, x2: Any, /) -> Self:
        """Becomes what `heaviside` makes of it."""
    def histc(x, /, bins: builtins.int = 100, min: builtins.float = 0, max: builtins.float = 0) -> Tensor:
        """How many elements are in each of so many bins of equal width from `min` to `max`; where these are equal, from
        the
        least to the greatest element. Others are not counted. Counts of integers are `int64`, of floats of their
        type, of
        16-bit ones `float32`.

        >>> import svod
        >>> svod.histc(svod.Tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3).tolist()
        [0.0, 2.0, 1.0, 0.0]
        >>> svod.histc(svod.Tensor([1, 2, 1]), bins=4, min=0, max=3).tolist()
        [0, 2, 1, 0]
        """
    def histogram(
        x,
        bins: Any = 100,
        /,
        *,
        range: Sequence[builtins.float] | None = None,
        weight: _Operand | None = None,
        density: builtins.bool = False,
    ) -> tuple[Tensor, Tensor]:
        """How many elements, or how much of their weight, is in each bin, and the edges of the bins: `bins` of equal
        width
        from the first to the second number of `range`, by default from the least to the greatest element, or these
        edges.
        With `density`, the parts of all by the width.

        As NumPy's, counts of integers are `int64` and their edges `float64`; of floats both have their type, counts
        of
        16-bit ones are `float32`. There are 100 bins by default, as in PyTorch; NumPy has 10.

        >>> import svod
        >>> [part.tolist() for part in svod.histogram(svod.Tensor([1.0, 2.0, 1.0]), 2, range=(0.0, 4.0))]
        [[2.0, 1.0], [0.0, 2.0, 4.0]]
        >>> [part.tolist() for part in svod.histogram(svod.Tensor([1, 2, 1]), 2)]
        [[2, 1], [1.0, 1.5, 2.0]]
        """
    def hsplit(x, indices_or_sections: builtins.int | Sequence[builtins.int], /) -> tuple[Tensor, ...]:
        """Split along the second dimension, of a vector the first: into equal parts, or before indices.

        >>> import svod
        >>> [part.tolist() for part in svod.hsplit(svod.arange(4), [1])]
        [[0], [1, 2, 3]]
        """
    def hypot(x1, x2: Any, /) -> Tensor:
        """`sqrt(x1² + x2²)` without overflow; infinite where an operand is, whatever the other.

        >>> import svod
        >>> svod.hypot(svod.Tensor([3.0]), 4).tolist()
        [5.0]
        """
    def hypot_(self, x2: Any, /) -> Self:
        """Becomes what `hypot` makes of it."""
    def i0(x, /) -> Tensor:
        """The modified Bessel function of the first kind and order 0.

        >>> import svod
        >>> svod.i0(svod.Tensor([0.0])).tolist()
        [1.0]
        """
    def i0_(self, /) -> Self:
        """Becomes what `i0` makes of it."""
    def igamma(x1, x2: Any, /) -> Tensor:
        """The regularized lower incomplete gamma function P(x1, x2), SciPy's `gammainc`.

        >>> import svod
        >>> svod.igamma(svod.Tensor([1.0]), svod.Tensor([0.0, svod.inf])).tolist()
        [0.0, 1.0]
        """
    def igamma_(self, x2: Any, /) -> Self:
        """Becomes what `igamma` makes of it."""
    def igammac(x1, x2: Any, /) -> Tensor:
        """The regularized upper incomplete gamma function Q(x1, x2) = 1 - P(x1, x2), SciPy's `gammaincc`.

        >>> import svod
        >>> svod.igammac(svod.Tensor([1.0]), svod.Tensor([0.0, svod.inf])).tolist()
        [1.0, 0.0]
        """
    def igammac_(self, x2: Any, /) -> Self:
        """Becomes what `igammac` makes of it."""
    def index_add(
        self,
        /,
        dim: builtins.int | None,
        index: _ArrayLike,
        source: _ArrayLike,
        *,
        axis: builtins.int | None = None,
        alpha: _Operand | None = None,
    ) -> Tensor:
        """With the slices of `source`, times `alpha`, added, each at its element of a 1-d index."""
    def index_add_(
        self,
        /,
        dim: builtins.int | None,
        index: _ArrayLike,
        source: _ArrayLike,
        *,
        axis: builtins.int | None = None,
        alpha: _Operand | None = None,
    ) -> Self:
        """Becomes what `index_add` makes of it."""
    def index_copy(
        self, /, dim: builtins.int | None, index: _ArrayLike, source: _ArrayLike, *, axis: builtins.int | None = None
    ) -> Tensor:
        """With the slices of `source` written, each at its element of a 1-d index."""
    def index_copy_(
        self, /, dim: builtins.int | None, index: _ArrayLike, source: _ArrayLike, *, axis: builtins.int | None = None
    ) -> Self:
        """Becomes what `index_copy` makes of it."""
    def index_fill(x, axis: builtins.int, index: _Operand, value: Any, /, *, dim: builtins.int | None = None) -> Tensor:
        """One value at positions along an axis.

        >>> import svod
        >>> svod.index_fill(svod.zeros(2, 2), 1, svod.Tensor([0]), 5).tolist()
        [[5.0, 0.0], [5.0, 0.0]]
        """
    def index_fill_(
        self, axis: builtins.int, index: _Operand, value: Any, /, *, dim: builtins.int | None = None
    ) -> Self:
        """Becomes what `index_fill` makes of it."""
    def index_put(x, indices: Sequence[Any], values: Any, accumulate: builtins.bool = False) -> Tensor:
        """Other values where `x[indices]` is; with `accumulate` they are added, those of one place one after the other.

        >>> import svod
        >>> svod.index_put(svod.zeros(3), (svod.Tensor([0, 0]),), svod.Tensor([1.0, 2.0]), accumulate=True).tolist()
        [3.0, 0.0, 0.0]
        """
    def index_put_(self, /, indices: Sequence[Any], values: Any, accumulate: builtins.bool = False) -> Self:
        """Becomes what `index_put` makes of it."""
    def index_reduce(
        x,
        axis: builtins.int,
        index: _Operand,
        source: _Operand,
        reduce: builtins.str,
        /,
        *,
        include_self: builtins.bool = True,
        dim: builtins.int | None = None,
    ) -> Tensor:
        """Slices of `source` folded into those at `index` of an axis: by "prod", "mean", "amax" or "amin"; without
        `include_self` only with each other.

        >>> import svod
        >>> svod.index_reduce(svod.ones(2), 0, svod.Tensor([0, 0]), svod.Tensor([2.0, 3.0]), "prod").tolist()
        [6.0, 1.0]
        """
    def index_reduce_(
        self,
        axis: builtins.int,
        index: _Operand,
        source: _Operand,
        reduce: builtins.str,
        /,
        *,
        include_self: builtins.bool = True,
        dim: builtins.int | None = None,
    ) -> Self:
        """Becomes what `index_reduce` makes of it."""
    def index_select(
        self, /, dim: builtins.int | None, index: _ArrayLike, *, axis: builtins.int | None = None
    ) -> Tensor:
        """The slices of an axis at a 1-d index."""
    def inner(x1, x2: Any, /) -> Tensor:
        """The sums of products over the last dimensions: the result has the others of `x1`, then those of `x2`.

        >>> import svod
        >>> svod.inner(svod.Tensor([1, 2]), svod.Tensor([[3, 4], [5, 6]])).tolist()
        [11, 17]
        """
    def inverse(x, /) -> Tensor:
        """As `svod.linalg.inv`.

        >>> import svod
        >>> svod.inverse(svod.Tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.25]]
        """
    def is_complex(self, /) -> builtins.bool:
        """Whether the elements are complex numbers."""
    def is_conj(x, /) -> builtins.bool:
        """False: the conjugate is a tensor of its own, not a view that says so.

        >>> import svod
        >>> svod.is_conj(svod.Tensor([1j]).conj())
        False
        """
    def is_contiguous(x, /) -> builtins.bool:
        """Whether the elements are dense and row-major, as those of a tensor always are when it is realized.

        >>> import svod
        >>> svod.ones(2, 3).T.is_contiguous()
        True
        """
    def is_floating_point(x, /) -> builtins.bool:
        """Whether the type is one of floats.

        >>> import svod
        >>> svod.is_floating_point(svod.ones(1))
        True
        """
    def is_neg(x, /) -> builtins.bool:
        """False: the negative is a tensor of its own, not a view that says so.

        >>> import svod
        >>> svod.is_neg(-svod.ones(1))
        False
        """
    def is_nonzero(x, /) -> builtins.bool:
        """Whether the only element is not zero; computed now.

        >>> import svod
        >>> svod.is_nonzero(svod.Tensor([0.5]))
        True
        """
    def is_same_size(x, other: _Operand, /) -> builtins.bool:
        """Whether two shapes are equal.

        >>> import svod
        >>> svod.is_same_size(svod.ones(2), svod.ones(2, 1))
        False
        """
    def is_signed(x, /) -> builtins.bool:
        """Whether the type has negative numbers.

        >>> import svod
        >>> svod.is_signed(svod.ones(1, dtype="uint8"))
        False
        """
    def isclose(
        x1, x2: Any, /, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False
    ) -> Tensor:
        """Whether `|x1 - x2| <= atol + rtol * |x2|`, or both are equal; with `equal_nan` also where both are NaN.

        >>> import svod
        >>> svod.isclose(svod.Tensor([1.0, 2.0, svod.inf]), svod.Tensor([1.0000001, 2.1, svod.inf])).tolist()
        [True, False, True]
        """
    def isfinite(self, /) -> Tensor:
        """Whether an element is neither infinite nor NaN."""
    def isin(x1, x2: Any, /, *, invert: builtins.bool = False) -> Tensor:
        """Of each element of `x1` whether it is among those of `x2`; with `invert` whether it is not. NaN is in no set.

        By a search in the sorted `x2`, in any order of both.

        >>> import svod
        >>> svod.isin(svod.Tensor([1, 5, 3]), svod.Tensor([3, 1])).tolist()
        [True, False, True]
        """
    def isinf(self, /) -> Tensor:
        """Whether an element is infinite."""
    def isnan(self, /) -> Tensor:
        """Whether an element is NaN."""
    def isneginf(x, /) -> Tensor:
        """Whether an element is -inf.

        >>> import svod
        >>> svod.isneginf(svod.Tensor([-svod.inf, svod.inf])).tolist()
        [True, False]
        """
    def isposinf(x, /) -> Tensor:
        """Whether an element is inf.

        >>> import svod
        >>> svod.isposinf(svod.Tensor([-svod.inf, svod.inf])).tolist()
        [False, True]
        """
    def isreal(x, /) -> Tensor:
        """Whether an element has no imaginary part.

        >>> import svod
        >>> svod.isreal(svod.Tensor([1 + 0j, 1j])).tolist()
        [True, False]
        """
    def istft(
        x,
        /,
        n_fft: builtins.int,
        hop_length: builtins.int | None = None,
        win_length: builtins.int | None = None,
        window: _Operand | None = None,
        center: builtins.bool = True,
        normalized: builtins.bool = False,
        onesided: builtins.bool | None = None,
        length: builtins.int | None = None,
        return_complex: builtins.bool = False,
    ) -> Tensor:
        """The signals whose `stft` these are, by least squares where none has such spectra: `(batch, samples)`.

        Parts are multiplied by the window again, added where they overlap, and divided by the sum of the squares of
        windows. A `length` cuts the signal, or continues it by zeros.

        Griffin and Lim 1984.

        >>> import svod
        >>> x, window = svod.arange(16.0), svod.hann_window(8)
        >>> spectra = svod.stft(x, 8, 4, window=window)
        >>> svod.allclose(svod.istft(spectra, 8, 4, window=window), x, atol=1e-5)
        True
        """
    def kron(x1, x2: Any, /) -> Tensor:
        """Kronecker's product: each element of `x1` times all of `x2`, side by side.

        >>> import svod
        >>> svod.kron(svod.Tensor([1, 10]), svod.Tensor([1, 2])).tolist()
        [1, 2, 10, 20]
        """
    def kthvalue(
        self,
        /,
        k: _Extent,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
        *,
        axis: builtins.int | None = None,
        keepdims: builtins.bool = False,
    ) -> Any:
        """The `k`-th smallest element along an axis, by default the last, counted from 1, and where it is; with `axis`
        the element alone.
        """
    def lcm(x1, x2: Any, /) -> Tensor:
        """The least common multiple; 0 where one is 0.

        >>> import svod
        >>> svod.lcm(svod.Tensor([4, -6]), 6).tolist()
        [12, 6]
        """
    def lcm_(self, x2: Any, /) -> Self:
        """Becomes what `lcm` makes of it."""
    def ldexp(x1, x2: Any, /) -> Tensor:
        """`x1 * 2**x2`, also where the power alone overflows.

        >>> import svod
        >>> svod.ldexp(svod.Tensor([0.75]), 3).tolist()
        [6.0]
        """
    def ldexp_(self, x2: Any, /) -> Self:
        """Becomes what `ldexp` makes of it."""
    def le(self, /, other: _Operand) -> Tensor:
        """`x <= y`, false with NaN."""
    def le_(self, /, other: _Operand) -> Self:
        """Becomes what `le` makes of it."""
    def lerp_(self, /, end: _Operand, weight: _Operand) -> Self:
        """Becomes what `lerp` makes of it."""
    def less(self, /, other: _Operand) -> Tensor:
        """`x < y`, false with NaN."""
    def less_(self, /, other: _Operand) -> Self:
        """Becomes what `less` makes of it."""
    def less_equal(self, /, other: _Operand) -> Tensor:
        """`x <= y`, false with NaN."""
    def less_equal_(self, /, other: _Operand) -> Self:
        """Becomes what `less_equal` makes of it."""
    def lgamma(x, /) -> Tensor:
        """The logarithm of the absolute value of the gamma function; infinite at 0 and negative integers.

        By recurrence, Stirling's series and reflection. Near zeros of the function the error is that of numbers near
        1.

        >>> import svod
        >>> svod.lgamma(svod.Tensor([1.0, 2.0, 5.0]))
        Tensor([0.       , 0.       , 3.1780539], shape=(3,), dtype=float32, device=CPU)
        """
    def lgamma_(self, /) -> Self:
        """Becomes what `lgamma` makes of it."""
    def log(self, /) -> Tensor:
        """Natural logarithm."""
    def log10(self, /) -> Tensor:
        """Logarithm to base 10."""
    def log10_(self, /) -> Self:
        """Becomes what `log10` makes of it."""
    def log1p(self, /) -> Tensor:
        """`log(1 + x)`, exactly of small `x` too."""
    def log1p_(self, /) -> Self:
        """Becomes what `log1p` makes of it."""
    def log2(self, /) -> Tensor:
        """Logarithm to base 2."""
    def log2_(self, /) -> Self:
        """Becomes what `log2` makes of it."""
    def log_(self, /) -> Self:
        """Becomes `log(x)`."""
    def log_normal_(
        self, /, mean: builtins.float = 1, std: builtins.float = 2, *, generator: Generator | None = None
    ) -> Self:
        """Becomes what `log_normal` makes of it."""
    def log_softmax(
        self, /, dim: builtins.int | None = None, dtype: _DTypeLike | None = None, *, axis: builtins.int | None = None
    ) -> Tensor:
        """The logarithm of `softmax`."""
    def logaddexp(x1, x2: Any, /) -> Tensor:
        """`log(exp(x1) + exp(x2))` without overflow.

        >>> import svod
        >>> svod.logaddexp(svod.Tensor([1000.0]), -1000).tolist()
        [1000.0]
        """
    def logaddexp2(x1, x2: Any, /) -> Tensor:
        """`log2(2**x1 + 2**x2)` without overflow.

        >>> import svod
        >>> svod.logaddexp2(svod.Tensor([3.0]), 3).tolist()
        [4.0]
        """
    def logcumsumexp(x, /, axis: builtins.int, *, dim: builtins.int | None = None) -> Tensor:
        """The logarithms of the sums of the exponentials up to each element along an axis, without overflow.

        By sums over twice as many elements in each step (Hillis and Steele 1986).

        >>> import svod
        >>> svod.logcumsumexp(svod.Tensor([0.0, 0.0]), 0).tolist()
        [0.0, 0.6931471824645996]
        """
    def logdet(x, /) -> Tensor:
        """The logarithms of the determinants of matrices: -inf of 0, NaN where one is negative.

        >>> import svod
        >>> svod.logdet(svod.Tensor([[1.0, 0.0], [0.0, 1.0]])).item()
        0.0
        """
    def logical_and(self, /, other: _Operand) -> Tensor:
        """Whether both are not zero."""
    def logical_and_(self, /, other: _Operand) -> Self:
        """Becomes what `logical_and` makes of it."""
    def logical_not(self, /) -> Tensor:
        """Whether an element is zero."""
    def logical_not_(self, /) -> Self:
        """Becomes what `logical_not` makes of it."""
    def logical_or(self, /, other: _Operand) -> Tensor:
        """Whether one is not zero."""
    def logical_or_(self, /, other: _Operand) -> Self:
        """Becomes what `logical_or` makes of it."""
    def logical_xor(self, /, other: _Operand) -> Tensor:
        """Whether exactly one is not zero."""
    def logical_xor_(self, /, other: _Operand) -> Self:
        """Becomes what `logical_xor` makes of it."""
    def logit(x, /, eps: builtins.float | None = None) -> Tensor:
        """`log(x / (1 - x))`, of what is clamped to `eps` from 0 and 1 first.

        >>> import svod
        >>> svod.logit(svod.Tensor([0.5, 1.0])).tolist()
        [0.0, inf]
        """
    def logit_(self, /, eps: builtins.float | None = None) -> Self:
        """Becomes what `logit` makes of it."""
    def logsumexp(
        self,
        /,
        dim: _Axis = None,
        keepdim: builtins.bool = False,
        *,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        where: _Operand | None = None,
    ) -> Tensor:
        """`log(sum(exp(x)))` along axes, without overflow, of those elements that `where` takes."""
    def lt(self, /, other: _Operand) -> Tensor:
        """`x < y`, false with NaN."""
    def lt_(self, /, other: _Operand) -> Self:
        """Becomes what `lt` makes of it."""
    def lu(x, /, pivot: builtins.bool = True, get_infos: builtins.bool = False) -> tuple[Tensor, ...]:
        """Both triangles of `svod.linalg.lu` in one matrix, and LAPACK's pivots; with `get_infos` zeros, too.

        >>> import svod
        >>> packed, pivots = svod.lu(svod.Tensor([[1.0, 2.0], [2.0, 2.0]]))
        >>> packed.tolist(), pivots.tolist()
        ([[2.0, 2.0], [0.5, 1.0]], [2, 2])
        """
    def lu_solve(x, LU_data: _Operand, LU_pivots: _Operand, /) -> Tensor:
        """y with A y = x, by the factors that `lu` makes of A.

        >>> import svod
        >>> a = svod.Tensor([[2.0, 0.0], [0.0, 4.0]])
        >>> svod.lu_solve(svod.Tensor([[2.0], [2.0]]), *svod.lu(a)).tolist()
        [[1.0], [0.5]]
        """
    def map2_(self, x1: _Operand, x2: _Operand, callable: Callable[[Any, Any, Any], Any], /) -> Self:
        """Becomes what `map2` makes of it."""
    def map_(self, tensor: _Operand, callable: Callable[[Any, Any], Any], /) -> Self:
        """Becomes what `map` makes of it."""
    def masked_fill_(self, /, mask: _Operand, value: _Operand) -> Self:
        """Becomes what `masked_fill` makes of it."""
    def masked_scatter(x, mask: _Operand, source: _Operand, /) -> Tensor:
        """The elements of `source`, one after the other, where a mask holds, with which the tensor broadcasts.

        A source that has fewer is an error where the mask is known: in memory, when no function is traced. Elsewhere
        its
        last element is repeated.

        >>> import svod
        >>> svod.masked_scatter(svod.zeros(3), svod.Tensor([True, False, True]), svod.Tensor([1.0, 2.0])).tolist()
        [1.0, 0.0, 2.0]
        """
    def masked_scatter_(self, mask: _Operand, source: _Operand, /) -> Self:
        """Becomes what `masked_scatter` makes of it."""
    def matrix_exp(x, /) -> Tensor:
        """As `svod.linalg.matrix_exp`.

        >>> import svod
        >>> svod.matrix_exp(svod.zeros(2, 2)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
    def matrix_power(x, n: builtins.int, /) -> Tensor:
        """As `svod.linalg.matrix_power`.

        >>> import svod
        >>> svod.matrix_power(svod.Tensor([[1.0, 1.0], [0.0, 1.0]]), 5).tolist()
        [[1.0, 5.0], [0.0, 1.0]]
        """
    def max(
        self,
        /,
        dim: _Axis = None,
        keepdim: builtins.bool = False,
        *,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        initial: _Operand | None = None,
        where: _Operand | None = None,
    ) -> Any:
        """The maximum along axes, by default all; NaN where there is one.

        With `dim`, by name or position, PyTorch's pair of values and the first positions at which they are; with
        `axis`, or of several axes, values. With a tensor in its place, that of two elements.

        With `initial`, a number that is one of the elements too, and `where`, bools that say which elements are,
        values: NumPy's parameters.
        """
    def maximum(self, /, other: _Operand) -> Tensor:
        """The greater; NaN where one is."""
    def mean(
        self,
        /,
        dim: _Axis = None,
        keepdim: builtins.bool = False,
        *,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        dtype: _DTypeLike | None = None,
        where: _Operand | None = None,
    ) -> Tensor:
        """The mean along axes, of those elements that `where` takes; of integers in the default float, unless a type is
        given.
        """
    def median(
        self,
        /,
        dim: builtins.int | None = None,
        keepdim: builtins.bool = False,
        *,
        axis: builtins.int | None = None,
        keepdims: builtins.bool = False,
    ) -> Any:
        """The median, of an even number of elements the lower one of the two in the middle; NaN where there is one.

        Of all elements, or with `dim`, by name or position, PyTorch's pair of values along it and where they are;
        with `axis`, values.
        """
    def min(
        self,
        /,
        dim: _Axis = None,
        keepdim: builtins.bool = False,
        *,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        initial: _Operand | None = None,
        where: _Operand | None = None,
    ) -> Any:
        """The minimum along axes, by default all; NaN where there is one.

        With `dim`, by name or position, PyTorch's pair of values and the first positions at which they are; with
        `axis`, or of several axes, values. With a tensor in its place, that of two elements.

        With `initial`, a number that is one of the elements too, and `where`, bools that say which elements are,
        values: NumPy's parameters.
        """
    def minimum(self, /, other: _Operand) -> Tensor:
        """The lesser; NaN where one is."""
    def mm(x, mat2: _Operand, /) -> Tensor:
        """The product of two matrices.

        >>> import svod
        >>> svod.mm(svod.ones(1, 2), svod.ones(2, 1)).tolist()
        [[2.0]]
        """
    def mode(
        x,
        /,
        dim: builtins.int | None = None,
        keepdims: builtins.bool = False,
        *,
        axis: builtins.int | None = None,
        keepdim: builtins.bool = False,
    ) -> Any:
        """The value that occurs most often along an axis, by default the last; of several the least.

        PyTorch's pair of values and where they are last; with `axis`, values.

        >>> import svod
        >>> [part.item() for part in svod.mode(svod.Tensor([3, 1, 3, 1, 2]))]
        [1, 3]
        >>> svod.mode(svod.Tensor([[3, 1], [3, 2]]), axis=0).tolist()
        [3, 1]
        """
    def moveaxis(
        x, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int], /
    ) -> Tensor:
        """These dimensions moved to other positions; the others keep their order.

        >>> import svod
        >>> svod.moveaxis(svod.ones(2, 3, 4), 0, -1).shape
        (3, 4, 2)
        """
    def msort(x, /) -> Tensor:
        """The elements along the first dimension in order.

        >>> import svod
        >>> svod.msort(svod.Tensor([3, 1, 2])).tolist()
        [1, 2, 3]
        """
    def mul(self, /, other: _Operand) -> Tensor:
        """Product; logical and on bools."""
    def mul_(self, /, other: _Operand) -> Self:
        """Becomes `x * other`."""
    def multinomial(
        x, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: Generator | None = None
    ) -> Tensor:
        """Positions along the last axis, with probabilities in proportion to the weights there, as PyTorch's.

        Weights that are negative, infinite, NaN or all zero are an error where they are known: in memory, when no
        function
        is traced.

        >>> import svod
        >>> svod.multinomial(svod.Tensor([0.0, 3.0, 0.0]), 2, replacement=True).tolist()
        [1, 1]
        """
    def multiply(self, /, other: _Operand) -> Tensor:
        """Product; logical and on bools."""
    def multiply_(self, /, other: _Operand) -> Self:
        """Becomes what `multiply` makes of it."""
    def mv(x, vec: _Operand, /) -> Tensor:
        """The product of a matrix and a vector.

        >>> import svod
        >>> svod.mv(svod.ones(2, 3), svod.ones(3)).tolist()
        [3.0, 3.0]
        """
    def mvlgamma(x, p: builtins.int, /) -> Tensor:
        """The logarithm of the multivariate gamma function of dimension `p`.

        >>> import svod
        >>> svod.mvlgamma(svod.Tensor([2.0]), 1).tolist()
        [0.0]
        """
    def mvlgamma_(self, p: builtins.int, /) -> Self:
        """Becomes what `mvlgamma` makes of it."""
    def nan_to_num(
        x, /, nan: builtins.float = 0.0, posinf: builtins.float | None = None, neginf: builtins.float | None = None
    ) -> Tensor:
        """Other numbers in place of NaN and infinities, by default the greatest and the least of the type.

        >>> import svod
        >>> svod.nan_to_num(svod.Tensor([svod.nan, 1.0, svod.inf]), posinf=9).tolist()
        [0.0, 1.0, 9.0]
        """
    def nan_to_num_(
        self, /, nan: builtins.float = 0.0, posinf: builtins.float | None = None, neginf: builtins.float | None = None
    ) -> Self:
        """Becomes what `nan_to_num` makes of it."""
    def nanmean(
        x,
        /,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        *,
        where: _Operand | None = None,
        dim: _Axis = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """The mean of the elements that are not NaN along axes, by default of all; NaN where all are.

        Of those elements that `where` takes, as `mean`.

        >>> import svod
        >>> svod.nanmean(svod.Tensor([1.0, svod.nan, 3.0])).item()
        2.0
        """
    def nanmedian(
        x,
        /,
        dim: builtins.int | None = None,
        keepdims: builtins.bool = False,
        *,
        axis: builtins.int | None = None,
        keepdim: builtins.bool = False,
    ) -> Any:
        """The middle element, the lower one of two, of those that are not NaN.

        Of all elements, or with `dim`, by name or position, PyTorch's pair of values along it and where they are;
        with
        `axis`, values.

        >>> import svod
        >>> svod.nanmedian(svod.Tensor([4.0, svod.nan, 1.0, 3.0])).item()
        3.0
        """
    def nanquantile(
        x,
        q: Any,
        /,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        *,
        interpolation: builtins.str = "linear",
        dim: _Axis = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """As `quantile`, of the elements that are not NaN.

        >>> import svod
        >>> svod.nanquantile(svod.Tensor([1.0, svod.nan, 2.0]), 0.5).item()
        1.5
        """
    def nansum(
        x,
        /,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        *,
        dtype: Any = None,
        initial: Any = None,
        where: _Operand | None = None,
        dim: _Axis = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """The sum of the elements that are not NaN along axes, by default of all.

        Of those elements that `where` takes, and `initial`, as `sum`.

        >>> import svod
        >>> svod.nansum(svod.Tensor([1.0, svod.nan])).item()
        1.0
        """
    def narrow(
        self, /, dim: builtins.int | None, start: _Extent | Tensor, length: _Extent, *, axis: builtins.int | None = None
    ) -> Tensor:
        """`length` elements of `dim` from `start` on, which counts from the end where it is negative. It may be an
        integer
        in a tensor, which is then read when the elements are.
        """
    def narrow_copy(
        x, axis: builtins.int, start: builtins.int, length: builtins.int, /, *, dim: builtins.int | None = None
    ) -> Tensor:
        """As `narrow`.

        >>> import svod
        >>> svod.narrow_copy(svod.arange(4), 0, 1, 2).tolist()
        [1, 2]
        """
    def ndimension(x, /) -> builtins.int:
        """The number of dimensions.

        >>> import svod
        >>> svod.ones(2, 3).ndimension()
        2
        """
    def ne(self, /, other: _Operand) -> Tensor:
        """`x != y`, true with NaN."""
    def ne_(self, /, other: _Operand) -> Self:
        """Becomes what `ne` makes of it."""
    def neg(self, /) -> Tensor:
        """`-x`; wraps on integers."""
    def neg_(self, /) -> Self:
        """Becomes `-x`."""
    def negative(self, /) -> Tensor:
        """`-x`; wraps on integers."""
    def negative_(self, /) -> Self:
        """Becomes what `negative` makes of it."""
    def nelement(x, /) -> Any:
        """The number of elements.

        >>> import svod
        >>> svod.ones(2, 3).nelement()
        6
        """
    def new_empty(x, /, *size: Any, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
        """A tensor of this shape, whose elements are arbitrary, in the type and on the device of `x`.

        >>> import svod
        >>> svod.ones(2).new_empty(3).shape
        (3,)
        """
    def new_empty_strided(
        x,
        size: Sequence[builtins.int],
        stride: Sequence[builtins.int],
        /,
        *,
        dtype: Any = None,
        device: builtins.str | None = None,
    ) -> Tensor:
        """As `new_empty`: elements are dense and row-major, whichever strides are asked for.

        >>> import svod
        >>> svod.Tensor([1]).new_empty_strided((2, 3), (1, 2)).dtype
        svod.int64
        """
    def new_full(x, size: Any, fill_value: Any, /, *, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
        """One value in this shape, in the type and on the device of `x`.

        >>> import svod
        >>> svod.ones(2).new_full((2,), 3).tolist()
        [3.0, 3.0]
        """
    def new_ones(x, /, *size: Any, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
        """Ones in this shape, in the type and on the device of `x`.

        >>> import svod
        >>> svod.Tensor([1]).new_ones(2).tolist()
        [1, 1]
        """
    def new_tensor(x, data: Any, /, *, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
        """A tensor of data, in the type and on the device of `x`.

        >>> import svod
        >>> svod.Tensor([1.0]).new_tensor([2]).tolist()
        [2.0]
        """
    def new_zeros(x, /, *size: Any, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
        """Zeros in this shape, in the type and on the device of `x`.

        >>> import svod
        >>> svod.Tensor([1]).new_zeros(1, 2).tolist()
        [[0, 0]]
        """
    def nextafter(x1, x2: Any, /) -> Tensor:
        """The number next to `x1` on the way to `x2`.

        >>> import svod
        >>> svod.nextafter(svod.Tensor([1.0]), 2).tolist()
        [1.0000001192092896]
        """
    def nextafter_(self, x2: Any, /) -> Self:
        """Becomes what `nextafter` makes of it."""
    def nonzero(self, /, *, as_tuple: builtins.bool = False) -> Any:
        """The indices, along each dimension, of the elements that are not zero. Computed now: their
        number depends on the values. As PyTorch's, one tensor with a row for each element, or with `as_tuple` a
        tensor for each dimension, as `svod.nonzero` and NumPy.
        """
    def nonzero_static(x, /, *, size: builtins.int, fill_value: builtins.int = -1) -> Tensor:
        """The indices of the first `size` elements that are not zero, as rows; rows of `fill_value` where there are
        fewer.

        >>> import svod
        >>> svod.nonzero_static(svod.Tensor([0, 3, 4]), size=3).tolist()
        [[1], [2], [-1]]
        """
    def norm(
        x,
        /,
        p: builtins.float | builtins.str | None = "fro",
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        dtype: Any = None,
        *,
        dim: _Axis = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """The `p`-norm along axes, by default of all elements; "fro" is 2, "nuc" the sum of a matrix's singular values.

        >>> import svod
        >>> svod.norm(svod.Tensor([3.0, 4.0])).item()
        5.0
        """
    def normal_(self, /, mean: Any = 0, std: Any = 1, *, generator: Generator | None = None) -> Self:
        """Becomes what `normal` makes of it."""
    def normalize(
        self,
        /,
        p: builtins.float = 2.0,
        dim: builtins.int | None = 1,
        eps: builtins.float = 1e-12,
        *,
        axis: builtins.int | None = None,
    ) -> Tensor:
        """Divided by its `p`-norm along an axis, or by `eps` where that is greater."""
    def not_equal(self, /, other: _Operand) -> Tensor:
        """`x != y`, true with NaN."""
    def not_equal_(self, /, other: _Operand) -> Self:
        """Becomes what `not_equal` makes of it."""
    def orgqr(x, tau: _Operand, /) -> Tensor:
        """The first columns of the product Q of reflections as `geqrf` gives them.

        >>> import svod
        >>> a = svod.Tensor([[3.0], [4.0]])
        >>> svod.abs(svod.orgqr(*svod.geqrf(a)) @ a.qr().R - a).max().item() < 1e-6
        True
        """
    def ormqr(
        x, tau: _Operand, other: _Operand, /, left: builtins.bool = True, transpose: builtins.bool = False
    ) -> Tensor:
        """Q, as `geqrf` gives its reflections, times `other`, or `other` times it; its adjoint with `transpose`.

        >>> import svod
        >>> a = svod.Tensor([[3.0], [4.0]])
        >>> svod.ormqr(*svod.geqrf(a), a, transpose=True).abs().round().tolist()
        [[5.0], [0.0]]
        """
    def pinverse(x, /, rcond: builtins.float = 1e-15) -> Tensor:
        """As `svod.linalg.pinv`; singular values up to `rcond` times the greatest count as 0.

        >>> import svod
        >>> svod.pinverse(svod.Tensor([[2.0], [0.0]])).tolist()
        [[0.5, 0.0]]
        """
    def polygamma(n, x: Any, /) -> Tensor:
        """The `n`-th derivative of `digamma`; as a method, `x.polygamma(n)`, the tensor comes first.

        By recurrence and Euler's summation of the rest, and by reflection.

        >>> import svod
        >>> svod.polygamma(1, svod.Tensor([1.0]))
        Tensor([1.644934], shape=(1,), dtype=float32, device=CPU)
        """
    def polygamma_(self, x: Any, /) -> Self:
        """Becomes what `polygamma` makes of it."""
    def positive(x, /) -> Tensor:
        """The numbers as they are."""
    def pow(self, /, exponent: _Operand) -> Tensor:
        """Power."""
    def pow_(self, /, other: _Operand) -> Self:
        """Becomes `x ** other`."""
    def prelu(input, weight: _Operand) -> Tensor:
        """`x` where it is positive, else `weight · x`: one weight, or one for each channel, axis 1 (He et al. 2015)."""
    def prod(
        self,
        /,
        dim: _Axis = None,
        keepdim: builtins.bool = False,
        *,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        dtype: _DTypeLike | None = None,
        initial: _Operand | None = None,
        where: _Operand | None = None,
    ) -> Tensor:
        """The product along axes, by default all, of those elements that `where` takes and `initial`; of integers and
        bools
        in `int64`.
        """
    def put(x, index: _Operand, source: _Operand, accumulate: builtins.bool = False, /) -> Tensor:
        """Other elements at positions of the flat tensor; with `accumulate` they are added.

        >>> import svod
        >>> svod.put(svod.zeros(2, 2), svod.Tensor([3]), svod.Tensor([1.0])).tolist()
        [[0.0, 0.0], [0.0, 1.0]]
        """
    def put_(self, index: _Operand, source: _Operand, accumulate: builtins.bool = False, /) -> Self:
        """Becomes what `put` makes of it."""
    def qr(x, /, some: builtins.bool = True) -> QRResult:
        """As `svod.linalg.qr`, with all columns of Q unless `some` are enough.

        >>> import svod
        >>> [tuple(part.shape) for part in svod.qr(svod.ones(3, 2), some=False)]
        [(3, 3), (3, 2)]
        """
    def quantile(
        x,
        q: Any,
        /,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        *,
        interpolation: builtins.str = "linear",
        dim: _Axis = None,
        keepdim: builtins.bool = False,
    ) -> Tensor:
        """The values below which parts `q`, from 0 to 1, of the elements along axes, or of all, are.

        Several are along a new first dimension. Between two elements by `interpolation`, or `method`: "linear",
        "lower", "higher", "nearest", "midpoint", or another one that NumPy has, such as "median_unbiased".

        >>> import svod
        >>> svod.quantile(svod.Tensor([1.0, 2.0, 4.0]), [0.5, 0.75]).tolist()
        [2.0, 3.0]
        """
    def rad2deg(x, /) -> Tensor:
        """Angles in radians as degrees.

        >>> import svod
        >>> svod.rad2deg(svod.Tensor([0.0])).tolist()
        [0.0]
        """
    def rad2deg_(self, /) -> Self:
        """Becomes what `rad2deg` makes of it."""
    def random_(
        self,
        /,
        *bounds: builtins.int,
        low: builtins.int | None = None,
        to: builtins.int | None = None,
        generator: Generator | None = None,
    ) -> Self:
        """Becomes what `random` makes of it."""
    def ravel(x, /) -> Tensor:
        """All elements in one dimension, in row-major order.

        >>> import svod
        >>> svod.ravel(svod.Tensor([[1, 2], [3, 4]])).tolist()
        [1, 2, 3, 4]
        """
    def rearrange(x, pattern: builtins.str, /, **lengths: Any) -> Tensor:
        """The axes in another order, split and joined, as a pattern says: `"b (h w) c -> b c h w"`.

        A name is an axis; names in parentheses are parts of one, of which all but one have their extent in `lengths`,
        or
        where they are named alone. `1` is an axis of extent 1, `...` all axes that have no name.

        >>> import svod
        >>> svod.rearrange(svod.arange(6), "(h w) -> w h", h=2).tolist()
        [[0, 3], [1, 4], [2, 5]]
        """
    def reciprocal(self, /) -> Tensor:
        """`1 / x`."""
    def reciprocal_(self, /) -> Self:
        """Becomes `1 / x`."""
    def register_hook(x, /, hook: Callable[[Tensor], Tensor | None]) -> HookHandle:
        """Has `hook(gradient)` called by each `backward` that reaches the tensor: it gives another gradient, or none to
        leave it as it is.

        Of a tensor that follows from others that is the gradient of all that is computed from it from now on, and
        what lies
        before it goes on with what the hook gave. Hooks are called in the order in which they came; the result takes
        this
        one off again. Under `jit` they are called while the function is traced.

        >>> import svod
        >>> w = svod.Tensor([1.0, 2.0]).requires_grad_()
        >>> handle = w.register_hook(lambda gradient: gradient.clamp(max=3.0))
        >>> (w * w).sum().backward()
        >>> w.grad.tolist()
        [2.0, 3.0]
        """
    def register_post_accumulate_grad_hook(x, /, hook: Callable[[Tensor], None]) -> HookHandle:
        """Has `hook(tensor)` called by each `backward` that has added to the `grad` of a tensor, which follows from no
        other. The result takes the hook off again.

        >>> import svod
        >>> w = svod.Tensor([1.0, 2.0]).requires_grad_()
        >>> handle = w.register_post_accumulate_grad_hook(lambda w: print(w.grad.tolist()))
        >>> (w * w).sum().backward()
        [2.0, 4.0]
        """
    def relu(self, /) -> Tensor:
        """`max(x, 0)`."""
    def relu_(self, /) -> Self:
        """Becomes `max(x, 0)`."""
    def remainder(self, /, other: _Operand) -> Tensor:
        """Remainder of `floor_divide`, of the divisor's sign; by an integer 0 it is 0."""
    def remainder_(self, /, other: _Operand) -> Self:
        """Becomes `x % other`."""
    def renorm(
        x, p: builtins.float, axis: builtins.int, maxnorm: builtins.float, /, *, dim: builtins.int | None = None
    ) -> Tensor:
        """The slices of an axis, those with a `p`-norm above `maxnorm` scaled to it.

        >>> import svod
        >>> svod.renorm(svod.Tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 1.0).tolist()
        [[0.6000000238418579, 0.800000011920929], [0.0, 1.0]]
        """
    def renorm_(
        self, p: builtins.float, axis: builtins.int, maxnorm: builtins.float, /, *, dim: builtins.int | None = None
    ) -> Self:
        """Becomes what `renorm` makes of it."""
    def repeat_interleave(
        self,
        /,
        repeats: _Extent | _ArrayLike,
        dim: builtins.int | None = None,
        *,
        axis: builtins.int | None = None,
        output_size: _Extent | None = None,
    ) -> Tensor:
        """Each element repeated in place, along an axis or of the flat tensor: so often, or, by a 1-d tensor,
        each as often as the number at its place says. Such numbers are computed now, as `nonzero` is. `output_size`
        is
        what the extent has to be.
        """
    def reshape_as(x, other: _Operand, /) -> Tensor:
        """The same elements in the shape of another tensor.

        >>> import svod
        >>> svod.arange(6).reshape_as(svod.ones(2, 3)).shape
        (2, 3)
        """
    def resolve_conj(x, /) -> Tensor:
        """The tensor itself: see `is_conj`.

        >>> import svod
        >>> svod.resolve_conj(svod.Tensor([1j]).conj()).tolist()
        [-1j]
        """
    def resolve_neg(x, /) -> Tensor:
        """The tensor itself: see `is_neg`.

        >>> import svod
        >>> svod.resolve_neg(svod.Tensor([1])).tolist()
        [1]
        """
    def roll(
        self,
        /,
        shifts: _Extent | Sequence[_Extent],
        dims: builtins.int | Sequence[builtins.int] | None = None,
        *,
        axis: _Axis = None,
        dim: _Axis = None,
    ) -> Tensor:
        """The elements of axes moved towards their ends, those beyond them to the start, by one number or by one
        for each; without axes those of the flat tensor.
        """
    def rot90(x, /, k: builtins.int = 1, dims: Sequence[builtins.int] = (0, 1)) -> Tensor:
        """Turned `k` times by a right angle, from the first of two dimensions to the second.

        >>> import svod
        >>> svod.rot90(svod.Tensor([[1, 2], [3, 4]])).tolist()
        [[2, 4], [1, 3]]
        """
    def round(self, /, decimals: builtins.int = 0) -> Tensor:
        """The nearest integer, ties to even, in the same type; with `decimals` so many places behind the point, or
        before.
        """
    def round_(self, /) -> Self:
        """Becomes the nearest integers, ties to even."""
    def rsqrt(self, /) -> Tensor:
        """`1 / sqrt(x)`."""
    def rsqrt_(self, /) -> Self:
        """Becomes what `rsqrt` makes of it."""
    def scatter(
        self,
        /,
        dim: builtins.int | None,
        index: _ArrayLike,
        src: _Operand | None = None,
        *,
        axis: builtins.int | None = None,
        value: _Operand | None = None,
        reduce: str | None = None,
    ) -> Tensor:
        """With the elements of `src`, or `value`, written at their position but, along `dim`, at the value of
        `index`. Where several go to one element, the last one in row-major order stays. With `reduce` "add" or
        "multiply", they are added to what is there, or multiplied with it.
        """
    def scatter_(
        self,
        /,
        dim: builtins.int | None,
        index: _ArrayLike,
        src: _Operand | None = None,
        *,
        axis: builtins.int | None = None,
        value: _Operand | None = None,
        reduce: str | None = None,
    ) -> Self:
        """Becomes what `scatter` makes of it."""
    def scatter_add(
        self, /, dim: builtins.int | None, index: _ArrayLike, src: _Operand, *, axis: builtins.int | None = None
    ) -> Tensor:
        """As `scatter`, added to what is there."""
    def scatter_add_(
        self, /, dim: builtins.int | None, index: _ArrayLike, src: _Operand, *, axis: builtins.int | None = None
    ) -> Self:
        """Becomes what `scatter_add` makes of it."""
    def scatter_reduce(
        self,
        /,
        dim: builtins.int | None,
        index: _ArrayLike,
        src: _Operand,
        reduce: str,
        *,
        include_self: builtins.bool = True,
        axis: builtins.int | None = None,
    ) -> Tensor:
        """As `scatter`, combined by `reduce` ("sum", "prod", "amax", "amin" or "mean") with what is
        there or, without `include_self`, only with each other.
        """
    def scatter_reduce_(
        self,
        /,
        dim: builtins.int | None,
        index: _ArrayLike,
        src: _Operand,
        reduce: str,
        *,
        include_self: builtins.bool = True,
        axis: builtins.int | None = None,
    ) -> Self:
        """Becomes what `scatter_reduce` makes of it."""
    def select(x, axis: Any, index: Any = None, /, *, default: Any = 0, dim: Any = None) -> Tensor:
        """The slice at a position of an axis, without it, as PyTorch's `select`.

        Of a list of conditions and one of choices it is NumPy's: for each element the choice whose condition is the
        first
        that holds, else `default`.

        >>> import svod
        >>> svod.select(svod.Tensor([[1, 2], [3, 4]]), 1, -1).tolist()
        [2, 4]
        >>> x = svod.Tensor([1, 5, 9])
        >>> svod.select([x < 3, x < 7], [x, 10 * x], default=-1).tolist()
        [1, 50, -1]
        """
    def select_scatter(
        x, src: _Operand, axis: builtins.int, index: builtins.int, /, *, dim: builtins.int | None = None
    ) -> Tensor:
        """Another slice at a position of an axis.

        >>> import svod
        >>> svod.select_scatter(svod.zeros(2, 2), svod.ones(2), 0, 1).tolist()
        [[0.0, 0.0], [1.0, 1.0]]
        """
    def sgn(x, /) -> Tensor:
        """-1, 0 or 1; of complex numbers `x / |x|`.

        >>> import svod
        >>> svod.sgn(svod.Tensor([-3.0, 0.0])).tolist()
        [-1.0, 0.0]
        """
    def sgn_(self, /) -> Self:
        """Becomes what `sgn` makes of it."""
    def shard(
        self, /, devices: Sequence[str] | str, axis: builtins.int | None = None, *, dim: builtins.int | None = None
    ) -> Tensor:
        """The value spread over devices: cut along `axis` into one part for each, or whole on each.

        Where the extent is no multiple of the number of devices, the first parts are larger by one.
        Operations on tensors that are spread run on every device, and move nothing where they can. A
        fold along the split axis, such as the sum of a matrix product, leaves each device with the whole
        result. What needs elements of other devices, such as a sort along that axis, has them gathered before,
        and gives the whole result on each. `to`, and looking at the values, gathers.

        >>> import svod
        >>> x = svod.Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).shard(["CPU", "CPU:1"], axis=0)
        >>> [s.shape for s in x.shards]
        [(2, 2), (1, 2)]
        >>> (x * 2).sum(0).to("CPU").tolist()
        [18.0, 24.0]
        """
    def sigmoid(self, /) -> Tensor:
        """`1 / (1 + exp(-x))`."""
    def sigmoid_(self, /) -> Self:
        """Becomes `1 / (1 + exp(-x))`."""
    def sign(self, /) -> Tensor:
        """-1, 0 or 1; NaN is kept. Of complex numbers `x / |x|`."""
    def sign_(self, /) -> Self:
        """Becomes what `sign` makes of it."""
    def signbit(x, /) -> Tensor:
        """Whether the sign is that of negative numbers, -0 and negative NaN included; integers are never -0.

        >>> import svod
        >>> svod.signbit(svod.Tensor([-0.0, 0.0, -3.0])).tolist()
        [True, False, True]
        """
    def silu(self, /) -> Tensor:
        """`x * sigmoid(x)`."""
    def sin(self, /) -> Tensor:
        """Sine of an angle in radians."""
    def sin_(self, /) -> Self:
        """Becomes what `sin` makes of it."""
    def sinc(x, /) -> Tensor:
        """`sin(π x) / (π x)`, 1 at 0.

        >>> import svod
        >>> svod.sinc(svod.Tensor([0.0, 0.5])).tolist()
        [1.0, 0.6366197466850281]
        """
    def sinc_(self, /) -> Self:
        """Becomes what `sinc` makes of it."""
    def sinh(x, /) -> Tensor:
        """Hyperbolic sine.

        >>> import svod
        >>> svod.sinh(svod.Tensor([0.0])).tolist()
        [0.0]
        """
    def sinh_(self, /) -> Self:
        """Becomes what `sinh` makes of it."""
    def slice_scatter(
        x,
        src: _Operand,
        /,
        axis: builtins.int = 0,
        start: builtins.int | None = None,
        end: builtins.int | None = None,
        step: builtins.int = 1,
        *,
        dim: builtins.int = 0,
    ) -> Tensor:
        """Other elements in a slice of an axis.

        >>> import svod
        >>> svod.slice_scatter(svod.zeros(4), svod.ones(2), start=0, step=2).tolist()
        [1.0, 0.0, 1.0, 0.0]
        """
    def slogdet(x, /) -> SlogdetResult:
        """As `svod.linalg.slogdet`.

        >>> import svod
        >>> [part.item() for part in svod.slogdet(svod.Tensor([[-1.0]]))]
        [-1.0, 0.0]
        """
    def softmax(
        self, /, dim: builtins.int | None = None, dtype: _DTypeLike | None = None, *, axis: builtins.int | None = None
    ) -> Tensor:
        """`exp(x)` divided by its sum along an axis."""
    def softplus(self, /) -> Tensor:
        """`log(1 + exp(x))`, without overflow."""
    def sort(
        self,
        /,
        dim: builtins.int | None = None,
        descending: builtins.bool = False,
        *,
        axis: builtins.int | None = None,
        stable: builtins.bool = True,
    ) -> ValuesAndIndices:
        """The elements along an axis, by default the last, in order, and where they were. The order is stable, whatever
        `stable` asks for; NaN is the greatest value.
        """
    def split(
        self,
        /,
        split_size: _Extent | Sequence[_Extent],
        dim: builtins.int | None = 0,
        *,
        axis: builtins.int | None = None,
    ) -> list[Tensor]:
        """Parts along an axis: of this extent, the last one maybe smaller, or of these extents."""
    def split_with_sizes(
        x, sizes: Sequence[builtins.int], /, axis: builtins.int = 0, *, dim: builtins.int = 0
    ) -> list[Tensor]:
        """Parts of these extents along an axis.

        >>> import svod
        >>> [part.tolist() for part in svod.split_with_sizes(svod.arange(3), [1, 2])]
        [[0], [1, 2]]
        """
    def sqrt(self, /) -> Tensor:
        """Square root."""
    def sqrt_(self, /) -> Self:
        """Becomes `sqrt(x)`."""
    def square(self, /) -> Tensor:
        """`x * x`."""
    def square_(self, /) -> Self:
        """Becomes what `square` makes of it."""
    def squeeze(self, /, dim: _Axis = None, *, axis: _Axis = None) -> Tensor:
        """Without these dimensions of extent 1, by default all of them."""
    def std(
        self,
        /,
        dim: _Axis = None,
        unbiased: builtins.bool | None = None,
        keepdim: builtins.bool = False,
        *,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        correction: builtins.float = 1.0,
        ddof: _Operand | None = None,
        dtype: _DTypeLike | None = None,
        where: _Operand | None = None,
    ) -> Tensor:
        """The standard deviation along axes; see `var`."""
    def stft(
        x,
        /,
        n_fft: builtins.int,
        hop_length: builtins.int | None = None,
        win_length: builtins.int | None = None,
        window: _Operand | None = None,
        center: builtins.bool = True,
        pad_mode: builtins.str = "reflect",
        normalized: builtins.bool = False,
        onesided: builtins.bool | None = None,
        return_complex: builtins.bool = True,
    ) -> Tensor:
        """The spectra of overlapping parts of signals `(batch, samples)` or `(samples,)`, `(…, frequencies, parts)`.

        A part has `n_fft` samples and begins `hop_length` after the one before, by default a quarter of that; it is
        multiplied by a `window` of `win_length`, which is ones if none is given. With `center` the k-th part has its
        middle
        at sample k times `hop_length`, and the signal is continued at its ends as `pad_mode` says. Of real signals
        only
        frequencies from 0 up are told, unless `onesided` is false. `normalized` divides by the root of `n_fft`.
        Without
        `return_complex` the last dimension is that of the two parts of numbers.

        Allen and Rabiner 1977.

        >>> import svod
        >>> svod.stft(svod.ones(16), 8, 4).abs()[:2, 1].tolist()
        [8.0, 0.0]
        """
    def stride(x, /, axis: builtins.int | None = None, *, dim: builtins.int | None = None) -> Any:
        """How many elements are between neighbours along each dimension, or one, of dense, row-major memory.

        >>> import svod
        >>> svod.ones(2, 3, 4).stride()
        (12, 4, 1)
        """
    def sub(self, /, other: _Operand, *, alpha: _Operand | None = None) -> Tensor:
        """Difference, less `alpha` times the second."""
    def sub_(self, /, other: _Operand, *, alpha: _Operand | None = None) -> Self:
        """Becomes `x - alpha * other`."""
    def subtract(self, /, other: _Operand, *, alpha: _Operand | None = None) -> Tensor:
        """Difference, less `alpha` times the second."""
    def subtract_(self, /, other: _Operand, *, alpha: _Operand | None = None) -> Self:
        """Becomes what `subtract` makes of it."""
    def sum(
        self,
        /,
        dim: _Axis = None,
        keepdim: builtins.bool = False,
        *,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        dtype: _DTypeLike | None = None,
        initial: _Operand | None = None,
        where: _Operand | None = None,
    ) -> Tensor:
        """The sum along axes, by default all, of those elements that `where` takes and `initial`; of integers and bools
        in
        `int64`.
        """
    def sum_to_size(x, /, *size: Any) -> Tensor:
        """The sums over the dimensions in which a shape is broadcast to that of `x`.

        >>> import svod
        >>> svod.ones(2, 3).sum_to_size(3).tolist()
        [2.0, 2.0, 2.0]
        """
    def svd(x, /, some: builtins.bool = True, compute_uv: builtins.bool = True) -> SVD:
        """U, the singular values, and V, not its conjugate transpose, which `svod.linalg.svd` gives.

        Square U and V unless `some` of their columns are enough; zeros where they are not to be computed.

        >>> import svod
        >>> [tuple(part.shape) for part in svod.svd(svod.ones(3, 2))]
        [(3, 2), (2,), (2, 2)]
        """
    def swapaxes(
        self,
        /,
        axis0: builtins.int | None,
        axis1: builtins.int | None,
        *,
        dim0: builtins.int | None = None,
        dim1: builtins.int | None = None,
    ) -> Tensor:
        """As `transpose`."""
    def swapdims(
        x,
        axis1: builtins.int,
        axis2: builtins.int,
        /,
        *,
        dim1: builtins.int | None = None,
        dim2: builtins.int | None = None,
    ) -> Tensor:
        """Two dimensions exchanged.

        >>> import svod
        >>> svod.swapdims(svod.ones(2, 3, 4), 0, 2).shape
        (4, 3, 2)
        """
    def take(
        self, /, index: _ArrayLike, axis: builtins.int | None = None, *, dim: builtins.int | None = None
    ) -> Tensor:
        """An axis indexed by integers of any shape, which takes its place; without one, the flat tensor."""
    def take_along_dim(
        self, /, indices: _ArrayLike, dim: builtins.int | None = None, *, axis: builtins.int | None = None
    ) -> Tensor:
        """As `gather`, broadcast off the axis; without one, of the flat tensor."""
    def tan(self, /) -> Tensor:
        """Tangent of an angle in radians."""
    def tan_(self, /) -> Self:
        """Becomes what `tan` makes of it."""
    def tanh(self, /) -> Tensor:
        """Hyperbolic tangent."""
    def tanh_(self, /) -> Self:
        """Becomes the hyperbolic tangents."""
    def tensor_split(
        x, indices_or_sections: Any, /, axis: builtins.int = 0, *, dim: builtins.int = 0
    ) -> tuple[Tensor, ...]:
        """Parts along an axis: so many, the first one longer where they cannot be equal, or up to indices.

        >>> import svod
        >>> [part.tolist() for part in svod.tensor_split(svod.arange(5), (1, 3))]
        [[0], [1, 2], [3, 4]]
        """
    def tile(x, repetitions: builtins.int | Sequence[builtins.int], /) -> Tensor:
        """The whole repeated along each dimension; missing dimensions and numbers of repetitions are 1 and come first.

        >>> import svod
        >>> svod.tile(svod.Tensor([1, 2]), (2, 2)).tolist()
        [[1, 2, 1, 2], [1, 2, 1, 2]]
        """
    def to_device(x, device: builtins.str, /, *, stream: Any = None) -> Tensor:
        """The tensor on another device, by the array API's name; see `to`."""
    def tobytes(x, /) -> bytes:
        """The bytes of the elements, in row-major order; computed now. `bytes(x)` has them too.

        >>> import svod
        >>> svod.Tensor([1, 258], dtype="int16").tobytes()
        b'\x01\x00\x02\x01'
        """
    def topk(
        self,
        /,
        k: _Extent,
        dim: builtins.int | None = None,
        largest: builtins.bool = True,
        sorted: builtins.bool = True,
        *,
        axis: builtins.int | None = None,
    ) -> ValuesAndIndices:
        """The `k` largest elements along an axis, by default the last, or the smallest, and where they are: in order,
        whatever `sorted` asks for.
        """
    def trace(
        x,
        /,
        offset: builtins.int = 0,
        axis1: builtins.int = 0,
        axis2: builtins.int = 1,
        *,
        dim1: builtins.int = 0,
        dim2: builtins.int = 1,
    ) -> Tensor:
        """The sum of a diagonal.

        >>> import svod
        >>> svod.trace(svod.Tensor([[1, 2], [3, 4]])).item()
        5
        """
    def transpose(self, /, *axes: Any, **named: Any) -> Tensor:
        """Two dimensions exchanged, as PyTorch has it: `x.transpose(0, 1)`.

        NumPy's forms are taken where they are no pair: all dimensions in the order of a tuple, or of three or more
        integers, and without any in reverse order.

        >>> import svod
        >>> x = svod.ones(2, 3, 4)
        >>> x.transpose(0, 2).shape, x.transpose(2, 0, 1).shape, x.transpose((2, 0, 1)).shape, x.transpose().shape
        ((4, 3, 2), (4, 2, 3), (4, 2, 3), (4, 3, 2))
        """
    def triangular_solve(
        x,
        A: _Operand,
        /,
        upper: builtins.bool = True,
        transpose: builtins.bool = False,
        unitriangular: builtins.bool = False,
    ) -> tuple[Tensor, Tensor]:
        """y with A y = x, of A only a triangle, or with its transpose; and that A.

        >>> import svod
        >>> svod.triangular_solve(svod.Tensor([[2.0], [4.0]]), svod.Tensor([[2.0, 0.0], [0.0, 4.0]]))[0].tolist()
        [[1.0], [1.0]]
        """
    def tril_(self, /, diagonal: _Operand = 0) -> Self:
        """Becomes what `tril` makes of it."""
    def triu_(self, /, diagonal: _Operand = 0) -> Self:
        """Becomes what `triu` makes of it."""
    def true_divide(x1, x2: Any, /) -> Tensor:
        """True quotient, integers becoming floats.

        >>> import svod
        >>> svod.true_divide(svod.Tensor([1]), 2).tolist()
        [0.5]
        """
    def true_divide_(self, x2: Any, /) -> Self:
        """Becomes what `true_divide` makes of it."""
    def trunc(self, /) -> Tensor:
        """The integer part, in the same type."""
    def trunc_(self, /) -> Self:
        """Becomes what `trunc` makes of it."""
    def type_as(x, other: _Operand, /) -> Tensor:
        """In the type of another tensor.

        >>> import svod
        >>> svod.Tensor([1]).type_as(svod.ones(1)).dtype
        svod.float32
        """
    def unbind(x, /, axis: builtins.int = 0, *, dim: builtins.int = 0) -> tuple[Tensor, ...]:
        """The slices along an axis, without it.

        >>> import svod
        >>> [part.tolist() for part in svod.Tensor([[1, 2], [3, 4]]).unbind(1)]
        [[1, 3], [2, 4]]
        """
    def unflatten(
        self, /, dim: builtins.int | None, sizes: Sequence[_Extent], *, axis: builtins.int | None = None
    ) -> Tensor:
        """One dimension as several; one -1 is inferred."""
    def unfold(
        self, /, dim: builtins.int | None, size: builtins.int, step: builtins.int, *, axis: builtins.int | None = None
    ) -> Tensor:
        """Every part of `size` elements of an axis that begins at a multiple of `step`, as a new last
        axis.
        """
    def uniform_(
        self, /, low: builtins.float = 0, to: builtins.float = 1, *, generator: Generator | None = None
    ) -> Self:
        """Becomes what `uniform` makes of it."""
    def unique(
        x,
        /,
        sorted: builtins.bool = True,
        return_inverse: builtins.bool = False,
        return_counts: builtins.bool = False,
        axis: builtins.int | None = None,
        *,
        return_index: builtins.bool = False,
        dim: builtins.int | None = None,
    ) -> Any:
        """The values, each once, in order; computed now. Of several that are asked for a tuple: the values, where each
        is
        first, which one each element is, how often each occurs. With an axis, its slices in the place of elements.

        >>> import svod
        >>> [part.tolist() for part in svod.unique(svod.Tensor([3, 1, 3]), return_counts=True)]
        [[1, 3], [1, 2]]
        """
    def unique_consecutive(
        x,
        /,
        return_inverse: builtins.bool = False,
        return_counts: builtins.bool = False,
        axis: builtins.int | None = None,
        *,
        dim: builtins.int | None = None,
    ) -> Any:
        """The flat tensor with one of equal neighbours; where asked for, which run each element is in and how long
        runs are; computed now. With an axis, its slices in the place of elements.

        >>> import svod
        >>> svod.unique_consecutive(svod.Tensor([1, 1, 2, 1])).tolist()
        [1, 2, 1]
        """
    def unsafe_chunk(
        x, chunks: builtins.int, /, axis: builtins.int = 0, *, dim: builtins.int = 0
    ) -> tuple[Tensor, ...]:
        """As `chunk`.

        >>> import svod
        >>> [part.tolist() for part in svod.unsafe_chunk(svod.arange(3), 2)]
        [[0, 1], [2]]
        """
    def unsafe_split(
        x, split_size: builtins.int, /, axis: builtins.int = 0, *, dim: builtins.int = 0
    ) -> tuple[Tensor, ...]:
        """As `split`.

        >>> import svod
        >>> [part.tolist() for part in svod.unsafe_split(svod.arange(3), 2)]
        [[0, 1], [2]]
        """
    def unsafe_split_with_sizes(
        x, sizes: Sequence[builtins.int], /, axis: builtins.int = 0, *, dim: builtins.int = 0
    ) -> tuple[Tensor, ...]:
        """As `split_with_sizes`.

        >>> import svod
        >>> [part.tolist() for part in svod.unsafe_split_with_sizes(svod.arange(3), [1, 2])]
        [[0], [1, 2]]
        """
    def unsqueeze(self, /, dim: builtins.int | None, *, axis: builtins.int | None = None) -> Tensor:
        """A new dimension of extent 1 at this position of the result."""
    def var(
        self,
        /,
        dim: _Axis = None,
        unbiased: builtins.bool | None = None,
        keepdim: builtins.bool = False,
        *,
        axis: _Axis = None,
        keepdims: builtins.bool = False,
        correction: builtins.float = 1.0,
        ddof: _Operand | None = None,
        dtype: _DTypeLike | None = None,
        where: _Operand | None = None,
    ) -> Tensor:
        """The variance along axes, the sum divided by the number of elements less `correction`, of those that `where`
        takes.

        What follows the axes goes by name: libraries have different arguments there. A flag in their place is
        PyTorch's
        `unbiased`.
        """
    def vdot(x1, x2: _Operand, /) -> Tensor:
        """The dot product of two vectors, of which the first is conjugated.

        >>> import svod
        >>> svod.vdot(svod.Tensor([1, 2]), svod.Tensor([3, 4])).item()
        11
        """
    def view_as(x, other: _Operand, /) -> Tensor:
        """The same elements in the shape of another tensor.

        >>> import svod
        >>> svod.arange(6).view_as(svod.ones(2, 3)).shape
        (2, 3)
        """
    def vsplit(x, indices_or_sections: builtins.int | Sequence[builtins.int], /) -> tuple[Tensor, ...]:
        """Split along the first dimension of two or more: into equal parts, or before indices.

        >>> import svod
        >>> [part.shape for part in svod.vsplit(svod.ones(4, 2), 2)]
        [(2, 2), (2, 2)]
        """
    def xlogy(x1, x2: Any, /) -> Tensor:
        """`x1 * log(x2)`, 0 where `x1` is 0, unless `x2` is NaN.

        >>> import svod
        >>> svod.xlogy(svod.Tensor([0.0, 1.0]), svod.Tensor([0.0, 1.0])).tolist()
        [0.0, 0.0]
        """
    def xlogy_(self, x2: Any, /) -> Self:
        """Becomes what `xlogy` makes of it."""
    def zero_(self, /) -> Self:
        """Becomes zeros."""

def _at_line(file: str | None, line: builtins.int) -> None: ...
def _enter_module(path: str) -> None: ...
def _leave_module() -> None: ...
def _serve() -> None:
    """Answers the requests of the process that started this one, until that ends."""

def arange(
    start: _Operand,
    stop: _Operand | None = None,
    step: _Operand | None = None,
    dtype: _DTypeLike | None = None,
    *,
    device: str | None = None,
    end: _Operand | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """The numbers from `start`, by default 0, before `stop`, in steps of `step`."""

def _same(some: list[Tensor], others: list[Tensor | builtins.int]) -> builtins.bool: ...
def _constants(tensors: Sequence[Tensor]) -> bytes | None: ...
def _with_constants(graph: Graph, inputs: Sequence[Tensor], values: Sequence[Tensor]) -> list[Tensor] | None: ...
def _with_values(graph: Graph, inputs: Sequence[Tensor], values: Sequence[Tensor]) -> list[Tensor] | None: ...
def _prepare_writing(
    tensors: Sequence[Tensor],
    inputs: Sequence[Tensor],
    written: Sequence[tuple[builtins.int, builtins.int]],
    *,
    config: PrepareConfig | None = None,
    **options: Any,
) -> ExecutionPlan: ...
def _take_written(tensors: Sequence[Tensor], values: Sequence[Tensor]) -> None: ...
def _after_fork(child: builtins.bool) -> None: ...
def _before_fork() -> None: ...
def _call(args: tuple[Any, ...], module: type) -> tuple[builtins.bytes, list[Any]] | None: ...
def _changed(guard: tuple[Any, ...]) -> list[tuple[Any, Any]]: ...
def _is_tracing() -> builtins.bool: ...
def is_grad_enabled() -> builtins.bool:
    """Whether what this thread computes remembers the tensors that require a gradient."""

def _set_grad_enabled(enabled: builtins.bool) -> builtins.bool: ...
def _stand_ins(values: Sequence[Tensor]) -> list[Tensor]: ...
def _variables(function: str, values: Sequence[Tensor]) -> list[Tensor]: ...
def _released(values: Sequence[Tensor], variables: Sequence[Tensor]) -> list[Tensor]: ...
def _pullback(
    function: str, values: Sequence[Tensor], cotangents: Sequence[Tensor | None], variables: Sequence[Tensor]
) -> list[Tensor]: ...
def _pushforward(
    function: str, values: Sequence[Tensor], variables: Sequence[Tensor], tangents: Sequence[Tensor]
) -> list[Tensor]: ...
def _watch(tensors: Sequence[Tensor]) -> list[Tensor]: ...
def _unwatch(tensors: Sequence[Tensor]) -> None: ...
def _batched(
    values: Sequence[Tensor], examples: Sequence[Tensor], batches: Sequence[Tensor]
) -> list[Tensor | None]: ...
def _checkpointed(name: str, value: Tensor, arguments: Sequence[Tensor]) -> Tensor: ...
def _may_be_differentiated(tensor: Tensor) -> builtins.bool: ...
def _with_derivative(
    name: str, value: Tensor, operands: Sequence[Tensor], function: Callable[[Tensor], list[Tensor | None]]
) -> Tensor: ...
def _with_derivatives(
    name: str,
    values: Sequence[Tensor],
    operands: Sequence[Tensor],
    function: Callable[[list[Tensor | None], list[Tensor], builtins.bool], list[Tensor | None]],
) -> list[Tensor]: ...
def _signature(arrays: Sequence[Any], open: Sequence[builtins.int]) -> str: ...
def _positions(some: Sequence[Tensor], among: Sequence[Tensor]) -> list[builtins.int | None]: ...
def _randint(
    low: builtins.int,
    high: builtins.int,
    shape: _Extent | Sequence[_Extent],
    *,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Integers uniformly distributed from `low` to before `high`."""

def _reach(
    roots: tuple[Any, ...],
    libraries: frozenset[str],
    packages: frozenset[str],
    written: set[tuple[builtins.int, Any]],
) -> tuple[bytes, list[Tensor], tuple[Any, ...]]: ...
def _unchanged(guard: tuple[Any, ...]) -> builtins.bool: ...
def _values_of(
    sizes: Sequence[Size], shapes: Sequence[tuple[Any, ...]], arrays: Sequence[Any]
) -> dict[str, builtins.int]: ...
def _custom(
    function: Callable[..., Any],
    name: str,
    operands: Sequence[_Operand],
    outputs: Sequence[tuple[Any, _DTypeLike]],
) -> list[Tensor]: ...
def _cond(
    condition: Tensor,
    operands: Sequence[Tensor],
    taken: Callable[[list[Tensor]], Sequence[Tensor]],
    other: Callable[[list[Tensor]], Sequence[Tensor]],
) -> list[Tensor]: ...
def _while_loop(
    init: Sequence[Tensor],
    names: Sequence[str],
    condition: Callable[[list[Tensor]], Tensor],
    body: Callable[[list[Tensor]], Sequence[Tensor]],
) -> list[Tensor]: ...
def _scan(
    init: Sequence[Tensor],
    xs: Sequence[Tensor],
    length: _Extent | None,
    backwards: builtins.bool,
    names: Sequence[str],
    body: Callable[[Size, list[Tensor], list[Tensor]], tuple[Sequence[Tensor], Sequence[Tensor]]],
) -> tuple[list[Tensor], list[Tensor]]: ...
def _iterate(
    start: builtins.int,
    stop: builtins.int,
    init: Sequence[Tensor],
    body: Callable[[Size, list[Tensor]], Sequence[Tensor]],
) -> list[Tensor]: ...
def caches() -> dict[str, builtins.int]:
    """Number of kernels, schedules and packed constants that are kept."""

def clear_caches() -> None:
    """Empties the caches in memory and gives freed memory back to the system; plans live on."""

def compile_times() -> dict[str, tuple[builtins.int, builtins.float]]:
    """Where compile time went in this process: of each stage that ran, how often and for how many
    seconds. Kernels compiled side by side add up.

    >>> import svod
    >>> (svod.arange(3) + 1).tolist()
    [1, 2, 3]
    >>> count, seconds = svod.compile_times()["lower"]
    >>> count > 0 and seconds > 0
    True
    """

def einsum(subscripts: builtins.str, *operands: _ArrayLike) -> Tensor:
    """Sums of products over named dimensions: `"ij,jk->ik"` is the matrix product.

    A letter names a dimension of each operand; equal letters have equal extents, and letters that
    the result lacks are summed over. `...` stands for dimensions without a letter, which broadcast.
    Without `->`, the result has the letters that occur once, in alphabetical order.
    """

def _tensor(x: _ArrayLike) -> Tensor: ...
def _template(name: str, function: Callable[..., Tensor], dtypes: list[DType]) -> Callable[..., Tensor] | None: ...
def _operands(*operands: _Operand) -> list[Tensor]: ...
def eye(
    n_rows: _Extent,
    n_cols: _Extent | None = None,
    k: builtins.int = 0,
    dtype: _DTypeLike | None = None,
    *,
    device: str | None = None,
    n: _Extent | None = None,
    m: _Extent | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Ones on a diagonal, `k` to the right of the main one, zeros elsewhere."""

def from_dlpack(x: Any, /, *, device: str | None = None, copy: builtins.bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array, by DLPack; a copy of it where the memory is not dense or the
    tensor is to be on another device, and with `copy=True`. What would have to be copied is an error with `copy=False`.

    As with `from_numpy`, what is written to the memory is seen by what is computed later.

    >>> import numpy as np, svod
    >>> svod.from_dlpack(np.arange(3.0)).tolist()
    [0.0, 1.0, 2.0]
    """

def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor over a NumPy array's own memory, without a copy.

    The array must be dense, row-major and of native byte order. What is written to it later is seen
    by what is computed later; it must not be written while something that reads it runs. A plan that was prepared
    before may have read it already: what changes between runs is an input.
    """

def empty(
    *sizes: _Extent | Sequence[_Extent] | _DTypeLike,
    shape: _Extent | Sequence[_Extent] | None = None,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    size: _Extent | Sequence[_Extent] | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Memory for a tensor of this shape, `float32` unless a type is given, whose elements are
    arbitrary. As input of a plan it says what runs are given.

    >>> import numpy as np, svod
    >>> n = svod.Variable("n", 1, 64)
    >>> x = svod.empty(n, 3)
    >>> plan = x.sum(1).prepare(inputs=[x])
    >>> plan.execute(np.ones((2, 3), np.float32))
    >>> plan.outputs[0].tolist()
    [3.0, 3.0]
    """

def full(
    shape: _Extent | Sequence[_Extent],
    fill_value: _Operand,
    dtype: _DTypeLike | None = None,
    *,
    device: str | None = None,
    size: _Extent | Sequence[_Extent] | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """One value everywhere, in its own type unless one is given."""

def get_rng_state() -> Tensor:
    """The state of the generator of random numbers, a tensor of 2 numbers, which a program saves to go on from later.
    In a function of `jit` it is that of each call.

    >>> import svod
    >>> state = svod.get_rng_state()
    >>> first = svod.rand(3)
    >>> svod.set_rng_state(state)
    >>> (svod.rand(3) == first).all().item()
    True
    """

def get_default_device() -> str:
    """The device of tensors that nothing else places.

    >>> import svod
    >>> svod.get_default_device()
    'CPU'
    """

def get_threads() -> builtins.int:
    """Number of threads of a run."""

def linspace(
    start: builtins.complex,
    stop: builtins.complex,
    num: _Extent = 50,
    *,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    endpoint: builtins.bool = True,
    end: builtins.complex | None = None,
    steps: _Extent | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """`num` numbers at equal distances from `start` to `stop`, both included, or without `endpoint` not the last."""

def load_safetensors(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The tensors of a safetensors file by name; their memory is the file's own pages."""

def manual_seed(seed: builtins.int) -> None:
    """Starts the default generator anew, so that what it draws can be repeated. A negative seed counts from 2**64."""

def measure_machine(*, forget: builtins.bool = False) -> dict[str, builtins.float]:
    """Measures how fast the machine is, in a second or two where nothing else runs: `flops`, operations on 32-bit
    floats a second, `bandwidth`, bytes a second to and from memory, and `noise`, the share by which times varied: of
    some 0.25 and more where the machine did other things. `ExecutionPlan.explain` then tells by these figures, in later
    processes too, until they are measured again or, with `forget`, given up for what is assumed of the machine."""

def devices() -> dict[str, dict[str, Any]]:
    """What devices there are, by their names: the CPU, and each GPU that this process may use, with their `name`,
    bytes of `memory` and number of `processors`, and of a GPU its compute `capability`. None of them is opened for it.
    Without a driver that works there are no GPUs; to use one says why.

    >>> import svod
    >>> sorted(svod.devices()["CPU"])
    ['memory', 'name', 'processors']
    """

def set_default_device(device: str | None) -> None:
    """Makes a device the one of what is made without one, in all threads: of data, constants and random numbers.
    None makes it that of `SVOD_DEVICE` again, or the CPU. Within a `PrepareConfig` with a device it is that.

    >>> import svod
    >>> svod.set_default_device("CPU:1")
    >>> svod.Tensor([1, 2]).device
    'CPU:1'
    >>> svod.set_default_device(None)
    """

def synchronize() -> None:
    """Waits for all work that was handed to devices: what fails in it fails here. To read a value waits by itself.

    >>> import svod
    >>> svod.synchronize()
    """

def memory(*, reset_peak: builtins.bool = False) -> dict[str, dict[str, builtins.int]]:
    """Bytes of memory of each device that is in use: `live`, held by tensors and plans; `cached`, freed
    and kept for reuse; `peak`, the most that was live at one time, which `reset_peak` begins anew after it is told.

    >>> import svod
    >>> sorted(svod.memory()["CPU"])
    ['cached', 'live', 'peak']
    """

def ones(
    *sizes: _Extent | Sequence[_Extent] | _DTypeLike,
    shape: _Extent | Sequence[_Extent] | None = None,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    size: _Extent | Sequence[_Extent] | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Ones, `float32` unless a type is given."""

def prepare(
    *tensors: Tensor,
    inputs: Sequence[Tensor] | Tensor | None = None,
    unused_inputs: builtins.bool = False,
    schedules: Mapping[builtins.int | str, _Schedules] | None = None,
    **options: Any,
) -> ExecutionPlan:
    """Prepares several tensors as one plan, shared work once. See `Tensor.prepare`."""

def rand(
    *shape: _Extent | Sequence[_Extent],
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    generator: Generator | None = None,
    size: _Extent | Sequence[_Extent] | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Uniformly distributed in [0, 1). The numbers are drawn when this is called: a plan has the same in each run, and
    so has a function of `jit` in each call, or a loop in each iteration, in which it is called.
    """

def randn(
    *shape: _Extent | Sequence[_Extent],
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    generator: Generator | None = None,
    size: _Extent | Sequence[_Extent] | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Normally distributed with mean 0 and deviation 1."""

def realize(*tensors: Tensor, **options: Any) -> None:
    """Computes several tensors at once, shared work once. `options` are those of `PrepareConfig`."""

def set_rng_state(state: _ArrayLike) -> None:
    """Has the generator of random numbers go on from a state that `get_rng_state` gave."""

def set_threads(threads: builtins.int) -> None:
    """Changes the number of threads of runs that begin from now on."""

@overload
def where(condition: _ArrayLike, x: _Operand, y: _Operand) -> Tensor: ...
@overload
def where(condition: _ArrayLike, x: None = None, y: None = None) -> tuple[Tensor, ...]: ...
def zeros(
    *sizes: _Extent | Sequence[_Extent] | _DTypeLike,
    shape: _Extent | Sequence[_Extent] | None = None,
    dtype: _DTypeLike | None = None,
    device: str | None = None,
    size: _Extent | Sequence[_Extent] | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """Zeros, `float32` unless a type is given."""

# Written by scripts/stubs.py, from here to the end of the file.

def abs(x: _Operand, /) -> Tensor:
    """`|x|`; wraps on integers."""

def absolute(x: _Operand, /) -> Tensor:
    """`|x|`; wraps on integers."""

def add(x1: _Operand, x2: _Operand, /, *, alpha: _Operand | None = None) -> Tensor:
    """Sum, of `alpha` times the second; logical or on bools."""

def all(
    x: _Operand,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
    where: _Operand | None = None,
) -> Tensor:
    """Whether all elements along axes are not zero, of those that `where` takes."""

def amax(
    x: _Operand,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
    initial: _Operand | None = None,
    where: _Operand | None = None,
) -> Tensor:
    """The maximum along axes, by default all: values, however the axes are named."""

def amin(
    x: _Operand,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
    initial: _Operand | None = None,
    where: _Operand | None = None,
) -> Tensor:
    """The minimum along axes, by default all: values, however the axes are named."""

def angle(x: _Operand, /) -> Tensor:
    """The angle of each complex number, from -π to π; of real ones 0 or π, by their sign."""

def any(
    x: _Operand,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
    where: _Operand | None = None,
) -> Tensor:
    """Whether an element along axes is not zero, of those that `where` takes."""

def arctan(x: _Operand, /) -> Tensor:
    """Arc tangent, in radians."""

def argmax(
    x: _Operand,
    /,
    axis: builtins.int | None = None,
    keepdims: builtins.bool = False,
    *,
    dim: builtins.int | None = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The first position of the maximum along an axis, by default of the flat tensor."""

def argmin(
    x: _Operand,
    /,
    axis: builtins.int | None = None,
    keepdims: builtins.bool = False,
    *,
    dim: builtins.int | None = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The first position of the minimum along an axis, by default of the flat tensor."""

def atan(x: _Operand, /) -> Tensor:
    """Arc tangent, in radians."""

def bitwise_and(x1: _Operand, x2: _Operand, /) -> Tensor:
    """Bitwise and; logical on bools."""

def bitwise_invert(x: _Operand, /) -> Tensor:
    """Each bit inverted; logical on bools."""

def bitwise_left_shift(x1: _Operand, x2: _Operand, /) -> Tensor:
    """Left shift; 0 when shifted by the width or more."""

def bitwise_not(x: _Operand, /) -> Tensor:
    """Each bit inverted; logical on bools."""

def bitwise_or(x1: _Operand, x2: _Operand, /) -> Tensor:
    """Bitwise or; logical on bools."""

def bitwise_right_shift(x1: _Operand, x2: _Operand, /) -> Tensor:
    """Right shift, arithmetic on signed types."""

def bitwise_xor(x1: _Operand, x2: _Operand, /) -> Tensor:
    """Bitwise exclusive or; logical on bools."""

def cat(tensors: Sequence[_ArrayLike], axis: builtins.int | None = 0, *, dim: builtins.int | None = None) -> Tensor:
    """The tensors one after the other along an axis."""

def ceil(x: _Operand, /) -> Tensor:
    """The smallest integer not below, in the same type."""

def complex(real: _Operand, imag: _Operand, /) -> Tensor:
    """Complex numbers of these real and imaginary parts."""

def conj(x: _Operand, /) -> Tensor:
    """The numbers with imaginary parts of the opposite sign."""

def contiguous(x: _Operand, /) -> Tensor:
    """The same value, dense in memory of its own once it is realized.

    >>> import svod
    >>> svod.contiguous(svod.ones(2, 3).T).shape
    (3, 2)
    """

def contiguous_backward(x: _Operand, /) -> Tensor:
    """The same value, whose gradient is made dense in memory of its own before it goes on."""

def cos(x: _Operand, /) -> Tensor:
    """Cosine of an angle in radians."""

def eq(x1: _Operand, x2: _Operand, /) -> Tensor:
    """`x == y`, false with NaN."""

def equal(x1: _Operand, x2: _Operand, /) -> Tensor:
    """`x == y`, false with NaN."""

def erf(x: _Operand, /) -> Tensor:
    """The error function."""

def exp(x: _Operand, /) -> Tensor:
    """Natural exponential."""

def exp2(x: _Operand, /) -> Tensor:
    """Exponential with base 2."""

def expm1(x: _Operand, /) -> Tensor:
    """`exp(x) - 1`, exactly of small `x` too."""

def floor(x: _Operand, /) -> Tensor:
    """The largest integer not above, in the same type."""

def floor_divide(x1: _Operand, x2: _Operand, /) -> Tensor:
    """Quotient rounded down; an integer divided by 0 gives 0."""

def ge(x1: _Operand, x2: _Operand, /) -> Tensor:
    """`x >= y`, false with NaN."""

def greater(x1: _Operand, x2: _Operand, /) -> Tensor:
    """`x > y`, false with NaN."""

def greater_equal(x1: _Operand, x2: _Operand, /) -> Tensor:
    """`x >= y`, false with NaN."""

def gt(x1: _Operand, x2: _Operand, /) -> Tensor:
    """`x > y`, false with NaN."""

def imag(x: _Operand, /) -> Tensor:
    """The imaginary parts; of real numbers 0."""

def is_complex(x: _Operand, /) -> builtins.bool:
    """Whether the elements are complex numbers."""

def isfinite(x: _Operand, /) -> Tensor:
    """Whether an element is neither infinite nor NaN."""

def isinf(x: _Operand, /) -> Tensor:
    """Whether an element is infinite."""

def isnan(x: _Operand, /) -> Tensor:
    """Whether an element is NaN."""

def le(x1: _Operand, x2: _Operand, /) -> Tensor:
    """`x <= y`, false with NaN."""

def less(x1: _Operand, x2: _Operand, /) -> Tensor:
    """`x < y`, false with NaN."""

def less_equal(x1: _Operand, x2: _Operand, /) -> Tensor:
    """`x <= y`, false with NaN."""

def log(x: _Operand, /) -> Tensor:
    """Natural logarithm."""

def log10(x: _Operand, /) -> Tensor:
    """Logarithm to base 10."""

def log1p(x: _Operand, /) -> Tensor:
    """`log(1 + x)`, exactly of small `x` too."""

def log2(x: _Operand, /) -> Tensor:
    """Logarithm to base 2."""

def logical_and(x1: _Operand, x2: _Operand, /) -> Tensor:
    """Whether both are not zero."""

def logical_not(x: _Operand, /) -> Tensor:
    """Whether an element is zero."""

def logical_or(x1: _Operand, x2: _Operand, /) -> Tensor:
    """Whether one is not zero."""

def logical_xor(x1: _Operand, x2: _Operand, /) -> Tensor:
    """Whether exactly one is not zero."""

def logsumexp(
    x: _Operand,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
    where: _Operand | None = None,
) -> Tensor:
    """`log(sum(exp(x)))` along axes, without overflow, of those elements that `where` takes."""

def lt(x1: _Operand, x2: _Operand, /) -> Tensor:
    """`x < y`, false with NaN."""

def max(
    x: _Operand,
    /,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
    *,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    initial: _Operand | None = None,
    where: _Operand | None = None,
) -> Any:
    """The maximum along axes, by default all; NaN where there is one.

    With `dim`, by name or position, PyTorch's pair of values and the first positions at which they are; with
    `axis`, or of several axes, values. With a tensor in its place, that of two elements.

    With `initial`, a number that is one of the elements too, and `where`, bools that say which elements are,
    values: NumPy's parameters.
    """

def maximum(x1: _Operand, x2: _Operand, /) -> Tensor:
    """The greater; NaN where one is."""

def mean(
    x: _Operand,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
    dtype: _DTypeLike | None = None,
    where: _Operand | None = None,
) -> Tensor:
    """The mean along axes, of those elements that `where` takes; of integers in the default float, unless a type is
    given.
    """

def min(
    x: _Operand,
    /,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
    *,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    initial: _Operand | None = None,
    where: _Operand | None = None,
) -> Any:
    """The minimum along axes, by default all; NaN where there is one.

    With `dim`, by name or position, PyTorch's pair of values and the first positions at which they are; with
    `axis`, or of several axes, values. With a tensor in its place, that of two elements.

    With `initial`, a number that is one of the elements too, and `where`, bools that say which elements are,
    values: NumPy's parameters.
    """

def minimum(x1: _Operand, x2: _Operand, /) -> Tensor:
    """The lesser; NaN where one is."""

def mul(x1: _Operand, x2: _Operand, /) -> Tensor:
    """Product; logical and on bools."""

def multiply(x1: _Operand, x2: _Operand, /) -> Tensor:
    """Product; logical and on bools."""

def ne(x1: _Operand, x2: _Operand, /) -> Tensor:
    """`x != y`, true with NaN."""

def neg(x: _Operand, /) -> Tensor:
    """`-x`; wraps on integers."""

def negative(x: _Operand, /) -> Tensor:
    """`-x`; wraps on integers."""

def not_equal(x1: _Operand, x2: _Operand, /) -> Tensor:
    """`x != y`, true with NaN."""

def polar(abs: _Operand, angle: _Operand, /) -> Tensor:
    """Complex numbers of these absolute values and angles.

    >>> import svod
    >>> svod.polar(2.0, svod.Tensor([0.0])).tolist()
    [(2+0j)]
    """

def pow(x1: _Operand, x2: _Operand, /) -> Tensor:
    """Power."""

def prod(
    x: _Operand,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    dtype: _DTypeLike | None = None,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
    initial: _Operand | None = None,
    where: _Operand | None = None,
) -> Tensor:
    """The product along axes, by default all; of unsigned integers in `uint64`, of others and bools in `int64`.

    It is multiplied by `initial`; elements where `where`, bools of a shape that expands to theirs, is false are
    left out.
    """

def real(x: _Operand, /) -> Tensor:
    """The real parts; of real numbers themselves."""

def reciprocal(x: _Operand, /) -> Tensor:
    """`1 / x`."""

def relu(x: _Operand, /) -> Tensor:
    """`max(x, 0)`."""

def remainder(x1: _Operand, x2: _Operand, /) -> Tensor:
    """Remainder of `floor_divide`, of the divisor's sign; by an integer 0 it is 0."""

def round(x: _Operand, /, decimals: builtins.int = 0) -> Tensor:
    """The nearest integer, ties to even, in the same type; with `decimals` so many places behind the point, or
    before.

    >>> import svod
    >>> svod.round(svod.Tensor([1234.5678]), decimals=-2).tolist()
    [1200.0]
    """

def rsqrt(x: _Operand, /) -> Tensor:
    """`1 / sqrt(x)`."""

def sigmoid(x: _Operand, /) -> Tensor:
    """`1 / (1 + exp(-x))`."""

def sign(x: _Operand, /) -> Tensor:
    """-1, 0 or 1; NaN is kept. Of complex numbers `x / |x|`."""

def silu(x: _Operand, /) -> Tensor:
    """`x * sigmoid(x)`."""

def sin(x: _Operand, /) -> Tensor:
    """Sine of an angle in radians."""

def softplus(x: _Operand, /) -> Tensor:
    """`log(1 + exp(x))`, without overflow."""

def sqrt(x: _Operand, /) -> Tensor:
    """Square root."""

def square(x: _Operand, /) -> Tensor:
    """`x * x`."""

def stack(tensors: Sequence[_ArrayLike], axis: builtins.int | None = 0, *, dim: builtins.int | None = None) -> Tensor:
    """The tensors, of equal shape, along a new dimension."""

def std(
    x: _Operand,
    /,
    axis: _Axis = None,
    unbiased: builtins.bool | None = None,
    keepdims: builtins.bool = False,
    *,
    correction: builtins.float = 0.0,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
    ddof: _Operand | None = None,
    dtype: _DTypeLike | None = None,
    where: _Operand | None = None,
) -> Tensor:
    """The standard deviation along axes; see `var`."""

def sub(x1: _Operand, x2: _Operand, /, *, alpha: _Operand | None = None) -> Tensor:
    """Difference, less `alpha` times the second."""

def subtract(x1: _Operand, x2: _Operand, /, *, alpha: _Operand | None = None) -> Tensor:
    """Difference, less `alpha` times the second."""

def sum(
    x: _Operand,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    dtype: _DTypeLike | None = None,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
    initial: _Operand | None = None,
    where: _Operand | None = None,
) -> Tensor:
    """The sum along axes, by default all; of unsigned integers in `uint64`, of others and bools in `int64`.

    `initial` is added to it; elements where `where`, bools of a shape that expands to theirs, is false are left
    out.
    """

def tan(x: _Operand, /) -> Tensor:
    """Tangent of an angle in radians."""

def tanh(x: _Operand, /) -> Tensor:
    """Hyperbolic tangent."""

def trunc(x: _Operand, /) -> Tensor:
    """The integer part, in the same type."""

def var(
    x: _Operand,
    /,
    axis: _Axis = None,
    unbiased: builtins.bool | None = None,
    keepdims: builtins.bool = False,
    *,
    correction: builtins.float = 0.0,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
    ddof: _Operand | None = None,
    dtype: _DTypeLike | None = None,
    where: _Operand | None = None,
) -> Tensor:
    """The variance along axes, the sum divided by the number of elements less `correction`, by default 0: that of
    the method
    is 1, as PyTorch's. A flag in the place of axes is PyTorch's `unbiased`. Of those elements that `where` takes.
    """

def view_as_complex(x: _Operand, /) -> Tensor:
    """The complex numbers whose parts are the last dimension, of 2.

    >>> import svod
    >>> svod.view_as_complex(svod.Tensor([[1.0, 2.0]])).tolist()
    [(1+2j)]
    """

def view_as_real(x: _Operand, /) -> Tensor:
    """The real and the imaginary part of each number, along a new last dimension of 2.

    >>> import svod
    >>> svod.view_as_real(svod.Tensor([1 + 2j])).tolist()
    [[1.0, 2.0]]
    """
