//! A new instance of a domain under the names of the old one.
use super::binder::Bound;
use super::request::Rebind;
use super::{Registry, RegistryError, Server, State};
use crate::binding::Binding;
use crate::call::{Closed, admit_sys};
use crate::domain::{Core, Domain};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

thread_local! {
    /// Goes when the thread ends, in whatever way.
    static ALIVE: Arc<()> = Arc::new(());
}

/// A domain that exports.
pub(super) struct Instance {
    pub(super) core: Arc<Core>,
    /// When it was restarted, oldest first; as many as the limit asks about.
    restarts: Vec<Instant>,
    most: usize,
    within: Duration,
    /// The thread that is at it. A function of the host's that constructors call may end it, out of all frames that say so.
    restarting: Weak<()>,
    /// What is to take its place, while its constructors run.
    starting: Weak<Core>,
}

impl Instance {
    pub(super) fn new(core: Arc<Core>) -> Instance {
        let within = Duration::from_secs(60);
        Instance {
            core,
            restarts: Vec::new(),
            most: 3,
            within,
            restarting: Weak::new(),
            starting: Weak::new(),
        }
    }

    /// It has no place any more: nor has what is to take it.
    pub(super) fn end_starting(&self) {
        if let Some(starting) = self.starting.upgrade() {
            starting.kill();
        }
    }

    /// Whatever has been started has its place now, or is gone.
    fn end_restart(&mut self) {
        (self.restarting, self.starting) = (Weak::new(), Weak::new());
    }

    /// # Errors
    /// [`RegistryError::TooOften`], [`RegistryError::Restarting`].
    fn begin(&mut self, name: &str) -> Result<(), RegistryError> {
        if self.restarting.strong_count() > 0 {
            return Err(RegistryError::Restarting(name.to_owned()));
        }
        let now = Instant::now();
        self.restarts.retain(|at| now.duration_since(*at) < self.within);
        if self.restarts.len() >= self.most {
            let (most, within) = (self.most, self.within);
            return Err(RegistryError::TooOften { domain: name.to_owned(), most, within });
        }
        self.restarts.push(now);
        self.restarting = ALIVE.try_with(Arc::downgrade).unwrap_or_default();
        Ok(())
    }
}

impl Registry {
    /// How often the domain called `name` may be restarted: `most` times in any time of this length. Three times a minute
    /// unless this says otherwise.
    ///
    /// # Errors
    /// [`RegistryError::UnknownDomain`].
    pub fn limit_restarts(&self, name: &str, most: usize, within: Duration) -> Result<(), RegistryError> {
        let mut state = self.state();
        let instance = state.instance(name)?;
        (instance.most, instance.within) = (most, within);
        Ok(())
    }

    /// Ends the domain called `name`, if it still lives, and puts a new one of the same module and options in its place.
    /// Its exports stay exported. Existing bindings go on, or are over, as each asked ([`Rebind`]); the new domain's
    /// imports come from the registry again, if its options say so, and are to be linked again if not.
    ///
    /// Returns the new domain. The old one's memory is given back when the last binding of it is gone: a rebound one keeps
    /// its instances' address space.
    ///
    /// # Errors
    /// [`RegistryError`]; the names stay with the old, dead domain then, if they were not taken back meanwhile
    /// ([`RegistryError::Removed`]).
    pub fn restart(&self, name: &str) -> Result<Domain, RegistryError> {
        // (Without the lock: the host's predicate is asked.)
        let old = self.state().instance(name)?.core.clone();
        admit_sys::may_start(&old).map_err(RegistryError::Caller)?;
        {
            let mut state = self.state();
            match state.instance_of(name, &old) {
                Some(instance) => instance.begin(name)?,
                None => {
                    state.instance(name)?;
                    return Err(RegistryError::Restarting(name.to_owned()));
                }
            }
        }
        let _mark = Mark { registry: self, name, old: &old };
        crate::domain::close(old.clone());
        // Without the lock: the module's initialisation runs, and may resolve imports here.
        let made = Domain::announced(old.module(), old.options().clone(), |new| {
            let has_place = match self.state().instance_of(name, &old) {
                Some(instance) => {
                    instance.starting = Arc::downgrade(new);
                    true
                }
                None => false,
            };
            if !has_place {
                new.kill();
            }
        });
        let mut state = self.state();
        let Some(instance) = state.instance_of(name, &old) else {
            drop(state);
            if let Ok(new) = made {
                crate::domain::close(new.core().clone());
            }
            return Err(RegistryError::Removed(name.to_owned()));
        };
        instance.end_restart();
        let new = made?;
        instance.core = new.core().clone();
        let left = state.hand_over(&old, new.core());
        drop(state);
        left.release();
        Ok(new)
    }
}

