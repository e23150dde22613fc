//! Empty: this package exists for its dependency list (see Cargo.toml).
