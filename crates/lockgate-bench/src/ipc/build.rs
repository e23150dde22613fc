//! The peers' programs: compiled for each run from `bench/peers`, but for Wasmtime, which `make peers` builds.

use crate::Pinned;
use crate::command::done;
use lockgate_corpus::Corpus;
use lockgate_toolchain::Tools;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Peers of one C file each in `bench/peers`.
const SIMPLE: &[(&str, Variants)] = &[
    ("function", Variants::One),
    ("system_call", Variants::One),
    ("semaphore", Variants::BothCpus),
    ("polling", Variants::OtherCpu),
    ("pipe", Variants::BothCpus),
    ("unix_socket", Variants::BothCpus),
];
/// Where libtirpc's headers are.
const TIRPC: &str = "/usr/include/tirpc";

/// What a program can be measured as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variants {
    /// It has no server.
    One,
    /// A server on the client's CPU, and one on another.
    BothCpus,
    /// A server on another CPU: on the client's it would only be in the way.
    OtherCpu,
    /// Wasmtime's typed and untyped functions.
    Typing,
}

/// A peer's program.
#[derive(Debug)]
pub struct Program {
    name: &'static str,
    variants: Variants,
    /// The executable.
    pub path: PathBuf,
}

impl Program {
    /// Names of the sides that it makes, each with the program's argument for it.
    pub fn variants(&self, pinned: &Pinned) -> Vec<(String, String)> {
        let same = || (format!("{}_same_cpu", self.name), pinned.cpu().to_string());
        let other = pinned.other().map(|cpu| (format!("{}_other_cpu", self.name), cpu.to_string()));
        match self.variants {
            Variants::One => vec![(self.name.to_owned(), pinned.cpu().to_string())],
            Variants::BothCpus => [same()].into_iter().chain(other).collect(),
            Variants::OtherCpu => other.into_iter().collect(),
            Variants::Typing => {
                ["typed", "untyped"].map(|how| (format!("{}_{how}", self.name), how.to_owned())).into()
            }
        }
    }
}

/// A peer with the place of its server.
#[derive(Debug)]
pub struct Placed {
    /// The peer's name and the placement: `pipe_same_cpu`.
    pub name: String,
    /// The executable.
    pub program: PathBuf,
    /// Where the server runs.
    pub cpu: usize,
}

impl Program {
    /// Its servers by where they are.
    pub fn placed(&self, pinned: &Pinned) -> Vec<Placed> {
        let named = |placement: &str, cpu| Placed {
            name: format!("{}_{placement}", self.name),
            program: self.path.clone(),
            cpu,
        };
        let same = Some(named("same_cpu", pinned.cpu())).filter(|_| self.variants == Variants::BothCpus);
        let how = match self.variants {
            Variants::BothCpus => "other_cpu_sleeping",
            Variants::OtherCpu => "other_cpu_spinning",
            Variants::One | Variants::Typing => return Vec::new(),
        };
        same.into_iter().chain(pinned.other().map(|cpu| named(how, cpu))).collect()
    }
}

/// The programs that could be had, and what is missing for the others.
#[derive(Debug, Default)]
pub struct Programs {
    /// In the order of the report.
    pub programs: Vec<Program>,
    /// One line for each that is missing.
    pub notes: Vec<String>,
}

/// Of [`SIMPLE`], those that can also look for calls all the time (`polling` does nothing else).
const SPINNING: [&str; 2] = ["pipe", "unix_socket"];

/// Builds [`SPINNING`] into `folder`, to be placed on another CPU.
pub fn spinning(folder: &Path) -> anyhow::Result<Vec<Program>> {
    let compile = |name: &'static str| {
        let path = folder.join(name).with_extension("spins");
        simple(name, &["-DSPINS"], &path)?;
        Ok(Program { name, variants: Variants::OtherCpu, path })
    };
    SPINNING.into_iter().map(compile).collect()
}

/// Compiles a peer of one file.
fn simple(name: &str, flags: &[&str], path: &Path) -> anyhow::Result<()> {
    let source = Corpus::locate()?.root().join("bench/peers").join(name).with_extension("c");
    let mut compiler = Tools::find()?.compiler();
    done(compiler.args(["-O2", "-pthread", "-o"]).arg(path).args(flags).arg(source)).map(drop)
}

/// Builds all programs into `folder`.
pub fn all(folder: &Path) -> anyhow::Result<Programs> {
    let sources = Corpus::locate()?.root().join("bench/peers");
    let tools = Tools::find()?;
    let mut all = Programs::default();
    for (name, variants) in SIMPLE {
        let path = folder.join(name);
        simple(name, &[], &path)?;
        all.programs.push(Program { name, variants: *variants, path });
    }
    if Command::new("rpcgen").arg("--version").output().is_ok() && Path::new(TIRPC).exists() {
        let path = rpcgen(&tools, &sources.join("rpcgen"), folder)?;
        all.programs.push(Program { name: "rpcgen_unix", variants: Variants::BothCpus, path });
    } else {
        all.notes.push("not measured: rpcgen_unix (apt-get install rpcsvc-proto libtirpc-dev)".to_owned());
    }
    let path = sources.join("wasmtime/target/release/wasmtime-peer");
    if path.exists() {
        all.programs.push(Program { name: "wasmtime", variants: Variants::Typing, path });
    } else {
        all.notes.push("not measured: wasmtime (make peers)".to_owned());
    }
    Ok(all)
}

/// Has rpcgen make stubs, and compiles them with our client and server.
fn rpcgen(tools: &Tools, sources: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let generated = folder.join("generated");
    std::fs::create_dir(&generated)?;
    std::fs::copy(sources.join("total.x"), generated.join("total.x"))?;
    for (kind, output) in
        [("-h", "total.h"), ("-c", "total_xdr.c"), ("-l", "total_clnt.c"), ("-m", "total_svc.c")]
    {
        done(Command::new("rpcgen").current_dir(&generated).args([kind, "-o", output, "total.x"]))?;
    }
    let path = folder.join("rpcgen_unix");
    let mut compiler = tools.compiler();
    compiler
        .args(["-O2", "-w", "-I", TIRPC, "-I"])
        .arg(&generated)
        .arg("-o")
        .arg(&path)
        .arg(sources.join("peer.c"));
    compiler.args(["total_xdr.c", "total_clnt.c", "total_svc.c"].map(|file| generated.join(file)));
    done(compiler.arg("-ltirpc"))?;
    Ok(path)
}
