#!/usr/bin/env bash
# Installs the newest wheel of dist/ into a fresh virtual environment and computes with it.
# PyTorch is imported first where pip finds its CPU build: both carry an LLVM or a libc++ of their own.
set -euo pipefail

python="$1"
wheel="$(ls -t dist/svod-*.whl | head -n 1)"
limit=$((40 * 1000 * 1000))
size="$(stat -c %s "$wheel")"
echo "$wheel: $((size / 1000)) kB"
[[ "$size" -lt "$limit" ]] || { echo "the wheel is over $limit bytes" >&2; exit 1; }

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet "$wheel"
bash scripts/install_torch.sh "$work/venv/bin/python"

if ldd "$work"/venv/lib/python*/site-packages/svod/_svod*.so | grep -i llvm; then
    echo "the extension links the system's LLVM" >&2
    exit 1
fi
cd "$work"
SVOD_CACHE_DIR="$work/cache" venv/bin/python - <<'PYTHON'
try:
    import torch
except ImportError:
    torch = None
import numpy as np
import svod

a = np.random.default_rng(0).standard_normal((64, 48), np.float32)
b = np.random.default_rng(1).standard_normal((48, 32), np.float32)
result = (svod.Tensor(a) @ svod.Tensor(b)).softmax(-1).numpy()
scores = np.exp(a @ b - (a @ b).max(-1, keepdims=True))
np.testing.assert_allclose(result, scores / scores.sum(-1, keepdims=True), rtol=1e-5, atol=1e-6)
if torch is not None:
    np.testing.assert_allclose((torch.from_numpy(a) @ torch.from_numpy(b)).numpy(), a @ b, rtol=1e-4, atol=1e-4)
print(f"works in a fresh environment, {'beside PyTorch' if torch else 'PyTorch not found'}")
PYTHON
