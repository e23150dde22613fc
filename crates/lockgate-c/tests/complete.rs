//! The library is complete: the header declares what there is, C can do what Rust can, and every function and error is tried.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &str) -> String {
    read_to_string(here(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files below a folder with this extension, as one text for each.
fn texts(folder: &Path, extension: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(texts(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push((path.clone(), read_to_string(&path).expect("text")));
        }
    }
    found
}

/// Words of a text that begin with `prefix`.
fn words<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(move |word| word.starts_with(prefix))
}

/// The header without its comments.
fn declarations() -> String {
    let header = read("../lockgate-headers/include/lockgate.h");
    let mut rest = header.as_str();
    let mut code = String::new();
    while let Some((before, comment)) = rest.split_once("/*") {
        code += before;
        rest = comment.split_once("*/").expect("comments end").1;
    }
    code + rest
}

/// Functions that the header declares.
fn declared() -> BTreeSet<String> {
    let code = declarations();
    let is_call = |word: &str| code.contains(&format!("{word}("));
    words(&code, "lg_").filter(|word| is_call(word)).map(str::to_owned).collect()
}

#[test]
fn the_header_declares_what_the_library_defines() {
    let mut defined = BTreeSet::from(["lg_failed".to_owned()]); // inline
    for (_, text) in texts(&here("src"), "rs") {
        for (_, after) in text.match_indices("#[unsafe(no_mangle)]").map(|(at, _)| text.split_at(at)) {
            defined.extend(words(after, "lg_").next().map(str::to_owned));
        }
    }
    let entries = read("src/entry_asm.rs");
    let list = entries.split("entries! {").nth(1).and_then(|rest| rest.split('}').next()).expect("the list");
    defined.extend(words(list, "lg_").map(str::to_owned));
    assert_eq!(declared(), defined);
    assert!(defined.len() > 120, "only {} functions were found", defined.len());
}

#[test]
fn every_function_has_a_comment() {
    let header = read("../lockgate-headers/include/lockgate.h");
    for (number, line) in header.lines().enumerate() {
        let is_declaration = line.contains(" lg_")
            && line.contains('(')
            && !line.starts_with([' ', '#', '/', '*', 't', '_'])
            && !line.ends_with('{');
        if is_declaration {
            // On the line, or above the group of declarations that it belongs to.
            let above = header.lines().take(number).collect::<Vec<_>>();
            let group = above.iter().rev().take_while(|line| !line.is_empty());
            assert!(
                line.contains("/*") || group.clone().any(|line| line.contains("*/")),
                "no comment: {line}"
            );
        }
    }
}

/// Statuses and fault kinds in the order of their numbers.
fn numbers(code: &str, prefix: &str) -> BTreeMap<i32, String> {
    let parse = |entry: &str| {
        let (name, number) = entry.split_once('=')?;
        let name = name.trim();
        Some((number.trim().parse().ok()?, name.starts_with(prefix).then(|| name.to_owned())?))
    };
    code.split(['{', ',', '}']).filter_map(parse).collect()
}

#[test]
fn the_statuses_are_those_of_the_library() {
    let source = read("src/error.rs");
    let list = source.split("statuses! {").nth(1).and_then(|rest| rest.split('}').next()).expect("the list");
    let parse = |line: &str| {
        let (_, rest) = line.split_once(" = ")?;
        let (number, name) = rest.split_once(" c\"")?;
        Some((number.parse().ok()?, name.trim_end_matches("\",").to_owned()))
    };
    let library: BTreeMap<i32, String> = list.lines().filter_map(parse).collect();
    let mut header = numbers(&declarations(), "LG_E_");
    header.insert(0, "LG_OK".to_owned());
    assert_eq!(header, library);
    let faults = numbers(&declarations(), "LG_FAULT_");
    let kinds = read("src/fault_sys.rs");
    for number in faults.keys() {
        assert!(kinds.contains(&format!(" => {number},")), "{number}");
    }
    assert_eq!(
        faults.len(),
        kinds.matches("FaultKind::").count() - 2,
        "each kind once, two of them with details"
    );
}

/// Errors that no test program brings about, and why.
const UNTRIED: &[(&str, &str)] = &[
    ("LG_E_INTERNAL", "a bug of the library"),
    ("LG_E_THREAD_ENDING", "crates/lockgate/tests/rules_signals.rs"),
    ("LG_E_HANDLER", "crates/lockgate/tests/rules_signals.rs"),
    ("LG_E_THREAD_INIT", "a module whose sysroot fails"),
    ("LG_E_NO_ALLOCATOR", "modules of `lockgate cc` have one"),
    ("LG_E_FULL", "8191 bindings; crates/lockgate/tests/registry.rs"),
    ("LG_E_RESTARTING", "a race; crates/lockgate/tests/registry.rs"),
    ("LG_E_SYSTEM", "the kernel refuses"),
    ("LG_E_PERMISSION", "another user's process"),
    ("LG_E_LAYOUT", "a process with another version"),
];

#[test]
fn every_function_and_every_error_is_tried_in_c() {
    let programs: String = texts(&here("tests/c"), "c").into_iter().map(|(_, text)| text).collect();
    let helpers = read("tests/c/check.h");
    let tried: BTreeSet<&str> = words(&programs, "lg_").chain(words(&helpers, "lg_")).collect();
    for function in declared() {
        assert!(tried.contains(function.as_str()), "no test program in C calls {function}");
    }
    let expected: BTreeSet<&str> = words(&programs, "LG_").collect();
    let untried: BTreeSet<&str> = UNTRIED.iter().map(|(status, _)| *status).collect();
    for status in numbers(&declarations(), "LG_E_").values() {
        let (tried, excused) = (expected.contains(status.as_str()), untried.contains(status.as_str()));
        assert!(tried != excused, "{status}: tried {tried}, excused {excused}");
    }
}

/// Methods of public types and public functions of the Rust interface, `Type::method`.
fn rust_items() -> BTreeSet<String> {
    // (What the runtime passes on lies in crates of their own.)
    let sources =
        ["lockgate", "lockgate-symbols", "lockgate-syscall"].map(|name| here("..").join(name).join("src"));
    let lib = read("../lockgate/src/lib.rs");
    let mut public: BTreeSet<&str> = BTreeSet::new();
    for list in lib.split(';').filter(|statement| statement.trim_start().starts_with("pub use")) {
        public.extend(list.split(|c: char| !c.is_alphanumeric() && c != '_'));
    }
    // Modules that are public as a whole.
    let modules: Vec<String> =
        ["grant", "registry", "lockgate-syscall", "signature", "debug"].map(str::to_owned).into();
    let in_public = |path: &Path| {
        modules.iter().any(|module| path.components().any(|c| c.as_os_str() == module.as_str()))
    };
    let mut items = BTreeSet::new();
    for (path, text) in sources.iter().flat_map(|source| texts(source, "rs")) {
        let mut of = String::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("impl") {
                let target = rest.split(" for ").last().unwrap_or(rest);
                let target = target.trim_start_matches(|c: char| !c.is_ascii_uppercase());
                let target = if rest.starts_with('<') {
                    rest.split_once("> ").map_or(target, |(_, t)| t)
                } else {
                    target
                };
                of = target
                    .split(|c: char| !c.is_alphanumeric())
                    .find(|w| !w.is_empty())
                    .unwrap_or("")
                    .to_owned();
            } else if line == "}" {
                of.clear();
            }
            let code = line.trim_start().replacen("unsafe ", "", 1);
            let name = ["pub fn ", "pub const fn "].iter().find_map(|prefix| code.strip_prefix(prefix));
            let Some(name) = name.and_then(|rest| rest.split(['(', '<']).next()) else { continue };
            let indented = line.starts_with(' ');
            if indented && !of.is_empty() && public.contains(of.as_str()) {
                items.insert(format!("{of}::{name}"));
            } else if !indented && public.contains(name) {
                items.insert(name.to_owned());
            } else if in_public(&path) && !indented && name == "observe" {
                items.insert(format!("registry::{name}"));
            } else if in_public(&path)
                && indented
                && ["Ring", "Producer", "Consumer", "Grants"].contains(&of.as_str())
            {
                items.insert(format!("{of}::{name}"));
            }
        }
    }
    items
}

