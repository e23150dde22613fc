#!/bin/sh
# Installs the Python package into a virtual environment: python.sh FOLDER PROFILE, where PROFILE is cargo's
# (`dev` shares what `cargo test` has compiled). The folder is made if it is not there, with the interpreter PYTHON (python3).
set -eu

fail() {
    echo "python: $*" >&2
    exit 1
}

folder=$1
profile=$2
root=$(dirname "$0")/..
[ -x "$folder/bin/pip" ] || "${PYTHON:-python3}" -m venv "$folder" ||
    fail "cannot make a virtual environment in $folder: install python3-venv (scripts/setup.sh does)"
"$folder/bin/pip" install --quiet --disable-pip-version-check \
    --config-settings=build-args="--profile $profile --locked" "$root[test]" ||
    fail "pip could not install the package (see above). It takes maturin, pytest and numpy from PyPI: without a network," \
        "set PIP_NO_INDEX=1 and PIP_FIND_LINKS to a folder with their wheels"
