//! What all evidence together shows: the results that other programs have left in `build/`, against what is demanded of them.
//!
//! Nothing is run here. What was not run is said to be so, and counts as a demand that is not met.

use anyhow::Context as _;
use lockgate_corpus::Corpus;
use serde::Serialize;
use serde_json::Value;
use std::fmt::{self, Display};
use std::path::Path;

/// One demand, and what the results say to it.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// What is counted.
    pub name: String,
    /// What is demanded of it.
    pub demand: String,
    /// What was found; `None`: it was not run.
    pub found: Option<u64>,
    /// Found, and as demanded.
    pub met: bool,
}

/// All demands.
#[derive(Debug, Serialize)]
pub struct Evidence {
    /// Version of the JSON form.
    pub schema: u32,
    /// Whether every demand is met.
    pub met: bool,
    /// In the order in which docs/evidence.md speaks of them.
    pub rows: Vec<Row>,
}

/// What a number must be.
#[derive(Clone, Copy)]
enum Demand {
    Is(u64),
    AtLeast(u64),
    /// It is told, nothing is asked.
    Nothing,
}

/// A number in a file of results: row, file, JSON pointers (their sum is meant), demand.
const NUMBERS: &[(&str, &str, &[&str], Demand)] = &[
    (
        "decoders: encodings compared",
        "evidence.json",
        &["/decoders/encodings"],
        Demand::AtLeast(1_000_000_000),
    ),
    (
        "decoders: disagreements on accepted instructions",
        "evidence.json",
        &["/decoders/disagreements"],
        Demand::Is(0),
    ),
    ("processor: instructions executed", "evidence.json", &["/semantics/cases"], Demand::AtLeast(10_000_000)),
    ("processor: violations", "evidence.json", &["/semantics/violations"], Demand::Is(0)),
    (
        "processor: steps of random programs",
        "evidence.json",
        &["/programs/steps/cases"],
        Demand::AtLeast(1_000_000),
    ),
    ("processor: violations in programs", "evidence.json", &["/programs/steps/violations"], Demand::Is(0)),
    ("domains: calls of random modules", "evidence.json", &["/domains/calls"], Demand::AtLeast(10_000)),
    ("domains: violations", "evidence.json", &["/domains/violations"], Demand::Is(0)),
    ("returns of real programs", "evidence.json", &["/returns/returns"], Demand::AtLeast(1_000_000)),
    ("returns: violations", "evidence.json", &["/returns/violations"], Demand::Is(0)),
    (
        "rules: operands and sequences enumerated",
        "evidence.json",
        &["/operand_rule/operands", "/rsp_rule/sequences"],
        Demand::AtLeast(100_000_000),
    ),
    (
        "rules: violations",
        "evidence.json",
        &["/operand_rule/violations", "/rsp_rule/violations"],
        Demand::Is(0),
    ),
    ("mutants: protections taken away", "mutants.json", &["/run"], Demand::AtLeast(400)),
    ("mutants: mutations of the verifier's functions", "sweep.json", &["/run"], Demand::AtLeast(1_000)),
    ("mutants: of them equivalent, with a reason", "sweep.json", &["/equivalent"], Demand::Nothing),
    ("mutants: mutations that survive", "sweep.json", &["/survived"], Demand::Is(0)),
    ("threads: tests under ThreadSanitizer", "thread-sanitizer.json", &["/tests"], Demand::AtLeast(100)),
    ("threads: of them failed", "thread-sanitizer.json", &["/failed"], Demand::Is(0)),
    ("threads: races reported", "thread-sanitizer.json", &["/races"], Demand::Is(0)),
];

/// Benchmarks whose targets are demands as well: file, and what counts how much was done, with the least of it.
const TORTURE: &[(&str, &str, u64)] =
    &[("bench/soak.json", "soak.calls", 100_000_000), ("bench/cycles.json", "cycles.cycles", 1_000_000)];

/// Executions of a fuzz target, and since its last finding.
const FUZZED: u64 = 10_000_000;
const FUZZED_SINCE: u64 = 1_000_000;
/// One execution of this target starts the compiler and the linker, and takes as long as so many others.
const SLOW: (&str, u64) = ("link", 1000);

/// Attacks of the suite.
const ATTACKS: u64 = 120;

/// What the results in this repository say.
///
/// # Errors
/// The repository that this crate was built from is gone.
pub fn of_repository() -> anyhow::Result<Evidence> {
    let root = Corpus::locate()?.root().to_owned();
    let findings = root.join("docs/appendix/findings.md");
    let text = std::fs::read_to_string(&findings).with_context(|| findings.display().to_string())?;
    Ok(gather(&root.join("build"), &text, &fuzz_targets(&root)?))
}

