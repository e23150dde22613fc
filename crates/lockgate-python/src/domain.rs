//! Domains, and pointers into them.
use crate::buffer_sys::Region;
use crate::callback::{Answer, Offer, Pin, Pinned};
use crate::caller::{self, Lent};
use crate::changes::Changes;
use crate::function::{self, Binding, Slot};
use crate::interpreter_sys::detach;
use crate::kinds::Given;
use crate::live::Live;
use crate::module::Module;
use crate::pool::Pool;
use crate::region::{Grant, Held};
use crate::registry::Registry;
use crate::scratch::Scratch;
use crate::{errors, options};
use lockgate::ResetError;
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyWeakrefReference};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// A host function for an import: its name, prototype, kinds, and what answers.
pub type Import = (String, String, Vec<Given>, Py<PyAny>);

/// An instance of a module. The Python half derives `lockgate.Domain` from it.
#[pyclass(frozen, subclass, weakref, module = "lockgate._native")]
pub struct Domain {
    name: String,
    module: Py<Module>,
    /// One caller at a time: others wait.
    exclusive: bool,
    /// The process that made it: nothing is done to it in a child.
    owner: lockgate::Owner,
    /// Only taken with the interpreter's lock.
    state: Mutex<State>,
    /// Told when a reset is over.
    settled: Changes,
    scratch: Arc<Scratch>,
}

/// How often a thread that waits looks whether the user has interrupted it.
const LOOK: Duration = Duration::from_millis(50);

#[derive(Default)]
struct State {
    /// None once it is closed, and for the time of a reset.
    live: Option<Arc<Live>>,
    /// The thread that is resetting it. Others wait.
    resetting: Option<ThreadId>,
    /// What has to go before a reset.
    functions: Vec<Weak<Slot>>,
    grants: Vec<Held>,
    pinned: Vec<Weak<Pinned>>,
    offers: Vec<Arc<Offer>>,
    /// What answers imports.
    answers: Vec<Py<Answer>>,
    /// Other objects that have a part in that: linked domains, the pool, the functions of a registry.
    kept: Vec<Py<PyAny>>,
}

/// What an instance of the runtime's leaves: taken under the lock, in one go, and dropped without it, as Python objects go.
#[derive(Default)]
struct Left {
    live: Option<Arc<Live>>,
    bindings: Vec<Arc<Binding>>,
    callbacks: Vec<(lockgate::Callback, Option<Arc<Offer>>)>,
    offers: Vec<Arc<Offer>>,
    /// That the instance was this domain's.
    known: Option<Py<PyWeakrefReference>>,
}

impl State {
    /// Takes the runtime's domain out, with everything that would keep it. No code of Python's runs meanwhile.
    fn strip(&mut self) -> Left {
        self.grants.drain(..).for_each(|held| held.revoke());
        let known = self.forget();
        Left {
            known,
            live: self.live.take(),
            bindings: self
                .functions
                .iter()
                .filter_map(Weak::upgrade)
                .filter_map(|slot| slot.take())
                .collect(),
            callbacks: self.pinned.drain(..).filter_map(|one| one.upgrade()?.take()).collect(),
            offers: std::mem::take(&mut self.offers),
        }
    }

    /// Its instance is nobody's from now on; for the caller to drop.
    fn forget(&self) -> Option<Py<PyWeakrefReference>> {
        self.live.as_ref().filter(|live| !live.is_lent()).and_then(|live| caller::forget(live.base()))
    }

    /// True if somebody uses the domain whom a reset would surprise: a call is in progress, or its arguments are being converted; a
    /// worker is to make one; a registry or another domain has a function of it.
    fn in_use(&self) -> bool {
        let Some(live) = &self.live else { return false };
        let slots: Vec<_> = self.functions.iter().filter_map(Weak::upgrade).collect();
        let bound: Vec<_> = slots.iter().filter_map(|slot| slot.users()).collect();
        let pinned: usize =
            self.pinned.iter().filter_map(Weak::upgrade).map(|one| one.holds(live.base())).sum();
        live.is_lent()
            || Arc::strong_count(live) > 1
            || live.threads_inside() > 0
            || bound.iter().any(|users| *users > 1)
            || live.holders() > bound.len() + pinned
    }
}

