"""Single operations of PyTorch in plans: rarer ones, complex numbers, random draws, and what data decides."""

import math

import pytest

torch = pytest.importorskip("torch")

import svod.torch  # noqa: E402

F = torch.nn.functional
CAPTURED = {"capture_dynamic_output_shape_ops": True, "capture_scalar_outputs": True}


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    svod.torch.reset()
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


@pytest.fixture
def strict(monkeypatch):
    monkeypatch.setenv("SVOD_TORCH_STRICT", "1")


def check(function, *arguments, **options):
    """Through svod as in eager mode, with gradients where arguments want them."""
    ours = [one.detach().clone().requires_grad_(one.requires_grad) for one in arguments]
    theirs = [one.detach().clone().requires_grad_(one.requires_grad) for one in arguments]
    found, expected = torch.compile(function, backend="svod", **options)(*ours), function(*theirs)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
    wanted = [one for one in theirs if one.requires_grad]
    if wanted:
        expected.abs().square().sum().backward()
        found.abs().square().sum().backward()
        gradients = [one.grad for one in ours if one.requires_grad]
        torch.testing.assert_close(gradients, [one.grad for one in wanted], atol=1e-4, rtol=1e-4)


X = torch.randn(3, 4, generator=torch.Generator().manual_seed(3))
Y = torch.randn(3, 4, generator=torch.Generator().manual_seed(4))
IMAGE = torch.randn(2, 3, 7, 8, generator=torch.Generator().manual_seed(5))
Z = torch.complex(X, Y)

BYTES = torch.randint(-128, 128, (24, 32), generator=torch.Generator().manual_seed(6), dtype=torch.int8)

