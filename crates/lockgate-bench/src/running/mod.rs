//! `programs.*`: what programs cost that run as domains of one process (docs/programs.md), each figure with its placement in its name.
//!
//! `programs.call.host.<policy>` is one call of a program that sleeps in `main`, by the host, and `programs.call.program.<policy>` by another
//! program, which both take a turn there. `programs.peer.<peer>_<placement>` is one call of another process with one byte:
//! `same_cpu`, on the caller's CPU; `other_cpu_sleeping`, where the server sleeps until it is called; `other_cpu_spinning`, where it looks for
//! calls all the time (for `polling` in shared memory: dIPC's user-level RPC to another CPU). `programs.restart` is a program of a megabyte that is
//! asked to end, ends, is made again, and is ready. `processes`, `system_calls` and `redis` say what theirs are.

mod processes;
mod redis;
mod system_calls;

pub use processes::serve_if_asked;

use crate::command::done;
use crate::interleave::{Samples, Side, interleave};
use crate::ipc::{Peer, Placed, peers};
use crate::preset::{PRESETS, Preset, STRICTEST};
use crate::{Metric, Options, Pinned, Report};
use anyhow::Context as _;
use lockgate::{DomainOptions, Function, Registry};
use lockgate::{Module, Principal, Rebind, Request, syscall::Grants};
use lockgate_corpus::Corpus;
use lockgate_programs::{Exported, Imported, Programs, Quiet, Spec};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// What is measured apart.
const PARTS: [&str; 4] = [CALLS_AND_RESTARTS, SYSTEM_CALLS, PROCESSES, "programs.redis"];
const CALLS_AND_RESTARTS: &str = "programs.call";
const SYSTEM_CALLS: &str = "programs.system_call";
const PROCESSES: &str = "programs.process";
/// Samples of a full run.
const ROUNDS: usize = 200;
/// Calls in one sample of a domain, and of another process.
const CALLS: u32 = 2000;
const ROUND_TRIPS: u64 = 20;
/// Restarts of a full run.
const RESTARTS: usize = 50;
/// How long programs have to begin.
const TIMEOUT: Duration = Duration::from_secs(60);

type Number = extern "C" fn(i64) -> i64;

/// Measures all; the report's notes say what is not here, and how to get it. `lockgate` is the driver.
pub fn measure(options: &Options, lockgate: &Path) -> anyhow::Result<Report> {
    let folder = tempfile::tempdir()?;
    let pinned = Pinned::here()?;
    let (mut metrics, mut notes) = (Vec::new(), Vec::new());
    for part in options.chosen(&PARTS, |part| part)? {
        match *part {
            CALLS_AND_RESTARTS => {
                let (measured, missing) = calls(options, lockgate, folder.path(), &pinned)?;
                metrics.extend(measured);
                notes.extend(missing);
            }
            SYSTEM_CALLS => metrics.extend(system_calls::measure(options, folder.path())?),
            PROCESSES => metrics.extend(processes::measure(options, lockgate, folder.path(), &pinned)?),
            _ => match redis::measure(options, folder.path(), &pinned)? {
                Some(redis) => metrics.extend(redis),
                None => notes.push("not measured: programs.redis (make redis)".to_owned()),
            },
        }
    }
    let mut report = Report::new(metrics);
    report.notes = notes;
    Ok(report)
}

