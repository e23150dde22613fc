#!/bin/sh
# Builds what `make dist` has built once more, from a copy of the tree in another folder, and compares what is installed, byte by byte.
set -eu

cd "$(dirname "$0")/.."
root=$(pwd -P)
work=$root/build/reproducible
copy="$work/another folder/of another depth/lockgate"
fail() {
    echo "reproducible-check: $*" >&2
    exit 1
}
[ -e target/dist/lockgate ] || fail "nothing to compare with: make dist"
# (What cargo has built there of an older copy it looks at itself.)
mkdir -p "$copy"
git ls-files --cached --others --exclude-standard >"$work/files"
tar -c --verbatim-files-from -T "$work/files" --ignore-failed-read 2>/dev/null | tar -x -C "$copy"
export CARGO_TARGET_DIR="$copy/target"
(cd "$copy" && scripts/dist.sh)
unset CARGO_TARGET_DIR
rm -rf "$work/one" "$work/other"
DESTDIR=$work/one scripts/install.sh target/dist /usr
DESTDIR=$work/other "$copy/scripts/install.sh" "$copy/target/dist" /usr
diff -r --no-dereference "$work/one" "$work/other" || fail "two builds differ"
for file in "$work"/one/usr/bin/lockgate "$work"/one/usr/lib/liblockgate.so.*.*.*; do
    for name in "$root" "$(cd "${CARGO_HOME:-$HOME/.cargo}" && pwd -P)"; do
        ! grep -qF "$name" "$file" || fail "${file##*/} names $name"
    done
done
count=$(find "$work/one" -type f | wc -l)
[ "$count" -gt 20 ] || fail "only $count files were compared"
echo "reproducible-check: $count files are equal"
