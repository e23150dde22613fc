//! Entry points by name.
use crate::domain::Domain;
use crate::interpreter_sys::detach;
use crate::kinds::Given;
use crate::offer::{Answer, Offer};
use crate::principal::{Allow, Principal};
use crate::{errors, values};
use lockgate::{Dynamic, Export, PerProcess, Rebind, RegistryError, Request, Revoke, Version};
use lockgate_kernel::locked;
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyList;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How often a thread that waits looks whether the user has interrupted it.
const LOOK: Duration = Duration::from_millis(50);

/// A set of names. The Python half derives `lockgate.Registry` from it.
#[pyclass(frozen, subclass, module = "lockgate._native")]
pub struct Registry {
    inner: lockgate::Registry,
    /// Names, and the domains that serve them. Only taken with the GIL, and nothing is allocated under it.
    servers: Mutex<Vec<(String, Py<Domain>)>>,
    /// For a thread that changes the runtime's registry and the servers together; held and waited for without the GIL, so that a
    /// thread may fork meanwhile.
    changing: PerProcess<Mutex<()>>,
    /// The [`Answer`]s of functions of Python's that are exported, a list.
    hosts: Py<PyList>,
}

/// What a client asks for: name, version, policy, whether it rebinds, and what a domain gets when its call fails.
type Asked = (String, Option<(u16, u16)>, String, bool, Option<u64>);

fn request(
    py: Python<'_>,
    (name, version, policy, rebind, on_failure): Asked,
    rebound: Rebind,
) -> PyResult<Request> {
    let request = match version {
        Some((major, minor)) => Request::new(name, Version::new(major, minor)),
        None => Request::newest(name),
    };
    let policy = values::policy(py, &policy)?;
    let rebind = if rebind { rebound } else { Rebind::No };
    Ok(request.policy(policy).rebind(rebind).on_failure(values::on_failure(on_failure)))
}

/// What is to be exported.
fn export(
    py: Python<'_>,
    name: &str,
    (major, minor): (u16, u16),
    policy: &str,
    allow: &[Py<Allow>],
) -> PyResult<Export> {
    let export = Export::new(name, Version::new(major, minor)).policy(values::policy(py, policy)?);
    Ok(allow.iter().fold(export, |export, allow| export.allow(allow.get().inner().clone())))
}

/// What says that a name was not there in time.
pub trait Lateness {
    fn is_late(&self) -> bool;
}

impl Lateness for RegistryError {
    fn is_late(&self) -> bool {
        matches!(self, RegistryError::Late { .. })
    }
}

/// Asks again and again until `wait` is over, so that Ctrl-C interrupts it. `raised` makes an exception of an error.
pub fn ask_in_slices<T: Send, E: Lateness + Send>(
    py: Python<'_>,
    name: &str,
    wait: Option<&Bound<'_, PyAny>>,
    ask: impl Fn(Duration) -> Result<T, E> + Sync,
    raised: impl Fn(E) -> PyErr,
) -> PyResult<T> {
    let wait = wait.map(values::seconds).transpose()?.unwrap_or_default();
    let end = Instant::now().checked_add(wait);
    loop {
        let left = end.map_or(LOOK, |end| end.saturating_duration_since(Instant::now()));
        // Without a timeout, the answer to an unknown name is another one.
        let slice = if wait.is_zero() { wait } else { left.clamp(Duration::from_nanos(1), LOOK) };
        match detach(py, || ask(slice)) {
            Err(error) if error.is_late() && end.is_none_or(|end| Instant::now() < end) => {
                py.check_signals()?;
            }
            Err(error) if error.is_late() => {
                return Err(errors::registry(
                    py,
                    RegistryError::Late { name: name.to_owned(), timeout: wait },
                ));
            }
            other => return other.map_err(raised),
        }
    }
}

impl Registry {
    pub fn inner(&self) -> &lockgate::Registry {
        &self.inner
    }