CALLS = {
    "addbmm": lambda: (lambda x, y: torch.addbmm(x[:, :3], y[None], y.mT[None], beta=0.5), X, Y),
    "adam's updates": lambda: (lambda x, y: torch.addcdiv(x, y, x.abs() + 1, value=0.1), X, Y),
    "bags": lambda: (lambda w, i: F.embedding_bag(i, w, mode="mean"), X, torch.tensor([[0, 2], [1, 1]])),
    "bags that are summed": lambda: (lambda w, i: F.embedding_bag(i, w, mode="sum"), X, torch.tensor([[0, 2], [1, 1]])),
    "bags of several sizes": lambda: (
        lambda w, i: F.embedding_bag(i, w, torch.tensor([0, 0, 3]), mode="sum"),
        X,
        torch.tensor([0, 2, 1, 1, 2]),
    ),
    "a bilinear form": lambda: (lambda x, y: F.bilinear(x, y, torch.ones(2, 4, 4)), X, Y),
    "signs": lambda: (torch.copysign, X, Y),
    "maxima so far": lambda: (lambda x: torch.cummax(x, 1)[0], X),
    "a diagonal in place": lambda: (lambda x: x.clone().fill_diagonal_(2.0), X),
    "products of bytes": lambda: (lambda x: torch._int_mm(x, x.T) * 2, BYTES),
    "distances": lambda: (lambda x, y: torch.cdist(x, y), X, Y),
    "distances of oneself": lambda: (lambda x: torch.cdist(x, x, 1.0), X),
    "divisors of windows": lambda: (lambda x: F.avg_pool2d(x, 2, divisor_override=3), IMAGE),
    "maxima to a size": lambda: (lambda x: F.adaptive_max_pool2d(x, (3, 5)), IMAGE),
    "medians": lambda: (lambda x: x.median(1)[0] + x.median(), X),
    "numbers by a mask": lambda: (lambda x, y: x.masked_scatter(x > 0, y), X, Y),
    "the greater of what is not NaN": lambda: (torch.fmax, X, Y),
    "the second least": lambda: (lambda x: x.kthvalue(2, 0)[0], X),
    "no axes": lambda: (lambda x: torch.ones(()).scatter_add(0, torch.tensor(0), x.sum()), X),
    "products of complex numbers": lambda: (lambda z: torch.view_as_real(z * z.conj() + z.exp()), Z),
    "a complex number that is given": lambda: (lambda x: torch.view_as_real(x * torch.tensor(1j)), X),
    "sizes of complex numbers": lambda: (lambda z: z.abs() + z.angle(), Z),
    "complex matrices": lambda: (lambda z: torch.view_as_real(z @ z.mH), Z),
    "spectra": lambda: (lambda x: torch.fft.irfft(torch.fft.rfft(x, norm="ortho") * 2, n=4), X),
    "spectra along two axes": lambda: (lambda x: torch.fft.fft2(x).abs() + torch.fft.ifft2(x, norm="forward").real, X),
    "instances without statistics": lambda: (lambda x: F.instance_norm(x, weight=torch.arange(1.0, 4)), IMAGE),
    "edges that are repeated": lambda: (lambda x: F.pad(x, (2, 1, 0, 3), mode="replicate"), IMAGE),
    "edges of lines": lambda: (lambda x: F.pad(F.pad(x, (2, 1), mode="replicate"), (1, 3), mode="reflect"), X),
    "edges of volumes": lambda: (
        lambda x: F.pad(F.pad(x[None], (2, 1, 0, 3, 1, 1), mode="replicate"), (1, 2, 1, 0, 2, 1), mode="reflect"),
        IMAGE,
    ),
    "edges that are mirrored": lambda: (lambda x: F.pad(x, (2, 1, 0, 3), mode="reflect"), IMAGE),
    "samples of images": lambda: (
        lambda x, g: F.grid_sample(x, g, align_corners=False),
        IMAGE,
        IMAGE.movedim(1, -1)[..., :2].contiguous(),
    ),
    "samples beyond the border": lambda: (
        lambda x, g: F.grid_sample(x, g, padding_mode="border", align_corners=True),
        IMAGE,
        IMAGE.movedim(1, -1)[..., :2].contiguous(),
    ),
    "samples of reflections": lambda: (
        lambda x, g: F.grid_sample(x, g, padding_mode="reflection", align_corners=False),
        IMAGE,
        IMAGE.movedim(1, -1)[..., :2].contiguous(),
    ),
    "samples by cubics": lambda: (
        lambda x, g: F.grid_sample(x, g, mode="bicubic", align_corners=False),
        IMAGE,
        IMAGE.movedim(1, -1)[..., :2].contiguous(),
    ),
    "samples of volumes": lambda: (
        lambda x, g: F.grid_sample(x[None], g[None], align_corners=False),
        IMAGE,
        IMAGE.movedim(1, -1).contiguous(),
    ),
    "sums to rows": lambda: (lambda x, y: x.index_add(0, torch.tensor([2, 0, 2]), y, alpha=0.5), X, Y),
    "sums to columns": lambda: (lambda x, y: x.index_add(1, torch.tensor([3, 0]), y[:, :2]), X, Y),
    "rows that are written": lambda: (lambda x, y: x.index_copy(0, torch.tensor([2, 0]), y[:2]), X, Y),
    "rounded as bytes": lambda: (lambda x: torch.fake_quantize_per_tensor_affine(x, 0.013, 3, -128, 127), X),
    "rounded by channels": lambda: (
        lambda x: torch.fake_quantize_per_channel_affine(x, x[:, 0].detach().abs(), torch.arange(3).int(), 0, 0, 99),
        X,
    ),
    "rounded by tensors": lambda: (
        lambda x: torch.fake_quantize_per_tensor_affine(x, torch.tensor(0.1), torch.tensor(2, dtype=torch.int32), 0, 9),
        X,
    ),
    "resized as means": lambda: (
        lambda x: F.interpolate(x, size=(3, 5), mode="bilinear", antialias=True),
        IMAGE,
    ),
    "resized by cubics as means": lambda: (
        lambda x: F.interpolate(x, size=(4, 9), mode="bicubic", antialias=True, align_corners=True),
        IMAGE,
    ),
    "short-time spectra": lambda: (
        lambda x: torch.stft(x.flatten(), 4, window=torch.hann_window(4), return_complex=True).abs(),
        X,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients(name, strict):
    function, *arguments = CALLS[name]()
    check(function, *arguments)
    floats = [one.requires_grad_() if one.is_floating_point() or one.is_complex() else one for one in arguments]
    check(function, *floats)


@pytest.mark.parametrize("right", [False, True])
def test_where_numbers_would_be_put(right, strict):
    edges, x, y = torch.tensor([-1.0, 0.0, 0.0, 0.7]), X.detach(), Y.detach()
    rows = x.sort(1)[0]
    check(lambda x: torch.bucketize(x, edges, right=right), x)
    check(lambda x: torch.bucketize(x, edges, right=right, out_int32=True), torch.tensor([[0.0], [0.7]]))
    check(lambda x, y: torch.searchsorted(x, y, right=right), edges, y)
    check(lambda x, y: torch.searchsorted(x, y, right=right), rows, y)
    check(lambda x, y: torch.searchsorted(x, y, right=right, sorter=x.argsort()), edges.flip(0), y)
    check(lambda x: torch.searchsorted(x, 0, right=right), edges)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_layers_of_encoders(norm_first, activation, strict):
    options = {"activation": activation, "norm_first": norm_first, "batch_first": True}
    layer = torch.nn.TransformerEncoderLayer(8, 2, 12, **options).eval()
    torch.nn.init.normal_(layer.norm1.weight)
    with torch.no_grad():
        check(layer, torch.randn(3, 5, 8))
        torch._dynamo.reset()
        check(layer, torch.randn(2, 7, 8), dynamic=True)


def test_numbers_that_a_graph_holds(strict):
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.complex64):

        def limited(x):
            x = x.clone()
            x[x.real > 1] = 1
            return x

        check(limited, torch.arange(6).to(dtype))
        torch._dynamo.reset()


def test_arguments_that_are_yet_to_be_conjugated_or_negated(strict):
    check(lambda z: z * 2, Z.conj())
    torch._dynamo.reset()
    check(lambda x: x * 2, Z.conj().imag)


def test_conditions_that_have_to_hold(strict):
    compiled = torch.compile(lambda at: F.one_hot(at, 3).float().mean(0), backend="svod")
    assert compiled(torch.tensor([0, 2])).tolist() == [0.5, 0, 0.5]
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        compiled(torch.tensor([0, 3]))


def test_results_that_are_views_alone_need_no_plan(strict):
    x = torch.randn(4)
    found = torch.compile(lambda x: x.expand(3, 4), backend="svod")(x)
    assert found.data_ptr() == x.data_ptr() and found.shape == (3, 4)


def test_parts_of_a_graph_are_told_sizes_that_their_arguments_do_not_tell():
    def function(x):
        rows = x.reshape(-1, 4).sum(1, keepdim=True)
        return torch.linalg.svdvals(rows * torch.ones(x.shape[0])) + x.shape[1]

    compiled = torch.compile(function, backend="svod", dynamic=True)
    for shape in ((2, 3, 4), (3, 5, 4)):
        x = torch.rand(shape)
        torch.testing.assert_close(compiled(x), function(x), atol=1e-5, rtol=1e-4)


def test_the_least_of_sizes():
    def function(x):
        x = x.clone()
        x.diagonal().fill_(3.0)
        return x

    compiled = torch.compile(function, backend="svod", dynamic=True)
    for rows in (4, 9, 5):
        x = torch.randn(rows, 8)
        assert torch.equal(compiled(x), function(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x.sum().item(),
        lambda x: torch.arange(int(x.sum().item())) + 1,
        lambda x: torch.zeros(int(x.long().sum().item())) + x[0],
        lambda x: (x * 2, x.sum().item() + 1),
        lambda x: x.nonzero() * 2,
        lambda x: x[x > 0].sum(),
        lambda x: torch.unique(x) + 1,
    ],
)
def test_what_data_decides(function):
    with torch._dynamo.config.patch(CAPTURED):
        compiled = torch.compile(function, backend="svod", fullgraph=True)
        for x in (torch.tensor([1.0, 0, 3, 0]), torch.tensor([0.0, 2, 0, 1])):
            torch.testing.assert_close(compiled(x), function(x))


def test_a_rule_that_knows_not_what_it_is_given_is_no_error():
    # A tensor without axes has none that could be unfolded.
    compiled = torch.compile(lambda x: x.unfold(0, 1, 1) + 1, backend="svod")
    assert compiled(torch.tensor(2.0)).tolist() == [3.0]


DRAWS = {
    "exponential": (lambda x: x.exponential_(2.0), lambda u: -torch.log1p(-u) / 2),
    "cauchy": (lambda x: x.cauchy_(1.0, 0.5), lambda u: 1 + 0.5 * torch.tan(math.pi * (u - 0.5))),
    "log_normal": (
        lambda x: x.log_normal_(0.5, 0.25),
        lambda u: torch.exp(0.5 + 0.25 * math.sqrt(2) * torch.erfinv(2 * u - 1)),
    ),
    "normal": (
        lambda x: torch.normal(x, x + 2),
        lambda u: 2 * math.sqrt(2) * torch.erfinv(2 * u - 1),
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_draws_have_their_distributions(name, strict):
    draw, quantile = DRAWS[name]
    compiled = torch.compile(lambda x: draw(x.clone()), backend="svod")
    found = compiled(torch.zeros(20_000))
    at = torch.tensor([0.1, 0.25, 0.5, 0.75, 0.9])
    shares = (found[:, None] <= quantile(at)).float().mean(0)
    assert (shares - at).abs().max() < 0.02
    assert not torch.equal(found, compiled(torch.zeros(20_000)))


def test_draws_of_integers(strict):
    trials = torch.compile(lambda x: x.clone().geometric_(0.25), backend="svod")(torch.zeros(20_000))
    assert trials.min() == 1 and abs(trials.mean() - 4) < 0.2
    order = torch.compile(lambda x: torch.randperm(50) + x, backend="svod")(torch.zeros((), dtype=torch.int64))
    assert order.sort()[0].tolist() == list(range(50)) and order.tolist() != list(range(50))
    torch._dynamo.reset()
    weights = torch.tensor([1.0, 0.0, 3.0])
    drawn = torch.compile(lambda w: torch.multinomial(w, 4000, replacement=True), backend="svod")(weights)
    assert abs((drawn == 2).float().mean() - 0.75) < 0.05 and not (drawn == 1).any()
    torch._dynamo.reset()
    both = torch.compile(lambda w: torch.multinomial(w, 2), backend="svod")(weights)
    assert sorted(both.tolist()) == [0, 2]


def test_distances_are_computed_as_they_are_asked_for():
    x = torch.randn(40, 3, generator=torch.Generator().manual_seed(0)) * 1000
    x[1] = x[0] + 0.01

    def distances(x):
        return torch.cdist(x, x, compute_mode="donot_use_mm_for_euclid_dist")

    found, wanted = torch.compile(distances, backend="svod")(x), distances(x)
    torch.testing.assert_close(found[0, 1], wanted[0, 1], rtol=1e-3, atol=0)


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_pools_have_divisors_of_their_own_beyond_edges_and_of_integers(dtype, ceil):
    def pool(x):
        return torch.nn.functional.avg_pool2d(x, 2, ceil_mode=ceil, divisor_override=3)

    x = torch.arange(25, dtype=dtype).reshape(1, 1, 5, 5)
    torch.testing.assert_close(torch.compile(pool, backend="svod")(x), pool(x))
