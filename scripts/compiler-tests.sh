#!/bin/sh
# The programs with which GCC tests what it compiles (gcc.c-torture/execute, some 1,600; g++.dg's eh, tls and torture, some 220), natively and
# in a domain: both must print the same and succeed. compiler-tests.sh [OPTIONS...]: one run for each argument, such as "-O3 -mavx2";
# without, at six levels (a quarter of an hour). ONLY=C or ONLY=c++ runs the programs of one language.
#
# The sources come from Debian's or Ubuntu's package gcc-N-source, which is fetched but not installed (90 MB; build/compiler-tests).
# What GCC itself fails at, and what needs something that musl or this processor has not got, does not count. Known differences
# are in tests/compiler/exceptions.txt. 77: no sources to be had. LOCKGATE names the program; target/release/lockgate without.
set -eu
cd "$(dirname "$0")/.."

lockgate=${LOCKGATE:-$PWD/target/release/lockgate}
root=$PWD/build/compiler-tests
exceptions=$PWD/tests/compiler/exceptions.txt

# One program, one set of options: a line, first the verdict.
if [ "${1:-}" = --one ]; then
    options=$2 source=$3
    name=$(basename "$source") name=${name%.?}
    folder=$(mktemp -d "$root/run.XXXXXX")
    trap 'rm -rf "$folder"' EXIT
    verdict() { echo "$*"; exit; }
    cd "$folder"
    case $source in
    *.C)
        # A program says which options it wants, and whether it wants a newer language.
        own=$(sed -n 's/.*dg-options "\([^"]*\)".*/\1/p; s/.*dg-do run.*target c++\([0-9]*\) .*/-std=gnu++\1/p' "$source" | tr '\n' ' ')
        native="g++ $own" inside="c++ $own" libraries=-pthread
        ;;
    *) native="musl-gcc -static" inside=cc libraries=-lm ;;
    esac
    # shellcheck disable=SC2086 # options are words
    {
        timeout 60 $native -w $options "$source" -o native $libraries >log 2>&1 || verdict "not-native $name"
        timeout 10 ./native >native.out 2>&1 </dev/null || verdict "not-native $name"
        timeout 60 "$lockgate" $inside -w $options "$source" -o module.lg $libraries >log 2>&1 ||
            verdict "refused $name: $(tail -1 log)"
    }
    status=0
    timeout 60 "$lockgate" run --threads 8 module.lg >module.out 2>log </dev/null || status=$?
    [ "$status" -eq 0 ] || verdict "failed $name: $status, $(head -1 log)"
    cmp -s native.out module.out || verdict "printed $name: something else"
    verdict "same $name"
fi

[ -x "$lockgate" ] || { echo "compiler-tests.sh: no $lockgate: make build" >&2; exit 1; }
mkdir -p "$root"
version=$(gcc -dumpversion | cut -d. -f1)
tests=$root/gcc-$version-programs
if [ ! -d "$tests" ]; then
    (cd "$root" && apt-get download "gcc-$version-source" >/dev/null 2>&1) || {
        echo "compiler-tests.sh: apt-get download gcc-$version-source has failed: no sources of GCC" >&2
        exit 77
    }
    dpkg-deb -x "$root/gcc-$version-source"_*.deb "$root/package"
    mkdir -p "$tests.part"
    tar -xf "$root/package/usr/src/gcc-$version"/gcc-*.tar.* -C "$tests.part" --strip-components=3 --wildcards \
        '*/gcc/testsuite/gcc.c-torture/execute/*' '*/gcc/testsuite/g++.dg/eh/*' '*/gcc/testsuite/g++.dg/tls/*' \
        '*/gcc/testsuite/g++.dg/torture/*'
    rm -rf "$root/package" "$root"/*.deb
    mv "$tests.part" "$tests"
fi

[ $# -gt 0 ] || set -- -O0 -O1 "-O2 -fcf-protection=full" "-O3 -march=native -funroll-loops" -Os "-O2 -march=x86-64-v3 -fstack-protector-all -g"
# Those in C that are to run, and those in C++ that say so (of several files at once are none).
programs() {
    [ "${ONLY:-C}" != C ] || find "$tests/gcc.c-torture" -name '*.c'
    [ "${ONLY:-c++}" != c++ ] || find "$tests/g++.dg" -name '*.C' -exec grep -l 'dg-do run' {} + | xargs grep -L 'dg-additional-sources'
}
unexpected=0
for options in "$@"; do
    results=$root/results
    programs | sort | xargs -P "$(nproc)" -n 1 "$0" --one "$options" >"$results" 2>/dev/null
    differ=$(grep -v -e '^same ' -e '^not-native ' "$results" | sort || true)
    news=$(echo "$differ" | while read -r verdict name rest; do
        [ -z "$verdict" ] || grep -q "^${name%:}: " "$exceptions" || echo "$verdict $name $rest"
    done)
    echo "$options: $(grep -c '^same ' "$results") the same, $(grep -c '^not-native ' "$results") not for GCC and musl, $(echo "$differ" | grep -c .) known or new differences"
    # Options that no compiler knows leave nothing to compare.
    grep -q '^same ' "$results" || news="nothing was the same"
    if [ -n "$news" ]; then
        echo "$news" | sed 's/^/  NEW: /'
        unexpected=1
    fi
done
exit $unexpected
