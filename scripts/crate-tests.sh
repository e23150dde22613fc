#!/bin/sh
# Crates of crates.io with their own tests, natively and in a domain: each test must end alike. ripgrep runs as a program.
# crate-tests.sh [NAMES...]: those crates only. LOCKGATE names the program; target/release/lockgate without.
#
# A package brings its tests and the versions of what they need (Cargo.lock); Cargo fetches both (build/crate-tests).
# Known differences are in tests/compiler/crates.txt. 77: Cargo has no std for the target, or cannot fetch.
set -eu
cd "$(dirname "$0")/.."

lockgate=${LOCKGATE:-$PWD/target/release/lockgate}
root=$PWD/build/crate-tests
exceptions=$PWD/tests/compiler/crates.txt
target=x86_64-unknown-linux-musl

# Name, version, and the tests: all, unless `cargo test` is told which. Two of png's want 2 and 4 GiB at once, and a window has 4 for all.
crates='
serde_json 1.0.150
regex 1.12.4
flate2 1.1.11
miniz_oxide 0.8.9
png 0.17.16 --lib -- --skip encoder::tests::exper_error_on
rayon 1.12.0
rayon-core 1.13.0
crossbeam 0.8.5
crossbeam-channel 0.5.17
crossbeam-deque 0.8.8
crossbeam-epoch 0.9.21
crossbeam-utils 0.8.23
hashbrown 0.17.1
semver 1.0.28
smallvec 1.15.2
indexmap 2.14.0
pulldown-cmark 0.13.6
minijinja 3.1.0
ripgrep 14.1.1
'

skip() {
    echo "SKIPPED: $*" >&2
    exit 77
}
[ -x "$lockgate" ] || { echo "crate-tests.sh: no $lockgate: make build" >&2; exit 1; }
[ -d "$(rustc --print target-libdir --target $target)" ] || skip "rustc has no std for $target: rustup target add $target"

# What the tests' own Cargo was told is nothing to these.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET RUST_BACKTRACE
# Few of the tests are about speed or names: code without debug information, optimised a little.
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_TARGET_DIR="$root/target"
mkdir -p "$root/fetch/src" "$root/sources" "$root/tmp"

chosen() {
    echo "$crates" | while read -r name version options; do
        [ -n "$name" ] || continue
        case " $* " in "  " | *" $name "*) echo "$name $version $options" ;; esac
    done
}

fetch() {
    {
        printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n'
        chosen "$@" | while read -r name version _; do echo "$name = \"=$version\""; done
    } >"$root/fetch/Cargo.toml"
    : >"$root/fetch/src/lib.rs"
    cd "$root/fetch"
    # (cargo metadata does not know a dependency that is a program alone.)
    cargo vendor --quiet --versioned-dirs "$root/vendor" >"$root/log" 2>&1 || skip "cargo cannot fetch: $(tail -1 "$root/log")"
    cd - >/dev/null
    chosen "$@" | while read -r name version _; do
        [ -d "$root/sources/$name-$version" ] && continue
        rm -rf "$root/sources/$name-$version.part"
        cp -r "$root/vendor/$name-$version" "$root/sources/$name-$version.part"
        # It is no member of the workspace around it.
        printf '\n[workspace]\n' >>"$root/sources/$name-$version.part/Cargo.toml"
        # regex's package lacks one folder of the data of its tests, and one of inputs that a fuzzer has found.
        if [ "$name" = regex ]; then
            sed -i -e '/^mod fuzz;/d' -e '/load!("fowler/d' "$root/sources/$name-$version.part/tests/lib.rs"
        fi
        # No test of png's needs what one of its examples shows pictures by, and that wants CMake, with a compiler for the target.
        if [ "$name" = png ]; then
            sed -i '/^\[dev-dependencies.glium\]/,/^$/d' "$root/sources/$name-$version.part/Cargo.toml"
            (cd "$root/sources/$name-$version.part" && cargo fetch --quiet) >"$root/log" 2>&1 || skip "cargo cannot fetch: $(tail -1 "$root/log")"
        fi
        mv "$root/sources/$name-$version.part" "$root/sources/$name-$version"
    done
}

# The results of a log, one test a line: its crate, name and end.
results() {
    sed -n "s/^test \(.*\) \.\.\. \(ok\|FAILED\|ignored\).*/$2 \1 \2/p" "$1" | sort
}

# A crate's tests, twice; all of them, if nothing else is chosen.
both() {
    name=$1 folder=$root/sources/$1-$2
    cd "$folder"
    tests="--locked --no-fail-fast ${3:---lib --bins --tests}"
    # shellcheck disable=SC2086 # options are words
    cargo test $tests >"$root/$name.native" 2>&1 </dev/null || true
    # shellcheck disable=SC2086
    timeout 3000 "$lockgate" cargo --run="--dir=$folder=$folder" --run="--dir=/tmp=$root/tmp" test $tests >"$root/$name.inside" 2>&1 </dev/null || true
    cd - >/dev/null
    results "$root/$name.native" "$name" >"$root/$name.native-results"
    results "$root/$name.inside" "$name" >"$root/$name.results"
}

# ripgrep over the sources of the others: the same lines with the same options.
program() {
    folder=$root/sources/ripgrep-$1
    (cd "$folder" && cargo build --locked --quiet && "$lockgate" cargo build --locked) >"$root/ripgrep.log" 2>&1 || return 0
    module=$root/target/$target/debug/rg.lg
    : >"$root/ripgrep.native-results"
    : >"$root/ripgrep.results"
    for options in "-n fn" "-c -i TODO" "-l -w unsafe" "-j4 --stats -o [a-z]+_[a-z]+_test" "-U --multiline-dotall -e impl.{1,80}Drop" "--json panic" "-t md cargo" "--files -g *.toml" "-v -c the" "--pcre2 x"; do
        for side in native-results results; do
            # shellcheck disable=SC2086
            (
                cd "$root/sources" && set -f
                case $side in
                native-results) "$root/target/debug/rg" --sort path $options . ;;
                *) "$lockgate" run --quiet --threads 62 --dir="/src=.:ro" "$module" --sort path $options . ;;
                esac
            ) >"$root/rg.out" 2>"$root/rg.err" </dev/null && status=0 || status=$?
            # (Times differ, and so do the numbers of bytes that were searched before it.)
            digest=$(grep -v -e 'seconds' -e elapsed "$root/rg.out" | cksum | cut -d' ' -f1)
            echo "ripgrep $options: $status $(wc -l <"$root/rg.out") lines $digest" >>"$root/ripgrep.$side"
        done
    done
}

fetch "$@"
unexpected=0
chosen "$@" >"$root/chosen"
while read -r name version options <&3; do
    if [ "$name" = ripgrep ]; then program "$version"; else both "$name" "$version" "$options"; fi
    differ=$(diff "$root/$name.native-results" "$root/$name.results" | sed -n 's/^[<>] //p' | grep -v '^$' | sort -u || true)
    news=$(echo "$differ" | while read -r line; do
        [ -z "$line" ] || grep -q -x -F "${line% *}" "$exceptions" || echo "$line"
    done)
    same=$(comm -12 "$root/$name.native-results" "$root/$name.results" | wc -l)
    echo "$name $version: $same the same, $(echo "$differ" | grep -c . || true) known or new differences"
    # What built nothing leaves nothing to compare.
    [ "$same" -gt 0 ] || news="$name: nothing was the same: $(grep -m1 -h '^error' "$root/$name".* || true)"
    if [ -n "$news" ]; then
        echo "$news" | sed 's/^/  NEW: /'
        unexpected=1
    fi
done 3<"$root/chosen"
exit $unexpected
