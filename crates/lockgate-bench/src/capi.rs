//! `capi.*`: calls into a domain from a host in C, beside the same from Rust; blocks of arenas (`capi.arena`), and memory lent for a call
//! (`capi.lend`).
//!
//! The host is a process of its own, compiled by gcc and linked with the shared library as programs of others are. It takes its
//! turns on the same CPU as the sides in this process, and times itself. Where a process happens to have its stacks and code can make
//! calls slower, in any language: so there are several hosts, which take turns.

use crate::command::done;
use crate::installed::library;
use crate::interleave::{Side, interleave};
use crate::preset::PRESETS;
use crate::{Metric, Options, Pinned, objects};
use anyhow::Context as _;
use lockgate::{Domain, DomainOptions, Module};
use lockgate_c as _; // so that the library is built before it is measured
use lockgate_corpus::Corpus;
use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Samples of a full run.
const ROUNDS: usize = 500;
/// Calls in one sample: enough that the change of processes vanishes among them.
const CALLS: u32 = 20_000;
/// Loans in one sample.
const LOANS: u32 = 50;

/// Hosts.
const HOSTS: usize = 8;

type Number = extern "C" fn(i64) -> i64;

/// Measures calls from a host in C.
pub fn measure(options: &Options) -> anyhow::Result<Vec<Metric>> {
    let folder = tempfile::tempdir()?;
    let corpus = Corpus::locate()?;
    let sources = corpus.root().join("bench");
    let exports = ["long null_call(long x)"];
    let module = objects::module(&sources.join("calls.c"), "plain", &[], &exports, folder.path())?;
    let library = library(corpus.root(), folder.path())?;
    let binary = host(&sources.join("capi_host.c"), &library, folder.path())?;

    let domain = Domain::new(&Module::open(&module)?, DomainOptions::new())?;
    let integrity = PRESETS.iter().find(|preset| preset.name == "integrity").context("a preset")?;
    let null = integrity.bind::<Number>(&domain, "null_call")?;
    let _pinned = Pinned::here()?;
    let start = |what: &'static str, calls| Host::start(&binary, &module, what, calls);
    let mut hosts = (0..HOSTS).map(|_| start("call", CALLS)).collect::<anyhow::Result<Vec<_>>>()?;
    let (mut arena, mut lend) = (start("arena", CALLS)?, start("lend", LOANS)?);
    let sides = vec![
        Side::calls("calls.host_to_domain.integrity", CALLS, || {
            null.call(1).is_ok_and(|x| black_box(x) == 1)
        }),
        Side::timed("capi.call", || {
            hosts.rotate_left(1);
            hosts[0].sample()
        }),
        Side::timed("capi.arena", || arena.sample()),
        Side::timed("capi.lend", || lend.sample()),
    ];
    let samples = interleave("capi", options, ROUNDS, sides)?;
    let [rust, c, arena, lend] = samples.as_slice() else { anyhow::bail!("each side has a result") };
    let rust = rust.metric("ns");
    Ok(vec![c.metric("ns").against(&rust), rust, arena.metric("ns"), lend.metric("ns")])
}

/// Compiles the host.
fn host(source: &Path, library: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let binary = folder.join("capi-host");
    let (include, lib) = (library.join("include"), library.join("lib"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-o"]).arg(&binary).arg(source).arg("-I").arg(include).arg("-L").arg(&lib);
    gcc.arg("-llockgate").arg(format!("-Wl,-rpath,{}", lib.display()));
    done(&mut gcc)?;
    Ok(binary)
}

/// The host, waiting for its next turn.
struct Host {
    child: Child,
    ask: Option<ChildStdin>,
    answer: BufReader<ChildStdout>,
}

impl Host {
    fn start(binary: &Path, module: &Path, what: &str, calls: u32) -> anyhow::Result<Self> {
        let mut command = Command::new(binary);
        command.arg(module).arg(calls.to_string()).arg(what).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the host")?;
        let ask = child.stdin.take();
        let answer = BufReader::new(child.stdout.take().context("the host has an output")?);
        Ok(Self { child, ask, answer })
    }

    fn sample(&mut self) -> anyhow::Result<f64> {
        self.ask.as_mut().context("the host has an input")?.write_all(b"\n")?;
        let mut line = String::new();
        self.answer.read_line(&mut line)?;
        line.trim().parse().with_context(|| format!("the host in C failed: {line:?}"))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.ask.take()); // the end of its input is the end of the host
        // It has no more to say, and nothing depends on how it ended.
        let _ = self.child.wait();
    }
}
