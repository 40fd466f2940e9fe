"""A call that works of every public function, method, layer and optimizer: its arguments are there to be replaced.

A line is a call. Of words in braces, one after the other takes the place of all.
"""

from __future__ import annotations

import ast
import inspect
import re
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import svod
import svod.nn.functional as F
from svod import fft, linalg, nn, optim
from svod.nn import init, utils
from svod.optim import lr_scheduler


def numbers(*shape: int, dtype: str = "float32") -> svod.Tensor:
    return svod.Tensor((np.arange(np.prod(shape, dtype=int)).reshape(shape) % 3 / 4).astype(dtype))


def whole(*values: Any) -> svod.Tensor:
    return svod.Tensor(np.array(values))


def _plan() -> svod.ExecutionPlan:
    n = svod.Variable("n", 1, 8)
    rows = svod.empty(n, 2)
    return (rows * 2).sum(0).prepare(inputs=[rows])


def _trained() -> svod.Tensor:
    weight = svod.ones(2, 2).requires_grad_()
    (weight * 2).sum().backward()
    return weight


def _loss() -> svod.Tensor:
    return (svod.ones(2).requires_grad_() * 2).sum()


def _square(a: svod.Tensor) -> svod.Tensor:
    return svod.sum(svod.square(a))


MADE: dict[str, Callable[[], Any]] = {
    "x": lambda: numbers(3, 3),
    "y": lambda: numbers(3, 3) + 1,
    "i": lambda: numbers(3, 3).cast("int64"),
    "b": lambda: numbers(3, 3) > 0,
    "v": lambda: numbers(3),
    "w": lambda: svod.ones(3),
    "square_matrix": lambda: svod.Tensor([[4.0, 1.0, 0.0], [1.0, 5.0, 2.0], [0.0, 2.0, 6.0]]),
    "line": lambda: numbers(1, 4, 6),
    "image": lambda: numbers(1, 4, 6, 6),
    "volume": lambda: numbers(1, 4, 6, 6, 6),
    "heads": lambda: numbers(1, 2, 3, 4),
    "sequence": lambda: numbers(3, 2, 4),
    "ids": lambda: whole([0, 1], [2, 0]),
    "labels": lambda: whole(0, 1, 2),
    "rows": lambda: np.ones((3, 2), np.float32),
    "plan": _plan,
    "n": lambda: svod.Variable("n", 1, 8),
    "square": lambda: _square,
    "loss": _loss,
    "weight": _trained,
    "linear": lambda: nn.Linear(3, 3),
    "norm": lambda: nn.BatchNorm1d(3),
    "sgd": lambda: optim.SGD([_trained()], lr=0.1),
    "jitted": lambda: svod.jit(_square),
    "layer": lambda: nn.TransformerEncoderLayer(4, 2, 8),
    "graph": lambda: svod.Graph(numbers(2) + 1),
    "generator": lambda: svod.Generator(3),
}

