//! All mutations of a crate's functions, made in one program: a number chooses the one that is in force, so that a
//! thousand mutants need one build. `README.md` says which mutations there are, and how the program (`make sweep`)
//! uses them.
#![forbid(unsafe_code)]

mod equivalent;
mod operators;

pub use equivalent::{Equivalent, equivalents};
pub use operators::{Mutant, mutate};

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
