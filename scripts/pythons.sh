#!/bin/sh
# The Python package's tests, each with the wheel for it, with each CPython that is here: pythons.sh [INTERPRETER...]
#
# Without names: those of python3.9 to python3.14 that run. LOCKGATE names the program; target/dist/lockgate without. 77: there is none.
set -eu

cd "$(dirname "$0")/.."
[ $# -gt 0 ] || {
    for minor in 9 10 11 12 13 14; do
        if "python3.$minor" -c '' >/dev/null 2>&1; then set -- "$@" "python3.$minor"; fi
    done
}
[ $# -gt 0 ] || {
    echo "SKIPPED: no python3.9 to python3.14" >&2
    exit 77
}
LOCKGATE=${LOCKGATE:-$PWD/target/dist/lockgate}
export LOCKGATE
mkdir -p build/pythons
scripts/wheels.sh "$@"
failed=0
for name; do
    version=$("$name" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    tag=$("$name" -c 'import sys; print("cp%d%d" % min(sys.version_info[:2], (3, 11)))')
    folder=build/pythons/$version
    rm -rf "$folder"
    "$name" -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check "$(echo build/wheels/lockgate-*-"$tag"-*.whl)[test]"
    "$folder/bin/python" -c 'import lockgate._native as native; print(native.__file__)' >"$folder/native"
    if "$folder/bin/python" -m pytest -o faulthandler_timeout=600 -o cache_dir="$folder/pytest" >"build/pythons/$version.log" 2>&1; then
        result=$(tail -n 1 "build/pythons/$version.log")
    else
        result="FAILED: see build/pythons/$version.log" failed=1
    fi
    echo "CPython $("$folder/bin/python" -c 'import platform; print(platform.python_version())')," \
        "$(basename "$(cat "$folder/native")"): $result"
done
exit $failed
