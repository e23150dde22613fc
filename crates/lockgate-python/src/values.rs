//! Options that are one value: times, policies, rights.
use crate::errors;
use lockgate::{CallLimit, Expiry, OnFailure, Policy, Rights};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::time::Duration;

/// Whether these options ask for one caller at a time.
pub fn is_exclusive(given: &Bound<'_, PyDict>) -> PyResult<bool> {
    given.get_item("exclusive")?.map_or(Ok(false), |value| value.is_truthy())
}

/// A number of seconds.
pub fn seconds(value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let seconds: f64 = value.extract()?;
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| pyo3::exceptions::PyValueError::new_err(format!("{seconds} is no number of seconds")))
}

/// Whether calls go on beyond the limit.
pub fn leaves(given: &Option<(Bound<'_, PyAny>, String)>) -> bool {
    given.as_ref().is_some_and(|(_, on_expiry)| on_expiry == "detach")
}

/// How long the caller waits, in seconds, and what becomes of a call then.
pub fn call_limit(py: Python<'_>, given: Option<(Bound<'_, PyAny>, String)>) -> PyResult<Option<CallLimit>> {
    let Some((time, on_expiry)) = given else { return Ok(None) };
    let on_expiry = match on_expiry.as_str() {
        "stop" => Expiry::Stop,
        "detach" => Expiry::Detach,
        other => {
            let text = format_args!("on_expiry is \"stop\" or \"detach\", not {other:?}").to_string();
            return Err(errors::plain(py, "OptionError", &text));
        }
    };
    Ok(Some(CallLimit::new(seconds(&time)?).on_expiry(on_expiry)))
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
