//! The page of errors names each one, and no other.

use hygiene::{files, read, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

const PAGE: &str = "docs/errors.md";

/// The names of the rows below a heading, up to the next heading of its level. `column` is that of the name.
fn rows(page: &str, heading: &str, column: usize) -> BTreeSet<String> {
    let level = heading.split(' ').next().unwrap_or_default();
    let after =
        page.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("{PAGE} has no {heading:?}"));
    let mut names = BTreeSet::new();
    for line in after.1.lines() {
        let marks = line.len() - line.trim_start_matches('#').len();
        if (1..=level.len()).contains(&marks) {
            break;
        }
        let cells: Vec<&str> = line.split(" | ").collect();
        let Some(cell) = cells.get(column).filter(|_| line.starts_with("| `")) else { continue };
        let name = cell.trim_start_matches("| ").trim_matches('`').to_owned();
        assert!(cells.len() >= column + 3, "{PAGE}: {name} has no cause, or no remedy");
        assert!(names.insert(name.clone()), "{PAGE}: {heading:?} has two rows of {name}");
    }
    names
}

/// The constants of an enumeration of the header.
fn of_header(header: &str, name: &str) -> BTreeSet<String> {
    let (_, body) = header.split_once(&format!("typedef enum {name} {{")).expect("the enumeration");
    let (body, _) = body.split_once('}').expect("its end");
    let names =
        body.lines().filter_map(|line| line.trim().split_once(" = ")).map(|(name, _)| name.to_owned());
    names.collect()
}

/// The variants of the enumeration whose body this text begins with.
fn variants(body: &str) -> BTreeSet<String> {
    let lines = body.lines().take_while(|line| *line != "}");
    let names = lines
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with(char::is_uppercase));
    names.map(|line| line.chars().take_while(|c| c.is_alphanumeric()).collect()).collect()
}

/// The enumerations of errors in a file, by name, with their variants.
fn errors_of(source: &str) -> Vec<(String, BTreeSet<String>)> {
    let mut found = Vec::new();
    for piece in source.split("thiserror::Error").skip(1) {
        let mut lines = piece.lines().skip(1).skip_while(|line| line.starts_with("#["));
        let Some(rest) = lines.next().and_then(|line| line.strip_prefix("pub enum ")) else { continue };
        let name = rest.trim_end_matches(" {").to_owned();
        let body = piece.split_once(rest).expect("the same text").1;
        found.push((name, variants(body.trim_start_matches('\n'))));
    }
    found
}

/// What is only here, and what is only there.
fn difference(section: &str, code: &BTreeSet<String>, page: &BTreeSet<String>) -> Vec<String> {
    let missing = code.difference(page).map(|name| format!("{section}: no row for `{name}`"));
    let stale =
        page.difference(code).map(|name| format!("{section}: a row for `{name}`, which does not exist"));
    missing.chain(stale).collect()
}

#[test]
fn every_error_has_a_row() {
    let page = read(PAGE);
    let header = read("crates/lockgate-headers/include/lockgate.h");
    let mut wrong = Vec::new();

    let mut statuses = of_header(&header, "lg_status");
    assert!(statuses.remove("LG_OK") && statuses.len() > 70, "only {} statuses", statuses.len());
    wrong.extend(difference("C", &statuses, &rows(&page, "## C", 0)));

    let kinds = of_header(&header, "lg_fault_kind");
    assert!(kinds.len() == 16, "{} kinds of faults", kinds.len());
    wrong.extend(difference("Faults", &kinds, &rows(&page, "## Faults", 0)));
    let fault = read("crates/lockgate/src/report/fault.rs");
    let (_, body) = fault.split_once("pub enum FaultKind {\n").expect("the kinds");
    wrong.extend(difference("Faults", &variants(body), &rows(&page, "## Faults", 1)));

    let mut types = 0;
    for file in files("crates/lockgate/src", &[".rs"]) {
        for (name, variants) in errors_of(&read(file)) {
            assert!(!variants.is_empty(), "{name} has no variants");
            wrong.extend(difference(&name, &variants, &rows(&page, &format!("### `{name}`"), 0)));
            types += 1;
        }
    }
    assert!(types >= 13, "only {types} types of errors");
    let [(_, of_grants)] = &errors_of(&read("crates/lockgate-syscall/src/grants.rs"))[..] else {
        panic!("grants of the system have one type of error")
    };
    wrong.extend(difference("syscall::GrantError", of_grants, &rows(&page, "### `syscall::GrantError`", 0)));

    let python = read("crates/lockgate-python/python/lockgate/_errors.py");
    let classes = python.lines().filter_map(|line| line.strip_prefix("class ")?.split_once('('));
    let exceptions = classes.filter(|(_, bases)| !bases.starts_with("NamedTuple"));
    let exceptions: BTreeSet<String> = exceptions.map(|(name, _)| name.to_owned()).collect();
    assert!(exceptions.len() > 30, "only {} exceptions", exceptions.len());
    wrong.extend(difference("Python", &exceptions, &rows(&page, "## Python", 0)));

    assert!(wrong.is_empty(), "{PAGE}:\n{}", wrong.join("\n"));
}

/// Functions of the C library that documents name are there. (Those of a client begin with `lg_` and the library's name.)
#[test]
fn documents_name_functions_that_exist() {
    let headers =
        ["lockgate.h", "lockgate_ring.h", "lockgate_pg.h", "lockgate.hpp", "lockgate/annotations.h"];
    let headers: String =
        headers.iter().map(|name| read(format!("crates/lockgate-headers/include/{name}"))).collect();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let known: BTreeSet<&str> = headers.split(|c| !is_part(c)).collect();
    let mut pages: Vec<PathBuf> = Vec::new();
    for folder in ["", "docs", "docs/start"] {
        let entries = fs::read_dir(root().join(folder)).expect("a folder of pages");
        pages.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    let (mut wrong, mut count) = (Vec::new(), 0);
    let is_page =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "md") && !path.ends_with("CHANGELOG.md");
    for path in pages.iter().filter(|path| is_page(path)) {
        for (number, line) in (1..).zip(read(path).lines()) {
            for name in line.split('`').skip(1).step_by(2).filter_map(|code| code.strip_suffix("()")) {
                if name.starts_with("lg_") && name.chars().all(is_part) && !name.starts_with("lg_zlib_") {
                    count += 1;
                    if !known.contains(name) {
                        wrong.push(format!("{}:{number}: no header declares {name}()", path.display()));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 10, "only {count} names of functions");
}

#[test]
fn errors_are_found_in_code() {
    let source = "#[derive(Debug, thiserror::Error)]\n#[non_exhaustive]\npub enum E {\n    /// One.\n    #[error(\n        \"x\"\n    )]\n    One {\n        /// Its name.\n        name: String,\n    },\n    Two(u32),\n    Three,\n}\n";
    let [(name, variants)] = &errors_of(source)[..] else { panic!("one type") };
    assert_eq!(name, "E");
    assert_eq!(variants.iter().map(String::as_str).collect::<Vec<_>>(), ["One", "Three", "Two"]);
}
