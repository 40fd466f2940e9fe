"""Damaged ONNX models: loaded and run, each has to be refused by an error of svod's, or to give results.

`python tests/python/onnx_damage.py --count 10000 --first 0` damages as many models, one a seed, and tells of those that
crash, raise anything else, take long or take much memory; `--seed 17` runs one again, here. A sample is a node test
of the package `onnx`, so that every operator is among them; what is damaged are the fields of its messages
(numbers at the ends of their types, other operators, names, types, extents and attributes) and bytes of its file.
Workers are processes, since a fault may end one.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import json
import random
import resource
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_nodes

import svod
import svod.onnx

# What one model may take, with kernels that are compiled for it, in seconds of processors.
MOST_SECONDS = 60
# When a model hangs, by the clock of a machine that may be busy.
HANGS = 10 * MOST_SECONDS
# How much more memory a process may have after a model than before, in MB, beside what its results take: the models'
# tensors are of a few kB.
MOST_MEMORY = 1024
# Memory of a worker, in MB: what a file does not warrant has to be refused before that.
ROOM = 16 << 10
FINE = ("results", "refused")
# Models of a worker, which then goes: caches do not grow without bound.
A_WORKER = 500

INTEGERS = [
    0,
    1,
    -1,
    2,
    -2,
    3,
    5,
    7,
    64,
    -64,
    1 << 31,
    -(1 << 31),
    (1 << 31) - 1,
    1 << 40,
    1 << 62,
    (1 << 63) - 1,
    -(1 << 63),
]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e30, -1e30, float("inf"), float("-inf"), float("nan"), 1e-45]


def damaged(seed: int) -> tuple[str, bytes, list[Any]]:
    """The node test that a seed damages, the bytes of the damaged model, and inputs for it."""
    rng = random.Random(seed)
    name = rng.choice(_names())
    case = onnx_nodes.cases()[name]
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs = [onnx_nodes._array(value) for value in case.data_sets[0][0]]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(WAYS)(rng, model, inputs)
    # What is not what it is declared as is refused at once.
    if rng.random() < 0.8:
        for output in model.graph.output:
            output.ClearField("type")
    content = model.SerializeToString()
    if rng.random() < 0.15:
        content = _bytes(rng, content)
    return name, content, inputs


_known: list[str] = []


def _names() -> list[str]:
    if not _known:
        _known.extend(sorted(onnx_nodes.cases()))
    return _known


def _bytes(rng: random.Random, content: bytes) -> bytes:
    """Bytes that are changed, cut, doubled or taken out."""
    found = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(found) + 1)
        to = min(len(found), at + rng.choice((1, 1, 2, 8, 40)))
        match rng.randrange(4):
            case 0 if at < len(found):
                found[at] ^= 1 << rng.randrange(8)
            case 1:
                del found[at:]
            case 2:
                del found[at:to]
            case _:
                found[at:at] = found[at:to]
        if not found:
            break
    return bytes(found)


def _graphs(graph: onnx.GraphProto) -> list[onnx.GraphProto]:
    """A graph, and those inside of its nodes."""
    found = [graph]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found += _graphs(attribute.g)
    return found


def _node(rng: random.Random, model: onnx.ModelProto) -> onnx.NodeProto | None:
    nodes = [node for graph in _graphs(model.graph) for node in graph.node]
    nodes += [node for function in model.functions for node in function.node]
    return rng.choice(nodes) if nodes else None


def _names_of(model: onnx.ModelProto) -> list[str]:
    graph = model.graph
    found = [value.name for value in (*graph.input, *graph.output, *graph.initializer)]
    return [*found, *(name for node in graph.node for name in (*node.input, *node.output)), "", "nowhere"]


def _number(rng: random.Random, model: onnx.ModelProto, inputs: list[Any]) -> None:
    """A number of an attribute."""
    node = _node(rng, model)
    if node is None or not node.attribute:
        return
    attribute = rng.choice(node.attribute)
    if attribute.type == onnx.AttributeProto.INT:
        attribute.i = rng.choice(INTEGERS)
    elif attribute.type == onnx.AttributeProto.FLOAT:
        attribute.f = rng.choice(FLOATS)
    elif attribute.type == onnx.AttributeProto.INTS:
        _list(rng, attribute.ints, INTEGERS)
    elif attribute.type == onnx.AttributeProto.FLOATS:
        _list(rng, attribute.floats, FLOATS)
    elif attribute.type == onnx.AttributeProto.STRING:
        attribute.s = rng.choice((b"", b"\xff", b"SAME_UPPER", b"VALID", b"linear", b"bij,bjk", b"..." * 9))
    elif attribute.type == onnx.AttributeProto.TENSOR:
        _tensor(rng, attribute.t)


def _list(rng: random.Random, values: Any, choices: list[Any]) -> None:
    """A list with another element, one more, one less, or many."""
    match rng.randrange(5):
        case 0 if len(values):
            del values[rng.randrange(len(values))]
        case 1:
            values.append(rng.choice(choices))
        case 2:
            del values[:]
        case 3:
            values.extend([rng.choice(choices)] * rng.choice((2, 9, 100)))
        case _ if len(values):
            values[rng.randrange(len(values))] = rng.choice(choices)


def _tensor(rng: random.Random, tensor: onnx.TensorProto) -> None:
    match rng.randrange(3):
        case 0:
            _list(rng, tensor.dims, INTEGERS)
        case 1:
            tensor.data_type = rng.randrange(30)
        case _:
            tensor.raw_data = rng.randbytes(rng.choice((0, 1, 4, 8, 24)))


def _attribute(rng: random.Random, model: onnx.ModelProto, inputs: list[Any]) -> None:
    """An attribute that goes, comes, or is of another kind."""
    node = _node(rng, model)
    if node is None:
        return
    names = ["axis", "axes", "kernel_shape", "strides", "pads", "dilations", "group", "to", "perm", "keepdims", "mode"]
    names += ["num_heads", "kv_num_heads", "q_num_heads", "hidden_size", "direction", "blocksize", "epsilon", "body"]
    if node.attribute and rng.random() < 0.4:
        del node.attribute[rng.randrange(len(node.attribute))]
    value = rng.choice([rng.choice(INTEGERS), rng.choice(FLOATS), [rng.choice(INTEGERS)] * rng.randrange(1, 5), "text"])
    name = rng.choice([*names, *(attribute.name for attribute in node.attribute)])
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    kept = copy.deepcopy(kept)
    del node.attribute[:]
    node.attribute.extend([*kept, onnx.helper.make_attribute(name, value)])


def _operator(rng: random.Random, model: onnx.ModelProto, inputs: list[Any]) -> None:
    """Another operator in the same place."""
    node = _node(rng, model)
    if node is not None:
        domain, op, _ = rng.choice(svod.onnx.operators())
        node.op_type, node.domain = op, domain
        if domain and domain not in {opset.domain for opset in model.opset_import}:
            model.opset_import.append(onnx.helper.make_opsetid(domain, 1))


def _operands(rng: random.Random, model: onnx.ModelProto, inputs: list[Any]) -> None:
    """Operands or results that go, come, trade places or have another name."""
    node = _node(rng, model)
    if node is None:
        return
    names = rng.choice((node.input, node.input, node.output))
    _list(rng, names, _names_of(model))


def _given(rng: random.Random, model: onnx.ModelProto, inputs: list[Any]) -> None:
    """An input of another shape, type or content, declared so or not."""
    arrays = [at for at, value in enumerate(inputs) if isinstance(value, np.ndarray)]
    if not arrays:
        return
    at = rng.choice(arrays)
    array = inputs[at]
    kinds = [np.float32, np.float64, np.float16, np.int64, np.int32, np.uint8, np.int8, np.bool_]
    match rng.randrange(4):
        case 0:
            array = np.ones([rng.choice((0, 1, 2, 3, 5)) for _ in range(rng.randrange(6))], array.dtype)
        case 1 if array.dtype.kind in "biuf":
            with np.errstate(invalid="ignore"):
                array = array.astype(rng.choice(kinds))
        case 2 if array.dtype.kind in "iu" and array.size:
            info = np.iinfo(array.dtype)
            array = array.copy()
            array.flat[rng.randrange(array.size)] = min(max(rng.choice(INTEGERS), info.min), info.max)
        case _:
            array = array[..., None] if rng.random() < 0.5 else array.reshape(-1)
    inputs[at] = array
    if rng.random() < 0.8 and at < len(model.graph.input):
        declared = model.graph.input[at].type.tensor_type
        declared.elem_type = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        declared.ClearField("shape")


def _declared(rng: random.Random, model: onnx.ModelProto, inputs: list[Any]) -> None:
    """An input or an initialiser that the model describes in another way."""
    graph = model.graph
    if graph.initializer and rng.random() < 0.5:
        _tensor(rng, rng.choice(graph.initializer))
    elif graph.input:
        declared = rng.choice(graph.input).type.tensor_type
        for dim in declared.shape.dim:
            if rng.random() < 0.5:
                dim.dim_param = rng.choice(("n", "m", ""))
            else:
                dim.dim_value = rng.choice(INTEGERS)


def _version(rng: random.Random, model: onnx.ModelProto, inputs: list[Any]) -> None:
    """Another version of an operator set."""
    if model.opset_import:
        rng.choice(model.opset_import).version = rng.choice(
            (0, 1, 6, 9, 11, 13, 15, 17, 18, 20, 22, 25, 28, 29, 1 << 40)
        )


WAYS: list[Callable[[random.Random, onnx.ModelProto, list[Any]], None]] = [
    *[_number] * 5,
    *[_attribute] * 3,
    *[_operator] * 2,
    *[_operands] * 3,
    *[_given] * 4,
    _declared,
    _version,
]


def outcome(content: bytes, inputs: list[Any]) -> str:
    """What comes of a model: "results", "refused" by an error of svod's, or what goes wrong."""
    before, began, told, results = _peak(), time.process_time(), "results", 0
    try:
        for value in svod.onnx.load(content)(*inputs):
            if isinstance(value, svod.Tensor):
                results += value.nbytes
                value.numpy()
    except svod.Error as error:
        told = "refused"
        if not str(error):
            return f"{type(error).__name__} without a message"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    took, more = time.process_time() - began, _peak() - before
    if took > MOST_SECONDS:
        return f"it took {took:.0f} s"
    return f"it took {more:.0f} MB of memory" if more > MOST_MEMORY + 3 * (results >> 20) else told


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _work(seeds: range) -> None:
    """Runs models in this process, a line before and after each."""
    resource.setrlimit(resource.RLIMIT_AS, (ROOM << 20, ROOM << 20))
    _names()
    for seed in seeds:
        print(json.dumps({"begun": seed}), flush=True)
        faulthandler.dump_traceback_later(HANGS, exit=True)
        name, content, inputs = damaged(seed)
        print(json.dumps({"name": name, "outcome": outcome(content, inputs)}), flush=True)
        faulthandler.cancel_dump_traceback_later()


