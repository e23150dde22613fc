//! `lockgate cc --split`: what the command line asks for.

use crate::compile::{Compiler, cannot_start};
use crate::{Error, link};
use lockgate_toolchain::cc::{self, CommandLine, Linking};
use lockgate_toolchain::{Progress, Tools};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// Does what gcc would do with `arguments`, for a program in several domains. The status is gcc's.
///
/// # Errors
/// [`Error`].
pub fn run(arguments: Vec<String>, progress: Progress<'_>) -> Result<ExitStatus, Error> {
    let arguments = cc::expand(arguments)?;
    let compiler = Compiler { tools: Tools::find()? };
    match CommandLine::parse(arguments.clone())? {
        CommandLine::Link(linking) => program(&compiler, &arguments, &linking, progress),
        CommandLine::Compile(_) => objects(&compiler, &arguments),
    }
}

/// Whatever does not link: gcc does it, and annotated sources get their other parts with `-c`.
fn objects(compiler: &Compiler, arguments: &[String]) -> Result<ExitStatus, Error> {
    let mut gcc = compiler.host();
    let status = gcc.args(arguments).status().map_err(|error| cannot_start(&gcc, &error))?;
    let others = ["-E", "-S", "-M", "-MM", "-fsyntax-only", "-r", "-###"];
    if !status.success()
        || arguments.iter().any(|a| others.contains(&a.as_str()))
        || !arguments.iter().any(|a| a == "-c")
    {
        return Ok(status);
    }
    let linking: Vec<String> = arguments.iter().filter(|argument| *argument != "-c").cloned().collect();
    let CommandLine::Link(linking) = CommandLine::parse(linking)? else { return Ok(status) };
    for source in linking.c_sources() {
        let beside =
            || Path::new(source).with_extension("o").file_name().map(PathBuf::from).unwrap_or_default();
        let object = linking.output().map_or_else(beside, PathBuf::from);
        let status = split(compiler, source, linking.compile_options(), &object)?;
        if !status.success() {
            return Ok(status);
        }
    }
    Ok(status)
}

/// The final link, with the sources among its arguments compiled first.
fn program(
    compiler: &Compiler,
    arguments: &[String],
    linking: &Linking,
    progress: Progress<'_>,
) -> Result<ExitStatus, Error> {
    let folder = tempfile::tempdir().map_err(Error::io("create a folder in", &std::env::temp_dir()))?;
    let mut arguments = arguments.to_vec();
    let mut files: Vec<PathBuf> = linking.files().collect();
    for (number, source) in linking.c_sources().enumerate() {
        let object = folder.path().join(format!("{number}.o"));
        let mut gcc = compiler.host();
        gcc.args(linking.compile_options()).arg("-c").arg(source).arg("-o").arg(&object);
        let status = gcc.status().map_err(|error| cannot_start(&gcc, &error))?;
        if !status.success() {
            return Ok(status);
        }
        let status = split(compiler, source, linking.compile_options(), &object)?;
        if !status.success() {
            return Ok(status);
        }
        if let Some(argument) = arguments.iter_mut().find(|argument| *argument == source) {
            *argument = object.to_string_lossy().into_owned();
        }
        files.push(object);
    }
    link::link(compiler, &arguments, &files, linking.compile_options(), progress)
}

/// Gives the object of `source` its other parts. There is no object where there was an error.
fn split(compiler: &Compiler, source: &str, options: &[String], object: &Path) -> Result<ExitStatus, Error> {
    let made = compiler.split(source, options, object);
    if !matches!(&made, Ok(status) if status.success()) {
        // What is left would be linked as if the source had no annotations.
        std::fs::remove_file(object).map_err(Error::io("remove", object))?;
    }
    made
}
