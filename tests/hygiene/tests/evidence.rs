//! What the documents about security claim can be looked up: the tests that they name exist, and their tables are whole.

use hygiene::findings::{PAGE, SEVERITIES, TABLES, findings, in_tables, with_counts};
use hygiene::{read, root};
use std::fs;

/// Documents whose `paths` are claims, each followed by the names of the tests in that file that are meant.
const DOCUMENTS: [&str; 3] = [TABLES, "docs/threat-model.md", "docs/attacks.md"];

/// The texts between backquotes of a line, in order.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

fn is_path(text: &str) -> bool {
    let folders = ["crates/", "tests/", "fuzz/", "scripts/", "demo/", "bench/", "corpus/"];
    folders.iter().any(|folder| text.starts_with(folder))
}

/// Names of functions are words with underscores; anything else in backquotes (instructions, options) is no claim.
fn is_test(text: &str) -> bool {
    text.contains('_')
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
}

#[test]
fn named_tests_exist() {
    let mut wrong = Vec::new();
    for document in DOCUMENTS {
        for (number, line) in (1..).zip(read(document).lines().map(str::to_owned)) {
            let mut text = None;
            for quote in quoted(&line) {
                if is_path(quote) {
                    let path = root().join(quote);
                    if !path.exists() {
                        wrong.push(format!("{document}:{number}: there is no {quote}"));
                    }
                    text = path.is_file().then(|| fs::read_to_string(path).unwrap_or_default());
                } else if is_test(quote) && text.as_ref().is_some_and(|text| !text.contains(quote)) {
                    wrong.push(format!("{document}:{number}: no {quote} in the file named before it"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each finding says what it breaks, what was wrong, how it was found, what fixed it, and which test holds it now.
#[test]
fn findings_are_complete() {
    let rows = findings();
    for row in &rows {
        let (cells, row) = (&row.cells, row.cells.join(" | "));
        assert_eq!(cells.len(), 5, "{TABLES}: not five cells: {row}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{TABLES}: an empty cell: {row}");
        assert!(SEVERITIES.contains(&&*cells[0]), "{TABLES}: no such severity: {row}");
        assert!(quoted(&cells[4]).any(is_path), "{TABLES}: no test holds it: {row}");
    }
    assert!(rows.len() >= 1000, "{TABLES} lists only {} findings", rows.len());
}

/// `make findings` counts them.
#[test]
fn findings_are_counted() {
    let page = read(PAGE);
    assert!(
        with_counts(&page, &findings()) == page,
        "{PAGE}: `make findings` counts the rows as they are now"
    );
    for table in ["part", "method", "class"] {
        assert!(page.contains(&format!("<!-- findings by {table} -->")), "{PAGE} has no table by {table}");
    }
}

#[test]
fn rows_are_counted_by_what_they_say() {
    let text = "# F\n\n## One\n\n| | defect | found by | fix | held by |\n|---|---|---|---|---|\n\
        | C | a (class: fetched twice) | fuzz target `a` | b | `tests/c` |\n\
        | H | b (class: as above) | the same | b | `tests/c` |\n\
        | W | c | a newcomer | b | `tests/c` |\n\n## In the work of others\n\n| C | not ours | x | y | z |\n";
    let page = "x\n<!-- findings by part -->\nold\n<!-- end of findings -->\ny\n\
        <!-- findings by method -->\n<!-- end of findings -->\n<!-- findings by class --><!-- end of findings -->";
    let page = with_counts(page, &in_tables(text));
    for line in [
        "| One | 1 | 0 | 1 | 1 | 0 | 3 |",
        "| fuzzing, and random programs and calls | 1 | 0 | 1 | 0 | 0 | 2 |",
        "| use by a newcomer | 0 | 0 | 0 | 1 | 0 | 1 |",
        "| looked at too early, too late or twice | 1 | 0 | 1 | 0 | 0 | 2 |",
        "| **all** | 1 | 0 | 1 | 0 | 0 | 2 |",
    ] {
        assert!(page.lines().any(|known| known == line), "{line}: {page}");
    }
    assert!(!page.contains("old") && page.starts_with("x\n") && page.contains("\ny\n"), "{page}");
    assert_eq!(with_counts(&page, &in_tables(text)), page, "the same again");
}

/// Each attack of the first rounds on what a user installs has a row, which names the class of the defect: who closes the case alone meets its like.
#[test]
fn attacks_on_what_is_installed_have_a_class() {
    const NAMED: [&str; 12] = [
        "escape-int3",
        "escape-late-handler",
        "escape-signal-stack",
        "postgres-late-handler",
        "stub-handle",
        "stub-stream",
        "stub-double-fetch",
        "stubs",
        "reset-shared-mapping",
        "grant-nested",
        "fork",
        "other",
    ];
    let text = read(TABLES);
    let rows: Vec<_> = text.lines().filter(|line| line.starts_with("| ")).collect();
    let numbers = (1..=50).map(|number| format!("E{number}"));
    for attack in numbers.chain(NAMED.map(str::to_owned)) {
        let label = format!("[{attack}] ");
        let mut own = rows.iter().filter(|row| row.contains(&label)).peekable();
        assert!(own.peek().is_some(), "{TABLES}: no row of {attack}");
        for row in own {
            assert!(row.to_lowercase().contains("class: "), "{TABLES}: no class: {row}");
        }
    }
}

/// Each line of the attacks on the design of returns has a row, and a test.
#[test]
fn attacks_on_returns_are_held() {
    let text = read("docs/attacks.md");
    let lines = [('A', 4), ('B', 11), ('C', 9)];
    for line in lines.iter().flat_map(|&(part, last)| (1..=last).map(move |number| format!("{part}{number}")))
    {
        let row = format!("| {line} | ");
        let rows: Vec<_> = text.lines().filter(|text| text.starts_with(&row)).collect();
        let &[row] = &rows[..] else { panic!("docs/attacks.md: {} rows of {line}", rows.len()) };
        let cells: Vec<_> = row.trim_matches('|').split(" | ").collect();
        assert_eq!(cells.len(), 4, "docs/attacks.md: not four cells: {row}");
        assert!(quoted(cells[3]).any(is_path), "docs/attacks.md: no test holds {line}");
    }
}
