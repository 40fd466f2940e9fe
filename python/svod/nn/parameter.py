"""Parameters by PyTorch's name."""

from __future__ import annotations

import inspect
from typing import Any

from svod._arguments import checked
from svod._svod import Tensor

__all__ = ["Parameter"]


class _Tensors(type):
    """The class of a class whose instances are tensors: any that is not computed from what requires a gradient."""

    @checked
    def __call__(cls, data: Tensor, requires_grad: bool = True) -> Tensor:
        made = data.detach() if isinstance(data, Tensor) else Tensor(data)
        return made.requires_grad_(requires_grad)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.is_leaf


# What errors call it.
inspect.unwrap(_Tensors.__call__).__qualname__ = "Parameter"


class Parameter(metaclass=_Tensors):
    """A tensor of these values that `backward` gathers the gradient by, unless `requires_grad` is false.

    In an attribute of a module any tensor is a parameter, and so it is to `isinstance`, unless it follows from others
    that require a gradient.

    >>> import svod
    >>> w = svod.nn.Parameter(svod.Tensor([1.0, 2.0]))
    >>> (w * w).sum().backward()
    >>> w.grad.tolist(), isinstance(w, svod.nn.Parameter), isinstance(w * w, svod.nn.Parameter)
    ([2.0, 4.0], True, False)
    """
