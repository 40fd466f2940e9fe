"""Parameters by PyTorch's name."""

from __future__ import annotations

from svod._arguments import checked
from svod._svod import Tensor

__all__ = ["Parameter"]


@checked
def Parameter(data: Tensor, requires_grad: bool = True) -> Tensor:
    """A tensor of these values that `backward` gathers the gradient by, unless `requires_grad` is false.

    In an attribute of a module any tensor is a parameter.

    >>> import svod
    >>> w = svod.nn.Parameter(svod.Tensor([1.0, 2.0]))
    >>> (w * w).sum().backward()
    >>> w.grad.tolist()
    [2.0, 4.0]
    """
    made = data.detach() if isinstance(data, Tensor) else Tensor(data)
    return made.requires_grad_(requires_grad)
