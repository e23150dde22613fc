#!/bin/sh
# Runs the runtime's tests with several threads under ThreadSanitizer (docs/evidence.md). It takes a nightly toolchain with the sources
# of the standard library, which has to be instrumented, too; without one this says so and ends with status 77.
#
#     scripts/thread-sanitizer.sh TARGET_FOLDER
set -eu
cd "$(dirname "$0")/.."
target=${1:-build/thread-sanitizer}

skip() {
    echo "ThreadSanitizer did NOT run: $1" >&2
    exit 77
}

command -v rustup >/dev/null || skip "no rustup, so no nightly toolchain"
rustup toolchain list | grep -q '^nightly' || skip "no nightly toolchain (rustup toolchain install nightly)"
if ! rustup component list --toolchain nightly | grep -q '^rust-src (installed)'; then
    rustup component add --toolchain nightly rust-src || skip "no sources of the standard library (rustup component add rust-src --toolchain nightly)"
fi

# Reads that are not synchronised on purpose: see the file.
export TSAN_OPTIONS="suppressions=$PWD/tests/models/thread-sanitizer.txt handle_segv=0 handle_sigbus=0 handle_sigill=0 handle_sigfpe=0 handle_abort=0 allow_user_segv_handler=1 halt_on_error=1 exitcode=66 ${TSAN_OPTIONS:-}"
# The debuggers' and profilers' views are not about threads, and programs that tests compile are not instrumented.
export RUSTFLAGS="-Zsanitizer=thread -Cforce-frame-pointers=yes --cfg lockgate_sanitized"
exec ${TSAN_NICE:-} cargo +nightly test -Zbuild-std --target x86_64-unknown-linux-gnu --target-dir "$target" --locked -p lockgate \
    --test threads --test calls --test idle --test crossings --test async_calls --test registry --test limits --test grants --test call_graphs
