#!/usr/bin/env bash
# svod on a GPU: `scripts/gpu_check.sh [wheel] [driver] [tests] [random] [bench] [set] [steps]`, all of it by default, each part
# below ten minutes. Needs a wheel in dist/ (`make wheel`, which may be of another machine), a Python with NumPy and pytest
# (PYTHON names it), and no network; PyTorch, Triton, JAX and CuPy take part where they are. Results are in $OUT
# (by default docs/benchmarks): gpu.md and gpu.json, and a log of each part. DEVICE=CPU with ARGS=--small tries the script itself.
set -uo pipefail
cd "$(dirname "$0")/.."

python="${PYTHON:-python3}"
out="${OUT:-docs/benchmarks}"
logs="${OUT:-target/gpu-check}"
site="$PWD/target/gpu-check/site"
mkdir -p "$out" "$logs"
export PYTHONPATH="$site${PYTHONPATH:+:$PYTHONPATH}"
# What is compiled here counts as cold, and stays out of anybody's cache.
cache="$(mktemp -d)"
trap 'rm -rf "$cache"' EXIT
export DEVICE="${DEVICE:-CUDA}" SVOD_CACHE_DIR="$cache" PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1

wheel() {
    local wheel
    wheel="$(ls -t dist/svod-*.whl | head -n 1)" || return 1
    rm -rf "$site"
    # A wheel without dependencies is an archive: that needs no pip.
    "$python" -m zipfile -e "$wheel" "$site" && echo "$wheel"
}

driver() {
    nvidia-smi --query-gpu=name,driver_version,memory.total,compute_cap,clocks.max.sm,power.limit --format=csv || true
    "$python" - <<'PYTHON'
import importlib.metadata
import os
import time

import numpy as np
import svod

DEVICE = os.environ["DEVICE"]
for package in ("svod", "numpy", "torch", "triton", "jax", "cupy", "pytest"):
    try:
        print(package, importlib.metadata.version(package))
    except importlib.metadata.PackageNotFoundError:
        print(package, "is not there")
print(svod.__file__)
print(svod.devices() if hasattr(svod, "devices") else "svod.devices() is not there")
start = time.perf_counter()
x = svod.Tensor(np.arange(1000, dtype=np.float32), device=DEVICE)
print((x * 2 + 1).numpy()[:4], x.device, f"{time.perf_counter() - start:.3f} s with the driver's start")
a = np.random.default_rng(0).standard_normal((300, 200), np.float32)
t = svod.Tensor(a).to(DEVICE)
np.testing.assert_allclose((t + 1).numpy(), a + 1, rtol=1e-6)
np.testing.assert_allclose(t.sum(1).numpy(), a.sum(1), rtol=1e-3, atol=1e-3)
np.testing.assert_allclose(t.softmax(-1).sum(-1).numpy(), np.ones(300), rtol=1e-5)
np.testing.assert_allclose((t @ t.T).numpy(), a @ a.T, rtol=1e-3, atol=1e-3)
print("elementwise, sums, softmax and a product are right")
PYTHON
}

tests() {
    "$python" -m pytest -p no:cacheprovider --maxfail="${MAXFAIL:-20}" --durations=5 tests/python/test_cuda*.py
}

# Programs that are drawn at random, on the GPU, against NumPy.
random() {
    PYTHONPATH="tests/python:$PYTHONPATH" "$python" -m fuzz --modes cuda --seconds "${SECONDS_RANDOM:-60}" --jobs "${JOBS:-8}"
}

bench() {
    "$python" benches/compare_gpu.py --device "$DEVICE" --output "$out/gpu.md" ${ARGS:-}
}

set_of_products() {
    "$python" benches/compare_gpu.py --device "$DEVICE" --matmul-set --only svod,torch --add --output "$out/gpu.md" ${ARGS:-}
}

# Steps of training, beside PyTorch.
steps() {
    "$python" benches/training_steps.py --device "$DEVICE" --only svod,torch,torch.compile --rounds 1 --seconds "${SECONDS_STEP:-1}" \
        --limit 90 --total 400 --output "$out/gpu_training.md" ${STEPS:+--steps "$STEPS"}
}

# A part by itself: what `timeout` below runs.
if [[ "${1:-}" == --alone ]]; then
    "$2"
    exit
fi

status=0
[[ $# -gt 0 ]] || set -- wheel driver tests random bench set steps
for part in "$@"; do
    case "$part" in
        wheel | driver | tests | random | bench | steps) action="$part" ;;
        set) action=set_of_products ;;
        *) echo "gpu_check.sh: no part is called $part" >&2; exit 2 ;;
    esac
    echo "== $part"
    start=$(date +%s)
    # A part that hangs takes no other with it. An interrupt lets the benches write what they have.
    timeout --signal=INT --kill-after=20 "${LIMIT:-540}" scripts/gpu_check.sh --alone "$action" 2>&1 | tee "$logs/$part.log"
    code="${PIPESTATUS[0]}"
    echo "== $part took $(($(date +%s) - start)) s$([[ "$code" == 0 ]] || echo ", and failed ($code)")"
    [[ "$code" == 0 ]] || status=1
done
exit "$status"
