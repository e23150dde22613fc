//! Options of domains, by name.
use crate::errors;
use crate::principal::Principal;
use crate::registry::Registry;
use lockgate::syscall::{Access, Grants};
use lockgate::{DomainOptions, OnFailure, Policy, Rights};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::path::PathBuf;
use std::time::Duration;

/// What a dictionary of the Python half asks for.
///
/// # Errors
/// A value that an option cannot have; a directory that cannot be granted.
pub fn domain(py: Python<'_>, given: &Bound<'_, PyDict>) -> PyResult<DomainOptions> {
    let mut options = DomainOptions::new();
    let mut grants = Grants::default();
    for (name, value) in given {
        let name: String = name.extract()?;
        let wrong =
            |error: PyErr| errors::plain(py, "OptionError", &format_args!("{name}: {}", error.value(py)));
        options = match name.as_str() {
            "name" => options.name(value.extract::<String>().map_err(wrong)?),
            "memory_limit" => options.memory_limit(value.extract().map_err(wrong)?),
            "stack_size" => options.stack_size(value.extract().map_err(wrong)?),
            "time_limit" => options.time_limit(seconds(&value).map_err(wrong)?),
            "cpu_limit" => options.cpu_limit(seconds(&value).map_err(wrong)?),
            "measure_cpu_time" if value.is_truthy()? => options.measure_cpu_time(),
            "measure_cpu_time" => options,
            "thread_limit" => options.thread_limit(value.extract().map_err(wrong)?),
            "own_threads" => options.own_threads(value.extract().map_err(wrong)?),
            "descriptor_limit" => options.descriptor_limit(value.extract().map_err(wrong)?),
            "depth_limit" => options.depth_limit(value.extract().map_err(wrong)?),
            "exclusive" if !value.is_truthy()? => options,
            "exclusive" if value.is_instance_of::<pyo3::types::PyBool>() => options.exclusive(None),
            "exclusive" => options.exclusive(seconds(&value).map_err(wrong)?),
            "policy" => options.policy(policy(py, value.cast::<PyString>()?.to_str()?)?),
            "seal" => options.seal(value.is_truthy()?),
            "arguments" => options.arguments(value.extract::<Vec<String>>().map_err(wrong)?),
            "environment" => {
                let pairs: Vec<(String, String)> =
                    value.cast::<PyDict>()?.items().extract().map_err(wrong)?;
                pairs.iter().fold(options, |options, (name, value)| options.environment(name, value))
            }
            "directories" => {
                for (guest, host) in value.cast::<PyDict>()? {
                    let guest: String = guest.extract().map_err(wrong)?;
                    let (host, access) = directory(&host).map_err(wrong)?;
                    let granted = grants.directory(&guest, host, access);
                    grants = granted.map_err(|error| errors::plain(py, "OptionError", &error))?;
                }
                options
            }
            "registry" => {
                let given = value.cast::<PyTuple>()?;
                let registry = given.get_item(0)?.cast_into::<Registry>()?;
                let principal = given.get_item(1)?.cast_into::<Principal>()?;
                options.registry(registry.get().inner(), principal.get().inner().clone())
            }
            "streams" => {
                if value.is_truthy()? {
                    grants = grants
                        .standard_streams()
                        .map_err(|error| errors::plain(py, "OptionError", &error))?;
                }
                options
            }
            _ => {
                return Err(errors::plain(
                    py,
                    "OptionError",
                    &format_args!("domains have no option {name:?}"),
                ));
            }
        };
    }
    Ok(options.grants(grants))
}

/// Whether these options ask for one caller at a time.
pub fn is_exclusive(given: &Bound<'_, PyDict>) -> PyResult<bool> {
    given.get_item("exclusive")?.map_or(Ok(false), |value| value.is_truthy())
}

/// A host directory, alone (read only) or with "r" or "rw".
fn directory(given: &Bound<'_, PyAny>) -> PyResult<(PathBuf, Access)> {
    let Ok((path, mode)) = given.extract::<(PathBuf, String)>() else {
        return Ok((given.extract()?, Access::ReadOnly));
    };
    let access = match mode.as_str() {
        "r" => Access::ReadOnly,
        "rw" => Access::ReadWrite,
        _ => {
            return Err(pyo3::exceptions::PyValueError::new_err(format!(
                "{mode:?} is neither \"r\" nor \"rw\""
            )));
        }
    };
    Ok((path, access))
}

/// A number of seconds.
pub fn seconds(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let seconds: f64 = value.extract()?;
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| pyo3::exceptions::PyValueError::new_err(format!("{seconds} is no number of seconds")))
}

/// A policy by its name, perhaps followed by `+counted` or `+timed`.
pub fn policy(py: Python<'_>, name: &str) -> PyResult<Policy> {
    let mut parts = name.split('+');
    let mut policy = match parts.next().unwrap_or_default() {
        "mutual distrust" => Policy::MUTUAL_DISTRUST,
        "server trusted" => Policy::SERVER_TRUSTED,
        "integrity" => Policy::INTEGRITY,
        "mutual trust" => Policy::MUTUAL_TRUST,
        other => {
            let known = "mutual distrust, server trusted, integrity, mutual trust";
            return Err(errors::plain(
                py,
                "OptionError",
                &format_args!("no policy {other:?}; there are {known}"),
            ));
        }
    };
    for part in parts {
        policy = match part {
            "counted" => policy.counted(),
            "timed" => policy.timed(),
            other => {
                return Err(errors::plain(
                    py,
                    "OptionError",
                    &format_args!("a policy is counted or timed, not {other:?}"),
                ));
            }
        };
    }
    Ok(policy)
}

/// What a domain gets when its call of another fails: a number, or None to end its own call, too.
pub fn on_failure(given: Option<u64>) -> OnFailure {
    given.map_or(OnFailure::Propagate, OnFailure::Return)
}

/// Rights by "r" or "rw".
pub fn rights(py: Python<'_>, name: &str) -> PyResult<Rights> {
    match name {
        "r" => Ok(Rights::Read),
        "rw" => Ok(Rights::ReadWrite),
        _ => Err(errors::plain(py, "OptionError", &format_args!("rights are \"r\" or \"rw\", not {name:?}"))),
    }
}

/// The letters of rights.
pub fn letters(rights: Rights) -> &'static str {
    match rights {
        Rights::Read => "r",
        Rights::ReadWrite => "rw",
    }
}
