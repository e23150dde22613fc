//! A function of a program of another process.

use super::{Readings, show, value, values};
use crate::cmd::output;
use anyhow::bail;
use lockgate::signature::Type;
use lockgate_programs::share::{Data, Query, Remote, RemoteError};
use lockgate_programs::{control, status_of};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

pub fn call(
    at: &Path,
    time_limit: Option<Duration>,
    name: &str,
    prototype: &str,
    arguments: &[String],
) -> anyhow::Result<ExitCode> {
    let socket = control::shared(at)?;
    let remote = match time_limit {
        Some(limit) => Remote::connect_with(&socket, limit),
        None => Remote::connect(&socket),
    };
    let function = remote?.bind(&Query::newest(name), prototype)?;
    let signature = function.signature();
    if function.buffers().iter().any(|buffer| buffer.is_written) {
        bail!("{prototype}: what the function writes to an array cannot be shown here; call it from Rust");
    }
    let mut values = values(signature, prototype, arguments, |kind, reading, text| match kind {
        Type::Pointer => Ok(None),
        kind => value(kind, reading, text, |_| bail!("no pointers")).map(Some),
    })?;
    let data = values.iter_mut().zip(arguments);
    let mut data: Vec<Data<'_>> =
        data.map(|(value, text)| value.take().map_or(Data::Read(text.as_bytes()), Data::Value)).collect();
    match function.call(&mut data) {
        Ok(value) => {
            let text = show(None, &value, &signature.result, Readings::of(prototype).result)?;
            output::print(&text).map(|()| ExitCode::SUCCESS)
        }
        Err(RemoteError::Fault { kind, report }) => {
            output::tell(format_args!("lockgate: {report}"));
            Ok(ExitCode::from(status_of(kind)))
        }
        Err(error) => Err(error.into()),
    }
}