class _Runner:
    """Keeps workers at work."""

    def __init__(self, first: int, count: int) -> None:
        self.next, self.end = first, first + count
        self.lock = threading.Lock()
        self.counts: Counter[str] = Counter()

    def work(self) -> None:
        while True:
            with self.lock:
                seeds = range(self.next, min(self.end, self.next + A_WORKER))
                self.next = seeds.stop
            if not seeds:
                return
            while seeds:
                seeds = range(self._follow(seeds), seeds.stop)

    def _follow(self, seeds: range) -> int:
        """The seed at which to go on once a worker has ended."""
        command = [sys.executable, __file__, "--worker", str(seeds.start), str(seeds.stop)]
        at, over = seeds.start, True
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None and process.stderr is not None
            told: list[str] = []
            reader = threading.Thread(target=lambda: told.extend(process.stderr or ()))
            reader.start()
            for line in process.stdout:
                said = json.loads(line)
                if "begun" in said:
                    at, over = said["begun"], False
                else:
                    over = True
                    self._count(at, said["name"], said["outcome"])
            reader.join()
        if not over:
            last = "".join(told[-30:]).strip()[-1500:]
            self._count(at, "", f"the process ended, {process.returncode}: {last}")
        return at + 1

    def _count(self, seed: int, name: str, found: str) -> None:
        fine = found in FINE
        with self.lock:
            self.counts[found if fine else "faults"] += 1
            if not fine:
                print(f"--seed {seed} {name}: {found}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--save", type=Path, help="write the damaged model of --seed to this file")
    parser.add_argument("--worker", type=int, nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return _work(range(*options.worker))
    if options.seed is not None:
        name, content, inputs = damaged(options.seed)
        if options.save:
            options.save.write_bytes(content)
        try:
            print(name, onnx.load_from_string(content), [(v.dtype, v.shape) for v in inputs if hasattr(v, "shape")])
        except Exception as error:
            print(name, error)
        print(outcome(content, inputs))
        return None
    runner = _Runner(options.first, options.count)
    threads = [threading.Thread(target=runner.work) for _ in range(options.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(dict(runner.counts))
    sys.exit(bool(runner.counts["faults"]))


if __name__ == "__main__":
    main()