impl Left {
    /// Drops what would keep the runtime's domain and is not Python's. The rest is for later.
    fn part(&mut self) -> Vec<Rest> {
        drop(self.known.take());
        let bindings =
            self.bindings.drain(..).filter_map(Arc::into_inner).map(|binding| Rest::Binding(binding.part()));
        let mut rest: Vec<_> = bindings.collect();
        let offers = self.callbacks.drain(..).filter_map(|(_, offer)| offer);
        rest.extend(offers.chain(self.offers.drain(..)).filter_map(|offer| offer.end()).map(Rest::Function));
        rest
    }
}

/// Python's part of what was in a domain.
#[allow(dead_code, reason = "only to be dropped")]
enum Rest {
    Binding(function::Conversions),
    Function(Py<PyAny>),
}

impl Domain {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The runtime's domain. Waits while another thread resets it.
    ///
    /// # Errors
    /// It was closed; it is a parent's; Ctrl-C while it waits.
    pub fn live(&self, py: Python<'_>) -> PyResult<Arc<Live>> {
        self.here(py)?;
        self.settle(py)?;
        let live = self.state().live.clone();
        live.ok_or_else(|| {
            errors::plain(py, "Closed", &format_args!("domain {} is closed; make a new one", self.name))
        })
    }

    /// # Errors
    /// This is a forked child, and the domain its parent's.
    pub fn here(&self, py: Python<'_>) -> PyResult<()> {
        if self.owner.is_here() {
            return Ok(());
        }
        let text = format!(
            "domain {} belongs to the parent process: a forked child cannot use it; make a new one there",
            self.name
        );
        Err(errors::plain(py, "Forked", &text))
    }

