//! Domains.
use crate::binding::{Binding, Conversions, Slot};
use crate::buffer_sys::Region;
use crate::changes::Changes;
use crate::errors::{self, End};
use crate::held::Held;
use crate::interpreter_sys::detach;
use crate::known;
use crate::live::Live;
use crate::module::Module;
use crate::offer::{Answer, Offer, Pinned};
use crate::scratch::Scratch;
use lockgate::{CallError, ResetError};
use lockgate_kernel::locked;
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// An instance of a module. The Python half derives `lockgate.Domain` from it.
#[pyclass(frozen, subclass, weakref, module = "lockgate._native")]
pub struct Domain {
    name: String,
    module: Py<Module>,
    /// One caller at a time: others wait.
    exclusive: bool,
    /// The process that made it: nothing is done to it in a child.
    owner: lockgate::Owner,
    /// Only taken with the GIL.
    state: Mutex<State>,
    /// How often it has lost an instance.
    generation: AtomicU64,
    /// Told when a reset is over.
    settled: Changes,
    /// What a reset that another thread is in the midst of has made, while its constructors run: they can be ended.
    starting: Mutex<Option<lockgate::KeptDomain>>,
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
    fn strip(&mut self, generation: &AtomicU64) -> Left {
        generation.fetch_add(1, Ordering::Relaxed);
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

    /// The instance has no domain from now on; for the caller to drop.
    fn forget(&self) -> Option<Py<PyWeakrefReference>> {
        self.live.as_ref().filter(|live| !live.is_lent()).and_then(|live| known::forget(live.base()))
    }

    /// True if the domain is in use, and a reset would come as a surprise: a call is in progress, or its arguments are being converted; a
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
    Binding(Conversions),
    Function(Py<PyAny>),
}

impl Domain {
    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
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
        let error = lockgate::MemoryError::Forked(self.name.clone());
        Err(errors::plain(py, "Forked", &error.to_string()))
    }

