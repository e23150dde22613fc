//! The form of the documents: what is short stays short, lines fit, words are those of the glossary, and numbers are those of the code.

use std::fs;
use std::path::{Path, PathBuf};

/// Words that have a standard term, or that hide who acts.
const WORDS: &[(&str, &str)] = &[
    ("anybody", "the actor's name"),
    ("dearer", "costs more"),
    ("everybody", "the actor's name"),
    ("fails never", "never fails"),
    ("mended", "fixed"),
    ("nobody", "the actor's name"),
    ("processor time", "CPU time"),
    ("slow way", "slow path"),
    ("somebody", "the actor's name"),
    ("time-out", "timeout"),
    ("whoever", "the actor's name"),
];

const MOST_COLUMNS: usize = 100;

/// Pages that must name a word to talk about it.
const ABOUT_WORDS: &str = "docs/glossary.md";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels up").to_path_buf()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The files of `folder` whose names end in one of `ends`, those of folders in it, too, if `deep`.
fn files(folder: &str, ends: &[&str], deep: bool) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(folder)).expect("a folder") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        if root().join(&path).is_dir() {
            if deep {
                found.extend(files(&path, ends, deep));
            }
        } else if ends.iter().any(|end| path.ends_with(end)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// All documents: those at the root, and all of docs/.
fn pages() -> Vec<String> {
    let pages = [files("", &[".md"], false), files("docs", &[".md"], true)].concat();
    assert!(pages.len() > 100, "only {} pages", pages.len());
    pages
}

fn headers() -> Vec<String> {
    let headers = files("crates/lockgate-headers", &[".h", ".hpp"], true);
    assert!(headers.len() >= 6, "only {headers:?}");
    headers
}

/// The comments of the headers, by line.
fn comments() -> Vec<(String, Vec<(usize, String)>)> {
    let comment = |path: String| {
        let (mut inside, mut lines) = (false, Vec::new());
        for (number, line) in (1..).zip(read(&path).lines()) {
            let begins = line.find("/*").or_else(|| line.find("//"));
            if inside || begins.is_some() {
                let text = if inside { line } else { &line[begins.unwrap_or_default()..] };
                lines.push((number, text.trim_start_matches(['/', '*', ' ']).to_owned()));
            }
            inside =
                (inside || begins.is_some_and(|at| line[at..].starts_with("/*"))) && !line.contains("*/");
        }
        (path, lines)
    };
    headers().into_iter().map(comment).collect()
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
    for path in pages() {
        for (number, line) in prose(&read(&path)) {
            let columns = line.chars().count();
            // A link or a name that cannot be broken may stand alone.
            if columns > MOST_COLUMNS && line.trim().contains(' ') && !line.starts_with("# ") {
                wrong.push(format!("{path}:{number}: {columns} columns, {MOST_COLUMNS} at most"));
            }
        }
    }
    // What stands behind code, tables and ruled lines are as wide as they are.
    let is_prose =
        |line: &str| line.starts_with(['/', '*']) && !line.contains("----") && !line.contains("*    ");
    for path in headers() {
        for (number, line) in (1..).zip(read(&path).lines()) {
            let columns = line.chars().count();
            if columns > MOST_COLUMNS && is_prose(line.trim_start()) {
                wrong.push(format!("{path}:{number}: {columns} columns, {MOST_COLUMNS} at most"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with the words of one line.
fn faults(line: &str) -> Vec<String> {
    let line = words(line);
    let found = WORDS.iter().filter(|(word, _)| line.contains(word));
    found.map(|(word, term)| format!("{word:?}; write {term}")).collect()
}

/// A sentence that begins with "What" or "Who" and asks nothing has a clause as its subject: name the thing.
fn hides_its_subject(sentence: &str) -> bool {
    let text = sentence.trim_start_matches(['-', ' ', '(']);
    (text.starts_with("What ") || text.starts_with("Who ")) && !sentence.contains('?')
}

/// The sentence that begins in this line: it goes on in the next ones.
fn sentence(lines: &[(usize, &str)]) -> String {
    let mut text = String::new();
    for (_, line) in lines {
        if !text.is_empty() && line.trim().is_empty() {
            break;
        }
        text = text + line.trim() + " ";
        if line.trim_end().ends_with(['.', '?', ':', '!']) {
            break;
        }
    }
    text
}

#[test]
fn words_are_those_of_the_field() {
    let mut wrong = Vec::new();
    for path in pages().iter().filter(|path| *path != ABOUT_WORDS) {
        for (number, line) in prose(&read(path)) {
            wrong.extend(faults(line).into_iter().map(|fault| format!("{path}:{number}: {fault}")));
        }
    }
    for (path, lines) in comments() {
        for (number, line) in lines {
            wrong.extend(faults(&line).into_iter().map(|fault| format!("{path}:{number}: {fault}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sentences_name_their_subjects() {
    let mut wrong = Vec::new();
    for path in pages() {
        let text = read(&path);
        let lines = prose(&text);
        for (at, (number, _)) in lines.iter().enumerate().filter(|(_, (_, line))| !line.trim().is_empty()) {
            if hides_its_subject(&sentence(&lines[at..])) {
                wrong.push(format!("{path}:{number}: the subject is a clause: name the thing or the actor"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// These rules find what they are there for.
#[test]
fn the_rules_of_prose_can_fail() {
    assert_eq!(faults("Nobody waits for `somebody`, in the slow way.").len(), 2);
    assert!(faults("A host waits (see [nobody's page](nobody.md)).").len() == 1);
    assert!(hides_its_subject("- What the library wrote is copied."));
    assert!(hides_its_subject("Who installs modules is trusted."));
    for fine in ["What does a call cost?", "Whatever comes is checked.", "The library says what it wrote."] {
        assert!(!hides_its_subject(fine), "{fine}");
    }
    assert_eq!(sentence(&[(1, "What does"), (2, "it cost?"), (3, "Nothing.")]), "What does it cost? ");
}

/// The value of a constant in a source file, as the source spells it.
fn constant_of(path: &str, name: &str) -> u64 {
    let source = read(path);
    let start = format!("const {name}: ");
    let value = source.lines().find_map(|line| {
        let (before, rest) = line.split_once(&start)?;
        let is_declaration = before.trim().is_empty() || before.trim_start().starts_with("pub");
        is_declaration.then(|| rest.split_once(" = ").and_then(|(_, value)| value.strip_suffix(';')))?
    });
    let value = value.unwrap_or_else(|| panic!("{path} declares no {name}"));
    let value = ["Duration::from_millis(", "Duration::from_secs("]
        .iter()
        .find_map(|start| value.strip_prefix(start)?.strip_suffix(')'))
        .unwrap_or(value)
        .trim_end_matches(".0");
    let number = |text: &str| {
        let text = text.replace('_', "");
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        }
    };
    let parse = |text| number(text).unwrap_or_else(|error| panic!("{path}: {name} = {text}: {error}"));
    match value.split_once(" << ") {
        Some((left, right)) => parse(left) << parse(right),
        None => parse(value),
    }
}

/// The same of a constant of the contract.
fn constant(name: &str) -> u64 {
    constant_of("crates/lockgate-abi/src/lib.rs", name)
}

/// Pages that name a number of the code name today's.
#[test]
fn numbers_in_documents_are_those_of_the_code() {
    let window = |offset: u64| format!("W+0x{:04X}_{:04X}", offset >> 16, offset & 0xffff);
    let (kib, mib, gib) = (|n: u64| n >> 10, |n: u64| n >> 20, |n: u64| n >> 30);
    let shared = gib(constant("SHARED_END") - constant("SHARED"));
    let joined = constant("JOINED");
    let grants = constant_of("crates/lockgate/src/grant/mod.rs", "MAX_GRANTS");
    let descriptors = constant_of("crates/lockgate-syscall/src/descriptors.rs", "LIMIT");
    let largest = gib(constant_of("crates/lockgate-outside/src/file.rs", "LARGEST"));
    let mappings = constant_of("crates/lockgate/src/space/services.rs", "MAX_MAPPINGS");
    let poll = constant_of("crates/lockgate/src/call/watch.rs", "POLL");
    let line_header = kib(constant_of("crates/lockgate-symbols/src/elf.rs", "MAX_HEADER"));
    let abbreviations = kib(constant_of("crates/lockgate-symbols/src/inlines.rs", "MAX_ABBREVIATIONS"));
    let bools = constant_of("crates/lockgate-stubs/src/plan/record.rs", "MOST_BOOLS");
    let reclaim = constant_of("crates/lockgate/src/domain/reclamation.rs", "TIMEOUT");
    let watch = |name| constant_of("crates/lockgate-stubs/src/watch.rs", name);
    let (seconds, idle, memory) = (watch("PROCESSOR"), watch("IDLE"), gib(watch("MEMORY")));
    let entries = kib(constant_of("crates/lockgate-syscall/src/calls/getdents.rs", "MOST"));
    let cases = [
        ("docs/worked-example.md", format!("`OFF` = {:#x}", constant("OFF"))),
        ("docs/stability.md", format!("`ABI_VERSION` in `lockgate-abi`, {} now", constant("ABI_VERSION"))),
        ("docs/code-model.md", format!("{} GiB *stride*", gib(constant("STRIDE")))),
        ("docs/code-model.md", format!("{} slots of {} MiB", constant("SLOTS"), mib(constant("SLOT")))),
        ("docs/code-model.md", format!("{} KiB guards", kib(constant("GUARD")))),
        ("docs/code-model.md", window(constant("SHARED"))),
        ("docs/code-model.md", window(constant("STACKS"))),
        (
            "docs/rules.md",
            format!(
                "| SLOT | power of two; one thread's control stack with both guards lies inside one SLOT-aligned block | {} MiB |",
                mib(constant("SLOT"))
            ),
        ),
        (
            "docs/rules.md",
            format!("also window of legal rsp displacements | {} KiB |", kib(constant("MAX_MOVE"))),
        ),
        ("docs/rules.md", format!("(say {} KiB)", kib(constant("GUARD")))),
        ("docs/grants.md", format!("`{}`", window(constant("SHARED")))),
        ("docs/grants.md", format!("all regions of a process share {shared} GiB")),
        ("docs/grants.md", format!("A domain has at most {grants} grants")),
        ("docs/python.md", format!("share {shared} GiB, and a domain has at most {grants} grants")),
        ("docs/limits.md", format!("| threads | `thread_limit` | {} |", constant("SLOTS"))),
        ("docs/limits.md", format!("| {} with one thread |", constant("SLOTS") - 1)),
        ("docs/limits.md", format!("| descriptors | `descriptor_limit` | {descriptors} |")),
        ("docs/limits.md", format!("| mappings | – | {},{:03} |", mappings / 1000, mappings % 1000)),
        ("docs/limits.md", format!("Every {poll} ms the watcher")),
        ("docs/dlopen.md", format!("{joined} modules in the life of one domain")),
        ("docs/dlopen.md", format!("may block for at most {reclaim} ms")),
        ("docs/dlopen.md", format!("A file has at most {largest} GiB")),
        ("docs/building-modules.md", format!("ordinary files of at most {largest} GiB")),
        ("docs/system-calls.md", format!("up to {entries} KiB a call")),
        ("docs/stubs.md", format!("ends after {seconds} seconds of CPU time, with {memory} GiB of memory")),
        ("docs/stubs.md", format!("nothing has happened for {idle} seconds")),
        ("docs/stubs.md", format!("a structure {},{:03} fields of type `bool`", bools / 1000, bools % 1000)),
        ("CAVEATS.md", format!("one domain holds at most {joined} modules")),
        ("CAVEATS.md", format!("samples CPU time every {poll} ms")),
        ("CAVEATS.md", format!("share {shared} GiB of offsets")),
        ("CAVEATS.md", format!("line tables over {line_header} KiB")),
        ("CAVEATS.md", format!("abbreviations over {abbreviations} KiB")),
        ("CAVEATS.md", format!("larger than a guard ({} KiB)", kib(constant("GUARD")))),
        ("CAVEATS.md", format!("one thread has {} contexts", constant("SLOTS") - 1)),
        ("CAVEATS.md", format!("A module's file has at most {largest} GiB")),
    ];
    // Where a line of a page ends says nothing.
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let missing = cases.iter().filter(|(path, text)| !flat(&read(path)).contains(&flat(text)));
    let missing: Vec<_> = missing.map(|(path, text)| format!("{path} does not say {text:?}")).collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