/// Programs that are called, their restart, and the peers.
fn calls(
    options: &Options,
    lockgate: &Path,
    folder: &Path,
    pinned: &Pinned,
) -> anyhow::Result<(Vec<Metric>, Vec<String>)> {
    let built = |name: &str, flags: &[&str]| module(lockgate, &folder.join(name), flags);
    let server = built("server.lg", &["--export", "long own(long)", "--export", "long additions(long)"])?;
    let client =
        built("client.lg", &["-DCLIENT", "--export", "long call_many(long)", "--gate", "long theirs(long)"])?;
    let spec = |name: &str, module| Spec::new(name, module, DomainOptions::new(), Grants::default());
    let mut programs = Programs::new();
    programs.add(spec("server", &server).export(Exported::new("own")))?;
    for preset in [PRESETS[0], STRICTEST] {
        let import = Imported::new("theirs", "server", "own").policy(preset.policy);
        let client = spec(preset.name, &client).depends_on(["server"]).import(import);
        programs.add(client.export(Exported::new("call_many")))?;
    }
    programs.add(spec("restarted", &server))?;
    let (handle, registry) = (programs.handle(), programs.registry());
    std::thread::scope(|scope| {
        let runs = scope.spawn(|| programs.run(&Quiet));
        let measured = while_they_run(options, folder, pinned, &registry).and_then(|(mut metrics, notes)| {
            let restart = || -> anyhow::Result<f64> {
                let start = Instant::now();
                handle.restart(vec!["restarted".to_owned()]).map_err(anyhow::Error::msg)?;
                Ok(start.elapsed().as_secs_f64() * 1e3)
            };
            let restarts =
                interleave("restart", options, RESTARTS, vec![Side::timed("programs.restart", restart)])?;
            metrics.extend(restarts.iter().map(|samples| samples.metric("ms")));
            Ok((metrics, notes))
        });
        handle.close();
        let ends = runs.join().expect("programs do not panic")?;
        anyhow::ensure!(measured.is_err() || ends.exit_status() == 0, "a program failed: {ends:?}");
        measured
    })
}

/// Compiles `bench/running.c`.
fn module(lockgate: &Path, output: &Path, flags: &[&str]) -> anyhow::Result<std::sync::Arc<Module>> {
    let source = Corpus::locate()?.root().join("bench/running.c");
    done(Command::new(lockgate).args(["cc", "-O2", "-w", "-o"]).arg(output).arg(source).args(flags))?;
    Ok(Module::open(output)?)
}

fn while_they_run(
    options: &Options,
    folder: &Path,
    pinned: &Pinned,
    registry: &Registry,
) -> anyhow::Result<(Vec<Metric>, Vec<String>)> {
    let bind = |name: String, policy| -> anyhow::Result<Function<Number>> {
        let request = Request::newest(name).rebind(Rebind::Yes).wait(TIMEOUT).policy(policy);
        let function = registry.bind::<Number>(&Principal::process(), &request)?;
        let until = Instant::now() + TIMEOUT;
        while let Err(error) = function.call(0) {
            anyhow::ensure!(Instant::now() < until, "{error}");
            std::thread::yield_now();
        }
        Ok(function)
    };
    let mut sides = Vec::new();
    for Preset { name, policy } in [PRESETS[0], STRICTEST] {
        let own = bind("server.own".to_owned(), policy)?;
        sides.push(Side::calls(format!("programs.call.host.{name}"), CALLS, move || own.call(1).is_ok()));
        let many = bind(format!("{name}.call_many"), policy)?;
        let sample = move || {
            let (start, count) = (Instant::now(), i64::from(CALLS));
            anyhow::ensure!(many.call(count)? == count * (count - 1) / 2, "a call between programs failed");
            Ok(start.elapsed().as_nanos() as f64 / f64::from(CALLS))
        };
        sides.push(Side::timed(format!("programs.call.program.{name}"), sample));
    }
    let (peers, notes) = peers(folder, pinned)?;
    for Placed { name, program, cpu } in peers {
        let mut peer = Peer::start(&program, &cpu.to_string()).with_context(|| name.clone())?;
        sides.push(Side::timed(format!("programs.peer.{name}"), move || {
            Ok(peer.call(1, ROUND_TRIPS)?.as_nanos() as f64 / ROUND_TRIPS as f64)
        }));
    }
    let samples = interleave("programs", options, ROUNDS, sides)?;
    Ok((samples.iter().map(|samples| samples.metric("ns")).collect(), notes))
}

/// How many times as long as a sample of `ours` one of `theirs` takes, round by round.
fn ratio(name: String, theirs: &Samples, ours: &Samples) -> Metric {
    let rounds = theirs.values.iter().zip(&ours.values).map(|(theirs, ours)| theirs / ours).collect();
    Metric::new(name, "ratio", rounds)
}

/// A file below the repository's `build`, if it was built.
fn left(path: &str) -> anyhow::Result<Option<PathBuf>> {
    Ok(Some(Corpus::locate()?.root().join("build").join(path)).filter(|path| path.exists()))
}
