#!/usr/bin/env bash
# Audits the newest wheel of dist/, installs it into a fresh virtual environment of each Python, and computes with it.
# The first argument is a Python that has auditwheel and abi3audit, the others are those to try. In the first of these
# PyTorch is imported before, where pip finds its CPU build: both carry an LLVM or a libc++ of their own.
set -euo pipefail

tools="$1"
shift
wheel="$(ls -t dist/svod-*.whl | head -n 1)"
limit=$((40 * 1000 * 1000))
size="$(stat -c %s "$wheel")"
echo "$wheel: $((size / 1000)) kB"
[[ "$size" -lt "$limit" ]] || { echo "the wheel is over $limit bytes" >&2; exit 1; }

audit="$("$tools" -m auditwheel show "$wheel")"
grep -Eq '"manylinux_2_(1[0-9]|2[0-8])_' <<<"$audit" || { echo "$audit" >&2; exit 1; }
echo "auditwheel: $(grep -oE 'manylinux_2_[0-9]+_[a-z0-9_]+' <<<"$audit" | head -n 1)"
"$tools" -m abi3audit --strict --summary "$wheel"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
wheel="$(realpath "$wheel")"
scripts="$(realpath "$(dirname "$0")")"
cat > "$work/compute.py" <<'PYTHON'
import sys

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
inverse = svod.linalg.inv(svod.Tensor(a[:48]) + 20 * svod.eye(48)) @ (a[:48] + 20 * np.eye(48, dtype=np.float32))
np.testing.assert_allclose(inverse.numpy(), np.eye(48), atol=1e-4)
if torch is not None:
    np.testing.assert_allclose((torch.from_numpy(a) @ torch.from_numpy(b)).numpy(), a @ b, rtol=1e-4, atol=1e-4)
version = ".".join(map(str, sys.version_info[:2]))
print(f"works in a fresh environment of Python {version}, {'beside PyTorch' if torch else 'PyTorch not found'}")
PYTHON

tried=" "
first=yes
for python in "$@"; do
    version="$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" || continue
    [[ "$tried" == *" $version "* ]] && continue
    tried+="$version "
    environment="$work/$version"
    "$python" -m venv "$environment"
    "$environment/bin/python" -m pip install --quiet "$wheel"
    [[ -z "$first" ]] || bash "$scripts/install_torch.sh" "$environment/bin/python"
    first=
    if ldd "$environment"/lib/python*/site-packages/svod/_svod*.so | grep -iE 'llvm|stdc\+\+'; then
        echo "the extension links the system's LLVM or C++ library" >&2
        exit 1
    fi
    (cd "$work" && SVOD_CACHE_DIR="$work/cache-$version" "$environment/bin/python" compute.py)
done
[[ -z "$first" ]] || { echo "no Python to try the wheel on" >&2; exit 1; }
