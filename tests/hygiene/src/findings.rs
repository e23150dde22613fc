//! The findings, counted: what `make findings` writes into the page about them, from the tables in the appendix.

use crate::read;
use std::collections::BTreeMap;

/// The full tables.
pub const TABLES: &str = "docs/appendix/findings.md";
/// The page that counts them.
pub const PAGE: &str = "docs/findings.md";
/// From confinement lost to a test that could not see. The page says what each letter means.
pub const SEVERITIES: [&str; 5] = ["C", "L", "H", "W", "T"];

/// A row of the tables.
#[derive(Debug)]
pub struct Finding {
    /// The heading that it stands under.
    pub part: String,
    /// Severity, defect, how it was found, fix, what holds it: as they stand there.
    pub cells: Vec<String>,
}

/// All rows but those about the work of others, which is not ours to fix.
#[must_use]
pub fn findings() -> Vec<Finding> {
    in_tables(&read(TABLES))
}

/// Those in `text`.
#[must_use]
pub fn in_tables(text: &str) -> Vec<Finding> {
    let own = text.split("\n## In the work of others").next().unwrap_or_default();
    let mut part = String::new();
    let mut found = Vec::new();
    for line in own.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            heading.clone_into(&mut part);
        } else if line.starts_with("| ") && !line.starts_with("| |") {
            let cells = line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned());
            found.push(Finding { part: part.clone(), cells: cells.collect() });
        }
    }
    found
}

/// How a finding was found, by words of that cell: the first kind that has one of them counts.
const METHODS: &[(&str, &[&str])] = &[
    ("rounds of attack, on an installed copy or on paper", &["attack", "adversar"]),
    ("use by a newcomer", &["fresh eyes", "newcomer", "stranger"]),
    ("fuzzing, and random programs and calls", &["fuzz", "random", "hammer", "differ"]),
    ("mutants and mutations", &["mutant", "mutation", "sweep"]),
    ("reading", &["read", "paper", "audit", "review", "the like"]),
];
const OTHER_METHODS: &str = "tests, programs, benchmarks, everyday work";

/// Kinds of classes, by words of what a row says behind `class: `: the first kind that has one of them counts.
const KINDS: &[(&str, &[&str])] = &[
    (
        "one thing with two readings, or two things taken for one",
        &[
            "two read",
            "two answers",
            "two comput",
            "two names",
            "with two",
            "two languages",
            "meanings",
            "spelling",
            "reading",
            "declar",
            "compare",
            "stands for",
            "stands in",
            "takes the place",
            "text",
            "`int`",
            "`bool`",
            "order that differs",
            "form which",
        ],
    ),
    (
        "a second way past a check",
        &[
            "second way",
            "way in",
            "ways",
            "one of the places",
            "doors",
            "short way",
            "one form",
            "not for",
            "sibling",
            "list of",
            "a check in",
            "a check that stood",
            "a rule that held",
            "a rule of",
            "all of them",
            "each call asks",
            "not in the others",
            "of which one",
            "without the first one",
            "consent",
        ],
    ),
    (
        "looked at too early, too late or twice",
        &[
            "check",
            "fetched",
            "look",
            "asked",
            "late",
            "judged",
            "twice",
            "moment",
            "before",
            "again",
            "known",
            "taken for",
            "question",
        ],
    ),
    (
        "kept beyond its owner, its call or its use",
        &[
            "outlive",
            "afterward",
            "leave",
            "left",
            "last user",
            "kept",
            "keeps",
            "reset",
            "life",
            "lives",
            "belongs to a call",
            "good for",
            "close",
            "successor",
            "owner",
        ],
    ),
    (
        "a limit that something goes past",
        &[
            "limit",
            "bound",
            "room",
            "size",
            "quota",
            "work ",
            "memory",
            "grows",
            "reserve",
            "allocat",
            "depth",
            "shared",
            "all compared",
        ],
    ),
    ("waits and locks", &["wait", "lock", "kick", "queue", "throttle", "wake", "thread", "sleep"]),
    (
        "a name or number in place of the object",
        &["name", "identity", "number", "address", "handle", "sign ", "mark"],
    ),
    (
        "an error or an answer that says something else",
        &[
            "error",
            "word",
            "answer",
            "reason",
            "remedy",
            "told",
            "tell",
            "said",
            "says",
            "success",
            "cause",
            "consequence",
            "refus",
            "fail",
            "count",
            "note",
        ],
    ),
];
const OTHER_KINDS: &str = "others";

