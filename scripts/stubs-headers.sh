#!/bin/sh
# The table of docs/stubs.md: what `lockgate stubs --explain` makes of unchanged headers of Debian's packages, which the project does not use itself.
#
#     stubs-headers.sh [FOLDER]
#
# FOLDER has the packages unpacked, each by its name (dpkg -x); what is not there is skipped by name. Without FOLDER they are downloaded with apt into
# build/stubs-headers. 77: none to be had. LOCKGATE names the program; target/release/lockgate without.
#
# Of a function that is refused the first reason counts. One that lacks nothing but the value that means failure (LG_ERRORS, once for each type)
# is protected. Status 1: a function of `wrong` is protected, which no annotation-free stub gets right, or a header is an error.
set -eu
cd "$(dirname "$0")/.."

lockgate=${LOCKGATE:-$PWD/target/release/lockgate}
work=$PWD/build/stubs-headers
packages=${1:-$work/packages}
mkdir -p "$work" "$packages"

# What these mean, their declarations do not say: people looked through all strings, untyped pointers and callbacks of these headers.
wrong="TIFFSetFileName cJSON_GetErrorPtr archive_entry_digest libssh2_hostkey_hash archive_read_open_FILE archive_write_open archive_write_open2 \
TIFFPrintDirectory TIFFClientOpen opus_packet_get_bandwidth opus_packet_get_nb_channels"

unpack() {
    [ -d "$packages/$1" ] && return 0
    (cd "$work" && rm -f "$1"_*.deb && apt-get download -qq "$1" >"$1.log" 2>&1 && dpkg -x "$1"_*.deb "$packages/$1" && rm -f "$1"_*.deb)
}

# What is refused, by the first reason. In: --explain's text. Out: functions and columns, as the table has them.
count='
/: refused: / {
    name = $0; sub(/:.*/, "", name); reason = $0; sub(/.*: refused: /, "", reason); functions++
    if (reason ~ /^no annotation says what the stub returns/) { protected++; good[name] = 1 }
    else if (reason ~ /variable arguments/) variable++
    else if (reason ~ /may keep the pointer|may be a place in text/) places++
    else if (reason ~ /callback|function pointer|FILE|may be the type of a function/) others++
    else if (reason ~ /string|bytes without an end|room for one/) text++
    else if ($0 ~ /: result: refused: /) result++
    else if (reason ~ /struct |union |structure|whether the library reads or writes/) structure++
    else if (reason ~ /what `.*` leads to|how large the buffer|sets the pointer|own data, |declared as an array|array/) pointer++
    else others++
    next
}
/^[A-Za-z_0-9]+$/ { functions++; protected++; good[$0] = 1 }
END {
    split(known, list, " ")
    for (n in list) if (list[n] in good) { bad++; print "WRONG " list[n] >"/dev/stderr" }
    print functions + 0, protected + 0, text + 0, places + 0, pointer + 0, structure + 0, result + 0, variable + 0, others + 0, bad + 0
}'

failed=0 any=0 totals="0 0 0 0 0 0 0 0 0 0"
row() {
    printf '| %s |' "$1"
    shift
    for number; do printf ' %s |' "$number"; done
    echo
}
# headers PACKAGE HEADER...: of a package; `PACKAGE+OTHER` has what its headers include.
headers() {
    all=$1
    shift
    includes=
    for package in $(echo "$all" | tr + ' '); do
        if ! unpack "$package"; then
            echo "SKIPPED: $*: no package $package: $(tail -1 "$work/$package.log" 2>/dev/null)" >&2
            return 0
        fi
        for folder in usr/include usr/include/x86_64-linux-gnu usr/include/freetype2; do
            [ ! -d "$packages/$package/$folder" ] || includes="$includes -I $packages/$package/$folder"
        done
    done
    package=${all%%+*}
    for header; do
        options=
        case $header in *=*) options="-D ${header%%:*}" header=${header#*:} ;; esac
        for folder in usr/include usr/include/x86_64-linux-gnu usr/include/freetype2; do
            [ -f "$packages/$package/$folder/$header" ] && break
        done
        # shellcheck disable=SC2086 # options are words
        if ! "$lockgate" stubs "$packages/$package/$folder/$header" $includes $options --explain >"$work/explained" 2>"$work/errors" && ! [ -s "$work/explained" ]; then
            echo "ERROR: $header: $(head -1 "$work/errors")" >&2
            failed=1
            continue
        fi
        numbers=$(awk -v known="$wrong" "$count" "$work/explained")
        cp "$work/explained" "$work/$(echo "$header" | tr / _).txt"
        # shellcheck disable=SC2086
        row "\`$header\`" $numbers
        totals=$(echo "$totals $numbers" | awk '{ for (i = 1; i <= 10; i++) printf "%d ", $i + $(i + 10) }')
        any=1
    done
}

row header functions protected "text or bytes?" "pointer kept, or a place?" "pointer: read, written, how long?" "structure: read, written, kept, handle?" \
    "pointer that is the result" "variable arguments" "callbacks and others" wrong
row --- --- --- --- --- --- --- --- --- --- ---
headers libcurl4-openssl-dev curl/curl.h curl/multi.h
headers libarchive-dev archive.h archive_entry.h
headers libjansson-dev jansson.h
headers liblz4-dev lz4.h lz4hc.h lz4frame.h
headers libzstd-dev zstd.h zdict.h
headers libcjson-dev cjson/cJSON.h
headers libssh2-1-dev libssh2.h libssh2_sftp.h
headers libopus-dev opus/opus.h opus/opus_multistream.h
headers libvorbis-dev+libogg-dev vorbis/codec.h vorbis/vorbisfile.h
headers libcairo2-dev cairo/cairo.h
headers libtiff-dev tiffio.h
headers libwebp-dev webp/encode.h webp/decode.h
headers libmpfr-dev+libgmp-dev mpfr.h
headers libpcre2-dev PCRE2_CODE_UNIT_WIDTH=0:pcre2.h
headers libonig-dev oniguruma.h
headers libfreetype-dev+libpng-dev+zlib1g-dev freetype/freetype.h
headers libgmp-dev gmp.h
headers libbrotli-dev brotli/encode.h brotli/decode.h
headers libyaml-dev yaml.h
# shellcheck disable=SC2086
row all $totals
[ "$any$failed" != 00 ] || exit 77
case $totals in *" 0 ") ;; *) failed=1 ;; esac
exit $failed
