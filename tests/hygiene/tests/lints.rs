//! `scripts/lint-rustc.sh` and `scripts/lint-rustdoc.sh`, which are compiler and rustdoc of `make test`.
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

/// What rustdoc says of a library, if it refuses its documentation or an example in it, where these packages are not published.
fn refused_documentation(text: &str, unpublished: &str) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().expect("a scratch folder");
    std::fs::write(folder.path().join("lib.rs"), text).expect("it is writable");
    // As cargo calls it for examples.
    let mut rustdoc = Command::new(root.join("scripts/lint-rustdoc.sh"));
    rustdoc.args(["--crate-type", "lib", "--crate-name", "a_library", "--test", "lib.rs"]);
    rustdoc.arg("--test-run-directory").arg(folder.path()).args(["--error-format", "human"]);
    rustdoc.env("UNPUBLISHED", unpublished);
    let output = rustdoc.current_dir(folder.path()).output().expect("it starts");
    let said = [output.stdout, output.stderr].concat();
    (!output.status.success()).then(|| String::from_utf8_lossy(&said).into_owned())
}

/// Red if `make test` makes no documentation, if its warnings are no errors, or if its examples are not run.
#[test]
fn documentation_has_no_warnings_and_its_examples_run() {
    assert_eq!(refused_documentation("/// See [`two`].\npub fn one() {}\npub fn two() {}", ""), None);
    let broken = "/// See [`three`].\npub fn one() {}";
    let failing = "/// ```\n/// assert_eq!(1, 2);\n/// ```\npub fn two() {}";
    let both = format!("{broken}\n{failing}");
    for (text, unpublished, said) in [
        (broken, "", "unresolved link to `three`"),
        (failing, "", "1 failed"),
        // One that is not published has no page, and its examples run.
        (&*both, "a-crate a-library", "1 failed"),
        // (Neither a longer name nor a shorter one is its own.)
        (&*both, "a-library-tests library", "unresolved link to `three`"),
    ] {
        let refused =
            refused_documentation(text, unpublished).unwrap_or_else(|| panic!("{text} is accepted"));
        assert!(refused.contains(said), "{unpublished}: {refused}");
    }
}
