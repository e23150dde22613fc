//! `programs.process.<placement>`: a call of a function of another process ([`share`]), and `….ratio` how many times as long it takes as a round trip
//! by a futex in the same placement, round by round: two semaphores where both sides sleep, a word in shared memory where both look all the time.

use super::ratio;
use crate::command::done;
use crate::interleave::{Samples, Side, interleave};
use crate::ipc::{Peer, Placed, peers};
use crate::{Metric, Options, Pinned};
use anyhow::{Context as _, ensure};
use lockgate::{Allow, Domain, DomainOptions, Export, Module, Registry, Value, Version};
use lockgate_corpus::Corpus;
use lockgate_programs::share::{Offer, Query, Remote, serve};
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Samples of a full run.
const ROUNDS: usize = 200;
/// Calls in one sample, and before it.
const CALLS: u64 = 20;
const WARM: u64 = 4;

/// First argument of this program where it is the other process.
const SERVES: &str = "serve-a-function";

/// Placements, each with the peer that is a futex's round trip there.
const PLACEMENTS: [(&str, &str); 3] = [
    ("same_cpu", "semaphore_same_cpu"),
    ("other_cpu_sleeping", "semaphore_other_cpu_sleeping"),
    ("other_cpu_spinning", "polling_other_cpu_spinning"),
];

/// Measures each placement that the machine has. `lockgate` is the driver, and the benchmark's program lies beside it.
pub fn measure(
    options: &Options,
    lockgate: &Path,
    folder: &Path,
    pinned: &Pinned,
) -> anyhow::Result<Vec<Metric>> {
    let module = folder.join("own.lg");
    let source = Corpus::locate()?.root().join("bench/running.c");
    let mut cc = Command::new(lockgate);
    done(cc.args(["cc", "-O2", "-w", "-shared", "-o"]).arg(&module).arg(source))?;
    let built = folder.join("peers");
    std::fs::create_dir(&built)?;
    let (peers, _) = peers(&built, pinned)?;
    let mut sides = Vec::new();
    let mut servers = Vec::new();
    for (placement, peer) in PLACEMENTS {
        let Some(Placed { name, program, cpu }) = peers.iter().find(|placed| placed.name == peer) else {
            continue;
        };
        let sleeps = placement != "other_cpu_spinning";
        let socket = folder.join(placement);
        servers.push(pinned.on(*cpu, || Server::start(lockgate, &module, &socket, sleeps))?);
        let remote = if sleeps { Remote::connect_to_sleep(&socket) } else { Remote::connect(&socket) }?;
        let own = remote.bind(&Query::newest("own"), "long own(long)")?;
        sides.push(Side::timed(format!("programs.process.{placement}"), move || {
            let calls = |count| -> anyhow::Result<()> {
                for _ in 0..count {
                    own.call(&mut [Value::Signed(1).into()])?;
                }
                Ok(())
            };
            // (A side that has waited for its turn sleeps.)
            calls(WARM)?;
            let start = Instant::now();
            calls(CALLS)?;
            Ok(start.elapsed().as_nanos() as f64 / CALLS as f64)
        }));
        let mut peer = Peer::start(program, &cpu.to_string()).with_context(|| name.clone())?;
        sides.push(Side::timed(format!("programs.process.{placement}.futex"), move || {
            peer.call(1, WARM)?;
            Ok(peer.call(1, CALLS)?.as_nanos() as f64 / CALLS as f64)
        }));
    }
    let samples = interleave("processes", options, ROUNDS, sides)?;
    let of_both = |both: &[Samples]| {
        let name = format!("{}.ratio", both[0].name);
        [both[0].metric("ns"), both[1].metric("ns"), ratio(name, &both[0], &both[1])]
    };
    Ok(samples.chunks(2).flat_map(of_both).collect())
}

/// The other process.
struct Server(Child);

impl Server {
    fn start(lockgate: &Path, module: &Path, socket: &Path, sleeps: bool) -> anyhow::Result<Server> {
        let program = lockgate.with_file_name("lockgate-bench");
        let mut command = Command::new(&program);
        command.arg(SERVES).args([module, socket]).arg(if sleeps { "sleeps" } else { "tries" });
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut server = Server(child.with_context(|| format!("cannot start {}", program.display()))?);
        let output = server.0.stdout.take().context("it has an output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        ensure!(line == "ready\n", "the other process does not serve");
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Serves until the standard input ends, if this program is the other process.
pub fn serve_if_asked() -> Option<anyhow::Result<()>> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match &*arguments {
        [serves, module, socket, how] if serves == SERVES => {
            Some(serve_one(&PathBuf::from(module), &PathBuf::from(socket), how == "sleeps"))
        }
        _ => None,
    }
}

fn serve_one(module: &Path, socket: &Path, sleeps: bool) -> anyhow::Result<()> {
    let domain = Domain::new(&Module::open(module)?, DomainOptions::new())?;
    let registry = Registry::new();
    let user = rustix::process::geteuid().as_raw();
    let export = Export::new("own", Version::new(1, 0)).of("long own(long)");
    registry.export(&domain, export.allow(Allow::User(user)))?;
    let offer = Offer::new().name("own");
    let _served = serve(&registry, socket, if sleeps { offer.sleep_at_once() } else { offer })?;
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
