#!/bin/sh
# Libraries of share/stubs that the tests do not bring along, each with its own programs: linked with the library, and with the client that
# `lockgate stubs` makes, they must print and write the same.
#
#     stubs-libraries.sh [FOLDER]
#
# FOLDER has unpacked sources: lz4. Without it they come from Debian's or Ubuntu's source packages (build/stubs-libraries), which needs
# deb-src entries. 77: none to be had, or no pkg-config lockgate. LOCKGATE names the program; target/release/lockgate without.
set -eu
cd "$(dirname "$0")/.."

lockgate=${LOCKGATE:-$PWD/target/release/lockgate}
stubs=$PWD/share/stubs
work=$PWD/build/stubs-libraries
sources=${1:-$work/sources}
mkdir -p "$work"

skip() {
    echo "SKIPPED: $*" >&2
    exit 77
}
pkg-config --exists lockgate || skip "pkg-config does not find lockgate: make install, or set PKG_CONFIG_PATH"
flags=$(pkg-config --cflags --libs lockgate)
if [ $# -eq 0 ]; then
    for package in lz4; do
        [ -d "$sources/$package" ] && continue
        rm -rf "$work/$package"
        mkdir -p "$work/$package" "$sources"
        (cd "$work/$package" && apt-get source -qq "$package" >log 2>&1) || skip "no source package $package: $(tail -1 "$work/$package/log")"
        mv "$work/$package"/*/ "$sources/$package"
    done
fi

# library NAME HEADER FOLDER FLAGS SOURCES...: its client and its module.
library() {
    name=$1 header=$2 folder=$3 options=$4
    shift 4
    out=$work/$name
    rm -rf "$out"
    mkdir -p "$out/objects"
    for source; do
        # shellcheck disable=SC2086 # options are words
        "$lockgate" cc -g -O2 -w $options -I "$folder" -c "$source" -o "$out/objects/$(basename "$source" .c).o"
    done
    # shellcheck disable=SC2086
    "$lockgate" stubs "$folder/$header" -a "$stubs/$name.lg.h" $options --partial -m "$out/$name.lg" -o "$out/client" >"$out/stubs.log" 2>&1
    tail -1 "$out/stubs.log"
    "$lockgate" cc "$out"/objects/*.o -o "$out/$name.lg" --exports "$out/client/$name.exports"
    # shellcheck disable=SC2086
    (cd "$out" && cc -g -O2 -w $options -I client -I "$folder" -c client/"$name"_client.c -o client.o $(pkg-config --cflags lockgate))
}

# program SOURCE FOLDER FLAGS SOURCES...: twice; `native` and `protected`.
program() {
    source=$1 folder=$2 options=$3
    shift 3
    program=$(basename "$source" .c)
    # shellcheck disable=SC2086
    cc -g -O2 -w $options -I "$folder" "$source" "$@" -o "$out/$program.native" -lm
    # shellcheck disable=SC2086
    cc -g -O2 -w $options -I "$out/client" -I "$folder" "$source" "$out/client.o" -o "$out/$program.protected" $flags -lm
}

failed=0
# same PROGRAM ARGUMENTS...: in folders of their own, with the same files.
same() {
    program=$1
    shift
    for kind in native protected; do
        rm -rf "$out/run.$kind"
        mkdir "$out/run.$kind"
        cp -R "$out/input/." "$out/run.$kind"
        status=0
        (cd "$out/run.$kind" && "$out/$program.$kind" "$@" >stdout 2>stderr </dev/null) || status=$?
        echo $status >"$out/run.$kind/status"
    done
    if [ "$(cat "$out/run.native/status")" -eq 0 ] && diff -r "$out/run.native" "$out/run.protected" >"$out/$program.diff"; then
        echo "  same: $program $*"
    else
        echo "  DIFFERENT: $program $* ($out/$program.diff; natively status $(cat "$out/run.native/status"))"
        failed=1
    fi
}

lz4=$sources/lz4
library lz4 lz4.h "$lz4/lib" "" "$lz4/lib/lz4.c"
mkdir "$out/input"
for test in examples/simple_buffer tests/decompress-partial tests/decompress-partial-usingDict; do
    program "$lz4/$test.c" "$lz4/lib" "" "$lz4/lib/lz4.c"
    same "$(basename "$test")"
done

library lz4frame lz4frame.h "$lz4/lib" "-DXXH_NAMESPACE=LZ4_ -DLZ4F_STATIC_LINKING_ONLY" "$lz4/lib/lz4frame.c" "$lz4/lib/lz4.c" "$lz4/lib/lz4hc.c" "$lz4/lib/xxhash.c"
mkdir "$out/input"
cp "$lz4/lib/lz4.c" "$out/input/text"
head -c 5000000 "$lockgate" >"$out/input/binary"
program "$lz4/examples/frameCompress.c" "$lz4/lib" "-DXXH_NAMESPACE=LZ4_ -DLZ4F_STATIC_LINKING_ONLY" "$lz4/lib/lz4frame.c" "$lz4/lib/lz4.c" "$lz4/lib/lz4hc.c" "$lz4/lib/xxhash.c"
for file in text binary; do
    same frameCompress $file
done

exit $failed
