//! Nothing: Cargo wants a package to have a source.
