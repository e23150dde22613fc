#!/bin/sh
# Long fuzzing with libFuzzer: fuzz.sh [-n EXECUTIONS] [-l LAST] [-s SECONDS] [-f] [-r] [-k] [TARGET...]; without arguments each target,
# until it has had ten million executions, and a million since the last finding (link: ten thousand and a thousand). -s: no longer than this for each target; -f: forget
# what others ran (fuzz/ledger.txt); -r: report, run nothing; -k: report, and keep the sums in the ledger.
#
# Runs add up. Each leaves a line in build/fuzz/TARGET.runs, as soon as it is over: what it ran (a digest of the sources of the crates
# that the target attacks), executions, operations, findings, coverage. Inputs that are read again do not count.
# build/fuzz.json adds up the ledger, which is in the repository, and the lines: all executions and findings, and the executions since the
# last finding *and* since the sources last changed. Inputs worth keeping stay in build/fuzz/corpus; what fails is in build/fuzz/findings.
set -eu
cd "$(dirname "$0")/.."

executions=10000000
last=1000000
seconds=
run=yes
keep=
ledger=fuzz/ledger.txt
usage() {
    echo "usage: scripts/fuzz.sh [-n EXECUTIONS] [-l LAST] [-s SECONDS] [-f] [-r] [-k] [TARGET...]" >&2
    exit 2
}
while getopts n:l:s:frk option; do
    case $option in
    n) executions=$OPTARG ;;
    l) last=$OPTARG ;;
    s) seconds=$OPTARG ;;
    f) ledger=/dev/null ;;
    r) run= ;;
    k) run= keep=yes ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
# There is nothing to forget in what is to be kept.
[ -z "$keep" ] || [ "$ledger" != /dev/null ] || usage

root=$PWD/build/fuzz
all=$(sed -n 's/^name = "\([a-z_]*\)"$/\1/p' fuzz/Cargo.toml)
[ $# -gt 0 ] || set -- $all
mkdir -p "$root"

# Crates that a target attacks.
attacked() {
    case $1 in
    verifier) echo verify ;;
    rewriter | archive | code) echo rewrite verify ;;
    module) echo lockgate verify signature ;;
    proxy) echo lockgate signature ;;
    syscalls) echo syscall ;;
    marshal) echo lockgate ;;
    dwarf) echo symbols ;;
    signature) echo signature ;;
    annotation | stubs) echo stubs signature ;;
    split_text) echo split ;;
    link) echo toolchain rewrite verify outside ;;
    share_messages | share_memory) echo programs lockgate signature ;;
    *) echo "fuzz.sh: no target '$1'; there are:" $all >&2; exit 2 ;;
    esac
}

digest() {
    for crate in abi $(attacked "$1"); do
        find "crates/lockgate-$crate/src" "crates/$crate/src" -type f 2>/dev/null || true
    done | LC_ALL=C sort | xargs cat | sha256sum | cut -c1-12
}

# The lines of a target, added up: executions, operations, findings, executions since the last one, edges, features, digest.
sum() {
    touch "$root/$1.runs"
    { sed -n "s/^$1 //p" $ledger; cat "$root/$1.runs"; } |
        awk '{ if ($1 != code) since = 0
               code = $1; executions += $2; operations += $3; findings += $4; since = $4 ? 0 : since + $2
               if ($5 > edges) edges = $5
               if ($6 > features) features = $6 }
             END { printf "%d %d %d %d %d %d %s\n", executions, operations, findings, since, edges, features, code }'
}

