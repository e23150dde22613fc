#!/bin/sh
# Boehm's collector with its own tests, natively (with musl) and in a domain. Its threads stop each other by signals and wait for each other on
# semaphores in handlers, thousands of times in a run. collector-tests.sh [NAME...]: those tests only. RUNS=20: so often those with threads.
#
# The sources come from Debian's source package libgc, which needs deb-src entries (build/collector-tests); ARCHIVE names the archive instead.
# It must be the one that is known here. 77: it is not to be had. LOCKGATE names the program; target/release/lockgate without.
set -eu
cd "$(dirname "$0")/.."

lockgate=${LOCKGATE:-$PWD/target/release/lockgate}
work=$PWD/build/collector-tests
version=gc-8.2.2
sum=f30107bcb062e0920a790ffffa56d9512348546859364c23a14be264b38836a0
runs=${RUNS:-20}

skip() {
    echo "SKIPPED: $*" >&2
    exit 77
}
[ -x "$lockgate" ] || { echo "collector-tests.sh: no $lockgate: make build" >&2; exit 1; }
mkdir -p "$work"
if [ ! -d "$work/$version" ]; then
    rm -rf "$work/fetch"
    mkdir -p "$work/fetch"
    if [ -n "${ARCHIVE:-}" ]; then
        cp "$ARCHIVE" "$work/fetch/libgc.orig.tar.gz"
    else
        (cd "$work/fetch" && apt-get source -qq --download-only libgc >log 2>&1) ||
            skip "no source package libgc: $(tail -1 "$work/fetch/log")"
    fi
    found=$(echo "$work"/fetch/libgc*.orig.tar.gz)
    echo "$sum  $found" | sha256sum --check --status 2>/dev/null || skip "$found is not that of $version"
    tar -xf "$found" -C "$work/fetch"
    mv "$work/fetch/$version" "$work/$version"
    rm -rf "$work/fetch"
fi

# As its configure does for musl on Linux. A domain has no /proc/self/stat, /proc/self/maps or /dev/zero: stacks, data and memory are asked for by
# functions (pthread_getattr_np, dl_iterate_phdr, mmap of no file). No fork.
options="-O2 -w -I $work/$version/include -DGC_THREADS -D_REENTRANT -DGC_BUILTIN_ATOMIC -DTHREAD_LOCAL_ALLOC -DPARALLEL_MARK -DNO_GETCONTEXT
    -DALL_INTERIOR_POINTERS -DENABLE_DISCLAIM -DGC_GCJ_SUPPORT -DJAVA_FINALIZATION -DGC_ATOMIC_UNCOLLECTABLE -DGC_ENABLE_SUSPEND_THREAD
    -DNO_EXECUTE_PERMISSION -DHAVE_DL_ITERATE_PHDR -DUSE_GET_STACKBASE_FOR_MAIN -DUSE_MMAP -DUSE_MMAP_ANON -DUSE_MUNMAP
    -DNO_HANDLE_FORK -DNO_TEST_HANDLE_FORK"

# collector NAME OPTIONS...: the collector as one object, both ways.
collector() {
    kind=$1
    shift
    mkdir -p "$work/programs"
    # shellcheck disable=SC2086 # options are words
    {
        musl-gcc $options "$@" -c "$work/$version/extra/gc.c" -o "$work/programs/$kind.native.o"
        "$lockgate" cc $options "$@" -c "$work/$version/extra/gc.c" -o "$work/programs/$kind.domain.o"
    }
}

# program NAME SOURCE KIND: a test with the collector of that name, both ways.
program() {
    [ -e "$work/programs/$3.native.o" ] || collector "$3"
    # shellcheck disable=SC2086 # options are words
    {
        musl-gcc -static $options "$work/$version/tests/$2" "$work/programs/$3.native.o" -o "$work/programs/$1.native" -pthread
        "$lockgate" cc $options "$work/$version/tests/$2" "$work/programs/$3.domain.o" -o "$work/programs/$1.lg" -pthread
    }
}

failed=0
# runs NAME TIMES [VARIABLE=VALUE]: natively once, and so often in a domain. Both must succeed; they print numbers that differ from run to run.
# The incremental mode protects pages one by one: more mappings than a domain has unless its host says so.
runs() {
    program=$1 times=$2 variable=${3:-GC_UNUSED=1}
    env "$variable" timeout "${LIMIT:-300}" "$work/programs/$program.native" >"$work/native.out" 2>&1 </dev/null ||
        { echo "  NOT NATIVELY: $program: $(tail -1 "$work/native.out")"; failed=1; return; }
    run=1
    while [ "$run" -le "$times" ]; do
        status=0
        timeout "${LIMIT:-300}" "$lockgate" run --threads 40 --memory-limit 3G --mappings 16384 --env "$variable" \
            "$work/programs/$program.lg" >"$work/domain.out" 2>&1 </dev/null || status=$?
        if [ "$status" -ne 0 ]; then
            echo "  FAILED: $program${3:+, $3}, run $run of $times: status $status: $(tail -1 "$work/domain.out")"
            cp "$work/domain.out" "$work/$program.failed"
            failed=1
            return
        fi
        run=$((run + 1))
    done
    echo "  same: $program ($times runs${3:+, $3})"
}

# With signals that are sent again if no thread answers, and without, where one that is lost is waited for for ever; with several threads that mark.
test_gctest() {
    program gctest test.c plain
    runs gctest "$runs"
    runs gctest "$runs" GC_RETRY_SIGNALS=0
    runs gctest "$runs" GC_MARKERS=4
    runs gctest "$runs" GC_ENABLE_INCREMENTAL=1
}
test_leak() { program leak leak_test.c plain && runs leak 1; }
test_middle() { program middle middle.c plain && runs middle 1; }
test_smash() { program smash smash_test.c plain && runs smash 1; }
test_huge() { program huge huge_test.c plain && runs huge 1; }
test_realloc() { program realloc realloc_test.c plain && runs realloc 1; }
test_threadleak() { program threadleak thread_leak_test.c plain && runs threadleak "$runs"; }
test_threadkey() { program threadkey threadkey_test.c plain && runs threadkey "$runs"; }
test_subthread() { program subthread subthread_create.c plain && runs subthread "$runs"; }
test_initsecondary() { program initsecondary initsecondarythread.c plain && runs initsecondary "$runs"; }
test_disclaim() { program disclaim disclaim_test.c plain && runs disclaim "$runs"; }
test_weakmap() { program weakmap disclaim_weakmap_test.c plain && runs weakmap "$runs"; }

[ $# -gt 0 ] || set -- gctest leak middle smash huge realloc threadleak threadkey subthread initsecondary disclaim weakmap
rm -f "$work/programs"/*.o
for name; do
    "test_$name"
done
exit $failed
