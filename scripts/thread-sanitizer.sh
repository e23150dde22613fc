#!/bin/sh
# Runs the runtime's tests with several threads under ThreadSanitizer (docs/appendix/evidence.md). It takes a nightly toolchain with the sources
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
programs() {
    cargo +nightly test -Zbuild-std --target x86_64-unknown-linux-gnu --target-dir "$target" --locked --no-run -p lockgate-tests --test suites
}
built=$(programs 2>&1) || { echo "$built" >&2; skip "the tests could not be built"; }

# Each test runs in a process of its own, and once more if it hangs, up to five times. The kernel's signals, by which the runtime ends
# threads, find some of them inside the sanitizer, with its locks held; the runtime's handler, which is instrumented, waits for these for
# ever. A lock of ours would be waited for each time. Not run: two tests in which threads are killed all the time.
folder=$PWD/crates/lockgate/tests
suites="threads|calls|crossings|async_calls|registry|limits|grants"
tests=0 failed=0 hung=0
: >"$log"
for program in $(echo "$built" | sed -n 's/^ *Executable .* (\(.*\))$/\1/p'); do
    case $program in /*) ;; *) program=$PWD/$program ;; esac
    for name in $(cd "$folder" && "$program" --list --skip restarts_under_fire --skip revocation_reaches_threads | sed -n 's/: test$//p' | grep -E "^($suites)::"); do
        tries=1
        echo "== $program $name" >>"$log"
        while
            status=0
            (cd "$folder" && timeout -s KILL 60 "$program" --exact "$name") >>"$log" 2>&1 || status=$?
            [ "$status" -eq 137 ] && [ "$tries" -lt 5 ]
        do
            hung=$((hung + 1)) tries=$((tries + 1))
        done
        # Tests that are for children of others only, are left out by the program itself.
        [ "$status" -eq 0 ] && tail -n 2 "$log" | grep -q '1 ignored' && continue
        tests=$((tests + 1))
        # A program that ends badly, of a race or of anything else, is a failure even if its test passed.
        [ "$status" -eq 0 ] || { failed=$((failed + 1)); echo "failed: $name (status $status)" >&2; }
    done
done
races=$(grep -c 'WARNING: ThreadSanitizer: data race' "$log") || true
grep -A12 -e 'WARNING: ThreadSanitizer' -e '^failures:' "$log" >&2 || true
echo "{\"tests\": $tests, \"failed\": $failed, \"races\": $races, \"hung_in_the_sanitizer\": $hung}" | tee "$result"
[ "$tests" -gt 0 ] && [ "$failed" -eq 0 ]
