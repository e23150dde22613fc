//! What several commands print and read.

use anstream::stream::RawStream;
use anstream::{AutoStream, ColorChoice};
use anyhow::{Context as _, anyhow, bail};
use clap::builder::styling::{AnsiColor, Style};
use lockgate_outside::{printable, printable_lines};
use lockgate_signature::Asked;
use lockgate_verify::Module;
use std::fmt::{self, Display};
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

/// Parses a module, which was read from `path`.
///
/// # Errors
/// The file is not a module: names it.
pub fn parse(path: &Path, file: &[u8]) -> anyhow::Result<Module> {
    Module::parse(file).with_context(|| format!("{} is not a module", shown(path)))
}

/// A file's name as a terminal may have it.
pub fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// Reads a file that is to be a module.
///
/// # Errors
/// The kernel's, with the file's name.
pub fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    lockgate_outside::read(path).with_context(|| format!("cannot read {}", shown(path)))
}

/// The prototype of a function that is given by it or, if the module has noted it, by the name.
///
/// # Errors
/// A name of no function, or of one without a note.
pub fn prototype_of<'a>(module: &'a lockgate::Module, given: &'a str) -> anyhow::Result<&'a str> {
    let name = given.trim();
    match module.exports().find(|(export, _)| *export == name) {
        Some((_, Some(noted))) => Ok(noted),
        Some((_, None)) => {
            bail!("the note of {} has no signature of {name}: give its C prototype", module.name())
        }
        None => match Asked::parse(given) {
            Ok(Asked::Name(name)) => Err(no_function(module, name)),
            // (Binding says what is wrong with a prototype.)
            Ok(Asked::Prototype(_)) | Err(_) => Ok(given),
        },
    }
}

/// The module does not export `name`.
pub fn no_function(module: &lockgate::Module, name: &str) -> anyhow::Error {
    let module = module.name();
    anyhow!("{module} exports no function {name:?}; `lockgate inspect --exports` lists its exports")
}

/// Writes `text` to standard output. A reader that has gone away (`| head`) is no error.
///
/// # Errors
/// The kernel's, for any other reason: a full disk, a closed descriptor.
pub fn print(text: &str) -> anyhow::Result<()> {
    show(text).map(drop)
}

/// As [`print`]; false if nothing reads any more.
///
/// # Errors
/// As [`print`].
pub fn show(text: &str) -> anyhow::Result<bool> {
    let mut stdout = io::stdout().lock();
    was_read(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
}

/// What a write to standard output has come to: false if the reader has gone away.
fn was_read(written: io::Result<()>) -> anyhow::Result<bool> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true).context("cannot write to standard output"),
    }
}

/// The exit status of a command that runs programs. What has kept it from starting them is told, and is no program's status.
pub fn or_not_started(status: anyhow::Result<ExitCode>) -> ExitCode {
    status.unwrap_or_else(|error| {
        tell(format_args!("lockgate: {}", explain(&error)));
        ExitCode::from(lockgate_programs::NOT_STARTED)
    })
}

/// A number of things.
pub fn count_of(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// How often a program was started again, behind its state.
pub fn restarts(number: u64) -> String {
    if number == 0 {
        String::new()
    } else {
        format!(", {}", count_of(number as usize, "restart", "restarts"))
    }
}

/// How a program's last run ended, behind that.
pub fn last_run(end: Option<&str>) -> String {
    end.map_or(String::new(), |end| format!("; last run: {}", printable(end)))
}

/// The process ids of the machine, in order.
///
/// # Errors
/// There is no /proc.
pub fn processes() -> anyhow::Result<Vec<u32>> {
    let entries = std::fs::read_dir("/proc").context("cannot list processes")?;
    let mut pids: Vec<u32> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    Ok(pids)
}

/// Writes a line to standard error. It has no error: what the command has done, and its exit status, do not depend on whether that can be
/// written (a full disk, a reader that has gone away).
pub fn tell(line: impl Display) {
    let _ = std::io::stderr().lock().write_all(format!("{line}\n").as_bytes());
}

/// Prints a value as JSON, as it comes.
///
/// # Errors
/// As `print`.
pub fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = Out::new();
    let written = serde_json::to_writer_pretty(&mut out.stdout, value);
    let written = written.map_err(io::Error::from).and_then(|()| out.stdout.write_all(b"\n"));
    out.end(written)
}

