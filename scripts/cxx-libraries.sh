#!/bin/sh
# Libraries in C++ with their own tests, natively and in a domain: both must print the same and end with the same status.
#
#     cxx-libraries.sh [NAME...]
#
# Without names all of them. Their sources come from Debian's or Ubuntu's source packages (build/cxx-libraries/sources), which needs deb-src entries;
# a folder of unpacked sources, each by the name of its source package, may be named by SOURCES. CXX_NATIVE and CXX_DOMAIN are the compilers
# (g++ and `lockgate c++`), OPTIONS their options (-O1). What is known to differ is in tests/cxx-libraries/exceptions.txt. 77: no sources to be had.
# LOCKGATE names the program; target/release/lockgate without.
set -eu
cd "$(dirname "$0")/.."

suite=cxx-libraries
# shellcheck source=scripts/sources.sh
. scripts/sources.sh
native=${CXX_NATIVE:-g++}
domain=${CXX_DOMAIN:-$lockgate c++}
base_options="-w ${OPTIONS:--O1}"

# One source, both ways.
if [ "${1:-}" = --one ]; then
    out=$2 options=$3 source=$4
    object=$(echo "${source#"$sources"/}" | tr / -).o
    for side in native domain; do
        [ "$side" = native ] && compiler=$native || compiler=$domain
        [ "$out/$side/$object" -nt "$source" ] && [ "$out/$side/$object" -nt "$lockgate" ] && continue
        # shellcheck disable=SC2086 # options are words
        $compiler $base_options $options -c "$source" -o "$out/$side/$object" ||
            { echo "$side: $source does not compile"; exit 255; }
    done
    exit
fi

# objects NAME OPTIONS SOURCES...: compiles them, both ways, into $work/NAME.
objects() {
    out=$work/$1 its_options=$2
    shift 2
    mkdir -p "$out/native" "$out/domain"
    printf '%s\n' "$@" | SOURCES="$sources" xargs -P "$(nproc)" -n 1 "$0" --one "$out" "$its_options"
}

# program NAME OPTIONS GROUP...: links it from all objects of these groups, both ways.
program() {
    program=$1 its_options=$2
    shift 2
    mkdir -p "$work/programs"
    for side in native domain; do
        files=
        for group; do files="$files $(echo "$work/$group/$side"/*.o)"; done
        [ "$side" = native ] && compiler=$native || compiler=$domain
        # shellcheck disable=SC2086 # options, files and the compiler are words
        $compiler $base_options $its_options $files -pthread -o "$work/programs/$program.$side"
    done
}

failed=0
# same NAME ARGUMENTS...: runs it, both ways, in the folder $run (a copy of $input, if that is set).
same() {
    program=$1
    shift
    for side in native domain; do
        run=$work/run.$side status=0
        rm -rf "$run"
        mkdir -p "$run"
        [ -z "${input:-}" ] || cp -RL "$input/." "$run"
        case $side in
        native) (cd "$run" && TEST_TMPDIR=. timeout "${LIMIT:-600}" "$work/programs/$program.native" "$@" >"$work/native.out" 2>"$work/native.err" </dev/null) || status=$? ;;
        domain)
            timeout "${LIMIT:-600}" "$lockgate" run --threads 40 --memory-limit 3G --mappings 16384 --env TEST_TMPDIR=. --dir "$run=$run" --cwd "$run" \
                "$work/programs/$program.domain" "$@" >"$work/domain.out" 2>"$work/domain.err" </dev/null || status=$?
            ;;
        esac
        { cat "$work/$side.out" "$work/$side.err"; echo "status $status"; } |
            sed -e "s|$run|RUN|g" -e "s|$program\.$side|PROGRAM|g" -f "$ours/normalise.sed" >"$work/$side.all"
    done
    case $status in
    0) ;;
    *) echo "  (in a domain: status $status: $(tail -1 "$work/domain.err"))" ;;
    esac
    if cmp -s "$work/native.all" "$work/domain.all" && [ -s "$work/native.out" ]; then
        echo "  same: $program ($# arguments)"
    elif grep -q "^$program: " "$ours/exceptions.txt"; then
        echo "  known: $program ($# arguments)"
    else
        echo "  DIFFERENT: $program ($# arguments)"
        diff "$work/native.all" "$work/domain.all" | head -20
        failed=1
    fi
}

