#!/bin/sh
# Libraries of share/stubs that the tests do not bring along, each with its own programs: linked with the library, and with the client that
# `lockgate stubs` makes, they must print and write the same.
#
#     stubs-libraries.sh [FOLDER]
#
# FOLDER has unpacked sources, each by the name of its source package: lz4, libzstd, brotli; what is not there is skipped. Without FOLDER they come
# from Debian's or Ubuntu's source packages (build/stubs-libraries), which needs deb-src entries. 77: none to be had, or no pkg-config lockgate. LOCKGATE names the program; target/release/lockgate without.
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
    for package in lz4 libzstd brotli; do
        [ -d "$sources/$package" ] && continue
        rm -rf "$work/$package"
        mkdir -p "$work/$package" "$sources"
        (cd "$work/$package" && apt-get source -qq "$package" >log 2>&1) || skip "no source package $package: $(tail -1 "$work/$package/log")"
        mv "$work/$package"/*/ "$sources/$package"
    done
fi

# library NAME HEADER FOLDER FLAGS SOURCES...: itself, its client and its module.
library() {
    name=$1 header=$2 folder=$3 options=$4
    shift 4
    out=$work/$name
    rm -rf "$out"
    mkdir -p "$out/objects" "$out/native" "$out/input"
    for source; do
        # shellcheck disable=SC2086 # options are words
        cc -g -O2 -w $options -I "$folder" -c "$source" -o "$out/native/$(basename "$source" .c).o"
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

# program FOLDER FLAGS SOURCES...: twice; `native` and `protected`.
program() {
    folder=$1 options=$2
    shift 2
    program=$(basename "$1" .c)
    # shellcheck disable=SC2086
    cc -g -O2 -w $options -I "$folder" "$@" "$out"/native/*.o -o "$out/$program.native" -lm
    # shellcheck disable=SC2086
    cc -g -O2 -w $options -I "$out/client" -I "$folder" "$@" "$out/client.o" -o "$out/$program.protected" $flags -lm
}

failed=0
# same PROGRAM ARGUMENTS...: in folders of their own, with the same files. `fails`: the same, and the program says that it failed.
same() {
    runs 0 "$@"
}
fails() {
    runs 1 "$@"
}
runs() {
    expected=$1
    program=$2
    shift 2
    for kind in native protected; do
        rm -rf "$out/run.$kind"
        mkdir "$out/run.$kind"
        cp -R "$out/input/." "$out/run.$kind"
        status=0
        (cd "$out/run.$kind" && "$out/$program.$kind" "$@" >stdout 2>stderr </dev/null) || status=$?
        echo $status >"$out/run.$kind/status"
    done
    ended=$(cat "$out/run.native/status")
    if [ "$((ended != 0))" -eq "$expected" ] && [ "$ended" -lt 128 ] && diff -r "$out/run.native" "$out/run.protected" >"$out/$program.diff"; then
        echo "  same: $program $*"
    else
        echo "  DIFFERENT: $program $* ($out/$program.diff; natively status $ended)"
        failed=1
    fi
}

lz4=$sources/lz4
if [ -d "$lz4" ]; then
    library lz4 lz4.h "$lz4/lib" "" "$lz4/lib/lz4.c"
    for test in examples/simple_buffer tests/decompress-partial tests/decompress-partial-usingDict; do
        program "$lz4/lib" "" "$lz4/$test.c"
        same "$(basename "$test")"
    done
    options="-DXXH_NAMESPACE=LZ4_ -DLZ4F_STATIC_LINKING_ONLY"
    library lz4frame lz4frame.h "$lz4/lib" "$options" "$lz4/lib/lz4frame.c" "$lz4/lib/lz4.c" "$lz4/lib/lz4hc.c" "$lz4/lib/xxhash.c"
    cp "$lz4/lib/lz4.c" "$out/input/text"
    head -c 5000000 "$lockgate" >"$out/input/binary"
    program "$lz4/lib" "$options" "$lz4/examples/frameCompress.c"
    for file in text binary; do
        same frameCompress $file
    done
fi

zstd=$sources/libzstd
if [ -d "$zstd" ]; then
    options="-DZSTD_DISABLE_ASM -DXXH_NAMESPACE=ZSTD_ -DDYNAMIC_BMI2=0"
    library zstd zstd.h "$zstd/lib" "$options" "$zstd"/lib/common/*.c "$zstd"/lib/compress/*.c "$zstd"/lib/decompress/*.c
    cp "$zstd/lib/zstd.h" "$out/input/text"
    head -c 5000000 "$lockgate" >"$out/input/binary"
    cp "$zstd/tests/golden-dictionaries/http-dict-missing-symbols" "$out/input/dictionary"
    for test in simple_compression streaming_compression multiple_simple_compression multiple_streaming_compression; do
        program "$zstd/lib" "$options" "$zstd/examples/$test.c"
    done
    for file in text binary; do
        same streaming_compression $file
        same simple_compression $file
        cp "$out/run.native/$file.zst" "$out/input/whole-$file.zst"
    done
    same multiple_simple_compression text binary
    same multiple_streaming_compression text binary
    cp "$out/run.native/text.zst" "$out/run.native/binary.zst" "$out/input"
    head -c 1000 "$out/input/binary.zst" >"$out/input/cut.zst"
    for test in simple_decompression streaming_decompression; do
        program "$zstd/lib" "$options" "$zstd/examples/$test.c"
        for file in text binary; do
            same $test whole-$file.zst
        done
        fails $test cut.zst
        fails $test text
    done
    same streaming_decompression binary.zst
    program "$zstd/lib" "$options" "$zstd/examples/dictionary_compression.c"
    same dictionary_compression text binary dictionary
    cp "$out/run.native/text.zst" "$out/run.native/binary.zst" "$out/input"
    program "$zstd/lib" "$options" "$zstd/examples/dictionary_decompression.c"
    same dictionary_decompression text.zst binary.zst dictionary
fi

# Brotli's own program uses streams, for which there are no annotations: a program of ours for the rest.
brotli=$sources/brotli
if [ -d "$brotli" ]; then
    include="-I $brotli/c/include"
    library brotli_encode encode.h "$brotli/c/include/brotli" "$include" "$brotli"/c/common/*.c "$brotli"/c/enc/*.c
    cp "$brotli/c/enc/encode.c" "$out/input/text"
    head -c 1000000 "$lockgate" >"$out/input/binary"
    program "$brotli/c/include" "$include" bench/programs/brotli.c
    for file in text binary; do
        same brotli $file
        cp "$out/run.native/$file.br11" "$work/$file.br"
    done
    library brotli_decode decode.h "$brotli/c/include/brotli" "$include" "$brotli"/c/common/*.c "$brotli"/c/dec/*.c
    mv "$work/text.br" "$work/binary.br" "$out/input"
    head -c 1000 "$out/input/binary.br" >"$out/input/cut.br"
    program "$brotli/c/include" "$include -D DECODE" bench/programs/brotli.c
    for file in text binary; do
        same brotli $file.br 1000000
    done
    fails brotli cut.br 1000000
    fails brotli text.br 100
fi

exit $failed
