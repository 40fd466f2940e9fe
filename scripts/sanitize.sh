#!/bin/sh
# The tests of device, code loader and runtime under AddressSanitizer and ThreadSanitizer, and these and Python's under
# Valgrind; docs/fuzzing.md says which `unsafe` block runs where. `scripts/sanitize.sh [address|thread|valgrind|loader]..`:
# all four by default. What sanitizers need is in stable Rust, behind RUSTC_BOOTSTRAP.
set -eu
cd "$(dirname "$0")/.."
target=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1

address() {
    # Tests only: documentation's examples are linked without the sanitizer. A forked child has no sanitizer's threads.
    RUSTFLAGS="-Zsanitizer=address -Cunsafe-allow-abi-mismatch=sanitizer" ASAN_OPTIONS="detect_leaks=0" \
        CARGO_TARGET_DIR=target/address \
        cargo test -p svod-device -p svod-codegen -p svod-runtime --lib --tests --target "$target" -- --skip unix::
}

thread() {
    # The sanitizer ends a forked child that starts threads.
    RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" \
        TSAN_OPTIONS="suppressions=$PWD/scripts/thread_sanitizer.supp" CARGO_TARGET_DIR=target/sanitizer \
        cargo test -p svod-runtime --test pool --target "$target" -- --skip unix::
}

valgrind() {
    # Invalid reads and writes only: CPython itself looks at bytes that it has not set. Python's own allocator would hide
    # blocks from Valgrind, whose processor has no AVX-512; code that svod makes is new code at an old address.
    checked="command valgrind --quiet --undef-value-errors=no --smc-check=all --suppressions=scripts/valgrind.supp --error-exitcode=9"
    export SVOD_TARGET=x86-64-v3 PYTHONMALLOC=malloc
    $checked .venv/bin/python -m pytest -q -x -p no:cacheprovider \
        tests/python/test_state_machine.py tests/python/test_state_machine_plans.py -k "${SANITIZE_TESTS:-0 or 1}"
    $checked .venv/bin/python -m pytest -q -x -p no:cacheprovider tests/python/test_control.py \
        -k "branches_in or newton or trade_places or of_structures or of_symbolic or symbolic_number or a_scan_in"
    unset SVOD_TARGET PYTHONMALLOC
}

loader() {
    # The tests of device and codegen as they are, without a build of their own: code that kernels are is looked at, too.
    runner="CARGO_TARGET_$(echo "$target" | tr 'a-z-' 'A-Z_')_RUNNER"
    env -u RUSTC_BOOTSTRAP "$runner=valgrind --quiet --undef-value-errors=no --smc-check=all --suppressions=$PWD/scripts/valgrind.supp --error-exitcode=9" \
        SVOD_TARGET=x86-64-v3 cargo test -p svod-device -p svod-codegen --lib --test buffer --test program --test launch \
        --test safetensors --test load --test kernels -- --test-threads=1
}

for part in "${@:-address thread valgrind loader}"; do
    for name in $part; do "$name"; done
done
