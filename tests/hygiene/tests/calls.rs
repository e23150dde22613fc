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
