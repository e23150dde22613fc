//! Decision 0069: handlers of the host's may end their thread where they interrupt some of the library's functions. Those have no table of what to
//! drop or to catch, whatever the compiler has made of them: an instruction between two calls is in no such table, and ends the process.
use installed::{Workshop, done};
use std::collections::BTreeMap;
use std::process::Command;

/// What gates call while handlers come, as their symbols have it.
const MET: [&str; 6] = [
    "lockgate_syscall",
    "quick",
    "lockgate_context",
    "lockgate_resume",
    "lockgate_missing",
    "lockgate_unresolved",
];

/// The letter in a frame's description that says that there is such a table.
const HAS_TABLE: char = 'L';

#[test]
fn no_function_that_handlers_interrupt_has_a_table() {
    let library = Workshop::get().at("usr/lib/liblockgate.so");
    let symbols = done(Command::new("nm").arg(&library));
    let frames = done(Command::new("readelf").args(["--debug-dump=frames", "--wide"]).arg(&library));
    let tables = tables(&frames);
    for name in MET {
        let mut found = 0;
        // (`17h` begins the hash behind a function's own name: a crate has one of these names, too.)
        let own = format!("{}{name}17h", name.len());
        for line in symbols.lines().filter(|line| line.contains(&own)) {
            let address = line.split(' ').next().expect("an address");
            let address = u64::from_str_radix(address, 16).expect("a number");
            let augmentation = tables.get(&address).unwrap_or_else(|| panic!("{line}: no frame"));
            assert!(!augmentation.contains(HAS_TABLE), "{line}: {augmentation}");
            found += 1;
        }
        assert!(found > 0, "{name} is not there");
    }
    // The same of one that has a table, as handlers never meet it.
    let service = symbols.lines().find(|line| line.contains("16lockgate_service")).expect("a symbol");
    let address = u64::from_str_radix(&service[..16], 16).expect("a number");
    assert!(tables[&address].contains(HAS_TABLE));
}

/// Of each function that begins at an address: the letters of its description.
fn tables(frames: &str) -> BTreeMap<u64, String> {
    let mut common = BTreeMap::new();
    let mut tables = BTreeMap::new();
    let mut last = "";
    for line in frames.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [at, _, _, "CIE", ..] => last = at,
            ["Augmentation:", letters] => drop(common.insert(last, letters)),
            [_, _, _, "FDE", whose, range, ..] => {
                let whose = whose.strip_prefix("cie=").expect("whose description it goes on");
                let from = range.strip_prefix("pc=").and_then(|range| range.split("..").next());
                let from = u64::from_str_radix(from.expect("a range"), 16).expect("an address");
                tables.insert(from, common[whose].to_owned());
            }
            _ => (),
        }
    }
    tables
}
