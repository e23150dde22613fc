//! `lockgate stubs`.

use super::output::{self, Paint};
use anyhow::Context as _;
use lockgate_stubs::header::Source;
use lockgate_stubs::{Client, emit};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Arguments of `lockgate stubs`.
#[derive(clap::Args)]
#[command(after_help = "\
Exit status: 0 written; 1 some functions cannot be protected soundly, each with reason and remedy, and nothing is written
(with --partial: they are left out); 2 the header cannot be read.

Examples:
  lockgate stubs zlib.h -a share/stubs/zlib.lg.h -D HAVE_UNISTD_H -m zlib.lg -o client
  lockgate stubs zlib.h -a share/stubs/zlib.lg.h --explain
  lockgate cc -g -O2 *.c -o zlib.lg --exports client/zlib.exports
  cc -I client -I . minigzip.c client/zlib_client.c $(pkg-config --cflags --libs lockgate) -o minigzip

docs/stubs.md says what annotations mean.")]
pub struct Args {
    /// The API's header
    header: PathBuf,
    /// A file with annotations for a header that has none
    #[arg(short, long, value_name = "FILE")]
    annotations: Vec<PathBuf>,
    /// Folder with headers that it includes
    #[arg(short = 'I', value_name = "FOLDER")]
    includes: Vec<PathBuf>,
    /// Macro that its programs are compiled with
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    defines: Vec<String>,
    /// Object or archive of the library: functions that it does not define get no stubs
    #[arg(long = "defined-in", value_name = "FILE")]
    defined_in: Vec<PathBuf>,
    /// The module that the client loads, unless LOCKGATE_ and its name, in capitals, in the environment name another
    #[arg(short, long, value_name = "FILE", required_unless_present = "explain")]
    module: Option<PathBuf>,
    /// Folder that the client's files are written to
    #[arg(short, long, value_name = "FOLDER", required_unless_present = "explain")]
    output: Option<PathBuf>,
    /// The language to write (default: c)
    #[arg(short, long, value_enum, value_name = "LANGUAGE")]
    language: Vec<Language>,
    /// Leave out the functions that cannot be protected soundly
    #[arg(long)]
    partial: bool,
    /// Make failing stubs of the functions that are left out, so that programs that mention them can be linked
    #[arg(long)]
    failing_stubs: bool,
    /// Print what crosses for each function, parameter, callback and field, and what decided it; write nothing
    #[arg(long, conflicts_with = "json")]
    explain: bool,
    /// Read the header in this process, without limits on time and memory
    #[arg(long, hide = true)]
    unwatched: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Language {
    /// A client with the same API, in C
    C,
    /// A header of typed functions for C++17, and the client in C that programs are linked with
    Cpp,
    /// A crate of typed, safe functions, which compiles the client in C
    Rust,
    /// A module of typed functions, and the client in C that it loads
    Python,
}

/// What was done, as JSON shows it.
#[derive(Serialize)]
struct Summary<'a> {
    functions: usize,
    annotation_lines: usize,
    omitted: &'a [(String, String)],
    refused: Vec<String>,
    files: Vec<&'a str>,
}

/// Runs the command in a process of its own, which can be ended: what reads the header is not ours.
fn watched(header: &Path) -> anyhow::Result<ExitCode> {
    let mut arguments = std::env::args_os();
    let program = std::env::current_exe().context("this program cannot be found")?;
    let mut reader = Command::new(program);
    reader.args(arguments.nth(1)).arg("--unwatched").args(arguments);
    let mut reader = reader.spawn().context("this program cannot be started")?;
    let header = lockgate_outside::printable(&header.to_string_lossy());
    match lockgate_stubs::watch::wait(&mut reader) {
        Ok(code) => Ok(ExitCode::from(code)),
        Err(why) => anyhow::bail!("cannot read {header} to its end: {why}"),
    }
}