/// Prints what `show` writes, as it comes: how much that is may be for others to say.
///
/// # Errors
/// As `print`.
pub fn print_with(show: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result) -> anyhow::Result<()> {
    let mut out = Out::new();
    // (`Out` keeps the stream's error; `fmt::Error` says nothing.)
    let _ = show(&mut out);
    let failed = out.failed.take();
    out.end(failed.map_or(Ok(()), Err))
}

/// Standard output.
struct Out {
    stdout: io::BufWriter<io::StdoutLock<'static>>,
    /// Why nothing more is written.
    failed: Option<io::Error>,
}

impl Out {
    fn new() -> Out {
        Out { stdout: io::BufWriter::new(io::stdout().lock()), failed: None }
    }

    /// # Errors
    /// As `print`.
    fn end(mut self, written: io::Result<()>) -> anyhow::Result<()> {
        let written = written.and_then(|()| self.stdout.flush());
        // Without this the buffer's destructor would write again, and fail again.
        let _ = self.stdout.into_parts();
        was_read(written).map(drop)
    }
}

impl fmt::Write for Out {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.stdout.write_all(text.as_bytes()).map_err(|error| {
            self.failed = Some(error);
            fmt::Error
        })
    }
}

/// An error and its causes in one line. Causes that the text before them has told already are left out.
pub fn explain(error: &anyhow::Error) -> String {
    let text = error.chain().map(ToString::to_string).fold(String::new(), |text, cause| match text {
        text if text.is_empty() => cause,
        text if text.contains(&cause) => text,
        text => format!("{text}: {cause}"),
    });
    printable_lines(&text)
}

/// Colours on a terminal that has some, unless `NO_COLOR`, `CLICOLOR` or `CLICOLOR_FORCE` says otherwise: as in the help, whose colours are
/// decided by the same function.
#[derive(Clone, Copy)]
pub struct Paint(bool);

impl Paint {
    /// For standard output.
    pub fn stdout() -> Paint {
        Paint::on(&std::io::stdout())
    }

    /// For standard error.
    pub fn stderr() -> Paint {
        Paint::on(&std::io::stderr())
    }

    fn on(stream: &impl RawStream) -> Paint {
        Paint(AutoStream::choice(stream) != ColorChoice::Never)
    }

    /// For what is right.
    pub fn good(self, text: impl Display) -> String {
        self.styled(AnsiColor::Green.on_default(), text)
    }

    /// For what is wrong.
    pub fn bad(self, text: impl Display) -> String {
        self.styled(AnsiColor::Red.on_default().bold(), text)
    }

    /// For headings and names.
    pub fn strong(self, text: impl Display) -> String {
        self.styled(Style::new().bold(), text)
    }

    /// For what the eye may skip.
    pub fn faint(self, text: impl Display) -> String {
        self.styled(Style::new().dimmed(), text)
    }

    /// For names that are told apart by their colours.
    pub fn name(self, number: usize, text: impl Display) -> String {
        const COLOURS: [AnsiColor; 5] =
            [AnsiColor::Cyan, AnsiColor::Yellow, AnsiColor::Green, AnsiColor::Magenta, AnsiColor::Blue];
        self.styled(COLOURS[number % COLOURS.len()].on_default(), text)
    }

    fn styled(self, style: Style, text: impl Display) -> String {
        if self.0 { format!("{style}{text}{style:#}") } else { text.to_string() }
    }
}
