//! `make sweep`: see README.md.
#![forbid(unsafe_code)]

use anyhow::{Context, Result, ensure};
use clap::Parser;
use mutants::{End, Program, Suite, Tree};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use sweep::{CRATE, Equivalent, LIST, Mutant, SWITCH, VARIABLE};

/// Makes every mutation of the verifier's functions, one at a time, and demands that the verifier's own tests notice it.
#[derive(Parser)]
struct Options {
    /// Only mutations whose line in the output contains one of these
    only: Vec<String>,
    /// Where the copy of the tree and what is built from it lie
    #[arg(long, default_value = "build/sweep")]
    scratch: PathBuf,
    /// Writes the results here
    #[arg(long)]
    json: Option<PathBuf>,
    /// How many run at once
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Lists the mutations and runs nothing
    #[arg(long)]
    list: bool,
    /// Runs those of the list of equivalent ones, too: whoever is noticed does not belong there
    #[arg(long)]
    all: bool,
}

/// What is run, in this order, until something is red: what is quick and notices much comes first. Suite or `lib`, arguments,
/// and the CPU time, in seconds, behind which a mutation never ends: many times what it takes without one.
const STAGES: [(&str, &[&str], u64); 7] = [
    ("reading", &[], 1),
    ("tables", &[], 1),
    ("module", &SLOW, 2),
    ("cases", &[], 2),
    ("hostile", &[], 8),
    ("returns", &[], 60),
    (UNITS, &[], 15),
];
/// The target of the unit tests.
const UNITS: &str = "lib";
/// Without these: they take ten times as long as all others, and show only that nothing crashes.
const SLOW: [&str; 4] = ["--skip", "flipped_bits_are_harmless", "--skip", "extreme_numbers_are_harmless"];
/// SIGXCPU.
const OUT_OF_TIME: i32 = 24;
/// Tests that wait use no CPU time.
const WATCHDOG: Duration = Duration::from_secs(600);

/// What came of a mutation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// By the stage with this number.
    Red(usize, End),
    Equivalent,
    Survived,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("the repository's root")?;
    let scratch = root.join(&options.scratch);
    let tree = Tree::copy(root, &scratch.join("tree"))?;
    let mutants = mutate(&tree)?;
    let list = sweep::equivalents(root)?;
    for entry in &list {
        ensure!(
            mutants.iter().any(|mutant| entry.is_about(mutant)),
            "{}: there is no such mutation",
            entry.place
        );
    }
    let is_chosen = |mutant: &&Mutant| {
        options.only.is_empty() || options.only.iter().any(|only| line(mutant).contains(only.as_str()))
    };
    let chosen: Vec<_> = mutants.iter().filter(is_chosen).collect();
    if options.list {
        chosen.iter().for_each(|mutant| println!("{}", line(mutant)));
        return Ok(());
    }
    let programs = STAGES.map(|(target, _, _)| {
        let target = if target == UNITS { UNITS } else { "suites" };
        let suite = Suite { package: "lockgate-verify".into(), target: target.into() };
        mutants::build(&tree.root, &scratch.join("target"), &suite, &["profile.dev.debug=0"])
    });
    let mut programs: Vec<Program> = programs.into_iter().collect::<Result<_>>()?;
    for (stage, (target, _, seconds)) in STAGES.iter().enumerate() {
        let (end, text) = run(&programs, stage, 0)?;
        ensure!(matches!(end, End::Passed(_)), "{target} is not green without a mutation:\n{text}");
        programs[stage] = programs[stage].clone().limited(*seconds);
    }
    let judge = |mutant: &Mutant| -> Result<Outcome> {
        if !options.all && list.iter().any(|entry| entry.is_about(mutant)) {
            return Ok(Outcome::Equivalent);
        }
        for stage in 0..STAGES.len() {
            match run(&programs, stage, mutant.number)?.0 {
                End::Passed(_) => {}
                end => return Ok(Outcome::Red(stage, end)),
            }
        }
        Ok(Outcome::Survived)
    };
    let outcomes = in_parallel(&chosen, options.jobs, judge)?;
    conclude(&outcomes, &list, options.json.as_deref())
}

