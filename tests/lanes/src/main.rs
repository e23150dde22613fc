//! `make check` and `make test`: builds the test programs of a lane and runs them, as many at a time as there are processors, each in a
//! process of its own under `scripts/watchdog.sh`. README.md says why cargo does not run them.
#![forbid(unsafe_code)]

mod list;
mod program;

use anyhow::{Context, Result, bail, ensure};
use list::Slow;
use program::{Ended, Program};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

const USAGE: &str = "lanes check | all | list: the quick tests, all tests, the names of all tests";

fn main() -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("the repository's root")?;
    let slow = list::slow(root)?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [lane] = arguments[..] else { bail!("{USAGE}") };
    let left_out = match lane {
        "check" => &slow[..],
        "all" | "list" => &[],
        _ => bail!("{USAGE}"),
    };
    let programs = program::build(root, left_out)?;
    ensure!(!programs.is_empty(), "there are no test programs");
    if lane == "list" {
        for program in &programs {
            for test in program.tests()? {
                println!("{} {test}", program.target);
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let ended = run(root, programs, &slow)?;
    Ok(if conclude(&ended)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the programs. Those that take longest begin first, so that none is left over at the end; those that measure run alone.
fn run(root: &Path, mut programs: Vec<Program>, slow: &[Slow]) -> Result<Vec<Ended>> {
    let entry = |program: &Program| slow.iter().find(|slow| slow.is_about(&program.target));
    programs.sort_by_key(|program| std::cmp::Reverse(entry(program).map_or(0, |slow| slow.seconds)));
    let (alone, together): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|program| entry(program).is_some_and(|slow| slow.alone));
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    let mut ended = in_parallel(root, together, jobs)?;
    ended.extend(in_parallel(root, alone, 1)?);
    Ok(ended)
}

fn in_parallel(root: &Path, programs: Vec<Program>, jobs: usize) -> Result<Vec<Ended>> {
    let waiting = Mutex::new(VecDeque::from(programs));
    let ended = Mutex::new(Vec::new());
    let next = || waiting.lock().expect("nobody panics with it").pop_front();
    let work = || -> Result<()> {
        while let Some(program) = next() {
            let begun = Instant::now();
            let came = program.run(root)?;
            // One line each: what several threads print does not mix.
            println!("{:>7.1} s  {}: {came}", begun.elapsed().as_secs_f64(), came.name);
            ended.lock().expect("nobody panics with it").push(came);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("it returns its errors"))
    })?;
    Ok(ended.into_inner().expect("all threads have ended"))
}

/// Shows what failed programs have said, and the sum. True if all is well.
fn conclude(ended: &[Ended]) -> Result<bool> {
    let mut failed = String::new();
    for ended in ended.iter().filter(|ended| !ended.is_fine()) {
        let said = std::fs::read(&ended.log).with_context(|| ended.log.display().to_string())?;
        eprintln!("\n==== {} ({})\n{}", ended.name, ended.log.display(), String::from_utf8_lossy(&said));
        write!(failed, "\n  {}: {ended}", ended.name)?;
    }
    let sum = |what: fn(&Ended) -> usize| ended.iter().map(what).sum::<usize>();
    println!("{} tests of {} programs passed", sum(|ended| ended.passed), ended.len());
    if failed.is_empty() {
        return Ok(true);
    }
    eprintln!("not all is well:{failed}");
    Ok(false)
}
