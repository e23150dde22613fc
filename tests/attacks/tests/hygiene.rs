//! The folders keep to their form, and show what they claim to show.
use attacks::expect::Expect;
use attacks::list::{self, Attack};
use attacks::scenarios;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// What the suite promises (docs/appendix/evidence.md).
const AT_LEAST: usize = 380;

fn suite() -> Vec<Attack> {
    list::read(&list::suite()).unwrap()
}

#[test]
fn there_are_enough_attacks() {
    let number = suite().len();
    assert!(number >= AT_LEAST, "{number} attacks, {AT_LEAST} promised");
}

#[test]
fn descriptions_say_what_why_and_where_from() {
    let rules = fs::read_to_string(root().join("docs/rules.md")).unwrap();
    let rules: BTreeSet<_> = rules.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    for attack in suite() {
        let (title, about) = (attack.title(), &attack.description);
        assert!(about.attempt.ends_with('.') && about.attempt.len() > 20, "{title}: attempt is no sentence");
        assert!(about.known_from.len() > 4, "{title}: known-from is empty");
        assert!(!about.threatens.is_empty(), "{title}: it threatens nothing");
        for what in &about.threatens {
            let known = rules.contains(what.as_str()) || root().join(what).exists();
            assert!(known, "{title}: {what} is neither a rule of docs/rules.md nor a page");
        }
        assert!(about.noticed.is_none(), "{title}: `noticed` is for controls");
        if let Expect::Rejected { reason, .. } | Expect::Refused { reason } = &about.expect {
            assert!(reason.len() > 8, "{title}: which reason is meant?");
        }
    }
    for control in list::read(&list::controls()).unwrap() {
        assert!(control.description.noticed.is_some(), "{}: a control says what is noticed", control.title());
    }
}

/// Each folder is an idea of its own.
#[test]
fn no_attack_is_there_twice() {
    let mut names = BTreeMap::new();
    let mut attempts = BTreeMap::new();
    let mut sources = BTreeMap::new();
    for attack in suite() {
        let title = attack.title();
        if let Some(source) = attack.source {
            let text = fs::read_to_string(attack.folder.join(source.file())).unwrap();
            // One source may serve several choreographies.
            let key = (text, attack.description.scenario.clone(), format!("{:?}", attack.description.call));
            assert_eq!(sources.insert(key, title.clone()), None, "{title}: the same source");
        }
        assert_eq!(
            attempts.insert(attack.description.attempt, title.clone()),
            None,
            "{title}: the same attempt"
        );
        assert_eq!(names.insert(attack.name, title.clone()), None, "{title}: the same name");
    }
}

#[test]
fn every_scenario_is_used_and_exists() {
    let attacks = suite().into_iter().chain(list::read(&list::controls()).unwrap());
    let named: BTreeSet<String> = attacks.filter_map(|attack| attack.description.scenario).collect();
    let known: BTreeSet<String> = scenarios::names().map(str::to_owned).collect();
    assert_eq!(named, known);
}

/// docs/appendix/evidence.md counts them by area.
#[test]
fn the_counts_that_are_published_are_true() {
    let evidence = fs::read_to_string(root().join("docs/appendix/evidence.md")).unwrap();
    let mut areas = BTreeMap::new();
    for attack in suite() {
        *areas.entry(attack.area).or_insert(0_usize) += 1;
    }
    for (area, number) in areas {
        let row = evidence.lines().find(|line| line.starts_with(&format!("| {area} | ")));
        let row = row.unwrap_or_else(|| panic!("docs/appendix/evidence.md has no row for {area}"));
        let published = row.split('|').nth(2).and_then(|cell| cell.trim().parse::<usize>().ok());
        assert!(published.is_some_and(|published| published <= number), "{number} attacks: {row}");
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}