    fn servers(&self) -> MutexGuard<'_, Vec<(String, Py<Domain>)>> {
        locked(&self.servers)
    }

    fn changing(&self, py: Python<'_>) -> MutexGuard<'_, ()> {
        self.changing.lock_py_attached(py).unwrap_or_else(|e| e.into_inner())
    }

    /// What keeps the functions of Python's that are exported.
    pub fn hosts(&self, py: Python<'_>) -> Py<PyAny> {
        self.hosts.clone_ref(py).into_any()
    }

    /// The domain called `name`.
    fn server(&self, py: Python<'_>, name: &str) -> PyResult<Py<Domain>> {
        let changing = self.changing(py);
        let found = self.servers().iter().find(|(_, d)| d.get().name() == name).map(|(_, d)| d.clone_ref(py));
        drop(changing);
        found.ok_or_else(|| errors::registry(py, RegistryError::UnknownDomain(name.to_owned())))
    }

    /// Changes the runtime's registry, and forgets the servers for which `goes` is true of name and domain.
    fn change(
        &self,
        py: Python<'_>,
        change: impl FnOnce() -> Result<(), RegistryError> + Send,
        goes: impl Fn(&str, &Domain) -> bool,
    ) -> PyResult<Vec<(String, Py<Domain>)>> {
        let changing = self.changing(py);
        let done = detach(py, change);
        let gone =
            done.map(|()| self.servers().extract_if(.., |(name, domain)| goes(name, domain.get())).collect());
        drop(changing);
        gone.map_err(|error| errors::registry(py, error))
    }
}

