//! Programs in C that use the library as theirs does: every function, every error, hostile modules. Each is compiled as
//! C99 and as C++17 without a warning.

mod common;
use common::{Language, done, program};
use std::path::Path;
use std::process::Command;

/// Compiles `tests/c/NAME.c` and runs it among the modules.
fn passes(name: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name).with_extension("c");
    let folder = tempfile::tempdir().expect("a scratch folder");
    for language in [Language::C99, Language::Cpp17] {
        let binary = folder.path().join(format!("{name}-{language:?}"));
        program(language, &source, &binary, &[]);
        done(Command::new(&binary).current_dir(common::modules()));
    }
}

macro_rules! programs {
    ($($name:ident)*) => { $(
        #[test]
        fn $name() {
            passes(stringify!($name));
        }
    )* };
}

programs!(modules calls domains memory callbacks grants registry threads hosts dlopen);