#[test]
fn what_rust_can_do_c_can_do() {
    let table = read("tests/rust_api.txt");
    let mut known = BTreeMap::new();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (item, form) = line.split_once(" -> ").unwrap_or_else(|| panic!("{line}: item -> form"));
        known.insert(item.to_owned(), form);
    }
    let items = rust_items();
    let missing: Vec<_> = items.iter().filter(|item| !known.contains_key(*item)).collect();
    assert!(missing.is_empty(), "tests/rust_api.txt does not say what these are in C: {missing:#?}");
    let gone: Vec<_> = known.keys().filter(|item| !items.contains(*item)).collect();
    assert!(gone.is_empty(), "tests/rust_api.txt lists what is not there: {gone:#?}");
    let declared = declared();
    for (item, form) in known {
        let functions: Vec<&str> = words(form, "lg_").collect();
        let reason =
            form.starts_with("none: ") || form.contains("lockgate_ring.h") || form.contains("struct ");
        assert!(reason || !functions.is_empty(), "{item} -> {form}: a function, or `none: ` and why");
        for function in functions {
            let is_there = declared.contains(function)
                || read("../lockgate-headers/include/lockgate.h").contains(function);
            assert!(is_there || form.contains("lockgate_ring.h"), "{item}: the header has no {function}");
        }
    }
}
