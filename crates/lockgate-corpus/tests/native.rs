//! Every library compiles and every program prints its checksum, natively: what the toolchain's tests rely on.

use lockgate_corpus::{Corpus, LIBRARIES, PROGRAMS};
use std::path::Path;
use std::process::Command;

/// Checksums of one unit of work, from gcc -O0 and -O2 builds against musl and glibc (they agree).
const EXPECTED: &[(&str, &str)] = &[
    ("sqlite", "7b92b23089cc5268"),
    ("lua_fib", "91ad993ae1b8bf0c"),
    ("lua_num", "edf50d9b6766aba1"),
    ("lua_str", "2e8f67cb0f3647a5"),
    ("zlib", "a82aabbdba8dc5db"),
    ("bzip2", "c0db536b95ee6472"),
    ("zstd", "bd84cb3783fb494b"),
    ("matmul", "dfd82c9ea23250c1"),
    ("sieve", "0000008afccb9494"),
    ("qsort", "4bd4e3b870497944"),
    ("fib", "0000000000213d05"),
    ("sha", "f7940b83879bffaf"),
    ("chase", "89c70cc4183d0500"),
];

#[test]
fn every_library_has_sources_and_headers() {
    let corpus = Corpus::locate().unwrap();
    for name in LIBRARIES {
        let library = corpus.library(name).unwrap();
        assert!(!library.sources.is_empty(), "{name}");
        for path in library.sources.iter().chain(&library.includes) {
            assert!(path.exists(), "{name}: {}", path.display());
        }
    }
    assert!(corpus.library("gmp").unwrap_err().to_string().contains("bzip2, expat"));
}

/// Compiles without optimisation (seconds, not minutes) and runs one unit of work.
#[test]
fn every_program_prints_its_checksum() {
    let corpus = Corpus::locate().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let part = support::Part::one_in(3, "programs");
    for (name, checksum) in part.among(EXPECTED) {
        let (program, driver, library) = corpus.program(name).unwrap();
        let binary = scratch.path().join(program.driver);
        if !binary.exists() {
            compile(&driver, library.as_ref(), &binary);
        }
        let output = Command::new(&binary).args(program.arguments(1)).output().unwrap();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let line = String::from_utf8(output.stdout).unwrap();
        assert_eq!(line.split_whitespace().nth(1), Some(*checksum), "{name}");
    }
    assert_eq!(EXPECTED.len(), PROGRAMS.len());
}

fn compile(driver: &Path, library: Option<&lockgate_corpus::Library>, binary: &Path) {
    let mut command = Command::new("gcc");
    command.args(["-O0", "-w", "-o"]).arg(binary).arg(driver);
    if let Some(library) = library {
        command.args(library.flags()).args(&library.sources);
    }
    let status = command.arg("-lm").status().unwrap();
    assert!(status.success(), "{}", driver.display());
}
