#!/bin/sh
# What reads C by libclang (`lockgate stubs`, `lockgate cc --split`), with one version of it after the other: each must make the same of the
# headers and sources of the tests, byte for byte, and pass the tests.
#
#   scripts/libclangs.sh [FOLDER...]
#
# A FOLDER has a libclang in its lib/, and libLLVM, and what else the system lacks, there or in ../x86_64-linux-gnu: /usr/lib/llvm-N, or
# where packages were unpacked. Without, those that are installed, and the packages libclang1-14 and later that apt knows of, which are
# fetched but not installed (build/libclangs, 150 MB each). 77: none.
set -eu
cd "$(dirname "$0")/.."
top=$PWD
root=$top/build/libclangs
mkdir -p "$root"

# Version $1: the package $2, and the libLLVM that it names, unless they are here.
fetch() {
    [ ! -d "$root/$1" ] || return 0
    part=$root/$1.part
    rm -rf "$part"
    mkdir -p "$part"
    llvm=$(apt-cache depends "$2" | sed -n 's/^ *Depends: \(libllvm.*\)/\1/p')
    # shellcheck disable=SC2086 # one name, or none
    (cd "$part" && apt-get download "$2" $llvm >log 2>&1) || { cat "$part/log" >&2; return 1; }
    for archive in "$part"/*.deb; do
        dpkg-deb -x "$archive" "$part"
        rm "$archive"
    done
    mv "$part" "$root/$1"
}

if [ $# -eq 0 ]; then
    for version in $(seq 14 40); do
        if ls /usr/lib/llvm-"$version"/lib/libclang[-.]*so* >/dev/null 2>&1; then
            set -- "$@" "/usr/lib/llvm-$version"
        elif command -v apt-cache >/dev/null; then
            # (Some have t64 behind their names.)
            package=$(apt-cache pkgnames "libclang1-$version" | grep -x -e "libclang1-$version" -e "libclang1-${version}t64" | head -1)
            if [ -n "$package" ] && fetch "$version" "$package"; then
                set -- "$@" "$root/$version/usr/lib/llvm-$version"
            fi
        fi
    done
fi
[ $# -gt 0 ] || { echo "libclangs.sh: no libclang is installed, and apt knows of none" >&2; exit 77; }

# (Cargo builds, and says where the program is; it does not see the variables below.)
cargo test --locked -p lockgate-cli --test suites --no-run >"$root/build.log" 2>&1 ||
    { cat "$root/build.log" >&2; exit 1; }
program=$(sed -n 's/^ *Executable tests.*(\(.*\))$/\1/p' "$root/build.log")
lockgate=$top/target/debug/lockgate

# Everything that the program makes, in one folder for all versions: its name is in what is made.
make_all() {
    rm -rf "$root/made"
    mkdir "$root/made"
    cd "$root/made"
    for header in "$top"/crates/lockgate-cli/tests/stubs/*.h /usr/include/zlib.h /usr/include/expat.h /usr/include/png.h /usr/include/sqlite3.h; do
        [ -e "$header" ] || continue
        name=$(basename "$header" .h)
        annotations=$top/share/stubs/$name.lg.h
        [ -e "$annotations" ] || annotations=
        for language in c cpp rust python; do
            # What is refused is refused in the same words.
            "$lockgate" stubs "$header" ${annotations:+-a "$annotations"} -l $language --partial -m "$name.lg" -o "$name-$language" \
                >"$name-$language.log" 2>&1 || echo "refused" >>"$name-$language.log"
            # (A file that links lead to is called by any of its names.)
            sed -i "s,$(readlink -f "$header"),$header,g" "$name-$language.log"
        done
    done
    for source in "$top"/crates/lockgate-cli/tests/split/*.c "$top"/crates/lockgate-cli/tests/split/several/*.c "$top"/examples/split/settings/*.c; do
        "$lockgate" cc --split -w -O1 -c "$source" -o "split-$(basename "$(dirname "$source")")-$(basename "$source" .c).o" || return 1
    done
    # Two that read nothing make the same.
    [ -s sly-c/sly_client.c ]
}

failed=0 first=
for folder; do
    name=$(basename "$folder")
    LIBCLANG_PATH=$folder/lib
    LD_LIBRARY_PATH=$folder/lib:$(dirname "$folder")/x86_64-linux-gnu
    export LIBCLANG_PATH LD_LIBRARY_PATH
    made=$root/made-$name
    rm -rf "$made"
    if ! (make_all) >"$made.log" 2>&1 || ! mv "$root/made" "$made"; then
        echo "$name: FAILED: not all was made ($made.log)"
        failed=1
    elif [ -z "$first" ]; then
        first=$made
        echo "$name: made $(find "$made" -type f | wc -l) files"
    elif diff -r "$first" "$made" >"$made.diff"; then
        echo "$name: made the same as $(basename "$first" | sed s/made-//)"
    else
        echo "$name: FAILED: made something else than $(basename "$first" | sed s/made-//) ($made.diff)"
        failed=1
    fi
    for test in split stubs stubs_reading; do
        log=$root/$name-$test.log
        if (cd crates/lockgate-cli && CARGO_MANIFEST_DIR=$PWD "$top/scripts/watchdog.sh" "$top/$program" "$test::") >"$log" 2>&1; then
            echo "$name: $test: $(sed -n 's/^test result: ok. //p' "$log")"
        else
            echo "$name: $test: FAILED ($log)"
            grep '^test .* FAILED$' "$log" || tail -3 "$log"
            failed=1
        fi
    done
    unset LIBCLANG_PATH LD_LIBRARY_PATH
done
exit $failed
