#!/bin/bash
# rustc that lints as it compiles, each finding an error: clippy's compiler, as cargo's RUSTC_WORKSPACE_WRAPPER in `make check` and
# `make test`. `cargo clippy` would check everything, and then cargo would compile it (docs/decisions/0092-lints-while-compiling.md).
#
# (bash: other shells drop variables like CARGO_BIN_EXE_lockgate-example, whose names no shell can have.)
exec clippy-driver "$@" -D warnings
