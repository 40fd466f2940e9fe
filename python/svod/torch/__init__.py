"""`torch.compile(model, backend="svod")`: PyTorch's models, compiled by svod.

>>> import pytest
>>> torch = pytest.importorskip("torch")
>>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))
>>> compiled = torch.compile(model, backend="svod")
>>> x = torch.randn(3, 4)
>>> torch.allclose(compiled(x), model(x), atol=1e-6)
True

PyTorch traces the model (`torch._dynamo`), differentiates it where gradients are wanted (`torch._functorch`), and gives
graphs of its core operations, of which each becomes one plan. Parameters, arguments and results keep their memory:
nothing is copied between the two. Sizes that PyTorch traces as symbols are variables of the plan. Random numbers follow
`torch.manual_seed`, with other values than eager mode's.

What svod does not have runs in PyTorch, between plans; `report` lists it. `SVOD_TORCH_STRICT=1` makes it an error.
Options, `torch.compile(model, backend="svod", options={...})`, are those of `svod.PrepareConfig`.
"""

from __future__ import annotations

from svod.torch._backend import compile_graph
from svod.torch._report import Fallback, report, reset

__all__ = ["Fallback", "compile_graph", "report", "reset"]