#[pymethods]
impl Registry {
    #[new]
    #[pyo3(signature = (process=false))]
    fn new(py: Python<'_>, process: bool) -> Registry {
        let inner = if process { lockgate::Registry::process().clone() } else { lockgate::Registry::new() };
        let hosts = PyList::empty(py).unbind();
        Registry { inner, servers: Mutex::default(), changing: PerProcess::default(), hosts }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.hosts)?;
        self.servers().iter().try_for_each(|(_, domain)| visit.call(domain))
    }

    fn __clear__(&self) {
        let servers = std::mem::take(&mut *self.servers());
        drop(servers); // after the lock: Python objects go
    }

    /// Names and versions, in order.
    fn names(&self, py: Python<'_>) -> Vec<(String, (u16, u16))> {
        let names = detach(py, || self.inner.names());
        names.into_iter().map(|(name, version)| (name, (version.major, version.minor))).collect()
    }

    /// Exports a function of a domain.
    fn _export(
        &self,
        domain: &Bound<'_, Domain>,
        name: &str,
        version: (u16, u16),
        of: Option<&str>,
        policy: &str,
        allow: Vec<Py<Allow>>,
    ) -> PyResult<()> {
        let py = domain.py();
        let live = domain.get().live(py)?;
        let mut export = export(py, name, version, policy, &allow)?;
        if let Some(of) = of {
            export = export.of(of);
        }
        let changing = self.changing(py);
        let done = detach(py, || self.inner.export(&live, export));
        if done.is_ok() {
            self.servers().push((name.to_owned(), domain.clone().unbind()));
        }
        drop(changing);
        done.map_err(|error| errors::registry(py, error))
    }

    /// Exports a function of Python's.
    #[allow(clippy::too_many_arguments, reason = "what the Python half knows, once")]
    fn _export_host(
        &self,
        py: Python<'_>,
        function: Py<PyAny>,
        prototype: &str,
        kinds: Vec<Given>,
        name: &str,
        version: (u16, u16),
        allow: Vec<Py<Allow>>,
    ) -> PyResult<()> {
        let offer = Offer::new(py, prototype, kinds)?;
        offer.set(function);
        let export = export(py, name, version, "mutual trust", &allow)?;
        let done = detach(py, || self.inner.export_host(offer.function().clone(), export));
        done.map_err(|error| errors::registry(py, error))?;
        // Those that are not called any more make room.
        let hosts = self.hosts.bind(py);
        for at in (0..hosts.len()).rev() {
            if !hosts.get_item(at)?.cast::<Answer>()?.get().is_used() {
                hosts.del_item(at)?;
            }
        }
        hosts.append(Answer::new(py, &offer)?)
    }

    /// Binds a function of a domain, with the exporter's signature or by `prototype`.
    fn _bind(
        &self,
        py: Python<'_>,
        principal: &Bound<'_, Principal>,
        asked: Asked,
        wait: Option<&Bound<'_, PyAny>>,
        prototype: Option<&str>,
        limit: Option<(Bound<'_, PyAny>, String)>,
    ) -> PyResult<Found> {
        let (name, rebinds, principal) = (asked.0.clone(), asked.3, principal.get().inner());
        // Arguments are made for one instance, which the call enters, or none.
        let request = request(py, asked, Rebind::OnRequest)?;
        let leaves = values::leaves(&limit);
        let request = match values::call_limit(py, limit)? {
            Some(limit) => request.within(limit),
            None => request,
        };
        let signature = prototype.map(|text| text.parse()).transpose();
        let signature =
            signature.map_err(|error: lockgate::signature::PrototypeError| errors::bind(py, error.into()))?;
        let ask = |slice| {
            let request = request.clone().wait(slice);
            match &signature {
                Some(signature) => self.inner.bind_signature(principal, &request, signature),
                None => self.inner.bind_described(principal, &request),
            }
        };
        let dynamic = ask_in_slices(py, &name, wait, ask, |error| errors::registry(py, error))?;
        let domain = self.server(py, dynamic.domain_name())?;
        Ok(Found { dynamic, domain, rebinds, leaves })
    }

    /// Answers an import of a domain.
    fn _link(
        &self,
        domain: &Bound<'_, Domain>,
        import: &str,
        principal: &Bound<'_, Principal>,
        asked: Asked,
        wait: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let py = domain.py();
        let (live, principal, name) = (domain.get().live(py)?, principal.get().inner(), asked.0.clone());
        let request = request(py, asked, Rebind::Yes)?;
        let ask = |slice| self.inner.link(&live, import, principal, &request.clone().wait(slice));
        ask_in_slices(py, &name, wait, ask, |error| errors::registry(py, error))?;
        domain.get().keep(self.hosts(py));
        let changing = self.changing(py);
        let named = |(known, server): &(String, Py<Domain>)| (*known == name).then(|| server.clone_ref(py));
        let servers: Vec<_> = self.servers().iter().filter_map(named).collect();
        drop(changing);
        servers.into_iter().for_each(|server| domain.get().keep(server.into_any()));
        Ok(())
    }

    /// Takes every version of a name back: it cannot be bound any more. What is bound stays.
    fn unexport(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.change(py, || self.inner.unexport(name), |known, _| known == name).map(drop)
    }

    /// The same, and calls of what is bound raise `Revoked`. Calls in progress finish, or end at once with `stop`.
    #[pyo3(signature = (name, stop=false))]
    fn revoke(&self, py: Python<'_>, name: &str, stop: bool) -> PyResult<()> {
        let calls = if stop { Revoke::Stop } else { Revoke::Finish };
        self.change(py, || self.inner.revoke(name, calls), |known, _| known == name).map(drop)
    }

    /// Ends the domain called `name`, with everything that it exports.
    fn remove(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let gone = self.change(py, || self.inner.remove(name), |_, domain| domain.name() == name)?;
        gone.iter().try_for_each(|(_, domain)| domain.get().end(py))
    }

    /// Ends the instance behind the domain called `name`, and starts another one; the domain.
    fn restart(&self, py: Python<'_>, name: &str) -> PyResult<Py<Domain>> {
        let domain = self.server(py, name)?;
        let new = detach(py, || self.inner.restart(name)).map_err(|error| errors::registry(py, error))?;
        Domain::renew(domain.bind(py), new)?;
        Ok(domain)
    }

    /// How often the domain called `name` may be restarted: `most` times in any `within` seconds. Three times a minute by
    /// default.
    fn limit_restarts(
        &self,
        py: Python<'_>,
        name: &str,
        most: usize,
        within: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let within = values::seconds(within)?;
        let done = detach(py, || self.inner.limit_restarts(name, most, within));
        done.map_err(|error| errors::registry(py, error))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<lockgate.Registry of {} names>", self.names(py).len())
    }
}

/// A function as the registry has bound it, and the domain that serves it.
#[pyclass(frozen, module = "lockgate._native")]
pub struct Found {
    dynamic: Dynamic,
    domain: Py<Domain>,
    rebinds: bool,
    leaves: bool,
}

impl Found {
    pub fn dynamic(&self) -> &Dynamic {
        &self.dynamic
    }

    /// True if later calls go to the new instance after a restart.
    pub fn rebinds(&self) -> bool {
        self.rebinds
    }

    /// True if calls may go on without their callers.
    pub fn leaves(&self) -> bool {
        self.leaves
    }
}

#[pymethods]
impl Found {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.domain)
    }

    /// Its signature, as a prototype.
    #[getter]
    fn prototype(&self) -> String {
        self.dynamic.signature().to_string()
    }

    /// The domain that serves it.
    #[getter]
    fn domain(&self, py: Python<'_>) -> Py<Domain> {
        self.domain.clone_ref(py)
    }
}
