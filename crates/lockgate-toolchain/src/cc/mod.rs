//! `lockgate cc` and `lockgate c++`: a compiler's command line, as configure scripts, make and cmake write it.
//!
//! Whatever does not link is gcc's business, with musl's headers and position-independent code. What links is taken
//! apart ([`CommandLine`]): sources are compiled to objects, and everything else becomes a [`Link`](crate::Link).

mod arguments;
mod ld_options;
mod options;
mod response;
mod versions;

pub use arguments::{CommandLine, Driver, Linking, Source};
pub use options::OPTIONS;
pub use response::expand;

use crate::{CxxLibrary, Error, LinkOutcome, Progress, Sysroot, Tools, process};
use arguments::Item;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// What one invocation did.
#[derive(Debug)]
pub enum Outcome {
    /// gcc ran alone, or failed to compile a source; its messages are on standard error.
    Compiler(ExitStatus),
    /// A module was made.
    Linked(Box<LinkOutcome>),
}

/// Does what the arguments (without the program's name) ask for.
///
/// # Errors
/// [`Error`]; a source that gcc refuses is an [`Outcome`] instead.
pub fn run(driver: Driver, arguments: Vec<String>, progress: Progress<'_>) -> Result<Outcome, Error> {
    match CommandLine::parse(driver, response::expand(arguments)?)? {
        CommandLine::Compile { arguments, cxx } => {
            Ok(Outcome::Compiler(compile(compiler(&Tools::find()?, driver, cxx)?, &arguments)?))
        }
        CommandLine::Link(linking) => link(&linking, progress),
    }
}

fn link(linking: &Linking, progress: Progress<'_>) -> Result<Outcome, Error> {
    linking.spares_inputs()?;
    let sysroot = match linking.strict_bounds {
        true => Sysroot::ensure_strict_bounds(progress)?,
        false => Sysroot::ensure(progress)?,
    };
    let folder = crate::work_folder()?;
    let mut link = linking.start()?;
    for (i, item) in linking.items.iter().enumerate() {
        match item {
            Item::Source { path, language } => {
                let object = object_path(folder.path(), i, path);
                let mut arguments = linking.compile.clone();
                arguments.extend(linking.dependencies(Source { path, language: language.as_deref() }));
                let dumps = linking.dumps(path);
                if !dumps.is_empty() && sysroot.tools().names_dumps(linking.driver == Driver::Cxx)? {
                    arguments.extend(dumps);
                }
                arguments.extend(linking.compile_for_join().iter().map(|&option| option.to_owned()));
                arguments.extend(["-c".to_owned(), "-o".to_owned(), object.to_string_lossy().into_owned()]);
                arguments.extend(language.iter().flat_map(|language| ["-x".to_owned(), language.clone()]));
                arguments.push(path.clone());
                let compiler = compiler(sysroot.tools(), linking.driver, linking.cxx)?;
                let status = compile(compiler, &arguments)?;
                if !status.success() {
                    return Ok(Outcome::Compiler(status));
                }
                match path.as_str() {
                    "-" => link.file(&object)?,
                    source => link.compiled(&object, Path::new(source))?,
                };
            }
            Item::File(path) => {
                link.file(Path::new(path))?;
            }
            Item::Verbatim(path) => {
                link.verbatim(Path::new(path))?;
            }
            Item::Library(name) => {
                link.library(name);
            }
            Item::LdOption(option) => {
                link.ld_option(option);
            }
        }
    }
    Ok(Outcome::Linked(Box::new(link.run(&sysroot, progress)?)))
}

/// The compiler for a command line. `cxx`: there is C++ in it, for this library.
fn compiler(tools: &Tools, driver: Driver, cxx: Option<CxxLibrary>) -> Result<Command, Error> {
    match cxx {
        Some(library) => tools.cxx_compiler(driver == Driver::Cxx, library),
        None => Ok(tools.source_compiler()),
    }
}

/// Runs gcc with its messages going where ours go.
fn compile(mut command: Command, arguments: &[String]) -> Result<ExitStatus, Error> {
    // With this option gcc puts the cold part of a function into the section of the others, and counts what the part's exception table names from
    // another place than its start: nothing thrown there is caught, and the rewriter refuses the table. So functions stay whole.
    if arguments.iter().any(|option| option == "-fno-reorder-functions") {
        command.arg("-fno-reorder-blocks-and-partition");
    }
    command.args(arguments).status().map_err(|error| process::cannot_start(&command, &error))
}

/// A folder per source, because sources of one name may come from many folders.
fn object_path(folder: &Path, i: usize, source: &str) -> PathBuf {
    let stem = Path::new(source).file_stem().unwrap_or("stdin".as_ref());
    let mut name = std::ffi::OsString::from(format!("{i}-"));
    name.push(stem);
    name.push(".o");
    folder.join(name)
}
