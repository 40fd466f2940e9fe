"""A convnet of ONNX, loaded and run on batches of several sizes with a progress bar.

python examples/onnx_model.py [model.onnx]

Without a file it makes a small model itself, for which the package `onnx` is needed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable

import numpy as np
from tqdm import tqdm

import svod

MODEL = """
<ir_version: 10, opset_import: ["": 21]>
classify (float[batch, 1, 16, 16] x) => (float[batch, 4] probabilities) {
    filtered = Conv<pads = [1, 1, 1, 1]>(x, kernels)
    positive = Relu(filtered)
    pooled = MaxPool<kernel_shape = [4, 4], strides = [4, 4]>(positive)
    flat = Flatten(pooled)
    scores = Gemm(flat, weights, bias)
    probabilities = Softmax(scores)
}
"""


def made() -> bytes:
    """The model above, with random weights."""
    import onnx

    model = onnx.parser.parse_model(MODEL)
    draw = np.random.default_rng(0)
    for name, shape in [("kernels", (8, 1, 3, 3)), ("weights", (128, 4)), ("bias", (4,))]:
        values = draw.standard_normal(shape).astype(np.float32) / np.sqrt(np.prod(shape[:-1]))
        model.graph.initializer.append(onnx.numpy_helper.from_array(values.astype(np.float32), name))
    return model.SerializeToString()


def extents(port: svod.onnx.Port, batch: int) -> list[int]:
    """Extents of an input: what the model leaves open is the batch in front, and 16 elsewhere."""
    if port.shape is None:
        raise SystemExit(f"the model does not say which extents its input {port.name} has")
    return [n if isinstance(n, int) else batch if at == 0 else 16 for at, n in enumerate(port.shape)]


def inputs(model: svod.onnx.Model, batch: int) -> list[svod.Tensor]:
    """Random inputs: floats, or zeros of other types."""
    svod.manual_seed(batch)
    made = []
    for port in model.inputs:
        shape, dtype = extents(port, batch), port.dtype or svod.float32
        made.append(svod.rand(*shape) if dtype == svod.float32 else svod.zeros(*shape, dtype=dtype))
    return made


def serve(model: svod.onnx.Model, batches: Iterable[int], quiet: bool = False) -> list[float]:
    """Runs batches of these sizes; the seconds that each took."""
    seconds = []
    bar = tqdm(list(batches), disable=quiet, unit=" batches")
    for batch in bar:
        given = inputs(model, batch)
        began = time.perf_counter()
        results = model(*given)
        for result in results:
            result.realize()
        seconds.append(time.perf_counter() - began)
        bar.set_postfix_str(f"{batch} in {1e3 * seconds[-1]:.1f} ms")
    return seconds


def main() -> None:
    model = svod.onnx.load(sys.argv[1] if len(sys.argv) > 1 else made())
    print(f"inputs {model.inputs}\noutputs {model.outputs}")
    sizes = np.random.default_rng(0).integers(33, 65, 200)
    seconds = serve(model, map(int, sizes))
    print(
        f"the first call, which compiles, took {1e3 * seconds[0]:.0f} ms, the others {1e3 * np.median(seconds):.2f} ms"
    )


if __name__ == "__main__":
    main()
