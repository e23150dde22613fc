//! Options of domains, by name.
use crate::errors;
use crate::interpreter_sys::detach;
use crate::principal::Principal;
use crate::registry::Registry;
use crate::values::{policy, seconds};
use lockgate::DomainOptions;
use lockgate::syscall::{Access, Grants};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyTuple};
use std::path::PathBuf;

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
            "detached_limit" => options.detached_limit(seconds(&value).map_err(wrong)?),
            "cpu_limit" => options.cpu_limit(seconds(&value).map_err(wrong)?),
            "measure_cpu_time" if value.is_truthy()? => options.measure_cpu_time(),
            "measure_cpu_time" => options,
            "thread_limit" => options.thread_limit(value.extract().map_err(wrong)?),
            "max_guest_threads" => options.max_guest_threads(value.extract().map_err(wrong)?),
            "descriptor_limit" => options.descriptor_limit(value.extract().map_err(wrong)?),
            "mapping_limit" => options.mapping_limit(value.extract().map_err(wrong)?),
            "depth_limit" => options.depth_limit(value.extract().map_err(wrong)?),
            "umask" => options.umask(value.extract().map_err(wrong)?),
            "exclusive" if !value.is_truthy()? => options,
            "exclusive" if value.is_instance_of::<pyo3::types::PyBool>() => options.exclusive(None),
            "exclusive" => options.exclusive(seconds(&value).map_err(wrong)?),
            "policy" => {
                let asked: String = value.extract().map_err(wrong)?;
                options.policy(policy(py, &asked)?)
            }
            "seal" => options.seal(value.is_truthy()?),
            "arguments" => options.arguments(value.extract::<Vec<String>>().map_err(wrong)?),
            "environment" => {
                let pairs: Vec<(String, String)> =
                    items(&value).and_then(|items| items.extract()).map_err(wrong)?;
                pairs.iter().fold(options, |options, (name, value)| options.environment(name, value))
            }
            "directories" => {
                for entry in items(&value).map_err(wrong)? {
                    let (guest, host): (String, Bound<'_, PyAny>) = entry.extract().map_err(wrong)?;
                    let (host, access) = directory(&host).map_err(wrong)?;
                    let granted = detach(py, || grants.directory(&guest, host, access));
                    grants = granted.map_err(|error| errors::plain(py, "OptionError", &error))?;
                }
                options
            }
            "listen" | "connect" => {
                for address in value.extract::<Vec<String>>().map_err(wrong)? {
                    // (The resolver may take its time.)
                    let granted = detach(py, || match name.as_str() {
                        "listen" => grants.listen(&address),
                        _ => grants.connect(&address),
                    });
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

/// What a mapping has at this moment: to look at its values may run code of the program's, and lets other threads run.
fn items<'py>(given: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    given.cast::<PyMapping>()?.items()
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
