//! `make mutants`: see README.md.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use mutants::{End, Entry, Mutation, Suite, Tree, Verdict};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Takes protections away one at a time, in a copy of the tree, and demands that the test of each goes red.
#[derive(Parser)]
struct Options {
    /// Only the entries of these rules, of these lists, or at these places (`R14`, `verifier.txt`, `verifier.txt:100`)
    only: Vec<String>,
    /// Where the copy of the tree and what is built from it lie
    #[arg(long, default_value = "build/mutants")]
    scratch: PathBuf,
    /// Writes the results here
    #[arg(long)]
    json: Option<PathBuf>,
    /// A test that runs longer, in seconds, hangs
    #[arg(long, default_value_t = 120)]
    time_limit: u64,
    /// Shows what the red tests said
    #[arg(long)]
    verbose: bool,
}

/// Quick builds of many small changes; the rules do not depend on it.
const CONFIG: [&str; 2] = ["profile.dev.debug=0", "profile.dev.package.lockgate-verify.opt-level=1"];

/// What tests say that build a part themselves, in C, when it does not compile (crates/lockgate-postgres).
const BROKEN: &str = "the extension does not build";

/// An entry and what came of it; no end: nothing was to be run.
struct Outcome {
    entry: Entry,
    end: Option<End>,
    seconds: f64,
}

impl Outcome {
    /// Nothing was shown: the test passed, or there was nothing to run.
    fn survived(&self) -> bool {
        matches!(self.end, Some(End::Passed(_) | End::NotBuilt))
    }
}

fn main() -> Result<()> {
    let options = Options::parse();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("the repository's root")?;
    let chosen =
        |entry: &Entry| options.only.is_empty() || options.only.iter().any(|only| entry.is_called(only));
    let entries: Vec<_> = mutants::entries(root)?.into_iter().filter(chosen).collect();
    ensure!(!entries.is_empty(), "no entry of the lists is chosen");
    let tree = Tree::copy(root, &root.join(&options.scratch).join("tree"))?;
    let target = root.join(&options.scratch).join("target");
    let limit = Duration::from_secs(options.time_limit);

    // Better said now than hours later.
    let impossible = mutants::impossible(&tree.root, &entries);
    ensure!(impossible.is_empty(), "{}", impossible.join("\n"));
    all_green(&tree, &target, &entries, limit)?;
    let mut outcomes = Vec::new();
    for entry in entries {
        let begin = Instant::now();
        let end = match &entry.verdict {
            Verdict::Red(mutation) => {
                let (end, text) = try_out(&tree, &target, &entry, mutation, limit)
                    .with_context(|| format!("{}: {}", entry.place, mutation.find))?;
                if options.verbose {
                    println!("{text}");
                }
                Some(end)
            }
            Verdict::Structure | Verdict::Redundant(_) => None,
        };
        let outcome = Outcome { entry, end, seconds: begin.elapsed().as_secs_f64() };
        print(&outcome);
        outcomes.push(outcome);
    }
    conclude(&outcomes, options.json.as_deref())
}

/// The named tests, in the tree as it is: they must all pass, or their redness later means nothing.
fn all_green(tree: &Tree, target: &Path, entries: &[Entry], limit: Duration) -> Result<()> {
    let mut suites: BTreeMap<&Suite, BTreeSet<&str>> = BTreeMap::new();
    for entry in entries {
        suites.entry(&entry.suite).or_default().insert(&entry.test);
    }
    for (suite, tests) in suites {
        println!("unchanged: {} tests of {} {}", tests.len(), suite.package, suite.target);
        let tests: Vec<_> = tests.into_iter().collect();
        let (end, text) =
            mutants::build(&tree.root, target, suite, &CONFIG)?.run(&tests, limit * tests.len() as u32)?;
        if end != End::Passed(tests.len()) {
            bail!("not all of these are green: {tests:?}\n{end:?}\n{text}");
        }
    }
    Ok(())
}

/// Runs the test of `entry` with its change made.
fn try_out(
    tree: &Tree,
    target: &Path,
    entry: &Entry,
    mutation: &Mutation,
    limit: Duration,
) -> Result<(End, String)> {
    let file = Path::new(&mutation.file);
    let original = std::fs::read_to_string(tree.root.join(file))?;
    tree.write(file, mutation.apply(&original)?.as_bytes())?;
    let end = match mutants::build(&tree.root, target, &entry.suite, &CONFIG) {
        Ok(program) => program.run(&[&entry.test], limit).map(|(end, text)| match text.contains(BROKEN) {
            true => (End::NotBuilt, text),
            false => (end, text),
        }),
        Err(error) => {
            println!("{error}");
            Ok((End::NotBuilt, String::new()))
        }
    };
    tree.write(file, original.as_bytes())?;
    end
}

fn print(outcome: &Outcome) {
    let entry = &outcome.entry;
    let verdict = match (outcome.end, &entry.verdict) {
        (Some(End::Passed(_)), _) => "SURVIVED".to_owned(),
        (Some(End::NotBuilt), _) => "NOT BUILT".to_owned(),
        (Some(end), _) => format!("red, {end}"),
        (None, Verdict::Structure) => "structure".to_owned(),
        (None, _) => "redundant".to_owned(),
    };
    let change = entry.mutation().map_or("", |mutation| mutation.find.as_str());
    println!("{:4} {verdict:22} {:5.1} s  {:18} {change}", entry.rule, outcome.seconds, entry.place);
}

fn conclude(outcomes: &[Outcome], file: Option<&Path>) -> Result<()> {
    let run = outcomes.iter().filter(|outcome| outcome.end.is_some()).count();
    let survivors: Vec<_> = outcomes.iter().filter(|outcome| outcome.survived()).collect();
    let hung = outcomes.iter().filter(|outcome| outcome.end == Some(End::Hung)).count();
    if let Some(file) = file {
        let mutants: Vec<_> = outcomes.iter().map(describe).collect();
        let summary = json!({
            "schema": 1, "run": run, "red": run - survivors.len(), "hung": hung, "mutants": mutants,
        });
        std::fs::write(file, serde_json::to_string_pretty(&summary)?)
            .with_context(|| file.display().to_string())?;
    }
    println!("{} of {run} mutants are red ({hung} of them hung)", run - survivors.len());
    for survivor in &survivors {
        let entry = &survivor.entry;
        println!(
            "survived: {}, {}: {} is green without it: {}",
            entry.rule, entry.place, entry.test, entry.why
        );
    }
    ensure!(survivors.is_empty(), "{} mutants survived: sharpen their tests", survivors.len());
    Ok(())
}

fn describe(outcome: &Outcome) -> serde_json::Value {
    let entry = &outcome.entry;
    let mutation = entry.mutation();
    json!({
        "rule": entry.rule,
        "place": entry.place,
        "file": mutation.map(|mutation| &mutation.file),
        "find": mutation.map(|mutation| &mutation.find),
        "with": mutation.map(|mutation| &mutation.with),
        "test": format!("{} {} {}", entry.suite.package, entry.suite.target, entry.test),
        "why": entry.why,
        "result": match (outcome.end, &entry.verdict) {
            (Some(End::Passed(_)), _) => "survived",
            (Some(End::NotBuilt), _) => "not built",
            (Some(_), _) => "red",
            (None, Verdict::Structure) => "structure",
            (None, _) => "redundant",
        },
        "how": outcome.end.map(|end| end.to_string()),
        "seconds": outcome.seconds,
    })
}