    /// Waits until nobody resets the domain: then nobody does until this thread lets go of the interpreter.
    ///
    /// # Errors
    /// This thread resets it; Ctrl-C.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        while self.owner.is_here() {
            let seen = self.settled.count();
            let resetting = self.state().resetting;
            match resetting {
                None => return Ok(()),
                Some(thread) if thread == std::thread::current().id() => return Err(self.busy(py)),
                Some(_) => {}
            }
            detach(py, || self.settled.wait(seen, LOOK));
            py.check_signals()?;
        }
        // Whoever reset it when this child was forked is not here.
        Ok(())
    }

    fn busy(&self, py: Python<'_>) -> PyErr {
        errors::plain(py, "Busy", &format_args!("domain {} is in use", self.name))
    }

    /// A place for a function's binding.
    pub fn slot(&self) -> Arc<Slot> {
        let slot = Arc::new(Slot::default());
        let functions = &mut self.state().functions;
        functions.retain(|slot| slot.strong_count() > 0);
        functions.push(Arc::downgrade(&slot));
        slot
    }

    /// Memory for what calls pass by reference.
    pub fn scratch(&self) -> &Arc<Scratch> {
        &self.scratch
    }

    /// Keeps a grant.
    pub fn hold(&self, grant: lockgate::Grant) -> Held {
        let held = Held::new(grant);
        let grants = &mut self.state().grants;
        grants.retain(Held::is_alive);
        grants.push(held.clone());
        held
    }

    /// The address of the region, which the domain must have.
    pub fn granted(&self, py: Python<'_>, region: &Bound<'_, Region>) -> PyResult<u64> {
        let offset = region.get().inner().offset();
        let held = self.state().grants.iter().find(|held| held.is_of(offset)).cloned();
        let none = || {
            pyo3::exceptions::PyTypeError::new_err("the domain does not have this region: grant() it first")
        };
        held.ok_or_else(none)?.address(0).map_err(|error| errors::grant(py, error))
    }

    /// The domain's address of the host's bytes, if it has a region that they lie in.
    pub fn shared(&self, address: usize, length: usize) -> Option<u64> {
        self.state().grants.iter().find_map(|held| held.translate(address, length))
    }

    /// Keeps an object as long as the domain is not closed: what it answers may be collected with it.
    pub fn keep(&self, object: Py<PyAny>) {
        let mut state = self.state();
        if !state.kept.iter().any(|known| known.is(&object)) {
            state.kept.push(object);
        }
    }

    /// Remembers a callback, so that a reset can take it away.
    pub fn pin(&self, pinned: &Arc<Pinned>) {
        let all = &mut self.state().pinned;
        all.retain(|pinned| pinned.strong_count() > 0);
        all.push(Arc::downgrade(pinned));
    }

    /// A place in the domain for a callback of this prototype: one that is free, or the one that `make` makes.
    pub fn offer(&self, prototype: &str, make: impl FnOnce() -> PyResult<Offer>) -> PyResult<Arc<Offer>> {
        let free = {
            let offers = &mut self.state().offers;
            offers.iter().position(|offer| offer.is_for(prototype)).map(|at| offers.swap_remove(at))
        };
        match free {
            Some(offer) => Ok(offer),
            None => make().map(Arc::new),
        }
    }

    /// Takes a place for a callback back.
    pub fn take_offer(&self, offer: Arc<Offer>) {
        self.state().offers.push(offer);
    }

    fn of(
        live: Live,
        module: Py<Module>,
        exclusive: bool,
        answers: Vec<Py<Answer>>,
        kept: Vec<Py<PyAny>>,
    ) -> Domain {
        Domain {
            name: live.name().to_owned(),
            module,
            exclusive,
            owner: lockgate::Owner::this(),
            state: Mutex::new(State { live: Some(Arc::new(live)), answers, kept, ..State::default() }),
            settled: Changes::default(),
            scratch: Arc::default(),
        }
    }

    /// What a thread of the module's own met that ended the domain.
    pub fn own_threads_end(&self, py: Python<'_>) -> Option<errors::End> {
        let live = self.state().live.clone();
        live.and_then(|live| live.own_threads_error(|error| errors::End::of(py, error)))
    }

    /// True if a call may have to wait for another thread's.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Name in reports.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Has another instance in place of the one that it had.
    ///
    /// # Errors
    /// No memory for what says so to those that it calls.
    pub fn renew(slf: &Bound<'_, Domain>, new: lockgate::Domain) -> PyResult<()> {
        let (domain, py) = (slf.get(), slf.py());
        let mut left = {
            let mut state = domain.state();
            let left = state.strip();
            state.live = Some(Arc::new(Live::Own(new)));
            left
        };
        let known = Domain::know(slf);
        domain.scratch.clear();
        let (rest, live) = (left.part(), left.live);
        detach(py, || drop(live));
        drop(rest);
        known
    }

    /// What the instance calls is told that this domain does, from now on.
    ///
    /// # Errors
    /// No memory.
    fn know(slf: &Bound<'_, Domain>) -> PyResult<()> {
        let base = slf.get().state().live.as_ref().map(|live| live.base());
        base.map_or(Ok(()), |base| caller::know(slf, base))
    }

    /// True if its instance is the one at `base`.
    pub fn is_at(&self, base: u64) -> bool {
        self.state().live.as_ref().is_some_and(|live| live.base() == base)
    }

    /// Lets go of an instance that was lent, which goes on.
    pub fn leave(&self, py: Python<'_>) {
        let mut left = self.state().strip();
        self.scratch.clear();
        let (rest, live) = (left.part(), left.live);
        detach(py, || drop(live));
        drop(rest);
    }

    /// Ends it for good.
    ///
    /// # Errors
    /// This thread resets it; Ctrl-C while another does.
    pub fn end(&self, py: Python<'_>) -> PyResult<()> {
        if !self.owner.is_here() {
            return Ok(()); // it lives on in the parent
        }
        self.settle(py)?;
        let live = self.state().live.clone();
        let Some(live) = live else { return Ok(()) };
        // Before the grants: a call in progress should find out that it was ended, not that they are gone.
        detach(py, || live.kill());
        let (mut left, _answers, _kept) = {
            let mut state = self.state();
            (state.strip(), std::mem::take(&mut state.answers), std::mem::take(&mut state.kept))
        };
        self.scratch.clear();
        let rest = left.part();
        drop(live);
        let live = left.live.map(Arc::try_unwrap);
        detach(py, || {
            if let Some(Ok(live)) = live {
                live.close();
            }
        });
        drop(rest);
        Ok(())
    }
}

