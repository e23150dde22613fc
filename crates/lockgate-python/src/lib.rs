//! The native half of Lockgate's Python package: modules, domains, functions, shared memory, callbacks and the registry as Python objects.
//!
//! The other half, in `python/lockgate/`, knows ctypes: it turns its types into what is here called *kinds*, once for each
//! function. A call then takes one way: `function` converts arguments by their kinds, has `scratch` copy what is passed by
//! reference, lets go of the GIL, calls, and converts the result. Errors become exceptions in `errors`.

mod asynchronous;
mod binding;
mod buffer_sys;
mod callback;
mod caller;
mod changes;
mod domain;
mod domain_methods;
mod errors;
mod function;
mod held;
mod interpreter_sys;
mod kinds;
mod known;
mod live;
mod module;
mod offer;
mod options;
mod pointer;
mod pool;
mod principal;
mod region;
mod registry;
mod remote;
mod scratch;
mod values;

use memchr as _; // Cargo.toml says why
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes};
use unicode_ident as _; // as above

/// Native classes of the package `lockgate`; use that.
#[pymodule]
#[pyo3(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    interpreter_sys::only_main(module.py())?;
    let py = module.py();
    // What is registered first is called last.
    py.import("atexit")?.call_method1("register", (wrap_pyfunction!(interpreter_sys::ending, module)?,))?;
    let named = [("after_in_child", wrap_pyfunction!(interpreter_sys::forked, module)?)].into_py_dict(py)?;
    py.import("os")?.call_method("register_at_fork", (), Some(&named))?;
    module.add_class::<module::Module>()?;
    module.add_class::<domain::Domain>()?;
    module.add_class::<pointer::Pointer>()?;
    module.add_class::<function::Function>()?;
    module.add_class::<callback::Pin>()?;
    module.add_class::<caller::Lent>()?;
    module.add_class::<buffer_sys::Region>()?;
    module.add_class::<region::Grant>()?;
    module.add_class::<pool::Pool>()?;
    module.add_class::<registry::Registry>()?;
    module.add_class::<registry::Found>()?;
    module.add_class::<remote::Remote>()?;
    module.add_class::<remote::Called>()?;
    module.add_class::<remote::Served>()?;
    module.add_class::<principal::Principal>()?;
    module.add_class::<principal::Token>()?;
    module.add_class::<principal::Allow>()?;
    module.add_class::<asynchronous::Workers>()?;
    module.add_class::<asynchronous::Call>()?;
    module.add_class::<errors::Trace>()?;
    module.add_function(wrap_pyfunction!(module::signature, module)?)?;
    module.add_function(wrap_pyfunction!(check_memory, module)?)?;
    module.add_function(wrap_pyfunction!(copied, module)?)?;
    module.add_function(wrap_pyfunction!(claim_signals, module)?)?;
    module.add("OPTIMISED", !cfg!(debug_assertions))?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}

/// Whether a domain may have this buffer, as for arguments.
#[pyfunction]
fn check_memory(object: &Bound<'_, PyAny>) -> PyResult<()> {
    buffer_sys::View::of(object).map(drop)
}

/// The bytes of a buffer, for a domain to have.
#[pyfunction]
fn copied<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let py = object.py();
    match buffer_sys::View::copied(object) {
        Ok(bytes) => Ok(PyBytes::new(py, &bytes)),
        Err(error)
            if error.is_instance_of::<PyTypeError>(py) || error.is_instance_of::<PyBufferError>(py) =>
        {
            let refused = errors::plain(py, "ArgumentError", error.value(py));
            refused.set_cause(py, Some(error));
            Err(refused)
        }
        Err(error) => Err(error),
    }
}

/// Puts Lockgate's handlers for faults in front of handlers that were installed since.
#[pyfunction]
fn claim_signals(py: Python<'_>) -> PyResult<()> {
    lockgate::claim_signals().map_err(|error| errors::call(py, error))
}