/// Names of the fuzz targets in the repository, in order.
fn fuzz_targets(root: &Path) -> anyhow::Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let of_entry = |entry: std::io::Result<std::fs::DirEntry>| {
        Ok(entry?.path().file_stem().unwrap_or_default().to_string_lossy().into_owned())
    };
    let names = std::fs::read_dir(&folder).and_then(|entries| entries.map(of_entry).collect());
    let mut names: Vec<String> = names.with_context(|| folder.display().to_string())?;
    names.sort();
    Ok(names)
}

/// What the results in the folder `build` say; `findings` is the text of docs/appendix/findings.md, `targets` are what has to be fuzzed.
pub fn gather(build: &Path, findings: &str, targets: &[String]) -> Evidence {
    let read = |file: &str| {
        let text = std::fs::read_to_string(build.join(file)).ok()?;
        serde_json::from_str::<Value>(&text).ok()
    };
    let mut rows = Vec::new();
    for (name, file, pointers, demand) in NUMBERS {
        let sum = |results: &Value| pointers.iter().map(|pointer| results.pointer(pointer)?.as_u64()).sum();
        rows.push(row(name, *demand, read(file).as_ref().and_then(sum)));
    }
    let survived = |results: &Value| results["run"].as_u64()?.checked_sub(results["red"].as_u64()?);
    rows.push(row(
        "mutants: protections that no test misses",
        Demand::Is(0),
        read("mutants.json").as_ref().and_then(survived),
    ));
    fuzz(read("fuzz.json").as_ref(), targets, &mut rows);
    attacks(read("attacks.json").as_ref(), &mut rows);
    for (file, counts, least) in TORTURE {
        let results = read(file);
        rows.push(row(
            counts,
            Demand::AtLeast(*least),
            results.as_ref().and_then(|results| metric(results, counts)),
        ));
        let family = counts.split('.').next().unwrap_or_default();
        let missed = results.as_ref().and_then(targets_missed);
        rows.push(row(&format!("{family}: targets missed"), Demand::Is(0), missed));
    }
    rows.push(row(
        "defects found and fixed, listed in docs/appendix/findings.md",
        Demand::Nothing,
        Some(listed(findings)),
    ));
    Evidence { schema: 1, met: rows.iter().all(|row| row.met), rows }
}

fn row(name: &str, demand: Demand, found: Option<u64>) -> Row {
    let (text, met) = match demand {
        Demand::Is(number) => (format!("= {}", grouped(number)), found == Some(number)),
        Demand::AtLeast(number) => {
            (format!("≥ {}", grouped(number)), found.is_some_and(|found| found >= number))
        }
        Demand::Nothing => (String::new(), found.is_some()),
    };
    Row { name: name.to_owned(), demand: text, found, met }
}

/// A target has a row each for its executions and for those since its last finding, also if it was not run.
fn fuzz(results: Option<&Value>, targets: &[String], rows: &mut Vec<Row>) {
    for target in targets {
        let number = |what: &str| results.and_then(|results| results[target][what].as_u64());
        let share = if target == SLOW.0 { SLOW.1 } else { 1 };
        let demands = [
            ("executions", FUZZED / share, number("executions")),
            ("since the last finding", FUZZED_SINCE / share, number("executions_since_last_finding")),
        ];
        rows.extend(demands.map(|(what, least, found)| {
            row(&format!("fuzz {target}: {what}"), Demand::AtLeast(least), found)
        }));
    }
}

fn attacks(results: Option<&Value>, rows: &mut Vec<Row>) {
    let number = |name: &str| results.and_then(|results| results[name].as_u64());
    let (held, all) = (number("held"), number("of"));
    rows.push(row("attacks", Demand::AtLeast(ATTACKS), all));
    let lost = held.zip(all).map(|(held, all)| all - held.min(all));
    rows.push(row("attacks that were not held", Demand::Is(0), lost));
}

/// A count among a benchmark's results.
fn metric(results: &Value, name: &str) -> Option<u64> {
    let metric = results["metrics"].as_array()?.iter().find(|metric| metric["name"] == name)?;
    metric["median"].as_f64().map(|median| median as u64)
}

/// Of a benchmark's results.
fn targets_missed(results: &Value) -> Option<u64> {
    let missed = |metric: &&Value| {
        let (name, median) = (metric["name"].as_str().unwrap_or_default(), metric["median"].as_f64());
        crate::Target::of(name).is_some_and(|target| !median.is_some_and(|median| target.used(median) <= 1.0))
    };
    Some(results["metrics"].as_array()?.iter().filter(missed).count() as u64)
}

