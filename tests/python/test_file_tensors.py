"""Tensors of files lend the file's pages; what is made of them is on the CPU, and a copy is a copy (issue 22)."""

import copy
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import svod

NUMBERS = np.arange(1, 5, dtype=np.float32)
ONES = np.ones(4, np.float32)


def disk(path: Path, content: Any = NUMBERS) -> svod.Tensor:
    """A tensor on the device of a file that has these numbers."""
    content = np.asarray(content)
    content.tofile(path)
    return svod.empty(*content.shape, dtype=str(content.dtype), device=f"DISK:{path}")


def stored(path: Path) -> svod.Tensor:
    """A tensor of a safetensors file that has `NUMBERS`."""
    svod.save_safetensors({"a": svod.Tensor(NUMBERS)}, path)
    return svod.load_safetensors(path)["a"]


def overwrite(path: Path, value: float) -> None:
    """Writes other numbers into the file, behind svod's back."""
    content = path.read_bytes()
    start = 0
    if len(content) > NUMBERS.nbytes:
        start = 8 + struct.unpack("<Q", content[:8])[0]
        assert json.loads(content[8:start])["a"]["data_offsets"] == [0, NUMBERS.nbytes]
    with path.open("r+b") as file:
        file.seek(start)
        file.write(np.full(4, value, np.float32).tobytes())


def assigned(t: svod.Tensor) -> svod.Tensor:
    target = svod.zeros(4)
    target[:] = t
    return target


def planned(t: svod.Tensor) -> svod.Tensor:
    plan = svod.prepare(t.reshape(2, 2))
    plan.execute()
    return plan.outputs[0]


def loaded(t: svod.Tensor) -> svod.Tensor:
    layer = svod.nn.Linear(2, 2, bias=False)
    layer.load_state_dict({"weight": t.reshape(2, 2)})
    return layer.weight


def made(t: svod.Tensor) -> svod.Tensor:
    layer = svod.nn.LayerNorm(4)
    layer.load_state_dict({"weight": t, "bias": t})
    return layer.bias


COPIES: dict[str, Callable[[svod.Tensor], Any]] = {
    "clone": lambda t: t.clone(),
    "Tensor": svod.Tensor,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "assign": lambda t: svod.zeros(4).assign(t),
    "copy_": lambda t: svod.zeros(4).copy_(t),
    "setitem": assigned,
    "numpy": lambda t: t.numpy(),
    "asarray": np.asarray,
    "dlpack": np.from_dlpack,
    "contiguous": lambda t: t.contiguous().realize(),
    "reshape": lambda t: t.reshape(2, 2).realize(),
    "clone of a shape": lambda t: t.reshape(2, 2).clone(),
    "part": lambda t: t[1:3].realize(),
    "clone of a part": lambda t: t[1:3].clone(),
    "clone of a reversed part": lambda t: t.flip(0)[:2].clone(),
    "computed": lambda t: (t + 0).realize(),
    "plan": planned,
    "jit": lambda t: svod.jit(lambda x: x)(t),
    "closure": lambda t: svod.jit(lambda x: (t, x + 1))(svod.ones(1))[0],
    "state dict": loaded,
    "state dict without a shape": made,
}


@pytest.mark.parametrize("make", [stored, disk])
@pytest.mark.parametrize("name", COPIES)
def test_a_copy_of_a_file_does_not_follow_it(tmp_path: Path, name: str, make: Callable[[Path], svod.Tensor]) -> None:
    path = tmp_path / "numbers"
    tensor = make(path)
    taken = COPIES[name](tensor)
    overwrite(path, 99)
    assert 99 not in np.asarray(taken.tolist())
    assert np.isin(np.asarray(taken.tolist()), NUMBERS).all()


