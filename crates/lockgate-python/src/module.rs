//! Modules, and what their notes say.
use crate::errors;
use crate::interpreter_sys::detach;
use lockgate::signature::Signature;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;

/// A verified module: code that may run in domains.
#[pyclass(frozen, subclass, module = "lockgate._native")]
pub struct Module(Arc<lockgate::Module>);

impl Module {
    pub fn inner(&self) -> &Arc<lockgate::Module> {
        &self.0
    }
}

impl From<Arc<lockgate::Module>> for Module {
    fn from(inner: Arc<lockgate::Module>) -> Module {
        Module(inner)
    }
}

#[pymethods]
impl Module {
    #[new]
    #[pyo3(signature = (path=None, *, image=None))]
    fn new(py: Python<'_>, path: Option<PathBuf>, image: Option<&[u8]>) -> PyResult<Module> {
        let module = match (path, image) {
            (Some(path), None) => detach(py, || lockgate::Module::open(path)),
            (None, Some(image)) => detach(py, || lockgate::Module::from_bytes(image)),
            _ => return Err(errors::plain(py, "OptionError", &"a module has either a path or an image")),
        };
        module.map(Module).map_err(|error| errors::load(py, error))
    }

    /// File name, or "module" for one made from bytes.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Names of the functions that can be called, each with its C prototype, or None if the module does not say.
    #[getter]
    fn exports<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        table(py, self.0.exports())
    }

    /// The same of host functions that the module calls.
    #[getter]
    fn imports<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        table(py, self.0.imports())
    }

    /// The name of an export that `name` may have been meant for, among those that are worth a look.
    fn _near(&self, py: Python<'_>, name: &str) -> Option<String> {
        detach(py, || lockgate::nearest(name, self.0.exports().map(|(name, _)| name)))
    }

    fn __repr__(&self) -> String {
        format!("<lockgate.Module {:?}>", self.0.name())
    }
}

fn table<'py, 'a>(
    py: Python<'py>,
    entries: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    for (name, prototype) in entries {
        table.set_item(name, prototype)?;
    }
    Ok(table)
}

/// Name, result and parameters of a C prototype, each type as calls see it: `int32_t`, `double`, `void *`, `struct { … }`.
#[pyfunction]
pub fn signature(py: Python<'_>, prototype: &str) -> PyResult<(String, String, Vec<String>)> {
    let parsed = prototype.parse::<Signature>().map_err(|error| errors::bind(py, error.into()))?;
    let parameters = parsed.parameters.iter().map(ToString::to_string).collect();
    Ok((parsed.name, parsed.result.to_string(), parameters))
}
