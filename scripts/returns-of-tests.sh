#!/bin/sh
# The own tests of bzip2, Lua, SQLite and zstd, in a domain, with a shadow stack: each `ret` must pop the very word that its own call has pushed
# (docs/appendix/evidence.md#returns-of-real-programs). returns-of-tests.sh [NAME...]: those libraries only.
#
# EFFORT=quick, long, full: 20,000 calls and returns of each test at most, a million (this is how it is without), or all: bzip2's take minutes, Lua's
# hours, SQLite's and zstd's days. TESTS='goto db': those of Lua's, or numbers of SQLite's and zstd's, only.
#
# The sources come from Debian's source packages, which needs deb-src entries, and Lua's, with its tests, from its repository (build/returns/sources); a folder with
# bzip2, lua, sqlite3 and libzstd may be named by SOURCES. LOCKGATE and EVIDENCE name the programs; target/release without. 77: no sources to be had.
set -eu
cd "$(dirname "$0")/.."

suite=returns
# shellcheck source=scripts/sources.sh
. scripts/sources.sh
evidence=${EVIDENCE:-$PWD/target/release/evidence}
effort=${EFFORT:-long}
[ -x "$evidence" ] || { echo "returns-of-tests.sh: no $evidence: cargo build --release -p lockgate-evidence" >&2; exit 1; }
lua=v5.4.8

failed=0 tests=
# seen TEST FOLDER MODULE ARGUMENTS...: one test, which has the folder, with its output in $work/TEST.out.
seen() {
    test=$1 folder=$2
    shift 2
    rm -f "$work/$test.seen"
    if (cd "$folder" && "$evidence" --effort "$effort" --observe "$@" </dev/null >"$work/$test.out" 2>"$work/$test.seen"); then
        tests="$tests $work/$test.seen"
        sed -n 's/^    [^ ]* */  /p' "$work/$test.seen" | sed "s/^/  $test:/"
    elif grep -q '^returns:' "$work/$test.seen"; then
        tests="$tests $work/$test.seen"
        echo "  VIOLATION: $test:"
        cat "$work/$test.seen"
        failed=1
    else
        # (By itself: it lacks something in this domain.)
        echo "  $test: not seen: $(tail -1 "$work/$test.out" | cut -c1-100) $(tail -1 "$work/$test.seen")"
        rm "$work/$test.seen"
    fi
}

# same TEST FILE: what the test has written is what the file has, where it came to its end.
same() {
    grep -qs 'to the end' "$work/$1.seen" || return 0
    cmp "$work/$1.out" "$2" || { echo "  WRONG: $1"; failed=1; }
}

# module NAME OPTIONS...: builds $work/NAME.lg, unless it is there.
module() {
    [ -e "$work/$1.lg" ] || { name=$1 && shift && "$lockgate" cc -O2 -w "$@" -o "$work/$name.lg"; }
}

# The six commands of its `make test`.
library_bzip2() {
    package bzip2
    (cd "$at" && module bzip2 -D_FILE_OFFSET_BITS=64 blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c bzlib.c bzip2.c)
    for number in 1 2 3; do
        seen "bzip2.$number" "$at" "$work/bzip2.lg" -$number -c "sample$number.ref"
        same "bzip2.$number" "$at/sample$number.bz2"
        case $number in 3) how=-ds ;; *) how=-d ;; esac
        seen "bzip2.d$number" "$at" "$work/bzip2.lg" $how -c "sample$number.bz2"
        same "bzip2.d$number" "$at/sample$number.ref"
    done
}

# Each of its tests by itself, as all.lua has them for users.
library_lua() {
    at=$sources/lua
    [ -d "$at" ] || git clone -q --depth 1 --branch $lua https://github.com/lua/lua "$at" 2>"$work/log" || skip "no sources of Lua: $(tail -1 "$work/log")"
    (
        cd "$at"
        # shellcheck disable=SC2046 # names of files
        module lua -std=gnu99 -DLUA_COMPAT_5_3 $(find . -maxdepth 1 -name 'l*.c' ! -name ltests.c) -lm
    )
    for file in "$at"/testes/*.lua; do
        test=$(basename "$file" .lua)
        case ${TESTS:-$test} in *"$test"*) ;; *) continue ;; esac
        # all.lua runs the others; heavy.lua takes all the memory that there is; main.lua starts other processes.
        case $test in all | heavy | main) continue ;; esac
        seen "lua.$test" "$at/testes" "$work/lua.lg" -W -e "_soft, _port, _nomsg = true, true, true" "$test.lua"
    done
}

# fuzzcheck with what fuzzers have found: the databases that come with it.
library_sqlite3() {
    package sqlite3
    [ -e "$at/sqlite3.c" ] || (cd "$at" && ./configure --disable-tcl >log 2>&1 && make sqlite3.c >>log 2>&1) || skip "SQLite: $(tail -1 "$at/log")"
    (
        cd "$at"
        # As its Makefile has it.
        module fuzzcheck -DSQLITE_THREADSAFE=0 -I. -Itest -Iext/recover -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_ENABLE_MEMSYS5 -DSQLITE_OSS_FUZZ \
            -DSQLITE_MAX_MEMORY=50000000 -DSQLITE_PRINTF_PRECISION_LIMIT=1000 -DSQLITE_ENABLE_FTS4 -DSQLITE_ENABLE_FTS3_PARENTHESIS \
            -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_RTREE -DSQLITE_ENABLE_GEOPOLY -DSQLITE_ENABLE_DBSTAT_VTAB -DSQLITE_ENABLE_BYTECODE_VTAB \
            test/fuzzcheck.c test/ossfuzz.c test/fuzzinvariants.c ext/recover/dbdata.c ext/recover/sqlite3recover.c test/vt02.c sqlite3.c -lm
    )
    for number in ${TESTS:-1 2 3 4 5 6 7 8}; do
        [ -e "$at/test/fuzzdata$number.db" ] || continue
        seen "sqlite3.$number" "$at/test" "$work/fuzzcheck.lg" --limit-mem 100M "fuzzdata$number.db"
    done
}

# Its fuzzer: tests by number, of which it has some hundred that are fixed.
library_libzstd() {
    package libzstd
    (
        cd "$at"
        # shellcheck disable=SC2046 # names of files
        module fuzzer -fno-ipa-ra -maccumulate-outgoing-args -DZSTD_DISABLE_ASM -DDEBUGLEVEL=0 -Ilib -Ilib/common -Ilib/compress -Ilib/dictBuilder -Ilib/deprecated -Iprograms -Itests \
            $(find lib/common lib/compress lib/decompress lib/dictBuilder lib/deprecated -name '*.c') \
            programs/datagen.c programs/util.c programs/timefn.c tests/fuzzer.c
    )
    seen libzstd.fuzzer "$at" "$work/fuzzer.lg" -v -i1 -s1
    seen libzstd.random "$at" "$work/fuzzer.lg" -v -i20 -t100 -s1
}

for library in "${@:-bzip2 lua sqlite3 libzstd}"; do
    for library in $library; do
        echo "$library:"
        "library_$library"
    done
done
[ -n "$tests" ] || { echo "no test was seen" && exit 1; }
# shellcheck disable=SC2086 # tests are words
awk '/^returns:/ { bad += $2; good += $5; tests++ } / resumed/ { for (i = 2; i <= NF; i++) if ($i ~ /^resumed/) jumps += $(i - 1) }
    END { printf "%d violations in %d returns and %d jumps of %d tests\n", bad, good, jumps, tests }' $tests
exit $failed
