#!/bin/sh
# Makes the Python package's wheels in build/wheels: wheels.sh [INTERPRETER...]
#
# One wheel serves CPython 3.11 and later; each older version needs its own (docs/decisions/0074-what-is-packaged.md). Without names: python3,
# and python3.9 and python3.10 where they run.
set -eu

cd "$(dirname "$0")/.."
fail() {
    echo "wheels: $*" >&2
    exit 1
}
[ $# -gt 0 ] || {
    set -- "${PYTHON:-python3}"
    for name in python3.9 python3.10; do
        if "$name" -c '' >/dev/null 2>&1; then
            set -- "$@" "$name"
        else
            echo "wheels: no $name here, and so no wheel for it" >&2
        fi
    done
}
# Each wheel once: python3 may be python3.10.
mkdir -p build
for name; do
    "$name" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || fail "$name is not CPython 3.9 or later"
    "$name" -c 'import sys; print("%d.%02d" % min(sys.version_info[:2], (3, 11)), sys.executable)'
done >build/interpreters
set --
while read -r _ name; do
    set -- "$@" --interpreter "$name"
done <<END
$(sort -u -k 1,1 build/interpreters)
END

maturin=build/release/bin/maturin
wanted=$(sed -n 's/^requires = \["\(maturin.*\)"\]$/\1/p' pyproject.toml)
[ -x build/release/bin/python ] || "${PYTHON:-python3}" -m venv build/release
build/release/bin/pip install --quiet --disable-pip-version-check "$wanted"
rm -rf build/wheels
scripts/reproducible.sh "$maturin" build --profile dist --locked --out build/wheels "$@"
