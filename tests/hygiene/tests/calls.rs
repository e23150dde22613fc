//! The page on the life of a call names the code as it is, and its tables have all states that the code has.

use hygiene::{files, read};
use std::collections::BTreeSet;

const PAGE: &str = "docs/life-of-a-call.md";

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What stands in backquotes.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Names with several parts are found as they are: who renames something finds the page.
#[test]
fn the_page_of_calls_names_what_there_is() {
    let crates = ["crates/lockgate", "crates/lockgate-c", "crates/lockgate-syscall"];
    let sources: Vec<String> =
        crates.iter().flat_map(|folder| files(folder, &[".rs", ".c"])).map(read).collect();
    let known: BTreeSet<&str> = sources.iter().flat_map(|text| text.split(|c| !is_part(c))).collect();
    let page = read(PAGE);
    let is_name = |word: &&str| word.contains('_') && word.chars().all(is_part);
    let named: BTreeSet<&str> = code(&page).filter(is_name).collect();
    assert!(named.len() > 25, "{PAGE} names only {named:?}");
    let gone: Vec<_> = named.difference(&known).collect();
    assert!(gone.is_empty(), "{PAGE} names {gone:?}, which is nowhere in the code");
}

/// Each kind of record, and each value of `transit` and `status` that has a name, is in the tables of where a thread is, and no other.
#[test]
fn the_tables_of_places_have_all_states() {
    let (page, layout) = (read(PAGE), read("crates/lockgate/src/call/layout.rs"));
    let begin = "### Where a thread is: `top`, `transit` and `status`\n";
    let (_, section) = page.split_once(begin).unwrap_or_else(|| panic!("{PAGE} has no {begin:?}"));
    let (section, _) = section.split_once("\n## ").expect("another section");

    // (`STATUS_ENDED` is a mask of others.)
    let constants = layout.lines().filter_map(|line| line.split_once("const ")?.1.split_once(" = "));
    let constants: Vec<_> = constants
        .filter(|(_, value)| !value.contains(" | "))
        .filter_map(|(declared, _)| declared.split_once(": "))
        .collect();
    let kinds = constants.iter().filter(|(_, kind)| *kind == "u8");
    let kinds: BTreeSet<String> =
        kinds.map(|(name, _)| name.trim_start_matches("LIMITED_").to_lowercase()).collect();
    let values = constants.iter().map(|(name, _)| *name);
    let values: BTreeSet<&str> =
        values.filter(|name| name.starts_with("STATUS_") || *name == "UNTAKEN").collect();
    assert!(kinds.len() >= 3 && values.len() >= 5, "{kinds:?}, {values:?}");

    let table = section.lines().skip_while(|line| !line.starts_with("| place "));
    let records = table.skip(2).take_while(|line| line.starts_with("| ")).map(|line| {
        let cells: Vec<&str> = line.split('|').collect();
        let [_, place, record, transit, call, _] = cells[..] else { panic!("{PAGE}: {line}") };
        assert!(!place.trim().is_empty() && !transit.trim().is_empty() && !call.trim().is_empty(), "{line}");
        record.split(|c| !is_part(c)).filter(|word| kinds.contains(*word)).collect::<Vec<_>>()
    });
    let records: Vec<Vec<&str>> = records.collect();
    assert!(records.iter().all(|kinds| !kinds.is_empty()), "a row of {PAGE} names no kind of record");
    let of_table: BTreeSet<String> = records.concat().into_iter().map(str::to_owned).collect();
    assert_eq!(of_table, kinds, "kinds of records in the table of places, and in the code");

    let is_value = |word: &&str| word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    assert_eq!(code(section).filter(is_value).collect::<BTreeSet<_>>(), values, "in {PAGE}, and in the code");
}

/// Files outside of the runtime in which a call may get a limit of its caller's, and so be left by it: each says what becomes of what the call uses
/// ([decision 0154](docs/decisions/0154-what-a-call-that-goes-on-uses.md)).
const LIMITS_ARE_GIVEN: [&str; 9] = [
    "crates/lockgate-c/src/function_sys.rs",
    "crates/lockgate-c/src/policy.rs",
    "crates/lockgate-c/src/request_sys.rs",
    "crates/lockgate-cli/src/cmd/up/file.rs",
    "crates/lockgate-headers/include/lockgate.hpp",
    "crates/lockgate-programs/src/spec.rs",
    "crates/lockgate-python/src/function.rs",
    "crates/lockgate-python/src/registry.rs",
    "crates/lockgate-python/src/values.rs",
];

/// Who makes something in a domain for a call, and takes it away when the call has returned, binds without a limit, or knows of calls that go on. Red if
/// another file begins to give limits.
#[test]
fn calls_are_left_in_named_places() {
    const WORDS: [&str; 5] =
        ["CallLimit", "Expiry::", "call_limit(", "lg_bind_within(", "lg_request_within("];
    const ENDS: [&str; 9] = [".rs", ".c", ".h", ".hpp", ".cpp", ".py", ".in", ".go", ".java"];
    let mut found = Vec::new();
    for folder in ["crates", "postgres/src", "examples", "share", "demo"] {
        for path in files(folder, &ENDS) {
            let name = path.strip_prefix(hygiene::root()).expect("inside the tree").display().to_string();
            let is_the_runtimes =
                name.starts_with("crates/lockgate/") || name.ends_with("include/lockgate.h");
            if is_the_runtimes || name.contains("/tests/") {
                continue;
            }
            let gives = |line: &str| {
                let code = line.split("//").next().unwrap_or_default();
                WORDS.iter().any(|word| code.contains(word))
            };
            if read(&path).lines().any(gives) {
                found.push(name);
            }
        }
    }
    found.sort();
    assert_eq!(
        found, LIMITS_ARE_GIVEN,
        "who gives calls a limit: decision 0154 says what becomes of what they use"
    );
}
