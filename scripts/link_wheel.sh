#!/usr/bin/env bash
# The linker of the wheel: Zig's, against the interfaces of the oldest glibc that wheels are for, with the C++ library
# and what LLVM compresses with inside. Cargo calls it in place of `cc` (see `make wheel`).
set -euo pipefail

glibc=2.28
machine="$(uname -m)"
static() { gcc -print-file-name="$1"; }

arguments=()
for argument in "$@"; do
    case "$argument" in
        -lstdc++) arguments+=("$(static libstdc++.a)") ;;
        -lz) arguments+=("$(static libz.a)") ;;
        -lzstd) arguments+=("$(static libzstd.a)") ;;
        # Stack unwinding is Zig's own; what reads manifests of Windows and solves equations is in no code that is linked.
        -lgcc_s | -lgcc_eh) arguments+=(-lunwind) ;;
        -lxml2 | -lz3 | */libz3.so | -Wl,--no-undefined-version) ;;
        *) arguments+=("$argument") ;;
    esac
done
exec python -m ziglang cc -target "$machine-linux-gnu.$glibc" "${arguments[@]}" "$(dirname "$0")/glibc.c"
