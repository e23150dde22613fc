//! Starting the compiler and the linker.

use crate::Error;
use std::process::{Command, Output};

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
    Error::Missing {
        what: format!("{} ({error})", program(command)),
        remedy: crate::tools::INSTALL.to_owned(),
    }
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}
