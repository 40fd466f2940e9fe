"""Modules: the names of what they hold, loading, calling, printing; beside PyTorch's where it is installed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import svod
from svod import nn


class Model(nn.Module):
    """Children in an attribute, a list, a tuple and a dict, before and after tensors of its own."""

    def __init__(self) -> None:
        self.first = nn.Linear(3, 4)
        self.register_buffer("count", svod.zeros((), dtype=svod.int64))
        self.register_buffer("cache", svod.ones(2), persistent=False)
        self.scale = svod.ones(4)
        self.blocks = [nn.Linear(4, 4), (nn.Linear(4, 4), {"last": nn.Linear(4, 2)})]
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x: svod.Tensor) -> svod.Tensor:
        middle, (inner, named) = self.blocks
        return self.norm(named["last"](inner(middle(self.first(x) * self.scale))))


NAMES = [
    "scale",
    "count",
    "first.weight",
    "first.bias",
    "blocks.0.weight",
    "blocks.0.bias",
    "blocks.1.0.weight",
    "blocks.1.0.bias",
    "blocks.1.1.last.weight",
    "blocks.1.1.last.bias",
    "norm.weight",
    "norm.bias",
    "norm.running_mean",
    "norm.running_var",
    "norm.num_batches_tracked",
]
BUFFERS = ["count", "cache", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]


def test_parameters_and_buffers_are_told_apart() -> None:
    model = Model()
    assert list(model.state_dict()) == NAMES
    assert [name for name, _ in model.named_buffers()] == BUFFERS
    assert [name for name, _ in model.named_parameters()] == [name for name in NAMES if name not in BUFFERS]
    assert len(list(model.parameters())) + len(list(model.buffers())) == len(NAMES) + 1
    assert [name for name, _ in model.named_children()] == [
        "first",
        "blocks.0",
        "blocks.1.0",
        "blocks.1.1.last",
        "norm",
    ]
    assert [name for name, _ in model.named_modules()][:2] == ["", "first"]
    assert next(model.named_parameters("of."))[0] == "of.scale"


def test_arrays_replace_parameters_which_stay_parameters() -> None:
    model = Model()
    x = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    before = model(svod.Tensor(x)).numpy()
    arrays = {name: tensor.numpy().copy() for name, tensor in model.state_dict().items()}
    other = Model()
    for _ in range(2):
        assert other.load_state_dict(arrays) == ([], [])
        assert list(other.state_dict()) == NAMES
        assert all(isinstance(tensor, svod.Tensor) for tensor in other.state_dict().values())
    np.testing.assert_allclose(other(svod.Tensor(x)).numpy(), before, rtol=1e-6)
    arrays["scale"][:] = 0
    np.testing.assert_allclose(other(svod.Tensor(x)).numpy(), before, rtol=1e-6)


def test_nothing_is_replaced_by_a_state_dict_that_does_not_fit() -> None:
    model = Model()
    state: dict[str, Any] = {name: tensor + 1 for name, tensor in model.state_dict().items()}
    before = {name: tensor.tolist() for name, tensor in model.state_dict().items()}
    for change, says in (
        ({"norm.bias": np.zeros(3)}, r"load_state_dict: norm\.bias: expected shape \(2,\), got \(3,\)"),
        ({"nobody": np.zeros(3)}, "missing nothing, unknown \\['nobody'\\]"),
    ):
        with pytest.raises(nn.StateError, match=says):
            model.load_state_dict({**state, **change})
        assert {name: tensor.tolist() for name, tensor in model.state_dict().items()} == before
    del state["scale"]
    with pytest.raises(nn.StateError, match="missing \\['scale'\\]"):
        model.load_state_dict(state)
    assert model.load_state_dict({**state, "nobody": 1}, strict=False) == (["scale"], ["nobody"])
    assert model.scale.tolist() == [1.0] * 4 and model.count.item() == 1

    class Held(nn.Module):
        def __init__(self) -> None:
            self.both = (svod.zeros(2), svod.ones(2))

    with pytest.raises(nn.StateError, match=r"both\.0 is held directly in a tuple"):
        Held().load_state_dict({"both.0": np.ones(2), "both.1": np.ones(2)})


def test_tied_tensors_are_one_parameter_and_stay_tied() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            self.embedding = nn.Embedding(5, 3)
            self.head = nn.Linear(3, 5, bias=False)
            self.head.weight = self.embedding.weight
            self.itself = self

    model = Tied()
    assert [name for name, _ in model.named_parameters()] == ["embedding.weight"]
    assert list(model.state_dict()) == ["embedding.weight", "head.weight"]
    model.load_state_dict({name: np.full((5, 3), 2.0, np.float32) for name in model.state_dict()})
    assert model.head.weight is model.embedding.weight


def test_a_module_is_called_through_forward() -> None:
    class Half(nn.Module):
        def forward(self, x: svod.Tensor, *, by: float = 2) -> svod.Tensor:
            return x / by

    assert Half()(svod.ones(1)).item() == 0.5 and Half()(svod.ones(1), by=4).item() == 0.25
    with pytest.raises(svod.UnsupportedError, match="Module cannot be called: it defines neither forward nor __call__"):
        nn.Module()(svod.ones(1))


def test_containers() -> None:
    model = nn.Sequential(nn.Linear(6, 4), nn.Identity(), nn.Flatten())
    x = svod.ones(2, 3, 6)
    assert model(x).shape == (2, 12)
    assert list(model.state_dict()) == ["0.weight", "0.bias"]
    assert len(model) == 3 and model[-1] is list(model)[2]
    with pytest.raises(IndexError):
        model[3]
    layers = nn.ModuleList([nn.Linear(2, 2)])
    layers.append(nn.Linear(2, 2))
    layers[0] = nn.Identity()
    assert [name for name, _ in layers.named_parameters()] == ["1.weight", "1.bias"]
    named = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Identity()})
    assert list(named) == named.keys() == ["a", "b"] and "a" in named and "c" not in named
    assert named["a"](svod.ones(2)).shape == (2,) and [name for name, _ in named.items()] == ["a", "b"]
    for name in ("keys", "a.b"):
        with pytest.raises(svod.ArgumentError, match="cannot be named"):
            named[name] = nn.Identity()
    seen: list[str] = []
    assert model.apply(lambda module: seen.append(type(module).__name__)) is model
    assert seen == ["Flatten", "Identity", "Linear", "Sequential"]


def test_modules_print_as_trees() -> None:
    assert repr(Model()) == (
        "Model(\n"
        "  (first): Linear(in_features=3, out_features=4, bias=True)\n"
        "  (blocks.0): Linear(in_features=4, out_features=4, bias=True)\n"
        "  (blocks.1.0): Linear(in_features=4, out_features=4, bias=True)\n"
        "  (blocks.1.1.last): Linear(in_features=4, out_features=2, bias=True)\n"
        "  (norm): BatchNorm1d(2, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)\n"
        ")"
    )


def test_layers_print_as_pytorchs_do() -> None:
    torch = pytest.importorskip("torch")
    for layer, args in (
        ("Linear", (3, 4)),
        ("Conv2d", (4, 6, 3, 2, 1, 1, 2)),
        ("Conv1d", (4, 6, 3, 1, 0, 1, 1, False)),
        ("ConvTranspose2d", (4, 6, 3)),
        ("Embedding", (5, 3)),
        ("Flatten", ()),
        ("Identity", ()),
    ):
        ours, theirs = (repr(getattr(module, layer)(*args)) for module in (nn, torch.nn))
        assert ours.replace("padding=1", "padding=(1, 1)") == theirs
    model, theirs = (n.Sequential(n.Linear(2, 3), n.Sequential(n.Flatten())) for n in (nn, torch.nn))
    assert repr(model) == repr(theirs)


def test_a_jitted_model_follows_what_is_loaded() -> None:
    model = Model().eval()
    x = svod.Tensor(np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32))
    for f in (svod.jit(model), svod.jit(model.__call__), svod.jit(lambda x: model(x))):
        for factor in (1.0, 2.0, 3.0):
            model.load_state_dict({name: tensor.numpy() for name, tensor in (model.state_dict()).items()})
            model.first.weight = model.first.weight * factor
            np.testing.assert_allclose(f(x).numpy(), model(x).numpy(), rtol=1e-5, atol=1e-6)
        assert f.traces == 1


def test_what_is_trained_stays_what_an_optimizer_has() -> None:
    model = nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1)).requires_grad_()
    model[1].weight.requires_grad_(False)
    weight: Any = model[0].weight
    made = svod.optim.SGD(model.parameters(), lr=1.0)
    loaded = {name: np.full(tensor.shape, 2.0) for name, tensor in model.state_dict().items()}
    model.load_state_dict(loaded)
    assert model[0].weight is weight and weight.requires_grad and weight.dtype == svod.float32
    assert weight.tolist() == [[2.0, 2.0]] and model[1].weight.dtype == svod.float64
    model[0](svod.ones(2)).sum().backward()
    made.step()
    assert model[0].weight.tolist() == [[1.0, 1.0]]


def test_hooks_change_what_goes_in_and_comes_out() -> None:
    model, x = nn.Sequential(nn.Identity(), nn.ReLU()), svod.Tensor([1.0, -2.0])
    calls: list[str] = []

    def note(name: str, result: object = None) -> object:
        def hook(module: nn.Module, *of: object) -> object:
            assert module is model
            calls.append(f"{name} {len(of)}")
            return result

        return hook

    handles = [
        model.register_forward_pre_hook(note("before")),
        model.register_forward_pre_hook(note("first", (x * -3,)), prepend=True),
        model.register_forward_hook(lambda module, args, result: result + args[0]),
        model.register_forward_hook(note("after"), with_kwargs=True),
    ]
    assert model(x).tolist() == [-3.0, 12.0]
    assert calls == ["first 1", "before 1", "after 3"]
    assert list(model.state_dict()) == [] and "Hook" not in repr(model)
    for handle in (*handles, *handles):
        handle.remove()
    assert model(x).tolist() == [1.0, 0.0]
    # By name as well.
    layer = nn.LayerNorm(2)
    with layer.register_forward_pre_hook(lambda module, args, kwargs: ((), {"x": x}), with_kwargs=True):
        by_hook = layer(x * 0 + 5).tolist()
    assert by_hook == layer(x).tolist()


def test_hooks_are_part_of_what_is_traced_and_differentiated() -> None:
    layer = nn.Linear(2, 1, bias=False)
    layer.weight = svod.ones(1, 2)
    doubled = svod.custom_gradient(lambda y: (y, lambda g: g * 2))
    layer.register_forward_hook(lambda module, args, result: doubled(result))
    x = svod.Tensor([[1.0, 3.0]])
    assert svod.jit(layer)(x).tolist() == [[4.0]]
    assert svod.grad(lambda x: layer(x).sum())(x).tolist() == [[2.0, 2.0]]
    with pytest.raises(TypeError, match="register_forward_hook: hook"):
        layer.register_forward_hook(3)


def test_jit_sees_hooks_that_come_and_go() -> None:
    layer = nn.Identity()
    run, x = svod.jit(layer), svod.Tensor([1.0])
    first = layer.register_forward_hook(lambda module, args, result: result * 2)
    assert run(x).tolist() == [2]
    second = layer.register_forward_hook(lambda module, args, result: result + 1)
    assert run(x).tolist() == [3]
    first.remove()
    assert run(x).tolist() == [2]
    second.remove()
    first.remove()
    assert run(x).tolist() == [1]


def test_pytorchs_ways_to_name_and_make_parts() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            self.w = nn.Parameter(svod.Tensor([2.0, 3.0]))
            self.fixed = nn.Parameter([1.0], requires_grad=False)
            self.add_module("body", nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
            self.register_parameter("bias", None)

        def forward(self, x: svod.Tensor) -> svod.Tensor:
            return self.w * x

    model = Scaled()
    assert [name for name, _ in model.named_parameters()][:3] == ["w", "fixed", "body.0.weight"]
    assert model.w.requires_grad and not model.fixed.requires_grad and model.bias is None
    model(svod.ones(2)).sum().backward()
    assert model.w.grad.tolist() == [1.0, 1.0]
    assert model.get_parameter("body.0.weight") is model.body[0].weight
    assert model.get_buffer("body.1.running_mean") is model.body[1].running_mean
    assert model.get_submodule("body.1") is model.body[1] and model.get_submodule("") is model
    for act, says in (
        (lambda: model.get_parameter("body.1.running_mean"), "Scaled has no parameter 'body.1.running_mean': it has"),
        (lambda: model.get_submodule("body.7"), r"Sequential has no module '7': it has \['0', '1'\]"),
        (lambda: model.get_buffer("w"), "Scaled has no buffer 'w'"),
    ):
        with pytest.raises(svod.ArgumentError, match=says):
            act()
    values = svod.Tensor([1.0])
    assert not values.requires_grad and nn.Parameter(values).requires_grad and not values.requires_grad
    for name, dtype in (("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("float", "float32")):
        getattr(model, name)()
        assert str(model.w.dtype) == dtype and str(model.body[1].num_batches_tracked.dtype) == "int64"
