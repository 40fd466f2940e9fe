"""What a tensor is, by PyTorch's names, and the same tensor as that of another."""

from __future__ import annotations

from typing import Any

from svod._svod import DType, ShapeError, Tensor, UnsupportedError, zeros
from svod.library._axes import axis_of
from svod.library.dtypes import result_type

__all__ = [
    "__bytes__",
    "byte",
    "char",
    "cpu",
    "cuda",
    "dim_order",
    "element_size",
    "get_device",
    "is_conj",
    "is_contiguous",
    "is_floating_point",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_tensor",
    "ndimension",
    "nelement",
    "promote_types",
    "resolve_conj",
    "resolve_neg",
    "stride",
    "tobytes",
    "type_as",
    "view_as",
]


def __bytes__(x: Tensor, /) -> bytes:
    """The bytes of the elements, as `tobytes` has them.

    >>> import svod
    >>> bytes(svod.Tensor([1], dtype="int16"))
    b'\\x01\\x00'
    """
    return tobytes(x)


def byte(x: Tensor, /) -> Tensor:
    """As `uint8`.

    >>> import svod
    >>> svod.Tensor([1.5]).byte().tolist()
    [1]
    """
    return x.cast("uint8")


def char(x: Tensor, /) -> Tensor:
    """As `int8`.

    >>> import svod
    >>> svod.Tensor([-1.5]).char().tolist()
    [-1]
    """
    return x.cast("int8")


def cpu(x: Tensor, /) -> Tensor:
    """On the first CPU.

    >>> import svod
    >>> svod.ones(1).cpu().device
    'CPU'
    """
    return x.to("CPU")


def dim_order(x: Tensor, /) -> tuple[int, ...]:
    """The dimensions from the outermost in memory on: their order, as elements are always row-major.

    >>> import svod
    >>> svod.ones(2, 3).dim_order()
    (0, 1)
    """
    return tuple(range(x.ndim))


def cuda(x: Tensor, number: int = 0, /) -> Tensor:
    """On a GPU, the first one or that of this number.

    >>> import svod
    >>> svod.ones(1).cuda(99)
    Traceback (most recent call last):
    ...
    svod.DeviceError: ...
    """
    return x.to(f"CUDA:{number}")


def element_size(x: Tensor, /) -> int:
    """Bytes of an element.

    >>> import svod
    >>> svod.ones(1).element_size()
    4
    """
    return x.dtype.itemsize


def get_device(x: Tensor, /) -> int:
    """The number of the device among those of its kind; -1 on a CPU.

    >>> import svod
    >>> svod.get_device(svod.ones(1))
    -1
    """
    if isinstance(x.device, tuple):
        raise UnsupportedError(f"get_device: the tensor is spread over {x.device}")
    kind, _, number = x.device.partition(":")
    return -1 if kind == "CPU" else int(number or 0)


def is_conj(x: Tensor, /) -> bool:
    """False: the conjugate is a tensor of its own, not a view that says so.

    >>> import svod
    >>> svod.is_conj(svod.Tensor([1j]).conj())
    False
    """
    return False


def is_contiguous(x: Tensor, /) -> bool:
    """Whether the elements are dense and row-major, as those of a tensor always are when it is realized.

    >>> import svod
    >>> svod.ones(2, 3).T.is_contiguous()
    True
    """
    return True


def is_floating_point(x: Tensor, /) -> bool:
    """Whether the type is one of floats.

    >>> import svod
    >>> svod.is_floating_point(svod.ones(1))
    True
    """
    return x.dtype.is_floating_point


def is_neg(x: Tensor, /) -> bool:
    """False: the negative is a tensor of its own, not a view that says so.

    >>> import svod
    >>> svod.is_neg(-svod.ones(1))
    False
    """
    return False


def is_nonzero(x: Tensor, /) -> bool:
    """Whether the only element is not zero; computed now.

    >>> import svod
    >>> svod.is_nonzero(svod.Tensor([0.5]))
    True
    """
    if x.numel() != 1:
        raise ShapeError(f"is_nonzero: a tensor of one element is expected, not shape {x.shape}")
    return bool((x != 0).item())


def is_same_size(x: Tensor, other: Tensor, /) -> bool:
    """Whether two shapes are equal.

    >>> import svod
    >>> svod.is_same_size(svod.ones(2), svod.ones(2, 1))
    False
    """
    return x.shape == other.shape


def is_signed(x: Tensor, /) -> bool:
    """Whether the type has negative numbers.

    >>> import svod
    >>> svod.is_signed(svod.ones(1, dtype="uint8"))
    False
    """
    return x.dtype != "bool" and not x.dtype.name.startswith("uint")


def is_tensor(obj: Any, /) -> bool:
    """Whether an object is a tensor.

    >>> import svod
    >>> svod.is_tensor([1.0])
    False
    """
    return isinstance(obj, Tensor)


def ndimension(x: Tensor, /) -> int:
    """The number of dimensions.

    >>> import svod
    >>> svod.ones(2, 3).ndimension()
    2
    """
    return x.ndim


def nelement(x: Tensor, /) -> Any:
    """The number of elements.

    >>> import svod
    >>> svod.ones(2, 3).nelement()
    6
    """
    return x.numel()


def promote_types(type1: Any, type2: Any, /) -> DType:
    """The type in which tensors of two types meet.

    >>> import svod
    >>> svod.promote_types(svod.int32, svod.float32)
    svod.float32
    """
    return result_type(zeros(0, dtype=type1), zeros(0, dtype=type2))


def resolve_conj(x: Tensor, /) -> Tensor:
    """The tensor itself: see `is_conj`.

    >>> import svod
    >>> svod.resolve_conj(svod.Tensor([1j]).conj()).tolist()
    [-1j]
    """
    return x


def resolve_neg(x: Tensor, /) -> Tensor:
    """The tensor itself: see `is_neg`.

    >>> import svod
    >>> svod.resolve_neg(svod.Tensor([1])).tolist()
    [1]
    """
    return x


def stride(x: Tensor, /, axis: int | None = None) -> Any:
    """How many elements are between neighbours along each dimension, or one, of dense, row-major memory.

    >>> import svod
    >>> svod.ones(2, 3, 4).stride()
    (12, 4, 1)
    """
    strides: list[Any] = []
    for extent in reversed(x.shape[1:]):
        # As if there were one where there is none, so that strides tell dimensions apart.
        strides.append((1 if isinstance(extent, int) and extent == 0 else extent) * (strides[-1] if strides else 1))
    steps = (*reversed(strides), 1)[-x.ndim :] if x.ndim else ()
    if axis is None:
        return steps
    return steps[axis_of("stride", axis, x.ndim)]


def tobytes(x: Tensor, /) -> bytes:
    """The bytes of the elements, in row-major order; computed now. `bytes(x)` has them too.

    >>> import svod
    >>> svod.Tensor([1, 258], dtype="int16").tobytes()
    b'\\x01\\x00\\x02\\x01'
    """
    return x.detach().numpy().tobytes()


def type_as(x: Tensor, other: Tensor, /) -> Tensor:
    """In the type of another tensor.

    >>> import svod
    >>> svod.Tensor([1]).type_as(svod.ones(1)).dtype
    svod.float32
    """
    return x.cast(other.dtype)


def view_as(x: Tensor, other: Tensor, /) -> Tensor:
    """The same elements in the shape of another tensor.

    >>> import svod
    >>> svod.arange(6).view_as(svod.ones(2, 3)).shape
    (2, 3)
    """
    return x.reshape(other.shape)