/// Rows of the tables, without their heads and without what is wrong in the work of others.
fn listed(findings: &str) -> u64 {
    let own = findings.split("\n## In the work of others").next().unwrap_or_default();
    own.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| |")).count() as u64
}

/// `12,000,001`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

impl Display for Evidence {
    /// A line for each demand.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        for Row { name, demand, found, met } in &self.rows {
            let verdict = match (met, found) {
                (_, None) => "not run",
                (true, _) => "",
                (false, _) => "missed",
            };
            let found = found.map_or_else(|| "-".to_owned(), grouped);
            let line = format!("{name:width$}  {found:>15}  {demand:>15}  {verdict}");
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const FINDINGS: &str =
        "| | defect |\n|---|---|\n| C | a |\n| H | b |\n\n## In the work of others\n\n| c |\n";

    /// The demand on one number, in a folder whose results are `files`.
    fn found(files: &[(&str, &str)], name: &str) -> Row {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bench")).unwrap();
        for (file, text) in files {
            fs::write(folder.path().join(file), text).unwrap();
        }
        let evidence = gather(folder.path(), FINDINGS, &["elf".into()]);
        evidence.rows.into_iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no row {name}"))
    }

    #[test]
    fn what_was_not_run_is_not_met() {
        let folder = tempfile::tempdir().unwrap();
        let evidence = gather(folder.path(), FINDINGS, &["elf".into()]);
        assert!(!evidence.met);
        assert!(evidence.rows.iter().any(|row| row.name == "fuzz elf: executions" && row.found.is_none()));
        let silent = evidence.rows.iter().filter(|row| row.met).map(|row| row.name.as_str());
        assert_eq!(
            silent.collect::<Vec<_>>(),
            ["defects found and fixed, listed in docs/appendix/findings.md"]
        );
        assert!(evidence.to_string().contains("not run"));
        assert_eq!(evidence.rows.last().unwrap().found, Some(2));
    }

    #[test]
    fn numbers_are_held_against_their_demands() {
        let metric = |name: &str, median: &str| {
            format!(r#"{{"metrics": [{{"name": "{name}", "median": {median}}}]}}"#)
        };
        let cases = [
            (
                "evidence.json",
                r#"{"decoders": {"encodings": 1000000000}}"#,
                "decoders: encodings compared",
                true,
            ),
            (
                "evidence.json",
                r#"{"decoders": {"encodings": 999999999}}"#,
                "decoders: encodings compared",
                false,
            ),
            ("evidence.json", r#"{"semantics": {"violations": 1}}"#, "processor: violations", false),
            ("evidence.json", r#"{"operand_rule": {"violations": 0}}"#, "rules: violations", false),
            ("mutants.json", r#"{"run": 7, "red": 7}"#, "mutants: protections that no test misses", true),
            ("mutants.json", r#"{"run": 7, "red": 6}"#, "mutants: protections that no test misses", false),
            ("sweep.json", r#"{"survived": 2}"#, "mutants: mutations that survive", false),
            ("attacks.json", r#"{"held": 119, "of": 120}"#, "attacks that were not held", false),
            ("attacks.json", r#"{"held": 120, "of": 120}"#, "attacks that were not held", true),
            ("attacks.json", r#"{"held": 9, "of": 9}"#, "attacks", false),
            ("fuzz.json", r#"{"elf": {"executions": 10000000}}"#, "fuzz elf: executions", true),
            ("fuzz.json", r#"{"other": {"executions": 10000000}}"#, "fuzz elf: executions", false),
            (
                "fuzz.json",
                r#"{"elf": {"executions_since_last_finding": 999999}}"#,
                "fuzz elf: since the last finding",
                false,
            ),
            ("thread-sanitizer.json", r#"{"failed": 1}"#, "threads: of them failed", false),
            ("thread-sanitizer.json", r#"{"tests": 120, "races": 1}"#, "threads: races reported", false),
            ("thread-sanitizer.json", r#"{"tests": 120}"#, "threads: tests under ThreadSanitizer", true),
            ("bench/soak.json", &metric("soak.corruptions", "0"), "soak: targets missed", true),
            ("bench/soak.json", &metric("soak.corruptions", "1"), "soak: targets missed", false),
            ("bench/cycles.json", &metric("cycles.cycles", "1e6"), "cycles.cycles", true),
            ("bench/cycles.json", &metric("cycles.cycles", "9e5"), "cycles.cycles", false),
            ("bench/soak.json", "{ damaged", "soak: targets missed", false),
        ];
        for (file, text, name, met) in cases {
            assert_eq!(found(&[(file, text)], name).met, met, "{file}: {text}");
        }
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(
            (grouped(0), grouped(1_000), grouped(12_000_001)),
            ("0".into(), "1,000".into(), "12,000,001".into())
        );
    }
}
