//! The lists of mutants (`tests/mutants`) fit the tree: `make mutants` runs them, which takes minutes; this takes none.

use hygiene::{read, root};
use mutants::Verdict;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

#[test]
fn every_rule_has_a_mutant_or_says_why_not() {
    let entries = mutants::entries(root()).expect("well-formed lists");
    let have: BTreeSet<_> = entries
        .iter()
        .filter(|entry| !matches!(entry.verdict, Verdict::Redundant(_)))
        .map(|entry| entry.rule.as_str())
        .collect();
    let text = read("docs/rules.md");
    let last = |letter: char| {
        let numbers = text.split(letter).skip(1).filter_map(|rest| {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            rest[..digits].parse::<u32>().ok()
        });
        numbers.max().expect("rules have numbers")
    };
    let (verifier, runtime) = (last('V'), last('R'));
    assert!(verifier >= 6 && runtime >= 29, "V{verifier}, R{runtime}");
    let rules = (0..=verifier).map(|n| format!("V{n}")).chain((1..=runtime).map(|n| format!("R{n}")));
    let missing: Vec<_> = rules.filter(|rule| !have.contains(rule.as_str())).collect();
    assert!(missing.is_empty(), "no entry of tests/mutants/*.txt is about {missing:?}");
}

/// A mutant whose text has gone shows nothing: whoever changes the code changes the list with it.
#[test]
fn every_mutant_can_be_made() {
    let wrong = mutants::impossible(root(), &mutants::entries(root()).expect("well-formed lists"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The pages say how long the lists are, in hundreds.
#[test]
fn pages_count_the_mutants() {
    let entries = mutants::entries(root()).expect("well-formed lists");
    let all = entries.iter().filter(|entry| entry.mutation().is_some()).count();
    let redundant = entries.iter().filter(|entry| matches!(entry.verdict, Verdict::Redundant(_))).count();
    let all = format!("{},{}00", all / 1000, all / 100 % 10);
    for (page, text) in [
        ("docs/evidence.md", format!("the lists have more than {all} now")),
        (
            "docs/appendix/evidence.md",
            format!("The lists have more than {all} changes now, of which {redundant} are redundant"),
        ),
    ] {
        assert!(read(page).contains(&text), "{page} does not say {text:?}");
    }
}

/// A test that is not there cannot go red. (`make mutants` runs each by its full name.)
#[test]
fn every_named_test_exists() {
    let mut read = BTreeMap::new();
    for entry in mutants::entries(root()).expect("well-formed lists") {
        // (Packages whose names end with `-tests` are folders `tests` of other packages.)
        let package = &entry.suite.package;
        let package = package.strip_suffix("-tests").unwrap_or(package);
        let folders = ["crates", "tests"].map(|top| root().join(top).join(package));
        let folder = folders.into_iter().find(|folder| folder.is_dir()).expect("a crate of the tree");
        let function = format!("fn {}(", entry.test.rsplit("::").next().unwrap_or_default());
        let is_unit = matches!(entry.suite.target.as_str(), "lib" | "units");
        let target = &entry.suite.target;
        let manifest =
            if entry.suite.package.ends_with("-tests") { "tests/Cargo.toml" } else { "Cargo.toml" };
        let manifest = fs::read_to_string(folder.join(manifest)).expect("a package has a manifest");
        let files = [format!("tests/{target}.rs"), format!("tests/{target}/main.rs")];
        let is_target = target == "lib"
            || manifest.contains(&format!("name = \"{target}\""))
            || files.iter().any(|file| folder.join(file).exists());
        assert!(is_target, "{}: {} has no tests {target}", entry.place, entry.suite.package);
        let place = if is_unit { folder.join("src") } else { folder.join("tests") };
        if is_unit {
            let names = entry.test.split("::").collect::<Vec<_>>();
            let modules =
                names[..names.len() - 1].strip_suffix(&["tests"]).unwrap_or(&names[..names.len() - 1]);
            let module = place.join(modules.join("/"));
            let is_there = module.with_extension("rs").exists() || module.is_dir();
            assert!(is_there, "{}: there is no module {}", entry.place, modules.join("::"));
        }
        let sources = read.entry(place.clone()).or_insert_with(|| sources(&place));
        assert!(sources.contains(&function), "{}: no {function}) in {}", entry.place, place.display());
    }
}

/// The page that says how an entry is written shows one that there is.
#[test]
fn the_example_of_an_entry_is_one() {
    let page = fs::read_to_string(root().join("tests/mutants/README.md")).expect("the page");
    let (_, rest) = page.split_once("\n## An entry\n").expect("a section on entries");
    let block =
        rest.lines().skip_while(|line| !line.starts_with("    find:")).take_while(|line| !line.is_empty());
    let example = block.map(|line| line.trim_start()).collect::<Vec<_>>().join("\n");
    let lists = fs::read_to_string(root().join("tests/mutants/runtime.txt")).expect("a list");
    assert!(example.contains("\ntest: ") && lists.contains(&example), "not in runtime.txt:\n{example}");
}

/// Nor does an excuse for a mutation that cannot be made any more excuse anything.
#[test]
fn every_equivalent_mutation_exists() {
    let folder = root().join(sweep::CRATE).join("src");
    let mut mutants = Vec::new();
    for source in fs::read_dir(folder).expect("the crate").flatten() {
        let name = source.file_name().to_string_lossy().into_owned();
        if name.ends_with(".rs") {
            let text = fs::read_to_string(source.path()).expect("readable source");
            sweep::mutate(&name, &text, &mut mutants).expect("Rust");
        }
    }
    assert!(mutants.len() > 2_000, "only {} mutations", mutants.len());
    let list = sweep::equivalents(root()).expect("well-formed list");
    let gone = list.iter().filter(|entry| !mutants.iter().any(|mutant| entry.is_about(mutant)));
    let gone: Vec<_> = gone.map(|entry| format!("tests/sweep/{}: {}", entry.place, entry.change)).collect();
    assert!(gone.is_empty(), "no such mutation:\n{}", gone.join("\n"));
}

/// What all source files below `folder` say.
fn sources(folder: &Path) -> String {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let said = entries.filter_map(|path| match path.extension() {
        Some(extension) if extension == "rs" => fs::read_to_string(&path).ok(),
        _ => path.is_dir().then(|| sources(&path)),
    });
    said.collect::<Vec<_>>().join("\n")
}
