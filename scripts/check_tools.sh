#!/usr/bin/env bash
# Says what is missing before anything is built.
set -euo pipefail

python="$1"
fail() { echo "$1" >&2; exit 1; }

command -v "$python" >/dev/null || fail "svod needs Python 3.11 or later (PYTHON=… make names another one than $python)."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "svod needs Python 3.11 or later; $python is $("$python" --version)."
"$python" -c 'import ensurepip, venv' 2>/dev/null || fail "Python's venv is missing: sudo apt-get install -y python3-venv"
command -v cargo >/dev/null || fail "svod needs Rust 1.88 or later: https://rustup.rs"
command -v cc >/dev/null && command -v c++ >/dev/null || fail "A C++ compiler is missing: sudo apt-get install -y build-essential"
