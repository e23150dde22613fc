//! Nothing here: see `tests/`, which hold the tree to its own rules.
#![forbid(unsafe_code)]