/// Resets a domain that nobody uses. A thread that has ended may hold it for a moment yet.
///
/// One that could not be started again is of no use to anybody; the others can be tried again.
fn again(mut domain: lockgate::Domain) -> (Option<Live>, Result<(), ResetError>) {
    let end = Instant::now() + LOOK;
    loop {
        match domain.reset() {
            Err(ResetError::InUse(_)) if Instant::now() < end => std::thread::yield_now(),
            Err(error @ ResetError::Create(_)) => return (None, Err(error)),
            done => return (Some(Live::Own(domain)), done),
        }
    }
}

/// Options with functions of Python's for imports.
///
/// # Errors
/// A prototype that cannot be called by a domain.
pub fn answer(
    py: Python<'_>,
    mut options: lockgate::DomainOptions,
    imports: Vec<Import>,
) -> PyResult<(lockgate::DomainOptions, Vec<Py<Answer>>)> {
    let mut answers = Vec::new();
    for (name, prototype, kinds, function) in imports {
        let offer = Offer::new(py, &prototype, kinds)?;
        offer.set(function);
        options = options.gate(name, offer.function().clone());
        answers.push(Answer::new(py, &offer)?);
    }
    Ok((options, answers))
}

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
        let exclusive = options::is_exclusive(&given)?;
        let (options, answers) = answer(py, options::domain(py, &given)?, imports.unwrap_or_default())?;
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
        &self.name
    }

    /// The module.
    #[getter]
    fn module(&self, py: Python<'_>) -> Py<Module> {
        self.module.clone_ref(py)
    }

    /// True once it was closed.
    #[getter]
    fn closed(&self) -> bool {
        {
            let state = self.state();
            state.live.is_none() && state.resetting.is_none()
        }
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

    fn _usage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let usage = self.live(py)?.usage();
        let table = PyDict::new(py);
        table.set_item("memory", usage.memory)?;
        table.set_item("peak_memory", usage.peak_memory)?;
        table.set_item("memory_limit", usage.memory_limit)?;
        table.set_item("threads", usage.threads)?;
        table.set_item("descriptors", usage.descriptors)?;
        table.set_item("calls", usage.calls)?;
        table.set_item("cpu_time", usage.cpu_time.map(|time| time.as_secs_f64()))?;
        Ok(table)
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
        let (rights, live) = (options::rights(py, rights)?, slf.get().live(py)?);
        let grant = live.grant(region.get().inner(), rights).map_err(|error| errors::grant(py, error))?;
        Ok(Grant::new(slf.get().hold(grant), slf.clone().unbind(), region.clone().unbind()))
    }

    /// The same as long as the region's object lives.
    fn _share(slf: &Bound<'_, Self>, region: &Bound<'_, Region>, rights: &str) -> PyResult<()> {
        let py = slf.py();
        let (rights, live) = (options::rights(py, rights)?, slf.get().live(py)?);
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
        let (policy, on_failure) = (options::policy(py, policy)?, options::on_failure(on_failure));
        let callback = live.function_pointer(&other, prototype, policy, on_failure);
        Pin::new(
            slf,
            callback.map_err(|error| errors::link(py, error))?,
            None,
            Some((server.clone().unbind(), other.base())),
        )
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.module)?;
        // Nobody allocates under this lock, nor waits for the interpreter's.
        let state = self.state();
        state.answers.iter().try_for_each(|answer| visit.call(answer))?;
        state.kept.iter().try_for_each(|object| visit.call(object))?;
        state.offers.iter().try_for_each(|offer| offer.traverse(&visit))
    }

    fn __clear__(&self) {
        let gone = {
            let mut state = self.state();
            (std::mem::take(&mut state.answers), std::mem::take(&mut state.kept))
        };
        drop(gone); // after the lock: Python objects go
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
        let (policy, on_failure) = (options::policy(py, policy)?, options::on_failure(on_failure));
        live.link(import, &other, name, policy, on_failure).map_err(|error| errors::link(py, error))?;
        self.keep(server.clone().into_any().unbind());
        Ok(())
    }

    /// Ends all calls in progress, on any thread, and refuses new ones.
    fn kill(&self, py: Python<'_>) -> PyResult<()> {
        let live = self.live(py)?;
        detach(py, || live.kill());
        Ok(())
    }

    /// Ends the domain for good. Calls in progress raise `Killed`, later ones `Closed`. Nothing happens the second time.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.end(py)
    }

    /// Gives a domain of a pool back, and is closed. One with a call in progress is ended in place of that.
    fn _give_back(&self, py: Python<'_>) -> PyResult<()> {
        self.settle(py)?;
        let mut left = self.state().strip();
        self.scratch.clear();
        let rest = left.part();
        let Some(live) = left.live else { return Ok(()) };
        detach(py, || match Arc::try_unwrap(live) {
            Ok(Live::Pooled(domain, _)) => domain.give_back().unwrap_or_else(lockgate::Domain::close),
            Ok(live) => live.close(),
            Err(shared) => shared.kill(),
        });
        drop(rest);
        Ok(())
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
        let closed = if self.closed() { ", closed" } else { "" };
        format!("<lockgate.Domain {:?}{closed}>", self.name)
    }
}

