//! The form of the documents: what is short stays short, lines fit, words are those of the glossary, and numbers are those of the code.

use std::fs;
use std::path::Path;

/// Documents in plain English: one sentence a line, standard terms.
const PLAIN: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "SPECIFICATION.md",
    "docs/README.md",
    "docs/attacks.md",
    "docs/building-modules.md",
    "docs/code-model.md",
    "docs/debugging.md",
    "docs/dependencies.md",
    "docs/design.md",
    "docs/dlopen.md",
    "docs/evidence.md",
    "docs/glossary.md",
    "docs/grants.md",
    "docs/life-of-a-call.md",
    "docs/life-of-a-module.md",
    "docs/limits.md",
    "docs/policies.md",
    "docs/postgres.md",
    "docs/python.md",
    "docs/registry.md",
    "docs/split.md",
    "docs/stability.md",
    "docs/start/c.md",
    "docs/start/cpp.md",
    "docs/start/postgresql.md",
    "docs/start/python.md",
    "docs/start/rust.md",
    "docs/sysroot.md",
    "docs/system-calls.md",
    "docs/threat-model.md",
    "docs/worked-example.md",
];

/// Words that have a standard term, or that hide who acts.
const WORDS: &[(&str, &str)] = &[
    ("dearer", "costs more"),
    ("mended", "fixed"),
    ("nobody", "the actor's name"),
    ("processor time", "CPU time"),
    ("slow way", "slow path"),
    ("somebody", "the actor's name"),
    ("time-out", "timeout"),
    ("whoever", "the actor's name"),
];

const MOST_COLUMNS: usize = 100;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels up");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The lines of a document that are prose, with their numbers: no code, no tables.
fn prose(text: &str) -> Vec<(usize, &str)> {
    let (mut is_code, mut found) = (false, Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !line.starts_with("    ") && !line.starts_with('|') {
            found.push((number, line));
        }
    }
    found
}

/// The line without what stands between backquotes, and without targets of links: names are what they are.
fn words(line: &str) -> String {
    let text: String = line.split('`').step_by(2).collect();
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once(')').map_or("", |(_, rest)| rest)).to_lowercase()
}

#[test]
fn the_readme_is_a_door() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 90, "README.md has {lines} lines, 90 at most: put the rest on a page of docs/");
}

#[test]
fn lines_of_documents_fit() {
    let mut wrong = Vec::new();
    for path in PLAIN {
        for (number, line) in prose(&read(path)) {
            let columns = line.chars().count();
            // A link or a name that cannot be broken may stand alone.
            if columns > MOST_COLUMNS && line.trim().contains(' ') {
                wrong.push(format!("{path}:{number}: {columns} columns, {MOST_COLUMNS} at most"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn words_are_those_of_the_field() {
    let mut wrong = Vec::new();
    // The glossary itself says which words go.
    for path in PLAIN.iter().filter(|path| **path != "docs/glossary.md") {
        for (number, line) in prose(&read(path)) {
            let line = words(line);
            let found = WORDS.iter().filter(|(word, _)| line.contains(word));
            wrong.extend(found.map(|(word, term)| format!("{path}:{number}: {word:?}; write {term}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The value of a constant of the contract, as its source spells it.
fn constant(name: &str) -> u64 {
    let source = read("crates/lockgate-abi/src/lib.rs");
    let start = format!("pub const {name}: ");
    let line = source.lines().find_map(|line| line.trim().strip_prefix(&start)).expect(name);
    let value = line.split(" = ").nth(1).and_then(|value| value.strip_suffix(';')).expect("a value");
    let number = |text: &str| {
        let text = text.replace('_', "");
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        }
    };
    let parse = |text| number(text).unwrap_or_else(|error| panic!("{name} = {text}: {error}"));
    match value.split_once(" << ") {
        Some((left, right)) => parse(left) << parse(right),
        None => parse(value),
    }
}

/// Pages that name a number of the contract name today's.
#[test]
fn numbers_in_documents_are_those_of_the_code() {
    let window = |offset: u64| format!("W+0x{:04X}_{:04X}", offset >> 16, offset & 0xffff);
    let mib = |bytes: u64| bytes >> 20;
    let cases = [
        ("docs/worked-example.md", format!("`OFF` = {:#x}", constant("OFF"))),
        ("docs/stability.md", format!("`ABI_VERSION` in `lockgate-abi`, {} now", constant("ABI_VERSION"))),
        ("docs/code-model.md", format!("{} GiB *stride*", constant("STRIDE") >> 30)),
        ("docs/code-model.md", format!("{} slots of {} MiB", constant("SLOTS"), mib(constant("SLOT")))),
        ("docs/code-model.md", format!("{} KiB guards", constant("GUARD") >> 10)),
        ("docs/code-model.md", window(constant("SHARED"))),
        ("docs/code-model.md", window(constant("STACKS"))),
        ("docs/grants.md", format!("`{}`", window(constant("SHARED")))),
        ("docs/limits.md", format!("| threads | `thread_limit` | {} |", constant("SLOTS"))),
    ];
    for (path, text) in cases {
        assert!(read(path).contains(&text), "{path} does not say {text:?}");
    }
}
