//! `make check` and `make test`: builds the test programs of a lane and runs them, one more at a time than there are processors, each in a
//! process of its own under `scripts/watchdog.sh`, the first ones while others are still being built. README.md says why cargo does not run
//! them.
#![forbid(unsafe_code)]

mod list;
mod program;
mod queue;
mod target;

use anyhow::{Context, Result, bail, ensure};
use list::Slow;
use program::{Ended, Program, Wanted};
use queue::Queue;
use std::fmt::Write as _;
use std::iter;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

const USAGE: &str = "lanes check [TARGET...] | all [TARGET...] | of CRATE [SUITE...] | list: the quick tests, or all tests, and beside them targets of the \
                     Makefile, one after the other; the tests of a crate, or some of them; the names of all tests";

fn main() -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("the repository's root")?;
    let slow = list::slow(root)?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (wanted, targets) = match arguments[..] {
        ["check", ref targets @ ..] => (Wanted::Without(&slow), targets),
        ["list"] => (Wanted::All, &[][..]),
        ["all", ref targets @ ..] => (Wanted::All, targets),
        ["of", package, ref names @ ..] => (Wanted::Of(package, names), &[][..]),
        _ => bail!("{USAGE}"),
    };
    if arguments == ["list"] {
        let mut programs = Vec::new();
        program::build(root, wanted, |program| programs.push(program))?;
        programs.sort_by_key(|program| program.target.to_string());
        for program in &programs {
            for test in program.tests()? {
                println!("{} {test}", program.target);
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    let ended = run(root, wanted, targets, &slow)?;
    ensure!(ended.iter().any(|ended| ended.expected.is_some()), "there are no such test programs");
    Ok(if conclude(&ended)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What one of the threads takes at a time.
enum Work<'a> {
    Program(Program),
    /// Targets of the Makefile. They build with cargo, which has one do so at a time: two of them would wait for each other.
    Targets(&'a [&'a str]),
}

impl Work<'_> {
    /// One line for each that has ended: what several threads print does not mix.
    fn run(&self, root: &Path, ended: &Mutex<Vec<Ended>>) -> Result<()> {
        let timed = |run: &dyn Fn() -> Result<Ended>| -> Result<()> {
            let begun = Instant::now();
            let came = run()?;
            let (took, worked) = (begun.elapsed().as_secs_f64(), came.worked.as_secs_f64());
            println!("{took:>7.1} s ({worked:>6.1} s of processors)  {}: {came}", came.name);
            ended.lock().expect("nobody panics with it").push(came);
            Ok(())
        };
        match self {
            Work::Program(program) => timed(&|| program.run(root)),
            Work::Targets(targets) => {
                targets.iter().try_for_each(|target| timed(&|| program::make(root, target)))
            }
        }
    }
}

/// Builds and runs the programs, and the targets beside them. Those that take longest begin first, so that none is left over at the end; those
/// that measure run alone.
fn run(root: &Path, wanted: Wanted<'_>, targets: &[&str], slow: &[Slow]) -> Result<Vec<Ended>> {
    let (queue, ended, mut alone) = (Queue::default(), Mutex::new(Vec::new()), Vec::new());
    let found = |program: Program| {
        let entry = slow.iter().find(|slow| slow.is_about(&program.target));
        if entry.is_some_and(|entry| entry.alone) {
            alone.push(Work::Program(program));
        } else {
            let seconds = entry.map_or_else(|| program.took_last(root), |entry| entry.seconds);
            queue.add(seconds, Work::Program(program));
        }
    };
    thread::scope(|scope| -> Result<()> {
        let work =
            |worker: usize| iter::from_fn(|| queue.next(worker)).try_for_each(|work| work.run(root, &ended));
        // One more than there are processors: a tenth of the time that programs take is waiting.
        let jobs = thread::available_parallelism().map_or(1, usize::from) + 1;
        let workers: Vec<_> = (0..jobs).map(|worker| scope.spawn(move || work(worker))).collect();
        let built = program::build(root, wanted, found);
        match built {
            Ok(()) => queue.complete((u32::MAX, Work::Targets(targets))),
            Err(_) => queue.give_up(),
        }
        workers.into_iter().try_for_each(|worker| worker.join().expect("it returns its errors"))?;
        built
    })?;
    alone.iter().try_for_each(|work| work.run(root, &ended))?;
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
