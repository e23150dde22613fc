//! `lockgate ps`: what running processes export, and who calls it; programs of `lockgate up`.

use super::output::{self, Paint};
use lockgate::registry::{ObserveError, ObservedBinding, ObservedExport, observe};
use lockgate_outside::printable;
use lockgate_programs::control::{self, Answer, Program};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::process::ExitCode;
use std::time::Duration;

/// Arguments of `lockgate ps`.
#[derive(clap::Args)]
#[command(after_help = "\
Programs of `lockgate up` are shown with what they do: waiting (for others), starting, running, restarting, stopping, stopped, exited, failed.

Calls are counted where a policy asks for it (Policy::counted, Policy::timed); else there is a dash.

Exit status: 0.

Examples:
  lockgate ps
  lockgate ps 4711 --json | jq '.processes[].exports[].name'
  lockgate ps --json | jq '.up[].programs[] | select(.state == \"failed\") | .name'")]
pub struct Args {
    /// Process to look at; without it, every process that you may look at and that exports something or runs programs of lockgate up
    pid: Option<u32>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// Everything, as JSON shows it.
#[derive(Serialize)]
struct Report {
    schema: u32,
    processes: Vec<Process>,
    /// Files of `lockgate up`.
    up: Vec<Up>,
}

/// Programs of a file.
#[derive(Serialize)]
struct Up {
    pid: i32,
    file: String,
    programs: Vec<Program>,
}

#[derive(Serialize)]
struct Process {
    pid: u32,
    exports: Vec<Export>,
}

#[derive(Serialize)]
struct Export {
    name: String,
    version: String,
    server: String,
    signature: String,
    policy: String,
    allowed: String,
    bindings: Vec<Binding>,
}

#[derive(Serialize)]
struct Binding {
    client: String,
    policy: String,
    /// Missing if they are not counted.
    calls: Option<u64>,
    /// Missing if they are not timed.
    mean_ns: Option<u64>,
}

pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    let processes = match args.pid {
        Some(pid) => match observe(pid) {
            Err(_) if !programs(Some(pid), TIMEOUT).is_empty() => Vec::new(),
            seen => vec![process(pid, seen?)],
        },
        None => all()?,
    };
    let up = programs(args.pid, TIMEOUT);
    if args.json {
        output::print_json(&Report { schema: 1, processes, up })?;
    } else {
        output::print(&(text(&processes, Paint::stdout()) + &text_of_programs(&up, Paint::stdout())))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// How long a process that runs programs may take to answer.
const TIMEOUT: Duration = Duration::from_secs(2);

fn programs(pid: Option<u32>, timeout: Duration) -> Vec<Up> {
    let wanted = |answer: &Answer| pid.is_none_or(|pid| i64::from(pid) == i64::from(answer.pid));
    let up = |Answer { pid, file, programs, .. }| Up { pid, file, programs };
    let (answers, silent): (Vec<_>, Vec<_>) = control::all(timeout).into_iter().partition(Result::is_ok);
    for error in silent.into_iter().filter_map(Result::err) {
        output::tell(format_args!("lockgate: {error}"));
    }
    answers.into_iter().flatten().filter(wanted).map(up).collect()
}

fn text_of_programs(up: &[Up], paint: Paint) -> String {
    let mut text = String::new();
    for Up { pid, file, programs } in up {
        let _ = writeln!(text, "{}", paint.strong(format!("process {pid}: {}", printable(file))));
        let width = programs.iter().map(|program| program.name.len()).max().unwrap_or(0);
        for program in programs {
            let Program { name, state, restarts, end, .. } = program;
            let (restarts, end) = (output::restarts(*restarts), output::last_run(end.as_deref()));
            let state = match state.as_str() {
                "failed" => paint.bad(state),
                "running" => paint.good(state),
                _ => state.clone(),
            };
            let _ =
                writeln!(text, "  {} {state}{restarts}{end}", paint.strong(format_args!("{name:width$}")));
        }
    }
    text
}

/// Every process that has a registry and may be read.
fn all() -> anyhow::Result<Vec<Process>> {
    let mut processes = Vec::new();
    for pid in output::processes()? {
        match observe(pid) {
            Ok(exports) if exports.is_empty() => {}
            Ok(exports) => processes.push(process(pid, exports)),
            // Other people's processes, processes without a registry, processes that have ended meanwhile.
            Err(ObserveError::Layout { pid, found }) => {
                output::tell(format_args!(
                    "lockgate: process {pid} has a registry in another layout ({found})"
                ));
            }
            Err(ref error @ ObserveError::System { ref source, .. }) if source.kind() == ErrorKind::Other => {
                output::tell(format_args!("lockgate: {error}"));
            }
            Err(_) => {}
        }
    }
    Ok(processes)
}

fn process(pid: u32, exports: Vec<ObservedExport>) -> Process {
    Process { pid, exports: exports.into_iter().map(export).collect() }
}

fn export(seen: ObservedExport) -> Export {
    let ObservedExport { name, version, server, signature, policy, allowed, bindings } = seen;
    let bindings = bindings.into_iter().map(binding).collect();
    Export { name, version, server, signature, policy, allowed, bindings }
}

fn binding(seen: ObservedBinding) -> Binding {
    let ObservedBinding { client, policy, counts } = seen;
    let mean_ns = counts.and_then(|counts| counts.mean).map(|mean| mean.as_nanos() as u64);
    Binding { client, policy, calls: counts.map(|counts| counts.calls), mean_ns }
}

/// Bytes of names of one process that are written as their authors did: each takes time as it likes, and others say how many there are.
const MANGLED: usize = 64 << 10;

fn text(processes: &[Process], paint: Paint) -> String {
    let mut text = String::new();
    for process in processes {
        let _ = writeln!(text, "{}", paint.strong(format!("process {}", process.pid)));
        let mut left = MANGLED;
        for export in &process.exports {
            let Export { name, version, server, signature, policy, allowed, .. } = export;
            let mangled = (name.len() <= left)
                .then(|| lockgate_outside::demangled_short(name, lockgate_outside::ROOM))
                .flatten();
            left = left.saturating_sub(name.len());
            let name = mangled.unwrap_or_else(|| name.clone());
            let allowed = if allowed.is_empty() { "no client" } else { allowed };
            let _ = writeln!(text, "  {} {version}  {signature}", paint.strong(name));
            let _ = writeln!(text, "    by {server}; for {allowed}; the server asks for {policy}");
            for Binding { client, policy, calls, mean_ns } in &export.bindings {
                let calls = calls.map_or("-".to_owned(), |calls| calls.to_string());
                let mean = mean_ns.map_or("-".to_owned(), |mean| format!("{mean} ns"));
                let _ = writeln!(text, "    {client}: calls {calls}, mean {mean}; {policy}");
            }
        }
    }
    text
}
