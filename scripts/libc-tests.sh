#!/bin/sh
# The tests of musl's own test suite (libc-test: functional, regression), natively (with musl) and in a domain: what ends well natively must end
# well there, too. libc-tests.sh [NAME...]: those only, such as functional/sem_init.
#
# The sources come from its repository at one commit (build/libc-tests); LIBC_TEST names another copy of the repository.
# Known differences are in tests/compiler/libc-test.txt. 77: the sources are not to be had. LOCKGATE names the program; target/release/lockgate
# without.
set -eu
cd "$(dirname "$0")/.."

suite=libc-tests
# shellcheck source=scripts/sources.sh
. scripts/sources.sh
exceptions=$PWD/tests/compiler/libc-test.txt
commit=f2bac7711bec93467b73bec1465579ea0b8d5071
repository=${LIBC_TEST:-https://repo.or.cz/libc-test.git}
tree=$sources/libc-test
options="-std=c99 -D_POSIX_C_SOURCE=200809L -w -fno-builtin -frounding-math -D_FILE_OFFSET_BITS=64 -g -I $tree/src/common"

# One test: a line, first the verdict. Each runs in a folder of its own, which is /tmp in the domain, with another one for /dev/shm, and with
# the devices that domains may have (/dev/null and the like).
if [ "${1:-}" = --one ]; then
    name=$2 source=$tree/src/$2.c
    folder=$(mktemp -d "$work/run.XXXXXX")
    trap 'rm -rf "$folder"' EXIT
    verdict() { echo "$*"; exit; }
    # Parts of these are loaded as shared libraries, or are in other files.
    others=
    case $name in
    functional/tls_align) others=$tree/src/functional/tls_align_dso.c ;;
    functional/tls_init) others=$tree/src/functional/tls_init_dso.c ;;
    esac
    cd "$folder"
    mkdir tmp shm
    # shellcheck disable=SC2086 # options are words
    {
        timeout 120 musl-gcc -static $options "$source" $others "$work/common.native"/*.o -o native -pthread -lm -lrt >log 2>&1 || verdict "not-native $name: $(tail -1 log)"
        timeout 120 "$lockgate" cc $options "$source" $others "$work/common.domain"/*.o -o module.lg -pthread -lm -lrt >log 2>&1 || verdict "refused $name: $(head -1 log)"
    }
    (cd tmp && timeout 60 ../native >../native.out 2>&1 </dev/null) || verdict "not-native $name: $(tail -1 native.out)"
    rm -rf tmp && mkdir tmp
    status=0
    timeout 120 "$lockgate" run --threads 40 --listen "*:*" --connect "127.0.0.1:*" --listen "udp:*:*" --connect "udp:127.0.0.1:*" --dir "/tmp=$folder/tmp" --dir /dev:ro --dir "/dev/shm=$folder/shm" --cwd /tmp module.lg >domain.out 2>&1 </dev/null || status=$?
    [ "$status" -eq 0 ] || verdict "failed $name: status $status: $(head -1 domain.out)"
    verdict "same $name"
fi

repository "$tree" "$repository" "$commit" || skip "$repository: $(tail -1 "$work/log")"
for side in native domain; do
    [ "$side" = native ] && compiler="musl-gcc" || compiler="$lockgate cc"
    rm -rf "$work/common.$side"
    mkdir -p "$work/common.$side"
    for source in "$tree"/src/common/*.c; do
        name=$(basename "$source" .c)
        # shellcheck disable=SC2086 # options and the compiler are words
        [ "$name" = runtest ] || $compiler $options -c "$source" -o "$work/common.$side/$name.o"
    done
done

[ $# -gt 0 ] || set -- $(cd "$tree/src" && ls functional/*.c regression/*.c | grep -v -e '_dso\.c$' -e '_dlopen\.c$' | sed 's/\.c$//')
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 "$0" --one >"$work/results"
differ=$(grep -v -e '^same ' -e '^not-native ' "$work/results" | sort || true)
news=$(echo "$differ" | while read -r verdict name rest; do
    [ -z "$verdict" ] || grep -q "^${name%:}: " "$exceptions" || echo "$verdict $name $rest"
done)
echo "$(grep -c '^same ' "$work/results") the same, $(grep -c '^not-native ' "$work/results") not natively, $(echo "$differ" | grep -c .) known or new differences"
grep -q '^same ' "$work/results" || news="nothing was the same"
if [ -n "$news" ]; then
    echo "$news" | sed 's/^/  NEW: /'
    exit 1
fi