# googletest, for those that want it. Its processes that are to die need fork.
gtest_options="-I$sources/googletest/googletest/include -I$sources/googletest/googlemock/include -DGTEST_HAS_DEATH_TEST=0"
gtest() {
    package googletest
    objects gtest "$gtest_options -I$sources/googletest/googletest -I$sources/googletest/googlemock" \
        "$sources/googletest/googletest/src/gtest-all.cc" "$sources/googletest/googlemock/src/gmock-all.cc"
}

library_fmt() {
    package fmtlib
    gtest
    folder=$sources/fmtlib
    options="$gtest_options -std=c++17 -I$folder/include"
    objects fmt "$options" "$folder"/src/format.cc "$folder"/src/os.cc "$folder"/test/test-main.cc "$folder"/test/gtest-extra.cc "$folder"/test/util.cc
    for test in ${TESTS:-args chrono format os ostream printf ranges std unicode xchar}; do
        objects "fmt-$test" "$options" "$folder/test/$test-test.cc"
        program "fmt-$test" "" fmt "fmt-$test" gtest
        same "fmt-$test"
    done
}

library_json() {
    package nlohmann-json3
    folder=$sources/nlohmann-json3
    options="-std=c++17 -I$folder/include -I$folder/tests/thirdparty/doctest -I$folder/tests/thirdparty/fifo_map -I$ours"
    objects json "$options" "$folder/tests/src/unit.cpp"
    for test in ${TESTS:-algorithms allocator conversions convenience deserialization items json_patch json_pointer merge_patch noexcept ordered_json pointer_access readme regression1 serialization to_chars udt unicode1 user_defined_input wstring}; do
        objects "json-$test" "$options" "$folder/tests/src/unit-$test.cpp"
        program "json-$test" "" json "json-$test"
        same "json-$test" --no-skip
    done
}

library_simdjson() {
    package simdjson
    folder=$sources/simdjson
    options="-std=c++17 -I$folder/include -I$folder/src -I$folder/tests -I$folder/tests/ondemand -DSIMDJSON_BENCHMARK_DATA_DIR=\"jsonexamples/\""
    objects simdjson "$options" "$folder/src/simdjson.cpp"
    for test in ${TESTS:-dom/document_stream_tests dom/random_string_number_tests minify_tests ondemand/ondemand_array_tests ondemand/ondemand_number_tests ondemand/ondemand_object_tests padded_string_tests unicode_tests}; do
        name=simdjson-$(basename "$test")
        objects "$name" "$options" "$folder/tests/$test.cpp"
        program "$name" "" simdjson "$name"
        input=$folder same "$name"
    done
}

library_re2() {
    package re2
    folder=$sources/re2
    # Its tables are made of those of Unicode.
    [ -d /usr/share/unicode ] || { echo "  left out: no /usr/share/unicode (Debian: unicode-data)" && return; }
    make -s -C "$folder" REBUILD_TABLES=1 re2/perl_groups.cc re2/unicode_casefold.cc re2/unicode_groups.cc
    options="-std=c++17 -I$folder"
    # shellcheck disable=SC2046 # file names are words
    objects re2 "$options" $(find "$folder/re2" -maxdepth 1 -name '*.cc' ! -name 'fuzz*') "$folder/util/rune.cc" "$folder/util/strutil.cc"
    objects re2-testing "$options" "$folder/util/test.cc" "$folder/util/pcre.cc" "$folder"/re2/testing/backtrack.cc "$folder"/re2/testing/dump.cc "$folder"/re2/testing/exhaustive_tester.cc \
        "$folder"/re2/testing/null_walker.cc "$folder"/re2/testing/regexp_generator.cc "$folder"/re2/testing/string_generator.cc "$folder"/re2/testing/tester.cc
    for test in ${TESTS:-charclass compile filtered_re2 mimics_pcre parse possible_match random re2 re2_arg regexp required_prefix search set simplify string_generator}; do
        objects "re2-$test" "$options" "$folder/re2/testing/${test}_test.cc"
        program "re2-$test" "" re2-testing "re2-$test" re2
        same "re2-$test"
    done
}

