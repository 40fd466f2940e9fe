#!/usr/bin/env bash
# Makes LLVM 19's development files available: installs Debian's packages where it may,
# else prints the one command to run and stops.
set -euo pipefail

packages=(llvm-19-dev libpolly-19-dev libzstd-dev zlib1g-dev libxml2-dev)

installed() { [[ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null || true)" == "install ok installed" ]]; }

if ! command -v apt-get >/dev/null; then
    prefix="${LLVM_SYS_191_PREFIX:-/usr/lib/llvm-19}"
    [[ "$("$prefix/bin/llvm-config" --version 2>/dev/null || true)" == 19.1.* ]] && exit 0
    echo "svod needs LLVM 19.1 with its headers (LLVM_SYS_191_PREFIX names its folder), zlib, zstd and libxml2." >&2
    exit 1
fi

missing=()
for package in "${packages[@]}"; do
    installed "$package" || missing+=("$package")
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

if [[ "$(id -u)" -eq 0 ]]; then
    as_root=()
elif sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
else
    echo "svod needs LLVM 19. Run this, then make again:" >&2
    echo >&2
    echo "    sudo apt-get update && sudo apt-get install -y ${missing[*]}" >&2
    echo >&2
    exit 1
fi

echo "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