impl Domain {
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.live(py)?;
        let mut left = {
            // What is new takes the interpreter's lock, which is ours until the domain is taken: a refusal comes before anything goes.
            let mut state = self.state();
            if state.in_use() {
                drop(state);
                return Err(self.busy(py));
            }
            state.resetting = Some(std::thread::current().id());
            state.strip()
        };
        self.scratch.clear();
        let rest = left.part();
        let live = left.live.map(Arc::try_unwrap);
        let (live, done) = detach(py, || match live {
            Some(Ok(Live::Own(domain))) => again(domain),
            // To reset its domains is the pool's to do.
            Some(Ok(Live::Pooled(domain, pool))) => match domain.give_back() {
                Ok(()) => match pool.take_shared() {
                    Ok(domain) => (Some(Live::Pooled(domain, pool)), Ok(())),
                    Err(error) => (None, Err(ResetError::Create(error))),
                },
                // It is not the pool's any more.
                Err(domain) => again(domain),
            },
            _ => unreachable!("nobody else had it"),
        });
        {
            let mut state = self.state();
            state.live = live.map(Arc::new);
            state.resetting = None;
        }
        self.settled.tell();
        drop(rest);
        done.map_err(|error| errors::reset(py, error))
    }
}

impl Drop for Domain {
    fn drop(&mut self) {
        let known = self.state().forget();
        drop(known);
    }
}

/// An address in a domain. The Python half derives `lockgate.Pointer` from it.
#[pyclass(frozen, subclass, module = "lockgate._native")]
pub struct Pointer {
    domain: Py<Domain>,
    address: u64,
}

impl Pointer {
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The address, for the domain that it belongs to.
    pub fn address_for(&self, domain: &Py<Domain>) -> PyResult<u64> {
        if self.domain.is(domain) {
            return Ok(self.address);
        }
        let text = format!(
            "this pointer is of domain {}, not of {}: share a lockgate.Region",
            self.domain.get().name,
            domain.get().name
        );
        Err(pyo3::exceptions::PyTypeError::new_err(text))
    }
}

#[pymethods]
impl Pointer {
    #[new]
    fn new(domain: Py<Domain>, address: u64) -> Pointer {
        Pointer { domain, address }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.domain)
    }

    /// The domain.
    #[getter]
    fn domain(&self, py: Python<'_>) -> Py<Domain> {
        self.domain.clone_ref(py)
    }

    /// The address, as the module sees it.
    #[getter(address)]
    fn get_address(&self) -> u64 {
        self.address
    }
}
