"""Training on a GPU: gradients against PyTorch's in float64, steps against its steps, and what kernels they are."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import svod
from svod.nn import functional as F

if "SVOD_CUDA" not in os.environ and "CUDA:0" not in svod.devices():
    os.environ["SVOD_CUDA"] = "sim:sm_90a"

torch = pytest.importorskip("torch")


def data(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def on(array: np.ndarray[Any, Any], dtype: Any = None) -> svod.Tensor:
    tensor = svod.Tensor(array)
    return (tensor if dtype is None else tensor.cast(dtype)).to("CUDA").realize()


def exact(loss: Any, *arrays: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """PyTorch's gradients in float64."""
    leaves = [torch.from_numpy(a.astype(np.float64)).requires_grad_() for a in arrays]
    return [g.numpy() for g in torch.autograd.grad(loss(*leaves), leaves)]


def check(found: Any, expected: Any, tolerance: float) -> None:
    for one, wanted in zip(found, expected, strict=True):
        assert one.device == "CUDA:0"
        off = np.linalg.norm(one.cast(svod.float64).numpy() - wanted)
        assert off <= tolerance * max(np.linalg.norm(wanted), 1e-9)


def kernels(function: Any, *arguments: Any) -> list[tuple[float, int]]:
    """Of each kernel of a jitted function's plan, its operations, and the tasks of its first launch."""
    items = svod.jit(function).plan(*arguments).analysis()["items"]
    kernels = [(item["analysis"]["flops"], item["what"]["kernel"]) for item in items if "kernel" in item["what"]]
    return [(flops, int(np.prod([int(n) for n in kernel["launches"][0]]))) for flops, kernel in kernels]


