#!/bin/sh
# The task pool's tests under ThreadSanitizer (nightly Rust). The tests of `fork` stay out: the
# sanitizer ends a forked child that starts threads.
set -eu
cd "$(dirname "$0")/.."
target=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" \
    TSAN_OPTIONS="suppressions=$PWD/scripts/thread_sanitizer.supp" \
    CARGO_TARGET_DIR=target/sanitizer \
    cargo +nightly test -p svod-runtime --test pool --target "$target" -- --skip unix::
