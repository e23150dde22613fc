//! `make check` and `make test`: builds the test programs of a lane and runs them, as many at a time as there are processors, each in a
//! process of its own under `scripts/watchdog.sh`. README.md says why cargo does not run them.
#![forbid(unsafe_code)]

mod list;
mod program;

use anyhow::{Context, Result, bail, ensure};
use list::Slow;
use program::{Ended, Program, Wanted};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::iter;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

const USAGE: &str = "lanes check | all [TARGET...] | of CRATE [SUITE...] | list: the quick tests; all tests, and beside them targets of the \
                     Makefile, one after the other; the tests of a crate, or some of them; the names of all tests";

fn main() -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("the repository's root")?;
    let slow = list::slow(root)?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (wanted, targets) = match arguments[..] {
        ["check"] => (Wanted::Without(&slow), &[][..]),
        ["list"] => (Wanted::All, &[][..]),
        ["all", ref targets @ ..] => (Wanted::All, targets),
        ["of", package, ref names @ ..] => (Wanted::Of(package, names), &[][..]),
        _ => bail!("{USAGE}"),
    };
    let programs = program::build(root, wanted)?;
    ensure!(!programs.is_empty(), "there are no such test programs");
    if arguments == ["list"] {
        for program in &programs {
            for test in program.tests()? {
                println!("{} {test}", program.target);
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let ended = run(root, programs, targets, &slow)?;
    Ok(if conclude(&ended)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What one of the threads takes at a time.
enum Work<'a> {
    Program(Program),
    /// Targets of the Makefile. They build with cargo, which has one do so at a time: two of them would wait for each other.
    Targets(&'a [&'a str]),
}

impl Work<'_> {
    fn run(&self, root: &Path, on_end: impl Fn(Duration, Ended)) -> Result<()> {
        let timed = |run: &dyn Fn() -> Result<Ended>| {
            let begun = Instant::now();
            run().map(|ended| on_end(begun.elapsed(), ended))
        };
        match self {
            Work::Program(program) => timed(&|| program.run(root)),
            Work::Targets(targets) => {
                targets.iter().try_for_each(|target| timed(&|| program::make(root, target)))
            }
        }
    }
}

/// Runs the programs, and the targets beside them. Those that take longest begin first, so that none is left over at the end; those that
/// measure run alone.
fn run(root: &Path, mut programs: Vec<Program>, targets: &[&str], slow: &[Slow]) -> Result<Vec<Ended>> {
    let entry = |program: &Program| slow.iter().find(|slow| slow.is_about(&program.target));
    programs.sort_by_key(|program| std::cmp::Reverse(entry(program).map_or(0, |slow| slow.seconds)));
    let (alone, together): (Vec<_>, Vec<_>) =
        programs.into_iter().partition(|program| entry(program).is_some_and(|slow| slow.alone));
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    let together = iter::once(Work::Targets(targets)).chain(together.into_iter().map(Work::Program));
    let mut ended = in_parallel(root, together.collect(), jobs)?;
    ended.extend(in_parallel(root, alone.into_iter().map(Work::Program).collect(), 1)?);
    Ok(ended)
}

fn in_parallel(root: &Path, work: VecDeque<Work<'_>>, jobs: usize) -> Result<Vec<Ended>> {
    let waiting = Mutex::new(work);
    let ended = Mutex::new(Vec::new());
    let next = || waiting.lock().expect("nobody panics with it").pop_front();
    let work = || -> Result<()> {
        while let Some(work) = next() {
            work.run(root, |took, came| {
                // One line each: what several threads print does not mix.
                let (took, worked) = (took.as_secs_f64(), came.worked.as_secs_f64());
                println!("{took:>7.1} s ({worked:>6.1} s of processors)  {}: {came}", came.name);
                ended.lock().expect("nobody panics with it").push(came);
            })?;
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
    let programs = ended.iter().filter(|ended| ended.expected.is_some()).count();
    println!("{} tests of {programs} programs passed", sum(|ended| ended.passed));
    if failed.is_empty() {
        return Ok(true);
    }
    eprintln!("not all is well:{failed}");
    Ok(false)
}
