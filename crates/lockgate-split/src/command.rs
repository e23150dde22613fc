//! `lockgate cc --split`: what the command line asks for.

use crate::compile::{Compiler, cannot_start};
use crate::{Error, link};
use lockgate_toolchain::cc::{self, CommandLine, Driver, Linking, Source};
use lockgate_toolchain::{Progress, Tools, put};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// Asks for a list of what each domain may call, and of who said so.
const LIST: &str = "--list-gates";

/// Does what gcc would do with `arguments`, for a program in several domains. The status is gcc's.
///
/// # Errors
/// [`Error`].
pub fn run(arguments: Vec<String>, progress: Progress<'_>) -> Result<ExitStatus, Error> {
    let mut arguments = cc::expand(arguments)?;
    let given = arguments.len();
    arguments.retain(|argument| argument != LIST);
    let listing = arguments.len() < given;
    let compiler = Compiler { tools: Tools::find()? };
    match CommandLine::parse(Driver::C, arguments.clone())? {
        CommandLine::Link(linking) => program(&compiler, &linking, listing, progress),
        CommandLine::Compile { .. } => objects(&compiler, &arguments),
    }
}

/// Whatever does not link: gcc does it, but for sources in C with `-c`, which may be annotated.
fn objects(compiler: &Compiler, arguments: &[String]) -> Result<ExitStatus, Error> {
    let others = ["-E", "-S", "-M", "-MM", "-fsyntax-only", "-r", "-###"];
    let compiles =
        arguments.iter().any(|a| a == "-c") && !arguments.iter().any(|a| others.contains(&a.as_str()));
    let linking: Vec<String> = arguments.iter().filter(|argument| *argument != "-c").cloned().collect();
    let linking = match CommandLine::parse(Driver::C, linking)? {
        CommandLine::Link(linking) if compiles && linking.sources().any(|source| source.is_c()) => linking,
        _ => return gcc(compiler, arguments),
    };
    if linking.output().is_some() && linking.sources().count() > 1 {
        // gcc says best what is wrong with that.
        return gcc(compiler, arguments);
    }
    linking.spares_inputs()?;
    let folder = lockgate_toolchain::work_folder()?;
    let options = linking.compile_options();
    for source in linking.sources() {
        let beside =
            || Path::new(source.path).with_extension("o").file_name().map(PathBuf::from).unwrap_or_default();
        let output = linking.output().map_or_else(beside, PathBuf::from);
        if !source.is_c() {
            let named = ["-c".to_owned(), "-o".to_owned(), output.to_string_lossy().into_owned()];
            let status = gcc(compiler, &[options, &source.arguments(), &named].concat())?;
            if !status.success() {
                return Ok(status);
            }
            continue;
        }
        // What is at the output's place is touched when the object is whole, and not before: as it comes from gcc it would be linked
        // as if the source had no annotations.
        let object = folder.path().join("object.o");
        let status = compile(compiler, source, options, &object, &beside_the_output(options, &output))?;
        if !status.success() {
            return Ok(status);
        }
        let bytes = lockgate_outside::read(&object).map_err(Error::io("read", &object))?;
        put(&output, &bytes, 0o666)?;
    }
    Ok(ExitStatus::default())
}

/// The final link, with the sources among its arguments compiled first.
fn program(
    compiler: &Compiler,
    linking: &Linking,
    listing: bool,
    progress: Progress<'_>,
) -> Result<ExitStatus, Error> {
    linking.spares_inputs()?;
    let folder = lockgate_toolchain::work_folder()?;
    let mut files: Vec<PathBuf> = linking.files().collect();
    let mut made = Vec::new();
    for (number, source) in linking.sources().enumerate() {
        if !source.is_c() {
            made.push(None);
            continue;
        }
        let object = folder.path().join(format!("{number}.o"));
        let more = linking.dependencies(source);
        let status = compile(compiler, source, linking.compile_options(), &object, &more)?;
        if !status.success() {
            return Ok(status);
        }
        made.push(Some(object.to_string_lossy().into_owned()));
        files.push(object);
    }
    let mut made = made.into_iter();
    let arguments = linking.host_line(|_| made.next().flatten());
    link::link(compiler, &arguments, &files, linking.compile_options(), listing, progress)
}

/// Compiles a source to `object`, with all its parts in it.
fn compile(
    compiler: &Compiler,
    source: Source<'_>,
    options: &[String],
    object: &Path,
    more: &[String],
) -> Result<ExitStatus, Error> {
    // Standard input can be read once, and a source is read for each of its parts.
    let text;
    let source = if source.path == "-" {
        let path = object.with_extension("stdin.c");
        let mut input = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin(), &mut input)
            .map_err(Error::io("read", Path::new("-")))?;
        std::fs::write(&path, input).map_err(Error::io("write", &path))?;
        text = path.to_string_lossy().into_owned();
        Source { path: &text, language: source.language }
    } else {
        source
    };
    let mut gcc = compiler.host();
    gcc.args(options).args(more).arg("-c").args(source.arguments()).arg("-o").arg(object);
    let status = gcc.status().map_err(|error| cannot_start(&gcc, &error))?;
    if !status.success() {
        return Ok(status);
    }
    compiler.split(source, options, object)
}

/// Options that name the files which gcc writes beside an object, as the object is made elsewhere first.
fn beside_the_output(options: &[String], output: &Path) -> Vec<String> {
    let has = |names: &[&str]| options.iter().any(|option| names.contains(&option.as_str()));
    let mut more = Vec::new();
    if has(&["-MD", "-MMD"]) {
        if !has(&["-MF"]) {
            more.extend(["-MF".to_owned(), output.with_extension("d").to_string_lossy().into_owned()]);
        }
        if !has(&["-MT", "-MQ"]) {
            more.extend(["-MQ".to_owned(), output.to_string_lossy().into_owned()]);
        }
    }
    let others =
        ["--coverage", "-coverage", "-ftest-coverage", "-gsplit-dwarf", "-save-temps", "-fstack-usage"];
    if has(&others) {
        let folder =
            output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let stem = output.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = format!("{}/", folder.display());
        more.extend(["-dumpdir", &folder, "-dumpbase", &stem].map(str::to_owned));
    }
    more
}

fn gcc(compiler: &Compiler, arguments: &[String]) -> Result<ExitStatus, Error> {
    let mut gcc = compiler.host();
    gcc.args(arguments).status().map_err(|error| cannot_start(&gcc, &error))
}
