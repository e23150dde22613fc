#!/bin/sh
# Whether this tree could be released: sizes, every crate packaged and built from its package alone, in order, and the wheels.
# Nothing is published. Cargo and pip take from the network what they do not have.
set -eu

cd "$(dirname "$0")/.."
fail() {
    echo "release-check: $*" >&2
    exit 1
}
# Megabytes (10^6 bytes): the program and the library as they are packaged, without the names of functions.
at_most() {
    strip -o "$stage/stripped" "$1"
    size=$(stat -c %s "$stage/stripped")
    [ "$size" -le "$2" ] || fail "$1 has $size bytes when it is stripped, $2 at most"
    echo "$1: $size bytes when it is stripped, $(stat -c %s "$1") as it is"
}
stage=$(mktemp -d)
mkdir -p build
verified=$(mktemp -d "$PWD/build/verified.XXXXXX")
# The folders with the packages' sources that cargo has unpacked into its own.
unpacked() {
    grep -ohs "${CARGO_HOME:-$HOME/.cargo}/registry/src/-[0-9a-f]*" "$verified"/debug/deps/lockgate*.d | sort -u
}
trap 'unpacked | xargs -r rm -rf; rm -rf "$stage" "$verified"' EXIT
DESTDIR=$stage scripts/install.sh target/dist /usr
at_most "$stage/usr/bin/lockgate" 10000000
at_most "$(echo "$stage"/usr/lib/liblockgate.so.*.*.*)" 4000000
# What debuggers look for is there.
for file in "$stage/usr/bin/lockgate" "$stage"/usr/lib/liblockgate.so.*.*.*; do
    readelf -SW "$file" | grep -qF .debug_gdb_scripts || fail "$file has not gdb's script"
    nm "$file" | grep -q ' lockgate_debug_modules$' || fail "$file has no name for its list of modules"
done

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
grep -q "version = \"=$version\"" Cargo.toml || fail "the crates' versions of each other are not $version"
dpkg-parsechangelog -S Version >/dev/null 2>&1 && {
    debian=$(dpkg-parsechangelog -S Version)
    [ "$debian" = "$version" ] || fail "debian/changelog says $debian, Cargo.toml $version"
}

# All at once since cargo 1.90, which builds each from the packages of those before; what has publish = false is left out.
cargo publish --help | grep -q -- --workspace || fail "cargo 1.90 or later is needed here"
# What cargo unpacks of a crate it takes again for each package of that version in the same folder, whatever is in the package; and so what
# it compiles. In a new folder each crate is built from the packages of this tree, not from those of the run before.
CARGO_TARGET_DIR=$verified cargo publish --dry-run --locked --workspace ${RELEASE_CHECK_CARGO:-}

scripts/wheels.sh
ls build/wheels/*.whl
ls build/wheels/lockgate-"$version"-cp311-abi3-*.whl >/dev/null || fail "no wheel for every CPython from 3.11 on"
# The older ones that are supported need their interpreters.
for minor in 9 10; do
    if "python3.$minor" -c '' >/dev/null 2>&1; then
        ls build/wheels/lockgate-"$version"-cp3$minor-cp3$minor-*.whl >/dev/null || fail "no wheel for CPython 3.$minor"
    else
        echo "release-check: skipped: the wheel for CPython 3.$minor, which is not installed"
    fi
done
echo "release-check: $version can be released"
