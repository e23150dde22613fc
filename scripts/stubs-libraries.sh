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
# `any`: the same, whether the program says that it failed or not.
any() {
    runs - "$@"
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
    [ "$expected" != - ] || expected=$((ended != 0))
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
        cp "$out/run.native/$file.lz4" "$out/input/whole-$file.lz4"
    done
    # Its tests; the others ask for what has no client: streams of lz4.h, which refer to earlier buffers, and lz4hc.h (roundTripTest, fuzzer, abiTest),
    # dictionaries that the library keeps (frametest).
    program "$lz4/lib" "$options -I $lz4/programs" "$lz4/tests/checkFrame.c"
    head -c 1000 "$out/input/whole-binary.lz4" >"$out/input/cut.lz4"
    for file in text binary; do
        for size in "-b4 -B65536" "-b7 -B4194304"; do
            # shellcheck disable=SC2086 # options are words
            any checkFrame $size whole-$file.lz4
        done
    done
    fails checkFrame -b4 -B65536 cut.lz4
    fails checkFrame -b4 -B65536 text
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
    # Its tests, those that a client can have: others ask for what is not in the stable API (roundTripCrash, legacy, fuzzer, zstreamtest), or for 2 GiB
    # of a domain's 4 in one piece (bigdict).
    for test in invalidDictionaries longmatch; do
        program "$zstd/lib" "$options -I $zstd/lib/common" "$zstd/tests/$test.c"
        same $test
    done
fi

# A program of ours for what takes a whole buffer; then brotli's own, which uses streams, and its own tests of that.
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

    include="-I $brotli/c/include -I $work/brotli_encode/client -I $work/brotli_decode/client"
    clients="$work/brotli_encode/client.o $work/brotli_decode/client.o"
    out=$work/brotli
    rm -rf "$out"
    mkdir -p "$out/input"
    # shellcheck disable=SC2086
    cc -g -O2 -w -I "$brotli/c/include" "$brotli/c/tools/brotli.c" "$brotli"/c/common/*.c "$brotli"/c/enc/*.c "$brotli"/c/dec/*.c -o "$out/brotli.native" -lm
    # shellcheck disable=SC2086
    cc -g -O2 -w $include "$brotli/c/tools/brotli.c" $clients -o "$out/brotli.protected" $flags -lm
    cp "$brotli/c/enc/encode.c" "$out/input/text"
    head -c 5000000 "$lockgate" >"$out/input/binary"
    for file in text binary; do
        for quality in 1 5 9; do
            same brotli -q $quality $file
        done
        cp "$out/run.native/$file.br" "$out/input/whole-$file.br"
        same brotli -d whole-$file.br
    done
    head -c 1000 "$out/input/whole-binary.br" >"$out/input/cut.br"
    fails brotli -d cut.br
    fails brotli -dc text
    for test in roundtrip compatibility; do
        for kind in native protected; do
            rm -rf "$out/test.$kind"
            mkdir -p "$out/test.$kind/bin/tmp" "$out/test.$kind/c/enc" "$out/test.$kind/c/dec"
            cp -R "$brotli/tests" "$out/test.$kind"
            cp "$brotli/c/enc/encode.c" "$out/test.$kind/c/enc"
            cp "$brotli/c/dec/decode.c" "$out/test.$kind/c/dec"
            cp "$out/brotli.$kind" "$out/test.$kind/bin/brotli"
            (cd "$out/test.$kind" && bash "tests/${test}_test.sh" >said 2>&1 && echo passed >>said) || echo failed >>"$out/test.$kind/said"
        done
        if grep -qx passed "$out/test.native/said" && diff "$out/test.native/said" "$out/test.protected/said" >"$out/$test.diff"; then
            echo "  same: brotli's own ${test}_test.sh, $(wc -l <"$out/test.native/said") lines"
        else
            echo "  DIFFERENT: brotli's own ${test}_test.sh ($out/$test.diff)"
            failed=1
        fi
    done
fi

exit $failed
