//! Starting the compiler and the linker.

use crate::Error;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Output};

/// The remedy when something is missing.
pub(crate) const INSTALL: &str = "install gcc, binutils and musl: apt-get install gcc musl-dev (Debian, Ubuntu), \
    dnf install gcc musl-devel musl-libc-static (Fedora), or name them with LOCKGATE_GCC and LOCKGATE_MUSL";

/// Runs `command` with its output captured.
///
/// # Errors
/// [`Error::Missing`] if it cannot be started.
pub(crate) fn output(command: &mut Command) -> Result<Output, Error> {
    command.output().map_err(|error| cannot_start(command, &error))
}

/// Runs `command`; its standard output is the result.
///
/// # Errors
/// [`Error::Program`] with its standard error if its exit status is not 0.
pub(crate) fn run(command: &mut Command) -> Result<String, Error> {
    let output = output(command)?;
    if !output.status.success() {
        return Err(Error::Program {
            program: program(command),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        });
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub(crate) fn cannot_start(command: &Command, error: &std::io::Error) -> Error {
    if error.kind() != std::io::ErrorKind::NotFound {
        let action = "start";
        let error = std::io::Error::new(error.kind(), error.to_string());
        return Error::Io { action, path: command.get_program().into(), error };
    }
    Error::Missing { what: format!("{} ({error})", program(command)), remedy: INSTALL.to_owned() }
}

/// Gives `command` arguments in a file in `folder`, as GNU programs read it: there may be more than a command line holds.
///
/// # Errors
/// [`Error::Io`].
pub(crate) fn arguments_in_file(
    command: &mut Command,
    folder: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<(), Error> {
    let mut text = Vec::new();
    for argument in arguments {
        text.push(b'"');
        for &byte in argument.as_ref().as_bytes() {
            text.extend_from_slice(if matches!(byte, b'"' | b'\\') { b"\\" } else { b"" });
            text.push(byte);
        }
        text.extend_from_slice(b"\"\n");
    }
    let path = folder.join("arguments");
    std::fs::write(&path, text).map_err(Error::io("write", &path))?;
    let mut file = OsString::from("@");
    file.push(&path);
    command.arg(file);
    Ok(())
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}