library_snappy() {
    package snappy
    gtest
    folder=$sources/snappy generated=$work/snappy-generated
    mkdir -p "$generated"
    sed -e 's/\${HAVE_SYS_UIO_H_01}/1/' -e 's/\${PROJECT_VERSION_[A-Z]*}/1/' "$folder/snappy-stubs-public.h.in" >"$generated/snappy-stubs-public.h"
    options="$gtest_options -std=c++17 -I$folder -I$generated -DHAVE_FUNC_MMAP -DHAVE_SYS_MMAN_H -DHAVE_SYS_UIO_H -DHAVE_UNISTD_H -DHAVE_SYS_TIME_H -DHAVE_BUILTIN_CTZ -DHAVE_BUILTIN_EXPECT"
    objects snappy "$options" "$folder"/snappy.cc "$folder"/snappy-c.cc "$folder"/snappy-sinksource.cc "$folder"/snappy-stubs-internal.cc \
        "$folder"/snappy-test.cc "$folder"/snappy_test_data.cc "$folder"/snappy_unittest.cc
    objects gtest-main "$gtest_options" "$sources/googletest/googletest/src/gtest_main.cc"
    program snappy "" snappy gtest gtest-main
    input=$folder same snappy
}

library_leveldb() {
    package leveldb
    gtest
    folder=$sources/leveldb
    options="$gtest_options -std=c++17 -I$folder -I$folder/include -I$ours -DLEVELDB_PLATFORM_POSIX=1 -DHAVE_FDATASYNC=1 -DHAVE_FULLFSYNC=0 -DHAVE_O_CLOEXEC=1 -DHAVE_CRC32C=0 -DHAVE_SNAPPY=0"
    # shellcheck disable=SC2046 # file names are words
    objects leveldb "$options" $(find "$folder/db" "$folder/table" "$folder/util" "$folder/helpers/memenv" -name '*.cc' ! -name '*_test.cc' ! -name '*windows*' ! -name 'leveldbutil.cc')
    # (db/db needs the library benchmark.)
    for test in ${TESTS:-db/autocompact db/corruption db/dbformat db/fault_injection db/filename db/log db/recovery db/skiplist db/version_edit db/version_set db/write_batch helpers/memenv/memenv issues/issue178 issues/issue200 issues/issue320 table/filter_block table/table util/arena util/bloom util/cache util/coding util/crc32c util/env_posix util/env util/hash util/logging util/no_destructor util/status}; do
        name=leveldb-$(basename "$test")
        objects "$name" "$options" "$folder/${test}_test.cc"
        program "$name" "" leveldb "$name" gtest
        same "$name"
    done
}

library_harfbuzz() {
    package harfbuzz
    folder=$sources/harfbuzz
    options="-std=c++17 -I$folder/src -DHB_HAS_THREADS=1 -DHAVE_PTHREAD=1"
    objects harfbuzz "$options" "$folder/src/harfbuzz.cc" "$ours/shape.cc"
    program shape "" harfbuzz
    # shellcheck disable=SC2046 # file names are words
    input=$folder/test/api/fonts same shape $(cd "$folder/test/api/fonts" && ls ./*.ttf ./*.otf)
}

library_catch2() {
    package catch2
    folder=$sources/catch2/projects/SelfTest
    options="-std=c++17 -I$sources/catch2/include -I$sources/catch2/single_include -I$folder"
    # shellcheck disable=SC2046 # file names are words
    objects catch2 "$options" "$folder/TestMain.cpp" $(ls "$folder"/IntrospectiveTests/*.cpp "$folder"/UsageTests/*.cpp) \
        $(ls "$sources"/catch2/include/internal/*.cpp "$sources"/catch2/include/reporters/*.cpp)
    program catch2 "" catch2
    for reporter in console xml; do
        same catch2 "~[!nonportable]~[!benchmark]~[approvals]" --reporter $reporter --order lex --rng-seed 1
    done
}

library_flatbuffers() {
    package flatbuffers
    folder=$sources/flatbuffers
    options="-std=c++17 -I$folder/include -I$folder/tests -DFLATBUFFERS_LOCALE_INDEPENDENT=0 -DFLATBUFFERS_NO_ABSOLUTE_PATH_RESOLUTION"
    # shellcheck disable=SC2046 # file names are words
    objects flatbuffers "$options" "$folder"/src/idl_parser.cpp "$folder"/src/idl_gen_text.cpp "$folder"/src/reflection.cpp "$folder"/src/util.cpp \
        "$folder"/src/idl_gen_fbs.cpp "$folder"/src/code_generators.cpp $(ls "$folder"/tests/*_test.cpp "$folder"/tests/test*.cpp "$folder"/tests/*_impl.cpp)
    program flatbuffers "" flatbuffers
    input=$folder same flatbuffers
}

[ $# -gt 0 ] || set -- fmt json simdjson re2 snappy leveldb harfbuzz catch2 flatbuffers
for library; do
    echo "$library"
    "library_$library"
done
exit $failed
