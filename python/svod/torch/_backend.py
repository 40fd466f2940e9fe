"""The backend: PyTorch's graph in, something to call out."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._guards import TracingContext
from torch.fx import GraphModule

import svod
from svod.torch._interpreter import outputs_of
from svod.torch._split import split

# Operations of the core that are compositions of others to svod.
_TAKEN_APART = [
    torch.ops.aten.upsample_nearest1d,
    torch.ops.aten.upsample_nearest2d,
    torch.ops.aten.upsample_nearest3d,
    torch.ops.aten.upsample_linear1d,
    torch.ops.aten.upsample_bilinear2d,
    torch.ops.aten.upsample_trilinear3d,
    torch.ops.aten.upsample_bicubic2d,
    torch.ops.aten.grid_sampler_2d,
    torch.ops.aten.reflection_pad1d,
    torch.ops.aten.reflection_pad2d,
    torch.ops.aten.replication_pad1d,
    torch.ops.aten.replication_pad2d,
    torch.ops.aten.im2col,
    torch.ops.aten.col2im,
]


# Those that are not: attention, since taken apart its backward pass gets other statistics than it expects; and what
# adds to rows, or writes them, by indices, of which negative ones would then count from the end, where they are errors.
_WHOLE = [
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu,
    torch.ops.aten.index_add,
    torch.ops.aten.index_copy,
]


def _decompositions() -> dict[Any, Callable[..., Any]]:
    """PyTorch's own, to its core operations, without those that would take apart what has to stay whole."""
    table: dict[Any, Callable[..., Any]] = dict(core_aten_decompositions())
    table.update(get_decompositions(_TAKEN_APART))
    for packet in _WHOLE:
        for overload in packet.overloads():
            table.pop(getattr(packet, overload), None)
    return table


def compile_graph(
    module: GraphModule,
    example_inputs: Sequence[Any],
    *,
    options: Mapping[str, Any] | None = None,
    mode: str | None = None,
) -> Callable[..., Any]:
    """Compiles what `torch.compile` has traced, forward and, where gradients are wanted, backward.

    `options` are those of `svod.PrepareConfig`; a `mode` of PyTorch's own backends changes nothing.
    """
    config = svod.PrepareConfig(**options) if options else None

    def forward(graph: GraphModule, inputs: Sequence[Any]) -> Any:
        # Behind what is returned is what the backward pass wants, which nobody else may write.
        context = TracingContext.try_get()
        known = context.fw_metadata if context is not None else None
        return split(graph, config, _is_strict(), 0 if known is None else known.num_forward_returns)

    def backward(graph: GraphModule, inputs: Sequence[Any]) -> Any:
        return split(graph, config, _is_strict())

    def inference(graph: GraphModule, inputs: Sequence[Any]) -> Any:
        return split(graph, config, _is_strict(), len(outputs_of(graph.graph)))

    backend = aot_autograd(
        fw_compiler=forward,
        bw_compiler=backward,
        inference_compiler=inference,
        decompositions=_decompositions(),
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=False,
    )
    result: Callable[..., Any] = backend(module, example_inputs)
    return result


def _is_strict() -> bool:
    return os.environ.get("SVOD_TORCH_STRICT", "") not in ("", "0")