TEXT = """
svod.{abs absolute ceil contiguous contiguous_backward cos erf exp exp2 floor isfinite isinf isnan log log2}(x)
svod.{logical_not neg negative reciprocal relu round rsqrt sigmoid sign silu sin softplus sqrt square tan tanh trunc}(x)
svod.{nonzero unique_values matrix_transpose}(x)
svod.{bitwise_invert bitwise_not}(i)
x.{abs absolute ceil contiguous contiguous_backward cos erf exp exp2 floor isfinite isinf isnan log log2}()
x.{logical_not neg negative reciprocal relu round rsqrt sigmoid sign silu sin softplus sqrt square tan tanh trunc}()
x.{abs_ ceil_ exp_ floor_ log_ neg_ reciprocal_ relu_ round_ sigmoid_ sqrt_ tanh_ zero_}()
x.{bfloat16 bool clone detach dim double float half int long numel numpy ones_like short t tolist zeros_like graph}()
i.{bitwise_invert bitwise_not unique}()
svod.sum(x).item()
svod.{add divide eq equal floor_divide ge greater greater_equal gt le less less_equal logical_and logical_or}(x, y)
svod.{logical_xor lt matmul maximum minimum mul multiply ne not_equal pow remainder sub subtract}(x, y)
svod.{bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor}(i, i)
x.{add divide eq equal floor_divide ge greater greater_equal gt le less less_equal logical_and logical_or}(y)
x.{logical_xor lt matmul maximum minimum mul multiply ne not_equal pow remainder sub subtract}(y)
x.{add_ div_ floor_divide_ mul_ pow_ remainder_ sub_}(y)
x.{assign copy_}(y)
x.{fill_ full_like}(0.5)
i.{bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor}(i)
x.div(y, rounding_mode="floor")
x.{astype cast type}("float64")
svod.astype(x, "float64")
x.bitcast("int32")
x.{clamp clamp_ clip}(0.0, 1.0)
svod.clip(x, 0.0, 1.0)
x.lerp(y, 0.5)
svod.copysign(x, y)
x.{copysign copysign_}(y)
svod.{positive signbit}(x)
x.{positive signbit}()
svod.diff(x, axis=0, n=1, prepend=x, append=y)
x.diff(axis=0, n=1, prepend=x, append=y)
x.where(b, y)
svod.where(b, x, y)
x.masked_fill(b, 1.0)
x.masked_select(b)
svod.{all any amax amin max mean min logsumexp}(x, axis=0, keepdims=True)
svod.{argmax argmin}(x, axis=0, keepdims=True)
svod.{sum prod}(x, axis=0, dtype="float64", keepdims=True)
svod.{std var}(x, axis=0, correction=1.0, keepdims=True)
x.{all any amax amin max mean min logsumexp argmax argmin median}(0, True)
x.{sum prod}(0, True, dtype="float64")
x.{std var}(0, correction=1.0, keepdim=True)
x.norm(2.0, 0, True)
x.normalize(2.0, 1, 1e-12)
x.kthvalue(1, 0, True)
x.{cummax cummin softmax log_softmax}(0)
x.{cumprod cumsum}(0, dtype="float64")
svod.{cumulative_prod cumulative_sum}(x, axis=0, dtype=svod.float64)
x.argsort(0, True, stable=True)
x.sort(0, True, stable=True)
svod.{argsort sort}(x, axis=0, descending=True, stable=True)
x.topk(2, 0, True, sorted=True)
v.searchsorted(x, right=True)
svod.searchsorted(v, v, side="left", sorter=labels)
labels.bincount(minlength=3)
i.one_hot(4)
x.nonzero(as_tuple=True)
svod.cat([x, y], 0)
svod.concat([x, y], axis=0)
svod.stack([x, y], 0)
svod.einsum("ij,jk->ik", x, y)
x.dot(y)
v.{dot outer}(v)
x.linear(y, v)
x.embedding(ids)
x.{broadcast_to expand}(2, 3, 3)
x.{reshape view}(9)
x.repeat(2, 1)
x.permute(1, 0)
x.flatten(0, 1)
x.flip(0)
x.movedim(0, 1)
x.swapaxes(0, 1)
x.transpose(0, 1)
x.squeeze(0)
x.unsqueeze(0)
x.unflatten(0, [3, 1])
x.unfold(0, 2, 1)
x.narrow(0, 0, 2)
x.shrink([(0, 1), (0, 2)])
x.pad([(1, 1), (0, 1)], 0.0)
x.roll(1, 0)
x.repeat_interleave(2, 0)
x.chunk(2, 0)
x.split(2, 0)
x.{tril triu}(0)
x.take(labels, 0)
x.take_along_dim(i, 0)
x.gather(0, i)
x.index_select(0, labels)
x.{index_add index_copy}(0, labels, y)
x.{scatter scatter_add}(0, i, y)
x.scatter_reduce(0, i, y, "sum", include_self=True)
svod.{broadcast_to reshape}(x, (1, 3, 3))
svod.expand_dims(x, 0)
svod.flip(x, axis=0)
svod.permute_dims(x, (1, 0))
svod.roll(x, 1, axis=0)
svod.squeeze(svod.ones(1, 2), 0)
svod.take(x, labels, axis=0)
svod.take_along_axis(x, i, 0)
svod.{tril triu}(x, k=0)
svod.full_like(x, 1.0, dtype="float32", device="CPU")
svod.{ones_like zeros_like}(x, dtype="float32", device="CPU")
svod.asarray([1.0], dtype="float32", device="CPU")
svod.Tensor([1.0], "float32", "CPU")
svod.arange(0, 8, 2, dtype="int64", device="CPU")
svod.{empty ones rand randn zeros}(2, 3, dtype="float32", device="CPU")
svod.eye(2, 3, dtype="float32", device="CPU")
svod.full((2, 3), 1.0, dtype="float32", device="CPU")
svod.linspace(0.0, 1.0, 5, dtype="float32", device="CPU")
svod.randint(0, 5, (2, 3), dtype="int64", device="CPU")
svod.manual_seed(1)
svod.Generator(1)
generator.manual_seed(1)
generator.set_state(generator.get_state())
svod.{normal uniform}((2, 3), 0.0, 1.0, dtype="float64", device="CPU", generator=generator)
svod.exponential((2, 3), 1.0, dtype="float64", device="CPU", generator=generator)
svod.truncated_normal((2, 3), -1.0, 1.0, mean=1.0, std=2.0, dtype="float64", generator=generator)
svod.{gamma beta}(1.0, 2.0, (2, 3), dtype="float64", generator=generator)
linalg.{cholesky svd qr eigh eig lu det inv slogdet pinv svdvals eigvals eigvalsh}(square_matrix)
linalg.cholesky(square_matrix, upper=True)
linalg.qr(square_matrix, mode="complete")
linalg.svd(square_matrix, full_matrices=False)
linalg.{eigh eigvalsh}(square_matrix, UPLO="U")
linalg.{matrix_rank pinv}(square_matrix, rtol=0.1)
linalg.solve(square_matrix, v)
linalg.lstsq(square_matrix, v, rtol=0.1)
linalg.solve_triangular(square_matrix, v, upper=True, unitriangular=True)
linalg.cond(square_matrix, p=1)
linalg.{expm matrix_exp matrix_transpose}(square_matrix)
linalg.matrix_power(square_matrix, 3)
linalg.matrix_norm(square_matrix, ord=1, keepdims=True)
linalg.vector_norm(x, ord=2, axis=0, keepdims=True)
linalg.norm(x, ord=1, axis=0, keepdims=True)
linalg.multi_dot([x, y, v])
linalg.cross(x, y, axis=-1)
linalg.diagonal(x, offset=1)
linalg.trace(x, offset=1, dtype="float64")
linalg.{outer matmul}(v, w)
linalg.tensordot(x, y, axes=1)
linalg.vecdot(x, y, axis=-1)
fft.{fft ifft rfft ihfft irfft hfft}(x, 4, -1, "ortho")
fft.{fftn ifftn rfftn irfftn fft2 ifft2 rfft2 irfft2}(x, (4, 4), (0, 1), "ortho")
fft.{fftfreq rfftfreq}(4, 1.0, dtype="float64", device="CPU")
fft.{fftshift ifftshift}(x, (0, 1))
svod.{rand_like randn_like}(x, generator=generator)
svod.randint_like(x, 0, 3, generator=generator)
svod.randperm(3, generator=generator)
svod.permutation(x, axis=0, generator=generator)
svod.poisson(x, (3, 3), generator=generator)
svod.bernoulli(x, generator=generator)
svod.multinomial(v, 1, replacement=True, generator=generator)
svod.categorical(x, (3,), axis=-1, generator=generator)
svod.{atan2 copysign hypot logaddexp nextafter xlogy divide}(x, y)
svod.{acos acosh asin asinh atanh cosh sinh digamma erfc erfinv i0 lgamma signbit positive}(x)
svod.{ones_like zeros_like empty_like}(x, dtype="int64", device="CPU")
svod.full_like(x, 3, dtype="int64", device="CPU")
svod.asarray(rows, dtype="float64", device="CPU", copy=True)
svod.meshgrid(v, w, indexing="ij")
svod.{tril triu}(x, k=1)
svod.{can_cast}("int32", "float64")
svod.{finfo}("float32")
svod.iinfo("int8")
svod.isdtype(svod.float32, "integral")
svod.result_type(x, i, svod.int8)
svod.astype(x, "int64", copy=True, device="CPU")
svod.broadcast_arrays(x, v)
svod.broadcast_shapes((3, 1), (1, 4))
svod.broadcast_to(v, (3, 3))
svod.clip(x, 0, 1)
svod.concat([x, y], axis=0)
svod.diff(x, axis=0, n=1, prepend=x, append=y)
svod.expand_dims(x, axis=0)
svod.flip(x, axis=0)
svod.matmul(x, y)
svod.matrix_transpose(x)
svod.moveaxis(x, 0, 1)
svod.permute_dims(x, (1, 0))
svod.repeat(x, 2, axis=0)
svod.reshape(x, (9,), copy=True)
svod.roll(x, 1, axis=0)
svod.squeeze(line, axis=0)
svod.tile(x, (2, 1))
svod.unstack(x, axis=0)
svod.tensordot(x, y, axes=1)
svod.vecdot(x, y, axis=-1)
svod.{argsort sort}(x, axis=-1, descending=True, stable=True)
svod.count_nonzero(x, axis=0, keepdims=True)
svod.nonzero(x)
svod.searchsorted(v, x, side="left", sorter=labels)
svod.take(x, labels, axis=0)
svod.take_along_axis(x, i, axis=0)
svod.isin(x, v, invert=True)
svod.{unique_all unique_counts unique_inverse unique_values}(x)
svod.{cumulative_prod cumulative_sum}(x, axis=0, dtype="float64", include_initial=True)
svod.from_dlpack(rows)
svod.from_numpy(rows)
x.adaptive_avg_pool((2, 2))
line.{adaptive_avg_pool1d}(2)
image.{adaptive_avg_pool2d}(2)
volume.{adaptive_avg_pool3d}(2)
line.avg_pool1d(2, 2, 1, True, True, 1)
image.{avg_pool avg_pool2d}((2, 2), 2, 1, True, True, 1)
volume.avg_pool3d(2, 2, 1, True, True, 1)
line.max_pool1d(2, 2, 1, 1, True)
image.{max_pool max_pool2d}((2, 2), 2, 1, 1, True)
volume.max_pool3d(2, 2, 1, 1, True)
line.conv1d(numbers(2, 2, 3), numbers(2), 1, 1, 1, 2)
image.{conv conv2d}(numbers(2, 2, 3, 3), numbers(2), 1, 1, 1, 2)
volume.conv3d(numbers(2, 2, 3, 3, 3), numbers(2), 1, 1, 1, 2)
line.conv_transpose1d(numbers(4, 1, 3), numbers(2), 2, 1, 1, 2, 1)
image.{conv_transpose conv_transpose2d}(numbers(4, 1, 3, 3), numbers(2), 2, 1, 1, 2, 1)
volume.conv_transpose3d(numbers(4, 1, 3, 3, 3), numbers(2), 2, 1, 1, 2, 1)
image.im2col((2, 2), 1, 1, 1)
line.batch_norm(svod.zeros(4), svod.ones(4), svod.ones(4), svod.zeros(4), 1e-5)
line.group_norm(2, svod.ones(4), svod.zeros(4), 1e-5)
line.instance_norm(svod.ones(4), svod.zeros(4), 1e-5)
x.layer_norm(w, w, 1e-5)
x.rms_norm(w, 1e-6)
x.gelu("tanh")
x.leaky_relu(0.1)
heads.scaled_dot_product_attention(heads, heads, numbers(3, 3), is_causal=False, scale=1.0, enable_gqa=False)
x.to("CPU", dtype="float64")
x.shard(["CPU"], 0)
x.size(0)
x.requires_grad_(False)
loss.backward(svod.ones(()), retain_graph=True, create_graph=False)
loss.gradient(svod.ones(2), cotangent=svod.ones(()))
weight.retain_grad()
x.{relu neg}().prepare([x], unused_inputs=True, schedules={})
svod.prepare(x + 1, inputs=[x], unused_inputs=True, schedules={}, threads=1, planner="arena")
svod.realize(x + 1, threads=1)
x.realize(threads=1)
svod.PrepareConfig(threads=1, planner="arena", device="CPU", strategy="heuristic")
svod.Variable("n", 1, 8)
svod.Schedule("")
svod.Graph(x)
svod.Graph.parse(str(graph), graph.leaves)
svod.custom(np.sort, x, shape=(3, 3), dtype="float32", name="sort")
svod.iterate(3, lambda i, a: a + i, x)
svod.jit(square, shapes={"a": (n, 2)}, max_traces=3, config=None)
svod.{grad value_and_grad}(square, 0, has_aux=False)
svod.{grad hessian jacobian value_and_grad}(square, 0)(v)
svod.{hessian jacobian}(square, 0)
svod.vmap(square, 0, 0)
svod.{complex polar}(x, x)
svod.set_rng_state(svod.get_rng_state())
svod.jvp(square, (v,), (v,))
svod.vjp(square, v)
svod.{checkpoint}(square)
svod.{custom_gradient}(square)
svod.stop_gradient(x)
svod.set_grad_enabled(True)
svod.set_threads(svod.get_threads())
svod.strict(False)
svod.detect_nan(False)
svod.target("x86-64-v3")
svod.memory(reset_peak=False)
plan.execute(rows, n=3)
plan.{run execute_profiled}(rows, n=3)
plan.explain(0)
plan.read_buffer(0)
plan.{analysis instance release_all release_intermediates}()
plan.inputs[0].copy_(rows)
n.bind(3)
jitted.{plan lower}(x)
jitted.clear()
F.{hardsigmoid hardswish logsigmoid mish relu relu6 selu sigmoid silu softsign tanh tanhshrink}(x)
F.{celu elu}(x, 0.5)
F.gelu(x, "tanh")
F.glu(image, 1)
F.{hardshrink softshrink}(x, 0.5)
F.hardtanh(x, -1.0, 1.0)
F.leaky_relu(x, 0.1)
F.{log_softmax softmax softmin}(x, 0, dtype="float64")
F.prelu(x, w)
F.softplus(x, 1.0, 20.0)
F.threshold(x, 0.5, 1.0)
F.ctc_loss(numbers(5, 2, 4), whole([1, 2], [2, 1]), [5, 5], [2, 2], 0, "mean", False)
F.{alpha_dropout dropout}(x, 0.5, True)
F.dropout1d(line, 0.5, True)
F.dropout2d(image, 0.5, True)
F.dropout3d(volume, 0.5, True)
F.{adaptive_avg_pool1d adaptive_max_pool1d}(line, 2)
F.{adaptive_avg_pool2d adaptive_max_pool2d}(image, 2)
F.{adaptive_avg_pool3d adaptive_max_pool3d}(volume, 2)
F.adaptive_avg_pool(image, (2, 2))
F.avg_pool1d(line, 2, 2, 1, True, True)
F.avg_pool2d(image, 2, 2, 1, True, True)
F.avg_pool3d(volume, 2, 2, 1, True, True)
F.avg_pool(image, (2, 2), 2, 1, True, True)
F.max_pool1d(line, 2, 2, 1, 1, True)
F.max_pool2d(image, 2, 2, 1, 1, True)
F.max_pool3d(volume, 2, 2, 1, 1, True)
F.max_pool(image, (2, 2), 2, 1, 1, True)
F.batch_norm(line, svod.zeros(4), svod.ones(4), svod.ones(4), svod.zeros(4), True, 0.1, 1e-5)
F.instance_norm(line, svod.zeros(4), svod.ones(4), svod.ones(4), svod.zeros(4), True, 0.1, 1e-5)
F.group_norm(line, 2, svod.ones(4), svod.zeros(4), 1e-5)
F.layer_norm(x, (3,), w, w, 1e-5)
F.rms_norm(x, (3,), w, 1e-5)
F.normalize(x, 2.0, 1, 1e-12)
F.bilinear(x, y, numbers(2, 3, 3), numbers(2))
F.linear(x, y, w)
F.conv1d(line, numbers(2, 2, 3), numbers(2), 1, 1, 1, 2)
F.{conv conv2d}(image, numbers(2, 2, 3, 3), numbers(2), 1, 1, 1, 2)
F.conv3d(volume, numbers(2, 2, 3, 3, 3), numbers(2), 1, 1, 1, 2)
F.conv_transpose1d(line, numbers(4, 1, 3), numbers(2), 2, 1, 1, 2, 1)
F.{conv_transpose conv_transpose2d}(image, numbers(4, 1, 3, 3), numbers(2), 2, 1, 1, 2, 1)
F.conv_transpose3d(volume, numbers(4, 1, 3, 3, 3), numbers(2), 2, 1, 1, 2, 1)
F.embedding(ids, x, 0)
F.embedding_bag(ids, x, mode="sum", per_sample_weights=numbers(2, 2), padding_idx=0)
F.mean_pool(sequence, svod.ones(3, 2))
F.scaled_dot_product_attention(heads, heads, heads, numbers(3, 3), 0.1, False, 1.0, False)
F.unfold(image, 2, 1, 1, 1)
F.{binary_cross_entropy}(x, b.float(), y)
F.binary_cross_entropy_with_logits(x, b.float(), y, reduction="sum", pos_weight=w)
F.cosine_embedding_loss(x, y, w, 0.1, reduction="sum")
F.cosine_similarity(x, y, 1, 1e-8)
F.{cross_entropy}(x, labels, w, ignore_index=-100, reduction="sum", label_smoothing=0.1)
F.nll_loss(x, labels, w, ignore_index=-100, reduction="sum")
F.gaussian_nll_loss(x, y, 1.0, True, 1e-6, "sum")
F.hinge_embedding_loss(x, y, 1.0, reduction="sum")
F.huber_loss(x, y, "sum", 1.0)
F.kl_div(x, y, reduction="sum", log_target=True)
F.{l1_loss mse_loss soft_margin_loss}(x, y, reduction="sum")
F.margin_ranking_loss(x, y, w, 0.5, reduction="sum")
F.multilabel_soft_margin_loss(x, y, w, reduction="sum")
F.pairwise_distance(x, y, 2.0, 1e-6, True)
F.poisson_nll_loss(x, y, True, True, eps=1e-8, reduction="sum")
F.smooth_l1_loss(x, y, reduction="sum", beta=1.0)
F.triplet_margin_loss(x, y, x, 1.0, 2.0, 1e-6, True, reduction="sum")
F.interpolate(image, 3, None, "bilinear", True)
F.interpolate(image, None, 2.0)
F.affine_grid(numbers(1, 2, 3), (1, 1, 3, 3), True)
F.fold(numbers(1, 4, 4), (3, 3), 2, 1, 0, 1)
F.grid_sample(image, numbers(1, 3, 3, 2), "bilinear", "zeros", True)
F.gumbel_softmax(x, 1.0, True, 1e-10, -1)
F.local_response_norm(image, 2, 0.1, 0.5, 1.0)
F.lp_pool1d(line, 2.0, 2, 2, True)
F.lp_pool2d(image, 2.0, 2, 2, True)
F.lp_pool3d(volume, 2.0, 2, 2, True)
F.max_pool1d_with_indices(line, 2, 2, 0, 1, True)
F.max_pool2d_with_indices(image, 2, 2, 0, 1, True)
F.max_pool3d_with_indices(volume, 2, 2, 0, 1, True)
F.max_unpool1d(line, line.long(), 2, 2, 0, (12,))
F.max_unpool2d(image, image.long(), 2, 2, 0, (12, 12))
F.max_unpool3d(volume, volume.long(), 2, 2, 0, (12, 12, 12))
F.multi_margin_loss(x, labels, 1.0, 1.0, w, reduction="sum")
F.multilabel_margin_loss(x, i, reduction="sum")
F.one_hot(ids, 3)
F.rrelu(x, 0.1, 0.3, True)
F.triplet_margin_with_distance_loss(x, y, x, distance_function=None, margin=1.0, swap=True, reduction="sum")
F.pad(x, (1, 1), "constant", 0.0)
F.pixel_shuffle(image, 2)
F.pixel_unshuffle(image, 2)
nn.{Hardsigmoid Hardswish LogSigmoid Mish ReLU ReLU6 SELU SiLU Sigmoid Softsign Tanh Tanhshrink}()(x)
nn.{CELU ELU Hardshrink LeakyReLU Softshrink}(0.5)
nn.{CELU ELU Hardshrink LeakyReLU Softshrink}(0.5)(x)
nn.GELU("tanh")
nn.GLU(1)
nn.Hardtanh(-1.0, 1.0)
nn.{LogSoftmax Softmax Softmin}(0)
nn.PReLU(3, 0.1)
nn.Softplus(1.0, 20.0)
nn.Threshold(0.5, 1.0)
nn.Flatten(0, 1)
nn.Unflatten(0, [3, 1])
nn.ModuleDict({"a": linear})
nn.ModuleList([linear])
nn.Sequential(linear)
nn.{AlphaDropout Dropout Dropout1d Dropout2d Dropout3d}(0.5)
nn.Dropout(0.5)(x)
nn.Bilinear(2, 3, 4, True)
nn.Embedding(5, 4, 0)
nn.EmbeddingBag(5, 4, mode="sum", padding_idx=0)
nn.Linear(3, 4, True)
nn.Linear(3, 4)(x)
nn.{BCELoss}(w, reduction="sum")
nn.BCEWithLogitsLoss(w, reduction="sum", pos_weight=w)
nn.CTCLoss(0, "sum", False)
nn.CosineEmbeddingLoss(0.1, reduction="sum")
nn.CosineSimilarity(1, 1e-8)
nn.CrossEntropyLoss(w, ignore_index=0, reduction="sum", label_smoothing=0.1)
nn.NLLLoss(w, ignore_index=0, reduction="sum")
nn.CrossEntropyLoss()(x, labels)
nn.GaussianNLLLoss(full=True, eps=1e-6, reduction="sum")
nn.HingeEmbeddingLoss(1.0, reduction="sum")
nn.HuberLoss("sum", 1.0)
nn.KLDivLoss(reduction="sum", log_target=True)
nn.{L1Loss MSELoss SoftMarginLoss}(reduction="sum")
nn.MSELoss()(x, y)
nn.MarginRankingLoss(0.5, reduction="sum")
nn.MultiLabelSoftMarginLoss(w, reduction="sum")
nn.PairwiseDistance(2.0, 1e-6, True)
nn.PoissonNLLLoss(True, True, eps=1e-8, reduction="sum")
nn.SmoothL1Loss(reduction="sum", beta=1.0)
nn.TripletMarginLoss(1.0, 2.0, 1e-6, True, reduction="sum")
nn.TripletMarginWithDistanceLoss(margin=1.0, swap=True, reduction="sum")
nn.MultiMarginLoss(1.0, 1.0, reduction="sum")
nn.MultiLabelMarginLoss(reduction="sum")
nn.RReLU(0.1, 0.3)
nn.Softmax2d()(numbers(2, 2, 2))
nn.{BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d}(4, 1e-5, 0.1, True, True)
nn.BatchNorm1d(4)(line)
nn.BatchNorm2d(4)(image)
nn.GroupNorm(2, 4, 1e-5, True)
nn.LayerNorm((3,), 1e-5, True, True)
nn.RMSNorm((3,), 1e-5, True)
nn.{GRU LSTM}(4, 3, 1, True, True, 0.5, True)
nn.RNN(4, 3, 1, "relu", True, True, 0.5, True)
nn.{GRU LSTM RNN}(4, 3)(sequence)
nn.{GRUCell LSTMCell}(4, 3, True)
nn.RNNCell(4, 3, True, "relu")
nn.{GRUCell LSTMCell RNNCell}(4, 3)(numbers(2, 4))
nn.{AdaptiveAvgPool1d AdaptiveMaxPool1d AdaptiveAvgPool2d AdaptiveMaxPool2d AdaptiveAvgPool3d AdaptiveMaxPool3d}(2)
nn.{CircularPad1d ReflectionPad1d ReplicationPad1d ZeroPad1d}(1)(line)
nn.{CircularPad2d ReflectionPad2d ReplicationPad2d ZeroPad2d}(1)(image)
nn.{CircularPad3d ReflectionPad3d ReplicationPad3d ZeroPad3d}(1)(volume)
nn.{CircularPad1d ReflectionPad1d ReplicationPad1d ZeroPad1d}(1)
nn.{CircularPad2d ReflectionPad2d ReplicationPad2d ZeroPad2d}(1)
nn.{CircularPad3d ReflectionPad3d ReplicationPad3d ZeroPad3d}(1)
nn.{ConstantPad1d ConstantPad2d ConstantPad3d}(1, 0.5)
nn.{PixelShuffle PixelUnshuffle}(2)
nn.Upsample(3, None, "bilinear", True)
nn.Upsample(None, 2.0)
nn.{AvgPool1d AvgPool2d AvgPool3d}(2, 2, 1, True, True)
nn.{MaxPool1d MaxPool2d MaxPool3d}(2, 2, 1, 1, True)
nn.{Conv1d Conv2d Conv3d}(4, 2, 3, 1, 1, 1, 2, True)
nn.Conv2d(4, 2, 3)(image)
nn.{ConvTranspose1d ConvTranspose2d ConvTranspose3d}(4, 2, 3, 2, 1, 1, 2, True, 1)
nn.MultiheadAttention(4, 2, 0.1, True, batch_first=True)
nn.MultiheadAttention(4, 2)(sequence, sequence, sequence)
nn.{TransformerEncoderLayer TransformerDecoderLayer}(4, 2, 8, 0.1, "gelu", 1e-5, True, True, True)
nn.Transformer(4, 2, 1, 1, 8, 0.1, "gelu")
nn.{TransformerEncoder TransformerDecoder}(layer, 2, nn.LayerNorm(4))
nn.TransformerEncoderLayer(4, 2, 8)(sequence)
linear.{apply}(lambda m: None)
linear.load_state_dict(linear.state_dict(), strict=True)
linear.register_buffer("counts", w, True)
linear.{named_buffers named_children named_modules named_parameters parameters state_dict eval}()
linear.{requires_grad_ train}(True)
init.calculate_gain("leaky_relu", 0.1)
init.constant_(x, 0.5)
init.dirac_(numbers(4, 2, 3), 1)
init.{eye_ ones_ zeros_}(x)
init.{kaiming_normal_ kaiming_uniform_}(x, 0.1, "fan_in", "leaky_relu")
init.{normal_ uniform_}(x, 0.0, 1.0)
init.{orthogonal_ xavier_normal_ xavier_uniform_}(x, 1.0)
init.trunc_normal_(x, 0.0, 1.0, -2.0, 2.0)
utils.clip_grad_norm_([weight], 1.0, 2.0, False)
utils.clip_grad_value_([weight], 1.0)
optim.LAMB([weight], 0.1, (0.9, 0.999), 1e-6, 0.1)
optim.SGD([weight], 0.1, 0.9, 0.0, 0.1, True, maximize=True)
optim.Adagrad([weight], 0.1, 0.1, 0.1, 0.1, 1e-10)
optim.{Adam AdamW}([weight], 0.1, (0.9, 0.999), 1e-8, 0.1, True)
optim.Lion([weight], 0.1, (0.9, 0.99), 0.1)
optim.Muon([weight], 0.1, 0.1, 0.9, True)
optim.NAdam([weight], 0.1, (0.9, 0.999), 1e-8, 0.1, 0.004)
optim.RMSprop([weight], 0.1, 0.9, 1e-8, 0.1, 0.9, True)
sgd.add_param_group({"params": [weight]})
sgd.load_state_dict(sgd.state_dict())
sgd.{state_dict zero_grad}()
sgd.step([svod.ones(2, 2)])
lr_scheduler.ConstantLR(sgd, 0.5, 5)
lr_scheduler.CosineAnnealingLR(sgd, 5, 0.1)
lr_scheduler.ExponentialLR(sgd, 0.9)
lr_scheduler.LambdaLR(sgd, lambda step: 0.5)
lr_scheduler.LinearLR(sgd, 0.5, 1.0, 5)
lr_scheduler.MultiStepLR(sgd, [1, 2], 0.1)
lr_scheduler.OneCycleLR(sgd, 1.0, 10)
lr_scheduler.SequentialLR(sgd, [lr_scheduler.StepLR(sgd, 1)], [])
lr_scheduler.StepLR(sgd, 2, 0.1)
"""


