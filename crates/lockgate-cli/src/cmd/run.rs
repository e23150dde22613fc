//! `lockgate run`.

use super::{domain, output};
use anyhow::Context as _;
use lockgate::{Module, Program};
use lockgate_outside::printable_bytes;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::ExitCode;

/// Arguments of `lockgate run`.
#[derive(clap::Args)]
#[command(override_usage = "lockgate run [OPTIONS] <PROGRAM> [ARGUMENTS]...", after_help = format!("\
Put Lockgate's options before the program's name; everything after the name goes to the program. The program sees its arguments, the standard streams, and what --dir and --env grant: nothing else of the host's. \
System calls that do not exist for it (docs/system-calls.md) answer ENOSYS and are listed at the end.

Signals that end a process (SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2), and SIGWINCH, go to the program if it has a handler for them, or waits for them (`sigwait`).

Exit status: the program's own; 125 it could not be started; {}.

Examples:
  lockgate run hello.lg one two
  lockgate run --dir /data=./databases --env HOME=/data sqlite3.lg /data/shop.db 'select count(*) from orders'
  lockgate run --time-limit 2s --memory-limit 64M --dir /src=.:ro tool.lg /src/input.txt",
    domain::EXIT_STATUS_OF_FAULTS))]
pub struct Args {
    #[command(flatten)]
    domain: domain::Limits,
    /// The name that the program sees as its own, argument 0 (default: PROGRAM as it is given). BusyBox and its like choose by this name what they do
    #[arg(long, value_name = "NAME")]
    argv0: Option<OsString>,
    /// Grant no standard streams
    #[arg(long)]
    no_streams: bool,
    /// Do not list refused system calls and threads
    #[arg(short, long)]
    quiet: bool,
    /// The program, a module made by `lockgate cc` from code with a main function, then its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// Signals that go to the program, if it has handlers for them.
const SIGNALS: &[i32] =
    &[libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2, libc::SIGWINCH];

pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    Ok(output::or_not_started(run(&args)))
}

fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (program, arguments) = args.command.split_first().context("give a program")?;
    let module = Module::open(program)?;
    let (file, _) = lockgate_outside::open(Path::new(program))
        .with_context(|| format!("cannot read {}", printable_bytes(program.as_bytes())))?;
    let mut grants = args.domain.grants()?.forbid(&file)?;
    if !args.no_streams {
        grants = grants.standard_streams()?;
    }
    let name = args.argv0.as_ref().unwrap_or(program);
    let options = args.domain.options(grants)?.arguments([name].into_iter().chain(arguments));
    let program = Program::new(&module, options)?;
    program.signals().forward(SIGNALS).context("cannot wait for signals")?;
    let ended = program.run();
    if !args.quiet {
        domain::report_refused(module.name(), &ended.refused_syscalls);
        domain::report_denied(module.name(), &ended.denied);
        args.domain.report_threads(module.name(), ended.refused_threads);
    }
    match ended.outcome {
        Ok(status) => Ok(ExitCode::from(status as u8)),
        Err(error) => match error.fault() {
            Some(fault) => {
                args.domain.report(fault);
                Ok(domain::status_of(fault))
            }
            None => Err(error.into()),
        },
    }
}
