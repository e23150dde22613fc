//! What Python sees of a domain.
use crate::buffer_sys::Region;
use crate::callback::{self, Import, Pin};
use crate::caller::Lent;
use crate::domain::Domain;
use crate::interpreter_sys::detach;
use crate::kinds::Given;
use crate::live::Live;
use crate::module::Module;
use crate::pool::Pool;
use crate::region::Grant;
use crate::registry::Registry;
use crate::scratch::calls_left;
use crate::{errors, options, values};
use pyo3::PyTraverseError;
use pyo3::exceptions::PyBaseException;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

#[pymethods]
impl Domain {
    /// A new instance of a module, or one of a pool, which has options and imports.
    #[new]
    #[pyo3(signature = (source, options=None, imports=None))]
    fn new(
        source: &Bound<'_, PyAny>,
        options: Option<&Bound<'_, PyDict>>,
        imports: Option<Vec<Import>>,
    ) -> PyResult<Domain> {
        let py = source.py();
        if let Ok(pool) = source.cast::<Pool>() {
            let (live, module) = pool.get().take(py)?;
            return Ok(Domain::of(
                live,
                module,
                pool.get().is_exclusive(),
                Vec::new(),
                vec![source.clone().unbind()],
            ));
        }
        if let Ok(lent) = source.cast::<Lent>() {
            let taken = lent.get().take(py)?;
            let (kept, module) =
                taken.ok_or_else(|| errors::plain(py, "Closed", &"the call has returned"))?;
            // Whether its calls may have to wait is not known.
            return Ok(Domain::of(Live::Lent(kept), module, true, Vec::new(), Vec::new()));
        }
        let module = source.cast::<Module>()?;
        let given = options.map_or_else(|| PyDict::new(py), Clone::clone);
        // Imports that the registry answers may be functions of Python's.
        let registry = given.get_item("registry")?.map(|pair| pair.get_item(0)).transpose()?;
        let registry = registry.map(|registry| registry.cast_into::<Registry>()).transpose()?;
        let kept = registry.iter().map(|registry| registry.get().hosts(py)).collect();
        let exclusive = values::is_exclusive(&given)?;
        let (options, answers) =
            callback::answer(py, options::domain(py, &given)?, imports.unwrap_or_default())?;
        let inner = module.get().inner().clone();
        let made = detach(py, || lockgate::Domain::new(&inner, options));
        let live = made.map_err(|error| errors::create(py, error))?;
        Ok(Domain::of(Live::Own(live), module.clone().unbind(), exclusive, answers, kept))
    }

    /// The object is made: what the domain calls from now on is told of it.
    fn _know(slf: &Bound<'_, Self>) -> PyResult<()> {
        Domain::know(slf)
    }

    /// Name in reports.
    #[getter(name)]
    fn get_name(&self) -> &str {
        self.name()
    }

    /// The module.
    #[getter(module)]
    fn get_module(&self, py: Python<'_>) -> Py<Module> {
        self.module().clone_ref(py)
    }

