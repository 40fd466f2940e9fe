"""Functions that look at gradients, and change them."""

from __future__ import annotations

from collections.abc import Callable

from svod._gradient_hooks import hooked, hooked_after
from svod._hooks import HookHandle
from svod._svod import Tensor

__all__ = ["register_hook", "register_post_accumulate_grad_hook"]


def register_hook(x: Tensor, /, hook: Callable[[Tensor], Tensor | None]) -> HookHandle:
    """Has `hook(gradient)` called by each `backward` that reaches the tensor: it gives another gradient, or none to
    leave it as it is.

    Of a tensor that follows from others that is the gradient of all that is computed from it from now on, and what lies
    before it goes on with what the hook gave. Hooks are called in the order in which they came; the result takes this
    one off again. Under `jit` they are called while the function is traced.

    >>> import svod
    >>> w = svod.Tensor([1.0, 2.0]).requires_grad_()
    >>> handle = w.register_hook(lambda gradient: gradient.clamp(max=3.0))
    >>> (w * w).sum().backward()
    >>> w.grad.tolist()
    [2.0, 3.0]
    """
    return hooked(x, hook)


def register_post_accumulate_grad_hook(x: Tensor, /, hook: Callable[[Tensor], None]) -> HookHandle:
    """Has `hook(tensor)` called by each `backward` that has added to the `grad` of a tensor, which follows from no
    other. The result takes the hook off again.

    >>> import svod
    >>> w = svod.Tensor([1.0, 2.0]).requires_grad_()
    >>> handle = w.register_post_accumulate_grad_hook(lambda w: print(w.grad.tolist()))
    >>> (w * w).sum().backward()
    [2.0, 4.0]
    """
    return hooked_after(x, hook)
