#!/bin/sh
# Libraries in C, built by their own build systems natively and by `lockgate cc`, with their own tests: both must give the same.
#
#     c-libraries.sh [NAME...]
#
# Without names all of them. Their sources come from Debian's or Ubuntu's source packages (build/c-libraries/sources), which needs deb-src
# entries; a folder of unpacked sources, each by the name of its source package, may be named by SOURCES. LOCKGATE names the program;
# target/release/lockgate without. 77: no sources to be had.
# jq wants autoconf, automake and libtool, libjpeg-turbo CMake, Mbed TLS Perl and Python.
set -eu
cd "$(dirname "$0")/.."

suite=c-libraries
# shellcheck source=scripts/sources.sh
. scripts/sources.sh

# What runs programs of a side, by the file $work/run.SIDE.
printf '#!/bin/sh\nexec "$@"\n' >"$work/run.native"
cat >"$work/run.domain" <<END
#!/bin/sh
exec "$lockgate" run --threads 16 --memory-limit 2G --mappings 16384 --descriptors 4096 --env TEST_OPUS_NOFUZZ=1 \
    --dir /dev=/dev --dir "$work=$work" --dir "$sources=$sources:ro" --cwd "\$PWD" "\$@"
END
chmod +x "$work/run.native" "$work/run.domain"

# side SIDE LIBRARY: the variables for it: the compiler, what runs programs, and the folder it is built in.
side() {
    folder=$work/$2.$1
    run=$work/run.$1
    case $1 in
    native) compiler=gcc its_host= ;;
    domain) compiler="$lockgate cc" its_host=--host=x86_64-lockgate-linux-gnu ;;
    esac
    mkdir -p "$folder"
}

# quietly COMMAND...: its output is shown if it fails.
quietly() {
    "$@" >"$folder/log" 2>&1 || { tail -40 "$folder/log"; echo "failed: $*"; return 1; }
}

# configured LIBRARY OPTIONS...: by its configure script, without shared libraries.
configured() {
    its_source=$sources/$1
    shift
    # shellcheck disable=SC2086 # its_host is a word or nothing
    [ -f Makefile ] || quietly "$its_source/configure" $its_host --disable-shared --enable-static CC="$compiler" "$@"
}

failed=0
# same LIBRARY: compares what $work/LIBRARY.SIDE.out have, a line for each result.
same() {
    if [ ! -s "$work/$1.native.out" ]; then
        echo "  $1: NOTHING was compared"
        failed=1
    elif cmp -s "$work/$1.native.out" "$work/$1.domain.out"; then
        echo "  same: $1 ($(wc -l <"$work/$1.native.out") results)"
    else
        echo "  DIFFERENT: $1"
        diff "$work/$1.native.out" "$work/$1.domain.out" | head -20
        failed=1
    fi
}

# results: those of an Automake's `make check` in the folder.
results() {
    find . -name '*.trs' ! -name test-suite.trs | sort | while read -r result; do
        echo "$result $(sed -n 's/^:test-result: *//p' "$result" | sort | uniq -c | tr -s ' \n' ' ')"
    done
}

# GMP with its assembly. Its tests of calling conventions take their return addresses away, which modules cannot.
library_gmp() {
    package gmp
    # Debian leaves the manual out.
    [ -d "$sources/gmp/doc" ] || { mkdir "$sources/gmp/doc" && printf 'all check:\n' >"$sources/gmp/doc/Makefile.in"; }
    for side in native domain; do
        side $side gmp
        (
            cd "$folder"
            configured gmp
            sed -i '/define HAVE_CALLING_CONVENTIONS/d' config.h
            # shellcheck disable=SC2016 # make's variable
            sed -i -e 's/amd64call\.lo//' -e 's/amd64check\$U\.lo//' tests/Makefile
            quietly make -j2
            make -k -j2 check LOG_COMPILER="$run" >log 2>&1 || true
            results >"$folder.out"
        )
    done
    same gmp
}