/// What a row says of its class.
fn class(finding: &Finding) -> Option<&str> {
    let defect = finding.cells.get(1)?;
    let at = ["class: ", "Class: "].iter().find_map(|label| defect.find(label).map(|at| at + label.len()))?;
    defect[at..].split([';', ')']).next()
}

/// The kind that one of these words says; that of the row before where the words point there.
fn kind_of(
    words: &str,
    kinds: &[(&'static str, &[&str])],
    other: &'static str,
    before: &'static str,
) -> &'static str {
    match kinds.iter().find(|(_, known)| known.iter().any(|word| words.contains(word))) {
        Some((kind, _)) => kind,
        None if ["the same", "above", "as that of"].iter().any(|word| words.contains(word)) => before,
        None => other,
    }
}

/// How many there are of each severity.
type Counts = [usize; SEVERITIES.len()];

/// A table: a row for each of `names`, in this order, and one for all.
fn table(head: &str, names: &[String], counts: &BTreeMap<String, Counts>) -> String {
    let mut text = format!("| {head} | {} | all |\n|---|---|---|---|---|---|---|\n", SEVERITIES.join(" | "));
    let mut line = |name: &str, counts: &Counts| {
        let cells: Vec<String> = counts.iter().map(ToString::to_string).collect();
        text += &format!("| {name} | {} | {} |\n", cells.join(" | "), counts.iter().sum::<usize>());
    };
    let mut all = Counts::default();
    for name in names {
        let own = counts.get(name).copied().unwrap_or_default();
        all.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        line(name, &own);
    }
    line("**all**", &all);
    text
}

/// The three tables, by name.
fn tables(findings: &[Finding]) -> BTreeMap<&'static str, String> {
    let mut by: BTreeMap<&str, BTreeMap<String, Counts>> = BTreeMap::new();
    let mut parts: Vec<String> = Vec::new();
    let (mut method, mut kind) = (OTHER_METHODS, OTHER_KINDS);
    for finding in findings {
        let Some(at) = SEVERITIES.iter().position(|severity| *severity == finding.cells[0]) else { continue };
        if !parts.contains(&finding.part) {
            parts.push(finding.part.clone());
        }
        method = kind_of(&finding.cells[2], METHODS, OTHER_METHODS, method);
        let mut count =
            |table, name: &str| by.entry(table).or_default().entry(name.to_owned()).or_default()[at] += 1;
        count("part", &finding.part);
        count("method", method);
        if let Some(class) = class(finding) {
            kind = kind_of(class, KINDS, OTHER_KINDS, kind);
            count("class", kind);
        }
    }
    let names = |kinds: &[(&str, &[&str])], other: &str| {
        let kinds = kinds.iter().map(|(name, _)| *name).chain([other]);
        kinds.map(str::to_owned).collect::<Vec<String>>()
    };
    [
        ("part", "part", parts),
        ("method", "found by", names(METHODS, OTHER_METHODS)),
        ("class", "kind of mistake", names(KINDS, OTHER_KINDS)),
    ]
    .map(|(name, head, names)| (name, table(head, &names, by.get(name).unwrap_or(&BTreeMap::new()))))
    .into()
}

/// `text`, the page, with each table as the rows are now: between a line that names it and one that ends it.
///
/// # Panics
/// If a table does not end, or has another name.
#[must_use]
pub fn with_counts(text: &str, findings: &[Finding]) -> String {
    const BEGIN: &str = "<!-- findings by ";
    const END: &str = "<!-- end of findings -->";
    let tables = tables(findings);
    let mut parts = text.split(BEGIN);
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->").expect("a name ends");
        let (_, rest) = rest.split_once(END).expect("a table ends");
        let table = tables.get(name).unwrap_or_else(|| panic!("there is no table by {name}"));
        all += &format!("{BEGIN}{name} -->\n\n{table}\n{END}{rest}");
    }
    all
}