@pytest.mark.parametrize("make", [stored, disk])
def test_the_tensor_of_a_file_lends_its_pages(tmp_path: Path, make: Callable[[Path], svod.Tensor]) -> None:
    path = tmp_path / "numbers"
    tensor = make(path)
    lazy = tensor * 2
    overwrite(path, 9)
    assert tensor.tolist() == [9] * 4
    # Read when it is computed, and remembered from then on.
    assert lazy.tolist() == [18] * 4
    overwrite(path, 7)
    assert (tensor.tolist(), lazy.tolist()) == ([7] * 4, [18] * 4)


@pytest.mark.parametrize("make", [stored, disk])
def test_a_variable_in_a_file_has_a_gradient_in_memory(tmp_path: Path, make: Callable[[Path], svod.Tensor]) -> None:
    tensor = make(tmp_path / "numbers")
    gradient = svod.grad(lambda x: (x * x).sum())(tensor)
    assert gradient.device == "CPU" and gradient.tolist() == (2 * NUMBERS).tolist()
    tensor.requires_grad_()
    (tensor * tensor).sum().backward()
    assert tensor.grad is not None
    assert tensor.grad.device == "CPU" and tensor.grad.tolist() == (2 * NUMBERS).tolist()


WITH: dict[str, tuple[Callable[[svod.Tensor], Any], Any]] = {
    "scaled": (lambda x: x * 2, NUMBERS * 2),
    "left": (lambda x: x + svod.Tensor(ONES), NUMBERS + 1),
    "right": (lambda x: svod.Tensor(ONES) + x, NUMBERS + 1),
    "two files": (lambda x: x + x.reshape(4), NUMBERS * 2),
    "element": (lambda x: x[1], 2),
    "negative": (lambda x: x[-1], 4),
    "part": (lambda x: x[1:3], NUMBERS[1:3]),
    "indices": (lambda x: x[svod.Tensor([2, 0])], NUMBERS[[2, 0]]),
    "mask": (lambda x: x[x > 2], NUMBERS[2:]),
    "where": (lambda x: svod.where(x > 2, x, svod.zeros(4).contiguous()), [0, 0, 3, 4]),
    "shape": (lambda x: x.reshape(2, 2), NUMBERS.reshape(2, 2)),
    "transposed": (lambda x: x.reshape(2, 2).T, NUMBERS.reshape(2, 2).T),
    "product": (lambda x: x.reshape(2, 2) @ svod.eye(2).contiguous(), NUMBERS.reshape(2, 2)),
    "sum": (lambda x: x.sum(), 10),
    "cat": (lambda x: svod.cat([x, svod.Tensor(ONES)]), [*NUMBERS, *ONES]),
    "stack": (lambda x: svod.stack([x, svod.Tensor(ONES)]), [NUMBERS, ONES]),
    "sort": (lambda x: x.sort(descending=True)[0], NUMBERS[::-1]),
    "einsum": (lambda x: svod.einsum("i,i->", x, svod.Tensor(ONES)), 10),
    "written": (lambda x: svod.zeros(4).contiguous().index_add_(0, svod.arange(4), x), NUMBERS),
    "vmap": (lambda x: svod.vmap(lambda a: a * 2)(x), NUMBERS * 2),
    "vmap of two": (lambda x: svod.vmap(lambda a, b: a * b)(x, svod.Tensor(NUMBERS)), NUMBERS**2),
    "jit": (lambda x: svod.jit(lambda a, b: a + b)(x, svod.Tensor(ONES)), NUMBERS + 1),
    "closure": (lambda x: svod.jit(lambda a: a + x)(svod.Tensor(ONES)), NUMBERS + 1),
    "loop": (lambda x: svod.iterate(3, lambda i, v: v + x, svod.Tensor(ONES)), 3 * NUMBERS + 1),
    "loop from it": (lambda x: svod.iterate(3, lambda i, v: v * 2, x), 8 * NUMBERS),
    "function": (lambda x: svod.custom(lambda a, b: a + b, x, svod.Tensor(ONES)), NUMBERS + 1),
    "full_like": (lambda x: svod.full_like(x, 3), ONES * 3),
    "zeros_like": (svod.zeros_like, ONES * 0),
    "drawn like it": (lambda x: svod.rand_like(x) * 0, ONES * 0),
    "moved": (lambda x: x.to("CPU"), NUMBERS),
    "cast": (lambda x: x.cast("int32"), NUMBERS),
    "bits": (lambda x: x.bitcast("int32"), NUMBERS.view(np.int32)),
}


