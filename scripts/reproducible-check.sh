#!/bin/sh
# Builds what `make dist` has built once more, from a copy of the tree in another folder, and compares what is installed, byte by byte. So also
# wheels (`make wheels`) and Debian packages (`make deb`), where this tree has them.
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
# The copy has no history that would tell its time.
SOURCE_DATE_EPOCH=$(scripts/reproducible.sh sh -c 'echo "$SOURCE_DATE_EPOCH"')
export SOURCE_DATE_EPOCH CARGO_TARGET_DIR="$copy/target"
(cd "$copy" && scripts/dist.sh)
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

# Says how many files of one folder, with this ending, are the same in the other.
same() {
    count=0
    for file in "$1"/*."$3"; do
        cmp "$file" "$2/${file##*/}" || fail "${file##*/} differs"
        count=$((count + 1))
    done
    echo "reproducible-check: $count files .$3 are equal"
}
if ls build/wheels/*.whl >/dev/null 2>&1; then
    (cd "$copy" && scripts/wheels.sh)
    same build/wheels "$copy/build/wheels" whl
fi
if ls build/deb/*.deb >/dev/null 2>&1; then
    make -C "$copy" dist-python PYTHON=/usr/bin/python3
    rm -rf "$work/deb"
    cp -R build/deb "$work/deb"
    # (The packages' rules know no names with spaces.)
    ln -sfn "$copy/target/dist" "$work/dist"
    BUILT=$work/dist scripts/deb.sh
    same "$work/deb" build/deb deb
fi
