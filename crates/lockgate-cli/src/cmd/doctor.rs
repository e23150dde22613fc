//! `lockgate doctor`: what this machine supports, and what to do about the rest.

use super::output::{self, Paint};
use lockgate_toolchain::Tools;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use serde::Serialize;
use std::fmt::Write as _;
use std::process::{Command, ExitCode};

/// Arguments of `lockgate doctor`.
#[derive(clap::Args)]
#[command(after_help = "\
Exit status: 0 domains can run and modules can be built; 1 something needed is missing.

Examples:
  lockgate doctor
  lockgate doctor --json | jq '.findings[] | select(.state == \"missing\")'")]
pub struct Args {
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

/// How it stands with one thing.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// There.
    Yes,
    /// Not there, and not needed.
    No,
    /// Needed, and not there.
    Missing,
}

/// One thing looked at.
#[derive(Serialize)]
struct Finding {
    group: &'static str,
    name: &'static str,
    state: State,
    /// What was found.
    value: String,
    /// What it is for, or what to do about it.
    note: String,
}

/// Everything, as JSON shows it.
#[derive(Serialize)]
struct Findings {
    schema: u32,
    findings: Vec<Finding>,
}

pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    let findings: Vec<Finding> =
        [processor(), kernel(), toolchain(), mechanisms()].into_iter().flatten().collect();
    let healthy = findings.iter().all(|finding| finding.state != State::Missing);
    if args.json {
        output::print_json(&Findings { schema: 1, findings })?;
    } else {
        output::print(&table(&findings))?;
    }
    Ok(if healthy { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn table(findings: &[Finding]) -> String {
    let paint = Paint::stdout();
    let width = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut group = "";
    for finding in findings {
        if finding.group != group {
            group = finding.group;
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", paint.strong(group));
        }
        let mark = match finding.state {
            State::Yes => paint.good("yes    "),
            State::No => paint.faint("no     "),
            State::Missing => paint.bad("MISSING"),
        };
        let note = if finding.note.is_empty() { String::new() } else { format!("  ({})", finding.note) };
        let _ = writeln!(text, "  {:width$}  {mark}  {}{}", finding.name, finding.value, paint.faint(note));
    }
    text
}

/// A finding; `absent` is what it means if the thing is not there.
fn finding(
    absent: State,
    group: &'static str,
    name: &'static str,
    there: bool,
    value: impl Into<String>,
    note: &str,
) -> Finding {
    let state = if there { State::Yes } else { absent };
    Finding { group, name, state, value: value.into(), note: note.to_owned() }
}

fn processor() -> Vec<Finding> {
    const GROUP: &str = "processor";
    /// AT_HWCAP2 on x86-64: the kernel lets programs use rdgsbase and wrgsbase.
    const HWCAP2_FSGSBASE: usize = 2;
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
        line.and_then(|line| line.split_once(':')).map_or("", |(_, value)| value.trim())
    };
    let has = |flag: &str| field("flags").split(' ').any(|found| found == flag);
    let fsgsbase = rustix::param::linux_hwcap().1 & HWCAP2_FSGSBASE != 0;
    let widest = if has("avx512f") {
        "AVX-512"
    } else if has("avx2") {
        "AVX2"
    } else {
        "SSE2"
    };
    vec![
        finding(State::Missing, GROUP, "x86-64", cfg!(target_arch = "x86_64"), field("model name"), ""),
        finding(State::Missing, GROUP, "fsgsbase", fsgsbase, "", "windows are addressed through gs"),
        finding(State::Missing, GROUP, "avx", has("avx"), "", "gates keep and clear vector registers"),
        finding(State::No, GROUP, "vectors", has("avx2"), widest, "modules may use what the processor has"),
        finding(State::No, GROUP, "PKU", has("ospke"), "", "for the mechanism mpk"),
        finding(
            State::No,
            GROUP,
            "5-level paging",
            has("la57"),
            "",
            "domains use the lower 47 bits either way",
        ),
    ]
}

fn kernel() -> Vec<Finding> {
    const GROUP: &str = "kernel";
    /// The oldest that the tests of the reservation ran on (tests/guest); older ones are not promised.
    const OLDEST: (u32, u32) = (6, 1);
    /// mseal came with Linux 6.10.
    const MSEAL: (u32, u32) = (6, 10);
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let beneath = rustix::fs::openat2(
        CWD,
        ".",
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS,
    );
    let number = |path: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.trim().parse::<u64>().ok()
    };
    let maps = number("/proc/sys/vm/max_map_count");
    let maps_text = maps.map_or("unknown".to_owned(), |count| count.to_string());
    let lowest = number("/proc/sys/vm/mmap_min_addr").unwrap_or(0);
    vec![
        finding(
            State::Missing,
            GROUP,
            "Linux",
            version >= OLDEST,
            &*release,
            "6.1 or later; older kernels have not been tested",
        ),
        finding(
            State::No,
            GROUP,
            "openat2",
            beneath.is_ok(),
            "",
            "granted directories (--dir) need it; a sandbox may take it away",
        ),
        finding(
            State::No,
            GROUP,
            "mseal",
            version >= MSEAL,
            "",
            "seals verified code against the host's own mistakes; Linux 6.10 or later",
        ),
        finding(
            State::Missing,
            GROUP,
            "vm.mmap_min_addr",
            lowest > 0,
            lowest.to_string(),
            "page 0 must stay unmapped; sysctl vm.mmap_min_addr=65536",
        ),
        finding(
            State::No,
            GROUP,
            "vm.max_map_count",
            maps.is_some(),
            maps_text,
            "limits the number of domains; sysctl vm.max_map_count",
        ),
    ]
}

fn toolchain() -> Vec<Finding> {
    const GROUP: &str = "building modules";
    const INSTALL: &str =
        "apt-get install gcc binutils musl-dev; dnf install gcc binutils musl-devel musl-libc-static";
    let version = |program: &str| {
        let output =
            Command::new(program).arg("--version").output().ok().filter(|output| output.status.success());
        output.and_then(|output| String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned))
    };
    let tool = |name: &'static str, program: &str| {
        let found = version(program);
        let note = if found.is_some() { "" } else { INSTALL };
        finding(State::Missing, GROUP, name, found.is_some(), found.unwrap_or_default(), note)
    };
    let tools = match Tools::find() {
        Ok(_) => finding(State::Missing, GROUP, "musl", true, "headers and libc.a", ""),
        Err(error) => finding(State::Missing, GROUP, "musl", false, error.to_string(), ""),
    };
    let gcc = std::env::var("LOCKGATE_GCC").unwrap_or_else(|_| "gcc".to_owned());
    vec![tool("gcc", &gcc), tool("ld", "ld"), tools]
}

fn mechanisms() -> Vec<Finding> {
    const GROUP: &str = "mechanisms";
    let mut found =
        vec![finding(State::No, GROUP, "sfi", true, "rewritten and verified code", "the default")];
    for name in ["anon", "mpk", "process", "none"] {
        found.push(finding(State::No, GROUP, name, false, "not in this release", ""));
    }
    found
}
