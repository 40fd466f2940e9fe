#!/usr/bin/env bash
# Installs the CPU build of PyTorch into the given Python's environment, if pip can find it.
# The version's "+cpu" never matches the package index's CUDA build, so without a folder of
# wheels (PIP_FIND_LINKS) PyTorch is simply missing.
set -euo pipefail

python="$1"
requirement="torch==2.13.0+cpu"

if "$python" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("torch") is None)'; then
    exit 0
elif ! "$python" -m pip install --quiet "$requirement" 2>/dev/null; then
    echo "PyTorch is missing: pip finds no $requirement (set PIP_FIND_LINKS to a folder that holds its wheel)."
fi
