#!/bin/sh
# Crates of crates.io with their own tests, natively and in a domain: each test must end alike. ripgrep runs as a program.
# crate-tests.sh [NAMES...]: those crates only. LOCKGATE names the program; target/release/lockgate without.
#
# A package brings its tests and the versions of what they need (Cargo.lock); Cargo fetches both (build/crate-tests). Those of regex and png lack
# data of their tests, which their repositories have; REGEX and PNG name other copies of these. What is not to be had there is left out, and said.
# Known differences are in tests/compiler/crates.txt. 77: Cargo has no std for the target, or cannot fetch.
set -eu
cd "$(dirname "$0")/.."

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

suite=crate-tests
# shellcheck source=scripts/sources.sh
. scripts/sources.sh
[ -d "$(rustc --print target-libdir --target $target)" ] || skip "rustc has no std for $target: rustup target add $target"

# What the tests' own Cargo was told is nothing to these.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_TARGET RUST_BACKTRACE
# Few of the tests are about speed or names: code without debug information, optimised a little.
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_TARGET_DIR="$work/target"
mkdir -p "$work/fetch/src" "$work/repositories" "$work/tmp"

chosen() {
    echo "$crates" | while read -r name version options; do
        [ -n "$name" ] || continue
        case " $* " in "  " | *" $name "*) echo "$name $version $options" ;; esac
    done
}

# whole NAME PACKAGE URL FOLDERS...: these folders as they are in the repository at the commit that the package names.
whole() {
    name=$1 package=$2 url=$3
    shift 3
    commit=$(sed -n 's/.*"sha1": "\([0-9a-f]*\)".*/\1/p' "$package/.cargo_vcs_info.json")
    repository "$work/repositories/$name" "$url" "$commit" || {
        echo "$name: without the data that its package lacks: $url: $(tail -1 "$work/log")"
        return 1
    }
    for folder; do
        rm -rf "${package:?}/$folder"
        cp -r "$work/repositories/$name/$folder" "$package/$folder"
    done
}

fetch() {
    {
        printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n'
        chosen "$@" | while read -r name version _; do echo "$name = \"=$version\""; done
    } >"$work/fetch/Cargo.toml"
    : >"$work/fetch/src/lib.rs"
    cd "$work/fetch"
    # (cargo metadata does not know a dependency that is a program alone.)
    cargo vendor --quiet --versioned-dirs "$work/vendor" >"$work/log" 2>&1 || skip "cargo cannot fetch: $(tail -1 "$work/log")"
    cd - >/dev/null
    chosen "$@" | while read -r name version _; do
        [ -d "$sources/$name-$version" ] && continue
        part=$sources/$name-$version.part
        rm -rf "$part"
        cp -r "$work/vendor/$name-$version" "$part"
        # It is no member of the workspace around it.
        printf '\n[workspace]\n' >>"$part/Cargo.toml"
        case $name in
        regex)
            whole "$name" "$part" "${REGEX:-https://github.com/rust-lang/regex.git}" tests testdata ||
                sed -i -e '/^mod fuzz;/d' -e '/load!("fowler/d' "$part/tests/lib.rs"
            ;;
        png)
            whole "$name" "$part" "${PNG:-https://github.com/image-rs/image-png.git}" tests || true
            # None of its tests needs what one of its examples shows pictures by, and that wants CMake, with a compiler for the target.
            sed -i '/^\[dev-dependencies.glium\]/,/^$/d' "$part/Cargo.toml"
            (cd "$part" && cargo fetch --quiet) >"$work/log" 2>&1 || skip "cargo cannot fetch: $(tail -1 "$work/log")"
            ;;
        esac
        mv "$part" "$sources/$name-$version"
    done
}

# The results of a log, one test a line: its crate, name and end.
results() {
    sed -n "s/^test \(.*\) \.\.\. \(ok\|FAILED\|ignored\).*/$2 \1 \2/p" "$1" | sort
}

# A crate's tests, twice; all of them, if nothing else is chosen.
both() {
    name=$1 folder=$sources/$1-$2
    cd "$folder"
    tests="--locked --no-fail-fast ${3:---lib --bins --tests}"
    # shellcheck disable=SC2086 # options are words
    cargo test $tests >"$work/$name.native" 2>&1 </dev/null || true
    # shellcheck disable=SC2086
    timeout 3000 "$lockgate" cargo --run="--dir=$folder=$folder" --run="--dir=/tmp=$work/tmp" test $tests >"$work/$name.inside" 2>&1 </dev/null || true
    cd - >/dev/null
    results "$work/$name.native" "$name" >"$work/$name.native-results"
    results "$work/$name.inside" "$name" >"$work/$name.results"
}

# ripgrep over the sources of the others: the same lines with the same options.
program() {
    folder=$sources/ripgrep-$1
    (cd "$folder" && cargo build --locked --quiet && "$lockgate" cargo build --locked) >"$work/ripgrep.log" 2>&1 || return 0
    module=$work/target/$target/debug/rg.lg
    : >"$work/ripgrep.native-results"
    : >"$work/ripgrep.results"
    for options in "-n fn" "-c -i TODO" "-l -w unsafe" "-j4 --stats -o [a-z]+_[a-z]+_test" "-U --multiline-dotall -e impl.{1,80}Drop" "--json panic" "-t md cargo" "--files -g *.toml" "-v -c the" "--pcre2 x"; do
        for side in native-results results; do
            # shellcheck disable=SC2086
            (
                cd "$sources" && set -f
                case $side in
                native-results) "$work/target/debug/rg" --sort path $options . ;;
                *) "$lockgate" run --quiet --threads 62 --dir="/src=.:ro" "$module" --sort path $options . ;;
                esac
            ) >"$work/rg.out" 2>"$work/rg.err" </dev/null && status=0 || status=$?
            # (Times differ, and so do the numbers of bytes that were searched before it.)
            digest=$(grep -v -e 'seconds' -e elapsed "$work/rg.out" | cksum | cut -d' ' -f1)
            echo "ripgrep $options: $status $(wc -l <"$work/rg.out") lines $digest" >>"$work/ripgrep.$side"
        done
    done
}

fetch "$@"
unexpected=0
chosen "$@" >"$work/chosen"
while read -r name version options <&3; do
    if [ "$name" = ripgrep ]; then program "$version"; else both "$name" "$version" "$options"; fi
    differ=$(diff "$work/$name.native-results" "$work/$name.results" | sed -n 's/^[<>] //p' | grep -v '^$' | sort -u || true)
    news=$(echo "$differ" | while read -r line; do
        [ -z "$line" ] || grep -q -x -F "${line% *}" "$exceptions" || echo "$line"
    done)
    same=$(comm -12 "$work/$name.native-results" "$work/$name.results" | wc -l)
    echo "$name $version: $same the same, $(echo "$differ" | grep -c . || true) known or new differences"
    # What built nothing leaves nothing to compare.
    [ "$same" -gt 0 ] || news="$name: nothing was the same: $(grep -m1 -h '^error' "$work/$name".* || true)"
    if [ -n "$news" ]; then
        echo "$news" | sed 's/^/  NEW: /'
        unexpected=1
    fi
done 3<"$work/chosen"
exit $unexpected