@pytest.mark.parametrize("name", WITH)
def test_what_is_computed_with_a_file_is_on_the_cpu(tmp_path: Path, name: str) -> None:
    make, expected = WITH[name]
    x = disk(tmp_path / "numbers")
    result = make(x)
    assert result.device == "CPU", "before it is read"
    np.testing.assert_array_equal(result.numpy(), np.asarray(expected))
    assert result.device == "CPU", "after it was read"
    assert x.device.startswith("DISK:")
    again = make(disk(tmp_path / "others"))
    plan = svod.prepare(again + 0)
    plan.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), np.asarray(expected))


def test_iteration_reads_elements_without_compiling(tmp_path: Path) -> None:
    x = disk(tmp_path / "numbers", np.arange(1000, dtype=np.float32))
    before = svod.caches()
    assert [float(v) for v in x] == list(range(1000))
    assert [row.tolist() for row in x.reshape(500, 2)][7] == [14, 15]
    assert svod.caches() == before


def test_a_jitted_function_takes_files_and_memory_alike(tmp_path: Path) -> None:
    w = svod.Tensor(ONES)
    f = svod.jit(lambda a: a + w)
    x = disk(tmp_path / "numbers")
    assert [f(t).tolist() for t in (x, w, x)] == [(NUMBERS + 1).tolist(), [2] * 4, (NUMBERS + 1).tolist()]
    assert f(x).device == "CPU"


def test_plans_take_files_as_inputs(tmp_path: Path) -> None:
    x, w = disk(tmp_path / "numbers"), svod.Tensor(ONES)
    plan = (x + w).prepare(inputs=[x])
    plan.execute()
    assert plan.outputs[0].tolist() == (NUMBERS + 1).tolist()
    plan.execute(w)
    assert plan.outputs[0].tolist() == [2] * 4
    plan.execute(disk(tmp_path / "others", NUMBERS * 2))
    assert plan.outputs[0].tolist() == (NUMBERS * 2 + 1).tolist()


def test_a_file_that_is_moved_to_another_device_is_there(tmp_path: Path) -> None:
    x = disk(tmp_path / "numbers")
    there = x.to("CPU:1")
    assert there.device == "CPU:1" and (there + 1).tolist() == (NUMBERS + 1).tolist()
    parts = x.shard(["CPU:1", "CPU:2"], 0)
    assert (parts * 2).tolist() == (NUMBERS * 2).tolist()


def test_a_models_weights_are_copies_unless_they_are_to_be_the_tensors_themselves() -> None:
    one, two, three = (svod.nn.Linear(2, 2) for _ in range(3))
    two.load_state_dict(one.state_dict())
    three.load_state_dict(one.state_dict(), assign=True)
    before = one.weight.numpy().copy()
    one.weight[0, 0] = 5
    np.testing.assert_array_equal(two.weight.numpy(), before)
    assert three.weight is one.weight
    two.weight[1, 1] = 7
    assert one.weight[1, 1].item() == before[1, 1]


def test_a_target_network_keeps_its_weights_while_the_other_one_learns() -> None:
    net, target = svod.nn.Linear(2, 1), svod.nn.Linear(2, 1)
    net.requires_grad_()
    target.load_state_dict(net.state_dict())
    before = target.weight.numpy().copy()
    optimizer = svod.optim.SGD(net.parameters(), lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        net(svod.ones(4, 2)).sum().backward()
        optimizer.step()
    np.testing.assert_array_equal(target.weight.numpy(), before)
    assert (net.weight.numpy() != before).all()
    target.load_state_dict(net.state_dict())
    np.testing.assert_array_equal(target.weight.numpy(), net.weight.numpy())
