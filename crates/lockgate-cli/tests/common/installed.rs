//! The library for programs of the tests, installed as a user's.
use lockgate_bench::install;
// Cargo builds the library beside the tests because they name it.
use lockgate_c as _;
use lockgate_corpus::Corpus;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// AddressSanitizer's questions are calls: the compiler makes less of them than of questions in the program's own code.
pub const BY_CALLS: [&str; 2] = ["--param", "asan-instrumentation-with-call-threshold=0"];

pub fn corpus() -> &'static Corpus {
    static CORPUS: OnceLock<Corpus> = OnceLock::new();
    CORPUS.get_or_init(|| Corpus::locate().expect("the corpus"))
}

/// Where liblockgate is installed. (Cargo runs one test program after the other.)
pub fn prefix() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| {
        let test = std::env::current_exe().expect("a test has a path");
        let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lockgate");
        let from = test.parent().expect("a folder");
        install(corpus().root(), from, &prefix).expect("the library installs");
        prefix
    })
}
