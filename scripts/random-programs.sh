#!/bin/sh
# Random programs of Csmith, at five levels by each compiler, natively and in a domain from the same object: both must print the same.
#
#   scripts/random-programs.sh [COUNT [SEED]]      (300 programs, seeds SEED to SEED + COUNT - 1; SEED is 1)
#
# COMPILERS lists the compilers' commands (those of gcc, clang and their numbered versions that are installed). A command is given
# `-c FILE.i -o FILE.o` and options, so that it may be a script that runs a compiler elsewhere. Programs that do not end natively within
# ten seconds do not count. Results: build/random-programs/results, a line for each program, compiler and level. 77: no Csmith.
# The program target/release/lockgate is taken as it is.
set -eu
cd "$(dirname "$0")/.."

lockgate=${LOCKGATE:-$PWD/target/release/lockgate}
root=$PWD/build/random-programs
levels="-O0 -O1 -O2 -O3 -Os"

# One program by one compiler: a line for each level, first the verdict.
if [ "${1:-}" = --one ]; then
    seed=${2%@*} compiler=${2#*@}
    folder=$(mktemp -d "$root/run.XXXXXX")
    trap 'rm -rf "$folder"' EXIT
    cd "$folder"
    csmith --seed "$seed" >program.c
    "$lockgate" cc -w -E "-I$CSMITH_INCLUDE" program.c -o program.i
    for level in $levels; do
        what="$compiler $level seed $seed"
        $compiler "$level" -w -fPIE -c program.i -o program.o 2>log && musl-gcc -static program.o -o native 2>log &&
            timeout 10 ./native >native.out 2>&1 </dev/null || { echo "not-native $what"; continue; }
        "$lockgate" cc program.o -o module.lg 2>log || { echo "refused $what: $(tail -1 log)"; continue; }
        status=0
        timeout 120 "$lockgate" run module.lg >module.out 2>log </dev/null || status=$?
        [ "$status" -eq 0 ] || { echo "failed $what: $status, $(head -1 log)"; continue; }
        if cmp -s native.out module.out; then echo "same $what"; else echo "printed $what: something else"; fi
    done
    exit 0
fi

[ -x "$lockgate" ] || { echo "random-programs.sh: no $lockgate: make build" >&2; exit 1; }
command -v csmith >/dev/null || { echo "random-programs.sh: no csmith (Debian: csmith, libcsmith-dev)" >&2; exit 77; }
header=$(find /usr/include /usr/local/include -name csmith.h 2>/dev/null | head -1)
[ -n "$header" ] || { echo "random-programs.sh: no csmith.h (Debian: libcsmith-dev)" >&2; exit 77; }
CSMITH_INCLUDE=$(dirname "$header")
export CSMITH_INCLUDE
count=${1:-300} first=${2:-1}
if [ -z "${COMPILERS:-}" ]; then
    COMPILERS= real=
    for compiler in gcc gcc-11 gcc-12 gcc-13 gcc-14 gcc-15 clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19 clang-20; do
        path=$(command -v "$compiler") || continue
        case " $real " in *" $(readlink -f "$path") "*) continue ;; esac
        real="$real $(readlink -f "$path")"
        COMPILERS="$COMPILERS $compiler"
    done
fi
mkdir -p "$root"
seq "$first" "$((first + count - 1))" | while read -r seed; do
    for compiler in $COMPILERS; do echo "$seed@$compiler"; done
done | xargs -P "${JOBS:-$(nproc)}" -n 1 "$0" --one >"$root/results"
for compiler in $COMPILERS; do
    echo "$compiler: $(grep -c "^same $compiler " "$root/results") the same, $(grep -c "^not-native $compiler " "$root/results") do not end natively"
done
# A compiler that makes nothing leaves nothing to compare.
for compiler in $COMPILERS; do
    grep -q "^same $compiler " "$root/results" || { echo "$compiler: nothing was the same"; exit 1; }
done
! grep -v -e '^same ' -e '^not-native ' "$root/results"
