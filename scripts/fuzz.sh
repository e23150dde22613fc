#!/bin/sh
# Long fuzzing with libFuzzer: fuzz.sh [-n EXECUTIONS] [-o REPORT] [TARGET...]; all targets and ten million executions of each without
# arguments. The report is JSON: executions, operations, findings, executions since the last finding, coverage.
# Inputs that are found to be worth keeping stay in build/fuzz/corpus; what fails is in build/fuzz/findings.
set -eu
cd "$(dirname "$0")/.."

executions=10000000
report=build/fuzz.json
while getopts n:o: option; do
    case $option in
    n) executions=$OPTARG ;;
    o) report=$OPTARG ;;
    *) echo "usage: scripts/fuzz.sh [-n EXECUTIONS] [-o REPORT] [TARGET...]" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))

root=$PWD/build/fuzz
mkdir -p "$root"

if ! rustup run nightly rustc --version >/dev/null 2>&1; then
    echo "fuzz.sh: libFuzzer's instrumentation needs a nightly compiler, and there is none." >&2
    echo "Install one with 'rustup toolchain install nightly --profile minimal' and run this again." >&2
    echo "The bounded part of the fuzzing runs without it: cargo test -p lockgate-fuzz" >&2
    exit 77
fi
if ! command -v c++ >/dev/null; then
    echo "fuzz.sh: libFuzzer is C++, and there is no compiler: install g++ (apt-get install g++)." >&2
    exit 77
fi
PATH=$root/tools/bin:$PATH
if ! command -v cargo-fuzz >/dev/null; then
    cargo install cargo-fuzz --version '^0.13' --locked --root "$root/tools"
fi

# Everything here is memory-safe Rust but a few files, and the runtime has signal handlers of its own: no sanitizer.
export CARGO_TARGET_DIR=$root/target
RUSTUP_TOOLCHAIN=nightly cargo fuzz build -s none
programs=$CARGO_TARGET_DIR/x86_64-unknown-linux-gnu/release

if [ $# -eq 0 ]; then
    set -- $(sed -n 's/^name = "\([a-z_]*\)"$/\1/p' fuzz/Cargo.toml)
fi

number() { sed -n "s/^stat::$1: *//p" "$2" | tail -1; }

failed=0
separator=
printf '{"targets": [\n' >"$report"
for target in "$@"; do
    corpus=$root/corpus/$target
    findings=$root/findings/$target
    log=$root/$target.log
    mkdir -p "$corpus" "$findings"
    echo "fuzz.sh: $target, $executions executions; the log is $log"
    status=0
    nice -n 19 "$programs/$target" -runs="$executions" -max_len=4096 -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$findings/" "$corpus" "fuzz/corpus/$target" >"$log" 2>&1 || status=$?
    done=$(number number_of_executed_units "$log")
    operations=$(sed -n 's/^operations \([0-9]*\) in .*/\1/p' "$log" | tail -1)
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    features=$(sed -n 's/.* ft: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    # A run ends with its first finding.
    found=0
    since=${done:-0}
    if [ "$status" -ne 0 ]; then
        found=1
        since=0
        failed=1
        echo "fuzz.sh: $target has found something: 'cargo run -p lockgate-fuzz -- run $target FILE' with the file in $findings" >&2
        grep -a -A2 -e 'panicked at' -e 'ERROR: libFuzzer' "$log" | head -6 >&2 || true
    fi
    printf '%s  {"name": "%s", "executions": %s, "operations": %s, "findings": %s, "since_last": %s, "edges": %s, "features": %s}' \
        "$separator" "$target" "${done:-0}" "${operations:-0}" "$found" "$since" "${edges:-0}" "${features:-0}" >>"$report"
    separator=',
'
done
printf '\n]}\n' >>"$report"
cat "$report"
exit $failed
