//! What the program, the sources that it makes and the list of equivalent mutations are called.

/// The crate that is mutated.
pub const CRATE: &str = "crates/lockgate-verify";

/// The list of mutations that change nothing.
pub const LIST: &str = "tests/sweep/equivalent.txt";

/// Environment variable with the number of the mutation in force; 0 or nothing: none.
pub const VARIABLE: &str = "LOCKGATE_MUTANT";

/// The module that mutated sources ask which mutation is in force.
pub const SWITCH: &str = r#"
pub(crate) mod mutant {
    static ACTIVE: std::sync::LazyLock<usize> = std::sync::LazyLock::new(|| {
        std::env::var("LOCKGATE_MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or_default()
    });

    #[inline]
    pub(crate) fn on(number: usize) -> bool {
        *ACTIVE == number
    }
}
"#;