def rounded(*arrays: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    return [svod.Tensor(a).cast(svod.bfloat16).cast(svod.float32).numpy() for a in arrays]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", [(2, 64, 32), (1, 2, 40, 16), (3, 24, 20)])
@pytest.mark.parametrize("dtype", [svod.bfloat16, svod.float16, svod.float32])
def test_attention(dtype, shape, causal):
    q, k, v, g = rounded(*(data(*shape, seed=i) for i in range(4)))
    attention = torch.nn.functional.scaled_dot_product_attention
    wanted = exact(
        lambda q, k, v: (attention(q, k, v, is_causal=causal) * torch.from_numpy(g.astype(np.float64))).sum(), q, k, v
    )

    def gradients(q, k, v, g):
        mixed = q.scaled_dot_product_attention(k, v, is_causal=causal)
        return (mixed * g).sum().gradient(q, k, v)

    found = svod.jit(gradients)(*(on(x, dtype) for x in (q, k, v, g)))
    check(found, wanted, {svod.bfloat16: 1.2e-2, svod.float16: 2e-3, svod.float32: 1e-5}[dtype])


@pytest.mark.parametrize("kind", [np.float32, np.bool_])
def test_attention_with_a_mask(kind):
    q, k, v, g = rounded(*(data(2, 3, 24, 16, seed=i) for i in range(4)))
    mask = data(24, 24, seed=5) if kind is np.float32 else data(24, 24, seed=5) > 0
    attention = torch.nn.functional.scaled_dot_product_attention
    given = torch.from_numpy(mask.astype(np.float64) if kind is np.float32 else mask)
    wanted = exact(lambda q, k, v: (attention(q, k, v, given) * torch.from_numpy(g.astype(np.float64))).sum(), q, k, v)
    where = svod.Tensor(mask).to("CUDA")

    def gradients(q, k, v, g):
        return (q.scaled_dot_product_attention(k, v, where) * g).sum().gradient(q, k, v)

    check(svod.jit(gradients)(*(on(x, svod.bfloat16) for x in (q, k, v, g))), wanted, 1.2e-2)


def test_the_gradient_of_a_mask():
    q, k, v, g = rounded(*(data(2, 24, 16, seed=i) for i in range(4)))
    mask = data(24, 24, seed=5)
    q64, k64, v64, g64 = (torch.from_numpy(x.astype(np.float64)) for x in (q, k, v, g))
    attention = torch.nn.functional.scaled_dot_product_attention
    wanted = exact(lambda mask: (attention(q64, k64, v64, mask) * g64).sum(), mask)
    q_, k_, v_, g_ = (on(x, svod.bfloat16) for x in (q, k, v, g))
    found = svod.grad(lambda mask: (q_.scaled_dot_product_attention(k_, v_, mask) * g_).sum())(on(mask))
    check([found], wanted, 1.2e-2)


def test_attention_of_heads_that_share_keys():
    q, g = rounded(*(data(2, 4, 24, 16, seed=i) for i in range(2)))
    k, v = rounded(*(data(2, 2, 24, 16, seed=i) for i in range(2, 4)))
    attention = torch.nn.functional.scaled_dot_product_attention
    wanted = exact(
        lambda q, k, v: (
            attention(q, k, v, is_causal=True, enable_gqa=True) * torch.from_numpy(g.astype(np.float64))
        ).sum(),
        *(q, k, v),
    )

    def gradients(q, k, v, g):
        mixed = q.scaled_dot_product_attention(k, v, is_causal=True, enable_gqa=True)
        return (mixed * g).sum().gradient(q, k, v)

    check(svod.jit(gradients)(*(on(x, svod.bfloat16) for x in (q, k, v, g))), wanted, 1.2e-2)


def test_attention_forward_and_backward_of_many_heads_compile():
    """Scores of more than some MiB, of which processors would compute blocks."""
    q, k, v, g = (svod.zeros(1, 16, 512, 64, dtype=svod.bfloat16, device="CUDA") for _ in range(4))

    def step(q, k, v, g):
        loss = (q.scaled_dot_product_attention(k, v, is_causal=True) * g).sum()
        return loss, *(x - 0.1 * d for x, d in zip((q, k, v), loss.gradient(q, k, v), strict=True))

    plan = svod.jit(step).plan(q, k, v, g)
    names = [kernel.name for kernel in plan.kernels]
    assert any(name.startswith("attention") for name in names)
    assert sum(name.startswith("matmul") for name in names) == 5


@pytest.mark.parametrize("width", [96, 130])
def test_layer_norm_and_linear(width):
    x, w, b, scale, shift, g = (
        data(*s, seed=i) for i, s in enumerate([(70, width), (48, width), (48,), (width,), (width,), (70, 48)])
    )

    def of_torch(x, w, b, scale, shift):
        normed = torch.nn.functional.layer_norm(x, (width,), scale, shift)
        return (torch.nn.functional.linear(normed, w, b) * torch.from_numpy(g.astype(np.float64))).sum()

    def gradients(x, w, b, scale, shift, g):
        loss = (F.linear(F.layer_norm(x, (width,), scale, shift), w, b) * g).sum()
        return loss.gradient(x, w, b, scale, shift)

    found = svod.jit(gradients)(*map(on, (x, w, b, scale, shift, g)))
    check(found, exact(of_torch, x, w, b, scale, shift), 1e-5)


def test_the_work_of_a_norm_is_that_of_its_rows():
    """Statistics that are kept for the way back are computed once a row, and sums of columns by many."""
    rows, width = 16384, 1024
    x, g = (svod.zeros(rows, width, device="CUDA") for _ in range(2))
    scale, shift = (svod.zeros(width, device="CUDA") for _ in range(2))

    def step(x, scale, shift, g):
        loss = (F.layer_norm(x, (width,), scale, shift) * g).sum()
        by = loss.gradient(x, scale, shift)
        return loss, *(p - 0.1 * d for p, d in zip((x, scale, shift), by, strict=True))

    for operations, tasks in kernels(step, x, scale, shift, g):
        assert operations < 100 * rows * width
        assert operations < rows or tasks > 64


def test_kernels_of_a_classifier_are_of_many_tasks():
    logits = svod.zeros(4096, 128, dtype=svod.bfloat16, device="CUDA")
    bias, labels = (
        svod.zeros(128, dtype=svod.bfloat16, device="CUDA"),
        svod.zeros(4096, dtype=svod.int64, device="CUDA"),
    )

    def gradients(x, b, y):
        return F.cross_entropy(x + b, y).gradient(x, b)

    for operations, tasks in kernels(gradients, logits, bias, labels):
        assert operations < 1 << 17 or tasks > 16


def test_products_read_what_is_computed_or_looked_up_from_memory():
    """So that tensor cores, or tiles, compute them."""
    words = svod.zeros(2000, 128, dtype=svod.bfloat16, device="CUDA")
    weight = svod.zeros(256, 128, dtype=svod.bfloat16, device="CUDA")
    ids = svod.zeros(512, dtype=svod.int64, device="CUDA")
    plan = svod.jit(lambda ids, words, weight: F.relu(F.embedding(ids, words)) @ weight.mT).plan(ids, words, weight)
    (product,) = (item for item in plan.analysis()["items"] if item["name"].startswith("matmul"))
    assert len(product["reads"]) == 2


def shared(x: Any, *weights: Any) -> Any:
    """Several products of one value, the cotangent of which is a sum of as many."""
    y = x * 0.5
    return sum((y @ w).square().sum() for w in weights)


@pytest.mark.parametrize("device", ["CUDA", "CPU"])
@pytest.mark.parametrize("dtype", [svod.float32, svod.bfloat16])
def test_products_that_share_an_operand(dtype, device):
    arrays = rounded(data(70, 48), *(data(48, 40, seed=i) * 0.2 for i in range(1, 4)))
    x, *weights = (svod.Tensor(a).cast(dtype).to(device).realize() for a in arrays)
    found = svod.jit(lambda x, *weights: shared(x, *weights).gradient(x, *weights))(x, *weights)
    for one, wanted in zip(found, exact(shared, *arrays), strict=True):
        off = np.linalg.norm(one.cast(svod.float64).numpy() - wanted)
        assert off <= (1e-5 if dtype == svod.float32 else 2e-2) * np.linalg.norm(wanted)


@pytest.mark.parametrize("dtype", [svod.float32, svod.bfloat16])
def test_products_that_share_an_operand_have_tiles_on_the_way_back(dtype):
    x, *weights = (svod.zeros(*s, dtype=dtype, device="CUDA") for s in [(512, 256), *[(256, 128)] * 3])
    plan = svod.jit(lambda x, *weights: shared(x, *weights).gradient(x, *weights)).plan(x, *weights)
    items = [item for item in plan.analysis()["items"] if "kernel" in item["what"]]
    products = [item for item in items if item["name"].startswith("matmul")]
    assert len(products) == 9 and all(len(item["reads"]) <= 4 for item in products)
    assert all(item["analysis"]["flops"] < 20 * 512 * 256 for item in items if item not in products)


def test_a_last_layer_of_few_classes_reads_what_it_multiplies_from_memory():
    x, b, w = (svod.zeros(*s, device="CUDA") for s in [(256, 512), (512,), (10, 512)])
    plan = svod.jit(lambda x, b, w: F.relu(x + b) @ w.mT).plan(x, b, w)
    (product,) = (item for item in plan.analysis()["items"] if item["name"].startswith("matmul"))
    assert len(product["reads"]) == 2


def test_the_way_back_of_a_convolution_is_products():
    """By its input too, where windows are of what is repeated."""
    for given, stride in (("input", 1), ("input", 2), ("weight", 1), ("weight", 2)):
        shapes = [(8, 64, 14, 14), (128, 64, 3, 3), (8, 128, 14 // stride, 14 // stride)]
        x, w, g = (svod.zeros(*s, device="CUDA") for s in shapes)

        def gradient(x, w, g, given=given, stride=stride):
            return (F.conv2d(x, w, padding=1, stride=stride) * g).sum().gradient(x if given == "input" else w)

        names = [kernel.name for kernel in svod.jit(gradient).plan(x, w, g).kernels]
        assert any(name.startswith("matmul") for name in names), names
        assert not any(name.startswith("conv") for name in names), names


@pytest.mark.parametrize(
    ("shape", "axes"),
    [((64, 30, 28, 28), (0, 2, 3)), ((8, 64, 1024), (0, 2)), ((4096, 64), (0, 1)), ((128, 64, 196), (1, 2))],
)
def test_sums_of_few_results_are_of_many_tasks(shape, axes):
    """Also where memory has short runs, and in the last step, which adds the parts."""
    x, y = data(*shape), data(*shape, seed=1)
    wanted = (x.astype(np.float64) * y).sum(axes)
    dots = svod.jit(lambda x, y: (x * y).sum(axes))
    np.testing.assert_allclose(dots(on(x), on(y)).numpy(), wanted, rtol=1e-4, atol=2e-3)
    across = svod.jit(lambda x, y: (x * y.permute(*reversed(range(len(shape))))).sum(axes))
    turned = np.ascontiguousarray(y.transpose())
    np.testing.assert_allclose(across(on(x), on(turned)).numpy(), wanted, rtol=1e-4, atol=2e-3)
    for item in dots.plan(on(x), on(y)).analysis()["items"]:
        if "kernel" in item["what"]:
            tasks = [int(np.prod([int(n) for n in launch])) for launch in item["what"]["kernel"]["launches"]]
            assert max(tasks) >= 32 or item["analysis"]["flops"] < 1 << 14, (item["name"], tasks)


@pytest.mark.parametrize(
    ("equation", "a", "b", "blocks"),
    [
        # Few tiles beside a GPU's multiprocessors.
        ("ik,kj->ij", (64, 8192), (8192, 48), True),
        ("ik,jk->ij", (130, 7 * 1024), (70, 7 * 1024), True),
        # A depth of two axes that do not follow one another in one of the operands.
        ("bit,btj->ij", (8, 96, 128), (8, 128, 80), True),
        ("bhdt,btj->hdj", (4, 2, 32, 96), (4, 96, 40), True),
        # As many tiles as fill a GPU, and so little depth that another launch is longer.
        ("ik,kj->ij", (1024, 64), (64, 1024), False),
        ("ik,kj->ij", (64, 96), (96, 64), False),
    ],
)
def test_the_depth_of_a_product_is_in_blocks_where_that_is_faster(equation, a, b, blocks):
    x, y = data(*a), data(*b, seed=1)
    product = svod.jit(lambda x, y: svod.einsum(equation, x, y))
    given = [on(x), on(y)]
    plan = product.plan(*given)
    names = [kernel.name for kernel in plan.kernels]
    assert sum(name.startswith("matmul") for name in names) == 1
    assert any(name.startswith("reduce") for name in names) == blocks, names
    # A kernel of tiles is a loop over one axis in each element.
    (lowered,) = (kernel.loops for kernel in plan.kernels if kernel.name.startswith("matmul"))
    assert lowered.count("serial") == 1 or not blocks
    wanted = np.einsum(equation, x.astype(np.float64), y.astype(np.float64))
    np.testing.assert_allclose(product(*given).numpy(), wanted, rtol=1e-4, atol=2e-3)


def test_pooling_and_norms_on_the_way_back():
    """Windows that overlap are no row's work."""
    x, w, scale, shift = data(4, 8, 16, 16), data(8, 8, 3, 3, seed=1) * 0.3, data(8, seed=2) + 1, data(8, seed=3)

    def loss(lib, x, w, scale, shift):
        made = lib.conv2d(x, w, padding=1)
        mean = made.mean((0, 2, 3), keepdim=True)
        normed = (made - mean) * ((made - mean).square().mean((0, 2, 3), keepdim=True) + 1e-5) ** -0.5
        normed = normed * scale.reshape(1, 8, 1, 1) + shift.reshape(1, 8, 1, 1)
        return lib.max_pool2d(lib.relu(normed), 3, 2, 1).square().sum()

    wanted = exact(lambda *given: loss(torch.nn.functional, *given), x, w, scale, shift)
    found = svod.jit(lambda *given: loss(F, *given).gradient(*given))(*map(on, (x, w, scale, shift)))
    check(found, wanted, 1e-4)


def test_a_triangle_of_rows_that_are_laid_out():
    scores = data(2, 512, 512)
    seen = np.tril(np.ones((512, 512), bool))
    wanted = torch.from_numpy(np.where(seen, scores, -np.inf).astype(np.float64)).softmax(-1).numpy()
    found = svod.where(svod.Tensor(seen).to("CUDA"), on(scores), float("-inf")).softmax(-1)
    rows = svod.arange(512).unsqueeze(1).to("CUDA")
    told = svod.where(svod.arange(512).to("CUDA") <= rows, on(scores), float("-inf")).softmax(-1)
    for one in (found, told):
        np.testing.assert_allclose(one.numpy(), wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("rows", "width", "count"), [(10, 16, 300), (5000, 8, 700), (130, 3, 200), (40, 1, 1000)])
@pytest.mark.parametrize("dtype", [svod.float32, svod.int32])
def test_gradients_of_embeddings_and_scatters(rows, width, count, dtype):
    ids = np.random.default_rng(0).integers(-rows, rows, count)
    values = (data(count, width) * 8).astype(np.int32).astype(np.float32)
    wanted = np.zeros((rows, width))
    np.add.at(wanted, ids, values)
    base = svod.zeros(rows, width, dtype=dtype, device="CUDA")
    places = svod.Tensor(ids % rows).unsqueeze(1).expand(count, width).to("CUDA")
    found = base.scatter_add(0, places, on(values, dtype))
    np.testing.assert_array_equal(found.numpy(), wanted)
    if dtype == svod.float32:
        table = on(np.zeros((rows, width), np.float32))
        of = svod.grad(lambda table: (table[svod.Tensor(ids).to("CUDA")] * on(values)).sum())(table)
        np.testing.assert_array_equal(of.numpy(), wanted)
    largest = np.full((rows, width), -100.0)
    np.maximum.at(largest, ids, values)
    made = svod.full((rows, width), -100, dtype=dtype, device="CUDA").scatter_reduce(
        0, places, on(values, dtype), "amax"
    )
    np.testing.assert_array_equal(made.numpy(), largest)


@pytest.mark.parametrize(
    ("shape", "weight", "options"),
    [
        ((4, 8, 20, 20), (16, 8, 3, 3), {"padding": 1}),
        ((4, 9, 21, 18), (12, 9, 3, 2), {"stride": 2, "padding": 1}),
        ((6, 8, 24, 24), (16, 4, 3, 3), {"groups": 2, "dilation": 2}),
        ((3, 12, 900), (16, 12, 7), {"stride": 3}),
    ],
)
@pytest.mark.parametrize("dtype", [svod.float32, svod.bfloat16])
def test_convolutions(shape, weight, options, dtype):
    """Large enough for windows as matrices."""
    x, w = rounded(data(*shape), data(*weight, seed=1) * 0.2)
    conv = getattr(torch.nn.functional, f"conv{len(shape) - 2}d")
    made = conv(torch.from_numpy(x.astype(np.float64)), torch.from_numpy(w.astype(np.float64)), **options)
    (g,) = rounded(data(*made.shape, seed=2))
    wanted = exact(lambda x, w: (conv(x, w, **options) * torch.from_numpy(g.astype(np.float64))).sum(), x, w)

    def gradients(x, w, g):
        made = getattr(F, f"conv{len(shape) - 2}d")(x, w, **options)
        return made, *(made * g).sum().gradient(x, w)

    found = svod.jit(gradients)(*(on(a, dtype) for a in (x, w, g)))
    check(found, [made.numpy(), *wanted], 1e-5 if dtype == svod.float32 else 6e-3)


def test_steps_follow_pytorch():
    """A decoder's block with an embedding, cross entropy and AdamW."""
    words, width, length = 40, 32, 16
    ids = np.random.default_rng(0).integers(0, words, (2, 3, length))

    def made(nn: Any) -> Any:
        class Block(nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.words, self.norm = nn.Embedding(words, width), nn.LayerNorm(width)
                self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, words)

            def forward(self, x: Any, attention: Any) -> Any:
                x = self.words(x)
                parts = self.mix(self.norm(x)).reshape(3, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
                mixed = attention(parts[0], parts[1], parts[2], is_causal=True)
                return self.out(x + mixed.permute(0, 2, 1, 3).reshape(3, length, width))

        return Block()

    theirs = made(torch.nn)
    ours = made(svod.nn)
    ours.load_state_dict({name: value.numpy() for name, value in theirs.state_dict().items()})
    ours.to("CUDA").requires_grad_()
    optimizers = torch.optim.AdamW(theirs.parameters(), lr=0.01), svod.optim.AdamW(ours.parameters(), lr=0.01)

    @svod.jit
    def step(x: Any, y: Any) -> Any:
        optimizers[1].zero_grad()
        loss = F.cross_entropy(ours(x, F.scaled_dot_product_attention).reshape(-1, words), y.reshape(-1))
        loss.backward()
        optimizers[1].step()
        optimizers[1].zero_grad()
        return loss

    x, y = (svod.Tensor(part).to("CUDA") for part in ids)
    for _ in range(4):
        optimizers[0].zero_grad()
        logits = theirs(torch.from_numpy(ids[0]), torch.nn.functional.scaled_dot_product_attention)
        wanted = torch.nn.functional.cross_entropy(logits.reshape(-1, words), torch.from_numpy(ids[1]).reshape(-1))
        wanted.backward()
        optimizers[0].step()
        assert step(x, y).item() == pytest.approx(wanted.item(), rel=1e-4)


@pytest.mark.parametrize("given", ["memory", "computed"])
def test_a_step_with_a_label_out_of_range_changes_nothing(given):
    """Labels on the GPU are looked at there, while the step runs: weights and state stay as they were."""
    w = on(data(6, 4)).requires_grad_()
    optimizer = svod.optim.Adam([w], lr=0.1)

    @svod.jit
    def step(labels: svod.Tensor) -> svod.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(w[labels], labels % 4)
        loss.backward()
        optimizer.step()
        return loss

    def labels(last: int) -> Any:
        there = on(np.array([0, 5, -6, last]))
        return there if given == "memory" else there + 0

    for _ in range(3):
        step(labels(3))
    before, state = w.numpy(), str(optimizer.state_dict())
    for wrong in (6, -7):
        with pytest.raises(svod.Error, match=f"{wrong}|outside"):
            step(labels(wrong))
    np.testing.assert_array_equal(w.numpy(), before)
    assert str(optimizer.state_dict()) == state
    step(labels(3))
    assert (w.numpy() != before).any()


def test_a_plan_of_lookups_says_which_index_is_outside():
    table, wanted = on(data(5, 3)), data(5, 3)
    index = on(np.array([0, 1, -1]))
    plan = (table[index] * 2).prepare(inputs=[index])
    plan.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), 2 * wanted[[0, 1, -1]])
    for wrong in (on(np.array([0, 5, 1])), np.array([0, 5, 1])):
        with pytest.raises(svod.Error, match="5"):
            plan.execute(wrong)
    plan.execute(on(np.array([4, 4, 2])))
    np.testing.assert_array_equal(plan.outputs[0].numpy(), 2 * wanted[[4, 4, 2]])
    first = plan.run(on(np.array([3, 0, 0])))[0]
    np.testing.assert_array_equal(first.numpy(), 2 * wanted[[3, 0, 0]])
    with pytest.raises(svod.Error, match="-6"):
        plan.run(on(np.array([-6, 0, 0])))
