#!/bin/sh
# Runs the runtime's tests with several threads under ThreadSanitizer (docs/evidence.md). It takes a nightly toolchain with the sources
# of the standard library, which has to be instrumented, too; without one this says so and ends with status 77.
# What came of it: build/thread-sanitizer.json (tests, how many of them failed, reports of races); all that was said: build/thread-sanitizer.log.
#
#     scripts/thread-sanitizer.sh TARGET_FOLDER
set -eu
cd "$(dirname "$0")/.."
target=${1:-build/thread-sanitizer}
log=build/thread-sanitizer.log
result=build/thread-sanitizer.json
mkdir -p build
# Of an earlier run: it would say nothing about this tree.
rm -f "$result"

skip() {
    echo "ThreadSanitizer did NOT run: $1" >&2
    exit 77
}

command -v rustup >/dev/null || skip "no rustup, so no nightly toolchain"
rustup toolchain list | grep -q '^nightly' || skip "no nightly toolchain (rustup toolchain install nightly)"
if ! rustup component list --toolchain nightly | grep -q '^rust-src (installed)'; then
    rustup component add --toolchain nightly rust-src || skip "no sources of the standard library (rustup component add rust-src --toolchain nightly)"
fi

# Faults are the runtime's. Programs go on after a race, so that all are counted, and end with 66.
export TSAN_OPTIONS="handle_segv=0 handle_sigbus=0 handle_sigill=0 handle_sigfpe=0 handle_abort=0 allow_user_segv_handler=1 exitcode=66 ${TSAN_OPTIONS:-}"
# The debuggers' and profilers' views are not about threads, and programs that tests compile are not instrumented.
export RUSTFLAGS="-Zsanitizer=thread -Cforce-frame-pointers=yes --cfg lockgate_sanitized"
# Not run: two tests in which threads are killed all the time. The kernel interrupts the sanitizer itself then, with its locks held, and
# the runtime's handler, which is instrumented, waits for them for ever.
tests() {
    cargo +nightly test -Zbuild-std --target x86_64-unknown-linux-gnu --target-dir "$target" --locked --no-fail-fast -p lockgate \
        --test threads --test calls --test crossings --test async_calls --test registry --test limits --test grants "$@"
}
tests --no-run || skip "the tests could not be built"
status=0
tests -- --skip restarts_under_fire --skip revocation_reaches_threads >"$log" 2>&1 || status=$?
# A program that ends badly, of a race or of anything else, is a failure even if each of its tests passed.
awk -v status="$status" '
    /^test result/ { passed += $4; failed += $6 }
    /WARNING: ThreadSanitizer: data race/ { races++ }
    END { if (status && !failed) failed = 1
          printf "{\"tests\": %d, \"failed\": %d, \"races\": %d}\n", passed + failed, failed, races }' "$log" >"$result"
grep -A12 -e 'WARNING: ThreadSanitizer' -e '^failures:' "$log" >&2 || true
cat "$result"
exit "$status"