# The ledger anew, with what was run here: a line for what came before the last finding or change of sources, one for what came since.
keep() {
    {
        grep '^#' $ledger
        for name in $all; do
            set -- $(sum "$name")
            [ $(($1 - $4)) -eq 0 ] || echo "$name - $(($1 - $4)) $2 $3 $5 $6"
            [ "$4" -eq 0 ] || echo "$name $7 $4 $([ $(($1 - $4)) -ne 0 ] && echo 0 || echo "$2") 0 $5 $6"
        done
    } >"$root/ledger"
    mv "$root/ledger" $ledger
    rm -f "$root"/*.runs
}

report() {
    separator='{'
    for name in $all; do
        code=$(digest "$name")
        set -- $(sum "$name")
        [ "${7:-}" = "$code" ] || set -- "$1" "$2" "$3" 0 "$5" "$6" "$code"
        printf '%s\n  "%s": {"executions": %s, "operations": %s, "findings": %s, "executions_since_last_finding": %s, "edges": %s, "features": %s, "sources": "%s"}' \
            "$separator" "$name" "$1" "$2" "$3" "$4" "$5" "$6" "$7"
        separator=','
    done >"$root/report"
    printf '\n}\n' >>"$root/report"
    mv "$root/report" build/fuzz.json
    cat build/fuzz.json
}

if [ -z "$run" ]; then
    report
    [ -z "$keep" ] || keep
    exit
fi

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

# Everything here is memory-safe Rust but a few files, and the runtime has signal handlers of its own: no sanitizer.
export CARGO_TARGET_DIR=$root/target
host=x86_64-unknown-linux-gnu
rustup run nightly cargo build --release --locked --target $host --manifest-path fuzz/Cargo.toml --config fuzz/instrumented.toml

# What is run stays what it is, and what its lines say, while the sources are worked on.
programs=$(mktemp -d "$root/programs.XXXXXX")
trap 'rm -rf "$programs"' EXIT
trap 'exit 130' INT TERM
for target in "$@"; do
    digest "$target" >"$programs/$target.sources"
    cp "$CARGO_TARGET_DIR/$host/release/$target" "$programs/"
done

# What an input takes of memory is the next one's: going back to the kernel for it would take longer than most inputs do.
export MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_MMAP_THRESHOLD_=1073741824

# One run of a target, at most $2 executions and $3 seconds: a line of its file. Not zero if it has found something.
slice() {
    corpus=$root/corpus/$1
    findings=$root/findings/$1
    log=$root/$1.log
    mkdir -p "$corpus" "$findings"
    again=$(find "$corpus" "fuzz/corpus/$1" -type f | wc -l)
    status=0
    nice -n 19 "$programs/$1" -runs=$(($2 + again + 2)) -max_total_time="$3" -max_len=16384 -timeout=20 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="$findings/" "$corpus" "fuzz/corpus/$1" >"$log" 2>&1 || status=$?
    number() { sed -n "s/$1/\\1/p" "$log" | tail -1; }
    # A stack that overflows leaves no statistics, and no input either: run the program under gdb then.
    done=$(number '^stat::number_of_executed_units: *\([0-9]*\)')
    : "${done:=$(number '^#\([0-9]*\).*')}"
    again=$(number '^#\([0-9]*\).INITED .*')
    operations=$(number '^operations \([0-9]*\) in .*')
    edges=$(number '.* cov: \([0-9]*\) .*')
    features=$(number '.* ft: \([0-9]*\) .*')
    if [ "$status" -eq 0 ] && [ "${done:-0}" -le "${again:-0}" ]; then
        echo "fuzz.sh: $1 did not run; see $log" >&2
        exit 1
    fi
    # 72: interrupted.
    found=$((status != 0 && status != 72))
    done=$((${done:-0} - ${again:-0}))
    echo "$(cat "$programs/$1.sources") $done ${operations:-0} $found ${edges:-0} ${features:-0}" >>"$root/$1.runs"
    if [ "$found" -ne 0 ]; then
        echo "fuzz.sh: $1 has found something: 'cargo run -p lockgate-fuzz -- run $1 FILE' with the file in $findings" >&2
        grep -a -A2 -e 'panicked at' -e 'ERROR: libFuzzer' "$log" | head -6 >&2 || true
    fi
    return "$found"
}

# Executions that a target still needs.
needed() {
    code=$(cat "$programs/$1.sources")
    goal=$executions newest=$last
    # Each of its executions starts the compiler and the linker, and takes as long as a thousand others.
    [ "$1" != link ] || goal=$((executions / 1000)) newest=$((last / 1000))
    set -- $(sum "$1")
    since=$4
    [ "${7:-}" = "$code" ] || since=0
    needed=$((goal - $1))
    [ $needed -ge $((newest - since)) ] || needed=$((newest - since))
    echo $needed
}

failed=0
for target in "$@"; do
    end=$(($(date +%s) + ${seconds:-999999999}))
    # A run that is cut off by force counts for nothing: none is long.
    while n=$(needed "$target") && [ "$n" -gt 0 ] && left=$((end - $(date +%s))) && [ $left -gt 0 ]; do
        echo "fuzz.sh: $target, $n executions to go; the log is $root/$target.log"
        [ $left -lt 300 ] || left=300
        # What a process keeps for good, such as a proxy for each form of call, does not pile up.
        [ "$n" -lt 1000000 ] || n=1000000
        if ! slice "$target" "$n" "$left"; then
            failed=1
            break
        fi
    done
done
report
exit $failed