SPACE = {
    "svod": svod,
    "nn": nn,
    "F": F,
    "init": init,
    "utils": utils,
    "optim": optim,
    "fft": fft,
    "linalg": linalg,
    "lr_scheduler": lr_scheduler,
    "np": np,
    "numbers": numbers,
    "whole": whole,
}


class _Made(dict[str, Any]):
    """The names of one call, each made at its first use."""

    def __missing__(self, name: str) -> Any:
        if name not in MADE:
            raise KeyError(name)
        return self.setdefault(name, MADE[name]())


class Call:
    """A call of the table."""

    def __init__(self, text: str) -> None:
        self.text = text
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call)
        self.name = ast.unparse(call.func)
        self._callee = _compiled(call.func)
        self._args = [_compiled(node) for node in call.args]
        self._named = {str(keyword.arg): _compiled(keyword.value) for keyword in call.keywords}

    def arguments(self) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
        """What is called, and its arguments by position and by name, made anew."""
        made = _Made()
        callee, *values = (eval(code, SPACE, made) for code in (self._callee, *self._args, *self._named.values()))
        return callee, values[: len(self._args)], dict(zip(self._named, values[len(self._args) :], strict=True))

    @property
    def places(self) -> list[int | str]:
        """The positions and names of its arguments."""
        return [*range(len(self._args)), *self._named]

    def parameter(self, callee: Callable[..., Any], place: int | str) -> str | None:
        """What an argument is called; nothing where several have one name."""
        if isinstance(place, str):
            return place
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        names = [p.name for p in inspect.signature(callee).parameters.values() if p.kind in kinds]
        return names[place] if place < len(names) else None


def _compiled(node: ast.expr) -> types.CodeType:
    return compile(ast.Expression(node), "<call>", "eval")


def _lines() -> Iterator[str]:
    """The calls, one for each word in braces."""
    for line in TEXT.strip().splitlines():
        words = re.search(r"\.\{([\w ]+)\}", line)
        for word in words[1].split() if words else [""]:
            yield line.replace(words[0], f".{word}", 1) if words else line


CALLS = [Call(line) for line in _lines()]