library_opus() {
    package opus
    for side in native domain; do
        side $side opus
        (
            cd "$folder"
            configured opus --disable-doc
            quietly make -j2
            TEST_OPUS_NOFUZZ=1 make -k check LOG_COMPILER="$run" >log 2>&1 || true
            results >"$folder.out"
        )
    done
    same opus
}

# An image by several methods, there and back.
library_libwebp() {
    package libwebp
    for side in native domain; do
        side $side libwebp
        (
            cd "$folder"
            configured libwebp --disable-png --disable-jpeg --disable-tiff --disable-gif --disable-gl --disable-sdl --disable-wic
            quietly make -j2
            its_source=$sources/libwebp/examples
            for how in "-q 10" "-q 80 -m 6" "-lossless" "-near_lossless 40" "-q 50 -sharp_yuv" "-preset drawing -mt" "-size 4000 -pass 6"; do
                # shellcheck disable=SC2086 # options are words
                "$run" examples/cwebp -quiet $how "$its_source/test_ref.ppm" -o image.webp
                "$run" examples/dwebp -quiet image.webp -ppm -o image.ppm
                echo "$how: $(cksum <image.webp) $(cksum <image.ppm) $("$run" examples/webpinfo image.webp | cksum)"
            done >"$folder.out"
            for how in "-ppm -nofancy" "-ppm -crop 10 10 60 50" "-ppm -scale 33 0" "-ppm -flip" "-ppm -nodither -mt" -yuv; do
                # shellcheck disable=SC2086 # options are words
                "$run" examples/dwebp -quiet $how "$its_source/test.webp" -o image.out
                echo "$how: $(cksum <image.out)"
            done >>"$folder.out"
        )
    done
    same libwebp
}

library_jq() {
    package jq
    [ -f "$sources/jq/configure" ] || (cd "$sources/jq" && mkdir -p config && autoreconf -fi >"$work/jq.log" 2>&1) || skip "jq: $(tail -1 "$work/jq.log")"
    for side in native domain; do
        side $side jq
        (
            cd "$folder"
            configured jq --without-oniguruma --disable-maintainer-mode --disable-docs
            quietly make -j2
            for test in jq base64 optional; do
                "$run" ./jq -L "$sources/jq/tests/modules" --run-tests "$sources/jq/tests/$test.test" || echo "status $?"
            done >"$folder.out" 2>&1
        )
    done
    same jq
}

library_mbedtls() {
    package mbedtls
    for side in native domain; do
        side $side mbedtls
        (
            [ -d "$folder/library" ] || cp -R "$sources/mbedtls/." "$folder"
            cd "$folder"
            quietly make -j2 lib CC="$compiler" GEN_FILES=
            quietly make -k -j2 -C tests CC="$compiler" || true
            cd tests
            for test in test_suite_*.datax; do
                test=${test%.datax}
                [ -f "$test" ] || { echo "$test: not built" && continue; }
                echo "$test: $("$run" "./$test" 2>&1 | tail -1)"
            done >"$folder.out"
        )
    done
    same mbedtls
}

library_libxml2() {
    package libxml2
    for side in native domain; do
        side $side libxml2
        (
            # The tests read and write beside their sources.
            [ -f "$folder/configure" ] || cp -R "$sources/libxml2/." "$folder"
            cd "$folder"
            # shellcheck disable=SC2086 # its_host is a word or nothing
            [ -f Makefile ] || quietly ./configure $its_host --disable-shared --without-python --without-lzma --without-zlib CC="$compiler"
            programs="runtest testrecurse testapi testchar testdict xmllint"
            # shellcheck disable=SC2086 # programs are words
            quietly make -j2 $programs
            # (What the threads of runtest say of files that the package lacks comes in any order, natively, too: its own headings and sums count.)
            for test in runtest testrecurse testapi testchar testdict; do
                echo "$test"
                "$run" ./$test >"$folder/said" 2>"$folder/err" || echo "status $?"
                grep -e "^##" -e "^Total" "$folder/said" || cksum <"$folder/said"
            done >"$folder.out"
        )
    done
    same libxml2
}