/// The process that watches this one is there as long as this one is.
fn end_with_parent() {
    let parent = std::os::unix::process::parent_id();
    let look = move || {
        while std::os::unix::process::parent_id() == parent {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        std::process::exit(2);
    };
    let _ = std::thread::Builder::new().spawn(look);
}

pub fn main(args: Args) -> anyhow::Result<ExitCode> {
    if !args.unwatched {
        return watched(&args.header);
    }
    end_with_parent();
    let source = Source {
        header: args.header,
        annotations: args.annotations,
        includes: args.includes,
        defines: args.defines,
    };
    let (module, folder) = (args.module.unwrap_or_else(|| "none".into()), args.output.unwrap_or_default());
    let module = std::path::absolute(module).context("no current folder")?;
    let mut client = Client::of(&source, &module)?;
    if let Err(why) = compare(&mut client, &source) {
        output::tell(format_args!(
            "warning: the generator could not check that the C library's types are the same in the module; where they differ, wrong values cross: {}",
            lockgate_outside::printable_text(&format!("{why:#}"))
        ));
    }
    if !args.defined_in.is_empty() {
        client.keep_defined(&lockgate_stubs::defined::in_files(&args.defined_in)?);
    }
    if args.failing_stubs {
        client.failing_stub();
    }
    let refused = !client.plan.refusals.is_empty();
    if args.explain {
        output::print(&client.explain())?;
        return Ok(if refused && !args.partial { ExitCode::from(1) } else { ExitCode::SUCCESS });
    }
    for refusal in &client.plan.refusals {
        output::tell(refusal);
    }
    let mut files: Vec<emit::File> = Vec::new();
    if !refused || args.partial {
        let languages = if args.language.is_empty() { vec![Language::C] } else { args.language };
        for language in languages {
            match language {
                Language::C => files.extend(client.c()),
                Language::Cpp => files.extend(client.cpp().map_err(anyhow::Error::msg)?),
                Language::Rust => files.extend(client.rust().map_err(anyhow::Error::msg)?),
                Language::Python => files.extend(client.python().map_err(anyhow::Error::msg)?),
            }
        }
    }
    if !files.is_empty() {
        lockgate_stubs::write(&folder, &files).map_err(|(path, error)| {
            anyhow::Error::new(error).context(format!("cannot write {}", path.display()))
        })?;
    }
    let summary = Summary {
        functions: client.plan.functions.len(),
        annotation_lines: client.annotation_lines,
        omitted: &client.plan.omitted,
        refused: client.plan.refusals.iter().map(ToString::to_string).collect(),
        files: files.iter().map(|file| file.name.as_str()).collect(),
    };
    if args.json {
        output::print_json(&summary)?;
    } else {
        output::print(&describe(&summary, &folder))?;
    }
    Ok(if files.is_empty() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Refuses what the C library of modules, which is another one than the program's, lays out otherwise.
fn compare(client: &mut Client, source: &Source) -> anyhow::Result<()> {
    let tools = lockgate_toolchain::Tools::find()?;
    let mut system = vec!["-nostdinc".to_owned()];
    system.extend(tools.header_folders().iter().map(|folder| format!("-idirafter{}", folder.display())));
    Ok(client.hold_against(source, &system)?)
}

fn describe(summary: &Summary<'_>, folder: &std::path::Path) -> String {
    let Summary { functions, annotation_lines, omitted, refused, files } = summary;
    let mut text = format!("{functions} functions, {annotation_lines} lines of annotations");
    if !omitted.is_empty() {
        text += &format!(", {} left out", omitted.len());
    }
    if !refused.is_empty() {
        text += &format!(", {} {}", refused.len(), Paint::stdout().bad("refused"));
    }
    match files.as_slice() {
        [] => text + ": nothing was written (--partial leaves the refused functions out)\n",
        files => format!("{text}; {} has {}\n", folder.display(), files.join(", ")),
    }
}
