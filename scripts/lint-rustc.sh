#!/bin/sh
# rustc that lints as it compiles, each finding an error: clippy's compiler, as cargo's RUSTC_WORKSPACE_WRAPPER in `make test`. `cargo clippy`
# would check everything, and then cargo would compile it (docs/decisions/0092-lints-while-compiling.md).
exec clippy-driver "$@" -D warnings
