#!/bin/bash
# rustdoc that makes a crate's documentation, each warning an error, before it runs the examples in it: cargo's RUSTDOC in `make test`. `cargo doc`
# would compile what the crate needs once more; here it is what the tests are linked with (docs/decisions/0092-lints-while-compiling.md).
#
# UNPUBLISHED names packages whose documentation is read in their sources only: no page is made of it, as in `make lint`.
set -eu
all=("$@")
page=()
is_test=
is_read_in_sources=
unpublished=" ${UNPUBLISHED:-} "
unpublished=${unpublished//-/_}
while [ $# -gt 0 ]; do
    case "$1" in
    --test) is_test=1 ;;
    --crate-name) [[ $unpublished != *" $2 "* ]] || is_read_in_sources=1; page+=("$1") ;;
    --test-run-directory | --test-args) shift ;;
    *) page+=("$1") ;;
    esac
    shift
done
[ -z "$is_test" ] || [ -n "$is_read_in_sources" ] || rustdoc "${page[@]}" -D warnings -o build/doc
exec rustdoc "${all[@]}"
