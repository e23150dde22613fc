//! Tables of cases: assembly in, disassembly out (`tests/cases/*.txt`), and inputs that must be refused
//! (`tests/cases/refused.txt`). What comes out is judged by the verifier too.
//!
//! A case is a title line `## title`, assembly, a line `--`, and what is expected of section `.text`. The
//! assembly is the body of a global function `f`. `BLESS=1 cargo test` writes what came out into the tables:
//! read the difference before you keep it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use lockgate_rewrite::{Options, rewrite_object};

struct Case {
    title: String,
    source: String,
    expected: String,
}

fn read(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut cases = Vec::new();
    for part in text.split("## ").skip(1) {
        let (title, body) = part.split_once('\n').expect("a title line");
        let (source, expected) = body.split_once("--\n").unwrap_or((body, ""));
        let trimmed = |text: &str| text.trim_matches('\n').to_owned();
        cases.push(Case { title: title.to_owned(), source: trimmed(source), expected: trimmed(expected) });
    }
    assert!(!cases.is_empty(), "{} holds no case", path.display());
    cases
}

fn table(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(name)
}

fn assemble(source: &str) -> Vec<u8> {
    crate::support::assemble(&format!(".globl f\n.type f,@function\nf:\n{source}\n"))
}

fn check(name: &str, options: &Options) {
    let path = table(name);
    let cases = read(&path);
    let bless = std::env::var_os("BLESS").is_some();
    let (mut failures, mut blessed) = (String::new(), header(&path));
    for case in &cases {
        let outcome = rewrite_object(name, &assemble(&case.source), options);
        let rewritten = outcome.unwrap_or_else(|error| panic!("{name}, {}: {error}", case.title));
        let got: Vec<String> = crate::support::listing(&rewritten.bytes, ".text")
            .into_iter()
            .map(|line| format!("    {line}"))
            .collect();
        let got = got.join("\n");
        if let Err(rejection) = lockgate_verify::verify(&crate::support::module(&rewritten.bytes)) {
            writeln!(failures, "{name}, {}: rejected: {rejection}\n{got}", case.title).expect("a string");
        }
        if got != case.expected && !bless {
            writeln!(failures, "{name}, {}:\nexpected\n{}\ngot\n{got}\n", case.title, case.expected)
                .expect("a string");
        }
        write!(blessed, "## {}\n{}\n--\n{got}\n\n", case.title, case.source).expect("a string");
    }
    assert!(failures.is_empty(), "{failures}");
    if bless {
        std::fs::write(&path, blessed.trim_end().to_owned() + "\n").expect("the table is writable");
    }
}

/// What stands above the first case.
fn header(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("the table");
    text.split("## ").next().unwrap_or_default().to_owned()
}

macro_rules! tables {
    ($($name:ident)*) => { $(
        #[test]
        fn $name() {
            check(concat!(stringify!($name), ".txt"), &Options::default());
        }
    )* };
}

#[test]
fn strict_bounds() {
    check("strict_bounds.txt", &Options { strict_bounds: true, ..Options::default() });
}

#[test]
fn system_calls() {
    check("system_calls.txt", &Options { system_calls_as_calls: true, ..Options::default() });
}

tables!(memory stack string);

#[test]
fn pointer() {
    check("pointer.txt", &Options::default());
}

#[test]
fn tls() {
    check("tls.txt", &Options::default());
}

#[test]
fn branch() {
    check("branch.txt", &Options::default());
}

#[test]
fn switch() {
    check("switch.txt", &Options::default());
}

#[test]
fn refused() {
    for case in read(&table("refused.txt")) {
        let outcome = rewrite_object("refused.o", &assemble(&case.source), &Options::default());
        let Err(error) = outcome else { panic!("{}: accepted", case.title) };
        let message = error.to_string();
        assert!(message.contains(&case.expected), "{}: {message}", case.title);
        assert!(message.contains("To fix it: "), "{}: no remedy in: {message}", case.title);
    }
}