/// A restart that is on its way; no more when this goes, by a panic, too.
struct Mark<'a> {
    registry: &'a Registry,
    name: &'a str,
    old: &'a Arc<Core>,
}

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        if let Some(instance) = self.registry.state().instance_of(self.name, self.old) {
            instance.end_restart();
        }
    }
}

impl Registry {
    /// Ends `old`, a domain that exports, and has `new`, another instance of its module with its name, serve what `old` exports. Existing bindings
    /// go on, or are over, as each asked ([`Rebind`]). For hosts that make the new domain themselves, as one makes a program's
    /// ([`Program`](crate::Program)); [`restart`](Registry::restart) makes one.
    ///
    /// # Errors
    /// [`RegistryError::UnknownDomain`]: `old` exports nothing, or `new` is no such instance. Nothing has changed.
    pub fn replace(&self, old: &Domain, new: &Domain) -> Result<(), RegistryError> {
        let unknown = || RegistryError::UnknownDomain(old.name().to_owned());
        let is_itself = Arc::ptr_eq(old.core(), new.core());
        if is_itself || !Arc::ptr_eq(old.module(), new.module()) || old.name() != new.name() {
            return Err(unknown());
        }
        let mut state = self.state();
        let instance = state.instance_of(old.name(), old.core()).ok_or_else(unknown)?;
        instance.core = new.core().clone();
        instance.end_restart();
        let left = state.hand_over(old.core(), new.core());
        drop(state);
        crate::domain::close(old.core().clone());
        left.release();
        Ok(())
    }
}

/// Bindings that were replaced, and domains whose functions were: what goes with them may be the host's own code, which may ask
/// the registry.
#[derive(Default)]
struct Left {
    bindings: Vec<Arc<Binding>>,
    clients: Vec<Arc<Core>>,
}

impl Left {
    fn release(self) {
        self.clients.iter().for_each(crate::domain::release_functions);
    }
}

impl State {
    fn instance(&mut self, name: &str) -> Result<&mut Instance, RegistryError> {
        self.instances.get_mut(name).ok_or_else(|| RegistryError::UnknownDomain(name.to_owned()))
    }

    /// By the object: another one may have the name now.
    fn instance_of(&mut self, name: &str, core: &Arc<Core>) -> Option<&mut Instance> {
        self.instances.get_mut(name).filter(|instance| Arc::ptr_eq(&instance.core, core))
    }

    /// Gives everything that `old` served to `new`; what is to go when the registry's lock is free again.
    fn hand_over(&mut self, old: &Arc<Core>, new: &Arc<Core>) -> Left {
        let mut left = Left::default();
        let entries = self.entries.values_mut().filter(|entry| entry.is_of(old)).map(|entry| {
            entry.server = Server::Domain(new.clone());
            &mut entry.bound
        });
        // Who has a name that was taken back has it all the same.
        let past = self.past.iter_mut().filter(|past| past.is_of(old)).map(|past| {
            past.server = Some(Arc::downgrade(new));
            &mut past.bound
        });
        for bound in entries.chain(past) {
            bound.retain_mut(|bound| {
                let Bound::Domain { binding, client, rebind } = bound else { return true };
                let Some(before) = binding.upgrade() else { return false };
                let again = || before.again(new.clone(), *rebind == Rebind::Yes).ok();
                let rebound = if *rebind == Rebind::No { None } else { again() };
                let Some(after) = rebound.map(Arc::new) else {
                    before.close(Closed::Restarted);
                    left.bindings.push(before);
                    return false;
                };
                *binding = Arc::downgrade(&after);
                match client.as_ref().and_then(|(core, slot)| Some((core.upgrade()?, *slot))) {
                    Some((core, slot)) => {
                        core.gates().replace_import(slot, &before.gate_entry(), after.gate());
                        left.clients.push(core);
                    }
                    None if *rebind == Rebind::OnRequest => before.end_for(after),
                    None => before.hand_on(after),
                }
                left.bindings.push(before);
                true
            });
        }
        left
    }
}
