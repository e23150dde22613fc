#!/bin/bash
# rustdoc that makes a crate's documentation, each warning an error, before it runs the examples in it: cargo's RUSTDOC in `make test`. `cargo doc`
# would compile what the crate needs once more; here it is what the tests are linked with (docs/decisions/0092-lints-while-compiling.md).
set -eu
all=("$@")
page=()
is_test=
while [ $# -gt 0 ]; do
    case "$1" in
    --test) is_test=1 ;;
    --test-run-directory | --test-args) shift ;;
    *) page+=("$1") ;;
    esac
    shift
done
[ -z "$is_test" ] || rustdoc "${page[@]}" -D warnings -o build/doc
exec rustdoc "${all[@]}"