# Without SIMD: its assembly moves rsp by half words.
library_libjpeg_turbo() {
    package libjpeg-turbo
    its_source=$sources/libjpeg-turbo
    for side in native domain; do
        side $side libjpeg-turbo
        (
            cd "$folder"
            case $side in
            native) set -- ;;
            domain) set -- -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=x86_64 -DCMAKE_C_COMPILER="$lockgate" -DCMAKE_C_COMPILER_ARG1=cc -DCMAKE_TRY_COMPILE_TARGET_TYPE=EXECUTABLE ;;
            esac
            [ -f Makefile ] || quietly cmake "$its_source" -DWITH_SIMD=0 -DENABLE_SHARED=0 "$@"
            quietly make -j2 cjpeg-static djpeg-static jpegtran-static tjunittest-static tjbench-static
            images=$its_source/testimages
            {
                for options in "" -yuv -alpha "-bmp" "-yuv -noyuvpad"; do
                    # shellcheck disable=SC2086 # options are words
                    echo "tjunittest $options: $("$run" ./tjunittest-static $options >unit.log 2>&1; echo $?) $(grep -c Passed unit.log)"
                done
                for options in "-dct int" "-dct float" "-dct fast" "-progressive" "-arithmetic" "-quality 10 -optimize" "-grayscale" "-sample 1x1" "-restart 1"; do
                    # shellcheck disable=SC2086 # options are words
                    "$run" ./cjpeg-static $options -outfile image.jpg "$images/testorig.ppm"
                    "$run" ./djpeg-static -ppm -outfile image.ppm image.jpg
                    "$run" ./jpegtran-static -rotate 90 -trim -outfile turned.jpg image.jpg
                    echo "$options: $(cksum <image.jpg) $(cksum <image.ppm) $(cksum <turned.jpg)"
                done
                for scale in 1/8 3/8 1/2 7/8 9/8 2/1; do
                    "$run" ./djpeg-static -scale $scale -nosmooth -bmp -outfile image.bmp "$images/testorig.jpg"
                    echo "$scale: $(cksum <image.bmp)"
                done
            } >"$folder.out"
        )
    done
    same libjpeg-turbo
}

# All glyphs of the fonts of FONTS (those that are installed).
library_freetype() {
    package freetype
    fonts=${FONTS:-$(find /usr/share/fonts -name '*.ttf' -o -name '*.otf' | sort | head -40)}
    [ -n "$fonts" ] || { echo "  left out: freetype, no fonts (Debian: fonts-dejavu)" && return; }
    for side in native domain; do
        side $side freetype
        (
            cd "$folder"
            [ -f Makefile ] || {
                # shellcheck disable=SC2086 # its_host is a word or nothing
                quietly "$sources/freetype/configure" $its_host --disable-shared --with-zlib=no --with-bzip2=no --with-png=no --with-harfbuzz=no --with-brotli=no CC="$compiler"
            }
            quietly make -j2
            # shellcheck disable=SC2086 # the compiler is words
            quietly $compiler -O1 -I"$sources/freetype/include" "$ours/glyphs.c" .libs/libfreetype.a -o glyphs
            mkdir -p fonts
            # shellcheck disable=SC2086 # fonts are words
            cp $fonts fonts
            # shellcheck disable=SC2035 # their names begin with none of -
            "$run" ./glyphs fonts/* >"$folder.out"
        )
    done
    same freetype
}

[ $# -gt 0 ] || set -- gmp opus libwebp jq mbedtls libxml2 libjpeg-turbo freetype
for library; do
    echo "$library"
    "library_$(echo "$library" | tr - _)"
done
exit $failed