    /// True once it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.is_closed()
    }

    /// Address that the domain's pointers start from.
    #[getter]
    fn base(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.live(py)?.base())
    }

    /// Number of calls in progress, on all threads.
    #[getter]
    fn threads_inside(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.live(py)?.threads_inside())
    }

    /// System calls that the module tried and that do not exist for it: number and how often.
    #[getter]
    fn refused_syscalls(&self, py: Python<'_>) -> PyResult<Vec<(u64, u64)>> {
        Ok(self.live(py)?.refused_syscalls())
    }

    /// What the module tried that was not granted, such as ``connect to 10.0.0.1:80``, and how often.
    #[getter]
    fn denied(&self, py: Python<'_>) -> PyResult<Vec<(String, u64)>> {
        Ok(self.live(py)?.denied())
    }

    /// What ended the last of the calls that went on without their callers and ended by a fault, as an exception, or None.
    #[getter]
    fn detached_fault(&self, py: Python<'_>) -> PyResult<Option<Py<PyBaseException>>> {
        let fault = self.live(py)?.detached_fault();
        Ok(fault.map(|fault| errors::fault(py, &fault, &fault.to_string()).into_value(py)))
    }

    fn _usage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let live = self.live(py)?;
        self.scratch().settle(&live);
        let usage = live.usage();
        let table = PyDict::new(py);
        table.set_item("memory", usage.memory)?;
        table.set_item("peak_memory", usage.peak_memory)?;
        table.set_item("memory_limit", usage.memory_limit)?;
        table.set_item("threads", usage.threads)?;
        table.set_item("descriptors", usage.descriptors)?;
        table.set_item("calls", usage.calls)?;
        table.set_item("cpu_time", usage.cpu_time.map(|time| time.as_secs_f64()))?;
        table.set_item("detached", usage.detached)?;
        table.set_item("detached_ended", usage.detached_ended)?;
        table.set_item("detached_failed", usage.detached_failed)?;
        table.set_item("detached_settled", usage.detached_settled)?;
        Ok(table)
    }

    /// How many calls have gone on without their callers, and how many of them, in this order, have ended.
    fn _calls_left(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let live = self.live(py)?;
        Ok(calls_left(&live))
    }

    /// Allocates memory with the module's own allocator; its address.
    fn _alloc(&self, py: Python<'_>, size: usize) -> PyResult<u64> {
        let live = self.live(py)?;
        let pointer = detach(py, || live.alloc::<u8>(size));
        pointer.map(lockgate::Pointer::address).map_err(|error| errors::alloc(py, error))
    }

    /// Frees what the module's allocator gave.
    fn _free(&self, py: Python<'_>, address: u64) -> PyResult<()> {
        let live = self.live(py)?;
        let freed = detach(py, || live.free(lockgate::Pointer::<u8>::from_address(address)));
        freed.map_err(|error| errors::alloc(py, error))
    }

    /// Copies bytes out of the domain.
    fn _read<'py>(&self, py: Python<'py>, address: u64, length: usize) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.live(py)?.read_slice(lockgate::Pointer::<u8>::from_address(address), length);
        let bytes = bytes.map_err(|error| errors::memory(py, error))?;
        Ok(PyBytes::new(py, &bytes.trust("bytes, whatever they are; Python's caller judges them")))
    }

    /// Copies bytes into the domain.
    fn _write(&self, py: Python<'_>, address: u64, bytes: &[u8]) -> PyResult<()> {
        let written = self.live(py)?.write_slice(lockgate::Pointer::<u8>::from_address(address), bytes);
        written.map_err(|error| errors::memory(py, error))
    }

    /// Copies a string out of the domain, without its terminating zero.
    fn _string<'py>(&self, py: Python<'py>, address: u64, limit: usize) -> PyResult<Bound<'py, PyBytes>> {
        let text = self.live(py)?.read_string(lockgate::Pointer::from_address(address), limit);
        let text = text.map_err(|error| errors::memory(py, error))?;
        Ok(PyBytes::new(py, text.trust("bytes, whatever they are; Python's caller judges them").to_bytes()))
    }

    fn _grant(slf: &Bound<'_, Self>, region: &Bound<'_, Region>, rights: &str) -> PyResult<Grant> {
        let py = slf.py();
        let (rights, live) = (values::rights(py, rights)?, slf.get().live(py)?);
        let grant = live.grant(region.get().inner(), rights).map_err(|error| errors::grant(py, error))?;
        Ok(Grant::new(slf.get().hold(grant), slf.clone().unbind(), region.clone().unbind()))
    }

    /// The same as long as the region's object lives.
    fn _share(slf: &Bound<'_, Self>, region: &Bound<'_, Region>, rights: &str) -> PyResult<()> {
        let py = slf.py();
        let (rights, live) = (values::rights(py, rights)?, slf.get().live(py)?);
        let grant = live.grant(region.get().inner(), rights).map_err(|error| errors::grant(py, error))?;
        region.get().end_with(slf.get().hold(grant));
        Ok(())
    }

    /// Makes a Python function callable by the domain, as long as the result lives.
    fn _callback(
        slf: &Bound<'_, Self>,
        prototype: &str,
        kinds: Vec<Given>,
        function: Py<PyAny>,
    ) -> PyResult<Pin> {
        Pin::of_python(slf, prototype, kinds, function)
    }

    #[pyo3(signature = (server, prototype, policy, on_failure))]
    fn _function_pointer(
        slf: &Bound<'_, Self>,
        server: &Bound<'_, Domain>,
        prototype: &str,
        policy: &str,
        on_failure: Option<u64>,
    ) -> PyResult<Pin> {
        let py = slf.py();
        let (live, other) = (slf.get().live(py)?, server.get().live(py)?);
        let (policy, on_failure) = (values::policy(py, policy)?, values::on_failure(on_failure));
        let callback = live.function_pointer(&other, prototype, policy, on_failure);
        Pin::new(
            slf,
            callback.map_err(|error| errors::link(py, error))?,
            None,
            Some((server.clone().unbind(), other.base())),
        )
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(self.module())?;
        self.scratch().traverse(&visit)?;
        self.traverse(&visit)
    }

    fn __clear__(&self) {
        self.forget_answers();
        self.scratch().forget_pins();
    }

    #[pyo3(signature = (import, server, name, policy, on_failure))]
    fn _link(
        &self,
        import: &str,
        server: &Bound<'_, Domain>,
        name: &str,
        policy: &str,
        on_failure: Option<u64>,
    ) -> PyResult<()> {
        let py = server.py();
        let (live, other) = (self.live(py)?, server.get().live(py)?);
        let (policy, on_failure) = (values::policy(py, policy)?, values::on_failure(on_failure));
        live.link(import, &other, name, policy, on_failure).map_err(|error| errors::link(py, error))?;
        self.keep(server.clone().into_any().unbind());
        Ok(())
    }

    /// Ends all calls in progress, on any thread, and refuses new ones. Constructors that a reset on another thread runs end, too, and the
    /// domain is closed.
    fn kill(&self, py: Python<'_>) -> PyResult<()> {
        self.kill_all(py)
    }

    /// Ends the domain for good. Calls in progress raise `Killed`, later ones `Closed`. Nothing happens the second time.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.end(py)
    }

    /// Gives a domain of a pool back, and is closed. One with a call in progress is ended in place of that.
    fn _give_back(&self, py: Python<'_>) -> PyResult<()> {
        self.give_back(py)
    }

    /// Returns the domain to its pristine image. Functions stay usable; callbacks are given anew when they are used; grants are
    /// revoked. `Busy`, and nothing has changed, if a call is in progress or being prepared, on any thread, or if functions of it
    /// are exported or linked.
    #[pyo3(name = "reset")]
    fn py_reset(slf: &Bound<'_, Self>) -> PyResult<()> {
        let done = slf.get().reset(slf.py());
        Domain::know(slf).and(done)
    }

    fn __repr__(&self) -> String {
        let closed = if self.is_closed() { ", closed" } else { "" };
        format!("<lockgate.Domain {:?}{closed}>", self.name())
    }
}