    /// Waits until no thread resets the domain: then none does until this thread lets go of the interpreter.
    ///
    /// # Errors
    /// This thread resets it; Ctrl-C.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        self.settle_unless(py, || false).map(drop)
    }

    /// The same until `is_enough` says, while another thread resets it, that there is no need to wait any longer. True then.
    ///
    /// # Errors
    /// As [`settle`](Domain::settle).
    fn settle_unless(&self, py: Python<'_>, is_enough: impl Fn() -> bool) -> PyResult<bool> {
        while self.owner.is_here() {
            let seen = self.settled.count();
            let resetting = self.state().resetting;
            match resetting {
                None => return Ok(false),
                Some(thread) if thread == std::thread::current().id() => return Err(self.busy(py)),
                Some(_) if is_enough() => return Ok(true),
                Some(_) => {}
            }
            detach(py, || self.settled.wait(seen, LOOK));
            py.check_signals()?;
        }
        // The thread that reset it when this child was forked is not here.
        Ok(false)
    }

    /// Ends the constructors that another thread's reset runs, if one does: waits until they begin. True if there were any; the domain is closed
    /// when that reset is over.
    ///
    /// # Errors
    /// This thread resets it; Ctrl-C.
    fn end_reset(&self, py: Python<'_>) -> PyResult<bool> {
        self.settle_unless(py, || {
            let starting = locked(&self.starting).take();
            let was_starting = starting.is_some();
            detach(py, || drop(starting.inspect(|domain| domain.kill())));
            was_starting
        })
    }

    /// Ends all calls in progress, and constructors that another thread's reset runs.
    ///
    /// # Errors
    /// It was closed; it is a parent's; this thread resets it; Ctrl-C while it waits.
    pub fn kill_all(&self, py: Python<'_>) -> PyResult<()> {
        self.here(py)?;
        if !self.end_reset(py)? {
            let live = self.live(py)?;
            detach(py, || live.kill());
        }
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

    /// The object for an instance, with what answers its imports, and others that have a part in that.
    pub fn of(
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
            generation: AtomicU64::new(0),
            settled: Changes::default(),
            starting: Mutex::default(),
            scratch: Arc::default(),
        }
    }

    /// What a thread of the module's own met that ended the domain.
    pub fn guest_threads_end(&self, py: Python<'_>) -> Option<End> {
        let live = self.state().live.clone();
        live.and_then(|live| live.guest_threads_error(|error| End::of(py, error)))
    }

    /// True if a call may have to wait for another thread's.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// What a call of it ended with. What ended a domain that was not ended by the program is the cause.
    pub fn error(&self, py: Python<'_>, error: CallError) -> PyErr {
        let raised = errors::call(py, error);
        if let Some(end) = self.guest_threads_end(py)
            && raised.get_type(py).name().is_ok_and(|name| name == "Killed")
            && raised.cause(py).is_none()
        {
            raised.set_cause(
                py,
                Some(match end {
                    End::Fault(fault) => errors::fault(py, &fault, &fault.to_string()),
                    End::Raised(error) => error,
                    End::Other(text) => errors::plain(py, "CallError", &text),
                }),
            );
        }
        raised
    }

    /// How often it has lost an instance: what was made for one is for no other. Changes with the GIL only.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// The module.
    pub fn module(&self) -> &Py<Module> {
        &self.module
    }

    /// True once it was closed.
    pub fn is_closed(&self) -> bool {
        let state = self.state();
        state.live.is_none() && state.resetting.is_none()
    }

    /// For the collector: what answers imports, and what has a part in that.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // No thread allocates under this lock, or waits for the interpreter's.
        let state = self.state();
        state.answers.iter().try_for_each(|answer| visit.call(answer))?;
        state.kept.iter().try_for_each(|object| visit.call(object))?;
        state.offers.iter().try_for_each(|offer| offer.traverse(visit))
    }

    /// Lets go of what [`traverse`](Domain::traverse) shows, but for callbacks' places.
    pub fn forget_answers(&self) {
        let gone = {
            let mut state = self.state();
            (std::mem::take(&mut state.answers), std::mem::take(&mut state.kept))
        };
        drop(gone); // after the lock: Python objects go
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
            let left = state.strip(&domain.generation);
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
    pub fn know(slf: &Bound<'_, Domain>) -> PyResult<()> {
        let base = slf.get().state().live.as_ref().map(|live| live.base());
        base.map_or(Ok(()), |base| known::know(slf.as_any(), base))
    }

    /// True if its instance is the one at `base`.
    pub fn is_at(&self, base: u64) -> bool {
        self.state().live.as_ref().is_some_and(|live| live.base() == base)
    }

    /// Lets go of an instance that was lent, which goes on.
    pub fn leave(&self, py: Python<'_>) {
        let mut left = self.state().strip(&self.generation);
        self.scratch.clear();
        let (rest, live) = (left.part(), left.live);
        detach(py, || drop(live));
        drop(rest);
    }

    /// Gives a domain of a pool back, and is closed.
    ///
    /// # Errors
    /// This thread resets it; Ctrl-C while another does.
    pub fn give_back(&self, py: Python<'_>) -> PyResult<()> {
        self.settle(py)?;
        let mut left = self.state().strip(&self.generation);
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

    /// Ends it for good.
    ///
    /// # Errors
    /// This thread resets it; Ctrl-C while another does.
    pub fn end(&self, py: Python<'_>) -> PyResult<()> {
        if !self.owner.is_here() {
            return Ok(()); // it lives on in the parent
        }
        self.end_reset(py)?;
        self.settle(py)?;
        let live = self.state().live.clone();
        let Some(live) = live else { return Ok(()) };
        // Before the grants: a call in progress should find out that it was ended, not that they are gone.
        detach(py, || live.kill());
        let (mut left, _answers, _kept) = {
            let mut state = self.state();
            (
                state.strip(&self.generation),
                std::mem::take(&mut state.answers),
                std::mem::take(&mut state.kept),
            )
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

/// Resets a domain that is not in use. A thread that has ended may hold it for a moment yet.
///
/// One that could not be started again is of no use; the others can be tried again.
fn again(
    mut domain: lockgate::Domain,
    starting: &Mutex<Option<lockgate::KeptDomain>>,
) -> (Option<Live>, Result<(), ResetError>) {
    let put = |kept| *locked(starting) = kept;
    let end = Instant::now() + LOOK;
    loop {
        let done = domain.reset_with(|domain| put(Some(domain)));
        put(None);
        match done {
            Err(ResetError::InUse(_)) if Instant::now() < end => std::thread::yield_now(),
            Err(error @ ResetError::Create(_)) => return (None, Err(error)),
            done => return (Some(Live::Own(domain)), done),
        }
    }
}

impl Domain {
    /// Returns it to its pristine image.
    ///
    /// # Errors
    /// It is in use; as for a new one.
    pub fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.live(py)?;
        let mut left = {
            // What is new takes the GIL, which is ours until the domain is taken: a refusal comes before anything goes.
            let mut state = self.state();
            if state.in_use() {
                drop(state);
                return Err(self.busy(py));
            }
            state.resetting = Some(std::thread::current().id());
            state.strip(&self.generation)
        };
        self.scratch.clear();
        let rest = left.part();
        let live = left.live.map(Arc::try_unwrap);
        let (live, done) = detach(py, || match live {
            Some(Ok(Live::Own(domain))) => again(domain, &self.starting),
            // To reset its domains is the pool's to do.
            Some(Ok(Live::Pooled(domain, pool))) => match domain.give_back() {
                Ok(()) => match pool.take_shared() {
                    Ok(domain) => (Some(Live::Pooled(domain, pool)), Ok(())),
                    Err(error) => (None, Err(ResetError::Create(error))),
                },
                // It is not the pool's any more.
                Err(domain) => again(domain, &self.starting),
            },
            _ => unreachable!("it had no other owner"),
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
