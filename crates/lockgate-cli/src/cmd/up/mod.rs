//! `lockgate up`: several programs as domains of one process.

mod file;
mod listeners;
mod printer;

use crate::cmd::descriptors;
use crate::cmd::domain::{self, Report};
use crate::cmd::ends_sys::Ends;
use crate::cmd::output::{self, Paint};
use anyhow::Context as _;
use lockgate::{DomainOptions, ProgramEnd};
use lockgate_outside::printable_text;
use lockgate_programs::{Address, End, Event, Handle, Line, Observer, Stream, control, metrics, share};
use printer::{Printer, Target};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Arguments of `lockgate up`.
#[derive(clap::Args)]
#[command(after_help = format!("\
The file, in TOML, has a table [programs.NAME] for each program (docs/programs.md):
  module = \"server.lg\"            the program; relative paths begin at the file
  arguments = [\"--port\", \"6379\"], argv0 = \"redis-server\"
  environment = [\"NAME=VALUE\", \"PASSED_ON\"]
  directories = [\"/data=./data\", \"/etc/ssl:ro\"], working_directory = \"/data\", umask = \"{mask}\"
  listen = [\"127.0.0.1:6379\"], connect = [\"example.org:443\"]
  memory_limit = \"{memory}\", stack_size = \"{stack}\", threads = 0, descriptors = {descriptors}, mappings = {mappings}, time_limit = \"2s\", cpu_limit = \"2s\"
  exports = {{ take = \"take\" }}, imports = {{ store_take = \"store.take\" }}, turn_timeout = \"5s\", detached_limit = \"1m\"  (docs/program-calls.md)
  depends_on = [\"OTHER\"], ready = \"started\", \"listening\" or {{ line = \"TEXT\" }}
  restart = \"never\", \"on-fault\" or \"always\"; restart_delay = \"100ms\", restart_delay_max = \"30s\", restart_reset = \"10s\"
  stop_timeout = \"10s\"
Only module must be there. Before the tables, metrics = \"127.0.0.1:9464\" has their figures at http://127.0.0.1:9464/metrics, for Prometheus.

SIGTERM and SIGINT end all programs in the reverse order of their dependencies; a second one kills them. SIGHUP, SIGUSR1 and SIGUSR2 go to the programs that have handlers for them or wait for them; if no program does, all end.

Exit status: 0 if all programs ended well; else that of the first that failed: its own, or 125 it could not be started; {faults}.

Examples:
  lockgate up
  lockgate up shop.toml
  lockgate up --check shop.toml && lockgate up shop.toml
  lockgate up --share shop shop.toml             # in another process: lockgate call --at shop store.take 'long take(long)' 3",
    mask = domain::MASK, memory = domain::MEMORY, stack = domain::STACK, descriptors = DomainOptions::DESCRIPTORS,
    mappings = DomainOptions::MAPPINGS, faults = domain::EXIT_STATUS_OF_FAULTS))]
pub struct Args {
    /// The file, or a folder with a lockgate.toml
    #[arg(default_value = ".")]
    file: PathBuf,
    /// Look at the file and at the modules, and run nothing
    #[arg(long)]
    check: bool,
    /// Let other processes of this user call the exports that have the key share: a name for `lockgate call --at`, or the path of a socket
    #[arg(long, value_name = "NAME")]
    share: Option<PathBuf>,
    /// Do not list refused system calls and threads
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    report: Report,
}

/// The file of a folder.
pub const DEFAULT: &str = "lockgate.toml";

/// What all programs are ended by, and what goes to those that have handlers for it.
const ENDING: &[i32] = &[libc::SIGTERM, libc::SIGINT];
const HANDED_ON: &[i32] = &[libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    Ok(output::or_not_started(up(&args)))
}

/// The file that an argument means: the one in a folder.
pub fn file_of(path: &Path) -> PathBuf {
    if path.is_dir() { path.join(DEFAULT) } else { path.to_owned() }
}

fn up(args: &Args) -> anyhow::Result<ExitCode> {
    let file = file_of(&args.file);
    let shown = output::shown(&file);
    // (A relative path begins where the command was given.)
    let share =
        args.share.as_deref().map(|name| std::path::absolute(control::shared(name)?).context("--share"));
    let share = share.transpose()?;
    let bytes = output::read(&file)?;
    let text = str::from_utf8(&bytes).with_context(|| format!("{shown} is not UTF-8"))?;
    let file = file.canonicalize().with_context(|| format!("cannot find {shown}"))?;
    // What is relative in the file begins where the file is.
    if let Some(folder) = file.parent() {
        std::env::set_current_dir(folder)
            .with_context(|| format!("cannot go to {}", output::shown(folder)))?;
    }
    descriptors::raise_the_limit();
    let file::File { programs, told, metrics } = file::read(&shown, text)?;
    if share.is_some() && programs.offer().is_empty() {
        anyhow::bail!("--share: no export of {shown} has the key share");
    }
    if args.check {
        return Ok(ExitCode::SUCCESS);
    }
    // Before there are other threads, which must not take them.
    let signals = Ends::held_back(&[ENDING, HANDED_ON].concat()).context("cannot wait for signals")?;
    let control = match control::Server::new(&file) {
        Ok(server) => Some(server),
        Err(error @ (control::ControlError::Running { .. } | control::ControlError::Full(_))) => {
            return Err(error.into());
        }
        // The programs run without it, too: only ps, logs, stop and restart need it.
        Err(error) => {
            output::tell(format_args!(
                "lockgate: {error}: ps, logs, stop and restart do not reach these programs"
            ));
            None
        }
    };
    let metrics = metrics.map(|address| {
        let server = metrics::Server::new(&address);
        server.with_context(|| format!("metrics: cannot listen on {}", text_of(&address)))
    });
    let metrics = metrics.transpose()?;
    let printer = Printer::start().context("cannot start a thread")?;
    let handle = programs.handle();
    let metrics = metrics.map(|server| server.serve(handle.clone())).transpose();
    let _metrics = metrics.context("cannot start a thread")?;
    let _control = control.map(|server| server.serve(handle.clone())).transpose();
    let _control = _control.context("cannot start a thread")?;
    let takes = std::thread::Builder::new().name("lockgate-signals".to_owned());
    takes.spawn(move || take(&signals, &handle)).context("cannot start a thread")?;
    let _served = match &share {
        Some(path) => Some(share::serve(&programs.registry(), path, programs.offer())?),
        None => None,
    };
    let observer = Face::new(printer.clone(), told, args);
    let ends = programs.run(&observer)?;
    printer.finish();
    Ok(ExitCode::from(ends.exit_status()))
}

fn text_of(address: &Address) -> String {
    match address {
        Address::Tcp(address) => address.to_string(),
        Address::Unix(path) => format!("unix:{}", output::shown(path)),
    }
}

/// Hands signals on, for ever.
fn take(signals: &Ends, handle: &Handle) {
    let mut ending = false;
    while let Ok(signal) = signals.next() {
        if !ENDING.contains(&(signal as i32)) {
            handle.signal(signal);
        } else if std::mem::replace(&mut ending, true) {
            handle.kill();
        } else {
            handle.close();
        }
    }
}

/// Shows what happens.
struct Face {
    printer: Printer,
    told: Vec<file::Told>,
    width: usize,
    quiet: bool,
    report: Report,
    out: Paint,
    err: Paint,
}

impl Face {
    fn new(printer: Printer, told: Vec<file::Told>, args: &Args) -> Face {
        let width = told.iter().map(|program| program.name.len()).max().unwrap_or(0);
        let (out, err) = (Paint::stdout(), Paint::stderr());
        Face { printer, told, width, quiet: args.quiet, report: args.report, out, err }
    }

    fn tell(&self, line: String) {
        self.printer.line(Target::Stderr, line);
    }

    fn ended(&self, program: &str, end: &End, said: Option<&ProgramEnd>) {
        if let Some(said) = said.filter(|_| !self.quiet) {
            let refused = domain::lines_of_refused(program, &said.refused_syscalls);
            let denied = domain::lines_of_denied(program, &said.denied, ["listen", "connect"]);
            refused.into_iter().chain(denied).for_each(|line| self.tell(line));
            if said.refused_threads > 0 {
                let threads =
                    self.told.iter().find(|told| told.name == program).map_or(0, |told| told.threads);
                let limit = format!("its threads, {threads}");
                self.tell(domain::line_of_threads(program, &limit, said.refused_threads));
            }
        }
        match end {
            End::Status(0) => self.tell(format!("lockgate: {program}: ended")),
            End::Fault(fault) => {
                self.tell(self.report.of(fault, Some(program)));
            }
            end => self.tell(format!("lockgate: {program}: {end}")),
        }
    }
}

impl Observer for Face {
    fn event(&self, program: &str, event: &Event<'_>) {
        let says_when_ready = || self.told.iter().any(|told| told.name == program && told.says_when_ready);
        match event {
            Event::Started => self.tell(format!("lockgate: {program}: started")),
            Event::Ready if says_when_ready() => self.tell(format!("lockgate: {program}: ready")),
            Event::Killing(time) => {
                self.tell(format!(
                    "lockgate: {program}: killed, because it did not end within {time:?} (stop_timeout)"
                ));
            }
            Event::Ended(end, said) => self.ended(program, end, *said),
            Event::Restarting(delay) if delay.is_zero() => {
                self.tell(format!("lockgate: {program}: starts again"));
            }
            Event::Restarting(delay) => self.tell(format!("lockgate: {program}: starts again in {delay:?}")),
            Event::GaveUp(other) => {
                self.tell(format!("lockgate: {program}: not started: {other} ended before it was ready"));
            }
            _ => {}
        }
    }

    fn line(&self, program: &str, line: &Line) {
        let (target, paint) = match line.stream {
            Stream::Out => (Target::Stdout, self.out),
            Stream::Error => (Target::Stderr, self.err),
        };
        let number = self.told.iter().position(|told| told.name == program).unwrap_or(0);
        self.printer.line(target, named(program, number, self.width, paint, &line.bytes));
    }
}

/// A line with its program's name in front. What a terminal obeys is not in it: no program writes another's name, or over another's line.
pub fn named(program: &str, number: usize, width: usize, paint: Paint, line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let name = paint.name(number, format_args!("{program:width$} |"));
    format!("{name} {}", printable_text(&text.replace('\r', "")))
}
