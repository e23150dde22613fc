//! `scripts/lint-rustc.sh`, which is the compiler of `make test`.
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// What the compiler says of a library, if it refuses it.
fn refused(text: &str) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().expect("a scratch folder");
    // As cargo calls it: with the compiler in front.
    let mut compiler = Command::new(root.join("scripts/lint-rustc.sh"));
    compiler.args(["rustc", "--crate-name", "library", "--crate-type", "lib", "--emit", "metadata", "-o"]);
    compiler.arg(folder.path().join("library.rmeta")).arg("-").current_dir(folder.path());
    // As cargo sets it for the tests of a program.
    compiler.env("CARGO_BIN_EXE_a-program", "its path");
    let mut compiler = compiler.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    compiler.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let output = compiler.wait_with_output().expect("it ends");
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Red if `make test` compiles without clippy, or if what it finds is no error.
#[test]
fn what_is_compiled_is_linted() {
    assert_eq!(refused("pub fn number(yes: bool) -> u8 { if yes { 1 } else { 0 } }"), None);
    assert_eq!(refused("pub fn path() -> &'static str { env!(\"CARGO_BIN_EXE_a-program\") }"), None);
    for (text, lint) in [
        ("pub fn number(yes: bool) -> u8 { if yes == true { 1 } else { 0 } }", "clippy::bool-comparison"),
        ("fn unused() {}", "dead-code"),
    ] {
        let said = refused(text).unwrap_or_else(|| panic!("{text} is accepted"));
        assert!(said.contains(lint), "{said}");
    }
}