fn line(mutant: &Mutant) -> String {
    format!("{}:{} {}: {}", mutant.file, mutant.line, mutant.function, mutant.change)
}

/// Puts all mutations into the copy of the crate.
fn mutate(tree: &Tree) -> Result<Vec<Mutant>> {
    let folder = Path::new(CRATE).join("src");
    let sources = std::fs::read_dir(tree.root.join(&folder))?.collect::<std::io::Result<Vec<_>>>()?;
    let mut names: Vec<_> =
        sources.iter().map(|source| source.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name.ends_with(".rs"));
    names.sort();
    let mut mutants = Vec::new();
    for name in names {
        let file = folder.join(&name);
        let mut text = sweep::mutate(&name, &std::fs::read_to_string(tree.root.join(&file))?, &mut mutants)?;
        if name == "lib.rs" {
            // What a mutation makes of constants is found out when it runs.
            text = format!("#![allow(warnings, arithmetic_overflow, unconditional_panic)]\n{text}{SWITCH}");
        }
        tree.write(&file, text.as_bytes())?;
    }
    Ok(mutants)
}

fn run(programs: &[Program], stage: usize, number: usize) -> Result<(End, String)> {
    let (suite, arguments, _) = STAGES[stage];
    let tests = format!("{suite}::");
    let filter = if suite == UNITS { &[][..] } else { &[tests.as_str()] };
    programs[stage].run_with(&[filter, arguments].concat(), &[(VARIABLE, &number.to_string())], WATCHDOG)
}

/// `judge` of all of them, by `jobs` threads, in order.
fn in_parallel<'m>(
    mutants: &[&'m Mutant],
    jobs: usize,
    judge: impl Fn(&Mutant) -> Result<Outcome> + Sync,
) -> Result<Vec<(&'m Mutant, Outcome)>> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::new());
    let work = || -> Result<()> {
        while let Some(&mutant) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = judge(mutant).with_context(|| line(mutant))?;
            if outcome == Outcome::Survived {
                println!("survived: {}", line(mutant));
            }
            outcomes.lock().expect("nobody panics with it").push((mutant, outcome));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it returns its errors"))
    })?;
    let mut outcomes = outcomes.into_inner().expect("all threads have ended");
    outcomes.sort_by_key(|(mutant, _)| mutant.number);
    Ok(outcomes)
}

fn conclude(outcomes: &[(&Mutant, Outcome)], list: &[Equivalent], file: Option<&Path>) -> Result<()> {
    let count =
        |what: &dyn Fn(Outcome) -> bool| outcomes.iter().filter(|(_, outcome)| what(*outcome)).count();
    let red = count(&|outcome| matches!(outcome, Outcome::Red(..)));
    let hung = count(&|outcome| matches!(outcome, Outcome::Red(_, End::Hung | End::Crashed(OUT_OF_TIME))));
    let equivalent = count(&|outcome| outcome == Outcome::Equivalent);
    let survived = count(&|outcome| outcome == Outcome::Survived);
    if let Some(file) = file {
        let describe = |(mutant, outcome): &(&Mutant, Outcome)| {
            let (result, by) = match outcome {
                Outcome::Red(stage, end) => (end.to_string(), Some(STAGES[*stage].0)),
                Outcome::Equivalent => ("equivalent".into(), None),
                Outcome::Survived => ("survived".into(), None),
            };
            let reason = list.iter().find(|entry| entry.is_about(mutant)).map(|entry| &entry.reason);
            json!({ "file": mutant.file, "line": mutant.line, "function": mutant.function, "change": mutant.change,
                    "result": result, "by": by, "because": reason })
        };
        let summary = json!({
            "schema": 1, "crate": CRATE, "run": red + survived, "red": red, "hung": hung, "equivalent": equivalent,
            "survived": survived, "mutants": outcomes.iter().map(describe).collect::<Vec<_>>(),
        });
        std::fs::write(file, serde_json::to_string_pretty(&summary)?)
            .with_context(|| file.display().to_string())?;
    }
    println!(
        "{red} of {} mutations are noticed ({hung} of them hung); {equivalent} change nothing ({LIST})",
        red + survived
    );
    ensure!(survived == 0, "{survived} mutations survived: a test is missing, or a reason in {LIST}");
    Ok(())
}
